// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clhost.h"
#include "spec.h"

const size_t scalar_size[SCALARS] = { 1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8 };

static const char *const scalar_name[SCALARS] = {
	[S_CHAR] = "char", [S_UCHAR] = "uchar", [S_SHORT] = "short", [S_USHORT] = "ushort",
	[S_INT] = "int", [S_UINT] = "uint", [S_LONG] = "long", [S_ULONG] = "ulong",
	[S_HALF] = "half", [S_FLOAT] = "float", [S_DOUBLE] = "double",
};

struct word { const char *name; uint32_t value; };

static const struct word fills[] = {
	{ "zero", FILL_ZERO }, { "random", FILL_RANDOM }, { "small", FILL_SMALL },
	{ "index", FILL_INDEX }, { "perm", FILL_PERM }, { NULL, 0 },
};
static const struct word image_types[] = {
	{ "image1d", CL_MEM_OBJECT_IMAGE1D }, { "image2d", CL_MEM_OBJECT_IMAGE2D },
	{ "image3d", CL_MEM_OBJECT_IMAGE3D }, { "image1d_array", CL_MEM_OBJECT_IMAGE1D_ARRAY },
	{ "image2d_array", CL_MEM_OBJECT_IMAGE2D_ARRAY }, { NULL, 0 },
};
static const struct word channels[] = {
	{ "rgba32f", CL_FLOAT }, { "rgba32ui", CL_UNSIGNED_INT32 }, { "rgba8", CL_UNORM_INT8 },
	{ NULL, 0 },
};
static const struct word filters[] = {
	{ "nearest", CL_FILTER_NEAREST }, { "linear", CL_FILTER_LINEAR }, { NULL, 0 },
};
static const struct word addresses[] = {
	{ "none", CL_ADDRESS_NONE }, { "edge", CL_ADDRESS_CLAMP_TO_EDGE },
	{ "clamp", CL_ADDRESS_CLAMP }, { "repeat", CL_ADDRESS_REPEAT }, { NULL, 0 },
};
static const struct word normals[] = { { "pixel", CL_FALSE }, { "norm", CL_TRUE }, { NULL, 0 } };

static bool look_up(const struct word *w, const char *name, uint32_t *value)
{
	for (; w->name; w++)
		if (!strcmp(w->name, name)) {
			*value = w->value;
			return true;
		}
	return false;
}

/* "float4": the scalar and how many of them; 3 take the place of 4. */
static bool type_of(const char *name, enum scalar *type, unsigned int *n)
{
	int i;

	for (i = 0; i < SCALARS; i++) {
		size_t len = strlen(scalar_name[i]);

		if (strncmp(name, scalar_name[i], len))
			continue;
		*n = name[len] ? atoi(name + len) : 1;
		*type = i;
		if (*n && *n <= 16)
			return true;
	}
	return false;
}

static void put_scalar(enum scalar type, const char *text, uint8_t *to)
{
	if (type == S_FLOAT)
		*(float *)to = strtof(text, NULL);
	else if (type == S_DOUBLE)
		*(double *)to = strtod(text, NULL);
	else
		memcpy(to, &(long long){ strtoll(text, NULL, 0) }, scalar_size[type]);
}

/* Values of one type behind each other; returns the bytes, padded to the vector's size. */
static size_t put_values(enum scalar type, unsigned int n, char **word, uint8_t *to)
{
	unsigned int k;

	for (k = 0; k < n && word[k]; k++)
		put_scalar(type, word[k], to + k * scalar_size[type]);
	return (n == 3 ? 4 : n) * scalar_size[type];
}

/* "TYPE:VALUE...": each aligned as C does it. */
static bool struct_value(char **word, struct spec_arg *a)
{
	size_t at = 0, align = 1, size;
	enum scalar type;
	unsigned int n;

	for (; *word; word++) {
		char *part[18] = { NULL }, *save = NULL;
		int k = 0;

		for (part[k] = strtok_r(*word, ":", &save); part[k] && k < 17; )
			part[++k] = strtok_r(NULL, ":", &save);
		if (!part[0] || !type_of(part[0], &type, &n))
			return false;
		size = (n == 3 ? 4 : n) * scalar_size[type];
		align = size > align ? size : align;
		at = (at + size - 1) / size * size;
		if (at + size > sizeof(a->value))
			return false;
		put_values(type, n, part + 1, a->value + at);
		at += size;
	}
	a->count = (at + align - 1) / align * align;
	return a->count > 0;
}

