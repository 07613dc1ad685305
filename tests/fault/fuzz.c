// SPDX-License-Identifier: MIT
/*
 * A fuzzer of the ioctls, the mappings and the netlink family, in the kernel
 * itself: four processes, two of them without rights, make calls that are
 * mostly right but for some bytes, while one after the other is killed at
 * random moments. The module is to survive it with nothing left over; what the
 * kernel's own checkers say is for the log.
 *
 * GS_CALLS (1000000) is how many calls are made in all, GS_SEED where the dice
 * begin.
 */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include "lib.h"

#define WORKERS	4
#define FILES	8

static unsigned int dice;
static struct tally {
	uint64_t calls, good;
} *tally;
static int files[FILES];
static int groups[4];		/* cgroup directories */
static uint64_t ids[4];
static int family, nl;

static unsigned int roll(unsigned int sides)
{
	return rand_r(&dice) % sides;
}

static uint64_t odd_number(void)
{
	static const uint64_t odd[] = { 0, 1, 2, 63, 64, 65, 100, 1000, 4096, 1000000, 0x7fffffff,
		0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 62, 1ULL << 63, ~0ULL - 1, ~0ULL };

	return odd[roll(sizeof(odd) / sizeof(*odd))];
}

static int some_file(void)
{
	return roll(8) ? files[roll(FILES)] : (int)roll(16) - 1;
}

static uint64_t some_id(void)
{
	return roll(4) ? ids[roll(4)] : odd_number();
}

union any {
	struct { __u32 size, flags; } head;
	struct gpushare_version version;
	struct gpushare_attach attach;
	struct gpushare_wait wait;
	struct gpushare_memory memory;
	struct gpushare_describe describe;
	struct gpushare_share share;
	struct gpushare_device device;
	struct gpushare_stats stats;
	struct gpushare_group group;
	struct gpushare_events events;
	char bytes[1024];
};

static const struct {
	unsigned long cmd;
	size_t size;
} commands[] = {
	{ GPUSHARE_VERSION, sizeof(struct gpushare_version) },
	{ GPUSHARE_ATTACH, sizeof(struct gpushare_attach) },
	{ GPUSHARE_DETACH, 0 },
	{ GPUSHARE_ACQUIRE, sizeof(struct gpushare_wait) },
	{ GPUSHARE_YIELD, sizeof(struct gpushare_wait) },
	{ GPUSHARE_MEMORY, sizeof(struct gpushare_memory) },
	{ GPUSHARE_DESCRIBE, sizeof(struct gpushare_describe) },
	{ GPUSHARE_SHARE_SET, sizeof(struct gpushare_share) },
	{ GPUSHARE_SHARE_GET, sizeof(struct gpushare_share) },
	{ GPUSHARE_DEVICE_ADD, sizeof(struct gpushare_device) },
	{ GPUSHARE_DEVICE_SET, sizeof(struct gpushare_device) },
	{ GPUSHARE_DEVICE_REMOVE, sizeof(struct gpushare_device) },
	{ GPUSHARE_DEVICE_GET, sizeof(struct gpushare_device) },
	{ GPUSHARE_STATS, sizeof(struct gpushare_stats) },
	{ GPUSHARE_GROUP, sizeof(struct gpushare_group) },
	{ GPUSHARE_EVENTS, sizeof(struct gpushare_events) },
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))

static void fill_share(struct gpushare_share *s)
{
	s->group = some_id();
	s->cgroup_fd = roll(2) ? -1 : groups[roll(4)];
	s->authority_fd = -1;
	s->device = roll(6);
	s->mask = roll(GPUSHARE_SHARE_ALL + 1);
	s->reset = roll(4) ? 0 : roll(GPUSHARE_SHARE_ALL + 1);
	s->weight = 1 + roll(10000);
	s->class = roll(3);
	s->min_permille = roll(400);
	s->max_us = roll(2) ? GPUSHARE_NO_LIMIT : 1000 + roll(100000);
	s->period_us = 10000 + roll(100000);
	s->mem_max = s->mem_high = GPUSHARE_NO_LIMIT;
}

