// SPDX-License-Identifier: MIT
/* Values of scenarios, what is drawn, and the order of events. */
#include <errno.h>

#include "harness.h"
#include "run.h"

TEST(times)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "0", 0 }, { "7ns", 7 }, { "1.5us", 1500 }, { "20ms", 20000000 },
		{ "0.1s", 100000000 }, { "2min", 120000000000 }, { "1h", 3600000000000 },
		{ "0.0000000019s", 1 },
	};
	static const char *const bad[] = {
		"", "s", "5", "1.ms", ".5ms", "-1s", "1e3s", "5 ms", "5m", "99999999999999999999s",
		"18446744073709551615s", "1s ",
	};
	const char *why;
	uint64_t ns;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		EXPECT_EQ(sim_value_time(good[i].text, &ns, &why), 0);
		EXPECT_EQ(ns, good[i].ns);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!sim_value_time(bad[i], &ns, &why))
			test_fail("'%s' is taken as a time", bad[i]);
}

TEST(other_values)
{
	struct sim_dist d;
	const char *why;
	uint64_t v;

	EXPECT_EQ(sim_value_bytes("96K", &v, &why), 0);
	EXPECT_EQ(v, 98304);
	EXPECT_EQ(sim_value_bytes("0.5G", &v, &why), 0);
	EXPECT_EQ(v, 1ULL << 29);
	EXPECT_EQ(sim_value_bytes("1T", &v, &why), -EINVAL);
	EXPECT_EQ(sim_value_permille("0.25", &v, &why), 0);
	EXPECT_EQ(v, 250);
	EXPECT_EQ(sim_value_permille("250", &v, &why), 0);
	EXPECT_EQ(v, 250);
	EXPECT_EQ(sim_value_number("1.5", &v, &why), -EINVAL);
	EXPECT_EQ(sim_value_dist("uniform(1us,3us)", &d, &why), 0);
	EXPECT_EQ(d.kind, SIM_UNIFORM);
	EXPECT_EQ(sim_mean(&d), 2000);
	EXPECT_EQ(sim_value_dist("uniform(3us,1us)", &d, &why), -EINVAL);
	EXPECT_EQ(sim_value_dist("exp(5ms)", &d, &why), 0);
	EXPECT_EQ(d.a, 5000000);
	EXPECT_EQ(sim_value_dist("normal(5ms)", &d, &why), -EINVAL);
	EXPECT_EQ(sim_value_dist("exp(5ms", &d, &why), -EINVAL);
	EXPECT_EQ(sim_value_dist(")", &d, &why), -EINVAL);
	EXPECT_EQ(sim_value_dist("", &d, &why), -EINVAL);
}

/* Mean and spread are those of the distribution; the first draws are fixed. */
TEST(draws)
{
	struct sim_dist e = { SIM_EXP, 1000000, 0 }, u = { SIM_UNIFORM, 1000, 2000 };
	double sum = 0, squares = 0, v;
	struct sim_random r, again;
	int i, over = 0, n = 200000;

	sim_random_init(&r, 1, "tenant", 2);
	for (i = 0; i < n; i++) {
		v = sim_draw(&r, &e);
		sum += v;
		squares += v * v;
		over += v > 2302585;	/* ln 10: one in ten */
	}
	EXPECT_TRUE(sum / n > 990000 && sum / n < 1010000);
	EXPECT_TRUE(squares / n > 1.94e12 && squares / n < 2.06e12);
	EXPECT_TRUE(over > n / 10 - 1000 && over < n / 10 + 1000);
	for (i = 0, sum = 0; i < n; i++) {
		v = sim_draw(&r, &u);
		EXPECT_TRUE(v >= 1000 && v <= 2000);
		sum += v;
	}
	EXPECT_TRUE(sum / n > 1495 && sum / n < 1505);

	sim_random_init(&r, 1, "tenant", 2);
	sim_random_init(&again, 1, "tenant", 2);
	EXPECT_EQ(sim_random(&r), sim_random(&again));
	sim_random_init(&again, 1, "tenant", 1);
	EXPECT_NE(sim_random(&r), sim_random(&again));
	sim_random_init(&again, 2, "tenant", 2);
	EXPECT_NE(sim_random(&r), sim_random(&again));
}

static uint64_t seen[1000];
static int nseen;

static void see(struct run *run, void *arg, uint64_t data)
{
	(void)arg;
	EXPECT_EQ(run->clock.now, data / 1000);
	seen[nseen++] = data;
}

/* By time, and of one moment in the order in which they were set. */
TEST(events)
{
	struct sim_random r;
	struct run run;
	uint64_t at;
	int i;

	memset(&run, 0, sizeof(run));
	sim_random_init(&r, 1, "events", 0);
	for (i = 0; i < 1000; i++) {
		at = sim_random_below(&r, 50);
		sim_at(&run, at, see, NULL, at * 1000 + i);
	}
	sim_clock_run(&run, 20);
	EXPECT_TRUE(nseen > 300 && nseen < 600);
	EXPECT_EQ(run.clock.now, 20);
	sim_clock_run(&run, 100);
	EXPECT_EQ(nseen, 1000);
	for (i = 1; i < 1000; i++)
		EXPECT_LT(seen[i - 1], seen[i]);
	free(run.clock.heap);
}

TEST_MAIN()
