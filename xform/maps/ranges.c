// SPDX-License-Identifier: MIT
/*
 * Tasks to ranges, and whether blocks meet.
 *
 * A task's address is a sum over variables, each between two bounds, where the rows hold.
 * Variables that go together, as threads of a block and blocks of a row do, become one: with
 * factors 4 and 4 * 64 and 64 threads that is a number of an element. Such a *group* counts
 * from 0 by a unit without gaps, and rows that ask for nothing else than that number shorten
 * it. What is left are groups from the smallest unit up; the first is a run of bytes, the
 * next makes rows of it, more are gone through one by one.
 *
 * Blocks don't meet if groups are digits: the unit of each is at least as long as all that
 * those below it reach, so that another number is another place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ranges.h"

#define MOST_TASKS	64u
#define MOST_RUNS	65536u	/* of one task, gone through one by one */

struct group {
	int64_t unit, lo, hi;
	int64_t full;		/* numbers before rows shortened it */
	bool blocks;		/* a block's number has to do with it */
	bool digits;		/* each number is had in one way only */
};

struct groups {
	struct group g[VARS];
	uint32_t n;
	int64_t base;
	/* rows over groups */
	struct { int64_t c[VARS], k; } row[MOST_ROWS];
	uint32_t n_rows;
	bool exact, empty;
	bool lost;		/* blocks that write the same, whatever they are numbered */
};

struct job {
	struct figures *f;
	struct task *task;
	uint32_t n, cap;
	int err;
};

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b && (a < 0) != (b < 0));
}

static bool same_rows(const struct task *a, const struct task *b)
{
	uint32_t i;

	if (a->n_rows != b->n_rows || memcmp(a->span, b->span, sizeof(a->span)))
		return false;
	for (i = 0; i < a->n_rows; i++)
		if (memcmp(&a->row[i], &b->row[i], sizeof(a->row[i])))
			return false;
	return true;
}

/* Beside each other under the same conditions: one of more bytes. */
static bool widen(struct task *to, const struct task *t)
{
	int64_t end, other;

	if (memcmp(to->at.c, t->at.c, sizeof(to->at.c)) || to->exact != t->exact ||
	    !same_rows(to, t) || __builtin_add_overflow(to->at.k, (int64_t)to->bytes, &end) ||
	    __builtin_add_overflow(t->at.k, (int64_t)t->bytes, &other) ||
	    t->at.k > end || to->at.k > other)
		return false;
	to->at.k = to->at.k < t->at.k ? to->at.k : t->at.k;
	to->bytes = (end > other ? end : other) - to->at.k;
	return true;
}

static bool take(void *arg, const struct task *t)
{
	struct job *j = arg;
	struct task *bigger;
	uint32_t i;

	for (i = 0; i < j->n; i++)
		if (widen(&j->task[i], t))
			return true;
	if (j->n == MOST_TASKS) {
		j->f->why = "too many accesses";
		return false;
	}
	if (j->n == j->cap) {
		bigger = realloc(j->task, (j->cap * 2 + 4) * sizeof(*bigger));
		if (!bigger) {
			j->err = -ENOMEM;
			return false;
		}
		j->task = bigger;
		j->cap = j->cap * 2 + 4;
	}
	j->task[j->n++] = *t;
	return true;
}

/* Each task of a map, those beside each other joined. */
static int tasks_of(struct job *j, uint32_t map, bool writes)
{
	const struct map_code *code = j->f->code;
	uint32_t i, k;
	bool joined;

	j->n = 0;
	for (i = 0; i < code->n_accesses; i++)
		if (code->access[i].map == map && code->access[i].write == writes &&
		    !tasks_make(j->f, &code->access[i], take, j))
			return j->err ? j->err : -ERANGE;
	do {
		joined = false;
		for (i = 0; i < j->n; i++) {
			for (k = i + 1; k < j->n; k++) {
				if (!widen(&j->task[i], &j->task[k]))
					continue;
				j->task[k--] = j->task[--j->n];
				joined = true;
			}
		}
	} while (joined);
	return 0;
}

/* A variable that the address isn't made of: rows are asked where it suits them best. */
static bool leave(struct groups *s, struct task *t, int v)
{
	uint32_t i, k, uses = 0;
	int64_t add;

	for (i = 0, k = 0; i < t->n_rows; i++) {
		struct sum *g = &t->row[i].g;

		if (g->c[v]) {
			uses++;
			if (g->c[v] > 0 && t->span[v].hi == ENDLESS)
				continue;	/* holds in some round */
			if (__builtin_mul_overflow(g->c[v], g->c[v] > 0 ? t->span[v].hi :
						   t->span[v].lo, &add) ||
			    __builtin_add_overflow(g->k, add, &g->k))
				return false;
			g->c[v] = 0;
		}
		t->row[k++] = t->row[i];
	}
	t->n_rows = k;
	/* several may each be suited by another number, and none by all */
	if (uses > 1 && t->span[v].lo < t->span[v].hi)
		s->exact = false;
	return true;
}

