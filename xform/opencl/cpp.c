// SPDX-License-Identifier: MIT
/* The preprocessor's beginning and end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpp.h"

static void name_specials(struct cpp *p)
{
	static const struct {
		const char *s;
		enum special special;
	} list[] = {
		{ "__LINE__", S_LINE }, { "__FILE__", S_FILE }, { "__COUNTER__", S_COUNTER },
		{ "__INCLUDE_LEVEL__", S_LEVEL }, { "defined", S_DEFINED },
		{ "_Pragma", S_PRAGMA }, { "__VA_ARGS__", S_VA_ARGS },
		{ "__has_include", S_HAS_INCLUDE }, { "__has_builtin", S_HAS },
		{ "__has_attribute", S_HAS }, { "__has_feature", S_HAS },
		{ "__has_extension", S_HAS }, { "__has_declspec_attribute", S_HAS },
		{ "__has_c_attribute", S_HAS }, { "__has_warning", S_HAS },
		{ "__has_constexpr_builtin", S_HAS }, { "__is_identifier", S_HAS },
	};

	for (uint32_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		name_of(p, list[i].s, strlen(list[i].s))->special = list[i].special;
	p->defined = name_of(p, "defined", 7);
	p->va_args = name_of(p, "__VA_ARGS__", 11);
}

/* What the device has answered: the value's tokens, to be used in conditions. */
static void take_answer(struct cpp *p, const struct gsx_cl_macro *answer)
{
	struct name *n = name_of(p, answer->name, strlen(answer->name));
	struct toks v = { 0 };
	struct lex_token from;
	struct tok t, *body;
	struct lex l;

	if (n->flags & NAME_KNOWN)
		return;
	n->flags |= NAME_KNOWN;
	if (!answer->value) {
		n->flags |= NAME_PLAIN;
		return;
	}
	lex_init(&l, answer->value, strnlen(answer->value, LEX_MAX_TEXT), NULL);
	for (lex_next(&l, &from); from.kind != LEX_END; lex_next(&l, &from)) {
		take_tok(p, &t, &from, &l);
		t.flags &= ~LEX_LINE;
		toks_add(p, &v, &t);
	}
	n->device = arena_get(p, &p->keep, sizeof(*n->device));
	body = arena_get(p, &p->keep, (v.n + 1) * sizeof(*body));
	if (!n->device || !body)
		return;
	if (v.n)
		memcpy(body, v.t, v.n * sizeof(*body));
	*n->device = (struct macro){ .body = body, .n = v.n, .plain = true };
}

/* _Pragma("..."): the string's text becomes a line of its own. */
static void pragma_operator(struct cpp *p)
{
	struct toks v = { 0 };
	struct tok open, string, close;
	struct lex_token from;
	struct lex l;
	char *text;
	uint32_t at = 0;
	struct tok t;

	next_tok(p, &open);
	next_tok(p, &string);
	next_tok(p, &close);
	if (!tok_is(&open, '(') || string.kind != LEX_STRING || !tok_is(&close, ')')) {
		cpp_error(p, -EINVAL, p->line, "_Pragma without its (\"...\")");
		return;
	}
	text = arena_get(p, &p->temp, string.len + 1);
	if (!text)
		return;
	for (uint32_t i = 1 + (*string.s == 'L'); i + 1 < string.len; i++) {
		if (string.s[i] == '\\' && (string.s[i + 1] == '"' || string.s[i + 1] == '\\'))
			i++;
		text[at++] = string.s[i];
	}
	lex_init(&l, text, at, NULL);
	for (lex_next(&l, &from); from.kind != LEX_END; lex_next(&l, &from)) {
		take_tok(p, &t, &from, &l);
		toks_add(p, &v, &t);
	}
	if (l.open_line)
		cpp_error(p, -EINVAL, p->line, "a comment in _Pragma doesn't end");
	write_pragma(p, &v);
}

