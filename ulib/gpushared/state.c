// SPDX-License-Identifier: MIT
/*
 * Keeping shares and devices over a restart.
 *
 * The file is always whole: a new one is written beside it, brought to the disk
 * and put in its place in one step, so kill -9 finds the old or the new one.
 * Bringing to the disk may take long, and the loop must not wait, so a thread
 * does it; whoever changed something is answered when it is done, and changes
 * that come meanwhile go together into the next file.
 *
 * A cgroup's share ends with the cgroup, so one is only taken back if the
 * directory still has the same id, in the same boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpushared.h"
#include "state.h"

#define RETRY_NS 5000000000ull

/* An answer that waits for the disk. */
struct held {
	struct list_head link;
	struct peer *peer;
	struct gs_wire head;
	uint64_t change;
	size_t size;
	char body[];
};

static struct list_head held = { &held, &held };
static uint64_t changes, written, writing;	/* counted changes */
static bool busy;
static bool unwritten;		/* no file could be made of the last change, */
static uint64_t retry_ns;	/* and none is made before this */
static struct gpushare_device absent[MAX_DEVICES];	/* settings of devices that aren't there */
static unsigned int nr_absent;

static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static char *text;		/* for the thread to write; under the lock */
static bool ending, running;	/* under the lock */
static void written_ready(struct source *s, uint32_t events);
static struct source done = { .fd = -1, .ready = written_ready };

/* Read once: later, short of files or memory, we would say that this is another boot. */
static char this_boot[64];

static void read_boot(void)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || fscanf(f, "%63s", this_boot) != 1)
		strcpy(this_boot, "unknown");
	if (f)
		fclose(f);
}

/* Lines that memory didn't suffice for: the stream itself forgets that there were any. */
static bool lost_lines;

static void put(FILE *f, const struct state_item *item)
{
	lost_lines |= state_put(f, item) < 0;
}

static void put_share(FILE *f, struct group *g, struct device *dev)
{
	struct state_item item = { .what = STATE_SHARE, .maker = g->maker };
	struct gs_node *n = dev ? gs_node_find(g->node, &dev->core) : NULL;
	const struct gs_share *s = n ? &n->share : &g->node->share;

	item.share.mask = n ? n->own : g->set;
	if (!item.share.mask)
		return;
	item.share.weight = s->weight;
	item.share.class = s->class;
	item.share.min_permille = s->min;
	item.share.max_us = s->quota == GS_UNLIMITED ? GPUSHARE_NO_LIMIT : s->quota / 1000;
	item.share.period_us = s->period / 1000;
	item.share.burst_us = s->burst / 1000;
	item.share.mem_max = s->mem_max;
	item.share.mem_high = s->mem_high;
	item.share.mem_min = s->mem_min;
	item.id = g->named ? 0 : g->id;
	strcpy(item.key, dev ? dev->key : "*");
	strcpy(item.path, g->named ? g->name : g->path);
	put(f, &item);
}

static void put_devices(FILE *f)
{
	struct state_item item = { .what = STATE_DEVICE };
	struct device *dev;
	unsigned int i;

	list_for_each_entry(dev, &d.devices, link) {
		if (!dev->added && !dev->set)
			continue;
		device_show(dev, &item.device);
		item.added = dev->added;
		put(f, &item);
	}
	item.added = false;
	for (i = 0; i < nr_absent; i++) {
		item.device = absent[i];
		put(f, &item);
	}
}

static void put_named(FILE *f, struct group *g)
{
	struct state_item item = { .what = STATE_GROUP, .uid = g->uid, .maker = g->maker };

	strcpy(item.name, g->name);
	strcpy(item.path, g->path);
	put(f, &item);
}

static void put_groups(FILE *f)
{
	struct device *dev;
	struct group *g;

	/* A cgroup's id may be larger than its child's: the order doesn't matter. */
	list_for_each_entry(g, &d.groups, link) {
		if (ftello(f) > (off_t)STATE_SIZE_MAX)
			return;		/* it won't be written anyway */
		if (!group_has_settings(g))
			continue;
		if (g->named)
			put_named(f, g);
		put_share(f, g, NULL);
		list_for_each_entry(dev, &d.devices, link)
			if (gs_node_find(g->node, &dev->core))
				put_share(f, g, dev);
	}
}

