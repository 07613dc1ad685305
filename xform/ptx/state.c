// SPDX-License-Identifier: MIT
/*
 * Which statements name variables of the module, and whether a shadow can have them.
 *
 * A shadow reaches the original's variables in global memory by addresses that it
 * loads, so the name must stand where a register can: alone in an address, with an
 * offset or not, or as what mov or cvta take the address of. Constants have copies of
 * the same name, so all is right but their generic address, which might be kept
 * somewhere for longer than the copy is like the original; and those that another input
 * of a link defines, which may be machine code: nothing would tell the host to copy them.
 */
#include "facts.h"

static const struct ptx_variable *variable(const struct ptx_module *m,
					   const struct ptx_operand *o)
{
	const struct ptx_variable *v;

	if ((o->kind != PTX_VARIABLE && o->kind != PTX_INDEX) || o->ref >= m->n_vars)
		return NULL;
	v = &m->vars[o->ref];
	return v->function == PTX_NONE ? v : NULL;
}

const struct ptx_variable *state_named(const struct ptx_module *m, const struct ptx_operand *o)
{
	const struct ptx_variable *v = variable(m, o);

	return v && v->space == PTX_SPACE_GLOBAL ? v : NULL;
}

static bool is_opaque(const struct ptx_variable *v)
{
	return v->space == PTX_SPACE_TEX || v->type == PTX_T_TEXREF ||
	       v->type == PTX_T_SAMPLERREF || v->type == PTX_T_SURFREF;
}

/* mov.u64 to, name; or cvta.global.u64 to, name */
static bool takes_address(const struct ptx_module *m, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(m, s);
	const struct ptx_operand *to = ptx_arg(m, s, 0);

	if (s->n_args != 2 || to->kind != PTX_REG || to->component ||
	    (o->op != PTX_OP_mov && o->op != PTX_OP_cvta) || ptx_has_mod(o, "to"))
		return false;
	return o->bytes == 8;
}

/* @may: the place is one where a register could stand. */
static bool is_odd(const struct ptx_module *m, const struct ptx_operand *o, bool may, int depth)
{
	const struct ptx_variable *v = variable(m, o);
	uint32_t i;

	if (v && is_opaque(v))
		return true;
	if (v && v->space == PTX_SPACE_CONST)
		return o->kind == PTX_INDEX || !v->size || (v->linkage & PTX_EXTERN);
	if (v && v->space == PTX_SPACE_GLOBAL)
		return !may || o->kind == PTX_INDEX || o->component || o->neg || o->not ||
		       m->address_size != 64;
	for (i = 0; depth < PTX_DEPTH && i < o->n_children; i++)
		if (is_odd(m, &m->operands[o->child + i], !depth && !i && o->kind == PTX_ADDRESS,
			   depth + 1))
			return true;
	return false;
}

bool state_is_odd(const struct ptx_module *m, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(m, s);
	uint32_t i, n = 0;
	bool may;

	if (o->op == PTX_OP_cvta && ptx_has_mod(o, "const") && !ptx_has_mod(o, "to"))
		return true;
	for (i = 0; i < s->n_args; i++) {
		const struct ptx_operand *a = ptx_arg(m, s, i);

		may = i == 1 && a->kind == PTX_VARIABLE && takes_address(m, s);
		if (is_odd(m, a, may, 0))
			return true;
		n += a->kind == PTX_ADDRESS && a->n_children &&
		     state_named(m, &m->operands[a->child]);
	}
	return n > SHARED_MOST;
}
