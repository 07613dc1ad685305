// SPDX-License-Identifier: MIT
/* From an opcode's text to the function that does it, with its types and modifiers. */
#include <string.h>
#include "exec.h"

static const struct { const char *name; uint16_t flag; } flag_names[] = {
	{ "sat", F_SAT }, { "satfinite", F_SAT }, { "ftz", F_FTZ }, { "hi", F_HI },
	{ "wide", F_WIDE }, { "cc", F_CC }, { "wrap", F_WRAP }, { "shiftamt", F_WRAP },
	{ "r", F_RIGHT }, { "uni", F_UNI }, { "NaN", F_NAN }, { "abs", F_ABS },
	{ "relu", F_RELU }, { "to", F_TO },
};

static const struct { const char *name; uint8_t rnd; } rnd_names[] = {
	{ "rn", R_N }, { "rz", R_Z }, { "rm", R_M }, { "rp", R_P }, { "rni", R_NI },
	{ "rzi", R_ZI }, { "rmi", R_MI }, { "rpi", R_PI }, { "rna", R_A },
};

struct choice { const char *name; uint8_t value; };

static const struct choice compares[] = {
	{ "eq", C_EQ }, { "ne", C_NE }, { "lt", C_LT }, { "le", C_LE }, { "gt", C_GT },
	{ "ge", C_GE }, { "lo", C_LTU }, { "ls", C_LEU }, { "hi", C_GTU }, { "hs", C_GEU },
	{ "equ", C_EQU }, { "neu", C_NEU }, { "ltu", C_LTU }, { "leu", C_LEU }, { "gtu", C_GTU },
	{ "geu", C_GEU }, { "num", C_NUM }, { "nan", C_NAN }, { NULL, 0 },
};
static const struct choice bools[] = {
	{ "and", B_AND }, { "or", B_OR }, { "xor", B_XOR }, { "popc", B_POPC }, { NULL, 0 },
};
static const struct choice atoms[] = {
	{ "add", A_ADD }, { "inc", A_INC }, { "dec", A_DEC }, { "min", A_MIN }, { "max", A_MAX },
	{ "and", A_AND }, { "or", A_OR }, { "xor", A_XOR }, { "exch", A_EXCH }, { "cas", A_CAS },
	{ NULL, 0 },
};
static const struct choice shuffles[] = {
	{ "idx", S_IDX }, { "up", S_UP }, { "down", S_DOWN }, { "bfly", S_BFLY }, { NULL, 0 },
};
static const struct choice votes[] = {
	{ "all", V_ALL }, { "any", V_ANY }, { "uni", V_UNI }, { "ballot", V_BALLOT }, { NULL, 0 },
};
static const struct choice permutes[] = {
	{ "f4e", P_F4E }, { "b4e", P_B4E }, { "rc8", P_RC8 }, { "ecl", P_ECL }, { "ecr", P_ECR },
	{ "rc16", P_RC16 }, { NULL, 0 },
};
static const struct choice tests[] = {
	{ "finite", 0 }, { "infinite", 1 }, { "number", 2 }, { "notanumber", 3 }, { "normal", 4 },
	{ "subnormal", 5 }, { NULL, 0 },
};

static bool is(const struct ptx_str *s, const char *name)
{
	return strlen(name) == s->len && !memcmp(s->s, name, s->len);
}

/* The first modifier that is in the list; false: none is. */
static bool chosen(const struct ptx_opcode *o, const struct choice *list, uint8_t *value)
{
	uint32_t k;

	for (k = 0; k < o->n_mods; k++) {
		const struct choice *c;

		for (c = list; c->name; c++)
			if (is(&o->mod[k], c->name)) {
				*value = c->value;
				return true;
			}
	}
	return false;
}

