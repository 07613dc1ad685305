// SPDX-License-Identifier: MIT
/* gpusharectl usage: what gpusharectl account wrote down, added up. */
#include "books.h"
#include "ctl.h"
#include "query.h"
#include "term.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPT_SINCE, OPT_UNTIL, OPT_BY, OPT_CSV, OPT_DIR };

static const struct gs_option options[] = {
	{ "since", "WHEN", "from then on (today): 7d, 12h, yesterday, 2026-11-26, \"2026-11-26 12:30\"", 's' },
	{ "until", "WHEN", "until then (now)", 'u' },
	{ "by", "WHAT", "user, group, unit, day or device, or several as user,day (user)", 'b' },
	{ "csv", NULL, "write CSV", 0 },
	{ "dir", "DIR", "read the accounts kept here (" GS_BOOKS_DIR ")", 0 },
	{ NULL, NULL, NULL, 0 },
};

enum { BY_USER = 1, BY_GROUP = 2, BY_UNIT = 4, BY_DAY = 8, BY_DEVICE = 16 };

/* In the order of the columns. */
static const struct column {
	const char *name, *head;
	unsigned int by;
} columns[] = {
	{ "day", "DAY", BY_DAY }, { "user", "USER", BY_USER }, { "unit", "UNIT", BY_UNIT },
	{ "group", "GROUP", BY_GROUP }, { "device", "DEVICE", BY_DEVICE },
};

#define COLUMNS		(sizeof(columns) / sizeof(*columns))

struct report {
	struct gs_ctl *ctl;
	uint64_t since, until, day, day_end;	/* the day of the use before */
	unsigned int by;
	struct gs_uses uses;
	struct gs_use total;
	bool failed;
};

static uint64_t at(struct tm *tm)
{
	time_t t;

	tm->tm_isdst = -1;
	t = mktime(tm);
	return t > 0 ? (uint64_t)t : 0;
}

static uint64_t midnight(time_t now, int days)
{
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return 0;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_mday += days;
	return at(&tm);
}

static int parse_ago(const char *text, uint64_t now, uint64_t *when)
{
	static const struct { char unit; uint64_t seconds; } units[] = {
		{ 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 },
	};
	char *end;
	uint64_t n = strtoul(text, &end, 10);
	size_t i;

	if (end == text || *text < '0' || *text > '9' || n > 100000)
		return -EINVAL;
	for (i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (*end == units[i].unit && !end[1]) {
			n *= units[i].seconds;
			*when = n > now ? 0 : now - n;
			return 0;
		}
	return -EINVAL;
}

static int parse_when(const char *text, time_t now, uint64_t *when)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S",
					     "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	const char *end;
	struct tm tm;
	size_t i;

	if (!strcmp(text, "now")) {
		*when = (uint64_t)now;
		return 0;
	}
	if (!strcmp(text, "today") || !strcmp(text, "yesterday")) {
		*when = midnight(now, *text == 't' ? 0 : -1);
		return 0;
	}
	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		tm = (struct tm){ .tm_mday = 1 };
		end = strptime(text, forms[i], &tm);
		if (end && !*end && tm.tm_year >= 70) {
			*when = at(&tm);
			return 0;
		}
	}
	return parse_ago(text, (uint64_t)now, when);
}

static int parse_by(const char *text, unsigned int *by)
{
	size_t i, n;

	*by = 0;
	do {
		n = strcspn(text, ",");
		for (i = 0; i < COLUMNS; i++)
			if (strlen(columns[i].name) == n && !strncmp(columns[i].name, text, n))
				break;
		if (i == COLUMNS)
			return -EINVAL;
		*by |= columns[i].by;
		text += n;
	} while (*text++);
	return 0;
}

static void on_use(const struct gs_use *use, void *arg)
{
	struct report *r = arg;
	struct gs_use u = *use;

	if (u.time + GS_USE_SPAN <= r->since || u.time >= r->until)
		return;
	if (u.time < r->day || u.time >= r->day_end) {
		r->day = midnight((time_t)u.time, 0);
		r->day_end = midnight((time_t)u.time, 1);
	}
	u.time = r->by & BY_DAY ? r->day : 0;
	if (!(r->by & BY_USER))
		*u.user = 0;
	if (!(r->by & BY_GROUP))
		*u.group = 0;
	if (!(r->by & BY_UNIT))
		*u.unit = 0;
	if (!(r->by & BY_DEVICE))
		*u.device = 0;
	r->failed |= gs_uses_add(&r->uses, &u) != 0;
	r->total.counters.held_us += u.counters.held_us;
	r->total.counters.waited_us += u.counters.waited_us;
	r->total.counters.grants += u.counters.grants;
	r->total.counters.overruns += u.counters.overruns;
	r->total.memory += u.memory;
}

