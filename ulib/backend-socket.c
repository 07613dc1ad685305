// SPDX-License-Identifier: MIT
/*
 * The daemon's socket; wire.h says what travels on it.
 *
 * A request for the device is written on the client's page, the doorbell is rung,
 * and the answer is read off the grant page: a handoff is then one short write and
 * one wake-up for each side. Without a bell (an older daemon, or one short of files)
 * it is a QUIET message. Everything else is a message each way.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "wire.h"

struct message {
	struct gs_wire head;
	_Alignas(8) char body[GS_WIRE_STRUCT_MAX];
};

static int socket_open(struct gs_transport *a)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	uint64_t until = gs_now() + a->limit_ns;
	int err;

	if (strlen(a->path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, a->path);
	a->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		return -errno;
	/* EAGAIN: the daemon has more callers than it took yet; no event tells of room. */
	while (connect(a->fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		if ((err == -EAGAIN && gs_ms_until(until)) || err == -EINTR) {
			poll(NULL, 0, 5);
			continue;
		}
		close(a->fd);
		a->fd = -1;
		return err == -EPROTOTYPE ? -EPROTO : err == -EPERM ? -EACCES : err;
	}
	return 0;
}

/* Which errors mean that nobody is there any more. */
static int gone(int err)
{
	return err == -ECONNRESET || err == -ENOTCONN || err == -EBADF ? -EPIPE : err;
}

static int wait_for(int fd, short events, uint64_t until)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	do
		n = poll(&p, 1, gs_ms_until(until));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

static int send_message(struct gs_transport *a, struct gs_wire *head, const void *body, size_t size,
			const int *files, unsigned int nr_files)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * GS_WIRE_FILES_MAX)] = { 0 };
	struct iovec iov[2] = {
		{ head, sizeof(*head) },
		{ (void *)body, size },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = size ? 2 : 1 };
	uint64_t until = 0;
	struct cmsghdr *c;
	int err;

	if (nr_files) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nr_files);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nr_files);
		memcpy(CMSG_DATA(c), files, sizeof(int) * nr_files);
	}
	for (;;) {
		if (sendmsg(a->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno == EBADF && nr_files)
			return -EBADF;	/* one of the files: the connection's own is in use */
		if (errno != EAGAIN && errno != EINTR)
			return gone(-errno);
		if (!until)
			until = gs_now() + a->limit_ns;
		err = wait_for(a->fd, POLLOUT, until);
		if (err)
			return err;
	}
}

/* Takes one message; files beyond @max are closed by the kernel or here. */
static ssize_t receive_message(struct gs_transport *a, struct message *m, int *files,
			       unsigned int max, unsigned int *nr_files)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * GS_WIRE_FILES_MAX)];
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	unsigned int i, n, got = 0;
	struct cmsghdr *c;
	ssize_t len;
	int fd;

	do
		len = recvmsg(a->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return errno == EAGAIN ? -EAGAIN : gone(-errno);
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (got < max)
				files[got++] = fd;
			else
				close(fd);
		}
	}
	*nr_files = got;
	if (!len)
		return -EPIPE;
	if ((size_t)len < sizeof(m->head) || m->head.magic != GS_WIRE_MAGIC)
		return -EPROTO;
	return len - (ssize_t)sizeof(m->head);
}

static void close_files(const int *files, unsigned int n)
{
	while (n)
		close(files[--n]);
}

/* The daemon doesn't let us in: its reason, or 0. */
static int refusal(const struct gs_wire *head)
{
	return (head->flags & GS_WIRE_REPLY) && !head->cmd && !head->cookie && head->result < 0 ?
	       head->result : 0;
}

/* It has ended the connection; it may have said why before, behind the error of that. */
static int why_gone(struct gs_transport *a)
{
	unsigned int none, i;
	struct message m;
	int err = 0;

	for (i = 0; i < 2 && !err; i++)
		if (receive_message(a, &m, NULL, 0, &none) >= 0)
			err = refusal(&m.head);
	return err ? err : -EPIPE;
}

