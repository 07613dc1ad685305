// SPDX-License-Identifier: MIT
/*
 * Where the daemon listens, and that it is the only one there.
 *
 * Two arbiters would grant a device twice and overwrite each other's state. So,
 * however it is started, it first locks a file beside its socket and one beside its
 * state; the locks end with it, however that ends. Nothing is touched before.
 *
 * A lock alone isn't enough: what cleans /tmp may remove its file, and systemd
 * listens without one until the first caller comes. So a socket is taken over only
 * if nobody answers there, and is removed at the end only if it is still our own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpushared.h"

#define BACKLOG		1024
#define FIRST_PASSED	3	/* of the files that systemd passes */
#define EXIT_CANT	1

static struct sockaddr_un addr = { .sun_family = AF_UNIX };
static bool passed;
static dev_t own_dev;		/* the socket that we made */
static ino_t own_ino;
static int socket_lock = -1, state_lock = -1;

/* One socket, made by systemd, which also keeps callers waiting while we restart. */
static bool take_passed(int *listener)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	struct sockaddr_un its;
	socklen_t len = sizeof(int);
	int type = 0;

	if (!pid || !fds || atoi(pid) != getpid() || atoi(fds) < 1)
		return false;
	if (getsockopt(FIRST_PASSED, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_SEQPACKET) {
		say("the socket passed by LISTEN_FDS isn't of type SOCK_SEQPACKET");
		return false;
	}
	fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC);
	*listener = FIRST_PASSED;
	/* The lock is beside the socket that it is, whatever --socket says. */
	len = sizeof(its) - 1;
	memset(&its, 0, sizeof(its));
	if (!getsockname(FIRST_PASSED, (struct sockaddr *)&its, &len) && its.sun_path[0] == '/')
		addr = its;
	passed = true;
	return true;
}

static void write_pid(int lock, pid_t pid)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", pid);

	if (ftruncate(lock, 0) || pwrite(lock, text, (size_t)n, 0) != n)
		say("%s.lock: %s", addr.sun_path, strerror(errno));
}

/* So that people find the process; the lock is what counts. */
void place_tell_pid(pid_t pid)
{
	write_pid(socket_lock, pid);
	if (state_lock >= 0)
		write_pid(state_lock, pid);
}

static pid_t read_pid(int lock)
{
	char text[16] = "";

	return pread(lock, text, sizeof(text) - 1, 0) > 0 ? (pid_t)atoi(text) : 0;
}

/* Is it still the file that has this name? */
static bool is_there(int fd, const char *path)
{
	struct stat a, b;

	return !fstat(fd, &a) && !lstat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* -EWOULDBLOCK: another one has it, whose process is *@other. */
static int try_lock(const char *of, int *lock, pid_t *other)
{
	char path[4200];
	int fd, err;

	*other = 0;
	snprintf(path, sizeof(path), "%s.lock", of);
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0) {
			err = -errno;
			say("%s: %s", path, strerror(errno));
			return err;
		}
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			err = -errno;
			*other = err == -EWOULDBLOCK ? read_pid(fd) : 0;
			if (err != -EWOULDBLOCK)
				say("%s: %s", path, strerror(-err));
			close(fd);
			return err;
		}
		if (is_there(fd, path))
			break;
		close(fd);	/* removed between the two steps */
	}
	*lock = fd;
	write_pid(fd, getpid());
	return 0;
}

static bool is_alive(pid_t pid)
{
	struct pollfd p = { .events = POLLIN };
	bool alive;

	if (pid <= 0)
		return false;
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p.fd < 0)
		return false;
	alive = !poll(&p, 1, 0);
	close(p.fd);
	return alive;
}

/* Of one that has just been killed the keeper gives the locks back, which may take a moment. */
static int take_lock(const char *of, int *lock, pid_t *other)
{
	int i, err = try_lock(of, lock, other);

	for (i = 0; i < 500 && err == -EWOULDBLOCK && !is_alive(*other); i++) {
		usleep(10000);
		err = try_lock(of, lock, other);
	}
	return err;
}

/* Does somebody listen on our socket's path? */
static bool somebody_listens(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return false;
	yes = !connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	      (errno != ECONNREFUSED && errno != ENOENT);
	close(fd);
	return yes;
}

