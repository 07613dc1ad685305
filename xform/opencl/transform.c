// SPDX-License-Identifier: MIT
/* The calls: read, judge, write, and hand over what was made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cl.h"

/* From lines of the preprocessed text to those that the program's writer knows. */
static void map_lines(struct job *j, struct gsx_cl_result *res)
{
	const char *file;
	uint32_t i, k;

	for (i = 0; i < res->n_kernels; i++) {
		struct gsx_cl_kernel *to = (struct gsx_cl_kernel *)&res->kernels[i];

		to->line = gsx_cl_source_line(j->source, to->line, NULL);
		for (k = 0; k < to->n_refusals; k++) {
			struct gsx_refusal *r = (struct gsx_refusal *)&to->refusals[k];

			r->line = gsx_cl_source_line(j->source, r->line, &file);
			if (file)
				r->text = cl_say(j, "%s: %s", file, r->text);
		}
	}
}

void cl_transform(struct job *j, struct gsx_cl_result *res, void *arg)
{
	uint32_t m;

	(void)arg;
	cl_parse(j);
	cl_judge(j, res);
	for (m = 0; m < GSX_MODES; m++)
		if (j->opt->modes & GSX_BIT(m) && m != GSX_GUARD)
			cl_write_text(j, m, res);
	if (j->source)
		map_lines(j, res);
}

/* The file that error_line is in, and the line in it. */
static const char *error_file(struct job *j)
{
	const char *in = NULL;

	if (j->source && j->err_line)
		j->err_line = gsx_cl_source_line(j->source, j->err_line, &in);
	return in ? in : j->opt->file ? j->opt->file : "opencl";
}

static void say_error(struct job *j, struct gsx_cl_result *res)
{
	const char *file = error_file(j);

	res->error_line = j->err_line;
	res->error = j->err_line ? cl_say(j, "%s:%u: %s", file, j->err_line, j->err_text) :
		cl_say(j, "%s: %s", file, j->err_text);
}

static void refuse_all(struct job *j, struct gsx_cl_result *res)
{
	memset(res, 0, sizeof(*res));
	cl_free_blocks(j->blocks);
	j->blocks = NULL;
	j->memory = 0;
	j->limit = SIZE_MAX;
	if (setjmp(j->out)) {
		res->error = "out of memory";
		return;
	}
	say_error(j, res);
}

/* What the result needs no more. */
static void tidy(struct job *j)
{
	cl_release(j, j->toks);
	cl_release(j, j->syms);
	cl_release(j, j->fns);
	cl_release(j, j->params);
	cl_release(j, j->calls);
	cl_release(j, j->hoists);
	cl_release(j, j->vars);
	cl_release(j, j->log);
	cl_release(j, j->swaps);
	cl_release(j, j->loops);
	cl_release(j, j->jumps);
	cl_release(j, j->labels);
	cl_release(j, j->stays);
	cl_release(j, j->named);
}

int cl_run(const char *text, size_t len, const struct gsx_cl_options *opt,
	   const struct gsx_cl_source *source, struct gsx_cl_result *res,
	   void (*work)(struct job *j, struct gsx_cl_result *res, void *arg), void *arg)
{
	static const struct gsx_cl_options all = { .modes = GSX_ALL_MODES };
	struct job *j;
	int err;

	memset(res, 0, sizeof(*res));
	j = calloc(1, sizeof(*j));
	if (!j) {
		res->error = "out of memory";
		return -ENOMEM;
	}
	j->opt = opt ? opt : &all;
	j->text = text;
	j->len = len;
	j->source = source;
	j->pointer_bytes = j->opt->address_bits == 32 ? 4 : 8;
	j->limit = j->opt->max_memory ? j->opt->max_memory : (64u << 20) + 64 * len;
	if (setjmp(j->out)) {
		err = j->err;
		refuse_all(j, res);
	} else {
		err = 0;
		if (len > LEX_MAX_TEXT)
			cl_fail(j, -E2BIG, 0, "the program is too long");
		work(j, res, arg);
		tidy(j);
	}
	res->memory = j->blocks;
	free(j);
	return err;
}

int gsx_cl_transform(const char *text, size_t len, const struct gsx_cl_options *opt,
		     struct gsx_cl_result *res)
{
	return cl_run(text, len, opt, NULL, res, cl_transform, NULL);
}

int gsx_cl_program(const char *text, size_t len, const struct gsx_cl_cpp_options *cpp,
		   const struct gsx_cl_options *opt, struct gsx_cl_source *src,
		   struct gsx_cl_result *res)
{
	int err = gsx_cl_preprocess(text, len, cpp, src);

	memset(res, 0, sizeof(*res));
	return err ? err : cl_run(src->text, src->len, opt, src, res, cl_transform, NULL);
}

void gsx_cl_result_free(struct gsx_cl_result *res)
{
	cl_free_blocks(res->memory);
	memset(res, 0, sizeof(*res));
}
