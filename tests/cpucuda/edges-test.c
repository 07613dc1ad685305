// SPDX-License-Identifier: MIT
/*
 * The edges of single instructions, with results from the PTX ISA: what overflows,
 * saturates, isn't a number, is shifted or selected too far, lies beside its memory.
 */
#include "cpucuda/texture.h"
#include "unit.h"

/* The numbers of in are in %x<n>, their low bits in %h<n>, %r<n>, %f<n>, %d<n>; %x7 goes out. */
#define BEGIN HEAD ".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"	\
	".reg .b16 %h<8>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .b64 %x<8>;\n" \
	".reg .pred %p<8>; .reg .u64 %o, %i, %h; ld.param.u64 %o, [o]; ld.param.u64 %i, [i];\n"	\
	"ld.param.u64 %h, [x]; ld.global.v2.b64 {%x0, %x1}, [%i];\n"			\
	"ld.global.v2.b64 {%x2, %x3}, [%i+16];\n"					\
	"cvt.u32.u64 %r0, %x0; cvt.u32.u64 %r1, %x1; cvt.u32.u64 %r2, %x2; cvt.u32.u64 %r3, %x3;\n" \
	"cvt.u16.u64 %h0, %x0; cvt.u16.u64 %h1, %x1; cvt.u16.u64 %h2, %x2;\n"		\
	"mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b64 %d0, %x0; mov.b64 %d1, %x1;\n"
#define END "\nst.global.b64 [%o], %x7; ret; }\n"
#define H7 " cvt.u64.u16 %x7, %h7;"
#define R7 " cvt.u64.u32 %x7, %r7;"
#define F7 " mov.b32 %r7, %f7;" R7
#define P7 " selp.b64 %x7, 1, 0, %p7;"

struct edge {
	const char *code;
	uint64_t in[4], want;
};

static void check(const struct edge *e, size_t n)
{
	char text[4096];
	uint64_t got;

	for (; n--; e++) {
		prepare();
		memcpy(in->host, e->in, sizeof(e->in));
		snprintf(text, sizeof(text), "%s%s%s", BEGIN, e->code, END);
		if (!run(text, 1, 0)) {
			printf("# in: %s\n", e->code);
			continue;
		}
		memcpy(&got, out->host, 8);
		if (got != e->want)
			test_fail("%s gives 0x%llx, not 0x%llx", e->code, (unsigned long long)got,
				  (unsigned long long)e->want);
	}
}

#define CHECK(table) check(table, sizeof(table) / sizeof(*(table)))

TEST(integers)
{
	static const struct edge all[] = {
		{ "add.sat.s32 %r7, %r0, %r1;" R7, { 0x7fffffff, 1 }, 0x7fffffff },
		{ "sub.sat.s32 %r7, %r0, %r1;" R7, { 0x80000000, 1 }, 0x80000000 },
		{ "mad.hi.sat.s32 %r7, %r0, %r0, %r0;" R7, { 0x7fffffff }, 0x7fffffff },
		{ "mul.hi.s32 %r7, %r0, %r1;" R7, { 0x80000000, 0x80000000 }, 0x40000000 },
		{ "mul.hi.u64 %x7, %x0, %x0;", { ~0ull }, ~0ull - 1 },
		{ "mul.hi.s64 %x7, %x0, %x0;", { ~0ull }, 0 },
		{ "mul.wide.s16 %r7, %h0, %h1;" R7, { 0x8000, 2 }, 0xffff0000 },
		{ "mul24.hi.u32 %r7, %r0, %r0;" R7, { 0xaaffffff }, 0xfffffe00 },
		{ "mul24.lo.s32 %r7, %r0, %r1;" R7, { 0x00ffffff, 2 }, 0xfffffffe },
		{ "mad24.hi.sat.s32 %r7, %r0, %r0, %r1;" R7, { 0x7fffff, 0x7fffffff }, 0x7fffffff },
		{ "div.s32 %r7, %r0, %r1;" R7, { 0x80000000, 0xffffffff }, 0x80000000 },
		{ "rem.s32 %r7, %r0, %r1;" R7, { 0x80000000, 0xffffffff }, 0 },
		{ "rem.s64 %x7, %x0, %x1;", { (uint64_t)-7, 3 }, (uint64_t)-1 },
		{ "abs.s32 %r7, %r0;" R7, { 0x80000000 }, 0x80000000 },
		{ "sad.s32 %r7, %r0, %r1, 10;" R7, { 0xffffffff, 1 }, 12 },
		{ "sad.u32 %r7, %r0, %r1, 0;" R7, { 0xffffffff, 1 }, 0xfffffffe },
		{ "min.relu.s32 %r7, %r0, %r1;" R7, { 0xfffffff0, 3 }, 0 },
		{ "min.s16 %h7, %h0, %h1;" H7, { 0x8000, 3 }, 0x8000 },
		{ "dp4a.s32.u32 %r7, %r0, %r1, 5;" R7, { 0xff, 0xff }, 0xffffff06 },
		{ "dp2a.hi.s32.s32 %r7, %r0, %r1, 0;" R7, { 0x00020003, 0x05040000 }, 22 },
		/* carries go from one to the next, and a borrow is none */
		{ "add.cc.u32 %r4, %r0, %r1; addc.cc.u32 %r5, %r2, 0; addc.u32 %r6, 0, 0;"
		  "mov.b64 %x7, {%r5, %r6};", { 0xffffffff, 1, 0xffffffff }, 1ull << 32 },
		{ "sub.cc.u32 %r4, %r0, %r1; subc.cc.u32 %r5, %r2, 0; subc.u32 %r6, 9, 0;"
		  "mov.b64 %x7, {%r5, %r6};", { 0, 1, 0 }, 8ull << 32 | 0xffffffff },
		{ "mad.lo.cc.u32 %r4, %r0, %r0, %r0; madc.hi.u32 %r5, %r0, %r0, 0;"
		  "mov.b64 %x7, {%r4, %r5};", { 0xffffffff }, 0xffffffffull << 32 },
		{ "add.cc.u64 %x4, %x0, %x1; addc.u64 %x7, 0, 0;", { ~0ull, 1 }, 1 },
		{ "setp.lo.u32 %p1, %r0, %r1; setp.hs.and.u32 %p7, %r1, %r0, !%p1;" P7,
		  { 0x80000000, 1 }, 0 },
		{ "setp.lt.s32 %p7|%p6, %r0, %r1; not.pred %p7, %p7; or.pred %p7, %p7, %p6;" P7,
		  { 0x80000000, 1 }, 0 },
		{ "set.gt.u32.s32 %r7, %r1, %r0;" R7, { 0x80000000, 1 }, 0xffffffff },
	};

	CHECK(all);
}

