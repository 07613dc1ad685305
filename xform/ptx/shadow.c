// SPDX-License-Identifier: MIT
/*
 * A shadow: the variants, in a module that is loaded beside the original's.
 *
 * Of the original's text it has all but the kernels, which nobody launches there, the
 * variables in global memory, which stay the original's, and debug sections, which
 * speak of what is gone. Device functions stay, since variants call them, and name
 * variables through the table as the variants do. Constants stay as well, without
 * initial values: those may hold addresses, and are copied from the original anyway.
 *
 * The table is in constant memory if it has room there, as the compiler's own table of
 * such addresses is: then a name costs what it costs in the original.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform.h"

#define CONSTANT_BYTES	65536u

/* A stretch of the original's text that doesn't stay as it is. */
struct hole {
	uint32_t begin, end;
	uint32_t function;	/* PTX_NONE: a declaration */
	uint32_t var;		/* the first it declares */
};

/* Of the original, in the shadow: device functions, and kernels whose names are used. */
static bool is_kept(const struct job *j, uint32_t function)
{
	const struct ptx_function *f = &j->m->functions[function];

	return f->has_body && (!f->entry || f->address_taken) &&
	       !(j->facts.f[function].all & FACT(F_STATE));
}

static void take_slots(struct job *j, uint32_t function)
{
	const struct ptx_function *f = &j->m->functions[function];
	uint32_t i;

	for (i = f->first_operand; i < f->first_operand + f->n_operands; i++)
		if (state_named(j->m, &j->m->operands[i]))
			j->slot[j->m->operands[i].ref] = 1;
}

/* One that the shadow has a copy of. */
static bool is_constant(const struct ptx_variable *v)
{
	return v->function == PTX_NONE && v->space == PTX_SPACE_CONST && v->size &&
	       !(v->linkage & PTX_EXTERN);
}

static bool is_listed(const struct job *j, uint32_t var)
{
	return j->slot[var] || is_constant(&j->m->vars[var]);
}

