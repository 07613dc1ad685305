// SPDX-License-Identifier: MIT
/*
 * What is in a module that a program loads, and what we make of it.
 *
 * The PTX is taken out, transformed, and handed on in the same form: text as text,
 * what came in a container as a container of one entry with the compiler's options
 * that the original had. PTX is only taken where the driver would use it or could
 * as well: for this architecture or an older one, and not if there is machine code
 * for a newer one. Relocatable code is taken where we know what it was linked with
 * (link.c): then each input is transformed by itself, and all are linked once more.
 *
 * Results are kept on disk, so that a program's second start costs a digest.
 */
#include <ctype.h>
#include <gsfatbin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image.h"
#include "link.h"
#include "../slicer/cache.h"
#include "xform_id.h"

#define MAX_PTX		(64u << 20)
#define MAX_PARSED	(256u << 20)	/* for one link */

#ifndef MADV_POPULATE_WRITE	/* Linux 5.14; others refuse it, and nothing is lost */
#define MADV_POPULATE_WRITE	23
#endif

/* The register cap of a kernel's variants, as it also lies in the cache on disk. */
struct cap {
	uint64_t kernel;	/* a digest of its name: a mistaken one costs nothing but speed */
	uint64_t registers;
};

/* A text, and how it came. */
struct part {
	char *ptx;
	size_t len;
	uint32_t input;		/* of the link */
	bool in_container;
	struct gsx_fat_entry entry;
	char *options;		/* the entry's, of our own */
};

