// SPDX-License-Identifier: MIT
/*
 * The reader of PTX for maps: what its instructions compute, and which of them go to global
 * memory. The accesses of functions that are called aren't followed; those that have none
 * are known.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform.h"
#include "../maps/maps.h"

struct reader {
	struct job *j;
	const struct ptx_module *m;
	const struct ptx_function *f;
	struct map_build b;
	struct map_block *blocks;
	struct cfg cfg;
	struct gsx_map *map;
	uint32_t n_maps, cap_maps;
	struct gsx_maps *maps;
	uint32_t unknown_write, unknown_read;	/* lines: through which pointer isn't known */
	uint8_t *quiet;		/* functions that have no accesses: 0 not asked, 1 yes, 2 no */
};

static const char *const sentences[GSX_MAP_REASONS] = {
	[GSX_MAP_DATA] = "an address depends on what was read from memory",
	[GSX_MAP_OPERATION] = "an address comes from an operation that isn't followed",
	[GSX_MAP_PRODUCT] = "an address has a product of numbers that differ between threads",
	[GSX_MAP_JOIN] = "an address depends on a condition",
	[GSX_MAP_LOOP] = "an address changes in a loop in a way that isn't followed",
	[GSX_MAP_BASE] = "which pointer an address comes from isn't known",
	[GSX_MAP_ATOMICS] = "atomic operations",
	[GSX_MAP_READ] = "what is written is read, too, and may be other blocks'",
	[GSX_MAP_WAITS] = "waits for other blocks, or looks at what they write",
	[GSX_MAP_CALL] = "a call of a function whose accesses aren't followed",
	[GSX_MAP_VARIABLE] = "a variable of the module",
	[GSX_MAP_POINTER] = "a pointer that was read from memory",
	[GSX_MAP_SURFACE] = "a texture or surface",
	[GSX_MAP_FLOW] = "control flow that isn't followed",
	[GSX_MAP_SIZE] = "there is too much of it to be followed",
};

/* The worse class stays; of one class, what came first. */
static void worsen(struct reader *r, struct gsx_way *w, enum gsx_map_class class,
		   enum gsx_map_reason reason, uint32_t line)
{
	if (class <= w->class)
		return;
	*w = (struct gsx_way){ .class = class };
	if (class == GSX_MAP_AFFINE)
		return;
	w->reason = reason;
	w->line = line;
	w->text = pool_text(r->j->pool, "%s:%u: %s", r->j->opt->file, line, sentences[reason]);
	if (!w->text)
		r->b.err = -ENOMEM;
}

static unsigned int bits_of(enum ptx_type t)
{
	return ptx_type_size(t) * 8;
}

static bool is_signed(enum ptx_type t)
{
	return t >= PTX_T_S8 && t <= PTX_T_S64;
}

static bool is_whole(enum ptx_type t)
{
	return t >= PTX_T_B8 && t <= PTX_T_S64 && t != PTX_T_B128;
}

/* The last type but one among the modifiers: what cvt makes. */
static enum ptx_type type_made(const struct ptx_opcode *o)
{
	enum ptx_type t;
	uint32_t i, n = 0;

	for (i = o->n_mods; i-- > 0; ) {
		t = ptx_type_of(o->mod[i].s, o->mod[i].len);
		if (t != PTX_T_NONE && ++n == 2)
			return t;
	}
	return PTX_T_NONE;
}

static bool is_param(const struct reader *r, uint32_t var)
{
	return var >= r->f->params && var < r->f->params + r->f->n_params;
}

static uint32_t of_variable(struct reader *r, uint32_t var)
{
	const struct ptx_variable *v = var < r->m->n_vars ? &r->m->vars[var] : NULL;

	if (v && (v->space == PTX_SPACE_SHARED || v->space == PTX_SPACE_LOCAL ||
		  v->space == PTX_SPACE_PARAM))
		return map_leaf(&r->b, MAP_NEAR, 0, false, 0);
	return map_leaf(&r->b, MAP_VARIABLE, 0, false, var);
}

