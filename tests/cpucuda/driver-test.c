// SPDX-License-Identifier: MIT
/* The driver on the CPU through its interface, as a program sees it. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include "harness.h"
#include "cpucuda/api.h"
#include "corpus.h"
#include "cpucuda/cpucuda.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define OK(x) EXPECT_EQ(CUDA_SUCCESS, x)
#define MUST(x) ASSERT_EQ(CUDA_SUCCESS, x)

static CUcontext ctx;

static void start(void)
{
	CUdevice d;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&d, 0));
	MUST(cuCtxCreate_v2(&ctx, 0, d));
}

static CUfunction get(const char *text, const char *name)
{
	char log[400] = "";
	int opt[2] = { 5, 6 };
	void *val[2] = { log, (void *)sizeof(log) };
	CUfunction f = NULL;
	CUmodule m;

	if (cuModuleLoadDataEx(&m, text, 2, opt, val))
		test_fail("%s", log);
	else
		MUST(cuModuleGetFunction(&f, m, name));
	return f;
}

/* adds n to each word: o[i] += n */
static const char add_text[] = HEAD
	".visible .global .align 4 .u32 calls = 5;\n"
	".visible .entry add(.param .u64 o, .param .u32 n) {\n"
	".reg .u32 %r<6>; .reg .u64 %d<4>;\n"
	"ld.param.u64 %d1, [o]; ld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"mad.lo.u32 %r2, %r2, %r3, %r4; mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2;\n"
	"ld.global.u32 %r5, [%d1]; add.u32 %r5, %r5, %r1; st.global.u32 [%d1], %r5;\n"
	"mov.u64 %d3, calls; atom.global.add.u32 %r1, [%d3], 1;\nret; }\n";

static CUresult run_add(CUfunction f, CUdeviceptr p, uint32_t n, CUstream s)
{
	void *args[] = { &p, &n };

	return cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, s, args, NULL);
}

TEST(what_there_is)
{
	int n = 0, major = 0, minor = 0;
	size_t free_, total;
	char name[64];
	CUdevice d;

	EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&n));
	start();
	OK(cuDeviceGetCount(&n));
	EXPECT_EQ(1, n);
	EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&d, 1));
	OK(cuDeviceGetName(name, sizeof(name), 0));
	EXPECT_TRUE(strstr(name, "CPU"));
	OK(cuDeviceComputeCapability(&major, &minor, 0));
	EXPECT_EQ(9, major);
	OK(cuDeviceGetAttribute(&n, 16, 0));
	EXPECT_EQ(4, n);
	OK(cuMemGetInfo_v2(&free_, &total));
	EXPECT_EQ(total, free_);
}

TEST(memory_and_copies)
{
	unsigned char in[64 * 10], out[64 * 10] = { 0 };
	CUDA_MEMCPY2D c = { 0 };
	CUdeviceptr p, q;
	size_t pitch, size, i;

	start();
	MUST(cuMemAlloc_v2(&p, 1000));
	for (i = 0; i < sizeof(in); i++)
		in[i] = i * 7;
	OK(cuMemcpyHtoD_v2(p, in, 640));
	OK(cuMemcpyDtoH_v2(out, p, 640));
	EXPECT_EQ(0, memcmp(in, out, 640));
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p + 500, in, 501));
	OK(cuMemGetAddressRange_v2(&q, &size, p + 77));
	EXPECT_EQ(p, q);
	EXPECT_EQ(1000, size);
	MUST(cuMemAllocPitch_v2(&q, &pitch, 64, 10, 4));
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = in;
	c.srcPitch = 64;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = q;
	c.dstPitch = pitch;
	c.WidthInBytes = 60;
	c.Height = 10;
	OK(cuMemcpy2D_v2(&c));
	OK(cuMemcpyDtoH_v2(out, q + 3 * pitch, 60));
	EXPECT_EQ(0, memcmp(in + 3 * 64, out, 60));
	OK(cuMemsetD32_v2(p, 0x01020304, 10));
	OK(cuMemsetD8_v2(p + 8, 0xaa, 3));
	OK(cuMemcpyDtoH_v2(out, p, 16));
	EXPECT_EQ(0, memcmp(out, "\4\3\2\1\4\3\2\1\xaa\xaa\xaa\1\4\3\2\1", 16));
	OK(cuMemFree_v2(p));
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(p));
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(p, in, 1));
	EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&p, (size_t)5 << 30));
}