TEST(bits)
{
	static const struct edge all[] = {
		{ "shl.b32 %r7, %r0, %r1;" R7, { 0xffffffff, 31 }, 0x80000000 },
		{ "shl.b32 %r7, %r0, %r1;" R7, { 0xffffffff, 32 }, 0 },
		{ "shl.b64 %x7, %x0, %r1;", { ~0ull, 64 }, 0 },
		{ "shl.b16 %h7, %h0, %r1;" H7, { 0xffff, 17 }, 0 },
		{ "shr.s32 %r7, %r0, %r1;" R7, { 0x80000000, 40 }, 0xffffffff },
		{ "shr.u32 %r7, %r0, %r1;" R7, { 0x80000000, 32 }, 0 },
		{ "shr.s64 %x7, %x0, %r1;", { 1ull << 63, 0xffffffff }, ~0ull },
		{ "shr.u16 %h7, %h0, %r1;" H7, { 0x8000, 15 }, 1 },
		{ "shf.l.clamp.b32 %r7, %r0, %r1, 40;" R7, { 0x11111111, 0x22222222 }, 0x11111111 },
		{ "shf.l.wrap.b32 %r7, %r0, %r1, 36;" R7, { 0x11111111, 0x22222222 }, 0x22222221 },
		{ "shf.r.clamp.b32 %r7, %r0, %r1, 40;" R7, { 0x11111111, 0x22222222 }, 0x22222222 },
		{ "shf.r.wrap.b32 %r7, %r0, %r1, 36;" R7, { 0x11111111, 0x22222222 }, 0x21111111 },
		{ "bfe.u32 %r7, %r0, 28, 8;" R7, { 0xffffffff }, 0xf },
		{ "bfe.s32 %r7, %r0, 28, 8;" R7, { 0x70000000 }, 7 },
		{ "bfe.s32 %r7, %r0, 28, 8;" R7, { 0xf0000000 }, 0xffffffff },
		{ "bfe.s32 %r7, %r0, 4, 0;" R7, { 0xffffffff }, 0 },
		{ "bfe.s32 %r7, %r0, 40, 3;" R7, { 0x80000000 }, 0xffffffff },
		{ "bfe.u64 %x7, %x0, 260, 255;", { ~0ull }, ~0ull >> 4 },
		{ "bfi.b32 %r7, %r0, %r1, 28, 8;" R7, { 0xff, 0x0fffffff }, 0xffffffff },
		{ "bfi.b32 %r7, %r0, %r1, 4, 0;" R7, { 0xff, 0x1234 }, 0x1234 },
		{ "bfi.b64 %x7, %x0, %x1, 60, 16;", { 0xffff, 0 }, 0xfull << 60 },
		{ "bfind.s32 %r7, %r0;" R7, { 0xffffffff }, 0xffffffff },
		{ "bfind.s32 %r7, %r0;" R7, { 0xfffffff0 }, 3 },
		{ "bfind.shiftamt.u32 %r7, %r0;" R7, { 1 }, 31 },
		{ "fns.b32 %r7, %r0, 0, 2;" R7, { 0x10101 }, 8 },
		{ "fns.b32 %r7, %r0, 31, -1;" R7, { 0x10101 }, 16 },
		{ "fns.b32 %r7, %r0, 31, %r1;" R7, { 0x10101, 0x80000000 }, 0xffffffff },
		{ "bmsk.clamp.b32 %r7, 28, 40;" R7, { 0 }, 0xf0000000 },
		{ "bmsk.clamp.b32 %r7, 32, 1;" R7, { 0 }, 0 },
		{ "bmsk.wrap.b32 %r7, 33, 3;" R7, { 0 }, 0xe },
		{ "szext.clamp.s32 %r7, %r0, 8;" R7, { 0x80 }, 0xffffff80 },
		{ "szext.wrap.s32 %r7, %r0, 32;" R7, { 0x80 }, 0 },
		{ "szext.clamp.s32 %r7, %r0, 40;" R7, { 0x80000001 }, 0x80000001 },
		{ "lop3.b32 %r7, %r0, %r1, %r2, 0x96;" R7, { 0xf0, 0xcc, 0xaa }, 0x96 },
		{ "popc.b64 %r7, %x0;" R7, { ~0ull }, 64 },
		{ "clz.b64 %r7, %x0;" R7, { 0 }, 64 },
		{ "clz.b32 %r7, %r0;" R7, { 1 }, 31 },
		{ "cnot.b16 %h7, %h0;" H7, { 0x10000 }, 1 },
		{ "prmt.b32 %r7, %r0, %r1, 0x7430;" R7, { 0x33221100, 0x77665544 }, 0x77443300 },
		{ "prmt.b32 %r7, %r0, %r1, 0x000b;" R7, { 0x80402010, 0 }, 0x101010ff },
		{ "prmt.b32.f4e %r7, %r0, %r1, 5;" R7, { 0x33221100, 0x77665544 }, 0x44332211 },
		{ "prmt.b32.b4e %r7, %r0, %r1, 1;" R7, { 0x33221100, 0x77665544 }, 0x66770011 },
		{ "prmt.b32.rc8 %r7, %r0, %r1, 2;" R7, { 0x33221100, 0x77665544 }, 0x22222222 },
		{ "prmt.b32.ecl %r7, %r0, %r1, 2;" R7, { 0x33221100, 0x77665544 }, 0x33222222 },
		{ "prmt.b32.ecr %r7, %r0, %r1, 1;" R7, { 0x33221100, 0x77665544 }, 0x11111100 },
		{ "prmt.b32.rc16 %r7, %r0, %r1, 1;" R7, { 0x33221100, 0x77665544 }, 0x33223322 },
		{ "vavrg2.s32.s32.s32 %r7, %r0, %r1, %r1;" R7, { 0xfffd0003, 0 }, 0xfffe0002 },
		{ "vsub4.u32.u32.u32.sat %r7, %r0, %r1, %r1;" R7, { 0x01ff0080, 0x02010081 }, 0x00fe0000 },
	};

	CHECK(all);
}

