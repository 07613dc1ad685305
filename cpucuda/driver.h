/* SPDX-License-Identifier: MIT */
/*
 * Inside of the driver on the CPU. One lock, dev_lock, protects everything; one
 * thread, the device, takes work from the heads of the streams and does it.
 */
#ifndef CPUCUDA_DRIVER_H
#define CPUCUDA_DRIVER_H

#include <pthread.h>
#include "api.h"
#include "memory.h"
#include "run.h"

enum { MAGIC_CTX = 0x63747831, MAGIC_STREAM, MAGIC_EVENT, MAGIC_MODULE, MAGIC_FUNC, MAGIC_LIB,
	MAGIC_KERNEL, MAGIC_GRAPH, MAGIC_NODE, MAGIC_EXEC, MAGIC_POOL, MAGIC_BACKING,
	MAGIC_ARRAY, MAGIC_MIPMAP, MAGIC_LINK, MAGIC_TEXREF, MAGIC_OBJECT };

enum work_kind { W_COPY, W_SET, W_KERNEL, W_HOST, W_CALLBACK, W_RECORD, W_WAIT, W_WRITE_VALUE,
	W_WAIT_VALUE, W_ALLOC, W_FREE, W_GRAPH, W_NOTHING };

#define STREAM_ATTRIBUTES 17
#define MEM_OF_GRAPH 0x80000000u	/* mem_block.flags: a graph allocates it */

/* One side of a copy: host memory (is_host) or a device address. */
struct side {
	uint64_t addr;
	size_t pitch, height;	/* bytes a row, rows a plane */
	bool is_host;
	struct CUarray_st *array;
};

/* Memory that belongs to a graph and its instances together. */
struct graph_memory {
	uint32_t refs;
	uint64_t addr;
};

struct work {
	enum work_kind kind;
	union {
		struct { struct side src, dst; size_t width, rows, planes; } copy;
		struct { uint64_t dst; size_t pitch, width, rows; uint32_t value, unit; } set;
		struct {
			struct CUfunc_st *f;
			uint32_t grid[3], block[3], cluster[3], dynamic;
			bool cooperative;
			int priority;
			uint8_t *params;	/* owned, param_bytes long */
			struct CUevent_st *event;	/* of its blocks; NULL: none */
			uint64_t gen;
			bool at_end;		/* it means their ends, else their beginnings */
		} kernel;
		struct { CUhostFn fn; void *arg; } host;
		struct { CUstreamCallback fn; void *arg; } callback;
		struct { struct CUevent_st *e; uint64_t gen; } event;
		struct { uint64_t addr; uint64_t value; uint32_t flags; bool wide; } word;
		struct { uint64_t addr; } free;
		struct { struct CUgraph_st *g; } graph;
		struct graph_memory *alloc;
	};
};

struct op {
	struct op *next;
	struct work w;
	uint64_t seq;
	struct CUstream_st *s;
	struct grid *g;
	bool begun;
	uint8_t *staged;	/* pageable memory's bytes, taken when it was submitted */
};

struct CUctx_st {
	uint32_t magic;
	bool primary;
	uint32_t refs, flags;
	/* These two are looked at without the lock: whoever is late gets the old answer. */
	_Atomic bool dead;
	_Atomic CUresult error;	/* sticky */
	struct CUstream_st *legacy, *streams;
	uint64_t id;
	size_t limit[16];
	uint32_t device, peers;	/* peers: devices whose memory its kernels may reach */
	struct CUctx_st *next;
};

struct CUstream_st {
	uint32_t magic, flags;
	int priority;
	struct CUctx_st *ctx;
	struct op *head, **tail;
	uint64_t id;
	CUlaunchAttributeValue attribute[STREAM_ATTRIBUTES];
	struct CUstream_st *next;
	bool gone;		/* destroyed, goes when it is empty */
	/* stream capture */
	struct CUgraph_st *capture;
	bool origin, invalid;
	struct CUstream_st *next_global;	/* in a capture that all have to mind */
	uint64_t capture_id;
	struct CUgraphNode_st **deps;
	size_t n_deps;
};

struct CUevent_st {
	uint32_t magic, flags;
	struct CUctx_st *ctx;
	uint64_t gen;		/* recorded so often */
	uint64_t *open;		/* those of them that haven't happened, in any order */
	size_t n_open, room;
	uint64_t ns;
	struct CUgraph_st *capture;	/* recorded in a capture: what it stands for */
	struct CUgraphNode_st **deps;
	size_t n_deps;
};

