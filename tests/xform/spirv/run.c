// SPDX-License-Identifier: MIT
/*
 * The kernels of kernels.cl as they are, in slices and by workers, on a device that takes
 * SPIR-V: what they write must be equal to the bit. Cuts, numbers of workers and stops
 * are drawn from a seed (GS_SEED). Debian 12's PoCL takes no SPIR-V, so check-full runs
 * this over the next release's, see tests/xform/opencl/newer-pocl.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <gsspirv.h>

#include "harness.h"

#define WORDS		1024
#define MAX_WORKERS	12

static const size_t size[2] = { 32, 6 }, offset[2] = { 5, 3 }, local[2] = { 8, 2 };
static uint32_t state = 20261122;

static struct {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_uint bits;
} h;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % n;
}

static void open_device(void)
{
	cl_platform_id platform;
	char il[200] = "";

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &h.device, NULL))
		SKIP("no OpenCL device");
	if (clGetDeviceInfo(h.device, CL_DEVICE_IL_VERSION, sizeof(il), il, NULL) ||
	    !strstr(il, "SPIR-V"))
		SKIP("the device takes no SPIR-V");
	clGetDeviceInfo(h.device, CL_DEVICE_ADDRESS_BITS, sizeof(h.bits), &h.bits, NULL);
	h.context = clCreateContext(NULL, 1, &h.device, NULL, NULL, NULL);
	h.queue = clCreateCommandQueueWithProperties(h.context, h.device, NULL, NULL);
	ASSERT_TRUE(h.queue);
}

static cl_program build(const void *module, size_t len)
{
	cl_int err;
	cl_program p = clCreateProgramWithIL(h.context, module, len, &err);
	char log[4096] = "";

	ASSERT_EQ(0, err);
	err = clBuildProgram(p, 1, &h.device, "", NULL, NULL);
	if (err) {
		clGetProgramBuildInfo(p, h.device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
		test_fail("the module doesn't build: %s", log);
		test_end(1);
	}
	return p;
}

struct job {
	cl_kernel kernel;
	cl_mem out, in, queue, stop;
	uint32_t n_params;
	uint32_t result[WORDS];
};

static void begin(struct job *j, cl_program p, const struct gsx_cl_kernel *k)
{
	static const uint32_t pair[2] = { 77, 99 };
	uint32_t zero[WORDS] = { 0 }, in[64], n = 3;
	cl_int err;

	memset(j, 0, sizeof(*j));
	for (int i = 0; i < 64; i++)
		in[i] = i * 2654435761u >> 9;
	j->kernel = clCreateKernel(p, k->name, &err);
	ASSERT_EQ(0, err);
	j->out = clCreateBuffer(h.context, CL_MEM_COPY_HOST_PTR, sizeof(zero), zero, NULL);
	j->in = clCreateBuffer(h.context, CL_MEM_COPY_HOST_PTR, sizeof(in), in, NULL);
	j->n_params = k->n_params;
	ASSERT_EQ(0, clSetKernelArg(j->kernel, 0, sizeof(cl_mem), &j->out));
	ASSERT_EQ(0, clSetKernelArg(j->kernel, 1, sizeof(cl_mem), &j->in));
	ASSERT_EQ(0, clSetKernelArg(j->kernel, 2, sizeof(n), &n));
	ASSERT_EQ(0, clSetKernelArg(j->kernel, 3, 256, NULL));
	if (k->n_params > 4)
		ASSERT_EQ(0, clSetKernelArg(j->kernel, 4, sizeof(pair), pair));
}

static void end(struct job *j)
{
	ASSERT_EQ(0, clEnqueueReadBuffer(h.queue, j->out, CL_TRUE, 0, sizeof(j->result), j->result,
					 0, NULL, NULL));
	clReleaseKernel(j->kernel);
	clReleaseMemObject(j->out);
	clReleaseMemObject(j->in);
}

static void launch(struct job *j, const size_t at[2], const size_t items[2])
{
	ASSERT_EQ(0,
		  clEnqueueNDRangeKernel(h.queue, j->kernel, 2, at, items, local, 0, NULL, NULL));
	ASSERT_EQ(0, clFinish(h.queue));
}

static struct gsx_cl_launch whole(void)
{
	return (struct gsx_cl_launch){
		.size = { size[0], size[1], 1 }, .offset = { offset[0], offset[1], 0 },
		.local = { local[0], local[1], 1 },
	};
}

/* Rows of groups, each cut at random; @wrong: what a wrong rewrite would give. */
static void slices(struct job *j, bool native, bool wrong)
{
	struct gsx_cl_launch l = whole();
	struct gsx_cl_slice s;
	uint64_t groups[3], n;

	ASSERT_TRUE(gsx_cl_groups(&l, groups));
	for (uint64_t y = 0; y < groups[1]; y++)
		for (uint64_t x = 0; x < groups[0]; x += n) {
			uint64_t base[3] = { x + wrong, y, 0 };
			size_t at[2] = { offset[0] + x * local[0], offset[1] + y * local[1] };
			size_t items[2];

			n = 1 + draw(groups[0] - x);
			items[0] = n * local[0];
			items[1] = local[1];
			gsx_cl_slice_init(&s, &l, base);
			for (int i = 0; i < 4 && !native; i++)
				ASSERT_EQ(0,
					  clSetKernelArg(j->kernel, j->n_params + i, 32, s.arg[i]));
			launch(j, at, items);
		}
}

