/* SPDX-License-Identifier: MIT */
/* A kernel that is cut, for tests of what is submitted later than its call returned. */
#ifndef TESTS_CUDA_WRAPPER_LATE_H
#define TESTS_CUDA_WRAPPER_LATE_H

#include <dlfcn.h>
#include <pthread.h>
#include "bed.h"

#define WORDS	8192u	/* twice as many slices as may be in flight */
#define NO_ROOM	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES

static struct world w;

static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry one(.param .u64 o, .param .u32 n) {\n"
	".reg .u32 %r<4>; .reg .u64 %d<3>; .reg .pred %p;\n"
	"ld.param.u64 %d1, [o]; ld.param.u32 %r3, [n]; mov.u32 %r1, %ctaid.x;\n"
	"setp.gt.u32 %p, %r3, 1; @%p trap;\n"
	"mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
	"ld.global.u32 %r2, [%d1]; add.u32 %r2, %r2, %r3; st.global.u32 [%d1], %r2; ret; }\n";

struct bench {
	struct program p;
	CUfunction f;
	CUdeviceptr d;
	CUstream s, t;
	CUevent e;
	uint32_t *word;	/* a stream that waits for it goes on when it's 1 */
	CUdeviceptr there;
};

/* The @n-th launch, or what it is, that reaches the driver is refused. */
static inline void refuse(const char *what, uint64_t n)
{
	void (*plant)(const char *what, uint64_t n, int error) = (__typeof__(plant))dlsym(
		dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), "cpucuda_refuse");

	ASSERT_TRUE(plant != NULL);
	plant(what, n, NO_ROOM);
}

static CUresult launch(struct bench *b, CUstream s, uint32_t n)
{
	void *args[] = { &b->d, &n };

	return cuLaunchKernel(b->f, WORDS, 1, 1, 1, 1, 1, 0, s, args, NULL);
}

static void bench_make(struct bench *b)
{
	program_start(&b->p);
	MUST(cuModuleLoadData(&b->p.module, text));
	MUST(cuModuleGetFunction(&b->f, b->p.module, "one"));
	MUST(cuMemAlloc_v2(&b->d, 4 * WORDS));
	MUST(cuMemsetD32_v2(b->d, 0, WORDS));
	MUST(cuCtxSynchronize());	/* streams of this kind don't wait for that one */
	MUST(cuStreamCreate(&b->s, 1));
	MUST(cuStreamCreate(&b->t, 1));
	MUST(cuEventCreate(&b->e, 0));
	MUST(cuMemHostAlloc((void **)&b->word, 4096, 2));	/* mapped */
	MUST(cuMemHostGetDevicePointer_v2(&b->there, b->word, 0));
	MUST(launch(b, b->s, 0));	/* from now on its like is known */
	MUST(cuCtxSynchronize());
}

static void child(void (*fn)(void *arg))
{
	bed_make(&w, 60000);
	setenv("GPUSHARE_CUT", "slice", 1);
	EXPECT_EQ(0, child_wait(child_start(fn, NULL)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

#endif
