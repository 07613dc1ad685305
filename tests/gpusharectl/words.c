// SPDX-License-Identifier: MIT
/* Amounts, properties and configuration text, without an arbiter. */
#include "amount.h"
#include "config.h"
#include "harness.h"
#include "term.h"

#include <errno.h>

static uint64_t us(const char *s)
{
	uint64_t v = 12345;

	return gs_parse_us(s, &v) ? ~0ULL : v;
}

static uint64_t bytes(const char *s)
{
	uint64_t v = 12345;

	return gs_parse_bytes(s, &v) ? 1 : v;
}

TEST(times)
{
	EXPECT_EQ(us("250us"), 250);
	EXPECT_EQ(us("2ms"), 2000);
	EXPECT_EQ(us("1.5s"), 1500000);
	EXPECT_EQ(us("0"), 0);
	EXPECT_EQ(us("0.001ms"), 1);
	EXPECT_EQ(us("5"), ~0ULL);		/* no unit */
	EXPECT_EQ(us("0.5us"), ~0ULL);		/* doesn't come out even */
	EXPECT_EQ(us(""), ~0ULL);
	EXPECT_EQ(us("ms"), ~0ULL);
	EXPECT_EQ(us("1.ms"), ~0ULL);
	EXPECT_EQ(us("1.2.3s"), ~0ULL);
	EXPECT_EQ(us("-1s"), ~0ULL);
	EXPECT_EQ(us(" 1s"), ~0ULL);
	EXPECT_EQ(us("1s "), ~0ULL);
	EXPECT_EQ(us("99999999999999999999s"), ~0ULL);
	EXPECT_EQ(us("18446744073709551615s"), ~0ULL);
	EXPECT_EQ(us("0.00000000000000000000000000001s"), ~0ULL);
}

TEST(sizes)
{
	EXPECT_EQ(bytes("8G"), 8ULL << 30);
	EXPECT_EQ(bytes("1.5K"), 1536);
	EXPECT_EQ(bytes("4096"), 4096);
	EXPECT_EQ(bytes("8"), 1);	/* of which unit? */
	EXPECT_EQ(bytes("8B"), 8);
	EXPECT_EQ(bytes("max"), GPUSHARE_NO_LIMIT);
	EXPECT_EQ(bytes("18446744073709551615"), 1);	/* that would be "none" */
	EXPECT_EQ(bytes("16E"), 1);
	EXPECT_EQ(bytes("1g"), 1);
	EXPECT_EQ(bytes("1GB"), 1);
	EXPECT_EQ(bytes("0x10"), 1);
}

/* What is written reads the same: at limits, and for many values. */
TEST(amounts_round_trip)
{
	uint64_t v, back, seed = 42;
	char text[GS_VALUE];
	int i;

	printf("# seed %llu\n", (unsigned long long)seed);
	for (i = 0; i < 100000; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		v = seed >> (i % 64);
		gs_format_bytes(text, v);
		ASSERT_EQ(gs_parse_bytes(text, &back), 0);
		ASSERT_EQ(back, v);
		v >>= 20;
		gs_format_us(text, v);
		ASSERT_EQ(gs_parse_us(text, &back), 0);
		ASSERT_EQ(back, v);
		gs_format_permille(text, v % 64001);
		ASSERT_EQ(gs_parse_permille(text, &back), 0);
		ASSERT_EQ(back, v % 64001);
	}
}

static int take(struct gpushare_share *s, const char *name, const char *value)
{
	const struct gs_prop *p = gs_prop_find(gs_share_props, name);
	char why[256];

	return p ? gs_share_parse(s, p, value, 1000, why, sizeof(why)) : -ENOENT;
}

