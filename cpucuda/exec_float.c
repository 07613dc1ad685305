// SPDX-License-Identifier: MIT
/*
 * Floats. What IEEE 754 defines is exact, in all four rounding modes; the
 * approximate functions (.approx) are the C library's, which is closer to the
 * truth than a GPU's are: programs compare such results with a tolerance.
 *
 * Floats of 16 bits are computed in double and rounded once more. That is exact for one
 * operation on two of them, whose result is either exact in double or no longer than two of
 * their mantissas; fma takes care itself, see fma_odd().
 */
#include <fenv.h>
#include <math.h>
#include <string.h>
#include "exec.h"

bool is_float(unsigned int type)
{
	return type >= PTX_T_F16 && type <= PTX_T_F64;
}

static float as_float(uint64_t bits)
{
	uint32_t b = bits;
	float f;

	memcpy(&f, &b, 4);
	return f;
}

static uint64_t of_float(float f)
{
	uint32_t b;

	memcpy(&b, &f, 4);
	return f != f ? 0x7fffffff : b;	/* one NaN, as the hardware has */
}

static double as_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, 8);
	return d;
}

static uint64_t of_double(double d)
{
	uint64_t b;

	memcpy(&b, &d, 8);
	return d != d ? 0x7ff8000000000000ull : b;
}

float half_to_float(uint16_t h)
{
	uint32_t e = h >> 10 & 31, m = h & 1023, sign = (uint32_t)(h & 0x8000) << 16;

	if (e == 31)
		return as_float(sign | 0x7f800000 | m << 13);
	if (e)
		return as_float(sign | (e + 112) << 23 | m << 13);
	return sign ? -(float)m * 0x1p-24f : (float)m * 0x1p-24f;
}

float bf16_to_float(uint16_t h)
{
	return as_float((uint64_t)h << 16);
}

/* Rounds |x| to a multiple of 2^exp, the integer multiple. */
static double multiple(double x, int exp, bool negative, unsigned int rnd)
{
	double q = ldexp(x, -exp);

	switch (rnd) {
	case R_Z: return floor(q);
	case R_M: return negative ? ceil(q) : floor(q);
	case R_P: return negative ? floor(q) : ceil(q);
	default: return nearbyint(q);
	}
}

/* To a small format: mantissa bits without the hidden one, exponents' bias. */
static uint32_t shrink(double v, int mant, int bias, unsigned int rnd)
{
	bool neg = signbit(v);
	uint32_t sign = neg ? 0x8000 : 0, inf = (2 * bias + 1) << mant, r;
	double a = fabs(v), q;
	int e;

	if (isnan(v))
		return 0x7fff;
	if (isinf(v))
		return sign | inf;
	frexp(a, &e);
	e--;
	if (a == 0 || e < 1 - bias)
		e = 1 - bias;
	q = multiple(a, e - mant, neg, rnd);
	/* q counts units of the last place: a carry goes into the exponent by itself */
	r = q < 1 << mant ? (uint32_t)q : ((uint32_t)(e + bias - 1) << mant) + (uint32_t)q;
	if (r >= inf)
		r = rnd == R_Z || (rnd == R_M && !neg) || (rnd == R_P && neg) ? inf - 1 : inf;
	return sign | r;
}

uint16_t double_to_half(double f)
{
	return shrink(f, 10, 15, R_N);
}

uint16_t float_to_half(float f, unsigned int rnd)
{
	return shrink(f, 10, 15, rnd);
}

uint16_t float_to_bf16(float f, unsigned int rnd)
{
	return shrink(f, 7, 127, rnd);
}

double float_value(unsigned int type, uint64_t b)
{
	switch (type) {
	case PTX_T_F16: return half_to_float(b);
	case PTX_T_BF16: return bf16_to_float(b);
	case PTX_T_F64: return as_double(b);
	default: return as_float(b);
	}
}

static void round_to(unsigned int rnd)
{
	if (rnd == R_Z || rnd == R_M || rnd == R_P)
		fesetround(rnd == R_Z ? FE_TOWARDZERO : rnd == R_M ? FE_DOWNWARD : FE_UPWARD);
}

