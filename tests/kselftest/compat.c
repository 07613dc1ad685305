// SPDX-License-Identifier: MIT
/* Runs compat32, which lies beside this program, as a test. */
#include <libgen.h>
#include "lib.h"

TEST(a_32_bit_caller_can_use_every_command)
{
	char path[300], *dir;
	pid_t pid;
	int r;

	need_arbiter();
	r = readlink("/proc/self/exe", path, sizeof(path) - 16);
	ASSERT_LT(0, r);
	path[r] = 0;
	dir = dirname(path);
	strcat(dir, "/compat32");
	cg_new(CGROOT, "compat32");
	pid = fork();
	if (!pid) {
		execl(dir, "compat32", NULL);
		_exit(errno == ENOEXEC ? 126 : 127);
	}
	r = reap(pid);
	cg_remove(CGROOT "/compat32");
	if (r == 126)
		SKIP("this kernel runs no 32-bit programs");
	if (r)
		printf("# compat32 failed in step %d\n", r);
	EXPECT_EQ(0, r);
}

TEST_MAIN()
