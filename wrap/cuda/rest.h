/* SPDX-License-Identifier: MIT */
/* What of a stream's work hasn't gone to the driver yet. rest.c says how it works. */
#ifndef GS_CUDA_REST_H
#define GS_CUDA_REST_H

#include "wrap.h"

enum gs_step {
	GS_DONE,	/* all of it is with the driver */
	GS_AGAIN,	/* there is more to submit */
	GS_LATER,	/* there is, but something has to happen before */
};

struct gs_work {
	struct gs_work *next;
	struct gs_lane *lane;
	uint64_t number;	/* counts up over all lanes */
	bool held;		/* its beginning is with the driver in this moment */
	CUevent record, wait;	/* events that it names */
	CUresult late;		/* an error of a step, which no call of the program's told */
	/* A bit of it goes to the driver; its stream's context is the thread's. */
	enum gs_step (*step)(struct gs_work *w);
	void (*free)(struct gs_work *w);
};

enum gs_place {
	GS_NOT_PUT,	/* not taken: the caller submits it, now that nothing is before it */
	GS_FIRST,	/* held: nothing is before it, the caller submits its beginning */
	GS_BEHIND,	/* the rest of others is before it in its stream: it comes after them */
};

extern uint32_t gs_pending;	/* works in all lanes */
extern uint32_t gs_lates;	/* errors that gs_rest_late() hasn't told yet */

/*
 * Puts @w at the end of the lane's rest. Not if the lane may have none; nor, if it has
 * none, unless @first; nor behind others without @behind. What it must follow in the
 * lane or in others has gone to the driver then.
 */
enum gs_place gs_rest_put(struct gs_lane *lane, struct gs_work *w, bool first, bool behind);
void gs_rest_go(struct gs_work *w);	/* held no more */
void gs_rest_drop(struct gs_work *w);	/* held, and nothing is left of it */

/*
 * An error of what was submitted later than its call returned, as the next call that waits
 * for it tells it, once: of streams that @lane follows, or with NULL of the context, or with
 * NULL of any.
 */
CUresult gs_rest_late(const struct gs_lane *lane, CUcontext ctx);
/* What the driver answered to a call that waits, or else such an error (event.c). */
CUresult gs_or_late_in(CUresult r, CUstream stream, bool twin);
CUresult gs_or_late(CUresult r);	/* of the present context */
void gs_rest_lane_gone(const struct gs_lane *lane);
void gs_rest_context_gone(const struct gs_context *context);

/* Something before what is submitted to the lane now isn't with the driver yet. */
bool gs_rest_is_before(const struct gs_lane *lane);
/* Works before that number which record the event, or that name it, in other lanes than @but. */
bool gs_rest_records(CUevent event, uint64_t before);
bool gs_rest_names(CUevent event, const struct gs_lane *but);

/*
 * Returns when all that was there is with the driver: what @lane has to follow, or what
 * is of the context; with neither, all. Also called by entry points, from assembler.
 */
void gs_settle(const struct gs_lane *lane, CUcontext ctx);
void gs_settle_stream(CUstream stream, bool twin);	/* what comes into it now follows */
/* Entry points that name their stream, from assembler: a place in gs_real, the parameters. */
void gs_settle_named(void **slot, const uint64_t *args);
/* Entry points of copies that wait, from assembler: an error is given instead of the copy. */
CUresult gs_settle_for_copy(void);
void gs_settle_event(CUevent event);	/* its records */
void gs_settle_all(void);
/* The same, and no more comes until it is unlocked: a capture begins. */
void gs_settle_and_lock(void);
void gs_rest_unlock(void);
/* The same for good: the program is about to get a function that we don't know. */
void gs_rest_stranger(void);
void gs_rest_forget(void);		/* in a forked child */

/* Copies of what a launch points to. */
struct gs_kept {
	struct gs_launch l;
	CUlaunchConfig config;
	void **params;		/* a place for one more */
	void *buffer;
	size_t buffer_bytes;	/* what the driver is told */
	void *extra[5];
};

/* @sizes of its parameters; @room: bytes that a buffer has at least. False: not possible. */
bool gs_keep(struct gs_kept *k, const struct gs_launch *l, const uint32_t *sizes, uint32_t n,
	     size_t room);
void gs_kept_free(struct gs_kept *k);
/* Sizes of its parameters; false: they can't be known. */
bool gs_param_sizes(const struct gs_record *record, const struct gs_launch *l, uint32_t *sizes,
		    uint32_t *n);
#define GS_MAX_PARAMS	1024u
/* One with the same block and shared memory went well, and the grid is one at all. */
bool gs_is_like_before(const struct gs_record *record, const struct gs_launch *l);

#endif
