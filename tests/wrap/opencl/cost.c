// SPDX-License-Identifier: MIT
/*
 * Programs of many short kernels, in turns (turns.h): of about so many microseconds on one
 * processor of 2022, each waited for, or 64 (512) enqueued before they are waited for; and a
 * mix of lengths as a solver has it, which looks at its result after every ten. An argument
 * picks those whose names begin with it.
 */
#include "api.h"
#include "turns.h"

#define TURNS		40
#define TURN_NS		6e6	/* or more, without the layer */
#define WARM_NS		300e6	/* as many: compiled, known, and alone on the device for a while */
#define ITEMS		1024

static const char text[] =
"__kernel void empty(__global uint *o, uint n) { }\n"
"__kernel void alu(__global uint *o, uint n) { uint x = get_global_id(0);\n"
"for (uint i = 0; i < n; i++) x = x * 1664525u + (x >> 7); o[get_global_id(0)] = x; }\n";

static const struct work {
	const char *name;
	/* Of the launches, one after the other; 0: empty. A microsecond is a step of alu here. */
	int lengths, us[10];
	int queued;			/* launches that are waited for together */
} works[] = {
	{ "short.empty.waited", 1, { 0 }, 1 },
	{ "short.20us.waited", 1, { 20 }, 1 },
	{ "short.100us.waited", 1, { 100 }, 1 },
	{ "short.500us.waited", 1, { 500 }, 1 },
	{ "short.empty.queued", 1, { 0 }, 64 },
	{ "short.20us.queued", 1, { 20 }, 64 },
	{ "short.100us.queued", 1, { 100 }, 64 },
	{ "short.500us.queued", 1, { 500 }, 64 },
	{ "short.100us.many", 1, { 100 }, 512 },
	{ "short.mix", 10, { 20, 100, 20, 500, 20, 20, 100, 20, 20, 100 }, 10 },
};

static cl_command_queue queue;
static cl_kernel empty, alu;

/* What is waited for together. */
static void once(const struct work *w)
{
	int i, us;

	for (i = 0; i < w->queued; i++) {
		us = w->us[i % w->lengths];
		if (us)
			arg_int(alu, 1, us);
		launch(queue, us ? alu : empty, ITEMS, 0, NULL, NULL);
	}
	must(clFinish(queue));
}

/* What once() should take: so both programs have as many of them in a turn. */
static double length(const struct work *w)
{
	double ns = 0;
	int i;

	for (i = 0; i < w->queued; i++)
		ns += 20e3 + 1e3 * w->us[i % w->lengths];
	return ns;
}

static void measure(const struct work *w)
{
	const int n = 1 + (int)(TURN_NS / length(w));
	struct turn turn;
	int i, r;

	for (i = 0; i < WARM_NS / length(w); i++)
		once(w);
	turn_ready(w->name);
	for (r = 0; r < TURNS && turn_wait(); r++) {
		once(w);
		turn_begin(&turn);
		for (i = 0; i < n; i++)
			once(w);
		turn_end(&turn, w->name, n * w->queued);
	}
}

int main(int argc, char **argv)
{
	cl_mem memory;
	cl_program p;
	cl_int rc;
	size_t i;

	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	p = program_build(text, "");
	queue = queue_new(IN_ORDER);
	memory = buffer_new(ITEMS * sizeof(cl_uint));
	empty = clCreateKernel(p, "empty", &rc);
	must(rc);
	alu = clCreateKernel(p, "alu", &rc);
	must(rc);
	arg_mem(empty, 0, memory);
	arg_int(empty, 1, 0);
	arg_mem(alu, 0, memory);
	for (i = 0; i < sizeof(works) / sizeof(*works); i++)
		if (argc < 2 || !strncmp(works[i].name, argv[1], strlen(argv[1])))
			if (turn_wait())
				measure(&works[i]);
	return 0;
}
