// SPDX-License-Identifier: MIT
/*
 * A queue and what is under way on it. A piece is begun with the arbiter before it is
 * submitted; a thread waits for its fence, in order, and ends it. What is under way is
 * bounded, by "wrap/launch/budget.c": who submits waits here.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "ulib/clock.h"
#include "ulib/glibc.h"
#include "layer.h"

GS_OLD(pthread_create);
GS_OLD(pthread_sigmask);
GS_OLD(pthread_join);

#define LOOK_NS	10000000	/* 10 ms */

struct gsv_queue *gsv_queue_of(struct gsv_device *device, VkQueue handle)
{
	struct gsv_queue *queue;

	for (queue = device->queues; queue && queue->handle != handle; queue = queue->next)
		;
	return queue;
}

static void leave(struct gsv_device *device, const struct gsv_piece *piece, uint64_t groups,
		  uint64_t ns)
{
	if (!piece->gated) {
		__atomic_sub_fetch(&device->late, 1, __ATOMIC_RELEASE);
		return;
	}
	pthread_mutex_lock(&device->lock);
	gs_ended(&device->budget, 1, 1, piece->ns, groups, ns);
	pthread_cond_broadcast(&device->ended);
	pthread_mutex_unlock(&device->lock);
	gs_ask_for_queued(&device->budget);
}

static void over(struct gsv_device *device, struct gsv_piece *piece)
{
	uint64_t ns = gs_took(&device->budget, piece->start_ns);

	if (piece->pipeline) {
		gsv_pipeline_took(piece->pipeline, piece->groups, ns);
		gsv_pipeline_put(piece->pipeline);
	}
	leave(device, piece, piece->groups, ns);
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

	while ((piece = first_of(queue))) {
		device->vk.WaitForFences(device->handle, 1, &piece->fence, VK_TRUE, UINT64_MAX);
		over(device, piece);
		pthread_mutex_lock(&queue->lock);
		queue->first = piece->next;
		if (!queue->first)
			queue->last = &queue->first;
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

void gsv_queue_drain(struct gsv_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->first)
		pthread_cond_wait(&queue->changed, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

/* What is in flight on a grant that is asked back ends first, or is taken for over in a while. */
static bool must_wait(struct gsv_device *device, uint64_t ns)
{
	if (gs_is_asked_back(&device->budget) &&
	    __atomic_load_n(&device->budget.in_flight, __ATOMIC_SEQ_CST))
		return true;
	return !gs_has_room(&device->budget, ns);
}

/* Returns whether it has begun. */
static bool wait_for_room(struct gsv_device *device, uint64_t ns)
{
	struct timespec soon;

	gs_queue(&device->budget);
	pthread_mutex_lock(&device->lock);
	while (must_wait(device, ns)) {
		gs_say_late(&device->budget);
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec += LOOK_NS;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&device->ended, &device->lock, &soon);
	}
	pthread_mutex_unlock(&device->lock);
	return gs_begin_queued(&device->budget);
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
		if (!must_wait(device, piece->ns) || !wait_for_room(device, piece->ns))
			gpushare_begin(device->budget.share, GPUSHARE_FOREVER);
		gs_enter(&device->budget, 1, piece->ns);
	} else {
		__atomic_add_fetch(&device->late, 1, __ATOMIC_RELEASE);
		gs_went_past(&device->budget, 1);
	}
}

VkResult gsv_piece_send(struct gsv_queue *queue, struct gsv_piece *piece,
			gsv_submit *submit,
			const void *info)
{
	VkResult rc;

	pass(queue, piece);
	piece->start_ns = gs_now();
	rc = submit(queue, info, piece->fence);
	if (rc) {
		leave(queue->device, piece, 0, 0);
		gsv_piece_return(queue, piece);
		return rc;
	}
	pthread_mutex_lock(&queue->lock);
	piece->next = NULL;
	*queue->last = piece;
	queue->last = &piece->next;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return VK_SUCCESS;
}
