// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpucuda/exec.h"
#include "oracle.h"

#define BUFS ORACLE_BUFS
#define MOST_RANGES 4096
#define buf oracle_buf

struct mem_block *oracle_buf[BUFS];

/* What a block did to some bytes of the buffers, which count as one behind the other. */
struct touch { uint32_t block, at, size; bool write; };

static struct {
	struct touch *t;
	size_t n, cap;
} log_;

static void touched(const struct thread *t, const struct insn *i, uint64_t addr, uint32_t size)
{
	bool read = i->fn != exec_st && i->fn != exec_wmma_store;
	bool write = !read || i->fn == exec_atom;
	int k, w;

	for (k = 0; k < BUFS; k++) {
		if (addr - buf[k]->addr >= CORPUS_BYTES)
			continue;
		for (w = 0; w < 2; w++) {
			if (!(w ? write : read))
				continue;
			if (log_.n == log_.cap) {
				log_.cap = log_.cap * 2 + 1024;
				log_.t = realloc(log_.t, log_.cap * sizeof(*log_.t));
			}
			log_.t[log_.n++] = (struct touch){
				t->b->linear, k * CORPUS_BYTES + (uint32_t)(addr - buf[k]->addr),
				size, w };
		}
	}
}

static uint8_t said[BUFS * CORPUS_BYTES];	/* bits: S_ */
static uint8_t did[BUFS * CORPUS_BYTES];
/* How far something was done in a buffer, and something was done or said. */
static uint32_t done[BUFS], high[BUFS];

#define S_MAY 1		/* anything may be there */
#define S_RANGE 2
#define S_EXACT 4
#define S_DISJOINT 8
#define D_THESE 1	/* blocks of the range */
#define D_OTHERS 2

static char why[400];

static const char *bad(const char *what, const char *kernel, size_t at, uint64_t from, uint64_t to)
{
	snprintf(why, sizeof(why), "%s: blocks %u to %u, byte %zu of buffer %zu: %s", kernel,
		 (unsigned int)from, (unsigned int)to, at % CORPUS_BYTES, at / CORPUS_BYTES, what);
	return why;
}

/* The buffer that a pointer is one into, all of it */
static void anything(uint64_t pointer)
{
	int k;

	for (k = 0; k < BUFS; k++)
		if (pointer - buf[k]->addr < CORPUS_BYTES)
			memset(said + k * CORPUS_BYTES, S_MAY, done[k]);
}

/* False: a byte that is said to be written is in none of the buffers. */
static bool mark(uint64_t pointer, const struct gsx_range *r, uint8_t bits)
{
	uint64_t row, at, end, first, last, in, i;
	int k;

	for (row = 0; row < r->rows; row++) {
		at = pointer + r->begin + row * r->pitch;
		end = at + r->bytes;
		for (k = 0, in = 0; k < BUFS; k++) {
			first = at > buf[k]->addr ? at - buf[k]->addr : 0;
			last = end > buf[k]->addr ? end - buf[k]->addr : 0;
			last = last < CORPUS_BYTES ? last : CORPUS_BYTES;
			for (i = first; i < last; i++, in++)
				said[k * CORPUS_BYTES + i] |= bits;
			if (first < last && last > high[k])
				high[k] = last;
		}
		if (bits & S_EXACT && in != r->bytes)
			return false;
	}
	return true;
}

