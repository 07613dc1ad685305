// SPDX-License-Identifier: MIT
/*
 * Nodes in a launch: sums of what differs between threads, with factors that are numbers.
 *
 * Registers hold sums modulo 2^bits. All is computed without the modulo, as sums and products
 * agree on it, and factors are brought near zero where that is shorter. Only where a register
 * is looked at whole must its sum be what it holds: figure_whole().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

int figures_begin(struct figures *f, const struct map_code *code, const struct gsx_shape *shape)
{
	uint32_t i;

	memset(f, 0, sizeof(*f));
	f->code = code;
	f->shape = shape;
	f->sum = malloc(((size_t)code->n_nodes + 1) * sizeof(*f->sum));
	f->state = calloc((size_t)code->n_nodes + 1, 1);
	f->seen = calloc((size_t)code->n_nodes + 1, sizeof(*f->seen));
	if (!f->sum || !f->state || !f->seen) {
		figures_end(f);
		return -ENOMEM;
	}
	for (i = 0; i < 3; i++) {
		f->grid[V_CTAID + i].hi = (int64_t)shape->grid[i] - 1;
		f->grid[V_TID + i].hi = (int64_t)shape->block[i] - 1;
	}
	memcpy(f->box, f->grid, sizeof(f->box));
	for (i = V_ROUND; i < VARS; i++)
		f->box[i].hi = ENDLESS;
	return 0;
}

void figures_end(struct figures *f)
{
	free(f->sum);
	free(f->state);
	free(f->seen);
	f->sum = NULL;
	f->state = NULL;
	f->seen = NULL;
}

bool sum_add(struct sum *to, const struct sum *from, int64_t times)
{
	int64_t p;
	int i;

	for (i = 0; i <= VARS; i++) {
		int64_t *x = i < VARS ? &to->c[i] : &to->k;

		if (__builtin_mul_overflow(i < VARS ? from->c[i] : from->k, times, &p) ||
		    __builtin_add_overflow(*x, p, x))
			return false;
	}
	return true;
}

static bool is_number(const struct sum *s)
{
	int i;

	for (i = 0; i < VARS; i++)
		if (s->c[i])
			return false;
	return true;
}

bool sum_span(const struct sum *s, const struct span *span, struct span *to)
{
	int64_t a, b;
	int i;

	to->lo = to->hi = s->k;
	for (i = 0; i < VARS; i++) {
		if (!s->c[i])
			continue;
		if (span[i].hi == ENDLESS) {
			if (__builtin_mul_overflow(s->c[i], span[i].lo, &a))
				return false;
			b = s->c[i] > 0 ? ENDLESS : -ENDLESS;
		} else if (__builtin_mul_overflow(s->c[i], span[i].lo, &a) ||
			   __builtin_mul_overflow(s->c[i], span[i].hi, &b)) {
			return false;
		}
		if (a > b) {
			int64_t x = a;

			a = b;
			b = x;
		}
		if (a == -ENDLESS || to->lo == -ENDLESS)
			to->lo = -ENDLESS;
		else if (__builtin_add_overflow(to->lo, a, &to->lo))
			return false;
		if (b == ENDLESS || to->hi == ENDLESS)
			to->hi = ENDLESS;
		else if (__builtin_add_overflow(to->hi, b, &to->hi))
			return false;
	}
	return true;
}

/* The number near zero that is the same in the low bits. */
static int64_t short_of(int64_t v, unsigned int bits)
{
	return bits < 64 ? (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits) : v;
}

static void shorten(struct sum *s, unsigned int bits)
{
	int i;

	for (i = 0; i < VARS; i++)
		s->c[i] = short_of(s->c[i], bits);
	s->k = short_of(s->k, bits);
}

bool figure_whole(struct figures *f, uint32_t node, unsigned int bits, bool sign, struct sum *to,
		  struct span *within)
{
	struct span first;

