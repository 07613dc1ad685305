// SPDX-License-Identifier: MIT
/* gpusharectl save: what is so now, as a configuration that apply takes. */
#include "ctl.h"
#include "groups.h"
#include "props.h"
#include "term.h"
#include "file.h"
#include "keep.h"

#include <errno.h>
#include <string.h>

static void save_device(FILE *out, const struct gpushare_device *d)
{
	const struct gs_prop *p;
	char value[GS_VALUE];

	fprintf(out, "\n[Device]\nMatch=");
	gs_print_safe(out, d->key);
	fprintf(out, "\nKind=%s\n", gs_kind_name(d->kind));
	for (p = gs_device_props; p->name; p++) {
		gs_device_format(d, p, value);
		fprintf(out, "%s=%s\n", p->key, value);
	}
}

static bool has_share(const struct gs_view *view, const struct gs_group_view *g)
{
	uint32_t mask = g->all.mask;
	size_t d;

	for (d = 0; d < view->nr_devices; d++)
		mask |= g->on[d].share.mask;
	return mask;
}

static void save_share(FILE *out, const struct gpushare_share *s, const char *key)
{
	const struct gs_prop *p;
	char value[GS_VALUE];

	if (!s->mask)
		return;
	/* A cgroup's path begins with '/', a named group's is its name. */
	fprintf(out, "\n[Share]\nMatch=%s%s\n", *s->path == '/' ? "" : "name:", s->path);
	if (key) {
		fputs("Device=", out);
		gs_print_safe(out, key);
		fputc('\n', out);
	}
	for (p = gs_share_props; p->name; p++) {
		if (!(s->mask & p->mask))
			continue;
		gs_share_format(s, p, value);
		fprintf(out, "%s=%s\n", p->key, value);
	}
}

static int save(FILE *out, void *arg)
{
	const struct gs_view *view = arg;
	const struct gs_group_view *g;
	size_t i, d;

	fputs("# Written by gpusharectl save; see gpushare.conf(5).\n", out);
	for (i = 0; i < view->nr_devices; i++)
		save_device(out, &view->devices[i].info);
	for (i = 0; i < view->nr_groups; i++) {
		g = &view->groups[i];
		if (!has_share(view, g))
			continue;
		if (!gs_can_be_named(g->all.path)) {
			gs_error(0, g->all.path, "left out: this name can't stand in a configuration");
			continue;
		}
		save_share(out, &g->all, NULL);
		for (d = 0; d < view->nr_devices; d++)
			save_share(out, &g->on[d].share, view->devices[d].info.key);
	}
	return ferror(out) ? -EIO : 0;
}

static int run_save(struct gs_ctl *ctl, int argc, char **argv)
{
	struct gs_view view;
	int rc;

	rc = gs_view_take(ctl, &view, GS_VIEW_GROUPS);
	if (rc)
		return rc;
	rc = gs_file_replace(argc ? argv[0] : "-", save, &view);
	gs_view_free(&view);
	return rc ? gs_error(GS_EXIT_FAILURE, argc ? argv[0] : "save", "can't be written: %s",
			     strerror(-rc)) : 0;
}

const struct gs_command gs_save_command = {
	.name = "save", .args = "[FILE]", .run = run_save, .operands = "file", .most = 1,
	.summary = "Write what is so now as a configuration that apply takes",
	.details = "A file is replaced in one step, or stays as it is. A cgroup whose name has blanks,\n"
	"'*', '?', '[' or control characters, or is too long, is left out, and that is said.\n",
};
