// SPDX-License-Identifier: MIT
/* The gate: which calls wait for the grant, and what happens around it. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include "bed.h"

static struct world w;

/* Each form of launching, by its number; all do the same. */
enum { PLAIN, PLAIN_PTSZ, EX, EX_PTSZ, COOPERATIVE, COOPERATIVE_PTSZ, GRAPH, GRAPH_PTSZ,
	OWN_STREAM, KERNEL_HANDLE, FORMS };

static const char * const form_names[] = { "cuLaunchKernel", "cuLaunchKernel_ptsz",
	"cuLaunchKernelEx", "cuLaunchKernelEx_ptsz", "cuLaunchCooperativeKernel",
	"cuLaunchCooperativeKernel_ptsz", "cuGraphLaunch", "cuGraphLaunch_ptsz",
	"cuLaunchKernel into a stream", "cuLaunchKernel of a kernel handle" };

static CUgraphExec make_graph(struct program *p)
{
	uint32_t steps = 10;
	void *args[] = { &steps };
	CUgraphExec exec = NULL;
	CUgraph graph;
	CUstream s;

	MUST(cuStreamCreate(&s, 1));
	MUST(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuLaunchKernel(p->spin, 2, 1, 1, 1, 1, 1, 0, s, args, NULL));
	MUST(cuStreamEndCapture(s, &graph));
	MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuStreamDestroy_v2(s));
	return exec;
}

