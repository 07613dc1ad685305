/* SPDX-License-Identifier: MIT */
/*
 * What CUDA C has and C doesn't, for the reference build of the corpus: the
 * built-in variables, barriers, warp intrinsics, atomics and a few functions,
 * over fibers that change only where they must wait. So an "atomic" is plain
 * C, and __shared__ is a static: blocks run one after the other, but for the
 * few that wait for each other, which use none.
 */
#ifndef GS_CORPUS_HOST_H
#define GS_CORPUS_HOST_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct host_dim { unsigned int x, y, z; };
struct host_thread {
	struct host_dim tid, cta;
	unsigned int lane, linear;
};
extern struct host_thread *host_self;
extern struct host_dim host_block, host_grid;
extern char host_dynamic[];

#define threadIdx (host_self->tid)
#define blockIdx (host_self->cta)
#define blockDim host_block
#define gridDim host_grid
#define warpSize 32

#define __global__
#define __device__
#define __constant__
#define __shared__ static
#define __managed__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__ restrict
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __maxnreg__(n)
#define KERNEL static __attribute__((unused)) void
#define BOUNDED(...) static __attribute__((unused)) void
#define DEVICE static __attribute__((unused))
#define NOINLINE static __attribute__((unused, noinline))
#define DYNAMIC(type, name) type *name = (type *)host_dynamic

/* Rendezvous: the last thread to come sets the others free. */
void host_yield(void);
void host_exit(void) __attribute__((noreturn));
int host_barrier(unsigned int id, unsigned int n, int kind, int pred);
void host_arrive(unsigned int id, unsigned int n);
void host_grid_sync(void);
uint64_t host_warp(uint32_t mask, int kind, uint64_t value, int arg, int width);
void host_malloc_reset(void);

enum { HOST_SYNC, HOST_COUNT, HOST_AND, HOST_OR };
enum { WARP_SYNC, WARP_IDX, WARP_UP, WARP_DOWN, WARP_XOR, WARP_ANY, WARP_ALL, WARP_BALLOT,
	WARP_MATCH, WARP_MATCH_ALL, WARP_ADD, WARP_MIN, WARP_MAX, WARP_AND, WARP_OR, WARP_BITXOR };

#define YIELD() host_yield()
#define EXIT() host_exit()
#define BARRIER(id, n) host_barrier(id, n, HOST_SYNC, 0)
#define ARRIVE(id, n) host_arrive(id, n)
#define __syncthreads() host_barrier(0, 0, HOST_SYNC, 0)
#define __syncthreads_count(p) host_barrier(0, 0, HOST_COUNT, (p) != 0)
#define __syncthreads_and(p) host_barrier(0, 0, HOST_AND, (p) != 0)
#define __syncthreads_or(p) host_barrier(0, 0, HOST_OR, (p) != 0)
#define __threadfence() do { } while (0)
#define __threadfence_block() do { } while (0)
#define __threadfence_system() do { } while (0)
#define __nanosleep(n) host_yield()
#define __trap() abort()
#define __syncwarp(...) ((void)host_warp(0xffffffffu, WARP_SYNC, 0, 0, 32))

#define host_shfl(m, kind, v, a, w) ({						\
	__typeof__(v) v_ = (v);							\
	uint64_t b_ = 0;							\
	memcpy(&b_, &v_, sizeof(v_));						\
	b_ = host_warp(m, kind, b_, a, w);					\
	memcpy((void *)&v_, &b_, sizeof(v_));					\
	v_; })
#define __shfl_sync(m, v, a, ...) host_shfl(m, WARP_IDX, v, a, __VA_ARGS__ + 0 ?: 32)
#define __shfl_up_sync(m, v, a, ...) host_shfl(m, WARP_UP, v, a, __VA_ARGS__ + 0 ?: 32)
#define __shfl_down_sync(m, v, a, ...) host_shfl(m, WARP_DOWN, v, a, __VA_ARGS__ + 0 ?: 32)
#define __shfl_xor_sync(m, v, a, ...) host_shfl(m, WARP_XOR, v, a, __VA_ARGS__ + 0 ?: 32)
#define __any_sync(m, p) ((int)host_warp(m, WARP_ANY, (p) != 0, 0, 32))
#define __all_sync(m, p) ((int)host_warp(m, WARP_ALL, (p) != 0, 0, 32))
#define __ballot_sync(m, p) ((unsigned int)host_warp(m, WARP_BALLOT, (p) != 0, 0, 32))
#define __match_any_sync(m, v) ((unsigned int)host_warp(m, WARP_MATCH, (uint64_t)(v), 0, 32))
#define __match_all_sync(m, v, p) ({						\
	unsigned int r_ = host_warp(m, WARP_MATCH_ALL, (uint64_t)(v), 0, 32);	\
	*(p) = r_ != 0;								\
	r_; })
