// SPDX-License-Identifier: MIT
/* The daemon: its end, its start, what it finds, and its tenants meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "harness.h"
#include "world.h"

static struct world w;

/* Those that held, those that waited and those that did neither: all go on. */
TEST(kill_9_of_the_daemon)
{
	struct gpushare_state s;
	struct gpushare *g;
	uint64_t start;
	pid_t waiter;
	int status;

	world_set_up(&w);
	ASSERT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	ASSERT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	gpushare_memory(g, GPUSHARE_MEM_CHARGE, 1000, NULL);
	gpushare_memory(g, GPUSHARE_MEM_SWAP_OUT, 300, NULL);
	waiter = fork();
	if (!waiter) {
		struct gpushare *own;

		if (gpushare_open(&own, "cpu:0", NULL))
			_exit(1);
		_exit(gpushare_begin(own, GPUSHARE_FOREVER) ? 2 : 0);
	}
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").waiters == 1));
	start = now_ns();
	world_stop(&w, SIGKILL);
	ASSERT_EQ(waiter, waitpid(waiter, &status, 0));
	EXPECT_EQ(0, status);
	printf("# the waiting one went on after %llu us\n",
	       (unsigned long long)((now_ns() - start) / 1000));
	/*
	 * 100 ms is what is promised; a loaded machine may wake us later than that. Who
	 * doesn't see the end looks for the daemon after 5 s of waiting.
	 */
	EXPECT_LE(now_ns() - start, 4 * SEC);
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(SEC)));
	ASSERT_TRUE(WAIT_FOR((gpushare_state(g, &s), !s.gated)));
	EXPECT_TRUE(gpushare_may_run(g));
	EXPECT_EQ(0, gpushare_memory(g, GPUSHARE_MEM_CHARGE, 500, NULL));

	world_start(&w);
	ASSERT_TRUE(WAIT_FOR((gpushare_state(g, &s), s.gated)));
	EXPECT_FALSE(gpushare_may_run(g));	/* the new arbiter granted nothing yet */
	EXPECT_EQ(1, s.under_way);
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	gpushare_end(g);
	EXPECT_EQ(1200, stats_of(&w, GPUSHARE_STATS_CLIENT, s.client).mem_current);
	EXPECT_EQ(300, stats_of(&w, GPUSHARE_STATS_CLIENT, s.client).mem_swapped);
	gpushare_close(g);
	world_remove(&w);
}

/* One that hangs is told from one that has others to serve. */
TEST(a_daemon_that_hangs)
{
	struct tenant t = { .slice_ns = MS };
	struct gpushare *g;
	uint64_t start;
	int status;
	pid_t pid;

	if (TSAN)
		SKIP("the thread sanitizer takes a child's thread for its parent's");
	world_set_up(&w);
	world_be_patient(&w, "cpu:0");
	g = open_one("cpu:0");
	ASSERT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	t.end_ns = now_ns() + 7 * SEC;
	pid = tenant_start(&w, &t);
	ASSERT_TRUE(WAIT_FOR(world_device(&w, "cpu:0").waiters == 1));
	/* The device is held for longer than it takes to ask: it waits on, and is served. */
	sleep_ns(6 * SEC);
	EXPECT_EQ(1, world_device(&w, "cpu:0").waiters);
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_yield(g));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	EXPECT_EQ(0, kill(w.daemon, SIGSTOP));
	start = now_ns();
	gpushare_end(g);
	gpushare_yield(g);
	EXPECT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
	printf("# went on after %llu ms\n", (unsigned long long)((now_ns() - start) / MS));
	EXPECT_FALSE(state_of(g).gated);
	EXPECT_EQ(0, gpushare_begin(g, 0));	/* while it is tried again */
	gpushare_end(g);
	EXPECT_EQ(0, kill(w.daemon, SIGCONT));
	EXPECT_TRUE(WAIT_FOR(state_of(g).gated));
	gpushare_end(g);
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(20 * SEC)));
	gpushare_end(g);
	gpushare_close(g);
	world_remove(&w);
}

