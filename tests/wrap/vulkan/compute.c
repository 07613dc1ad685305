// SPDX-License-Identifier: MIT
/*
 * A compute program that knows nothing of the layer.
 *
 *	compute check		mixes and counts, once recorded and submitted three times,
 *				and holds the results against the processor's
 *	compute timeline	submits what waits for a value that it gives afterwards
 *	compute memory MIB	allocates until it is refused: says how many blocks of MIB
 *	compute busy SECONDS	check without an end, until SIGTERM
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vulkan/vulkan.h>

#include "count.comp.h"
#include "mix.comp.h"

#define WIDTH	64		/* groups in a row */
#define ROWS	24
#define LOCAL	32
#define CELLS	(WIDTH * LOCAL * ROWS)
#define ROUNDS	400
#define TIMES	3

#define DO(call) do { \
	VkResult rc_ = (call); \
	if (rc_) { \
		fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, rc_); \
		exit(1); \
	} \
} while (0)

struct push {
	uint32_t width, rounds, salt;
};

struct buffer {
	VkBuffer handle;
	VkDeviceMemory memory;
	uint32_t *words;
};

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkDescriptorSetLayout set_layout;
static VkPipelineLayout layout;
static VkDescriptorPool sets;
static VkDescriptorSet set;
static VkPipeline mix, count;
static struct buffer cells, rows;
static volatile sig_atomic_t told;

static void tell(int nr)
{
	(void)nr;
	told = 1;
}

static void open_device(void)
{
	VkApplicationInfo app = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2,
	};
	VkInstanceCreateInfo instance_info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app,
	};
	float priority = 1;
	VkDeviceQueueCreateInfo queue_info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueCount = 1, .pQueuePriorities = &priority,
	};
	VkPhysicalDeviceVulkan12Features features = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
		.timelineSemaphore = VK_TRUE,
	};
	VkDeviceCreateInfo device_info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features,
		.queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info,
	};
	VkCommandPoolCreateInfo pool_info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
	};
	uint32_t n = 1;

	DO(vkCreateInstance(&instance_info, NULL, &instance));
	if (vkEnumeratePhysicalDevices(instance, &n, &physical) < 0 || !n)
		exit(4);
	DO(vkCreateDevice(physical, &device_info, NULL, &device));
	vkGetDeviceQueue(device, 0, 0, &queue);
	DO(vkCreateCommandPool(device, &pool_info, NULL, &pool));
}

static uint32_t host_type(uint32_t types)
{
	VkPhysicalDeviceMemoryProperties all;
	uint32_t i;

	vkGetPhysicalDeviceMemoryProperties(physical, &all);
	for (i = 0; i < all.memoryTypeCount; i++)
		if (types & 1u << i && all.memoryTypes[i].propertyFlags &
		    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
			return i;
	exit(4);
}

static void make_buffer(struct buffer *b, size_t bytes)
{
	VkBufferCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
	};
	VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };
	VkMemoryRequirements needs;

	DO(vkCreateBuffer(device, &info, NULL, &b->handle));
	vkGetBufferMemoryRequirements(device, b->handle, &needs);
	memory.allocationSize = needs.size;
	memory.memoryTypeIndex = host_type(needs.memoryTypeBits);
	DO(vkAllocateMemory(device, &memory, NULL, &b->memory));
	DO(vkBindBufferMemory(device, b->handle, b->memory, 0));
	DO(vkMapMemory(device, b->memory, 0, VK_WHOLE_SIZE, 0, (void **)&b->words));
}

static VkPipeline make_pipeline(const uint32_t *code, size_t bytes)
{
	VkShaderModuleCreateInfo module_info = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = bytes, .pCode = code,
	};
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = {
			.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT, .pName = "main",
		},
		.layout = layout,
	};
	VkPipeline pipeline;

	DO(vkCreateShaderModule(device, &module_info, NULL, &info.stage.module));
	DO(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
	vkDestroyShaderModule(device, info.stage.module, NULL);
	return pipeline;
}

