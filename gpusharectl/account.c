// SPDX-License-Identifier: MIT
/*
 * gpusharectl account: writes down who used how much, of either arbiter.
 *
 * Counters are clients', and end with them; their device's goes on. So what a client's have
 * grown by between two looks is its user's, group's and unit's, and what a device's have grown
 * by beyond that is nobody's that is known. What a client held until it ended is told by the
 * event of it: so nothing is lost, and nobody's is only the waiting since the last look
 * of who ended, and what was held by who came and went between two looks.
 *
 * With the uses it is written where the counters stood. Whoever goes on later, with the same
 * arbiter, goes on there; and one that is new counts from 0. What a user has used since
 * is then of the time when it is seen.
 *
 * A look is taken once a second, but not more often than costs a hundredth of a processor,
 * and a tenth of a second after a client came.
 */
#include "amount.h"
#include "books.h"
#include "ctl.h"
#include "events.h"
#include "query.h"
#include "target.h"
#include "ulib/transport.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK_NS		1000000000ull
#define SOON_NS		100000000ull
#define LOOK_PART	100		/* of a processor, a hundredth */
#define WRITE_US	60000000ull
#define SLACK_US	10000		/* counters of a look aren't of one moment */
#define USES_MOST	16384		/* that can't be written */
#define GROUPS_MOST	4096
#define HEAR_MOST	1000		/* events at once */

enum { OPT_DIR, OPT_MOST, OPT_EVERY };

static const struct gs_option options[] = {
	{ "dir", "DIR", "keep accounts here (" GS_BOOKS_DIR ")", 0 },
	{ "max-size", "SIZE", "remove the oldest accounts beyond it (256M)", 0 },
	{ "every", "TIME", "write so often (60s), at once when stopped", 0 },
	{ NULL, NULL, NULL, 0 },
};

struct client {
	uint64_t id;
	uint32_t device;
	uint64_t group;			/* or its tenant's part of it */
	struct gs_counters written;	/* so much of its is accounted for */
	uint64_t memory, rest;		/* bytes; bytes times ms that make no KiB times s yet */
	uint64_t at_ns;			/* when it was looked at; 0: not by us */
	bool gone;			/* of the last look */
	struct gs_use who;
};

struct device {
	uint32_t id;
	struct gs_counters written;	/* of all of its clients, and nobody's */
	char key[GPUSHARE_KEY_MAX];
};

struct group {
	uint64_t id, parent, tenant;
	uint32_t kind;
	char path[256];
};

struct account {
	struct gs_ctl *ctl;
	struct gs_books *books;
	struct gs_events *events;
	struct gs_run run;		/* of the arbiter whose counters these are */
	bool known;			/* it is one of which accounts are kept */
	struct client *clients;		/* by id */
	size_t nr_clients;
	struct device *devices;
	size_t nr_devices;
	struct group *groups;		/* a cache */
	size_t nr_groups;
	struct gs_uses uses;
	uint64_t every_ns;
	uint64_t look_ns, soon_ns, write_ns;	/* when they are due */
	bool soon;			/* somebody came */
	bool failing, unwritten, deaf;
};

static uint64_t wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec > 0 ? (uint64_t)ts.tv_sec : 0;
}

static struct client *client_of(const struct account *a, uint64_t id)
{
	size_t low = 0, high = a->nr_clients, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (a->clients[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < a->nr_clients && a->clients[low].id == id ? &a->clients[low] : NULL;
}

static struct device *device_of(const struct account *a, uint32_t id)
{
	size_t i;

	for (i = 0; i < a->nr_devices; i++)
		if (a->devices[i].id == id)
			return &a->devices[i];
	return NULL;
}

/* NULL: nobody knows it. */
static const struct group *group_of(struct account *a, uint64_t id)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1 };
	struct group *more;
	size_t i;

	for (i = 0; i < a->nr_groups; i++)
		if (a->groups[i].id == id)
			return &a->groups[i];
	s.group = id;
	if (!a->ctl->arbiter || gs_call(a->ctl, GPUSHARE_SHARE_GET, &s))
		return NULL;
	if (a->nr_groups == GROUPS_MOST)
		a->nr_groups = 0;
	more = reallocarray(a->groups, a->nr_groups + 1, sizeof(*more));
	if (!more)
		return NULL;
	a->groups = more;
	more += a->nr_groups++;
	*more = (struct group){ .id = id, .parent = s.parent, .tenant = s.tenant, .kind = s.kind };
	snprintf(more->path, sizeof(more->path), "%s%.*s", s.kind == GPUSHARE_GROUP_NAMED ? "name:" : "",
		 (int)sizeof(more->path) - 6, s.path);
	return more;
}

