// SPDX-License-Identifier: MIT
/*
 * What only shows with the layer: look COMMAND...
 *	extensions		those offered that would pass it by
 *	child			what OPENCL_LAYERS a child has, after the first call
 *	allocate MIB...		tries buffers of these sizes, keeps them, prints the errors;
 *				"free" gives back the first, "hold" waits for the end of the
 *				standard input
 *	fail			prints how a launch ends, as asked and as told, and the next one
 *	address			launches by a function that it asked for by name
 *	many N			launches that it doesn't wait for, with events that it never
 *				looks at; prints how many have run, and the MiB it took
 *	seldom			launches now and then, which are over long before it looks; prints
 *				the microseconds that the layer took them for, and what they
 *				and those before them took from their enqueue to their end
 *	waits			waits for each launch, of a kernel that soon takes longer than at
 *				first; prints what part of that time the layer knows of, in percent
 *	busy SECONDS		long launches, one after the other, on each device; prints how
 *				many, also when it is told to end by SIGTERM. Fails if a group
 *				of one was done twice or never
 *	busy SECONDS together	the same, but when it is ready it says so, and begins when its
 *				standard input is closed
 *	busy SECONDS QUEUES	the same, in so many queues of each device instead of two
 */
#include <linux/gpushare.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api.h"

#define DEVICES_MAX	16
#define LANES_MAX	16
#define BUSY_ITEMS	(1 << 15)

static void extensions(void)
{
	static char text[16384];

	must(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL));
	printf("%s\n", strstr(text, "command_buffer") ? "passed by" : "none");
	printf("%s\n", clGetExtensionFunctionAddressForPlatform(platform,
								"clEnqueueCommandBufferKHR") ?
	       "passed by" : "none");
}

static void allocate(int n, char **sizes)
{
	cl_mem first = NULL, m;
	cl_int rc;
	int i;

	for (i = 0; i < n; i++) {
		if (!strcmp(sizes[i], "free")) {
			must(clReleaseMemObject(first));
			first = NULL;
			continue;
		}
		if (!strcmp(sizes[i], "hold")) {
			fflush(stdout);
			while (getchar() != EOF)
				;
			continue;
		}
		m = clCreateBuffer(context, CL_MEM_READ_WRITE, (size_t)atoi(sizes[i]) << 20, NULL,
				   &rc);
		printf("%s: %d\n", sizes[i], rc);
		first = first ? first : m;
	}
}

static void CL_CALLBACK ended(cl_event e, cl_int status, void *data)
{
	(void)e;
	__atomic_store_n((cl_int *)data, status, __ATOMIC_RELEASE);
}

static void fail(void)
{
	const size_t items = 1 << 10, local = 1;
	cl_mem m = buffer_new(items * 4);
	cl_command_queue q;
	cl_int rc, status, told;
	cl_event e;
	cl_kernel k;
	int i;

	k = clCreateKernel(program_build("__kernel void k(__global uint *o)"
					 "{ o[get_global_id(0)] = 1; }", ""), "k", &rc);
	must(rc);
	arg_mem(k, 0, m);
	for (i = 0; i < 2; i++) {
		told = CL_QUEUED;
		q = queue_new(IN_ORDER);
		must(clEnqueueNDRangeKernel(q, k, 1, NULL, &items, &local, 0, NULL, &e));
		clWaitForEvents(1, &e);
		must(clGetEventInfo(e, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				    NULL));
		must(clSetEventCallback(e, CL_COMPLETE, ended, &told));
		while (__atomic_load_n(&told, __ATOMIC_ACQUIRE) == CL_QUEUED)
			usleep(1000);
		printf("%d %d\n", status, told);
		must(clReleaseEvent(e));
		must(clReleaseCommandQueue(q));
	}
}

static void address(void)
{
	cl_int (CL_API_CALL *fn)(cl_command_queue, cl_kernel, cl_uint, const size_t *,
				 const size_t *, const size_t *, cl_uint, const cl_event *,
				 cl_event *);
	void *found = clGetExtensionFunctionAddressForPlatform(platform, "clEnqueueNDRangeKernel");
	const size_t items = 64;
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(items * 4);
	cl_int rc;
	cl_kernel k;

	memcpy(&fn, &found, sizeof(fn));
	k = clCreateKernel(program_build("__kernel void by_address(__global uint *o)"
					 "{ o[get_global_id(0)] = 1; }", ""), "by_address", &rc);
	must(rc);
	arg_mem(k, 0, m);
	must(fn ? fn(q, k, 1, NULL, &items, NULL, 0, NULL, NULL) : CL_INVALID_VALUE);
	must(clFinish(q));
}

