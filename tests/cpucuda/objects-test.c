// SPDX-License-Identifier: MIT
/*
 * The driver's objects: mapped memory, pools, several devices, arrays, graphs and
 * their nodes, streams' attributes.
 */
#include <unistd.h>
#include "harness.h"
#include "cpucuda/api.h"
#include "cpucuda/cpucuda.h"

#define OK(x) EXPECT_EQ(CUDA_SUCCESS, x)
#define MUST(x) ASSERT_EQ(CUDA_SUCCESS, x)
#define BAD(x) EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, x)
#define MIB ((size_t)1 << 20)

static CUcontext ctx;

static void start(void)
{
	MUST(cuInit(0));
	MUST(cuCtxCreate_v2(&ctx, 0, 0));
}

/* o[i] += n, by 64 threads */
static CUfunction adder(void)
{
	static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry add(.param .u64 o, .param .u32 n) {\n"
		".reg .u32 %r<6>; .reg .u64 %d<4>;\n"
		"ld.param.u64 %d1, [o]; ld.param.u32 %r1, [n];\n"
		"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
		"mad.lo.u32 %r2, %r2, %r3, %r4; mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2;\n"
		"ld.global.u32 %r5, [%d1]; add.u32 %r5, %r5, %r1; st.global.u32 [%d1], %r5;\n"
		"ret; }\n";
	CUfunction f = NULL;
	CUmodule m;

	OK(cuModuleLoadData(&m, text));
	OK(cuModuleGetFunction(&f, m, "add"));
	return f;
}

static CUresult run(CUfunction f, CUdeviceptr p, uint32_t n, CUstream s)
{
	void *args[] = { &p, &n };

	return cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, s, args, NULL);
}

static uint32_t word(CUdeviceptr p)
{
	uint32_t v = 0xbad;

	OK(cuMemcpyDtoH_v2(&v, p, 4));
	return v;
}

static size_t available(void)
{
	size_t f = 0, t;

	OK(cuMemGetInfo_v2(&f, &t));
	return f;
}

static CUmemAllocationProp on_device(int d)
{
	CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };

	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.location.id = d;
	p.requestedHandleTypes = 1;
	return p;
}

static CUmemAccessDesc access_from(int d, int flags)
{
	CUmemAccessDesc a = { .flags = flags };

	a.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	a.location.id = d;
	return a;
}

TEST(mapped_memory)
{
	CUmemAllocationProp prop = on_device(0), got;
	CUmemAccessDesc rw = access_from(0, 3), ro = access_from(0, 1);
	CUmemGenericAllocationHandle h, h2;
	unsigned long long flags;
	size_t unit, before;
	CUdeviceptr p, q;
	CUfunction f;

	start();
	f = adder();
	OK(cuMemGetAllocationGranularity(&unit, &prop, 0));
	EXPECT_EQ(2 * MIB, unit);
	BAD(cuMemAddressReserve(&p, 4096, 0, 0, 0));
	MUST(cuMemAddressReserve(&p, 8 * MIB, 0, 0, 0));
	MUST(cuMemAddressReserve(&q, 8 * MIB, 0, p, 0));
	EXPECT_TRUE(p != q && p % unit == 0 && q % unit == 0);
	before = available();
	MUST(cuMemCreate(&h, 4 * MIB, &prop, 0));
	MUST(cuMemCreate(&h2, 2 * MIB, &prop, 0));
	EXPECT_EQ(before - 6 * MIB, available());
	BAD(cuMemMap(p + 4096, 2 * MIB, 0, h, 0));
	BAD(cuMemMap(p, 6 * MIB, 0, h, 0));
	OK(cuMemMap(p, 4 * MIB, 0, h, 0));
	OK(cuMemMap(p + 4 * MIB, 2 * MIB, 0, h2, 0));
	BAD(cuMemMap(p, 2 * MIB, 0, h2, 0));
	BAD(cuMemsetD32_v2(p, 1, 64));		/* nobody has access yet */
	OK(cuMemSetAccess(p, 6 * MIB, &rw, 1));
	OK(cuMemGetAccess(&flags, &rw.location, p));
	EXPECT_EQ(3, flags);
	/* over the border between the two */
	OK(cuMemsetD32_v2(p + 4 * MIB - 128, 5, 64));
	OK(run(f, p + 4 * MIB - 128, 2, NULL));
	EXPECT_EQ(7, word(p + 4 * MIB - 4));
	EXPECT_EQ(7, word(p + 4 * MIB + 124));
	/* the same pages at two places, and away with the first */
	OK(cuMemMap(q, 2 * MIB, 0, h2, 0));
	OK(cuMemSetAccess(q, 2 * MIB, &ro, 1));
	EXPECT_EQ(7, word(q + 124));
	BAD(cuMemAddressFree(p, 8 * MIB));
	BAD(cuMemUnmap(p, 2 * MIB));		/* half of a mapping */
	OK(cuMemUnmap(p, 6 * MIB));
	EXPECT_EQ(7, word(q + 124));
	BAD(cuMemcpyDtoH_v2(&before, p, 4));
	OK(cuMemAddressFree(p, 8 * MIB));
	OK(cuMemRetainAllocationHandle(&h, (void *)(uintptr_t)q));
	EXPECT_EQ(h2, h);
	OK(cuMemRelease(h));
	OK(cuMemGetAllocationPropertiesFromHandle(&got, h2));
	EXPECT_EQ(0, got.location.id);
	OK(cuMemRelease(h2));
	BAD(cuMemRelease(h2));
	EXPECT_EQ(7, word(q + 124));		/* the mapping holds it */
	OK(run(f, q, 1, NULL));			/* which may not be written */
	EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	EXPECT_TRUE(strstr(cpucuda_fault(), "may only be read"));
}

