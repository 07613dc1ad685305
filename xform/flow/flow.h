/* SPDX-License-Identifier: MIT */
/*
 * Does a loop of a function wait for other blocks of threads?
 *
 * A reader tells what it has read: blocks in the order of the text, in each its
 * instructions (struct flow_op) with the values that they use and define, and the edges
 * between blocks. A value is a number of the reader's, an id of SPIR-V; it may have several
 * definitions. Nothing here knows an opcode.
 *
 *	flow_begin(&f, value, n, limit);
 *	for each block: flow_block(&f); for each instruction of it:
 *		op = flow_op(&f, place); op->flags |= ...; flow_use(&f, a); flow_def(&f, r);
 *	for each block, in their order: flow_edge(&f, b, to);
 *	flow_close(&f);
 *	flow_waits(&f, gives, &w); flow_find_ipdoms(&f);
 *	flow_end(&f);
 *
 * Who asks for post-dominators alone tells no instructions.
 *
 * Errors stick in @err, and all goes to its end. Work is limited: beyond FLOW_STEPS for
 * one question @lost is set, and the worst is to be assumed.
 */
#ifndef GSX_FLOW_H
#define GSX_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_NONE	UINT32_MAX
#define FLOW_STEPS	20000000u

/* What an instruction has to do with other blocks. First what it reads and writes: */
#define FLOW_POLLS	0x00001u	/* gives what they did: a volatile or an atomic read */
#define FLOW_READS	0x00002u	/* what they may write: a poll, where there is a fence */
#define FLOW_FENCE	0x00004u	/* makes plain reads behind it see their writes */
#define FLOW_SWAPS	0x00008u	/* compare-and-exchange: of @expects against @puts */
#define FLOW_COUNTS	0x00010u	/* adds a constant of @step's sign to what they change */
#define FLOW_TRIES	0x00020u	/* a call that gives what such an exchange found */
#define FLOW_GIVES	0x00040u	/* may put back what an exchange elsewhere looks for */
#define FLOW_WRITES	0x00080u	/* to where others see it, who knows what; a call */
/* and then what it does with values: */
#define FLOW_MAYBE	0x00100u	/* only sometimes, or to a part: else old values stay */
#define FLOW_COPIES	0x00200u	/* gives its first use as it is */
#define FLOW_JOINS	0x00400u	/* gives one of its uses, by the way that was come; a phi */
#define FLOW_EQUAL	0x00800u	/* whether its two uses are equal */
#define FLOW_UNEQUAL	0x01000u
#define FLOW_LESS	0x02000u	/* whether the first is less than the second, or equal */
#define FLOW_MORE	0x04000u
#define FLOW_AND	0x08000u	/* of its two uses */
#define FLOW_OR		0x10000u
#define FLOW_NOT	0x20000u	/* the contrary of its only use */
#define FLOW_ADDS	0x40000u	/* its uses, which may be its own value of before */
#define FLOW_BRANCH	0x80000u	/* to the first of two edges where its first use is true */
#define FLOW_CONTRARY	0x100000u	/* to the first where the use is false */
#define FLOW_RISES	0x200000u	/* where its uses rise, so does what it gives */

/* Kinds of memory, a bit each, that are taken as a whole; this one only by what polls give. */
#define FLOW_FAR	0x80u

struct flow_op {
	uint32_t flags;
	uint32_t place;		/* the reader's word for where it stands */
	uint32_t first;		/* into flow.refs: its uses, then its definitions */
	uint32_t n_uses, n_defs;
	uint32_t expects;	/* FLOW_SWAPS; FLOW_NONE: not known, as a number isn't */
	uint32_t puts;		/* the same of what it writes to where others see it, if it does */
	uint32_t address;	/* of what it reads from memory; FLOW_NONE: not known */
	uint64_t part;		/* of what lies there: an offset, a width, as the reader likes */
	uint64_t alike;		/* those of one number give the same of the same uses; 0: of none */
	int8_t step;		/* FLOW_COUNTS: 1 or -1 */
	uint8_t from, to;	/* kinds of memory that it reads and writes */
	/* waits.c's */
	uint8_t mark, end;
	uint32_t seen;
};

/* Zeroed by the reader, before its first function. What a function leaves, is zeroed. */
struct flow_value {
	uint32_t maker;		/* index into flow.refs of a definition, + 1 */
	uint8_t made;		/* definitions: 0, 1, 2 for more or for one that may be */
	uint8_t mark;
};

struct flow_block {
	uint32_t op, n_ops;
	uint32_t edge, n_edges;	/* into flow.edges: where it goes to */
	uint32_t in, n_in;	/* into flow.ins: the blocks that come here */
	uint32_t loop;		/* the same for blocks that reach each other */
	uint32_t ipdom;		/* the nearest that all ways from here to the end pass */
	uint32_t order;		/* flow_find_ipdoms()'s */
	bool in_loop, mark, seen;
};

struct flow {
	struct flow_value *value;
	uint32_t n_values;
	struct flow_block *blocks;
	uint32_t n;
	struct flow_op *ops;
	uint32_t n_ops;
	uint32_t *refs, n_refs;
	uint32_t *next;		/* of a definition: the value's next one, as flow_value.maker */
	uint32_t *edges, n_edges;
	uint32_t *ins;
	uint32_t *stack, *work;	/* of n + 1 */
	uint32_t cap_blocks, cap_ops, cap_refs, cap_edges;
	uint32_t steps, stamp;
	size_t memory, limit;
	uint8_t held[8];	/* per kind of memory: the marks of what lies there */
	bool changed, lost;
	int err;		/* 0, -ENOMEM, -E2BIG */
};

/* @value: of @n values. @limit: bytes. */
void flow_begin(struct flow *f, struct flow_value *value, uint32_t n, size_t limit);
void flow_end(struct flow *f);

/* Begins a block. */
void flow_block(struct flow *f);
/*
 * An instruction of the last block; its flags come before its uses, and those before its
 * definitions. The pointer is good until the next one, and never NULL: after an error it
 * is of one that counts for nothing.
 */
struct flow_op *flow_op(struct flow *f, uint32_t place);
void flow_use(struct flow *f, uint32_t value);
void flow_def(struct flow *f, uint32_t value);
/* To block number flow.n: leaves the function. */
void flow_edge(struct flow *f, uint32_t from, uint32_t to);

static inline bool flow_step(struct flow *f, uint32_t n)
{
	if (f->lost || n > FLOW_STEPS - f->steps)
		f->lost = true;
	else
		f->steps += n;
	return !f->lost;
}

/* All is told. false: after an error, or if there is no block. */
bool flow_close(struct flow *f);
/*
 * flow_block.ipdom: the number of a block; flow.n is the function's end; FLOW_NONE: it isn't
 * reached from there.
 */
void flow_find_ipdoms(struct flow *f);
/*
 * flow_block.loop and .in_loop, over the edges and blocks that are left. @kept: of each
 * edge, of each block; NULL: all, as it is after flow_close().
 */
void flow_find_loops(struct flow *f, const bool *kept_edge, const bool *kept_block);

struct flow_waits {
	bool waits, polls, tries;	/* polls, tries: its result may be one of such */
	uint32_t place;		/* of a branch that waits; FLOW_NONE: of none in particular */
};

/*
 * @gives: what it reads, behind a fence of its own, it may give to a loop of its caller.
 * Nothing is told after an error.
 */
void flow_waits(struct flow *f, bool gives, struct flow_waits *w);

#endif
