// SPDX-License-Identifier: MIT
/*
 * The harness and tests/run must see every kind of bad end, or all the other
 * tests prove nothing. Each case writes a little test script and looks at the
 * closing line that tests/run makes of it.
 */
#include "harness.h"
#include <sys/stat.h>

static const struct {
	const char *name, *body, *last;
} cases[] = {
	{ "passes", "echo 'ok 1 - a'; echo 1..1", "1 passed, 0 failed, 0 skipped\n" },
	{ "fails", "echo 1..2; echo 'ok 1 - a'; echo 'not ok 2 - b'; exit 1",
	  "1 passed, 1 failed, 0 skipped\n" },
	{ "skips", "echo 1..2; echo 'ok 1 - a # SKIP no b here'; echo 'ok 2 - c'",
	  "1 passed, 0 failed, 1 skipped\n" },
	{ "skips all", "echo '1..0 # SKIP no device'; exit 4", "0 passed, 0 failed, 1 skipped\n" },
	{ "dies", "echo 1..1; echo 'ok 1 - a'; kill -SEGV $$", "1 passed, 1 failed, 0 skipped\n" },
	{ "is killed", "echo 1..1; echo 'ok 1 - a'; kill -KILL $$",
	  "1 passed, 1 failed, 0 skipped\n" },
	{ "stops before its plan", "echo 1..2; echo 'ok 1 - a'",
	  "1 passed, 1 failed, 0 skipped\n" },
	{ "goes on behind its plan", "echo 1..1; echo 'ok 1 - a'; echo 'ok 2 - b'",
	  "2 passed, 1 failed, 0 skipped\n" },
	{ "has two plans", "echo 1..2; echo 'ok 1 - a'; echo 1..1",
	  "1 passed, 1 failed, 0 skipped\n" },
	{ "says one thing twice", "echo 1..2; echo 'ok 1 - a'; echo 'ok 1 - a'",
	  "2 passed, 1 failed, 0 skipped\n" },
	{ "bails out", "echo 'Bail out! no device'; echo 1..1; echo 'ok 1 - a'",
	  "1 passed, 1 failed, 0 skipped\n" },
	{ "says nothing", "true", "0 passed, 1 failed, 0 skipped\n" },
	{ "can't be run", "exec /nowhere", "0 passed, 1 failed, 0 skipped\n" },
	{ "fails without a word", "echo 1..1; echo 'ok 1 - a'; exit 1",
	  "1 passed, 1 failed, 0 skipped\n" },
	{ "leaves no results", "echo 1..1; echo 'ok 1 - a'; rm -r \"$O/log\"",
	  "0 passed, 1 failed, 0 skipped\n" },
	{ "hangs", "echo 1..1; echo 'ok 1 - a'; sleep 600", "1 passed, 1 failed, 0 skipped\n" },
};

/* Runs a script as the only test; what the last line says, and whether all is well. */
static bool run(const char *dir, const char *body, unsigned int limit_s, char *last, size_t size)
{
	char path[300], cmd[800], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/test", dir);
	f = fopen(path, "w");
	ASSERT_TRUE(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	fclose(f);
	chmod(path, 0755);
	snprintf(cmd, sizeof(cmd), "O=%s TEST_TIMEOUT=%u tests/run %s --alone 2>&1", dir,
		 limit_s, path);
	f = popen(cmd, "r");
	ASSERT_TRUE(f);
	last[0] = 0;
	while (fgets(line, sizeof(line), f))
		snprintf(last, size, "%s", line);
	return !pclose(f);
}

static void make_dir(char *dir, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, size, "%s/gs-frame-XXXXXX", tmp ? tmp : "/tmp");
	ASSERT_TRUE(mkdtemp(dir));
}

static void remove_dir(const char *dir)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	EXPECT_EQ(system(cmd), 0);
}

TEST_LIMIT(run_sees_every_end, 600)
{
	char dir[200], last[256];
	unsigned int i;
	bool well;

	make_dir(dir, sizeof(dir));
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		well = run(dir, cases[i].body, strcmp(cases[i].name, "hangs") ? 300 : 2, last,
			   sizeof(last));
		EXPECT_EQ(well, strstr(cases[i].last, " 0 failed") && last[0] != '0');
		if (strcmp(last, cases[i].last))
			test_fail("%s: %s", cases[i].name, last);
	}
	remove_dir(dir);
}

/* What a test leaves running, in a session of its own, ends with it. */
TEST_LIMIT(run_leaves_nothing_running, 600)
{
	char dir[200], last[256], path[300];
	int pid = 0;
	FILE *f;

	make_dir(dir, sizeof(dir));
	EXPECT_TRUE(run(dir, "setsid sh -c 'echo $$ >\"$O/pid\"; exec sleep 600' >/dev/null 2>&1 &\n"
			"until [ -s \"$O/pid\" ]; do sleep 0.1; done\necho 'ok 1 - a'; echo 1..1",
			300, last, sizeof(last)));
	snprintf(path, sizeof(path), "%s/pid", dir);
	f = fopen(path, "r");
	ASSERT_TRUE(f && fscanf(f, "%d", &pid) == 1 && pid > 1);
	fclose(f);
	/* Whoever is its parent now may not have waited for it yet. */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	while ((f = fopen(path, "r"))) {
		int c = fgetc(f);

		fclose(f);
		if (c == EOF)
			break;
		usleep(10000);
	}
	remove_dir(dir);
}

/* The surroundings are the same for all, whatever the caller's are. */
TEST_LIMIT(run_makes_the_surroundings, 600)
{
	char dir[200], last[256];

	make_dir(dir, sizeof(dir));
	setenv("LC_ALL", "POSIX", 1);
	setenv("GPUSHARE_ARBITER", "/nowhere", 1);
	setenv("CDPATH", "/", 1);
	unsetenv("HOME");
	umask(077);
	setenv("TMPDIR", dir, 1);
	EXPECT_TRUE(run(dir, "[ \"$LC_ALL\" = C.UTF-8 ] && [ -z \"$GPUSHARE_ARBITER$CDPATH\" ] &&"
			" [ -n \"$HOME\" ] && [ \"$(umask)\" = 0022 ] && [ ${#TMPDIR} -le 42 ] &&"
			" echo >\"$TMPDIR/a\" && echo 'ok 1 - a'; echo 1..1", 300, last, sizeof(last)));
	EXPECT_STREQ("1 passed, 0 failed, 0 skipped\n", last);
	remove_dir(dir);
}

TEST_MAIN()
