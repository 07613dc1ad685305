// SPDX-License-Identifier: MIT
/*
 * Errors planted into what the transformer writes, one of each kind: every one must be
 * found by the comparison, or the comparison is worth nothing. The program below has
 * what they need: a helper, local memory that is read late, a parameter that changes,
 * early returns, an offset, two dimensions.
 */
#include "harness.h"
#include "run-cut.h"
#include "engine.h"

static const char text[] =
	"uint where(uint a) { return a + get_group_id(0) * 5u + get_group_id(1) * 7u; }\n"
	"kernel void grid(global uint *out, uint v)\n"
	"{\n"
	"	size_t x = get_global_id(0) - get_global_offset(0);\n"
	"	size_t y = get_global_id(1) - get_global_offset(1);\n"
	"	size_t i = y * get_global_size(0) + x;\n"
	"	v += (uint)get_local_id(0) + (uint)get_global_id(0) * 3u;\n"
	"	out[i] = where(v) + get_num_groups(0) * 100u + get_num_groups(1) * 1000u;\n"
	"	if (i % 3 == 0)\n"
	"		return;\n"
	"	out[i] += 1u << 20;\n"
	"}\n"
	"kernel void late(global uint *out)\n"
	"{\n"
	"	local uint t[8];\n"
	"	uint s = 0;\n"
	"	t[get_local_id(0)] = get_group_id(0) * 8u + get_local_id(0);\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	for (uint k = 0; k < 8; k++)\n"
	"		s = s * 3u + t[k];\n"
	"	out[get_global_id(0)] = s;\n"
	"}\n";

static const char *const runs[] = {
	"grid global=12x15 local=4x3 offset=2x5: buf(uint,180,zero) uint(9)",
	"late global=160 local=8: buf(uint,160,zero)",
};

struct plant {
	const char *what;
	enum gsx_mode mode;
	const char *edit[4];	/* what is replaced by what in the shadow's text, twice */
};

#define FIRST_BARRIER	"\t\tbarrier(CLK_LOCAL_MEM_FENCE);\n\t\tif (gsx_one)"
#define SECOND_BARRIER	"\t\tbarrier(CLK_LOCAL_MEM_FENCE);\n\t\tgsx_n ="

static const struct plant plants[] = {
	{ "a wrong base", GSX_SLICE, { "gsx_v.b = gsx_h0", "gsx_v.b = gsx_h0 + 1" } },
	{ "the base is forgotten", GSX_SLICE, { "gsx_v.b = gsx_h0", "gsx_v.b = 0" } },
	{ "the offset is forgotten", GSX_SLICE, { "gsx_v.o = gsx_h2", "gsx_v.o = 0" } },
	{ "a wrong number of groups", GSX_SLICE, { "gsx_v.n = gsx_h1", "gsx_v.n = gsx_h1 - 1" } },
	{ "the number of groups for the size", GSX_SLICE, { "gsx_v.z = gsx_h3", "gsx_v.z = gsx_h1" } },
	{ "a helper that isn't rewritten", GSX_SLICE, { "gsx_get_group_id(gsx_s, 1)",
	  "get_group_id(1)" } },
	{ "local memory isn't protected", GSX_WORKERS, { FIRST_BARRIER, "\t\tif (gsx_one)",
	  SECOND_BARRIER, "\t\tgsx_n =" } },
	{ "a parameter isn't copied anew", GSX_WORKERS, { "uint v = gsx_p_v;", "", "gsx_p_v", "v" } },
	{ "the last group is missing", GSX_WORKERS, { "while (gsx_n < gsx_total)",
	  "while (gsx_n < gsx_total - 1)" } },
	{ "a stop loses a group", GSX_WORKERS, { "q[16 + 2 * w] = m;", "q[16 + 2 * w] = m + 1;" } },
	{ "a stop repeats a range's end", GSX_WORKERS, { "q[16 + 2 * w + 1] = end;",
	  "q[16 + 2 * w + 1] = end + 1;" } },
	{ "the stop is ignored", GSX_WORKERS, { "if (*stop == 0)", "if (true)" } },
	{ "a batch begins one too late", GSX_WORKERS, { "return (uint)from;",
	  "return (uint)from + 1;" } },
	{ "a batch ends one too early", GSX_WORKERS, { "from + n.w : total", "from + n.w - 1 : total" } },
	{ "what a stop left begins one too late", GSX_WORKERS, { "return q[16 + 2 * (w + t)];",
	  "return q[16 + 2 * (w + t)] + 1;" } },
	{ "every second batch is skipped", GSX_WORKERS, { "atomic_inc(q)", "atomic_add(q, 2u)" } },
	{ "x and y change places", GSX_WORKERS, { "gsx_n % (uint)gsx_h0.x", "gsx_n % (uint)gsx_h0.y" } },
	{ "workers forget the offset", GSX_WORKERS, { "gsx_v.o = gsx_h1", "gsx_v.o = 0" } },
	{ "workers forget the size", GSX_WORKERS, { "gsx_v.z = gsx_h2", "gsx_v.z = gsx_h0" } },
	{ "workers have a wrong number of groups", GSX_WORKERS, { "gsx_v.n = gsx_h0",
	  "gsx_v.n = get_num_groups(0)" } },
};

