// SPDX-License-Identifier: MIT
/*
 * A configuration becomes a list of steps, each with what was so before; steps that
 * would change nothing are left out. Made so at once, one that is refused undoes those
 * before it in reverse order, so that what is left is either the whole of it or what
 * was there. Followed, each step stands for itself, and is done once for what it is about.
 */
#include "plan.h"
#include "groups.h"
#include "target.h"
#include "term.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct step {
	unsigned long cmd;
	struct gpushare_share share, share_before;
	struct gpushare_device device, device_before;
	char what[320];			/* the target or key: what it is known by here */
	char name[GPUSHARE_NAME_MAX];	/* of a named group that is to be made */
	const struct gs_section *section;
	size_t turn;			/* followed: its place in applied->now */
};

struct plan {
	struct gs_ctl *ctl;
	bool dry_run, prune;
	const struct gs_config *config;
	struct gs_units *units;		/* NULL: they aren't looked at */
	struct gs_applied *applied;	/* NULL: it isn't followed */
	struct gs_view view;
	struct step *steps;
	size_t nr, room;
	size_t done;			/* of the steps */
	const struct gs_section *section;	/* while a pattern is searched */
	const char *pattern;
};

static int add_step(struct plan *p, const struct step *step)
{
	size_t room = p->room ? p->room * 2 : 16;
	void *more;

	if (p->nr == p->room) {
		more = reallocarray(p->steps, room, sizeof(*p->steps));
		if (!more)
			return -ENOMEM;
		p->steps = more;
		p->room = room;
	}
	p->steps[p->nr++] = *step;
	return 0;
}

