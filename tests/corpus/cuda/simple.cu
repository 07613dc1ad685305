// SPDX-License-Identifier: MIT
/* The plain shapes: one to three dimensions, loops, parameters of all kinds. */
#include "corpus.h"

KERNEL vadd(int *o, const int *a, int n, int m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		o[i] = a[i] * 3 + gridDim.x + m;
}
RUN(vadd, GRID(13, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 800, 5)
RUN(vadd, GRID(1, 1, 1), BLOCK(33, 1, 1), 0, 0, OUT, IN, 800, 5)

KERNEL nothing(int n)
{
	(void)n;
}
RUN(nothing, GRID(4, 2, 1), BLOCK(32, 1, 1), 0, NOREF, 0)

KERNEL constant_store(int *o)
{
	*o = 42;
}
RUN(constant_store, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT)

KERNEL saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}
RUN(saxpy, GRID(9, 1, 1), BLOCK(128, 1, 1), 0, 0, OUTF, INF, 2.5f, 1100)

KERNEL daxpy(double *y, const double *x, double a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	y[i] = a * x[i] + y[i];
}
RUN(daxpy, GRID(5, 1, 1), BLOCK(96, 1, 1), 0, 0, OUTD, IND, 0.125, 450)

KERNEL grid2(int *o, const int *a, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		o[y * w + x] = a[x * h + y] + blockIdx.x * 10 + blockIdx.y;
}
RUN(grid2, GRID(4, 6, 1), BLOCK(16, 4, 1), 0, 0, OUT, IN, 60, 23)

KERNEL grid3(int *o, const int *a, int n, int m)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	int z = blockIdx.z, w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
	int i = (z * h + y) * w + x;

	if (i < n)
		o[i] = a[i] + blockIdx.x * 1000 + blockIdx.y * 100 + blockIdx.z + gridDim.z * m;
}
RUN(grid3, GRID(3, 4, 2), BLOCK(8, 4, 1), 0, 0, OUT, IN, 700, 7)
RUN(grid3, GRID(1, 5, 3), BLOCK(8, 4, 1), 0, 0, OUT, IN, 700, 7)

KERNEL block3(int *o, const int *a)
{
	int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	int n = blockDim.x * blockDim.y * blockDim.z;

	o[b * n + t] = a[t] + threadIdx.x + threadIdx.y * 16 + threadIdx.z * 256;
}
RUN(block3, GRID(2, 3, 2), BLOCK(5, 3, 4), 0, 0, OUT, IN)

KERNEL only_y(int *o, const int *a)
{
	int y = blockIdx.y * blockDim.y + threadIdx.y;

	o[y] = a[y] ^ (y << 3);
}
RUN(only_y, GRID(1, 7, 1), BLOCK(1, 32, 1), 0, 0, OUT, IN)

KERNEL only_z(int *o, const int *a)
{
	o[blockIdx.z] = a[blockIdx.z] + gridDim.z;
}
RUN(only_z, GRID(1, 1, 9), BLOCK(1, 1, 1), 0, 0, OUT, IN)

KERNEL grid_stride(int *o, const int *a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		o[i] = a[i] * a[i];
}
RUN(grid_stride, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 3000)

KERNEL grid_stride_2d(int *o, const int *a, int w, int h)
{
	for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < h; y += gridDim.y * blockDim.y)
		for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < w;
		     x += gridDim.x * blockDim.x)
			o[y * w + x] = a[y * w + x] + x - y;
}
RUN(grid_stride_2d, GRID(2, 3, 1), BLOCK(16, 2, 1), 0, 0, OUT, IN, 70, 31)

