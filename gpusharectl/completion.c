// SPDX-License-Identifier: MIT
/*
 * gpusharectl completion: scripts for shells, written from the command table, so
 * that they know what the tool knows. Targets and devices are asked for when
 * they are wanted, by `completion targets` and `completion devices`.
 */
#include "ulib/transport.h"
#include "ctl.h"
#include "events.h"
#include "props.h"
#include "query.h"

#include <string.h>

static void word_list(const struct gs_option *o, const char *format_plain, const char *format_arg)
{
	for (; o && o->name; o++)
		printf(o->arg ? format_arg : format_plain, o->name);
}

static void props_list(const struct gs_prop *p, const char *suffix)
{
	for (; p->name; p++)
		printf("%s%s ", p->name, suffix);
}

/* The shell words that an operand of this kind may be, as a command substitution or text. */
static void operand_words(const char *kind)
{
	uint32_t type;

	if (!strcmp(kind, "target"))
		fputs("self $(gpusharectl completion targets 2>/dev/null)", stdout);
	else if (!strcmp(kind, "device"))
		fputs("$(gpusharectl completion devices 2>/dev/null)", stdout);
	else if (!strcmp(kind, "share-props"))
		props_list(gs_share_props, "=");
	else if (!strcmp(kind, "share-prop-names"))
		props_list(gs_share_props, "");
	else if (!strcmp(kind, "device-props"))
		props_list(gs_device_props, "=");
	else if (!strcmp(kind, "device-verb"))
		fputs("list add set remove", stdout);
	else if (!strcmp(kind, "gate-verb"))
		fputs("on off status allow disallow", stdout);
	else if (!strcmp(kind, "pid"))
		fputs("$(ps -eo pid=)", stdout);
	else if (!strcmp(kind, "shell"))
		fputs("bash zsh targets devices", stdout);
	else if (!strcmp(kind, "help-topic"))
		for (type = 0; gs_commands[type]; type++)
			printf("%s ", gs_commands[type]->name);
	else if (!strcmp(kind, "event"))
		for (type = 1; type <= GPUSHARE_EVENT_LOST; type++)
			printf("%s ", gs_event_name(type));
}

/* The operand kinds of a command, as cases of the operand's number; the last one repeats. */
static void bash_operands(const struct gs_command *c)
{
	char kinds[128], *kind, *save = NULL, *next;
	int n = 0;

	snprintf(kinds, sizeof(kinds), "%s", c->operands ? c->operands : "");
	kind = strtok_r(kinds, " ", &save);
	if (!kind)
		return;
	fputs("\t\tcase $n in\n", stdout);
	for (; kind; kind = next, n++) {
		next = strtok_r(NULL, " ", &save);
		if (next)
			printf("\t\t%d) ", n);
		else
			fputs("\t\t*) ", stdout);
		if (!strcmp(kind, "file")) {
			fputs("COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n", stdout);
		} else if (!strcmp(kind, "command")) {
			fputs("COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n", stdout);
		} else {
			fputs("COMPREPLY=($(compgen -W \"", stdout);
			operand_words(kind);
			fputs("\" -- \"$cur\")) ;;\n", stdout);
		}
	}
	fputs("\t\tesac\n", stdout);
}