	if (!bits || bits > 64 || !figure(f, node, to))
		return false;
	shorten(to, bits);
	within->lo = sign ? INT64_MIN >> (64 - bits) : 0;
	within->hi = INT64_MAX >> (64 - bits);
	if (bits < 64 && !sign)
		within->hi = within->hi * 2 + 1;
	/* numbers below zero, if not signed, may be meant as big ones: not so if few threads are */
	if (bits < 64 && !sign && sum_span(to, f->grid, &first) && first.hi < 0)
		to->k += (int64_t)1 << bits;
	return true;
}

static bool no(struct figures *f, const char *why)
{
	if (!f->why)
		f->why = why;
	return false;
}

/* A node that is a number, as a register of so many bits has it. */
static bool number(struct figures *f, uint32_t node, unsigned int bits, bool sign, int64_t *v)
{
	struct sum s;

	if (!figure(f, node, &s))
		return false;
	if (!is_number(&s))
		return no(f, "an operation on numbers that differ between threads");
	*v = short_of(s.k, bits);
	if (!sign && bits < 64)
		*v &= ((int64_t)1 << bits) - 1;
	return true;
}

static bool param(struct figures *f, const struct map_node *n, struct sum *to)
{
	unsigned int bytes = n->bits / 8;
	uint64_t v = 0;

	if (n->imm < 0 || bytes > 8 || (uint64_t)n->imm + bytes > f->shape->param_bytes)
		return no(f, "a parameter that the launch doesn't have");
	memcpy(&v, (const char *)f->shape->params + n->imm, bytes);
	to->k = v;
	if (n->sign)
		to->k = short_of(v, n->bits);
	return true;
}

/* Of two numbers, a and b of n->bits; b alone for shifts is of 32. */
static bool operation(struct figures *f, const struct map_node *n, struct sum *to)
{
	unsigned int bits = n->bits ? n->bits : 64;
	int64_t a, b;

	if (!number(f, n->a, bits, n->sign, &a) ||
	    !number(f, n->b, n->op == MAP_SHR ? 32 : bits, n->op != MAP_SHR && n->sign, &b))
		return false;
	switch (n->op) {
	case MAP_DIV:
	case MAP_REM:
		if (!b || (n->sign && a == INT64_MIN && b == -1))
			return no(f, "a division by zero");
		if (n->sign)
			to->k = n->op == MAP_DIV ? a / b : a % b;
		else
			to->k = n->op == MAP_DIV ? (int64_t)((uint64_t)a / (uint64_t)b) :
						   (int64_t)((uint64_t)a % (uint64_t)b);
		break;
	case MAP_SHR:
		if (n->sign)
			to->k = a >> (b < bits ? b : 63);
		else
			to->k = b < bits ? (int64_t)((uint64_t)a >> b) : 0;
		break;
	case MAP_AND:
		to->k = a & b;
		break;
	case MAP_OR:
		to->k = a | b;
		break;
	case MAP_XOR:
		to->k = a ^ b;
		break;
	case MAP_MIN:
	case MAP_MAX:
		if (n->sign ? a < b : (uint64_t)a < (uint64_t)b)
			to->k = n->op == MAP_MIN ? a : b;
		else
			to->k = n->op == MAP_MIN ? b : a;
		break;
	case MAP_MULHI:
		if (n->sign)
			to->k = (__int128)a * b >> bits;
		else
			to->k = (unsigned __int128)(uint64_t)a * (uint64_t)b >> bits;
		break;
	default:
		return no(f, "an operation that isn't followed");
	}
	return true;
}

