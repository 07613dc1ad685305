// SPDX-License-Identifier: MIT
#include "ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEAD		"gpushare-usage 1 "
#define SUM_NONE	0xcbf29ce484222325ull
#define WORDS		12
#define MORE		"(more)"
#define USER_BYTES	(32 << 10)	/* of names, in one span */
#define ROOT_BYTES	(256 << 10)	/* likewise, root's and all containers' */
#define NAMES_OF(use)	((use)->device), ((use)->user), ((use)->unit), ((use)->group)

static uint64_t sum_more(uint64_t sum, const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return sum;
}

static bool is_plain(unsigned char c)
{
	return c > ' ' && c != 0x7f && c != '\\';
}

size_t gs_ledger_length(const char *name)
{
	size_t n = 0;

	for (; *name; name++)
		n += is_plain((unsigned char)*name) ? 1 : 4;
	return n ? n : 1;
}

static void put_name(FILE *out, const char *name)
{
	fputc(' ', out);
	if (!*name) {
		fputc('-', out);
		return;
	}
	if (!strcmp(name, "-")) {
		fputs("\\055", out);
		return;
	}
	for (; *name; name++) {
		if (is_plain((unsigned char)*name))
			fputc(*name, out);
		else
			fprintf(out, "\\%03o", (unsigned char)*name);
	}
}

/* What the writer writes, and nothing else: so each name has one form. */
static bool take_name(const char *word, char *name, size_t size)
{
	const char *s = strcmp(word, "-") ? word : "";
	unsigned int c;
	size_t n = 0;
	int i;

	while (*s) {
		if (n + 1 >= size)
			return false;
		c = (unsigned char)*s++;
		if (c == '\\') {
			for (i = 0, c = 0; i < 3; i++, s++) {
				if (*s < '0' || *s > '7')
					return false;
				c = c * 8 + (unsigned int)(*s - '0');
			}
			if (!c || c > 255 || (is_plain((unsigned char)c) && c != '-'))
				return false;
		} else if (!is_plain((unsigned char)c)) {
			return false;
		}
		name[n++] = (char)c;
	}
	name[n] = 0;
	return true;
}

static bool take_number(const char *word, uint64_t *value)
{
	uint64_t v = 0;

	if (!*word || (*word == '0' && word[1]))
		return false;
	for (; *word; word++) {
		if (*word < '0' || *word > '9' || v > (UINT64_MAX - (uint64_t)(*word - '0')) / 10)
			return false;
		v = v * 10 + (uint64_t)(*word - '0');
	}
	*value = v;
	return true;
}

static bool take_counters(char **words, struct gs_counters *c)
{
	return take_number(words[0], &c->held_us) && take_number(words[1], &c->waited_us) &&
		take_number(words[2], &c->grants) && take_number(words[3], &c->overruns);
}

