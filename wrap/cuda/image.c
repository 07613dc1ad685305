// SPDX-License-Identifier: MIT
/*
 * What we make of a module's PTX (source.c).
 *
 * It is transformed, and handed on in the form in which it came: text as text, what came
 * in a container as a container of one entry with the compiler's options that the original
 * had. Of what was linked each input is transformed by itself, and all are linked once more.
 *
 * Results are kept on disk, also those of links, so that a program's second start costs a
 * digest and what the driver does to load it.
 */
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "link.h"
#include "wrap.h"
#include "wrap/launch/cache.h"
#include "xform_id.h"

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

static struct gs_cap *cap_of(const struct gs_source *s, const char *kernel)
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
	struct gs_cap *c = cap_of(source, kernel), *more;
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
	const struct gs_cap *c = cap_of(arg, kernel);

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
	options.linked = s->link ? others : NULL;
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
	static const char what[] = "libcuda wrapper, image 7, " GS_XFORM_ID;
	struct gs_image *image;
	bool is_linked = s->link;	/* with what isn't among the texts, perhaps */
	uint8_t key[GS_SHA256_BYTES];
	struct gs_sha256 sha;
	void *kept;
	size_t len;

	caps_read(s);
	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, what, sizeof(what));
	gs_sha256_add_part(&sha, &modes, sizeof(modes));
	gs_sha256_add_part(&sha, &is_linked, sizeof(is_linked));
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
static void *in_its_form(const struct gs_part *p, const char *text, size_t len, size_t *bytes)
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

static void add_options(struct gs_sha256 *sha, const struct gs_link_options *o)
{
	gs_sha256_add_part(sha, o->options, o->n * sizeof(*o->options));
	gs_sha256_add_part(sha, o->values, o->n * sizeof(*o->values));
}

/* All that a link's result depends on; @text: what the parts became. */
static void link_key(const struct gs_source *s, const char *text, size_t len,
		     uint8_t key[GS_SHA256_BYTES])
{
	static const char what[] = "libcuda wrapper, link 2";
	const struct gs_link_input *in = s->link->inputs;
	struct gs_sha256 sha;
	CUdevice present;
	int version = 0;
	uint32_t i, arch, part = 0;

	REAL(cuDriverGetVersion)(&version);
	/* The driver links for this one, though a library's PTX is for the oldest. */
	arch = REAL(cuCtxGetDevice)(&present) ? 0 : gs_device_arch(present);
	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, what, sizeof(what));
	gs_sha256_add_part(&sha, &version, sizeof(version));
	gs_sha256_add_part(&sha, &s->arch, sizeof(s->arch));
	gs_sha256_add_part(&sha, &arch, sizeof(arch));
	gs_sha256_add_part(&sha, text, len);
	add_options(&sha, &s->link->options);
	for (i = 0; i < s->link->n; i++, in++) {
		gs_sha256_add_part(&sha, &in->type, sizeof(in->type));
		add_options(&sha, &in->options);
		if (part < s->n && s->parts[part].input == i) {	/* it is in the text */
			gs_sha256_add_part(&sha, s->parts[part].options,
					   s->parts[part].entry.options_len);
			part++;
		} else {
			gs_sha256_add_part(&sha, in->data, in->size);
		}
	}
	gs_sha256_end(&sha, key);
}

/* All that was linked once more, with these texts. */
static void *link_again(const struct gs_source *s, const char *text, size_t len, size_t *size)
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
		load = gs_link_again(s->link, with, size);
	for (i = 0; with && i < s->link->n; i++)
		free(with[i].data);
	free(with);
	return load;
}

/* The same from disk, if it may be: compiling takes far longer than the rest. */
static void *linked(const struct gs_source *s, const char *text, size_t len, bool *from_disk)
{
	uint8_t key[GS_SHA256_BYTES];
	void *load;
	size_t size;

	link_key(s, text, len, key);
	if (*from_disk && !gs_cache_get(key, &load, &size))
		return load;
	*from_disk = false;
	load = link_again(s, text, len, &size);
	if (load)
		gs_cache_put(key, load, size);
	return load;
}

struct gs_image *gs_image_make(struct gs_source *source, uint32_t modes, bool *from_disk,
			       void **load)
{
	struct gs_image *image = NULL;
	bool may_be = *from_disk;
	const char *text;
	size_t bytes;

	*load = NULL;
	*from_disk = false;
	if (!gs_source_is_too_much(source) && gs_source_unpack(source))
		image = transform(source, modes);
	if (image && can_be_cut(image)) {
		text = gs_image_text(image, image->text);
		*from_disk = may_be && source->link;
		*load = source->link ? linked(source, text, image->text_len, from_disk) :
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
