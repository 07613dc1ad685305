// SPDX-License-Identifier: MIT
/*
 * Reading and writing the state file's lines, see state.h. Reading goes over
 * the text twice: everything has to be sound before anything is taken.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

/* FNV-1a: against accidents, not against enemies, who can't write the file. */
uint64_t state_sum_on(uint64_t sum, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return sum;
}

uint64_t state_sum(const char *text, size_t length)
{
	return state_sum_on(STATE_SUM_NONE, text, length);
}

int state_put_head(FILE *f, const char *boot)
{
	return fprintf(f, STATE_HEAD, boot);
}

int state_put(FILE *f, const struct state_item *item)
{
	const struct gpushare_device *v = &item->device;
	const struct gpushare_share *s = &item->share;

	switch (item->what) {
	case STATE_DEVICE:
		return fprintf(f,
			"device %s %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %llu %u %u %llu\n",
			v->key, v->kind, item->added, v->mask, v->policy, v->seats, v->quota,
			v->workers, v->slice_us, v->linger_us, v->grace_us, v->kill_us,
			v->epoch_us, v->latency_us, v->units, v->unit_threads,
			v->unit_registers, v->unit_local_bytes, v->bandwidth_mbps,
			(unsigned long long)v->mem_bytes, v->oversubscribe, v->mem_full,
			(unsigned long long)v->mem_wait_us);
	case STATE_GROUP:
		return fprintf(f, "group %s %u %" PRIu64 " %s\n", item->name, item->uid,
			       item->maker, item->path);
	case STATE_SHARE:
		return fprintf(f,
			"share %s %u %u %u %u %llu %llu %llu %llu %llu %llu %u %llu %" PRIu64 " %" PRIu64 " %s\n",
			item->key, s->mask, s->weight, s->class, s->min_permille,
			(unsigned long long)s->max_us, (unsigned long long)s->period_us,
			(unsigned long long)s->burst_us, (unsigned long long)s->mem_max,
			(unsigned long long)s->mem_high, (unsigned long long)s->mem_min,
			s->mem_full, (unsigned long long)s->mem_wait_us,
			item->maker, item->id, item->path);
	}
	return 0;
}

struct reader {
	const char *at;
	unsigned int version;
	bool bad;
};

/* One word, up to a space; the last of a line may hold spaces: see rest(). */
static void word(struct reader *r, char *to, size_t size)
{
	size_t n = strcspn(r->at, " ");

	if (!n || n >= size || r->at[n] != ' ') {
		r->bad = true;
		return;
	}
	memcpy(to, r->at, n);
	to[n] = 0;
	r->at += n + 1;
}

static void rest(struct reader *r, char *to, size_t size)
{
	size_t n = strlen(r->at);

	if (!n || n >= size) {
		r->bad = true;
		return;
	}
	memcpy(to, r->at, n + 1);
	r->at += n;
}

static uint64_t number(struct reader *r, uint64_t most)
{
	unsigned long long v;
	char *end;

	if (r->bad || *r->at < '0' || *r->at > '9') {
		r->bad = true;
		return 0;
	}
	errno = 0;
	v = strtoull(r->at, &end, 10);
	if (errno || v > most || (*end != ' ' && *end)) {
		r->bad = true;
		return 0;
	}
	r->at = *end ? end + 1 : end;
	return v;
}

static uint32_t small(struct reader *r)
{
	return (uint32_t)number(r, UINT32_MAX);
}

static void read_device(struct reader *r, struct state_item *item)
{
	struct gpushare_device *v = &item->device;

	v->size = sizeof(*v);
	word(r, v->key, sizeof(v->key));
	v->kind = small(r);
	item->added = number(r, 1);
	v->mask = small(r);
	v->policy = small(r);
	v->seats = small(r);
	v->quota = small(r);
	v->workers = small(r);
	v->slice_us = small(r);
	v->linger_us = small(r);
	v->grace_us = small(r);
	v->kill_us = small(r);
	v->epoch_us = small(r);
	v->latency_us = small(r);
	v->units = small(r);
	v->unit_threads = small(r);
	v->unit_registers = small(r);
	v->unit_local_bytes = small(r);
	v->bandwidth_mbps = small(r);
	v->mem_bytes = number(r, UINT64_MAX);
	if (*r->at)	/* what an older daemon wrote ends here */
		v->oversubscribe = number(r, 1);
	if (*r->at) {
		v->mem_full = small(r);
		v->mem_wait_us = number(r, UINT64_MAX);
	}
	if (*r->at)
		r->bad = true;
}

