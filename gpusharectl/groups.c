// SPDX-License-Identifier: MIT
#include "groups.h"
#include "props.h"
#include "term.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static const struct gs_group_on *on_before(const struct gs_view *before, const struct gs_view *now,
					   size_t group, size_t device)
{
	const struct gs_group_view *g;
	size_t i;

	if (!before)
		return NULL;
	g = gs_view_group(before, now->groups[group].all.group);
	i = gs_view_device_index(before, now->devices[device].info.device);
	return g && i < before->nr_devices ? &g->on[i] : NULL;
}

struct gs_rate gs_group_rate(const struct gs_view *before, const struct gs_view *now,
			     size_t group, size_t device)
{
	const struct gpushare_stats *s = &now->groups[group].on[device].stats;
	const struct gs_group_on *b = on_before(before, now, group, device);
	struct gs_rate rate = { 0 };
	uint64_t passed;

	if (!b || s->now_ns <= b->stats.now_ns)
		return rate;
	passed = s->now_ns - b->stats.now_ns;
	rate.used = gs_ratio(s->usage_ns - b->stats.usage_ns, passed);
	rate.wait = gs_ratio(s->some_ns - b->stats.some_ns, passed);
	rate.throttled = s->throttled_ns > b->stats.throttled_ns;
	rate.grants = (double)(s->grants - b->stats.grants) * 1e9 / passed;
	return rate;
}

struct gs_rate gs_client_rate(const struct gs_view *before, const struct gpushare_stats *client)
{
	struct gs_rate rate = { 0 };
	const struct gpushare_stats *b;
	uint64_t passed;
	size_t i;

	for (i = 0; before && i < before->nr_clients; i++) {
		b = &before->clients[i];
		if (b->id != client->id || client->now_ns <= b->now_ns)
			continue;
		passed = client->now_ns - b->now_ns;
		rate.used = gs_ratio(client->usage_ns - b->usage_ns, passed);
		rate.wait = gs_ratio(client->wait_ns - b->wait_ns, passed);
		rate.throttled = client->throttled_ns > b->throttled_ns;
		rate.grants = (double)(client->grants - b->grants) * 1e9 / passed;
	}
	return rate;
}

unsigned int gs_device_busy(const struct gs_view *before, const struct gs_view *now, size_t device)
{
	const struct gs_device_view *d = &now->devices[device], *b;

	b = before ? gs_view_device(before, d->info.device) : NULL;
	if (!b || d->stats.now_ns <= b->stats.now_ns)
		return 0;
	return gs_ratio(d->stats.usage_ns - b->stats.usage_ns,
			(d->stats.now_ns - b->stats.now_ns) * (d->info.seats ? d->info.seats : 1));
}

/* Is it the last of its parent's children? */
static bool is_last(const struct gs_view *view, size_t group)
{
	size_t i;

	for (i = group + 1; i < view->nr_groups; i++) {
		if (view->groups[i].depth < view->groups[group].depth)
			return true;
		if (view->groups[i].depth == view->groups[group].depth)
			return false;
	}
	return true;
}

/* Ids of containers, of 64 digits, by their first 12, as their tools do. */
static void shorten_ids(char *label)
{
	char *at = label;
	size_t n;

	while (*at) {
		n = strspn(at, "0123456789abcdef");
		if (n == 64)
			memmove(at + 12, at + n, strlen(at + n) + 1);
		at += n == 64 ? 12 : n ? n : 1;
	}
}

void gs_tree_label(const struct gs_view *view, size_t group, char *label, size_t size)
{
	const struct gs_group_view *g = &view->groups[group], *above;
	const char *path = g->all.path;
	char glyphs[16 * 8] = "";
	unsigned int depth, d;
	size_t i = group;

	/* From the group upwards, so the glyphs are put in front of each other. */
	depth = g->depth < 12 ? g->depth : 12;
	for (d = depth; d > 0; d--) {
		char rest[sizeof(glyphs)];

		while (view->groups[i].depth > d)
			i--;
		strcpy(rest, glyphs);
		snprintf(glyphs, sizeof(glyphs), "%s%.100s", d == depth ?
			 (is_last(view, i) ? "└─" : "├─") : (is_last(view, i) ? "  " : "│ "), rest);
	}
	above = g->depth ? gs_view_group(view, g->all.parent) : NULL;
	if (above && strcmp(above->all.path, "/") &&
	    !strncmp(path, above->all.path, strlen(above->all.path)))
		path += strlen(above->all.path);
	if (g->depth && *path == '/')
		path++;
	snprintf(label, size, "%s%s", glyphs, *path ? path : "/");
	shorten_ids(label);
}

