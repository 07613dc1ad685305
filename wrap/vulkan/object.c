// SPDX-License-Identifier: MIT
/* What the layer knows of memory, shaders, pipelines and semaphores. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

#define YES ((void *)1)

/* Memory of another's, that is opened here again, was charged where it was made. */
static bool is_import(const VkMemoryAllocateInfo *info)
{
	const VkBaseInStructure *in;

	for (in = info->pNext; in; in = in->pNext)
		if (in->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR ||
		    in->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT)
			return true;
	return false;
}

static bool is_charged(const struct gsv_device *device, const VkMemoryAllocateInfo *info)
{
	const VkPhysicalDeviceMemoryProperties *all = &device->memory_types;
	uint32_t heap;

	if (info->memoryTypeIndex >= all->memoryTypeCount || is_import(info))
		return false;
	heap = all->memoryTypes[info->memoryTypeIndex].heapIndex;
	return all->memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice handle,
						      const VkMemoryAllocateInfo *info,
						      const VkAllocationCallbacks *how,
						      VkDeviceMemory *memory)
{
	struct gsv_device *device = gsv_device_of(handle);
	uint64_t bytes = info->allocationSize;
	bool charged = is_charged(device, info);
	VkResult rc;

	if (charged && gpushare_memory(device->budget.share, GPUSHARE_MEM_CHARGE, bytes,
				       NULL) == -ENOMEM)
		return VK_ERROR_OUT_OF_DEVICE_MEMORY;
	rc = device->vk.AllocateMemory(handle, info, how, memory);
	if (charged && (rc || !gsv_table_add(&device->memory, (uint64_t)*memory,
					     (void *)(uintptr_t)bytes)))
		gpushare_memory(device->budget.share, GPUSHARE_MEM_UNCHARGE, bytes, NULL);
	return rc;
}

static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice handle, VkDeviceMemory memory,
					      const VkAllocationCallbacks *how)
{
	struct gsv_device *device = gsv_device_of(handle);
	uint64_t bytes = 0;

	if (memory)
		bytes = (uintptr_t)gsv_table_take(&device->memory, (uint64_t)memory);
	device->vk.FreeMemory(handle, memory, how);
	if (bytes)
		gpushare_memory(device->budget.share, GPUSHARE_MEM_UNCHARGE, bytes, NULL);
}

/* Only those that may be cut are in the table. */
static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice handle,
						    const VkShaderModuleCreateInfo *info,
						    const VkAllocationCallbacks *how,
						    VkShaderModule *module)
{
	struct gsv_device *device = gsv_device_of(handle);
	VkResult rc = device->vk.CreateShaderModule(handle, info, how, module);

	if (!rc && !info->pNext && gsv_judge(info->pCode, info->codeSize))
		gsv_table_add(&device->modules, (uint64_t)*module, YES);
	return rc;
}

static VKAPI_ATTR void VKAPI_CALL destroy_module(VkDevice handle, VkShaderModule module,
						 const VkAllocationCallbacks *how)
{
	struct gsv_device *device = gsv_device_of(handle);

	gsv_table_take(&device->modules, (uint64_t)module);
	device->vk.DestroyShaderModule(handle, module, how);
}

void gsv_pipeline_put(struct gsv_pipeline *pipeline)
{
	if (!__atomic_sub_fetch(&pipeline->holders, 1, __ATOMIC_ACQ_REL))
		free(pipeline);
}

/* Only the program destroys it, and not while it submits what uses it. */
struct gsv_pipeline *gsv_pipeline_get(struct gsv_device *device, VkPipeline handle)
{
	struct gsv_pipeline *pipeline = gsv_table_find(&device->pipelines, (uint64_t)handle);

	if (pipeline)
		__atomic_add_fetch(&pipeline->holders, 1, __ATOMIC_RELAXED);
	return pipeline;
}

void gsv_pipeline_took(struct gsv_pipeline *pipeline, uint64_t groups, uint64_t ns)
{
	uint64_t ps = ns > UINT64_MAX / 1000 ? UINT64_MAX : ns * 1000 / groups, old;

	if (!ps)
		ps = 1;
	old = __atomic_load_n(&pipeline->group_ps, __ATOMIC_RELAXED);
	if (old && ps < old)
		ps += (old - ps) / 2;
	__atomic_store_n(&pipeline->group_ps, ps, __ATOMIC_RELAXED);
}

