// SPDX-License-Identifier: MIT
/* A thread's life: waiting and waking, calls and returns, addresses, faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exec.h"
#include "memory.h"

void thread_fault(struct thread *t, const struct insn *i, enum fault fault, const char *fmt, ...)
{
	struct grid *g = t->b->g;
	char what[300];
	va_list ap;

	if (g->fault)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	g->fault = fault;
	snprintf(dev.fault_text, sizeof(dev.fault_text),
		 "%s, line %u: thread (%u, %u, %u) of block (%u, %u, %u): %s",
		 t->frames[t->depth].f->name, i ? i->line : 0, t->tid[0], t->tid[1], t->tid[2],
		 t->b->id[0], t->b->id[1], t->b->id[2], what);
}

static void set_ready(struct thread *t, bool ready)
{
	struct block *b = t->b;
	uint32_t bit = 1u << t->lane, *w = &b->ready[t->linear / 32];

	if (ready == !!(*w & bit))
		return;
	*w ^= bit;
	b->n_ready += ready ? 1 : -1;
}

void thread_wait(struct thread *t, const struct insn *i, enum thread_state s)
{
	t->wait = i;
	t->state = s;
	set_ready(t, false);
}

void thread_wake(struct thread *t)
{
	t->state = T_READY;
	t->wait = NULL;
	set_ready(t, true);
}

void thread_end(struct thread *t)
{
	struct block *b = t->b;
	uint32_t k;

	set_ready(t, false);
	t->state = T_DONE;
	b->alive--;
	/* whoever waits for this one waits no longer */
	for (k = 0; k < 16; k++)
		if (b->bar[k].arrived)
			barrier_check(b, k);
	for (k = 0; k < 32 && t->linear - t->lane + k < b->n_threads; k++)
		if (t[(int)k - t->lane].state == T_WARP)
			warp_check(&t[(int)k - t->lane]);
	if (b->cluster) {
		b->cluster->alive--;
		b->cluster->arrived -= t->in_cluster && t->phase == b->cluster->phase;
		cluster_check(b->cluster);
	}
}

static void barrier_result(struct thread *t, const struct barrier *bar)
{
	const struct insn *i = t->wait;

	if (i->fn != exec_barred)
		return;
	if (i->op == B_POPC)
		put(t, &i->a[0], PTX_T_U32, bar->votes);
	else
		put(t, &i->a[0], PTX_T_PRED, i->op == B_AND ? bar->votes == bar->voters :
		    bar->votes != 0);
}

/* Without a count the barrier is for all threads that haven't ended. */
void barrier_check(struct block *b, uint32_t id)
{
	struct barrier *bar = &b->bar[id], done;
	uint32_t k;

	if (!bar->arrived || bar->arrived < (bar->counted ? bar->expected : b->alive))
		return;
	done = *bar;
	memset(bar, 0, sizeof(*bar));
	for (k = 0; k < b->n_threads; k++) {
		if (b->t[k].state != T_BARRIER || b->t[k].barrier != id)
			continue;
		barrier_result(&b->t[k], &done);
		thread_wake(&b->t[k]);
	}
}

void warp_check(struct thread *t)
{
	uint32_t mask = t->mask, lanes = 0, k, first = t->linear - t->lane;
	struct thread *w = t - t->lane;

	for (k = 0; k < 32; k++) {
		if (!(mask >> k & 1) || first + k >= t->b->n_threads || w[k].state == T_DONE)
			continue;
		if (w[k].state != T_WARP || w[k].mask != mask || w[k].wait->fn != t->wait->fn)
			return;
		lanes |= 1u << k;
	}
	warp_finish(t, lanes);
}

void cluster_check(struct cluster *c)
{
	uint32_t k, n;

	if (!c->arrived || c->arrived < c->alive)
		return;
	c->arrived = 0;
	c->phase++;
	for (k = 0; k < c->n; k++)
		for (n = 0; c->member[k] && n < c->member[k]->n_threads; n++)
			if (c->member[k]->t[n].state == T_CLUSTER)
				thread_wake(&c->member[k]->t[n]);
}

static bool more_regs(struct thread *t, uint32_t need)
{
	uint32_t cap = need * 2 + 64;
	uint64_t *r;

	if (need <= t->cap_regs)
		return true;
	/* the first ones lie in the block's slab, which isn't ours to grow */
	r = malloc(cap * sizeof(*r));
	if (!r)
		return false;
	memcpy(r, t->regs, t->n_regs * sizeof(*r));
	memset(r + t->n_regs, 0x5a, (cap - t->n_regs) * sizeof(*r));
	if (t->cap_regs > t->b->g->f->n_regs)
		free(t->regs);
	t->regs = r;
	t->cap_regs = cap;
	return true;
}