TEST(a_host_cant_follow_a_device_pointer)
{
	CUdeviceptr p;
	int status;
	pid_t pid;

	start();
	MUST(cuMemAlloc_v2(&p, 100));
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		_exit(*(volatile char *)(uintptr_t)p);
	}
	waitpid(pid, &status, 0);
	/* a sanitizer turns the signal into an exit of its own */
	EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 1);
}

TEST(launch_and_module_state)
{
	uint32_t out[64], n = 3;
	CUfunction f;
	CUdeviceptr p, g;
	struct { CUdeviceptr p; uint32_t n; } buf;
	size_t size = 12, gs;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &buf, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
		CU_LAUNCH_PARAM_END };
	CUmodule m;
	int v;

	start();
	f = get(add_text, "add");
	MUST(cuMemAlloc_v2(&p, 256));
	OK(cuMemsetD32_v2(p, 1, 64));
	OK(run_add(f, p, 2, NULL));
	buf.p = p;
	buf.n = n;
	OK(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH_v2(out, p, 256));
	EXPECT_EQ(6, out[0]);
	EXPECT_EQ(6, out[63]);
	OK(cuFuncGetModule(&m, f));
	OK(cuModuleGetGlobal_v2(&g, &gs, m, "calls"));
	EXPECT_EQ(4, gs);
	OK(cuMemcpyDtoH_v2(out, g, 4));
	EXPECT_EQ(5 + 128, out[0]);
	OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	EXPECT_EQ(1024, v);
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
		  cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
		  cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, extra));
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
		  cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 60000, NULL, NULL, extra));
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 60000, NULL, NULL, extra));
	size = 8;
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
		  cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	OK(cuCtxSynchronize());
	EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "sub"));
}

TEST(bad_ptx_is_refused_with_a_line)
{
	char log[300] = "";
	int opt[2] = { 5, 6 };
	void *val[2] = { log, (void *)sizeof(log) };
	CUmodule m;

	start();
	EXPECT_EQ(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&m, HEAD
		".visible .entry k() {\n.reg .u32 %r1;\nmov.u32 %r1, %nosuch;\nret;\n}\n", 2, opt, val));
	EXPECT_TRUE(strstr(log, ":6:"));
	EXPECT_TRUE(strstr(log, "nosuch"));
	EXPECT_EQ(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&m, "\177ELF and so on"));
	EXPECT_EQ(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&m, "/nonexistent.ptx"));
}

TEST(fat_binaries)
{
	static const struct { const char *file, *kernel; CUresult r; } t[] = {
		{ "default", "collatz", CUDA_SUCCESS }, { "raw", "collatz", CUDA_SUCCESS },
		{ "several", "bounded", CUDA_SUCCESS }, { "options", "bounded", CUDA_SUCCESS },
		{ "debug", "bounded", CUDA_SUCCESS }, { "size", "bounded", CUDA_SUCCESS },
		{ "relocatable", "func_recursive", CUDA_SUCCESS },
		{ "cubin", NULL, CUDA_ERROR_NO_BINARY_FOR_GPU },
	};
	struct { uint32_t magic, version; const void *data, *more; } w = { 0x466243b1, 1, 0, 0 };
	CUfunction f;
	CUmodule m;
	size_t i;
	int v;

	start();
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		static char image[100000];
		char path[100];
		FILE *file;

		snprintf(path, sizeof(path), "tests/corpus/fatbin/%s.fatbin", t[i].file);
		EXPECT_EQ(t[i].r, cuModuleLoad(&m, path));
		file = fopen(path, "rb");
		ASSERT_TRUE(file && fread(image, 1, sizeof(image), file) > 0);
		fclose(file);
		w.data = image;
		EXPECT_EQ(t[i].r, cuModuleLoadFatBinary(&m, &w));
		if (t[i].r)
			continue;
		OK(cuModuleGetFunction(&f, m, t[i].kernel));
		OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
		EXPECT_EQ(90, v);
		OK(cuModuleUnload(m));
	}
}

