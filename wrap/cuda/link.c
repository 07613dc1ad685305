// SPDX-License-Identifier: MIT
/*
 * What a program links at run time: inputs are added to a link, and what comes out, machine
 * code, is loaded like any other. Programs that compile kernels as they go do so, and link
 * them with functions from elsewhere.
 *
 * The inputs are copied when the driver has taken them, and the result when it is there.
 * When those very bytes are loaded, wherever they lie by then (many programs copy them,
 * and end the link before they load), it is known what they were made of, and they are cut
 * as any PTX is: image.c transforms the inputs that are PTX, and all are linked once more.
 * Bytes that the program has changed are not those, and its kernels go whole. So do links
 * with options that we don't know, those that the driver refused an input of, and those
 * whose inputs and result are more than MOST_BYTES.
 *
 * What the driver links itself, when it loads a wrapper of several containers, is the same
 * with other inputs: such a link is made of the containers (gs_link_of).
 *
 * What is kept is bounded: the oldest goes first, and what was loaded counts as oldest, as
 * that is mostly loaded once. A module that was loaded keeps its own inputs.
 */
#include <gsfatbin.h>
#include <stdlib.h>
#include <string.h>

#include "cut.h"
#include "link.h"
#include "module.h"
#include "wrap.h"
#include "wrap/launch/option.h"

#define MOST_BYTES	(64u << 20)	/* of all links that are kept */

/* A link of the program's that isn't destroyed yet. */
struct open_link {
	struct open_link *next;
	CUlinkState state;
	struct gs_link *link;	/* what was added so far; NULL: somebody adds to it, or it's lost */
	bool lost;		/* not all is known that was added */
};

static struct open_link *open_links;
static struct gs_link *links;	/* the newest first */
static size_t kept_bytes;	/* of these */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum meaning { MATTERS, TELLS, UNKNOWN };

/* By the numbers of CUjit_option. */
static enum meaning meaning_of(int option)
{
	switch (option) {
	case 0:			/* registers */
	case 7 ... 11:		/* optimisation, target, what to fall back on, debug */
	case 13 ... 15:		/* lines, caches */
		return MATTERS;
	case 2 ... 6:		/* time and logs */
	case 12:
		return TELLS;
	default:
		return UNKNOWN;
	}
}

static void options_free(struct gs_link_options *o)
{
	free(o->options);
	free(o->values);
}

static bool options_keep(struct gs_link_options *o, unsigned int n, const int *options,
			 void *const *values)
{
	unsigned int i;

	*o = (struct gs_link_options){ 0 };
	if (!n)
		return true;
	o->options = calloc(n, sizeof(*o->options));
	o->values = calloc(n, sizeof(*o->values));
	for (i = 0; i < n && o->options && o->values && options && values; i++) {
		if (meaning_of(options[i]) == UNKNOWN)
			break;
		if (meaning_of(options[i]) == TELLS)
			continue;
		o->options[o->n] = options[i];
		o->values[o->n++] = values[i];
	}
	return i == n;
}

static void link_free(struct gs_link *l)
{
	uint32_t i;

	for (i = 0; i < l->n; i++) {
		free(l->inputs[i].data);
		free(l->inputs[i].name);
		options_free(&l->inputs[i].options);
	}
	free(l->inputs);
	options_free(&l->options);
	free(l->out);
	free(l);
}

void gs_link_put(struct gs_link *link)
{
	bool last;

	if (!link)
		return;
	pthread_mutex_lock(&lock);
	last = !--link->refs;
	pthread_mutex_unlock(&lock);
	if (last)
		link_free(link);
}

static struct gs_link *begin(unsigned int n, const int *options, void *const *values)
{
	struct gs_link *l = gs_cuts_nothing() ? NULL : calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->refs = 1;
	if (options_keep(&l->options, n, options, values))
		return l;
	link_free(l);
	return NULL;
}

static CUresult begun(CUresult r, struct gs_link *l, const CUlinkState *state)
{
	struct open_link *o = !r && l ? malloc(sizeof(*o)) : NULL;

	if (!o) {
		gs_link_put(l);
		return r;
	}
	*o = (struct open_link){ .state = *state, .link = l };
	pthread_mutex_lock(&lock);
	o->next = open_links;
	open_links = o;
	pthread_mutex_unlock(&lock);
	return r;
}

/* What was added to the link so far. Without it the next one is lost, unless it's given back. */
static struct gs_link *take_from(CUlinkState state)
{
	struct gs_link *l = NULL;
	struct open_link *o;

