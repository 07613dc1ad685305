// SPDX-License-Identifier: MIT
/* Inline assembly: PTX as people write it by hand, odd spacing included. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

#ifdef __CUDACC__
DEVICE int asm_add(int x, int y)
{
	int r;

	asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
	return r;
}
DEVICE unsigned int asm_ctaid(void)
{
	unsigned int r;

	asm volatile("{\n\t.reg .u32 t;\n\tmov.u32 t, %%ctaid.x;\n\tmad.lo.u32 %0, t, 3, 1; }" : "=r"(r));
	return r;
}
DEVICE unsigned int asm_nctaid(void)
{
	unsigned int x, y;

	asm volatile("mov.u32   %0 ,%%nctaid.x ;mov.u32 %1, %%nctaid.y;" : "=r"(x), "=r"(y));
	return x * 100 + y;
}
DEVICE unsigned int asm_wide(void)
{
	unsigned long long r;

	asm volatile("cvt.u64.u32 %0, %%ctaid.x;" : "=l"(r));
	return (unsigned int)r;
}
DEVICE unsigned int asm_lop3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int r;

	asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
	return r;
}
DEVICE unsigned int asm_bfe(unsigned int a) { unsigned int r; asm("bfe.u32 %0, %1, 4, 9;" : "=r"(r) : "r"(a)); return r; }
DEVICE int asm_bfe_s(int a) { int r; asm("bfe.s32 %0, %1, 3, 6;" : "=r"(r) : "r"(a)); return r; }
DEVICE unsigned int asm_bfi(unsigned int a, unsigned int b)
{
	unsigned int r;

	asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(r) : "r"(a), "r"(b));
	return r;
}
DEVICE int asm_predicated(int x)
{
	asm("{ .reg .pred p; setp.gt.s32 p, %0, 500; @p add.s32 %0, %0, 1000; @!p neg.s32 %0, %0; }"
	    : "+r"(x));
	return x;
}
DEVICE int asm_branches(int x)
{
	asm volatile("{ .reg .pred p;\n$again%=: setp.lt.s32 p, %0, 1000;\n"
		     "@p add.s32 %0, %0, 77;\n@p bra $again%=;\n}" : "+r"(x));
	return x;
}
DEVICE unsigned int asm_carry(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int lo, hi;

	asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %4, 0;" : "=r"(lo), "=r"(hi) : "r"(a), "r"(b), "r"(c));
	return lo ^ hi;
}
DEVICE unsigned int asm_madc(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int lo, hi;

	asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 0;" : "=r"(lo), "=r"(hi)
	    : "r"(a), "r"(b), "r"(c));
	return lo + hi;
}
DEVICE int asm_load(const int *p)
{
	int r;

	asm volatile("ld.global.cg.s32 %0, [%1+8];" : "=r"(r) : "l"(p));
	return r;
}
DEVICE void asm_store(int *p, int v) { asm volatile("st.global.wt.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
DEVICE int asm_slct(int a, int b, int c) { int r; asm("slct.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); return r; }
DEVICE unsigned int asm_set(int a, int b) { unsigned int r; asm("set.lt.u32.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
DEVICE int asm_cnot(int a) { int r; asm("cnot.b32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
DEVICE unsigned int asm_bfind(unsigned int a) { unsigned int r; asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a)); return r; }
DEVICE unsigned int asm_prmt(unsigned int a, unsigned int b) { unsigned int r; asm("prmt.b32.f4e %0, %1, %2, 1;" : "=r"(r) : "r"(a), "r"(b)); return r; }
DEVICE int asm_sub_sat(int a, int b) { int r; asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); return r; }
DEVICE void asm_red(int *p, int v) { asm volatile("red.global.add.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
DEVICE unsigned int asm_vector(const unsigned int *p)
{
	unsigned int a, b;

	asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(p));
	return a * 3 + b;
}
DEVICE int asm_setp_two(int x)
{
	asm("{ .reg .pred p, q; setp.lt.and.s32 p|q, %0, 300, 1;\n@p add.s32 %0, %0, 1;\n"
	    "@q add.s32 %0, %0, 2; }" : "+r"(x));
	return x;
}
#else
DEVICE int asm_add(int x, int y) { return x + y; }
DEVICE unsigned int asm_ctaid(void) { return blockIdx.x * 3 + 1; }
DEVICE unsigned int asm_nctaid(void) { return gridDim.x * 100 + gridDim.y; }
DEVICE unsigned int asm_wide(void) { return blockIdx.x; }
DEVICE unsigned int asm_lop3(unsigned int a, unsigned int b, unsigned int c) { return a ^ b ^ c; }
DEVICE unsigned int asm_bfe(unsigned int a) { return a >> 4 & 511; }
DEVICE int asm_bfe_s(int a) { return (int)((unsigned int)a << 23) >> 26; }
DEVICE unsigned int asm_bfi(unsigned int a, unsigned int b)
{
	return (b & ~(4095u << 8)) | (a & 4095) << 8;
}
DEVICE int asm_predicated(int x) { return x > 500 ? x + 1000 : -x; }
DEVICE int asm_branches(int x) { while (x < 1000) x += 77; return x; }
DEVICE unsigned int asm_carry(unsigned int a, unsigned int b, unsigned int c)
{
	return (a + b) ^ (c + (a + b < a));
}
DEVICE unsigned int asm_madc(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int p = a * b, lo = p + c;

	return lo + __umulhi(a, b) + (lo < p);
}
DEVICE int asm_load(const int *p) { return p[2]; }
DEVICE void asm_store(int *p, int v) { *p = v; }
DEVICE int asm_slct(int a, int b, int c) { return c >= 0 ? a : b; }
DEVICE unsigned int asm_set(int a, int b) { return a < b ? ~0u : 0; }
DEVICE int asm_cnot(int a) { return !a; }
DEVICE unsigned int asm_bfind(unsigned int a) { return a ? 31u - __clz(a) : ~0u; }
DEVICE unsigned int asm_prmt(unsigned int a, unsigned int b) { return a >> 8 | b << 24; }
DEVICE int asm_sub_sat(int a, int b)
{
	long long r = (long long)a - b;

	return r > INT_MAX ? INT_MAX : r < INT_MIN ? INT_MIN : (int)r;
}
DEVICE void asm_red(int *p, int v) { *p += v; }
DEVICE unsigned int asm_vector(const unsigned int *p) { return p[0] * 3 + p[1]; }
DEVICE int asm_setp_two(int x) { return x < 300 ? x + 1 : x + 2; }
#endif

KERNEL inline_add(int *o, const int *a) { o[I] = asm_add(a[I], asm_add(a[I + 1], 5)); }
RUN(inline_add, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL inline_block(unsigned int *o, const int *a) { o[I] = asm_ctaid() + asm_nctaid() + asm_wide() + a[I]; }
RUN(inline_block, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, IN)

KERNEL inline_bits(unsigned int *o, const unsigned int *a)
{
	unsigned int x = a[I] * 0x9e3779b1u, y = a[I + 1] * 0x85ebca6bu;

	o[I] = asm_lop3(x, y, x << 3) + asm_bfe(x) + asm_bfi(x, y) + asm_bfind(y >> (x & 31)) +
		asm_prmt(x, y);
	o[I + 1024] = asm_bfe_s(x) + asm_cnot(x & 1) + asm_set(x, y) + asm_slct(x, y, x ^ y);
}
RUN(inline_bits, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL inline_branch(int *o, const int *a)
{
	o[I] = asm_predicated(a[I]) + asm_branches(a[I]) + asm_setp_two(a[I + 1]);
}
RUN(inline_branch, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL inline_carry(unsigned int *o, const unsigned int *a)
{
	o[I] = asm_carry(a[I] << 22, a[I + 1] << 22, a[I + 2]) +
		asm_madc(a[I] * 77777u, a[I + 1] * 99999u, ~a[I + 2]) +
		(unsigned int)asm_sub_sat((int)(a[I] << 22), (int)~(a[I + 1] << 22));
}
RUN(inline_carry, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL inline_memory(int *o, const int *a)
{
	asm_store(o + I, asm_load(a + I) + (int)asm_vector((const unsigned int *)a + I * 2));
	asm_red(o + 4096 + (a[I] & 3), a[I]);
}
RUN(inline_memory, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)
