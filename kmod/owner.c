// SPDX-License-Identifier: GPL-2.0-only
/*
 * The processes behind a client, and how they are ended.
 *
 * A client belongs to an address space, and several processes can use one: vfork()
 * and clone() with CLONE_VM make such. While any of them is left the client goes on,
 * so to end a client that doesn't yield (kill_us) is to kill all of them, as the
 * kernel's OOM killer does to free an address space. Which process attached says
 * nothing: it may run another program by now, or have gone.
 *
 * They are found by a walk over all processes, which is too long for gs.lock. So the
 * arbiter's word only puts the client on a list, with a reference, for a work item.
 * By then the client may have ended: if with its address space, nobody is found to
 * use that; if by DETACH, its processes are killed all the same, as they are told of
 * (GPUSHARE_EVENT_KILLED). The reference keeps the mm_struct, so the address isn't
 * another's.
 *
 * Nobody is missed who is made during the walk. New processes are added at the end of
 * the list, and none by one that has a SIGKILL pending: fork looks under the same
 * siglock under which the signal is sent, just before it adds the child. So who forks
 * does that before the walk has come to it, and the child lies behind it.
 *
 * What can't be killed: the first process of the machine, which takes no signal that
 * it doesn't want, and kernel threads that borrow an address space, which launch nothing
 * of their own. A process that hangs in the kernel goes when it comes out. In all of
 * these cases the client has lost its seat in the books, and pays on.
 */
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/workqueue.h>
#include "gpushare.h"

static void kill_doomed(struct work_struct *work);
static DECLARE_WORK(kill_work, kill_doomed);

/* All threads of a process use the same one, but for those that have let go of it. */
static bool uses(struct task_struct *process, const struct mm_struct *mm)
{
	const struct mm_struct *its;
	struct task_struct *t;

	for_each_thread(process, t) {
		its = READ_ONCE(t->mm);
		if (its)
			return its == mm;
	}
	return false;
}

static void kill_owners(const struct kclient *c)
{
	struct task_struct *p;

	rcu_read_lock();
	for_each_process(p) {
		if (p->flags & PF_KTHREAD || is_global_init(p) || !uses(p, c->mm))
			continue;
		pr_notice_ratelimited("killing process %d (%s): it didn't yield %s\n",
				      task_pid_nr(p), p->comm, c->device->info.key);
		/* By the number of the group: its first thread may have exited. */
		kill_pid(task_tgid(p), SIGKILL, 1);
	}
	rcu_read_unlock();
}

/*
 * gs_owner_is_dying - will nobody launch anything for the client any more?
 *
 * A process that was killed can take long to let go of its address space: its threads
 * have to run once more for that, on a busy machine, and then all it had is unmapped
 * before we are told. But it won't see user mode again. So who waits for its device
 * needn't wait for the rest. What else uses its address space may go on: as many users
 * as the process has threads are its own. (Some of these may have let go already; then
 * a sibling by CLONE_VM loses a grant as one does that was idle, and asks again.)
 */
bool gs_owner_is_dying(const struct kclient *c)
{
	struct task_struct *p;
	bool dying;

	lockdep_assert_held(&gs.lock);
	if (gs_client_is_dead(c))
		return true;
	rcu_read_lock();
	p = pid_task(c->pid, PIDTYPE_TGID);
	dying = p && READ_ONCE(p->signal->flags) & SIGNAL_GROUP_EXIT &&
		atomic_read(&c->mm->mm_users) <= get_nr_threads(p) && uses(p, c->mm);
	rcu_read_unlock();
	return dying;
}

static struct kclient *next_doomed(void)
{
	struct kclient *c;

	gs_lock();
	c = list_first_entry_or_null(&gs.doomed, struct kclient, doomed);
	if (c)
		list_del_init(&c->doomed);
	gs_unlock();
	return c;
}

static void kill_doomed(struct work_struct *work)
{
	struct kclient *c;

	while ((c = next_doomed())) {
		kill_owners(c);
		gs_client_put(c);
		cond_resched();
	}
}

/* The arbiter's callback, once for a client. They end as any process does, and with them it. */
void gs_owners_kill(struct gs_arbiter *arb, struct gs_client *core)
{
	struct kclient *c = gs_kclient(core);

	lockdep_assert_held(&gs.lock);
	kref_get(&c->ref);
	list_add_tail(&c->doomed, &gs.doomed);
	/* On any processor: this one may be what the client keeps busy. */
	queue_work(system_unbound_wq, &kill_work);
}

/* No file is open any more, so nobody is doomed anew. */
void gs_owners_exit(void)
{
	flush_work(&kill_work);
}
