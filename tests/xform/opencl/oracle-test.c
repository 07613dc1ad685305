// SPDX-License-Identifier: MIT
/*
 * A second opinion: clang reads the corpus too, macros done by itself, and who calls
 * what in its syntax tree must agree with what the transformer reports: the kernels,
 * their parameters, and, over all the functions that each calls, whether it needs no
 * rewriting for slices, has barriers, prints. clang serves the tests only.
 */
#include <dirent.h>

#include "harness.h"
#include "run-cut.h"
#include "engine.h"

#define FOLDER "tests/corpus/opencl"
#define MAX_FUNCTIONS 512
#define MAX_CALLS 8192

struct function {
	char name[SPEC_NAME], type[400];
	unsigned int params;
	bool kernel, body;
	bool reached;
};

struct call { unsigned int from; char name[SPEC_NAME], type[400]; };

static struct function functions[MAX_FUNCTIONS];
static struct call calls[MAX_CALLS];
static unsigned int n_functions, n_calls, agreed;

/* "NAME 'TYPE'" from a line's end, where NAME may stand in quotes */
static bool name_and_type(const char *at, char *name, char *type)
{
	return sscanf(at, " '%127[^']' '%399[^']'", name, type) == 2 ||
		sscanf(at, " %127[^ ] '%399[^']'", name, type) == 2;
}

/* "... col:6 used NAME 'TYPE'": the word before the type. */
static bool declared(const char *line, struct function *f)
{
	const char *quote = strchr(line, '\''), *at = quote;

	if (!quote)
		return false;
	for (at -= 2; at > line && at[-1] != ' '; at--)
		;
	return name_and_type(at, f->name, f->type);
}

static void read_line(const char *line)
{
	size_t depth = strspn(line, "|`- ");
	const char *node = line + depth, *ref;
	struct function *f = n_functions ? &functions[n_functions - 1] : NULL;
	struct call *c = &calls[n_calls];

	if (depth == 2) {
		if (!strncmp(node, "FunctionDecl ", 13) && n_functions < MAX_FUNCTIONS) {
			f = &functions[n_functions++];
			memset(f, 0, sizeof(*f));
			if (!declared(node, f))
				n_functions--;
		}
		return;
	}
	if (!f)
		return;
	if (depth == 4) {
		f->params += !strncmp(node, "ParmVarDecl ", 12);
		f->kernel = f->kernel || !strncmp(node, "OpenCLKernelAttr ", 17);
		f->body = f->body || !strncmp(node, "CompoundStmt ", 13);
	}
	ref = !strncmp(node, "DeclRefExpr ", 12) ? strstr(node, " Function 0x") : NULL;
	if (!ref || n_calls == MAX_CALLS)
		return;
	ref = strchr(ref + 10, ' ');
	if (ref && name_and_type(ref, c->name, c->type)) {
		c->from = n_functions - 1;
		n_calls++;
	}
}

static bool read_tree(const struct spec *s, const char *path)
{
	char command[1500], *line = NULL;
	size_t size = 0;
	FILE *f;

	n_functions = n_calls = 0;
	snprintf(command, sizeof(command), "clang -x cl %s %s -Xclang -finclude-default-header "
		 "-Xclang -fdeclare-opencl-builtins -target spir64 -w -fsyntax-only -Xclang "
		 "-ast-dump -fno-color-diagnostics '%s' 2>/dev/null",
		 strstr(s->options, "-cl-std") ? "" : "-cl-std=CL1.2",
		 strchr(s->options, '(') ? "-DTS=8 '-DMUL(a,b)=((a)*(b))' -DOUT=out -DFACTOR=3 "
		 "'-DGID=get_global_id(0)'" : s->options, path);
	f = popen(command, "r");
	if (!f)
		return false;
	while (getline(&line, &size, f) > 0)
		read_line(line);
	free(line);
	return !pclose(f);
}

static bool is_use(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

static const char *const rewritten[] = { "get_group_id", "get_num_groups", "get_global_size",
	"get_global_offset", "get_global_linear_id",
	"get_enqueued_local_size", NULL };
static const char *const barriers[] = { "barrier", "work_group_barrier", NULL };
static const char *const prints[] = { "printf", NULL };

/* Whether anything that @f calls, or they call, is one of these. */
static bool reaches(struct function *f, const char *const *list)
{
	struct function *g;
	unsigned int k;

	f->reached = true;
	for (k = 0; k < n_calls; k++) {
		const struct call *c = &calls[k];

		if (c->from != f - functions)
			continue;
		if (is_use(c->name, list))
			return true;
		for (g = functions; g < functions + n_functions; g++)
			if (g->body && !g->reached && !strcmp(g->name, c->name) &&
			    !strcmp(g->type, c->type) && reaches(g, list))
				return true;
	}
	return false;
}

static bool uses(struct function *f, const char *const *list)
{
	unsigned int k;

	for (k = 0; k < n_functions; k++)
		functions[k].reached = false;
	return reaches(f, list);
}

static void agree(const char *file, const struct gsx_cl_kernel *k, struct function *f)
{
	bool native = !uses(f, rewritten);

	if (k->n_params != f->params)
		test_fail("%s: %s: %u parameters, clang says %u", file, k->name, k->n_params,
			  f->params);
	if (k->modes & GSX_BIT(GSX_SLICE) && !!(k->flags & GSX_CL_NATIVE) != native)
		test_fail("%s: %s: %s, clang says otherwise", file, k->name,
			  native ? "is rewritten" : "isn't rewritten");
	if (!(k->flags & GSX_BARRIERS) && uses(f, barriers))
		test_fail("%s: %s: no barriers, clang sees some", file, k->name);
	if (!!(k->flags & GSX_CL_PRINTF) != uses(f, prints))
		test_fail("%s: %s: printing, clang says otherwise", file, k->name);
	agreed++;
}

static void compare(const struct host *h, const char *file)
{
	struct cut_program p;
	struct function *f;
	unsigned int k, kernels = 0;
	char path[400];
	struct spec s;

	snprintf(path, sizeof(path), FOLDER "/%s", file);
	ASSERT_EQ(0, spec_read(path, &s) != NULL);
	if (!read_tree(&s, path)) {
		printf("# %s: clang can't read it\n", file);
		return;
	}
	if (cut_open(&p, h, s.text, s.len, s.options, false, false, NULL, NULL)) {
		test_fail("%s isn't transformed", file);
		return;
	}
	for (f = functions; f < functions + n_functions; f++) {
		if (!f->kernel || !f->body)
			continue;
		kernels++;
		for (k = 0; k < p.res.n_kernels && strcmp(p.res.kernels[k].name, f->name); k++)
			;
		if (k == p.res.n_kernels)
			test_fail("%s: %s is a kernel, says clang", file, f->name);
		else
			agree(file, &p.res.kernels[k], f);
	}
	EXPECT_EQ(p.res.n_kernels, kernels);
	cut_close(&p);
	spec_free(&s);
}

TEST_LIMIT(clang_says_the_same, 600)
{
	const char *error;
	struct dirent *e;
	struct host h;
	DIR *d;

	if (system("command -v clang >/dev/null"))
		SKIP("no clang");
	engines_find();
	engine_use(&engines[n_engines - 1]);
	error = host_open(&h);
	if (error)
		SKIP("%s", error);
	d = opendir(FOLDER);
	ASSERT_TRUE(d != NULL);
	while ((e = readdir(d)))
		if (strstr(e->d_name, ".cl"))
			compare(&h, e->d_name);
	closedir(d);
	printf("# %u kernels compared\n", agreed);
	EXPECT_GE(agreed, 350);
}

TEST_MAIN()
