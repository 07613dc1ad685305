// SPDX-License-Identifier: MIT
/* The transformer: what it writes, what it refuses and why, what it reports. */
#include <errno.h>

#include <gsxform.h>

#include "xform/ptx/ptx.h"
#include "harness.h"

#define EQ(a, b)	EXPECT_EQ((uint64_t)(a), (uint64_t)(b))
#define ALL		GSX_ALL_MODES
#define WORKERS		GSX_BIT(GSX_WORKERS)

#define HEAD	".version 8.3\n.target sm_90\n.address_size 64\n"
#define REGS	".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<9>;\n"
#define KERNEL	HEAD ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n" REGS
/* some leave, the others go on; the branch is in line 8 */
#define LEAVE	"ld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nsetp.ge.s32 %p1, %r1, %r9;\n" \
		"@%p1 bra END;\n"
#define DONE	"END: ret;\n}\n"

static struct gsx_result r;

static int run(const char *text, const struct gsx_options *opt)
{
	return gsx_ptx_transform(text, strlen(text), opt, &r);
}

static const struct gsx_kernel *good_with(const char *text, const struct gsx_text *linked,
					  uint32_t n)
{
	struct gsx_options opt = { .file = "t.ptx", .modes = ALL, .linked = linked,
				   .n_linked = n };
	int err = run(text, &opt);
	struct ptx_module m;

	if (err)
		test_fail("%s", r.error);
	ASSERT_EQ(0, err);
	ASSERT_TRUE(r.n_kernels);
	/* what we write, we can read */
	err = ptx_parse(&m, r.text, r.len, "result", 64 << 20);
	if (err)
		test_fail("the result's line %u: %s", m.err_line, m.err_text);
	ptx_free(&m);
	ASSERT_EQ(0, err);
	return &r.kernels[0];
}

static const struct gsx_kernel *good(const char *text)
{
	return good_with(text, NULL, 0);
}

/* The kernel can't have these modes, because of that, which stands there. */
static void was_refused(const struct gsx_kernel *k, enum gsx_reason reason, uint32_t modes,
			uint32_t line)
{
	char where[32];
	uint32_t i;

	EQ(ALL & ~modes, k->modes);
	for (i = 0; i < k->n_refusals; i++)
		if (k->refusals[i].reason == reason)
			break;
	if (i == k->n_refusals) {
		test_fail("not refused for %s", gsx_reason_name(reason));
		return;
	}
	EQ(modes, k->refusals[i].modes);
	EQ(line, k->refusals[i].line);
	snprintf(where, sizeof(where), "t.ptx:%u: ", line);
	EXPECT_TRUE(!strncmp(k->refusals[i].text, where, strlen(where)));
	for (i = 0; i < GSX_MODES; i++)
		EXPECT_TRUE(!k->variant[i] == !(k->modes & GSX_BIT(i)));
	gsx_result_free(&r);
}

static void refused(const char *text, enum gsx_reason reason, uint32_t modes, uint32_t line)
{
	was_refused(good(text), reason, modes, line);
}

static bool has(const char *text)
{
	return strstr(r.text, text);
}

static uint32_t count(const char *text)
{
	const char *s = r.text;
	uint32_t n = 0;

	while ((s = strstr(s, text))) {
		s += strlen(text);
		n++;
	}
	return n;
}

TEST(the_original_stays)
{
	static const char text[] = KERNEL "mov.u32 %r1, %ctaid.x; // note\nret;\n}\n";
	static const char debug[] = ".section .debug_info\n{\n.b8 1\n}\n";
	char both[sizeof(text) + sizeof(debug)], *first;
	const struct gsx_kernel *k;

	sprintf(both, "%s%s", text, debug);
	k = good(both);
	EXPECT_TRUE(!strncmp(r.text, text, strlen(text)));
	EXPECT_STREQ(debug, r.text + r.len - strlen(debug));
	EXPECT_STREQ("k", k->name);
	EXPECT_STREQ("k__gsx_slice", k->variant[GSX_SLICE]);
	EXPECT_STREQ("k__gsx_guard", k->variant[GSX_GUARD]);
	EXPECT_STREQ("k__gsx_workers", k->variant[GSX_WORKERS]);
	EXPECT_TRUE(has(".visible .entry k__gsx_workers("));
	EQ(16, k->hidden_offset);
	EQ(12, k->param_bytes);
	EQ(4, k->line);
	/* the same again: the driver's cache keys on the text */
	first = strdup(r.text);
	gsx_result_free(&r);
	good(both);
	EXPECT_STREQ(first, r.text);
	free(first);
	gsx_result_free(&r);
}