static bool below(const struct gs_view *view, uint64_t group, uint64_t above)
{
	const struct gs_group_view *g;
	unsigned int depth;

	for (depth = 0; group && depth < 64; depth++) {
		if (group == above)
			return true;
		g = gs_view_group(view, group);
		group = g ? g->all.parent : 0;
	}
	return false;
}

void gs_group_state(const struct gs_view *view, const struct gs_rate *rate, size_t group,
		    size_t device, char *state, size_t size)
{
	const struct gs_group_on *on = &view->groups[group].on[device];
	unsigned int runs = 0, waits = 0, idle = 0;
	const struct gpushare_stats *c;
	size_t i, n = 0;

	for (i = 0; i < view->nr_clients; i++) {
		c = &view->clients[i];
		if (c->device != on->share.device || !below(view, c->group, on->share.group))
			continue;
		runs += !!(c->state & GPUSHARE_GRANTED);
		waits += !!(c->state & GPUSHARE_WAITING);
		idle += !(c->state & (GPUSHARE_GRANTED | GPUSHARE_WAITING));
	}
	*state = 0;
	if (rate->throttled)
		n += snprintf(state + n, size - n, "throttled");
	if (runs && n < size)
		n += snprintf(state + n, size - n, "%srunning %u", n ? ", " : "", runs);
	if (waits && n < size)
		n += snprintf(state + n, size - n, "%swaiting %u", n ? ", " : "", waits);
	if (idle && n < size)
		n += snprintf(state + n, size - n, "%sidle %u", n ? ", " : "", idle);
	if (on->stats.mem_waiters && n < size)
		n += snprintf(state + n, size - n, "%smem-wait %u", n ? ", " : "",
			      on->stats.mem_waiters);
	if (on->stats.mem_denied && n < size)
		snprintf(state + n, size - n, "%smem-deny %llu", n ? ", " : "",
			 (unsigned long long)on->stats.mem_denied);
}

bool gs_group_on_device(const struct gs_view *view, size_t group, size_t device)
{
	const struct gs_group_on *on = &view->groups[group].on[device];

	return on->share.mask || on->share.clients || on->stats.usage_ns || on->stats.mem_current ||
		on->stats.wait_ns;
}

int gs_view_twice(struct gs_ctl *ctl, uint64_t interval_us, unsigned int what,
		  struct gs_view *before, struct gs_view *now)
{
	int rc;

	*before = (struct gs_view){ 0 };
	if (interval_us) {
		rc = gs_view_take(ctl, before, what);
		if (rc)
			return rc;
		poll(NULL, 0, interval_us / 1000);
	}
	rc = gs_view_take(ctl, now, what);
	if (rc)
		gs_view_free(before);
	return rc;
}

static void set_cell(struct gs_table *t, const struct gs_group_view *g,
		     const struct gs_group_on *on, const char *prop_name)
{
	const struct gs_prop *prop = gs_prop_find(gs_share_props, prop_name);
	char value[GS_VALUE];

	if (!((g->all.mask | on->share.mask) & prop->mask)) {
		gs_table_cell(t, "-");
		return;
	}
	gs_share_format(&on->share, prop, value);
	gs_table_cell(t, "%s", value);
}

static void group_row(struct gs_table *t, const struct gs_view *before, const struct gs_view *now,
		      size_t group, size_t device)
{
	const struct gs_group_view *g = &now->groups[group];
	const struct gs_group_on *on = &g->on[device];
	struct gs_rate rate = gs_group_rate(before, now, group, device);
	char label[GS_CELL], state[96], a[GS_AMOUNT], b[GS_AMOUNT];

	gs_tree_label(now, group, label, sizeof(label));
	gs_table_cell(t, "%s", label);
	gs_table_cell(t, "%u", now->devices[device].info.device);
	set_cell(t, g, on, "weight");
	set_cell(t, g, on, "min");
	set_cell(t, g, on, "max");
	gs_table_cell(t, "%s", gs_permille(a, on->share.entitled_permille));
	gs_table_cell(t, "%s", before ? gs_permille(a, rate.used) : "-");
	gs_table_cell(t, "%s", before ? gs_permille(a, rate.wait) : "-");
	gs_table_cell(t, "%s/%s", gs_bytes(a, on->stats.mem_current),
		      gs_bytes(b, g->all.parent ? on->share.mem_max :
			       now->devices[device].info.mem_bytes ?
			       now->devices[device].info.mem_bytes : GPUSHARE_NO_LIMIT));
	gs_group_state(now, &rate, group, device, state, sizeof(state));
	gs_table_cell(t, "%s", state);
}