/* What a module is made of: one part, or those of a link that are PTX. */
struct gs_source {
	struct part *parts;
	uint32_t n;
	uint32_t arch;
	struct cap *caps;
	size_t n_caps;
	bool caps_read;
	struct gs_link *link;	/* NULL: a module by itself */
};

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
static bool take_from_container(struct part *p, const void *data, uint32_t arch, bool relocatable)
{
	struct gsx_fat_entry e, best = { 0 };
	uint32_t machine = 0;
	struct gsx_fat f;
	int rc;

	if (gsx_fat_open(&f, data, gsx_fat_length(data)))
		return false;
	while ((rc = gsx_fat_next(&f, &e)) == 1) {
		if (!fits(&e, arch))
			continue;
		if (e.kind == GSX_FAT_CUBIN && e.arch > machine)
			machine = e.arch;
		if (e.kind == GSX_FAT_PTX && (!best.data || e.arch > best.arch) &&
		    (relocatable || !has_option(&e, "--compile-only")))
			best = e;
	}
	if (rc || !best.data || best.arch < machine ||
	    gsx_fat_unpack(&best, MAX_PTX, &p->ptx, &p->len))
		return false;
	p->in_container = true;
	p->entry = best;
	p->entry.name_len = 0;	/* not worth a copy */
	p->options = malloc(best.options_len + 1);
	if (!p->options)
		return false;
	if (best.options_len)
		memcpy(p->options, best.options, best.options_len);
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

static bool take_text(struct part *p, const char *text, size_t len)
{
	p->len = len;
	p->ptx = room(len + 1);
	if (!p->ptx)
		return false;
	memcpy(p->ptx, text, len);
	p->ptx[len] = 0;
	return true;
}

static bool take(struct part *p, const void *data, size_t len, uint32_t arch)
{
	const struct gsx_fat_wrapper *w = data;
	uint32_t magic;

	if (len && len < 16)
		return false;
	memcpy(&magic, data, sizeof(magic));
	if (magic == GSX_FAT_WRAPPER_MAGIC)
		return w->data && !(w->version == 2 && w->more) &&
		       take_from_container(p, w->data, arch, false);
	if (magic == GSX_FAT_MAGIC)
		return (!len || gsx_fat_length(data) <= len) &&
		       take_from_container(p, data, arch, false);
	/* The other things begin with bytes that no text has. */
	if (!isspace((uint8_t)*(const char *)data) && *(const char *)data != '.' &&
	    *(const char *)data != '/')
		return false;
	return is_ptx(data) && take_text(p, data, len ? strnlen(data, len) : strlen(data));
}

static bool take_input(struct part *p, const struct gs_link_input *in, uint32_t arch)
{
	if (in->type == CU_JIT_INPUT_PTX)
		return take_text(p, in->data, strnlen(in->data, in->size));
	return in->type == CU_JIT_INPUT_FATBINARY && in->size >= 16 &&
	       gsx_fat_length(in->data) && gsx_fat_length(in->data) <= in->size &&
	       take_from_container(p, in->data, arch, true);
}

static void part_free(struct part *p)
{
	free(p->ptx);
	free(p->options);
}

static bool take_link(struct gs_source *s, struct gs_link *link)
{
	uint32_t i;

	s->link = link;
	s->parts = calloc(link->n, sizeof(*s->parts));
	for (i = 0; s->parts && i < link->n; i++) {
		if (take_input(&s->parts[s->n], &link->inputs[i], s->arch)) {
			s->parts[s->n++].input = i;
		} else {
			part_free(&s->parts[s->n]);
			s->parts[s->n] = (struct part){ 0 };
		}
	}
	return s->n > 0;
}

/* It is a program's own PTX, or what the program linked from some. */
static bool take_any(struct gs_source *s, const void *data, size_t len)
{
	struct gs_link *link = gs_link_find(data, len);

	if (link)
		return take_link(s, link);
	s->parts = calloc(1, sizeof(*s->parts));
	s->n = s->parts != NULL;
	return s->n && take(s->parts, data, len, s->arch);
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

/*
 * Each part is transformed by itself, and reads all others for what it calls there. That is
 * done within a launch, so it mustn't take long.
 */
bool gs_source_is_too_much(const struct gs_source *source)
{
	size_t total = 0;
	uint32_t i;

	for (i = 0; i < source->n; i++)
		total += source->parts[i].len;
	return source->n > 1 && total > MAX_PARSED / source->n;
}

static uint32_t put_text(struct gs_image *image, uint32_t *at, const char *text, size_t len)
{
	uint32_t here = *at;

	memcpy((char *)image + here, text, len);
	((char *)image)[here + len] = 0;
	*at += (uint32_t)len + 1;
	return here;
}

/* Those of each part, one part after the other. */
static void pack_variables(struct gs_image *image, const struct gsx_result *parts, uint32_t n,
			   uint32_t *at)
{
	struct gs_image_variable *to = (void *)((char *)image + image->variables);
	const struct gsx_variable *v;
	uint32_t i, k;

	image->n_parts = n;
	for (i = 0; i < n; i++)
		for (k = 0; k < parts[i].n_variables; k++, to++) {
			v = &parts[i].variables[k];
			to->name = put_text(image, at, v->name, strlen(v->name));
			to->slot = v->slot;
			to->bytes = (uint32_t)v->size;
			to->part = i;
		}
}

/* @r: what came of @n @parts together, but their variables. */
static struct gs_image *pack(const struct gsx_result *r, const struct gsx_result *parts, uint32_t n)
{
	size_t bytes = sizeof(struct gs_image) + r->n_kernels * sizeof(struct gs_image_kernel) +
		       r->len + 1;
	uint32_t i, j, m, at, sizes, place, part = 0, of_part = 0, before = 0, n_variables = 0;
	struct gs_image_kernel *to;
	const struct gsx_kernel *k;
	struct gs_image *image;

	for (i = 0; i < r->n_kernels; i++) {
		bytes += strlen(r->kernels[i].name) + 1 + r->kernels[i].n_params * sizeof(sizes) +
			 r->kernels[i].n_variables * sizeof(sizes);
		for (m = 0; m < GSX_MODES; m++)
			if (r->kernels[i].variant[m])
				bytes += strlen(r->kernels[i].variant[m]) + 1;
	}
	for (i = 0; i < n; i++) {
		n_variables += parts[i].n_variables;
		for (j = 0; j < parts[i].n_variables; j++)
			bytes += strlen(parts[i].variables[j].name) + 1;
	}
	bytes += n_variables * sizeof(struct gs_image_variable);
	image = bytes < UINT32_MAX ? calloc(1, bytes) : NULL;
	if (!image)
		return NULL;
	image->bytes = (uint32_t)bytes;
	image->n_kernels = r->n_kernels;
	image->n_variables = n_variables;
	image->variables = sizeof(*image) + r->n_kernels * (uint32_t)sizeof(*image->kernels);
	sizes = image->variables + n_variables * (uint32_t)sizeof(struct gs_image_variable);
	for (at = sizes, i = 0; i < r->n_kernels; i++)
		at += (r->kernels[i].n_params + r->kernels[i].n_variables) *
		      (uint32_t)sizeof(sizes);
	for (i = 0; i < r->n_kernels; i++) {
		k = &r->kernels[i];
		to = &image->kernels[i];
		to->name = put_text(image, &at, k->name, strlen(k->name));
		for (m = 0; m < GSX_MODES; m++)
			if (k->variant[m])
				to->variant[m] = put_text(image, &at, k->variant[m],
							  strlen(k->variant[m]));
		to->flags = k->flags;
		to->needs = k->needs;
		to->hidden_offset = k->hidden_offset;
		to->param_bytes = k->param_bytes;
		to->n_params = k->n_params;
		to->sizes = sizes - (uint32_t)((char *)to - (char *)image);
		for (j = 0; j < k->n_params; j++, sizes += sizeof(sizes))
			memcpy((char *)image + sizes, &k->params[j].size, sizeof(sizes));
		/* Its part's variables come behind those of the parts before. */
		for (; of_part == parts[part].n_kernels; part++, of_part = 0)
			before += parts[part].n_variables;
		of_part++;
		to->variables = sizes - (uint32_t)((char *)to - (char *)image);
		to->n_variables = k->n_variables;
		for (j = 0; j < k->n_variables; j++, sizes += sizeof(sizes)) {
			place = before + k->variables[j];
			memcpy((char *)image + sizes, &place, sizeof(place));
		}
		to->max_threads = k->max_threads;
	}
	pack_variables(image, parts, n, &at);
	image->text_len = (uint32_t)r->len;
	image->text = put_text(image, &at, r->text, r->len);
	return image;
}

/* The digest vouches for what we wrote; this for what another release wrote. */
static bool is_sound(const struct gs_image *image, size_t len)
{
	uint32_t i, m;

	if (len < sizeof(*image) || image->bytes != len ||
	    (len - sizeof(*image)) / sizeof(*image->kernels) < image->n_kernels ||
	    image->text >= len || image->text_len >= len - image->text ||
	    ((const char *)image)[len - 1] || image->variables >= len || image->n_parts > len ||
	    image->variables % sizeof(uint32_t) ||
	    (len - image->variables) / sizeof(struct gs_image_variable) < image->n_variables)
		return false;
	for (i = 0; i < image->n_variables; i++)
		if (gs_image_variables(image)[i].name >= len ||
		    gs_image_variables(image)[i].part >= image->n_parts ||
		    (gs_image_variables(image)[i].slot != GSX_CONSTANT &&
		     gs_image_variables(image)[i].slot >= image->n_variables))
			return false;
	for (i = 0; i < image->n_kernels; i++) {
		const struct gs_image_kernel *k = &image->kernels[i];
		size_t left = len - (size_t)((const char *)k - (const char *)image);

		if (k->name >= len || k->sizes >= left || k->sizes % sizeof(uint32_t) ||
		    (left - k->sizes) / sizeof(uint32_t) < k->n_params ||
		    k->variables >= left || k->variables % sizeof(uint32_t) ||
		    (left - k->variables) / sizeof(uint32_t) < k->n_variables)
			return false;
		for (m = 0; m < k->n_variables && !(k->flags & GSX_ANY_VARIABLE); m++)
			if (gs_image_reached(k, m) >= image->n_variables)
				return false;
		for (m = 0; m < GSX_MODES; m++)
			if (k->variant[m] >= len)
				return false;
	}
	return true;
}

static void add_texts(struct gs_sha256 *sha, const struct gs_source *s)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		gs_sha256_add_part(sha, s->parts[i].ptx, s->parts[i].len);
}

static void caps_key(const struct gs_source *s, uint8_t key[GS_SHA256_BYTES])
{
	static const char what[] = "libcuda wrapper, caps, " GS_XFORM_ID;
	struct gs_sha256 sha;

	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, what, sizeof(what));
	gs_sha256_add_part(&sha, &s->arch, sizeof(s->arch));
	add_texts(&sha, s);
	gs_sha256_end(&sha, key);
}

