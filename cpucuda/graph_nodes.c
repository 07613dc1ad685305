// SPDX-License-Identifier: MIT
/*
 * Nodes of graphs: made, shown, changed; and instances, which hold copies of them.
 * A node of an instance is found by the node of the graph that it was copied from.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"

/* Takes over the work, also when it fails. */
static CUresult add(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, struct work *w)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	lock();
	if (out && nodes_of(g, deps, n))
		r = graph_add(g, w, deps, n, out);
	else
		work_free(w);
	unlock();
	return r;
}

/* The node of an instance that came from this node of the graph. */
static struct CUgraphNode_st *instance(CUgraphExec x, CUgraphNode n)
{
	size_t k;

	if (!IS(x, MAGIC_EXEC) || !IS(n, MAGIC_NODE))
		return NULL;
	for (k = 0; k < x->g->n; k++)
		if (x->g->nodes[k]->origin == n->id)
			return x->g->nodes[k];
	return NULL;
}

/* Other work of the same kind. Takes it over, also when it fails. */
static CUresult change(struct CUgraphNode_st *n, struct work *w)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	lock();
	if (IS(n, MAGIC_NODE) && n->w.kind == w->kind) {
		if (w->kind == W_GRAPH)
			graph_free(n->w.graph.g);
		work_free(&n->w);
		n->w = *w;
		r = CUDA_SUCCESS;
	} else {
		if (w->kind == W_GRAPH)
			graph_free(w->graph.g);
		work_free(w);
	}
	unlock();
	return r;
}

static bool is_node(CUgraphNode n, enum work_kind kind)
{
	return IS(n, MAGIC_NODE) && n->w.kind == kind;
}

static CUresult kernel_node(struct work *w, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	uint32_t grid[3], block[3];
	CUresult r;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(grid, (uint32_t[]){ p->gridDimX, p->gridDimY, p->gridDimZ }, sizeof(grid));
	memcpy(block, (uint32_t[]){ p->blockDimX, p->blockDimY, p->blockDimZ }, sizeof(block));
	lock();
	r = kernel_work(w, p->func ? p->func : (CUfunction)p->kern, grid, block, p->sharedMemBytes,
			p->kernelParams, p->extra);
	unlock();
	return r;
}

/* The first version of the parameters is where the second begins. */
static CUresult kernel_node_v1(struct work *w, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 v2 = { 0 };

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&v2, p, sizeof(*p));
	return kernel_node(w, &v2);
}

EXPORT cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
			       const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct work w;
	CUresult r = kernel_node(&w, p);

	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
			    const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	struct work w;
	CUresult r = kernel_node_v1(&w, p);

	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphKernelNodeSetParams_v2(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct work w;
	CUresult r = kernel_node(&w, p);

	return r ? r : change(n, &w);
}

EXPORT cuGraphKernelNodeSetParams(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	struct work w;
	CUresult r = kernel_node_v1(&w, p);

	return r ? r : change(n, &w);
}

EXPORT cuGraphExecKernelNodeSetParams_v2(CUgraphExec x, CUgraphNode n,
					 const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	return cuGraphKernelNodeSetParams_v2(instance(x, n), p);
}

EXPORT cuGraphExecKernelNodeSetParams(CUgraphExec x, CUgraphNode n,
				      const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return cuGraphKernelNodeSetParams(instance(x, n), p);
}

EXPORT cuGraphKernelNodeGetParams_v2(CUgraphNode n, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	const struct func *f;
	uint32_t k;

	if (!is_node(n, W_KERNEL) || !p)
		return CUDA_ERROR_INVALID_VALUE;
	f = n->w.kernel.f->f;
	memset(p, 0, sizeof(*p));
	p->func = n->w.kernel.f;
	p->gridDimX = n->w.kernel.grid[0];
	p->gridDimY = n->w.kernel.grid[1];
	p->gridDimZ = n->w.kernel.grid[2];
	p->blockDimX = n->w.kernel.block[0];
	p->blockDimY = n->w.kernel.block[1];
	p->blockDimZ = n->w.kernel.block[2];
	p->sharedMemBytes = n->w.kernel.dynamic;
	free(n->param_at);
	n->param_at = calloc(f->n_params + 1, sizeof(*n->param_at));
	if (!n->param_at)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (k = 0; k < f->n_params; k++)
		n->param_at[k] = n->w.kernel.params + f->param_offset[k];
	p->kernelParams = f->n_params ? n->param_at : NULL;
	return CUDA_SUCCESS;
}