/* Kernels that do wrong, each in a context of its own: the error sticks. */
static void faulty(const char *body, CUresult want, const char *word)
{
	char text[2000];
	uint32_t x;
	CUdeviceptr p;
	CUfunction f;
	void *args[] = { &p };

	start();
	snprintf(text, sizeof(text), HEAD ".visible .entry bad(.param .u64 o) {\n"
		 ".reg .u32 %%r<9>; .reg .u64 %%d<9>; .reg .pred %%p<3>; .shared .align 8 .b8 s[64];\n"
		 "ld.param.u64 %%d1, [o]; mov.u32 %%r1, %%tid.x;\n%s\nret;\n}\n", body);
	f = get(text, "bad");
	if (!f)
		return;
	MUST(cuMemAlloc_v2(&p, 1000));
	OK(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
	EXPECT_EQ(want, cuCtxSynchronize());
	if (!strstr(cpucuda_fault(), word))
		test_fail("\"%s\" lacks \"%s\"", cpucuda_fault(), word);
	EXPECT_EQ(want, cuMemAlloc_v2(&p, 8));
	EXPECT_EQ(want, cuMemcpyDtoH_v2(&x, p, 4));
	OK(cuCtxDestroy_v2(ctx));
	start();		/* a new context is well */
	OK(cuMemAlloc_v2(&p, 8));
}

TEST(fault_write_past_the_end)
{
	faulty("st.global.u32 [%d1+1000], %r1;", CUDA_ERROR_ILLEGAL_ADDRESS, "line 7");
}

TEST(fault_half_outside)
{
	faulty("ld.global.u64 %d2, [%d1+996];", CUDA_ERROR_ILLEGAL_ADDRESS, "outside");
}

TEST(fault_null)
{
	faulty("mov.u64 %d2, 0; ld.u32 %r2, [%d2];", CUDA_ERROR_ILLEGAL_ADDRESS, "nothing");
}

TEST(fault_shared)
{
	faulty("mov.u32 %r2, s; st.shared.u32 [%r2+64], %r1;", CUDA_ERROR_ILLEGAL_ADDRESS, "shared");
}

TEST(fault_host_memory)
{
	faulty("mov.u64 %d2, 4096; st.global.u8 [%d2], 0;", CUDA_ERROR_ILLEGAL_ADDRESS, "global");
}

TEST(fault_misaligned)
{
	faulty("ld.global.u32 %r2, [%d1+2];", CUDA_ERROR_MISALIGNED_ADDRESS, "multiple");
}

TEST(fault_trap)
{
	faulty("trap;", CUDA_ERROR_LAUNCH_FAILED, "trap");
}

TEST(fault_deadlock_at_a_barrier)
{
	faulty("setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1, 64; @!%p1 bar.sync 2, 64;",
	       CUDA_ERROR_LAUNCH_TIMEOUT, "deadlock: 64 threads wait at barriers");
}

TEST(fault_deadlock_in_a_warp)
{
	faulty("setp.lt.u32 %p1, %r1, 8; @%p1 bar.warp.sync 0xffffffff;\n"
	       "@!%p1 bar.sync 1, 64;", CUDA_ERROR_LAUNCH_TIMEOUT, "in warp operations");
}

TEST(fault_not_in_the_mask)
{
	faulty("bar.warp.sync 2;", CUDA_ERROR_ILLEGAL_INSTRUCTION, "mask");
}

TEST(fault_unknown_instruction)
{
	faulty("tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r5}];",
	       CUDA_ERROR_ILLEGAL_ADDRESS, "no texture");
	faulty("wgmma.fence.sync.aligned;", CUDA_ERROR_ILLEGAL_INSTRUCTION, "isn't known");
}

TEST(fault_endless_wait)
{
	setenv("CPUCUDA_LIMIT", "100000", 1);
	faulty("again: ld.volatile.global.u32 %r2, [%d1]; setp.ne.u32 %p1, %r2, 77; @%p1 bra again;",
	       CUDA_ERROR_LAUNCH_TIMEOUT, "doesn't come");
}

/* waits until *stop, then writes 1 to *o */
static const char wait_text[] = HEAD
	".visible .entry await(.param .u64 stop, .param .u64 o) {\n"
	".reg .u32 %r<3>; .reg .u64 %d<3>; .reg .pred %p;\n"
	"ld.param.u64 %d1, [stop]; ld.param.u64 %d2, [o];\n"
	"again: ld.volatile.global.u32 %r1, [%d1]; setp.eq.u32 %p, %r1, 0; @%p bra again;\n"
	"st.global.u32 [%d2], %r1; ret; }\n";

TEST(a_running_kernel_sees_the_hosts_word)
{
	volatile uint32_t *word;
	CUdeviceptr d, o;
	CUfunction f;
	CUstream s;
	uint32_t out = 0;
	void *p, *args[] = { &d, &o };

	start();
	f = get(wait_text, "await");
	MUST(cuMemHostAlloc(&p, 4096, 2));
	word = p;
	*word = 0;
	OK(cuMemHostGetDevicePointer_v2(&d, p, 0));
	MUST(cuMemAlloc_v2(&o, 4));
	MUST(cuStreamCreate(&s, 1));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
	usleep(20000);
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	*word = 9;
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH_v2(&out, o, 4));
	EXPECT_EQ(9, out);
}

