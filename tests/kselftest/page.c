// SPDX-License-Identifier: MIT
/*
 * The two pages: who may map them how, that nothing else shows through them,
 * that rubbish in the client's changes nothing, and that another driver can
 * pin them and keeps what it pinned.
 */
#include <sys/ioctl.h>
#include "lib.h"
#include "pin/gs_pin.h"

#define PAGE	4096
#define RW	(PROT_READ | PROT_WRITE)

static int map_error(int fd, uint64_t offset, size_t size, int prot, int flags)
{
	void *p = mmap(NULL, size, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, size);
	return 0;
}

TEST(only_these_mappings)
{
	struct client c;

	need_arbiter();
	ONLY_MODULE("pages that are mapped from the client's file");
	c = client_new(device_new());
	EXPECT_EQ(0, map_error(c.fd, GPUSHARE_OFF_GRANT, PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(0, map_error(c.fd, GPUSHARE_OFF_CLIENT, PAGE, RW, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_GRANT, PAGE, RW, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_GRANT, PAGE, PROT_WRITE, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_GRANT, PAGE, PROT_READ, MAP_PRIVATE));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_GRANT, PAGE, RW, MAP_PRIVATE));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_CLIENT, PAGE, RW, MAP_PRIVATE));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_GRANT, 2 * PAGE, PROT_READ, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_CLIENT, 2 * PAGE, RW, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, PAGE, PAGE, PROT_READ, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_CLIENT + PAGE, PAGE, PROT_READ, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, 1ULL << 40, PAGE, PROT_READ, MAP_SHARED));
	EXPECT_NE(0, map_error(c.fd, GPUSHARE_OFF_GRANT, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED));
	device_remove(c.device);
}

TEST(the_grant_page_cant_be_made_writable)
{
	struct client c;
	void *p;
	int mem;

	need_arbiter();
	c = client_new(device_new());
	p = (void *)c.grant;
	EXPECT_EQ(-1, mprotect(p, PAGE, RW));
	EXPECT_EQ(EACCES, errno);
	/* nor in the way that a debugger writes into what is read-only */
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, mem);
	EXPECT_EQ(-1, pwrite(mem, "\1", 1, (uintptr_t)p + offsetof(struct gpushare_grant_page, word)));
	EXPECT_EQ(0, word(&c));
	device_remove(c.device);
}

