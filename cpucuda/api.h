/* SPDX-License-Identifier: MIT */
/*
 * Prototypes of what the driver on the CPU exports, for its own sources and for
 * tests that call it. tests/cpucuda/toolkit.sh holds the sources against cuda.h.
 */
#ifndef CPUCUDA_API_H
#define CPUCUDA_API_H

#include "cu.h"

#ifndef CPUCUDA_TOOLKIT
CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d);
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *d, CUarray a);
CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d);
CUresult cuArrayDestroy(CUarray a);
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, CUarray a);
CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice d);
CUresult cuCtxCreate_v4(CUcontext *out, void *p, unsigned int flags, CUdevice d);
CUresult cuCtxDestroy_v2(CUcontext c);
CUresult cuCtxDisablePeerAccess(CUcontext other);
CUresult cuCtxEnablePeerAccess(CUcontext other, unsigned int flags);
CUresult cuCtxGetApiVersion(CUcontext c, unsigned int *v);
CUresult cuCtxGetCacheConfig(CUfunc_cache *x);
CUresult cuCtxGetCurrent(CUcontext *c);
CUresult cuCtxGetDevice(CUdevice *d);
CUresult cuCtxGetDevice_v2(CUdevice *d, CUcontext c);
CUresult cuCtxGetFlags(unsigned int *flags);
CUresult cuCtxGetId(CUcontext c, unsigned long long *id);
CUresult cuCtxGetLimit(size_t *v, CUlimit l);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxPopCurrent_v2(CUcontext *c);
CUresult cuCtxPushCurrent_v2(CUcontext c);
CUresult cuCtxResetPersistingL2Cache(void);
CUresult cuCtxSetCacheConfig(CUfunc_cache x);
CUresult cuCtxSetCurrent(CUcontext c);
CUresult cuCtxSetFlags(unsigned int flags);
CUresult cuCtxSetLimit(CUlimit l, size_t v);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext c);
CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b);
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice d);
CUresult cuDeviceGet(CUdevice *d, int ordinal);
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d);
CUresult cuDeviceGetByPCIBusId(CUdevice *d, const char *id);
CUresult cuDeviceGetCount(int *n);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice d);
CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice d);
CUresult cuDeviceGetName(char *name, int len, CUdevice d);
CUresult cuDeviceGetP2PAttribute(int *v, CUdevice_P2PAttribute which, CUdevice a, CUdevice b);
CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice d);
CUresult cuDeviceGetUuid(CUuuid *u, CUdevice d);
CUresult cuDeviceGetUuid_v2(CUuuid *u, CUdevice d);
CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned int *flags, int *active);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice d);
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned int flags);
CUresult cuDeviceSetMemPool(CUdevice d, CUmemoryPool p);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d);
CUresult cuDriverGetVersion(int *v);
CUresult cuEventCreate(CUevent *out, unsigned int flags);
CUresult cuEventDestroy_v2(CUevent e);
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b);
CUresult cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b);
CUresult cuEventQuery(CUevent e);
CUresult cuEventRecord(CUevent e, CUstream h);
CUresult cuEventRecordWithFlags(CUevent e, CUstream h, unsigned int flags);
CUresult cuEventRecordWithFlags_ptsz(CUevent e, CUstream h, unsigned int flags);
CUresult cuEventRecord_ptsz(CUevent e, CUstream h);
CUresult cuEventSynchronize(CUevent e);
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction h);
CUresult cuFuncGetModule(CUmodule *m, CUfunction h);
CUresult cuFuncGetName(const char **name, CUfunction h);
CUresult cuFuncGetParamInfo(CUfunction h, size_t i, size_t *offset, size_t *size);
CUresult cuFuncIsLoaded(CUfunctionLoadingState *s, CUfunction h);
CUresult cuFuncLoad(CUfunction h);
CUresult cuFuncSetAttribute(CUfunction h, CUfunction_attribute a, int v);
CUresult cuFuncSetCacheConfig(CUfunction h, CUfunc_cache x);
CUresult cuGetErrorName(CUresult r, const char **s);
CUresult cuGetErrorString(CUresult r, const char **s);
CUresult cuGetExportTable(const void **table, const CUuuid *id);
CUresult cuGetProcAddress(const char *name, void **fn, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *name, void **fn, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *status);
CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	CUgraph child);
CUresult cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t
	n);
