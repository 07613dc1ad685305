// SPDX-License-Identifier: MIT
/*
 * What of a module is PTX, as the program loads it.
 *
 * PTX is only taken where the driver would use it or could as well: for this
 * architecture or an older one, and not if there is machine code for a newer one.
 * Relocatable code is taken where we know what it is linked with: what the program
 * linked (link.c), and what the driver links itself when it loads a wrapper of several
 * containers.
 *
 * Each start pays for this, and most kernels are never cut. So what is packed stays
 * packed, and nothing of it is read, until somebody asks (gs_source_unpack).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "link.h"
#include "source.h"

#define MAX_PTX		(64u << 20)
#define MAX_PARSED	(256u << 20)	/* for one link */

#ifndef MADV_POPULATE_WRITE	/* Linux 5.14; others refuse it, and nothing is lost */
#define MADV_POPULATE_WRITE	23
#endif

static bool is_ptx(const char *text)
{
	for (;; text++) {
		text += strspn(text, " \t\r\n");
		if (text[0] == '/' && text[1] == '/')
			text += strcspn(text, "\n");
		else if (text[0] == '/' && text[1] == '*' && strstr(text, "*/"))
			text = strstr(text, "*/") + 1;
		else
			return !strncmp(text, ".version", 8);
		if (!*text)
			return false;
	}
}

static bool has_option(const struct gsx_fat_entry *e, const char *option)
{
	return e->options && memmem(e->options, e->options_len, option, strlen(option));
}

static bool fits(const struct gsx_fat_entry *e, uint32_t arch)
{
	if (e->flags & (GSX_FAT_SUFFIX_A | GSX_FAT_SUFFIX_F))
		return e->arch == arch;
	if (e->kind == GSX_FAT_CUBIN)
		return e->arch <= arch && e->arch / 10 == arch / 10;
	return e->arch <= arch;
}

/* @relocatable: what is to be linked will do as well. */
static bool find_in_container(struct gsx_fat_entry *best, const void *data, uint32_t arch,
			      bool relocatable)
{
	struct gsx_fat_entry e;
	uint32_t machine = 0;
	struct gsx_fat f;
	int rc;

	memset(best, 0, sizeof(*best));
	if (!data || gsx_fat_open(&f, data, gsx_fat_length(data)))
		return false;
	while ((rc = gsx_fat_next(&f, &e)) == 1) {
		if (!fits(&e, arch))
			continue;
		/* What is optimised as it is linked has no PTX of its own architecture. */
		if ((e.kind == GSX_FAT_CUBIN || e.kind == GSX_FAT_LTOIR) && e.arch > machine)
			machine = e.arch;
		if (e.kind == GSX_FAT_PTX && (!best->data || e.arch > best->arch) &&
		    (relocatable || !has_option(&e, "--compile-only")))
			*best = e;
	}
	return !rc && best->data && best->arch >= machine && best->size <= MAX_PTX;
}

/* The entry stays where it is: in an input of a link, which is ours. */
static bool take_entry(struct gs_part *p, const struct gsx_fat_entry *e)
{
	p->in_container = true;
	p->entry = *e;
	p->entry.name_len = 0;	/* not worth a copy */
	p->options = malloc(e->options_len + 1);
	if (!p->options)
		return false;
	if (e->options_len)
		memcpy(p->options, e->options, e->options_len);
	p->entry.options = p->options;
	return true;
}

/* As malloc(), with the pages of it at once: one by one they cost more than the copy. */
static char *room(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = malloc(bytes);
	uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)p + bytes) & ~(page - 1);

	if (p && to > from + 4 * page)
		madvise((void *)from, to - from, MADV_POPULATE_WRITE);
	return p;
}

static bool copy(struct gs_part *p, const void *from, size_t len)
{
	p->own = room(len + 1);
	if (!p->own)
		return false;
	memcpy(p->own, from, len);
	p->own[len] = 0;
	return true;
}

static bool take_container(struct gs_part *p, const void *data, uint32_t arch)
{
	struct gsx_fat_entry e;

	if (!find_in_container(&e, data, arch, false) || !take_entry(p, &e) ||
	    !copy(p, e.data, e.stored))
		return false;
	p->entry.data = p->own;
	return true;
}

static bool take_text(struct gs_part *p, const char *text, size_t len)
{
	if (!copy(p, text, len))
		return false;
	p->ptx = p->own;
	p->len = len;
	return true;
}

static uint32_t magic_of(const void *data, size_t len)
{
	uint32_t magic = 0;

	if (!len || len >= 16)
		memcpy(&magic, data, sizeof(magic));
	return magic;
}

