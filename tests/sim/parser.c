// SPDX-License-Identifier: MIT
/* Scenarios that are wrong: the message names the line, the thing and the way out. */
#include <errno.h>

#include "harness.h"
#include "scenario.h"

#define HEAD "duration 1s\ndevice gpu0\nkernel k blocks=10 time=1ms\n"

static const struct {
	const char *text, *error;
} wrong[] = {
	{ "", "test:0: there is no duration" },
	{ "duration 1s\n", "test:1: there is no tenant" },
	{ "duration\n", "test:1: duration needs a time" },
	{ "duration 5\n", "test:1: duration: '5' needs a unit of time (ns, us, ms, s, min, h)" },
	{ "duration 1s 2s\n", "test:1: '2s' is too much on this line" },
	{ "durations 1s\n", "test:1: 'durations' is no statement: title, seed, duration, window, "
	  "mode, alone, device, group, kernel, tenant, phase, pause, at and expect are there" },
	{ "mode cuda\n", "test:1: mode is native or arbiter" },
	{ "alone maybe\n", "test:1: alone is yes or no" },
	{ "\n\ndevice\n", "test:3: a device needs a name" },
	{ "device a/b\n", "test:1: 'a/b' is no name for a device: letters, digits, '_', '-' and "
	  "'.'" },
	{ "device g\ndevice g\n", "test:2: there is a device 'g' already" },
	{ "device g slice\n", "test:1: 'slice' is not KEY=VALUE" },
	{ "device g slices=1ms\n", "test:1: there is no option 'slices' here" },
	{ "device g slice=5s\n", "test:1: slice: '5s' is not within 10us..1s" },
	{ "device g seats=65\n", "test:1: seats: '65' is not within 1..64" },
	{ "device g policy=lottery\n", "test:1: policy=lottery is none of fair, rr, fcfs" },
	{ "group a/b\n", "test:1: there is no group 'a' above this line" },
	{ "group /a\n", "test:1: '/a' is no group: paths are like a/b" },
	{ "group a weight=0\n", "test:1: weight: '0' is not within 1..10000" },
	{ "group a weight=x\n", "test:1: weight: 'x' is not a number" },
	{ "group a min=1001\n", "test:1: min: '1001' is not within 0..1000" },
	{ "group a max=5ms\n", "test:1: max=5ms is neither none nor QUOTA/PERIOD" },
	{ "group a max=5ms/20s\n", "test:1: max: period '20s' is not within 1ms..10s" },
	{ "group a burst=5ms\n", "test:1: burst= needs max=QUOTA/PERIOD beside it" },
	{ "group a max=5ms/100ms burst=6ms\n", "test:1: burst= is more than the quota of max=" },
	{ "device g grace=20ms kill=10ms\n", "test:1: kill= is a shorter time than grace=" },
	{ "group a on=gpu7\n", "test:1: there is no device 'gpu7' above this line" },
	{ "kernel k\n", "test:1: kernel 'k' needs time=, the time of a block" },
	{ "kernel k time=exp(1ms,2ms)\n", "test:1: time: 'exp(1ms,2ms)' needs a unit of time "
	  "(ns, us, ms, s, min, h)" },
	{ "tenant t\n", "test:1: a device must come before the first tenant" },
	{ HEAD "phase k\n", "test:4: a tenant must come before its phases" },
	{ HEAD "tenant t\nphase l\n", "test:5: there is no kernel 'l' above this line" },
	{ HEAD "tenant t\n", "test:4: tenant 't' has no phase" },
	{ HEAD "tenant t\npause 0\n", "test:5: tenant 't' does nothing for no time" },
	{ HEAD "tenant t start=2s stop=1s\n", "test:4: tenant 't' stops before it starts" },
	{ HEAD "tenant t group=g\n", "test:4: there is no group 'g' above this line" },
	{ HEAD "tenant t\nphase k arrive=often\n", "test:5: arrive=often is none of closed, "
	  "every(TIME), poisson(TIME), burst(COUNT,TIME)" },
	{ HEAD "tenant t\nphase k arrive=every(0)\n", "test:5: arrive: '0' is not within "
	  "1us..10000h" },
	{ HEAD "tenant t copies=5000\n", "test:4: copies: '5000' is not within 1..4096" },
	{ HEAD "at 1s\n", "test:4: at TIME needs one of: group PATH OPTIONS, device NAME OPTIONS, "
	  "kill TENANT, remove DEVICE" },
	{ HEAD "at 1s reboot gpu0\n", "test:4: at TIME reboot: group, device, kill and remove are "
	  "there" },
	{ HEAD "at 1s device gpu0 units=3\n", "test:4: there is no option 'units' here" },
	{ HEAD "at 2s device gpu0 slice=1ms\nat 1s remove gpu0\n", "test:5: the lines with 'at' "
	  "must be in the order of time" },
	{ HEAD "expect x 1\n", "test:4: expect needs METRIC LOW HIGH" },
	{ HEAD "expect x 2 1\n", "test:4: expect: the lower bound is above the upper one" },
	{ HEAD "kernel big time=1ms threads=4096\ntenant t\nphase big\n", "test:6: a block of "
	  "kernel 'big' needs more than one unit of device 'gpu0' has" },
};

