// SPDX-License-Identifier: MIT
/*
 * Hostile tenants beside an honest one, over a real arbiter: nobody gains more than what is
 * due to him and 2 % of the device.
 *
 * The honest one always wants, works in slices of 0.2 ms and gives back at the
 * first boundary after it is asked to. What is due to each is its part by the rules of its
 * place. Who computes on without having the device in the arbiter's
 * books can only be found by the device's driver; what the arbiter promises is that the
 * honest one isn't kept waiting for that, and is looked at here.
 *
 * With FULL=1 it is each strategy in each place for 10 s; else some, for less.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "arena.h"

#define SLICE (200 * US)	/* below a quarter of the device's: who is later is late */
#define ALLOWED_PERMILLE 20
#define FOR_EVER (~0ull)

enum { HONEST, HOSTILE, OTHER, THIRD };

enum { TOGETHER, APART, EQUAL, THREE_TO_ONE, WITH_MAX, BESIDE_MIN, NESTED, CONTAINERS, NR_PLACES };
#define IN(place) (1u << (place))

/* A share that is set before. */
struct setting {
	const char *cgroup;
	uint32_t weight, min;
	uint64_t max_us;
};

/*
 * @cgroup, @uid: where tenants are and who
 * @due: their parts by the rules of the place, per mille, if all want all the time
 * @own: the hostile one's cgroup is its own to divide
 * @containers: each is in a pid name space that root made
 */
static const struct place {
	const char *name;
	const char *cgroup[TENANTS];
	uid_t uid[TENANTS];
	unsigned int due[TENANTS];
	bool own, containers;
	struct setting set[3];
} places[NR_PLACES] = {
	[TOGETHER] = { "one cgroup", { "/a", "/a" }, { HONEST_UID, HOSTILE_UID }, .due = { 500, 500 } },
	[APART] = { "cgroups without shares", { "/a", "/b" }, { HONEST_UID, HOSTILE_UID }, { 500, 500 },
	  .own = true },
	[EQUAL] = { "equal shares", { "/a", "/b" }, { HONEST_UID, HONEST_UID }, { 500, 500 }, .own = true,
	  .set = { { "/a", .weight = 100 }, { "/b", .weight = 100 } } },
	[THREE_TO_ONE] = { "shares of 3 to 1", { "/a", "/b" }, { HONEST_UID, HOSTILE_UID }, { 750, 250 },
	  .own = true, .set = { { "/a", .weight = 300 }, { "/b", .weight = 100 } } },
	[WITH_MAX] = { "a max of 20 %", { "/a", "/b" }, { HONEST_UID, HOSTILE_UID }, { 800, 200 },
	  .own = true, .set = { { "/a", .weight = 100 }, { "/b", .max_us = 20000 } } },
	[BESIDE_MIN] = { "beside a min of 70 %", { "/a", "/b" }, { HONEST_UID, HOSTILE_UID }, { 700, 300 },
	  .own = true, .set = { { "/a", .min = 700 }, { "/b", .weight = 100 } } },
	[NESTED] = { "nested", { "/t/in", "/t/in", "/t", "/o" },
	  { HONEST_UID, HOSTILE_UID, OTHER_UID, THIRD_UID }, { 167, 167, 333, 333 },
	  .set = { { "/t", .weight = 200 }, { "/t/in", .weight = 100 } } },
	[CONTAINERS] = { "containers", { "/a", "/a" }, { HONEST_UID, HONEST_UID }, { 500, 500 },
	  .containers = true },
};

/*
 * What the hostile one does.
 * @late: how long it goes on after it was asked back
 * @burst: it gives back after so long by itself; and rests for @pause before it asks anew
 * @lies: says that it is idle all the time
 * @want: asks for so long
 * @leaves: ends its connection instead of giving back, and makes another
 * @dies: and is a new process each time
 * @threads: so many connections of one process
 * @processes: so many processes
 * @start: has its own way
 * @never: where it isn't tried
 * @quick: where it is tried in the short suite as well
 * @busy: and on a machine that has two more programs to run on each processor
 */
struct strategy {
	const char *name;
	uint64_t late, burst, pause, want;
	bool lies, leaves, dies;
	unsigned int threads, processes;
	void (*start)(const struct place *p, const struct strategy *s);
	bool needs_own, daemon;
	unsigned int never, quick, busy;
};

