// SPDX-License-Identifier: MIT
/*
 * The examples of Documentation/scheduling.md, run. A block that starts with
 * ```example says, a line each:
 *
 *	device [seats=N] [policy=fair|rr|fcfs] [slice=TIME] [quota=WAY]
 *	group PATH [weight=N] [class=C] [max=TIME/PERIOD[+BURST]] [min=PCT%]
 *	client PATH [count=N] [block=TIME] [busy=TIME pause=TIME] [deaf]
 *	run TIME
 *	PATH gets PCT% [within PCT%]	of the device's time in the last run
 *	PATH waits at most TIME		from a request to its grant
 *
 * A client looks at its grant each `block` (100us); with busy and pause it runs
 * so long and then wants nothing for so long; a deaf one never yields. A path
 * names a group, and what it gets is what all below it get.
 */
#include "bed.h"

#define DOC "Documentation/scheduling.md"
#define MOST 64

static struct bed b;
static struct gs_device *dev;
static struct { char path[64]; struct gs_group *g; u64 before; } groups[MOST];
static struct { char path[64]; struct tenant *t; } tenants[MOST];
static unsigned int nr_groups, nr_tenants, line_nr;
static u64 ran;

#define bad(fmt, ...) do {							\
	printf("# " DOC ":%u: " fmt "\n", line_nr, ##__VA_ARGS__);		\
	test_failures++;							\
	test_end(1);								\
} while (0)

static u64 time_of(const char *s)
{
	static const struct { const char *unit; u64 ns; } units[] = {
		{ "us", US }, { "ms", MS }, { "s", SEC },
	};
	char *end;
	double n = strtod(s, &end);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (!strncmp(end, units[i].unit, strlen(units[i].unit)))
			return n * units[i].ns;
	bad("no time: %s", s);
}

static unsigned int word_of(const char *s, const char *const *words, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(s, words[i]))
			return i;
	bad("not known: %s", s);
}

static struct gs_group *group_of(const char *path)
{
	unsigned int i;

	for (i = 0; i < nr_groups; i++)
		if (!strcmp(path, groups[i].path))
			return groups[i].g;
	return NULL;
}

static void on_device(char *arg)
{
	static const char *const policies[] = { "fair", "rr", "fcfs" };
	static const char *const ways[] = { "rollover", "naive", "history", "elastic" };
	struct gs_device_conf conf = dev->conf;

	for (; arg; arg = strtok(NULL, " ")) {
		if (!strncmp(arg, "seats=", 6))
			conf.seats = atoi(arg + 6);
		else if (!strncmp(arg, "policy=", 7))
			conf.policy = word_of(arg + 7, policies, 3);
		else if (!strncmp(arg, "slice=", 6))
			conf.slice = time_of(arg + 6);
		else if (!strncmp(arg, "quota=", 6))
			conf.min_way = word_of(arg + 6, ways, 4);
		else
			bad("not known: %s", arg);
	}
	if (gs_device_set(dev, &conf, b.now))
		bad("the device was refused");
}

static void set_max(struct gs_share *s, const char *arg)
{
	const char *slash = strchr(arg, '/'), *plus = strchr(arg, '+');

	if (!slash)
		bad("max=TIME/PERIOD");
	s->quota = time_of(arg);
	s->period = time_of(slash + 1);
	s->burst = plus ? time_of(plus + 1) : 0;
}

static void on_group(char *path)
{
	static const char *const classes[] = { "batch", "latency", "idle" };
	char up[64], *slash, *arg;
	struct gs_group *g = group_of(path);
	struct gs_share s;
	u32 which = 0;

	gs_share_init(&s);
	if (!g) {
		snprintf(up, sizeof(up), "%s", path);
		slash = strrchr(up, '/');
		if (slash)
			*slash = 0;
		g = bed_group(&b, slash ? group_of(up) : NULL, 0);
		snprintf(groups[nr_groups].path, sizeof(groups[0].path), "%s", path);
		groups[nr_groups++].g = g;
		bed_nodes(&b, g, dev);
	}
	while ((arg = strtok(NULL, " "))) {
		if (!strncmp(arg, "weight=", 7)) {
			s.weight = atoi(arg + 7);
			which |= GS_SHARE_WEIGHT;
		} else if (!strncmp(arg, "class=", 6)) {
			s.class = word_of(arg + 6, classes, 3);
			which |= GS_SHARE_CLASS;
		} else if (!strncmp(arg, "max=", 4)) {
			set_max(&s, arg + 4);
			which |= GS_SHARE_MAX;
		} else if (!strncmp(arg, "min=", 4)) {
			s.min = strtod(arg + 4, NULL) * 10;
			which |= GS_SHARE_MIN;
		} else {
			bad("not known: %s", arg);
		}
	}
	if (which && gs_group_set(g, NULL, &s, which, b.now))
		bad("the share was refused");
}

