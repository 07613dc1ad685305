/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL layer: stands between a program and the ICD loader, so that each
 * launch asks for leave, in pieces that end when the arbiter wants the device.
 *
 * Handles stay the driver's own. What the layer knows of one is in a side table,
 * by handle (object.c), for as long as the program holds it or a job of ours
 * needs it. A handle that isn't there is passed on as it is: whatever the layer
 * doesn't know, it doesn't touch.
 *
 * A launch goes one of two ways (launch.c):
 *
 *	direct		straight into the program's queue, whole, when the grant
 *			stands, its estimated time fits into what may be in flight,
 *			and nothing that it waits for is somebody's to decide;
 *	deferred	a marker behind what it must wait for, a user event, and a
 *			barrier on that event, which stands for it in the program's
 *			queue. The device's launcher, a thread of ours (launcher.c),
 *			waits for the grant and launches it, piece by piece, in a
 *			private queue, then sets the user event.
 *
 * Locks, in this order: gs_queue.lock, gs_kernel.lock, gs_program.lock,
 * gs_device.lock, a table's. The first three are one object's and recursive,
 * since a driver may run callbacks of the program inside any call, and may be
 * held while the driver is called; the others never are. A callback of ours
 * takes gs_device.lock and a table's only.
 */
#ifndef GS_OPENCL_LAYER_H
#define GS_OPENCL_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../include/gpushare.h"
#include "ulib/clock.h"
#include "ways.h"
#include "wrap/launch/budget.h"
#include "wrap/launch/option.h"

#define GS_NO_TIME UINT64_MAX

/* The functions below us; NULL where the loader or the driver has none. */
extern cl_icd_dispatch gs_cl;

/* Puts a wrapper in front of what is there; also for who asks for it by name. */
#define GS_HOOK(table, name, wrapper) do {			\
	if (gs_cl.name) {					\
		(table)->name = (wrapper);			\
		gs_hooked(#name, (void *)(table)->name);	\
	}							\
} while (0)

void gs_hooked(const char *name, void *wrapper);

void gs_hook_platform(cl_icd_dispatch *table);
void gs_hook_queue(cl_icd_dispatch *table);
void gs_hook_enqueue(cl_icd_dispatch *table);
void gs_hook_event(cl_icd_dispatch *table);
void gs_hook_program(cl_icd_dispatch *table);
void gs_hook_il(cl_icd_dispatch *table);
void gs_hook_kernel(cl_icd_dispatch *table);
void gs_hook_memory(cl_icd_dispatch *table);
void gs_hook_launch(cl_icd_dispatch *table);

void gs_recursive_mutex(pthread_mutex_t *mutex);
void gs_monotonic_cond(pthread_cond_t *cond);

/* object.c */
enum gs_kind { GS_QUEUE, GS_PROGRAM, GS_KERNEL, GS_EVENT, GS_MEM, GS_SAMPLER, GS_SVM };

/*
 * First in each record. @held counts the program's references as the driver
 * does; the record leaves the table when they are gone, since the handle may be
 * another object's from then on. @refs counts also ours; then it ends.
 */
struct gs_object {
	void *handle;
	enum gs_kind kind;
	uint32_t held, refs;
	void (*end)(struct gs_object *object);
	struct gs_object *next;
};

void gs_object_add(struct gs_object *object, enum gs_kind kind, void *handle,
		   void (*end)(struct gs_object *object));
/* Borrowed: it is there for as long as the program may use the handle. */
void *gs_object_find(enum gs_kind kind, const void *handle);
/* As above, and one reference more of ours. */
void *gs_object_find_get(enum gs_kind kind, const void *handle);
void gs_object_get(struct gs_object *object);
void gs_object_put(struct gs_object *object);
void gs_object_retained(enum gs_kind kind, const void *handle);
/* Before the driver's own release; true: it was the program's last reference. */
bool gs_object_released(enum gs_kind kind, const void *handle);

/* device.c: an accelerator that is granted. Never freed. */
struct gs_job;