TEST(streams_run_beside_each_other)
{
	CUdeviceptr word, o, q;
	CUstream s[2];
	CUfunction wait, add;
	uint32_t one = 1, out;
	void *args[] = { &word, &o };

	start();
	wait = get(wait_text, "await");
	add = get(add_text, "add");
	MUST(cuMemAlloc_v2(&word, 4));
	MUST(cuMemAlloc_v2(&o, 4));
	MUST(cuMemAlloc_v2(&q, 256));
	OK(cuMemsetD32_v2(word, 0, 1));
	OK(cuMemsetD32_v2(q, 0, 64));
	MUST(cuStreamCreate(&s[0], 1));
	MUST(cuStreamCreate(&s[1], 1));
	/* the first waits for what the second does, through device memory */
	OK(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, s[0], args, NULL));
	OK(run_add(add, q, 4, s[1]));
	OK(cuMemcpyDtoDAsync_v2(word, q, 4, s[1]));
	OK(cuStreamSynchronize(s[0]));
	OK(cuMemcpyDtoH_v2(&out, o, 4));
	EXPECT_EQ(4, out);
	/* and one that waits for a value that the host's stream writes */
	OK(cuMemsetD32_v2(word, 0, 1));
	OK(cuStreamWaitValue32_v2(s[0], word, 5, 0));
	OK(run_add(add, q, 1, s[0]));
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuStreamQuery(s[0]));
	OK(cuStreamWriteValue32_v2(s[1], word, 5, 0));
	OK(cuStreamSynchronize(s[0]));
	OK(cuMemcpyDtoH_v2(&out, q, 4));
	EXPECT_EQ(4 + one, out);
}

static void note(void *arg)
{
	(*(int *)arg)++;
}

static void note_later(void *arg)
{
	usleep(30000);
	(*(int *)arg)++;
}

