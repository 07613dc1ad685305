// SPDX-License-Identifier: MIT
/* One kernel's report: which modes it can have, and for each other one the reason. */
#include <errno.h>
#include <string.h>

#include "transform.h"

#define ALL	GSX_ALL_MODES
#define TICKETS	(GSX_BIT(GSX_GUARD) | GSX_BIT(GSX_WORKERS))
#define WORKERS	GSX_BIT(GSX_WORKERS)

#define MOST_REFUSALS	16

/* Facts that rule modes out whatever the control flow. */
static const struct {
	uint8_t fact;
	uint8_t reason;
	uint8_t modes;
	const char *text;
} rules[] = {
	{ F_GRID_SYNC, GSX_GRID_SYNC, ALL,
	  "reads %envreg, as grid-wide synchronisation of a cooperative launch does" },
	{ F_CLUSTER, GSX_CLUSTER, ALL, "uses thread block clusters" },
	{ F_DEVICE_LAUNCH, GSX_DEVICE_LAUNCH, ALL, "launches kernels from the device" },
	{ F_EXTERN, GSX_EXTERN_CALL, ALL, "calls a function whose body isn't in this module" },
	{ F_OUTSIDE, GSX_EXTERN_CALL, WORKERS,
	  "calls a function in a module that is linked with this one" },
	{ F_SPECIAL_USE, GSX_SPECIAL_USE, ALL, "reads a block number in a form that isn't known" },
	{ F_UNKNOWN, GSX_UNKNOWN_FLOW, ALL, "contains a statement that isn't understood" },
	{ F_EXIT, GSX_EXIT_IN_FUNCTION, WORKERS, "a device function ends the thread" },
	{ F_ASYNC_STATE, GSX_ASYNC_STATE, WORKERS,
	  "uses asynchronous operations whose state outlives a block's work" },
	{ F_BARRIER_PART, GSX_BARRIER_FORM, WORKERS,
	  "a barrier that a part of the block passes, or that may keep arrivals at its end" },
	{ F_ALLOCA, GSX_STACK, WORKERS, "takes stack memory that only the thread's end gives back" },
};

struct report {
	struct job *j;
	struct gsx_kernel *k;
	struct gsx_refusal refusals[MOST_REFUSALS];
	uint32_t n;
	bool no_memory;
};

static void refuse(struct report *r, enum gsx_reason reason, uint32_t modes, uint32_t line,
		   const char *text)
{
	const struct gsx_options *opt = r->j->opt;
	struct gsx_refusal *f;

	modes &= r->k->modes;
	if (!modes || r->n == MOST_REFUSALS)
		return;
	r->k->modes &= ~modes;
	f = &r->refusals[r->n++];
	*f = (struct gsx_refusal){ .reason = reason, .modes = modes, .line = line };
	f->text = pool_text(r->j->pool, "%s:%u: %s", opt->file, line, text);
	r->no_memory |= !f->text;
}

static void by_facts(struct report *r, const struct ptx_function *f,
		     const struct function_facts *facts)
{
	const struct module_facts *mf = &r->j->facts;
	const struct function_facts *indirect = &mf->f[mf->indirect];
	uint32_t present, i, k;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		present = rules[i].fact == F_ALLOCA ? facts->own : facts->all;
		/* an entry's own exit is a return */
		if (rules[i].fact == F_EXIT) {
			present = 0;
			for (k = 0; k < facts->n_calls; k++)
				present |= mf->f[mf->calls[facts->first_call + k]].all;
		}
		if (present & FACT(rules[i].fact))
			refuse(r, rules[i].reason, rules[i].modes, facts->line[rules[i].fact],
			       rules[i].text);
	}
	if (f->clustered)
		refuse(r, GSX_CLUSTER, ALL, f->line, "is declared for thread block clusters");
	if (r->j->opt->shadow && facts->all & FACT(F_STATE))
		refuse(r, GSX_PROGRAM_SCOPE, ALL, facts->line[F_STATE],
		       "names a variable of the module in a form that a shadow can't share");
	if (r->j->opt->shadow && facts->all & FACT(F_INDIRECT) && r->j->has_state)
		refuse(r, GSX_PROGRAM_SCOPE, ALL, facts->line[F_INDIRECT],
		       "calls through a pointer, which may come from a variable of the module");
	/* The shadow has a function of its own, whose address the original must not see. */
	if (r->j->opt->shadow && facts->all & FACT(F_FUNCTION) && r->j->has_state)
		refuse(r, GSX_PROGRAM_SCOPE, ALL, facts->line[F_FUNCTION],
		       "takes a function's address, which it may keep in a variable of the module");
	if (facts->all & FACT(F_INDIRECT) && indirect->all & READS_ANY_ID)
		refuse(r, GSX_INDIRECT_CALL, ALL, facts->line[F_INDIRECT],
		       "calls through a pointer, and a function whose address is taken reads the grid");
}