struct gs_device {
	struct gs_device *next;
	char key[GPUSHARE_KEY_MAX];
	struct gs_budget budget;

	pthread_mutex_t lock;		/* protects what follows */
	pthread_cond_t changed;		/* for the launcher */
	bool launcher;			/* there is one */
	bool asleep;			/* it waits without a time limit */
	struct gs_queue *queues;	/* those with jobs to be launched */
	uint32_t jobs;			/* not over; read without the lock */
	struct gs_batch *batches;	/* of queues */
	struct gs_batch *ended;		/* to be freed, outside of a callback; atomic */
	struct gs_piece *landed;	/* pieces of jobs that have ended, likewise */
	uint32_t pieces;		/* of jobs, in flight */
	uint64_t turn;			/* the launcher's, to choose among queues */
	bool probed, sees_host;		/* set once, the first atomic; see workers.c */
	pthread_mutex_t probing;	/* held meanwhile, and for no other device */

	/* atomic */
	bool no_room;			/* a job waits for room: nothing goes past it */
	uint32_t open, begun;		/* batches: now, ever */
};

/* How often this process was made by a fork, as far as we were there. */
extern uint32_t gs_forks;

/* The device's arbiter; NULL if it can't be had (then nothing is gated). */
struct gs_device *gs_device_of(cl_device_id id);
bool gs_device_is_pocl(cl_device_id id);

/* queue.c */
struct gs_batch;
struct gs_cut;
struct gs_kernel;
struct gs_shadow;
struct gs_todo;
struct gs_workers;

struct gs_queue {
	struct gs_object object;
	cl_context context;
	cl_device_id id;
	struct gs_device *device;
	bool in_order, profiling, keeps_device;
	bool pocl;			/* its device */
	uint32_t lanes;			/* what it adds to a crowd, see queue.c */
	bool at_once;			/* nothing can be deferred, see queue.c */

	pthread_mutex_t lock;		/* recursive; protects what follows */
	cl_command_queue private;	/* made when first needed */
	bool behind_job;		/* the last command in it is a job's */
	uint64_t commands, drained;	/* how many; how many of them are known to be over */
	struct gs_batch *batch;		/* of it; to be used again if it isn't open */
	uint32_t blocked;		/* commands under way that block and may hang */
	cl_event doubt;			/* of the last command that may be long in coming */

	/* under device->lock */
	struct gs_queue *prev, *next;	/* device->queues */
	struct gs_job *first, *last;	/* to be launched; out of order, those that are ready */
	struct gs_job *open;		/* takes more launches; atomic, as the next */
	uint32_t jobs;			/* not over */
	uint64_t turn;			/* when a piece of it was launched last */
	uint32_t pieces;		/* of its jobs, in flight */

	/* the launcher's */
	bool at_work;			/* a piece by workers is in flight: its rest is to come */
	struct gs_workers *workers;	/* made when first needed */
};

struct gs_queue *gs_queue_find(cl_command_queue handle);
/* Could its driver break if launches were cut now? */
bool gs_queue_in_crowd(const struct gs_queue *queue);

/* Do they wait for what somebody has yet to decide? The queue's lock is held. */
bool gs_waits_open(struct gs_queue *queue, cl_uint n, const cl_event *events);
/* Is a command of the queue such a one, that holds up what comes next? */
bool gs_queue_in_doubt(struct gs_queue *queue);
/* What is in these events is over, or comes before in the queue in any case. */
bool gs_waits_implied(const struct gs_queue *queue, cl_uint n, const cl_event *events);
/* NULL: the driver refuses to make one. */
cl_command_queue gs_queue_private(struct gs_queue *queue);
/* No launch joins the open job any more. */
void gs_queue_close(struct gs_queue *queue);
/*
 * The first @commands commands, as counted in the queue, are over. Somebody waited for that
 * for so long; 0: it isn't known, or was for something else.
 */
void gs_queue_drained(struct gs_queue *queue, uint64_t commands, uint64_t waited_ns);
/*
 * A job's references of the program's queue, its last job's or not. Where the driver's is
 * the last one, some wait for all that is in the queue, which may in turn wait for the
 * program: not the caller.
 */
