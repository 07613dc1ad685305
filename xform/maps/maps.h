/* SPDX-License-Identifier: MIT */
/*
 * What finds maps and what works them out (gsmaps.h), for any language of kernels.
 *
 * A reader tells of a function: its blocks and edges, which statements define which
 * registers, and, asked for one of these statements, what it computes, as a node. Nodes are
 * kept once each, so that equal values are the same node. What a register holds at some
 * place is found backwards from there, on demand: most of a kernel is never looked at.
 *
 *	map_begin(&b, &graph, n_regs);
 *	for each definition, in the order of the text: map_def(&b, reg, stmt, block, maybe);
 *	map_order(&b);
 *	for each access: node = map_value(&b, reg, stmt, block); map_access(&b, ...);
 *	map_finish(&b, ...); map_end(&b);
 *
 * Values are sums, products and so on of numbers without end; a register holds them modulo
 * 2^bits. These agree as long as nothing but sums and products is taken, so only what looks
 * at a whole value (an extension, a comparison, a division) asks whether it fits, and that
 * is asked for each launch (ranges.c).
 *
 * In a loop, what a register holds as a round begins is MAP_ROUND: @a before the first, and
 * @b more with each, if @b is the same for all threads of a launch.
 */
#ifndef GSX_MAPS_H
#define GSX_MAPS_H

#include <gsmaps.h>

#define MAP_NONE	0xffffffffu
#define MAP_LOOPS	4u	/* nested, around one access */
#define MAP_DEPTH	300u	/* of values that are made of others */
#define MAP_HEIGHT	1000u
#define MAP_STEPS	200000u	/* of looking, in one function */
#define MAP_ACCESSES	2048u

enum map_op {
	MAP_UNKNOWN,	/* imm: enum gsx_map_reason; a: line */
	MAP_CONST,	/* imm */
	MAP_PARAM,	/* imm: offset; bits, sign: how it is read */
	MAP_CTAID, MAP_TID, MAP_NTID, MAP_NCTAID,	/* imm: 0, 1, 2 for x, y, z */
	MAP_NEAR,	/* an address in memory of the block's or the thread's own */
	MAP_VARIABLE,	/* the address of a variable of the module */
	MAP_POINTER,	/* of a: for certain an address */
	MAP_ROUND,	/* a + b times the rounds that loop imm, in bits others, has done */
	MAP_ADD, MAP_SUB, MAP_MUL, MAP_SHL,
	MAP_EXTEND,	/* a, of which the low bits count, as a longer number */
	/* only of what is the same for all threads, but for simple cases */
	MAP_DIV, MAP_REM, MAP_SHR, MAP_AND, MAP_OR, MAP_XOR, MAP_MIN, MAP_MAX, MAP_MULHI,
	/* conditions */
	MAP_LESS, MAP_LESS_EQUAL, MAP_EQUAL, MAP_BOTH, MAP_EITHER, MAP_NOT
};

struct map_node {
	uint8_t op, bits, sign;
	uint8_t uniform;	/* the same for all threads and rounds of a launch */
	uint16_t height;	/* of what it is made of; at most MAP_HEIGHT */
	uint32_t a, b;
	int64_t imm;
};

/* A condition under which something happens, in a list that others may share the end of. */
struct map_guard {
	uint32_t node;
	uint32_t next;		/* MAP_NONE: the last */
	bool contrary;
};

/* Of an access: with which round of which of its loops the condition is about. */
struct map_condition {
	uint32_t node;
	uint8_t contrary;
	uint8_t before;		/* 0: the round at hand; else 1 + loop: that loop's last one */
};

struct map_access {
	uint32_t map;		/* index into gsx_maps.map */
	uint32_t node;		/* from the pointer on, in bytes */
	uint32_t bytes;
	uint32_t first, n;	/* conditions, all of which hold */
	uint32_t loop[MAP_LOOPS];	/* around it, from the outermost in; MAP_ROUND's imm */
	uint8_t n_loops;
	bool write;
	bool exact;		/* it happens whenever they hold */
};

/* What a result keeps. */
struct map_code {
	struct map_node *node;
	struct map_condition *condition;
	struct map_access *access;
	uint32_t n_nodes, n_conditions, n_accesses;
};

struct map_block {
	uint32_t edge, n_edges;		/* into graph.edges: where it goes to */
	uint32_t in, n_in;		/* into graph.ins: where it comes from */
};

/* Block 0 is where it begins, @n where it ends, which is none of theirs. */
struct map_graph {
	uint32_t n;
	const struct map_block *blocks;	/* n + 1 */
	const uint32_t *edges, *ins;
};

