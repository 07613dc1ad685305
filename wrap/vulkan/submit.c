// SPDX-License-Identifier: MIT
/*
 * What the program submits. Its thread waits in vkQueueSubmit() until all of it is with
 * the driver, so that the order of a queue, of semaphores and of fences is the program's.
 *
 * A submission that waits for a timeline's value which nobody submitted yet, or for an
 * event, may wait for what this very thread does later. It is *late*: it goes past the
 * gate and is counted as such, and so is what comes while it is under way.
 *
 * One that is cut is submitted as its waits, the pieces, and its signals: what is
 * waited for is waited for by all that comes later in the queue, and what is signalled
 * comes after all that came before. The program's fence goes last, for the same reason.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

/* One VkSubmitInfo or VkSubmitInfo2, in common words. */
struct batch {
	const VkSubmitInfo *one;	/* either of these */
	const VkSubmitInfo2 *two;
	const VkTimelineSemaphoreSubmitInfo *values;	/* of @one, or NULL */
	bool odd;			/* it has more to it: never cut */
	VkCommandBuffer *commands;
	uint32_t n;
};

static VkResult submit_batch(struct gsv_queue *queue, const void *info, VkFence fence)
{
	const struct batch *b = info;
	const struct gsv_vk *vk = &queue->device->vk;

	return b->one ? vk->QueueSubmit(queue->handle, 1, b->one, fence) :
			vk->QueueSubmit2(queue->handle, 1, b->two, fence);
}

