// SPDX-License-Identifier: MIT
/* The product's preprocessor, with the answers of the device at hand. */
#include <errno.h>
#include <gsopencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clhost.h"

struct answers {
	struct gsx_cl_macro macro[256];
	char *memory[16];
	uint32_t n, rounds;
};

/* Runs the probe; its answer, to be freed. */
static char *probe(const struct host *h, const struct gsx_cl_source *s, size_t room, char *log,
		   size_t log_size)
{
	char *text = gsx_cl_probe(s->questions, s->n_questions), *answer = NULL;
	cl_uint bytes = room;
	cl_kernel k = NULL;
	cl_mem mem = NULL;
	cl_program p;
	cl_int err;

	p = host_build(h, text, strlen(text), s->options, log, log_size);
	if (p)
		k = clCreateKernel(p, "gsx_probe", &err);
	if (k)
		mem = clCreateBuffer(h->context, CL_MEM_READ_WRITE, room, NULL, &err);
	if (mem && !clSetKernelArg(k, 0, sizeof(mem), &mem) &&
	    !clSetKernelArg(k, 1, sizeof(bytes), &bytes) &&
	    !clEnqueueNDRangeKernel(h->queue, k, 1, NULL, &(size_t){ 1 }, NULL, 0, NULL, NULL)) {
		answer = calloc(1, room);
		if (clEnqueueReadBuffer(h->queue, mem, CL_TRUE, 0, room, answer, 0, NULL, NULL)) {
			free(answer);
			answer = NULL;
		}
	}
	if (mem)
		clReleaseMemObject(mem);
	if (k)
		clReleaseKernel(k);
	if (p)
		clReleaseProgram(p);
	free(text);
	return answer;
}

/* Asks the device what the preprocessor wants to know. */
static bool ask(const struct host *h, const struct gsx_cl_source *s, struct answers *a, char *log,
		size_t log_size)
{
	size_t room = gsx_cl_probe_room(s->n_questions);
	uint32_t k;
	char *answer;

	if (a->n + s->n_questions > 256 || a->rounds == 16) {
		snprintf(log, log_size, "the preprocessor asks without end");
		return false;
	}
	answer = probe(h, s, room, log, log_size);
	if (!answer)
		return false;
	a->memory[a->rounds++] = answer;
	if (gsx_cl_probe_answer(s->questions, s->n_questions, answer, room, a->macro + a->n)) {
		snprintf(log, log_size, "the probe's answer can't be read");
		return false;
	}
	/* The questions go with the source; the answers' names must stay. */
	for (k = 0; k < s->n_questions; k++)
		a->macro[a->n + k].name = strdup(s->questions[k]);
	a->n += s->n_questions;
	return true;
}

char *host_preprocess(const struct host *h, const char *text, size_t len, const char *options,
		      char *shadow_options, size_t size, char *log, size_t log_size)
{
	struct answers a = { .n = 0 };
	struct gsx_cl_cpp_options opt = { .build = options, .macros = a.macro };
	struct gsx_cl_source s;
	char *plain = NULL;
	uint32_t k;
	int err;

	for (;;) {
		opt.n_macros = a.n;
		err = gsx_cl_preprocess(text, len, &opt, &s);
		if (err != -EAGAIN || !ask(h, &s, &a, log, log_size))
			break;
		gsx_cl_source_free(&s);
	}
	if (!err) {
		plain = strdup(s.text);
		snprintf(shadow_options, size, "%s", s.options);
	} else if (err != -EAGAIN) {
		snprintf(log, log_size, "%s", s.error ? s.error : strerror(-err));
	}
	gsx_cl_source_free(&s);
	for (k = 0; k < a.n; k++)
		free((char *)a.macro[k].name);
	for (k = 0; k < a.rounds; k++)
		free(a.memory[k]);
	return plain;
}
