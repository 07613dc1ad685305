/* SPDX-License-Identifier: MIT */
/* What the transformer's tests share: one program, its kernels and its texts. */
#ifndef GS_TESTS_OPENCL_CUT_H
#define GS_TESTS_OPENCL_CUT_H

#include <gsopencl.h>

#include "harness.h"

#define SLICE	GSX_BIT(GSX_SLICE)
#define WORKERS	GSX_BIT(GSX_WORKERS)
#define BOTH	(SLICE | WORKERS)

static struct gsx_cl_result cut_result;

/* Transforms @text; the last one's result goes. */
__attribute__((unused)) static int cut(const char *text)
{
	gsx_cl_result_free(&cut_result);
	return gsx_cl_transform(text, strlen(text), NULL, &cut_result);
}

__attribute__((unused)) static const struct gsx_cl_kernel *kernel(const char *name)
{
	uint32_t i;

	for (i = 0; i < cut_result.n_kernels; i++)
		if (!strcmp(name, cut_result.kernels[i].name))
			return &cut_result.kernels[i];
	printf("# there is no kernel %s\n", name);
	test_end(1);
}

__attribute__((unused)) static const struct gsx_cl_param *param(const char *of, const char *name)
{
	const struct gsx_cl_kernel *k = kernel(of);
	uint32_t i;

	for (i = 0; i < k->n_params; i++)
		if (!strcmp(name, k->params[i].name))
			return &k->params[i];
	printf("# %s has no parameter %s\n", of, name);
	test_end(1);
}

/* Is @what in the text of this mode, however the white space lies? */
__attribute__((unused)) static bool has(enum gsx_mode mode, const char *what)
{
	const char *s = cut_result.text[mode], *p, *q;

	for (; s && *s; s++) {
		for (p = s, q = what; *q; ) {
			if (*q == ' ' || *q == '\n' || *q == '\t') {
				q++;
			} else if (*p == ' ' || *p == '\n' || *p == '\t') {
				p++;
			} else if (*p == *q) {
				p++;
				q++;
			} else {
				break;
			}
		}
		if (!*q)
			return true;
	}
	return false;
}

/* "slice wait-loop@3 workers wait-loop@3": all refusals of a kernel, mode by mode. */
__attribute__((unused)) static const char *refusals(const char *name)
{
	const struct gsx_cl_kernel *k = kernel(name);
	static char out[2048];
	uint32_t i, m, at = 0;

	out[0] = 0;
	for (m = 0; m < GSX_MODES; m++)
		for (i = 0; i < k->n_refusals; i++)
			if (k->refusals[i].modes & GSX_BIT(m))
				at += snprintf(out + at, sizeof(out) - at, "%s%s %s@%u",
					       at ? " " : "", gsx_mode_name(m),
					       gsx_reason_name(k->refusals[i].reason),
					       k->refusals[i].line);
	return out;
}

#define EXPECT_HAS(mode, what)	test_or_end(has(mode, what), false, \
		"%s lacks: %s", gsx_mode_name(mode), what)
#define EXPECT_LACKS(mode, what) test_or_end(!has(mode, what), false, \
		"%s has: %s", gsx_mode_name(mode), what)

#endif
