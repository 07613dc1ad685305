// SPDX-License-Identifier: MIT
/* gsxform.h for PTX: parse, report, rewrite. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform.h"
#include "../reserved.h"

static int fail(struct gsx_result *res, struct pool *pool, const struct gsx_options *opt, int err,
		uint32_t line, const char *text)
{
	res->error_line = line;
	res->error = pool_text(pool, "%s:%u: %s", opt->file, line, text);
	if (!res->error)
		res->error = "out of memory";
	return err;
}

static uint32_t line_at(const char *text, const char *at)
{
	uint32_t line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

/* Which device functions' copies this kernel's variants call. */
static void mark_copies(struct job *j, struct plan *p, uint32_t *stack, uint8_t *seen, bool parks)
{
	const struct module_facts *mf = &j->facts;
	uint32_t depth = 0, i, callee;
	uint8_t kind;

	stack[depth++] = p->function;
	while (depth) {
		const struct function_facts *f = &mf->f[stack[--depth]];

		for (i = 0; i < f->n_calls; i++) {
			callee = mf->calls[f->first_call + i];
			if (callee == mf->indirect)
				continue;
			kind = copy_of(j, callee, parks);
			/* what stands behind a marked function was marked with it */
			if (!kind || seen[callee] & (parks ? 2 : 1))
				continue;
			seen[callee] |= parks ? 2 : 1;
			j->copies[callee] |= kind;
			stack[depth++] = callee;
		}
	}
}

/* Parked copies are shared, so kernels that call them must agree on the rounds. */
static void settle_rounds(struct job *j)
{
	uint32_t i, with_calls = FACT(F_CALLS) | FACT(F_BARRIER);

	for (i = 0; i < j->n_plans; i++) {
		struct plan *p = &j->plans[i];
		uint32_t all = j->facts.f[p->function].all;

		p->two_rounds = all & FACT(F_BARRIER_REDUCES);
		if (p->parks && p->two_rounds && (all & with_calls) == with_calls)
			j->two_rounds = true;
	}
	for (i = 0; i < j->n_plans; i++) {
		struct plan *p = &j->plans[i];

		if (j->two_rounds && j->facts.f[p->function].all & FACT(F_CALLS))
			p->two_rounds = true;
	}
}

static int plan_copies(struct job *j)
{
	uint32_t n = j->m->n_functions, i;
	uint32_t *stack = malloc(((size_t)n + 1) * sizeof(*stack));
	uint8_t *seen = calloc((size_t)n + 1, 1);

	j->copies = calloc((size_t)n + 1, 1);
	if (stack && seen && j->copies) {
		for (i = 0; i < j->n_plans; i++) {
			struct plan *p = &j->plans[i];

			if (p->modes & ~GSX_BIT(GSX_WORKERS) || (p->modes && !p->parks))
				mark_copies(j, p, stack, seen, false);
			if (p->modes & GSX_BIT(GSX_WORKERS) && p->parks)
				mark_copies(j, p, stack, seen, true);
		}
		settle_rounds(j);
	}
	i = stack && seen && j->copies;
	free(stack);
	free(seen);
	return i ? 0 : -ENOMEM;
}

static int report_all(struct job *j, struct gsx_result *res)
{
	struct gsx_kernel *kernels;
	uint32_t i, n = 0;
	int err;

	for (i = 0; i < j->m->n_functions; i++)
		n += j->m->functions[i].entry;
	kernels = pool_get(j->pool, (n + 1) * sizeof(*kernels));
	j->plans = calloc((size_t)n + 1, sizeof(*j->plans));
	j->seen = calloc((size_t)j->m->n_vars + 1, sizeof(*j->seen));
	if (!kernels || !j->plans || !j->seen)
		return -ENOMEM;
	res->kernels = kernels;
	j->kernels = kernels;
	for (i = 0; i < j->m->n_functions; i++) {
		if (!j->m->functions[i].entry)
			continue;
		j->plans[j->n_plans].function = i;
		err = report_kernel(j, &kernels[j->n_plans], &j->plans[j->n_plans]);
		if (err)
			return err;
		res->n_kernels = ++j->n_plans;
	}
	return 0;
}

