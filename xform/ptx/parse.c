// SPDX-License-Identifier: MIT
/* A module: its directives, variables and functions. */
#include <errno.h>
#include <string.h>

#include "parser.h"

static bool small_number(const char *s, const char *end, uint32_t *n)
{
	*n = 0;
	if (s == end || end - s > 2)
		return false;
	for (; s < end && *s >= '0' && *s <= '9'; s++)
		*n = *n * 10 + (*s - '0');
	return s == end;
}

static void version(struct parser *p)
{
	uint32_t major, minor;
	const char *dot;

	next(p);
	dot = p->t.kind == TOK_NUMBER ? memchr(p->t.s, '.', p->t.len) : NULL;
	if (!dot || !small_number(p->t.s, dot, &major) ||
	    !small_number(dot + 1, p->t.s + p->t.len, &minor)) {
		parse_error(p, -EINVAL, p->t.line, ".version needs a number");
		return;
	}
	p->m->version = major * 100 + minor;
	next(p);
}

/* .target sm_90a, debug */
static void target(struct parser *p)
{
	const char *s;
	uint32_t n = 0, i;

	do {
		next(p);
		if (p->t.kind != TOK_WORD) {
			parse_error(p, -EINVAL, p->t.line, ".target needs names");
			return;
		}
		s = p->t.s;
		if (p->t.len > 3 && !memcmp(s, "sm_", 3)) {
			for (i = 3; i < p->t.len && i < 8 && s[i] >= '0' && s[i] <= '9'; i++)
				n = n * 10 + (s[i] - '0');
			p->m->target = n;
			p->m->target_suffix = i < p->t.len ? s[i] : 0;
		}
		if (is_word(p, "debug"))
			p->m->debug = true;
		next(p);
	} while (is_punct(p, ','));
}

/* .section .debug_info { ... }: bytes and labels, of no interest here */
static void section(struct parser *p)
{
	int depth = 0;

	p->m->debug = true;
	if (p->m->tail == p->m->len)
		p->m->tail = offset_of(p, p->t.s);
	while (p->t.kind != TOK_EOF) {
		depth += is_punct(p, '{');
		if (is_punct(p, '}') && !--depth) {
			next(p);
			return;
		}
		if (depth < 0)
			break;
		next(p);
	}
	parse_error(p, -EINVAL, p->t.line, "a section doesn't end");
}

static void number_list(struct parser *p, uint32_t *product)
{
	uint64_t n, all = 1;

	do {
		next(p);
		if (!parse_uint(p, &n))
			return;
		all = all * n > PTX_NONE || n > PTX_NONE ? PTX_NONE : all * n;
	} while (is_punct(p, ','));
	if (product)
		*product = all;
}

/* Between the parameters and the body. */
static void function_directives(struct parser *p, struct ptx_function *f)
{
	while (p->t.kind == TOK_DOT) {
		if (is_word(p, ".maxntid")) {
			number_list(p, &f->max_threads);
		} else if (is_word(p, ".reqntid")) {
			number_list(p, &f->req_threads);
		} else if (is_word(p, ".minnctapersm")) {
			number_list(p, &f->min_ctas);
		} else if (is_word(p, ".maxnreg")) {
			f->maxnreg_begin = offset_of(p, p->t.s);
			number_list(p, &f->max_regs);
			f->maxnreg_end = offset_of(p, p->t.s);
		} else if (is_word(p, ".reqnctapercluster") || is_word(p, ".maxclusterrank")) {
			f->clustered = 1;
			number_list(p, NULL);
		} else if (is_word(p, ".pragma")) {
			while (p->t.kind != TOK_EOF && !is_punct(p, ';') && !is_punct(p, '{'))
				next(p);
			accept(p, ';');
		} else {
			if (is_word(p, ".explicitcluster") || is_word(p, ".blocksareclusters"))
				f->clustered = 1;
			next(p);
			while (p->t.kind == TOK_NUMBER || is_punct(p, ','))
				next(p);
		}
	}
}

/* The function of that name: declared before, or new. */
static uint32_t function_named(struct parser *p, uint32_t sym)
{
	struct ptx_operand o = { .sym = sym };
	uint32_t i;

	resolve(p, &o);
	if (o.kind == PTX_FUNCTION)
		return o.ref;
	i = vec_push(p, V_FUNCTIONS);
	FUNCTION(p, i)->sym = sym;
	bind_name(p, sym, PTX_FUNCTION, i);
	return i;
}

static void parens(struct parser *p, uint32_t *first, uint32_t *n, uint32_t *bytes)
{
	next(p);
	parse_params(p, first, n, bytes);
}

