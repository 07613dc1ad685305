// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cut.h"

static char why[700];

int cut_load(struct cut_module *m, const char *text, size_t len, const char *file,
	     char *(*edit)(char *text, void *arg), void *arg, char *say, size_t size)
{
	struct gsx_options opt = { .file = file, .modes = GSX_ALL_MODES };
	char *edited = NULL;
	uint32_t i;
	int err;

	memset(m, 0, sizeof(*m));
	err = gsx_ptx_transform(text, len, &opt, &m->x);
	if (err) {
		snprintf(say, size, "transform: %s", m->x.error);
		gsx_result_free(&m->x);
		return err;
	}
	if (edit) {
		edited = edit(m->x.text, arg);
		if (!edited) {
			gsx_result_free(&m->x);
			return -ENOENT;
		}
	}
	err = program_decode(&m->p, edited ? edited : m->x.text,
			     edited ? strlen(edited) : m->x.len, file, m);
	free(edited);
	if (err) {
		snprintf(say, size, "decode: %s", m->p.error);
		mem_free_owner(m);
		gsx_result_free(&m->x);
		return err;
	}
	m->image = calloc(m->p.n_vars + 1, sizeof(*m->image));
	for (i = 0; i < m->p.n_vars; i++) {
		m->image[i] = malloc(m->p.vars[i].size + 1);
		memcpy(m->image[i], mem_host(m->p.vars[i].addr, m->p.vars[i].size),
		       m->p.vars[i].size);
	}
	return 0;
}

void cut_unload(struct cut_module *m)
{
	uint32_t i;

	for (i = 0; i < m->p.n_vars; i++)
		free(m->image[i]);
	free(m->image);
	mem_free_owner(m);
	program_free(&m->p);
	gsx_result_free(&m->x);
}

void cut_reset(struct cut_module *m)
{
	uint32_t i;

	for (i = 0; i < m->p.n_vars; i++)
		memcpy(mem_host(m->p.vars[i].addr, m->p.vars[i].size), m->image[i],
		       m->p.vars[i].size);
}

/* The first time (*save is NULL) it keeps the state, then it compares. */
const char *cut_state(struct cut_module *m, uint8_t **save)
{
	size_t size = 0, at = 0;
	uint8_t *host;
	uint32_t i;

	for (i = 0; i < m->p.n_vars; i++)
		size += m->p.vars[i].size;
	if (!*save) {
		*save = malloc(size + 1);
		for (i = 0; i < m->p.n_vars; at += m->p.vars[i++].size)
			memcpy(*save + at, mem_host(m->p.vars[i].addr, m->p.vars[i].size),
			       m->p.vars[i].size);
		return NULL;
	}
	for (i = 0; i < m->p.n_vars; at += m->p.vars[i++].size) {
		host = mem_host(m->p.vars[i].addr, m->p.vars[i].size);
		if (memcmp(*save + at, host, m->p.vars[i].size))
			return m->p.vars[i].name;
	}
	return NULL;
}

const struct gsx_kernel *cut_kernel(struct cut_module *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->x.n_kernels; i++)
		if (!strcmp(m->x.kernels[i].name, name))
			return &m->x.kernels[i];
	return NULL;
}

void cut_prepare(struct cut_module *m, struct cut_launch *l, const char *name)
{
	int k;

	memset(l, 0, sizeof(*l));
	l->k = cut_kernel(m, name);
	l->whole = program_entry(&m->p, name);
	for (k = 0; l->k && k < GSX_MODES; k++)
		l->variant[k] = l->k->variant[k] ? program_entry(&m->p, l->k->variant[k]) : NULL;
}

static struct grid *make(struct cut_launch *l, struct func *f, const uint32_t dim[3],
			 const struct gsx_launch *h, size_t bytes)
{
	static const uint32_t one[3] = { 1, 1, 1 };

	if (h)
		memcpy(l->params + l->k->hidden_offset, h, bytes);
	dev.launches++;
	return grid_make(f, dim, l->block, f->req_cluster[0] ? f->req_cluster : one, l->dynamic,
			 l->params, l->cooperative, 0);
}

/* Steps all until they have ended or @steps are done; frees those that ended. */
static bool run(struct grid **g, uint32_t *n, uint64_t steps)
{
	uint64_t end = dev.steps + steps;
	uint32_t k;

	while (*n && dev.steps < end) {
		uint64_t left = end - dev.steps;

		grids_step(g, *n, left < 100000 ? left : 100000);
		for (k = 0; k < *n; k++) {
			if (!grid_ended(g[k]))
				continue;
			if (g[k]->fault) {
				snprintf(why, sizeof(why), "%s", dev.fault_text);
				while (*n)
					grid_free(g[--*n]);
				return false;
			}
			grid_free(g[k]);
			g[k--] = g[--*n];
		}
	}
	return true;
}