static uint32_t special(struct reader *r, const struct ptx_operand *o)
{
	enum map_op op;

	switch (o->ref) {
	case PTX_SR_tid: op = MAP_TID; break;
	case PTX_SR_ntid: op = MAP_NTID; break;
	case PTX_SR_ctaid: op = MAP_CTAID; break;
	case PTX_SR_nctaid: op = MAP_NCTAID; break;
	default: return map_unknown(&r->b, GSX_MAP_OPERATION);
	}
	if (o->component < 'x' || o->component > 'z')
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	return map_leaf(&r->b, op, 32, false, o->component - 'x');
}

static uint32_t value(struct reader *r, const struct ptx_operand *o, uint32_t stmt, uint32_t block)
{
	uint32_t node;

	if (!o || o->neg)
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	switch (o->kind) {
	case PTX_REG:
		if (o->component)
			break;
		node = map_value(&r->b, o->ref - r->f->first_reg, stmt, block);
		return o->not ? map_make(&r->b, MAP_NOT, 1, false, node, 0) : node;
	case PTX_INT:
		return map_leaf(&r->b, MAP_CONST, 64, true, o->imm);
	case PTX_SPECIAL:
		return special(r, o);
	case PTX_VARIABLE:
		return of_variable(r, o->ref);
	default:
		break;
	}
	return map_unknown(&r->b, GSX_MAP_OPERATION);
}

/* Which of the results a register is, of { } or |; -1: none of them */
static int place_in(const struct reader *r, const struct ptx_operand *to, uint32_t reg)
{
	uint32_t i;

	if (to->kind == PTX_REG)
		return to->ref - r->f->first_reg == reg ? 0 : -1;
	for (i = 0; i < to->n_children; i++)
		if (r->m->operands[to->child + i].kind == PTX_REG &&
		    r->m->operands[to->child + i].ref - r->f->first_reg == reg)
			return i;
	return -1;
}

static uint32_t from_param(struct reader *r, const struct ptx_stmt *s, const struct ptx_opcode *o,
			   uint32_t reg)
{
	const struct ptx_operand *at = ptx_arg(r->m, s, 1), *var;
	enum ptx_type t = o->type;
	int place = place_in(r, ptx_arg(r->m, s, 0), reg);

	if (!at || at->kind != PTX_ADDRESS || at->n_children != 1 || place < 0 || !is_whole(t))
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	var = &r->m->operands[at->child];
	if (var->kind != PTX_VARIABLE || !is_param(r, var->ref) || var->imm > 65536)
		return map_unknown(&r->b, GSX_MAP_DATA);
	return map_leaf(&r->b, MAP_PARAM, bits_of(t), is_signed(t),
			(int64_t)(r->m->vars[var->ref].offset + var->imm +
				  place * ptx_type_size(t)));
}

static uint32_t conversion(struct reader *r, const struct ptx_opcode *o, uint32_t reg, uint32_t a)
{
	enum ptx_type to = type_made(o), from = o->type;
	unsigned int wide = bits_of(r->m->regs[r->f->first_reg + reg].type);

	if (!is_whole(to) || !is_whole(from) || ptx_has_mod(o, "sat"))
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	if (bits_of(to) > bits_of(from))
		return map_make(&r->b, MAP_EXTEND, bits_of(from), is_signed(from), a, 0);
	if (wide > bits_of(to))
		return map_make(&r->b, MAP_EXTEND, bits_of(to), is_signed(to), a, 0);
	return a;
}

/* mul and mad, lo, hi and wide */
static uint32_t product(struct reader *r, const struct ptx_opcode *o, uint32_t a, uint32_t b,
			uint32_t c, bool add)
{
	enum ptx_type t = o->type;
	unsigned int bits = bits_of(t);
	uint32_t node;

	if (!is_whole(t) || ptx_has_mod(o, "sat") || ptx_has_mod(o, "cc"))
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	if (ptx_has_mod(o, "wide")) {
		a = map_make(&r->b, MAP_EXTEND, bits, is_signed(t), a, 0);
		b = map_make(&r->b, MAP_EXTEND, bits, is_signed(t), b, 0);
		bits *= 2;
	}
	node = map_make(&r->b, ptx_has_mod(o, "hi") ? MAP_MULHI : MAP_MUL, bits, is_signed(t), a, b);
	return add ? map_make(&r->b, MAP_ADD, bits, is_signed(t), node, c) : node;
}

