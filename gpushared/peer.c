// SPDX-License-Identifier: MIT
/*
 * Connections. Who is there is what the kernel said when it connected: a pid
 * that can't be someone else's as long as its pidfd hasn't become readable, and
 * a uid. Its rights are looked up once, then: a program that is given a
 * connection later, or is executed with it, gets no more than the first had.
 *
 * An answer that doesn't fit into the socket ends the connection: whoever sends
 * without reading has earned that, and nothing is kept for it here. Streams of
 * events may fall behind; event.c counts what they lose.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpushared.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77		/* Linux 6.5 */
#endif

/*
 * What the kernel may keep for one that doesn't read: twice that, by its own account,
 * whatever an admin has set for all sockets. Nobody needs more than a few answers on
 * their way, and it is there for each connection of a user; streams have as much as is usual.
 */
#define SEND_BYTES (16 * 1024)
#define SEND_BYTES_STREAM (104 * 1024)
#define SAY_NS		60000000000ull	/* those turned away are counted, and said so often */

#define REST_NS 100000000ull
#define SPARES 8

/* Of the processor, for what a porter does: by and large. */
#define ERRAND_NS 100000

static struct list_head doomed = { &doomed, &doomed };
static struct list_head to_free = { &to_free, &to_free };

static int peer_pidfd(int fd, pid_t pid)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	socklen_t len = sizeof(int);
	int pidfd;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len)) {
		fcntl(pidfd, F_SETFD, FD_CLOEXEC);
		return pidfd;
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	/* A connection that still stands says that it wasn't too late. */
	if (poll(&p, 1, 0) && (p.revents & (POLLHUP | POLLRDHUP))) {
		close(pidfd);
		return -ESRCH;
	}
	return pidfd;
}

static int take_room(struct peer *p)
{
	char path[CGROUP_PATH_MAX];
	bool known = !cgroup_of_peer(p, path, sizeof(path));

	return room_take(&p->room, ROOM_PEERS, known ? path : NULL, p->tenant,
			 d.system ? p->admin : !p->uid);
}

/* Those of a user who aren't known yet are few: they count for nobody until they are. */
static bool may_wait(const struct peer *p)
{
	unsigned int n = 0;
	struct peer *i;

	list_for_each_entry(i, &d.peers, link)
		n += i->errand == ERRAND_MEET && i->uid == p->uid;
	return p->admin || n < max_t(unsigned int, 16, d.max_peers / 16);
}

static void process_ended(struct source *s, uint32_t events)
{
	(void)events;
	peer_doom(container_of(s, struct peer, process));
}

