// SPDX-License-Identifier: MIT
/*
 * gpusharectl top: what each group is entitled to and what it got, live.
 *
 * It draws with the few escapes that every terminal of the last decades knows,
 * a whole screen in one write, so that it neither flickers nor needs a library.
 * Colour only repeats what the bar's characters say.
 */
#include "amount.h"
#include "ulib/transport.h"
#include "ctl.h"
#include "groups.h"
#include "term.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_DEFAULT	1000000

enum { OPT_DELAY, OPT_COUNT, OPT_BATCH, OPT_DEVICE, OPT_SORT, OPT_CLIENTS, OPT_ONCE };

static const struct gs_option options[] = {
	{ "delay", "TIME", "between two looks (1s)", 'd' },
	{ "count", "N", "end after so many", 'n' },
	{ "batch", NULL, "plain text, one look after the other; so it is without a terminal", 'b' },
	{ "device", "DEV", "only this one", 0 },
	{ "sort", "COLUMN", "tree, used, wait, mem or name", 's' },
	{ "clients", NULL, "a row for each client, not for each group", 'c' },
	{ "once", NULL, "one look, as --count=1 --batch", '1' },
	{ NULL, NULL, NULL, 0 },
};

enum sort { SORT_TREE, SORT_USED, SORT_WAIT, SORT_MEMORY, SORT_NAME, SORTS };

static const char *const sort_names[] = { "tree", "used", "wait", "mem", "name" };

struct top {
	struct gs_ctl *ctl;
	uint64_t interval_us;
	long count;		/* looks to go, below 0: any number */
	bool batch, clients, help;
	enum sort sort;
	uint32_t device;
	unsigned int width, height;
	FILE *out;
};

struct row {
	char name[GS_CELL], state[96];
	unsigned int entitled, used, wait;
	uint64_t memory;
	uint32_t device;
	size_t order;
};

static void colour(struct top *t, const char *code)
{
	if (t->ctl->colour)
		fprintf(t->out, "\033[%sm", code);
}

/*
 * The bar of @width cells stands for the whole device: '#' is what it got of
 * its entitlement, '+' what it got beyond, '-' what it was entitled to and
 * didn't get.
 */
static void draw_bar(struct top *t, unsigned int entitled, unsigned int used, unsigned int width)
{
	static const char *const codes[] = { "32", "36", "2", "0" };
	static const char marks[] = "#+- ";
	unsigned int i, kind, last = 3, e, u;

	e = (entitled * width + 500) / 1000;
	u = (used * width + 500) / 1000;
	fputc('[', t->out);
	for (i = 0; i < width; i++) {
		kind = i < u ? i >= e : i < e ? 2 : 3;
		if (kind != last)
			colour(t, codes[kind]);
		last = kind;
		fputc(marks[kind], t->out);
	}
	if (last != 3)
		colour(t, "0");
	fputc(']', t->out);
}

/* @s in exactly @width columns. */
static void draw_text(struct top *t, const char *s, unsigned int width)
{
	fprintf(t->out, "%*s", (int)(width - gs_print_cut(t->out, s, width)), "");
}

static void end_line(struct top *t)
{
	fputs(t->batch ? "\n" : "\033[K\r\n", t->out);
}

static int compare(const struct row *a, const struct row *b, enum sort sort)
{
	switch (sort) {
	case SORT_USED:
		return (b->used > a->used) - (b->used < a->used);
	case SORT_WAIT:
		return (b->wait > a->wait) - (b->wait < a->wait);
	case SORT_MEMORY:
		return (b->memory > a->memory) - (b->memory < a->memory);
	case SORT_NAME:
		return strcmp(a->name, b->name);
	default:
		return 0;
	}
}

static int by_sort(const void *a, const void *b, void *sort)
{
	const struct row *x = a, *y = b;
	int c = compare(x, y, *(const enum sort *)sort);

	return c ? c : (x->order > y->order) - (x->order < y->order);
}

static size_t group_rows(struct top *t, const struct gs_view *before, const struct gs_view *now,
			 struct row *rows)
{
	size_t n = 0, g, d;
	struct gs_rate rate;
	struct row *r;

	for (g = 0; g < now->nr_groups; g++) {
		for (d = 0; d < now->nr_devices; d++) {
			if ((t->device && now->devices[d].info.device != t->device) ||
			    (!gs_group_on_device(now, g, d) && (now->nr_devices > 1 || t->device)))
				continue;
			rate = gs_group_rate(before, now, g, d);
			r = &rows[n];
			if (t->sort == SORT_TREE)
				gs_tree_label(now, g, r->name, sizeof(r->name));
			else
				snprintf(r->name, sizeof(r->name), "%s", now->groups[g].all.path);
			gs_group_state(now, &rate, g, d, r->state, sizeof(r->state));
			r->entitled = now->groups[g].on[d].share.entitled_permille;
			r->used = rate.used;
			r->wait = rate.wait;
			r->memory = now->groups[g].on[d].stats.mem_current;
			r->device = now->devices[d].info.device;
			r->order = n++;
		}
	}
	return n;
}