#define NAN32 0x7fc00000
#define NAN64 0x7ff8000000000000
#define TINY 0x00000001		/* subnormal */

TEST(floats)
{
	static const struct edge all[] = {
		{ "add.sat.f32 %f7, %f0, %f1;" F7, { NAN32, 0 }, 0 },
		{ "add.f32 %f7, %f0, %f1;" F7, { TINY, TINY }, 2 },
		{ "add.ftz.f32 %f7, %f0, %f1;" F7, { 0x80000000 | TINY, 0x80000000 }, 0x80000000 },
		{ "mul.ftz.f32 %f7, %f0, %f1;" F7, { 0x00800000, 0x3f000000 }, 0 },
		{ "add.rm.f32 %f7, %f0, %f1;" F7, { 0x3f800000, 0xbf800000 }, 0x80000000 },
		{ "fma.rz.f32 %f7, %f0, %f0, %f1;" F7, { 0x3f800001, 0 }, 0x3f800002 },
		{ "fma.rp.f32 %f7, %f0, %f0, %f1;" F7, { 0x3f800001, 0 }, 0x3f800003 },
		{ "min.f32 %f7, %f0, %f1;" F7, { NAN32, 0x3f800000 }, 0x3f800000 },
		{ "min.NaN.f32 %f7, %f0, %f1;" F7, { NAN32, 0x3f800000 }, 0x7fffffff },
		{ "min.f32 %f7, %f0, %f1;" F7, { 0, 0x80000000 }, 0x80000000 },
		{ "max.f32 %f7, %f0, %f1;" F7, { 0x80000000, 0 }, 0 },
		{ "max.ftz.f32 %f7, %f0, %f1;" F7, { TINY, 0x80000000 | TINY }, 0 },
		{ "min.xorsign.abs.f32 %f7, %f0, %f1;" F7, { 0xbf800000, 0x40000000 }, 0xbf800000 },
		{ "copysign.f32 %f7, %f0, %f1;" F7, { 0x80000000, 0x3f800000 }, 0xbf800000 },
		{ "testp.subnormal.f32 %p7, %f0;" P7, { TINY }, 1 },
		{ "testp.number.f32 %p7, %f0;" P7, { 0x7f800000 }, 1 },
		{ "setp.ne.f32 %p7, %f0, %f0;" P7, { NAN32 }, 0 },
		{ "setp.neu.f32 %p7, %f0, %f0;" P7, { NAN32 }, 1 },
		{ "setp.eq.f32 %p7|%p6, %f0, %f0; mov.pred %p7, %p6;" P7, { NAN32 }, 1 },
		/* .ftz counts for what is compared, too */
		{ "setp.eq.f32 %p7, %f0, %f1;" P7, { TINY, 0 }, 0 },
		{ "setp.eq.ftz.f32 %p7, %f0, %f1;" P7, { TINY, 0 }, 1 },
		{ "set.lt.ftz.u32.f32 %r7, %f1, %f0;" R7, { TINY, 0 }, 0 },
		{ "slct.f32.f32 %f7, %f1, %f2, %f0;" F7, { 0x80000000 | TINY, 1, 2 }, 2 },
		{ "slct.ftz.f32.f32 %f7, %f1, %f2, %f0;" F7, { 0x80000000 | TINY, 1, 2 }, 1 },
		{ "slct.f32.f32 %f7, %f1, %f2, %f0;" F7, { NAN32, 1, 2 }, 2 },
	};

	CHECK(all);
}

