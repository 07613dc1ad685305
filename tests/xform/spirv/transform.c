// SPDX-License-Identifier: MIT
/*
 * What is said of each kernel of kernels.cl and why, from all three modules alike; that
 * the shadow modules are valid, where spirv-val is there to tell; and modules that are
 * none.
 */
#include <errno.h>

#include <gsspirv.h>

#include "harness.h"
#include "valid.h"

static const char *const modules[] = { "plain", "optimised", "narrow" };

static uint32_t *read_module(const char *name, size_t *len)
{
	char path[200];
	uint32_t *w = malloc(1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "tests/xform/spirv/%s.spv", name);
	f = fopen(path, "r");
	ASSERT_TRUE(f);
	*len = fread(w, 1, 1 << 20, f);
	fclose(f);
	return w;
}

static const struct gsx_cl_kernel *kernel(const struct gsx_spv_result *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_kernels; i++)
		if (!strcmp(r->kernels[i].name, name))
			return &r->kernels[i];
	test_fail("no kernel %s", name);
	test_end(1);
}

static enum gsx_reason reason(const struct gsx_cl_kernel *k, enum gsx_mode mode)
{
	for (uint32_t i = 0; i < k->n_refusals; i++)
		if (k->refusals[i].modes & GSX_BIT(mode))
			return k->refusals[i].reason;
	return GSX_OK;
}

#define BOTH	(GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS))

TEST(each_kernel_and_its_reason)
{
	static const struct {
		const char *name;
		uint32_t modes;
		enum gsx_reason slice, workers;
		uint32_t flags;
	} want[] = {
		{ "plain", BOTH, 0, 0, GSX_CL_NATIVE }, { "all_ids", BOTH, 0, 0, 0 },
		{ "helpers", BOTH, 0, 0, 0 }, { "reduction", BOTH, 0, 0, GSX_BARRIERS },
		{ "own_local", BOTH, 0, 0, GSX_BARRIERS }, { "leaves_early", BOTH, 0, 0, 0 },
		{ "leaves_before_barrier", GSX_BIT(GSX_SLICE), 0, GSX_EARLY_RETURN,
		  GSX_BARRIERS | GSX_CL_EARLY_RETURN },
		{ "uniform_leave", BOTH, 0, 0, GSX_BARRIERS },
		{ "counts", BOTH, 0, 0, GSX_ATOMICS }, { "retries", BOTH, 0, 0, GSX_ATOMICS },
		{ "waits", 0, GSX_WAIT_LOOP, GSX_WAIT_LOOP, GSX_WAITS },
		{ "waits_atomic", 0, GSX_WAIT_LOOP, GSX_WAIT_LOOP, GSX_WAITS | GSX_ATOMICS },
		{ "waits_fenced", 0, GSX_WAIT_LOOP, GSX_WAIT_LOOP, GSX_WAITS },
		{ "waits_below", 0, GSX_WAIT_LOOP, GSX_WAIT_LOOP, GSX_WAITS | GSX_ATOMICS },
		{ "by_value", BOTH, 0, 0, 0 }, { "sized", BOTH, 0, 0, 0 },
		{ "shared_by_groups", BOTH, 0, 0, 0 },
	};
	uint32_t seen =
		GSX_CL_NATIVE | GSX_BARRIERS | GSX_CL_EARLY_RETURN | GSX_ATOMICS | GSX_WAITS;

	for (int m = 0; m < 3; m++) {
		struct gsx_spv_result r;
		size_t len;
		uint32_t *w = read_module(modules[m], &len);

		ASSERT_EQ(0, gsx_spv_transform(w, len, NULL, &r));
		EXPECT_EQ(sizeof(want) / sizeof(*want), r.n_kernels);
		for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
			const struct gsx_cl_kernel *k = kernel(&r, want[i].name);

			if (k->modes != want[i].modes || reason(k, GSX_SLICE) != want[i].slice ||
			    reason(k, GSX_WORKERS) != want[i].workers ||
			    (k->flags & seen) != want[i].flags)
				test_fail("%s of %s: modes %x, %s, %s, flags %x", k->name, modules[m],
					  k->modes, gsx_reason_name(reason(k, GSX_SLICE)),
					  gsx_reason_name(reason(k, GSX_WORKERS)), k->flags & seen);
			EXPECT_EQ(strcmp(k->name, "by_value") ? 4 : 5, k->n_params);
			EXPECT_EQ(GSX_CL_LOCAL | GSX_PARAM_POINTER, k->params[3].flags);
			EXPECT_FALSE(k->params[1].flags & GSX_PARAM_WRITTEN);
			EXPECT_TRUE(k->params[0].flags & GSX_PARAM_WRITTEN);
			EXPECT_EQ(0, k->params[2].flags);
		}
		EXPECT_EQ(8, kernel(&r, "sized")->reqd[0]);
		EXPECT_EQ(2, kernel(&r, "sized")->reqd[1]);
		EXPECT_EQ(64, kernel(&r, "own_local")->local_bytes);
		EXPECT_EQ(0, kernel(&r, "plain")->local_bytes);
		EXPECT_EQ(NULL, r.module[GSX_GUARD]);
		gsx_spv_result_free(&r);
		free(w);
	}
}

TEST(shadow_modules_are_valid)
{
	for (int m = 0; m < 3; m++) {
		struct gsx_spv_options opt = { .modes = BOTH };
		struct gsx_spv_result r;
		size_t len;
		uint32_t *w = read_module(modules[m], &len);
		int status = spirv_val(w, len, true);

		if (status < 0)
			SKIP("spirv-val isn't there");
		if (status)
			SKIP("this spirv-val doesn't take what llvm-spirv-14 made");
		for (int all = 0; all < 2; all++) {
			opt.rewrite_native = all;
			ASSERT_EQ(0, gsx_spv_transform(w, len, &opt, &r));
			EXPECT_EQ(0, spirv_val(r.module[GSX_SLICE], r.len[GSX_SLICE], false));
			EXPECT_EQ(0, spirv_val(r.module[GSX_WORKERS], r.len[GSX_WORKERS], false));
			gsx_spv_result_free(&r);
		}
		free(w);
	}
}

