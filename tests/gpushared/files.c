// SPDX-License-Identifier: MIT
/*
 * Files that hang whoever touches them, given to the daemon in every way there is.
 * It answers others meanwhile, ends when it is told to, and works when they are gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "harness.h"
#include "hungfs.h"
#include "ulib/backend.h"
#include "ulib/wire.h"
#include "world.h"

static struct world w;
static struct hungfs fs;

static int raw_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, w.arbiter);
	ASSERT_EQ(0, connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

static int send_with(int to, const void *data, size_t size, const int *files, unsigned int n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * 253)] = { 0 };
	struct iovec iov = { (void *)data, size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = CMSG_SPACE(sizeof(int) * n),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(c), files, sizeof(int) * n);
	return sendmsg(to, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* A command that is well formed, with a file. */
static int send_command(int to, unsigned long cmd, int file)
{
	struct {
		struct gs_wire head;
		char body[GS_WIRE_STRUCT_MAX];
	} m = { .head = { .magic = GS_WIRE_MAGIC, .cmd = (__u32)cmd, .cookie = 7 } };
	struct gpushare_share share = {
		.size = sizeof(share), .mask = GPUSHARE_SHARE_WEIGHT, .weight = 5,
		.authority_fd = -1,
	};
	uint32_t size = _IOC_SIZE(cmd);

	if (cmd == GPUSHARE_SHARE_SET || cmd == GPUSHARE_SHARE_GET) {
		share.mask = cmd == GPUSHARE_SHARE_SET ? GPUSHARE_SHARE_WEIGHT : 0;
		memcpy(m.body, &share, sizeof(share));
	} else if (size) {
		memcpy(m.body, &size, sizeof(size));
	}
	return send_with(to, &m, sizeof(m.head) + size, &file, 1);
}

/* The result of the answer, or 1 if the line was cut. */
static int answer(int fd)
{
	char buf[sizeof(struct gs_wire) + GS_WIRE_STRUCT_MAX];
	struct gs_wire head;

	if (recv(fd, buf, sizeof(buf), 0) < (ssize_t)sizeof(head))
		return 1;
	memcpy(&head, buf, sizeof(head));
	return head.result;
}

/* Somebody else, whom it mustn't touch. */
static void others_are_served(void)
{
	struct gpushare_version v = { .size = sizeof(v) };
	struct gpushare *g;

	EXPECT_EQ(0, world_call(&w, GPUSHARE_VERSION, &v));
	g = open_one("cpu:0");
	EXPECT_EQ(0, gpushare_begin(g, gpushare_after(20 * SEC)));
	gpushare_end(g);
	gpushare_close(g);
}

/*
 * The attacker does its worst, says so and stays. What hangs does so until it is killed,
 * with the server of its file system.
 */
static pid_t attack(void (*fn)(void), bool writeback)
{
	int *said = world_shared(), status, err;
	char dir[100];
	pid_t pid;

	snprintf(dir, sizeof(dir), "%s/fs", w.dir);
	pid = fork();
	if (!pid) {
		alarm(0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		err = hungfs_start(&fs, dir, writeback);
		if (err) {
			printf("# no FUSE: %s\n", strerror(-err));
			_exit(4);
		}
		fn();
		if (test_failures)
			_exit(1);
		__atomic_store_n(said, fs.server, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	while (!(fs.server = __atomic_load_n(said, __ATOMIC_ACQUIRE))) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
				SKIP("FUSE can't be mounted here");
			ASSERT_EQ(0, status);
			test_end(1);
		}
		sleep_ns(2 * MS);
	}
	return pid;
}

/* The attacker's own end hangs as well, until there is no server any more. */
static void attack_ends(pid_t pid)
{
	kill(fs.server, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Those that wait for an answer by the server. */
static int hung_file(void)
{
	int fd = open(fs.file, O_RDWR | O_CLOEXEC);

	ASSERT_GE(fd, 0);
	return fd;
}

static void hang_all(void)
{
	static const unsigned int ops[] = {
		FUSE_GETATTR, FUSE_STATFS, FUSE_FLUSH, FUSE_RELEASE, FUSE_WRITE, FUSE_READ,
		FUSE_GETXATTR, FUSE_IOCTL, FUSE_POLL,
	};
	unsigned int i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		hungfs_hang(&fs, ops[i]);
}

static const unsigned long commands[] = {
	GPUSHARE_VERSION, GPUSHARE_ATTACH, GPUSHARE_DETACH, GPUSHARE_ACQUIRE, GPUSHARE_YIELD,
	GPUSHARE_MEMORY, GPUSHARE_DESCRIBE, GPUSHARE_SHARE_GET, GPUSHARE_DEVICE_ADD,
	GPUSHARE_DEVICE_SET, GPUSHARE_DEVICE_REMOVE, GPUSHARE_DEVICE_GET, GPUSHARE_STATS,
	GPUSHARE_GROUP, GPUSHARE_EVENTS, _IOWR(GPUSHARE_IOC, 0x7f, int), GPUSHARE_SHARE_SET,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void with_each_command(void)
{
	unsigned int i;
	int fd[COMMANDS];

	for (i = 0; i < COMMANDS; i++)
		fd[i] = hung_file();
	hang_all();
	for (i = 0; i < COMMANDS; i++)
		EXPECT_EQ(0, send_command(raw_connect(), commands[i], fd[i]));
}

TEST(with_each_command_a_hung_file)
{
	pid_t pid;

	world_set_up(&w);
	pid = attack(with_each_command, false);
	others_are_served();
	attack_ends(pid);
	others_are_served();
	world_remove(&w);
}

/* Its line is cut, and it is told why; a second and a third one get no other porter. */
static void three_times(void)
{
	int i, to[3], fd[3];

	for (i = 0; i < 3; i++) {
		to[i] = raw_connect();
		fd[i] = hung_file();
	}
	hungfs_hang(&fs, FUSE_STATFS);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, send_command(to[i], GPUSHARE_SHARE_SET, fd[i]));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-ETIMEDOUT, answer(to[i]));
		EXPECT_EQ(1, answer(to[i]));
	}
}

TEST(who_sends_a_hung_file_is_told)
{
	pid_t pid;

	world_set_up(&w);
	pid = attack(three_times, false);
	others_are_served();
	attack_ends(pid);
	world_remove(&w);
}

static int dirt;

static void *make_dirt(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; ; i++)
		if (pwrite(dirt, "x", 1, i % 200 * 4096) != 1)
			return NULL;
}