TEST(exported_memory)
{
	CUmemAllocationProp prop = on_device(0);
	CUmemAccessDesc rw = access_from(0, 3);
	CUmemGenericAllocationHandle h, other;
	size_t before;
	CUdeviceptr p, q;
	int fd = -1;

	start();
	before = available();
	MUST(cuMemCreate(&h, 2 * MIB, &prop, 0));
	MUST(cuMemExportToShareableHandle(&fd, h, 1, 0));
	MUST(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd, 1));
	close(fd);
	MUST(cuMemAddressReserve(&p, 2 * MIB, 0, 0, 0));
	MUST(cuMemAddressReserve(&q, 2 * MIB, 0, 0, 0));
	OK(cuMemMap(p, 2 * MIB, 0, h, 0));
	OK(cuMemMap(q, 2 * MIB, 0, other, 0));
	OK(cuMemSetAccess(p, 2 * MIB, &rw, 1));
	OK(cuMemSetAccess(q, 2 * MIB, &rw, 1));
	OK(cuMemsetD32_v2(p, 77, 4));
	EXPECT_EQ(77, word(q));
	OK(cuMemUnmap(p, 2 * MIB));
	OK(cuMemUnmap(q, 2 * MIB));
	OK(cuMemRelease(h));
	OK(cuMemRelease(other));
	EXPECT_EQ(before, available());
}

static uint64_t of_pool(CUmemoryPool p, int which)
{
	uint64_t v = ~0ull;

	OK(cuMemPoolGetAttribute(p, which, &v));
	return v;
}

