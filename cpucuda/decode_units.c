// SPDX-License-Identifier: MIT
/* What isn't plain arithmetic or memory: textures, matrices, barriers in memory, SIMD. */
#include <stdio.h>
#include <string.h>
#include "exec.h"

struct choice { const char *name; uint8_t value; };

static bool is(const struct ptx_str *s, const char *name)
{
	return strlen(name) == s->len && !memcmp(s->s, name, s->len);
}

static bool chosen(const struct ptx_opcode *o, const struct choice *list, uint8_t *value)
{
	const struct choice *c;

	for (c = list; c->name; c++)
		if (ptx_has_mod(o, c->name)) {
			*value = c->value;
			return true;
		}
	return false;
}

/* 1d, a2d, cube ...; false: another */
static bool geometry(struct insn *i, const struct ptx_opcode *o)
{
	static const struct choice list[] = {
		{ "1d", 0 }, { "2d", 0 }, { "3d", 0 }, { "a1d", TEX_LAYERED },
		{ "a2d", TEX_LAYERED }, { "cube", TEX_CUBE }, { "acube", TEX_CUBE | TEX_LAYERED },
		{ NULL, 0 },
	};

	return chosen(o, list, &i->op2);
}

/* [handle, coordinates]; with a sampler of its own (independent mode) it isn't known here */
static bool place_of(const struct opnd *a)
{
	return a->kind == K_VEC && a->reg == 2;
}

static bool texture(struct insn *i, const struct ptx_opcode *o)
{
	static const struct choice components[] = { { "r", 0 }, { "g", 1 }, { "b", 2 }, { "a", 3 },
		{ NULL, 0 } };

	i->fn = o->op == PTX_OP_tex ? exec_tex : exec_tld4;
	if (!geometry(i, o) || !place_of(&i->a[1]) || i->type == PTX_T_F16X2)
		return false;
	if (i->a[0].kind == K_VEC && i->a[0].vec[0].kind == K_VEC)	/* and whether it's there */
		return false;
	if (o->op == PTX_OP_tld4)
		return i->n == 2 && chosen(o, components, &i->op);
	i->op2 |= ptx_has_mod(o, "level") ? TEX_LEVEL : ptx_has_mod(o, "grad") ? TEX_GRAD : 0;
	return i->n == (i->op2 & TEX_LEVEL ? 3 : i->op2 & TEX_GRAD ? 4 : 2) &&
		(i->stype == PTX_T_S32 || i->stype == PTX_T_F32);
}

static bool query(struct insn *i, const struct ptx_opcode *o)
{
	static const struct choice list[] = {
		{ "width", TXQ_WIDTH }, { "height", TXQ_HEIGHT }, { "depth", TXQ_DEPTH },
		{ "array_size", TXQ_ARRAY_SIZE }, { "num_mipmap_levels", TXQ_LEVELS },
		{ "normalized_coords", TXQ_NORMALIZED }, { NULL, 0 },
	};

	i->fn = exec_txq;
	return chosen(o, list, &i->op) && i->n >= 2;
}

static bool surface(struct insn *i, const struct ptx_opcode *o)
{
	static const struct choice outside[] = { { "trap", SURFACE_TRAP },
		{ "clamp", SURFACE_CLAMP }, { "zero", SURFACE_ZERO }, { NULL, 0 } };
	static const struct choice atoms[] = { { "add", A_ADD }, { "min", A_MIN }, { "max", A_MAX },
		{ "and", A_AND }, { "or", A_OR }, { NULL, 0 } };
	bool by_element = ptx_has_mod(o, "p");

	i->fn = o->op == PTX_OP_suld ? exec_suld : o->op == PTX_OP_sust ? exec_sust : exec_sured;
	if (!chosen(o, outside, &i->op))
		i->op = SURFACE_TRAP;
	if (o->op == PTX_OP_sured && !chosen(o, atoms, &i->rnd))
		return false;
	if (!geometry(i, o) || !place_of(&i->a[o->op == PTX_OP_suld]) || i->n != 2)
		return false;
	i->op2 |= by_element ? SURFACE_ELEMENTS : 0;
	return !by_element || o->op != PTX_OP_suld;
}

static uint8_t matrix_type(const struct ptx_str *s)
{
	static const struct choice own[] = { { "e4m3", M_E4M3 }, { "e5m2", M_E5M2 },
		{ "u4", M_U4 }, { "s4", M_S4 }, { "b1", M_B1 }, { NULL, 0 } };
	const struct choice *c;

	for (c = own; c->name; c++)
		if (is(s, c->name))
			return c->value;
	return ptx_type_of(s->s, s->len);
}