void gs_queue_put(struct gs_queue *queue, bool last_job);
extern bool gs_foreign_commands;	/* the program has functions that enqueue without us */

/* enqueue.c: a command that goes to the driver as it is. */
struct gs_command {
	struct gs_queue *queue;		/* NULL: not ours to watch */
	bool blocking, over, doubtful;	/* @over: when it returns, and all before it */
	uint64_t number;
	cl_event own;			/* where the program wants no event and we do */
	cl_event *event;
};

/* Returns where the driver is to put the event. Holds the queue's lock, unless it blocks. */
cl_event *gs_command_begin(struct gs_command *c, cl_command_queue handle, bool blocking,
			   bool barrier, cl_uint n, const cl_event *events, cl_event *event);
/* Returns @rc, what the driver said. */
cl_int gs_command_end(struct gs_command *c, cl_int rc);

/* event.c: of a launch that was deferred. */
struct gs_event {
	struct gs_object object;
	cl_command_type type;
	/* Written by the launcher before the driver's event completes. */
	cl_int status;
	cl_ulong start, end;		/* of its first and last piece; 0: none ran */
};

struct gs_event *gs_event_add(cl_event handle, cl_command_type type);

/* program.c: what clCompileProgram() was given to include, as it was then. */
struct gs_headers {
	uint32_t refs;
	cl_uint n;
	struct gs_header { char *name, *text; size_t length; } of[];
};

/* il.c: constants that a program has set in its intermediate language; never changed. */
struct gs_constants {
	uint32_t refs;
	cl_uint n;
	struct gs_constant { cl_uint id; uint32_t size; unsigned char value[16]; } of[];
};

void gs_constants_put(struct gs_constants *constants);
struct gs_constants *gs_constants_get(struct gs_constants *constants);
struct gs_constants *gs_constants_new(const void *of, cl_uint n);

struct gs_program {
	struct gs_object object;
	cl_context context;
	uint32_t kernels;		/* of it, that the program holds; atomic */
	uint64_t build;			/* which the last one is; atomic, set under the lock */
	pthread_mutex_t lock;		/* recursive; protects what follows */
	bool il;			/* its source is intermediate language, not text */
	char *source;			/* NULL: none that we know */
	size_t length;
	struct gs_constants *set;	/* for the next build; NULL: none */
	bool lost;			/* one that was set isn't known */
	char *options;			/* of the last build */
	struct gs_headers *headers;	/* a reference; NULL: none */
	struct gs_constants *constants;	/* likewise */
	bool built;			/* from the source, alone, with these options */
	bool remembered;		/* it is a binary, and this is where it came from */
	const char *why;		/* it has no source that can be rewritten */
	struct gs_program *more;	/* what it was linked of beside its source: no objects */
	struct gs_shadow *shadow;	/* a reference; made when first needed */
};

/* A new program's record, program.c; NULL: no memory. */
struct gs_program *gs_program_add(cl_program handle, cl_context context, const char *why);

/* shadow.c */
void gs_shadow_put(struct gs_shadow *shadow);
void gs_cut_free(struct gs_cut *cut);
/* Why a launch of so many groups can't be cut; NULL: it may be, as far as is known. */
const char *gs_cut_refusal(const struct gs_kernel *kernel, uint64_t groups);

/* kernel.c */
struct gs_arg {
	uint64_t version;		/* 0: never set */
	size_t size;
	void *value;			/* NULL: local memory, or a null pointer */
	const void *svm;
	bool is_svm;
	unsigned char small[16];	/* @value points here if it fits */
};

/*
 * Arguments as they were at an enqueue, shared by launches between which none was
 * set. Keeps the memory objects among them.
 */
struct gs_args {
	uint64_t version;		/* the highest of its arguments' */
	uint32_t refs;
	struct gs_kernel *kernel;
	cl_uint n, n_kept;
	struct gs_kept { bool sampler; void *handle; } *kept;
	struct gs_arg arg[];
};

