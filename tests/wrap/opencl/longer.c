// SPDX-License-Identifier: MIT
/*
 * The corpus' longer kernels: what a launch of each takes, made as large as it takes to
 * run for long.
 *
 *	longer find		tries all of the corpus: prints "FILE KERNEL FACTOR" and the
 *				nanoseconds of an item for those that can be made so
 *	longer run LIST		launches each "FILE KERNEL FACTOR" of the list past the layer and
 *				through it, by turns: prints a line for each pair of launches,
 *				in the words of turns.h. So both have the same memory, and what
 *				others do on the machine meets both alike. Without a layer it
 *				shows how exact that is
 *
 * A launch is made larger along its last dimension, with all of its buffers. A kernel
 * that this makes write beside its buffers isn't found.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include "tests/xform/opencl/clhost.h"
#include "tests/xform/opencl/run-cut.h"
#include "tests/xform/opencl/memory.h"
#include "tests/xform/opencl/spec.h"
#include "turns.h"

#define FOLDER		"tests/corpus/opencl"
#define LONG_NS		30e6
#define FACTOR_MOST	(1u << 20)
#define BYTES_MOST	(128u << 20)
#define WARM		5	/* pairs: compiled, and known */
#define PAIRS		14	/* that count */

static struct host host;
static struct cut_program program = { .host = &host };
static struct spec spec;
static char current[200];	/* the file whose program is built */

static double cpu_now(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return turn_cpu(&use);
}

/* NULL, or why not. */
static const char *open_file(const char *file)
{
	static char log[5000];
	char path[300];
	const char *error;

	if (!strcmp(file, current))
		return NULL;
	if (program.whole) {
		clReleaseProgram(program.whole);
		program.whole = NULL;
		spec_free(&spec);
	}
	snprintf(path, sizeof(path), FOLDER "/%.200s", file);
	snprintf(current, sizeof(current), "%s", "");
	error = spec_read(path, &spec);
	if (error)
		return error;
	if (spec.report_only || !host_has(&host, spec.needs))
		return "the device lacks what it needs";
	program.whole = host_build(&host, spec.text, spec.len, spec.options, log, sizeof(log));
	if (!program.whole)
		return log;
	snprintf(current, sizeof(current), "%s", file);
	return NULL;
}

static bool enlarge(struct spec_run *r, unsigned int factor)
{
	size_t bytes = 0;
	unsigned int i;

	r->global[r->dims - 1] *= factor;
	for (i = 0; i < r->n_args; i++) {
		if (r->arg[i].kind == ARG_IMAGE)
			return factor == 1;
		if (r->arg[i].kind != ARG_BUFFER)
			continue;
		r->arg[i].count *= factor;
		bytes += r->arg[i].count * scalar_size[r->arg[i].type];
	}
	return bytes <= BYTES_MOST;
}

struct longer {
	struct spec_run run;
	struct cut_job job;
	cl_kernel kernel;
};

static const char *longer_open(struct longer *l, const struct spec_run *r, unsigned int factor)
{
	const char *error;
	cl_int rc;

	*l = (struct longer){ .run = *r };
	if (!enlarge(&l->run, factor))
		return "it would take too much memory";
	l->job.program = &program;
	l->job.run = &l->run;
	error = memory_make(&l->job);
	if (!error)
		error = memory_fill(&l->job);
	l->kernel = clCreateKernel(program.whole, r->kernel, &rc);
	if (!error)
		error = l->kernel ? memory_arguments(&l->job, l->kernel) : "no such kernel";
	return error;
}

static void longer_close(struct longer *l)
{
	if (l->kernel)
		clReleaseKernel(l->kernel);
	memory_drop(&l->job);
}

/* By way of the loader, and so of the layer; or past both, as handles are the driver's. */
enum way { PAST, THROUGH };

static bool launch(const struct longer *l, enum way way)
{
	const cl_icd_dispatch *driver = *(cl_icd_dispatch **)host.queue;
	const struct spec_run *r = &l->run;

	if (way == PAST)
		return driver->clEnqueueNDRangeKernel(host.queue, l->kernel, r->dims, r->offset,
						      r->global, r->local, 0, NULL, NULL) ==
			CL_SUCCESS && driver->clFinish(host.queue) == CL_SUCCESS;
	return clEnqueueNDRangeKernel(host.queue, l->kernel, r->dims, r->offset, r->global,
				      r->local, 0, NULL, NULL) == CL_SUCCESS &&
		clFinish(host.queue) == CL_SUCCESS;
}

/* Nanoseconds of processors, as others' load doesn't count; 0 if it failed. */
static double time_of(const struct longer *l)
{
	double began = cpu_now();

	return launch(l, PAST) ? cpu_now() - began : 0;
}