TEST(reading_the_grid)
{
	good(KERNEL "mov.u32 %r1, %ctaid.x;\n@!%p1 cvt.u64.u32 %d1, %nctaid.y;\n"
	     "mov.u64 %d2, %gridid;\nmov.v4.u32 {%r2, %r3, _, %r4}, %ctaid;\n"
	     "mov.b32 %r5, %ntid.x;\nret;\n}\n");
	EXPECT_TRUE(has("mov.u32 %gsx_r0, %ctaid.x;\n\tld.param.u32 %gsx_r1, [gsx_launch+0];\n\t"
			"add.u32 %gsx_r0, %gsx_r0, %gsx_r1;\n\tmov.b32 %r1, %gsx_r0;"));
	EXPECT_TRUE(has("ld.param.u32 %gsx_r0, [gsx_launch+16];\n\t"
			"@!%p1 cvt.u64.u32 %d1, %gsx_r0;"));
	EXPECT_TRUE(has("ld.param.u64 %gsx_d0, [gsx_launch+24];\n\tmov.b64 %d2, %gsx_d0;"));
	EXPECT_TRUE(has("mov.b32 %r4, 0;"));
	EXPECT_TRUE(has("mov.b32 %r1, %gsx_x;"));
	EXPECT_TRUE(has("mov.b32 %r3, %gsx_y;"));
	/* the original's, and none left in the variants */
	EQ(1, count("mov.u32 %r1, %ctaid.x;"));
	EQ(4, count("mov.b32 %r5, %ntid.x;"));
	gsx_result_free(&r);
}

TEST(division_by_multiplication)
{
	static const uint32_t d[] = { 1, 2, 3, 5, 7, 31, 32, 33, 641, 65535, 65536, 65537,
				      0x3fffffff, 0x40000000, 0x7ffeffff, GSX_MAX_BLOCKS };
	struct gsx_launch l;
	uint32_t i, k, t, seed = 12345, grid[3] = { 1, 1, 1 };

	for (i = 0; i < sizeof(d) / sizeof(d[0]); i++) {
		grid[0] = d[i];
		ASSERT_EQ(0, gsx_launch_init(&l, grid));
		EQ(d[i], l.total);
		for (k = 0; k < 20000; k++) {
			seed = seed * 1664525 + 1013904223;
			t = k < 100 ? k : k < 200 ? d[i] - 50 + (k - 100) : seed >> 1;
			t &= 0x7fffffff;
			if (t / d[i] != ((uint64_t)(2 * t) * l.mul[0] >> 32) >> l.shift[0])
				test_fail("%u / %u", t, d[i]);
		}
	}
	grid[0] = grid[1] = grid[2] = 1024;
	EXPECT_EQ(0, gsx_launch_init(&l, grid));
	grid[1] = 2 * 1024 * 1024;
	EXPECT_EQ(-ERANGE, gsx_launch_init(&l, grid));
	EQ(0, l.total);
	EQ(1024, l.grid[0]);
	grid[0] = 0;
	EXPECT_EQ(-ERANGE, gsx_launch_init(&l, grid));
	EQ(GSX_LAUNCH_BYTES, sizeof(struct gsx_launch));
	EQ(GSX_SLICE_BYTES, offsetof(struct gsx_launch, queue));
	EQ(128, offsetof(struct gsx_queue, sm));
}

TEST(refused_whole)
{
	refused(KERNEL "mov.u32 %r1, %envreg2;\nret;\n}\n", GSX_GRID_SYNC, ALL, 7);
	refused(KERNEL "barrier.cluster.arrive;\nret;\n}\n", GSX_CLUSTER, ALL, 7);
	refused(KERNEL "mov.u32 %r1, %cluster_ctarank;\nret;\n}\n", GSX_CLUSTER, ALL, 7);
	refused(HEAD ".entry k() .reqnctapercluster 2 { ret; }\n", GSX_CLUSTER, ALL, 4);
	refused(HEAD ".extern .func (.param .b32 r) cudaLaunchDeviceV2;\n.entry k {\n"
		".param .b32 x;\ncall (x), cudaLaunchDeviceV2;\nret; }\n", GSX_DEVICE_LAUNCH, ALL, 7);
	refused(HEAD ".extern .func other;\n.entry k {\ncall other;\nret; }\n",
		GSX_EXTERN_CALL, ALL, 6);
	refused(HEAD ".extern .func other;\n.func f {\ncall other;\nret; }\n"
		".entry k { call f; ret; }\n", GSX_EXTERN_CALL, ALL, 6);
	refused(KERNEL "some.thing %r1;\nret;\n}\n", GSX_UNKNOWN_FLOW, ALL, 7);
	refused(KERNEL ".thing %r1;\nret;\n}\n", GSX_UNKNOWN_FLOW, ALL, 7);
	refused(KERNEL "add.u32 %r1, %ctaid.x, 1;\nret;\n}\n", GSX_SPECIAL_USE, ALL, 7);
	refused(HEAD ".entry k(.param .b8 x[32760]) { ret; }\n", GSX_PARAM_SPACE, ALL, 4);
	refused(HEAD ".entry k(.param .b8 x[32700]) { ret; }\n", GSX_PARAM_SPACE, 6, 4);
	refused(".version 6.0\n.target sm_70\n.address_size 64\n.entry k(.param .b8 x[4080]) { ret; }\n",
		GSX_PARAM_SPACE, ALL, 4);
	refused(HEAD ".extern .entry k;\n", GSX_BODYLESS, ALL, 4);
	refused(HEAD ".func f { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }\n"
		".entry k {\n.reg .b64 %d<2>;\nmov.u64 %d1, f;\nP: .callprototype _;\n"
		"call %d1, P;\nret; }\n", GSX_INDIRECT_CALL, ALL, 9);
}

