// SPDX-License-Identifier: MIT
/*
 * What tenants do to an arbiter rather than to each other: floods, files that hang, rights
 * that they haven't got. Meanwhile a well-behaved client of another user's, on a device that
 * is its own, measures how long its calls take: it is never kept waiting.
 *
 * The attackers are processes that are busy all the time, which on any machine costs
 * others some. So there is a first phase in which they are just as busy with nothing,
 * and what an arbiter does for its callers is compared with that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "arena.h"
#include "tests/gpushared/hungfs.h"
#include "ulib/wire.h"

#define P99_LIMIT	(50 * MS)
#define HANG		(9 * SEC)
#define TRIPS		100000

#define CAP(name)	(1u << (name))
/* Docker's and podman's. */
#define USUAL_CAPS	(CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_FOWNER) |		\
			 CAP(CAP_FSETID) | CAP(CAP_KILL) | CAP(CAP_SETGID) | CAP(CAP_SETUID) |	\
			 CAP(CAP_SETPCAP) | CAP(CAP_NET_BIND_SERVICE) | CAP(CAP_SYS_CHROOT))

enum phase { CALM, UNDER_ATTACK, OVER };

static struct {
	enum phase phase;
	unsigned int nr[OVER];
	uint64_t ns[OVER][TRIPS];
	uint64_t p99[OVER];
	unsigned int failed;		/* calls of the good client's */
	unsigned long done;		/* of the attackers' */
	unsigned long gained;		/* things that an attacker must not be able to do */
	char what[100], cant[100];
	uint64_t id[2];			/* of the cgroups of the good one and of the attackers */
} *board;

struct attack {
	const char *name;
	void (*run)(unsigned int nr);	/* again and again, while phase is UNDER_ATTACK */
	void (*prepare)(unsigned int nr);
	bool daemon, root;
	unsigned int processes;
};

static enum phase phase_now(void)
{
	return __atomic_load_n(&board->phase, __ATOMIC_ACQUIRE);
}

static void did(unsigned long n)
{
	__atomic_fetch_add(&board->done, n, __ATOMIC_RELAXED);
}

static void gained(const char *what)
{
	snprintf(board->what, sizeof(board->what), "%s", what);
	__atomic_fetch_add(&board->gained, 1, __ATOMIC_RELAXED);
}

/* An attack that can't be made here is skipped. */
static void cant(const char *why, int err)
{
	snprintf(board->cant, sizeof(board->cant), "%s: %s", why, strerror(-err));
	for (;;)
		pause();
}

/* The good one: a command with an answer, and a grant, in turns. */
static void round_trips(void)
{
	struct gpushare_stats s = { .size = sizeof(s), .what = GPUSHARE_STATS_CLIENT };
	struct fighter f;
	enum phase phase;
	uint64_t begin;
	int err;

	if (fighter_join(&f, diary_new(), "other:quiet", 0))
		_exit(40);
	s.id = f.id;
	while ((phase = phase_now()) != OVER) {
		begin = now_ns();
		err = gs_transport_call(&f.a, GPUSHARE_STATS, &s);
		f.until_ns = begin + 10 * SEC;
		if (!err)
			err = fighter_ask(&f, false);
		begin = now_ns() - begin;
		fighter_yield(&f);
		if (err || begin > HANG)
			board->failed++;
		if (board->nr[phase] < TRIPS)
			board->ns[phase][board->nr[phase]++] = begin;
		sleep_ns(MS);
	}
	_exit(0);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t p99(enum phase phase)
{
	unsigned int n = board->nr[phase];

	qsort(board->ns[phase], n, sizeof(uint64_t), by_value);
	return n ? board->ns[phase][n - 1 - n / 100] : 0;
}

static int raw_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, w.arbiter);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* One request as the wire has it, with or without files. */
static bool send_raw(int fd, unsigned long cmd, unsigned int flags, const void *body, size_t size,
		     const int *files, unsigned int nr)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)] = { 0 };
	struct gs_wire head = { .magic = GS_WIRE_MAGIC, .cmd = (__u32)cmd, .flags = flags };
	struct iovec iov[2] = { { &head, sizeof(head) }, { (void *)body, size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr *c;

	if (nr) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nr);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nr);
		memcpy(CMSG_DATA(c), files, sizeof(int) * nr);
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) >= 0;
}

