/* SPDX-License-Identifier: MIT */
/*
 * gsopencl: make the work-groups of OpenCL C kernels stoppable, text to text.
 *
 * A pure library, as gsxform.h, whose words it uses: OpenCL C in, *shadow programs*
 * and a report out. The program's own objects are never altered: what the program
 * builds, queries and releases stays the driver's. The host builds a shadow program
 * beside it, makes a shadow kernel of the same name, sets the same arguments and
 * then the *hidden* ones, and launches that. Any doubt, also a shadow that the
 * driver refuses to build or to launch, means the original kernel, whole.
 *
 *
 * The modes
 *
 * `size` is the global size, `offset` the global offset and `local` the local size
 * that the program asked for; `groups` is size / local, rounded up. A dimension that
 * the launch doesn't have counts as 1 (offset 0). No mode changes the number of
 * dimensions, the local size, or what was set with clSetKernelArg: index n_params of
 * the kernel is the first hidden argument.
 *
 *  GSX_SLICE    Any box of work-groups a launch. `base` is the box's first group and
 *               `n` its extent: global offset = offset + base * local, global size =
 *               n * local (the last group of a non-uniform launch: its own remainder
 *               as global and as local size, so at most 2^dimensions kinds of boxes).
 *               The native offset makes get_global_id() right by itself. So
 *               where GSX_CL_NATIVE is set in the kernel's flags, the box is launched
 *               with the *original* kernel and no hidden argument. Else it goes to
 *               the kernel of this name in text[GSX_SLICE], with one hidden argument
 *               each for hidden.arg[0..3] of struct gsx_cl_slice, 32 bytes each.
 *
 *  GSX_WORKERS  Launch a global size of (W * local[0], local[1], local[2]) with the
 *               program's local size, no global offset and any W >= 1: W workers. The
 *               kernel is that of this name in text[GSX_WORKERS]; its hidden arguments
 *               are, in this order, 1. a buffer, struct gsx_cl_queue; 2. a buffer that
 *               begins with the stop word (it may be the same memory); 3. to 5.
 *               arg[0..2] of struct gsx_cl_workers, 32 bytes each.
 *               A worker does its first group in any case, so each launch
 *               makes progress. Then, before each further group, one work-item reads
 *               the stop word, and all leave if it isn't 0; at the end of the worker's
 *               batch it takes the next one from the queue, and all leave if there is
 *               none. Batches are handed out in ascending order of the groups' linear
 *               number (x fastest). Whoever leaves notes in the queue which groups of
 *               its batch are left. gsx_cl_todo_next() and gsx_cl_todo_done(), below,
 *               write and read the queue. To resume, launch again, with any W.
 *               Only uniform launches (size is a multiple of local, everywhere) of at
 *               most GSX_MAX_BLOCKS groups.
 *
 * GSX_GUARD isn't made for OpenCL C: never in .modes, and no refusal is given.
 *
 * In each mode all work-item functions, in the kernel and in the functions that it
 * calls, give what they give in the program's own launch. But a kernel that asks for
 * get_enqueued_num_sub_groups() or get_max_sub_group_size() would be told those of the
 * box's own local size where that is a remainder: it has GSX_CL_UNIFORM set, and is
 * launched whole where size isn't a multiple of local. Reading on:
 *
 *  - Order: boxes in ascending order, one after the other, unless the kernel's flags
 *    lack GSX_ATOMICS and GSX_WRITES_ANY and the host sees to it by itself.
 *  - Before the first launch the host compares the shadow kernel's
 *    CL_KERNEL_WORK_GROUP_SIZE with the local size, CL_KERNEL_LOCAL_MEM_SIZE (a
 *    worker has GSX_CL_WORKER_LOCAL bytes of its own) with the device's, and the
 *    arguments' bytes (GSX_CL_HIDDEN_BYTES more) with CL_DEVICE_MAX_PARAMETER_SIZE.
 *    Where one is passed, or the launch fails, it goes on to the next mode: workers,
 *    slices, the original.
 *  - The original, whole, is launched for one group, clEnqueueTask, and everything
 *    that isn't a kernel of the text.
 *  - The build options of the shadow program are those of the program less all that
 *    the preprocessor took (-D, -U, -I), -Werror, -w and -g.
 */
