// SPDX-License-Identifier: MIT
/* VERSION, and the rules that every command's struct follows. */
#include "lib.h"

#define PAGE	4096

TEST(version_says_who_answers)
{
	struct gpushare_version v = { .size = sizeof(v) };
	uint64_t again;
	int fd;

	need_arbiter();
	fd = arb_open();
	ASSERT_EQ(0, arb_call(fd, GPUSHARE_VERSION, &v));
	EXPECT_EQ(GPUSHARE_ABI_VERSION, v.abi);
	EXPECT_EQ(sysconf(_SC_PAGESIZE), v.page_size);
	EXPECT_NE(0, v.started_ns);
	EXPECT_LE(v.started_ns, now_ns());
	again = v.started_ns;
	ASSERT_EQ(0, arb_call(fd, GPUSHARE_VERSION, &v));
	EXPECT_EQ(again, v.started_ns);
	EXPECT_TRUE(v.features & GPUSHARE_FEAT_CGROUP);
	EXPECT_EQ(arb_is_module(), !!(v.features & GPUSHARE_FEAT_NETLINK));
	EXPECT_TRUE(v.features & GPUSHARE_FEAT_DISCOVERY);
	EXPECT_EQ(!arb_is_module(), !!(v.features & GPUSHARE_FEAT_NAMED));
	EXPECT_EQ(!arb_is_module(), !!(v.features & GPUSHARE_FEAT_EVENTS));
	EXPECT_NE(0, v.release[0]);
	EXPECT_EQ(0, v.release[sizeof(v.release) - 1]);
}

/* A call of each command that succeeds, in the room of a larger struct. */
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
	char bytes[2 * PAGE];
};

static struct client client;
static int spare;			/* a file without a client, but for ATTACH */

static const struct command {
	const char *name;
	unsigned long cmd;
	size_t size;
} commands[] = {
#define COMMAND(cmd, type) { #cmd, cmd, sizeof(struct type) }
	COMMAND(GPUSHARE_VERSION, gpushare_version),
	COMMAND(GPUSHARE_ATTACH, gpushare_attach),
	COMMAND(GPUSHARE_ACQUIRE, gpushare_wait),
	COMMAND(GPUSHARE_YIELD, gpushare_wait),
	COMMAND(GPUSHARE_MEMORY, gpushare_memory),
	COMMAND(GPUSHARE_DESCRIBE, gpushare_describe),
	COMMAND(GPUSHARE_SHARE_SET, gpushare_share),
	COMMAND(GPUSHARE_SHARE_GET, gpushare_share),
	COMMAND(GPUSHARE_DEVICE_ADD, gpushare_device),
	COMMAND(GPUSHARE_DEVICE_REMOVE, gpushare_device),
	COMMAND(GPUSHARE_DEVICE_SET, gpushare_device),
	COMMAND(GPUSHARE_DEVICE_GET, gpushare_device),
	COMMAND(GPUSHARE_STATS, gpushare_stats),
};

#define for_each_command(c) \
	for (c = commands; c < commands + sizeof(commands) / sizeof(*commands); c++)

/* The device that DEVICE_ADD adds and DEVICE_REMOVE removes: is to be there or not. */
static void other_device(bool there)
{
	struct gpushare_device d = { .size = sizeof(d), .kind = GPUSHARE_KIND_CPU,
		.key = "cpu:structs" };

	arb_call(spare, there ? GPUSHARE_DEVICE_ADD : GPUSHARE_DEVICE_REMOVE, &d);
}

static void fill(union any *a, const struct command *c)
{
	memset(a, 0, sizeof(*a));
	a->head.size = c->size;
	switch (c->cmd) {
	case GPUSHARE_ATTACH:
		arb_call(spare, GPUSHARE_DETACH, NULL);
		a->attach.device = client.device;
		a->attach.set_fd = -1;
		break;
	case GPUSHARE_DEVICE_ADD:
	case GPUSHARE_DEVICE_REMOVE:
		other_device(c->cmd == GPUSHARE_DEVICE_REMOVE);
		a->device.kind = GPUSHARE_KIND_CPU;
		strcpy(a->device.key, "cpu:structs");
		break;
	case GPUSHARE_ACQUIRE:
	case GPUSHARE_YIELD:
		a->wait.until_ns = GPUSHARE_FOREVER;
		break;
	case GPUSHARE_MEMORY:
		a->memory.op = GPUSHARE_MEM_CHARGE;
		a->memory.bytes = 1;
		break;
	case GPUSHARE_DESCRIBE:
		a->describe.threads = 64;
		a->describe.groups = 1;
		break;
	case GPUSHARE_SHARE_SET:
		a->share.mask = GPUSHARE_SHARE_WEIGHT;
		a->share.weight = 100;
		/* fall through */
	case GPUSHARE_SHARE_GET:
		a->share.cgroup_fd = a->share.authority_fd = -1;
		a->share.group = cg_id(CGROOT "/structs");
		break;
	case GPUSHARE_DEVICE_SET:
		a->device.mask = GPUSHARE_DEV_LINGER;
		a->device.linger_us = 100;
		/* fall through */
	case GPUSHARE_DEVICE_GET:
		a->device.device = client.device;
		break;
	case GPUSHARE_STATS:
		a->stats.what = GPUSHARE_STATS_CLIENT;
		break;
	}
}