static void copy_value(struct thread *t, uint8_t *to, const struct opnd *o, uint32_t size)
{
	uint64_t v;

	if (o->kind == K_FRAME) {
		memcpy(to, t->local + t->base + o->imm, size);
	} else {
		v = val(t, o);
		memcpy(to, &v, size < 8 ? size : 8);
	}
}

bool thread_call(struct thread *t, const struct insn *i, const struct call *c, struct func *f)
{
	uint32_t base = (t->top + 15) & ~15u, k, regs = t->n_regs, n;
	struct frame *frames;

	if (base + f->frame > dev.stack_bytes || t->depth > 20000) {
		thread_fault(t, i, FAULT_STACK, "the stack of %u bytes is full at depth %u",
			     dev.stack_bytes, t->depth);
		return false;
	}
	for (k = 0; k < c->n_args && k < f->n_params; k++) {
		n = c->args[k].size < f->param_size[k] ? c->args[k].size : f->param_size[k];
		copy_value(t, t->local + base + f->param_offset[k], &c->args[k].here, n);
	}
	if (t->depth + 1 >= t->cap_frames) {
		frames = realloc(t->frames, (t->cap_frames + 8) * 2 * sizeof(*frames));
		if (!frames) {
			thread_fault(t, i, FAULT_MEMORY, "no memory for a call");
			return false;
		}
		t->frames = frames;
		t->cap_frames = (t->cap_frames + 8) * 2;
	}
	if (!more_regs(t, regs + f->n_regs)) {
		thread_fault(t, i, FAULT_MEMORY, "no memory for registers");
		return false;
	}
	t->frames[++t->depth] = (struct frame){ t->pc, c, f, regs, base };
	t->n_regs = regs + f->n_regs;
	t->r = t->regs + regs;
	t->base = base;
	t->top = base + f->frame;
	t->pc = f->code;
	return true;
}

void thread_return(struct thread *t, const struct insn *i)
{
	struct frame done = t->frames[t->depth--], *back = &t->frames[t->depth];
	const struct call *c = done.call;
	uint32_t k, n;

	(void)i;
	t->r = t->regs + back->regs;
	t->base = back->base;
	t->n_regs = done.regs;
	t->top = done.base;
	for (k = 0; k < c->n_rets && k < done.f->n_rets; k++) {
		const uint8_t *from = t->local + done.base + done.f->ret_offset[k];
		uint64_t v = 0;

		n = c->rets[k].size < done.f->ret_size[k] ? c->rets[k].size : done.f->ret_size[k];
		if (c->rets[k].here.kind == K_FRAME) {
			memmove(t->local + t->base + c->rets[k].here.imm, from, n);
		} else {
			memcpy(&v, from, n < 8 ? n : 8);
			put(t, &c->rets[k].here, PTX_T_B64, v);
		}
	}
	t->pc = done.ret;
}

struct block *shared_owner(struct thread *t, uint64_t addr)
{
	struct block *b = t->b;
	struct cluster *c = b->cluster;
	uint32_t k;

	if (addr - (uint64_t)(uintptr_t)b->shared < b->g->shared_bytes)
		return b;
	for (k = 0; c && k < c->n; k++)
		if (c->member[k] &&
		    addr - (uint64_t)(uintptr_t)c->member[k]->shared < b->g->shared_bytes)
			return c->member[k];
	return NULL;
}

/* The gap between static and dynamic shared memory is nobody's. */
static bool shared_ok(const struct grid *g, uint64_t off, uint32_t size)
{
	uint32_t dynamic = g->shared_bytes - g->dynamic;

	if (off < dynamic && off + size > g->f->static_shared)
		return false;
	return off <= g->shared_bytes && size <= g->shared_bytes - off;
}

static void bad_address(struct thread *t, const struct insn *i, uint64_t addr, uint32_t size,
			const char *space)
{
	struct mem_block *near = mem_find(addr);

	thread_fault(t, i, FAULT_ADDRESS, "%u bytes at 0x%llx of %s memory: %s", size,
		     (unsigned long long)addr, space, near ? "the end lies outside" :
		     "nothing is there");
}

/* What may go to global memory. A bulk copy from there goes to shared memory. */
static bool writes(const struct insn *i)
{
	return i->fn == exec_st || i->fn == exec_atom || i->fn == exec_wmma_store ||
		(i->fn == exec_bulk && i->space == PTX_SPACE_GLOBAL);
}

