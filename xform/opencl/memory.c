// SPDX-License-Identifier: MIT
/* What one call holds in memory, its limit, and the way out of a failure. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl.h"

/* Small things are cut from blocks; each array that grows has one of its own. */
struct block {
	struct block *next, *prev;
	size_t size, used;
	max_align_t data[];
};

#define BLOCK_BYTES	16384

void cl_fail(struct job *j, int err, uint32_t line, const char *text)
{
	j->err = err;
	j->err_line = line;
	j->err_text = text;
	longjmp(j->out, 1);
}

static struct block *new_block(struct job *j, size_t bytes)
{
	struct block *b;

	if (bytes > j->limit - j->memory)
		cl_fail(j, -E2BIG, 0, "the program needs too much memory");
	b = malloc(sizeof(*b) + bytes);
	if (!b)
		cl_fail(j, -ENOMEM, 0, "out of memory");
	j->memory += bytes;
	b->size = bytes;
	b->used = 0;
	b->prev = NULL;
	b->next = j->blocks;
	if (j->blocks)
		j->blocks->prev = b;
	j->blocks = b;
	return b;
}

void *cl_get(struct job *j, size_t bytes)
{
	size_t round = (bytes + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	struct block *b = j->blocks;
	void *p;

	if (!b || b->size - b->used < round)
		b = new_block(j, round > BLOCK_BYTES ? round : BLOCK_BYTES);
	p = (char *)b->data + b->used;
	b->used += round;
	return memset(p, 0, bytes);
}

/* Doubles an array that is a block by itself, or begins one. */
void *cl_grow(struct job *j, void *p, uint32_t *cap, size_t size)
{
	uint32_t n = *cap ? *cap * 2 : 64;
	struct block *b, *old = NULL, *prev = NULL, *next = NULL;
	size_t bytes = n * size;

	if (n < *cap)
		cl_fail(j, -E2BIG, 0, "the program needs too much memory");
	if (!p) {
		b = new_block(j, bytes);
	} else {
		old = (struct block *)((char *)p - offsetof(struct block, data));
		prev = old->prev;
		next = old->next;
		if (bytes - old->size > j->limit - j->memory)
			cl_fail(j, -E2BIG, 0, "the program needs too much memory");
		b = realloc(old, sizeof(*b) + bytes);
		if (!b)
			cl_fail(j, -ENOMEM, 0, "out of memory");
		j->memory += bytes - b->size;
		b->size = bytes;
		if (prev)
			prev->next = b;
		else
			j->blocks = b;
		if (next)
			next->prev = b;
	}
	b->used = bytes;
	*cap = n;
	return b->data;
}

/* Gives back an array that cl_grow() made. */
void cl_release(struct job *j, void *p)
{
	struct block *b;

	if (!p)
		return;
	b = (struct block *)((char *)p - offsetof(struct block, data));
	if (b->prev)
		b->prev->next = b->next;
	else
		j->blocks = b->next;
	if (b->next)
		b->next->prev = b->prev;
	j->memory -= b->size;
	free(b);
}

const char *cl_copy_text(struct job *j, const char *s, size_t len)
{
	char *to = cl_get(j, len + 1);

	memcpy(to, s, len);
	return to;
}

const char *cl_say(struct job *j, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	return cl_copy_text(j, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void cl_free_blocks(struct block *b)
{
	struct block *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
}
