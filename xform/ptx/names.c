// SPDX-License-Identifier: MIT
/*
 * Names and what they mean where they stand.
 *
 * Each different name is one symbol. A declaration binds a symbol for as long as
 * its scope is open, hiding an outer binding. `.reg .b32 %r<100>` binds a prefix:
 * %r5 becomes a register of its own when it's first used. To keep that quick a
 * symbol remembers which range and register it stood for last; where an inner
 * scope declares the same prefix again, a table of (range, symbol) finds the
 * other register.
 *
 * Labels may be used before they stand, so operands that mean nothing yet are
 * noted and looked up when the function is complete.
 */
#include <errno.h>
#include <string.h>

#include "parser.h"

#define PROBES	256	/* more at half load means crafted names */

static uint32_t hash_bytes(const char *s, uint32_t len)
{
	uint32_t h = 2166136261u, i;

	for (i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h ^ h >> 15;
}

static uint32_t hash_pair(uint32_t a, uint32_t b)
{
	uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull;

	return h >> 32;
}

static uint32_t crowded(struct parser *p)
{
	parse_error(p, -E2BIG, p->line, "too many names that hash alike");
	return 0;
}

static bool grow_syms(struct parser *p)
{
	uint32_t i, at;

	if (!slots_grow(p, &p->syms))
		return false;
	for (i = 0; i < p->m->vec[V_SYMS].n; i++) {
		at = SYM(p, i)->hash & p->syms.mask;
		while (p->syms.slot[at])
			at = (at + 1) & p->syms.mask;
		p->syms.slot[at] = i + 1;
	}
	p->syms.used = p->m->vec[V_SYMS].n;
	return true;
}

uint32_t intern(struct parser *p, const char *s, uint32_t len)
{
	uint32_t h = hash_bytes(s, len), at, i, probes;
	struct ptx_symbol *sym;

	if (p->m->err)
		return 0;
	if (p->syms.used > p->syms.mask / 2 && !grow_syms(p))
		return 0;
	at = h & p->syms.mask;
	for (probes = 0; p->syms.slot[at]; at = (at + 1) & p->syms.mask) {
		sym = SYM(p, p->syms.slot[at] - 1);
		if (sym->hash == h && sym->len == len && !memcmp(sym->s, s, len))
			return p->syms.slot[at] - 1;
		if (++probes > PROBES)
			return crowded(p);
	}
	i = vec_push(p, V_SYMS);
	sym = SYM(p, i);
	*sym = (struct ptx_symbol){ .s = s, .len = len, .hash = h, .bound = PTX_NONE,
				    .range = PTX_NONE, .stem = PTX_NONE,
				    .cached_range = PTX_NONE };
	p->syms.slot[at] = i + 1;
	p->syms.used++;
	return i;
}

static void note_undo(struct parser *p, bool is_range, uint32_t index)
{
	struct undo *u;

	if (!p->depth)		/* module scope never closes */
		return;
	u = vec_add(p, V_UNDO);
	*u = (struct undo){ is_range, index, p->depth };
}

void bind_name(struct parser *p, uint32_t sym, enum ptx_kind kind, uint32_t ref)
{
	uint32_t i = vec_push(p, V_BINDINGS);
	struct binding *b = &VEC(p, V_BINDINGS, struct binding)[i];

	*b = (struct binding){ sym, SYM(p, sym)->bound, p->depth, kind, ref };
	SYM(p, sym)->bound = i;
	note_undo(p, false, i);
}

void bind_range(struct parser *p, uint32_t prefix, uint32_t count, uint8_t type, uint8_t vec)
{
	uint32_t i = vec_push(p, V_RANGES);
	struct range *r = &VEC(p, V_RANGES, struct range)[i];

	*r = (struct range){ prefix, SYM(p, prefix)->range, p->depth, count, type, vec };
	SYM(p, prefix)->range = i;
	note_undo(p, true, i);
}

void open_scope(struct parser *p)
{
	uint32_t i = vec_push(p, V_SCOPES);

	VEC(p, V_SCOPES, struct ptx_scope)[i].parent = p->scope;
	p->scope = i;
	if (++p->depth > PTX_DEPTH)
		parse_error(p, -E2BIG, p->line, "blocks are nested too deep");
}

void close_scope(struct parser *p)
{
	struct ptx_vec *v = &p->m->vec[V_UNDO];
	struct undo *u = v->p;

	if (p->m->err)
		return;
	while (v->n && u[v->n - 1].depth == p->depth) {
		struct undo *top = &u[--v->n];

		if (top->is_range) {
			struct range *r = &VEC(p, V_RANGES, struct range)[top->index];

			SYM(p, r->sym)->range = r->outer;
		} else {
			struct binding *b = &VEC(p, V_BINDINGS, struct binding)[top->index];

			SYM(p, b->sym)->bound = b->outer;
		}
	}
	p->depth--;
	p->scope = VEC(p, V_SCOPES, struct ptx_scope)[p->scope].parent;
}

/* Splits off the number at the end of a name: %r12 is number 12 of %r. */
static void find_stem(struct parser *p, uint32_t sym)
{
	struct ptx_symbol *s = SYM(p, sym);
	uint32_t len = s->len, n, stem;
	uint64_t value = 0;

	while (len > 1 && s->s[len - 1] >= '0' && s->s[len - 1] <= '9')
		len--;
	for (n = len; n < s->len && n - len < 10; n++)
		value = value * 10 + (s->s[n] - '0');
	/* %r05 is no name of a range; neither is one without a number */
	if (len == s->len || n != s->len || value >= PTX_NONE ||
	    (s->s[len] == '0' && s->len - len > 1)) {
		s->stem = sym;
		s->number = PTX_NONE;
		return;
	}
	stem = intern(p, s->s, len);
	s = SYM(p, sym);
	s->stem = stem;
	s->number = value;
}

/* The register that `sym` stands for in a range: found again, or made. */
static uint32_t range_reg(struct parser *p, uint32_t range, uint32_t sym)
{
	struct range *r = &VEC(p, V_RANGES, struct range)[range];
	struct slots *t = &p->range_regs;
	struct ptx_reg *reg;
	uint32_t at, i, probes;

	if (t->used > t->mask / 2) {
		if (!slots_grow(p, t))
			return 0;
		for (i = 0; i < p->m->vec[V_REGS].n; i++) {
			reg = &VEC(p, V_REGS, struct ptx_reg)[i];
			if (reg->range == PTX_NONE)
				continue;
			at = hash_pair(reg->range, reg->sym) & t->mask;
			while (t->slot[at])
				at = (at + 1) & t->mask;
			t->slot[at] = i + 1;
			t->used++;
		}
	}
	at = hash_pair(range, sym) & t->mask;
	for (probes = 0; t->slot[at]; at = (at + 1) & t->mask) {
		reg = &VEC(p, V_REGS, struct ptx_reg)[t->slot[at] - 1];
		if (reg->range == range && reg->sym == sym)
			return t->slot[at] - 1;
		if (++probes > PROBES)
			return crowded(p);
	}
	i = add_reg(p, sym, r->type, r->vec);
	VEC(p, V_REGS, struct ptx_reg)[i].range = range;
	t->slot[at] = i + 1;
	t->used++;
	return i;
}

uint32_t add_reg(struct parser *p, uint32_t sym, uint8_t type, uint8_t vec)
{
	uint32_t i = vec_push(p, V_REGS);

	VEC(p, V_REGS, struct ptx_reg)[i] =
		(struct ptx_reg){ sym, type, vec, p->function, PTX_NONE };
	return i;
}

static const struct {
	const char *name;
	uint32_t len;
} specials[] = {
#define X(name) { "%" #name, sizeof(#name) },
	PTX_SPECIALS(X)
#undef X
};

static uint64_t number_after(const struct ptx_symbol *s, uint32_t prefix)
{
	uint64_t v = 0;

	for (; prefix < s->len && prefix < 12 && s->s[prefix] >= '0' && s->s[prefix] <= '9';
	     prefix++)
		v = v * 10 + (s->s[prefix] - '0');
	return v;
}

static bool begins(const struct ptx_symbol *s, const char *prefix)
{
	size_t len = strlen(prefix);

	return s->len > len && !memcmp(s->s, prefix, len);
}

static void special(const struct ptx_symbol *s, struct ptx_operand *o)
{
	uint32_t i;

	o->kind = PTX_SPECIAL;
	for (i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		if (s->len == specials[i].len && !memcmp(s->s, specials[i].name, s->len)) {
			o->ref = i;
			return;
		}
	}
	o->ref = PTX_SR_OTHER;
	if (begins(s, "%envreg")) {
		o->ref = PTX_SR_envreg;
		o->imm = number_after(s, 7);
	} else if (begins(s, "%pm")) {
		o->ref = PTX_SR_pm;
		o->imm = number_after(s, 3);
	} else if (begins(s, "%reserved_smem_offset_")) {
		o->ref = PTX_SR_reserved_smem_offset;
		o->imm = number_after(s, 22);
	}
}

void resolve(struct parser *p, struct ptx_operand *o)
{
	struct ptx_symbol *s = SYM(p, o->sym);
	const struct binding *b = NULL;
	const struct range *r = NULL;
	uint32_t range = PTX_NONE, steps;

	if (s->bound != PTX_NONE)
		b = &VEC(p, V_BINDINGS, struct binding)[s->bound];
	if (s->stem == PTX_NONE)
		find_stem(p, o->sym);
	s = SYM(p, o->sym);
	if (s->number != PTX_NONE) {
		range = SYM(p, s->stem)->range;
		for (steps = 0; range != PTX_NONE && steps < PTX_DEPTH; steps++) {
			r = &VEC(p, V_RANGES, struct range)[range];
			if (s->number < r->count)
				break;
			range = r->outer;
			r = NULL;
		}
	}
	if (r && (!b || r->depth >= b->depth)) {
		if (s->cached_range != range) {
			s->cached_reg = range_reg(p, range, o->sym);
			s->cached_range = range;
		}
		o->kind = PTX_REG;
		o->ref = s->cached_reg;
	} else if (b) {
		o->kind = b->kind;
		o->ref = b->ref;
	} else if (s->s[0] == '%') {
		special(s, o);
	} else {
		o->kind = PTX_NAME;
		o->ref = PTX_NONE;
	}
}

/* The table of labels is by scope and name, and holds one function's. */
static uint32_t *label_slot(struct parser *p, uint32_t scope, uint32_t sym)
{
	struct slots *t = &p->labels;
	uint32_t at = hash_pair(scope, sym) & t->mask, probes = 0;
	const struct ptx_label *l;

	for (; t->slot[at]; at = (at + 1) & t->mask) {
		l = &VEC(p, V_LABELS, struct ptx_label)[t->slot[at] - 1];
		if (l->scope == scope && l->sym == sym)
			break;
		if (++probes > PROBES) {
			crowded(p);
			return NULL;
		}
	}
	return &t->slot[at];
}

void add_label(struct parser *p, uint32_t label)
{
	struct slots *t = &p->labels;
	const struct ptx_label *l;
	uint32_t i, *slot;

	if (p->m->err)
		return;
	if (t->used > t->mask / 2) {
		if (!slots_grow(p, t))
			return;
		for (i = 0; i < label; i++) {
			l = &VEC(p, V_LABELS, struct ptx_label)[i];
			slot = label_slot(p, l->scope, l->sym);
			if (slot)
				*slot = i + 1;
		}
		t->used = label;
	}
	l = &VEC(p, V_LABELS, struct ptx_label)[label];
	slot = label_slot(p, l->scope, l->sym);
	if (!slot)
		return;
	if (*slot)
		parse_error(p, -EINVAL, p->t.line, "the label %.*s stands twice in a block",
			    (int)(SYM(p, l->sym)->len < 80 ? SYM(p, l->sym)->len : 80),
			    SYM(p, l->sym)->s);
	else
		*slot = label + 1;
	t->used++;
}

void resolve_labels(struct parser *p)
{
	struct ptx_vec *v = &p->m->vec[V_MARKS];
	uint32_t i, scope, *slot;

	for (i = 0; i < v->n && !p->m->err; i++) {
		struct mark *k = &((struct mark *)v->p)[i];
		struct ptx_operand *o = OPERAND(p, k->operand);

		for (scope = k->scope; scope != PTX_NONE;
		     scope = VEC(p, V_SCOPES, struct ptx_scope)[scope].parent) {
			slot = label_slot(p, scope, o->sym);
			if (!slot || *slot)
				break;
		}
		if (scope == PTX_NONE || !slot)
			continue;
		o->kind = PTX_LABEL;
		o->ref = *slot - 1;
		VEC(p, V_LABELS, struct ptx_label)[o->ref].uses++;
	}
	v->n = 0;
}
