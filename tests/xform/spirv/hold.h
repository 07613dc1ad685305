/* SPDX-License-Identifier: MIT */
/* What must hold for any words. */
#ifndef GS_TESTS_SPIRV_HOLD_H
#define GS_TESTS_SPIRV_HOLD_H

#include <gsspirv.h>

/* NULL: all holds; else what doesn't. */
static inline const char *spv_holds(const void *module, size_t len)
{
	struct gsx_spv_options opt = { .modes = GSX_ALL_MODES, .rewrite_native = len & 4 };
	struct gsx_spv_options look = { .modes = 0 };
	struct gsx_spv_result r, again;
	const char *bad = NULL;
	int err, mode;

	opt.max_memory = 256u << 20;
	look.max_memory = 512u << 20;
	err = gsx_spv_transform(module, len, &opt, &r);
	if (err && !r.error)
		bad = "a refusal without a word";
	for (mode = 0; mode < GSX_MODES && !err && !bad; mode++) {
		if (!r.module[mode])
			continue;
		if (gsx_spv_transform(r.module[mode], r.len[mode], &look, &again))
			bad = "what came out doesn't go in";
		else if (again.n_kernels != r.n_kernels)
			bad = "kernels were lost";
		gsx_spv_result_free(&again);
	}
	gsx_spv_result_free(&r);
	return bad;
}

#endif
