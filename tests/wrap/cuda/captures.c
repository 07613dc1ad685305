// SPDX-License-Identifier: MIT
/*
 * What threads do beside another's capture that all have to mind: the driver refuses to tell,
 * to load and to allocate then, and the capture is lost by it.
 */
#include <errno.h>
#include "late.h"

struct capturer {
	CUcontext ctx;
	CUstream s;
	pthread_t thread;
	uint32_t good;
	bool stop;
};

static void *capture_again(void *arg)
{
	struct capturer *c = arg;
	CUgraph graph;

	OK(cuCtxSetCurrent(c->ctx));
	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		MUST(cuStreamBeginCapture_v2(c->s, CU_STREAM_CAPTURE_MODE_GLOBAL));
		usleep(200);
		MUST(cuStreamEndCapture(c->s, &graph));
		OK(cuGraphDestroy(graph));
		c->good++;
		usleep(300);
	}
	return NULL;
}

static void capturer_start(struct capturer *c, CUcontext ctx)
{
	*c = (struct capturer){ .ctx = ctx };
	MUST(cuStreamCreate(&c->s, 1));
	ASSERT_EQ(0, pthread_create(&c->thread, NULL, capture_again, c));
}

static void capturer_end(struct capturer *c)
{
	__atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
	pthread_join(c->thread, NULL);
	EXPECT_GT(c->good, 0);
}

/* That the driver on the CPU does so is seen here. */
static void refused(void *arg)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUdeviceptr d;
	CUgraph graph;
	struct bench b;
	CUlibrary l;
	CUmodule m;
	int i;

	(void)arg;
	bench_make(&b);
	for (i = 0; i < 5; i++) {
		MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_GLOBAL));
		EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			  i == 0 ? cuEventQuery(b.e) : i == 1 ? cuMemAlloc_v2(&d, 4) :
			  i == 2 ? cuModuleLoadData(&m, text) :
			  i == 3 ? cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0) :
			  cuMemHostAlloc((void **)&d, 4, 0));
		EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(b.t, &graph));
	}
	MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	OK(cuEventQuery(b.e));
	OK(cuMemAlloc_v2(&d, 4));
	OK(cuModuleLoadData(&m, text));
	OK(cuStreamEndCapture(b.t, &graph));
}

TEST(what_a_capture_forbids)
{
	child(refused);
}

struct waiter {
	struct program *p;
	pthread_t thread;
	bool *stop;
};

/* Who has waited asks what has ended. */
static void *launch_and_wait(void *arg)
{
	struct waiter *me = arg;
	CUstream s;

	OK(cuCtxSetCurrent(me->p->ctx));
	MUST(cuStreamCreate(&s, 1));
	while (!__atomic_load_n(me->stop, __ATOMIC_RELAXED)) {
		OK(program_spin(me->p, 1, 10, s));
		OK(program_spin(me->p, 1, 10, s));
		OK(cuStreamSynchronize(s));
	}
	return NULL;
}

static void waits(void *arg)
{
	struct waiter t[6];
	struct capturer c;
	struct program p;
	int i;

	(void)arg;
	setenv("GPUSHARE_CUT", "off", 1);
	program_start(&p);
	capturer_start(&c, p.ctx);
	for (i = 0; i < 6; i++) {
		t[i] = (struct waiter){ .p = &p, .stop = &c.stop };
		ASSERT_EQ(0, pthread_create(&t[i].thread, NULL, launch_and_wait, &t[i]));
	}
	sleep(3);
	capturer_end(&c);
	for (i = 0; i < 6; i++)
		pthread_join(t[i].thread, NULL);
}

TEST(others_wait_for_their_streams)
{
	child(waits);
}

#define MODULES	64u

/* Kernels that are cut for the first time: what it takes is loaded and allocated. */
static void cuts(const char *how, const char *way)
{
	CUfunction f[MODULES];
	CUstream s[MODULES];
	struct capturer c;
	struct program p;
	uint64_t before;
	CUdeviceptr d;
	CUmodule m;
	uint32_t n = 0, i;
	void *args[] = { &d, &n };

	setenv("GPUSHARE_CUT", how, 1);
	program_start(&p);
	MUST(cuMemAlloc_v2(&d, 4 * WORDS));
	for (i = 0; i < MODULES; i++) {
		MUST(cuModuleLoadData(&m, text));
		MUST(cuModuleGetFunction(&f[i], m, "one"));
		MUST(cuStreamCreate(&s[i], 1));
	}
	capturer_start(&c, p.ctx);
	for (i = 0; i < MODULES; i++)
		OK(cuLaunchKernel(f[i], 64, 1, 1, 1, 1, 1, 0, s[i], args, NULL));
	capturer_end(&c);
	OK(cuCtxSynchronize());
	/* None was given up. */
	before = launched("one", way);
	for (i = 0; i < MODULES; i++)
		OK(cuLaunchKernel(f[i], 64, 1, 1, 1, 1, 1, 0, s[i], args, NULL));
	OK(cuCtxSynchronize());
	EXPECT_EQ(MODULES, launched("one", way) - before);
}

static void slices(void *arg)
{
	(void)arg;
	cuts("slice", "slices");
}

static void tickets(void *arg)
{
	(void)arg;
	cuts("guard", "guarded");
}

TEST(others_cut_launches)
{
	child(slices);
	child(tickets);
}

/*
 * A capture that the wrapper doesn't follow, as it began past it: the question of a thread is
 * refused, and what runs hasn't ended by that.
 */
static void unknown_capture(void *arg)
{
	CUresult (*begin)(CUstream s, CUstreamCaptureMode mode) = (__typeof__(begin))dlsym(
		dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), "cuStreamBeginCapture_v2");
	int *fds = arg;
	struct bench b;
	char c;

	ASSERT_TRUE(begin != NULL);
	bench_make(&b);
	MUST(cuStreamWaitValue32_v2(b.s, b.there, 1, 0));
	MUST(launch(&b, b.s, 1));
	MUST(begin(b.t, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuEventSynchronize(b.e));	/* of which none was recorded */
	EXPECT_EQ(1, write(fds[1], "x", 1));
	EXPECT_EQ(1, read(fds[2], &c, 1));
	__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(b.s));
}

TEST(a_refusal_to_tell_is_no_end)
{
	struct gpushare_options o = { .size = sizeof(o), .group = "other" };
	struct gpushare *g;
	uint64_t before;
	int fds[4];
	pid_t pid;
	char c;

	bed_make(&w, 60000);
	setenv("GPUSHARE_CUT", "off", 1);
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, pipe(fds + 2));
	pid = child_start(unknown_capture, fds);
	EXPECT_EQ(1, read(fds[0], &c, 1));
	ASSERT_EQ(0, gpushare_open(&g, KEY, &o));
	/* What it has there isn't waited for; but it is there, and pays, and isn't idle. */
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(20 * SEC)));
	before = child_stats(&w, pid).usage_ns;
	sleep_ns(SEC / 2);
	EXPECT_EQ(GPUSHARE_WAITING, child_state(&w, pid));
	EXPECT_GE(child_stats(&w, pid).usage_ns, before + SEC / 5);
	EXPECT_EQ(1, write(fds[3], "x", 1));
	EXPECT_EQ(0, child_wait(pid));
	holder_end(g);
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

TEST_MAIN()