static struct diary *diary[TENANTS];

/* Works until it is asked back, it loses the device, or has what it wanted. */
static void work(const struct fighter *f, const struct strategy *s)
{
	uint64_t begin = now_ns();

	do
		sleep_ns(s->burst && s->burst < SLICE ? s->burst : SLICE);
	while (fighter_may_run(f) && (!s->burst || now_ns() - begin < s->burst));
	if (!fighter_holds(f) || (s->burst && fighter_may_run(f)))
		return;
	while (s->late == FOR_EVER)
		pause();
	sleep_ns(s->late);
}

static void take_turn(struct fighter *f, const struct strategy *s, bool again)
{
	if (s->lies)
		f->pages.client->idle_ns = now_ns();
	if (fighter_ask(f, again))
		_exit(21);
	work(f, s);
}

/* One connection after the other, or the same for ever. */
static void fight(const struct strategy *s, unsigned int whose, uint64_t group)
{
	struct fighter f;
	bool again;

	do {
		if (fighter_join(&f, diary[whose], DEVICE, group))
			_exit(20);
		f.want_ns = s->want;
		for (again = false; ; again = !s->pause) {
			take_turn(&f, s, again);
			if (s->leaves || s->dies)
				break;
			if (s->pause) {
				fighter_yield(&f);
				sleep_ns(s->pause);
			}
		}
		fighter_leave(&f);
		sleep_ns(s->pause);
	} while (!s->dies);
	_exit(0);
}

static void *thread(void *strategy)
{
	fight(strategy, HOSTILE, 0);
	return NULL;
}

/* A process of the hostile tenant's: with its threads, and its heirs. */
static void fight_as_process(const struct strategy *s, uint64_t group)
{
	pthread_t t;
	unsigned int i;
	int status;
	pid_t pid;

	while (s->dies) {
		pid = descend(NULL, geteuid());
		if (!pid)
			fight(s, HOSTILE, group);
		waitpid(pid, &status, 0);
		if (status)
			_exit(22);
	}
	for (i = 1; i < s->threads; i++)
		if (pthread_create(&t, NULL, thread, (void *)s))
			_exit(23);
	fight(s, HOSTILE, group);
}

static void set_as_hostile(struct gpushare_share *share, const char *cgroup)
{
	if (cgroup)
		arena_share(cgroup, share);
	else
		world_call(&w, GPUSHARE_SHARE_SET, share);
}

/* As heavy, as hasty and as privileged as it may make itself; what is refused is refused. */
static void set_all(const char *cgroup, uint64_t group)
{
	struct gpushare_share share = { .size = sizeof(share), .cgroup_fd = -1,
		.authority_fd = -1, .group = group, .mask = GPUSHARE_SHARE_WEIGHT,
		.weight = 10000 };

	set_as_hostile(&share, cgroup);
	share.mask = GPUSHARE_SHARE_CLASS;
	share.class = GPUSHARE_CLASS_LATENCY;
	set_as_hostile(&share, cgroup);
	share.mask = GPUSHARE_SHARE_MIN;
	share.min_permille = 900;
	set_as_hostile(&share, cgroup);
}

/* Groups of its own below its cgroup, and a process in each. */
static void in_groups(const struct place *p, const struct strategy *s)
{
	char name[64];
	unsigned int i;

	for (i = 0; i < s->processes; i++) {
		snprintf(name, sizeof(name), "%s/%u", p->cgroup[HOSTILE], i);
		arena_cgroup(name, 0);
		set_all(name, 0);
		if (!descend(name, geteuid()))
			fight_as_process(s, 0);
	}
	for (;;)
		pause();
}

/* The same with names: where there is the daemon. */
static void in_named_groups(const struct place *p, const struct strategy *s)
{
	struct gpushare_group g = { .size = sizeof(g) };
	unsigned int i;

	(void)p;
	for (i = 0; i < s->processes; i++) {
		snprintf(g.name, sizeof(g.name), "hostile%u", i);
		if (descend(NULL, geteuid()))
			continue;
		/* A connection keeps its group, so one for each that stays open. */
		if (gs_transport_call(world_connect(&w), GPUSHARE_GROUP, &g))
			_exit(24);
		set_all(NULL, g.group);
		fight_as_process(s, g.group);
	}
	for (;;)
		pause();
}