static int compare_turns(const void *a, const void *b)
{
	const struct gs_turn *x = a, *y = b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/*
 * Is it this section's turn, for a group or device @id? Followed, it has one for each, and
 * another one only if its step fails. What is at hand now is noted: the rest is forgotten.
 */
static int is_its_turn(struct plan *p, const struct gs_section *s, uint32_t device, uint64_t id,
		       size_t *turn)
{
	struct gs_applied *a = p->applied;
	struct gs_turn t = { .section = s->turn, .device = device, .id = id };
	const struct gs_turn *old;
	size_t room;
	void *more;

	if (!a)
		return 1;
	if (a->nr_now == a->room) {
		room = a->room ? 2 * a->room : 64;
		more = reallocarray(a->now, room, sizeof(*a->now));
		if (!more)
			return -ENOMEM;
		a->now = more;
		a->room = room;
	}
	old = bsearch(&t, a->old, a->nr_old, sizeof(t), compare_turns);
	if (old)
		t = *old;
	*turn = a->nr_now++;
	a->now[*turn] = t;
	a->now[*turn].done = true;
	return !t.done;
}

/* For what has a name and no id yet. */
static uint64_t id_of_name(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	return hash | 1ull << 63;
}

/* A value that passed the check and is refused now speaks of this machine. */
static int refuse(const struct gs_setting *set, const char *why)
{
	char at[PATH_MAX + 32];

	snprintf(at, sizeof(at), "%s:%u:%u", set->file, set->line, set->column);
	return gs_error(GS_EXIT_FAILURE, at, "%s", why);
}

static bool same_device(const struct gpushare_device *a, const struct gpushare_device *b)
{
	char x[GS_VALUE], y[GS_VALUE];
	const struct gs_prop *prop;

	for (prop = gs_device_props; prop->name; prop++) {
		gs_device_format(a, prop, x);
		gs_device_format(b, prop, y);
		if (strcmp(x, y))
			return false;
	}
	return true;
}

static int plan_device(struct plan *p, const struct gs_section *s,
		       const struct gpushare_device *now, const char *key)
{
	struct step step = { .cmd = now ? GPUSHARE_DEVICE_SET : GPUSHARE_DEVICE_ADD, .section = s };
	static const char *const kinds[] = { "", "gpu", "mig", "cpu", "other" };
	const struct step *earlier = NULL;
	char why[256];
	size_t i;
	int rc;

	rc = is_its_turn(p, s, 0, now ? now->device : id_of_name(key), &step.turn);
	if (rc <= 0)
		return rc;
	for (i = 0; i < p->nr; i++)
		if (p->steps[i].cmd != GPUSHARE_SHARE_SET && !strcmp(p->steps[i].device.key, key))
			earlier = &p->steps[i];
	if (earlier) {		/* a section before spoke of it: go on from there */
		step.device = earlier->device;
		step.cmd = GPUSHARE_DEVICE_SET;
	} else if (now) {
		step.device = *now;
	} else {
		gs_device_defaults(&step.device);
		snprintf(step.device.key, sizeof(step.device.key), "%s", key);
		step.device.kind = gs_kind_of(key);
		for (i = 1; i < 5; i++)
			if (!strcmp(s->kind, kinds[i]))
				step.device.kind = i;
	}
	step.device.size = sizeof(step.device);
	step.device.flags = step.device.mask = 0;
	step.device.clients = step.device.waiters = step.device.holders = 0;
	step.device_before = step.device;
	for (i = 0; i < s->nr_settings; i++)
		if (gs_device_parse(&step.device, s->settings[i].prop, s->settings[i].value, why,
				    sizeof(why)))
			return refuse(&s->settings[i], why);
	step.device_before.mask = step.device.mask;
	if (step.cmd == GPUSHARE_DEVICE_SET &&
	    same_device(&step.device, &step.device_before))
		return 0;
	snprintf(step.what, sizeof(step.what), "%s", step.device.key);
	return add_step(p, &step);
}

static int plan_devices(struct plan *p, const struct gs_section *s)
{
	unsigned int m;
	bool matched;
	size_t i;
	int rc;

	for (m = 0; m < s->nr_match; m++) {
		for (matched = false, i = 0; i < p->view.nr_devices; i++) {
			if (fnmatch(s->match[m], p->view.devices[i].info.key, 0))
				continue;
			matched = true;
			rc = plan_device(p, s, &p->view.devices[i].info,
					 p->view.devices[i].info.key);
			if (rc)
				return rc;
		}
		if (matched || !gs_is_exact(s->match[m]))
			continue;
		if (strlen(s->match[m]) >= GPUSHARE_KEY_MAX)
			return gs_error(GS_EXIT_FAILURE, s->match[m], "too long for a device's key");
		rc = plan_device(p, s, NULL, s->match[m]);
		if (rc)
			return rc;
	}
	return 0;
}

static bool named_by(const struct plan *p, const char *what, uint32_t device)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		if (p->steps[i].cmd == GPUSHARE_SHARE_SET && !strcmp(p->steps[i].what, what) &&
		    p->steps[i].share.device == device)
			return true;
	return false;
}

/* A device's memory, as it will be. */
static uint64_t memory_of(const struct plan *p, const struct gpushare_device *now)
{
	uint64_t memory = now->mem_bytes;
	size_t i;

	for (i = 0; i < p->nr; i++)
		if (p->steps[i].cmd != GPUSHARE_SHARE_SET &&
		    !strcmp(p->steps[i].device.key, now->key))
			memory = p->steps[i].device.mem_bytes;
	return memory;
}