static uint32_t comparison(struct reader *r, const struct ptx_stmt *s, const struct ptx_opcode *o,
			   uint32_t block, uint32_t reg)
{
	static const struct { const char *mod; uint8_t op, turned, contrary, below; } all[] = {
		{ "eq", MAP_EQUAL, 0, 0, 0 }, { "ne", MAP_EQUAL, 0, 1, 0 },
		{ "lt", MAP_LESS, 0, 0, 0 }, { "le", MAP_LESS_EQUAL, 0, 0, 0 },
		{ "gt", MAP_LESS, 1, 0, 0 }, { "ge", MAP_LESS_EQUAL, 1, 0, 0 },
		{ "lo", MAP_LESS, 0, 0, 1 }, { "ls", MAP_LESS_EQUAL, 0, 0, 1 },
		{ "hi", MAP_LESS, 1, 0, 1 }, { "hs", MAP_LESS_EQUAL, 1, 0, 1 },
	};
	const struct ptx_operand *to = ptx_arg(r->m, s, 0), *p = ptx_arg(r->m, s, 3);
	uint32_t stmt = s - r->m->stmts, a, b, node;
	enum ptx_type t = o->type;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (o->n_mods && o->mod[0].len == 2 && !memcmp(o->mod[0].s, all[i].mod, 2))
			break;
	if (i == sizeof(all) / sizeof(all[0]) || !is_whole(t))
		return map_unknown(&r->b, GSX_MAP_DATA);
	a = value(r, ptx_arg(r->m, s, all[i].turned ? 2 : 1), stmt, block);
	b = value(r, ptx_arg(r->m, s, all[i].turned ? 1 : 2), stmt, block);
	node = map_make(&r->b, all[i].op, bits_of(t), is_signed(t) && !all[i].below, a, b);
	if (all[i].contrary)
		node = map_make(&r->b, MAP_NOT, 1, false, node, 0);
	if (place_in(r, to, reg) == 1)	/* the second of p|q */
		node = p ? map_unknown(&r->b, GSX_MAP_OPERATION) :
			   map_make(&r->b, MAP_NOT, 1, false, node, 0);
	if (!p)
		return node;
	if (!ptx_has_mod(o, "and") && !ptx_has_mod(o, "or"))
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	return map_make(&r->b, ptx_has_mod(o, "and") ? MAP_BOTH : MAP_EITHER, 1, false, node,
			value(r, p, stmt, block));
}

static uint32_t logic(struct reader *r, const struct ptx_opcode *o, enum map_op bits,
		      enum map_op pred, uint32_t a, uint32_t b)
{
	enum ptx_type t = o->type;

	if (t == PTX_T_PRED)
		return pred == MAP_UNKNOWN ? map_unknown(&r->b, GSX_MAP_OPERATION) :
		       map_make(&r->b, pred, 1, false, a, b);
	/* numbers stand on the right */
	if (r->b.node[a].uniform && !r->b.node[b].uniform)
		return map_make(&r->b, bits, bits_of(t), false, b, a);
	return map_make(&r->b, bits, bits_of(t), false, a, b);
}

static uint32_t plain(struct reader *r, const struct ptx_opcode *o, enum map_op op, uint32_t a,
		      uint32_t b)
{
	enum ptx_type t = o->type;

	if (!is_whole(t) || ptx_has_mod(o, "sat") || ptx_has_mod(o, "cc") || ptx_has_mod(o, "relu"))
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	return map_make(&r->b, op, bits_of(t), is_signed(t), a, b);
}

static uint32_t address_space(struct reader *r, const struct ptx_opcode *o, uint32_t a)
{
	enum ptx_space space = o->space;

	if (space == PTX_SPACE_SHARED || space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM)
		return map_leaf(&r->b, MAP_NEAR, 0, false, 0);
	if (r->b.node[a].op == MAP_PARAM && r->b.node[a].bits == 64)
		return map_make(&r->b, MAP_POINTER, 64, false, a, 0);
	return a;
}