static char *replace(const char *s, const char *from, const char *to, bool *done)
{
	size_t len;
	char *out;
	FILE *f = open_memstream(&out, &len);
	const char *at;

	for (; (at = strstr(s, from)); s = at + strlen(from)) {
		fwrite(s, 1, at - s, f);
		fputs(to, f);
		*done = true;
	}
	fputs(s, f);
	fclose(f);
	return out;
}

static bool planted;

static char *plant_it(void *arg, enum gsx_mode mode, const char *shadow)
{
	const struct plant *p = arg;
	char *once, *twice;
	bool second = !p->edit[2];

	if (p->mode != mode)
		return strdup(shadow);
	planted = false;
	once = replace(shadow, p->edit[0], p->edit[1], &planted);
	if (second)
		return once;
	twice = replace(once, p->edit[2], p->edit[3], &second);
	planted = planted && second;
	free(once);
	return twice;
}

/* What the comparison says, at the first of 12 times; NULL: all alike. */
static const char *compare(const struct cut_program *p, enum gsx_mode mode)
{
	const char *error = NULL;
	struct spec_run r;
	struct cut_job j;
	unsigned int k, n;

	for (n = 0; n < 2 && !error; n++) {
		if (spec_run_parse(runs[n], &r))
			return "the run can't be read";
		ASSERT_STREQ(cut_begin(&j, p, &r) ? "fails" : "runs", "runs");
		for (k = 0; k < 12 && !error; k++)
			error = cut_again(&j, mode, false);
		cut_end(&j);
	}
	return error;
}

static const struct engine *engine;

static void open_engine(struct host *h)
{
	const char *error;

	engine_use(engine);
	error = host_open(h);
	if (error)
		SKIP("%s: %s", engine->name, error);
	cut_seed = 20261122;
}

static void find_plants(void)
{
	struct cut_program p;
	const char *error;
	struct host h;
	size_t k;

	open_engine(&h);
	error = cut_open(&p, &h, text, sizeof(text) - 1, "", true, true, NULL, NULL);
	if (error)
		test_fail("%s", error);
	EXPECT_STREQ("all alike", compare(&p, GSX_SLICE) ?: "all alike");
	EXPECT_STREQ("all alike", compare(&p, GSX_WORKERS) ?: "all alike");
	cut_close(&p);
	for (k = 0; k < sizeof(plants) / sizeof(*plants); k++) {
		planted = false;
		error = cut_open(&p, &h, text, sizeof(text) - 1, "", true, true, plant_it,
				 (void *)&plants[k]);
		if (error || !planted) {
			test_fail("%s: %s", plants[k].what, error ? error :
				  "the transformer writes something else now");
			continue;
		}
		error = compare(&p, plants[k].mode);
		printf("# %s: %s\n", plants[k].what, error ? error : "NOT FOUND");
		if (!error)
			test_fail("%s wasn't found", plants[k].what);
		cut_close(&p);
	}
	host_close(&h);
}

/* Where work-items take turns only at barriers, nothing hangs on the machine. */
TEST_LIMIT(planted_errors_are_found, 300)
{
	engines_find();
	engine = &engines[n_engines - 1];
	find_plants();
}

TEST_MAIN()