static void by_frame(struct report *r, const struct ptx_function *f)
{
	const struct ptx_module *m = r->j->m;
	uint32_t space = m->version >= 801 && m->target >= 70 ? 32764 : 4096;

	r->k->hidden_offset = (f->param_bytes + 7) & ~7u;
	if (f->variadic || r->k->hidden_offset + GSX_SLICE_BYTES > space)
		refuse(r, GSX_PARAM_SPACE, ALL, f->line, "has no room for one more parameter");
	if (r->k->hidden_offset + GSX_LAUNCH_BYTES > space)
		refuse(r, GSX_PARAM_SPACE, TICKETS, f->line, "has no room for one more parameter");
	if (m->address_size == 32)
		refuse(r, GSX_OLD_TARGET, TICKETS, f->line, "has 32-bit addresses");
	if (m->target < 70 || m->version < 600)
		refuse(r, GSX_OLD_TARGET, WORKERS, f->line,
		       "is for a target below sm_70 or of a .version below 6.0");
}

static int by_flow(struct report *r, const struct ptx_function *f,
		   const struct function_facts *facts, struct plan *p)
{
	const struct function_facts *indirect = &r->j->facts.f[r->j->facts.indirect];
	struct early_exits e;
	struct cfg g;
	int err;

	if (!(r->k->modes & WORKERS) || !(facts->all & (FACT(F_BARRIER) | FACT(F_WARP))))
		return 0;
	err = cfg_build(&g, r->j->m, f, NULL);
	if (!err && g.unknown_line)
		refuse(r, GSX_UNKNOWN_FLOW, WORKERS, g.unknown_line,
		       "jumps to where isn't written down");
	if (!err && r->k->modes & WORKERS)
		err = early_exits_find(&e, &g, r->j->m, f, &r->j->facts);
	if (!err && r->k->modes & WORKERS) {
		if (e.warp_line)
			refuse(r, GSX_WARP_AFTER_EXIT, WORKERS, e.warp_line, e.warp_why);
		if (e.parks && facts->all & FACT(F_BARRIER_FORM))
			refuse(r, GSX_BARRIER_FORM, WORKERS, facts->line[F_BARRIER_FORM],
			       "a barrier of a form in which threads that returned can't wait");
		if (e.parks && facts->all & FACT(F_INDIRECT) &&
		    indirect->all & FACT(F_BARRIER))
			refuse(r, GSX_BARRIER_FORM, WORKERS, indirect->line[F_BARRIER],
			       "a barrier in a function that is called through a pointer");
		p->parks = e.parks;
		p->marks = e.marks;
		if (e.needs_rows)
			r->k->needs |= GSX_NEEDS_ROWS;
	}
	cfg_free(&g);
	return err;
}

static void set_flags(struct gsx_kernel *k, uint32_t facts, bool parks)
{
	static const struct {
		uint8_t fact;
		uint32_t flag;
	} map[] = {
		{ F_WAITS, GSX_WAITS }, { F_BARRIER, GSX_BARRIERS }, { F_ATOMICS, GSX_ATOMICS },
		{ F_DYNAMIC_SHARED, GSX_DYNAMIC_SHARED }, { F_CALLS, GSX_CALLS },
		{ F_TEXTURES, GSX_TEXTURES },
	};
	size_t i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (facts & FACT(map[i].fact))
			k->flags |= map[i].flag;
	if (parks && k->modes & WORKERS)
		k->flags |= GSX_PARKS;
	if (facts & FACT(F_CALLS))	/* a callee's accesses aren't followed */
		k->flags |= GSX_READS_ANY | GSX_WRITES_ANY;
}

