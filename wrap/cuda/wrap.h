/* SPDX-License-Identifier: MIT */
/*
 * Inside of the libcuda wrapper.
 *
 * Lock order: lane.c's marking, gs_poll, then a lane's own lock, then the lock of the
 * records. None of them is held while a launch goes to the driver, and none where the
 * driver can wait; gs_poll alone is held over queries, which return at once, and marking
 * while an event is recorded, which does as well.
 */
#ifndef GS_CUDA_WRAP_H
#define GS_CUDA_WRAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpushare.h"
#include "wrap/launch/budget.h"
#include "cu.h"

/* boot.c, entry.S: the driver's entry points and ours, in the order of names.h */
#define N(name, base, version, twin, first, last, kind) I_##name,
enum gs_entry {
#include "names.h"
	GS_ENTRIES
};

extern void *gs_real[GS_ENTRIES];
extern const int32_t gs_self[GS_ENTRIES];	/* from its own address on */
extern uint64_t gs_past_gate;	/* calls whose work went past the gate */

/* The driver's own function; before its first call, the stub that finds it. */
#define REAL(name) ((__typeof__(&name))__atomic_load_n(&gs_real[I_##name], __ATOMIC_RELAXED))

/* A function of kind H. */
#define HOOK(name, ...)							\
	__attribute__((visibility("default"))) CUresult name(__VA_ARGS__);	\
	CUresult name(__VA_ARGS__)

void gs_boot(void);
void *gs_resolve(void **slot);	/* one of gs_real: what it leads to from now on */
bool gs_is_missing(enum gs_entry entry);	/* the driver has no such function */
__attribute__((format(printf, 1, 2))) void gs_say(const char *format, ...);

#define GS_DEVICES	64
#define GS_IN_FLIGHT	1024u	/* launches, the most however short they are */

/* One of the machine's devices, as far as this process uses it. */
struct gs_device {
	CUdevice ordinal;
	struct gs_budget budget;	/* @share NULL: all goes past the gate */
	uint32_t units;			/* multiprocessors */
	uint32_t arch;			/* 90 for 9.0 */
};

/* A context that we have met; goes when it is destroyed. gs_poll protects it. */
struct gs_context {
	struct gs_context *next;
	uint64_t id;			/* no other's, ever: handles come again */
	CUcontext handle;
	CUdevice ordinal;
	struct gs_device *dev;		/* NULL: not needed yet */
	const void *green;		/* made from this green context */
	uint32_t refs;			/* by cuCtxAttach(), and one for its maker */
	bool made;			/* by the program; else it is a primary one */
	bool leaving;			/* the driver has been told to destroy it */
	CUevent plain[64], timed[64];	/* events to use again */
	uint32_t n_plain, n_timed;
	struct gs_area *areas;		/* for launches by tickets */
};

/* device.c */
struct gs_device *gs_device_of(CUdevice ordinal);
uint32_t gs_device_arch(CUdevice ordinal);	/* 90 for 9.0, 0: not known */
struct gs_device *gs_device_current(void);
void gs_devices_forget(void);		/* in a forked child */
void gs_devices_past_gate(void);	/* hands gs_past_gate on to the statistics */
extern struct gs_device *gs_devices[GS_DEVICES];

/*
 * A lane is a stream as we follow it: what was launched into it and hasn't ended.
 * Lanes are never freed, only used again, so they may be found without a lock.
 */
#define GS_MARKS	64u

/* What launches come to. */
struct gs_load {
	uint64_t ns;			/* as estimated */
	uint64_t blocks;
};

struct gs_mark {
	CUevent end, begin;		/* begin: NULL, or it was timed */
	uint64_t upto;			/* what has ended when `end` has happened */
	struct gs_load load;		/* of all of that */
	struct gs_record *record;	/* of the launch that was timed */
	uint32_t life;			/* of the record then */
	uint64_t blocks;
};

struct gs_lane {
	struct gs_lane *chain;		/* in its bucket; read without a lock */
	struct gs_lane *next;		/* of all; gs_poll */
	struct gs_lane **bucket;
	CUstream stream;
	struct gs_context *context;
	struct gs_device *dev;
	bool per_thread;		/* many streams in one: no order among its marks */
	bool blocking;			/* it and the legacy stream follow each other */
	bool dead;			/* gs_poll */
	bool leaving;			/* dead, unless its context stays; gs_poll */
	uint64_t submitted;		/* counts up, without a lock */
	struct gs_load submitted_load;	/* as well */
	pthread_mutex_t lock;		/* protects the rest; ended, marked, count may be read */
	uint64_t ended;
	struct gs_load ended_load;
	uint64_t marked;
	struct gs_mark marks[GS_MARKS];
	uint32_t first, count;
	/* What hasn't gone to the driver yet; protected by rest.c's lock. */
	struct gs_work *rest, *rest_end;
	struct gs_lane *busy_next;
	uint64_t turn;
	uint32_t n_rest;
};

/* lane.c */
extern pthread_mutex_t gs_poll;
extern uint32_t gs_captures;	/* captures that are under way in this process */
struct gs_lane *gs_lane_find(CUstream stream, bool twin, CUcontext ctx);
/* What has been submitted to it so far. */
struct gs_load gs_lane_load(const struct gs_lane *lane);
void gs_lane_submitted(struct gs_lane *lane, struct gs_load load);
void gs_lane_unmarked(struct gs_lane *lane, struct gs_load load);
/* @load: of the last launch. */
void gs_lane_mark(struct gs_lane *lane, const struct gs_mark *timed, struct gs_load load);
void gs_lane_forget(CUstream stream);
void gs_reap(struct gs_device *dev);
void gs_lanes_mark_all(void);
struct gs_context *gs_context_known(void);	/* the present one, its device perhaps not set */
struct gs_context *gs_context_current(void);
void gs_context_made(CUcontext ctx, CUdevice ordinal, const void *green);
uint32_t gs_context_refs(CUcontext ctx, int change);
/*
 * A context is about to be destroyed, so nobody asks its streams any more: @ctx, or
 * that of @green, or else the device's primary one. NULL: we don't know it. Then what
 * came of it.
 */
