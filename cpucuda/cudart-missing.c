// SPDX-License-Identifier: MIT
/*
 * The runtime double: the other names of NVIDIA's runtime (13.0), so that a program
 * linked against that is loaded. Each says that it isn't supported.
 */
#include "cudart.h"

#define MISSING(X) \
	X(__cudaGetProcAddress) X(__cudaRegisterHostVar) X(__cudaRegisterUnifiedTable) \
	X(cudaArrayGetMemoryRequirements) X(cudaArrayGetPlane) X(cudaArrayGetSparseProperties) \
	X(cudaDestroyExternalMemory) X(cudaDestroyExternalSemaphore) \
	X(cudaDeviceDisablePeerAccess) X(cudaDeviceEnablePeerAccess) \
	X(cudaDeviceFlushGPUDirectRDMAWrites) X(cudaDeviceGetGraphMemAttribute) \
	X(cudaDeviceGetHostAtomicCapabilities) X(cudaDeviceGetNvSciSyncAttributes) \
	X(cudaDeviceGetP2PAtomicCapabilities) X(cudaDeviceGetTexture1DLinearMaxWidth) \
	X(cudaDeviceGraphMemTrim) X(cudaDeviceRegisterAsyncNotification) \
	X(cudaDeviceSetGraphMemAttribute) X(cudaDeviceUnregisterAsyncNotification) \
	X(cudaEGLStreamConsumerAcquireFrame) X(cudaEGLStreamConsumerConnect) \
	X(cudaEGLStreamConsumerConnectWithFlags) X(cudaEGLStreamConsumerDisconnect) \
	X(cudaEGLStreamConsumerReleaseFrame) X(cudaEGLStreamProducerConnect) \
	X(cudaEGLStreamProducerDisconnect) X(cudaEGLStreamProducerPresentFrame) \
	X(cudaEGLStreamProducerReturnFrame) X(cudaEventCreateFromEGLSync) \
	X(cudaExternalMemoryGetMappedBuffer) X(cudaExternalMemoryGetMappedMipmappedArray) \
	X(cudaFreeMipmappedArray) X(cudaGLGetDevices) X(cudaGLMapBufferObject) \
	X(cudaGLMapBufferObjectAsync) X(cudaGLRegisterBufferObject) \
	X(cudaGLSetBufferObjectMapFlags) X(cudaGLSetGLDevice) X(cudaGLUnmapBufferObject) \
	X(cudaGLUnmapBufferObjectAsync) X(cudaGLUnregisterBufferObject) X(cudaGetExportTable) \
	X(cudaGetMipmappedArrayLevel) X(cudaGetSurfaceObjectResourceDesc) \
	X(cudaGetTextureObjectResourceDesc) X(cudaGetTextureObjectResourceViewDesc) \
	X(cudaGetTextureObjectTextureDesc) X(cudaGraphAddExternalSemaphoresSignalNode) \
	X(cudaGraphAddExternalSemaphoresWaitNode) X(cudaGraphAddMemAllocNode) \
	X(cudaGraphAddMemFreeNode) X(cudaGraphAddMemcpyNode) \
	X(cudaGraphAddMemcpyNodeFromSymbol) X(cudaGraphAddMemcpyNodeToSymbol) \
	X(cudaGraphAddNode) X(cudaGraphConditionalHandleCreate) X(cudaGraphDebugDotPrint) \
	X(cudaGraphEventRecordNodeGetEvent) X(cudaGraphEventRecordNodeSetEvent) \
	X(cudaGraphEventWaitNodeGetEvent) X(cudaGraphEventWaitNodeSetEvent) \
	X(cudaGraphExecChildGraphNodeSetParams) X(cudaGraphExecEventRecordNodeSetEvent) \
	X(cudaGraphExecEventWaitNodeSetEvent) \
	X(cudaGraphExecExternalSemaphoresSignalNodeSetParams) \
	X(cudaGraphExecExternalSemaphoresWaitNodeSetParams) X(cudaGraphExecHostNodeSetParams) \
	X(cudaGraphExecMemcpyNodeSetParams) X(cudaGraphExecMemcpyNodeSetParamsFromSymbol) \
	X(cudaGraphExecMemcpyNodeSetParamsToSymbol) X(cudaGraphExecMemsetNodeSetParams) \
	X(cudaGraphExecNodeSetParams) X(cudaGraphExternalSemaphoresSignalNodeGetParams) \
	X(cudaGraphExternalSemaphoresSignalNodeSetParams) \
	X(cudaGraphExternalSemaphoresWaitNodeGetParams) \
	X(cudaGraphExternalSemaphoresWaitNodeSetParams) X(cudaGraphInstantiateWithParams) \
	X(cudaGraphInstantiateWithParams_ptsz) X(cudaGraphKernelNodeCopyAttributes) \
	X(cudaGraphKernelNodeGetAttribute) X(cudaGraphKernelNodeGetParams) \
	X(cudaGraphKernelNodeSetAttribute) X(cudaGraphMemAllocNodeGetParams) \
	X(cudaGraphMemFreeNodeGetParams) X(cudaGraphMemcpyNodeGetParams) \
	X(cudaGraphMemcpyNodeSetParams) X(cudaGraphMemcpyNodeSetParams1D) \
	X(cudaGraphMemcpyNodeSetParamsFromSymbol) X(cudaGraphMemcpyNodeSetParamsToSymbol) \
	X(cudaGraphNodeSetParams) X(cudaGraphicsEGLRegisterImage) \
	X(cudaGraphicsGLRegisterBuffer) X(cudaGraphicsGLRegisterImage) \
	X(cudaGraphicsMapResources) X(cudaGraphicsResourceGetMappedEglFrame) \
	X(cudaGraphicsResourceGetMappedMipmappedArray) X(cudaGraphicsResourceGetMappedPointer) \
	X(cudaGraphicsResourceSetMapFlags) X(cudaGraphicsSubResourceGetMappedArray) \
	X(cudaGraphicsUnmapResources) X(cudaGraphicsUnregisterResource) \
	X(cudaGraphicsVDPAURegisterOutputSurface) X(cudaGraphicsVDPAURegisterVideoSurface) \
	X(cudaImportExternalMemory) X(cudaImportExternalSemaphore) X(cudaIpcCloseMemHandle) \
	X(cudaIpcGetEventHandle) X(cudaIpcGetMemHandle) X(cudaIpcOpenEventHandle) \
	X(cudaIpcOpenMemHandle) X(cudaLaunchKernelExC_ptsz) X(cudaLibraryGetUnifiedFunction) \
	X(cudaLogsCurrent) X(cudaLogsDumpToFile) X(cudaLogsDumpToMemory) \
	X(cudaLogsRegisterCallback) X(cudaLogsUnregisterCallback) X(cudaMallocMipmappedArray) \
	X(cudaMemDiscardAndPrefetchBatchAsync) X(cudaMemDiscardAndPrefetchBatchAsync_ptsz) \
	X(cudaMemDiscardBatchAsync) X(cudaMemDiscardBatchAsync_ptsz) \
	X(cudaMemGetDefaultMemPool) X(cudaMemGetMemPool) X(cudaMemPoolExportPointer) \
	X(cudaMemPoolExportToShareableHandle) X(cudaMemPoolImportFromShareableHandle) \
	X(cudaMemPoolImportPointer) X(cudaMemPrefetchBatchAsync) \
	X(cudaMemPrefetchBatchAsync_ptsz) X(cudaMemSetMemPool) X(cudaMemcpy2DArrayToArray_ptds) \
	X(cudaMemcpy3DBatchAsync) X(cudaMemcpy3DBatchAsync_ptsz) X(cudaMemcpy3DPeer) \
	X(cudaMemcpy3DPeerAsync) X(cudaMemcpy3DPeerAsync_ptsz) X(cudaMemcpy3DPeer_ptds) \
	X(cudaMemcpyArrayToArray) X(cudaMemcpyArrayToArray_ptds) X(cudaMemcpyBatchAsync) \
	X(cudaMemcpyBatchAsync_ptsz) X(cudaMemcpyFromArrayAsync) \
	X(cudaMemcpyFromArrayAsync_ptsz) X(cudaMemcpyToArrayAsync) \
	X(cudaMemcpyToArrayAsync_ptsz) \
	X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties) \
	X(cudaOccupancyMaxActiveClusters) X(cudaOccupancyMaxPotentialClusterSize) \
	X(cudaSignalExternalSemaphoresAsync) X(cudaSignalExternalSemaphoresAsync_ptsz) \
	X(cudaStreamBeginCaptureToGraph) X(cudaStreamBeginCaptureToGraph_ptsz) \
	X(cudaStreamCopyAttributes) X(cudaStreamCopyAttributes_ptsz) X(cudaStreamGetAttribute) \
	X(cudaStreamGetAttribute_ptsz) X(cudaStreamGetCaptureInfo) \
	X(cudaStreamGetCaptureInfo_ptsz) X(cudaStreamSetAttribute) \
	X(cudaStreamSetAttribute_ptsz) X(cudaStreamUpdateCaptureDependencies) \
	X(cudaStreamUpdateCaptureDependencies_ptsz) X(cudaVDPAUGetDevice) \
	X(cudaVDPAUSetVDPAUDevice) X(cudaWaitExternalSemaphoresAsync) \
	X(cudaWaitExternalSemaphoresAsync_ptsz)

#define X(name) API CUresult name(void); API CUresult name(void) { return rt_keep(NOT_SUPPORTED); }
MISSING(X)
