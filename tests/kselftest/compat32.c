// SPDX-License-Identifier: MIT
/*
 * A 32-bit caller, without a library, so that no 32-bit libc is needed: every
 * command with the very same structs. Exit status 0, or the number of the step
 * that failed.
 */
#include <linux/gpushare.h>

#define STATIC_ASSERT(x) _Static_assert(x, #x)

STATIC_ASSERT(sizeof(void *) == 4);
STATIC_ASSERT(sizeof(struct gpushare_wait) == 48);
STATIC_ASSERT(sizeof(struct gpushare_grant_page) == 88);
STATIC_ASSERT(__alignof__(struct gpushare_wait) == 8);

enum { NR_exit = 1, NR_open = 5, NR_ioctl = 54, NR_old_mmap = 90 };

static long call(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory");
	return r;
}

static struct { unsigned long addr, len, prot, flags, fd, offset; } map_args;

/* the old mmap takes its six arguments by a struct */
static void *map(long fd, unsigned long offset, long prot)
{
	map_args.len = 4096;
	map_args.prot = prot;
	map_args.flags = 1;
	map_args.fd = fd;
	map_args.offset = offset;
	return (void *)call(NR_old_mmap, (long)&map_args, 0, 0);
}

static void step(int n, long ok)
{
	if (!ok)
		call(NR_exit, n, 0, 0);
}

void _start(void);

__attribute__((force_align_arg_pointer)) void _start(void)
{
	static struct gpushare_version version = { .size = sizeof(version) };
	static struct gpushare_device device = { .size = sizeof(device),
		.kind = GPUSHARE_KIND_CPU, .key = "cpu:compat32" };
	static struct gpushare_attach attach = { .size = sizeof(attach), .set_fd = -1 };
	static struct gpushare_wait wait = { .size = sizeof(wait), .until_ns = GPUSHARE_FOREVER };
	static struct gpushare_memory memory = { .size = sizeof(memory),
		.op = GPUSHARE_MEM_CHARGE, .bytes = 5ULL << 32 };
	static struct gpushare_describe describe = { .size = sizeof(describe), .threads = 1 };
	static struct gpushare_share share = { .size = sizeof(share), .cgroup_fd = -1,
		.authority_fd = -1, .flags = GPUSHARE_GET_NEXT };
	static struct gpushare_share set = { .size = sizeof(set), .authority_fd = -1,
		.mask = GPUSHARE_SHARE_WEIGHT, .weight = 321 };
	static struct gpushare_device get = { .size = sizeof(get) };
	static struct gpushare_group group = { .size = sizeof(group), .name = "a" };
	static struct gpushare_events events = { .size = sizeof(events), .types = 2 };
	static struct gpushare_stats stats = { .size = sizeof(stats),
		.what = GPUSHARE_STATS_CLIENT };
	const volatile struct gpushare_grant_page *grant;
	volatile struct gpushare_client_page *own;
	long fd = call(NR_open, (long)"/dev/gpushare", 2, 0);

	step(1, fd >= 0);
	step(2, !call(NR_ioctl, fd, GPUSHARE_VERSION, (long)&version));
	step(3, version.abi == GPUSHARE_ABI_VERSION && version.features);
	step(4, !call(NR_ioctl, fd, GPUSHARE_DEVICE_ADD, (long)&device) && device.device);
	attach.device = device.device;
	step(5, !call(NR_ioctl, fd, GPUSHARE_ATTACH, (long)&attach) && attach.client);
	grant = map(fd, GPUSHARE_OFF_GRANT, 1);
	own = map(fd, GPUSHARE_OFF_CLIENT, 3);
	step(6, (unsigned long)grant < -4096UL && (unsigned long)own < -4096UL);
	step(7, grant->client == attach.client);
	step(8, !call(NR_ioctl, fd, GPUSHARE_ACQUIRE, (long)&wait));
	step(9, (grant->word & GPUSHARE_GRANTED) && wait.word == grant->word);
	step(10, !call(NR_ioctl, fd, GPUSHARE_MEMORY, (long)&memory));
	step(11, memory.current_bytes == 5ULL << 32);
	step(12, !call(NR_ioctl, fd, GPUSHARE_DESCRIBE, (long)&describe));
	step(13, !call(NR_ioctl, fd, GPUSHARE_SHARE_GET, (long)&share) && share.weight);
	own->progress = 1ULL << 40;
	step(14, !call(NR_ioctl, fd, GPUSHARE_STATS, (long)&stats));
	step(15, stats.id == attach.client && stats.progress == 1ULL << 40 && stats.grants == 1);
	step(16, stats.mem_current == 5ULL << 32);
	wait.size = 8192;
	step(17, call(NR_ioctl, fd, GPUSHARE_YIELD, (long)&wait) == -7);	/* E2BIG */
	wait.size = sizeof(wait);
	step(18, !call(NR_ioctl, fd, GPUSHARE_YIELD, (long)&wait) && !(grant->word & 0xff));
	step(19, call(NR_ioctl, fd, GPUSHARE_YIELD, -4096) == -14);		/* EFAULT */
	wait.flags = GPUSHARE_WAIT_AGAIN;
	step(20, !call(NR_ioctl, fd, GPUSHARE_YIELD, (long)&wait) && wait.word == grant->word);
	set.cgroup_fd = call(NR_open, (long)"/sys/fs/cgroup/compat32", 0200000, 0);
	step(21, !call(NR_ioctl, fd, GPUSHARE_SHARE_SET, (long)&set) && set.entitled_permille);
	device.mask = GPUSHARE_DEV_CAPACITY;
	device.mem_bytes = 6ULL << 32;
	step(22, !call(NR_ioctl, fd, GPUSHARE_DEVICE_SET, (long)&device));
	get.device = device.device;
	step(23, !call(NR_ioctl, fd, GPUSHARE_DEVICE_GET, (long)&get));
	step(24, get.mem_bytes == 6ULL << 32 && get.holders == 1);
	step(25, call(NR_ioctl, fd, GPUSHARE_GROUP, (long)&group) == -95);	/* EOPNOTSUPP */
	step(26, call(NR_ioctl, fd, GPUSHARE_EVENTS, (long)&events) == -95);
	device.mask = 0;
	step(27, !call(NR_ioctl, fd, GPUSHARE_DETACH, 0));
	step(28, !call(NR_ioctl, fd, GPUSHARE_DEVICE_REMOVE, (long)&device));
	call(NR_exit, 0, 0, 0);
}