static bool read_one(struct batch *b, const VkSubmitInfo *info)
{
	const VkBaseInStructure *in;

	*b = (struct batch){ .one = info, .n = info->commandBufferCount };
	for (in = info->pNext; in; in = in->pNext) {
		if (in->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
			b->values = (const void *)in;
		else
			b->odd = true;
	}
	b->commands = malloc((b->n + 1) * sizeof(*b->commands));
	if (b->commands && b->n)
		memcpy(b->commands, info->pCommandBuffers, b->n * sizeof(*b->commands));
	return b->commands;
}

static bool read_two(struct batch *b, const VkSubmitInfo2 *info)
{
	uint32_t i;

	*b = (struct batch){ .two = info, .n = info->commandBufferInfoCount };
	b->odd = info->pNext || info->flags;
	b->commands = malloc((b->n + 1) * sizeof(*b->commands));
	for (i = 0; b->commands && i < b->n; i++) {
		b->commands[i] = info->pCommandBufferInfos[i].commandBuffer;
		if (info->pCommandBufferInfos[i].pNext ||
		    info->pCommandBufferInfos[i].deviceMask > 1)
			b->odd = true;
	}
	return b->commands;
}

static struct gsv_semaphore *wait_of(struct gsv_device *device, const struct batch *b, uint32_t i,
				     VkSemaphore *semaphore, uint64_t *value)
{
	if (b->two) {
		*semaphore = b->two->pWaitSemaphoreInfos[i].semaphore;
		*value = b->two->pWaitSemaphoreInfos[i].value;
	} else {
		*semaphore = b->one->pWaitSemaphores[i];
		*value = b->values && i < b->values->waitSemaphoreValueCount ?
			b->values->pWaitSemaphoreValues[i] : 0;
	}
	return gsv_table_find(&device->semaphores, (uint64_t)*semaphore);
}

static bool is_late(struct gsv_device *device, const struct batch *b)
{
	uint32_t i, n = b->two ? b->two->waitSemaphoreInfoCount : b->one->waitSemaphoreCount;
	const struct gsv_commands *c;
	struct gsv_semaphore *known;
	VkSemaphore semaphore;
	uint64_t value, has;

	if (__atomic_load_n(&device->late, __ATOMIC_ACQUIRE))
		return true;
	for (i = 0; i < b->n; i++) {
		c = gsv_commands_of(b->commands[i]);
		if (c && c->waits)
			return true;
	}
	for (i = 0; i < n; i++) {
		known = wait_of(device, b, i, &semaphore, &value);
		if (!known || value <= __atomic_load_n(&known->promised, __ATOMIC_RELAXED))
			continue;
		if (device->vk.GetSemaphoreCounterValue(device->handle, semaphore, &has) ||
		    has < value)
			return true;
	}
	return false;
}

static void promise_one(struct gsv_device *device, VkSemaphore semaphore, uint64_t value)
{
	struct gsv_semaphore *known = gsv_table_find(&device->semaphores, (uint64_t)semaphore);
	uint64_t old = known ? __atomic_load_n(&known->promised, __ATOMIC_RELAXED) : UINT64_MAX;

	while (old < value && !__atomic_compare_exchange_n(&known->promised, &old, value, false,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void promise(struct gsv_device *device, const struct batch *b)
{
	uint32_t i;

	for (i = 0; b->two && i < b->two->signalSemaphoreInfoCount; i++)
		promise_one(device, b->two->pSignalSemaphoreInfos[i].semaphore,
			    b->two->pSignalSemaphoreInfos[i].value);
	for (i = 0; b->values && i < b->values->signalSemaphoreValueCount &&
	     i < b->one->signalSemaphoreCount; i++)
		promise_one(device, b->one->pSignalSemaphores[i],
			    b->values->pSignalSemaphoreValues[i]);
}

/* @b without its work: only its waits, or only its signals. */
static VkResult submit_ends(struct gsv_queue *queue, const struct batch *b, bool waits)
{
	VkTimelineSemaphoreSubmitInfo values;
	VkSubmitInfo one;
	VkSubmitInfo2 two;
	struct batch part = { 0 };

	if (b->two) {
		two = *b->two;
		two.commandBufferInfoCount = 0;
		*(waits ? &two.signalSemaphoreInfoCount : &two.waitSemaphoreInfoCount) = 0;
		part.two = &two;
		if (!two.waitSemaphoreInfoCount && !two.signalSemaphoreInfoCount)
			return VK_SUCCESS;
		return submit_batch(queue, &part, VK_NULL_HANDLE);
	}
	one = *b->one;
	one.commandBufferCount = 0;
	*(waits ? &one.signalSemaphoreCount : &one.waitSemaphoreCount) = 0;
	if (!one.waitSemaphoreCount && !one.signalSemaphoreCount)
		return VK_SUCCESS;
	if (b->values) {
		values = *b->values;
		values.pNext = NULL;
		*(waits ? &values.signalSemaphoreValueCount : &values.waitSemaphoreValueCount) = 0;
		one.pNext = &values;
	}
	part.one = &one;
	return submit_batch(queue, &part, VK_NULL_HANDLE);
}

static VkResult send_whole(struct gsv_queue *queue, bool gated, uint64_t ns,
			   gsv_submit *submit, const void *info)
{
	struct gsv_piece *piece = gsv_piece_take(queue);
	uint64_t room = gs_least_room(&queue->device->budget);

	if (!piece)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	piece->gated = gated;
	piece->ns = gated ? (ns < room ? ns : room) : 0;
	return gsv_piece_send(queue, piece, submit, info);
}

static VkResult send_cut(struct gsv_queue *queue, const struct batch *b)
{
	const struct gsv_commands *c;
	VkResult rc = submit_ends(queue, b, true);
	uint32_t i;

	for (i = 0; !rc && i < b->n; i++) {
		c = gsv_commands_of(b->commands[i]);
		if (c && !c->whole)
			rc = gsv_cut_send(queue, b->commands[i]);
		else
			rc = send_whole(queue, true, UINT64_MAX, gsv_submit_commands,
					&b->commands[i]);
	}
	if (!rc)
		rc = submit_ends(queue, b, false);
	/* A part of it may have run: as if it hadn't been submitted can't be said. */
	return rc ? VK_ERROR_DEVICE_LOST : rc;
}

static VkResult send(struct gsv_queue *queue, const struct batch *b)
{
	struct gsv_device *device = queue->device;
	bool late = is_late(device, b);
	VkResult rc;

	if (!late && !b->odd && gsv_cut_due(queue, b->commands, b->n))
		rc = send_cut(queue, b);
	else
		rc = send_whole(queue, !late, gsv_estimate(device, b->commands, b->n),
				submit_batch, b);
	if (!rc && !late)
		promise(device, b);
	return rc;
}

static VkResult send_fence(struct gsv_queue *queue, VkResult rc, VkFence fence)
{
	if (rc || !fence)
		return rc;
	return queue->device->vk.QueueSubmit(queue->handle, 0, NULL, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit_one(VkQueue handle, uint32_t n,
						 const VkSubmitInfo *infos, VkFence fence)
{
	struct gsv_device *device = gsv_device_of(handle);
	struct gsv_queue *queue = gsv_queue_of(device, handle);
	VkResult rc = VK_SUCCESS;
	struct batch b;
	uint32_t i;

	if (!queue)
		return device->vk.QueueSubmit(handle, n, infos, fence);
	for (i = 0; !rc && i < n; i++) {
		rc = read_one(&b, &infos[i]) ? send(queue, &b) : VK_ERROR_OUT_OF_HOST_MEMORY;
		free(b.commands);
	}
	return send_fence(queue, rc, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit_two(VkQueue handle, uint32_t n,
						 const VkSubmitInfo2 *infos, VkFence fence)
{
	struct gsv_device *device = gsv_device_of(handle);
	struct gsv_queue *queue = gsv_queue_of(device, handle);
	VkResult rc = VK_SUCCESS;
	struct batch b;
	uint32_t i;

	if (!queue)
		return device->vk.QueueSubmit2(handle, n, infos, fence);
	for (i = 0; !rc && i < n; i++) {
		rc = read_two(&b, &infos[i]) ? send(queue, &b) : VK_ERROR_OUT_OF_HOST_MEMORY;
		free(b.commands);
	}
	return send_fence(queue, rc, fence);
}

static const struct gsv_hook hooks[] = {
	{ "vkQueueSubmit", (PFN_vkVoidFunction)submit_one },
	{ "vkQueueSubmit2", (PFN_vkVoidFunction)submit_two },
	{ "vkQueueSubmit2KHR", (PFN_vkVoidFunction)submit_two },
};

PFN_vkVoidFunction gsv_submit_hook(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].function;
	return NULL;
}