uint64_t float_bits(unsigned int type, double v, unsigned int rnd)
{
	volatile double d = v;
	volatile float f;

	switch (type) {
	case PTX_T_F16:
		return shrink(v, 10, 15, rnd);
	case PTX_T_BF16:
		return shrink(v, 7, 127, rnd);
	case PTX_T_F64:
		return of_double(v);
	default:
		round_to(rnd);
		f = d;
		fesetround(FE_TONEAREST);
		return of_float(f);
	}
}

bool float_compare(unsigned int op, double a, double b)
{
	bool nan = isnan(a) || isnan(b);

	switch (op) {
	case C_EQ: return a == b;
	case C_NE: return !nan && a != b;
	case C_LT: return a < b;
	case C_LE: return a <= b;
	case C_GT: return a > b;
	case C_GE: return a >= b;
	case C_EQU: return nan || a == b;
	case C_NEU: return nan || a != b;
	case C_LTU: return nan || a < b;
	case C_LEU: return nan || a <= b;
	case C_GTU: return nan || a > b;
	case C_GEU: return nan || a >= b;
	case C_NUM: return !nan;
	default: return nan;
	}
}

static float flush(const struct insn *i, float f)
{
	return i->flags & F_FTZ && fabsf(f) < 0x1p-126f ? copysignf(0, f) : f;
}

/* .ftz is for floats and halves; the other types keep what is small. */
static double flush_as(const struct insn *i, unsigned int type, double d)
{
	double least = type == PTX_T_F16 ? 0x1p-14 : type == PTX_T_F32 ? 0x1p-126 : 0;

	return i->flags & F_FTZ && fabs(d) < least ? copysign(0, d) : d;
}

double float_source(const struct insn *i, unsigned int type, uint64_t bits)
{
	return flush_as(i, type, float_value(type, bits));
}

static float get32(struct thread *t, const struct insn *i, unsigned int n)
{
	return flush(i, as_float(val(t, &i->a[n])));
}

static double get64(struct thread *t, const struct insn *i, unsigned int n)
{
	return as_double(val(t, &i->a[n]));
}

static void put32(struct thread *t, const struct insn *i, float f)
{
	f = flush(i, f);
	if (i->flags & F_SAT)
		f = f > 0 ? f < 1 ? f : 1 : 0;
	put(t, &i->a[0], PTX_T_B32, of_float(f));
}

static void put64(struct thread *t, const struct insn *i, double d)
{
	put(t, &i->a[0], PTX_T_B64, of_double(d));
}

static void put16(struct thread *t, const struct insn *i, double d)
{
	if (i->flags & F_SAT)
		d = d > 0 ? d < 1 ? d : 1 : 0;
	if (i->flags & F_RELU && !(d > 0))
		d = isnan(d) ? d : 0;
	d = float_value(i->type, float_bits(i->type, d, R_N));
	put(t, &i->a[0], PTX_T_B16, float_bits(i->type, flush_as(i, i->type, d), R_N));
}

static double get16(struct thread *t, const struct insn *i, unsigned int n)
{
	return float_source(i, i->type, val(t, &i->a[n]));
}

/* One operation on all widths; volatile keeps it between the changes of mode. */
#define BINARY(name, op)							\
void exec_##name(struct thread *t, const struct insn *i)			\
{										\
	if (i->type == PTX_T_F32) {						\
		volatile float a = get32(t, i, 1), b = get32(t, i, 2), r;	\
		round_to(i->rnd);						\
		r = a op b;							\
		fesetround_n(i->rnd);						\
		put32(t, i, r);							\
	} else if (i->type == PTX_T_F64) {					\
		volatile double a = get64(t, i, 1), b = get64(t, i, 2), r;	\
		round_to(i->rnd);						\
		r = a op b;							\
		fesetround_n(i->rnd);						\
		put64(t, i, r);							\
	} else {								\
		put16(t, i, get16(t, i, 1) op get16(t, i, 2));			\
	}									\
}

static void fesetround_n(unsigned int rnd)
{
	if (rnd != R_N && rnd != R_NONE)
		fesetround(FE_TONEAREST);
}

BINARY(fadd, +)
BINARY(fsub, -)
BINARY(fmul, *)
BINARY(fdiv, /)

