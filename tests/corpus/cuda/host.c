// SPDX-License-Identifier: MIT
/*
 * The reference build's model of a block: one fiber a thread, run in turn.
 *
 * A fiber gives way only where its thread must wait (a barrier, a warp
 * intrinsic, a spin on memory), so everything else is plain sequential C and
 * atomics need no care. Threads that have ended count as arrived at barrier 0
 * and in warp masks, as the hardware has it.
 */
#include <ucontext.h>
#include "corpus.h"

#define STACK 65536

struct fiber;
struct block {
	struct host_dim cta;
	unsigned int alive, count[16], gen[16], pred[16], result[16];
	unsigned int left;
};

struct fiber {
	struct host_thread self;
	ucontext_t uc;
	struct block *b;
	struct fiber *warp;	/* its lane 0 */
	uint32_t mask;		/* what it waits for, 0: nothing */
	uint64_t value;
	int kind, arg, width;
	bool done;
};

struct host_thread *host_self;
struct host_dim host_block, host_grid;
char host_dynamic[49152] __attribute__((aligned(16)));
struct corpus_run *corpus_runs;

static ucontext_t scheduler;
static struct fiber *current;
static unsigned int grid_count, grid_gen, grid_all;
static const struct corpus_run *run_now;
static const struct corpus_bufs *bufs_now;

void corpus_add(struct corpus_run *r)
{
	r->next = corpus_runs;
	corpus_runs = r;
}

void corpus_put(struct corpus_args *a, const void *v, size_t size)
{
	a->size[a->n] = size;
	memcpy(a->bytes[a->n++], v, size);
}

void host_yield(void)
{
	struct fiber *f = current;

	swapcontext(&f->uc, &scheduler);
	current = f;
	host_self = &f->self;
}

static void barrier_check(struct block *b, unsigned int id, unsigned int n)
{
	if (b->count[id] < (n ? n : b->alive) || !b->count[id])
		return;
	b->result[id] = b->pred[id];
	b->count[id] = b->pred[id] = 0;
	b->gen[id]++;
}

int host_barrier(unsigned int id, unsigned int n, int kind, int pred)
{
	struct block *b = current->b;
	unsigned int gen = b->gen[id], all = n ? n : b->alive;

	b->count[id]++;
	b->pred[id] += pred;
	barrier_check(b, id, n);
	while (b->gen[id] == gen)
		host_yield();
	switch (kind) {
	case HOST_AND:
		return b->result[id] == all;
	case HOST_OR:
		return b->result[id] != 0;
	default:
		return b->result[id];
	}
}

void host_arrive(unsigned int id, unsigned int n)
{
	current->b->count[id]++;
	barrier_check(current->b, id, n);
}

void host_grid_sync(void)
{
	unsigned int gen = grid_gen;

	if (++grid_count == grid_all) {
		grid_count = 0;
		grid_gen++;
	}
	while (grid_gen == gen)
		host_yield();
}

