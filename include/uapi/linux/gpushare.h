/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * gpushare: shares of accelerators, by cgroup.
 *
 * This file is the whole contract between an arbiter and its clients. There
 * are two arbiters: the kernel module, reached by ioctls on /dev/gpushare,
 * and the daemon gpushared, which takes the same numbers and structs over a
 * unix socket. What one of them can't do is said at the command, and it is
 * refused there with EOPNOTSUPP.
 *
 * Words: a *device* is one accelerator; a *group* mirrors a cgroup v2 directory
 * that was given a share (a task belongs to its nearest such ancestor, the root
 * always counts as one); a *client* is one process's session on one device; a
 * *grant* lets a client run on its device until it is asked back; a *tenant* is
 * whose programs clients are.
 *
 * Life of a client
 * ----------------
 *
 *	fd = open("/dev/gpushare", O_RDWR | O_CLOEXEC);	nothing exists yet
 *	ioctl(fd, GPUSHARE_ATTACH, &attach);		a client on one device
 *	mmap(fd, GPUSHARE_OFF_GRANT, PROT_READ)		the arbiter's page
 *	mmap(fd, GPUSHARE_OFF_CLIENT, PROT_READ|PROT_WRITE)	its own page
 *	ioctl(fd, GPUSHARE_ACQUIRE, &wait);		blocks until granted
 *	... run slices, looking at the grant page between them ...
 *	wait.flags = GPUSHARE_WAIT_AGAIN;		with more to run; else 0
 *	ioctl(fd, GPUSHARE_YIELD, &wait);		when preempt is set
 *	close(fd);					everything is given back
 *
 * A file carries at most one client, and the client belongs to the address
 * space that attached it: from another one (after fork, or after the file was
 * passed on) every command that speaks of the client fails with EXDEV. It ends
 * with DETACH, with the last close, with exec, or with the process's death,
 * whatever comes first; a grant that it held is free at that moment. (A file of the
 * daemon's is a connection. It belongs to the process that connected, and whoever
 * else that gives it to speaks for it; exec ends the client by closing it.)
 *
 * Times are in nanoseconds of CLOCK_MONOTONIC where a member ends in _ns and
 * microseconds where it ends in _us. Points in time are absolute, so that an
 * interrupted call can simply be made again.
 *
 * Tenants
 * -------
 * Within a group each tenant is one: its clients stand together in a *part* of the
 * group, with the weight of one, however many processes, files or groups it makes.
 * That holds in the root too, so that where no share was ever set users have equal
 * shares. Who the tenant is, is found when a client is attached, by what the kernel
 * knows of the process:
 *
 *  - in a pid namespace below the arbiter's it is a container, known by the outermost
 *    of these; but if a user made that one, in a user namespace, it is that user's;
 *  - else, below a user namespace, it is the user's who made the outermost, unless
 *    that was root;
 *  - else it is the user's, by the real user id (the daemon: by the id with which it
 *    connected).
 *
 * A cgroup's share that was set by somebody without CAP_SYS_ADMIN divides what that
 * tenant has: its group hangs below the tenant's part of the next group above,
 * unless all of that one is the tenant's. Once someone with CAP_SYS_ADMIN sets it,
 * it hangs below the next group above itself. What is all one tenant's has no part
 * for that tenant in it.
 *
 * A part has an id from GPUSHARE_PART_FIRST on, and is listed with its group's path
 * to those who see that group. It comes with its first client and stays until it
 * has none, and owes nothing; it can't be given a share, as a cgroup can (EINVAL).
 *
 * Structs
 * -------
 * Each begins with its size as the caller knows it, then flags. A shorter
 * struct than the arbiter's is one from an older program: what it lacks is 0.
 * A longer one is taken if all that the arbiter doesn't know is 0, and refused
 * with E2BIG otherwise. At most the caller's size is written back. Unknown
 * flags, bits of a mask and non-zero reserved members are refused with EINVAL.
 * No struct holds a pointer or differs between 32 and 64 bit callers.
 *
 * Errors that every command can give: EFAULT (the struct isn't readable or
 * writable), EINVAL, E2BIG, ENOTTY (no such command), ENODEV (no such device,
 * or the client's device was removed), ENOTCONN (a command about the file's
 * client, and there is none), EXDEV (the client is another address space's),
 * ENOMEM (also where something small must be kept: a task's group on a device).
 * Whatever fails has changed nothing.
 */
#ifndef _UAPI_LINUX_GPUSHARE_H
#define _UAPI_LINUX_GPUSHARE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define GPUSHARE_ABI_VERSION	1

#define GPUSHARE_KEY_MAX	64	/* a device's key, with its NUL */
#define GPUSHARE_NAME_MAX	64	/* a named group's name, with its NUL */
#define GPUSHARE_FOREVER	(~0ULL)	/* as a point in time: never */
#define GPUSHARE_NO_LIMIT	(~0ULL)	/* as a quota or a size: none */
#define GPUSHARE_ALL_DEVICES	0	/* as a device id: ids begin at 1 */

/* Ids of groups: of cgroups below these, of tenants' parts, of named groups. */
#define GPUSHARE_PART_FIRST	(1ULL << 61)
#define GPUSHARE_NAMED_FIRST	(1ULL << 62)

/*
 * The pages
 * ---------
 * Each client has two pages of its own, mapped shared at these offsets with
 * a length of one page (sysconf(_SC_PAGESIZE)); the daemon sends their files. They
 * aren't inherited over fork and can't be grown, split or moved (with the daemon that
 * is up to the client); the grant page can't be made writable. Another driver may pin
 * both.
 */
#define GPUSHARE_OFF_GRANT	0x0ULL
#define GPUSHARE_OFF_CLIENT	0x100000ULL

#define GPUSHARE_PAGE_VERSION	1

/* Flags in the low byte of struct gpushare_grant_page.word. */
#define GPUSHARE_GRANTED	0x01	/* the client may run */
#define GPUSHARE_PREEMPT	0x02	/* and is asked to yield at its next boundary */
#define GPUSHARE_PREPARE	0x04	/* it is next: its memory may be restored now */
#define GPUSHARE_EVICT		0x08	/* memory is short: move some out, if it can */
#define GPUSHARE_WAITING	0x10	/* it asked and isn't granted yet */
#define GPUSHARE_GONE		0x80	/* the device was removed: no grant will come */
#define GPUSHARE_FLAGS_MASK	0xffULL
#define GPUSHARE_EPOCH_SHIFT	8

/*
 * The arbiter's page; the client only reads it.
 *
 * @word answers "may I run?" in one acquire load: GRANTED is set, PREEMPT is
 * not. The upper 56 bits (the epoch) go up by one with each of the client's grants
 * and with each loss of one, so that a stale answer can be told from a new one: it
 * is odd while GRANTED is set. @preempt repeats the PREEMPT flag in a word of its
 * own, which a GPU may poll through a host mapping; it is written before @word's
 * flag is, and cleared before a new grant is shown, or when all who waited have
 * gone: then the client isn't asked any more.
 * @wake goes up after each change of @word; with the daemon it is the futex on
 * which a client sleeps.
 *
 * All that follows @seq is only whole while @seq is even and the same before
 * and after reading (a sequence count). @deadline_ns is when PREEMPT is due if
 * others wait (0 while not granted); @workers the most workers of the client
 * that may be resident (0: no limit); @waiters how many clients waited for the
 * device when the page was last written, which it is for holders when some come to
 * wait, and when none do any more; @holder the client id of some holder, 0 if there is none.
 */
struct gpushare_grant_page {
	__u32 version;
	__u32 size;
	__aligned_u64 word;
	__u32 preempt;
	__u32 wake;
	__u32 seq;
	__u32 workers;
	__aligned_u64 granted_ns;
	__aligned_u64 deadline_ns;
	__aligned_u64 slice_ns;
	__aligned_u64 linger_ns;
	__u32 waiters;
	__u32 device;
	__aligned_u64 client;
	__aligned_u64 holder;
};

/*
 * The client's page; the arbiter only reads it, and believes nothing in it
 * where others are concerned: it refines the client's own statistics and lets
 * it be asked to yield earlier. @progress counts blocks done, @busy_ns the time
 * that the device really worked. @idle_ns is 0 while work is queued or running,
 * else since when it isn't: such a holder's grant is withdrawn, without asking,
 * when it was idle for linger and somebody waits. So a client clears @idle_ns,
 * with a full fence after it, before it reads the grant's word and runs.
 * @until_ns is when about something on the device will have ended that can't be stopped
 * before, 0: there is no such thing. Who says so and is asked to yield, when that is due
 * in more than a quarter of a slice, isn't waited for: it has yielded and asked anew, the
 * seat is the next one's, and the device takes turns between the two. Until the page says
 * 0, or idle, the client pays for its part of the time. It sees WAITING, and GRANTED when
 * the seat is its own again.
 */
struct gpushare_client_page {
	__u32 version;
	__u32 reserved;
	__aligned_u64 progress;
	__aligned_u64 busy_ns;
	__aligned_u64 idle_ns;
	__aligned_u64 unscheduled;	/* launches that went past the gate */
	__aligned_u64 wish;		/* with a doorbell (FEAT_BELL): what it rings for */
	__aligned_u64 until_ns;
};

/* Features, in struct gpushare_version. */
#define GPUSHARE_FEAT_CGROUP	(1ULL << 0)	/* groups are the kernel's cgroups */
#define GPUSHARE_FEAT_NAMED	(1ULL << 1)	/* named groups (the daemon) */
#define GPUSHARE_FEAT_NETLINK	(1ULL << 2)	/* events and dumps by generic netlink */
#define GPUSHARE_FEAT_EVENTS	(1ULL << 3)	/* events by GPUSHARE_EVENTS (the daemon) */
#define GPUSHARE_FEAT_DISCOVERY	(1ULL << 4)	/* devices appear by themselves */
#define GPUSHARE_FEAT_BELL	(1ULL << 5)	/* clients ask by a doorbell (the daemon) */
#define GPUSHARE_FEAT_KEEPS	(1ULL << 6)	/* what is set outlives the arbiter (the daemon) */
#define GPUSHARE_FEAT_MEM_WAIT	(1ULL << 7)	/* charges may wait: mem_full, MEM_WAIT */

/*
 * GPUSHARE_VERSION: who answers. Needs nothing, changes nothing.
 *
 * What is set is answered when it is kept, or when the first try to keep it has
 * failed. Then it is in force, @unkept says why it would be lost with the arbiter, and
 * is 0 again as soon as a later try has kept it.
 *
 * Counters and ids begin anew with each arbiter: within one boot, @started_ns tells
 * whether two answers are the same one's.
 */
struct gpushare_version {
	__u32 size;
	__u32 flags;			/* 0 */
	__u32 abi;			/* out: GPUSHARE_ABI_VERSION */
	__u32 page_size;		/* out: length of each page mapping */
	__aligned_u64 features;		/* out: GPUSHARE_FEAT_* */
	char release[32];		/* out: "0.1.0" */
	__u32 unkept;			/* out: an error number, see above; with FEAT_KEEPS */
	__u32 reserved;			/* 0 */
	__aligned_u64 started_ns;	/* out: when it began to count; never 0 */
};

/*
 * GPUSHARE_ATTACH: make this file's client, on a device named by @device or,
 * if that is 0, by @key. With @set_fd >= 0 (the file of another client of this
 * process, on another device) both form a set, for WAIT_ANY; -1 is none.
 * @group is 0, or a named group's id from GPUSHARE_GROUP (the daemon).
 *
 * EALREADY: this file has a client. EBADF: set_fd isn't such a file. EUSERS:
 * the limit of clients is reached, of the user, of its cgroup or of
 * all; the last eighth of all is for CAP_SYS_ADMIN. ENOMEM. EPERM: the named
 * group is another user's, or in another group than the caller. EOPNOTSUPP: @group with the module.
 */
struct gpushare_attach {
	__u32 size;
	__u32 flags;			/* 0 */
	__u32 device;			/* in, out: device id */
	__s32 set_fd;
	__aligned_u64 group;
	__aligned_u64 client;		/* out: client id, never used again */
	char key[GPUSHARE_KEY_MAX];	/* in, out */
};

/*
 * GPUSHARE_ACQUIRE: ask for the device, and wait until it is granted.
 * GPUSHARE_YIELD: give the grant back, or take back a request that isn't
 * granted yet; with AGAIN, and in the same step, ask anew and wait. Both take
 * a struct gpushare_wait.
 *
 * @want_ns is a hint of the time wanted (0: a whole slice). @until_ns is when
 * to stop waiting: then ETIMEDOUT, and the request is gone. With NONBLOCK the
 * call doesn't wait: EAGAIN, the request stays, and poll() says POLLIN, and the
 * grant page, when it is granted (with the daemon there is the page alone); asking
 * again while waiting is no new request. A signal ends the wait with EINTR (or the
 * call is restarted) and takes the request back. With ANY the request goes to all
 * devices of the client's set; the first free one wins, @device and @client say which.
 *
 * ACQUIRE of a client that is granted and not asked back returns 0 at once;
 * one that is asked back (PREEMPT) yields and asks again, as YIELD with AGAIN
 * does. YIELD of a client that neither holds nor waits does nothing and
 * returns 0. A client that always has work uses AGAIN: between a plain YIELD and
 * its next ACQUIRE it doesn't want the device, and somebody else begins a slice, so
 * that it gets less than its weight says.
 */
#define GPUSHARE_WAIT_NONBLOCK	0x1
#define GPUSHARE_WAIT_ANY	0x2
#define GPUSHARE_WAIT_AGAIN	0x4	/* YIELD only */
struct gpushare_wait {
	__u32 size;
	__u32 flags;
	__aligned_u64 until_ns;
	__aligned_u64 want_ns;
	__aligned_u64 word;		/* out: the grant page's word */
	__aligned_u64 client;		/* out, with ANY */
	__u32 device;			/* out, with ANY */
	__u32 reserved;
};

/*
 * What becomes of a charge that doesn't fit, where the client says MEM_WAIT: it is
 * refused, or it waits. A device says it for all (FAIL is its default), a share for its
 * group and those below; with ABOVE, a share's default, the next group above says it, and
 * at last the device. So it is with the time that a charge may wait.
 */
#define GPUSHARE_FULL_ABOVE	0	/* of shares */
#define GPUSHARE_FULL_FAIL	1
#define GPUSHARE_FULL_WAIT	2

/*
 * GPUSHARE_MEMORY: account device memory of the client. CHARGE and UNCHARGE
 * count what it allocates and frees; SWAP_OUT and SWAP_IN move bytes between
 * what is on the device and what was moved away from it. Moving the data is
 * the client's work.
 *
 * On a device with @oversubscribe, what is charged may pass its capacity. Then
 * clients that aren't running see EVICT in their word: each moves out what it
 * can and says so by SWAP_OUT. EVICT goes when nothing of the client's is left on
 * the device, or when what is charged fits without its leaving, whoever made
 * room: who was asked last may stay first. Groups above mem_high come first,
 * groups at or below mem_min are spared. A client that was moved out and is to
 * run next sees PREPARE while it waits: it can bring its memory back (SWAP_IN)
 * while the present holder computes. Both come with a wake-up, and poll() says
 * POLLPRI. A client that doesn't react costs the others time, not correctness:
 * what is charged is what clients say, and the device itself refuses the rest.
 * @available_bytes is what fits without passing the capacity.
 *
 * A CHARGE with MEM_WAIT that doesn't fit waits, where mem_full says so, until others
 * gave back enough, for mem_wait_us at most. Those that wait are served in the order in
 * which they came; but what is no more than a group's part of the device, by weights, is
 * had at once. It doesn't begin to wait, and is refused, if it couldn't be had were all
 * others gone; if those who wait would wait for each other for ever, of whom the last to
 * come is refused; or if too many wait. A signal ends the wait with EINTR (or the
 * call is restarted, which goes on with the same wait). Documentation/memory.md says
 * all of it. With REFUSED the client says that what it was granted before the device
 * itself has refused, and that it has given it back: then it waits until somebody gave
 * back something, too, and keeps its place and its time. (With the daemon the wait is
 * that of the connection which asks: it ends when that is closed. It may be another one
 * of the client's process, that names the client by the message's set.)
 *
 * ENOMEM: a limit on the way to the root, or the device's capacity, would be
 * passed (@limit_group says whose; NO_LIMIT is nobody's: the kernel itself is
 * short of memory). ETIMEDOUT: it still would, after all the time that it may wait.
 * EBUSY: the client waits already. ERANGE: more is given back, or moved, than the
 * client has.
 */
#define GPUSHARE_MEM_WAIT	0x1	/* flags, CHARGE only */
#define GPUSHARE_MEM_REFUSED	0x2	/* with WAIT */
#define GPUSHARE_MEM_NONBLOCK	0x4	/* with WAIT: EAGAIN if it would wait, and it doesn't */
#define GPUSHARE_MEM_CHARGE	1
#define GPUSHARE_MEM_UNCHARGE	2
#define GPUSHARE_MEM_SWAP_OUT	3
#define GPUSHARE_MEM_SWAP_IN	4
struct gpushare_memory {
	__u32 size;
	__u32 flags;			/* GPUSHARE_MEM_WAIT, _REFUSED, _NONBLOCK */
	__u32 op;
	__u32 reserved;
	__aligned_u64 bytes;
	__aligned_u64 current_bytes;	/* out: of the client, on the device */
	__aligned_u64 swapped_bytes;	/* out */
	__aligned_u64 available_bytes;	/* out: what could be charged now */
	__aligned_u64 total_bytes;	/* out: the tightest limit, or the device's size */
	__aligned_u64 limit_group;	/* out, with ENOMEM: group id, 0: the device */
};

/*
 * GPUSHARE_DESCRIBE: say what the client's kernel needs, for the worker
 * counts of a device with more than one seat. All values are per work-group
 * (block) but @groups, the number of them in the launch, and @group_ns, the
 * measured time of one (0: unknown). ERANGE: one work-group needs more than
 * one compute unit of the device has.
 */
struct gpushare_describe {
	__u32 size;
	__u32 flags;			/* 0 */
	__u32 threads;
	__u32 registers;		/* of all its threads together */
	__u32 local_bytes;
	__u32 workers;			/* out: what the client may use now */
	__aligned_u64 groups;
	__aligned_u64 group_ns;
};

/* Latency classes. */
#define GPUSHARE_CLASS_BATCH	0
#define GPUSHARE_CLASS_LATENCY	1
#define GPUSHARE_CLASS_IDLE	2

/* Members of struct gpushare_share that SHARE_SET takes, for @mask and @reset. */
#define GPUSHARE_SHARE_WEIGHT	(1U << 0)
#define GPUSHARE_SHARE_CLASS	(1U << 1)
#define GPUSHARE_SHARE_MAX	(1U << 2)	/* max_us, period_us and burst_us */
#define GPUSHARE_SHARE_MIN	(1U << 3)
#define GPUSHARE_SHARE_MEM_MAX	(1U << 4)
#define GPUSHARE_SHARE_MEM_HIGH	(1U << 5)
#define GPUSHARE_SHARE_MEM_MIN	(1U << 6)
#define GPUSHARE_SHARE_MEM_FULL	(1U << 7)
#define GPUSHARE_SHARE_MEM_WAIT	(1U << 8)
#define GPUSHARE_SHARE_ALL	0x1ffU

/*
 * GPUSHARE_SHARE_SET: give a cgroup a share, or change it. The cgroup is named
 * by @cgroup_fd (an open directory), or, if that is -1, by @group: a cgroup id
 * (what stat() says is the directory's inode) or a named group's id. @device is
 * one device or GPUSHARE_ALL_DEVICES; what was set for one device overrides
 * what was set for all. @mask says which members are given, @reset which of
 * them go back to what they'd be if they were never set; a group with nothing
 * set any more is no group: its tasks belong to the next one above.
 *
 * Allowed to CAP_SYS_ADMIN, and to whoever may write the *parent's*
 * cgroup.subtree_control (checked with the caller's rights; or proved by
 * @authority_fd, that file opened for writing, which alone counts then; else -1):
 * who was delegated a cgroup divides what it has, and can't raise its own share.
 *
 * EINVAL: also no member at all, the root, which nothing divides, and a tenant's part.
 * EOPNOTSUPP: a threaded cgroup.
 * EBADF: cgroup_fd is no cgroup v2 directory. ENOENT: no such group, or outside
 * the caller's cgroup namespace. EPERM. ERANGE: a member is out of its range.
 * EBUSY: the siblings' min would pass 1000 in sum; @min_free says how much is
 * left (nothing in a tenant's part). EUSERS: a limit of groups is reached, as with
 * ATTACH, or there would be too many levels. EXDEV: the parent isn't reachable from
 * here, use @authority_fd.
 *
 * GPUSHARE_SHARE_GET: the share of a group, named as for SET; @mask says which
 * members were set for this group and @device, the others are inherited or
 * default. With NEXT it is the group with the smallest id above @group (begin
 * with 0), of those that the caller may see; ENOENT after the last. @path is as
 * the caller sees it in its cgroup namespace, cut with a NUL if too long.
 *
 * @entitled_permille is what the rules give the group of the device, if it wants some
 * without end beside those who want some now or did within the last second: by
 * weight, not below its min in force, not above its max or what it can use (a
 * client one seat). It may be 10 ms old. Of all devices: their mean.
 *
 * A caller sees the groups of its own cgroup and below, with CAP_SYS_ADMIN all of
 * its cgroup namespace. It may also read what it may set, shown as for SET by
 * @cgroup_fd and its own rights, or by @authority_fd (else -1). To have opened a
 * cgroup's directory is no reason: everybody can. Whatever else there may be is
 * ENOENT, as if it weren't there.
 */
#define GPUSHARE_GET_NEXT	0x1

/* Kinds of groups, and what struct gpushare_share.tenant is for them. */
#define GPUSHARE_GROUP_CGROUP	0	/* 0 */
#define GPUSHARE_GROUP_NAMED	1	/* its owner's user id */
#define GPUSHARE_GROUP_USER	2	/* a user's part: the user id */
#define GPUSHARE_GROUP_CONTAINER 3	/* a container's: its namespace's inode number */

struct gpushare_share {
	__u32 size;
	__u32 flags;			/* GPUSHARE_GET_NEXT */
	__aligned_u64 group;		/* in, out */
	__s32 cgroup_fd;
	__s32 authority_fd;
	__u32 device;
	__u32 mask;			/* in (SET), out (GET) */
	__u32 reset;
	__u32 weight;			/* 1..10000, default 100 */
#ifdef __cplusplus
	__u32 latency_class;		/* the same member, where "class" is a word */
#else
	__u32 class;			/* GPUSHARE_CLASS_* */
#endif
	__u32 min_permille;		/* 0..1000 of the device's time, default 0 */
	__aligned_u64 max_us;		/* per period; GPUSHARE_NO_LIMIT, the default */
	__aligned_u64 period_us;	/* 1000..1000000, default 100000 */
	__aligned_u64 burst_us;		/* at most max_us, default 0 */
	__aligned_u64 mem_max;		/* bytes; NO_LIMIT is the default */
	__aligned_u64 mem_high;
	__aligned_u64 mem_min;		/* default 0 */
	__aligned_u64 parent;		/* out: the group above, 0 at the root */
	__u32 min_free;			/* out, with EBUSY */
	__u32 entitled_permille;	/* out: of the device, see above */
	__u32 clients;			/* out: in this group itself, of all tenants */
	__u32 kind;			/* out: GPUSHARE_GROUP_* */
	char path[256];			/* out */
	__aligned_u64 tenant;		/* out: see there */
	__aligned_u64 mem_wait_us;	/* 0: as above it, the default; 1000..86400000000 */
	__u32 mem_full;			/* GPUSHARE_FULL_*, default ABOVE */
	__u32 reserved;			/* 0 */
};

/* Kinds of devices. */
#define GPUSHARE_KIND_GPU	1
#define GPUSHARE_KIND_MIG	2
#define GPUSHARE_KIND_CPU	3
#define GPUSHARE_KIND_OTHER	4

/* Policies. */
#define GPUSHARE_POLICY_FAIR	0
#define GPUSHARE_POLICY_FCFS	1
#define GPUSHARE_POLICY_RR	2

/* The ways of keeping min. */
#define GPUSHARE_QUOTA_ROLLOVER	0
#define GPUSHARE_QUOTA_ELASTIC	1
#define GPUSHARE_QUOTA_HISTORY	2
#define GPUSHARE_QUOTA_NAIVE	3

/* The ways of dividing workers among the holders of a device's seats. */
#define GPUSHARE_WORKERS_EQUAL	0	/* equal shares, weighted; then greedy fill */
#define GPUSHARE_WORKERS_PROFILE 1	/* minimise the longest remaining time */

/* Members of struct gpushare_device that DEVICE_SET takes. */
#define GPUSHARE_DEV_POLICY	(1U << 0)
#define GPUSHARE_DEV_SEATS	(1U << 1)
#define GPUSHARE_DEV_SLICE	(1U << 2)
#define GPUSHARE_DEV_LINGER	(1U << 3)
#define GPUSHARE_DEV_GRACE	(1U << 4)
#define GPUSHARE_DEV_KILL	(1U << 5)
#define GPUSHARE_DEV_QUOTA	(1U << 6)	/* quota and epoch_us */
#define GPUSHARE_DEV_WORKERS	(1U << 7)
#define GPUSHARE_DEV_CAPACITY	(1U << 8)	/* units .. mem_bytes */
#define GPUSHARE_DEV_LATENCY	(1U << 9)
#define GPUSHARE_DEV_OVERSUB	(1U << 10)	/* oversubscribe */
#define GPUSHARE_DEV_MEM_FULL	(1U << 11)
#define GPUSHARE_DEV_MEM_WAIT	(1U << 12)
#define GPUSHARE_DEV_ALL	0x1fffU

/*
 * GPUSHARE_DEVICE_ADD: add a device by @key and @kind; what @mask doesn't name
 * is default. A key is "KIND:NAME" of printable characters without spaces, such
 * as "pci:0000:65:00.0", "mig:GPU-5d1f/3", "cpu:0".
 * GPUSHARE_DEVICE_SET: change what @mask names; the device is named by @device
 * or, if that is 0, by @key. Takes effect at once.
 * GPUSHARE_DEVICE_REMOVE: its clients see GONE, their waits end with ENODEV.
 * All three need CAP_SYS_ADMIN (the daemon: its own user, or root).
 * GPUSHARE_DEVICE_GET: everybody; @mask says what was set. With GPUSHARE_GET_NEXT
 * the device with the smallest id above @device (begin with 0), ENOENT after the last.
 *
 * A holder that was asked to yield and hasn't for @grace_us loses its seat to who
 * waits, and is charged until it yields; but see until_ns in its page. For @kill_us, and
 * it is killed: all
 * processes that use the client's address space, but for those that the kernel lets
 * nobody kill (with the daemon: the process that connected). A holder that was
 * stopped (SIGSTOP, a debugger, a frozen cgroup) doesn't yield either, and is no exception.
 *
 * EPERM. EEXIST: the key is there. ERANGE: a member is out of its range.
 * ENOSPC: the limit of devices is reached.
 */
struct gpushare_device {
	__u32 size;
	__u32 flags;			/* GPUSHARE_GET_NEXT */
	__u32 device;			/* in, out: id */
	__u32 mask;
	__u32 kind;
	__u32 policy;
	__u32 seats;			/* 1..64, default 1 */
	__u32 quota;			/* GPUSHARE_QUOTA_* */
	__u32 workers;			/* GPUSHARE_WORKERS_* */
	__u32 slice_us;			/* 100..1000000, default 2000 */
	__u32 linger_us;		/* 0..1000000, default 200 */
	__u32 grace_us;			/* 1000.., default 100000 */
	__u32 kill_us;			/* at least grace_us; 0: never, the default */
	__u32 epoch_us;			/* of min; 10000..10000000, default 100000 */
	__u32 latency_us;		/* target of waits, bounds the slice; 0: none */
	__u32 units;			/* compute units; capacity: 0 is unknown */
	__u32 unit_threads;
	__u32 unit_registers;
	__u32 unit_local_bytes;
	__u32 bandwidth_mbps;		/* of moving memory to and from it, MB/s */
	__aligned_u64 mem_bytes;
	__u32 clients;			/* out */
	__u32 waiters;			/* out */
	__u32 holders;			/* out */
	__u32 oversubscribe;		/* 1: mem_bytes may be passed, see MEMORY; default 0 */
	char key[GPUSHARE_KEY_MAX];
	__aligned_u64 mem_wait_us;	/* 1000..86400000000, default 60000000 */
	__u32 mem_full;			/* GPUSHARE_FULL_FAIL, the default, or _WAIT */
	__u32 reserved;			/* 0 */
};

/*
 * GPUSHARE_STATS: the counters of a client, of a group on a device (or on all,
 * summed), or of a device. @what says which; @id is a client id (0: this
 * file's) or a group id, @device is needed but for clients. With NEXT it is the
 * one with the smallest id above @id that the caller may see (a caller without
 * CAP_SYS_ADMIN sees its own cgroup and below); ENOENT after the last. Counters
 * never go back; what a client or a removed group had used stays in the
 * counters of the groups above it.
 *
 * "some" is the time in which at least one client of it waited, "full" that
 * in which some waited and none ran; avg* are running means over 10, 60 and
 * 300 s in 1/100 per cent, as in the kernel's pressure files.
 */
#define GPUSHARE_STATS_CLIENT	1
#define GPUSHARE_STATS_GROUP	2
#define GPUSHARE_STATS_DEVICE	3
struct gpushare_stats {
	__u32 size;
	__u32 flags;			/* GPUSHARE_GET_NEXT */
	__u32 what;
	__u32 device;			/* in, out */
	__aligned_u64 id;		/* in, out */
	__aligned_u64 group;		/* out: a client's group */
	__aligned_u64 now_ns;		/* out: when this was read */
	__aligned_u64 usage_ns;		/* held */
	__aligned_u64 wait_ns;		/* waited, and those who wait, until now */
	__aligned_u64 idle_ns;		/* held with nothing to run, as far as told */
	__aligned_u64 throttled_ns;
	__aligned_u64 grants;
	__aligned_u64 handoffs;		/* grants right after another client's */
	__aligned_u64 preempts;		/* asked to yield */
	__aligned_u64 late;		/* of those, answered later than a slice */
	__aligned_u64 overruns;		/* of those, past grace */
	__aligned_u64 periods;		/* of max */
	__aligned_u64 throttled;	/* periods in which max was reached */
	__aligned_u64 mem_current;
	__aligned_u64 mem_peak;
	__aligned_u64 mem_swapped;
	__aligned_u64 mem_denied;	/* charges refused */
	__aligned_u64 some_ns;
	__aligned_u64 full_ns;
	__u32 some_avg[3];		/* 10, 60, 300 s */
	__u32 full_avg[3];
	__aligned_u64 progress;		/* as the client says */
	__aligned_u64 busy_ns;		/* as the client says */
	__aligned_u64 unscheduled;	/* as the client says */
	__aligned_u64 since_ns;		/* a client: in its present state since */
	__u32 state;			/* a client: the low byte of its word */
	__s32 pid;			/* a client: as the caller sees it, 0 if it can't */
	__u32 uid;			/* a client: in the caller's user namespace */
	__u32 workers;
	char comm[16];			/* a client */
	__aligned_u64 part;		/* a client: its tenant's part of @group, 0: none */
	__aligned_u64 mem_waits;	/* charges that had to wait */
	__aligned_u64 mem_wait_ns;	/* for how long, those that do now included */
	__aligned_u64 mem_wanted;	/* what they wait for now */
	__aligned_u64 mem_crossed;	/* of mem_denied: those who wait would have for ever */
	__u32 mem_waiters;		/* clients that wait for memory */
	__u32 reserved;			/* 0 */
};

/*
 * GPUSHARE_GROUP: a group with a name and no cgroup, below the caller's tenant's
 * part of the caller's group, known there by the user and the name; it is made if it
 * isn't there, and goes with the last client if nothing keeps it. What it is given
 * divides what the tenant has. Only with the daemon (FEAT_NAMED), else EOPNOTSUPP.
 * EUSERS. A name is of letters, digits, '.', '_' and '-'.
 */
struct gpushare_group {
	__u32 size;
	__u32 flags;			/* 0 */
	__aligned_u64 group;		/* out: its id, above any cgroup's */
	char name[GPUSHARE_NAME_MAX];
};

/* Types of events. */
enum gpushare_event_type {
	GPUSHARE_EVENT_CLIENT_JOINED = 1,
	GPUSHARE_EVENT_CLIENT_LEFT,	/* value: held in all, in ns */
	GPUSHARE_EVENT_REQUESTED,	/* and must wait */
	GPUSHARE_EVENT_GRANTED,		/* value: slice in ns */
	GPUSHARE_EVENT_PREEMPT,		/* asked to yield */
	GPUSHARE_EVENT_YIELDED,		/* value: held for, in ns */
	GPUSHARE_EVENT_OVERRUN,		/* value: past grace by, in ns */
	GPUSHARE_EVENT_KILLED,
	GPUSHARE_EVENT_THROTTLED,	/* value: until when */
	GPUSHARE_EVENT_UNTHROTTLED,	/* value: for how long it was, in ns */
	GPUSHARE_EVENT_MEM_DENIED,	/* value: bytes refused */
	GPUSHARE_EVENT_SHARE_SET,
	GPUSHARE_EVENT_GROUP_ADDED,
	GPUSHARE_EVENT_GROUP_REMOVED,
	GPUSHARE_EVENT_DEVICE_ADDED,
	GPUSHARE_EVENT_DEVICE_SET,
	GPUSHARE_EVENT_DEVICE_REMOVED,
	GPUSHARE_EVENT_LOST,		/* value: events that didn't fit */
};

/*
 * GPUSHARE_EVENTS: turn this connection into a stream of struct gpushare_event,
 * of the types whose bits (1 << type) are in @types. Only with the daemon; the
 * module sends them to its netlink groups.
 */
struct gpushare_events {
	__u32 size;
	__u32 flags;			/* 0 */
	__aligned_u64 types;
};

struct gpushare_event {
	__aligned_u64 time_ns;
	__u32 type;
	__u32 device;
	__aligned_u64 group;
	__aligned_u64 client;
	__aligned_u64 value;
	__s32 pid;			/* of the client, if there is one */
	__u32 reserved;
};

#define GPUSHARE_IOC	0xD7	/* free in the kernel's ioctl-number.rst */
#define GPUSHARE_VERSION	_IOWR(GPUSHARE_IOC, 0x00, struct gpushare_version)
#define GPUSHARE_ATTACH		_IOWR(GPUSHARE_IOC, 0x01, struct gpushare_attach)
#define GPUSHARE_DETACH		_IO(GPUSHARE_IOC, 0x02)
#define GPUSHARE_ACQUIRE	_IOWR(GPUSHARE_IOC, 0x03, struct gpushare_wait)
#define GPUSHARE_YIELD		_IOWR(GPUSHARE_IOC, 0x04, struct gpushare_wait)
#define GPUSHARE_MEMORY		_IOWR(GPUSHARE_IOC, 0x05, struct gpushare_memory)
#define GPUSHARE_DESCRIBE	_IOWR(GPUSHARE_IOC, 0x06, struct gpushare_describe)
#define GPUSHARE_SHARE_SET	_IOWR(GPUSHARE_IOC, 0x07, struct gpushare_share)
#define GPUSHARE_SHARE_GET	_IOWR(GPUSHARE_IOC, 0x08, struct gpushare_share)
#define GPUSHARE_DEVICE_ADD	_IOWR(GPUSHARE_IOC, 0x09, struct gpushare_device)
#define GPUSHARE_DEVICE_SET	_IOWR(GPUSHARE_IOC, 0x0a, struct gpushare_device)
#define GPUSHARE_DEVICE_REMOVE	_IOWR(GPUSHARE_IOC, 0x0b, struct gpushare_device)
#define GPUSHARE_DEVICE_GET	_IOWR(GPUSHARE_IOC, 0x0c, struct gpushare_device)
#define GPUSHARE_STATS		_IOWR(GPUSHARE_IOC, 0x0d, struct gpushare_stats)
#define GPUSHARE_GROUP		_IOWR(GPUSHARE_IOC, 0x0e, struct gpushare_group)
#define GPUSHARE_EVENTS		_IOWR(GPUSHARE_IOC, 0x0f, struct gpushare_events)

/*
 * Generic netlink (the module)
 * ----------------------------
 * Family "gpushare". DEVICE_GET, GROUP_GET and CLIENT_GET are dumps: one
 * message an item. A device carries A_DEVICE_INFO and A_STATS; a group A_GROUP,
 * A_DEVICE, A_PATH, A_SHARE and A_STATS, once for each device that knows it; a
 * client A_STATS. GROUP_GET and CLIENT_GET may carry A_DEVICE to narrow them to
 * one device, and CLIENT_GET also A_GROUP. A caller without CAP_SYS_ADMIN sees
 * its own cgroup and what is below. The structs above travel whole, as binary
 * attributes: a reader takes what it knows of them and leaves the rest.
 *
 * Multicast group "events" carries everything but REQUESTED, GRANTED, PREEMPT
 * and YIELDED, which go to "grants" (many a second). Both need CAP_SYS_ADMIN to
 * join.
 */
#define GPUSHARE_GENL_NAME	"gpushare"
#define GPUSHARE_GENL_VERSION	1
#define GPUSHARE_GENL_EVENTS	"events"
#define GPUSHARE_GENL_GRANTS	"grants"

enum gpushare_cmd {
	GPUSHARE_CMD_UNSPEC,
	GPUSHARE_CMD_DEVICE_GET,
	GPUSHARE_CMD_GROUP_GET,
	GPUSHARE_CMD_CLIENT_GET,
	GPUSHARE_CMD_EVENT,		/* notification only */
	__GPUSHARE_CMD_MAX,
};

#define GPUSHARE_CMD_MAX (__GPUSHARE_CMD_MAX - 1)

enum gpushare_attr {
	GPUSHARE_A_UNSPEC,
	GPUSHARE_A_DEVICE,		/* u32: device id, 0 is all */
	GPUSHARE_A_GROUP,		/* u64: group id */
	GPUSHARE_A_CLIENT,		/* u64: client id */
	GPUSHARE_A_PAD,
	GPUSHARE_A_DEVICE_INFO,		/* struct gpushare_device */
	GPUSHARE_A_SHARE,		/* struct gpushare_share */
	GPUSHARE_A_STATS,		/* struct gpushare_stats */
	GPUSHARE_A_EVENT,		/* struct gpushare_event */
	GPUSHARE_A_PATH,		/* string: a group's path, whole */
	__GPUSHARE_A_MAX,
};

#define GPUSHARE_A_MAX (__GPUSHARE_A_MAX - 1)

#endif /* _UAPI_LINUX_GPUSHARE_H */
