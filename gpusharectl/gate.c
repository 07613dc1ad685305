// SPDX-License-Identifier: MIT
/* gpusharectl gate: close GPUs to who isn't let in, open them, and who is there. */
#include "gate.h"
#include "file.h"
#include "keep.h"
#include "query.h"
#include "target.h"
#include "term.h"
#include "ulib/transport.h"
#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPT_MODE, OPT_NODES, OPT_BELOW, OPT_KEEP };

static const struct gs_option options[] = {
	{ "mode", "MODE", "on: share (who has a share), run (who is started by gpusharectl run)", 'm' },
	{ "nodes", "LIST", "on: more device nodes, /dev/NAME or char:MAJOR[:MINOR], with commas", 0 },
	{ "below", "PATH", "for what is below that cgroup; without it for the machine", 0 },
	{ "keep", NULL, "for good: also in a file of /etc/gpushare", 'k' },
	{ NULL, NULL, NULL, 0 },
};

static const char *below_of(const struct gs_ctl *ctl, const struct gs_gate_rules *rules)
{
	return ctl->values[OPT_BELOW] ? ctl->values[OPT_BELOW] : *rules->below ? rules->below : "/";
}

/* Nothing is started for it, and nothing said: what is known without it is shown. */
static void try_arbiter(struct gs_ctl *ctl)
{
	if (!ctl->arbiter && gs_transport_open(ctl->where, 0, &ctl->arbiter))
		ctl->arbiter = NULL;
}

static void kept_file(char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/50-gate.conf", gs_config_dir(0));
}

int gs_gate_kept(struct gs_gate_rules *rules)
{
	struct gs_rules r;
	char path[PATH_MAX], *argv[] = { path };
	int rc;

	*rules = (struct gs_gate_rules){ .file = NULL };
	kept_file(path);
	if (access(path, F_OK))
		return 0;
	rc = gs_rules_read(&r, 1, argv);
	if (!rc && r.config.nr)
		rc = gs_error(GS_EXIT_REFUSED, path, "is about something else: change it by hand");
	if (!rc)
		*rules = r.config.gate;
	rules->file = NULL;		/* its name goes with the list of files */
	gs_rules_free(&r);
	return rc;
}

static int write_rules(FILE *out, void *arg)
{
	const struct gs_gate_rules *r = arg;
	unsigned int i;

	fprintf(out, "# Written by gpusharectl gate --keep; see gpushare.conf(5).\n[Gate]\nMode=%s\n",
		gs_gate_mode_name(r->mode));
	if (*r->below)
		fprintf(out, "Below=%s\n", r->below);
	for (i = 0; i < r->nr_nodes; i++)
		fprintf(out, "Nodes=%s\n", r->nodes[i]);
	for (i = 0; i < r->nr_allow; i++)
		fprintf(out, "Allow=%s\n", r->allow[i]);
	return ferror(out) ? -EIO : 0;
}

int gs_gate_keep(const struct gs_gate_rules *rules)
{
	char path[PATH_MAX];
	int rc;

	kept_file(path);
	if (mkdir(gs_config_dir(0), 0755) && errno != EEXIST)
		rc = -errno;
	else if (rules->mode != GS_GATE_OFF || rules->nr_allow)
		rc = gs_file_replace(path, write_rules, (void *)rules);
	else
		rc = unlink(path) && errno != ENOENT ? -errno : 0;
	return rc ? gs_error(GS_EXIT_UNKEPT, path, "can't be written, so this isn't kept: %s",
			     strerror(-rc)) : 0;
}

/* What the configuration says of the gate, all files together. */
static int configured(struct gs_gate_rules *rules)
{
	struct gs_rules r;
	int rc = gs_rules_read(&r, 0, NULL);

	*rules = r.config.gate;
	rules->file = rc || !rules->file ? NULL : "";
	gs_rules_free(&r);
	return rc;
}

