// SPDX-License-Identifier: MIT
/* Opcodes: each different text is taken apart once. */
#include <errno.h>
#include <string.h>

#include "parser.h"

static const struct {
	const char *name;
	uint8_t len, results;
	uint16_t class;
} ops[] = {
#define X(name, results, class) { #name, sizeof(#name) - 1, results, class },
	PTX_OPS(X)
#undef X
};

static const struct {
	const char *name;
	uint8_t type, size;
} types[] = {
	{ "b8", PTX_T_B8, 1 }, { "b16", PTX_T_B16, 2 }, { "b32", PTX_T_B32, 4 },
	{ "b64", PTX_T_B64, 8 }, { "b128", PTX_T_B128, 16 }, { "u8", PTX_T_U8, 1 },
	{ "u16", PTX_T_U16, 2 }, { "u32", PTX_T_U32, 4 }, { "u64", PTX_T_U64, 8 },
	{ "s8", PTX_T_S8, 1 }, { "s16", PTX_T_S16, 2 }, { "s32", PTX_T_S32, 4 },
	{ "s64", PTX_T_S64, 8 }, { "f16", PTX_T_F16, 2 }, { "f16x2", PTX_T_F16X2, 4 },
	{ "bf16", PTX_T_BF16, 2 }, { "bf16x2", PTX_T_BF16X2, 4 }, { "tf32", PTX_T_TF32, 4 },
	{ "f32", PTX_T_F32, 4 }, { "f64", PTX_T_F64, 8 }, { "pred", PTX_T_PRED, 1 },
	{ "texref", PTX_T_TEXREF, 8 }, { "samplerref", PTX_T_SAMPLERREF, 8 },
	{ "surfref", PTX_T_SURFREF, 8 },
};

enum ptx_type ptx_type_of(const char *s, uint32_t len)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i].name) == len && !memcmp(types[i].name, s, len))
			return types[i].type;
	return PTX_T_NONE;
}

uint32_t ptx_type_size(enum ptx_type t)
{
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == t)
			return types[i].size;
	return 0;
}

bool ptx_has_mod(const struct ptx_opcode *o, const char *mod)
{
	size_t len = strlen(mod);
	uint32_t i;

	for (i = 0; i < o->n_mods; i++)
		if (o->mod[i].len == len && !memcmp(o->mod[i].s, mod, len))
			return true;
	return false;
}

/* "shared::cta" is shared; param::entry is param. */
static bool mod_names_space(const struct ptx_str *mod, const char *space)
{
	size_t len = strlen(space);

	return mod->len >= len && !memcmp(mod->s, space, len) &&
	       (mod->len == len || mod->s[len] == ':');
}

static enum ptx_space space_named(const struct ptx_opcode *o)
{
	static const struct {
		const char *name;
		enum ptx_space space;
	} spaces[] = {
		{ "global", PTX_SPACE_GLOBAL }, { "shared", PTX_SPACE_SHARED },
		{ "param", PTX_SPACE_PARAM }, { "local", PTX_SPACE_LOCAL },
		{ "const", PTX_SPACE_CONST },
	};
	uint32_t i, k;

	for (i = 0; i < o->n_mods; i++)
		for (k = 0; k < sizeof(spaces) / sizeof(spaces[0]); k++)
			if (mod_names_space(&o->mod[i], spaces[k].name))
				return spaces[k].space;
	return PTX_SPACE_NONE;
}