/* A share for a group that is there, or for a cgroup by its path (text). */
static int plan_share(struct plan *p, const struct gs_section *s, uint32_t device,
		      const char *text)
{
	struct step step = { .cmd = GPUSHARE_SHARE_SET, .section = s };
	size_t d = gs_view_device_index(&p->view, device);
	const struct gpushare_share *now = NULL;
	const struct gs_group_view *g;
	struct gs_target target;
	char why[256];
	uint64_t memory;
	unsigned int i;
	int rc;

	rc = gs_target_find(p->ctl, &p->view, text, GS_TARGET_QUIET | GS_TARGET_LATER, &target);
	if (rc == GS_EXIT_NOT_FOUND) {
		if (!p->ctl->quiet && !p->applied)
			gs_error(0, text, "no such cgroup now, left out; apply again when it is there");
		return 0;
	}
	if (rc)
		return rc;
	snprintf(step.what, sizeof(step.what), "%.300s", target.path);
	rc = is_its_turn(p, s, device, target.group ? target.group : id_of_name(target.name),
			 &step.turn);
	/* It has the last word on what a section before it now speaks of anew. */
	if (!rc && named_by(p, step.what, device))
		rc = 1;
	if (rc <= 0) {
		gs_target_close(&target);
		return rc;
	}
	g = target.group ? gs_view_group(&p->view, target.group) : NULL;
	strcpy(step.name, target.name);
	if (g)
		now = d < p->view.nr_devices ? &g->on[d].share : &g->all;
	if (d == p->view.nr_devices && p->view.nr_devices == 1)
		d = 0;
	memory = d < p->view.nr_devices ? memory_of(p, &p->view.devices[d].info) : 0;
	step.share = (struct gpushare_share){ .size = sizeof(step.share), .group = target.group,
					      .cgroup_fd = target.cgroup_fd, .authority_fd = -1,
					      .device = device };
	for (i = 0; i < s->nr_settings; i++)
		if (gs_share_parse(&step.share, s->settings[i].prop, s->settings[i].value, memory,
				   why, sizeof(why))) {
			gs_target_close(&target);
			rc = refuse(&s->settings[i], why);
			return p->applied ? 0 : rc;
		}
	step.share_before = step.share;
	step.share_before.mask = 0;
	step.share_before.reset = step.share.mask | step.share.reset;
	if (now) {
		gs_share_copy(&step.share_before, now, GPUSHARE_SHARE_ALL);
		step.share_before.mask = now->mask & (step.share.mask | step.share.reset);
		step.share_before.reset &= ~now->mask;
		/* What is so already, and will still be then, isn't asked for. */
		if (!named_by(p, step.what, device) &&
		    (now->mask & step.share.mask) == step.share.mask &&
		    !(now->mask & step.share.reset) &&
		    gs_share_same(now, &step.share, step.share.mask)) {
			gs_target_close(&target);
			return 0;
		}
	} else if (!step.share.mask) {
		gs_target_close(&target);
		return 0;
	}
	return add_step(p, &step);	/* which has the directory open from here on */
}

static int choose_device(const struct plan *p, const struct gs_section *s, uint32_t *device)
{
	size_t i;

	*device = GPUSHARE_ALL_DEVICES;
	if (!*s->on)
		return 0;
	/* In a dry run, one that would be added has no id. */
	for (i = 0; i < p->nr && p->dry_run; i++)
		if (p->steps[i].cmd == GPUSHARE_DEVICE_ADD &&
		    !strcmp(p->steps[i].device.key, s->on))
			return 0;
	return gs_device_choose(&p->view, s->on, device);
}

/* A device that isn't there yet is no mistake in rules. */
static bool waits_for_device(const struct plan *p, const struct gs_section *s)
{
	size_t i;

	if (!p->applied || !*s->on)
		return false;
	for (i = 0; i < p->view.nr_devices; i++)
		if (strstr(p->view.devices[i].info.key, s->on))
			return false;
	return true;
}

static int try_cgroup(const char *path, void *arg)
{
	struct plan *p = arg;
	uint32_t device;

	if (!gs_cgroup_matches(p->pattern, path))
		return 0;
	if (choose_device(p, p->section, &device))
		return GS_EXIT_NOT_FOUND;
	return plan_share(p, p->section, device, path);
}

static int plan_shares(struct plan *p, const struct gs_section *s)
{
	unsigned int m;
	uint32_t device;
	bool search;
	int rc;

	if (waits_for_device(p, s))
		return 0;
	rc = choose_device(p, s, &device);
	if (rc)
		return rc;
	for (m = 0; m < s->nr_match; m++) {
		search = !gs_is_exact(s->match[m]) || !strncmp(s->match[m], "unit:", 5);
		p->section = s;
		p->pattern = s->match[m];
		rc = search ? gs_cgroup_walk(try_cgroup, p) : plan_share(p, s, device, s->match[m]);
		if (rc == -E2BIG)
			return gs_error(GS_EXIT_FAILURE, s->match[m], "too many cgroups to search; "
					"give paths");
		if (rc)
			return rc < 0 ? gs_call_error(s->match[m], rc) : rc;
	}
	return 0;
}

