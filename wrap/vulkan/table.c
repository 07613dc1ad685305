// SPDX-License-Identifier: MIT
/* The table of handles. */
#include <stdlib.h>

#include "table.h"

static struct gsv_known **bucket_of(struct gsv_table *table, uint64_t handle)
{
	return &table->bucket[(handle * 0x9e3779b97f4a7c15) >> 54];
}

static struct gsv_known **place(struct gsv_table *table, uint64_t handle)
{
	struct gsv_known **at = bucket_of(table, handle);

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

static void *unlink_at(struct gsv_known **at)
{
	struct gsv_known *known = *at;
	void *value = known->value;

	*at = known->next;
	free(known);
	return value;
}

void gsv_table_init(struct gsv_table *table)
{
	pthread_mutex_init(&table->lock, NULL);
}

bool gsv_table_add(struct gsv_table *table, uint64_t handle, void *value)
{
	struct gsv_known **at, *known;

	pthread_mutex_lock(&table->lock);
	at = place(table, handle);
	known = *at;
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (known)
			*at = known;
	}
	if (known) {
		known->handle = handle;
		known->value = value;
	}
	pthread_mutex_unlock(&table->lock);
	return known;
}

void *gsv_table_find(struct gsv_table *table, uint64_t handle)
{
	struct gsv_known *known;
	void *value;

	pthread_mutex_lock(&table->lock);
	known = *place(table, handle);
	value = known ? known->value : NULL;
	pthread_mutex_unlock(&table->lock);
	return value;
}

void *gsv_table_take(struct gsv_table *table, uint64_t handle)
{
	struct gsv_known **at;
	void *value;

	pthread_mutex_lock(&table->lock);
	at = place(table, handle);
	value = *at ? unlink_at(at) : NULL;
	pthread_mutex_unlock(&table->lock);
	return value;
}

void *gsv_table_take_any(struct gsv_table *table, bool (*is)(void *value, const void *arg),
			 const void *arg)
{
	struct gsv_known **at;
	void *value = NULL;
	unsigned int i;

	pthread_mutex_lock(&table->lock);
	for (i = 0; !value && i < GSV_BUCKETS; i++) {
		for (at = &table->bucket[i]; *at; at = &(*at)->next) {
			if (!is || is((*at)->value, arg)) {
				value = unlink_at(at);
				break;
			}
		}
	}
	pthread_mutex_unlock(&table->lock);
	return value;
}
