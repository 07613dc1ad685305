// SPDX-License-Identifier: MIT
/* Clients: their life, and what they say of their use of the device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpushared.h"

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

/* The client whose set is to be joined, of the same process. */
static int find_set(struct peer *p, uint64_t id, const struct device *dev, struct client **set)
{
	*set = client_find(id);
	if (!*set || (*set)->peer->pid != p->pid)
		return -EBADF;
	return gs_contract_set_check(&(*set)->core, &dev->core);
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
	INIT_LIST_HEAD(&c->changed);
	INIT_LIST_HEAD(&c->wait_link);
	INIT_LIST_HEAD(&c->memory.link);
	memcpy(c->comm, p->comm, sizeof(c->comm));
	return c;
}

static int client_add(struct client *c, struct client *set)
{
	int err;

	err = group_nodes(c->group, c->device);
	if (err)
		return err;
	err = gs_client_add(&c->core, d.next_client, c->group->node, &c->device->core, now_ns());
	if (err)
		return err;
	c->core.priv = c;
	d.next_client++;
	list_add_tail(&c->link, &d.clients);
	c->device->nr_clients++;
	c->group->keep++;
	c->peer->client = c;
	if (set)
		list_add_tail(&c->core.set, &set->core.set);
	gs_contract_show_begin(&c->core, c->pages.grant);
	return 0;
}

static int attach(struct client *c, struct client *set, struct message *m, uint32_t given)
{
	struct gpushare_attach *u = &m->attach;
	int files[GS_WIRE_FILES_MAX], err;
	struct peer *p = c->peer;
	unsigned int n = 2;

	err = pages_make(&c->pages, files);
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
		pages_free(&c->pages);
	}
	close(files[0]);
	close(files[1]);
	return err;
}

int client_attach(struct peer *p, struct message *m, uint32_t given)
{
	struct gpushare_attach *u = &m->attach;
	struct client *c, *set = NULL;
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
	err = m->head.set ? find_set(p, m->head.set, dev, &set) : 0;
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

/* Its pages may be mapped for longer: they show no grant. */
void client_free(struct client *c)
{
	wait_end(c);
	memory_end(c);
	c->peer->client = NULL;
	gs_client_remove(&c->core, now_ns());
	gs_contract_show_end(&c->core);
	page_wake(c);
	list_del_init(&c->changed);
	list_del_init(&c->link);
	list_del_init(&c->core.set);
	if (c->device)
		c->device->nr_clients--;
	c->group->keep--;
	group_drop_if_unused(c->group);
	pages_free(&c->pages);
	free(c);
}

int client_describe(struct client *c, struct gpushare_describe *de)
{
	if (de->flags)
		return -EINVAL;
	return c->core.state == GS_CLIENT_GONE ? -ENODEV :
	       gs_contract_describe(&c->core, &c->profile, de, now_ns());
}
