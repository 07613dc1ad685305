// SPDX-License-Identifier: MIT
/*
 * From text to functions. Of a declaration outside of functions only its outline is
 * read: where it begins, whether it is a kernel, a typedef or a variable that may
 * change, its name, its parameters, its body. Attributes, types and initial values
 * are passed over; what begins with a brace and is none of these is refused, as a
 * body that isn't seen would not be rewritten.
 */
#include <errno.h>
#include <string.h>

#include "cl.h"
#include "../reserved.h"

static bool opens(uint16_t p)
{
	return p == '(' || p == '[' || p == '{';
}

static bool closes(uint16_t p)
{
	return p == ')' || p == ']' || p == '}';
}

static uint16_t partner(uint16_t p)
{
	return p == '(' ? ')' : p == '[' ? ']' : '}';
}

/* Tokens, symbols and the brackets' partners. */
void cl_read_tokens(struct job *j)
{
	uint32_t stack[MAX_DEPTH], n = 0, i;
	bool directive = false;
	struct lex_token t;
	struct tok *k;
	struct lex l;

	lex_init(&l, j->text, j->len, NULL);
	do {
		lex_next(&l, &t);
		i = j->n_toks;
		k = PUSH(j, j->toks, j->n_toks, j->cap_toks);
		*k = (struct tok){
			.pos = t.pos, .len = t.len, .line = t.line, .kind = t.kind,
			.flags = t.flags, .punct = t.punct, .x = NONE,
		};
		if (t.flags & LEX_LINE)
			directive = t.punct == '#';
		if (directive) {
			if (!(t.flags & LEX_LINE)) {
				k->kind = t.kind == LEX_END ? LEX_END : LEX_OTHER;
				k->punct = 0;
			}
			continue;
		}
		if (t.punct == '#' || t.punct == LEX_PASTE)
			cl_fail(j, -EINVAL, t.line, "a # that begins no line");
		if (t.kind == LEX_NAME) {
			k->x = cl_symbol_of(j, t.pos, t.len);
			if (j->syms[k->x].flags & S_TAKEN)
				cl_fail(j, -EEXIST, t.line, GSX_OURS_TEXT);
		} else if (t.kind == LEX_OTHER) {
			cl_fail(j, -EINVAL, t.line, "a character that begins nothing");
		} else if (opens(t.punct)) {
			if (n == MAX_DEPTH)
				cl_fail(j, -E2BIG, t.line, "brackets are nested too deep");
			stack[n++] = i;
		} else if (closes(t.punct)) {
			if (!n || partner(j->toks[stack[n - 1]].punct) != t.punct)
				cl_fail(j, -EINVAL, t.line, "a bracket without its partner");
			j->toks[stack[--n]].x = i;
			j->toks[i].x = stack[n];
		}
	} while (t.kind != LEX_END);
	if (l.open_line)
		cl_fail(j, -EINVAL, l.open_line, "a comment doesn't end");
	if (n)
		cl_fail(j, -EINVAL, j->toks[stack[n - 1]].line, "a bracket without its partner");
}

/* Behind the directive line that begins at @i. */
uint32_t cl_skip_directive(const struct job *j, uint32_t i)
{
	for (i++; j->toks[i].kind != LEX_END && !(j->toks[i].flags & LEX_LINE); i++)
		;
	return i;
}

/* Behind all attributes that begin at @i. */
uint32_t cl_skip_attributes(const struct job *j, uint32_t i)
{
	while (word(j, i) == W_ATTRIBUTE && is(j, i + 1, '('))
		i = j->toks[i + 1].x + 1;
	return i;
}

/* A number in a token, or NONE. */
static uint32_t number_at(const struct job *j, uint32_t i)
{
	const struct tok *t = &j->toks[i];
	uint32_t k, n = 0;

	if (t->kind != LEX_NUMBER)
		return NONE;
	for (k = 0; k < t->len; k++) {
		char c = j->text[t->pos + k];

		if (c < '0' || c > '9')
			return c == 'u' || c == 'U' ? n : NONE;
		n = n * 10 + (c - '0');
	}
	return n;
}

