// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices that appear by themselves: PCI functions of the display and the
 * accelerator class, those that are there and those that are plugged in later.
 * Their drivers, if any, are neither asked nor told: only the address is used.
 *
 * A function that the administrator removed from gpushare stays away until it
 * is plugged in again.
 */
#include <linux/moduleparam.h>
#include <linux/pci.h>
#include "gpushare.h"

/* 6.1 has no name for it yet. */
#ifndef PCI_BASE_CLASS_ACCELERATOR
#define PCI_BASE_CLASS_ACCELERATOR	0x12
#endif

static bool discover = true;
module_param(discover, bool, 0444);
MODULE_PARM_DESC(discover, "make devices of PCI display and accelerator functions (Y)");

static bool fits(const struct pci_dev *pdev)
{
	unsigned int class = pdev->class >> 16;

	return class == PCI_BASE_CLASS_DISPLAY || class == PCI_BASE_CLASS_ACCELERATOR;
}

static void key_of(const struct pci_dev *pdev, char *key)
{
	snprintf(key, GPUSHARE_KEY_MAX, "pci:%s", pci_name(pdev));
}

static void appear(const struct pci_dev *pdev)
{
	struct gpushare_device info = { .kind = GPUSHARE_KIND_GPU };
	int ret;

	key_of(pdev, info.key);
	ret = gs_device_create(&info);
	/* Seen twice: plugged in while the bus was walked. */
	if (ret && ret != -EEXIST)
		pr_warn_ratelimited("can't add device %s: error %d\n", info.key, ret);
}

static void vanish(const struct pci_dev *pdev)
{
	struct gpushare_device info = {};

	key_of(pdev, info.key);
	gs_device_drop(&info);
}

static int notify(struct notifier_block *nb, unsigned long action, void *data)
{
	const struct pci_dev *pdev = to_pci_dev(data);

	if (!fits(pdev))
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_ADD_DEVICE)
		appear(pdev);
	else if (action == BUS_NOTIFY_REMOVED_DEVICE)
		vanish(pdev);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = notify };

int gs_pci_init(void)
{
	struct pci_dev *pdev = NULL;
	int ret;

	if (!discover)
		return 0;
	/* What is unplugged during the walk would else be told of before we add it. */
	pci_lock_rescan_remove();
	ret = bus_register_notifier(&pci_bus_type, &notifier);
	while (!ret && (pdev = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, pdev))) {
		if (fits(pdev))
			appear(pdev);
	}
	pci_unlock_rescan_remove();
	return ret;
}

void gs_pci_exit(void)
{
	if (discover)
		bus_unregister_notifier(&pci_bus_type, &notifier);
}
