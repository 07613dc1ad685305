// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ACQUIRE and YIELD: asking for one device or for any of a set's, giving back, and who
 * holds in the end. Sleeping until then is the host's.
 *
 * Whether a holder is asked back is read off its page: a host may have said so there
 * before the arbiter knows.
 */
#include <linux/gpushare.h>
#include "contract.h"

int gs_contract_wait_check(const struct gpushare_wait *arg, bool yields)
{
	u32 known = GPUSHARE_WAIT_NONBLOCK | GPUSHARE_WAIT_ANY |
		    (yields ? GPUSHARE_WAIT_AGAIN : 0);

	return arg->flags & ~known || arg->reserved ? -EINVAL : 0;
}

int gs_contract_set_check(const struct gs_client *set, const struct gs_device *dev)
{
	const struct gs_client *other;
	unsigned int n = 1;

	if (set->dev == dev)
		return -EBADF;
	list_for_each_entry(other, &set->set, set) {
		if (other->dev == dev)
			return -EBADF;
		n++;
	}
	return n < GS_ANY_MAX ? 0 : -EUSERS;
}

static bool is_asked_back(const struct gs_client *c)
{
	return READ_ONCE(c->page->word) & GPUSHARE_PREEMPT;
}

struct gs_client *gs_contract_holder(struct gs_client *c, bool any)
{
	struct gs_client *holder = c->state == GS_CLIENT_RUNNING ? c : NULL, *other;

	if (!any)
		return holder;
	list_for_each_entry(other, &c->set, set) {
		if (holder && !is_asked_back(holder))
			break;
		if (other->state == GS_CLIENT_RUNNING)
			holder = other;
	}
	return holder;
}

static void give_back(struct gs_client *c, u64 now)
{
	if (gs_cancel(c, now) == -EBUSY)
		gs_yield(c, false, 0, now);
}

void gs_contract_give_back(struct gs_client *c, bool any, u64 now)
{
	struct gs_client *other;

	give_back(c, now);
	if (!any)
		return;
	list_for_each_entry(other, &c->set, set)
		give_back(other, now);
}

static int ask_one(struct gs_client *c, bool again, u64 want, u64 now)
{
	if (c->state == GS_CLIENT_WAITING) {
		if (list_empty(&c->any) && !again)
			return gs_request(c, want, now);
		/* What it asked for together with others isn't what it asks for now. */
		gs_cancel(c, now);
	}
	return gs_yield(c, true, want, now);
}

static int ask_any(struct gs_client *c, bool again, u64 want, struct gs_client **holder, u64 now)
{
	struct gs_client *all[GS_ANY_MAX], *other;
	int n = 0, ret;

	if (c->state == GS_CLIENT_WAITING && !list_empty(&c->any) && !again)
		return 0;
	gs_contract_give_back(c, true, now);
	if (c->state != GS_CLIENT_GONE)
		all[n++] = c;
	list_for_each_entry(other, &c->set, set) {
		if (other->state != GS_CLIENT_GONE)
			all[n++] = other;
	}
	ret = gs_request_any(all, n, want, now);
	if (ret == -EAGAIN)
		return 0;
	if (ret < 0)
		return ret;
	*holder = all[ret];
	return 1;
}

int gs_contract_ask(struct gs_client *c, bool any, bool again, u64 want,
		    struct gs_client **holder, u64 now)
{
	struct gs_client *has = gs_contract_holder(c, any);

	*holder = has ?: c;
	if (has && !again && !is_asked_back(has))
		return 1;
	if (any)
		return ask_any(c, again, want, holder, now);
	return ask_one(c, again, want, now);
}

void gs_contract_tell(struct gpushare_wait *arg, const struct gs_client *c)
{
	arg->word = READ_ONCE(c->page->word);
	arg->client = c->id;
	arg->device = c->page->device;
}