EXPORT cuGraphKernelNodeGetParams(CUgraphNode n, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 v2;
	CUresult r = cuGraphKernelNodeGetParams_v2(n, &v2);

	if (!r && p)
		memcpy(p, &v2, sizeof(*p));
	return p ? r : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphKernelNodeSetAttribute(CUgraphNode n, CUlaunchAttributeID id,
				     const CUlaunchAttributeValue *v)
{
	CUresult r;

	if (!is_node(n, W_KERNEL) || !v)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = kernel_attribute(&n->w, id, v);
	unlock();
	return r;
}

EXPORT cuGraphKernelNodeGetAttribute(CUgraphNode n, CUlaunchAttributeID id,
				     CUlaunchAttributeValue *v)
{
	if (!is_node(n, W_KERNEL) || !v)
		return CUDA_ERROR_INVALID_VALUE;
	memset(v, 0, sizeof(*v));
	switch ((int)id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		v->cooperative = n->w.kernel.cooperative;
		break;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		v->clusterDim.x = n->w.kernel.cluster[0];
		v->clusterDim.y = n->w.kernel.cluster[1];
		v->clusterDim.z = n->w.kernel.cluster[2];
		break;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		v->priority = n->w.kernel.priority;
		break;
	}
	return CUDA_SUCCESS;
}

EXPORT cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	if (!is_node(to, W_KERNEL) || !is_node(from, W_KERNEL))
		return CUDA_ERROR_INVALID_VALUE;
	to->w.kernel.cooperative = from->w.kernel.cooperative;
	to->w.kernel.priority = from->w.kernel.priority;
	memcpy(to->w.kernel.cluster, from->w.kernel.cluster, sizeof(to->w.kernel.cluster));
	return CUDA_SUCCESS;
}

static CUresult copy_node(struct work *w, const CUDA_MEMCPY3D *p)
{
	return p ? memcpy_node(w, p) : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
			    const CUDA_MEMCPY3D *p, CUcontext c)
{
	struct work w;
	CUresult r = copy_node(&w, p);

	(void)c;
	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphMemcpyNodeSetParams(CUgraphNode n, const CUDA_MEMCPY3D *p)
{
	struct work w;
	CUresult r = copy_node(&w, p);

	return r ? r : change(n, &w);
}

EXPORT cuGraphExecMemcpyNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_MEMCPY3D *p,
				      CUcontext c)
{
	(void)c;
	return cuGraphMemcpyNodeSetParams(instance(x, n), p);
}

EXPORT cuGraphMemcpyNodeGetParams(CUgraphNode n, CUDA_MEMCPY3D *p)
{
	if (!is_node(n, W_COPY) || !p)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy_shown(p, &n->w);
	return CUDA_SUCCESS;
}

static CUresult fill_node(struct work *w, const CUDA_MEMSET_NODE_PARAMS *p)
{
	memset(w, 0, sizeof(*w));
	if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	w->kind = W_SET;
	w->set.dst = p->dst;
	w->set.pitch = p->pitch;
	w->set.value = p->value;
	w->set.unit = p->elementSize;
	w->set.width = p->width;
	w->set.rows = p->height;
	return CUDA_SUCCESS;
}

EXPORT cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
			    const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
{
	struct work w;
	CUresult r = fill_node(&w, p);

	(void)c;
	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphMemsetNodeSetParams(CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct work w;
	CUresult r = fill_node(&w, p);

	return r ? r : change(n, &w);
}

EXPORT cuGraphExecMemsetNodeSetParams(CUgraphExec x, CUgraphNode n,
				      const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
{
	(void)c;
	return cuGraphMemsetNodeSetParams(instance(x, n), p);
}

EXPORT cuGraphMemsetNodeGetParams(CUgraphNode n, CUDA_MEMSET_NODE_PARAMS *p)
{
	if (!is_node(n, W_SET) || !p)
		return CUDA_ERROR_INVALID_VALUE;
	p->dst = n->w.set.dst;
	p->pitch = n->w.set.pitch;
	p->value = n->w.set.value;
	p->elementSize = n->w.set.unit;
	p->width = n->w.set.width;
	p->height = n->w.set.rows;
	return CUDA_SUCCESS;
}

static CUresult host_node(struct work *w, const CUDA_HOST_NODE_PARAMS *p)
{
	memset(w, 0, sizeof(*w));
	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	w->kind = W_HOST;
	w->host.fn = p->fn;
	w->host.arg = p->userData;
	return CUDA_SUCCESS;
}

EXPORT cuGraphAddHostNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
			  const CUDA_HOST_NODE_PARAMS *p)
{
	struct work w;
	CUresult r = host_node(&w, p);

	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphHostNodeSetParams(CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p)
{
	struct work w;
	CUresult r = host_node(&w, p);

	return r ? r : change(n, &w);
}

EXPORT cuGraphExecHostNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p)
{
	return cuGraphHostNodeSetParams(instance(x, n), p);
}

EXPORT cuGraphHostNodeGetParams(CUgraphNode n, CUDA_HOST_NODE_PARAMS *p)
{
	if (!is_node(n, W_HOST) || !p)
		return CUDA_ERROR_INVALID_VALUE;
	p->fn = n->w.host.fn;
	p->userData = n->w.host.arg;
	return CUDA_SUCCESS;
}

EXPORT cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n)
{
	struct work w = { .kind = W_NOTHING };

	return add(out, g, deps, n, &w);
}

