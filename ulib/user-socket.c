// SPDX-License-Identifier: MIT
/*
 * Where the user's own daemon listens: the library and the daemon agree here.
 *
 * XDG_RUNTIME_DIR, or where that isn't told (sudo, cron, a batch job) the directory
 * that it would be if it is there: it can be nobody else's. In /tmp it may be anybody's,
 * who could listen there, or keep us out. Only a directory of our own that is closed to
 * others will do: in a sticky parent nobody else can take that away again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user-socket.h"

static int check_dir(const char *dir)
{
	struct statx st;

	if (statx(AT_FDCWD, dir, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MODE | STATX_UID, &st))
		return -errno;
	if (!S_ISDIR(st.stx_mode) || st.stx_uid != geteuid() || (st.stx_mode & 077))
		return -EPERM;
	return 0;
}

int gs_user_socket(char *path, unsigned int size, bool make_dir)
{
	const char *run = secure_getenv("XDG_RUNTIME_DIR");
	char usual[32];
	int n, err;

	snprintf(usual, sizeof(usual), "/run/user/%u", geteuid());
	if (!run || *run != '/')
		run = check_dir(usual) ? NULL : usual;
	if (run)
		n = snprintf(path, size, "%s/gpushare", run);
	else
		n = snprintf(path, size, "/tmp/gpushare-%u", geteuid());
	if (n < 0 || (unsigned int)n + sizeof("/arbiter.sock") > size)
		return -ENAMETOOLONG;
	if (make_dir && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	err = check_dir(path);
	if (err)
		return err;
	strcpy(path + n, "/arbiter.sock");
	return 0;
}
