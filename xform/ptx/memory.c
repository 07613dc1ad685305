// SPDX-License-Identifier: MIT
/* The arrays of a module, and its one limit on memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

static bool charge(struct ptx_module *m, size_t bytes)
{
	if (bytes > m->memory_limit - m->memory)
		return false;
	m->memory += bytes;
	return true;
}

int vec_init(struct ptx_module *m, enum vec_id id, uint32_t size)
{
	struct ptx_vec *v = &m->vec[id];

	v->size = size;
	v->cap = 16;
	if (!charge(m, (size_t)v->cap * size))
		return -E2BIG;
	v->p = calloc(v->cap, size);
	return v->p ? 0 : -ENOMEM;
}

uint32_t vec_push(struct parser *p, enum vec_id id)
{
	struct ptx_vec *v = &p->m->vec[id];
	void *bigger;

	if (v->n == v->cap) {
		if (p->m->err || v->cap >= PTX_NONE / 4 ||
		    !charge(p->m, (size_t)v->cap * v->size)) {
			parse_error(p, -E2BIG, p->line, "the module needs too much memory");
			return 0;
		}
		bigger = realloc(v->p, (size_t)v->cap * 2 * v->size);
		if (!bigger) {
			parse_error(p, -ENOMEM, p->line, "out of memory");
			return 0;
		}
		v->p = bigger;
		v->cap *= 2;
	}
	memset((char *)v->p + (size_t)v->n * v->size, 0, v->size);
	return v->n++;
}

void *vec_add(struct parser *p, enum vec_id id)
{
	uint32_t i = vec_push(p, id);

	return (char *)p->m->vec[id].p + (size_t)i * p->m->vec[id].size;
}

/* Room for n entries at half load; n a power of two. */
bool slots_init(struct parser *p, struct slots *s, uint32_t n)
{
	s->used = 0;
	s->mask = n * 2 - 1;
	s->slot = NULL;
	if (!charge(p->m, (size_t)n * 2 * sizeof(*s->slot))) {
		parse_error(p, -E2BIG, p->line, "the module needs too much memory");
		return false;
	}
	s->slot = calloc((size_t)n * 2, sizeof(*s->slot));
	if (!s->slot)
		parse_error(p, -ENOMEM, p->line, "out of memory");
	return s->slot;
}

/* Doubles and empties the table; the caller fills it again. */
bool slots_grow(struct parser *p, struct slots *s)
{
	uint32_t n = s->mask + 1;

	slots_free(p, s);
	return slots_init(p, s, n);
}

void slots_free(struct parser *p, struct slots *s)
{
	if (s->slot)
		p->m->memory -= ((size_t)s->mask + 1) * sizeof(*s->slot);
	free(s->slot);
	s->slot = NULL;
}

void ptx_free(struct ptx_module *m)
{
	int i;

	for (i = 0; i < V_COUNT; i++) {
		if (i == V_STRINGS && m->vec[i].p) {
			char **strings = m->vec[i].p;

			while (m->vec[i].n)
				free(strings[--m->vec[i].n]);
		}
		free(m->vec[i].p);
	}
	memset(m, 0, sizeof(*m));
}