static uint64_t fold(int kind, uint64_t a, uint64_t b, bool sign)
{
	switch (kind) {
	case WARP_ADD:
		return (uint32_t)(a + b);
	case WARP_MIN:
		return sign ? ((int32_t)a < (int32_t)b ? a : b) : a < b ? a : b;
	case WARP_MAX:
		return sign ? ((int32_t)a > (int32_t)b ? a : b) : a > b ? a : b;
	case WARP_AND:
		return a & b;
	case WARP_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

/* What one lane gets; the values still stand as they were given. */
static uint64_t warp_result(struct fiber *w, unsigned int lane)
{
	uint32_t mask = w[lane].mask, bits = 0;
	int width = w[lane].width, base = lane & ~(width - 1), src = lane;
	uint64_t r = w[lane].value;
	unsigned int i;
	bool first = true;

	switch (w[lane].kind) {
	case WARP_IDX:
		src = base + (w[lane].arg & (width - 1));
		return w[src].value;
	case WARP_UP:
		src = (int)lane - w[lane].arg;
		return src < base ? r : w[src].value;
	case WARP_DOWN:
		src = lane + w[lane].arg;
		return src >= base + width ? r : w[src].value;
	case WARP_XOR:
		src = lane ^ w[lane].arg;
		return src >= base + width ? r : w[src].value;
	case WARP_MATCH:
	case WARP_MATCH_ALL:
		for (i = 0; i < 32; i++)
			if (mask >> i & 1 && w[i].value == r)
				bits |= 1u << i;
		return w[lane].kind == WARP_MATCH || bits == mask ? bits : 0;
	case WARP_ANY:
	case WARP_ALL:
	case WARP_BALLOT:
		for (i = 0; i < 32; i++)
			if (mask >> i & 1 && w[i].value)
				bits |= 1u << i;
		return w[lane].kind == WARP_ANY ? bits != 0 :
			w[lane].kind == WARP_ALL ? bits == mask : bits;
	case WARP_SYNC:
		return 0;
	}
	for (i = 0; i < 32; i++) {
		if (!(mask >> i & 1))
			continue;
		r = first ? w[i].value : fold(w[lane].kind, r, w[i].value, w[lane].arg);
		first = false;
	}
	return r;
}

static bool in_warp(struct fiber *w, unsigned int lane)
{
	unsigned int all = host_block.x * host_block.y * host_block.z;

	return w->self.linear + lane < all && w[lane].b;
}

static void warp_check(struct fiber *w, uint32_t mask)
{
	uint32_t part = 0;
	uint64_t r[32];
	unsigned int i;

	for (i = 0; i < 32; i++) {
		if (!(mask >> i & 1) || !in_warp(w, i))
			continue;
		if (w[i].mask != mask)
			return;
		part |= 1u << i;
	}
	for (i = 0; i < 32; i++)
		if (part >> i & 1)
			w[i].mask = part;
	for (i = 0; i < 32; i++)
		if (part >> i & 1)
			r[i] = warp_result(w, i);
	for (i = 0; i < 32; i++) {
		if (!(part >> i & 1))
			continue;
		w[i].value = r[i];
		w[i].mask = 0;
		w[i].done = true;
	}
}

uint64_t host_warp(uint32_t mask, int kind, uint64_t value, int arg, int width)
{
	struct fiber *f = current;

	f->mask = mask;
	f->kind = kind;
	f->value = value;
	f->arg = arg;
	f->width = width;
	f->done = false;
	warp_check(f->warp, mask);
	while (!f->done)
		host_yield();
	return f->value;
}

static void fiber_end(struct fiber *f)
{
	struct block *b = f->b;
	unsigned int i;

	f->b = NULL;
	b->alive--;
	b->left--;
	barrier_check(b, 0, 0);
	for (i = 0; i < 32; i++)
		if (in_warp(f->warp, i) && f->warp[i].mask)
			warp_check(f->warp, f->warp[i].mask);
	grid_all--;
}

void host_exit(void)
{
	struct fiber *f = current;

	fiber_end(f);
	for (;;)
		swapcontext(&f->uc, &scheduler);
}

static void fiber_main(void)
{
	run_now->call(bufs_now);
	host_exit();
}

static void make_fiber(struct fiber *f, struct block *b, char *stack, unsigned int n)
{
	f[n].self.tid = (struct host_dim){ n % host_block.x, n / host_block.x % host_block.y,
		n / host_block.x / host_block.y };
	f[n].self.cta = b->cta;
	f[n].self.lane = n % 32;
	f[n].self.linear = n;
	f[n].b = b;
	f[n].warp = f + n / 32 * 32;
	f[n].mask = 0;
	getcontext(&f[n].uc);
	f[n].uc.uc_stack.ss_sp = stack;
	f[n].uc.uc_stack.ss_size = STACK;
	f[n].uc.uc_link = NULL;
	makecontext(&f[n].uc, fiber_main, 0);
}

static void make_block(struct fiber *f, struct block *b, char *stacks, unsigned int at)
{
	unsigned int n;

	b->alive = b->left = host_block.x * host_block.y * host_block.z;
	b->cta = (struct host_dim){ at % host_grid.x, at / host_grid.x % host_grid.y,
		at / host_grid.x / host_grid.y };
	for (n = 0; n < b->left; n++)
		make_fiber(f, b, stacks + (size_t)n * STACK, n);
}

static void run_fibers(struct fiber *f, unsigned int n)
{
	unsigned int i, left = n;

	grid_all = n;
	grid_count = 0;
	while (left) {
		left = 0;
		for (i = 0; i < n; i++) {
			if (!f[i].b)
				continue;
			left++;
			current = &f[i];
			host_self = &f[i].self;
			swapcontext(&scheduler, &f[i].uc);
		}
	}
}

void corpus_reference(const struct corpus_run *r, const struct corpus_bufs *b)
{
	unsigned int blocks = r->grid[0] * r->grid[1] * r->grid[2], i, together;
	unsigned int threads = r->block[0] * r->block[1] * r->block[2];
	struct fiber *f;
	struct block *bl;
	char *stacks;

	host_grid = (struct host_dim){ r->grid[0], r->grid[1], r->grid[2] };
	host_block = (struct host_dim){ r->block[0], r->block[1], r->block[2] };
	run_now = r;
	bufs_now = b;
	together = r->flags & (COOP | WAVE) ? blocks : 1;
	f = calloc((size_t)threads * together, sizeof(*f));
	bl = calloc(blocks, sizeof(*bl));
	stacks = malloc((size_t)threads * together * STACK);
	if (!f || !bl || !stacks)
		abort();
	for (i = 0; i < blocks; i++) {
		size_t at = (size_t)(together > 1 ? i : 0) * threads;

		make_block(f + at, bl + i, stacks + at * STACK, i);
		if (together == 1)
			run_fibers(f, threads);
	}
	if (together > 1)
		run_fibers(f, threads * together);
	free(f);
	free(bl);
	free(stacks);
}
