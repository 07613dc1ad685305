// SPDX-License-Identifier: MIT
/*
 * Loops that wait for other blocks of threads.
 *
 * A loop waits if a branch in it goes by what a poll gave: a volatile or an atomic read,
 * or a plain one in a loop of a function that has a fence in a loop. Which values come
 * from polls is followed through values and through memory, each kind of that as a whole.
 *
 * Three things look like polls and aren't. The question to each is: does the thread come
 * to an end if all the others stop where they are?
 *
 * - A retry: a compare-and-exchange that expects what is read anew, where it is itself,
 *   whenever it is tried again. It fails only if another thread has succeeded; alone it
 *   succeeds. So we look at the ways that are left where it has succeeded. A branch that goes
 *   by what it found waits if it lies in a circle of these, as in
 *
 *	do { e = *lock; y = CAS(lock, e, e | 1); } while (y & 1);
 *
 *   which tries till somebody lets go; and does no harm in
 *
 *	while (old < v) { e = old; old = CAS(max, e, v); if (old == e) break; }
 *
 *   If what is left never ends (while (y == e)), that waits for another thread, too.
 *   Circles that another branch leaves in the end, as one round all that by a number of
 *   turns, don't count.
 * - A counter that is moved on by a constant (a ticket of a queue), and in its loop by
 *   nothing else. In the end it is beyond what it is compared with; and so is decided what
 *   follows: `while (add(q, 1) < n)` ends, and `while (add(lock, 1) != 0)` doesn't. What is
 *   made of a counter otherwise (`while (add(readers, 2) & 1)`) tells what others did as a
 *   poll does, unless the loop is left by something else. If one thread takes the ticket
 *   for all, it comes through memory, or with others' sums; then we only trust it to leave
 *   the loop, not to stay in.
 * - A claim: a compare-and-exchange at another address each time, as a hash table takes
 *   the first free place. If nothing in the function can free one, it waits for none.
 *
 * A loop without a poll of its own waits for nobody, whatever it goes by.
 *
 * LIMIT. That each way round reads anew is asked of all reads together, not of each way by
 * itself: a loop that reads on both of two ways and takes each time what it read on the other
 * one, a turn ago, passes for a retry. And a place that is freed by a sum, or by a value that
 * isn't written as it is looked for, passes for one that none can free.
 */
#include <errno.h>
#include <stdlib.h>

#include "flow.h"

/* Marks of values. The last two: it is a counter that rises or falls. */
enum { POLLED = 1, TRIED = 2, COUNTED = 4, UP = 8, DOWN = 16 };
#define DIRECTION	(UP | DOWN)
/* Of instructions. Watched: by a retry; unsteady: a counter that is moved back, too. */
enum { RETRY = 1, CLAIM = 2, WATCHED = 4, UNSTEADY = 8 };
/* What a value is in the end, with all others stopped. */
enum { END_NOT_ASKED, END_OPEN, END_TRUE, END_FALSE };

#define READS_NEW	(FLOW_POLLS | FLOW_READS | FLOW_SWAPS | FLOW_COUNTS | FLOW_TRIES)
#define MAX_DEPTH	40
#define MAX_SAME	8	/* each step may look at all uses of both */

/* Where a value was made: by an instruction, or (n_ops + its number) before a block. */
struct origin {
	uint32_t value, at;
};