const char *cut_whole(struct cut_launch *l)
{
	struct grid *g = make(l, l->whole, l->grid, NULL, 0);
	uint32_t n = 1;

	if (!g)
		return "no memory";
	l->gridid = g->id;
	dev.shuffle_blocks = !l->ordered;
	return run(&g, &n, UINT64_MAX / 2) ? NULL : why;
}

struct box { uint32_t base[3], dim[3]; };

/* In halves along a random side, in random order, down to random sizes. */
static uint32_t split(struct box b, struct box *out, uint32_t n, uint32_t max)
{
	uint32_t volume = b.dim[0] * b.dim[1] * b.dim[2], side, at;
	struct box two[2] = { b, b };

	if (volume == 1 || n + volume > max || (n && !dev_draw(4))) {
		out[n] = b;
		return n + 1;
	}
	do
		side = dev_draw(3);
	while (b.dim[side] < 2);
	at = 1 + dev_draw(b.dim[side] - 1);
	two[0].dim[side] = at;
	two[1].base[side] += at;
	two[1].dim[side] -= at;
	at = dev_draw(2);
	return split(two[!at], out, split(two[at], out, n, max), max);
}

/* A run of linear numbers from @at on, as a box; ascending, so that order is kept. */
static struct box row(const uint32_t d[3], uint32_t at, uint32_t want)
{
	struct box b = { { at % d[0], at / d[0] % d[1], at / d[0] / d[1] }, { 1, 1, 1 } };

	b.dim[0] = want < d[0] - b.base[0] ? want : d[0] - b.base[0];
	return b;
}

const char *cut_slices(struct cut_launch *l)
{
	uint32_t total = l->grid[0] * l->grid[1] * l->grid[2], n = 0, k, at, running = 0;
	bool ordered = l->ordered || l->k->flags & GSX_WAITS;
	struct box *boxes = calloc(total + 4, sizeof(*boxes));
	struct box all = { { 0, 0, 0 }, { l->grid[0], l->grid[1], l->grid[2] } };
	struct gsx_launch h;
	struct grid *g[2];
	bool ok = true;

	dev.shuffle_blocks = !l->ordered;
	if (ordered)
		for (at = 0; at < total; at += boxes[n++].dim[0])
			boxes[n] = row(l->grid, at, 1 + dev_draw(total));
	else
		n = split(all, boxes, 0, total + 2);
	gsx_launch_init(&h, l->grid);
	for (k = 0; k < n && ok; k++) {
		memcpy(h.base, boxes[k].base, sizeof(h.base));
		h.gridid = l->gridid;
		g[running] = make(l, l->variant[GSX_SLICE], boxes[k].dim, &h, GSX_SLICE_BYTES);
		if (!g[running])
			break;
		running++;
		/* at times two at once, as two streams would */
		ok = run(g, &running, ordered || running == 2 || k == n - 1 || dev_draw(2) ?
			 UINT64_MAX / 2 : dev_draw(2000));
	}
	free(boxes);
	return ok ? NULL : why;
}

struct words {
	struct mem_block *queue, *pinned, *slots[8];
	struct gsx_queue *q;
	volatile uint32_t *stop, *quota;
	uint32_t n_slots;
};

static bool words_make(struct words *w, struct gsx_launch *h, struct cut_launch *l)
{
	memset(w, 0, sizeof(*w));
	w->queue = mem_alloc(0, sizeof(struct gsx_queue), MEM_DEVICE, w);
	w->pinned = mem_alloc(0, 4096, MEM_PINNED, w);
	if (!w->queue || !w->pinned)
		return false;
	memset(w->queue->host, 0, sizeof(struct gsx_queue));
	w->q = (struct gsx_queue *)w->queue->host;
	w->stop = (uint32_t *)w->pinned->host;
	w->quota = w->stop + 16;
	*w->stop = *w->quota = 0;
	gsx_launch_init(h, l->grid);
	h->gridid = l->gridid;
	h->queue = w->queue->addr;
	h->stop = w->pinned->addr;
	h->quota = w->pinned->addr + 64;
	h->progress = w->queue->addr + offsetof(struct gsx_queue, done);
	return true;
}

static struct grid *tickets(struct cut_launch *l, struct words *w, struct gsx_launch *h,
			    enum gsx_mode mode, uint32_t n)
{
	uint32_t dim[3] = { n, 1, 1 };
	struct mem_block *b = mem_alloc(0, n * sizeof(struct gsx_slot), MEM_DEVICE, w);