	pthread_mutex_lock(&lock);
	for (o = open_links; o && o->state != state; o = o->next)
		;
	if (o) {
		l = o->link;
		o->link = NULL;
		o->lost |= !l;
	}
	pthread_mutex_unlock(&lock);
	return l;
}

static void give_back(CUlinkState state, struct gs_link *l)
{
	struct open_link *o;

	pthread_mutex_lock(&lock);
	for (o = open_links; o && o->state != state; o = o->next)
		;
	if (o && !o->lost) {
		o->link = l;
		l = NULL;
	}
	pthread_mutex_unlock(&lock);
	gs_link_put(l);
}

static bool add(struct gs_link *l, int type, const void *data, size_t size, const char *name,
		struct gs_link_options *options)
{
	struct gs_link_input *more, in = { .type = type, .size = size, .options = *options };

	if (size > MOST_BYTES - l->bytes)
		return false;
	more = realloc(l->inputs, (l->n + 1) * sizeof(*more));
	if (!more)
		return false;
	l->inputs = more;
	in.data = malloc(size + 1);
	in.name = name ? strdup(name) : NULL;
	if (!in.data || (name && !in.name)) {
		free(in.data);
		free(in.name);
		return false;
	}
	memcpy(in.data, data, size);
	in.data[size] = 0;
	l->inputs[l->n++] = in;
	l->bytes += size;
	*options = (struct gs_link_options){ 0 };
	return true;
}

struct gs_link *gs_link_of(const void *const *containers)
{
	struct gs_link *l = begin(0, NULL, NULL);
	struct gs_link_options none = { 0 };

	for (; l && *containers; containers++)
		if (!add(l, CU_JIT_INPUT_FATBINARY, *containers, gsx_fat_length(*containers), NULL,
			 &none)) {
			gs_link_put(l);
			l = NULL;
		}
	return l;
}

typedef CUresult add_data_fn(CUlinkState state, int type, void *data, size_t size,
			     const char *name, unsigned int n, int *options, void **values);
typedef CUresult add_file_fn(CUlinkState state, int type, const char *path, unsigned int n,
			     int *options, void **values);

static CUresult add_data(CUlinkState state, int type, void *data, size_t size, const char *name,
			 unsigned int n, int *options, void **values, add_data_fn *real)
{
	struct gs_link *l = take_from(state);
	struct gs_link_options o = { 0 };
	bool known = l && options_keep(&o, n, options, values);
	CUresult r = real(state, type, data, size, name, n, options, values);

	if (known && !r && add(l, type, data, size, name, &o))
		give_back(state, l);
	else
		gs_link_put(l);
	options_free(&o);
	return r;
}

HOOK(cuLinkAddData, CUlinkState state, int type, void *data, size_t size, const char *name,
     unsigned int n, int *options, void **values)
{
	return add_data(state, type, data, size, name, n, options, values, REAL(cuLinkAddData));
}

HOOK(cuLinkAddData_v2, CUlinkState state, int type, void *data, size_t size, const char *name,
     unsigned int n, int *options, void **values)
{
	return add_data(state, type, data, size, name, n, options, values,
			REAL(cuLinkAddData_v2));
}

/* The file is the driver's to read: it counts if it was the same before and after. */
static CUresult add_file(CUlinkState state, int type, const char *path, unsigned int n,
			 int *options, void **values, add_file_fn *real)
{
	struct gs_link *l = take_from(state);
	struct gs_link_options o = { 0 };
	bool known = l && options_keep(&o, n, options, values);
	char *before, *after = NULL;
	size_t len = 0, again = 0;
	CUresult r;

	before = known ? gs_read_file(path, &len, MOST_BYTES - l->bytes) : NULL;
	r = real(state, type, path, n, options, values);
	if (before && !r)
		after = gs_read_file(path, &again, len);
	if (after && len == again && !memcmp(before, after, len) &&
	    add(l, type, before, len, path, &o))
		give_back(state, l);
	else
		gs_link_put(l);
	options_free(&o);
	free(before);
	free(after);
	return r;
}

HOOK(cuLinkAddFile, CUlinkState state, int type, const char *path, unsigned int n, int *options,
     void **values)
{
	return add_file(state, type, path, n, options, values, REAL(cuLinkAddFile));
}

HOOK(cuLinkAddFile_v2, CUlinkState state, int type, const char *path, unsigned int n,
     int *options, void **values)
{
	return add_file(state, type, path, n, options, values, REAL(cuLinkAddFile_v2));
}