/* Always busy tenants live through restarts, orderly ones and others. */
TEST(restarts_under_load)
{
	struct tenant t = { .slice_ns = 300000, .end_ns = now_ns() + 4 * SEC };
	struct gpushare_device dev;
	int i, status;
	pid_t pid[6];

	world_set_up(&w);
	freopen("/dev/null", "w", stderr);
	for (i = 0; i < 6; i++)
		pid[i] = tenant_start(&w, &t);
	for (i = 0; i < 4; i++) {
		sleep_ns(400 * MS);
		world_stop(&w, i % 2 ? SIGKILL : SIGTERM);
		sleep_ns(50 * MS);
		world_start(&w);
	}
	/* All are back under arbitration. */
	WAIT_FOR((dev = world_device(&w, "cpu:0")).clients == 6 || now_ns() > t.end_ns);
	for (i = 0; i < 6; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	world_remove(&w);
}

/* Found on the bus, and what was set for it is there again when it is. */
TEST(devices_are_found)
{
	struct gpushare_device dev = { .size = sizeof(dev), .key = "pci:0000:65:00.0" };
	char dir[200], file[220];
	FILE *f;

	world_make(&w);
	snprintf(dir, sizeof(dir), "%s/0000:65:00.0", w.pci);
	mkdir(dir, 0700);
	snprintf(file, sizeof(file), "%s/class", dir);
	f = fopen(file, "w");
	fputs("0x030200\n", f);
	fclose(f);
	world_start(&w);
	EXPECT_EQ(GPUSHARE_KIND_GPU, world_device(&w, "pci:0000:65:00.0").kind);
	dev.mask = GPUSHARE_DEV_SLICE;
	dev.slice_us = 7000;
	EXPECT_EQ(0, world_call(&w, GPUSHARE_DEVICE_SET, &dev));
	unlink(file);
	world_stop(&w, SIGTERM);
	world_start(&w);
	dev.device = 0;
	EXPECT_EQ(-ENODEV, world_call(&w, GPUSHARE_DEVICE_GET, &dev));
	f = fopen(file, "w");
	fputs("0x120000\n", f);
	fclose(f);
	kill(w.daemon, SIGHUP);
	EXPECT_TRUE(WAIT_FOR(!world_call(&w, GPUSHARE_DEVICE_GET, &dev)));
	EXPECT_EQ(7000, dev.slice_us);
	world_remove(&w);
}

TEST(started_on_demand_and_ends_when_unused)
{
	struct gpushare_state s;
	struct gpushare *g;
	char path[200];
	int status;
	pid_t pid;
	FILE *f;

	world_make(&w);
	unsetenv("GPUSHARE_ARBITER");
	setenv("XDG_RUNTIME_DIR", w.dir, 1);
	setenv("GPUSHARE_DAEMON", world_daemon(), 1);
	if (!access("/dev/gpushare", F_OK) || !access("/run/gpushare/arbiter.sock", F_OK))
		SKIP("this machine has an arbiter of its own");
	if (gs_in_container())
		SKIP("in a container none is started");
	ASSERT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	gpushare_state(g, &s);
	EXPECT_TRUE(s.gated);
	snprintf(path, sizeof(path), "%s/gpushare/arbiter.sock", w.dir);
	EXPECT_STREQ(path, s.arbiter);
	/* The program has got no child, and no signal of one. */
	EXPECT_EQ(-1, waitpid(-1, &status, WNOHANG));
	EXPECT_EQ(ECHILD, errno);
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(10 * SEC)));
	gpushare_end(g);
	gpushare_close(g);
	/* A second daemon sees that one is there and leaves it alone. */
	pid = fork();
	if (!pid) {
		freopen("/dev/null", "w", stderr);
		execl(world_daemon(), "gpushared", "--socket", path, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(GS_DAEMON_THERE, WEXITSTATUS(status));
	/* Its end is by signal here: a minute of waiting would be too long. */
	strcat(path, ".lock");
	f = fopen(path, "r");
	ASSERT_TRUE(f && fscanf(f, "%d", &pid) == 1);
	fclose(f);
	EXPECT_EQ(0, kill(pid, SIGTERM));
	*strrchr(path, '.') = 0;
	EXPECT_TRUE(WAIT_FOR(access(path, F_OK)));
	world_remove(&w);
}

TEST(ends_when_unused)
{
	static const char *const more[] = { "--idle-exit", "3", NULL };
	struct gs_transport *a;
	int status;

	world_make(&w);
	world_start_with(&w, more);
	a = world_connect(&w);
	sleep_ns(4 * SEC);
	EXPECT_EQ(0, waitpid(w.daemon, &status, WNOHANG));	/* it is in use */
	gs_transport_close(a);
	EXPECT_EQ(w.daemon, waitpid(w.daemon, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-1, access(w.arbiter, F_OK));
	w.daemon = 0;
	world_remove(&w);
}

TEST(a_bad_directory_is_refused)
{
	char path[108], dir[200];

	world_make(&w);
	unsetenv("GPUSHARE_ARBITER");
	setenv("XDG_RUNTIME_DIR", w.dir, 1);
	EXPECT_EQ(-ENOENT, gs_user_socket(path, sizeof(path), false));
	EXPECT_EQ(0, gs_user_socket(path, sizeof(path), true));
	snprintf(dir, sizeof(dir), "%s/gpushare", w.dir);
	chmod(dir, 0755);
	EXPECT_EQ(-EPERM, gs_user_socket(path, sizeof(path), true));
	rmdir(dir);
	EXPECT_EQ(0, symlink("/tmp", dir));
	EXPECT_EQ(-EPERM, gs_user_socket(path, sizeof(path), true));
	EXPECT_EQ(-ENAMETOOLONG, gs_user_socket(path, 20, true));
	world_remove(&w);
}

#define SQUATTED 54321

/* Without XDG_RUNTIME_DIR: somebody else has the name in /tmp, and the way out. */
TEST(a_squatter_is_named)
{
	char path[108], dir[64], run[64], text[400];
	int up[2], status;
	pid_t pid;
	ssize_t n;

	if (geteuid())
		SKIP("not root");
	if (!access("/dev/gpushare", F_OK) || !access("/run/gpushare/arbiter.sock", F_OK))
		SKIP("this machine has an arbiter of its own");
	snprintf(dir, sizeof(dir), "/tmp/gpushare-%u", SQUATTED);
	snprintf(run, sizeof(run), "/run/user/%u", SQUATTED);
	ASSERT_EQ(0, mkdir(dir, 0777));
	ASSERT_EQ(0, pipe(up));
	pid = fork();
	if (!pid) {
		struct gpushare *g;

		if (setresuid(SQUATTED, SQUATTED, SQUATTED))
			_exit(2);
		dup2(up[1], 2);
		unsetenv("GPUSHARE_ARBITER");
		unsetenv("XDG_RUNTIME_DIR");
		_exit(gpushare_open(&g, "cpu:0", NULL) ||
		      gs_user_socket(path, sizeof(path), true) != -EPERM);
	}
	close(up[1]);
	n = read(up[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	snprintf(path, sizeof(path), "%s isn't this user's alone (remove it", dir);
	EXPECT_TRUE(strstr(text, path));
	/* The usual place is taken where it is there, and is the user's. */
	mkdir("/run/user", 0755);
	ASSERT_EQ(0, mkdir(run, 0700));
	pid = fork();
	if (!pid) {
		if (setresuid(SQUATTED, SQUATTED, SQUATTED))
			_exit(2);
		unsetenv("XDG_RUNTIME_DIR");
		_exit(gs_user_socket(path, sizeof(path), true) != -EPERM);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, chown(run, SQUATTED, SQUATTED));
	pid = fork();
	if (!pid) {
		if (setresuid(SQUATTED, SQUATTED, SQUATTED))
			_exit(2);
		unsetenv("XDG_RUNTIME_DIR");
		_exit(gs_user_socket(path, sizeof(path), true) || strncmp(path, run, strlen(run)));
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	rmdir(dir);
	snprintf(path, sizeof(path), "%s/gpushare", run);
	rmdir(path);
	rmdir(run);
}

/* As systemd does it: the socket is passed, and READY goes to NOTIFY_SOCKET. */
TEST(socket_activation_and_notification)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char text[64] = "", pid_text[20];
	struct timeval limit = { 20, 0 };
	int fd, ready;

	world_make(&w);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	strcpy(addr.sun_path, w.arbiter);
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	ASSERT_EQ(0, listen(fd, 16));
	ready = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/notify", w.dir);
	ASSERT_EQ(0, bind(ready, (struct sockaddr *)&addr, sizeof(addr)));
	setsockopt(ready, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	w.daemon = fork();
	if (!w.daemon) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd, 3);
		snprintf(pid_text, sizeof(pid_text), "%d", getpid());
		setenv("LISTEN_PID", pid_text, 1);
		setenv("LISTEN_FDS", "1", 1);
		setenv("NOTIFY_SOCKET", addr.sun_path, 1);
		execl(world_daemon(), "gpushared", "--system", "--foreground", "--socket", w.arbiter,
		      "--state", w.state, "--pci", w.pci, NULL);
		_exit(127);
	}
	EXPECT_EQ(7, recv(ready, text, sizeof(text) - 1, 0));
	EXPECT_STREQ("READY=1", text);
	gs_transport_close(world_connect(&w));
	world_stop(&w, SIGTERM);
	EXPECT_EQ(10, recv(ready, text, sizeof(text) - 1, 0));
	EXPECT_EQ(0, access(w.arbiter, F_OK));	/* systemd's, not ours */
	world_remove(&w);
}

/* Nobody reads what it says, and there is no room for more. */
TEST(nobody_reads_its_log)
{
	int line[2], old = dup(STDERR_FILENO), i;
	struct gpushare_version v = { .size = sizeof(v) };
	char much[4096] = "", dir[200];
	FILE *f;

	world_make(&w);
	for (i = 0; i < 80; i++) {	/* more than there is room for, which it says */
		snprintf(dir, sizeof(dir), "%s/d%d", w.pci, i);
		ASSERT_EQ(0, mkdir(dir, 0755));
		strcat(dir, "/class");
		f = fopen(dir, "w");
		fputs("0x030000\n", f);
		fclose(f);
	}
	ASSERT_EQ(0, pipe(line));
	ASSERT_GE(fcntl(line[1], F_SETFL, O_NONBLOCK), 0);
	while (write(line[1], much, sizeof(much)) > 0)
		;
	ASSERT_GE(fcntl(line[1], F_SETFL, 0), 0);
	dup2(line[1], STDERR_FILENO);
	world_start(&w);
	dup2(old, STDERR_FILENO);
	for (i = 0; i < 3; i++) {
		kill(w.daemon, SIGHUP);
		EXPECT_EQ(0, world_call(&w, GPUSHARE_VERSION, &v));
	}
	world_stop(&w, SIGTERM);
	world_remove(&w);
}

/* It says that it lives as long as it does. */
TEST(the_watchdog)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { 20, 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), i, n = 0;
	char text[300];

	world_make(&w);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/notify", w.dir);
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setenv("NOTIFY_SOCKET", addr.sun_path, 1);
	setenv("WATCHDOG_USEC", "300000", 1);
	world_start(&w);
	unsetenv("WATCHDOG_USEC");
	unsetenv("NOTIFY_SOCKET");
	for (i = 0; i < 5; i++) {
		memset(text, 0, sizeof(text));
		ASSERT_GT(recv(fd, text, sizeof(text) - 1, 0), 0);
		n += !!strstr(text, "WATCHDOG=1") && !!strstr(text, "longest round");
	}
	EXPECT_EQ(4, n);		/* and READY=1 */
	kill(w.daemon, SIGSTOP);
	while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0)
		;
	sleep_ns(SEC);
	EXPECT_EQ(-1, recv(fd, text, sizeof(text), MSG_DONTWAIT));
	kill(w.daemon, SIGCONT);
	EXPECT_GT(recv(fd, text, sizeof(text), 0), 0);
	world_remove(&w);
}

/* A user's limit: those beyond are told so, and run ungated; others see that there were some. */
TEST(who_has_no_room_is_told)
{
	static const char *const more[] = { "--system", NULL };
	struct gpushare_options strict = { .size = sizeof(strict), .flags = GPUSHARE_OPEN_STRICT };
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "cpu:0", .kind = GPUSHARE_KIND_CPU,
	};
	struct rlimit few = { 364, 364 };
	struct gs_transport *a;
	int err[2], status;
	char text[600] = "";
	pid_t pid;

	if (getuid())
		SKIP("users of one's own take root");
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	world_make(&w);
	chmod(w.dir, 0755);
	world_start_with(&w, more);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	ASSERT_EQ(0, pipe(err));
	pid = fork();
	if (!pid) {
		struct gpushare *g;
		int i, rc = 0;

		if (setgid(65534) || setuid(65534))
			_exit(1);
		dup2(err[1], 2);
		for (i = 0; i < 100 && !rc; i++)
			rc = gpushare_open(&g, "cpu:0", &strict);
		if (i < 10 || i == 100 || rc != -EUSERS)
			_exit(2);
		if (gpushare_open(&g, "cpu:0", NULL) || state_of(g).gated ||
		    gpushare_begin(g, GPUSHARE_FOREVER))
			_exit(3);
		_exit(0);
	}
	close(err[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_GT(read(err[0], text, sizeof(text) - 1), 0);
	EXPECT_TRUE(strstr(text, "UNGATED") && strstr(text, "has no room"));
	a = world_connect(&w);
	EXPECT_GE(gs_transport_turned_away(a), 2);
	gs_transport_close(a);
	world_remove(&w);
}

TEST_MAIN()
