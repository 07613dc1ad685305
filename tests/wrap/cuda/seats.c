// SPDX-License-Identifier: MIT
/*
 * A device with two seats: the arbiter is told what kernels need, deals workers, and
 * programs that know nothing of it run by so many at a time, with the same results.
 */
#include <string.h>
#include "bed.h"

#define BLOCKS	600u
#define THREADS	128u
#define UNITS	4u	/* of the driver on the CPU, each of 2048 threads */
#define ALONE	(UNITS * 2048 / THREADS)

static struct world w;

/*
 * crowd(o, steps): o[0] counts the blocks that run, o[1] the most at a time; block i counts
 * up o[2 + i].
 */
static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry crowd(.param .u64 o, .param .u32 steps) {\n"
	".reg .u32 %r<9>; .reg .u64 %d<4>; .reg .pred %p, %q;\n"
	"ld.param.u64 %d1, [o]; ld.param.u32 %r1, [steps];\n"
	"mov.u32 %r2, %tid.x; setp.ne.u32 %q, %r2, 0; @%q bra W;\n"
	"atom.global.add.u32 %r3, [%d1], 1; add.u32 %r3, %r3, 1;\n"
	"atom.global.max.u32 %r4, [%d1+4], %r3;\n"
	"W: bar.sync 0; mov.u32 %r5, 0;\n"
	"L: add.u32 %r5, %r5, 1; setp.lt.u32 %p, %r5, %r1; @%p bra L;\n"
	"bar.sync 0; @%q bra E;\n"
	"mov.u32 %r6, %ctaid.x; mul.wide.u32 %d2, %r6, 4; add.u64 %d2, %d1, %d2;\n"
	"atom.global.add.u32 %r7, [%d2+8], 1; atom.global.add.u32 %r8, [%d1], -1;\n"
	"E: ret; }\n";

struct crowd {
	CUfunction f;
	CUdeviceptr out;
	uint32_t launches;
};

static void crowd_make(struct crowd *c)
{
	CUmodule module;
	CUcontext ctx;
	CUdevice d;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&d, 0));
	MUST(cuCtxCreate_v2(&ctx, 0, d));
	MUST(cuModuleLoadData(&module, text));
	MUST(cuModuleGetFunction(&c->f, module, "crowd"));
	MUST(cuMemAlloc_v2(&c->out, (2 + BLOCKS) * 4));
	MUST(cuMemsetD32_v2(c->out, 0, 2 + BLOCKS));
	c->launches = 0;
}

/* Launches it, waits, and says how many blocks ran at a time. */
static uint32_t crowd_run(struct crowd *c)
{
	uint32_t steps = 60, most = 0;
	void *args[] = { &c->out, &steps };

	MUST(cuMemcpyHtoD_v2(c->out + 4, &most, 4));
	MUST(cuLaunchKernel(c->f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
	MUST(cuMemcpyDtoH_v2(&most, c->out + 4, 4));
	c->launches++;
	return most;
}

static void crowd_check(const struct crowd *c)
{
	static uint32_t out[2 + BLOCKS];
	uint32_t i;

	MUST(cuMemcpyDtoH_v2(out, c->out, sizeof(out)));
	EXPECT_EQ(0, out[0]);
	for (i = 0; i < BLOCKS && out[2 + i] == c->launches; i++)
		;
	EXPECT_EQ(BLOCKS, i);
}

#define ENOUGH 20

static int *halves;	/* of each tenant: so many launches ran by half of the device's workers */

/* Until both ran so often enough, as each has the device to itself when the other is gone. */
static void tenant(void *arg)
{
	int *own = &halves[arg != NULL];
	uint64_t before;
	struct crowd c;
	uint32_t most;

	setenv("GPUSHARE_GROUP", arg ? "a" : "b", 1);
	crowd_make(&c);
	while (__atomic_load_n(&halves[0], __ATOMIC_RELAXED) < ENOUGH ||
	       __atomic_load_n(&halves[1], __ATOMIC_RELAXED) < ENOUGH) {
		before = launched("crowd", "workers");
		most = crowd_run(&c);
		EXPECT_LE(most, ALONE);
		if (launched("crowd", "workers") > before && most <= ALONE / 2)
			__atomic_add_fetch(own, 1, __ATOMIC_RELAXED);
	}
	crowd_check(&c);
}

static void make(uint32_t seats)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = KEY, .mask = GPUSHARE_DEV_SEATS | GPUSHARE_DEV_CAPACITY,
		.seats = seats, .units = UNITS, .unit_threads = 2048,
	};

	bed_make(&w, 10000);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
}

/* The client's counters; false: there is none. */
static bool client_of(pid_t pid, struct gpushare_stats *s)
{
	*s = (struct gpushare_stats){ .size = sizeof(*s), .what = GPUSHARE_STATS_CLIENT,
				      .flags = GPUSHARE_GET_NEXT };
	while (!world_call(&w, GPUSHARE_STATS, s)) {
		if (s->pid == pid)
			return true;
		s->flags = GPUSHARE_GET_NEXT;
	}
	return false;
}

static bool are_dealt(pid_t a, pid_t b, uint32_t workers)
{
	struct gpushare_stats s, t;

	return client_of(a, &s) && client_of(b, &t) && s.workers == workers && t.workers == workers;
}

TEST_LIMIT(two_programs_divide_the_workers, 120)
{
	struct gpushare_stats s;
	pid_t a, b;

	make(2);
	halves = world_shared();
	a = child_start(tenant, NULL);
	b = child_start(tenant, &b);
	EXPECT_TRUE(WAIT_FOR(are_dealt(a, b, ALONE / 2)));
	EXPECT_TRUE(client_of(a, &s));
	EXPECT_LE(BLOCKS / 2, s.progress);
	EXPECT_LT(0, s.busy_ns);
	EXPECT_EQ(0, child_wait(a));
	EXPECT_EQ(0, child_wait(b));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* Its progress is the blocks that it ran, in whatever way. */
static void counts(void *arg)
{
	struct gpushare_stats s;
	struct crowd c;
	int i;

	if (arg)
		setenv("GPUSHARE_CUT", arg, 1);
	crowd_make(&c);
	for (i = 0; i < 5; i++)
		crowd_run(&c);
	/* The end of what was waited for is noticed within milliseconds. */
	EXPECT_TRUE(WAIT_FOR(client_of(getpid(), &s) && s.progress == 5 * BLOCKS));
	if (s.progress != 5 * BLOCKS)
		printf("# %s: %llu of %u blocks\n", arg ? (char *)arg : "auto",
		       (unsigned long long)s.progress, 5 * BLOCKS);
	crowd_check(&c);
}

TEST_LIMIT(progress_is_counted_in_blocks, 120)
{
	static char *const ways[] = { NULL, "off", "slice", "guard", "workers" };
	unsigned int i;

	make(1);
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		EXPECT_EQ(0, child_wait(child_start(counts, ways[i])));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

TEST_MAIN()
