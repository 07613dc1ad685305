// SPDX-License-Identifier: MIT
/*
 * spin STEPS: launches of eight groups that count to STEPS each, without end, some ahead.
 * spin: prints how many steps such a launch makes in a millisecond.
 *
 * Where POCL_AFFINITY puts the thread that computes on the first processor, it has that before
 * all others, as a device has its own: what else runs on the machine isn't to be measured.
 */
#include <dirent.h>
#include <sched.h>

#include "api.h"

static const char text[] =
"__kernel void spin(__global uint *o, uint n) { uint x = get_global_id(0);\n"
"for (uint i = 0; i < n; i++) x = x * 1664525u + (x >> 7); o[get_global_id(0)] = x; }\n";

/* So many that the device has work while this program waits for its processor. */
#define AHEAD 32

static cl_command_queue queue;
static cl_kernel kernel;

static void set_apart(void)
{
	struct sched_param first = { .sched_priority = 1 };
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *d;
	cpu_set_t on;
	int tid;

	while (tasks && (d = readdir(tasks))) {
		tid = atoi(d->d_name);
		if (tid && !sched_getaffinity(tid, sizeof(on), &on) && CPU_COUNT(&on) == 1 &&
		    CPU_ISSET(0, &on))
			sched_setscheduler(tid, SCHED_FIFO, &first);
	}
	if (tasks)
		closedir(tasks);
}

static cl_event start(cl_int steps)
{
	const size_t items = 8, one = 1;
	cl_event e;

	arg_int(kernel, 1, steps);
	must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &one, 0, NULL, &e));
	must(clFlush(queue));
	return e;
}

static void calibrate(void)
{
	const cl_int steps = 100000;
	double best = 1e9, from;
	int i;

	for (i = 0; i < 20; i++) {
		from = now();
		wait_one(start(steps));
		if (now() - from < best)
			best = now() - from;
	}
	printf("%f\n", steps / best / 1000);
}

int main(int argc, char **argv)
{
	cl_event ahead[AHEAD] = { NULL };
	unsigned int i;
	cl_int rc;

	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	queue = queue_new(IN_ORDER);
	program = program_build(text, "");
	kernel = clCreateKernel(program, "spin", &rc);
	must(rc);
	arg_mem(kernel, 0, buffer_new(8 * sizeof(cl_uint)));
	if (getenv("POCL_AFFINITY"))
		set_apart();
	if (argc < 2) {
		calibrate();
		return 0;
	}
	for (i = 0;; i = (i + 1) % AHEAD) {
		if (ahead[i])
			wait_one(ahead[i]);
		ahead[i] = start(atoi(argv[1]));
	}
}