static void messages(unsigned int nr)
{
	struct gpushare_version v = { .size = sizeof(v) };
	static int fd = -1;
	int i;

	(void)nr;
	if (fd < 0)
		fd = raw_connect();
	for (i = 0; i < 100 && fd >= 0; i++) {
		if (!send_raw(fd, GPUSHARE_VERSION, GS_WIRE_QUIET, &v, sizeof(v), NULL, 0)) {
			close(fd);
			fd = -1;
			break;
		}
	}
	did((unsigned long)i);
}

static void unread_answers(unsigned int nr)
{
	struct gpushare_version v = { .size = sizeof(v) };
	int fd = raw_connect(), i;

	(void)nr;
	for (i = 0; fd >= 0 && send_raw(fd, GPUSHARE_VERSION, 0, &v, sizeof(v), NULL, 0); i++)
		;
	close(fd);
	did((unsigned long)i);
}

/* The arbiter's commands, as fast as they go. */
static struct fighter flooder;

static void attach_first(unsigned int nr)
{
	(void)nr;
	if (fighter_join(&flooder, diary_new(), DEVICE, 0))
		_exit(41);
}

static void asks(unsigned int nr)
{
	struct gs_asked of = { .page = flooder.pages.grant, .own = flooder.pages.client,
		.lost = &flooder.lost };
	struct gs_ask ask = { .of = &of, .n = 1 };
	int i;

	(void)nr;
	for (i = 0; i < 100; i++) {
		of.epoch_back = gs_epoch(flooder.pages.grant->word);
		ask.again = i % 2;
		flooder.a.ops->ask(&flooder.a, &ask);
		if (i % 3)
			flooder.a.ops->yield(&flooder.a, &of);
	}
	did(100);
}

static void connections(unsigned int nr)
{
	struct gs_transport *a[20];
	int i;

	(void)nr;
	for (i = 0; i < 20; i++)
		if (gs_transport_open(w.arbiter, 0, &a[i]))
			a[i] = NULL;
	for (i = 0; i < 20; i++)
		if (a[i])
			gs_transport_close(a[i]);
	did(20);
}

static void attachments(unsigned int nr)
{
	struct fighter f;

	(void)nr;
	if (!fighter_join(&f, flooder.diary, DEVICE, 0))
		fighter_leave(&f);
	did(1);
}

static void listings(unsigned int nr)
{
	struct gpushare_share share = { .size = sizeof(share), .flags = GPUSHARE_GET_NEXT };
	struct gpushare_stats s = { .size = sizeof(s), .flags = GPUSHARE_GET_NEXT };
	static struct gs_transport *a;
	unsigned long n = 0;

	if (!a)
		a = world_connect(&w);
	share.cgroup_fd = share.authority_fd = -1;
	for (; nr % 2 && !gs_transport_call(a, GPUSHARE_SHARE_GET, &share); n++) {
		share.size = sizeof(share);
		share.flags = GPUSHARE_GET_NEXT;
	}
	s.what = GPUSHARE_STATS_CLIENT;
	for (; !gs_transport_call(a, GPUSHARE_STATS, &s); n++)
		s = (struct gpushare_stats){ .size = sizeof(s), .flags = GPUSHARE_GET_NEXT,
			.what = GPUSHARE_STATS_CLIENT, .id = s.id };
	did(n + 1);
}

/* Streams of all events that nobody reads, and enough of them. */
static void open_streams(unsigned int nr)
{
	int i;

	for (i = 0; !nr && i < 8; i++)
		gs_transport_events(world_connect(&w), ~0ull >> (63 - GPUSHARE_EVENT_LOST));
}

static void share_churn(unsigned int nr)
{
	struct gpushare_share share = { .mask = GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MEM_MAX };
	static unsigned int n;
	char name[64];

	snprintf(name, sizeof(name), "/b/%u-%u", nr, n++ % 40);
	arena_cgroup(name, 0);
	share.weight = 1 + n % 1000;
	share.mem_max = n;
	arena_share(name, &share);
	if (n % 3 == 0)
		rmdir(arena_path(name));
	did(1);
}

/* Files that no command wants, or that nobody should touch. */
static int bad_file[8];
static unsigned int nr_bad;

static void add_bad(int fd)
{
	if (fd >= 0 && nr_bad < sizeof(bad_file) / sizeof(*bad_file))
		bad_file[nr_bad++] = fd;
}