TEST(order_of_streams_and_events)
{
	CUstream a, b;
	CUevent e, f;
	int first = 0, second = 0;
	float ms = -1;

	start();
	MUST(cuStreamCreate(&a, 0));
	MUST(cuStreamCreate(&b, 0));
	MUST(cuEventCreate(&e, 0));
	MUST(cuEventCreate(&f, 0));
	OK(cuEventQuery(e));		/* never recorded: it is done */
	OK(cuLaunchHostFunc(a, note_later, &first));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuLaunchHostFunc(b, note, &second));
	EXPECT_EQ(0, second);
	EXPECT_EQ(CUDA_ERROR_NOT_READY, cuEventQuery(e));
	OK(cuEventRecord(f, b));
	OK(cuEventSynchronize(f));
	EXPECT_EQ(1, first);
	EXPECT_EQ(1, second);
	OK(cuEventElapsedTime(&ms, e, f));
	EXPECT_TRUE(ms >= 0);
	/* the legacy stream waits for both, and they for it */
	OK(cuLaunchHostFunc(a, note_later, &first));
	OK(cuLaunchHostFunc(NULL, note_later, &first));
	OK(cuLaunchHostFunc(b, note, &second));
	OK(cuStreamSynchronize(b));
	EXPECT_EQ(3, first);
	EXPECT_EQ(2, second);
	/* but not for one that doesn't block; nor does a thread's own default stream */
	OK(cuLaunchHostFunc(a, note_later, &first));
	OK(cuStreamSynchronize_ptsz(NULL));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	EXPECT_EQ(3, first);
	OK(cuCtxSynchronize());
	EXPECT_EQ(4, first);
}

TEST(graphs_by_hand)
{
	CUDA_KERNEL_NODE_PARAMS_v2 k = { 0 };
	CUDA_MEMSET_NODE_PARAMS set = { 0 };
	CUDA_HOST_NODE_PARAMS host = { note, NULL };
	CUgraphNode n[4];
	CUgraphExec x;
	CUgraph g;
	CUdeviceptr p;
	uint32_t add = 5, out = 0;
	int count = 0;
	void *args[] = { &p, &add };
	size_t nodes = 0;

	start();
	MUST(cuMemAlloc_v2(&p, 256));
	MUST(cuGraphCreate(&g, 0));
	set.dst = p;
	set.value = 10;
	set.elementSize = 4;
	set.width = 64;
	set.height = 1;
	set.pitch = 256;
	k.func = get(add_text, "add");
	k.gridDimX = 2;
	k.gridDimY = k.gridDimZ = k.blockDimY = k.blockDimZ = 1;
	k.blockDimX = 32;
	k.kernelParams = args;
	host.userData = &count;
	/* against the order of the edges, so that the order is worked for */
	OK(cuGraphAddKernelNode_v2(&n[2], g, NULL, 0, &k));
	OK(cuGraphAddKernelNode_v2(&n[1], g, NULL, 0, &k));
	OK(cuGraphAddMemsetNode(&n[0], g, NULL, 0, &set, ctx));
	OK(cuGraphAddDependencies(g, &n[0], &n[1], 1));
	OK(cuGraphAddDependencies(g, &n[1], &n[2], 1));
	OK(cuGraphAddHostNode(&n[3], g, &n[2], 1, &host));
	OK(cuGraphGetNodes(g, NULL, &nodes));
	EXPECT_EQ(4, nodes);
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	add = 1000;		/* was read when the node was made */
	OK(cuGraphLaunch(x, NULL));
	OK(cuMemcpyDtoH_v2(&out, p, 4));
	EXPECT_EQ(20, out);
	OK(cuGraphExecKernelNodeSetParams_v2(x, n[1], &k));
	OK(cuGraphLaunch(x, NULL));
	OK(cuMemcpyDtoH_v2(&out, p, 4));
	EXPECT_EQ(1015, out);
	EXPECT_EQ(2, count);
	OK(cuGraphAddDependencies(g, &n[2], &n[0], 1));
	OK(cuGraphExecDestroy(x));
	EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphDestroy(g));
}

