// SPDX-License-Identifier: MIT
/*
 * Porters: processes that touch what may hang.
 *
 * A message may bring open files, and a file is whatever its owner made of it. To
 * look at one (fstat, fstatfs) asks the server of its file system; to close one waits
 * for that server, or until a TCP connection has sent what it has, and so does it to
 * drop one that was never taken out of its message, to close a socket in which such a
 * message lies, and to exit with that socket open. To close a doorbell for the last
 * time waits for the mutex of an epoll set of the client's. Most of these waits don't
 * even end by SIGKILL. tests/gpushared/files.c has them all.
 *
 * So the arbiter itself never does any of that. It looks at messages without taking
 * them (peer.c), and gives a connection whose next message has files, and everything
 * of a peer's that has to be closed, to a porter: a process that is sent the files,
 * holds nothing else, and may hang for good.
 *
 *	MEET	finds out who has connected (meet.c), which isn't listened to before.
 *	TAKE	receives one message, answers with it and with what its files are, and
 *		closes these. It has LIMIT_NS for that, or the peer's line is cut.
 *	BURY	closes a peer's connection and its doorbell, after the arbiter has: a word
 *		that follows says so, as the last to close is who waits.
 *
 * There are as many porters as there are slots, each with one errand at a time. One that
 * hangs keeps its slot until it comes back. A user has two of them at most, and two
 * are for admins alone; those who meet others are counted for themselves. Whose errand
 * finds no porter waits: what a peer wanted until its time is over, and what is to be closed
 * as a connection of that user's, which counts as one. So who hangs porters runs out of
 * connections, and others may find that files aren't taken for a while; whatever needs none
 * goes on. Somebody with dozens of user ids can hang all who meet: then nobody new is let in.
 *
 * The keeper is a process that shares the arbiter's table of open files. However the
 * arbiter ends, nothing is closed by that; the keeper then shuts all connections down,
 * which never waits, gives the lock back and closes the rest. It may hang in that, when
 * nobody needs it any more.
 *
 * The maker makes the porters. It was made itself when no tenant's file was here yet, so
 * none of them begins with files that it would have to close first.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushared.h"

#define PORTERS_FILES	8	/* for TAKE and BURY */
#define PORTERS_MEET	64
#define PORTERS		(PORTERS_FILES + PORTERS_MEET)
#define PORTERS_ADMIN	2	/* of either, only for admins */
#define PORTERS_USER	2	/* of either */
#define LIMIT_NS	3000000000ull
#define AGAIN_NS	100000000ull	/* a porter couldn't be had: short of something */

/* To a porter: what to do, with the files that come along, or whom to meet. */
struct order {
	uint32_t what;
	pid_t pid;
	uid_t uid;
};

/* From it: what came of it; and then, one without anything in it, that it is free. */
struct answer {
	int err;
	struct gs_met met;
	uint32_t length, nr_files;
	struct gs_seen files[GS_WIRE_FILES_MAX];
	struct message message;
};

struct porter {
	struct source source;		/* first: our end of its socket */
	struct peer *peer;		/* whose errand; NULL if that has gone */
	bool busy, admin;
	uint64_t tenant;
};

static void porter_says(struct source *s, uint32_t events);
static void errands_late(struct timer *t);
static void keeper_ended(struct source *s, uint32_t events);
static void maker_ended(struct source *s, uint32_t events);

static struct porter porters[PORTERS];
static struct list_head waiting = { &waiting, &waiting };	/* errands, the oldest first */
static struct list_head taking = { &taking, &taking };		/* those that a porter is at */
static struct timer timer = { .due = errands_late };
static struct source keeper = { .fd = -1, .ready = keeper_ended };
static struct source maker = { .fd = -1, .ready = maker_ended };
static int arbiter_pidfd = -1;
static int first_file;		/* what has a lower number was opened at the start */

/* As fork(), without the C library: a thread of ours may hold its locks just now. */
static pid_t make_process(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

/* ---- what a porter does ---- */

static ssize_t receive(int fd, void *to, size_t size, int *files, unsigned int *nr, int flags)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * GS_WIRE_FILES_MAX)];
	struct iovec iov = { to, size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	ssize_t n;

	*nr = 0;
	n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | flags);
	if (n < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*nr = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(files, CMSG_DATA(c), *nr * sizeof(int));
	}
	return msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -EPROTO : n;
}

static int send_files(int line, const void *data, size_t size, const int *files, unsigned int nr)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * GS_WIRE_FILES_MAX)] = { 0 };
	struct iovec iov = { (void *)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
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
	return sendmsg(line, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void look_at(int fd, struct gs_seen *seen)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC || fstat(fd, &st))
		return;
	seen->cgroup = true;
	seen->mode = st.st_mode;
	seen->dev = st.st_dev;
	seen->ino = st.st_ino;
	seen->flags = fcntl(fd, F_GETFL);
	if (cgroup_path_of_open(fd, seen->path, sizeof(seen->path)))
		seen->path[0] = 0;
}