/* Each in user and pid name spaces of its own. */
static void in_name_spaces(const struct place *p, const struct strategy *s)
{
	unsigned int i;

	(void)p;
	for (i = 0; i < s->processes; i++) {
		if (descend(NULL, geteuid()))
			continue;
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(26);
		if (!descend(NULL, geteuid()))
			fight_as_process(s, 0);
		break;
	}
	for (;;)
		pause();
}

/* A group comes, two are moved into it, it is set in all ways, and goes again. */
static void churn(const struct place *p, const struct strategy *s)
{
	struct gpushare_share share = { .weight = 10000, .period_us = 100000 };
	char name[64], procs[2][500], pid_text[16];
	unsigned int ms, i;
	pid_t pid[2];
	int fd[2];

	for (i = 0; i < 2; i++) {
		pid[i] = descend(NULL, geteuid());
		if (!pid[i])
			fight_as_process(s, 0);
	}
	snprintf(name, sizeof(name), "%s/churned", p->cgroup[HOSTILE]);
	snprintf(procs[0], sizeof(procs[0]), "%s/cgroup.procs", arena_path(name));
	snprintf(procs[1], sizeof(procs[1]), "%s/cgroup.procs",
		 arena_path(p->cgroup[HOSTILE]));
	for (ms = 0; ; ms++) {
		arena_cgroup(name, 0);
		share.mask = 1u << ms % 4;
		share.class = ms / 4 % 3;
		share.min_permille = 300;
		share.max_us = ms % 8 < 4 ? 1000 : GPUSHARE_NO_LIMIT;
		arena_share(name, &share);
		/* Into it, and out before it is removed. */
		for (i = 0; i < 2; i++) {
			fd[i] = open(procs[i], O_WRONLY | O_CLOEXEC);
			snprintf(pid_text, sizeof(pid_text), "%d", pid[ms / 8 % 2]);
			if (fd[i] >= 0 && write(fd[i], pid_text, strlen(pid_text)) < 0)
				_exit(25);
			close(fd[i]);
			sleep_ns(MS);
		}
		if (ms % 2)
			rmdir(arena_path(name));
	}
}

static const struct strategy strategies[] = {
	{ .name = "behaves", .busy = IN(TOGETHER) | IN(THREE_TO_ONE) },
	{ .name = "95 ms late", .late = 95 * MS, .quick = IN(TOGETHER) | IN(THREE_TO_ONE),
	  .busy = IN(TOGETHER) | IN(THREE_TO_ONE) },
	{ .name = "5 ms late", .late = 5 * MS, .quick = IN(NESTED) },
	{ .name = "1 ms late", .late = 1 * MS },
	{ .name = "never yields", .late = FOR_EVER, .quick = IN(EQUAL) },
	{ .name = "past grace", .late = 130 * MS, .quick = IN(APART) },
	{ .name = "late, then a nap", .late = 95 * MS, .pause = 3 * MS, .quick = IN(TOGETHER) },
	{ .name = "late, then a long nap", .late = 95 * MS, .pause = 60 * MS },
	{ .name = "naps", .burst = 400 * US, .pause = 100 * US },
	{ .name = "connects anew", .late = 95 * MS, .leaves = true, .quick = IN(EQUAL) },
	{ .name = "born anew", .late = 95 * MS, .dies = true,
	  .quick = IN(WITH_MAX) | IN(TOGETHER) | IN(CONTAINERS) },
	{ .name = "born anew often", .late = 3 * MS, .dies = true },
	{ .name = "20 connections", .threads = 20, .quick = IN(BESIDE_MIN) },
	{ .name = "20 connections, late", .late = 30 * MS, .threads = 20,
	  .quick = IN(NESTED) },
	{ .name = "20 processes", .processes = 20, .quick = IN(TOGETHER) },
	{ .name = "20 processes born anew", .processes = 20, .late = 10 * MS, .dies = true,
	  .quick = IN(THREE_TO_ONE) | IN(APART) },
	{ .name = "a pair", .processes = 2, .late = 45 * MS },
	{ .name = "20 groups", .processes = 20, .late = 10 * MS, .start = in_groups,
	  .needs_own = true, .quick = IN(EQUAL) | IN(APART) },
	{ .name = "20 named groups", .processes = 20, .late = 10 * MS, .start = in_named_groups,
	  .daemon = true, .quick = IN(THREE_TO_ONE) | IN(TOGETHER) },
	{ .name = "20 name spaces", .processes = 20, .late = 10 * MS, .start = in_name_spaces,
	  .quick = IN(TOGETHER) },
	{ .name = "a latency group", .processes = 1, .burst = 400 * US, .pause = 100 * US,
	  .start = in_groups, .needs_own = true },
	{ .name = "wishes for little", .late = 1 * MS, .want = 10 * US, .quick = IN(APART) },
	{ .name = "wishes for much", .want = SEC },
	/* On a busy machine the honest one is late at times: then the device awaits who rests. */
	{ .name = "says it is idle", .lies = true, .late = 5 * MS, .quick = IN(TOGETHER),
	  .never = IN(WITH_MAX) },
	{ .name = "churn", .late = 30 * MS, .start = churn, .needs_own = true,
	  .quick = IN(EQUAL) },
};