#ifndef GSOPENCL_H
#define GSOPENCL_H

#include "gsxform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Hidden arguments' bytes at most, by the strictest alignment: 2 pointers, 4 * 32. */
#define GSX_CL_HIDDEN_BYTES	192u
/* Local memory that a worker needs beside the kernel's own. */
#define GSX_CL_WORKER_LOCAL	16u

/* The hidden arguments of a slice: each arg[i] is one ulong4. */
struct gsx_cl_slice {
	/* {base, local[0]} {groups, local[1]} {offset, local[2]} {size, 0} */
	uint64_t arg[4][4];
};

/* Those of workers that aren't buffers. */
struct gsx_cl_workers {
	uint64_t arg[3][4];	/* {groups, batch} {offset, start} {size, n_back} */
};

/* The launch that the program asked for; missing dimensions 1 (offset 0). */
struct gsx_cl_launch {
	uint64_t size[3], offset[3], local[3];
};

/* Number of groups of each dimension; false: local is 0 or all is beyond 2^64. */
bool gsx_cl_groups(const struct gsx_cl_launch *l, uint64_t groups[3]);
/* All of a slice's hidden arguments, for a box that begins at @base. */
void gsx_cl_slice_init(struct gsx_cl_slice *s, const struct gsx_cl_launch *l,
		       const uint64_t base[3]);

/*
 * The queue of one launch of workers, in memory that the kernel writes and the host
 * reads when it has ended: this, out[workers], in[n_back]. 32-bit words, little or
 * big endian as the device is. next may be read at any time, for progress.
 */
struct gsx_cl_queue {
	uint32_t next;		/* the next batch's number; may pass the last */
	uint32_t reserved[15];	/* keeps it on a cache line of its own */
	uint32_t range[][2];	/* first group, one behind the last */
};

#define GSX_CL_QUEUE_BYTES(workers, n_back) \
	(sizeof(struct gsx_cl_queue) + 8 * ((size_t)(workers) + (n_back)))

/*
 * What is left of one program's launch for workers: the ranges `back` that were begun
 * and stopped, ascending, then all groups from start on, handed out by `batch`. An
 * example: 100 groups, batch 4, 3 workers are stopped; they had [0,4) [4,8) and
 * [12,16) and had finished 1, 5 and 12 last: back = [2,4) [6,8) [13,16), start = 16
 * ([8,12) was finished before one took [12,16)).
 * back has room for as many as any launch has workers; no launch leaves more.
 */
struct gsx_cl_todo {
	uint32_t total, batch, start, n_back, max_workers;
	uint32_t (*back)[2];	/* [max_workers], the caller's */
	uint64_t args[3][4];	/* groups, offset, size */
};

/*
 * Returns 0; -ERANGE: empty, over GSX_MAX_BLOCKS groups; -EINVAL: not uniform.
 * @batch: 0 counts as 1.
 */
int gsx_cl_todo_init(struct gsx_cl_todo *t, const struct gsx_cl_launch *l, uint32_t batch,
		     uint32_t max_workers, uint32_t back[][2]);
/*
 * Prepares one launch: fills @queue (GSX_CL_QUEUE_BYTES(workers, max_workers) bytes)
 * and @w. Returns how many workers to launch: @workers, at most max_workers, or fewer
 * if fewer batches are left; 0: all is done.
 */
uint32_t gsx_cl_todo_next(const struct gsx_cl_todo *t, uint32_t workers,
			  struct gsx_cl_queue *queue, struct gsx_cl_workers *w);
