// SPDX-License-Identifier: MIT
/*
 * A program that puts all kinds of work into all kinds of streams, at random, each
 * piece ordered behind what it needs in one of the ways that CUDA has: the same
 * stream, the legacy stream's rule, events, waiting. It prints what was left in memory,
 * so two runs can be compared: over the bare driver and over the wrapper. Nothing that
 * it prints depends on time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpucuda/api.h"

#define MUST(x) must(x, #x, __LINE__)
#define BUFFERS	5
#define STREAMS	6	/* legacy, its thread's, two blocking, two that don't */
#define WORDS	256u
#define BYTES	(WORDS * 4)

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry step(.param .u64 o, .param .u32 n) {\n"
	".reg .u32 %r<7>; .reg .u64 %d<4>;\n"
	"ld.param.u64 %d1, [o]; ld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"mad.lo.u32 %r2, %r2, %r3, %r4; mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2;\n"
	"ld.global.u32 %r5, [%d1]; mad.lo.u32 %r5, %r5, 1664525, %r1; add.u32 %r5, %r5, %r2;\n"
	"st.global.u32 [%d1], %r5; ret; }\n";

static uint64_t seed;
static CUmodule module;
static CUfunction f;
static CUdeviceptr buffer[BUFFERS];
static CUstream stream[STREAMS];
static int last[BUFFERS];	/* the stream that a buffer was last used in */
static uint32_t *pinned[BUFFERS];
static uint32_t plain[WORDS];
static uint32_t calls[BUFFERS];	/* what the host's functions made of it */
static CUevent event[3];

static void must(CUresult r, const char *what, int line)
{
	if (!r)
		return;
	printf("%d: %s: error %d\n", line, what, (int)r);
	exit(1);
}

static uint32_t draw(uint32_t below)
{
	uint64_t x = seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x ^ x >> 31) % below);
}

static void wait_for_stream(int s)
{
	CUresult r;

	switch (draw(4)) {
	case 0:
		MUST(s == 1 ? cuStreamSynchronize_ptsz(NULL) : cuStreamSynchronize(stream[s]));
		break;
	case 1:
		do
			r = s == 1 ? cuStreamQuery_ptsz(NULL) : cuStreamQuery(stream[s]);
		while (r == CUDA_ERROR_NOT_READY);
		MUST(r);
		break;
	case 2:
		MUST(cuCtxSynchronize());
		break;
	default:
		MUST(cuEventRecord(event[2], stream[s]));
		if (draw(2)) {
			MUST(cuEventSynchronize(event[2]));
			break;
		}
		do
			r = cuEventQuery(event[2]);
		while (r == CUDA_ERROR_NOT_READY);
		MUST(r);
	}
}

/* Non-blocking streams are the last two. */
static int follow_by_themselves(int a, int b)
{
	return a == b || (!a && b < 4) || (!b && a < 4);
}

/* What comes into @s next may use the buffer. */
static void order(int b, int s)
{
	CUevent e = event[draw(2)];

	if (follow_by_themselves(last[b], s)) {
		/* by the stream alone */
	} else if (draw(4)) {
		MUST(cuEventRecord(e, stream[last[b]]));
		MUST(draw(2) ? cuStreamWaitEvent(stream[s], e, 0) :
		     cuStreamWaitEvent_ptsz(stream[s], e, 0));
	} else {
		wait_for_stream(last[b]);
	}
	last[b] = s;
}

static void launch(int b, int s)
{
	uint32_t n = draw(1000), wide = 1 + draw(3), dims = wide > 2 ? 8 : wide > 1 ? 32 : 1;
	uint32_t grid = WORDS / dims;
	CUlaunchConfig c = { grid, 1, 1, dims, 1, 1, 0, stream[s], NULL, 0 };
	struct {
		CUdeviceptr o;
		uint32_t n;
	} packed = { buffer[b], n };
	size_t size = 12;
	void *args[] = { &packed.o, &packed.n };
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
			  CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };

	switch (draw(4)) {
	case 0:
		MUST(cuLaunchKernelEx(&c, f, args, NULL));
		break;
	case 1:
		MUST(cuLaunchKernel(f, grid, 1, 1, dims, 1, 1, 0, stream[s], NULL, extra));
		break;
	case 2:
		MUST(s == 1 ? cuLaunchKernel_ptsz(f, grid, 1, 1, dims, 1, 1, 0, NULL, args, NULL) :
		     cuLaunchKernel(f, grid, 1, 1, dims, 1, 1, 0, s ? stream[s] : NULL, args,
				    NULL));
		break;
	default:
		MUST(cuLaunchKernel(f, grid, 1, 1, dims, 1, 1, 0, stream[s], args, NULL));
	}
	/* As a program's may, these are gone when the call has returned. */
	memset(&packed, 0xee, sizeof(packed));
	memset(&c, 0xee, sizeof(c));
}

