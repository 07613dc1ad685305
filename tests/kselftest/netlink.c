// SPDX-License-Identifier: MIT
/* The generic netlink family: dumps, events, who may, and what it refuses. */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include "lib.h"

struct nl {
	int fd;
	int family;
	int events;
	int grants;
	char error[256];	/* the extended ack's words */
	unsigned int at;	/* the bad attribute's place in the message, 0: not said */
};

struct msg {
	struct nlmsghdr h;
	struct genlmsghdr g;
	char attrs[512];
};

static void begin(struct msg *m, int type, int flags, int cmd)
{
	memset(m, 0, sizeof(*m));
	m->h.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN;
	m->h.nlmsg_type = type;
	m->h.nlmsg_flags = NLM_F_REQUEST | flags;
	m->g.cmd = cmd;
	m->g.version = GPUSHARE_GENL_VERSION;
}

static void attr(struct msg *m, int type, const void *data, int len)
{
	struct nlattr *a = (void *)((char *)m + NLMSG_ALIGN(m->h.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy(a + 1, data, len);
	m->h.nlmsg_len = NLMSG_ALIGN(m->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static const struct nlattr *find(const void *attrs, int len, int type)
{
	const struct nlattr *a = attrs;

	while (len >= NLA_HDRLEN && a->nla_len >= NLA_HDRLEN && a->nla_len <= len) {
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		len -= NLA_ALIGN(a->nla_len);
		a = (void *)((char *)a + NLA_ALIGN(a->nla_len));
	}
	return NULL;
}

static const void *data_of(const struct nlmsghdr *h, int type, size_t size)
{
	const struct nlattr *a = find((char *)h + NLMSG_HDRLEN + GENL_HDRLEN,
				      h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, type);

	return a && (size_t)a->nla_len - NLA_HDRLEN >= size ? a + 1 : NULL;
}

/* Sends a request; calls @fn for each message of the answer; 0 or -errno. */
static int ask(struct nl *s, struct msg *m, void (*fn)(const struct nlmsghdr *, void *), void *arg)
{
	static char buf[65536];
	const struct nlmsghdr *h;
	const struct nlattr *a;
	const struct nlmsgerr *e;
	int n, off;

	s->error[0] = 0;
	s->at = 0;
	if (send(s->fd, m, m->h.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		n = recv(s->fd, buf, sizeof(buf), 0);
		if (n < 0)
			return -errno;
		for (h = (void *)buf; NLMSG_OK(h, (unsigned int)n); h = NLMSG_NEXT(h, n)) {
			if (h->nlmsg_type == NLMSG_DONE)
				return *(int *)NLMSG_DATA(h);
			if (h->nlmsg_type != NLMSG_ERROR) {
				if (fn)
					fn(h, arg);
				continue;
			}
			e = NLMSG_DATA(h);
			off = NLMSG_HDRLEN + sizeof(*e);
			if (!(h->nlmsg_flags & NLM_F_CAPPED))
				off += NLMSG_ALIGN(e->msg.nlmsg_len) - sizeof(e->msg);
			a = off < (int)h->nlmsg_len ? find((char *)h + off, h->nlmsg_len - off,
							   NLMSGERR_ATTR_MSG) : NULL;
			if (a)
				snprintf(s->error, sizeof(s->error), "%s", (char *)(a + 1));
			a = off < (int)h->nlmsg_len ? find((char *)h + off, h->nlmsg_len - off,
							   NLMSGERR_ATTR_OFFS) : NULL;
			if (a)
				s->at = *(__u32 *)(a + 1);
			return e->error;
		}
	}
}

static void on_family(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *groups, *g, *name, *id;
	struct nl *s = arg;
	int len;

	if (data_of(h, CTRL_ATTR_FAMILY_ID, 2))
		s->family = *(const __u16 *)data_of(h, CTRL_ATTR_FAMILY_ID, 2);
	groups = find((char *)h + NLMSG_HDRLEN + GENL_HDRLEN,
		      h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN, CTRL_ATTR_MCAST_GROUPS);
	if (!groups)
		return;
	len = groups->nla_len - NLA_HDRLEN;
	for (g = groups + 1; len >= NLA_HDRLEN; ) {
		name = find(g + 1, g->nla_len - NLA_HDRLEN, CTRL_ATTR_MCAST_GRP_NAME);
		id = find(g + 1, g->nla_len - NLA_HDRLEN, CTRL_ATTR_MCAST_GRP_ID);
		if (name && id && !strcmp((char *)(name + 1), GPUSHARE_GENL_EVENTS))
			s->events = *(__u32 *)(id + 1);
		if (name && id && !strcmp((char *)(name + 1), GPUSHARE_GENL_GRANTS))
			s->grants = *(__u32 *)(id + 1);
		len -= NLA_ALIGN(g->nla_len);
		g = (void *)((char *)g + NLA_ALIGN(g->nla_len));
	}
}

static int nl_open(struct nl *s)
{
	struct sockaddr_nl me = { .nl_family = AF_NETLINK };
	struct timeval limit = { 10, 0 };
	int one = 1, r;
	struct msg m;

	memset(s, 0, sizeof(*s));
	s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (s->fd < 0 || bind(s->fd, (void *)&me, sizeof(me)))
		return -errno;
	setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(s->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	begin(&m, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	attr(&m, CTRL_ATTR_FAMILY_NAME, GPUSHARE_GENL_NAME, sizeof(GPUSHARE_GENL_NAME));
	r = ask(s, &m, on_family, s);
	return r;
}

static int join(struct nl *s, int group)
{
	return setsockopt(s->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) ?
	       -errno : 0;
}

struct seen {
	int n;
	uint32_t device;
	uint64_t id;
	int matched;
	struct gpushare_stats stats;
	struct gpushare_share share;
	struct gpushare_device info;
	char path[256];
};

static void on_item(const struct nlmsghdr *h, void *arg)
{
	const struct gpushare_stats *st = data_of(h, GPUSHARE_A_STATS, sizeof(*st));
	const struct gpushare_device *d = data_of(h, GPUSHARE_A_DEVICE_INFO, sizeof(*d));
	const struct gpushare_share *sh = data_of(h, GPUSHARE_A_SHARE, sizeof(*sh));
	const __u64 *group = data_of(h, GPUSHARE_A_GROUP, 8);
	const char *path = data_of(h, GPUSHARE_A_PATH, 1);
	struct seen *s = arg;

	s->n++;
	if (d ? d->device != s->device : group ? *group != s->id : !st || st->id != s->id)
		return;
	s->matched++;
	if (st)
		s->stats = *st;
	if (sh)
		s->share = *sh;
	if (d)
		s->info = *d;
	if (path)
		snprintf(s->path, sizeof(s->path), "%s", path);
}

static int dump_of_group(struct nl *s, uint64_t group, struct seen *seen)
{
	struct msg m;

	begin(&m, s->family, NLM_F_DUMP, GPUSHARE_CMD_CLIENT_GET);
	attr(&m, GPUSHARE_A_GROUP, &group, sizeof(group));
	return ask(s, &m, on_item, seen);
}

static int dump(struct nl *s, int cmd, uint32_t device, struct seen *seen)
{
	struct msg m;

	begin(&m, s->family, NLM_F_DUMP, cmd);
	if (device)
		attr(&m, GPUSHARE_A_DEVICE, &device, sizeof(device));
	return ask(s, &m, on_item, seen);
}

static struct nl sock;

static void setup(void)
{
	need_arbiter();
	ASSERT_EQ(0, nl_open(&sock));
	ASSERT_NE(0, sock.family);
	ASSERT_NE(0, sock.events);
	ASSERT_NE(0, sock.grants);
}

TEST(device_dump)
{
	struct seen seen = {};
	struct client c;

	setup();
	c = client_new(device_new());
	seen.device = c.device;
	EXPECT_EQ(0, dump(&sock, GPUSHARE_CMD_DEVICE_GET, 0, &seen));
	EXPECT_EQ(1, seen.matched);
	EXPECT_EQ(1, seen.info.clients);
	EXPECT_EQ(GPUSHARE_STATS_DEVICE, seen.stats.what);
	device_remove(c.device);
}

TEST(client_dump_over_many_messages)
{
	struct seen seen = {};
	struct client c[200];
	int i;

	setup();
	c[0] = client_new(device_new());
	for (i = 1; i < 200; i++)
		c[i] = client_new(c[0].device);
	seen.id = c[150].id;
	EXPECT_EQ(0, dump(&sock, GPUSHARE_CMD_CLIENT_GET, c[0].device, &seen));
	EXPECT_EQ(200, seen.n);
	EXPECT_EQ(1, seen.matched);
	EXPECT_EQ(getpid(), seen.stats.pid);
	EXPECT_STREQ("netlink", seen.stats.comm);
	device_remove(c[0].device);
}

TEST(group_dump_says_paths_and_shares)
{
	struct seen seen = {};
	uint32_t device;
	char *path;
	int fd;

	setup();
	path = cg_new(CGROOT, "netlink");
	device = device_new();
	fd = arb_open();
	EXPECT_EQ(0, share_set(fd, path, device, 321));
	seen.id = cg_id(path);
	EXPECT_EQ(0, dump(&sock, GPUSHARE_CMD_GROUP_GET, device, &seen));
	EXPECT_EQ(1, seen.matched);
	EXPECT_EQ(321, seen.share.weight);
	EXPECT_STREQ("/netlink", seen.path);
	device_remove(device);
	cg_remove(path);
}

struct heard {
	int type[32];
	uint64_t client;
	uint32_t device;
	struct gpushare_event last[32];
};

/* Reads events until @want came (or nothing does any more). */
static void listen_for(struct nl *s, struct heard *h, int want)
{
	static char buf[65536];
	const struct gpushare_event *e;
	const struct nlmsghdr *m;
	int n;

	while (!h->type[want]) {
		n = recv(s->fd, buf, sizeof(buf), 0);
		if (n < 0)
			return;
		for (m = (void *)buf; NLMSG_OK(m, (unsigned int)n); m = NLMSG_NEXT(m, n)) {
			e = data_of(m, GPUSHARE_A_EVENT, sizeof(*e));
			if (!e || e->type >= 32)
				continue;
			if (e->client && h->client && e->client != h->client)
				continue;
			if (e->device && h->device && e->device != h->device)
				continue;
			h->type[e->type]++;
			h->last[e->type] = *e;
		}
	}
}

TEST(events)
{
	struct heard h = {};
	struct client c;
	uint32_t device;

	setup();
	ASSERT_EQ(0, join(&sock, sock.events));
	device = device_new();
	c = client_new(device);
	h.client = c.id;
	EXPECT_EQ(0, acquire(&c, 0, 1000));
	EXPECT_EQ(0, yield(&c, 0, 0));
	client_close(&c);
	device_remove(device);
	listen_for(&sock, &h, GPUSHARE_EVENT_DEVICE_REMOVED);
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_DEVICE_ADDED]);
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_CLIENT_JOINED]);
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_CLIENT_LEFT]);
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_DEVICE_REMOVED]);
	EXPECT_EQ(0, h.type[GPUSHARE_EVENT_GRANTED]);	/* not in this group */
}