/*
 * Takes back what the launch of @workers (gsx_cl_todo_next's answer) left in @queue.
 * Returns the number of groups that are still to be done; -EINVAL: this isn't a queue
 * that the kernel left, so the result of the kernel is unknown.
 */
int64_t gsx_cl_todo_done(struct gsx_cl_todo *t, uint32_t workers,
			 const struct gsx_cl_queue *queue);

/* struct gsx_kernel's flags go on (gsxform.h); not all of those are used here. */
#define GSX_CL_NATIVE		0x10000u /* slices: launch the original with an offset */
#define GSX_CL_PRINTF		0x20000u
#define GSX_CL_SUB_GROUPS	0x40000u
#define GSX_CL_COLLECTIVES	0x80000u /* work_group_*, async copies */
#define GSX_CL_IMAGES		0x100000u
#define GSX_CL_PIPES		0x200000u
#define GSX_CL_LOCAL_UNKNOWN	0x400000u /* local_bytes isn't all that it declares */
#define GSX_CL_PRIVATE_UNKNOWN	0x800000u /* private_bytes likewise */
#define GSX_CL_EARLY_RETURN	0x1000000u /* a return where others may meet a barrier */
#define GSX_CL_GLOBALS		0x2000000u /* uses program-scope variables */
#define GSX_CL_UNIFORM		0x4000000u /* slices only of uniform launches; see below */

/* struct gsx_cl_param.flags: GSX_PARAM_POINTER, _READ, _WRITTEN, and of which kind */
#define GSX_CL_GLOBAL		0x10u	/* __global pointer, or the generic ones */
#define GSX_CL_CONSTANT		0x20u
#define GSX_CL_LOCAL		0x40u	/* __local pointer */
#define GSX_CL_IMAGE		0x80u
#define GSX_CL_SAMPLER		0x100u
#define GSX_CL_PIPE		0x200u
#define GSX_CL_QUEUE		0x400u

struct gsx_cl_param {
	const char *name;	/* "" if it has none */
	uint32_t flags;
};

/* Bytes of a text. */
struct gsx_cl_part {
	size_t at, len;
};

struct gsx_cl_kernel {
	const char *name;
	uint32_t line;		/* of its name, in the text */
	uint32_t modes;		/* GSX_BIT()s of what is possible */
	uint32_t flags;
	uint32_t instructions;	/* estimated from the text, callees included */
	/*
	 * Groups that a worker best takes at a time: 8, 6, 4, 2 or 1 for less than 10, 20,
	 * 30, 40 and more instructions, as accelOS; the host may use another.
	 */
	uint32_t batch;
	uint32_t local_bytes;	/* of declared __local variables, without padding */
	uint32_t private_bytes;	/* of declared private arrays */
	uint32_t reqd[3];	/* reqd_work_group_size, 0: not given */
	/*
	 * It looks at no more dimensions' global ids, and not at their number, either as it
	 * is or in slices; 3: perhaps at all. So a launch may be given a further one, of one
	 * item: it doesn't notice, whatever the offset there is.
	 */
	uint32_t dims;
	const struct gsx_cl_param *params;
	uint32_t n_params;
	const struct gsx_refusal *refusals;
	uint32_t n_refusals;
	/*
	 * Where it is in text[]; len 0: it isn't. In ascending order. A text without the
	 * parts of other kernels is a shadow program of this one alone.
	 */
	struct gsx_cl_part part[GSX_MODES];
};

struct gsx_cl_result {
	/*
	 * The shadow programs, NUL behind them; NULL where no kernel needs one. A kernel
	 * that lacks the mode (for slices: or is GSX_CL_NATIVE) isn't in it, unless
	 * another kernel calls it.
	 */
	char *text[GSX_MODES];
	size_t len[GSX_MODES];
	const struct gsx_cl_kernel *kernels;	/* in the order of the text */
	uint32_t n_kernels;
	/* where the input was refused as a whole */
	uint32_t error_line;
	const char *error;	/* "FILE:LINE: what", NULL: none */
	void *memory;		/* private */
};

