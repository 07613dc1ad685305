/* SPDX-License-Identifier: MIT */
/*
 * The corpus: CUDA kernels of all shapes, each of which is built twice.
 *
 * nvcc compiles a .cu file to PTX, as it would any other. The C compiler
 * compiles the very same file as C, over the small model of a block in host.c
 * (a fiber a thread), and that build is the reference: "the same algorithm in
 * C". So a kernel is written in the C that both languages share, and what
 * differs goes through this header.
 *
 * RUN says how a kernel is launched by the tests; it exists in the C build
 * alone. One kernel may have several.
 *
 *	RUN(kernel, GRID(x, y, z), BLOCK(x, y, z), dynamic bytes, flags, arguments...)
 */
#ifndef GS_CORPUS_H
#define GS_CORPUS_H

#define CORPUS_INTS 16384	/* of each buffer: IN, INF, IND, INL and OUT */
#define CORPUS_BYTES (CORPUS_INTS * 8)

/* Flags of a RUN */
#define NEAR	0x01	/* floats differ in the last places from the host's */
#define NEARD	0x02	/* the same for doubles */
#define ORDER	0x04	/* waits for lower blocks: needs ascending order */
#define WAVE	0x08	/* waits for any block: needs all of them resident */
#define COOP	0x10	/* needs a cooperative launch */
#define NOREF	0x20	/* the host can't say: compared between runs alone */
#define NOEXEC	0x40	/* built and assembled, not run by the driver on the CPU */
#define SM90	0x80	/* is in the build for sm_90 alone */
#define CLUSTER	0x100	/* blocks come in clusters */

#ifdef __CUDACC__

#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void
#define BOUNDED(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
#define DEVICE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__
#define DYNAMIC(type, name) extern __shared__ type name[]
#define RUN(...)
#define YIELD() do { } while (0)
#define EXIT() asm volatile("exit;")
#define VEC(type, ...) make_##type(__VA_ARGS__)
#define BARRIER(id, n) asm volatile("bar.sync %0, %1;" :: "n"(id), "n"(n) : "memory")
#define ARRIVE(id, n) asm volatile("bar.arrive %0, %1;" :: "n"(id), "n"(n) : "memory")

#else

#include "host.h"

#endif
#endif
