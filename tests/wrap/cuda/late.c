// SPDX-License-Identifier: MIT
/*
 * What is submitted later than its call returned: errors of it, and what mustn't wait for it.
 * The driver on the CPU refuses launches as it is told.
 */
#include "late.h"

static CUresult launch_packed(struct bench *b, CUstream s, uint32_t n)
{
	struct {
		CUdeviceptr o;
		uint32_t n;
	} packed = { b->d, n };
	size_t size = 12;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
			  CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };

	return cuLaunchKernel(b->f, WORDS, 1, 1, 1, 1, 1, 0, s, NULL, extra);
}

static CUresult launch_telling(struct bench *b, CUstream s, CUevent begun)
{
	CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
				.value.launchCompletionEvent.event = begun };
	CUlaunchConfig c = { .gridDimX = WORDS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
			     .blockDimY = 1, .blockDimZ = 1, .hStream = s, .numAttrs = 1,
			     .attrs = &a };
	uint32_t n = 0;
	void *args[] = { &b->d, &n };

	return cuLaunchKernelEx(&c, b->f, args, NULL);
}

/* Nothing that comes into the stream runs, so what is cut has a rest, which stays. */
static void stall(struct bench *b)
{
	__atomic_store_n(b->word, 0, __ATOMIC_RELEASE);
	MUST(cuStreamWaitValue32_v2(b->s, b->there, 1, 0));
}

static CUresult ask_stream(CUstream s)
{
	CUresult r;

	while ((r = cuStreamQuery(s)) == CUDA_ERROR_NOT_READY)
		;
	return r;
}

