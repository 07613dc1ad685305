// SPDX-License-Identifier: MIT
/*
 * gsxform for OpenCL C. There is no device to ask for its macros, so that a plain one
 * is taken for granted: OpenCL C 1.2, or what -cl-std= says, of full profile, little
 * endian, with images, doubles and 64-bit atomics. -M changes that, name by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gsxform.h"

/* Files read for #include; they live until the program is done. */
struct files {
	char *text[256];
	int n;
	const char *program;
};

bool add_build_option(struct command *c, const char *option)
{
	size_t n = c->build ? strlen(c->build) : 0;
	char *bigger = realloc(c->build, n + 4 * strlen(option) + 4), *to;

	if (!bigger)
		return false;
	c->build = bigger;
	to = bigger + n;
	*to++ = ' ';
	*to++ = '\'';
	for (; *option; option++) {
		if (*option == '\'')
			to = stpcpy(to, "'\\'");
		*to++ = *option;
	}
	*to++ = '\'';
	*to = 0;
	return true;
}

/* NAME, NAME=VALUE, or NAME= for a macro of nothing; !NAME: it isn't one. */
bool add_macro(struct command *c, char *definition)
{
	struct gsx_cl_macro *bigger = realloc(c->macros, (c->n_macros + 1) * sizeof(*bigger));
	char *eq = strchr(definition, '=');

	if (!bigger)
		return false;
	c->macros = bigger;
	if (eq)
		*eq++ = 0;
	bigger[c->n_macros++] = (struct gsx_cl_macro){
		.name = definition + (*definition == '!'),
		.value = *definition == '!' ? NULL : eq ? eq : "1",
	};
	return true;
}

static const char *standard(const struct command *c)
{
	const char *s = c->build ? strstr(c->build, "-cl-std=") : NULL;

	if (!s)
		return "120";
	return !strncmp(s + 8, "CL1.0", 5) ? "100" : !strncmp(s + 8, "CL1.1", 5) ? "110" :
		!strncmp(s + 8, "CL2.0", 5) ? "200" : !strncmp(s + 8, "CL3.0", 5) ? "300" : "120";
}

/* What that device would answer; NULL: it isn't a macro there. */
static const char *answer(const struct command *c, const char *name)
{
	static const struct gsx_cl_macro known[] = {
		{ "__OPENCL_VERSION__", "300" }, { "__ENDIAN_LITTLE__", "1" },
		{ "__IMAGE_SUPPORT__", "1" }, { "CL_VERSION_1_0", "100" },
		{ "CL_VERSION_1_1", "110" }, { "CL_VERSION_1_2", "120" },
		{ "CL_VERSION_2_0", "200" }, { "CL_VERSION_3_0", "300" },
		{ "cl_khr_fp64", "1" }, { "cl_khr_byte_addressable_store", "1" },
		{ "cl_khr_global_int32_base_atomics", "1" },
		{ "cl_khr_global_int32_extended_atomics", "1" },
		{ "cl_khr_local_int32_base_atomics", "1" },
		{ "cl_khr_local_int32_extended_atomics", "1" },
		{ "cl_khr_int64_base_atomics", "1" }, { "cl_khr_int64_extended_atomics", "1" },
	};
	uint32_t i;

	if (!strcmp(name, "__OPENCL_C_VERSION__"))
		return standard(c);
	if (!strcmp(name, "__FAST_RELAXED_MATH__"))
		return c->build && strstr(c->build, "-cl-fast-relaxed-math") ? "1" : NULL;
	if (!strncmp(name, "__opencl_c_", 11))
		return !strcmp(standard(c), "300") ? "1" : NULL;
	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].value;
	return NULL;
}

static int include(void *arg, enum gsx_cl_where where, const char *path, const char **text,
		   size_t *len)
{
	struct files *f = arg;
	const char *slash = strrchr(f->program, '/');
	char beside[4096];

	if (where == GSX_CL_PASSED)
		return -ENOENT;
	/* a program is a string to OpenCL, but this one has a folder */
	if (where == GSX_CL_BESIDE && slash && *path != '/' && access(path, R_OK) &&
	    (size_t)snprintf(beside, sizeof(beside), "%.*s%s", (int)(slash + 1 - f->program),
			     f->program, path) < sizeof(beside))
		path = beside;
	if (access(path, R_OK))
		return -ENOENT;
	if (f->n == sizeof(f->text) / sizeof(*f->text))
		return -E2BIG;
	f->text[f->n] = read_file(path, len);
	if (!f->text[f->n])
		return -EIO;
	*text = f->text[f->n++];
	return 0;
}

static void show_access(FILE *out, const struct gsx_cl_param *p)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} kinds[] = {
		{ GSX_CL_IMAGE, "image" }, { GSX_CL_SAMPLER, "sampler" }, { GSX_CL_PIPE, "pipe" },
		{ GSX_CL_QUEUE, "queue" }, { GSX_CL_LOCAL, "local memory" },
		{ GSX_CL_CONSTANT, "constant buffer" }, { GSX_CL_GLOBAL, "buffer" },
	};
	const char *kind = "value";
	uint32_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (p->flags & kinds[i].flag) {
			kind = kinds[i].name;
			break;
		}
	fprintf(out, "      %-16s %s%s\n", p->name, kind,
		p->flags & GSX_PARAM_WRITTEN ?
		p->flags & GSX_PARAM_READ ? ", read and written" : ", written" :
		p->flags & GSX_PARAM_READ ? ", read" : "");
}