/* p->t is at .entry or .func */
static void function(struct parser *p, uint8_t linkage, uint32_t begin)
{
	struct ptx_function f = { .linkage = linkage, .begin = begin };
	uint32_t i, k, ret_bytes, sym;

	f.entry = is_word(p, ".entry");
	f.head = offset_of(p, p->t.s);
	f.line = p->t.line;
	next(p);
	while (p->t.kind == TOK_DOT) {	/* .attribute(...) */
		next(p);
		if (is_punct(p, '('))
			while (p->t.kind != TOK_EOF && !accept(p, ')'))
				next(p);
	}
	/* parameters belong to the scope of the body; the name doesn't */
	p->function = p->m->vec[V_FUNCTIONS].n;
	open_scope(p);
	if (is_punct(p, '(')) {
		parens(p, &f.rets, &f.n_rets, &ret_bytes);
		expect(p, ')');
	}
	if (p->t.kind != TOK_WORD) {
		parse_error(p, -EINVAL, p->t.line, "a function's name is missing");
		return;
	}
	sym = intern(p, p->t.s, p->t.len);
	f.name_begin = offset_of(p, p->t.s);
	f.name_end = f.params_begin = f.params_end = f.name_begin + p->t.len;
	p->depth--;
	i = function_named(p, sym);
	p->depth++;
	p->function = i;
	/* results were read before the name said which function this is */
	for (k = 0; k < f.n_rets; k++)
		VAR(p, f.rets + k)->function = i;
	next(p);
	if (is_punct(p, '(')) {
		f.params_begin = offset_of(p, p->t.s) + 1;
		parens(p, &f.params, &f.n_params, &f.param_bytes);
		f.params_end = offset_of(p, p->t.s);
		expect(p, ')');
	}
	if (f.n_params && !p->m->err) {
		const struct ptx_variable *last = VAR(p, f.params + f.n_params - 1);

		f.variadic = last->array && !last->count;
	}
	function_directives(p, &f);
	f.has_body = is_punct(p, '{');
	if (f.has_body && FUNCTION(p, i)->has_body)
		parse_error(p, -EINVAL, f.line, "a function is defined twice");
	f.sym = sym;
	f.address_taken = FUNCTION(p, i)->address_taken;
	if (!FUNCTION(p, i)->has_body)
		*FUNCTION(p, i) = f;
	if (f.has_body) {
		FUNCTION(p, i)->first_operand = p->m->vec[V_OPERANDS].n;
		FUNCTION(p, i)->first_reg = p->m->vec[V_REGS].n;
		FUNCTION(p, i)->body_begin = offset_of(p, p->t.s) + 1;
		next(p);
		parse_body(p, i);
		FUNCTION(p, i)->body_end = offset_of(p, p->t.s);
		resolve_labels(p);
		FUNCTION(p, i)->n_operands = p->m->vec[V_OPERANDS].n -
					     FUNCTION(p, i)->first_operand;
		FUNCTION(p, i)->n_regs = p->m->vec[V_REGS].n - FUNCTION(p, i)->first_reg;
	}
	close_scope(p);
	p->function = PTX_NONE;
	p->m->vec[V_MARKS].n = 0;
	if (f.has_body)
		next(p);	/* } */
	else
		expect(p, ';');
}

/* Anything else at module scope ends with a ';' outside of braces. */
static void skip_unknown(struct parser *p)
{
	int depth = 0;

	while (p->t.kind != TOK_EOF && !(is_punct(p, ';') && depth <= 0)) {
		depth += is_punct(p, '{') - is_punct(p, '}');
		next(p);
	}
	expect(p, ';');
}

/* p->t is at the space */
static void declaration(struct parser *p, uint8_t linkage, uint32_t begin)
{
	uint32_t i = p->m->vec[V_VARS].n, end;

	parse_declaration(p, linkage);
	end = is_punct(p, ';') ? offset_of(p, p->t.s) + 1 : begin;
	for (; i < p->m->vec[V_VARS].n && !p->m->err; i++) {
		VAR(p, i)->begin = begin;
		VAR(p, i)->end = end;
	}
	expect(p, ';');
}

static void item(struct parser *p)
{
	uint32_t begin = offset_of(p, p->t.s);
	uint8_t linkage = 0;

	if (accept(p, ';'))
		return;
	if (is_punct(p, '@')) {		/* @@DWARF, of old compilers */
		p->m->debug = true;
		if (p->m->tail == p->m->len)
			p->m->tail = begin;
		skip_line(p);
		return;
	}
	if (p->t.kind != TOK_DOT) {
		parse_error(p, -EINVAL, p->t.line, "'%.*s' begins no directive",
			    (int)(p->t.len < 40 ? p->t.len : 40), p->t.s);
		return;
	}
	while (linkage_of(p)) {
		linkage |= linkage_of(p);
		next(p);
	}
	if (is_word(p, ".version")) {
		version(p);
	} else if (is_word(p, ".target")) {
		target(p);
	} else if (is_word(p, ".address_size")) {
		uint64_t bits = 0;

		next(p);
		parse_uint(p, &bits);
		p->m->address_size = bits;
	} else if (is_word(p, ".file") || is_word(p, ".loc")) {
		skip_line(p);
	} else if (is_word(p, ".section")) {
		section(p);
	} else if (is_word(p, ".entry") || is_word(p, ".func")) {
		p->m->tail = p->m->len;		/* sections before it aren't at the end */
		function(p, linkage, begin);
	} else if (space_of(p) != PTX_SPACE_NONE) {
		p->m->tail = p->m->len;
		declaration(p, linkage, begin);
	} else {
		skip_unknown(p);
	}
}

