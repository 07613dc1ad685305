// SPDX-License-Identifier: MIT
/*
 * From the tree of a PTX module to code: variables get their places, names their
 * meaning, statements become instructions. An instruction that isn't known stays
 * in as one that faults, so that a module loads as long as nobody runs it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode.h"
#include "exec.h"
#include "memory.h"

static struct program **programs;	/* all there are, for pointers to functions */
static uint32_t n_programs, cap_programs;

int decode_fail(struct decoder *d, int err, uint32_t line, const char *fmt, ...)
{
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(d->p->error, sizeof(d->p->error), "%s:%u: %s", d->m.file, line, what);
	return err;
}

/* Memory that goes with the program. */
void *decode_take(struct program *p, size_t n, size_t size)
{
	void *m, **owned;

	if (p->n_owned == p->cap_owned) {
		owned = realloc(p->owned, (p->cap_owned * 2 + 64) * sizeof(*owned));
		if (!owned)
			return NULL;
		p->owned = owned;
		p->cap_owned = p->cap_owned * 2 + 64;
	}
	m = calloc(n ? n : 1, size);
	if (m)
		p->owned[p->n_owned++] = m;
	return m;
}

char *decode_name(struct decoder *d, uint32_t sym)
{
	const struct ptx_symbol *s = &d->m.syms[sym];
	char *n = decode_take(d->p, s->len + 1, 1);

	if (n)
		memcpy(n, s->s, s->len);
	return n;
}

struct func *decode_function(struct decoder *d, uint32_t ref)
{
	struct func *f = &d->p->funcs[ref];
	uint32_t k, n;

	for (k = 0; k < d->n_all && !f->has_body; k++)
		for (n = 0; n < d->all[k].p->n_funcs; n++) {
			struct func *o = &d->all[k].p->funcs[n];

			if (o->has_body && o->shown && !o->entry && !strcmp(o->name, f->name))
				return o;
		}
	return f;
}

static int register_of(struct decoder *d, const struct ptx_function *f, uint32_t ref, uint32_t line,
		       uint32_t *reg)
{
	if (ref < f->first_reg || ref - f->first_reg >= f->n_regs)
		return decode_fail(d, -EINVAL, line, "a register of another function");
	*reg = d->reg_at[ref];
	return 0;
}

/* Registers one behind the other, vectors with all their parts; how many there are. */
static uint32_t place_registers(struct decoder *d, const struct ptx_function *f)
{
	uint32_t k, n = 0;

	for (k = f->first_reg; k < f->first_reg + f->n_regs; k++) {
		d->reg_at[k] = n;
		n += d->m.regs[k].vec > 1 ? d->m.regs[k].vec : 1;
	}
	return n;
}

static int variable(struct decoder *d, const struct ptx_operand *o, struct opnd *out)
{
	const struct ptx_variable *v = &d->m.vars[o->ref];

	out->imm = d->place[o->ref] + o->imm;
	switch (v->space) {
	case PTX_SPACE_SHARED:
		out->kind = dynamic_shared(v) ? K_DYNAMIC : K_SHARED;
		if (dynamic_shared(v))
			out->imm = o->imm;
		return 0;
	case PTX_SPACE_LOCAL:
		out->kind = K_FRAME;
		return 0;
	case PTX_SPACE_PARAM:
		out->kind = K_FRAME;
		out->size = 1;		/* its address, if taken, is generic */
		if (v->function != PTX_NONE && d->m.functions[v->function].entry &&
		    o->ref - d->m.functions[v->function].params <
		    d->m.functions[v->function].n_params) {
			out->kind = K_PARAM;
			out->imm = v->offset + o->imm;
		}
		return 0;
	default:
		out->kind = K_IMM;
		return 0;
	}
}

static int operand(struct decoder *d, uint32_t fi, const struct ptx_operand *o, struct opnd *out,
		   uint32_t line);

static int operands(struct decoder *d, uint32_t fi, const struct ptx_operand *o, struct opnd *out,
		    uint32_t line)
{
	uint32_t k;
	int err;

	out->kind = K_VEC;
	out->reg = o->n_children;
	out->vec = decode_take(d->p, o->n_children, sizeof(*out->vec));
	if (!out->vec)
		return -ENOMEM;
	for (k = 0; k < o->n_children; k++) {
		err = operand(d, fi, &d->m.operands[o->child + k], &out->vec[k], line);
		if (err)
			return err;
	}
	return 0;
}