static void be_hostile(const struct place *p, const struct strategy *s)
{
	unsigned int i;

	if (s->start)
		s->start(p, s);
	for (i = 1; i < s->processes; i++)
		if (!descend(NULL, geteuid()))
			break;
	fight_as_process(s, 0);
}

struct run {
	const struct place *place;
	const struct strategy *strategy;
	uint64_t length;
	bool busy;
	/* What came of it, in 1/100 per cent of the time; and that between two holds. */
	int got, honest, gain, between;
	bool measured;
};

static struct run *now_running;		/* in memory that the test's process shares */

static void set_place(const struct place *p)
{
	const struct setting *s;
	unsigned int i;

	if (!strncmp(p->cgroup[0], "/t", 2))
		arena_cgroup("/t", 0);
	for (i = 0; i < TENANTS && p->cgroup[i]; i++)
		arena_cgroup(p->cgroup[i], i == HOSTILE && p->own ? p->uid[i] : 0);
	for (s = p->set; s < p->set + 3 && s->cgroup; s++) {
		struct gpushare_share share = {
			.weight = s->weight, .min_permille = s->min, .max_us = s->max_us,
			.period_us = 100000,
			.mask = (s->weight ? GPUSHARE_SHARE_WEIGHT : 0) |
				(s->min ? GPUSHARE_SHARE_MIN : 0) |
				(s->max_us ? GPUSHARE_SHARE_MAX : 0),
		};

		ASSERT_EQ(0, arena_share(s->cgroup, &share));
	}
}

/* The child goes on as the container's first process. */
static void become_container(uid_t uid)
{
	if (unshare(CLONE_NEWPID))
		_exit(27);
	if (descend(NULL, uid))
		for (;;)
			pause();
}

static void make_busy(void)
{
	long n = 2 * sysconf(_SC_NPROCESSORS_ONLN);

	arena_cgroup("/busy", 0);
	while (n--)
		if (!descend("/busy", OTHER_UID))
			for (;;)
				getppid();
}

static void start_tenants(const struct place *p, const struct strategy *s)
{
	static const struct strategy good = { .name = "honest" };
	unsigned int i;

	for (i = 0; i < TENANTS && p->cgroup[i]; i++) {
		diary[i] = diary_new();
		if (descend(p->cgroup[i], p->containers ? 0 : p->uid[i]))
			continue;
		if (p->containers)
			become_container(p->uid[i]);
		if (i == HOSTILE)
			be_hostile(p, s);
		fight(&good, i, 0);
	}
}

static int part(uint64_t ns, const struct score *s)
{
	return (int)(ns * 10000 / (s->to - s->from));
}

static void judge(struct run *r, const struct score *s)
{
	const unsigned int *due = r->place->due;

	r->got = part(s->held[HOSTILE], s);
	r->honest = part(s->held[HONEST], s);
	r->between = part(s->between, s);
	r->gain = r->got - 10 * (int)due[HOSTILE];
	if (10 * (int)due[HONEST] - r->honest > r->gain)
		r->gain = 10 * (int)due[HONEST] - r->honest;
	r->measured = true;
}