static void make_layout(void)
{
	VkDescriptorSetLayoutBinding bindings[2] = {
		{ 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL },
		{ 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL },
	};
	VkDescriptorSetLayoutCreateInfo set_info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = 2, .pBindings = bindings,
	};
	VkPushConstantRange range = { VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(struct push) };
	VkPipelineLayoutCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = 1, .pSetLayouts = &set_layout,
		.pushConstantRangeCount = 1, .pPushConstantRanges = &range,
	};

	DO(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout));
	DO(vkCreatePipelineLayout(device, &info, NULL, &layout));
}

static void make_set(void)
{
	VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 };
	VkDescriptorPoolCreateInfo pool_info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size,
	};
	VkDescriptorSetAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorSetCount = 1, .pSetLayouts = &set_layout,
	};
	VkDescriptorBufferInfo buffers[2] = {
		{ cells.handle, 0, VK_WHOLE_SIZE }, { rows.handle, 0, VK_WHOLE_SIZE },
	};
	VkWriteDescriptorSet write = {
		.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .descriptorCount = 2,
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = buffers,
	};

	DO(vkCreateDescriptorPool(device, &pool_info, NULL, &sets));
	info.descriptorPool = sets;
	DO(vkAllocateDescriptorSets(device, &info, &set));
	write.dstSet = set;
	vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static void order(VkCommandBuffer c)
{
	VkMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
	};

	vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
			     VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void dispatch(VkCommandBuffer c, VkPipeline pipeline, uint32_t salt)
{
	struct push push = { WIDTH * LOCAL, ROUNDS, salt };

	vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdPushConstants(c, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
	vkCmdDispatch(c, WIDTH, ROWS, 1);
	order(c);
}

static VkCommandBuffer record(void)
{
	VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = pool, .commandBufferCount = 1,
	};
	VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
	VkCommandBuffer c;

	DO(vkAllocateCommandBuffers(device, &info, &c));
	DO(vkBeginCommandBuffer(c, &begin));
	vkCmdFillBuffer(c, rows.handle, 0, VK_WHOLE_SIZE, 5);
	vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
	order(c);
	dispatch(c, mix, 11);
	dispatch(c, count, 12);
	dispatch(c, mix, 13);
	DO(vkEndCommandBuffer(c));
	return c;
}

static void expect_one(uint32_t *cell, uint32_t *row, int counts, uint32_t salt)
{
	uint32_t at, i, value;

	for (at = 0; at < CELLS; at++) {
		value = cell[at] + salt + (counts ? WIDTH * 7 + ROWS : at * 2654435761u);
		for (i = 0; i < ROUNDS; i++) {
			if (counts) {
				value = value * 1664525u + 1013904223u;
				continue;
			}
			value ^= value << 13;
			value ^= value >> 17;
			value ^= value << 5;
		}
		cell[at] = value;
		row[at / (WIDTH * LOCAL)] += value;
	}
}

static void expect(uint32_t *cell, uint32_t *row)
{
	uint32_t i, time;

	memset(cell, 0, CELLS * sizeof(*cell));
	for (time = 0; time < TIMES; time++) {
		for (i = 0; i < ROWS; i++)
			row[i] = 5;
		expect_one(cell, row, 0, 11);
		expect_one(cell, row, 1, 12);
		expect_one(cell, row, 0, 13);
	}
}

static void wait_for(VkFence fence)
{
	VkResult rc = vkWaitForFences(device, 1, &fence, VK_TRUE, 300000000000);

	if (rc) {
		fprintf(stderr, "the fence doesn't come: %d\n", rc);
		exit(1);
	}
	DO(vkResetFences(device, 1, &fence));
}

static int run_check(VkCommandBuffer c, VkFence fence, const uint32_t *cell, const uint32_t *row)
{
	VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1, .pCommandBuffers = &c,
	};
	int time;

	memset(cells.words, 0, CELLS * sizeof(*cell));
	for (time = 0; time < TIMES; time++) {
		DO(vkQueueSubmit(queue, 1, &submit, fence));
		wait_for(fence);
	}
	if (memcmp(cells.words, cell, CELLS * sizeof(*cell)) ||
	    memcmp(rows.words, row, ROWS * sizeof(*row))) {
		fprintf(stderr, "the results differ\n");
		return 1;
	}
	return 0;
}

