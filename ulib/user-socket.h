/* SPDX-License-Identifier: MIT */
#ifndef GS_USER_SOCKET_H
#define GS_USER_SOCKET_H

#include <stdbool.h>

/*
 * Where the user's own daemon listens. -ENAMETOOLONG: the path doesn't fit a
 * socket's address; -EPERM: its directory, which is then in @path, is there and isn't
 * this user's own, or others may come in.
 */
int gs_user_socket(char *path, unsigned int size, bool make_dir);

/* gpushared's exit status if another one has that socket, or that state. */
#define GS_DAEMON_THERE 3

#endif
