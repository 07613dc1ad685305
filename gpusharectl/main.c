// SPDX-License-Identifier: MIT
#include "ctl.h"
#include "term.h"
#include "ulib/transport.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct gs_command *const gs_commands[] = {
	&gs_status_command, &gs_list_command, &gs_show_command, &gs_set_command,
	&gs_reset_command, &gs_device_command, &gs_run_command, &gs_top_command,
	&gs_why_command, &gs_monitor_command, &gs_record_command, &gs_plot_command,
	&gs_apply_command, &gs_save_command, &gs_gate_command, &gs_metrics_command,
	&gs_account_command, &gs_usage_command, &gs_hook_command, &gs_web_command,
	&gs_doctor_command,
	&gs_completion_command, &gs_version_command, &gs_help_command, NULL,
};

enum { COMMON_JSON, COMMON_PRETTY, COMMON_QUIET, COMMON_COLOR, COMMON_ARBITER, COMMON_HELP,
       COMMON_VERSION };

const struct gs_option gs_common_options[] = {
	{ "json", NULL, "write JSON, in the schemas of gpusharectl.md", 'j' },
	{ "pretty", NULL, "JSON with line breaks", 'p' },
	{ "quiet", NULL, "say nothing but errors", 'q' },
	{ "color", "WHEN", "auto, always or never (NO_COLOR is honoured)", 0 },
	{ "arbiter", "PATH", "the device node or socket to use", 0 },
	{ "help", NULL, "say this", 'h' },
	{ "version", NULL, "say this tool's version; gpusharectl version: the arbiter's too", 'V' },
	{ NULL, NULL, NULL, 0 },
};

static volatile sig_atomic_t stopped;