static uint32_t block_of(const struct flow *f, uint32_t op)
{
	uint32_t low = 0, high = f->n;

	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;

		if (f->blocks[mid].op <= op)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* The last instruction of a block before @at that defines a value; FLOW_NONE: none. */
static uint32_t last_def(struct flow *f, uint32_t value, uint32_t block, uint32_t at)
{
	uint32_t k;

	while (at > f->blocks[block].op && flow_step(f, 1)) {
		const struct flow_op *op = &f->ops[--at];

		for (k = op->first + op->n_uses; k < op->first + op->n_uses + op->n_defs; k++)
			if (f->refs[k] == value)
				return at;
	}
	return FLOW_NONE;
}

/* Of what a value is a copy, where instruction @at uses it. */
static struct origin origin_of(struct flow *f, uint32_t value, uint32_t at)
{
	uint32_t block = block_of(f, at), n, def;

	for (n = 0; n < MAX_DEPTH && value < f->n_values; n++) {
		const struct flow_value *v = &f->value[value];

		if (!v->maker)
			return (struct origin){ value, FLOW_NONE };
		def = f->next[2 * (v->maker - 1) + 1];
		/* One that comes later is of a turn before. */
		if (v->made != 1 || def >= at)
			def = last_def(f, value, block, at);
		if (def != FLOW_NONE) {
			const struct flow_op *op = &f->ops[def];

			if (!(op->flags & FLOW_COPIES) || op->flags & FLOW_MAYBE || !op->n_uses)
				return (struct origin){ value, def };
			value = f->refs[op->first];
			block = block_of(f, def);
			at = def;
		} else if (f->blocks[block].n_in + !block == 1) {
			if (!block)	/* the function begins there */
				break;
			block = f->ins[f->blocks[block].in];
			at = f->blocks[block].op + f->blocks[block].n_ops;
		} else {
			return (struct origin){ value, f->n_ops + block };
		}
	}
	return (struct origin){ FLOW_NONE, at };
}

static bool same(struct origin a, struct origin b)
{
	return a.value != FLOW_NONE && a.value == b.value && a.at == b.at;
}

/* Is the value that instruction @a uses the same as that used by @b, computed twice or not? */
static bool same_value(struct flow *f, uint32_t v, uint32_t a, uint32_t w, uint32_t b,
		       uint32_t depth)
{
	struct origin o = origin_of(f, v, a), p = origin_of(f, w, b);
	const struct flow_op *x, *y;
	uint32_t i;

	if (same(o, p))
		return true;
	if (o.value == FLOW_NONE || p.value == FLOW_NONE || o.at >= f->n_ops ||
	    p.at >= f->n_ops || depth > MAX_SAME || !flow_step(f, 1))
		return false;
	x = &f->ops[o.at];
	y = &f->ops[p.at];
	if (!x->alike || x->alike != y->alike || x->n_uses != y->n_uses)
		return false;
	for (i = 0; i < x->n_uses; i++)
		if (!same_value(f, f->refs[x->first + i], o.at, f->refs[y->first + i], p.at,
				depth + 1))
			return false;
	return true;
}

/* Are these two at one address? */
static bool same_place(struct flow *f, uint32_t a, uint32_t b)
{
	const struct flow_op *x = &f->ops[a], *y = &f->ops[b];

	return x->address < f->n_values && y->address < f->n_values && x->part == y->part &&
	       same_value(f, x->address, a, y->address, b, 0);
}

/* Is instruction @at in the loop of @swap? Where that is in none, all are taken for it. */
static bool is_inside(const struct flow *f, uint32_t at, uint32_t swap)
{
	const struct flow_block *b = &f->blocks[block_of(f, swap)];

	return !b->in_loop || f->blocks[block_of(f, at)].loop == b->loop;
}

static bool is_made_inside(struct flow *f, uint32_t value, uint32_t swap)
{
	uint32_t r = value < f->n_values ? f->value[value].maker : 0;

	for (; r && flow_step(f, 1); r = f->next[2 * (r - 1)])
		if (is_inside(f, f->next[2 * (r - 1) + 1], swap))
			return true;
	return false;
}

/* By how many ways is a block come to from outside of its loop? */
static uint32_t ways_in(struct flow *f, uint32_t block)
{
	uint32_t i, e, n = 0;

	for (i = 0; i < f->n && flow_step(f, 1); i++)
		for (e = f->blocks[i].edge; e < f->blocks[i].edge + f->blocks[i].n_edges; e++)
			n += f->edges[e] == block && f->blocks[i].loop != f->blocks[block].loop;
	return n;
}

static bool is_fresh(struct flow *f, uint32_t value, uint32_t swap, uint32_t depth);

static bool gives_fresh(struct flow *f, uint32_t at, uint32_t swap, uint32_t depth)
{
	struct flow_op *op = &f->ops[at];
	uint32_t i, old = 0;

	if (op->flags & READS_NEW) {
		if (op->flags & FLOW_TRIES || !same_place(f, at, swap))
			return false;
		f->blocks[block_of(f, at)].mark = true;
		return true;
	}
	if (op->flags & FLOW_COPIES)
		return op->n_uses && is_fresh(f, f->refs[op->first], swap, depth + 1);
	if (!(op->flags & FLOW_JOINS))
		return false;
	/* What comes from before the loop is for the first turn. */
	for (i = op->first; i < op->first + op->n_uses; i++) {
		if (!is_made_inside(f, f->refs[i], swap))
			old++;
		else if (!is_fresh(f, f->refs[i], swap, depth + 1))
			return false;
	}
	return old <= ways_in(f, block_of(f, at)) && old < op->n_uses;
}

/*
 * Is all that the value can be in the loop of an exchange read there, at the address of the
 * exchange? Marks the blocks in which it is.
 */
static bool is_fresh(struct flow *f, uint32_t value, uint32_t swap, uint32_t depth)
{
	uint32_t r = value < f->n_values ? f->value[value].maker : 0, at;

	if (depth > MAX_DEPTH || !is_made_inside(f, value, swap))
		return false;
	for (; r && flow_step(f, 1); r = f->next[2 * (r - 1)]) {
		at = f->next[2 * (r - 1) + 1];
		if (f->ops[at].seen == f->stamp || !is_inside(f, at, swap))
			continue;
		f->ops[at].seen = f->stamp;
		if (!gives_fresh(f, at, swap, depth))
			return false;
	}
	return !f->lost;
}

/* Is there a way round from a block to itself that meets no marked one? */
static bool goes_round_unmarked(struct flow *f, uint32_t from)
{
	uint32_t n = 0, i, e;

	if (f->blocks[from].mark)
		return false;
	for (i = 0; i < f->n; i++)
		f->blocks[i].seen = false;
	flow_step(f, f->n);
	f->stack[n++] = from;
	while (n && flow_step(f, 1)) {
		const struct flow_block *b = &f->blocks[f->stack[--n]];

		for (e = b->edge; e < b->edge + b->n_edges; e++) {
			struct flow_block *t = &f->blocks[f->edges[e]];

			if (f->edges[e] == from)
				return true;
			if (f->edges[e] < f->n && !t->seen && !t->mark)
				f->stack[n++] = f->edges[e];
			t->seen = true;
		}
	}
	return false;
}

static void unmark(struct flow *f)
{
	f->stamp++;
	for (uint32_t i = 0; i < f->n; i++)
		f->blocks[i].mark = false;
	flow_step(f, f->n);
}

/* Does an exchange put something else than it expects? */
static bool changes(struct flow *f, uint32_t at)
{
	const struct flow_op *op = &f->ops[at];

	return op->expects != FLOW_NONE && op->puts != FLOW_NONE &&
	       !same_value(f, op->expects, at, op->puts, at, 0);
}

/* Does anything write what an exchange expects? */
static bool is_freed(struct flow *f, uint32_t swap)
{
	struct origin expected = origin_of(f, f->ops[swap].expects, swap);
	uint32_t i;

	for (i = 0; i < f->n_ops && flow_step(f, 1); i++)
		if (f->ops[i].puts != FLOW_NONE &&
		    same(expected, origin_of(f, f->ops[i].puts, i)))
			return true;
	return f->lost;
}

static void find_retry(struct flow *f, uint32_t at)
{
	uint32_t i;

	unmark(f);
	if (!changes(f, at) || !is_fresh(f, f->ops[at].expects, at, 0) ||
	    goes_round_unmarked(f, block_of(f, at)))
		return;
	f->ops[at].mark |= RETRY;
	for (i = 0; i < f->n_ops && flow_step(f, 1); i++)
		if (f->ops[i].seen == f->stamp && f->ops[i].flags & READS_NEW)
			f->ops[i].mark |= WATCHED;
}

/* Is one of the values from which instruction @at was made made by instruction @from? */
static bool comes_of(struct flow *f, uint32_t at, uint32_t from, uint32_t depth)
{
	const struct flow_op *op = &f->ops[at];
	uint32_t i, r;

	for (i = op->first; i < op->first + op->n_uses && depth < MAX_DEPTH; i++)
		for (r = f->value[f->refs[i]].maker; r && flow_step(f, 1);
		     r = f->next[2 * (r - 1)]) {
			uint32_t by = f->next[2 * (r - 1) + 1];

			if (by == from)
				return true;
			if (f->ops[by].seen == f->stamp)
				continue;
			f->ops[by].seen = f->stamp;
			if (comes_of(f, by, from, depth + 1))
				return true;
		}
	return false;
}

/*
 * An exchange in a loop whose address is made of a sum that grows by itself in each turn.
 * What was found where it takes nothing is no poll.
 */
static void find_claim(struct flow *f, uint32_t at, const uint32_t *sums, uint32_t n_sums)
{
	uint32_t block = block_of(f, at), i;

	if (!f->blocks[block].in_loop || !changes(f, at) || is_freed(f, at))
		return;
	unmark(f);
	for (i = 0; i < n_sums && !f->lost; i++) {
		uint32_t by = block_of(f, sums[i]), r = f->value[f->ops[at].address].maker;

		if (f->blocks[by].loop != f->blocks[block].loop)
			continue;
		f->stamp++;
		for (; r && !f->blocks[by].mark; r = f->next[2 * (r - 1)]) {
			uint32_t made = f->next[2 * (r - 1) + 1];

			f->blocks[by].mark = made == sums[i] || comes_of(f, made, sums[i], 0);
		}
	}
	if (!goes_round_unmarked(f, block))
		f->ops[at].mark |= CLAIM;
}

/* Sums in loops that are made of themselves: the counters of turns and the like. */
static uint32_t find_sums(struct flow *f, uint32_t *sums, uint32_t most)
{
	uint32_t i, n = 0;

	for (i = 0; i < f->n_ops && n < most && flow_step(f, 1); i++) {
		if (!(f->ops[i].flags & FLOW_ADDS) || !f->blocks[block_of(f, i)].in_loop)
			continue;
		f->stamp++;
		if (comes_of(f, i, i, 0))
			sums[n++] = i;
	}
	return n;
}

static void find_claims(struct flow *f)
{
	uint32_t sums[64], n = 0, i;
	bool gives = false, any = false;

	for (i = 0; i < f->n_ops; i++) {
		gives |= f->ops[i].flags & (FLOW_GIVES | FLOW_WRITES | FLOW_FENCE);
		any |= f->ops[i].flags & FLOW_SWAPS && !(f->ops[i].mark & RETRY) &&
			f->ops[i].address < f->n_values;
	}
	if (gives || !any)
		return;
	n = find_sums(f, sums, sizeof(sums) / sizeof(*sums));
	for (i = 0; i < f->n_ops && n; i++)
		if (f->ops[i].flags & FLOW_SWAPS && !(f->ops[i].mark & RETRY) &&
		    f->ops[i].address < f->n_values)
			find_claim(f, i, sums, n);
}

/* In a loop with something that may move it back, a counter needn't get beyond anything. */
static void find_unsteady(struct flow *f, uint32_t at)
{
	const struct flow_op *op = &f->ops[at];
	uint32_t in = block_of(f, at), loop = f->blocks[in].loop, i, k;

	for (i = 0; f->blocks[in].in_loop && i < f->n && flow_step(f, 1); i++) {
		const struct flow_block *b = &f->blocks[i];

		for (k = b->op; b->loop == loop && k < b->op + b->n_ops && flow_step(f, 1); k++) {
			const struct flow_op *o = &f->ops[k];
			bool counts = o->flags & FLOW_COUNTS;

			if (counts ? o->step != op->step : o->flags & (FLOW_GIVES | FLOW_SWAPS))
				if (o->address == FLOW_NONE || same_place(f, k, at))
					f->ops[at].mark |= UNSTEADY;
		}
	}
}

static uint8_t contrary(uint8_t end)
{
	return end == END_TRUE ? END_FALSE : end == END_FALSE ? END_TRUE : END_OPEN;
}

/* Is @found what a retry found, and @expected what it expects? */
static bool is_success(struct flow *f, struct origin found, struct origin expected)
{
	return found.value != FLOW_NONE && found.at < f->n_ops && f->ops[found.at].mark & RETRY &&
	       same(expected, origin_of(f, f->ops[found.at].expects, found.at));
}

static bool is_counter(const struct flow *f, struct origin o)
{
	return o.value != FLOW_NONE && o.at < f->n_ops && f->ops[o.at].flags & FLOW_COUNTS &&
	       !(f->ops[o.at].mark & UNSTEADY);
}

/* A comparison with a counter. @first: that is its first use. */
static uint8_t end_beyond(const struct flow_op *op, bool first, bool up)
{
	if (op->flags & (FLOW_EQUAL | FLOW_UNEQUAL))
		return op->flags & FLOW_EQUAL ? END_FALSE : END_TRUE;
	return (up == first) == !!(op->flags & FLOW_MORE) ? END_TRUE : END_FALSE;
}

static uint8_t end_of_compare(struct flow *f, uint32_t at)
{
	const struct flow_op *op = &f->ops[at];
	struct origin a = { FLOW_NONE, 0 }, b = a;

	if (op->n_uses)
		a = origin_of(f, f->refs[op->first], at);
	if (op->n_uses > 1)
		b = origin_of(f, f->refs[op->first + 1], at);
	if (op->flags & (FLOW_EQUAL | FLOW_UNEQUAL) && (is_success(f, a, b) || is_success(f, b, a)))
		return op->flags & FLOW_EQUAL ? END_TRUE : END_FALSE;
	if (is_counter(f, a) == is_counter(f, b))
		return END_OPEN;
	return end_beyond(op, is_counter(f, a), f->ops[is_counter(f, a) ? a.at : b.at].step > 0);
}

static uint8_t end_of(struct flow *f, uint32_t at, uint32_t depth);

/* Of a use of instruction @at. */
static uint8_t end_of_use(struct flow *f, uint32_t at, uint32_t use, uint32_t depth)
{
	struct origin o = { FLOW_NONE, 0 };

	if (use < f->ops[at].n_uses)
		o = origin_of(f, f->refs[f->ops[at].first + use], at);
	return o.value != FLOW_NONE && o.at < f->n_ops ? end_of(f, o.at, depth + 1) : END_OPEN;
}

static uint8_t end_of(struct flow *f, uint32_t at, uint32_t depth)
{
	struct flow_op *op = &f->ops[at];
	uint8_t a, b, yes = op->flags & FLOW_AND ? END_TRUE : END_FALSE;

	if (op->end || depth > MAX_DEPTH || op->flags & FLOW_MAYBE)
		return op->end ? op->end : END_OPEN;
	op->end = END_OPEN;	/* also while it is asked for */
	if (op->flags & (FLOW_EQUAL | FLOW_UNEQUAL | FLOW_LESS | FLOW_MORE)) {
		op->end = end_of_compare(f, at);
	} else if (op->flags & FLOW_NOT) {
		op->end = contrary(end_of_use(f, at, 0, depth));
	} else if (op->flags & (FLOW_AND | FLOW_OR)) {
		a = end_of_use(f, at, 0, depth);
		b = end_of_use(f, at, 1, depth);
		if (a == contrary(yes) || b == contrary(yes))
			op->end = contrary(yes);
		else if (a == yes && b == yes)
			op->end = yes;
	}
	return op->end;
}

static uint8_t marks_of_uses(const struct flow *f, const struct flow_op *op)
{
	uint8_t m = 0;

	for (uint32_t i = op->first; i < op->first + op->n_uses; i++)
		m |= f->value[f->refs[i]].mark;
	return m;
}

/* What an instruction gives by itself. */
static uint8_t marks_of_own(const struct flow_op *op, bool fenced)
{
	if (op->flags & FLOW_SWAPS)
		return op->mark & RETRY ? TRIED : op->mark & CLAIM ? 0 : POLLED;
	if (op->flags & FLOW_COUNTS)
		return op->mark & UNSTEADY ? POLLED : COUNTED | (op->step > 0 ? UP : DOWN);
	if (op->flags & FLOW_POLLS || (op->flags & FLOW_READS && fenced))
		return op->mark & WATCHED ? TRIED : POLLED;
	return op->flags & FLOW_TRIES || op->mark & WATCHED ? TRIED : 0;
}

/* Gives a kind of memory or a value more marks. */
static void add_marks(struct flow *f, uint8_t *to, uint8_t m)
{
	f->changed |= m & ~*to;
	*to |= m;
}

static void mark(struct flow *f, struct flow_op *op, bool fenced)
{
	uint8_t m = marks_of_uses(f, op);
	uint32_t i;

	if (!(op->flags & (FLOW_COPIES | FLOW_JOINS | FLOW_RISES)))
		m &= ~DIRECTION;
	/* What lies where a counter says, isn't one: it says another place each time. */
	if (op->from && !(op->flags & FLOW_COPIES))
		m &= ~(COUNTED | DIRECTION);
	m |= marks_of_own(op, fenced);
	for (i = 0; i < 8; i++)
		if (op->from & 1u << i)
			m |= f->held[i];
	for (i = 0; i < 8; i++)
		if (op->to & 1u << i)
			add_marks(f, &f->held[i], 1u << i == FLOW_FAR ? m & POLLED : m);
	for (i = op->first + op->n_uses; i < op->first + op->n_uses + op->n_defs; i++)
		add_marks(f, &f->value[f->refs[i]].mark, m);
}

static void mark_all(struct flow *f, bool fenced)
{
	uint32_t i, k;

	do {
		f->changed = false;
		for (i = 0; i < f->n; i++) {
			const struct flow_block *b = &f->blocks[i];

			for (k = b->op; k < b->op + b->n_ops && flow_step(f, 1); k++)
				mark(f, &f->ops[k], fenced && b->in_loop);
		}
	} while (f->changed && !f->lost);
}

/* The instruction at which a block goes on by more than one way; NULL: none. */
static const struct flow_op *branch_of(const struct flow *f, const struct flow_block *b)
{
	return b->n_edges > 1 && b->n_ops ? &f->ops[b->op + b->n_ops - 1] : NULL;
}

/* Which way out of two is never gone in the end: 0, 1; 2: there is no telling. */
static uint32_t never(struct flow *f, const struct flow_block *b)
{
	const struct flow_op *op = branch_of(f, b);
	uint8_t end;

	if (!op || b->n_edges != 2 || !(op->flags & FLOW_BRANCH))
		return 2;
	end = end_of_use(f, op - f->ops, 0, 0);
	if (end != END_TRUE && end != END_FALSE)
		return 2;
	return (end == END_TRUE) != !!(op->flags & FLOW_CONTRARY);
}

/* Marks the blocks from which the function can end, over the edges that are kept. */
static void find_ends(struct flow *f, const bool *kept)
{
	bool changed = true;
	uint32_t i, e;

	for (i = 0; i <= f->n; i++)
		f->blocks[i].mark = !f->blocks[i].n_edges;
	while (changed && flow_step(f, f->n)) {
		changed = false;
		for (i = f->n; i--;) {
			struct flow_block *b = &f->blocks[i];

			for (e = b->edge; e < b->edge + b->n_edges && !b->mark; e++)
				b->mark = kept[e] && f->blocks[f->edges[e]].mark;
			changed |= b->mark && !b->seen;
			b->seen = b->mark;
		}
	}
}

/* What a branch's use is in the end, if that is a comparison of what rises or falls. */
static uint8_t end_by_marks(struct flow *f, uint32_t at)
{
	uint8_t a, b;
	struct origin o = origin_of(f, f->ops[at].n_uses ? f->refs[f->ops[at].first] : FLOW_NONE,
				    at);
	const struct flow_op *op = o.value != FLOW_NONE && o.at < f->n_ops ? &f->ops[o.at] : NULL;

	if (!op || op->n_uses < 2 || op->flags & FLOW_MAYBE ||
	    !(op->flags & (FLOW_EQUAL | FLOW_UNEQUAL | FLOW_LESS | FLOW_MORE)))
		return END_OPEN;
	a = f->value[f->refs[op->first]].mark & DIRECTION;
	b = f->value[f->refs[op->first + 1]].mark & DIRECTION;
	if (!a == !b || (a | b) == DIRECTION)
		return END_OPEN;
	return end_beyond(op, a, (a | b) == UP);
}

/*
 * Can another branch, that doesn't go by what others did, leave the circle? A counter's does
 * that if it goes out in the end.
 */
static bool leaves_by_itself(struct flow *f, const struct flow_block *b, const bool *kept)
{
	const struct flow_op *op = branch_of(f, b);
	uint32_t e, in = 0, out = 0, last;
	uint8_t marks = op ? marks_of_uses(f, op) : 0, end;

	if (!op || marks & (POLLED | TRIED))
		return false;
	for (e = b->edge; e < b->edge + b->n_edges; e++) {
		in += kept[e] && f->blocks[f->edges[e]].loop == b->loop;
		out += kept[e] && f->blocks[f->edges[e]].loop != b->loop;
	}
	if (!in || !out || !(marks & COUNTED))
		return in && out;
	end = op->flags & FLOW_BRANCH && b->n_edges == 2 ? end_by_marks(f, op - f->ops) : END_OPEN;
	if (end == END_OPEN)
		return false;
	last = b->edge + ((end == END_TRUE) == !!(op->flags & FLOW_CONTRARY));
	return f->blocks[f->edges[last]].loop != b->loop;
}

/* Notes in f->work which loops have an instruction that gives such a mark. */
static void find_givers(struct flow *f, uint8_t m, bool fenced)
{
	uint32_t i, k;

	for (i = 0; i <= f->n; i++)
		f->work[i] = 0;
	for (i = 0; i < f->n; i++) {
		const struct flow_block *b = &f->blocks[i];

		for (k = b->op; b->in_loop && k < b->op + b->n_ops; k++)
			if (marks_of_own(&f->ops[k], fenced) & m)
				f->work[b->loop] = 1;
	}
}

/* What is left if this thread alone goes on. FLOW_NONE: that comes to an end. */
static uint32_t waits_alone(struct flow *f, bool *kept, bool *within)
{
	uint32_t i, no, hit = FLOW_NONE;

	for (i = 0; i < f->n_edges; i++)
		kept[i] = true;
	for (i = 0; i < f->n; i++) {
		no = never(f, &f->blocks[i]);
		within[i] = no < 2 && f->blocks[i].in_loop;
		if (no < 2)
			kept[f->blocks[i].edge + no] = false;
		f->blocks[i].seen = false;
	}
	find_ends(f, kept);
	for (i = 0; i < f->n; i++)
		if (within[i] && !f->blocks[i].mark)
			hit = i;
	flow_find_loops(f, kept, NULL);
	for (i = 0; i < f->n; i++)
		within[i] = !leaves_by_itself(f, &f->blocks[i], kept);
	flow_find_loops(f, kept, within);
	find_givers(f, COUNTED, false);
	for (i = 0; i < f->n; i++) {
		const struct flow_op *op = branch_of(f, &f->blocks[i]);
		uint8_t marks = op && f->blocks[i].in_loop ? marks_of_uses(f, op) : 0;

		if ((marks & TRIED || (marks & COUNTED && f->work[f->blocks[i].loop])) &&
		    never(f, &f->blocks[i]) == 2)
			hit = i;
	}
	return hit;
}

/* The last branch that goes by a poll, in a loop with one; FLOW_NONE: none. */
static uint32_t waits_for_polls(struct flow *f, bool fenced)
{
	uint32_t i, hit = FLOW_NONE;

	find_givers(f, POLLED, fenced);
	for (i = 0; i < f->n; i++) {
		const struct flow_op *op = branch_of(f, &f->blocks[i]);

		if (op && f->blocks[i].in_loop && f->work[f->blocks[i].loop] &&
		    marks_of_uses(f, op) & POLLED && never(f, &f->blocks[i]) == 2)
			hit = i;
	}
	return hit;
}

/* What there is at all: whether it is worth to go on. */
static bool look(struct flow *f, bool gives, bool *fenced, struct flow_waits *w)
{
	bool any = false;
	uint32_t i, k;

	for (i = 0; i < f->n; i++)
		for (k = f->blocks[i].op; k < f->blocks[i].op + f->blocks[i].n_ops; k++) {
			const struct flow_op *op = &f->ops[k];

			*fenced |= f->blocks[i].in_loop && op->flags & FLOW_FENCE;
			w->polls |= op->flags & FLOW_POLLS ||
				(op->flags & FLOW_SWAPS && !(op->mark & (RETRY | CLAIM)));
			w->tries |= op->flags & FLOW_TRIES || op->mark & (RETRY | CLAIM);
			any |= op->flags & FLOW_COUNTS;
		}
	w->polls |= gives || *fenced;
	return any || w->polls || w->tries;
}

void flow_waits(struct flow *f, bool gives, struct flow_waits *w)
{
	bool fenced = false, *kept;
	uint32_t i, hit;

	*w = (struct flow_waits){ .place = FLOW_NONE };
	f->steps = 0;
	f->lost = false;
	if (f->err)
		return;
	for (i = 0; i < f->n_ops; i++) {
		if (f->ops[i].flags & FLOW_SWAPS)
			find_retry(f, i);
		else if (f->ops[i].flags & FLOW_COUNTS)
			find_unsteady(f, i);
	}
	find_claims(f);
	w->waits = f->lost;
	if (f->err || !look(f, gives, &fenced, w))
		return;
	kept = malloc((size_t)f->n_edges + f->n + 1);
	if (!kept) {
		f->err = -ENOMEM;
		return;
	}
	mark_all(f, fenced);
	hit = waits_for_polls(f, fenced);
	i = waits_alone(f, kept, kept + f->n_edges);
	hit = hit == FLOW_NONE ? i : hit;
	free(kept);
	w->waits = f->lost || hit != FLOW_NONE;
	if (hit != FLOW_NONE)
		w->place = branch_of(f, &f->blocks[hit])->place;
}
