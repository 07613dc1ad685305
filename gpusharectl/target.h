/* SPDX-License-Identifier: MIT */
/*
 * Which group is meant. A target is one of
 *
 *	/system.slice/x.scope	a cgroup, or a group's path as list shows it
 *	x.service x.slice x.scope	the unit's cgroup, wherever it is
 *	user:NAME|UID		a user's sessions, as systemd has them
 *	self  pid:N		the cgroup of that process
 *	job:ID[.STEP]		Slurm's
 *	ctr:ID			podman's, docker's or containerd's, by the id's beginning
 *	name:NAME		a named group of the daemon
 *	id:N			a group by its id
 */
#ifndef GS_CTL_TARGET_H
#define GS_CTL_TARGET_H

#include "query.h"

struct gs_target {
	uint64_t group;		/* its id */
	int cgroup_fd;		/* -1: it has no cgroup that we can reach */
	char path[4096];	/* for people */
	char name[GPUSHARE_NAME_MAX];	/* of a named group that isn't there; see below */
};

/* Must be a group already; of a process the nearest above it that is one. */
#define GS_TARGET_KNOWN		0x1
/* Say nothing if it isn't there. */
#define GS_TARGET_QUIET		0x2
/*
 * Don't make a named group that isn't there: one that has neither share nor
 * client is gone soon. Its id is 0 then, and gs_target_make() makes it.
 */
#define GS_TARGET_LATER		0x4

/* 0, or an exit status, and said why. To be given back by gs_target_close(). */
int gs_target_find(struct gs_ctl *ctl, const struct gs_view *view, const char *text,
		   unsigned int flags, struct gs_target *target);
/* Make the named group: 0 and its id, or -errno. */
int gs_target_make(struct gs_ctl *ctl, const char *name, uint64_t *group);
void gs_target_close(struct gs_target *target);

/* Does @text name a unit: x.service, x.slice, x.scope? */
bool gs_is_unit(const char *text);

/* Where cgroup v2 is mounted; NULL: nowhere. */
const char *gs_cgroup_mount(void);
/* The cgroup v2 path of a process: 0 or -errno (-ENODATA: it has none). */
int gs_cgroup_of(int pid, char *path, size_t size);

/* Is it one that unit:PATTERN, job:PATTERN or a pattern of paths speaks of? */
bool gs_cgroup_matches(const char *pattern, const char *path);

/*
 * Calls @fn with the path of each cgroup, parents first, until it says
 * non-zero, and returns that. The number of cgroups looked at is bounded. What is
 * below a directory that another user may write in is left out: there anybody could
 * have made one of the name that is looked for.
 */
int gs_cgroup_walk(int (*fn)(const char *path, void *arg), void *arg);

#endif