static bool spells(const struct job *j, uint32_t i, const char *what)
{
	return j->toks[i].len == strlen(what) &&
		!memcmp(j->text + j->toks[i].pos, what, j->toks[i].len);
}

/* Attributes between @from and @to: reqd_work_group_size(x, y, z), overloadable. */
static void read_attributes(const struct job *j, struct fn *f, uint32_t from, uint32_t to)
{
	uint32_t i, d;

	for (i = from; i < to; i++) {
		f->overload |= spells(j, i, "overloadable") || spells(j, i, "__overloadable__");
		if (i + 6 >= to || !is_name(j, i) || !is(j, i + 1, '(') ||
		    !(spells(j, i, "reqd_work_group_size") ||
		      spells(j, i, "__reqd_work_group_size__")))
			continue;
		for (d = 0; d < 3; d++) {
			uint32_t n = number_at(j, i + 2 + 2 * d);

			f->reqd[d] = n == NONE ? 0 : n;
		}
	}
}

/* A name that isn't part of the language, or only a builtin function's. */
bool cl_plain_name(const struct job *j, uint32_t i)
{
	enum word w = word(j, i);

	return is_name(j, i) && (w == W_PLAIN || w >= W_GLOBAL_ID);
}

/*
 * The name that a parameter declares: the last one outside of brackets, or inside of
 * (*name); NONE if there are only words of types.
 */
static uint32_t param_name(const struct job *j, uint32_t from, uint32_t to, bool *array)
{
	bool typed = false, tag = false;
	uint32_t name = NONE, i;

	*array = false;
	for (i = from; i < to; i++) {
		i = cl_skip_attributes(j, i);
		if (i >= to)
			break;
		if (is(j, i, '(') && name == NONE) {	/* (*name)[n], (name) */
			for (i++; is(j, i, '*') || (is_name(j, i) && !cl_plain_name(j, i)); i++)
				;
			*array = !cl_plain_name(j, i);
			return cl_plain_name(j, i) ? i : NONE;
		}
		if (is(j, i, '[')) {
			*array = true;
			i = j->toks[i].x;
		} else if (is(j, i, '(')) {
			i = j->toks[i].x;
		} else if (is_name(j, i)) {
			enum word w = word(j, i);

			if (w == W_TYPEOF && is(j, i + 1, '(')) {
				i = j->toks[i + 1].x;
				typed = true;
			} else if (w == W_STRUCT || w == W_ENUM) {
				tag = true;
			} else if (cl_plain_name(j, i)) {
				if (typed && !tag)
					name = i;
				tag = false;
				typed = true;
			} else if (w >= W_VOID || w == W_SIGNED) {
				typed = true;
			}
		}
	}
	return name;
}

static uint32_t space_flag(enum word w)
{
	switch (w) {
	case W_GLOBAL:
	case W_GENERIC:
		return GSX_CL_GLOBAL;
	case W_CONSTANT:
		return GSX_CL_CONSTANT;
	case W_LOCAL:
		return GSX_CL_LOCAL;
	case W_IMAGE:
		return GSX_CL_IMAGE;
	case W_SAMPLER:
		return GSX_CL_SAMPLER;
	case W_PIPE:
		return GSX_CL_PIPE;
	case W_QUEUE:
		return GSX_CL_QUEUE;
	default:
		return 0;
	}
}