static bool take(struct gs_part *p, const void *data, size_t len, uint32_t arch)
{
	const struct gsx_fat_wrapper *w = data;

	switch (magic_of(data, len)) {
	case 0:
		return false;
	case GSX_FAT_WRAPPER_MAGIC:
		return !len && take_container(p, w->data, arch);
	case GSX_FAT_MAGIC:
		return (!len || gsx_fat_length(data) <= len) && take_container(p, data, arch);
	}
	/* The other things begin with bytes that no text has. */
	if (!isspace((uint8_t)*(const char *)data) && *(const char *)data != '.' &&
	    *(const char *)data != '/')
		return false;
	return is_ptx(data) && take_text(p, data, len ? strnlen(data, len) : strlen(data));
}

static bool take_input(struct gs_part *p, const struct gs_link_input *in, uint32_t arch)
{
	struct gsx_fat_entry e;

	if (in->type == CU_JIT_INPUT_PTX) {
		p->ptx = in->data;
		p->len = strnlen(in->data, in->size);
		return true;
	}
	return in->type == CU_JIT_INPUT_FATBINARY && in->size >= 16 &&
	       gsx_fat_length(in->data) && gsx_fat_length(in->data) <= in->size &&
	       find_in_container(&e, in->data, arch, true) && take_entry(p, &e);
}

static void part_free(struct gs_part *p)
{
	free(p->own);
	free(p->options);
	*p = (struct gs_part){ 0 };
}

static bool take_link(struct gs_source *s, struct gs_link *link)
{
	uint32_t i;

	s->link = link;
	s->parts = calloc(link->n, sizeof(*s->parts));
	for (i = 0; s->parts && i < link->n; i++)
		if (take_input(&s->parts[s->n], &link->inputs[i], s->arch))
			s->parts[s->n++].input = i;
		else
			part_free(&s->parts[s->n]);
	return s->n > 0;
}

/*
 * The containers that the driver links when it loads @data; NULL: none of them has PTX to
 * be used, or there are none.
 */
static const void *const *to_be_linked(const void *data, size_t len, uint32_t arch)
{
	const struct gsx_fat_wrapper *w = data;
	const void *const *more, *const *at;
	struct gsx_fat_entry e;

	if (len || magic_of(data, len) != GSX_FAT_WRAPPER_MAGIC || w->version != 2 || !w->more)
		return NULL;
	more = w->more;
	for (at = more; *at && !find_in_container(&e, *at, arch, true); at++)
		;
	return *at ? more : NULL;
}

/* It is a program's own PTX, or what is linked from some. */
static bool take_any(struct gs_source *s, const void *data, size_t len)
{
	struct gs_link *link = gs_link_find(data, len);
	const void *const *more;
	struct gs_part one = { 0 };

	if (link)
		return take_link(s, link);
	if (take(&one, data, len, s->arch)) {
		s->parts = malloc(sizeof(one));
		if (s->parts) {
			s->parts[s->n++] = one;
			return true;
		}
	}
	part_free(&one);
	more = to_be_linked(data, len, s->arch);
	link = more ? gs_link_of(more) : NULL;
	return link && take_link(s, link);
}

struct gs_source *gs_source_take(const void *data, size_t len, uint32_t arch)
{
	struct gs_source *s = data ? calloc(1, sizeof(*s)) : NULL;

	if (s)
		s->arch = arch;
	if (s && !take_any(s, data, len)) {
		gs_source_free(s);
		s = NULL;
	}
	return s;
}

void gs_source_free(struct gs_source *source)
{
	uint32_t i;

	if (!source)
		return;
	for (i = 0; i < source->n; i++)
		part_free(&source->parts[i]);
	free(source->parts);
	gs_link_put(source->link);
	free(source->caps);
	free(source);
}

bool gs_source_unpack(struct gs_source *source)
{
	struct gs_part *p;
	char *text;

	for (p = source->parts; p < source->parts + source->n; p++) {
		if (p->ptx)
			continue;
		if (gsx_fat_unpack(&p->entry, MAX_PTX, &text, &p->len))
			return false;
		free(p->own);
		p->own = text;
		p->ptx = text;
	}
	return true;
}

/*
 * Each part is transformed by itself, and reads all others for what it calls there. That is
 * done within a launch, so it mustn't take long.
 */
bool gs_source_is_too_much(const struct gs_source *source)
{
	const struct gs_part *p;
	size_t total = 0;

	for (p = source->parts; p < source->parts + source->n; p++)
		total += p->ptx ? p->len : p->entry.size;
	return source->n > 1 && total > MAX_PARSED / source->n;
}