#define __reduce_add_sync(m, v) ((__typeof__(v))host_warp(m, WARP_ADD, (uint32_t)(v), 0, 32))
#define __reduce_min_sync(m, v) ((__typeof__(v))host_warp(m, WARP_MIN, (uint32_t)(v), 0, 32))
#define __reduce_max_sync(m, v) ((__typeof__(v))host_warp(m, WARP_MAX, (uint32_t)(v), 0, 32))
#define __reduce_and_sync(m, v) ((__typeof__(v))host_warp(m, WARP_AND, (uint32_t)(v), 0, 32))
#define __reduce_or_sync(m, v) ((__typeof__(v))host_warp(m, WARP_OR, (uint32_t)(v), 0, 32))
#define __reduce_xor_sync(m, v) ((__typeof__(v))host_warp(m, WARP_BITXOR, (uint32_t)(v), 0, 32))
/* Alone is a right answer: a thread needn't run together with any other. */
#define __activemask() (1u << host_self->lane)

#define host_rmw(p, e) ({ __typeof__(*(p)) old_ = *(p), x_; (void)x_; *(p) = (e); old_; })
#define atomicAdd(p, v) host_rmw(p, old_ + (v))
#define atomicSub(p, v) host_rmw(p, old_ - (v))
#define atomicExch(p, v) host_rmw(p, v)
#define atomicMin(p, v) host_rmw(p, (__typeof__(*(p)))(v) < old_ ? (v) : old_)
#define atomicMax(p, v) host_rmw(p, (__typeof__(*(p)))(v) > old_ ? (v) : old_)
#define atomicAnd(p, v) host_rmw(p, old_ & (v))
#define atomicOr(p, v) host_rmw(p, old_ | (v))
#define atomicXor(p, v) host_rmw(p, old_ ^ (v))
#define atomicInc(p, v) host_rmw(p, old_ >= (v) ? 0 : old_ + 1)
#define atomicDec(p, v) host_rmw(p, old_ == 0 || old_ > (v) ? (v) : old_ - 1)
#define atomicCAS(p, c, v) host_rmw(p, old_ == (c) ? (v) : old_)
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#define atomicMax_block atomicMax

#define min(a, b) ({ __auto_type a_ = (a); __auto_type b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __auto_type a_ = (a); __auto_type b_ = (b); a_ > b_ ? a_ : b_; })

#define host_vec2(type, name) typedef struct { type x, y; }			\
	__attribute__((aligned(2 * sizeof(type)))) name
#define host_vec3(type, name) typedef struct { type x, y, z; } name
#define host_vec4(type, name) typedef struct { type x, y, z, w; }		\
	__attribute__((aligned(sizeof(type) == 8 ? 16 : 4 * sizeof(type)))) name
host_vec2(int, int2);
host_vec2(unsigned int, uint2);
host_vec2(float, float2);
host_vec2(double, double2);
host_vec2(short, short2);
host_vec2(long long, longlong2);
host_vec3(int, int3);
host_vec3(float, float3);
host_vec4(int, int4);
host_vec4(unsigned int, uint4);
host_vec4(float, float4);
host_vec4(unsigned char, uchar4);
host_vec4(short, short4);
#define VEC(type, ...) ((type){ __VA_ARGS__ })

int __popc(unsigned int x);
int __popcll(unsigned long long x);
int __clz(int x);
int __clzll(long long x);
int __ffs(int x);
unsigned int __brev(unsigned int x);
unsigned long long __brevll(unsigned long long x);
unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int s);
unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int n);
unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int n);
int __mulhi(int a, int b);
unsigned int __umulhi(unsigned int a, unsigned int b);
unsigned long long __umul64hi(unsigned long long a, unsigned long long b);
int __mul24(int a, int b);
int __dp4a(int a, int b, int c);
unsigned int __sad(int a, int b, unsigned int c);
int __hadd_int(int a, int b);
float __saturatef(float x);
int __float2int_rn(float x);
int __float2int_rd(float x);
int __float2int_ru(float x);
int __float2int_rz(float x);
float __int_as_float(int x);
int __float_as_int(float x);
long long __double_as_longlong(double x);
double __longlong_as_double(long long x);
float rsqrtf(float x);
#define __ldg(p) (*(p))
#define __ldcg(p) (*(p))
#define __ldcs(p) (*(p))
#define __stcs(p, v) (*(p) = (v))
#define __stwt(p, v) (*(p) = (v))