int peer_send(struct peer *p, const struct gs_wire *head, const void *body, size_t size,
	      const int *files, unsigned int nr_files)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * GS_WIRE_FILES_MAX)] = { 0 };
	struct iovec iov[2] = {
		{ (void *)head, sizeof(*head) },
		{ (void *)body, size },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = size ? 2 : 1 };
	struct cmsghdr *c;

	if (nr_files) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nr_files);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nr_files);
		memcpy(CMSG_DATA(c), files, sizeof(int) * nr_files);
	}
	return sendmsg(p->source.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void peer_reply(struct peer *p, const struct gs_wire *request, int result, const void *body,
		size_t size, const int *files, unsigned int nr_files)
{
	struct gs_wire head = *request;

	if (p->doomed || p->closed || (request->flags & GS_WIRE_QUIET))
		return;
	head.flags = GS_WIRE_REPLY;
	head.result = result;
	head.set = request->cmd == GPUSHARE_VERSION ? d.turned_away : 0;
	if (peer_send(p, &head, body, size, files, nr_files))
		peer_doom(p);
}

/* To be closed when this round is over: whoever calls may be holding its client. */
void peer_doom(struct peer *p)
{
	if (p->doomed || p->closed)
		return;
	p->doomed = true;
	list_add_tail(&p->later, &doomed);
}

/* Whoever isn't told runs on without an arbiter, and doesn't know why. */
static void turn_away(struct peer *p, int err)
{
	struct gs_wire head = { .magic = GS_WIRE_MAGIC, .flags = GS_WIRE_REPLY, .result = err };
	static uint64_t said_ns;
	uint64_t now = now_ns();

	peer_send(p, &head, NULL, 0, NULL, 0);
	peer_doom(p);
	if (err != -EUSERS)
		return;
	d.turned_away++;
	if (said_ns && now - said_ns < SAY_NS)
		return;
	said_ns = now;
	say("process %d of user %u is turned away, its limit of connections is reached; "
	    "%llu were until now", p->pid, p->uid, (unsigned long long)d.turned_away);
}

/*
 * A look comes first, without room for files: so none is taken, and it shows whether there
 * are any. Those are a porter's, and of a command that brings none they end the line.
 */
static void peer_receive(struct peer *p)
{
	static struct message m;	/* one thread, one message at a time */
	struct iovec iov = { &m, sizeof(m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	bool files;
	ssize_t len;

	len = recvmsg(p->source.fd, &msg, MSG_DONTWAIT | MSG_PEEK);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	files = len >= 0 && msg.msg_flags & MSG_CTRUNC;
	if (len <= 0 || msg.msg_flags & MSG_TRUNC || message_check(&m, (size_t)len, files)) {
		peer_doom(p);
	} else if (files && p->stream) {
		peer_doom(p);	/* it carries no more commands */
	} else if (files || (!p->stream && message_about_share(&m, (size_t)len, 0))) {
		p->errand_head = m.head;
		loop_change(&p->source, 0);
		account_charge(p, ERRAND_NS);
		porter_ask(p, ERRAND_TAKE);
	} else {
		recv(p->source.fd, NULL, 0, MSG_DONTWAIT);
		command_run(p, &m, NULL, 0);
	}
}

/* What a porter has taken, or why it couldn't. */
void peer_took(struct peer *p, int err, struct message *m, size_t length,
	       const struct gs_seen *files, unsigned int nr_files)
{
	if (p->doomed || p->closed)
		return;
	if (err == -ETIMEDOUT)
		peer_reply(p, &p->errand_head, err, NULL, 0, NULL, 0);
	if (err || message_check(m, length, nr_files) || loop_change(&p->source, EPOLLIN))
		peer_doom(p);
	else
		command_run(p, m, files, nr_files);
}

static void peer_ready(struct source *s, uint32_t events)
{
	struct peer *p = container_of(s, struct peer, source);

	if (events & EPOLLOUT)
		stream_writable(p);
	if (p->doomed || p->closed)
		return;
	if (events & EPOLLIN && account_hear(p))
		peer_receive(p);
	else if (events & (EPOLLHUP | EPOLLERR))
		peer_doom(p);
}

/* 0, or why it isn't let in. */
static int peer_identify(struct peer *p)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(p->source.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	p->pid = cred.pid;
	p->uid = cred.uid;
	p->gid = cred.gid;
	if (!d.system && p->uid != d.uid && p->uid != 0)
		return -EPERM;
	/* A pid of 0 is one that has no number here: a name space that we don't see. */
	if (p->pid <= 0)
		return -ESRCH;
	p->process.fd = peer_pidfd(p->source.fd, p->pid);
	if (p->process.fd < 0)
		return p->process.fd;
	/* Until more is known. */
	p->admin = meet_may_be_admin(p->pid, p->uid);
	p->tenant = tenant_of_user(p->uid);
	return may_wait(p) ? 0 : -EUSERS;
}

/* What a porter has found out; until then it wasn't listened to. */
void peer_met(struct peer *p, int err, const struct gs_met *met, int cgroup)
{
	struct pollfd ended = { .fd = p->process.fd, .events = POLLIN };

	p->cgroup = cgroup;
	/* If it hasn't ended, it was this process and no later one of the same number. */
	if (!err && poll(&ended, 1, 0))
		err = -ESRCH;
	if (err) {
		turn_away(p, err);
		return;
	}
	p->admin = met->admin;
	p->foreign = met->foreign;
	p->outsider = met->outsider;
	p->tenant = met->tenant;
	p->pid_ns = met->pid_ns;
	p->inner_pid = met->inner_pid;
	memcpy(p->comm, met->comm, sizeof(p->comm));
	err = take_room(p);
	if (!err)
		err = account_open(p);
	if (!err)
		err = loop_add(&p->source, EPOLLIN);
	if (err)
		turn_away(p, err);
	account_charge(p, ERRAND_NS);
}

/* Also who isn't let in is one until its connection is closed. */
static void peer_start(struct peer *p, int fd)
{
	int err;

	INIT_LIST_HEAD(&p->later);
	INIT_LIST_HEAD(&p->errand_link);
	INIT_LIST_HEAD(&p->paused);
	p->source.fd = fd;
	p->source.ready = peer_ready;
	p->process.fd = -1;
	p->process.ready = process_ended;
	p->bell.fd = -1;
	p->bell.ready = bell_rung;
	p->cgroup = -1;
	list_add_tail(&p->link, &d.peers);
	d.nr_peers++;
	err = peer_identify(p);
	if (!err)
		err = loop_add(&p->process, EPOLLIN);
	if (err)
		turn_away(p, err);
	else
		porter_ask(p, ERRAND_MEET);
}

void peer_may_leave(int fd, bool stream)
{
	int bytes = stream ? SEND_BYTES_STREAM : SEND_BYTES;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* A few are kept ready, so that who comes to help gets in when memory is short. */
static struct list_head spares = { &spares, &spares };
static unsigned int nr_spares;

static void put_away(struct peer *p)
{
	if (nr_spares == SPARES) {
		free(p);
		return;
	}
	nr_spares++;
	list_add(&p->link, &spares);
}

static struct peer *new_peer(void)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p && nr_spares) {
		nr_spares--;
		p = list_first_entry(&spares, struct peer, link);
		list_del_init(&p->link);
		memset(p, 0, sizeof(*p));
	}
	return p;
}

static struct source *resting;

static void rested(struct timer *t)
{
	(void)t;
	loop_change(resting, EPOLLIN);
}

static struct timer rest = { .due = rested };

void peer_init(void)
{
	struct peer *p;

	while (nr_spares < SPARES && (p = calloc(1, sizeof(*p))))
		put_away(p);
}

/*
 * Those that can't be taken for want of files or memory stay at the door, and would have
 * the loop turn round and round. The room for a peer is had first: a connection that is
 * taken can't be closed here.
 */
void peer_accept(struct source *listener, uint32_t events)
{
	struct peer *p = new_peer();
	int fd = -1, err = ENOMEM;

	(void)events;
	if (p) {
		fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		err = fd < 0 ? errno : 0;
	}
	if (fd >= 0) {
		peer_may_leave(fd, false);
		peer_start(p, fd);
		return;
	}
	if (p)
		put_away(p);
	if (err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS) {
		resting = listener;
		loop_change(listener, 0);
		timer_arm(&rest, now_ns() + REST_NS);
	}
}

static void peer_gone(struct peer *p)
{
	room_give_back(&p->room, ROOM_PEERS);
	list_del_init(&p->link);
	list_add_tail(&p->later, &to_free);
	if (!--d.nr_peers)
		main_unused();
}

/* A porter has its files as well, so to close ours waits for nothing. */
void peer_buried(struct peer *p)
{
	close(p->source.fd);
	p->source.fd = -1;
	if (p->bell.fd >= 0)
		close(p->bell.fd);
	p->bell.fd = -1;
	peer_gone(p);
}

/* It counts as long as its files are open; when we end, they are the keeper's. */
void peer_close(struct peer *p)
{
	if (p->closed)
		return;
	p->closed = true;
	account_close(p);
	porter_forget(p);
	memory_peer_gone(p);
	if (p->client)
		client_free(p->client);
	stream_free(p);
	state_forget_peer(p);
	if (p->last_named) {
		struct group *g = group_find(p->last_named);

		if (g && g->keep) {
			g->keep--;
			group_drop_if_unused(g);
		}
	}
	loop_remove(&p->process);
	if (p->cgroup >= 0)
		close(p->cgroup);
	p->cgroup = -1;
	loop_forget(&p->source);
	loop_forget(&p->bell);
	list_del_init(&p->later);
	shutdown(p->source.fd, SHUT_RDWR);
	if (d.stop)
		peer_gone(p);
	else
		porter_ask(p, ERRAND_BURY);
}

void peer_close_all(void)
{
	struct peer *p, *n;

	list_for_each_entry_safe(p, n, &d.peers, link) {
		if (p->closed) {
			porter_forget(p);
			peer_gone(p);
		} else {
			peer_close(p);
		}
	}
}

void peer_forget_all(void)
{
	struct peer *p, *n;

	list_for_each_entry_safe(p, n, &spares, link)
		free(p);
}

/* At the end of a round, when no source is looked at any more. Was there any? */
bool peer_end_round(void)
{
	bool any = !list_empty(&doomed);
	struct peer *p;

	while (!list_empty(&doomed))
		peer_close(list_first_entry(&doomed, struct peer, later));
	while (!list_empty(&to_free)) {
		p = list_first_entry(&to_free, struct peer, later);
		list_del_init(&p->later);
		put_away(p);
	}
	return any;
}