TEST(refused_as_workers)
{
	refused(HEAD ".func f { exit; }\n.entry k { call f; ret; }\n", GSX_EXIT_IN_FUNCTION,
		WORKERS, 4);
	refused(KERNEL "mbarrier.init.shared.b64 [%r1], 3;\nret;\n}\n", GSX_ASYNC_STATE, WORKERS, 7);
	refused(KERNEL "alloca.u64 %d1, 16;\nret;\n}\n", GSX_STACK, WORKERS, 7);
	refused(".version 6.0\n.target sm_61\n.address_size 64\n.entry k { ret; }\n",
		GSX_OLD_TARGET, WORKERS, 4);
	refused(KERNEL LEAVE "bar.sync 3;\n" DONE, GSX_BARRIER_FORM, WORKERS, 11);
	refused(KERNEL LEAVE "bar.sync %r4;\n" DONE, GSX_BARRIER_FORM, WORKERS, 11);
	/* arrivals that nobody may have waited for, and parts of the block that go ahead */
	refused(KERNEL "bar.arrive 1, 64;\nret;\n}\n", GSX_BARRIER_FORM, WORKERS, 7);
	refused(KERNEL "barrier.cta.arrive %r4, 64;\nret;\n}\n", GSX_BARRIER_FORM, WORKERS, 7);
	refused(KERNEL "bar.sync 0, 64;\nret;\n}\n", GSX_BARRIER_FORM, WORKERS, 7);
	refused(KERNEL "bar.sync %r4, 64;\nret;\n}\n", GSX_BARRIER_FORM, WORKERS, 7);
	refused(KERNEL "bar.red.or.pred %p1, 0, 64, %p2;\nret;\n}\n", GSX_BARRIER_FORM,
		WORKERS, 7);
	refused(HEAD ".func f {\nbar.arrive 2, 96;\nret; }\n.entry k { call f; ret; }\n",
		GSX_BARRIER_FORM, WORKERS, 5);
	/* a constant as what is reduced can't be carried through two rounds */
	refused(KERNEL LEAVE "bar.red.popc.u32 %r5, 0, 1;\n" DONE, GSX_BARRIER_FORM, WORKERS, 11);
	/* no mask, an operation in what is called or of some lanes */
	refused(KERNEL LEAVE "shfl.down.b32 %r1, %r1, 1, 31;\n" DONE, GSX_WARP_AFTER_EXIT, WORKERS, 11);
	refused(HEAD ".func f {\n.reg .pred %p<3>;\nvote.sync.any.pred %p1, %p2, -1;\nret; }\n"
		".entry k(.param .u64 a, .param .u32 n)\n{\n" REGS LEAVE "call f;\n" DONE,
		GSX_WARP_AFTER_EXIT, WORKERS, 15);
	refused(KERNEL LEAVE "@%p2 shfl.sync.down.b32 %r1, %r1, 1, 31, -1;\n" DONE,
		GSX_WARP_AFTER_EXIT, WORKERS, 11);
	/* lanes that would have to come to a vote wait for what another lane does after it */
	refused(KERNEL LEAVE "W: ld.volatile.global.u32 %r3, [%d1];\nsetp.eq.u32 %p2, %r3, 0;\n"
		"@%p2 bra W;\nshfl.sync.down.b32 %r1, %r1, 1, 31, -1;\n" DONE,
		GSX_WARP_AFTER_EXIT, WORKERS, 13);
	/* sides of a branch that end apart, one of them in an operation of the whole warp */
	refused(KERNEL "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 30;\n@%p1 bra ELSE;\n"
		"vote.sync.any.pred %p2, %p3, -1;\nbra END;\n"
		"ELSE: vote.sync.any.pred %p2, %p3, %r2;\n" DONE, GSX_WARP_AFTER_EXIT, WORKERS, 9);
	refused(KERNEL "bar.sync 0;\nbrx.idx %r1, %r2;\nret;\n}\n", GSX_UNKNOWN_FLOW, WORKERS, 8);
}

TEST(modes_not_asked_for)
{
	struct gsx_options opt = { .modes = GSX_BIT(GSX_SLICE) };

	ASSERT_EQ(0, run(KERNEL "ret; }\n", &opt));
	EQ(GSX_BIT(GSX_SLICE), r.kernels[0].modes);
	EQ(GSX_NOT_ASKED, r.kernels[0].refusals[0].reason);
	EXPECT_FALSE(has("__gsx_guard"));
	gsx_result_free(&r);
	opt.modes = 0;
	ASSERT_EQ(0, run(KERNEL "ret; }\n", &opt));
	EXPECT_TRUE(!r.text);
	EQ(1, r.n_kernels);
	gsx_result_free(&r);
}

