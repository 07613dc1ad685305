// SPDX-License-Identifier: MIT
/*
 * Programs that are linked of several: what their sources are as one.
 *
 * Each kernel must be judged with all that it calls, and a function that asks for its
 * group must be given the state wherever it stands. So the sources, preprocessed each
 * with its own options, are put behind one another. That is what the linker makes of
 * them only if no name of one means something else in another, for which there is a
 * rule that is stricter than need be, but can be seen to be right:
 *
 *  - A name that one source declares outside of functions, each that names it declares.
 *  - If several do, then they all speak of one function, or of one variable (extern);
 *    or in the same words of the same type, constant or static function, as a header
 *    does that they all include. The later ones go then.
 *  - Nothing of that has the name of a builtin function, or is overloaded.
 *  - They are built with the same options, and have the same extensions enabled, before
 *    anything else. Other #pragma lines but unroll might reach into the next one.
 *
 * What the compiler makes of it then is right or an error. Else: the original, whole.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl.h"

#define MAX_UNITS	64
#define MAX_EXTENSIONS	64

/* A name, and the declaration that brings it. */
struct declared {
	uint32_t sym, unit, from, to;	/* tokens; @to: one behind the last */
	uint32_t next;			/* of the same name, NONE */
	bool function, body, internal, outer, overload;	/* internal: static; outer: extern */
};

struct link {
	struct job *j;
	uint32_t n_units;
	const uint32_t *start;		/* [n_units + 1] where each begins in the text */
	char *text;			/* the same, to be changed */
	struct declared *of;
	uint32_t n, cap;
	/* per symbol: in which sources it is declared, and named; its last declaration */
	uint64_t *declares, *names;
	uint32_t *last;
	struct {
		char name[64];
		uint64_t units;
	} extension[MAX_EXTENSIONS];
	uint32_t n_extensions;
};

static uint32_t unit_of(const struct link *k, uint32_t tok)
{
	uint32_t u = 0, pos = k->j->toks[tok].pos;

	while (u + 1 < k->n_units && pos >= k->start[u + 1])
		u++;
	return u;
}

static void fail(const struct link *k, uint32_t tok, const char *text)
{
	cl_fail(k->j, -EINVAL, k->j->toks[tok].line, text);
}

static void note(struct link *k, uint32_t tok, const struct declared *how)
{
	struct declared *d = PUSH(k->j, k->of, k->n, k->cap);

	*d = *how;
	d->sym = k->j->toks[tok].x;
	d->next = k->last[d->sym];
	k->last[d->sym] = k->n - 1;
	k->declares[d->sym] |= 1ull << d->unit;
}

/* Tags that are defined, and the constants of enumerations, at any depth. */
static void note_tags(struct link *k, const struct declared *how, uint32_t to)
{
	struct job *j = k->j;
	uint32_t i, open, m;

	for (i = how->from; i < to; i++) {
		if (word(j, i) != W_STRUCT && word(j, i) != W_ENUM)
			continue;
		open = cl_skip_attributes(j, i + 1);
		if (cl_plain_name(j, open) && is(j, open + 1, '{'))
			note(k, open++, how);
		if (word(j, i) != W_ENUM || !is(j, open, '{'))
			continue;
		for (m = open + 1; m < j->toks[open].x; m++)
			if (cl_plain_name(j, m) && (is(j, m - 1, '{') || is(j, m - 1, ',')))
				note(k, m, how);
	}
}

static void declaration(struct link *k, uint32_t from, uint32_t to, uint32_t fn)
{
	struct job *j = k->j;
	struct declared how = { .unit = unit_of(k, from), .from = from, .to = to };
	uint32_t i, head = to;

	if (fn != NONE) {
		how.function = true;
		how.body = j->fns[fn].body != NONE;
		how.overload = j->fns[fn].overload;
		head = how.body ? j->fns[fn].body : to;
	}
	for (i = from; i < head; i++) {
		how.internal |= word(j, i) == W_STATIC || word(j, i) == W_INLINE;
		how.outer |= word(j, i) == W_EXTERN;
	}
	note_tags(k, &how, head);
	if (fn != NONE)
		note(k, j->fns[fn].name, &how);
	for (i = 0; i < j->n_named; i++)
		note(k, j->named[i], &how);
	j->n_named = 0;
}

