// SPDX-License-Identifier: MIT
/* The scenarios' common part, and how they are run: api [NAME...] */
#include "api.h"

static struct scenario *scenarios, **tail = &scenarios;

static const char source[] =
"__kernel void add(__global int *o, int v) { o[get_global_id(0)] += v; }\n"
"__kernel void mul(__global int *o, int v) { o[get_global_id(0)] *= v; }\n"
"__kernel void vadd(__global const int *a, __global const int *b, __global int *o)\n"
"{ size_t i = get_global_id(0); o[i] = a[i] + b[i]; }\n"
"__kernel void ids(__global int *o, int rows, int planes)\n"
"{\n"
"	size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),\n"
"		z = get_global_id(2) - get_global_offset(2);\n"
"	size_t i = (z * rows + y) * get_global_size(0) + x;\n"
"	o[i] = (int)(get_group_id(0) + 10 * get_group_id(1) + 100 * get_group_id(2) +\n"
"		1000 * get_num_groups(0) + 3000 * get_num_groups(1) + 7000 * get_num_groups(2) +\n"
"		11000 * get_local_id(0) + 13000 * get_local_size(1) + 17 * get_work_dim() +\n"
"		19 * get_global_id(0) + 23 * get_global_id(1) + 29 * get_global_offset(2) +\n"
"		31 * get_global_size(1) * planes);\n"
"}\n"
"__kernel void reduce(__global const int *in, __global int *out, __local int *s, int n)\n"
"{\n"
"	int l = get_local_id(0), v = 0;\n"
"	for (int i = get_global_id(0); i < n; i += get_global_size(0)) v += in[i];\n"
"	s[l] = v;\n"
"	barrier(CLK_LOCAL_MEM_FENCE);\n"
"	for (int k = get_local_size(0) / 2; k > 0; k >>= 1) {\n"
"		if (l < k) s[l] += s[l + k];\n"
"		barrier(CLK_LOCAL_MEM_FENCE);\n"
"	}\n"
"	if (!l) out[get_group_id(0)] = s[0];\n"
"}\n"
"typedef struct { int a[30]; float f; } big;\n"
"__kernel void structure(__global int *o, big b)\n"
"{ size_t i = get_global_id(0); o[i] = b.a[i % 30] + (int)b.f; }\n"
"__kernel void null(__global int *o, __global int *maybe)\n"
"{ o[get_global_id(0)] = maybe ? 1 : 2; }\n"
"__kernel void image(__read_only image2d_t im, sampler_t s, __global int *o)\n"
"{ int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
"  o[p.y * get_global_size(0) + p.x] = (int)read_imageui(im, s, p).x + (int)get_group_id(1); }\n"
"__kernel void count(__global int *o) { atomic_inc(o + get_group_id(0) % 7); }\n"
"__kernel void work(__global uint *o, int n)\n"
"{ uint x = o[get_global_id(0)] + get_global_id(0); for (int i = 0; i < n; i++) x = x * 1664525u + 1013904223u;\n"
"  o[get_global_id(0)] = x; }\n"
"__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void reqd(__global int *o)\n"
"{ o[get_global_id(0)] = get_local_size(0) * 100 + get_local_id(0); }\n"
"__kernel void nothing(void) { }\n";

void scenario_register(struct scenario *s)
{
	*tail = s;
	tail = &s->next;
}

cl_kernel kernel_new(const char *name)
{
	cl_int rc;
	cl_kernel k = clCreateKernel(program, name, &rc);

	must(rc);
	return k;
}

static bool wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	struct scenario *s;
	cl_int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "-l")) {
		for (s = scenarios; s; s = s->next)
			puts(s->name);
		return 0;
	}
	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	program = program_build(source, "");
	for (s = scenarios; s; s = s->next) {
		if (!wanted(s->name, argc, argv))
			continue;
		printf("== %s\n", s->name);
		s->run();
	}
	must(clReleaseProgram(program));
	must(clReleaseContext(context));
	puts("== end");
	return 0;
}