static void open_bad(unsigned int nr)
{
	char path[200];
	int fds[2];

	if (!pipe(fds))
		add_bad(fds[0]), add_bad(fds[1]);
	add_bad(open("/dev/zero", O_RDWR));
	add_bad(open("/proc/self/mem", O_RDWR));
	add_bad(open("/", O_RDONLY | O_DIRECTORY));
	if (!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		add_bad(fds[0]);
	snprintf(path, sizeof(path), "%s/huge%u", w.dir, nr);
	add_bad(memfd_create("huge", 0));
	if (nr_bad && ftruncate(bad_file[nr_bad - 1], 1ll << 50))
		_exit(42);
	add_bad(open(arena_path("/a/cgroup.subtree_control"), O_RDONLY));
}

static void files_to_module(void)
{
	struct gpushare_share share;
	static struct gs_transport *a;
	unsigned int i;

	if (!a)
		a = world_connect(&w);
	for (i = 0; i < nr_bad; i++) {
		share = (struct gpushare_share){
			.size = sizeof(share), .cgroup_fd = bad_file[i],
			.authority_fd = bad_file[(i + 1) % nr_bad],
			.mask = GPUSHARE_SHARE_WEIGHT, .weight = 7,
		};
		if (!gs_transport_call(a, GPUSHARE_SHARE_SET, &share))
			gained("set a share by a file that names none");
		gs_transport_call(a, GPUSHARE_SHARE_GET, &share);
		did(2);
	}
}

/* To the daemon they may be sent along with anything. */
static void files(unsigned int round)
{
	static const unsigned long cmds[] = {	/* all */
		GPUSHARE_VERSION, GPUSHARE_ATTACH, GPUSHARE_DETACH, GPUSHARE_ACQUIRE,
		GPUSHARE_YIELD, GPUSHARE_MEMORY, GPUSHARE_DESCRIBE, GPUSHARE_SHARE_SET,
		GPUSHARE_SHARE_GET, GPUSHARE_DEVICE_ADD, GPUSHARE_DEVICE_SET,
		GPUSHARE_DEVICE_REMOVE, GPUSHARE_DEVICE_GET, GPUSHARE_STATS, GPUSHARE_GROUP,
		GPUSHARE_EVENTS,
	};
	char body[GS_WIRE_STRUCT_MAX] = { 0 };
	uint32_t size;
	size_t i, n;
	int fd;

	if (w.module || round % 16 == 0)
		files_to_module();
	for (i = 0; !w.module && i < sizeof(cmds) / sizeof(*cmds); i++) {
		unsigned long cmd = cmds[(i + round) % (sizeof(cmds) / sizeof(*cmds))];

		fd = raw_connect();
		size = _IOC_SIZE(cmd);
		memcpy(body, &size, sizeof(size));
		for (n = 0; fd >= 0 && n + 3 <= nr_bad; n++)
			if (!send_raw(fd, cmd, 0, body, size, bad_file + n, 1 + n % 3))
				break;
		close(fd);
		did(n);
	}
}

static void open_hung(unsigned int nr)
{
	static const unsigned int ops[] = {
		FUSE_GETATTR, FUSE_FLUSH, FUSE_RELEASE, FUSE_STATFS, FUSE_READ,
	};
	struct hungfs fs;
	char dir[128];
	int err, fd;
	size_t i;

	(void)nr;
	snprintf(dir, sizeof(dir), "%s/hostile/hung", w.dir);
	err = hungfs_start(&fs, dir, false);
	if (err)
		cant("there is no FUSE for users here", err);
	fd = open(fs.file, O_RDWR | O_CLOEXEC);
	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		hungfs_hang(&fs, ops[i]);
	for (i = 0; i < 3; i++)
		add_bad(fd);
}

static void files_of_all_kinds(unsigned int nr)
{
	static unsigned int round;

	files(nr + round++);
}

/* Whoever closes it waits for ever: a child each time, while the parent keeps it open. */
static void files_that_hang(unsigned int nr)
{
	static unsigned int round;

	(void)nr;
	round++;
	if (!descend(NULL, geteuid())) {
		files(round);
		_exit(0);
	}
	sleep_ns(20 * MS);
}

/* Whatever is another's, and its own limits: nothing of that may be set. */
static void try_to_set(struct gs_transport *a, struct gpushare_share share, const char *what)
{
	share.size = sizeof(share);
	share.authority_fd = -1;
	share.mask = GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MAX;
	share.weight = 5000;
	share.max_us = GPUSHARE_NO_LIMIT;
	share.period_us = 100000;
	if (!gs_transport_call(a, GPUSHARE_SHARE_SET, &share))
		gained(what);
	did(1);
}

static void usurp(unsigned int nr)
{
	struct gpushare_device dev = { .size = sizeof(dev), .key = DEVICE,
		.mask = GPUSHARE_DEV_GRACE, .grace_us = 60000000 };
	struct gs_transport *a = world_connect(&w);
	struct gpushare_share share;

	(void)nr;
	try_to_set(a, (struct gpushare_share){ .group = board->id[0], .cgroup_fd = -1 },
		   "set another's share");
	try_to_set(a, (struct gpushare_share){ .group = board->id[1], .cgroup_fd = -1 },
		   "set its own limit");
	share = (struct gpushare_share){
		.cgroup_fd = open(arena_mount(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	try_to_set(a, share, "set the share of what its file system shows as the root");
	close(share.cgroup_fd);
	share = (struct gpushare_share){ .size = sizeof(share), .group = board->id[0],
		.cgroup_fd = -1, .authority_fd = -1 };
	if (!gs_transport_call(a, GPUSHARE_SHARE_GET, &share))
		gained("saw another's share");
	if (!gs_transport_call(a, GPUSHARE_DEVICE_SET, &dev))
		gained("set a device");
	if (!gs_transport_call(a, GPUSHARE_DEVICE_REMOVE, &dev))
		gained("removed a device");
	strcpy(dev.key, "other:mine");
	if (!gs_transport_call(a, GPUSHARE_DEVICE_ADD, &dev))
		gained("added a device");
	gs_transport_close(a);
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return ok;
}

/* Root in a user name space of its own. */
static bool become_root(void)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %d 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %d 1", getegid());
	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", uids) && put("/proc/self/gid_map", gids);
}

static void enter_user_namespace(unsigned int nr)
{
	(void)nr;
	if (!become_root())
		cant("no user name spaces for users here", -errno);
	/* Its own view of everything. */
	if (unshare(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID))
		cant("no name spaces here", -errno);
}

/*
 * What an engine makes of root for a container: uid 0 of the machine, the capabilities that
 * are usual, name spaces, and its own cgroup as the root of a read-only file system.
 */
static void enter_container(unsigned int nr)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { .effective = USUAL_CAPS } };

	(void)nr;
	caps[0].permitted = USUAL_CAPS;
	if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    umount2(arena_mount(), MNT_DETACH) ||
	    mount("cgroup2", arena_mount(), "cgroup2", 0, NULL) ||
	    mount(NULL, arena_mount(), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) ||
	    syscall(SYS_capset, &head, caps))
		cant("no container can be made here", -errno);
}

