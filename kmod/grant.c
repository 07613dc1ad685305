// SPDX-License-Identifier: GPL-2.0-only
/*
 * Between the arbiter and the waiting: grant pages, timers, blocked calls, poll.
 *
 * The arbiter says "publish" whenever what a client may see has changed. We
 * then copy that to the client's page and wake who sleeps on it. It also says
 * when a slice will be over if nothing happens until then. At that time the
 * device's timer, a hard interrupt, sets PREEMPT in the page by itself, so that
 * a client that looks at its page sees it at once, on PREEMPT_RT kernels too,
 * where a soft timer or gs.lock would have to wait for a thread to be
 * scheduled. The rest is done by an irq_work, which calls gs_expire() under
 * the lock.
 *
 * The pages of a device's clients are written under its page_lock, a raw
 * spinlock, which is what a hard interrupt may take on every kernel. It is held
 * for a few stores, or by the timer for a look at the at most 64 holders.
 */
#include <linux/poll.h>
#include "compat.h"
#include "gpushare.h"
#include "trace.h"

/* The page and the arbiter count these alike. */
#define SAME(name) static_assert((GPUSHARE_##name) == (GS_##name))
SAME(GRANTED);
SAME(PREEMPT);
SAME(PREPARE);
SAME(EVICT);

/*
 * The page's word. The arbiter's epoch goes up with each grant and with each
 * loss of one, the page's with each grant only.
 */
static u64 word_of(const struct kclient *c)
{
	u64 flags = c->core.flags & (GS_GRANTED | GS_PREEMPT | GS_PREPARE | GS_EVICT);

	if (c->core.state == GS_CLIENT_GONE)
		flags = GPUSHARE_GONE;
	else if (c->core.state == GS_CLIENT_WAITING)
		flags |= GPUSHARE_WAITING;
	return (c->core.epoch + 1) / 2 << GPUSHARE_EPOCH_SHIFT | flags;
}

static bool may_run(u64 word)
{
	return (word & (GPUSHARE_GRANTED | GPUSHARE_PREEMPT)) == GPUSHARE_GRANTED;
}

static u64 holder_of(const struct kclient *c)
{
	struct gs_device *dev = &c->device->core;

	if (c->core.state == GS_CLIENT_GONE || list_empty(&dev->holders))
		return 0;
	return list_first_entry(&dev->holders, struct gs_client, of_device)->id;
}

/* What stands behind the page's sequence count. */
static __always_inline void show_rest(struct kclient *c)
{
	struct gpushare_grant_page *page = c->grant;
	bool granted = c->core.flags & GS_GRANTED;
	u32 seq = page->seq;

	WRITE_ONCE(page->seq, seq + 1);
	smp_wmb();	/* odd before the first change; pairs with the reader's first fence */
	WRITE_ONCE(page->workers, c->core.workers);
	WRITE_ONCE(page->granted_ns, granted ? c->core.since : 0);
	WRITE_ONCE(page->deadline_ns, granted ? c->core.deadline : 0);
	WRITE_ONCE(page->slice_ns, c->core.slice);
	WRITE_ONCE(page->linger_ns, c->device->core.conf.linger);
	WRITE_ONCE(page->waiters, c->device->core.root.waiting);
	WRITE_ONCE(page->holder, holder_of(c));
	smp_wmb();	/* even after the last change; pairs with the reader's second fence */
	WRITE_ONCE(page->seq, seq + 2);
}

/* The word as it is to be; the timer may have asked already, before the arbiter knows. */
static u64 next_word(const struct kclient *c, u64 old)
{
	u64 word = word_of(c);

	if (old & ~word & GPUSHARE_PREEMPT && word & GPUSHARE_GRANTED &&
	    old >> GPUSHARE_EPOCH_SHIFT == word >> GPUSHARE_EPOCH_SHIFT &&
	    c->core.preempt_at <= ktime_get_ns())
		word |= GPUSHARE_PREEMPT;
	return word;
}

static void show_word(struct gpushare_grant_page *page, u64 word)
{
	/* Set before the word says so, cleared before a new grant is shown. */
	WRITE_ONCE(page->preempt, !!(word & GPUSHARE_PREEMPT));
	if (word == page->word)
		return;
	WRITE_ONCE(page->wake, page->wake + 1);
	smp_store_release(&page->word, word);	/* pairs with the client's acquire load */
}