/* A socket takes callers before its daemon serves them. */
static bool other_answers(void)
{
	struct {
		struct gs_wire head;
		struct gpushare_version version;
	} m = {
		{ .magic = GS_WIRE_MAGIC, .cmd = GPUSHARE_VERSION },
		{ .size = sizeof(m.version) },
	};
	struct pollfd p = { .events = POLLIN };
	bool answers = false;

	p.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p.fd < 0)
		return false;
	if (connect(p.fd, (struct sockaddr *)&addr, sizeof(addr)))
		answers = errno == EAGAIN;	/* it has many callers */
	else if (send(p.fd, &m, sizeof(m), MSG_NOSIGNAL) == sizeof(m) && poll(&p, 1, 1000) == 1)
		answers = recv(p.fd, &m, sizeof(m), 0) > 0;
	close(p.fd);
	return answers;
}

/*
 * Another one was quicker. A program that started us for itself goes on with that, as
 * soon as it listens.
 */
static int leave_it_to(pid_t other, bool wait)
{
	int i;

	for (i = 0; wait && i < 500 && !other_answers(); i++)
		usleep(10000);
	if (other && d.system)
		say("%s: gpushared is there already, process %d; to replace it, end that first: "
		    "kill %d, or systemctl stop gpushared.service gpushared.socket", addr.sun_path,
		    other, other);
	else if (other)
		say("%s: gpushared is there already, process %d; to replace it, kill %d",
		    addr.sun_path, other, other);
	else
		say("%s: somebody else listens there; systemctl start gpushared.service if that is "
		    "systemd for gpushared.socket, or stop that first, or name another --socket",
		    addr.sun_path);
	return GS_DAEMON_THERE;
}

/* What is left of one that has just ended lets go of its socket in a moment. */
static bool somebody_stays(void)
{
	int i;

	for (i = 0; i < 100 && somebody_listens(); i++)
		usleep(10000);
	return i == 100;
}

static int make_socket(int *listener)
{
	struct stat st;
	mode_t old;
	int err;

	if (!lstat(addr.sun_path, &st)) {
		if (!S_ISSOCK(st.st_mode)) {
			say("%s: is there and is no socket; name another --socket", addr.sun_path);
			return EXIT_CANT;
		}
		if (somebody_stays())
			return leave_it_to(0, false);
		unlink(addr.sun_path);
	}
	*listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	old = umask(d.system ? 0111 : 0177);	/* whoever may connect is asked who it is */
	err = *listener < 0 || bind(*listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	      lstat(addr.sun_path, &st) ? -errno : 0;
	umask(old);
	if (!err) {
		own_dev = st.st_dev;
		own_ino = st.st_ino;
		err = listen(*listener, BACKLOG) ? -errno : 0;
	}
	if (!err)
		return 0;
	say("%s: %s", addr.sun_path, strerror(-err));
	return EXIT_CANT;
}

/* 0, or the status to exit with, after the reason was said. */
int place_take(const char *socket_path, bool wait, int *listener)
{
	pid_t other;
	int err;

	strcpy(addr.sun_path, socket_path);
	take_passed(listener);
	err = take_lock(addr.sun_path, &socket_lock, &other);
	if (err)
		return err == -EWOULDBLOCK ? leave_it_to(other, wait) : EXIT_CANT;
	if (d.state_path) {
		err = take_lock(d.state_path, &state_lock, &other);
		if (err == -EWOULDBLOCK)
			say("%s: kept by another gpushared, process %d; end that first, or name "
			    "another --state", d.state_path, other);
		if (err == -EWOULDBLOCK || err == -ELOOP)
			return err == -ELOOP ? EXIT_CANT : GS_DAEMON_THERE;
		/* Where no file can be made, no state is written either, which the log says. */
	}
	return passed ? 0 : make_socket(listener);
}

/* What isn't ours to end; or -1. */
int place_passed_socket(void)
{
	return passed ? FIRST_PASSED : -1;
}

/* Nobody finds the socket any more; systemd's stays, as do others' by this name. */
void place_leave(int listener)
{
	struct stat st;

	if (passed)
		return;
	if (!lstat(addr.sun_path, &st) && st.st_dev == own_dev && st.st_ino == own_ino)
		unlink(addr.sun_path);
	shutdown(listener, SHUT_RDWR);
}

/* When all is done: the keeper has them open, too. */
void place_unlock(void)
{
	flock(socket_lock, LOCK_UN);
	if (state_lock >= 0)
		flock(state_lock, LOCK_UN);
}
