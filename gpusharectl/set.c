// SPDX-License-Identifier: MIT
/* gpusharectl set, reset and show: one group's share. */
#include "ctl.h"
#include "gate.h"
#include "groups.h"
#include "keep.h"
#include "props.h"
#include "target.h"
#include "term.h"

#include <errno.h>
#include <string.h>

enum { OPT_DEVICE, OPT_DRY_RUN, OPT_KEEP };

static const struct gs_option set_options[] = {
	{ "device", "DEV", "on this device only; without it on all", 'd' },
	{ "dry-run", NULL, "only say what would change", 'n' },
	{ "keep", NULL, "for good: as a rule in /etc/gpushare too, also if it isn't there yet", 'k' },
	{ NULL, NULL, NULL, 0 },
};

enum { SHOW_DEVICE, SHOW_PROPERTY, SHOW_VALUE };

static const struct gs_option show_options[] = {
	{ "device", "DEV", "on this device only", 'd' },
	{ "property", "PROP", "this property only", 'P' },
	{ "value", NULL, "print values without names", 0 },
	{ NULL, NULL, NULL, 0 },
};

/* What a refusal means, with the numbers that the arbiter gave. */
static int refused(const struct gs_view *view, const char *text, const struct gpushare_share *asked,
		   int rc)
{
	const struct gs_group_view *g = gs_view_group(view, asked->group), *above;
	char wanted[GS_AMOUNT], left[GS_AMOUNT];

	if (g && gs_group_is_part(&g->all))
		return gs_error(GS_EXIT_REFUSED, text, "a tenant's part can't be given a share: give "
				"one to the cgroup that its programs are in");
	if (rc != -EBUSY)
		return gs_call_error(text, rc);
	above = g ? gs_view_group(view, g->all.parent) : NULL;
	if (above && gs_group_is_part(&above->all))
		return gs_error(GS_EXIT_REFUSED, text, "min refused: it divides %s, what its user "
				"has, which was guaranteed nothing; an administrator can give it a "
				"min itself, if it is a cgroup", above->all.path);
	return gs_error(GS_EXIT_REFUSED, text, "min=%s refused: the groups beside it%s%s have too "
			"much guaranteed already; at most %s is free",
			gs_permille(wanted, asked->min_permille), g && g->all.parent ? " under " : "",
			g && gs_view_group(view, g->all.parent) ?
			gs_view_group(view, g->all.parent)->all.path : "",
			gs_permille(left, asked->min_free));
}

static uint64_t memory_of(const struct gs_view *view, uint32_t device)
{
	size_t i = gs_view_device_index(view, device);

	if (i < view->nr_devices)
		return view->devices[i].info.mem_bytes;
	return view->nr_devices == 1 && !device ? view->devices[0].info.mem_bytes : 0;
}

/* One word of the command line: PROP=VALUE. */
static int take_word(struct gs_ctl *ctl, const struct gs_view *view, struct gpushare_share *share,
		     const char *word)
{
	const char *equals = strchr(word, '=');
	const struct gs_prop *prop;
	char name[64], why[256];

	if (!equals || equals - word >= (int)sizeof(name))
		return gs_usage(ctl, "%s: not of the form PROPERTY=VALUE", word);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
	prop = gs_prop_find(gs_share_props, name);
	if (!prop)
		return gs_usage(ctl, "%s: no such property", name);
	if (gs_share_parse(share, prop, equals + 1, memory_of(view, share->device), why,
			   sizeof(why)))
		return gs_usage(ctl, "%s", why);
	return 0;
}

/* The share as it is now, as far as the arbiter knows the group. */
static const struct gpushare_share *share_now(const struct gs_view *view, uint64_t group,
					      uint32_t device)
{
	const struct gs_group_view *g = gs_view_group(view, group);
	size_t i = gs_view_device_index(view, device);

	return !g ? NULL : i < view->nr_devices ? &g->on[i].share : &g->all;
}