TEST(floats_of_16_bits)
{
	static const struct edge all[] = {
		{ "add.f16 %h7, %h0, %h1;" H7, { 1, 1 }, 2 },
		{ "add.ftz.f16 %h7, %h0, %h1;" H7, { 0x8001, 0x8000 }, 0x8000 },
		{ "mul.ftz.f16 %h7, %h0, %h1;" H7, { 0x0400, 0x3800 }, 0 },
		{ "fma.rn.ftz.f16x2 %r7, %r0, %r1, %r2;" R7, { 0x00013c00, 0x3c003c00, 0x3c000001 },
		  0x3c003c00 },
		{ "abs.ftz.f16x2 %r7, %r0;" R7, { 0x8001bc00 }, 0x00003c00 },
		{ "setp.eq.ftz.f16 %p7, %h0, %h1;" P7, { 1, 0 }, 1 },
		{ "setp.eq.ftz.f16x2 %p7|%p6, %r0, %r1; and.pred %p7, %p7, %p6;" P7, { 0x00010001, 0 }, 1 },
		{ "add.sat.f16 %h7, %h0, %h1;" H7, { 0x4000, 0x4000 }, 0x3c00 },
		{ "fma.rn.relu.f16 %h7, %h0, %h1, %h2;" H7, { 0xbc00, 0x3c00, 0 }, 0 },
		/* 2^-24 above the half between two, which a product's rounding could lose */
		{ "fma.rn.f16 %h7, %h0, %h1, %h2;" H7, { 0x3c01, 0x3c01, 1 }, 0x3c02 },
		/* 9 * 29 + 2^-100: more than 261, which lies in the middle between 260 and 262 */
		{ "fma.rn.bf16 %h7, %h0, %h1, %h2;" H7, { 0x4110, 0x41e8, 0x0d80 }, 0x4383 },
		{ "fma.rn.bf16 %h7, %h0, %h1, %h2;" H7, { 0x4110, 0x41e8, 0 }, 0x4382 },
		{ "fma.rn.bf16x2 %r7, %r0, %r1, %r2;" R7, { 0x41104110, 0x41e841e8, 0x8d800d80 },
		  0x43824383 },
		{ "min.NaN.bf16 %h7, %h0, %h1;" H7, { 0x7fc0, 0x3f80 }, 0x7fff },
	};

	CHECK(all);
}