struct gs_estimate {
	struct gs_ways ways;		/* under the kernel's lock */
	struct gs_estimate *next;
	uint64_t size_class;
	uint64_t group_ps;		/* of one group, as it comes out; 0: unknown */
	uint32_t samples;
	uint32_t longer;		/* waits in a row that took longer than was thought; */
	uint64_t least_256;		/* the least ratio among them; both atomic */
};

struct gs_kernel {
	struct gs_object object;
	struct gs_program *program;	/* NULL: not known */
	uint64_t build;			/* of the program, that it is of */
	char *name;
	cl_uint n_args;
	struct gs_estimate *estimates;	/* only grows; atomic */

	pthread_mutex_t lock;		/* recursive; protects what follows */
	uint64_t version;		/* of what the program set last */
	uint64_t *native;		/* [n_args] versions that the driver's kernel has now */
	struct gs_args *args;		/* those of jobs, if they are still the last; not kept */
	bool exec_info;			/* clSetKernelExecInfo was used; atomic */
	struct gs_cut *cut;		/* how it is cut; set once, atomic, not by the lock */
	struct gs_limits *limits;	/* per device, see launch.c */
	struct {			/* where the last way it went is counted */
		const char *way, *why;
		uint64_t *counter;
		uint32_t forks;
	} gone;
	struct gs_arg arg[];
};

/* Counts a launch for gpusharectl status --transforms; the kernel's lock is held. */
void gs_kernel_gone(struct gs_kernel *kernel, const char *way, const char *why);
extern const char gs_short[];	/* a reason: it is short enough */
/* A snapshot; the kernel's lock is held. NULL: no memory, or an argument is missing. */
struct gs_args *gs_args_take(struct gs_kernel *kernel);
void gs_args_put(struct gs_args *args);
/* Gives the driver's kernel these arguments, or (NULL) those the program set last. */
cl_int gs_kernel_set(struct gs_kernel *kernel, const struct gs_args *args);
/* Sets one of @args in a kernel made of the same parameters. */
cl_int gs_arg_set(cl_kernel kernel, cl_uint index, const struct gs_arg *arg);

/* estimate.c */
struct gs_estimate *gs_estimate_of(struct gs_kernel *kernel, uint64_t groups,
				   const size_t local[3]);
/* One measurement isn't knowledge: a driver may have compiled in it. */
static inline bool gs_estimate_is_known(const struct gs_estimate *estimate)
{
	return estimate && __atomic_load_n(&estimate->samples, __ATOMIC_RELAXED) > 1;
}

uint64_t gs_estimate_ns(const struct gs_estimate *estimate, uint64_t groups);
/* How many groups take at most @ns; only of one that has been measured. */
uint64_t gs_estimate_groups(const struct gs_estimate *estimate, uint64_t ns);
void gs_estimate_learn(struct gs_estimate *estimate, uint64_t groups, uint64_t ns);
/*
 * Somebody waited for launches that were thought to take @estimate_ns, for longer than that or
 * not, and may have been woken late. Returns what they are to be believed to have taken.
 */
uint64_t gs_estimate_waited(struct gs_estimate *estimate, uint64_t waited_ns,
			    uint64_t estimate_ns);
/* Launches that were measured together: each was @ratio_256 / 256 of what was thought. */
void gs_estimate_scale(struct gs_estimate *estimate, uint64_t ratio_256);

/* launch.c */
#define GS_BATCH_KINDS 8

/*
 * Direct launches behind one another in one queue that share a bracket: the
 * driver is asked to tell the end of the last one only.
 */
struct gs_batch {
	struct gs_batch *prev, *next;	/* device->batches or ->ended, its lock */
	struct gs_device *device;
	struct gs_queue *queue;		/* whose it is until it is closed */
	bool open;			/* a bracket, which takes more launches; atomic */
	cl_event last;			/* ours */
	uint32_t launches, kinds;
	uint64_t command;		/* the number of the last one in its queue */
	uint64_t begun_ns, estimate_ns;	/* the first is atomic */
	bool alone;			/* nothing else that is known could hold it up */
	bool late;			/* it may have ended long before that was seen, */
	uint64_t waited_ns;		/* unless this was for it, and for nothing else */
	struct gs_kernel *kernels[GS_BATCH_KINDS];	/* references */
	struct gs_estimate *estimates[GS_BATCH_KINDS];
	uint64_t groups;		/* of all launches */
};