TEST(pages_cant_be_grown_split_moved_or_executed)
{
	struct client c;
	void *p;

	need_arbiter();
	ONLY_MODULE("a say in how its pages are mapped");
	c = client_new(device_new());
	p = (void *)c.grant;
	EXPECT_TRUE(mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT_TRUE(mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, 0x10000000) == MAP_FAILED);
	EXPECT_TRUE(mremap(p, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT_EQ(0, word(&c));
	p = (void *)c.own;
	EXPECT_TRUE(mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT_EQ(-1, mprotect(p, PAGE, PROT_READ | PROT_EXEC));
	device_remove(c.device);
}

/* What isn't part of the layout is zero: no leftovers of other memory. */
TEST(nothing_else_shows)
{
	const unsigned char *g, *o;
	struct client c;
	int i;

	need_arbiter();
	c = client_new(device_new());
	g = (void *)c.grant;
	o = (void *)c.own;
	for (i = sizeof(struct gpushare_grant_page); i < PAGE; i++)
		EXPECT_EQ(0, g[i]);
	for (i = sizeof(struct gpushare_client_page); i < PAGE; i++)
		EXPECT_EQ(0, o[i]);
	EXPECT_EQ(GPUSHARE_PAGE_VERSION, c.own->version);
	device_remove(c.device);
}

TEST(pages_of_two_clients_are_their_own)
{
	struct client a, b;

	need_arbiter();
	a = client_new(device_new());
	b = client_new(a.device);
	a.own->progress = 7;
	EXPECT_EQ(0, b.own->progress);
	EXPECT_NE(a.grant->client, b.grant->client);
	device_remove(a.device);
}

/* Only who wants its child to have them can make it so, and that changes nothing else. */
TEST(pages_that_were_given_to_a_child_end_with_their_client)
{
	struct client c, o;
	int go[2], up[2], status;
	uint64_t seen;
	pid_t pid;

	need_arbiter();
	c = client_new(device_new());
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, pipe(up));
	pid = fork();
	if (!pid) {
		CHILD(!client_open(&o, c.device));
		/* 7.x refuses it for a page that isn't memory: nobody has it, then */
		if (madvise((void *)o.grant, PAGE, MADV_DOFORK) && errno == EINVAL)
			_exit(4);
		CHILD(!madvise((void *)o.own, PAGE, MADV_DOFORK));
		CHILD(!acquire(&o, 0, 0));
		if (fork())
			_exit(0);
		hold(go);
		seen = word(&o);
		CHILD(acquire(&o, 0, 0) == -ENOTCONN);
		o.own->idle_ns = 1;
		CHILD(write(up[1], &seen, 8) == 8);
		_exit(0);
	}
	status = reap(pid);
	if (status == 4) {
		device_remove(c.device);
		SKIP("this kernel gives no such page to a child");
	}
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, acquire(&c, 0, 10000));
	step(go);
	ASSERT_EQ(8, read(up[0], &seen, 8));
	EXPECT_EQ(0, seen & GPUSHARE_FLAGS_MASK);
	device_remove(c.device);
}

TEST(a_page_lives_while_it_is_mapped)
{
	struct client c;
	uint32_t device;

	need_arbiter();
	ONLY_MODULE("a file that a mapping keeps open");
	device = device_new();
	c = client_new(device);
	ASSERT_EQ(0, acquire(&c, 0, 0));
	close(c.fd);
	/* the mapping holds the file, and the client goes on */
	EXPECT_TRUE(granted(&c));
	munmap((void *)c.own, PAGE);
	munmap((void *)c.grant, PAGE);
	c = client_new(device);
	EXPECT_EQ(0, acquire(&c, 0, 5000));
	device_remove(device);
}

/*
 * Some rubbish reads as "idle since long ago", which costs its writer the grant
 * after linger or a slice: these are long, so that it doesn't come to that here.
 */
TEST(rubbish_in_the_clients_page_harms_nobody)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_LINGER,
		.slice_us = 1000000, .linger_us = 1000000 };
	struct gpushare_stats s;
	struct client a, b;
	unsigned int seed = 4711;
	uint64_t before;
	int i, k;

	need_arbiter();
	printf("# seed %u\n", seed);
	a = client_new(device_add(&d));
	b = client_new(a.device);
	for (i = 0; i < 200; i++) {
		volatile uint32_t *p = (volatile uint32_t *)a.own;

		for (k = 0; k < PAGE / 4; k++)
			p[k] = i % 4 == 0 ? ~0U : i % 4 == 1 ? 1U << 31 : (uint32_t)rand_r(&seed);
		EXPECT_EQ(0, acquire(&a, 0, 5000));
		EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
		EXPECT_EQ(0, stats(b.fd, GPUSHARE_STATS_CLIENT, 0, a.id, &s));
		EXPECT_LE(s.usage_ns, now_ns());
		EXPECT_EQ(0, yield(&a, 0, 0));
		EXPECT_EQ(0, acquire(&b, 0, 5000));
		EXPECT_EQ(0, yield(&b, 0, 0));
	}
	EXPECT_EQ(0, stats(b.fd, GPUSHARE_STATS_CLIENT, 0, b.id, &s));
	before = s.usage_ns;
	EXPECT_LT(0, before);
	EXPECT_EQ(0, s.progress);
	device_remove(a.device);
}

/*
 * A machine that stands still for a whole slice says nothing of the arbiter, so
 * this is tried until it doesn't.
 */
TEST_LIMIT(an_idle_holder_loses_its_grant_after_linger, 120)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_LINGER,
		.slice_us = 1000000, .linger_us = 1000 };
	bool kept = false, lost = false;
	struct gpushare_stats s;
	struct client a, b;
	uint64_t end;
	int i;

	need_arbiter();
	a = client_new(device_add(&d));
	b = client_new(a.device);
	for (i = 0; i < 20 && !lost; i++) {
		a.own->idle_ns = 0;
		ASSERT_EQ(0, acquire(&a, 0, 0));
		end = a.grant->deadline_ns;
		EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
		nap(50);
		/* busy, and its slice is long */
		kept = granted(&a) && !asked_back(&a);
		EXPECT_TRUE(kept || now_ns() >= end);
		EXPECT_EQ(0, yield(&b, 0, 0));
		a.own->idle_ns = now_ns();
		nap(50);
		EXPECT_TRUE(granted(&a));	/* nobody waits */
		EXPECT_EQ(0, acquire(&b, 0, 0));
		EXPECT_FALSE(granted(&a));
		lost = b.grant->granted_ns < end;
		EXPECT_EQ(0, yield(&b, 0, 0));
	}
	EXPECT_TRUE(kept);
	EXPECT_TRUE(lost);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(0, s.overruns);
	device_remove(a.device);
}

