// SPDX-License-Identifier: MIT
/*
 * Writing a variant: the original's text, but for the statements that must differ.
 *
 * Those are: reads of %ctaid, %nctaid and %gridid; calls of functions that read
 * them, which get the values as arguments; and, for workers, returns and barriers.
 * All else is copied as it stands, comments and white space too. Labels that only
 * debug sections name are left out, as these speak of the original.
 *
 * The copies of a module's functions take the grid's values as parameters in front
 * of their own (a variable argument list must stay last). They serve all modes;
 * only a second copy, with barriers of the parking kind, is for workers alone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "write.h"

static const char xyz[] = "xyz";

static void copy(struct writer *w, uint32_t begin, uint32_t end)
{
	if (begin < end)
		put(w->o, w->m->text + begin, end - begin);
}

void write_pred(struct writer *w, const struct ptx_stmt *s)
{
	const struct ptx_symbol *sym;

	if (s->pred == PTX_NONE)
		return;
	sym = &w->m->syms[w->m->operands[s->pred].sym];
	say(w->o, "@%s%.*s ", s->pred_not ? "!" : "", (int)sym->len, sym->s);
}

/*
 * Puts the grid register's value where the code that follows can name it, and
 * gives that name: a register of ours.
 */
static const char *grid_value(struct writer *w, enum grid_reg reg)
{
	static const char *const id[] = { "%gsx_x", "%gsx_y", "%gsx_z" };
	uint32_t d = reg % 3;

	if (!w->entry) {
		say(w->o, "ld.param.u%d %%gsx_%c0, [gsx_a%d];\n\t", reg == READS_GRIDID ? 64 : 32,
		    reg == READS_GRIDID ? 'd' : 'r', reg);
		return reg == READS_GRIDID ? "%gsx_d0" : "%gsx_r0";
	}
	if (reg == READS_GRIDID) {
		say(w->o, "ld.param.u64 %%gsx_d0, [gsx_launch+%zu];\n\t",
		    offsetof(struct gsx_launch, gridid));
		return "%gsx_d0";
	}
	if (reg >= READS_NCTAID) {
		say(w->o, "ld.param.u32 %%gsx_r0, [gsx_launch+%zu];\n\t",
		    offsetof(struct gsx_launch, grid) + 4 * d);
		return "%gsx_r0";
	}
	if (w->mode != GSX_SLICE)
		return id[d];
	say(w->o, "mov.u32 %%gsx_r0, %%ctaid.%c;\n\tld.param.u32 %%gsx_r1, [gsx_launch+%zu];\n\t"
	    "add.u32 %%gsx_r0, %%gsx_r0, %%gsx_r1;\n\t", xyz[d],
	    offsetof(struct gsx_launch, base) + 4 * d);
	return "%gsx_r0";
}

static enum grid_reg grid_reg_of(const struct ptx_operand *o, uint32_t d)
{
	return o->ref == PTX_SR_gridid ? READS_GRIDID :
	       (o->ref == PTX_SR_ctaid ? READS_CTAID : READS_NCTAID) + d;
}

/* to = value, in the type that the statement's opcode says */
static void assign(struct writer *w, const struct ptx_stmt *s, const struct ptx_operand *to,
		   const char *value, bool wide)
{
	const struct ptx_opcode *o = ptx_opcode(w->m, s);
	const struct ptx_symbol *sym = &w->m->syms[to->sym];

	write_pred(w, s);
	if (o->op == PTX_OP_cvt)
		say(w->o, "%.*s", (int)o->text.len, o->text.s);
	else if (o->bytes == (wide ? 8 : 4))
		say(w->o, "mov.b%u", o->bytes * 8);
	else
		say(w->o, "cvt.u%u.u%u", o->bytes * 8, wide ? 64 : 32);
	say(w->o, " %.*s, %s;", (int)sym->len, sym->s, value);
}