/* Sends a command and waits for its answer; what came too late before is dropped. */
static int exchange(struct gs_transport *a, unsigned long cmd, void *arg, uint64_t set,
		    const int *out, unsigned int nr_out, int *in, unsigned int *nr_in)
{
	struct gs_wire head = {
		.magic = GS_WIRE_MAGIC, .cmd = (__u32)cmd, .cookie = ++a->cookie, .set = set,
	};
	uint64_t until = gs_now() + a->limit_ns;
	unsigned int max = *nr_in;
	size_t size = arg ? *(__u32 *)arg : 0;
	struct message m;
	ssize_t len;
	int err;

	if (size > GS_WIRE_STRUCT_MAX)
		return -E2BIG;
	if (cmd == GPUSHARE_ATTACH && a->features & GPUSHARE_FEAT_BELL)
		head.flags = GS_WIRE_BELL;
	*nr_in = 0;
	err = send_message(a, &head, arg, size, out, nr_out);
	if (err)
		return err == -EPIPE ? why_gone(a) : err;
	for (;;) {
		err = wait_for(a->fd, POLLIN, until);
		if (err)
			return err;
		len = receive_message(a, &m, in, max, nr_in);
		if (len == -EAGAIN)
			continue;
		if (len < 0)
			return len == -EPIPE ? why_gone(a) : (int)len;
		if ((m.head.flags & GS_WIRE_REPLY) && m.head.cookie == head.cookie)
			break;
		if (refusal(&m.head))
			return refusal(&m.head);
		close_files(in, *nr_in);
		*nr_in = 0;
	}
	if (cmd == GPUSHARE_VERSION)
		a->turned_away = m.head.set;
	if (arg)
		memcpy(arg, m.body, (size_t)len < size ? (size_t)len : size);
	if (m.head.result && *nr_in) {
		close_files(in, *nr_in);
		*nr_in = 0;
	}
	return m.head.result;
}

/* Replaces file numbers by indices for the way, and puts them back after it. */
static int call_with_files(struct gs_transport *a, unsigned long cmd, struct gpushare_share *s)
{
	int files[GS_WIRE_FILES_MAX], cgroup = s->cgroup_fd, authority = s->authority_fd, err;
	unsigned int n = 0, none = 0;

	if (cgroup >= 0) {
		s->cgroup_fd = (int)n;
		files[n++] = cgroup;
	}
	if (authority >= 0) {
		s->authority_fd = (int)n;
		files[n++] = authority;
	}
	err = exchange(a, cmd, s, 0, files, n, NULL, &none);
	s->cgroup_fd = cgroup;
	s->authority_fd = authority;
	return err;
}

/*
 * The daemon can't see for itself what a caller in a container may write: the proof is
 * the file itself, opened for writing; nor that from here there is nothing above.
 */
static void prove(struct gs_transport *a, struct gpushare_share *s, int *err)
{
	struct statx st;

	s->authority_fd = openat(s->cgroup_fd, "../cgroup.subtree_control",
				 O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s->authority_fd >= 0) {
		*err = call_with_files(a, GPUSHARE_SHARE_SET, s);
		close(s->authority_fd);
	} else if (!statx(s->cgroup_fd, "", AT_EMPTY_PATH, 0, &st) &&
		   st.stx_attributes & STATX_ATTR_MOUNT_ROOT) {
		*err = -EXDEV;
	}
	s->authority_fd = -1;
}

static bool brings_files(unsigned long cmd, const struct gpushare_share *s)
{
	if (cmd != GPUSHARE_SHARE_SET && cmd != GPUSHARE_SHARE_GET)
		return false;
	return s->size >= offsetof(struct gpushare_share, authority_fd) + sizeof(__s32) &&
	       !(s->flags & GPUSHARE_GET_NEXT);
}

static int socket_call(struct gs_transport *a, unsigned long cmd, void *arg)
{
	struct gpushare_share *share = arg;
	unsigned int none = 0;
	int err;

	if (!brings_files(cmd, arg))
		return exchange(a, cmd, arg, 0, NULL, 0, NULL, &none);
	err = call_with_files(a, cmd, arg);
	if ((err == -EPERM || err == -ENOENT) && cmd == GPUSHARE_SHARE_SET &&
	    share->cgroup_fd >= 0 && share->authority_fd < 0)
		prove(a, share, &err);
	return err;
}

static int socket_attach(struct gs_transport *a, struct gpushare_attach *attach,
			 const struct gs_pages *pages, uint64_t set)
{
	int files[GS_WIRE_FILES_MAX], err;
	unsigned int n = GS_WIRE_FILES_MAX;

	attach->set_fd = -1;
	err = exchange(a, GPUSHARE_ATTACH, attach, set, NULL, 0, files, &n);
	if (err)
		return err;
	if (n < 2) {
		close_files(files, n);
		return -EPROTO;
	}
	if (mmap(pages->grant, pages->length, PROT_READ, MAP_SHARED | MAP_FIXED, files[0], 0) ==
	    MAP_FAILED ||
	    mmap(pages->client, pages->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 files[1], 0) == MAP_FAILED) {
		err = -errno;
		close_files(files, n);
		return err;
	}
	close_files(files, 2);
	a->bell = n > 2 ? files[2] : -1;
	return 0;
}

