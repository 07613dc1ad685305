// SPDX-License-Identifier: MIT
/* Prints the rate of the time stamp counter in kHz, as tsc_early_khz wants. */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	long long start = now(), end;
	unsigned long long from = __rdtsc(), to;

	do {
		to = __rdtsc();
		end = now();
	} while (end - start < 100000000);
	printf("%lld\n", (long long)(to - from) * 1000000 / (end - start));
	return 0;
}
