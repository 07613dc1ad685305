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
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

static bool same_namespace(pid_t pid, const char *which)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, which);
	if (stat(path, &its))
		return false;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", which);
	return !stat(path, &own) && own.st_ino == its.st_ino && own.st_dev == its.st_dev;
}

/* Not from its status file: to read that may be to end its memory for it. */
static bool has_sys_admin(pid_t pid)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, pid };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &head, caps) &&
	       caps[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

/*
 * Uid 0 when it connected, and the capability now: the first can't be had by
 * executing a set-user-id program with the connection, the second is what a
 * container's root lacks.
 */
static bool is_admin(const struct peer *p)
{
	if (!d.system)
		return true;	/* only the daemon's own user, and root, get this far */
	return p->uid == 0 && same_namespace(p->pid, "user") && has_sys_admin(p->pid);
}

static int take_room(struct peer *p)
{
	char path[CGROUP_PATH_MAX];
	bool known = !cgroup_of_pid(p->pid, path, sizeof(path));

	return room_take(&p->room, ROOM_PEERS, known ? path : NULL, p->tenant,
			 d.system ? p->admin : !p->uid);
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
	head.set = 0;
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
	} else if (files) {
		p->errand_head = m.head;
		loop_change(&p->source, 0);
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
	if (events & EPOLLIN)
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
	p->foreign = !same_namespace(p->pid, "pid") || !same_namespace(p->pid, "cgroup");
	p->admin = is_admin(p);
	p->outsider = p->foreign || !same_namespace(p->pid, "user") || (!p->uid && !p->admin);
	p->tenant = tenant_of(p->pid, p->uid);
	return take_room(p);
}

static int peer_new(int fd)
{
	struct peer *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	INIT_LIST_HEAD(&p->later);
	INIT_LIST_HEAD(&p->errand_link);
	p->source.fd = fd;
	p->source.ready = peer_ready;
	p->process.fd = -1;
	p->process.ready = process_ended;
	p->bell.fd = -1;
	p->bell.ready = bell_rung;
	err = peer_identify(p);
	if (!err)
		err = loop_add(&p->source, EPOLLIN);
	if (!err) {
		err = loop_add(&p->process, EPOLLIN);
		if (err)
			loop_remove(&p->source);
	}
	if (err) {
		if (p->process.fd >= 0)
			close(p->process.fd);
		if (p->source.fd >= 0)
			close(fd);
		room_give_back(&p->room, ROOM_PEERS);
		free(p);
		return err;
	}
	list_add_tail(&p->link, &d.peers);
	d.nr_peers++;
	return 0;
}

void peer_may_leave(int fd, bool stream)
{
	int bytes = stream ? SEND_BYTES_STREAM : SEND_BYTES;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

void peer_accept(struct source *listener, uint32_t events)
{
	int fd;

	(void)events;
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	peer_may_leave(fd, false);
	peer_new(fd);
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
	porter_forget(p);
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
		free(p);
	}
	return any;
}