static void read_grid(struct writer *w, const struct ptx_stmt *s)
{
	const struct ptx_operand *to = ptx_arg(w->m, s, 0), *from = ptx_arg(w->m, s, 1), *c;
	uint32_t d;

	if (to->kind == PTX_REG) {
		d = from->component ? from->component - 'x' : 0;
		assign(w, s, to, grid_value(w, grid_reg_of(from, d)), from->ref == PTX_SR_gridid);
		return;
	}
	for (d = 0; d < to->n_children; d++) {
		c = &w->m->operands[to->child + d];
		if (c->kind == PTX_SINK)
			continue;
		assign(w, s, c, d < 3 ? grid_value(w, grid_reg_of(from, d)) : "0", false);
		say(w->o, "\n\t");
	}
}

static bool reads_grid(const struct ptx_module *m, const struct ptx_stmt *s)
{
	const struct ptx_operand *a = ptx_arg(m, s, 1);

	return s->n_args == 2 && a->kind == PTX_SPECIAL &&
	       (a->ref == PTX_SR_ctaid || a->ref == PTX_SR_nctaid || a->ref == PTX_SR_gridid);
}

uint8_t copy_of(const struct job *j, uint32_t function, bool parks)
{
	const struct function_facts *f = &j->facts.f[function];

	if (!j->m->functions[function].has_body)
		return 0;
	if (parks && f->all & FACT(F_BARRIER))
		return COPY_PARKED;
	return f->all & READS_ANY_ID ? COPY_IDS : 0;
}

static const char *copy_suffix(uint8_t kind)
{
	return kind == COPY_PARKED ? "__gsx_parked" : "__gsx";
}

static void operands_text(struct writer *w, const struct ptx_operand *list, const char *before)
{
	uint32_t i;

	for (i = 0; i < list->n_children; i++) {
		const struct ptx_operand *o = &w->m->operands[list->child + i];
		const struct ptx_symbol *s = &w->m->syms[o->sym];

		if (o->kind == PTX_INT)
			say(w->o, "%s%lld", i ? ", " : before, (long long)o->imm);
		else if (o->kind == PTX_F32)
			say(w->o, "%s0f%08X", i ? ", " : before, (uint32_t)o->imm);
		else if (o->kind == PTX_F64)
			say(w->o, "%s0d%016llX", i ? ", " : before, (unsigned long long)o->imm);
		else if (o->kind == PTX_SINK)
			say(w->o, "%s_", i ? ", " : before);
		else
			say(w->o, "%s%.*s", i ? ", " : before, (int)s->len, s->s);
	}
}

/* call (ret), f, (args)  to  call (ret), f__gsx, (grid's values, args) */
static void call(struct writer *w, const struct ptx_stmt *s, uint32_t callee, uint8_t kind)
{
	const struct ptx_module *m = w->m;
	uint32_t ids = w->j->facts.f[callee].all & READS_ANY_ID, i, n = w->j->calls++;
	const struct ptx_symbol *name = &m->syms[m->functions[callee].sym];
	const struct ptx_operand *ret = ptx_arg(m, s, 0), *args = NULL;
	const char *comma = "";

	for (i = 1; i < s->n_args; i++)
		if (ptx_arg(m, s, i)->kind == PTX_LIST)
			args = ptx_arg(m, s, i);
	for (i = 0; i < GRID_REGS; i++) {
		const char *value, *type = i == READS_GRIDID ? "b64" : "b32";

		if (!(ids & FACT(i)))
			continue;
		value = grid_value(w, i);
		say(w->o, ".param .%s gsx_c%u_%u;\n\tst.param.%s [gsx_c%u_%u], %s;\n\t", type, n, i,
		    type, n, i, value);
	}
	write_pred(w, s);
	say(w->o, "%.*s ", (int)ptx_opcode(m, s)->text.len, ptx_opcode(m, s)->text.s);
	if (ret->kind == PTX_LIST) {
		say(w->o, "(");
		operands_text(w, ret, "");
		say(w->o, "), ");
	}
	say(w->o, "%.*s%s", (int)name->len, name->s, copy_suffix(kind));
	if (ids || args)
		say(w->o, ", (");
	for (i = 0; i < GRID_REGS; i++) {
		if (!(ids & FACT(i)))
			continue;
		say(w->o, "%sgsx_c%u_%u", comma, n, i);
		comma = ", ";
	}
	if (args)
		operands_text(w, args, comma);
	say(w->o, "%s;", ids || args ? ")" : "");
}