static void read_param(struct job *j, uint32_t from, uint32_t to)
{
	struct param *p = PUSH(j, j->params, j->n_params, j->cap_params);
	uint32_t i, stars = 0, space = 0;
	bool readable = true, writable = false, plain = false;

	*p = (struct param){ .from = from, .to = to };
	p->name = param_name(j, from, to, &p->array);
	for (i = from; i < to && i != p->name; i++) {
		enum word w = word(j, i);

		i = cl_skip_attributes(j, i);
		if (i >= to || i == p->name)
			break;
		stars += is(j, i, '*');
		if (!stars)
			space |= space_flag(w);
		else
			space |= space_flag(w) & (GSX_CL_PIPE | GSX_CL_IMAGE);
		p->volatile_ |= w == W_VOLATILE || w == W_ATOMIC;
		if (w == W_WRITE_ONLY)
			readable = false;
		writable |= w == W_WRITE_ONLY || w == W_READ_WRITE;
		plain |= w == W_TYPE || w == W_SIGNED || w == W_VOID || w == W_ENUM;
		if (is_name(j, i)) {
			uint16_t f = sym(j, i)->flags;

			p->volatile_ |= !!(f & S_VOLATILE);
			p->single |= !!(f & S_SINGLE);
			plain |= w == W_PLAIN && !(f & S_POINTER);
			if (f & S_ADDRESS)
				stars++;
			if (w == W_STRUCT && i + 1 < to && cl_plain_name(j, i + 1) &&
			    !(sym(j, i + 1)->flags & S_DEFINED))
				p->deep = true;
			if (f & S_POINTER && w == W_PLAIN)
				p->deep = true;
		}
	}
	p->flags = space;
	if (stars || p->array)
		p->flags |= GSX_PARAM_POINTER | (stars && !space ? GSX_CL_GLOBAL : 0);
	p->single |= !!(space & (GSX_CL_IMAGE | GSX_CL_SAMPLER | GSX_CL_PIPE | GSX_CL_QUEUE));
	if (space & GSX_CL_IMAGE)
		p->flags |= GSX_PARAM_POINTER | (readable ? GSX_PARAM_READ : 0) |
			(writable ? GSX_PARAM_WRITTEN : 0);
	p->deep |= stars > 1 || !plain;
}

static void read_params(struct job *j, struct fn *f)
{
	uint32_t i = f->open + 1, from = i;

	f->param = j->n_params;
	if (i == f->close || (i + 1 == f->close && word(j, i) == W_VOID))
		return;
	for (; i <= f->close; i++) {
		if (i == f->close || is(j, i, ',')) {
			if (!is(j, from, LEX_ELLIPSIS))
				read_param(j, from, i);
			from = i + 1;
		} else if (opens(j->toks[i].punct)) {
			i = j->toks[i].x;
		}
	}
	f->n_params = j->n_params - f->param;
}

struct declaration {
	uint32_t from, name, open;
	bool kernel, type, changes, constant, is_const, volatile_, space, single, pointer;
	bool star, address;	/* address: of a typedef that is a pointer */
	bool is_extern;
	bool value;		/* an = was seen */
	bool comma;		/* a comma before the function's name */
	bool moves;		/* a pointer to constants, that may itself change */
	bool aggregate, known_type;
	uint32_t tag;		/* token, 0: none */
	uint16_t size;		/* in bytes, 0: not known */
};

static void add_function(struct job *j, const struct declaration *d, uint32_t at)
{
	struct fn *f = PUSH(j, j->fns, j->n_fns, j->cap_fns);
	struct symbol *y = sym(j, d->name);
	uint32_t i = j->n_fns - 1, *link;

	*f = (struct fn){
		.from = d->from, .name = d->name, .open = d->open, .close = j->toks[d->open].x,
		.body = NONE, .end = at, .next = NONE, .kernel = d->kernel,
	};
	if (is(j, at, '{')) {
		/* others are mangled by their parameters, and overload what they are named as */
		if (y->word == W_INNER ||
		    (d->kernel && gsx_name_is_device(j->text + y->pos, y->len)))
			cl_fail(j, -EINVAL, j->toks[d->name].line, GSX_DEVICE_TEXT);
		f->body = at;
		f->end = j->toks[at].x;
	}
	for (link = &y->fn; *link != NONE; link = &j->fns[*link].next)
		spend(j);
	*link = i;
	read_params(j, f);
	read_attributes(j, f, f->from, f->body != NONE ? f->body : at);
}

/* Only attributes stand before a body: else the name was something else's. */
static void check_head(struct job *j, const struct declaration *d, uint32_t body)
{
	uint32_t i = j->toks[d->open].x + 1, k;

	for (; i < body; i = k) {
		k = begins_line_hash(j, i) ? cl_skip_directive(j, i) : cl_skip_attributes(j, i);
		if (k == i)
			cl_fail(j, -EINVAL, j->toks[i].line,
				"a function whose name can't be told");
	}
}

