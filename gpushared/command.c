// SPDX-License-Identifier: MIT
/*
 * From a message to what it asks for. A struct is answered at most as long as
 * it was sent, also with an error, as some errors have outputs.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "gpushared.h"

static int version(struct gpushare_version *v)
{
	if (v->flags || v->reserved)
		return -EINVAL;
	v->abi = GPUSHARE_ABI_VERSION;
	v->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	v->features = GPUSHARE_FEAT_CGROUP | GPUSHARE_FEAT_NAMED | GPUSHARE_FEAT_EVENTS |
		      GPUSHARE_FEAT_DISCOVERY | GPUSHARE_FEAT_BELL |
		      GPUSHARE_FEAT_MEM_WAIT | (d.state_path ? GPUSHARE_FEAT_KEEPS : 0);
	v->unkept = (uint32_t)state_unkept();
	v->started_ns = d.started_ns;
	memset(v->release, 0, sizeof(v->release));
	strncpy(v->release, GPUSHARE_RELEASE, sizeof(v->release) - 1);
	return 0;
}

static int detach(struct peer *p)
{
	if (!p->client)
		return -ENOTCONN;
	client_free(p->client);
	return 0;
}

static int of_device(struct peer *p, unsigned int nr, struct gpushare_device *u)
{
	if (nr == _IOC_NR(GPUSHARE_DEVICE_GET))
		return device_get(u);
	if (!p->admin)
		return -EPERM;
	return nr == _IOC_NR(GPUSHARE_DEVICE_ADD) ? device_add(u) :
	       nr == _IOC_NR(GPUSHARE_DEVICE_SET) ? device_set(u) : device_remove(u);
}

int command_dispatch(struct peer *p, struct message *m, const struct gs_seen *files,
		     unsigned int nr_files, uint32_t given)
{
	unsigned int nr = _IOC_NR(m->head.cmd);

	if (p->stream)	/* it is a stream now, and takes no more commands */
		return -EBUSY;
	switch (nr) {
	case _IOC_NR(GPUSHARE_VERSION):
		return version(&m->version);
	case _IOC_NR(GPUSHARE_ATTACH):
		return client_attach(p, m, given);
	case _IOC_NR(GPUSHARE_DETACH):
		return detach(p);
	case _IOC_NR(GPUSHARE_ACQUIRE):
	case _IOC_NR(GPUSHARE_YIELD):
		return client_wait(p, m, given);
	case _IOC_NR(GPUSHARE_MEMORY):
		return memory_command(p, m, given);
	case _IOC_NR(GPUSHARE_DESCRIBE):
		return p->client ? client_describe(p->client, &m->describe) : -ENOTCONN;
	case _IOC_NR(GPUSHARE_SHARE_SET):
		return share_set(p, &m->share, files, nr_files);
	case _IOC_NR(GPUSHARE_SHARE_GET):
		return share_get(p, &m->share, files, nr_files);
	case _IOC_NR(GPUSHARE_DEVICE_ADD):
	case _IOC_NR(GPUSHARE_DEVICE_SET):
	case _IOC_NR(GPUSHARE_DEVICE_REMOVE):
	case _IOC_NR(GPUSHARE_DEVICE_GET):
		return of_device(p, nr, &m->device);
	case _IOC_NR(GPUSHARE_STATS):
		return stats_get(p, &m->stats);
	case _IOC_NR(GPUSHARE_GROUP):
		return group_command(p, &m->group);
	case _IOC_NR(GPUSHARE_EVENTS):
		return stream_open(p, &m->events);
	default:
		return -ENOTTY;
	}
}

/* What changes the state file is answered when that is on the disk. */
static bool is_kept(const struct gs_wire *head)
{
	unsigned int nr = _IOC_NR(head->cmd);

	return nr == _IOC_NR(GPUSHARE_SHARE_SET) || nr == _IOC_NR(GPUSHARE_DEVICE_ADD) ||
	       nr == _IOC_NR(GPUSHARE_DEVICE_SET) || nr == _IOC_NR(GPUSHARE_DEVICE_REMOVE);
}

/* Takes no longer with more groups or clients: what holders say all the time. */
static bool is_quick(const struct gs_wire *head)
{
	unsigned int nr = _IOC_NR(head->cmd);

	return nr == _IOC_NR(GPUSHARE_ACQUIRE) || nr == _IOC_NR(GPUSHARE_YIELD) ||
	       nr == _IOC_NR(GPUSHARE_VERSION);
}

void command_run(struct peer *p, struct message *m, const struct gs_seen *files,
		 unsigned int nr_files)
{
	struct gs_wire head = m->head;
	uint32_t given, size = m->size;
	uint64_t start;
	int err;

	d.commands++;
	if (p->client)
		bell_heed(p->client);	/* what it asked for before that */
	err = message_take(m, &given);
	if (err) {
		peer_reply(p, &head, err, NULL, 0, NULL, 0);
		return;
	}
	start = p->account && !is_quick(&head) ? own_time() : 0;
	err = command_dispatch(p, m, files, nr_files, given);
	if (start)
		account_charge(p, own_time() - start);
	if (err == LATER)
		return;
	if (given)
		m->size = size;
	if (!err && is_kept(&head) && state_reply_later(p, &head, m->bytes, given))
		return;
	peer_reply(p, &head, err, m->bytes, given, NULL, 0);
	if (!err && _IOC_NR(head.cmd) == _IOC_NR(GPUSHARE_EVENTS))
		stream_start(p);
}