static int write_module(struct job *j, struct gsx_result *res)
{
	const struct ptx_module *m = j->m;
	int err = plan_copies(j);

	if (err)
		return err;
	if (j->opt->shadow) {
		err = shadow_write(j);
		if (err)
			return err;
	} else {
		put(&j->out, m->text, m->tail);
	}
	write_variants(j, res->kernels);
	if (m->tail < m->len && !j->opt->shadow) {
		say(&j->out, "\n");
		put(&j->out, m->text + m->tail, m->len - m->tail);
	}
	if (j->out.err)
		return j->out.err;
	res->text = j->out.s;
	res->len = j->out.len;
	j->out.s = NULL;
	return 0;
}

static int transform(const struct ptx_module *m, const struct gsx_options *opt, size_t limit,
		     struct pool *pool, struct gsx_result *res)
{
	struct job j = { .m = m, .opt = opt, .pool = pool, .out.limit = limit };
	uint32_t *outside = calloc((size_t)m->n_functions + 1, sizeof(*outside));
	int err = outside ? outside_find(outside, m, opt->linked, opt->n_linked, limit) : -ENOMEM;
	uint32_t i;

	/* Others' can't be seen from here, nor what functions they take addresses of. */
	j.has_state = opt->linked;
	for (i = 0; i < m->n_vars; i++)
		j.has_state |= m->vars[i].function == PTX_NONE &&
			       (m->vars[i].space == PTX_SPACE_GLOBAL ||
				m->vars[i].space == PTX_SPACE_CONST);
	if (!err)
		err = facts_find(&j.facts, m, outside);
	free(outside);
	if (!err)
		err = report_all(&j, res);
	if (!err && opt->modes && opt->shadow)
		err = shadow_plan(&j, res);
	if (!err && opt->modes)
		err = write_module(&j, res);
	facts_free(&j.facts);
	for (i = 0; i < j.n_plans; i++)
		free(j.plans[i].marks);
	free(j.plans);
	free(j.copies);
	free(j.seen);
	free(j.slot);
	free(j.out.s);
	if (err == -ENOMEM && pool->full)
		err = -E2BIG;
	if (err)
		return fail(res, pool, opt, err, 0, err == -E2BIG ? "the result needs too much memory" :
			    err == -EINVAL ? "a kernel whose name is used can't be in a shadow" :
			    "out of memory");
	return 0;
}

int gsx_ptx_transform(const char *text, size_t len, const struct gsx_options *given,
		      struct gsx_result *res)
{
	struct gsx_options opt = { .modes = GSX_ALL_MODES };
	struct ptx_module m;
	struct pool *pool;
	const char *ours;
	size_t limit;
	int err;

	memset(res, 0, sizeof(*res));
	if (given)
		opt = *given;
	opt.modes &= GSX_ALL_MODES;
	if (!opt.file)
		opt.file = "ptx";
	if (len && !text[len - 1])
		len--;
	limit = opt.max_memory ? opt.max_memory : (64ul << 20) + 64 * len;
	pool = calloc(1, sizeof(*pool));
	if (!pool) {
		res->error = "out of memory";
		return -ENOMEM;
	}
	res->memory = pool;
	pool->limit = limit;
	ours = memmem(text, len, "gsx_", 4);
	if (ours)
		return fail(res, pool, &opt, -EEXIST, line_at(text, ours),
			    GSX_OURS_TEXT);
	err = ptx_parse(&m, text, len, opt.file, limit);
	if (err)
		err = fail(res, pool, &opt, err, m.err_line, m.err_text);
	else
		err = transform(&m, &opt, limit, pool, res);
	ptx_free(&m);
	if (err) {
		res->kernels = NULL;
		res->n_kernels = 0;
		res->variables = NULL;
		res->n_variables = 0;
	}
	return err;
}

void gsx_result_free(struct gsx_result *res)
{
	if (res->memory) {
		pool_free(res->memory);
		free(res->memory);
	}
	free(res->text);
	memset(res, 0, sizeof(*res));
}