/* A register of several parts: one of them, or all. */
static int vector(struct decoder *d, const struct ptx_operand *o, struct opnd *out, uint32_t line)
{
	static const char names[] = "xyzw";
	uint32_t n = d->m.regs[o->ref].vec, k, first = out->reg;
	const char *c = o->component ? strchr(names, o->component) : NULL;

	if (c && c - names < (int)n) {
		out->reg += c - names;
		return 0;
	}
	if (o->component)
		return decode_fail(d, -EINVAL, line, "the vector has no .%c", o->component);
	out->kind = K_VEC;
	out->reg = n;
	out->vec = decode_take(d->p, n, sizeof(*out->vec));
	if (!out->vec)
		return -ENOMEM;
	for (k = 0; k < n; k++)
		out->vec[k] = (struct opnd){ .kind = K_REG, .reg = first + k, .size = out->size };
	return 0;
}

static int operand(struct decoder *d, uint32_t fi, const struct ptx_operand *o, struct opnd *out,
		   uint32_t line)
{
	const struct ptx_symbol *s = &d->m.syms[o->sym];
	int err;

	out->not = o->not;
	switch (o->kind) {
	case PTX_REG:
		out->kind = K_REG;
		out->imm = o->imm;
		out->size = type_size(d->m.regs[o->ref].type);
		if (o->select)
			return decode_fail(d, -ENOTSUP, line, "a part of a register");
		err = register_of(d, &d->m.functions[fi], o->ref, line, &out->reg);
		return err || d->m.regs[o->ref].vec < 2 ? err : vector(d, o, out, line);
	case PTX_SPECIAL:
		out->kind = K_SPECIAL;
		out->reg = o->ref;
		out->imm = o->ref == PTX_SR_envreg ? o->imm : o->component;
		if (o->ref == PTX_SR_OTHER)
			return decode_fail(d, -EINVAL, line, "'%.*s' isn't known", (int)s->len, s->s);
		return 0;
	case PTX_VARIABLE:
		return variable(d, o, out);
	case PTX_FUNCTION:
		out->kind = K_IMM;
		out->imm = decode_function(d, o->ref)->address;
		return 0;
	case PTX_INT:
	case PTX_F32:
	case PTX_F64:
		out->kind = K_IMM;
		out->imm = o->imm;
		return 0;
	case PTX_SINK:
		out->kind = K_SINK;
		return 0;
	case PTX_VECTOR:
	case PTX_PAIR:
		return operands(d, fi, o, out, line);
	case PTX_ADDRESS:
		out->address = true;
		if (o->n_children != 1)		/* a texture and where in it */
			return operands(d, fi, o, out, line);
		o = &d->m.operands[o->child];
		err = operand(d, fi, o, out, line);
		out->base_reg = out->kind == K_REG;
		return err;
	case PTX_NAME:
		if (s->len == 7 && !memcmp(s->s, "WARP_SZ", 7)) {
			out->kind = K_IMM;
			out->imm = 32;
			return 0;
		}
		return decode_fail(d, -EINVAL, line, "'%.*s' isn't declared", (int)s->len, s->s);
	default:
		return decode_fail(d, -EINVAL, line, "an operand that isn't understood");
	}
}

/* Numbers written in another form than the instruction's type has. */
static void fit_number(const struct ptx_operand *o, struct opnd *out, unsigned int type)
{
	double dv;
	float fv;

	if (o->kind == PTX_F64 && type == PTX_T_F32) {
		memcpy(&dv, &o->imm, 8);
		fv = dv;
		out->imm = 0;
		memcpy(&out->imm, &fv, 4);
	} else if (o->kind == PTX_F32 && type == PTX_T_F64) {
		memcpy(&fv, &o->imm, 4);
		dv = fv;
		memcpy(&out->imm, &dv, 8);
	}
}

