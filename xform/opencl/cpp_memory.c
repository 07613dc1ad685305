// SPDX-License-Identifier: MIT
/* Memory that is counted, names, and the one error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpp.h"

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

#define ARENA_CHUNK	32768

void cpp_error(struct cpp *p, int err, uint32_t line, const char *fmt, ...)
{
	const char *file = p->n_files ? p->files[p->n_files - 1].name : NULL;
	char text[400];
	va_list ap;
	int n;

	if (p->err)
		return;
	if (!file)
		file = p->opt->file ? p->opt->file : "program";
	n = snprintf(text, sizeof(text), "%.200s:%u: ", file, line);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	p->err = err;
	p->err_line = line;
	p->err_text = strdup(text);
}

static bool charge(struct cpp *p, size_t bytes)
{
	if (bytes > p->max_memory - p->memory) {
		cpp_error(p, -E2BIG, p->line, "preprocessing needs too much memory");
		return false;
	}
	p->memory += bytes;
	return true;
}

static struct arena_chunk *chunk_new(struct cpp *p, size_t size)
{
	struct arena_chunk *c;

	if (!charge(p, size))
		return NULL;
	c = malloc(sizeof(*c) + size);
	if (!c) {
		cpp_error(p, -ENOMEM, p->line, "out of memory");
		return NULL;
	}
	c->used = 0;
	c->size = size;
	return c;
}

void *arena_get(struct cpp *p, struct arena *a, size_t size)
{
	struct arena_chunk *c = a->chunks;
	void *at;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		c = p->err ? NULL : chunk_new(p, size > ARENA_CHUNK ? size : ARENA_CHUNK);
		if (!c)
			return NULL;
		c->next = a->chunks;
		a->chunks = c;
	}
	at = c->bytes + c->used;
	c->used += size;
	return memset(at, 0, size);
}

/* Keeps one chunk, as the next macro needs it again. */
void arena_drop(struct cpp *p, struct arena *a)
{
	struct arena_chunk *c = a->chunks, *next;

	while (c && c->next) {
		next = c->next;
		p->memory -= c->size;
		free(c);
		c = next;
	}
	a->chunks = c;
	if (c)
		c->used = 0;
}

bool cpp_grow(struct cpp *p, void *array, uint32_t *cap, uint32_t n, size_t size)
{
	uint32_t want = *cap ? *cap : 16;
	void **at = array, *bigger;

	if (n <= *cap)
		return true;
	while (want < n)
		want *= 2;
	if (p->err || !charge(p, (size_t)(want - *cap) * size))
		return false;
	bigger = realloc(*at, want * size);
	if (!bigger) {
		cpp_error(p, -ENOMEM, p->line, "out of memory");
		return false;
	}
	*at = bigger;
	*cap = want;
	return true;
}

void toks_add(struct cpp *p, struct toks *v, const struct tok *t)
{
	uint32_t cap = v->cap ? v->cap * 2 : 8;
	struct tok *bigger;

	if (v->n == v->cap) {
		bigger = arena_get(p, &p->temp, cap * sizeof(*t));
		if (!bigger)
			return;
		if (v->n)
			memcpy(bigger, v->t, v->n * sizeof(*t));
		v->t = bigger;
		v->cap = cap;
	}
	v->t[v->n++] = *t;
}

void cpp_put(struct cpp *p, struct out *o, const char *s, size_t len)
{
	size_t cap = o->cap ? o->cap : 4096;
	char *bigger;

	if (len >= o->cap - o->len) {
		while (cap - o->len <= len)
			cap *= 2;
		if (p->err || !charge(p, cap - o->cap))
			return;
		bigger = realloc(o->s, cap);
		if (!bigger) {
			cpp_error(p, -ENOMEM, p->line, "out of memory");
			return;
		}
		o->s = bigger;
		o->cap = cap;
	}
	memcpy(o->s + o->len, s, len);
	o->len += len;
	o->s[o->len] = 0;
}

static void names_grow(struct cpp *p)
{
	uint32_t mask = p->mask ? p->mask * 2 + 1 : 1023;
	struct name **slots, *n, *next;

	if (p->err || !charge(p, (size_t)(mask - p->mask) * sizeof(*slots)))
		return;
	slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots) {
		cpp_error(p, -ENOMEM, p->line, "out of memory");
		return;
	}
	for (uint32_t i = 0; p->slots && i <= p->mask; i++)
		for (n = p->slots[i]; n; n = next) {
			next = n->next;
			n->next = slots[n->hash & mask];
			slots[n->hash & mask] = n;
		}
	free(p->slots);
	p->slots = slots;
	p->mask = mask;
}

struct name *name_of(struct cpp *p, const char *s, uint32_t len)
{
	uint32_t hash = 2166136261u;
	struct name *n;

	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)s[i]) * 16777619u;
	hash ^= hash >> 15;
	if (p->n_names >= p->mask)
		names_grow(p);
	if (!p->slots)
		return p->none;
	for (n = p->slots[hash & p->mask]; n; n = n->next, p->steps++)
		if (n->hash == hash && n->len == len && !memcmp(n->s, s, len))
			return n;
	n = arena_get(p, &p->keep, sizeof(*n) + len + 1);
	if (!n)
		return p->none;
	n->hash = hash;
	n->len = len;
	memcpy(n->s, s, len);
	n->next = p->slots[hash & p->mask];
	p->slots[hash & p->mask] = n;
	p->n_names++;
	return n;
}
