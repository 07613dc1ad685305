// SPDX-License-Identifier: MIT
/*
 * What whoever runs us as a service is told: that we are ready, that the loop still goes
 * round (systemd's WatchdogSec: it starts us anew if that doesn't come), and for
 * `systemctl status` how long its longest round was, which is what others waited at most.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpushared.h"

static void tick(struct timer *t);
static struct timer timer = { .due = tick };
static uint64_t period_ns;
static uint64_t longest, longest_now;	/* since the start, and since the last tick */

void service_tell(const char *state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	int fd;

	if (!path || strlen(path) >= sizeof(addr.sun_path))
		return;
	strcpy(addr.sun_path, path);
	if (*path == '@')
		addr.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&addr,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) < 0)
		say("NOTIFY_SOCKET %s: %s", path, strerror(errno));
	close(fd);
}

/* The loop was busy for so long and looked at nothing new meanwhile. */
void service_round(uint64_t ns)
{
	longest = max(longest, ns);
	longest_now = max(longest_now, ns);
}

static void tick(struct timer *t)
{
	char text[200];

	timer_arm(t, now_ns() + period_ns);
	snprintf(text, sizeof(text), "WATCHDOG=1\nSTATUS=%u connections; longest round %llu us, "
		 "of late %llu us\n", d.nr_peers, (unsigned long long)(longest / 1000),
		 (unsigned long long)(longest_now / 1000));
	longest_now = 0;
	service_tell(text);
}

/* Three times as often as is asked for: a busy machine isn't a hung daemon. */
void service_init(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long n = usec ? strtoull(usec, NULL, 10) : 0;

	if (!n || n > 1000000000000ull || (pid && atoi(pid) != getpid()))
		return;
	period_ns = max(n * 1000 / 3, 1000ull);
	timer_arm(&timer, now_ns());
}
