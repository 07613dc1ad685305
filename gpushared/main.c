// SPDX-License-Identifier: MIT
/*
 * gpushared: starting and ending.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gpushared.h"

#define SYSTEM_SOCKET	"/run/gpushare/arbiter.sock"
#define SYSTEM_STATE	"/var/lib/gpushare/state"
#define FILES_OWN	128	/* open files that aren't peers' */
#define FILES_PEER	4	/* its connection, its pidfd, its cgroup's file and its doorbell */

struct daemon d = {
	.peers = { &d.peers, &d.peers },
	.clients = { &d.clients, &d.clients },
	.devices = { &d.devices, &d.devices },
	.groups = { &d.groups, &d.groups },
	.changed = { &d.changed, &d.changed },
	.waits = { &d.waits, &d.waits },
	.next_device = 1,
	.next_client = 1,
	.pci_path = "/sys/bus/pci/devices",
};

static struct options {
	bool foreground;
	unsigned int idle_s;
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char state[4096];
} o = { .idle_s = 60 };

static struct source listener = { .fd = -1, .ready = peer_accept };
static void signalled(struct source *s, uint32_t events);
static struct source signals = { .fd = -1, .ready = signalled };
static void unused(struct timer *t);
static struct timer idle = { .due = unused };

static const char help[] =
"Usage: gpushared [OPTION]...\n"
"Share accelerators among programs, without the kernel module.\n"
"\n"
"  --user            for this user alone (the default); ends when unused\n"
"  --system          for everybody on this machine\n"
"  --socket PATH     listen here; default $XDG_RUNTIME_DIR/gpushare/arbiter.sock,\n"
"                    with --system " SYSTEM_SOCKET "\n"
"  --state PATH      keep shares and devices here, \"none\" for nowhere; default\n"
"                    beside the socket, with --system " SYSTEM_STATE "\n"
"  --foreground      don't go to the background\n"
"  --idle-exit SECS  with --user: end when unused for so long, 0 for never\n"
"                    (default 60)\n"
"  --pci DIR         look for devices here (default /sys/bus/pci/devices)\n"
"  --help, --version\n"
"\n"
"See gpushared(8). Shares are set by gpusharectl(1).\n";

/* Whoever reads it may have stopped reading: then the line is lost, and nobody waits. */
static void line_out(const char *line)
{
	char text[CGROUP_PATH_MAX + 300];
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
	int n = snprintf(text, sizeof(text), "gpushared: %s\n", line);

	if (send(p.fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK)
		return;
	if (poll(&p, 1, 0) == 1 && p.revents & POLLOUT && write(p.fd, text, (size_t)n) < 0)
		return;
}

void say(const char *fmt, ...)
{
	char line[CGROUP_PATH_MAX + 256], *at;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* Tenants choose names, and it may be a terminal. */
	for (at = line; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	line_out(line);
}

static void signalled(struct source *s, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		device_discover();
	else
		d.stop = true;
}

/* In user mode: nobody was here for a while, and nobody is at the door. */
static void unused(struct timer *t)
{
	(void)t;
	peer_accept(&listener, EPOLLIN);
	if (!d.nr_peers)
		d.stop = true;
}

/* Called when the last peer has gone, and at the start. */
void main_unused(void)
{
	if (!d.system && o.idle_s)
		timer_arm(&idle, now_ns() + o.idle_s * 1000000000ull);
}

static unsigned int to_number(const char *text, const char *option)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end || end == text || v > 1000000) {
		fprintf(stderr, "gpushared: %s: \"%s\" is no number of seconds\n", option, text);
		exit(2);
	}
	return (unsigned int)v;
}

static void too_long(const char *what)
{
	fprintf(stderr, "gpushared: %s: the path is too long\n", what);
	exit(2);
}