/* The names that a typedef or a variable declares, from the end of its type on. */
static void note_names(struct job *j, const struct declaration *d, uint32_t to)
{
	uint32_t i, name = NONE;
	bool value = false;

	for (i = d->from; i <= to; i++) {
		if (is(j, i, ',') || is(j, i, ';') || i == to) {
			if (name != NONE) {
				struct symbol *y = sym(j, name);

				if (j->joins)
					*PUSH(j, j->named, j->n_named, j->cap_named) = name;
				if (d->type && !d->pointer && !is(j, name + 1, '['))
					y->arg = d->size;
				if (d->type)
					y->flags |= S_TYPE |
						(d->volatile_ ? S_VOLATILE : 0) |
						(d->space && !d->pointer ? S_SPACE : 0) |
						(d->single ? S_SINGLE : 0) |
						(d->star || d->address ? S_ADDRESS : 0) |
						(d->pointer || !d->known_type ? S_POINTER : 0);
				else if (word(j, name) == W_INNER && (value || !d->is_extern))
					cl_fail(j, -EINVAL, j->toks[name].line, GSX_DEVICE_TEXT);
				else
					y->flags |= (value || !d->is_extern ? S_HERE : S_EXTERN) |
						S_PROGRAM | (d->changes ? S_GLOBAL : 0) |
						(d->volatile_ ? S_VOLATILE : 0);
			}
			name = NONE;
			value = false;
		} else if (is(j, i, '=')) {
			value = true;
		} else if (is(j, i, '(') && is(j, i + 1, '*') && name == NONE) {
			continue;
		} else if (opens(j->toks[i].punct)) {
			i = j->toks[i].x;
		} else if (is_name(j, i) && !value) {
			uint32_t k = cl_skip_attributes(j, i);

			if (k != i)
				i = k - 1;
			else if (word(j, i) == W_STRUCT || word(j, i) == W_ENUM)
				i += cl_plain_name(j, i + 1);
			else if (cl_plain_name(j, i))
				name = i;
		}
	}
}

/* The members of a struct or union: does it hold pointers, are some volatile? */
static void read_members(struct job *j, struct declaration *d, uint32_t open)
{
	bool changes = false;
	uint32_t i;

	for (i = open + 1; i < j->toks[open].x; i++) {
		enum word w = word(j, i);

		if (is(j, i, ';'))
			changes = false;
		changes |= w == W_VOLATILE || w == W_ATOMIC ||
			(is_name(j, i) && w == W_TYPE && sym(j, i)->flags & S_VOLATILE);
		if (changes && cl_plain_name(j, i))
			sym(j, i)->flags |= S_VOLATILE;
		d->pointer |= is(j, i, '*') ||
			(w == W_PLAIN && is_name(j, i) && sym(j, i)->flags & S_POINTER);
	}
	if (d->tag)
		sym(j, d->tag)->flags |= S_DEFINED | (d->pointer ? S_POINTER : 0);
}

/* May a thing of the type named by token @i hold an address? */
bool cl_holds_addresses(const struct job *j, uint32_t i)
{
	return sym(j, i)->flags & S_POINTER;
}

/* Attributes that give to something the name of another. */
static void check_names(struct job *j, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from; i < to; i++)
		if (spells(j, i, "alias") || spells(j, i, "weakref") || spells(j, i, "ifunc") ||
		    spells(j, i, "__alias__") || spells(j, i, "__weakref__") ||
		    spells(j, i, "__ifunc__"))
			cl_fail(j, -EINVAL, j->toks[i].line, "a name for something else");
}

