// SPDX-License-Identifier: MIT
/*
 * What a program's way to its first result costs: the CPU time, this process's own, from
 * clCreateProgramWithSource() to the end of the first launch, for one kernel of each
 * program of the corpus, one line each: "FILE NS". An argument picks
 * the files that have it in their names. With the layer, and a mode that cuts
 * what can be cut, that is reading, transforming and building it once more.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../opencl/clhost.h"
#include "../opencl/cut.h"
#include "../opencl/memory.h"
#include "../opencl/spec.h"

#define FOLDER	"tests/opencl/corpus"

static struct host host;

static double cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return 1e9 * (double)ts.tv_sec + (double)ts.tv_nsec;
}

static const struct spec_run *first_run(const struct spec *s)
{
	const struct spec_run *r = s->runs;

	while (r && (r->never || r->oclgrind_only))
		r = r->next;
	return r;
}

/* 0: it doesn't build, or run. */
static double measure(const struct spec *s, const struct spec_run *r)
{
	static char log[5000];
	struct cut_program program = { .host = &host };
	struct cut_job job = { .program = &program, .run = r };
	const char *error = memory_make(&job);
	cl_kernel kernel = NULL;
	double began, took = 0;

	if (!error)
		error = memory_fill(&job);
	began = cpu_now();
	program.whole = error ? NULL :
		host_build(&host, s->text, s->len, s->options, log, sizeof(log));
	if (program.whole)
		kernel = clCreateKernel(program.whole, r->kernel, &(cl_int){ 0 });
	if (kernel && !memory_arguments(&job, kernel) &&
	    clEnqueueNDRangeKernel(host.queue, kernel, r->dims, r->offset, r->global, r->local, 0,
				   NULL, NULL) == CL_SUCCESS &&
	    clFinish(host.queue) == CL_SUCCESS)
		took = cpu_now() - began;
	if (kernel)
		clReleaseKernel(kernel);
	if (program.whole)
		clReleaseProgram(program.whole);
	memory_drop(&job);
	return took;
}

int main(int argc, char **argv)
{
	const struct spec_run *r;
	struct dirent *e;
	char path[300];
	struct spec s;
	double took;
	DIR *d = opendir(FOLDER);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!d || host_open(&host))
		return 1;
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), FOLDER "/%.200s", e->d_name);
		if (!strstr(e->d_name, argc > 1 ? argv[1] : ".cl") || spec_read(path, &s))
			continue;
		r = first_run(&s);
		took = r && !s.report_only && host_has(&host, s.needs) ? measure(&s, r) : 0;
		if (took > 0)
			printf("%s %.0f\n", e->d_name, took);
		spec_free(&s);
	}
	closedir(d);
	host_close(&host);
	return 0;
}
