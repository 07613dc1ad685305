// SPDX-License-Identifier: MIT
/*
 * A queue and what is under way on it. A piece is begun with the arbiter before it is
 * submitted; a thread waits for its fence, in order, and ends it. What is under way is
 * bounded by three quarters of a slice, since a preemption waits for it; one piece may
 * always be.
 */
#include <signal.h>
#include <stdlib.h>

#include "ulib/clock.h"
#include "ulib/glibc.h"
#include "layer.h"

GS_OLD(pthread_create);
GS_OLD(pthread_sigmask);
GS_OLD(pthread_join);

#define DEFAULT_SLICE_NS 2000000

uint64_t gsv_room(const struct gsv_device *device)
{
	struct gpushare_grant grant;
	uint64_t slice;

	gpushare_grant(device->share, &grant);
	slice = grant.slice_ns ? grant.slice_ns : DEFAULT_SLICE_NS;
	return slice - slice / 4;
}

struct gsv_queue *gsv_queue_of(struct gsv_device *device, VkQueue handle)
{
	struct gsv_queue *queue;

	for (queue = device->queues; queue && queue->handle != handle; queue = queue->next)
		;
	return queue;
}

static void over(struct gsv_queue *queue, struct gsv_piece *piece, uint64_t start, uint64_t end)
{
	if (piece->pipeline) {
		gsv_pipeline_took(piece->pipeline, piece->groups, end - start);
		gsv_pipeline_put(piece->pipeline);
	}
	if (piece->gated) {
		gpushare_progress(queue->device->share, piece->groups, end - start);
		gpushare_end(queue->device->share);
	} else {
		__atomic_sub_fetch(&queue->device->late, 1, __ATOMIC_RELEASE);
	}
}

static struct gsv_piece *first_of(struct gsv_queue *queue)
{
	struct gsv_piece *piece;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->ending)
		pthread_cond_wait(&queue->changed, &queue->lock);
	piece = queue->first;
	pthread_mutex_unlock(&queue->lock);
	return piece;
}

static void *run(void *arg)
{
	struct gsv_queue *queue = arg;
	struct gsv_device *device = queue->device;
	struct gsv_piece *piece;
	uint64_t last = 0, end;

	while ((piece = first_of(queue))) {
		device->vk.WaitForFences(device->handle, 1, &piece->fence, VK_TRUE, UINT64_MAX);
		end = gs_now();
		over(queue, piece, last > piece->start_ns ? last : piece->start_ns, end);
		last = end;
		pthread_mutex_lock(&queue->lock);
		queue->first = piece->next;
		if (!queue->first)
			queue->last = &queue->first;
		queue->ns -= piece->ns;
		piece->next = queue->idle;
		queue->idle = piece;
		pthread_cond_broadcast(&queue->changed);
		pthread_mutex_unlock(&queue->lock);
	}
	return NULL;
}

static int start(struct gsv_queue *queue)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&queue->thread, NULL, run, queue);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

VkResult gsv_queue_add(struct gsv_device *device, VkQueue handle, uint32_t family)
{
	VkCommandPoolCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
		.queueFamilyIndex = family,
	};
	struct gsv_queue *queue = calloc(1, sizeof(*queue));
	VkResult rc;

	if (!queue)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	rc = device->vk.CreateCommandPool(device->handle, &info, NULL, &queue->pool);
	if (rc) {
		free(queue);
		return rc;
	}
	queue->device = device;
	queue->handle = handle;
	queue->last = &queue->first;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	if (start(queue)) {
		device->vk.DestroyCommandPool(device->handle, queue->pool, NULL);
		free(queue);
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	}
	queue->next = device->queues;
	device->queues = queue;
	return VK_SUCCESS;
}