/*
 * The double's last bit says whether anything was cut off: so what is rounded from it to
 * fewer bits is rounded as from the whole. 9 * 29 + 2^-100 is more than 261, which lies
 * between two bf16.
 */
static double fma_odd(double x, double y, double z)
{
	volatile double a = x, b = y, c = z, r;
	uint64_t bits;

	feclearexcept(FE_INEXACT);
	fesetround(FE_TOWARDZERO);
	r = fma(a, b, c);
	fesetround(FE_TONEAREST);
	if (!fetestexcept(FE_INEXACT) || !isfinite(r))
		return r;
	bits = of_double(r) | 1;
	return as_double(bits);
}

void exec_ffma(struct thread *t, const struct insn *i)
{
	if (i->type == PTX_T_F32) {
		volatile float a = get32(t, i, 1), b = get32(t, i, 2), c = get32(t, i, 3), r;

		round_to(i->rnd);
		r = fmaf(a, b, c);
		fesetround_n(i->rnd);
		put32(t, i, r);
	} else if (i->type == PTX_T_F64) {
		volatile double a = get64(t, i, 1), b = get64(t, i, 2), c = get64(t, i, 3), r;

		round_to(i->rnd);
		r = fma(a, b, c);
		fesetround_n(i->rnd);
		put64(t, i, r);
	} else {
		put16(t, i, fma_odd(get16(t, i, 1), get16(t, i, 2), get16(t, i, 3)));
	}
}

#define UNARY(name, e32, e64)							\
void exec_##name(struct thread *t, const struct insn *i)			\
{										\
	if (i->type == PTX_T_F64) {						\
		volatile double x = get64(t, i, 1), r;				\
		round_to(i->rnd);						\
		r = e64;							\
		fesetround_n(i->rnd);						\
		put64(t, i, r);							\
	} else if (i->type == PTX_T_F32) {					\
		volatile float x = get32(t, i, 1), r;				\
		round_to(i->rnd);						\
		r = e32;							\
		fesetround_n(i->rnd);						\
		put32(t, i, r);							\
	} else {								\
		double x = get16(t, i, 1);					\
		put16(t, i, e64);						\
	}									\
}

UNARY(frcp, 1.0f / x, 1.0 / x)
UNARY(fsqrt, sqrtf(x), sqrt(x))
UNARY(frsqrt, (float)(1.0 / sqrt((double)x)), 1.0 / sqrt(x))
UNARY(fsin, sinf(x), sin(x))
UNARY(fcos, cosf(x), cos(x))
UNARY(flg2, log2f(x), log2(x))
UNARY(fex2, exp2f(x), exp2(x))
UNARY(ftanh, tanhf(x), tanh(x))

static bool half2(unsigned int type)
{
	return type == PTX_T_F16X2 || type == PTX_T_BF16X2;
}

static unsigned int half_of(unsigned int pair)
{
	return pair == PTX_T_F16X2 ? PTX_T_F16 : PTX_T_BF16;
}

static uint64_t sign_bit(unsigned int type)
{
	return half2(type) ? 0x80008000ull : 1ull << (type_bits(type) - 1);
}

static uint64_t ftz_bits(const struct insn *i, uint64_t v)
{
	unsigned int type = half2(i->type) ? half_of(i->type) : i->type, k;
	uint64_t r = 0;

	if (!(i->flags & F_FTZ))
		return v;
	for (k = 0; k < type_bits(i->type); k += type_bits(type))
		r |= float_bits(type, float_source(i, type, v >> k), R_N) << k;
	return r;
}

void exec_fabs(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, ftz_bits(i, val(t, &i->a[1])) & ~sign_bit(i->type));
}

void exec_fneg(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, ftz_bits(i, val(t, &i->a[1])) ^ sign_bit(i->type));
}

/* A NaN loses against a number, but with .NaN; -0 is less than +0. */
static double pick(const struct insn *i, double a, double b, bool low)
{
	if (isnan(a) || isnan(b))
		return i->flags & F_NAN ? NAN : isnan(a) ? b : a;
	if (a == b)
		return signbit(a) == low ? a : b;
	return (a < b) == low ? a : b;
}