static CUresult ask_event(CUevent e)
{
	CUresult r;

	while ((r = cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
		;
	return r;
}

enum { STREAM, QUERY, CONTEXT, CONTEXT_BY_NAME, EVENT, EVENT_QUERY, COPY, WAYS };

static CUresult wait_by(struct bench *b, int way)
{
	uint32_t out[2] = { 77, 77 };
	CUresult r;

	switch (way) {
	case STREAM:
		return cuStreamSynchronize(b->s);
	case QUERY:
		return ask_stream(b->s);
	case CONTEXT:
		return cuCtxSynchronize();
	case CONTEXT_BY_NAME:
		return cuCtxSynchronize_v2(b->p.ctx);
	case EVENT:
		return cuEventSynchronize(b->e);
	case EVENT_QUERY:
		return ask_event(b->e);
	default:
		r = cuMemcpyDtoH_v2(out, b->d, sizeof(out));
		EXPECT_EQ(r, out[0] == 77 ? NO_ROOM : 0);	/* refused, it does nothing */
		return r;
	}
}

static void told(void *arg)
{
	struct bench b;
	int way;

	(void)arg;
	bench_make(&b);
	for (way = 0; way < WAYS; way++) {
		refuse("launch", 3);
		OK(launch(&b, b.s, 1));
		OK(cuEventRecord(b.e, b.s));
		/* Who waits for another stream, isn't told, and takes it from nobody. */
		OK(cuStreamSynchronize(b.t));
		OK(ask_stream(b.t));
		EXPECT_EQ(NO_ROOM, wait_by(&b, way));
		OK(wait_by(&b, way));
		OK(cuCtxSynchronize());
	}
	/* All goes on. */
	OK(launch(&b, b.s, 1));
	OK(cuCtxSynchronize());
}

TEST(the_next_call_that_waits_tells_of_it)
{
	child(told);
}

static void behind(void *arg)
{
	static uint32_t out[WORDS];
	struct bench b, other;
	uint32_t i;

	(void)arg;
	bench_make(&b);
	/* A slice in the middle, while all waits; the event behind it happens. */
	stall(&b);
	OK(launch(&b, b.s, 1));
	OK(cuEventRecord(b.e, b.s));
	refuse("launch", 1);
	__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
	EXPECT_EQ(NO_ROOM, cuEventSynchronize(b.e));
	OK(cuStreamSynchronize(b.s));

	/*
	 * The first slice of a launch that comes behind another's: nothing of it has run, and
	 * it goes whole, as the program gave it.
	 */
	OK(cuMemsetD32_v2(b.d, 0, WORDS));
	OK(cuCtxSynchronize());
	stall(&b);
	refuse("launch", WORDS / 4 + 1);		/* slices have as many blocks as there are units */
	OK(launch(&b, b.s, 1));
	OK(launch_packed(&b, b.s, 1));
	__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(b.s));
	OK(cuMemcpyDtoH_v2(out, b.d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 2; i++)
		;
	EXPECT_EQ(WORDS, i);

	/* The first slice of one that nothing is before, and of one in a thread's own stream. */
	OK(cuMemsetD32_v2(b.d, 0, WORDS));
	OK(cuCtxSynchronize());
	refuse("launch", 1);
	OK(launch(&b, b.s, 1));
	OK(cuStreamSynchronize(b.s));
	refuse("launch", 1);
	OK(launch(&b, CU_STREAM_PER_THREAD, 1));
	OK(cuCtxSynchronize());
	EXPECT_EQ(2, launched("one", "whole"));
	OK(cuMemcpyDtoH_v2(out, b.d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 2; i++)
		;
	EXPECT_EQ(WORDS, i);

	/* A stream that is no more: its context tells. One of a context that ends: nobody. */
	refuse("launch", 3);
	OK(launch(&b, b.s, 1));
	OK(cuStreamDestroy_v2(b.s));
	EXPECT_EQ(NO_ROOM, cuCtxSynchronize());
	OK(cuCtxSynchronize());
	bench_make(&other);
	refuse("launch", 3);
	OK(launch(&other, other.s, 1));
	OK(cuCtxDestroy_v2(other.p.ctx));
	OK(cuCtxSetCurrent(b.p.ctx));
	OK(cuCtxSynchronize());
	OK(ask_stream(b.t));
}

TEST(errors_in_the_middle_at_the_start_and_at_the_end)
{
	child(behind);
}

/* An error that stays is told each time, by the driver. */
static void stays(void *arg)
{
	struct bench b;
	CUresult r;

	(void)arg;
	bench_make(&b);
	OK(launch(&b, b.s, 2));		/* it traps */
	r = cuStreamSynchronize(b.s);
	EXPECT_NE(CUDA_SUCCESS, r);
	EXPECT_NE(NO_ROOM, r);
	EXPECT_EQ(r, cuStreamSynchronize(b.s));
	EXPECT_EQ(r, cuCtxSynchronize());
	EXPECT_EQ(r, cuCtxSynchronize());
}

TEST(errors_that_stay)
{
	child(stays);
}

/* What comes into one stream doesn't wait for the rest of another: else this never ends. */
static void beside(void *arg)
{
	static uint32_t out[WORDS];
	uint32_t i, *pinned;
	struct bench b;
	CUdeviceptr d;

	(void)arg;
	bench_make(&b);
	MUST(cuMemAlloc_v2(&d, 4 * WORDS));
	MUST(cuMemHostAlloc((void **)&pinned, 4 * WORDS, 0));
	stall(&b);
	OK(launch(&b, b.s, 1));
	OK(cuMemsetD32Async(d, 7, WORDS, b.t));
	OK(cuMemsetD2D32Async(d, 4, 8, 1, 1, b.t));
	OK(cuMemcpyDtoHAsync_v2(pinned, d, 4 * WORDS, b.t));
	OK(cuMemcpyAsync(d, d + 4, 4, b.t));
	OK(cuStreamSynchronize(b.t));
	EXPECT_EQ(8, pinned[0]);
	EXPECT_EQ(7, pinned[WORDS - 1]);
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(b.s));
	OK(cuStreamWriteValue32_v2(b.t, b.there, 1, 0));
	/* What comes into the same does. */
	OK(cuMemcpyDtoHAsync_v2(pinned, b.d, 4 * WORDS, b.s));
	OK(cuStreamSynchronize(b.s));
	OK(cuMemcpyDtoH_v2(out, b.d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 1 && pinned[i] == 1; i++)
		;
	EXPECT_EQ(WORDS, i);
}

TEST(copies_follow_their_stream_alone)
{
	child(beside);
}

/* An error that nobody has asked for doesn't keep events from being captured. */
static void captures(void *arg)
{
	CUgraphExec exec;
	struct bench b;
	CUgraph graph;
	CUstream u;
	CUevent e;

	(void)arg;
	bench_make(&b);
	MUST(cuStreamCreate(&u, 1));
	MUST(cuEventCreate(&e, 0));
	refuse("launch", 3);
	OK(launch(&b, b.s, 1));
	OK(cuStreamDestroy_v2(b.s));
	MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(launch(&b, b.t, 1));
	OK(cuEventRecord(b.e, b.t));
	OK(cuStreamWaitEvent(u, b.e, 0));
	OK(launch(&b, u, 1));
	OK(cuEventRecord(e, u));
	OK(cuEventRecord(e, u));
	OK(cuStreamWaitEvent(b.t, e, 0));
	MUST(cuStreamEndCapture(b.t, &graph));
	MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	EXPECT_EQ(NO_ROOM, wait_by(&b, COPY));
	OK(cuGraphLaunch(exec, b.t));
	OK(cuCtxSynchronize());
	OK(cuGraphExecDestroy(exec));
	/* One that is captured can't be asked: that the driver here sees to it, is seen here. */
	MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(b.e, b.t));
	EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(b.e));
	EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(b.t, &graph));
}

