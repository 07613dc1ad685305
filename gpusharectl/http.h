/* SPDX-License-Identifier: MIT */
/* The metrics over HTTP, on the loopback only, by libmicrohttpd. */
#ifndef GS_CTL_HTTP_H
#define GS_CTL_HTTP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Answer GET /metrics with what @answer gives (from malloc(); NULL: 503) until
 * gs_stopped(). Port 0: any free one, which is said on stderr. 0, or an exit
 * status, and said why.
 */
int gs_http_serve(unsigned int port, char *(*answer)(void *arg, bool openmetrics, size_t *size),
		  void *arg);

#endif
