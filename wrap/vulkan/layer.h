/* SPDX-License-Identifier: MIT */
/*
 * A Vulkan layer: what a program submits waits for the arbiter.
 *
 * A submission's way: submit.c asks whether it may be late (it waits for what nobody has
 * submitted yet), cut.c plays what its command buffers recorded again in pieces if it is
 * long, and queue.c sends what comes out: it waits for room and for the grant, and a
 * thread a queue gives back what is over. record.c keeps what was recorded, object.c
 * pipelines, memory and semaphores; judge.c reads shaders.
 *
 * Handles stay the driver's. What the layer knows of one lies in a table.
 */
#ifndef GSV_LAYER_H
#define GSV_LAYER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>
#include <vulkan/vk_layer.h>

#include "wrap/launch/budget.h"
#include "table.h"

/* Functions of the driver (or next layer) that the layer calls. */
#define GSV_DEVICE_FUNCTIONS(X) \
	X(DestroyDevice) X(GetDeviceQueue) X(QueueSubmit) X(CreateFence) X(DestroyFence) \
	X(ResetFences) X(WaitForFences) X(CreateCommandPool) X(DestroyCommandPool) \
	X(AllocateCommandBuffers) X(FreeCommandBuffers) X(BeginCommandBuffer) \
	X(EndCommandBuffer) X(AllocateMemory) X(FreeMemory) X(CreateShaderModule) \
	X(DestroyShaderModule) X(CreateComputePipelines) X(DestroyPipeline) \
	X(CreateSemaphore) X(DestroySemaphore) X(CmdBindPipeline) X(CmdBindDescriptorSets) \
	X(CmdPushConstants) X(CmdDispatch) X(CmdPipelineBarrier) X(CmdCopyBuffer) \
	X(CmdFillBuffer) X(CmdUpdateBuffer) X(CmdResetQueryPool) X(CmdWriteTimestamp) \
	X(CmdExecuteCommands)
/* Those that a device may lack: of Vulkan 1.1 to 1.3, or of an extension's name. */
#define GSV_NEWER_FUNCTIONS(X) \
	X(CmdDispatchBase) X(QueueSubmit2) X(GetSemaphoreCounterValue)

struct gsv_vk {
#define X(name) PFN_vk##name name;
	GSV_DEVICE_FUNCTIONS(X)
	GSV_NEWER_FUNCTIONS(X)
#undef X
};

struct gsv_hook {
	const char *name;
	PFN_vkVoidFunction function;
};

extern const struct gsv_hook gsv_others[];	/* commands that are only marked */
extern const unsigned int gsv_n_others;

struct gsv_device {
	struct gsv_device *next;
	void *key;			/* of the loader, and of what the device makes */
	VkDevice handle;
	PFN_vkGetDeviceProcAddr gdpa;
	PFN_vkSetDeviceLoaderData adopt;
	struct gsv_vk vk;
	PFN_vkVoidFunction *others;	/* the next ones' of gsv_others */
	struct gs_budget budget;
	VkPhysicalDeviceMemoryProperties memory_types;
	bool may_cut;			/* it has vkCmdDispatchBase, and no command is unknown */
	struct gsv_table memory, modules, pipelines, semaphores;
	struct gsv_queue *queues;
	pthread_mutex_t lock;		/* of who waits for room, until */
	pthread_cond_t ended;		/* something has */
	uint32_t late;			/* atomic: under way, and may wait for the program */
};

struct gsv_device *gsv_device_of(const void *dispatchable);

/* What is known of a compute pipeline. Pieces under way hold it too. */
struct gsv_pipeline {
	uint32_t holders;		/* atomic */
	bool may_cut;
	uint64_t group_ps;		/* atomic; of one group; 0: not known yet */
};

struct gsv_pipeline *gsv_pipeline_get(struct gsv_device *device, VkPipeline pipeline);
void gsv_pipeline_put(struct gsv_pipeline *pipeline);
/* It took @ns for so many groups: longer is believed at once, shorter by half. */
void gsv_pipeline_took(struct gsv_pipeline *pipeline, uint64_t groups, uint64_t ns);