/*
 * To drop these is to wait until what was written by another file of the same inode is
 * where it belongs. The daemon sleeps while they are sent, so that nobody else has them
 * when that begins to hang.
 */
static void not_even_dropped(void)
{
	int to[COMMANDS], fd[COMMANDS];
	unsigned int i;
	pthread_t t;

	for (i = 0; i < COMMANDS; i++) {
		to[i] = raw_connect();
		fd[i] = hung_file();
	}
	dirt = hung_file();
	kill(w.daemon, SIGSTOP);
	for (i = 0; i < COMMANDS; i++) {
		ASSERT_EQ(0, send_command(to[i], commands[i], fd[i]));
		close(fd[i]);
	}
	ASSERT_EQ(0, pthread_create(&t, NULL, make_dirt, NULL));
	sleep_ns(20 * MS);
	hungfs_hang(&fs, FUSE_WRITE);
}

TEST(a_file_that_cant_be_dropped)
{
	pid_t pid;

	world_set_up(&w);
	pid = attack(not_even_dropped, true);
	kill(w.daemon, SIGCONT);
	others_are_served();
	attack_ends(pid);
	world_remove(&w);
}

/* Closing it waits until all is sent, to somebody who never reads. */
static int lingering(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct linger lg = { 1, 100000 };
	static char much[1 << 16];
	socklen_t len = sizeof(at);
	int door, fd;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(0, bind(door, (struct sockaddr *)&at, len));
	ASSERT_EQ(0, listen(door, 1));
	ASSERT_EQ(0, getsockname(door, (struct sockaddr *)&at, &len));
	ASSERT_EQ(0, connect(fd, (struct sockaddr *)&at, len));
	ASSERT_GE(accept(door, NULL, NULL), 0);
	while (send(fd, much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &lg, sizeof(lg)));
	return fd;
}

/* Without any file system. Here, too, the daemon has the last of each. */
TEST(sockets_that_linger)
{
	struct gpushare_version v = { .size = sizeof(v) };
	unsigned int i, j;
	int to, fd;

	world_set_up(&w);
	for (i = 0; i < COMMANDS; i++) {
		to = raw_connect();
		kill(w.daemon, SIGSTOP);
		for (j = 0; j < 3; j++) {
			fd = lingering();
			EXPECT_EQ(0, send_command(to, commands[i], fd));
			close(fd);
		}
		kill(w.daemon, SIGCONT);
		if (i % 2)
			close(to);
		EXPECT_EQ(0, world_call(&w, GPUSHARE_VERSION, &v));
	}
	others_are_served();
	world_remove(&w);
}

static void many_and_leave(void)
{
	int i, j, fd[8][4], line[8];

	for (i = 0; i < 8; i++) {
		line[i] = raw_connect();
		for (j = 0; j < 4; j++)
			fd[i][j] = hung_file();
	}
	hang_all();
	for (i = 0; i < 8; i++) {
		/* The first is taken; the others lie in the connection when it ends. */
		send_command(line[i], GPUSHARE_SHARE_SET, fd[i][0]);
		for (j = 0; j < 4; j++)
			send_with(line[i], "rubbish", 7, &fd[i][j], 1);
		close(line[i]);
	}
}