/* The queue's batch if it is open. Queue's lock, here and in what follows. */
static inline struct gs_batch *gs_batch_open(const struct gs_queue *queue)
{
	return queue->batch && queue->batch->open ? queue->batch : NULL;
}

/* Asks for the end of the queue's open batch, so that it takes no more. */
void gs_batch_close(struct gs_queue *queue);
/* The queue's open batch is over, and somebody waited for it alone for so long; 0: no. */
void gs_batch_over(struct gs_queue *queue, uint64_t waited_ns);
/* The queue ends, with no open batch. */
void gs_batch_forget(struct gs_queue *queue);
/* Frees what has ended. */
void gs_batches_reap(struct gs_device *device);

/* A launch as the program asked for it. */
struct gs_launch {
	struct gs_launch *next;
	struct gs_kernel *kernel;	/* a reference, and one of the driver's */
	struct gs_args *args;
	struct gs_event *event;		/* a reference; NULL: none was asked for */
	struct gs_estimate *estimate;
	cl_command_type type;
	cl_uint dims;
	bool has_offset, has_local, task;
	size_t offset[3], global[3], local[3];
	uint64_t groups[3], total;
	struct gs_estimate *uncut;	/* where @local is our choice: of what was asked for */
	uint64_t ns;			/* that its pieces took */
	bool planned, failed;
	bool chosen;			/* by what measures faster: @way, and why */
	enum gs_way way;
	const char *why;
	uint64_t done;			/* groups launched, in ascending order; by workers: over */
	struct gs_todo *todo;		/* by workers: what is left */
	uint32_t pieces;		/* in flight; the launcher's */
};

void gs_launch_free(struct gs_launch *launch);

/* thread.c: nobody waits for its end; false: there can't be one. */
bool gs_thread_start(void *(*run)(void *), void *arg);
/* A thread of the program's is here: if it is the main one, its end is the process's. */
void gs_main_thread(void);
/* To the driver's compiler, in a thread of ours. False: it's too late, the process ends. */
bool gs_compile_begin(void);
void gs_compile_end(void);
/* The process's end has waited for some time already. */
bool gs_end_is_due(void);
/* Builds a program between these two. */
cl_int gs_compile(cl_program program, cl_device_id id, const char *options);
/* In a child of a fork, which has none of these threads. */
void gs_threads_forked(void);

/* launcher.c */
struct gs_job {
	struct gs_job *next;		/* in the queue's list */
	struct gs_queue *queue;		/* a reference, and one of the driver's */
	cl_event user, marker;
	/* under device->lock */
	bool listed;			/* in the queue's list */
	bool ready;			/* what it waits for is over */
	bool built_for;			/* a thread makes what its first launch is cut by */
	cl_int status;			/* CL_COMPLETE, or the first error */
	struct gs_launch *first, *last;	/* not launched in whole */
	uint32_t pieces;		/* in flight */
};

/*
 * Takes a launch over, and gives the program its event. The queue's lock is
 * held. On an error nothing is enqueued, and the launch is still the caller's.
 */
cl_int gs_defer(struct gs_queue *queue, struct gs_launch *launch, cl_uint n_waits,
		const cl_event *waits, cl_event *event);
/* Makes sure that the launcher looks at device->batches. */
void gs_launcher_watch(struct gs_device *device);
/* It looks at everything anew; the device's lock is held. */
void gs_launcher_wake(struct gs_device *device);

/* workers.c */
void gs_workers_free(struct gs_workers *workers);
void gs_todo_free(struct gs_todo *todo);

/* cut.c: how many groups the next piece should have. */
uint64_t gs_piece_groups(const struct gs_launch *launch, uint64_t room_ns);

#endif
