// SPDX-License-Identifier: MIT
/*
 * The background thread: one a process, only while a handle of it is on an
 * arbiter that may die, or has none and wants one back. It sleeps until the
 * connection hangs up or the next try is due.
 *
 * Everything about it lies in a page that is wiped in a forked child, which so
 * has no thread and no list. Signals are the program's, so all are blocked here.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"
#include "glibc.h"

GS_OLD(pthread_create);
GS_OLD(pthread_join);
GS_OLD(pthread_attr_setstacksize);

#define WATCHER_STACK	(256 * 1024)
#define RETRY_FIRST_NS	100000000ull
#define RETRY_LAST_NS	5000000000ull
#define SAY_EVERY_NS	60000000000ull

struct gs_process {
	struct gs_once launches;	/* launches.c's */
	pthread_mutex_t sets;		/* protects the rings, and who can be joined */
	pthread_mutex_t lock;		/* protects what follows */
	struct gs_client *first;
	pthread_t thread;
	bool running;
	bool stop;
	int epoll, kick;
	uint64_t said_ns;
};

static struct gs_process *the_process;

/* Made once, and never given back: it is a page that each child finds empty. */
static struct gs_process *process(void)
{
	struct gs_process *p = __atomic_load_n(&the_process, __ATOMIC_ACQUIRE), *none = NULL;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (p)
		return p;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, size, MADV_WIPEONFORK) ||
	    !__atomic_compare_exchange_n(&the_process, &none, p, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		munmap(p, size);
		return none;
	}
	return p;
}

struct gs_once *gs_process_launches(void)
{
	struct gs_process *p = process();

	return p ? &p->launches : NULL;
}

bool gs_sets_lock(void)
{
	struct gs_process *p = process();

	if (p)
		pthread_mutex_lock(&p->sets);
	return p;
}

void gs_sets_unlock(void)
{
	pthread_mutex_unlock(&process()->sets);
}

/* One line about going ungated in a while is enough, whatever flaps. */
bool gs_process_may_say(void)
{
	struct gs_process *p = process();
	uint64_t now = gs_now(), last;

	if (!p)
		return true;
	last = __atomic_load_n(&p->said_ns, __ATOMIC_RELAXED);
	if (last && now - last < SAY_EVERY_NS)
		return false;
	return __atomic_compare_exchange_n(&p->said_ns, &last, now, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

/* The arbiter has gone. */
static void lose(struct gs_client *client)
{
	pthread_mutex_lock(&client->gate->lock);
	gs_lose(client, -EPIPE);
	pthread_mutex_unlock(&client->gate->lock);
}

static void watch_file(struct gs_process *p, struct gs_client *client)
{
	struct epoll_event ev = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = client };

	if (client->gate->arbiter.ops->can_die)
		epoll_ctl(p->epoll, EPOLL_CTL_ADD, client->gate->arbiter.fd, &ev);
}

static void retry(struct gs_process *p, struct gs_client *client)
{
	struct gs_gate *gate = client->gate;

	pthread_mutex_lock(&gate->lock);
	if (gs_connect(client, true)) {
		gate->delay_ns = gate->delay_ns ? gate->delay_ns * 2 : RETRY_FIRST_NS;
		if (gate->delay_ns > RETRY_LAST_NS)
			gate->delay_ns = RETRY_LAST_NS;
		gate->retry_ns = gs_now() + gate->delay_ns;
	} else {
		watch_file(p, client);
	}
	pthread_mutex_unlock(&gate->lock);
}

/* Tries what is due; returns when the next is, in milliseconds, -1 for never. */
static int retry_all(struct gs_process *p)
{
	uint64_t next = GPUSHARE_FOREVER, at;
	struct gs_client *c;
	bool gated;

	for (c = p->first; c; c = c->gate->next) {
		pthread_mutex_lock(&c->gate->lock);
		gated = c->gate->gated;
		at = c->gate->retry_ns;
		pthread_mutex_unlock(&c->gate->lock);
		if (!gated && at <= gs_now()) {
			retry(p, c);
			pthread_mutex_lock(&c->gate->lock);
			gated = c->gate->gated;
			at = c->gate->retry_ns;
			pthread_mutex_unlock(&c->gate->lock);
		}
		if (!gated && at < next)
			next = at;
	}
	return gs_ms_until(next);
}

static bool still_there(const struct gs_process *p, const struct gs_client *client)
{
	const struct gs_client *c;

	for (c = p->first; c; c = c->gate->next)
		if (c == client)
			return true;
	return false;
}

static void *watch(void *arg)
{
	struct gs_process *p = arg;
	struct epoll_event ev[16];
	struct gs_client *c;
	eventfd_t count;
	int i, n, ms;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		ms = retry_all(p);
		pthread_mutex_unlock(&p->lock);
		n = epoll_wait(p->epoll, ev, 16, ms);
		pthread_mutex_lock(&p->lock);
		for (i = 0; i < n && !p->stop; i++) {
			c = ev[i].data.ptr;
			if (!c)
				eventfd_read(p->kick, &count);
			else if (still_there(p, c))
				lose(c);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void set_running(struct gs_process *p, bool running)
{
	__atomic_store_n(&p->running, running, __ATOMIC_RELEASE);
}

static int start(struct gs_process *p)
{
	struct epoll_event ev = { .events = EPOLLIN };
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	p->stop = false;
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->epoll < 0 || p->kick < 0 || epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->kick, &ev)) {
		err = errno;
	} else {
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, WATCHER_STACK);
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, &old);
		err = pthread_create(&p->thread, &attr, watch, p);
		if (err == EINVAL)
			err = pthread_create(&p->thread, NULL, watch, p);
		sigprocmask(SIG_SETMASK, &old, NULL);
		pthread_attr_destroy(&attr);
	}
	if (err) {
		if (p->epoll >= 0)
			close(p->epoll);
		if (p->kick >= 0)
			close(p->kick);
		return -err;
	}
	set_running(p, true);
	return 0;
}