static void show_changes(const struct gs_view *view, const struct gs_target *target,
			 const struct gpushare_share *asked)
{
	const struct gpushare_share *now = share_now(view, target->group, asked->device);
	const struct gs_prop *p;
	char from[GS_VALUE], to[GS_VALUE];

	for (p = gs_share_props; p->name; p++) {
		if (!((asked->mask | asked->reset) & p->mask))
			continue;
		strcpy(from, "default");
		strcpy(to, "default");
		if (now && (now->mask & p->mask))
			gs_share_format(now, p, from);
		if (asked->mask & p->mask)
			gs_share_format(asked, p, to);
		gs_print_safe(stdout, target->path);
		printf(": %s: %s -> %s%s\n", p->name, from, to, strcmp(from, to) ? "" : " (as it is)");
	}
}

/* In force, if it is there, and as a rule. */
static int keep(struct gs_ctl *ctl, const struct gs_view *view, const char *text,
		const struct gs_target *target, const struct gpushare_share *share)
{
	size_t d = gs_view_device_index(view, share->device);

	if (!ctl->values[OPT_KEEP])
		return gs_check_kept(ctl, text);
	return gs_keep(text, target ? target->path : NULL,
		       d < view->nr_devices ? view->devices[d].info.key : NULL, share);
}

static int give(struct gs_ctl *ctl, const struct gs_view *view, const char *text,
		struct gpushare_share *share)
{
	const struct gpushare_share asked = *share;
	struct gs_target target;
	int rc;

	/* What is given back must be a group; what is given may become one. */
	rc = gs_target_find(ctl, view, text, (share->mask ? 0 : GS_TARGET_KNOWN) |
			    (ctl->values[OPT_KEEP] ? GS_TARGET_QUIET : 0), &target);
	if (rc == GS_EXIT_NOT_FOUND && ctl->values[OPT_KEEP] && !ctl->values[OPT_DRY_RUN])
		return keep(ctl, view, text, NULL, &asked);
	if (rc == GS_EXIT_NOT_FOUND && ctl->values[OPT_KEEP]) {
		snprintf(target.path, sizeof(target.path), "%s", text);
		target.group = 0;
		target.cgroup_fd = -1;
		rc = 0;
	}
	if (rc)
		return rc;
	share->group = target.group;
	share->cgroup_fd = target.cgroup_fd;
	if (ctl->values[OPT_DRY_RUN]) {
		show_changes(view, &target, share);
	} else {
		rc = gs_call(ctl, GPUSHARE_SHARE_SET, share);
		if (rc)
			rc = refused(view, text, share, rc);
		else
			rc = keep(ctl, view, text, &target, &asked);
		gs_gate_share_set(ctl);
	}
	gs_target_close(&target);
	return rc;
}

static int begin(struct gs_ctl *ctl, struct gs_view *view, struct gpushare_share *share)
{
	int rc = gs_view_take(ctl, view, GS_VIEW_GROUPS);

	*share = (struct gpushare_share){ .size = sizeof(*share), .cgroup_fd = -1,
					  .authority_fd = -1 };
	if (!rc && ctl->values[OPT_DEVICE]) {
		rc = gs_device_choose(view, ctl->values[OPT_DEVICE], &share->device);
		if (rc)
			gs_view_free(view);
	}
	return rc;
}

static int run_set(struct gs_ctl *ctl, int argc, char **argv)
{
	struct gpushare_share share;
	struct gs_view view;
	int rc, i;

	rc = begin(ctl, &view, &share);
	if (rc)
		return rc;
	for (i = 1; i < argc && !rc; i++)
		rc = take_word(ctl, &view, &share, argv[i]);
	if (!rc)
		rc = give(ctl, &view, argv[0], &share);
	gs_view_free(&view);
	return rc;
}

