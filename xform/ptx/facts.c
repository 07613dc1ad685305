// SPDX-License-Identifier: MIT
/*
 * Facts about functions.
 *
 * A fact goes from a function to its callers until nothing changes; as facts only
 * get more, that is work in proportion to calls times facts. An indirect call goes
 * to a function that stands for all whose address is taken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

struct walk {
	struct module_facts *mf;
	const struct ptx_module *m;
	struct function_facts *f;
	const uint32_t *outside;
	uint32_t line;
};

static void note(struct walk *w, uint32_t fact)
{
	if (!(w->f->own & FACT(fact))) {
		w->f->own |= FACT(fact);
		w->f->line[fact] = w->line;
	}
}

bool barrier_counts(const struct ptx_module *m, const struct ptx_stmt *s)
{
	return s->n_args > (ptx_has_mod(ptx_opcode(m, s), "red") ? 3 : 1);
}

enum barrier_kind barrier_kind(const struct ptx_module *m, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(m, s);
	bool reduces = ptx_has_mod(o, "red");
	const struct ptx_operand *a = ptx_arg(m, s, reduces ? 1 : 0), *value = ptx_arg(m, s, 2);

	if (!a || a->kind != PTX_INT)
		return BARRIER_AWKWARD;
	if (barrier_counts(m, s))
		return a->imm ? BARRIER_HARMLESS : BARRIER_AWKWARD;
	if (a->imm || ptx_has_mod(o, "arrive"))
		return BARRIER_AWKWARD;
	if (reduces && (ptx_arg(m, s, 0)->kind != PTX_REG || !value || value->kind != PTX_REG))
		return BARRIER_AWKWARD;		/* of a constant, which the assembler takes */
	return reduces ? BARRIER_REDUCING : BARRIER_PLAIN;
}

/*
 * Threads that pass a barrier without the others could be at the end of their block's
 * work, in our barrier 0, while those are still in this one, if it is 0. And who only
 * arrives may do so for nobody, as when a block's last buffer is given back: to the
 * hardware that ends with the block, but a worker's next block would find it.
 */
static bool barrier_of_a_part(const struct ptx_module *m, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(m, s);
	const struct ptx_operand *a = ptx_arg(m, s, ptx_has_mod(o, "red") ? 1 : 0);

	return ptx_has_mod(o, "arrive") ||
	       (barrier_counts(m, s) && (a->kind != PTX_INT || !a->imm));
}

static void special_register(struct walk *w, const struct ptx_operand *o, bool understood)
{
	uint32_t base;

	switch (o->ref) {
	case PTX_SR_ctaid:
	case PTX_SR_nctaid:
		base = o->ref == PTX_SR_ctaid ? READS_CTAID : READS_NCTAID;
		if (!understood)
			note(w, F_SPECIAL_USE);
		if (o->component >= 'x' && o->component <= 'z') {
			note(w, base + o->component - 'x');
		} else if (!o->component) {
			note(w, base);
			note(w, base + 1);
			note(w, base + 2);
		} else {
			note(w, F_SPECIAL_USE);	/* .w */
		}
		break;
	case PTX_SR_gridid:
		note(w, understood ? (uint32_t)READS_GRIDID : F_SPECIAL_USE);
		break;
	case PTX_SR_envreg:
		note(w, F_GRID_SYNC);
		break;
	case PTX_SR_is_explicit_cluster:
	case PTX_SR_clusterid:
	case PTX_SR_nclusterid:
	case PTX_SR_cluster_ctaid:
	case PTX_SR_cluster_nctaid:
	case PTX_SR_cluster_ctarank:
	case PTX_SR_cluster_nctarank:
		note(w, F_CLUSTER);
		break;
	case PTX_SR_OTHER:
		note(w, F_UNKNOWN);
		break;
	default:
		break;
	}
}

static void operand(struct walk *w, const struct ptx_operand *o, bool understood, int depth)
{
	const struct ptx_variable *v;
	uint32_t i;

	switch (o->kind) {
	case PTX_SPECIAL:
		special_register(w, o, understood);
		break;
	case PTX_VARIABLE:
	case PTX_INDEX:
		v = o->ref < w->m->n_vars ? &w->m->vars[o->ref] : NULL;
		if (v && v->space == PTX_SPACE_SHARED && v->linkage & PTX_EXTERN)
			note(w, F_DYNAMIC_SHARED);
		break;
	case PTX_FUNCTION:
		note(w, F_FUNCTION);
		break;
	default:
		break;
	}
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		operand(w, &w->m->operands[o->child + i], false, depth + 1);
}

/* The forms in which nvcc and the documents read a special register. */
static bool reads_understood(const struct ptx_module *m, const struct ptx_stmt *s,
			     const struct ptx_opcode *o)
{
	const struct ptx_operand *to = ptx_arg(m, s, 0), *from = ptx_arg(m, s, 1);
	uint32_t i;

	if (s->n_args != 2 || (o->op != PTX_OP_mov && o->op != PTX_OP_cvt) || from->not ||
	    from->neg || from->imm)
		return false;
	if (to->kind == PTX_REG)
		return (from->component || from->ref == PTX_SR_gridid) && !to->component;
	if (to->kind != PTX_VECTOR || from->component || o->op != PTX_OP_mov ||
	    to->n_children > 4 || from->ref == PTX_SR_gridid)
		return false;
	for (i = 0; i < to->n_children; i++)
		if (m->operands[to->child + i].kind != PTX_REG &&
		    m->operands[to->child + i].kind != PTX_SINK)
			return false;
	return true;
}

