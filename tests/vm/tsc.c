// SPDX-License-Identifier: MIT
/*
 * Prints the rate of the time stamp counter in kHz, as tsc_early_khz wants.
 *
 * On a busy machine any time may pass between reading the clock and the counter, and
 * a wrong rate makes the guest's clock run at the wrong speed, so that its time
 * limits end too early. So each end of the interval is the closest of many tries.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	long long ns;
	unsigned long long ticks;
};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct sample sample(void)
{
	struct sample s = {};
	long long before, after, best = -1;
	unsigned long long ticks;
	int i;

	for (i = 0; i < 10000; i++) {
		before = now();
		ticks = __rdtsc();
		after = now();
		if (best < 0 || after - before < best) {
			best = after - before;
			s.ns = before + best / 2;
			s.ticks = ticks;
		}
	}
	return s;
}

int main(void)
{
	struct timespec interval = { .tv_nsec = 100000000 };
	struct sample from = sample(), to;

	nanosleep(&interval, NULL);
	to = sample();
	printf("%lld\n", (long long)(to.ticks - from.ticks) * 1000000 / (to.ns - from.ns));
	return 0;
}