static void one_run(void)
{
	struct run *r = now_running;
	unsigned int n = 0, tries = 0, bad = 0, late;
	struct score s;
	uint64_t from;

	arena_set_up();
	set_place(r->place);
	start_tenants(r->place, r->strategy);
	if (r->busy)
		make_busy();
	while (n < TENANTS && diary[n])
		n++;
	/* An honest one that doesn't come to the device at all is a result, too. */
	from = now_ns();
	while (!(diary[HONEST]->n && diary[HOSTILE]->n) && now_ns() - from < 5 * SEC)
		sleep_ns(10 * MS);
	ASSERT_GT(diary[HOSTILE]->n, 0);
	/* What happened while some were still to come is none of it. */
	sleep_ns(SEC / 2);
	do {
		from = now_ns();
		sleep_ns(r->length);
		s = score(diary, n, HOSTILE, from, now_ns());
		judge(r, &s);
		/* One that the machine kept from giving back pays for it, as it must. */
		late = s.lost[HONEST];
	} while (++tries < 6 && (late || (r->gain > ALLOWED_PERMILLE * 10 && ++bad < 3)));
	arena_kill_all();
	if (!late)
		EXPECT_LE(r->gain, ALLOWED_PERMILLE * 10);
	arena_remove();
	if (late)
		SKIP("the machine kept the honest one from giving back within grace");
}

static bool is_daemon(void)
{
	const char *arbiter = getenv("GPUSHARE_ARBITER");

	return !arbiter || strcmp(arbiter, GS_DEVICE_NODE);
}

static bool picked(size_t p, size_t s, bool busy, bool all)
{
	const struct strategy *st = &strategies[s];

	if ((st->needs_own && !places[p].own) || (st->daemon && !is_daemon()) ||
	    st->never & IN(p))
		return false;
	return (busy ? st->busy : all ? ~0u : st->quick) & IN(p);
}

static bool named_by(const char *name, char **words)
{
	bool any = !*words;

	for (; *words; words++)
		any |= !!strstr(name, *words);
	return any;
}

static int say_result(int n, const struct run *r, int result, const char *name, const char *why)
{
	printf("%s %d - %s: ", result == 1 ? "not ok" : "ok", n, name);
	if (result == 4)
		printf("# SKIP %s", why);
	else if (!r->measured)
		printf("it came to no result");
	else
		printf("due %.1f %%, got %.1f %%, gain %+.1f %% (the honest one %.1f of %.1f %%; %.1f %% between)",
		       r->place->due[HOSTILE] / 10.0, r->got / 100.0, r->gain / 100.0,
		       r->honest / 100.0, r->place->due[HONEST] / 10.0, r->between / 100.0);
	printf("\n");
	return result == 1;
}

int main(int argc, char **argv)
{
	const size_t nr_strategies = sizeof(strategies) / sizeof(*strategies);
	static char names[2 * NR_PLACES * sizeof(strategies) / sizeof(*strategies)][120];
	struct run *runs = mmap(NULL, 2 * NR_PLACES * nr_strategies * sizeof(*runs),
				PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool full = getenv("FULL") && *getenv("FULL");
	int n = 0, i, r, failed = 0, skipped = 0;
	char why[256];
	size_t k;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (k = 0; k < NR_PLACES * nr_strategies * 2; k++) {
		size_t p = k / nr_strategies % NR_PLACES, s = k % nr_strategies;
		bool busy = k >= NR_PLACES * nr_strategies;

		snprintf(names[n], sizeof(names[n]), "%s, %s, %s%s",
			 is_daemon() ? "daemon" : "module", places[p].name, strategies[s].name,
			 busy ? ", on a busy machine" : "");
		if (!picked(p, s, busy, full || argc > 1) || !named_by(names[n], argv + 1))
			continue;
		runs[n++] = (struct run){
			.place = &places[p], .strategy = &strategies[s], .busy = busy,
			/* A max is right over many of its periods. */
			.length = full ? 10 * SEC : p == WITH_MAX ? 5 * SEC : 3 * SEC / 2,
		};
	}
	printf("TAP version 13\n1..%d\n", n);
	for (i = 0; i < n; i++) {
		struct test t = { names[i], one_run, 120, NULL };

		now_running = &runs[i];
		r = test_run(&t, why, sizeof(why));
		failed += say_result(i + 1, &runs[i], r, names[i], why);
		skipped += r == 4;
	}
	return failed ? 1 : n && skipped == n ? 4 : 0;
}