static void fill_device(struct gpushare_device *d)
{
	d->device = roll(6);
	snprintf(d->key, sizeof(d->key), "cpu:fuzz%u", roll(6));
	d->kind = 1 + roll(4);
	d->mask = roll(GPUSHARE_DEV_ALL + 1) & ~GPUSHARE_DEV_KILL;
	d->policy = roll(3);
	d->seats = 1 + roll(64);
	d->quota = roll(4);
	d->workers = roll(2);
	d->slice_us = 100 + roll(5000);
	d->linger_us = roll(1000);
	d->grace_us = 1000 + roll(5000);
	d->epoch_us = 10000 + roll(100000);
	d->latency_us = roll(10000);
	d->units = roll(8);
	d->unit_threads = roll(2048);
	d->unit_registers = roll(65536);
	d->unit_local_bytes = roll(65536);
	d->mem_bytes = roll(2) ? roll(1 << 30) : odd_number();
}

/* A call that could be right. */
static void fill(union any *a, int i)
{
	memset(a, 0, sizeof(*a));
	a->head.size = commands[i].size;
	switch (commands[i].cmd) {
	case GPUSHARE_ATTACH:
		a->attach.device = roll(6);
		snprintf(a->attach.key, sizeof(a->attach.key), "cpu:fuzz%u", roll(6));
		a->attach.set_fd = roll(2) ? -1 : some_file();
		break;
	case GPUSHARE_ACQUIRE:
	case GPUSHARE_YIELD:
		a->wait.flags = roll(8);
		if (commands[i].cmd == GPUSHARE_ACQUIRE)
			a->wait.flags &= ~GPUSHARE_WAIT_AGAIN;
		a->wait.until_ns = now_ns() + roll(100000);	/* rather calls than naps */
		a->wait.want_ns = roll(4) ? 0 : odd_number();
		break;
	case GPUSHARE_MEMORY:
		a->memory.op = 1 + roll(4);
		a->memory.bytes = roll(4) ? roll(1 << 20) : odd_number();
		break;
	case GPUSHARE_DESCRIBE:
		a->describe.threads = roll(2048);
		a->describe.registers = roll(65536);
		a->describe.local_bytes = roll(65536);
		a->describe.groups = odd_number();
		a->describe.group_ns = odd_number();
		break;
	case GPUSHARE_SHARE_SET:
	case GPUSHARE_SHARE_GET:
		fill_share(&a->share);
		if (commands[i].cmd == GPUSHARE_SHARE_GET)
			a->share.flags = roll(2);
		break;
	case GPUSHARE_DEVICE_ADD:
	case GPUSHARE_DEVICE_SET:
	case GPUSHARE_DEVICE_REMOVE:
	case GPUSHARE_DEVICE_GET:
		fill_device(&a->device);
		break;
	case GPUSHARE_STATS:
		a->stats.flags = roll(2);
		a->stats.what = 1 + roll(3);
		a->stats.device = roll(6);
		a->stats.id = some_id();
		break;
	}
}

/* And then isn't, in one place or a few. */
static void spoil(union any *a, size_t size)
{
	uint64_t odd = odd_number();
	size_t at;

	switch (roll(6)) {
	case 0:
		a->bytes[roll(size ? size : 8)] ^= 1 << roll(8);
		break;
	case 1:
		at = roll(size / 8 + 1) * 8;
		memcpy(a->bytes + at, &odd, 8);
		break;
	case 2:
		a->head.size = roll(size + 64);
		break;
	case 3:
		for (at = 8; at < size; at++)
			a->bytes[at] = roll(256);
		break;
	case 4:
		a->head.size = odd;
		break;
	case 5:
		a->head.flags = odd;
		break;
	}
}

