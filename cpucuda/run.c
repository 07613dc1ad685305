// SPDX-License-Identifier: MIT
/*
 * Grids and blocks: who is resident where, and whose turn it is.
 *
 * Blocks start in order (or shuffled, see cpucuda.h) as soon as a multiprocessor
 * has room for one. What runs next is drawn: a resident block, a warp of it, a
 * thread of that; then that thread, alone or with those of its warp that stand
 * beside it, for some instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "exec.h"
#include "memory.h"

struct device dev = {
	.sms = 4, .warps_per_sm = 64, .blocks_per_sm = 16, .shared_per_sm = 228 << 10,
	.shared_per_block = 227 << 10, .cc = 90, .stack_bytes = 64 << 10, .seed = 1,
	.limit = 400000000,
};

static uint64_t grid_ids;

uint64_t dev_random(void)
{
	uint64_t x = dev.seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* No registers are allotted here; a number that behaves like one is asked for. */
static uint32_t wanted_registers(const struct func *f)
{
	uint32_t n = 16 + f->n_regs / 4;

	return n > 255 ? 255 : n;
}

uint32_t func_registers(const struct func *f)
{
	uint32_t n = wanted_registers(f);

	return f->max_regs && f->max_regs < n ? f->max_regs : n;
}

/* With a quarter less than it wants a kernel gets by; what it lacks then is spilled. */
uint32_t func_spilled(const struct func *f)
{
	uint32_t least = wanted_registers(f) * 3 / 4, have = func_registers(f);

	return have < least ? (least - have) * 4 : 0;
}

uint32_t blocks_per_sm(const struct func *f, uint32_t threads, uint32_t dynamic)
{
	uint32_t warps = (threads + 31) / 32, n, shared = f->static_shared + dynamic;

	if (!warps || warps > 32 || shared > dev.shared_per_block)
		return 0;
	n = dev.warps_per_sm / warps;
	n = n < dev.blocks_per_sm ? n : dev.blocks_per_sm;
	/* each block costs the hardware 1 KiB of its own */
	return n < dev.shared_per_sm / (shared + 1024) ? n : dev.shared_per_sm / (shared + 1024);
}

static bool shuffle(struct grid *g)
{
	uint32_t i, k, x, unit = g->cluster[0] * g->cluster[1] * g->cluster[2];

	if (!dev.shuffle_blocks || unit > 1)
		return true;
	g->order = malloc(g->total * sizeof(*g->order));
	if (!g->order)
		return false;
	for (i = 0; i < g->total; i++)
		g->order[i] = i;
	for (i = g->total; i > 1; i--) {
		k = dev_draw(i);
		x = g->order[i - 1];
		g->order[i - 1] = g->order[k];
		g->order[k] = x;
	}
	return true;
}

struct grid *grid_make(struct func *f, const uint32_t dim[3], const uint32_t block[3],
		       const uint32_t cluster[3], uint32_t dynamic, const void *params,
		       bool cooperative, uint32_t device)
{
	struct grid *g = calloc(1, sizeof(*g));
	struct mem_block *ws;
	uint64_t blocks;

	if (!g)
		return NULL;
	g->f = f;
	memcpy(g->dim, dim, sizeof(g->dim));
	memcpy(g->block, block, sizeof(g->block));
	memcpy(g->cluster, cluster, sizeof(g->cluster));
	blocks = (uint64_t)dim[0] * dim[1] * dim[2];
	g->total = blocks;
	g->dynamic = dynamic;
	g->shared_bytes = ((f->static_shared + 127) & ~127u) + dynamic;
	g->per_sm = blocks_per_sm(f, block[0] * block[1] * block[2], dynamic);
	g->cooperative = cooperative;
	g->id = ++grid_ids;
	g->device = device;
	g->sees = 1u << device;
	g->params = calloc(1, f->param_bytes + 16);
	g->blocks = calloc(dev.sms * dev.blocks_per_sm + 16, sizeof(*g->blocks));
	if (cooperative) {
		ws = mem_alloc(device, 256, MEM_MODULE, g);
		if (ws)
			memset(ws->host, 0, 256);
		g->workspace = ws ? ws->addr : 0;
	}
	if (!g->params || !g->blocks || (cooperative && !g->workspace) ||
	    blocks != g->total || !shuffle(g)) {
		grid_free(g);
		return NULL;
	}
	if (params)
		memcpy(g->params, params, f->param_bytes);
	return g;
}

