// SPDX-License-Identifier: MIT
#include "http.h"
#include "amount.h"
#include "ctl.h"

#ifdef HAVE_MICROHTTPD

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define TIMEOUT_S	10
#define MEMORY		(16 << 10)	/* of a connection, what it says included */
#define KEPT		4
#define SPARE_FILES	64

struct kept {
	char path[32];
	struct MHD_Response *response;
	unsigned int status;
	uint64_t until_ns;
};

struct service {
	const struct gs_http *http;
	struct kept kept[KEPT];
	unsigned int next;
};

static const char *const headers[][2] = {
	{ "Cache-Control", "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	/* The page has all that it needs in itself, and asks its own server alone. */
	{ "Content-Security-Policy",
	  "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; "
	  "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
	  "frame-ancestors 'none'" },
};

static struct MHD_Response *response_of(struct gs_http_reply *reply)
{
	struct MHD_Response *r;
	size_t i;

	if (reply->text)
		r = MHD_create_response_from_buffer(reply->size, reply->text,
						    MHD_RESPMEM_MUST_FREE);
	else
		r = MHD_create_response_from_buffer(reply->size, (void *)reply->constant,
						    MHD_RESPMEM_PERSISTENT);
	if (!r) {
		free(reply->text);
		return NULL;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type);
	for (i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
	return r;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned int status, const char *words)
{
	struct gs_http_reply reply = { .type = "text/plain; charset=utf-8", .constant = words,
				       .size = strlen(words) };
	struct MHD_Response *r = response_of(&reply);
	enum MHD_Result rc = MHD_NO;

	if (!r)
		return rc;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

/*
 * A page of somebody else's can have its name mean our address, and then read what we answer
 * in a visitor's browser. It can't have its name be an address.
 */
static bool may_be_called(const struct gs_http *http, const char *host)
{
	char name[256], *end;
	struct in6_addr address;

	if (http->any_host)
		return true;
	if (!host || strlen(host) >= sizeof(name))
		return false;
	strcpy(name, host);
	if (*name == '[') {
		end = strchr(name, ']');
		if (end)
			*end = 0;
		return end && inet_pton(AF_INET6, name + 1, &address) == 1;
	}
	name[strcspn(name, ":")] = 0;
	return inet_pton(AF_INET, name, &address) == 1 || !strcasecmp(name, "localhost") ||
		(http->host && !strcasecmp(name, http->host));
}

static enum MHD_Result answer(struct service *s, struct MHD_Connection *c, const char *url)
{
	const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");
	struct gs_http_request request = {
		.path = url, .openmetrics = accept && strstr(accept, "application/openmetrics-text"),
	};
	struct gs_http_reply reply = { .status = MHD_HTTP_OK };
	struct MHD_Response *r;
	enum MHD_Result rc;
	struct kept *k;

	for (k = s->kept; k < s->kept + KEPT; k++)
		if (k->response && k->until_ns > gs_now() && !strcmp(k->path, url))
			return MHD_queue_response(c, k->status, k->response);
	if (!s->http->answer(s->http->arg, &request, &reply))
		return refuse(c, MHD_HTTP_NOT_FOUND, "there is no such page here\n");
	r = response_of(&reply);
	if (!r)
		return MHD_NO;
	rc = MHD_queue_response(c, reply.status, r);
	if (!reply.keep_ns || strlen(url) >= sizeof(k->path)) {
		MHD_destroy_response(r);
		return rc;
	}
	k = &s->kept[s->next++ % KEPT];
	if (k->response)
		MHD_destroy_response(k->response);
	*k = (struct kept){ .response = r, .status = reply.status,
			    .until_ns = gs_now() + reply.keep_ns };
	strcpy(k->path, url);
	return rc;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	struct service *s = cls;
	static int seen;

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
	if (!may_be_called(s->http, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
		return refuse(c, MHD_HTTP_FORBIDDEN, "this server isn't called so; --host says what "
			      "it may be called\n");
	return answer(s, c, url);
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int parse_address(const char *text, union address *a)
{
	char name[64] = "127.0.0.1";
	const char *port = strrchr(text, ':');
	uint64_t number;

	*a = (union address){ .v4 = { .sin_family = AF_INET } };
	if (port && port - text < (long)sizeof(name))
		snprintf(name, sizeof(name), "%.*s", (int)(port - text), text);
	port = port ? port + 1 : text;
	if (gs_parse_unsigned(port, 65535, &number))
		return -EINVAL;
	if (*name == '[' && name[strlen(name) - 1] == ']') {
		name[strlen(name) - 1] = 0;
		a->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					       .sin6_port = htons((uint16_t)number) };
		return inet_pton(AF_INET6, name + 1, &a->v6.sin6_addr) == 1 ? 0 : -EINVAL;
	}
	a->v4.sin_port = htons((uint16_t)number);
	return inet_pton(AF_INET, name, &a->v4.sin_addr) == 1 ? 0 : -EINVAL;
}

static void allow_files(unsigned int connections)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur >= connections + SPARE_FILES)
		return;
	l.rlim_cur = l.rlim_max < connections + SPARE_FILES ? l.rlim_max :
		connections + SPARE_FILES;
	setrlimit(RLIMIT_NOFILE, &l);
}

static void say_where(const struct gs_http *http, const union address *a, unsigned int port)
{
	char name[64];

	inet_ntop(a->any.sa_family, a->any.sa_family == AF_INET6 ? (const void *)&a->v6.sin6_addr :
		  &a->v4.sin_addr, name, sizeof(name));
	fprintf(stderr, "gpusharectl: http://%s%s%s:%u%s\n", a->any.sa_family == AF_INET6 ? "[" : "",
		name, a->any.sa_family == AF_INET6 ? "]" : "", port, http->path);
}

int gs_http_serve(const struct gs_http *http, const char *listen)
{
	struct service service = { .http = http };
	const union MHD_DaemonInfo *info;
	struct MHD_Daemon *d;
	union address a;
	unsigned int flags, i;

	if (parse_address(listen, &a))
		return gs_error(GS_EXIT_USAGE, http->name, "--listen=%s: a port, ADDRESS:PORT or "
				"[ADDRESS]:PORT", listen);
	allow_files(http->connections);
	flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO;
	if (a.any.sa_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	/* One thread of the library's, so that answers need no lock. */
	d = MHD_start_daemon(flags, ntohs(a.v4.sin_port), NULL, NULL, on_request, &service,
			     MHD_OPTION_SOCK_ADDR, &a.any,
			     MHD_OPTION_CONNECTION_LIMIT, http->connections,
			     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
			     MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_END);
	if (!d)
		return gs_error(GS_EXIT_FAILURE, http->name, "can't listen on %s: %s; is the port "
				"free?", listen, strerror(errno));
	info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
	say_where(http, &a, info ? info->port : ntohs(a.v4.sin_port));
	while (!gs_stopped())
		poll(NULL, 0, 1000);	/* a signal ends it */
	MHD_stop_daemon(d);
	for (i = 0; i < KEPT; i++)
		if (service.kept[i].response)
			MHD_destroy_response(service.kept[i].response);
	return 0;
}

#else

int gs_http_serve(const struct gs_http *http, const char *listen)
{
	(void)listen;
	return gs_error(GS_EXIT_FAILURE, http->name, "this gpusharectl was built without "
			"libmicrohttpd");
}

#endif