TEST(pools)
{
	uint64_t keep = 64 * MIB, zero = 0;
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED };
	CUmemoryPool p, d;
	CUdeviceptr a, b, c;
	size_t before;
	CUstream s;

	start();
	before = available();
	props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	MUST(cuMemPoolCreate(&p, &props));
	OK(cuMemPoolSetAttribute(p, 4, &keep));
	OK(cuStreamCreate(&s, 0));
	MUST(cuMemAllocFromPoolAsync(&a, 4 * MIB, p, s));
	MUST(cuMemAllocFromPoolAsync(&b, 8 * MIB, p, s));
	EXPECT_EQ(12 * MIB, of_pool(p, 7));
	OK(cuMemsetD32Async(a, 3, 16, s));
	OK(cuMemFreeAsync(a, s));
	OK(cuStreamSynchronize(s));
	EXPECT_EQ(8 * MIB, of_pool(p, 7));
	EXPECT_EQ(12 * MIB, of_pool(p, 5));
	EXPECT_EQ(12 * MIB, of_pool(p, 8));
	EXPECT_EQ(before - 12 * MIB, available());
	BAD(cuMemFreeAsync(a, s));
	BAD(cuMemsetD32_v2(a, 1, 1));
	MUST(cuMemAllocFromPoolAsync(&c, 4 * MIB, p, s));
	EXPECT_EQ(a, c);			/* what was kept */
	OK(cuMemFree_v2(c));
	OK(cuMemPoolTrimTo(p, 0));
	EXPECT_EQ(before - 8 * MIB, available());
	OK(cuMemPoolSetAttribute(p, 8, &zero));
	EXPECT_EQ(8 * MIB, of_pool(p, 8));
	/* the device's own gives back at once; ours can take its place */
	OK(cuDeviceGetDefaultMemPool(&d, 0));
	BAD(cuMemPoolDestroy(d));
	MUST(cuMemAllocAsync(&a, MIB, s));
	OK(cuMemFreeAsync(a, s));
	OK(cuStreamSynchronize(s));
	EXPECT_EQ(0, of_pool(d, 5));
	OK(cuDeviceSetMemPool(0, p));
	MUST(cuMemAllocAsync(&a, MIB, s));
	EXPECT_EQ(9 * MIB, of_pool(p, 7));
	OK(cuMemPoolDestroy(p));
	BAD(cuMemPoolDestroy(p));
	OK(cuMemFreeAsync(a, s));
	OK(cuMemFree_v2(b));
	OK(cuStreamSynchronize(s));
	EXPECT_EQ(before, available());
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&a, (size_t)5 << 30, s));
}

/* What pools keep is given back before anybody is told that there is no more. */
TEST(a_full_device_takes_from_the_pools)
{
	uint64_t keep = ~0ull;
	CUmemoryPool d;
	CUdeviceptr a;

	start();
	OK(cuDeviceGetDefaultMemPool(&d, 0));
	OK(cuMemPoolSetAttribute(d, 4, &keep));
	MUST(cuMemAllocAsync(&a, (size_t)3 << 30, NULL));
	OK(cuMemFreeAsync(a, NULL));
	OK(cuCtxSynchronize());
	EXPECT_EQ((uint64_t)3 << 30, of_pool(d, 5));
	OK(cuMemAlloc_v2(&a, (size_t)2 << 30));
	EXPECT_EQ(0, of_pool(d, 5));
}

TEST(two_devices)
{
	CUcontext one, two, got;
	CUdeviceptr p, q;
	CUfunction f;
	CUdevice d;
	char id[20];
	int n = 0;

	setenv("CPUCUDA_DEVICES", "2", 1);
	MUST(cuInit(0));
	OK(cuDeviceGetCount(&n));
	EXPECT_EQ(2, n);
	OK(cuDeviceGetPCIBusId(id, sizeof(id), 1));
	OK(cuDeviceGetByPCIBusId(&d, id));
	EXPECT_EQ(1, d);
	EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&d, 2));
	MUST(cuDevicePrimaryCtxRetain(&one, 0));
	MUST(cuDevicePrimaryCtxRetain(&two, 1));
	EXPECT_TRUE(one != two);
	MUST(cuCtxSetCurrent(one));
	MUST(cuMemAlloc_v2(&p, 3 * MIB));
	OK(cuMemsetD32_v2(p, 10, 64));
	MUST(cuCtxSetCurrent(two));
	OK(cuCtxGetDevice(&d));
	EXPECT_EQ(1, d);
	EXPECT_EQ((size_t)4 << 30, available());	/* memory is each device's own */
	MUST(cuMemAlloc_v2(&q, 256));
	OK(cuMemcpyPeer(q, two, p, one, 256));
	f = adder();
	OK(run(f, q, 1, NULL));
	EXPECT_EQ(11, word(q + 252));
	OK(cuDeviceCanAccessPeer(&n, 1, 0));
	EXPECT_EQ(1, n);
	OK(cuCtxEnablePeerAccess(one, 0));
	EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(one, 0));
	OK(run(f, p, 1, NULL));
	EXPECT_EQ(11, word(p));
	OK(cuCtxDisablePeerAccess(one));
	OK(run(f, p, 1, NULL));
	EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	EXPECT_TRUE(strstr(cpucuda_fault(), "can't reach"));
	/* the fault is the second device's alone */
	OK(cuCtxSetCurrent(one));
	EXPECT_EQ(11, word(p));
	OK(cuCtxGetCurrent(&got));
	EXPECT_TRUE(got == one);
}