int gs_groups_table(const struct gs_view *before, const struct gs_view *now, uint32_t device,
		    bool colour)
{
	static const char *const heads[] = { "GROUP", ">DEV", ">WEIGHT", ">MIN", ">MAX", ">ENTITLED",
					     ">USED", ">WAIT", ">MEM/LIMIT", "STATE" };
	struct gs_table t;
	size_t g, d;
	bool any;

	gs_table_begin(&t, heads, 10);
	for (g = 0; g < now->nr_groups; g++) {
		for (any = false, d = 0; d < now->nr_devices; d++) {
			if (device && now->devices[d].info.device != device)
				continue;
			/* Each group once at least, more often where it does something. */
			if (!gs_group_on_device(now, g, d) && (any || d + 1 < now->nr_devices) &&
			    !device)
				continue;
			group_row(&t, before, now, g, d);
			any = true;
		}
	}
	gs_table_end(&t, colour);
	return 0;
}

static void limit_json(struct gs_json *j, const char *key, uint64_t value)
{
	if (value == GPUSHARE_NO_LIMIT)
		gs_json_null(j, key);
	else
		gs_json_unsigned(j, key, value);
}

void gs_share_json(struct gs_json *j, const struct gpushare_share *s)
{
	char class[GS_VALUE], full[GS_VALUE];
	const struct gs_prop *p;

	gs_json_array(j, "set");
	for (p = gs_share_props; p->name; p++)
		if (s->mask & p->mask)
			gs_json_string(j, NULL, p->json);
	gs_json_end(j);
	gs_json_unsigned(j, "weight", s->weight);
	gs_share_format(s, gs_prop_find(gs_share_props, "class"), class);
	gs_json_string(j, "class", class);
	limit_json(j, "max_usec", s->max_us);
	gs_json_unsigned(j, "period_usec", s->period_us);
	gs_json_unsigned(j, "burst_usec", s->burst_us);
	gs_json_scaled(j, "min", s->min_permille, 3);
	limit_json(j, "memory_max", s->mem_max);
	limit_json(j, "memory_high", s->mem_high);
	gs_json_unsigned(j, "memory_min", s->mem_min);
	gs_share_format(s, gs_prop_find(gs_share_props, "mem.full"), full);
	gs_json_string(j, "memory_full", full);
	gs_json_unsigned(j, "memory_wait_usec", s->mem_wait_us);
	gs_json_scaled(j, "entitled", s->entitled_permille, 3);
	gs_json_unsigned(j, "clients", s->clients);
}

void gs_stats_json(struct gs_json *j, const struct gpushare_stats *s)
{
	static const char *const avg[] = { "avg10", "avg60", "avg300" };
	unsigned int i;

	gs_json_unsigned(j, "usage_usec", s->usage_ns / 1000);
	gs_json_unsigned(j, "wait_usec", s->wait_ns / 1000);
	gs_json_unsigned(j, "idle_usec", s->idle_ns / 1000);
	gs_json_unsigned(j, "throttled_usec", s->throttled_ns / 1000);
	gs_json_unsigned(j, "grants", s->grants);
	gs_json_unsigned(j, "handoffs", s->handoffs);
	gs_json_unsigned(j, "preempts", s->preempts);
	gs_json_unsigned(j, "late", s->late);
	gs_json_unsigned(j, "overruns", s->overruns);
	gs_json_unsigned(j, "periods", s->periods);
	gs_json_unsigned(j, "throttled", s->throttled);
	gs_json_unsigned(j, "memory_current", s->mem_current);
	gs_json_unsigned(j, "memory_peak", s->mem_peak);
	gs_json_unsigned(j, "memory_swapped", s->mem_swapped);
	gs_json_unsigned(j, "memory_denied", s->mem_denied);
	gs_json_unsigned(j, "memory_waits", s->mem_waits);
	gs_json_unsigned(j, "memory_waited_usec", s->mem_wait_ns / 1000);
	gs_json_unsigned(j, "memory_wanted", s->mem_wanted);
	gs_json_unsigned(j, "memory_waiters", s->mem_waiters);
	gs_json_unsigned(j, "memory_crossed", s->mem_crossed);
	gs_json_object(j, "pressure");
	gs_json_object(j, "some");
	for (i = 0; i < 3; i++)
		gs_json_scaled(j, avg[i], s->some_avg[i], 2);
	gs_json_unsigned(j, "total_usec", s->some_ns / 1000);
	gs_json_end(j);
	gs_json_object(j, "full");
	for (i = 0; i < 3; i++)
		gs_json_scaled(j, avg[i], s->full_avg[i], 2);
	gs_json_unsigned(j, "total_usec", s->full_ns / 1000);
	gs_json_end(j);
	gs_json_end(j);
}

