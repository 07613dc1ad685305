// SPDX-License-Identifier: MIT
/*
 * Death in its many forms: whatever ends a client's address space gives back
 * what it held, at that moment, and another address space can't use it.
 */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/ptrace.h>
#include "lib.h"

static int go[2];

static uint32_t setup(void)
{
	need_arbiter();
	ASSERT_EQ(0, pipe(go));
	return device_new();
}

static int clients_of(uint32_t device)
{
	struct gpushare_device d = { .size = sizeof(d), .device = device };
	int fd = arb_open(), r = arb_call(fd, GPUSHARE_DEVICE_GET, &d);

	close(fd);
	return r ? r : (int)d.clients;
}

/* A child that holds the device and sits there. */
static pid_t holder(uint32_t device)
{
	struct client c;
	pid_t pid;
	char ch;
	int up[2];

	ASSERT_EQ(0, pipe(up));
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		CHILD(write(up[1], "", 1) == 1);
		for (;;)
			pause();
	}
	close(up[1]);
	ASSERT_EQ(1, read(up[0], &ch, 1));
	close(up[0]);
	return pid;
}

TEST(kill_9_of_a_holder)
{
	uint32_t device = setup();
	struct client c;
	pid_t pid = holder(device);

	c = client_new(device);
	EXPECT_EQ(-EAGAIN, acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0));
	kill(pid, SIGKILL);
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	reap(pid);
	EXPECT_EQ(1, clients_of(device));
	device_remove(device);
}

/*
 * A killed process that doesn't get on with dying, here as it is traced, has lost the
 * device all the same: it won't run again. Nobody overruns on this device.
 */
TEST(who_waits_for_the_killed_need_not_wait_for_their_end)
{
	uint32_t device = setup();
	struct client c;
	int status;
	pid_t pid = holder(device);

	ONLY_MODULE("a look at who is about to end");
	c = client_new(device);
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT));
	EXPECT_EQ(-ETIMEDOUT, acquire(&c, 0, 100));	/* it lives */
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, __WALL));
	if (!WIFSTOPPED(status))
		SKIP("this kernel doesn't stop the killed");
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	EXPECT_EQ(2, clients_of(device));
	EXPECT_EQ(0, ptrace(PTRACE_CONT, pid, 0, 0));
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_TRUE(EVENTUALLY(clients_of(device) == 1));
	device_remove(device);
}

static int sibling(void *arg)
{
	hold(arg);
	_exit(0);
}

/* But while another process uses its address space the client goes on. */
TEST(a_sibling_of_the_killed_goes_on)
{
	uint32_t device = setup();
	static char stack[64 << 10];
	int go[2], up[2];
	struct client c;
	pid_t pid, other;
	char ch;

	ONLY_MODULE("clients of an address space, not of a process");
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(up));
	c = client_new(device);
	pid = fork();
	if (!pid) {
		struct client in;

		CHILD(!client_open(&in, device));
		CHILD(!acquire(&in, 0, 0));
		CHILD(clone(sibling, stack + sizeof(stack), CLONE_VM | CLONE_PARENT | SIGCHLD,
			    go) > 0);
		CHILD(write(up[1], "", 1) == 1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(up[0], &ch, 1));
	ASSERT_EQ(0, ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, __WALL));
	EXPECT_EQ(-ETIMEDOUT, acquire(&c, 0, 300));
	ptrace(PTRACE_CONT, pid, 0, 0);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_EQ(-ETIMEDOUT, acquire(&c, 0, 300));
	step(go);
	other = wait(NULL);
	EXPECT_LT(0, other);
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	device_remove(device);
}

