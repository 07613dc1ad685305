// SPDX-License-Identifier: MIT
/* The integer and half functions of CUDA C, each from its definition. */
#include "host.h"

int __popc(unsigned int x) { return __builtin_popcount(x); }
int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
int __clz(int x) { return x ? __builtin_clz(x) : 32; }
int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
int __ffs(int x) { return __builtin_ffs(x); }

unsigned int __brev(unsigned int x)
{
	unsigned int r = 0, i;

	for (i = 0; i < 32; i++)
		r |= (x >> i & 1) << (31 - i);
	return r;
}

unsigned long long __brevll(unsigned long long x)
{
	return (unsigned long long)__brev(x) << 32 | __brev(x >> 32);
}

unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int s)
{
	unsigned long long v = (unsigned long long)b << 32 | a;
	unsigned int r = 0, i;

	for (i = 0; i < 4; i++)
		r |= (unsigned int)(v >> (8 * (s >> 4 * i & 7)) & 255) << 8 * i;
	return r;
}

unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int n)
{
	return (((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32;
}

unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int n)
{
	return ((unsigned long long)hi << 32 | lo) >> (n & 31);
}

int __mulhi(int a, int b) { return (long long)a * b >> 32; }
unsigned int __umulhi(unsigned int a, unsigned int b) { return (unsigned long long)a * b >> 32; }

unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
	return (unsigned __int128)a * b >> 64;
}

int __mul24(int a, int b)
{
	return (long long)(int)((unsigned int)a << 8) * (int)((unsigned int)b << 8) >> 16;
}

int __dp4a(int a, int b, int c)
{
	int i;

	for (i = 0; i < 32; i += 8)
		c += (signed char)(a >> i) * (signed char)(b >> i);
	return c;
}

unsigned int __sad(int a, int b, unsigned int c)
{
	return c + (a > b ? (unsigned int)a - b : (unsigned int)b - a);
}

float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }

static int clip(double x)
{
	return isnan(x) ? 0 : x >= 2147483647.0 ? INT_MAX : x <= -2147483648.0 ? INT_MIN : (int)x;
}

int __float2int_rn(float x) { return clip(rint(x)); }
int __float2int_rd(float x) { return clip(floor(x)); }
int __float2int_ru(float x) { return clip(ceil(x)); }
int __float2int_rz(float x) { return clip(trunc(x)); }

float __int_as_float(int x)
{
	float f;

	memcpy(&f, &x, 4);
	return f;
}

int __float_as_int(float x)
{
	int i;

	memcpy(&i, &x, 4);
	return i;
}

long long __double_as_longlong(double x)
{
	long long i;

	memcpy(&i, &x, 8);
	return i;
}

double __longlong_as_double(long long x)
{
	double d;

	memcpy(&d, &x, 8);
	return d;
}

float rsqrtf(float x) { return (float)(1.0 / sqrt(x)); }

float __half2float(half h)
{
	int e = h.bits >> 10 & 31, m = h.bits & 1023;
	float f = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf(1024 + m, e - 25) : ldexpf(m, -24);

	return h.bits & 0x8000 ? -f : f;
}

half __float2half(float f)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	float a = fabsf(f), q;
	int e;

	if (isnan(f))
		return (half){ 0x7fff };
	if (a >= 65520.0f)
		return (half){ sign | 0x7c00 };
	frexpf(a, &e);
	if (a == 0 || e < -13)
		return (half){ sign | (uint16_t)rintf(ldexpf(a, 24)) };
	q = rintf(ldexpf(a, 11 - e));	/* 1024..2048: a carry goes into the exponent */
	return (half){ sign | (uint16_t)(((e + 14) << 10) + (int)q - 1024) };
}

half __hadd(half a, half b) { return __float2half(__half2float(a) + __half2float(b)); }
half __hsub(half a, half b) { return __float2half(__half2float(a) - __half2float(b)); }
half __hmul(half a, half b) { return __float2half(__half2float(a) * __half2float(b)); }
half __hneg(half a) { return (half){ a.bits ^ 0x8000 }; }
bool __hlt(half a, half b) { return __half2float(a) < __half2float(b); }
int __half2int_rz(half h) { return clip(truncf(__half2float(h))); }
half __int2half_rn(int i) { return __float2half(i); }