static size_t client_rows(struct top *t, const struct gs_view *before, const struct gs_view *now,
			  struct row *rows)
{
	const struct gs_group_view *g;
	const struct gpushare_stats *c;
	struct gs_rate rate;
	struct row *r;
	size_t n = 0, i, d;

	for (i = 0; i < now->nr_clients; i++) {
		c = &now->clients[i];
		if (t->device && c->device != t->device)
			continue;
		g = gs_view_group(now, c->part ? c->part : c->group);
		d = gs_view_device_index(now, c->device);
		rate = gs_client_rate(before, c);
		r = &rows[n];
		snprintf(r->name, sizeof(r->name), "%d %s", c->pid, c->comm);
		snprintf(r->state, sizeof(r->state), "%s %.80s", gs_state_name(c->state),
			 g ? g->all.path : "");
		/* Its group's, divided among the clients there. */
		r->entitled = g && d < now->nr_devices && g->on[d].share.clients ?
			g->on[d].share.entitled_permille / g->on[d].share.clients : 0;
		r->used = rate.used;
		r->wait = rate.wait;
		r->memory = c->mem_current;
		r->device = c->device;
		r->order = n++;
	}
	return n;
}

static void draw_devices(struct top *t, const struct gs_view *before, const struct gs_view *now)
{
	const struct gs_device_view *d;
	const struct gs_device_view *b;
	char mem[GS_AMOUNT], all[GS_AMOUNT], busy[GS_AMOUNT];
	uint64_t passed;
	size_t i;

	for (i = 0; i < now->nr_devices; i++) {
		d = &now->devices[i];
		if (t->device && d->info.device != t->device)
			continue;
		b = gs_view_device(before, d->info.device);
		passed = b ? d->stats.now_ns - b->stats.now_ns : 0;
		colour(t, "1");
		fprintf(t->out, "%2u ", d->info.device);
		draw_text(t, d->info.key, 17);
		colour(t, "0");
		draw_bar(t, 1000, gs_device_busy(before, now, i), t->width < 100 ? 12 : 24);
		fprintf(t->out, " %6s %5.0f grants/s %u waiting %s/%s",
			gs_permille(busy, gs_device_busy(before, now, i)),
			passed ? (double)(d->stats.grants - b->stats.grants) * 1e9 / passed : 0.,
			d->info.waiters, gs_bytes(mem, d->stats.mem_current),
			d->info.mem_bytes ? gs_bytes(all, d->info.mem_bytes) : "-");
		end_line(t);
	}
}

static void draw_head(struct top *t, const struct gs_view *now)
{
	time_t seconds = time(NULL);
	char clock[32];
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&seconds, &tm));
	fprintf(t->out, "gpushare %s  %zu device%s, %zu client%s", clock, now->nr_devices,
		now->nr_devices == 1 ? "" : "s", now->nr_clients, now->nr_clients == 1 ? "" : "s");
	if (!t->batch)
		fprintf(t->out, "  sort %s  (h: help)", sort_names[t->sort]);
	end_line(t);
}

/* What is left for the state; 0: too little to say it in. */
static unsigned int state_width(const struct top *t, unsigned int name, unsigned int bar)
{
	unsigned int rest = name + bar + 42;

	return t->width >= rest + 8 ? t->width - rest : 0;
}

static void draw_row(struct top *t, const struct row *r, unsigned int name_width,
		     unsigned int bar_width)
{
	char e[GS_AMOUNT], u[GS_AMOUNT], w[GS_AMOUNT], m[GS_AMOUNT];

	draw_text(t, r->name, name_width);
	fprintf(t->out, " %3u ", r->device);
	draw_bar(t, r->entitled, r->used, bar_width);
	fprintf(t->out, "%7s%7s%7s%7s ", gs_permille(e, r->entitled), gs_permille(u, r->used),
		gs_permille(w, r->wait), gs_bytes(m, r->memory));
	draw_text(t, r->state, state_width(t, name_width, bar_width));
	end_line(t);
}

