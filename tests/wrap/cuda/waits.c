// SPDX-License-Identifier: MIT
/* Memory that isn't free, where mem.full=wait: programs that know nothing of it get on. */
#include <pthread.h>
#include "bed.h"

#define MIB (1024ull * 1024)
#define GIB (1024 * MIB)

static struct world w;
static int *step;	/* how far the children are */

static void begin_world(uint64_t bytes, uint32_t full, uint64_t wait_us)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = KEY, .mem_bytes = bytes, .mem_full = full,
		.mem_wait_us = wait_us, .mask = GPUSHARE_DEV_CAPACITY | GPUSHARE_DEV_MEM_FULL |
			GPUSHARE_DEV_MEM_WAIT,
	};

	bed_make(&w, 60000);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	step = world_shared();
}

static void end_world(void)
{
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static struct gpushare_stats device_stats(void)
{
	struct gpushare_stats s = { .size = sizeof(s), .what = GPUSHARE_STATS_DEVICE,
				    .device = world_device(&w, KEY).device };

	ASSERT_EQ(0, world_call(&w, GPUSHARE_STATS, &s));
	return s;
}

/* Has somebody come that far, or does somebody wait? For 20 s at most. */
static bool reached(int n)
{
	int i;

	for (i = 0; i < 10000 && __atomic_load_n(step, __ATOMIC_SEQ_CST) < n; i++)
		usleep(2000);
	return __atomic_load_n(step, __ATOMIC_SEQ_CST) >= n;
}

static bool somebody_waits(void)
{
	int i;

	for (i = 0; i < 10000 && !device_stats().mem_waiters; i++)
		usleep(2000);
	return i < 10000;
}

static void go(int n)
{
	__atomic_store_n(step, n, __ATOMIC_SEQ_CST);
}

/* Has memory, and keeps it until it is told to end. */
static void holder(void *arg)
{
	struct program p;
	CUdeviceptr d;

	program_start(&p);
	MUST(cuMemAlloc_v2(&d, *(uint64_t *)arg));
	go(1);
	EXPECT_TRUE(reached(2));
}

static void compute(struct program *p, CUdeviceptr d)
{
	uint32_t n = 7, i, words[256];
	void *args[] = { &d, &n };

	OK(cuMemsetD32_v2(d, 5, 256));
	MUST(cuLaunchKernel(p->add, 8, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	OK(cuMemcpyDtoH_v2(words, d, sizeof(words)));
	for (i = 0; i < 256; i++)
		if (words[i] != 12)
			break;
	EXPECT_EQ(256u, i);
}

static void comer(void *arg)
{
	struct program p;
	CUdeviceptr d;

	program_start(&p);
	MUST(cuMemAlloc_v2(&d, *(uint64_t *)arg));
	EXPECT_EQ(2, *step);	/* not before the other one ended */
	compute(&p, d);
	OK(cuMemFree_v2(d));
}

TEST(it_waits_until_another_program_ends)
{
	uint64_t bytes = 40 * MIB;
	pid_t a, b;

	begin_world(64 * MIB, GPUSHARE_FULL_WAIT, 60000000);
	a = child_start(holder, &bytes);
	EXPECT_TRUE(reached(1));
	b = child_start(comer, &bytes);
	EXPECT_TRUE(somebody_waits());
	EXPECT_EQ(bytes, device_stats().mem_wanted);
	go(2);
	EXPECT_EQ(0, child_wait(a));
	EXPECT_EQ(0, child_wait(b));
	EXPECT_EQ(1, device_stats().mem_waits);
	EXPECT_EQ(0, device_stats().mem_current);
	end_world();
}

static void refused(void *arg)
{
	struct program p;
	CUdeviceptr d;

	program_start(&p);
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&d, *(uint64_t *)arg));
	MUST(cuMemAlloc_v2(&d, MIB));	/* and it goes on */
	compute(&p, d);
}

TEST(after_its_time_it_is_out_of_memory)
{
	uint64_t bytes = 40 * MIB;
	pid_t a;

	begin_world(64 * MIB, GPUSHARE_FULL_WAIT, 300000);
	a = child_start(holder, &bytes);
	EXPECT_TRUE(reached(1));
	EXPECT_EQ(0, child_wait(child_start(refused, &bytes)));
	EXPECT_LE(300 * MS, device_stats().mem_wait_ns);
	go(2);
	EXPECT_EQ(0, child_wait(a));
	end_world();
}

TEST(without_the_setting_it_is_so_at_once)
{
	uint64_t bytes = 40 * MIB;
	pid_t a;

	begin_world(64 * MIB, GPUSHARE_FULL_FAIL, 60000000);
	a = child_start(holder, &bytes);
	EXPECT_TRUE(reached(1));
	EXPECT_EQ(0, child_wait(child_start(refused, &bytes)));
	EXPECT_EQ(0, device_stats().mem_waits);
	go(2);
	EXPECT_EQ(0, child_wait(a));
	end_world();
}

/* Two that grow towards each other: one of them is refused, and the other gets on. */
static void grower(void *arg)
{
	CUdeviceptr d[2];
	struct program p;
	CUresult r;

	(void)arg;
	program_start(&p);
	MUST(cuMemAlloc_v2(&d[0], 30 * MIB));
	__atomic_add_fetch(step, 1, __ATOMIC_SEQ_CST);
	EXPECT_TRUE(reached(2));
	r = cuMemAlloc_v2(&d[1], 30 * MIB);
	if (r)
		EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, r);
	__atomic_add_fetch(step, r ? 100 : 1000, __ATOMIC_SEQ_CST);
}

