// SPDX-License-Identifier: MIT
/* The runtime double: streams, graphs, and streams of one's own a thread. */
#include <string.h>
#include "cudart.h"

struct dim3 { unsigned int x, y, z; };

SAME(cudaStreamGetPriority, cuStreamGetPriority, (CUstream s, int *p), s, p)
SAME(cudaStreamGetPriority_ptsz, cuStreamGetPriority, (CUstream s, int *p), OWN(s), p)
SAME(cudaStreamGetFlags, cuStreamGetFlags, (CUstream s, unsigned int *f), s, f)
SAME(cudaStreamGetFlags_ptsz, cuStreamGetFlags, (CUstream s, unsigned int *f), OWN(s), f)
SAME(cudaStreamGetId, cuStreamGetId, (CUstream s, unsigned long long *id), s, id)
SAME(cudaStreamGetId_ptsz, cuStreamGetId, (CUstream s, unsigned long long *id), OWN(s), id)
RT(cudaStreamGetDevice, CUstream s, int *d) { (void)s; return DO((*d = 0, CUDA_SUCCESS)); }
RT(cudaStreamGetDevice_ptsz, CUstream s, int *d) { return cudaStreamGetDevice(s, d); }
SAME(cudaStreamAddCallback, cuStreamAddCallback,
     (CUstream s, CUstreamCallback fn, void *arg, unsigned int f), s, fn, arg, f)
SAME(cudaStreamAddCallback_ptsz, cuStreamAddCallback,
     (CUstream s, CUstreamCallback fn, void *arg, unsigned int f), OWN(s), fn, arg, f)
SAME(cudaStreamAttachMemAsync, cuStreamAttachMemAsync,
     (CUstream s, void *p, size_t n, unsigned int f), s, P(p), n, f)
SAME(cudaStreamAttachMemAsync_ptsz, cuStreamAttachMemAsync,
     (CUstream s, void *p, size_t n, unsigned int f), OWN(s), P(p), n, f)
SAME(cudaStreamIsCapturing, cuStreamIsCapturing, (CUstream s, CUstreamCaptureStatus *out), s, out)
SAME(cudaStreamIsCapturing_ptsz, cuStreamIsCapturing, (CUstream s, CUstreamCaptureStatus *out),
     OWN(s), out)
SAME(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,
     (CUstreamCaptureMode *m), m)
SAME(cudaEventRecordWithFlags, cuEventRecordWithFlags, (CUevent e, CUstream s, unsigned int f),
     e, s,
     f)
SAME(cudaEventRecordWithFlags_ptsz, cuEventRecordWithFlags,
     (CUevent e, CUstream s, unsigned int f), e, OWN(s), f)

SAME(cudaEventRecord_ptsz, cuEventRecord, (CUevent e, CUstream s), e, OWN(s))
SAME(cudaStreamSynchronize_ptsz, cuStreamSynchronize, (CUstream s), OWN(s))
SAME(cudaStreamQuery_ptsz, cuStreamQuery, (CUstream s), OWN(s))
SAME(cudaStreamWaitEvent_ptsz, cuStreamWaitEvent, (CUstream s, CUevent e, unsigned int f),
     OWN(s), e,
     f)
SAME(cudaLaunchHostFunc_ptsz, cuLaunchHostFunc, (CUstream s, CUhostFn fn, void *arg), OWN(s),
     fn, arg)
SAME(cudaStreamBeginCapture_ptsz, cuStreamBeginCapture_v2, (CUstream s, CUstreamCaptureMode m),
     OWN(s), m)
SAME(cudaStreamEndCapture_ptsz, cuStreamEndCapture, (CUstream s, CUgraph *g), OWN(s), g)
SAME(cudaGraphLaunch_ptsz, cuGraphLaunch, (CUgraphExec x, CUstream s), x, OWN(s))
SAME(cudaMallocAsync_ptsz, cuMemAllocAsync, (CUdeviceptr *p, size_t n, CUstream s), p, n, OWN(s))
SAME(cudaFreeAsync_ptsz, cuMemFreeAsync, (void *p, CUstream s), P(p), OWN(s))
SAME(cudaMemsetAsync_ptsz, cuMemsetD8Async, (void *p, int v, size_t n, CUstream s), P(p),
     (unsigned char)v, n, OWN(s))
