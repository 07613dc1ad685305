/* SPDX-License-Identifier: MIT */
/*
 * Who is measured beside another of its kind, a turn each: waits for a line on its standard
 * input, and answers by one on its standard output,
 *
 *	NAME NS CPU_NS WAITS LAUNCHES	what the turn took: by the clock, of processors;
 *					how often its threads waited; for so many launches
 *	NAME				it is ready to measure that
 *
 * or by its end. So what others do on the machine meets both alike.
 */
#ifndef TESTS_OPENCL_LAYER_TURNS_H
#define TESTS_OPENCL_LAYER_TURNS_H

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

struct turn {
	double ns, cpu_ns;
	long waits;
};

static inline double turn_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec;
}

static inline double turn_cpu(const struct rusage *use)
{
	return 1e9 * (double)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) +
		1e3 * (double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
}

/* False if there are no more turns. */
static inline int turn_wait(void)
{
	int c;

	while ((c = getchar()) != '\n' && c != EOF)
		;
	return c != EOF;
}

static inline void turn_begin(struct turn *t)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	t->cpu_ns = turn_cpu(&use);
	t->waits = use.ru_nvcsw;
	t->ns = turn_clock();
}

/* From then on it says what the turn took. */
static inline void turn_take(struct turn *t)
{
	double now = turn_clock();
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	t->ns = now - t->ns;
	t->cpu_ns = turn_cpu(&use) - t->cpu_ns;
	t->waits = use.ru_nvcsw - t->waits;
}

static inline void turn_print(const struct turn *t, const char *name, int launches)
{
	printf("%s %.0f %.0f %ld %d", name, t->ns, t->cpu_ns, t->waits, launches);
}

static inline void turn_end(struct turn *t, const char *name, int launches)
{
	turn_take(t);
	turn_print(t, name, launches);
	putchar('\n');
	fflush(stdout);
}

static inline void turn_ready(const char *name)
{
	printf("%s\n", name);
	fflush(stdout);
}

#endif
