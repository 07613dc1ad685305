// SPDX-License-Identifier: MIT
/* Integers, bits, comparisons and moves. */
#include <string.h>
#include "exec.h"

static unsigned int bits(const struct insn *i)
{
	return type_bits(i->type);
}

static int64_t lowest(unsigned int n)
{
	return n == 64 ? INT64_MIN : -(1ll << (n - 1));
}

static int64_t highest(unsigned int n)
{
	return n == 64 ? INT64_MAX : (1ll << (n - 1)) - 1;
}

/* a + b + carry-in with what .sat, .cc and the c of addc ask for */
static uint64_t sum(struct thread *t, const struct insn *i, uint64_t a, uint64_t b, bool minus)
{
	unsigned int n = bits(i);
	bool in = i->flags & F_CARRY ? t->carry : minus;
	unsigned __int128 wide;

	if (i->flags & F_SAT) {
		int64_t r = minus ? (int64_t)a - (int64_t)b : (int64_t)a + (int64_t)b;

		return r > highest(n) ? highest(n) : r < lowest(n) ? lowest(n) : r;
	}
	a = a << (64 - n) >> (64 - n);
	b = minus ? ~b : b;
	b = b << (64 - n) >> (64 - n);
	wide = (unsigned __int128)a + b + in;
	if (i->flags & F_CC)
		t->carry = wide >> n & 1;
	return wide;
}

/* subtraction keeps its borrow as an inverted carry here: addc never meets subc's */
void exec_add(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, sum(t, i, valn(t, &i->a[1], i->type),
				      valn(t, &i->a[2], i->type), false));
}

void exec_sub(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, sum(t, i, valn(t, &i->a[1], i->type),
				      valn(t, &i->a[2], i->type), true));
}

static uint64_t product(const struct insn *i, uint64_t a, uint64_t b)
{
	bool sign = type_signed(i->type);
	unsigned __int128 wide = sign ?
		(unsigned __int128)((__int128)(int64_t)a * (int64_t)b) : (unsigned __int128)a * b;

	return i->flags & F_HI ? wide >> bits(i) : wide;
}

static unsigned int wide_type(const struct insn *i)
{
	static const uint8_t next[] = { [PTX_T_U16] = PTX_T_U32, [PTX_T_S16] = PTX_T_S32,
		[PTX_T_U32] = PTX_T_U64, [PTX_T_S32] = PTX_T_S64, [PTX_T_U64] = PTX_T_U64,
		[PTX_T_S64] = PTX_T_S64 };

	return i->flags & F_WIDE ? next[i->type] : i->type;
}

void exec_mul(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], wide_type(i),
	    product(i, valn(t, &i->a[1], i->type), valn(t, &i->a[2], i->type)));
}

void exec_mad(struct thread *t, const struct insn *i)
{
	uint64_t p = product(i, valn(t, &i->a[1], i->type), valn(t, &i->a[2], i->type));

	put(t, &i->a[0], wide_type(i),
	    i->flags & F_WIDE ? p + val(t, &i->a[3]) :
	    sum(t, i, norm(i->type, p), valn(t, &i->a[3], i->type), false));
}

static uint64_t product24(struct thread *t, const struct insn *i)
{
	uint64_t a = val(t, &i->a[1]) << 40, b = val(t, &i->a[2]) << 40, p;

	p = type_signed(i->type) ? (uint64_t)(((int64_t)a >> 40) * ((int64_t)b >> 40)) :
		(a >> 40) * (b >> 40);
	return i->flags & F_HI ? p >> 16 : p;
}

void exec_mul24(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, product24(t, i));
}

void exec_mad24(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, sum(t, i, norm(i->type, product24(t, i)),
				      valn(t, &i->a[3], i->type), false));
}

/* Division by zero is unspecified in PTX; hardware gives all ones. */
void exec_div(struct thread *t, const struct insn *i)
{
	uint64_t a = valn(t, &i->a[1], i->type), b = valn(t, &i->a[2], i->type), r;

	if (!b)
		r = ~0ull;
	else if (!type_signed(i->type))
		r = a / b;
	else
		r = b == ~0ull ? -a : (uint64_t)((int64_t)a / (int64_t)b);
	put(t, &i->a[0], i->type, r);
}

void exec_rem(struct thread *t, const struct insn *i)
{
	uint64_t a = valn(t, &i->a[1], i->type), b = valn(t, &i->a[2], i->type), r;

	if (!b)
		r = a;
	else if (!type_signed(i->type))
		r = a % b;
	else
		r = b == ~0ull ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
	put(t, &i->a[0], i->type, r);
}

void exec_abs(struct thread *t, const struct insn *i)
{
	int64_t a = valn(t, &i->a[1], i->type);

	put(t, &i->a[0], i->type, a < 0 ? -(uint64_t)a : (uint64_t)a);
}

