/* SPDX-License-Identifier: MIT */
/*
 * Threads, blocks and grids while they run, and the device that steps them.
 *
 * One thread of the host runs everything (device.c), a few instructions of one
 * warp at a time, drawn at random from a seed: so a run is repeatable where the
 * program's own timing is. Threads have program counters of their own; a warp
 * mostly moves as a group of those that stand at the same place, as hardware
 * does, and at times as single threads, as hardware may.
 */
#ifndef CPUCUDA_RUN_H
#define CPUCUDA_RUN_H

#include <stdarg.h>
#include "code.h"

enum thread_state { T_READY, T_BARRIER, T_WARP, T_CLUSTER, T_DONE };

struct frame {
	const struct insn *ret;
	const struct call *call;
	const struct func *f;
	uint32_t regs;		/* index of its first register */
	uint32_t base;		/* of its frame in local memory */
};

struct thread {
	const struct insn *pc;
	uint64_t *r;		/* of the function that runs */
	uint8_t state, barrier, lane;
	bool carry;
	uint32_t linear, tid[3];
	struct block *b;
	const struct insn *wait;	/* what it waits in */
	uint32_t mask;			/* warp operations: who must come */
	uint64_t value, value2;		/* what it brings there */
	bool in_cluster;		/* it has arrived at its barrier once ... */
	uint32_t phase;			/* ... in this phase, the last time */
	uint64_t *regs;
	uint32_t n_regs, cap_regs;
	struct frame *frames;
	uint32_t depth, cap_frames;
	uint8_t *local;		/* its local memory */
	uint32_t base, top;	/* the frame that runs, and the first byte above it */
};

struct barrier {
	uint32_t arrived, expected, votes, voters;
	bool counted;
};

struct block {
	struct grid *g;
	uint32_t id[3], linear, sm;
	uint32_t n_threads, n_warps, alive;
	uint32_t n_ready;
	uint32_t *ready;	/* a mask per warp */
	struct thread *t;
	uint8_t *shared, *local;
	size_t local_bytes;
	struct barrier bar[16];
	struct cluster *cluster;
	uint32_t rank;		/* in the cluster */
	bool cluster_waits;
};

struct cluster {
	struct block *member[16];
	uint32_t n, arrived, alive, phase;
};

enum fault {
	FAULT_NONE, FAULT_ADDRESS, FAULT_MISALIGNED, FAULT_DEADLOCK, FAULT_TIMEOUT, FAULT_TRAP,
	FAULT_ASSERT, FAULT_STACK, FAULT_INSTRUCTION, FAULT_MEMORY
};

struct grid {
	struct func *f;
	uint32_t dim[3], block[3], cluster[3];
	uint32_t total, next, done;
	uint32_t *order;	/* in which the blocks start; NULL: ascending */
	uint32_t dynamic, shared_bytes, per_sm;
	bool cooperative;
	uint8_t *params;
	uint64_t id, workspace;
	uint32_t device, sees;		/* where it runs; whose memory it reaches */
	uint32_t resident;
	struct block **blocks;	/* those that are resident */
	uint64_t steps, steps_at_progress;
	enum fault fault;
	struct grid *link;
};

/* Settings and counters, see cpucuda.h */
struct device {
	uint32_t sms, warps_per_sm, blocks_per_sm, shared_per_sm, shared_per_block, cc;
	uint32_t stack_bytes, mode;
	uint32_t ptx;			/* the newest version that is taken, 9.0 is 900 */
	bool shuffle_blocks;
	uint64_t seed, limit;
	uint64_t steps, blocks_run, launches;
	const char *refuse_what;
	uint64_t refuse_in;		/* so many of them; 0: none */
	int refuse_with;
	struct { uint32_t warps, blocks, shared; } sm[8][64];	/* taken, by device */
	char fault_text[512];
	struct { uint64_t at; uint32_t *word, value; } poke[64];
	uint32_t n_poke;
	void (*hook)(void *arg, uint64_t steps);
	void *hook_arg;
	uint64_t hook_every;
	/* called for each access to global memory that went well; for tests */
	void (*touched)(const struct thread *t, const struct insn *i, uint64_t addr, uint32_t size);
};
extern struct device dev;

uint64_t dev_random(void);
static inline uint32_t dev_draw(uint32_t n)
{
	return (uint32_t)(dev_random() >> 32) % n;
}