struct gs_context *gs_context_leaves(CUcontext ctx, const void *green, CUdevice ordinal);
void gs_context_left(struct gs_context *context, bool gone);
CUevent gs_event_get(struct gs_context *context, bool timed);
void gs_event_put(struct gs_context *context, CUevent event, bool timed);
void gs_lanes_forget(void);		/* in a forked child */

/*
 * gate.c: one more launch, which is estimated to take so long (0: unknown); waits
 * for the grant and for room. Returns what it was taken for.
 */
uint64_t gs_admit(struct gs_device *dev, uint64_t est_ns);
void gs_refused(struct gs_device *dev, uint64_t est_ns);	/* one that was admitted */
#define GS_QUICK_LOOKS 60u	/* so many are at most 20 us apart, more 100 us */
void gs_pause(uint32_t n);
bool gs_thread(void *(*start)(void *arg), void *arg);	/* of ours, that ends with the process */
bool gs_is_keeper(void);
void gs_keeper_wake(void);
void gs_keeper_forget(void);	/* in a forked child */

/* What was set on a kernel, to be set on its variants. */
#define GS_SETTINGS	8u
#define GS_SET_CACHE	(-1)
#define GS_SET_BANKS	(-2)
struct gs_setting {
	int what;		/* an attribute's number, or one of these */
	int value;
	CUdevice dev;
};

/* How a handle was found, and so how its variants are. */
enum gs_found { GS_FOUND_ELSEWHERE, GS_FOUND_IN_MODULE, GS_FOUND_IN_LIBRARY, GS_FOUND_BY_KERNEL };

#define GS_NO_VARIANT	((const void *)&gs_past_gate)

struct entry;	/* memory.c's */
struct gs_image;
struct gs_image_kernel;
struct gs_made;
struct gs_work;

/* A record of what is launched: a function, a kernel or an instantiated graph. */
struct gs_record {
	struct gs_record *chain;
	const void *handle;		/* these two are read without a lock */
	uint32_t lives;			/* how many handles it has served */
	/*
	 * From here on it is cleared when it is used again. What says what it is, ctx to name,
	 * is written under the records' lock; but the name is only cleared, once it is set,
	 * under variant.c's as well, which the rest has.
	 */
	CUcontext ctx;			/* NULL: the present one */
	uint64_t block_ps;		/* measured, picoseconds a block; 0: unknown */
	uint32_t launches;
	uint64_t like[2];		/* block and shared memory of a launch that went well */
	const void *owner;		/* module or library that it goes with */
	enum gs_found found;
	struct gs_record *of;		/* found by this kernel */
	char *title;			/* what it is called, NULL: not known; read unlocked */
	const char *name;		/* the same, if it could be cut; else NULL */
	const char *why;		/* it was launched whole the last time */
	struct gs_made *made;
	const struct gs_image_kernel *kernel;	/* how it can be cut; NULL: not known yet */
	uint32_t modes;			/* that were looked for when that was made */
	const void *variant[3];		/* by GSX_MODES; NULL: not looked up yet */
	struct gs_made *from[3];	/* where that is, set before it */
	const struct gs_image_kernel *as[3];	/* what it is there */
	struct gs_setting settings[GS_SETTINGS];
	uint32_t n_settings;
	bool settings_lost;		/* its variants can't be as it is: never cut */
};

/* Any thread that launches it says and reads this. */
static inline void gs_whole_because(struct gs_record *record, const char *why)
{
	__atomic_store_n(&record->why, why, __ATOMIC_RELAXED);
}

/* record.c */
struct gs_record *gs_record_find(const void *handle);
void gs_record_add(const void *handle);
/*
 * What was found out about a handle: @what has its owner, found, ctx, of and title (of which
 * it gets a copy), and a name if it could be cut.
 */
void gs_record_know(const void *handle, const struct gs_record *what);
void gs_record_gone(const void *handle);
void gs_records_gone(const void *owner);
void gs_records_forget(void);		/* in a forked child */
void gs_record_measured(struct gs_record *record, uint32_t life, uint64_t blocks, uint64_t ns);

/* A launch of the program, in one form for all. */
struct gs_launch {
	CUresult (*submit)(const struct gs_launch *l);
	const void *handle;
	CUstream stream;
	bool twin;			/* NULL is the thread's own stream */
	const char *whole;		/* why it must not be cut; NULL: it may be */
	uint32_t grid[3], block[3], shared;
	void **params, **extra;
	const CUlaunchConfig *config;
	void *real;			/* the driver's function */
};

/* memory.c */
/*
 * A module or library (whose context is 0) has variables of so many bytes. False: they are
 * too many. _owed: the device's gate is open now, for what was loaded before.
 */
bool gs_memory_variables(const void *module, uint64_t context, CUdevice ordinal, uint64_t bytes);
/* They are being unloaded: taken out, and then settled or, if they aren't gone, put back. */
struct entry *gs_memory_variables_take(const void *module);
void gs_memory_variables_end(struct entry *taken, bool gone);
void gs_memory_owed(struct gs_device *dev);
void gs_memory_gone(uint64_t context);	/* by its id */
void gs_memory_forget(void);		/* in a forked child */

/* stream.c */
bool gs_is_captured(CUstream stream, bool twin);
void gs_captures_forget(void);		/* in a forked child */

/* launch.c */
CUresult gs_launch(const struct gs_launch *l);

#endif
