// SPDX-License-Identifier: MIT
/*
 * One arbiter only: whatever way the second one is started in, it says who is there and
 * touches nothing. "As by systemd" is with a socket that somebody else made. And none that
 * shares with nobody is started in silence.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "harness.h"
#include "world.h"

static struct world w;
static char said[4096];		/* by the last daemon that gave up */

/* A listening socket by this name, as systemd makes it: what was there has gone. */
static int listen_on(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	unlink(path);
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_EQ(0, listen(fd, 16));
	return fd;
}

/* Starts a system's daemon; @passed is its socket, as by systemd, or -1. */
static pid_t start(int passed, const char *socket, const char *state, const char *more, int err)
{
	pid_t pid = fork();
	char text[20];

	if (pid)
		return pid;
	alarm(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (err >= 0)
		dup2(err, 2);
	if (passed >= 0) {
		dup2(passed, 3);
		fcntl(3, F_SETFD, 0);
		snprintf(text, sizeof(text), "%d", getpid());
		setenv("LISTEN_PID", text, 1);
		setenv("LISTEN_FDS", "1", 1);
	}
	execl(world_daemon(), "gpushared", "--system", "--socket", socket, "--state", state,
	      "--pci", w.pci, more, NULL);
	_exit(127);
}

/* One that runs, and answers. */
static pid_t start_first(int passed)
{
	struct gpushare_version v = { .size = sizeof(v) };
	pid_t pid = start(passed, w.arbiter, w.state, "--foreground", -1);
	struct gs_transport *a;

	ASSERT_TRUE(WAIT_FOR(!gs_transport_open(w.arbiter, 0, &a)));
	EXPECT_EQ(0, gs_transport_call(a, GPUSHARE_VERSION, &v));
	gs_transport_close(a);
	return pid;
}

/* One that must give up: its exit status, and what it said. */
static int start_second(int passed, const char *socket, const char *state, const char *more)
{
	int err[2], status;
	ssize_t n, at = 0;
	pid_t pid;

	ASSERT_EQ(0, pipe2(err, O_CLOEXEC));
	pid = start(passed, socket, state, more, err[1]);
	close(err[1]);
	while ((n = read(err[0], said + at, sizeof(said) - 1 - (size_t)at)) > 0)
		at += n;
	said[at] = 0;
	close(err[0]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static ino_t inode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_ino;
}

static bool names(pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "process %d;", pid);
	return strstr(said, text);
}

static void end(pid_t pid, int sig)
{
	int status;

	kill(pid, sig);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	if (sig == SIGTERM)
		EXPECT_EQ(0, status);
}

static bool answers(void)
{
	struct gs_transport *a;

	if (gs_transport_open(w.arbiter, 0, &a))
		return false;
	gs_transport_close(a);
	return true;
}

/* By hand beside the one that systemd started, and beside one that was started by hand. */
TEST(a_second_one_by_hand)
{
	static const char *const ways[] = { "--foreground", NULL };
	ino_t its;
	pid_t pid;
	int i, fd;

	world_make(&w);
	for (i = 0; i < 4; i++) {
		fd = i < 2 ? listen_on(w.arbiter) : -1;
		pid = start_first(fd);
		its = inode_of(w.arbiter);
		EXPECT_EQ(GS_DAEMON_THERE, start_second(-1, w.arbiter, w.state, ways[i % 2]));
		EXPECT_TRUE(names(pid));
		EXPECT_TRUE(its && its == inode_of(w.arbiter));
		EXPECT_TRUE(answers());
		end(pid, SIGTERM);
		EXPECT_EQ(fd < 0 ? 0 : its, inode_of(w.arbiter));
		if (fd >= 0)
			close(fd);
	}
	world_remove(&w);
}

/* systemd starts one beside that which was started by hand, whose socket's name it took. */
TEST(a_second_one_by_systemd)
{
	pid_t pid;
	ino_t its;
	int fd;

	world_make(&w);
	pid = start_first(-1);
	fd = listen_on(w.arbiter);
	its = inode_of(w.arbiter);
	EXPECT_EQ(GS_DAEMON_THERE, start_second(fd, w.arbiter, w.state, "--foreground"));
	EXPECT_TRUE(names(pid));
	/* Whatever --socket says: the place is where its socket is. */
	EXPECT_EQ(GS_DAEMON_THERE, start_second(fd, "/nowhere/s", w.state, "--foreground"));
	EXPECT_TRUE(names(pid));
	end(pid, SIGTERM);
	EXPECT_EQ(its, inode_of(w.arbiter));
	pid = start_first(fd);		/* and now it is systemd's turn */
	end(pid, SIGTERM);
	EXPECT_EQ(its, inode_of(w.arbiter));
	world_remove(&w);
}

/* systemd listens, and nobody has come yet; or the lock's file was cleaned away. */
TEST(a_socket_that_somebody_listens_on)
{
	char lock[200];
	pid_t pid;
	ino_t its;
	int fd;

	world_make(&w);
	fd = listen_on(w.arbiter);
	its = inode_of(w.arbiter);
	EXPECT_EQ(GS_DAEMON_THERE, start_second(-1, w.arbiter, w.state, "--foreground"));
	EXPECT_TRUE(strstr(said, "systemctl start gpushared.service"));
	EXPECT_EQ(its, inode_of(w.arbiter));
	close(fd);
	pid = start_first(-1);		/* nobody does any more */
	snprintf(lock, sizeof(lock), "%s.lock", w.arbiter);
	EXPECT_EQ(0, unlink(lock));
	snprintf(lock, sizeof(lock), "%s.lock", w.state);
	EXPECT_EQ(0, unlink(lock));
	EXPECT_EQ(GS_DAEMON_THERE, start_second(-1, w.arbiter, w.state, "--foreground"));
	EXPECT_TRUE(answers());
	end(pid, SIGTERM);
	world_remove(&w);
}

TEST(a_second_one_with_the_same_state)
{
	char other[200];
	pid_t pid;
	int fd;

	world_make(&w);
	pid = start_first(-1);
	snprintf(other, sizeof(other), "%s/other", w.dir);
	EXPECT_EQ(GS_DAEMON_THERE, start_second(-1, other, w.state, "--foreground"));
	EXPECT_TRUE(names(pid));
	EXPECT_EQ(0, inode_of(other));
	fd = listen_on(other);
	EXPECT_EQ(GS_DAEMON_THERE, start_second(fd, other, w.state, "--foreground"));
	EXPECT_TRUE(names(pid));
	end(pid, SIGTERM);
	world_remove(&w);
}

TEST(kill_9_leaves_no_lock)
{
	int i, fd = -1;
	pid_t pid;

	world_make(&w);
	for (i = 0; i < 4; i++) {
		if (i == 2)
			fd = listen_on(w.arbiter);
		pid = start_first(fd);
		end(pid, SIGKILL);
	}
	world_remove(&w);
}

/* What isn't a socket or a lock of ours is left as it is. */
TEST(other_files_are_left_alone)
{
	char file[200], lock[220];
	int fd;

	world_make(&w);
	snprintf(file, sizeof(file), "%s/file", w.dir);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	ASSERT_EQ(4, write(fd, "mine", 4));
	EXPECT_EQ(1, start_second(-1, file, w.state, "--foreground"));
	EXPECT_TRUE(strstr(said, "no socket"));
	snprintf(lock, sizeof(lock), "%s.lock", w.arbiter);
	ASSERT_EQ(0, symlink(file, lock));
	EXPECT_EQ(1, start_second(-1, w.arbiter, w.state, "--foreground"));
	EXPECT_EQ(0, unlink(lock));
	snprintf(lock, sizeof(lock), "%s.lock", w.state);
	EXPECT_EQ(0, unlink(lock));
	ASSERT_EQ(0, symlink(file, lock));
	EXPECT_EQ(1, start_second(-1, w.arbiter, w.state, "--foreground"));
	EXPECT_EQ(0, inode_of(w.arbiter));
	EXPECT_EQ(4, lseek(fd, 0, SEEK_END));
	world_remove(&w);
}

/* What a program in it says, and whether it is arbitrated. */
static bool run_inside(const char *key, bool *gated, int *strict)
{
	struct gpushare_options o = { .size = sizeof(o), .flags = GPUSHARE_OPEN_STRICT };
	struct gpushare *g;
	int err[2], old = dup(2);
	ssize_t n;

	ASSERT_EQ(0, pipe2(err, O_CLOEXEC));
	dup2(err[1], 2);
	close(err[1]);
	*strict = gpushare_open(&g, key, &o);
	if (!*strict)
		gpushare_close(g);
	if (gpushare_open(&g, key, NULL) || gpushare_begin(g, GPUSHARE_FOREVER))
		return false;
	*gated = state_of(g).gated;
	gpushare_end(g);
	gpushare_close(g);
	dup2(old, 2);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	n = read(err[0], said, sizeof(said) - 1);
	said[n < 0 ? 0 : n] = 0;
	return true;
}

static void end_own(void)
{
	char path[200];
	pid_t pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/gpushare/arbiter.sock.lock", w.dir);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &pid) == 1 && pid > 1)
		kill(pid, SIGTERM);
	if (f)
		fclose(f);
	*strrchr(path, '.') = 0;
	EXPECT_TRUE(WAIT_FOR(access(path, F_OK)));
}

static int inside(int spaces)
{
	bool gated;
	int strict;

	if (unshare(spaces))
		return 4;
	if (spaces & CLONE_NEWPID) {	/* its first process */
		pid_t pid = fork();
		int status;

		if (pid)
			return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 1;
	}
	if (!run_inside("cpu:0", &gated, &strict) || gated || strict != -ENOLINK ||
	    !strstr(said, "UNGATED") || !strstr(said, "-v /run/gpushare:/run/gpushare"))
		return 2;
	setenv("GPUSHARE_ARBITER", "private", 1);
	/* In a user name space nobody has mapped, the folder's owner can't be told. */
	if (!(spaces & CLONE_NEWUSER) && (!run_inside("cpu:0", &gated, &strict) || !gated || *said))
		return 3;
	end_own();
	return 0;
}

static void set_up_own(void)
{
	world_make(&w);
	unsetenv("GPUSHARE_ARBITER");
	setenv("XDG_RUNTIME_DIR", w.dir, 1);
	setenv("GPUSHARE_DAEMON", world_daemon(), 1);
	if (!access(GS_DEVICE_NODE, F_OK) || !access(GS_SYSTEM_SOCKET, F_OK))
		SKIP("this machine has an arbiter of its own");
	if (gs_in_container())
		SKIP("this is in a container");
}

/* With the daemon's program and without the machine's socket: none of its own in silence. */
TEST(a_container_without_the_socket)
{
	static const int spaces[] = { CLONE_NEWPID, CLONE_NEWCGROUP, CLONE_NEWUSER };
	int i, status;
	pid_t pid;

	set_up_own();
	for (i = 0; i < 3; i++) {
		pid = fork();
		if (!pid)
			_exit(inside(spaces[i]));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		if (WEXITSTATUS(status) == 4)
			SKIP("name spaces take root");
		EXPECT_EQ(0, WEXITSTATUS(status));
	}
	world_remove(&w);
}

/* One that is started for a device says that it is for this user only. */
TEST(a_private_one_says_so)
{
	bool gated;
	int strict;

	set_up_own();
	EXPECT_TRUE(run_inside("test:0", &gated, &strict));
	EXPECT_EQ(-ENODEV, strict);
	EXPECT_TRUE(strstr(said, "among this user's programs only"));
	EXPECT_TRUE(strstr(said, "systemctl enable --now gpushared.socket"));
	EXPECT_TRUE(run_inside("cpu:0", &gated, &strict));
	EXPECT_FALSE(strstr(said, "among this user's"));	/* it was there already */
	EXPECT_TRUE(gated);
	end_own();
	world_remove(&w);
}

TEST_MAIN()
