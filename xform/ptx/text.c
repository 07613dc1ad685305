// SPDX-License-Identifier: MIT
/* Text that grows, and memory that goes with a result. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transform.h"

static bool room(struct out *o, size_t len)
{
	size_t cap = o->cap ? o->cap : 4096;
	char *bigger;

	if (o->err)
		return false;
	if (len < o->cap - o->len)
		return true;
	while (cap - o->len <= len)
		cap *= 2;
	if (cap > o->limit) {
		o->err = -E2BIG;
		return false;
	}
	bigger = realloc(o->s, cap);
	if (!bigger) {
		o->err = -ENOMEM;
		return false;
	}
	o->s = bigger;
	o->cap = cap;
	return true;
}

void put(struct out *o, const char *s, size_t len)
{
	if (!room(o, len))
		return;
	memcpy(o->s + o->len, s, len);
	o->len += len;
	o->s[o->len] = 0;
}

void say(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (!room(o, 512))
		return;
	va_start(ap, fmt);
	n = vsnprintf(o->s + o->len, o->cap - o->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		o->err = -EINVAL;
	} else if ((size_t)n >= o->cap - o->len) {
		if (!room(o, n))
			return;
		va_start(ap, fmt);
		vsnprintf(o->s + o->len, o->cap - o->len, fmt, ap);
		va_end(ap);
		o->len += n;
	} else {
		o->len += n;
	}
}

struct pool_chunk {
	struct pool_chunk *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

void *pool_get(struct pool *p, size_t size)
{
	struct pool_chunk *c = p->chunks;
	size_t want;
	void *at;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->size - c->used < size) {
		want = size > 16384 ? size : 16384;
		if (want > p->limit - p->used) {
			p->full = true;
			return NULL;
		}
		c = calloc(1, sizeof(*c) + want);
		if (!c)
			return NULL;
		p->used += want;
		c->size = want;
		c->next = p->chunks;
		p->chunks = c;
	}
	at = c->bytes + c->used;
	c->used += size;
	return at;
}

char *pool_text(struct pool *p, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = n < 0 ? NULL : pool_get(p, (size_t)n + 1);
	if (s) {
		va_start(ap, fmt);
		vsnprintf(s, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	return s;
}

void pool_free(struct pool *p)
{
	struct pool_chunk *c, *next;

	for (c = p->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	p->chunks = NULL;
}
