/* SPDX-License-Identifier: MIT */
/*
 * Where the wrapper is tried: a daemon that knows the driver-on-the-CPU's device,
 * and programs in children of the test, linked with the wrapper.
 */
#ifndef TESTS_CUDA_WRAPPER_BED_H
#define TESTS_CUDA_WRAPPER_BED_H

#include "harness.h"
#include "cpucuda/api.h"
#include "tests/gpushared/world.h"

#define KEY "pci:0000:00:00.0"
#define OK(x) EXPECT_EQ(CUDA_SUCCESS, x)
#define MUST(x) ASSERT_EQ(CUDA_SUCCESS, x)

/* A daemon with the device; @grace_ms: how long a holder may keep what is asked back. */
void bed_make(struct world *w, uint32_t grace_ms);
/* The same, with more options for the daemon. */
void bed_make_with(struct world *w, uint32_t grace_ms, const char *const *more);
/* Points the wrapper to the driver on the CPU. In each program before its first call. */
void bed_driver(void);

/* A context and the kernels below. */
struct program {
	CUcontext ctx;
	CUmodule module;
	CUfunction spin, add;
};

CUresult program_load(CUmodule *module);	/* the same kernels once more */
void program_start(struct program *p);
/*
 * spin(steps): each block counts to @steps and ends; add(to, n): each thread adds
 * n to its word.
 */
CUresult program_spin(struct program *p, uint32_t blocks, uint32_t steps, CUstream s);

/* How many launches of the kernel went this way, as gpusharectl status --transforms counts. */
uint64_t launched(const char *kernel, const char *way);

/* A holder of the device, as another tenant: in this process, without CUDA. */
struct gpushare *holder_begin(const char *group);
void holder_end(struct gpushare *g);

/*
 * The driver's device gets a processor for itself, as a GPU has, in all programs from now on;
 * all else has the others. False: there is but one, or no right to real-time priority.
 */
bool bed_set_apart(void);
/* Steps of program_spin(), with eight blocks, in a millisecond when nobody else is there. */
double bed_steps_per_ms(void);
/* So many busy loops, from now on, beside what is set apart; at most 64. */
void bed_load(unsigned int n);

/* Starts fn() in a child; it ends with the number of failed expectations. */
pid_t child_start(void (*fn)(void *arg), void *arg);
int child_wait(pid_t pid);		/* its exit status, 128 + a signal */
/* The low byte of the child's word: is it granted, does it wait? 0 if there's no client. */
uint32_t child_state(struct world *w, pid_t pid);
uint64_t child_charged(struct world *w, pid_t pid);	/* device memory, bytes */
/* What the arbiter counted of it, zeros if there's no client. */
struct gpushare_stats child_stats(struct world *w, pid_t pid);
bool child_is_client(struct world *w, pid_t pid);

#endif
