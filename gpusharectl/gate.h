/* SPDX-License-Identifier: MIT */
/*
 * The gate: who isn't let in can't open a GPU's device nodes.
 *
 * Arbitration is for programs that ask. The gate is for the others: a BPF program of the
 * type "cgroup device", attached to a cgroup (as a rule to the root), that the kernel asks
 * whenever a task below it opens a device node. It looks up the node's number; if that is a
 * GPU's, it looks for the task's cgroup and those above it in a map of those that are let
 * in, and refuses with EPERM otherwise. It is attached beside those of systemd and of
 * container runtimes, and all of them must allow.
 *
 * The kernel's state is the only state. There is no file and no process that keeps the
 * gate: it is attached or it isn't, and is found by asking the cgroup what is attached to
 * it. So it stands while services are started anew, and is gone with a reboot, after which
 * gpushare-rules.service makes it again ([Gate] in gpushare.conf(5)).
 *
 * What is refused is counted in a map by cgroup, user and driver, and not told in a ring
 * of events. A ring has one reader, and is full when somebody tries in a loop; the map is
 * bounded, loses no count, may be read by all who ask (gate status) and by who writes the
 * log (gpushare-rules.service), and a loop of a million tries is one line in it.
 *
 * Who turns it, holds a lock for that; who asks doesn't.
 */
#ifndef GS_CTL_GATE_H
#define GS_CTL_GATE_H

#include "config.h"
#include "ctl.h"

/* Why a cgroup is let in: bits. */
#define GS_IN_SHARE	0x1U
#define GS_IN_RUN	0x2U
#define GS_IN_LIST	0x4U

/* Cgroups above this level are looked at; the tool looks for none below it. */
#define GS_GATE_LEVELS	32

/* A number of a device node, or of all that a driver has. */
#define GS_NODE_ALL	UINT32_MAX
struct gs_node {
	uint32_t major, minor;
	bool open;		/* for everybody: an exception from its driver's */
	bool named;		/* by an administrator, not found */
	char from[64];		/* where it was found */
};

struct gs_nodes {
	struct gs_node *v;
	size_t n, room;
};

/* From the drivers that the kernel lists, from sysfs, and from specifications of CDI. */
int gs_nodes_find(struct gs_nodes *nodes);
/* One more: /dev/NODE, or char:MAJOR[:MINOR]. 0, or -errno and why. */
int gs_nodes_add(struct gs_nodes *nodes, const char *text, char *why, size_t size);
/* The driver that has this number, as the kernel calls it; or "?" */
const char *gs_driver_name(uint32_t major, char name[64]);
/* Is that one closed to who isn't let in? */
bool gs_nodes_has(const struct gs_nodes *nodes, uint32_t major, uint32_t minor);
void gs_nodes_free(struct gs_nodes *nodes);

struct gs_gate {
	int cgroup_fd;		/* to which it is attached */
	int prog_fd;
	int nodes, inside, settings, refusals;	/* maps */
	uint32_t prog;		/* its id */
	enum gs_gate_mode mode;
	uint64_t let_in, refused, since_ns;
};

/*
 * The gate of the cgroup whose path is @below ("/": of the machine). 0; -ENOENT: there is
 * none; -EPROTO: there is one, of another release; -errno. gs_gate_close() is due after 0.
 */
int gs_gate_find(const char *below, struct gs_gate *gate);
void gs_gate_close(struct gs_gate *gate);

struct gs_inside {
	uint64_t cgroup;
	uint32_t why;		/* GS_IN_* */
};

struct gs_gate_wish {
	enum gs_gate_mode mode;		/* not GS_GATE_OFF */
	struct gs_nodes nodes;
	struct gs_inside *inside;
	size_t nr_inside, room;
	uint32_t keep;			/* for which reasons who is in stays in */
};

/*
 * Make it so, in one step: what was there before stands until the new one does, and if
 * anything fails, stays. 0, or an exit status, and said why.
 */
int gs_gate_make(const char *below, const struct gs_gate_wish *wish);
/* 0, or an exit status and said why. That there is none is no error. */
int gs_gate_remove(const char *below);

/* Let a cgroup in for a reason, or no longer. 0 or -errno. */
int gs_gate_let(const struct gs_gate *gate, uint64_t cgroup, uint32_t why, bool in);
/* Why it is in itself; not: by one above it. */
uint32_t gs_gate_why(const struct gs_gate *gate, uint64_t cgroup);
/* Those that are in for @why are just these: 0 or -errno. */
int gs_gate_only(const struct gs_gate *gate, uint32_t why, const uint64_t *cgroups, size_t nr);
/*
 * For who turns it: a file that is closed afterwards, or -errno. gs_gate_make() and
 * gs_gate_remove() take it themselves. Who lets in by a gate that was found before the lock
 * was taken, may let in by one that is gone.
 */
