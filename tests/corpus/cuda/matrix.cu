// SPDX-License-Identifier: MIT
/* What warps do with matrices, copies that complete on barriers in memory, packed integers. */
#include "corpus.h"
#ifdef __CUDACC__
#include <mma.h>
using namespace nvcuda;
#endif

/* z = x * y, 16 by 16, by one warp; whole numbers, so that every order gives the same */
#ifdef __CUDACC__
static __device__ void product(const int *x, const int *y, float *z)
{
	__shared__ __align__(16) __half hx[256], hy[256];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;

	for (int k = threadIdx.x; k < 256; k += 32) {
		hx[k] = __int2half_rn(x[k]);
		hy[k] = __int2half_rn(y[k]);
	}
	__syncwarp();
	wmma::fill_fragment(c, 0.5f);
	wmma::load_matrix_sync(a, hx, 16);
	wmma::load_matrix_sync(b, hy, 16);
	wmma::mma_sync(c, a, b, c);
	for (int k = 0; k < c.num_elements; k++)
		c.x[k] *= 2;
	wmma::store_matrix_sync(z, c, 16, wmma::mem_row_major);
}

static __device__ void product_bytes(const int *x, const int *y, int *z)
{
	__shared__ __align__(16) signed char bx[256], by[256];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
	wmma::fragment<wmma::accumulator, 16, 16, 16, int> c;

	for (int k = threadIdx.x; k < 256; k += 32) {
		bx[k] = x[k];
		by[k] = y[k];
	}
	__syncwarp();
	wmma::fill_fragment(c, 7);
	wmma::load_matrix_sync(a, bx, 16);
	wmma::load_matrix_sync(b, by, 16);
	wmma::mma_sync(c, a, b, c);
	wmma::store_matrix_sync(z, c, 16, wmma::mem_row_major);
}
#else
static int dot(const int *x, const int *y, int k)
{
	int s = 0;

	for (int i = 0; i < 16; i++)
		s += x[k / 16 * 16 + i] * y[k % 16 * 16 + i];
	return s;
}

DEVICE void product(const int *x, const int *y, float *z)
{
	for (int k = threadIdx.x; k < 256; k += 32)
		z[k] = dot(x, y, k) * 2 + 1;
}

DEVICE void product_bytes(const int *x, const int *y, int *z)
{
	for (int k = threadIdx.x; k < 256; k += 32)
		z[k] = dot(x, y, k) + 7;
}
#endif

KERNEL matrix_halves(float *o, const int *a)
{
	__shared__ __align__(16) float z[256];
	__shared__ int x[256], y[256];
	int base = blockIdx.x * 256;

	for (int k = threadIdx.x; k < 256; k += 32) {
		x[k] = a[base + k] % 13 - 6;
		y[k] = a[base + k + 77] % 11 - 5;
	}
	__syncthreads();
	product(x, y, z);
	__syncthreads();
	for (int k = threadIdx.x; k < 256; k += 32)
		o[base + k] = z[k];
}
RUN(matrix_halves, GRID(5, 1, 1), BLOCK(32, 1, 1), 0, 0, OUTF, IN)

KERNEL matrix_bytes(int *o, const int *a)
{
	__shared__ __align__(16) int z[256];
	__shared__ int x[256], y[256];
	int base = blockIdx.y * 512 + blockIdx.x * 256;

	for (int k = threadIdx.x; k < 256; k += 32) {
		x[k] = a[base + k] % 251 - 125;
		y[k] = a[base + k + 33] % 200 - 100;
	}
	__syncthreads();
	product_bytes(x, y, z);
	__syncthreads();
	for (int k = threadIdx.x; k < 256; k += 32)
		o[base + k] = z[k];
}
RUN(matrix_bytes, GRID(2, 3, 1), BLOCK(32, 1, 1), 0, 0, OUT, IN)

#ifndef __CUDACC__
static unsigned int __vabsdiffu4(unsigned int a, unsigned int b)
{
	unsigned int r = 0;

	for (int k = 0; k < 32; k += 8)
		r |= (unsigned int)abs((int)(a >> k & 255) - (int)(b >> k & 255)) << k;
	return r;
}

static unsigned int __vmaxs2(unsigned int a, unsigned int b)
{
	return (unsigned short)max((short)a, (short)b) |
		(unsigned int)(unsigned short)max((short)(a >> 16), (short)(b >> 16)) << 16;
}

static unsigned int __vadd2(unsigned int a, unsigned int b)
{
	return ((a + b) & 0xffff) | ((a >> 16) + (b >> 16)) << 16;
}
#endif

KERNEL packed(int *o, const long long *a)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int x = a[i], y = a[i] >> 32;

	o[i] = __vabsdiffu4(x, y) ^ __vmaxs2(x, y) * 3 ^ __vadd2(x, y) * 5;
}
RUN(packed, GRID(4, 1, 1), BLOCK(96, 1, 1), 0, 0, OUT, INL)

/* Two blocks of input by a bulk copy each; all wait for its bytes. */
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
KERNEL bulk_copy(int *o, const int *a)
{
	__shared__ __align__(16) int s[128];
	__shared__ __align__(8) unsigned long long bar;
	unsigned int b = __cvta_generic_to_shared(&bar), d = __cvta_generic_to_shared(s), done;
	int t = threadIdx.x;

	if (!t) {
		asm volatile("mbarrier.init.shared.b64 [%0], 128;" :: "r"(b) : "memory");
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
	for (int phase = 0; phase < 2; phase++) {
		if (!t) {
			asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 512;"
				     :: "r"(b) : "memory");
			asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
				     "[%0], [%1], 512, [%2];" :: "r"(d),
				     "l"(__cvta_generic_to_global(a + blockIdx.x * 256 + phase * 128)),
				     "r"(b) : "memory");
		} else {
			asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory");
		}
		do {
			asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
				     "selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(b), "r"(phase)
				     : "memory");
		} while (!done);
		o[blockIdx.x * 256 + phase * 128 + t] = s[127 - t] + phase;
		__syncthreads();
	}
}
#elif !defined(__CUDACC__)
KERNEL bulk_copy(int *o, const int *a)
{
	for (int phase = 0; phase < 2; phase++) {
		int base = blockIdx.x * 256 + phase * 128;

		o[base + threadIdx.x] = a[base + 127 - threadIdx.x] + phase;
	}
}
#endif
RUN(bulk_copy, GRID(5, 1, 1), BLOCK(128, 1, 1), 0, SM90, OUT, IN)