static void modifiers(struct insn *i, const struct ptx_opcode *o)
{
	uint32_t k, n, types = 0, t;

	i->rnd = R_NONE;
	i->space = o->space;
	for (k = 0; k < o->n_mods; k++) {
		for (n = 0; n < sizeof(flag_names) / sizeof(*flag_names); n++)
			if (is(&o->mod[k], flag_names[n].name))
				i->flags |= flag_names[n].flag;
		for (n = 0; n < sizeof(rnd_names) / sizeof(*rnd_names); n++)
			if (is(&o->mod[k], rnd_names[n].name))
				i->rnd = rnd_names[n].rnd;
		t = ptx_type_of(o->mod[k].s, o->mod[k].len);
		if (t == PTX_T_NONE)
			continue;
		if (types++ == 0)
			i->type = t;
		else
			i->stype = t;
	}
	if (types == 1)
		i->stype = i->type;
}

static bool half2_type(unsigned int t)
{
	return t == PTX_T_F16X2 || t == PTX_T_BF16X2;
}

/* One function for integers, one for floats, one for pairs of halves. */
static bool arithmetic(struct insn *i, const struct ptx_opcode *o, exec_fn ints, exec_fn floats)
{
	if (half2_type(i->type)) {
		i->op2 = o->op;
		i->fn = exec_half2;
	} else {
		i->fn = is_float(i->type) ? floats : ints;
	}
	/* of two types (add.f32.f16) they aren't known */
	return i->fn && i->type != PTX_T_NONE && i->type == i->stype;
}

/* min and max: two inputs; of floats three, unless it's about their magnitudes */
static bool smaller(const struct insn *i)
{
	return i->n == 3 || (i->n == 4 && i->type == PTX_T_F32 && !(i->flags & F_ABS));
}

static bool warp_op(struct insn *i, const struct ptx_opcode *o)
{
	switch (o->op) {
	case PTX_OP_shfl:
		i->fn = exec_shfl;
		return i->n == 5 && chosen(o, shuffles, &i->op);
	case PTX_OP_vote:
		i->fn = exec_vote;
		return i->n == 3 && chosen(o, votes, &i->op);
	case PTX_OP_match:
		i->fn = exec_match;
		return i->n == 3 && chosen(o, votes, &i->op);
	case PTX_OP_redux:
		i->fn = exec_redux;
		return i->n == 3 && chosen(o, atoms, &i->op) && !is_float(i->type);
	case PTX_OP_elect:
		i->fn = exec_elect;
		return i->n == 2 && i->a[0].kind == K_VEC;
	default:
		i->fn = exec_activemask;
		return true;
	}
}

static bool barrier_op(struct insn *i, const struct ptx_opcode *o)
{
	if (ptx_has_mod(o, "warp")) {
		i->fn = exec_warpsync;
		return i->n == 1;
	}
	if (ptx_has_mod(o, "cluster")) {
		i->fn = ptx_has_mod(o, "wait") ? exec_cluster_wait : exec_cluster_arrive;
		return true;
	}
	if (ptx_has_mod(o, "arrive")) {
		i->fn = exec_arrive;
		i->flags |= F_COUNT;
		return i->n == 2;
	}
	if (ptx_has_mod(o, "red")) {
		i->fn = exec_barred;
		i->flags |= i->n == 4 ? F_COUNT : 0;
		return (i->n == 3 || i->n == 4) && chosen(o, bools, &i->op);
	}
	i->fn = exec_bar;
	i->flags |= i->n == 2 ? F_COUNT : 0;
	return (i->n == 1 || i->n == 2) && ptx_has_mod(o, "sync");
}

