// SPDX-License-Identifier: MIT
/*
 * Clients: their pages, asking, waiting, memory.
 *
 * The grant page is sealed against resizing and against every writable mapping
 * but ours, which is made before; the client's page against resizing, or it
 * could kill us by taking away what we read. We map that one for reading only,
 * and what stands there is a hint for the core and numbers for statistics.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpushared.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#define CHECK_CGROUP_NS	1000000000ull
#define CHECK_AT_ONCE	50
#define CHECK_PAUSE_NS	20000000ull

_Static_assert((int)GS_GRANTED == GPUSHARE_GRANTED && (int)GS_PREEMPT == GPUSHARE_PREEMPT &&
	       (int)GS_PREPARE == GPUSHARE_PREPARE && (int)GS_EVICT == GPUSHARE_EVICT,
	       "the core's flags are the page's");

static void wait_expired(struct source *s, uint32_t events);
static void check_groups(struct source *s, uint32_t events);
static struct source wait_timer = { .fd = -1, .ready = wait_expired };
static struct source check_timer = { .fd = -1, .ready = check_groups };
static bool check_armed, check_idle;

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct client *client_find(uint64_t id)
{
	struct client *c;

	list_for_each_entry(c, &d.clients, link)
		if (c->core.id == id)
			return c;
	return NULL;
}

/* The list is in the order of ids, as they only grow. */
struct client *client_next(uint64_t id)
{
	struct client *c;

	list_for_each_entry(c, &d.clients, link)
		if (c->core.id > id)
			return c;
	return NULL;
}

static uint64_t client_word(const struct client *c)
{
	uint64_t flags = c->core.flags & (GS_GRANTED | GS_PREEMPT | GS_PREPARE | GS_EVICT);

	if (c->core.state == GS_CLIENT_WAITING)
		flags |= GPUSHARE_WAITING;
	if (c->core.state == GS_CLIENT_GONE)
		flags |= GPUSHARE_GONE;
	return c->core.epoch << GPUSHARE_EPOCH_SHIFT | flags;
}

/* Is it one of those whose own request is being handled? */
bool client_acts(const struct client *c)
{
	const struct client *i = d.acting;

	if (!i || !d.acting_any)
		return i == c;
	do {
		if (i == c)
			return true;
		i = i->set;
	} while (i != d.acting);
	return false;
}

