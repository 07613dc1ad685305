/* SPDX-License-Identifier: MIT */
/*
 * libgpushare: take part in the sharing of an accelerator.
 *
 * A program opens a handle on a device, and brackets each slice of work (a
 * kernel, or a part of one) by gpushare_begin() and gpushare_end():
 *
 *	gpushare_open(&g, "pci:0000:65:00.0", NULL);
 *	for each slice:
 *		gpushare_begin(g, GPUSHARE_FOREVER);	may I? if not, wait
 *		launch it, wait for it
 *		gpushare_end(g);
 *	gpushare_close(g);
 *
 * While the device is granted, gpushare_begin() reads a page and returns. When
 * the arbiter asks the device back, the next gpushare_begin() waits until what
 * is under way has ended, gives it back and asks anew. When nothing is under
 * way the handle is idle; if others wait, the device is given back after the
 * arbiter's linger, by a background thread of the library. Brackets may overlap
 * and be closed by any thread, say in a completion callback.
 *
 * Work that has many boundaries of its own (persistent workers, a loop over
 * micro-kernels inside one bracket) asks gpushare_may_run() at each: it is a
 * load or two, never a call. When it says no: stop, gpushare_end(), and begin
 * again. What is on the device can poll the word that gpushare_pages() tells.
 *
 * The arbiter is, in this order: what GPUSHARE_ARBITER says (the path of a
 * device node or of a socket, "private" or "none"); /dev/gpushare; the system's
 * daemon, /run/gpushare/arbiter.sock; the user's own daemon, which is started if
 * need be, but not in a container unless "private" asks for it. If there is none, or it goes away, the program runs on *ungated*: nothing
 * waits any more, one line on stderr says so, and the library tries to come
 * back under arbitration, at growing intervals. No function here ends the
 * program, handles a signal or sets errno; all return 0 or -errno.
 *
 * Threads may share a handle; closing it is for when no other uses it. After
 * fork() a child's copy of a handle is a new client: it is made when the child
 * first calls gpushare_begin(). exec() ends all handles.
 */
#ifndef GPUSHARE_H
#define GPUSHARE_H

#include <stddef.h>
#include <stdint.h>
#include <linux/gpushare.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A handle. Only @grant may be read, and only by gpushare_may_run(): it is the
 * arbiter's page, or one that says "granted" while ungated, or NULL in a forked
 * child that hasn't asked yet.
 */
struct gpushare {
	const struct gpushare_grant_page *grant;
};

/* gpushare_open() fails, instead of going ungated, if no arbiter can be had. */
#define GPUSHARE_OPEN_STRICT	0x1

struct gpushare_options {
	uint32_t size;			/* sizeof(struct gpushare_options) */
	uint32_t flags;			/* GPUSHARE_OPEN_* */
	const char *arbiter;		/* instead of GPUSHARE_ARBITER; NULL: look there */
	const char *group;		/* named group, with the daemon; NULL: GPUSHARE_GROUP */
	struct gpushare *set;		/* a handle on another device: both are of one set */
};

/*
 * Open a handle on the device with this key ("pci:0000:65:00.0", "mig:...",
 * "cpu:0"). @options may be NULL. -EINVAL: not a key, or unknown options;
 * -ENOMEM; with STRICT also -ENODEV: the arbiter doesn't know the device, and
 * what the arbiter said, or -ENOENT if there is none.
 */
int gpushare_open(struct gpushare **handle, const char *key,
		  const struct gpushare_options *options);

/* Give everything back. NULL is allowed. */
void gpushare_close(struct gpushare *handle);

/*
 * May the next slice run now? No call, no lock, no store. It is the answer of
 * this moment: bracket what you launch all the same.
 */
static inline int gpushare_may_run(const struct gpushare *handle)
{
	const struct gpushare_grant_page *grant = __atomic_load_n(&handle->grant, __ATOMIC_RELAXED);

	if (__builtin_expect(!grant, 0))
		return 0;
	return (__atomic_load_n(&grant->word, __ATOMIC_ACQUIRE) &
		(GPUSHARE_GRANTED | GPUSHARE_PREEMPT)) == GPUSHARE_GRANTED;
}

/*
 * Begin a slice: wait until the device is granted and count one more under way.
 * @until_ns is a point in time of CLOCK_MONOTONIC, GPUSHARE_FOREVER, or 0 for
 * not at all. -ETIMEDOUT: it wasn't granted by then (-EAGAIN if @until_ns is
 * 0, and the request stays), and nothing was begun. Signals don't end the
 * wait.
 */
int gpushare_begin(struct gpushare *handle, uint64_t until_ns);

/*
 * Begin a slice on whichever device of the handle's set is free first, for work
 * that may run on any of them: *@which is its handle, to be ended. A device that
 * is held already, and not asked back, is taken at once, so that work stays where
 * it is while it may. A handle whose device went, or that is ungated for another
 * reason, is left out while any is arbitrated. If slices are under way on one
 * that is asked back, they must end first.
 */