TEST(early_returns_park)
{
	const struct gsx_kernel *k;

	k = good(KERNEL LEAVE "bar.sync 0;\n" DONE);
	EQ(ALL, k->modes);
	EXPECT_TRUE(k->flags & GSX_PARKS);
	EXPECT_TRUE(k->flags & GSX_BARRIERS);
	EQ(2, count("barrier.red.and.pred"));
	EQ(0, count("barrier.red.popc"));
	EQ(3 + 2, count("bar.sync"));	/* body of three, prologue of two */
	gsx_result_free(&r);
	/* a branch that all of the block take alike */
	k = good(KERNEL "ld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\n"
		 "setp.lt.u32 %p1, %r2, %r1;\n@%p1 bra END;\nbar.sync 0;\n" DONE);
	EXPECT_FALSE(k->flags & GSX_PARKS);
	EXPECT_TRUE(has("barrier.sync 0;\n"));
	gsx_result_free(&r);
	/* after the last barrier all may leave as they like */
	k = good(KERNEL "bar.sync 0;\n" LEAVE "st.shared.u32 [%r1], 1;\n" DONE);
	EXPECT_FALSE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
	/* a loop that lanes leave at different times */
	k = good(KERNEL "mov.u32 %r1, %tid.x;\nL: bar.sync 0;\nsub.u32 %r1, %r1, 1;\n"
		 "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra L;\nret; }\n");
	EXPECT_TRUE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
	/* and one with a counter that is the same for all, behind an early return */
	k = good(KERNEL LEAVE "mov.u32 %r2, 0;\nL: add.u32 %r2, %r2, 1;\nvote.sync.any.pred %p2, %p3, -1;\n"
		 "setp.lt.u32 %p4, %r2, 5;\n@%p4 bra L;\n" DONE);
	EQ(ALL, k->modes);
	EXPECT_TRUE(has("vote.sync.ballot.b32 %gsx_live, !%p1, %gsx_live;\n\t@%p1 bra END;"));
	EXPECT_TRUE(has("and.b32 %gsx_mask, -1, %gsx_live;\n\t"
			"vote.sync.any.pred %p2, %p3, %gsx_mask;"));
	gsx_result_free(&r);
	/* a value that the branch decides on is different even if each side's isn't */
	k = good(KERNEL "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\nmov.u32 %r2, 5;\n@%p1 bra L;\n"
		 "mov.u32 %r2, 6;\nL: setp.eq.u32 %p2, %r2, 5;\n@%p2 bra END;\nbar.sync 0;\n" DONE);
	EXPECT_TRUE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
	/* a reduction over a part of the block tells its parts different things */
	k = good(KERNEL "bar.red.or.pred %p1, 1, 64, %p2;\n@%p1 bra END;\nbar.sync 0;\n" DONE);
	EXPECT_TRUE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
	k = good(KERNEL "bar.red.or.pred %p1, 1, %p2;\n@%p1 bra END;\nbar.sync 0;\n" DONE);
	EXPECT_FALSE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
	/* a value that some have from this round of a loop and some from an earlier one */
	k = good(KERNEL "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nL: setp.gt.u32 %p1, %r2, %r1;\n"
		 "@%p1 bra SKIP;\nadd.u32 %r5, %r2, 1;\nSKIP: setp.eq.u32 %p2, %r5, 7;\n"
		 "@%p2 bra END;\nbar.sync 0;\nadd.u32 %r2, %r2, 1;\nbra L;\n" DONE);
	EXPECT_TRUE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
	/* the same where all come by in each round */
	k = good(KERNEL "mov.u32 %r2, 0;\nL: add.u32 %r5, %r2, 1;\nsetp.eq.u32 %p2, %r5, 7;\n"
		 "@%p2 bra END;\nbar.sync 0;\nadd.u32 %r2, %r2, 1;\nbra L;\n" DONE);
	EXPECT_FALSE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
	/* a named barrier with a count waits for nobody else */
	k = good(KERNEL LEAVE "bar.sync 1, 64;\n" DONE);
	EQ(ALL, k->modes);
	EXPECT_FALSE(k->flags & GSX_PARKS);
	gsx_result_free(&r);
}

TEST(whole_warps_may_leave)
{
	const struct gsx_kernel *k;

	k = good(KERNEL "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 31;\n@%p1 bra END;\n"
		 "shfl.sync.down.b32 %r7, %r1, 1, 31, -1;\n" DONE);
	EQ(ALL, k->modes);
	EQ(GSX_NEEDS_ROWS, k->needs);
	EXPECT_FALSE(has("%gsx_live"));
	gsx_result_free(&r);
	/* the end of one leaves: it says so */
	k = good(KERNEL "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 30;\n@%p1 bra END;\n"
		 "shfl.sync.down.b32 %r7, %r1, 1, 31, -1;\n" DONE);
	EQ(ALL, k->modes);
	EQ(0, k->needs);
	EQ(1, count("vote.sync.ballot.b32 %gsx_live, !%p1, %gsx_live;"));
	gsx_result_free(&r);
	k = good(KERNEL "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nsetp.ne.s32 %p1, %r2, 0;\n@%p1 bra END;\n"
		 "shfl.sync.down.b32 %r7, %r1, 1, 31, -1;\n" DONE);
	EQ(GSX_NEEDS_ROWS, k->needs);
	gsx_result_free(&r);
	k = good(KERNEL "shfl.sync.down.b32 %r7, %r1, 1, 31, -1;\n" LEAVE DONE);
	EQ(0, k->needs);
	EQ(ALL, k->modes);
	gsx_result_free(&r);
}