static bool gone_within(pid_t pid, uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		sleep_ns(2 * MS);
	}
	return false;
}

/* While connections hang that can't be closed. A new one takes its place, and all return. */
static void ends_by(int sig)
{
	struct gpushare_version v = { .size = sizeof(v) };
	pid_t pid;

	world_set_up(&w);
	pid = attack(many_and_leave, false);
	others_are_served();
	kill(w.daemon, sig);
	EXPECT_TRUE(gone_within(w.daemon, 20 * SEC));
	world_start(&w);
	EXPECT_EQ(0, world_call(&w, GPUSHARE_VERSION, &v));
	others_are_served();
	attack_ends(pid);
	world_remove(&w);
}

TEST(sigterm_ends_it)
{
	ends_by(SIGTERM);
}

TEST(sigkill_ends_it)
{
	ends_by(SIGKILL);
}

/* Its sockets hold the only files. */
TEST(killed_with_files_in_its_sockets)
{
	pid_t pid;

	world_set_up(&w);
	pid = attack(not_even_dropped, true);
	kill(w.daemon, SIGKILL);
	EXPECT_TRUE(gone_within(w.daemon, 20 * SEC));
	world_start(&w);
	others_are_served();
	attack_ends(pid);
	world_remove(&w);
}

static void *memory;

static void *wait_in(void *arg)
{
	epoll_wait(*(int *)arg, memory, 4, -1);
	return NULL;
}

/*
 * Its doorbell is in an epoll set of its own, which is telling into memory that hangs:
 * with the set's mutex held, which closing the bell waits for.
 */
static void a_bell_in_a_hung_set(void)
{
	struct gpushare_attach at = { .size = sizeof(at), .set_fd = -1, .key = "cpu:0" };
	struct epoll_event ev = { .events = EPOLLIN };
	static struct gs_transport a;
	struct gs_pages p = { .length = 4096 };
	static int set;
	pthread_t t;

	p.grant = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p.client = (void *)((char *)p.grant + 4096);
	ASSERT_EQ(0, gs_transport_connect(&a, w.arbiter, 0));
	ASSERT_EQ(0, a.ops->attach(&a, &at, &p, 0));
	ASSERT_GE(a.bell, 0);
	memory = hungfs_memory(&fs);
	ASSERT_TRUE(memory);
	set = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(0, epoll_ctl(set, EPOLL_CTL_ADD, a.bell, &ev));
	ASSERT_EQ(0, epoll_ctl(set, EPOLL_CTL_ADD, eventfd(1, EFD_CLOEXEC), &ev));
	ASSERT_EQ(0, pthread_create(&t, NULL, wait_in, &set));
	while (!fs.page->asked[FUSE_READ])
		sleep_ns(2 * MS);
	close(a.bell);
	close(a.fd);
}

TEST(a_doorbell_that_cant_be_closed)
{
	pid_t pid;

	world_set_up(&w);
	pid = attack(a_bell_in_a_hung_set, false);
	others_are_served();
	attack_ends(pid);
	world_remove(&w);
}

/* One lists a directory into memory that hangs, one waits to make something there. */
static void hang_directory(const char *path)
{
	char file[300];
	int dir;

	memory = hungfs_memory(&fs);
	ASSERT_TRUE(memory);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_GE(dir, 0);
	snprintf(file, sizeof(file), "%s/not\na name", path);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		syscall(SYS_getdents64, dir, memory, 4096);
		_exit(0);
	}
	while (!fs.page->asked[FUSE_READ])
		sleep_ns(2 * MS);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		mkdir(file, 0700);
		_exit(0);
	}
	sleep_ns(100 * MS);
}

static void hang_own_proc(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", getpid());
	hang_directory(path);
	EXPECT_EQ(-ETIMEDOUT, answer(raw_connect()));
	EXPECT_EQ(-ETIMEDOUT, answer(raw_connect()));
	raw_connect();
}

TEST(who_cant_be_looked_up)
{
	pid_t pid;

	world_set_up(&w);
	pid = attack(hang_own_proc, false);
	others_are_served();
	attack_ends(pid);
	others_are_served();
	world_remove(&w);
}

static char cgroups[200];	/* a cgroup of this test's */

static bool have_cgroups(void)
{
	char line[1000], mount[150] = "";
	FILE *f = fopen("/proc/mounts", "re");

	while (f && fgets(line, sizeof(line), f) && !mount[0])
		if (strstr(line, " cgroup2 "))
			sscanf(line, "%*s %149s", mount);
	if (f)
		fclose(f);
	snprintf(cgroups, sizeof(cgroups), "%s/gpushare-files-%d", mount, getpid());
	return mount[0] && !mkdir(cgroups, 0755);
}

