/* SPDX-License-Identifier: MIT */
/* What the layer knows of handles that aren't its own. */
#ifndef GSV_TABLE_H
#define GSV_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define GSV_BUCKETS 1024

struct gsv_known {
	struct gsv_known *next;
	uint64_t handle;
	void *value;
};

struct gsv_table {
	pthread_mutex_t lock;		/* protects the buckets */
	struct gsv_known *bucket[GSV_BUCKETS];
};

void gsv_table_init(struct gsv_table *table);
/* False: no memory. A handle that was there (the driver used it again) gets the new value. */
bool gsv_table_add(struct gsv_table *table, uint64_t handle, void *value);
void *gsv_table_find(struct gsv_table *table, uint64_t handle);
void *gsv_table_take(struct gsv_table *table, uint64_t handle);
/* Takes out one for which @is is true, any if that is NULL; NULL: there is none. */
void *gsv_table_take_any(struct gsv_table *table, bool (*is)(void *value, const void *arg),
			 const void *arg);

#endif