static int take_nodes(const struct gs_ctl *ctl, struct gs_gate_rules *rules)
{
	char list[1024], *word, *save = NULL;

	if (!ctl->values[OPT_NODES])
		return 0;
	snprintf(list, sizeof(list), "%s", ctl->values[OPT_NODES]);
	if (strlen(ctl->values[OPT_NODES]) >= sizeof(list))
		return gs_usage(ctl, "--nodes: too long");
	rules->nr_nodes = 0;
	for (word = strtok_r(list, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (rules->nr_nodes == GS_PATTERNS || strlen(word) >= GS_PATTERN ||
		    strpbrk(word, " \t"))
			return gs_usage(ctl, "--nodes: more than %d, or one with a blank", GS_PATTERNS);
		strcpy(rules->nodes[rules->nr_nodes++], word);
	}
	return 0;
}

static int turn_on(struct gs_ctl *ctl)
{
	struct gs_gate_rules rules;
	struct gs_gate_wish wish;
	int rc = configured(&rules);

	if (rc)
		return rc;
	if (ctl->values[OPT_MODE] && (gs_gate_mode_parse(ctl->values[OPT_MODE], &rules.mode) ||
				      rules.mode == GS_GATE_OFF))
		return gs_usage(ctl, "--mode=%s: it is share or run", ctl->values[OPT_MODE]);
	if (rules.mode == GS_GATE_OFF)
		rules.mode = GS_GATE_SHARE;
	rc = take_nodes(ctl, &rules);
	if (rc)
		return rc;
	try_arbiter(ctl);
	rc = gs_gate_wish(ctl, &rules, &wish);
	wish.keep = GS_IN_RUN | GS_IN_LIST | (ctl->arbiter ? 0 : GS_IN_SHARE);
	if (!rc)
		rc = gs_gate_make(below_of(ctl, &rules), &wish);
	gs_gate_wish_free(&wish);
	if (!rc && !ctl->arbiter && rules.mode == GS_GATE_SHARE)
		gs_error(0, "gate", "on, but no arbiter answers: who has a share isn't known, and isn't let "
			 "in; start one, with gpushare-rules.service");
	if (rc || !ctl->values[OPT_KEEP])
		return rc;
	if (ctl->values[OPT_BELOW])
		snprintf(rules.below, sizeof(rules.below), "%.255s", ctl->values[OPT_BELOW]);
	return gs_gate_keep(&rules);
}

static int turn_off(struct gs_ctl *ctl)
{
	struct gs_gate_rules rules;
	int rc = configured(&rules);

	if (rc)
		return rc;
	rc = gs_gate_remove(below_of(ctl, &rules));
	if (rc || !ctl->values[OPT_KEEP])
		return rc;
	rc = gs_gate_kept(&rules);
	rules.mode = GS_GATE_OFF;
	return rc ? rc : gs_gate_keep(&rules);
}

static int no_gate(const char *below, int rc)
{
	if (rc == -ENOENT)
		return gs_error(GS_EXIT_NOT_FOUND, "gate", "there is none at %s; gpusharectl gate on", below);
	if (rc == -EPROTO)
		return gs_error(GS_EXIT_FAILURE, "gate", "it is of another release: gpusharectl gate on "
				"makes it anew");
	if (rc == -ENOTDIR)
		return gs_error(GS_EXIT_NOT_FOUND, below, "no such cgroup");
	if (rc == -EPERM)
		return gs_error(GS_EXIT_PERMISSION, "gate", "only root may look at it");
	return gs_error(GS_EXIT_FAILURE, "gate", "can't be asked for: %s", strerror(-rc));
}

/* One that isn't there now can only be kept. */
static int allow_one(struct gs_ctl *ctl, const struct gs_gate *gate, const char *text, bool in)
{
	const struct gs_view nothing = { 0 };
	struct gs_target target;
	int rc;

	rc = gs_target_find(ctl, &nothing, text, ctl->values[OPT_KEEP] ? GS_TARGET_QUIET : 0,
			    &target);
	if (rc == GS_EXIT_NOT_FOUND && ctl->values[OPT_KEEP])
		return 0;
	if (rc)
		return rc;
	if (target.cgroup_fd < 0)
		rc = gs_error(GS_EXIT_REFUSED, text, "it has no cgroup, and the gate is for cgroups");
	else
		rc = gs_gate_let(gate, target.group, GS_IN_LIST, in);
	gs_target_close(&target);
	return rc < 0 ? gs_call_error(text, rc) : rc;
}

static int keep_one(struct gs_gate_rules *rules, const char *text, bool in)
{
	char pattern[GS_PATTERN];
	unsigned int i;

	if (!gs_can_be_named(text) || strlen(text) + 5 >= sizeof(pattern) || !strcmp(text, "self") ||
	    !strncmp(text, "pid:", 4))
		return gs_error(GS_EXIT_REFUSED, text, "can't be kept: a rule is for a path, a unit, "
				"user:NAME or job:ID, without blanks, '*', '?' and '['");
	snprintf(pattern, sizeof(pattern), "%s%s", gs_is_unit(text) && *text != '/' ? "unit:" : "", text);
	for (i = 0; i < rules->nr_allow && strcmp(rules->allow[i], pattern); i++)
		;
	if (in && i == GS_PATTERNS)
		return gs_error(GS_EXIT_REFUSED, text, "can't be kept: %d are kept already", GS_PATTERNS);
	if (in) {
		strcpy(rules->allow[i], pattern);
		rules->nr_allow += i == rules->nr_allow;
	} else if (i < rules->nr_allow) {
		memmove(rules->allow[i], rules->allow[i + 1],
			(--rules->nr_allow - i) * sizeof(*rules->allow));
	}
	return 0;
}

static int allow(struct gs_ctl *ctl, int argc, char **argv, bool in)
{
	struct gs_gate_rules rules;
	struct gs_gate gate;
	int rc = configured(&rules), lock, i;

	if (rc)
		return rc;
	lock = gs_gate_lock();
	if (lock < 0)
		return gs_error(GS_EXIT_PERMISSION, "gate", "its lock can't be taken: %s",
				strerror(-lock));
	rc = gs_gate_find(below_of(ctl, &rules), &gate);
	if (rc)
		rc = no_gate(below_of(ctl, &rules), rc);
	for (i = 0; !rc && i < argc; i++)
		rc = allow_one(ctl, &gate, argv[i], in);
	gs_gate_close(&gate);
	close(lock);
	if (rc || !ctl->values[OPT_KEEP])
		return rc;
	rc = gs_gate_kept(&rules);
	for (i = 0; !rc && i < argc; i++)
		rc = keep_one(&rules, argv[i], in);
	return rc ? rc : gs_gate_keep(&rules);
}

struct status {
	struct gs_ctl *ctl;
	struct gs_gate gate;
	struct gs_view view;
	struct gs_nodes nodes;		/* that the gate closes */
	struct gs_json j;
	bool arbiter;
	unsigned int lines, hidden;
};

static int take_node(const struct gs_node *n, void *arg)
{
	struct status *s = arg;
	struct gs_node *more;

	if (s->nodes.n == s->nodes.room) {
		more = reallocarray(s->nodes.v, 2 * s->nodes.room + 16, sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->nodes.v = more;
		s->nodes.room = 2 * s->nodes.room + 16;
	}
	s->nodes.v[s->nodes.n++] = *n;
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct gs_node *x = a, *y = b;

	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	return x->minor < y->minor ? -1 : x->minor > y->minor;
}

static void show_nodes(struct status *s)
{
	const struct gs_node *n;
	char driver[64];
	size_t i;

	if (s->ctl->json)
		gs_json_array(&s->j, "nodes");
	else
		puts("nodes:");
	for (i = 0; i < s->nodes.n; i++) {
		n = &s->nodes.v[i];
		gs_driver_name(n->major, driver);
		if (s->ctl->json) {
			gs_json_object(&s->j, NULL);
			gs_json_string(&s->j, "driver", driver);
			gs_json_unsigned(&s->j, "major", n->major);
			if (n->minor == GS_NODE_ALL)
				gs_json_null(&s->j, "minor");
			else
				gs_json_unsigned(&s->j, "minor", n->minor);
			gs_json_bool(&s->j, "closed", !n->open);
			gs_json_end(&s->j);
		} else if (n->minor == GS_NODE_ALL) {
			printf("  char %u:*  %s%s\n", n->major, driver, n->open ? ", open" : "");
		} else {
			printf("  char %u:%u  %s%s\n", n->major, n->minor, driver,
			       n->open ? ", open to all" : "");
		}
	}
	if (s->ctl->json)
		gs_json_end(&s->j);
}

static int show_inside(const struct gs_inside *in, void *arg)
{
	struct status *s = arg;
	char path[PATH_MAX];
	const char *why = in->why & GS_IN_LIST ? "allowlist" : in->why & GS_IN_RUN ? "run" : "share";

	if (in->why == GS_IN_SHARE && s->gate.mode == GS_GATE_RUN)
		return 0;
	gs_cgroup_path(in->cgroup, path, sizeof(path));
	if (s->ctl->json) {
		gs_json_object(&s->j, NULL);
		gs_json_string(&s->j, "path", path);
		gs_json_unsigned(&s->j, "id", in->cgroup);
		gs_json_string(&s->j, "why", why);
		gs_json_end(&s->j);
		return 0;
	}
	if (!s->lines++)
		puts("let in, with all that is below:");
	printf("  %-9s ", why);
	gs_print_safe(stdout, path);
	putchar('\n');
	return 0;
}

static int show_refusal(const struct gs_refused_by *by, const struct gs_refusals *r, void *arg)
{
	struct status *s = arg;
	uint64_t now = gs_now(), ago = now > r->last_ns ? now - r->last_ns : 0;
	char path[PATH_MAX], driver[64], user[GS_USER], time[GS_AMOUNT];

	gs_cgroup_path(by->cgroup, path, sizeof(path));
	gs_driver_name(by->major, driver);
	if (s->ctl->json) {
		gs_json_object(&s->j, NULL);
		gs_json_string(&s->j, "path", path);
		gs_json_unsigned(&s->j, "uid", by->uid);
		gs_json_string(&s->j, "driver", driver);
		gs_json_unsigned(&s->j, "major", by->major);
		gs_json_unsigned(&s->j, "count", r->count);
		gs_json_unsigned(&s->j, "ago_usec", ago / 1000);
		gs_json_unsigned(&s->j, "pid", r->pid);
		gs_json_string(&s->j, "comm", r->comm);
		gs_json_end(&s->j);
		return 0;
	}
	if (!s->lines++)
		puts("refused:");
	fputs("  ", stdout);
	gs_print_safe(stdout, path);
	printf(": %llu time%s %s, last %s ago: pid %u (", (unsigned long long)r->count,
	       r->count == 1 ? "" : "s", driver, gs_time(time, ago), r->pid);
	gs_print_safe(stdout, r->comm);
	printf(") of %s\n", gs_user_name(by->uid, user));
	return 0;
}

static bool is_client(const struct status *s, int pid)
{
	size_t i;

	for (i = 0; i < s->view.nr_clients; i++)
		if (s->view.clients[i].pid == pid)
			return true;
	return false;
}

static int show_holder(const struct gs_holder *h, void *arg)
{
	struct status *s = arg;
	bool client = is_client(s, h->pid);
	char path[PATH_MAX], driver[64], user[GS_USER];

	if (gs_cgroup_of(h->pid, path, sizeof(path)))
		strcpy(path, "?");
	gs_driver_name(h->major, driver);
	if (s->ctl->json) {
		gs_json_object(&s->j, NULL);
		gs_json_signed(&s->j, "pid", h->pid);
		gs_json_string(&s->j, "comm", h->comm);
		gs_json_unsigned(&s->j, "uid", h->uid);
		gs_json_string(&s->j, "path", path);
		gs_json_string(&s->j, "driver", driver);
		gs_json_unsigned(&s->j, "major", h->major);
		gs_json_unsigned(&s->j, "minor", h->minor);
		gs_json_bool(&s->j, "mapped", h->mapped);
		if (s->arbiter)
			gs_json_bool(&s->j, "client", client);
		else
			gs_json_null(&s->j, "client");
		gs_json_end(&s->j);
		return 0;
	}
	if (!s->lines++)
		puts("who has them open:");
	printf("  pid %d (", h->pid);
	gs_print_safe(stdout, h->comm);
	printf(") of %s in ", gs_user_name(h->uid, user));
	gs_print_safe(stdout, path);
	printf(": %s %u:%u%s, %s\n", driver, h->major, h->minor, h->mapped ? " (mapped)" : "",
	       !s->arbiter ? "no arbiter answers" : client ? "a client" : "NO CLIENT of the arbiter");
	return 0;
}

static void begin_list(struct status *s, const char *name)
{
	s->lines = 0;
	if (s->ctl->json)
		gs_json_array(&s->j, name);
}

static void end_list(struct status *s, const char *none)
{
	if (s->ctl->json)
		gs_json_end(&s->j);
	else if (!s->lines)
		puts(none);
}

static int show_on(struct status *s, const char *below)
{
	char age[GS_AMOUNT];
	int rc;

	if (!s->ctl->json) {
		printf("gate: on, mode %s", gs_gate_mode_name(s->gate.mode));
		if (strcmp(below, "/")) {
			fputs(", below ", stdout);
			gs_print_safe(stdout, below);
		}
		printf("; since %s it let in %llu opens and refused %llu\n",
		       gs_time(age, gs_now() - s->gate.since_ns),
		       (unsigned long long)s->gate.let_in, (unsigned long long)s->gate.refused);
	} else {
		gs_json_unsigned(&s->j, "let_in", s->gate.let_in);
		gs_json_unsigned(&s->j, "refused", s->gate.refused);
	}
	rc = gs_gate_each_node(&s->gate, take_node, s);
	if (s->nodes.n)
		qsort(s->nodes.v, s->nodes.n, sizeof(*s->nodes.v), by_number);
	show_nodes(s);
	begin_list(s, "inside");
	if (!rc)
		rc = gs_gate_each_inside(&s->gate, show_inside, s);
	end_list(s, "let in: nobody");
	begin_list(s, "refusals");
	if (!rc)
		rc = gs_gate_refusals(&s->gate, show_refusal, s);
	end_list(s, "refused: nobody");
	return rc;
}

static void show_off(struct status *s)
{
	static const char *const lists[] = { "nodes", "inside", "refusals" };
	size_t i;

	if (!s->ctl->json) {
		puts("gate: off");
		return;
	}
	gs_json_null(&s->j, "let_in");
	gs_json_null(&s->j, "refused");
	for (i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		gs_json_array(&s->j, lists[i]);
		gs_json_end(&s->j);
	}
}

static void show_holders(struct status *s)
{
	struct gs_view view;

	try_arbiter(s->ctl);
	if (s->ctl->arbiter && !gs_view_take(s->ctl, &view, GS_VIEW_CLIENTS)) {
		s->view = view;
		s->arbiter = true;
	}
	begin_list(s, "holders");
	gs_holders_find(&s->nodes, show_holder, s, &s->hidden);
	end_list(s, "who has them open: nobody");
	if (s->hidden && !s->ctl->json)
		printf("  %u processes can't be looked into: root sees all\n", s->hidden);
	gs_view_free(&s->view);
}

static int status(struct gs_ctl *ctl)
{
	struct status s = { .ctl = ctl };
	struct gs_gate_rules rules;
	const char *below;
	int rc = configured(&rules), lock, bad = 0;

	if (rc)
		return rc;
	below = below_of(ctl, &rules);
	rc = gs_gate_find(below, &s.gate);
	if (rc == -EPERM) {
		enum gs_gate_mode mode = gs_gate_seen(below);

		return gs_error(GS_EXIT_PERMISSION, "gate", "%s%s; only root sees more",
				mode == GS_GATE_OFF ? "it seems to be off" : "it is on, mode ",
				mode == GS_GATE_OFF ? "" : gs_gate_mode_name(mode));
	}
	if (rc && rc != -ENOENT)
		return no_gate(below, rc);
	if (ctl->json) {
		gs_answer_begin(&s.j, ctl, "gate");
		gs_json_string(&s.j, "state", rc ? "off" : gs_gate_mode_name(s.gate.mode));
		gs_json_string(&s.j, "below", below);
	}
	if (rc) {
		show_off(&s);
		gs_nodes_find(&s.nodes);
	} else {
		bad = show_on(&s, below);
	}
	show_holders(&s);
	if (ctl->json)
		gs_json_end(&s.j);
	lock = rc ? -ENOENT : gs_rules_lock(false);
	if (!rc && !ctl->json && lock != -EWOULDBLOCK)
		puts("nobody writes refusals into a log, nor lets in who comes later: systemctl enable "
		     "--now gpushare-rules.service");
	if (lock >= 0)
		close(lock);
	if (!rc)
		gs_gate_close(&s.gate);
	gs_nodes_free(&s.nodes);
	return bad ? gs_call_error("gate", bad) : 0;
}

static int run_gate(struct gs_ctl *ctl, int argc, char **argv)
{
	const char *verb = argc ? argv[0] : "status";

	if (!strcmp(verb, "allow") || !strcmp(verb, "disallow"))
		return argc < 2 ? gs_usage(ctl, "%s: whom? It needs a TARGET", verb) :
			allow(ctl, argc - 1, argv + 1, *verb == 'a');
	if (argc > 1)
		return gs_usage(ctl, "%s: too many arguments", argv[1]);
	if (!strcmp(verb, "on"))
		return turn_on(ctl);
	if (!strcmp(verb, "off"))
		return turn_off(ctl);
	if (!strcmp(verb, "status"))
		return status(ctl);
	return gs_usage(ctl, "%s: it is on, off, status, allow or disallow", verb);
}

const struct gs_command gs_gate_command = {
	.name = "gate", .args = "[on|off|status|allow TARGET...|disallow TARGET...]",
	.options = options, .run = run_gate, .operands = "gate-verb target", .most = -1,
	.summary = "Close GPUs to programs that aren't under arbitration",
	.details = "on        who isn't let in can't open a GPU's device nodes (EPERM); who has them\n"
	"          open, keeps them. Let in are, with all that is below, cgroups that an\n"
	"          administrator gave a share (mode share), what gpusharectl run starts, and\n"
	"          the allowlist\n"
	"off       everybody can\n"
	"status    is it on, who is let in, who was refused, who has GPUs open\n"
	"allow     put cgroups onto the allowlist: monitoring, an X server\n"
	"disallow  take them from it\n"
	"TARGET is as for set. After a reboot the gate is off, unless it is kept (--keep,\n"
	"or [Gate] in gpushare.conf(5)) and gpushare-rules.service runs; that also writes\n"
	"who was refused into its log. It takes root, Linux 6.1 and cgroup v2.\n",
};
