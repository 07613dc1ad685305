// SPDX-License-Identifier: MIT
/* Floats of three widths: rounding, conversion, and the mathematical library. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL fl(float *o, const int *a, int n)
{
	float x;
	double d;

	if ((int)I >= n)
		return;
	x = a[I];
	d = x * 0.5;
	o[I] = x * x / 3.0f + (float)(d + blockIdx.x) - fmaxf(x, 10.f);
}
RUN(fl, GRID(7, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, IN, 430)

KERNEL float_ops(float *o, const float *a)
{
	float x = a[I], y = a[I + 1];

	o[I] = x + y;
	o[I + 1024] = x * y;
	o[I + 2048] = y != 0 ? x / y : 0;
	o[I + 3072] = fabsf(x) - fminf(x, y);
	o[I + 4096] = fmaf(x, y, 0.1f);
	o[I + 5120] = sqrtf(fabsf(x));
}
RUN(float_ops, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL double_ops(double *o, const double *a)
{
	double x = a[I], y = a[I + 1];

	o[I] = x + y;
	o[I + 1024] = x * y;
	o[I + 2048] = y != 0 ? x / y : 0;
	o[I + 3072] = fabs(x) - fmin(x, y);
	o[I + 4096] = fma(x, y, 0.1);
	o[I + 5120] = sqrt(fabs(x));
}
RUN(double_ops, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTD, IND)

KERNEL rounding(float *o, const float *a)
{
	float x = a[I] * 1.7f;

	o[I] = floorf(x) + 10 * ceilf(x) + 100 * truncf(x) + 1000 * rintf(x);
}
RUN(rounding, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL float_to_int(int *o, const float *a)
{
	float x = a[I] * 1.3f;

	o[I] = __float2int_rn(x) + 100 * __float2int_rd(x) + 10000 * __float2int_ru(x) +
		1000000 * __float2int_rz(x);
	o[I + 1024] = (int)(unsigned char)(int)x + (short)x;
}
RUN(float_to_int, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, INF)

KERNEL int_to_float(float *o, const int *a, const long long *l)
{
	o[I] = (float)a[I] + (float)(unsigned int)(a[I] * 5000000);
	o[I + 1024] = (float)l[I];
	o[I + 2048] = (float)(unsigned long long)l[I];
	o[I + 3072] = (float)(short)(a[I] * 99);
}
RUN(int_to_float, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, IN, INL)

KERNEL double_to_int(long long *o, const double *a)
{
	o[I] = (long long)(a[I] * 1e12) + (int)a[I];
	o[I + 1024] = (unsigned int)(fabs(a[I]) * 1e5);
}
RUN(double_to_int, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, IND)

KERNEL long_to_double(double *o, const long long *a)
{
	o[I] = (double)a[I];
	o[I + 1024] = (double)(unsigned long long)a[I] + (double)(int)a[I];
}
RUN(long_to_double, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTD, INL)

KERNEL narrow(float *o, const double *a)
{
	o[I] = (float)a[I] + (float)(a[I] * 1e-40);
}
RUN(narrow, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, IND)

KERNEL bits_of(int *o, const float *a)
{
	o[I] = __float_as_int(a[I]) ^ 0x80000000;
	o[I + 1024] = __float_as_int(__int_as_float(I + 0x3f800000) * 2.0f);
}
RUN(bits_of, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, INF)

KERNEL bits_of_double(long long *o, const double *a)
{
	o[I] = __double_as_longlong(a[I]) + 1;
	o[I + 1024] = (long long)__longlong_as_double(__double_as_longlong(a[I]) & ~1ll);
}
RUN(bits_of_double, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTL, IND)

KERNEL special(float *o, const float *a)
{
	float x = a[I], inf = 1.0f / (x - x), nan = inf - inf;

	o[I] = isnan(nan) + 2 * isinf(inf) + 4 * (nan == nan) + 8 * (inf > x) + 16 * !(nan < x);
	o[I + 1024] = fmaxf(nan, x) + fminf(x, nan) + copysignf(3.0f, x);
}
RUN(special, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL saturate(float *o, const float *a)
{
	o[I] = __saturatef(a[I]) + __saturatef(a[I] * 0.1f + 0.5f);
}
RUN(saturate, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL denormals(float *o, const float *a)
{
	o[I] = a[I] * 1e-39f + 1e-42f;
}
RUN(denormals, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL transcend(float *o, const float *a)
{
	float x = a[I];

	o[I] = sinf(x) + cosf(x);
	o[I + 1024] = expf(x * 0.5f);
	o[I + 2048] = logf(fabsf(x) + 0.01f);
	o[I + 3072] = powf(fabsf(x) + 0.5f, 1.7f);
	o[I + 4096] = tanhf(x);
	o[I + 5120] = exp2f(x) + log2f(fabsf(x) + 1.0f);
}
RUN(transcend, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, NEAR, OUTF, INF)

KERNEL inverse(float *o, const float *a)
{
	float x = fabsf(a[I]) + 0.25f;

	o[I] = rsqrtf(x);
	o[I + 1024] = atanf(x) + asinf(1.0f / (1.0f + x));
	o[I + 2048] = atan2f(x, a[I + 1]);
	o[I + 3072] = cbrtf(x) + hypotf(x, 2.0f);
}
RUN(inverse, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, NEAR, OUTF, INF)

KERNEL transcend_double(double *o, const double *a)
{
	double x = a[I];

	o[I] = sin(x) * exp(-fabs(x));
	o[I + 1024] = log(fabs(x) + 0.01) + sqrt(fabs(x));
	o[I + 2048] = pow(fabs(x) + 0.5, 2.3);
	o[I + 3072] = erf(x) + tanh(x);
}
RUN(transcend_double, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, NEARD, OUTD, IND)

KERNEL modulo(float *o, const float *a)
{
	o[I] = fmodf(a[I] * 10.0f, 3.0f) + remainderf(a[I], 0.7f);
}
RUN(modulo, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, NEAR, OUTF, INF)

KERNEL scale(float *o, const float *a)
{
	int e;
	float m = frexpf(a[I], &e);

	o[I] = m * 4.0f + e;
	o[I + 1024] = ldexpf(a[I], (int)(I & 15) - 7);
}
RUN(scale, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL kahan(float *o, const float *a)
{
	float s = 0, c = 0;

	for (int k = 0; k < 64; k++) {
		float y = a[I + k] - c, t = s + y;

		c = (t - s) - y;
		s = t;
	}
	o[I] = s;
	o[I + 1024] = c;
}
RUN(kahan, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL half_ops(half *o, const float *a)
{
	half x = __float2half(a[I]), y = __float2half(a[I + 1]);

	o[I] = __hadd(x, y);
	o[I + 1024] = __hmul(x, y);
	o[I + 2048] = __hsub(x, __hneg(y));
}
RUN(half_ops, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, (half *)OUT, INF)

KERNEL half_convert(float *o, const float *a, const int *b)
{
	half x = __float2half(a[I] * 0.001f);

	o[I] = __half2float(x);
	o[I + 1024] = __half2float(__int2half_rn(b[I] * 31)) + __half2int_rz(__float2half(a[I]));
	o[I + 2048] = __hlt(x, __float2half(0.002f));
}
RUN(half_convert, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF, IN)

KERNEL random_walk(float *o, const unsigned int *a)
{
	unsigned int s = a[I] * 747796405u + 2891336453u;
	float x = 0;

	for (int k = 0; k < 30; k++) {
		s = s * 1664525u + 1013904223u;
		x += (float)(s >> 8) * (1.0f / 16777216.0f) - 0.5f;
	}
	o[I] = x;
}
RUN(random_walk, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INU)