/* False: no such line. */
static bool take_line(char *line, const struct gs_ledger_taker *take, void *arg)
{
	struct gs_stand stand = { .id = 0 };
	struct gs_use use = { .time = 0 };
	struct gs_run run = { .boot = "" };
	char *words[WORDS], *save = NULL, *word;
	unsigned int n = 0;

	for (word = strtok_r(line, " ", &save); word && n < WORDS; word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	if (!n || word)
		return false;
	if (!strcmp(words[0], "use")) {
		if (n != 11 || !take_number(words[1], &use.time) ||
		    !take_name(words[2], use.device, sizeof(use.device)) ||
		    !take_name(words[3], use.user, sizeof(use.user)) ||
		    !take_name(words[4], use.unit, sizeof(use.unit)) ||
		    !take_name(words[5], use.group, sizeof(use.group)) ||
		    !take_counters(words + 6, &use.counters) ||
		    !take_number(words[10], &use.memory))
			return false;
		if (take->use)
			take->use(&use, arg);
		return true;
	}
	if (!strcmp(words[0], "run")) {
		if (n != 3 || !take_name(words[1], run.boot, sizeof(run.boot)) ||
		    !take_number(words[2], &run.started_ns))
			return false;
		if (take->run)
			take->run(&run, arg);
		return true;
	}
	if (n != 6 || !take_number(words[1], &stand.id) ||
	    !take_counters(words + 2, &stand.counters))
		return false;
	if (!strcmp(words[0], "device")) {
		if (take->device)
			take->device(&stand, arg);
		return true;
	}
	if (strcmp(words[0], "client"))
		return false;
	if (take->client)
		take->client(&stand, arg);
	return true;
}

/* The line at @text, without its end, into @line; false: too long, or there is a NUL in it. */
static bool copy_line(const char *text, size_t length, char line[GS_LEDGER_LINE])
{
	if (length >= GS_LEDGER_LINE || memchr(text, 0, length))
		return false;
	memcpy(line, text, length);
	line[length] = 0;
	return true;
}

static bool begins(const char *line, uint64_t *time)
{
	return !strncmp(line, HEAD, strlen(HEAD)) && take_number(line + strlen(HEAD), time);
}

/* A whole batch, from after its first line on. */
static size_t take_batch(const char *text, size_t size, const struct gs_ledger_taker *take,
			 void *arg)
{
	char line[GS_LEDGER_LINE];
	size_t at, length, bad = 0;

	for (at = 0; at < size; at += length + 1) {
		length = (size_t)((const char *)memchr(text + at, '\n', size - at) - text) - at;
		bad += !copy_line(text + at, length, line) || !take_line(line, take, arg);
	}
	return bad;
}

size_t gs_ledger_read(const char *text, size_t size, const struct gs_ledger_taker *take, void *arg)
{
	const char *end, *body = NULL;	/* of a batch that has begun */
	uint64_t sum = 0, said, time = 0, t;
	char line[GS_LEDGER_LINE];
	size_t at, length, bad = 0;
	bool lost = false, sound;

	for (at = 0; at < size; at += length + 1) {
		end = memchr(text + at, '\n', size - at);
		length = (end ? end : text + size) - text - at;
		sound = end && copy_line(text + at, length, line);
		if (sound && begins(line, &t)) {
			bad += body || lost;
			lost = false;
			time = t;
			sum = sum_more(SUM_NONE, text + at, length + 1);
			body = end + 1;
		} else if (!body) {
			lost = true;
		} else if (sound && !strncmp(line, "end ", 4) && take_number(line + 4, &said)) {
			if (said == sum) {
				if (take->begin)
					take->begin(time, arg);
				bad += take_batch(body, text + at - body, take, arg);
			} else {
				bad++;
			}
			body = NULL;
		} else if (sound) {
			sum = sum_more(sum, text + at, length + 1);
		} else {
			body = NULL;
			lost = true;
		}
	}
	return bad + (body || lost);
}

static void put_counters(FILE *out, const struct gs_counters *c)
{
	fprintf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, c->held_us, c->waited_us, c->grants,
		c->overruns);
}

static void put_stand(FILE *out, const char *what, const struct gs_stand *stand)
{
	fprintf(out, "%s %" PRIu64, what, stand->id);
	put_counters(out, &stand->counters);
	fputc('\n', out);
}

void gs_ledger_begin(FILE *out, uint64_t time)
{
	fprintf(out, HEAD "%" PRIu64 "\n", time);
}

void gs_ledger_run(FILE *out, const struct gs_run *run)
{
	fputs("run", out);
	put_name(out, run->boot);
	fprintf(out, " %" PRIu64 "\n", run->started_ns);
}

void gs_ledger_device(FILE *out, const struct gs_stand *stand)
{
	put_stand(out, "device", stand);
}

void gs_ledger_client(FILE *out, const struct gs_stand *stand)
{
	put_stand(out, "client", stand);
}

void gs_ledger_use(FILE *out, const struct gs_use *use)
{
	fprintf(out, "use %" PRIu64, use->time);
	put_name(out, use->device);
	put_name(out, use->user);
	put_name(out, use->unit);
	put_name(out, use->group);
	put_counters(out, &use->counters);
	fprintf(out, " %" PRIu64 "\n", use->memory);
}

