// SPDX-License-Identifier: GPL-2.0-only
/*
 * The grant pages: when they are written, and who is woken then; the device's timer.
 *
 * The arbiter says "publish" whenever what a client may see has changed. We
 * then copy that to the client's page (contract/page.c) and wake who sleeps on it. It
 * also says when a slice will be over if nothing happens until then. At that time the
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
#include <linux/slab.h>
#include "compat.h"
#include "gpushare.h"

/* The word as it is to be; the timer may have asked already, before the arbiter knows. */
static u64 next_word(const struct gs_client *c)
{
	u64 word = gs_contract_word(c), old = c->page->word;

	if (old & ~word & GPUSHARE_PREEMPT && word & GPUSHARE_GRANTED &&
	    old >> GPUSHARE_EPOCH_SHIFT == word >> GPUSHARE_EPOCH_SHIFT &&
	    c->preempt_at <= ktime_get_ns())
		word |= GPUSHARE_PREEMPT;
	return word;
}

static noinline u64 show_shared(struct kclient *c)
{
	struct kdevice *device = c->device;
	unsigned long flags;
	u64 old, word;

	raw_spin_lock_irqsave(&device->page_lock, flags);
	word = next_word(&c->core);
	old = gs_contract_show(&c->core, word);
	c->preempt_at = c->core.preempt_at;
	if (!gs_may_run(word) || c->preempt_at == GS_NEVER)
		list_del_init(&c->running);
	else if (list_empty(&c->running))
		list_add_tail(&c->running, &device->running);
	raw_spin_unlock_irqrestore(&device->page_lock, flags);
	return word ^ old;
}

/*
 * Write the client's page anew; true if anything changed that somebody may sleep
 * for. The timer only writes the pages of those on its list, and only gs.lock's
 * holder puts them there: who isn't, and needn't be, is alone with its page.
 */
static bool show(struct kclient *c)
{
	u64 word, changed;

	lockdep_assert_held(&gs.lock);
	if (c->core.preempt_at != GS_NEVER || !list_empty_careful(&c->running)) {
		changed = show_shared(c);
	} else {
		word = gs_contract_word(&c->core);
		changed = word ^ gs_contract_show(&c->core, word);
	}
	return changed & GPUSHARE_FLAGS_MASK;
}

/* The arbiter has let go of @c: the last that its pages show. */
void gs_show_end(struct kclient *c)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&c->device->page_lock, flags);
	list_del_init(&c->running);
	gs_contract_show_end(&c->core);
	raw_spin_unlock_irqrestore(&c->device->page_lock, flags);
}

static void slice_over(struct kclient *c)
{
	gs_contract_show_word(c->core.page, c->core.page->word | GPUSHARE_PREEMPT);
	list_del_init_careful(&c->running);	/* last: pairs with show()'s look */
}

/* Wake the calls and polls on a client; those for ANY may be on another's file. */
static void wake(struct kclient *c)
{
	const __poll_t what = EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLERR | EPOLLHUP;
	struct kclient *other;

	lockdep_assert_held(&gs.lock);
	if (c->file && wq_has_sleeper(&c->file->wq))
		wake_up_interruptible_poll(&c->file->wq, what);
	list_for_each_entry(other, &c->core.set, core.set) {
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

static u64 peek_until(struct gs_arbiter *arb, struct gs_client *core)
{
	return READ_ONCE(gs_kclient(core)->said->until_ns);
}

static void node_free(struct gs_arbiter *arb, struct gs_node *node)
{
	kfree(node);
}

const struct gs_host_ops gs_ops = {
	.publish = publish,
	.arm = arm,
	.peek_idle = peek_idle,
	.peek_until = peek_until,
	.kill = gs_owners_kill,
	.mem_over = gs_memory_over,
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
	word = READ_ONCE(c->core.page->word);
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
