// SPDX-License-Identifier: MIT
/*
 * Functions that a module calls and that another has, which is linked with it.
 *
 * No copy of such a body can be had here, so it is only good as it is: one that neither
 * sees the grid, nor does, or may call, anything that rules out cutting. What else it does
 * (waits, uses barriers, ends the thread) counts as if it stood here. Where it calls a
 * third module's functions in turn, we don't follow.
 *
 * Weak functions may stand in several modules, and the linker takes any: they must be one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

#define RULED_OUT	(READS_ANY_ID | FACT(F_GRID_SYNC) | FACT(F_CLUSTER) |		\
			 FACT(F_DEVICE_LAUNCH) | FACT(F_INDIRECT) | FACT(F_EXTERN) |	\
			 FACT(F_SPECIAL_USE) | FACT(F_UNKNOWN))

static bool is_weak(const struct ptx_function *f)
{
	return !f->entry && f->has_body && f->linkage & PTX_WEAK;
}

static bool is_asked_for(const struct ptx_function *f)
{
	return !f->entry && (!f->has_body || is_weak(f));
}

static const struct ptx_function *find(const struct ptx_module *m, const struct ptx_symbol *name)
{
	const struct ptx_function *f;

	for (f = m->functions; f < m->functions + m->n_functions; f++) {
		const struct ptx_symbol *s = &m->syms[f->sym];

		if (!f->entry && f->has_body && f->linkage & (PTX_VISIBLE | PTX_WEAK) &&
		    s->len == name->len && !memcmp(s->s, name->s, s->len))
			return f;
	}
	return NULL;
}

static bool is_same(const struct ptx_module *a, const struct ptx_function *f,
		    const struct ptx_module *b, const struct ptx_function *g)
{
	size_t len = f->body_end - f->head;

	return len == g->body_end - g->head && !memcmp(a->text + f->head, b->text + g->head, len);
}

/* What another module says of the functions that are asked for. */
static void look(const struct ptx_module *m, const struct ptx_module *other,
		 const struct module_facts *facts, uint32_t *outside)
{
	const struct ptx_function *f, *g;
	uint32_t i, all;

	for (i = 0; i < m->n_functions; i++) {
		f = &m->functions[i];
		g = is_asked_for(f) ? find(other, &m->syms[f->sym]) : NULL;
		if (!g)
			continue;
		all = facts->f[g - other->functions].all;
		if (f->has_body ? !is_same(m, f, other, g) : all & RULED_OUT)
			outside[i] |= FACT(F_EXTERN);
		else if (!f->has_body)
			outside[i] |= all | FACT(F_OUTSIDE);
	}
}

int outside_find(uint32_t *outside, const struct ptx_module *m, const struct gsx_text *linked,
		 uint32_t n, size_t limit)
{
	struct module_facts facts;
	struct ptx_module other;
	uint32_t i;
	int err = 0;

	for (i = 0; i < m->n_functions && !is_asked_for(&m->functions[i]); i++)
		;
	if (i == m->n_functions)
		return 0;
	for (i = 0; i < n && !err; i++) {
		err = ptx_parse(&other, linked[i].text, linked[i].len, "linked", limit);
		if (!err) {
			err = facts_find(&facts, &other, NULL);
			if (!err)
				look(m, &other, &facts, outside);
			facts_free(&facts);
		}
		ptx_free(&other);
		if (err == -EINVAL)	/* whatever is in it, isn't known */
			err = 0;
	}
	return err;
}
