/* SPDX-License-Identifier: MIT */
/* What must hold for any bytes that the preprocessor is given. */
#ifndef GS_TESTS_OPENCL_CPP_HOLD_H
#define GS_TESTS_OPENCL_CPP_HOLD_H

#include <errno.h>
#include <string.h>

#include <gsopencl.h>

#include "lex.h"

static inline int cpp_hold_include(void *arg, enum gsx_cl_where where, const char *path,
				   const char **text, size_t *len)
{
	const char **whole = arg;

	(void)path;
	if (where != GSX_CL_BESIDE)
		return -ENOENT;
	*text = whole[0];	/* each file is the program itself */
	*len = whole[1] - whole[0];
	return 0;
}

static inline bool cpp_same_tokens(const struct gsx_cl_source *a, const struct gsx_cl_source *b)
{
	struct lex la, lb;
	struct lex_token x, y;

	lex_init(&la, a->text, a->len, NULL);
	lex_init(&lb, b->text, b->len, NULL);
	do {
		lex_next(&la, &x);
		lex_next(&lb, &y);
		if (x.kind != y.kind || x.len != y.len ||
		    memcmp(a->text + x.pos, b->text + y.pos, x.len))
			return false;
	} while (x.kind != LEX_END);
	return true;
}

/* NULL: all holds, else what doesn't. Of the first questions each second is a macro. */
static inline const char *cpp_holds(const char *text, size_t len, const char *build)
{
	const char *whole[2] = { text, text + len };
	struct gsx_cl_macro answers[64];
	struct gsx_cl_cpp_options opt = {
		.build = build, .include = cpp_hold_include, .arg = whole, .macros = answers,
		.max_memory = 8 << 20,
	};
	struct gsx_cl_source res, first, again;
	const char *bad = NULL;
	int err;

	err = gsx_cl_preprocess(text, len, &opt, &first);
	res = first;
	if (err == -EAGAIN) {
		if (!res.n_questions || res.text)
			bad = "a question without a question";
		for (uint32_t i = 0; i < res.n_questions && opt.n_macros < 64; i++)
			answers[opt.n_macros++] = (struct gsx_cl_macro){
				res.questions[i], i & 1 ? "(1 + 2)" : NULL,
			};
		err = gsx_cl_preprocess(text, len, &opt, &res);
	}
	if (err && err != -EAGAIN && !res.error && err != -ENOMEM)
		bad = "a refusal without a word";
	if (!err && (strlen(res.guard) == 0) == (strstr(res.guard, "#error") != NULL))
		bad = "a guard without its end";
	if (!err && !bad) {
		opt = (struct gsx_cl_cpp_options){ .max_memory = 64 << 20 };
		err = gsx_cl_preprocess(res.text, res.len, &opt, &again);
		if (err && err != -EAGAIN && err != -E2BIG)
			bad = "what came out isn't text that goes in";
		else if (!err && !strstr(res.text, "#undef") && !cpp_same_tokens(&res, &again))
			bad = "what came out isn't all preprocessed";
		gsx_cl_source_free(&again);
	}
	if (first.memory != res.memory)
		gsx_cl_source_free(&first);
	gsx_cl_source_free(&res);
	return bad;
}

#endif