TEST(reductions_take_two_rounds)
{
	good(KERNEL LEAVE "bar.red.popc.u32 %r5, 0, %p2;\nbar.red.or.pred %p3, 0, !%p2;\n"
	     "bar.red.and.pred %p4, 0, %p2;\nbar.sync 0;\n" DONE);
	EQ(5, count("barrier.red.and.pred"));
	EXPECT_TRUE(has("barrier.red.popc.u32 %gsx_r0, 0, %p2;\n\tmov.b32 %r5, %gsx_r0;"));
	EXPECT_TRUE(has("barrier.red.popc.u32 %gsx_r0, 0, !%p2;\n\tsetp.ne.u32 %p3, %gsx_r0, 0;"));
	EXPECT_TRUE(has("barrier.red.popc.u32 %gsx_r0, 0, !%p2;\n\tsetp.eq.u32 %p4, %gsx_r0, 0;"));
	EQ(5, count("barrier.red.popc"));
	gsx_result_free(&r);
}

TEST(device_functions)
{
	good(HEAD ".func (.param .b32 ret) f(.param .b32 a);\n"
	     ".func (.param .b32 ret) g(.param .b32 a) { ret; }\n"
	     ".func (.param .b32 ret) f(.param .b32 a) {\n" REGS
	     "mov.u32 %r1, %ctaid.y;\n{ .param .b32 x; call.uni (x), f, (x); call (x), g, (x); }\nret; }\n"
	     ".entry k {\n" REGS ".param .b32 x; @%p1 call (x), f, (3); ret; }\n");
	/* one copy for all modes, declared before, and the one that needs none kept */
	EQ(2, count(") f__gsx(.param .b32 gsx_a1, "));
	EQ(0, count("g__gsx"));
	EXPECT_TRUE(has("@%p1 call (x), f__gsx, (gsx_c"));
	EXPECT_TRUE(has("call.uni (x), f__gsx, (gsx_c"));
	EQ(2, count("call (x), g, (x);"));
	gsx_result_free(&r);
	/* a barrier below an early return in the kernel parks in the function's copy */
	good(HEAD ".func f { bar.sync 0; ret; }\n.entry k(.param .u64 a, .param .u32 n) {\n" REGS LEAVE
	     "call f;\n" DONE);
	EXPECT_TRUE(r.kernels[0].flags & GSX_PARKS);
	EQ(2, count(".func f__gsx_parked("));
	EQ(1, count("call f__gsx_parked;"));
	EQ(3, count("call f;"));
	gsx_result_free(&r);
}

static uint32_t cap(void *arg, const char *kernel, enum gsx_mode mode)
{
	(void)kernel;
	return mode == GSX_GUARD ? 0 : *(uint32_t *)arg;
}

TEST(register_caps)
{
	uint32_t n = 40;
	struct gsx_options opt = { .modes = ALL, .cap = cap, .arg = &n };

	ASSERT_EQ(0, run(HEAD ".entry k() .maxntid 128 .maxnreg 64 .minnctapersm 2 { ret; }\n", &opt));
	EQ(2, count(".maxnreg 40"));
	EQ(2, count(".maxnreg 64"));
	EQ(4, count(".maxntid 128"));
	EQ(4, count(".minnctapersm 2"));
	gsx_result_free(&r);
	n = 80;
	ASSERT_EQ(0, run(HEAD ".entry k() .maxnreg 64 { ret; }\n", &opt));
	EQ(0, count(".maxnreg 80"));
	EQ(4, count(".maxnreg 64"));
	gsx_result_free(&r);
	ASSERT_EQ(0, run(HEAD ".entry k { ret; }\n", &opt));
	EQ(2, count(".maxnreg 80"));
	gsx_result_free(&r);
	EQ(32, gsx_register_cap(3));
	EQ(32, gsx_register_cap(32));
	EQ(40, gsx_register_cap(33));
}

TEST(parameters_that_are_written)
{
	const struct gsx_kernel *k;

	k = good(HEAD ".entry k(.param .u64 in, .param .u64 out, .param .u64 both, .param .u64 no,\n"
		 ".param .u32 n, .param .u64 kept, .param .align 8 .b8 s[16]) {\n" REGS
		 "ld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\nld.param.u64 %d3, [both];\n"
		 "ld.param.u32 %r1, [n];\nld.param.u64 %d4, [kept];\nld.param.u64 %d5, [s+8];\n"
		 "cvta.to.global.u64 %d6, %d1;\ncvta.to.global.u64 %d7, %d2;\n"
		 "mul.wide.s32 %d8, %r1, 4;\nadd.s64 %d9, %d6, %d8;\nadd.s64 %d10, %d7, %d8;\n"
		 "ld.global.u32 %r2, [%d9];\nmul.wide.s32 %d11, %r2, 4;\nadd.s64 %d12, %d10, %d11;\n"
		 "st.global.u32 [%d12+4], %r1;\natom.global.add.u32 %r3, [%d3], %r1;\n"
		 "st.local.u64 [%d13], %d4;\nst.global.u32 [%d5], 0;\nret; }\n");
	ASSERT_EQ(7u, k->n_params);
	EQ(GSX_PARAM_POINTER | GSX_PARAM_READ, k->params[0].flags);
	EQ(GSX_PARAM_POINTER | GSX_PARAM_WRITTEN, k->params[1].flags);
	EQ(GSX_PARAM_POINTER | GSX_PARAM_READ | GSX_PARAM_WRITTEN, k->params[2].flags);
	EQ(0, k->params[3].flags);
	EQ(0, k->params[4].flags);
	EQ(GSX_PARAM_POINTER | GSX_PARAM_READ | GSX_PARAM_WRITTEN, k->params[5].flags);
	EQ(GSX_PARAM_POINTER | GSX_PARAM_WRITTEN, k->params[6].flags);
	EQ(48, k->params[6].offset);
	EXPECT_FALSE(k->flags & GSX_WRITES_ANY);
	EXPECT_TRUE(k->flags & GSX_ATOMICS);
	gsx_result_free(&r);
	k = good(KERNEL "ld.param.u64 %d1, [a];\nld.global.u64 %d2, [%d1];\nst.global.u32 [%d2], 1;\nret; }\n");
	EXPECT_TRUE(k->flags & GSX_WRITES_ANY);
	EQ(GSX_PARAM_POINTER | GSX_PARAM_READ, k->params[0].flags);
	gsx_result_free(&r);
}