static char *snapshot(void)
{
	char *all = NULL;
	size_t size;
	FILE *f = open_memstream(&all, &size);

	if (!f)
		return NULL;
	lost_lines = state_put_head(f, this_boot) < 0;
	put_devices(f);
	put_groups(f);
	fflush(f);
	lost_lines |= fprintf(f, "sum %016llx\n", (unsigned long long)state_sum(all, size)) < 0;
	/* One that is larger than what is read back is worse than none. */
	if (!fclose(f) && !lost_lines && strlen(all) <= STATE_SIZE_MAX)
		return all;
	say("%s: too large, or no memory: shares and devices won't survive a restart",
	    d.state_path);
	free(all);
	return NULL;
}

static int write_all(int fd, const char *at)
{
	size_t left = strlen(at);
	ssize_t n;

	for (; left; at += n, left -= (size_t)n) {
		n = write(fd, at, left);
		if (n < 0)
			return -errno;
	}
	return fsync(fd) ? -errno : 0;
}

static int sync_dir(const char *path)
{
	char copy[4096];
	int fd, err = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int write_file(const char *path, const char *what)
{
	char temp[4096];
	int fd, err;

	if (snprintf(temp, sizeof(temp), "%s.new", path) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, what);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temp, path))
		err = -errno;
	return err ? err : sync_dir(path);
}

static void write_and_say(const char *what)
{
	static int last;
	int err = write_file(d.state_path, what);

	if (err && err != last)
		say("%s: %s: shares and devices won't survive a restart", d.state_path,
		    strerror(-err));
	last = err;
}

static void *writer(void *arg)
{
	char *what;

	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!text && !ending)
			pthread_cond_wait(&work, &lock);
		if (!text)
			break;
		what = text;
		pthread_mutex_unlock(&lock);
		write_and_say(what);
		free(what);
		pthread_mutex_lock(&lock);
		text = NULL;
		eventfd_write(done.fd, 1);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void answer_held(void)
{
	struct held *h, *n;

	list_for_each_entry_safe(h, n, &held, link) {
		if (h->change > written)
			continue;
		list_del_init(&h->link);
		peer_reply(h->peer, &h->head, 0, h->body, h->size, NULL, 0);
		free(h);
	}
}

static void start_writing(void)
{
	char *all = NULL;

	if (busy || !running || changes == written)
		return;
	if (now_ns() >= retry_ns) {
		all = snapshot();
		retry_ns = all ? 0 : now_ns() + RETRY_NS;
	}
	unwritten = !all;
	if (!all) {
		written = changes;	/* nobody is to wait for it */
		answer_held();
		return;
	}
	writing = changes;
	busy = true;
	pthread_mutex_lock(&lock);
	text = all;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
}

void state_changed(void)
{
	changes++;
	start_writing();
}

static void written_ready(struct source *s, uint32_t events)
{
	eventfd_t count;

	(void)events;
	eventfd_read(s->fd, &count);
	busy = false;
	written = writing;
	answer_held();
	start_writing();
}

/* False: nothing has to be waited for, answer now. */
bool state_reply_later(struct peer *p, const struct gs_wire *head, const void *body, size_t size)
{
	struct held *h;

	if (!running || changes == written || head->flags & GS_WIRE_QUIET)
		return false;
	h = malloc(sizeof(*h) + size);
	if (!h)
		return false;
	h->peer = p;
	h->head = *head;
	h->change = changes;
	h->size = size;
	memcpy(h->body, body, size);
	list_add_tail(&h->link, &held);
	return true;
}

void state_forget_peer(struct peer *p)
{
	struct held *h, *n;

	list_for_each_entry_safe(h, n, &held, link) {
		if (h->peer != p)
			continue;
		list_del_init(&h->link);
		free(h);
	}
}

int state_writer_start(void)
{
	int err;

	if (!d.state_path)
		return 0;
	done.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (done.fd < 0)
		return -errno;
	err = loop_add(&done, EPOLLIN);
	if (!err)
		err = -pthread_create(&thread, NULL, writer, NULL);
	running = !err;
	return err;
}