TEST(an_untold_error_and_captures)
{
	child(captures);
}

/* The word is written in a while, by another thread: until then the stream has a rest. */
struct release {
	struct bench *b;
	pthread_t thread;
	uint32_t done;
};

static void *release_later(void *arg)
{
	struct release *r = arg;

	usleep(100000);
	__atomic_store_n(&r->done, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(r->b->word, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* A launch with a rest, and the end of its standing still is near. */
static void begin_rest(struct release *r, struct bench *b)
{
	*r = (struct release){ .b = b };
	stall(b);
	OK(launch(b, b->s, 1));
	ASSERT_EQ(0, pthread_create(&r->thread, NULL, release_later, r));
}

static bool end_rest(struct release *r)
{
	bool done = __atomic_load_n(&r->done, __ATOMIC_SEQ_CST);

	pthread_join(r->thread, NULL);
	OK(cuStreamSynchronize(r->b->s));
	return done;
}

/* Each waits until the rest is with the driver, or whatever it does would come too early. */
static void settles(void *arg)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemGenericAllocationHandle h;
	uint32_t *pinned, other = 1;
	CUdeviceptr mapped, d;
	struct release r;
	CUgraphExec exec;
	struct bench b;
	CUgraph graph;
	CUarray array;
	CUevent e, of_blocks;
	CUmodule m;
	CUstream u;

	(void)arg;
	bench_make(&b);
	/* An event that is recorded behind the rest, and a graph that waits for it. */
	MUST(cuMemHostAlloc((void **)&pinned, 4096, 0));
	MUST(cuStreamCreate(&u, 1));
	MUST(cuEventCreate(&e, 0));
	MUST(cuEventRecord(b.e, b.t));
	MUST(cuGraphCreate(&graph, 0));
	{
		CUgraphNode wait, copy;
		CUDA_MEMCPY3D what = {
			.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = b.d + 4 * (WORDS - 1),
			.dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = pinned,
			.WidthInBytes = 4, .Height = 1, .Depth = 1,
		};

		MUST(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, b.e));
		MUST(cuGraphAddMemcpyNode(&copy, graph, &wait, 1, &what, b.p.ctx));
	}
	MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
	*pinned = 77;
	begin_rest(&r, &b);
	OK(cuEventRecord(b.e, b.s));
	OK(cuGraphLaunch(exec, b.t));
	EXPECT_TRUE(end_rest(&r));
	OK(cuStreamSynchronize(b.t));
	EXPECT_EQ(1, *pinned);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	/* The same event of the blocks of a later launch, which hasn't begun. */
	MUST(cuEventCreate(&of_blocks, CU_EVENT_DISABLE_TIMING));
	MUST(cuStreamWaitValue32_v2(b.t, b.there + 4, 1, 0));
	begin_rest(&r, &b);
	OK(cuEventRecord(of_blocks, b.s));
	OK(launch_telling(&b, b.t, of_blocks));
	EXPECT_TRUE(end_rest(&r));
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(of_blocks));
	__atomic_store_n(b.word + 1, 1, __ATOMIC_RELEASE);
	OK(cuEventSynchronize(of_blocks));
	/* One that was recorded in a capture can't be asked, but may be recorded. */
	MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(e, b.t));
	MUST(cuStreamEndCapture(b.t, &graph));
	begin_rest(&r, &b);
	OK(cuEventRecord(e, b.s));
	EXPECT_TRUE(end_rest(&r));
	OK(cuEventQuery(e));
	OK(cuGraphDestroy(graph));
	/* Memory of all kinds, though nobody uses it. */
	MUST(cuMemAddressReserve(&mapped, 2 << 20, 0, 0, 0));
	MUST(cuMemCreate(&h, 2 << 20, &prop, 0));
	MUST(cuMemMap(mapped, 2 << 20, 0, h, 0));
	begin_rest(&r, &b);
	OK(cuMemUnmap(mapped, 2 << 20));
	EXPECT_TRUE(end_rest(&r));
	begin_rest(&r, &b);
	OK(cuMemRelease(h));
	EXPECT_TRUE(end_rest(&r));
	OK(cuMemAddressFree(mapped, 2 << 20));
	MUST(cuMemAlloc_v2(&d, 100));
	begin_rest(&r, &b);
	OK(cuMemFree_v2(d));
	EXPECT_TRUE(end_rest(&r));
	MUST(cuArrayCreate_v2(&array, &(CUDA_ARRAY_DESCRIPTOR){ 16, 1, 0x20, 1 }));
	begin_rest(&r, &b);
	OK(cuArrayDestroy(array));
	EXPECT_TRUE(end_rest(&r));
	/* What belongs to the program's code, and to its streams. */
	MUST(program_load(&m));
	begin_rest(&r, &b);
	OK(cuModuleUnload(m));
	EXPECT_TRUE(end_rest(&r));
	begin_rest(&r, &b);
	OK(cuFuncSetCacheConfig(b.p.spin, 0));
	EXPECT_TRUE(end_rest(&r));
	begin_rest(&r, &b);
	MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_RELAXED));
	EXPECT_TRUE(end_rest(&r));
	MUST(cuStreamEndCapture(b.t, &graph));
	OK(cuGraphDestroy(graph));
	/* A copy that waits, though it isn't of that stream; and one that has it only by name. */
	begin_rest(&r, &b);
	OK(cuMemcpyDtoH_v2(&other, b.d, 4));
	EXPECT_TRUE(end_rest(&r));
	begin_rest(&r, &b);
	OK(cuMemcpyDtoHAsync_v2(pinned, b.d, 4, b.s));
	EXPECT_TRUE(end_rest(&r));
	/* And what needn't, doesn't. */
	stall(&b);
	OK(launch(&b, b.s, 1));
	OK(cuEventRecord(b.e, b.s));
	OK(cuStreamWaitEvent(b.t, b.e, 0));
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(b.e));
	__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(b.s));
	OK(cuStreamSynchronize(b.t));
}

