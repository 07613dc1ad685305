// SPDX-License-Identifier: MIT
/*
 * A module's variables: places in .global and .const with their first values, and in
 * .shared.
 */
#include <errno.h>
#include <string.h>
#include "decode.h"
#include "memory.h"

static bool is_state(const struct ptx_variable *v)
{
	return v->function == PTX_NONE &&
		(v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST);
}

/* The value of one initializer; @at is where it goes and how wide it is. */
static int initial(struct decoder *d, const struct ptx_operand *o, uint32_t type, uint8_t *at,
		   uint32_t line)
{
	const struct ptx_operand *c = o;
	uint64_t v = o->imm;
	double dv;
	float fv;

	if (o->kind == PTX_GENERIC || o->kind == PTX_MASK)
		c = &d->m.operands[o->child + (o->kind == PTX_MASK)];
	if (c->kind == PTX_GENERIC)
		c = &d->m.operands[c->child];
	switch (c->kind) {
	case PTX_VARIABLE:
		v = d->place[c->ref] + c->imm + (o != c ? o->imm : 0);
		break;
	case PTX_FUNCTION:
		v = decode_function(d, c->ref)->address;
		break;
	case PTX_F64:
		if (type == PTX_T_F32) {
			memcpy(&dv, &c->imm, 8);
			fv = dv;
			memcpy(&v, &fv, 4);
		}
		break;
	case PTX_INT:
	case PTX_F32:
		break;
	default:
		return decode_fail(d, -EINVAL, line, "an initializer that isn't understood");
	}
	if (o->kind == PTX_MASK) {	/* one byte of an address */
		uint64_t mask = d->m.operands[o->child].imm;

		v = mask ? (v & mask) >> __builtin_ctzll(mask) : 0;
	}
	memcpy(at, &v, type_size(type) < 8 ? type_size(type) : 8);
	return 0;
}

/* Braces may nest as the dimensions do; what isn't given is zero. */
static int fill(struct decoder *d, const struct ptx_variable *v, const struct ptx_operand *o,
		uint8_t *base, uint64_t *at, uint32_t dim)
{
	uint32_t size = type_size(v->type), k;
	uint64_t stride = size * v->vec, start = *at;
	int err;

	if (o->kind != PTX_VECTOR) {
		if (*at + size > v->size)
			return decode_fail(d, -EINVAL, v->line, "more initial values than elements");
		err = initial(d, o, v->type, base + *at, v->line);
		*at += size;
		return err;
	}
	for (k = dim + 1; k < v->n_dims; k++)
		stride *= d->m.operands[v->dims + k].imm;
	for (k = 0; k < o->n_children; k++) {
		const struct ptx_operand *c = &d->m.operands[o->child + k];

		err = fill(d, v, c, base, at, dim + 1);
		if (err)
			return err;
		if (c->kind == PTX_VECTOR)
			*at = start + (k + 1) * stride;
	}
	return 0;
}

static const struct variable *elsewhere(const struct decoder *d, const char *name, uint32_t upto)
{
	const struct variable *v;
	uint32_t k, n;

	for (k = 0; k < upto; k++)
		for (n = 0; n < d->all[k].p->n_vars && d->all + k != d; n++) {
			v = &d->all[k].p->vars[n];
			if (v->linkage && !strcmp(v->name, name))
				return v;
		}
	return NULL;
}

static int place_own(struct decoder *d, uint32_t i)
{
	struct ptx_variable *v = &d->m.vars[i];
	struct variable *out = &d->p->vars[d->p->n_vars];
	const struct variable *before;
	struct mem_block *b;

	out->name = decode_name(d, v->sym);
	if (!out->name)
		return -ENOMEM;
	before = v->linkage ? elsewhere(d, out->name, d - d->all) : NULL;
	if (before && !((v->linkage | before->linkage) & (PTX_WEAK | PTX_COMMON)))
		return decode_fail(d, -EEXIST, v->line, "the variable %s is in another module too",
				   out->name);
	if (before) {
		d->place[i] = before->addr;
		return 0;
	}
	b = mem_alloc(d->device, v->size ? v->size : 1, v->managed ? MEM_MANAGED : MEM_MODULE,
		      d->owner);
	if (!b)
		return decode_fail(d, -ENOMEM, v->line, "no device memory for %s", out->name);
	memset(b->host, 0, b->size);
	d->place[i] = out->addr = b->addr;
	out->size = v->size;
	out->constant = v->space == PTX_SPACE_CONST;
	out->managed = v->managed;
	out->linkage = v->linkage;
	d->p->n_vars++;
	return 0;
}