static bool memory_op(struct insn *i, const struct ptx_opcode *o)
{
	switch (o->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
		i->fn = exec_ld;
		return i->type != PTX_T_NONE && i->type != PTX_T_B128;
	case PTX_OP_st:
		i->fn = exec_st;
		return i->type != PTX_T_NONE && i->type != PTX_T_B128 && !ptx_has_mod(o, "async");
	case PTX_OP_atom:
	case PTX_OP_red:
		i->fn = exec_atom;
		i->flags |= o->op == PTX_OP_red ? F_NORET : 0;
		return chosen(o, atoms, &i->op) && i->type != PTX_T_NONE && i->type != PTX_T_B128 &&
			i->a[0].kind != K_VEC && i->a[1].kind != K_VEC && !ptx_has_mod(o, "async");
	case PTX_OP_cp:
		i->n -= ptx_has_mod(o, "L2::cache_hint");	/* the policy stands last */
		i->fn = i->n > 2 ? exec_copy : exec_nothing;
		return ptx_has_mod(o, "async") && i->n <= 4;
	case PTX_OP_cvta:
		i->fn = exec_cvta;
		return i->n == 2;
	case PTX_OP_isspacep:
		i->fn = exec_isspacep;
		i->op = ptx_has_mod(o, "shared::cluster");
		return i->n == 2;
	case PTX_OP_mapa:
		i->fn = exec_mapa;
		return i->n == 3;
	case PTX_OP_getctarank:
		i->fn = exec_getctarank;
		return i->n == 2;
	case PTX_OP_alloca:
		i->fn = exec_alloca;
		return i->n >= 2;
	case PTX_OP_stacksave:
		i->fn = exec_stacksave;
		return true;
	case PTX_OP_stackrestore:
		i->fn = exec_stackrestore;
		return true;
	default:	/* fences, prefetches, hints: memory is coherent here */
		i->fn = exec_nothing;
		return true;
	}
}

static bool float_only(struct insn *i, const struct ptx_opcode *o, exec_fn fn)
{
	if (half2_type(i->type) && (o->op == PTX_OP_ex2 || o->op == PTX_OP_tanh)) {
		i->op2 = o->op;
		i->fn = exec_half2;
		return true;
	}
	i->fn = fn;
	return is_float(i->type) && !half2_type(i->type);
}

static bool convert(struct insn *i, const struct ptx_opcode *o)
{
	if (ptx_has_mod(o, "pack") || i->type == PTX_T_NONE || i->stype == PTX_T_NONE ||
	    o->n_mods < 2)
		return false;
	if (ptx_has_mod(o, "satfinite")) {	/* to the largest number, not to 1 */
		i->flags &= ~F_SAT;
		i->op = 1;
	}
	if (half2_type(i->type)) {
		i->fn = exec_cvt2;
		return i->n == 3 && i->stype == PTX_T_F32;
	}
	i->fn = exec_cvt;
	return i->n == 2 && !half2_type(i->stype);
}

static bool move(struct insn *i)
{
	if (i->a[0].kind == K_VEC && i->a[1].kind == K_VEC)
		return false;
	i->fn = i->a[0].kind == K_VEC ? exec_unpack : i->a[1].kind == K_VEC ? exec_pack : exec_mov;
	return i->n == 2 && i->type != PTX_T_B128;
}

static bool compare_op(struct insn *i, const struct ptx_opcode *o)
{
	i->fn = o->op == PTX_OP_setp ? exec_setp : exec_set;
	if (!chosen(o, compares, &i->op))
		return false;
	i->flags &= ~F_HI;	/* here .hi is a comparison */
	if (i->n == 4 && !chosen(o, bools, &i->op2))
		return false;
	if (half2_type(i->type) && (o->op == PTX_OP_set || i->a[0].kind != K_VEC))
		return false;
	return i->type != PTX_T_NONE && (i->n == 3 || i->n == 4);
}

