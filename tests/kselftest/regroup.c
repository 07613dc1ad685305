// SPDX-License-Identifier: MIT
/*
 * The tree changes in steps, while others change it, too, and clients come and go:
 * in the end each group hangs where it belongs, and nothing is left behind.
 */
#include <pthread.h>
#include "lib.h"

#define WIDTH	40	/* groups below the two that come and go */
#define ROUNDS	60

static int dev;
static char top[256], mid[300], low[WIDTH][320];
static uint32_t device;
static int stop;

static int set(const char *path, uint32_t mask, uint32_t reset)
{
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = -1, .mask = mask,
		.reset = reset, .weight = 100, .min_permille = 10 };
	int r;

	s.cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.cgroup_fd < 0)
		return -errno;
	r = arb_call(dev, GPUSHARE_SHARE_SET, &s);
	close(s.cgroup_fd);
	return r;
}

static uint64_t parent_of(const char *path)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.group = cg_id(path) };
	int r = arb_call(dev, GPUSHARE_SHARE_GET, &s);

	return r ? 0 : s.parent;
}

static void build(void)
{
	int i;

	need_arbiter();
	chmod("/dev/gpushare", 0666);
	dev = arb_open();
	device = device_new();
	snprintf(top, sizeof(top), "%s", cg_new(CGROOT, "regroup"));
	snprintf(mid, sizeof(mid), "%s", cg_new(top, "mid"));
	for (i = 0; i < WIDTH; i++) {
		char name[16];

		snprintf(name, sizeof(name), "low%d", i);
		snprintf(low[i], sizeof(low[i]), "%s", cg_new(mid, name));
		EXPECT_EQ(0, set(low[i], GPUSHARE_SHARE_WEIGHT, 0));
	}
}

static void tear_down(void)
{
	int i;

	device_remove(device);
	for (i = 0; i < WIDTH; i++)
		cg_remove(low[i]);
	cg_remove(mid);
	cg_remove(top);
}

/* Gives the group a share, and takes it again, over and over. */
static void *toggle(void *path)
{
	int i, r;

	for (i = 0; i < ROUNDS; i++) {
		r = set(path, GPUSHARE_SHARE_WEIGHT, 0);
		EXPECT_TRUE(!r || r == -ENOENT);
		r = set(path, 0, GPUSHARE_SHARE_ALL);
		EXPECT_TRUE(!r || r == -ENOENT);
	}
	return NULL;
}

/* Attaches in each of the groups in turn, as one user after the other. */
static pid_t wander(void)
{
	pid_t pid = fork();
	int i;

	if (pid)
		return pid;
	for (i = 0;; i++) {
		pid = fork();
		if (!pid) {
			struct client c;

			CHILD(!cg_enter(low[i % WIDTH]));
			become(TENANT + i % 3);
			CHILD(!client_open(&c, device));
			CHILD(!acquire(&c, 0, 0));
			CHILD(!cg_enter(top) || errno);
			CHILD(!yield(&c, 0, 0));
			_exit(0);
		}
		if (reap(pid))
			_exit(1);
	}
}

/* Sets and resets one of those below, and makes new devices. */
static void *meddle(void *unused)
{
	int i;

	(void)unused;
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		EXPECT_EQ(0, set(low[i % 4], 0, GPUSHARE_SHARE_ALL));
		EXPECT_EQ(0, set(low[i % 4], GPUSHARE_SHARE_WEIGHT, 0));
		if (i % 8 == 0)
			device_remove(device_new());
	}
	return NULL;
}

static void expect_below(const char *parent)
{
	int i;

	for (i = 0; i < WIDTH; i++)
		EXPECT_EQ(cg_id(parent), parent_of(low[i]));
}

TEST_LIMIT(changes_at_once_end_in_one_tree, 180)
{
	pthread_t threads[4];
	pid_t wanderer;
	int i;

	build();
	wanderer = wander();
	pthread_create(&threads[0], NULL, toggle, mid);
	pthread_create(&threads[1], NULL, toggle, mid);
	pthread_create(&threads[2], NULL, toggle, top);
	pthread_create(&threads[3], NULL, meddle, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(threads[3], NULL);
	kill(wanderer, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(wanderer));
	/* What two did at once may have left the last word to either. */
	set(mid, 0, GPUSHARE_SHARE_ALL);
	set(top, 0, GPUSHARE_SHARE_ALL);
	expect_below(CGROOT);
	EXPECT_EQ(0, parent_of(mid));
	EXPECT_EQ(0, parent_of(top));
	EXPECT_EQ(0, set(mid, GPUSHARE_SHARE_WEIGHT, 0));
	expect_below(mid);
	EXPECT_EQ(0, set(top, GPUSHARE_SHARE_WEIGHT, 0));
	expect_below(mid);
	EXPECT_EQ(cg_id(top), parent_of(mid));
	EXPECT_EQ(0, set(mid, 0, GPUSHARE_SHARE_ALL));
	expect_below(top);
	tear_down();
}

/* One that can't take all that would be below it goes again, and all are where they were. */
TEST(one_that_cant_bear_a_promise_leaves_all_where_it_was)
{
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1 };

	build();
	EXPECT_EQ(0, set(low[WIDTH - 1], GPUSHARE_SHARE_MIN, 0));
	EXPECT_EQ(-EBUSY, set(mid, GPUSHARE_SHARE_WEIGHT, 0));
	EXPECT_EQ(0, parent_of(mid));
	expect_below(CGROOT);
	s.group = cg_id(low[WIDTH - 1]);
	EXPECT_EQ(0, arb_call(dev, GPUSHARE_SHARE_GET, &s));
	EXPECT_EQ(10, s.min_permille);
	/* With a promise of its own, that it may divide, it can. */
	EXPECT_EQ(0, set(mid, GPUSHARE_SHARE_MIN, 0));
	expect_below(mid);
	/* What goes up is promised what there is room for. */
	EXPECT_EQ(0, set(mid, 0, GPUSHARE_SHARE_ALL));
	expect_below(CGROOT);
	tear_down();
}

TEST_MAIN()