static void draw_help(struct top *t)
{
	static const char *const lines[] = {
		"The bar is the whole device:",
		"  '#'  got of what it is entitled to",
		"  '+'  got beyond that",
		"  '-'  entitled to, and not got",
		"WAIT is the time in which somebody of it waited.", "",
		"q  end                        d  next device",
		"s  sort by the next column    c  groups or clients",
		"+  look more often            -  look less often", "h  back",
	};
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		fputs(lines[i], t->out);
		end_line(t);
	}
}

static int draw(struct top *t, const struct gs_view *before, const struct gs_view *now)
{
	size_t most = now->nr_groups * now->nr_devices + now->nr_clients + 1, n, i;
	struct row *rows = calloc(most, sizeof(*rows));
	unsigned int name = t->width >= 100 ? 36 : 20, bar = t->width >= 100 ? 24 : 14;

	if (!rows)
		return -ENOMEM;
	if (!t->batch)
		fputs("\033[H", t->out);
	draw_head(t, now);
	draw_devices(t, before, now);
	end_line(t);
	if (t->help) {
		draw_help(t);
	} else {
		n = t->clients ? client_rows(t, before, now, rows) :
			group_rows(t, before, now, rows);
		qsort_r(rows, n, sizeof(*rows), by_sort, &t->sort);
		colour(t, "7");
		draw_text(t, t->clients ? "CLIENT" : "GROUP", name);
		fprintf(t->out, " DEV %-*s  ENTITL    GOT   WAIT    MEM%s", (int)bar + 2,
			"ENTITLED AND GOT", state_width(t, name, bar) ? " STATE" : "");
		colour(t, "0");
		end_line(t);
		for (i = 0; i < n; i++)
			draw_row(t, &rows[i], name, bar);
	}
	free(rows);
	if (t->batch)
		end_line(t);
	return 0;
}

/* What fits on the screen without scrolling it: the cursor goes to the last line. */
static size_t fitting(const struct top *t, const char *screen)
{
	const char *at = screen;
	unsigned int i;

	for (i = 1; i < t->height && *at; i++)
		at = strchr(at, '\n') + 1;
	return at - screen;
}

static int show(struct top *t, const struct gs_view *before, const struct gs_view *now)
{
	struct winsize w = { 0 };
	struct gs_json j;
	char *screen;
	size_t size;
	int rc;

	if (t->ctl->json) {
		gs_answer_begin(&j, t->ctl, "status");
		gs_json_string(&j, "arbiter", gs_transport_path(t->ctl->arbiter));
		gs_json_unsigned(&j, "turned_away", gs_transport_turned_away(t->ctl->arbiter));
		gs_json_unsigned(&j, "unkept_errno", (uint64_t)gs_unkept(t->ctl));
		gs_devices_json(&j, now);
		gs_groups_json(&j, now, t->device);
		gs_clients_json(&j, now);
		gs_json_end(&j);
		return fflush(stdout) ? -EPIPE : 0;
	}
	t->width = 80;
	t->height = 24;
	if (!t->batch && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col && w.ws_row) {
		t->width = w.ws_col;
		t->height = w.ws_row;
	}
	t->out = open_memstream(&screen, &size);
	if (!t->out)
		return -ENOMEM;
	rc = draw(t, before, now);
	fclose(t->out);
	if (!t->batch)
		size = fitting(t, screen);
	if (!rc && (fwrite(screen, 1, size, stdout) != size ||
		    (!t->batch && fputs("\033[J", stdout) < 0) || fflush(stdout)))
		rc = -EPIPE;
	free(screen);
	return rc;
}

/* What a key asks for; true: to end. */
static bool take_key(struct top *t, const struct gs_view *now, char key)
{
	size_t i;

	switch (key) {
	case 'q':
	case 3:		/* ^C, as we take keys raw */
		return true;
	case 'h':
	case '?':
		t->help = !t->help;
		break;
	case 's':
		t->sort = (t->sort + 1) % SORTS;
		break;
	case 'c':
		t->clients = !t->clients;
		break;
	case '+':
		t->interval_us = t->interval_us / 2 < 100000 ? 100000 : t->interval_us / 2;
		break;
	case '-':
		t->interval_us = t->interval_us * 2 > 60000000 ? 60000000 : t->interval_us * 2;
		break;
	case 'd':
		i = t->device ? gs_view_device_index(now, t->device) + 1 : 0;
		t->device = i < now->nr_devices ? now->devices[i].info.device : 0;
	}
	return false;
}

/* Waits for the next look, or a key: true to end. */
static bool pause_or_key(struct top *t, const struct gs_view *now)
{
	struct pollfd p = { .fd = t->batch ? -1 : STDIN_FILENO, .events = POLLIN };
	char key;

	if (poll(&p, 1, t->interval_us / 1000) <= 0)
		return gs_stopped();
	if (read(STDIN_FILENO, &key, 1) != 1)
		return true;
	return take_key(t, now, key);
}