TEST(conversions)
{
	static const struct edge all[] = {
		{ "cvt.rni.s32.f32 %r7, %f0;" R7, { 0x40200000 }, 2 },
		{ "cvt.rzi.u32.f32 %r7, %f0;" R7, { 0xbf800000 }, 0 },
		{ "cvt.rzi.s8.f32 %r7, %f0;" R7, { 0x43960000 }, 0x7f },
		{ "cvt.rzi.s32.f32 %r7, %f0;" R7, { 0x7f800000 }, 0x7fffffff },
		{ "cvt.rmi.s64.f64 %x7, %d0;", { 0xc3e0000000000001 }, 1ull << 63 },
		{ "cvt.rzi.u64.f32 %x7, %f0;", { 0x7f800000 }, ~0ull },
		/* no number: 0, but with 64 bits on either side the top bit */
		{ "cvt.rzi.s32.f32 %r7, %f0;" R7, { NAN32 }, 0 },
		{ "cvt.rzi.u64.f32 %x7, %f0;", { NAN32 }, 1ull << 63 },
		{ "cvt.rzi.s32.f64 %r7, %d0;" R7, { NAN64 }, 0x80000000 },
		{ "cvt.rzi.u16.f64 %h7, %d0;" H7, { NAN64 }, 0x8000 },
		{ "cvt.rn.f32.s32 %f7, %r0;" F7, { 16777217 }, 0x4b800000 },
		{ "cvt.rp.f32.s32 %f7, %r0;" F7, { 16777217 }, 0x4b800001 },
		{ "cvt.rn.f32.u64 %f7, %x0;" F7, { ~0ull }, 0x5f800000 },
		{ "cvt.rz.f32.f64 %f7, %d0;" F7, { 0x3fefffffffffffff }, 0x3f7fffff },
		{ "cvt.ftz.f32.f16 %f7, %h0;" F7, { 1 }, 0x33800000 },
		{ "cvt.sat.f32.f32 %f7, %f0;" F7, { NAN32 }, 0 },
		{ "cvt.sat.u8.s32 %r7, %r0;" R7, { 0xfffffffb }, 0 },
		{ "cvt.sat.s8.u32 %r7, %r0;" R7, { 200 }, 127 },
		{ "cvt.sat.s32.s64 %r7, %x0;" R7, { 1ull << 63 }, 0x80000000 },
		{ "cvt.sat.s64.s64 %x7, %x0;", { 1ull << 63 }, 1ull << 63 },
		{ "cvt.sat.s64.u64 %x7, %x0;", { ~0ull }, ~0ull >> 1 },
		{ "cvt.rn.f16.f32 %h7, %f0;" H7, { 0x477ff000 }, 0x7c00 },	/* 65520 */
		{ "cvt.rn.f16.f32 %h7, %f0;" H7, { 0x477fefff }, 0x7bff },
		{ "cvt.rz.f16.f32 %h7, %f0;" H7, { 0x4e6e6b28 }, 0x7bff },
		{ "cvt.rn.f16.f32 %h7, %f0;" H7, { 0x33000000 }, 0 },		/* 2^-25 */
		{ "cvt.rn.f16.f32 %h7, %f0;" H7, { 0x33000001 }, 1 },
		{ "cvt.rn.f16.f64 %h7, %d0;" H7, { 0x3ff0020000000001 }, 0x3c01 },
		{ "cvt.rn.satfinite.f16.f32 %h7, %f0;" H7, { 0x40000000 }, 0x4000 },
		{ "cvt.rn.satfinite.f16.f32 %h7, %f0;" H7, { 0xff800000 }, 0xfbff },
		{ "cvt.rn.satfinite.relu.bf16x2.f32 %r7, %f0, %f1;" R7, { 0x7f800000, 0xc0000000 },
		  0x7f7f0000 },
		/* 2^63 + 2^55 lies between two bf16, and this is 1 more */
		{ "cvt.rn.bf16.u64 %h7, %x0;" H7, { 1ull << 63 | 1ull << 55 | 1 }, 0x5f01 },
		{ "cvt.rn.bf16.u64 %h7, %x0;" H7, { 1ull << 63 | 1ull << 55 }, 0x5f00 },
		{ "cvt.rn.bf16.s64 %h7, %x0;" H7, { -(1ull << 62 | 1ull << 54 | 1) }, 0xde81 },
		{ "cvt.rna.tf32.f32 %r7, %f0;" R7, { 0x3f801000 }, 0x3f802000 },
		{ "cvt.rn.tf32.f32 %r7, %f0;" R7, { 0x3f801000 }, 0x3f800000 },
		{ "cvt.rn.tf32.f32 %r7, %f0;" R7, { 0x3f803000 }, 0x3f804000 },
		{ "cvt.rz.tf32.f32 %r7, %f0;" R7, { 0x3f801fff }, 0x3f800000 },
		{ "cvt.rn.relu.tf32.f32 %r7, %f0;" R7, { 0xbf800000 }, 0 },
		{ "cvt.rna.satfinite.tf32.f32 %r7, %f0;" R7, { 0x7f7fffff }, 0x7f7fe000 },
	};

	CHECK(all);
}

#define S ".shared .align 16 .b8 s[64]; mov.u32 %r4, s; st.shared.b64 [%r4], -1;\n"

TEST(copies)
{
	static const struct edge all[] = {
		{ S "cp.async.ca.shared.global [%r4], [%i], 8; ld.shared.b64 %x7, [%r4];", { 7 }, 7 },
		/* less is read than is written: the rest is zero */
		{ S "cp.async.ca.shared.global [%r4], [%i], 8, %r1; ld.shared.b64 %x7, [%r4];",
		  { 0x1122334455667788, 4 }, 0x55667788 },
		{ S "setp.eq.u32 %p1, 1, 1; cp.async.ca.shared.global [%r4], [%i], 8, %p1;\n"
		  "ld.shared.b64 %x7, [%r4];", { 7 }, 0 },
		{ S "setp.eq.u32 %p1, 1, 2; cp.async.ca.shared.global [%r4], [%i], 8, %p1;\n"
		  "ld.shared.b64 %x7, [%r4];", { 7 }, 7 },
		/* the last one is about the cache */
		{ S "cp.async.cg.shared.global.L2::cache_hint [%r4], [%i], 16, %x3;\n"
		  "ld.shared.b64 %x7, [%r4];", { 7 }, 7 },
		{ S "cp.async.cg.shared.global.L2::cache_hint [%r4], [%i], 16, %r1, %x3;\n"
		  "ld.shared.b64 %x7, [%r4];", { 0x100000007, 4 }, 7 },
	};

	CHECK(all);
}