KERNEL block_loop(int *o, const int *a, int per)
{
	int base = blockIdx.x * per, sum = 0;

	for (int i = threadIdx.x; i < per; i += blockDim.x)
		sum += a[base + i];
	o[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
RUN(block_loop, GRID(6, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN, 500)

KERNEL small_types(unsigned char *o, const unsigned char *a, char c, short s, bool flag,
		   unsigned short u)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = (unsigned char)(flag ? a[i] + c : a[i] - s + (u >> 3));
}
RUN(small_types, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTB, INB, (char)-3, (short)1000,
    (bool)true, (unsigned short)60000)
RUN(small_types, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTB, INB, (char)-3, (short)-1000,
    (bool)false, (unsigned short)60000)

KERNEL many_params(int *o, const int *a, int p0, long long p1, char p2, double p3, short p4,
		   float p5, unsigned int p6, unsigned char p7, int p8, long long p9)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = a[i] + p0 + (int)p1 + p2 + (int)p3 + p4 + (int)p5 + p6 + p7 + p8 + (int)(p9 >> 32);
}
RUN(many_params, GRID(3, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN, 1, 2ll, (char)3, 4.0, (short)5,
    6.0f, 7u, (unsigned char)8, 9, 10ll << 32)

struct point { int x, y, z; };
KERNEL struct_param(int *o, struct point p, const int *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = a[i] * p.x + p.y - p.z * (int)blockIdx.x;
}
RUN(struct_param, GRID(5, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, ((struct point){ 3, 4, 5 }), IN)

struct table { int v[24]; };
KERNEL array_param(int *o, const struct table t, int k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = t.v[(i * k) % 24];
}
RUN(array_param, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT,
    ((struct table){ { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 } }), 7)

KERNEL grid_constant_param(int *o, const __grid_constant__ struct table t, int k)
{
	const int *p = t.v;
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int j = 0; j < (i & 3); j++)
		p += k;
	o[i] = *p;
}
RUN(grid_constant_param, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT,
    ((struct table){ { 9, 8, 7, 6, 5, 4, 3, 2, 1 } }), 2)

struct __align__(16) mixed { char c; double d; short s; float f[3]; };
KERNEL mixed_param(double *o, struct mixed m, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		o[i] = m.c + m.d * m.s + m.f[i % 3];
}
RUN(mixed_param, GRID(2, 1, 1), BLOCK(32, 1, 1), 0, 0, OUTD,
    ((struct mixed){ 5, 0.5, -7, { 1.0f, 2.0f, 4.0f } }), 50)

KERNEL sixty_four(long long *o, const long long *a, unsigned long long k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	o[i] = a[i] * (long long)k / (i + 1) + (a[i] >> 5) - (long long)((unsigned long long)a[i] % k);
}
RUN(sixty_four, GRID(4, 1, 1), BLOCK(32, 1, 1), 0, 0, (long long *)OUTL, INL, 1000003ull)

KERNEL early_return(int *o, const int *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (a[i] & 1)
		return;
	o[i] = a[i];
	if (a[i] & 2)
		return;
	o[i] += 7;
}
RUN(early_return, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 400)

KERNEL block_zero_only(int *o, const int *a)
{
	if (blockIdx.x)
		return;
	o[threadIdx.x] = a[threadIdx.x] + 1;
}
RUN(block_zero_only, GRID(8, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL last_block_only(int *o, const int *a)
{
	if (blockIdx.x != gridDim.x - 1)
		return;
	o[threadIdx.x] = a[threadIdx.x] + blockIdx.x;
}
RUN(last_block_only, GRID(8, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL reverse_blocks(int *o, const int *a)
{
	int b = gridDim.x - 1 - blockIdx.x;

	o[blockIdx.x * blockDim.x + threadIdx.x] = a[b * blockDim.x + threadIdx.x];
}
RUN(reverse_blocks, GRID(11, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL select_max(int *o, const int *a, const int *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int x = a[i], y = b[i + 100];

	o[i] = x > y ? x : y;
	o[i + 4096] = max(min(x, 500), y - 100);
}
RUN(select_max, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, IN)

KERNEL unrolled(float *o, const float *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0;

#pragma unroll
	for (int k = 0; k < 16; k++)
		s += a[i + k] * (float)k;
	o[i] = s;
}
RUN(unrolled, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL polynomial(float *o, const float *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		float x = a[i];

		o[i] = ((2.0f * x - 3.0f) * x + 0.5f) * x - 1.25f;
	}
}
RUN(polynomial, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF, 250)

KERNEL one_thread_blocks(int *o, const int *a)
{
	o[blockIdx.x] = a[blockIdx.x] * 2;
}
RUN(one_thread_blocks, GRID(77, 1, 1), BLOCK(1, 1, 1), 0, 0, OUT, IN)

KERNEL big_block(int *o, const int *a)
{
	o[blockIdx.x * 1024 + threadIdx.x] = a[threadIdx.x] - blockIdx.x;
}
RUN(big_block, GRID(2, 1, 1), BLOCK(1024, 1, 1), 0, 0, OUT, IN)
