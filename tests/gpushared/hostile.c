// SPDX-License-Identifier: MIT
/*
 * Clients that mean harm, and what becomes of the others: nothing. A victim
 * takes slices the whole time and must go on doing so.
 *
 * hostile [SEED]: the random part begins with SEED, 1 by default.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "harness.h"
#include "ulib/backend.h"
#include "ulib/wire.h"
#include "world.h"

static struct world w;
static pid_t victim;

static void set_up(void)
{
	struct tenant t = { .slice_ns = 200000, .pause_ns = 200000 };

	world_set_up(&w);
	victim = tenant_start(&w, &t);
	ASSERT_TRUE(tenant_client(&w, victim));
}

/* The victim gets on and the daemon is the same one that was started. */
static void all_is_well(void)
{
	uint64_t id = tenant_client(&w, victim);
	struct gpushare_stats s = stats_of(&w, GPUSHARE_STATS_CLIENT, id);

	EXPECT_NE(0, id);
	EXPECT_TRUE(WAIT_FOR(stats_of(&w, GPUSHARE_STATS_CLIENT, id).usage_ns > s.usage_ns));
	EXPECT_EQ(0, kill(w.daemon, 0));
	tenant_stop(victim);
	world_stop(&w, SIGTERM);	/* it ends well: no sanitizer, no leak had to be said */
	world_remove(&w);
}

