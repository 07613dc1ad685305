// SPDX-License-Identifier: MIT
/* What GPUSHARE_CUT says, and what is said of words that aren't known. */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "wrap/launch/option.h"

static char said[1024];

static void read_in_child(const char *name, const char *value, struct gs_options *options, int err)
{
	if (value)
		setenv(name, value, 1);
	dup2(err, 2);
	gs_options_read();
	gs_options_read();
	*options = gs_options;
	_exit(0);
}

/* What a process has that starts with this variable; what it says is in @said. */
static struct gs_options with(const char *name, const char *value)
{
	struct gs_options *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0), options;
	int err = memfd_create("stderr", 0), status = -1;
	ssize_t n;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		read_in_child(name, value, shared, err);
	waitpid(pid, &status, 0);
	n = pread(err, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	options = *shared;
	EXPECT_EQ(0, status);
	munmap(shared, 4096);
	close(err);
	return options;
}

static unsigned int lines(void)
{
	unsigned int n = 0;
	const char *at;

	for (at = said; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

TEST(each_word)
{
	static const struct {
		const char *text;
		enum gs_cutting cut;
		bool random;
	} known[] = {
		{ NULL, GS_CUT_AUTO, false }, { "", GS_CUT_AUTO, false },
		{ "auto", GS_CUT_AUTO, false }, { "off", GS_CUT_OFF, false },
		{ "whole", GS_CUT_WHOLE, false }, { "slice", GS_CUT_SLICE, false },
		{ "guard", GS_CUT_GUARD, false }, { "workers", GS_CUT_WORKERS, false },
		{ "random=7", GS_CUT_AUTO, true }, { "slice,random=0x10", GS_CUT_SLICE, true },
		{ "random=3,workers", GS_CUT_WORKERS, true }, { "slice,", GS_CUT_SLICE, false },
		{ "slice,off", GS_CUT_OFF, false },
	};
	struct gs_options o;
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++) {
		o = with("GPUSHARE_CUT", known[i].text);
		EXPECT_EQ(known[i].cut, o.cut);
		EXPECT_EQ(known[i].random, o.random);
		EXPECT_STREQ("", said);
	}
}

/* A wrong word may not turn cutting on or off, nor a wrong seed be taken for 0. */
TEST(unknown_word_is_told_once_with_those_that_are)
{
	static const char *const wrong[] = {
		"slices", "slic", "SLICE", " slice", "random", "random=", "random=x", "random=7x",
		"random:7", "random=-1", "gate", "1", "off;", "random=99999999999999999999",
	};
	struct gs_options o;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		o = with("GPUSHARE_CUT", wrong[i]);
		EXPECT_EQ(GS_CUT_AUTO, o.cut);
		EXPECT_FALSE(o.random);
		EXPECT_EQ(1, lines());
		EXPECT_TRUE(strstr(said, wrong[i]) != NULL);
		EXPECT_TRUE(strstr(said, "auto, off, whole, slice, guard, workers") != NULL);
	}
	o = with("GPUSHARE_CUT", "nonsense,slice,more");
	EXPECT_EQ(GS_CUT_SLICE, o.cut);
	EXPECT_EQ(1, lines());
}

TEST(long_value_is_told_in_a_line)
{
	static char text[100000];

	memset(text, 'x', sizeof(text) - 1);
	with("GPUSHARE_CUT", text);
	EXPECT_EQ(1, lines());
	EXPECT_LT(strlen(said), 300);
}

TEST(names_of_before_are_refused_with_the_new_one)
{
	static const char *const before[] = {
		"GPUSHARE_OPENCL_MODE", "GPUSHARE_OPENCL_CUTS", "GPUSHARE_CUDA_CUT",
	};
	struct gs_options o;
	size_t i;

	for (i = 0; i < sizeof(before) / sizeof(*before); i++) {
		o = with(before[i], "slice");
		EXPECT_EQ(GS_CUT_AUTO, o.cut);
		EXPECT_EQ(1, lines());
		EXPECT_TRUE(strstr(said, before[i]) != NULL);
		EXPECT_TRUE(strstr(said, "GPUSHARE_CUT") != NULL);
	}
}

TEST(what_was_read_first_stays)
{
	setenv("GPUSHARE_CUT", "slice,random=5", 1);
	gs_options_read();
	setenv("GPUSHARE_CUT", "off", 1);
	gs_options_read();
	EXPECT_EQ(GS_CUT_SLICE, gs_options.cut);
	EXPECT_TRUE(gs_cuts_all() && !gs_cuts_nothing());
}

TEST(seed_says_what_is_drawn)
{
	uint64_t drawn[4];
	size_t i;

	setenv("GPUSHARE_CUT", "random=1", 1);
	gs_options_read();
	for (i = 0; i < 4; i++)
		drawn[i] = gs_draw(UINT64_MAX);
	/* splitmix64 from 1, of the reference implementation */
	EXPECT_TRUE(drawn[0] == 0x910a2dec89025cc1 && drawn[1] == 0xbeeb8da1658eec67);
	EXPECT_TRUE(drawn[2] == 0xf893a2eefb32555e && drawn[3] == 0x71c18690ee42c90b);
	for (i = 0; i < 1000; i++)
		EXPECT_LT(gs_draw(7), 7);
	EXPECT_EQ(0, gs_draw(1));
}

TEST_MAIN()