static bool debug_label(const struct ptx_module *m, uint32_t i, uint32_t end)
{
	const struct ptx_stmt *s = &m->stmts[i];

	if (s->kind != PTX_MARK || m->labels[s->ref].uses)
		return false;
	return i + 1 == end || (m->stmts[i + 1].kind != PTX_TARGETS &&
				m->stmts[i + 1].kind != PTX_PROTOTYPE);
}

/* The statement's variables of the original, SHARED_MOST at most; how many. */
static uint32_t shared_of(const struct writer *w, const struct ptx_stmt *s, uint32_t *vars)
{
	uint32_t found[SHARED_MOST], n = 0, i, k;

	for (i = 0; i < s->n_args; i++) {
		const struct ptx_operand *o = ptx_arg(w->m, s, i);

		if (o->kind == PTX_ADDRESS && o->n_children)
			o = &w->m->operands[o->child];
		if (!state_named(w->m, o))
			continue;
		for (k = 0; k < n && found[k] != o->ref; k++)
			;
		if (k == n)
			found[n++] = o->ref;
	}
	if (vars)
		memcpy(vars, found, n * sizeof(*vars));
	return n;
}

static bool is_name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '$' || c == '%';
}

/* The statement's text, with registers for the names in its addresses. */
static void in_addresses(struct writer *w, const struct ptx_stmt *s, const uint32_t *vars,
			 uint32_t n)
{
	uint32_t at = s->begin, from = at, end, k;
	const struct ptx_symbol *sym;
	bool inside = false;

	for (; at < s->end; at = end) {
		for (end = at; end < s->end && is_name_char(w->m->text[end]); end++)
			;
		if (end == at) {
			inside = w->m->text[at] == '[' || (inside && w->m->text[at] != ']');
			end++;
			continue;
		}
		for (k = 0; inside && k < n; k++) {
			sym = &w->m->syms[w->m->vars[vars[k]].sym];
			if (sym->len != end - at || memcmp(sym->s, w->m->text + at, sym->len))
				continue;
			copy(w, from, at);
			say(w->o, "%%gsx_v%u", k);
			from = end;
		}
	}
	copy(w, from, s->end);
}

/* Variables of the original, by their addresses in the shadow's table. */
static void share(struct writer *w, const struct ptx_stmt *s)
{
	const struct ptx_operand *to = ptx_arg(w->m, s, 0), *from = ptx_arg(w->m, s, 1);
	const struct ptx_opcode *o = ptx_opcode(w->m, s);
	uint32_t vars[SHARED_MOST], n = shared_of(w, s, vars), k;
	const struct ptx_symbol *sym;

	for (k = 0; k < n; k++)
		say(w->o, "ld.%s.u64 %%gsx_v%u, [" GSX_TABLE "%u+%u];\n\t", w->j->table_space, k,
		    w->j->opt->part, (w->j->slot[vars[k]] - 1) * 8);
	if (s->n_args != 2 || from->kind != PTX_VARIABLE) {
		in_addresses(w, s, vars, n);
		return;
	}
	/* Its address is taken. */
	if (from->imm)
		say(w->o, "add.s64 %%gsx_v0, %%gsx_v0, %lld;\n\t", (long long)from->imm);
	sym = &w->m->syms[to->sym];
	write_pred(w, s);
	say(w->o, "%.*s %.*s, %%gsx_v0;", (int)o->text.len, o->text.s, (int)sym->len, sym->s);
}

/* Before lanes part: who stays. Whoever goes never needs to know. */
static void vote(struct writer *w, const struct ptx_stmt *s, enum lane_mark mark)
{
	const struct ptx_symbol *sym = &w->m->syms[w->m->operands[s->pred].sym];

	say(w->o, "vote.sync.ballot.b32 %%gsx_live, %s%.*s, %%gsx_live;\n\t",
	    s->pred_not == (mark == MARK_STAYS_IF) ? "!" : "", (int)sym->len, sym->s);
}

