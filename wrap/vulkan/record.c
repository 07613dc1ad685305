// SPDX-License-Identifier: MIT
/*
 * What command buffers record. The driver records everything as ever; beside it a journal
 * keeps what compute programs use, so that it can be played again in pieces. A command
 * that the journal lacks (graphics, indirect dispatches, secondary command buffers,
 * queries with a begin and an end, ...) makes its command buffer one that is never cut.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

#define MOST (4 << 20)			/* bytes of a journal: what is longer isn't cut */

static struct gsv_table buffers = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct gsv_commands *gsv_commands_of(VkCommandBuffer commands)
{
	return gsv_table_find(&buffers, (uintptr_t)commands);
}

PFN_vkVoidFunction gsv_whole(VkCommandBuffer commands, unsigned int nr, const char *name)
{
	struct gsv_commands *c = gsv_commands_of(commands);

	if (c) {
		c->whole = true;
		if (!strncmp(name, "vkCmdWaitEvents", 15))
			c->waits = true;
	}
	return gsv_device_of(commands)->others[nr];
}

/* An entry with room for @bytes of arrays; NULL: the command buffer is whole. */
static struct gsv_entry *add(VkCommandBuffer commands, enum gsv_what what, size_t bytes)
{
	struct gsv_commands *c = gsv_commands_of(commands);
	struct gsv_entry *entry;
	unsigned char *more;
	size_t need = sizeof(*entry) + ((bytes + 7) & ~(size_t)7), size;

	if (!c || c->whole)
		return NULL;
	if (bytes > MOST || c->used + need > MOST) {
		c->whole = true;
		return NULL;
	}
	if (c->used + need > c->size) {
		size = 2 * (c->used + need);
		more = realloc(c->journal, size);
		if (!more) {
			c->whole = true;
			return NULL;
		}
		c->journal = more;
		c->size = size;
	}
	entry = (struct gsv_entry *)(c->journal + c->used);
	memset(entry, 0, need);
	entry->what = what;
	entry->bytes = (uint32_t)need;
	c->used += need;
	return entry;
}

static void whole(VkCommandBuffer commands)
{
	struct gsv_commands *c = gsv_commands_of(commands);

	if (c)
		c->whole = true;
}

static const struct gsv_vk *vk(const void *dispatchable)
{
	return &gsv_device_of(dispatchable)->vk;
}

static VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
						VkPipeline pipeline)
{
	struct gsv_entry *e;

	if (point != VK_PIPELINE_BIND_POINT_COMPUTE) {
		whole(commands);
	} else {
		e = add(commands, GSV_PIPELINE, 0);
		if (e)
			e->object[0] = (uint64_t)pipeline;
	}
	vk(commands)->CmdBindPipeline(commands, point, pipeline);
}

static VKAPI_ATTR void VKAPI_CALL bind_sets(VkCommandBuffer commands, VkPipelineBindPoint point,
					    VkPipelineLayout layout, uint32_t first, uint32_t n,
					    const VkDescriptorSet *sets, uint32_t n_offsets,
					    const uint32_t *offsets)
{
	struct gsv_entry *e = NULL;

	if (point != VK_PIPELINE_BIND_POINT_COMPUTE)
		whole(commands);
	else
		e = add(commands, GSV_SETS, n * sizeof(*sets) + n_offsets * sizeof(*offsets));
	if (e) {
		e->object[0] = (uint64_t)layout;
		e->arg[0] = first;
		e->arg[1] = n;
		e->arg[2] = n_offsets;
		memcpy(e->data, sets, n * sizeof(*sets));
		if (n_offsets)
			memcpy(e->data + n * sizeof(*sets), offsets, n_offsets * sizeof(*offsets));
	}
	vk(commands)->CmdBindDescriptorSets(commands, point, layout, first, n, sets, n_offsets,
					    offsets);
}

static VKAPI_ATTR void VKAPI_CALL push(VkCommandBuffer commands, VkPipelineLayout layout,
				       VkShaderStageFlags stages, uint32_t offset, uint32_t size,
				       const void *values)
{
	struct gsv_entry *e = add(commands, GSV_PUSH, size);

	if (e) {
		e->object[0] = (uint64_t)layout;
		e->arg[0] = stages;
		e->arg[1] = offset;
		e->arg[2] = size;
		memcpy(e->data, values, size);
	}
	vk(commands)->CmdPushConstants(commands, layout, stages, offset, size, values);
}

static void add_dispatch(VkCommandBuffer commands, uint32_t bx, uint32_t by, uint32_t bz,
			 uint32_t x, uint32_t y, uint32_t z)
{
	struct gsv_entry *e = add(commands, GSV_DISPATCH, 0);
	const uint32_t arg[6] = { bx, by, bz, x, y, z };

	if (e)
		memcpy(e->arg, arg, sizeof(arg));
}

static VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y,
					   uint32_t z)
{
	add_dispatch(commands, 0, 0, 0, x, y, z);
	vk(commands)->CmdDispatch(commands, x, y, z);
}

static VKAPI_ATTR void VKAPI_CALL dispatch_base(VkCommandBuffer commands, uint32_t bx, uint32_t by,
						uint32_t bz, uint32_t x, uint32_t y, uint32_t z)
{
	add_dispatch(commands, bx, by, bz, x, y, z);
	vk(commands)->CmdDispatchBase(commands, bx, by, bz, x, y, z);
}

/* What extends a barrier isn't copied. */
static bool is_plain(uint32_t n, const VkMemoryBarrier *memory, uint32_t n_buffers,
		     const VkBufferMemoryBarrier *buffer, uint32_t n_images,
		     const VkImageMemoryBarrier *image)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (memory[i].pNext)
			return false;
	for (i = 0; i < n_buffers; i++)
		if (buffer[i].pNext)
			return false;
	for (i = 0; i < n_images; i++)
		if (image[i].pNext)
			return false;
	return true;
}

static VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
					  VkPipelineStageFlags to, VkDependencyFlags flags,
					  uint32_t n, const VkMemoryBarrier *memory,
					  uint32_t n_buffers, const VkBufferMemoryBarrier *buffer,
					  uint32_t n_images, const VkImageMemoryBarrier *image)
{
	struct gsv_entry *e = NULL;
	unsigned char *to_data;

	if (!is_plain(n, memory, n_buffers, buffer, n_images, image))
		whole(commands);
	else
		e = add(commands, GSV_BARRIER, n * sizeof(*memory) + n_buffers * sizeof(*buffer) +
			n_images * sizeof(*image));
	if (e) {
		const uint32_t arg[6] = { from, to, flags, n, n_buffers, n_images };

		memcpy(e->arg, arg, sizeof(arg));
		to_data = e->data;
		if (n)
			memcpy(to_data, memory, n * sizeof(*memory));
		to_data += n * sizeof(*memory);
		if (n_buffers)
			memcpy(to_data, buffer, n_buffers * sizeof(*buffer));
		to_data += n_buffers * sizeof(*buffer);
		if (n_images)
			memcpy(to_data, image, n_images * sizeof(*image));
	}
	vk(commands)->CmdPipelineBarrier(commands, from, to, flags, n, memory, n_buffers, buffer,
					 n_images, image);
}

static VKAPI_ATTR void VKAPI_CALL copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to,
				       uint32_t n, const VkBufferCopy *regions)
{
	struct gsv_entry *e = add(commands, GSV_COPY, n * sizeof(*regions));

	if (e) {
		e->object[0] = (uint64_t)from;
		e->object[1] = (uint64_t)to;
		e->arg[0] = n;
		memcpy(e->data, regions, n * sizeof(*regions));
	}
	vk(commands)->CmdCopyBuffer(commands, from, to, n, regions);
}

static VKAPI_ATTR void VKAPI_CALL fill(VkCommandBuffer commands, VkBuffer to, VkDeviceSize at,
				       VkDeviceSize size, uint32_t value)
{
	struct gsv_entry *e = add(commands, GSV_FILL, 0);

	if (e) {
		e->object[0] = (uint64_t)to;
		e->at[0] = at;
		e->at[1] = size;
		e->arg[0] = value;
	}
	vk(commands)->CmdFillBuffer(commands, to, at, size, value);
}

static VKAPI_ATTR void VKAPI_CALL update(VkCommandBuffer commands, VkBuffer to, VkDeviceSize at,
					 VkDeviceSize size, const void *values)
{
	struct gsv_entry *e = add(commands, GSV_UPDATE, size);

	if (e) {
		e->object[0] = (uint64_t)to;
		e->at[0] = at;
		e->at[1] = size;
		memcpy(e->data, values, size);
	}
	vk(commands)->CmdUpdateBuffer(commands, to, at, size, values);
}

static VKAPI_ATTR void VKAPI_CALL reset_queries(VkCommandBuffer commands, VkQueryPool pool,
						uint32_t first, uint32_t n)
{
	struct gsv_entry *e = add(commands, GSV_RESET, 0);

	if (e) {
		e->object[0] = (uint64_t)pool;
		e->arg[0] = first;
		e->arg[1] = n;
	}
	vk(commands)->CmdResetQueryPool(commands, pool, first, n);
}

static VKAPI_ATTR void VKAPI_CALL stamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage,
					VkQueryPool pool, uint32_t query)
{
	struct gsv_entry *e = add(commands, GSV_STAMP, 0);

	if (e) {
		e->object[0] = (uint64_t)pool;
		e->arg[0] = stage;
		e->arg[1] = query;
	}
	vk(commands)->CmdWriteTimestamp(commands, stage, pool, query);
}

