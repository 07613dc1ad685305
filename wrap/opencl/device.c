// SPDX-License-Identifier: MIT
/*
 * Which arbiter a device has. Its key is its place on the PCI bus where the
 * driver tells it. Processors are cpu:0, cpu:1, ... in the order of their
 * platform: the first one of two platforms is the same hardware. Anything else
 * is opencl: and its name and number. A sub-device is a part of its parent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shadow.h"

#define DEVICE_PCI_BUS_INFO	0x410f	/* cl_khr_pci_bus_info */
#define NV_BUS			0x4008	/* cl_nv_device_attribute_query */
#define NV_SLOT			0x4009
#define NV_DOMAIN		0x400a
#define AMD_TOPOLOGY		0x4037	/* cl_amd_device_topology */

struct known {
	struct known *next;
	cl_device_id id;
	struct gs_device *device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects devices */
static struct gs_device *devices;
static struct known *knowns;	/* only grows: read without the lock */

uint32_t gs_forks;

static bool ask(cl_device_id id, cl_device_info what, void *value, size_t size)
{
	size_t n = 0;

	return gs_cl.clGetDeviceInfo(id, what, size, value, &n) == CL_SUCCESS && n == size;
}

static bool pci_key(cl_device_id id, char *key)
{
	struct { cl_uint domain, bus, device, function; } khr;
	cl_uint bus, slot, domain = 0;
	unsigned char amd[24];

	if (ask(id, DEVICE_PCI_BUS_INFO, &khr, sizeof(khr))) {
		snprintf(key, GPUSHARE_KEY_MAX, "pci:%04x:%02x:%02x.%x", khr.domain, khr.bus,
			 khr.device, khr.function);
		return true;
	}
	if (ask(id, NV_BUS, &bus, sizeof(bus)) && ask(id, NV_SLOT, &slot, sizeof(slot))) {
		ask(id, NV_DOMAIN, &domain, sizeof(domain));
		snprintf(key, GPUSHARE_KEY_MAX, "pci:%04x:%02x:%02x.%x", domain, bus & 0xff,
			 slot >> 3 & 0x1f, slot & 7);
		return true;
	}
	/* cl_device_topology_amd: a type (1: PCIe), 17 unused bytes, bus, device, function */
	if (ask(id, AMD_TOPOLOGY, amd, sizeof(amd)) && amd[0] == 1) {
		snprintf(key, GPUSHARE_KEY_MAX, "pci:0000:%02x:%02x.%x", amd[21], amd[22], amd[23]);
		return true;
	}
	return false;
}

/* How many of the platform's devices of its kind stand before it. */
static unsigned int number_of(cl_device_id id, bool cpu)
{
	cl_device_type type;
	cl_platform_id platform;
	cl_device_id list[64];
	cl_uint i, n = 0;
	unsigned int before = 0;

	if (!ask(id, CL_DEVICE_PLATFORM, &platform, sizeof(platform)) ||
	    gs_cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 64, list, &n) != CL_SUCCESS)
		return 0;
	for (i = 0; i < n && i < 64 && list[i] != id; i++)
		if (!cpu || (ask(list[i], CL_DEVICE_TYPE, &type, sizeof(type)) &&
			     type & CL_DEVICE_TYPE_CPU))
			before++;
	return before;
}

static void make_key(cl_device_id id, char *key)
{
	cl_device_type type = 0;
	char name[256] = "", *c;

	if (pci_key(id, key))
		return;
	ask(id, CL_DEVICE_TYPE, &type, sizeof(type));
	if (type & CL_DEVICE_TYPE_CPU) {
		snprintf(key, GPUSHARE_KEY_MAX, "cpu:%u", number_of(id, true));
		return;
	}
	gs_cl.clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(name), name, NULL);
	name[sizeof(name) - 1] = 0;
	for (c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '-';
	snprintf(key, GPUSHARE_KEY_MAX, "opencl:%.40s/%u", *name ? name : "device",
		 number_of(id, false));
}

/*
 * A child has no launcher, and must not find a lock held by a thread that it
 * doesn't have.
 */
static void before_fork(void)
{
	struct gs_device *device;

	pthread_mutex_lock(&lock);
	for (device = devices; device; device = device->next)
		pthread_mutex_lock(&device->lock);
}

static void after_fork(void)
{
	struct gs_device *device;

	for (device = devices; device; device = device->next)
		pthread_mutex_unlock(&device->lock);
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	struct gs_device *device;

	for (device = devices; device; device = device->next) {
		gs_monotonic_cond(&device->changed);
		device->launcher = device->asleep = false;
		/* It may wait for the grant for long: no fork waits for that. */
		pthread_mutex_init(&device->probing, NULL);
		gs_budget_forked(&device->budget);
	}
	gs_threads_forked();
	gs_binaries_forked();
	gs_forks++;
	after_fork();
}

static struct gs_device *device_of_key(const char *key)
{
	static bool forks;
	struct gs_device *device;

	if (!forks)
		forks = !pthread_atfork(before_fork, after_fork, in_child);
	for (device = devices; device; device = device->next)
		if (!strcmp(device->key, key))
			return device;
	device = calloc(1, sizeof(*device));
	if (!device)
		return NULL;
	strcpy(device->key, key);
	if (gs_budget_open(&device->budget, key)) {
		free(device);
		return NULL;
	}
	pthread_mutex_init(&device->lock, NULL);
	pthread_mutex_init(&device->probing, NULL);
	gs_monotonic_cond(&device->changed);
	device->next = devices;
	devices = device;
	return device;
}

static cl_device_id root_of(cl_device_id id)
{
	cl_device_id parent;

	while (ask(id, CL_DEVICE_PARENT_DEVICE, &parent, sizeof(parent)) && parent)
		id = parent;
	return id;
}

/* Sub-devices' handles are used again, so only roots are remembered. */
struct gs_device *gs_device_of(cl_device_id id)
{
	struct known *known;
	struct gs_device *device;
	char key[GPUSHARE_KEY_MAX];

	id = root_of(id);
	for (known = __atomic_load_n(&knowns, __ATOMIC_ACQUIRE); known; known = known->next)
		if (known->id == id)
			return known->device;
	make_key(id, key);
	pthread_mutex_lock(&lock);
	device = device_of_key(key);
	known = device ? malloc(sizeof(*known)) : NULL;
	if (known) {
		*known = (struct known){ .next = knowns, .id = id, .device = device };
		__atomic_store_n(&knowns, known, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return device;
}

bool gs_device_is_pocl(cl_device_id id)
{
	char name[32] = "";	/* longer ones fail, and are others' */
	cl_platform_id platform;

	if (!ask(id, CL_DEVICE_PLATFORM, &platform, sizeof(platform)))
		return false;
	gs_cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
	return !strcmp(name, "Portable Computing Language");
}
