// SPDX-License-Identifier: MIT
/*
 * Every OpenCL source of the tests: the same tokens as from clang -E, with clang's own
 * macros as the device's. Names that stand for a value of clang's in the text are left
 * alone by us and expanded by clang, so a source that has any is passed over.
 */
#include <dirent.h>

#include "oracle.h"

static struct gsx_cl_macro macros[2000];
static uint32_t n_macros;

/* "#define NAME value" lines of clang -dM. */
static void read_macros(char *text)
{
	char *line, *name, *value, *save;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		name = line + strlen("#define ");
		value = name + strcspn(name, " ");
		if (*value)
			*value++ = 0;
		if (!strchr(name, '(') && n_macros < 1000)
			macros[n_macros++] = (struct gsx_cl_macro){ name, value };
	}
}

/* Nothing is defined but what the compiler itself has as a call, and has all of. */
static char *answer(const char *question)
{
	if (strncmp(question, "__has_", 6))
		return NULL;
	return strdup(strchr(question, '(') ? "1" : question);
}

/* Calls of macros that clang has built in, beside those of -dM. */
static uint32_t add_answers(const struct gsx_cl_source *res, uint32_t n)
{
	for (uint32_t i = 0; i < res->n_questions && n < 2000; i++)
		macros[n++] = (struct gsx_cl_macro){ strdup(res->questions[i]),
						     answer(res->questions[i]) };
	return n;
}

static bool has_value_in_text(const struct gsx_cl_source *res)
{
	struct lex_token t;
	struct lex l;

	lex_init(&l, res->text, res->len, NULL);
	for (lex_next(&l, &t); t.kind != LEX_END; lex_next(&l, &t)) {
		if (t.kind != LEX_NAME)
			continue;
		for (uint32_t i = 0; i < n_macros; i++)
			if (strlen(macros[i].name) == t.len &&
			    !memcmp(macros[i].name, res->text + t.pos, t.len))
				return true;
	}
	return false;
}

TEST_LIMIT(the_corpus_as_clang_has_it, 600)
{
	static const char folder[] = "tests/corpus/opencl";
	char out[] = "/tmp/gs-corpus-XXXXXX", path[512];
	uint32_t same = 0, passed_over = 0;
	struct gsx_cl_source res;
	struct gsx_cl_cpp_options opt = { .macros = macros };
	struct dirent *e;
	const char *where;
	char *text, *theirs;
	size_t len, n;
	FILE *f;
	DIR *d;
	int err;

	f = popen("clang -E -dM -x cl -cl-std=CL1.2 -cl-no-stdinc -target spir64-unknown-unknown "
		  "/dev/null 2>/dev/null", "r");
	ASSERT_TRUE(f);
	text = calloc(1, 1 << 20);
	ASSERT_TRUE(text);
	n = fread(text, 1, (1 << 20) - 1, f);
	if (pclose(f) || !n)
		SKIP("clang isn't there");
	read_macros(text);
	EXPECT_GT(n_macros, 20);
	d = opendir(folder);
	if (!d)
		SKIP("%s isn't there", folder);
	ASSERT_GE(mkstemp(out), 0);
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".cl"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		text = read_whole(path, &len);
		ASSERT_TRUE(text);
		opt.n_macros = n_macros;
		opt.file = e->d_name;
		while ((err = gsx_cl_preprocess(text, len, &opt, &res)) == -EAGAIN) {
			opt.n_macros = add_answers(&res, opt.n_macros);
			gsx_cl_source_free(&res);
		}
		if (clang_E(path, out, folder)) {
			EXPECT_NE(0, err);	/* both refuse, or it needs options */
			passed_over++;
		} else if (err) {
			test_fail("%s", res.error);
		} else if (has_value_in_text(&res)) {
			passed_over++;
		} else {
			theirs = read_whole(out, &n);
			where = differ(res.text, res.len, theirs, n);
			if (where)
				test_fail("%s: %s", path, where);
			same++;
			free(theirs);
		}
		gsx_cl_source_free(&res);
		free(text);
	}
	closedir(d);
	unlink(out);
	printf("# %u the same, %u passed over\n", same, passed_over);
	EXPECT_GT(same, 0);
}

TEST_MAIN()