static noinline bool show_shared(struct kclient *c)
{
	struct kdevice *device = c->device;
	struct gpushare_grant_page *page = c->grant;
	u64 old, word;
	unsigned long flags;
	bool due;

	raw_spin_lock_irqsave(&device->page_lock, flags);
	old = page->word;
	word = next_word(c, old);
	show_rest(c);
	show_word(page, word);
	c->preempt_at = c->core.preempt_at;
	due = may_run(word) && c->preempt_at != GS_NEVER;
	if (!due)
		list_del_init(&c->running);
	else if (list_empty(&c->running))
		list_add_tail(&c->running, &device->running);
	raw_spin_unlock_irqrestore(&device->page_lock, flags);
	return (word ^ old) & GPUSHARE_FLAGS_MASK;
}

/*
 * Write the client's page anew; true if anything changed that somebody may sleep
 * for. The timer only writes the pages of those on its list, and only gs.lock's
 * holder puts them there: who isn't, and needn't be, is alone with its page.
 */
static bool show(struct kclient *c)
{
	u64 old, word;

	lockdep_assert_held(&gs.lock);
	if (c->core.preempt_at != GS_NEVER || !list_empty_careful(&c->running))
		return show_shared(c);
	old = c->grant->word;
	word = word_of(c);
	show_rest(c);
	show_word(c->grant, word);
	return (word ^ old) & GPUSHARE_FLAGS_MASK;
}

void gs_show(struct kclient *c)
{
	show(c);
}

/* The arbiter has let go of @c: the last that its pages show. */
void gs_show_end(struct kclient *c)
{
	struct gpushare_grant_page *page = c->grant;
	unsigned long flags;
	u64 word;

	raw_spin_lock_irqsave(&c->device->page_lock, flags);
	list_del_init(&c->running);
	word = page->word & ~(GPUSHARE_FLAGS_MASK & ~GPUSHARE_GONE);
	WRITE_ONCE(page->preempt, 0);
	WRITE_ONCE(page->wake, page->wake + 1);
	smp_store_release(&page->word, word);	/* pairs with the client's acquire load */
	raw_spin_unlock_irqrestore(&c->device->page_lock, flags);
}

static void slice_over(struct kclient *c)
{
	show_word(c->grant, c->grant->word | GPUSHARE_PREEMPT);
	list_del_init_careful(&c->running);	/* last: pairs with gs_show()'s look */
}

/* Wake the calls and polls on a client; those for ANY may be on another's file. */
static void wake(struct kclient *c)
{
	const __poll_t what = EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLERR | EPOLLHUP;
	struct kclient *other;

	lockdep_assert_held(&gs.lock);
	if (c->file && wq_has_sleeper(&c->file->wq))
		wake_up_interruptible_poll(&c->file->wq, what);
	list_for_each_entry(other, &c->set, set) {
		if (other->file && other->sleepers)
			wake_up_interruptible_poll(&other->file->wq, what);
	}
}

static void publish(struct gs_arbiter *arb, struct gs_client *core)
{
	struct kclient *c = gs_kclient(core);
	bool changed = show(c);

	/*
	 * The word is taken back before the idle flag is read for the last
	 * time, in gs_unlock(); the client does it the other way round.
	 */
	if (c->lingers != core->lingers) {
		c->lingers = core->lingers;
		if (list_empty(&c->withdrawn))
			list_add_tail(&c->withdrawn, &gs.withdrawn);
	}
	if (changed)
		wake(c);
}

static void arm(struct gs_arbiter *arb, struct gs_device *dev, u64 when)
{
	hrtimer_start(&gs_kdevice(dev)->timer, ns_to_ktime(min_t(u64, when, KTIME_MAX)),
		      HRTIMER_MODE_ABS_HARD);
}

/* Since when the client has nothing to run: as it says, or as it can't any more. */
u64 gs_idle_since(const struct kclient *c)
{
	u64 since = READ_ONCE(c->said->idle_ns);

	return since ?: gs_owner_is_dying(c);
}

static u64 peek_idle(struct gs_arbiter *arb, struct gs_client *core)
{
	return min(gs_idle_since(gs_kclient(core)), arb->now);
}

static void node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	kfree(node);
}

const struct gs_host_ops gs_ops = {
	.publish = publish,
	.arm = arm,
	.peek_idle = peek_idle,
	.kill = gs_owners_kill,
	.node_free = node_free,
	.event = gs_event,
};

/* Hard interrupt context even on PREEMPT_RT: no lock but a raw one. */
static enum hrtimer_restart device_due(struct hrtimer *timer)
{
	struct kdevice *device = container_of(timer, struct kdevice, timer);
	u64 now = ktime_get_ns();
	struct kclient *c, *next;

