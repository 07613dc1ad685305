/* SPDX-License-Identifier: MIT */
/* What host.c and memory.c share. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "arbiter.h"
#include "run.h"

/* The core's clock doesn't start at 0. */
#define HOST_EPOCH	SIM_NS_PER_S

struct host_device {
	struct gs_device dev;
	bool there;
	uint64_t armed;			/* counts: an earlier timer is void */
	uint64_t copying_until;		/* its copy engine is busy */
};

/* A tenant on one of its devices. */
struct host_client {
	struct gs_client c;
	struct tenant *t;
	int device;
	bool there;
	bool looking;			/* an event is set to look at its page */
	bool holding;			/* as the tenant knows */
	bool preempted;			/* the tenant was told */
	uint64_t resident;		/* bytes on the device, of its memory */
	uint64_t restored_at;
	struct gs_profile profile;
};

struct host {
	struct gs_arbiter arb;
	struct run *run;
	struct host_device *devices;
	struct gs_group *groups;
	struct host_client *clients;	/* one for each tenant and device */
};

static inline uint64_t host_now(const struct run *run)
{
	return run->clock.now + HOST_EPOCH;
}

static inline struct host_client *host_client(struct tenant *t, int device)
{
	return &t->run->host->clients[t->index * t->run->s->ndevices + device];
}

/* memory.c: bytes moved in, or out, or said to be wanted there */
int sim_memory_join(struct host_client *hc);
void sim_memory_evict(struct host_client *hc);
void sim_memory_prepare(struct host_client *hc);
uint64_t sim_memory_restore(struct host_client *hc);

#endif
