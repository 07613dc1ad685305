// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

static char say[500];

/* Fills are the same in each run: they hang on the argument's number alone. */
static uint32_t next_random(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

static void put_element(const struct spec_arg *a, uint8_t *to, size_t i, uint64_t *s)
{
	uint32_t r = next_random(s);
	double real = (r % 2001) / 1000.0 - 1;
	uint64_t whole = a->type == S_CHAR || a->type == S_SHORT || a->type == S_INT ||
		a->type == S_LONG ? r % 1000 : ((uint64_t)r << 32 | next_random(s));

	if (a->fill == FILL_SMALL) {
		real = r % 8;
		whole = r % 8;
	} else if (a->fill != FILL_RANDOM) {
		real = i;
		whole = i;
	}
	if (a->type == S_FLOAT)
		*(float *)to = real;
	else if (a->type == S_DOUBLE)
		*(double *)to = real;
	else if (a->type == S_HALF)	/* 1.0 and what follows: never NaN */
		*(uint16_t *)to = 0x3c00 + whole % 1024;
	else
		memcpy(to, &whole, scalar_size[a->type]);
}

static void fill(const struct spec_arg *a, uint8_t *to, unsigned int number)
{
	size_t size = scalar_size[a->type], i, o;
	uint64_t s = 88172645463325252u + number * 977;
	uint8_t swap[8];

	if (a->fill == FILL_ZERO)
		return;
	for (i = 0; i < a->count; i++)
		put_element(a, to + i * size, i, &s);
	for (i = a->count - 1; a->fill == FILL_PERM && i > 0; i--) {
		o = next_random(&s) % (i + 1);
		memcpy(swap, to + i * size, size);
		memcpy(to + i * size, to + o * size, size);
		memcpy(to + o * size, swap, size);
	}
}

static cl_mem make_image(struct cut_job *j, const struct spec_arg *a, cl_int *err)
{
	cl_image_format format = { a->order, a->channel };
	cl_image_desc desc = {
		.image_type = a->image_type, .image_width = a->width, .image_height = a->height,
		.image_depth = a->depth, .image_array_size = a->layers,
	};

	return clCreateImage(j->program->host->context,
			     a->image_written ? CL_MEM_WRITE_ONLY : CL_MEM_READ_ONLY, &format,
			     &desc, NULL, err);
}

static bool make_buffer(struct cut_job *j, unsigned int i, cl_int *err)
{
	const struct spec_arg *a = &j->run->arg[i];
	cl_buffer_region part = { CUT_GUARD, a->count * scalar_size[a->type] };

	j->parent[i] = clCreateBuffer(j->program->host->context, CL_MEM_READ_WRITE, j->bytes[i],
				      NULL, err);
	if (!j->parent[i])
		return false;
	j->mem[i] = clCreateSubBuffer(j->parent[i], CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
				      &part, err);
	return j->mem[i];
}

const char *memory_make(struct cut_job *j)
{
	const struct spec_arg *a;
	cl_int err = 0;
	unsigned int i;
	size_t size;

	for (i = 0; i < j->run->n_args; i++) {
		a = &j->run->arg[i];
		size = a->count * scalar_size[a->type];
		if (a->kind == ARG_SAMPLER) {
			j->sampler[i] = clCreateSampler(j->program->host->context, a->normal,
							a->address, a->filter, &err);
			if (!j->sampler[i])
				break;
		}
		if (a->kind != ARG_BUFFER && a->kind != ARG_IMAGE)
			continue;
		j->bytes[i] = a->kind == ARG_BUFFER ?
			(size + CUT_GUARD - 1) / CUT_GUARD * CUT_GUARD + 2 * CUT_GUARD : size;
		j->initial[i] = malloc(j->bytes[i]);
		if (a->kind == ARG_BUFFER) {
			memset(j->initial[i], 0xa5, j->bytes[i]);
			memset(j->initial[i] + CUT_GUARD, 0, size);
			fill(a, j->initial[i] + CUT_GUARD, i);
			if (!make_buffer(j, i, &err))
				break;
			continue;
		}
		memset(j->initial[i], 0, size);
		fill(a, j->initial[i], i);
		j->mem[i] = make_image(j, a, &err);
		if (!j->mem[i])
			break;
	}
	snprintf(say, sizeof(say), "argument %u can't be made: %d", i, err);
	return i < j->run->n_args ? say : NULL;
}

const char *memory_arguments(struct cut_job *j, cl_kernel k)
{
	const struct spec_arg *a;
	unsigned int i;
	int err = 0;

	for (i = 0; i < j->run->n_args && !err; i++) {
		a = &j->run->arg[i];
		if (a->kind == ARG_VALUE)
			err = clSetKernelArg(k, i, a->count, a->value);
		else if (a->kind == ARG_LOCAL)
			err = clSetKernelArg(k, i, a->count, NULL);
		else if (a->kind == ARG_SAMPLER)
			err = clSetKernelArg(k, i, sizeof(j->sampler[i]), &j->sampler[i]);
		else
			err = clSetKernelArg(k, i, sizeof(j->mem[i]), &j->mem[i]);
	}
	snprintf(say, sizeof(say), "setting argument %u gives %d", i - 1, err);
	return err ? say : NULL;
}

static void image_region(const struct spec_arg *a, size_t region[3])
{
	region[0] = a->width;
	region[1] = a->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? a->layers : a->height;
	region[2] = a->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? a->layers : a->depth;
}

const char *memory_fill(struct cut_job *j)
{
	cl_command_queue q = j->program->host->queue;
	size_t origin[3] = { 0 }, region[3];
	unsigned int i;
	int err = 0;

	for (i = 0; i < j->run->n_args && !err; i++) {
		if (j->parent[i]) {
			err = clEnqueueWriteBuffer(q, j->parent[i], CL_TRUE, 0, j->bytes[i],
						   j->initial[i], 0, NULL, NULL);
		} else if (j->mem[i]) {
			image_region(&j->run->arg[i], region);
			err = clEnqueueWriteImage(q, j->mem[i], CL_TRUE, origin, region, 0, 0,
						  j->initial[i], 0, NULL, NULL);
		}
	}
	return err ? "memory can't be written" : NULL;
}

static size_t compared_size;

static int compare_bytes(const void *a, const void *b)
{
	return memcmp(a, b, compared_size);
}

const char *memory_state(struct cut_job *j, struct cut_state *s)
{
	cl_command_queue q = j->program->host->queue;
	size_t origin[3] = { 0 }, region[3], at = 0;
	unsigned int i;
	int err = 0;

	s->size = 0;
	for (i = 0; i < j->run->n_args; i++)
		s->size += j->bytes[i];
	s->bytes = calloc(1, s->size + 1);
	for (i = 0; i < j->run->n_args && !err; i++) {
		const struct spec_arg *a = &j->run->arg[i];

		if (j->parent[i]) {
			err = clEnqueueReadBuffer(q, j->parent[i], CL_TRUE, 0, j->bytes[i],
						  s->bytes + at, 0, NULL, NULL);
		} else if (j->mem[i]) {
			image_region(a, region);
			err = clEnqueueReadImage(q, j->mem[i], CL_TRUE, origin, region, 0, 0,
						 s->bytes + at, 0, NULL, NULL);
		}
		compared_size = scalar_size[a->type];
		if (a->sorted)
			qsort(s->bytes + at + CUT_GUARD, a->count, compared_size, compare_bytes);
		at += j->bytes[i];
	}
	return err ? "memory can't be read" : NULL;
}

const char *memory_compare(const struct cut_job *j, const struct cut_state *got)
{
	const struct cut_state *want = &j->expected;
	size_t at = 0, k;
	unsigned int i;

	for (i = 0; i < j->run->n_args; at += j->bytes[i++]) {
		for (k = 0; k < j->bytes[i] && want->bytes[at + k] == got->bytes[at + k]; k++)
			;
		if (k == j->bytes[i])
			continue;
		if (j->parent[i])
			k -= CUT_GUARD;
		snprintf(say, sizeof(say), "argument %u differs, first in element %ld", i,
			 (long)k / (long)scalar_size[j->run->arg[i].type]);
		return say;
	}
	if (!want->printed != !got->printed ||
	    (want->printed && strcmp(want->printed, got->printed))) {
		snprintf(say, sizeof(say), "what it printed differs: \"%.200s\" against \"%.200s\"",
			 got->printed ? got->printed : "", want->printed ? want->printed : "");
		return say;
	}
	return NULL;
}

void memory_drop(struct cut_job *j)
{
	unsigned int i;

	for (i = 0; i < SPEC_ARGS; i++) {
		if (j->mem[i])
			clReleaseMemObject(j->mem[i]);
		if (j->parent[i])
			clReleaseMemObject(j->parent[i]);
		if (j->sampler[i])
			clReleaseSampler(j->sampler[i]);
		free(j->initial[i]);
	}
}

/* Drivers print to the process's standard output, so it is turned into a file. */
static int kept_stdout = -1;
static FILE *printed;

void print_begin(struct cut_job *j)
{
	if (!(j->k->flags & GSX_CL_PRINTF))
		return;
	fflush(stdout);
	printed = tmpfile();
	kept_stdout = dup(1);
	if (printed)
		dup2(fileno(printed), 1);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void print_end(struct cut_job *j, struct cut_state *s)
{
	char *text, *line[4096], *save = NULL;
	size_t n = 0, k, len = 0;
	long size;

	if (!(j->k->flags & GSX_CL_PRINTF))
		return;
	fflush(stdout);
	dup2(kept_stdout, 1);
	close(kept_stdout);
	if (!printed)
		return;
	fseek(printed, 0, SEEK_END);
	size = ftell(printed);
	rewind(printed);
	text = calloc(1, size + 1);
	size = fread(text, 1, size, printed);
	fclose(printed);
	s->printed = calloc(1, size + 2);
	for (line[n] = strtok_r(text, "\n", &save); line[n] && n < 4095; )
		line[++n] = strtok_r(NULL, "\n", &save);
	qsort(line, n, sizeof(*line), compare_lines);
	for (k = 0; k < n; k++)
		len += sprintf(s->printed + len, "%s\n", line[k]);
	free(text);
}