static void choose(struct thread *t, const struct insn *i, bool low)
{
	double a = float_source(i, i->type, val(t, &i->a[1]));
	double b = float_source(i, i->type, val(t, &i->a[2])), r;

	if (i->flags & F_ABS) {		/* .xorsign.abs */
		r = pick(i, fabs(a), fabs(b), low);
		r = signbit(a) != signbit(b) ? -r : r;
	} else {
		r = pick(i, a, b, low);
	}
	if (i->n == 4)			/* three inputs */
		r = pick(i, r, float_source(i, i->type, val(t, &i->a[3])), low);
	if (i->flags & F_RELU && r < 0)
		r = 0;
	put(t, &i->a[0], i->type, float_bits(i->type, r, R_N));
}

void exec_fmin(struct thread *t, const struct insn *i)
{
	choose(t, i, true);
}

void exec_fmax(struct thread *t, const struct insn *i)
{
	choose(t, i, false);
}

/* Two halves at once: the same instruction, done twice on one. */
void exec_half2(struct thread *t, const struct insn *i)
{
	struct insn one = *i;
	uint64_t in[5] = { 0 }, out = 0, reg = 0, *keep = t->r;
	unsigned int k, n;

	for (n = 1; n < i->n; n++)
		in[n] = val(t, &i->a[n]);
	one.fn = NULL;
	one.type = half_of(i->type);
	one.a[0] = (struct opnd){ .kind = K_REG, .reg = 0 };
	for (k = 0; k < 2; k++) {
		for (n = 1; n < i->n; n++)
			one.a[n] = (struct opnd){ .kind = K_IMM, .imm = in[n] >> 16 * k & 0xffff };
		t->r = &reg;
		switch (i->op2) {
		case PTX_OP_add: exec_fadd(t, &one); break;
		case PTX_OP_sub: exec_fsub(t, &one); break;
		case PTX_OP_mul: exec_fmul(t, &one); break;
		case PTX_OP_fma: exec_ffma(t, &one); break;
		case PTX_OP_min: exec_fmin(t, &one); break;
		case PTX_OP_max: exec_fmax(t, &one); break;
		case PTX_OP_ex2: exec_fex2(t, &one); break;
		default: exec_ftanh(t, &one); break;
		}
		t->r = keep;
		out |= (reg & 0xffff) << 16 * k;
	}
	put(t, &i->a[0], PTX_T_B32, out);
}

void exec_testp(struct thread *t, const struct insn *i)
{
	double v = float_value(i->type, val(t, &i->a[1]));
	double small = i->type == PTX_T_F64 ? 0x1p-1022 : 0x1p-126;
	bool r;

	switch (i->op) {
	case 0: r = isfinite(v); break;
	case 1: r = isinf(v); break;
	case 2: r = !isnan(v); break;
	case 3: r = isnan(v); break;
	case 4: r = isfinite(v) && fabs(v) >= small; break;
	default: r = v != 0 && fabs(v) < small;
	}
	put(t, &i->a[0], PTX_T_PRED, r);
}

/* The sign of a, the rest of b */
void exec_copysign(struct thread *t, const struct insn *i)
{
	uint64_t s = sign_bit(i->type);

	put(t, &i->a[0], i->type, (val(t, &i->a[1]) & s) | (val(t, &i->a[2]) & ~s));
}

static double rounded(double v, unsigned int rnd)
{
	switch (rnd) {
	case R_NI: return nearbyint(v);
	case R_MI: return floor(v);
	case R_PI: return ceil(v);
	default: return trunc(v);
	}
}

/* Out of range goes to the nearest end; NaN to 0, to or from 64 bits to the top bit. */
static uint64_t to_int(unsigned int type, unsigned int from, double v)
{
	unsigned int n = type_bits(type);
	double top = ldexp(1, type_signed(type) ? n - 1 : n);

	if (isnan(v))
		return n == 64 || from == PTX_T_F64 ? 1ull << (n - 1) : 0;
	if (type_signed(type)) {
		if (v >= top)
			return (1ull << (n - 1)) - 1;
		return v <= -top ? ~0ull << (n - 1) : (uint64_t)(int64_t)v;
	}
	if (v <= 0)
		return 0;
	return v >= top ? ~0ull >> (64 - n) : (uint64_t)v;
}