static CUresult child_node(struct work *w, CUgraph child)
{
	memset(w, 0, sizeof(*w));
	if (!IS(child, MAGIC_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	w->kind = W_GRAPH;
	w->graph.g = graph_copy(child);
	unlock();
	return w->graph.g ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
				CUgraph child)
{
	struct work w;
	CUresult r = child_node(&w, child);

	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphChildGraphNodeGetGraph(CUgraphNode n, CUgraph *out)
{
	if (!is_node(n, W_GRAPH) || !out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = n->w.graph.g;
	return CUDA_SUCCESS;
}

EXPORT cuGraphExecChildGraphNodeSetParams(CUgraphExec x, CUgraphNode n, CUgraph child)
{
	struct work w;
	CUresult r = child_node(&w, child);

	return r ? r : change(instance(x, n), &w);
}

static CUresult event_node(struct work *w, enum work_kind kind, CUevent e)
{
	memset(w, 0, sizeof(*w));
	if (!IS(e, MAGIC_EVENT))
		return CUDA_ERROR_INVALID_VALUE;
	w->kind = kind;
	w->event.e = e;
	return CUDA_SUCCESS;
}

#define EVENT_NODE(what, kind)							\
EXPORT cuGraphAddEvent##what##Node(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, \
				   CUevent e)					\
{										\
	struct work w;								\
	CUresult r = event_node(&w, kind, e);					\
										\
	return r ? r : add(out, g, deps, n, &w);				\
}										\
EXPORT cuGraphEvent##what##NodeGetEvent(CUgraphNode n, CUevent *out)		\
{										\
	if (!is_node(n, kind) || !out)						\
		return CUDA_ERROR_INVALID_VALUE;				\
	*out = n->w.event.e;							\
	return CUDA_SUCCESS;							\
}										\
EXPORT cuGraphEvent##what##NodeSetEvent(CUgraphNode n, CUevent e)		\
{										\
	struct work w;								\
	CUresult r = event_node(&w, kind, e);					\
										\
	return r ? r : change(n, &w);						\
}										\
EXPORT cuGraphExecEvent##what##NodeSetEvent(CUgraphExec x, CUgraphNode n, CUevent e) \
{										\
	return cuGraphEvent##what##NodeSetEvent(instance(x, n), e);		\
}

EVENT_NODE(Record, W_RECORD)
EVENT_NODE(Wait, W_WAIT)

static CUresult alloc_node(struct work *w, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	CUresult r;

	memset(w, 0, sizeof(*w));
	if (!p || !p->bytesize || device_ok(p->poolProps.location.id))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = alloc_work(w, pool_of(p->poolProps.location.id), p->bytesize);
	unlock();
	if (!r)
		p->dptr = w->alloc->addr;
	return r;
}

EXPORT cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
			      CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct work w;
	CUresult r = alloc_node(&w, p);

	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphMemAllocNodeGetParams(CUgraphNode n, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct mem_block *b;

	if (!is_node(n, W_ALLOC) || !p)
		return CUDA_ERROR_INVALID_VALUE;
	memset(p, 0, sizeof(*p));
	lock();
	b = mem_find(n->w.alloc->addr);
	p->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p->poolProps.location.id = b ? b->device : 0;
	p->bytesize = b ? b->size : 0;
	p->dptr = n->w.alloc->addr;
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
			     CUdeviceptr p)
{
	struct work w = { .kind = W_FREE };

	w.free.addr = p;
	return add(out, g, deps, n, &w);
}

EXPORT cuGraphMemFreeNodeGetParams(CUgraphNode n, CUdeviceptr *p)
{
	if (!is_node(n, W_FREE) || !p)
		return CUDA_ERROR_INVALID_VALUE;
	*p = n->w.free.addr;
	return CUDA_SUCCESS;
}

/* The parameters of all kinds in one structure. */
static CUresult any_node(struct work *w, CUgraphNodeParams *p)
{
	CUDA_MEMSET_NODE_PARAMS set;
	CUDA_HOST_NODE_PARAMS host;
	CUDA_KERNEL_NODE_PARAMS_v2 kernel;
	CUresult r;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		memcpy(&kernel, &p->kernel, sizeof(kernel));
		return kernel_node(w, &kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return copy_node(w, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&set, &p->memset, sizeof(set));
		return fill_node(w, &set);
	case CU_GRAPH_NODE_TYPE_HOST:
		memcpy(&host, &p->host, sizeof(host));
		return host_node(w, &host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return child_node(w, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		memset(w, 0, sizeof(*w));
		w->kind = W_NOTHING;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return event_node(w, W_WAIT, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return event_node(w, W_RECORD, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
		CUDA_MEM_ALLOC_NODE_PARAMS a;

		memcpy(&a, &p->alloc, sizeof(a));
		r = alloc_node(w, &a);
		p->alloc.dptr = a.dptr;
		return r;
	}
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		memset(w, 0, sizeof(*w));
		w->kind = W_FREE;
		w->free.addr = p->free.dptr;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

EXPORT cuGraphAddNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
			 const CUgraphEdgeData *data, size_t n, CUgraphNodeParams *p)
{
	struct work w;
	CUresult r = data ? CUDA_ERROR_NOT_SUPPORTED : any_node(&w, p);

	return r ? r : add(out, g, deps, n, &w);
}

EXPORT cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
		      CUgraphNodeParams *p)
{
	return cuGraphAddNode_v2(out, g, deps, NULL, n, p);
}

EXPORT cuGraphNodeSetParams(CUgraphNode n, CUgraphNodeParams *p)
{
	struct work w;
	CUresult r = any_node(&w, p);

	return r ? r : change(n, &w);
}

EXPORT cuGraphExecNodeSetParams(CUgraphExec x, CUgraphNode n, CUgraphNodeParams *p)
{
	return cuGraphNodeSetParams(instance(x, n), p);
}

EXPORT cuGraphNodeGetType(CUgraphNode n, CUgraphNodeType *t)
{
	static const uint8_t of[] = { [W_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,
		[W_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY, [W_SET] = CU_GRAPH_NODE_TYPE_MEMSET,
		[W_HOST] = CU_GRAPH_NODE_TYPE_HOST, [W_CALLBACK] = CU_GRAPH_NODE_TYPE_HOST,
		[W_GRAPH] = CU_GRAPH_NODE_TYPE_GRAPH, [W_NOTHING] = CU_GRAPH_NODE_TYPE_EMPTY,
		[W_WAIT] = CU_GRAPH_NODE_TYPE_WAIT_EVENT,
		[W_RECORD] = CU_GRAPH_NODE_TYPE_EVENT_RECORD,
		[W_ALLOC] = CU_GRAPH_NODE_TYPE_MEM_ALLOC, [W_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE,
		[W_WRITE_VALUE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
		[W_WAIT_VALUE] = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };

	if (!IS(n, MAGIC_NODE) || !t)
		return CUDA_ERROR_INVALID_VALUE;
	*t = (CUgraphNodeType)of[n->w.kind];
	return CUDA_SUCCESS;
}

EXPORT cuGraphNodeSetEnabled(CUgraphExec x, CUgraphNode n, unsigned int on)
{
	struct CUgraphNode_st *i = instance(x, n);

	if (!i || (i->w.kind != W_KERNEL && i->w.kind != W_COPY && i->w.kind != W_SET))
		return CUDA_ERROR_INVALID_VALUE;
	i->disabled = !on;
	return CUDA_SUCCESS;
}

EXPORT cuGraphNodeGetEnabled(CUgraphExec x, CUgraphNode n, unsigned int *on)
{
	struct CUgraphNode_st *i = instance(x, n);

	if (!i || !on)
		return CUDA_ERROR_INVALID_VALUE;
	*on = !i->disabled;
	return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *out, CUgraph g, uint64_t flags)
{
	if (!out || !IS(g, MAGIC_GRAPH) || flags & ~15ull)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	lock();
	(*out)->magic = MAGIC_EXEC;
	(*out)->flags = flags;
	(*out)->g = graph_copy(g);
	unlock();
	if ((*out)->g)
		return CUDA_SUCCESS;
	free(*out);
	*out = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
	return instantiate(out, g, flags);
}

/* The forms that told of errors in a text. */
EXPORT cuGraphInstantiate(CUgraphExec *out, CUgraph g, CUgraphNode *bad, char *log, size_t size)
{
	if (bad)
		*bad = NULL;
	if (log && size)
		*log = 0;
	return instantiate(out, g, 0);
}

EXPORT cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode *bad, char *log, size_t size)
{
	return cuGraphInstantiate(out, g, bad, log, size);
}

TWO(cuGraphInstantiateWithParams, _ptsz,
    (CUgraphExec *out, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p), out, g, p)
{
	CUresult r = p ? instantiate(out, g, p->flags) : CUDA_ERROR_INVALID_VALUE;

	(void)per_thread;
	if (!p)
		return r;
	p->hErrNode_out = NULL;
	p->result_out = !r ? CUDA_GRAPH_INSTANTIATE_SUCCESS : r == CUDA_ERROR_INVALID_VALUE ?
		CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE : CUDA_GRAPH_INSTANTIATE_ERROR;
	return r;
}

EXPORT cuGraphExecGetFlags(CUgraphExec x, cuuint64_t *flags)
{
	if (!IS(x, MAGIC_EXEC) || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = x->flags;
	return CUDA_SUCCESS;
}

/* Whether two copies have the same nodes with the same edges, one by one. */
static CUgraphExecUpdateResult compare(struct CUgraph_st *a, struct CUgraph_st *b, size_t *at)
{
	size_t k, i;

	*at = 0;
	if (a->n != b->n)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (k = 0; k < a->n; k++)
		a->nodes[k]->mark = b->nodes[k]->mark = k;
	for (k = 0; k < a->n; k++) {
		struct CUgraphNode_st *x = a->nodes[k], *y = b->nodes[k];

		*at = k;
		if (x->n_deps != y->n_deps)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		for (i = 0; i < x->n_deps; i++)
			if (x->deps[i]->mark != y->deps[i]->mark)
				return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (x->w.kind != y->w.kind)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUresult update(CUgraphExec x, CUgraph g, CUgraphNode *bad, CUgraphExecUpdateResult *why)
{
	struct CUgraph_st *c;
	struct work w;
	size_t k, at;

	*bad = NULL;
	*why = CU_GRAPH_EXEC_UPDATE_ERROR;
	if (!IS(x, MAGIC_EXEC) || !IS(g, MAGIC_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	c = graph_copy(g);
	*why = c ? compare(x->g, c, &at) : CU_GRAPH_EXEC_UPDATE_ERROR;
	if (c && *why && at < g->n)
		*bad = g->nodes[at];
	/* the instance keeps its nodes, which the program knows it by */
	for (k = 0; c && !*why && k < c->n; k++) {
		w = x->g->nodes[k]->w;
		x->g->nodes[k]->w = c->nodes[k]->w;
		c->nodes[k]->w = w;
	}
	if (c)
		graph_free(c);
	unlock();
	return *why ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}

EXPORT cuGraphExecUpdate_v2(CUgraphExec x, CUgraph g, CUgraphExecUpdateResultInfo *info)
{
	if (!info)
		return CUDA_ERROR_INVALID_VALUE;
	info->errorFromNode = NULL;
	return update(x, g, &info->errorNode, &info->result);
}

EXPORT cuGraphExecUpdate(CUgraphExec x, CUgraph g, CUgraphNode *bad, CUgraphExecUpdateResult *why)
{
	CUgraphExecUpdateResult w;
	CUgraphNode b;

	return update(x, g, bad ? bad : &b, why ? why : &w);
}

TWO(cuGraphLaunch, _ptsz, (CUgraphExec x, CUstream h), x, h)
{
	struct CUstream_st *s;
	CUresult r;

	if (!IS(x, MAGIC_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	r = stream_of(h, per_thread, &s);
	if (!r)
		r = graph_submit(s, x->g);
	unlock();
	return r;
}

TWO(cuGraphUpload, _ptsz, (CUgraphExec x, CUstream h), x, h)
{
	(void)h;
	(void)per_thread;
	return IS(x, MAGIC_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphExecDestroy(CUgraphExec x)
{
	if (!IS(x, MAGIC_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	graph_free(x->g);
	x->magic = 0;
	free(x);
	unlock();
	return CUDA_SUCCESS;
}
