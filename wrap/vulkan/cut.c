// SPDX-License-Identifier: MIT
/*
 * Play a command buffer again in pieces. Each piece is a command buffer of ours: the state
 * that was set so far, then what follows, until it is thought to fill half the room. A dispatch
 * that is longer than what is left goes on in the next piece, by vkCmdDispatchBase().
 * Barriers reach over command buffers of one queue, so the pieces need none of their own.
 *
 * With 1,000 groups of 10 us and room for 1.5 ms that is 75 groups a piece, 14 pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "wrap/launch/box.h"
#include "wrap/launch/option.h"

#define PROBE 16			/* groups of a kernel of which nothing is known */

struct player {
	struct gsv_queue *queue;
	const struct gsv_commands *from;
	struct gsv_piece *piece;	/* that is being recorded, or NULL */
	size_t at;			/* in the journal */
	VkPipeline bound;
	uint64_t room;			/* of a piece */
	unsigned int n;			/* entries in the piece that do something */
};

static const struct gsv_entry *entry_at(const struct gsv_commands *c, size_t at)
{
	return (const struct gsv_entry *)(c->journal + at);
}

static uint64_t groups_of(const struct gsv_entry *e)
{
	return (uint64_t)e->arg[3] * e->arg[4] * e->arg[5];
}

/* Dispatches of nothing, and of more than 2^64 groups, aren't for boxes. */
static bool is_sane(const struct gsv_entry *e)
{
	uint64_t n = (uint64_t)e->arg[3] * e->arg[4];

	return n && e->arg[5] && n <= UINT64_MAX / e->arg[5];
}

static uint64_t time_of(struct gsv_pipeline *pipeline, uint64_t groups)
{
	uint64_t ps = __atomic_load_n(&pipeline->group_ps, __ATOMIC_RELAXED), all;

	if (!ps || __builtin_mul_overflow(ps, groups, &all))
		return UINT64_MAX;
	return all / 1000;
}

static uint64_t estimate(struct gsv_device *device, const struct gsv_commands *c)
{
	struct gsv_pipeline *pipeline = NULL;
	const struct gsv_entry *e;
	uint64_t sum = 0, ns;
	size_t at;

	for (at = 0; at < c->used && sum < UINT64_MAX; at += e->bytes) {
		e = entry_at(c, at);
		if (e->what == GSV_PIPELINE) {
			if (pipeline)
				gsv_pipeline_put(pipeline);
			pipeline = gsv_pipeline_get(device, (VkPipeline)e->object[0]);
		} else if (e->what == GSV_DISPATCH && groups_of(e)) {
			ns = pipeline && is_sane(e) ? time_of(pipeline, groups_of(e)) : UINT64_MAX;
			sum = ns < UINT64_MAX - sum ? sum + ns : UINT64_MAX;
		}
	}
	if (pipeline)
		gsv_pipeline_put(pipeline);
	return sum;
}

uint64_t gsv_estimate(struct gsv_device *device, const VkCommandBuffer *commands, uint32_t n)
{
	struct gsv_commands *c;
	uint64_t sum = 0, ns;
	uint32_t i;

	for (i = 0; i < n; i++) {
		c = gsv_commands_of(commands[i]);
		ns = c && !c->whole ? estimate(device, c) : UINT64_MAX;
		sum = ns < UINT64_MAX - sum ? sum + ns : UINT64_MAX;
	}
	return sum;
}

bool gsv_cut_due(struct gsv_queue *queue, const VkCommandBuffer *commands, uint32_t n)
{
	const struct gsv_commands *c;
	bool any = false;
	uint32_t i;

	if (!queue->device->may_cut || gs_cuts_nothing())
		return false;
	for (i = 0; i < n; i++) {
		c = gsv_commands_of(commands[i]);
		any = any || (c && !c->whole && c->used);
	}
	return any && (gs_cuts_all() ||
		       gsv_estimate(queue->device, commands, n) >
				       gs_room(&queue->device->budget));
}

static void play_barrier(const struct gsv_vk *vk, VkCommandBuffer to, const struct gsv_entry *e)
{
	const VkMemoryBarrier *memory = (const void *)e->data;
	const VkBufferMemoryBarrier *buffer = (const void *)(memory + e->arg[3]);
	const VkImageMemoryBarrier *image = (const void *)(buffer + e->arg[4]);

	vk->CmdPipelineBarrier(to, e->arg[0], e->arg[1], e->arg[2], e->arg[3], memory, e->arg[4],
			       buffer, e->arg[5], image);
}