/* One declaration outside of functions; returns what is behind it. */
uint32_t cl_declaration(struct job *j, uint32_t i)
{
	struct declaration d = { .from = i, .name = NONE };

	for (; j->toks[i].kind != LEX_END; i++) {
		enum word w = word(j, i);

		if (begins_line_hash(j, i)) {
			i = cl_skip_directive(j, i) - 1;
			continue;
		}
		if (w == W_ASM)
			cl_fail(j, -EINVAL, j->toks[i].line, "assembler outside of functions");
		if (w == W_ATTRIBUTE && is(j, i + 1, '(')) {
			check_names(j, i + 2, j->toks[i + 1].x);
			d.kernel |= sym(j, i)->arg;
			i = j->toks[i + 1].x;
			continue;
		}
		if (w == W_TYPEOF && is(j, i + 1, '(')) {
			i = j->toks[i + 1].x;
			continue;
		}
		if (is_name(j, i)) {
			struct symbol *y = sym(j, i);

			d.kernel |= w == W_KERNEL;
			d.type |= w == W_TYPEDEF;
			d.volatile_ |= w == W_VOLATILE || w == W_ATOMIC ||
				!!(y->flags & S_VOLATILE && !d.value);
			d.is_const |= w == W_CONST;
			d.is_extern |= w == W_EXTERN;
			d.constant |= w == W_CONSTANT;
			d.space |= w == W_LOCAL || w == W_CONSTANT || y->flags & S_SPACE;
			d.single |= w == W_IMAGE || w == W_SAMPLER || w == W_PIPE || w == W_QUEUE ||
				y->flags & S_SINGLE;
			d.known_type |= w == W_TYPE || w == W_SIGNED || w == W_VOID ||
				w == W_STRUCT || w == W_ENUM ||
				(y->flags & S_TYPE && !(y->flags & S_POINTER));
			d.pointer |= y->flags & S_TYPE && y->flags & S_POINTER && !d.value;
			d.address |= !!(y->flags & S_ADDRESS && !d.value);
			if (w == W_TYPE || (w == W_SIGNED && !d.size) ||
			    (w == W_PLAIN && y->flags & S_TYPE))
				d.size = y->arg || w != W_TYPE ? y->arg : j->pointer_bytes;
			if (w == W_STRUCT || w == W_ENUM) {
				d.aggregate = true;
				if (cl_plain_name(j, i + 1)) {
					d.pointer |= !!(sym(j, i + 1)->flags & S_POINTER) ||
						(w == W_STRUCT && !is(j, i + 2, '{') &&
						 !(sym(j, i + 1)->flags & S_DEFINED));
					d.tag = ++i;
				}
			}
			if (d.name == NONE && !d.value && !d.type && is(j, i + 1, '(') &&
			    cl_plain_name(j, i)) {
				d.name = i;
				d.open = i + 1;
				i = j->toks[i + 1].x;
			}
			continue;
		}
		if (is(j, i, ';'))
			break;
		d.comma |= is(j, i, ',') && d.name == NONE;
		if (is(j, i, ','))	/* the next name of the list */
			d.value = false;
		d.moves |= is(j, i, '*') && !d.value;
		d.value |= is(j, i, '=');
		d.star |= is(j, i, '*');
		d.pointer |= d.star;
		if (is(j, i, '{')) {
			if (d.name != NONE && !d.value) {
				check_head(j, &d, i);
				add_function(j, &d, i);
				return j->toks[i].x + 1;
			}
			if (!d.value && !d.aggregate)
				cl_fail(j, -EINVAL, j->toks[i].line,
				     "a body that belongs to no function we can read");
			if (!d.value)
				read_members(j, &d, i);
			d.aggregate = false;
		}
		if (opens(j->toks[i].punct))
			i = j->toks[i].x;
	}
	if (d.name != NONE && !d.type) {
		if (is(j, j->toks[d.open].x + 1, ',') || d.comma || d.value)
			cl_fail(j, -EINVAL, j->toks[d.name].line,
				"a function that is declared together with something else");
		add_function(j, &d, i);
	} else if (i > d.from) {
		/* const tables that hold no addresses are the same in a shadow */
		d.changes = !(d.constant && !d.moves && !d.address) &&
			!(d.is_const && !d.pointer);
		note_names(j, &d, i);
	}
	return i + 1;
}

void cl_parse(struct job *j)
{
	uint32_t i = 0;

	cl_read_tokens(j);
	while (i < j->n_toks && j->toks[i].kind != LEX_END) {
		if (begins_line_hash(j, i))
			i = cl_skip_directive(j, i);
		else if (is(j, i, ';'))
			i++;
		else
			i = cl_declaration(j, i);
	}
}