void gs_ledger_end(FILE *out, const char *text, size_t size)
{
	fprintf(out, "end %" PRIu64 "\n", sum_more(SUM_NONE, text, size));
}

static uint64_t hash_of(const struct gs_use *u)
{
	const char *names[] = { NAMES_OF(u) };
	uint64_t h = sum_more(SUM_NONE, (const char *)&u->time, sizeof(u->time));
	size_t i;

	for (i = 0; i < 4; i++)
		h = sum_more(h, names[i], strlen(names[i]) + 1);
	return h ^ h >> 32;
}

static bool same(const struct gs_use *a, const struct gs_use *b)
{
	return a->time == b->time && !strcmp(a->group, b->group) && !strcmp(a->unit, b->unit) &&
		!strcmp(a->user, b->user) && !strcmp(a->device, b->device);
}

static uint32_t *slot_of(const struct gs_uses *uses, const struct gs_use *like)
{
	size_t at = hash_of(like) & (uses->nr_slots - 1);

	while (uses->slots[at] && !same(&uses->items[uses->slots[at] - 1], like))
		at = (at + 1) & (uses->nr_slots - 1);
	return &uses->slots[at];
}

static int make_room(struct gs_uses *uses)
{
	size_t i, room = uses->room ? uses->room * 2 : 64;
	struct gs_use *items;
	uint32_t *slots;

	if (uses->nr < uses->room)
		return 0;
	items = reallocarray(uses->items, room, sizeof(*items));
	if (!items)
		return -ENOMEM;
	uses->items = items;
	slots = calloc(room * 2, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(uses->slots);
	uses->slots = slots;
	uses->nr_slots = room * 2;
	uses->room = room;
	for (i = 0; i < uses->nr; i++)
		*slot_of(uses, &items[i]) = (uint32_t)i + 1;
	return 0;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

struct gs_use *gs_uses_find(const struct gs_uses *uses, const struct gs_use *like)
{
	uint32_t *slot = uses->nr_slots ? slot_of(uses, like) : NULL;

	return slot && *slot ? &uses->items[*slot - 1] : NULL;
}

int gs_uses_add(struct gs_uses *uses, const struct gs_use *use)
{
	struct gs_use *u = gs_uses_find(uses, use);

	if (!u) {
		if (make_room(uses))
			return -ENOMEM;
		u = &uses->items[uses->nr++];
		*u = *use;
		*slot_of(uses, use) = (uint32_t)uses->nr;
		return 0;
	}
	u->counters.held_us = add(u->counters.held_us, use->counters.held_us);
	u->counters.waited_us = add(u->counters.waited_us, use->counters.waited_us);
	u->counters.grants = add(u->counters.grants, use->counters.grants);
	u->counters.overruns = add(u->counters.overruns, use->counters.overruns);
	u->memory = add(u->memory, use->memory);
	return 0;
}

int gs_uses_add_bounded(struct gs_uses *uses, const struct gs_use *use)
{
	bool root = !strcmp(use->user, "0") || !strcmp(use->user, "container");
	struct gs_use more;
	size_t i, bytes = 0;

	if (gs_uses_find(uses, use))
		return gs_uses_add(uses, use);
	for (i = 0; i < uses->nr; i++)
		if (uses->items[i].time == use->time && !strcmp(uses->items[i].user, use->user))
			bytes += gs_ledger_length(uses->items[i].unit) +
				gs_ledger_length(uses->items[i].group);
	if (bytes < (root ? ROOT_BYTES : USER_BYTES))
		return gs_uses_add(uses, use);
	more = *use;
	strcpy(more.unit, MORE);
	strcpy(more.group, MORE);
	return gs_uses_add(uses, &more);
}

void gs_uses_free(struct gs_uses *uses)
{
	free(uses->items);
	free(uses->slots);
	*uses = (struct gs_uses){ .nr = 0 };
}