/* A warp-wide operation of those in its mask that are left. */
static void narrow(struct writer *w, const struct ptx_stmt *s)
{
	uint32_t end, mask = warp_mask_begin(w->m, s, &end);

	say(w->o, "and.b32 %%gsx_mask, ");
	copy(w, mask, end);
	say(w->o, ", %%gsx_live;\n\t");
	copy(w, s->begin, mask);
	say(w->o, "%%gsx_mask;");
}

enum action { KEEP, DROP, READ, CALL, LEAVE, MEET, SHARE, NARROW };

static enum action action_of(const struct writer *w, uint32_t i, uint32_t end,
			     enum lane_mark mark)
{
	const struct ptx_stmt *s = &w->m->stmts[i];
	const struct ptx_opcode *o;
	uint32_t callee;

	if (s->kind == PTX_LOC && w->j->opt->shadow)
		return DROP;	/* files and inlined names lie in sections that it hasn't */
	if (s->kind != PTX_INSTR)
		return debug_label(w->m, i, end) ? DROP : KEEP;
	if (w->j->n_slots && shared_of(w, s, NULL))
		return SHARE;
	if (w->kept)
		return KEEP;
	if (mark == MARK_NARROW)
		return NARROW;
	o = ptx_opcode(w->m, s);
	switch (o->op) {
	case PTX_OP_mov:
	case PTX_OP_cvt:
		return reads_grid(w->m, s) ? READ : KEEP;
	case PTX_OP_call:
		callee = ptx_call_target(w->m, s);
		return callee != PTX_NONE && copy_of(w->j, callee, w->parks) ? CALL : KEEP;
	case PTX_OP_ret:
	case PTX_OP_exit:
		return w->entry && w->mode == GSX_WORKERS ? LEAVE : KEEP;
	case PTX_OP_bar:
	case PTX_OP_barrier:
		return w->parks && o->class & PTX_BARRIER &&
		       barrier_kind(w->m, s) != BARRIER_HARMLESS ? MEET : KEEP;
	default:
		return KEEP;
	}
}

static void body(struct writer *w, const struct ptx_function *f)
{
	uint32_t i, end = f->body + f->n_body, at = f->body_begin, callee;
	enum lane_mark mark;
	enum action action;

	for (i = f->body; i < end; i++) {
		const struct ptx_stmt *s = &w->m->stmts[i];

		mark = w->marks ? w->marks[i - f->body] : MARK_NONE;
		if (mark == MARK_STAYS_IF || mark == MARK_STAYS_UNLESS) {
			copy(w, at, s->begin);
			at = s->begin;
			vote(w, s, mark);
		}
		action = action_of(w, i, end, mark);
		if (action == KEEP)
			continue;
		copy(w, at, s->begin);
		at = s->end;
		if (action == READ) {
			read_grid(w, s);
		} else if (action == CALL) {
			callee = ptx_call_target(w->m, s);
			call(w, s, callee, copy_of(w->j, callee, w->parks));
		} else if (action == LEAVE) {
			write_pred(w, s);
			say(w->o, "bra $gsx_done;");
		} else if (action == SHARE) {
			share(w, s);
		} else if (action == NARROW) {
			narrow(w, s);
		} else if (action == MEET) {
			write_parked_barrier(w, s);
		}
	}
	copy(w, at, f->body_end);
}

/* Between the parameters and the body, with the cap in place of another. */
static void directives(struct writer *w, const struct ptx_function *f, uint32_t cap)
{
	uint32_t begin = f->params_end + (f->params_end != f->name_end);

	if (cap && f->max_regs > cap) {
		copy(w, begin, f->maxnreg_begin);
		copy(w, f->maxnreg_end, f->body_begin - 1);
	} else {
		copy(w, begin, f->body_begin - 1);
	}
	if (cap && (!f->max_regs || f->max_regs > cap))
		say(w->o, "\n.maxnreg %u\n", cap);
}