static void take(int line, int connection)
{
	static struct answer a;
	int files[GS_WIRE_FILES_MAX];
	unsigned int i, n;
	ssize_t len;

	memset(&a, 0, sizeof(a));
	len = receive(connection, &a.message, sizeof(a.message), files, &n, MSG_DONTWAIT);
	a.err = len < 0 ? (int)len : 0;
	a.length = len < 0 ? 0 : (uint32_t)len;
	a.nr_files = n;
	for (i = 0; i < n && !a.err; i++)
		look_at(files[i], &a.files[i]);
	if (!a.err && message_about_share(&a.message, a.length, n))
		cgroup_look_ahead(&a.message.share, a.files, n);
	/* First the answer: what comes now may take for ever. */
	if (send_files(line, &a, sizeof(a), NULL, 0))
		_exit(1);
	for (i = 0; i < n; i++)
		close(files[i]);
}

static void meet_one(int line, const struct order *order)
{
	static struct answer a;
	int cgroup;

	cgroup = meet(order->pid, order->uid, &a.met);
	if (send_files(line, &a, sizeof(a), &cgroup, cgroup >= 0))
		_exit(1);
	if (cgroup >= 0)
		close(cgroup);
}

__attribute__((noreturn)) static void porter_run(int line)
{
	int files[GS_WIRE_FILES_MAX];
	struct order order;
	unsigned int i, n;

	prctl(PR_SET_NAME, "gpushared-port");
	while (receive(line, &order, sizeof(order), files, &n, 0) == sizeof(order)) {
		if (order.what == ERRAND_MEET)
			meet_one(line, &order);
		if (order.what == ERRAND_TAKE && n == 1)
			take(line, files[0]);
		if (order.what == ERRAND_BURY)
			recv(line, &order, sizeof(order), 0);
		for (i = 0; i < n; i++)
			close(files[i]);
		/* Who can't say that it is free ends, which says it as well. */
		if (send(line, "", 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

/* Each file that comes is a new porter's end of its line. */
__attribute__((noreturn)) static void maker_run(int line)
{
	int files[GS_WIRE_FILES_MAX];
	unsigned int n;
	ssize_t got;
	char c;

	prctl(PR_SET_NAME, "gpushared-make");
	signal(SIGCHLD, SIG_IGN);
	dup2(line, 3);
	closefrom(cgroup_root(4));
	/* Short of something, it tries again. */
	while ((got = receive(3, &c, 1, files, &n, 0))) {
		if (got != 1 || n != 1)
			continue;
		if (!make_process(0)) {
			dup2(files[0], 3);
			close(files[0]);
			porter_run(3);
		}
		close(files[0]);
	}
	_exit(0);
}

/* ---- the keeper ---- */

/*
 * Everything that was open at the start first, the locks among it, but nobody is to find them
 * free and the socket still taking callers; then all connections.
 */
__attribute__((noreturn)) static void keep_no_more(void)
{
	int fd, passed = place_passed_socket();
	struct rlimit r = { .rlim_cur = 1024 };

	getrlimit(RLIMIT_NOFILE, &r);
	for (fd = 3; fd < first_file; fd++)
		if (fd != passed)
			shutdown(fd, SHUT_RDWR);
	for (fd = 3; fd < first_file; fd++)
		close(fd);
	for (fd = first_file; fd < (int)r.rlim_cur; fd++)
		shutdown(fd, SHUT_RDWR);
	_exit(0);
}

__attribute__((noreturn)) static void keeper_run(void)
{
	struct pollfd p = { .fd = arbiter_pidfd, .events = POLLIN };

	prctl(PR_SET_NAME, "gpushared-keep");
	while (poll(&p, 1, -1) != 1)
		;
	keep_no_more();
}

static int keeper_start(void)
{
	pid_t pid = make_process(CLONE_FILES);

	if (!pid)
		keeper_run();
	keeper.fd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	return keeper.fd < 0 ? -errno : loop_add(&keeper, EPOLLIN);
}

static int maker_start(void)
{
	int line[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line))
		return -errno;
	pid = make_process(0);
	if (!pid)
		maker_run(line[1]);
	close(line[1]);
	maker.fd = line[0];
	return pid < 0 ? -errno : loop_add(&maker, EPOLLIN);
}

/* Another one would have in it what tenants gave us, as that one hasn't. */
static void maker_ended(struct source *s, uint32_t events)
{
	(void)events;
	loop_remove(s);
	say("the process that makes others has ended, and so do we");
	d.stop = true;
}

/* Somebody has killed it: it isn't in the way of anybody, so that is for no good. */
static void keeper_ended(struct source *s, uint32_t events)
{
	(void)events;
	loop_remove(s);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	say("the process that keeps the files has ended; there is another one");
	if (keeper_start())
		d.stop = true;	/* who starts us again has more luck */
}

int porter_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < PORTERS; i++)
		porters[i].source = (struct source){ .fd = -1, .ready = porter_says };
	arbiter_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (arbiter_pidfd < 0)
		return -errno;
	first_file = arbiter_pidfd + 1;
	err = maker_start();
	return err ? err : keeper_start();
}

/* ---- errands ---- */

static int porter_start(struct porter *po)
{
	int line[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line))
		return -errno;
	po->source.fd = line[0];
	err = loop_add(&po->source, EPOLLIN);
	if (!err)
		err = send_files(maker.fd, "", 1, &line[1], 1);
	close(line[1]);
	if (err)
		loop_remove(&po->source);
	return err;
}

