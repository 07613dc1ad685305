// SPDX-License-Identifier: MIT
/*
 * Devices: each has a handle on the arbiter, opened when the program first launches
 * or allocates on it. The key is the PCI address that the driver tells, which is one
 * for all MIG instances of a device. GPUSHARE_CUDA_KEYS, a list with commas, names
 * other keys, in the order of CUDA's devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrap.h"

struct gs_device *gs_devices[GS_DEVICES];

static struct gs_device devices[GS_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool key_from_environment(char *key, size_t size, CUdevice ordinal)
{
	const char *list = secure_getenv("GPUSHARE_CUDA_KEYS");
	size_t n;

	for (; list; ordinal--, list = list[n] ? list + n + 1 : NULL) {
		n = strcspn(list, ",");
		if (!ordinal) {
			snprintf(key, size, "%.*s", (int)n, list);
			return n > 0;
		}
	}
	return false;
}

static void key_of(char *key, size_t size, CUdevice ordinal)
{
	char pci[32] = "";
	size_t i;

	if (key_from_environment(key, size, ordinal))
		return;
	if (REAL(cuDeviceGetPCIBusId)(pci, sizeof(pci), ordinal))
		snprintf(pci, sizeof(pci), "unknown-%d", ordinal);
	for (i = 0; pci[i]; i++)	/* sysfs writes them small */
		if (pci[i] >= 'A' && pci[i] <= 'F')
			pci[i] += 'a' - 'A';
	snprintf(key, size, "pci:%s", pci);
}

/* Without opening anything: modules are loaded by programs that never launch. */
uint32_t gs_device_arch(CUdevice ordinal)
{
	static uint32_t archs[GS_DEVICES];
	int major = 0, minor = 0;
	uint32_t arch;

	if (ordinal < 0 || ordinal >= (CUdevice)GS_DEVICES)
		return 0;
	arch = __atomic_load_n(&archs[ordinal], __ATOMIC_RELAXED);
	if (arch)
		return arch;
	REAL(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
	REAL(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
	arch = (uint32_t)(major * 10 + minor);
	__atomic_store_n(&archs[ordinal], arch, __ATOMIC_RELAXED);
	return arch;
}

/* False: the driver doesn't know it, now or at all, and so nobody is asked for it. */
static bool set_up(struct gs_device *dev)
{
	int units = 1;
	char key[GPUSHARE_KEY_MAX];
	int err;

	if (REAL(cuDeviceGetAttribute)(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
				       dev->ordinal))
		return false;
	key_of(key, sizeof(key), dev->ordinal);
	err = gs_budget_open(&dev->budget, key);
	if (err)
		gs_say("device %s: not gated: %s", key, strerror(-err));
	dev->units = units > 0 ? (uint32_t)units : 1;
	dev->arch = gs_device_arch(dev->ordinal);
	return true;
}

struct gs_device *gs_device_of(CUdevice ordinal)
{
	struct gs_device *dev;
	bool first;

	if (ordinal < 0 || ordinal >= (CUdevice)GS_DEVICES)
		return NULL;
	dev = __atomic_load_n(&gs_devices[ordinal], __ATOMIC_ACQUIRE);
	if (dev)
		return dev;
	pthread_mutex_lock(&lock);
	dev = &devices[ordinal];
	first = !gs_devices[ordinal];
	if (first) {
		dev->ordinal = ordinal;
		first = set_up(dev);
		__atomic_store_n(&gs_devices[ordinal], first ? dev : NULL, __ATOMIC_RELEASE);
	}
	dev = gs_devices[ordinal];
	pthread_mutex_unlock(&lock);
	if (first)
		gs_memory_owed(dev);
	return dev;
}

struct gs_device *gs_device_current(void)
{
	CUdevice ordinal;

	return REAL(cuCtxGetDevice)(&ordinal) ? NULL : gs_device_of(ordinal);
}

/*
 * A forked child can't use what CUDA its parent had begun, nor begin anew, which it may if
 * the parent had not. So the parent's devices have no gate there, and the others get none:
 * whatever it calls is the driver's to refuse, at once.
 */
void gs_devices_forget(void)
{
	size_t i;

	pthread_mutex_init(&lock, NULL);
	for (i = 0; i < GS_DEVICES; i++) {
		devices[i].budget.share = NULL;
		gs_budget_forked(&devices[i].budget);
	}
}

void gs_devices_past_gate(void)
{
	uint64_t n = __atomic_exchange_n(&gs_past_gate, 0, __ATOMIC_RELAXED);
	size_t i;

	for (i = 0; n && i < GS_DEVICES; i++)
		if (gs_devices[i] && gs_devices[i]->budget.share) {
			gs_went_past(&gs_devices[i]->budget, n);
			return;
		}
	__atomic_add_fetch(&gs_past_gate, n, __ATOMIC_RELAXED);
}