CUresult cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *data, size_t n);
CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n);
CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t
	n, CUevent e);
CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	CUevent e);
CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n, const
	CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	const CUDA_KERNEL_NODE_PARAMS_v2 *p);
CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	CUDA_MEM_ALLOC_NODE_PARAMS *p);
CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	CUdeviceptr p);
CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	const CUDA_MEMCPY3D *p, CUcontext c);
CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c);
CUresult cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t n,
	CUgraphNodeParams *p);
CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, const
	CUgraphEdgeData *data, size_t n, CUgraphNodeParams *p);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode n, CUgraph *out);
CUresult cuGraphClone(CUgraph *out, CUgraph g);
CUresult cuGraphCreate(CUgraph *out, unsigned int flags);
CUresult cuGraphDestroy(CUgraph g);
CUresult cuGraphDestroyNode(CUgraphNode n);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode n, CUevent *out);
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode n, CUevent e);
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode n, CUevent *out);
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode n, CUevent e);
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec x, CUgraphNode n, CUgraph child);
CUresult cuGraphExecDestroy(CUgraphExec x);
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec x, CUgraphNode n, CUevent e);
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec x, CUgraphNode n, CUevent e);
CUresult cuGraphExecGetFlags(CUgraphExec x, cuuint64_t *flags);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_HOST_NODE_PARAMS
	*p);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec x, CUgraphNode n, const
	CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec x, CUgraphNode n, const
	CUDA_KERNEL_NODE_PARAMS_v2 *p);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec x, CUgraphNode n, const CUDA_MEMCPY3D *p,
	CUcontext c);
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec x, CUgraphNode n, const
	CUDA_MEMSET_NODE_PARAMS *p, CUcontext c);
CUresult cuGraphExecNodeSetParams(CUgraphExec x, CUgraphNode n, CUgraphNodeParams *p);
CUresult cuGraphExecUpdate(CUgraphExec x, CUgraph g, CUgraphNode *bad, CUgraphExecUpdateResult
	*why);
CUresult cuGraphExecUpdate_v2(CUgraphExec x, CUgraph g, CUgraphExecUpdateResultInfo *info);
CUresult cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n);
CUresult cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
	size_t *n);
CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *out, size_t *n);
CUresult cuGraphGetRootNodes(CUgraph g, CUgraphNode *out, size_t *n);
CUresult cuGraphHostNodeGetParams(CUgraphNode n, CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphHostNodeSetParams(CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph g, CUgraphNode *bad, char *log, size_t
	size);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags);
CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS
	*p);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *out, CUgraph g,
	CUDA_GRAPH_INSTANTIATE_PARAMS *p);
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode *bad, char *log, size_t
	size);
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from);
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode n, CUlaunchAttributeID id,
	CUlaunchAttributeValue *v);
CUresult cuGraphKernelNodeGetParams(CUgraphNode n, CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode n, CUDA_KERNEL_NODE_PARAMS_v2 *p);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode n, CUlaunchAttributeID id, const
	CUlaunchAttributeValue *v);
CUresult cuGraphKernelNodeSetParams(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v2 *p);
CUresult cuGraphLaunch(CUgraphExec x, CUstream h);
CUresult cuGraphLaunch_ptsz(CUgraphExec x, CUstream h);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode n, CUDA_MEM_ALLOC_NODE_PARAMS *p);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode n, CUdeviceptr *p);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode n, CUDA_MEMCPY3D *p);
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode n, const CUDA_MEMCPY3D *p);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode n, CUDA_MEMSET_NODE_PARAMS *p);
CUresult cuGraphMemsetNodeSetParams(CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p);
CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode n, CUgraph clone);
CUresult cuGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *out, size_t *count);
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode n, CUgraphNode *out, CUgraphEdgeData *data,
	size_t *count);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *out, size_t *count);
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode n, CUgraphNode *out, CUgraphEdgeData *data,
	size_t *count);
CUresult cuGraphNodeGetEnabled(CUgraphExec x, CUgraphNode n, unsigned int *on);
CUresult cuGraphNodeGetType(CUgraphNode n, CUgraphNodeType *t);
CUresult cuGraphNodeSetEnabled(CUgraphExec x, CUgraphNode n, unsigned int on);
CUresult cuGraphNodeSetParams(CUgraphNode n, CUgraphNodeParams *p);
CUresult cuGraphReleaseUserObject(CUgraph g, CUuserObject o, unsigned int count);
CUresult cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
	size_t n);
