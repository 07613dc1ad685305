// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

int sim_fail(struct parser *p, const char *fmt, ...)
{
	va_list args;
	int n;

	n = snprintf(p->error, p->size, "%s:%d: ", p->s->file, p->line);
	va_start(args, fmt);
	if (n >= 0 && (size_t)n < p->size)
		vsnprintf(p->error + n, p->size - n, fmt, args);
	va_end(args);
	return -EINVAL;
}

void *sim_grow(void *arrayp, int *n, size_t size)
{
	char **array = arrayp, *p;

	if (!(*n & (*n - 1))) {
		p = realloc(*array, (*n ? 2 * *n : 1) * size);
		if (!p)
			return NULL;
		*array = p;
	}
	p = *array + *n * size;
	memset(p, 0, size);
	(*n)++;
	return p;
}

int sim_find(const void *array, int n, size_t size, const char *name)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp((const char *)array + i * size, name))
			return i;
	return -1;
}

int sim_find_group(struct parser *p, const char *path, int *group)
{
	*group = -1;
	if (!strcmp(path, "/"))
		return 0;
	*group = FIND(p->s->groups, p->s->ngroups, path);
	if (*group < 0)
		return sim_fail(p, "there is no group '%s' above this line", path);
	return 0;
}

static int set_devices(struct parser *p, char *value, uint64_t *mask)
{
	char *save = NULL, *name;
	int i;

	*mask = 0;
	for (name = strtok_r(value, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		i = FIND(p->s->devices, p->s->ndevices, name);
		if (i < 0)
			return sim_fail(p, "there is no device '%s' above this line", name);
		*mask |= 1ULL << i;
	}
	return *mask ? 0 : sim_fail(p, "device= names no device");
}

/* max=none or max=QUOTA/PERIOD; burst has its own option */
static int set_max(struct parser *p, char *value, struct gs_share *share)
{
	char *slash = strchr(value, '/');
	const char *why;

	share->period = 100 * SIM_NS_PER_MS;
	share->quota = GS_UNLIMITED;
	if (!strcmp(value, "none"))
		return 0;
	if (!slash)
		return sim_fail(p, "max=%s is neither none nor QUOTA/PERIOD", value);
	*slash = 0;
	if (sim_value_time(value, &share->quota, &why))
		return sim_fail(p, "max: quota '%s' %s", value, why);
	if (sim_value_time(slash + 1, &share->period, &why))
		return sim_fail(p, "max: period '%s' %s", slash + 1, why);
	if (share->period < GS_PERIOD_MIN || share->period > GS_PERIOD_MAX)
		return sim_fail(p, "max: period '%s' is not within 1ms..10s", slash + 1);
	if (share->quota < SIM_NS_PER_US || share->quota > TIME_MAX)
		return sim_fail(p, "max: quota '%s' is not within 1us..10000h", value);
	return 0;
}

/* closed, every(T), poisson(T) or burst(N,T) */
static int set_arrive(struct parser *p, char *value, struct sim_phase *phase)
{
	static const struct {
		const char *name;
		enum sim_arrive arrive;
	} kinds[] = {
		{ "every(", SIM_EVERY }, { "poisson(", SIM_POISSON }, { "burst(", SIM_BURST },
	};
	size_t i, len = strlen(value);
	uint64_t burst;
	const char *why;
	char *comma;

	phase->arrive = SIM_CLOSED;
	if (!strcmp(value, "closed"))
		return 0;
	for (i = 0; i < 3; i++)
		if (!strncmp(value, kinds[i].name, strlen(kinds[i].name)))
			break;
	if (i == 3 || value[len - 1] != ')')
		return sim_fail(p, "arrive=%s is none of closed, every(TIME), poisson(TIME), "
			    "burst(COUNT,TIME)", value);
	value[len - 1] = 0;
	value += strlen(kinds[i].name);
	phase->arrive = kinds[i].arrive;
	phase->burst = 1;
	if (phase->arrive == SIM_BURST) {
		comma = strchr(value, ',');
		if (!comma)
			return sim_fail(p, "arrive=burst(...) needs COUNT,TIME");
		*comma = 0;
		if (sim_value_number(value, &burst, &why))
			return sim_fail(p, "arrive: '%s' %s", value, why);
		if (burst < 1 || burst > 100000)
			return sim_fail(p, "arrive: '%s' is not within 1..100000", value);
		phase->burst = burst;
		value = comma + 1;
	}
	if (sim_value_time(value, &phase->gap_ns, &why))
		return sim_fail(p, "arrive: '%s' %s", value, why);
	if (phase->gap_ns < SIM_NS_PER_US || phase->gap_ns > TIME_MAX)
		return sim_fail(p, "arrive: '%s' is not within 1us..10000h", value);
	return 0;
}

static int set_word(struct parser *p, const struct option *o, const char *value, uint64_t *out)
{
	char known[128] = "";
	int i;

	for (i = 0; o->words[i]; i++) {
		if (!strcmp(o->words[i], value)) {
			*out = i;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", o->words[i]);
	}
	return sim_fail(p, "%s=%s is none of %s", o->key, value, known);
}

/* The number behind @value, in the unit in which @o is stored. */
static int scalar(struct parser *p, const struct option *o, const char *value, uint64_t *v)
{
	const char *why = NULL;
	int ret;

	switch (o->type) {
	case OPT_WORD:
		return set_word(p, o, value, v);
	case OPT_NS:
		ret = sim_value_time(value, v, &why);
		break;
	case OPT_BYTES32: case OPT_BYTES64:
		ret = sim_value_bytes(value, v, &why);
		break;
	case OPT_PERMILLE:
		ret = sim_value_permille(value, v, &why);
		break;
	default:
		ret = sim_value_number(value, v, &why);
	}
	if (ret)
		return sim_fail(p, "%s: '%s' %s", o->key, value, why);
	return 0;
}

/* A stored value, as one would write it. */
static const char *written(const struct option *o, uint64_t v, char *buf, size_t size)
{
	const char *unit = "";

	if (!v) {
		snprintf(buf, size, "0");
		return buf;
	}
	if (o->type == OPT_NS) {
		static const struct {
			uint64_t ns;
			const char *name;
		} units[] = { { SIM_NS_PER_S, "s" }, { SIM_NS_PER_MS, "ms" },
			      { SIM_NS_PER_US, "us" }, { 1, "ns" } };
		int i = 0;

		while (v % units[i].ns)
			i++;
		v /= units[i].ns;
		unit = units[i].name;
	}
	snprintf(buf, size, "%llu%s", (unsigned long long)v, unit);
	return buf;
}

static int set_option(struct parser *p, const struct option *o, char *value, void *base,
		      uint32_t *mask)
{
	void *to = (char *)base + o->offset;
	char low[32], high[32];
	const char *why;
	uint64_t v;

	switch (o->type) {
	case OPT_DIST:
		if (sim_value_dist(value, to, &why))
			return sim_fail(p, "%s: '%s' %s", o->key, value, why);
		if (((struct sim_dist *)to)->a > TIME_MAX || ((struct sim_dist *)to)->b > TIME_MAX)
			return sim_fail(p, "%s: '%s' is over 10000h", o->key, value);
		return 0;
	case OPT_MAX:
		if (set_max(p, value, to))
			return -EINVAL;
		*mask |= o->bit;
		return 0;
	case OPT_ARRIVE:
		return set_arrive(p, value, to);
	case OPT_DEVICES:
		return set_devices(p, value, to);
	case OPT_GROUP:
		return sim_find_group(p, value, to);
	default:
		break;
	}
	if (scalar(p, o, value, &v))
		return -EINVAL;
	if (v < o->min || (o->max && v > o->max))
		return sim_fail(p, "%s: '%s' is not within %s..%s", o->key, value,
				written(o, o->min, low, sizeof(low)),
				o->max ? written(o, o->max, high, sizeof(high)) : "");
	switch (o->type) {
	case OPT_U64: case OPT_NS: case OPT_BYTES64:
		*(uint64_t *)to = v;
		break;
	default:
		if (v > UINT32_MAX)
			return sim_fail(p, "%s: '%s' is too large", o->key, value);
		*(uint32_t *)to = v;
	}
	if (mask)
		*mask |= o->bit;
	return 0;
}

int sim_options(struct parser *p, const struct option *options, void *base, uint32_t *mask)
{
	const struct option *o;
	char *value;
	int i;

	for (i = 0; i < p->nwords; i++) {
		value = strchr(p->words[i], '=');
		if (!value || !value[1])
			return sim_fail(p, "'%s' is not KEY=VALUE", p->words[i]);
		*value++ = 0;
		for (o = options; o->key && strcmp(o->key, p->words[i]); o++)
			;
		if (!o->key)
			return sim_fail(p, "there is no option '%s' here", p->words[i]);
		if (set_option(p, o, value, base, mask))
			return -EINVAL;
	}
	return 0;
}

char *sim_word(struct parser *p)
{
	char *word;

	if (!p->nwords)
		return NULL;
	word = p->words[0];
	memmove(p->words, p->words + 1, --p->nwords * sizeof(p->words[0]));
	return word;
}

int sim_new_name(struct parser *p, const char *what, bool path, char *out, size_t size)
{
	const char *name = sim_word(p), *c;

	if (!name)
		return sim_fail(p, "%s needs a name", what);
	if (strlen(name) >= size)
		return sim_fail(p, "the name of %s '%.20s...' is too long", what, name);
	for (c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.",
			    *c) && !(path && *c == '/'))
			return sim_fail(p, "'%s' is no name for %s: letters, digits, '_', '-' and '.'",
				    name, what);
	strcpy(out, name);
	return 0;
}
