// SPDX-License-Identifier: MIT
/*
 * Keeping shares and devices over a restart: what is to be written, when, and reading it.
 *
 * A tenant may have hundreds of groups on many devices, and change one of them all the
 * time. So the loop only marks what changed. When a file is due, what is marked is put
 * into lines, a bounded piece a round, and handed to the thread that writes; when nothing
 * is marked any more, what the thread has is the state of that moment. Whoever changed
 * something is answered when that is on the disk, and isn't read from before: so nobody
 * has more than one answer kept here for each connection.
 *
 * After a file there is a pause of nine times as long as it took, a second at most, in
 * which changes gather; an admin who waits ends it.
 *
 * A cgroup's share ends with the cgroup, so one is only taken back if the
 * directory still has the same id, in the same boot.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpushared.h"
#include "state.h"

#define RETRY_NS	5000000000ull	/* after one that couldn't be written */
#define PAUSE_NS	1000000000ull
#define PAUSE_TIMES	9
#define PIECE_BYTES	32768		/* of lines made in one round: some 0.3 ms */
#define PIECE_GROUPS	64

/* A line of a share without its path, the longest path, and all of a group's lines. */
#define LINE_MAX_BYTES	304
#define PART_MAX	(2 * STATE_PATH_MAX + (MAX_DEVICES + 1) * LINE_MAX_BYTES)
_Static_assert((MAX_GROUPS + 2ull) * PART_MAX <= STATE_SIZE_MAX,
	       "whatever tenants set can be read back");

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
static struct list_head unsaved = { &unsaved, &unsaved };	/* groups, but for devices */
static bool devices_unsaved;
static uint64_t changes, written, writing;	/* counted changes */
static bool running, busy;
static bool behind;		/* the file doesn't have all */
static int failed;		/* nor the last one that was tried: nobody waits for the next */
static bool urgent;		/* an admin waits */
static uint64_t begun_ns, next_ns;		/* none is begun before this */
static uint64_t armed = GS_NEVER;
static struct gpushare_device absent[MAX_DEVICES];	/* settings of devices that aren't there */
static unsigned int nr_absent;

static void pace_due(struct timer *t);
static struct timer pace = { .due = pace_due };
static void written_ready(struct source *s, uint32_t events);
static struct source done = { .fd = -1, .ready = written_ready };

/* Lines are made here, so that a change needs no more memory than it has lines. */
static char scratch[2 * PART_MAX];
static FILE *lines;

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

/* A path stands in the first of a group's lines only. */
static void put_share(struct group *g, struct device *dev, bool *first)
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
	item.share.mem_full = s->mem_full;
	item.share.mem_wait_us = s->mem_wait / 1000;
	item.id = g->named ? 0 : g->id;
	strcpy(item.key, dev ? dev->info.key : "*");
	strcpy(item.path, !*first ? STATE_DITTO : g->named ? g->name : g->path);
	*first = false;
	state_put(lines, &item);
}

static void put_devices(void)
{
	struct state_item item = { .what = STATE_DEVICE };
	struct device *dev;
	unsigned int i;

	list_for_each_entry(dev, &d.devices, link) {
		if (!dev->added && !dev->info.mask)
			continue;
		device_show(dev, &item.device);
		item.added = dev->added;
		state_put(lines, &item);
	}
	item.added = false;
	for (i = 0; i < nr_absent; i++) {
		item.device = absent[i];
		state_put(lines, &item);
	}
}

static void put_group(struct group *g)
{
	struct state_item item = { .what = STATE_GROUP, .uid = g->uid, .maker = g->maker };
	struct device *dev;
	bool first = true;

	if (!group_has_settings(g))
		return;
	if (g->named) {
		strcpy(item.name, g->name);
		strcpy(item.path, g->path);
		state_put(lines, &item);
	}
	put_share(g, NULL, &first);
	list_for_each_entry(dev, &d.devices, link)
		if (gs_node_find(g->node, &dev->core))
			put_share(g, dev, &first);
}

/* Hands over the lines of a group, or of the devices; returns how many bytes. */
static ssize_t hand_over(struct group *g)
{
	struct state_part *part;
	long size;

	rewind(lines);
	if (g)
		put_group(g);
	else
		put_devices();
	size = fflush(lines) ? -1 : ftell(lines);
	if (size < 0) {
		clearerr(lines);
		return -EFBIG;
	}
	if (!size && g && !g->saved)
		return 0;
	part = malloc(sizeof(*part) + (size_t)size);
	if (!part)
		return -ENOMEM;
	part->id = g ? g->id : 0;
	part->size = (size_t)size;
	memcpy(part->text, scratch, (size_t)size);
	writer_put(part);
	if (g)
		g->saved = size;
	return size;
}

/* 1: all is handed over; 0: there is more. */
static int hand_over_some(void)
{
	unsigned int n = 0;
	ssize_t size, all = 0;
	struct group *g;

	if (devices_unsaved) {
		all = hand_over(NULL);
		if (all < 0)
			return (int)all;
		devices_unsaved = false;
	}
	while (!list_empty(&unsaved)) {
		if (n++ >= PIECE_GROUPS || all >= PIECE_BYTES)
			return 0;
		g = list_first_entry(&unsaved, struct group, unsaved);
		size = hand_over(g);
		if (size < 0)
			return (int)size;
		list_del_init(&g->unsaved);
		all += size;
	}
	return 1;
}

static void answer_held(void)
{
	struct held *h, *n;

	list_for_each_entry_safe(h, n, &held, link) {
		if (h->change > written)
			continue;
		list_del_init(&h->link);
		h->peer->held = NULL;
		if (loop_change(&h->peer->source, EPOLLIN))
			peer_doom(h->peer);
		peer_reply(h->peer, &h->head, 0, h->body, h->size, NULL, 0);
		free(h);
	}
}

