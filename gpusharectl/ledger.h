/* SPDX-License-Identifier: MIT */
/*
 * The text of the accounts, apart from files and clocks, so that it can be fuzzed.
 *
 * A file is a row of batches. Each was written at once, and counts as a whole or not at all:
 *
 *	gpushare-usage 1 TIME
 *	run BOOT STARTED
 *	device ID HELD WAITED GRANTS OVERRUNS
 *	client ID HELD WAITED GRANTS OVERRUNS
 *	use TIME DEVICE USER UNIT GROUP HELD WAITED GRANTS OVERRUNS MEMORY
 *	end SUM
 *
 * A "use" is something to be added up. What comes before is where the arbiter's counters
 * stood when it was: so who goes on after an end, of whatever kind, counts nothing twice and
 * leaves nothing out. SUM is over all of the batch before its line. What was cut short, or
 * was changed, is left out up to the next line that begins a batch, which no other line does.
 *
 * TIME is in seconds since 1970, of a use where its half hour begins; HELD and WAITED are
 * in microseconds, MEMORY in KiB times seconds. In names a blank, a backslash and what is
 * no print is \ooo in octal; "-" is none.
 */
#ifndef GS_CTL_LEDGER_H
#define GS_CTL_LEDGER_H

#include <linux/gpushare.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GS_USE_SPAN	1800	/* a half hour: days begin at such a time, nearly everywhere */
#define GS_LEDGER_LINE	2048

struct gs_counters {
	uint64_t held_us, waited_us, grants, overruns;
};

/* What one user's clients of one unit and group used of a device in one span. */
struct gs_use {
	uint64_t time;
	char device[GPUSHARE_KEY_MAX];
	char user[24];		/* the id; "container" */
	char unit[128];
	char group[256];
	struct gs_counters counters;
	uint64_t memory;	/* KiB times seconds */
};

/* Where counters stood. */
struct gs_stand {
	uint64_t id;
	struct gs_counters counters;
};

struct gs_run {
	char boot[40];
	uint64_t started_ns;
};

struct gs_ledger_taker {
	/* Each may be NULL. */
	void (*begin)(uint64_t time, void *arg);
	void (*run)(const struct gs_run *run, void *arg);
	void (*device)(const struct gs_stand *stand, void *arg);
	void (*client)(const struct gs_stand *stand, void *arg);
	void (*use)(const struct gs_use *use, void *arg);
};

/* Has @take each line of each whole batch. Returns how many places weren't sound. */
size_t gs_ledger_read(const char *text, size_t size, const struct gs_ledger_taker *take,
		      void *arg);

/* Into @out, which is then ended by gs_ledger_end(): the sum is over @text. */
void gs_ledger_begin(FILE *out, uint64_t time);
void gs_ledger_run(FILE *out, const struct gs_run *run);
void gs_ledger_device(FILE *out, const struct gs_stand *stand);
void gs_ledger_client(FILE *out, const struct gs_stand *stand);
void gs_ledger_use(FILE *out, const struct gs_use *use);
void gs_ledger_end(FILE *out, const char *text, size_t size);

/* The bytes that a name takes in the file. */
size_t gs_ledger_length(const char *name);

/* Uses, added up: one of each time, device, user, unit and group. */
struct gs_uses {
	struct gs_use *items;
	size_t nr, room;
	uint32_t *slots;		/* of a hash table, number + 1; 0: empty */
	size_t nr_slots;
};

/* 0 or -ENOMEM. */
int gs_uses_add(struct gs_uses *uses, const struct gs_use *use);
/*
 * The same, but users make groups and units of any name: what is beyond some room for each
 * user and time is of the unit and group "(more)".
 */
int gs_uses_add_bounded(struct gs_uses *uses, const struct gs_use *use);
/* The one of @like's names and time, or NULL. */
struct gs_use *gs_uses_find(const struct gs_uses *uses, const struct gs_use *like);
void gs_uses_free(struct gs_uses *uses);

#endif