static void show(struct command *c, const struct gsx_cl_kernel *k, const char *place)
{
	uint32_t i, m;

	fprintf(c->report, "  %s\n     ", k->name);
	if (k->modes & GSX_BIT(GSX_SLICE))
		fprintf(c->report, " slice%s", k->flags & GSX_CL_NATIVE ?
			" (as it is, by a global offset)" : "");
	if (k->modes & GSX_BIT(GSX_WORKERS))
		fprintf(c->report, "%s workers", k->modes & GSX_BIT(GSX_SLICE) ? "," : "");
	fprintf(c->report, "%s; %u instructions, %u group%s at a time",
		k->modes ? "" : " whole launches only", k->instructions, k->batch,
		k->batch == 1 ? "" : "s");
	if (k->local_bytes || k->flags & GSX_CL_LOCAL_UNKNOWN)
		fprintf(c->report, "; %u%s bytes of local memory", k->local_bytes,
			k->flags & GSX_CL_LOCAL_UNKNOWN ? " or more" : "");
	fprintf(c->report, "%s%s%s%s\n", k->flags & GSX_BARRIERS ? "; barriers" : "",
		k->flags & GSX_CL_UNIFORM ? "; slices of uniform launches only" : "",
		k->flags & GSX_ATOMICS ? "; atomics" : "",
		k->flags & GSX_WRITES_ANY ? "; may write any buffer" : "");
	for (i = 0; i < k->n_refusals; i++) {
		const struct gsx_refusal *r = &k->refusals[i];

		if (r->reason == GSX_NOT_ASKED)
			continue;
		fprintf(c->report, "      no");
		for (m = 0; m < GSX_MODES; m++)
			if (r->modes & GSX_BIT(m))
				fprintf(c->report, " %s", gsx_mode_name(m));
		fprintf(c->report, " (%s), %s %u: %s\n", gsx_reason_name(r->reason), place,
			r->line, r->text);
	}
	for (i = 0; c->parameters && i < k->n_params; i++)
		show_access(c->report, &k->params[i]);
}

void cl_report(struct command *c, const char *name, const struct gsx_cl_kernel *kernels,
	       uint32_t n, const char *place)
{
	uint32_t i, k;

	if (!c->summary)
		fprintf(c->report, "%s: %u kernel%s\n", name, n, n == 1 ? "" : "s");
	for (i = 0; i < n; i++) {
		const struct gsx_cl_kernel *one = &kernels[i];

		c->kernels++;
		for (k = 0; k < GSX_MODES; k++)
			c->by_mode[k] += !!(one->modes & GSX_BIT(k));
		for (k = 0; k < one->n_refusals; k++)
			c->refused[one->refusals[k].reason]++;
		if (!c->summary)
			show(c, one, place);
	}
}

static int write_shadow(struct command *c, const char *name, const struct gsx_cl_result *res)
{
	uint32_t m;

	for (m = 0; m < GSX_MODES; m++)
		if (c->opt.modes == GSX_BIT(m) && res->text[m])
			return write_file(c->output, res->text[m], res->len[m]);
	if (c->opt.modes & (c->opt.modes - 1))
		return complain(name, "-o takes one mode of OpenCL C: -m slice or -m workers");
	return complain(name, "no kernel is rewritten for this mode, so there is nothing to write");
}

int cl_file(struct command *c, const char *name, const char *text, size_t len)
{
	struct files files = { .program = name };
	struct gsx_cl_cpp_options cpp = {
		.file = name, .build = c->build, .include = include, .arg = &files,
	};
	const struct gsx_cl_options opt = { .file = name, .modes = c->opt.modes };
	struct gsx_cl_source src;
	struct gsx_cl_result res;
	struct gsx_cl_macro *macros = NULL, *bigger;
	uint32_t n = c->n_macros, i;
	int err, rc = 0, rounds = 0;

	for (;;) {
		bigger = realloc(macros, (n + 1) * sizeof(*macros));
		if (!bigger) {
			free(macros);
			return complain(name, strerror(ENOMEM));
		}
		macros = bigger;
		if (c->n_macros)
			memcpy(macros, c->macros, c->n_macros * sizeof(*macros));
		cpp.macros = macros;
		cpp.n_macros = n;
		err = gsx_cl_program(text, len, &cpp, &opt, &src, &res);
		if (err != -EAGAIN || ++rounds > 64)
			break;
		bigger = realloc(macros, (n + src.n_questions) * sizeof(*macros));
		if (!bigger)
			break;
		macros = bigger;
		for (i = 0; i < src.n_questions; i++)
			macros[n++] = (struct gsx_cl_macro){
				.name = strdup(src.questions[i]),
				.value = answer(c, src.questions[i]),
			};
		gsx_cl_source_free(&src);
		gsx_cl_result_free(&res);
	}
	if (err) {
		fprintf(stderr, "gsxform: %s\n", res.error ? res.error : src.error ? src.error :
			strerror(-err));
		rc = 1;
	} else {
		cl_report(c, name, res.kernels, res.n_kernels, "line");
		if (c->output)
			rc = write_shadow(c, name, &res);
	}
	gsx_cl_source_free(&src);
	gsx_cl_result_free(&res);
	for (i = c->n_macros; i < n; i++)
		free((char *)macros[i].name);
	free(macros);
	while (files.n)
		free(files.text[--files.n]);
	return rc;
}
