// SPDX-License-Identifier: MIT
/*
 * The module's device node. A command is an ioctl, the pages are mappings of
 * the file, and the wait is the blocking call itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend.h"

static int kernel_open(struct gs_transport *a)
{
	a->fd = open(a->path, O_RDWR | O_CLOEXEC);
	return a->fd < 0 ? -errno : 0;
}

static int kernel_call(struct gs_transport *a, unsigned long cmd, void *arg)
{
	return ioctl(a->fd, cmd, arg) ? -errno : 0;
}

static int kernel_attach(struct gs_transport *a, struct gpushare_attach *attach,
			 const struct gs_pages *pages, uint64_t set)
{
	int err;

	(void)set;	/* its file says it */
	err = kernel_call(a, GPUSHARE_ATTACH, attach);
	if (err)
		return err;
	if (mmap(pages->grant, pages->length, PROT_READ, MAP_SHARED | MAP_FIXED, a->fd,
		 (off_t)GPUSHARE_OFF_GRANT) == MAP_FAILED ||
	    mmap(pages->client, pages->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 a->fd, (off_t)GPUSHARE_OFF_CLIENT) == MAP_FAILED)
		return -errno;
	return 0;
}

static int kernel_ask(struct gs_transport *a, const struct gs_ask *ask)
{
	struct gpushare_wait w = {
		.size = sizeof(w),
		.flags = (ask->until_ns ? 0 : GPUSHARE_WAIT_NONBLOCK) |
			 (ask->again ? GPUSHARE_WAIT_AGAIN : 0) |
			 (ask->n > 1 ? GPUSHARE_WAIT_ANY : 0),
		.until_ns = ask->until_ns,
	};

	return kernel_call(a, ask->again ? GPUSHARE_YIELD : GPUSHARE_ACQUIRE, &w);
}

static int kernel_yield(struct gs_transport *a, const struct gs_asked *of)
{
	struct gpushare_wait w = { .size = sizeof(w), .flags = GPUSHARE_WAIT_NONBLOCK };

	(void)of;
	return kernel_call(a, GPUSHARE_YIELD, &w);
}

static int kernel_wait_memory(struct gs_transport *a, struct gpushare_memory *m, uint64_t client)
{
	(void)client;
	return kernel_call(a, GPUSHARE_MEMORY, m);
}

static void kernel_close(struct gs_transport *a, bool end)
{
	if (end)
		ioctl(a->fd, GPUSHARE_DETACH);
	close(a->fd);
	a->fd = -1;
}

const struct gs_backend gs_backend_kernel = {
	.open = kernel_open,
	.call = kernel_call,
	.attach = kernel_attach,
	.ask = kernel_ask,
	.yield = kernel_yield,
	.wait_memory = kernel_wait_memory,
	.close = kernel_close,
};
