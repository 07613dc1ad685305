// SPDX-License-Identifier: MIT
/*
 * A tenant for the tests: it takes the device for a slice of so many us, again
 * and again, and sleeps in it, since what counts is the time in grants.
 *
 *	busy SECONDS SLICE_US [IDLE_US [MEMORY_BYTES]]
 */
#include <errno.h>
#include <gpushare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void pause_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	if (us)
		nanosleep(&ts, NULL);
}

int main(int argc, char **argv)
{
	struct gpushare_options options = { .size = sizeof(options),
					    .flags = GPUSHARE_OPEN_STRICT };
	long slice = argc > 2 ? atol(argv[2]) : 1000, idle = argc > 3 ? atol(argv[3]) : 0;
	uint64_t until = gpushare_after((argc > 1 ? atol(argv[1]) : 10) * 1000000000ULL);
	struct gpushare *g;
	int rc;

	rc = gpushare_open(&g, "cpu:0", &options);
	if (!rc && argc > 4 && gpushare_memory(g, GPUSHARE_MEM_CHARGE, strtoull(argv[4], NULL, 0),
					       NULL))
		fputs("busy: no memory\n", stderr);
	gpushare_launched("reduce\033[2J", "whole", "it waits for other blocks");
	while (!rc && gpushare_after(0) < until) {
		rc = gpushare_begin(g, until);
		if (rc)
			break;
		pause_us(slice);
		gpushare_launched("saxpy", "slices", NULL);
		gpushare_end(g);
		pause_us(idle);
	}
	if (rc && rc != -ETIMEDOUT)
		fprintf(stderr, "busy: %s\n", strerror(-rc));
	gpushare_close(g);
	return 0;
}