TEST(two_that_need_each_others_get_one_refusal)
{
	pid_t a, b;

	begin_world(64 * MIB, GPUSHARE_FULL_WAIT, 60000000);
	a = child_start(grower, NULL);
	b = child_start(grower, NULL);
	EXPECT_EQ(0, child_wait(a));
	EXPECT_EQ(0, child_wait(b));
	EXPECT_EQ(1102, *step);
	EXPECT_EQ(1, device_stats().mem_crossed);
	end_world();
}

/* All forms of allocating wait: nothing is had before the other one ends. */
static void all_forms(void *arg)
{
	struct program p;
	CUdeviceptr d;
	size_t pitch;
	CUstream s;

	program_start(&p);
	MUST(cuStreamCreate(&s, 1));
	switch (*(int *)arg) {
	case 0:
		MUST(cuMemAllocManaged(&d, 40 * MIB, 1));
		break;
	case 1:
		MUST(cuMemAllocPitch_v2(&d, &pitch, 40 * MIB, 1, 4));
		break;
	case 2:
		MUST(cuMemAllocAsync(&d, 40 * MIB, s));
		break;
	default:
		MUST(cuMemAllocAsync_ptsz(&d, 40 * MIB, s));
	}
	EXPECT_EQ(2, *step);
}

TEST(each_form_of_allocating_waits)
{
	uint64_t bytes = 40 * MIB;
	pid_t a, b;
	int form;

	begin_world(64 * MIB, GPUSHARE_FULL_WAIT, 60000000);
	for (form = 0; form < 4; form++) {
		go(0);
		a = child_start(holder, &bytes);
		EXPECT_TRUE(reached(1));
		b = child_start(all_forms, &form);
		EXPECT_TRUE(somebody_waits());
		go(2);
		EXPECT_EQ(0, child_wait(a));
		EXPECT_EQ(0, child_wait(b));
	}
	end_world();
}

/* The driver itself has no room, though the books do: 4 GiB are all that its device has. */
static void *alloc_late(void *arg)
{
	struct program *p = arg;
	CUdeviceptr d;

	MUST(cuCtxSetCurrent(p->ctx));
	MUST(cuMemAlloc_v2(&d, 2 * GIB));
	EXPECT_EQ(2, *step);
	OK(cuMemFree_v2(d));
	return NULL;
}

static void refused_by_driver(void *arg)
{
	pthread_t thread;
	struct program p;
	CUdeviceptr d;

	(void)arg;
	program_start(&p);
	MUST(cuMemAlloc_v2(&d, 3 * GIB));
	ASSERT_EQ(0, pthread_create(&thread, NULL, alloc_late, &p));
	EXPECT_TRUE(somebody_waits());
	go(2);
	OK(cuMemFree_v2(d));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, child_charged(&w, getpid()));
	/* Never, and nobody could change that: one end of the wait is its time. */
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&d, 5 * GIB));
	EXPECT_EQ(0, child_charged(&w, getpid()));
}

TEST(what_the_driver_refuses_is_tried_again)
{
	struct gpushare *g;

	begin_world(64 * GIB, GPUSHARE_FULL_WAIT, 3000000);
	ASSERT_EQ(0, gpushare_open(&g, KEY, NULL));
	EXPECT_EQ(0, gpushare_memory(g, GPUSHARE_MEM_CHARGE, MIB, NULL));
	EXPECT_EQ(0, child_wait(child_start(refused_by_driver, NULL)));
	EXPECT_EQ(2, device_stats().mem_waits);
	gpushare_close(g);
	end_world();
}

TEST_MAIN()
