// SPDX-License-Identifier: MIT
/* What the environment says. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "option.h"

struct gsv_options gsv_options;
static uint64_t state;

static bool is_word(const char *text, size_t n, const char *word)
{
	return n == strlen(word) && !memcmp(text, word, n);
}

static bool take_word(const char *text, size_t n)
{
	if (is_word(text, n, "auto")) {
		gsv_options.mode = GSV_AUTO;
	} else if (is_word(text, n, "off") || is_word(text, n, "whole")) {
		gsv_options.mode = GSV_OFF;
	} else if (is_word(text, n, "slice")) {
		gsv_options.mode = GSV_SLICE;
	} else if (n > 7 && !memcmp(text, "random=", 7)) {
		gsv_options.random = true;
		state = strtoull(text + 7, NULL, 0);
	} else {
		return !n;
	}
	return true;
}

void gsv_options_read(void)
{
	static const char unknown[] =
		"gpushare: GPUSHARE_CUT is auto, off, whole or slice[,random=SEED] for Vulkan\n";
	const char *text = secure_getenv("GPUSHARE_CUT");
	bool known = true;
	size_t n;

	for (; text && *text; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		known = take_word(text, n) && known;
	}
	if (!known && write(2, unknown, sizeof(unknown) - 1) < 0)
		return;
}

/* splitmix64 of a counter, so that threads can draw without a lock. */
uint64_t gsv_draw(void)
{
	uint64_t x = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15, __ATOMIC_RELAXED);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}