struct map_tree {
	uint32_t *up;			/* immediate dominator; MAP_NONE: can't be reached */
	uint32_t *enter, *leave;	/* numbers of a walk over it */
};

struct map_loop {
	uint32_t head, latch;		/* latch: MAP_NONE if there are several */
	uint32_t latches, parent;
	bool known;			/* first .. of guards is found */
	uint32_t guards, end;		/* of its last round: a list up to, not with, end */
	bool exact;
};

struct map_definition {
	uint32_t stmt, block, next;	/* next: of the same register, + 1 */
	uint32_t node;			/* + 1, once it is known */
	bool maybe;			/* the old value may stay */
};

struct map_entry {
	uint32_t reg, block, node;	/* what it holds where the block begins; reg + 1 */
};

struct map_chain {
	uint32_t guards;
	bool known, exact;
};

struct map_build {
	const struct map_graph *g;
	/* The node of what @stmt puts into @reg. */
	uint32_t (*define)(struct map_build *b, uint32_t stmt, uint32_t block, uint32_t reg);
	/* The condition for going from one block to another, MAP_NONE: none. */
	uint32_t (*condition)(struct map_build *b, uint32_t from, uint32_t to, bool *contrary);
	void *arg;

	struct map_node *node;
	uint32_t n_nodes, cap_nodes;
	uint32_t *slot, slots;		/* of nodes, + 1 */

	uint32_t n_regs;
	uint32_t *first, *last;		/* of each register: definition + 1 */
	struct map_definition *def;
	uint32_t n_defs, cap_defs;
	struct map_entry *entry;
	uint32_t n_entries, entries;

	struct map_tree down, up;	/* dominators, and backwards from the end */
	uint32_t *loop_of;		/* of each block, MAP_NONE: none */
	struct map_loop *loop;
	uint32_t n_loops;
	struct map_chain *chain;	/* of each block */
	struct map_guard *guard;
	uint32_t n_guards, cap_guards;

	struct map_access *access;
	struct map_condition *cond;
	uint32_t n_accesses, cap_accesses, n_conds, cap_conds;
	uint32_t *seen, cap_seen, stamp;	/* of nodes */
	uint32_t last_block;	/* of the last access, MAP_NONE: it had a predicate */
	uint32_t depth, steps;
	uint32_t line;			/* for what is found unknown */
	int err;			/* 0, -ENOMEM; sticks */
	bool lost;			/* control flow isn't followed */
};

/* nodes.c: constants are worked out where that is simple */
uint32_t map_make(struct map_build *b, enum map_op op, unsigned int bits, bool sign, uint32_t a,
		  uint32_t c);
uint32_t map_leaf(struct map_build *b, enum map_op op, unsigned int bits, bool sign, int64_t imm);
uint32_t map_unknown(struct map_build *b, enum gsx_map_reason reason);
uint32_t map_new(struct map_build *b, const struct map_node *n);	/* not looked for */
/* The step from @head to @v, MAP_NONE: none that is uniform. */
uint32_t map_step(struct map_build *b, uint32_t v, uint32_t head);

enum map_base { MAP_BASE_NONE, MAP_BASE_PARAM, MAP_BASE_NEAR, MAP_BASE_VARIABLE };
struct map_place {
	enum map_base kind;
	bool certain;		/* by MAP_POINTER */
	uint32_t offset;	/* of the parameter */
	uint32_t rest;		/* node: what is added to it */
};
/* Takes an address apart. */
void map_split(struct map_build *b, uint32_t node, struct map_place *to);

/* order.c */
void map_order(struct map_build *b);
bool map_above(const struct map_tree *t, uint32_t a, uint32_t b);	/* a is b or above it */
bool map_in_loop(const struct map_build *b, uint32_t block, uint32_t loop);

/* values.c */
void map_begin(struct map_build *b, const struct map_graph *g, uint32_t n_regs);
void map_end(struct map_build *b);
void map_def(struct map_build *b, uint32_t reg, uint32_t stmt, uint32_t block, bool maybe);
uint32_t map_value(struct map_build *b, uint32_t reg, uint32_t stmt, uint32_t block);

/* access.c */
/*
 * Adds an access of @bytes at node @at from a pointer on, in a block, under @pred (MAP_NONE:
 * none) too. GSX_MAP_OK; else why it can't be said, and @line.
 */
enum gsx_map_reason map_access(struct map_build *b, uint32_t map, bool write, uint32_t at,
			       uint32_t bytes, uint32_t block, uint32_t pred, bool contrary,
			       uint32_t *line);

/* Room for one more of a growing array; false: b->err. */
bool map_room(struct map_build *b, void *array, uint32_t n, uint32_t *cap, size_t size);

#endif