/* A secondary may wait for events as its primary may. */
static VKAPI_ATTR void VKAPI_CALL execute(VkCommandBuffer commands, uint32_t n,
					  const VkCommandBuffer *secondary)
{
	struct gsv_commands *c = gsv_commands_of(commands), *other;
	uint32_t i;

	whole(commands);
	for (i = 0; c && i < n; i++) {
		other = gsv_commands_of(secondary[i]);
		if (other && other->waits)
			c->waits = true;
	}
	vk(commands)->CmdExecuteCommands(commands, n, secondary);
}

static void forget(struct gsv_commands *c)
{
	if (c)
		free(c->journal);
	free(c);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice handle,
					       const VkCommandBufferAllocateInfo *info,
					       VkCommandBuffer *commands)
{
	struct gsv_device *device = gsv_device_of(handle);
	VkResult rc = device->vk.AllocateCommandBuffers(handle, info, commands);
	struct gsv_commands *c;
	uint32_t i;

	for (i = 0; rc == VK_SUCCESS && i < info->commandBufferCount; i++) {
		c = calloc(1, sizeof(*c));
		if (c) {
			c->device = device;
			c->pool = info->commandPool;
			c->secondary = info->level != VK_COMMAND_BUFFER_LEVEL_PRIMARY;
		}
		if (!c || !gsv_table_add(&buffers, (uintptr_t)commands[i], c))
			forget(c);
	}
	return rc;
}

static VKAPI_ATTR void VKAPI_CALL release(VkDevice handle, VkCommandPool pool, uint32_t n,
					  const VkCommandBuffer *commands)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (commands[i])
			forget(gsv_table_take(&buffers, (uintptr_t)commands[i]));
	gsv_device_of(handle)->vk.FreeCommandBuffers(handle, pool, n, commands);
}

static bool is_of_pool(void *value, const void *pool)
{
	const struct gsv_commands *c = value;

	return c->pool == *(const VkCommandPool *)pool;
}

static bool is_of_device(void *value, const void *device)
{
	const struct gsv_commands *c = value;

	return c->device == device;
}

void gsv_commands_end(struct gsv_device *device)
{
	struct gsv_commands *c;

	while ((c = gsv_table_take_any(&buffers, is_of_device, device)))
		forget(c);
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice handle, VkCommandPool pool,
					       const VkAllocationCallbacks *memory)
{
	struct gsv_commands *c;

	while (pool && (c = gsv_table_take_any(&buffers, is_of_pool, &pool)))
		forget(c);
	gsv_device_of(handle)->vk.DestroyCommandPool(handle, pool, memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands,
					    const VkCommandBufferBeginInfo *info)
{
	struct gsv_commands *c = gsv_commands_of(commands);

	if (c) {
		c->used = 0;
		c->whole = c->secondary || info->pNext;
		c->waits = false;
	}
	return vk(commands)->BeginCommandBuffer(commands, info);
}

static const struct gsv_hook hooks[] = {
	{ "vkCmdBindPipeline", (PFN_vkVoidFunction)bind_pipeline },
	{ "vkCmdBindDescriptorSets", (PFN_vkVoidFunction)bind_sets },
	{ "vkCmdPushConstants", (PFN_vkVoidFunction)push },
	{ "vkCmdDispatch", (PFN_vkVoidFunction)dispatch },
	{ "vkCmdDispatchBase", (PFN_vkVoidFunction)dispatch_base },
	{ "vkCmdDispatchBaseKHR", (PFN_vkVoidFunction)dispatch_base },
	{ "vkCmdPipelineBarrier", (PFN_vkVoidFunction)barrier },
	{ "vkCmdCopyBuffer", (PFN_vkVoidFunction)copy },
	{ "vkCmdFillBuffer", (PFN_vkVoidFunction)fill },
	{ "vkCmdUpdateBuffer", (PFN_vkVoidFunction)update },
	{ "vkCmdResetQueryPool", (PFN_vkVoidFunction)reset_queries },
	{ "vkCmdWriteTimestamp", (PFN_vkVoidFunction)stamp },
	{ "vkCmdExecuteCommands", (PFN_vkVoidFunction)execute },
	{ "vkAllocateCommandBuffers", (PFN_vkVoidFunction)allocate },
	{ "vkFreeCommandBuffers", (PFN_vkVoidFunction)release },
	{ "vkDestroyCommandPool", (PFN_vkVoidFunction)destroy_pool },
	{ "vkBeginCommandBuffer", (PFN_vkVoidFunction)begin },
};

PFN_vkVoidFunction gsv_record_hook(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].function;
	return NULL;
}