TEST(arrays)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 10, .Height = 6, .Depth = 2, .Format = 3,
		.NumChannels = 1 }, got;
	uint32_t in[120], out[120] = { 0 }, i;
	CUmipmappedArray m;
	CUDA_MEMCPY3D c = { 0 };
	size_t before;
	CUarray a, l;
	CUdeviceptr p;

	start();
	before = available();
	for (i = 0; i < 120; i++)
		in[i] = i * 3 + 1;
	MUST(cuArray3DCreate_v2(&a, &d));
	EXPECT_EQ(before - sizeof(in), available());
	OK(cuArray3DGetDescriptor_v2(&got, a));
	EXPECT_EQ(6, got.Height);
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = in;
	c.srcPitch = 40;
	c.srcHeight = 6;
	c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	c.dstArray = a;
	c.WidthInBytes = 40;
	c.Height = 6;
	c.Depth = 2;
	OK(cuMemcpy3D_v2(&c));
	memset(&c, 0, sizeof(c));
	c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	c.srcArray = a;
	c.srcXInBytes = 8;
	c.srcY = 2;
	c.srcZ = 1;
	c.dstMemoryType = CU_MEMORYTYPE_HOST;
	c.dstHost = out;
	c.WidthInBytes = 12;
	c.Height = 4;
	c.Depth = 1;
	OK(cuMemcpy3D_v2(&c));
	for (i = 0; i < 12; i++)
		EXPECT_EQ(in[60 + (2 + i / 3) * 10 + 2 + i % 3], out[i]);
	c.Height = 5;
	BAD(cuMemcpy3D_v2(&c));
	OK(cuMemcpyAtoH_v2(out, a, 16, 40));
	EXPECT_EQ(0, memcmp(out, in + 4, 40));
	MUST(cuMemAlloc_v2(&p, 400));
	OK(cuMemcpyAtoD_v2(p, a, 0, 400));
	EXPECT_EQ(in[99], word(p + 396));
	OK(cuMemcpyHtoA_v2(a, 476, in, 4));
	BAD(cuMemcpyHtoA_v2(a, 476, in, 8));
	OK(cuMemcpyAtoA_v2(a, 0, a, 476, 4));
	OK(cuMemcpyAtoH_v2(out, a, 0, 4));
	EXPECT_EQ(in[0], out[0]);
	OK(cuArrayDestroy(a));
	OK(cuMemFree_v2(p));
	d.Width = 16;
	d.Height = 16;
	d.Depth = 0;
	MUST(cuMipmappedArrayCreate(&m, &d, 3));
	OK(cuMipmappedArrayGetLevel(&l, m, 2));
	OK(cuArray3DGetDescriptor_v2(&got, l));
	EXPECT_EQ(4, got.Width);
	EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(l));
	OK(cuMipmappedArrayDestroy(m));
	EXPECT_EQ(before, available());
}

