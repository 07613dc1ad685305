/* SPDX-License-Identifier: MIT */
/*
 * A small test harness in the vocabulary of the kernel's selftests.
 *
 *	TEST(name) { EXPECT_EQ(2, 1 + 1); }
 *	TEST_MAIN()
 *
 * Each test runs in a child of its own with a time limit, so that a crash or
 * a hang is that test's failure alone. EXPECT notes a failure and goes on,
 * ASSERT ends the test, SKIP ends it with a reason. Output is TAP; the exit
 * status is 0 (all passed), 1 (one failed) or 4 (all skipped). Arguments pick
 * tests by a part of their name; -d runs them in this process, for a debugger.
 */
#ifndef GS_TESTS_HARNESS_H
#define GS_TESTS_HARNESS_H

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* EXPECT_EQ(0, s.count) should read like that, whatever the member's sign. */
#pragma GCC diagnostic ignored "-Wsign-compare"

struct test {
	const char *name;
	void (*fn)(void);
	unsigned int limit_s;
	struct test *next;
};

static struct test *test_list, **test_tail = &test_list;
/* Weak, so that files which share a program share them: helpers may EXPECT. */
__attribute__((weak)) int test_failures;
__attribute__((weak)) int test_result_fd = -1;

__attribute__((unused)) static void test_register(struct test *t)
{
	*test_tail = t;
	test_tail = &t->next;
}

#define TEST_LIMIT(id, seconds)						\
	static void test_fn_##id(void);					\
	static struct test test_##id = { #id, test_fn_##id, seconds, NULL }; \
	__attribute__((constructor)) static void test_reg_##id(void)		\
	{									\
		test_register(&test_##id);					\
	}									\
	static void test_fn_##id(void)
#define TEST(id) TEST_LIMIT(id, 240)

/* Ends the child at once: destructors and atexit are the parent's. */
__attribute__((unused, noreturn)) static void test_end(int status)
{
	fflush(NULL);
	_exit(status);
}

#define test_fail(fmt, ...) do {						\
	printf("# %s:%d: " fmt "\n", __FILE__, __LINE__, ##__VA_ARGS__);	\
	test_failures++;							\
} while (0)

#define SKIP(fmt, ...) do {							\
	if (test_result_fd >= 0)						\
		dprintf(test_result_fd, fmt, ##__VA_ARGS__);			\
	printf("# skipped: " fmt "\n", ##__VA_ARGS__);				\
	test_end(4);								\
} while (0)

#define test_or_end(ok, fatal, fmt, ...) do {					\
	if (!(ok)) {								\
		test_fail(fmt, ##__VA_ARGS__);					\
		if (fatal)							\
			test_end(1);						\
	}									\
} while (0)

#define test_compare(fatal, a, op, b) do {					\
	__auto_type a_ = (a);							\
	__auto_type b_ = (b);							\
	test_or_end(a_ op b_, fatal, "%s %s %s: %lld against %lld", #a, #op, #b, \
		    (long long)a_, (long long)b_);				\
} while (0)

#define test_strings(fatal, a, b) do {						\
	const char *a_ = (a), *b_ = (b);					\
	test_or_end(a_ && b_ && !strcmp(a_, b_), fatal, "%s is \"%s\", not \"%s\"", #b, \
		    b_ ? b_ : "(null)", a_ ? a_ : "(null)");			\
} while (0)

#define EXPECT_TRUE(x)		test_or_end(x, false, "%s is false", #x)
#define EXPECT_FALSE(x)		test_or_end(!(x), false, "%s is true", #x)
#define EXPECT_EQ(a, b)		test_compare(false, a, ==, b)
#define EXPECT_NE(a, b)		test_compare(false, a, !=, b)
#define EXPECT_LE(a, b)		test_compare(false, a, <=, b)
#define EXPECT_LT(a, b)		test_compare(false, a, <, b)
#define EXPECT_GE(a, b)		test_compare(false, a, >=, b)
#define EXPECT_GT(a, b)		test_compare(false, a, >, b)
#define EXPECT_STREQ(a, b)	test_strings(false, a, b)
#define ASSERT_TRUE(x)		test_or_end(x, true, "%s is false", #x)
#define ASSERT_FALSE(x)		test_or_end(!(x), true, "%s is true", #x)
#define ASSERT_EQ(a, b)		test_compare(true, a, ==, b)
#define ASSERT_NE(a, b)		test_compare(true, a, !=, b)
#define ASSERT_LE(a, b)		test_compare(true, a, <=, b)
#define ASSERT_LT(a, b)		test_compare(true, a, <, b)
#define ASSERT_GE(a, b)		test_compare(true, a, >=, b)
#define ASSERT_GT(a, b)		test_compare(true, a, >, b)
#define ASSERT_STREQ(a, b)	test_strings(true, a, b)

/* Runs one test in a child; returns its exit status, 1 for any bad end. */
__attribute__((unused)) static int test_run(struct test *t, char *why, size_t size)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	why[0] = 0;
	fflush(NULL);
	if (pipe(fds))
		return 1;
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid) {
		close(fds[0]);
		test_result_fd = fds[1];
		setpgid(0, 0);	/* so that what it starts dies with it */
		alarm(t->limit_s);
		t->fn();
		test_end(test_failures ? 1 : 0);
	}
	setpgid(pid, pid);
	close(fds[1]);
	while (waitpid(pid, &status, 0) < 0)
		;
	kill(-pid, SIGKILL);
	n = WIFEXITED(status) && WEXITSTATUS(status) == 4 ? read(fds[0], why, size - 1) : 0;
	why[n > 0 ? n : 0] = 0;
	close(fds[0]);
	if (WIFSIGNALED(status)) {
		printf("# %s: %s\n", t->name, WTERMSIG(status) == SIGALRM ?
		       "over its time limit" : strsignal(WTERMSIG(status)));
		return 1;
	}
	return WEXITSTATUS(status) == 4 ? 4 : WEXITSTATUS(status) ? 1 : 0;
}

__attribute__((unused)) static bool test_picked(const struct test *t, char **picks)
{
	if (!*picks)
		return true;
	for (; *picks; picks++)
		if (strstr(t->name, *picks))
			return true;
	return false;
}

__attribute__((unused)) static int test_main(char **argv)
{
	bool direct = argv[1] && !strcmp(argv[1], "-d");
	int n = 0, failed = 0, skipped = 0, r;
	char why[256];
	struct test *t;

	argv += 1 + direct;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (t = test_list; t; t = t->next)
		n += test_picked(t, argv);
	printf("TAP version 13\n1..%d\n", n);
	n = 0;
	for (t = test_list; t; t = t->next) {
		if (!test_picked(t, argv))
			continue;
		n++;
		if (direct) {
			t->fn();
			r = test_failures ? 1 : 0;
			why[0] = 0;
		} else {
			r = test_run(t, why, sizeof(why));
		}
		failed += r == 1;
		skipped += r == 4;
		printf("%s %d - %s%s%s\n", r == 1 ? "not ok" : "ok", n, t->name,
		       r == 4 ? " # SKIP " : "", why);
	}
	return failed ? 1 : n && skipped == n ? 4 : 0;
}

#define TEST_MAIN()								\
	int main(int argc, char **argv)						\
	{									\
		(void)argc;							\
		return test_main(argv);						\
	}

#endif
