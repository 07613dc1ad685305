// SPDX-License-Identifier: MIT
/* Texture and surface objects: rewritten and assembled, run by a GPU alone. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

#ifdef __CUDACC__
KERNEL tex_fetch(float *o, cudaTextureObject_t t) { o[I] = tex1Dfetch<float>(t, I); }
KERNEL tex_2d(float *o, cudaTextureObject_t t, int w)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	o[y * w + x] = tex2D<float>(t, x + 0.5f, y + 0.5f);
}
KERNEL surf_copy(cudaSurfaceObject_t d, cudaSurfaceObject_t s)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	int v;

	surf2Dread(&v, s, x * 4, y);
	surf2Dwrite(v + (int)gridDim.x, d, x * 4, y);
}
#else
KERNEL tex_fetch(float *o, unsigned long long t) { (void)o; (void)t; }
KERNEL tex_2d(float *o, unsigned long long t, int w) { (void)o; (void)t; (void)w; }
KERNEL surf_copy(unsigned long long d, unsigned long long s) { (void)d; (void)s; }
#endif
RUN(tex_fetch, GRID(2, 1, 1), BLOCK(32, 1, 1), 0, NOREF | NOEXEC, OUTF, 0ull)
RUN(tex_2d, GRID(2, 2, 1), BLOCK(8, 8, 1), 0, NOREF | NOEXEC, OUTF, 0ull, 16)
RUN(surf_copy, GRID(2, 2, 1), BLOCK(8, 8, 1), 0, NOREF | NOEXEC, 0ull, 0ull)