static void play_sets(const struct gsv_vk *vk, VkCommandBuffer to, const struct gsv_entry *e)
{
	const VkDescriptorSet *sets = (const void *)e->data;

	vk->CmdBindDescriptorSets(to, VK_PIPELINE_BIND_POINT_COMPUTE,
				  (VkPipelineLayout)e->object[0], e->arg[0], e->arg[1], sets,
				  e->arg[2], (const uint32_t *)(sets + e->arg[1]));
}

/* All but dispatches. */
static void play(const struct gsv_vk *vk, VkCommandBuffer to, const struct gsv_entry *e)
{
	switch (e->what) {
	case GSV_PIPELINE:
		vk->CmdBindPipeline(to, VK_PIPELINE_BIND_POINT_COMPUTE, (VkPipeline)e->object[0]);
		break;
	case GSV_SETS:
		play_sets(vk, to, e);
		break;
	case GSV_PUSH:
		vk->CmdPushConstants(to, (VkPipelineLayout)e->object[0], e->arg[0], e->arg[1],
				     e->arg[2], e->data);
		break;
	case GSV_BARRIER:
		play_barrier(vk, to, e);
		break;
	case GSV_COPY:
		vk->CmdCopyBuffer(to, (VkBuffer)e->object[0], (VkBuffer)e->object[1], e->arg[0],
				  (const void *)e->data);
		break;
	case GSV_FILL:
		vk->CmdFillBuffer(to, (VkBuffer)e->object[0], e->at[0], e->at[1], e->arg[0]);
		break;
	case GSV_UPDATE:
		vk->CmdUpdateBuffer(to, (VkBuffer)e->object[0], e->at[0], e->at[1], e->data);
		break;
	case GSV_RESET:
		vk->CmdResetQueryPool(to, (VkQueryPool)e->object[0], e->arg[0], e->arg[1]);
		break;
	case GSV_STAMP:
		vk->CmdWriteTimestamp(to, e->arg[0], (VkQueryPool)e->object[0], e->arg[1]);
		break;
	}
}

static VkResult begin_piece(struct player *p)
{
	const struct gsv_vk *vk = &p->queue->device->vk;
	VkCommandBufferBeginInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
	};
	const struct gsv_entry *e;
	VkResult rc;
	size_t at;

	p->n = 0;
	p->piece = gsv_piece_take(p->queue);
	if (!p->piece)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	p->piece->gated = true;
	rc = vk->BeginCommandBuffer(p->piece->commands, &info);
	for (at = 0; !rc && at < p->at; at += e->bytes) {
		e = entry_at(p->from, at);
		if (e->what <= GSV_PUSH)
			play(vk, p->piece->commands, e);
	}
	return rc;
}

static VkResult end_piece(struct player *p)
{
	struct gsv_piece *piece = p->piece;
	VkResult rc;

	p->piece = NULL;
	if (!piece)
		return VK_SUCCESS;
	rc = p->queue->device->vk.EndCommandBuffer(piece->commands);
	if (rc || !p->n) {
		gsv_piece_return(p->queue, piece);
		return rc;
	}
	return gsv_piece_send(p->queue, piece, gsv_submit_commands, &piece->commands);
}

/* How many of the groups that are left go into this piece; 0: it is full. */
static uint64_t next_groups(const struct player *p, struct gsv_pipeline *pipeline, uint64_t left)
{
	uint64_t ps = __atomic_load_n(&pipeline->group_ps, __ATOMIC_RELAXED), n;

	if (!pipeline->may_cut)
		return p->n ? 0 : left;
	if (gs_options.random)
		return 1 + gs_draw(left);
	if (!ps)
		return p->n ? 0 : left < PROBE ? left : PROBE;
	n = (p->room > p->piece->ns ? p->room - p->piece->ns : 0) * 1000 / ps;
	if (!n)
		return p->n ? 0 : 1;
	return n < left ? n : left;
}

