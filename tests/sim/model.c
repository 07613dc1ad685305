// SPDX-License-Identifier: MIT
/*
 * The model of the machine, the fluid reference and the figures, against
 * results worked out by hand.
 */
#include <math.h>

#include "harness.h"
#include "metrics.h"

static struct sim_scenario scenario;
static struct metrics metrics;

static void run(const char *text)
{
	char error[512];

	if (sim_parse(&scenario, "test", text, error, sizeof(error))) {
		printf("# %s\n", error);
		test_end(1);
	}
	ASSERT_EQ(sim_measure(&metrics, &scenario, NULL), 0);
}

static void done(void)
{
	sim_metrics_free(&metrics);
	sim_scenario_free(&scenario);
}

#define EXPECT_NEAR(name, value, by) do {					\
	double v_ = sim_metric(&metrics, name);					\
	if (!(fabs(v_ - (value)) <= (by)))					\
		test_fail("%s is %.9g, not %.9g", name, v_, (double)(value));	\
} while (0)

#define DEVICE "device g units=2 threads=1000 registers=1000 local=1000 blocks=16 " \
	"launch=0 wake=0 "

/* Each resource bounds how many blocks a unit holds. */
TEST(width)
{
	struct sim_device d = { .conf = { .units = 3, .threads = 1000, .regs = 600,
					  .local_mem = 500, .blocks = 16 } };
	struct sim_kernel k = { .threads = 100 };

	EXPECT_EQ(sim_width(&d, &k), 30);
	k.threads = 10;
	EXPECT_EQ(sim_width(&d, &k), 48);
	k.registers = 100;
	EXPECT_EQ(sim_width(&d, &k), 18);
	k.local = 200;
	EXPECT_EQ(sim_width(&d, &k), 6);
	k.local = 501;
	EXPECT_EQ(sim_width(&d, &k), 0);
}

/* 45 blocks of 1 ms, 20 at a time: 3 waves. */
TEST(waves)
{
	run("duration 1s\nmode native\n" DEVICE "\nkernel k blocks=45 time=1ms threads=100\n"
	    "tenant t repeat=1\nphase k count=2\n");
	EXPECT_NEAR("t.turnaround_p50", 3000, 0);
	EXPECT_NEAR("t.finished", 6000, 0);
	EXPECT_NEAR("t.launches", 2, 0);
	EXPECT_NEAR("device:g.busy", 1, 1e-9);
	done();
}

/*
 * Natively the next launch begins when the one before has begun all its blocks:
 * a's last wave of 5 leaves 15 places, b's 30 blocks begin at 2 ms in these,
 * the other 15 at 3 ms, and are done at 4 ms. Alone b takes 2 ms.
 */
TEST(leftover)
{
	run("duration 1s\nmode native\n" DEVICE "\nkernel a blocks=45 time=1ms threads=100\n"
	    "kernel b blocks=30 time=1ms threads=100\n"
	    "tenant a repeat=1\nphase a count=1\ntenant b repeat=1\nphase b count=1\n");
	EXPECT_NEAR("a.finished", 3000, 0);
	EXPECT_NEAR("b.finished", 4000, 0);
	EXPECT_NEAR("a.slowdown", 1, 1e-9);
	EXPECT_NEAR("b.slowdown", 2, 1e-9);
	EXPECT_NEAR("unfairness", 2, 1e-9);
	EXPECT_NEAR("stp", 1.5, 1e-9);
	EXPECT_NEAR("antt", 1.5, 1e-9);
	EXPECT_NEAR("worst_antt", 2, 1e-9);
	EXPECT_NEAR("overlap", 0.25, 1e-9);
	done();
}

/* Who has the machine in turns: a 0-2, b 2-4, a 4-6, b 6-8, a alone until it is done. */
TEST(turns)
{
	run("duration 1s\nmode native\n" DEVICE "turn=2ms\n"
	    "kernel a blocks=20 time=10ms threads=100\nkernel b blocks=20 time=4ms threads=100\n"
	    "tenant a repeat=1\nphase a count=1\ntenant b repeat=1\nphase b count=1\n");
	EXPECT_NEAR("a.finished", 14000, 0);
	EXPECT_NEAR("b.finished", 8000, 0);
	EXPECT_NEAR("overlap", 0, 0);
	EXPECT_NEAR("device:g.busy", 1, 1e-9);
	done();
	/* What one has there goes with it: b is alone from 5 ms on. */
	run("duration 1s\nmode native\n" DEVICE "turn=2ms\n"
	    "kernel a blocks=20 time=10ms threads=100\nkernel b blocks=20 time=4ms threads=100\n"
	    "tenant a stop=5ms\nphase a count=1\ntenant b repeat=1\nphase b count=1\n");
	EXPECT_NEAR("b.finished", 7000, 0);
	done();
	/* Nobody waits for who has nothing there: b's turn begins in a's pause. */
	run("duration 1s\nmode native\n" DEVICE "turn=2ms\n"
	    "kernel a blocks=20 time=1ms threads=100\nkernel b blocks=20 time=5ms threads=100\n"
	    "tenant a repeat=1\nphase a count=2 think=1ms\ntenant b repeat=1\nphase b count=1\n");
	EXPECT_NEAR("b.finished", 7000, 0);
	done();
}