/* A section that changes nothing has no step, so names are compared anew. */
static bool in_config(const struct plan *p, const struct gs_config *config,
		      const struct gs_group_view *g, uint32_t device)
{
	const char *path = g->all.path, *name = strrchr(path, '/'), *pattern;
	const struct gs_section *s;
	unsigned int m;
	uint32_t on;
	size_t nr;

	if (p->units && *path == '/')
		for (nr = gs_units_find(p->units, path, &s); nr; nr--, s++)
			if (!choose_device(p, s, &on) && on == device)
				return true;
	name = name ? name + 1 : path;
	for (s = config->sections; s && s < config->sections + config->nr; s++) {
		if (s->device || choose_device(p, s, &on) || on != device)
			continue;
		for (m = 0; m < s->nr_match; m++) {
			pattern = s->match[m];
			if (!strcmp(pattern, path) || !fnmatch(pattern, path, FNM_PATHNAME) ||
			    (!strncmp(pattern, "unit:", 5) && !fnmatch(pattern + 5, name, 0)) ||
			    (!strncmp(pattern, "name:", 5) && !strcmp(pattern + 5, path)) ||
			    (!strncmp(pattern, "job:", 4) && !strncmp(name, "job_", 4) &&
			     !fnmatch(pattern + 4, name + 4, 0)))
				return true;
		}
	}
	return false;
}

static int plan_prune(struct plan *p, const struct gs_config *config)
{
	const struct gs_group_view *g;
	const struct gpushare_share *now;
	struct step step;
	size_t i, d;
	int rc;

	for (i = 0; i < p->view.nr_groups; i++) {
		g = &p->view.groups[i];
		for (d = 0; d <= p->view.nr_devices; d++) {
			now = d ? &g->on[d - 1].share : &g->all;
			if (!now->mask || in_config(p, config, g, now->device))
				continue;
			if (strlen(g->all.path) == sizeof(g->all.path) - 1) {
				gs_error(0, g->all.path, "too long to be compared, not taken back");
				continue;
			}
			step = (struct step){ .cmd = GPUSHARE_SHARE_SET };
			step.share = (struct gpushare_share){
				.size = sizeof(step.share), .group = g->all.group, .cgroup_fd = -1,
				.authority_fd = -1, .device = now->device, .reset = now->mask };
			step.share_before = step.share;
			gs_share_copy(&step.share_before, now, GPUSHARE_SHARE_ALL);
			step.share_before.mask = now->mask;
			step.share_before.reset = 0;
			snprintf(step.what, sizeof(step.what), "%.300s", g->all.path);
			rc = add_step(p, &step);
			if (rc)
				return gs_call_error("apply", rc);
		}
	}
	return 0;
}

static void say_step(const struct step *step)
{
	const struct gs_prop *prop;
	char from[GS_VALUE], to[GS_VALUE];

	if (step->cmd != GPUSHARE_SHARE_SET) {
		printf("%s device ", step->cmd == GPUSHARE_DEVICE_ADD ? "add" : "set");
		gs_print_safe(stdout, step->what);
		for (prop = gs_device_props; prop->name; prop++) {
			gs_device_format(&step->device_before, prop, from);
			gs_device_format(&step->device, prop, to);
			if (step->device.mask & prop->mask && strcmp(from, to))
				printf(" %s=%s", prop->name, to);
		}
		putchar('\n');
		return;
	}
	printf("set ");
	gs_print_safe(stdout, step->what);
	if (step->section && *step->section->on) {
		fputs(" on ", stdout);
		gs_print_safe(stdout, step->section->on);
	}
	for (prop = gs_share_props; prop->name; prop++) {
		strcpy(to, "default");
		if (step->share.mask & prop->mask)
			gs_share_format(&step->share, prop, to);
		else if (!(step->share.reset & prop->mask))
			continue;
		printf(" %s=%s", prop->name, to);
	}
	putchar('\n');
}