CUresult cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *data, size_t n);
CUresult cuGraphRetainUserObject(CUgraph g, CUuserObject o, unsigned int count, unsigned int
	flags);
CUresult cuGraphUpload(CUgraphExec x, CUstream h);
CUresult cuGraphUpload_ptsz(CUgraphExec x, CUstream h);
CUresult cuInit(unsigned int flags);
CUresult cuKernelGetAttribute(int *v, CUfunction_attribute a, CUkernel k, CUdevice d);
CUresult cuKernelGetFunction(CUfunction *out, CUkernel k);
CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel k);
CUresult cuKernelGetName(const char **name, CUkernel k);
CUresult cuKernelGetParamInfo(CUkernel k, size_t i, size_t *offset, size_t *size);
CUresult cuKernelSetAttribute(CUfunction_attribute a, int v, CUkernel k, CUdevice d);
CUresult cuKernelSetCacheConfig(CUkernel k, CUfunc_cache x, CUdevice d);
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int
	gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream s,
	void **params);
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned
	int gz, unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream
	s, void **params);
CUresult cuLaunchHostFunc(CUstream h, CUhostFn fn, void *arg);
CUresult cuLaunchHostFunc_ptsz(CUstream h, CUhostFn fn, void *arg);
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned
	int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void **params,
	void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *l, CUfunction f, void **params, void **extra);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *l, CUfunction f, void **params, void
	**extra);
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream s, void
	**params, void **extra);
CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned int n, CUlibrary l);
CUresult cuLibraryGetGlobal(CUdeviceptr *p, size_t *size, CUlibrary l, const char *name);
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name);
CUresult cuLibraryGetKernelCount(unsigned int *n, CUlibrary l);
CUresult cuLibraryGetManaged(CUdeviceptr *p, size_t *size, CUlibrary l, const char *name);
CUresult cuLibraryGetModule(CUmodule *m, CUlibrary l);
CUresult cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *jo, void **jv,
	unsigned int jn, CUlibraryOption *lo, void **lv, unsigned int ln);
CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jo, void **jv,
	unsigned int jn, CUlibraryOption *lo, void **lv, unsigned int ln);
CUresult cuLibraryUnload(CUlibrary l);
CUresult cuLinkAddData_v2(CUlinkState l, CUjitInputType type, void *data, size_t size, const char
	*name, unsigned int n, CUjit_option *opt, void **val);
CUresult cuLinkAddFile_v2(CUlinkState l, CUjitInputType type, const char *path, unsigned int n,
	CUjit_option *opt, void **val);
CUresult cuLinkComplete(CUlinkState l, void **out, size_t *size);
CUresult cuLinkCreate_v2(unsigned int n, CUjit_option *opt, void **val, CUlinkState *out);
CUresult cuLinkDestroy(CUlinkState l);
CUresult cuMemAddressFree(CUdeviceptr addr, size_t size);
CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align, CUdeviceptr hint,
	unsigned long long flags);
CUresult cuMemAdvise(CUdeviceptr p, size_t n, CUmem_advise advice, CUdevice d);
CUresult cuMemAdvise_v2(CUdeviceptr p, size_t n, CUmem_advise advice, CUmemLocation l);
CUresult cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream h);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *p, size_t n, CUstream h);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream h);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream h);
CUresult cuMemAllocHost_v2(void **p, size_t size);
CUresult cuMemAllocManaged(CUdeviceptr *p, size_t size, unsigned int flags);
CUresult cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned
	int unit);
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size);
CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp
	*prop, unsigned long long flags);
CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle h,
	CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemFreeAsync(CUdeviceptr p, CUstream h);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr p, CUstream h);
CUresult cuMemFreeHost(void *p);
CUresult cuMemFree_v2(CUdeviceptr p);
CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *loc, CUdeviceptr addr);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr p);
CUresult cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *prop,
	CUmemAllocationGranularity_flags which);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
	CUmemGenericAllocationHandle h);