static int params(struct job *j, const struct ptx_function *f, struct gsx_kernel *k)
{
	const struct ptx_module *m = j->m;
	struct gsx_param *all;
	uint32_t *flags, i;
	int err;

	if (!f->n_params) {
		flags = &(uint32_t){ 0 };
		return f->has_body ? pointers_find(m, f, flags, &k->flags) : 0;
	}
	all = pool_get(j->pool, f->n_params * sizeof(*all));
	flags = pool_get(j->pool, f->n_params * sizeof(*flags));
	if (!all || !flags)
		return -ENOMEM;
	err = pointers_find(m, f, flags, &k->flags);
	for (i = 0; i < f->n_params && !err; i++) {
		const struct ptx_variable *v = &m->vars[f->params + i];
		const struct ptx_symbol *s = &m->syms[v->sym];

		all[i] = (struct gsx_param){ .offset = v->offset, .size = v->size,
					     .align = v->align, .flags = flags[i] };
		all[i].name = pool_text(j->pool, "%.*s", (int)s->len, s->s);
		if (!all[i].name)
			err = -ENOMEM;
	}
	k->params = all;
	k->n_params = f->n_params;
	return err;
}

/* Static shared memory that the kernel's own text names. */
static uint32_t shared_bytes(struct job *j, const struct ptx_function *f, uint32_t index)
{
	const struct ptx_module *m = j->m;
	const struct ptx_variable *v;
	const struct ptx_operand *o;
	uint64_t bytes = 0;
	uint32_t i;

	for (i = f->first_operand; i < f->first_operand + f->n_operands; i++) {
		o = &m->operands[i];
		if ((o->kind != PTX_VARIABLE && o->kind != PTX_INDEX) || o->ref >= m->n_vars)
			continue;
		v = &m->vars[o->ref];
		if (v->space != PTX_SPACE_SHARED || j->seen[o->ref] == index + 1)
			continue;
		j->seen[o->ref] = index + 1;
		bytes += v->size;
	}
	return bytes > UINT32_MAX ? UINT32_MAX : bytes;
}

int report_kernel(struct job *j, struct gsx_kernel *k, struct plan *p)
{
	static const char *const suffix[GSX_MODES] = { "slice", "guard", "workers" };
	const struct ptx_function *f = &j->m->functions[p->function];
	const struct function_facts *facts = &j->facts.f[p->function];
	const struct ptx_symbol *s = &j->m->syms[f->sym];
	struct report r = { .j = j, .k = k };
	struct gsx_refusal *list;
	int err, i;

	k->name = pool_text(j->pool, "%.*s", (int)s->len, s->s);
	if (!k->name)
		return -ENOMEM;
	k->line = f->line;
	k->param_bytes = f->param_bytes;
	k->instructions = f->instructions;
	k->max_threads = f->req_threads ? f->req_threads : f->max_threads;
	k->modes = ALL;
	k->shared_bytes = shared_bytes(j, f, p->function);
	if (!f->has_body)
		refuse(&r, GSX_BODYLESS, ALL, f->line, "is only declared here");
	by_facts(&r, f, facts);
	by_frame(&r, f);
	err = by_flow(&r, f, facts, p);
	if (!err)
		err = params(j, f, k);
	if (!err && j->opt->maps)
		err = maps_find(j, p->function, k);
	if (err)
		return err;
	refuse(&r, GSX_NOT_ASKED, ALL & ~j->opt->modes, f->line, "this mode wasn't asked for");
	set_flags(k, facts->all, p->parks);
	for (i = 0; i < GSX_MODES; i++) {
		if (!(k->modes & GSX_BIT(i)))
			continue;
		k->variant[i] = pool_text(j->pool, "%s__gsx_%s", k->name, suffix[i]);
		r.no_memory |= !k->variant[i];
	}
	p->modes = k->modes;
	list = r.n ? pool_get(j->pool, r.n * sizeof(*list)) : NULL;
	if (r.no_memory || (r.n && !list))
		return -ENOMEM;
	if (list)
		memcpy(list, r.refusals, r.n * sizeof(*list));
	k->refusals = list;
	k->n_refusals = r.n;
	return 0;
}