TEST(graphs_by_capture)
{
	CUstreamCaptureStatus st;
	CUfunction f;
	CUstream a, b;
	CUevent fork_, join;
	CUgraphExec x;
	CUgraph g;
	CUdeviceptr p, q;
	uint32_t out = 0;
	size_t n;

	start();
	f = get(add_text, "add");
	MUST(cuMemAlloc_v2(&p, 256));
	MUST(cuMemAlloc_v2(&q, 256));
	MUST(cuStreamCreate(&a, 1));
	MUST(cuStreamCreate(&b, 1));
	MUST(cuEventCreate(&fork_, 2));
	MUST(cuEventCreate(&join, 2));
	OK(cuStreamBeginCapture_v2(a, 0));
	OK(cuStreamIsCapturing(a, &st));
	EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, st);
	OK(cuMemsetD32Async(p, 1, 64, a));
	OK(cuEventRecord(fork_, a));
	OK(cuStreamWaitEvent(b, fork_, 0));
	OK(cuMemsetD32Async(q, 2, 64, b));
	OK(run_add(f, q, 3, b));
	OK(run_add(f, p, 7, a));
	EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(a));
	OK(cuEventRecord(join, b));
	OK(cuStreamWaitEvent(a, join, 0));
	OK(cuMemcpyDtoDAsync_v2(p + 4, q, 4, a));
	OK(cuStreamEndCapture(a, &g));
	OK(cuGraphGetNodes(g, NULL, &n));
	EXPECT_EQ(5, n);
	OK(cuMemsetD32_v2(p, 0, 64));
	OK(cuCtxSynchronize());		/* a doesn't wait for the legacy stream */
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphLaunch(x, a));
	OK(cuStreamSynchronize(a));
	OK(cuMemcpyDtoH_v2(&out, p, 4));
	EXPECT_EQ(8, out);
	OK(cuMemcpyDtoH_v2(&out, p + 4, 4));
	EXPECT_EQ(5, out);
	/* a branch that doesn't come back */
	OK(cuStreamBeginCapture_v2(a, 0));
	OK(cuEventRecord(fork_, a));
	OK(cuStreamWaitEvent(b, fork_, 0));
	OK(run_add(f, q, 3, b));
	EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(a, &g));
	OK(run_add(f, q, 3, b));
	OK(cuCtxSynchronize());
}

/* A driver of CUDA 12.4 knows PTX up to 8.4, of 12.6 up to 8.5. */
TEST(ptx_of_a_newer_toolkit_is_refused)
{
	static const char body[] = "\n.target sm_75\n.address_size 64\n.visible .entry e() { ret; }";
	char text[2][100], corpus[100];
	CUmodule m;
	int v;

	setenv("CPUCUDA_VERSION", "12060", 1);
	start();
	MUST(cuDriverGetVersion(&v));
	EXPECT_EQ(12060, v);
	snprintf(text[0], sizeof(text[0]), ".version 8.5%s", body);
	snprintf(text[1], sizeof(text[1]), ".version 8.6%s", body);
	OK(cuModuleLoadData(&m, text[0]));
	EXPECT_EQ(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&m, text[1]));
	/* The corpus's is made one that it takes, */
	snprintf(corpus, sizeof(corpus), "// by nvcc\n.version 9.0%s", body);
	EXPECT_EQ(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&m, corpus));
	corpus_suit(corpus, 13000);
	EXPECT_TRUE(strstr(corpus, ".version 9.0\n") != NULL);	/* only if it needs to be */
	corpus_suit(corpus, v);
	OK(cuModuleLoadData(&m, corpus));
}