static uint32_t computed(struct reader *r, const struct ptx_stmt *s, uint32_t block, uint32_t reg)
{
	const struct ptx_opcode *o = ptx_opcode(r->m, s);
	uint32_t stmt = s - r->m->stmts, a = 0, b = 0;

	switch (o->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
		if (o->space == PTX_SPACE_PARAM)
			return from_param(r, s, o, reg);
		return map_unknown(&r->b, GSX_MAP_DATA);
	case PTX_OP_atom:
	case PTX_OP_call:
		return map_unknown(&r->b, GSX_MAP_DATA);
	case PTX_OP_setp:
		return comparison(r, s, o, block, reg);
	case PTX_OP_selp:
		return map_unknown(&r->b, GSX_MAP_JOIN);
	case PTX_OP_add: case PTX_OP_sub: case PTX_OP_mul: case PTX_OP_mad: case PTX_OP_div:
	case PTX_OP_rem: case PTX_OP_min: case PTX_OP_max: case PTX_OP_shl: case PTX_OP_shr:
	case PTX_OP_and: case PTX_OP_or: case PTX_OP_xor:
		b = value(r, ptx_arg(r->m, s, 2), stmt, block);
		/* fall through */
	case PTX_OP_mov: case PTX_OP_cvt: case PTX_OP_cvta: case PTX_OP_neg: case PTX_OP_not:
		a = value(r, ptx_arg(r->m, s, 1), stmt, block);
		break;
	default:
		return map_unknown(&r->b, GSX_MAP_OPERATION);
	}
	switch (o->op) {
	case PTX_OP_mov:
		return ptx_arg(r->m, s, 0)->kind == PTX_REG ? a :
		       map_unknown(&r->b, GSX_MAP_OPERATION);
	case PTX_OP_cvta:
		return address_space(r, o, a);
	case PTX_OP_cvt:
		return conversion(r, o, reg, a);
	case PTX_OP_add:
		return plain(r, o, MAP_ADD, a, b);
	case PTX_OP_sub:
		return plain(r, o, MAP_SUB, a, b);
	case PTX_OP_neg:
		return plain(r, o, MAP_SUB, map_leaf(&r->b, MAP_CONST, 64, true, 0), a);
	case PTX_OP_div:
		return plain(r, o, MAP_DIV, a, b);
	case PTX_OP_rem:
		return plain(r, o, MAP_REM, a, b);
	case PTX_OP_min:
		return plain(r, o, MAP_MIN, a, b);
	case PTX_OP_max:
		return plain(r, o, MAP_MAX, a, b);
	case PTX_OP_shl:
		return plain(r, o, MAP_SHL, a, b);
	case PTX_OP_shr:
		return plain(r, o, MAP_SHR, a, b);
	case PTX_OP_mul:
		return product(r, o, a, b, 0, false);
	case PTX_OP_mad:
		return product(r, o, a, b, value(r, ptx_arg(r->m, s, 3), stmt, block), true);
	case PTX_OP_and:
		return logic(r, o, MAP_AND, MAP_BOTH, a, b);
	case PTX_OP_or:
		return logic(r, o, MAP_OR, MAP_EITHER, a, b);
	case PTX_OP_xor:
		return logic(r, o, MAP_XOR, MAP_UNKNOWN, a, b);
	default:	/* not */
		return o->type == PTX_T_PRED ? map_make(&r->b, MAP_NOT, 1, false, a, 0) :
		       map_unknown(&r->b, GSX_MAP_OPERATION);
	}
}

static uint32_t define(struct map_build *b, uint32_t stmt, uint32_t block, uint32_t reg)
{
	struct reader *r = b->arg;
	uint32_t line = b->line, node;

	b->line = r->m->stmts[stmt].line;
	node = computed(r, &r->m->stmts[stmt], block, reg);
	b->line = line;
	return node;
}

static uint32_t condition(struct map_build *b, uint32_t from, uint32_t to, bool *contrary)
{
	struct reader *r = b->arg;
	uint32_t last = cfg_last(&r->cfg, from);
	const struct ptx_stmt *s = last == PTX_NONE ? NULL : &r->m->stmts[last];
	const struct ptx_operand *p;

	if (!s || s->pred == PTX_NONE || ptx_opcode(r->m, s)->op == PTX_OP_brx)
		return MAP_NONE;
	p = &r->m->operands[s->pred];
	if (p->kind != PTX_REG || r->cfg.f.blocks[from].n_edges != 2)
		return MAP_NONE;
	*contrary = s->pred_not;
	if (to == from + 1)	/* it goes on behind the branch */
		*contrary = !*contrary;
	return map_value(b, p->ref - r->f->first_reg, last, from);
}

