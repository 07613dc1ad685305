/* SPDX-License-Identifier: MIT */
/* One small kernel, run by the executor alone: what units-test and edges-test share. */
#ifndef CPUCUDA_UNIT_H
#define CPUCUDA_UNIT_H

#include "harness.h"
#include "cpucuda/exec.h"
#include "cpucuda/memory.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define WORDS 4096

/* What the kernels write to and read from, WORDS of 32 bits each. */
extern struct mem_block *out, *in;

/* Numbers below @n, the same in each run. */
uint32_t draw(uint32_t n);
/* Both buffers' first contents: zeros to read, 0xdead to be overwritten. */
void prepare(void);
/* Runs kernel k(.u64 out, .u64 in, .u64 x); how it ended. FAULT_INSTRUCTION if it isn't PTX. */
enum fault run_grid(const char *text, uint32_t blocks, uint32_t cluster, uint32_t threads,
		    uint64_t x);
/* The same with one block; false, which is a failure of the test: it didn't end well. */
bool run(const char *text, uint32_t threads, uint64_t x);

#endif
