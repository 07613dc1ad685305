// SPDX-License-Identifier: MIT
/* Whether clients' processes are still in the cgroups that they are accounted to. */
#include "gpushared.h"

#define CHECK_CGROUP_NS	1000000000ull
#define CHECK_AT_ONCE	50
#define CHECK_PAUSE_NS	20000000ull

static void check_groups(struct timer *t);
static struct timer check_timer = { .due = check_groups };
static bool check_armed, check_idle;

static bool works(const struct client *c)
{
	return c->core.state == GS_CLIENT_RUNNING || c->core.state == GS_CLIENT_WAITING;
}

/* Nothing ticks without groups, or with all clients asleep. */
static void check_after(uint64_t ns)
{
	if (check_armed || !d.nr_groups)
		return;
	check_armed = true;
	timer_arm(&check_timer, now_ns() + ns);
}

/*
 * Those at work may have been moved to another cgroup: looked up once a second, as are those
 * that were at work since, however short. It is a round over all clients, in the order of
 * their ids, with pauses, since nobody is served while files are read; who asks again
 * meanwhile is in the next one.
 */
static void check_groups(struct timer *t)
{
	static uint64_t from;		/* the round goes on with this id; 0: a new one */
	unsigned int looks = 0;
	bool again = false;
	struct client *c;

	(void)t;
	check_armed = false;
	if (!from) {
		list_for_each_entry(c, &d.clients, link)
			c->asked |= check_idle || works(c);
		check_idle = false;
	}
	list_for_each_entry(c, &d.clients, link) {
		if (c->core.id >= from && c->asked) {
			if (looks++ == CHECK_AT_ONCE) {
				from = c->core.id;
				check_after(CHECK_PAUSE_NS);
				return;
			}
			c->asked = false;
			group_check_client(c);
		}
		again |= c->asked || works(c);
	}
	from = 0;
	if (again || check_idle)
		client_check_later();
}

void client_check_later(void)
{
	check_after(CHECK_CGROUP_NS);
}

/* @any: for the others of its set as well. */
void client_asked(struct client *c, bool any)
{
	struct client *other;

	c->asked = true;
	if (any)
		list_for_each_entry(other, &c->core.set, core.set)
			other->asked = true;
	client_check_later();
}

/* The idle as well, once, in the next round. */
void client_check_all_later(void)
{
	check_idle = true;
	client_check_later();
}
