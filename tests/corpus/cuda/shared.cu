// SPDX-License-Identifier: MIT
/* Shared memory: static, dynamic, at module scope; the classic tilings. */
#include "corpus.h"

KERNEL reduce(int *o, const int *a, int n)
{
	__shared__ int s[256];
	int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

	s[t] = i < n ? a[i] : 0;
	__syncthreads();
	for (int k = blockDim.x / 2; k; k >>= 1) {
		if (t < k)
			s[t] += s[t + k];
		__syncthreads();
	}
	if (!t)
		o[blockIdx.x] = s[0];
}
RUN(reduce, GRID(9, 1, 1), BLOCK(256, 1, 1), 0, 0, OUT, IN, 2200)

KERNEL reduce_max(int *o, const int *a, int n)
{
	DYNAMIC(int, reduce_max_s);
	int t = threadIdx.x, m = -1;

	for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x)
		m = max(m, a[i]);
	reduce_max_s[t] = m;
	__syncthreads();
	for (int k = blockDim.x >> 1; k; k >>= 1) {
		if (t < k)
			reduce_max_s[t] = max(reduce_max_s[t], reduce_max_s[t + k]);
		__syncthreads();
	}
	if (t == 0)
		o[blockIdx.x] = reduce_max_s[0];
}
RUN(reduce_max, GRID(6, 1, 1), BLOCK(128, 1, 1), 512, 0, OUT, IN, 5000)

