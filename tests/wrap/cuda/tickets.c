// SPDX-License-Identifier: MIT
/* Launches by tickets: how they end, and what they are without. */
#include <dirent.h>
#include "late.h"

/* Contexts that end while launches by tickets are in them, and others after them. */
static void ends(void *arg)
{
	static uint32_t out[WORDS];
	struct bench b;
	uint32_t i, k;

	(void)arg;
	setenv("GPUSHARE_CUT", "workers", 1);
	for (i = 0; i < 8; i++) {
		bench_make(&b);
		OK(cuMemsetD32_v2(b.d, 0, WORDS));
		OK(launch(&b, b.s, 1));
		if (i & 1) {
			OK(cuMemcpyDtoH_v2(out, b.d, sizeof(out)));
			for (k = 0; k < WORDS && out[k] == 1; k++)
				;
			EXPECT_EQ(WORDS, k);
		}
		OK(launch(&b, b.t, 1));
		OK(launch(&b, b.t, 1));
		OK(cuCtxDestroy_v2(b.p.ctx));
	}
}

TEST(contexts_end_with_launches_by_tickets)
{
	child(ends);
}

struct own_launch {
	struct bench *b;
	pthread_t thread;
	uint32_t done;
};

/* A thread's own stream has no rest: that call returns when all of it was done. */
static void *launch_own(void *arg)
{
	struct own_launch *r = arg;
	uint32_t n = 1;
	void *args[] = { &r->b->d, &n };

	OK(cuCtxSetCurrent(r->b->p.ctx));
	OK(cuStreamWaitValue32_v2_ptsz(NULL, r->b->there, 1, 0));
	OK(cuLaunchKernel_ptsz(r->b->f, WORDS, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	__atomic_store_n(&r->done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void beside_a_capture(void *arg)
{
	uint64_t whole = 0;
	struct own_launch r;
	struct bench b;
	CUgraph graph;
	bool done;
	int tries;

	(void)arg;
	setenv("GPUSHARE_CUT", "guard", 1);
	bench_make(&b);
	for (tries = 0; tries < 50; tries++) {
		r = (struct own_launch){ .b = &b };
		__atomic_store_n(b.word, 0, __ATOMIC_RELEASE);
		ASSERT_EQ(0, pthread_create(&r.thread, NULL, launch_own, &r));
		usleep(50000);
		MUST(cuStreamBeginCapture_v2(b.t, CU_STREAM_CAPTURE_MODE_GLOBAL));
		usleep(50000);
		done = __atomic_load_n(&r.done, __ATOMIC_SEQ_CST);
		OK(cuStreamEndCapture(b.t, &graph));
		__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
		pthread_join(r.thread, NULL);
		OK(cuGraphDestroy(graph));
		if (launched("one", "whole") == whole)
			break;
		whole++;	/* it came when the capture had begun */
	}
	EXPECT_FALSE(done);
	EXPECT_EQ(2, launched("one", "guarded"));
}

TEST(a_capture_begins_beside_a_launch_by_tickets)
{
	child(beside_a_capture);
}

static uint64_t feeder_sleeps(void)
{
	DIR *threads = opendir("/proc/self/task");
	unsigned long long n = 0;
	char path[300], line[100];
	struct dirent *d;
	bool is_it;
	FILE *f;

	ASSERT_TRUE(threads != NULL);
	while ((d = readdir(threads))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", d->d_name);
		f = fopen(path, "r");
		is_it = false;
		while (f && fgets(line, sizeof(line), f)) {
			is_it |= !strcmp(line, "Name:\tgpushare-feed\n");
			if (is_it)
				sscanf(line, "voluntary_ctxt_switches: %llu", &n);
		}
		if (f)
			fclose(f);
	}
	closedir(threads);
	return n;
}

/* How often the feeder slept within a millisecond, of some fifty. */
static double sleeps(void)
{
	uint64_t begin = now_ns(), before = feeder_sleeps();

	usleep(50000);
	return (double)(feeder_sleeps() - before) * MS / (double)(now_ns() - begin);
}

static uint32_t enough;

/* Has it at once, as a launch that doesn't stop isn't waited for: then we wait, beside it. */
static void *want_it(void *arg)
{
	struct gpushare *g = holder_begin(arg);

	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED))
		usleep(1000);
	holder_end(g);
	return NULL;
}

/* Long ones are looked at each 100 us, so not more than ten times a millisecond. */
static void looks(void *arg)
{
	pthread_t other;
	struct bench b;

	(void)arg;
	setenv("GPUSHARE_CUT", "guard", 1);
	bench_make(&b);
	__atomic_store_n(b.word, 0, __ATOMIC_RELEASE);
	MUST(cuStreamWaitValue32_v2(b.s, b.there, 1, 0));
	OK(launch(&b, b.s, 1));
	usleep(100000);
	EXPECT_LE(sleeps(), 12);
	ASSERT_EQ(0, pthread_create(&other, NULL, want_it, "other"));
	EXPECT_TRUE(WAIT_FOR(sleeps() > 12));
	__atomic_store_n(&enough, 1, __ATOMIC_RELAXED);
	__atomic_store_n(b.word, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(b.s));
	pthread_join(other, NULL);
	EXPECT_EQ(2, launched("one", "guarded"));
}

TEST(looks_are_quicker_while_somebody_waits)
{
	child(looks);
}

/* What launches by tickets need and can't get: they go whole, and nothing is lost by it. */
static void without_room(void *arg)
{
	static uint32_t out[WORDS];
	size_t left, before, total;
	struct bench b;
	uint32_t i;

	(void)arg;
	setenv("GPUSHARE_CUT", "guard", 1);
	program_start(&b.p);
	MUST(cuModuleLoadData(&b.p.module, text));
	MUST(cuModuleGetFunction(&b.f, b.p.module, "one"));
	MUST(cuMemAlloc_v2(&b.d, 4 * WORDS));
	MUST(cuMemsetD32_v2(b.d, 0, WORDS));
	refuse("host memory", 1);
	OK(launch(&b, NULL, 1));
	OK(cuCtxSynchronize());
	OK(cuMemGetInfo_v2(&before, &total));
	refuse("host memory", 1);
	OK(launch(&b, NULL, 1));
	OK(cuCtxSynchronize());
	OK(cuMemGetInfo_v2(&left, &total));
	EXPECT_EQ(before, left);
	EXPECT_EQ(2, launched("one", "whole"));
	EXPECT_EQ(0, launched("one", "guarded"));
	/* How far one came can't be asked: it runs on, and the next uses nothing of it. */
	MUST(cuStreamCreate(&b.s, 1));
	MUST(cuStreamCreate(&b.t, 1));
	refuse("copy", 1);
	EXPECT_EQ(NO_ROOM, launch(&b, b.s, 1));
	OK(launch(&b, b.t, 1));
	OK(cuCtxSynchronize());
	EXPECT_EQ(1, launched("one", "guarded") - 1);
	OK(cuMemcpyDtoH_v2(out, b.d, sizeof(out)));
	for (i = 0; i < WORDS && out[i] == 4; i++)
		;
	EXPECT_EQ(WORDS, i);
}

TEST(launches_by_tickets_without_room)
{
	child(without_room);
}

TEST_MAIN()
