// SPDX-License-Identifier: MIT
/* A program as people write them, with the runtime's interface; see toolkit.sh. */
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__constant__ int offset[4];
__device__ int seen;

template<class T> __global__ void shift(T *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] += offset[i & 3];
	if (!i)
		seen = n;
}

__global__ void blocks_sum(const int *a, int *o)
{
	extern __shared__ int s[];

	s[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
	for (int k = blockDim.x / 2; k; k /= 2) {
		__syncthreads();
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
	}
	if (!threadIdx.x)
		atomicAdd(o, s[0]);
}

#define OK(x) do { cudaError_t e_ = (x); if (e_) {					\
	printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); return 1; } } while (0)

int main()
{
	const int n = 1000;
	int h[4] = { 1, 20, 300, 4000 }, *d, *o, got = 0, sum = 0, last = 0;
	std::vector<int> v(1024);
	cudaDeviceProp prop;
	cudaFuncAttributes attr;
	cudaGraphExec_t x;
	cudaEvent_t e[2];
	cudaStream_t s;
	cudaGraph_t g;
	float ms;

	OK(cudaGetDeviceProperties(&prop, 0));
	printf("%s, %d multiprocessors\n", prop.name, prop.multiProcessorCount);
	OK(cudaFuncGetAttributes(&attr, blocks_sum));
	OK(cudaMemcpyToSymbol(offset, h, sizeof(h)));
	OK(cudaMalloc(&d, 4096));
	OK(cudaMalloc(&o, 4));
	OK(cudaMemset(d, 0, 4096));
	OK(cudaMemset(o, 0, 4));
	OK(cudaStreamCreate(&s));
	OK(cudaEventCreate(&e[0]));
	OK(cudaEventCreate(&e[1]));
	OK(cudaEventRecord(e[0], s));
	shift<<<4, 256, 0, s>>>(d, n);
	OK(cudaGetLastError());
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	shift<<<4, 256, 0, s>>>(d, n);
	blocks_sum<<<8, 128, 512, s>>>(d, o);
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphInstantiate(&x, g, 0));
	OK(cudaGraphLaunch(x, s));
	OK(cudaGraphLaunch(x, s));
	OK(cudaEventRecord(e[1], s));
	OK(cudaEventSynchronize(e[1]));
	OK(cudaEventElapsedTime(&ms, e[0], e[1]));
	OK(cudaMemcpy(v.data(), d, 4096, cudaMemcpyDeviceToHost));
	OK(cudaMemcpy(&sum, o, 4, cudaMemcpyDeviceToHost));
	OK(cudaMemcpyFromSymbol(&got, seen, 4));
	for (int i = 0; i < n; i++)
		last += v[i] != 3 * h[i & 3];
	printf("%d wrong, seen %d, sum %d\n", last, got, sum);
	shift<<<1, 2048>>>(d, n);
	printf("too many threads: %d\n", (int)cudaGetLastError());
	return last || got != n || sum != 5 * 250 * 4321;
}