TEST(beside_memory)
{
	static const struct {
		const char *code;
		enum fault fault;
	} all[] = {
		{ ".local .align 4 .b8 l[16]; ld.local.u32 %r7, [l-4];", FAULT_ADDRESS },
		{ ".local .align 8 .b8 l[16]; st.local.u64 [l+65536], %x0;", FAULT_ADDRESS },
		{ ".local .align 8 .b8 l[16]; st.local.u64 [l+12], %x0;", FAULT_MISALIGNED },
		{ ".local .align 8 .b8 l[16]; mov.u64 %x1, l; ld.local.u64 %x7, [%x1+-8];",
		  FAULT_ADDRESS },
		{ "ld.global.u64 %x7, [%i+16384];", FAULT_ADDRESS },
		{ "ld.global.u64 %x7, [%i+-8];", FAULT_ADDRESS },
		{ "ld.global.u64 %x7, [%i+4];", FAULT_MISALIGNED },
		{ "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%i+8];", FAULT_MISALIGNED },
		{ "ld.global.v2.u64 {%x1, %x2}, [%i+16376];", FAULT_ADDRESS },
		{ "ld.u32 %r7, [0];", FAULT_ADDRESS },
		{ S "ld.shared.u32 %r7, [%r4+64];", FAULT_ADDRESS },
		{ S "ld.shared.v2.u64 {%x1, %x2}, [%r4+56];", FAULT_ADDRESS },
		{ S "ld.shared.u32 %r7, [%r4+-4];", FAULT_ADDRESS },
		{ S "atom.shared.add.u64 %x7, [%r4+4], 1;", FAULT_MISALIGNED },
		{ S "cp.async.ca.shared.global [%r4], [%i+4], 8, 4;", FAULT_MISALIGNED },
		{ "ld.param.u32 %r7, [x+8];", FAULT_ADDRESS },
		/* from one block of memory into the next: between them lies nothing of anybody's */
		{ ".shared .align 16 .b8 b[20000]; .shared .align 8 .b64 m; mov.u32 %r4, b; mov.u32 %r5, m;\n"
		  "mbarrier.init.shared.b64 [%r5], 1;\n"
		  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%o], 17408, "
		  "[%r5];", FAULT_ADDRESS },
		/* what isn't known is refused, not done wrong */
		{ "red.global.add.v2.f32 [%o], {%f0, %f1};", FAULT_INSTRUCTION },
		{ "add.rn.f32.f16 %f7, %h0, %f1;", FAULT_INSTRUCTION },
		{ S "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3, %r5}, [%r4];",
		  FAULT_INSTRUCTION },
		{ "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r0, %r1, %r2, %r3}, "
		  "{%r0, %r1, %r2, %r3}, {%r0}, {%r0, %r1, %r2, %r3};", FAULT_INSTRUCTION },
	};
	char text[4096];
	enum fault got;
	size_t n;

	for (n = 0; n < sizeof(all) / sizeof(*all); n++) {
		prepare();
		snprintf(text, sizeof(text), "%s%s%s", BEGIN, all[n].code, END);
		got = run_grid(text, 1, 1, 1, 0);
		if (got != all[n].fault)
			test_fail("%s: %d, not %d (%s)", all[n].code, got, all[n].fault,
				  dev.fault_text);
	}
}

TEST(memory_that_may_only_be_read)
{
	static const char *const all[] = {
		"st.global.u32 [%i], 1;", "atom.global.add.u32 %r7, [%i], 1;",
		S "cp.async.bulk.global.shared::cta.bulk_group [%i], [%r4], 16;",
		"wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%i], "
		"{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};",
	};
	char text[4096];
	size_t n;

	prepare();
	in->read_only = 1;
	for (n = 0; n < sizeof(all) / sizeof(*all); n++) {
		snprintf(text, sizeof(text), "%s%s%s", BEGIN, all[n], END);
		EXPECT_EQ(FAULT_ADDRESS, run_grid(text, 1, 1, 32, 0));
	}
	EXPECT_TRUE(run(BEGIN "ld.global.u64 %x7, [%i];" END, 1, 0));
}

/* Strings end in their memory, and what printf doesn't know isn't passed on to C's. */
TEST(strings)
{
	static const char text[] = HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
		".global .align 1 .b8 fmt[16] = {35, 32, %s};\n"
		".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"
		".local .align 8 .b8 args[16]; .reg .u64 %%a<4>; .reg .b32 %%r;\n"
		"mov.u64 %%a0, fmt; cvta.global.u64 %%a0, %%a0; mov.u64 %%a1, args; cvta.local.u64 %%a1, %%a1;\n"
		"ld.param.u64 %%a2, [x]; st.u64 [%%a1], %%a2; st.u64 [%%a1+8], %%a2;\n"
		"{ .param .b64 f; .param .b64 a; .param .b32 r;\n"
		"st.param.b64 [f], %%a0; st.param.b64 [a], %%a1;\n"
		"call.uni (r), vprintf, (f, a); ld.param.b32 %%r, [r]; }\nret; }\n";
	static const struct {
		const char *bytes;
		enum fault fault;
	} all[] = {
		{ "37, 110, 10, 0", FAULT_NONE },			/* %n */
		{ "37, 42, 100, 10, 0", FAULT_NONE },			/* %*d */
		{ "37, 115, 10, 0", FAULT_ADDRESS },			/* %s of nothing */
		{ "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1", FAULT_ADDRESS },	/* no end */
	};
	char code[4096];
	size_t n;

	prepare();
	for (n = 0; n < sizeof(all) / sizeof(*all); n++) {
		snprintf(code, sizeof(code), text, all[n].bytes);
		EXPECT_EQ(all[n].fault, run_grid(code, 1, 1, 1, 16));
	}
}