static void thread_free(struct thread *t, uint32_t slab)
{
	if (t->cap_regs > slab)
		free(t->regs);
	free(t->frames);
}

static void block_free(struct block *b)
{
	uint32_t k, slab = b->g->f->n_regs;
	uint64_t *regs = NULL;

	dev.sm[b->g->device][b->sm].warps -= b->n_warps;
	dev.sm[b->g->device][b->sm].blocks--;
	dev.sm[b->g->device][b->sm].shared -= b->g->shared_bytes + 1024;
	for (k = 0; b->t && k < b->n_threads; k++)
		thread_free(&b->t[k], slab);
	if (b->t)
		regs = *(uint64_t **)(b->t + b->n_threads);
	if (b->local)
		munmap(b->local, b->local_bytes);
	if (b->cluster) {
		b->cluster->member[b->rank] = NULL;
		for (k = 0; k < b->cluster->n && !b->cluster->member[k]; k++)
			;
		if (k == b->cluster->n)
			free(b->cluster);
	}
	free(regs);
	free(b->t);
	free(b->shared);
	free(b->ready);
	free(b);
}

void grid_free(struct grid *g)
{
	uint32_t k;

	for (k = 0; k < g->resident; k++)
		block_free(g->blocks[k]);
	mem_free_owner(g);
	free(g->blocks);
	free(g->params);
	free(g->order);
	free(g);
}

static bool threads_make(struct block *b)
{
	const struct func *f = b->g->f;
	size_t slab = (size_t)f->n_regs * b->n_threads;
	uint64_t *regs = malloc((slab + 1) * sizeof(*regs));
	uint32_t k, *d = b->g->block;

	b->t = calloc(1, b->n_threads * sizeof(*b->t) + sizeof(void *));
	if (!b->t || !regs) {
		free(regs);
		return false;
	}
	memset(regs, 0x5a, slab * sizeof(*regs));
	*(uint64_t **)(b->t + b->n_threads) = regs;
	for (k = 0; k < b->n_threads; k++) {
		struct thread *t = &b->t[k];

		t->b = b;
		t->linear = k;
		t->lane = k % 32;
		t->tid[0] = k % d[0];
		t->tid[1] = k / d[0] % d[1];
		t->tid[2] = k / d[0] / d[1];
		t->pc = f->code;
		t->regs = t->r = regs + (size_t)k * f->n_regs;
		t->n_regs = t->cap_regs = f->n_regs;
		t->frames = calloc(2, sizeof(*t->frames));
		if (!t->frames)
			return false;
		t->cap_frames = 2;
		t->frames[0].f = f;
		t->top = f->frame;
		t->local = b->local ? b->local + (size_t)k * dev.stack_bytes : NULL;
		b->ready[k / 32] |= 1u << t->lane;
	}
	b->n_ready = b->alive = b->n_threads;
	return true;
}

static struct block *block_make(struct grid *g, uint32_t linear, uint32_t sm)
{
	struct block *b = calloc(1, sizeof(*b));
	uint32_t k;