static bool ends(const char *s, size_t n, const char *suffix)
{
	size_t length = strlen(suffix);

	return n > length && !strncmp(s + n - length, suffix, length);
}

/*
 * The system's unit, which nobody can make inside of what is delegated to a user; of the
 * user's manager also that one's unit. A slice where there is nothing else.
 */
static void unit_of(const char *path, char *unit, size_t size)
{
	size_t n, at = 0;

	for (*unit = 0; *path; path += n) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (!at && ends(path, n, ".slice"))
			snprintf(unit, size, "%.*s", (int)n, path);
		if (!ends(path, n, ".service") && !ends(path, n, ".scope"))
			continue;
		if (at + n + 2 < size)
			snprintf(unit + at, size - at, "%s%.*s", at ? "/" : "", (int)n, path);
		if (at || strncmp(path, "user@", 5))
			return;
		at = n;
	}
}

/* Whose a client is: what its place in the tree says, else its process's user. */
static void name_user(struct account *a, uint64_t id, uint32_t uid, char user[24])
{
	const struct group *g;
	unsigned int depth;

	for (depth = 0; depth < 64 && id && (g = group_of(a, id)); depth++, id = g->parent) {
		if (g->kind == GPUSHARE_GROUP_CONTAINER) {
			strcpy(user, "container");
			return;
		}
		if (g->kind != GPUSHARE_GROUP_CGROUP) {
			snprintf(user, 24, "%llu", (unsigned long long)g->tenant);
			return;
		}
	}
	snprintf(user, 24, "%u", uid);
}

static void name_client(struct account *a, struct client *c, const struct gpushare_stats *s)
{
	const struct device *d = device_of(a, s->device);
	const struct group *g;
	char path[PATH_MAX];

	snprintf(c->who.device, sizeof(c->who.device), "%s", d ? d->key : "");
	name_user(a, s->part ? s->part : s->group, s->uid, c->who.user);
	g = group_of(a, s->group);
	snprintf(c->who.group, sizeof(c->who.group), "%s", g ? g->path : "");
	*c->who.unit = 0;
	if (s->pid > 0 && !gs_cgroup_of(s->pid, path, sizeof(path)))
		unit_of(path, c->who.unit, sizeof(c->who.unit));
	c->device = s->device;
	c->group = s->part ? s->part : s->group;
}