CUresult cuMemGetInfo_v2(size_t *free_, size_t *total);
CUresult cuMemHostAlloc(void **p, size_t size, unsigned int flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned int flags);
CUresult cuMemHostGetFlags(unsigned int *flags, void *p);
CUresult cuMemHostRegister_v2(void *p, size_t size, unsigned int flags);
CUresult cuMemHostUnregister(void *p);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
	CUmemAllocationHandleType type);
CUresult cuMemMap(CUdeviceptr addr, size_t size, size_t offset, CUmemGenericAllocationHandle h,
	unsigned long long flags);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool p);
CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool p, CUmemLocation *l);
CUresult cuMemPoolGetAttribute(CUmemoryPool p, CUmemPool_attribute which, void *v);
CUresult cuMemPoolSetAccess(CUmemoryPool p, const CUmemAccessDesc *desc, size_t n);
CUresult cuMemPoolSetAttribute(CUmemoryPool p, CUmemPool_attribute which, void *v);
CUresult cuMemPoolTrimTo(CUmemoryPool p, size_t keep);
CUresult cuMemPrefetchAsync(CUdeviceptr p, size_t n, CUdevice d, CUstream h);
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr p, size_t n, CUdevice d, CUstream h);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr p, size_t n, CUmemLocation l, unsigned int flags,
	CUstream h);
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr p, size_t n, CUmemLocation l, unsigned int flags,
	CUstream h);
CUresult cuMemRangeGetAttribute(void *out, size_t size, CUmem_range_attribute which, CUdeviceptr
	p, size_t n);
CUresult cuMemRangeGetAttributes(void **out, size_t *sizes, CUmem_range_attribute *which, size_t
	n, CUdeviceptr p, size_t count);
CUresult cuMemRelease(CUmemGenericAllocationHandle h);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr);
CUresult cuMemSetAccess(CUdeviceptr addr, size_t size, const CUmemAccessDesc *desc, size_t n);
CUresult cuMemUnmap(CUdeviceptr addr, size_t size);
CUresult cuMemcpy(CUdeviceptr d, CUdeviceptr h, size_t n);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream s);
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *c, CUstream s);
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c);
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *c);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c);
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *c);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream s);
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *c, CUstream s);
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *c);
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream s);
CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *c, CUstream s);
CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *c);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *c);
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *c);
CUresult cuMemcpyAsync(CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s);
CUresult cuMemcpyAsync_ptsz(CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s);
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_off, CUarray from, size_t from_off, size_t n);
CUresult cuMemcpyAtoA_v2_ptds(CUarray to, size_t to_off, CUarray from, size_t from_off, size_t
	n);
CUresult cuMemcpyAtoD_v2(CUdeviceptr d, CUarray a, size_t off, size_t n);
CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr d, CUarray a, size_t off, size_t n);
CUresult cuMemcpyAtoHAsync_v2(void *h, CUarray a, size_t off, size_t n, CUstream s);
CUresult cuMemcpyAtoHAsync_v2_ptsz(void *h, CUarray a, size_t off, size_t n, CUstream s);
CUresult cuMemcpyAtoH_v2(void *h, CUarray a, size_t off, size_t n);
CUresult cuMemcpyAtoH_v2_ptds(void *h, CUarray a, size_t off, size_t n);
CUresult cuMemcpyDtoA_v2(CUarray a, size_t off, CUdeviceptr d, size_t n);
CUresult cuMemcpyDtoA_v2_ptds(CUarray a, size_t off, CUdeviceptr d, size_t n);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s);
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s);
CUresult cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr h, size_t n);
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr d, CUdeviceptr h, size_t n);
CUresult cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, CUstream s);
CUresult cuMemcpyDtoHAsync_v2_ptsz(void *h, CUdeviceptr d, size_t n, CUstream s);
CUresult cuMemcpyDtoH_v2(void *h, CUdeviceptr d, size_t n);
CUresult cuMemcpyDtoH_v2_ptds(void *h, CUdeviceptr d, size_t n);
CUresult cuMemcpyHtoAAsync_v2(CUarray a, size_t off, const void *h, size_t n, CUstream s);
CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray a, size_t off, const void *h, size_t n, CUstream s);
CUresult cuMemcpyHtoA_v2(CUarray a, size_t off, const void *h, size_t n);
CUresult cuMemcpyHtoA_v2_ptds(CUarray a, size_t off, const void *h, size_t n);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, CUstream s);
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr d, const void *h, size_t n, CUstream s);
CUresult cuMemcpyHtoD_v2(CUdeviceptr d, const void *h, size_t n);
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr d, const void *h, size_t n);
CUresult cuMemcpyPeer(CUdeviceptr d, CUcontext dc, CUdeviceptr h, CUcontext hc, size_t n);
CUresult cuMemcpyPeerAsync(CUdeviceptr d, CUcontext dc, CUdeviceptr h, CUcontext hc, size_t n,
	CUstream s);
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr d, CUcontext dc, CUdeviceptr h, CUcontext hc, size_t
	n, CUstream s);