/* Each launch has its number of workers, and half of them are stopped from the start. */
static uint32_t workers(struct job *j, uint32_t batch)
{
	uint32_t back[MAX_WORKERS][2], n, stop, launches = 0;
	uint32_t bytes = GSX_CL_QUEUE_BYTES(MAX_WORKERS, MAX_WORKERS);
	struct gsx_cl_queue *queue = calloc(1, bytes);
	struct gsx_cl_launch l = whole();
	struct gsx_cl_workers w;
	struct gsx_cl_todo todo;
	cl_mem q, s;

	ASSERT_EQ(0, gsx_cl_todo_init(&todo, &l, batch, MAX_WORKERS, back));
	q = clCreateBuffer(h.context, 0, bytes, NULL, NULL);
	s = clCreateBuffer(h.context, 0, 4, NULL, NULL);
	while ((n = gsx_cl_todo_next(&todo, 1 + draw(MAX_WORKERS), queue, &w))) {
		size_t items[2] = { n * local[0], local[1] };

		ASSERT_LE(++launches, 200);
		stop = draw(2);
		clEnqueueWriteBuffer(h.queue, q, CL_TRUE, 0, bytes, queue, 0, NULL, NULL);
		clEnqueueWriteBuffer(h.queue, s, CL_TRUE, 0, 4, &stop, 0, NULL, NULL);
		ASSERT_EQ(0, clSetKernelArg(j->kernel, j->n_params, sizeof(q), &q));
		ASSERT_EQ(0, clSetKernelArg(j->kernel, j->n_params + 1, sizeof(s), &s));
		for (int i = 0; i < 3; i++)
			ASSERT_EQ(0, clSetKernelArg(j->kernel, j->n_params + 2 + i, 32, w.arg[i]));
		launch(j, NULL, items);
		clEnqueueReadBuffer(h.queue, q, CL_TRUE, 0, bytes, queue, 0, NULL, NULL);
		ASSERT_GE(gsx_cl_todo_done(&todo, n, queue), 0);
	}
	clReleaseMemObject(q);
	clReleaseMemObject(s);
	free(queue);
	return launches;
}

static void same(const struct job *a, const struct job *b, const char *kernel, const char *how)
{
	for (int i = 0; i < WORDS; i++)
		if (a->result[i] != b->result[i]) {
			test_fail("%s %s: word %d is %u, not %u", kernel, how, i, b->result[i],
				  a->result[i]);
			return;
		}
}

