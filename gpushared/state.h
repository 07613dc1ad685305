/* SPDX-License-Identifier: MIT */
/*
 * The state file's text, apart from the rest so that it can be fuzzed.
 *
 *	gpushare-state 3 BOOT-ID
 *	device KEY KIND ADDED SET VALUES...
 *	group NAME UID MAKER HOME-PATH
 *	share DEVICE-KEY|* SET VALUES... MAKER ID PATH
 *	sum HEX
 *
 * A named group's shares follow its own line, with an ID of 0 and its name as PATH. MAKER
 * is a tenant's key, 0 for an admin. Version 1 has a user id there, and groups have none; shares
 * of versions before 3 say nothing of mem_full and mem_wait_us.
 *
 * A PATH of " is that of the share before.
 *
 * The last line is a checksum of all before it: a file that was cut, or edited
 * by hand, isn't half believed.
 */
#ifndef GPUSHARED_STATE_H
#define GPUSHARED_STATE_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/gpushare.h>

#define STATE_SIZE_MAX (128u << 20)
#define STATE_PATH_MAX 4096
#define STATE_DITTO "\""
#define STATE_HEAD "gpushare-state 3 %s\n"
#define STATE_SUM "sum %016llx\n"
#define STATE_SUM_NONE 0xcbf29ce484222325ull

enum state_what { STATE_DEVICE, STATE_GROUP, STATE_SHARE };

struct state_item {
	enum state_what what;
	bool added;				/* device */
	uint32_t uid;				/* group */
	uint64_t maker;				/* group, share */
	uint64_t id;				/* share: the cgroup's; 0: a named group's */
	struct gpushare_device device;
	struct gpushare_share share;
	char key[GPUSHARE_KEY_MAX];		/* share: the device's, "*" for all */
	char name[GPUSHARE_NAME_MAX];		/* group */
	char path[STATE_PATH_MAX];		/* group: where it was made; share */
};

/*
 * Calls @take for each item, in order, if the whole is sound. -EBADMSG: it
 * isn't, and @take wasn't called. @boot is the id that it was written under.
 */
int state_parse(const char *text, size_t length, char boot[64],
		void (*take)(const struct state_item *item, void *arg), void *arg);

/* Negative: the line isn't there. */
int state_put_head(FILE *f, const char *boot);
int state_put(FILE *f, const struct state_item *item);
uint64_t state_sum(const char *text, size_t length);
uint64_t state_sum_on(uint64_t sum, const char *text, size_t length);

/* Lines that are replaced together: a group's, or the devices' (id 0). */
struct state_part {
	struct state_part *next;
	uint64_t id;
	size_t size;
	char text[];
};

/* state-writer.c */
int writer_start(const char *boot_id, int done);
void writer_forget(void);
void writer_put(struct state_part *part);
void writer_write(void);
int writer_result(void);
void writer_stop(void);

#endif