RT(cudaMemcpyAsync_ptsz, void *d, const void *s, size_t n, int kind, CUstream st)
{
	return rt_keep(kind < 0 || kind > 4 ? (CUresult)21 :
		       CALL(cuMemcpyAsync, P(d), P(s), n, OWN(st)));
}
RT(cudaLaunchKernel_ptsz, const void *host, struct dim3 g, struct dim3 b, void **args,
   size_t shared,
   CUstream s)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : CALL(cuLaunchKernel_ptsz, (CUfunction)k, g.x, g.y, g.z, b.x, b.y,
				    b.z, (unsigned int)shared, s, args, NULL));
}
RT(cudaLaunchCooperativeKernel_ptsz, const void *host, struct dim3 g, struct dim3 b, void **args,
   size_t shared, CUstream s)
{
	CUkernel k;
	CUresult r = rt_kernel(host, &k);

	return rt_keep(r ? r : CALL(cuLaunchCooperativeKernel_ptsz, (CUfunction)k, g.x, g.y, g.z,
				    b.x, b.y, b.z, (unsigned int)shared, s, args));
}

SAME(cudaGraphCreate, cuGraphCreate, (CUgraph *g, unsigned int f), g, f)
SAME(cudaGraphClone, cuGraphClone, (CUgraph *out, CUgraph g), out, g)
SAME(cudaGraphDestroyNode, cuGraphDestroyNode, (CUgraphNode n), n)
SAME(cudaGraphGetNodes, cuGraphGetNodes, (CUgraph g, CUgraphNode *out, size_t *n), g, out, n)
SAME(cudaGraphGetRootNodes, cuGraphGetRootNodes, (CUgraph g, CUgraphNode *out, size_t *n), g,
     out, n)
SAME(cudaGraphGetEdges, cuGraphGetEdges_v2,
     (CUgraph g, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *n), g, from,
     to,
     data, n)
SAME(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
     (CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *n), node, out, data, n)
SAME(cudaGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
     (CUgraphNode node, CUgraphNode *out, CUgraphEdgeData *data, size_t *n), node, out, data, n)
SAME(cudaGraphAddDependencies, cuGraphAddDependencies_v2,
     (CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
      size_t n), g, from, to, data, n)
SAME(cudaGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
     (CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
      size_t n), g, from, to, data, n)
SAME(cudaGraphNodeFindInClone, cuGraphNodeFindInClone,
     (CUgraphNode *out, CUgraphNode n, CUgraph g), out, n, g)
SAME(cudaGraphNodeGetType, cuGraphNodeGetType, (CUgraphNode n, CUgraphNodeType *t), n, t)
SAME(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled,
     (CUgraphExec x, CUgraphNode n, unsigned int on), x, n, on)
SAME(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled,
     (CUgraphExec x, CUgraphNode n, unsigned int *on), x, n, on)
SAME(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
     (CUgraphExec *x, CUgraph g, unsigned long long f), x, g, f)
SAME(cudaGraphExecGetFlags, cuGraphExecGetFlags, (CUgraphExec x, cuuint64_t *f), x, f)
SAME(cudaGraphExecUpdate, cuGraphExecUpdate_v2,
     (CUgraphExec x, CUgraph g, CUgraphExecUpdateResultInfo *info), x, g, info)
SAME(cudaGraphUpload, cuGraphUpload, (CUgraphExec x, CUstream s), x, s)
SAME(cudaGraphUpload_ptsz, cuGraphUpload, (CUgraphExec x, CUstream s), x, OWN(s))
SAME(cudaGraphAddEmptyNode, cuGraphAddEmptyNode,
     (CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n), out, g, deps, n)
SAME(cudaGraphAddChildGraphNode, cuGraphAddChildGraphNode,
     (CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, CUgraph child), out, g,
     deps, n,
     child)
SAME(cudaGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, (CUgraphNode n,
     CUgraph *g), n,
     g)
SAME(cudaGraphAddEventRecordNode, cuGraphAddEventRecordNode,
     (CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, CUevent e), out, g, deps,
     n, e)
SAME(cudaGraphAddEventWaitNode, cuGraphAddEventWaitNode,
     (CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, CUevent e), out, g, deps,
     n, e)