TEST(what_could_come_too_early_waits_for_the_rest)
{
	child(settles);
}

/*
 * The program asks for a function that we don't know, which might submit anything past us: from
 * now on nothing is left for later, and what there is goes before all that comes. What such a
 * function does, one of the driver's own does here: all words become @value.
 */
static void past_us(struct bench *b, unsigned int value)
{
	CUresult (*f)(CUdeviceptr to, unsigned int v, size_t n, CUstream s) = (__typeof__(f))dlsym(
		dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), "cuMemsetD32Async");

	ASSERT_TRUE(f != NULL);
	OK(f(b->d, value, WORDS, b->s));
}

static void all_are(struct bench *b, uint32_t value)
{
	static uint32_t out[WORDS];
	uint32_t i;

	OK(cuStreamSynchronize(b->s));
	OK(cuMemcpyDtoH_v2(out, b->d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == value; i++)
		;
	EXPECT_EQ(WORDS, i);
}

static void stranger(void *arg)
{
	struct release r;
	struct bench b;
	void *f;

	(void)arg;
	bench_make(&b);
	begin_rest(&r, &b);
	OK(cuGetProcAddress_v2("cuNotYetKnown", &f, 13000, 0, NULL));
	past_us(&b, 7);
	EXPECT_TRUE(end_rest(&r));
	all_are(&b, 7);
	OK(launch(&b, b.s, 1));
	past_us(&b, 8);
	all_are(&b, 8);
}

/* One whose like hasn't been waits for the rest that is there, before it puts its own. */
static void *launch_unlike(void *arg)
{
	struct bench *b = arg;
	uint32_t n = 1;
	void *args[] = { &b->d, &n };

	OK(cuCtxSetCurrent(b->p.ctx));
	OK(cuLaunchKernel(b->f, WORDS, 1, 1, 1, 1, 1, 16, b->s, args, NULL));
	return NULL;
}

static void stranger_beside(void *arg)
{
	struct release r;
	pthread_t thread;
	struct bench b;
	void *f;

	(void)arg;
	bench_make(&b);
	begin_rest(&r, &b);
	ASSERT_EQ(0, pthread_create(&thread, NULL, launch_unlike, &b));
	usleep(30000);
	OK(cuGetProcAddress_v2("cuNotYetKnown", &f, 13000, 0, NULL));
	pthread_join(thread, NULL);
	past_us(&b, 7);
	EXPECT_TRUE(end_rest(&r));
	all_are(&b, 7);
}

TEST(a_function_that_we_don_t_know_in_the_middle_of_a_rest)
{
	child(stranger);
}

TEST(a_function_that_we_don_t_know_beside_a_launch_that_waits)
{
	child(stranger_beside);
}

#define REFUSED(x) EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, x)

/* What its parent had begun is nothing for a child, and nothing keeps it waiting. */
static void in_fork(struct bench *b, CUgraphExec exec)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUmemGenericAllocationHandle h;
	size_t left, total;
	CUdeviceptr d;
	CUmodule m;
	CUstream s;
	CUgraph g;

	alarm(20);
	/* These would wait for all that the parent hasn't submitted. */
	EXPECT_NE(CUDA_SUCCESS, cuModuleUnload(NULL));
	EXPECT_NE(CUDA_SUCCESS, cuFuncSetCacheConfig(NULL, 0));
	REFUSED(cuCtxSynchronize());
	REFUSED(cuStreamSynchronize(b->s));
	REFUSED(cuEventSynchronize(b->e));
	REFUSED(cuMemcpyDtoH_v2(&total, b->d, 4));
	REFUSED(cuStreamQuery(b->s));
	REFUSED(cuEventQuery(b->e));
	/* These for the parent's grant. */
	REFUSED(launch(b, b->s, 1));
	REFUSED(launch(b, b->t, 1));
	REFUSED(launch(b, NULL, 1));
	REFUSED(launch_packed(b, b->s, 1));
	REFUSED(cuGraphLaunch(exec, b->t));
	/* And the rest. */
	REFUSED(cuInit(0));
	REFUSED(cuCtxSetCurrent(b->p.ctx));
	REFUSED(cuMemAlloc_v2(&d, 4096));
	REFUSED(cuMemFree_v2(b->d));
	REFUSED(cuMemCreate(&h, 2 << 20, &prop, 0));
	REFUSED(cuMemGetInfo_v2(&left, &total));
	REFUSED(cuDeviceTotalMem_v2(&total, 0));
	REFUSED(program_load(&m));
	REFUSED(cuStreamCreate(&s, 1));
	REFUSED(cuEventRecord(b->e, b->s));
	REFUSED(cuStreamWaitEvent(b->t, b->e, 0));
	REFUSED(cuStreamBeginCapture_v2(b->t, CU_STREAM_CAPTURE_MODE_GLOBAL));
	REFUSED(cuStreamEndCapture(b->t, &g));
	REFUSED(cuCtxDestroy_v2(b->p.ctx));
	EXPECT_FALSE(child_is_client(&w, getpid()));	/* the arbiter wasn't told of it */
}