/* The shape and the types, in the order in which they stand; how many types there are. */
static uint32_t shape(struct insn *i, const struct ptx_opcode *o, uint8_t type[4])
{
	uint32_t k, n = 0, m[3];
	char text[24];

	for (k = 0; k < o->n_mods; k++) {
		if (o->mod[k].len < sizeof(text) && o->mod[k].s[0] == 'm') {
			memcpy(text, o->mod[k].s, o->mod[k].len);
			text[o->mod[k].len] = 0;
			if (sscanf(text, "m%un%uk%u", &m[0], &m[1], &m[2]) == 3) {
				i->m[0] = m[0];
				i->m[1] = m[1];
				i->m[2] = m[2];
			}
		}
		if (n < 4 && matrix_type(&o->mod[k]) != PTX_T_NONE)
			type[n++] = matrix_type(&o->mod[k]);
	}
	return n;
}

/* As many registers as a share of the matrix fills. */
static bool fits(const struct opnd *o, uint32_t rows, uint32_t columns, unsigned int type)
{
	uint32_t n = o->kind == K_VEC ? o->reg : 1;

	return n * 32 * (type == PTX_T_F64 ? 64 : 32) == rows * columns * matrix_bits(type);
}

static bool shape_ok(const struct insn *i)
{
	return i->m[0] && i->m[1] && i->m[2] && i->m[0] <= 32 && i->m[1] <= 32 &&
		i->m[2] <= 256 && i->m[0] * i->m[2] <= 4096 && i->m[1] * i->m[2] <= 4096;
}

/* mma, and wmma.mma: the older form of the latter names the types of D and C alone. */
static bool mma(struct insn *i, const struct ptx_opcode *o)
{
	bool wmma = o->op == PTX_OP_wmma;
	uint8_t type[4];
	uint32_t n = shape(i, o, type);

	i->fn = exec_mma;
	i->op = (wmma ? M_WMMA : 0) | (ptx_has_mod(o, "and") ? M_AND : 0);
	if (n == 2 && wmma)
		type[3] = type[1], type[1] = type[2] = PTX_T_F16;
	else if (n != 4)
		return false;
	i->type = type[0];
	i->stype = type[1];
	i->op2 = type[2];
	i->rnd = type[3];
	if (ptx_has_mod(o, "sp") || ptx_has_mod(o, "block_scale") || i->n != 4 || !shape_ok(i))
		return false;
	/* the first form of all, for quarters of a warp: its layout is another */
	return wmma || (!(i->m[0] == 8 && type[1] == PTX_T_F16) &&
			fits(&i->a[0], i->m[0], i->m[1], type[0]) &&
			fits(&i->a[1], i->m[0], i->m[2], type[1]) &&
			fits(&i->a[2], i->m[2], i->m[1], type[2]) &&
			fits(&i->a[3], i->m[0], i->m[1], type[3]));
}

static bool fragment(struct insn *i, const struct ptx_opcode *o)
{
	static const struct choice which[] = { { "a", M_A }, { "b", M_B }, { "c", M_C }, { "d", M_C },
		{ NULL, 0 } };
	bool store = ptx_has_mod(o, "store");
	uint8_t type[4];

	i->fn = store ? exec_wmma_store : exec_wmma_load;
	if (shape(i, o, type) != 1 || !chosen(o, which, &i->op2) || !shape_ok(i))
		return false;
	i->type = type[0];
	i->op = M_WMMA;
	i->flags |= ptx_has_mod(o, "col") ? F_RIGHT : 0;
	return (store || ptx_has_mod(o, "load")) && (i->n == 2 || i->n == 3);
}

static bool matrix_rows(struct insn *i, const struct ptx_opcode *o)
{
	i->fn = o->op == PTX_OP_ldmatrix ? exec_ldmatrix : o->op == PTX_OP_stmatrix ?
		exec_stmatrix : exec_movmatrix;
	i->flags |= ptx_has_mod(o, "trans") ? F_RIGHT : 0;
	return ptx_has_mod(o, "m8n8") && ptx_has_mod(o, "b16") && i->n == 2 &&
		(i->a[0].kind != K_VEC || i->a[0].reg <= 4) &&
		(i->a[1].kind != K_VEC || i->a[1].reg <= 4);
}

static bool mbarrier(struct insn *i, const struct ptx_opcode *o)
{
	static const struct choice list[] = {
		{ "init", MB_INIT }, { "inval", MB_INVAL }, { "arrive_drop", MB_DROP },
		{ "arrive", MB_ARRIVE }, { "expect_tx", MB_EXPECT }, { "complete_tx", MB_COMPLETE },
		{ "test_wait", MB_WAIT }, { "try_wait", MB_WAIT }, { "pending_count", MB_PENDING },
		{ NULL, 0 },
	};

	i->fn = exec_mbarrier;
	if (!chosen(o, list, &i->op))
		return false;
	i->op2 = i->op == MB_WAIT ? ptx_has_mod(o, "parity") : ptx_has_mod(o, "expect_tx");
	/* where the barrier stands among the operands */
	i->target = i->op == MB_WAIT ||
		((i->op == MB_ARRIVE || i->op == MB_DROP) && (i->a[0].kind == K_SINK ||
		 (i->n > 1 && !i->a[0].address)));
	return i->n >= 1 && i->n <= 4;
}

