/* SPDX-License-Identifier: MIT */
/*
 * A world for end-to-end tests: a directory, an arbiter, tenants.
 *
 * The arbiter is a daemon of the test's own, or, if GPUSHARE_ARBITER is
 * /dev/gpushare, the module: then the programs are for a machine of their own
 * (tests/ulib/module-vm.sh boots one), since all devices but those on PCI are
 * removed. A named group is then a cgroup of that name.
 *
 * A tenant's slice is a sleep while the device is held: to the arbiter that is
 * a kernel that runs, and it costs the test machine nothing. Tests ask the
 * arbiter for the time that it saw each tenant hold the device.
 */
#ifndef TESTS_ULIB_WORLD_H
#define TESTS_ULIB_WORLD_H

#include <stdint.h>
#include <sys/types.h>

#include "gpushare.h"
#include "ulib/transport.h"

#ifdef __SANITIZE_THREAD__
#define TSAN 1		/* some ten times as slow, and can't follow threads of a forked child */
#else
#define TSAN 0
#endif

#define MS 1000000ull
#define SEC 1000000000ull

struct world {
	bool module;
	char dir[64];
	char arbiter[96];	/* the daemon's socket, or the module's node */
	char state[96];
	char pci[96];
	char groups[300];	/* with the module: the cgroup of those with a name */
	char home[300];		/* and the one that the test was started in */
	pid_t daemon;
};

/* Makes the directory and points GPUSHARE_ARBITER to the arbiter. */
void world_make(struct world *w);
/* Starts gpushared in the foreground and waits until it listens; or gives the module cpu:0. */
void world_start(struct world *w);
/* Both: what most tests begin with. */
void world_set_up(struct world *w);
/* Ends a test that is about the daemon. */
#define ONLY_DAEMON(w, what) do {						\
	if ((w)->module)							\
		SKIP("the module has no %s", what);				\
} while (0)
/* A NULL-terminated list of more arguments. */
void world_start_with(struct world *w, const char *const *more);
/* The same without waiting until it listens. */
void world_exec(struct world *w, const char *const *more);
extern const char *world_program;	/* that is started instead of world_daemon(), if set */
/* Ends it with a signal and checks, unless it is SIGKILL, that it ended well. */
void world_stop(struct world *w, int sig);
void world_remove(struct world *w);

/*
 * fork(), once this process's other threads sleep: in the child of a process one of whose
 * threads is in malloc(), gcc 12's address sanitizer leaves its allocator locked.
 */
pid_t world_fork(void);

const char *world_daemon(void);		/* the program */

/* A connection to the world's arbiter, with a time-out. */
struct gs_transport *world_connect(struct world *w);
/* The device with this key, as the arbiter knows it now. */
struct gpushare_device world_device(struct world *w, const char *key);
/* Nobody loses a seat for being slow, in tests that hold the device for long. */
void world_be_patient(struct world *w, const char *key);
/* This process's next clients belong to this group. */
void world_join(struct world *w, const char *group);
int world_call(struct world *w, unsigned long cmd, void *arg);	/* on one of its own */

struct tenant {
	const char *key;
	const char *group;
	uint64_t slice_ns;	/* how long it holds the device in one go */
	uint64_t pause_ns;	/* between two slices */
	uint64_t end_ns;	/* when to end; 0: when killed */
	const int *stop;	/* or when this isn't 0: in memory that both see */
	uid_t uid;		/* who it is; 0: whoever the test is */
};

/* A process that takes slices; tenant_client() tells its client's id. */
pid_t tenant_start(struct world *w, const struct tenant *t);
void tenant_stop(pid_t pid);
/* Memory for what a test tells its tenants. */
int *world_shared(void);
/* Whether this process may have so many files, and has told the system that it wants to. */
bool world_many_files(unsigned int n);
uint64_t tenant_client(struct world *w, pid_t pid);

/* How often the daemon has gone to sleep, which is how often something woke it up. */
uint64_t world_sleeps(struct world *w);

/* The arbiter's counters of a client, of a device (id) or of a group on all. */
struct gpushare_stats stats_of(struct world *w, uint32_t what, uint64_t id);

/*
 * Sets a share of a named group, which lives as long as the setting. Needs mask
 * and what it names; the rest is filled in, and what comes back is there.
 */
int group_set(struct world *w, const char *name, struct gpushare_share *share);
/* What is set for a group, on all devices. */
int share_get(struct world *w, uint64_t group, struct gpushare_share *share);

/* A handle, opened with STRICT. */
struct gpushare *open_one(const char *key);
struct gpushare_state state_of(struct gpushare *g);

uint64_t now_ns(void);
void sleep_ns(uint64_t ns);
/* Waits until a condition holds, a minute at most. */
#define WAIT_FOR(x) ({								\
	uint64_t until_ = now_ns() + 60 * SEC;					\
	int ok_;								\
	while (!(ok_ = !!(x)) && now_ns() < until_)				\
		sleep_ns(2 * MS);						\
	ok_;									\
})

#endif