static void setup(void)
{
	need_arbiter();
	cg_new(CGROOT, "structs");
	client = client_new(device_new());
	spare = arb_open();
}

static void teardown(void)
{
	other_device(false);
	close(spare);
	device_remove(client.device);
	client_close(&client);
	cg_remove(CGROOT "/structs");
}

#define EXPECT_CALL(result, c, a) do {						\
	int fd_ = (c)->cmd == GPUSHARE_ATTACH ? spare : client.fd;		\
	int r_ = arb_call(fd_, (c)->cmd, (a));				\
	test_or_end(r_ == (result), false, "%s gave %d, not %d", (c)->name, r_, result); \
} while (0)

TEST(exact_size)
{
	const struct command *c;
	union any a;

	setup();
	for_each_command(c) {
		fill(&a, c);
		EXPECT_CALL(0, c, &a);
	}
	teardown();
}

TEST(longer_is_taken_if_the_rest_is_zero)
{
	const struct command *c;
	union any a;
	int something;

	setup();
	for_each_command(c) {
		for (something = 0; something < 2; something++) {
			fill(&a, c);
			a.head.size = c->size + 16;
			a.bytes[c->size + 15] = something;
			EXPECT_CALL(something ? -E2BIG : 0, c, &a);
		}
	}
	teardown();
}

TEST(absurd_sizes_are_refused)
{
	static const __u32 big[] = { 2 * PAGE, 1U << 20, 0x7fffffff, 0x80000000, 0xffffffff };
	const struct command *c;
	union any a;
	size_t i;

	ONLY_MODULE("calls that go on after a length that is none");
	setup();
	for_each_command(c) {
		for (i = 0; i < sizeof(big) / sizeof(*big); i++) {
			fill(&a, c);
			a.head.size = big[i];
			EXPECT_CALL(-E2BIG, c, &a);
		}
		for (i = 0; i < 8; i++) {
			fill(&a, c);
			a.head.size = i;
			EXPECT_CALL(-EINVAL, c, &a);
		}
	}
	teardown();
}

/* An older caller's struct: nothing behind its end is read or written. */
TEST(shorter_is_an_older_caller)
{
	size_t cut = offsetof(struct gpushare_stats, since_ns), i;
	const struct command stat = { "STATS", GPUSHARE_STATS, cut };
	const struct command wait = { "ACQUIRE", GPUSHARE_ACQUIRE,
		offsetof(struct gpushare_wait, word) };
	union any a;

	setup();
	fill(&a, &stat);
	memset(a.bytes + cut, 0x5a, 64);
	EXPECT_CALL(0, &stat, &a);
	EXPECT_EQ(client.id, a.stats.id);
	for (i = cut; i < cut + 64; i++)
		EXPECT_EQ(0x5a, a.bytes[i]);
	fill(&a, &wait);
	memset(a.bytes + wait.size, 0x5a, 64);
	EXPECT_CALL(0, &wait, &a);
	EXPECT_TRUE(granted(&client));
	for (i = wait.size; i < wait.size + 64; i++)
		EXPECT_EQ(0x5a, a.bytes[i]);
	teardown();
}

TEST(unknown_flags_are_refused)
{
	const struct command *c;
	union any a;
	int bit;

	setup();
	for_each_command(c) {
		for (bit = 3; bit < 32; bit++) {	/* those below are in use somewhere */
			fill(&a, c);
			a.head.flags = 1U << bit;
			EXPECT_CALL(-EINVAL, c, &a);
		}
	}
	teardown();
}

TEST(reserved_members_and_unknown_bits_are_refused)
{
	static const struct {
		unsigned long cmd;
		size_t offset;		/* of an u32 */
		uint32_t value;
	} bad[] = {
#define BAD(cmd, type, member, value) { cmd, offsetof(struct type, member), value }
		BAD(GPUSHARE_ACQUIRE, gpushare_wait, reserved, 1),
		BAD(GPUSHARE_YIELD, gpushare_wait, reserved, 1),
		BAD(GPUSHARE_MEMORY, gpushare_memory, reserved, 1),
		BAD(GPUSHARE_MEMORY, gpushare_memory, op, 0),
		BAD(GPUSHARE_MEMORY, gpushare_memory, op, 5),
		BAD(GPUSHARE_SHARE_SET, gpushare_share, mask, GPUSHARE_SHARE_ALL + 1),
		BAD(GPUSHARE_SHARE_SET, gpushare_share, reset, GPUSHARE_SHARE_ALL + 1),
		BAD(GPUSHARE_DEVICE_ADD, gpushare_device, mask, GPUSHARE_DEV_ALL + 1),
		BAD(GPUSHARE_DEVICE_SET, gpushare_device, mask, GPUSHARE_DEV_ALL + 1),
		BAD(GPUSHARE_STATS, gpushare_stats, what, 0),
		BAD(GPUSHARE_STATS, gpushare_stats, what, 4),
	};
	const struct command *c;
	union any a;
	size_t i;

	setup();
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		for_each_command(c) {
			if (c->cmd != bad[i].cmd)
				continue;
			fill(&a, c);
			memcpy(a.bytes + bad[i].offset, &bad[i].value, 4);
			EXPECT_CALL(-EINVAL, c, &a);
		}
	}
	teardown();
}

