// SPDX-License-Identifier: MIT
/* gpusharectl device: list, add, set and remove. */
#include "ctl.h"
#include "groups.h"
#include "props.h"
#include "term.h"

#include <errno.h>
#include <string.h>

enum { OPT_KIND };

static const struct gs_option options[] = {
	{ "kind", "KIND", "of a new device: gpu, mig, cpu or other (by its key)", 0 },
	{ NULL, NULL, NULL, 0 },
};

static int list(struct gs_ctl *ctl, int argc, char **argv)
{
	static const char *const heads[] = { "KEY", ">DEV", "KIND", "POLICY", ">SEATS", ">SLICE",
					     ">LINGER", ">GRACE", ">MEMORY", ">CLIENTS", ">WAITING" };
	const struct gpushare_device *d;
	char a[GS_AMOUNT];
	struct gs_view view;
	struct gs_table t;
	struct gs_json j;
	size_t i;
	int rc;

	if (argc > 1)
		return gs_usage(ctl, "%s: list takes nothing more", argv[1]);
	rc = gs_view_take(ctl, &view, 0);
	if (rc)
		return rc;
	if (ctl->json) {
		gs_answer_begin(&j, ctl, "devices");
		gs_devices_json(&j, &view);
		gs_json_end(&j);
		gs_view_free(&view);
		return 0;
	}
	gs_table_begin(&t, heads, 11);
	for (i = 0; i < view.nr_devices; i++) {
		d = &view.devices[i].info;
		gs_table_cell(&t, "%s", d->key);
		gs_table_cell(&t, "%u", d->device);
		gs_table_cell(&t, "%s", gs_kind_name(d->kind));
		gs_table_cell(&t, "%s", gs_policy_name(d->policy));
		gs_table_cell(&t, "%u", d->seats);
		gs_table_cell(&t, "%s", gs_time(a, d->slice_us * 1000ULL));
		gs_table_cell(&t, "%s", gs_time(a, d->linger_us * 1000ULL));
		gs_table_cell(&t, "%s", gs_time(a, d->grace_us * 1000ULL));
		gs_table_cell(&t, "%s", d->mem_bytes ? gs_bytes(a, d->mem_bytes) : "-");
		gs_table_cell(&t, "%u", d->clients);
		gs_table_cell(&t, "%u", d->waiters);
	}
	gs_table_end(&t, ctl->colour);
	gs_view_free(&view);
	return 0;
}

static int take_words(struct gs_ctl *ctl, struct gpushare_device *device, int argc, char **argv)
{
	const struct gs_prop *prop;
	const char *equals;
	char name[64], why[256];
	int i;

	for (i = 0; i < argc; i++) {
		equals = strchr(argv[i], '=');
		if (!equals || equals - argv[i] >= (int)sizeof(name))
			return gs_usage(ctl, "%s: not of the form PROPERTY=VALUE", argv[i]);
		snprintf(name, sizeof(name), "%.*s", (int)(equals - argv[i]), argv[i]);
		prop = gs_prop_find(gs_device_props, name);
		if (!prop)
			return gs_usage(ctl, "%s: no such property", name);
		if (gs_device_parse(device, prop, equals + 1, why, sizeof(why)))
			return gs_usage(ctl, "%s", why);
	}
	return 0;
}

static int add(struct gs_ctl *ctl, int argc, char **argv)
{
	static const char *const kinds[] = { "gpu", "mig", "cpu", "other" };
	struct gpushare_device device;
	char key[GPUSHARE_KEY_MAX];
	unsigned int i;
	int rc;

	if (argc < 2)
		return gs_usage(ctl, "add needs the device's key, as pci:0000:65:00.0 or cpu:0");
	if (strlen(argv[1]) >= GPUSHARE_KEY_MAX || !strchr(argv[1], ':'))
		return gs_usage(ctl, "%s: a key is KIND:NAME, up to %d characters", argv[1],
				GPUSHARE_KEY_MAX - 1);
	if (!gs_pci_key(argv[1], key))
		strcpy(key, argv[1]);
	gs_device_defaults(&device);
	device.kind = gs_kind_of(key);
	if (ctl->values[OPT_KIND]) {
		for (i = 0; i < 4 && strcmp(kinds[i], ctl->values[OPT_KIND]); i++)
			;
		if (i == 4)
			return gs_usage(ctl, "--kind=%s: it is gpu, mig, cpu or other",
					ctl->values[OPT_KIND]);
		device.kind = i + 1;
	}
	strcpy(device.key, key);
	rc = take_words(ctl, &device, argc - 2, argv + 2);
	if (!rc)
		rc = gs_connect(ctl);
	if (rc)
		return rc;
	rc = gs_call(ctl, GPUSHARE_DEVICE_ADD, &device);
	if (rc == -EINVAL)
		return gs_error(GS_EXIT_USAGE, argv[1], "refused as a device's key; it is KIND:NAME of "
				"printable characters without spaces");
	return rc ? gs_call_error(argv[1], rc) : gs_check_kept(ctl, argv[1]);
}

