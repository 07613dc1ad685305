// SPDX-License-Identifier: MIT
#include "keep.h"
#include "config.h"
#include "file.h"
#include "target.h"
#include "term.h"
#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rule {
	char match[GS_PATTERN];
	const char *key;		/* NULL: of all devices */
	struct gpushare_share share;
};

/* Tenants choose names: one with a space would be two patterns, the second for anybody. */
bool gs_can_be_named(const char *name)
{
	const char *s;

	for (s = name; *s; s += gs_utf8_length(s))
		if (!gs_utf8_shown(s) || strchr(" *?[", *s))
			return false;
	return s < name + GS_PATTERN - 1;
}

static int write_rule(FILE *out, void *arg)
{
	const struct rule *r = arg;
	const struct gs_prop *p;
	char value[GS_VALUE];

	fprintf(out, "# Written by gpusharectl set --keep; see gpushare.conf(5).\n[Share]\nMatch=%s\n",
		r->match);
	if (r->key)
		fprintf(out, "Device=%s\n", r->key);
	for (p = gs_share_props; p->name; p++) {
		if (!(r->share.mask & p->mask))
			continue;
		gs_share_format(&r->share, p, value);
		fprintf(out, "%s=%s\n", p->key, value);
	}
	return ferror(out) ? -EIO : 0;
}

/* What is kept of it already. */
static int read_rule(const char *file, struct rule *r)
{
	char *argv[] = { (char *)file }, why[256];
	const struct gs_section *s;
	struct gs_rules rules;
	unsigned int i;
	int rc;

	if (access(file, F_OK))
		return 0;
	rc = gs_rules_read(&rules, 1, argv);
	s = rules.config.sections;
	if (!rc && (rules.config.nr != 1 || s->device || s->nr_match != 1 ||
		    strcmp(s->match[0], r->match) || strcmp(s->on, r->key ? r->key : "")))
		rc = gs_error(GS_EXIT_REFUSED, file, "is about something else: change it by hand");
	for (i = 0; !rc && i < s->nr_settings; i++)
		if (gs_share_parse(&r->share, s->settings[i].prop, s->settings[i].value, 0, why,
				   sizeof(why)))
			rc = gs_error(GS_EXIT_REFUSED, file, "%s", why);
	gs_rules_free(&rules);
	return rc;
}

static int match_of(struct rule *r, const char *text, const char *path)
{
	bool as_it_is = *text == '/' || !strncmp(text, "name:", 5) || !strncmp(text, "job:", 4) ||
		!strncmp(text, "user:", 5);
	bool unit = !as_it_is && gs_is_unit(text);
	const char *name = unit || as_it_is ? text : path;

	if (!name || *name == 0 || !gs_can_be_named(name) || strlen(name) + 6 > sizeof(r->match))
		return gs_error(GS_EXIT_REFUSED, text, "can't be kept: a rule is for a path, a unit, "
				"user:NAME, job:ID or name:NAME, without blanks, '*', '?' and '['");
	/* A named group's path is its name. */
	snprintf(r->match, sizeof(r->match), "%s%.*s", unit ? "unit:" : as_it_is || *name == '/' ? "" :
		 "name:", (int)sizeof(r->match) - 6, name);
	return 0;
}

static void file_of(const struct rule *r, char *file, size_t size)
{
	const char *name = strncmp(r->match, "unit:", 5) ? r->match : r->match + 5;
	size_t at;

	at = (size_t)snprintf(file, size, "%s/50-", gs_config_dir(0));
	snprintf(file + at, size - at, "%s%s%s.conf", name + (*name == '/'), r->key ? "@" : "",
		 r->key ? r->key : "");
	for (; file[at]; at++)
		if (file[at] == '/')
			file[at] = '-';
}

int gs_keep(const char *text, const char *path, const char *key,
	    const struct gpushare_share *share)
{
	struct rule r = { .key = key };
	char file[PATH_MAX];
	int rc;

	rc = match_of(&r, text, path);
	if (rc)
		return rc;
	file_of(&r, file, sizeof(file));
	rc = read_rule(file, &r);
	if (rc)
		return rc;
	gs_share_copy(&r.share, share, share->mask);
	r.share.mask = (r.share.mask | share->mask) & ~share->reset;
	if (mkdir(gs_config_dir(0), 0755) && errno != EEXIST)
		rc = -errno;
	else if (r.share.mask)
		rc = gs_file_replace(file, write_rule, &r);
	else if (unlink(file) && errno != ENOENT)
		rc = -errno;
	return rc ? gs_error(GS_EXIT_UNKEPT, file, "can't be written, so this isn't kept: %s",
			     strerror(-rc)) : 0;
}