struct CUmod_st {
	uint32_t magic;
	struct CUctx_st *ctx;
	struct program *p;		/* linked with each other */
	uint32_t n_p;
	struct CUfunc_st *funcs;	/* those that were asked for */
	struct CUmod_st *next;
};

struct CUfunc_st {
	uint32_t magic;
	struct CUmod_st *m;
	struct func *f;
	int attr[CU_FUNC_ATTRIBUTE_MAX];
	struct CUfunc_st *next;
};

/* The texts that a module is made from. */
struct image {
	struct piece *piece;	/* each text is owned */
	uint32_t n;
};

struct CUlib_st {
	uint32_t magic;
	struct image image;
	struct { struct CUctx_st *ctx; struct CUmod_st *m; } per_ctx[8];
	struct CUkern_st *kernels;
};

struct CUkern_st {
	uint32_t magic;
	struct CUlib_st *lib;
	struct CUkern_st *next;
	char name[];
};

struct CUgraphNode_st {
	uint32_t magic;
	struct CUgraph_st *g;
	struct work w;
	struct CUgraphNode_st **deps;
	size_t n_deps;
	struct CUgraphNode_st *copy;	/* while a graph is cloned */
	uint64_t id, origin;	/* its own; of the node that it is a copy of */
	bool disabled;		/* in an instance: it is left out */
	void **param_at;	/* what a getter has shown of a kernel's parameters */
	uint32_t mark;
};

struct CUgraph_st {
	uint32_t magic;
	struct CUgraphNode_st **nodes;
	size_t n, cap;
	struct kept_object *objects;	/* the program's, which go with it */
	bool own;			/* made by hand: a capture into it doesn't free it */
};

struct CUgraphExec_st {
	uint32_t magic;
	struct CUgraph_st *g;		/* a copy, in an order that works */
	uint64_t flags;
};

/* One device of those that CPUCUDA_DEVICES asks for. Protected by dev_lock. */
struct gpu {
	struct CUctx_st *primary;
	uint32_t primary_flags;
	struct CUmemPoolHandle_st *pool, *default_pool;
};
extern struct gpu gpus[MEM_DEVICES];
extern uint32_t n_gpus;

struct CUarray_st {
	uint32_t magic;
	bool of_mipmap;
	CUDA_ARRAY3D_DESCRIPTOR d;
	struct mem_block *b;
	size_t pitch, rows;	/* bytes a row; rows a plane */
};

/* array.c: bytes of a texel */
uint32_t array_element(const struct CUarray_st *a);

/* api_mem.c: what a test has planted, cpucuda_freed() */
void was_freed(uint64_t addr);

/* ctx.c */
extern bool driver_ready;
/* Whether there is such a device. */
CUresult device_ok(CUdevice d);
void lock(void);
void unlock(void);
/* The thread's context, or an error that is already there (sticky or none). */
CUresult current(struct CUctx_st **c);
void drain(struct CUctx_st *c);
CUresult wait_for(bool (*done)(void *arg), void *arg, struct CUctx_st *c);

/* stream.c: all under the lock */
struct CUstream_st *stream_make(struct CUctx_st *c, uint32_t flags, int priority);
void stream_free(struct CUstream_st *s);
CUresult stream_of(CUstream h, bool per_thread, struct CUstream_st **s);
uint64_t event_record(struct CUevent_st *e);	/* the number of this record */
bool event_happened(const struct CUevent_st *e, uint64_t gen);
void event_happens(struct CUevent_st *e, uint64_t gen);
bool stream_idle(void *s);
CUresult submit(struct CUstream_st *s, struct work *w, uint8_t *staged);
CUresult submit_wait(struct CUstream_st *s, struct work *w, uint8_t *staged);
void work_free(struct work *w);
CUresult work_copy(struct work *to, const struct work *from);

/* pool.c: under the lock */
struct mem_block *pool_alloc(struct CUmemPoolHandle_st *p, size_t size);
struct CUmemPoolHandle_st *pool_of(uint32_t device);
/* Frees what cuMemAlloc or a pool has given. */
void device_free(struct mem_block *b);
/* Gives back what the pools of a device hold without need; whether there was any. */
bool pools_trim(uint32_t device);