/* nvcc's code for texture and surface objects: a 16 x 16 picture is read, copied, read again. */
TEST(texture_and_surface_objects)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { .Width = 16, .Height = 16, .Format = 0x20, .NumChannels = 1,
		.Flags = CUDA_ARRAY3D_SURFACE_LDST };
	CUDA_TEXTURE_DESC how = { .maxMipmapLevelClamp = 16 };
	CUDA_RESOURCE_DESC what = { .resType = CU_RESOURCE_TYPE_ARRAY }, shown;
	float in[256], out[256] = { 0 };
	CUsurfObject from, to;
	CUfunction f, copy;
	CUtexObject t;
	CUarray a, b;
	CUdeviceptr p;
	CUmodule m;
	int w = 16, i;

	start();
	MUST(cuModuleLoad(&m, "tests/corpus/ptx/sm_75/texture.ptx"));
	MUST(cuModuleGetFunction(&f, m, "tex_2d"));
	MUST(cuModuleGetFunction(&copy, m, "surf_copy"));
	MUST(cuMemAlloc_v2(&p, sizeof(out)));
	for (i = 0; i < 256; i++)
		in[i] = i * 0.5f;
	MUST(cuArray3DCreate_v2(&a, &d));
	MUST(cuArray3DCreate_v2(&b, &d));
	OK(cuMemcpyHtoA_v2(a, 0, in, sizeof(in)));
	what.res.array.hArray = a;
	MUST(cuTexObjectCreate(&t, &what, &how, NULL));
	MUST(cuSurfObjectCreate(&from, &what));
	what.res.array.hArray = b;
	MUST(cuSurfObjectCreate(&to, &what));
	OK(cuTexObjectGetResourceDesc(&shown, t));
	EXPECT_TRUE(shown.res.array.hArray == a);
	OK(cuLaunchKernel(f, 2, 2, 1, 8, 8, 1, 0, NULL, (void *[]){ &p, &t, &w }, NULL));
	OK(cuMemcpyDtoH_v2(out, p, sizeof(out)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(in)));
	/* it adds the grid's width to each word on the way */
	OK(cuLaunchKernel(copy, 2, 2, 1, 8, 8, 1, 0, NULL, (void *[]){ &to, &from }, NULL));
	OK(cuMemcpyAtoH_v2(out, b, 0, sizeof(out)));
	for (i = 0; i < 256; i++)
		EXPECT_EQ(((uint32_t *)in)[i] + 2, ((uint32_t *)out)[i]);
	OK(cuTexObjectDestroy(t));
	BAD(cuTexObjectDestroy(t));
	OK(cuSurfObjectDestroy(from));
	OK(cuLaunchKernel(f, 2, 2, 1, 8, 8, 1, 0, NULL, (void *[]){ &p, &t, &w }, NULL));
	EXPECT_EQ(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
}

TEST(texture_references)
{
	static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .global .texref pic;\n"
		".visible .entry k(.param .u64 o) {\n"
		".reg .u32 %r<3>; .reg .f32 %f<5>; .reg .u64 %d<4>;\n"
		"ld.param.u64 %d1, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n"
		"add.u64 %d1, %d1, %d2; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [pic, {%r1}];\n"
		"st.global.f32 [%d1], %f1; ret; }\n";
	float in[128], out[32];
	CUdeviceptr p, q;
	CUtexref r;
	CUmodule m;
	CUfunction f;
	int i;

	start();
	MUST(cuModuleLoadData(&m, text));
	MUST(cuModuleGetFunction(&f, m, "k"));
	MUST(cuModuleGetTexRef(&r, m, "pic"));
	MUST(cuMemAlloc_v2(&p, sizeof(in)));
	MUST(cuMemAlloc_v2(&q, sizeof(out)));
	for (i = 0; i < 128; i++)
		in[i] = i + 0.25f;
	OK(cuMemcpyHtoD_v2(p, in, sizeof(in)));
	OK(cuTexRefSetFormat(r, 0x20, 1));
	OK(cuTexRefSetAddress_v2(NULL, r, p, sizeof(in)));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){ &q }, NULL));
	OK(cuMemcpyDtoH_v2(out, q, sizeof(out)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(out)));
}

static void count(void *arg)
{
	++*(int *)arg;
}

