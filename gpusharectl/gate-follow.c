// SPDX-License-Identifier: MIT
/*
 * What gpushare-rules.service does for the gate. It makes it as [Gate] says, lets in who was
 * given a share since, users' runs, and the allowlist's cgroups that come later, closes
 * the nodes of drivers that come later, and writes who was refused into its log.
 *
 * It is here and not in the daemon, as the gate is for both arbiters, as to turn it takes
 * rights that a process which speaks with tenants shouldn't have, and as this one speaks
 * with nobody. If it ends, the gate stays as it is.
 */
#include "gate.h"
#include "target.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define REMEMBER	256		/* refusals; who is forgotten is told anew */
#define QUIET_NS	60000000000ull	/* between two lines about the same */
#define LINES_MOST	20		/* at a time */
#define PRUNE_TICKS	60

struct said {
	struct gs_refused_by by;
	uint64_t count, at_ns;
};

struct gs_gate_follow {
	struct said said[REMEMBER];
	unsigned int next, lines, ticks;
	enum gs_gate_mode mode;
};

struct gs_gate_follow *gs_gate_follow_begin(void)
{
	return calloc(1, sizeof(struct gs_gate_follow));
}

void gs_gate_follow_end(struct gs_gate_follow *f)
{
	free(f);
}

static const char *below_of(const struct gs_gate_rules *rules)
{
	return *rules->below ? rules->below : "/";
}

void gs_gate_follow_rules(struct gs_ctl *ctl, const struct gs_gate_rules *rules)
{
	struct gs_gate_wish wish;

	if (!rules->file)
		return;
	if (rules->mode == GS_GATE_OFF) {
		gs_gate_remove(below_of(rules));
		return;
	}
	if (!gs_gate_wish(ctl, rules, &wish)) {
		/* Without an arbiter nothing is known of shares: who has one keeps it. */
		wish.keep = GS_IN_RUN | (ctl->arbiter ? 0 : GS_IN_SHARE);
		gs_gate_make(below_of(rules), &wish);
	}
	gs_gate_wish_free(&wish);
}

static struct said *said_of(struct gs_gate_follow *f, const struct gs_refused_by *by)
{
	unsigned int i;

	for (i = 0; i < REMEMBER; i++)
		if (f->said[i].count && !memcmp(&f->said[i].by, by, sizeof(*by)))
			return &f->said[i];
	i = f->next++ % REMEMBER;
	f->said[i] = (struct said){ .by = *by };
	return &f->said[i];
}

static int say(const struct gs_refused_by *by, const struct gs_refusals *r, void *arg)
{
	struct gs_gate_follow *f = arg;
	struct said *s = said_of(f, by);
	char path[PATH_MAX], user[GS_USER], driver[64], where[PATH_MAX + 200];
	uint64_t now = gs_now(), n;

	if (s->count > r->count)
		s->count = 0;		/* a new gate counts anew */
	n = r->count - s->count;
	if (!n || (s->at_ns && now - s->at_ns < QUIET_NS))
		return 0;
	if (f->lines++ >= LINES_MOST)
		return 1;
	s->count = r->count;
	s->at_ns = now;
	gs_cgroup_path(by->cgroup, path, sizeof(path));
	snprintf(where, sizeof(where), "refused pid %u (%s) of %s in %.3800s", r->pid, r->comm,
		 gs_user_name(by->uid, user), path);
	gs_error(0, "gate", "%.700s%s: %s (char %u:%u) is closed to it, as %s; tried %llu time%s", where,
		 strlen(where) > 700 ? "..." : "", gs_driver_name(by->major, driver), by->major,
		 r->minor, f->mode == GS_GATE_RUN ?
		 "it wasn't started by gpusharectl run; do so, or gpusharectl gate allow TARGET" :
		 "its cgroup has no share; gpusharectl set --keep TARGET weight=100 gives one, "
		 "gpusharectl gate allow TARGET lets it in without",
		 (unsigned long long)n, n == 1 ? "" : "s");
	return 0;
}

/*
 * What a user's gpusharectl run has made: a group of its own, below an administrator's
 * share, with its mark. The user can make such a one by hand, and is then within the share
 * that it was given, as a program that asks for no grant is; who was given none isn't let in.
 */
static void let_runs_in(const struct gs_gate *gate, const struct gs_shared *list, size_t nr)
{
	size_t i;
	int fd;

	for (i = 0; i < nr; i++) {
		if (!list[i].below_admins || gs_gate_why(gate, list[i].cgroup) & GS_IN_RUN)
			continue;
		fd = gs_cgroup_open(list[i].cgroup);
		if (fd < 0)
			continue;
		if (fgetxattr(fd, GS_RUN_MARK, NULL, 0) >= 0 &&
		    !gs_gate_let(gate, list[i].cgroup, GS_IN_RUN, true))
			fsetxattr(fd, GS_GATE_MARK, "in", 2, 0);
		close(fd);
	}
}

struct gone {
	uint64_t cgroups[256];		/* more the next time */
	unsigned int n;
};

static int find_gone(const struct gs_inside *in, void *arg)
{
	struct gone *g = arg;

	if (g->n < sizeof(g->cgroups) / sizeof(*g->cgroups) && !gs_cgroup_is_there(in->cgroup))
		g->cgroups[g->n++] = in->cgroup;
	return 0;
}

static void prune(const struct gs_gate *gate)
{
	struct gone g = { .n = 0 };
	unsigned int i;

	gs_gate_each_inside(gate, find_gone, &g);
	for (i = 0; i < g.n; i++)
		gs_gate_let(gate, g.cgroups[i], ~0U, false);
}

static void let_allowed_in(const struct gs_gate *gate, const struct gs_gate_wish *wish)
{
	size_t i;

	for (i = 0; i < wish->nr_inside; i++)
		if (wish->inside[i].why & GS_IN_LIST)
			gs_gate_let(gate, wish->inside[i].cgroup, GS_IN_LIST, true);
}

bool gs_gate_follow_tick(struct gs_gate_follow *f, struct gs_ctl *ctl,
			 const struct gs_gate_rules *rules, bool news)
{
	struct gs_gate_wish wish = { .mode = GS_GATE_OFF };
	struct gs_shared *list = NULL;
	struct gs_gate gate;
	struct gs_nodes nodes = { 0 };
	bool shares, found;
	size_t nr = 0;
	int lock;

	if (gs_gate_find(below_of(rules), &gate))
		return false;
	gs_gate_close(&gate);
	/* What may take its time is asked for before the lock is taken. */
	shares = ctl->arbiter && !gs_shared_list(ctl, &list, &nr);
	found = !gs_nodes_find(&nodes);
	if (news && rules->nr_allow && gs_gate_wish(ctl, rules, &wish))
		wish.nr_inside = 0;
	lock = gs_gate_lock();
	if (lock >= 0 && !gs_gate_find(below_of(rules), &gate)) {
		if (found)
			gs_gate_only_nodes(&gate, &nodes);
		if (shares)
			gs_gate_take_shares(&gate, list, nr);
		if (shares && gate.mode == GS_GATE_RUN)
			let_runs_in(&gate, list, nr);
		let_allowed_in(&gate, &wish);
		if (!(f->ticks++ % PRUNE_TICKS))
			prune(&gate);
		f->mode = gate.mode;
		f->lines = 0;
		gs_gate_refusals(&gate, say, f);
		gs_gate_close(&gate);
	}
	if (lock >= 0)
		close(lock);
	gs_nodes_free(&nodes);
	gs_gate_wish_free(&wish);
	free(list);
	return true;
}