static void share_of(const char *name)
{
	struct gpushare_share s = {
		.size = sizeof(s), .authority_fd = -1, .mask = GPUSHARE_SHARE_WEIGHT, .weight = 9,
	};
	char path[220];

	snprintf(path, sizeof(path), "%s/%s", cgroups, name);
	ASSERT_EQ(0, mkdir(path, 0755));
	s.cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	EXPECT_EQ(0, world_call(&w, GPUSHARE_SHARE_SET, &s));
	close(s.cgroup_fd);
}

static void remove_cgroup(const char *name)
{
	char path[220];

	snprintf(path, sizeof(path), "%s/%s", cgroups, name);
	EXPECT_EQ(0, rmdir(path));
}

static void hang_cgroups(void)
{
	hang_directory(cgroups);
}

/* Where a group was removed from, nothing can be looked up any more. */
TEST(a_cgroup_that_cant_be_looked_up)
{
	struct gpushare_share s, by_id = {
		.size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1, .group = 999999999,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = 9,
	};
	unsigned int n = 0;
	uint64_t last = 0;
	pid_t pid;

	world_set_up(&w);
	if (!have_cgroups()) {
		world_remove(&w);
		SKIP("no cgroup can be made here");
	}
	share_of("stays");
	share_of("goes");
	share_of("went");
	remove_cgroup("went");
	pid = attack(hang_cgroups, false);
	others_are_served();
	for (;;) {
		s = (struct gpushare_share){
			.size = sizeof(s), .flags = GPUSHARE_GET_NEXT, .group = last,
			.cgroup_fd = -1, .authority_fd = -1,
		};
		if (world_call(&w, GPUSHARE_SHARE_GET, &s))
			break;
		n += s.kind == GPUSHARE_GROUP_CGROUP;
		last = s.group;
	}
	EXPECT_EQ(3, n);	/* the root, and two */
	EXPECT_EQ(-ENOENT, world_call(&w, GPUSHARE_SHARE_SET, &by_id));
	others_are_served();
	attack_ends(pid);
	remove_cgroup("goes");
	remove_cgroup("stays");
	EXPECT_EQ(0, rmdir(cgroups));
	world_remove(&w);
}

/* A socket in a message in a socket, and so on, with one that lingers at the end. */
static int nested(unsigned int depth)
{
	int fd = lingering(), pair[2];

	while (depth--) {
		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair));
		ASSERT_EQ(0, send_with(pair[0], "x", 1, &fd, 1));
		close(fd);
		close(pair[0]);
		fd = pair[1];
	}
	return fd;
}

static int huge(void)
{
	int fd = memfd_create("huge", MFD_CLOEXEC);

	ASSERT_EQ(0, ftruncate(fd, 1ll << 50));
	return fd;
}

static int a_pipe(void)
{
	int fd[2];

	ASSERT_EQ(0, pipe2(fd, O_CLOEXEC));
	return fd[0];
}

/* None of them is a cgroup, nor a message at all when there are too many. */
TEST(files_of_all_kinds)
{
	int fd, i, to, many[253];

	world_set_up(&w);
	for (i = 0; i < 10; i++) {
		to = raw_connect();
		fd = i == 0 ? a_pipe() : i == 1 ? huge() : i == 2 ? nested(3) :
		     i == 3 ? open("/dev/null", O_RDWR | O_CLOEXEC) :
		     i == 4 ? open("/", O_PATH | O_CLOEXEC) :
		     i == 5 ? epoll_create1(EPOLL_CLOEXEC) :
		     i == 6 ? posix_openpt(O_RDWR | O_NOCTTY) :
		     i == 7 ? open("/proc/self/mem", O_RDWR | O_CLOEXEC) :
		     i == 8 ? dup(to) : open("/dev/zero", O_RDONLY | O_CLOEXEC);
		if (fd < 0 && i == 6)	/* no /dev/pts is mounted */
			fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, send_command(to, GPUSHARE_SHARE_SET, fd));
		EXPECT_EQ(-EBADF, answer(to));
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		ASSERT_EQ(0, send_command(to, GPUSHARE_VERSION, fd));
		EXPECT_EQ(1, answer(to));
		close(to);
	}
	for (i = 0; i < 253; i++)
		many[i] = 0;
	to = raw_connect();
	EXPECT_EQ(0, send_with(to, "", 0, many, 253));
	EXPECT_EQ(1, answer(to));
	others_are_served();
	world_remove(&w);
}

TEST_MAIN()