/* What earlier runs found. */
static void caps_read(struct gs_source *s)
{
	uint8_t key[GS_SHA256_BYTES];
	void *data;
	size_t len;

	if (s->caps_read)
		return;
	s->caps_read = true;
	caps_key(s, key);
	if (gs_cache_get(key, &data, &len))
		return;
	s->caps = data;
	s->n_caps = len / sizeof(*s->caps);
}

static uint64_t digest(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (*text)
		h = (h ^ (uint8_t)*text++) * 0x100000001b3ull;
	return h;
}

static struct cap *cap_of(const struct gs_source *s, const char *kernel)
{
	uint64_t name = digest(kernel);
	size_t i;

	for (i = 0; i < s->n_caps; i++)
		if (s->caps[i].kernel == name)
			return &s->caps[i];
	return NULL;
}

bool gs_source_cap(struct gs_source *source, const char *kernel, uint32_t registers)
{
	struct cap *c = cap_of(source, kernel), *more;
	uint8_t key[GS_SHA256_BYTES];

	if (c && c->registers == registers)
		return false;
	if (!c) {
		more = realloc(source->caps, (source->n_caps + 1) * sizeof(*more));
		if (!more)
			return false;
		source->caps = more;
		c = &more[source->n_caps++];
		c->kernel = digest(kernel);
	}
	c->registers = registers;
	caps_key(source, key);
	gs_cache_put(key, source->caps, source->n_caps * sizeof(*source->caps));
	return true;
}