static int do_step(struct plan *p, struct step *step)
{
	struct gpushare_device device = step->device;
	uint64_t group;
	int rc;

	if (step->cmd == GPUSHARE_SHARE_SET && !step->share.group) {
		rc = gs_target_make(p->ctl, step->name, &group);
		if (rc)
			return rc;
		step->share.group = step->share_before.group = group;
	}
	rc = gs_call(p->ctl, step->cmd, step->cmd == GPUSHARE_SHARE_SET ?
		     (void *)&step->share : (void *)&device);
	if (!rc && step->cmd == GPUSHARE_DEVICE_ADD)
		step->device.device = device.device;
	return rc;
}

static int undo_step(struct plan *p, struct step *step)
{
	if (step->cmd == GPUSHARE_SHARE_SET)
		return gs_call(p->ctl, step->cmd, &step->share_before);
	if (step->cmd == GPUSHARE_DEVICE_SET)
		return gs_call(p->ctl, step->cmd, &step->device_before);
	return gs_call(p->ctl, GPUSHARE_DEVICE_REMOVE, &step->device);
}

/* Followed, what is refused is said once, and tried again when there is something new. */
static int put_off(struct plan *p, const struct step *step, const char *at, int rc)
{
	struct gs_turn *turn = &p->applied->now[step->turn];

	if (rc == -EPIPE || rc == -ECONNRESET || rc == -ETIMEDOUT)
		return rc;
	if (!turn->said && rc != -ENOENT)	/* gone again */
		gs_call_error(at, rc);
	turn->said = true;
	turn->done = false;
	return 0;
}

/* What isn't done yet of the steps. */
static int do_plan(struct plan *p)
{
	char at[PATH_MAX + 400];
	const struct step *step;
	int rc;

	for (; p->done < p->nr; p->done++) {
		step = &p->steps[p->done];
		rc = do_step(p, &p->steps[p->done]);
		if (!rc)
			continue;
		snprintf(at, sizeof(at), "%s%s%s", step->section ? step->section->file : "",
			 step->section ? ": " : "", step->what);
		if (!p->applied)
			return gs_call_error(at, rc);
		rc = put_off(p, step, at, rc);
		if (rc)
			return rc;
	}
	return 0;
}

static bool undo(struct plan *p)
{
	bool whole = true;
	int rc;

	while (p->done > 0) {
		p->done--;
		rc = undo_step(p, &p->steps[p->done]);
		if (!rc)
			continue;
		whole = false;
		gs_error(0, p->steps[p->done].what, "could not be put back as it was: %s",
			 strerror(-rc));
	}
	return whole;
}

static int plan_unit(struct plan *p, const struct gs_section *s, const char *path)
{
	uint32_t device;
	int rc;

	if (waits_for_device(p, s))
		return 0;
	rc = choose_device(p, s, &device);
	return rc ? rc : plan_share(p, s, device, path);
}

/*
 * A rule that makes no sense here isn't looked at again while the devices are the same.
 * @path is of the unit's cgroup, for a unit's section.
 */
static int plan_section(struct plan *p, const struct gs_section *s, const char *path)
{
	struct gs_turn wrong = { .section = s->turn, .device = UINT32_MAX,
				 .id = p->view.nr_devices };
	bool known = p->applied && p->applied->old &&
		bsearch(&wrong, p->applied->old, p->applied->nr_old, sizeof(wrong), compare_turns);
	size_t turn;
	int rc = 0;

	if (!known)
		rc = path ? plan_unit(p, s, path) : s->device ? plan_devices(p, s) :
			plan_shares(p, s);
	if (rc < 0)
		return gs_call_error("apply", rc);
	if (!p->applied || (!known && !rc))
		return rc;
	rc = is_its_turn(p, s, wrong.device, wrong.id, &turn);
	return rc < 0 ? rc : 0;
}