static const struct attack attacks[] = {
	{ .name = "messages", .run = messages, .daemon = true },
	{ .name = "answers that aren't read", .run = unread_answers, .daemon = true },
	{ .name = "requests", .prepare = attach_first, .run = asks },
	{ .name = "connections", .run = connections },
	{ .name = "clients that come and go", .prepare = attach_first, .run = attachments },
	{ .name = "listings", .prepare = attach_first, .run = listings },
	{ .name = "event streams that aren't read", .prepare = open_streams, .run = attachments,
	  .daemon = true },
	{ .name = "groups and shares", .run = share_churn },
	{ .name = "files of all kinds", .prepare = open_bad, .run = files_of_all_kinds },
	{ .name = "files that hang", .prepare = open_hung, .run = files_that_hang,
	  .daemon = true, .processes = 1 },
	{ .name = "root of a name space", .prepare = enter_user_namespace, .run = usurp },
	{ .name = "root of a container", .prepare = enter_container, .run = usurp, .root = true },
};

static void attack(const struct attack *a, unsigned int nr)
{
	if (a->prepare)
		a->prepare(nr);
	while (phase_now() == CALM)
		syscall(SYS_getppid);
	while (phase_now() == UNDER_ATTACK)
		a->run(nr);
	for (;;)
		pause();
}

static void set_phase(enum phase phase)
{
	__atomic_store_n(&board->phase, phase, __ATOMIC_RELEASE);
}

static const struct attack *now_running;
static uint64_t length = 2 * SEC;

/* /a and /b have shares, which are as they were in the end. */
static void set_shares(void)
{
	static const char *const names[] = { "/a", "/b" };
	struct gpushare_share share = {
		.mask = GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_MAX, .weight = 100,
		.max_us = 70000, .period_us = 100000,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, arena_share(names[i], &share));
		board->id[i] = share.group;
	}
}