/* What isn't on the disk yet goes there now. */
void state_writer_stop(void)
{
	char *all;

	if (!running)
		return;
	pthread_mutex_lock(&lock);
	ending = true;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	running = false;
	if (busy)
		written = writing;
	all = changes == written && !unwritten ? NULL : snapshot();
	if (all)
		write_and_say(all);
	free(all);
	loop_remove(&done);
}

/* Settings that were kept for a device that has just been found. */
void state_remembered(struct device *dev)
{
	unsigned int i;

	for (i = 0; i < nr_absent; i++) {
		if (strcmp(absent[i].key, dev->key))
			continue;
		device_apply(dev, &absent[i]);
		absent[i] = absent[--nr_absent];
		return;
	}
}

static void take_device(const struct state_item *item)
{
	struct device *dev = device_find(0, item->device.key);

	if (!device_key_ok(item->device.key) || item->device.mask & ~GPUSHARE_DEV_ALL)
		return;
	if (!dev && item->added) {
		if (device_make(item->device.key, item->device.kind, true, &dev))
			say("%s: no room for it any more", item->device.key);
	} else if (!dev && nr_absent < MAX_DEVICES) {
		absent[nr_absent++] = item->device;
	}
	if (dev && device_apply(dev, &item->device))
		say("%s: its kept settings aren't valid any more", dev->key);
}

/* The named group whose shares come next. */
static struct group *named;

static void take_group(const struct state_item *item, bool same_boot)
{
	uint64_t id;

	named = NULL;
	if (!group_name_ok(item->name) || !item->maker || item->maker > GS_TENANT_MAX)
		return;
	/* Another container may have that number by now. */
	if (!same_boot && tenant_kind(item->maker, &id) == GPUSHARE_GROUP_CONTAINER)
		return;
	if (group_make_named(group_of_path(item->path), item->maker, true, item->uid, item->name,
			     item->path, &named))
		say("%s: no room for it any more", item->name);
}

static void take_share(const struct state_item *item, bool same_boot)
{
	struct device *dev = NULL;
	struct group *g;
	uint64_t id;

	if (item->share.mask & ~GPUSHARE_SHARE_ALL || !item->share.mask)
		return;
	if (strcmp(item->key, "*")) {
		dev = device_find(0, item->key);
		if (!dev)
			return;
	}
	if (!item->id) {
		g = named && !strcmp(named->name, item->path) ? named : NULL;
	} else {
		if (!same_boot || cgroup_id_of_path(item->path, &id) || id != item->id ||
		    item->maker > GS_TENANT_MAX)
			return;	/* the cgroup is no more */
		g = group_find(id);
		if (!g && group_make_cgroup(id, item->path, item->maker, true, &g))
			g = NULL;
	}
	if (g && (share_apply(g, dev, &item->share) || (!g->named && group_take_children(g))))
		say("%s: its kept share isn't valid any more", item->path);
}

static void take(const struct state_item *item, void *arg)
{
	switch (item->what) {
	case STATE_DEVICE:
		take_device(item);
		break;
	case STATE_GROUP:
		take_group(item, !strcmp(this_boot, arg));
		break;
	case STATE_SHARE:
		take_share(item, !strcmp(this_boot, arg));
		break;
	}
}

static char *read_file(const char *path, size_t *length)
{
	struct stat st;
	char *all = NULL;
	ssize_t n = -1;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= STATE_SIZE_MAX)
		all = malloc((size_t)st.st_size + 1);
	if (all)
		n = read(fd, all, (size_t)st.st_size);
	close(fd);
	*length = n < 0 ? 0 : (size_t)n;
	return all;
}

/* A file that isn't sound is put aside, said, and the daemon starts without. */
int state_load(const char *path)
{
	char boot[64] = "", aside[4096];
	size_t length;
	char *all;

	read_boot();
	if (access(path, F_OK))
		return 0;
	all = read_file(path, &length);
	if (all && !state_parse(all, length, boot, take, boot)) {
		free(all);
		return 0;
	}
	free(all);
	snprintf(aside, sizeof(aside), "%s.bad", path);
	if (rename(path, aside))
		say("%s: can't be read: %s", path, strerror(errno));
	else
		say("%s: damaged; it is kept as %s, and no share is set", path, aside);
	return -EBADMSG;
}
