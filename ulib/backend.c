// SPDX-License-Identifier: MIT
/*
 * Which arbiter: what GPUSHARE_ARBITER names, else the device node, else the
 * system's daemon, else the user's own. That isn't started in a container, where
 * it would share with nobody, unless GPUSHARE_ARBITER asks for it.
 *
 * A place that is there but refuses (no permission, a daemon that died and left
 * its socket) isn't passed over in silence for one that knows less: only a
 * place where nothing is lets the next one be tried. The exception is a stale
 * system socket, which a user can't clean up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"

uint64_t gs_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int gs_ms_until(uint64_t until_ns)
{
	uint64_t now, ms;

	if (until_ns == GPUSHARE_FOREVER)
		return -1;
	now = gs_now();
	if (until_ns <= now)
		return 0;
	ms = (until_ns - now + 999999) / 1000000;
	return ms > 1000000000 ? 1000000000 : (int)ms;
}

static int open_backend(struct gs_transport *a, const struct gs_backend *ops, const char *path,
			unsigned int flags)
{
	struct gpushare_version v = { .size = sizeof(v) };
	int err;

	if (strlen(path) >= sizeof(a->path))
		return -ENAMETOOLONG;
	memset(a, 0, sizeof(*a));
	strcpy(a->path, path);
	a->ops = ops;
	a->fd = -1;
	a->bell = -1;
	a->limit_ns = flags & GS_TRANSPORT_HURRY ? GS_CALL_LIMIT_NS / 10 : GS_CALL_LIMIT_NS;
	err = ops->open(a);
	if (err) {
		a->ops = NULL;
		return err;
	}
	err = ops->call(a, GPUSHARE_VERSION, &v);
	a->features = v.features;
	if (!err && v.abi == GPUSHARE_ABI_VERSION)
		return 0;
	gs_transport_drop(a, true);
	return err == -ENOTTY || !err ? -EPROTO : err;
}

/* What lies at @path tells which transport it is. */
static int open_path(struct gs_transport *a, const char *path, unsigned int flags)
{
	struct statx st;

	if (statx(AT_FDCWD, path, 0, STATX_TYPE, &st))
		return -errno;
	if (S_ISCHR(st.stx_mode))
		return open_backend(a, &gs_backend_kernel, path, flags);
	if (S_ISSOCK(st.stx_mode))
		return open_backend(a, &gs_backend_socket, path, flags);
	return -EPROTO;
}

static bool nothing_there(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -ENXIO || err == -ENODEV;
}

/* The user's own. Where it may not be started, others could share the device but not that. */
static int open_own(struct gs_transport *a, unsigned int flags, bool may_start)
{
	bool start = flags & GS_TRANSPORT_START;
	char path[sizeof(a->path)];
	int err;

	err = gs_user_socket(path, sizeof(path), start && may_start);
	if (err == -EPERM)
		strcpy(a->path, path);	/* to be named */
	if (!err)
		err = open_path(a, path, flags);
	else if (may_start)
		return err;
	if (!start || (!nothing_there(err) && err != -ECONNREFUSED))
		return err;
	if (!may_start)
		return -ENOLINK;
	err = gs_spawn_daemon(path);
	if (!err)
		err = open_path(a, path, flags);
	a->started = !err;
	return err;
}

static int open_default(struct gs_transport *a, unsigned int flags)
{
	int err, system_err;

	err = open_path(a, GS_DEVICE_NODE, flags);
	if (!nothing_there(err))
		return err;
	system_err = open_path(a, GS_SYSTEM_SOCKET, flags);
	if (!nothing_there(system_err) && system_err != -ECONNREFUSED)
		return system_err;
	err = open_own(a, flags, !gs_in_container());
	if (err == -ENOLINK && system_err == -ECONNREFUSED)
		return system_err;	/* the machine's is to come back */
	return nothing_there(err) ? system_err : err;
}

int gs_transport_connect(struct gs_transport *a, const char *where, unsigned int flags)
{
	if (!where)
		where = secure_getenv(GS_ARBITER_ENV);
	if (!where || !*where)
		return open_default(a, flags);
	if (!strcmp(where, "none"))
		return -ENODATA;
	if (!strcmp(where, "private"))
		return open_own(a, flags, true);
	return open_path(a, where, flags);
}

void gs_transport_drop(struct gs_transport *a, bool end)
{
	if (!a->ops)
		return;
	a->ops->close(a, end);
	free(a->events);
	a->events = NULL;
	a->ops = NULL;
}

int gs_transport_open(const char *where, unsigned int flags, struct gs_transport **arbiter)
{
	struct gs_transport *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	err = gs_transport_connect(a, where, flags);
	if (err) {
		free(a);
		return err;
	}
	*arbiter = a;
	return 0;
}

void gs_transport_close(struct gs_transport *arbiter)
{
	if (!arbiter)
		return;
	gs_transport_drop(arbiter, true);
	free(arbiter);
}

bool gs_transport_is_kernel(const struct gs_transport *arbiter)
{
	return arbiter->ops == &gs_backend_kernel;
}

const char *gs_transport_path(const struct gs_transport *arbiter)
{
	return arbiter->path;
}

uint64_t gs_transport_turned_away(const struct gs_transport *arbiter)
{
	return arbiter->turned_away;
}

int gs_transport_fd(const struct gs_transport *arbiter)
{
	return arbiter->fd;
}

int gs_transport_call(struct gs_transport *arbiter, unsigned long cmd, void *arg)
{
	return arbiter->ops->call(arbiter, cmd, arg);
}

int gs_transport_events(struct gs_transport *arbiter, uint64_t types)
{
	struct gpushare_events e = { .size = sizeof(e), .types = types };

	return arbiter->ops->call(arbiter, GPUSHARE_EVENTS, &e);
}