static void directive(struct link *k, uint32_t i, bool first)
{
	char line[200] = "", name[64] = "", what[16] = "";
	const char *from = k->j->text + k->j->toks[i].pos;
	size_t len = strcspn(from, "\n");
	uint32_t e;

	memcpy(line, from, len < sizeof(line) - 1 ? len : sizeof(line) - 1);
	if (len >= sizeof(line))
		fail(k, i, "a line that is too long to be linked");
	if (sscanf(line, " # %15s", what) == 1 && strcmp(what, "pragma"))
		return;		/* #line, or nothing */
	if (sscanf(line, " # pragma %15s", what) == 1 && !strcmp(what, "unroll"))
		return;
	if (!first || sscanf(line, " # pragma OPENCL EXTENSION %63[a-z0-9_A-Z] : %15s", name,
			     what) != 2 || strcmp(what, "enable"))
		fail(k, i, "a #pragma that may reach beyond its own source");
	for (e = 0; e < k->n_extensions && strcmp(k->extension[e].name, name); e++)
		;
	if (e == MAX_EXTENSIONS)
		fail(k, i, "too many extensions");
	if (e == k->n_extensions)
		strcpy(k->extension[k->n_extensions++].name, name);
	k->extension[e].units |= 1ull << unit_of(k, i);
}

static void read_units(struct link *k)
{
	struct job *j = k->j;
	uint32_t i = 0, next, fn, unit, said = NONE;

	while (i < j->n_toks && j->toks[i].kind != LEX_END) {
		unit = unit_of(k, i);
		if (begins_line_hash(j, i)) {
			directive(k, i, said != unit);
			i = cl_skip_directive(j, i);
		} else if (is(j, i, ';')) {
			i++;
		} else {
			fn = j->n_fns;
			next = cl_declaration(j, i);
			if (j->toks[next - 1].kind != LEX_END && unit_of(k, next - 1) != unit)
				fail(k, i, "a declaration that goes on in the next source");
			declaration(k, i, next, fn < j->n_fns ? fn : NONE);
			said = unit;
			/* those in function bodies reach as far */
			for (; i < next; i++)
				if (begins_line_hash(j, i))
					directive(k, i, false);
		}
	}
	for (i = 0; j->toks[i].kind != LEX_END; i++)
		if (is_name(j, i))
			k->names[j->toks[i].x] |= 1ull << unit_of(k, i);
}

static bool same_words(const struct job *j, const struct declared *a, const struct declared *b)
{
	uint32_t i;

	if (a->to - a->from != b->to - b->from)
		return false;
	for (i = 0; i < a->to - a->from; i++) {
		const struct tok *x = &j->toks[a->from + i], *y = &j->toks[b->from + i];

		if (x->kind == LEX_OTHER || x->len != y->len ||
		    memcmp(j->text + x->pos, j->text + y->pos, x->len))
			return false;
	}
	return true;
}

/* Said in the same words in an earlier source, as of something that has no state. */
static bool said_before(struct link *k, const struct declared *d)
{
	const struct symbol *y = &k->j->syms[d->sym];
	uint32_t i;

	if (d->outer || (d->function ? !d->internal : y->flags & S_GLOBAL))
		return false;
	for (i = k->last[d->sym]; i != NONE; i = k->of[i].next) {
		spend(k->j);
		if (k->of[i].unit < d->unit && same_words(k->j, &k->of[i], d))
			return true;
	}
	return false;
}

/* Lines stay what they are. */
static void drop(struct link *k, const struct declared *d)
{
	const struct tok *last = &k->j->toks[d->to - 1];
	uint32_t i;

	for (i = k->j->toks[d->from].pos; i < last->pos + last->len; i++)
		if (k->text[i] != '\n')
			k->text[i] = ' ';
}

static uint32_t first_unit(uint64_t units)
{
	return (uint32_t)__builtin_ctzll(units);
}

/* A name that several sources declare. */
static void join_name(struct link *k, uint32_t sym)
{
	uint32_t i, bodies = 0, first = first_unit(k->declares[sym]);
	bool functions = true, variables = true;
	const struct declared *d;

	for (i = k->last[sym]; i != NONE; i = d->next) {
		d = &k->of[i];
		if (d->overload)
			fail(k, d->from, "an overloaded function that several sources have");
		functions &= d->function && !d->internal;
		variables &= !d->function && !d->internal &&
			k->j->syms[sym].flags & S_PROGRAM && !(k->j->syms[sym].flags & S_TYPE);
		bodies += d->function ? d->body : !d->outer;
	}
	for (i = k->last[sym]; i != NONE; i = d->next) {
		d = &k->of[i];
		if ((functions || variables) && bodies <= 1)
			return;
		if (d->unit == first)
			continue;
		if (!said_before(k, d))
			fail(k, d->from, "a name that another source declares in other words");
		drop(k, d);
	}
}

