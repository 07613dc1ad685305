// SPDX-License-Identifier: MIT
/*
 * Starting the user's own daemon.
 *
 * We are a guest in somebody's program: it may have threads, a SIGCHLD handler,
 * a loop of waitpid(-1). So the child is made by clone() without a signal at its
 * end, which ordinary waits don't see. As exec() would give it one, it makes
 * another for that, and passes on how that one ends. Both do nothing but system
 * calls until there is gpushared, which goes to the background when it listens.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"

#ifndef GS_DAEMON_PATH
#define GS_DAEMON_PATH "/usr/sbin/gpushared"
#endif

static long clone_plain(unsigned long flags)
{
	return syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

static int wait_for_child(long pid)
{
	int status = 0;

	while (waitpid((pid_t)pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

/* In the child, which shares no memory but may have been one of many threads. */
static void run_daemon(char **argv, char **envp, long max_files)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int fd, sig;

	for (sig = 1; sig < 32; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	fd = open("/dev/null", O_RDWR);
	if (fd >= 0) {
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
	}
	if (syscall(SYS_close_range, 3u, ~0u, 0u))
		for (fd = 3; fd < max_files; fd++)
			close(fd);
	if (chdir("/"))
		_exit(126);
	execve(argv[0], argv, envp);
	_exit(127);
}

int gs_spawn_daemon(const char *socket_path)
{
	const char *daemon = secure_getenv(GS_DAEMON_ENV);
	char *argv[] = {
		(char *)(daemon && *daemon == '/' ? daemon : GS_DAEMON_PATH),
		(char *)"--user", (char *)"--socket", (char *)socket_path, NULL,
	};
	struct rlimit files;
	sigset_t all, old;
	int status;
	long pid;

	if (access(argv[0], X_OK))
		return -errno;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur > 65536)
		files.rlim_cur = 65536;
	/* No handler of the program may run in the children. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = clone_plain(0);
	if (!pid) {
		pid = clone_plain(SIGCHLD);
		if (!pid)
			run_daemon(argv, environ, (long)files.rlim_cur);
		_exit(pid < 0 ? 125 : wait_for_child(pid));
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return -errno;
	status = wait_for_child(pid);
	return status && status != GS_DAEMON_THERE ? -ECONNREFUSED : 0;
}
