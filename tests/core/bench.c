// SPDX-License-Identifier: MIT
/*
 * How long a decision takes. A step is a whole handoff: the holder yields and
 * asks again, the next one is picked and granted, its page is published.
 *
 *	bench [CLIENTS STEPS]	with arguments: just that many, for callgrind
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "arbiter.h"

#define GROUPS_A_LEVEL 10

/* As the kernel's kmalloc() would place them: at the start of a cache line. */
struct bench_client {
	struct gs_client c;
} __attribute__((aligned(64)));

struct bench_node {
	struct gs_node n;
} __attribute__((aligned(64)));

static struct gs_arbiter arb;
static struct gs_device dev;
static struct gs_group groups[1110];
static struct bench_node *nodes;
static struct bench_client *clients;
static struct gs_client *holder;
static unsigned long allocations, publishes;
static bool counting;

/* Any allocation while a step runs is the core's, and one too many. */
extern void *__libc_malloc(size_t size);
void *malloc(size_t size)
{
	allocations += counting;
	return __libc_malloc(size);
}

static void on_publish(struct gs_arbiter *a, struct gs_client *c)
{
	(void)a;
	publishes++;
	if (c->flags & GS_GRANTED)
		holder = c;
}

static void on_arm(struct gs_arbiter *a, struct gs_device *d, u64 when)
{
	(void)a;
	(void)d;
	(void)when;
}

static const struct gs_host_ops ops = { .publish = on_publish, .arm = on_arm };

static void must(int ret)
{
	if (ret < 0) {
		fprintf(stderr, "bench: error %d in the set-up\n", ret);
		exit(1);
	}
}

static bool flat;	/* all groups stand at the first level */

/* 1,000 groups at the third level, 10 below each one above; clients below. */
static void set_up(unsigned int n)
{
	struct gs_device_conf conf;
	unsigned int i, leaf = 110;
	struct gs_share s;

	gs_arbiter_init(&arb, &ops);
	gs_device_conf_init(&conf);
	must(gs_device_add(&arb, &dev, 1, &conf, 1));
	nodes = aligned_alloc(64, 1110 * sizeof(*nodes));
	clients = aligned_alloc(64, n * sizeof(*clients));
	if (!nodes || !clients)
		must(-1);
	for (i = 0; i < 1110; i++) {
		struct gs_group *up = flat || i < 10 ? &arb.root : &groups[(i - 10) / 10];

		must(gs_group_add(&arb, &groups[i], i + 2, up, 1));
		must(gs_node_add(&nodes[i].n, &groups[i], &dev, 1));
		gs_share_init(&s);
		s.weight = 100 + i * 7919 % 900;
		must(gs_group_set(&groups[i], NULL, &s, GS_SHARE_WEIGHT, 1));
	}
	/* Spread them: with few clients they still sit in different branches. */
	for (i = 0; i < n; i++)
		must(gs_client_add(&clients[i].c, i + 1, &groups[leaf + i * 307 % 1000], &dev,
				   1));
	for (i = 0; i < n; i++)
		must(gs_request(&clients[i].c, 0, 1));
}

static void tear_down(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		gs_client_remove(&clients[i].c, arb.now);
	for (i = 0; i < 1110; i++)
		gs_group_remove(&groups[1109 - i], arb.now);
	gs_device_remove(&dev, arb.now);
	free(nodes);
	free(clients);
}