static int raw_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { 10, 0 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, w.arbiter);
	ASSERT_EQ(0, connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static struct gs_wire head_of(unsigned long cmd)
{
	return (struct gs_wire){ .magic = GS_WIRE_MAGIC, .cmd = (__u32)cmd, .cookie = 7 };
}

/* What follows a header; returns the result of the answer, or 1 if the line was cut. */
static int exchange(int fd, const struct gs_wire *head, const void *body, size_t size)
{
	char buf[sizeof(*head) + 8192];
	struct gs_wire answer;
	ssize_t n;

	memcpy(buf, head, sizeof(*head));
	if (size)
		memcpy(buf + sizeof(*head), body, size);
	if (send(fd, buf, sizeof(*head) + size, MSG_NOSIGNAL) < 0)
		return 1;
	n = recv(fd, buf, sizeof(buf), 0);
	if (n < (ssize_t)sizeof(answer))
		return 1;
	memcpy(&answer, buf, sizeof(answer));
	EXPECT_EQ(GS_WIRE_MAGIC, answer.magic);
	EXPECT_EQ(head->cookie, answer.cookie);
	return answer.result;
}

static int one(const struct gs_wire *head, const void *body, size_t size)
{
	int fd = raw_connect(), result = exchange(fd, head, body, size);

	close(fd);
	return result;
}

/* Cut off, alone: what is no message. */
TEST(malformed_messages)
{
	struct gpushare_version v = { .size = sizeof(v) };
	struct gs_wire h = head_of(GPUSHARE_VERSION);
	int fd, good;

	set_up();
	good = raw_connect();
	EXPECT_EQ(0, exchange(good, &h, &v, sizeof(v)));
	h.magic++;
	EXPECT_EQ(1, one(&h, &v, sizeof(v)));
	h = head_of(GPUSHARE_VERSION);
	h.flags = GS_WIRE_REPLY;
	EXPECT_EQ(1, one(&h, &v, sizeof(v)));
	h.flags = 0x80000000u;
	EXPECT_EQ(1, one(&h, &v, sizeof(v)));
	h = head_of(GPUSHARE_VERSION);
	h.result = -1;
	EXPECT_EQ(1, one(&h, &v, sizeof(v)));
	h = head_of(GPUSHARE_VERSION);
	v.size = sizeof(v) + 1;		/* another length than it has */
	EXPECT_EQ(1, one(&h, &v, sizeof(v)));
	v.size = sizeof(v);
	EXPECT_EQ(1, one(&h, &v, 3));
	fd = raw_connect();
	EXPECT_EQ(5, send(fd, "hello", 5, MSG_NOSIGNAL));
	EXPECT_LE(recv(fd, &v, sizeof(v), 0), 0);
	close(fd);
	v.size = sizeof(v);
	EXPECT_EQ(0, exchange(good, &h, &v, sizeof(v)));	/* the other stands */
	close(good);
	all_is_well();
}

/* Only refused: what is a message, and asks for what can't be. */
TEST(refused_messages)
{
	char big[4096] = { 0 };
	struct gpushare_wait wait = { .size = sizeof(wait) };
	struct gpushare_attach at = { .size = sizeof(at), .set_fd = -1, .key = "cpu:0" };
	struct gpushare_share share = { .size = sizeof(share), .cgroup_fd = 0, .authority_fd = 7 };
	struct gpushare_stats stats = { .size = sizeof(stats), .what = 77 };
	struct gpushare_group group = { .size = sizeof(group), .name = "../x" };
	struct gs_wire h;

	set_up();
	h = head_of(_IOWR(GPUSHARE_IOC, 0x7f, int));
	EXPECT_EQ(-ENOTTY, one(&h, &wait, sizeof(wait)));
	h = head_of(0);
	EXPECT_EQ(-ENOTTY, one(&h, NULL, 0));
	h = head_of(GPUSHARE_ACQUIRE);
	EXPECT_EQ(-ENOTCONN, one(&h, &wait, sizeof(wait)));
	wait.flags = 0x8000;
	EXPECT_EQ(-EINVAL, one(&h, &wait, sizeof(wait)));
	EXPECT_EQ(-EINVAL, one(&h, NULL, 0));
	h = head_of(GPUSHARE_DETACH);
	EXPECT_EQ(-ENOTCONN, one(&h, NULL, 0));
	h = head_of(GPUSHARE_VERSION);
	*(uint32_t *)big = sizeof(big);
	EXPECT_EQ(0, one(&h, big, sizeof(big)));	/* longer, and the rest is 0 */
	big[4000] = 1;
	EXPECT_EQ(-E2BIG, one(&h, big, sizeof(big)));
	*(uint32_t *)big = 4;
	EXPECT_EQ(-EINVAL, one(&h, big, 4));
	h = head_of(GPUSHARE_ATTACH);
	at.key[0] = ' ';
	EXPECT_EQ(-ENODEV, one(&h, &at, sizeof(at)));
	memset(at.key, 'x', sizeof(at.key));		/* no NUL */
	EXPECT_EQ(-EINVAL, one(&h, &at, sizeof(at)));
	memset(at.key, 0, sizeof(at.key));
	strcpy(at.key, "cpu:0");
	at.set_fd = 3;
	EXPECT_EQ(-EINVAL, one(&h, &at, sizeof(at)));
	at.set_fd = -1;
	h.set = 1;	/* the victim's client is another process's */
	EXPECT_EQ(-EBADF, one(&h, &at, sizeof(at)));
	h.set = 0;
	at.group = 12345;
	EXPECT_EQ(-EINVAL, one(&h, &at, sizeof(at)));
	h = head_of(GPUSHARE_SHARE_SET);
	EXPECT_EQ(-EINVAL, one(&h, &share, sizeof(share)));
	share.mask = GPUSHARE_SHARE_WEIGHT;
	EXPECT_EQ(-ERANGE, one(&h, &share, sizeof(share)));
	share.weight = 100;
	EXPECT_EQ(-EBADF, one(&h, &share, sizeof(share)));
	share.authority_fd = -1;
	EXPECT_EQ(-EBADF, one(&h, &share, sizeof(share)));
	share.cgroup_fd = -1;
	share.group = 999999999;
	EXPECT_EQ(-ENOENT, one(&h, &share, sizeof(share)));
	h = head_of(GPUSHARE_STATS);
	EXPECT_EQ(-EINVAL, one(&h, &stats, sizeof(stats)));
	h = head_of(GPUSHARE_GROUP);
	EXPECT_EQ(-EINVAL, one(&h, &group, sizeof(group)));
	all_is_well();
}

/* Sends for ever and reads nothing: it is cut off, and nobody waits for it, nor keeps much. */
TEST(a_client_that_stops_reading)
{
	struct gpushare_stats s = { .size = sizeof(s), .what = GPUSHARE_STATS_DEVICE, .device = 1 };
	struct gs_wire h = head_of(GPUSHARE_STATS);
	char buf[sizeof(h) + sizeof(s)];
	int fd, i, cut = 0, kept = 0, reset = 0;
	ssize_t n;

	set_up();
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), &s, sizeof(s));
	fd = raw_connect();
	for (i = 0; i < 100000 && !cut; i++)
		cut = send(fd, buf, sizeof(buf), MSG_NOSIGNAL) < 0;
	EXPECT_TRUE(cut);
	/* The reset is told once, before what came ahead of it. */
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0 ||
	       (n < 0 && errno == ECONNRESET && !reset++))
		kept += n > 0 ? (int)n : 0;
	printf("# %d bytes were kept for it\n", kept);
	EXPECT_GT(kept, 1024);
	EXPECT_LE(kept, 32 * 1024);
	close(fd);
	all_is_well();
}

