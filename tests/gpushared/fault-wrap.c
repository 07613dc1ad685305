// SPDX-License-Identifier: MIT
/*
 * Linked into a daemon of the tests' own (--wrap): what asks the system for something
 * fails once, the time that the test has chosen, in whichever of its processes that is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <poll.h>
#include <pthread.h>

#include "fault-wrap.h"

static struct faults *page;

static bool fails(const char *what, int err)
{
	if (!page || !page->nth ||
	    __atomic_add_fetch(&page->count, 1, __ATOMIC_SEQ_CST) != page->nth)
		return false;
	strncpy((char *)page->what, what, sizeof(page->what) - 1);
	page->hits++;
	errno = err;
	return true;
}

int __real_open(const char *path, int flags, ...);

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("GPUSHARE_FAULTS");
	int fd = path ? __real_open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd >= 0)
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		abort();
}

/* TYPE NAME(PARAMETERS), which calls with ARGUMENTS, and fails by BAD with ERR. */
#define WRAP(type, name, parameters, arguments, bad, err)	\
	type __real_##name parameters;				\
	type __wrap_##name parameters;				\
	type __wrap_##name parameters				\
	{							\
		if (fails(#name, err))				\
			return bad;				\
		return __real_##name arguments;			\
	}

WRAP(void *, malloc, (size_t n), (n), NULL, ENOMEM)
WRAP(void *, calloc, (size_t n, size_t m), (n, m), NULL, ENOMEM)
WRAP(void *, realloc, (void *p, size_t n), (p, n), NULL, ENOMEM)
WRAP(char *, strdup, (const char *s), (s), NULL, ENOMEM)
WRAP(FILE *, open_memstream, (char **p, size_t *n), (p, n), NULL, ENOMEM)
WRAP(FILE *, fopen, (const char *p, const char *m), (p, m), NULL, EMFILE)
WRAP(int, fclose, (FILE *f), (f), (__real_fclose(f), errno = ENOSPC, EOF), ENOSPC)
WRAP(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int f), (fd, a, n, f), -1, EMFILE)
WRAP(int, memfd_create, (const char *n, unsigned int f), (n, f), -1, ENFILE)
WRAP(int, ftruncate, (int fd, off_t n), (fd, n), -1, ENOSPC)
WRAP(void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o),
     MAP_FAILED, ENOMEM)
WRAP(int, eventfd, (unsigned int n, int f), (n, f), -1, EMFILE)
WRAP(int, epoll_create1, (int f), (f), -1, EMFILE)
WRAP(int, epoll_pwait2, (int fd, struct epoll_event *e, int n, const struct timespec *t,
      const sigset_t *s),
     (fd, e, n, t, s), -1, EINTR)
WRAP(int, socket, (int d, int t, int p), (d, t, p), -1, EMFILE)
WRAP(int, socketpair, (int d, int t, int p, int *v), (d, t, p, v), -1, EMFILE)
WRAP(int, getsockopt, (int fd, int l, int o, void *v, socklen_t *n), (fd, l, o, v, n), -1, ENOBUFS)
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *m, int f), (fd, m, f), -1, ENOMEM)
WRAP(ssize_t, recv, (int fd, void *p, size_t n, int f), (fd, p, n, f), -1, EINTR)
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f), -1, ENOBUFS)
WRAP(ssize_t, send, (int fd, const void *p, size_t n, int f), (fd, p, n, f), -1, ENOBUFS)
WRAP(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), -1, EINTR)
WRAP(ssize_t, pread, (int fd, void *p, size_t n, off_t o), (fd, p, n, o), -1, ENOMEM)
WRAP(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), -1, ENOSPC)
WRAP(int, fsync, (int fd), (fd), -1, EIO)
WRAP(int, rename, (const char *a, const char *b), (a, b), -1, ENOSPC)
WRAP(int, fstatat, (int fd, const char *p, struct stat *s, int f), (fd, p, s, f), -1, ENOMEM)
WRAP(int, poll, (struct pollfd *p, nfds_t n, int t), (p, n, t), -1, EINTR)
WRAP(int, pthread_create, (pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p),
     (t, a, f, p), EAGAIN, EAGAIN)

int __real_epoll_ctl(int fd, int op, int of, struct epoll_event *e);
int __wrap_epoll_ctl(int fd, int op, int of, struct epoll_event *e);

int __wrap_epoll_ctl(int fd, int op, int of, struct epoll_event *e)
{
	if (op == EPOLL_CTL_ADD && fails("epoll_ctl", ENOSPC))
		return -1;
	return __real_epoll_ctl(fd, op, of, e);
}

int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	int mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, int);
	va_end(ap);
	return fails("open", EMFILE) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);

int __wrap_openat(int fd, const char *path, int flags, ...)
{
	return fails("openat", EMFILE) ? -1 : __real_openat(fd, path, flags);
}

int __real_fcntl(int fd, int cmd, ...);
int __wrap_fcntl(int fd, int cmd, ...);

int __wrap_fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return fails("fcntl", ENOMEM) ? -1 : __real_fcntl(fd, cmd, arg);
}

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

long __wrap_syscall(long nr, ...)
{
	long a[6];
	va_list ap;
	int i;

	va_start(ap, nr);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (nr != SYS_futex && nr != SYS_pidfd_send_signal && fails("syscall", ENOMEM))
		return -1;
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
