// SPDX-License-Identifier: MIT
/* Special registers, and the operands that aren't plain registers or numbers. */
#include <time.h>
#include "exec.h"

static uint32_t lanes_of(const struct thread *t, unsigned int which)
{
	uint32_t bit = 1u << t->lane;

	switch (which) {
	case PTX_SR_lanemask_eq: return bit;
	case PTX_SR_lanemask_lt: return bit - 1;
	case PTX_SR_lanemask_le: return bit | (bit - 1);
	case PTX_SR_lanemask_ge: return ~(bit - 1);
	default: return ~(bit | (bit - 1));
	}
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static uint64_t in_cluster(struct thread *t, unsigned int which, unsigned int c)
{
	struct grid *g = t->b->g;

	switch (which) {
	case PTX_SR_clusterid: return t->b->id[c] / g->cluster[c];
	case PTX_SR_nclusterid: return g->dim[c] / g->cluster[c];
	case PTX_SR_cluster_ctaid: return t->b->id[c] % g->cluster[c];
	case PTX_SR_cluster_nctaid: return g->cluster[c];
	case PTX_SR_cluster_ctarank: return t->b->rank;
	case PTX_SR_cluster_nctarank: return g->cluster[0] * g->cluster[1] * g->cluster[2];
	default: return t->b->cluster != NULL;
	}
}

uint64_t special(struct thread *t, const struct opnd *o)
{
	unsigned int c = o->imm == 'y' ? 1 : o->imm == 'z' ? 2 : 0;
	struct block *b = t->b;
	struct grid *g = b->g;

	if (o->imm == 'w')
		return 0;
	switch (o->reg) {
	case PTX_SR_tid: return t->tid[c];
	case PTX_SR_ntid: return g->block[c];
	case PTX_SR_ctaid: return b->id[c];
	case PTX_SR_nctaid: return g->dim[c];
	case PTX_SR_laneid: return t->lane;
	case PTX_SR_warpid: return t->linear / 32;
	case PTX_SR_nwarpid: return b->n_warps;
	case PTX_SR_smid: return b->sm;
	case PTX_SR_nsmid: return dev.sms;
	case PTX_SR_gridid: return g->id;
	case PTX_SR_lanemask_eq:
	case PTX_SR_lanemask_lt:
	case PTX_SR_lanemask_le:
	case PTX_SR_lanemask_ge:
	case PTX_SR_lanemask_gt:
		return lanes_of(t, o->reg);
	case PTX_SR_clock:
	case PTX_SR_clock64: return dev.steps;
	case PTX_SR_clock_hi: return dev.steps >> 32;
	case PTX_SR_globaltimer:
	case PTX_SR_globaltimer_lo: return clock_ns();
	case PTX_SR_globaltimer_hi: return clock_ns() >> 32;
	case PTX_SR_total_smem_size:
	case PTX_SR_aggr_smem_size: return g->shared_bytes;
	case PTX_SR_dynamic_smem_size: return g->dynamic;
	case PTX_SR_envreg:	/* a cooperative launch's workspace stands in 1 and 2 */
		return o->imm == 1 ? g->workspace >> 32 : o->imm == 2 ? (uint32_t)g->workspace : 0;
	case PTX_SR_is_explicit_cluster:
	case PTX_SR_clusterid:
	case PTX_SR_nclusterid:
	case PTX_SR_cluster_ctaid:
	case PTX_SR_cluster_nctaid:
	case PTX_SR_cluster_ctarank:
	case PTX_SR_cluster_nctarank:
		return in_cluster(t, o->reg, c);
	default:
		return 0;
	}
}

uint64_t opnd_slow(struct thread *t, const struct opnd *o)
{
	struct grid *g = t->b->g;

	switch (o->kind) {
	case K_REG:
		return o->base_reg ? t->r[o->reg] + o->imm : o->not ? !t->r[o->reg] : t->r[o->reg];
	case K_IMM:
	case K_SHARED:
		return o->imm;
	case K_DYNAMIC:
		return g->shared_bytes - g->dynamic + o->imm;
	case K_FRAME:	/* local memory's own address; for .param, which has none, generic */
		return t->base + o->imm + (o->size ? (uint64_t)(uintptr_t)t->local : 0);
	case K_PARAM:
		return (uint64_t)(uintptr_t)g->params + o->imm;
	case K_SPECIAL:
		return special(t, o);
	default:
		return 0;
	}
}
