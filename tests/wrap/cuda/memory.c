// SPDX-License-Identifier: MIT
/* Memory: every form is charged and given back, and the limit is what a program sees. */
#include <dlfcn.h>
#include "bed.h"

#define MIB (1024ull * 1024)
#define LIMIT (64 * MIB)

static struct world w;
static struct gpushare_share share = {
	.mask = GPUSHARE_SHARE_MEM_MAX, .mem_max = LIMIT,
};

static uint64_t charged(void)
{
	return child_charged(&w, getpid());
}

/* In a child, which is a member of a group with a limit. */
static void limited(void (*fn)(void *arg))
{
	bed_make(&w, 60000);
	ASSERT_EQ(0, group_set(&w, "small", &share));
	setenv("GPUSHARE_GROUP", "small", 1);
	EXPECT_EQ(0, child_wait(child_start(fn, NULL)));
	unsetenv("GPUSHARE_GROUP");
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

static void figures(void *arg)
{
	size_t left = 0, total = 0;
	struct program p;
	CUdeviceptr d;

	(void)arg;
	program_start(&p);
	OK(cuDeviceTotalMem_v2(&total, 0));
	EXPECT_EQ(LIMIT, total);
	OK(cuMemGetInfo_v2(&left, &total));
	EXPECT_EQ(LIMIT, total);
	EXPECT_EQ(LIMIT, left);
	MUST(cuMemAlloc_v2(&d, 10 * MIB));
	OK(cuMemGetInfo_v2(&left, &total));
	EXPECT_EQ(54 * MIB, left);
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&d, 55 * MIB));
	OK(cuMemFree_v2(d));
	MUST(cuMemAlloc_v2(&d, 64 * MIB));
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocManaged(&d, 1, 1));
}

TEST(a_program_sees_its_limit)
{
	limited(figures);
}

static void forms(void *arg)
{
	struct program p;
	CUdeviceptr d[6];
	size_t pitch = 0;
	CUstream s;
	int i;

	(void)arg;
	program_start(&p);
	MUST(cuStreamCreate(&s, 1));
	for (i = 0; i < 3; i++) {	/* more than once: it comes back */
		MUST(cuMemAlloc_v2(&d[0], 20 * MIB));
		EXPECT_EQ(20 * MIB, charged());
		MUST(cuMemAllocManaged(&d[1], 10 * MIB, 1));
		EXPECT_EQ(30 * MIB, charged());
		MUST(cuMemAllocPitch_v2(&d[2], &pitch, 1000, 1024, 4));
		EXPECT_EQ(30 * MIB + pitch * 1024, charged());
		MUST(cuMemAllocAsync(&d[3], 10 * MIB, s));
		MUST(cuMemAllocAsync_ptsz(&d[4], 10 * MIB, NULL));
		EXPECT_EQ(50 * MIB + pitch * 1024, charged());
		EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&d[5], 30 * MIB, s));
		EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY,
			  cuMemAllocPitch_v2(&d[5], &pitch, 30 * MIB, 1, 4));
		OK(cuMemFreeAsync(d[3], s));
		OK(cuMemFreeAsync_ptsz(d[4], NULL));
		OK(cuMemFree_v2(d[1]));
		OK(cuMemFree_v2(d[2]));
		EXPECT_EQ(20 * MIB, charged());
		OK(cuMemFree_v2(d[0]));
		EXPECT_EQ(0, charged());
	}
	/* what isn't the device's, and what was refused by the driver */
	EXPECT_NE(CUDA_SUCCESS, cuMemAlloc_v2(&d[0], 0));
	EXPECT_NE(CUDA_SUCCESS, cuMemAlloc_v2(NULL, MIB));
	EXPECT_NE(CUDA_SUCCESS, cuMemFree_v2(12345));
	EXPECT_EQ(0, charged());
}

TEST(each_form_is_charged)
{
	limited(forms);
}