TEST(nodes_of_graphs)
{
	CUDA_KERNEL_NODE_PARAMS_v2 k = { 0 }, shown;
	CUDA_MEMSET_NODE_PARAMS set = { 0 }, shown_set;
	CUDA_HOST_NODE_PARAMS host = { count, NULL };
	CUgraphNode fill, add, tell, nodes[8], from[8], to[8], in_clone;
	CUgraphExecUpdateResultInfo info;
	CUgraphExec x, other;
	CUgraph g, clone;
	uint32_t n = 5, on;
	CUdeviceptr p;
	int told = 0;
	size_t many;

	start();
	MUST(cuMemAlloc_v2(&p, 256));
	MUST(cuGraphCreate(&g, 0));
	set.dst = p;
	set.value = 100;
	set.elementSize = 4;
	set.width = 64;
	set.height = 1;
	host.userData = &told;
	k.func = adder();
	k.gridDimX = 2;
	k.blockDimX = 32;
	k.gridDimY = k.gridDimZ = k.blockDimY = k.blockDimZ = 1;
	k.kernelParams = (void *[]){ &p, &n };
	OK(cuGraphAddMemsetNode(&fill, g, NULL, 0, &set, ctx));
	OK(cuGraphAddKernelNode_v2(&add, g, &fill, 1, &k));
	OK(cuGraphAddHostNode(&tell, g, &add, 1, &host));
	many = 8;
	OK(cuGraphGetRootNodes(g, nodes, &many));
	EXPECT_EQ(1, many);
	EXPECT_TRUE(nodes[0] == fill);
	many = 8;
	OK(cuGraphGetEdges(g, from, to, &many));
	EXPECT_EQ(2, many);
	EXPECT_TRUE(from[1] == add && to[1] == tell);
	many = 8;
	OK(cuGraphNodeGetDependentNodes(fill, nodes, &many));
	EXPECT_TRUE(many == 1 && nodes[0] == add);
	OK(cuGraphClone(&clone, g));
	OK(cuGraphNodeFindInClone(&in_clone, add, clone));
	OK(cuGraphKernelNodeGetParams_v2(in_clone, &shown));
	EXPECT_EQ(5, *(uint32_t *)shown.kernelParams[1]);
	EXPECT_TRUE(shown.func == k.func && shown.blockDimX == 32);
	OK(cuGraphMemsetNodeGetParams(fill, &shown_set));
	EXPECT_EQ(100, shown_set.value);
	/* two instances: each is changed on its own */
	MUST(cuGraphInstantiateWithFlags(&x, g, 0));
	MUST(cuGraphInstantiateWithFlags(&other, g, 0));
	n = 50;
	OK(cuGraphExecKernelNodeSetParams_v2(x, add, &k));
	OK(cuGraphLaunch(x, NULL));
	EXPECT_EQ(150, word(p));
	OK(cuGraphLaunch(other, NULL));
	EXPECT_EQ(105, word(p));
	OK(cuGraphNodeSetEnabled(x, fill, 0));
	OK(cuGraphNodeGetEnabled(x, fill, &on));
	EXPECT_EQ(0, on);
	OK(cuGraphLaunch(x, NULL));
	EXPECT_EQ(155, word(p));
	OK(cuCtxSynchronize());
	EXPECT_EQ(3, told);
	/* an instance takes over a graph of the same shape, and no other */
	n = 7;
	OK(cuGraphKernelNodeSetParams_v2(add, &k));
	OK(cuGraphExecUpdate_v2(other, g, &info));
	OK(cuGraphLaunch(other, NULL));
	EXPECT_EQ(107, word(p));
	OK(cuGraphDestroyNode(tell));
	EXPECT_EQ(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(other, g, &info));
	EXPECT_EQ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, info.result);
	OK(cuGraphRemoveDependencies(g, &fill, &add, 1));
	BAD(cuGraphRemoveDependencies(g, &fill, &add, 1));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphExecDestroy(other));
	OK(cuGraphDestroy(clone));
	OK(cuGraphDestroy(g));
}