static struct gs_counters counters_of(const struct gpushare_stats *s)
{
	return (struct gs_counters){ .held_us = s->usage_ns / 1000, .waited_us = s->wait_ns / 1000,
				     .grants = s->grants, .overruns = s->overruns };
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static struct gs_counters less(struct gs_counters a, const struct gs_counters *b)
{
	return (struct gs_counters){ minus(a.held_us, b->held_us), minus(a.waited_us, b->waited_us),
				     minus(a.grants, b->grants), minus(a.overruns, b->overruns) };
}

static struct gs_counters more(struct gs_counters a, const struct gs_counters *b)
{
	return (struct gs_counters){ a.held_us + b->held_us, a.waited_us + b->waited_us,
				     a.grants + b->grants, a.overruns + b->overruns };
}

static bool is_none(const struct gs_use *u)
{
	return !u->counters.held_us && !u->counters.waited_us && !u->counters.grants &&
		!u->counters.overruns && !u->memory;
}

/* What can't be taken down now stays in the counters. */
static bool take_down(struct account *a, const struct gs_use *who, uint32_t device,
		      const struct gs_counters *used, uint64_t memory)
{
	struct gs_use use = *who;
	struct device *d = device_of(a, device);

	use.time = wall();
	use.time -= use.time % GS_USE_SPAN;
	use.counters = *used;
	use.memory = memory;
	if (is_none(&use))
		return true;
	if (a->uses.nr >= USES_MOST || gs_uses_add_bounded(&a->uses, &use))
		return false;
	if (d)
		d->written = more(d->written, used);
	return true;
}

/* A client's counters, and what it had in memory since the last look. */
static void count(struct account *a, struct client *c, struct gs_counters now, uint64_t now_ns)
{
	struct gs_counters used = less(now, &c->written);
	uint64_t memory;

	if (c->at_ns && now_ns > c->at_ns) {
		memory = c->memory > 1ull << 50 ? 1ull << 50 : c->memory;
		c->rest += memory * minus(now_ns / 1000000, c->at_ns / 1000000);
	}
	c->at_ns = now_ns;
	memory = c->rest / (1024 * 1000);
	if (!take_down(a, &c->who, c->device, &used, memory))
		return;
	c->written = more(c->written, &used);
	c->rest -= memory * 1024 * 1000;
}

static void forget_run(struct account *a)
{
	gs_events_close(a->events);
	a->events = NULL;
	a->nr_clients = 0;
	a->nr_devices = 0;
	a->nr_groups = 0;
	a->deaf = false;
}

/* Looks who answers, if anybody does. True: its counters can be read. */
static bool find_arbiter(struct account *a)
{
	uint64_t started_ns;

	if (gs_find_arbiter(a->ctl, &started_ns))
		return false;
	if (a->run.started_ns == started_ns)
		return true;
	forget_run(a);
	/* The first of all has a past that isn't ours; each later one began since. */
	a->known = a->run.started_ns;
	a->run.started_ns = started_ns;
	a->unwritten = true;
	return true;
}

/* What is heard is between two looks. */
static void on_left(struct account *a, const struct gpushare_event *e)
{
	struct client *c = client_of(a, e->client);
	const struct device *d = device_of(a, e->device);
	struct gs_counters held = { .held_us = e->value / 1000 };
	const struct group *g;
	struct gs_use who = { .time = 0 };

	if (c) {
		held = more(c->written, &(struct gs_counters){
			    .held_us = minus(held.held_us, c->written.held_us) });
		count(a, c, held, e->time_ns);
		c->memory = 0;
		return;
	}
	if (!d || !a->known)
		return;
	g = group_of(a, e->group);
	snprintf(who.device, sizeof(who.device), "%s", d->key);
	snprintf(who.group, sizeof(who.group), "%s", g ? g->path : "");
	take_down(a, &who, e->device, &held, 0);
}

static void hear(struct account *a, int timeout_ms)
{
	struct gpushare_event e;
	unsigned int n;
	int rc = 1;

	if (!a->events) {
		poll(NULL, 0, timeout_ms);
		return;
	}
	for (n = 0; n < HEAR_MOST && rc == 1; n++) {
		rc = gs_events_next(a->events, &e, n ? 0 : timeout_ms);
		if (rc == 1 && e.type == GPUSHARE_EVENT_CLIENT_LEFT)
			on_left(a, &e);
		else if (rc == 1)
			a->soon = true;
	}
	if (rc >= 0)
		return;
	gs_events_close(a->events);
	a->events = NULL;
	gs_leave_arbiter(a->ctl);
}

static void listen_to(struct account *a)
{
	if (a->events || a->deaf)
		return;
	a->deaf = gs_events_open(a->ctl, 1ull << GPUSHARE_EVENT_CLIENT_JOINED |
				 1ull << GPUSHARE_EVENT_CLIENT_LEFT, &a->events);
	if (a->deaf)
		gs_error(0, "account", "what who ends has used since it was looked at last is nobody's");
}

static int see_devices(struct account *a, const struct gs_view *view)
{
	struct device *devices = calloc(view->nr_devices + 1, sizeof(*devices));
	const struct gs_device_view *v;
	const struct device *d;
	size_t i;

	if (!devices)
		return -ENOMEM;
	for (i = 0; i < view->nr_devices; i++) {
		v = &view->devices[i];
		d = device_of(a, v->info.device);
		devices[i].id = v->info.device;
		strcpy(devices[i].key, v->info.key);
		if (d)
			devices[i].written = d->written;
		else if (!a->known)
			devices[i].written = counters_of(&v->stats);
	}
	free(a->devices);
	a->devices = devices;
	a->nr_devices = view->nr_devices;
	return 0;
}

static void see_client(struct account *a, struct client *c, const struct gpushare_stats *s)
{
	const struct client *was = client_of(a, s->id);

	*c = was ? *was : (struct client){ .id = s->id };
	if (!was && !a->known)
		c->written = counters_of(s);
	if (!c->at_ns)
		name_client(a, c, s);
	count(a, c, counters_of(s), s->now_ns);
	c->memory = s->mem_current;
	c->gone = false;
	if (c->group != (s->part ? s->part : s->group))
		name_client(a, c, s);
}

/* Who isn't there any more stays until the next look, as word of its end may still come. */
static int see_clients(struct account *a, const struct gs_view *view)
{
	struct client *clients = calloc(view->nr_clients + a->nr_clients + 1, sizeof(*clients));
	size_t i = 0, k = 0, n = 0;

	if (!clients)
		return -ENOMEM;
	while (i < view->nr_clients || k < a->nr_clients) {
		if (k == a->nr_clients ||
		    (i < view->nr_clients && view->clients[i].id <= a->clients[k].id)) {
			k += k < a->nr_clients && view->clients[i].id == a->clients[k].id;
			see_client(a, &clients[n++], &view->clients[i++]);
		} else if (a->clients[k].gone) {
			k++;
		} else {
			clients[n] = a->clients[k++];
			clients[n++].gone = true;
		}
	}
	free(a->clients);
	a->clients = clients;
	a->nr_clients = n;
	return 0;
}

static void see_nobodys(struct account *a, const struct gs_view *view)
{
	struct gs_counters used;
	struct gs_use who;
	size_t i;

	for (i = 0; i < view->nr_devices; i++) {
		used = less(counters_of(&view->devices[i].stats), &a->devices[i].written);
		if (used.held_us <= SLACK_US && used.waited_us <= SLACK_US)
			continue;
		who = (struct gs_use){ .time = 0 };
		strcpy(who.device, a->devices[i].key);
		take_down(a, &who, a->devices[i].id, &used, 0);
	}
}

static void look(struct account *a)
{
	uint64_t start = gs_now(), rest;
	struct gs_view view;

	a->soon = false;
	if (find_arbiter(a)) {
		listen_to(a);
		hear(a, 0);
	}
	if (a->ctl->arbiter && !gs_view_take(a->ctl, &view, GS_VIEW_CLIENTS)) {
		if (!see_devices(a, &view) && !see_clients(a, &view)) {
			see_nobodys(a, &view);
			a->known = true;
		}
		gs_view_free(&view);
		/* The module couldn't be unloaded while its node is open. */
		if (gs_transport_is_kernel(a->ctl->arbiter))
			gs_leave_arbiter(a->ctl);
	} else if (a->ctl->arbiter) {
		gs_leave_arbiter(a->ctl);
	}
	rest = LOOK_PART * (gs_now() - start);
	a->look_ns = start + (rest > LOOK_NS ? rest : LOOK_NS);
	a->soon_ns = start + (rest > SOON_NS ? rest : SOON_NS);
}

static int write_batch(const struct account *a, FILE *out)
{
	struct gs_stand stand;
	size_t i;

	gs_ledger_begin(out, wall());
	gs_ledger_run(out, &a->run);
	for (i = 0; i < a->nr_devices; i++) {
		stand = (struct gs_stand){ a->devices[i].id, a->devices[i].written };
		gs_ledger_device(out, &stand);
	}
	for (i = 0; i < a->nr_clients; i++) {
		stand = (struct gs_stand){ a->clients[i].id, a->clients[i].written };
		if (!a->clients[i].gone)
			gs_ledger_client(out, &stand);
	}
	for (i = 0; i < a->uses.nr; i++)
		if (!is_none(&a->uses.items[i]))
			gs_ledger_use(out, &a->uses.items[i]);
	return fflush(out) ? -ENOMEM : 0;
}

static int make_batch(const struct account *a, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);
	int rc;