static int list(struct job *j, struct gsx_result *res)
{
	const struct ptx_module *m = j->m;
	struct gsx_variable *all;
	uint64_t constants = 0;
	uint32_t i, n = 0;

	for (i = 0; i < m->n_vars; i++)
		n += is_listed(j, i);
	all = pool_get(j->pool, (n + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (i = 0; i < m->n_vars; i++) {
		const struct ptx_variable *v = &m->vars[i];
		const struct ptx_symbol *s = &m->syms[v->sym];
		struct gsx_variable *to = &all[res->n_variables];

		if (!is_listed(j, i))
			continue;
		to->name = pool_text(j->pool, "%.*s", (int)s->len, s->s);
		if (!to->name)
			return -ENOMEM;
		to->size = v->size;
		to->slot = GSX_CONSTANT;
		to->local = !v->linkage;
		if (j->slot[i]) {
			to->slot = j->n_slots++;
			j->slot[i] = j->n_slots;
		} else {
			constants = ((constants + v->align - 1) & ~(uint64_t)(v->align - 1)) +
				    v->size;
		}
		res->n_variables++;
	}
	res->variables = all;
	j->table_space = ((constants + 7) & ~7ull) + j->n_slots * 8ull <= CONSTANT_BYTES ?
			 "const" : "global";
	return 0;
}

/* For finding out what a kernel reaches. */
struct reach {
	uint32_t *place;	/* of each variable in the result's list, + 1 */
	uint32_t *named;	/* the kernel that named it last, + 1 */
	uint32_t *called;	/* the same, of functions */
	uint32_t *stack;
	uint32_t *found;	/* places */
	uint32_t n;
};

static void reach_from(struct job *j, struct reach *r, uint32_t kernel)
{
	const struct module_facts *mf = &j->facts;
	uint32_t depth = 0, at, i, var;

	r->n = 0;
	r->called[j->plans[kernel].function] = kernel + 1;
	r->stack[depth++] = j->plans[kernel].function;
	while (depth) {
		at = r->stack[--depth];
		for (i = 0; at < j->m->n_functions && i < j->m->functions[at].n_operands; i++) {
			const struct ptx_operand *o =
				&j->m->operands[j->m->functions[at].first_operand + i];

			var = o->kind == PTX_VARIABLE || o->kind == PTX_INDEX ? o->ref : PTX_NONE;
			if (var >= j->m->n_vars || !r->place[var] || r->named[var] == kernel + 1)
				continue;
			r->named[var] = kernel + 1;
			r->found[r->n++] = r->place[var] - 1;
		}
		for (i = 0; i < mf->f[at].n_calls; i++) {
			uint32_t callee = mf->calls[mf->f[at].first_call + i];

			if (r->called[callee] == kernel + 1)
				continue;
			r->called[callee] = kernel + 1;
			r->stack[depth++] = callee;
		}
	}
}

/* What others define that this is linked with can't be seen from here. */
static int list_reached(struct job *j, struct reach *r, const struct gsx_result *res)
{
	uint32_t i, *all;

	for (i = 0; i < j->n_plans; i++) {
		if (!j->plans[i].modes)
			continue;
		if (j->facts.f[j->plans[i].function].all & (FACT(F_OUTSIDE) | FACT(F_INDIRECT)))
			j->kernels[i].flags |= GSX_ANY_VARIABLE;
		if (!res->n_variables)
			continue;
		reach_from(j, r, i);
		all = pool_get(j->pool, (r->n + 1) * sizeof(*all));
		if (!all)
			return -ENOMEM;
		memcpy(all, r->found, r->n * sizeof(*all));
		j->kernels[i].variables = all;
		j->kernels[i].n_variables = r->n;
	}
	return 0;
}

static int find_reached(struct job *j, const struct gsx_result *res)
{
	size_t n_vars = (size_t)j->m->n_vars, n_functions = (size_t)j->m->n_functions + 1;
	uint32_t *memory = calloc(3 * n_vars + 2 * n_functions, sizeof(*memory)), i, n = 0;
	struct reach r = { .place = memory };
	int err;

	if (!memory)
		return -ENOMEM;
	r.named = r.place + n_vars;
	r.found = r.named + n_vars;
	r.called = r.found + n_vars;
	r.stack = r.called + n_functions;
	for (i = 0; i < n_vars; i++)
		if (is_listed(j, i))
			r.place[i] = ++n;
	err = list_reached(j, &r, res);
	free(memory);
	return err;
}

int shadow_plan(struct job *j, struct gsx_result *res)
{
	uint32_t i;
	int err;

	j->slot = calloc((size_t)j->m->n_vars + 1, sizeof(*j->slot));
	if (!j->slot)
		return -ENOMEM;
	for (i = 0; i < j->m->n_functions; i++) {
		const struct ptx_function *f = &j->m->functions[i];

		/* Somebody names a kernel that couldn't be kept. */
		if (f->entry && f->address_taken && !is_kept(j, i))
			return -EINVAL;
		if (is_kept(j, i))
			take_slots(j, i);
	}
	for (i = 0; i < j->n_plans; i++)
		if (j->plans[i].modes)
			take_slots(j, j->plans[i].function);
	err = list(j, res);
	return err ? err : find_reached(j, res);
}

static int by_place(const void *a, const void *b)
{
	const struct hole *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static uint32_t find_holes(const struct ptx_module *m, struct hole *holes)
{
	uint32_t i, n = 0;

	for (i = 0; i < m->n_functions; i++)
		if (m->functions[i].has_body)
			holes[n++] = (struct hole){ m->functions[i].begin,
						    m->functions[i].body_end + 1, i, 0 };
	for (i = 0; i < m->n_vars; i++) {
		const struct ptx_variable *v = &m->vars[i];

		if (v->function == PTX_NONE && v->end &&
		    (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST) &&
		    (!i || m->vars[i - 1].begin != v->begin || !m->vars[i - 1].end))
			holes[n++] = (struct hole){ v->begin, v->end, PTX_NONE, i };
	}
	qsort(holes, n, sizeof(*holes), by_place);
	return n;
}

static void constants(struct job *j, const struct hole *h)
{
	const struct ptx_module *m = j->m;
	uint32_t i;

	for (i = h->var; i < m->n_vars && m->vars[i].begin == h->begin; i++) {
		const struct ptx_variable *v = &m->vars[i];
		const struct ptx_symbol *s = &m->syms[v->sym];

		if (v->space == PTX_SPACE_CONST && v->size)
			say(&j->out, "%s .const .align %u .b8 %.*s[%llu];\n",
			    v->linkage & PTX_EXTERN ? ".extern" : v->linkage & PTX_WEAK ? ".weak" :
			    ".visible", v->align, (int)s->len, s->s, (unsigned long long)v->size);
	}
}

int shadow_write(struct job *j)
{
	const struct ptx_module *m = j->m;
	struct hole *holes = malloc(((size_t)m->n_functions + m->n_vars + 1) * sizeof(*holes));
	uint32_t n, i, at = 0;

	if (!holes)
		return -ENOMEM;
	n = find_holes(m, holes);
	for (i = 0; i < n; i++) {
		if (holes[i].begin < at || holes[i].end > m->tail)
			continue;
		put(&j->out, m->text + at, holes[i].begin - at);
		at = holes[i].end;
		if (!i && j->n_slots)
			say(&j->out, ".visible .%s .align 8 .b64 " GSX_TABLE "%u[%u];\n",
			    j->table_space, j->opt->part, j->n_slots);
		if (holes[i].function == PTX_NONE)
			constants(j, &holes[i]);
		else if (is_kept(j, holes[i].function))
			write_kept(j, holes[i].function);
	}
	put(&j->out, m->text + at, m->tail - at);
	free(holes);
	return 0;
}