/* An argument or result of a call: a .param variable, a register, a number. */
static int binds(struct decoder *d, uint32_t fi, const struct ptx_operand *list, struct bind **out,
		 uint32_t *n, uint32_t line)
{
	uint32_t k;
	int err;

	*n = list->n_children;
	*out = decode_take(d->p, *n, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (k = 0; k < *n; k++) {
		const struct ptx_operand *o = &d->m.operands[list->child + k];

		err = operand(d, fi, o, &(*out)[k].here, line);
		if (err)
			return err;
		(*out)[k].size = o->kind == PTX_VARIABLE ? d->m.vars[o->ref].size : 8;
	}
	return 0;
}

/* What is called: a function here, one of the driver's, one of another module. */
static int callee(struct decoder *d, uint32_t fi, const struct ptx_operand *o, struct call *c,
		  uint32_t line)
{
	if (o->kind == PTX_REG)
		return operand(d, fi, o, &c->pointer, line);
	if (o->kind != PTX_FUNCTION)
		return decode_fail(d, -EINVAL, line, "a call of something that is no function");
	c->callee = decode_function(d, o->ref);
	if (!c->callee->has_body)
		c->builtin = builtin_named(c->callee->name);
	return 0;
}

static int call(struct decoder *d, uint32_t fi, const struct ptx_stmt *s, struct insn *i)
{
	struct func *f = &d->p->funcs[fi];
	struct call *c = &f->calls[f->n_calls];
	uint32_t k = 0;
	int err;

	i->target = f->n_calls++;
	if (k < s->n_args && ptx_arg(&d->m, s, k)->kind == PTX_LIST) {
		err = binds(d, fi, ptx_arg(&d->m, s, k), &c->rets, &c->n_rets, s->line);
		if (err)
			return err;
		k++;
	}
	if (k >= s->n_args)
		return decode_fail(d, -EINVAL, s->line, "a call without a function");
	err = callee(d, fi, ptx_arg(&d->m, s, k), c, s->line);
	if (err)
		return err;
	k++;
	if (k < s->n_args && ptx_arg(&d->m, s, k)->kind == PTX_LIST)
		return binds(d, fi, ptx_arg(&d->m, s, k), &c->args, &c->n_args, s->line);
	return 0;
}

static int branch_table(struct decoder *d, struct func *f, const struct ptx_stmt *s, struct insn *i)
{
	const struct ptx_function *pf = &d->m.functions[f->index];
	const struct ptx_operand *name = ptx_arg(&d->m, s, 1), *o;
	uint32_t k, n, at = 0;		/* where the table lies among the function's */

	if (!name || name->kind != PTX_LABEL)
		return decode_fail(d, -EINVAL, s->line, "brx.idx without a table");
	for (k = pf->body; k < pf->body + pf->n_body; k++) {
		const struct ptx_stmt *t = &d->m.stmts[k];

		if (t->kind != PTX_TARGETS)
			continue;
		if (t->ref != name->ref) {
			at += t->n_args;
			continue;
		}
		i->target = at;
		i->a[1].imm = t->n_args;
		for (n = 0; n < t->n_args; n++) {
			o = ptx_arg(&d->m, t, n);
			f->targets[at + n] = o->kind == PTX_LABEL ? d->label_at[o->ref] : 0;
		}
		return operand(d, f->index, ptx_arg(&d->m, s, 0), &i->a[0], s->line);
	}
	return decode_fail(d, -EINVAL, s->line, "brx.idx: its table isn't in this function");
}

static int plain(struct decoder *d, uint32_t fi, const struct ptx_stmt *s, struct insn *i,
		 const struct ptx_opcode *o)
{
	uint32_t k;
	int err;

	if (s->n_args > 5)
		goto unknown;
	i->n = s->n_args;
	for (k = 0; k < s->n_args; k++) {
		if (ptx_arg(&d->m, s, k)->kind == PTX_ADDRESS &&
		    ptx_arg(&d->m, s, k)->n_children != 1 && !(o->class & PTX_TEXTURE))
			goto unknown;
		err = operand(d, fi, ptx_arg(&d->m, s, k), &i->a[k], s->line);
		if (err == -ENOTSUP)
			goto unknown;
		if (err)
			return err;
	}
	if (!decode_op(i, o))
		goto unknown;
	for (k = 0; k < s->n_args; k++)
		fit_number(ptx_arg(&d->m, s, k), &i->a[k], i->stype);
	return 0;
unknown:
	d->p->error[0] = 0;
	i->fn = exec_refused;
	return 0;
}

static int instruction(struct decoder *d, uint32_t fi, const struct ptx_stmt *s, struct insn *i)
{
	const struct ptx_opcode *o = ptx_opcode(&d->m, s);
	struct func *f = &d->p->funcs[fi];
	const struct ptx_operand *t;
	uint32_t reg = 0;
	int err;

	i->line = s->line;
	i->pred = -1;
	if (s->pred != PTX_NONE) {
		if (d->m.operands[s->pred].kind != PTX_REG)
			return decode_fail(d, -EINVAL, s->line, "a predicate that isn't declared");
		err = register_of(d, &d->m.functions[fi], d->m.operands[s->pred].ref, s->line,
				  &reg);
		if (err)
			return err;
		i->pred = reg;
		i->pred_not = s->pred_not;
	}
	switch (o->op) {
	case PTX_OP_bra:
		t = ptx_arg(&d->m, s, 0);
		if (!t || t->kind != PTX_LABEL)
			return decode_fail(d, -EINVAL, s->line, "a branch to no label");
		i->target = d->label_at[t->ref];
		decode_op(i, o);
		return 0;
	case PTX_OP_brx:
		decode_op(i, o);
		return branch_table(d, f, s, i);
	case PTX_OP_call:
		decode_op(i, o);
		return call(d, fi, s, i);
	default:
		return plain(d, fi, s, i, o);
	}
}

/* Places of a function's local and .param variables, scope by scope. */
static void frame(struct decoder *d, uint32_t fi)
{
	const struct ptx_function *pf = &d->m.functions[fi];
	uint64_t stack[PTX_DEPTH + 2], at = 0, top = 0;
	struct func *f = &d->p->funcs[fi];
	uint32_t k, v, depth = 0;

	for (k = 0; k < pf->n_rets && !pf->entry; k++) {
		v = pf->rets + k;
		at = align_up(at, d->m.vars[v].align);
		d->place[v] = f->ret_offset[k] = at;
		at += f->ret_size[k] = d->m.vars[v].size;
	}
	for (k = 0; k < pf->n_params; k++) {
		v = pf->params + k;
		f->param_size[k] = d->m.vars[v].size;
		f->param_offset[k] = d->m.vars[v].offset;
		if (pf->entry)
			continue;
		at = align_up(at, d->m.vars[v].align);
		d->place[v] = f->param_offset[k] = at;
		at += d->m.vars[v].size;
	}
	for (k = pf->body; k < pf->body + pf->n_body; k++) {
		const struct ptx_stmt *s = &d->m.stmts[k];

		if (s->kind == PTX_OPEN && depth <= PTX_DEPTH)
			stack[depth++] = at;
		if (s->kind == PTX_CLOSE && depth)
			at = stack[--depth];
		if (s->kind != PTX_DECL || s->ref == PTX_NONE)
			continue;
		for (v = s->ref; v < d->m.n_vars && d->m.vars[v].function == fi &&
		     d->m.vars[v].scope == s->scope; v++) {
			if (v > s->ref && d->m.vars[v].line != d->m.vars[s->ref].line)
				break;
			if (d->m.vars[v].space != PTX_SPACE_LOCAL &&
			    d->m.vars[v].space != PTX_SPACE_PARAM)
				continue;
			at = align_up(at, d->m.vars[v].align);
			d->place[v] = at;
			at += d->m.vars[v].size;
			top = at > top ? at : top;
		}
	}
	f->frame = align_up(at > top ? at : top, 16);
}

static int function(struct decoder *d, uint32_t fi)
{
	const struct ptx_function *pf = &d->m.functions[fi];
	struct func *f = &d->p->funcs[fi];
	uint32_t k, n = 0, calls = 0, targets = 0;
	int err;

	frame(d, fi);
	for (k = pf->body; k < pf->body + pf->n_body; k++) {
		const struct ptx_stmt *s = &d->m.stmts[k];

		if (s->kind == PTX_MARK)
			d->label_at[s->ref] = n;
		n += s->kind == PTX_INSTR;
		calls += s->kind == PTX_INSTR && ptx_opcode(&d->m, s)->op == PTX_OP_call;
		targets += s->kind == PTX_TARGETS ? s->n_args : 0;
	}
	f->code = decode_take(d->p, n + 1, sizeof(*f->code));
	f->calls = decode_take(d->p, calls, sizeof(*f->calls));
	f->targets = decode_take(d->p, targets, sizeof(*f->targets));
	if (!f->code || !f->calls || !f->targets)
		return -ENOMEM;
	f->local = f->frame || calls;
	for (k = pf->body; k < pf->body + pf->n_body; k++) {
		const struct ptx_stmt *s = &d->m.stmts[k];

		if (s->kind == PTX_INSTR) {
			err = instruction(d, fi, s, &f->code[f->n_code]);
			if (err)
				return err;
			if (f->code[f->n_code].fn == exec_alloca)
				f->local = true;
			f->n_code++;
		} else if (s->kind == PTX_UNKNOWN) {
			return decode_fail(d, -EINVAL, s->line, "a statement that isn't understood");
		}
	}
	/* behind the last one, whoever comes there returns */
	f->code[f->n_code].fn = exec_ret;
	f->code[f->n_code].pred = -1;
	return 0;
}

static int declare(struct decoder *d, uint32_t fi)
{
	const struct ptx_function *pf = &d->m.functions[fi];
	struct func *f = &d->p->funcs[fi];

	f->name = decode_name(d, pf->sym);
	f->p = d->p;
	f->index = fi;
	f->entry = pf->entry;
	f->has_body = pf->has_body;
	f->shown = pf->linkage & (PTX_VISIBLE | PTX_WEAK);
	f->clustered = pf->clustered;
	f->n_regs = place_registers(d, pf);
	f->n_params = pf->n_params;
	f->n_rets = pf->n_rets;
	f->param_bytes = pf->param_bytes;
	f->max_threads = pf->max_threads;
	f->max_regs = pf->max_regs;
	f->address = (uint64_t)(uintptr_t)f;
	f->param_offset = decode_take(d->p, f->n_params, 4);
	f->param_size = decode_take(d->p, f->n_params, 4);
	f->ret_offset = decode_take(d->p, f->n_rets, 4);
	f->ret_size = decode_take(d->p, f->n_rets, 4);
	return f->name && f->param_offset && f->param_size && f->ret_offset && f->ret_size ? 0 :
		-ENOMEM;
}

/* .reqnctapercluster x, y, z: the front end only says that there is one */
static void cluster_size(struct decoder *d, uint32_t fi)
{
	static const char word[] = ".reqnctapercluster";
	const struct ptx_function *pf = &d->m.functions[fi];
	const char *s = memmem(d->m.text + pf->begin, pf->body_begin - pf->begin, word,
			       sizeof(word) - 1);
	struct func *f = &d->p->funcs[fi];
	uint32_t k;
	char *end;

	for (k = 0; s && k < 3; k++) {
		s += k ? 0 : sizeof(word) - 1;
		f->req_cluster[k] = strtoul(s, &end, 10);
		while (*end == ' ')
			end++;
		s = *end == ',' ? end + 1 : NULL;
	}
	for (k = 0; k < 3 && f->req_cluster[0]; k++)
		f->req_cluster[k] += !f->req_cluster[k];
}

/* What others need to know of a module: its functions' names, its variables' places. */
static int declarations(struct decoder *d)
{
	struct program *p = d->p;
	uint32_t i;
	int err = 0;

	p->funcs = decode_take(p, d->m.n_functions, sizeof(*p->funcs));
	p->vars = decode_take(p, d->m.n_vars, sizeof(*p->vars));
	d->place = calloc(d->m.n_vars + 1, sizeof(*d->place));
	d->label_at = calloc(d->m.n_labels + 1, sizeof(*d->label_at));
	d->reg_at = calloc(d->m.n_regs + 1, sizeof(*d->reg_at));
	d->seen = calloc(d->m.n_functions + 1, 1);
	if (!p->funcs || !p->vars || !d->place || !d->label_at || !d->seen ||
	    !d->reg_at)
		return -ENOMEM;
	p->n_funcs = d->m.n_functions;
	p->version = d->m.version;
	p->target = d->m.target;
	for (i = 0; i < p->n_funcs && !err; i++)
		err = declare(d, i);
	if (!err)
		err = decode_places(d);
	/* the modules' shared memory lies one behind the other */
	d->common = d > d->all ? d[-1].common : 0;
	decode_common_shared(d);
	return err;
}

static int bodies(struct decoder *d)
{
	struct program *p = d->p;
	int err = decode_state(d);
	uint32_t i;

	d->common = d->all[d->n_all - 1].common;
	for (i = 0; i < p->n_funcs && !err; i++) {
		if (!p->funcs[i].has_body)
			continue;
		if (p->funcs[i].entry) {
			decode_own_shared(d, i);
			cluster_size(d, i);
		}
		err = function(d, i);
	}
	return err;
}

/* Pointers to functions are looked up in all programs there are. */
static int note(struct program *p)
{
	struct program **all;

	if (n_programs == cap_programs) {
		all = realloc(programs, (cap_programs * 2 + 16) * sizeof(*all));
		if (!all)
			return -ENOMEM;
		programs = all;
		cap_programs = cap_programs * 2 + 16;
	}
	programs[n_programs++] = p;
	return 0;
}

static int decode(struct decoder *d, uint32_t n, const struct piece *pieces, const char *file)
{
	uint32_t k;
	int err = 0;

	for (k = 0; k < n && !err; k++) {
		err = ptx_parse(&d[k].m, pieces[k].text, pieces[k].len, file, (size_t)1 << 30);
		if (err)
			decode_fail(&d[k], err, d[k].m.err_line, "%s", d[k].m.err_text);
		else if (dev.ptx && d[k].m.version > dev.ptx)
			err = decode_fail(&d[k], -EPROTONOSUPPORT, 1, "PTX of a newer version");
		else
			err = declarations(&d[k]);
	}
	for (k = 0; k < n && !err; k++)
		err = bodies(&d[k]);
	for (k = 0; k < n && !err; k++)
		err = note(d[k].p);
	return err;
}

static int decode_all(struct program *p, const struct piece *pieces, uint32_t n, const char *file,
		      void *owner, uint32_t device)
{
	struct decoder *d = calloc(n, sizeof(*d));
	char why[sizeof(p->error)] = "";
	uint32_t k;
	int err;

	memset(p, 0, n * sizeof(*p));
	if (!d)
		return -ENOMEM;
	for (k = 0; k < n; k++)
		d[k] = (struct decoder){ .p = &p[k], .owner = owner, .device = device, .all = d,
			.n_all = n };
	err = decode(d, n, pieces, file);
	for (k = 0; k < n; k++) {
		ptx_free(&d[k].m);
		free(d[k].place);
		free(d[k].label_at);
		free(d[k].reg_at);
		free(d[k].seen);
		if (err && p[k].error[0])
			memcpy(why, p[k].error, sizeof(why));
	}
	for (k = 0; k < n && err; k++)
		program_free(&p[k]);
	memcpy(p->error, why, sizeof(why));
	free(d);
	return err;
}

int program_decode(struct program *p, const char *text, size_t len, const char *file, void *owner)
{
	return decode_all(p, &(struct piece){ text, len }, 1, file, owner, 0);
}

int programs_link(struct program *p, const struct piece *pieces, uint32_t n, void *owner,
		  uint32_t device)
{
	return decode_all(p, pieces, n, "module", owner, device);
}

void program_free(struct program *p)
{
	uint32_t i;

	for (i = 0; i < n_programs; i++)
		if (programs[i] == p)
			programs[i--] = programs[--n_programs];
	for (i = 0; i < p->n_owned; i++)
		free(p->owned[i]);
	free(p->owned);
	memset(p, 0, sizeof(*p));
}

struct func *program_entry(struct program *p, const char *name)
{
	uint32_t i;

	for (i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].entry && p->funcs[i].has_body && !strcmp(p->funcs[i].name, name))
			return &p->funcs[i];
	return NULL;
}

bool program_constant(uint64_t address)
{
	uint32_t i, k;

	for (i = 0; i < n_programs; i++)
		for (k = 0; k < programs[i]->n_vars; k++)
			if (programs[i]->vars[k].constant &&
			    address - programs[i]->vars[k].addr < programs[i]->vars[k].size)
				return true;
	return false;
}

/* Pointers are from the program: only what is a function's address is one. */
struct func *func_at(uint64_t address)
{
	uint32_t i;

	for (i = 0; i < n_programs; i++) {
		uint64_t first = (uint64_t)(uintptr_t)programs[i]->funcs, off = address - first;

		if (off < programs[i]->n_funcs * sizeof(struct func) &&
		    off % sizeof(struct func) == 0)
			return (struct func *)(uintptr_t)address;
	}
	return NULL;
}