static double steps(unsigned long n)
{
	struct timespec a, b;
	u64 now = arb.now;

	counting = true;
	clock_gettime(CLOCK_MONOTONIC, &a);
	while (n--) {
		now += 2000000;
		gs_yield(holder, true, 0, now);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	counting = false;
	return (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
}

/* The best of many short rounds: others use the machine too. */
static double ns_per_step(unsigned int n)
{
	unsigned long count = 20000, i;
	double best = 1e18, t;

	set_up(n);
	steps(count);
	for (i = 0; i < 80; i++) {
		t = steps(count) / count;
		best = t < best ? t : best;
	}
	tear_down(n);
	return best;
}

/* Alone on the device: yield and ask again without anybody else. */
static double ns_alone(void)
{
	unsigned long count = 100000;
	double best = 1e18, t;
	unsigned int i;

	set_up(1);
	for (i = 0; i < 50; i++) {
		t = steps(count) / count;
		best = t < best ? t : best;
	}
	tear_down(1);
	return best;
}

/*
 * What is due in the worst case: 1,000 groups want some beside each other, and one has a min.
 * Of one of these, with all 10,000 clients to be looked at (@anew) or as it is known by then;
 * of one (@from 0) that wants none, so that all is divided for it. Under the hosts' lock.
 */
static double ns_due(unsigned int from, bool anew)
{
	struct gs_share s = { .min = 500 };
	double best = 1e18, ns;
	struct timespec a, b;
	unsigned int i;

	flat = true;
	set_up(10000);
	must(gs_group_set(&groups[200], NULL, &s, GS_SHARE_MIN, 1));
	for (i = from; i < from + 100; i++) {
		if (!anew)
			gs_due(&groups[i], &dev, 1000000000ull * (i + 1));
		clock_gettime(CLOCK_MONOTONIC, &a);
		must(gs_due(&groups[i], &dev, 1000000000ull * (i + 1)));
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
		best = ns < best ? ns : best;
	}
	tear_down(10000);
	flat = false;
	return best;
}

/* Instructions a step, from the difference of two runs under callgrind. */
static double instructions(const char *self, unsigned int n)
{
	double counts[2];
	unsigned int i;
	char cmd[512], line[256];
	FILE *f;

	for (i = 0; i < 2; i++) {
		counts[i] = -1;
		snprintf(cmd, sizeof(cmd), "valgrind --tool=callgrind "
			 "--callgrind-out-file=/dev/null %s %u %u 2>&1", self, n,
			 i ? 30000 : 10000);
		f = popen(cmd, "r");
		while (f && fgets(line, sizeof(line), f)) {
			char *at = strstr(line, "Collected : ");

			if (at)
				counts[i] = strtod(at + 12, NULL);
		}
		if (!f || pclose(f) || counts[i] < 0)
			return -1;
	}
	return (counts[1] - counts[0]) / 20000;
}

static int failed;

static void report(const char *name, double value, const char *unit, double target, int less)
{
	int ok = less < 0 ? value <= target : less > 0 ? value >= target : 1;

	printf("bench %s %.0f %s %s%.0f %s\n", name, value, unit, less < 0 ? "<=" :
	       less > 0 ? ">=" : "", target, ok ? "ok" : "short");
	failed |= !ok;
}

int main(int argc, char **argv)
{
	static const unsigned int ns[] = { 10, 1000, 10000 };
	double ns_step[3], ins[3];
	char name[64];
	unsigned int i;

	if (argc == 3) {
		set_up(atoi(argv[1]));
		steps(1000);
		steps(atoi(argv[2]));
		return 0;
	}
	for (i = 0; i < 3; i++) {
		ns_step[i] = ns_per_step(ns[i]);
		snprintf(name, sizeof(name), "core.handoff.%u", ns[i]);
		report(name, ns_step[i], "ns", ns[i] == 1000 ? 500 : 3000, -1);
	}
	report("core.alone", ns_alone(), "ns", 100, -1);
	report("core.growth.10-10000", ns_step[2] / ns_step[0] * 100, "%", 600, -1);
	report("core.handoffs.1000", 1e9 / ns_step[1], "1/s", 2e6, 1);
	report("core.due.look.10000", ns_due(110, true), "ns", 2000000, -1);
	report("core.due.again.10000", ns_due(110, false), "ns", 1000, -1);
	report("core.due.idle.1000", ns_due(0, false), "ns", 1000000, -1);
	report("core.client.size", sizeof(struct gs_client), "bytes", 512, -1);
	report("core.allocations", allocations, "calls", 0, -1);
	for (i = 0; i < 3; i++) {
		ins[i] = instructions(argv[0], ns[i]);
		if (ins[i] < 0) {
			printf("# valgrind isn't there: no instruction counts\n");
			break;
		}
		snprintf(name, sizeof(name), "core.instructions.%u", ns[i]);
		report(name, ins[i], "instructions", 6 * ins[0], -1);
	}
	return failed;
}