/* ACQUIRE, YIELD with AGAIN, and both for ANY of a set: these block. */
TEST(kill_9_while_blocked)
{
	uint32_t device = setup(), other = device_new();
	struct client c, o, w, v;
	pid_t pid;
	int way;

	c = client_new(device);
	o = client_new(other);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	ASSERT_EQ(0, acquire(&o, 0, 0));
	for (way = 0; way < 4; way++) {
		unsigned int any = way & 2 ? GPUSHARE_WAIT_ANY : 0;

		pid = fork();
		if (!pid) {
			CHILD(!client_open(&w, device));
			CHILD(!client_open_set(&v, other, w.fd));
			if (way & 1)
				yield(&w, any | GPUSHARE_WAIT_AGAIN, 0);
			else
				acquire(&w, any, 0);
			_exit(1);
		}
		EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 1 && o.grant->waiters == !!any &&
				       blocked(pid)));
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, reap(pid));
		EXPECT_TRUE(EVENTUALLY(clients_of(device) == 1 && clients_of(other) == 1));
		EXPECT_EQ(0, c.grant->waiters);
		EXPECT_EQ(0, o.grant->waiters);
	}
	EXPECT_EQ(0, yield(&c, GPUSHARE_WAIT_AGAIN, 1000));
	device_remove(device);
	device_remove(other);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(a_signal_ends_the_wait_and_takes_the_request_back)
{
	struct sigaction sa = { .sa_handler = on_signal };	/* no SA_RESTART */
	uint32_t device = setup();
	struct client c, w;
	pid_t pid;

	ONLY_MODULE("calls that a signal ends");
	c = client_new(device);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	pid = fork();
	if (!pid) {
		sigaction(SIGUSR1, &sa, NULL);
		CHILD(!client_open(&w, device));
		CHILD(acquire(&w, 0, 0) == -EINTR);
		CHILD(!(word(&w) & GPUSHARE_WAITING));
		hold(go);
		_exit(0);
	}
	EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 1 && blocked(pid)));
	kill(pid, SIGUSR1);
	EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 0));
	step(go);
	EXPECT_EQ(0, reap(pid));
	device_remove(device);
}

TEST(a_restarted_wait_goes_on)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	uint32_t device = setup();
	struct client c, w;
	int i;
	pid_t pid;

	c = client_new(device);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	pid = fork();
	if (!pid) {
		sigaction(SIGUSR1, &sa, NULL);
		CHILD(!client_open(&w, device));
		CHILD(!acquire(&w, 0, 0) && granted(&w));
		_exit(0);
	}
	EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 1 && blocked(pid)));
	for (i = 0; i < 10; i++) {
		kill(pid, SIGUSR1);
		nap(5);
	}
	EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 1));
	EXPECT_EQ(0, yield(&c, 0, 0));
	EXPECT_EQ(0, reap(pid));
	device_remove(device);
}

TEST(a_forked_child_has_neither_page_nor_client)
{
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = GPUSHARE_FOREVER };
	struct gpushare_memory m = { .size = sizeof(m), .op = GPUSHARE_MEM_CHARGE, .bytes = 1 };
	struct gpushare_describe d = { .size = sizeof(d), .threads = 1 };
	uint32_t device = setup();
	struct gpushare_stats s;
	struct client c;
	pid_t pid;

	ONLY_MODULE("a look at who gives a command");
	c = client_new(device);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	pid = fork();
	if (!pid) {
		CHILD(arb_call(c.fd, GPUSHARE_ACQUIRE, &w) == -EXDEV);
		CHILD(arb_call(c.fd, GPUSHARE_YIELD, &w) == -EXDEV);
		CHILD(arb_call(c.fd, GPUSHARE_MEMORY, &m) == -EXDEV);
		CHILD(arb_call(c.fd, GPUSHARE_DESCRIBE, &d) == -EXDEV);
		CHILD(arb_call(c.fd, GPUSHARE_DETACH, NULL) == -EXDEV);
		CHILD(stats(c.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s) == -EXDEV);
		CHILD(!arb_map(c.fd, GPUSHARE_OFF_GRANT, PROT_READ));
		CHILD(!arb_map(c.fd, GPUSHARE_OFF_CLIENT, PROT_READ | PROT_WRITE));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(granted(&c));	/* the child's end was none of the client's */
	pid = fork();
	if (!pid)
		_exit((int)word(&c));
	EXPECT_EQ(128 + SIGSEGV, reap(pid));
	EXPECT_TRUE(granted(&c));
	device_remove(device);
}