/* From its lower end on, with a factor above zero. */
static bool upright(struct groups *s, struct task *t, int v)
{
	int64_t c = t->at.c[v], from = c > 0 ? t->span[v].lo : t->span[v].hi, add;
	uint32_t i;

	if (__builtin_mul_overflow(c, from, &add) || __builtin_add_overflow(s->base, add, &s->base))
		return false;
	for (i = 0; i < t->n_rows; i++) {
		struct sum *g = &t->row[i].g;

		if (__builtin_mul_overflow(g->c[v], from, &add) ||
		    __builtin_add_overflow(g->k, add, &g->k) || g->c[v] == INT64_MIN)
			return false;
		if (c < 0)
			g->c[v] = -g->c[v];
	}
	t->at.c[v] = c < 0 ? -c : c;
	t->span[v].hi -= t->span[v].lo;
	t->span[v].lo = 0;
	return true;
}

/* Whether a variable's place in all rows is @times that of another. */
static bool alike(const struct task *t, int v, int first, int64_t times)
{
	int64_t c;
	uint32_t i;

	for (i = 0; i < t->n_rows; i++)
		if (__builtin_mul_overflow(t->row[i].g.c[first], times, &c) ||
		    c != t->row[i].g.c[v])
			return false;
	return true;
}

static bool join(struct groups *s, const struct task *t, const int *order, int n)
{
	struct group *g = NULL;
	int64_t times, reach;
	int i, v, first = 0, of[VARS];
	uint32_t k;

	for (i = 0; i < n; i++) {
		v = order[i];
		times = g ? t->at.c[v] / g->unit : 0;
		if (g && !(t->at.c[v] % g->unit) && times <= g->full && alike(t, v, first, times)) {
			if (__builtin_mul_overflow(times, t->span[v].hi, &reach) ||
			    __builtin_add_overflow(g->full, reach, &reach))
				return false;
			g->digits = g->digits && times == g->full;
			g->full = reach;
			g->blocks |= v < V_TID;
			continue;
		}
		g = &s->g[s->n];
		of[s->n++] = first = v;
		*g = (struct group){ .unit = t->at.c[v], .full = t->span[v].hi + 1,
				     .blocks = v < V_TID, .digits = true };
	}
	for (k = 0; k < s->n; k++)
		s->g[k].hi = s->g[k].full - 1;
	for (k = 0; k < t->n_rows; k++) {
		for (i = 0; i < (int)s->n; i++)
			s->row[k].c[i] = t->row[k].g.c[of[i]];
		s->row[k].k = t->row[k].g.k;
	}
	s->n_rows = t->n_rows;
	return true;
}

/* What a row leaves of a group, if the others are at these numbers. */
static void shorten(struct group *g, int64_t c, int64_t k)
{
	int64_t at;

	if (c > 0) {
		at = -floor_div(k, c);
		g->lo = at > g->lo ? at : g->lo;
	} else {
		at = floor_div(k, -c);
		g->hi = at < g->hi ? at : g->hi;
	}
}

/* Rows about one group shorten it; those that always hold go. */
static void settle(struct groups *s)
{
	uint32_t i, k, n = 0, about, uses;

	for (i = 0; i < s->n_rows; i++) {
		about = uses = 0;
		for (k = 0; k < s->n; k++) {
			if (!s->row[i].c[k])
				continue;
			about = k;
			uses++;
		}
		if (uses == 1)
			shorten(&s->g[about], s->row[i].c[about], s->row[i].k);
		else if (uses)
			s->row[n++] = s->row[i];
		else if (s->row[i].k < 0)
			s->empty = true;
	}
	s->n_rows = n;
	for (k = 0; k < s->n; k++)
		if (s->g[k].lo > s->g[k].hi)
			s->empty = true;
}