TEST(memory_of_graphs)
{
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUgraphNode alloc, set, gone;
	CUDA_MEMSET_NODE_PARAMS m = { 0 };
	CUgraphExec x;
	size_t before;
	CUdeviceptr p;
	CUstream s;
	CUgraph g;

	start();
	before = available();
	MUST(cuGraphCreate(&g, 0));
	any.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	any.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	any.alloc.bytesize = MIB;
	MUST(cuGraphAddNode(&alloc, g, NULL, 0, &any));
	m.dst = any.alloc.dptr;
	m.value = 9;
	m.elementSize = 4;
	m.width = 64;
	m.height = 1;
	OK(cuGraphAddMemsetNode(&set, g, &alloc, 1, &m, ctx));
	OK(cuGraphAddMemFreeNode(&gone, g, &set, 1, any.alloc.dptr));
	MUST(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(x, NULL));
	OK(cuCtxSynchronize());
	EXPECT_EQ(9, word(any.alloc.dptr));
	OK(cuGraphExecDestroy(x));
	EXPECT_EQ(before, available());
	/* the same by capture */
	OK(cuStreamCreate(&s, 0));
	MUST(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(cuMemAllocAsync(&p, MIB, s));
	OK(cuMemsetD32Async(p, 4, 64, s));
	OK(cuMemFreeAsync(p, s));
	MUST(cuStreamEndCapture(s, &g));
	MUST(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
	EXPECT_EQ(4, word(p));
	OK(cuGraphDestroy(g));
	OK(cuGraphExecDestroy(x));
	EXPECT_EQ(before, available());
}

TEST(captures_into_graphs_and_objects)
{
	CUgraphNode empty, nodes[4];
	CUstreamCaptureStatus st;
	CUuserObject o;
	CUgraphExec x;
	CUdeviceptr p;
	CUfunction f;
	int gone = 0;
	CUstream s;
	size_t n;
	CUgraph g;

	start();
	f = adder();
	MUST(cuMemAlloc_v2(&p, 256));
	OK(cuMemsetD32_v2(p, 0, 64));
	OK(cuStreamCreate(&s, 0));
	MUST(cuGraphCreate(&g, 0));
	OK(cuGraphAddEmptyNode(&empty, g, NULL, 0));
	MUST(cuStreamBeginCaptureToGraph(s, g, &empty, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(run(f, p, 1, s));
	OK(cuStreamGetCaptureInfo(s, &st, NULL));
	EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, st);
	OK(cuStreamUpdateCaptureDependencies(s, &empty, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
	OK(run(f, p, 10, s));
	OK(cuStreamEndCapture(s, &g));
	n = 4;
	OK(cuGraphNodeGetDependentNodes(empty, nodes, &n));
	EXPECT_EQ(2, n);
	MUST(cuUserObjectCreate(&o, &gone, count, 1, 1));
	OK(cuGraphRetainUserObject(g, o, 1, 1));
	MUST(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
	EXPECT_EQ(11, word(p));
	OK(cuGraphDestroy(g));
	EXPECT_EQ(0, gone);
	OK(cuGraphExecDestroy(x));
	EXPECT_EQ(1, gone);
}

TEST(words_and_attributes_of_streams)
{
	CUstreamBatchMemOpParams op[2];
	CUlaunchAttributeValue v = { .priority = -3 };
	CUstream s, t;
	CUdeviceptr p;
	int prio;

	start();
	MUST(cuMemAlloc_v2(&p, 16));
	OK(cuMemsetD32_v2(p, 0, 4));
	OK(cuCtxSynchronize());		/* the two don't wait for the legacy stream */
	OK(cuStreamCreate(&s, 1));
	OK(cuStreamCreate(&t, 1));
	memset(op, 0, sizeof(op));
	op[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	op[0].waitValue.address = p;
	op[0].waitValue.value = 3;
	op[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	op[1].writeValue.address = p + 8;
	op[1].writeValue.value64 = 0x100000002ull;
	OK(cuStreamBatchMemOp_v2(s, 2, op, 0));
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	OK(cuStreamWriteValue32(t, p, 4, 0));
	OK(cuStreamSynchronize(s));
	EXPECT_EQ(1, word(p + 12));
	OK(cuStreamSetAttribute(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v));
	OK(cuStreamCopyAttributes(t, s));
	OK(cuStreamGetPriority(t, &prio));
	EXPECT_EQ(-3, prio);
}

TEST(advice_about_managed_memory)
{
	CUdeviceptr p, q;
	int v = 7;

	start();
	MUST(cuMemAllocManaged(&p, 8192, 1));
	MUST(cuMemAlloc_v2(&q, 8192));
	OK(cuMemAdvise(p, 8192, 1, 0));
	OK(cuMemRangeGetAttribute(&v, 4, 1, p, 8192));
	EXPECT_EQ(1, v);
	OK(cuMemAdvise(p, 8192, 3, -1));
	OK(cuMemRangeGetAttribute(&v, 4, 2, p, 8192));
	EXPECT_EQ(-1, v);
	OK(cuMemPrefetchAsync(p, 8192, 0, NULL));
	OK(cuMemRangeGetAttribute(&v, 4, 4, p, 8192));
	EXPECT_EQ(0, v);
	BAD(cuMemAdvise(q, 8192, 1, 0));
	BAD(cuMemPrefetchAsync(p, 9000, 0, NULL));
}

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* Each needs the other: a function here, a variable there, a name that both have. */
static const char caller[] = HEAD ".visible .global .u32 total = 40;\n"
	".extern .func (.param .u32 r) twice(.param .u32 x);\n"
	".global .u32 own = 1;\n"
	".visible .entry k(.param .u64 o) {\n"
	".reg .u32 %r<4>; .reg .u64 %d<3>;\n"
	"ld.param.u64 %d1, [o]; ld.global.u32 %r1, [own];\n"
	"{ .param .u32 a; .param .u32 v; st.param.u32 [a], %r1;\n"
	"call (v), twice, (a); ld.param.u32 %r2, [v]; }\n"
	"st.global.u32 [%d1], %r2; ret; }\n";
static const char callee[] = HEAD ".extern .global .u32 total;\n.global .u32 own = 500;\n"
	".visible .func (.param .u32 r) twice(.param .u32 x) {\n"
	".reg .u32 %r<5>;\n"
	"ld.param.u32 %r1, [x]; ld.global.u32 %r2, [total]; ld.global.u32 %r3, [own];\n"
	"shl.b32 %r1, %r1, 1; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;\n"
	"st.param.u32 [r], %r1; ret; }\n";

TEST(linking)
{
	char log[400] = "";
	int opt[2] = { 5, 6 };
	void *val[2] = { log, (void *)sizeof(log) }, *cubin, *args[1];
	CUlinkState l;
	CUfunction f;
	CUdeviceptr p, v;
	CUmodule m;
	size_t n;

	start();
	MUST(cuMemAlloc_v2(&p, 4));
	EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&m, callee));	/* alone */
	MUST(cuLinkCreate_v2(2, opt, val, &l));
	OK(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)callee, sizeof(callee), "b", 0, NULL, NULL));
	EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuLinkComplete(l, &cubin, &n));
	EXPECT_TRUE(strstr(log, "total"));
	OK(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)caller, sizeof(caller), "a", 0, NULL, NULL));
	MUST(cuLinkComplete(l, &cubin, &n));
	MUST(cuModuleLoadData(&m, cubin));
	OK(cuLinkDestroy(l));
	MUST(cuModuleGetFunction(&f, m, "k"));
	OK(cuModuleGetGlobal_v2(&v, &n, m, "total"));
	EXPECT_EQ(4, n);
	args[0] = &p;
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	EXPECT_EQ(2 + 40 + 500, word(p));
	/* the same name twice */
	MUST(cuLinkCreate_v2(2, opt, val, &l));
	OK(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)caller, sizeof(caller), "a", 0, NULL, NULL));
	OK(cuLinkAddData_v2(l, CU_JIT_INPUT_PTX, (void *)caller, sizeof(caller), "a", 0, NULL, NULL));
	EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuLinkComplete(l, &cubin, &n));
	EXPECT_TRUE(strstr(log, "another module too"));
	OK(cuLinkDestroy(l));
}

