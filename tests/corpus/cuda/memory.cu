// SPDX-License-Identifier: MIT
/* State of the module, constants, cache hints, volatile and generic accesses. */
#include "corpus.h"

#define I (blockIdx.x * blockDim.x + threadIdx.x)

__constant__ int factors[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
__constant__ float coefficients[4] = { 0.5f, -1.25f, 2.0f, 0.125f };
static __device__ int counter;
static __device__ int counted[16];
static __device__ unsigned long long total64 = 5;
static __device__ int initialised[6] = { 10, 20, 30, 40, 50, 60 };
static __device__ const char letters[] = "the quick brown fox";

KERNEL const_table(int *o, const int *a) { o[I] = a[I] * factors[I & 7]; }
RUN(const_table, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL const_float(float *o, const float *a)
{
	float s = 0;

	for (int k = 0; k < 4; k++)
		s = s * a[I] + coefficients[k];
	o[I] = s;
}
RUN(const_float, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTF, INF)

KERNEL module_counter(int *o, const int *a)
{
	atomicAdd(&counter, a[I]);
	atomicAdd(&o[0], 1);
}
RUN(module_counter, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL module_array(int *o, const int *a)
{
	atomicAdd(&counted[a[I] & 15], 1);
	atomicAdd(&total64, (unsigned long long)a[I] << 20);
	o[I] = initialised[a[I] % 6];
}
RUN(module_array, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL module_string(unsigned char *o, const int *a) { o[I] = letters[a[I] % 19]; }
RUN(module_string, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUTB, IN)

KERNEL read_only(int *o, const int *__restrict__ a, const int *__restrict__ b)
{
	o[I] = a[I] - __ldg(&b[I + 3]);
}
RUN(read_only, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, IN)

KERNEL cache_hints(int *o, const int *a)
{
	__stcs(&o[I], __ldcg(&a[I]) + __ldcs(&a[I + 1]));
	__stwt(&o[I + 1024], a[I]);
}
RUN(cache_hints, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL volatile_loop(int *o, const int *a)
{
	volatile int *v = o + I;

	*v = 0;
	for (int k = 0; k < 10; k++)
		*v = *v + a[I + k];
}
RUN(volatile_loop, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL volatile_local(int *o, const int *a)
{
	volatile int v[4];

	for (int k = 0; k < 4; k++)
		v[k] = a[I + k];
	o[I] = v[a[I] & 3] + v[3];
}
RUN(volatile_local, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL generic_local(int *o, const int *a, int *spare)
{
	int x = a[I], *p = a[I + 1] & 1 ? &x : spare + I;

	*p = 77;
	o[I] = x;
}
RUN(generic_local, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, OUT + 4096)

KERNEL in_place(int *o)
{
	o[I] = o[I] * 2 + I;
}
RUN(in_place, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT)

KERNEL gather(int *o, const int *a, const int *index) { o[I] = a[index[I] * 7 & 8191]; }
RUN(gather, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, IN)

KERNEL scatter(int *o, const int *a) { o[(I * 37) & 1023] = a[I]; }
RUN(scatter, GRID(16, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL fences(int *o, const int *a)
{
	o[I] = a[I];
	__threadfence_block();
	o[I + 4096] = o[I] + 1;
	__threadfence();
	o[I + 8192] = o[I + 4096] + 1;
	__threadfence_system();
}
RUN(fences, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL copies(int *o, const int *a)
{
	int v[8], w[8];

	memcpy(v, a + I * 8, sizeof(v));
	memset(w, 0x11, sizeof(w));
	for (int k = 0; k < 8; k++)
		w[k] ^= v[7 - k];
	memcpy(o + I * 8, w, sizeof(w));
}
RUN(copies, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL long_offsets(int *o, const int *a, long long base)
{
	o[base + I * 3] = a[base * 2 + I];
}
RUN(long_offsets, GRID(4, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, 555ll)

struct list { int value, next; };
KERNEL linked(int *o, const int *a)
{
	__shared__ struct list l[64];
	int t = threadIdx.x, sum = 0, at = t;

	l[t].value = a[blockIdx.x * 64 + t];
	l[t].next = (t * 5 + 1) & 63;
	__syncthreads();
	for (int k = 0; k < 10; k++) {
		sum += l[at].value * (k + 1);
		at = l[at].next;
	}
	o[blockIdx.x * 64 + t] = sum;
}
RUN(linked, GRID(3, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN)

KERNEL null_check(int *o, const int *a, int *maybe)
{
	if (maybe)
		maybe[I] = a[I];
	o[I] = maybe == NULL;
}
RUN(null_check, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, (int *)NULL)
RUN(null_check, GRID(2, 1, 1), BLOCK(64, 1, 1), 0, 0, OUT, IN, OUT + 1000)