static void arm(void)
{
	uint64_t at = urgent && !failed ? 0 : next_ns;

	if (!running || busy || !behind || armed <= at)
		return;
	armed = at;
	timer_arm(&pace, at);
}

static void fail(int err)
{
	failed = err;
	urgent = false;
	next_ns = now_ns() + RETRY_NS;
	written = changes;
	answer_held();
}

static void pace_due(struct timer *t)
{
	int all;

	(void)t;
	armed = GS_NEVER;
	if (busy || !behind)
		return;
	all = hand_over_some();
	if (all == 1) {
		writing = changes;
		busy = true;
		urgent = false;
		begun_ns = now_ns();
		writer_write();
		return;
	}
	if (all < 0) {
		if (!failed)
			say("%s: %s: shares and devices don't survive a restart; it is tried again",
			    d.state_path, strerror(-all));
		fail(all);
	} else {
		next_ns = 0;	/* it has been begun */
	}
	arm();
}

static void written_ready(struct source *s, uint32_t events)
{
	eventfd_t count;
	uint64_t now = now_ns();
	int err;

	(void)events;
	eventfd_read(s->fd, &count);
	busy = false;
	err = writer_result();
	if (err) {
		fail(err);	/* the writer has said it */
	} else {
		failed = 0;
		behind = changes != writing;
		written = writing;
		next_ns = now + min(PAUSE_TIMES * (now - begun_ns), PAUSE_NS);
		answer_held();
	}
	arm();
}

static void changed(void)
{
	changes++;
	behind = true;
	arm();
}

void state_group_changed(struct group *g)
{
	if (!running)
		return;
	if (list_empty(&g->unsaved))
		list_add_tail(&g->unsaved, &unsaved);
	changed();
}

void state_devices_changed(void)
{
	devices_unsaved = true;
	changed();
}

/* What is set for a device goes with it. */
void state_device_gone(struct device *dev)
{
	struct gs_node *n;
	struct group *g;

	list_for_each_entry(g, &d.groups, link) {
		n = gs_node_find(g->node, &dev->core);
		if (n && n->own)
			state_group_changed(g);
	}
}

static void mark_all(void)
{
	struct group *g;

	writer_forget();
	list_for_each_entry(g, &d.groups, link) {
		g->saved = false;
		if (list_empty(&g->unsaved))
			list_add_tail(&g->unsaved, &unsaved);
	}
	devices_unsaved = true;
}

/* It is about to be freed, and isn't in the list of groups any more. */
void state_group_gone(struct group *g)
{
	struct state_part *part;

	list_del_init(&g->unsaved);
	if (!running || !g->saved)
		return;
	part = calloc(1, sizeof(*part));
	if (part) {
		part->id = g->id;
		writer_put(part);
	} else {
		mark_all();
	}
	changed();
}

/* False: nothing has to be waited for, answer now. */
bool state_reply_later(struct peer *p, const struct gs_wire *head, const void *body, size_t size)
{
	struct held *h;

	if (!running || failed || changes == written || head->flags & GS_WIRE_QUIET || p->held)
		return false;
	h = malloc(sizeof(*h) + size);
	if (!h || loop_change(&p->source, 0)) {
		free(h);
		return false;
	}
	h->peer = p;
	h->head = *head;
	h->change = changes;
	h->size = size;
	memcpy(h->body, body, size);
	list_add_tail(&h->link, &held);
	p->held = h;
	urgent |= p->admin;
	arm();
	return true;
}

int state_unkept(void)
{
	return -failed;
}

void state_forget_peer(struct peer *p)
{
	if (!p->held)
		return;
	list_del_init(&p->held->link);
	free(p->held);
	p->held = NULL;
}

int state_writer_start(void)
{
	int err;

	if (!d.state_path)
		return 0;
	lines = fmemopen(scratch, sizeof(scratch), "w");
	done.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!lines || done.fd < 0)
		return -errno;
	err = loop_add(&done, EPOLLIN);
	if (!err)
		err = writer_start(this_boot, done.fd);
	if (err)
		return err;
	running = true;
	mark_all();
	return 0;
}

/* What isn't on the disk yet goes there now. */
void state_writer_stop(void)
{
	int all = 0;

	if (!running)
		return;
	while (behind && !all)
		all = hand_over_some();
	if (behind && all == 1)
		writer_write();
	writer_stop();
	running = false;
	loop_remove(&done);
	timer_stop(&pace);
	fclose(lines);
}

/* Settings that were kept for a device that has just been found. */
void state_remembered(struct device *dev)
{
	unsigned int i;

	for (i = 0; i < nr_absent; i++) {
		if (strcmp(absent[i].key, dev->info.key))
			continue;
		device_apply(dev, &absent[i]);
		absent[i] = absent[--nr_absent];
		return;
	}
}

static void take_device(const struct state_item *item)
{
	const struct gpushare_device *kept = &item->device;
	struct device *dev = device_find(0, kept->key);
	struct gpushare_device info;

	if (gs_contract_device_check(kept) ||
	    gs_contract_device_init(&info, kept->key, kept->kind))
		return;
	if (dev) {
		if (device_apply(dev, kept))
			say("%s: its kept settings aren't valid any more", kept->key);
	} else if (item->added) {
		if (device_make(kept, true, &dev))
			say("%s: its kept settings aren't valid, or there is no room", kept->key);
	} else if (nr_absent < MAX_DEVICES) {
		absent[nr_absent++] = *kept;
	}
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
	struct gpushare_share share = item->share;
	struct device *dev = NULL;
	struct group *g;
	uint64_t id;

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
	if (g && (gs_contract_share_check(&share) || share_apply(g, dev, &share) ||
		  (!g->named && group_take_children(g))))
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