	if (!b)
		return NULL;
	b->g = g;
	b->sm = sm;
	b->linear = linear;
	b->id[0] = linear % g->dim[0];
	b->id[1] = linear / g->dim[0] % g->dim[1];
	b->id[2] = linear / g->dim[0] / g->dim[1];
	b->n_threads = g->block[0] * g->block[1] * g->block[2];
	b->n_warps = (b->n_threads + 31) / 32;
	dev.sm[g->device][sm].warps += b->n_warps;
	dev.sm[g->device][sm].blocks++;
	dev.sm[g->device][sm].shared += g->shared_bytes + 1024;
	b->ready = calloc(b->n_warps, sizeof(*b->ready));
	b->shared = aligned_alloc(128, (g->shared_bytes + 255) & ~127u);
	if (g->f->local) {
		b->local_bytes = (size_t)b->n_threads * dev.stack_bytes;
		b->local = mmap(NULL, b->local_bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (b->local == MAP_FAILED)
			b->local = NULL;
	}
	if (!b->ready || !b->shared || (g->f->local && !b->local) || !threads_make(b)) {
		block_free(b);
		return NULL;
	}
	/* what shared memory holds at the start is nobody's: not zeros */
	for (k = 0; k + 8 <= g->shared_bytes; k += 8) {
		uint64_t v = dev_random();

		memcpy(b->shared + k, &v, 8);
	}
	return b;
}

/* A multiprocessor with room for this many blocks of the grid, or none. */
static int room(const struct grid *g)
{
	uint32_t warps = (g->block[0] * g->block[1] * g->block[2] + 31) / 32, k, sm;
	uint32_t start = dev_draw(dev.sms);

	for (k = 0; k < dev.sms; k++) {
		sm = (start + k) % dev.sms;
		if (dev.sm[g->device][sm].warps + warps <= dev.warps_per_sm &&
		    dev.sm[g->device][sm].blocks < dev.blocks_per_sm &&
		    dev.sm[g->device][sm].shared + g->shared_bytes + 1024 <= dev.shared_per_sm)
			return sm;
	}
	return -1;
}

static void no_memory(struct grid *g)
{
	g->fault = FAULT_MEMORY;
	snprintf(dev.fault_text, sizeof(dev.fault_text), "%s: no memory for a block", g->f->name);
}

static void add_resident(struct grid *g, struct block *b)
{
	g->blocks[g->resident++] = b;
	dev.blocks_run++;
}

/* The linear number of the k-th block of the n-th cluster. */
static uint32_t cluster_block(const struct grid *g, uint32_t n, uint32_t k)
{
	uint32_t per[3], at[3], i;

	for (i = 0; i < 3; i++)
		per[i] = g->dim[i] / g->cluster[i];
	at[0] = n % per[0] * g->cluster[0] + k % g->cluster[0];
	at[1] = n / per[0] % per[1] * g->cluster[1] + k / g->cluster[0] % g->cluster[1];
	at[2] = n / per[0] / per[1] * g->cluster[2] + k / g->cluster[0] / g->cluster[1];
	return (at[2] * g->dim[1] + at[1]) * g->dim[0] + at[0];
}

static bool start_cluster(struct grid *g)
{
	uint32_t n = g->cluster[0] * g->cluster[1] * g->cluster[2], k, start = g->next / n;
	struct cluster *c;
	struct block *b;
	int sm;

	if (g->resident + n > dev.sms * dev.blocks_per_sm)
		return false;
	c = calloc(1, sizeof(*c));
	if (!c) {
		no_memory(g);
		return false;
	}
	c->n = n;
	for (k = 0; k < n; k++) {
		sm = room(g);
		b = block_make(g, cluster_block(g, start, k), sm < 0 ? 0 : sm);
		if (!b) {
			if (!k)
				free(c);
			no_memory(g);
			return false;
		}
		b->cluster = c;
		b->rank = k;
		c->member[k] = b;
		c->alive += b->n_threads;
		add_resident(g, b);
	}
	g->next += n;
	return true;
}

static bool start_block(struct grid *g)
{
	struct block *b;
	int sm;

	if (g->next == g->total || g->fault)
		return false;
	sm = room(g);
	if (sm < 0)
		return false;
	if (g->cluster[0] * g->cluster[1] * g->cluster[2] > 1)
		return start_cluster(g);
	b = block_make(g, g->order ? g->order[g->next] : g->next, sm);
	if (!b) {
		no_memory(g);
		return false;
	}
	add_resident(g, b);
	g->next++;
	return true;
}

static void finish_block(struct grid *g, uint32_t k)
{
	block_free(g->blocks[k]);
	g->blocks[k] = g->blocks[--g->resident];
	g->done++;
	g->steps_at_progress = g->steps;
}

/* Those of the warp that are ready and stand where @lead stands. */
static uint32_t beside(struct block *b, const struct thread *lead)
{
	struct thread *w = b->t + (lead->linear - lead->lane);
	uint32_t left = b->ready[lead->linear / 32], group = 0, k;

	for (; left; left &= left - 1) {
		k = __builtin_ctz(left);
		if (w[k].pc == lead->pc && w[k].depth == lead->depth)
			group |= 1u << k;
	}
	return group;
}

/* Mostly the thread that is furthest behind, which lets warps come together again. */
static struct thread *choose(struct block *b, uint32_t warp)
{
	uint32_t left = b->ready[warp], k, at = 0, skip;
	struct thread *w = b->t + warp * 32, *lead = NULL;

