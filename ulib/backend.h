/* SPDX-License-Identifier: MIT */
/*
 * The two transports behind one table. backend.c is the one place that chooses.
 */
#ifndef GS_BACKEND_H
#define GS_BACKEND_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/gpushare.h>

#include "clock.h"
#include "transport.h"

/* Where a client's two pages lie, and how to tell an old grant from a new one. */
struct gs_pages {
	struct gpushare_grant_page *grant;
	struct gpushare_client_page *client;
	size_t length;
};

/* A client that is asked for. */
struct gs_asked {
	const struct gpushare_grant_page *page;
	struct gpushare_client_page *own;
	uint64_t epoch_back;	/* this grant was given back: not an answer */
	const uint32_t *lost;	/* set by the watcher when the arbiter is gone */
	uint64_t epoch;		/* the backend's: when it was asked */
};

/*
 * How a wait for a grant is to go. With several clients, which form a set, that
 * of the connection is the first, and any of them may be granted.
 */
struct gs_ask {
	struct gs_asked *of;
	unsigned int n;
	bool again;		/* give back what is held in the same step */
	uint64_t until_ns;	/* 0: don't wait */
};

/* So many devices may be asked for at once. */
#define GS_SET_MAX	64

/*
 * @open: connect to @path; @call: a command, see gs_transport_call();
 * @attach: ATTACH and map the pages over @pages, in one set with the client @set
 * (0: none), whose file set_fd names; @ask: wait for a grant, 0 or
 * -ETIMEDOUT, -EAGAIN (until_ns is 0), -ENODEV, -EPIPE, -EINTR; @yield: give
 * back what is held, without waiting for an answer, which makes the epoch in @of
 * the last that was given back; @wait_memory: MEMORY for @client, as long as it takes:
 * -EINTR, -EPIPE; @close: drop what is open,
 * and with @end also for those who inherited it. @can_die: the arbiter may go
 * away at any moment, which is a hang-up of the file.
 */
struct gs_backend {
	int (*open)(struct gs_transport *a);
	int (*call)(struct gs_transport *a, unsigned long cmd, void *arg);
	int (*attach)(struct gs_transport *a, struct gpushare_attach *attach,
		      const struct gs_pages *pages, uint64_t set);
	int (*ask)(struct gs_transport *a, const struct gs_ask *ask);
	int (*yield)(struct gs_transport *a, const struct gs_asked *of);
	int (*wait_memory)(struct gs_transport *a, struct gpushare_memory *m, uint64_t client);
	void (*close)(struct gs_transport *a, bool end);
	bool can_die;
};

extern const struct gs_backend gs_backend_kernel, gs_backend_socket;

struct gs_transport {
	const struct gs_backend *ops;
	int fd;
	int bell;		/* the daemon's doorbell, -1: none */
	bool started;		/* the user's own daemon, by us */
	uint64_t features;	/* GPUSHARE_FEAT_* */
	uint64_t turned_away;	/* callers of the daemon, before the last VERSION */
	uint64_t cookie;
	uint64_t limit_ns;	/* how long a call may take */
	char path[108];
	unsigned int nr_events, next_event;
	struct gpushare_event *events;	/* gs_transport_next()'s, one message's */
};

#define GS_CALL_LIMIT_NS	10000000000ull

/* A hurried one gives up after a second, as long as limit_ns isn't raised. */
#define GS_TRANSPORT_HURRY	0x2

/* gs_transport_open() and _close() for one that lies in other memory. */
int gs_transport_connect(struct gs_transport *a, const char *where, unsigned int flags);
void gs_transport_drop(struct gs_transport *a, bool end);

/* Start the user's own daemon and wait until it listens on its socket. */
int gs_spawn_daemon(const char *socket_path);

/* Milliseconds until a point in time, for poll(); -1 is forever. */
int gs_ms_until(uint64_t until_ns);

static inline uint64_t gs_epoch(uint64_t word)
{
	return word >> GPUSHARE_EPOCH_SHIFT;
}

/* Does @word show a grant that wasn't given back yet? */
static inline bool gs_word_granted(uint64_t word, uint64_t epoch_back)
{
	return (word & GPUSHARE_GRANTED) && gs_epoch(word) != epoch_back;
}

#endif
