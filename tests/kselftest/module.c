// SPDX-License-Identifier: MIT
/* The module behind the tests' calls. */
#include <sys/ioctl.h>
#include "lib.h"

int arb_open(void)
{
	int fd = open("/dev/gpushare", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int arb_call(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

void *arb_map(int fd, uint64_t offset, int prot)
{
	void *p = mmap(NULL, sysconf(_SC_PAGESIZE), prot, MAP_SHARED, fd, offset);

	return p == MAP_FAILED ? NULL : p;
}

int arb_poll(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, ms) == 1 ? p.revents : 0;
}

bool arb_is_module(void)
{
	return true;
}