static void contexts(void *arg)
{
	struct program p;
	CUcontext primary;
	CUdeviceptr d;
	int i;

	(void)arg;
	for (i = 0; i < 20; i++) {
		program_start(&p);
		MUST(cuMemAlloc_v2(&d, 40 * MIB));
		MUST(program_spin(&p, 2, 10, NULL));
		OK(cuCtxDestroy_v2(p.ctx));
		EXPECT_EQ(0, charged());
		MUST(cuDevicePrimaryCtxRetain(&primary, 0));
		MUST(cuCtxSetCurrent(primary));
		MUST(cuMemAlloc_v2(&d, 40 * MIB));
		OK(cuDevicePrimaryCtxRelease_v2(0));
		EXPECT_EQ(0, charged());
	}
}

TEST(it_goes_with_its_context)
{
	limited(contexts);
}

/* Forms that not every driver has: through its own names. */
struct prop {
	int type, handle_types, location_type, location_id;
	void *meta;
	unsigned char flags[8];
};

static void virtual_memory(void *arg)
{
	struct prop prop = { .type = 1, .location_type = 1 };
	CUresult (*create)(uint64_t *h, size_t size, const struct prop *p, unsigned long long f);
	CUresult (*reserve)(CUdeviceptr *p, size_t size, size_t align, CUdeviceptr at,
			    unsigned long long f);
	CUresult (*map)(CUdeviceptr p, size_t size, size_t at, uint64_t h, unsigned long long f);
	CUresult (*unmap)(CUdeviceptr p, size_t size);
	CUresult (*release)(uint64_t h);
	void *self = dlopen(NULL, RTLD_LAZY);
	struct program p;
	CUdeviceptr at;
	uint64_t h;
	CUresult r;

	(void)arg;
	program_start(&p);
	create = (__typeof__(create))dlsym(self, "cuMemCreate");
	reserve = (__typeof__(reserve))dlsym(self, "cuMemAddressReserve");
	map = (__typeof__(map))dlsym(self, "cuMemMap");
	unmap = (__typeof__(unmap))dlsym(self, "cuMemUnmap");
	release = (__typeof__(release))dlsym(self, "cuMemRelease");
	r = create(&h, 32 * MIB, &prop, 0);
	if (r == CUDA_ERROR_NOT_FOUND) {
		printf("# this driver has no virtual memory\n");
		EXPECT_EQ(0, charged());
		return;
	}
	MUST(r);
	EXPECT_EQ(32 * MIB, charged());
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, create(&h, 64 * MIB, &prop, 0));
	MUST(reserve(&at, 32 * MIB, 0, 0, 0));
	MUST(map(at, 32 * MIB, 0, h, 0));
	MUST(release(h));
	EXPECT_EQ(32 * MIB, charged());
	MUST(unmap(at, 32 * MIB));
	EXPECT_EQ(0, charged());
}

TEST(virtual_memory_counts_until_it_is_mapped_nowhere)
{
	limited(virtual_memory);
}

struct array {
	size_t width, height;
	int format;
	unsigned int channels;
};

static void arrays(void *arg)
{
	struct array d = { 1024, 1024, 0x20, 4 };
	CUresult (*create)(void **a, const struct array *d);
	CUresult (*destroy)(void *a);
	void *self = dlopen(NULL, RTLD_LAZY), *a[5];
	struct program p;
	CUresult r;

	(void)arg;
	program_start(&p);
	create = (__typeof__(create))dlsym(self, "cuArrayCreate_v2");
	destroy = (__typeof__(destroy))dlsym(self, "cuArrayDestroy");
	r = create(&a[0], &d);
	if (r == CUDA_ERROR_NOT_FOUND) {
		printf("# this driver has no arrays\n");
		EXPECT_EQ(0, charged());
		return;
	}
	MUST(r);
	EXPECT_EQ(16 * MIB, charged());
	MUST(create(&a[1], &d));
	MUST(create(&a[2], &d));
	MUST(create(&a[3], &d));
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, create(&a[4], &d));
	MUST(destroy(a[0]));
	EXPECT_EQ(48 * MIB, charged());
}