TEST(names_have_versions)
{
	CUdriverProcAddressQueryResult q;
	void *h = dlopen("libcuda.so.1", RTLD_NOW), *fn, *want;
	static const struct {
		const char *base;
		int version;
		unsigned int flags;
		const char *name;
	} t[] = {
		{ "cuMemAlloc", 13000, 0, "cuMemAlloc_v2" },
		{ "cuMemcpyHtoD", 13000, 0, "cuMemcpyHtoD_v2" },
		{ "cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds" },
		{ "cuMemcpyHtoDAsync", 13000, 2, "cuMemcpyHtoDAsync_v2_ptsz" },
		{ "cuLaunchKernel", 4000, 0, "cuLaunchKernel" },
		{ "cuLaunchKernel", 4000, 2, "cuLaunchKernel" },	/* the twin is of 7000 */
		{ "cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz" },
		{ "cuLaunchKernelEx", 11060, 0, "cuLaunchKernelEx" },
		{ "cuCtxCreate", 12000, 0, "cuCtxCreate_v2" },
		{ "cuCtxCreate", 13000, 0, "cuCtxCreate_v4" },
		{ "cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2" },
		{ "cuGetProcAddress", 11030, 0, "cuGetProcAddress" },
	};
	size_t i;

	start();
	ASSERT_TRUE(h != NULL);
	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		want = dlsym(h, t[i].name);
		EXPECT_TRUE(want != NULL);
		OK(cuGetProcAddress_v2(t[i].base, &fn, t[i].version, t[i].flags, &q));
		EXPECT_EQ(CU_GET_PROC_ADDRESS_SUCCESS, q);
		if (fn != want)
			test_fail("%s of %d isn't %s", t[i].base, t[i].version, t[i].name);
	}
	OK(cuGetProcAddress_v2("cuLaunchKernelEx", &fn, 11000, 0, &q));
	EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, q);
	OK(cuGetProcAddress_v2("cuNoSuchThing", &fn, 13000, 0, &q));
	EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, q);
	EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchThing", &fn, 13000, 0));
}

TEST(libraries_and_kernels)
{
	CUlibrary l;
	CUkernel k;
	CUdeviceptr p, g;
	uint32_t out;
	size_t size;

	start();
	MUST(cuLibraryLoadData(&l, add_text, NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel(&k, l, "add"));
	MUST(cuMemAlloc_v2(&p, 256));
	OK(cuMemsetD32_v2(p, 1, 64));
	OK(run_add((CUfunction)k, p, 41, NULL));	/* a kernel serves as a function */
	OK(cuMemcpyDtoH_v2(&out, p, 4));
	EXPECT_EQ(42, out);
	OK(cuLibraryGetGlobal(&g, &size, l, "calls"));
	OK(cuKernelGetParamInfo(k, 1, &size, NULL));
	EXPECT_EQ(8, size);
	OK(cuLibraryUnload(l));
}

TEST(cooperative_launches_must_fit)
{
	CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE };
	CUlaunchConfig l = { 4, 1, 1, 64, 1, 1, 0, NULL, &a, 1 };
	struct corpus_data d;
	CUdeviceptr in, o;
	CUfunction f;
	CUmodule m;
	int *out = calloc(1, CORPUS_BYTES), n;
	void *args[] = { &o, &in };

	start();
	ASSERT_EQ(0, corpus_data_make(&d));
	MUST(cuModuleLoad(&m, "tests/corpus/ptx/sm_90/grid.ptx"));
	MUST(cuModuleGetFunction(&f, m, "grid_sync"));
	MUST(cuMemAlloc_v2(&in, CORPUS_BYTES));
	MUST(cuMemAlloc_v2(&o, CORPUS_BYTES));
	OK(cuMemcpyHtoD_v2(in, d.bufs.in, CORPUS_BYTES));
	a.value.cooperative = 1;
	OK(cuLaunchKernelEx(&l, f, args, NULL));
	OK(cuMemcpyDtoH_v2(out, o, CORPUS_BYTES));
	for (n = 0; n < 256; n++)
		EXPECT_EQ((((const int *)d.bufs.in)[(n + 100 + 64) % 256] + 1) * 2, out[8192 + n]);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 0));
	l.gridDimX = 4 * n + 1;
	EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchKernelEx(&l, f, args, NULL));
}

static void *other_thread(void *arg)
{
	uint32_t out = 0;
	CUdeviceptr p;
	CUfunction f;
	int i;

	EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&p, 4));
	OK(cuCtxSetCurrent(ctx));
	f = get(add_text, "add");
	OK(cuMemAlloc_v2(&p, 256));
	OK(cuMemsetD32_v2_ptds(p, 0, 64));
	for (i = 0; i < 50; i++)
		OK(run_add(f, p, 1, CU_STREAM_PER_THREAD));
	OK(cuMemcpyDtoH_v2_ptds(&out, p, 4));
	*(uint32_t *)arg = out;
	return NULL;
}

