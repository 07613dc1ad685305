// SPDX-License-Identifier: MIT
/*
 * What the loader sees of the layer: it is put between it and the driver for each instance
 * and device, and answers by name with its own functions where it has any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "wrap/launch/option.h"

#define PUBLIC __attribute__((visibility("default")))

struct instance {
	struct instance *next;
	void *key;			/* of the loader: its physical devices have it too */
	VkInstance handle;
	uint32_t version;
	PFN_vkGetInstanceProcAddr gipa;
	PFN_vkDestroyInstance destroy;	/* of the next; later nobody may know the instance */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects the lists' changes */
static struct instance *instances;
static struct gsv_device *devices;

PUBLIC VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *loader);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice handle, const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance handle,
								  const char *name);

static void *key_of(const void *dispatchable)
{
	return *(void *const *)dispatchable;
}

struct gsv_device *gsv_device_of(const void *dispatchable)
{
	struct gsv_device *device;

	pthread_mutex_lock(&lock);
	for (device = devices; device && device->key != key_of(dispatchable); device = device->next)
		;
	pthread_mutex_unlock(&lock);
	return device;
}

static struct instance *instance_of(const void *dispatchable)
{
	struct instance *instance;

	pthread_mutex_lock(&lock);
	for (instance = instances; instance && instance->key != key_of(dispatchable);
	     instance = instance->next)
		;
	pthread_mutex_unlock(&lock);
	return instance;
}

/* The link to the next layer, or the loader's function, in what creation is told. */
static VkLayerInstanceCreateInfo *instance_link(const VkInstanceCreateInfo *info)
{
	VkLayerInstanceCreateInfo *in = (void *)info->pNext;

	while (in && (in->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
		      in->function != VK_LAYER_LINK_INFO))
		in = (void *)in->pNext;
	return in;
}

static VkLayerDeviceCreateInfo *device_link(const VkDeviceCreateInfo *info, VkLayerFunction what)
{
	VkLayerDeviceCreateInfo *in = (void *)info->pNext;

	while (in && (in->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
		      in->function != what))
		in = (void *)in->pNext;
	return in;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
						      const VkAllocationCallbacks *how,
						      VkInstance *handle)
{
	VkLayerInstanceCreateInfo *link = instance_link(info);
	PFN_vkGetInstanceProcAddr gipa;
	struct instance *instance;
	VkResult rc;

	if (!link)
		return VK_ERROR_INITIALIZATION_FAILED;
	gipa = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	rc = ((PFN_vkCreateInstance)gipa(NULL, "vkCreateInstance"))(info, how, handle);
	if (rc) {
		free(instance);
		return rc;
	}
	instance->key = key_of(*handle);
	instance->handle = *handle;
	instance->gipa = gipa;
	instance->destroy = (PFN_vkDestroyInstance)gipa(*handle, "vkDestroyInstance");
	instance->version = VK_API_VERSION_1_0;
	if (info->pApplicationInfo && info->pApplicationInfo->apiVersion)
		instance->version = info->pApplicationInfo->apiVersion;
	pthread_mutex_lock(&lock);
	instance->next = instances;
	instances = instance;
	pthread_mutex_unlock(&lock);
	return rc;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
						   const VkAllocationCallbacks *how)
{
	struct instance *instance, **at;

	if (!handle)
		return;
	instance = instance_of(handle);
	pthread_mutex_lock(&lock);
	for (at = &instances; *at != instance; at = &(*at)->next)
		;
	*at = instance->next;
	pthread_mutex_unlock(&lock);
	instance->destroy(handle, how);
	free(instance);
}

#define NEXT(instance, name) ((PFN_vk##name)(instance)->gipa((instance)->handle, "vk" #name))

static bool has_extension(struct instance *instance, VkPhysicalDevice physical, const char *name)
{
	PFN_vkEnumerateDeviceExtensionProperties list = NEXT(instance,
							      EnumerateDeviceExtensionProperties);
	VkExtensionProperties *all;
	uint32_t i, n = 0;
	bool has = false;

	if (list(physical, NULL, &n, NULL) || !n)
		return false;
	all = calloc(n, sizeof(*all));
	if (all && list(physical, NULL, &n, all) >= 0)
		for (i = 0; i < n; i++)
			has = has || !strcmp(all[i].extensionName, name);
	free(all);
	return has;
}

static bool pci_key(struct instance *instance, VkPhysicalDevice physical, char *key)
{
	PFN_vkGetPhysicalDeviceProperties2 ask = NULL;
	VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT,
	};
	VkPhysicalDeviceProperties2 all = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &pci,
	};

	if (instance->version >= VK_API_VERSION_1_1)
		ask = NEXT(instance, GetPhysicalDeviceProperties2);
	if (!ask || !has_extension(instance, physical, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME))
		return false;
	ask(physical, &all);
	snprintf(key, GPUSHARE_KEY_MAX, "pci:%04x:%02x:%02x.%x", pci.pciDomain, pci.pciBus,
		 pci.pciDevice, pci.pciFunction);
	return true;
}

