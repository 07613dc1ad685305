// SPDX-License-Identifier: MIT
#include "props.h"
#include "amount.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum kind {
	KIND_UNSIGNED,		/* u32 */
	KIND_WEIGHT,
	KIND_CLASS,
	KIND_MAX,		/* max_us, period_us, burst_us */
	KIND_MIN,
	KIND_BYTES,		/* u64 */
	KIND_US,		/* u32 */
	KIND_WAIT,		/* u64, us */
	KIND_FULL,
	KIND_POLICY,
	KIND_QUOTA,
	KIND_WORKERS,
};

#define PERIOD_DEFAULT	100000

#define SHARE(n, k, j, v, m, kind_, member) \
	{ n, k, j, v, GPUSHARE_SHARE_##m, kind_, offsetof(struct gpushare_share, member) }
const struct gs_prop gs_share_props[] = {
	SHARE("weight", "Weight", "weight", "1..10000", WEIGHT, KIND_WEIGHT, weight),
	SHARE("class", "Class", "class", "batch, latency or idle", CLASS, KIND_CLASS, class),
	SHARE("max", "Max", "max", "PCT%, or TIME/PERIOD[+BURST], or max", MAX, KIND_MAX, max_us),
	SHARE("min", "Min", "min", "PCT% of the device's time", MIN, KIND_MIN, min_permille),
	SHARE("mem.max", "MemoryMax", "memory_max", "SIZE, PCT% or max", MEM_MAX, KIND_BYTES,
	      mem_max),
	SHARE("mem.high", "MemoryHigh", "memory_high", "SIZE, PCT% or max", MEM_HIGH, KIND_BYTES,
	      mem_high),
	SHARE("mem.min", "MemoryMin", "memory_min", "SIZE or PCT%", MEM_MIN, KIND_BYTES, mem_min),
	SHARE("mem.full", "MemoryFull", "memory_full", "fail or wait", MEM_FULL, KIND_FULL,
	      mem_full),
	SHARE("mem.wait", "MemoryWait", "memory_wait_usec", "TIME, 1ms..86400s", MEM_WAIT, KIND_WAIT,
	      mem_wait_us),
	{ 0 },
};

#define DEVICE(n, k, j, v, m, kind_, member) \
	{ n, k, j, v, GPUSHARE_DEV_##m, kind_, offsetof(struct gpushare_device, member) }
const struct gs_prop gs_device_props[] = {
	DEVICE("policy", "Policy", "policy", "fair, fcfs or rr", POLICY, KIND_POLICY, policy),
	DEVICE("seats", "Seats", "seats", "1..64", SEATS, KIND_UNSIGNED, seats),
	DEVICE("slice", "Slice", "slice_usec", "TIME, 100us..1s", SLICE, KIND_US, slice_us),
	DEVICE("linger", "Linger", "linger_usec", "TIME, 0..1s", LINGER, KIND_US, linger_us),
	DEVICE("grace", "Grace", "grace_usec", "TIME, from 1ms", GRACE, KIND_US, grace_us),
	DEVICE("kill", "Kill", "kill_usec", "TIME, 0 is never", KILL, KIND_US, kill_us),
	DEVICE("quota", "Quota", "quota", "rollover, elastic, history or naive", QUOTA, KIND_QUOTA,
	       quota),
	DEVICE("epoch", "Epoch", "epoch_usec", "TIME, 10ms..10s", QUOTA, KIND_US, epoch_us),
	DEVICE("latency", "Latency", "latency_usec", "TIME, 0 is none", LATENCY, KIND_US,
	       latency_us),
	DEVICE("workers", "Workers", "workers", "equal or profile", WORKERS, KIND_WORKERS, workers),
	DEVICE("units", "Units", "units", "NUMBER", CAPACITY, KIND_UNSIGNED, units),
	DEVICE("unit-threads", "UnitThreads", "unit_threads", "NUMBER", CAPACITY, KIND_UNSIGNED,
	       unit_threads),
	DEVICE("unit-registers", "UnitRegisters", "unit_registers", "NUMBER", CAPACITY,
	       KIND_UNSIGNED, unit_registers),
	DEVICE("unit-local", "UnitLocal", "unit_local_bytes", "NUMBER of bytes", CAPACITY,
	       KIND_UNSIGNED, unit_local_bytes),
	DEVICE("bandwidth", "Bandwidth", "bandwidth_mbps", "NUMBER of MB/s", CAPACITY,
	       KIND_UNSIGNED, bandwidth_mbps),
	DEVICE("memory", "Memory", "memory_bytes", "SIZE", CAPACITY, KIND_BYTES, mem_bytes),
	DEVICE("oversubscribe", "Oversubscribe", "oversubscribe", "0 or 1", OVERSUB, KIND_UNSIGNED,
	       oversubscribe),
	DEVICE("mem.full", "MemoryFull", "memory_full", "fail or wait", MEM_FULL, KIND_FULL,
	       mem_full),
	DEVICE("mem.wait", "MemoryWait", "memory_wait_usec", "TIME, 1ms..86400s", MEM_WAIT, KIND_WAIT,
	       mem_wait_us),
	{ 0 },
};

static const char *const classes[] = { "batch", "latency", "idle", NULL };
static const char *const policies[] = { "fair", "fcfs", "rr", NULL };
static const char *const quotas[] = { "rollover", "elastic", "history", "naive", NULL };
static const char *const workers[] = { "equal", "profile", NULL };
static const char *const fulls[] = { "default", "fail", "wait", NULL };
static const char *const kinds[] = { "unknown", "gpu", "mig", "cpu", "other", NULL };

static const char *word_of(const char *const *words, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < value && words[i]; i++)
		;
	return words[i] ? words[i] : "unknown";
}

static int value_of(const char *const *words, const char *s, uint32_t *value)
{
	uint32_t i;

	for (i = 0; words[i]; i++)
		if (!strcmp(words[i], s)) {
			*value = i;
			return 0;
		}
	return -EINVAL;
}

const char *gs_kind_name(uint32_t kind)
{
	return word_of(kinds, kind);
}

const char *gs_policy_name(uint32_t policy)
{
	return word_of(policies, policy);
}

uint32_t gs_kind_of(const char *key)
{
	return !strncmp(key, "pci:", 4) ? GPUSHARE_KIND_GPU :
	       !strncmp(key, "mig:", 4) ? GPUSHARE_KIND_MIG :
	       !strncmp(key, "cpu:", 4) ? GPUSHARE_KIND_CPU : GPUSHARE_KIND_OTHER;
}

const struct gs_prop *gs_prop_find(const struct gs_prop *props, const char *name)
{
	/* What people type for the commonest of the memory limits. */
	if (props == gs_share_props && !strcasecmp(name, "mem"))
		name = "mem.max";
	for (; props->name; props++)
		if (!strcasecmp(props->name, name) || !strcasecmp(props->key, name))
			return props;
	return NULL;
}

/* "50%", "20ms/100ms", "20ms/100ms+5ms" or "max". */
static int parse_max(const char *s, struct gpushare_share *share)
{
	uint64_t permille, us, period, burst = 0;
	char part[64], *slash, *plus;
	int rc;

	share->burst_us = 0;
	share->period_us = PERIOD_DEFAULT;
	share->max_us = GPUSHARE_NO_LIMIT;
	if (!strcmp(s, "max"))
		return 0;
	rc = gs_parse_permille(s, &permille);
	if (!rc) {
		share->max_us = permille * (PERIOD_DEFAULT / 1000);
		return permille && permille <= 64000 ? 0 : -ERANGE;
	}
	if (rc == -ERANGE || strlen(s) >= sizeof(part))
		return rc;
	strcpy(part, s);
	slash = strchr(part, '/');
	if (!slash)
		return -EINVAL;
	*slash++ = 0;
	plus = strchr(slash, '+');
	if (plus)
		*plus++ = 0;
	if (gs_parse_us(part, &us) || gs_parse_us(slash, &period) ||
	    (plus && gs_parse_us(plus, &burst)))
		return -EINVAL;
	if (!us || period < 1000 || period > 1000000 || burst > us || us > 64 * period)
		return -ERANGE;
	share->max_us = us;
	share->period_us = period;
	share->burst_us = burst;
	return 0;
}

static int parse_bytes(const char *s, uint64_t mem_bytes, uint64_t *bytes)
{
	uint64_t permille;
	int rc = gs_parse_permille(s, &permille);

	if (rc)
		return gs_parse_bytes(s, bytes);
	if (!mem_bytes)
		return -ENODATA;
	if (permille > 1000)
		return -ERANGE;
	*bytes = mem_bytes / 1000 * permille + mem_bytes % 1000 * permille / 1000;
	return 0;
}

static int parse_wait(const char *s, uint64_t *us)
{
	int rc = gs_parse_us(s, us);

	return !rc && (*us < 1000 || *us > 86400000000) ? -ERANGE : rc;
}

/* 8GB, 8GiB */
static bool is_long_unit(const char *value)
{
	size_t n = strcspn(value, "KMGTPE");

	return value[n] && (!strcmp(value + n + 1, "B") || !strcmp(value + n + 1, "iB"));
}

static int say(int rc, const struct gs_prop *prop, const char *value, char *why, size_t size)
{
	if (rc == -ENODATA)
		snprintf(why, size, "%s=%s: a percentage needs one device whose memory is known; "
			 "name it, or say bytes", prop->name, value);
	else if (rc == -EDOM)
		snprintf(why, size, "%s=%s: %s bytes? With a unit it is %sG, %sM, %sK or %sB",
			 prop->name, value, value, value, value, value, value);
	else if (prop->kind == KIND_BYTES && rc == -EINVAL && is_long_unit(value))
		snprintf(why, size, "%s=%s: write %.*s, which is of 1024", prop->name, value,
			 (int)strcspn(value, "KMGTPE") + 1, value);
	else if (rc)
		snprintf(why, size, "%s=%s: %s; it takes %s", prop->name, value,
			 rc == -ERANGE ? "out of range" : "not understood", prop->values);
	return rc ? -EINVAL : 0;
}

int gs_share_parse(struct gpushare_share *share, const struct gs_prop *prop, const char *value,
		   uint64_t mem_bytes, char *why, size_t size)
{
	void *member = (char *)share + prop->offset;
	uint64_t v = 0;
	int rc;

	if (!*value || !strcmp(value, "default")) {
		share->reset |= prop->mask;
		share->mask &= ~prop->mask;
		return 0;
	}
	switch (prop->kind) {
	case KIND_WEIGHT:
		rc = gs_parse_unsigned(value, 10000, &v);
		rc = !rc && !v ? -ERANGE : rc;
		if (!rc)
			*(uint32_t *)member = v;
		break;
	case KIND_CLASS:
		rc = value_of(classes, value, member);
		break;
	case KIND_FULL:
		rc = value_of(fulls, value, member);
		break;
	case KIND_WAIT:
		rc = parse_wait(value, member);
		break;
	case KIND_MAX:
		rc = parse_max(value, share);
		break;
	case KIND_MIN:
		rc = gs_parse_permille(value, &v);
		if (rc == -EINVAL && !strcmp(value, "0"))
			rc = 0;
		rc = !rc && v > 1000 ? -ERANGE : rc;
		if (!rc)
			*(uint32_t *)member = v;
		break;
	default:
		rc = parse_bytes(value, mem_bytes, member);
	}
	if (!rc) {
		share->mask |= prop->mask;
		share->reset &= ~prop->mask;
	}
	return say(rc, prop, value, why, size);
}

int gs_device_parse(struct gpushare_device *device, const struct gs_prop *prop, const char *value,
		    char *why, size_t size)
{
	void *member = (char *)device + prop->offset;
	struct gpushare_device plain = { 0 };
	uint64_t v = 0;
	int rc;

	if (!*value || !strcmp(value, "default")) {
		gs_device_defaults(&plain);
		memcpy(member, (const char *)&plain + prop->offset,
		       prop->kind == KIND_BYTES || prop->kind == KIND_WAIT ? sizeof(uint64_t) :
		       sizeof(uint32_t));
		device->mask |= prop->mask;
		return 0;
	}
	switch (prop->kind) {
	case KIND_POLICY:
		rc = value_of(policies, value, member);
		break;
	case KIND_QUOTA:
		rc = value_of(quotas, value, member);
		break;
	case KIND_WORKERS:
		rc = value_of(workers, value, member);
		break;
	case KIND_FULL:
		rc = value_of(fulls, value, member);
		break;
	case KIND_WAIT:
		rc = parse_wait(value, member);
		break;
	case KIND_BYTES:
		rc = gs_parse_bytes(value, &v);
		rc = !rc && v == GPUSHARE_NO_LIMIT ? -ERANGE : rc;
		if (!rc)
			*(uint64_t *)member = v;
		break;
	default:
		rc = prop->kind == KIND_US ? gs_parse_us(value, &v) :
			gs_parse_unsigned(value, UINT32_MAX, &v);
		rc = !rc && v > UINT32_MAX ? -ERANGE : rc;
		if (!rc)
			*(uint32_t *)member = v;
	}
	if (!rc)
		device->mask |= prop->mask;
	return say(rc, prop, value, why, size);
}

static void format_max(const struct gpushare_share *share, char *value)
{
	if (share->max_us == GPUSHARE_NO_LIMIT) {
		strcpy(value, "max");
	} else if (share->period_us == PERIOD_DEFAULT && !share->burst_us &&
		   !(share->max_us % (PERIOD_DEFAULT / 1000))) {
		gs_format_permille(value, share->max_us / (PERIOD_DEFAULT / 1000));
	} else {
		gs_format_us(value, share->max_us);
		strcat(value, "/");
		gs_format_us(value + strlen(value), share->period_us);
		if (share->burst_us) {
			strcat(value, "+");
			gs_format_us(value + strlen(value), share->burst_us);
		}
	}
}

/* 0 is a share's own: what stands above it says it. */
static void format_wait(char *value, uint64_t us)
{
	if (us)
		gs_format_us(value, us);
	else
		strcpy(value, "default");
}

void gs_share_format(const struct gpushare_share *share, const struct gs_prop *prop, char *value)
{
	const void *member = (const char *)share + prop->offset;

	switch (prop->kind) {
	case KIND_CLASS:
		strcpy(value, word_of(classes, *(const uint32_t *)member));
		break;
	case KIND_MAX:
		format_max(share, value);
		break;
	case KIND_MIN:
		gs_format_permille(value, *(const uint32_t *)member);
		break;
	case KIND_BYTES:
		gs_format_bytes(value, *(const uint64_t *)member);
		break;
	case KIND_FULL:
		strcpy(value, word_of(fulls, *(const uint32_t *)member));
		break;
	case KIND_WAIT:
		format_wait(value, *(const uint64_t *)member);
		break;
	default:
		sprintf(value, "%u", *(const uint32_t *)member);
	}
}

void gs_device_format(const struct gpushare_device *device, const struct gs_prop *prop, char *value)
{
	const void *member = (const char *)device + prop->offset;

	switch (prop->kind) {
	case KIND_POLICY:
		strcpy(value, word_of(policies, *(const uint32_t *)member));
		break;
	case KIND_QUOTA:
		strcpy(value, word_of(quotas, *(const uint32_t *)member));
		break;
	case KIND_WORKERS:
		strcpy(value, word_of(workers, *(const uint32_t *)member));
		break;
	case KIND_BYTES:
		gs_format_bytes(value, *(const uint64_t *)member);
		break;
	case KIND_FULL:
		strcpy(value, word_of(fulls, *(const uint32_t *)member));
		break;
	case KIND_WAIT:
		format_wait(value, *(const uint64_t *)member);
		break;
	case KIND_US:
		gs_format_us(value, *(const uint32_t *)member);
		break;
	default:
		sprintf(value, "%u", *(const uint32_t *)member);
	}
}

void gs_device_defaults(struct gpushare_device *device)
{
	*device = (struct gpushare_device){
		.size = sizeof(*device), .kind = GPUSHARE_KIND_OTHER, .seats = 1,
		.slice_us = 2000, .linger_us = 200, .grace_us = 100000, .epoch_us = 100000,
		.mem_full = GPUSHARE_FULL_FAIL, .mem_wait_us = 60000000,
	};
}

void gs_share_copy(struct gpushare_share *share, const struct gpushare_share *from, uint32_t mask)
{
	if (mask & GPUSHARE_SHARE_WEIGHT)
		share->weight = from->weight;
	if (mask & GPUSHARE_SHARE_CLASS)
		share->class = from->class;
	if (mask & GPUSHARE_SHARE_MAX) {
		share->max_us = from->max_us;
		share->period_us = from->period_us;
		share->burst_us = from->burst_us;
	}
	if (mask & GPUSHARE_SHARE_MIN)
		share->min_permille = from->min_permille;
	if (mask & GPUSHARE_SHARE_MEM_MAX)
		share->mem_max = from->mem_max;
	if (mask & GPUSHARE_SHARE_MEM_HIGH)
		share->mem_high = from->mem_high;
	if (mask & GPUSHARE_SHARE_MEM_MIN)
		share->mem_min = from->mem_min;
	if (mask & GPUSHARE_SHARE_MEM_FULL)
		share->mem_full = from->mem_full;
	if (mask & GPUSHARE_SHARE_MEM_WAIT)
		share->mem_wait_us = from->mem_wait_us;
}

bool gs_share_same(const struct gpushare_share *a, const struct gpushare_share *b, uint32_t mask)
{
	struct gpushare_share x = { 0 }, y = { 0 };

	gs_share_copy(&x, a, mask);
	gs_share_copy(&y, b, mask);
	return !memcmp(&x, &y, sizeof(x));
}