SAME(cudaGraphAddHostNode, cuGraphAddHostNode,
     (CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
      const CUDA_HOST_NODE_PARAMS *p), out, g, deps, n, p)
SAME(cudaGraphHostNodeGetParams, cuGraphHostNodeGetParams, (CUgraphNode n,
     CUDA_HOST_NODE_PARAMS *p),
     n, p)
SAME(cudaGraphHostNodeSetParams, cuGraphHostNodeSetParams,
     (CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p), n, p)

struct node {
	const void *host;
	struct dim3 grid, block;
	unsigned int shared;
	void **args, **extra;
};

static CUresult node_of(const struct node *n, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	CUkernel k;
	CUresult r = rt_kernel(n->host, &k);

	if (r)
		return r;
	*p = (CUDA_KERNEL_NODE_PARAMS_v2){
		.gridDimX = n->grid.x, .gridDimY = n->grid.y, .gridDimZ = n->grid.z,
		.blockDimX = n->block.x, .blockDimY = n->block.y, .blockDimZ = n->block.z,
		.sharedMemBytes = n->shared, .kernelParams = n->args, .extra = n->extra };
	return CALL(cuKernelGetFunction, &p->func, k);
}
RT(cudaGraphAddKernelNode, CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
   const struct node *node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p;
	CUresult r = node_of(node, &p);

	return rt_keep(r ? r : CALL(cuGraphAddKernelNode_v2, out, g, deps, n, &p));
}
RT(cudaGraphKernelNodeSetParams, CUgraphNode n, const struct node *node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p;
	CUresult r = node_of(node, &p);

	return rt_keep(r ? r : CALL(cuGraphKernelNodeSetParams_v2, n, &p));
}
RT(cudaGraphExecKernelNodeSetParams, CUgraphExec x, CUgraphNode n, const struct node *node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 p;
	CUresult r = node_of(node, &p);

	return rt_keep(r ? r : CALL(cuGraphExecKernelNodeSetParams_v2, x, n, &p));
}

static CUcontext context(void)
{
	CUcontext c = NULL;

	CALL(cuCtxGetCurrent, &c);
	return c;
}

static CUDA_MEMCPY3D line(void *d, const void *s, size_t n)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = P(s),
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = P(d),
		.WidthInBytes = n, .Height = 1, .Depth = 1 };
}
RT(cudaGraphAddMemcpyNode1D, CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
   void *d,
   const void *s, size_t bytes, int kind)
{
	CUDA_MEMCPY3D c = line(d, s, bytes);

	(void)kind;
	return rt_keep(CALL(cuGraphAddMemcpyNode, out, g, deps, n, &c, context()));
}
RT(cudaGraphExecMemcpyNodeSetParams1D, CUgraphExec x, CUgraphNode n, void *d, const void *s,
   size_t bytes, int kind)
{
	CUDA_MEMCPY3D c = line(d, s, bytes);

	(void)kind;
	return rt_keep(CALL(cuGraphExecMemcpyNodeSetParams, x, n, &c, context()));
}
SAME(cudaGraphAddMemsetNode, cuGraphAddMemsetNode,
     (CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
      const CUDA_MEMSET_NODE_PARAMS *p), out, g, deps, n, p, context())
SAME(cudaGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams,
     (CUgraphNode n, CUDA_MEMSET_NODE_PARAMS *p), n, p)
SAME(cudaGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams,
     (CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p), n, p)
SAME(cudaUserObjectCreate, cuUserObjectCreate,
     (CUuserObject *out, void *p, CUhostFn fn, unsigned int n, unsigned int f), out, p, fn, n, f)
SAME(cudaUserObjectRetain, cuUserObjectRetain, (CUuserObject o, unsigned int n), o, n)
SAME(cudaUserObjectRelease, cuUserObjectRelease, (CUuserObject o, unsigned int n), o, n)
SAME(cudaGraphRetainUserObject, cuGraphRetainUserObject,
     (CUgraph g, CUuserObject o, unsigned int n, unsigned int f), g, o, n, f)
SAME(cudaGraphReleaseUserObject, cuGraphReleaseUserObject,
     (CUgraph g, CUuserObject o, unsigned int n), g, o, n)
