// SPDX-License-Identifier: MIT
/*
 * What a program's way to its first result costs: the CPU time, this process's own, from
 * clCreateProgramWithSource() to the end of the first launch, for one kernel of each
 * program of the corpus: builds TURNS [PART], so many turns of each whose file's name has
 * PART in it. With the layer, and a mode that cuts what can be cut, that is reading,
 * transforming and building it once more.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/xform/opencl/clhost.h"
#include "tests/xform/opencl/run-cut.h"
#include "tests/xform/opencl/memory.h"
#include "tests/xform/opencl/spec.h"
#include "turns.h"

#define FOLDER	"tests/corpus/opencl"

static struct host host;

static const struct spec_run *first_run(const struct spec *s)
{
	const struct spec_run *r = s->runs;

	while (r && (r->never || r->oclgrind_only))
		r = r->next;
	return r;
}

/* All 0: it doesn't build, or run. */
static struct turn measure(const struct spec *s, const struct spec_run *r)
{
	static char log[5000];
	struct cut_program program = { .host = &host };
	struct cut_job job = { .program = &program, .run = r };
	const char *error = memory_make(&job);
	struct turn turn, took = { 0 };
	cl_kernel kernel = NULL;

	if (!error)
		error = memory_fill(&job);
	turn_begin(&turn);
	program.whole = error ? NULL :
		host_build(&host, s->text, s->len, s->options, log, sizeof(log));
	if (program.whole)
		kernel = clCreateKernel(program.whole, r->kernel, &(cl_int){ 0 });
	if (kernel && !memory_arguments(&job, kernel) &&
	    clEnqueueNDRangeKernel(host.queue, kernel, r->dims, r->offset, r->global, r->local, 0,
				   NULL, NULL) == CL_SUCCESS &&
	    clFinish(host.queue) == CL_SUCCESS) {
		turn_take(&turn);
		took = turn;
	}
	if (kernel)
		clReleaseKernel(kernel);
	if (program.whole)
		clReleaseProgram(program.whole);
	memory_drop(&job);
	return took;
}

/* What kernels print isn't an answer. */
static void take_turns(const char *name, const struct spec *s, const struct spec_run *r, int turns)
{
	int answers = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
	struct turn turn;

	turn_ready(name);
	while (turns-- && turn_wait()) {
		dup2(nowhere, STDOUT_FILENO);
		turn = measure(s, r);
		fflush(stdout);
		dup2(answers, STDOUT_FILENO);
		turn_print(&turn, name, 1);
		putchar('\n');
		fflush(stdout);
	}
	close(answers);
	close(nowhere);
}

int main(int argc, char **argv)
{
	const struct spec_run *r;
	struct dirent *e;
	char path[300];
	struct spec s;
	DIR *d = opendir(FOLDER);

	if (!d || argc < 2 || host_open(&host))
		return 1;
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), FOLDER "/%.200s", e->d_name);
		if (!strstr(e->d_name, argc > 2 ? argv[2] : ".cl") || spec_read(path, &s))
			continue;
		r = first_run(&s);
		if (r && !s.report_only && host_has(&host, s.needs) && turn_wait())
			take_turns(e->d_name, &s, r, atoi(argv[1]));
		spec_free(&s);
	}
	closedir(d);
	host_close(&host);
	return 0;
}