TEST(other_things_reported)
{
	const struct gsx_kernel *k;

	k = good(HEAD ".shared .align 4 .b8 sh[100]; .extern .shared .align 16 .b8 dyn[];\n"
		 ".entry k .maxntid 64, 2 {\n.shared .b32 own[7];\n" REGS
		 "mov.u32 %r1, sh; mov.u32 %r1, sh; mov.u32 %r2, dyn;\n"
		 "L: ld.volatile.global.u32 %r3, [%d1];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra L;\n"
		 "st.shared.u32 [own], 1;\nret; }\n");
	EQ(128, k->shared_bytes);
	EQ(128, k->max_threads);
	EXPECT_TRUE(k->flags & GSX_DYNAMIC_SHARED);
	EXPECT_TRUE(k->flags & GSX_WAITS);
	EQ(8, k->instructions);
	EXPECT_STREQ("workers", gsx_mode_name(GSX_WORKERS));
	EXPECT_STREQ("?", gsx_reason_name(GSX_REASONS));
	gsx_result_free(&r);
}

/* @linked: with others, none of them PTX. */
static const struct gsx_kernel *shadow_of(const char *text, bool linked)
{
	static const struct gsx_text none;
	struct gsx_options opt = { .file = "t.ptx", .modes = GSX_BIT(GSX_SLICE), .shadow = true,
				   .linked = linked ? &none : NULL };
	struct ptx_module m;

	if (run(text, &opt))
		test_fail("%s", r.error);
	ASSERT_TRUE(r.text != NULL);
	EQ(0, ptx_parse(&m, r.text, r.len, "shadow", 64 << 20));
	ptx_free(&m);
	return r.kernels;
}

static const struct gsx_kernel *shadow(const char *text)
{
	return shadow_of(text, false);
}

#define STATE	HEAD ".file 1 \"t.cu\"\n.visible .global .align 4 .u32 v = 5, unused;\n" \
	".global .align 8 .u64 to_v = generic(v);\n.const .align 8 .u64 c[2] = { generic(v), 0 };\n" \
	".extern .shared .align 16 .b8 dyn[];\n"
#define IN_STATE(body)	STATE ".visible .entry k(.param .u64 a)\n{\n" REGS body "ret;\n}\n"

TEST(a_shadow_shares_the_originals_variables)
{
	const struct gsx_kernel *k = shadow(
		STATE ".func f()\n{\n" REGS "@%p1 atom.global.add.u32 %r1, [v+4], %r2;\nret;\n}\n"
		".visible .entry k(.param .u64 a)\n{\n" REGS ".loc 1 7 0\n"
		"ld.global.u64 %d1, [to_v];\n@!%p2 mov.u64 %d2, v+8;\nld.const.u64 %d3, [c+8];\n"
		"call f, ();\nret;\n}\n.section .debug_info\n{\n.b64 k\n}\n");

	EXPECT_STREQ("k__gsx_slice", k->variant[GSX_SLICE]);
	EQ(3, r.n_variables);
	EXPECT_STREQ("v", r.variables[0].name);
	EQ(0, r.variables[0].slot);
	EQ(4, r.variables[0].size);
	EXPECT_STREQ("to_v", r.variables[1].name);
	EQ(1, r.variables[1].slot);
	EXPECT_STREQ("c", r.variables[2].name);
	EQ(GSX_CONSTANT, r.variables[2].slot);
	EQ(16, r.variables[2].size);
	EXPECT_TRUE(has(".visible .const .align 8 .b64 gsx_variables0[2];"));
	EXPECT_TRUE(has(".visible .const .align 8 .b8 c[16];"));
	EXPECT_TRUE(has("ld.const.u64 %gsx_v0, [gsx_variables0+0];\n"
			"\t@%p1 atom.global.add.u32 %r1, [%gsx_v0+4], %r2;"));
	EXPECT_TRUE(has("ld.const.u64 %gsx_v0, [gsx_variables0+8];\n"
			"\tld.global.u64 %d1, [%gsx_v0];"));
	EXPECT_TRUE(has("add.s64 %gsx_v0, %gsx_v0, 8;\n\t@!%p2 mov.u64 %d2, %gsx_v0;"));
	EXPECT_TRUE(has("ld.const.u64 %d3, [c+8];"));
	EXPECT_TRUE(has(".extern .shared .align 16 .b8 dyn[];"));
	EQ(1, count(".entry"));
	EXPECT_FALSE(has(".loc") || has(".section") || has("generic") || has("[v") || has("unused"));
	gsx_result_free(&r);
	/* No room in constant memory. */
	shadow(HEAD ".global .u32 v; .const .b8 c[65536];\n.entry k()\n{\n" REGS
	       "st.global.u32 [v], %r1;\nret;\n}\n");
	EXPECT_TRUE(has(".visible .global .align 8 .b64 gsx_variables0[1];"));
	EXPECT_TRUE(has("ld.global.u64 %gsx_v0, [gsx_variables0+0];"));
	gsx_result_free(&r);
}