TEST(what_comes_out_goes_in)
{
	static const uint32_t more[GSX_MODES] = { [GSX_SLICE] = 4, [GSX_WORKERS] = 5 };

	for (int m = 0; m < 3; m++) {
		struct gsx_spv_options opt = { .modes = 0 };
		struct gsx_spv_result r, again;
		size_t len;
		uint32_t *w = read_module(modules[m], &len);

		ASSERT_EQ(0, gsx_spv_transform(w, len, NULL, &r));
		for (int mode = 0; mode < GSX_MODES; mode++) {
			if (!r.module[mode])
				continue;
			ASSERT_EQ(0, gsx_spv_transform(r.module[mode], r.len[mode], &opt, &again));
			EXPECT_EQ(r.n_kernels, again.n_kernels);
			EXPECT_EQ(NULL, again.module[mode]);
			for (uint32_t i = 0; i < r.n_kernels; i++) {
				const struct gsx_cl_kernel *k = &r.kernels[i];
				bool cut = k->modes & GSX_BIT(mode) &&
					!(mode == GSX_SLICE && k->flags & GSX_CL_NATIVE);

				EXPECT_STREQ(k->name, again.kernels[i].name);
				EXPECT_EQ(k->n_params + (cut ? more[mode] : 0),
					  again.kernels[i].n_params);
				EXPECT_EQ(k->reqd[0], again.kernels[i].reqd[0]);
				EXPECT_EQ(3, k->dims);
			}
			gsx_spv_result_free(&again);
		}
		gsx_spv_result_free(&r);
		free(w);
	}
}

TEST(the_other_byte_order)
{
	struct gsx_spv_result r, swapped;
	size_t len;
	uint32_t *w = read_module("plain", &len), *out;

	ASSERT_EQ(0, gsx_spv_transform(w, len, NULL, &r));
	for (size_t i = 0; i < len / 4; i++)
		w[i] = __builtin_bswap32(w[i]);
	ASSERT_EQ(0, gsx_spv_transform(w, len, NULL, &swapped));
	for (int mode = 0; mode < GSX_MODES; mode++) {
		ASSERT_EQ(r.len[mode], swapped.len[mode]);
		out = swapped.module[mode];
		for (size_t i = 0; i < r.len[mode] / 4; i++)
			ASSERT_EQ(((uint32_t *)r.module[mode])[i], __builtin_bswap32(out[i]));
	}
	gsx_spv_result_free(&r);
	gsx_spv_result_free(&swapped);
	free(w);
}

TEST(what_is_no_module_is_refused)
{
	static const struct {
		const char *what;
		uint32_t w[16];
		size_t len;
	} bad[] = {
		{ "length", { 0x07230203 }, 4 },
		{ "length", { 0x07230203, 0x10000, 0, 5, 0 }, 19 },
		{ "not SPIR-V", { 0x12345678, 0x10000, 0, 5, 0 }, 20 },
		{ "version", { 0x07230203, 0x20000, 0, 5, 0 }, 20 },
		{ "bound", { 0x07230203, 0x10000, 0, 0, 0 }, 20 },
		{ "bound", { 0x07230203, 0x10000, 0, 0xffffffff, 0 }, 20 },
		{ "over the end", { 0x07230203, 0x10000, 0, 5, 0, 0x00030011, 6 }, 28 },
		{ "over the end", { 0x07230203, 0x10000, 0, 5, 0, 0x00000011 }, 24 },
		{ "too short", { 0x07230203, 0x10000, 0, 5, 0, 0x00010011 }, 24 },
		{ "addressing", { 0x07230203, 0x10000, 0, 5, 0, 0x0003000e, 0, 2 }, 32 },
		{ "made twice", { 0x07230203, 0x10000, 0, 5, 0, 0x00020013, 1, 0x00020013, 1 }, 36 },
		{ "beyond the bound", { 0x07230203, 0x10000, 0, 5, 0, 0x00020013, 5 }, 28 },
		{ "no kernel", { 0x07230203, 0x10000, 0, 5, 0, 0x0004000f, 5, 1, 0x61 }, 36 },
		{ "doesn't end", { 0x07230203, 0x10000, 0, 5, 0, 0x0004000f, 6, 1, 0x61616161 }, 36 },
		{ "without its function", { 0x07230203, 0x10000, 0, 5, 0, 0x0004000f, 6, 1, 0x61 }, 36 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct gsx_spv_result r;

		EXPECT_EQ(-EINVAL, gsx_spv_transform(bad[i].w, bad[i].len, NULL, &r));
		if (!r.error || !strstr(r.error, bad[i].what))
			test_fail("%zu, %s: %s", i, bad[i].what, r.error ? r.error : "nothing");
		EXPECT_EQ(0, r.n_kernels);
		gsx_spv_result_free(&r);
	}
}

TEST(memory_has_a_bound)
{
	struct gsx_spv_options opt = { .modes = BOTH, .max_memory = 20000 };
	struct gsx_spv_result r;
	size_t len;
	uint32_t *w = read_module("plain", &len);

	EXPECT_EQ(-E2BIG, gsx_spv_transform(w, len, &opt, &r));
	EXPECT_TRUE(r.error);
	gsx_spv_result_free(&r);
	free(w);
}

TEST_MAIN()
