// SPDX-License-Identifier: MIT
/* Files, and where they are found. */
#include <errno.h>
#include <string.h>

#include "cpp.h"

#define MAX_FILES	200

/* Some compilers read these as other characters, a line splice among them; not all do. */
static bool has_trigraph(const char *text, size_t len)
{
	const char *at = text, *end = text + len;

	while ((at = memmem(at, (size_t)(end - at), "??", 2))) {
		if (end - at > 2 && at[2] && strchr("=/'()!<>-", at[2]))
			return true;
		at++;
	}
	return false;
}

/* @path, text and name must live as long as @p. */
static struct header *add_header(struct cpp *p, const char *path, const char *text, size_t len)
{
	struct header *h = arena_get(p, &p->keep, sizeof(*h));
	uint32_t splices, *table;
	char *clean;

	if (!h)
		return NULL;
	if (len > LEX_MAX_TEXT) {
		cpp_error(p, -E2BIG, p->line, "%.100s is too long", path);
		return NULL;
	}
	if (has_trigraph(text, len)) {
		cpp_error(p, -EINVAL, p->line, "%.100s holds a trigraph, on which compilers don't agree",
			  *path ? path : "the text");
		return NULL;
	}
	h->path = path;
	h->text = text;
	h->len = len;
	splices = lex_count_splices(text, len);
	if (splices) {
		clean = arena_get(p, &p->keep, len + 1);
		table = arena_get(p, &p->keep, (splices + 1) * sizeof(*table));
		if (!clean || !table)
			return NULL;
		h->len = lex_unsplice(text, len, clean, table);
		h->text = clean;
		h->splice = table;
	}
	h->next = p->headers;
	p->headers = h;
	return h;
}

static void enter(struct cpp *p, struct header *h, const char *name)
{
	struct file *f;

	if (p->n_files >= MAX_FILES) {
		cpp_error(p, -E2BIG, p->line, "includes are nested too deep");
		return;
	}
	f = &p->files[p->n_files++];
	*f = (struct file){ .h = h, .name = name, .conds = p->n_conds };
	lex_init(&f->l, h->text, h->len, h->splice);
	p->steps += h->len / 8;
}

void open_text(struct cpp *p, const char *name, const char *text, size_t len)
{
	struct header *h = add_header(p, name ? name : "", text, len);

	if (!p->files)
		p->files = arena_get(p, &p->keep, MAX_FILES * sizeof(*p->files));
	if (h && p->files)
		enter(p, h, name);
}

/* @folder / @name; the first up to and with its last slash if @beside. */
static char *path_of(struct cpp *p, const char *folder, bool beside, const char *name)
{
	const char *slash = beside ? strrchr(folder, '/') : NULL;
	size_t n = beside ? (size_t)(slash ? slash - folder + 1 : 0) : strlen(folder);
	char *path;

	if (*name == '/')
		n = 0;
	path = arena_get(p, &p->keep, n + strlen(name) + 2);
	if (!path)
		return NULL;
	memcpy(path, folder, n);
	if (n && !beside && path[n - 1] != '/')
		path[n++] = '/';
	strcpy(path + n, name);
	return path;
}

/* One place. Returns 0 with *h, or -errno; only other errors than -ENOENT are final. */
static int try(struct cpp *p, enum gsx_cl_where where, const char *path, struct header **h)
{
	const char *text = NULL;
	size_t len = 0;
	int err;

	if (!path || p->err)
		return -ENOMEM;
	for (*h = p->headers; *h; *h = (*h)->next) {
		p->steps++;
		if (!strcmp((*h)->path, path) && *path)
			return 0;
	}
	p->steps += 100;
	err = p->opt->include ? p->opt->include(p->opt->arg, where, path, &text, &len) : -ENOENT;
	if (err && err != -ENOENT)
		cpp_error(p, err, p->line, "%.200s can't be read", path);
	if (err)
		return err;
	*h = add_header(p, path, text, len);
	if (!*h)
		return -ENOMEM;
	(*h)->passed = where == GSX_CL_PASSED;
	return 0;
}

/*
 * Beside a header that was passed there are only such: compilers lay them out in a
 * folder of their own, and look beside the file that includes before anywhere else.
 */