static void host(void *data)
{
	uint32_t *c = data, b = (uint32_t)(c - calls);

	*c = *c * 31 + pinned[b][0];
}

static void callback(CUstream s, CUresult status, void *data)
{
	(void)s;
	if (!status)
		host(data);
}

static void graph(int b, int s)
{
	uint32_t n = 7;
	void *args[] = { &buffer[b], &n };
	CUgraphExec exec;
	CUgraph g;

	MUST(cuStreamBeginCapture_v2(stream[5], CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(cuLaunchKernel(f, WORDS, 1, 1, 1, 1, 1, 0, stream[5], args, NULL));
	MUST(cuStreamEndCapture(stream[5], &g));
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	MUST(cuGraphLaunch(exec, stream[s]));
	MUST(cuGraphLaunch(exec, stream[s]));
	MUST(cuGraphDestroy(g));
	MUST(cuGraphExecDestroy(exec));
}

static void again(int s)
{
	int b;

	if (s < 2)
		return;
	MUST(cuStreamDestroy_v2(stream[s]));
	MUST(cuStreamCreate(&stream[s], s >= 4));
	for (b = 0; b < BUFFERS; b++)
		if (last[b] == s) {	/* what was in it runs on */
			MUST(cuCtxSynchronize());
			break;
		}
}

static void copies(int b, int s)
{
	int from = (int)draw(BUFFERS), i;

	switch (draw(6)) {
	case 0:
		MUST(cuMemsetD32Async(buffer[b] + BYTES / 2, draw(99), WORDS / 2, stream[s]));
		break;
	case 1:
		order(from, s);
		/* Something in any case: an empty legacy stream orders nobody else's. */
		MUST(cuMemcpyDtoDAsync_v2(buffer[b] + (from == b ? BYTES / 2 : 0), buffer[from],
					  BYTES / 4, stream[s]));
		break;
	case 2:
		MUST(cuMemcpyDtoHAsync_v2(pinned[b], buffer[b], BYTES, stream[s]));
		MUST(draw(2) ? cuLaunchHostFunc(stream[s], host, &calls[b]) :
		     cuStreamAddCallback(stream[s], callback, &calls[b], 0));
		break;
	case 3:	/* memory of the program's own, which it may use again at once */
		for (i = 0; i < 16; i++)
			plain[i] = draw(1000);
		MUST(cuMemcpyHtoDAsync_v2(buffer[b], plain, 64, stream[s]));
		memset(plain, 0, 64);
		break;
	case 4:
		wait_for_stream(s);
		MUST(cuMemcpyDtoH_v2(plain, buffer[b], 64));
		printf("%d: %u %u\n", b, plain[0], plain[15]);
		break;
	default:
		MUST(cuMemcpyDtoDAsync_v2(buffer[b] + BYTES / 2, buffer[b], BYTES / 4, stream[s]));
	}
}

static void load(void)
{
	MUST(cuModuleLoadData(&module, text));
	MUST(cuModuleGetFunction(&f, module, "step"));
}

int main(int argc, char **argv)
{
	int i, k, b, s, steps = argc > 2 ? atoi(argv[2]) : 400;
	uint64_t sum;
	CUcontext ctx;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	MUST(cuInit(0));
	MUST(cuCtxCreate_v2(&ctx, 0, 0));
	load();
	stream[0] = CU_STREAM_LEGACY;
	stream[1] = CU_STREAM_PER_THREAD;
	for (s = 2; s < STREAMS; s++)
		MUST(cuStreamCreate(&stream[s], s >= 4));
	for (i = 0; i < 3; i++)
		MUST(cuEventCreate(&event[i], i ? 0 : CU_EVENT_DISABLE_TIMING));
	for (b = 0; b < BUFFERS; b++) {
		MUST(cuMemAlloc_v2(&buffer[b], BYTES));
		MUST(cuMemsetD32_v2(buffer[b], (unsigned int)b, WORDS));
		MUST(cuMemHostAlloc((void **)&pinned[b], BYTES, 0));
		memset(pinned[b], 0, BYTES);
	}
	for (i = 0; i < steps; i++) {
		b = (int)draw(BUFFERS);
		s = (int)draw(STREAMS);
		k = (int)draw(40);
		if (k == 39) {
			again(s);
			continue;
		}
		if (k == 38) {
			MUST(cuModuleUnload(module));
			load();
		}
		order(b, s);
		if (k < 26)
			launch(b, s);
		else if (k == 37 && s != 5)
			graph(b, s);
		else
			copies(b, s);
	}
	MUST(cuCtxSynchronize());
	for (b = 0; b < BUFFERS; b++) {
		MUST(cuMemcpyDtoH_v2(plain, buffer[b], BYTES));
		for (sum = 0, i = 0; i < (int)WORDS; i++)
			sum = sum * 1000003 + plain[i];
		printf("%d: %llx, the host saw %u\n", b, (unsigned long long)sum, calls[b]);
	}
	MUST(cuCtxDestroy_v2(ctx));
	return 0;
}
