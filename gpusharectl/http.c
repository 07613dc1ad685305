// SPDX-License-Identifier: MIT
#include "http.h"
#include "ctl.h"

#ifdef HAVE_MICROHTTPD

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECTIONS	16
#define TIMEOUT_S	10

struct service {
	char *(*answer)(void *arg, bool openmetrics, size_t *size);
	void *arg;
};

static enum MHD_Result reply(struct MHD_Connection *c, unsigned int status, char *text,
			     size_t size, const char *type)
{
	struct MHD_Response *r;
	enum MHD_Result rc;

	r = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned int status, const char *words)
{
	return reply(c, status, (char *)words, strlen(words), "text/plain; charset=utf-8");
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	bool openmetrics = accept && strstr(accept, "application/openmetrics-text");
	struct service *s = cls;
	enum MHD_Result rc;
	static int seen;
	size_t size;
	char *text;

	(void)version;
	(void)upload;
	if (!*request) {	/* the header only; the answer comes with the next call */
		*request = &seen;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (strcmp(url, "/metrics"))
		return refuse(c, MHD_HTTP_NOT_FOUND, "only /metrics is here\n");
	text = s->answer(s->arg, openmetrics, &size);
	if (!text)
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no arbiter answers\n");
	rc = reply(c, MHD_HTTP_OK, text, size, openmetrics ?
		   "application/openmetrics-text; version=1.0.0; charset=utf-8" :
		   "text/plain; version=0.0.4; charset=utf-8");
	free(text);
	return rc;
}

int gs_http_serve(unsigned int port, char *(*answer)(void *arg, bool openmetrics, size_t *size),
		  void *arg)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct service service = { answer, arg };
	const union MHD_DaemonInfo *info;
	struct MHD_Daemon *d;

	/* One thread of the library's, so that answers need no lock. */
	d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, port, NULL, NULL,
			     on_request, &service, MHD_OPTION_SOCK_ADDR, &address,
			     MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
			     MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_END);
	if (!d)
		return gs_error(GS_EXIT_FAILURE, "metrics", "can't listen on 127.0.0.1:%u: %s; is the "
				"port free?", port, strerror(errno));
	info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
	fprintf(stderr, "gpusharectl: http://127.0.0.1:%u/metrics\n", info ? info->port : port);
	while (!gs_stopped())
		poll(NULL, 0, 1000);	/* a signal ends it */
	MHD_stop_daemon(d);
	return 0;
}

#else

int gs_http_serve(unsigned int port, char *(*answer)(void *arg, bool openmetrics, size_t *size),
		  void *arg)
{
	(void)port;
	(void)answer;
	(void)arg;
	return gs_error(GS_EXIT_FAILURE, "metrics", "this gpusharectl was built without libmicrohttpd; "
			"use --textfile");
}

#endif