static void on_client(char *path)
{
	u64 block = 100 * US, busy = 0, pause = 0;
	unsigned int count = 1;
	char *arg;

	while ((arg = strtok(NULL, " "))) {
		if (!strncmp(arg, "count=", 6))
			count = atoi(arg + 6);
		else if (!strncmp(arg, "block=", 6))
			block = time_of(arg + 6);
		else if (!strncmp(arg, "busy=", 5))
			busy = time_of(arg + 5);
		else if (!strncmp(arg, "pause=", 6))
			pause = time_of(arg + 6);
		else if (!strcmp(arg, "deaf"))
			block = 0;
		else
			bad("not known: %s", arg);
	}
	while (count--) {
		struct tenant *t = bed_tenant(&b, group_of(path), dev, block);

		t->burst = busy;
		t->pause = pause;
		snprintf(tenants[nr_tenants].path, sizeof(tenants[0].path), "%s", path);
		tenants[nr_tenants++].t = t;
		bed_start(t);
	}
}

static void on_run(const char *time)
{
	unsigned int i;

	gs_sync(dev, b.now);
	for (i = 0; i < nr_groups; i++)
		groups[i].before = gs_node_find(groups[i].g, dev)->stat.usage;
	for (i = 0; i < nr_tenants; i++)
		tenants[i].t->wait_max = 0;
	ran = time_of(time);
	bed_run(&b, b.now + ran);
	gs_sync(dev, b.now);
}

static void on_gets(const char *path, const char *pct)
{
	char *within = strtok(NULL, " ");
	double want = strtod(pct, NULL), slack = 0.5, got;
	unsigned int i;

	if (within)
		slack = strtod(strtok(NULL, " "), NULL);
	for (i = 0; i < nr_groups; i++) {
		if (strcmp(path, groups[i].path))
			continue;
		got = (gs_node_find(groups[i].g, dev)->stat.usage - groups[i].before) * 100.0 / ran;
		if (got < want - slack || got > want + slack)
			bad("%s gets %.2f %%, not %.2f %%", path, got, want);
		return;
	}
	bad("no group %s", path);
}

static void on_waits(const char *path, const char *time)
{
	unsigned int i;

	for (i = 0; i < nr_tenants; i++)
		if (!strcmp(path, tenants[i].path) && tenants[i].t->wait_max > time_of(time))
			bad("%s waits %llu us", path,
			    (unsigned long long)(tenants[i].t->wait_max / US));
}

static void on_line(char *line)
{
	char *first = strtok(line, " "), *second = strtok(NULL, " ");

	if (!strcmp(first, "device")) {
		on_device(second);
	} else if (!strcmp(first, "group")) {
		on_group(second);
	} else if (!strcmp(first, "client")) {
		on_client(second);
	} else if (!strcmp(first, "run")) {
		on_run(second);
	} else if (second && !strcmp(second, "gets")) {
		on_gets(first, strtok(NULL, " "));
	} else if (second && !strcmp(second, "waits")) {
		strtok(NULL, " ");	/* at */
		strtok(NULL, " ");	/* most */
		on_waits(first, strtok(NULL, " "));
	} else {
		bad("not known: %s", first);
	}
}

TEST(the_examples_are_true)
{
	unsigned int blocks = 0;
	bool inside = false;
	char line[256];
	FILE *f = fopen(DOC, "r");

	ASSERT_TRUE(f);
	while (fgets(line, sizeof(line), f)) {
		line_nr++;
		line[strcspn(line, "#\n")] = 0;
		if (!inside && !strcmp(line, "```example")) {
			inside = true;
			blocks++;
			nr_groups = 0;
			nr_tenants = 0;
			bed_init(&b);
			dev = bed_device(&b, NULL);
		} else if (inside && !strcmp(line, "```")) {
			inside = false;
			bed_end(&b);
		} else if (inside && line[strspn(line, " ")]) {
			on_line(line);
		}
	}
	fclose(f);
	printf("# %u examples\n", blocks);
	EXPECT_LE(8u, blocks);
}

TEST_MAIN()