static int run_reset(struct gs_ctl *ctl, int argc, char **argv)
{
	const struct gs_prop *prop;
	struct gpushare_share share;
	struct gs_view view;
	int rc, i;

	rc = begin(ctl, &view, &share);
	if (rc)
		return rc;
	share.reset = argc > 1 ? 0 : GPUSHARE_SHARE_ALL;
	for (i = 1; i < argc && !rc; i++) {
		prop = gs_prop_find(gs_share_props, argv[i]);
		if (prop)
			share.reset |= prop->mask;
		else
			rc = gs_usage(ctl, "%s: no such property", argv[i]);
	}
	if (!rc)
		rc = give(ctl, &view, argv[0], &share);
	gs_view_free(&view);
	return rc;
}

/* Where an effective value comes from. */
static const char *origin(const struct gs_group_view *g, const struct gs_group_on *on,
			  uint32_t mask)
{
	return on->share.mask & mask ? "set for this device" :
		g->all.mask & mask ? "set for all devices" : "default";
}

static void show_counters(const struct gs_group_on *on)
{
	const struct gpushare_stats *s = &on->stats;
	char a[GS_AMOUNT];

	printf("  %-11s %-16s if it always ran, beside who runs now\n", "entitled",
	       gs_permille(a, on->share.entitled_permille));
	printf("  %-11s %u\n", "clients", on->share.clients);
	printf("  %-11s %s\n", "used", gs_time(a, s->usage_ns));
	printf("  %-11s %s\n", "waited", gs_time(a, s->wait_ns));
	printf("  %-11s %-16s in %llu periods\n", "throttled", gs_time(a, s->throttled_ns),
	       (unsigned long long)s->throttled);
	printf("  %-11s %llu, %llu asked back, %llu late, %llu overrun\n", "grants",
	       (unsigned long long)s->grants, (unsigned long long)s->preempts,
	       (unsigned long long)s->late, (unsigned long long)s->overruns);
	printf("  %-11s %s", "memory", gs_bytes(a, s->mem_current));
	printf(", peak %s", gs_bytes(a, s->mem_peak));
	printf(", moved away %s, %llu refused\n", gs_bytes(a, s->mem_swapped),
	       (unsigned long long)s->mem_denied);
	printf("  %-11s %llu, for %s; ", "mem. waits", (unsigned long long)s->mem_waits,
	       gs_time(a, s->mem_wait_ns));
	printf("now %u for %s; %llu would have waited for each other\n", s->mem_waiters,
	       gs_bytes(a, s->mem_wanted), (unsigned long long)s->mem_crossed);
	printf("  %-11s some avg10=%u.%02u avg60=%u.%02u avg300=%u.%02u\n", "pressure",
	       s->some_avg[0] / 100, s->some_avg[0] % 100, s->some_avg[1] / 100,
	       s->some_avg[1] % 100, s->some_avg[2] / 100, s->some_avg[2] % 100);
}

static void show_on(const struct gs_ctl *ctl, const struct gs_view *view,
		    const struct gs_group_view *g, size_t d, const struct gs_prop *only)
{
	const struct gs_group_on *on = &g->on[d];
	const struct gs_prop *p;
	char value[GS_VALUE];

	if (!only) {
		printf("on %u ", view->devices[d].info.device);
		gs_print_safe(stdout, view->devices[d].info.key);
		putchar('\n');
	}
	for (p = gs_share_props; p->name; p++) {
		if (only && p != only)
			continue;
		gs_share_format(&on->share, p, value);
		if (ctl->values[SHOW_VALUE])
			puts(value);
		else if (only)
			printf("%s=%s\n", p->name, value);
		else
			printf("  %-11s %-16s %s\n", p->name, value, origin(g, on, p->mask));
	}
	if (!only && !ctl->values[SHOW_VALUE])
		show_counters(on);
}