/* A reader of events that sleeps loses some and is told how many. */
TEST(a_slow_reader_of_events)
{
	struct gpushare_event e;
	struct gs_transport *a;
	uint64_t lost = 0;
	int n = 0, r, tries;

	set_up();
	a = world_connect(&w);
	ASSERT_EQ(0, gs_transport_events(a, 1ull << GPUSHARE_EVENT_SHARE_SET));
	for (n = 0; n < 6000; n++) {
		struct gpushare_group g = { .size = sizeof(g), .name = "g" };
		struct gpushare_share s = {
			.size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
			.mask = GPUSHARE_SHARE_WEIGHT, .weight = 1 + n % 100,
		};
		static struct gs_transport *b;

		if (!b)
			b = world_connect(&w);
		if (!s.group)
			ASSERT_EQ(0, gs_transport_call(b, GPUSHARE_GROUP, &g));
		s.group = g.group;
		ASSERT_EQ(0, gs_transport_call(b, GPUSHARE_SHARE_SET, &s));
	}
	for (n = 0, tries = 0; !lost && tries < 2000; tries++) {
		r = gs_transport_next(a, &e);
		if (r < 0)
			break;
		if (!r) {
			sleep_ns(MS);
			continue;
		}
		n++;
		if (e.type == GPUSHARE_EVENT_LOST)
			lost = e.value;
		else
			tries = 0;
	}
	printf("# %d events came, %llu were lost\n", n, (unsigned long long)lost);
	EXPECT_GT(n, 1000);
	EXPECT_EQ(6000, n - 1 + lost);
	gs_transport_close(a);
	all_is_well();
}

/* Rubbish on its page, at any time: only its own statistics suffer. */
TEST(a_page_full_of_rubbish)
{
	unsigned int seed = 1;
	struct gpushare_pages p;
	struct gpushare *g;
	uint64_t end;
	size_t i;

	set_up();
	ASSERT_EQ(0, gpushare_open(&g, "cpu:0", NULL));
	gpushare_pages(g, &p);
	for (end = now_ns() + SEC; now_ns() < end; ) {
		ASSERT_EQ(0, gpushare_begin(g, GPUSHARE_FOREVER));
		for (i = 0; i < p.length / 4; i++)
			((volatile uint32_t *)p.client)[i] = (uint32_t)rand_r(&seed) * 2654435761u;
		sleep_ns(300000);
		gpushare_end(g);
		memset(p.client, 0xff, p.length);
	}
	gpushare_close(g);
	all_is_well();
}