const char *gs_group_kind_name(uint32_t kind)
{
	return kind == GPUSHARE_GROUP_NAMED ? "named" : kind == GPUSHARE_GROUP_USER ? "user" :
	       kind == GPUSHARE_GROUP_CONTAINER ? "container" : "cgroup";
}

void gs_groups_json(struct gs_json *j, const struct gs_view *view, uint32_t device)
{
	const struct gs_group_view *g;
	size_t i, d;

	gs_json_array(j, "groups");
	for (i = 0; i < view->nr_groups; i++) {
		g = &view->groups[i];
		gs_json_object(j, NULL);
		gs_json_string(j, "path", g->all.path);
		gs_json_unsigned(j, "id", g->all.group);
		gs_json_unsigned(j, "parent", g->all.parent);
		gs_json_string(j, "kind", gs_group_kind_name(g->all.kind));
		gs_json_unsigned(j, "tenant", g->all.tenant);
		gs_json_object(j, "all_devices");
		gs_share_json(j, &g->all);
		gs_json_end(j);
		gs_json_array(j, "devices");
		for (d = 0; d < view->nr_devices; d++) {
			if (device && view->devices[d].info.device != device)
				continue;
			gs_json_object(j, NULL);
			gs_json_unsigned(j, "device", view->devices[d].info.device);
			gs_json_string(j, "key", view->devices[d].info.key);
			gs_share_json(j, &g->on[d].share);
			gs_stats_json(j, &g->on[d].stats);
			gs_json_end(j);
		}
		gs_json_end(j);
		gs_json_end(j);
	}
	gs_json_end(j);
}

void gs_devices_json(struct gs_json *j, const struct gs_view *view)
{
	const struct gpushare_device *d;
	const struct gs_prop *p;
	char value[GS_VALUE];
	size_t i;

	gs_json_array(j, "devices");
	for (i = 0; i < view->nr_devices; i++) {
		d = &view->devices[i].info;
		gs_json_object(j, NULL);
		gs_json_unsigned(j, "device", d->device);
		gs_json_string(j, "key", d->key);
		gs_json_string(j, "kind", gs_kind_name(d->kind));
		for (p = gs_device_props; p->name; p++) {
			const void *member = (const char *)d + p->offset;

			gs_device_format(d, p, value);
			if (!strcmp(p->name, "policy") || !strcmp(p->name, "quota") ||
			    !strcmp(p->name, "workers") || !strcmp(p->name, "mem.full"))
				gs_json_string(j, p->json, value);
			else if (!strcmp(p->name, "memory") || !strcmp(p->name, "mem.wait"))
				gs_json_unsigned(j, p->json, *(const uint64_t *)member);
			else
				gs_json_unsigned(j, p->json, *(const uint32_t *)member);
		}
		gs_json_unsigned(j, "clients", d->clients);
		gs_json_unsigned(j, "waiters", d->waiters);
		gs_json_unsigned(j, "holders", d->holders);
		gs_stats_json(j, &view->devices[i].stats);
		gs_json_end(j);
	}
	gs_json_end(j);
}

void gs_clients_json(struct gs_json *j, const struct gs_view *view)
{
	const struct gpushare_stats *c;
	size_t i;

	gs_json_array(j, "clients");
	for (i = 0; i < view->nr_clients; i++) {
		c = &view->clients[i];
		gs_json_object(j, NULL);
		gs_json_unsigned(j, "client", c->id);
		gs_json_unsigned(j, "device", c->device);
		gs_json_unsigned(j, "group", c->group);
		gs_json_signed(j, "pid", c->pid);
		gs_json_unsigned(j, "uid", c->uid);
		gs_json_string(j, "comm", c->comm);
		gs_json_string(j, "state", gs_state_name(c->state));
		gs_json_unsigned(j, "since_usec", c->now_ns > c->since_ns ?
				 (c->now_ns - c->since_ns) / 1000 : 0);
		gs_json_unsigned(j, "workers", c->workers);
		gs_json_unsigned(j, "progress", c->progress);
		gs_json_unsigned(j, "busy_usec", c->busy_ns / 1000);
		gs_json_unsigned(j, "unscheduled", c->unscheduled);
		gs_stats_json(j, c);
		gs_json_end(j);
	}
	gs_json_end(j);
}