/* A child of fork() has no rest: nothing waits there for what its parent hasn't submitted. */
static void forks(void *arg)
{
	static uint32_t out[WORDS];
	CUgraphExec exec;
	struct bench b;
	CUgraph graph;
	uint32_t i;
	pid_t pid;

	(void)arg;
	bench_make(&b);
	MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(launch(&b, b.t, 1));
	MUST(cuStreamEndCapture(b.t, &graph));
	MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
	stall(&b);
	OK(launch(&b, b.s, 1));
	OK(cuEventRecord(b.e, b.s));
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(b.e));
	pid = fork();
	if (!pid) {
		in_fork(&b, exec);
		fflush(NULL);
		_exit(test_failures);
	}
	EXPECT_EQ(0, child_wait(pid));
	EXPECT_TRUE(child_is_client(&w, getpid()));
	/* One that ends as programs do, and one that runs another. */
	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			alarm(20);
			if (i)
				execlp("true", "true", NULL);
			exit(i);
		}
		EXPECT_EQ(0, child_wait(pid));
	}
	/* The parent has lost nothing by it. */
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(b.e));
	__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(b.s));
	OK(cuEventQuery(b.e));
	OK(cuMemcpyDtoH_v2(out, b.d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 1; i++)
		;
	EXPECT_EQ(WORDS, i);
}