TEST(kernels_of_libraries)
{
	CUkernel all[4], k;
	CUmodule m;
	CUlibrary l;
	unsigned int n;
	const char *name;

	start();
	MUST(cuLibraryLoadData(&l, HEAD ".visible .entry one() { ret; }\n"
			       ".visible .entry two() { ret; }\n", NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&n, l));
	EXPECT_EQ(2, n);
	OK(cuLibraryEnumerateKernels(all, 4, l));
	OK(cuKernelGetName(&name, all[1]));
	EXPECT_STREQ("two", name);
	OK(cuLibraryGetKernel(&k, l, "two"));
	EXPECT_TRUE(k == all[1]);
	OK(cuLibraryGetModule(&m, l));
	OK(cuKernelSetCacheConfig(k, 1, 0));
	OK(cuLibraryUnload(l));
}

static int in_function, go_on;

static void until_told(void *arg)
{
	(void)arg;
	__atomic_store_n(&in_function, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
		usleep(1000);
}

/* The device comes to other streams after it, which may be gone by then. */
TEST(streams_go_while_a_function_of_the_host_runs)
{
	CUstream before, s, behind;

	start();
	MUST(cuStreamCreate(&before, 1));
	MUST(cuStreamCreate(&s, 1));
	MUST(cuStreamCreate(&behind, 1));
	MUST(cuLaunchHostFunc(s, until_told, NULL));
	while (!__atomic_load_n(&in_function, __ATOMIC_ACQUIRE))
		usleep(1000);
	OK(cuStreamDestroy_v2(before));
	OK(cuStreamDestroy_v2(behind));
	__atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(s));
	OK(cuCtxSynchronize());
}

TEST_MAIN()