/* Idempotent. Called before gate->lock is taken. */
int gs_watch(struct gs_client *client)
{
	struct gs_process *p = process();
	struct gs_gate *gate = client->gate;
	int err = 0;

	if (!p)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	if (!p->running)
		err = start(p);
	if (!err) {
		pthread_mutex_lock(&gate->lock);
		if (!gate->watched) {
			gate->prev = NULL;
			gate->next = p->first;
			if (p->first)
				p->first->gate->prev = client;
			p->first = client;
			gate->watched = true;
			if (gate->gated)
				watch_file(p, client);
		}
		pthread_mutex_unlock(&gate->lock);
		eventfd_write(p->kick, 1);
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

/* The last one out ends the thread, so that the library may be unloaded. */
void gs_unwatch(struct gs_client *client)
{
	struct gs_process *p = process();
	struct gs_gate *gate = client->gate;
	pthread_t thread;
	bool end;

	if (!p || !gate->watched)
		return;
	pthread_mutex_lock(&p->lock);
	if (gate->prev)
		gate->prev->gate->next = gate->next;
	else
		p->first = gate->next;
	if (gate->next)
		gate->next->gate->prev = gate->prev;
	gate->watched = false;
	end = !p->first && p->running && !p->stop;
	if (end) {
		p->stop = true;
		thread = p->thread;
		eventfd_write(p->kick, 1);
	}
	pthread_mutex_unlock(&p->lock);
	if (!end)
		return;
	pthread_join(thread, NULL);
	pthread_mutex_lock(&p->lock);
	close(p->epoll);
	close(p->kick);
	set_running(p, false);
	if (p->first)		/* one came while the thread went */
		start(p);
	pthread_mutex_unlock(&p->lock);
}

/* A gate went ungated: the watcher is to look when it should try again. */
void gs_watcher_kick(void)
{
	struct gs_process *p = process();

	if (p && __atomic_load_n(&p->running, __ATOMIC_ACQUIRE))
		eventfd_write(p->kick, 1);
}