/* NULL: no memory. The parameters are copied. */
struct grid *grid_make(struct func *f, const uint32_t dim[3], const uint32_t block[3],
		       const uint32_t cluster[3], uint32_t dynamic, const void *params,
		       bool cooperative, uint32_t device);
void grid_free(struct grid *g);
/* Runs some steps of some of the grids; returns whether one has ended. */
bool grids_step(struct grid **g, uint32_t n, uint32_t steps);
static inline bool grid_ended(const struct grid *g)
{
	return g->done == g->total || g->fault;
}
/* How many blocks fit on a multiprocessor at once. */
uint32_t blocks_per_sm(const struct func *f, uint32_t threads, uint32_t dynamic);
uint32_t func_registers(const struct func *f);
uint32_t func_spilled(const struct func *f);	/* bytes of local memory */

/* For the instructions */
__attribute__((format(printf, 4, 5)))
void thread_fault(struct thread *t, const struct insn *i, enum fault fault, const char *fmt, ...);
void thread_end(struct thread *t);
void thread_wait(struct thread *t, const struct insn *i, enum thread_state s);
void thread_wake(struct thread *t);
bool thread_call(struct thread *t, const struct insn *i, const struct call *c, struct func *f);
void thread_return(struct thread *t, const struct insn *i);
void barrier_check(struct block *b, uint32_t id);
void warp_check(struct thread *t);
void cluster_check(struct cluster *c);
/* Where an access of @size bytes, a power of two, goes; NULL: it has faulted. */
uint8_t *access_at(struct thread *t, const struct insn *i, const struct opnd *addr,
		   unsigned int space, uint32_t size);
/* The same for any size, at a multiple of @align. */
uint8_t *range_at(struct thread *t, const struct insn *i, const struct opnd *addr,
		  unsigned int space, uint32_t size, uint32_t align);
const char *string_at(struct thread *t, const struct insn *i, uint64_t addr);
uint8_t *generic_at(struct thread *t, const struct insn *i, uint64_t addr, uint32_t size);
uint64_t special(struct thread *t, const struct opnd *o);
uint64_t opnd_slow(struct thread *t, const struct opnd *o);
struct block *shared_owner(struct thread *t, uint64_t generic);

/* Values: 64 bits each, cut to their type where it matters. */
static inline uint64_t val(struct thread *t, const struct opnd *o)
{
	if (o->kind == K_REG && !o->not)
		return t->r[o->reg];
	if (o->kind == K_IMM)
		return o->imm;
	return opnd_slow(t, o);
}

static inline unsigned int type_bits(unsigned int type)
{
	static const uint8_t bits[] = {
		[PTX_T_B8] = 8, [PTX_T_U8] = 8, [PTX_T_S8] = 8, [PTX_T_B16] = 16, [PTX_T_U16] = 16,
		[PTX_T_S16] = 16, [PTX_T_F16] = 16, [PTX_T_BF16] = 16, [PTX_T_B32] = 32,
		[PTX_T_U32] = 32, [PTX_T_S32] = 32, [PTX_T_F32] = 32, [PTX_T_F16X2] = 32,
		[PTX_T_BF16X2] = 32, [PTX_T_TF32] = 32, [PTX_T_B64] = 64, [PTX_T_U64] = 64,
		[PTX_T_S64] = 64, [PTX_T_F64] = 64, [PTX_T_PRED] = 1, [PTX_T_OTHER] = 64,
		[PTX_T_NONE] = 64, [PTX_T_B128] = 64, [PTX_T_TEXREF] = 64,
		[PTX_T_SAMPLERREF] = 64, [PTX_T_SURFREF] = 64,
	};

	return bits[type];
}

static inline bool type_signed(unsigned int type)
{
	return type >= PTX_T_S8 && type <= PTX_T_S64;
}

/* Cut to the type, and widened to 64 bits as the type has it. */
static inline uint64_t norm(unsigned int type, uint64_t v)
{
	unsigned int s = 64 - type_bits(type);

	return type_signed(type) ? (uint64_t)((int64_t)(v << s) >> s) : v << s >> s;
}

static inline uint64_t valn(struct thread *t, const struct opnd *o, unsigned int type)
{
	return norm(type, val(t, o));
}

static inline void put(struct thread *t, const struct opnd *o, unsigned int type, uint64_t v)
{
	if (o->kind == K_REG)
		t->r[o->reg] = norm(type, v);
}

#endif