static void definitions(struct reader *r, const struct ptx_operand *to, uint32_t stmt, bool maybe,
			int depth)
{
	uint32_t i, type;

	if (to->kind == PTX_REG) {
		/* nobody's address, nor a condition that is followed */
		type = r->m->regs[to->ref].type;
		if (type >= PTX_T_F16 && type <= PTX_T_F64)
			return;
		map_def(&r->b, to->ref - r->f->first_reg, stmt,
			r->cfg.block_of[stmt - r->f->body], maybe);
		return;
	}
	for (i = 0; depth < 2 && i < to->n_children; i++)
		definitions(r, &r->m->operands[to->child + i], stmt, maybe, depth + 1);
}

static bool touches(const struct ptx_opcode *o)
{
	enum ptx_space space = o->space;

	return o->class & (PTX_LOAD | PTX_STORE | PTX_ASYNC | PTX_TEXTURE) &&
	       (space == PTX_SPACE_NONE || space == PTX_SPACE_GLOBAL || o->op == PTX_OP_cp);
}

/* A function that goes to no memory but its own, nor calls one that does. */
static bool is_quiet(struct reader *r, uint32_t function, int depth)
{
	const struct ptx_module *m = r->m;
	const struct ptx_function *f = &m->functions[function];
	uint32_t i;

	if (r->quiet[function])
		return r->quiet[function] == 1;
	r->quiet[function] = 2;		/* recursion is none */
	if (!f->has_body || depth > 20)
		return false;
	for (i = f->body; i < f->body + f->n_body; i++) {
		const struct ptx_stmt *s = &m->stmts[i];

		if (s->kind == PTX_UNKNOWN)
			return false;
		if (s->kind != PTX_INSTR)
			continue;
		if (touches(ptx_opcode(m, s)))
			return false;
		if (ptx_opcode(m, s)->op == PTX_OP_call &&
		    (ptx_call_target(m, s) == PTX_NONE ||
		     !is_quiet(r, ptx_call_target(m, s), depth + 1)))
			return false;
	}
	r->quiet[function] = 1;
	return true;
}

static uint32_t map_at(struct reader *r, uint32_t offset, uint32_t size)
{
	uint32_t i;

	for (i = 0; i < r->n_maps; i++)
		if (r->map[i].offset == offset && r->map[i].size == size)
			return i;
	if (!map_room(&r->b, &r->map, r->n_maps, &r->cap_maps, sizeof(*r->map)))
		return 0;
	r->map[r->n_maps] = (struct gsx_map){ .offset = offset, .size = size };
	return r->n_maps++;
}

static struct gsx_way *way(struct reader *r, uint32_t map, bool write)
{
	return write ? &r->map[map].writes : &r->map[map].reads;
}

struct access {
	const struct ptx_operand *at;
	uint32_t bytes;		/* 0: not known */
	bool read, write, atomic;
};

/* Through which parameter; of one at no certain place */
static void unknown_base(struct reader *r, const struct access *a, uint32_t line)
{
	if (a->write && !r->unknown_write)
		r->unknown_write = line;
	if (a->read && !r->unknown_read)
		r->unknown_read = line;
}

static void go(struct reader *r, const struct access *a, uint32_t stmt, uint32_t block, bool write,
	       const struct map_place *to)
{
	const struct ptx_stmt *s = &r->m->stmts[stmt];
	uint32_t line = s->line, map = map_at(r, to->offset, 8), pred = MAP_NONE;
	enum gsx_map_reason why;

	if (r->b.err)
		return;
	if (a->atomic) {
		worsen(r, way(r, map, write), write ? GSX_MAP_SHARED : GSX_MAP_UNPROVEN,
		       GSX_MAP_ATOMICS, line);
		return;
	}
	if (way(r, map, write)->class > GSX_MAP_AFFINE)
		return;
	if (s->pred != PTX_NONE)
		pred = map_value(&r->b, r->m->operands[s->pred].ref - r->f->first_reg, stmt, block);
	why = a->bytes ? map_access(&r->b, map, write, to->rest, a->bytes, block, pred, s->pred_not,
				    &line) : GSX_MAP_OPERATION;
	worsen(r, way(r, map, write), why ? GSX_MAP_UNPROVEN : GSX_MAP_AFFINE, why,
	       line ? line : s->line);
	/* what isn't followed may be the pointer, and this its index */
	if (why && !to->certain)
		unknown_base(r, &(struct access){ .read = !write, .write = write }, s->line);
}