/* What waits is submitted first, and what it waits for is given by this very thread. */
static int run_timeline(VkCommandBuffer c, VkFence fence)
{
	VkSemaphoreTypeCreateInfo type = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
	};
	VkSemaphoreCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type,
	};
	uint64_t one = 1, two = 2, has = 0;
	VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	VkTimelineSemaphoreSubmitInfo values = {
		.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		.waitSemaphoreValueCount = 1, .pWaitSemaphoreValues = &one,
		.signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &two,
	};
	VkSemaphoreSignalInfo signal_info = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .value = 1,
	};
	VkSemaphore semaphore;
	VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values,
		.waitSemaphoreCount = 1, .pWaitSemaphores = &semaphore, .pWaitDstStageMask = &stage,
		.commandBufferCount = 1, .pCommandBuffers = &c,
		.signalSemaphoreCount = 1, .pSignalSemaphores = &semaphore,
	};
	VkSubmitInfo plain = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1, .pCommandBuffers = &c,
	};

	DO(vkCreateSemaphore(device, &info, NULL, &semaphore));
	signal_info.semaphore = semaphore;
	DO(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
	DO(vkQueueSubmit(queue, 1, &plain, fence));
	DO(vkSignalSemaphore(device, &signal_info));
	wait_for(fence);
	DO(vkGetSemaphoreCounterValue(device, semaphore, &has));
	vkDestroySemaphore(device, semaphore, NULL);
	printf("timeline at %d\n", (int)has);
	return has != two;
}

static int run_memory(size_t bytes)
{
	VkMemoryAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = bytes,
	};
	VkDeviceMemory memory[64];
	VkResult rc = VK_SUCCESS;
	int n = 0, i;

	while (n < 64 && !(rc = vkAllocateMemory(device, &info, NULL, &memory[n])))
		n++;
	for (i = 0; i < n; i++)
		vkFreeMemory(device, memory[i], NULL);
	if (n && vkAllocateMemory(device, &info, NULL, &memory[0]))
		return 1;
	if (n)
		vkFreeMemory(device, memory[0], NULL);
	printf("%d blocks, then %d\n", n, rc);
	return 0;
}

static void close_buffer(struct buffer *b)
{
	vkDestroyBuffer(device, b->handle, NULL);
	vkFreeMemory(device, b->memory, NULL);
}

static void close_all(void)
{
	close_buffer(&cells);
	close_buffer(&rows);
	vkDestroyPipeline(device, mix, NULL);
	vkDestroyPipeline(device, count, NULL);
	vkDestroyPipelineLayout(device, layout, NULL);
	vkDestroyDescriptorPool(device, sets, NULL);
	vkDestroyDescriptorSetLayout(device, set_layout, NULL);
	vkDestroyCommandPool(device, pool, NULL);
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
}

int main(int argc, char **argv)
{
	VkFenceCreateInfo fence_info = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	static uint32_t cell[CELLS], row[ROWS];
	const char *what = argc > 1 ? argv[1] : "check";
	time_t until = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);
	VkCommandBuffer c;
	VkFence fence;
	int rc = 0, n = 0;

	signal(SIGTERM, tell);
	open_device();
	make_layout();
	make_buffer(&cells, sizeof(cell));
	make_buffer(&rows, sizeof(row));
	make_set();
	mix = make_pipeline(mix_spv, sizeof(mix_spv));
	count = make_pipeline(count_spv, sizeof(count_spv));
	DO(vkCreateFence(device, &fence_info, NULL, &fence));
	c = record();
	if (!strcmp(what, "memory")) {
		rc = run_memory((size_t)atoi(argv[2]) << 20);
	} else if (!strcmp(what, "timeline")) {
		rc = run_timeline(c, fence);
	} else {
		expect(cell, row);
		do {
			rc = run_check(c, fence, cell, row);
			n++;
		} while (!rc && !strcmp(what, "busy") && !told && time(NULL) < until);
		printf("%d times\n", n);
	}
	vkDestroyFence(device, fence, NULL);
	close_all();
	return rc;
}