/* A part of a key may be another device's, and what is removed is gone. */
static bool is_named_whole(const struct gpushare_device *device, const char *text)
{
	char key[GPUSHARE_KEY_MAX], id[16];

	snprintf(id, sizeof(id), "%u", device->device);
	return !strcmp(text, device->key) || !strcmp(text, id) ||
		(gs_pci_key(text, key) && !strcmp(key, device->key));
}

static int set_or_remove(struct gs_ctl *ctl, int argc, char **argv, unsigned long cmd)
{
	struct gpushare_device device;
	struct gs_view view;
	uint32_t id = 0;
	int rc;

	if (argc < 2 || (cmd == GPUSHARE_DEVICE_SET && argc < 3))
		return gs_usage(ctl, cmd == GPUSHARE_DEVICE_SET ?
				"set needs a device and PROPERTY=VALUE..." : "remove needs a device");
	if (cmd == GPUSHARE_DEVICE_REMOVE && argc > 2)
		return gs_usage(ctl, "%s: remove takes one device", argv[2]);
	rc = gs_view_take(ctl, &view, 0);
	if (rc)
		return rc;
	rc = gs_device_choose(&view, argv[1], &id);
	if (!rc && id == GPUSHARE_ALL_DEVICES)
		rc = gs_usage(ctl, "all: name one device");
	if (!rc)
		device = gs_view_device(&view, id)->info;
	if (!rc && cmd == GPUSHARE_DEVICE_REMOVE && !is_named_whole(&device, argv[1]))
		rc = gs_error(GS_EXIT_NOT_FOUND, argv[1], "no such device; if it is %s or %u that is to "
			      "be removed, name it so", device.key, device.device);
	gs_view_free(&view);
	if (rc)
		return rc;
	device.size = sizeof(device);
	device.flags = 0;
	device.mask = 0;
	device.clients = device.waiters = device.holders = 0;
	rc = take_words(ctl, &device, argc - 2, argv + 2);
	if (rc)
		return rc;
	rc = gs_call(ctl, cmd, &device);
	return rc ? gs_call_error(argv[1], rc) : gs_check_kept(ctl, argv[1]);
}

static int run_device(struct gs_ctl *ctl, int argc, char **argv)
{
	if (!argc || !strcmp(argv[0], "list"))
		return list(ctl, argc, argv);
	if (!strcmp(argv[0], "add"))
		return add(ctl, argc, argv);
	if (!strcmp(argv[0], "set"))
		return set_or_remove(ctl, argc, argv, GPUSHARE_DEVICE_SET);
	if (!strcmp(argv[0], "remove"))
		return set_or_remove(ctl, argc, argv, GPUSHARE_DEVICE_REMOVE);
	return gs_usage(ctl, "%s: it is list, add, set or remove", argv[0]);
}

const struct gs_command gs_device_command = {
	.name = "device", .args = "[list | add KEY [PROPERTY=VALUE...] | "
	"set DEV PROPERTY=VALUE... | remove DEV]",
	.options = options, .run = run_device, .operands = "device-verb device device-props",
	.most = -1, .summary = "List, add, change or remove devices",
	.details = "DEV is an id, a key, a PCI address, or (but for remove) a part of one key.\n\n"
	"properties:\n"
	"  policy=fair|fcfs|rr      who is next\n"
	"  seats=1..64              how many may run at the same time\n"
	"  slice=TIME               how long a grant lasts if others wait (2ms)\n"
	"  linger=TIME              how long an idle holder keeps it (200us)\n"
	"  grace=TIME               how late it may yield (100ms), kill=TIME when to end it (never)\n"
	"  quota=WAY epoch=TIME     how min is kept: rollover, elastic, history or naive\n"
	"  latency=TIME             target of waits, bounds the slice\n"
	"  workers=equal|profile    how workers are divided, with several seats\n"
	"  units= unit-threads= unit-registers= unit-local= bandwidth= memory=   its capacity\n"
	"  oversubscribe=0|1        may memory be passed, if clients move some out when asked\n"
	"  mem.full=fail|wait       is an allocation that doesn't fit refused (fail), or does it wait?\n"
	"  mem.wait=TIME            for so long at most (60s); groups may say otherwise of both\n",
};