static void access(struct reader *r, const struct access *a, uint32_t stmt)
{
	const struct ptx_stmt *s = &r->m->stmts[stmt];
	uint32_t block = r->cfg.block_of[stmt - r->f->body], node;
	const struct ptx_operand *at;
	struct map_place to;

	if (r->b.down.up && r->b.down.up[block] == MAP_NONE)
		return;		/* nobody comes there */
	if (!a->at || a->at->kind != PTX_ADDRESS || a->at->n_children != 1) {
		unknown_base(r, a, s->line);
		return;
	}
	at = &r->m->operands[a->at->child];
	if (at->kind == PTX_VARIABLE && is_param(r, at->ref))
		return;
	node = value(r, at, stmt, block);
	if (at->kind == PTX_REG && at->imm)
		node = map_make(&r->b, MAP_ADD, 64, true, node,
				map_leaf(&r->b, MAP_CONST, 64, true, at->imm));
	map_split(&r->b, node, &to);
	switch (to.kind) {
	case MAP_BASE_NEAR:
		break;
	case MAP_BASE_VARIABLE:
		if (a->write)
			worsen(r, &r->maps->whole, GSX_MAP_SHARED, GSX_MAP_VARIABLE, s->line);
		if (a->read)
			worsen(r, &r->maps->elsewhere, GSX_MAP_UNPROVEN, GSX_MAP_VARIABLE, s->line);
		break;
	case MAP_BASE_PARAM:
		if (a->write)
			go(r, a, stmt, block, true, &to);
		if (a->read)
			go(r, a, stmt, block, false, &to);
		break;
	default:
		unknown_base(r, a, s->line);
	}
}

static void other(struct reader *r, const struct ptx_opcode *o, uint32_t line)
{
	if (o->class & PTX_TEXTURE) {
		if (o->op == PTX_OP_sust || o->op == PTX_OP_sured)
			worsen(r, &r->maps->whole, GSX_MAP_SHARED, GSX_MAP_SURFACE, line);
		if (o->op != PTX_OP_sust && o->op != PTX_OP_txq && o->op != PTX_OP_suq &&
		    o->op != PTX_OP_istypep)
			worsen(r, &r->maps->elsewhere, GSX_MAP_UNPROVEN, GSX_MAP_SURFACE, line);
		return;
	}
	if (o->class & PTX_STORE)
		worsen(r, &r->maps->whole, GSX_MAP_SHARED, GSX_MAP_OPERATION, line);
	if (o->class & PTX_LOAD)
		worsen(r, &r->maps->elsewhere, GSX_MAP_UNPROVEN, GSX_MAP_OPERATION, line);
}

