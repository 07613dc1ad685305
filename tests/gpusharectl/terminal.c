// SPDX-License-Identifier: MIT
/*
 * terminal COLUMNS LINES PROGRAM [ARG...]: run a program on a terminal and hold it
 * to a script on standard input, a line a step:
 *
 *	see REGEX	within 30 s a line of the screen matches
 *	gone REGEX	within 30 s none does
 *	key TEXT	is typed
 *	size C L	the terminal is resized, as by a window manager
 *	sleep MS	nothing is read for so long: a slow line
 *	do COMMAND	is run by a shell, elsewhere
 *	signal N	is sent to the program
 *	stops		within 30 s it has stopped itself; and is continued
 *	end STATUS	within 30 s it has ended so, and left the terminal as it was:
 *			its settings, the main screen, a cursor, wrapping on
 *
 * The terminal knows what gpusharectl uses and no more; what it doesn't know, or a
 * line that is wider than the screen while wrapping is on, is a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MOST 300
#define LIMIT_S 30

static int master, columns, lines, x, y;
static char screen[MOST][MOST + 1];	/* a byte a cell: what isn't ASCII is '.' */
static bool other_screen, cursor = true, wraps = true;
static char escape[32], fault[200];
static size_t escape_length;
static pid_t child;
static int status;
static bool ended;

__attribute__((format(printf, 1, 2))) static void blame(const char *fmt, ...)
{
	va_list args;

	if (fault[0])
		return;
	va_start(args, fmt);
	vsnprintf(fault, sizeof(fault), fmt, args);
	va_end(args);
}

static void clear(int from_y, int from_x, int to_y)
{
	int i;

	for (i = from_y; i < to_y; i++) {
		memset(screen[i] + (i == from_y ? from_x : 0), ' ',
		       (size_t)(columns - (i == from_y ? from_x : 0)));
		screen[i][columns] = 0;
	}
}

static void resize(int c, int l)
{
	struct winsize w = { .ws_col = (unsigned short)c, .ws_row = (unsigned short)l };

	columns = c;
	lines = l;
	x = y = 0;
	clear(0, 0, lines);
	if (ioctl(master, TIOCSWINSZ, &w))
		blame("can't resize the terminal");
}

static void set_mode(const char *mode, bool on)
{
	if (!strcmp(mode, "?1049")) {
		other_screen = on;
		clear(0, 0, lines);
		x = y = 0;
	} else if (!strcmp(mode, "?25")) {
		cursor = on;
	} else if (!strcmp(mode, "?7")) {
		wraps = on;
	} else {
		blame("unknown mode %s", mode);
	}
}

/* A whole sequence behind ESC [ */
static void obey(char *s)
{
	char last = s[strlen(s) - 1];

	s[strlen(s) - 1] = 0;
	if (last == 'h' || last == 'l')
		set_mode(s, last == 'h');
	else if (last == 'H' && !*s)
		x = y = 0;
	else if (last == 'K' && !*s)
		clear(y, x < columns ? x : columns, y + 1);
	else if (last == 'J' && !*s)
		clear(y, x < columns ? x : columns, lines);
	else if (last != 'm')
		blame("unknown sequence ESC [ %s%c", s, last);
}

static void put(unsigned char c)
{
	if (escape_length) {
		escape[escape_length++] = (char)c;
		if (escape_length == 2 && c != '[')
			blame("unknown escape %c", c);
		if (escape_length == sizeof(escape) - 1)
			blame("an endless escape");
		if ((escape_length > 2 && c >= '@' && c <= '~') || fault[0]) {
			escape[escape_length] = 0;
			escape_length = 0;
			obey(escape + 2);
		}
	} else if (c == 27) {
		escape[escape_length++] = (char)c;
	} else if (c == '\r') {
		x = 0;
	} else if (c == '\n') {
		if (++y >= lines) {
			if (other_screen)
				blame("the screen scrolls");
			y = lines - 1;
		}
	} else if (c < 0x20 || c == 0x7f) {
		blame("control character %d", c);
	} else if ((c & 0xc0) != 0x80) {	/* not the rest of a character */
		if (x >= columns && wraps && other_screen)
			blame("line %d is wider than %d", y, columns);
		if (x < columns)
			screen[y][x] = (char)(c < 0x80 ? c : '.');
		x++;
	}
}

/* Reads for at most @ms; false if the program has closed the terminal. */
static bool read_some(int ms)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	unsigned char buffer[4096];
	ssize_t n, i;

	if (poll(&p, 1, ms) <= 0)
		return true;
	n = read(master, buffer, sizeof(buffer));
	for (i = 0; i < n; i++)
		put(buffer[i]);
	return n > 0;
}

