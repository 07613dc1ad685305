/* SPDX-License-Identifier: MIT */
/*
 * Where hostile tenants and honest ones meet: an arbiter for all users, a tree of cgroups,
 * and clients that do nothing by the library's manners, but ask and give back as they like.
 *
 * What a tenant gets is the time for which it held the device, as the test itself sees it.
 * Each hold is a line in the tenant's diary, of all its processes together: from the grant,
 * of which its page tells the time, to when its process gives back. What passes until the
 * next grant, whoever's it is, counts to that hold. Somebody always wants the device, so
 * it is what the word of its end takes to the arbiter and back, which a busy machine makes long
 * and an arbiter can't know of; and who doesn't give back holds on until somebody else is
 * granted it in spite of that.
 *
 * A slice is a sleep while the device is held: to the arbiter that is a kernel that runs.
 */
#ifndef TESTS_HOSTILE_ARENA_H
#define TESTS_HOSTILE_ARENA_H

#include "harness.h"
#include "tests/gpushared/world.h"
#include "ulib/backend.h"

#define US 1000ull

#define DEVICE		"cpu:0"
#define HONEST_UID	64001
#define HOSTILE_UID	64002
#define OTHER_UID	64003
#define THIRD_UID	64004

struct hold {
	uint64_t from, to;	/* to: 0 while it lasts */
};

#define DIARY_LINES	(1u << 17)

struct diary {
	unsigned int n;
	struct hold of[DIARY_LINES];
};

extern struct world w;

/* Ends the test, skipped, where there can't be cgroups or other users. */
void arena_set_up(void);
void arena_remove(void);
/* An empty cgroup below the arena's ("/a/b"), for this user to divide; 0: for root. */
void arena_cgroup(const char *name, uid_t owner);
/* Sets a share of one; mask and what it names are given. */
int arena_share(const char *name, struct gpushare_share *share);
/* Where the cgroups are mounted. */
const char *arena_mount(void);
/* Its path in the file system, in static memory. */
const char *arena_path(const char *name);
/* All processes in the arena's cgroups end. */
void arena_kill_all(void);

/* In memory that children share. */
struct diary *diary_new(void);

/* A child of the caller's, in a cgroup (NULL: the caller's), as a user. 0 in the child. */
pid_t descend(const char *cgroup, uid_t uid);

struct fighter {
	struct gs_transport a;
	struct gs_pages pages;
	uint64_t back;		/* the epoch that it gave back last */
	uint64_t want_ns;
	uint64_t until_ns;	/* when it stops waiting */
	uint64_t id;
	uint32_t lost;
	struct diary *diary;
	unsigned int line;
	bool holds;
};

/* Connects and attaches to a device; @group is a named one's id, or 0. */
int fighter_join(struct fighter *f, struct diary *diary, const char *key, uint64_t group);
void fighter_leave(struct fighter *f);
/* Waits for the device, with @again giving it back before; and begins a line. */
int fighter_ask(struct fighter *f, bool again);
/* Notes that its hold ends here, which the arbiter isn't told. */
void fighter_stop(struct fighter *f);
/* Stops, and gives back. */
void fighter_yield(struct fighter *f);
/* Whether it holds the device, in the arbiter's books, and isn't asked back. */
bool fighter_may_run(const struct fighter *f);
/* Whether it holds it at all. */
bool fighter_holds(const struct fighter *f);

/* How much of a window's time each of @n tenants held the device. */
#define TENANTS 4

struct score {
	uint64_t from, to;	/* the window */
	uint64_t held[TENANTS];
	unsigned int lost[TENANTS];	/* how often somebody else was granted it meanwhile */
	uint64_t between;	/* after one had given it back, before the next had it */
};

/*
 * The window is within from and to, and as long as it may be so that tenant @whose owes
 * nothing at its ends: it begins and ends where that tenant is granted the device after
 * somebody else had it. Where that isn't so twice, it is the whole time.
 */
struct score score(struct diary *const *diaries, unsigned int n, unsigned int whose,
		   uint64_t from, uint64_t to);

#endif