static uint32_t cap(void *arg, const char *kernel, enum gsx_mode mode)
{
	const struct cap *c = cap_of(arg, kernel);

	(void)mode;
	return c ? (uint32_t)c->registers : 0;
}

static int by_name(const void *a, const void *b)
{
	const struct gsx_kernel *const *first = a, *const *second = b;

	return strcmp((*first)->name, (*second)->name);
}

/* Kernels of one name in several parts: a name doesn't tell which of them is launched. */
static bool drop_namesakes(struct gsx_kernel *kernels, uint32_t n)
{
	struct gsx_kernel **sorted = calloc(n + 1, sizeof(*sorted));
	uint32_t i;

	if (!sorted)
		return false;
	for (i = 0; i < n; i++)
		sorted[i] = &kernels[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (i = 1; i < n; i++)
		if (!by_name(&sorted[i - 1], &sorted[i])) {
			memset(sorted[i - 1]->variant, 0, sizeof(sorted[i]->variant));
			memset(sorted[i]->variant, 0, sizeof(sorted[i]->variant));
		}
	free(sorted);
	return true;
}

static int by_variable(const void *a, const void *b)
{
	const struct gsx_variable *const *first = a, *const *second = b;

	return strcmp((*first)->name, (*second)->name);
}

/* A part's own variable has another's name: which of them is found by it isn't known. */
static bool are_ambiguous(const struct gsx_result *parts, uint32_t n)
{
	const struct gsx_variable **sorted;
	uint32_t i, k, count = 0;
	bool found = false;

	for (i = 0; i < n; i++)
		count += parts[i].n_variables;
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!sorted)
		return true;
	for (count = 0, i = 0; i < n; i++)
		for (k = 0; k < parts[i].n_variables; k++)
			sorted[count++] = &parts[i].variables[k];
	qsort(sorted, count, sizeof(*sorted), by_variable);
	for (i = 1; i < count; i++)
		found |= !by_variable(&sorted[i - 1], &sorted[i]) &&
			 (sorted[i - 1]->local || sorted[i]->local);
	free(sorted);
	return found;
}

/* What came of each part as one: the texts with a NUL behind each, and all their kernels. */
static struct gs_image *pack_all(const struct gs_source *s, const struct gsx_result *r)
{
	struct gsx_result all = { 0 };
	struct gs_image *image = NULL;
	struct gsx_kernel *kernels;
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		all.len += r[i].len + 1;
		all.n_kernels += r[i].n_kernels;
	}
	all.text = malloc(all.len);
	kernels = calloc(all.n_kernels + 1, sizeof(*kernels));
	if (!all.text || !kernels)
		goto out;
	all.kernels = kernels;
	all.len = 0;
	all.n_kernels = 0;
	for (i = 0; i < s->n; i++) {
		memcpy(all.text + all.len, r[i].text, r[i].len);
		all.text[all.len + r[i].len] = 0;
		all.len += r[i].len + 1;
		if (r[i].n_kernels)
			memcpy(kernels + all.n_kernels, r[i].kernels,
			       r[i].n_kernels * sizeof(*kernels));
		all.n_kernels += r[i].n_kernels;
	}
	if (s->n == 1 || (drop_namesakes(kernels, all.n_kernels) && !are_ambiguous(r, s->n)))
		image = pack(&all, r, s->n);
out:
	free(all.text);
	free(kernels);
	return image;
}