static uint64_t from_int(const struct insn *i, uint64_t v)
{
	bool sign = type_signed(i->stype);
	volatile uint64_t u = v;
	volatile float f;
	volatile double d;

	if (i->type == PTX_T_F32) {
		round_to(i->rnd);
		f = sign ? (float)(int64_t)u : (float)u;
		fesetround(FE_TONEAREST);
		return of_float(f);
	}
	/* more bits than a double has: its last one says that there were more, as in fma_odd() */
	if (i->type != PTX_T_F64 && (v + (1ull << 53)) >> 54 && v & 0x7ff)
		u = v >> 11 << 11 | 0x800;
	round_to(i->rnd);
	d = sign ? (double)(int64_t)u : (double)u;
	fesetround(FE_TONEAREST);
	return float_bits(i->type, d, i->rnd);
}

static uint64_t int_to_int(const struct insn *i, uint64_t v)
{
	bool from = type_signed(i->stype), to = type_signed(i->type);
	unsigned int n = type_bits(i->type);

	if (!(i->flags & F_SAT))
		return v;
	if (from && (int64_t)v < 0)
		return !to ? 0 : (int64_t)v < INT64_MIN >> (64 - n) ? ~0ull << (n - 1) : v;
	n -= to;
	return n < 64 && v >> n ? (1ull << n) - 1 : v;
}

/* 10 bits behind the point: halves away from zero, to the even one, or cut off */
static uint64_t to_tf32(const struct insn *i, double d)
{
	uint64_t v = of_float(d);

	if (d != d)
		return v;
	if (i->rnd == R_A)
		v += 0x1000;
	else if (i->rnd == R_N)
		v += 0xfff + (v >> 13 & 1);
	v &= ~0x1fffull;
	return i->op && (v & 0x7fffffff) == 0x7f800000 ? v - 0x2000 : v;
}

static double saturated(const struct insn *i, double d)
{
	double most = i->type == PTX_T_F16 || i->type == PTX_T_F16X2 ? 65504 : 0x1.fep127;

	if (i->flags & F_SAT)
		d = d > 0 ? d < 1 ? d : 1 : 0;
	if (i->flags & F_RELU && d < 0)
		d = 0;
	return i->op && fabs(d) > most ? copysign(most, d) : d;
}

/* op: .satfinite */
void exec_cvt(struct thread *t, const struct insn *i)
{
	uint64_t v = valn(t, &i->a[1], i->stype), r;
	bool from = is_float(i->stype), to = is_float(i->type);
	double d;

	if (!from) {
		r = to ? from_int(i, v) : int_to_int(i, v);
		if (to && i->flags & F_SAT) {
			d = float_value(i->type, r);
			r = float_bits(i->type, d > 0 ? d < 1 ? d : 1 : 0, R_N);
		}
		put(t, &i->a[0], i->type, r);
		return;
	}
	/* here .ftz is for those of 32 bits alone */
	d = i->stype == PTX_T_F32 ? float_source(i, i->stype, v) : float_value(i->stype, v);
	if (i->type == PTX_T_TF32) {
		put(t, &i->a[0], PTX_T_B32, to_tf32(i, i->flags & F_RELU && d < 0 ? 0 : d));
		return;
	}
	if (!to) {
		put(t, &i->a[0], i->type, to_int(i->type, i->stype, rounded(d, i->rnd)));
		return;
	}
	if (i->rnd >= R_NI && i->rnd <= R_PI)
		d = rounded(d, i->rnd);
	d = saturated(i, d);
	r = i->stype == i->type && i->rnd == R_NONE && !(i->flags & F_SAT) ? v :
		float_bits(i->type, d, i->rnd);
	put(t, &i->a[0], i->type, i->type == PTX_T_F32 ? ftz_bits(i, r) : r);
}

/* cvt.rn.f16x2.f32 d, a, b: a goes to the upper half */
void exec_cvt2(struct thread *t, const struct insn *i)
{
	unsigned int half = half_of(i->type), k;
	uint64_t r = 0;

	for (k = 1; k < 3; k++) {
		double d = saturated(i, as_float(val(t, &i->a[k])));

		r = r << 16 | float_bits(half, d, i->rnd);
	}
	put(t, &i->a[0], PTX_T_B32, r);
}