TEST(arrays_are_charged)
{
	limited(arrays);
}

/* What another thread gets at the address of what is being freed, before that call returns. */
static CUdeviceptr fresh;
static CUmemGenericAllocationHandle other;

static void freed(void (*fn)(uint64_t addr))
{
	void (*plant)(void (*fn)(uint64_t addr)) = (__typeof__(plant))dlsym(
		dlopen(getenv("GPUSHARE_REAL_LIBCUDA"), RTLD_LAZY), "cpucuda_freed");

	ASSERT_TRUE(plant != NULL);
	plant(fn);
}

static void allocate_there(uint64_t addr)
{
	freed(NULL);
	MUST(cuMemAlloc_v2(&fresh, MIB));
	EXPECT_EQ(addr, fresh);
}

static void map_there(uint64_t addr)
{
	freed(NULL);
	MUST(cuMemMap(addr, 4 * MIB, 0, other, 0));
}

static const CUmemAllocationProp on_device = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
};

static void handles_again(void *arg)
{
	CUmemGenericAllocationHandle h;
	struct program p;
	CUdeviceptr d;

	(void)arg;
	program_start(&p);
	MUST(cuMemAlloc_v2(&d, 2 * MIB));
	freed(allocate_there);
	OK(cuMemFree_v2(d));
	EXPECT_EQ(MIB, charged());
	OK(cuMemFree_v2(fresh));
	EXPECT_EQ(0, charged());

	MUST(cuMemAddressReserve(&d, 32 * MIB, 0, 0, 0));
	MUST(cuMemCreate(&h, 32 * MIB, &on_device, 0));
	MUST(cuMemMap(d, 32 * MIB, 0, h, 0));
	MUST(cuMemRelease(h));
	MUST(cuMemCreate(&other, 4 * MIB, &on_device, 0));
	EXPECT_EQ(36 * MIB, charged());
	freed(map_there);
	OK(cuMemUnmap(d, 32 * MIB));
	EXPECT_EQ(4 * MIB, charged());
	OK(cuMemRelease(other));
	EXPECT_EQ(4 * MIB, charged());	/* it is mapped */
	OK(cuMemUnmap(d, 4 * MIB));
	EXPECT_EQ(0, charged());
}

TEST(an_address_that_comes_again_while_it_is_freed)
{
	limited(handles_again);
}

/* What the driver doesn't free stays charged. */
static void refused(void *arg)
{
	static const char trap[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry t() { trap; }\n";
	CUmemGenericAllocationHandle h;
	struct program p;
	CUdeviceptr d, at;
	CUfunction f;
	CUmodule m;

	(void)arg;
	program_start(&p);
	MUST(cuMemAddressReserve(&at, 8 * MIB, 0, 0, 0));
	MUST(cuMemCreate(&h, 8 * MIB, &on_device, 0));
	MUST(cuMemMap(at, 8 * MIB, 0, h, 0));
	MUST(cuMemRelease(h));
	EXPECT_NE(CUDA_SUCCESS, cuMemUnmap(at, MIB));	/* it goes as a whole */
	EXPECT_EQ(8 * MIB, charged());
	MUST(cuMemAlloc_v2(&d, 10 * MIB));
	MUST(cuModuleLoadData(&m, trap));
	MUST(cuModuleGetFunction(&f, m, "t"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	EXPECT_EQ(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
	EXPECT_EQ(CUDA_ERROR_LAUNCH_FAILED, cuMemFree_v2(d));
	EXPECT_EQ(CUDA_ERROR_LAUNCH_FAILED, cuMemFree_v2(d));
	EXPECT_EQ(18 * MIB, charged());
	OK(cuMemUnmap(at, 8 * MIB));
	EXPECT_EQ(10 * MIB, charged());
	OK(cuCtxDestroy_v2(p.ctx));
	EXPECT_EQ(0, charged());
}

TEST(what_the_driver_refuses_to_free)
{
	limited(refused);
}

TEST_MAIN()
