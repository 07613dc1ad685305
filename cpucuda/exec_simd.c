// SPDX-License-Identifier: MIT
/* Several small integers in one register: add.u16x2 and its kin, and the video instructions. */
#include "exec.h"

static int64_t lane(uint32_t v, unsigned int at, unsigned int bits, bool sign)
{
	v = v >> at & ((1u << bits) - 1);
	return sign ? (int32_t)(v << (32 - bits)) >> (32 - bits) : (int64_t)v;
}

static int64_t clip(int64_t v, unsigned int bits, bool sign)
{
	int64_t low = sign ? -(1ll << (bits - 1)) : 0, high = (1ll << (bits - sign)) - 1;

	return v < low ? low : v > high ? high : v;
}

static int64_t combine(unsigned int op, int64_t a, int64_t b)
{
	switch (op) {
	case PTX_OP_add: return a + b;
	case PTX_OP_sub: return a - b;
	case PTX_OP_min: return a < b ? a : b;
	case PTX_OP_max: return a > b ? a : b;
	case PTX_OP_abs: return a > b ? a - b : b - a;	/* vabsdiff */
	default: return (a + b + (a + b >= 0)) >> 1;	/* vavrg: halves go away from zero */
	}
}

/* add, min, max of two halves: d, a, b */
void exec_packed(struct thread *t, const struct insn *i)
{
	uint32_t a = val(t, &i->a[1]), b = val(t, &i->a[2]), k, r = 0;
	bool sign = i->type == PTX_T_S16;
	int64_t v;

	for (k = 0; k < 32; k += 16) {
		v = combine(i->op, lane(a, k, 16, sign), lane(b, k, 16, sign));
		if (i->flags & F_RELU && v < 0)
			v = 0;
		r |= (uint32_t)(v & 0xffff) << k;
	}
	put(t, &i->a[0], PTX_T_B32, r);
}

/* v*2 and v*4: d, a, b, c. With .add the lanes' sum goes to c; else c shows where no lane is. */
void exec_video(struct thread *t, const struct insn *i)
{
	uint32_t a = val(t, &i->a[1]), b = val(t, &i->a[2]), c = val(t, &i->a[3]), k, r = 0;
	unsigned int bits = i->m[0];
	int64_t v, sum = 0;

	for (k = 0; k < 32; k += bits) {
		v = combine(i->op, lane(a, k, bits, type_signed(i->stype)),
			    lane(b, k, bits, type_signed(i->op2)));
		if (i->flags & F_SAT)
			v = clip(v, bits, type_signed(i->type));
		sum += v;
		r |= ((uint32_t)v & ((1u << bits) - 1)) << k;
	}
	put(t, &i->a[0], PTX_T_B32, i->flags & F_WIDE ? c + (uint32_t)sum : r);
}
