// SPDX-License-Identifier: MIT
/*
 * Opening, closing, going ungated and coming back, and the calls that aren't in
 * anybody's fast path.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define PUBLIC __attribute__((visibility("default")))
#define RETRY_FIRST_NS	100000000ull

static void say_ungated(const struct gs_client *client, const char *path)
{
	char why[320], what[64];

	switch (-client->gate->why) {
	case ENODATA:
		snprintf(why, sizeof(why), "GPUSHARE_ARBITER is \"none\"");
		break;
	case EPIPE:
		snprintf(why, sizeof(why), "the arbiter %s is gone", path);
		break;
	case EIO:
		snprintf(why, sizeof(why), "the arbiter %s doesn't answer", path);
		break;
	case ENODEV:
		snprintf(why, sizeof(why), "the arbiter %s has no device %s", path, client->key);
		break;
	case ENOENT:
		snprintf(why, sizeof(why), "there is no arbiter");
		break;
	case ENOLINK:
		snprintf(why, sizeof(why), "this is a container that the machine's arbiter isn't in; "
			 "start it with -v " GS_SYSTEM_FOLDER ":" GS_SYSTEM_FOLDER ", or set "
			 "GPUSHARE_ARBITER=private to share with this container's programs only");
		break;
	case EUSERS:
		snprintf(why, sizeof(why), "the arbiter %s has no room: a limit of clients, of this "
			 "user, its container or all, is reached; end some, or ask who administers it",
			 path);
		break;
	case EPERM:
		snprintf(why, sizeof(why), "%s isn't this user's alone (remove it, or set "
			 "XDG_RUNTIME_DIR)", path);
		break;
	default:
		snprintf(why, sizeof(why), "the arbiter %s can't be used (%s)", path,
			 strerror_r(-client->gate->why, what, sizeof(what)));
	}
	dprintf(2, "gpushare: pid %d runs UNGATED on %s: %s%s\n", getpid(), client->key, why,
		client->gate->why == -ENODATA ? "" : "; it will be tried again");
}

/* Others may use the same device, and this arbiter doesn't know of them. */
static void say_private(const struct gs_client *client)
{
	const char *asked = client->where[0] ? client->where : secure_getenv(GS_ARBITER_ENV);

	if (!strncmp(client->key, "cpu:", 4) || (asked && !strcmp(asked, "private")))
		return;
	dprintf(2, "gpushare: no arbiter was there, so this user's own was started: it shares %s "
		"among this user's programs only; for everybody: systemctl enable --now "
		"gpushared.socket (GPUSHARE_ARBITER=private says that this is meant)\n",
		client->key);
}

uint64_t gs_inode_of(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_INO, &st) ? 0 : st.stx_ino;
}