static void look_at_shares(void)
{
	struct gpushare_share share;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		share.authority_fd = -1;
		share.cgroup_fd = -1;
		EXPECT_EQ(0, share_get(&w, board->id[i], &share));
		EXPECT_EQ(100, share.weight);
		EXPECT_EQ(70000, share.max_us);
	}
	EXPECT_EQ(100000, world_device(&w, DEVICE).grace_us);
}

static void judge(void)
{
	/* Software that plays a processor stands still now and then. */
	uint64_t limit = P99_LIMIT;
	unsigned int i;

	for (i = 0; i < OVER; i++)
		board->p99[i] = p99(i);
	limit = 3 * board->p99[CALM] > limit ? 3 * board->p99[CALM] : limit;
	EXPECT_EQ(0, board->failed);
	EXPECT_EQ(0, board->gained);
	EXPECT_LE(board->p99[UNDER_ATTACK], limit);
	EXPECT_GT(board->nr[UNDER_ATTACK], 20);
	look_at_shares();
}

static void one_attack(void)
{
	struct gpushare_device quiet = {
		.size = sizeof(quiet), .key = "other:quiet", .kind = GPUSHARE_KIND_OTHER,
	};
	unsigned int i, n = now_running->processes;
	char dir[100];
	pid_t good;

	arena_set_up();
	n = n ? n : (unsigned int)sysconf(_SC_NPROCESSORS_ONLN) * 2;
	n = n > 8 ? 8 : n;
	snprintf(dir, sizeof(dir), "%s/hostile", w.dir);
	ASSERT_EQ(0, mkdir(dir, 0755));
	ASSERT_EQ(0, chown(dir, HOSTILE_UID, HOSTILE_UID));
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &quiet));
	arena_cgroup("/a", 0);
	arena_cgroup("/b", now_running->root ? 0 : HOSTILE_UID);
	memset(board, 0, sizeof(*board));
	set_shares();
	good = descend("/a", HONEST_UID);
	if (!good)
		round_trips();
	for (i = 0; i < n; i++)
		if (!descend("/b", now_running->root ? 0 : HOSTILE_UID))
			attack(now_running, i);
	sleep_ns(length / 2);
	set_phase(UNDER_ATTACK);
	sleep_ns(length);
	/* One that hangs shows in the length of its last call. */
	set_phase(OVER);
	EXPECT_TRUE(WAIT_FOR(waitpid(good, NULL, WNOHANG) == good));
	arena_kill_all();
	if (!*board->cant)
		judge();
	arena_remove();
	if (*board->cant)
		SKIP("%s", board->cant);
}

int main(int argc, char **argv)
{
	const char *arbiter = getenv("GPUSHARE_ARBITER");
	bool module = arbiter && !strcmp(arbiter, GS_DEVICE_NODE);
	const size_t all = sizeof(attacks) / sizeof(*attacks);
	struct test t = { .fn = one_attack, .limit_s = 120 };
	int n = 0, i = 0, r, failed = 0, skipped = 0;
	bool pick[sizeof(attacks) / sizeof(*attacks)];
	char why[256];
	size_t a;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getenv("FULL") && *getenv("FULL"))
		length = 10 * SEC;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (a = 0; a < all; a++) {
		t.name = attacks[a].name;
		pick[a] = !(module && attacks[a].daemon) && test_picked(&t, argv + 1);
		n += pick[a];
	}
	(void)argc;
	printf("TAP version 13\n1..%d\n", n);
	for (a = 0; a < all; a++) {
		if (!pick[a])
			continue;
		now_running = &attacks[a];
		t.name = attacks[a].name;
		r = test_run(&t, why, sizeof(why));
		failed += r == 1;
		skipped += r == 4;
		printf("%s %d - %s, %s: ", r == 1 ? "not ok" : "ok", ++i,
		       module ? "module" : "daemon", t.name);
		if (r == 4)
			printf("# SKIP %s\n", why);
		else
			printf("%lu/s; others' round trips: p99 %.2f ms, %.2f without, %u and %u of them%s%s\n",
			       (unsigned long)(board->done * SEC / length),
			       (double)board->p99[UNDER_ATTACK] / MS,
			       (double)board->p99[CALM] / MS, board->nr[UNDER_ATTACK],
			       board->nr[CALM], *board->what ? "; " : "", board->what);
	}
	return failed ? 1 : n && skipped == n ? 4 : 0;
}