TEST(grants)
{
	struct heard h = {};
	struct client c, other;

	setup();
	ASSERT_EQ(0, join(&sock, sock.grants));
	c = client_new(device_new());
	other = client_new(c.device);
	h.client = c.id;
	EXPECT_EQ(0, acquire(&other, 0, 1000));
	EXPECT_EQ(-EAGAIN, acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0));	/* it must wait */
	EXPECT_EQ(0, yield(&other, 0, 0));
	EXPECT_TRUE(EVENTUALLY(granted(&c)));
	EXPECT_EQ(0, yield(&c, 0, 0));
	listen_for(&sock, &h, GPUSHARE_EVENT_YIELDED);
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_REQUESTED]);
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_GRANTED]);
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_YIELDED]);
	EXPECT_EQ(c.device, h.last[GPUSHARE_EVENT_GRANTED].device);
	EXPECT_EQ(getpid(), h.last[GPUSHARE_EVENT_GRANTED].pid);
	EXPECT_LT(0, h.last[GPUSHARE_EVENT_GRANTED].value);
	device_remove(c.device);
}

/* Holds and doesn't yield, until it is killed for that. */
static pid_t stubborn(uint32_t device)
{
	struct client c;
	int up[2];
	pid_t pid;
	char ch;

	ASSERT_EQ(0, pipe(up));
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&c, device));
		CHILD(!acquire(&c, 0, 0));
		CHILD(write(up[1], "", 1) == 1);
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(up[0], &ch, 1));
	close(up[0]);
	close(up[1]);
	return pid;
}