struct gsx_cl_options {
	const char *file;	/* name for messages; NULL: "opencl" */
	uint32_t modes;		/* GSX_BIT()s wanted; 0: report only, no text */
	bool rewrite_native;	/* put GSX_CL_NATIVE kernels into text[GSX_SLICE] as well */
	uint32_t address_bits;	/* of the device, 32 or 64; 0: 64. Used for sizes only */
	size_t max_memory;	/* 0: 64 MiB and 64 times the input */
};

/*
 * Transforms OpenCL C that has been preprocessed: no macros but those that the device
 * compiler defines by itself and that stand for no work-item function, type or
 * statement (CLK_LOCAL_MEM_FENCE, M_PI); #pragma and #line lines may be there. @text
 * need not end in NUL. @opt may be NULL: all modes. The same input gives the same text.
 *
 * Returns 0; -EINVAL: not OpenCL C that we can read; -EEXIST: it contains names that
 * begin with gsx_; -E2BIG: over max_memory, or nested too deep; -ENOMEM. With an error
 * @res holds error and error_line and no text: the program goes on as it is.
 * gsx_cl_result_free() is due in each case.
 */
int gsx_cl_transform(const char *text, size_t len, const struct gsx_cl_options *opt,
		     struct gsx_cl_result *res);
void gsx_cl_result_free(struct gsx_cl_result *res);

/*
 * Preprocessing
 *
 * The program's own macros, conditions and includes are done here. The device
 * compiler's macros are left in the text, as it expands them when it builds the shadow
 * program: M_PI stays M_PI. Where one decides what the text is, the device is asked:
 *
 *	gsx_cl_preprocess()	-EAGAIN: res->questions, "cl_khr_fp64"
 *	gsx_cl_probe()		a program with one kernel, __kernel void gsx_probe(
 *				__global char *answer, uint room), which the host builds
 *				with res->options and runs as one work-item
 *	gsx_cl_probe_answer()	its answer to a table, which serves every program with the
 *				same device and res->options
 *	gsx_cl_preprocess()	once more, with the table; again if there are new questions
 *
 * What is taken for granted without a question is written down in res->guard: a few
 * #if lines that fail to compile where the device has made a macro of a name that was
 * read as a plain name (and might hide a brace, a call or a return from the rewriter).
 * The host puts them before the shadow program. If that doesn't build, then the
 * original is used as ever; or the host sets ask_all, and asks. Names that OpenCL C
 * itself gives (sin, as_int, CLK_LOCAL_MEM_FENCE) mean what they should, macros or not.
 *
 * Of the build options, -D, -U and -I are used up here, in their order. -w, -g, -s, -x
 * and all that begin with -W don't change what is computed and would stand in the way:
 * they are dropped. All others are res->options, for the shadow program. Quotes and
 * backslashes work as in a shell: -I "a b", -D 'X="y"'.
 */

/* What a name is to the device compiler. */
struct gsx_cl_macro {
	const char *name;	/* or a call: "__has_builtin(__builtin_fma)" */
	const char *value;	/* all expanded; NULL: it isn't a macro */
};

/* Where an included file is looked for. The host is asked in this order. */
enum gsx_cl_where {
	GSX_CL_PASSED,		/* among the headers of clCompileProgram, by their name */
	GSX_CL_BESIDE,		/* "x" only: the path beside the file that includes it */
	GSX_CL_FOLDER,		/* the path below a folder of -I */
};

struct gsx_cl_cpp_options {
	const char *file;	/* the program's name for messages; NULL: "program" */
	const char *build;	/* the build options as the program gave them; NULL: none */
	const struct gsx_cl_macro *macros;	/* what the device has answered */
	uint32_t n_macros;
	bool ask_all;		/* guards nothing that can be asked */
	/*
	 * Gives the text of an included file: 0, -ENOENT (it is looked for further on),
	 * or another error, which ends all. The text must live until the call returns.
	 * NULL: there are no files.
	 */
	int (*include)(void *arg, enum gsx_cl_where where, const char *path,
		       const char **text, size_t *len);
	void *arg;
	size_t max_memory;	/* 0: 64 MiB and 64 times the input */
};