static int try_unit(const char *path, void *arg)
{
	const struct gs_section *s;
	struct plan *p = arg;
	size_t nr;
	int rc = 0;

	for (nr = gs_units_find(p->units, path, &s); nr && !rc; nr--, s++)
		rc = plan_section(p, s, path);
	return rc;
}

/* Before the other shares, which have the last word. */
static int plan_units(struct plan *p)
{
	int rc;

	if (!p->units || !gs_units_any(p->units))
		return 0;
	rc = gs_cgroup_walk(try_unit, p);
	gs_units_end_round(p->units);
	if (rc == -E2BIG)
		return gs_error(GS_EXIT_FAILURE, "units", "too many cgroups to search");
	return rc;
}

static int make_plan(struct plan *p)
{
	const struct gs_config *config = p->config;
	size_t i;
	int pass, rc;

	/* Devices first: shares may be for one of them. */
	for (pass = 0; pass < 2; pass++) {
		rc = pass ? plan_units(p) : 0;
		if (rc)
			return rc;
		for (i = 0; i < config->nr; i++) {
			if (config->sections[i].device != !pass)
				continue;
			rc = plan_section(p, &config->sections[i], NULL);
			if (rc)
				return rc;
		}
		if (pass || !p->nr || p->dry_run)
			continue;
		rc = do_plan(p);
		if (rc)
			return rc;
		/* Ids of new devices are known from here on. */
		gs_view_free(&p->view);
		rc = gs_view_take(p->ctl, &p->view, GS_VIEW_GROUPS);
		if (rc)
			return rc;
	}
	return p->prune ? plan_prune(p, config) : 0;
}

static void plan_free(struct plan *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		if (p->steps[i].cmd == GPUSHARE_SHARE_SET && p->steps[i].share.cgroup_fd >= 0)
			close(p->steps[i].share.cgroup_fd);
	free(p->steps);
	gs_view_free(&p->view);
}

/* A signal that came in the middle would leave half of it. */
static void hold_signals(sigset_t *old)
{
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	sigaddset(&stops, SIGPIPE);
	sigprocmask(SIG_BLOCK, &stops, old);
}

int gs_plan_apply(struct gs_ctl *ctl, const struct gs_config *config, struct gs_units *units,
		  bool dry_run, bool prune)
{
	struct plan p = { .ctl = ctl, .config = config, .units = units, .dry_run = dry_run,
			  .prune = prune };
	sigset_t old;
	size_t i;
	int rc;

	rc = gs_view_take(ctl, &p.view, GS_VIEW_GROUPS);
	if (rc)
		return rc;
	hold_signals(&old);
	rc = make_plan(&p);
	if (!rc && dry_run) {
		for (i = 0; i < p.nr; i++)
			say_step(&p.steps[i]);
	} else if (!rc) {
		rc = do_plan(&p);
	}
	if (rc)
		gs_error(rc, "apply", undo(&p) ? "nothing was changed" : "left as the lines above say");
	else if (p.done)
		rc = gs_check_kept(ctl, "apply");
	sigprocmask(SIG_SETMASK, &old, NULL);
	plan_free(&p);
	return rc;
}

int gs_plan_follow(struct gs_ctl *ctl, const struct gs_config *config, struct gs_units *units,
		   struct gs_applied *applied)
{
	struct plan p = { .ctl = ctl, .config = config, .units = units, .applied = applied };
	sigset_t old;
	int rc;

	rc = gs_view_take(ctl, &p.view, GS_VIEW_GROUPS);
	if (rc)
		return rc;
	hold_signals(&old);
	rc = make_plan(&p);
	if (!rc)
		rc = do_plan(&p);
	sigprocmask(SIG_SETMASK, &old, NULL);
	plan_free(&p);
	qsort(applied->now, applied->nr_now, sizeof(*applied->now), compare_turns);
	free(applied->old);
	applied->old = applied->now;
	applied->nr_old = applied->nr_now;
	applied->now = NULL;
	applied->nr_now = applied->room = 0;
	return rc;
}

void gs_applied_forget(struct gs_applied *applied)
{
	free(applied->old);
	free(applied->now);
	*applied = (struct gs_applied){ 0 };
}