static void many(int n)
{
	const size_t one = 1;
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(4);
	struct rusage use;
	cl_event event;
	cl_uint ran;
	cl_kernel k;
	cl_int rc;
	int i;

	k = clCreateKernel(program_build("__kernel void k(__global uint *o) { o[0]++; }", ""), "k",
			   &rc);
	must(rc);
	arg_mem(k, 0, m);
	for (i = 0; i < n; i++)
		must(clEnqueueNDRangeKernel(q, k, 1, NULL, &one, &one, 0, NULL,
					    i & 1 ? &event : NULL));
	must(clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof(ran), &ran, 0, NULL, NULL));
	getrusage(RUSAGE_SELF, &use);
	printf("%u %ld\n", ran, use.ru_maxrss >> 10);
}

/* What the layer has told the arbiter: so long was the device at work. */
static uint64_t busy_ns(void)
{
	static const struct gpushare_client_page *page;
	FILE *f = page ? NULL : fopen("/proc/self/maps", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "gpushare-client"))
			page = (void *)(uintptr_t)strtoull(line, NULL, 16);
	if (f)
		fclose(f);
	return page ? __atomic_load_n(&page->busy_ns, __ATOMIC_RELAXED) : 0;
}

/* What the driver says: from the enqueue on, so with all that a busy machine adds. */
static uint64_t took_ns(cl_event e)
{
	cl_ulong queued, end;

	must(clWaitForEvents(1, &e));
	must(clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_QUEUED, sizeof(queued), &queued,
				     NULL));
	must(clGetEventProfilingInfo(e, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL));
	must(clReleaseEvent(e));
	return end - queued;
}

#define WARM_UPS	8
#define SELDOM		24