static CUfunction kernel_handle(void)
{
	static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry spin(.param .u32 steps) { ret; }\n";
	CUlibrary lib;
	CUkernel k = NULL;

	MUST(cuLibraryLoadData(&lib, text, NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel(&k, lib, "spin"));
	return (CUfunction)k;
}

static CUresult launch(int form, CUfunction f, CUgraphExec exec, CUstream s)
{
	CUlaunchConfig c = { .gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
			     .blockDimY = 1, .blockDimZ = 1 };
	uint32_t steps = 10;
	void *args[] = { &steps };

	switch (form) {
	case PLAIN_PTSZ:
		return cuLaunchKernel_ptsz(f, 2, 1, 1, 1, 1, 1, 0, s, args, NULL);
	case EX:
		return cuLaunchKernelEx(&c, f, args, NULL);
	case EX_PTSZ:
		return cuLaunchKernelEx_ptsz(&c, f, args, NULL);
	case COOPERATIVE:
		return cuLaunchCooperativeKernel(f, 2, 1, 1, 1, 1, 1, 0, s, args);
	case COOPERATIVE_PTSZ:
		return cuLaunchCooperativeKernel_ptsz(f, 2, 1, 1, 1, 1, 1, 0, s, args);
	case GRAPH:
		return cuGraphLaunch(exec, s);
	case GRAPH_PTSZ:
		return cuGraphLaunch_ptsz(exec, s);
	default:
		return cuLaunchKernel(f, 2, 1, 1, 1, 1, 1, 0, s, args, NULL);
	}
}

/* Captures, which must not wait; launches, which must. */
static void launch_one(void *arg)
{
	int form = *(int *)arg;
	struct program p;
	CUgraphExec exec;
	CUstream s = NULL;
	CUfunction f;

	program_start(&p);
	exec = make_graph(&p);
	f = form == KERNEL_HANDLE ? kernel_handle() : p.spin;
	if (form == OWN_STREAM)
		MUST(cuStreamCreate(&s, 1));
	OK(launch(form, f, exec, s));
	OK(cuCtxSynchronize());
}

TEST_LIMIT(each_form_waits_for_the_grant, 120)
{
	struct gpushare *g;
	pid_t pid;
	int form;

	bed_make(&w, 60000);
	for (form = 0; form < FORMS; form++) {
		g = holder_begin("other");
		pid = child_start(launch_one, &form);
		EXPECT_TRUE(WAIT_FOR(child_state(&w, pid) & GPUSHARE_WAITING));
		EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
		holder_end(g);
		EXPECT_EQ(0, child_wait(pid));
		if (test_failures) {
			printf("# %s\n", form_names[form]);
			break;
		}
	}
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* 10^5 launches: what is in flight stays bounded, and the sum is right. */
static void many(void *arg)
{
	uint32_t n = 1, out[64];
	struct program p;
	CUdeviceptr d;
	void *args[] = { &d, &n };
	int i, count = *(int *)arg;

	void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches);
	uint64_t steps, blocks, done, most = 0;

	program_start(&p);
	counts = (__typeof__(counts))dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY),
					   "cpucuda_counts");
	ASSERT_TRUE(counts != NULL);
	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	OK(cuMemsetD32_v2(d, 0, 64));
	for (i = 0; i < count; i++) {
		counts(&steps, &blocks, &done);
		most = (uint64_t)i > done + most ? (uint64_t)i - done : most;
		MUST(cuLaunchKernel(p.add, 2, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	}
	printf("# at most %llu in flight\n", (unsigned long long)most);
	EXPECT_LE(most, 1024);
	OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
	for (i = 0; i < 64; i++)
		EXPECT_EQ(count, out[i]);
}

TEST_LIMIT(a_program_that_never_waits, 240)
{
	int n = 50000;
	pid_t pid[2];

	bed_make(&w, 60000);
	pid[0] = child_start(many, &n);
	pid[1] = child_start(many, &n);
	EXPECT_EQ(0, child_wait(pid[0]));
	EXPECT_EQ(0, child_wait(pid[1]));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static void spin_for_ever(void *arg)
{
	struct program p;

	(void)arg;
	program_start(&p);
	for (;;)
		MUST(program_spin(&p, 8, 20000, NULL));
}

/* What a killed program held is free, in the middle of its launches. */
TEST(killed_in_the_middle_of_a_launch)
{
	struct gpushare *g;
	pid_t pid;

	bed_make(&w, 60000);
	pid = child_start(spin_for_ever, NULL);
	EXPECT_TRUE(WAIT_FOR(child_state(&w, pid) & GPUSHARE_GRANTED));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_wait(pid));
	g = holder_begin("other");
	holder_end(g);
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static void launch_and_stay(void *arg)
{
	struct program p;
	int *fds = arg;
	char c;

	program_start(&p);
	MUST(program_spin(&p, 1, 100, NULL));
	/* Not a call more. */
	EXPECT_EQ(1, write(fds[1], "x", 1));
	EXPECT_EQ(1, read(fds[2], &c, 1));
}

/* The grant goes back though the program never says that it has ended. */
TEST(a_program_that_does_nothing_more_holds_nothing)
{
	struct gpushare *g;
	int fds[4];
	pid_t pid;
	char c;

	bed_make(&w, 60000);
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, pipe(fds + 2));
	pid = child_start(launch_and_stay, fds);
	EXPECT_EQ(1, read(fds[0], &c, 1));
	g = holder_begin("other");
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	holder_end(g);
	EXPECT_EQ(1, write(fds[3], "x", 1));
	EXPECT_EQ(0, child_wait(pid));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/*
 * What is on the device ends only after another launch. The device is taken away from it, and
 * that launch waits for its turn, but not for what is there already.
 */
static void launch_behind_what_stays(void *arg)
{
	int *fds = arg;
	CUdeviceptr there;
	struct program p;
	uint32_t *word;
	CUstream s, t;
	char c;

	program_start(&p);
	MUST(cuStreamCreate(&s, 1));
	MUST(cuStreamCreate(&t, 1));
	MUST(cuMemHostAlloc((void **)&word, 4096, 2));	/* mapped */
	MUST(cuMemHostGetDevicePointer_v2(&there, word, 0));
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	MUST(cuStreamWaitValue32_v2(s, there, 1, 0));
	MUST(program_spin(&p, 1, 10, s));
	EXPECT_EQ(1, write(fds[1], "x", 1));
	EXPECT_EQ(1, read(fds[2], &c, 1));
	alarm(30);
	OK(program_spin(&p, 1, 10, t));
	OK(cuStreamSynchronize(t));
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
}

TEST(a_launch_doesn_t_wait_for_what_the_device_was_taken_from)
{
	struct gpushare *g;
	int fds[4];
	pid_t pid;
	char c;

	bed_make(&w, 100);
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, pipe(fds + 2));
	pid = child_start(launch_behind_what_stays, fds);
	EXPECT_EQ(1, read(fds[0], &c, 1));
	g = holder_begin("other");	/* after the grace */
	EXPECT_EQ(1, write(fds[3], "x", 1));
	EXPECT_TRUE(WAIT_FOR(child_state(&w, pid) & GPUSHARE_WAITING));
	holder_end(g);
	EXPECT_EQ(0, child_wait(pid));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* A daemon that goes away harms nobody. */
static void launch_until_told(void *arg)
{
	struct pollfd told = { .fd = *(int *)arg, .events = POLLIN };
	struct program p;

	program_start(&p);
	while (!poll(&told, 1, 0))
		MUST(program_spin(&p, 4, 1000, NULL));
	OK(cuCtxSynchronize());
}

TEST(the_arbiter_goes_away)
{
	int fds[2];
	pid_t pid;

	bed_make(&w, 60000);
	ASSERT_EQ(0, pipe(fds));
	pid = child_start(launch_until_told, fds);
	EXPECT_TRUE(WAIT_FOR(child_state(&w, pid) & GPUSHARE_GRANTED));
	world_stop(&w, SIGKILL);
	sleep_ns(50 * MS);
	EXPECT_EQ(1, write(fds[1], "x", 1));
	EXPECT_EQ(0, child_wait(pid));
	world_remove(&w);
}

/* A child that is forked before the first call is a program of its own. */
static void fork_first(void *arg)
{
	struct program p;
	pid_t pid;

	(void)arg;
	pid = child_start(launch_one, &(int){ PLAIN });
	program_start(&p);
	MUST(program_spin(&p, 4, 1000, NULL));
	OK(cuCtxSynchronize());
	EXPECT_EQ(0, child_wait(pid));
}

/* The wrapper was there before the fork, CUDA wasn't begun. */
static void fork_after_a_question(void *arg)
{
	int version;

	OK(cuDriverGetVersion(&version));
	fork_first(arg);
}

TEST(forked_programs)
{
	bed_make(&w, 60000);
	EXPECT_EQ(0, child_wait(child_start(fork_first, NULL)));
	EXPECT_EQ(0, child_wait(child_start(fork_after_a_question, NULL)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* Threads with their default streams, streams of their own, and captures. */
struct worker {
	struct program *p;
	int n;
};

static void *work(void *arg)
{
	struct worker *me = arg;
	uint32_t steps = 100;
	void *args[] = { &steps };
	CUgraph graph;
	CUstream s;
	int i;

	OK(cuCtxSetCurrent(me->p->ctx));
	for (i = 0; i < 200; i++) {
		OK(cuStreamCreate(&s, 1));
		OK(cuLaunchKernel(me->p->spin, 2, 1, 1, 1, 1, 1, 0, s, args, NULL));
		OK(cuLaunchKernel_ptsz(me->p->spin, 2, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
		if (me->n % 2 && i % 10 == 0) {
			OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
			OK(cuLaunchKernel(me->p->spin, 2, 1, 1, 1, 1, 1, 0, s, args, NULL));
			OK(cuStreamEndCapture(s, &graph));
			OK(cuGraphDestroy(graph));
		}
		if (i % 7 == 0)
			OK(cuStreamSynchronize_ptsz(NULL));
		OK(cuStreamDestroy_v2(s));
	}
	return NULL;
}

static void threads(void *arg)
{
	struct worker workers[8];
	struct program p;
	pthread_t t[8];
	int i;

	(void)arg;
	program_start(&p);
	for (i = 0; i < 8; i++) {
		workers[i] = (struct worker){ &p, i };
		pthread_create(&t[i], NULL, work, &workers[i]);
	}
	for (i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	OK(cuCtxSynchronize());
	OK(cuCtxDestroy_v2(p.ctx));
}

TEST(threads_streams_and_captures)
{
	struct gpushare *g;

	bed_make(&w, 60000);
	EXPECT_EQ(0, child_wait(child_start(threads, NULL)));
	g = holder_begin("other");	/* nothing is held any more */
	holder_end(g);
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/*
 * Modules come and go in several threads, their kernels are cut, and what is set on
 * them again and again neither stops that nor is lost.
 */
static void *load_cut_unload(void *arg)
{
	uint32_t n = 3, out[512];
	struct worker *me = arg;
	CUmodule module;
	CUfunction add;
	CUdeviceptr d;
	void *args[] = { &d, &n };
	int i, j;

	OK(cuCtxSetCurrent(me->p->ctx));
	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	for (i = 0; i < 25; i++) {
		MUST(program_load(&module));
		MUST(cuModuleGetFunction(&add, module, "add"));
		for (j = 0; j < 12; j++)
			OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					      1024 * j));
		OK(cuMemsetD32_v2(d, 0, 512));
		OK(cuLaunchKernel(add, 16, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
		OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
		for (j = 0; j < 512; j++)
			EXPECT_EQ(3, out[j]);
		OK(cuModuleUnload(module));
	}
	OK(cuMemFree_v2(d));
	return NULL;
}

static void modules_in_threads(void *arg)
{
	void (*counts)(uint64_t *steps, uint64_t *blocks, uint64_t *launches);
	uint64_t steps, blocks, launches;
	struct worker me;
	struct program p;
	pthread_t t[4];
	int i;

	(void)arg;
	setenv("GPUSHARE_CUT", "slice", 1);
	program_start(&p);
	me.p = &p;
	counts = (__typeof__(counts))dlsym(dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY),
					   "cpucuda_counts");
	ASSERT_TRUE(counts != NULL);
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, load_cut_unload, &me);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	counts(&steps, &blocks, &launches);
	EXPECT_GE(launches, 4 * 25 * 2);	/* each in two parts at least */
}

TEST(modules_come_and_go_in_threads)
{
	bed_make(&w, 60000);
	EXPECT_EQ(0, child_wait(child_start(modules_in_threads, NULL)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* Threads ask for the same function at the same time, and launch it at once. */
static pthread_barrier_t together;
static CUmodule of_all;

static void *ask_and_launch(void *arg)
{
	uint32_t n = 3, out[512];
	struct worker *me = arg;
	CUfunction add;
	CUdeviceptr d;
	void *args[] = { &d, &n };
	int i, j;

	OK(cuCtxSetCurrent(me->p->ctx));
	MUST(cuMemAlloc_v2(&d, sizeof(out)));
	for (i = 0; i < 20; i++) {
		if (!me->n)
			MUST(program_load(&of_all));
		OK(cuMemsetD32_v2(d, 0, 512));
		pthread_barrier_wait(&together);
		MUST(cuModuleGetFunction(&add, of_all, "add"));
		OK(cuLaunchKernel(add, 16, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
		OK(cuMemcpyDtoH_v2(out, d, sizeof(out)));
		for (j = 0; j < 512; j++)
			EXPECT_EQ(3, out[j]);
		pthread_barrier_wait(&together);
		if (!me->n)
			OK(cuModuleUnload(of_all));
	}
	OK(cuMemFree_v2(d));
	return NULL;
}

static void functions_in_threads(void *arg)
{
	struct worker workers[4];
	struct program p;
	pthread_t t[4];
	int i;

	(void)arg;
	setenv("GPUSHARE_CUT", "slice", 1);
	program_start(&p);
	pthread_barrier_init(&together, NULL, 4);
	for (i = 0; i < 4; i++) {
		workers[i] = (struct worker){ &p, i };
		pthread_create(&t[i], NULL, ask_and_launch, &workers[i]);
	}
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

TEST(threads_ask_for_the_same_function)
{
	bed_make(&w, 60000);
	EXPECT_EQ(0, child_wait(child_start(functions_in_threads, NULL)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* A function out of a list is launched while another thread asks for it by its name. */
static void *ask_by_name(void *arg)
{
	struct worker *me = arg;
	CUfunction f;
	int i;

	OK(cuCtxSetCurrent(me->p->ctx));
	for (i = 0; i < 20; i++) {
		pthread_barrier_wait(&together);
		OK(cuModuleGetFunction(&f, of_all, "spin"));
		pthread_barrier_wait(&together);
	}
	return NULL;
}

static void listed(void *arg)
{
	struct program p, of_list;
	struct worker other = { &p, 0 };
	CUfunction f[2];
	pthread_t t;
	int i, j;

	(void)arg;
	setenv("GPUSHARE_CUT", "off", 1);
	program_start(&p);
	pthread_barrier_init(&together, NULL, 2);
	pthread_create(&t, NULL, ask_by_name, &other);
	for (i = 0; i < 20; i++) {
		MUST(program_load(&of_all));
		MUST(cuModuleEnumerateFunctions(f, 2, of_all));
		of_list.spin = f[0];
		pthread_barrier_wait(&together);
		for (j = 0; j < 5; j++)
			OK(program_spin(&of_list, 2, 10, NULL));
		pthread_barrier_wait(&together);
		OK(cuCtxSynchronize());
		OK(cuModuleUnload(of_all));
	}
	pthread_join(t, NULL);
}

TEST(a_function_from_a_list_that_another_thread_names)
{
	bed_make(&w, 60000);
	EXPECT_EQ(0, child_wait(child_start(listed, NULL)));
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

TEST_MAIN()
