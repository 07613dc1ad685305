// SPDX-License-Identifier: MIT
/*
 * The values in a scenario: numbers with their units, and lengths of time
 * that are drawn.
 *
 * All is done in integers: the C library's log() may differ in the last bit
 * between processors, and a run must be the same everywhere.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

static int bad(const char **why, const char *text)
{
	*why = text;
	return -EINVAL;
}

/*
 * DIGITS[.DIGITS], times @unit: *end is behind it. Digits behind the point
 * that make less than one are dropped.
 */
static int scaled(const char *text, uint64_t unit, const char **end, uint64_t *out,
		  const char **why)
{
	uint64_t whole = 0, part = 0, scale = 1;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		return bad(why, "is not a number");
	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *p - '0', &whole))
			return bad(why, "is too large");
	if (*p == '.') {
		p++;
		if (!isdigit((unsigned char)*p))
			return bad(why, "needs a digit behind the point");
		for (; isdigit((unsigned char)*p); p++) {
			if (scale >= 1000000000)
				continue;
			part = part * 10 + (*p - '0');
			scale *= 10;
		}
	}
	if (__builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, (uint64_t)((__uint128_t)part * unit / scale),
				   &whole))
		return bad(why, "is too large");
	*end = p;
	*out = whole;
	return 0;
}

int sim_value_number(const char *text, uint64_t *out, const char **why)
{
	const char *end;
	int ret;

	if (strchr(text, '.'))
		return bad(why, "is not a whole number");
	ret = scaled(text, 1, &end, out, why);
	if (!ret && *end)
		return bad(why, "is not a whole number");
	return ret;
}

int sim_value_decimal(const char *text, double *out, const char **why)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end)
		return bad(why, "is not a number");
	return 0;
}

/* "0.55" or "550": per mille of one, or of a thousand. */
int sim_value_permille(const char *text, uint64_t *out, const char **why)
{
	const char *end;
	int ret;

	ret = scaled(text, strchr(text, '.') ? 1000 : 1, &end, out, why);
	if (!ret && *end)
		return bad(why, "is neither 0.NNN nor a number of thousandths");
	return ret;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static int with_unit(const char *text, const struct unit *units, const char *missing,
		     uint64_t *out, const char **why)
{
	const char *end;
	uint64_t zero;
	int ret;

	ret = scaled(text, 1, &end, &zero, why);
	if (ret)
		return ret;
	for (; units->name; units++)
		if (!strcmp(end, units->name))
			return scaled(text, units->factor, &end, out, why);
	if (!*end && !strcmp(text, "0")) {
		*out = 0;
		return 0;
	}
	return bad(why, missing);
}

int sim_value_time(const char *text, uint64_t *ns, const char **why)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", SIM_NS_PER_US }, { "ms", SIM_NS_PER_MS },
		{ "s", SIM_NS_PER_S }, { "min", 60 * SIM_NS_PER_S },
		{ "h", 3600 * SIM_NS_PER_S }, { NULL, 0 },
	};

	return with_unit(text, units, "needs a unit of time (ns, us, ms, s, min, h)", ns, why);
}

int sim_value_bytes(const char *text, uint64_t *bytes, const char **why)
{
	static const struct unit units[] = {
		{ "", 1 }, { "K", 1ULL << 10 }, { "M", 1ULL << 20 }, { "G", 1ULL << 30 },
		{ NULL, 0 },
	};

	return with_unit(text, units, "has an unknown unit (K, M, G are there)", bytes, why);
}

/* TIME, uniform(TIME,TIME) or exp(TIME) */
int sim_value_dist(const char *text, struct sim_dist *d, const char **why)
{
	char buf[128], *comma, *close;
	size_t len = strlen(text);
	int ret;

	if (len >= sizeof(buf))
		return bad(why, "is too long");
	memcpy(buf, text, len + 1);
	d->b = 0;
	close = len ? &buf[len - 1] : buf;
	if (*close != ')') {
		d->kind = SIM_CONST;
		return sim_value_time(buf, &d->a, why);
	}
	*close = 0;
	if (!strncmp(buf, "exp(", 4)) {
		d->kind = SIM_EXP;
		return sim_value_time(buf + 4, &d->a, why);
	}
	comma = strchr(buf, ',');
	if (strncmp(buf, "uniform(", 8) || !comma)
		return bad(why, "is none of TIME, uniform(TIME,TIME), exp(TIME)");
	*comma = 0;
	d->kind = SIM_UNIFORM;
	ret = sim_value_time(buf + 8, &d->a, why);
	if (!ret)
		ret = sim_value_time(comma + 1, &d->b, why);
	if (!ret && d->b < d->a)
		return bad(why, "has its larger bound first");
	return ret;
}

/* splitmix64: one word of state, good enough to draw block times from. */
uint64_t sim_random(struct sim_random *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void sim_random_init(struct sim_random *r, uint64_t seed, const char *name, unsigned int stream)
{
	r->s = seed * 0x2545f4914f6cdd1dULL + stream;
	for (; *name; name++)
		r->s = (r->s ^ (unsigned char)*name) * 0x100000001b3ULL;
	sim_random(r);
}

uint64_t sim_random_below(struct sim_random *r, uint64_t n)
{
	return (uint64_t)((__uint128_t)sim_random(r) * n >> 64);
}

/*
 * log2(x) of x in [1, 2), both with 32 bits behind the point: squaring doubles
 * the logarithm, so that each square past 2 shows its next bit.
 */
static uint64_t log2_fraction(uint64_t x)
{
	uint64_t result = 0;
	int bit;

	for (bit = 31; bit >= 0; bit--) {
		x = (uint64_t)((__uint128_t)x * x >> 32);
		if (x >> 33) {
			result |= 1ULL << bit;
			x >>= 1;
		}
	}
	return result;
}

/* -ln(u / 2^64) for a random u, with 32 bits behind the point. */
static uint64_t exponential(struct sim_random *r)
{
	uint64_t u = sim_random(r) | 1;
	int zeros = __builtin_clzll(u);
	uint64_t log2u;

	/* u = 2^(63 - zeros) * m, m in [1, 2), with 32 bits kept of m. */
	log2u = log2_fraction(u << zeros >> 31);
	log2u = ((uint64_t)(zeros + 1) << 32) - log2u;
	return (uint64_t)((__uint128_t)log2u * 2977044472ULL >> 32);	/* ln 2 */
}

uint64_t sim_draw(struct sim_random *r, const struct sim_dist *d)
{
	switch (d->kind) {
	case SIM_UNIFORM:
		return d->a + sim_random_below(r, d->b - d->a + 1);
	case SIM_EXP:
		return (uint64_t)((__uint128_t)exponential(r) * d->a >> 32);
	case SIM_CONST:
		break;
	}
	return d->a;
}

uint64_t sim_mean(const struct sim_dist *d)
{
	return d->kind == SIM_UNIFORM ? d->a + (d->b - d->a) / 2 : d->a;
}