static void write_bash(void)
{
	const struct gs_command *const *c;

	fputs("# bash completion for gpusharectl; written by gpusharectl completion bash\n"
	      "_gpusharectl()\n{\n"
	      "\tlocal cur cmd= n=-1 i w opts words\n"
	      "\tCOMPREPLY=()\n"
	      "\t# COMP_WORDS are broken at ':' and '='; ours aren't.\n"
	      "\tread -ra words <<<\"${COMP_LINE:0:COMP_POINT}x\"\n"
	      "\tcur=${words[${#words[@]} - 1]%x}\n"
	      "\tfor ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
	      "\t\tcase ${words[i]} in -*) continue ;; esac\n"
	      "\t\t[ -n \"$cmd\" ] || cmd=${words[i]}\n"
	      "\t\tn=$((n + 1))\n\tdone\n"
	      "\topts=\"", stdout);
	word_list(gs_common_options, "--%s ", "--%s= ");
	fputs("\"\n\tcase $cmd in\n\t'')\n\t\tCOMPREPLY=($(compgen -W \"", stdout);
	for (c = gs_commands; *c; c++)
		printf("%s ", (*c)->name);
	fputs("$opts\" -- \"$cur\"))\n\t\t;;\n", stdout);
	for (c = gs_commands; *c; c++) {
		printf("\t%s)\n\t\topts=\"$opts ", (*c)->name);
		word_list((*c)->options, "--%s ", "--%s= ");
		fputs("\"\n", stdout);
		bash_operands(*c);
		fputs("\t\t;;\n", stdout);
	}
	fputs("\tesac\n"
	      "\tcase $cur in\n"
	      "\t--device=*) cur=${cur#*=}\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$(gpusharectl completion devices 2>/dev/null)\" "
	      "-- \"$cur\")) ;;\n"
	      "\t-*) COMPREPLY=($(compgen -W \"$opts\" -- \"$cur\")) ;;\n"
	      "\tesac\n"
	      "\t# bash puts it where its word begins: take off what stands before.\n"
	      "\tcase $cur in\n\t*[:=]*) w=${cur%\"${cur##*[:=]}\"}\n"
	      "\t\tfor i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$w\"}; done ;;\n"
	      "\tesac\n"
	      "\t[[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
	      "\treturn 0\n}\ncomplete -F _gpusharectl gpusharectl\n", stdout);
}

/* Inside of single quotes and brackets of _arguments. */
static void zsh_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else if (strchr("[]:\\", *s))
			printf("\\%c", *s);
		else
			putchar(*s);
	}
}

static void zsh_options(const struct gs_option *o)
{
	for (; o && o->name; o++) {
		printf(" \\\n\t\t\t'--%s%s[", o->name, o->arg ? "=" : "");
		zsh_text(o->help);
		putchar(']');
		if (o->arg)
			printf(":%s:%s", o->name, !strcmp(o->name, "device") ?
			       "($(gpusharectl completion devices 2>/dev/null))" :
			       !strcmp(o->arg, "FILE") || !strcmp(o->arg, "PATH") ? "_files" : " ");
		putchar('\'');
	}
}

static void zsh_operands(const struct gs_command *c)
{
	char kinds[128], *kind, *save = NULL, *next;

	snprintf(kinds, sizeof(kinds), "%s", c->operands ? c->operands : "");
	for (kind = strtok_r(kinds, " ", &save); kind; kind = next) {
		next = strtok_r(NULL, " ", &save);
		printf(" \\\n\t\t\t'%s:%s:", next ? "" : "*", kind);
		if (!strcmp(kind, "file")) {
			fputs("_files'", stdout);
		} else if (!strcmp(kind, "command")) {
			fputs(":_normal'", stdout);
		} else {
			putchar('(');
			operand_words(kind);
			fputs(")'", stdout);
		}
	}
}

static void write_zsh(void)
{
	const struct gs_command *const *c;

	fputs("#compdef gpusharectl\n# zsh completion for gpusharectl; written by gpusharectl "
	      "completion zsh\n"
	      "_gpusharectl()\n{\n\tlocal -a commands\n\tlocal curcontext=$curcontext state line\n"
	      "\tcommands=(\n", stdout);
	for (c = gs_commands; *c; c++) {
		printf("\t\t'%s:", (*c)->name);
		zsh_text((*c)->summary);
		fputs("'\n", stdout);
	}
	fputs("\t)\n\t_arguments -C", stdout);
	zsh_options(gs_common_options);
	fputs(" \\\n\t\t\t'1:command:->command' '*::argument:->argument'\n"
	      "\tcase $state in\n"
	      "\tcommand) _describe command commands ;;\n"
	      "\targument)\n\t\tcase $line[1] in\n", stdout);
	for (c = gs_commands; *c; c++) {
		printf("\t\t%s) _arguments", (*c)->name);
		zsh_options((*c)->options);
		zsh_options(gs_common_options);
		zsh_operands(*c);
		fputs(" ;;\n", stdout);
	}
	fputs("\t\tesac ;;\n\tesac\n}\n"
	      "if [[ $funcstack[1] == _gpusharectl ]]; then\n\t_gpusharectl \"$@\"\n"
	      "else\n\tcompdef _gpusharectl gpusharectl\nfi\n", stdout);
}

