/* SPDX-License-Identifier: MIT */
/*
 * gsxform: make the blocks of a kernel stoppable, text to text.
 *
 * A pure library: kernel text in, kernel text and a report out. It opens no
 * file, keeps no state between calls and holds no globals, so any number of
 * threads may call it. What it can't transform safely it leaves alone and says
 * why. All results belong to the result object and go with it.
 *
 *
 * The modes
 *
 * The original kernel stays in the module as it was, byte for byte, with its
 * name. Beside it stand up to three variants of it, with names of their own
 * (struct gsx_kernel.variant) and one more parameter at the end, the *hidden
 * parameter*, a struct gsx_launch by value. A variant computes for a set of
 * blocks exactly what the original computes for these. `L` below is what the
 * host put into the hidden parameter, `grid` the grid that the program asked
 * for, `block` its block size, which no mode changes.
 *
 *  GSX_SLICE    Launch any box of the grid: the launch's own grid is the box's
 *               extent, L.base its first block, L.grid = grid. Block (x, y, z)
 *               of the launch computes as block (x, y, z) + L.base. Nothing is
 *               stopped from within; the host stops between two launches.
 *               Only the first GSX_SLICE_BYTES of struct gsx_launch are passed.
 *
 *  GSX_GUARD    Launch a grid of (n, 1, 1) for any n >= 1, best the number of
 *               blocks that are left, or some of it. Each block of the launch, in
 *               this order, 1. reads *L.stop and leaves if it isn't 0; 2. takes the
 *               ticket t = queue->next++; 3. leaves if t >= L.total; 4. computes
 *               as the block with the linear number t (x fastest), and ends.
 *               When the launch has ended, queue->next (at most L.total, once
 *               gsx_queue_done() has clamped it) blocks have run, whole, and the
 *               others not at all. To resume: *stop = 0 and launch again with the
 *               same queue. L.progress, L.quota and queue->sm aren't used.
 *
 *  GSX_WORKERS  Launch a grid of (n, 1, 1) for any n >= 1: n workers. A worker
 *               1. comes in: while it can't raise queue->sm[s] from a value below
 *               *L.quota by one (s: its multiprocessor's number, modulo
 *               GSX_SM_SLOTS), it leaves. Then, again and again: 2. reads *L.stop
 *               and leaves if it isn't 0; 3. if queue->sm[s] > *L.quota, it lowers
 *               queue->sm[s] by one and leaves (exactly the surplus leaves, whatever
 *               the order); 4. takes t = queue->next++ and leaves if t >= L.total;
 *               5. computes as block t, all its threads; 6. adds one to *L.progress.
 *               Whoever leaves after 1. lowers queue->sm[s] by one, once.
 *               Stop and resume as with GSX_GUARD. To shrink, lower *quota; to
 *               grow, raise *quota and launch more workers with the same queue
 *               and slots of their own (L.slots) while the first still run, on
 *               another stream. A quota of 0 makes all leave.
 *
 * In all modes %ctaid, %nctaid and %gridid read in the kernel and in the device
 * functions that it calls what they would have read in the original launch:
 * block number, L.grid, and L.gridid (which the host draws from a counter; one
 * number for all launches that belong to one launch of the program).
 *
 * Tickets are handed out in ascending linear order, and a block that has its
 * ticket is resident. That is what kernels need that wait for lower blocks.
 *
 *
 * Shadows
 *
 * With struct gsx_options.shadow the result isn't loaded in the original's place but
 * beside it. It holds the variants, and the device functions that they need, and
 * shares the original's variables, all of which stay where they are:
 *
 *  - A variable in global memory is reached through the table GSX_TABLE, a variable
 *    of the shadow: 8 bytes for each, its address in the original.
 *  - One in constant memory can't be, as its place is part of the instructions. The
 *    shadow has another of that name, and the same size.
 *
 * struct gsx_result.variables lists both, struct gsx_kernel.variables which of them a
 * kernel reaches. The host writes the table, and copies those constants from the
 * original, before each launch and in its stream (they may have changed since the last).
 * A kernel that can't have its variables shared like this is refused: GSX_PROGRAM_SCOPE.
 *
 *
 * What the host owes (breaking one makes the result undefined)
 *
 *  - The original is launched, whole, when: the launch is cooperative, has a
 *    cluster dimension or programmatic (PDL) attribute, or an attribute that the
 *    host doesn't know; the whole grid fits on the device in one wave (its blocks
 *    may wait for each other); it has more than GSX_MAX_BLOCKS blocks (all but
 *    GSX_SLICE); struct gsx_kernel.needs isn't met by the launch.
 *  - Slices of one launch go in ascending linear order to one stream, or to
 *    several only if the kernel's flags lack GSX_WAITS.
 *  - One struct gsx_queue per launch of the program, in device memory, zeroed
 *    (also sm[]) before the first launch on it; sm[] is zero again whenever no
 *    worker runs. One struct gsx_slot per block of each launch that may run at
 *    the same time, in device memory; they need no initial value.
 *  - *stop and *quota are 32-bit words anywhere in the device's address space:
 *    best in host memory that is mapped for the device, where the daemon writes
 *    them. They are read with ld.volatile by one thread of a block, first *stop,
 *    then *quota; *quota is quicker in device memory. *progress is a word that the
 *    device adds to atomically (red.global.add.u32): best queue->done, which the
 *    host may copy at any time.
 *  - What was set on the original with cuFuncSetAttribute, cache configuration,
 *    and the launch's dynamic shared memory, goes for the variant as well. Variants
 *    use no shared memory of their own.
 *  - Registers: a variant may cost more than the original. The host compares the
 *    attributes NUM_REGS and LOCAL_SIZE_BYTES of both after loading; where a
 *    variant passes gsx_register_cap(original), it transforms again with that cap
 *    for this kernel (struct gsx_options.cap); where LOCAL_SIZE_BYTES is then above
 *    the original's, the variant spills and must not be used.
 */