static bool find(struct cpp *p, const char *name, bool angled, struct header **h)
{
	const struct header *from = NULL;
	const char *beside = NULL;
	int err = -ENOENT;

	for (uint32_t i = p->n_files; i && !beside; i--) {
		from = p->files[i - 1].h;
		beside = from->path;
	}
	if (beside && from->passed && !angled)
		err = try(p, GSX_CL_PASSED, path_of(p, beside, true, name), h);
	if (err == -ENOENT)
		err = try(p, GSX_CL_PASSED, name, h);
	if (err == -ENOENT && !angled && !(beside && from->passed))
		err = try(p, GSX_CL_BESIDE, path_of(p, beside ? beside : "", true, name), h);
	for (uint32_t i = 0; i < p->split.n_folders && err == -ENOENT; i++)
		err = try(p, GSX_CL_FOLDER, path_of(p, p->split.folders[i], false, name), h);
	return !err;
}

/* "x" or <x> from tokens; NULL: neither. */
static char *name_in(struct cpp *p, const struct tok *t, uint32_t n, bool *angled)
{
	size_t len = 0;
	uint32_t i;
	char *s;

	if (n == 1 && t->kind == LEX_STRING && t->s[0] == '"' && t->len > 2) {
		*angled = false;
		s = arena_get(p, &p->keep, t->len);
		if (s)
			memcpy(s, t->s + 1, t->len - 2);
		return s;
	}
	*angled = true;
	if (n < 3 || !tok_is(t, '<') || !tok_is(&t[n - 1], '>'))
		return NULL;
	for (i = 1; i + 1 < n; i++)
		len += t[i].len + 1;
	s = arena_get(p, &p->keep, len + 1);
	if (!s)
		return NULL;
	for (i = 1, len = 0; i + 1 < n; i++) {
		if (i > 1 && t[i].flags & LEX_SPACE)
			s[len++] = ' ';
		memcpy(s + len, t[i].s, t[i].len);
		len += t[i].len;
	}
	return s;
}

/* The first line of the name may lex badly (<it's.h>): its text is taken as it is. */
static char *name_as_written(struct cpp *p, const struct toks *line, bool *angled)
{
	const struct tok *last = &line->t[line->n - 1];
	const char *from = line->t->s, *end = last->s + last->len, *to;
	char close = *from == '<' ? '>' : '"';
	char *s;

	*angled = close == '>';
	to = memchr(from + 1, close, end - from - 1);
	if (!to || to == from + 1)
		return NULL;
	s = arena_get(p, &p->keep, to - from);
	if (s)
		memcpy(s, from + 1, to - from - 1);
	return s;
}

void cpp_include(struct cpp *p, const struct toks *line)
{
	struct toks full = { 0 };
	struct header *h;
	bool angled;
	struct tok t;
	char *name;

	if (line->n && (*line->t->s == '"' || *line->t->s == '<')) {
		name = name_as_written(p, line, &angled);
	} else {
		push_wall(p, line->t, line->n);
		for (next_tok(p, &t); t.kind != LEX_END; next_tok(p, &t))
			toks_add(p, &full, &t);
		pop_wall(p);
		name = name_in(p, full.t, full.n, &angled);
	}
	if (!name) {
		cpp_error(p, -EINVAL, p->line, "#include without \"FILE\" or <FILE>");
		return;
	}
	if (!find(p, name, angled, &h)) {
		cpp_error(p, -ENOENT, p->line, "%.200s isn't found", name);
		return;
	}
	if (h->once || (h->guard && h->guard->macro))
		return;
	enter(p, h, h->path);
}

bool has_include(struct cpp *p)
{
	struct toks v = { 0 };
	struct header *h;
	bool angled;
	struct tok t;
	char *name;

	next_tok(p, &t);
	if (tok_is(&t, '('))
		for (next_tok(p, &t); t.kind != LEX_END && !tok_is(&t, ')'); next_tok(p, &t))
			toks_add(p, &v, &t);
	name = tok_is(&t, ')') ? name_in(p, v.t, v.n, &angled) : NULL;
	if (!name) {
		cpp_error(p, -EINVAL, p->line, "__has_include without (\"FILE\") or (<FILE>)");
		return false;
	}
	return find(p, name, angled, &h);
}
