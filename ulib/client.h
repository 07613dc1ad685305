/* SPDX-License-Identifier: MIT */
/*
 * What is behind a handle.
 *
 * Two pages of memory: the first holds how to open it anew, the second (struct
 * gs_gate, where the public struct is) all that belongs to this process's
 * client. The second is wiped by the kernel in a forked child, so a child finds
 * a gate that was never set up, with its locks open, whatever its parent's
 * threads were doing; the slow path then makes a client of the child's own.
 *
 * The count of slices under way and the bit that closes the gate are one word:
 *
 *	0..	slices under way; CLOSED: what is held was given back, or nothing
 *		is held. A slice may be begun without a lock while it is clear.
 *
 * Only with `lock` held, and no slice under way, is the bit set to give a grant
 * back; it is cleared when there is a grant, or none is needed.
 *
 * Handles on several devices may form a set, a ring, for gpushare_begin_any(). A
 * ring is whole at each moment, as a forked child finds it as it is.
 *
 * Lock order: gs_gate.memory, gs_process.lock, gs_gate.lock (of a set in the order of
 * addresses), gs_gate.call, gs_process.sets.
 */
#ifndef GS_CLIENT_H
#define GS_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "include/gpushare.h"

#define GS_CLOSED	0x80000000u

struct gs_client;

struct gs_gate {
	struct gpushare public;		/* first: the handle points here */
	struct gs_pages pages;
	uint32_t under_way;
	uint32_t lost;			/* the watcher saw the arbiter go */
	uint32_t event;			/* futex: something changed for those who wait here */
	uint32_t ready;			/* set up in this process */

	pthread_mutex_t lock;		/* protects what follows, up to call */
	bool gated;
	struct gs_gate *asker;		/* a thread waits for the grant, on this one's page */
	bool requested;			/* one was sent that nobody waits for */
	uint32_t draining;		/* threads that wait until nothing is under way */
	bool watched;			/* in the process's list */
	int why;			/* ungated: the error */
	uint32_t device;
	uint64_t client;
	uint64_t generation;
	uint64_t epoch_back;		/* the grant that was given back last */
	uint64_t retry_ns;		/* ungated: when to try again */
	uint64_t delay_ns;		/* and how long to wait after that */

	bool joined;			/* others may join its set; under gs_process.sets */

	pthread_mutex_t call;		/* protects the connection while commands go over it */
	struct gs_transport arbiter;
	uint64_t mem_current, mem_swapped;	/* charged, to charge again */
	int memory_fd;			/* and one, of the wait for memory's connection; 0: none */

	pthread_mutex_t memory;		/* held by the thread that waits for memory */

	struct gs_client *prev, *next;	/* in the process's list; its lock */
};

struct gs_client {
	size_t page;
	char key[GPUSHARE_KEY_MAX];
	char group[GPUSHARE_NAME_MAX];	/* empty: none */
	char where[108];		/* empty: as the environment says */
	bool strict;
	int file;			/* of the connection, -1: none; a child inherits it */
	uint64_t file_inode;		/* so that it isn't closed if it is another's by then */
	int bell, bell_id;		/* the same of the doorbell */
	struct gs_client *set;		/* the ring of a set, itself if alone; gs_process.sets */
	struct gs_gate *gate;
};

/* The first page's last word points to its beginning. */
static inline struct gs_client *gs_client_of(const struct gpushare *handle)
{
	return ((struct gs_client * const *)(const void *)handle)[-1];
}

static inline struct gs_gate *gs_gate_of(const struct gpushare *handle)
{
	return (struct gs_gate *)(uintptr_t)handle;
}

static inline uint64_t gs_word(const struct gs_gate *gate)
{
	return __atomic_load_n(&gate->pages.grant->word, __ATOMIC_ACQUIRE);
}

/* Something of the process that is made when it is first wanted. */
struct gs_once {
	pthread_mutex_t lock;		/* for who makes it, or adds to it */
	void *value;
	bool failed;
};

/* page.c */
int gs_client_alloc(struct gs_client **client);
void gs_client_free(struct gs_client *client);
int gs_pages_reserve(struct gs_pages *pages, size_t length);
int gs_pages_ungate(const struct gs_pages *pages, uint64_t epoch);
void gs_pages_inherit_not(const struct gs_pages *pages);
void gs_pages_free(const struct gs_pages *pages);

/* libgpushare.c: set_up() takes gate->lock, the others want it held */
int gs_set_up(struct gs_client *client);
int gs_connect(struct gs_client *client, bool hurry);
void gs_go_ungated(struct gs_client *client, int why);
void gs_lose(struct gs_client *client, int why);
void gs_watch_if_needed(struct gs_client *client);
int gs_call(struct gs_gate *gate, unsigned long cmd, void *arg);
int gs_public_call(struct gpushare *handle, unsigned long cmd, void *arg);
int gs_probe(struct gs_gate *gate);
uint64_t gs_inode_of(int fd);

/* gate.c */
void gs_wake_asker(struct gs_gate *gate);	/* gate->lock is held */
void gs_changed(struct gs_gate *gate);

/* watcher.c */
int gs_watch(struct gs_client *client);
void gs_unwatch(struct gs_client *client);
void gs_watcher_kick(void);
bool gs_process_may_say(void);
struct gs_once *gs_process_launches(void);	/* NULL: no memory */
bool gs_sets_lock(void);		/* false: no memory */
void gs_sets_unlock(void);

#endif
