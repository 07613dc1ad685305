// SPDX-License-Identifier: MIT
/*
 * Products of small matrices, which a warp does together: the last lane to come
 * reads everybody's registers and writes everybody's result.
 *
 * Where an element lies is laid down by PTX for mma and ldmatrix (figures of the
 * PTX ISA, "Matrix multiply-accumulate operation using mma instruction"). A lane is
 * group = lane / 4 and quarter = lane % 4. With e elements to a register, register r
 * of A holds row group + 8 (r odd), columns quarter * e + 4 * e * (r / 2) and on; B
 * the same with the columns for rows, and r for r / 2; of C, element i is in row
 * group + 8 (i / 2), column quarter * 2 + i % 2. For wmma PTX leaves it open: here
 * lane l holds elements l * d to l * d + d - 1, row by row, over and over where there
 * is more room than elements.
 *
 * Sums are taken in double or 64 bits and rounded once, which is closer to the
 * truth than hardware is.
 */
#include <string.h>
#include "exec.h"

struct matrix {
	double f[64 * 64];
	int64_t s[64 * 64];
};

uint32_t matrix_bits(unsigned int type)
{
	return type == M_U4 || type == M_S4 ? 4 : type == M_B1 ? 1 :
		type == M_E4M3 || type == M_E5M2 ? 8 : type_bits(type);
}

static bool float_matrix(unsigned int type)
{
	return type == M_E4M3 || type == M_E5M2 || type == PTX_T_TF32 || is_float(type);
}

/* Floats of 8 bits: sign, e exponent bits, the rest mantissa. */
static double small_float(uint32_t v, uint32_t e, bool infinities)
{
	uint32_t m = 7 - e, exp = v >> m & ((1u << e) - 1), man = v & ((1u << m) - 1);
	int bias = (1 << (e - 1)) - 1;
	double d;

	if (infinities && exp == (1u << e) - 1)
		d = man ? __builtin_nan("") : __builtin_inf();
	else if (!infinities && (v & 0x7f) == 0x7f)
		d = __builtin_nan("");
	else if (exp)
		d = __builtin_ldexp(1 + man / (double)(1 << m), (int)exp - bias);
	else
		d = __builtin_ldexp(man / (double)(1 << m), 1 - bias);
	return v & 0x80 ? -d : d;
}

/* @raw: the bits alone, as loads and stores pass them on. */
static void set_element(struct matrix *m, uint32_t at, unsigned int type, uint64_t v, bool raw)
{
	if (raw) {
		m->s[at] = v;
		return;
	}
	switch (type) {
	case M_E4M3: m->f[at] = small_float(v, 4, false); break;
	case M_E5M2: m->f[at] = small_float(v, 5, true); break;
	case PTX_T_TF32: m->f[at] = float_value(PTX_T_F32, v & ~0x1fffull); break;
	case M_U4: m->s[at] = v & 15; break;
	case M_S4: m->s[at] = (int64_t)(v << 60) >> 60; break;
	case M_B1: m->s[at] = v & 1; break;
	default:
		if (is_float(type))
			m->f[at] = float_value(type, v);
		else
			m->s[at] = norm(type, v);
	}
}

static uint64_t get_element(const struct matrix *m, uint32_t at, unsigned int type, bool raw)
{
	return !raw && is_float(type) ? float_bits(type, m->f[at], R_N) : (uint64_t)m->s[at];
}

/* Bits in a register of a fragment. */
static uint32_t register_bits(unsigned int type)
{
	return type == PTX_T_F64 ? 64 : 32;
}

static uint64_t fragment(struct thread *t, const struct opnd *o, uint32_t r)
{
	return val(t, o->kind == K_VEC ? &o->vec[r] : o);
}

static uint32_t registers(const struct opnd *o)
{
	return o->kind == K_VEC ? o->reg : 1;
}