TEST(share_properties)
{
	struct gpushare_share s = { 0 };

	EXPECT_EQ(take(&s, "Weight", "10000"), 0);
	EXPECT_EQ(take(&s, "MAX", "33.3%"), 0);
	EXPECT_EQ(take(&s, "mem", "50%"), 0);
	EXPECT_EQ(take(&s, "min", "0"), 0);
	EXPECT_EQ(s.weight, 10000);
	EXPECT_EQ(s.max_us, 33300);
	EXPECT_EQ(s.period_us, 100000);
	EXPECT_EQ(s.mem_max, 500);
	EXPECT_EQ(s.mask, GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MAX | GPUSHARE_SHARE_MEM_MAX |
		  GPUSHARE_SHARE_MIN);
	EXPECT_EQ(take(&s, "weight", ""), 0);
	EXPECT_EQ(take(&s, "max", "default"), 0);
	EXPECT_EQ(s.reset, GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MAX);
	EXPECT_FALSE(s.mask & s.reset);
	EXPECT_EQ(take(&s, "nonsense", "1"), -ENOENT);
	/* No share of anything: it needs no device whose memory is known. */
	EXPECT_EQ(gs_share_parse(&s, gs_prop_find(gs_share_props, "mem.max"), "0", 0, NULL, 0), 0);
	EXPECT_EQ(s.mem_max, 0);
}

/* A value that is refused leaves everything as it was. */
TEST(refused_values_change_nothing)
{
	static const char *const bad[][2] = {
		{ "weight", "0" }, { "weight", "10001" }, { "class", "fast" }, { "max", "0%" },
		{ "max", "1ms/1ms+2ms" }, { "max", "1ms/999us" }, { "max", "1ms/" },
		{ "min", "100.1%" }, { "mem.max", "101%" }, { "mem.min", "x" },
	};
	struct gpushare_share s, before;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(&s, 0, sizeof(s));
		take(&s, "weight", "7");
		before = s;
		EXPECT_EQ(take(&s, bad[i][0], bad[i][1]), -EINVAL);
		EXPECT_EQ(s.mask, before.mask);
		EXPECT_EQ(s.reset, before.reset);
		EXPECT_EQ(s.weight, before.weight);
	}
}

/* Every property of a device: default, and what is written reads the same. */
TEST(device_properties_round_trip)
{
	struct gpushare_device a, b;
	const struct gs_prop *p;
	char value[GS_VALUE], why[256];

	gs_device_defaults(&a);
	a.policy = GPUSHARE_POLICY_RR;
	a.quota = GPUSHARE_QUOTA_NAIVE;
	a.workers = GPUSHARE_WORKERS_PROFILE;
	a.slice_us = 1234;
	a.kill_us = 4294967295U;
	a.mem_bytes = (1ULL << 40) + 1;
	gs_device_defaults(&b);
	for (p = gs_device_props; p->name; p++) {
		gs_device_format(&a, p, value);
		EXPECT_EQ(gs_device_parse(&b, p, value, why, sizeof(why)), 0);
		EXPECT_TRUE(b.mask & p->mask);
	}
	EXPECT_EQ(b.mask, GPUSHARE_DEV_ALL);
	b.mask = 0;
	EXPECT_EQ(memcmp(&a, &b, sizeof(a)), 0);
	for (p = gs_device_props; p->name; p++)
		EXPECT_EQ(gs_device_parse(&b, p, "default", why, sizeof(why)), 0);
	gs_device_defaults(&a);
	b.mask = 0;
	EXPECT_EQ(memcmp(&a, &b, sizeof(a)), 0);
}

static struct gs_config config;

static char *parse(const char *text)
{
	char *said = NULL;
	size_t size;
	FILE *err = open_memstream(&said, &size);

	gs_config_free(&config);
	EXPECT_EQ(gs_config_parse(&config, "f", text, strlen(text), err), 0);
	fclose(err);
	return said;
}

TEST(configuration)
{
	char *said = parse("# c\n[share]\n  match = /a  name:b\t\nWEIGHT=5\nMax=\nDevice=cpu:0\n"
			   "[Device]\nMatch=x:1\n");

	EXPECT_STREQ("", said);
	ASSERT_EQ(config.nr, 2);
	EXPECT_FALSE(config.sections[0].device);
	EXPECT_EQ(config.sections[0].nr_match, 2);
	EXPECT_STREQ("name:b", config.sections[0].match[1]);
	EXPECT_STREQ("cpu:0", config.sections[0].on);
	ASSERT_EQ(config.sections[0].nr_settings, 2);
	EXPECT_STREQ("weight", config.sections[0].settings[0].prop->name);
	EXPECT_STREQ("", config.sections[0].settings[1].value);
	EXPECT_EQ(config.sections[0].settings[1].line, 5);
	EXPECT_TRUE(config.sections[1].device);
	free(said);
	gs_config_free(&config);
}