	if (!b)
		return NULL;
	h->slots = b->addr;
	return make(l, l->variant[mode], dim, h, GSX_LAUNCH_BYTES);
}

static const char *bad(const char *fmt, uint32_t a, uint32_t b)
{
	snprintf(why, sizeof(why), fmt, a, b);
	return why;
}

static const char *guard(struct cut_launch *l, struct words *w, struct gsx_launch *h)
{
	uint32_t total = h->total, tries = 0, before, n, seen = 0;
	struct grid *g;

	/* stopped before it begins: no block may run */
	*w->stop = 1;
	n = 1;
	g = tickets(l, w, h, GSX_GUARD, total);
	if (!g || !run(&g, &n, UINT64_MAX / 2))
		return why;
	if (w->q->next)
		return bad("%u blocks began after the stop", w->q->next, 0);
	while (w->q->next < total) {
		before = w->q->next;
		*w->stop = 0;
		n = 1;
		/* sometimes more than are left: these find no work */
		g = tickets(l, w, h, GSX_GUARD, 1 + dev_draw(total - before + 2));
		if (!g)
			return "no memory";
		seen = g->total;
		/* each third time undisturbed, so that it ends whatever the block's size */
		if (!run(&g, &n, tries++ % 3 ? 1 + dev_draw(3000) : UINT64_MAX / 2))
			return why;
		before = w->q->next;
		*w->stop = n;
		if (!run(&g, &n, UINT64_MAX / 2))
			return why;
		/* whoever had looked already may take one; nobody else */
		if (*w->stop && w->q->next - before > seen)
			return bad("%u tickets were taken after a stop by %u blocks",
				   w->q->next - before, seen);
		if (tries > 40 * total + 100)
			return bad("no progress: %u of %u", w->q->next, total);
	}
	return NULL;
}

const char *cut_guard(struct cut_launch *l)
{
	struct gsx_launch h;
	const char *error;
	struct words w;

	dev.shuffle_blocks = true;
	error = words_make(&w, &h, l) ? guard(l, &w, &h) : "no memory";
	mem_free_owner(&w);
	return error;
}

/* One round: some workers, then things happen to them, then they all end. */
static const char *round_of_workers(struct cut_launch *l, struct words *w, struct gsx_launch *h,
				    bool calm)
{
	uint32_t n = 1, workers = 1 + dev_draw(12), before, events = calm ? 0 : dev_draw(4);
	struct grid *g[8];

	*w->stop = 0;
	*w->quota = 1 + dev_draw(3);
	g[0] = tickets(l, w, h, GSX_WORKERS, workers);
	if (!g[0])
		return "no memory";
	while (events-- && n) {
		if (!run(g, &n, 1 + dev_draw(4000)))
			return why;
		before = w->q->next;
		switch (dev_draw(4)) {
		case 0:
			*w->stop = 1;
			break;
		case 1:
			*w->quota = dev_draw(3);
			break;
		default:
			*w->quota = 1 + dev_draw(5);
			if (n && n < 8) {
				uint32_t more = 1 + dev_draw(6);

				g[n] = tickets(l, w, h, GSX_WORKERS, more);
				if (!g[n])
					return "no memory";
				n++;
				workers += more;
			}
			break;
		}
		if (*w->stop || !*w->quota) {
			if (!run(g, &n, UINT64_MAX / 2))
				return why;
			if (w->q->next - before > workers)
				return bad("%u tickets were taken after the end by %u workers",
					   w->q->next - before, workers);
		}
	}
	return run(g, &n, UINT64_MAX / 2) ? NULL : why;
}

static const char *workers(struct cut_launch *l, struct words *w, struct gsx_launch *h)
{
	uint32_t total = h->total, tries = 0, k;
	const char *error;

	while (w->q->next < total) {
		error = round_of_workers(l, w, h, tries % 3 == 2);
		if (error)
			return error;
		for (k = 0; k < GSX_SM_SLOTS; k++)
			if (w->q->sm[k])
				return bad("%u workers count as present on %u, where none is",
					   w->q->sm[k], k);
		if (w->q->done != gsx_queue_done(w->q->next, total))
			return bad("%u blocks are counted as done of %u", w->q->done,
				   gsx_queue_done(w->q->next, total));
		if (++tries > 40 * total + 100)
			return bad("no progress: %u of %u", w->q->next, total);
	}
	return NULL;
}

const char *cut_workers(struct cut_launch *l)
{
	struct gsx_launch h;
	const char *error;
	struct words w;

	dev.shuffle_blocks = true;
	error = words_make(&w, &h, l) ? workers(l, &w, &h) : "no memory";
	mem_free_owner(&w);
	return error;
}