static void entry(struct writer *w, const struct ptx_function *f, const struct gsx_kernel *k)
{
	const struct gsx_options *opt = w->j->opt;
	uint32_t cap = opt->cap ? opt->cap(opt->arg, k->name, w->mode) : 0;

	say(w->o, "\n");
	copy(w, f->begin, f->head);
	say(w->o, ".entry %s(", k->variant[w->mode]);
	copy(w, f->params_begin, f->params_end);
	say(w->o, "%s\n\t.param .align 8 .b8 gsx_launch[%u]\n)", f->n_params ? "\n\t," : "",
	    w->mode == GSX_SLICE ? GSX_SLICE_BYTES : GSX_LAUNCH_BYTES);
	directives(w, f, cap);
	say(w->o, "{");
	write_prologue(w);
	if (w->marks)	/* lanes of the block's warps that are left; none is gone */
		say(w->o, "\t.reg .b32 %%gsx_live, %%gsx_mask;\n\tmov.b32 %%gsx_live, -1;\n");
	body(w, f);
	write_epilogue(w);
	say(w->o, "\n}\n");
}

/* The head of a copy of a device function, up to its directives. */
static void function_head(struct writer *w, const struct ptx_function *f, uint32_t ids,
			  uint8_t kind)
{
	const struct ptx_symbol *name = &w->m->syms[f->sym];
	const char *comma = "";
	uint32_t i;

	say(w->o, "\n.func");
	copy(w, f->head + 5, f->name_begin);
	say(w->o, "%.*s%s(", (int)name->len, name->s, copy_suffix(kind));
	for (i = 0; i < GRID_REGS; i++) {
		if (!(ids & FACT(i)))
			continue;
		say(w->o, "%s.param .b%d gsx_a%u", comma, i == READS_GRIDID ? 64 : 32, i);
		comma = ", ";
	}
	if (f->n_params)
		say(w->o, "%s\n", comma);
	copy(w, f->params_begin, f->params_end);
	say(w->o, ")");
}

static void function_copies(struct job *j, bool heads_only)
{
	struct writer w = { .j = j, .m = j->m, .o = &j->out };
	uint8_t kind;
	uint32_t i;

	for (i = 0; i < j->m->n_functions; i++) {
		const struct ptx_function *f = &j->m->functions[i];

		for (kind = COPY_IDS; kind <= COPY_PARKED; kind <<= 1) {
			if (!(j->copies[i] & kind))
				continue;
			w.parks = kind == COPY_PARKED;
			w.two_rounds = w.parks && j->two_rounds;
			function_head(&w, f, j->facts.f[i].all & READS_ANY_ID, kind);
			directives(&w, f, 0);
			if (heads_only) {
				say(w.o, ";\n");
				continue;
			}
			say(w.o, "{");
			write_registers(&w);
			body(&w, f);
			say(w.o, "}\n");
		}
	}
}

void write_kept(struct job *j, uint32_t function)
{
	struct writer w = { .j = j, .m = j->m, .o = &j->out, .kept = true };
	const struct ptx_function *f = &j->m->functions[function];

	copy(&w, f->begin, f->body_begin);
	write_registers(&w);
	body(&w, f);
	say(w.o, "}");
}

void write_variants(struct job *j, const struct gsx_kernel *kernels)
{
	struct writer w = { .j = j, .m = j->m, .o = &j->out, .entry = true };
	uint32_t i;
	int mode;

	function_copies(j, true);
	function_copies(j, false);
	for (i = 0; i < j->n_plans; i++) {
		const struct plan *p = &j->plans[i];
		const struct function_facts *f = &j->facts.f[p->function];

		for (mode = 0; mode < GSX_MODES; mode++) {
			if (!(p->modes & GSX_BIT(mode)))
				continue;
			w.mode = mode;
			w.ids = f->all & READS_ANY_ID;
			w.parks = p->parks && mode == GSX_WORKERS;
			w.two_rounds = w.parks && (p->two_rounds);
			w.marks = mode == GSX_WORKERS ? p->marks : NULL;
			w.copies_in_flight = f->all & FACT(F_COPIES);
			entry(&w, &j->m->functions[p->function], &kernels[i]);
		}
	}
}
