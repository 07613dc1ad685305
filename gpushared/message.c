// SPDX-License-Identifier: MIT
/*
 * The form of a message. What isn't a message at all ends the connection
 * (message_check); what is one, but of another length than ours, is brought
 * into our form by the rules of the uapi header (message_take).
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "gpushared.h"

#define UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* For each command: our length, the shortest that makes sense, files it may bring. */
static const struct form {
	uint16_t size, least, files;
} forms[] = {
#define FORM(cmd, type, member, files) \
	[_IOC_NR(cmd)] = { sizeof(type), UP_TO(type, member), files }
	FORM(GPUSHARE_VERSION, struct gpushare_version, flags, 0),
	FORM(GPUSHARE_ATTACH, struct gpushare_attach, key, 0),
	FORM(GPUSHARE_ACQUIRE, struct gpushare_wait, flags, 0),
	FORM(GPUSHARE_YIELD, struct gpushare_wait, flags, 0),
	FORM(GPUSHARE_MEMORY, struct gpushare_memory, bytes, 0),
	FORM(GPUSHARE_DESCRIBE, struct gpushare_describe, group_ns, 0),
	FORM(GPUSHARE_SHARE_SET, struct gpushare_share, mem_min, 2),
	FORM(GPUSHARE_SHARE_GET, struct gpushare_share, device, 2),
	FORM(GPUSHARE_DEVICE_ADD, struct gpushare_device, key, 0),
	FORM(GPUSHARE_DEVICE_SET, struct gpushare_device, key, 0),
	FORM(GPUSHARE_DEVICE_REMOVE, struct gpushare_device, device, 0),
	FORM(GPUSHARE_DEVICE_GET, struct gpushare_device, device, 0),
	FORM(GPUSHARE_STATS, struct gpushare_stats, id, 0),
	FORM(GPUSHARE_GROUP, struct gpushare_group, name, 0),
	FORM(GPUSHARE_EVENTS, struct gpushare_events, types, 0),
	[_IOC_NR(GPUSHARE_DETACH)] = { 0, 0, 0 },
};

static const struct form *form_of(uint32_t cmd)
{
	if (_IOC_TYPE(cmd) != GPUSHARE_IOC || _IOC_NR(cmd) >= ARRAY_SIZE(forms))
		return NULL;
	return &forms[_IOC_NR(cmd)];
}

/* 0, or -EPROTO: it is no message of ours, or lies about itself. */
int message_check(struct message *m, size_t length, unsigned int nr_files)
{
	const struct form *f;
	size_t body;

	if (length < sizeof(m->head) || length > sizeof(*m))
		return -EPROTO;
	if (m->head.magic != GS_WIRE_MAGIC || m->head.result)
		return -EPROTO;
	if (m->head.flags & ~(m->head.cmd == GPUSHARE_ATTACH ? GS_WIRE_BELL | GS_WIRE_QUIET :
			      GS_WIRE_QUIET))
		return -EPROTO;
	body = length - sizeof(m->head);
	if (!body)
		m->size = 0;	/* what stands there is an older message's */
	if (body && (body < sizeof(uint32_t) || m->size != body))
		return -EPROTO;
	f = form_of(m->head.cmd);
	if (nr_files > (f ? f->files : 0))
		return -EPROTO;
	return 0;
}

/* Makes the struct as long as ours; @given is how long it came and may go back. */
int message_take(struct message *m, uint32_t *given)
{
	const struct form *f = form_of(m->head.cmd);
	size_t size, i;

	*given = 0;
	if (!f)
		return -ENOTTY;
	if (!f->size)
		return 0;
	/* A message without a struct can only be one of a command that has none. */
	size = m->size;
	if (size < f->least)
		return -EINVAL;
	*given = (uint32_t)size;
	for (i = f->size; i < size; i++)
		if (m->bytes[i])
			return -E2BIG;
	if (size < f->size)
		memset(m->bytes + size, 0, f->size - size);
	if (m->head.set && _IOC_NR(m->head.cmd) != _IOC_NR(GPUSHARE_ATTACH) &&
	    _IOC_NR(m->head.cmd) != _IOC_NR(GPUSHARE_MEMORY))
		return -EINVAL;
	return 0;
}

/* Does it name a cgroup, that has to be looked up? */
bool message_about_share(struct message *m, size_t length, unsigned int nr_files)
{
	unsigned int nr = _IOC_NR(m->head.cmd);

	return !message_check(m, length, nr_files) &&
	       (nr == _IOC_NR(GPUSHARE_SHARE_SET) || nr == _IOC_NR(GPUSHARE_SHARE_GET)) &&
	       m->size >= UP_TO(struct gpushare_share, authority_fd) &&
	       !(m->share.flags & GPUSHARE_GET_NEXT) &&
	       (m->share.cgroup_fd >= 0 || m->share.group < GPUSHARE_PART_FIRST);
}
