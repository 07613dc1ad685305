/* SPDX-License-Identifier: MIT */
/* What holds for every text, however broken: shared by the fuzzer and the seeded run. */
#ifndef GSX_TEST_HOLD_H
#define GSX_TEST_HOLD_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gsxform.h>

#include "xform/ptx/ptx.h"

#define HOLD_MEMORY	(8ul << 20)

static bool holds_for_way(const struct gsx_way *w)
{
	return w->class < GSX_MAP_CLASSES && w->reason < GSX_MAP_REASONS &&
	       !w->text == (w->class <= GSX_MAP_AFFINE) && !w->reason == !w->text;
}

/* Ranges of a launch with any arguments: said, or a reason. */
static bool holds_for_ranges(const struct gsx_kernel *k, const struct gsx_map *m, bool writes,
			     const struct gsx_shape *s)
{
	struct gsx_range range[3];
	struct gsx_ranges r = { .range = range, .cap = 3 };
	int err = gsx_map_ranges(&k->maps, m, writes, s, 1, 20, &r);
	uint32_t i;

	if ((writes ? m->writes : m->reads).class != GSX_MAP_AFFINE)
		return err == -EINVAL;
	for (i = 0; !err && i < r.n && i < 3; i++)
		if (!range[i].bytes || !range[i].rows || !range[i].pitch != (range[i].rows == 1))
			return false;
	return err ? err == -ERANGE && r.why : r.n <= 3;
}

static bool holds_for_maps(const struct gsx_kernel *k)
{
	static uint8_t params[1 << 16];
	struct gsx_shape s = { { 7, 3, 2 }, { 33, 2, 1 }, params, k->param_bytes };
	uint32_t i;

	if (!params[0])
		for (i = 0; i < sizeof(params); i++)	/* small numbers, and some big ones */
			params[i] = i % 4 ? 0xff * !(i * 7 % 31) : 1 + i * 5 % 200;
	if (s.param_bytes > sizeof(params))
		s.param_bytes = sizeof(params);
	for (i = 0; i < k->maps.n; i++)
		if (!holds_for_way(&k->maps.map[i].writes) ||
		    !holds_for_way(&k->maps.map[i].reads) ||
		    !holds_for_ranges(k, &k->maps.map[i], true, &s) ||
		    !holds_for_ranges(k, &k->maps.map[i], false, &s))
			return false;
	return holds_for_way(&k->maps.whole) && holds_for_way(&k->maps.elsewhere);
}

static bool holds_for_kernel(const struct gsx_kernel *k)
{
	uint32_t i, refused = 0;

	for (i = 0; i < k->n_refusals; i++) {
		if (!k->refusals[i].text || k->refusals[i].reason == GSX_OK)
			return false;
		refused |= k->refusals[i].modes;
	}
	for (i = 0; i < GSX_MODES; i++)
		if (!k->variant[i] != !(k->modes & GSX_BIT(i)))
			return false;
	return k->name && (refused | k->modes) == GSX_ALL_MODES && !(refused & k->modes) &&
	       holds_for_maps(k);
}

static bool holds_for_result(const char *text, size_t len, const struct gsx_result *r)
{
	struct ptx_module before, after = { 0 };
	uint32_t i, entries = 0, variants = 0;
	bool ok;

	len -= len && !text[len - 1];
	for (i = 0; i < r->n_kernels; i++) {
		if (!holds_for_kernel(&r->kernels[i]))
			return false;
		variants += __builtin_popcount(r->kernels[i].modes);
	}
	ok = !ptx_parse(&before, text, len, "before", 8 * HOLD_MEMORY);
	ok = ok && r->len >= len && !memcmp(text, r->text, before.tail) &&
	     !memcmp(text + before.tail, r->text + r->len - (len - before.tail),
		     len - before.tail);
	if (ok && ptx_parse(&after, r->text, r->len, "after", 8 * HOLD_MEMORY)) {
		fprintf(stderr, "the result's line %u: %s\n", after.err_line, after.err_text);
		ok = after.err == -E2BIG;
	} else if (ok) {
		for (i = 0; i < after.n_functions; i++)
			entries += after.functions[i].entry;
		ok = entries == r->n_kernels + variants;
	}
	ptx_free(&before);
	ptx_free(&after);
	return ok;
}

/* A shadow is PTX again, too, and has nothing but the variants and kernels that are named. */
static bool shadow_holds(const char *text, size_t len)
{
	struct gsx_options opt = { .modes = GSX_ALL_MODES, .max_memory = HOLD_MEMORY,
				   .shadow = true };
	struct ptx_module after = { 0 };
	uint32_t i, variants = 0, entries = 0;
	struct gsx_result r;
	bool ok = true;

	if (!gsx_ptx_transform(text, len, &opt, &r)) {
		for (i = 0; i < r.n_kernels; i++) {
			ok = ok && holds_for_kernel(&r.kernels[i]);
			variants += __builtin_popcount(r.kernels[i].modes);
		}
		for (i = 0; i < r.n_variables; i++)
			ok = ok && r.variables[i].name && (r.variables[i].slot < r.n_variables ||
							   r.variables[i].slot == GSX_CONSTANT);
		if (ptx_parse(&after, r.text, r.len, "shadow", 8 * HOLD_MEMORY)) {
			fprintf(stderr, "the shadow's line %u: %s\n", after.err_line,
				after.err_text);
			ok = ok && after.err == -E2BIG;
		} else {
			for (i = 0; i < after.n_functions; i++)
				entries += after.functions[i].entry;
			ok = ok && entries >= variants && entries <= variants + r.n_kernels;
		}
		ptx_free(&after);
	}
	gsx_result_free(&r);
	return ok;
}

static bool holds(const char *text, size_t len)
{
	struct gsx_options opt = { .modes = GSX_ALL_MODES, .max_memory = HOLD_MEMORY,
				   .maps = true };
	struct gsx_result r;
	int err = gsx_ptx_transform(text, len, &opt, &r);
	bool ok;

	if (err)
		ok = (err == -EINVAL || err == -EEXIST || err == -E2BIG) && r.error && !r.text;
	else
		ok = holds_for_result(text, len, &r);
	gsx_result_free(&r);
	return ok && shadow_holds(text, len);
}

#endif
