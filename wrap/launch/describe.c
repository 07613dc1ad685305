// SPDX-License-Identifier: MIT
#include <errno.h>

#include "wrap/launch/describe.h"

/* Within a quarter: measured times vary by that much, and it changes no count of workers. */
static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t more = a > b ? a : b, less = a > b ? b : a;

	return more - less <= more / 4;
}

static bool is_told(const struct gs_described *told, const struct gpushare_describe *k,
		    uint64_t generation)
{
	const struct gpushare_describe *last = &told->last;

	return told->generation == generation && last->threads == k->threads &&
	       last->registers == k->registers && last->local_bytes == k->local_bytes &&
	       is_near(last->groups, k->groups) && is_near(last->group_ns, k->group_ns);
}

void gs_describe(struct gpushare *handle, struct gs_described *told,
		 const struct gpushare_describe *kernel)
{
	struct gpushare_describe tell = *kernel, nothing = { .size = sizeof(nothing) };
	struct gpushare_pages pages;
	int err;

	/* Another thread tells just now, and the next launch is as good a moment as this. */
	if (__atomic_exchange_n(&told->telling, true, __ATOMIC_ACQUIRE))
		return;
	gpushare_pages(handle, &pages);
	if (!is_told(told, kernel, pages.generation)) {
		told->last = *kernel;
		told->generation = pages.generation;
		err = gpushare_describe(handle, &tell);
		if (err == -ERANGE)
			gpushare_describe(handle, &nothing);
		else if (err)
			told->last = nothing;	/* it wasn't heard: said again next time */
	}
	__atomic_store_n(&told->telling, false, __ATOMIC_RELEASE);
}