void exec_neg(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, -val(t, &i->a[1]));
}

static bool less(const struct insn *i, uint64_t a, uint64_t b)
{
	return type_signed(i->type) ? (int64_t)a < (int64_t)b : a < b;
}

void exec_min(struct thread *t, const struct insn *i)
{
	uint64_t a = valn(t, &i->a[1], i->type), b = valn(t, &i->a[2], i->type);

	a = less(i, b, a) ? b : a;
	put(t, &i->a[0], i->type, i->flags & F_RELU && (int64_t)a < 0 ? 0 : a);
}

void exec_max(struct thread *t, const struct insn *i)
{
	uint64_t a = valn(t, &i->a[1], i->type), b = valn(t, &i->a[2], i->type);

	a = less(i, a, b) ? b : a;
	put(t, &i->a[0], i->type, i->flags & F_RELU && (int64_t)a < 0 ? 0 : a);
}

void exec_sad(struct thread *t, const struct insn *i)
{
	uint64_t a = valn(t, &i->a[1], i->type), b = valn(t, &i->a[2], i->type);

	put(t, &i->a[0], i->type, val(t, &i->a[3]) + (less(i, a, b) ? b - a : a - b));
}

static uint64_t unsigned_of(struct thread *t, const struct opnd *o, unsigned int n)
{
	return val(t, o) << (64 - n) >> (64 - n);
}

void exec_popc(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], PTX_T_U32, __builtin_popcountll(unsigned_of(t, &i->a[1], bits(i))));
}

void exec_clz(struct thread *t, const struct insn *i)
{
	uint64_t a = unsigned_of(t, &i->a[1], bits(i));

	put(t, &i->a[0], PTX_T_U32, a ? __builtin_clzll(a) - (64 - bits(i)) : bits(i));
}

void exec_bfind(struct thread *t, const struct insn *i)
{
	uint64_t a = valn(t, &i->a[1], i->type);
	uint32_t r;

	if (type_signed(i->type) && (int64_t)a < 0)
		a = ~a;
	r = a ? 63u - __builtin_clzll(a) : ~0u;
	put(t, &i->a[0], PTX_T_U32, i->flags & F_WRAP && r != ~0u ? bits(i) - 1 - r : r);
}

/* The n-th set bit at or above (n > 0) or at or below (n < 0) a base. */
void exec_fns(struct thread *t, const struct insn *i)
{
	uint32_t mask = val(t, &i->a[1]), base = val(t, &i->a[2]), n = val(t, &i->a[3]);
	int step = (int32_t)n < 0 ? -1 : 1, at = (int)base;

	if (!n) {
		put(t, &i->a[0], PTX_T_U32, base < 32 && (mask >> base & 1) ? base : ~0u);
		return;
	}
	for (n = step < 0 ? -n : n; at >= 0 && at < 32; at += step)
		if (mask >> at & 1 && !--n)
			break;
	put(t, &i->a[0], PTX_T_U32, at >= 0 && at < 32 && !n ? (uint32_t)at : ~0u);
}

void exec_brev(struct thread *t, const struct insn *i)
{
	uint64_t a = val(t, &i->a[1]), r = 0;
	unsigned int k, n = bits(i);

	for (k = 0; k < n; k++)
		r |= (a >> k & 1) << (n - 1 - k);
	put(t, &i->a[0], i->type, r);
}

void exec_bfe(struct thread *t, const struct insn *i)
{
	unsigned int n = bits(i), pos = val(t, &i->a[2]) & 255, len = val(t, &i->a[3]) & 255, k;
	uint64_t a = valn(t, &i->a[1], i->type), r = 0, fill = 0;
	bool sign = type_signed(i->type);

	if (sign && len)
		fill = a >> (pos + len - 1 < n - 1 ? pos + len - 1 : n - 1) & 1;
	for (k = 0; k < n; k++)
		r |= (k < len && pos + k < n ? a >> (pos + k) & 1 : fill) << k;
	put(t, &i->a[0], i->type, r);
}

void exec_bfi(struct thread *t, const struct insn *i)
{
	unsigned int n = bits(i), pos = val(t, &i->a[3]) & 255, len = val(t, &i->a[4]) & 255, k;
	uint64_t a = val(t, &i->a[1]), r = val(t, &i->a[2]);

	for (k = 0; k < len && pos + k < n; k++)
		r = (r & ~(1ull << (pos + k))) | (a >> k & 1) << (pos + k);
	put(t, &i->a[0], i->type, r);
}

void exec_bmsk(struct thread *t, const struct insn *i)
{
	uint32_t pos = val(t, &i->a[1]), len = val(t, &i->a[2]);
	uint64_t m;

	pos = i->flags & F_WRAP ? pos & 31 : pos > 32 ? 32 : pos;
	len = i->flags & F_WRAP ? len & 31 : len > 32 ? 32 : len;
	m = ((1ull << len) - 1) << pos;
	put(t, &i->a[0], PTX_T_U32, m);
}

