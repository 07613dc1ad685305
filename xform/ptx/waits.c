// SPDX-License-Identifier: MIT
/*
 * Loops that wait for other blocks, F_WAITS: xform/flow says which, and here it is told what
 * the instructions are. A part of a grid must not wait so for the rest of it.
 *
 * Made to see others' writes are the loads that looks_at_memory() knows, atomics, and in a
 * function with a fence (or nanosleep) every load of global memory. A call that does such
 * a thing may give what it saw. Shared, local and parameter memory are taken as a whole
 * each, as unoptimised code keeps everything there and one thread may look for all; global
 * memory too, in a function with a loop round a look of the first kind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define MOST_STEPS	(2 * FLOW_STEPS)	/* of a module; then functions are taken to wait */

/* Kinds of memory. What has no space of its own may be anywhere. */
enum { SHARED = 1, LOCAL = 2, PARAM = 4, ANYWHERE = 8, CONSTANT = 0x10 };

/* An operand that isn't a register, as a value: those of one key are alike. */
struct key {
	uint64_t value;
	uint32_t kind;		/* enum ptx_kind */
};

struct look {
	struct cfg_teller t;
	const struct module_facts *mf;
	const struct ptx_module *m;
	const struct ptx_function *f;
	struct key *keys;
	uint32_t n_keys;
	bool fences, far;
};

static bool is_seen_by_others(const struct ptx_opcode *o)
{
	return o->space == PTX_SPACE_NONE || o->space == PTX_SPACE_GLOBAL;
}

bool looks_at_memory(const struct ptx_opcode *o)
{
	if (!is_seen_by_others(o))
		return false;
	if (o->op == PTX_OP_ld || o->op == PTX_OP_multimem)
		return ptx_has_mod(o, "volatile") || ptx_has_mod(o, "relaxed") ||
		       ptx_has_mod(o, "acquire") || ptx_has_mod(o, "mmio") ||
		       ptx_has_mod(o, "cv");
	return o->op == PTX_OP_atom && (ptx_has_mod(o, "cas") || ptx_has_mod(o, "exch"));
}

static uint32_t facts_of_call(const struct look *k, const struct ptx_stmt *s)
{
	uint32_t i = ptx_call_target(k->m, s);

	return k->mf->f[i == PTX_NONE ? k->mf->indirect : i].all;
}

/* What a number is in as many bits as the instruction has; 0 bytes: not known, all. */
static struct key key_of(const struct ptx_operand *o, uint32_t bytes)
{
	struct key key = { o->imm, PTX_INT };

	if (o->kind == PTX_VARIABLE || o->kind == PTX_SPECIAL)
		return (struct key){ o->ref | (uint64_t)o->component << 32, o->kind };
	if (bytes && bytes < 8)
		key.value &= ((uint64_t)1 << 8 * bytes) - 1;
	return key;
}