static void read_share(struct reader *r, struct state_item *item)
{
	struct gpushare_share *s = &item->share;

	s->size = sizeof(*s);
	word(r, item->key, sizeof(item->key));
	s->mask = small(r);
	s->weight = small(r);
	s->class = small(r);
	s->min_permille = small(r);
	s->max_us = number(r, UINT64_MAX);
	s->period_us = number(r, UINT64_MAX);
	s->burst_us = number(r, UINT64_MAX);
	s->mem_max = number(r, UINT64_MAX);
	s->mem_high = number(r, UINT64_MAX);
	s->mem_min = number(r, UINT64_MAX);
	if (r->version > 2) {
		s->mem_full = small(r);
		s->mem_wait_us = number(r, UINT64_MAX);
	}
	item->maker = number(r, r->version == 1 ? UINT32_MAX : UINT64_MAX);
	if (r->version == 1 && item->maker)
		item->maker++;	/* the tenant of that user */
	item->id = number(r, UINT64_MAX);
	rest(r, item->path, sizeof(item->path));
}

static void read_group(struct reader *r, struct state_item *item)
{
	word(r, item->name, sizeof(item->name));
	item->uid = small(r);
	item->maker = r->version == 1 ? item->uid + 1ull : number(r, UINT64_MAX);
	rest(r, item->path, sizeof(item->path));
}

static bool read_line(const char *line, unsigned int version, struct state_item *item)
{
	struct reader r = { .at = line, .version = version };
	char what[16];

	memset(item, 0, sizeof(*item));
	word(&r, what, sizeof(what));
	if (r.bad)
		return false;
	if (!strcmp(what, "device")) {
		item->what = STATE_DEVICE;
		read_device(&r, item);
	} else if (!strcmp(what, "group")) {
		item->what = STATE_GROUP;
		read_group(&r, item);
	} else if (!strcmp(what, "share")) {
		item->what = STATE_SHARE;
		read_share(&r, item);
	} else {
		return false;
	}
	return !r.bad;
}

/* @last is that of the share before, if there is one. */
static bool take_path(struct state_item *item, char *last)
{
	if (item->what != STATE_SHARE)
		return true;
	if (!strcmp(item->path, STATE_DITTO))
		strcpy(item->path, last);
	else
		strcpy(last, item->path);
	return *last;
}

/* Where the sum's line begins, if it is there and right. */
static const char *check_sum(const char *text, size_t length)
{
	const char *last;
	char want[32];

	if (!length || text[length - 1] != '\n' || memchr(text, 0, length))
		return NULL;
	last = memrchr(text, '\n', length - 1);
	if (!last)
		return NULL;
	last++;
	snprintf(want, sizeof(want), "sum %016" PRIx64 "\n",
		 state_sum(text, (size_t)(last - text)));
	if (strlen(want) != length - (size_t)(last - text) ||
	    memcmp(want, last, strlen(want)))
		return NULL;
	return last;
}

int state_parse(const char *text, size_t length, char boot[64],
		void (*take)(const struct state_item *item, void *arg), void *arg)
{
	static struct state_item item;
	static char line[STATE_PATH_MAX + 512], path[STATE_PATH_MAX];
	const char *end = check_sum(text, length), *at, *next;
	bool head, sound = end;
	unsigned int version = 0;
	int round;

	for (round = 0; sound && round < 2; round++) {
		head = true;
		*path = 0;
		for (at = text; sound && at < end; at = next) {
			next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
			sound = (size_t)(next - at) <= sizeof(line);
			if (!sound)
				break;
			memcpy(line, at, (size_t)(next - at) - 1);
			line[next - at - 1] = 0;
			if (head) {
				sound = sscanf(line, "gpushare-state %u %63s", &version,
					       boot) == 2 && version >= 1 && version <= 3;
				head = false;
			} else {
				sound = read_line(line, version, &item) &&
					take_path(&item, path);
				if (sound && round)
					take(&item, arg);
			}
		}
		sound = sound && !head;
	}
	return sound ? 0 : -EBADMSG;
}