/* A piece of one kernel's groups tells what they take. */
static void put_groups(struct player *p, struct gsv_pipeline *pipeline, const struct gsv_entry *e,
		       const struct gs_box *box)
{
	struct gsv_piece *piece = p->piece;
	uint64_t ns = time_of(pipeline, box->total);

	p->queue->device->vk.CmdDispatchBase(piece->commands, e->arg[0] + (uint32_t)box->base[0],
					     e->arg[1] + (uint32_t)box->base[1],
					     e->arg[2] + (uint32_t)box->base[2],
					     (uint32_t)box->n[0], (uint32_t)box->n[1],
					     (uint32_t)box->n[2]);
	if (!p->n) {
		__atomic_add_fetch(&pipeline->holders, 1, __ATOMIC_RELAXED);
		piece->pipeline = pipeline;
	} else if (piece->pipeline && piece->pipeline != pipeline) {
		gsv_pipeline_put(piece->pipeline);
		piece->pipeline = NULL;
	}
	p->n++;
	piece->groups += box->total;
	piece->ns = ns < p->room ? piece->ns + ns : p->room;
}

static VkResult play_dispatch(struct player *p, struct gsv_pipeline *pipeline,
			      const struct gsv_entry *e)
{
	const uint64_t groups[3] = { e->arg[3], e->arg[4], e->arg[5] };
	uint64_t at = 0, n, all = groups_of(e);
	bool known;
	struct gs_box box;
	VkResult rc = VK_SUCCESS;

	while (!rc && at < all) {
		known = __atomic_load_n(&pipeline->group_ps, __ATOMIC_RELAXED);
		if (!p->piece) {
			rc = begin_piece(p);
			if (rc)
				break;
		}
		n = next_groups(p, pipeline, all - at);
		if (n) {
			gs_box_at(groups, at, n, &box);
			put_groups(p, pipeline, e, &box);
			at += box.total;
		}
		if (!n || !known || gs_options.random || p->piece->ns >= p->room)
			rc = end_piece(p);
		if (!rc && n && !known)
			gsv_queue_drain(p->queue);
	}
	return rc;
}

/* The vkCmdDispatch() of a pipeline that may not be cut has no base either. */
static VkResult play_whole(struct player *p, const struct gsv_entry *e)
{
	VkResult rc = end_piece(p);

	if (!rc)
		rc = begin_piece(p);
	if (rc)
		return rc;
	if (e->arg[0] | e->arg[1] | e->arg[2])
		p->queue->device->vk.CmdDispatchBase(p->piece->commands, e->arg[0], e->arg[1],
						     e->arg[2], e->arg[3], e->arg[4], e->arg[5]);
	else
		p->queue->device->vk.CmdDispatch(p->piece->commands, e->arg[3], e->arg[4],
						 e->arg[5]);
	p->n++;
	p->piece->groups = groups_of(e);
	p->piece->ns = p->room;
	return end_piece(p);
}

static VkResult play_entry(struct player *p, const struct gsv_entry *e)
{
	struct gsv_pipeline *pipeline;
	VkResult rc = VK_SUCCESS;

	if (e->what == GSV_PIPELINE)
		p->bound = (VkPipeline)e->object[0];
	if (e->what == GSV_DISPATCH) {
		pipeline = gsv_pipeline_get(p->queue->device, p->bound);
		if (pipeline && pipeline->may_cut && is_sane(e))
			rc = play_dispatch(p, pipeline, e);
		else
			rc = play_whole(p, e);
		if (pipeline)
			gsv_pipeline_put(pipeline);
		return rc;
	}
	if (!p->piece)
		rc = begin_piece(p);
	if (rc)
		return rc;
	play(&p->queue->device->vk, p->piece->commands, e);
	/* Beside a copy, what it takes says nothing of the kernel any more. */
	if (e->what > GSV_DISPATCH) {
		p->n++;
		if (p->piece->pipeline)
			gsv_pipeline_put(p->piece->pipeline);
		p->piece->pipeline = NULL;
	}
	return VK_SUCCESS;
}

VkResult gsv_cut_send(struct gsv_queue *queue, VkCommandBuffer commands)
{
	struct player p = {
		.queue = queue, .from = gsv_commands_of(commands),
		.room = gs_room(&queue->device->budget) / 2,
	};
	const struct gsv_entry *e;
	VkResult rc = VK_SUCCESS;

	for (; !rc && p.at < p.from->used; p.at += e->bytes) {
		e = entry_at(p.from, p.at);
		rc = play_entry(&p, e);
	}
	if (!rc)
		rc = end_piece(&p);
	if (p.piece)
		gsv_piece_return(queue, p.piece);
	return rc;
}
