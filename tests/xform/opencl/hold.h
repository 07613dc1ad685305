/* SPDX-License-Identifier: MIT */
/* What must hold of the transformer whatever it is given. */
#ifndef GS_TESTS_OPENCL_HOLD_H
#define GS_TESTS_OPENCL_HOLD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsopencl.h>

/*
 * What it writes is a program that it can read again, once its own names are others;
 * the same kernels are in it, and a result is never half there.
 */
__attribute__((unused)) static bool holds(const char *text, size_t len)
{
	const struct gsx_cl_options opt = {
		.modes = GSX_ALL_MODES, .rewrite_native = len & 1, .max_memory = 256 << 20,
	};
	struct gsx_cl_result res, again;
	uint32_t i, m;
	bool ok = true;
	char *s;
	int err;

	err = gsx_cl_transform(text, len, &opt, &res);
	if (err) {
		ok = res.error && !res.text[GSX_SLICE] && !res.text[GSX_WORKERS] && !res.n_kernels;
		gsx_cl_result_free(&res);
		return ok;
	}
	for (i = 0; i < res.n_kernels && ok; i++) {
		const struct gsx_cl_kernel *k = &res.kernels[i];
		uint32_t refused = 0;

		for (m = 0; m < k->n_refusals; m++)
			refused |= k->refusals[m].modes;
		ok = !(refused & k->modes) &&
			(refused | k->modes) == (GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS)) &&
			(!(k->modes & GSX_BIT(GSX_WORKERS)) || res.text[GSX_WORKERS]);
	}
	for (m = 0; m < GSX_MODES && ok; m++) {
		if (!res.text[m])
			continue;
		ok = res.text[m][res.len[m]] == 0;
		for (s = res.text[m]; ok && (s = memmem(s, res.text[m] + res.len[m] - s, "gsx_", 4)); )
			memcpy(s, "xgs_", 4);
		err = gsx_cl_transform(res.text[m], res.len[m], &opt, &again);
		if (err) {
			fprintf(stderr, "%s: %s\n%s\n", gsx_mode_name(m), again.error, res.text[m]);
			ok = false;
		}
		gsx_cl_result_free(&again);
	}
	gsx_cl_result_free(&res);
	return ok;
}

#endif
