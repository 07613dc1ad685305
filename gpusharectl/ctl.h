/* SPDX-License-Identifier: MIT */
/*
 * What all commands share: the command table, the options, the connection, and
 * how errors are said. One file per command; each has a struct gs_command,
 * which also drives the help, the completion and the test of the man page.
 */
#ifndef GS_CTL_H
#define GS_CTL_H

#include <linux/gpushare.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "json.h"
#include "ulib/clock.h"

enum gs_exit {
	GS_EXIT_OK,
	GS_EXIT_FAILURE,
	GS_EXIT_USAGE,
	GS_EXIT_NOT_FOUND,	/* no such target or device */
	GS_EXIT_PERMISSION,
	GS_EXIT_ABSENT,		/* no arbiter */
	GS_EXIT_REFUSED,	/* by admission */
	GS_EXIT_TIMEOUT,
	GS_EXIT_UNKEPT,		/* done, but a restart of the arbiter will lose it */
	GS_EXIT_RUN_FAILED = 125,	/* these three of run, as env and timeout have them */
	GS_EXIT_RUN_DENIED = 126,
	GS_EXIT_RUN_NOT_FOUND = 127,
};

struct gs_option {
	const char *name;
	const char *arg;	/* what it takes, NULL: nothing */
	const char *help;
	char letter;		/* 0: has none */
};

#define GS_OPTIONS_MOST	24

struct gs_ctl;

struct gs_command {
	const char *name;
	const char *args;	/* as the usage line shows them */
	const char *summary;
	const char *details;	/* more for help, or NULL */
	const struct gs_option *options;	/* ended by one without a name, or NULL */
	int (*run)(struct gs_ctl *ctl, int argc, char **argv);	/* argv[0]: the first operand */
	const char *operands;	/* for the completion: "target", "device", "file", ... */
	bool stop_at_operand;	/* what follows the first operand is another's */
	int least, most;	/* operands; most < 0: any number */
};

struct gs_ctl {
	const struct gs_command *command;
	const char *values[GS_OPTIONS_MOST];	/* of the command's options; "" without arg */
	struct gs_transport *arbiter;
	const char *where;	/* --arbiter */
	bool json, pretty, quiet, colour;
	bool may_start;		/* the user's own daemon, where there is no arbiter */
};

extern const struct gs_command gs_status_command, gs_list_command, gs_show_command,
	gs_set_command, gs_reset_command, gs_device_command, gs_run_command, gs_top_command,
	gs_monitor_command, gs_record_command, gs_plot_command, gs_why_command,
	gs_apply_command, gs_save_command, gs_gate_command, gs_doctor_command, gs_metrics_command,
	gs_account_command, gs_usage_command, gs_hook_command, gs_web_command,
	gs_completion_command, gs_version_command, gs_help_command;

/* All commands, ended by NULL. */
extern const struct gs_command *const gs_commands[];
extern const struct gs_option gs_common_options[];

const struct gs_command *gs_command_find(const char *name);
void gs_command_help(const struct gs_command *command, FILE *out);

/* Called before an error is said, by who has the terminal for itself; NULL: nobody. */
extern void (*gs_before_error)(void);
/* gpusharectl: SUBJECT: MESSAGE. Returns @code. */
int gs_error(int code, const char *subject, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a usage error, with the way to the help. */
int gs_usage(const struct gs_ctl *ctl, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What an arbiter's -errno means for the caller, in words and as an exit status. */
int gs_call_error(const char *subject, int rc);

/* Connects if that wasn't done yet: 0, or an exit status, and said why. */
int gs_connect(struct gs_ctl *ctl);
/* The one place where commands reach the arbiter: 0 or -errno. */
int gs_call(struct gs_ctl *ctl, unsigned long cmd, void *arg);
/*
 * For who goes on whatever comes: connects if that wasn't done yet, and asks since when the
 * arbiter counts, which tells it from one that follows. 0, or -errno and there is no
 * connection; nothing is said.
 */
int gs_find_arbiter(struct gs_ctl *ctl, uint64_t *started_ns);
void gs_leave_arbiter(struct gs_ctl *ctl);
/* Why what was set last would be lost with the daemon: an error number, 0 if it wouldn't. */
int gs_unkept(struct gs_ctl *ctl);
/* After something was set: 0, or GS_EXIT_UNKEPT, and said why it won't last. */
int gs_check_kept(struct gs_ctl *ctl, const char *subject);

/* The JSON object of a command's answer: its schema is "gpushare.NAME/1". */
void gs_answer_begin(struct gs_json *j, const struct gs_ctl *ctl, const char *name);
void gs_answer_begin_in(struct gs_json *j, const struct gs_ctl *ctl, const char *name, FILE *out);

bool gs_stopped(void);		/* since gs_catch_stop(): SIGINT, SIGTERM or SIGHUP came */
void gs_catch_stop(void);

#endif