static bool one_ioctl(void)
{
	/* removing devices ends everything else: seldom */
	unsigned int i = roll(COMMANDS);
	static union any a;
	unsigned long cmd;
	void *arg = &a;

	if (commands[i].cmd == GPUSHARE_DEVICE_REMOVE && roll(16))
		i = 3;
	fill(&a, i);
	if (!roll(3))
		spoil(&a, commands[i].size);
	if (!roll(64))
		arg = (void *)(uintptr_t)odd_number();
	cmd = commands[i].cmd;
	if (!roll(64))
		cmd = _IOC(roll(4), GPUSHARE_IOC, roll(32), roll(512));
	return !arb_call(some_file(), cmd, arg);
}

static bool one_mapping(void)
{
	static char *held[8];
	unsigned int i = roll(8);
	size_t n;

	if (held[i]) {
		if (roll(2))
			for (n = 0; n < 64; n++)
				held[i][0x1000 - 8 * (1 + roll(512))] ^= roll(256);
		munmap(held[i], 4096);
		held[i] = NULL;
		return true;
	}
	if (roll(2)) {		/* the client's own: may be scribbled on later */
		held[i] = arb_map(some_file(), GPUSHARE_OFF_CLIENT, PROT_READ | PROT_WRITE);
		return held[i];
	}
	arb_map(some_file(), roll(2) ? GPUSHARE_OFF_GRANT : odd_number() & ~4095ULL, roll(4));
	return true;
}

static bool one_file(void)
{
	unsigned int i = roll(FILES);

	close(files[i]);
	files[i] = arb_open();
	return files[i] >= 0;
}

static bool one_message(void)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
		char attrs[128];
	} m = { .h = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST }, };
	static char buf[32768];
	unsigned int len = 0, n = roll(4);

	m.h.nlmsg_flags |= roll(4) ? NLM_F_DUMP : NLM_F_ACK;
	m.g.cmd = roll(8) ? 1 + roll(3) : roll(256);
	m.g.version = roll(4) ? 1 : roll(256);
	while (n-- && len < 100) {
		struct nlattr *a = (void *)(m.attrs + len);
		uint64_t v = roll(2) ? roll(6) : some_id();

		a->nla_type = roll(8) ? 1 + roll(3) : roll(65536);
		a->nla_len = a->nla_type == GPUSHARE_A_DEVICE ? 4 : 8;
		a->nla_len = NLA_HDRLEN + (roll(8) ? a->nla_len : roll(9));
		memcpy(a + 1, &v, 8);
		if (!roll(32))
			a->nla_len = roll(65536);
		len += NLA_HDRLEN + 8;
	}
	m.h.nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN + len;
	if (send(nl, &m, m.h.nlmsg_len, MSG_DONTWAIT) < 0)
		return false;
	for (n = 0; n < 20 && recv(nl, buf, sizeof(buf), MSG_DONTWAIT) > 0; n++)
		;
	return true;
}

static bool one_poll(void)
{
	struct pollfd p = { some_file(), POLLIN | POLLPRI, 0 };

	return poll(&p, 1, 0) >= 0;
}

static void work(int i)
{
	bool good;
	int k;

	CHILD(!cg_enter(i % 2 ? CGROOT "/fuzz/a" : CGROOT "/fuzz/b"));
	if (i >= WORKERS / 2)
		become(TENANT);
	for (k = 0; k < FILES; k++)
		files[k] = arb_open();
	nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	for (;;) {
		switch (roll(32)) {
		case 0: case 1:
			good = one_mapping();
			break;
		case 2:
			good = one_file();
			break;
		case 3: case 4:
			good = one_message();
			break;
		case 5:
			good = one_poll();
			break;
		case 6:
			if (!roll(64)) {		/* moving costs a lot */
				good = !cg_enter(roll(2) ? CGROOT "/fuzz/a" : CGROOT "/fuzz/a/c");
				break;
			}
			/* fall through */
		default:
			good = one_ioctl();
		}
		tally[i].calls++;
		tally[i].good += good;
	}
}

static uint64_t sum(void)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < WORKERS; i++)
		n += tally[i].calls;
	return n;
}

