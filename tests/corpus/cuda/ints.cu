// SPDX-License-Identifier: MIT
/* Integer intrinsics and the arithmetic that PTX has instructions for. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL counts(int *o, const int *a, const long long *l)
{
	o[I] = __popc(a[I]) + 100 * __clz(a[I]) + 10000 * __ffs(a[I]);
	o[I + 4096] = __popcll(l[I]) + 100 * __clzll(l[I]);
}
RUN(counts, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, INL)

KERNEL reverse(unsigned int *o, const unsigned int *a)
{
	o[I] = __brev(a[I] * 0x01010101u);
}
RUN(reverse, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL reverse64(unsigned long long *o, const long long *a)
{
	o[I] = __brevll(a[I]);
}
RUN(reverse64, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, INL)

KERNEL byte_perm(unsigned int *o, const unsigned int *a)
{
	o[I] = __byte_perm(a[I] * 0x10203u, a[I + 1] * 0x40506u, 0x5140 + (a[I] & 7));
}
RUN(byte_perm, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL funnel(unsigned int *o, const unsigned int *a)
{
	unsigned int x = a[I] * 0x9e3779b1u, y = a[I + 1] * 0x85ebca6bu;

	o[I] = __funnelshift_l(x, y, a[I] & 63) ^ __funnelshift_r(x, y, a[I + 2] & 63);
}
RUN(funnel, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL rotate(unsigned int *o, const unsigned int *a)
{
	unsigned int x = a[I] * 0x9e3779b1u, n = a[I] & 31;

	o[I] = (x << n | x >> ((32 - n) & 31)) + (x << 7 | x >> 25);
}
RUN(rotate, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL high_mul(int *o, const int *a)
{
	int x = a[I] * 0x01234567, y = a[I + 1] * 0x00fedcba - 77;

	o[I] = __mulhi(x, y) ^ (int)__umulhi(x, y);
}
RUN(high_mul, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL high_mul64(unsigned long long *o, const long long *a)
{
	o[I] = __umul64hi(a[I], a[I + 1]) + (unsigned long long)a[I] * a[I + 1];
}
RUN(high_mul64, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, INL)

KERNEL mul_24(int *o, const int *a)
{
	o[I] = __mul24(a[I] * 777, a[I + 1] * -1001);
}
RUN(mul_24, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL dot_bytes(int *o, const int *a)
{
	o[I] = __dp4a(a[I] * 0x01f3a7, a[I + 1] * 0x11f3b9, a[I + 2]);
}
RUN(dot_bytes, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL abs_difference(unsigned int *o, const int *a)
{
	o[I] = __sad(a[I] * 7 - 3000, a[I + 1], 5u) + (unsigned int)abs(a[I] - 500);
}
RUN(abs_difference, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, IN)

KERNEL divide_signed(int *o, const int *a)
{
	int x = a[I] * 70001 - 30000000, y = a[I + 1] - 500;

	o[I] = y ? x / y + x % y * 3 : -1;
	o[I + 4096] = x / 7 + x % 13 + x / -16;
}
RUN(divide_signed, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL divide_unsigned(unsigned int *o, const unsigned int *a)
{
	unsigned int x = a[I] * 4000001u, y = a[I + 1] + 1;

	o[I] = x / y + x % y + x / 10 + x % 641;
}
RUN(divide_unsigned, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL divide64(long long *o, const long long *a)
{
	long long y = a[I + 1] >> 40;

	o[I] = a[I] / (y ? y : 1) + a[I] % 1000000007ll;
}
RUN(divide64, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, INL)

KERNEL shifts(int *o, const int *a)
{
	int x = a[I] * 0x00abcdef, n = a[I + 1] & 31;

	o[I] = (x << n) ^ (x >> n) ^ (int)((unsigned int)x >> (31 - n));
}
RUN(shifts, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL shifts64(long long *o, const long long *a, const int *n)
{
	int k = n[I] & 63;

	o[I] = (a[I] << k) ^ (a[I] >> k) ^ (long long)((unsigned long long)a[I] >> (63 - k));
}
RUN(shifts64, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, INL, IN)

KERNEL bit_logic(unsigned int *o, const unsigned int *a)
{
	unsigned int x = a[I] * 77u, y = a[I + 1] * 99u, z = a[I + 2] * 101u;

	o[I] = ((x & y) | (~x & z)) ^ ((x & y) ^ (x & z) ^ (y & z)) ^ ~(x | ~y);
}
RUN(bit_logic, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL field_extract(unsigned int *o, const unsigned int *a)
{
	unsigned int x = a[I] * 0x9e3779b1u;

	o[I] = (x >> 5 & 0x3ff) + (unsigned int)((int)(x << 9) >> 20) + (x & 0xff0000ffu);
}
RUN(field_extract, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)

KERNEL compare_all(int *o, const int *a)
{
	int x = a[I] - 500, y = a[I + 1] - 500;
	unsigned int u = x, v = y;

	o[I] = (x < y) | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 |
		(x != y) << 5 | (u < v) << 6 | (u >= v) << 7;
}
RUN(compare_all, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL wide_mul(long long *o, const int *a)
{
	int x = a[I] * 100003, y = a[I + 1] * -99991;

	o[I] = (long long)x * y + (long long)((unsigned long long)(unsigned int)x * (unsigned int)y);
}
RUN(wide_mul, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, IN)

#ifdef __CUDACC__
typedef unsigned __int128 wide;
#else
typedef unsigned __int128 wide;
#endif
KERNEL carry_chain(unsigned long long *o, const long long *a)
{
	wide x = (wide)(unsigned long long)a[I] << 64 | (unsigned long long)a[I + 1];
	wide y = (wide)(unsigned long long)a[I + 2] << 64 | (unsigned long long)a[I + 3];
	wide s = x + y, d = x - y;

	o[I * 4] = (unsigned long long)s;
	o[I * 4 + 1] = (unsigned long long)(s >> 64);
	o[I * 4 + 2] = (unsigned long long)d;
	o[I * 4 + 3] = (unsigned long long)(d >> 64);
}
RUN(carry_chain, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTUL, INL)

KERNEL morton(unsigned int *o, const unsigned int *a)
{
	unsigned int x = a[I] & 0xffff, y = a[I + 1] & 0xffff;

	x = (x | x << 8) & 0x00ff00ff;
	x = (x | x << 4) & 0x0f0f0f0f;
	x = (x | x << 2) & 0x33333333;
	x = (x | x << 1) & 0x55555555;
	y = (y | y << 8) & 0x00ff00ff;
	y = (y | y << 4) & 0x0f0f0f0f;
	y = (y | y << 2) & 0x33333333;
	y = (y | y << 1) & 0x55555555;
	o[I] = x | y << 1;
}
RUN(morton, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INU)