static bool matches(const char *pattern)
{
	regex_t r;
	bool found = false;
	int i;

	if (regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB)) {
		blame("a bad pattern: %s", pattern);
		return false;
	}
	for (i = 0; i < lines && !found; i++)
		found = !regexec(&r, screen[i], 0, NULL, 0);
	regfree(&r);
	return found;
}

static bool has_ended(const char *unused)
{
	(void)unused;
	ended = ended || waitpid(child, &status, WNOHANG) == child;
	return ended;
}

static bool has_stopped(const char *unused)
{
	int s;

	(void)unused;
	return waitpid(child, &s, WNOHANG | WUNTRACED) == child && WIFSTOPPED(s);
}

static bool until(bool (*what)(const char *), const char *arg, bool wanted)
{
	time_t limit = time(NULL) + LIMIT_S;

	while (what(arg) != wanted) {
		if (fault[0] || time(NULL) > limit)
			return false;
		if (!read_some(50))
			poll(NULL, 0, 20);
	}
	return true;
}

static void end(int wanted, const struct termios *before)
{
	struct termios after;

	if (!until(has_ended, "", true)) {
		blame("it doesn't end");
		return;
	}
	while (read_some(0) && poll(&(struct pollfd){ .fd = master, .events = POLLIN }, 1, 0) > 0)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != wanted)
		blame("it ended with %#x", status);
	if (tcgetattr(master, &after) || after.c_lflag != before->c_lflag ||
	    after.c_iflag != before->c_iflag || after.c_oflag != before->c_oflag)
		blame("the terminal's settings aren't what they were");
	if (other_screen || !cursor || !wraps)
		blame("the terminal was left with %s", other_screen ? "another screen" :
		      cursor ? "wrapping off" : "no cursor");
}

static void step(char *line, const struct termios *before)
{
	char *arg = line + strcspn(line, " ");
	int c, l;

	if (*arg)
		*arg++ = 0;
	if (!strcmp(line, "see")) {
		if (!until(matches, arg, true))
			blame("no line matches");
	} else if (!strcmp(line, "gone")) {
		if (!until(matches, arg, false))
			blame("a line still matches");
	} else if (!strcmp(line, "key")) {
		if (write(master, arg, strlen(arg)) != (ssize_t)strlen(arg))
			blame("can't type");
	} else if (!strcmp(line, "size") && sscanf(arg, "%d %d", &c, &l) == 2) {
		resize(c, l);
	} else if (!strcmp(line, "sleep")) {
		poll(NULL, 0, atoi(arg));
	} else if (!strcmp(line, "do")) {
		if (system(arg))
			blame("it fails");
	} else if (!strcmp(line, "signal")) {
		kill(child, atoi(arg));
	} else if (!strcmp(line, "stops")) {
		if (!until(has_stopped, "", true))
			blame("it doesn't stop");
		while (read_some(50) && poll(&(struct pollfd){ .fd = master, .events = POLLIN },
					     1, 50) > 0)
			;
		if (other_screen || !cursor)
			blame("it stopped on its own screen");
		kill(child, SIGCONT);
	} else if (!strcmp(line, "end")) {
		end(atoi(arg), before);
	} else {
		blame("no such step");
	}
}

static void start(char **argv)
{
	int slave = open(ptsname(master), O_RDWR);

	setsid();
	ioctl(slave, TIOCSCTTY, 0);
	dup2(slave, 0);
	dup2(slave, 1);
	dup2(slave, 2);
	if (slave > 2)
		close(slave);
	close(master);
	setenv("TERM", "xterm", 1);
	execv(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	struct termios before;
	char line[300], copy[300];
	int i, hold;

	if (argc < 4 || atoi(argv[1]) < 1 || atoi(argv[1]) > MOST || atoi(argv[2]) < 1 ||
	    atoi(argv[2]) > MOST)
		return 2;
	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || grantpt(master) || unlockpt(master)) {
		perror("terminal");
		return 2;
	}
	/* Kept open: without anybody at the other side the settings would be lost. */
	hold = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	resize(atoi(argv[1]), atoi(argv[2]));
	tcgetattr(hold, &before);
	child = fork();
	if (!child)
		start(argv + 3);
	while (!fault[0] && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		strcpy(copy, line);
		if (*line && *line != '#')
			step(line, &before);
	}
	if (!ended)
		kill(child, SIGKILL);
	if (!fault[0])
		return 0;
	printf("at \"%s\": %s; on the screen:\n", copy, fault);
	for (i = 0; i < lines; i++)
		printf("| %s\n", screen[i]);
	return 1;
}