TEST(configuration_mistakes)
{
	char *said = parse("[Share]\nMatch=a\nWeight=1\nweight=2\nSlice=1ms\nDevice=a b\n"
			   "[Device\n[Device]\nMatch=*\nKind=toast\nSlice=\33[31m\n");

	EXPECT_TRUE(strstr(said, "f:4:8: Weight= is here for the second time, first in line 3\n"));
	EXPECT_TRUE(strstr(said, "f:5:1: Slice=: no such key in [Share]\n"));
	EXPECT_TRUE(strstr(said, "f:6:8: a b: one name is wanted here\n"));
	EXPECT_TRUE(strstr(said, "f:7:1: a section is [NAME] and nothing more\n"));
	EXPECT_TRUE(strstr(said, "f:10:6: Kind=toast: it is gpu, mig, cpu or other\n"));
	EXPECT_TRUE(strstr(said, "f:11:7: slice=?[31m: not understood"));
	EXPECT_TRUE(strstr(said, "f:8:1: this section sets nothing\n"));
	EXPECT_EQ(config.errors, 7);
	free(said);
	gs_config_free(&config);
}

TEST(hostile_names_on_a_terminal)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	gs_print_safe(out, "a\033[2J\xc2\x9b" "b\xff\nc\xc3\xa9");
	fclose(out);
	EXPECT_STREQ("a?[2J?b??c\xc3\xa9", text);
	EXPECT_EQ(gs_width(text), 11);
	free(text);
	/* Turned text, what can't be seen, what XML doesn't allow; and what is only foreign. */
	out = open_memstream(&text, &size);
	gs_print_safe(out, "a\xe2\x80\xae" "b\xe2\x80\x8b" "c\xef\xbf\xbf" "d\xf3\xa0\x81\x81" "e\xc2\xb5\xe2\x82\xac");
	fclose(out);
	EXPECT_STREQ("a?b?c?d?e\xc2\xb5\xe2\x82\xac", text);
	free(text);
}

static const char *cut(const char *s, unsigned int width)
{
	static char text[64];
	FILE *out = fmemopen(memset(text, 0, sizeof(text)), sizeof(text), "w");

	EXPECT_EQ(gs_print_cut(out, s, width), gs_width(s) < width ? gs_width(s) : width);
	fclose(out);
	return text;
}

TEST(cut_in_the_middle)
{
	EXPECT_STREQ("/a/b", cut("/a/b", 4));
	EXPECT_STREQ("/…/d", cut("/a/b/d", 4));
	EXPECT_STREQ("/a…/d", cut("/a/b/d", 5));
	EXPECT_STREQ("é…é", cut("éàîé", 3));
	EXPECT_STREQ("?…?", cut("\xff\xff\xff\xff", 3));
	EXPECT_STREQ("…b", cut("ab/b", 2));
	EXPECT_STREQ("a", cut("ab", 1));
	EXPECT_STREQ("", cut("ab", 0));
}

TEST(amounts_for_people)
{
	char a[GS_AMOUNT];

	EXPECT_STREQ("max", gs_bytes(a, GPUSHARE_NO_LIMIT));
	EXPECT_STREQ("0", gs_bytes(a, 0));
	EXPECT_STREQ("1.00K", gs_bytes(a, 1024));
	EXPECT_STREQ("15.5G", gs_bytes(a, 31ULL << 29));
	EXPECT_STREQ("2ms", gs_time(a, 2000000));
	EXPECT_STREQ("2.50ms", gs_time(a, 2500000));
	EXPECT_STREQ("0ns", gs_time(a, 0));
	EXPECT_STREQ("57.1%", gs_permille(a, 571));
	EXPECT_EQ(gs_ratio(1, 3), 333);
	EXPECT_EQ(gs_ratio(1, 0), 0);
	EXPECT_EQ(gs_ratio(UINT64_MAX, 1), 65535);
}

TEST_MAIN()