static bool image_value(char **word, int n, struct spec_arg *a)
{
	uint32_t size[3] = { 1, 1, 1 }, fill;
	int k;

	if (n < 4 || n > 6 || !look_up(channels, word[1], &a->channel) ||
	    !look_up(fills, word[n - 1], &fill))
		return false;
	for (k = 2; k < n - 1; k++)
		size[k - 2] = atoi(word[k]);
	a->order = CL_RGBA;
	a->image_written = !strcmp(word[0], "w");
	a->fill = fill;
	a->type = a->channel == CL_FLOAT ? S_FLOAT : a->channel == CL_UNORM_INT8 ? S_UCHAR : S_UINT;
	a->width = size[0];
	a->height = size[1];
	a->depth = size[2];
	if (a->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
		a->layers = size[1];
		a->height = 1;
	} else if (a->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY) {
		a->layers = size[2];
		a->depth = 1;
	}
	a->count = (size_t)size[0] * size[1] * size[2] * 4;
	return true;
}

static bool buffer_value(char **word, int n, struct spec_arg *a)
{
	uint32_t fill;
	unsigned int one;

	if (n < 3 || !type_of(word[0], &a->type, &one) || one != 1 ||
	    !look_up(fills, word[2], &fill))
		return false;
	a->kind = ARG_BUFFER;
	a->count = strtoul(word[1], NULL, 0);
	a->fill = fill;
	a->sorted = n > 3 && !strcmp(word[3], "sorted");
	return a->count && (n == 3 || a->sorted);
}

/* One argument: NAME(WORD,WORD...) */
static bool arg_parse(char *text, struct spec_arg *a)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	char *word[24] = { NULL }, *save = NULL;
	enum scalar type;
	unsigned int lanes;
	int n = 0;

	if (!open || !close || close < open)
		return false;
	*open = *close = 0;
	for (word[n] = strtok_r(open + 1, ",", &save); word[n] && n < 23; )
		word[++n] = strtok_r(NULL, ",", &save);
	if (!strcmp(text, "buf"))
		return buffer_value(word, n, a);
	if (look_up(image_types, text, &a->image_type)) {
		a->kind = ARG_IMAGE;
		return image_value(word, n, a);
	}
	if (!strcmp(text, "local")) {
		a->kind = ARG_LOCAL;
		a->count = n == 1 ? strtoul(word[0], NULL, 0) : 0;
		return a->count > 0;
	}
	if (!strcmp(text, "sampler")) {
		a->kind = ARG_SAMPLER;
		return n == 3 && look_up(filters, word[0], &a->filter) &&
			look_up(addresses, word[1], &a->address) &&
			look_up(normals, word[2], &a->normal);
	}
	a->kind = ARG_VALUE;
	if (!strcmp(text, "struct"))
		return struct_value(word, a);
	if (!type_of(text, &type, &lanes) || n != (int)lanes)
		return false;
	a->count = put_values(type, lanes, word, a->value);
	return true;
}

/* 4x3x2; the number of dimensions, 0: nonsense */
static unsigned int size_parse(const char *text, size_t size[3])
{
	unsigned int d = 0;
	char *end;

	for (;;) {
		size[d++] = strtoul(text, &end, 10);
		if (*end != 'x' || d == 3 || end == text)
			return *end ? 0 : d;
		text = end + 1;
	}
}