/*
 * Tenants choose names, and bash expands the words of compgen -W as well as what
 * it puts on the command line: "$(...)" would be run. So what a shell could take
 * for more than a letter isn't offered.
 */
static void offer(const char *kind, const char *name)
{
	if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._:@+,-") ==
	    strlen(name))
		printf("%s%s\n", kind, name);
}

static int write_live(struct gs_ctl *ctl, bool devices)
{
	struct gs_view view;
	size_t i;
	int rc;

	rc = gs_view_take(ctl, &view, GS_VIEW_GROUPS);
	if (rc)
		return rc;
	for (i = 0; devices && i < view.nr_devices; i++)
		offer("", view.devices[i].info.key);
	for (i = 0; !devices && i < view.nr_groups; i++)
		if (!gs_group_is_part(&view.groups[i].all))
			offer(*view.groups[i].all.path == '/' ? "" : "name:",
			      view.groups[i].all.path);
	gs_view_free(&view);
	return 0;
}

static int run_completion(struct gs_ctl *ctl, int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[0], "bash"))
		write_bash();
	else if (!strcmp(argv[0], "zsh"))
		write_zsh();
	else if (!strcmp(argv[0], "targets") || !strcmp(argv[0], "devices"))
		return write_live(ctl, *argv[0] == 'd');
	else
		return gs_usage(ctl, "%s: bash or zsh", argv[0]);
	return 0;
}

static int run_version(struct gs_ctl *ctl, int argc, char **argv)
{
	struct gpushare_version v = { .size = sizeof(v) };
	bool there = !gs_transport_open(ctl->where, 0, &ctl->arbiter) &&
		!gs_call(ctl, GPUSHARE_VERSION, &v);
	struct gs_json j;

	(void)argc;
	(void)argv;
	v.release[sizeof(v.release) - 1] = 0;
	if (ctl->json) {
		gs_answer_begin(&j, ctl, "version");
		gs_json_string(&j, "version", GPUSHARE_RELEASE);
		gs_json_unsigned(&j, "abi", GPUSHARE_ABI_VERSION);
		if (there) {
			gs_json_object(&j, "arbiter");
			gs_json_string(&j, "version", v.release);
			gs_json_unsigned(&j, "abi", v.abi);
			gs_json_unsigned(&j, "features", v.features);
			gs_json_end(&j);
		} else {
			gs_json_null(&j, "arbiter");
		}
		gs_json_end(&j);
		return 0;
	}
	printf("gpusharectl %s, abi %d\n", GPUSHARE_RELEASE, GPUSHARE_ABI_VERSION);
	if (there)
		printf("arbiter %s, abi %u\n", v.release, v.abi);
	else
		puts("no arbiter answers");
	return 0;
}

static int run_help(struct gs_ctl *ctl, int argc, char **argv)
{
	const struct gs_command *c = argc ? gs_command_find(argv[0]) : NULL;

	if (argc && !c)
		return gs_usage(ctl, "%s: no such command", argv[0]);
	gs_command_help(c, stdout);
	return 0;
}

const struct gs_command gs_completion_command = {
	.name = "completion", .args = "bash|zsh", .run = run_completion, .operands = "shell",
	.least = 1, .most = 1, .summary = "A completion script for a shell",
	.details = "bash: gpusharectl completion bash >"
	"/usr/share/bash-completion/completions/gpusharectl\n"
	"zsh:  gpusharectl completion zsh >/usr/share/zsh/vendor-completions/_gpusharectl\n",
};

const struct gs_command gs_version_command = {
	.name = "version", .args = "", .run = run_version,
	.summary = "This tool's version, and the arbiter's",
};

const struct gs_command gs_help_command = {
	.name = "help", .args = "[COMMAND]", .run = run_help, .operands = "help-topic", .most = 1,
	.summary = "What a command does and takes",
};