/* NULL: a part can't be transformed, or there is no memory. */
static struct gs_image *transform_all(struct gs_source *s, uint32_t modes)
{
	struct gsx_options options = { .modes = modes, .cap = cap, .arg = s, .shadow = true };
	struct gsx_text *others = calloc(s->n, sizeof(*others)), own;
	struct gsx_result *r = calloc(s->n, sizeof(*r));
	struct gs_image *image = NULL;
	uint32_t i, good = 0;

	if (!r || !others)
		goto out;
	/* The last place is for the part itself. */
	for (i = 0; i < s->n; i++)
		others[i] = (struct gsx_text){ s->parts[i].ptx, s->parts[i].len };
	options.linked = others;
	options.n_linked = s->n - 1;
	for (i = s->n; i-- > 0;) {
		own = others[i];
		options.part = i;
		others[i] = others[s->n - 1];
		good += !gsx_ptx_transform(own.text, own.len, &options, &r[i]);
		others[i] = own;
	}
	if (good == s->n)
		image = pack_all(s, r);
	for (i = 0; i < s->n; i++)
		gsx_result_free(&r[i]);
out:
	free(others);
	free(r);
	return image;
}

static struct gs_image *transform(struct gs_source *s, uint32_t modes)
{
	static const char what[] = "libcuda wrapper, image 6, " GS_XFORM_ID;
	struct gs_image *image;
	uint8_t key[GS_SHA256_BYTES];
	struct gs_sha256 sha;
	void *kept;
	size_t len;

	caps_read(s);
	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, what, sizeof(what));
	gs_sha256_add_part(&sha, &modes, sizeof(modes));
	gs_sha256_add_part(&sha, s->caps, s->n_caps * sizeof(*s->caps));
	add_texts(&sha, s);
	gs_sha256_end(&sha, key);
	if (!gs_cache_get(key, &kept, &len)) {
		if (is_sound(kept, len))
			return kept;
		free(kept);
	}
	image = transform_all(s, modes);
	if (image)
		gs_cache_put(key, image, image->bytes);
	return image;
}

static bool can_be_cut(const struct gs_image *image)
{
	uint32_t i, m;

	for (i = 0; i < image->n_kernels; i++)
		for (m = 0; m < GSX_MODES; m++)
			if (image->kernels[i].variant[m])
				return true;
	return false;
}

/* The text in the form in which the part came, to free(); NULL: no memory. */
static void *in_its_form(const struct part *p, const char *text, size_t len, size_t *bytes)
{
	struct gsx_fat_entry entry = p->entry;
	void *out;

	if (!p->in_container) {
		*bytes = len + 1;
		out = malloc(*bytes);
		return out ? memcpy(out, text, *bytes) : NULL;
	}
	entry.flags &= ~(GSX_FAT_LZ4 | GSX_FAT_ZSTD);
	entry.data = text;
	entry.stored = len + 1;
	entry.size = len + 1;
	return gsx_fat_write(&entry, 1, &out, bytes) ? NULL : out;
}

/* All that was linked once more, with these texts. */
static void *link_again(const struct gs_source *s, const char *text, size_t len)
{
	struct gs_link_text *with = calloc(s->link->n, sizeof(*with));
	const char *end = text + len;
	void *load = NULL;
	bool ready = with;
	uint32_t i;

	for (i = 0; ready && i < s->n; i++) {
		struct gs_link_text *to = &with[s->parts[i].input];

		ready = text < end;
		if (ready)
			to->data = in_its_form(&s->parts[i], text, strlen(text), &to->size);
		ready = ready && to->data;
		text += ready ? strlen(text) + 1 : 0;
	}
	if (ready)
		load = gs_link_again(s->link, with);
	for (i = 0; with && i < s->link->n; i++)
		free(with[i].data);
	free(with);
	return load;
}

struct gs_image *gs_image_make(struct gs_source *source, uint32_t modes, void **load)
{
	struct gs_image *image;
	const char *text;
	size_t bytes;

	*load = NULL;
	image = gs_source_is_too_much(source) ? NULL : transform(source, modes);
	if (image && can_be_cut(image)) {
		text = gs_image_text(image, image->text);
		*load = source->link ? link_again(source, text, image->text_len) :
			in_its_form(source->parts, text, strlen(text), &bytes);
	}
	if (*load)
		return image;
	free(image);
	return NULL;
}

const struct gs_image_kernel *gs_image_find(const struct gs_image *image, const char *name)
{
	uint32_t i;

	for (i = 0; image && i < image->n_kernels; i++)
		if (!strcmp(gs_image_text(image, image->kernels[i].name), name))
			return &image->kernels[i];
	return NULL;
}
