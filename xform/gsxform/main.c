// SPDX-License-Identifier: MIT
/*
 * gsxform: shows what of a kernel file can be cut, why not, and writes the result.
 *
 * It takes PTX as text, or anything that holds fat binaries: cubin and fatbin
 * files, objects, libraries, programs. With -o the transformed text is written; for
 * fat binaries, a container with each PTX entry transformed and its options kept.
 * Files that end in .cl are OpenCL C, with build options as clBuildProgram() has them;
 * those that begin with SPIR-V's magic number are that.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gsxform.h"

#define MOST_BYTES	(1ul << 31)	/* of a file, or of PTX unpacked from it */

static const char usage[] =
	"Usage: gsxform [options] FILE...\n"
	"Shows which kernels of PTX files, cubins, programs, OpenCL C files (.cl) and SPIR-V\n"
	"modules can be cut into pieces.\n"
	"\n"
	"  -m, --modes=LIST     of slice,guard,workers (all)\n"
	"  -o, --output=FILE    write the result there, - for standard output: PTX for a\n"
	"                       PTX file, else a fat binary of all PTX found; for OpenCL\n"
	"                       C and SPIR-V the shadow program of one mode (-m)\n"
	"  -b, --beside         PTX: a shadow, to be loaded beside the original\n"
	"  -c, --cap=KERNEL=N   at most N registers for the variants of this kernel\n"
	"  -p, --parameters     show the kernels' parameters, too\n"
	"      --maps           PTX: show which memory a part of the blocks writes and reads\n"
	"  -D, -I, -U, -cl-...  build options of the OpenCL C files\n"
	"  -M, --macro=X[=Y]    the OpenCL compiler defines X (as Y); !X: it doesn't\n"
	"  -s, --summary        only how many kernels can be cut in which mode\n"
	"  -h, --help           this text\n"
	"      --version        the version\n"
	"\n"
	"Exit status: 0; 1: a file couldn't be read or was refused; 2: wrong usage.\n";

static uint32_t cap_of(void *arg, const char *kernel, enum gsx_mode mode)
{
	struct command *c = arg;
	int i;

	(void)mode;
	for (i = 0; i < c->n_caps; i++)
		if (strlen(kernel) == c->caps[i].len &&
		    !memcmp(kernel, c->caps[i].kernel, c->caps[i].len))
			return c->caps[i].registers;
	return 0;
}

int complain(const char *name, const char *what)
{
	fprintf(stderr, "gsxform: %s: %s\n", name, what);
	return 1;
}

char *read_file(const char *name, size_t *len)
{
	FILE *f = strcmp(name, "-") ? fopen(name, "rb") : stdin;
	size_t cap = 65536, n;
	char *data = NULL, *bigger;

	*len = 0;
	while (f) {
		bigger = cap <= MOST_BYTES ? realloc(data, cap) : NULL;
		if (!bigger) {
			errno = EFBIG;
			break;
		}
		data = bigger;
		n = fread(data + *len, 1, cap - *len, f);
		*len += n;
		if (*len < cap) {
			if (ferror(f))
				break;
			if (f != stdin)
				fclose(f);
			return data;
		}
		cap *= 2;
	}
	complain(name, strerror(errno));
	if (f && f != stdin)
		fclose(f);
	free(data);
	return NULL;
}

int write_file(const char *name, const void *data, size_t len)
{
	FILE *f = strcmp(name, "-") ? fopen(name, "wb") : stdout;
	bool ok = f && fwrite(data, 1, len, f) == len;

	if (f && (f == stdout ? fflush(f) : fclose(f)))
		ok = false;
	return ok ? 0 : complain(name, strerror(errno));
}

static void show_parameters(FILE *out, const struct gsx_kernel *k)
{
	uint32_t i;

	for (i = 0; i < k->n_params; i++) {
		const struct gsx_param *p = &k->params[i];

		fprintf(out, "      %5u %5u  %s%s\n", p->offset, p->size, p->name,
			!(p->flags & GSX_PARAM_POINTER) ? "" :
			p->flags & GSX_PARAM_WRITTEN ? p->flags & GSX_PARAM_READ ?
			"  read and written" : "  written" :
			p->flags & GSX_PARAM_READ ? "  read" : "  pointer");
	}
}

