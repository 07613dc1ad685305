// SPDX-License-Identifier: MIT
/* gpusharectl status, and list: what is there and how it does. */
#include "amount.h"
#include "ulib/transport.h"
#include "ctl.h"
#include "groups.h"
#include "props.h"
#include "term.h"
#include "transforms.h"

#include <string.h>

#define INTERVAL_DEFAULT	250000

enum { OPT_DEVICE, OPT_INTERVAL, OPT_TRANSFORMS };

static const struct gs_option options[] = {
	{ "device", "DEV", "only this one, by id, key or a part of its key", 'd' },
	{ "interval", "TIME", "measure for so long what is used (250ms; 0: don't)", 'i' },
	{ "transforms", NULL, "how the clients' kernels were cut and launched", 't' },
	{ NULL, NULL, NULL, 0 },
};

/* list has the first two. */
static const struct gs_option list_options[] = {
	{ "device", "DEV", "only this one, by id, key or a part of its key", 'd' },
	{ "interval", "TIME", "measure for so long what is used (250ms; 0: don't)", 'i' },
	{ NULL, NULL, NULL, 0 },
};

/* Both views, and which device is meant (0: all). */
static int look(struct gs_ctl *ctl, struct gs_view *before, struct gs_view *now, uint32_t *device)
{
	uint64_t interval = ctl->json ? 0 : INTERVAL_DEFAULT;
	int rc;

	if (ctl->values[OPT_INTERVAL] && (gs_parse_us(ctl->values[OPT_INTERVAL], &interval) ||
					  interval > 60000000))
		return gs_usage(ctl, "--interval=%s: a time up to 60s, as 250ms",
				ctl->values[OPT_INTERVAL]);
	rc = gs_view_twice(ctl, interval, GS_VIEW_GROUPS | GS_VIEW_CLIENTS, before, now);
	if (rc)
		return rc;
	*device = GPUSHARE_ALL_DEVICES;
	if (ctl->values[OPT_DEVICE])
		rc = gs_device_choose(now, ctl->values[OPT_DEVICE], device);
	if (rc) {
		gs_view_free(before);
		gs_view_free(now);
	}
	return rc;
}

static void show_device(const struct gs_ctl *ctl, const struct gs_view *before,
			const struct gs_view *now, size_t i)
{
	const struct gpushare_device *d = &now->devices[i].info;
	const struct gpushare_stats *s = &now->devices[i].stats;
	char a[GS_AMOUNT], b[GS_AMOUNT], c[GS_AMOUNT];

	printf("%s%u  ", ctl->colour ? "\033[1m" : "", d->device);
	gs_print_safe(stdout, d->key);
	printf("%s  %s, %s, slice %s, %u seat%s; ", ctl->colour ? "\033[0m" : "",
	       gs_kind_name(d->kind), gs_policy_name(d->policy), gs_time(a, d->slice_us * 1000ULL),
	       d->seats, d->seats == 1 ? "" : "s");
	if (before->nr_devices)
		printf("busy %s; ", gs_permille(c, gs_device_busy(before, now, i)));
	printf("%u client%s, %u running, %u waiting; memory %s/%s", d->clients,
	       d->clients == 1 ? "" : "s", d->holders, d->waiters, gs_bytes(a, s->mem_current),
	       gs_bytes(b, d->mem_bytes ? d->mem_bytes : GPUSHARE_NO_LIMIT));
	if (s->mem_waiters)
		printf(", %u wait%s for %s", s->mem_waiters, s->mem_waiters == 1 ? "s" : "",
		       gs_bytes(a, s->mem_wanted));
	putchar('\n');
}

static void show_clients(const struct gs_ctl *ctl, const struct gs_view *before,
			 const struct gs_view *now, uint32_t device)
{
	static const char *const heads[] = { "GROUP", "USER", ">PID", "COMMAND", ">DEV", "STATE", ">FOR",
					     ">USED", ">WAIT", ">GRANTS", ">MEM" };
	const struct gs_group_view *g;
	const struct gpushare_stats *c;
	char a[GS_AMOUNT], user[GS_USER];
	struct gs_rate rate;
	struct gs_table t;
	size_t i;

	gs_table_begin(&t, heads, 11);
	for (i = 0; i < now->nr_clients; i++) {
		c = &now->clients[i];
		if (device && c->device != device)
			continue;
		g = gs_view_group(now, c->part ? c->part : c->group);
		rate = gs_client_rate(before, c);
		gs_table_cell(&t, "%s", g ? g->all.path : "?");
		gs_table_cell(&t, "%s", gs_user_name(c->uid, user));
		gs_table_cell(&t, "%d", c->pid);
		gs_table_cell(&t, "%s", c->comm);
		gs_table_cell(&t, "%u", c->device);
		gs_table_cell(&t, "%s%s", gs_state_name(c->state), c->mem_wanted ? ", mem-wait" : "");
		gs_table_cell(&t, "%s", gs_time(a, c->now_ns > c->since_ns ?
						c->now_ns - c->since_ns : 0));
		gs_table_cell(&t, "%s", before->nr_devices ? gs_permille(a, rate.used) : "-");
		gs_table_cell(&t, "%s", before->nr_devices ? gs_permille(a, rate.wait) : "-");
		gs_table_cell(&t, "%llu", (unsigned long long)c->grants);
		gs_table_cell(&t, "%s", gs_bytes(a, c->mem_current));
	}
	gs_table_end(&t, ctl->colour);
}