/* Element j of register r of this lane: where it is in its matrix. */
static void place(const struct insn *i, uint32_t which, uint32_t lane, uint32_t r, uint32_t j,
		  uint32_t e, uint32_t *row, uint32_t *col)
{
	uint32_t group = lane / 4, quarter = lane % 4, n = r * e + j;
	bool tall = i->m[0] == 16;

	if (which == M_A) {
		*row = group + (tall ? 8 * (r & 1) : 0);
		*col = quarter * e + j + 4 * e * (tall ? r / 2 : r);
	} else if (which == M_B) {
		*row = quarter * e + j + 4 * e * r;
		*col = group;
	} else {
		*row = group + 8 * (n / 2);
		*col = quarter * 2 + n % 2;
	}
}

static uint32_t rows_of(const struct insn *i, uint32_t which)
{
	return i->m[which == M_B ? 2 : 0];
}

static uint32_t columns_of(const struct insn *i, uint32_t which)
{
	return i->m[which == M_A ? 2 : 1];
}

/* Which element of the matrix it is. */
static uint32_t element(const struct insn *i, uint32_t which, uint32_t lane, uint32_t r, uint32_t j,
			uint32_t e)
{
	uint32_t width = columns_of(i, which), d = rows_of(i, which) * width / 32, row, col;

	if (i->op & M_WMMA)
		return lane * d + (r * e + j) % d;
	place(i, which, lane, r, j, e, &row, &col);
	return row * width + col;
}

static void gather(struct thread *first, const struct insn *i, uint32_t which, const struct opnd *o,
		   unsigned int type, struct matrix *m, bool raw)
{
	uint32_t bits = matrix_bits(type), e = register_bits(type) / bits, lane, r, j;
	uint64_t v;

	for (lane = 0; lane < 32; lane++)
		for (r = 0; r < registers(o); r++) {
			v = fragment(first + lane, o, r);
			for (j = 0; j < e; j++)
				set_element(m, element(i, which, lane, r, j, e), type,
					    v >> j * bits, raw);
		}
}

static void scatter(struct thread *first, const struct insn *i, uint32_t which,
		    const struct opnd *o, unsigned int type, const struct matrix *m, bool raw)
{
	uint32_t bits = matrix_bits(type), e = register_bits(type) / bits, lane, r, j;
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : ~0ull, v;

	for (lane = 0; lane < 32; lane++)
		for (r = 0; r < registers(o); r++) {
			for (v = 0, j = 0; j < e; j++)
				v |= (get_element(m, element(i, which, lane, r, j, e), type, raw) &
				      mask) << j * bits;
			put(first + lane, o->kind == K_VEC ? &o->vec[r] : o,
			    register_bits(type) == 64 ? PTX_T_B64 : PTX_T_B32, v);
		}
}