static int compare(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* One whose value is all that it says; those that change by themselves aren't. */
static bool is_constant(const struct ptx_operand *o)
{
	switch (o->kind) {
	case PTX_SPECIAL:
		return o->ref == PTX_SR_tid || o->ref == PTX_SR_ntid || o->ref == PTX_SR_ctaid ||
		       o->ref == PTX_SR_nctaid;
	case PTX_VARIABLE:
		return !o->imm;
	default:
		return o->kind == PTX_INT || o->kind == PTX_F32 || o->kind == PTX_F64;
	}
}

static uint32_t reg_of(const struct look *k, const struct ptx_operand *o)
{
	uint32_t i = o->ref - k->f->first_reg;

	return o->kind == PTX_REG && o->ref >= k->f->first_reg && i < k->f->n_regs ? i : FLOW_NONE;
}

/* FLOW_NONE: it is no whole register, and none of the constants. */
static uint32_t value_of(const struct look *k, const struct ptx_operand *o, uint32_t bytes)
{
	struct key key, *found;

	if (o->not || o->neg || o->select)
		return FLOW_NONE;
	if (o->kind == PTX_REG)
		return o->component || o->imm ? FLOW_NONE : reg_of(k, o);
	if (!is_constant(o))
		return FLOW_NONE;
	key = key_of(o, bytes);
	found = bsearch(&key, k->keys, k->n_keys, sizeof(key), compare);
	return found ? k->f->n_regs + (found - k->keys) : FLOW_NONE;
}

static void use_all(const struct look *k, struct flow *f, const struct ptx_operand *o, int depth)
{
	uint32_t i;

	if (reg_of(k, o) != FLOW_NONE)
		flow_use(f, reg_of(k, o));
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		use_all(k, f, &k->m->operands[o->child + i], depth + 1);
}

static void def_all(const struct look *k, struct flow *f, const struct ptx_operand *o, int depth)
{
	uint32_t i;

	if (reg_of(k, o) != FLOW_NONE)
		flow_def(f, reg_of(k, o));
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		def_all(k, f, &k->m->operands[o->child + i], depth + 1);
}

static bool is_float(enum ptx_type t)
{
	return t >= PTX_T_F16 && t <= PTX_T_F64;
}

/* An atomic or a reduction on memory that others see. */
static uint32_t atomic_flags(const struct look *k, const struct ptx_stmt *s,
			     const struct ptx_opcode *o, struct flow_op *op)
{
	uint32_t polls = o->op == PTX_OP_atom ? FLOW_POLLS : 0, bytes = o->bytes;
	const struct ptx_operand *by = ptx_arg(k->m, s, o->results + 1);
	uint64_t number, sign = (uint64_t)1 << (8 * bytes - 1) % 64;

	if (ptx_has_mod(o, "or") || ptx_has_mod(o, "max"))
		return polls;
	if (ptx_has_mod(o, "cas") && s->n_args == 4 && s->pred == PTX_NONE) {
		op->expects = value_of(k, ptx_arg(k->m, s, 2), bytes);
		op->puts = value_of(k, ptx_arg(k->m, s, 3), bytes);
		return FLOW_SWAPS;
	}
	if (!ptx_has_mod(o, "add") || !by)
		return polls | FLOW_GIVES;
	if (by->kind != PTX_INT || is_float(o->type) || !bytes)
		return polls;
	number = key_of(by, bytes).value;
	if (!number || s->pred != PTX_NONE)
		return polls | (number & sign ? FLOW_GIVES : 0);
	op->step = number & sign ? -1 : 1;
	return FLOW_COUNTS | (number & sign ? FLOW_GIVES : 0);
}

static uint32_t load_flags(const struct look *k, const struct ptx_opcode *o)
{
	if (looks_at_memory(o))
		return FLOW_POLLS;
	if (!is_seen_by_others(o) || ptx_has_mod(o, "nc"))
		return 0;
	return k->fences ? FLOW_POLLS : FLOW_READS;
}

/* Of instructions of which each operand but the first is a value. */
static uint32_t plain_flags(const struct look *k, const struct ptx_stmt *s,
			    const struct ptx_opcode *o)
{
	const struct ptx_operand *by = ptx_arg(k->m, s, 2);
	enum ptx_type t = o->type;

	switch (o->op) {
	case PTX_OP_mov:
	case PTX_OP_cvta:	/* another name of one place */
		return FLOW_COPIES;
	case PTX_OP_add:
		return is_float(t) ? 0 : FLOW_ADDS | FLOW_RISES;
	case PTX_OP_sub:
		return is_float(t) ? 0 : FLOW_ADDS;
	case PTX_OP_mul:
	case PTX_OP_mad:
		if (by && by->kind == PTX_INT && (int64_t)by->imm < 0)
			return 0;
		return is_float(t) ? 0 : FLOW_RISES;
	case PTX_OP_shl:
	case PTX_OP_cvt:
		return is_float(t) ? 0 : FLOW_RISES;
	case PTX_OP_and:
		return t == PTX_T_PRED ? FLOW_AND : 0;
	case PTX_OP_or:
		return t == PTX_T_PRED ? FLOW_OR : 0;
	case PTX_OP_not:
		return t == PTX_T_PRED ? FLOW_NOT : 0;
	case PTX_OP_setp:
		break;
	default:
		return 0;
	}
	/* Of two, and not of a not-a-number. */
	if (s->n_args != 3 || is_float(t))
		return 0;
	if (ptx_has_mod(o, "eq"))
		return FLOW_EQUAL;
	if (ptx_has_mod(o, "ne"))
		return FLOW_UNEQUAL;
	if (ptx_has_mod(o, "lt") || ptx_has_mod(o, "le") || ptx_has_mod(o, "lo") ||
	    ptx_has_mod(o, "ls"))
		return FLOW_LESS;
	return ptx_has_mod(o, "gt") || ptx_has_mod(o, "ge") || ptx_has_mod(o, "hi") ||
	       ptx_has_mod(o, "hs") ? FLOW_MORE : 0;
}

/* Does it give one register, of values alone? */
static bool is_plain(const struct look *k, const struct ptx_stmt *s, const struct ptx_opcode *o)
{
	uint32_t i, bytes = o->bytes;

	if (o->results != 1 || !(o->class & PTX_PURE) || s->pred != PTX_NONE || s->n_args < 2)
		return false;
	for (i = 0; i < s->n_args; i++)
		if (value_of(k, ptx_arg(k->m, s, i), bytes) == FLOW_NONE)
			return false;
	return ptx_arg(k->m, s, 0)->kind == PTX_REG;
}

static uint32_t flags_of(const struct look *k, const struct ptx_stmt *s,
			 const struct ptx_opcode *o, struct flow_op *op)
{
	switch (o->op) {
	case PTX_OP_bra:
	case PTX_OP_ret:
	case PTX_OP_exit:
		return s->pred == PTX_NONE ? 0 :
		       FLOW_BRANCH | (s->pred_not ? FLOW_CONTRARY : 0);
	case PTX_OP_membar:
	case PTX_OP_fence:
	case PTX_OP_nanosleep:
		return FLOW_FENCE;
	case PTX_OP_call:
		return facts_of_call(k, s) & (FACT(F_LOOKS) | FACT(F_ATOMICS)) ?
		       FLOW_POLLS | FLOW_GIVES : FLOW_WRITES;
	case PTX_OP_atom:
	case PTX_OP_red:
		return is_seen_by_others(o) ? atomic_flags(k, s, o, op) : 0;
	case PTX_OP_ld:
		return load_flags(k, o);
	case PTX_OP_st:
		op->puts = is_seen_by_others(o) && s->n_args == 2 ?
			value_of(k, ptx_arg(k->m, s, 1), o->bytes) : FLOW_NONE;
		/* What goes to memory may come back as it was. */
		return FLOW_COPIES | (is_seen_by_others(o) && o->n_mods &&
				      (ptx_has_mod(o, "volatile") || ptx_has_mod(o, "relaxed") ||
				       ptx_has_mod(o, "release") || ptx_has_mod(o, "mmio")) ?
				      FLOW_GIVES : 0);
	case PTX_OP_multimem:
		return FLOW_GIVES | (looks_at_memory(o) ? FLOW_POLLS : 0);
	case PTX_OP_shfl:
		return FLOW_RISES;
	default:
		return is_plain(k, s, o) ? plain_flags(k, s, o) : 0;
	}
}

static uint8_t kind_of(const struct ptx_opcode *o)
{
	switch (o->space) {
	case PTX_SPACE_SHARED:
		return SHARED;
	case PTX_SPACE_LOCAL:
		return LOCAL;
	case PTX_SPACE_PARAM:
		return PARAM;
	case PTX_SPACE_GLOBAL:
		return FLOW_FAR;
	case PTX_SPACE_NONE:
		return ANYWHERE | FLOW_FAR;
	default:
		return CONSTANT;
	}
}

static void tell_memory(const struct look *k, const struct ptx_stmt *s,
			const struct ptx_opcode *o, struct flow_op *op)
{
	bool atomic = o->op == PTX_OP_atom || o->op == PTX_OP_red;
	const struct ptx_operand *a;
	uint8_t kind = kind_of(o);
	uint32_t facts, bytes;

	if (o->op == PTX_OP_call) {
		facts = facts_of_call(k, s);
		if (facts & (FACT(F_LOOKS) | FACT(F_ATOMICS)))
			op->to = PARAM;
		if (facts & FACT(F_LOOKS) && k->far)
			op->to = SHARED | LOCAL | PARAM | ANYWHERE | FLOW_FAR;
		return;
	}
	if (o->op == PTX_OP_st || (atomic && kind == SHARED))
		op->to = kind & (k->far ? UINT8_MAX : (uint8_t)~FLOW_FAR);
	if (o->class & (PTX_LOAD | PTX_TEXTURE))
		op->from = CONSTANT;
	if (o->op == PTX_OP_ld || (atomic && kind == SHARED))
		op->from = kind & ANYWHERE ? kind | SHARED | LOCAL :
			   kind & (SHARED | LOCAL | PARAM) ? kind | ANYWHERE : kind;
	if ((o->op != PTX_OP_ld && o->op != PTX_OP_st && !atomic) || s->pred != PTX_NONE)
		return;
	a = ptx_arg(k->m, s, o->results);
	if (!a || a->kind != PTX_ADDRESS || a->n_children != 1 ||
	    (o->op == PTX_OP_ld && ptx_arg(k->m, s, 0)->kind != PTX_REG))
		return;
	a = &k->m->operands[a->child];
	bytes = o->bytes;
	if (a->kind == PTX_REG && !a->component && !a->select && !a->neg)
		op->address = reg_of(k, a);
	else if (a->kind == PTX_VARIABLE)
		op->address = value_of(k, &(struct ptx_operand){ .kind = a->kind, .ref = a->ref },
				       0);
	op->part = a->imm * 32 + bytes;
}

static void tell(const struct cfg_teller *t, struct flow *f, uint32_t stmt)
{
	const struct look *k = (const struct look *)t;
	const struct ptx_stmt *s = &k->m->stmts[stmt];
	const struct ptx_opcode *o = ptx_opcode(k->m, s);
	const struct ptx_operand *pred = s->pred == PTX_NONE ? NULL : &k->m->operands[s->pred];
	struct flow_op *op = flow_op(f, stmt);
	bool plain = is_plain(k, s, o);
	uint32_t i, results = o->results, bytes = o->bytes;

	op->flags = flags_of(k, s, o, op);
	tell_memory(k, s, o, op);
	if (plain)
		op->alike = (uint64_t)s->ref + 1;
	if (pred && !(o->class & PTX_FLOW))
		op->flags = (op->flags & ~FLOW_COPIES) | FLOW_MAYBE;
	if (o->op == PTX_OP_call)
		results = s->n_args && k->m->operands[s->args].kind == PTX_LIST;
	/* what a branch goes by comes first, and so does what is stored */
	if (pred && o->class & PTX_FLOW)
		flow_use(f, reg_of(k, pred));
	for (i = s->n_args; i-- > results && o->op == PTX_OP_st;)
		use_all(k, f, ptx_arg(k->m, s, i), 0);
	for (i = results; i < s->n_args && o->op != PTX_OP_st; i++) {
		if (plain)
			flow_use(f, value_of(k, ptx_arg(k->m, s, i), bytes));
		else
			use_all(k, f, ptx_arg(k->m, s, i), 0);
	}
	if (pred && !(o->class & PTX_FLOW))
		flow_use(f, reg_of(k, pred));
	for (i = 0; i < results && i < s->n_args; i++)
		def_all(k, f, ptx_arg(k->m, s, i), 0);
	/* of a vector each part is written by itself */
	for (i = 0; o->op == PTX_OP_st && is_seen_by_others(o) && s->n_args == 2 &&
	     i < ptx_arg(k->m, s, 1)->n_children; i++)
		flow_op(f, stmt)->puts =
			value_of(k, &k->m->operands[ptx_arg(k->m, s, 1)->child + i], bytes);
}

/* Those that look whatever is done with what they see. */
static bool is_sure(const struct look *k, const struct ptx_stmt *s, const struct ptx_opcode *o)
{
	return o->op == PTX_OP_call ? facts_of_call(k, s) & FACT(F_LOOKS) : looks_at_memory(o);
}

/* Is there something to look for, and a way back? */
static bool is_worth_following(struct look *k)
{
	bool possible = false, back = false;
	uint32_t i, sure = 0;

	for (i = k->f->body; i < k->f->body + k->f->n_body; i++) {
		const struct ptx_stmt *s = &k->m->stmts[i];
		const struct ptx_operand *to;
		const struct ptx_opcode *o;

		if (s->kind != PTX_INSTR)
			continue;
		o = ptx_opcode(k->m, s);
		sure = is_sure(k, s, o) ? i + 1 : sure;
		possible |= sure;
		switch (o->op) {
		case PTX_OP_membar:
		case PTX_OP_fence:
		case PTX_OP_nanosleep:
			k->fences = true;
			break;
		case PTX_OP_bra:
			to = ptx_arg(k->m, s, 0);
			if (to && to->kind == PTX_LABEL && k->m->labels[to->ref].stmt < i) {
				back = true;
				k->far |= sure > k->m->labels[to->ref].stmt;
			}
			break;
		case PTX_OP_brx:
			back = true;
			break;
		case PTX_OP_atom:
			possible |= is_seen_by_others(o);
			break;
		case PTX_OP_call:
			possible |= facts_of_call(k, s) & FACT(F_ATOMICS);
			break;
		default:
			break;
		}
	}
	return back && (possible || k->fences);
}

/* The constants of the function, each once. */
static bool find_keys(struct look *k)
{
	uint32_t i, a, n = 0;

	k->keys = malloc(((size_t)k->f->n_operands + 1) * sizeof(*k->keys));
	if (!k->keys)
		return false;
	for (i = k->f->body; i < k->f->body + k->f->n_body; i++) {
		const struct ptx_stmt *s = &k->m->stmts[i];
		uint32_t bytes = s->kind == PTX_INSTR ?
				 ptx_opcode(k->m, s)->bytes : 0;

		for (a = 0; s->kind == PTX_INSTR && a < s->n_args; a++) {
			const struct ptx_operand *o = ptx_arg(k->m, s, a);

			if (o->kind == PTX_ADDRESS && o->n_children == 1 &&
			    k->m->operands[o->child].kind == PTX_VARIABLE)
				k->keys[n++] = (struct key){ k->m->operands[o->child].ref,
							     PTX_VARIABLE };
			else if (is_constant(o))
				k->keys[n++] = key_of(o, bytes);
		}
	}
	qsort(k->keys, n, sizeof(*k->keys), compare);
	for (i = 0; i < n; i++)
		if (!i || compare(&k->keys[i], &k->keys[i - 1]))
			k->keys[k->n_keys++] = k->keys[i];
	return true;
}

int waits_find(struct module_facts *mf, const struct ptx_module *m, uint32_t function,
	       uint32_t *line)
{
	struct look k = { .mf = mf, .m = m, .f = &m->functions[function], .t.tell = tell };
	struct flow_waits w = { .place = FLOW_NONE };
	struct cfg g = { 0 };
	int err = -ENOMEM;

	if (!is_worth_following(&k))
		return 0;
	*line = k.f->line;
	if (mf->steps > MOST_STEPS)
		return 1;
	if (find_keys(&k)) {
		k.t.n_values = k.f->n_regs + k.n_keys;
		k.t.limit = m->memory_limit;
		k.t.value = calloc((size_t)k.t.n_values + 1, sizeof(*k.t.value));
	}
	if (k.t.value)
		err = cfg_build(&g, m, k.f, &k.t);
	if (!err) {
		flow_waits(&g.f, false, &w);
		err = g.f.err;
		mf->steps += g.f.steps;
	}
	if (w.place != FLOW_NONE)
		*line = m->stmts[w.place].line;
	w.waits |= g.unknown_line || err == -E2BIG;
	cfg_free(&g);
	free(k.t.value);
	free(k.keys);
	return err && err != -E2BIG ? err : w.waits;
}