static int status_text(struct gs_ctl *ctl, const struct gs_view *before, const struct gs_view *now,
		       uint32_t device)
{
	struct gpushare_version v = { .size = sizeof(v) };
	int rc = gs_call(ctl, GPUSHARE_VERSION, &v);
	size_t i;

	if (rc)
		return gs_call_error("arbiter", rc);
	v.release[sizeof(v.release) - 1] = 0;
	printf("%s %s, abi %u, at ", gs_transport_is_kernel(ctl->arbiter) ? "kernel module" :
	       "daemon", v.release, v.abi);
	gs_print_safe(stdout, gs_transport_path(ctl->arbiter));
	if (gs_transport_turned_away(ctl->arbiter))
		printf("; %llu callers were turned away for want of room",
		       (unsigned long long)gs_transport_turned_away(ctl->arbiter));
	if (v.unkept)
		printf("\nWhat was set last won't outlive the daemon: its state file can't be "
		       "written (%s)", strerror((int)v.unkept));
	puts("\n\nDEVICES");
	for (i = 0; i < now->nr_devices; i++)
		if (!device || now->devices[i].info.device == device)
			show_device(ctl, before, now, i);
	if (!now->nr_devices) {
		puts("none yet; gpusharectl device add makes one known");
		return 0;
	}
	putchar('\n');
	gs_groups_table(before->nr_devices ? before : NULL, now, device, ctl->colour);
	if (now->nr_clients) {
		putchar('\n');
		show_clients(ctl, before, now, device);
	}
	return 0;
}

void gs_status_json(struct gs_ctl *ctl, const struct gs_view *view, uint32_t device, FILE *out)
{
	struct gs_json j;

	gs_answer_begin_in(&j, ctl, "status", out);
	gs_json_string(&j, "arbiter", gs_transport_path(ctl->arbiter));
	gs_json_unsigned(&j, "turned_away", gs_transport_turned_away(ctl->arbiter));
	gs_json_unsigned(&j, "unkept_errno", (uint64_t)gs_unkept(ctl));
	gs_devices_json(&j, view);
	gs_groups_json(&j, view, device);
	gs_clients_json(&j, view);
	gs_json_end(&j);
}

static int run_status(struct gs_ctl *ctl, int argc, char **argv)
{
	struct gs_view before, now;
	uint32_t device;
	int rc;

	(void)argc;
	(void)argv;
	if (ctl->values[OPT_TRANSFORMS])
		return gs_transforms_show(ctl);
	rc = look(ctl, &before, &now, &device);
	if (rc)
		return rc;
	if (ctl->json) {
		gs_status_json(ctl, &now, device, stdout);
	} else {
		rc = status_text(ctl, &before, &now, device);
	}
	gs_view_free(&before);
	gs_view_free(&now);
	return rc;
}

static int run_list(struct gs_ctl *ctl, int argc, char **argv)
{
	struct gs_view before, now;
	struct gs_json j;
	uint32_t device;
	int rc;

	(void)argc;
	(void)argv;
	rc = look(ctl, &before, &now, &device);
	if (rc)
		return rc;
	if (ctl->json) {
		gs_answer_begin(&j, ctl, "list");
		gs_groups_json(&j, &now, device);
		gs_json_end(&j);
	} else {
		gs_groups_table(before.nr_devices ? &before : NULL, &now, device, ctl->colour);
	}
	gs_view_free(&before);
	gs_view_free(&now);
	return 0;
}

const struct gs_command gs_status_command = {
	.name = "status", .args = "", .options = options, .run = run_status,
	.summary = "Devices, groups and clients, and how they do",
};

const struct gs_command gs_list_command = {
	.name = "list", .args = "", .options = list_options, .run = run_list,
	.summary = "Groups as a tree: what they are entitled to, and what they use",
};