/* 0, or -ERANGE */
static int groups_make(struct groups *s, const struct task *given, const char **why)
{
	struct task t = *given;
	int order[VARS], n = 0, i, k, v;
	struct span now;
	uint32_t r, rows = 0;

	memset(s, 0, sizeof(*s));
	s->exact = t.exact;
	s->base = t.at.k;
	for (v = 0; v < VARS; v++) {
		if (t.at.c[v] && t.span[v].hi == ENDLESS) {
			*why = "a loop whose rounds aren't bounded";
			return -ERANGE;
		}
		if (!t.at.c[v] && v < V_TID && t.span[v].hi > t.span[v].lo)
			s->lost = true;
		if (!(t.at.c[v] ? upright(s, &t, v) : leave(s, &t, v))) {
			*why = "a number that is too big";
			return -ERANGE;
		}
		if (t.at.c[v] && t.span[v].hi)
			order[n++] = v;
	}
	for (r = 0; r < t.n_rows; r++)
		if (!sum_span(&t.row[r].g, t.span, &now) || now.lo < 0)
			t.row[rows++] = t.row[r];
	t.n_rows = rows;
	for (i = 1; i < n; i++)
		for (k = i; k > 0 && t.at.c[order[k]] < t.at.c[order[k - 1]]; k--) {
			v = order[k];
			order[k] = order[k - 1];
			order[k - 1] = v;
		}
	if (!join(s, &t, order, n)) {
		*why = "a number that is too big";
		return -ERANGE;
	}
	settle(s);
	return 0;
}

/* How far from the first to behind the last byte; false: too far. */
static bool reach(const struct groups *s, uint64_t bytes, int64_t *from, int64_t *to)
{
	int64_t add;
	uint32_t i;

	*from = *to = s->base;
	if (__builtin_add_overflow(*to, (int64_t)bytes, to))
		return false;
	for (i = 0; i < s->n; i++) {
		if (__builtin_mul_overflow(s->g[i].unit, s->g[i].lo, &add) ||
		    __builtin_add_overflow(*from, add, from) ||
		    __builtin_mul_overflow(s->g[i].unit, s->g[i].hi, &add) ||
		    __builtin_add_overflow(*to, add, to))
			return false;
	}
	return true;
}

static void put_all(struct gsx_ranges *out, int64_t from, int64_t to)
{
	struct gsx_range *r = &out->range[0];
	uint32_t i;
	int64_t end;

	for (i = 0; i < out->n; i++) {
		r = &out->range[i];
		end = r->begin + (int64_t)(r->pitch * (r->rows - 1) + r->bytes);
		from = r->begin < from ? r->begin : from;
		to = end > to ? end : to;
	}
	out->range[0] = (struct gsx_range){ from, to - from, 0, 1 };
	out->n = 1;
	out->flags = 0;
}

static void put_range(struct gsx_ranges *out, int64_t begin, uint64_t bytes, uint64_t pitch,
		      uint64_t rows)
{
	struct gsx_range *last = out->n ? &out->range[out->n - 1] : NULL;
	int64_t end = begin + (int64_t)bytes;

	if (rows == 1 && last && last->rows == 1 && begin >= last->begin &&
	    begin <= last->begin + (int64_t)last->bytes) {
		if (end > last->begin + (int64_t)last->bytes)
			last->bytes = end - last->begin;
		return;
	}
	if (rows == 1 && last && last->bytes == bytes && begin > last->begin &&
	    (last->rows == 1 || begin == last->begin + (int64_t)(last->pitch * last->rows))) {
		if (last->rows == 1)
			last->pitch = begin - last->begin;
		last->rows++;
		return;
	}
	if (out->n == out->cap) {
		put_all(out, begin, end + (int64_t)(pitch * (rows - 1)));
		return;
	}
	out->range[out->n++] = (struct gsx_range){ begin, bytes, rows == 1 ? 0 : pitch, rows };
}

/* The numbers of the first group, with the others where they are. */
static void put_run(struct gsx_ranges *out, const struct groups *s, uint64_t bytes,
		    const int64_t *at, uint64_t more, uint64_t pitch)
{
	struct group g = s->n ? s->g[0] : (struct group){ .unit = 1 };
	int64_t begin = s->base, k;
	uint64_t count;
	uint32_t i, n;

	for (i = 0; i < s->n_rows; i++) {
		k = s->row[i].k;
		for (n = 1; n < s->n; n++)
			k += s->row[i].c[n] * at[n];
		if (s->row[i].c[0])
			shorten(&g, s->row[i].c[0], k);
		else if (k < 0)
			return;
	}
	if (g.lo > g.hi)
		return;
	for (n = 1; n < s->n; n++)
		begin += s->g[n].unit * at[n];
	begin += g.unit * g.lo;
	count = g.hi - g.lo + 1;
	if (g.unit <= (int64_t)bytes)
		put_range(out, begin, g.unit * (count - 1) + bytes, pitch, more);
	else
		put_range(out, begin, bytes, g.unit, count);
}