static void *read_module(const char *name, size_t *len)
{
	char path[200];
	void *w = malloc(1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "tests/xform/spirv/%s.spv", name);
	f = fopen(path, "r");
	ASSERT_TRUE(f);
	*len = fread(w, 1, 1 << 20, f);
	fclose(f);
	return w;
}

static void run_module(const char *name)
{
	struct gsx_spv_options opt = { .modes = GSX_ALL_MODES, .rewrite_native = true };
	uint32_t cut[2] = { 0 }, launches = 0;
	struct gsx_spv_result r;
	struct job first, j;
	cl_program p[3];
	size_t len;
	void *w = read_module(name, &len);

	ASSERT_EQ(0, gsx_spv_transform(w, len, &opt, &r));
	p[0] = build(w, len);
	p[1] = build(r.module[GSX_SLICE], r.len[GSX_SLICE]);
	p[2] = build(r.module[GSX_WORKERS], r.len[GSX_WORKERS]);
	for (uint32_t i = 0; i < r.n_kernels && test_failures < 10; i++) {
		const struct gsx_cl_kernel *k = &r.kernels[i];

		/* Undefined on this device; and those that wait aren't cut. */
		if (k->flags & GSX_CL_EARLY_RETURN || !k->modes)
			continue;
		begin(&first, p[0], k);
		launch(&first, offset, size);
		end(&first);
		for (int round = 0; round < 3 && k->modes & GSX_BIT(GSX_SLICE); round++) {
			bool native = round == 2 && k->flags & GSX_CL_NATIVE;

			begin(&j, p[!native], k);
			slices(&j, native, false);
			end(&j);
			same(&first, &j, k->name, native ? "in slices of its own" : "in slices");
			cut[0]++;
		}
		for (uint32_t batch = 1; batch < 5 && k->modes & GSX_BIT(GSX_WORKERS); batch++) {
			begin(&j, p[2], k);
			launches += workers(&j, batch);
			end(&j);
			same(&first, &j, k->name, "by workers");
			cut[1]++;
		}
	}
	printf("# %s: %u runs in slices, %u by workers in %u launches\n", name, cut[0], cut[1], launches);
	EXPECT_GT(cut[0], 20);
	EXPECT_GT(cut[1], 20);
	for (int i = 0; i < 3; i++)
		clReleaseProgram(p[i]);
	gsx_spv_result_free(&r);
	free(w);
}

TEST_LIMIT(equal_to_the_bit, 600)
{
	const char *seed = getenv("GS_SEED");

	open_device();
	if (seed)
		state = atoi(seed) | 1;
	printf("# seed %u\n", state);
	run_module(h.bits == 64 ? "plain" : "narrow");
	if (h.bits == 64)
		run_module("optimised");
}

TEST_LIMIT(a_wrong_slice_is_seen, 300)
{
	struct gsx_spv_result r;
	struct job first, j;
	cl_program p[2];
	size_t len;
	void *w;

	open_device();
	w = read_module(h.bits == 64 ? "plain" : "narrow", &len);
	ASSERT_EQ(0, gsx_spv_transform(w, len, NULL, &r));
	p[0] = build(w, len);
	p[1] = build(r.module[GSX_SLICE], r.len[GSX_SLICE]);
	for (uint32_t i = 0; i < r.n_kernels; i++) {
		if (strcmp(r.kernels[i].name, "all_ids"))
			continue;
		begin(&first, p[0], &r.kernels[i]);
		launch(&first, offset, size);
		end(&first);
		begin(&j, p[1], &r.kernels[i]);
		slices(&j, false, true);
		end(&j);
		EXPECT_NE(0, memcmp(first.result, j.result, sizeof(j.result)));
	}
	gsx_spv_result_free(&r);
	free(w);
}

TEST_MAIN()