static void end_queue(struct gsv_queue *queue)
{
	struct gsv_device *device = queue->device;
	struct gsv_piece *piece;

	pthread_mutex_lock(&queue->lock);
	queue->ending = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	while ((piece = queue->idle)) {
		queue->idle = piece->next;
		device->vk.DestroyFence(device->handle, piece->fence, NULL);
		free(piece);
	}
	device->vk.DestroyCommandPool(device->handle, queue->pool, NULL);
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->changed);
	free(queue);
}

void gsv_queues_end(struct gsv_device *device)
{
	struct gsv_queue *queue;

	while ((queue = device->queues)) {
		device->queues = queue->next;
		end_queue(queue);
	}
}

static struct gsv_piece *make(struct gsv_queue *queue)
{
	struct gsv_device *device = queue->device;
	VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = queue->pool,
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 1,
	};
	struct gsv_piece *piece = calloc(1, sizeof(*piece));

	if (!piece || device->vk.CreateFence(device->handle, &fence, NULL, &piece->fence)) {
		free(piece);
		return NULL;
	}
	if (device->vk.AllocateCommandBuffers(device->handle, &info, &piece->commands) ||
	    device->adopt(device->handle, piece->commands)) {
		device->vk.DestroyFence(device->handle, piece->fence, NULL);
		free(piece);
		return NULL;
	}
	return piece;
}

struct gsv_piece *gsv_piece_take(struct gsv_queue *queue)
{
	struct gsv_piece *piece;

	pthread_mutex_lock(&queue->lock);
	piece = queue->idle;
	if (piece)
		queue->idle = piece->next;
	pthread_mutex_unlock(&queue->lock);
	if (!piece)
		return make(queue);
	*piece = (struct gsv_piece){ .fence = piece->fence, .commands = piece->commands };
	queue->device->vk.ResetFences(queue->device->handle, 1, &piece->fence);
	return piece;
}

void gsv_piece_return(struct gsv_queue *queue, struct gsv_piece *piece)
{
	if (piece->pipeline)
		gsv_pipeline_put(piece->pipeline);
	pthread_mutex_lock(&queue->lock);
	piece->next = queue->idle;
	queue->idle = piece;
	pthread_mutex_unlock(&queue->lock);
}

static void wait_for_room(struct gsv_queue *queue, uint64_t ns)
{
	uint64_t room = gsv_room(queue->device);

	pthread_mutex_lock(&queue->lock);
	while (queue->first && (ns > room || queue->ns > room - ns))
		pthread_cond_wait(&queue->changed, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

void gsv_queue_drain(struct gsv_queue *queue)
{
	wait_for_room(queue, UINT64_MAX);
}

VkResult gsv_submit_commands(struct gsv_queue *queue, const void *info, VkFence fence)
{
	const VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = info,
	};

	return queue->device->vk.QueueSubmit(queue->handle, 1, &submit, fence);
}

/* What may wait for the program's doing can't be waited for: it goes past the gate. */
static void pass(struct gsv_queue *queue, struct gsv_piece *piece)
{
	struct gsv_device *device = queue->device;

	if (piece->gated) {
		wait_for_room(queue, piece->ns);
		gpushare_begin(device->share, GPUSHARE_FOREVER);
	} else {
		__atomic_add_fetch(&device->late, 1, __ATOMIC_RELEASE);
		gpushare_unscheduled(device->share, 1);
	}
}

VkResult gsv_piece_send(struct gsv_queue *queue, struct gsv_piece *piece,
			gsv_submit *submit,
			const void *info)
{
	struct gsv_device *device = queue->device;
	VkResult rc;

	pass(queue, piece);
	piece->start_ns = gs_now();
	rc = submit(queue, info, piece->fence);
	if (rc) {
		if (piece->gated)
			gpushare_end(device->share);
		else
			__atomic_sub_fetch(&device->late, 1, __ATOMIC_RELEASE);
		gsv_piece_return(queue, piece);
		return rc;
	}
	pthread_mutex_lock(&queue->lock);
	piece->next = NULL;
	*queue->last = piece;
	queue->last = &piece->next;
	queue->ns += piece->ns;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return VK_SUCCESS;
}
