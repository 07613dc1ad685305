// SPDX-License-Identifier: MIT
/* What programs use of the runtime's interface beyond memory and launches; `0 wrong` at the end. */
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

static int wrong;
#define SAME(a, b) do {								\
	long long a_ = (long long)(a), b_ = (long long)(b);			\
	if (a_ != b_)								\
		wrong++, printf("line %d: %s is %lld, not %lld\n", __LINE__, #a, a_, b_);	\
} while (0)
#define GOOD(call) SAME(call, cudaSuccess)

enum { N = 16, ROWS = 8 };
__managed__ int counter = 40;
__device__ int table[N];

__global__ void add(int *p, int v) { p[threadIdx.x] += v; }
__global__ void count() { atomicAdd(&counter, 1); }
__global__ void look(cudaTextureObject_t t, float *out, float by)
{
	out[threadIdx.y * N + threadIdx.x] = tex2D<float>(t, threadIdx.x + by, threadIdx.y + 0.5f);
}
__global__ void put(cudaSurfaceObject_t s)
{
	surf2Dwrite(100.0f + threadIdx.x, s, threadIdx.x * 4, threadIdx.y);
}

static void functions()
{
	cudaFunction_t f;
	const char *name;
	size_t n;
	int least, most, can, d;
	char bus[32];

	GOOD(cudaFuncSetCacheConfig(add, cudaFuncCachePreferL1));
	GOOD(cudaGetFuncBySymbol(&f, (const void *)add));
	GOOD(cudaFuncGetName(&name, (const void *)add));
	SAME(strstr(name, "add") != NULL, 1);
	GOOD(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
	GOOD(cudaDeviceGetLimit(&n, cudaLimitStackSize));
	SAME(n, 2048);
	GOOD(cudaDeviceGetStreamPriorityRange(&least, &most));
	GOOD(cudaDeviceCanAccessPeer(&can, 0, 0));
	GOOD(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
	GOOD(cudaDeviceGetByPCIBusId(&d, bus));
	SAME(d, 0);
	SAME(cudaDeviceGetByPCIBusId(&d, "nonsense") != cudaSuccess, 1);
	cudaGetLastError();
}

static void pointers()
{
	cudaPointerAttributes a;
	int *p, *m, here;
	void *h;

	GOOD(cudaMalloc(&p, 64));
	GOOD(cudaMallocHost(&h, 64));
	GOOD(cudaMallocManaged(&m, 64));
	GOOD(cudaPointerGetAttributes(&a, p));
	SAME(a.type, cudaMemoryTypeDevice);
	SAME(a.devicePointer == p, 1);
	GOOD(cudaPointerGetAttributes(&a, h));
	SAME(a.type, cudaMemoryTypeHost);
	GOOD(cudaPointerGetAttributes(&a, m));
	SAME(a.type, cudaMemoryTypeManaged);
	GOOD(cudaPointerGetAttributes(&a, &here));
	SAME(a.type, cudaMemoryTypeUnregistered);
	GOOD(cudaFree(p));
	GOOD(cudaFreeHost(h));
	GOOD(cudaFree(m));
}

static void variables()
{
	int host[N], back[N], i;

	for (i = 0; i < N; i++)
		host[i] = i * i;
	GOOD(cudaMemcpyToSymbolAsync(table, host, sizeof(host), 0, cudaMemcpyHostToDevice, 0));
	GOOD(cudaMemcpyFromSymbolAsync(back, table, sizeof(back), 0, cudaMemcpyDeviceToHost, 0));
	GOOD(cudaDeviceSynchronize());
	SAME(memcmp(host, back, sizeof(host)), 0);
	SAME(cudaMemcpyToSymbol(table, host, sizeof(host), 4), cudaErrorInvalidValue);
	GOOD(cudaMemcpyFromSymbol(back, table, 4, 8, cudaMemcpyDeviceToHost));
	SAME(back[0], 4);
	cudaGetLastError();
	SAME(counter, 40);
	count<<<1, 2>>>();
	GOOD(cudaDeviceSynchronize());
	SAME(counter, 42);
}

static void arrays()
{
	cudaChannelFormatDesc c = cudaCreateChannelDesc<float>(), got;
	cudaResourceDesc r = {};
	cudaTextureDesc t = {};
	cudaTextureObject_t tex;
	cudaSurfaceObject_t surf;
	cudaExtent e;
	cudaArray_t a;
	float host[ROWS][N], back[ROWS][N], *out;
	unsigned int flags;
	int x, y;

	for (y = 0; y < ROWS; y++)
		for (x = 0; x < N; x++)
			host[y][x] = y * 100 + x;
	GOOD(cudaMallocArray(&a, &c, N, ROWS, cudaArraySurfaceLoadStore));
	GOOD(cudaArrayGetInfo(&got, &e, &flags, a));
	SAME(got.x, 32);
	SAME(got.f, cudaChannelFormatKindFloat);
	SAME(e.width, N);
	SAME(e.height, ROWS);
	GOOD(cudaMemcpy2DToArray(a, 0, 0, host, sizeof(host[0]), sizeof(host[0]), ROWS,
				 cudaMemcpyHostToDevice));
	r.resType = cudaResourceTypeArray;
	r.res.array.array = a;
	t.filterMode = cudaFilterModeLinear;
	t.addressMode[0] = t.addressMode[1] = cudaAddressModeClamp;
	GOOD(cudaCreateTextureObject(&tex, &r, &t, NULL));
	GOOD(cudaMalloc(&out, sizeof(host)));
	look<<<1, dim3(N, ROWS)>>>(tex, out, 1.0f);	/* between two */
	GOOD(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost));
	SAME(back[3][4] * 10, 3045);
	GOOD(cudaDestroyTextureObject(tex));
	GOOD(cudaCreateSurfaceObject(&surf, &r));
	put<<<1, dim3(N, 2)>>>(surf);
	GOOD(cudaMemcpy2DFromArray(back, sizeof(back[0]), a, 0, 0, sizeof(back[0]), ROWS,
				   cudaMemcpyDeviceToHost));
	SAME(back[1][5], 105);
	SAME(back[2][5], 205);
	GOOD(cudaMemcpyToArray(a, 4, 6, host, 8, cudaMemcpyHostToDevice));
	GOOD(cudaMemcpyFromArray(back, a, 0, 6, sizeof(back[0]) * 2, cudaMemcpyDeviceToHost));
	SAME(back[0][2], 1);
	SAME(back[1][3], 703);
	SAME(cudaMemcpyFromArray(back, a, 4, 6, sizeof(back[0]), cudaMemcpyDeviceToHost),
	     cudaErrorInvalidValue);
	cudaGetLastError();
	GOOD(cudaDestroySurfaceObject(surf));
	GOOD(cudaFreeArray(a));
	GOOD(cudaFree(out));
}

static void volumes()
{
	cudaExtent e = make_cudaExtent(10, 3, 2);
	cudaMemcpy3DParms p = {};
	unsigned char host[2][3][10];
	cudaPitchedPtr at;

	GOOD(cudaMalloc3D(&at, e));
	GOOD(cudaMemset3D(at, 7, e));
	memset(host, 0, sizeof(host));
	p.srcPtr = at;
	p.dstPtr = make_cudaPitchedPtr(host, 10, 10, 3);
	p.extent = make_cudaExtent(9, 3, 2);
	p.kind = cudaMemcpyDeviceToHost;
	GOOD(cudaMemcpy3D(&p));
	SAME(host[1][2][8], 7);
	SAME(host[1][2][9], 0);
	GOOD(cudaFree(at.ptr));
}

static void graphs()
{
	cudaKernelNodeParams k = {};
	cudaMemsetParams m = {};
	cudaGraphNode_t set, run, copy;
	cudaGraphNodeType type;
	cudaGraphExec_t x;
	cudaGraph_t g;
	int *p, v = 5, back[4];
	size_t n = 0;
	void *args[] = { &p, &v };

	GOOD(cudaMalloc(&p, sizeof(back)));
	GOOD(cudaGraphCreate(&g, 0));
	m.dst = p;
	m.elementSize = 4;
	m.value = 1000;
	m.width = 4;
	m.height = 1;
	GOOD(cudaGraphAddMemsetNode(&set, g, NULL, 0, &m));
	k.func = (void *)add;
	k.gridDim = dim3(1);
	k.blockDim = dim3(4);
	k.kernelParams = args;
	GOOD(cudaGraphAddKernelNode(&run, g, &set, 1, &k));
	GOOD(cudaGraphAddMemcpyNode1D(&copy, g, &run, 1, back, p, sizeof(back),
				      cudaMemcpyDeviceToHost));
	GOOD(cudaGraphGetNodes(g, NULL, &n));
	SAME(n, 3);
	GOOD(cudaGraphNodeGetType(run, &type));
	SAME(type, cudaGraphNodeTypeKernel);
	GOOD(cudaGraphInstantiate(&x, g, 0));
	GOOD(cudaGraphLaunch(x, 0));
	GOOD(cudaDeviceSynchronize());
	SAME(back[3], 1005);
	v = 6;
	GOOD(cudaGraphExecKernelNodeSetParams(x, run, &k));
	GOOD(cudaGraphLaunch(x, 0));
	GOOD(cudaDeviceSynchronize());
	SAME(back[0], 1006);
	GOOD(cudaGraphExecDestroy(x));
	GOOD(cudaGraphDestroy(g));
	GOOD(cudaFree(p));
}

static void streams()
{
	unsigned long long id, other;
	unsigned int flags;
	cudaStream_t s;
	int priority;

	GOOD(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	GOOD(cudaStreamGetFlags(s, &flags));
	SAME(flags, cudaStreamNonBlocking);
	GOOD(cudaStreamGetPriority(s, &priority));
	GOOD(cudaStreamGetId(s, &id));
	GOOD(cudaStreamGetId(0, &other));
	SAME(id != other, 1);
	GOOD(cudaStreamDestroy(s));
}

int main()
{
	cudaIpcMemHandle_t handle;

	functions();
	pointers();
	variables();
	arrays();
	volumes();
	graphs();
	streams();
	SAME(cudaIpcGetMemHandle(&handle, NULL), cudaErrorNotSupported);
	SAME(cudaGetLastError(), cudaErrorNotSupported);
	printf("%d wrong\n", wrong);
	return !!wrong;
}