/* Texels that a handle or an instruction makes one look for, and that aren't there. */
TEST(beside_textures)
{
	static const float texels[4] = { 1, 2, 3, 4 };
	struct texture t = { .levels = 1, .format = TEXEL_FLOAT, .channels = 1, .level_max = 16,
		.address = { ADDRESS_CLAMP, ADDRESS_CLAMP, ADDRESS_CLAMP } };
	static const struct edge all[] = {
		{ "tex.a2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%r0, %f1, %f1, %f1}]; mov.f32 %f7, %f4;" F7,
		  { 1000000 }, 0x3f800000 },
		{ "tld4.r.a2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%h, {%r0, %f1, %f1, %f1}];" F7,
		  { 1000000 }, 0x3f800000 },
		{ "tex.level.2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%h, {%r1, %r1}], %r0; mov.f32 %f7, %f4;" F7,
		  { 5 }, 0 },
		{ "tex.level.2d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%h, {%r1, %r1}], %r0; mov.f32 %f7, %f4;" F7,
		  { 0xffffffff }, 0 },
	};
	char code[4096];
	uint64_t got, h;
	size_t n;

	t.level[0] = (struct texture_level){ (uint8_t *)texels, 2, 2, 0, 8, 16 };
	h = texture_add(&t);
	for (n = 0; n < sizeof(all) / sizeof(*all); n++) {
		prepare();
		memcpy(in->host, all[n].in, 32);
		snprintf(code, sizeof(code), "%s%s%s", BEGIN, all[n].code, END);
		if (!run(code, 1, h))
			continue;
		memcpy(&got, out->host, 8);
		if (got != all[n].want)
			test_fail("%s gives 0x%llx", all[n].code, (unsigned long long)got);
	}
	/* 16 bytes of a surface that has 8 in a row */
	t.surface = true;
	h = texture_add(&t);
	prepare();
	EXPECT_TRUE(run(BEGIN "suld.b.2d.v4.b32.clamp {%r1, %r2, %r3, %r4}, [%h, {%r0, %r0}];\n"
			"mov.b64 %x7, {%r1, %r4};" END, 1, h));
	EXPECT_EQ(0, *(uint64_t *)out->host);
}

/* Where a generic address leads. */
TEST(windows)
{
	static const char text[] = HEAD ".const .align 4 .b8 c[4] = {1, 2, 3, 4};\n"
		".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"
		".shared .align 4 .b8 s[4]; .reg .u64 %o, %a<2>; .reg .b32 %r; .reg .pred %p;\n"
		"ld.param.u64 %o, [o]; mov.u64 %a0, c; cvta.const.u64 %a0, %a0; mov.u64 %a1, s;\n"
		"cvta.shared.u64 %a1, %a1;\n"
		"isspacep.const %p, %a0; selp.b32 %r, 1, 0, %p; st.global.b32 [%o], %r;\n"
		"isspacep.global %p, %a0; selp.b32 %r, 1, 0, %p; st.global.b32 [%o+4], %r;\n"
		"isspacep.const %p, %o; selp.b32 %r, 1, 0, %p; st.global.b32 [%o+8], %r;\n"
		"isspacep.global %p, %o; selp.b32 %r, 1, 0, %p; st.global.b32 [%o+12], %r;\n"
		"isspacep.shared %p, %a1; selp.b32 %r, 1, 0, %p; st.global.b32 [%o+16], %r; ret; }\n";
	static const uint32_t want[] = { 1, 0, 0, 1, 1 };
	uint32_t k;

	prepare();
	if (!run(text, 1, 0))
		return;
	for (k = 0; k < 5; k++)
		EXPECT_EQ(want[k], ((uint32_t *)out->host)[k]);
}

/* A function that is only reached through a table finds the module's shared memory. */
TEST(shared_memory_behind_a_pointer)
{
	static const char text[] = HEAD ".shared .align 4 .b8 s[4096];\n"
		".func (.param .b32 r) f() { .reg .b32 %v; st.shared.b32 [s+4092], 77;\n"
		"ld.shared.b32 %v, [s+4092]; st.param.b32 [r], %v; ret; }\n"
		".global .align 8 .u64 table[1] = {f};\n"
		".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"
		".reg .u64 %o, %a; .reg .b32 %v; ld.param.u64 %o, [o]; ld.global.u64 %a, [table];\n"
		"p: .callprototype (.param .b32 _) _ ();\n"
		"{ .param .b32 r; call (r), %a, (), p; ld.param.b32 %v, [r]; }\n"
		"st.global.b32 [%o], %v; ret; }\n";

	prepare();
	if (run(text, 1, 0))
		EXPECT_EQ(77, *(uint32_t *)out->host);
}