static void show_way(FILE *out, const char *what, const struct gsx_way *w)
{
	fprintf(out, "%s %s", what, gsx_map_class_name(w->class));
	if (w->text)
		fprintf(out, " (%s: %s)", gsx_map_reason_name(w->reason), w->text);
}

static void show_maps(FILE *out, const struct gsx_kernel *k)
{
	uint32_t i;

	if (k->maps.whole.text)
		fprintf(out, "      not to be spread (%s): %s\n",
			gsx_map_reason_name(k->maps.whole.reason), k->maps.whole.text);
	if (k->maps.elsewhere.text)
		fprintf(out, "      reads elsewhere (%s): %s\n",
			gsx_map_reason_name(k->maps.elsewhere.reason), k->maps.elsewhere.text);
	for (i = 0; i < k->maps.n; i++) {
		const struct gsx_map *m = &k->maps.map[i];

		fprintf(out, "      %5u %5u ", m->offset, m->size);
		show_way(out, "writes", &m->writes);
		show_way(out, ", reads", &m->reads);
		fprintf(out, "\n");
	}
}

static void show_kernel(struct command *c, const struct gsx_kernel *k)
{
	uint32_t i, m;

	fprintf(c->report, "  %s\n     ", k->name);
	for (m = 0; m < GSX_MODES; m++)
		if (k->modes & GSX_BIT(m))
			fprintf(c->report, " %s", gsx_mode_name(m));
	fprintf(c->report, "%s%s%s%s\n", k->modes ? "" : " whole launches only",
		k->flags & GSX_PARKS ? "; parks early returns" : "",
		k->needs & GSX_NEEDS_ROWS ? "; workers need rows of whole warps" : "",
		k->flags & GSX_WAITS ? "; waits for memory" : "");
	for (i = 0; i < k->n_refusals; i++) {
		const struct gsx_refusal *r = &k->refusals[i];

		if (r->reason == GSX_NOT_ASKED)
			continue;
		fprintf(c->report, "      no");
		for (m = 0; m < GSX_MODES; m++)
			if (r->modes & GSX_BIT(m))
				fprintf(c->report, " %s", gsx_mode_name(m));
		fprintf(c->report, " (%s): %s\n", gsx_reason_name(r->reason), r->text);
	}
	if (c->parameters)
		show_parameters(c->report, k);
	if (c->opt.maps)
		show_maps(c->report, k);
}

static void count(struct command *c, const struct gsx_kernel *k)
{
	uint32_t i;

	c->kernels++;
	for (i = 0; i < GSX_MODES; i++)
		c->by_mode[i] += !!(k->modes & GSX_BIT(i));
	for (i = 0; i < k->n_refusals; i++)
		c->refused[k->refusals[i].reason]++;
}

static int transform(struct command *c, const char *name, const char *text, size_t len,
		     struct gsx_result *res)
{
	uint32_t i;
	int err;

	c->opt.file = name;
	err = gsx_ptx_transform(text, len, &c->opt, res);
	if (err) {
		fprintf(stderr, "gsxform: %s\n", res->error);
		return 1;
	}
	if (!c->summary)
		fprintf(c->report, "%s: %u kernel%s\n", name, res->n_kernels,
			res->n_kernels == 1 ? "" : "s");
	for (i = 0; i < res->n_kernels; i++) {
		count(c, &res->kernels[i]);
		if (!c->summary)
			show_kernel(c, &res->kernels[i]);
	}
	return 0;
}

static int ptx_file(struct command *c, const char *name, const char *text, size_t len)
{
	struct gsx_result res;
	int rc = transform(c, name, text, len, &res);

	if (!rc && c->output)
		rc = write_file(c->output, res.text, res.len);
	gsx_result_free(&res);
	return rc;
}