static void run(struct cpp *p)
{
	bool fresh = false;
	struct tok t;

	for (;;) {
		if (!p->n_lists)
			arena_drop(p, &p->temp);
		next_tok(p, &t);
		if (t.kind == LEX_END || p->err)
			break;
		if (t.kind == LEX_NAME && t.name->special == S_PRAGMA) {
			pragma_operator(p);
			fresh = true;
			continue;
		}
		if (fresh)
			t.flags |= LEX_LINE;
		fresh = false;
		write_tok(p, &t);
	}
	while (p->n_files && !p->err)
		end_of_file(p);
	write_end(p);
}

static void forget(struct cpp *p)
{
	arena_drop(p, &p->temp);
	arena_drop(p, &p->keep);
	free(p->temp.chunks);
	free(p->keep.chunks);
	free(p->slots);
	free(p->lists);
	free(p->conds);
	free(p->split.defines.s);
	free(p->split.folders);
	free(p->text.s);
	free(p->guard.s);
	free(p->split.kept.s);
	free(p->lines);
	free(p->questions);
	free(p->err_text);
	free(p);
}

static int refuse(struct cpp *p, struct gsx_cl_source *res)
{
	res->error = p->err_text;
	res->error_line = p->err_line;
	return p->err;
}

int gsx_cl_preprocess(const char *text, size_t len, const struct gsx_cl_cpp_options *opt,
		      struct gsx_cl_source *res)
{
	static const struct gsx_cl_cpp_options none;
	struct cpp *p = calloc(1, sizeof(*p));

	memset(res, 0, sizeof(*res));
	if (!p)
		return -ENOMEM;
	res->memory = p;
	p->opt = opt = opt ? opt : &none;
	p->out_line = 1;
	p->res = res;
	if (len > LEX_MAX_TEXT)
		len = LEX_MAX_TEXT + 1;		/* refused by open_text() */
	p->max_memory = opt->max_memory ? opt->max_memory : (64u << 20) + 64 * len;
	p->max_steps = (32u << 20) + 64 * (uint64_t)len;
	p->none = arena_get(p, &p->keep, sizeof(*p->none) + 1);
	if (!p->none)
		return refuse(p, res);
	name_specials(p);
	for (uint32_t i = 0; i < opt->n_macros && !p->err; i++)
		take_answer(p, &opt->macros[i]);
	if (opt->build)
		options_read(p, opt->build);
	cpp_put(p, &p->split.defines, "", 0);
	cpp_put(p, &p->split.kept, "", 0);
	cpp_put(p, &p->text, "", 0);
	cpp_put(p, &p->guard, "", 0);
	open_text(p, NULL, text, len);
	if (p->split.defines.len)
		open_text(p, "build options", p->split.defines.s, p->split.defines.len);
	if (!p->err)
		run(p);
	/* An error may come of what isn't known yet. */
	if (p->n_questions && (!p->err || p->err == -EINVAL || p->err == -ENOENT)) {
		res->options = p->split.kept.s;
		res->questions = p->questions;
		res->n_questions = p->n_questions;
		return -EAGAIN;
	}
	if (p->err)
		return refuse(p, res);
	res->options = p->split.kept.s;
	res->text = p->text.s;
	res->len = p->text.len;
	res->guard = p->guard.s;
	res->lines = p->lines;
	res->n_lines = p->n_lines;
	return 0;
}

void gsx_cl_source_free(struct gsx_cl_source *res)
{
	if (res->memory)
		forget(res->memory);
	memset(res, 0, sizeof(*res));
}

uint32_t gsx_cl_source_line(const struct gsx_cl_source *res, uint32_t line, const char **file)
{
	uint32_t from = 0, to = res->n_lines, mid;

	if (file)
		*file = NULL;
	while (to - from > 1) {
		mid = (from + to) / 2;
		if (res->lines[mid].out <= line)
			from = mid;
		else
			to = mid;
	}
	if (!res->n_lines || res->lines[from].out > line)
		return line;
	if (file)
		*file = res->lines[from].file;
	return res->lines[from].line + line - res->lines[from].out;
}