void exec_szext(struct thread *t, const struct insn *i)
{
	uint32_t n = val(t, &i->a[2]);
	uint64_t a = val(t, &i->a[1]);

	n = i->flags & F_WRAP ? n & 31 : n > 32 ? 32 : n;
	if (!n)
		a = 0;
	else
		a = type_signed(i->type) ? (uint64_t)((int64_t)(a << (64 - n)) >> (64 - n)) :
			a << (64 - n) >> (64 - n);
	put(t, &i->a[0], i->type, a);
}

static int64_t lane(uint64_t v, unsigned int k, unsigned int n, bool sign)
{
	uint64_t x = v >> (k * n) << (64 - n);

	return sign ? (int64_t)x >> (64 - n) : (int64_t)(x >> (64 - n));
}

void exec_dp4a(struct thread *t, const struct insn *i)
{
	uint64_t a = val(t, &i->a[1]), b = val(t, &i->a[2]), c = val(t, &i->a[3]);
	unsigned int k;

	for (k = 0; k < 4; k++)
		c += lane(a, k, 8, type_signed(i->type)) * lane(b, k, 8, type_signed(i->stype));
	put(t, &i->a[0], PTX_T_U32, c);
}

void exec_dp2a(struct thread *t, const struct insn *i)
{
	uint64_t a = val(t, &i->a[1]), b = val(t, &i->a[2]), c = val(t, &i->a[3]);
	unsigned int k, at = i->flags & F_HI ? 2 : 0;

	for (k = 0; k < 2; k++)
		c += lane(a, k, 16, type_signed(i->type)) *
			lane(b, at + k, 8, type_signed(i->stype));
	put(t, &i->a[0], PTX_T_U32, c);
}

void exec_and(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, val(t, &i->a[1]) & val(t, &i->a[2]));
}

void exec_or(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, val(t, &i->a[1]) | val(t, &i->a[2]));
}

void exec_xor(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, val(t, &i->a[1]) ^ val(t, &i->a[2]));
}

void exec_not(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, ~val(t, &i->a[1]));
}

void exec_cnot(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, !unsigned_of(t, &i->a[1], bits(i)));
}

void exec_lop3(struct thread *t, const struct insn *i)
{
	uint64_t a = val(t, &i->a[1]), b = val(t, &i->a[2]), c = val(t, &i->a[3]), r = 0;
	unsigned int lut = val(t, &i->a[4]), k;

	for (k = 0; k < 8; k++)
		if (lut >> k & 1)
			r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
	put(t, &i->a[0], i->type, r);
}

void exec_shf(struct thread *t, const struct insn *i)
{
	uint64_t v = (uint32_t)val(t, &i->a[1]) | val(t, &i->a[2]) << 32;
	uint32_t n = val(t, &i->a[3]);

	n = i->flags & F_WRAP ? n & 31 : n > 32 ? 32 : n;
	put(t, &i->a[0], PTX_T_U32, i->flags & F_RIGHT ? v >> n : v << n >> 32);
}

void exec_shl(struct thread *t, const struct insn *i)
{
	uint32_t n = val(t, &i->a[2]);

	put(t, &i->a[0], i->type, n >= bits(i) ? 0 : val(t, &i->a[1]) << n);
}

void exec_shr(struct thread *t, const struct insn *i)
{
	uint64_t a = valn(t, &i->a[1], i->type);
	uint32_t n = val(t, &i->a[2]);

	if (type_signed(i->type))
		a = (int64_t)a >> (n > 63 ? 63 : n);
	else
		a = n >= bits(i) ? 0 : a >> n;
	put(t, &i->a[0], i->type, a);
}

void exec_prmt(struct thread *t, const struct insn *i)
{
	uint64_t v = (uint32_t)val(t, &i->a[1]) | val(t, &i->a[2]) << 32;
	uint32_t s = val(t, &i->a[3]), n = s & 3, r = 0, k, pick, byte;

	for (k = 0; k < 4; k++) {
		switch (i->op) {
		case P_F4E: pick = n + k; break;
		case P_B4E: pick = (n - k) & 7; break;
		case P_RC8: pick = n; break;
		case P_ECL: pick = k > n ? k : n; break;
		case P_ECR: pick = k < n ? k : n; break;
		case P_RC16: pick = (n & 1) * 2 + (k & 1); break;
		default: pick = s >> 4 * k & 15;
		}
		byte = v >> 8 * (pick & 7) & 255;
		if (pick & 8)
			byte = byte & 128 ? 255 : 0;
		r |= byte << 8 * k;
	}
	put(t, &i->a[0], PTX_T_U32, r);
}