static int send_quiet(struct gs_transport *a, unsigned long cmd, unsigned int flags)
{
	struct gs_wire head = { .magic = GS_WIRE_MAGIC, .flags = GS_WIRE_QUIET, .cmd = (__u32)cmd };
	struct gpushare_wait w = { .size = sizeof(w), .flags = flags | GPUSHARE_WAIT_NONBLOCK };

	int err = send_message(a, &head, &w, sizeof(w), NULL, 0);

	/* A daemon that has stopped reading is as good as none. */
	return err == -ETIMEDOUT ? -EPIPE : err;
}

/* Whoever calls is the only one to write this page's wish. */
static void write_wish(const struct gs_asked *of, uint32_t flags)
{
	uint64_t old = __atomic_load_n(&of->own->wish, __ATOMIC_RELAXED);
	uint32_t number = ((uint32_t)old & ~GS_WISH_FLAGS) + GS_WISH_NUMBER;

	__atomic_store_n(&of->own->wish,
			 of->epoch_back << GS_WISH_EPOCH_SHIFT | number | flags, __ATOMIC_RELEASE);
}

/* Fails only if somebody took the file away, or filled it. */
static int ring(struct gs_transport *a)
{
	uint64_t one = 1;

	return write(a->bell, &one, sizeof(one)) == sizeof(one) ? 0 : -EPIPE;
}

/*
 * The same wish was written before, and its request stands: there is nothing to say. If it
 * is granted and withdrawn meanwhile, read_answer() sees that by the epoch.
 */
static bool is_asked(const struct gs_asked *of)
{
	uint64_t wish = __atomic_load_n(&of->own->wish, __ATOMIC_RELAXED);

	return (wish & GS_WISH_FLAGS) == GS_WISH_WANT &&
	       wish >> GS_WISH_EPOCH_SHIFT == (uint32_t)of->epoch_back &&
	       __atomic_load_n(&of->page->word, __ATOMIC_ACQUIRE) & GPUSHARE_WAITING;
}

static int send_ask(struct gs_transport *a, const struct gs_ask *ask)
{
	unsigned int i = ask->n, any = ask->n > 1;

	if (a->bell >= 0 && !any && !ask->again && is_asked(&ask->of[0]))
		return 0;
	if (a->bell < 0)
		return send_quiet(a, ask->again ? GPUSHARE_YIELD : GPUSHARE_ACQUIRE,
				  (ask->again ? GPUSHARE_WAIT_AGAIN : 0) |
				  (any ? GPUSHARE_WAIT_ANY : 0));
	/* The asker's own last: by then the others' pages say what they gave back. */
	while (--i)
		write_wish(&ask->of[i], 0);
	write_wish(&ask->of[0], GS_WISH_WANT | (any ? GS_WISH_ANY : 0));
	return ring(a);
}

/* Sleeps until @wake isn't @seen any more, a point in time, or a signal. */
static void sleep_on(const uint32_t *wake, uint32_t seen, uint64_t until_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000),
	};

	syscall(SYS_futex, wake, FUTEX_WAIT_BITSET, seen,
		until_ns == GPUSHARE_FOREVER ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY);
}

/*
 * What a page says about a request: 0 or why it is over, -EAGAIN if it stands.
 * GRANTED with an epoch that wasn't given back is the answer. The epoch counts each
 * grant and each loss of one, so two more of them without a request standing are a
 * grant that came and went (for not being used in time) before we woke up: it has to
 * be asked anew.
 */
static int read_answer(const struct gs_asked *of)
{
	uint64_t word = __atomic_load_n(&of->page->word, __ATOMIC_ACQUIRE);

	if (gs_word_granted(word, of->epoch_back))
		return 0;
	if (word & GPUSHARE_GONE)
		return -ENODEV;
	if (!(word & (GPUSHARE_GRANTED | GPUSHARE_WAITING)) && gs_epoch(word) >= of->epoch + 2)
		return -EINTR;
	return __atomic_load_n(of->lost, __ATOMIC_ACQUIRE) ? -EPIPE : -EAGAIN;
}

/*
 * The answers stand on the pages. The daemon changes a page's word first, then
 * @wake, and the other way round here, so a change between the two ends the sleep
 * at once; whichever of a set is granted, the page that we sleep on changes as
 * well. That the daemon is gone changes nothing on a page: the watcher sets *lost
 * and wakes us until we have seen it.
 */