/* Keeps an entry with the transformed text for the container to be written. */
static int keep(struct command *c, const struct gsx_fat_entry *e, const struct gsx_result *res)
{
	struct gsx_fat_entry *bigger, *to;
	char *text;

	bigger = realloc(c->entries, (c->n_entries + 1) * sizeof(*bigger));
	if (!bigger)
		return complain("output", strerror(ENOMEM));
	c->entries = bigger;
	text = malloc(res->len + 1);
	if (!text)
		return complain("output", strerror(ENOMEM));
	memcpy(text, res->text, res->len + 1);
	to = &c->entries[c->n_entries++];
	*to = *e;
	to->data = text;
	to->stored = to->size = res->len + 1;
	to->flags &= ~(GSX_FAT_LZ4 | GSX_FAT_ZSTD);
	return 0;
}

static int entry(struct command *c, const char *file, const struct gsx_fat_entry *e, int number)
{
	struct gsx_result res = { 0 };
	char name[4096], *text;
	size_t len;
	int rc;

	snprintf(name, sizeof(name), "%s(%d: sm_%u, %.*s)", file, number, e->arch,
		 (int)(e->name_len < 200 ? e->name_len : 200), e->name ? e->name : "");
	if (e->kind != GSX_FAT_PTX) {
		if (!c->summary)
			fprintf(c->report, "%s: %s\n", name, e->kind == GSX_FAT_CUBIN ?
				"machine code, whole launches only" : "not PTX");
		return 0;
	}
	rc = gsx_fat_unpack(e, MOST_BYTES, &text, &len);
	if (rc)
		return complain(name, strerror(-rc));
	rc = transform(c, name, text, len, &res);
	if (!rc && c->output)
		rc = keep(c, e, &res);
	gsx_result_free(&res);
	free(text);
	return rc;
}

static int write_container(struct command *c)
{
	size_t len, i;
	void *data;
	int rc;

	rc = gsx_fat_write(c->entries, c->n_entries, &data, &len);
	if (rc) {
		rc = complain(c->output, strerror(-rc));
	} else {
		rc = write_file(c->output, data, len);
		free(data);
	}
	for (i = 0; i < c->n_entries; i++)
		free((void *)c->entries[i].data);
	free(c->entries);
	c->entries = NULL;
	c->n_entries = 0;
	return rc;
}

/* 0, 1, or -1: there is no fat binary in it. */
static int containers(struct command *c, const char *name, const char *data, size_t len)
{
	struct gsx_fat_entry e;
	int n = 0, rc = 0, got;
	struct gsx_fat f;
	size_t at = 0;
	bool found = false;

	while (gsx_fat_find(data, len, &at, &f)) {
		found = true;
		while ((got = gsx_fat_next(&f, &e)) == 1)
			rc |= entry(c, name, &e, n++);
		if (got < 0)
			rc |= complain(name, f.error);
	}
	if (!found)
		return -1;
	if (c->output && c->n_entries)
		rc |= write_container(c);
	return rc;
}

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n > m && !strcmp(name + n - m, with);
}

static int one_file(struct command *c, const char *name)
{
	size_t len;
	char *data = read_file(name, &len);
	int rc;

	if (!data)
		return 1;
	if (ends(name, ".cl")) {
		rc = cl_file(c, name, data, len);
		free(data);
		return rc;
	}
	if (len > 4 && (!memcmp(data, "\3\2\43\7", 4) || !memcmp(data, "\7\43\2\3", 4))) {
		rc = spv_file(c, name, data, len);
		free(data);
		return rc;
	}
	rc = containers(c, name, data, len);
	if (rc < 0 && len > 4 && !memcmp(data, "\177ELF", 4))
		rc = complain(name, "holds no fat binary, so no PTX: whole launches only");
	else if (rc < 0)
		rc = ptx_file(c, name, data, len);
	free(data);
	return rc;
}

static void show_summary(const struct command *c)
{
	int i;

	fprintf(c->report, "%u kernels:", c->kernels);
	for (i = 0; i < GSX_MODES; i++)
		fprintf(c->report, " %s %u (%.1f %%)%s", gsx_mode_name(i), c->by_mode[i],
			c->kernels ? 100.0 * c->by_mode[i] / c->kernels : 0.0,
			i + 1 < GSX_MODES ? "," : "\n");
	for (i = 0; i < GSX_REASONS; i++)
		if (c->refused[i] && i != GSX_NOT_ASKED)
			fprintf(c->report, "%8u %s\n", c->refused[i], gsx_reason_name(i));
}