static bool bit_op(struct insn *i, const struct ptx_opcode *o)
{
	static const struct { uint16_t op; uint8_t n; exec_fn fn; } table[] = {
		{ PTX_OP_mul24, 3, exec_mul24 }, { PTX_OP_mad24, 4, exec_mad24 },
		{ PTX_OP_sad, 4, exec_sad }, { PTX_OP_rem, 3, exec_rem },
		{ PTX_OP_popc, 2, exec_popc }, { PTX_OP_clz, 2, exec_clz },
		{ PTX_OP_bfind, 2, exec_bfind }, { PTX_OP_fns, 4, exec_fns },
		{ PTX_OP_brev, 2, exec_brev }, { PTX_OP_bfe, 4, exec_bfe },
		{ PTX_OP_bfi, 5, exec_bfi }, { PTX_OP_bmsk, 3, exec_bmsk },
		{ PTX_OP_szext, 3, exec_szext }, { PTX_OP_dp4a, 4, exec_dp4a },
		{ PTX_OP_dp2a, 4, exec_dp2a }, { PTX_OP_and, 3, exec_and },
		{ PTX_OP_or, 3, exec_or }, { PTX_OP_xor, 3, exec_xor }, { PTX_OP_not, 2, exec_not },
		{ PTX_OP_cnot, 2, exec_cnot }, { PTX_OP_lop3, 5, exec_lop3 },
		{ PTX_OP_shf, 4, exec_shf }, { PTX_OP_shl, 3, exec_shl },
		{ PTX_OP_shr, 3, exec_shr },
		{ PTX_OP_selp, 4, exec_selp }, { PTX_OP_slct, 4, exec_slct },
		{ PTX_OP_copysign, 3, exec_copysign },
	};
	size_t k;

	for (k = 0; k < sizeof(table) / sizeof(*table); k++) {
		if (table[k].op != o->op)
			continue;
		i->fn = table[k].fn;
		return i->n == table[k].n && i->type != PTX_T_NONE && i->type != PTX_T_B128;
	}
	if (o->op == PTX_OP_prmt) {
		i->fn = exec_prmt;
		chosen(o, permutes, &i->op);
		return i->n == 4;
	}
	return false;
}

/* What neither waits nor branches may be stepped without a look around. */
static bool simple(exec_fn fn)
{
	return fn != exec_bra && fn != exec_brx && fn != exec_ret && fn != exec_exit &&
		fn != exec_trap && fn != exec_call && fn != exec_bar && fn != exec_arrive &&
		fn != exec_barred && fn != exec_cluster_arrive && fn != exec_cluster_wait &&
		fn != exec_warpsync && fn != exec_shfl && fn != exec_vote && fn != exec_match &&
		fn != exec_redux && fn != exec_elect && fn != exec_mma &&
		fn != exec_wmma_load && fn != exec_wmma_store && fn != exec_ldmatrix &&
		fn != exec_stmatrix && fn != exec_movmatrix;
}

/* Forms that are done elsewhere although the opcode is a plain one. */
static bool special_form(const struct ptx_opcode *o)
{
	return ptx_has_mod(o, "u16x2") || ptx_has_mod(o, "s16x2") ||
		(o->op == PTX_OP_cp && (ptx_has_mod(o, "bulk") || ptx_has_mod(o, "mbarrier")));
}

