/* SPDX-License-Identifier: MIT */
/* A small server of HTTP, by libmicrohttpd: GET of a few paths, for people and for scrapers. */
#ifndef GS_CTL_HTTP_H
#define GS_CTL_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gs_http_request {
	const char *path;
	bool openmetrics;	/* asked for */
};

struct gs_http_reply {
	unsigned int status;	/* 200 */
	const char *type;
	char *text;		/* from malloc(); NULL: @constant is it */
	const char *constant;
	size_t size;
	uint64_t keep_ns;	/* who asks for the same path within it has the same */
};

struct gs_http {
	const char *name;	/* of the command */
	const char *path;	/* said with the address when it listens */
	const char *host;	/* a name by which it may be called, or NULL */
	bool any_host;		/* or by any */
	unsigned int connections;
	/* Fills in @reply; false: there is no such path. */
	bool (*answer)(void *arg, const struct gs_http_request *request,
		       struct gs_http_reply *reply);
	void *arg;
};

/*
 * Answer at @listen, "PORT", "ADDRESS:PORT" or "[ADDRESS]:PORT", until gs_stopped(): of an
 * address alone the loopback's is meant. Port 0: any free one, which is said on stderr. 0, or
 * an exit status, and said why.
 */
int gs_http_serve(const struct gs_http *http, const char *listen);

#endif