static int by_held(const void *a, const void *b)
{
	const struct gs_use *x = a, *y = b;
	int rc;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->counters.held_us != y->counters.held_us)
		return x->counters.held_us > y->counters.held_us ? -1 : 1;
	rc = strcmp(x->user, y->user);
	rc = rc ? rc : strcmp(x->unit, y->unit);
	rc = rc ? rc : strcmp(x->group, y->group);
	return rc ? rc : strcmp(x->device, y->device);
}

#define VALUE	264

/* "": it isn't known. */
static const char *value_of(const struct gs_use *u, unsigned int by, char value[VALUE])
{
	time_t t = (time_t)u->time;
	char name[GS_USER], *end;
	unsigned long uid;
	struct tm tm;

	switch (by) {
	case BY_DAY:
		if (!localtime_r(&t, &tm) || !strftime(value, VALUE, "%Y-%m-%d", &tm))
			*value = 0;
		return value;
	case BY_USER:
		uid = strtoul(u->user, &end, 10);
		snprintf(value, VALUE, "%s", *u->user && !*end && uid <= UINT32_MAX ?
			 gs_user_name((uint32_t)uid, name) : u->user);
		return value;
	case BY_UNIT:
		return u->unit;
	case BY_GROUP:
		return u->group;
	}
	return u->device;
}

/* Hours, minutes and seconds, or what is less than ten seconds exactly. */
static const char *format_time(char buffer[GS_AMOUNT], uint64_t us)
{
	uint64_t s = us / 1000000;

	if (s < 10)
		return gs_time(buffer, us * 1000);
	snprintf(buffer, GS_AMOUNT, "%" PRIu64 ":%02u:%02u", s / 3600, (unsigned int)(s / 60 % 60),
		 (unsigned int)(s % 60));
	return buffer;
}

static void row(struct gs_table *t, const struct report *r, const struct gs_use *u, bool total)
{
	const char *name = total ? "all" : NULL;
	char value[VALUE], a[GS_AMOUNT];
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		if (!(r->by & columns[i].by))
			continue;
		if (!total)
			name = value_of(u, columns[i].by, value);
		gs_table_cell(t, "%s", *name ? name : total ? "" : "-");
		name = total ? "" : name;
	}
	gs_table_cell(t, "%s", format_time(a, u->counters.held_us));
	gs_table_cell(t, "%s", gs_permille(a, gs_ratio(u->counters.held_us, r->total.counters.held_us)));
	gs_table_cell(t, "%s", format_time(a, u->counters.waited_us));
	/* KiB times seconds, to GiB times hours. */
	gs_table_cell(t, "%.3f", (double)u->memory / (1024.0 * 1024 * 3600));
	gs_table_cell(t, "%" PRIu64, u->counters.grants);
	gs_table_cell(t, "%" PRIu64, u->counters.overruns);
}

static void print_table(const struct report *r)
{
	const char *heads[COLUMNS + 6];
	unsigned int n = 0;
	struct gs_table t;
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		if (r->by & columns[i].by)
			heads[n++] = columns[i].head;
	heads[n++] = ">HELD";
	heads[n++] = ">SHARE";
	heads[n++] = ">WAITED";
	heads[n++] = ">GIB-HOURS";
	heads[n++] = ">GRANTS";
	heads[n++] = ">OVERRUNS";
	gs_table_begin(&t, heads, n);
	for (i = 0; i < r->uses.nr; i++)
		row(&t, r, &r->uses.items[i], false);
	if (r->uses.nr > 1)
		row(&t, r, &r->total, true);
	gs_table_end(&t, r->ctl->colour);
}

/* Names may hold anything: what isn't to be shown is U+FFFD, as in JSON. */
static void csv_name(const char *s)
{
	bool quoted = strpbrk(s, ",\"\r\n");
	unsigned int n;

	if (quoted)
		putchar('"');
	for (; *s; s += n ? n : 1) {
		n = gs_utf8_shown(s) ? gs_utf8_length(s) : 0;
		if (!n)
			fputs("\xef\xbf\xbd", stdout);
		else if (*s == '"')
			fputs("\"\"", stdout);
		else
			fwrite(s, 1, n, stdout);
	}
	fputs(quoted ? "\"," : ",", stdout);
}

static void print_csv(const struct report *r)
{
	const struct gs_use *u;
	char value[VALUE];
	size_t i, k;

	for (k = 0; k < COLUMNS; k++)
		if (r->by & columns[k].by)
			printf("%s,", columns[k].name);
	puts("held_usec,waited_usec,memory_kib_seconds,grants,overruns");
	for (i = 0; i < r->uses.nr; i++) {
		u = &r->uses.items[i];
		for (k = 0; k < COLUMNS; k++)
			if (r->by & columns[k].by)
				csv_name(value_of(u, columns[k].by, value));
		printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", u->counters.held_us,
		       u->counters.waited_us, u->memory, u->counters.grants, u->counters.overruns);
	}
}