static void publish(struct ptx_module *m)
{
	m->functions = m->vec[V_FUNCTIONS].p;
	m->stmts = m->vec[V_STMTS].p;
	m->operands = m->vec[V_OPERANDS].p;
	m->regs = m->vec[V_REGS].p;
	m->vars = m->vec[V_VARS].p;
	m->labels = m->vec[V_LABELS].p;
	m->scopes = m->vec[V_SCOPES].p;
	m->syms = m->vec[V_SYMS].p;
	m->opcodes = m->vec[V_OPCODES].p;
	m->n_functions = m->vec[V_FUNCTIONS].n;
	m->n_stmts = m->vec[V_STMTS].n;
	m->n_operands = m->vec[V_OPERANDS].n;
	m->n_regs = m->vec[V_REGS].n;
	m->n_vars = m->vec[V_VARS].n;
	m->n_labels = m->vec[V_LABELS].n;
	m->n_scopes = m->vec[V_SCOPES].n;
	m->n_syms = m->vec[V_SYMS].n;
	m->n_opcodes = m->vec[V_OPCODES].n;
}

static const uint32_t element_size[V_COUNT] = {
	[V_FUNCTIONS] = sizeof(struct ptx_function), [V_STMTS] = sizeof(struct ptx_stmt),
	[V_OPERANDS] = sizeof(struct ptx_operand), [V_REGS] = sizeof(struct ptx_reg),
	[V_VARS] = sizeof(struct ptx_variable), [V_LABELS] = sizeof(struct ptx_label),
	[V_SCOPES] = sizeof(struct ptx_scope), [V_SYMS] = sizeof(struct ptx_symbol),
	[V_OPCODES] = sizeof(struct ptx_opcode), [V_BINDINGS] = sizeof(struct binding),
	[V_RANGES] = sizeof(struct range), [V_UNDO] = sizeof(struct undo),
	[V_STACK] = sizeof(struct ptx_operand), [V_MARKS] = sizeof(struct mark),
	[V_STRINGS] = sizeof(char *),
};

static int set_up(struct parser *p)
{
	int i, err;

	for (i = 0; i < V_COUNT; i++) {
		err = vec_init(p->m, i, element_size[i]);
		if (err) {
			parse_error(p, err, 0, "no memory to begin with");
			return err;
		}
	}
	if (!slots_init(p, &p->syms, 512) || !slots_init(p, &p->opcodes, 256) ||
	    !slots_init(p, &p->labels, 256) || !slots_init(p, &p->range_regs, 512))
		return p->m->err;
	return 0;
}

int ptx_parse(struct ptx_module *m, const char *text, size_t len, const char *file,
	      size_t memory_limit)
{
	struct parser p = { .m = m, .p = text, .end = text + len, .line = 1,
			    .scope = PTX_NONE, .function = PTX_NONE };

	memset(m, 0, sizeof(*m));
	m->text = text;
	m->len = len;
	m->tail = len;
	m->file = file;
	m->memory_limit = memory_limit;
	if (len >= 1u << 31) {
		parse_error(&p, -E2BIG, 0, "2 GiB of text or more");
		return m->err;
	}
	if (!set_up(&p)) {
		next(&p);
		while (p.t.kind != TOK_EOF)
			item(&p);
		if (!m->err && !m->version)
			parse_error(&p, -EINVAL, 1, "no .version: this isn't PTX");
	}
	slots_free(&p, &p.syms);
	slots_free(&p, &p.opcodes);
	slots_free(&p, &p.labels);
	slots_free(&p, &p.range_regs);
	publish(m);
	return m->err;
}

bool ptx_is(const struct ptx_module *m, uint32_t sym, const char *name)
{
	size_t len = strlen(name);

	return m->syms[sym].len == len && !memcmp(m->syms[sym].s, name, len);
}

uint32_t ptx_call_target(const struct ptx_module *m, const struct ptx_stmt *s)
{
	uint32_t i;

	for (i = 0; i < s->n_args; i++)
		if (m->operands[s->args + i].kind != PTX_LIST)
			break;
	if (i == s->n_args || m->operands[s->args + i].kind != PTX_FUNCTION)
		return PTX_NONE;
	return m->operands[s->args + i].ref;
}