static int64_t saturated(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

/* D = A * B + C; type, stype, op2 and rnd are the types of D, A, B, C. */
static void multiply(struct thread *first, const struct insn *i)
{
	static struct matrix a, b, c;	/* one thread runs everything */
	uint32_t n = i->m[1], depth = i->m[2], at, k, x, y;
	bool floats = float_matrix(i->stype);
	int64_t s;
	double f;

	gather(first, i, M_A, &i->a[1], i->stype, &a, false);
	gather(first, i, M_B, &i->a[2], i->op2, &b, false);
	gather(first, i, M_C, &i->a[3], i->rnd, &c, false);
	for (at = 0; at < i->m[0] * n; at++) {
		f = c.f[at];
		s = c.s[at];
		for (k = 0; k < depth; k++) {
			x = at / n * depth + k;
			y = k * n + at % n;
			if (floats)
				f += a.f[x] * b.f[y];
			else if (i->stype == M_B1)
				s += i->op & M_AND ? a.s[x] & b.s[y] : a.s[x] ^ b.s[y];
			else
				s += a.s[x] * b.s[y];
		}
		c.f[at] = f;
		c.s[at] = i->flags & F_SAT ? saturated(s) : (int32_t)s;
	}
	scatter(first, i, M_C, &i->a[0], i->type, &c, false);
}

/* wmma.load and wmma.store: all lanes say the same address and stride. */
static void transfer(struct thread *first, const struct insn *i, bool store)
{
	const struct opnd *addr = &i->a[store ? 0 : 1], *frag = &i->a[store ? 1 : 0];
	uint32_t bits = matrix_bits(i->type), rows = rows_of(i, i->op2), row, col, at;
	uint32_t columns = columns_of(i, i->op2), stride, size = bits < 8 ? 1 : bits / 8;
	bool by_column = i->flags & F_RIGHT;
	struct opnd there = *addr;
	static struct matrix m;
	uint8_t *p;

	stride = i->n > 2 ? val(first, &i->a[2]) : by_column ? rows : columns;
	if (store)
		gather(first, i, i->op2, frag, i->type, &m, true);
	for (row = 0; row < rows; row++)
		for (col = 0; col < columns; col++) {
			at = by_column ? col * stride + row : row * stride + col;
			there.imm = addr->imm + (uint64_t)at * bits / 8;
			p = access_at(first, i, &there, i->space, size);
			if (!p)
				return;
			if (store) {
				memcpy(p, &m.s[row * columns + col], size);
			} else {
				m.s[row * columns + col] = 0;
				memcpy(&m.s[row * columns + col], p, size);
				m.s[row * columns + col] >>= at * bits % 8;
			}
		}
	if (!store)
		scatter(first, i, i->op2, frag, i->type, &m, true);
}

/* ldmatrix, stmatrix: lane k of each eight brings the address of row k of a matrix. */
static void rows(struct thread *first, const struct insn *i, bool store)
{
	const struct opnd *o = &i->a[store ? 1 : 0];
	uint32_t n = registers(o), lane, r, j, row, col, v;
	uint8_t *at[32], *half;

	for (r = 0; r < n * 8; r++) {
		at[r] = access_at(first + r, i, &i->a[store ? 0 : 1], i->space, 16);
		if (!at[r])
			return;
	}
	for (lane = 0; lane < 32; lane++)
		for (r = 0; r < n; r++) {
			v = store ? fragment(first + lane, o, r) : 0;
			for (j = 0; j < 2; j++) {
				row = i->flags & F_RIGHT ? lane % 4 * 2 + j : lane / 4;
				col = i->flags & F_RIGHT ? lane / 4 : lane % 4 * 2 + j;
				half = (uint8_t *)&v + j * 2;
				memcpy(store ? at[r * 8 + row] + col * 2 : half,
				       store ? half : at[r * 8 + row] + col * 2, 2);
			}
			if (!store)
				put(first + lane, o->kind == K_VEC ? &o->vec[r] : o, PTX_T_B32, v);
		}
}

/* movmatrix: the transpose of one that lies in registers */
static void transpose(struct thread *first, const struct insn *i)
{
	uint16_t m[8][8];
	uint32_t lane, v;

	for (lane = 0; lane < 32; lane++) {
		v = val(first + lane, &i->a[1]);
		memcpy(&m[lane / 4][lane % 4 * 2], &v, 4);
	}
	for (lane = 0; lane < 32; lane++)
		put(first + lane, &i->a[0], PTX_T_B32, m[lane % 4 * 2][lane / 4] |
		    (uint32_t)m[lane % 4 * 2 + 1][lane / 4] << 16);
}

void matrix_finish(struct thread *t, uint32_t lanes)
{
	struct thread *first = t - t->lane;
	const struct insn *i = t->wait;

	if (lanes != ~0u)
		thread_fault(t, i, FAULT_INSTRUCTION, "a matrix instruction needs all 32 lanes");
	else if (i->fn == exec_mma)
		multiply(first, i);
	else if (i->fn == exec_wmma_load)
		transfer(first, i, false);
	else if (i->fn == exec_wmma_store)
		transfer(first, i, true);
	else if (i->fn == exec_ldmatrix)
		rows(first, i, false);
	else if (i->fn == exec_stmatrix)
		rows(first, i, true);
	else
		transpose(first, i);
}