/* A device of half the speed takes twice the time, beside what a launch costs. */
TEST(speed)
{
	run("duration 1s\nmode native\n" DEVICE "speed=0.5 launch=10us\n"
	    "kernel k blocks=20 time=1ms threads=100\ntenant t repeat=1\nphase k count=1\n");
	EXPECT_NEAR("t.finished", 2010, 0);
	done();
}

/* Persistent workers: 100 blocks on 20 workers, each 1 ms and a ticket. */
TEST(persistent)
{
	run("duration 1s\n" DEVICE "\nkernel k blocks=100 time=1ms threads=100\n"
	    "tenant t repeat=1 run=persistent ticket=10us\nphase k count=1\n");
	EXPECT_NEAR("t.finished", 5050, 0);
	EXPECT_NEAR("t.grants", 1, 0);
	done();
}

/* Slices: 5 of 20 blocks, each with a launch of its own. */
TEST(sliced)
{
	run("duration 1s\n" DEVICE "launch=100us\nkernel k blocks=100 time=1ms threads=100\n"
	    "tenant t repeat=1 run=sliced piece=1ms\nphase k count=1\n");
	EXPECT_NEAR("t.finished", 5500, 0);
	done();
}

TEST(arrivals)
{
	run("duration 1s\nmode native\n" DEVICE "\nkernel k blocks=1 time=1ms threads=100\n"
	    "tenant every\nphase k arrive=every(10ms)\n"
	    "tenant burst\nphase k arrive=burst(5,100ms)\n"
	    "tenant limited\nphase k arrive=every(1ms) count=7\npause 10s\n"
	    "tenant phased\nphase k for=100ms think=1ms\npause 100ms\n"
	    "tenant late start=500ms stop=700ms\nphase k\n");
	EXPECT_NEAR("every.launches", 100, 0);
	EXPECT_NEAR("burst.launches", 50, 0);
	EXPECT_NEAR("burst.turnaround_p99", 5000, 0);
	EXPECT_NEAR("limited.launches", 7, 0);
	EXPECT_NEAR("phased.launches", 250, 5);
	EXPECT_NEAR("late.launches", 200, 1);
	done();
}

#define BUSY(name, group) "tenant " name " group=" group "\nphase k\n"

/* Weight, min and max at once: a 3 shares, b at least 40 %, c at most 10 %. */
TEST(fluid)
{
	run("duration 10s\n" DEVICE "\nkernel k blocks=20 time=1ms threads=100\n"
	    "group a weight=300\ngroup b weight=100 min=400\ngroup c weight=500 max=10ms/100ms\n"
	    BUSY("a", "a") BUSY("b", "b") BUSY("c", "c"));
	/* c stops at 0.1; 0.9 by weight is 0.675 to 0.225, so b's min counts. */
	EXPECT_NEAR("c.entitled", 0.1, 1e-6);
	EXPECT_NEAR("b.entitled", 0.4, 1e-6);
	EXPECT_NEAR("a.entitled", 0.5, 1e-6);
	done();
	run("duration 10s\n" DEVICE "seats=2\nkernel k blocks=20 time=1ms threads=100\n"
	    "group a weight=900\ngroup b weight=100\ngroup i class=idle\n"
	    BUSY("a", "a") BUSY("b", "b") BUSY("b2", "b") BUSY("i", "i"));
	/* One client can't use more than one of two seats; nothing is left to idle. */
	EXPECT_NEAR("a.entitled", 1, 1e-6);
	EXPECT_NEAR("b.entitled", 0.5, 1e-6);
	EXPECT_NEAR("b2.entitled", 0.5, 1e-6);
	EXPECT_NEAR("i.entitled", 0, 1e-6);
	done();
}

/* What isn't in the books, or isn't divided right, shows in the share error. */
TEST(share_error_sees)
{
	run("duration 10s\nwindow 1s\n" DEVICE "policy=rr\n"
	    "kernel k blocks=2000 time=1ms threads=100\n"
	    "group a weight=300\ngroup b weight=100\n" BUSY("a", "a") BUSY("b", "b"));
	EXPECT_NEAR("share_error", 0.25, 0.01);
	EXPECT_NEAR("a.share", 0.5, 0.01);
	done();
}

TEST(goals)
{
	run("duration 10s\n" DEVICE "\nkernel k blocks=2000 time=1ms threads=100\n"
	    "tenant a goal=0.4\nphase k\ntenant b goal=0.6\nphase k\n");
	EXPECT_NEAR("qos_reach", 0.5, 0);
	EXPECT_NEAR("qos_overshoot", 0.25, 0.03);
	done();
}

TEST_MAIN()