CUresult cuMemcpyPeer_ptds(CUdeviceptr d, CUcontext dc, CUdeviceptr h, CUcontext hc, size_t n);
CUresult cuMemcpy_ptds(CUdeviceptr d, CUdeviceptr h, size_t n);
CUresult cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream s);
CUresult cuMemsetD16Async_ptsz(CUdeviceptr d, unsigned short v, size_t n, CUstream s);
CUresult cuMemsetD16_v2(CUdeviceptr d, unsigned short v, size_t n);
CUresult cuMemsetD16_v2_ptds(CUdeviceptr d, unsigned short v, size_t n);
CUresult cuMemsetD2D16Async(CUdeviceptr d, size_t pitch, unsigned short v, size_t n, size_t rows,
	CUstream s);
CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr d, size_t pitch, unsigned short v, size_t n, size_t
	rows, CUstream s);
CUresult cuMemsetD2D16_v2(CUdeviceptr d, size_t pitch, unsigned short v, size_t n, size_t rows);
CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr d, size_t pitch, unsigned short v, size_t n, size_t
	rows);
CUresult cuMemsetD2D32Async(CUdeviceptr d, size_t pitch, unsigned int v, size_t n, size_t rows,
	CUstream s);
CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr d, size_t pitch, unsigned int v, size_t n, size_t
	rows, CUstream s);
CUresult cuMemsetD2D32_v2(CUdeviceptr d, size_t pitch, unsigned int v, size_t n, size_t rows);
CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr d, size_t pitch, unsigned int v, size_t n, size_t
	rows);
CUresult cuMemsetD2D8Async(CUdeviceptr d, size_t pitch, unsigned char v, size_t n, size_t rows,
	CUstream s);
CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr d, size_t pitch, unsigned char v, size_t n, size_t
	rows, CUstream s);
CUresult cuMemsetD2D8_v2(CUdeviceptr d, size_t pitch, unsigned char v, size_t n, size_t rows);
CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr d, size_t pitch, unsigned char v, size_t n, size_t
	rows);
CUresult cuMemsetD32Async(CUdeviceptr d, unsigned int v, size_t n, CUstream s);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr d, unsigned int v, size_t n, CUstream s);
CUresult cuMemsetD32_v2(CUdeviceptr d, unsigned int v, size_t n);
CUresult cuMemsetD32_v2_ptds(CUdeviceptr d, unsigned int v, size_t n);
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s);
CUresult cuMemsetD8Async_ptsz(CUdeviceptr d, unsigned char v, size_t n, CUstream s);
CUresult cuMemsetD8_v2(CUdeviceptr d, unsigned char v, size_t n);
CUresult cuMemsetD8_v2_ptds(CUdeviceptr d, unsigned char v, size_t n);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned
	int levels);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray m);
CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray m, unsigned int level);
CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned int n, CUmodule m);
CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name);
CUresult cuModuleGetFunctionCount(unsigned int *n, CUmodule m);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *size, CUmodule m, const char *name);
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *m);
CUresult cuModuleGetSurfRef(CUsurfref *out, CUmodule m, const char *name);
CUresult cuModuleGetTexRef(CUtexref *out, CUmodule m, const char *name);
CUresult cuModuleLoad(CUmodule *out, const char *path);
CUresult cuModuleLoadData(CUmodule *out, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n, CUjit_option *opt,
	void **val);
CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image);
CUresult cuModuleUnload(CUmodule m);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *size, CUfunction h, int blocks, int
	threads);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction h, int threads, size_t
	dynamic);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, CUfunction h, int threads,
	size_t dynamic, unsigned int flags);
CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction h, const CUlaunchConfig *l);
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction h, CUoccupancyB2DSize
	by_size, size_t dynamic, int limit);
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction h,
	CUoccupancyB2DSize by_size, size_t dynamic, int limit, unsigned int flags);
