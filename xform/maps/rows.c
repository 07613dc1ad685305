// SPDX-License-Identifier: MIT
/*
 * The conditions of an access as rows: sums that aren't below zero.
 *
 * A condition compares registers, so its sums must be what these hold. Whether they are may
 * rest on conditions that were asked before it (that is why they are taken in order, from
 * the outermost), but not on itself: i * 4 < n says nothing of i where i * 4 may wrap. What
 * it is about in the rounds of a loop is shown round by round: it holds in the first, and
 * in another by what it said in the round before.
 *
 * A condition that can't be had so is left out: then more may be accessed than is, and the
 * task isn't exact.
 */
#include <string.h>

#include "ranges.h"

#define TIMES	8	/* that spans are tightened by all rows */

struct maker {
	struct figures *f;
	struct task t;
	uint8_t mode[MAP_LOOPS];	/* ALL, FIRST, LATER */
	bool added[MAP_LOOPS];		/* the loop's rows are in */
	uint32_t left_out;		/* conditions, a bit each */
	int split;			/* a loop whose first round is looked at alone; -1 */
	bool again;
	bool (*take)(void *arg, const struct task *t);
	void *arg;
};

enum { ALL, FIRST, LATER };

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b && (a < 0) != (b < 0));
}

/* The least and the most of a sum where the rows hold. */
static bool limits(const struct task *t, const struct sum *s, struct span *to)
{
	struct span one;
	struct sum x;
	uint32_t i;
	int v;

	if (!sum_span(s, t->span, to))
		return false;
	for (i = 0; i < t->n_rows; i++) {
		const struct sum *g = &t->row[i].g;

		for (v = 0; v < VARS; v++) {
			if (!s->c[v] || !g->c[v] || s->c[v] % g->c[v])
				continue;
			/* s + times * g <= s for times < 0, and >= s for times > 0 */
			x = *s;
			if (!sum_add(&x, g, -(s->c[v] / g->c[v])) || !sum_span(&x, t->span, &one))
				continue;
			if (s->c[v] / g->c[v] < 0 && one.hi < to->hi)
				to->hi = one.hi;
			if (s->c[v] / g->c[v] > 0 && one.lo > to->lo)
				to->lo = one.lo;
		}
	}
	return true;
}

static void tighten(struct task *t)
{
	struct span rest;
	struct sum x;
	bool changed = true;
	uint32_t i, times;
	int64_t c, at;
	int v;

	for (times = 0; changed && times < TIMES; times++) {
		changed = false;
		for (i = 0; i < t->n_rows; i++) {
			for (v = 0; v < VARS; v++) {
				c = t->row[i].g.c[v];
				if (!c)
					continue;
				x = t->row[i].g;
				x.c[v] = 0;
				if (!sum_span(&x, t->span, &rest) || rest.hi == ENDLESS)
					continue;
				at = c > 0 ? -floor_div(rest.hi, c) : floor_div(rest.hi, -c);
				if (c > 0 ? at > t->span[v].lo : at < t->span[v].hi) {
					*(c > 0 ? &t->span[v].lo : &t->span[v].hi) = at;
					changed = true;
				}
				if (t->span[v].lo > t->span[v].hi) {
					t->empty = true;
					return;
				}
			}
			if (sum_span(&t->row[i].g, t->span, &rest) && rest.hi < 0)
				t->empty = true;
		}
	}
}

static bool within(const struct task *t, const struct sum *s, const struct span *bound)
{
	struct span now;

	return t->empty || (limits(t, s, &now) && now.lo >= bound->lo && now.hi <= bound->hi &&
			    now.hi != ENDLESS && now.lo != -ENDLESS);
}

/* What is looked at whole below a node is what its register holds. */
static bool holds_below(struct figures *f, const struct task *t, uint32_t node)
{
	const struct map_node *n = &f->code->node[node];
	struct span bound;
	struct sum s;

	if (n->uniform || f->seen[node] == f->stamp)
		return true;
	f->seen[node] = f->stamp;
	if (n->op == MAP_EXTEND &&
	    (!figure_whole(f, n->a, n->bits, n->sign, &s, &bound) || !within(t, &s, &bound)))
		return false;
	switch (n->op) {
	case MAP_CTAID:
	case MAP_TID:
		return true;
	case MAP_EXTEND:
	case MAP_POINTER:
		return holds_below(f, t, n->a);
	default:
		return holds_below(f, t, n->a) && holds_below(f, t, n->b);
	}
}

static bool holds(struct figures *f, const struct task *t, uint32_t node)
{
	f->stamp++;
	return holds_below(f, t, node);
}

