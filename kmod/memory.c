// SPDX-License-Identifier: GPL-2.0-only
/*
 * MEMORY and DESCRIBE: what a client says that it uses of its device. Nothing
 * that it says gives it more than its groups may have: memory that it doesn't
 * tell of is not seen, and memory that it tells of is limited.
 */
#include "gpushare.h"

/* A call that waits for memory. Protected by gs.lock; @over is also read without it. */
struct gs_mem_sleeper {
	bool over;
	int result;
};

/* The arbiter's: a wait is over. */
void gs_memory_over(struct gs_arbiter *arb, struct gs_client *core, int result)
{
	struct kclient *c = gs_kclient(core);
	struct gs_mem_sleeper *sleeper = c->mem_sleeper;

	lockdep_assert_held(&gs.lock);
	if (!sleeper)
		return;
	c->mem_sleeper = NULL;
	sleeper->result = result;
	WRITE_ONCE(sleeper->over, true);
	/* If it has ended, whoever ends it wakes all. */
	if (c->file)
		wake_up_interruptible(&c->file->wq);
}

/* Until its wait is over, a signal comes, or it is time. */
static int sleep_for_memory(struct gs_file *file, const struct gs_mem_sleeper *sleeper,
			    u64 until_ns)
{
	ktime_t until = ns_to_ktime(min_t(u64, until_ns, KTIME_MAX));
	DEFINE_WAIT(wait);
	bool late = false;
	int ret = 0;

	for (;;) {
		prepare_to_wait(&file->wq, &wait, TASK_INTERRUPTIBLE);
		if (READ_ONCE(sleeper->over))
			break;
		if (signal_pending(current))
			ret = -ERESTARTSYS;
		else if (late)
			ret = -ETIMEDOUT;
		if (ret)
			break;
		late = !schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	}
	finish_wait(&file->wq, &wait);
	return ret;
}

/* It was said to wait. Called with gs.lock, which it lets go meanwhile. */
static int wait_for_memory(struct gs_file *file, struct kclient *c, struct gpushare_memory *arg)
	__must_hold(&gs.lock)
{
	struct gs_mem_sleeper sleeper = { };
	u64 now;
	int ret;

	c->mem_sleeper = &sleeper;
	now = c->core.mem_until;
	gs_unlock();
	ret = sleep_for_memory(file, &sleeper, now);
	now = gs_lock();
	if (sleeper.over) {
		ret = sleeper.result;
	} else {
		c->mem_sleeper = NULL;
		gs_mem_give_up(&c->core, ret == -ERESTARTSYS, now);
	}
	if (c->ended)
		return -ENOTCONN;
	gs_contract_memory_over(arg, &c->core, ret);
	return ret;
}

int gs_memory(struct gs_file *file, struct kclient *c, struct gpushare_memory *arg)
{
	int ret = gs_contract_memory_check(arg);
	u64 now;

	if (ret)
		return ret;
	now = gs_lock();
	ret = gs_client_settle(c, &now);
	if (!ret) {
		ret = gs_contract_memory(&c->core, arg, now);
		if (ret == -EAGAIN && !(arg->flags & GPUSHARE_MEM_NONBLOCK))
			ret = wait_for_memory(file, c, arg);
	} else if (ret == -ENOMEM) {
		ret = gs_client_usable(c) ?: ret;
		if (ret == -ENOMEM)
			gs_contract_memory_show(arg, &c->core);
		arg->limit_group = GPUSHARE_NO_LIMIT;	/* the kernel's own is short */
	}
	gs_unlock();
	return ret;
}

int gs_describe(struct kclient *c, struct gpushare_describe *arg)
{
	int ret;
	u64 now;

	if (arg->flags)
		return -EINVAL;
	now = gs_lock();
	ret = gs_client_settle(c, &now);
	if (!ret)
		ret = gs_contract_describe(&c->core, &c->profile, arg, now);
	gs_unlock();
	return ret;
}