static int show(struct gs_ctl *ctl, const struct gs_view *view, const char *text)
{
	const struct gs_prop *only = NULL;
	const struct gs_group_view *g;
	struct gs_target target;
	struct gs_view one;
	struct gs_json j;
	uint32_t device = GPUSHARE_ALL_DEVICES;
	size_t d;
	int rc;

	if (ctl->values[SHOW_PROPERTY]) {
		only = gs_prop_find(gs_share_props, ctl->values[SHOW_PROPERTY]);
		if (!only)
			return gs_usage(ctl, "%s: no such property", ctl->values[SHOW_PROPERTY]);
	}
	if (ctl->values[SHOW_DEVICE]) {
		rc = gs_device_choose(view, ctl->values[SHOW_DEVICE], &device);
		if (rc)
			return rc;
	}
	rc = gs_target_find(ctl, view, text, GS_TARGET_KNOWN, &target);
	if (rc)
		return rc;
	g = gs_view_group(view, target.group);
	if (ctl->json) {
		one = *view;
		one.groups = (struct gs_group_view *)g;
		one.nr_groups = 1;
		gs_answer_begin(&j, ctl, "show");
		gs_groups_json(&j, &one, device);
		gs_json_end(&j);
		return 0;
	}
	if (!only && !ctl->values[SHOW_VALUE]) {
		gs_print_safe(stdout, g->all.path);
		printf("  (group %llu)\n", (unsigned long long)g->all.group);
	}
	for (d = 0; d < view->nr_devices; d++) {
		if (device && view->devices[d].info.device != device)
			continue;
		show_on(ctl, view, g, d, only);
		if (only && !device)
			break;	/* a script wants one value; --device picks another */
	}
	return 0;
}

static int run_show(struct gs_ctl *ctl, int argc, char **argv)
{
	struct gs_view view;
	int rc;

	(void)argc;
	rc = gs_view_take(ctl, &view, GS_VIEW_GROUPS);
	if (rc)
		return rc;
	rc = show(ctl, &view, argv[0]);
	gs_view_free(&view);
	return rc;
}

#define TARGETS \
	"TARGET is a /cgroup/path, a unit (x.slice, x.service, x.scope), user:NAME, self,\n" \
	"pid:N, job:ID[.STEP] (Slurm's), ctr:ID (podman, docker), name:NAME (a named\n" \
	"group of the daemon) or id:N.\n"

const struct gs_command gs_set_command = {
	.name = "set", .args = "TARGET PROPERTY=VALUE...", .options = set_options,
	.run = run_set, .operands = "target share-props", .least = 2, .most = -1,
	.summary = "Give a group a share, or change it; all of it or nothing",
	.details = TARGETS "\nproperties:\n"
	"  weight=1..10000          against its siblings, 100 if nothing is said\n"
	"  class=CLASS              batch, latency (preempts), idle (runs when nobody else does)\n"
	"  max=PCT%|TIME/PERIOD[+BURST]|max    a hard limit of the device's time\n"
	"  min=PCT%                 what it gets at least\n"
	"  mem.max=SIZE|PCT%|max    more is refused (mem= is short for it)\n"
	"  mem.high=SIZE|PCT%|max   above it, its memory is moved away first\n"
	"  mem.min=SIZE|PCT%        its memory isn't moved away below it\n"
	"  mem.full=fail|wait       an allocation that doesn't fit is refused, or waits\n"
	"  mem.wait=TIME            for so long at most; both: as the group above, or the device, says\n"
	"An empty value, or \"default\", is as if it were never set.\n",
};

const struct gs_command gs_reset_command = {
	.name = "reset", .args = "TARGET [PROPERTY...]", .options = set_options,
	.run = run_reset, .operands = "target share-prop-names", .least = 1, .most = -1,
	.summary = "Take back what was set for a group, all of it or some",
	.details = TARGETS,
};

const struct gs_command gs_show_command = {
	.name = "show", .args = "TARGET", .options = show_options, .run = run_show,
	.operands = "target", .least = 1, .most = 1,
	.summary = "One group: every property, where it comes from, and counters",
	.details = TARGETS,
};