/* Takes the page away from under the daemon's feet: it can't. */
TEST(pages_cant_be_resized)
{
	struct gpushare_attach at = { .size = sizeof(at), .set_fd = -1, .key = "cpu:0" };
	struct gs_wire h = head_of(GPUSHARE_ATTACH);
	char buf[sizeof(h) + sizeof(at)];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	char path[64];
	int fd, again, files[2];

	set_up();
	fd = raw_connect();
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), &at, sizeof(at));
	ASSERT_EQ((ssize_t)sizeof(buf), send(fd, buf, sizeof(buf), 0));
	ASSERT_GT(recvmsg(fd, &msg, 0), 0);
	ASSERT_TRUE(CMSG_FIRSTHDR(&msg));
	memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(files));
	EXPECT_EQ(-1, ftruncate(files[0], 0));
	EXPECT_EQ(-1, ftruncate(files[1], 0));
	EXPECT_EQ(-1, ftruncate(files[1], 1 << 20));
	EXPECT_EQ(-1, write(files[0], "x", 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", files[0]);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again >= 0) {
		EXPECT_EQ(-1, write(again, "x", 1));
		EXPECT_EQ(MAP_FAILED,
			  mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0));
	}
	EXPECT_EQ(-1, fallocate(files[0], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
	close(fd);
	all_is_well();
}

/* All connections, all groups, all streams: there are limits, and they are said. */
TEST(asks_for_everything)
{
	struct gpushare_group g = { .size = sizeof(g) };
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER,
	};
	struct gs_transport *a, *streams[16];
	int i, n = 0, err = 0, fds[1500];

	if (!world_many_files(2048))
		SKIP("no 2048 open files are allowed here");
	set_up();
	a = world_connect(&w);
	for (i = 0; i < 100 && !err; i++) {
		sprintf(dev.key, "x:%d", i);
		dev.device = 0;
		err = gs_transport_call(a, GPUSHARE_DEVICE_ADD, &dev);
	}
	EXPECT_EQ(-ENOSPC, err);
	for (i = 0, err = 0; i < 16 && !err; i++) {
		streams[i] = world_connect(&w);
		err = gs_transport_events(streams[i], ~0ull >> (63 - GPUSHARE_EVENT_LOST));
		n++;
	}
	EXPECT_EQ(-EUSERS, err);
	while (n)
		gs_transport_close(streams[--n]);
	for (i = 0, err = 0; i < 1500 && !err; i++) {
		struct gpushare_share s = {
			.size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
			.mask = GPUSHARE_SHARE_WEIGHT, .weight = 5,
		};

		sprintf(g.name, "g%d", i);
		err = gs_transport_call(a, GPUSHARE_GROUP, &g);
		s.group = g.group;
		if (!err && i < 300)
			gs_transport_call(a, GPUSHARE_SHARE_SET, &s);
	}
	EXPECT_EQ(-EUSERS, err);
	for (i = 0; i < 1500; i++)
		fds[i] = raw_connect();
	while (i)
		close(fds[--i]);
	gs_transport_close(a);
	all_is_well();
}

/* Two of a set that ring and write whatever they like, as fast as they can. */
static void bad_ringer(uint64_t end)
{
	struct gpushare_attach at = { .size = sizeof(at), .set_fd = -1 };
	struct gpushare_wait no = { .size = sizeof(no) };
	static const char *const keys[] = { "cpu:0", "x:b" };
	static const uint64_t most = ~0ull - 1;
	struct gs_transport a[2];
	struct gs_pages p[2];
	bool full[2] = { false, false };
	unsigned int seed = 5, r;
	uint64_t wish, count;
	int i;

	for (i = 0; i < 2; i++) {
		p[i].length = 4096;
		p[i].grant = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		p[i].client = (void *)((char *)p[i].grant + 4096);
		memset(at.key, 0, sizeof(at.key));
		strcpy(at.key, keys[i]);
		at.device = 0;
		ASSERT_EQ(0, gs_transport_connect(&a[i], w.arbiter, 0));
		ASSERT_EQ(0, a[i].ops->attach(&a[i], &at, &p[i], i ? p[0].grant->client : 0));
		ASSERT_GE(a[i].bell, 0);
	}
	while (now_ns() < end) {
		i = rand_r(&seed) % 2;
		r = (unsigned int)rand_r(&seed);
		wish = (uint64_t)rand_r(&seed) * GS_WISH_NUMBER | r % 5;
		if (r % 3)	/* a likely epoch */
			wish = (uint32_t)wish | (p[i].grant->word >> GPUSHARE_EPOCH_SHIFT)
				<< GS_WISH_EPOCH_SHIFT;
		__atomic_store_n(&p[i].client->wish, wish, __ATOMIC_RELEASE);
		/* It would make itself wait. */
		if (r % 1000 == 0 && !full[i])
			ASSERT_EQ(0, fcntl(a[i].bell, F_SETFL, r % 2000 ? O_NONBLOCK : 0));
		if (r % 777 == 0 && fcntl(a[i].bell, F_GETFL) & O_NONBLOCK)
			full[i] = write(a[i].bell, &most, 8) == 8 || errno == EAGAIN;
		if (r % 77 == 0)
			full[i] = read(a[i].bell, &count, 8) != 8 && full[i];
		if (r % 999 == 0)
			gs_transport_call(&a[i], GPUSHARE_YIELD, &no);
		count = 1;
		EXPECT_TRUE(write(a[i].bell, &count, 8) == 8 || errno == EAGAIN);
	}
	/* It is no client any more, and rings on. */
	EXPECT_EQ(0, gs_transport_call(&a[0], GPUSHARE_DETACH, NULL));
	for (i = 0; i < 1000; i++)
		EXPECT_TRUE(write(a[0].bell, &count, 8) == 8 || errno == EAGAIN);
	_exit(test_failures ? 1 : 0);
}

