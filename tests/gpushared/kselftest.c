// SPDX-License-Identifier: MIT
/*
 * The daemon behind the calls of tests/kselftest: a connection's number stands for the
 * open file that a client of the module has.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/kselftest/lib.h"
#include "ulib/backend.h"

#define CONNECTIONS	4096

static struct connection {
	struct gs_transport t;
	pthread_mutex_t lock;		/* one command at a time: threads take turns */
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
	*c = (struct connection){ .t = t, .lock = PTHREAD_MUTEX_INITIALIZER, .open = true };
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
	int err;

	if (fd < 0 || fd >= CONNECTIONS || !c->open)
		return -EBADF;
	pthread_mutex_lock(&c->lock);
	c->t.limit_ns = cmd == GPUSHARE_ACQUIRE || cmd == GPUSHARE_YIELD ? UINT64_MAX / 4 :
		GS_CALL_LIMIT_NS;
	err = cmd == GPUSHARE_ATTACH ? attach(c, arg) : gs_transport_call(&c->t, cmd, arg);
	pthread_mutex_unlock(&c->lock);
	/* A client whose process has ended took its connection along. */
	return err == -EPIPE && c->client ? -ENOTCONN : err;
}

void *arb_map(int fd, uint64_t offset, int prot)
{
	struct connection *c = &connections[fd];

	(void)prot;
	if (!c->client)
		return NULL;
	return offset == GPUSHARE_OFF_GRANT ? (void *)c->pages.grant : (void *)c->pages.client;
}

/* What the pages say of @events: the header's words on poll(). */
static int told(const struct connection *c, short events)
{
	uint64_t word = __atomic_load_n(&c->pages.grant->word, __ATOMIC_ACQUIRE);
	int got = 0;

	if (word & GPUSHARE_GRANTED)
		got |= POLLIN;
	if (word & (GPUSHARE_EVICT | GPUSHARE_PREPARE) ||
	    (word & GPUSHARE_PREEMPT && c->pages.client->idle_ns))
		got |= POLLPRI;
	return (got & events) | (word & GPUSHARE_GONE ? POLLERR | POLLHUP : 0);
}

/* Sleeps on the page. It is only looked at again when that has woken us up. */
int arb_poll(int fd, short events, int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };
	struct connection *c = &connections[fd];
	uint32_t seen;
	int got;

	if (!c->client)
		return POLLERR;
	for (;;) {
		seen = __atomic_load_n(&c->pages.grant->wake, __ATOMIC_ACQUIRE);
		got = told(c, events);
		if (got || !ms)
			return got;
		if (syscall(SYS_futex, &c->pages.grant->wake, FUTEX_WAIT, seen, &left, NULL, 0) &&
		    errno == ETIMEDOUT)
			return 0;
	}
}

bool arb_is_module(void)
{
	return false;
}