	raw_spin_lock(&device->page_lock);
	list_for_each_entry_safe(c, next, &device->running, running) {
		if (c->preempt_at <= now)
			slice_over(c);
	}
	raw_spin_unlock(&device->page_lock);
	irq_work_queue(&device->work);
	return HRTIMER_NORESTART;
}

static void device_expire(struct irq_work *work)
{
	struct kdevice *device = container_of(work, struct kdevice, work);
	unsigned long flags;
	u64 now = gs_lock_irqsave(flags);

	if (!device->removed)
		gs_expire(&device->core, now);
	gs_unlock_irqrestore(flags);
}

void gs_timer_init(struct kdevice *device)
{
	raw_spin_lock_init(&device->page_lock);
	INIT_LIST_HEAD(&device->running);
	hrtimer_setup(&device->timer, device_due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	init_irq_work(&device->work, device_expire);
}

/* The arbiter must have let go of the device before. */
void gs_timer_stop(struct kdevice *device)
{
	hrtimer_cancel(&device->timer);
	irq_work_sync(&device->work);
}

/* A client that holds, of @c's set with @any, or NULL. */
static struct kclient *holder_in(struct kclient *c, bool any)
{
	struct kclient *other;

	lockdep_assert_held(&gs.lock);
	if (c->core.state == GS_CLIENT_RUNNING)
		return c;
	if (!any)
		return NULL;
	list_for_each_entry(other, &c->set, set) {
		if (other->core.state == GS_CLIENT_RUNNING)
			return other;
	}
	return NULL;
}

/* The number of waiters has changed, which the holders can read. */
void gs_show_waiters(struct kdevice *device)
{
	struct gs_client *core;
	unsigned long flags;
	struct kclient *c;

	if (device->removed)
		return;
	list_for_each_entry(core, &device->core.holders, of_device) {
		c = gs_kclient(core);
		if (c->grant->waiters == device->core.root.waiting)
			continue;
		raw_spin_lock_irqsave(&device->page_lock, flags);
		show_rest(c);
		raw_spin_unlock_irqrestore(&device->page_lock, flags);
	}
}

/*
 * A request that @c shares with others of its set isn't left to them, when @c
 * ends or asks for something else. Those who sleep for it ask anew.
 */
void gs_withdraw(struct kclient *c, u64 now)
{
	struct kclient *other;

	if (list_empty(&c->core.any))
		return;
	gs_cancel(&c->core, now);
	list_for_each_entry(other, &c->set, set)
		gs_show_waiters(other->device);
}

/* Take @c's request back, whether for itself or for its set. */
static void cancel(struct kclient *c, u64 now)
{
	gs_withdraw(c, now);
	gs_cancel(&c->core, now);
}

/* Give back what @c holds, or take its request back. */
static void give_back(struct kclient *c, u64 now)
{
	if (c->core.state == GS_CLIENT_WAITING)
		cancel(c, now);
	else if (c->core.state == GS_CLIENT_RUNNING || c->core.state == GS_CLIENT_OVER)
		gs_yield(&c->core, false, 0, now);
	gs_show_waiters(c->device);
}

static void give_back_any(struct kclient *c, u64 now)
{
	struct kclient *other;

	give_back(c, now);
	list_for_each_entry(other, &c->set, set) {
		if (other->core.state != GS_CLIENT_GONE)
			give_back(other, now);
	}
}

/* The timer may have asked already, before the arbiter knows. */
static bool is_asked_back(const struct kclient *c)
{
	return READ_ONCE(c->grant->word) & GPUSHARE_PREEMPT;
}

/* As gs_request() and gs_yield(): 1 if it holds, 0 if it waits. */
static int ask_one(struct kclient *c, bool again, u64 want, u64 now)
{
	int ret;

	if (c->core.state == GS_CLIENT_RUNNING && !again && !is_asked_back(c))
		return 1;
	if (c->core.state == GS_CLIENT_WAITING) {
		if (list_empty(&c->core.any) && !again)
			return 0;
		cancel(c, now);
	}
	if (c->core.state == GS_CLIENT_RUNNING || c->core.state == GS_CLIENT_OVER)
		ret = gs_yield(&c->core, true, want, now);
	else
		ret = gs_request(&c->core, want, now);
	gs_show_waiters(c->device);
	return ret;
}

/* The same for the whole set; what holds and isn't asked back wins. */
static int ask_any(struct kclient *c, bool again, u64 want, u64 now)
{
	struct gs_client *all[GS_ANY_MAX];
	struct kclient *other = holder_in(c, true);
	int i, n = 0, ret;

	if (other && !again && !is_asked_back(other))
		return 1;
	if (c->core.state == GS_CLIENT_WAITING && !list_empty(&c->core.any) && !again)
		return 0;
	give_back_any(c, now);
	all[n++] = &c->core;
	list_for_each_entry(other, &c->set, set) {
		if (other->core.state != GS_CLIENT_GONE)
			all[n++] = &other->core;
	}
	ret = gs_request_any(all, n, want, now);
	for (i = 0; i < n; i++)
		gs_show_waiters(gs_kclient(all[i])->device);
	return ret == -EAGAIN ? 0 : ret < 0 ? ret : 1;
}

/* The set's members go to their groups too, before they are asked for. */
static int settle_all(struct kclient *c, u64 *now)
{
	struct kclient *other;
	int ret;

again:
	ret = gs_client_settle(c, now);
	if (ret)
		return ret;
	list_for_each_entry(other, &c->set, set) {
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

static void tell(const struct kclient *holder, struct gpushare_wait *arg)
{
	arg->word = READ_ONCE(holder->grant->word);
	arg->client = holder->id.id;
	arg->device = holder->device->id.id;
}

/* Ask. 1 if it holds, 0 if it waits (as a sleeper unless NONBLOCK), or -errno. */
static int ask(struct kclient *c, struct gpushare_wait *arg, bool again)
{
	bool any = arg->flags & GPUSHARE_WAIT_ANY;
	u64 now = gs_lock();
	int ret;

	ret = any ? settle_all(c, &now) : gs_client_settle(c, &now);
	if (ret)
		goto unlock;
	ret = any ? ask_any(c, again, arg->want_ns, now) : ask_one(c, again, arg->want_ns, now);
	if (ret > 0)
		tell(holder_in(c, any), arg);
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
	struct kclient *holder;
	u64 now = gs_lock();

	c->sleepers--;
	holder = holder_in(c, any);
	if (holder) {
		tell(holder, arg);
		ret = 1;
	} else if (ret && !c->sleepers && c->core.state == GS_CLIENT_WAITING) {
		if (any)
			give_back_any(c, now);
		else
			give_back(c, now);
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
	struct kclient *c;
	int ret;

	if (arg->flags & ~(GPUSHARE_WAIT_NONBLOCK | GPUSHARE_WAIT_ANY) || arg->reserved)
		return -EINVAL;
	c = gs_client_own(file);
	if (IS_ERR(c))
		return PTR_ERR(c);
	/* Which a client could have read from its page. */
	arg->word = READ_ONCE(c->grant->word);
	if (may_run(arg->word)) {
		arg->client = c->id.id;
		arg->device = c->device->id.id;
		ret = 1;
	} else {
		ret = acquire(file, c, arg, false);
	}
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
		arg->word = READ_ONCE(c->grant->word);
	}
	spin_unlock_irq(&gs.lock);
	return done;
}

/* As YIELD in the header. */
int gs_yield_call(struct gs_file *file, struct gpushare_wait *arg)
{
	struct kclient *c;
	int ret;
	u64 now;

	if (arg->flags & ~(GPUSHARE_WAIT_NONBLOCK | GPUSHARE_WAIT_ANY | GPUSHARE_WAIT_AGAIN) ||
	    arg->reserved)
		return -EINVAL;
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
		if (arg->flags & GPUSHARE_WAIT_ANY)
			give_back_any(c, now);
		else
			give_back(c, now);
		tell(c, arg);
	}
	gs_unlock();
put:
	gs_client_put(c);
	return ret;
}

/*
 * POLLIN while it is granted; POLLPRI while it is asked to yield and has
 * nothing to run, since a holder that works looks at its page by itself, and
 * while it is asked to move memory.
 */
__poll_t gs_poll(struct file *f, struct poll_table_struct *table)
{
	struct gs_file *file = f->private_data;
	struct kclient *c;
	__poll_t events = 0;
	u64 word;

	poll_wait(f, &file->wq, table);
	c = gs_client_get(file);
	if (!c)
		return EPOLLERR;
	word = READ_ONCE(c->grant->word);
	if (word & GPUSHARE_GONE)
		events |= EPOLLERR | EPOLLHUP;
	if (word & GPUSHARE_GRANTED)
		events |= EPOLLIN | EPOLLRDNORM;
	if (word & GPUSHARE_PREEMPT && READ_ONCE(c->said->idle_ns))
		events |= EPOLLPRI;
	if (word & (GPUSHARE_EVICT | GPUSHARE_PREPARE))
		events |= EPOLLPRI;
	gs_client_put(c);
	return events;
}