/* Two sums that are compared. */
struct pair {
	const struct map_node *n;
	struct sum a, b;
	struct span in_a, in_b;
	bool below;		/* a may be below zero, which isn't less, as it isn't signed */
};

static bool pair_of(struct figures *f, const struct map_condition *c, struct pair *p)
{
	struct span first;
	bool sign;

	p->n = &f->code->node[c->node];
	sign = p->n->sign || p->n->op == MAP_EQUAL;
	p->below = false;
	if (!figure_whole(f, p->n->a, p->n->bits, sign, &p->a, &p->in_a) ||
	    !figure_whole(f, p->n->b, p->n->bits, sign, &p->b, &p->in_b))
		return false;
	if (!sign && p->n->bits < 64 && !c->contrary && sum_span(&p->a, f->grid, &first) &&
	    first.lo < 0) {
		p->below = true;
		p->in_b.hi = INT64_MAX >> (64 - p->n->bits);
		p->in_a = (struct span){ -p->in_b.hi - 1, p->in_b.hi };
	}
	return true;
}

static bool pair_holds(struct figures *f, const struct task *t, const struct pair *p)
{
	return within(t, &p->a, &p->in_a) && within(t, &p->b, &p->in_b) &&
	       holds(f, t, p->n->a) && holds(f, t, p->n->b);
}

static void leave_out(struct maker *m, uint32_t condition)
{
	m->left_out |= 1u << condition;
	m->again = true;
}

static void add_row(struct maker *m, const struct sum *g)
{
	struct task *t = &m->t;

	if (t->n_rows == MOST_ROWS) {
		t->exact = false;
		return;
	}
	t->row[t->n_rows++].g = *g;
}

/*
 * A row that isn't zero. At an end of its span it is one that isn't below; and in rounds it
 * is if it comes down to zero, or up to it, by steps that don't pass it.
 */
static bool add_unequal(struct maker *m, struct sum g, uint8_t before)
{
	struct sum minus = { 0 };
	struct span now, start;
	int64_t step = before ? g.c[V_ROUND + before - 1] : 0;
	struct sum first = g;
	int v;

	if (!limits(&m->t, &g, &now))
		return false;
	if (now.lo > 0 || now.hi < 0)
		return true;
	if (!now.lo && !now.hi) {
		m->t.empty = true;
		return true;
	}
	if (!sum_add(&minus, &g, -1))
		return false;
	g.k--;
	minus.k--;
	if (step) {
		for (v = 0; v < VARS; v++)
			if (first.c[v] % step)
				return false;
		if (first.k % step)
			return false;
		first.c[V_ROUND + before - 1] = 0;
		if (!limits(&m->t, &first, &start))
			return false;
		if (step < 0 ? start.lo <= 0 : start.hi >= 0)
			return false;
		add_row(m, step < 0 ? &g : &minus);
		return true;
	}
	if (now.lo && now.hi)
		return false;
	add_row(m, now.lo ? &minus : &g);
	return true;
}

/* The rows of a condition, which holds in the round that they are about. */
static bool add_rows(struct maker *m, const struct pair *p, const struct map_condition *c)
{
	struct sum g = p->b, zero = { 0 };
	int64_t *k;
	int v;

	if (!sum_add(&g, &p->a, -1))
		return false;
	if (c->before) {
		for (v = V_ROUND + c->before; v < VARS; v++)
			if (g.c[v])
				return false;
		if (__builtin_sub_overflow(g.k, g.c[V_ROUND + c->before - 1], &g.k))
			return false;
	}
	if (p->n->op == MAP_EQUAL && c->contrary)
		return add_unequal(m, g, c->before);
	if (p->n->op == MAP_EQUAL) {
		add_row(m, &g);
		if (!sum_add(&zero, &g, -1))
			return false;
		add_row(m, &zero);
		return true;
	}
	if (c->contrary) {
		if (!sum_add(&zero, &g, -1))
			return false;
		g = zero;
	}
	k = &g.k;
	if ((p->n->op == MAP_LESS) != c->contrary && __builtin_sub_overflow(*k, 1, k))
		return false;
	add_row(m, &g);
	if (p->below) {
		g = p->a;
		if (c->before && __builtin_sub_overflow(g.k, g.c[V_ROUND + c->before - 1], &g.k))
			return false;
		add_row(m, &g);
	}
	return true;
}