/* Low bits alone, or set where the sum has none: all that bits are used for in addresses. */
static bool masked(struct figures *f, const struct map_node *n, struct sum *to)
{
	unsigned int bits = n->bits ? n->bits : 64;
	struct span within, now;
	int64_t mask, unit;
	struct sum s;
	int i;

	if (!figure(f, n->a, &s))
		return false;
	if (is_number(&s))
		return operation(f, n, to);
	if (!number(f, n->b, bits, false, &mask))
		return false;
	if (mask < 0)
		return no(f, "bits of a number that differs between threads");
	if (n->op == MAP_AND) {
		if (mask & (mask + 1) || !figure_whole(f, n->a, bits, false, to, &within) ||
		    !sum_span(to, f->grid, &now) || now.lo < 0 || now.hi > mask)
			return no(f, "bits of a number that differs between threads");
		for (i = V_ROUND; i < VARS; i++)
			if (to->c[i])
				return no(f, "bits of a number that changes in a loop");
		return true;
	}
	for (unit = 1; unit <= mask && unit > 0; unit *= 2)
		;
	for (i = 0; i < VARS && unit > 0; i++)
		if (s.c[i] % unit)
			unit = 0;
	if (unit <= 0 || s.k % unit)
		return no(f, "bits of a number that differs between threads");
	*to = s;
	to->k += mask;
	return true;
}

static bool extend(struct figures *f, const struct map_node *n, struct sum *to)
{
	struct span within;

	if (!figure_whole(f, n->a, n->bits, n->sign, to, &within))
		return false;
	if (is_number(to) && !n->sign && n->bits < 64)
		to->k &= ((int64_t)1 << n->bits) - 1;
	return true;
}

static bool product(struct figures *f, const struct map_node *n, struct sum *to)
{
	struct sum a, b, *of;
	int64_t times;

	if (!figure(f, n->a, &a) || !figure(f, n->b, &b))
		return false;
	if (!is_number(&b) && (n->op == MAP_SHL || !is_number(&a)))
		return no(f, "a product of numbers that differ between threads");
	of = is_number(&b) ? &a : &b;
	times = is_number(&b) ? b.k : a.k;
	if (n->op == MAP_SHL) {
		if (times < 0 || times > 62)
			return no(f, "a number that is shifted out");
		times = (int64_t)1 << times;
	}
	if (n->bits && n->bits < 64)
		times = short_of(times, n->bits);
	if (!sum_add(to, of, times))
		return no(f, "a number that is too big");
	if (n->bits)
		shorten(to, n->bits);
	return true;
}

static bool compute(struct figures *f, const struct map_node *n, struct sum *to)
{
	struct sum a;

	switch (n->op) {
	case MAP_CONST:
		to->k = n->imm;
		return true;
	case MAP_PARAM:
		return param(f, n, to);
	case MAP_CTAID:
		to->c[V_CTAID + n->imm] = 1;
		return true;
	case MAP_TID:
		to->c[V_TID + n->imm] = 1;
		return true;
	case MAP_NTID:
		to->k = f->shape->block[n->imm];
		return true;
	case MAP_NCTAID:
		to->k = f->shape->grid[n->imm];
		return true;
	case MAP_POINTER:
		return figure(f, n->a, to);
	case MAP_ADD:
	case MAP_SUB:
		if (!figure(f, n->a, to) || !figure(f, n->b, &a))
			return false;
		return sum_add(to, &a, n->op == MAP_ADD ? 1 : -1) ||
		       no(f, "a number that is too big");
	case MAP_ROUND:
		if (!figure(f, n->a, to) || !figure(f, n->b, &a))
			return false;
		if (!is_number(&a) || n->bits >= MAP_LOOPS)
			return no(f, "a step that differs between threads");
		to->c[V_ROUND + n->bits] += a.k;
		return true;
	case MAP_MUL:
	case MAP_SHL:
		return product(f, n, to);
	case MAP_EXTEND:
		return extend(f, n, to);
	case MAP_AND:
	case MAP_OR:
		return masked(f, n, to);
	default:
		return operation(f, n, to);
	}
}

bool figure(struct figures *f, uint32_t node, struct sum *to)
{
	struct sum s = { 0 };

	if (!f->state[node])
		f->state[node] = compute(f, &f->code->node[node], &s) ? 1 : 2;
	else if (f->state[node] == 1)
		s = f->sum[node];
	else
		return no(f, "an operation that this launch has no number for");
	if (f->state[node] == 2)
		return false;
	f->sum[node] = s;
	*to = s;
	return true;
}