const char *spec_run_parse(const char *line, struct spec_run *r)
{
	char copy[2048], *word, *save = NULL, *args;
	unsigned int k, dims;

	memset(r, 0, sizeof(*r));
	snprintf(copy, sizeof(copy), "%s", line);
	args = strchr(copy, ':');
	if (!args)
		return "a run without a ':'";
	*args++ = 0;
	word = strtok_r(copy, " ", &save);
	if (!word || strlen(word) >= SPEC_NAME)
		return "a run without a kernel's name";
	strcpy(r->kernel, word);
	for (k = 0; k < 3; k++)
		r->global[k] = r->local[k] = 1;
	while ((word = strtok_r(NULL, " ", &save))) {
		if (!strncmp(word, "global=", 7)) {
			r->dims = size_parse(word + 7, r->global);
		} else if (!strncmp(word, "local=", 6)) {
			dims = size_parse(word + 6, r->local);
			if (dims != r->dims)
				return "local= has other dimensions than global=";
		} else if (!strncmp(word, "offset=", 7)) {
			dims = size_parse(word + 7, r->offset);
			if (dims != r->dims)
				return "offset= has other dimensions than global=";
		} else if (!strcmp(word, "never")) {
			r->never = true;
		} else if (!strcmp(word, "only=oclgrind")) {
			r->oclgrind_only = true;
		} else {
			return "a run with a word that isn't known";
		}
	}
	for (k = 0; k < 3; k++)
		if (!r->dims || !r->local[k] || r->global[k] % r->local[k])
			return "a run whose sizes don't fit";
	for (word = strtok_r(args, " ", &save); word; word = strtok_r(NULL, " ", &save))
		if (r->n_args == SPEC_ARGS || !arg_parse(word, &r->arg[r->n_args++]))
			return "a run with an argument that can't be read";
	return NULL;
}

static const char *expect_parse(const char *line, struct spec_expect *e)
{
	int end = 0;

	strcpy(e->workers, "ok");
	if (sscanf(line, "%127s slice=%95s workers=%95s", e->kernel, e->slice, e->workers) < 2 &&
	    (sscanf(line, "%127s workers=%95s%n", e->kernel, e->workers, &end) != 2 || !end))
		return "an expectation that can't be read";
	if (!e->slice[0])
		strcpy(e->slice, "ok");
	return NULL;
}

static const char *line_parse(const char *line, unsigned int at, struct spec *s,
			      struct spec_run ***run_tail, struct spec_expect ***expect_tail)
{
	const char *error = NULL;

	if (!strncmp(line, "// options: ", 12)) {
		snprintf(s->options, sizeof(s->options), "%.255s", line + 12);
	} else if (!strncmp(line, "// needs: ", 10)) {
		snprintf(s->needs, sizeof(s->needs), "%.255s", line + 10);
	} else if (!strncmp(line, "// report-only", 14)) {
		s->report_only = true;
	} else if (!strncmp(line, "// run ", 7)) {
		struct spec_run *r = calloc(1, sizeof(*r));

		error = spec_run_parse(line + 7, r);
		r->line = at;
		**run_tail = r;
		*run_tail = &r->next;
	} else if (!strncmp(line, "// expect ", 10)) {
		struct spec_expect *e = calloc(1, sizeof(*e));

		error = expect_parse(line + 10, e);
		**expect_tail = e;
		*expect_tail = &e->next;
	}
	return error;
}

const char *spec_read(const char *path, struct spec *s)
{
	struct spec_expect **expect_tail = &s->expects;
	struct spec_run **run_tail = &s->runs;
	static char say[400];
	const char *at, *end, *error;
	char line[2048];
	unsigned int n = 0;
	long size;
	FILE *f;

	memset(s, 0, sizeof(*s));
	f = fopen(path, "r");
	if (!f)
		return "can't be opened";
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	s->text = calloc(1, size + 1);
	s->len = fread(s->text, 1, size, f);
	fclose(f);
	for (at = s->text; *at; at = *end ? end + 1 : end) {
		end = strchrnul(at, '\n');
		n++;
		if ((size_t)(end - at) >= sizeof(line))
			continue;
		memcpy(line, at, end - at);
		line[end - at] = 0;
		error = line_parse(line, n, s, &run_tail, &expect_tail);
		if (error) {
			snprintf(say, sizeof(say), "line %u: %s", n, error);
			return say;
		}
	}
	return NULL;
}

void spec_free(struct spec *s)
{
	void *next;

	for (; s->runs; s->runs = next) {
		next = s->runs->next;
		free(s->runs);
	}
	for (; s->expects; s->expects = next) {
		next = s->expects->next;
		free(s->expects);
	}
	free(s->text);
}

const struct spec_expect *spec_expect_of(const struct spec *s, const char *kernel)
{
	const struct spec_expect *e;

	for (e = s->expects; e; e = e->next)
		if (!strcmp(e->kernel, kernel))
			return e;
	return NULL;
}
