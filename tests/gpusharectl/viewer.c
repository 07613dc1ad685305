// SPDX-License-Identifier: MIT
/*
 * A plain client of gpusharectl web, of several kinds.
 *
 *	viewer PORT get PATH [HOST]	the answer, with its head, on stdout
 *	viewer PORT slow N		N that say half a request and wait; then one good one
 *	viewer PORT deaf N		N that ask and don't read the answer; then one good one
 *	viewer PORT odd			requests that are none, a good one after each
 *	viewer PORT watch N SECONDS	N that ask for status.json once a second, all answered
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S	20

static int port;

static int reach(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval wait = { .tv_sec = WAIT_S };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	close(fd);
	return -1;
}

static void say(int fd, const char *text, size_t size)
{
	ssize_t n;

	for (; size; text += n, size -= (size_t)n) {
		n = send(fd, text, size, MSG_NOSIGNAL);
		if (n <= 0)
			return;		/* it has had enough of it */
	}
}

/* All that it answers until it closes; how much of it is in @to. */
static size_t hear(int fd, char *to, size_t room)
{
	size_t got = 0;
	ssize_t n;

	while (got < room - 1 && (n = recv(fd, to + got, room - 1 - got, 0)) > 0)
		got += (size_t)n;
	to[got] = 0;
	return got;
}

static char answer[4 << 20];

/* The status, 0: there was none. */
static int get(const char *path, const char *host)
{
	char request[512];
	int fd = reach(), status = 0;

	if (fd < 0)
		return 0;
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path,
		 host);
	say(fd, request, strlen(request));
	hear(fd, answer, sizeof(answer));
	close(fd);
	sscanf(answer, "HTTP/1.1 %d", &status);
	return status;
}

static bool is_well(const char *after)
{
	struct timespec a, b;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &a);
	status = get("/status.json", "localhost");
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (status == 200 && strstr(answer, "\"gpushare.status/1\""))
		return true;
	printf("%s: status %d after %ld s: %.200s\n", after, status, (long)(b.tv_sec - a.tv_sec), answer);
	return false;
}

static int crowd(int n, const char *words)
{
	int i, reached = 0, *fds = calloc((size_t)n, sizeof(*fds));
	bool well;

	for (i = 0; i < n; i++) {
		fds[i] = reach();
		reached += fds[i] >= 0;
		if (fds[i] >= 0)
			say(fds[i], words, strlen(words));
	}
	well = is_well("beside a crowd");
	printf("%d connections\n", reached);
	for (i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	well &= is_well("after a crowd");
	free(fds);
	return !well || reached < n * 9 / 10;
}

/* Each with the statuses that are right; 0: none, as the connection may be closed at once. */
static const struct { const char *what, *text; int right[4]; } oddities[] = {
	{ "nothing", "", { 0 } },
	{ "no request", "\r\n\r\n\r\n", { 0, 400 } },
	{ "binary", "\x16\x03\x01\x02\xff\xff\xfe\x80\r\n\r\n", { 0, 400, 403, 405 } },
	{ "no version", "GET /\r\n\r\n", { 0, 400, 403, 505 } },
	{ "version 9", "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", { 0, 400, 505 } },
	{ "no host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", { 400, 403 } },
	{ "another's host", "GET /status.json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", { 403 } },
	{ "another's host and port", "GET / HTTP/1.1\r\nHost: evil.example:9470\r\nConnection: close\r\n\r\n", { 403 } },
	{ "what begins as an address", "GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\nConnection: close\r\n\r\n", { 403 } },
	{ "a proxy's", "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 400, 404 } },
	{ "a way up", "GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 404 } },
	{ "a NUL in the path", "GET /%00 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 400, 404, 200 } },
	{ "a long way", "GET /status.json/../../../status.json?x=y&x=z#f HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 404 } },
	{ "POST", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello", { 405 } },
	{ "POST without an end", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\nConnection: close\r\n\r\n", { 0, 400, 405, 413 } },
	{ "a length below 0", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\nConnection: close\r\n\r\n", { 0, 400, 405 } },
	{ "chunks of nonsense", "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n\r\n", { 0, 400, 405 } },
	{ "DELETE", "DELETE /status.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 405 } },
	{ "OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 405, 404 } },
	{ "HEAD", "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 200 } },
	{ "an upgrade", "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n\r\n", { 200 } },
	{ "two at once", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", { 200 } },
};

static int odd(void)
{
	size_t i, k;
	int fd, status, bad = 0;
	char *long_one = malloc(1 << 20);

	for (i = 0; i < sizeof(oddities) / sizeof(*oddities); i++) {
		fd = reach();
		say(fd, oddities[i].text, strlen(oddities[i].text));
		shutdown(fd, SHUT_WR);
		status = 0;
		hear(fd, answer, sizeof(answer));
		sscanf(answer, "HTTP/1.%*d %d", &status);
		close(fd);
		for (k = 0; k < 4; k++)
			if (status == oddities[i].right[k])
				break;
		if (k == 4) {
			printf("%s: status %d: %.100s\n", oddities[i].what, status, answer);
			bad = 1;
		}
		if (!strcmp(oddities[i].what, "HEAD") && strstr(answer, "<html")) {
			puts("HEAD has a body");
			bad = 1;
		}
		bad |= !is_well(oddities[i].what);
	}
	/* A path, a header and many headers, of a MiB. */
	for (i = 0; i < 3; i++) {
		k = (size_t)sprintf(long_one, i ? "GET / HTTP/1.1\r\nHost: localhost\r\n" : "GET /");
		while (k < (1 << 20) - 64)
			k += (size_t)sprintf(long_one + k, i < 2 ? "aaaaaaaaaaaaaaaa" : "X: aaaaaaaaaa\r\n");
		fd = reach();
		say(fd, long_one, k);
		shutdown(fd, SHUT_WR);
		status = 0;
		hear(fd, answer, sizeof(answer));
		sscanf(answer, "HTTP/1.%*d %d", &status);
		close(fd);
		if (status && (status < 400 || status > 499)) {
			printf("a long one: status %d\n", status);
			bad = 1;
		}
		bad |= !is_well("a long one");
	}
	free(long_one);
	return bad;
}

static int watch(int n, int seconds)
{
	int i, s, bad = 0;

	for (s = 0; s < seconds; s++) {
		for (i = 0; i < n; i++)
			bad += get("/status.json", "127.0.0.1") != 200;
		poll(NULL, 0, 1000);
	}
	printf("%d unanswered\n", bad);
	return !!bad;
}

int main(int argc, char **argv)
{
	struct rlimit l;
	const char *what = argc > 2 ? argv[2] : "";
	int n = argc > 3 ? atoi(argv[3]) : 0, status;

	port = argc > 1 ? atoi(argv[1]) : 0;
	if (!getrlimit(RLIMIT_NOFILE, &l)) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	if (!strcmp(what, "get") && argc > 3) {
		status = get(argv[3], argc > 4 ? argv[4] : "localhost");
		fputs(answer, stdout);
		return status != 200;
	}
	if (!strcmp(what, "slow"))
		return crowd(n, "GET / HTTP/1.1\r\nHost: loc");
	if (!strcmp(what, "deaf"))
		return crowd(n, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n");
	if (!strcmp(what, "odd"))
		return odd();
	if (!strcmp(what, "watch") && argc > 4)
		return watch(n, atoi(argv[4]));
	fputs("viewer PORT get|slow|deaf|odd|watch ...\n", stderr);
	return 2;
}