/* How many of the instance's devices of its kind stand before it. */
static unsigned int number_of(struct instance *instance, VkPhysicalDevice physical, bool cpu)
{
	PFN_vkGetPhysicalDeviceProperties ask = NEXT(instance, GetPhysicalDeviceProperties);
	VkPhysicalDevice list[64];
	VkPhysicalDeviceProperties props;
	uint32_t i, n = 64;
	unsigned int before = 0;

	if (NEXT(instance, EnumeratePhysicalDevices)(instance->handle, &n, list) < 0)
		return 0;
	for (i = 0; i < n && list[i] != physical; i++) {
		ask(list[i], &props);
		before += !cpu || props.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
	}
	return before;
}

static void make_key(struct instance *instance, VkPhysicalDevice physical,
		     VkPhysicalDeviceProperties *props, char *key)
{
	char *c;

	if (pci_key(instance, physical, key))
		return;
	if (props->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU) {
		snprintf(key, GPUSHARE_KEY_MAX, "cpu:%u", number_of(instance, physical, true));
		return;
	}
	for (c = props->deviceName; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '-';
	snprintf(key, GPUSHARE_KEY_MAX, "vulkan:%.40s/%u", props->deviceName,
		 number_of(instance, physical, false));
}

static PFN_vkVoidFunction newer(struct gsv_device *device, const char *name)
{
	char with[64];
	PFN_vkVoidFunction function = device->gdpa(device->handle, name);

	if (function)
		return function;
	snprintf(with, sizeof(with), "%sKHR", name);
	return device->gdpa(device->handle, with);
}

static bool find_functions(struct gsv_device *device)
{
	bool all = true;
	unsigned int i;

#define X(name) \
	device->vk.name = (PFN_vk##name)device->gdpa(device->handle, "vk" #name); \
	all = all && device->vk.name;
	GSV_DEVICE_FUNCTIONS(X)
#undef X
#define X(name) device->vk.name = (PFN_vk##name)newer(device, "vk" #name);
	GSV_NEWER_FUNCTIONS(X)
#undef X
	device->others = calloc(gsv_n_others, sizeof(*device->others));
	for (i = 0; device->others && i < gsv_n_others; i++)
		device->others[i] = device->gdpa(device->handle, gsv_others[i].name);
	return all && device->others;
}

/* Protected queues, and others with flags, aren't the layer's. */
static VkResult add_queues(struct gsv_device *device, const VkDeviceCreateInfo *info)
{
	VkResult rc = VK_SUCCESS;
	uint32_t i, j;
	VkQueue queue;

	for (i = 0; i < info->queueCreateInfoCount; i++) {
		const VkDeviceQueueCreateInfo *family = &info->pQueueCreateInfos[i];

		for (j = 0; !rc && !family->flags && j < family->queueCount; j++) {
			device->vk.GetDeviceQueue(device->handle, family->queueFamilyIndex, j,
						  &queue);
			rc = device->adopt(device->handle, queue);
			if (!rc)
				rc = gsv_queue_add(device, queue, family->queueFamilyIndex);
		}
	}
	return rc;
}

static VkResult open_device(struct gsv_device *device, struct instance *instance,
			    VkPhysicalDevice physical, const VkDeviceCreateInfo *info)
{
	VkPhysicalDeviceProperties props;
	char key[GPUSHARE_KEY_MAX];

	NEXT(instance, GetPhysicalDeviceProperties)(physical, &props);
	NEXT(instance, GetPhysicalDeviceMemoryProperties)(physical, &device->memory_types);
	gsv_table_init(&device->memory);
	gsv_table_init(&device->modules);
	gsv_table_init(&device->pipelines);
	gsv_table_init(&device->semaphores);
	if (!find_functions(device))
		return VK_ERROR_INITIALIZATION_FAILED;
	device->may_cut = device->vk.CmdDispatchBase && props.apiVersion >= VK_API_VERSION_1_1 &&
			  instance->version >= VK_API_VERSION_1_1;
	make_key(instance, physical, &props, key);
	pthread_mutex_init(&device->lock, NULL);
	pthread_cond_init(&device->ended, NULL);
	if (gs_budget_open(&device->budget, key))
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	return add_queues(device, info);
}

static void forget_all(struct gsv_device *device)
{
	struct gsv_pipeline *pipeline;
	void *semaphore;

	while ((pipeline = gsv_table_take_any(&device->pipelines, NULL, NULL)))
		gsv_pipeline_put(pipeline);
	while ((semaphore = gsv_table_take_any(&device->semaphores, NULL, NULL)))
		free(semaphore);
	while (gsv_table_take_any(&device->memory, NULL, NULL))
		;
	while (gsv_table_take_any(&device->modules, NULL, NULL))
		;
	gsv_commands_end(device);
}

static void end_device(struct gsv_device *device)
{
	struct gsv_device **at;

	gsv_queues_end(device);
	forget_all(device);
	pthread_mutex_lock(&lock);
	for (at = &devices; *at && *at != device; at = &(*at)->next)
		;
	if (*at)
		*at = device->next;
	pthread_mutex_unlock(&lock);
	gpushare_close(device->budget.share);
	free(device->others);
	free(device);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
						    const VkDeviceCreateInfo *info,
						    const VkAllocationCallbacks *how,
						    VkDevice *handle)
{
	VkLayerDeviceCreateInfo *link = device_link(info, VK_LAYER_LINK_INFO);
	VkLayerDeviceCreateInfo *loader = device_link(info, VK_LOADER_DATA_CALLBACK);
	struct instance *instance = instance_of(physical);
	PFN_vkGetInstanceProcAddr gipa;
	struct gsv_device *device;
	VkResult rc;

	if (!link || !loader || !instance)
		return VK_ERROR_INITIALIZATION_FAILED;
	device = calloc(1, sizeof(*device));
	if (!device)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	gipa = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	device->gdpa = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
	device->adopt = loader->u.pfnSetDeviceLoaderData;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	rc = ((PFN_vkCreateDevice)gipa(instance->handle, "vkCreateDevice"))(physical, info, how,
									     handle);
	if (rc) {
		free(device);
		return rc;
	}
	device->handle = *handle;
	device->key = key_of(*handle);
	rc = open_device(device, instance, physical, info);
	if (rc) {
		((PFN_vkDestroyDevice)device->gdpa(*handle, "vkDestroyDevice"))(*handle, how);
		end_device(device);
		return rc;
	}
	pthread_mutex_lock(&lock);
	device->next = devices;
	devices = device;
	pthread_mutex_unlock(&lock);
	return rc;
}

/* All that the program submitted is over; the threads see it in a moment. */
static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks *how)
{
	struct gsv_device *device;
	PFN_vkDestroyDevice destroy;

	if (!handle)
		return;
	device = gsv_device_of(handle);
	destroy = device->vk.DestroyDevice;
	end_device(device);
	destroy(handle, how);
}

static const struct gsv_hook hooks[] = {
	{ "vkGetInstanceProcAddr", (PFN_vkVoidFunction)instance_function },
	{ "vkCreateInstance", (PFN_vkVoidFunction)create_instance },
	{ "vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance },
	{ "vkCreateDevice", (PFN_vkVoidFunction)create_device },
	{ "vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_function },
	{ "vkDestroyDevice", (PFN_vkVoidFunction)destroy_device },
};

static PFN_vkVoidFunction hook_of(const char *name)
{
	PFN_vkVoidFunction function = gsv_submit_hook(name);
	unsigned int i;

	if (!function)
		function = gsv_record_hook(name);
	if (!function)
		function = gsv_object_hook(name);
	for (i = 0; !function && i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(name, hooks[i].name))
			function = hooks[i].function;
	for (i = 0; !function && i < gsv_n_others; i++)
		if (!strcmp(name, gsv_others[i].name))
			function = gsv_others[i].function;
	return function;
}

/* A command that was made after this layer isn't in any journal: nothing is cut then. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice handle, const char *name)
{
	struct gsv_device *device = gsv_device_of(handle);
	PFN_vkVoidFunction next, ours = hook_of(name);

	if (!device)
		return ours;
	next = device->gdpa(handle, name);
	if (next && !ours && !strncmp(name, "vkCmd", 5))
		device->may_cut = false;
	return next && ours ? ours : next;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance handle,
								  const char *name)
{
	PFN_vkVoidFunction ours = hook_of(name);
	struct instance *instance = handle ? instance_of(handle) : NULL;

	if (ours || !instance)
		return ours;
	return instance->gipa(handle, name);
}

PUBLIC VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *loader)
{
	if (loader->loaderLayerInterfaceVersion < 2)
		return VK_ERROR_INITIALIZATION_FAILED;
	gs_options_read();
	loader->loaderLayerInterfaceVersion = 2;
	loader->pfnGetInstanceProcAddr = instance_function;
	loader->pfnGetDeviceProcAddr = device_function;
	loader->pfnGetPhysicalDeviceProcAddr = NULL;
	return VK_SUCCESS;
}