/* It has 20 s to yield; but who says that it can't isn't waited for, and pays. */
TEST(what_cant_be_stopped_isnt_waited_for)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_GRACE,
		.slice_us = 5000, .grace_us = 20000000 };
	struct gpushare_stats before, after;
	struct client a, b;

	need_arbiter();
	a = client_new(device_add(&d));
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, acquire(&b, 0, 300));
	a.own->until_ns = now_ns() - 1;		/* which is over, as it says */
	EXPECT_EQ(-ETIMEDOUT, acquire(&b, 0, 300));
	a.own->until_ns = now_ns() + 60000000000;
	EXPECT_EQ(0, acquire(&b, 0, 10000));
	EXPECT_FALSE(granted(&a));
	EXPECT_TRUE(word(&a) & GPUSHARE_WAITING);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &before));
	nap(100);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &after));
	EXPECT_LE(before.usage_ns + 50000000, after.usage_ns);
	EXPECT_EQ(0, after.overruns);
	EXPECT_EQ(0, yield(&b, 0, 0));
	EXPECT_TRUE(EVENTUALLY(granted(&a)));
	/* it has ended, and there is nothing more */
	EXPECT_EQ(0, acquire(&b, 0, 10000));
	EXPECT_TRUE(word(&a) & GPUSHARE_WAITING);
	a.own->until_ns = 0;
	a.own->idle_ns = now_ns();
	EXPECT_TRUE(EVENTUALLY(!(word(&a) & GPUSHARE_FLAGS_MASK)));
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &before));
	nap(100);
	EXPECT_EQ(0, stats(a.fd, GPUSHARE_STATS_CLIENT, 0, 0, &after));
	EXPECT_EQ(before.usage_ns, after.usage_ns);
	device_remove(a.device);
}

TEST(poll_tells_an_idle_holder_that_is_asked)
{
	struct gpushare_device d = { .mask = GPUSHARE_DEV_SLICE | GPUSHARE_DEV_LINGER,
		.slice_us = 1000000, .linger_us = 1000000 };
	struct client a, b;

	need_arbiter();
	a = client_new(device_add(&d));
	b = client_new(a.device);
	ASSERT_EQ(0, acquire(&a, 0, 0));
	EXPECT_EQ(-EAGAIN, acquire(&b, GPUSHARE_WAIT_NONBLOCK, 0));
	ASSERT_TRUE(EVENTUALLY(asked_back(&a)));
	EXPECT_EQ(0, arb_poll(a.fd, POLLPRI, 0));	/* it works, and looks by itself */
	a.own->idle_ns = now_ns();
	EXPECT_EQ(POLLPRI, arb_poll(a.fd, POLLPRI, 0));
	device_remove(a.device);
}

static int pin(int fd, const volatile void *address, int write)
{
	struct gs_pin p = { .address = (uintptr_t)address, .write = write };

	return ioctl(fd, GS_PIN, &p) ? -errno : 0;
}

static uint64_t pinned(int fd, size_t offset)
{
	struct gs_pin p = { .offset = offset };

	EXPECT_EQ(0, ioctl(fd, GS_PIN_READ, &p));
	return p.value;
}

TEST(another_driver_pins_the_pages_long_term)
{
	struct gs_pin w = { .offset = offsetof(struct gpushare_client_page, progress),
		.value = 99 };
	int grant = open("/dev/gs_pin", O_RDWR | O_CLOEXEC), own;
	struct gpushare_stats s;
	struct client c;
	uint64_t id;

	need_arbiter();
	if (grant < 0)
		SKIP("gs_pin.ko isn't loaded");
	own = open("/dev/gs_pin", O_RDWR | O_CLOEXEC);
	c = client_new(device_new());
	id = c.id;
	EXPECT_EQ(-EFAULT, pin(grant, c.grant, 1));	/* never for writing */
	ASSERT_EQ(0, pin(grant, c.grant, 0));
	ASSERT_EQ(0, pin(own, c.own, 1));

	/* what the device counts is seen here and by the arbiter */
	EXPECT_EQ(0, ioctl(own, GS_PIN_WRITE, &w));
	EXPECT_EQ(99, c.own->progress);
	EXPECT_EQ(0, stats(c.fd, GPUSHARE_STATS_CLIENT, 0, 0, &s));
	EXPECT_EQ(99, s.progress);
	/* and the device sees its grant come and go */
	EXPECT_EQ(0, acquire(&c, 0, 0));
	EXPECT_EQ(word(&c), pinned(grant, offsetof(struct gpushare_grant_page, word)));
	EXPECT_EQ(0, yield(&c, 0, 0));
	EXPECT_EQ(word(&c), pinned(grant, offsetof(struct gpushare_grant_page, word)));

	/* the client goes; the device still has its page, and only that */
	client_close(&c);
	EXPECT_EQ(id, pinned(grant, offsetof(struct gpushare_grant_page, client)));
	c = client_new(c.device ? c.device : device_new());
	EXPECT_EQ(id, pinned(grant, offsetof(struct gpushare_grant_page, client)));
	w.value = 0xdeadbeef;
	EXPECT_EQ(0, ioctl(own, GS_PIN_WRITE, &w));
	EXPECT_NE(0xdeadbeef, c.own->progress);
	EXPECT_EQ(0xdeadbeef, pinned(own, w.offset));
	close(grant);
	close(own);
	device_remove(c.device);
}

TEST_MAIN()