int gpushare_begin_any(struct gpushare *handle, uint64_t until_ns, struct gpushare **which);

/* End a slice that was begun. */
void gpushare_end(struct gpushare *handle);

/*
 * Say that no more work is to come for a while: the device is given back at
 * once if it is held, a request is taken back. -EBUSY: slices are under way.
 */
int gpushare_yield(struct gpushare *handle);

/* Point in time for gpushare_begin(): @ns from now. */
uint64_t gpushare_after(uint64_t ns);

/* Tell, for statistics and estimates: so many more blocks done and ns of work. */
void gpushare_progress(struct gpushare *handle, uint64_t blocks, uint64_t busy_ns);

/*
 * Tell that what is on the device can't be stopped, and when about it will have ended; 0:
 * there is no such thing any more. If the device is asked back meanwhile it goes to who
 * waits at once, and takes turns between the two; what is under way is charged on.
 */
void gpushare_until(struct gpushare *handle, uint64_t until_ns);

/* Tell that so many launches went past the gate. */
void gpushare_unscheduled(struct gpushare *handle, uint64_t launches);

/*
 * Count a launch, for gpusharectl status --transforms: of which kernel (its name),
 * in which way it was made ("slices", "workers", ...; "whole": it wasn't cut), and
 * why so (NULL: nothing to say). What has the same three is counted together; names
 * are cut at 111 bytes, ways at 15. For wrappers; no handle is needed.
 */
void gpushare_launched(const char *kernel, const char *way, const char *why);

/*
 * Account device memory: @op is GPUSHARE_MEM_*. @result may be NULL; it tells
 * what is left. -ENOMEM: a limit would be passed, so don't allocate. -ERANGE:
 * more given back, or moved, than there was. While ungated nothing is refused;
 * what was charged is charged again when an arbiter is back.
 */
int gpushare_memory(struct gpushare *handle, uint32_t op, uint64_t bytes,
		    struct gpushare_memory *result);

/*
 * Charge @bytes, and where the settings say so (mem.full=wait) wait until they are there,
 * as long as they allow; elsewhere it is gpushare_memory(). Call it before allocating.
 * @flags is 0, or GPUSHARE_MEM_REFUSED: the device refused what was charged before, and
 * that was given back (GPUSHARE_MEM_UNCHARGE); then it waits until others gave back
 * something, or is -ENOMEM where nothing waits. -ENOMEM; -ETIMEDOUT: not in all its time;
 * -EINTR: a signal with a handler that doesn't restart calls (SA_RESTART) ended the
 * wait. Other threads' calls go on meanwhile; another that waits, too, waits behind it.
 */
int gpushare_memory_wait(struct gpushare *handle, uint32_t flags, uint64_t bytes,
			 struct gpushare_memory *result);

/*
 * Describe the kernel that runs next, see struct gpushare_describe; @size is
 * filled in. @kernel->workers says how many workers may be resident (0: no
 * limit). -ERANGE: one work-group needs more than a compute unit has.
 */
int gpushare_describe(struct gpushare *handle, struct gpushare_describe *kernel);

/* The client's counters. -ENOTCONN while ungated. */
int gpushare_statistics(struct gpushare *handle, struct gpushare_stats *stats);

/* The grant, read as a whole. */
struct gpushare_grant {
	uint64_t epoch;			/* goes up with each grant */
	uint32_t flags;			/* GPUSHARE_GRANTED, _PREEMPT, _PREPARE, _EVICT, ... */
	uint32_t workers;		/* most resident workers, 0: no limit */
	uint64_t granted_ns;
	uint64_t deadline_ns;		/* when it is asked back if others wait */
	uint64_t slice_ns;
	uint64_t linger_ns;
	uint32_t waiters;
	uint32_t reserved;
};

void gpushare_grant(const struct gpushare *handle, struct gpushare_grant *grant);

/*
 * The pages, for a driver to pin (the grant page can only be pinned for
 * reading): what is on the device may poll @grant->preempt, and count in
 * @client->progress. When the arbiter changed they are other pages at the same
 * addresses, and @generation has gone up: pin them anew.
 */
struct gpushare_pages {
	const struct gpushare_grant_page *grant;
	struct gpushare_client_page *client;
	size_t length;			/* of each */
	uint64_t generation;
};

void gpushare_pages(const struct gpushare *handle, struct gpushare_pages *pages);

/* How it stands with the arbiter. */
struct gpushare_state {
	uint32_t gated;			/* 1: under arbitration, 0: ungated */
	uint32_t device;		/* ids, 0 while ungated */
	uint64_t client;
	uint64_t generation;
	uint64_t under_way;		/* slices begun and not ended */
	char arbiter[108];		/* path; empty while ungated */
};

void gpushare_state(const struct gpushare *handle, struct gpushare_state *state);

#ifdef __cplusplus
}
#endif

#endif /* GPUSHARE_H */
