// SPDX-License-Identifier: MIT
/*
 * The maps of kernels (gsmaps.h) against what their blocks do: each launch of the corpus is
 * run, each access to its buffers noted with the block that made it, and each range of
 * blocks, of all sizes, asked for. What is said must cover what was done; what is said to be
 * exact must be no more than that; what is said to be disjoint must be no other block's.
 * Then the same with maps that were found in a text which differs from the one that runs:
 * each such mistake must be found.
 */
#include "harness.h"
#include "corpus.h"
#include "cut.h"
#include "oracle.h"

#define SEED 20261126u

#define buf oracle_buf

static void buffers(void)
{
	struct corpus_data d;
	const void *from[ORACLE_BUFS];
	int k;

	ASSERT_EQ(0, corpus_data_make(&d));
	from[1] = d.bufs.in;
	from[2] = d.bufs.inf;
	from[3] = d.bufs.ind;
	from[4] = d.bufs.inl;
	for (k = 0; k < ORACLE_BUFS; k++) {
		if (!buf[k])
			buf[k] = mem_alloc(0, CORPUS_BYTES, MEM_DEVICE, NULL);
		ASSERT_TRUE(buf[k] != NULL);
		if (k)
			memcpy(buf[k]->host, from[k], CORPUS_BYTES);
	}
	corpus_data_free(&d);
}

static void prepare(const struct corpus_run *r, struct cut_launch *l)
{
	struct corpus_bufs b = { (void *)buf[0]->addr, (void *)buf[1]->addr, (void *)buf[2]->addr,
		(void *)buf[3]->addr, (void *)buf[4]->addr };
	struct corpus_args a = { 0 };

	r->args(&b, &a);
	memcpy(l->grid, r->grid, sizeof(l->grid));
	memcpy(l->block, r->block, sizeof(l->block));
	l->dynamic = r->dynamic;
	l->ordered = r->flags & ORDER;
	l->cooperative = r->flags & COOP;
	corpus_place(&a, l->whole->n_params, l->whole->param_offset, l->params);
}

/* The text with something else in place of @from, everywhere; NULL: it isn't there */
static char *replaced(const char *text, const char *from, const char *to)
{
	size_t n = 0, len = strlen(text);
	const char *at;
	char *out, *o;

	for (at = text; (at = strstr(at, from)); at += strlen(from))
		n++;
	if (!n)
		return NULL;
	out = o = malloc(len + n * strlen(to) + 1);
	for (at = text; *at; ) {
		if (!strncmp(at, from, strlen(from))) {
			o = stpcpy(o, to);
			at += strlen(from);
		} else {
			*o++ = *at++;
		}
	}
	*o = 0;
	return out;
}

/* Runs a file's launches; maps are found in @edited, or in the text itself. First failure. */
static const char *file_with(const char *file, int cc, const char *from, const char *to,
			     bool *there, struct oracle_tally *t)
{
	struct gsx_options opt = { .file = file, .maps = true };
	char *text = NULL, *edited = NULL;
	const char *error = NULL, *fault;
	struct corpus_run *r = NULL;
	struct cut_module m = { 0 };
	struct cut_launch l;
	size_t len;

	while (!error && (r = corpus_next(r, file, cc))) {
		if (r->flags & NOEXEC)
			continue;
		if (!text) {
			text = corpus_text(r, cc, &len);
			ASSERT_TRUE(text != NULL);
			edited = from ? replaced(text, from, to) : NULL;
			if (from && !edited)
				break;
			*there = true;
			ASSERT_EQ(0, gsx_ptx_transform(edited ? edited : text,
						       edited ? strlen(edited) : len, &opt, &m.x));
			ASSERT_EQ(0, program_decode(&m.p, text, len, file, &m));
		}
		cut_prepare(&m, &l, r->name);
		ASSERT_TRUE(l.whole && l.k);
		prepare(r, &l);
		memset(buf[0]->host, 0, CORPUS_BYTES);
		error = oracle_run(&l, &fault, t);
		error = error ? error : fault;
	}
	if (*there && text) {
		mem_free_owner(&m);
		program_free(&m.p);
		gsx_result_free(&m.x);
	}
	free(edited);
	free(text);
	return error;
}

static void run_file(const char *file)
{
	static const int archs[] = { 75, 90 };
	struct oracle_tally t = { 0 };
	const char *error;
	bool there;
	size_t i;

	dev.seed = SEED;
	dev.limit = 30000000;
	buffers();
	for (i = 0; i < 2; i++) {
		error = file_with(file, archs[i], NULL, NULL, &there, &t);
		if (error)
			test_fail("sm_%d %s", archs[i], error);
	}
	printf("# %s seed %u: %u launches, %u refused; writes: %u never, %u affine (%u exact, %u "
	       "disjoint, %u not in this launch), %u unproven, %u shared; reads: %u never, %u affine "
	       "(%u not in this launch), %u unproven\n", file, SEED, t.launches, t.refused,
	       t.by[1][0], t.by[1][1], t.exact, t.disjoint, t.late[1], t.by[1][2], t.by[1][3],
	       t.by[0][0], t.by[0][1], t.late[0], t.by[0][2]);
}

#define FILE_TEST(name) TEST_LIMIT(name, 600) { run_file(#name ".cu"); }
CORPUS_FILES(FILE_TEST)

static void planted(const char *from, const char *to)
{
	static const char *const files[] = { "simple.cu", "control.cu", "apps.cu", "memory.cu",
					     "shared.cu" };
	const char *error = NULL;
	struct oracle_tally t = { 0 };
	bool there = false;
	size_t i;

	dev.seed = SEED;
	dev.limit = 30000000;
	buffers();
	for (i = 0; i < sizeof(files) / sizeof(files[0]) && !error; i++)
		error = file_with(files[i], 75, from, to, &there, &t);
	if (error)
		printf("# found by %s\n", error);
	else
		test_fail("%s: %s", there ? "planted and not found" :
			  "not there to be changed: see what the compiler writes now", from);
}

#define PLANT(name, from, to) TEST_LIMIT(planted_##name, 300) { planted(from, to); }
PLANT(factor_too_big, "mul.wide.s32 \t%rd4, %r1, 4;", "mul.wide.s32 \t%rd4, %r1, 8;")
PLANT(blocks_taken_for_threads, "%ctaid.x;", "%ctaid.y;")
PLANT(condition_one_too_few, "setp.ge.s32", "setp.gt.s32")
PLANT(condition_one_too_many, "setp.gt.s32", "setp.ge.s32")
PLANT(condition_turned, "@%p1 bra", "@!%p1 bra")
PLANT(condition_forgotten, "setp.ge.s32 \t%p1, %r1, %r3;", "setp.ge.s32 \t%p1, 0, 1;")
PLANT(store_too_short, "st.global.u32", "st.global.u16")
PLANT(store_too_long, "st.global.u8", "st.global.u16")
PLANT(step_too_long, "add.s32 \t%r12, %r12, %r3;", "mad.lo.s32 \t%r12, %r3, 2, %r12;")
PLANT(loop_too_short, "setp.lt.s32 \t%p2, %r12, %r6;", "setp.lt.s32 \t%p2, %r12, 2000;")
PLANT(another_pointer, "vadd_param_0];", "vadd_param_1];")
PLANT(store_missed, "st.global", "st.shared")
PLANT(load_missed, "ld.global", "ld.shared")
PLANT(atomic_taken_for_a_load, "atom.global.", "atom.shared.")

TEST_MAIN()