static void wake(const struct client *c)
{
	syscall(SYS_futex, &c->grant->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Brings the page up to date; says whether anything changed on it. The client
 * reads without a lock: PREEMPT's own word before the flag, what @seq guards
 * between its two steps, the word last, and then whoever sleeps on it.
 */
bool client_show(struct client *c)
{
	struct gpushare_grant_page *g = c->grant;
	struct gs_device *dev = c->core.dev;
	uint64_t word = client_word(c), old = g->word, holder = 0;
	bool granted = word & GPUSHARE_GRANTED;

	if (dev && !list_empty(&dev->holders))
		holder = list_first_entry(&dev->holders, struct gs_client, of_device)->id;
	if (granted && old >> GPUSHARE_EPOCH_SHIFT != c->core.epoch)
		c->granted_ns = now_ns();
	if (word == old && g->deadline_ns == (granted ? c->core.deadline : 0) &&
	    g->waiters == c->core.waiters && g->workers == c->core.workers)
		return false;
	__atomic_store_n(&g->preempt, !!(word & GPUSHARE_PREEMPT), __ATOMIC_RELEASE);
	__atomic_store_n(&g->seq, g->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&g->workers, c->core.workers, __ATOMIC_RELAXED);
	__atomic_store_n(&g->granted_ns, granted ? c->granted_ns : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&g->deadline_ns, granted ? c->core.deadline : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&g->slice_ns, c->core.slice, __ATOMIC_RELAXED);
	__atomic_store_n(&g->linger_ns, dev ? dev->conf.linger : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&g->waiters, c->core.waiters, __ATOMIC_RELAXED);
	__atomic_store_n(&g->holder, holder, __ATOMIC_RELAXED);
	__atomic_store_n(&g->seq, g->seq + 1, __ATOMIC_RELEASE);
	if (word == old)
		return true;
	__atomic_store_n(&g->word, word, __ATOMIC_RELEASE);
	__atomic_store_n(&g->wake, g->wake + 1, __ATOMIC_RELEASE);
	/*
	 * Who has just given it back is awake. Who holds need not be: a thread may
	 * sleep until it is asked back, while the device works.
	 */
	if (granted || (word & GPUSHARE_GONE) || ((old & GPUSHARE_GRANTED) && !client_acts(c)))
		wake(c);
	return true;
}

static int make_page(const char *name, int prot, unsigned int seals, void **at, int *file)
{
	int fd, err;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	*at = MAP_FAILED;
	if (!ftruncate(fd, (off_t)page_size()))
		*at = mmap(NULL, page_size(), prot, MAP_SHARED, fd, 0);
	if (*at != MAP_FAILED && !fcntl(fd, F_ADD_SEALS, seals)) {
		*file = fd;
		return 0;
	}
	err = -errno;
	if (*at != MAP_FAILED)
		munmap(*at, page_size());
	close(fd);
	return err;
}

static int make_pages(struct client *c, int files[2])
{
	unsigned int fixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	void *grant, *page;
	int err;

	err = make_page("gpushare-grant", PROT_READ | PROT_WRITE, fixed | F_SEAL_FUTURE_WRITE,
			&grant, &files[0]);
	if (err)
		return err;
	err = make_page("gpushare-client", PROT_READ, fixed, &page, &files[1]);
	if (err) {
		munmap(grant, page_size());
		close(files[0]);
		return err;
	}
	c->grant = grant;
	c->page = page;
	c->grant->version = GPUSHARE_PAGE_VERSION;
	c->grant->size = sizeof(*c->grant);
	return 0;
}

static int find_group(struct peer *p, uint64_t id, struct group **group, bool *named)
{
	struct group *g, *place;
	int err = group_of_peer(p, &place);

	*named = id;
	*group = place;
	if (err || !id)
		return err;
	*group = g = group_find(id);
	if (!g || !g->named)
		err = -EINVAL;
	else if (!p->admin && (g->uid != p->uid || g->node->parent != place->node))
		err = -EPERM;
	group_drop_if_unused(place);
	return err;
}

/* Of the same process, on another device than any of the set. */
static int find_set(struct peer *p, uint64_t id, const struct device *dev, struct client **set)
{
	struct client *c, *first;
	int n = 1;

	*set = NULL;
	if (!id)
		return 0;
	first = client_find(id);
	if (!first || first->peer->pid != p->pid)
		return -EBADF;
	for (c = first; ; c = c->set, n++) {
		if (c->device == dev)
			return -EBADF;
		if (n >= GS_ANY_MAX)
			return -EUSERS;
		if (c->set == first)
			break;
	}
	*set = first;
	return 0;
}

static struct client *client_new(struct peer *p, struct device *dev, struct group *g, bool named)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->peer = p;
	c->device = dev;
	c->group = g;
	c->named = named;
	c->set = c;
	c->core.priv = c;
	INIT_LIST_HEAD(&c->changed);
	INIT_LIST_HEAD(&c->wait_link);
	memcpy(c->comm, p->comm, sizeof(c->comm));
	return c;
}

static int client_add(struct client *c, struct client *set)
{
	uint64_t now = now_ns();
	int err;

	err = group_nodes(c->group, c->device);
	if (err)
		return err;
	err = gs_client_add(&c->core, d.next_client, c->group->node, &c->device->core, now);
	if (err)
		return err;
	c->core.priv = c;
	d.next_client++;
	c->grant->client = c->core.id;
	c->grant->device = (uint32_t)c->device->core.id;
	list_add_tail(&c->link, &d.clients);
	c->device->nr_clients++;
	c->group->keep++;
	c->peer->client = c;
	if (set) {
		c->set = set->set;
		set->set = c;
	}
	client_show(c);
	return 0;
}

static int attach(struct client *c, struct client *set, struct message *m, uint32_t given)
{
	struct gpushare_attach *u = &m->attach;
	int files[GS_WIRE_FILES_MAX], err;
	struct peer *p = c->peer;
	unsigned int n = 2;

	err = make_pages(c, files);
	if (err)
		return err;
	err = client_add(c, set);
	if (!err) {
		u->device = (uint32_t)c->device->core.id;
		u->client = c->core.id;
		memcpy(u->key, c->device->info.key, sizeof(u->key));
		if (m->head.flags & GS_WIRE_BELL && !bell_hang(p))
			files[n++] = p->bell.fd;
		peer_reply(p, &m->head, 0, m->bytes, given, files, n);
		err = LATER;
	} else {
		munmap(c->grant, page_size());
		munmap(c->page, page_size());
	}
	close(files[0]);
	close(files[1]);
	return err;
}

int client_attach(struct peer *p, struct message *m, uint32_t given)
{
	struct gpushare_attach *u = &m->attach;
	struct client *c, *set;
	struct device *dev;
	struct group *g;
	bool named;
	int err;

	if (u->flags || (u->set_fd != 0 && u->set_fd != -1))
		return -EINVAL;
	if (p->client)
		return -EALREADY;
	if (!u->device && strnlen(u->key, sizeof(u->key)) == sizeof(u->key))
		return -EINVAL;
	dev = device_find(u->device, u->key);
	if (!dev)
		return -ENODEV;
	err = find_set(p, m->head.set, dev, &set);
	if (!err)
		err = find_group(p, u->group, &g, &named);
	if (err)
		return err;
	c = client_new(p, dev, g, named);
	err = c ? attach(c, set, m, given) : -ENOMEM;
	if (err != LATER) {
		free(c);
		group_drop_if_unused(g);
	}
	return err;
}

static void leave_set(struct client *c)
{
	struct client *before = c;

	while (before->set != c)
		before = before->set;
	before->set = c->set;
	c->set = c;
}

static void answer_wait(struct client *c, int result)
{
	struct gpushare_wait w = { .size = c->wait_size };
	struct gs_wire head = c->wait_head;

	w.word = c->grant->word;
	w.client = c->core.id;
	w.device = c->grant->device;
	c->waiting = false;
	list_del_init(&c->wait_link);
	peer_reply(c->peer, &head, result, &w, min_t(uint32_t, c->wait_size, sizeof(w)), NULL, 0);
}

/* Its pages may be mapped for longer: they show no grant. */
static void show_end(struct client *c)
{
	struct gpushare_grant_page *g = c->grant;

	__atomic_store_n(&g->preempt, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&g->word, g->word & ~(uint64_t)(GPUSHARE_FLAGS_MASK & ~GPUSHARE_GONE),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&g->wake, g->wake + 1, __ATOMIC_RELEASE);
	wake(c);
}

void client_free(struct client *c)
{
	if (c->waiting && !c->peer->closed)
		answer_wait(c, -ENOTCONN);
	list_del_init(&c->wait_link);
	c->peer->client = NULL;
	gs_client_remove(&c->core, now_ns());
	show_end(c);
	list_del_init(&c->changed);
	list_del_init(&c->link);
	leave_set(c);
	if (c->device)
		c->device->nr_clients--;
	c->group->keep--;
	group_drop_if_unused(c->group);
	munmap(c->grant, page_size());
	munmap(c->page, page_size());
	free(c);
}

static bool works(const struct client *c)
{
	return c->core.state == GS_CLIENT_RUNNING || c->core.state == GS_CLIENT_WAITING;
}

/* Nothing ticks without groups, or with all clients asleep. */
static void check_after(uint64_t ns)
{
	if (check_armed || !d.nr_groups)
		return;
	check_armed = true;
	timer_arm(&check_timer, now_ns() + ns);
}

/*
 * Those at work may have been moved to another cgroup: looked up once a second, as are those
 * that were at work since, however short. It is a round over all clients, in the order of
 * their ids, with pauses, since nobody is served while files are read; who asks again
 * meanwhile is in the next one.
 */
static void check_groups(struct source *s, uint32_t events)
{
	static uint64_t from;		/* the round goes on with this id; 0: a new one */
	unsigned int looks = 0;
	bool again = false;
	struct client *c;
	uint64_t count;

	(void)events;
	if (read(s->fd, &count, sizeof(count)) < 0)
		return;
	check_armed = false;
	if (!from) {
		list_for_each_entry(c, &d.clients, link)
			c->asked |= check_idle || works(c);
		check_idle = false;
	}
	list_for_each_entry(c, &d.clients, link) {
		if (c->core.id >= from && c->asked) {
			if (looks++ == CHECK_AT_ONCE) {
				from = c->core.id;
				check_after(CHECK_PAUSE_NS);
				return;
			}
			c->asked = false;
			group_check_client(c);
		}
		again |= c->asked || works(c);
	}
	from = 0;
	if (again || check_idle)
		client_check_later();
}

void client_check_later(void)
{
	check_after(CHECK_CGROUP_NS);
}

/* @all: for the others of its set as well. */
void client_asked(struct client *c, bool all)
{
	struct client *i = c;

	do {
		i->asked = true;
		i = i->set;
	} while (all && i != c);
	client_check_later();
}

/* The idle as well, once, in the next round. */
void client_check_all_later(void)
{
	check_idle = true;
	client_check_later();
}

static void give_back(struct client *c)
{
	if (c->core.state == GS_CLIENT_GONE)
		return;
	if (c->waiting)
		answer_wait(c, -EINTR);
	if (c->core.state == GS_CLIENT_WAITING)
		gs_cancel(&c->core, now_ns());
	else
		gs_yield(&c->core, false, 0, now_ns());
	client_show(c);
}

/* What it holds or asks for; @all: and the others of its set. */
void client_give_back(struct client *c, bool all)
{
	struct client *i = c;

	do {
		give_back(i);
		i = i->set;
	} while (all && i != c);
}

static bool held(const struct client *c)
{
	return c->core.state == GS_CLIENT_RUNNING && !(c->core.flags & GS_PREEMPT);
}

/*
 * The request goes to all devices of the set that are still there; the answer
 * says who has won. What holds and isn't asked back wins.
 */
static int request_any(struct client *c, uint64_t want, bool again, struct client **winner)
{
	struct gs_client *all[GS_ANY_MAX];
	struct client *of[GS_ANY_MAX], *i = c;
	int n = 0, won;

	do {
		if (held(i) && !again) {
			*winner = i;
			return 1;
		}
		i = i->set;
	} while (i != c);
	if (c->core.state == GS_CLIENT_WAITING && !list_empty(&c->core.any) && !again)
		return 0;
	client_give_back(c, true);
	do {
		if (i->core.state != GS_CLIENT_GONE) {
			of[n] = i;
			all[n++] = &i->core;
		}
		i = i->set;
	} while (i != c && n < GS_ANY_MAX);
	won = gs_request_any(all, n, want, now_ns());
	if (won >= 0)
		*winner = of[won];
	return won >= 0 ? 1 : won == -EAGAIN ? 0 : won;
}

/* Asks, or yields and asks: 1 if @winner holds now, 0 if it waits. */
int client_ask(struct client *c, bool any, uint64_t want, bool again, struct client **winner)
{
	uint8_t state = c->core.state;

	*winner = c;
	if (held(c) && !again)
		return 1;
	if (any)
		return request_any(c, want, again, winner);
	if (state == GS_CLIENT_RUNNING || state == GS_CLIENT_OVER)
		return gs_yield(&c->core, true, want, now_ns());
	/* What it asked for together with others isn't what it asks for now. */
	if (state == GS_CLIENT_WAITING && !list_empty(&c->core.any))
		gs_cancel(&c->core, now_ns());
	return gs_request(&c->core, want, now_ns());
}

static void arm_waits(void)
{
	uint64_t first = GS_NEVER;
	struct client *c;

	list_for_each_entry(c, &d.waits, wait_link)
		first = min(first, c->wait_until);
	timer_arm(&wait_timer, first);
}

int client_wait(struct peer *p, struct message *m, uint32_t given)
{
	bool yield = _IOC_NR(m->head.cmd) == _IOC_NR(GPUSHARE_YIELD);
	struct gpushare_wait *w = &m->wait;
	struct client *c = p->client, *winner = c;
	bool any = w->flags & GPUSHARE_WAIT_ANY;
	uint32_t known = GPUSHARE_WAIT_NONBLOCK | GPUSHARE_WAIT_ANY |
			 (yield ? GPUSHARE_WAIT_AGAIN : 0);
	int got;

	if ((w->flags & ~known) || w->reserved)
		return -EINVAL;
	if (!c)
		return -ENOTCONN;
	if (c->core.state == GS_CLIENT_GONE)
		return -ENODEV;
	client_asked(c, any);
	d.acting = c;
	d.acting_any = any;
	if (yield && !(w->flags & GPUSHARE_WAIT_AGAIN)) {
		client_give_back(c, any);
		got = 1;
	} else {
		got = client_ask(c, any, w->want_ns, yield, &winner);
		client_show(c);
	}
	d.acting = NULL;
	if (got < 0)
		return got;
	w->word = winner->grant->word;
	w->client = winner->core.id;
	w->device = winner->grant->device;
	if (got)
		return 0;
	if (w->flags & GPUSHARE_WAIT_NONBLOCK || m->head.flags & GS_WIRE_QUIET)
		return -EAGAIN;
	if (c->waiting)
		return -EBUSY;
	c->waiting = true;
	c->wait_head = m->head;
	c->wait_size = given;
	/* Without a time it is 0 in an older caller's struct: long past. */
	c->wait_until = w->until_ns;
	list_add_tail(&c->wait_link, &d.waits);
	arm_waits();
	return LATER;
}

static void wait_expired(struct source *s, uint32_t events)
{
	uint64_t count, now = now_ns();
	struct client *c, *n;

	(void)events;
	if (read(s->fd, &count, sizeof(count)) < 0)
		return;
	list_for_each_entry_safe(c, n, &d.waits, wait_link) {
		if (c->wait_until > now)
			continue;
		gs_cancel(&c->core, now);
		client_show(c);
		answer_wait(c, -ETIMEDOUT);
	}
	arm_waits();
}

int client_waits_init(void)
{
	int err = timer_init(&wait_timer);

	return err ? err : timer_init(&check_timer);
}

/*
 * Whoever of its set waits for an answer gets it; whoever sleeps on a page looks
 * at those of all.
 */
static void answer_granted(struct client *c)
{
	struct client *i;

	for (i = c->set; i != c; i = i->set) {
		__atomic_store_n(&i->grant->wake, i->grant->wake + 1, __ATOMIC_RELEASE);
		wake(i);
	}

	do {
		if (i->waiting && (i == c || (i->core.state == GS_CLIENT_IDLE))) {
			struct client *asker = i;
			struct gpushare_wait w = {
				.size = asker->wait_size, .word = c->grant->word,
				.client = c->core.id, .device = c->grant->device,
			};

			asker->waiting = false;
			list_del_init(&asker->wait_link);
			peer_reply(asker->peer, &asker->wait_head, 0, &w,
				   min_t(uint32_t, asker->wait_size, sizeof(w)), NULL, 0);
			return;
		}
		i = i->set;
	} while (i != c);
}

static void settle_one(struct client *c)
{
	if (c->withdrawn) {
		c->withdrawn = false;
		/* Pairs with the client's fence between clearing its flag and its look. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (c->core.state == GS_CLIENT_IDLE && !c->page->idle_ns)
			gs_revive(&c->core, now_ns());
	}
	if (c->kill) {
		c->kill = false;
		say("pid %d (%s) is killed: it kept %s past kill_us", c->peer->pid, c->comm,
		    c->device ? c->device->info.key : "its device");
		syscall(SYS_pidfd_send_signal, c->peer->process.fd, SIGKILL, NULL, 0);
	}
	if (c->core.state == GS_CLIENT_GONE && c->waiting)
		answer_wait(c, -ENODEV);
	else if (c->core.flags & GS_GRANTED)
		answer_granted(c);
}

/* After calls of the core: what its callbacks noted. */
void client_settle(void)
{
	struct client *c;

	while (!list_empty(&d.changed)) {
		c = list_first_entry(&d.changed, struct client, changed);
		list_del_init(&c->changed);
		settle_one(c);
	}
}

int client_memory(struct client *c, struct gpushare_memory *m)
{
	u64 total, by;
	int err;

	if (m->flags || m->reserved || m->op < GPUSHARE_MEM_CHARGE || m->op > GPUSHARE_MEM_SWAP_IN)
		return -EINVAL;
	if (c->core.state == GS_CLIENT_GONE)
		return -ENODEV;
	err = gs_contract_memory(&c->core, m->op, m->bytes, now_ns());
	m->current_bytes = c->core.mem_used;
	m->swapped_bytes = c->core.mem_swapped;
	m->available_bytes = gs_contract_available(&c->core, &total, &by);
	m->total_bytes = total;
	m->limit_group = err == -ENOMEM ? by : 0;
	return err;
}

int client_describe(struct client *c, struct gpushare_describe *de)
{
	struct gs_profile p = { 0 };
	int err;

	if (de->flags)
		return -EINVAL;
	if (c->core.state == GS_CLIENT_GONE)
		return -ENODEV;
	err = gs_contract_profile(&p, de, &c->core.dev->conf);
	if (err)
		return err;
	gs_profile_set(&c->core, NULL, now_ns());	/* it is about to change */
	c->profile = p;
	err = gs_profile_set(&c->core, &c->profile, now_ns());
	de->workers = c->core.workers;
	return err;
}