static const char *say_map(const struct gsx_kernel *k, const struct gsx_map *m, bool writes,
			   const struct gsx_shape *s, uint64_t from, uint64_t to,
			   struct oracle_tally *t)
{
	static struct gsx_range range[MOST_RANGES];
	const struct gsx_way *w = writes ? &m->writes : &m->reads;
	struct gsx_ranges r = { .range = range, .cap = t->asked++ % 3 ? MOST_RANGES : 2 };
	uint64_t pointer = 0;
	bool first = !from && to == (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
	uint8_t bits = S_RANGE;
	uint32_t i;
	int err;

	t->by[writes][w->class] += first;
	if (w->class == GSX_MAP_NEVER)
		return NULL;
	for (i = 0; i + 8 <= m->size; i += 8) {
		memcpy(&pointer, (const char *)s->params + m->offset + i, 8);
		if (w->class != GSX_MAP_AFFINE)
			anything(pointer);
	}
	if (w->class != GSX_MAP_AFFINE)
		return NULL;
	err = gsx_map_ranges(&k->maps, m, writes, s, from, to, &r);
	if (err == -ERANGE) {
		if (!r.why)
			return bad("no reason", k->name, 0, from, to);
		t->late[writes] += first;
		if (first && getenv("SHOW"))
			printf("# %s %s: %s\n", k->name, writes ? "writes" : "reads", r.why);
		anything(pointer);
		return NULL;
	}
	if (err)
		return bad("an error", k->name, 0, from, to);
	if (r.n > r.cap)
		return bad("too many ranges", k->name, 0, from, to);
	if (writes) {
		bits |= r.flags & GSX_RANGES_EXACT ? S_EXACT : 0;
		bits |= r.flags & GSX_RANGES_DISJOINT ? S_DISJOINT : 0;
		t->exact += first && bits & S_EXACT;
		t->disjoint += first && bits & S_DISJOINT;
		if (first && getenv("SHOW"))
			printf("# %s writes%s%s: %u ranges\n", k->name, bits & S_EXACT ? " exact" : "",
			       bits & S_DISJOINT ? " disjoint" : "", r.n);
	}
	for (i = 0; i < r.n; i++)
		if (!mark(pointer, &r.range[i], bits))
			return bad("an exact range outside", k->name, 0, from, to);
	return NULL;
}

/* One range of blocks, its writes or its reads. */
static const char *check(const struct gsx_kernel *k, const struct gsx_shape *s, uint64_t from,
			 uint64_t to, bool writes, struct oracle_tally *t)
{
	const char *error = NULL;
	size_t i, at, b;

	for (b = 0; b < BUFS; b++) {
		memset(said + b * CORPUS_BYTES, 0, high[b]);
		memset(did + b * CORPUS_BYTES, 0, high[b]);
		high[b] = done[b];
	}
	for (i = 0; i < k->maps.n && !error; i++)
		error = say_map(k, &k->maps.map[i], writes, s, from, to, t);
	for (i = 0; i < log_.n && !error; i++) {
		const struct touch *x = &log_.t[i];

		for (at = x->at; at < x->at + x->size && x->write == writes; at++)
			did[at] |= x->block >= from && x->block < to ? D_THESE : D_OTHERS;
	}
	for (b = 0, at = 0; b < BUFS && !error; at++) {
		if (at >= b * CORPUS_BYTES + high[b]) {
			at = ++b * CORPUS_BYTES - 1;
			continue;
		}
		if (did[at] & D_THESE && !said[at])
			error = bad(writes ? "is written, which wasn't said" :
				    "is read, which wasn't said", k->name, at, from, to);
		else if (said[at] & S_EXACT && !(did[at] & D_THESE))
			error = bad("isn't written, which was said", k->name, at, from, to);
		else if (said[at] & S_DISJOINT && did[at] & D_OTHERS)
			error = bad("is written by another block, too", k->name, at, from, to);
	}
	return error;
}

/* All blocks, each block, and runs of them. */
static const char *check_all(const struct gsx_kernel *k, const struct gsx_shape *s,
			     struct oracle_tally *t)
{
	uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2], from, to;
	uint32_t i, n = 10 + (blocks < 12 ? blocks : 12);
	const char *error = NULL;
	int writes;

	memset(done, 0, sizeof(done));
	for (i = 0; i < log_.n; i++) {
		uint32_t end = log_.t[i].at % CORPUS_BYTES + log_.t[i].size;

		if (end > done[log_.t[i].at / CORPUS_BYTES])
			done[log_.t[i].at / CORPUS_BYTES] = end;
	}
	t->launches++;
	t->refused += k->maps.whole.class != GSX_MAP_NEVER;
	for (writes = 0; writes < 2 && !error; writes++) {
		if ((writes ? &k->maps.whole : &k->maps.elsewhere)->class != GSX_MAP_NEVER)
			continue;
		error = check(k, s, 0, blocks, writes, t);
		for (i = 0; i < n && !error; i++) {
			from = i < 10 ? dev_draw(blocks) : i - 10;
			to = i < 10 ? from + dev_draw(blocks - from + 1) : from + 1;
			error = check(k, s, from, to, writes, t);
		}
	}
	return error;
}

const char *oracle_run(struct cut_launch *l, const char **fault, struct oracle_tally *t)
{
	struct gsx_shape s = { .params = l->params, .param_bytes = l->k->param_bytes };

	log_.n = 0;
	dev.touched = touched;
	*fault = cut_whole(l);
	dev.touched = NULL;
	memcpy(s.grid, l->grid, sizeof(s.grid));
	memcpy(s.block, l->block, sizeof(s.block));
	return *fault ? NULL : check_all(l->k, &s, t);
}