static void take_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "user", no_argument, NULL, 'u' },
		{ "system", no_argument, NULL, 's' },
		{ "socket", required_argument, NULL, 'S' },
		{ "state", required_argument, NULL, 't' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "idle-exit", required_argument, NULL, 'i' },
		{ "pci", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
		switch (c) {
		case 'u':
			d.system = false;
			break;
		case 's':
			d.system = true;
			break;
		case 'S':
			if (strlen(optarg) >= sizeof(o.socket))
				too_long("--socket");
			strcpy(o.socket, optarg);
			break;
		case 't':
			if (strlen(optarg) >= sizeof(o.state) - 8)
				too_long("--state");
			strcpy(o.state, optarg);
			break;
		case 'f':
			o.foreground = true;
			break;
		case 'i':
			o.idle_s = to_number(optarg, "--idle-exit");
			break;
		case 'p':
			d.pci_path = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			exit(0);
		case 'v':
			puts("gpushared " GPUSHARE_RELEASE);
			exit(0);
		default:
			fputs("Try gpushared --help.\n", stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "gpushared: %s: unexpected; try gpushared --help\n", argv[optind]);
		exit(2);
	}
}

static int default_paths(void)
{
	int err = 0;

	if (!o.socket[0] && d.system)
		strcpy(o.socket, SYSTEM_SOCKET);
	else if (!o.socket[0])
		err = gs_user_socket(o.socket, sizeof(o.socket), true);
	if (err == -EPERM)
		say("%s isn't this user's alone: remove it, or set XDG_RUNTIME_DIR", o.socket);
	else if (err)
		say("no place for the socket: %s; set XDG_RUNTIME_DIR", strerror(-err));
	if (err)
		return err;
	if (!o.state[0] && d.system)
		strcpy(o.state, SYSTEM_STATE);
	else if (!o.state[0])
		snprintf(o.state, sizeof(o.state), "%s.state", o.socket);
	d.state_path = strcmp(o.state, "none") ? o.state : NULL;
	return 0;
}

static void raise_limits(void)
{
	struct rlimit r;

	d.max_peers = 256;
	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = min(r.rlim_max, (rlim_t)262144);
	setrlimit(RLIMIT_NOFILE, &r);
	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur > FILES_OWN)
		d.max_peers = (unsigned int)((r.rlim_cur - FILES_OWN - r.rlim_cur / 16) /
					   FILES_PEER);
}

/* After the fork: epoll looks at the signals of the process that calls it. */
static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals.fd < 0 ? -errno : loop_add(&signals, EPOLLIN);
}

static int set_up(void)
{
	int err;

	raise_limits();
	cgroup_init();
	err = loop_init();
	if (err)
		return err;
	host_init();
	group_init();
	tenant_init();
	/* First what is there: a share for one device is kept only if that is known. */
	device_discover();
	if (d.state_path)
		state_load(d.state_path);
	device_watch();	/* without it new devices are found by SIGHUP */
	main_unused();
	return loop_add(&listener, EPOLLIN);
}

static void tear_down(void)
{
	/*
	 * Those at the door are refused when the keeper closes it, as they may have sent what
	 * hangs who closes it.
	 */
	loop_forget(&listener);
	place_leave(listener.fd);
	peer_close_all();
	client_settle();
	peer_end_round();
	state_writer_stop();
	loop_remove(&signals);
	timer_stop(&idle);
	device_forget_all();
	group_forget_all();
	peer_forget_all();
	loop_end();
	place_unlock();
}

int main(int argc, char **argv)
{
	int err;

	take_options(argc, argv);
	d.uid = geteuid();
	if (default_paths())
		return 1;
	/* Whoever starts us in the background is content with another one of this user. */
	err = place_take(o.socket, !d.system && !o.foreground, &listener.fd);
	if (err)
		return err;
	err = set_up();
	/* Whoever started us goes on when this process ends: callers are heard from now on. */
	if (!err && !o.foreground && place_passed_socket() < 0) {
		pid_t pid = fork();

		if (pid > 0) {
			place_tell_pid(pid);
			_exit(0);
		}
		err = pid < 0 ? -errno : 0;
		setsid();
	}
	if (!err)
		err = watch_signals();
	if (!err)
		err = porter_init();
	if (!err)
		err = cgroup_files();
	if (!err)
		err = state_writer_start();
	if (err) {
		say("can't start: %s", strerror(-err));
		return 1;
	}
	peer_init();
	service_init();
	service_tell("READY=1");
	loop_run();
	service_tell("STOPPING=1");
	tear_down();
	return 0;
}
