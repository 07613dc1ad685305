// SPDX-License-Identifier: MIT
/*
 * How much of the CUDA that there is the executor runs.
 *
 * Counted over 2,143 kernels of five public collections (cuda-samples, Rodinia,
 * PolyBench, SHOC, HeCBench; nvcc 13.0, compute_75): the opcodes below are those
 * that most kernels use, in this order, and the first K of them are all that a
 * kernel needs for that share of the kernels. Each stands here as nvcc writes it.
 */
#include <glob.h>
#include "harness.h"
#include "corpus.h"
#include "cpucuda/exec.h"
#include "cpucuda/memory.h"

static const char *const examples[] = {
	"ret;", "ld.global.u32 %r1, [%d1];", "mov.u32 %r1, %tid.x;", "add.s32 %r1, %r2, %r3;",
	"cvta.to.global.u64 %d1, %d2;", "st.global.f32 [%d1], %f1;", "mul.lo.s32 %r1, %r2, %r3;",
	"setp.ge.s32 %p1, %r1, %r2;", "bra END;", "mad.lo.s32 %r1, %r2, %r3, %r4;",
	/* 10 */
	"shl.b32 %r1, %r2, 3;", "sub.f32 %f1, %f2, %f3;", "cvt.rn.f32.s32 %f1, %r1;",
	"and.b32 %r1, %r2, 31;", "shr.u32 %r1, %r2, 5;", "bar.sync 0;", "or.pred %p1, %p2, %p3;",
	"selp.b32 %r1, %r2, %r3, %p1;", "div.rn.f32 %f1, %f2, %f3;",
	"fma.rn.f32 %f1, %f2, %f3, %f4;",
	/* 20 */
	"not.b32 %r1, %r2;", "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;", "neg.s32 %r1, %r2;",
	"min.s32 %r1, %r2, %r3;", "max.f32 %f1, %f2, %f3;", "barrier.sync 0;",
	"xor.b32 %r1, %r2, %r3;", "atom.global.add.u32 %r1, [%d1], %r2;", "abs.f32 %f1, %f2;",
	"rcp.rn.f32 %f1, %f2;",
	/* 30 */
	"rem.s32 %r1, %r2, %r3;", "vote.sync.ballot.b32 %r1, %p1, -1;", "ex2.approx.ftz.f32 %f1, %f2;",
	"call.uni (%r1), vprintf, (%d1, %d2);", "sqrt.rn.f32 %f1, %f2;",
	"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}];", "clz.b32 %r1, %r2;",
	"membar.gl;", "bfi.b32 %r1, %r2, %r3, 4, 8;", "brev.b32 %r1, %r2;",
	/* 40 */
	"rsqrt.approx.f32 %f1, %f2;", "popc.b32 %r1, %r2;", "nanosleep.u32 %r1;",
	"copysign.f32 %f1, %f2, %f3;", "prefetch.global.L2 [%d1];", "bfind.u32 %r1, %r2;",
	"prmt.b32 %r1, %r2, %r3, 0x3210;", "lg2.approx.f32 %f1, %f2;", "addc.cc.u32 %r1, %r2, %r3;",
	"madc.hi.u32 %r1, %r2, %r3, %r4;",
	/* 50 */
	"subc.u32 %r1, %r2, %r3;", "bmsk.clamp.b32 %r1, %r2, %r3;", "exit;",
	"red.global.add.f32 [%d1], %f1;", "sin.approx.f32 %f1, %f2;", "cos.approx.f32 %f1, %f2;",
	"activemask.b32 %r1;", "shf.l.wrap.b32 %r1, %r2, %r3, 7;",
	"match.any.sync.b32 %r1, %r2, -1;", "sust.b.2d.b32.trap [%d1, {%r1, %r2}], {%r3};",
	/* 60 */
	"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, "
	"{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, "
	"{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};",
};

/* K, and the share of the kernels in per mille. */
static const struct { uint32_t opcodes, covered; } shares[] = { { 30, 710 }, { 40, 890 },
	{ 50, 950 }, { 60, 986 }, { 70, 998 } };

static bool known(const char *text)
{
	static const char frame[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
		".extern .func (.param .u32 r) vprintf(.param .u64 a, .param .u64 b);\n"
		".visible .entry k() {\n.reg .b32 %%r<9>; .reg .f32 %%f<9>; .reg .b64 %%d<9>;\n"
		".reg .pred %%p<4>;\n%s\nEND: ret; }\n";
	struct program p;
	char all[1200];
	bool ok;

	snprintf(all, sizeof(all), frame, text);
	if (program_decode(&p, all, strlen(all), "example", &p)) {
		test_fail("%s: %s", text, p.error);
		return false;
	}
	ok = p.funcs[p.n_funcs - 1].code[0].fn != exec_refused;
	program_free(&p);
	return ok;
}

TEST(the_opcodes_that_kernels_use)
{
	uint32_t n = sizeof(examples) / sizeof(*examples), k, first = n, covered = 0;

	for (k = 0; k < n; k++) {
		if (known(examples[k]))
			continue;
		test_fail("not known: %s", examples[k]);
		first = first < k ? first : k;
	}
	for (k = 0; k < sizeof(shares) / sizeof(*shares); k++)
		if (shares[k].opcodes <= first)
			covered = shares[k].covered;
	printf("# the %u opcodes used most are known: at least %u.%u %% of 2143 public kernels\n",
	       first, covered / 10, covered % 10);
	EXPECT_LE(986, covered);
}

/* Whether an entry, with the functions of its module, can do without what isn't known. */
static bool runs(const struct func *f)
{
	uint32_t k;

	for (k = 0; k < f->n_code; k++)
		if (f->code[k].fn == exec_refused) {
			printf("# %s, line %u\n", f->name, f->code[k].line);
			return false;
		}
	return true;
}

static uint32_t all, can;

static void count(const char *path)
{
	struct program p;
	size_t len;
	uint32_t i;
	char *text;

	text = corpus_read(path, &len);
	if (!text || program_decode(&p, text, len, path, &p)) {
		test_fail("%s: %s", path, text ? p.error : "can't be read");
		free(text);
		return;
	}
	for (i = 0; i < p.n_funcs; i++) {
		if (!p.funcs[i].has_body)
			continue;
		all++;
		can += runs(&p.funcs[i]);
	}
	mem_free_owner(&p);
	program_free(&p);
	free(text);
}

TEST(the_corpus)
{
	glob_t g;
	size_t k;

	ASSERT_EQ(0, glob("build/corpus/ptx/*/*.ptx", 0, NULL, &g));
	for (k = 0; k < g.gl_pathc; k++)
		count(g.gl_pathv[k]);
	printf("# of the corpus's %u kernels and functions %u need nothing that isn't known\n", all, can);
	EXPECT_EQ(all, can);
	globfree(&g);
}

/* With files of PTX: the same count over them. */
int main(int argc, char **argv)
{
	int k;

	if (argc < 2 || !strstr(argv[1], ".ptx"))
		return test_main(argv);
	for (k = 1; k < argc; k++)
		count(argv[k]);
	printf("%u of %u kernels and functions need nothing that isn't known\n", can, all);
	return can != all;
}
