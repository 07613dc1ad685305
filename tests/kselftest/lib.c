// SPDX-License-Identifier: MIT
#include <grp.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include "lib.h"

void need_arbiter(void)
{
	int fd;

	if (geteuid())
		SKIP("needs root");
	fd = arb_open();
	if (fd < 0)
		SKIP("/dev/gpushare: %s", strerror(-fd));
	close(fd);
}

uint32_t device_add(const struct gpushare_device *options)
{
	static int count;
	struct gpushare_device d = {};
	int fd = arb_open(), r;

	ASSERT_GE(fd, 0);
	if (options)
		d = *options;
	d.size = sizeof(d);
	if (!d.kind)
		d.kind = GPUSHARE_KIND_CPU;
	if (!(d.mask & GPUSHARE_DEV_GRACE)) {	/* a test may take its time to yield */
		d.mask |= GPUSHARE_DEV_GRACE;
		d.grace_us = 600000000;
	}
	if (!d.key[0])
		snprintf(d.key, sizeof(d.key), "cpu:test%d-%d", getpid(), count++);
	r = arb_call(fd, GPUSHARE_DEVICE_ADD, &d);
	ASSERT_EQ(0, r);
	ASSERT_NE(0, d.device);
	close(fd);
	return d.device;
}

uint32_t device_new(void)
{
	return device_add(NULL);
}

void device_remove(uint32_t device)
{
	struct gpushare_device d = { .size = sizeof(d), .device = device };
	int fd = arb_open();

	EXPECT_EQ(0, arb_call(fd, GPUSHARE_DEVICE_REMOVE, &d));
	close(fd);
}

struct gpushare_device device_of(const struct client *c)
{
	struct gpushare_device d = { .size = sizeof(d), .device = c->device };

	EXPECT_EQ(0, arb_call(c->fd, GPUSHARE_DEVICE_GET, &d));
	return d;
}

int client_open_set(struct client *c, uint32_t device, int set_fd)
{
	struct gpushare_attach a = { .size = sizeof(a), .device = device, .set_fd = set_fd };
	int r;

	*c = (struct client){ .fd = arb_open() };
	if (c->fd < 0)
		return c->fd;
	r = arb_call(c->fd, GPUSHARE_ATTACH, &a);
	if (!r) {
		c->device = a.device;
		c->id = a.client;
		c->grant = arb_map(c->fd, GPUSHARE_OFF_GRANT, PROT_READ);
		c->own = arb_map(c->fd, GPUSHARE_OFF_CLIENT, PROT_READ | PROT_WRITE);
		if (!c->grant || !c->own)
			r = -errno;
	}
	if (r)
		client_close(c);
	return r;
}

int client_open(struct client *c, uint32_t device)
{
	return client_open_set(c, device, -1);
}

struct client client_new(uint32_t device)
{
	struct client c;
	int r = client_open(&c, device);

	ASSERT_EQ(0, r);
	return c;
}

void client_close(struct client *c)
{
	if (c->grant)
		munmap((void *)c->grant, sysconf(_SC_PAGESIZE));
	if (c->own)
		munmap((void *)c->own, sysconf(_SC_PAGESIZE));
	close(c->fd);
	*c = (struct client){ .fd = -1 };
}

static int wait_call(struct client *c, unsigned long cmd, uint32_t flags, unsigned int ms)
{
	struct gpushare_wait w = { .size = sizeof(w), .flags = flags,
		.until_ns = ms ? now_ns() + ms * MS : GPUSHARE_FOREVER };

	return arb_call(c->fd, cmd, &w);
}

int acquire(struct client *c, uint32_t flags, unsigned int ms)
{
	return wait_call(c, GPUSHARE_ACQUIRE, flags, ms);
}

int yield(struct client *c, uint32_t flags, unsigned int ms)
{
	return wait_call(c, GPUSHARE_YIELD, flags, ms);
}

uint64_t word(const struct client *c)
{
	return __atomic_load_n(&c->grant->word, __ATOMIC_ACQUIRE);
}

bool granted(const struct client *c)
{
	return word(c) & GPUSHARE_GRANTED;
}

bool asked_back(const struct client *c)
{
	return word(c) & GPUSHARE_PREEMPT;
}

int stats(int fd, uint32_t what, uint32_t device, uint64_t id, struct gpushare_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->size = sizeof(*s);
	s->what = what;
	s->device = device;
	s->id = id;
	return arb_call(fd, GPUSHARE_STATS, s);
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void nap(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool blocked(pid_t pid)
{
	char path[64], line[512] = "", *p;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	close(fd);
	p = n > 0 ? strrchr(line, ')') : NULL;
	return p && p[1] && p[2] == 'S';
}

void become(uid_t uid)
{
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
	    prctl(PR_SET_DUMPABLE, 1))	/* else its /proc files would be root's */
		_exit(111);
}

int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

char *cg_new(const char *parent, const char *name)
{
	static char paths[8][256];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", parent, name);
	if (mkdir(path, 0755) && errno != EEXIST)
		SKIP("%s: %s", path, strerror(errno));
	return path;
}

int cg_enter(const char *path)
{
	char procs[300];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	return put(procs, "0");
}

uint64_t cg_id(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

/* A task that just ended may keep its cgroup busy for a moment. */
void cg_remove(const char *path)
{
	EXPECT_TRUE(EVENTUALLY(!rmdir(path) || errno == ENOENT));
}

int share_set(int fd, const char *path, uint32_t device, uint32_t weight)
{
	struct gpushare_share s = { .size = sizeof(s), .authority_fd = -1, .device = device,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = weight };
	int r;

	s.cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.cgroup_fd < 0)
		return -errno;
	r = arb_call(fd, GPUSHARE_SHARE_SET, &s);
	close(s.cgroup_fd);
	return r;
}

int logged(const char *text)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK), n = 0;
	char line[4096];
	ssize_t len;

	while ((len = read(fd, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		line[len > 0 ? len : 0] = '\0';
		n += !!strstr(line, text);
	}
	close(fd);
	return n;
}

int genl_family(void)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
		struct nlattr a;
		char name[12];
	} m = { { sizeof(m), GENL_ID_CTRL, NLM_F_REQUEST, 0, 0 }, { .cmd = CTRL_CMD_GETFAMILY },
		{ NLA_HDRLEN + sizeof(GPUSHARE_GENL_NAME), CTRL_ATTR_FAMILY_NAME },
		GPUSHARE_GENL_NAME };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), n, off;
	const struct nlattr *a;
	char buf[8192];

	n = send(fd, &m, sizeof(m), 0) < 0 ? -1 : recv(fd, buf, sizeof(buf), 0);
	close(fd);
	for (off = NLMSG_HDRLEN + GENL_HDRLEN; off + NLA_HDRLEN < n; off += NLA_ALIGN(a->nla_len)) {
		a = (void *)(buf + off);
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(__u16 *)(a + 1);
		if (a->nla_len < NLA_HDRLEN)
			break;
	}
	return 0;
}

void hold(const int *fds)
{
	char c;

	while (read(fds[0], &c, 1) < 0 && errno == EINTR)
		;
}

void step(const int *fds)
{
	EXPECT_EQ(1, write(fds[1], "", 1));
}
