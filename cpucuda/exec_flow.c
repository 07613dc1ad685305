// SPDX-License-Identifier: MIT
/* Branches, calls, barriers, and the few functions of the device's own library. */
#include <stdio.h>
#include <string.h>
#include "exec.h"
#include "memory.h"

static const struct func *func_of(const struct thread *t)
{
	return t->frames[t->depth].f;
}

void exec_bra(struct thread *t, const struct insn *i)
{
	t->pc = func_of(t)->code + i->target;
}

void exec_brx(struct thread *t, const struct insn *i)
{
	uint64_t k = (uint32_t)val(t, &i->a[0]);
	const struct func *f = func_of(t);

	if (k >= i->a[1].imm) {
		thread_fault(t, i, FAULT_INSTRUCTION, "brx.idx %llu of %llu targets",
			     (unsigned long long)k, (unsigned long long)i->a[1].imm);
		return;
	}
	t->pc = f->code + f->targets[i->target + k];
}

void exec_ret(struct thread *t, const struct insn *i)
{
	if (t->depth)
		thread_return(t, i);
	else
		thread_end(t);
}

void exec_exit(struct thread *t, const struct insn *i)
{
	(void)i;
	thread_end(t);
}

void exec_trap(struct thread *t, const struct insn *i)
{
	thread_fault(t, i, FAULT_TRAP, "trap");
}

void exec_call(struct thread *t, const struct insn *i)
{
	const struct call *c = &func_of(t)->calls[i->target];
	struct func *f = c->callee;

	if (c->builtin) {
		c->builtin(t, i);
		return;
	}
	if (!f)
		f = func_at(val(t, &c->pointer));
	if (!f || !f->has_body) {
		thread_fault(t, i, FAULT_INSTRUCTION, "a call to nowhere (%s)",
			     f ? f->name : "through a pointer");
		return;
	}
	thread_call(t, i, c, f);
}

/* bar.sync, barrier.sync: a, then a count of threads */
static struct barrier *arrive(struct thread *t, const struct insn *i, uint32_t *id, bool votes)
{
	struct barrier *b;

	*id = val(t, &i->a[votes]);
	if (*id > 15) {
		thread_fault(t, i, FAULT_INSTRUCTION, "there is no barrier %u", *id);
		return NULL;
	}
	b = &t->b->bar[*id];
	if (!b->arrived)
		b->votes = b->voters = b->counted = 0;
	if (i->flags & F_COUNT) {
		b->counted = true;
		b->expected = val(t, &i->a[votes + 1]);
	}
	b->arrived++;
	return b;
}

void exec_bar(struct thread *t, const struct insn *i)
{
	uint32_t id;

	if (!arrive(t, i, &id, false))
		return;
	t->barrier = id;
	thread_wait(t, i, T_BARRIER);
	barrier_check(t->b, id);
}

void exec_arrive(struct thread *t, const struct insn *i)
{
	uint32_t id;

	if (arrive(t, i, &id, false))
		barrier_check(t->b, id);
}

void exec_barred(struct thread *t, const struct insn *i)
{
	const struct opnd *p = &i->a[i->flags & F_COUNT ? 3 : 2];
	struct barrier *b;
	uint32_t id;

	b = arrive(t, i, &id, true);
	if (!b)
		return;
	b->voters++;
	b->votes += val(t, p) & 1;
	t->barrier = id;
	thread_wait(t, i, T_BARRIER);
	barrier_check(t->b, id);
}

/* A cluster's barrier has two halves; a phase ends when all threads have arrived. */
void exec_cluster_arrive(struct thread *t, const struct insn *i)
{
	struct cluster *c = t->b->cluster;

	(void)i;
	if (!c)
		return;
	t->phase = c->phase;
	t->in_cluster = true;
	c->arrived++;
	cluster_check(c);
}

void exec_cluster_wait(struct thread *t, const struct insn *i)
{
	struct cluster *c = t->b->cluster;

	if (c && t->in_cluster && c->phase == t->phase)
		thread_wait(t, i, T_CLUSTER);
}

