// SPDX-License-Identifier: MIT
/* Build options: cut up, and told apart. */
#include <errno.h>
#include <string.h>

#include "cpp.h"

/* The next word, unquoted; NULL: no more. *s goes behind it. */
static char *word(struct cpp *p, const char **s)
{
	const char *c = *s;
	char quote = 0, *w, *to;

	while (*c && strchr(" \t\n\r", *c))
		c++;
	if (!*c)
		return NULL;
	w = to = arena_get(p, &p->keep, strlen(c) + 1);
	if (!w)
		return NULL;
	for (; *c && (quote || !strchr(" \t\n\r", *c)); c++) {
		if (*c == quote)
			quote = 0;
		else if (!quote && (*c == '"' || *c == '\''))
			quote = *c;
		else if (*c == '\\' && quote != '\'' && c[1] && strchr(" \t\"'\\", c[1]))
			*to++ = *++c;
		else
			*to++ = *c;
	}
	if (quote)
		cpp_error(p, -EINVAL, 0, "build options: a quote doesn't end");
	*s = c;
	return w;
}

static void define_option(struct cpp *p, const char *w, bool undef)
{
	const char *value = strchr(w, '='), *end = w + strcspn(w, "\r\n");
	struct out *o = &p->split.defines;

	if (!*w || *w == '=') {
		cpp_error(p, -EINVAL, 0, "build options: -D or -U without a name");
		return;
	}
	if (end > w && end[-1] == '\\') {
		cpp_error(p, -EINVAL, 0, "build options: a definition ends in a backslash");
		return;
	}
	if (value > end)
		value = NULL;
	if (undef)
		cpp_put(p, o, "#undef ", 7);
	else
		cpp_put(p, o, "#define ", 8);
	cpp_put(p, o, w, (value && !undef ? value : end) - w);
	cpp_put(p, o, " ", 1);
	if (!undef && value)
		cpp_put(p, o, value + 1, end - value - 1);
	else if (!undef)
		cpp_put(p, o, "1", 1);
	cpp_put(p, o, "\n", 1);
}

static void add_folder(struct cpp *p, const char *w)
{
	struct options *s = &p->split;

	if (!*w)
		cpp_error(p, -EINVAL, 0, "build options: -I without a folder");
	if (cpp_grow(p, &s->folders, &s->cap_folders, s->n_folders + 1, sizeof(*s->folders)))
		s->folders[s->n_folders++] = w;
}

/* Quoted again where it has to be. */
static void keep(struct cpp *p, const char *w)
{
	struct out *o = &p->split.kept;
	bool quote = w[strcspn(w, " \t\n\r\"'\\")];

	if (o->len)
		cpp_put(p, o, " ", 1);
	if (quote)
		cpp_put(p, o, "\"", 1);
	for (; *w; w++) {
		if (*w == '"' || *w == '\\')
			cpp_put(p, o, "\\", 1);
		cpp_put(p, o, w, 1);
	}
	if (quote)
		cpp_put(p, o, "\"", 1);
}

void options_read(struct cpp *p, const char *s)
{
	static const char *const refused[] = {
		"-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-undef", "-E",
		"-traditional", "-trigraphs", "-Xpreprocessor", "-Wp,",
	};
	const char *w, *more;

	while (!p->err && (w = word(p, &s))) {
		for (uint32_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
			if (!strncmp(w, refused[i], strlen(refused[i])))
				cpp_error(p, -EINVAL, 0, "build options: %.100s isn't known", w);
		if (w[0] == '-' && w[1] && strchr("DUIxs", w[1]) &&
		    !(w[1] == 's' && w[2])) {
			more = w[2] ? w + 2 : word(p, &s);
			if (!more)
				cpp_error(p, -EINVAL, 0, "build options: %.100s without its value",
					  w);
			else if (w[1] == 'D' || w[1] == 'U')
				define_option(p, more, w[1] == 'U');
			else if (w[1] == 'I')
				add_folder(p, more);
		} else if (strcmp(w, "-w") && strcmp(w, "-g") && strncmp(w, "-W", 2)) {
			keep(p, w);
		}
	}
}