/* device.c */
/* On a processor that it has for itself (-1: none), in turns with other processes' (0: not). */
CUresult device_start(int processor, uint64_t turn_us);
/* What a test has planted, cpucuda_refuse(). The lock is held. */
CUresult refusal(const char *what);
void device_kick(void);
CUresult fault_result(enum fault f);
CUresult transfer(struct work *w, CUstream h, bool per_thread, bool async);
CUresult copy_now(const struct work *w, const uint8_t *staged);
bool ranges_ok(const struct work *w);
uint8_t *side_at(const struct side *s);

/* times.c */
struct cpucuda_time;
void times_open(void);
void times_add(const struct cpucuda_time *t);

/* module.c, launch.c, graph.c */
CUresult image_take(struct image *m, const void *image);
CUresult image_add(struct image *m, char *text, size_t len);
void *image_pack(const struct image *m, size_t *size);
char *image_file(const char *path);
void image_free(struct image *m);
struct CUmod_st *module_load(struct CUctx_st *c, const struct image *image, CUresult *r, char *why,
			     size_t size);
void module_unload(struct CUmod_st *m);
struct func *module_entry(struct CUmod_st *m, const char *name);
struct func *module_kernel(struct CUmod_st *m, uint32_t k);
uint32_t module_kernels(struct CUmod_st *m);
CUresult module_function(struct CUmod_st *m, const char *name, struct CUfunc_st **out);
CUresult module_global(struct CUmod_st *m, const char *name, CUdeviceptr *p, size_t *size);
CUresult module_managed(struct CUmod_st *m, const char *name, CUdeviceptr *p, size_t *size);
CUresult library_module(struct CUlib_st *l, struct CUmod_st **m);
void modules_gone(struct CUctx_st *c);
CUresult function_of(CUfunction h, struct CUfunc_st **f);
CUresult graph_add(struct CUgraph_st *g, const struct work *w, struct CUgraphNode_st *const *deps,
		   size_t n, struct CUgraphNode_st **out);
CUresult deps_set(struct CUgraphNode_st ***to, size_t *n, struct CUgraphNode_st *const *from,
		  size_t count);
/* Whether all of these are nodes of this graph. */
bool nodes_of(struct CUgraph_st *g, const CUgraphNode *nodes, size_t n);
struct CUgraph_st *graph_new(void);
struct CUgraph_st *graph_copy(struct CUgraph_st *g);
void graph_free(struct CUgraph_st *g);
CUresult memcpy_node(struct work *w, const CUDA_MEMCPY3D *c);
void memcpy_shown(CUDA_MEMCPY3D *c, const struct work *w);
CUresult kernel_attribute(struct work *w, CUlaunchAttributeID id, const CUlaunchAttributeValue *v);
/* pool.c: memory that a graph allocates */
CUresult alloc_work(struct work *w, struct CUmemPoolHandle_st *p, size_t size);
void alloc_put(struct graph_memory *g);
CUresult graph_submit(struct CUstream_st *s, struct CUgraph_st *g);
CUresult capture_add(struct CUstream_st *s, struct work *w);
CUresult capture_join(struct CUstream_st *s, struct CUevent_st *e);
CUresult capture_note(struct CUstream_st *s, struct CUevent_st *e);
CUresult capture_asked(const struct CUevent_st *e);
/* To this thread: to ask whether events have happened, to load modules, to allocate. */
CUresult capture_forbids(void);
void capture_over(struct CUstream_st *s);
CUresult kernel_work(struct work *w, CUfunction f, const uint32_t grid[3], const uint32_t block[3],
		     uint32_t dynamic, void **params, void **extra);

#define IS(h, m) ((h) && (h)->magic == (m))

/* A function of the interface and its twin whose default stream is the thread's own. */
#define TWO(name, suffix, params, ...)						\
	static CUresult name##_do(bool per_thread, SPREAD params);		\
	EXPORT name params							\
	{									\
		return name##_do(false, __VA_ARGS__);				\
	}									\
	EXPORT name##suffix params						\
	{									\
		return name##_do(true, __VA_ARGS__);				\
	}									\
	static CUresult name##_do(bool per_thread, SPREAD params)
#define SPREAD(...) __VA_ARGS__

#endif