CUresult cuOccupancyMaxPotentialClusterSize(int *n, CUfunction h, const CUlaunchConfig *l);
CUresult cuPointerGetAttribute(void *out, CUpointer_attribute which, CUdeviceptr p);
CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *which, void **out,
	CUdeviceptr p);
CUresult cuPointerSetAttribute(const void *v, CUpointer_attribute which, CUdeviceptr p);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuStreamAddCallback(CUstream h, CUstreamCallback fn, void *arg, unsigned int flags);
CUresult cuStreamAddCallback_ptsz(CUstream h, CUstreamCallback fn, void *arg, unsigned int
	flags);
CUresult cuStreamAttachMemAsync(CUstream h, CUdeviceptr p, size_t n, unsigned int flags);
CUresult cuStreamAttachMemAsync_ptsz(CUstream h, CUdeviceptr p, size_t n, unsigned int flags);
CUresult cuStreamBatchMemOp(CUstream h, unsigned int n, CUstreamBatchMemOpParams *p, unsigned int
	flags);
CUresult cuStreamBatchMemOp_ptsz(CUstream h, unsigned int n, CUstreamBatchMemOpParams *p,
	unsigned int flags);
CUresult cuStreamBatchMemOp_v2(CUstream h, unsigned int n, CUstreamBatchMemOpParams *p, unsigned
	int flags);
CUresult cuStreamBatchMemOp_v2_ptsz(CUstream h, unsigned int n, CUstreamBatchMemOpParams *p,
	unsigned int flags);
CUresult cuStreamBeginCapture(CUstream h);
CUresult cuStreamBeginCaptureToGraph(CUstream h, CUgraph g, const CUgraphNode *deps, const
	CUgraphEdgeData *data, size_t n, CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream h, CUgraph g, const CUgraphNode *deps, const
	CUgraphEdgeData *data, size_t n, CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_ptsz(CUstream h);
CUresult cuStreamBeginCapture_v2(CUstream h, CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream h, CUstreamCaptureMode mode);
CUresult cuStreamCopyAttributes(CUstream to, CUstream from);
CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from);
CUresult cuStreamCreate(CUstream *out, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority);
CUresult cuStreamDestroy_v2(CUstream s);
CUresult cuStreamEndCapture(CUstream h, CUgraph *out);
CUresult cuStreamEndCapture_ptsz(CUstream h, CUgraph *out);
CUresult cuStreamGetAttribute(CUstream h, CUlaunchAttributeID id, CUlaunchAttributeValue *v);
CUresult cuStreamGetAttribute_ptsz(CUstream h, CUlaunchAttributeID id, CUlaunchAttributeValue
	*v);
CUresult cuStreamGetCaptureInfo(CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id);
CUresult cuStreamGetCaptureInfo_ptsz(CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id);
CUresult cuStreamGetCaptureInfo_v2(CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph
	*g, const CUgraphNode **deps, size_t *n);
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id,
	CUgraph *g, const CUgraphNode **deps, size_t *n);
CUresult cuStreamGetCaptureInfo_v3(CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph
	*g, const CUgraphNode **deps, const CUgraphEdgeData **data, size_t *n);
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream h, CUstreamCaptureStatus *st, cuuint64_t *id,
	CUgraph *g, const CUgraphNode **deps, const CUgraphEdgeData **data, size_t *n);
CUresult cuStreamGetCtx(CUstream h, CUcontext *out);
CUresult cuStreamGetCtx_ptsz(CUstream h, CUcontext *out);
CUresult cuStreamGetCtx_v2(CUstream h, CUcontext *c, CUgreenCtx *green);
CUresult cuStreamGetCtx_v2_ptsz(CUstream h, CUcontext *c, CUgreenCtx *green);
CUresult cuStreamGetDevice(CUstream h, CUdevice *out);
CUresult cuStreamGetDevice_ptsz(CUstream h, CUdevice *out);
CUresult cuStreamGetFlags(CUstream h, unsigned int *out);
CUresult cuStreamGetFlags_ptsz(CUstream h, unsigned int *out);
CUresult cuStreamGetId(CUstream h, unsigned long long *out);
CUresult cuStreamGetId_ptsz(CUstream h, unsigned long long *out);
CUresult cuStreamGetPriority(CUstream h, int *out);
CUresult cuStreamGetPriority_ptsz(CUstream h, int *out);
CUresult cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus *st);
CUresult cuStreamIsCapturing_ptsz(CUstream h, CUstreamCaptureStatus *st);
CUresult cuStreamQuery(CUstream h);
CUresult cuStreamQuery_ptsz(CUstream h);
CUresult cuStreamSetAttribute(CUstream h, CUlaunchAttributeID id, const CUlaunchAttributeValue
	*v);