static int socket_ask(struct gs_transport *a, const struct gs_ask *ask)
{
	const uint32_t *wake = &ask->of[0].page->wake;
	unsigned int i;
	uint32_t seen;
	int err;

	for (i = 0; i < ask->n; i++)
		ask->of[i].epoch = gs_epoch(__atomic_load_n(&ask->of[i].page->word,
							    __ATOMIC_ACQUIRE));
	err = send_ask(a, ask);
	if (err)
		return err;
	for (;;) {
		seen = __atomic_load_n(wake, __ATOMIC_ACQUIRE);
		for (i = 0; i < ask->n; i++) {
			err = read_answer(&ask->of[i]);
			if (err != -EAGAIN)
				return err;
		}
		if (!ask->until_ns)
			return -EAGAIN;
		if (ask->until_ns != GPUSHARE_FOREVER && gs_now() >= ask->until_ns)
			return -ETIMEDOUT;
		sleep_on(wake, seen, ask->until_ns);
	}
}

static int socket_yield(struct gs_transport *a, const struct gs_asked *of)
{
	if (a->bell < 0)
		return send_quiet(a, GPUSHARE_YIELD, 0);
	write_wish(of, 0);
	return ring(a);
}

/* Sleeps until something can be read, so that a handler with SA_RESTART doesn't end it. */
static int sleep_for_answer(struct gs_transport *a)
{
	char c;
	int flags = fcntl(a->fd, F_GETFL);

	if (flags < 0 || fcntl(a->fd, F_SETFL, flags & ~O_NONBLOCK))
		return -errno;
	return recv(a->fd, &c, 1, MSG_PEEK) < 0 ? gone(-errno) : 0;
}

/*
 * The answer comes when the wait is over. To say that no more is sent takes it back: the
 * daemon then closes, or has answered before.
 */
static int socket_wait_memory(struct gs_transport *a, struct gpushare_memory *m, uint64_t client)
{
	struct gs_wire head = {
		.magic = GS_WIRE_MAGIC, .cmd = (__u32)GPUSHARE_MEMORY, .cookie = ++a->cookie,
		.set = client,
	};
	bool interrupted;
	unsigned int none;
	struct message in;
	ssize_t len;
	int err;

	err = send_message(a, &head, m, sizeof(*m), NULL, 0);
	if (err)
		return err;
	err = sleep_for_answer(a);
	interrupted = err == -EINTR;
	if (interrupted) {
		shutdown(a->fd, SHUT_WR);
		err = wait_for(a->fd, POLLIN, gs_now() + a->limit_ns);
	}
	if (err)
		return err;
	len = receive_message(a, &in, NULL, 0, &none);
	if (len < 0)
		return len == -EPIPE && interrupted ? -EINTR : (int)len;
	if (!(in.head.flags & GS_WIRE_REPLY) || in.head.cookie != head.cookie)
		return -EPROTO;
	memcpy(m, in.body, (size_t)len < sizeof(*m) ? (size_t)len : sizeof(*m));
	return in.head.result;
}

/* shutdown() ends the connection for a forked child's copy of the file too. */
static void socket_close(struct gs_transport *a, bool end)
{
	if (end)
		shutdown(a->fd, SHUT_RDWR);
	close(a->fd);
	a->fd = -1;
	if (a->bell >= 0)
		close(a->bell);
	a->bell = -1;
}

int gs_transport_next(struct gs_transport *a, struct gpushare_event *event)
{
	unsigned int none = 0;
	struct message m;
	ssize_t len;

	if (a->next_event == a->nr_events) {
		len = receive_message(a, &m, NULL, 0, &none);
		if (len == -EAGAIN)
			return 0;
		if (len < 0)
			return (int)len;
		if (!(m.head.flags & GS_WIRE_EVENT) || (size_t)len % sizeof(*event))
			return -EPROTO;
		if (!a->events)
			a->events = malloc(GS_WIRE_STRUCT_MAX);
		if (!a->events)
			return -ENOMEM;
		memcpy(a->events, m.body, (size_t)len);
		a->nr_events = (unsigned int)((size_t)len / sizeof(*event));
		a->next_event = 0;
		if (!a->nr_events)
			return 0;
	}
	*event = a->events[a->next_event++];
	return 1;
}

const struct gs_backend gs_backend_socket = {
	.open = socket_open,
	.call = socket_call,
	.attach = socket_attach,
	.ask = socket_ask,
	.yield = socket_yield,
	.wait_memory = socket_wait_memory,
	.close = socket_close,
	.can_die = true,
};
