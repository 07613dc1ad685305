/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA driver's binary interface that the wrapper speaks: numbers,
 * layouts and prototypes are facts of that interface, so that building needs no
 * toolkit. Handles are pointers to what only the driver knows. Where a toolkit is,
 * a test compiles this against its cuda.h.
 */
#ifndef GS_CUDA_CU_H
#define GS_CUDA_CU_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_FILE_NOT_FOUND = 301,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
} CUresult;

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUarray_st *CUarray;
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUlinkState_st *CUlinkState;
typedef unsigned long long CUmemGenericAllocationHandle;

#define CU_STREAM_LEGACY	((CUstream)0x1)
#define CU_STREAM_PER_THREAD	((CUstream)0x2)
#define CU_STREAM_NON_BLOCKING	0x1
#define CU_STREAM_CAPTURE_NONE	0
#define CU_STREAM_CAPTURE_RELAXED	2
#define CU_EVENT_DEFAULT	0x0
#define CU_EVENT_DISABLE_TIMING	0x2

#define CU_LAUNCH_PARAM_END		((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER	((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE	((void *)0x02)

#define CU_LAUNCH_ATTRIBUTE_IGNORE	0
#define CU_LAUNCH_ATTRIBUTE_COOPERATIVE		2
#define CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION	4
#define CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION	6
#define CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT	7
#define CU_LAUNCH_ATTRIBUTE_PRIORITY	8
#define CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT	12

#define CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES	1
#define CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES	3
#define CU_FUNC_ATTRIBUTE_NUM_REGS		4
#define CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH	11
#define CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH	13

#define CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT	16
#define CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR	75
#define CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR	76

#define CU_MEMHOSTALLOC_PORTABLE	0x1
#define CU_MEMHOSTALLOC_DEVICEMAP	0x2

#define CU_MEM_LOCATION_TYPE_DEVICE	1

#define CU_JIT_INPUT_PTX	1
#define CU_JIT_INPUT_FATBINARY	2

typedef struct {
	uint32_t id, pad;
	union {
		char bytes[64];
		int value;
	} value;
} CUlaunchAttribute;

typedef struct {
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	CUstream hStream;
	CUlaunchAttribute *attrs;
	unsigned int numAttrs;
} CUlaunchConfig;

/* One launch of cuLaunchCooperativeKernelMultiDevice. */
typedef struct {
	CUfunction function;
	unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
	CUstream hStream;
	void **kernelParams;
} CUDA_LAUNCH_PARAMS;