/* Rows over groups whose numbers would be too big while they are gone through. */
static bool rows_fit(const struct groups *s)
{
	int64_t sum, add, far;
	uint32_t i, k;

	for (i = 0; i < s->n_rows; i++) {
		sum = s->row[i].k < 0 ? -s->row[i].k : s->row[i].k;
		for (k = 0; k < s->n; k++) {
			far = s->g[k].hi > -s->g[k].lo ? s->g[k].hi : -s->g[k].lo;
			if (sum < 0 || __builtin_mul_overflow(s->row[i].c[k], far, &add) ||
			    add == INT64_MIN ||
			    __builtin_add_overflow(sum, add < 0 ? -add : add, &sum))
				return false;
		}
	}
	return true;
}

static int put_task(struct gsx_ranges *out, const struct task *t, const char **why)
{
	int64_t from, to, at[VARS] = { 0 };
	uint64_t runs = 1, more = 1, pitch = 0;
	struct groups s;
	uint32_t k, first = 1;
	int err = groups_make(&s, t, why);

	if (err || s.empty)
		return err;
	if (!reach(&s, t->bytes, &from, &to)) {
		*why = "an address that is too big";
		return -ERANGE;
	}
	if (!s.exact)
		out->flags &= ~GSX_RANGES_EXACT;
	/* rows of runs need no going through */
	if (s.n > 1 && !s.n_rows && s.g[0].unit <= (int64_t)t->bytes) {
		more = s.g[1].hi - s.g[1].lo + 1;
		pitch = s.g[1].unit;
		first = 2;
		at[1] = s.g[1].lo;
		if (pitch <= (uint64_t)(s.g[0].unit * (s.g[0].hi - s.g[0].lo)) + t->bytes) {
			more = 1;
			first = 1;
		}
	}
	for (k = first; k < s.n; k++) {
		at[k] = s.g[k].lo;
		if (__builtin_mul_overflow(runs, (uint64_t)(s.g[k].hi - s.g[k].lo + 1), &runs) ||
		    runs > MOST_RUNS) {
			put_all(out, from, to);
			return 0;
		}
	}
	if (!rows_fit(&s)) {
		put_all(out, from, to);
		return 0;
	}
	for (;;) {
		put_run(out, &s, t->bytes, at, more, pitch);
		for (k = first; k < s.n && at[k] == s.g[k].hi; k++)
			at[k] = s.g[k].lo;
		if (k >= s.n)
			return 0;
		at[k]++;
	}
}

/* Blocks whose accesses, of two tasks @apart from each other, meet nowhere. */
static bool digits(const struct groups *s, uint64_t bytes, uint64_t apart)
{
	uint64_t wide = bytes, unit, last;
	bool blocks = false, placed = !apart;
	uint32_t k;

	for (k = 0; k < s->n || !placed; ) {
		if (!placed && (k == s->n || apart <= (uint64_t)s->g[k].unit)) {
			if (apart < wide && blocks)
				return false;
			wide += apart;
			placed = true;
			continue;
		}
		unit = s->g[k].unit;
		if (s->g[k].blocks && (!s->g[k].digits || unit < wide))
			return false;
		if (unit < wide && blocks)
			return false;
		if (__builtin_mul_overflow(unit, (uint64_t)(s->g[k].hi - s->g[k].lo), &last) ||
		    __builtin_add_overflow(wide, last, &wide))
			return false;
		blocks |= s->g[k].blocks;
		k++;
	}
	return !s->lost;
}

/* The rows that two tasks have both, and spans that hold the spans of both. */
static void common(struct task *to, const struct task *a, const struct task *b)
{
	uint32_t i, k, n = 0;
	int v;

	*to = *a;
	for (i = 0; i < a->n_rows; i++) {
		for (k = 0; k < b->n_rows && memcmp(&a->row[i], &b->row[k], sizeof(a->row[i])); k++)
			;
		if (k < b->n_rows)
			to->row[n++] = a->row[i];
	}
	to->n_rows = n;
	for (v = 0; v < VARS; v++) {
		to->span[v].lo = a->span[v].lo < b->span[v].lo ? a->span[v].lo : b->span[v].lo;
		to->span[v].hi = a->span[v].hi > b->span[v].hi ? a->span[v].hi : b->span[v].hi;
	}
}

