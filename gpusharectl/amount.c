// SPDX-License-Identifier: MIT
#include "amount.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/gpushare.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t size;
};

static const struct unit times[] = {
	{ "s", 1000000 }, { "ms", 1000 }, { "us", 1 }, { NULL, 0 },
};

static const struct unit sizes[] = {
	{ "E", 1ULL << 60 }, { "P", 1ULL << 50 }, { "T", 1ULL << 40 }, { "G", 1ULL << 30 },
	{ "M", 1ULL << 20 }, { "K", 1ULL << 10 }, { "", 1 }, { "B", 1 }, { NULL, 0 },
};

/* Fewer than a page, without a unit: who writes mem=8 means another one. */
#define BYTES_LEAST	4096

static const struct unit percents[] = {
	{ "%", 10 }, { NULL, 0 },
};

int gs_parse_unsigned(const char *s, uint64_t most, uint64_t *value)
{
	uint64_t v = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (!isdigit((unsigned char)*s))
			return -EINVAL;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return -ERANGE;
	}
	if (v > most)
		return -ERANGE;
	*value = v;
	return 0;
}

/* Digits, perhaps a point and digits, and one of the units; it must come out even. */
static int parse(const char *s, const struct unit *units, uint64_t *value)
{
	uint64_t v = 0, scale = 1;
	const struct unit *u;
	bool point = false;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
			if (!isdigit((unsigned char)s[1]))
				return -EINVAL;
			continue;
		}
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v) ||
		    (point && __builtin_mul_overflow(scale, 10, &scale)))
			return -ERANGE;
	}
	for (u = units; u->name && strcmp(u->name, s); u++)
		;
	if (!u->name)
		return -EINVAL;
	if (__builtin_mul_overflow(v, u->size, &v))
		return -ERANGE;
	if (v % scale)
		return -EINVAL;
	*value = v / scale;
	return 0;
}

int gs_parse_us(const char *s, uint64_t *us)
{
	if (!strcmp(s, "0")) {
		*us = 0;
		return 0;
	}
	return parse(s, times, us);
}

int gs_parse_bytes(const char *s, uint64_t *bytes)
{
	int rc;

	if (!strcmp(s, "max")) {
		*bytes = GPUSHARE_NO_LIMIT;
		return 0;
	}
	rc = parse(s, sizes, bytes);
	if (!rc && *bytes && *bytes < BYTES_LEAST && isdigit((unsigned char)s[strlen(s) - 1]))
		return -EDOM;
	return !rc && *bytes == GPUSHARE_NO_LIMIT ? -ERANGE : rc;
}

int gs_parse_permille(const char *s, uint64_t *permille)
{
	return parse(s, percents, permille);
}

static void format(char *buffer, uint64_t value, const struct unit *u)
{
	while (u->size > 1 && value % u->size)
		u++;
	sprintf(buffer, "%" PRIu64 "%s", value / u->size, u->name);
}

void gs_format_us(char *buffer, uint64_t us)
{
	if (us)
		format(buffer, us, times);
	else
		strcpy(buffer, "0");
}

void gs_format_bytes(char *buffer, uint64_t bytes)
{
	if (bytes == GPUSHARE_NO_LIMIT)
		strcpy(buffer, "max");
	else if (bytes && bytes < BYTES_LEAST && bytes % 1024)
		sprintf(buffer, "%" PRIu64 "B", bytes);
	else if (bytes)
		format(buffer, bytes, sizes);
	else
		strcpy(buffer, "0");
}

void gs_format_permille(char *buffer, uint64_t permille)
{
	if (permille % 10)
		sprintf(buffer, "%" PRIu64 ".%" PRIu64 "%%", permille / 10, permille % 10);
	else
		sprintf(buffer, "%" PRIu64 "%%", permille / 10);
}
