// SPDX-License-Identifier: MIT
/*
 * Memory of tenants that together have more than the device holds. The core
 * says who must move out (GS_EVICT) and who comes next (GS_PREPARE); moving
 * takes the device's copy engine, which works while kernels run. In and out go
 * at the same time, each at the bandwidth, and what is prepared before the
 * grant needs no time after it.
 */
#include <stdio.h>
#include <string.h>

#include "host.h"

static struct host_device *device_of(struct host_client *hc)
{
	return &hc->t->run->host->devices[hc->device];
}

static uint64_t capacity(struct host_client *hc)
{
	return hc->t->run->s->devices[hc->device].conf.mem_capacity;
}

static void swap(struct host_client *hc, uint64_t bytes, bool out)
{
	int ret = gs_mem_swap(&hc->c, bytes, out, host_now(hc->t->run));

	if (ret) {
		fprintf(stderr, "%s: moving memory of tenant '%s': the arbiter says: %s\n",
			hc->t->run->s->file, hc->t->t->name, strerror(-ret));
		hc->t->run->error = ret;
	}
	hc->resident += out ? -bytes : bytes;
	hc->t->moved += bytes;
}

/* Moves out what is too much on the device, of those who were asked to. */
static uint64_t make_room(struct host_client *hc)
{
	struct run *run = hc->t->run;
	struct gs_device *dev = &device_of(hc)->dev;
	struct host_client *victim;
	uint64_t bytes, moved = 0;
	int i;

	for (i = 0; i < run->s->ntenants && dev->mem_used > capacity(hc); i++) {
		victim = host_client(&run->tenants[i], hc->device);
		if (!victim->there || victim == hc || victim->holding ||
		    !(victim->c.flags & GS_EVICT))
			continue;
		bytes = dev->mem_used - capacity(hc);
		if (bytes > victim->resident)
			bytes = victim->resident;
		if (!bytes)
			continue;
		swap(victim, bytes, true);
		moved += bytes;
	}
	return moved;
}

/* Brings @bytes back; the copy engine is done at restored_at. */
static void bring(struct host_client *hc, uint64_t bytes)
{
	struct host_device *hd = device_of(hc);
	struct run *run = hc->t->run;
	uint64_t out, start = run->clock.now;

	if (!bytes)
		return;
	swap(hc, bytes, false);
	out = make_room(hc);
	if (out > bytes)
		bytes = out;
	if (start < hd->copying_until)
		start = hd->copying_until;
	hd->copying_until = start + (uint64_t)((__uint128_t)bytes * SIM_NS_PER_S /
					       run->s->devices[hc->device].bandwidth);
	hc->restored_at = hd->copying_until;
}

int sim_memory_join(struct host_client *hc)
{
	hc->resident = hc->t->t->memory;
	if (!hc->resident)
		return 0;
	return gs_mem_charge(&hc->c, hc->t->t->memory, host_now(hc->t->run));
}

void sim_memory_evict(struct host_client *hc)
{
	struct gs_device *dev = &device_of(hc)->dev;
	uint64_t bytes = dev->mem_used > capacity(hc) ? dev->mem_used - capacity(hc) : 0;

	if (hc->holding)
		return;
	if (bytes > hc->resident)
		bytes = hc->resident;
	if (bytes)
		swap(hc, bytes, true);
}

void sim_memory_prepare(struct host_client *hc)
{
	struct run *run = hc->t->run;
	uint64_t held = 0, bytes = hc->t->t->memory - hc->resident;
	int i;

	for (i = 0; i < run->s->ntenants; i++)
		if (host_client(&run->tenants[i], hc->device)->holding)
			held += host_client(&run->tenants[i], hc->device)->resident;
	held += hc->resident;
	if (held >= capacity(hc))
		return;
	if (bytes > capacity(hc) - held)
		bytes = capacity(hc) - held;
	bring(hc, bytes);
}

uint64_t sim_memory_restore(struct host_client *hc)
{
	bring(hc, hc->t->t->memory - hc->resident);
	return hc->restored_at;
}