static bool guards_are_whole(struct cut_job *j)
{
	struct cut_state s = { 0 };
	size_t at = 0, k;
	bool whole = !memory_state(j, &s);
	unsigned int i;

	for (i = 0; i < j->run->n_args; at += j->bytes[i++])
		for (k = 0; k < CUT_GUARD && j->parent[i] && whole; k++)
			whole = s.bytes[at + k] == 0xa5 &&
				s.bytes[at + j->bytes[i] - 1 - k] == 0xa5;
	free(s.bytes);
	return whole;
}

/* In a process of its own, which it may end. */
static void find(const struct spec_run *r)
{
	unsigned int factor, units = 1;
	struct longer l;
	double took = 0;
	size_t items;
	bool whole;

	clGetDeviceInfo(host.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	for (factor = 16; factor <= FACTOR_MOST; factor *= 2) {
		if (longer_open(&l, r, factor))
			return;
		/* Drivers compile anew for a size. */
		time_of(&l);
		took = time_of(&l) / units;
		whole = guards_are_whole(&l.job);
		items = l.run.global[0] * (r->dims > 1 ? l.run.global[1] : 1) *
			(r->dims > 2 ? l.run.global[2] : 1);
		longer_close(&l);
		if (took <= 0 || !whole)
			return;
		if (took >= LONG_NS)
			break;
		while (took * 4 < LONG_NS && factor * 2 < FACTOR_MOST) {
			factor *= 2;
			took *= 2;
		}
	}
	if (factor <= FACTOR_MOST)
		printf("%s %s %u %.2f\n", current, r->kernel, factor, took * units / (double)items);
}

static const char *begin(void)
{
	const char *error = host_open(&host);

	setvbuf(stdout, NULL, _IOLBF, 0);
	return error;
}

static int find_all(void)
{
	DIR *d = opendir(FOLDER);
	const struct spec_run *r;
	struct dirent *e;
	struct spec s;
	char path[300];

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), FOLDER "/%.200s", e->d_name);
		if (!strstr(e->d_name, ".cl") || spec_read(path, &s))
			continue;
		for (r = s.runs; r; r = r->next) {
			if (r->never || r->oclgrind_only)
				continue;
			if (!fork()) {
				alarm(60);
				if (!begin() && !open_file(e->d_name))
					find(r);
				_exit(0);
			}
			wait(NULL);
		}
		spec_free(&s);
	}
	return d ? 0 : 1;
}

static const struct spec_run *run_of(const char *kernel)
{
	const struct spec_run *r = spec.runs;

	while (r && strcmp(r->kernel, kernel))
		r = r->next;
	return r;
}

/* Neither way is always the first; and each finds the same in memory, which they change. */
static const char *run(struct longer *l, const char *name)
{
	const char *error = NULL;
	struct turn turn[2];
	int i, way;

	for (i = 0; i < 2 * (WARM + PAIRS) && !error; i++) {
		way = (i ^ i >> 1) & 1;
		error = memory_fill(&l->job);
		turn_begin(&turn[way]);
		if (!error && !launch(l, way))
			error = "a launch failed";
		turn_take(&turn[way]);
		if (error || i < 2 * WARM || !(i & 1))
			continue;
		turn_print(&turn[PAST], name, 1);
		putchar(' ');
		turn_print(&turn[THROUGH], name, 1);
		putchar('\n');
	}
	return error;
}

static const char *measure(const char *file, const char *kernel, unsigned int factor)
{
	const char *error = open_file(file);
	const struct spec_run *r = error ? NULL : run_of(kernel);
	char name[400];
	struct longer l;

	if (error)
		return error;
	if (!r)
		return "no such kernel";
	snprintf(name, sizeof(name), "%.*s.%s", (int)strcspn(file, "."), file, kernel);
	error = longer_open(&l, r, factor);
	if (!error)
		error = run(&l, name);
	longer_close(&l);
	return error;
}

static int run_list(const char *path)
{
	FILE *f = fopen(path, "re");
	const char *error = f ? begin() : "no list", *why;
	char line[400], file[200], kernel[SPEC_NAME];
	unsigned int factor;

	while (!error && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%199s %127s %u", file, kernel, &factor) != 3 || *file == '#')
			continue;
		why = measure(file, kernel, factor);
		if (why)
			printf("# %s %s isn't measured: %s\n", file, kernel, why);
	}
	if (f)
		fclose(f);
	if (error)
		printf("# %s\n", error);
	return !!error;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "find"))
		return find_all();
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run_list(argv[2]);
	fputs("usage: longer find | longer run LIST\n", stderr);
	return 2;
}