TEST(bells_rung_at_random)
{
	struct gpushare_device dev = {
		.size = sizeof(dev), .kind = GPUSHARE_KIND_OTHER, .key = "x:b",
	};
	uint64_t end = now_ns() + 3 * SEC;
	int i, status;
	pid_t pid[2];

	set_up();
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			bad_ringer(end);
	}
	for (i = 0; i < 2; i++) {
		waitpid(pid[i], &status, 0);
		EXPECT_EQ(0, status);
	}
	all_is_well();
}

static unsigned int seed = 1;

static uint32_t any(void)
{
	return (uint32_t)rand_r(&seed) << 16 ^ (uint32_t)rand_r(&seed);
}

/* Commands that nearly make sense: known numbers, right lengths, odd values. */
static void nearly(char *buf, size_t *len)
{
	static const unsigned long cmds[] = {
		GPUSHARE_VERSION, GPUSHARE_ATTACH, GPUSHARE_DETACH, GPUSHARE_ACQUIRE,
		GPUSHARE_YIELD, GPUSHARE_MEMORY, GPUSHARE_DESCRIBE, GPUSHARE_SHARE_SET,
		GPUSHARE_SHARE_GET, GPUSHARE_DEVICE_SET, GPUSHARE_DEVICE_GET, GPUSHARE_STATS,
		GPUSHARE_GROUP, GPUSHARE_EVENTS, GPUSHARE_ACQUIRE, GPUSHARE_YIELD,
	};
	struct gs_wire h = head_of(cmds[any() % (sizeof(cmds) / sizeof(cmds[0]))]);
	uint32_t size = _IOC_SIZE(h.cmd), i, n;

	if (any() % 8 == 0)
		size = any() % 600;
	memset(buf, 0, 1024);
	for (i = 4, n = any() % 6; n && i + 4 <= size; n--) {
		uint32_t at = 4 + 4 * (any() % ((size - 4) / 4));
		uint32_t v = any() % 4 ? any() % 16 : any();

		memcpy(buf + sizeof(h) + at, &v, 4);
	}
	if (h.cmd == (__u32)GPUSHARE_ATTACH && any() % 4) {
		struct gpushare_attach at = { .size = sizeof(at), .set_fd = -1, .key = "cpu:0" };

		memcpy(buf + sizeof(h), &at, sizeof(at));
		size = sizeof(at);
	}
	memcpy(buf + sizeof(h), &size, sizeof(size));
	h.flags = any() % 3 ? GS_WIRE_QUIET : 0;
	if (h.cmd == (__u32)GPUSHARE_ATTACH && any() % 2)
		h.flags |= GS_WIRE_BELL;
	if (any() % 50 == 0)
		h.magic = any();
	h.set = any() % 20 ? 0 : any() % 8;
	memcpy(buf, &h, sizeof(h));
	*len = any() % 30 ? sizeof(h) + size : any() % 700;
}

/* Random messages over some dozens of connections, for a while. */
TEST_LIMIT(random_messages, 400)
{
	char buf[8192], in[8192];
	uint64_t sent = 0, end;
	int fd[24], i;
	size_t len;

	printf("# seed %u\n", seed);
	set_up();
	for (i = 0; i < 24; i++)
		fd[i] = raw_connect();
	for (end = now_ns() + 5 * SEC; now_ns() < end || sent < 2000; sent++) {
		i = (int)(any() % 24);
		nearly(buf, &len);
		if (send(fd[i], buf, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 || any() % 400 == 0) {
			close(fd[i]);
			fd[i] = raw_connect();
		}
		while (recv(fd[i], in, sizeof(in), MSG_DONTWAIT) > 0)
			;
	}
	printf("# %llu messages\n", (unsigned long long)sent);
	for (i = 0; i < 24; i++)
		close(fd[i]);
	all_is_well();
}

int main(int argc, char **argv)
{
	static char *all[2] = { NULL, NULL };
	char *end;

	if (argc == 2) {
		seed = (unsigned int)strtoul(argv[1], &end, 10);
		if (!*end) {
			all[0] = argv[0];
			return test_main(all);
		}
		seed = 1;
	}
	return test_main(argv);
}