static pid_t launch(int i)
{
	pid_t pid;

	dice += 0x9e3779b9;
	fflush(stdout);
	pid = fork();
	if (!pid)
		work(i);
	return pid;
}

static void remove_devices(int fd)
{
	struct gpushare_device d;
	int i;

	for (i = 0; i < 100; i++) {
		d = (struct gpushare_device){ .size = sizeof(d), .flags = GPUSHARE_GET_NEXT };
		if (arb_call(fd, GPUSHARE_DEVICE_GET, &d))
			return;
		d.flags = 0;
		EXPECT_TRUE(EVENTUALLY(!arb_call(fd, GPUSHARE_DEVICE_GET, &d) && !d.clients));
		EXPECT_EQ(0, d.holders);
		EXPECT_EQ(0, d.waiters);
		d = (struct gpushare_device){ .size = sizeof(d), .device = d.device };
		EXPECT_EQ(0, arb_call(fd, GPUSHARE_DEVICE_REMOVE, &d));
	}
	EXPECT_TRUE(false);
}

TEST_LIMIT(fuzz, 7200)
{
	const char *s = getenv("GS_CALLS"), *from = getenv("GS_SEED");
	uint64_t calls = s ? strtoull(s, NULL, 0) : 1000000, good = 0, begin, stuck, last = 0;
	static const char *const dirs[] = { CGROOT, CGROOT "/fuzz", CGROOT "/fuzz/a", CGROOT "/fuzz/b" };
	pid_t pids[WORKERS];
	unsigned int kills = 0;
	struct client c;
	int i, fd;

	need_arbiter();
	dice = from ? strtoul(from, NULL, 0) : 4711;
	printf("# seed %u, %llu calls\n", dice, (unsigned long long)calls);
	tally = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	chmod("/dev/gpushare", 0666);
	cg_new(CGROOT, "fuzz");
	cg_new(CGROOT "/fuzz", "a");
	cg_new(CGROOT "/fuzz/a", "c");
	cg_new(CGROOT "/fuzz", "b");
	for (i = 0; i < 4; i++) {
		groups[i] = open(dirs[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ids[i] = cg_id(dirs[i]);
	}
	family = genl_family();
	EXPECT_NE(0, family);
	fd = arb_open();
	for (i = 0; i < WORKERS; i++)
		pids[i] = launch(i);
	begin = stuck = now_ns();
	while (sum() < calls) {
		if (kills % 100 == 0)
			printf("# %llu calls, %llu ms\n", (unsigned long long)sum(),
			       (unsigned long long)((now_ns() - begin) / MS));
		nap(20 + roll(200));
		i = roll(WORKERS);
		kill(pids[i], SIGKILL);
		EXPECT_EQ(128 + SIGKILL, reap(pids[i]));
		pids[i] = launch(i);
		kills++;
		if (sum() > last)
			stuck = now_ns();
		last = sum();
		ASSERT_LT(now_ns() - stuck, 60000 * MS);	/* no call in a minute */
	}
	for (i = 0; i < WORKERS; i++) {
		kill(pids[i], SIGKILL);
		EXPECT_EQ(128 + SIGKILL, reap(pids[i]));
		good += tally[i].good;
	}
	printf("# %llu calls in %llu ms, %llu of them succeeded, %u kills\n",
	       (unsigned long long)sum(), (unsigned long long)((now_ns() - begin) / MS),
	       (unsigned long long)good, kills);
	EXPECT_LT(sum() / 20, good);		/* else it fuzzes only the refusals */
	remove_devices(fd);
	c = client_new(device_new());
	EXPECT_EQ(0, acquire(&c, GPUSHARE_WAIT_NONBLOCK, 0));
	device_remove(c.device);
	for (i = 0; i < 4; i++)
		close(groups[i]);
	cg_remove(CGROOT "/fuzz/a/c");
	cg_remove(CGROOT "/fuzz/a");
	cg_remove(CGROOT "/fuzz/b");
	cg_remove(CGROOT "/fuzz");
}

TEST_MAIN()