/* Modifiers change what some instructions do to their operands. */
static void refine(struct ptx_opcode *o)
{
	switch (o->op) {
	case PTX_OP_bar:
	case PTX_OP_barrier:
		if (ptx_has_mod(o, "warp")) {
			o->class = PTX_WARP;
		} else if (ptx_has_mod(o, "cluster")) {
			o->class = PTX_ASYNC;
		} else if (ptx_has_mod(o, "red")) {
			o->results = 1;
		}
		break;
	case PTX_OP_cp:
		if (ptx_has_mod(o, "commit_group") || ptx_has_mod(o, "wait_group") ||
		    ptx_has_mod(o, "wait_all") || ptx_has_mod(o, "commit") || ptx_has_mod(o, "wait"))
			o->class = PTX_ASYNC;
		break;
	case PTX_OP_wmma:
		if (ptx_has_mod(o, "store"))
			o->results = 0;
		break;
	case PTX_OP_wgmma:
		if (!ptx_has_mod(o, "mma_async"))
			o->results = 0;
		break;
	case PTX_OP_mbarrier:
		if (ptx_has_mod(o, "init") || ptx_has_mod(o, "inval") ||
		    ptx_has_mod(o, "expect_tx") || ptx_has_mod(o, "complete_tx"))
			o->results = 0;
		break;
	case PTX_OP_multimem:
		if (!ptx_has_mod(o, "ld_reduce"))
			o->results = 0;
		break;
	case PTX_OP_tcgen05:
		if (!ptx_has_mod(o, "ld"))
			o->results = 0;
		break;
	default:
		break;
	}
}

static void take_apart(struct ptx_opcode *o)
{
	const char *s = o->text.s, *end = s + o->text.len, *dot;
	size_t i;

	for (dot = s; dot < end && *dot != '.'; dot++)
		;
	o->op = PTX_OP_OTHER;
	o->results = 1;
	o->class = PTX_LANE | PTX_WARP | PTX_ASYNC | PTX_LOAD | PTX_STORE;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (ops[i].len == dot - s && !memcmp(ops[i].name, s, dot - s)) {
			o->op = i;
			o->results = ops[i].results;
			o->class = ops[i].class;
			break;
		}
	}
	while (dot < end && o->n_mods < PTX_MODS) {
		s = dot + 1;
		for (dot = s; dot < end && *dot != '.'; dot++)
			;
		o->mod[o->n_mods++] = (struct ptx_str){ s, dot - s };
	}
	o->space = space_named(o);
	for (i = o->n_mods; i-- && !o->type;)
		o->type = ptx_type_of(o->mod[i].s, o->mod[i].len);
	o->bytes = ptx_type_size(o->type);
	if (o->op != PTX_OP_OTHER)
		refine(o);
}

static uint32_t hash_opcode(const char *s, uint32_t len)
{
	uint32_t h = len, i;

	for (i = 0; i < len; i++)
		h = h * 31 + (unsigned char)s[i];
	return h ^ h >> 16;
}

uint32_t intern_opcode(struct parser *p, const char *s, uint32_t len)
{
	struct slots *t = &p->opcodes;
	uint32_t h = hash_opcode(s, len), at, i, probes;
	struct ptx_opcode *o;

	if (p->m->err)
		return 0;
	if (t->used > t->mask / 2) {
		if (!slots_grow(p, t))
			return 0;
		for (i = 0; i < p->m->vec[V_OPCODES].n; i++) {
			at = VEC(p, V_OPCODES, struct ptx_opcode)[i].hash & t->mask;
			while (t->slot[at])
				at = (at + 1) & t->mask;
			t->slot[at] = i + 1;
		}
		t->used = p->m->vec[V_OPCODES].n;
	}
	at = h & t->mask;
	for (probes = 0; t->slot[at]; at = (at + 1) & t->mask) {
		o = &VEC(p, V_OPCODES, struct ptx_opcode)[t->slot[at] - 1];
		if (o->hash == h && o->text.len == len && !memcmp(o->text.s, s, len))
			return t->slot[at] - 1;
		if (++probes > 256) {
			parse_error(p, -E2BIG, p->line, "too many opcodes that hash alike");
			return 0;
		}
	}
	i = vec_push(p, V_OPCODES);
	o = &VEC(p, V_OPCODES, struct ptx_opcode)[i];
	o->text = (struct ptx_str){ s, len };
	o->hash = h;
	take_apart(o);
	t->slot[at] = i + 1;
	t->used++;
	return i;
}