	if (!dev_draw(8)) {
		for (skip = dev_draw(__builtin_popcount(left)); skip; skip--)
			left &= left - 1;
		return &w[__builtin_ctz(left)];
	}
	for (; left; left &= left - 1) {
		k = __builtin_ctz(left);
		if (!lead || w[k].depth > lead->depth ||
		    (w[k].depth == lead->depth && w[k].pc < lead->pc)) {
			lead = &w[k];
			at = k;
		}
	}
	return &w[at];
}

static inline void step_thread(struct thread *t)
{
	const struct insn *i = t->pc++;

	if (i->pred >= 0 && (t->r[i->pred] & 1) == i->pred_not)
		return;
	i->fn(t, i);
}

static void poke(void)
{
	uint32_t k;

	for (k = 0; k < dev.n_poke; k++) {
		if (dev.steps < dev.poke[k].at)
			continue;
		__atomic_store_n(dev.poke[k].word, dev.poke[k].value, __ATOMIC_RELEASE);
		dev.poke[k--] = dev.poke[--dev.n_poke];
	}
}

/* Steps a group while it stays together, at most @n instructions. */
static uint32_t step_group(struct block *b, struct thread *lead, uint32_t group, uint32_t n)
{
	struct thread *w = b->t + (lead->linear - lead->lane);
	uint32_t left, k, done = 0, warp = lead->linear / 32;
	struct grid *g = b->g;
	bool together = true;

	while (n-- && together && !g->fault) {
		const struct insn *i = lead->pc;
		bool mask = i->fn == exec_activemask;

		for (left = group; left; left &= left - 1) {
			k = __builtin_ctz(left);
			if (mask)
				w[k].mask = group;
			step_thread(&w[k]);
			done++;
		}
		if (i->flags & F_SIMPLE)
			continue;
		for (left = group; left; left &= left - 1) {
			k = __builtin_ctz(left);
			if (!(b->ready[warp] >> k & 1) || w[k].pc != lead->pc ||
			    w[k].depth != lead->depth)
				together = false;
		}
	}
	return done;
}

static void step_block(struct block *b, uint32_t n)
{
	uint32_t warp = dev_draw(b->n_warps), done, group;
	struct thread *lead;

	while (!b->ready[warp])
		warp = (warp + 1) % b->n_warps;
	lead = choose(b, warp);
	group = dev_draw(6) ? beside(b, lead) : 1u << lead->lane;
	done = step_group(b, lead, group, n);
	b->g->steps += done;
	dev.steps += done;
	if (dev.n_poke)
		poke();
}

static void deadlock(struct grid *g)
{
	uint32_t k, n, at_barrier = 0, in_warp = 0, in_cluster = 0;

	for (k = 0; k < g->resident; k++)
		for (n = 0; n < g->blocks[k]->n_threads; n++) {
			at_barrier += g->blocks[k]->t[n].state == T_BARRIER;
			in_warp += g->blocks[k]->t[n].state == T_WARP;
			in_cluster += g->blocks[k]->t[n].state == T_CLUSTER;
		}
	g->fault = FAULT_DEADLOCK;
	snprintf(dev.fault_text, sizeof(dev.fault_text),
		 "%s: deadlock: %u threads wait at barriers, %u in warp operations, %u for their "
		 "cluster, and nobody runs", g->f->name, at_barrier, in_warp, in_cluster);
}

/* Takes finished blocks out; finds those that can't go on. */
static bool settle(struct grid *g)
{
	uint32_t k, stuck = 0;

	for (k = 0; k < g->resident; ) {
		struct block *b = g->blocks[k];

		if (!b->alive) {
			finish_block(g, k);
			continue;
		}
		stuck += !b->n_ready;
		if (!b->n_ready && !b->cluster)
			deadlock(g);
		k++;
	}
	if (g->resident && stuck == g->resident)
		deadlock(g);
	if (g->steps - g->steps_at_progress > dev.limit && !g->fault) {
		g->fault = FAULT_TIMEOUT;
		snprintf(dev.fault_text, sizeof(dev.fault_text),
			 "%s: no block has ended for %llu steps: it waits for something that doesn't come",
			 g->f->name, (unsigned long long)dev.limit);
	}
	return grid_ended(g);
}

bool grids_step(struct grid **g, uint32_t n, uint32_t steps)
{
	uint64_t end = dev.steps + steps;
	uint32_t k, at, total;
	struct block *b;

	while (dev.steps < end) {
		total = 0;
		for (k = 0; k < n; k++) {
			while (start_block(g[k]))
				;
			if (settle(g[k]))
				return true;
			total += g[k]->resident;
		}
		if (!total)
			continue;
		at = dev_draw(total);
		for (k = 0; at >= g[k]->resident; k++)
			at -= g[k]->resident;
		b = g[k]->blocks[at];
		/* a few turns of one block before the look at all of them */
		for (k = 0; k < 8 && b->n_ready && !b->g->fault; k++)
			step_block(b, 1 + dev_draw(dev_draw(4) ? 24 : 200));
	}
	return false;
}
