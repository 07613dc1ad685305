// SPDX-License-Identifier: MIT
/* Vector types, local arrays, unions, bit fields, chars and shorts. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL vec_int4(int4 *o, const int4 *a)
{
	int4 v = a[I];

	o[I] = VEC(int4, v.w, v.z + 1, v.y * 2, v.x - 3);
}
RUN(vec_int4, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (int4 *)OUT, (const int4 *)IN)

KERNEL vec_int2(int2 *o, const int2 *a)
{
	int2 v = a[I];

	o[I] = VEC(int2, v.x + v.y, v.x - v.y);
}
RUN(vec_int2, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (int2 *)OUT, (const int2 *)IN)

KERNEL vec_float4(float4 *o, const float4 *a, float s)
{
	float4 v = a[I];

	o[I] = VEC(float4, v.x * s, v.y + s, v.z - s, v.w / s);
}
RUN(vec_float4, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (float4 *)OUT, (const float4 *)INF, 3.0f)

KERNEL vec_double2(double2 *o, const double2 *a)
{
	double2 v = a[I];

	o[I] = VEC(double2, v.y, v.x * v.y);
}
RUN(vec_double2, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (double2 *)OUT, (const double2 *)IND)

KERNEL vec_uchar4(uchar4 *o, const uchar4 *a)
{
	uchar4 v = a[I];
	unsigned char grey = (unsigned char)((v.x * 77 + v.y * 151 + v.z * 28) >> 8);

	o[I] = VEC(uchar4, grey, grey, grey, v.w);
}
RUN(vec_uchar4, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (uchar4 *)OUT, (const uchar4 *)IN)

KERNEL vec_short4(short4 *o, const short4 *a)
{
	short4 v = a[I];

	o[I] = VEC(short4, (short)(v.x + v.y), (short)(v.z * v.w), (short)-v.x, (short)(v.y >> 2));
}
RUN(vec_short4, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (short4 *)OUT, (const short4 *)IN)

KERNEL vec_longlong2(longlong2 *o, const longlong2 *a)
{
	longlong2 v = a[I];

	o[I] = VEC(longlong2, v.x ^ v.y, v.x + (v.y << 3));
}
RUN(vec_longlong2, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (longlong2 *)OUTL, (const longlong2 *)INL)

KERNEL vec_float3(float3 *o, const float3 *a)
{
	float3 v = a[I];

	o[I] = VEC(float3, v.y - v.z, v.z - v.x, v.x - v.y);
}
RUN(vec_float3, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (float3 *)OUT, (const float3 *)INF)

KERNEL local_array(int *o, const int *a, int n, int m)
{
	int b[16], s = 0;

	for (int k = 0; k < 16; k++)
		b[k] = a[(I + k) % n];
	for (int k = 0; k < 16; k++)
		s += b[(k * m + I) & 15] * k;
	if ((int)I < n)
		o[I] = s;
}
RUN(local_array, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 300, 3)

KERNEL local_big(int *o, const int *a)
{
	unsigned char seen[256];
	int n = 0;

	for (int k = 0; k < 256; k++)
		seen[k] = 0;
	for (int k = 0; k < 200; k++)
		seen[a[I + k] & 255]++;
	for (int k = 0; k < 256; k++)
		n += seen[k] > 1 ? k : 0;
	o[I] = n;
}
RUN(local_big, GRID(2, 1, 1), BLOCK(48, 1, 1), 0, 0, OUT, IN)

KERNEL local_matrix(float *o, const float *a)
{
	float m[4][4];

	for (int r = 0; r < 4; r++)
		for (int c = 0; c < 4; c++)
			m[r][c] = a[I + r * 4 + c];
	for (int k = 0; k < 4; k++) {
		int p = (int)(I + k) & 3;
		float t = m[p][k];

		m[p][k] = m[k][p];
		m[k][p] = t;
	}
	o[I] = m[I & 3][(I >> 2) & 3] + m[1][2];
}
RUN(local_matrix, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

union bits { float f; unsigned int u; struct { unsigned short lo, hi; } h; };
KERNEL union_bits(unsigned int *o, const float *a)
{
	union bits b;

	b.f = a[I];
	b.h.lo ^= b.h.hi;
	o[I] = b.u;
}
RUN(union_bits, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INF)

struct packed { unsigned int a : 5, b : 11, c : 16; };
KERNEL bit_fields(struct packed *o, const int *a)
{
	struct packed p;

	p.a = a[I] & 31;
	p.b = a[I] * 3 & 2047;
	p.c = (a[I] ^ 0x1234) & 65535;
	o[I] = p;
}
RUN(bit_fields, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, (struct packed *)OUT, IN)

KERNEL shorts(short *o, const short *a)
{
	short x = a[I], y = a[I + 7];

	o[I] = (short)(x * y + (x >> 3) - (y << 2));
}
RUN(shorts, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTS, INS)

KERNEL signed_chars(signed char *o, const signed char *a)
{
	signed char x = a[I];

	o[I] = (signed char)(x < 0 ? -x : x / 3);
}
RUN(signed_chars, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (signed char *)OUT, (const signed char *)IN)

KERNEL mixed_widths(long long *o, const int *a, const short *b, const unsigned char *c)
{
	o[I] = (long long)a[I] * b[I] + c[I] - (unsigned int)a[I] / (c[I] + 1u);
}
RUN(mixed_widths, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, IN, INS, INB)

struct body { float x, y, z, m; int id; };
KERNEL struct_copy(struct body *o, const struct body *a)
{
	struct body b = a[I];

	b.id ^= I;
	b.m = b.x + b.y;
	o[I] = b;
}
RUN(struct_copy, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, (struct body *)OUT, (const struct body *)INF)

KERNEL pointer_table(int *o, const int *a)
{
	const int *p[4] = { a, a + 100, a + 200, a + 300 };

	o[I] = p[a[I] & 3][I];
}
RUN(pointer_table, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL unaligned_bytes(unsigned int *o, const unsigned char *a)
{
	const unsigned char *p = a + I * 3 + 1;

	o[I] = p[0] | p[1] << 8 | p[2] << 16 | (unsigned int)p[3] << 24;
}
RUN(unaligned_bytes, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTU, INB)
