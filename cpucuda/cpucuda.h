/* SPDX-License-Identifier: MIT */
/*
 * What the driver on the CPU offers beyond CUDA's interface, to tests that are
 * linked with it or look these names up with dlsym(). From outside, the
 * environment sets the same: CPUCUDA_SEED, CPUCUDA_SHUFFLE=1 (blocks start in
 * random order), CPUCUDA_DEVICES, CPUCUDA_SMS, CPUCUDA_CC, CPUCUDA_MEMORY (bytes), CPUCUDA_LIMIT
 * (steps without a finished block after which a kernel counts as hanging).
 */
#ifndef CPUCUDA_H
#define CPUCUDA_H

#include <stdint.h>

#define CPUCUDA_API __attribute__((visibility("default")))

/* The seed of all schedules from now on, and whether blocks start in random order. */
CPUCUDA_API void cpucuda_schedule(uint64_t seed, int shuffle_blocks);
/* Why the last kernel that failed did: kernel, line, thread, what. Good until the next call. */
CPUCUDA_API const char *cpucuda_fault(void);
/* Instructions, blocks and kernels run so far. */
CPUCUDA_API void cpucuda_counts(uint64_t *steps, uint64_t *blocks, uint64_t *launches);
/* Links that were completed so far. */
CPUCUDA_API uint64_t cpucuda_links(void);
/*
 * The @n-th call of a kind from now (1: the next) is refused with this error, and does nothing:
 * "launch", "copy" (that doesn't wait), "host memory". One kind at a time.
 */
CPUCUDA_API void cpucuda_refuse(const char *what, uint64_t n, int error);
/*
 * From now on what cuMemFree() frees is given out next, and @fn is called before that call, or
 * cuMemUnmap(), returns, as another thread may do something then; NULL: no more.
 */
CPUCUDA_API void cpucuda_freed(void (*fn)(uint64_t addr));
/* From now on no module tells where its variable of that name is; NULL: all do. */
CPUCUDA_API void cpucuda_hide(const char *name);
/*
 * Once the device has run @steps more instructions, it writes @value to @word
 * (host memory): how tests stop kernels at repeatable moments. At most 64 wait.
 */
CPUCUDA_API int cpucuda_poke(uint64_t steps, uint32_t *word, uint32_t value);

/*
 * What stands in the file of CPUCUDA_TIMES: when the devices of all processes that have it so
 * ran kernels, by CLOCK_MONOTONIC. Whoever reads makes the file, as long as it likes; @n counts
 * on when it is full, and may be set back when no device runs. A time is there when its @to is.
 * It speaks of the first of those kernels that run side by side.
 */
struct cpucuda_time {
	uint32_t pid;
	uint32_t launch : 30;	/* the process's kernels are numbered */
	uint32_t began : 1;	/* its first block did in this time */
	uint32_t ended : 1;	/* its last block */
	uint64_t from, to;
};

struct cpucuda_times {
	uint64_t n;
	struct cpucuda_time t[];
};

#endif