	if (!out)
		return -ENOMEM;
	rc = write_batch(a, out);
	if (!rc)
		gs_ledger_end(out, *text, *size);
	if (fclose(out))
		rc = -ENOMEM;
	if (rc)
		free(*text);
	return rc;
}

/* Names of this span stay, as a user's are only so many. */
static void uses_are_written(struct account *a)
{
	uint64_t now = wall();
	bool old = false;
	size_t i;

	for (i = 0; i < a->uses.nr; i++) {
		old |= a->uses.items[i].time != now - now % GS_USE_SPAN;
		a->uses.items[i].counters = (struct gs_counters){ .held_us = 0 };
		a->uses.items[i].memory = 0;
	}
	if (old)
		gs_uses_free(&a->uses);
	a->unwritten = false;
}

static void write_down(struct account *a)
{
	bool any = a->unwritten;
	char *text, forgot[16] = "";
	size_t size, i;
	int rc;

	a->write_ns = gs_now() + a->every_ns;
	for (i = 0; i < a->uses.nr && !any; i++)
		any = !is_none(&a->uses.items[i]);
	if (!any || !a->known)
		return;
	rc = make_batch(a, &text, &size);
	if (!rc) {
		rc = gs_books_write(a->books, wall(), text, size, forgot);
		free(text);
	}
	if (*forgot)
		gs_error(0, "account", "--max-size is reached: the accounts of %s, the oldest, were "
			 "removed", forgot);
	if (rc && !a->failing)
		gs_error(0, "account", "can't be written (%s); it is tried again, and nothing is lost "
			 "that is still counted by then", strerror(-rc));
	else if (!rc && a->failing)
		gs_error(0, "account", "is written again");
	a->failing = rc;
	if (!rc)
		uses_are_written(a);
}

static void on_begin(uint64_t time, void *arg)
{
	struct account *a = arg;

	(void)time;
	a->nr_devices = 0;
	a->nr_clients = 0;
}