TEST(each_type_of_event_is_told)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_GRACE | GPUSHARE_DEV_SLICE |
		GPUSHARE_DEV_KILL | GPUSHARE_DEV_CAPACITY, .slice_us = 1000, .grace_us = 20000,
		.kill_us = 50000, .mem_bytes = 4096 };
	struct gpushare_device quiet = { .size = sizeof(quiet),
		.mask = GPUSHARE_DEV_KILL | GPUSHARE_DEV_GRACE, .grace_us = 600000000 };
	struct gpushare_memory m = { .size = sizeof(m), .op = GPUSHARE_MEM_CHARGE, .bytes = 4097 };
	struct gpushare_share s = { .size = sizeof(s), .cgroup_fd = -1, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_MAX, .max_us = 5000, .period_us = 100000 };
	struct heard h = {};
	struct client c;
	uint64_t start;
	char *path;
	int type;
	pid_t pid;

	setup();
	ASSERT_EQ(0, join(&sock, sock.events));
	ASSERT_EQ(0, join(&sock, sock.grants));
	path = cg_new(CGROOT, "netlink-events");
	start = now_ns();
	quiet.device = h.device = device_add(&d);
	pid = stubborn(quiet.device);
	c = client_new(quiet.device);
	EXPECT_EQ(-ENOMEM, arb_call(c.fd, GPUSHARE_MEMORY, &m));
	EXPECT_EQ(0, acquire(&c, 0, 10000));		/* after an overrun */
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_EQ(0, arb_call(c.fd, GPUSHARE_DEVICE_SET, &quiet));
	EXPECT_EQ(0, yield(&c, 0, 0));
	s.group = cg_id(path);
	EXPECT_EQ(0, arb_call(c.fd, GPUSHARE_SHARE_SET, &s));
	ASSERT_EQ(0, cg_enter(path));
	EXPECT_EQ(0, acquire(&c, 0, 0));
	EXPECT_TRUE(EVENTUALLY(asked_back(&c)));	/* its max is reached */
	nap(10);
	EXPECT_EQ(0, yield(&c, GPUSHARE_WAIT_AGAIN, 60000));
	ASSERT_EQ(0, cg_enter(CGROOT));
	client_close(&c);
	s.mask = 0;
	s.reset = GPUSHARE_SHARE_ALL;
	c.fd = arb_open();
	EXPECT_EQ(0, arb_call(c.fd, GPUSHARE_SHARE_SET, &s));
	cg_remove(path);
	device_remove(quiet.device);

	listen_for(&sock, &h, GPUSHARE_EVENT_DEVICE_REMOVED);
	for (type = GPUSHARE_EVENT_CLIENT_JOINED; type < GPUSHARE_EVENT_LOST; type++) {
		test_or_end(h.type[type], false, "no event of type %d", type);
		EXPECT_LE(start, h.last[type].time_ns);
		EXPECT_LE(h.last[type].time_ns, now_ns());
		if (type != GPUSHARE_EVENT_SHARE_SET && type != GPUSHARE_EVENT_GROUP_ADDED &&
		    type != GPUSHARE_EVENT_GROUP_REMOVED)
			EXPECT_EQ(quiet.device, h.last[type].device);
	}
	EXPECT_EQ(pid, h.last[GPUSHARE_EVENT_KILLED].pid);
	EXPECT_EQ(pid, h.last[GPUSHARE_EVENT_OVERRUN].pid);
	EXPECT_EQ(4097, h.last[GPUSHARE_EVENT_MEM_DENIED].value);
	EXPECT_EQ(s.group, h.last[GPUSHARE_EVENT_SHARE_SET].group);
	EXPECT_EQ(s.group, h.last[GPUSHARE_EVENT_GROUP_ADDED].group);
	EXPECT_EQ(s.group, h.last[GPUSHARE_EVENT_GROUP_REMOVED].group);
	EXPECT_EQ(s.group, h.last[GPUSHARE_EVENT_THROTTLED].group);
	EXPECT_EQ(s.group, h.last[GPUSHARE_EVENT_UNTHROTTLED].group);
	EXPECT_LT(start, h.last[GPUSHARE_EVENT_THROTTLED].value);
}