static int place_others(struct decoder *d, uint32_t i)
{
	const struct ptx_variable *v = &d->m.vars[i];
	char *name = decode_name(d, v->sym);
	const struct variable *there;

	if (!name)
		return -ENOMEM;
	there = elsewhere(d, name, d->n_all);
	if (!there)
		return decode_fail(d, -ENOENT, v->line, "the variable %s is declared, but nowhere",
				   name);
	d->place[i] = there->addr;
	return 0;
}

int decode_places(struct decoder *d)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < d->m.n_vars && !err; i++)
		if (is_state(&d->m.vars[i]) && !(d->m.vars[i].linkage & PTX_EXTERN))
			err = place_own(d, i);
	return err;
}

int decode_state(struct decoder *d)
{
	uint32_t i;
	uint64_t at;
	int err = 0;

	for (i = 0; i < d->m.n_vars && !err; i++)
		if (is_state(&d->m.vars[i]) && d->m.vars[i].linkage & PTX_EXTERN)
			err = place_others(d, i);
	for (i = 0; i < d->m.n_vars && !err; i++) {
		const struct ptx_variable *v = &d->m.vars[i];

		if (!is_state(v) || v->init == PTX_NONE || v->linkage & PTX_EXTERN)
			continue;
		at = 0;
		err = fill(d, v, &d->m.operands[v->init], mem_host(d->place[i], v->size), &at, 0);
	}
	return err;
}

/* Shared memory of module scope and of functions lies at the same place for all. */
void decode_common_shared(struct decoder *d)
{
	uint32_t i;

	for (i = 0; i < d->m.n_vars; i++) {
		const struct ptx_variable *v = &d->m.vars[i];

		if (v->space != PTX_SPACE_SHARED || dynamic_shared(v) ||
		    (v->function != PTX_NONE && d->m.functions[v->function].entry))
			continue;
		d->common = align_up(d->common, v->align);
		d->place[i] = d->common;
		d->common += v->size;
	}
}

static bool uses_common(const struct decoder *d, const struct ptx_operand *o)
{
	const struct ptx_variable *v = &d->m.vars[o->ref];

	return v->space == PTX_SPACE_SHARED && !dynamic_shared(v) &&
		(v->function == PTX_NONE || !d->m.functions[v->function].entry);
}

/* What a function and those that it calls use of shared memory. */
static void reach(struct decoder *d, uint32_t fi, struct func *e)
{
	const struct ptx_function *f = &d->m.functions[fi];
	uint32_t k;

	if (d->seen[fi])
		return;
	d->seen[fi] = 1;
	for (k = f->first_operand; k < f->first_operand + f->n_operands; k++) {
		const struct ptx_operand *o = &d->m.operands[k];

		if (o->kind == PTX_FUNCTION)
			reach(d, o->ref, e);
		if (o->kind == PTX_VARIABLE)
			e->uses_common |= uses_common(d, o);
	}
	/* a call through a pointer could go anywhere: then whatever is common is there */
	for (k = f->body; k < f->body + f->n_body; k++) {
		const struct ptx_stmt *s = &d->m.stmts[k];

		if (s->kind == PTX_INSTR && ptx_opcode(&d->m, s)->op == PTX_OP_call &&
		    ptx_call_target(&d->m, s) == PTX_NONE)
			e->uses_common = true;
	}
}

void decode_own_shared(struct decoder *d, uint32_t fi)
{
	struct func *f = &d->p->funcs[fi];
	uint32_t i;

	memset(d->seen, 0, d->m.n_functions);
	reach(d, fi, f);
	f->static_shared = f->uses_common || d->n_all > 1 ? d->common : 0;
	for (i = 0; i < d->m.n_vars; i++) {
		const struct ptx_variable *v = &d->m.vars[i];

		if (v->function != fi || v->space != PTX_SPACE_SHARED || dynamic_shared(v))
			continue;
		f->static_shared = align_up(f->static_shared, v->align);
		d->place[i] = f->static_shared;
		f->static_shared += v->size;
	}
}