static bool pick(struct insn *i, const struct ptx_opcode *o)
{
	if (special_form(o))
		return decode_unit(i, o);
	switch (o->op) {
	case PTX_OP_addc: i->flags |= F_CARRY; i->fn = exec_add; return i->n == 3;
	case PTX_OP_subc: i->flags |= F_CARRY; i->fn = exec_sub; return i->n == 3;
	case PTX_OP_madc: i->flags |= F_CARRY; i->fn = exec_mad; return i->n == 4;
	case PTX_OP_tex: case PTX_OP_tld4: case PTX_OP_txq: case PTX_OP_suq: case PTX_OP_suld:
	case PTX_OP_sust: case PTX_OP_sured: case PTX_OP_mma: case PTX_OP_wmma:
	case PTX_OP_ldmatrix: case PTX_OP_stmatrix: case PTX_OP_movmatrix: case PTX_OP_mbarrier:
	case PTX_OP_vadd2 ... PTX_OP_vset4: return decode_unit(i, o);
	case PTX_OP_add: return i->n == 3 && arithmetic(i, o, exec_add, exec_fadd);
	case PTX_OP_sub: return i->n == 3 && arithmetic(i, o, exec_sub, exec_fsub);
	case PTX_OP_mul: return i->n == 3 && arithmetic(i, o, exec_mul, exec_fmul);
	case PTX_OP_mad: return i->n == 4 && arithmetic(i, o, exec_mad, exec_ffma);
	case PTX_OP_fma: return i->n == 4 && arithmetic(i, o, NULL, exec_ffma);
	case PTX_OP_div: return i->n == 3 && arithmetic(i, o, exec_div, exec_fdiv);
	case PTX_OP_min: return smaller(i) && arithmetic(i, o, exec_min, exec_fmin);
	case PTX_OP_max: return smaller(i) && arithmetic(i, o, exec_max, exec_fmax);
	case PTX_OP_abs:
		i->fn = is_float(i->type) ? exec_fabs : exec_abs;
		return i->n == 2;
	case PTX_OP_neg:
		i->fn = is_float(i->type) ? exec_fneg : exec_neg;
		return i->n == 2;
	case PTX_OP_rcp: return float_only(i, o, exec_frcp);
	case PTX_OP_sqrt: return float_only(i, o, exec_fsqrt);
	case PTX_OP_rsqrt: return float_only(i, o, exec_frsqrt);
	case PTX_OP_sin: return float_only(i, o, exec_fsin);
	case PTX_OP_cos: return float_only(i, o, exec_fcos);
	case PTX_OP_lg2: return float_only(i, o, exec_flg2);
	case PTX_OP_ex2: return float_only(i, o, exec_fex2);
	case PTX_OP_tanh: return float_only(i, o, exec_ftanh);
	case PTX_OP_testp: i->fn = exec_testp; return chosen(o, tests, &i->op);
	case PTX_OP_set:
	case PTX_OP_setp: return compare_op(i, o);
	case PTX_OP_mov: return move(i);
	case PTX_OP_cvt: return convert(i, o);
	case PTX_OP_ld: case PTX_OP_ldu: case PTX_OP_st: case PTX_OP_atom: case PTX_OP_red:
	case PTX_OP_cp: case PTX_OP_cvta: case PTX_OP_isspacep: case PTX_OP_mapa:
	case PTX_OP_getctarank: case PTX_OP_alloca: case PTX_OP_stacksave:
	case PTX_OP_stackrestore: case PTX_OP_membar: case PTX_OP_fence: case PTX_OP_prefetch:
	case PTX_OP_prefetchu: case PTX_OP_applypriority: case PTX_OP_discard:
	case PTX_OP_nanosleep: case PTX_OP_pmevent: case PTX_OP_griddepcontrol:
	case PTX_OP_createpolicy: case PTX_OP_brkpt: return memory_op(i, o);
	case PTX_OP_shfl: case PTX_OP_vote: case PTX_OP_match: case PTX_OP_redux:
	case PTX_OP_elect: case PTX_OP_activemask: return warp_op(i, o);
	case PTX_OP_bar: case PTX_OP_barrier: return barrier_op(i, o);
	case PTX_OP_bra: i->fn = exec_bra; return true;
	case PTX_OP_brx: i->fn = exec_brx; return true;
	case PTX_OP_ret: i->fn = exec_ret; return true;
	case PTX_OP_exit: i->fn = exec_exit; return true;
	case PTX_OP_trap: i->fn = exec_trap; return true;
	case PTX_OP_call: i->fn = exec_call; return true;
	default: return bit_op(i, o);
	}
}

bool decode_op(struct insn *i, const struct ptx_opcode *o)
{
	modifiers(i, o);
	if (!pick(i, o))
		return false;
	if (simple(i->fn))
		i->flags |= F_SIMPLE;
	return true;
}