TEST(several_threads)
{
	pthread_t t[4];
	uint32_t got[4] = { 0 };
	int i;

	start();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, other_thread, &got[i]));
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(50, got[i]);
	}
}

TEST(printf_comes_in_order)
{
	CUdeviceptr in, o;
	struct corpus_data d;
	CUfunction f;
	CUmodule m;
	void *args[] = { &o, &in };

	start();
	ASSERT_EQ(0, corpus_data_make(&d));
	MUST(cuModuleLoad(&m, "tests/corpus/ptx/sm_75/print.ptx"));
	MUST(cuModuleGetFunction(&f, m, "asserts"));
	MUST(cuMemAlloc_v2(&in, 1024));
	MUST(cuMemAlloc_v2(&o, 1024));
	OK(cuMemcpyHtoD_v2(in, d.bufs.in, 1024));
	OK(cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemsetD32_v2(in + 40, -1, 1));	/* now one fails */
	OK(cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
	EXPECT_EQ(CUDA_ERROR_ASSERT, cuCtxSynchronize());
	EXPECT_TRUE(strstr(cpucuda_fault(), "a[I] >= 0"));
}

TEST(poked_words_come_at_their_step)
{
	uint64_t before, after, blocks, launches;
	CUdeviceptr d, o;
	CUfunction f;
	uint32_t *word;
	void *p, *args[] = { &d, &o };

	start();
	f = get(wait_text, "await");
	MUST(cuMemAllocHost_v2(&p, 64));
	MUST(cuMemAlloc_v2(&o, 4));
	word = p;
	*word = 0;
	d = (uintptr_t)p;
	cpucuda_schedule(5, 1);
	cpucuda_counts(&before, &blocks, &launches);
	ASSERT_EQ(0, cpucuda_poke(5000, word, 3));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	OK(cuCtxSynchronize());
	cpucuda_counts(&after, &blocks, &launches);
	EXPECT_TRUE(after - before >= 5000 && after - before < 6000);
}

/* The corpus once more, in fat binaries, through the interface. */
TEST_LIMIT(the_corpus_through_the_driver, 120)
{
	struct corpus_data d;
	struct corpus_run *r = NULL;
	CUdeviceptr p[5];
	CUmodule m;
	int k, n = 0;

	start();
	ASSERT_EQ(0, corpus_data_make(&d));
	MUST(cuModuleLoad(&m, "tests/corpus/fatbin/default.fatbin"));
	for (k = 0; k < 5; k++)
		MUST(cuMemAlloc_v2(&p[k], CORPUS_BYTES));
	OK(cuMemcpyHtoD_v2(p[1], d.bufs.in, CORPUS_BYTES));
	while ((r = corpus_next(r, "control.cu", 90))) {
		struct corpus_bufs on = { (void *)p[0], (void *)p[1], (void *)p[2],
			(void *)p[3], (void *)p[4] };
		struct corpus_args a = { 0 };
		void *args[32];
		CUfunction f;

		memset(d.expect, 0, CORPUS_BYTES);
		corpus_expect(&d, r);
		r->args(&on, &a);
		for (k = 0; k < a.n; k++)
			args[k] = a.bytes[k];
		MUST(cuModuleGetFunction(&f, m, r->name));
		OK(cuMemsetD8_v2(p[0], 0, CORPUS_BYTES));
		OK(cuLaunchKernel(f, r->grid[0], r->grid[1], r->grid[2], r->block[0], r->block[1],
				  r->block[2], r->dynamic, NULL, args, NULL));
		OK(cuMemcpyDtoH_v2(d.bufs.out, p[0], CORPUS_BYTES));
		if (corpus_differs(r, d.expect, d.bufs.out) >= 0)
			test_fail("%s differs", r->name);
		n++;
	}
	EXPECT_TRUE(n >= 18);
}

TEST_MAIN()