/* What extends the creation in a way that isn't known may ask for another shader or flag. */
static bool may_have_base(struct gsv_device *device, const VkComputePipelineCreateInfo *info)
{
	return device->may_cut && !info->pNext && !info->stage.pNext &&
	       gsv_table_find(&device->modules, (uint64_t)info->stage.module);
}

static void add_pipeline(struct gsv_device *device, VkPipeline handle, bool may_cut)
{
	struct gsv_pipeline *pipeline = calloc(1, sizeof(*pipeline));

	if (!pipeline)
		return;
	pipeline->holders = 1;
	pipeline->may_cut = may_cut;
	if (!gsv_table_add(&device->pipelines, (uint64_t)handle, pipeline))
		free(pipeline);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice handle, VkPipelineCache cache,
						       uint32_t n,
						       const VkComputePipelineCreateInfo *infos,
						       const VkAllocationCallbacks *how,
						       VkPipeline *pipelines)
{
	struct gsv_device *device = gsv_device_of(handle);
	VkComputePipelineCreateInfo *ours = malloc(n * sizeof(*ours));
	VkResult rc;
	uint32_t i;

	if (!ours)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	for (i = 0; i < n; i++) {
		ours[i] = infos[i];
		if (may_have_base(device, &infos[i]))
			ours[i].flags |= VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
	}
	rc = device->vk.CreateComputePipelines(handle, cache, n, ours, how, pipelines);
	for (i = 0; rc >= 0 && i < n; i++)
		if (pipelines[i])
			add_pipeline(device, pipelines[i], may_have_base(device, &infos[i]));
	free(ours);
	return rc;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pipeline(VkDevice handle, VkPipeline pipeline,
						   const VkAllocationCallbacks *how)
{
	struct gsv_device *device = gsv_device_of(handle);
	struct gsv_pipeline *known = gsv_table_take(&device->pipelines, (uint64_t)pipeline);

	if (known)
		gsv_pipeline_put(known);
	device->vk.DestroyPipeline(handle, pipeline, how);
}

static const VkSemaphoreTypeCreateInfo *type_of(const VkSemaphoreCreateInfo *info)
{
	const VkBaseInStructure *in;

	for (in = info->pNext; in; in = in->pNext)
		if (in->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
			return (const void *)in;
	return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice handle,
						       const VkSemaphoreCreateInfo *info,
						       const VkAllocationCallbacks *how,
						       VkSemaphore *semaphore)
{
	struct gsv_device *device = gsv_device_of(handle);
	const VkSemaphoreTypeCreateInfo *type = type_of(info);
	VkResult rc = device->vk.CreateSemaphore(handle, info, how, semaphore);
	struct gsv_semaphore *known;

	if (rc || !type || type->semaphoreType != VK_SEMAPHORE_TYPE_TIMELINE)
		return rc;
	known = calloc(1, sizeof(*known));
	if (!known || !gsv_table_add(&device->semaphores, (uint64_t)*semaphore, known)) {
		free(known);
		device->vk.DestroySemaphore(handle, *semaphore, how);
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	}
	known->promised = type->initialValue;
	return rc;
}

static VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice handle, VkSemaphore semaphore,
						    const VkAllocationCallbacks *how)
{
	struct gsv_device *device = gsv_device_of(handle);

	free(gsv_table_take(&device->semaphores, (uint64_t)semaphore));
	device->vk.DestroySemaphore(handle, semaphore, how);
}

static const struct gsv_hook hooks[] = {
	{ "vkAllocateMemory", (PFN_vkVoidFunction)allocate_memory },
	{ "vkFreeMemory", (PFN_vkVoidFunction)free_memory },
	{ "vkCreateShaderModule", (PFN_vkVoidFunction)create_module },
	{ "vkDestroyShaderModule", (PFN_vkVoidFunction)destroy_module },
	{ "vkCreateComputePipelines", (PFN_vkVoidFunction)create_pipelines },
	{ "vkDestroyPipeline", (PFN_vkVoidFunction)destroy_pipeline },
	{ "vkCreateSemaphore", (PFN_vkVoidFunction)create_semaphore },
	{ "vkDestroySemaphore", (PFN_vkVoidFunction)destroy_semaphore },
};

PFN_vkVoidFunction gsv_object_hook(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].function;
	return NULL;
}