static struct termios saved;

static void end_screen(void)
{
	if (!gs_before_error)
		return;
	gs_before_error = NULL;
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

/* A screen of our own, no cursor, and no wrapping: what is too wide is cut. */
static void begin_screen(void)
{
	struct termios raw;

	tcgetattr(STDIN_FILENO, &saved);
	raw = saved;
	raw.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
	gs_before_error = end_screen;
}

static volatile sig_atomic_t suspended;

static void on_suspend(int sig)
{
	(void)sig;
	suspended = 1;
}

/* Only so that the wait for a key ends: the size is looked at before each drawing. */
static void on_resize(int sig)
{
	(void)sig;
}

static void catch_screen_signals(void)
{
	struct sigaction stop = { .sa_handler = on_suspend };
	struct sigaction resize = { .sa_handler = on_resize };

	sigaction(SIGTSTP, &stop, NULL);
	sigaction(SIGWINCH, &resize, NULL);
}

/* As the shell's user wants it: on the terminal as it was, until continued. */
static void suspend(void)
{
	suspended = 0;
	end_screen();
	raise(SIGSTOP);
	begin_screen();
}

static int loop(struct top *t)
{
	struct gs_view before, now;
	int rc;

	rc = gs_view_take(t->ctl, &before, GS_VIEW_GROUPS | GS_VIEW_CLIENTS);
	if (rc)
		return rc;
	poll(NULL, 0, t->interval_us / 1000 < 250 ? t->interval_us / 1000 : 250);
	while (!gs_stopped() && t->count) {
		rc = gs_view_take(t->ctl, &now, GS_VIEW_GROUPS | GS_VIEW_CLIENTS);
		if (rc)
			break;
		rc = show(t, &before, &now);
		if (t->count > 0)
			t->count--;
		if (rc || (t->count && pause_or_key(t, &now))) {
			gs_view_free(&now);
			rc = rc && rc != -EPIPE ? gs_call_error("top", rc) : 0;
			break;
		}
		gs_view_free(&before);
		before = now;
		if (suspended)
			suspend();
	}
	gs_view_free(&before);
	return rc;
}

static int take_options(struct top *t)
{
	const char *const *values = t->ctl->values;
	uint64_t count;
	int s;

	if (values[OPT_DELAY] && (gs_parse_us(values[OPT_DELAY], &t->interval_us) ||
				  t->interval_us < 10000 || t->interval_us > 3600000000))
		return gs_usage(t->ctl, "--delay=%s: a time from 10ms to 3600s, as 2s",
				values[OPT_DELAY]);
	if (values[OPT_COUNT]) {
		if (gs_parse_unsigned(values[OPT_COUNT], 1000000000, &count) || !count)
			return gs_usage(t->ctl, "--count=%s: a number from 1", values[OPT_COUNT]);
		t->count = count;
	}
	if (values[OPT_ONCE])
		t->count = 1;
	t->batch = values[OPT_BATCH] || values[OPT_ONCE] || t->ctl->json ||
		!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO);
	t->clients = values[OPT_CLIENTS];
	if (values[OPT_SORT]) {
		for (s = 0; s < SORTS && strcmp(sort_names[s], values[OPT_SORT]); s++)
			;
		if (s == SORTS)
			return gs_usage(t->ctl, "--sort=%s: tree, used, wait, mem or name",
					values[OPT_SORT]);
		t->sort = s;
	}
	return 0;
}

static int run_top(struct gs_ctl *ctl, int argc, char **argv)
{
	struct top t = { .ctl = ctl, .interval_us = INTERVAL_DEFAULT, .count = -1 };
	struct gs_view view;
	int rc;

	(void)argc;
	(void)argv;
	rc = take_options(&t);
	if (!rc && ctl->values[OPT_DEVICE]) {
		rc = gs_view_take(ctl, &view, 0);
		if (!rc) {
			rc = gs_device_choose(&view, ctl->values[OPT_DEVICE], &t.device);
			gs_view_free(&view);
		}
	}
	if (!rc)
		rc = gs_connect(ctl);
	if (rc)
		return rc;
	gs_catch_stop();
	if (!t.batch) {
		catch_screen_signals();
		begin_screen();
	}
	rc = loop(&t);
	if (!t.batch)
		end_screen();
	return rc;
}

const struct gs_command gs_top_command = {
	.name = "top", .args = "", .options = options, .run = run_top,
	.summary = "What each group is entitled to and what it gets, live",
	.details = "keys: q ends, h explains, s sorts, c shows clients, d picks a device,\n"
	"+ and - look more or less often.\n",
};