static bool compare(struct thread *t, const struct insn *i, unsigned int type)
{
	uint64_t a, b;

	if (is_float(type))
		return float_compare(i->op, float_source(i, type, val(t, &i->a[1])),
				     float_source(i, type, val(t, &i->a[2])));
	a = valn(t, &i->a[1], type);
	b = valn(t, &i->a[2], type);
	switch (i->op) {
	case C_EQ: return a == b;
	case C_NE: return a != b;
	case C_LT: return type_signed(type) ? (int64_t)a < (int64_t)b : a < b;
	case C_LE: return type_signed(type) ? (int64_t)a <= (int64_t)b : a <= b;
	case C_GT: return type_signed(type) ? (int64_t)a > (int64_t)b : a > b;
	case C_GE: return type_signed(type) ? (int64_t)a >= (int64_t)b : a >= b;
	case C_LTU: return a < b;	/* lo, ls, hi, hs */
	case C_LEU: return a <= b;
	case C_GTU: return a > b;
	default: return a >= b;
	}
}

static bool combine(unsigned int op, bool a, bool c)
{
	return op == B_AND ? a && c : op == B_OR ? a || c : op == B_XOR ? a != c : a;
}

static void setp_half2(struct thread *t, const struct insn *i)
{
	unsigned int half = i->type == PTX_T_F16X2 ? PTX_T_F16 : PTX_T_BF16, k;
	uint64_t a = val(t, &i->a[1]), b = val(t, &i->a[2]);
	bool c = i->op2 ? val(t, &i->a[3]) : false;

	for (k = 0; k < 2; k++)
		put(t, &i->a[0].vec[k], PTX_T_PRED,
		    combine(i->op2, float_compare(i->op, float_source(i, half, a >> 16 * k),
						  float_source(i, half, b >> 16 * k)), c));
}

void exec_setp(struct thread *t, const struct insn *i)
{
	bool r, c;

	if (i->type == PTX_T_F16X2 || i->type == PTX_T_BF16X2) {
		setp_half2(t, i);
		return;
	}
	r = compare(t, i, i->type);
	c = i->op2 ? val(t, &i->a[3]) & 1 : false;
	if (i->a[0].kind == K_VEC) {
		put(t, &i->a[0].vec[0], PTX_T_PRED, combine(i->op2, r, c));
		put(t, &i->a[0].vec[1], PTX_T_PRED, combine(i->op2, !r, c));
	} else {
		put(t, &i->a[0], PTX_T_PRED, combine(i->op2, r, c));
	}
}

void exec_set(struct thread *t, const struct insn *i)
{
	bool r = combine(i->op2, compare(t, i, i->stype), i->op2 ? val(t, &i->a[3]) & 1 : false);

	put(t, &i->a[0], i->type, is_float(i->type) ? (r ? float_bits(i->type, 1.0, R_N) : 0) :
	    r ? ~0ull : 0);
}

void exec_selp(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, val(t, &i->a[3]) & 1 ? val(t, &i->a[1]) : val(t, &i->a[2]));
}

void exec_slct(struct thread *t, const struct insn *i)
{
	uint64_t c = valn(t, &i->a[3], i->stype);
	bool first = i->stype == PTX_T_F32 ? float_source(i, PTX_T_F32, c) >= 0 : (int64_t)c >= 0;

	put(t, &i->a[0], i->type, first ? val(t, &i->a[1]) : val(t, &i->a[2]));
}

void exec_mov(struct thread *t, const struct insn *i)
{
	put(t, &i->a[0], i->type, val(t, &i->a[1]));
}

/* mov.b64 %rd, {%r1, %r2} */
void exec_pack(struct thread *t, const struct insn *i)
{
	unsigned int n = i->a[1].reg, w = bits(i) / n, k;
	uint64_t r = 0;

	for (k = 0; k < n; k++)
		r |= (val(t, &i->a[1].vec[k]) << (64 - w) >> (64 - w)) << (w * k);
	put(t, &i->a[0], i->type, r);
}

/* mov.b64 {%r1, %r2}, %rd; and mov.v4.u32 {...}, %ctaid */
void exec_unpack(struct thread *t, const struct insn *i)
{
	unsigned int n = i->a[0].reg, w, k;
	struct opnd part = i->a[1];
	uint64_t v;

	if (part.kind == K_SPECIAL) {
		for (k = 0; k < n; k++) {
			part.imm = "xyzw"[k];
			put(t, &i->a[0].vec[k], i->type, val(t, &part));
		}
		return;
	}
	w = bits(i) / n;
	v = val(t, &part);
	for (k = 0; k < n; k++)
		if (i->a[0].vec[k].kind == K_REG)
			t->r[i->a[0].vec[k].reg] = v >> (w * k) << (64 - w) >> (64 - w);
}
