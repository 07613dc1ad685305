// SPDX-License-Identifier: MIT
/* gpusharectl apply: which files, and what is to be done with what they say. */
#include "config.h"
#include "ctl.h"
#include "plan.h"
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST	(1 << 20)

enum { OPT_CHECK, OPT_DRY_RUN, OPT_PRUNE, OPT_WATCH };

static const struct gs_option options[] = {
	{ "check", NULL, "only look for mistakes; needs no arbiter", 0 },
	{ "dry-run", NULL, "only say what would change", 'n' },
	{ "prune", NULL, "also take back the shares that aren't named", 0 },
	{ "watch", NULL, "go on: as rules, for what comes later, and for an arbiter that comes back", 'w' },
	{ NULL, NULL, NULL, 0 },
};

static int read_file(struct gs_config *config, const char *name)
{
	bool from_stdin = !strcmp(name, "-");
	FILE *in = from_stdin ? stdin : fopen(name, "re");
	char *text = NULL;
	struct stat st;
	size_t size;
	int rc;

	if (!in || fstat(fileno(in), &st) || S_ISDIR(st.st_mode)) {
		rc = gs_error(GS_EXIT_NOT_FOUND, name, "can't be read: %s",
			      in ? "it is a directory" : strerror(errno));
		if (in && !from_stdin)
			fclose(in);
		return rc;
	}
	text = malloc(FILE_MOST + 1);
	size = text ? fread(text, 1, FILE_MOST + 1, in) : 0;
	if (!text || ferror(in))
		rc = gs_error(GS_EXIT_FAILURE, name, "can't be read: %s", strerror(errno));
	else if (size > FILE_MOST)
		rc = gs_error(GS_EXIT_FAILURE, name, "longer than 1M; this is no configuration");
	else
		rc = gs_config_parse(config, name, text, size, stderr) ?
			gs_error(GS_EXIT_FAILURE, name, "not enough memory") : 0;
	free(text);
	if (!from_stdin)
		fclose(in);
	return rc;
}

static int by_base_name(const void *a, const void *b)
{
	return strcmp(strrchr(*(char *const *)a, '/'), strrchr(*(char *const *)b, '/'));
}

static const char *const dirs[] = { "/etc/gpushare", "/run/gpushare", "/usr/lib/gpushare",
				   NULL };

const char *gs_config_dir(size_t i)
{
	const char *only = getenv("GPUSHARE_CONFIG_DIR");

	return !only ? dirs[i] : i ? NULL : only;
}

/* The files of the directories; one hides those of the same name in the others after it. */
static int find_files(struct gs_rules *r)
{
	const char *at;
	struct dirent *e;
	size_t i, k, length;
	DIR *dir;

	for (i = 0; (at = gs_config_dir(i)); i++) {
		dir = opendir(at);
		while (dir && (e = readdir(dir)) && r->nr < GS_FILES_MOST) {
			length = strlen(e->d_name);
			if (length < 6 || strcmp(e->d_name + length - 5, ".conf") ||
			    e->d_name[0] == '.')
				continue;
			for (k = 0; k < r->nr; k++)
				if (!strcmp(strrchr(r->files[k], '/') + 1, e->d_name))
					break;
			if (k < r->nr)
				continue;
			if (asprintf(&r->files[r->nr], "%s/%s", at, e->d_name) < 0) {
				closedir(dir);
				return -ENOMEM;
			}
			r->nr++;
		}
		if (dir)
			closedir(dir);
	}
	qsort(r->files, r->nr, sizeof(*r->files), by_base_name);
	return 0;
}

int gs_rules_read(struct gs_rules *r, int argc, char **argv)
{
	size_t i;
	int rc;

	*r = (struct gs_rules){ .nr = 0 };
	if (!argc && find_files(r))
		return gs_call_error("apply", -ENOMEM);
	for (i = 0; i < (size_t)argc && i < GS_FILES_MOST; i++, r->nr++) {
		r->files[i] = strdup(argv[i]);
		if (!r->files[i])
			return gs_call_error("apply", -ENOMEM);
	}
	for (i = 0; i < r->nr; i++) {
		rc = read_file(&r->config, r->files[i]);
		if (rc)
			return rc;
	}
	if (!r->config.errors)
		return 0;
	return gs_error(GS_EXIT_FAILURE, "apply", "%u mistake%s, nothing was changed",
			r->config.errors, r->config.errors == 1 ? "" : "s");
}

void gs_rules_free(struct gs_rules *r)
{
	gs_config_free(&r->config);
	while (r->nr)
		free(r->files[--r->nr]);
}

static int read_units(struct gs_units **units)
{
	unsigned int mistakes;
	int rc = -ENOMEM;

	*units = gs_units_new();
	if (*units)
		rc = gs_units_read(*units, stderr);
	if (rc)
		return gs_call_error("apply", rc);
	mistakes = gs_units_mistakes(*units);
	return !mistakes ? 0 : gs_error(GS_EXIT_FAILURE, "apply", "%u mistake%s in units, nothing was "
					"changed", mistakes, mistakes == 1 ? "" : "s");
}

static int run_apply(struct gs_ctl *ctl, int argc, char **argv)
{
	bool check = ctl->values[OPT_CHECK], dry_run = ctl->values[OPT_DRY_RUN],
	     prune = ctl->values[OPT_PRUNE];
	struct gs_units *units = NULL;
	struct gs_rules rules;
	int rc, more;

	if (argc > GS_FILES_MOST)
		return gs_usage(ctl, "more than %d files", GS_FILES_MOST);
	if (ctl->values[OPT_WATCH]) {
		if (check || dry_run || prune)
			return gs_usage(ctl, "--watch goes with no other option");
		return gs_watch(ctl, argc, argv);
	}
	rc = gs_rules_read(&rules, argc, argv);
	if (!argc) {
		more = read_units(&units);
		rc = rc ? rc : more;
	}
	if (!rc && !rules.nr && !(units && gs_units_any(units)) && !ctl->quiet)
		gs_error(0, "apply", "there is no *.conf in /etc/gpushare, /run/gpushare or "
			 "/usr/lib/gpushare, and no unit with an [X-GPUShare] section");
	if (!rc && !check)
		rc = gs_plan_apply(ctl, &rules.config, units, dry_run, prune);
	gs_rules_free(&rules);
	gs_units_free(units);
	return rc;
}

const struct gs_command gs_apply_command = {
	.name = "apply", .args = "[FILE...]", .options = options, .run = run_apply,
	.operands = "file", .most = -1,
	.summary = "Make configuration files so, all of them or nothing",
	.details = "Without FILE: *.conf of /usr/lib/gpushare, /run/gpushare and /etc/gpushare, by\n"
	"name; a file hides one of the same name in a directory named before; and what systemd's\n"
	"units have in [X-GPUShare] sections. \"-\" is standard input. The format is in\n"
	"gpushare.conf(5).\n"
	"With --watch it doesn't end: what is said is made so for cgroups and devices that\n"
	"come later too, once for each, and anew when the files change or the arbiter was\n"
	"started anew. gpushare-rules.service is that.\n",
};