/* vprintf(format, arguments): each argument at its natural place in the buffer, @at */
static void print_one(FILE *f, const char *spec, size_t len, uint64_t *at, struct thread *t,
		      const struct insn *i)
{
	char fmt[32], conv = spec[len - 1];
	bool wide = memchr(spec, 'l', len) || memchr(spec, 'z', len) || memchr(spec, 'j', len);
	uint32_t size = strchr("dixXuoc", conv) && !wide ? 4 : 8;
	const uint8_t *arg;
	const char *s;
	uint64_t v = 0;
	double d;

	if (len >= sizeof(fmt) || !strchr("dixXuocpseEfFgGaA", conv)) {
		fwrite(spec, 1, len, f);
		return;
	}
	memcpy(fmt, spec, len);
	fmt[len] = 0;
	*at = (*at + size - 1) & ~(uint64_t)(size - 1);
	arg = generic_at(t, i, *at, size);
	if (!arg)
		return;
	memcpy(&v, arg, size);
	*at += size;
	if (size == 4) {
		fprintf(f, fmt, (int)v);
	} else if (conv == 's') {
		s = string_at(t, i, v);
		if (s)
			fprintf(f, fmt, s);
	} else if (strchr("eEfFgGaA", conv)) {
		memcpy(&d, &v, 8);
		fprintf(f, fmt, d);
	} else {
		fprintf(f, fmt, v);
	}
}

static uint64_t call_arg(struct thread *t, const struct call *c, uint32_t k)
{
	uint64_t v = 0;

	if (k >= c->n_args)
		return 0;
	if (c->args[k].here.kind != K_FRAME)
		return val(t, &c->args[k].here);
	memcpy(&v, t->local + t->base + c->args[k].here.imm, c->args[k].size > 8 ? 8 :
	       c->args[k].size);
	return v;
}

static void call_ret(struct thread *t, const struct call *c, uint64_t v)
{
	if (!c->n_rets)
		return;
	if (c->rets[0].here.kind == K_FRAME)
		memcpy(t->local + t->base + c->rets[0].here.imm, &v, c->rets[0].size > 8 ? 8 :
		       c->rets[0].size);
	else
		put(t, &c->rets[0].here, PTX_T_B64, v);
}

void exec_printf(struct thread *t, const struct insn *i)
{
	const struct call *c = &func_of(t)->calls[i->target];
	uint64_t at = call_arg(t, c, 1);
	const char *p = string_at(t, i, call_arg(t, c, 0)), *end;

	for (; p && *p; p = end) {
		end = p + 1;
		if (*p != '%') {
			putc(*p, stdout);
			continue;
		}
		end += strspn(end, "-+ #0123456789.lhzj");
		if (!*end)
			break;
		end++;
		if (end[-1] == '%')
			putc('%', stdout);
		else if (at)
			print_one(stdout, p, end - p, &at, t, i);
	}
	call_ret(t, c, 0);
}

/* __assertfail(message, file, line, function, width) */
void exec_assertfail(struct thread *t, const struct insn *i)
{
	const struct call *c = &func_of(t)->calls[i->target];
	const char *text = string_at(t, i, call_arg(t, c, 0));
	const char *file = string_at(t, i, call_arg(t, c, 1));

	if (text && file)
		thread_fault(t, i, FAULT_ASSERT, "%s:%u: assertion `%s' failed", file,
			     (unsigned int)call_arg(t, c, 2), text);
}

void exec_malloc(struct thread *t, const struct insn *i)
{
	const struct call *c = &func_of(t)->calls[i->target];
	uint64_t size = call_arg(t, c, 0);
	struct mem_block *b = mem_alloc(t->b->g->device, size ? size : 1, MEM_DEVICE,
					&dev);

	call_ret(t, c, b ? b->addr : 0);
}

void exec_free(struct thread *t, const struct insn *i)
{
	const struct call *c = &func_of(t)->calls[i->target];
	uint64_t addr = call_arg(t, c, 0);
	struct mem_block *b = mem_find(addr);

	if (!addr)
		return;
	if (b && b->addr == addr && b->owner == &dev)
		mem_free(b);
	else
		thread_fault(t, i, FAULT_ADDRESS, "free of 0x%llx, which malloc hasn't given",
			     (unsigned long long)addr);
}

exec_fn builtin_named(const char *name)
{
	static const struct { const char *name; exec_fn fn; } table[] = {
		{ "vprintf", exec_printf }, { "__assertfail", exec_assertfail },
		{ "malloc", exec_malloc }, { "free", exec_free },
	};
	size_t k;

	for (k = 0; k < sizeof(table) / sizeof(*table); k++)
		if (!strcmp(table[k].name, name))
			return table[k].fn;
	return NULL;
}