static void instruction(struct reader *r, uint32_t stmt)
{
	const struct ptx_stmt *s = &r->m->stmts[stmt];
	const struct ptx_opcode *o = ptx_opcode(r->m, s);
	struct access a = { 0 };
	const struct ptx_operand *v;
	uint32_t target;

	if (o->op == PTX_OP_call) {
		target = ptx_call_target(r->m, s);
		if (target != PTX_NONE && is_quiet(r, target, 0))
			return;
		worsen(r, &r->maps->whole, GSX_MAP_SHARED, GSX_MAP_CALL, s->line);
		worsen(r, &r->maps->elsewhere, GSX_MAP_UNPROVEN, GSX_MAP_CALL, s->line);
		return;
	}
	if (!touches(o))
		return;
	switch (o->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
		a.at = ptx_arg(r->m, s, 1);
		v = ptx_arg(r->m, s, 0);
		a.read = true;
		break;
	case PTX_OP_st:
		a.at = ptx_arg(r->m, s, 0);
		v = ptx_arg(r->m, s, 1);
		a.write = true;
		break;
	case PTX_OP_atom:
	case PTX_OP_red:
		a.at = ptx_arg(r->m, s, o->op == PTX_OP_atom);
		a.read = a.write = a.atomic = true;
		access(r, &a, stmt);
		return;
	case PTX_OP_wmma:
		a.write = ptx_has_mod(o, "store");
		a.read = ptx_has_mod(o, "load");
		a.at = ptx_arg(r->m, s, a.read);
		if (a.read || a.write)
			access(r, &a, stmt);
		return;
	case PTX_OP_cp:
		if (!ptx_has_mod(o, "async") || ptx_has_mod(o, "bulk")) {
			other(r, o, s->line);
			return;
		}
		if (!(o->class & PTX_LOAD))	/* waiting for them */
			return;
		a.at = ptx_arg(r->m, s, 1);
		v = ptx_arg(r->m, s, 2);
		a.read = true;
		a.bytes = v && v->kind == PTX_INT && v->imm <= 16 ? v->imm : 0;
		access(r, &a, stmt);
		return;
	default:
		other(r, o, s->line);
		return;
	}
	a.bytes = o->bytes;
	if (v && v->kind == PTX_VECTOR)
		a.bytes *= v->n_children;
	access(r, &a, stmt);
}

/* Not at a place of one parameter that is known: any of those that it may come from. */
static void spread_out(struct reader *r, const struct gsx_kernel *k, bool write, uint32_t line)
{
	bool any = k->flags & (write ? GSX_WRITES_ANY : GSX_READS_ANY);
	struct gsx_way *w = write ? &r->maps->whole : &r->maps->elsewhere;
	enum gsx_map_class class = write ? GSX_MAP_SHARED : GSX_MAP_UNPROVEN;
	uint32_t i, map, flag = write ? GSX_PARAM_WRITTEN : GSX_PARAM_READ;

	if (any)
		worsen(r, w, class, GSX_MAP_POINTER, line);
	for (i = 0; i < r->m->n_vars && !any; i++)
		if (r->m->vars[i].function == PTX_NONE && r->m->vars[i].space == PTX_SPACE_GLOBAL)
			worsen(r, w, class, GSX_MAP_VARIABLE, line);
	for (i = 0; i < k->n_params; i++) {
		if (!(k->params[i].flags & flag) || k->params[i].size < 8)
			continue;
		map = map_at(r, k->params[i].offset, k->params[i].size);
		if (!r->b.err)
			worsen(r, way(r, map, write), GSX_MAP_UNPROVEN, GSX_MAP_BASE, line);
	}
}

/* In a struct by value each pointer has a map of its own, unless it isn't known which it is. */
static void settle(struct reader *r)
{
	struct gsx_map *a, *b;
	uint32_t i, k;

	for (i = 0; i < r->n_maps; i++) {
		a = &r->map[i];
		for (k = 0; k < r->n_maps && a->size > 8; k++) {
			b = &r->map[k];
			if (b == a || b->offset < a->offset || b->offset >= a->offset + a->size)
				continue;
			if (a->writes.class > b->writes.class)
				b->writes = a->writes;
			if (a->reads.class > b->reads.class)
				b->reads = a->reads;
		}
	}
	for (i = 0; i < r->n_maps; i++) {
		a = &r->map[i];
		if ((a->writes.class == GSX_MAP_UNPROVEN && a->reads.class != GSX_MAP_NEVER) ||
		    (a->writes.class == GSX_MAP_AFFINE && a->reads.class == GSX_MAP_UNPROVEN))
			worsen(r, &a->writes, GSX_MAP_SHARED, GSX_MAP_READ, a->reads.line ?
			       a->reads.line : a->writes.line);
	}
}

static void whole(struct reader *r, const struct function_facts *facts)
{
	static const struct { uint8_t fact, reason; } rules[] = {
		{ F_GRID_SYNC, GSX_MAP_WAITS }, { F_CLUSTER, GSX_MAP_WAITS },
		{ F_WAITS, GSX_MAP_WAITS }, { F_LOOKS, GSX_MAP_WAITS },
		{ F_UNKNOWN, GSX_MAP_FLOW },
	};
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (facts->all & FACT(rules[i].fact))
			worsen(r, &r->maps->whole, GSX_MAP_SHARED, rules[i].reason,
			       facts->line[rules[i].fact]);
	if (facts->all & FACT(F_UNKNOWN))
		worsen(r, &r->maps->elsewhere, GSX_MAP_UNPROVEN, GSX_MAP_FLOW,
		       facts->line[F_UNKNOWN]);
}