TEST(which_variables_a_kernel_reaches)
{
	const struct gsx_kernel *k = shadow(
		HEAD ".global .u32 v, w;\n.const .u32 c, d;\n"
		".func f()\n{\n" REGS "ld.const.u32 %r1, [d];\nst.global.u32 [w], %r1;\nret;\n}\n"
		".func g()\n{\ncall f, ();\nret;\n}\n"
		".entry a()\n{\n" REGS "call g, ();\nld.const.u32 %r1, [d];\nret;\n}\n"
		".entry b()\n{\nret;\n}\n"
		".entry e()\n{\n" REGS "ld.const.u32 %r1, [c];\nret;\n}\n");
	uint32_t i, found = 0;

	EQ(3, r.n_variables);	/* w, c, d */
	EQ(2, k[0].n_variables);
	for (i = 0; i < k[0].n_variables; i++)
		found |= 1u << k[0].variables[i];
	EQ(1 | 4, found);
	EQ(0, k[1].n_variables);
	EQ(1, k[2].n_variables);
	EXPECT_STREQ("c", r.variables[k[2].variables[0]].name);
	EQ(0, (k[0].flags | k[1].flags | k[2].flags) & GSX_ANY_VARIABLE);
	gsx_result_free(&r);
}

/* What stands where no register can, or would outlive the copy of a constant. */
TEST(what_a_shadow_cannot_share)
{
	static const char *const bad[] = {
		IN_STATE("mov.u32 %r1, v;\n"),
		IN_STATE("st.global.u64 [%d1], v;\n"),
		IN_STATE("mov.u64 %d1, to_v[0];\n"),
		IN_STATE("ld.const.u64 %d1, c[1];\n"),
		IN_STATE("cvta.const.u64 %d1, c;\n"),
		IN_STATE("cvta.to.global.u64 %d1, v;\n"),
		IN_STATE("P: .callprototype (.param .b32 _) _ ();\ncall (%r1), %d1, (), P;\n"),
		STATE ".func f()\n{\nret;\n}\n.entry k()\n{\n" REGS
		"mov.u64 %d1, f;\nst.global.u64 [to_v], %d1;\nret;\n}\n",
		HEAD ".extern .const .u32 e;\n.entry k()\n{\n" REGS
		"ld.const.u32 %r1, [e];\nret;\n}\n",
		HEAD ".global .texref t;\n.entry k()\n{\n" REGS ".reg .f32 %f<5>;\n"
		"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];\nret;\n}\n",
		".version 7.0\n.target sm_75\n.address_size 32\n.global .u32 v;\n"
		".entry k()\n{\n" REGS "st.global.u32 [v], %r1;\nret;\n}\n",
	};
	const struct gsx_kernel *k;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		k = shadow(bad[i]);
		EQ(0, k->modes);
		EQ(GSX_PROGRAM_SCOPE, k->refusals[0].reason);
		EXPECT_FALSE(has(".entry"));
		gsx_result_free(&r);
	}
}

/* Without variables of its own a module may use addresses of functions, if it's alone. */
TEST(addresses_of_functions_in_a_shadow)
{
	static const char *const texts[] = {
		HEAD ".func f()\n{\nret;\n}\n.entry k()\n{\n" REGS
		"mov.u64 %d1, f;\nst.global.u64 [%d2], %d1;\nret;\n}\n",
		HEAD ".entry k()\n{\n" REGS
		"P: .callprototype (.param .b32 _) _ ();\ncall (%r1), %d1, (), P;\nret;\n}\n",
	};
	const struct gsx_kernel *k;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		k = shadow_of(texts[i], false);
		EQ(GSX_BIT(GSX_SLICE), k->modes);
		gsx_result_free(&r);
		k = shadow_of(texts[i], true);
		EQ(0, k->modes);
		EQ(GSX_PROGRAM_SCOPE, k->refusals[0].reason);
		gsx_result_free(&r);
	}
}