/* What tells eventfds apart, as all have one inode; -1: it is none. */
static int eventfd_id(int fd)
{
	char text[256];
	const char *at;
	ssize_t n;
	int file;

	snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", fd);
	file = open(text, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	text[n < 0 ? 0 : n] = 0;
	at = strstr(text, "eventfd-id:");
	return at ? atoi(at + 11) : -1;
}

/* For a forked child, that is to close its copies, if the numbers are still those files'. */
static void remember_files(struct gs_client *client)
{
	client->file = client->gate->arbiter.fd;
	client->file_inode = gs_inode_of(client->file);
	client->bell = client->gate->arbiter.bell;
	client->bell_id = client->bell < 0 ? -1 : eventfd_id(client->bell);
}

static void forget_files(struct gs_client *client)
{
	client->file = -1;
	client->bell = -1;
}

static void close_inherited(struct gs_client *client)
{
	if (client->file >= 0 && gs_inode_of(client->file) == client->file_inode)
		close(client->file);
	if (client->bell >= 0 && client->bell_id >= 0 &&
	    eventfd_id(client->bell) == client->bell_id)
		close(client->bell);
	forget_files(client);
}

/* What was charged before is charged again, as far as it is let. */
static void charge_again(struct gs_gate *gate)
{
	struct gpushare_memory m = {
		.size = sizeof(m), .op = GPUSHARE_MEM_CHARGE,
		.bytes = gate->mem_current + gate->mem_swapped,
	};

	if (!m.bytes || gate->arbiter.ops->call(&gate->arbiter, GPUSHARE_MEMORY, &m))
		return;
	m = (struct gpushare_memory){
		.size = sizeof(m), .op = GPUSHARE_MEM_SWAP_OUT, .bytes = gate->mem_swapped,
	};
	if (m.bytes)
		gate->arbiter.ops->call(&gate->arbiter, GPUSHARE_MEMORY, &m);
}

/* Another of its set, to attach beside, which is there already. */
static struct gs_gate *joined(const struct gs_client *client)
{
	const struct gs_client *c;

	for (c = client->set; c != client; c = c->set)
		if (c->gate->joined && !strcmp(c->gate->arbiter.path, client->gate->arbiter.path))
			return c->gate;
	return NULL;
}

/* While the set is locked none that is joined can lose its connection. */
static int attach_to_set(struct gs_client *client, struct gpushare_attach *a)
{
	struct gs_gate *gate = client->gate, *other;
	int err;

	if (!gs_sets_lock())
		return -ENOMEM;
	other = joined(client);
	if (other)
		a->set_fd = other->arbiter.fd;
	err = gate->arbiter.ops->attach(&gate->arbiter, a, &gate->pages, other ? other->client : 0);
	if (!err) {
		gate->device = a->device;
		gate->client = a->client;
		gate->joined = true;
	}
	gs_sets_unlock();
	/* The other's arbiter has gone, and it doesn't know yet. */
	return err == -EBADF ? -EPIPE : err;
}

static void leave_set(struct gs_gate *gate)
{
	if (!gate->joined || !gs_sets_lock())
		return;
	gate->joined = false;
	gs_sets_unlock();
}

static int attach(struct gs_client *client)
{
	struct gpushare_attach a = { .size = sizeof(a), .set_fd = -1 };
	struct gpushare_group g = { .size = sizeof(g) };
	struct gs_gate *gate = client->gate;
	int err;

	memcpy(a.key, client->key, sizeof(a.key));
	if (client->group[0]) {
		memcpy(g.name, client->group, sizeof(g.name));
		err = gate->arbiter.ops->call(&gate->arbiter, GPUSHARE_GROUP, &g);
		if (err && err != -EOPNOTSUPP)	/* the module has cgroups for that */
			return err;
		a.group = err ? 0 : g.group;
	}
	err = attach_to_set(client, &a);
	if (!err)
		gs_pages_inherit_not(&gate->pages);
	return err;
}

/*
 * Under arbitration, or an error and nothing changed. In a hurry is who isn't
 * waited for: an arbiter that hangs would hold up those who want to close.
 */
int gs_connect(struct gs_client *client, bool hurry)
{
	struct gs_gate *gate = client->gate;
	int err;

	pthread_mutex_lock(&gate->call);
	err = gs_transport_connect(&gate->arbiter, client->where[0] ? client->where : NULL,
				   GS_TRANSPORT_START | (hurry ? GS_TRANSPORT_HURRY : 0));
	if (!err) {
		if (gate->arbiter.started)
			say_private(client);
		err = attach(client);
		if (err) {
			gs_transport_drop(&gate->arbiter, true);
			/* One of the two pages may lie there already. */
			gs_pages_ungate(&gate->pages, gate->epoch_back + 1);
		}
	}
	if (!err) {
		charge_again(gate);
		gate->arbiter.limit_ns = GS_CALL_LIMIT_NS;
		gate->gated = true;
		gate->epoch_back = 0;
		gate->requested = false;
		gate->generation++;
		gate->why = 0;
		gate->delay_ns = 0;
		__atomic_store_n(&gate->lost, 0, __ATOMIC_RELEASE);
		__atomic_or_fetch(&gate->under_way, GS_CLOSED, __ATOMIC_SEQ_CST);
		remember_files(client);
	}
	pthread_mutex_unlock(&gate->call);
	return err;
}

/* From now on everything is granted, until an arbiter is back. */
void gs_go_ungated(struct gs_client *client, int why)
{
	struct gs_gate *gate = client->gate;
	char path[sizeof(gate->arbiter.path)];

	if (gate->gated && gate->arbiter.ops->can_die)
		shutdown(gate->arbiter.fd, SHUT_RDWR);	/* so that no call holds us up */
	pthread_mutex_lock(&gate->call);
	if (gate->memory_fd)
		shutdown(gate->memory_fd - 1, SHUT_RDWR);	/* nor waits for memory */
	memcpy(path, gate->arbiter.path, sizeof(path));
	leave_set(gate);
	gs_transport_drop(&gate->arbiter, true);
	gs_pages_ungate(&gate->pages, gate->gated ? gs_epoch(gs_word(gate)) + 1 : 1);
	forget_files(client);
	gate->gated = false;
	gate->device = 0;
	gate->client = 0;
	pthread_mutex_unlock(&gate->call);
	gate->generation++;
	gate->requested = false;
	gate->why = why;
	gate->delay_ns = RETRY_FIRST_NS;
	gate->retry_ns = why == -ENODATA ? GPUSHARE_FOREVER : gs_now() + RETRY_FIRST_NS;
	__atomic_store_n(&gate->lost, 0, __ATOMIC_RELEASE);
	__atomic_and_fetch(&gate->under_way, ~GS_CLOSED, __ATOMIC_SEQ_CST);
	if (gs_process_may_say())
		say_ungated(client, path[0] ? path : client->where);
	gs_changed(gate);
	gs_watcher_kick();
}

/*
 * Gets the waiting thread out, if there is one, and goes on without the arbiter:
 * the connection is in use as long as somebody asks. Lets go of the lock meanwhile.
 */
void gs_lose(struct gs_client *client, int why)
{
	struct timespec pause = { .tv_nsec = 500000 };
	struct gs_gate *gate = client->gate;

	if (gate->gated)
		__atomic_store_n(&gate->lost, 1, __ATOMIC_RELEASE);
	/* It may be between its look at `lost` and its sleep, so once may not do. */
	while (gate->gated && gate->asker) {
		gs_wake_asker(gate);
		pthread_mutex_unlock(&gate->lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&gate->lock);
	}
	if (gate->gated)
		gs_go_ungated(client, why);
}

/*
 * Makes a client for this process: at open, and once more in a forked child,
 * where the gate was wiped. Returns what the arbiter said; the gate is usable
 * all the same, ungated, unless there is no memory (ready stays 0).
 */
int gs_set_up(struct gs_client *client)
{
	struct gs_gate *gate = client->gate;
	int err = 0;

	pthread_mutex_lock(&gate->lock);
	if (gate->ready)
		goto out;
	close_inherited(client);
	err = gs_pages_reserve(&gate->pages, client->page);
	if (err)
		goto out;
	err = gs_connect(client, false);
	if (err && client->strict) {
		gs_pages_free(&gate->pages);
		goto out;
	}
	if (err)
		gs_go_ungated(client, err);
	err = 0;
	__atomic_store_n(&gate->public.grant, gate->pages.grant, __ATOMIC_RELEASE);
	__atomic_store_n(&gate->ready, 1, __ATOMIC_RELEASE);
out:
	pthread_mutex_unlock(&gate->lock);
	return err;
}

/* With a connection that may die, or one to be had again, somebody must watch. */
void gs_watch_if_needed(struct gs_client *client)
{
	struct gs_gate *gate = client->gate;
	bool needed;
	int err;

	pthread_mutex_lock(&gate->lock);
	needed = !gate->watched && (gate->gated ? gate->arbiter.ops->can_die :
				    gate->why != -ENODATA);
	pthread_mutex_unlock(&gate->lock);
	if (!needed)
		return;
	err = gs_watch(client);
	if (!err)
		return;
	/* Nobody would see it die while we wait for it. */
	pthread_mutex_lock(&gate->lock);
	gs_lose(client, err);
	pthread_mutex_unlock(&gate->lock);
}

static bool key_ok(const char *key)
{
	size_t i, n = strnlen(key, GPUSHARE_KEY_MAX);
	const char *colon = memchr(key, ':', n);

	if (n == GPUSHARE_KEY_MAX || !colon || colon == key || !colon[1])
		return false;
	for (i = 0; i < n; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return false;
	return true;
}

static int enter_ring(struct gs_client *client, struct gs_client *beside)
{
	struct gs_client *c = beside;
	int n = 1, err = 0;

	if (!gs_sets_lock())
		return -ENOMEM;
	do {
		n++;
		if (!strcmp(c->key, client->key))
			err = -EINVAL;
		c = c->set;
	} while (c != beside);
	if (n > GS_SET_MAX)
		err = -EINVAL;
	if (!err) {
		client->set = beside->set;
		__atomic_store_n(&beside->set, client, __ATOMIC_RELEASE);
	}
	gs_sets_unlock();
	return err;
}

static void leave_ring(struct gs_client *client)
{
	struct gs_client *before = client;

	if (client->set == client || !gs_sets_lock())
		return;
	while (before->set != client)
		before = before->set;
	__atomic_store_n(&before->set, client->set, __ATOMIC_RELEASE);
	client->set = client;
	gs_sets_unlock();
}

static int take_options(struct gs_client *client, const struct gpushare_options *options)
{
	struct gpushare_options o = { 0 };

	if (options) {
		if (options->size < 8 || options->size > sizeof(o))
			return -EINVAL;
		memcpy(&o, options, options->size);
		if (o.flags & ~GPUSHARE_OPEN_STRICT)
			return -EINVAL;
	}
	if (!o.group)
		o.group = secure_getenv("GPUSHARE_GROUP");
	if (o.arbiter && strlen(o.arbiter) >= sizeof(client->where))
		return -ENAMETOOLONG;
	if (o.group && strlen(o.group) >= sizeof(client->group))
		return -EINVAL;
	if (o.arbiter)
		strcpy(client->where, o.arbiter);
	if (o.group)
		strcpy(client->group, o.group);
	client->strict = o.flags & GPUSHARE_OPEN_STRICT;
	return o.set ? enter_ring(client, gs_client_of(o.set)) : 0;
}

PUBLIC int gpushare_open(struct gpushare **handle, const char *key,
			 const struct gpushare_options *options)
{
	struct gs_client *client;
	int saved = errno, err;

	if (!key || !key_ok(key))
		return -EINVAL;
	err = gs_client_alloc(&client);
	if (err)
		goto out;
	strcpy(client->key, key);
	err = take_options(client, options);
	if (!err)
		err = gs_set_up(client);
	if (err) {
		leave_ring(client);
		gs_client_free(client);
		goto out;
	}
	client->strict = false;	/* that was about opening */
	pthread_mutex_lock(&client->gate->lock);
	err = client->gate->gated;
	pthread_mutex_unlock(&client->gate->lock);
	if (!err)
		gs_watch_if_needed(client);
	*handle = &client->gate->public;
	err = 0;
out:
	errno = saved;
	return err;
}

PUBLIC void gpushare_close(struct gpushare *handle)
{
	struct gs_client *client;
	int saved = errno;

	if (!handle)
		return;
	client = gs_client_of(handle);
	if (!client->gate->ready) {
		close_inherited(client);
	} else {
		gs_unwatch(client);
		leave_set(client->gate);
		gs_transport_drop(&client->gate->arbiter, true);
		gs_pages_free(&client->gate->pages);
	}
	leave_ring(client);
	gs_client_free(client);
	errno = saved;
}

PUBLIC uint64_t gpushare_after(uint64_t ns)
{
	uint64_t now = gs_now();

	return ns > GPUSHARE_FOREVER - now ? GPUSHARE_FOREVER : now + ns;
}

/* A child that hasn't begun anything has no pages yet. */
static struct gpushare_client_page *client_page(struct gpushare *handle)
{
	struct gs_gate *gate = gs_gate_of(handle);

	return __atomic_load_n(&gate->ready, __ATOMIC_ACQUIRE) ? gate->pages.client : NULL;
}

PUBLIC void gpushare_progress(struct gpushare *handle, uint64_t blocks, uint64_t busy_ns)
{
	struct gpushare_client_page *page = client_page(handle);

	if (!page)
		return;
	__atomic_add_fetch(&page->progress, blocks, __ATOMIC_RELAXED);
	__atomic_add_fetch(&page->busy_ns, busy_ns, __ATOMIC_RELAXED);
}

PUBLIC void gpushare_until(struct gpushare *handle, uint64_t until_ns)
{
	struct gpushare_client_page *page = client_page(handle);

	if (page)
		__atomic_store_n(&page->until_ns, until_ns, __ATOMIC_RELEASE);
}

PUBLIC void gpushare_unscheduled(struct gpushare *handle, uint64_t launches)
{
	struct gpushare_client_page *page = client_page(handle);

	if (page)
		__atomic_add_fetch(&page->unscheduled, launches, __ATOMIC_RELAXED);
}

/* A command about this client; -ENOTCONN while ungated. */
int gs_call(struct gs_gate *gate, unsigned long cmd, void *arg)
{
	int err = -ENOTCONN;

	pthread_mutex_lock(&gate->call);
	if (gate->gated)
		err = gate->arbiter.ops->call(&gate->arbiter, cmd, arg);
	pthread_mutex_unlock(&gate->call);
	return err;
}

/* Is anybody there? -EIO: it gives no answer. */
int gs_probe(struct gs_gate *gate)
{
	struct gpushare_version v = { .size = sizeof(v) };
	int err = -EPIPE;

	pthread_mutex_lock(&gate->call);
	if (gate->gated) {
		gate->arbiter.limit_ns = GS_CALL_LIMIT_NS / 2;
		err = gate->arbiter.ops->call(&gate->arbiter, GPUSHARE_VERSION, &v);
		gate->arbiter.limit_ns = GS_CALL_LIMIT_NS;
	}
	pthread_mutex_unlock(&gate->call);
	return err == -ETIMEDOUT ? -EIO : err;
}

int gs_public_call(struct gpushare *handle, unsigned long cmd, void *arg)
{
	struct gs_client *client = gs_client_of(handle);
	int saved = errno, err = 0;

	if (!__atomic_load_n(&client->gate->ready, __ATOMIC_ACQUIRE))
		err = gs_set_up(client);
	if (!err)
		err = gs_call(client->gate, cmd, arg);
	errno = saved;
	/* The watcher is about to see it as well. */
	return err == -EPIPE ? -ENOTCONN : err;
}

PUBLIC int gpushare_describe(struct gpushare *handle, struct gpushare_describe *kernel)
{
	int err;

	kernel->size = sizeof(*kernel);
	err = gs_public_call(handle, GPUSHARE_DESCRIBE, kernel);
	if (err == -ENOTCONN) {
		kernel->workers = 0;
		err = 0;
	}
	return err;
}

PUBLIC int gpushare_statistics(struct gpushare *handle, struct gpushare_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->size = sizeof(*stats);
	stats->what = GPUSHARE_STATS_CLIENT;
	return gs_public_call(handle, GPUSHARE_STATS, stats);
}

PUBLIC void gpushare_grant(const struct gpushare *handle, struct gpushare_grant *grant)
{
	const struct gpushare_grant_page *p = __atomic_load_n(&handle->grant, __ATOMIC_ACQUIRE);
	uint32_t seq;
	uint64_t word;

	memset(grant, 0, sizeof(*grant));
	if (!p)
		return;
	/* Pairs with the arbiter's: seq odd, members, seq even. */
	do {
		while ((seq = __atomic_load_n(&p->seq, __ATOMIC_ACQUIRE)) & 1)
			;
		word = __atomic_load_n(&p->word, __ATOMIC_ACQUIRE);
		grant->workers = __atomic_load_n(&p->workers, __ATOMIC_RELAXED);
		grant->granted_ns = __atomic_load_n(&p->granted_ns, __ATOMIC_RELAXED);
		grant->deadline_ns = __atomic_load_n(&p->deadline_ns, __ATOMIC_RELAXED);
		grant->slice_ns = __atomic_load_n(&p->slice_ns, __ATOMIC_RELAXED);
		grant->linger_ns = __atomic_load_n(&p->linger_ns, __ATOMIC_RELAXED);
		grant->waiters = __atomic_load_n(&p->waiters, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&p->seq, __ATOMIC_RELAXED) != seq);
	grant->epoch = gs_epoch(word);
	grant->flags = (uint32_t)(word & GPUSHARE_FLAGS_MASK);
}

PUBLIC void gpushare_pages(const struct gpushare *handle, struct gpushare_pages *pages)
{
	struct gs_gate *gate = gs_gate_of(handle);

	memset(pages, 0, sizeof(*pages));
	if (!__atomic_load_n(&gate->ready, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&gate->lock);
	pages->grant = gate->pages.grant;
	pages->client = gate->pages.client;
	pages->length = gate->pages.length;
	pages->generation = gate->generation;
	pthread_mutex_unlock(&gate->lock);
}

PUBLIC void gpushare_state(const struct gpushare *handle, struct gpushare_state *state)
{
	struct gs_gate *gate = gs_gate_of(handle);

	memset(state, 0, sizeof(*state));
	if (!__atomic_load_n(&gate->ready, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&gate->lock);
	state->gated = gate->gated;
	state->device = gate->device;
	state->client = gate->client;
	state->generation = gate->generation;
	state->under_way = __atomic_load_n(&gate->under_way, __ATOMIC_ACQUIRE) & ~GS_CLOSED;
	if (gate->gated)
		memcpy(state->arbiter, gate->arbiter.path, sizeof(state->arbiter));
	pthread_mutex_unlock(&gate->lock);
}