TEST(bad_addresses_fault)
{
	char *edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	const struct command *c;
	union any a;

	ONLY_MODULE("addresses");
	setup();
	ASSERT_EQ(0, mprotect(edge + PAGE, PAGE, PROT_NONE));
	for_each_command(c) {
		EXPECT_CALL(-EFAULT, c, NULL);
		EXPECT_CALL(-EFAULT, c, (void *)8);
		EXPECT_CALL(-EFAULT, c, (void *)0xffff888000000000);	/* the kernel's */
		EXPECT_CALL(-EFAULT, c, edge + PAGE);
		fill(&a, c);
		memcpy(edge + PAGE - c->size + 4, &a, c->size - 4);	/* its end isn't there */
		EXPECT_CALL(-EFAULT, c, edge + PAGE - c->size + 4);
		memcpy(edge + PAGE - c->size, &a, c->size);
		EXPECT_CALL(0, c, edge + PAGE - c->size);
		yield(&client, 0, 0);
	}
	teardown();
}

/*
 * A struct that can be read but not written: the call fails, and what the
 * header promises then is that nothing has changed.
 */
TEST(a_result_that_cant_be_written_changes_nothing)
{
	struct command wait = { "ACQUIRE", GPUSHARE_ACQUIRE, sizeof(struct gpushare_wait) };
	const struct command drop = { "YIELD", GPUSHARE_YIELD, sizeof(struct gpushare_wait) };
	const struct command mem = { "MEMORY", GPUSHARE_MEMORY, sizeof(struct gpushare_memory) };
	const struct command new = { "ATTACH", GPUSHARE_ATTACH, sizeof(struct gpushare_attach) };
	const struct command add = { "DEVICE_ADD", GPUSHARE_DEVICE_ADD,
		sizeof(struct gpushare_device) };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gpushare_stats s;
	union any a;

	ONLY_MODULE("addresses");
	setup();
	fill(&a, &mem);
	memcpy(page, &a, mem.size);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_CALL(-EFAULT, &mem, page);
	EXPECT_EQ(0, stats(client.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(0, s.mem_current);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	fill(&a, &new);
	memcpy(page, &a, new.size);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_CALL(-EFAULT, &new, page);
	EXPECT_EQ(-ENOTCONN, arb_call(spare, GPUSHARE_DETACH, NULL));
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	fill(&a, &add);
	memcpy(page, &a, add.size);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_CALL(-EFAULT, &add, page);
	a.device.device = 0;
	EXPECT_EQ(-ENODEV, arb_call(spare, GPUSHARE_DEVICE_GET, &a));
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	fill(&a, &wait);
	memcpy(page, &a, wait.size);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_CALL(-EFAULT, &wait, page);
	EXPECT_FALSE(granted(&client));
	/* nor what the client had before */
	ASSERT_EQ(0, acquire(&client, 0, 0));
	EXPECT_CALL(-EFAULT, &wait, page);
	EXPECT_TRUE(granted(&client));
	EXPECT_CALL(-EFAULT, &drop, page);
	EXPECT_TRUE(granted(&client));
	wait.size -= 8;			/* an older caller's goes another way */
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	((union any *)page)->head.size = wait.size;
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	EXPECT_CALL(-EFAULT, &wait, page);
	EXPECT_TRUE(granted(&client));
	EXPECT_CALL(-EFAULT, &drop, page);
	EXPECT_TRUE(granted(&client));
	teardown();
}

TEST(no_such_command)
{
	struct gpushare_wait w = { .size = sizeof(w) };
	int nr;

	setup();
	for (nr = 0x10; nr < 0x100; nr++)
		EXPECT_EQ(-ENOTTY, arb_call(client.fd, _IOC(3, GPUSHARE_IOC, nr, sizeof(w)), &w));
	EXPECT_EQ(-ENOTTY, arb_call(client.fd, _IOWR('T', 3, struct gpushare_wait), &w));
	EXPECT_EQ(-ENOTTY, arb_call(client.fd, 0, &w));
	teardown();
}

TEST(what_the_module_cant_do)
{
	struct gpushare_group g = { .size = sizeof(g), .name = "a" };
	struct gpushare_events e = { .size = sizeof(e), .types = 2 };

	ONLY_MODULE("none of these");
	setup();
	EXPECT_EQ(-EOPNOTSUPP, arb_call(client.fd, GPUSHARE_GROUP, &g));
	EXPECT_EQ(-EOPNOTSUPP, arb_call(client.fd, GPUSHARE_EVENTS, &e));
	teardown();
}

TEST_MAIN()