/* Whatever is the width, a part of a vector or left out, and whoever is asked. */
TEST(odd_reads_of_the_grid)
{
	good(KERNEL ".reg .b16 %h<5>;\nmov.u16 %h1, %ctaid.y;\nmov.v4.u16 {%h1, _, %h3, %h4}, %nctaid;\n"
	     "mov.u32 %r1, %gridid;\ncvt.rn.f32.u32 %r2, %ctaid.z;\n@!%p1 mov.u32 %r3, %nctaid.x;\n"
	     "ret;\n}\n");
	EXPECT_TRUE(has("cvt.u16.u32 %h1, %gsx_y;"));
	EXPECT_TRUE(has("cvt.u16.u32 %h4, 0;"));
	EXPECT_TRUE(has("cvt.u32.u64 %r1, %gsx_d0;"));
	EXPECT_TRUE(has("cvt.rn.f32.u32 %r2, %gsx_z;"));
	EXPECT_TRUE(has("@!%p1 mov.b32 %r3, %gsx_r0;"));
	/* none is left in a variant */
	EQ(1, count("%h1, %ctaid.y;"));
	gsx_result_free(&r);
	refused(KERNEL ".reg .v4 .u32 %v;\nmov.v4.u32 %v, %ctaid;\nret;\n}\n", GSX_SPECIAL_USE, ALL, 8);
	refused(KERNEL ".reg .b16 %h<5>;\nmov.b32 {%h1, %h2}, %ctaid.x;\nret;\n}\n",
		GSX_SPECIAL_USE, ALL, 8);
	refused(KERNEL "mov.b64 {%r1, %r2}, %gridid;\nret;\n}\n", GSX_SPECIAL_USE, ALL, 7);
	/* a name that stands for another function, whose body isn't seen here */
	refused(HEAD ".func f { .reg .b32 %r<2>; mov.u32 %r1, %ctaid.x; ret; }\n.func g;\n"
		".alias g, f;\n.entry k {\ncall g;\nret; }\n", GSX_EXTERN_CALL, ALL, 8);
}

TEST(bad_input_changes_nothing)
{
	struct gsx_options opt = { .file = "x", .modes = ALL };

	EXPECT_EQ(-EINVAL, run("hello", &opt));
	EXPECT_TRUE(!r.text && !r.n_kernels);
	EXPECT_TRUE(!strncmp("x:1: ", r.error, 5));
	gsx_result_free(&r);
	EXPECT_EQ(-EEXIST, run(HEAD "\n.entry gsx_k { ret; }\n", &opt));
	EQ(5, r.error_line);
	gsx_result_free(&r);
	opt.max_memory = 10000;
	EXPECT_EQ(-E2BIG, run(KERNEL "ret; }\n", &opt));
	gsx_result_free(&r);
	opt.max_memory = 0;
	EXPECT_EQ(0, gsx_ptx_transform(HEAD ".entry k { ret; }\n", sizeof(HEAD ".entry k { ret; }\n"),
				       &opt, &r));	/* with its NUL */
	gsx_result_free(&r);
	EXPECT_EQ(0, run(HEAD, NULL));
	EQ(0, r.n_kernels);
	gsx_result_free(&r);
}

/* A kernel that calls other(), which one or two other texts have. */
static const struct gsx_kernel *calls(const char *linkage, const char *a, const char *b)
{
	struct gsx_text linked[] = { { a, strlen(a) }, { b ? b : "", b ? strlen(b) : 0 } };
	static char text[512];

	snprintf(text, sizeof(text), HEAD "%s\n.entry k {\ncall other;\nret; }\n", linkage);
	return good_with(text, linked, b ? 2 : 1);
}

TEST(functions_of_modules_that_are_linked)
{
	static const char plain[] = HEAD ".func own { ret; }\n.visible .func other { call own; ret; }";
	static const char ctaid[] = HEAD ".visible .func other { " REGS "mov.u32 %r1, %ctaid.x; ret; }";
	static const char deeper[] = HEAD ".extern .func third;\n.visible .func other { call third; }";
	static const char pointer[] = HEAD ".visible .func other { " REGS "call %d1, (), p; ret;\n"
		"p: .callprototype _ (); }";
	static const char waits[] = HEAD ".visible .func other { " REGS
		"L: ld.volatile.global.u32 %r1, [%d1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra L; ret; }";
	static const char ours[] = ".weak .func other { ret; }";
	const struct gsx_kernel *k;

	was_refused(calls(".extern .func other;", plain, NULL), GSX_EXTERN_CALL, WORKERS, 6);
	was_refused(calls(".extern .func other;", "rubbish", plain), GSX_EXTERN_CALL, WORKERS, 6);
	was_refused(calls(".extern .func other;", "rubbish", NULL), GSX_EXTERN_CALL, ALL, 6);
	was_refused(calls(".extern .func other;", ctaid, NULL), GSX_EXTERN_CALL, ALL, 6);
	was_refused(calls(".extern .func other;", deeper, NULL), GSX_EXTERN_CALL, ALL, 6);
	was_refused(calls(".extern .func other;", pointer, NULL), GSX_EXTERN_CALL, ALL, 6);
	/* A body of each name in two modules: either may be the one. */
	was_refused(calls(".extern .func other;", plain, ctaid), GSX_EXTERN_CALL, ALL, 6);
	was_refused(calls(ours, plain, NULL), GSX_EXTERN_CALL, ALL, 4);
	k = calls(ours, HEAD ".weak .func other { ret; }", "rubbish");
	EQ(ALL, k->modes);
	gsx_result_free(&r);
	/* One that isn't shown to others is another. */
	was_refused(calls(".extern .func other;", HEAD ".func other { ret; }", NULL),
		    GSX_EXTERN_CALL, ALL, 6);
	k = calls(".extern .func other;", waits, NULL);
	EQ(GSX_WAITS, k->flags & GSX_WAITS);
	gsx_result_free(&r);
	k = calls(".extern .func other;", plain, NULL);
	EQ(0, k->flags & GSX_WAITS);
	gsx_result_free(&r);
}

TEST_MAIN()