static void link_units(struct job *j, struct gsx_cl_result *res, void *arg)
{
	struct link *k = arg;
	uint32_t i, all = k->n_units;

	(void)res;
	k->j = j;
	j->joins = true;
	cl_read_tokens(j);
	k->declares = cl_get(j, j->n_syms * sizeof(*k->declares));
	k->names = cl_get(j, j->n_syms * sizeof(*k->names));
	k->last = cl_get(j, j->n_syms * sizeof(*k->last));
	for (i = 0; i < j->n_syms; i++)
		k->last[i] = NONE;
	read_units(k);
	for (i = 0; i < k->n_extensions; i++)
		if (k->extension[i].units != (all < 64 ? (1ull << all) - 1 : ~0ull))
			fail(k, 0, "extensions that not all of the sources enable");
	for (i = 0; i < j->n_syms; i++) {
		uint64_t in = k->declares[i];

		if (!in)
			continue;
		if (k->names[i] & ~in)
			fail(k, k->of[k->last[i]].from,
			     "a name that is declared here means something else in another source");
		if (!(in & (in - 1)))
			continue;
		if (cl_is_builtin(j, &j->syms[i]))
			fail(k, k->of[k->last[i]].from,
			     "a builtin function's name that several sources declare");
		join_name(k, i);
	}
}

/* All texts behind one another, with where they begin; their lines and guards likewise. */
static bool put_together(const struct gsx_cl_source *units, uint32_t n, uint32_t *start,
			 char (*file)[24], struct gsx_cl_source *whole)
{
	size_t len = 0, guard = 0, n_lines = 0;
	struct gsx_cl_line *lines;
	uint32_t u, i, line = 0;

	for (u = 0; u < n; u++) {
		len += units[u].len + 1;
		guard += strlen(units[u].guard);
		n_lines += units[u].n_lines + 1;
	}
	whole->text = malloc(len + 1);
	whole->guard = malloc(guard + 1);
	whole->lines = lines = malloc(n_lines * sizeof(*lines));
	if (!whole->text || !whole->guard || !lines)
		return false;
	*whole->guard = 0;
	for (u = 0, len = 0; u < n; u++) {
		snprintf(file[u], sizeof(*file), "source %u", u + 1);
		lines[whole->n_lines++] = (struct gsx_cl_line){ line + 1, 1, u ? file[u] : NULL };
		for (i = 0; i < units[u].n_lines; i++) {
			struct gsx_cl_line l = units[u].lines[i];

			l.out += line;
			if (u && !l.file)
				l.file = file[u];
			if (l.out == lines[whole->n_lines - 1].out)
				whole->n_lines--;
			lines[whole->n_lines++] = l;
		}
		start[u] = (uint32_t)len;
		memcpy(whole->text + len, units[u].text, units[u].len);
		for (i = 0; i < units[u].len; i++)
			line += units[u].text[i] == '\n';
		len += units[u].len;
		whole->text[len++] = '\n';
		line++;
		strcat(whole->guard, units[u].guard);
	}
	whole->text[len] = 0;
	whole->len = len;
	start[n] = (uint32_t)len;
	return true;
}

int gsx_cl_link(const struct gsx_cl_source *units, uint32_t n, const struct gsx_cl_options *opt,
		struct gsx_cl_result *res)
{
	struct gsx_cl_source whole = { 0 };
	uint32_t start[MAX_UNITS + 1], u;
	char file[MAX_UNITS][24], *text = NULL;
	struct link k = { .n_units = n, .start = start };
	size_t len = 0;
	int err = 0;

	memset(res, 0, sizeof(*res));
	for (u = 0; u < n; u++)
		len += units[u].len + 1;
	if (!n || n > MAX_UNITS || len > LEX_MAX_TEXT) {
		res->error = "more sources than can be linked";
		return -E2BIG;
	}
	for (u = 1; u < n; u++)
		if (strcmp(units[u].options, units[0].options)) {
			res->error = "sources that are compiled with different options";
			return -EINVAL;
		}
	if (!put_together(units, n, start, file, &whole))
		err = -ENOMEM;
	text = err ? NULL : malloc(whole.len + 1);
	if (!text) {
		res->error = "out of memory";
		err = -ENOMEM;
	} else {
		memcpy(text, whole.text, whole.len + 1);
		k.text = text;
		err = cl_run(whole.text, whole.len, opt, &whole, res, link_units, &k);
	}
	if (!err) {
		gsx_cl_result_free(res);
		err = cl_run(text, whole.len, opt, &whole, res, cl_transform, NULL);
	}
	free(text);
	free(whole.text);
	free(whole.guard);
	free((void *)(uintptr_t)whole.lines);
	return err;
}