TEST(the_owner_dies_while_its_child_has_the_file)
{
	uint32_t device = setup();
	struct client c, o;
	pid_t pid;

	pid = fork();
	if (!pid) {
		CHILD(!client_open(&o, device));
		CHILD(!acquire(&o, 0, 0));
		if (!fork()) {
			hold(go);		/* keeps o.fd open */
			_exit(0);
		}
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	c = client_new(device);
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	/* A client's grant is free a moment before it goes. */
	EXPECT_TRUE(EVENTUALLY(clients_of(device) == 1));
	step(go);
	device_remove(device);
}

TEST(exec_ends_the_client)
{
	uint32_t device = setup();
	struct client c, o;
	pid_t pid;

	pid = fork();
	if (!pid) {
		CHILD(!client_open(&o, device));
		CHILD(!acquire(&o, 0, 0));
		if (arb_is_module())
			fcntl(o.fd, F_SETFD, 0);	/* the file survives, or is closed */
		step(go);
		execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	hold(go);
	c = client_new(device);
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	/* A client's grant is free a moment before it goes. */
	EXPECT_TRUE(EVENTUALLY(clients_of(device) == 1));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	reap(pid);
	device_remove(device);
}

/* Sends or takes a file over a socket. */
static int pass(int sock, int fd)
{
	char buf[CMSG_SPACE(sizeof(int))] = {}, ch = 0;
	struct iovec io = { &ch, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = sizeof(buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (fd >= 0) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
		return sendmsg(sock, &m, 0) == 1 ? 0 : -1;
	}
	if (recvmsg(sock, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

TEST(a_passed_file_is_no_client_of_the_receiver)
{
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = GPUSHARE_FOREVER };
	uint32_t device = setup();
	struct client c, o;
	int sv[2], fd;
	pid_t pid;

	ONLY_MODULE("a look at who gives a command");
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&o, device));
		CHILD(!acquire(&o, 0, 0));
		CHILD(!pass(sv[0], o.fd));
		hold(go);
		_exit(0);
	}
	fd = pass(sv[1], -1);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EXDEV, arb_call(fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_EQ(-EXDEV, arb_call(fd, GPUSHARE_DETACH, NULL));
	EXPECT_TRUE(!arb_map(fd, GPUSHARE_OFF_GRANT, PROT_READ));
	step(go);
	EXPECT_EQ(0, reap(pid));
	/* the sender's death freed the grant, although we still have its file */
	c = client_new(device);
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	device_remove(device);
}

TEST(a_file_that_was_passed_before_attach_belongs_to_who_attached)
{
	struct gpushare_attach a = { .size = sizeof(a), .set_fd = -1 };
	struct gpushare_wait w = { .size = sizeof(w), .until_ns = GPUSHARE_FOREVER };
	uint32_t device = setup();
	int fd = arb_open();
	pid_t pid;

	ONLY_MODULE("files that belong to nobody yet");
	a.device = device;
	pid = fork();
	if (!pid) {
		CHILD(!arb_call(fd, GPUSHARE_ATTACH, &a));
		CHILD(!arb_call(fd, GPUSHARE_ACQUIRE, &w));
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	EXPECT_NE(0, arb_call(fd, GPUSHARE_ACQUIRE, &w));
	EXPECT_TRUE(EVENTUALLY(clients_of(device) == 0));
	device_remove(device);
}

static void *waits(void *arg)
{
	return (void *)(long)acquire(arg, 0, 0);
}

TEST(a_thread_waits_while_another_closes)
{
	uint32_t device = setup();
	struct client c, w;
	pthread_t t;
	void *r;

	ONLY_MODULE("calls of several threads at once");
	c = client_new(device);
	w = client_new(device);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	ASSERT_EQ(0, pthread_create(&t, NULL, waits, &w));
	EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 1));
	EXPECT_EQ(0, arb_call(w.fd, GPUSHARE_DETACH, NULL));
	ASSERT_EQ(0, pthread_join(t, &r));
	EXPECT_EQ(-ENOTCONN, (long)r);
	EXPECT_EQ(0, c.grant->waiters);
	device_remove(device);
}

TEST(threads_of_a_client_share_its_grant)
{
	uint32_t device = setup();
	struct client c, w;
	pthread_t t[4];
	void *r;
	int i;

	ONLY_MODULE("calls of several threads at once");
	c = client_new(device);
	w = client_new(device);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, waits, &w));
	EXPECT_TRUE(EVENTUALLY(c.grant->waiters == 1));
	nap(20);
	EXPECT_EQ(0, yield(&c, 0, 0));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, pthread_join(t[i], &r));
		EXPECT_EQ(0, (long)r);
	}
	EXPECT_TRUE(granted(&w));
	device_remove(device);
}

TEST(a_client_in_use_keeps_the_module)
{
	uint32_t device = setup();
	struct client c = client_new(device);
	int fd = c.fd;

	ONLY_MODULE("a module");
	EXPECT_EQ(-1, syscall(SYS_delete_module, "gpushare", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	close(fd);			/* its pages are mapped */
	EXPECT_EQ(-1, syscall(SYS_delete_module, "gpushare", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	munmap((void *)c.grant, sysconf(_SC_PAGESIZE));
	munmap((void *)c.own, sysconf(_SC_PAGESIZE));
	fd = arb_open();
	EXPECT_EQ(-1, syscall(SYS_delete_module, "gpushare", O_NONBLOCK));
	EXPECT_EQ(EAGAIN, errno);
	close(fd);
	device_remove(device);
}

TEST_MAIN()
