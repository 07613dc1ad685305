// SPDX-License-Identifier: MIT
/* What the environment says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

#define NAME "GPUSHARE_CUT"

struct gs_options gs_options;
static uint64_t state;

static const char *const words[] = {
	[GS_CUT_AUTO] = "auto", [GS_CUT_OFF] = "off", [GS_CUT_WHOLE] = "whole",
	[GS_CUT_SLICE] = "slice", [GS_CUT_GUARD] = "guard", [GS_CUT_WORKERS] = "workers",
};

static bool take_seed(const char *text, size_t n)
{
	static const char random[] = "random=";
	size_t len = sizeof(random) - 1;
	uint64_t seed;
	char *end;

	if (n <= len || memcmp(text, random, len) || text[len] < '0' || text[len] > '9')
		return false;
	errno = 0;
	seed = strtoull(text + len, &end, 0);
	if (errno || end != text + n)
		return false;
	gs_options.random = true;
	state = seed;
	return true;
}

static bool take_word(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (n == strlen(words[i]) && !memcmp(text, words[i], n))
			break;
	if (i == sizeof(words) / sizeof(*words))
		return !n || take_seed(text, n);
	gs_options.cut = (enum gs_cutting)i;
	return true;
}

static void tell_unknown(const char *text)
{
	size_t n = strcspn(text, ",");

	dprintf(2, "gpushare: " NAME " knows no \"%.*s\", but auto, off, whole, slice, guard, "
		"workers and random=SEED, with commas between\n", n < 40 ? (int)n : 40, text);
}

static void take_all(const char *text)
{
	const char *unknown = NULL;
	size_t n;

	for (; *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		if (!take_word(text, n) && !unknown)
			unknown = text;
	}
	if (unknown)
		tell_unknown(unknown);
}

static void refuse(const char *before)
{
	if (secure_getenv(before))
		dprintf(2, "gpushare: %s is ignored: it is " NAME " now, see gpushare(7)\n",
			before);
}

void gs_options_read(void)
{
	static bool done;
	const char *text;

	if (__atomic_exchange_n(&done, true, __ATOMIC_RELAXED))
		return;
	text = secure_getenv("GPUSHARE_CUT");
	if (text)
		take_all(text);
	refuse("GPUSHARE_OPENCL_MODE");
	refuse("GPUSHARE_OPENCL_CUTS");
	refuse("GPUSHARE_CUDA_CUT");
}

/* splitmix64: of a counter, so that it needs no lock. */
uint64_t gs_draw(uint64_t below)
{
	uint64_t x = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (x ^ x >> 31) % below;
}
