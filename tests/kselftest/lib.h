/* SPDX-License-Identifier: MIT */
/*
 * What the tests of an arbiter share: a client with its pages, a device of its
 * own for each test, cgroups, children. Everything goes through arb_open(),
 * arb_call() and arb_map(), so that the same tests can be pointed at another
 * arbiter than the kernel module.
 */
#ifndef GS_KSELFTEST_LIB_H
#define GS_KSELFTEST_LIB_H

#include <errno.h>
#include <fcntl.h>
#include <linux/gpushare.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "harness.h"

#define CGROOT		"/sys/fs/cgroup"
#define NOBODY		65534
#define TENANT		1000
#define MS		1000000ULL	/* in ns */

/* The arbiter (module.c, or the daemon's): fds and pointers, or -errno and NULL. */
int arb_open(void);
int arb_call(int fd, unsigned long cmd, void *arg);
void *arb_map(int fd, uint64_t offset, int prot);
int arb_poll(int fd, short events, int ms);	/* what came of @events, or an error, in time */
bool arb_is_module(void);

/* Ends a test of what only the module has. */
#define ONLY_MODULE(what) do {						\
	if (!arb_is_module())						\
		SKIP("only the module has %s", what);			\
} while (0)

/* Ends the test as skipped unless it is root with the module loaded. */
void need_arbiter(void);

/*
 * A device for this test alone; the options' key and kind may be left 0. Nobody
 * overruns on it unless the options name a grace.
 */
uint32_t device_add(const struct gpushare_device *options);
uint32_t device_new(void);
void device_remove(uint32_t device);

struct client {
	int fd;
	uint32_t device;
	uint64_t id;
	const volatile struct gpushare_grant_page *grant;
	volatile struct gpushare_client_page *own;
};

/* Return 0 or -errno; the client is then unusable. */
int client_open(struct client *c, uint32_t device);
int client_open_set(struct client *c, uint32_t device, int set_fd);
void client_close(struct client *c);
struct client client_new(uint32_t device);	/* asserts */
struct gpushare_device device_of(const struct client *c);

int acquire(struct client *c, uint32_t flags, unsigned int ms);
int yield(struct client *c, uint32_t flags, unsigned int ms);
uint64_t word(const struct client *c);
bool granted(const struct client *c);
bool asked_back(const struct client *c);
int stats(int fd, uint32_t what, uint32_t device, uint64_t id, struct gpushare_stats *s);

uint64_t now_ns(void);
void nap(unsigned int ms);

/* Waits at most 10 s for a condition, and yields whether it came true. */
#define EVENTUALLY(x) ({						\
	uint64_t end_ = now_ns() + 10000 * MS;				\
	bool came_;							\
	while (!(came_ = (x)) && now_ns() < end_)			\
		nap(2);							\
	came_;								\
})

/* In a child: says what went wrong and ends it with 1. */
#define CHILD(x) do {							\
	if (!(x)) {							\
		dprintf(1, "# %s:%d: in the child: %s (errno %d)\n", __FILE__, __LINE__,	\
			#x, errno);						\
		_exit(1);						\
	}								\
} while (0)

int reap(pid_t pid);			/* exit status, or 128 + signal */
bool blocked(pid_t pid);		/* it sleeps, interruptibly */
void become(uid_t uid);			/* a user without rights, for good */
int put(const char *path, const char *text);
char *cg_new(const char *parent, const char *name);	/* path, in static memory */
int cg_enter(const char *path);		/* moves this process */
uint64_t cg_id(const char *path);
void cg_remove(const char *path);
int share_set(int fd, const char *path, uint32_t device, uint32_t weight);

int logged(const char *text);		/* how many lines of the kernel's log have it */
int genl_family(void);			/* of our netlink family, or 0 */

/* A pipe to hold children by: step(fds) wakes one that waits in hold(fds). */
void hold(const int *fds);
void step(const int *fds);

#endif