static void print_json(const struct report *r, size_t bad)
{
	const struct gs_use *u;
	char value[VALUE];
	struct gs_json j;
	size_t i, k;

	gs_answer_begin(&j, r->ctl, "usage");
	gs_json_unsigned(&j, "since_sec", r->since);
	gs_json_unsigned(&j, "until_sec", r->until);
	gs_json_unsigned(&j, "unsound", bad);
	gs_json_array(&j, "uses");
	for (i = 0; i < r->uses.nr; i++) {
		u = &r->uses.items[i];
		gs_json_object(&j, NULL);
		for (k = 0; k < COLUMNS; k++)
			if (r->by & columns[k].by)
				gs_json_string(&j, columns[k].name,
					       value_of(u, columns[k].by, value));
			else
				gs_json_null(&j, columns[k].name);
		gs_json_unsigned(&j, "held_usec", u->counters.held_us);
		gs_json_unsigned(&j, "waited_usec", u->counters.waited_us);
		gs_json_unsigned(&j, "memory_kib_seconds", u->memory);
		gs_json_unsigned(&j, "grants", u->counters.grants);
		gs_json_unsigned(&j, "overruns", u->counters.overruns);
		gs_json_end(&j);
	}
	gs_json_end(&j);
	gs_json_end(&j);
}

static int read_books(struct report *r, const char *dir, size_t *bad)
{
	static const struct gs_ledger_taker take = { .use = on_use };
	char name[4200];
	int rc = gs_books_read(dir, r->since, &take, r, bad, name, sizeof(name));

	if (rc == -ENOENT)
		return gs_error(GS_EXIT_NOT_FOUND, name, "no accounts are kept; gpusharectl account does, "
				"or systemctl enable --now gpushare-account.service");
	if (rc)
		return gs_error(rc == -EACCES ? GS_EXIT_PERMISSION : GS_EXIT_FAILURE, name,
				"can't be read: %s", strerror(-rc));
	if (r->failed)
		return gs_call_error(dir, -ENOMEM);
	if (*bad)
		gs_error(0, dir, "%zu place%s of the accounts %s cut short or changed, and left out", *bad,
			 *bad == 1 ? "" : "s", *bad == 1 ? "is" : "are");
	return 0;
}

static int run_usage(struct gs_ctl *ctl, int argc, char **argv)
{
	const char *dir = ctl->values[OPT_DIR] ? ctl->values[OPT_DIR] : GS_BOOKS_DIR;
	const char *const *v = ctl->values;
	struct report r = { .ctl = ctl, .by = BY_USER };
	time_t now = time(NULL);
	size_t bad;
	int rc;

	(void)argc;
	(void)argv;
	if (parse_when(v[OPT_SINCE] ? v[OPT_SINCE] : "today", now, &r.since))
		return gs_usage(ctl, "--since=%s: a time, as 7d, yesterday or 2026-11-26", v[OPT_SINCE]);
	if (parse_when(v[OPT_UNTIL] ? v[OPT_UNTIL] : "now", now, &r.until))
		return gs_usage(ctl, "--until=%s: a time, as 7d, yesterday or 2026-11-26", v[OPT_UNTIL]);
	if (v[OPT_BY] && parse_by(v[OPT_BY], &r.by))
		return gs_usage(ctl, "--by=%s: user, group, unit, day or device, or several", v[OPT_BY]);
	if (v[OPT_CSV] && ctl->json)
		return gs_usage(ctl, "--csv or --json");
	/* What is used now is of a span that ends later. */
	r.until += !v[OPT_UNTIL];
	rc = read_books(&r, dir, &bad);
	if (!rc) {
		if (r.uses.nr)
			qsort(r.uses.items, r.uses.nr, sizeof(*r.uses.items), by_held);
		if (ctl->json)
			print_json(&r, bad);
		else if (v[OPT_CSV])
			print_csv(&r);
		else
			print_table(&r);
	}
	gs_uses_free(&r.uses);
	return rc;
}

const struct gs_command gs_usage_command = {
	.name = "usage", .args = "", .options = options, .run = run_usage,
	.summary = "Who used how much, by user, group, unit, day or device",
	.details = "It is what gpusharectl account wrote down, in half hours. HELD is time on the device,\n"
	"GIB-HOURS memory charged there, \"-\" who isn't known: who came and went between two\n"
	"looks, or while nobody looked.\n",
};