/* An estimate may stem from the launches before, so theirs count as well. */
static void seldom(void)
{
	uint64_t before = 0, told, took = 0;
	cl_command_queue q = queue_new(PROFILING);
	cl_event e;
	cl_kernel k;
	cl_int rc;
	int i;

	k = clCreateKernel(program_build("__kernel void k(__global uint *o)"
					 "{ o[get_global_id(0)]++; }", ""), "k", &rc);
	must(rc);
	arg_mem(k, 0, buffer_new(1024 * 4));
	for (i = 0; i < WARM_UPS + SELDOM; i++) {
		if (i == WARM_UPS)
			before = busy_ns();
		launch(q, k, 1024, 0, NULL, &e);
		must(clFlush(q));
		usleep(i < WARM_UPS ? 0 : 60000);
		must(clFinish(q));
		/* The first one is compiled, and forgotten with the second. */
		took += i ? took_ns(e) : 0;
	}
	told = busy_ns() - before;
	printf("%llu %llu\n", (unsigned long long)told / 1000, (unsigned long long)took / 1000);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#define WAITS	64

/* Short at first, and then not as short, but no longer than the layer waits before it looks. */
static void waits(void)
{
	cl_command_queue q = queue_new(IN_ORDER);
	double part[WAITS], begun;
	uint64_t before;
	cl_kernel k;
	cl_int rc;
	int i;

	k = clCreateKernel(program_build("__kernel void k(__global uint *o, int n) {\n"
					 "	uint x = get_global_id(0);\n"
					 "	for (int i = 0; i < n; i++) x = x * 1664525u + 1013904223u + (x >> 7);\n"
					 "	o[get_global_id(0)] = x; }", ""), "k", &rc);
	must(rc);
	arg_mem(k, 0, buffer_new(1024 * 4));
	for (i = -8; i < WAITS; i++) {
		arg_int(k, 1, i < 0 ? 1 : 3000);
		before = busy_ns();
		begun = now();
		launch(q, k, 1024, 0, NULL, NULL);
		must(clFinish(q));
		if (i >= 0)
			part[i] = 1e-9 * (double)(busy_ns() - before) / (now() - begun);
	}
	qsort(part + WAITS / 2, WAITS / 2, sizeof(*part), by_size);
	printf("%.0f\n", 100 * part[WAITS * 3 / 4]);
}

static int told;	/* atomic */

static void on_term(int sig)
{
	(void)sig;
	__atomic_store_n(&told, 1, __ATOMIC_RELAXED);
}

#define STEPS	2000
#define STEP(x)	((x) * 1664525u + 1013904223u + ((x) >> 7))
#define TEXT_(x) #x
#define TEXT(x)	TEXT_(x)

static const char busy_text[] =
"__kernel void k(__global uint *o) { uint x = get_global_id(0);\n"
"for (uint i = 0; i < " TEXT(STEPS) "; i++) x = " TEXT(STEP(x)) ";\n"
"o[get_global_id(0)] += x; }";

static int lanes;

struct lane {
	cl_command_queue q;
	cl_mem m;
	cl_event e;
	cl_uint launches;
};

/* A device's. While one lane computes, it looks at the others' events. */
struct busy {
	pthread_t thread;
	double until;
	cl_kernel k;
	struct lane lane[LANES_MAX];
};

static void busy_set_up(struct busy *b, cl_device_id id)
{
	cl_int rc;
	int i;

	device = id;
	b->k = clCreateKernel(program_build(busy_text, ""), "k", &rc);
	must(rc);
	for (i = 0; i < lanes; i++) {
		b->lane[i].q = queue_new(IN_ORDER);
		b->lane[i].m = buffer_new(BUSY_ITEMS * 4);
	}
}

/* Each item was added to by each launch, once. */
static bool is_right(struct lane *l)
{
	static cl_uint sums[BUSY_ITEMS];
	cl_uint i, j, x;

	must(clEnqueueReadBuffer(l->q, l->m, CL_TRUE, 0, sizeof(sums), sums, 0, NULL, NULL));
	for (i = 0; i < BUSY_ITEMS; i++) {
		for (j = 0, x = i; j < STEPS; j++)
			x = STEP(x);
		if (sums[i] != x * l->launches)
			return false;
	}
	return true;
}

static void *be_busy(void *arg)
{
	const size_t items = BUSY_ITEMS, local = 64;
	struct busy *b = arg;
	struct lane *l;
	int i;

	for (i = 0; now() < b->until && !__atomic_load_n(&told, __ATOMIC_RELAXED);
	     i = (i + 1) % lanes) {
		l = &b->lane[i];
		if (l->e)
			wait_one(l->e);
		arg_mem(b->k, 0, l->m);
		must(clEnqueueNDRangeKernel(l->q, b->k, 1, NULL, &items, &local, 0, NULL, &l->e));
		must(clFlush(l->q));
		l->launches++;
	}
	for (i = 0; i < lanes; i++)
		if (b->lane[i].e)
			wait_one(b->lane[i].e);
	return NULL;
}

static int busy(double seconds, const char *how, const cl_device_id *ids, cl_uint n)
{
	bool together = !strcmp(how, "together");
	static struct busy all[DEVICES_MAX];
	cl_uint i, launches;
	bool wrong = false;
	int j;

	lanes = together ? 2 : atoi(how);
	if (lanes < 1 || lanes > LANES_MAX)
		return 2;
	signal(SIGTERM, on_term);
	for (i = 0; i < n; i++)
		busy_set_up(&all[i], ids[i]);
	if (together)
		puts("ready");
	while (together && getchar() != EOF)
		;
	for (i = 0; i < n; i++) {
		all[i].until = now() + seconds;
		must(pthread_create(&all[i].thread, NULL, be_busy, &all[i]));
	}
	for (i = 0; i < n; i++) {
		must(pthread_join(all[i].thread, NULL));
		for (j = 0, launches = 0; j < lanes; j++) {
			wrong |= !is_right(&all[i].lane[j]);
			launches += all[i].lane[j].launches;
		}
		printf("%u launches\n", launches);
	}
	if (wrong)
		puts("WRONG");
	return wrong;
}

int main(int argc, char **argv)
{
	cl_device_id ids[DEVICES_MAX];
	cl_uint n;
	cl_int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES_MAX, ids, &n));
	n = n < DEVICES_MAX ? n : DEVICES_MAX;
	device = ids[0];
	context = clCreateContext(NULL, n, ids, NULL, NULL, &rc);
	must(rc);
	if (argc > 1 && !strcmp(argv[1], "extensions"))
		extensions();
	else if (argc > 1 && !strcmp(argv[1], "child"))
		return system("echo \"$OPENCL_LAYERS\"");
	else if (argc > 2 && !strcmp(argv[1], "allocate"))
		allocate(argc - 2, argv + 2);
	else if (argc > 1 && !strcmp(argv[1], "fail"))
		fail();
	else if (argc > 1 && !strcmp(argv[1], "address"))
		address();
	else if (argc > 2 && !strcmp(argv[1], "many"))
		many(atoi(argv[2]));
	else if (argc > 1 && !strcmp(argv[1], "seldom"))
		seldom();
	else if (argc > 1 && !strcmp(argv[1], "waits"))
		waits();
	else if (argc > 2 && !strcmp(argv[1], "busy"))
		return busy(atof(argv[2]), argc > 3 ? argv[3] : "2", ids, n);
	else
		return 1;
	return 0;
}