/* All conditions of a loop's rounds behind the first. */
static void add_loop(struct maker *m, const struct map_access *a, uint32_t slot)
{
	const struct map_condition *all = m->f->code->condition + a->first;
	struct task *t = &m->t;
	uint32_t i, r, rows = t->n_rows, all_rows;
	struct span kept = t->span[V_ROUND + slot], now;
	struct pair p;
	struct sum s;

	m->added[slot] = true;
	if (m->mode[slot] == FIRST) {
		t->span[V_ROUND + slot] = (struct span){ 0, 0 };
		return;
	}
	/* the first round, by what held before the loop; from the head on */
	for (i = a->n; i-- > 0; ) {
		if (all[i].before != slot + 1 || m->left_out >> i & 1)
			continue;
		t->span[V_ROUND + slot] = (struct span){ 0, 0 };
		if (!pair_of(m->f, &all[i], &p) || !pair_holds(m->f, t, &p))
			leave_out(m, i);
		t->span[V_ROUND + slot] = kept;
		if (m->again)
			return;
	}
	if (m->mode[slot] == LATER)
		t->span[V_ROUND + slot].lo = 1;
	for (i = a->n; i-- > 0; ) {
		if (all[i].before != slot + 1 || m->left_out >> i & 1)
			continue;
		r = t->n_rows;
		if (!pair_of(m->f, &all[i], &p) || !add_rows(m, &p, &all[i])) {
			leave_out(m, i);
			return;
		}
		for (; r < t->n_rows; r++) {
			if (t->row[r].g.c[V_ROUND + slot] > 0)
				t->exact = false;
			if (m->mode[slot] == LATER)
				continue;
			s = t->row[r].g;
			s.c[V_ROUND + slot] = 0;
			all_rows = t->n_rows;
			t->n_rows = rows;	/* by those from before the loop alone */
			if (!limits(t, &s, &now) || now.lo < 0)
				m->split = slot;
			t->n_rows = all_rows;
			if (m->split >= 0)
				return;
		}
	}
	tighten(t);
	for (i = 0; i < a->n; i++)
		if (all[i].before == slot + 1 && !(m->left_out >> i & 1) &&
		    (!pair_of(m->f, &all[i], &p) || !pair_holds(m->f, t, &p)))
			leave_out(m, i);
}

/* The innermost loop whose rounds a node is about, + 1. */
static uint32_t innermost(struct figures *f, uint32_t node)
{
	struct sum s;
	uint32_t i;

	if (!figure(f, node, &s))
		return 0;
	for (i = MAP_LOOPS; i > 0 && !s.c[V_ROUND + i - 1]; i--)
		;
	return i;
}

static void add_condition(struct maker *m, const struct map_access *a, uint32_t i)
{
	const struct map_condition *c = &m->f->code->condition[a->first + i];
	const struct map_node *n = &m->f->code->node[c->node];
	uint32_t k, deep = innermost(m->f, n->a), other = innermost(m->f, n->b);
	struct pair p;

	deep = deep > other ? deep : other;
	for (k = 0; k < deep; k++) {
		if (!m->added[k])
			add_loop(m, a, k);
		if (m->again || m->split >= 0)
			return;
	}
	if (!pair_of(m->f, c, &p) || !pair_holds(m->f, &m->t, &p) ||
	    !add_rows(m, &p, c))
		leave_out(m, i);
	else
		tighten(&m->t);
}

static void build(struct maker *m, const struct map_access *a)
{
	uint32_t i;

	memset(&m->t, 0, sizeof(m->t));
	memset(m->added, 0, sizeof(m->added));
	memcpy(m->t.span, m->f->box, sizeof(m->t.span));
	m->t.a = a;
	m->t.bytes = a->bytes;
	m->t.exact = a->exact && !m->left_out;
	m->again = false;
	m->split = -1;
	for (i = a->n; i-- > 0; ) {
		if (m->f->code->condition[a->first + i].before || m->left_out >> i & 1)
			continue;
		add_condition(m, a, i);
		if (m->again || m->split >= 0)
			return;
	}
	for (i = 0; i < a->n_loops; i++) {
		if (!m->added[i])
			add_loop(m, a, i);
		if (m->again || m->split >= 0)
			return;
	}
}

static bool make(struct maker *m, const struct map_access *a)
{
	uint32_t slot;
	bool ok;

	m->left_out = 0;
	do
		build(m, a);
	while (m->again);
	if (m->split >= 0) {
		slot = m->split;
		m->mode[slot] = FIRST;
		ok = make(m, a);
		m->mode[slot] = LATER;
		ok = ok && make(m, a);
		m->mode[slot] = ALL;
		return ok;
	}
	if (m->t.empty)
		return true;
	if (!figure(m->f, a->node, &m->t.at))
		return false;
	if (!holds(m->f, &m->t, a->node)) {
		m->f->why = "an address that may wrap";
		return false;
	}
	return m->take(m->arg, &m->t);
}

bool tasks_make(struct figures *f, const struct map_access *a,
		bool (*take)(void *arg, const struct task *t), void *arg)
{
	struct maker m = { .f = f, .take = take, .arg = arg };

	return make(&m, a);
}
