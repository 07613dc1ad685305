// SPDX-License-Identifier: MIT
/*
 * The daemon behind the calls of tests/kselftest: a connection's number stands for the
 * open file that a client of the module has.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kselftest/lib.h"
#include "ulib/backend.h"

#define CONNECTIONS	4096

static struct connection {
	struct gs_transport t;
	struct gs_pages pages;
	uint64_t client;
	bool open;
} connections[CONNECTIONS];

/* What the module's tests close() is the connection's file: the number may come again. */
int arb_open(void)
{
	struct gs_transport t;
	struct connection *c;
	int err = gs_transport_connect(&t, getenv(GS_ARBITER_ENV), 0);

	if (err)
		return err;
	if (t.fd >= CONNECTIONS) {
		gs_transport_drop(&t, true);
		return -EMFILE;
	}
	t.features &= ~GPUSHARE_FEAT_BELL;	/* all is said by messages */
	c = &connections[t.fd];
	*c = (struct connection){ .t = t, .open = true };
	return t.fd;
}

static int attach(struct connection *c, struct gpushare_attach *a)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t set = 0;
	char *at;
	int err;

	/* The protocol names the other client of a set by its number. */
	if (a->set_fd >= 0) {
		if (a->set_fd >= CONNECTIONS || !connections[a->set_fd].client)
			return -EBADF;
		set = connections[a->set_fd].client;
	}
	at = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c->pages = (struct gs_pages){ (void *)at, (void *)(at + page), page };
	err = c->t.ops->attach(&c->t, a, &c->pages, set);
	if (!err)
		c->client = a->client;
	return err;
}

int arb_call(int fd, unsigned long cmd, void *arg)
{
	struct connection *c = &connections[fd];

	if (fd < 0 || fd >= CONNECTIONS || !c->open)
		return -EBADF;
	c->t.limit_ns = cmd == GPUSHARE_ACQUIRE || cmd == GPUSHARE_YIELD ? UINT64_MAX / 4 :
		GS_CALL_LIMIT_NS;
	return cmd == GPUSHARE_ATTACH ? attach(c, arg) : gs_transport_call(&c->t, cmd, arg);
}

void *arb_map(int fd, uint64_t offset, int prot)
{
	struct connection *c = &connections[fd];

	(void)prot;
	if (!c->client)
		return NULL;
	return offset == GPUSHARE_OFF_GRANT ? (void *)c->pages.grant : (void *)c->pages.client;
}

bool arb_is_module(void)
{
	return false;
}