/* One that is free for this peer, first of those that have been started. */
static struct porter *find_porter(const struct peer *p)
{
	struct porter *from = p->errand == ERRAND_MEET ? porters + PORTERS_FILES : porters;
	unsigned int n = p->errand == ERRAND_MEET ? PORTERS_MEET : PORTERS_FILES;
	unsigned int own = 0, others = 0;
	struct porter *found = NULL, *po;

	for (po = from; po < from + n; po++) {
		own += po->busy && po->tenant == p->tenant && po->admin == p->admin;
		others += po->busy && !po->admin;
		if (!po->busy && (!found || found->source.fd < 0))
			found = po;
	}
	return !p->admin && (own >= PORTERS_USER || others >= n - PORTERS_ADMIN) ? NULL : found;
}

static int begin(struct porter *po, struct peer *p)
{
	struct order order = { .what = p->errand, .pid = p->pid, .uid = p->uid };
	int files[2] = { p->source.fd, p->bell.fd };
	unsigned int n = p->errand == ERRAND_TAKE || p->bell.fd < 0 ? 1 : 2;
	int err = po->source.fd < 0 ? porter_start(po) : 0;

	if (!err)
		err = send_files(po->source.fd, &order, sizeof(order), files,
				 p->errand == ERRAND_MEET ? 0 : n);
	if (err)
		return err;
	po->busy = true;
	po->tenant = p->tenant;
	po->admin = p->admin;
	list_del_init(&p->errand_link);
	if (p->errand == ERRAND_BURY) {
		peer_buried(p);
		/* To lose its line is a word, too. */
		if (send(po->source.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
			loop_remove(&po->source);
			po->busy = false;
		}
	} else {
		po->peer = p;
		p->porter = po;
		list_add_tail(&p->errand_link, &taking);
	}
	return 0;
}

static uint64_t first_limit(const struct list_head *list)
{
	struct peer *p;

	list_for_each_entry(p, list, errand_link)
		if (p->errand != ERRAND_BURY)
			return p->errand_until;
	return GS_NEVER;
}

static void go_on(void)
{
	uint64_t at = GS_NEVER;
	struct porter *po;
	struct peer *p, *n;

	list_for_each_entry_safe(p, n, &waiting, errand_link) {
		po = find_porter(p);
		if (po && begin(po, p)) {
			at = now_ns() + AGAIN_NS;
			break;
		}
	}
	timer_arm(&timer, min(at, min(first_limit(&waiting), first_limit(&taking))));
}

void porter_ask(struct peer *p, uint8_t errand)
{
	p->errand = errand;
	p->errand_until = now_ns() + LIMIT_NS;
	list_add_tail(&p->errand_link, &waiting);
	go_on();
}

/* Its answer isn't wanted any more; who is at it goes on, and closes what it was given. */
void porter_forget(struct peer *p)
{
	list_del_init(&p->errand_link);
	p->errand = 0;
	if (p->porter)
		p->porter->peer = NULL;
	p->porter = NULL;
}

/* What came of a peer's errand, if the peer is still there. */
static void tell(struct peer *p, int err, struct answer *a, int file)
{
	uint8_t errand = p->errand;

	porter_forget(p);
	if (errand == ERRAND_MEET)
		peer_met(p, err, &a->met, file);
	else
		peer_took(p, err, &a->message, a->length, a->files, a->nr_files);
}

static void give_up_late(struct list_head *list)
{
	static struct answer none;
	struct peer *p, *n;

	list_for_each_entry_safe(p, n, list, errand_link)
		if (p->errand != ERRAND_BURY && p->errand_until <= now_ns())
			tell(p, -ETIMEDOUT, &none, -1);
}

static void errands_late(struct timer *t)
{
	(void)t;
	give_up_late(&taking);
	give_up_late(&waiting);
	go_on();
}

static void porter_says(struct source *s, uint32_t events)
{
	struct porter *po = container_of(s, struct porter, source);
	int files[GS_WIRE_FILES_MAX], file;
	static struct answer a;
	unsigned int nr;
	ssize_t n;

	(void)events;
	n = receive(s->fd, &a, sizeof(a), files, &nr, MSG_DONTWAIT);
	if (n == -EAGAIN || n == -EINTR)
		return;
	file = n == sizeof(a) && nr ? files[0] : -1;
	if (n == sizeof(a) && po->peer) {
		tell(po->peer, a.err, &a, file);
		return;
	}
	if (file >= 0)
		close(file);
	if (n == sizeof(a))
		return;
	/* It is free; or has ended, as somebody killed it: the next one is new. */
	if (n != 1)
		loop_remove(s);
	if (po->peer)
		tell(po->peer, -EIO, &a, -1);
	po->busy = false;
	go_on();
}