static bool spaces_of_copy(struct insn *i, const struct ptx_opcode *o)
{
	uint32_t k, n = 0;
	uint8_t space[2] = { 0 };

	for (k = 0; k < o->n_mods && n < 2; k++)
		if (is(&o->mod[k], "global"))
			space[n++] = PTX_SPACE_GLOBAL;
		else if (o->mod[k].len >= 6 && !memcmp(o->mod[k].s, "shared", 6))
			space[n++] = PTX_SPACE_SHARED;
	i->space = space[0];
	i->op2 = space[1];
	return n == 2;
}

/* cp.async in the forms that end on a barrier or take whole blocks; tensors aren't known */
static bool bulk(struct insn *i, const struct ptx_opcode *o)
{
	if (ptx_has_mod(o, "mbarrier") && ptx_has_mod(o, "arrive")) {
		i->fn = exec_async_arrive;
		i->op = ptx_has_mod(o, "noinc");
		return i->n == 1;
	}
	if (ptx_has_mod(o, "tensor") || ptx_has_mod(o, "reduce") ||
	    ptx_has_mod(o, "multicast::cluster") || ptx_has_mod(o, "cp_mask"))
		return false;
	i->fn = exec_nothing;
	if (ptx_has_mod(o, "commit_group") || ptx_has_mod(o, "wait_group") ||
	    ptx_has_mod(o, "prefetch"))
		return true;
	i->fn = exec_bulk;
	i->op = ptx_has_mod(o, "mbarrier::complete_tx::bytes");
	return spaces_of_copy(i, o) && i->n >= 3u + i->op;
}

static bool video(struct insn *i, const struct ptx_opcode *o)
{
	static const struct { uint16_t op; uint8_t bits; uint8_t as; } list[] = {
		{ PTX_OP_vadd2, 16, PTX_OP_add }, { PTX_OP_vadd4, 8, PTX_OP_add },
		{ PTX_OP_vsub2, 16, PTX_OP_sub }, { PTX_OP_vsub4, 8, PTX_OP_sub },
		{ PTX_OP_vmin2, 16, PTX_OP_min }, { PTX_OP_vmin4, 8, PTX_OP_min },
		{ PTX_OP_vmax2, 16, PTX_OP_max }, { PTX_OP_vmax4, 8, PTX_OP_max },
		{ PTX_OP_vabsdiff2, 16, PTX_OP_abs }, { PTX_OP_vabsdiff4, 8, PTX_OP_abs },
		{ PTX_OP_vavrg2, 16, PTX_OP_popc }, { PTX_OP_vavrg4, 8, PTX_OP_popc },
	};
	uint8_t type[4];
	size_t k;

	for (k = 0; k < sizeof(list) / sizeof(*list) && list[k].op != o->op; k++)
		;
	if (k == sizeof(list) / sizeof(*list) || i->n != 4 || shape(i, o, type) != 3)
		return false;
	i->fn = exec_video;
	i->op = list[k].as;
	i->m[0] = list[k].bits;
	i->type = type[0];
	i->stype = type[1];
	i->op2 = type[2];
	i->flags |= ptx_has_mod(o, "add") ? F_WIDE : 0;
	return true;
}

static bool packed(struct insn *i, const struct ptx_opcode *o)
{
	i->fn = exec_packed;
	i->op = o->op;
	i->type = ptx_has_mod(o, "s16x2") ? PTX_T_S16 : PTX_T_U16;
	return i->n == 3;
}

bool decode_unit(struct insn *i, const struct ptx_opcode *o)
{
	switch (o->op) {
	case PTX_OP_tex: case PTX_OP_tld4: return texture(i, o);
	case PTX_OP_txq: case PTX_OP_suq: return query(i, o);
	case PTX_OP_suld: case PTX_OP_sust: case PTX_OP_sured: return surface(i, o);
	case PTX_OP_mma: return mma(i, o);
	case PTX_OP_wmma: return ptx_has_mod(o, "mma") ? mma(i, o) : fragment(i, o);
	case PTX_OP_ldmatrix: case PTX_OP_stmatrix: case PTX_OP_movmatrix: return matrix_rows(i, o);
	case PTX_OP_mbarrier: return mbarrier(i, o);
	case PTX_OP_cp: return bulk(i, o);
	case PTX_OP_add: case PTX_OP_min: case PTX_OP_max: return packed(i, o);
	default: return video(i, o);
	}
}
