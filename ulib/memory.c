// SPDX-License-Identifier: MIT
/*
 * Device memory: accounting it, and waiting for it.
 *
 * A charge that would wait isn't made on the client's own connection to the daemon, where
 * other threads' commands would wait behind it, but on another of its own, on which the
 * thread then sleeps in recv(): so a signal that says so ends it, as with the module, where
 * the call itself sleeps; the daemon's end is seen at once, and closing it takes the wait
 * back. One thread of a client waits at a time, as the arbiter has one place for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define PUBLIC __attribute__((visibility("default")))

static bool gave_more_than_it_has(uint64_t *from, uint64_t bytes)
{
	if (bytes > *from)
		return true;
	*from -= bytes;
	return false;
}

/* Keeps our own account, which is all there is while ungated. */
static int account(struct gs_gate *gate, uint32_t op, uint64_t bytes)
{
	switch (op) {
	case GPUSHARE_MEM_CHARGE:
		gate->mem_current += bytes;
		return 0;
	case GPUSHARE_MEM_UNCHARGE:
		return gave_more_than_it_has(&gate->mem_current, bytes) ? -ERANGE : 0;
	case GPUSHARE_MEM_SWAP_OUT:
		if (gave_more_than_it_has(&gate->mem_current, bytes))
			return -ERANGE;
		gate->mem_swapped += bytes;
		return 0;
	case GPUSHARE_MEM_SWAP_IN:
		if (gave_more_than_it_has(&gate->mem_swapped, bytes))
			return -ERANGE;
		gate->mem_current += bytes;
		return 0;
	default:
		return -EINVAL;
	}
}

static int enter(struct gs_gate *gate, uint32_t op, uint64_t bytes)
{
	int err;

	pthread_mutex_lock(&gate->call);
	err = account(gate, op, bytes);
	pthread_mutex_unlock(&gate->call);
	return err;
}

PUBLIC int gpushare_memory(struct gpushare *handle, uint32_t op, uint64_t bytes,
			   struct gpushare_memory *result)
{
	struct gs_gate *gate = gs_gate_of(handle);
	struct gpushare_memory m = { .size = sizeof(m), .op = op, .bytes = bytes };
	int err = gs_public_call(handle, GPUSHARE_MEMORY, &m), own = 0;

	pthread_mutex_lock(&gate->call);
	if (!err || err == -ENOTCONN)
		own = account(gate, op, bytes);
	if (err == -ENOTCONN) {
		err = own;
		m.current_bytes = gate->mem_current;
		m.swapped_bytes = gate->mem_swapped;
		m.available_bytes = GPUSHARE_NO_LIMIT;
		m.total_bytes = GPUSHARE_NO_LIMIT;
	}
	pthread_mutex_unlock(&gate->call);
	if (result)
		*result = m;
	return err;
}

/* A connection for the wait alone. On the module it is the client's own file. */
static int open_for_wait(struct gs_gate *gate, struct gs_transport *own, uint64_t *client)
{
	char path[sizeof(gate->arbiter.path)];
	int err = -ENOTCONN;

	memset(own, 0, sizeof(*own));
	pthread_mutex_lock(&gate->call);
	if (gate->gated && !gate->arbiter.ops->can_die) {
		*own = (struct gs_transport){ .ops = gate->arbiter.ops, .bell = -1 };
		own->fd = fcntl(gate->arbiter.fd, F_DUPFD_CLOEXEC, 0);
		err = own->fd < 0 ? -errno : 0;
	} else if (gate->gated) {
		memcpy(path, gate->arbiter.path, sizeof(path));
		err = -EAGAIN;
	}
	*client = gate->client;
	pthread_mutex_unlock(&gate->call);
	return err == -EAGAIN ? gs_transport_connect(own, path, 0) : err;
}

/* So that whoever goes ungated ends it; false: it is so already. */
static bool tell_gate(struct gs_gate *gate, const struct gs_transport *own, uint64_t client)
{
	bool same;

	pthread_mutex_lock(&gate->call);
	same = gate->gated && gate->client == client;
	if (same && own->ops->can_die)
		gate->memory_fd = own->fd + 1;
	pthread_mutex_unlock(&gate->call);
	return same;
}

static void close_after_wait(struct gs_gate *gate, struct gs_transport *own)
{
	pthread_mutex_lock(&gate->call);
	gate->memory_fd = 0;
	gs_transport_drop(own, own->ops->can_die);
	pthread_mutex_unlock(&gate->call);
}

static int wait_for(struct gs_gate *gate, struct gpushare_memory *m)
{
	struct gs_transport own;
	uint64_t client;
	int err = open_for_wait(gate, &own, &client);

	if (err)
		return err == -ENOTCONN || err == -EPIPE || err == -ECONNREFUSED ? -ENOTCONN :
			-ENOMEM;	/* who can't wait is refused */
	err = tell_gate(gate, &own, client) ? own.ops->wait_memory(&own, m, client) : -ENOTCONN;
	close_after_wait(gate, &own);
	/* It was ended by who went ungated, or the daemon has. */
	return err == -EPIPE || err == -EBADF ? -ENOTCONN : err;
}

static int wait_in_turn(struct gs_gate *gate, struct gpushare_memory *m)
{
	int err;

	pthread_mutex_lock(&gate->memory);
	err = wait_for(gate, m);
	pthread_mutex_unlock(&gate->memory);
	return err;
}

PUBLIC int gpushare_memory_wait(struct gpushare *handle, uint32_t flags, uint64_t bytes,
				struct gpushare_memory *result)
{
	struct gs_gate *gate = gs_gate_of(handle);
	struct gpushare_memory m = {
		.size = sizeof(m), .op = GPUSHARE_MEM_CHARGE, .bytes = bytes,
		.flags = GPUSHARE_MEM_WAIT | GPUSHARE_MEM_NONBLOCK,
	};
	bool refused = flags & GPUSHARE_MEM_REFUSED;
	int saved = errno, err = -EAGAIN;

	if (flags & ~(uint32_t)GPUSHARE_MEM_REFUSED)
		return -EINVAL;
	if (!refused)
		err = gs_public_call(handle, GPUSHARE_MEMORY, &m);
	if (err == -EAGAIN) {
		m.flags = GPUSHARE_MEM_WAIT | flags;
		err = wait_in_turn(gate, &m);
	}
	if (!err)
		err = enter(gate, m.op, bytes);
	else if (refused && (err == -ENOTCONN || err == -EINVAL))
		err = -ENOMEM;	/* nobody can tell when to try again */
	else if (err == -ENOTCONN || err == -EINVAL)
		err = gpushare_memory(handle, m.op, bytes, &m);	/* it can't wait */
	if (result)
		*result = m;
	errno = saved;
	return err;
}