CUresult cuStreamSetAttribute_ptsz(CUstream h, CUlaunchAttributeID id, const
	CUlaunchAttributeValue *v);
CUresult cuStreamSynchronize(CUstream h);
CUresult cuStreamSynchronize_ptsz(CUstream h);
CUresult cuStreamUpdateCaptureDependencies(CUstream h, CUgraphNode *deps, size_t n, unsigned int
	flags);
CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream h, CUgraphNode *deps, size_t n, unsigned
	int flags);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream h, CUgraphNode *deps, const
	CUgraphEdgeData *data, size_t n, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream h, CUgraphNode *deps, const
	CUgraphEdgeData *data, size_t n, unsigned int flags);
CUresult cuStreamWaitEvent(CUstream h, CUevent e, unsigned int flags);
CUresult cuStreamWaitEvent_ptsz(CUstream h, CUevent e, unsigned int flags);
CUresult cuStreamWaitValue32(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int flags);
CUresult cuStreamWaitValue32_ptsz(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int
	flags);
CUresult cuStreamWaitValue32_v2(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int flags);
CUresult cuStreamWaitValue32_v2_ptsz(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int
	flags);
CUresult cuStreamWaitValue64(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int flags);
CUresult cuStreamWaitValue64_ptsz(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int
	flags);
CUresult cuStreamWaitValue64_v2(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int flags);
CUresult cuStreamWaitValue64_v2_ptsz(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int
	flags);
CUresult cuStreamWriteValue32(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int flags);
CUresult cuStreamWriteValue32_ptsz(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int
	flags);
CUresult cuStreamWriteValue32_v2(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int flags);
CUresult cuStreamWriteValue32_v2_ptsz(CUstream h, CUdeviceptr addr, cuuint32_t v, unsigned int
	flags);
CUresult cuStreamWriteValue64(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int flags);
CUresult cuStreamWriteValue64_ptsz(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int
	flags);
CUresult cuStreamWriteValue64_v2(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int flags);
CUresult cuStreamWriteValue64_v2_ptsz(CUstream h, CUdeviceptr addr, cuuint64_t v, unsigned int
	flags);
CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *res);
CUresult cuSurfObjectDestroy(CUsurfObject h);
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *d, CUsurfObject h);
CUresult cuSurfRefSetArray(CUsurfref r, CUarray a, unsigned int flags);
CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *res, const
	CUDA_TEXTURE_DESC *tex, const CUDA_RESOURCE_VIEW_DESC *view);
CUresult cuTexObjectDestroy(CUtexObject h);
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *d, CUtexObject h);
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *d, CUtexObject h);
CUresult cuTexRefSetAddress2D_v3(CUtexref r, const CUDA_ARRAY_DESCRIPTOR *d, CUdeviceptr p,
	size_t pitch);
CUresult cuTexRefSetAddressMode(CUtexref r, int dim, CUaddress_mode mode);
CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref r, CUdeviceptr p, size_t size);
CUresult cuTexRefSetArray(CUtexref r, CUarray a, unsigned int flags);
CUresult cuTexRefSetBorderColor(CUtexref r, float *color);
CUresult cuTexRefSetFilterMode(CUtexref r, CUfilter_mode mode);
CUresult cuTexRefSetFlags(CUtexref r, unsigned int flags);
CUresult cuTexRefSetFormat(CUtexref r, CUarray_format format, int channels);
CUresult cuTexRefSetMipmappedArray(CUtexref r, CUmipmappedArray m, unsigned int flags);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);
CUresult cuUserObjectCreate(CUuserObject *out, void *arg, CUhostFn destroy, unsigned int refs,
	unsigned int flags);
CUresult cuUserObjectRelease(CUuserObject o, unsigned int count);
CUresult cuUserObjectRetain(CUuserObject o, unsigned int count);
#endif

#endif