/* A timeline's highest value that is sure to come without the program's doing. */
struct gsv_semaphore {
	uint64_t promised;		/* atomic */
};

/* What a command buffer recorded, one entry behind the other. */
enum gsv_what {
	GSV_PIPELINE, GSV_SETS, GSV_PUSH,	/* state, that is played in each piece */
	GSV_DISPATCH, GSV_BARRIER, GSV_COPY, GSV_FILL, GSV_UPDATE, GSV_RESET, GSV_STAMP,
};

struct gsv_entry {
	uint32_t what, bytes;		/* of all of it, a multiple of 8 */
	uint64_t object[2];		/* handles */
	uint64_t at[2];
	uint32_t arg[6];
	unsigned char data[];		/* arrays, each from a multiple of 8 */
};

struct gsv_commands {
	struct gsv_device *device;
	VkCommandPool pool;
	bool whole;			/* what it does isn't all in here */
	bool waits;			/* it waits for events, that the program may set */
	bool secondary;
	unsigned char *journal;
	size_t used, size;
	unsigned int n;
};

struct gsv_commands *gsv_commands_of(VkCommandBuffer commands);
void gsv_commands_end(struct gsv_device *device);
PFN_vkVoidFunction gsv_whole(VkCommandBuffer commands, unsigned int nr, const char *name);

/* One vkQueueSubmit() of ours, under way or idle. */
struct gsv_piece {
	struct gsv_piece *next;
	VkFence fence;
	VkCommandBuffer commands;	/* ours, for what is played again */
	uint64_t start_ns, ns;		/* what it was thought to take */
	struct gsv_pipeline *pipeline;	/* whose groups it consists of, or NULL */
	uint64_t groups;
	bool gated;
};

struct gsv_queue {
	struct gsv_queue *next;
	struct gsv_device *device;
	VkQueue handle;
	VkCommandPool pool;		/* used by who submits; that is one at a time */
	pthread_t thread;
	pthread_mutex_t lock;		/* protects what follows */
	pthread_cond_t changed;
	struct gsv_piece *first, **last, *idle;
	bool ending;
};

struct gsv_queue *gsv_queue_of(struct gsv_device *device, VkQueue handle);
VkResult gsv_queue_add(struct gsv_device *device, VkQueue handle, uint32_t family);
void gsv_queues_end(struct gsv_device *device);
struct gsv_piece *gsv_piece_take(struct gsv_queue *queue);
void gsv_piece_return(struct gsv_queue *queue, struct gsv_piece *piece);
typedef VkResult gsv_submit(struct gsv_queue *queue, const void *info, VkFence fence);

/* One command buffer: @info points to it. */
gsv_submit gsv_submit_commands;

/* Room and grant, then @submit's work. @piece is the queue's afterwards in any case. */
VkResult gsv_piece_send(struct gsv_queue *queue, struct gsv_piece *piece,
			gsv_submit *submit,
			const void *info);
void gsv_queue_drain(struct gsv_queue *queue);

/* Is it worth it, and can it be done? Then it is sent in pieces. */
bool gsv_cut_due(struct gsv_queue *queue, const VkCommandBuffer *commands, uint32_t n);
VkResult gsv_cut_send(struct gsv_queue *queue, VkCommandBuffer commands);
/* What they take in all: UINT64_MAX if it isn't known. */
uint64_t gsv_estimate(struct gsv_device *device, const VkCommandBuffer *commands, uint32_t n);

/* May a dispatch of this shader be cut without its seeing it? */
bool gsv_judge(const uint32_t *code, size_t bytes);

/* The layer's entry points, by name; NULL: none of ours. */
PFN_vkVoidFunction gsv_record_hook(const char *name);
PFN_vkVoidFunction gsv_object_hook(const char *name);
PFN_vkVoidFunction gsv_submit_hook(const char *name);

#endif
