// SPDX-License-Identifier: MIT
/*
 * What cutting adds to a program's build: the CPU time, this process's own, of the build
 * alone, of reading and transforming its source, and of building the shadow program,
 * which is done only when a kernel that needs one is cut for the first time, and then
 * kept on disk. Over the corpus, on the first device; a driver's cache is kept out of it
 * by a comment that no build has had before.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gsopencl.h>

#include "clhost.h"
#include "engine.h"
#include "spec.h"

#define FOLDER		"tests/corpus/opencl"
#define MOST_ASKED	256
#define MOST		1.5

static struct host h;
static char log_text[5000], options[512];

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Builds @text, which nobody has built before; the seconds it takes, 0: it doesn't build. */
static double build(const char *text, const char *with)
{
	static unsigned int n;
	char *fresh;
	double from, took;
	cl_program p;

	if (asprintf(&fresh, "%s\n// %d %u %ld\n", text, getpid(), n++, (long)time(NULL)) < 0)
		return 0;
	from = cpu_now();
	p = host_build(&h, fresh, strlen(fresh), with, log_text, sizeof(log_text));
	took = cpu_now() - from;
	free(fresh);
	if (!p)
		return 0;
	clReleaseProgram(p);
	return took;
}

/* The preprocessor's part, for a device without macros: the answers are asked for once. */
static double preprocess(const struct spec *s)
{
	static struct gsx_cl_macro macros[MOST_ASKED];
	struct gsx_cl_cpp_options opt = { .build = s->options, .macros = macros };
	struct gsx_cl_source src;
	uint32_t i, first = 0;
	double from, took;
	int err;

	do {
		from = cpu_now();
		err = gsx_cl_preprocess(s->text, s->len, &opt, &src);
		took = cpu_now() - from;
		for (i = 0; err == -EAGAIN && i < src.n_questions && opt.n_macros < MOST_ASKED; i++)
			macros[opt.n_macros++].name = strdup(src.questions[i]);
		gsx_cl_source_free(&src);
	} while (err == -EAGAIN && opt.n_macros < MOST_ASKED && ++first < 16);
	while (opt.n_macros)
		free((char *)(uintptr_t)macros[--opt.n_macros].name);
	return took;
}

struct times {
	double alone, read, slice, workers;
};

static void shortest(double *a, double b)
{
	if (b > 0 && (*a <= 0 || b < *a))
		*a = b;
}

static bool measure(const struct spec *s, struct times *t, int rounds)
{
	const struct gsx_cl_options opt = { .modes = GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS) };
	struct gsx_cl_result res;
	char *plain;
	double from;

	*t = (struct times){ 0 };
	plain = host_preprocess(&h, s->text, s->len, s->options, options, sizeof(options), log_text,
				sizeof(log_text));
	if (!plain)
		return false;
	while (rounds--) {
		shortest(&t->alone, build(s->text, s->options));
		from = cpu_now();
		if (gsx_cl_transform(plain, strlen(plain), &opt, &res))
			break;
		shortest(&t->read, cpu_now() - from + preprocess(s));
		if (res.text[GSX_SLICE])
			shortest(&t->slice, build(res.text[GSX_SLICE], options));
		if (res.text[GSX_WORKERS])
			shortest(&t->workers, build(res.text[GSX_WORKERS], options));
		gsx_cl_result_free(&res);
	}
	gsx_cl_result_free(&res);
	free(plain);
	return t->alone > 0 && t->read > 0;
}

struct ratio {
	double sum, worst;
	char name[64];
	int n;
};

static void add(struct ratio *r, double value, const char *name)
{
	r->sum += log(value);
	r->n++;
	if (value > r->worst) {
		r->worst = value;
		snprintf(r->name, sizeof(r->name), "%s", name);
	}
}

static bool show(const struct ratio *r, const char *what)
{
	double mean = r->n ? exp(r->sum / r->n) : 0;

	printf("bench opencl.build.%s %.3f times at_most_%.1f %s\n", what, mean, MOST,
	       mean <= MOST ? "ok" : "short");
	printf("bench opencl.build.%s_worst %.3f times at_most_%.1f %s\n", what, r->worst, MOST,
	       r->worst <= MOST ? "ok" : "short");
	return mean <= MOST && r->worst <= MOST;
}

static void tell(const struct ratio *r, const char *what)
{
	if (r->n)
		printf("# with the shadow program for %s, once: %.2f times, at worst %.2f (%s)\n",
		       what, exp(r->sum / r->n), r->worst, r->name);
}

int main(void)
{
	const char *rounds = getenv("BENCH_ROUNDS"), *error;
	struct ratio reads = { 0 }, rewritten = { 0 }, slice = { 0 }, workers = { 0 };
	struct dirent *e;
	struct times t;
	struct spec s;
	char path[400];
	DIR *d;

	engines_find();
	engine_use(&engines[0]);
	error = host_open(&h);
	d = opendir(FOLDER);
	if (error || !d) {
		printf("# no build is measured: %s\n", error ? error : "no corpus");
		return 0;
	}
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".cl"))
			continue;
		snprintf(path, sizeof(path), FOLDER "/%.200s", e->d_name);
		if (spec_read(path, &s) || s.report_only || !host_has(&h, s.needs) ||
		    !measure(&s, &t, rounds ? atoi(rounds) : 3))
			continue;
		add(&reads, 1 + t.read / t.alone, e->d_name);
		if (t.slice > 0) {
			add(&rewritten, (t.read + t.slice) / t.alone, e->d_name);
			add(&slice, (t.alone + t.read + t.slice) / t.alone, e->d_name);
		}
		if (t.workers > 0)
			add(&workers, (t.alone + t.read + t.workers) / t.alone, e->d_name);
		spec_free(&s);
	}
	closedir(d);
	printf("# %d programs, at worst %s\n", reads.n, reads.name);
	tell(&slice, "slices");
	tell(&workers, "workers");
	host_close(&h);
	/* What is added at once; and the shadow's way instead of the program's. */
	return !(show(&reads, "transformed") & show(&rewritten, "rewritten"));
}
