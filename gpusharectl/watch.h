/* SPDX-License-Identifier: MIT */
/* gpusharectl apply --watch: configuration files as rules that are kept. */
#ifndef GS_CTL_WATCH_H
#define GS_CTL_WATCH_H

#include "config.h"
#include "ctl.h"

#define GS_FILES_MOST	256
#define GS_CONFIG_DIRS	3

struct gs_rules {
	struct gs_config config;	/* whose sections point to the names of */
	char *files[GS_FILES_MOST];
	size_t nr;
};

/* The @i-th directory of configuration files, the first one hides; NULL after the last. */
const char *gs_config_dir(size_t i);
/*
 * What the files say, without names those of the directories. 0, or an exit status and
 * said why; gs_rules_free() is due in any case.
 */
int gs_rules_read(struct gs_rules *r, int argc, char **argv);
void gs_rules_free(struct gs_rules *r);

/*
 * The lock of who keeps the rules: a file, or -errno; -EWOULDBLOCK: another one has it.
 * For their owner alone, or any tenant could hold it. Without @make it is only tried:
 * -ENOENT, nobody ever had it.
 */
int gs_rules_lock(bool make);

/* Keeps them until a signal comes. 0, or an exit status, and said why. */
int gs_watch(struct gs_ctl *ctl, int argc, char **argv);

#endif