int gs_gate_lock(void);

/*
 * On the cgroup that it is attached to, its mode; on one that a user's gpusharectl run has
 * made, that it is let in. For who may not ask the kernel: all may read it, and only
 * CAP_SYS_ADMIN may write it.
 */
#define GS_GATE_MARK	"security.gpushare.gate"
/* On one that gpusharectl run has made, by its owner. */
#define GS_RUN_MARK	"user.gpushare.run"

/* A cgroup's directory by its id, or -errno. */
int gs_cgroup_open(uint64_t id);
/* The path of a cgroup by its id; "cgroup N" for one that is gone or can't be seen. */
const char *gs_cgroup_path(uint64_t id, char *path, size_t size);
/* Is it still there? Without the right to look it up: yes. */
bool gs_cgroup_is_there(uint64_t id);

/* Its nodes are these, and those that were named: 0 or -errno. */
int gs_gate_only_nodes(const struct gs_gate *gate, const struct gs_nodes *nodes);

/* What was refused, by whom: shared with the program in the kernel. */
struct gs_refused_by {
	uint64_t cgroup;
	uint32_t uid;
	uint32_t major;
};

struct gs_refusals {
	uint64_t count;
	uint64_t last_ns;	/* CLOCK_MONOTONIC */
	uint32_t pid;		/* the last of them */
	uint32_t minor;
	uint32_t access;
	uint32_t reserved;
	char comm[16];
};

/* Calls @fn for each, until it says non-zero, and returns that. */
int gs_gate_refusals(const struct gs_gate *gate,
		     int (*fn)(const struct gs_refused_by *by, const struct gs_refusals *r,
			       void *arg), void *arg);
int gs_gate_each_node(const struct gs_gate *gate, int (*fn)(const struct gs_node *n, void *arg),
		      void *arg);
int gs_gate_each_inside(const struct gs_gate *gate,
			int (*fn)(const struct gs_inside *in, void *arg), void *arg);

/* Who has a device's node open, or mapped. */
struct gs_holder {
	int pid;
	uint32_t uid;
	uint32_t major, minor;
	bool mapped;		/* only that: the descriptor is closed */
	char comm[16];
};

/* Calls @fn for each process and node. How many processes couldn't be looked into is in *hidden. */
int gs_holders_find(const struct gs_nodes *nodes, int (*fn)(const struct gs_holder *h, void *arg),
		    void *arg, unsigned int *hidden);

/* Cgroups that the arbiter has a share of. */
struct gs_shared {
	uint64_t cgroup;
	bool admins;		/* set by an administrator, not by a tenant within what it has */
	bool below_admins;	/* is below one of these */
};

/* 0 and *list, which is to be freed; or -errno. */
int gs_shared_list(struct gs_ctl *ctl, struct gs_shared **list, size_t *nr);
/* Of @list, those of administrators are let in for that, and nobody else: 0 or -errno. */
int gs_gate_take_shares(const struct gs_gate *gate, const struct gs_shared *list, size_t nr);

/* The wish that the options and rules make; gs_gate_wish_free() is due in any case. */
int gs_gate_wish(struct gs_ctl *ctl, const struct gs_gate_rules *rules, struct gs_gate_wish *wish);
void gs_gate_wish_free(struct gs_gate_wish *wish);

/*
 * What has changed of who is let in, now that a share was set: for who may do so, if there
 * is a gate. Nothing is said: gpushare-rules.service does it within a second, too.
 */
void gs_gate_share_set(struct gs_ctl *ctl);

/*
 * A program that gpusharectl run, or a hook, starts in this cgroup is let in by all gates on
 * its way. 0; -EAGAIN: one is closed to it, and gpushare-rules.service may open it; -errno.
 */
int gs_gate_let_run(const char *cgroup, bool in);
/* The mode of the nearest gate above, as anybody may see it. */
enum gs_gate_mode gs_gate_seen(const char *cgroup);

/* gpushare-rules.service's part, once a second and when there is something new. */
struct gs_gate_follow;
struct gs_gate_follow *gs_gate_follow_begin(void);
/* The rules have changed. */
void gs_gate_follow_rules(struct gs_ctl *ctl, const struct gs_gate_rules *rules);
/* Is there one? */
bool gs_gate_follow_tick(struct gs_gate_follow *f, struct gs_ctl *ctl,
			 const struct gs_gate_rules *rules, bool news);
void gs_gate_follow_end(struct gs_gate_follow *f);

/* Keep @rules in a file of /etc/gpushare. 0, or an exit status, and said why. */
int gs_gate_keep(const struct gs_gate_rules *rules);
/* What is kept in it; nothing, if it isn't there. */
int gs_gate_kept(struct gs_gate_rules *rules);

#endif