static bool begins(const struct ptx_symbol *s, const char *prefix)
{
	size_t len = strlen(prefix);

	return s->len >= len && !memcmp(s->s, prefix, len);
}

/* Bodies that the driver links in, and that neither see the grid nor wait. */
static bool is_system_call(const struct ptx_module *m, uint32_t sym)
{
	static const char *const names[] = { "vprintf", "malloc", "free", "__assertfail",
					     "__assert_fail" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ptx_is(m, sym, names[i]))
			return true;
	return false;
}

/* Another module has its body, and that is one that can be called as it is. */
static bool is_outside(const struct walk *w, uint32_t function)
{
	return w->outside && (w->outside[function] & (FACT(F_OUTSIDE) | FACT(F_EXTERN))) ==
			     FACT(F_OUTSIDE);
}

/* Nobody knows what is called. */
static bool is_unknown(const struct walk *w, uint32_t function)
{
	const struct ptx_function *f = &w->m->functions[function];

	return !f->has_body && !is_system_call(w->m, f->sym) && !is_outside(w, function);
}

static int add_call(struct walk *w, uint32_t callee)
{
	struct module_facts *mf = w->mf;
	uint32_t *bigger;

	if (w->f->n_calls && mf->calls[mf->n_calls - 1] == callee)
		return 0;
	if (mf->n_calls == mf->cap_calls) {
		bigger = realloc(mf->calls, (size_t)(mf->cap_calls * 2 + 16) * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		mf->calls = bigger;
		mf->cap_calls = mf->cap_calls * 2 + 16;
	}
	mf->calls[mf->n_calls++] = callee;
	w->f->n_calls++;
	return 0;
}

static int call(struct walk *w, const struct ptx_stmt *s)
{
	uint32_t callee = ptx_call_target(w->m, s);
	const struct ptx_function *f;
	const struct ptx_symbol *sym;

	note(w, F_CALLS);
	if (callee == PTX_NONE) {
		note(w, F_INDIRECT);
		return add_call(w, w->mf->indirect);
	}
	f = &w->m->functions[callee];
	sym = &w->m->syms[f->sym];
	if (!f->has_body && (begins(sym, "cuda") || begins(sym, "__cuda")))
		note(w, F_DEVICE_LAUNCH);
	else if (is_unknown(w, callee))
		note(w, F_EXTERN);
	else if (is_outside(w, callee))
		note(w, F_OUTSIDE);
	return add_call(w, callee);
}

static int instruction(struct walk *w, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(w->m, s);
	bool understood = reads_understood(w->m, s, o);
	enum barrier_kind kind;
	uint32_t i;

	for (i = 0; i < s->n_args; i++) {
		const struct ptx_operand *a = ptx_arg(w->m, s, i);

		if (o->op != PTX_OP_call || a->kind != PTX_FUNCTION)	/* whom it calls */
			operand(w, a, understood && i, 0);
	}
	if (o->class & PTX_WARP)
		note(w, F_WARP);
	if (o->class & PTX_TEXTURE)
		note(w, F_TEXTURES);
	if (looks_at_memory(o))
		note(w, F_LOOKS);
	if (state_is_odd(w->m, s))
		note(w, F_STATE);
	switch (o->op) {
	case PTX_OP_OTHER:
		note(w, F_UNKNOWN);
		break;
	case PTX_OP_call:
		return call(w, s);
	case PTX_OP_exit:
		note(w, F_EXIT);
		break;
	case PTX_OP_alloca:
		note(w, F_ALLOCA);
		break;
	case PTX_OP_atom:
	case PTX_OP_red:
		if (o->space != PTX_SPACE_SHARED)
			note(w, F_ATOMICS);
		break;
	case PTX_OP_mapa:
	case PTX_OP_getctarank:
	case PTX_OP_clusterlaunchcontrol:
		note(w, F_CLUSTER);
		break;
	case PTX_OP_cp:
		note(w, ptx_has_mod(o, "bulk") ? F_ASYNC_STATE : F_COPIES);
		break;
	case PTX_OP_bar:
	case PTX_OP_barrier:
		if (ptx_has_mod(o, "cluster"))
			note(w, F_CLUSTER);
		if (!(o->class & PTX_BARRIER))
			break;
		kind = barrier_kind(w->m, s);
		if (kind != BARRIER_HARMLESS)
			note(w, F_BARRIER);
		if (kind == BARRIER_REDUCING)
			note(w, F_BARRIER_REDUCES);
		if (kind == BARRIER_AWKWARD)
			note(w, F_BARRIER_FORM);
		if (barrier_of_a_part(w->m, s))
			note(w, F_BARRIER_PART);
		break;
	default:
		if (o->class & PTX_ASYNC)
			note(w, F_ASYNC_STATE);
		break;
	}
	return 0;
}

static int scan(struct walk *w, const struct ptx_function *f)
{
	uint32_t i;
	int err;

	w->f->first_call = w->mf->n_calls;
	w->line = f->line;
	for (i = 0; w->outside && i < FACTS; i++)
		if (w->outside[f - w->m->functions] & FACT(i))
			note(w, i);
	for (i = f->body; i < f->body + f->n_body; i++) {
		const struct ptx_stmt *s = &w->m->stmts[i];

		w->line = s->line;
		if (s->kind == PTX_INSTR) {
			err = instruction(w, s);
			if (err)
				return err;
		} else if (s->kind == PTX_UNKNOWN) {
			note(w, F_UNKNOWN);
		} else if (s->kind == PTX_DECL && s->ref != PTX_NONE &&
			   (w->m->vars[s->ref].space == PTX_SPACE_GLOBAL ||
			    w->m->vars[s->ref].space == PTX_SPACE_CONST)) {
			note(w, F_UNKNOWN);	/* a copy of the body would own another */
		}
	}
	w->f->all = w->f->own;
	return 0;
}

/* callers[]: for function i those between n_callers[i] and n_callers[i + 1] */
static int turn_round(struct module_facts *mf, uint32_t n)
{
	uint32_t i, k;

	mf->n_callers = calloc((size_t)n + 2, sizeof(uint32_t));
	mf->callers = calloc((size_t)mf->n_calls + 1, sizeof(uint32_t));
	if (!mf->n_callers || !mf->callers)
		return -ENOMEM;
	for (i = 0; i < mf->n_calls; i++)
		mf->n_callers[mf->calls[i] + 2]++;
	for (i = 0; i < n; i++)
		mf->n_callers[i + 2] += mf->n_callers[i + 1];
	for (i = 0; i < n; i++)
		for (k = 0; k < mf->f[i].n_calls; k++)
			mf->callers[mf->n_callers[mf->calls[mf->f[i].first_call + k] + 1]++] = i;
	return 0;
}

static int carry(struct module_facts *mf, uint32_t n)
{
	uint32_t *queue = malloc((size_t)n * sizeof(*queue)), head = 0, count = n, i, k, b;
	uint8_t *queued = malloc(n);

	if (!queue || !queued) {
		free(queue);
		free(queued);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		queue[i] = i;
	memset(queued, 1, n);
	while (count) {
		struct function_facts *f = &mf->f[queue[head]];

		i = queue[head];
		head = (head + 1) % n;
		count--;
		queued[i] = 0;
		for (k = mf->n_callers[i]; k < mf->n_callers[i + 1]; k++) {
			struct function_facts *to = &mf->f[mf->callers[k]];
			uint32_t more = f->all & ~to->all;

			if (!more)
				continue;
			to->all |= more;
			for (b = 0; b < FACTS; b++)
				if (more & FACT(b))
					to->line[b] = f->line[b];
			if (!queued[mf->callers[k]]) {
				queue[(head + count++) % n] = mf->callers[k];
				queued[mf->callers[k]] = 1;
			}
		}
	}
	free(queue);
	free(queued);
	return 0;
}

int facts_find(struct module_facts *mf, const struct ptx_module *m, const uint32_t *outside)
{
	struct walk w = { .mf = mf, .m = m, .outside = outside };
	uint32_t i, n = m->n_functions + 1;
	int err;

	memset(mf, 0, sizeof(*mf));
	mf->indirect = m->n_functions;
	mf->f = calloc(n, sizeof(*mf->f));
	if (!mf->f)
		return -ENOMEM;
	for (i = 0; i < m->n_functions; i++) {
		w.f = &mf->f[i];
		err = scan(&w, &m->functions[i]);
		if (err)
			return err;
	}
	w.f = &mf->f[mf->indirect];
	w.f->first_call = mf->n_calls;
	for (i = 0; i < m->n_functions; i++) {
		if (!m->functions[i].address_taken || m->functions[i].entry)
			continue;
		err = add_call(&w, i);
		if (err)
			return err;
		if (is_unknown(&w, i)) {
			w.line = m->functions[i].line;
			note(&w, F_EXTERN);
			w.f->all |= FACT(F_EXTERN);
		}
	}
	err = turn_round(mf, n);
	if (!err)
		err = carry(mf, n);
	/* What a loop calls may be what looks at memory, so this comes behind. */
	for (i = 0; i < m->n_functions && !err; i++) {
		w.f = &mf->f[i];
		err = waits_find(mf, m, i, &w.line);
		if (err <= 0)
			continue;
		note(&w, F_WAITS);
		w.f->all |= FACT(F_WAITS);
		err = 0;
	}
	return err ? err : carry(mf, n);
}

void facts_free(struct module_facts *mf)
{
	free(mf->f);
	free(mf->calls);
	free(mf->callers);
	free(mf->n_callers);
	memset(mf, 0, sizeof(*mf));
}