typedef struct { uint16_t bits; } half;
float __half2float(half h);
half __float2half(float f);
half __hadd(half a, half b);
half __hsub(half a, half b);
half __hmul(half a, half b);
half __hneg(half a);
bool __hlt(half a, half b);
int __half2int_rz(half h);
half __int2half_rn(int i);

/* One launch of a kernel. The arguments are laid out by the kernel's own. */
struct corpus_bufs {
	void *out;
	const void *in, *inf, *ind, *inl;
};
struct corpus_args {
	int n;
	size_t size[32];
	unsigned char bytes[32][128] __attribute__((aligned(16)));
};
struct corpus_run {
	const char *file, *name;
	unsigned int grid[3], block[3], dynamic, flags;
	void (*call)(const struct corpus_bufs *b);
	void (*args)(const struct corpus_bufs *b, struct corpus_args *a);
	struct corpus_run *next;
};
extern struct corpus_run *corpus_runs;
void corpus_add(struct corpus_run *r);
void corpus_reference(const struct corpus_run *r, const struct corpus_bufs *b);
void corpus_put(struct corpus_args *a, const void *v, size_t size);

#define OUT ((int *)B->out)
#define OUTU ((unsigned int *)B->out)
#define OUTF ((float *)B->out)
#define OUTD ((double *)B->out)
#define OUTL ((long long *)B->out)
#define OUTUL ((unsigned long long *)B->out)
#define OUTB ((unsigned char *)B->out)
#define OUTS ((short *)B->out)
#define IN ((const int *)B->in)
#define INU ((const unsigned int *)B->in)
#define INB ((const unsigned char *)B->in)
#define INS ((const short *)B->in)
#define INF ((const float *)B->inf)
#define IND ((const double *)B->ind)
#define INL ((const long long *)B->inl)

#define GRID(...) __VA_ARGS__
#define BLOCK(...) __VA_ARGS__
#define host_put(x) do { __typeof__(x) v_ = (x); corpus_put(A, &v_, sizeof(v_)); } while (0)
#define host_e1(x) host_put(x);
#define host_e2(x, ...) host_put(x); host_e1(__VA_ARGS__)
#define host_e3(x, ...) host_put(x); host_e2(__VA_ARGS__)
#define host_e4(x, ...) host_put(x); host_e3(__VA_ARGS__)
#define host_e5(x, ...) host_put(x); host_e4(__VA_ARGS__)
#define host_e6(x, ...) host_put(x); host_e5(__VA_ARGS__)
#define host_e7(x, ...) host_put(x); host_e6(__VA_ARGS__)
#define host_e8(x, ...) host_put(x); host_e7(__VA_ARGS__)
#define host_e9(x, ...) host_put(x); host_e8(__VA_ARGS__)
#define host_e10(x, ...) host_put(x); host_e9(__VA_ARGS__)
#define host_e11(x, ...) host_put(x); host_e10(__VA_ARGS__)
#define host_e12(x, ...) host_put(x); host_e11(__VA_ARGS__)
#define host_pick(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define host_each(...) host_pick(__VA_ARGS__, host_e12, host_e11, host_e10, host_e9, host_e8,	\
	host_e7, host_e6, host_e5, host_e4, host_e3, host_e2, host_e1)(__VA_ARGS__)

#define host_join2(a, b) a##_##b
#define host_join(a, b) host_join2(a, b)
#define RUN(k, ...) host_run(host_join(k, __COUNTER__), k, __VA_ARGS__)
#define host_run(...) host_run2(__VA_ARGS__)
#define host_run2(id, k, gx, gy, gz, bx, by, bz, dyn, fl, ...)			\
	static void host_join(call, id)(const struct corpus_bufs *B)			\
	{ (void)B; k(__VA_ARGS__); }							\
	static void host_join(args, id)(const struct corpus_bufs *B, struct corpus_args *A)	\
	{ (void)B; host_each(__VA_ARGS__) }						\
	__attribute__((constructor)) static void host_join(add, id)(void)		\
	{									\
		static struct corpus_run r = { __FILE__, #k, { gx, gy, gz }, { bx, by, bz },	\
			dyn, fl, host_join(call, id), host_join(args, id), NULL };	\
		corpus_add(&r);							\
	}

#endif