/* From @out on, the text's lines are @file's from @line on. */
struct gsx_cl_line {
	uint32_t out, line;
	const char *file;	/* NULL: the program's own text */
};

struct gsx_cl_source {
	char *text;		/* NUL behind it */
	size_t len;
	char *guard;		/* lines to put before a shadow program; "" if none */
	char *options;		/* what the shadow program is built with */
	const char *const *questions;
	uint32_t n_questions;
	const struct gsx_cl_line *lines;
	uint32_t n_lines;
	uint32_t error_line;
	const char *error;	/* "FILE:LINE: what", NULL: none */
	void *memory;		/* private */
};

/*
 * @text need not end in NUL. Returns 0; -EAGAIN: the device must be asked first (there
 * is no text); -EINVAL: not to be preprocessed: an error in it, #error, or something
 * that compilers don't agree on; -E2BIG: over max_memory, too many steps, nested too
 * deep; -ENOMEM; or what include() gave. gsx_cl_source_free() is due in each case.
 */
int gsx_cl_preprocess(const char *text, size_t len, const struct gsx_cl_cpp_options *opt,
		      struct gsx_cl_source *res);
void gsx_cl_source_free(struct gsx_cl_source *res);

/* The input's line (and file, if not NULL) that a line of res->text came from. */
uint32_t gsx_cl_source_line(const struct gsx_cl_source *res, uint32_t line, const char **file);

/* The probe program, to be freed; NULL: no memory. */
char *gsx_cl_probe(const char *const *questions, uint32_t n);
/* How many bytes the probe's buffer should have; @room is told the kernel. */
size_t gsx_cl_probe_room(uint32_t n);
/*
 * Reads the answer: one macro for each question into @macros. The values are cut out of
 * @answer, which is written to and must live as long. Returns 0; -EINVAL: this isn't an
 * answer of that probe; -E2BIG: there was too little room.
 */
int gsx_cl_probe_answer(const char *const *questions, uint32_t n, char *answer, size_t len,
			struct gsx_cl_macro *macros);

/*
 * Both in one call: the text as the program has it, what it is built with, and what the
 * device has answered; shadow programs, ready to be built with src->options, and the
 * report. @src holds what the preprocessor gave (on -EAGAIN its questions), but the
 * lines in @res are those of the program's own files: where it is an included one, the
 * sentence names it. Returns what the two return; frees of both are due in each case.
 */
int gsx_cl_program(const char *text, size_t len, const struct gsx_cl_cpp_options *cpp,
		   const struct gsx_cl_options *opt, struct gsx_cl_source *src,
		   struct gsx_cl_result *res);

/*
 * What a driver's build log tells of a kernel: NVIDIA's does with the build option
 * -cl-nv-verbose. Returns 0; -ENOENT: nothing is told of it. The text alone can't tell.
 */
struct gsx_cl_told {
	uint32_t registers, stack_bytes, spill_bytes;
};

int gsx_cl_build_log(const char *log, const char *kernel, struct gsx_cl_told *told);

/*
 * A program that is linked of several (clLinkProgram), each preprocessed by itself:
 * shadow programs and a report for the linked whole, to be built with the options of
 * units[0], which must be those of all. -EINVAL and a sentence where it can't be shown
 * that the sources behind one another are what the linker makes of them: xform/opencl/
 * link.c says when that is. Lines are those of the source that the sentence names, else
 * of the first. Returns as gsx_cl_transform().
 */
int gsx_cl_link(const struct gsx_cl_source *units, uint32_t n, const struct gsx_cl_options *opt,
		struct gsx_cl_result *res);

#ifdef __cplusplus
}
#endif

#endif