TEST(fork_in_the_middle_of_a_rest)
{
	child(forks);
}

static void *load_slowly(void *arg)
{
	EXPECT_TRUE(dlopen(arg, RTLD_NOW) != NULL);
	return NULL;
}

/* Who holds our lock on streams doesn't wait for who loads a library, for that may wait for us. */
static void loads(void *arg)
{
	const char *o = getenv("O");
	int begun[2], end[2];
	char path[400], c;
	struct bench b;
	pthread_t t;

	(void)arg;
	setenv("GPUSHARE_CUT", "off", 1);
	snprintf(path, sizeof(path), "%s/tests/wrap/cuda/slow-start.so", o ? o : "build/user");
	program_start(&b.p);
	MUST(cuStreamCreate(&b.s, 1));
	MUST(cuMemHostAlloc((void **)&b.word, 4096, 2));
	MUST(cuMemHostGetDevicePointer_v2(&b.there, (void *)b.word, 0));
	OK(cuStreamSynchronize(b.s));	/* from now on we know this function */
	/* A first launch is timed, but hasn't ended. */
	stall(&b);
	MUST(program_spin(&b.p, 1, 10, b.s));
	ASSERT_EQ(0, pipe(begun));
	ASSERT_EQ(0, pipe(end));
	{
		char pipes[64];

		snprintf(pipes, sizeof(pipes), "%d %d", begun[1], end[0]);
		setenv("SLOW_START", pipes, 1);
	}
	ASSERT_EQ(0, pthread_create(&t, NULL, load_slowly, path));
	EXPECT_EQ(1, read(begun[0], &c, 1));	/* the loader's lock is held now */
	alarm(20);
	__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(b.s));	/* the launch's time is asked for */
	alarm(0);
	EXPECT_EQ(1, write(end[1], "x", 1));
	pthread_join(t, NULL);
}

TEST(a_library_that_is_being_loaded_holds_up_nobody)
{
	child(loads);
}

TEST_MAIN()
