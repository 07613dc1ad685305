// SPDX-License-Identifier: MIT
/*
 * How soon workers stop: counts groups that began although the device had been
 * asked back. The kernel looks at the arbiter's page by itself, which is in this
 * process's memory, and counts by the grant's number; so no clock is needed.
 *
 * Ends when grants were seen in which groups ran, as many as the argument says,
 * or after LAUNCHES_MAX launches. Prints, in one line: grants, groups done, the most
 * late groups of a grant, how many were late in 99 of 100 grants, and workers. Fails
 * if a group was done twice or never.
 */
#include <linux/gpushare.h>

#include "api.h"

#define SLOTS		4096	/* of grants, by their number */
#define GROUPS		2048
#define LAUNCHES_MAX	400

static const char text[] =
"__kernel void k(__global uint *o, uint n, const volatile __global uint *page,\n"
"	volatile __global uint *late, volatile __global uint *done)\n"
"{\n"
"	if (get_local_id(0) == 0) {\n"
"		uint slot = (page[2] >> 8) & 4095;\n"
"		if (page[4] != 0) atomic_inc(late + slot);\n"
"		atomic_inc(done + slot);\n"
"	}\n"
"	uint x = get_global_id(0);\n"
"	for (uint i = 0; i < n; i++) x = x * 1664525u + 1013904223u + (x >> 7);\n"
"	o[get_global_id(0)] += 1 + (x == 12345 && n == 0);\n"
"}\n";

_Static_assert(offsetof(struct gpushare_grant_page, word) == 8 &&
	       offsetof(struct gpushare_grant_page, preempt) == 16, "what the kernel reads");

/* The arbiter's page, which the layer has mapped. */
static void *find_page(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	void *at = NULL;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "gpushare-grant"))
			at = (void *)(uintptr_t)strtoull(line, NULL, 16);
	if (f)
		fclose(f);
	return at;
}

static int by_number(const void *a, const void *b)
{
	cl_uint x = *(const cl_uint *)a, y = *(const cl_uint *)b;

	return x < y ? -1 : x > y;
}

/* The page is there when the device was asked for. */
static void touch(cl_command_queue q)
{
	cl_kernel k = clCreateKernel(program_build("__kernel void k(void) { }", ""), "k",
				     &(cl_int){ 0 });

	launch(q, k, 64, 0, NULL, NULL);
	must(clFinish(q));
	must(clReleaseKernel(k));
}

int main(int argc, char **argv)
{
	cl_uint wanted = argc > 1 ? (cl_uint)atoi(argv[1]) : 10, units, n, launches = 0, i, seen;
	static cl_uint late[SLOTS], done[SLOTS], counts[SLOTS], o[GROUPS * 64];
	cl_mem mo, mlate, mdone, mpage;
	unsigned long groups = 0;
	cl_command_queue q;
	cl_kernel k;
	void *page;
	cl_int rc;

	n = argc > 2 ? (cl_uint)atoi(argv[2]) : 1000;
	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	must(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	q = queue_new(IN_ORDER);
	touch(q);
	page = find_page();
	if (!page) {
		puts("no page of an arbiter");
		return 1;
	}
	mpage = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR,
			       sizeof(struct gpushare_grant_page), page, &rc);
	must(rc);
	mo = buffer_new(sizeof(o));
	mlate = buffer_new(sizeof(late));
	mdone = buffer_new(sizeof(done));
	k = clCreateKernel(program_build(text, ""), "k", &rc);
	must(rc);
	arg_mem(k, 0, mo);
	arg_int(k, 1, (cl_int)n);
	arg_mem(k, 2, mpage);
	arg_mem(k, 3, mlate);
	arg_mem(k, 4, mdone);
	do {
		launch(q, k, (size_t)GROUPS * 64, 0, NULL, NULL);
		launches++;
		must(clEnqueueReadBuffer(q, mdone, CL_TRUE, 0, sizeof(done), done, 0, NULL, NULL));
		for (i = seen = 0; i < SLOTS; i++)
			seen += done[i] > 0;
	} while (seen < wanted && launches < LAUNCHES_MAX);
	must(clEnqueueReadBuffer(q, mlate, CL_TRUE, 0, sizeof(late), late, 0, NULL, NULL));
	must(clEnqueueReadBuffer(q, mo, CL_TRUE, 0, sizeof(o), o, 0, NULL, NULL));
	for (i = 0; i < GROUPS * 64; i++)
		if (o[i] != launches)
			break;
	for (seen = 0, n = 0; n < SLOTS; n++) {
		groups += done[n];
		if (done[n])
			counts[seen++] = late[n];
	}
	qsort(counts, seen, sizeof(*counts), by_number);
	if (i < GROUPS * 64 || groups != (unsigned long)launches * GROUPS) {
		printf("item %u was done %u times in %u launches, %lu groups\n", i,
		       i < GROUPS * 64 ? o[i] : launches, launches, groups);
		return 1;
	}
	printf("grants %u groups %lu most %u p99 %u workers %u\n", seen, groups,
	       seen ? counts[seen - 1] : 0, seen ? counts[(seen - 1) * 99 / 100] : 0, units);
	return 0;
}