/* Device memory, or the host's that is mapped, as far as this kernel may go. */
static uint8_t *memory_at(struct thread *t, const struct insn *i, uint64_t addr, uint32_t size,
			  const char *space)
{
	const struct grid *g = t->b->g;
	uint8_t *p = mem_host(addr, size);
	const struct mem_block *b;

	if (!p) {
		bad_address(t, i, addr, size, space);
		return NULL;
	}
	b = mem_find(addr);
	if (b->kind == MEM_MAPPED ? !(b->seen_by >> g->device & 1) : !(b->seen_by & g->sees)) {
		thread_fault(t, i, FAULT_ADDRESS, "0x%llx is memory that device %u can't reach",
			     (unsigned long long)addr, g->device);
		return NULL;
	}
	if (b->read_only >> g->device & 1 && i && writes(i)) {
		thread_fault(t, i, FAULT_ADDRESS, "0x%llx is memory that may only be read",
			     (unsigned long long)addr);
		return NULL;
	}
	if (dev.touched && i)
		dev.touched(t, i, addr, size);
	return p;
}

uint8_t *generic_at(struct thread *t, const struct insn *i, uint64_t addr, uint32_t size)
{
	struct grid *g = t->b->g;
	struct block *b = shared_owner(t, addr);
	uint64_t off;

	if (b) {
		off = addr - (uint64_t)(uintptr_t)b->shared;
		if (shared_ok(g, off, size))
			return b->shared + off;
		bad_address(t, i, addr, size, "shared");
		return NULL;
	}
	off = addr - (uint64_t)(uintptr_t)t->local;
	if (t->local && off < dev.stack_bytes && size <= dev.stack_bytes - off)
		return t->local + off;
	off = addr - (uint64_t)(uintptr_t)g->params;
	if (off < g->f->param_bytes && size <= g->f->param_bytes - off)
		return g->params + off;
	return memory_at(t, i, addr, size, "generic");
}

static uint8_t *shared_at(struct thread *t, const struct insn *i, uint64_t addr, uint32_t size)
{
	struct block *b = t->b;
	uint32_t rank = addr >> 24 & 255, off = addr & 0xffffff;

	if (rank) {
		b = b->cluster && rank <= b->cluster->n ? b->cluster->member[rank - 1] : NULL;
		if (!b) {
			bad_address(t, i, addr, size, "the cluster's shared");
			return NULL;
		}
	}
	if ((uint32_t)addr != addr || !shared_ok(b->g, off, size)) {
		bad_address(t, i, addr, size, "shared");
		return NULL;
	}
	return b->shared + off;
}

static uint8_t *find_space(struct thread *t, const struct insn *i, const struct opnd *o,
			   unsigned int space, uint64_t addr, uint32_t size)
{
	if (o->kind == K_FRAME) {
		addr = t->base + o->imm;
		space = PTX_SPACE_LOCAL;
	}
	switch (space) {
	case PTX_SPACE_SHARED:
		return shared_at(t, i, addr, size);
	case PTX_SPACE_LOCAL:
		if (t->local && addr < dev.stack_bytes && size <= dev.stack_bytes - addr)
			return t->local + addr;
		bad_address(t, i, addr, size, "local");
		return NULL;
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
		return memory_at(t, i, addr, size, "global");
	default:
		if (o->kind == K_SHARED || o->kind == K_DYNAMIC)
			return shared_at(t, i, addr, size);
		return generic_at(t, i, addr, size);
	}
}

uint8_t *range_at(struct thread *t, const struct insn *i, const struct opnd *o, unsigned int space,
		  uint32_t size, uint32_t align)
{
	uint64_t addr = opnd_slow(t, o);
	uint8_t *p;

	if (o->base_reg && o->size == 4)
		addr = (uint32_t)addr;
	p = find_space(t, i, o, space, addr, size);
	if (p && addr & (align - 1)) {
		thread_fault(t, i, FAULT_MISALIGNED, "%u bytes at 0x%llx, which isn't a multiple",
			     size, (unsigned long long)addr);
		return NULL;
	}
	return p;
}

uint8_t *access_at(struct thread *t, const struct insn *i, const struct opnd *o, unsigned int space,
		   uint32_t size)
{
	return range_at(t, i, o, space, size, size);
}

/* A string ends before its memory does. */
const char *string_at(struct thread *t, const struct insn *i, uint64_t addr)
{
	uint64_t k = 0;
	uint8_t *p;

	do {
		p = generic_at(t, i, addr + k, 1);
	} while (p && *p && ++k);
	return p ? (const char *)p - k : NULL;
}
