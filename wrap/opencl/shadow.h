/* SPDX-License-Identifier: MIT */
/*
 * Shadows: what is launched in pieces in the place of a program's kernels.
 *
 * Made when a launch is to be cut for the first time, by a thread that the launcher
 * has for it, so a program whose kernels are short never pays. Any doubt, at any step,
 * leaves the original, whole, and a reason.
 */
#ifndef GS_OPENCL_SHADOW_H
#define GS_OPENCL_SHADOW_H

#include "../../xform/include/gsopencl.h"
#include "../../xform/include/gsspirv.h"
#include "wrap/launch/box.h"
#include "wrap/launch/sha256.h"
#include "layer.h"

/*
 * One kernel of it for one mode, a program of its own, since programs have many kernels,
 * few of which are ever cut. Of intermediate language all kernels' for one mode.
 */
struct gs_rewritten {
	struct gs_shadow *shadow;	/* no reference */
	bool tried;
	cl_program program;		/* NULL: the driver doesn't build it */
	bool unkept;			/* its binary should be in the cache, and isn't; atomic */
	struct gs_rewritten *next;	/* of those that are about to be kept; see binary.c */
	uint8_t key[GS_SHA256_BYTES];	/* where it belongs there */
};

/* Of one program as it was built last, for one device. */
struct gs_shadow {
	uint32_t refs;
	cl_device_id id;
	bool is_pocl;
	char why[120];			/* nothing of it can be cut; "": look at the kernel */
	bool il;
	const struct gsx_cl_kernel *kernels;	/* of what follows */
	uint32_t n_kernels;
	struct gsx_cl_result text;
	struct gsx_spv_result module;
	char *guard, *options;
	struct gs_constants *constants;	/* a reference; NULL: none */
	struct gs_rewritten (*rewritten)[GSX_MODES];	/* as the kernels; of IL the first's only */
};

/* Of one kernel, for its shadow's device. */
struct gs_cut {
	struct gs_shadow *shadow;
	const struct gsx_cl_kernel *info;	/* NULL: not in the text */
	const char *why;		/* it is launched whole; NULL: it can be cut */
	bool made[GSX_MODES];		/* what follows; atomic, set under the program's lock */
	const char *refused[GSX_MODES];	/* why it couldn't be */
	cl_kernel kernel[GSX_MODES];	/* shadow kernels; as the next, the launcher's alone */
	uint64_t *set[GSX_MODES];	/* [n_args] versions of what is set in them */
	bool failed[GSX_MODES];		/* set by the launcher, read by builds too; atomic */
};

/* source.c: 0, or an error with source->error or without; gsx_cl_source_free() is due. */
int gs_source_read(struct gs_program *program, cl_device_id id, struct gsx_cl_source *source);
/* Transforms a program that is linked of several; @first: what was read of its own source. */
int gs_source_link(struct gs_program *program, cl_device_id id, struct gsx_cl_source *first,
		   const struct gsx_cl_options *options, struct gsx_cl_result *result);
/* All of a device that what is made for it depends on. */
void gs_device_identity(struct gs_sha256 *sha, cl_device_id id);

/* il.c: a program of it, with these constants; NULL: the driver refuses it, or one of them. */
cl_program gs_il_create(cl_context context, const void *il, size_t length,
			const struct gs_constants *constants);

/* Not a reason: something must be made first, and the caller had no time for that. */
extern const char gs_not_made[];

/*
 * Can a launch be cut on this device at all? If so its local size is settled, and
 * its kernel has a gs_cut for the device. Else *why says why not. Here and below,
 * only with @build is anything read or built, which takes long.
 */
bool gs_cut_find(struct gs_launch *launch, cl_device_id id, bool build, const char **why);
/* Makes what it takes to cut such a launch in a mode; NULL, or why it can't be. */
const char *gs_cut_make(struct gs_launch *launch, enum gsx_mode mode, bool build);
/* A launch in this mode is over: what it was cut by may be kept for the next process. */
void gs_cut_keep(struct gs_cut *cut, enum gsx_mode mode);
/* Gives the shadow kernel of a mode the arguments of a launch. */
cl_int gs_cut_arguments(struct gs_cut *cut, enum gsx_mode mode, const struct gs_args *args);
/* Enqueues the next box of a launch that can be cut. */
cl_int gs_cut_enqueue(struct gs_launch *launch, cl_command_queue queue, const struct gs_box *box,
		      cl_event *event);

/* binary.c: in the cache; by what they are made of. */
void gs_binary_key(struct gs_rewritten *rewritten, const char *text, size_t length);
/* Built; NULL: there is none, or the driver doesn't take it. */
cl_program gs_binary_load(const struct gs_rewritten *rewritten, cl_context context);
/* Puts it there by and by. False: there is much to do, or no thread to do it; later, then. */
bool gs_binary_keep(struct gs_rewritten *rewritten);
/* In a child of a fork, which doesn't keep what its parent is about to. */
void gs_binaries_forked(void);

/* plan.c: might it take longer than what may be in flight, as far as is known? */
bool gs_launch_is_long(struct gs_device *device, const struct gs_launch *launch);
/*
 * Decides, once, how a launch goes; without a queue, of a short one. No lock is held.
 * False: something must be built for it, and it isn't decided.
 */
bool gs_launch_plan(struct gs_device *device, struct gs_launch *launch, struct gs_queue *queue,
		    bool build);

/*
 * workers.c. Of launches that can be cut, one of a queue at a time, with nothing
 * else of the queue in flight.
 */
/* The arbiter is told of what runs next. */
void gs_workers_describe(struct gs_queue *queue, const struct gs_launch *launch);
/* So few that the device isn't this process's alone. */
bool gs_workers_are_dealt(const struct gs_queue *queue);
bool gs_workers_find(struct gs_launch *launch, struct gs_queue *queue, bool build,
		     const char **why);
/* All groups that are left; *told is over when gs_workers_ended() can be asked. */
cl_int gs_workers_enqueue(struct gs_launch *launch, struct gs_queue *queue, cl_event *event,
			  cl_event *told);
/* For tests: stops them at some time. */
void gs_workers_stop(struct gs_queue *queue);
/* How many groups were done; -1: nobody knows what was. */
int64_t gs_workers_ended(struct gs_launch *launch, struct gs_queue *queue);

#endif