TEST(errors)
{
	struct sim_scenario s;
	char error[512];
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		error[0] = 0;
		EXPECT_EQ(sim_parse(&s, "test", wrong[i].text, error, sizeof(error)), -EINVAL);
		EXPECT_STREQ(error, wrong[i].error);
	}
}

TEST(files)
{
	struct sim_scenario s;
	char error[512];

	EXPECT_EQ(sim_load(&s, "/nowhere/x.sim", error, sizeof(error)), -ENOENT);
	EXPECT_STREQ(error, "/nowhere/x.sim: No such file or directory");
	EXPECT_EQ(sim_load(&s, "/", error, sizeof(error)), -EIO);
	EXPECT_STREQ(error, "/: can't be read");
}

TEST(whole)
{
	static const char text[] =
		"# a comment\n"
		"title Two words\n"
		"seed 7\r\n"
		"duration 2s\n"
		"window 1h\n"
		"device gpu0 units=2 threads=512 slice=1.5ms speed=0.5 memory=1G\n"
		"device gpu1 linger=0\n"
		"group a weight=200 min=0.25   # and a comment\n"
		"group a max=20ms/100ms on=gpu1\n"
		"group a/b class=latency\n"
		"kernel k blocks=10 time=uniform(1us,2us) threads=64 registers=128 local=1K\n"
		"tenant t copies=2 group=a/b device=gpu0,gpu1 run=sliced piece=2ms goal=0.5\n"
		"phase k count=3 arrive=burst(4,10ms)\n"
		"pause 5ms\n"
		"at 1s group a weight=50\n"
		"at 1s device gpu0 slice=3ms\n"
		"expect t.1.share - 20ms\n";
	struct sim_scenario s;
	char error[512] = "";

	ASSERT_EQ(sim_parse(&s, "test", text, error, sizeof(error)), 0);
	EXPECT_STREQ(s.title, "Two words");
	EXPECT_EQ(s.seed, 7);
	EXPECT_EQ(s.window_ns, 2 * SIM_NS_PER_S);
	EXPECT_EQ(s.devices[0].conf.slice, 1500000);
	EXPECT_EQ(s.devices[0].speed, 500);
	EXPECT_EQ(s.devices[1].conf.linger, 0);
	EXPECT_EQ(s.ngroups, 2);
	EXPECT_EQ(s.groups[1].parent, 0);
	EXPECT_EQ(s.nshares, 3);
	EXPECT_EQ(s.shares[0].fields, (uint32_t)(GS_SHARE_WEIGHT | GS_SHARE_MIN));
	EXPECT_EQ(s.shares[0].share.min, 250);
	EXPECT_EQ(s.shares[1].device, 1);
	EXPECT_EQ(s.shares[1].share.quota, 20000000);
	EXPECT_EQ(s.kernels[0].local, 1024);
	EXPECT_EQ(s.ntenants, 2);
	EXPECT_STREQ(s.tenants[1].name, "t.2");
	EXPECT_EQ(s.tenants[1].devices, 3);
	EXPECT_EQ(s.tenants[1].nphases, 2);
	EXPECT_EQ(s.tenants[1].phases[0].burst, 4);
	EXPECT_EQ(s.tenants[1].phases[1].kernel, -1);
	EXPECT_EQ(s.changes[1].conf.slice, 3000000);
	EXPECT_EQ(s.changes[1].conf.units, 2);
	EXPECT_TRUE(s.expects[0].high == 20000);
	sim_scenario_free(&s);
}

TEST_MAIN()
