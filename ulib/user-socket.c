// SPDX-License-Identifier: MIT
/*
 * Where the user's own daemon listens: the library and the daemon agree here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user-socket.h"

/* A directory in /tmp may be anybody's: only one of our own, closed to others, will do. */
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
	int n, err;

	if (run && *run == '/')
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