typedef struct {
	size_t Width, Height;
	int Format;
	unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR;

typedef struct {
	size_t Width, Height, Depth;
	int Format;
	unsigned int NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

typedef struct {
	unsigned int Width, Height;
	int Format;
	unsigned int NumChannels;
} CUDA_ARRAY_DESCRIPTOR_v1;

typedef struct {
	unsigned int Width, Height, Depth;
	int Format;
	unsigned int NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR_v1;

typedef struct {
	int type, requestedHandleTypes;
	struct {
		int type, id;
	} location;
	void *win32HandleMetaData;
	unsigned char allocFlags[8];
} CUmemAllocationProp;

#define X(name, ...) CUresult name(__VA_ARGS__)

X(cuInit, unsigned int flags);
X(cuDriverGetVersion, int *version);
X(cuDeviceGet, CUdevice *dev, int ordinal);
X(cuDeviceGetCount, int *count);
X(cuDeviceGetAttribute, int *value, int attribute, CUdevice dev);
X(cuDeviceGetPCIBusId, char *id, int len, CUdevice dev);
X(cuDeviceGetUuid_v2, char uuid[16], CUdevice dev);
X(cuDevicePrimaryCtxGetState, CUdevice dev, unsigned int *flags, int *active);
X(cuCtxGetCurrent, CUcontext *ctx);
X(cuCtxGetDevice, CUdevice *dev);
X(cuCtxPushCurrent_v2, CUcontext ctx);
X(cuCtxPopCurrent_v2, CUcontext *ctx);
X(cuEventCreate, CUevent *event, unsigned int flags);
X(cuEventDestroy_v2, CUevent event);
X(cuEventRecord, CUevent event, CUstream stream);
X(cuEventRecord_ptsz, CUevent event, CUstream stream);
X(cuEventQuery, CUevent event);
X(cuStreamQuery, CUstream stream);
X(cuEventElapsedTime, float *ms, CUevent from, CUevent to);
X(cuStreamGetFlags, CUstream stream, unsigned int *flags);
X(cuStreamGetCtx, CUstream stream, CUcontext *ctx);
X(cuStreamIsCapturing, CUstream stream, int *status);
X(cuStreamIsCapturing_ptsz, CUstream stream, int *status);
X(cuThreadExchangeStreamCaptureMode, int *mode);
X(cuStreamAddCallback, CUstream stream,
  void (*callback)(CUstream stream, CUresult status, void *data), void *data, unsigned int flags);
X(cuLaunchHostFunc, CUstream stream, void (*host)(void *data), void *data);
X(cuFuncGetName, const char **name, CUfunction f);
X(cuFuncGetModule, CUmodule *module, CUfunction f);
X(cuFuncGetParamInfo, CUfunction f, size_t i, size_t *offset, size_t *size);
X(cuKernelGetParamInfo, CUkernel kernel, size_t i, size_t *offset, size_t *size);
X(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned int flags);
X(cuMemcpyDtoH_v2, void *to, CUdeviceptr from, size_t bytes);

X(cuLaunch, CUfunction f);
X(cuLaunchGrid, CUfunction f, int width, int height);
X(cuLaunchGridAsync, CUfunction f, int width, int height, CUstream stream);
X(cuLaunchKernel, CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
  unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
  void **params, void **extra);
X(cuLaunchCooperativeKernel, CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
  unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
  void **params);
X(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction f, void **params, void **extra);
X(cuGraphLaunch, CUgraphExec exec, CUstream stream);
X(cuFuncGetAttribute, int *value, int what, CUfunction f);
X(cuKernelGetAttribute, int *value, int what, CUkernel kernel, CUdevice dev);
X(cuFuncSetAttribute, CUfunction f, int what, int value);
X(cuFuncSetCacheConfig, CUfunction f, int config);
X(cuFuncSetSharedMemConfig, CUfunction f, int config);
X(cuKernelSetAttribute, int what, int value, CUkernel kernel, CUdevice dev);
X(cuKernelSetCacheConfig, CUkernel kernel, int config, CUdevice dev);
X(cuModuleGetFunction, CUfunction *f, CUmodule module, const char *name);
X(cuModuleLoadData, CUmodule *module, const void *data);
X(cuModuleLoadDataEx, CUmodule *module, const void *data, unsigned int n, int *options,
  void **values);
X(cuModuleLoadFatBinary, CUmodule *module, const void *data);
X(cuModuleLoad, CUmodule *module, const char *path);
X(cuModuleUnload, CUmodule module);
X(cuLibraryUnload, CUlibrary library);
X(cuLibraryLoadFromFile, CUlibrary *library, const char *path, int *options, void **values,
  unsigned int n, int *library_options, void **library_values, unsigned int n_library);
X(cuLibraryLoadData, CUlibrary *library, const void *data, int *options, void **values,
  unsigned int n, int *library_options, void **library_values, unsigned int n_library);
X(cuLibraryGetKernel, CUkernel *kernel, CUlibrary library, const char *name);
X(cuKernelGetFunction, CUfunction *f, CUkernel kernel);
X(cuLinkCreate_v2, unsigned int n, int *options, void **values, CUlinkState *state);
X(cuLinkAddData_v2, CUlinkState state, int type, void *data, size_t size, const char *name,
  unsigned int n, int *options, void **values);
X(cuLinkComplete, CUlinkState state, void **out, size_t *size);
X(cuLinkDestroy, CUlinkState state);
X(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *blocks, CUfunction f, int threads,
  size_t dynamic);
X(cuMemAlloc_v2, CUdeviceptr *ptr, size_t bytes);
X(cuMemFree_v2, CUdeviceptr ptr);
X(cuMemFree, uint32_t ptr);
X(cuMemHostAlloc, void **ptr, size_t bytes, unsigned int flags);
X(cuMemHostGetDevicePointer_v2, CUdeviceptr *to, void *from, unsigned int flags);
X(cuMemsetD8Async, CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream);
X(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t bytes, CUstream stream);
X(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes, CUstream stream);
X(cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
X(cuModuleGetGlobal_v2, CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name);
X(cuLibraryGetGlobal, CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name);

#undef X
#endif