const struct gs_command *gs_command_find(const char *name)
{
	const struct gs_command *const *c;

	for (c = gs_commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

void (*gs_before_error)(void);

int gs_error(int code, const char *subject, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (gs_before_error)
		gs_before_error();
	fflush(stdout);
	fputs("gpusharectl: ", stderr);
	if (subject) {
		gs_print_safe(stderr, subject);
		fputs(": ", stderr);
	}
	gs_print_safe(stderr, line);
	fputc('\n', stderr);
	return code;
}

int gs_usage(const struct gs_ctl *ctl, const char *format, ...)
{
	const char *name = ctl->command ? ctl->command->name : NULL;
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	return gs_error(GS_EXIT_USAGE, name, "%s; see gpusharectl%s%s --help", line,
			name ? " " : "", name ? name : "");
}

static const struct { int error; int code; const char *words; } meanings[] = {
	{ ENOENT, GS_EXIT_NOT_FOUND, "it isn't there" },
	{ ENODEV, GS_EXIT_NOT_FOUND, "no such device; gpusharectl device list shows those known" },
	{ ESRCH, GS_EXIT_NOT_FOUND, "no such process" },
	{ EPERM, GS_EXIT_PERMISSION,
	  "not allowed; it takes root (with a user's own daemon: that user), or write access to "
	  "the parent's cgroup.subtree_control" },
	{ EACCES, GS_EXIT_PERMISSION, "not allowed for this user; ask who administers the arbiter" },
	{ EXDEV, GS_EXIT_PERMISSION, "its parent can't be reached from this cgroup namespace" },
	{ EBUSY, GS_EXIT_REFUSED, "refused: too much is guaranteed already" },
	{ EUSERS, GS_EXIT_REFUSED, "refused: the arbiter's limit of them is reached" },
	{ ENOSPC, GS_EXIT_REFUSED, "refused: the arbiter's limit of devices is reached" },
	{ EEXIST, GS_EXIT_FAILURE, "it is there already" },
	{ ERANGE, GS_EXIT_FAILURE, "a value is out of its range; gpusharectl help set says which" },
	{ EBADF, GS_EXIT_NOT_FOUND, "that is no cgroup v2 directory" },
	{ EPIPE, GS_EXIT_ABSENT, "the arbiter went away; try again" },
	{ ETIMEDOUT, GS_EXIT_TIMEOUT, "the arbiter gave no answer in time" },
	{ EOPNOTSUPP, GS_EXIT_FAILURE, "this arbiter can't do that" },
	{ ENOTTY, GS_EXIT_FAILURE, "this arbiter doesn't know that command; it may be older" },
	{ E2BIG, GS_EXIT_FAILURE, "the arbiter is older than this gpusharectl" },
};

int gs_call_error(const char *subject, int rc)
{
	size_t i;

	for (i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (meanings[i].error == -rc)
			return gs_error(meanings[i].code, subject, "%s", meanings[i].words);
	return gs_error(GS_EXIT_FAILURE, subject, "%s", strerror(-rc));
}

int gs_connect(struct gs_ctl *ctl)
{
	int rc;

	if (ctl->arbiter)
		return 0;
	rc = gs_transport_open(ctl->where, ctl->may_start ? GS_TRANSPORT_START : 0, &ctl->arbiter);
	switch (rc) {
	case 0:
		return 0;
	case -EACCES:
	case -EPERM:
		return gs_error(GS_EXIT_PERMISSION, "arbiter", "there is one, but not for this "
				"user; be of its group (the node's or socket's), or root");
	case -EPROTO:
		return gs_error(GS_EXIT_ABSENT, "arbiter", "what answers there is no arbiter; "
				"check --arbiter or GPUSHARE_ARBITER");
	case -ETIMEDOUT:
		return gs_error(GS_EXIT_TIMEOUT, "arbiter", "there is one, but it hangs and "
				"doesn't answer; start it anew (systemctl restart gpushared)");
	case -EUSERS:
		return gs_error(GS_EXIT_REFUSED, "arbiter", "it has no room for one more: a limit of "
				"clients, of this user, its container or all, is reached; end some, or be "
				"root");
	case -ENODATA:
		return gs_error(GS_EXIT_ABSENT, "arbiter", "none is to be used, GPUSHARE_ARBITER or "
				"--arbiter says so");
	case -ENOLINK:
		return gs_error(GS_EXIT_ABSENT, "arbiter", "there is none in this container; give it "
				"the machine's (/run/gpushare or /dev/gpushare), or say "
				"GPUSHARE_ARBITER=private for one of its own");
	case -ECONNREFUSED:
		return gs_error(GS_EXIT_ABSENT, "arbiter", "it ended and left its socket; start "
				"gpushared again");
	}
	return gs_error(GS_EXIT_ABSENT, "arbiter", "there is none (%s); start one: systemctl start "
			"gpushared.socket, gpushared --user for yourself alone, or modprobe gpushare; "
			"gpusharectl doctor says more", strerror(-rc));
}

int gs_call(struct gs_ctl *ctl, unsigned long cmd, void *arg)
{
	return gs_transport_call(ctl->arbiter, cmd, arg);
}

void gs_leave_arbiter(struct gs_ctl *ctl)
{
	gs_transport_close(ctl->arbiter);
	ctl->arbiter = NULL;
}

int gs_find_arbiter(struct gs_ctl *ctl, uint64_t *started_ns)
{
	struct gpushare_version v = { .size = sizeof(v) };
	int rc;

	if (!ctl->arbiter) {
		rc = gs_transport_open(ctl->where, 0, &ctl->arbiter);
		if (rc)
			return rc;
	}
	rc = gs_call(ctl, GPUSHARE_VERSION, &v);
	if (rc)
		gs_leave_arbiter(ctl);
	*started_ns = v.started_ns;
	return rc;
}

int gs_unkept(struct gs_ctl *ctl)
{
	struct gpushare_version v = { .size = sizeof(v) };

	return gs_call(ctl, GPUSHARE_VERSION, &v) ? 0 : (int)v.unkept;
}

int gs_check_kept(struct gs_ctl *ctl, const char *subject)
{
	int error = gs_unkept(ctl);

	return !error ? 0 : gs_error(GS_EXIT_UNKEPT, subject, "done, but lost when the daemon is "
				     "started anew: its state file can't be written (%s); it is tried "
				     "again", strerror(error));
}

void gs_answer_begin(struct gs_json *j, const struct gs_ctl *ctl, const char *name)
{
	gs_answer_begin_in(j, ctl, name, stdout);
}

void gs_answer_begin_in(struct gs_json *j, const struct gs_ctl *ctl, const char *name, FILE *out)
{
	char schema[64];
	struct timespec ts;

	snprintf(schema, sizeof(schema), "gpushare.%s/1", name);
	clock_gettime(CLOCK_REALTIME, &ts);
	gs_json_begin(j, out, ctl->pretty);
	gs_json_object(j, NULL);
	gs_json_string(j, "schema", schema);
	if (ctl->arbiter)
		gs_json_string(j, "mode", gs_transport_is_kernel(ctl->arbiter) ? "kernel" : "daemon");
	gs_json_unsigned(j, "time_usec", ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000);
}

static void on_stop(int signal_nr)
{
	(void)signal_nr;
	stopped = 1;
}

void gs_catch_stop(void)
{
	struct sigaction sa = { .sa_handler = on_stop };	/* no SA_RESTART: waits end */

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

bool gs_stopped(void)
{
	return stopped;
}

static void help_options(const struct gs_option *o, FILE *out)
{
	char left[64];

	for (; o && o->name; o++) {
		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
			 o->arg ? "=" : "", o->arg ? o->arg : "");
		fprintf(out, "  %-24s %s\n", left, o->help);
	}
}

void gs_command_help(const struct gs_command *command, FILE *out)
{
	const struct gs_command *const *c;

	if (command) {
		fprintf(out, "usage: gpusharectl %s [OPTION...]%s%s\n%s.\n", command->name,
			*command->args ? " " : "", command->args, command->summary);
		if (command->details)
			fprintf(out, "\n%s", command->details);
		fputs("\noptions:\n", out);
		help_options(command->options, out);
		help_options(gs_common_options, out);
		return;
	}
	fputs("usage: gpusharectl [OPTION...] COMMAND [ARGUMENT...]\n"
	      "Look at and divide the time and memory of shared accelerators.\n\ncommands:\n", out);
	for (c = gs_commands; *c; c++)
		fprintf(out, "  %-11s %s\n", (*c)->name, (*c)->summary);
	fputs("\noptions, before or after the command:\n", out);
	help_options(gs_common_options, out);
	fputs("\ngpusharectl help COMMAND says more; so does the manual page gpusharectl(1).\n", out);
}

static int take_common(struct gs_ctl *ctl, int which, const char *arg)
{
	switch (which) {
	case COMMON_PRETTY:
		ctl->pretty = true;
		/* fall through */
	case COMMON_JSON:
		ctl->json = true;
		return 0;
	case COMMON_QUIET:
		ctl->quiet = true;
		return 0;
	case COMMON_COLOR:
		if (!gs_colour_choose(arg, &ctl->colour))
			return 0;
		return gs_usage(ctl, "--color=%s: not auto, always or never", arg);
	case COMMON_ARBITER:
		ctl->where = arg;
		return 0;
	}
	if (which == COMMON_VERSION)
		puts("gpusharectl " GPUSHARE_RELEASE);
	else
		gs_command_help(ctl->command, stdout);
	exit(GS_EXIT_OK);
}

/* One option table as getopt_long wants it; values from @base on. */
static int add_options(const struct gs_option *o, struct option *longs, int n, char *shorts,
		       int base)
{
	size_t length = strlen(shorts);

	for (; o && o->name; o++, n++, base++) {
		longs[n] = (struct option){ o->name, o->arg ? required_argument : no_argument,
					    NULL, base };
		if (o->letter) {
			shorts[length++] = o->letter;
			if (o->arg)
				shorts[length++] = ':';
		}
	}
	shorts[length] = 0;
	return n;
}

/* The table's number of a short option, plus @base; -1 if it isn't in it. */
static int by_letter(const struct gs_option *o, int letter, int base)
{
	for (; o && o->name; o++, base++)
		if (o->letter && o->letter == letter)
			return base;
	return -1;
}

#define OPTION_BASE	1000
#define COMMON_BASE	2000

static int parse(struct gs_ctl *ctl, int *argc, char ***argv)
{
	const struct gs_option *own = ctl->command ? ctl->command->options : NULL;
	struct option longs[GS_OPTIONS_MOST + 8] = { 0 };
	char shorts[2 * GS_OPTIONS_MOST + 16];
	int n, c, rc;

	strcpy(shorts, !ctl->command || ctl->command->stop_at_operand ? "+:" : ":");
	n = add_options(own, longs, 0, shorts, OPTION_BASE);
	add_options(gs_common_options, longs, n, shorts, COMMON_BASE);
	opterr = 0;
	optind = 0;	/* so that glibc begins anew */
	while ((c = getopt_long(*argc, *argv, shorts, longs, NULL)) != -1) {
		if (c == '?' || c == ':') {
			const char *word = (*argv)[optind - 1];
			char letter[3] = { '-', (char)optopt, 0 };

			if (optopt && optopt < 256)
				word = letter;
			return c == '?' ? gs_usage(ctl, "%s: no such option", word) :
				gs_usage(ctl, "%s: it needs a value", word);
		}
		if (c < OPTION_BASE && by_letter(own, c, OPTION_BASE) >= 0)
			c = by_letter(own, c, OPTION_BASE);
		else if (c < OPTION_BASE)
			c = by_letter(gs_common_options, c, COMMON_BASE);
		if (c < COMMON_BASE) {
			ctl->values[c - OPTION_BASE] = optarg ? optarg : "";
			continue;
		}
		rc = take_common(ctl, c - COMMON_BASE, optarg);
		if (rc)
			return rc;
	}
	*argc -= optind;
	*argv += optind;
	return 0;
}

static int run_command(struct gs_ctl *ctl, int argc, char **argv)
{
	int rc;

	ctl->command = gs_command_find(argv[0]);
	if (!ctl->command)
		return gs_error(GS_EXIT_USAGE, argv[0], "no such command; gpusharectl help lists "
				"them");
	rc = parse(ctl, &argc, &argv);
	if (rc)
		return rc;
	if (argc < ctl->command->least)
		return gs_usage(ctl, "it needs %s", ctl->command->args);
	if (ctl->command->most >= 0 && argc > ctl->command->most)
		return gs_usage(ctl, "%s: too many arguments", argv[ctl->command->most]);
	return ctl->command->run(ctl, argc, argv);
}

int main(int argc, char **argv)
{
	struct gs_ctl ctl = { 0 };
	int rc;

	gs_colour_choose("auto", &ctl.colour);
	rc = parse(&ctl, &argc, &argv);
	if (rc)
		return rc;
	if (!argc) {
		gs_command_help(NULL, stderr);
		return GS_EXIT_USAGE;
	}
	rc = run_command(&ctl, argc, argv);
	gs_transport_close(ctl.arbiter);
	if (fflush(stdout) && !rc && errno != EPIPE)
		rc = gs_error(GS_EXIT_FAILURE, "standard output", "%s", strerror(errno));
	return rc;
}