HOOK(cuLinkCreate, unsigned int n, int *options, void **values, CUlinkState *state)
{
	struct gs_link *l = begin(n, options, values);

	return begun(REAL(cuLinkCreate)(n, options, values, state), l, state);
}

HOOK(cuLinkCreate_v2, unsigned int n, int *options, void **values, CUlinkState *state)
{
	struct gs_link *l = begin(n, options, values);

	return begun(REAL(cuLinkCreate_v2)(n, options, values, state), l, state);
}

/* The lock is held: takes the oldest out until there is room. */
static struct gs_link *make_room(void)
{
	struct gs_link **at, *out = NULL, *l;

	while (kept_bytes > MOST_BYTES) {
		for (at = &links; (*at)->next; at = &(*at)->next)
			;
		l = *at;
		*at = NULL;
		__atomic_sub_fetch(&kept_bytes, l->bytes, __ATOMIC_RELAXED);
		l->next = out;
		out = l;
	}
	return out;
}

static void remember(struct gs_link *l, const void *out, size_t size)
{
	struct gs_link *old;

	if (size > MOST_BYTES - l->bytes || !size || !(l->out = malloc(size))) {
		gs_link_put(l);
		return;
	}
	memcpy(l->out, out, size);
	l->size = size;
	l->bytes += size;
	pthread_mutex_lock(&lock);
	l->next = links;
	links = l;
	__atomic_add_fetch(&kept_bytes, l->bytes, __ATOMIC_RELAXED);
	old = make_room();
	pthread_mutex_unlock(&lock);
	while ((l = old)) {
		old = l->next;
		gs_link_put(l);
	}
}

HOOK(cuLinkComplete, CUlinkState state, void **out, size_t *size)
{
	CUresult r = REAL(cuLinkComplete)(state, out, size);
	struct gs_link *l = take_from(state);

	if (l && !r && out && size)
		remember(l, *out, *size);
	else if (l)
		gs_link_put(l);
	return r;
}

HOOK(cuLinkDestroy, CUlinkState state)
{
	struct open_link **at, *o;

	/* Before the driver does, which may give the same handle to another thread. */
	pthread_mutex_lock(&lock);
	for (at = &open_links; *at && (*at)->state != state; at = &(*at)->next)
		;
	o = *at;
	if (o)
		*at = o->next;
	pthread_mutex_unlock(&lock);
	if (o)
		gs_link_put(o->link);
	free(o);
	return REAL(cuLinkDestroy)(state);
}

/*
 * Nobody says how long @data is. So it is read byte by byte and no further than it is the
 * same: what is the same up to the end of the result is one that ends there.
 */
static bool is_result(const struct gs_link *l, const char *data, size_t len)
{
	size_t i;

	for (i = 0; i < l->size && (!len || i < len) && data[i] == l->out[i]; i++)
		;
	return i == l->size;
}

struct gs_link *gs_link_find(const void *data, size_t len)
{
	struct gs_link **at, *l;

	if (!__atomic_load_n(&kept_bytes, __ATOMIC_RELAXED))
		return NULL;
	pthread_mutex_lock(&lock);
	for (at = &links; *at && !is_result(*at, data, len); at = &(*at)->next)
		;
	l = *at;
	if (l) {
		l->refs++;
		*at = l->next;
		l->next = NULL;
		for (at = &links; *at; at = &(*at)->next)
			;
		*at = l;
	}
	pthread_mutex_unlock(&lock);
	return l;
}

static CUresult add_again(CUlinkState state, const struct gs_link_input *in,
			  const struct gs_link_text *with)
{
	return REAL(cuLinkAddData_v2)(state, in->type, with->data ? with->data : in->data,
				      with->data ? with->size : in->size, in->name,
				      in->options.n, in->options.options, in->options.values);
}

void *gs_link_again(const struct gs_link *link, const struct gs_link_text *with, size_t *size)
{
	void *out, *copy = NULL;
	CUlinkState state;
	uint32_t i = 0;

	if (REAL(cuLinkCreate_v2)(link->options.n, link->options.options, link->options.values,
				  &state))
		return NULL;
	while (i < link->n && !add_again(state, &link->inputs[i], &with[i]))
		i++;
	if (i == link->n && !REAL(cuLinkComplete)(state, &out, size)) {
		copy = malloc(*size);
		if (copy)
			memcpy(copy, out, *size);
	}
	REAL(cuLinkDestroy)(state);
	return copy;
}

void gs_links_forget(void)
{
	pthread_mutex_init(&lock, NULL);
}
