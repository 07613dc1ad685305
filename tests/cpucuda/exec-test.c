// SPDX-License-Identifier: MIT
/*
 * The executor alone: each kernel of the corpus, as PTX of two architectures, in
 * several random schedules, against the same kernel compiled as C.
 */
#include "harness.h"
#include "corpus.h"
#include "cpucuda/memory.h"
#include "cpucuda/run.h"

static struct mem_block *copy_in(const void *p)
{
	struct mem_block *b = mem_alloc(0, CORPUS_BYTES, MEM_DEVICE, NULL);

	if (b)
		memcpy(b->host, p, CORPUS_BYTES);
	return b;
}

/* One run of one kernel; NULL: it ended well. */
static const char *run_once(const struct corpus_run *r, struct func *f, struct corpus_data *d,
			    void *result)
{
	static const uint32_t one[3] = { 1, 1, 1 };
	struct mem_block *b[5] = {
		mem_alloc(0, CORPUS_BYTES, MEM_DEVICE, NULL), copy_in(d->bufs.in),
		copy_in(d->bufs.inf), copy_in(d->bufs.ind), copy_in(d->bufs.inl),
	};
	struct corpus_bufs on_device = { (void *)b[0]->addr, (void *)b[1]->addr, (void *)b[2]->addr,
		(void *)b[3]->addr, (void *)b[4]->addr };
	unsigned char params[4096] = { 0 };
	struct corpus_args a = { 0 };
	const char *error = NULL;
	struct grid *g;
	int k;

	memset(b[0]->host, 0, CORPUS_BYTES);
	r->args(&on_device, &a);
	corpus_place(&a, f->n_params, f->param_offset, params);
	dev.shuffle_blocks = !(r->flags & ORDER);
	g = grid_make(f, r->grid, r->block, f->req_cluster[0] ? f->req_cluster : one, r->dynamic,
		      params, r->flags & COOP, 0);
	while (g && !grids_step(&g, 1, 1000000))
		;
	if (!g || g->fault)
		error = dev.fault_text;
	memcpy(result, b[0]->host, CORPUS_BYTES);
	if (g)
		grid_free(g);
	for (k = 0; k < 5; k++)
		mem_free(b[k]);
	return error;
}

static int test_kernel(const struct corpus_run *r, struct corpus_data *d, int cc, void *result)
{
	struct program p;
	struct func *f;
	const char *error;
	size_t len, seeds;
	long at;
	char *text = corpus_text(r, cc, &len);

	ASSERT_TRUE(text != NULL);
	for (seeds = 1; seeds <= 3; seeds++) {
		if (program_decode(&p, text, len, r->file, &p)) {
			test_fail("sm_%d: %s", cc, p.error);
			break;
		}
		f = program_entry(&p, r->name);
		if (!f) {
			test_fail("sm_%d: %s isn't in the module", cc, r->name);
			break;
		}
		dev.seed = seeds * 77;
		error = r->flags & NOEXEC ? NULL : run_once(r, f, d, result);
		mem_free_owner(&p);
		program_free(&p);
		if (error) {
			test_fail("sm_%d seed %zu: %s", cc, seeds, error);
			break;
		}
		at = r->flags & (NOREF | NOEXEC) ? -1 : corpus_differs(r, d->expect, result);
		if (at >= 0) {
			test_fail("sm_%d seed %zu: %s differs at %ld: %08x, not %08x (%g, not %g; %.17g, not %.17g)",
				  cc, seeds, r->name, at, ((int *)result)[at],
				  ((int *)d->expect)[at],
				  ((float *)result)[at], ((float *)d->expect)[at],
				  ((double *)result)[at / (r->flags & NEARD ? 1 : 2)],
				  ((double *)d->expect)[at / (r->flags & NEARD ? 1 : 2)]);
			break;
		}
	}
	free(text);
	return 1;
}

static void run_file(const char *file)
{
	void *result = malloc(CORPUS_BYTES);
	struct corpus_data d;
	struct corpus_run *r = NULL;
	int n = 0, before;

	while ((r = corpus_next(r, file, 90))) {
		ASSERT_EQ(0, corpus_data_make(&d));
		corpus_expect(&d, r);
		before = test_failures;
		n += r->flags & SM90 ? 0 : test_kernel(r, &d, 75, result);
		n += test_kernel(r, &d, 90, result);
		if (test_failures != before)
			printf("# %s\n", r->name);
		corpus_data_free(&d);
	}
	printf("# %s: %d kernels and architectures, 3 schedules each\n", file, n);
	EXPECT_TRUE(n > 0);
}

#define FILE_TEST(name) TEST_LIMIT(name, 300) { run_file(#name ".cu"); }
CORPUS_FILES(FILE_TEST)
TEST_MAIN()
