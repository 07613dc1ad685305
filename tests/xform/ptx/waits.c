// SPDX-License-Identifier: MIT
/* Which loops wait for other blocks, by small texts: GSX_WAITS. */
#include <gsxform.h>

#include "harness.h"

#define HEAD	".version 8.3\n.target sm_90\n.address_size 64\n"
#define REGS	".reg .b32 %r<20>; .reg .b64 %d<20>; .reg .pred %p<9>;\n"
#define KERNEL	HEAD ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n" REGS
#define DONE	"END: ret;\n}\n"
#define POLL(body)	KERNEL "ld.param.u64 %d1, [a];\nL: " body "bra L;\nret;\n}\n"

static void check_waits(bool waits, const char *text)
{
	struct gsx_options opt = { .file = "t.ptx", .modes = GSX_ALL_MODES };
	struct gsx_result r;

	ASSERT_EQ(0, gsx_ptx_transform(text, strlen(text), &opt, &r));
	if (!!(r.kernels[0].flags & GSX_WAITS) != waits)
		test_fail("%s: %s", waits ? "waits" : "waits for nobody", text);
	gsx_result_free(&r);
}

/* Loops that wait for what others write to memory, and loops that only look as if. */
TEST(loops_that_wait)
{
	static const struct {
		bool waits;
		const char *text;
	} cases[] = {
		{ true, POLL("ld.volatile.u32 %r1, [%d1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ") },
		{ true, POLL("ld.acquire.gpu.global.u32 %r1, [%d1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ") },
		{ true, POLL("ld.global.cv.u32 %r1, [%d1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ") },
		{ true, POLL("nanosleep.u32 100;\nld.global.u32 %r1, [%d1];\n"
			     "setp.eq.u32 %p1, %r1, 0;\n@%p1 ") },
		{ true, POLL("membar.gl;\nld.global.cg.u32 %r1, [%d1];\nsetp.ne.u32 %p1, %r1, 9;\n"
			     "@%p1 ") },
		/* a counter that is read by adding nothing; left in the middle */
		{ true, POLL("atom.global.add.u32 %r1, [%d1], 0;\nand.b32 %r2, %r1, 7;\n"
			     "setp.eq.u32 %p1, %r2, 7;\n@%p1 ret;\n") },
		{ true, POLL("atom.or.b32 %r1, [%d1], 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 exit;\n") },
		/* by a table, and to where isn't written down */
		{ true, KERNEL "L: atom.add.u32 %r1, [%d1], 0;\nT: .branchtargets L, END;\n"
		  "brx.idx %r1, T;\n" DONE },
		{ true, KERNEL "atom.add.u32 %r1, [%d1], 0;\nbrx.idx %r1, %r2;\n" DONE },
		{ true, POLL("atom.inc.u32 %r1, [%d1], 9;\nvote.sync.any.pred %p2, %p3, -1;\n"
			     "setp.ne.u32 %p3, %r1, 0;\n@%p2 ") },
		/* one thread looks for all, or the stack holds what was seen */
		{ true, HEAD ".shared .b32 s;\n.entry k(.param .u64 a) {\n" REGS
		  "L: @%p4 atom.add.u32 %r1, [%d1], 0;\n@%p4 st.shared.u32 [s], %r1;\nbar.sync 0;\n"
		  "ld.shared.u32 %r2, [s];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nret; }\n" },
		{ true, POLL("atom.max.u32 %r1, [%d1], 0;\nst.local.u32 [%d2], %r1;\n"
			     "ld.local.u32 %r2, [%d2];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 ") },
		/* a function looks, the kernel goes round */
		{ true, HEAD ".func (.param .b32 r) f(.param .b64 a) {\n" REGS
		  "ld.param.u64 %d1, [a];\nld.volatile.global.u32 %r1, [%d1];\n"
		  "st.param.b32 [r], %r1;\nret; }\n.entry k {\n" REGS
		  ".param .b32 x; .param .b64 y;\nL: call (x), f, (y);\nld.param.b32 %r1, [x];\n"
		  "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nret; }\n" },
		{ true, HEAD ".func (.param .b32 r) f(.param .b64 a) {\n" REGS
		  "ld.param.u64 %d1, [a];\natom.add.u32 %r1, [%d1], 0;\nst.param.b32 [r], %r1;\n"
		  "ret; }\n.entry k {\n" REGS ".param .b32 x; .param .b64 y;\n"
		  "L: call (x), f, (y);\nld.param.b32 %r1, [x];\nsetp.eq.u32 %p1, %r1, 0;\n"
		  "@%p1 bra L;\nret; }\n" },
		/* a histogram, an appended list, the last block of a sum */
		{ false, POLL("atom.global.add.u32 %r1, [%d1], 1;\nst.global.u32 [%d2], %r1;\n"
			      "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 9;\n@%p1 ") },
		{ false, POLL("red.global.add.u32 [%d1], 1;\nadd.u32 %r3, %r3, 1;\n"
			      "setp.lt.u32 %p1, %r3, 9;\n@%p1 ") },
		{ false, KERNEL "membar.gl;\natom.global.inc.u32 %r1, [%d1], 9;\n"
		  "setp.ne.u32 %p1, %r1, 9;\n@%p1 bra END;\nL: ld.global.u32 %r2, [%d2];\n"
		  "add.u32 %r3, %r3, %r2;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 9;\n"
		  "@%p2 bra L;\n" DONE },
		{ false, POLL("ld.volatile.shared.u32 %r1, [%r2];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ") },
		{ false, POLL("ld.global.u32 %r1, [%d1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ") },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_waits(cases[i].waits, cases[i].text);
}

/* Goes on at [%d1] with %r1, which was expected to be there, until @p1 isn't true. */
#define SWAP(before, expected, put, after)						\
	KERNEL "ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1];\nL: " before	\
	"atom.global.cas.b32 %r1, [%d1], " expected ", " put ";\n" after "@%p1 bra L;\nret;\n}\n"
/* Places from %r1 on, of which the first is taken that is 0. */
#define CLAIM(function, more)								\
	HEAD function ".visible .entry k(.param .u64 a)\n{\n" REGS "ld.param.u64 %d1, [a];\n" \
	"L: mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d3, %d1, %d2;\n"			\
	"atom.global.cas.b32 %r2, [%d3], 0, 1;\nadd.u32 %r3, %r1, 1;\nand.b32 %r1, %r3, 7;\n" \
	"setp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\n" more "ret;\n}\n"
/* A ticket %r1, and when another is drawn. */
#define TICKET(more)	POLL("atom.global.add.u32 %r1, [%d1], 1;\n" more "@%p1 ")
#define EXPECT		"mov.u32 %r2, %r1;\nadd.u32 %r3, %r2, 1;\n"
#define AGAIN		"setp.ne.u32 %p1, %r1, %r2;\n"

/* What others do to memory decides on these loops, too; alone, a thread leaves some. */
TEST(loops_that_try_again)
{
	/* expects what was found, and puts something else; what was read anew; one of both */
	check_waits(false, SWAP(EXPECT, "%r2", "%r3", AGAIN));
	check_waits(false, SWAP("ld.volatile.global.u32 %r2, [%d1];\n", "%r2", "%r3", AGAIN));
	check_waits(false, SWAP(EXPECT "setp.gt.u32 %p2, %r2, 9;\n@%p2 ret;\n", "%r2", "%r3", AGAIN));
	check_waits(true, SWAP("", "0", "1", "setp.ne.u32 %p1, %r1, 0;\n"));
	check_waits(true, SWAP(EXPECT, "%r2", "%r2", AGAIN));
	check_waits(true, SWAP(EXPECT, "%r4", "%r3", "setp.ne.u32 %p1, %r1, %r4;\n"));
	check_waits(true, SWAP("ld.volatile.global.u32 %r2, [%d1+4];\n", "%r2", "%r3", AGAIN));
	check_waits(true, SWAP("ld.volatile.global.u16 %r2, [%d1];\n", "%r2", "%r3", AGAIN));
	check_waits(true, SWAP("@%p3 mov.u32 %r2, %r1;\n", "%r2", "%r3", AGAIN));
	/* what is read behind it is for the next turn, and says nothing of this one */
	check_waits(true, SWAP("", "%r2", "%r3", "ld.volatile.global.u32 %r2, [%d1];\n" AGAIN));
	/* goes on for as long as it succeeds; as somebody holds the low bit */
	check_waits(true, SWAP(EXPECT, "%r2", "%r3", "setp.eq.u32 %p1, %r1, %r2;\n"));
	check_waits(true, SWAP(EXPECT, "%r2", "%r3", AGAIN "and.b32 %r5, %r1, 1;\n"
			       "setp.ne.u32 %p2, %r5, 0;\nor.pred %p1, %p1, %p2;\n"));

	check_waits(false, CLAIM("", ""));
	check_waits(false, CLAIM("", "st.global.u32 [%d3+64], %r9;\n"));
	check_waits(true, CLAIM("", "st.global.u32 [%d3], 0;\n"));
	check_waits(true, CLAIM("", "st.global.v2.u32 [%d3], {%r9, 0};\n"));
	check_waits(true, CLAIM("", "st.volatile.global.u32 [%d3], %r9;\n"));
	check_waits(true, CLAIM("", "red.global.and.b32 [%d3], %r9;\n"));
	check_waits(true, CLAIM("", "membar.gl;\n"));
	check_waits(true, CLAIM(".func f(.param .b64 a)\n{\n" REGS "ld.param.u64 %d1, [a];\n"
				"st.global.u32 [%d1], 0;\nret;\n}\n",
				".param .b64 x;\nst.param.b64 [x], %d3;\ncall f, (x);\n"));

	check_waits(false, TICKET("setp.lt.u32 %p1, %r1, 900;\n"));
	check_waits(false, TICKET("mad.lo.u32 %r2, %r1, 4, %r9;\nsetp.lt.u32 %p1, %r2, 900;\n"));
	check_waits(true, TICKET("mul.lo.s32 %r2, %r1, -4;\nsetp.lt.s32 %p1, %r2, 900;\n"));
	check_waits(true, TICKET("setp.ne.u32 %p1, %r1, 0;\n"));
	check_waits(true, TICKET("and.b32 %r2, %r1, 1;\nsetp.ne.u32 %p1, %r2, 0;\n"));
	check_waits(true, TICKET("red.global.add.u32 [%d1], -1;\nsetp.lt.u32 %p1, %r1, 900;\n"));
}

TEST_MAIN()