KERNEL scan(int *o, const int *a)
{
	__shared__ int s[128];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;

	s[t] = a[i];
	__syncthreads();
	for (int k = 1; k < 128; k *= 2) {
		int v = t >= k ? s[t - k] : 0;

		__syncthreads();
		s[t] += v;
		__syncthreads();
	}
	o[i] = s[t];
}
RUN(scan, GRID(5, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN)

KERNEL transpose(int *o, const int *a, int w)
{
	__shared__ int tile[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	tile[threadIdx.y][threadIdx.x] = a[y * w + x];
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	o[y * gridDim.y * 16 + x] = tile[threadIdx.x][threadIdx.y];
}
RUN(transpose, GRID(4, 3, 1), BLOCK(16, 16, 1), 0, 0, OUT, IN, 64)

KERNEL matmul_tiled(float *c, const float *a, const float *b, int n)
{
	__shared__ float as[8][8], bs[8][8];
	int tx = threadIdx.x, ty = threadIdx.y;
	int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
	float sum = 0;

	for (int k = 0; k < n; k += 8) {
		as[ty][tx] = a[row * n + k + tx];
		bs[ty][tx] = b[(k + ty) * n + col];
		__syncthreads();
		for (int j = 0; j < 8; j++)
			sum += as[ty][j] * bs[j][tx];
		__syncthreads();
	}
	c[row * n + col] = sum;
}
RUN(matmul_tiled, GRID(4, 4, 1), BLOCK(8, 8, 1), 0, 0, OUTF, INF, INF, 32)

KERNEL histogram(unsigned int *o, const unsigned int *a, int n)
{
	__shared__ unsigned int bins[64];

	for (int i = threadIdx.x; i < 64; i += blockDim.x)
		bins[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[a[i] & 63], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < 64; i += blockDim.x)
		atomicAdd(&o[i], bins[i]);
}
RUN(histogram, GRID(4, 1, 1), BLOCK(96, 1, 1), 0, 0, OUTU, INU, 4000)

KERNEL stencil(int *o, const int *a)
{
	__shared__ int s[64 + 6];
	int t = threadIdx.x, i = blockIdx.x * 64 + t + 3, sum = 0;

	s[t + 3] = a[i];
	if (t < 3) {
		s[t] = a[i - 3];
		s[t + 67] = a[i + 64];
	}
	__syncthreads();
	for (int k = -3; k <= 3; k++)
		sum += s[t + 3 + k] * (4 - (k < 0 ? -k : k));
	o[i] = sum;
}
RUN(stencil, GRID(8, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL bitonic(int *o, const int *a)
{
	__shared__ int s[128];
	int t = threadIdx.x;

	s[t] = a[blockIdx.x * 128 + t];
	__syncthreads();
	for (int k = 2; k <= 128; k <<= 1)
		for (int j = k >> 1; j; j >>= 1) {
			int p = t ^ j;

			if (p > t && (s[t] > s[p]) == !(t & k)) {
				int x = s[t];

				s[t] = s[p];
				s[p] = x;
			}
			__syncthreads();
		}
	o[blockIdx.x * 128 + t] = s[t];
}
RUN(bitonic, GRID(4, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN)

KERNEL two_dynamic(int *o, const int *a, int n)
{
	DYNAMIC(int, two_dynamic_s);
	int *x = two_dynamic_s;
	short *y = (short *)(two_dynamic_s + n);
	int t = threadIdx.x;

	x[t] = a[blockIdx.x * n + t];
	y[t] = (short)(a[blockIdx.x * n + t] * 2);
	__syncthreads();
	o[blockIdx.x * n + t] = x[n - 1 - t] + y[(t + 5) % n];
}
RUN(two_dynamic, GRID(4, 1, 1), BLOCK(48, 1, 1), 288, 0, OUT, IN, 48)

#ifdef __CUDACC__
__shared__ int module_scope[64];
#else
static int module_scope[64];
#endif

NOINLINE int from_module_scope(int i)
{
	return module_scope[i & 63];
}

KERNEL module_shared(int *o, const int *a)
{
	int t = threadIdx.x;

	module_scope[t] = a[blockIdx.x * 64 + t];
	__syncthreads();
	o[blockIdx.x * 64 + t] = from_module_scope(t * 3) + module_scope[63 - t];
}
RUN(module_shared, GRID(5, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

struct cell { int key; short tag; double weight; };
KERNEL shared_struct(double *o, const int *a)
{
	__shared__ struct cell c[32];
	int t = threadIdx.x, i = blockIdx.x * 32 + t;

	c[t].key = a[i];
	c[t].tag = (short)(a[i] * 7);
	c[t].weight = a[i] * 0.25;
	__syncthreads();
	o[i] = c[31 - t].weight * c[t ^ 1].tag + c[(t + 9) & 31].key;
}
RUN(shared_struct, GRID(5, 1, 1), BLOCK(32, 1, 1), 0, 0, OUTD, IN)

KERNEL shared_bytes(unsigned char *o, const unsigned char *a)
{
	__shared__ unsigned char s[100];
	int t = threadIdx.x;

	s[t] = a[blockIdx.x * 100 + t];
	__syncthreads();
	o[blockIdx.x * 100 + t] = s[99 - t] ^ s[(t * 3) % 100];
}
RUN(shared_bytes, GRID(5, 1, 1), BLOCK(100, 1, 1), 0, 0, OUTB, INB)

KERNEL double_buffer(int *o, const int *a, int steps)
{
	__shared__ int s[2][64];
	int t = threadIdx.x, cur = 0;

	s[0][t] = a[blockIdx.x * 64 + t];
	for (int k = 0; k < steps; k++) {
		__syncthreads();
		s[cur ^ 1][t] = s[cur][(t + 1) & 63] + s[cur][(t + 63) & 63] - s[cur][t];
		cur ^= 1;
	}
	o[blockIdx.x * 64 + t] = s[cur][t];
}
RUN(double_buffer, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 9)

KERNEL volatile_shared(int *o, const int *a)
{
	__shared__ volatile int s[32];
	int t = threadIdx.x;

	s[t] = a[blockIdx.x * 32 + t];
	__syncthreads();
	for (int k = 16; k; k >>= 1) {
		int v = s[(t + k) & 31];

		__syncwarp();
		s[t] += v;
		__syncwarp();
	}
	o[blockIdx.x * 32 + t] = s[t];
}
RUN(volatile_shared, GRID(4, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL generic_shared(int *o, const int *a)
{
	__shared__ int s[32];
	int t = threadIdx.x, i = blockIdx.x * 32 + t;
	const int *p;

	s[t] = a[i] + 1;
	__syncthreads();
	p = a[i] & 1 ? s + (t ^ 1) : a + i;	/* generic: one of two spaces */
	o[i] = *p;
}
RUN(generic_shared, GRID(6, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

KERNEL wide_shared(float4 *o, const float4 *a)
{
	__shared__ float4 s[32];
	int t = threadIdx.x, i = blockIdx.x * 32 + t;
	float4 v;

	s[t] = a[i];
	__syncthreads();
	v = s[31 - t];
	v.x += 1.0f;
	v.w *= 2.0f;
	o[i] = v;
}
RUN(wide_shared, GRID(4, 1, 1), BLOCK(32, 1, 1), 0, 0, (float4 *)OUT, (const float4 *)INF)

KERNEL segmented(int *o, const int *a)
{
	__shared__ int head[64], sum[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	head[t] = a[i] % 8 == 0;
	sum[t] = a[i];
	for (int k = 1; k < 64; k <<= 1) {
		int h, v = 0;

		__syncthreads();
		h = head[t];
		if (t >= k && !h) {
			v = sum[t - k];
			h = head[t - k];
		}
		__syncthreads();
		sum[t] += v;
		head[t] |= h;
	}
	o[i] = sum[t];
}
RUN(segmented, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL big_shared(int *o, const int *a)
{
	__shared__ int s[8192];
	int t = threadIdx.x;

	for (int i = t; i < 8192; i += blockDim.x)
		s[i] = a[i & 4095] + i;
	__syncthreads();
	o[blockIdx.x * blockDim.x + t] = s[(t * 97 + blockIdx.x * 1013) & 8191];
}
RUN(big_shared, GRID(3, 1, 1), BLOCK(128, 1, 1), 0, 0, OUT, IN)

KERNEL copy_async_shape(int *o, const int *a, int n)
{
	__shared__ int s[3][32];
	int t = threadIdx.x, acc = 0;

	for (int k = 0; k < 2 && k < n; k++)
		s[k][t] = a[blockIdx.x * 512 + k * 32 + t];
	for (int k = 0; k < n; k++) {	/* the shape of a software pipeline */
		__syncthreads();
		if (k + 2 < n)
			s[(k + 2) % 3][t] = a[blockIdx.x * 512 + (k + 2) * 32 + t];
		acc += s[k % 3][31 - t] * (k + 1);
	}
	o[blockIdx.x * 32 + t] = acc;
}
RUN(copy_async_shape, GRID(4, 1, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN, 11)