static void on_run(const struct gs_run *run, void *arg)
{
	struct account *a = arg;

	a->run = *run;
}

static void on_device(const struct gs_stand *stand, void *arg)
{
	struct account *a = arg;
	struct device *more;

	more = reallocarray(a->devices, a->nr_devices + 1, sizeof(*more));
	if (!more)
		return;
	a->devices = more;
	more[a->nr_devices++] = (struct device){ .id = (uint32_t)stand->id,
						 .written = stand->counters };
}

static void on_client(const struct gs_stand *stand, void *arg)
{
	struct account *a = arg;
	struct client *more;

	if (a->nr_clients && a->clients[a->nr_clients - 1].id >= stand->id)
		return;
	more = reallocarray(a->clients, a->nr_clients + 1, sizeof(*more));
	if (!more)
		return;
	a->clients = more;
	more[a->nr_clients++] = (struct client){ .id = stand->id, .written = stand->counters };
}

/* Goes on where the file ends; of another boot it is about an arbiter that is no more. */
static int resume(struct account *a)
{
	static const struct gs_ledger_taker take = {
		.begin = on_begin, .run = on_run, .device = on_device, .client = on_client,
	};
	char boot[sizeof(a->run.boot)] = "";
	int rc = gs_books_last(a->books, &take, a);
	FILE *f;

	if (rc)
		return rc;
	f = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (f && !fgets(boot, sizeof(boot), f))
		*boot = 0;
	if (f)
		fclose(f);
	boot[strcspn(boot, "\n")] = 0;
	if (a->run.started_ns && strcmp(a->run.boot, boot)) {
		forget_run(a);
		a->run.started_ns = UINT64_MAX;
	}
	strcpy(a->run.boot, boot);
	a->known = a->run.started_ns;
	return 0;
}

static void keep(struct account *a)
{
	uint64_t now, next;

	while (!gs_stopped()) {
		now = gs_now();
		if (now >= a->look_ns || (a->soon && now >= a->soon_ns))
			look(a);
		if (now >= a->write_ns)
			write_down(a);
		next = a->soon && a->soon_ns < a->look_ns ? a->soon_ns : a->look_ns;
		now = gs_now();
		hear(a, next > now ? (int)((next - now) / 1000000) + 1 : 0);
	}
	look(a);
	write_down(a);
}

static int run_account(struct gs_ctl *ctl, int argc, char **argv)
{
	const char *dir = ctl->values[OPT_DIR] ? ctl->values[OPT_DIR] : GS_BOOKS_DIR;
	struct account a = { .ctl = ctl };
	uint64_t most = GS_BOOKS_MOST, every = WRITE_US;
	int rc;

	(void)argc;
	(void)argv;
	if (ctl->values[OPT_MOST] &&
	    (gs_parse_bytes(ctl->values[OPT_MOST], &most) || most < 1 << 20))
		return gs_usage(ctl, "--max-size=%s: a size, from 1M on", ctl->values[OPT_MOST]);
	if (ctl->values[OPT_EVERY] &&
	    (gs_parse_us(ctl->values[OPT_EVERY], &every) || every < 100000 || every > 3600000000))
		return gs_usage(ctl, "--every=%s: a time, from 0.1s to 3600s", ctl->values[OPT_EVERY]);
	rc = gs_books_open(dir, most, &a.books);
	if (rc)
		return gs_error(rc == -EWOULDBLOCK ? GS_EXIT_REFUSED : GS_EXIT_PERMISSION, dir,
				rc == -EWOULDBLOCK ? "another gpusharectl account writes there" :
				"accounts can't be kept there: %s", strerror(-rc));
	rc = resume(&a);
	if (rc) {
		gs_books_close(a.books);
		return gs_error(GS_EXIT_FAILURE, dir, "can't be read: %s", strerror(-rc));
	}
	a.every_ns = every * 1000;
	a.write_ns = gs_now() + a.every_ns;
	gs_catch_stop();
	keep(&a);
	forget_run(&a);
	free(a.clients);
	free(a.devices);
	free(a.groups);
	gs_uses_free(&a.uses);
	gs_books_close(a.books);
	return a.failing ? GS_EXIT_FAILURE : 0;
}

const struct gs_command gs_account_command = {
	.name = "account", .args = "", .options = options, .run = run_account,
	.summary = "Write down who uses how much, until stopped, for gpusharectl usage",
	.details = "gpushare-account.service is that, for the module and the daemon alike. It goes on\n"
	"where it was when it is started anew, and looks once a second; what is lost at most\n"
	"if the machine stops is the last minute. gpusharectl(1) says what it can't tell.\n",
};
