// SPDX-License-Identifier: GPL-2.0-only
/*
 * ACQUIRE and YIELD: what they ask of the arbiter is the contract's (contract/ask.c),
 * here are their short ways, the lock and the waiting.
 */
#include "gpushare.h"
#include "trace.h"

/* The set's members go to their groups too, before they are asked for. */
static int settle_all(struct kclient *c, u64 *now)
{
	struct kclient *other;
	int ret;

again:
	ret = gs_client_settle(c, now);
	if (ret)
		return ret;
	list_for_each_entry(other, &c->core.set, core.set) {
		if (other->core.state == GS_CLIENT_GONE || gs_client_is_settled(other))
			continue;
		/* This lets go of the lock, so all is looked at anew afterwards. */
		kref_get(&other->ref);
		ret = gs_client_settle(other, now);
		gs_unlock();
		gs_client_put(other);
		*now = gs_lock();
		if (ret && ret != -ENODEV && ret != -ENOTCONN)
			return ret;
		goto again;
	}
	return 0;
}

/* Ask. 1 if it holds, 0 if it waits (as a sleeper unless NONBLOCK), or -errno. */
static int ask(struct kclient *c, struct gpushare_wait *arg, bool again)
{
	bool any = arg->flags & GPUSHARE_WAIT_ANY;
	struct gs_client *holder;
	u64 now = gs_lock();
	int ret;

	ret = any ? settle_all(c, &now) : gs_client_settle(c, &now);
	if (ret)
		goto unlock;
	ret = gs_contract_ask(&c->core, any, again, arg->want_ns, &holder, now);
	if (ret > 0)
		gs_contract_tell(arg, holder);
	else if (!ret && !(arg->flags & GPUSHARE_WAIT_NONBLOCK))
		c->sleepers++;
unlock:
	gs_unlock();
	return ret;
}

/* Until it no longer waits, a signal comes, or it is time. */
static int sleep_while_waiting(struct gs_file *file, struct kclient *c, u64 until_ns)
{
	ktime_t until = ns_to_ktime(min_t(u64, until_ns, KTIME_MAX));
	DEFINE_WAIT(wait);
	bool over = false;
	int ret = 0;

	for (;;) {
		prepare_to_wait(&file->wq, &wait, TASK_INTERRUPTIBLE);
		if (READ_ONCE(c->core.state) != GS_CLIENT_WAITING || READ_ONCE(c->ended))
			break;
		if (signal_pending(current))
			ret = -ERESTARTSYS;
		else if (over)
			ret = -ETIMEDOUT;
		if (ret)
			break;
		if (until_ns == GPUSHARE_FOREVER)
			schedule();
		else
			over = !schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	}
	finish_wait(&file->wq, &wait);
	return ret;
}

/*
 * A sleep is over, for the reason @ret. 1 if it holds now, whatever else came in
 * between. Else the last sleeper takes the request back, if it has a reason to.
 */
static int stop_waiting(struct kclient *c, struct gpushare_wait *arg, int ret)
{
	bool any = arg->flags & GPUSHARE_WAIT_ANY;
	struct gs_client *holder;
	u64 now = gs_lock();

	c->sleepers--;
	holder = gs_contract_holder(&c->core, any);
	if (holder) {
		gs_contract_tell(arg, holder);
		ret = 1;
	} else if (ret && !c->sleepers && c->core.state == GS_CLIENT_WAITING) {
		gs_contract_give_back(&c->core, any, now);
	}
	gs_unlock();
	return ret;
}

static int acquire(struct gs_file *file, struct kclient *c, struct gpushare_wait *arg, bool again)
{
	int ret;

	do {
		ret = ask(c, arg, again);
		if (!ret && arg->flags & GPUSHARE_WAIT_NONBLOCK)
			return -EAGAIN;
		if (!ret)
			ret = stop_waiting(c, arg, sleep_while_waiting(file, c, arg->until_ns));
		/* Neither held nor ended: a thread took the request back, it is made anew. */
		again = false;
	} while (!ret);
	return ret < 0 ? ret : 0;
}

/* As ACQUIRE in the header. Returns 1 if it was granted before. */
int gs_acquire(struct gs_file *file, struct gpushare_wait *arg)
{
	int ret = gs_contract_wait_check(arg, false);
	struct kclient *c;

	if (ret)
		return ret;
	c = gs_client_own(file);
	if (IS_ERR(c))
		return PTR_ERR(c);
	/* Which a client could have read from its page. */
	gs_contract_tell(arg, &c->core);
	ret = gs_may_run(arg->word) ? 1 : acquire(file, c, arg, false);
	gs_client_put(c);
	return ret;
}

/* Give back what gs_acquire() got, if it wasn't there before. */
void gs_acquire_undo(struct gs_file *file, struct gpushare_wait *arg)
{
	arg->flags &= GPUSHARE_WAIT_ANY;
	gs_yield_call(file, arg);
}

/*
 * YIELD with AGAIN while nobody else is there is what a client does all day. One
 * hold of the lock, and no reference: the client can't go while it is held. The
 * arbiter has a short way for it too. False if it isn't so simple.
 */
static bool yield_alone(struct gs_file *file, struct gpushare_wait *arg)
{
	struct kclient *c;
	bool done = false;
	u64 now;

	spin_lock_irq(&gs.lock);
	c = rcu_dereference_protected(file->client, lockdep_is_held(&gs.lock));
	if (c && c->mm == current->mm && c->core.state == GS_CLIENT_RUNNING &&
	    gs_client_is_settled(c)) {
		now = ktime_get_ns();
		if (now - gs.listened > NSEC_PER_MSEC)
			gs_listen(now);
		done = gs_keep(&c->core, arg->want_ns, now);
		arg->word = READ_ONCE(c->core.page->word);
	}
	spin_unlock_irq(&gs.lock);
	return done;
}

/* As YIELD in the header. */
int gs_yield_call(struct gs_file *file, struct gpushare_wait *arg)
{
	int ret = gs_contract_wait_check(arg, true);
	struct kclient *c;
	u64 now;

	if (ret)
		return ret;
	if (arg->flags == GPUSHARE_WAIT_AGAIN && yield_alone(file, arg))
		return 0;
	c = gs_client_own(file);
	if (IS_ERR(c))
		return PTR_ERR(c);
	if (arg->flags & GPUSHARE_WAIT_AGAIN) {
		ret = acquire(file, c, arg, true);
		goto put;
	}
	now = gs_lock();
	ret = gs_client_usable(c);
	if (!ret) {
		gs_contract_give_back(&c->core, arg->flags & GPUSHARE_WAIT_ANY, now);
		gs_contract_tell(arg, &c->core);
	}
	gs_unlock();
put:
	gs_client_put(c);
	return ret;
}