/* Many branches by one table. */
TEST(branches_by_a_table)
{
	char text[8000], *to = text;
	uint32_t k;

	to += sprintf(to, HEAD ".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"
		      ".reg .u64 %%o; .reg .b32 %%r<4>; .reg .pred %%p; ld.param.u64 %%o, [o];\n"
		      "mov.u32 %%r1, 0; mov.u32 %%r2, 0; t: .branchtargets L0");
	for (k = 1; k < 40; k++)
		to += sprintf(to, ", L%u", k);
	to += sprintf(to, ";\n");
	for (k = 0; k < 40; k++)
		to += sprintf(to, "L%u: add.u32 %%r1, %%r1, %u; add.u32 %%r2, %%r2, 7;\n"
			      "setp.ge.u32 %%p, %%r2, 40; @%%p bra END; brx.idx %%r2, t;\n", k, k);
	sprintf(to, "END: st.global.b32 [%%o], %%r1; ret; }\n");
	prepare();
	if (run(text, 1, 0))
		EXPECT_EQ(0 + 7 + 14 + 21 + 28 + 35, *(uint32_t *)out->host);
}

#define CLUSTER HEAD ".shared .align 4 .b32 s;\n"					\
	".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) .reqnctapercluster 2 {\n" \
	".reg .u64 %o, %t; .reg .b32 %r<8>; .reg .pred %p<4>; ld.param.u64 %o, [o];\n"	\
	"mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mov.u32 %r3, 0;\n"
/* Goes the long way; then its shared memory has what others may read. */
#define SLOWLY "LOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 5000; @%p0 bra LOOP;\n"	\
	"mov.u32 %r4, 4711; st.shared.b32 [s], %r4;\n"

/* Between arriving and waiting, other things are done. */
TEST(halves_of_a_cluster_barrier)
{
	static const char text[] = CLUSTER
		"setp.eq.u32 %p1, %r1, 0; @%p1 bra GO;\n" SLOWLY
		"GO: barrier.cluster.arrive.aligned;\n"
		"shfl.sync.idx.b32 %r5, %r0, 3, 31, -1;\n"
		"barrier.cluster.wait.aligned;\n"
		"mov.u32 %r6, s; mapa.shared::cluster.u32 %r6, %r6, %r2;\n"
		"@%p1 ld.shared::cluster.b32 %r7, [%r6];\n"
		"mul.wide.u32 %t, %r0, 4; add.u64 %t, %t, %o; @%p1 st.global.b32 [%t], %r7;\n"
		"barrier.cluster.arrive; barrier.cluster.wait; ret; }\n";
	uint32_t k;

	prepare();
	if (run_grid(text, 2, 2, 32, 0))
		test_fail("%s", dev.fault_text);
	for (k = 0; k < 32; k++)
		EXPECT_EQ(4711, ((uint32_t *)out->host)[k]);
}

/* Who arrives and ends counts no more: the others are waited for. */
TEST(end_after_an_arrival)
{
	static const char text[] = CLUSTER
		"setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r0, 0;\n"
		"and.pred %p3, %p1, %p2; @%p3 bra READ;\n"
		"@%p1 bra GONE; @!%p2 bra EARLY;\n" SLOWLY
		"EARLY: barrier.cluster.arrive; barrier.cluster.wait;\n"
		"barrier.cluster.arrive; barrier.cluster.wait; ret;\n"
		"GONE: barrier.cluster.arrive; exit;\n"
		"READ: barrier.cluster.arrive; barrier.cluster.wait;\n"
		"mov.u32 %r6, s; mapa.shared::cluster.u32 %r6, %r6, %r2;\n"
		"ld.shared::cluster.b32 %r7, [%r6]; st.global.b32 [%o], %r7;\n"
		"barrier.cluster.arrive; barrier.cluster.wait; ret; }\n";

	prepare();
	if (run_grid(text, 2, 2, 2, 0))
		test_fail("%s", dev.fault_text);
	EXPECT_EQ(4711, *(uint32_t *)out->host);
}

/* More blocks than can be counted aren't none. */
TEST(grids_too_large)
{
	static const uint32_t dim[3] = { 65536, 65536, 1 }, one[3] = { 1, 1, 1 };
	struct program p;

	ASSERT_EQ(0, program_decode(&p, HEAD ".visible .entry k() { ret; }\n",
				    strlen(HEAD ".visible .entry k() { ret; }\n"), "unit", &p));
	EXPECT_TRUE(!grid_make(program_entry(&p, "k"), dim, one, one, 0, NULL, false, 0));
	program_free(&p);
}

TEST_MAIN()