#ifndef GSXFORM_H
#define GSXFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsmaps.h"

#ifdef __cplusplus
extern "C" {
#endif

enum gsx_mode {
	GSX_SLICE,
	GSX_GUARD,
	GSX_WORKERS,
	GSX_MODES
};

#define GSX_BIT(mode)		(1u << (mode))
#define GSX_ALL_MODES		(GSX_BIT(GSX_MODES) - 1)

/* The biggest grid, in blocks, for the modes with tickets. */
#define GSX_MAX_BLOCKS		0x7fff0000u
#define GSX_SM_SLOTS		512u

/* The hidden parameter. Little endian, naturally aligned, as in C. */
struct gsx_launch {
	uint32_t base[3];	/* GSX_SLICE: the box's first block */
	uint32_t grid[3];	/* the grid that the program asked for */
	uint64_t gridid;	/* what %gridid reads */
	/* GSX_SLICE ends here */
	uint64_t queue;		/* struct gsx_queue, device address */
	uint64_t slots;		/* struct gsx_slot[blocks of this launch], device address */
	uint64_t stop;		/* uint32_t, address for the device */
	uint64_t quota;		/* uint32_t: workers per multiprocessor */
	uint64_t progress;	/* uint32_t: blocks finished (GSX_WORKERS) */
	uint32_t total;		/* grid[0] * grid[1] * grid[2] */
	/* t / grid[i] = mulhi(2 * t, mul[i]) >> shift[i]; see gsx_launch_init() */
	uint32_t mul[2];
	uint32_t shift[2];
	uint32_t reserved;
};

#define GSX_SLICE_BYTES		32u
#define GSX_LAUNCH_BYTES	96u

/* Device memory, one for each launch of the program, shared by its parts. */
struct gsx_queue {
	uint32_t next;		/* the next ticket; may pass total, see gsx_queue_done() */
	uint32_t done;		/* a place for *progress */
	uint32_t reserved[30];	/* keeps sm[] on cache lines of its own */
	uint32_t sm[GSX_SM_SLOTS];	/* workers present per multiprocessor */
};

/* Device memory, one for each block of a launch: how thread 0 tells the others. */
struct gsx_slot {
	uint32_t block;		/* the ticket, GSX_NO_BLOCK: leave */
	uint32_t sm;		/* index into sm[] that this worker counts in */
};

#define GSX_NO_BLOCK		0xffffffffu

/*
 * Why a kernel can't be cut. The numbers are stable; new ones come at the end.
 * OpenCL's own reasons share this list.
 */
enum gsx_reason {
	GSX_OK,
	GSX_GRID_SYNC,		/* waits for the whole grid (cooperative launch) */
	GSX_CLUSTER,		/* thread block clusters */
	GSX_DEVICE_LAUNCH,	/* launches kernels from the device */
	GSX_INDIRECT_CALL,	/* calls through a pointer, callee may need rewriting */
	GSX_EXTERN_CALL,	/* calls a function whose body isn't in the module */
	GSX_PARAM_SPACE,	/* no room for the hidden parameter */
	GSX_SPECIAL_USE,	/* reads a block number in a way that we don't know */
	GSX_EXIT_IN_FUNCTION,	/* a device function ends the thread */
	GSX_BARRIER_FORM,	/* a barrier in a form that parked threads can't join */
	GSX_WARP_AFTER_EXIT,	/* lanes may end before a warp-wide operation of others */
	GSX_ASYNC_STATE,	/* mbarrier, bulk copies, wgmma ...: state outlives a block */
	GSX_STACK,		/* alloca without restore */
	GSX_OLD_TARGET,		/* .target or .version too old for what the mode needs */
	GSX_UNKNOWN_FLOW,	/* control flow that can't be followed */
	GSX_BODYLESS,		/* only declared here */
	GSX_NOT_ASKED,		/* the caller didn't ask for this mode */
	/* OpenCL C, from here on */
	GSX_WAIT_LOOP,		/* a loop that may wait for another work-group */
	GSX_EARLY_RETURN,	/* work-items may return before a barrier of others */
	GSX_SUB_GROUPS,		/* sub-group functions */
	GSX_PROGRAM_SCOPE,	/* variables of the program, which a shadow would have twice */
	GSX_KERNEL_CALL,	/* a kernel that is called, or calls one, as a function */
	GSX_PIPE,		/* pipes */
	GSX_PARAM_FORM,		/* a parameter that can't be copied: an array, no name */
	GSX_LOCAL_FORM,		/* local variables declared in a way that can't be moved */
	GSX_REASONS
};

/* One refusal: these modes can't be had because of what stands in this line. */
struct gsx_refusal {
	enum gsx_reason reason;
	uint32_t modes;		/* GSX_BIT()s */
	uint32_t line;		/* in the input text, from 1 */
	const char *text;	/* one sentence, names the instruction */
};

/* struct gsx_param.flags */
#define GSX_PARAM_POINTER	0x1u	/* (also) used as an address */
#define GSX_PARAM_READ		0x2u	/* memory behind it may be read */
#define GSX_PARAM_WRITTEN	0x4u	/* memory behind it may be written */

struct gsx_param {
	const char *name;
	uint32_t offset;	/* in the parameter buffer */
	uint32_t size;
	uint32_t align;
	uint32_t flags;
};

/* struct gsx_kernel.flags */
#define GSX_WRITES_ANY		0x1u	/* may write through addresses not from parameters */
#define GSX_READS_ANY		0x2u	/* may read through such */
#define GSX_WAITS		0x4u	/* has a loop that waits for memory to change */
#define GSX_BARRIERS		0x8u
#define GSX_PARKS		0x10u	/* its workers variant parks early returns */
#define GSX_ATOMICS		0x20u	/* atomics on global memory */
#define GSX_DYNAMIC_SHARED	0x40u	/* may use dynamic shared memory */
#define GSX_CALLS		0x80u	/* calls device functions */
#define GSX_TEXTURES		0x100u	/* texture or surface operations */
#define GSX_ANY_VARIABLE	0x200u	/* of a shadow: may reach each, also those of the link */

/* struct gsx_kernel.needs: what a launch must meet for GSX_WORKERS */
#define GSX_NEEDS_ROWS		0x1u	/* block.x % 32 == 0, or block.y == block.z == 1 */

struct gsx_kernel {
	const char *name;
	uint32_t line;		/* of its definition, from 1 */
	uint32_t modes;		/* GSX_BIT()s of the variants that are possible */
	uint32_t flags;
	uint32_t needs;
	const char *variant[GSX_MODES];		/* entry names, NULL where not possible */
	uint32_t hidden_offset;	/* of struct gsx_launch in the parameter buffer */
	uint32_t param_bytes;	/* the original's parameter buffer */
	uint32_t shared_bytes;	/* static shared memory that its own text names */
	uint32_t instructions;
	uint32_t max_threads;	/* .maxntid or .reqntid product, 0: not given */
	const struct gsx_param *params;
	uint32_t n_params;
	const struct gsx_refusal *refusals;	/* empty: all modes possible */
	uint32_t n_refusals;
	/* of a shadow: those that it and what it calls name, into gsx_result.variables */
	const uint32_t *variables;
	uint32_t n_variables;
	struct gsx_maps maps;	/* see gsmaps.h; only if asked for */
};

#define GSX_TABLE	"gsx_variables"	/* and a number, see struct gsx_options.part */
#define GSX_CONSTANT	0xffffffffu

/* A variable that a shadow shares with its original. */
struct gsx_variable {
	const char *name;
	uint64_t size;
	uint32_t slot;		/* index into the table; GSX_CONSTANT: it is copied */
	bool local;		/* other modules don't see it */
};

struct gsx_result {
	char *text;		/* the transformed module, NUL behind it */
	size_t len;
	const struct gsx_kernel *kernels;	/* in the order of the text */
	uint32_t n_kernels;
	const struct gsx_variable *variables;	/* of a shadow */
	uint32_t n_variables;
	/* where the input was refused as a whole */
	uint32_t error_line;
	const char *error;	/* "FILE:LINE: what", NULL: none */
	void *memory;		/* private */
};

struct gsx_text {
	const char *text;
	size_t len;
};

struct gsx_options {
	const char *file;	/* name for messages; NULL: "ptx" */
	uint32_t modes;		/* GSX_BIT()s wanted; 0: report only, no text */
	/*
	 * The register cap of a kernel's variant, 0: none. Called once for each
	 * variant made; may be NULL. It must be a pure function of its arguments,
	 * as the driver's cache keys on the text.
	 */
	uint32_t (*cap)(void *arg, const char *kernel, enum gsx_mode mode);
	void *arg;
	/*
	 * The other texts that this is linked with, for functions that it calls and they
	 * have; what isn't PTX among them is passed over. Each is transformed by itself. NULL:
	 * it isn't linked; otherwise functions' addresses may come from and go to the others,
	 * also if none of them is PTX (n_linked 0).
	 */
	const struct gsx_text *linked;
	uint32_t n_linked;
	bool shadow;		/* the result is loaded beside the original */
	bool maps;		/* find what kernels write and read: struct gsx_kernel.maps */
	uint32_t part;		/* which of those that it's linked from: the table's number */
	size_t max_memory;	/* 0: 64 MiB and 64 times the input */
};

/*
 * Transforms a PTX module. @text need not end in NUL; one NUL at its end (as in
 * fat binaries) is ignored. @opt may be NULL: all modes, no caps. The same input
 * and caps give the same text. Variants come after everything but debug sections,
 * so line numbers up to there are the input's.
 *
 * Returns 0; -EINVAL: not PTX that we can read; -EEXIST: it contains names that
 * begin with gsx_ or variant names already; -E2BIG: over max_memory, or nested too
 * deep; -ENOMEM. With an error @res holds error and error_line, and no text: the
 * caller goes on with the original module, gated whole. gsx_result_free() is due
 * in each case.
 */
int gsx_ptx_transform(const char *text, size_t len, const struct gsx_options *opt,
		      struct gsx_result *res);
void gsx_result_free(struct gsx_result *res);

/*
 * The cap of the wrapper's rule, from the original's registers a thread: as many as
 * the original is given, in the hardware's steps of 8, but at least 32, as so many
 * fit however full a multiprocessor is (65536 registers, 2048 threads).
 */
static inline uint32_t gsx_register_cap(uint32_t registers)
{
	uint32_t cap = (registers + 7) & ~7u;

	return cap < 32 ? 32 : cap;
}

/*
 * Fills in grid, total, mul and shift and zeroes the rest. Returns 0, or -ERANGE
 * for an empty grid or one beyond GSX_MAX_BLOCKS (then only GSX_SLICE may be
 * used: total, mul and shift are 0).
 */
int gsx_launch_init(struct gsx_launch *l, const uint32_t grid[3]);

/* How many of the blocks were handed out, from a copy of queue->next. */
static inline uint32_t gsx_queue_done(uint32_t next, uint32_t total)
{
	return next < total ? next : total;
}

/* "slice", "guard", "workers"; "cluster", "grid-sync" ...: for tools and logs. */
const char *gsx_mode_name(enum gsx_mode mode);
const char *gsx_reason_name(enum gsx_reason reason);

#ifdef __cplusplus
}
#endif

#endif
