// SPDX-License-Identifier: MIT
/* The state file: kill -9 at any moment, and files that aren't sound. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "harness.h"
#include "world.h"

static struct world w;

/* kill -9 at any moment: what was answered is there, and the file is whole. */
TEST_LIMIT(kill_9_while_writing, 120)
{
	unsigned int seed = 1, i;

	printf("# seed %u\n", seed);
	world_make(&w);
	for (i = 0; i < 25; i++) {
		struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT };
		struct gpushare_group g = { .size = sizeof(g), .name = "g" };
		int told[2], status;
		uint32_t last = 0, n;
		pid_t pid;

		world_start(&w);
		ASSERT_EQ(0, pipe(told));
		pid = fork();
		if (!pid) {
			for (n = 1; n <= 10000; n++) {
				s.weight = n;
				if (group_set(&w, "g", &s))
					_exit(0);
				if (write(told[1], &n, sizeof(n)) != sizeof(n))
					_exit(0);
			}
			_exit(0);
		}
		close(told[1]);
		sleep_ns((uint64_t)(rand_r(&seed) % 40) * MS + MS);
		world_stop(&w, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		while (read(told[0], &n, sizeof(n)) == sizeof(n))
			last = n;
		close(told[0]);
		world_start(&w);
		if (last) {	/* the answered one, or the one that was under way */
			EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
			EXPECT_EQ(0, share_get(&w, g.group, &s));
			EXPECT_GE(s.weight, last);
			EXPECT_LE(s.weight, last + 1);
		}
		world_stop(&w, SIGTERM);
		unlink(w.state);
	}
	world_remove(&w);
}

static void spoil(void (*how)(int fd))
{
	struct gpushare_share named = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 77 };
	struct gpushare_group g = { .size = sizeof(g), .name = "team" };
	struct gpushare_share s;
	char bad[200], text[600] = "";
	int fd, err[2], old = dup(2);

	world_set_up(&w);
	EXPECT_EQ(0, group_set(&w, "team", &named));
	world_stop(&w, SIGTERM);
	fd = open(w.state, O_RDWR);
	how(fd);
	close(fd);
	ASSERT_EQ(0, pipe(err));
	dup2(err[1], 2);
	world_start(&w);
	dup2(old, 2);
	close(err[1]);
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	EXPECT_EQ(0, share_get(&w, g.group, &s) == 0 && s.mask);
	snprintf(bad, sizeof(bad), "%s.bad", w.state);
	EXPECT_EQ(0, access(bad, F_OK));
	EXPECT_GT(read(err[0], text, sizeof(text) - 1), 0);
	EXPECT_TRUE(strstr(text, "damaged"));
	world_remove(&w);
}

static void flip(int fd)
{
	char c;

	EXPECT_EQ(1, pread(fd, &c, 1, 40));
	c ^= 1;
	EXPECT_EQ(1, pwrite(fd, &c, 1, 40));
}

static void cut(int fd)
{
	EXPECT_EQ(0, ftruncate(fd, 30));
}

static void empty(int fd)
{
	EXPECT_EQ(0, ftruncate(fd, 0));
}

TEST(a_damaged_state_is_put_aside)
{
	spoil(flip);
	spoil(cut);
	spoil(empty);
}

static void set_weight(const char *name, uint32_t weight)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = weight };

	ASSERT_EQ(0, group_set(&w, name, &s));
}

static uint32_t weight_of(const char *name)
{
	struct gpushare_group g = { .size = sizeof(g) };
	struct gs_transport *a = world_connect(&w);
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1 };

	strcpy(g.name, name);
	EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_GROUP, &g));
	s.group = g.group;
	if (gs_transport_call(a, GPUSHARE_SHARE_GET, &s))
		s.mask = 0;
	gs_transport_close(a);
	return s.mask ? s.weight : 0;
}

/* The daemon can have no more memory than now, or as much as it likes. */
static void starve(bool starve)
{
	struct rlimit r = { starve ? 4096 : RLIM_INFINITY, RLIM_INFINITY };

	ASSERT_EQ(0, prlimit(w.daemon, RLIMIT_AS, &r, NULL));
}

/*
 * A state that can't be put together is said, nobody waits for it, and it is made
 * up for: with a later change, or at the end.
 */
TEST(no_memory_for_the_state)
{
	char name[GPUSHARE_NAME_MAX];
	int i;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("a sanitizer needs the memory itself");
#endif
	if (getenv("TEST_VALGRIND"))
		SKIP("valgrind needs the memory itself");
	world_make(&w);
	/* So that what is freed goes back, and what is large must be had anew. */
	setenv("MALLOC_MMAP_THRESHOLD_", "16384", 1);
	setenv("MALLOC_TRIM_THRESHOLD_", "16384", 1);
	world_start(&w);
	for (i = 0; i < 250; i++) {
		sprintf(name, "group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-%d", i);
		set_weight(name, 5);
	}
	starve(true);
	set_weight("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-1", 6);
	starve(false);
	world_stop(&w, SIGKILL);
	world_start(&w);
	EXPECT_EQ(5, weight_of("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-1"));	/* it wasn't written */
	starve(true);
	set_weight("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-1", 7);
	starve(false);
	world_stop(&w, SIGTERM);
	world_start(&w);
	EXPECT_EQ(7, weight_of("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-1"));	/* it was, at the end */
	starve(true);
	set_weight("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-1", 8);
	starve(false);
	sleep_ns(5 * SEC + 100 * MS);
	set_weight("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-2", 9);
	world_stop(&w, SIGKILL);
	world_start(&w);
	EXPECT_EQ(8, weight_of("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-1"));	/* with the next change */
	EXPECT_EQ(9, weight_of("group-with-a-name-that-is-as-long-as-it-may-be-or-nearly-2"));
	world_remove(&w);
}

TEST_MAIN()