static bool pair_disjoint(const struct task *a, const struct task *b)
{
	int64_t from_a, to_a, from_b, to_b;
	struct groups s;
	const char *why;
	struct task both;
	uint64_t apart;

	if (a != b) {
		if (groups_make(&s, a, &why) || !reach(&s, a->bytes, &from_a, &to_a))
			return false;
		if (s.empty)
			return true;
		if (groups_make(&s, b, &why) || !reach(&s, b->bytes, &from_b, &to_b))
			return false;
		if (s.empty || to_a <= from_b || to_b <= from_a)
			return true;
		if (memcmp(a->at.c, b->at.c, sizeof(a->at.c)))
			return false;
	}
	common(&both, a, b);
	if (groups_make(&s, &both, &why))
		return false;
	if (a->at.k > b->at.k)
		apart = (uint64_t)a->at.k - (uint64_t)b->at.k;
	else
		apart = (uint64_t)b->at.k - (uint64_t)a->at.k;
	return s.empty || digits(&s, a->bytes > b->bytes ? a->bytes : b->bytes, apart);
}

static bool all_disjoint(const struct job *j)
{
	uint32_t i, k;

	for (i = 0; i < j->n; i++)
		for (k = i; k < j->n; k++)
			if (!pair_disjoint(&j->task[i], &j->task[k]))
				return false;
	return true;
}

/* The biggest box that begins with block @from and has none behind @to. */
static uint64_t box_from(struct figures *f, uint64_t from, uint64_t to)
{
	uint64_t gx = f->shape->grid[0], gy = f->shape->grid[1], x = from % gx, y = from / gx % gy;
	uint64_t z = from / gx / gy, n[3] = { 1, 1, 1 }, at[3] = { x, y, z };
	int i;

	n[0] = to - from < gx - x ? to - from : gx - x;
	if (!x && n[0] == gx) {
		n[1] = (to - from) / gx < gy - y ? (to - from) / gx : gy - y;
		if (!y && n[1] == gy)
			n[2] = (to - from) / (gx * gy);
	}
	for (i = 0; i < 3; i++) {
		f->box[V_CTAID + i].lo = at[i];
		f->box[V_CTAID + i].hi = at[i] + n[i] - 1;
	}
	return n[0] * n[1] * n[2];
}

static bool fair(const struct gsx_way *w, const struct gsx_shape *s, uint64_t from, uint64_t to,
		 const struct gsx_ranges *out)
{
	unsigned __int128 blocks = (unsigned __int128)s->grid[0] * s->grid[1] * s->grid[2];

	return w->class == GSX_MAP_AFFINE && blocks && blocks <= INT64_MAX && from <= to &&
	       to <= blocks && s->block[0] && s->block[1] && s->block[2] && out->cap &&
	       s->block[0] <= INT32_MAX && s->block[1] <= INT32_MAX && s->block[2] <= INT32_MAX;
}

int gsx_map_ranges(const struct gsx_maps *maps, const struct gsx_map *map, bool writes,
		   const struct gsx_shape *shape, uint64_t from, uint64_t to,
		   struct gsx_ranges *out)
{
	struct figures f;
	struct job j = { .f = &f };
	uint32_t i, index = map - maps->map;
	int err;

	out->n = out->flags = 0;
	out->why = NULL;
	if (!fair(writes ? &map->writes : &map->reads, shape, from, to, out))
		return -EINVAL;
	err = figures_begin(&f, maps->code, shape);
	if (err)
		return err;
	if (writes) {
		out->flags = GSX_RANGES_EXACT;
		err = tasks_of(&j, index, true);
		if (!err && all_disjoint(&j))
			out->flags |= GSX_RANGES_DISJOINT;
	}
	while (!err && from < to) {
		from += box_from(&f, from, to);
		err = tasks_of(&j, index, writes);
		for (i = 0; i < j.n && !err; i++)
			err = put_task(out, &j.task[i], &f.why);
	}
	out->why = err == -ERANGE ? f.why : NULL;
	free(j.task);
	figures_end(&f);
	return err;
}

const char *gsx_map_class_name(enum gsx_map_class class)
{
	static const char *const names[] = { "never", "affine", "unproven", "shared" };

	return class < GSX_MAP_CLASSES ? names[class] : "unknown";
}

const char *gsx_map_reason_name(enum gsx_map_reason reason)
{
	static const char *const names[] = { "ok", "data", "operation", "product", "join", "loop",
		"base", "atomics", "read", "waits", "call", "variable", "pointer", "surface",
		"flow", "size" };

	return reason < GSX_MAP_REASONS ? names[reason] : "unknown";
}