static bool parse_modes(struct command *c, const char *list)
{
	size_t len;
	int i;

	c->opt.modes = 0;
	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < GSX_MODES; i++)
			if (strlen(gsx_mode_name(i)) == len &&
			    !strncmp(gsx_mode_name(i), list, len))
				break;
		if (i == GSX_MODES)
			return false;
		c->opt.modes |= GSX_BIT(i);
	}
	return c->opt.modes;
}

static bool parse_cap(struct command *c, const char *arg)
{
	const char *eq = strrchr(arg, '=');
	unsigned long n;
	char *end;

	if (!eq)
		return false;
	n = strtoul(eq + 1, &end, 10);
	if (end == eq + 1 || *end || !n || n > 255)
		return false;
	c->caps[c->n_caps++] = (struct cap){ arg, eq - arg, n };
	return true;
}

static int wrong(const char *what, const char *arg)
{
	fprintf(stderr, "gsxform: %s '%s'; see gsxform --help\n", what, arg);
	return 2;
}

/*
 * Takes OpenCL's build options out of the arguments: they look like several short ones
 * to getopt. Returns how many arguments are left.
 */
static int take_build_options(struct command *c, int argc, char **argv)
{
	int i, n = 1;

	for (i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (!strcmp(a, "--")) {
			while (i < argc)
				argv[n++] = argv[i++];
			break;
		}
		if (strncmp(a, "-D", 2) && strncmp(a, "-I", 2) && strncmp(a, "-U", 2) &&
		    strncmp(a, "-cl-", 4)) {
			argv[n++] = argv[i];
			continue;
		}
		if (!add_build_option(c, a))
			return -1;
		if (a[1] != 'c' && !a[2] && i + 1 < argc && !add_build_option(c, argv[++i]))
			return -1;
	}
	argv[n] = NULL;
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "modes", required_argument, NULL, 'm' },
		{ "output", required_argument, NULL, 'o' },
		{ "beside", no_argument, NULL, 'b' },
		{ "cap", required_argument, NULL, 'c' },
		{ "macro", required_argument, NULL, 'M' },
		{ "parameters", no_argument, NULL, 'p' },
		{ "maps", no_argument, NULL, 'a' },
		{ "summary", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	struct command c = { .opt.modes = GSX_ALL_MODES, .report = stdout };
	int o, rc = 0;

	c.caps = calloc(argc, sizeof(*c.caps));
	if (c.caps)
		argc = take_build_options(&c, argc, argv);
	if (!c.caps || argc < 0)
		return complain("start", strerror(ENOMEM));
	c.opt.cap = cap_of;
	c.opt.arg = &c;
	while ((o = getopt_long(argc, argv, "m:o:bc:M:psh", options, NULL)) != -1) {
		if (o == 'm' && !parse_modes(&c, optarg))
			rc = wrong("no list of modes:", optarg);
		else if (o == 'c' && !parse_cap(&c, optarg))
			rc = wrong("not KERNEL=REGISTERS:", optarg);
		else if (o == 'M' && !add_macro(&c, optarg))
			rc = complain(optarg, strerror(ENOMEM));
		else if (o == 'b')
			c.opt.shadow = true;
		else if (o == 'o')
			c.output = optarg;
		else if (o == 'p')
			c.parameters = true;
		else if (o == 'a')
			c.opt.maps = true;
		else if (o == 's')
			c.summary = true;
		else if (o == '?')
			rc = 2;
		if (o == 'h' || o == 'V') {
			printf("%s", o == 'h' ? usage : "gsxform " GPUSHARE_RELEASE "\n");
			free(c.caps);
			free(c.build);
			free(c.macros);
			return 0;
		}
	}
	if (!rc && optind == argc)
		rc = wrong("no file given", "");
	if (!rc && c.output && argc - optind > 1)
		rc = wrong("-o takes one file, not also", argv[optind + 1]);
	if (c.output && !strcmp(c.output, "-"))
		c.report = stderr;
	for (; rc != 2 && optind < argc; optind++)
		rc |= one_file(&c, argv[optind]);
	if (rc != 2 && c.summary)
		show_summary(&c);
	free(c.caps);
	free(c.build);
	free(c.macros);
	return rc;
}
