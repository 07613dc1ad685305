/* SPDX-License-Identifier: MIT */
/* Our preprocessor against clang's, token by token. */
#ifndef GS_TESTS_OPENCL_ORACLE_H
#define GS_TESTS_OPENCL_ORACLE_H

#include <errno.h>
#include <stdarg.h>
#include <fcntl.h>
#include <spawn.h>

#include <gsopencl.h>

#include "harness.h"
#include "lex.h"

extern char **environ;

__attribute__((unused)) static char *read_whole(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *s = NULL;
	size_t cap = 0;

	*len = 0;
	if (!f)
		return NULL;
	do {
		if (cap - *len < 65536)
			s = realloc(s, cap = cap * 2 + 131072);
		*len += fread(s + *len, 1, cap - *len - 1, f);
	} while (!feof(f) && !ferror(f));
	fclose(f);
	s[*len] = 0;
	return s;
}

/* clang's exit status, or -1 without it; the text lands in @out. */
__attribute__((unused)) static int clang_E(const char *in, const char *out, const char *folder)
{
	char include[600];
	char *argv[] = {
		"clang", "-E", "-P", "-w", "-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc",
		"-target", "spir64-unknown-unknown", "-nobuiltininc", include, (char *)in, NULL,
	};
	posix_spawn_file_actions_t io;
	int status = -1;
	pid_t pid;

	snprintf(include, sizeof(include), "-I%s", folder ? folder : "/nonexistent");
	posix_spawn_file_actions_init(&io);
	posix_spawn_file_actions_addopen(&io, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&io, 2, "/dev/null", O_WRONLY, 0);
	if (!posix_spawnp(&pid, "clang", &io, NULL, argv, environ))
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	posix_spawn_file_actions_destroy(&io);
	return status < 0 || WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

/* Our #undef lines are for the device; clang's output has none. */
__attribute__((unused)) static void next_of_ours(struct lex *l, struct lex_token *t)
{
	struct lex before;
	struct lex_token word;

	for (;;) {
		lex_next(l, t);
		if (t->punct != '#' || !(t->flags & LEX_LINE))
			return;
		before = *l;
		lex_next(l, &word);
		if (word.len != 5 || memcmp(l->text + word.pos, "undef", 5)) {
			*l = before;
			return;
		}
		lex_skip_line(l);
	}
}

/*
 * Where two texts differ in their tokens; NULL: nowhere. Lines of #pragma are compared
 * up to the second word, as behind it we expand macros and clang leaves that for later.
 */
__attribute__((unused)) static const char *differ(const char *a, size_t na, const char *b,
						  size_t nb)
{
	static char text[300];
	struct lex la, lb;
	struct lex_token x, y;

	lex_init(&la, a, na, NULL);
	lex_init(&lb, b, nb, NULL);
	do {
		next_of_ours(&la, &x);
		lex_next(&lb, &y);
		if (x.kind != y.kind || x.len != y.len || memcmp(a + x.pos, b + y.pos, x.len)) {
			snprintf(text, sizeof(text), "ours: %.100s\n#  clang: %.100s", a + x.pos,
				 b + y.pos);
			return text;
		}
		if (x.punct == '#' && x.flags & LEX_LINE && x.kind == LEX_PUNCT) {
			lex_next(&la, &x);
			lex_next(&lb, &y);
			lex_skip_line(&la);
			lex_skip_line(&lb);
		}
	} while (x.kind != LEX_END);
	return NULL;
}

#endif