static void *keep(struct reader *r, const void *from, size_t n, size_t size)
{
	void *to = pool_get(r->j->pool, (n + 1) * size);

	if (!to)
		r->b.err = -ENOMEM;
	else if (n)
		memcpy(to, from, n * size);
	return to;
}

static void keep_all(struct reader *r)
{
	struct map_code *code = keep(r, NULL, 0, sizeof(*code));

	if (r->b.err)
		return;
	code->node = keep(r, r->b.node, r->b.n_nodes, sizeof(*code->node));
	code->condition = keep(r, r->b.cond, r->b.n_conds, sizeof(*code->condition));
	code->access = keep(r, r->b.access, r->b.n_accesses, sizeof(*code->access));
	code->n_nodes = r->b.n_nodes;
	code->n_conditions = r->b.n_conds;
	code->n_accesses = r->b.n_accesses;
	r->maps->code = code;
	r->maps->map = keep(r, r->map, r->n_maps, sizeof(*r->map));
	r->maps->n = r->n_maps;
}

static int graph(struct reader *r, struct map_graph *g)
{
	uint32_t i;
	int err = cfg_build(&r->cfg, r->m, r->f, NULL);

	if (err)
		return err;
	r->blocks = calloc((size_t)r->cfg.f.n + 1, sizeof(*r->blocks));
	r->quiet = calloc((size_t)r->m->n_functions + 1, 1);
	if (!r->blocks || !r->quiet)
		return -ENOMEM;
	for (i = 0; i <= r->cfg.f.n; i++) {
		const struct flow_block *b = &r->cfg.f.blocks[i];

		r->blocks[i] = (struct map_block){ b->edge, b->n_edges, b->in, b->n_in };
	}
	*g = (struct map_graph){ r->cfg.f.n, r->blocks, r->cfg.f.edges, r->cfg.f.ins };
	return 0;
}

static void read_all(struct reader *r, const struct gsx_kernel *k,
		     const struct function_facts *facts)
{
	const struct ptx_function *f = r->f;
	uint32_t i;

	for (i = f->body; i < f->body + f->n_body; i++) {
		const struct ptx_stmt *s = &r->m->stmts[i];
		const struct ptx_opcode *o = s->kind == PTX_INSTR ? ptx_opcode(r->m, s) : NULL;

		if (o && s->n_args && (o->results || o->op == PTX_OP_call))
			definitions(r, &r->m->operands[s->args], i, s->pred != PTX_NONE, 0);
	}
	if (r->cfg.unknown_line)
		r->b.lost = true;
	if (!r->b.lost && !r->b.err)
		map_order(&r->b);
	for (i = f->body; i < f->body + f->n_body && !r->b.err; i++)
		if (r->m->stmts[i].kind == PTX_INSTR)
			instruction(r, i);
	whole(r, facts);
	if (r->unknown_write)
		spread_out(r, k, true, r->unknown_write);
	if (r->unknown_read)
		spread_out(r, k, false, r->unknown_read);
	settle(r);
}

int maps_find(struct job *j, uint32_t function, struct gsx_kernel *k)
{
	struct reader r = { .j = j, .m = j->m, .f = &j->m->functions[function], .maps = &k->maps };
	struct map_graph g;
	int err;

	if (!r.f->n_body || j->m->address_size != 64) {
		worsen(&r, &k->maps.whole, GSX_MAP_SHARED, GSX_MAP_OPERATION, r.f->line);
		return r.b.err;
	}
	err = graph(&r, &g);
	if (!err) {
		map_begin(&r.b, &g, r.f->n_regs);
		r.b.define = define;
		r.b.condition = condition;
		r.b.arg = &r;
		r.b.last_block = MAP_NONE;
		read_all(&r, k, &j->facts.f[function]);
		keep_all(&r);
		err = r.b.err;
		map_end(&r.b);
	}
	cfg_free(&r.cfg);
	free(r.blocks);
	free(r.quiet);
	free(r.map);
	return err;
}