/*
 * The ring is emptied by a work item, which doesn't come to run beside one who has
 * its processor in real time; so it fills up, and says afterwards how much it missed.
 */
TEST(events_that_didnt_fit_are_counted)
{
	struct sched_param first = { .sched_priority = 1 }, normal = {};
	int large = 32 << 20, small = 1;
	struct heard h = {};
	struct client c;
	struct nl slow;
	char buf[4096];
	uint64_t end;
	cpu_set_t one;
	int i;

	setup();
	ASSERT_EQ(0, nl_open(&slow));
	ASSERT_EQ(0, setsockopt(sock.fd, SOL_SOCKET, SO_RCVBUFFORCE, &large, sizeof(large)));
	ASSERT_EQ(0, setsockopt(slow.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	ASSERT_EQ(0, join(&sock, sock.grants));
	ASSERT_EQ(0, join(&slow, slow.grants));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	c = client_new(device_new());
	for (i = 0; i < 20 && !h.type[GPUSHARE_EVENT_LOST]; i++) {
		if (sched_setscheduler(0, SCHED_FIFO, &first))
			SKIP("no real time here: %s", strerror(errno));
		for (end = now_ns() + 500 * MS; now_ns() < end; )
			EXPECT_EQ(0, yield(&c, GPUSHARE_WAIT_AGAIN, 0));
		ASSERT_EQ(0, sched_setscheduler(0, SCHED_OTHER, &normal));
		listen_for(&sock, &h, GPUSHARE_EVENT_LOST);
	}
	EXPECT_EQ(1, h.type[GPUSHARE_EVENT_LOST]);
	EXPECT_LT(0, h.last[GPUSHARE_EVENT_LOST].value);
	printf("# %llu events didn't fit\n",
	       (unsigned long long)h.last[GPUSHARE_EVENT_LOST].value);
	/* a listener whose socket is full is told by that */
	EXPECT_TRUE(EVENTUALLY(recv(slow.fd, buf, sizeof(buf), MSG_DONTWAIT) < 0 &&
			       errno == ENOBUFS));
	device_remove(c.device);
}

/* The first attribute of a message, and the one behind that if it has four bytes. */
#define FIRST	(NLMSG_HDRLEN + GENL_HDRLEN)
#define SECOND	(FIRST + NLA_HDRLEN + 4)

TEST(a_bad_attribute_is_named)
{
	static const struct {
		int cmd, attr, len;
	} bad[] = {
		{ GPUSHARE_CMD_CLIENT_GET, GPUSHARE_A_DEVICE, 2 },	/* too short */
		{ GPUSHARE_CMD_CLIENT_GET, GPUSHARE_A_GROUP, 4 },
		{ GPUSHARE_CMD_CLIENT_GET, GPUSHARE_A_CLIENT, 8 },	/* not one of this dump's */
		{ GPUSHARE_CMD_CLIENT_GET, GPUSHARE_A_MAX + 1, 8 },	/* unknown */
		{ GPUSHARE_CMD_GROUP_GET, GPUSHARE_A_GROUP, 8 },
		{ GPUSHARE_CMD_DEVICE_GET, GPUSHARE_A_DEVICE, 4 },
	};
	struct seen seen = {};
	__u32 device;
	struct msg m;
	size_t i;

	setup();
	device = device_new();
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		begin(&m, sock.family, NLM_F_DUMP, bad[i].cmd);
		attr(&m, bad[i].attr, &(__u64){ 1 }, bad[i].len);
		EXPECT_TRUE(ask(&sock, &m, on_item, &seen) < 0);
		EXPECT_NE(0, sock.error[0]);
		EXPECT_EQ(FIRST, sock.at);
	}
	begin(&m, sock.family, NLM_F_DUMP, GPUSHARE_CMD_CLIENT_GET);
	attr(&m, GPUSHARE_A_DEVICE, &device, 4);			/* this one is good */
	attr(&m, GPUSHARE_A_PATH, "x", 2);
	EXPECT_EQ(-EINVAL, ask(&sock, &m, on_item, &seen));
	EXPECT_EQ(SECOND, sock.at);
	device_remove(device);
	EXPECT_EQ(-ENODEV, dump(&sock, GPUSHARE_CMD_CLIENT_GET, device, &seen));
	EXPECT_TRUE(!sock.error[0] || sock.at == FIRST);	/* kernels before 6.6 say nothing */
	EXPECT_EQ(-ENODEV, dump(&sock, GPUSHARE_CMD_GROUP_GET, device, &seen));
	begin(&m, sock.family, NLM_F_ACK, GPUSHARE_CMD_EVENT);	/* nobody may send these */
	EXPECT_NE(0, ask(&sock, &m, NULL, NULL));
	begin(&m, sock.family, NLM_F_ACK, 99);
	EXPECT_EQ(-EOPNOTSUPP, ask(&sock, &m, NULL, NULL));
	EXPECT_EQ(0, seen.n);
}

TEST(a_tenant_sees_its_own_and_cant_listen)
{
	struct seen seen = {};
	struct client c, m;
	struct nl s;
	char *path;
	pid_t pid;
	int fd;

	setup();
	chmod("/dev/gpushare", 0666);
	path = cg_new(CGROOT, "netlink-tenant");
	c = client_new(device_new());
	fd = arb_open();
	EXPECT_EQ(0, share_set(fd, path, 0, 100));
	pid = fork();
	if (!pid) {
		CHILD(!cg_enter(path));
		become(TENANT);
		CHILD(!nl_open(&s));
		CHILD(!client_open(&m, c.device));
		seen.id = m.id;
		CHILD(!dump(&s, GPUSHARE_CMD_CLIENT_GET, c.device, &seen));
		CHILD(seen.n == 1 && seen.matched == 1);
		seen = (struct seen){ .id = cg_id(path) };
		CHILD(!dump(&s, GPUSHARE_CMD_GROUP_GET, 0, &seen));
		/* the group, and its own part of it */
		CHILD(seen.n == 2 && seen.matched == 1 && seen.share.weight == 100);
		CHILD(join(&s, s.events) == -EPERM);
		CHILD(join(&s, s.grants) == -EPERM);
		_exit(0);
	}
	EXPECT_EQ(0, reap(pid));
	/* an administrator sees all, or the clients of one group */
	seen = (struct seen){ .id = cg_id(path) };
	EXPECT_EQ(0, dump(&sock, GPUSHARE_CMD_GROUP_GET, 0, &seen));
	EXPECT_LE(2, seen.n);
	EXPECT_EQ(1, seen.matched);
	seen = (struct seen){ .id = c.id };
	EXPECT_EQ(0, dump_of_group(&sock, cg_id(CGROOT), &seen));
	EXPECT_EQ(1, seen.matched);
	seen = (struct seen){};
	EXPECT_EQ(0, dump_of_group(&sock, cg_id(path), &seen));
	EXPECT_EQ(0, seen.n);
	device_remove(c.device);
	cg_remove(path);
}

/* A dump goes on while what it lists comes and goes. */
TEST(a_dump_during_changes_ends)
{
	struct seen seen = {};
	struct client c;
	uint32_t device;
	pid_t pid;
	int i;

	setup();
	device = device_new();
	pid = fork();
	if (!pid) {
		for (;;) {
			struct client many[20];

			for (i = 0; i < 20; i++)
				CHILD(!client_open(&many[i], device));
			for (i = 0; i < 20; i++)
				client_close(&many[i]);
		}
	}
	c = client_new(device);
	seen.id = c.id;
	for (i = 0; i < 50; i++)
		EXPECT_EQ(0, dump(&sock, GPUSHARE_CMD_CLIENT_GET, device, &seen));
	EXPECT_EQ(50, seen.matched);		/* who stays is always there */
	kill(pid, SIGKILL);
	reap(pid);
	device_remove(device);
}

TEST_MAIN()
