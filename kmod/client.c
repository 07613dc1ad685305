// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients: who they are, when they end, their two pages.
 *
 * A client belongs to the address space that attached it: GPU contexts survive
 * neither fork nor exec, so it is the natural owner. The mm is held as an
 * identity only (mmgrab), and "has no users any more" is the one test of death:
 * exit and exec both let go of the address space, whatever becomes of the file,
 * which a forked child or whoever got it over a socket may keep open for ever.
 *
 * No single place is told of every death, so the test is made in three:
 *
 *  - a mapped page is unmapped when its address space goes: the usual case,
 *    prompt, and also when another process shares the files;
 *  - the file is flushed when an exiting process closes its files: for clients
 *    that never mapped a page;
 *  - collect() in group.c looks at all clients now and then: for those that
 *    never mapped a page and went by exec, or while somebody else (a reader of
 *    /proc, say) held the address space for a moment longer.
 *
 * The last close ends the client in any case.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "gpushare.h"

/* The file's client, referenced, or NULL. */
struct kclient *gs_client_get(struct gs_file *file)
{
	struct kclient *c;

	rcu_read_lock();
	c = rcu_dereference(file->client);
	if (c && !kref_get_unless_zero(&c->ref))
		c = NULL;
	rcu_read_unlock();
	return c;
}

/* The file's client if it is the caller's, referenced. */
struct kclient *gs_client_own(struct gs_file *file)
{
	struct kclient *c = gs_client_get(file);

	if (!c)
		return ERR_PTR(-ENOTCONN);
	if (c->mm == current->mm)
		return c;
	gs_client_put(c);
	return ERR_PTR(-EXDEV);
}

static void destroy(struct kref *ref)
{
	struct kclient *c = container_of(ref, struct kclient, ref);

	/* Here and not when it ends: a mapping keeps its pages for longer. */
	gs_user_uncharge(&c->payers, GS_LIMIT_CLIENTS);
	if (c->cgroup)
		cgroup_put(c->cgroup);
	if (c->mm)
		mmdrop(c->mm);
	put_pid(c->pid);
	/* Someone who pinned a page has a reference of its own. */
	if (c->grant_page)
		__free_page(c->grant_page);
	if (c->client_page)
		__free_page(c->client_page);
	kobject_put(&c->device->kobj);
	kfree_rcu(c, rcu);
}

void gs_client_put(struct kclient *c)
{
	kref_put(&c->ref, destroy);
}

bool gs_client_is_dead(const struct kclient *c)
{
	return !atomic_read(&c->mm->mm_users);
}

/* 0, or why no command can be given for it any more. */
int gs_client_usable(const struct kclient *c)
{
	lockdep_assert_held(&gs.lock);
	if (c->ended)
		return -ENOTCONN;
	return c->core.state == GS_CLIENT_GONE ? -ENODEV : 0;
}

/*
 * gs_client_settle - put the client into the group of its caller's cgroup
 * @now: the time of the lock, replaced if the lock was let go
 *
 * A pointer and a number are compared while the task stays where it is. Moving
 * may need nodes, for which the lock is let go; all is looked up anew then.
 */
int gs_client_settle(struct kclient *c, u64 *now)
{
	struct gs_group *place;
	struct cgroup *cg;
	int ret;

	ret = gs_client_usable(c);
	if (ret || gs_client_is_settled(c))
		return ret;
	cg = gs_cgroup_current();
	ret = gs_place_for(cg, c->tenant, c->device, now, &place);
	if (!ret)
		ret = gs_client_usable(c);
	if (!ret && c->core.group != place)
		ret = gs_client_move(&c->core, place, *now);
	if (!ret) {
		swap(c->cgroup, cg);
		c->generation = gs.generation;
	}
	cgroup_put(cg);
	return ret;
}

static int take_pages(struct kclient *c)
{
	struct gpushare_client_page *said;

	c->grant_page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	c->client_page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!c->grant_page || !c->client_page)
		return -ENOMEM;
	said = page_address(c->client_page);
	said->version = GPUSHARE_PAGE_VERSION;
	c->said = said;
	return 0;
}

/* A client that nobody knows yet. Takes over the reference on @device. */
static struct kclient *create(struct kdevice *device)
{
	struct kclient *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c) {
		kobject_put(&device->kobj);
		return NULL;
	}
	kref_init(&c->ref);
	c->device = device;
	c->tenant = gs_tenant_current();
	INIT_LIST_HEAD(&c->withdrawn);
	INIT_LIST_HEAD(&c->running);
	c->mm = current->mm;
	mmgrab(c->mm);
	c->pid = get_task_pid(current, PIDTYPE_TGID);
	c->uid = current_uid();
	get_task_comm(c->comm, current->group_leader);
	if (take_pages(c)) {
		gs_client_put(c);
		return NULL;
	}
	return c;
}

/* The client whose set is to be joined: of this process, on no device twice. */
static struct kclient *set_of(int fd)
{
	struct fd f = fdget(fd);
	struct kclient *c = NULL;

	if (fd_file(f) && fd_file(f)->f_op == &gs_fops)
		c = gs_client_get(fd_file(f)->private_data);
	if (fd_file(f))
		fdput(f);
	if (c && c->mm != current->mm) {
		gs_client_put(c);
		c = NULL;
	}
	return c ?: ERR_PTR(-EBADF);
}

/* Make it known: to its file, to the arbiter, to those who list clients. */
static int introduce(struct kclient *c, struct gs_file *file, struct kclient *set)
{
	struct cgroup *cg = gs_cgroup_current();
	struct gs_group *place;
	u64 now = gs_lock();
	int ret;

	ret = gs_place_for(cg, c->tenant, c->device, &now, &place);
	if (ret)
		goto unlock;
	if (rcu_access_pointer(file->client)) {
		ret = -EALREADY;
		goto unlock;
	}
	if (c->device->removed) {
		ret = -ENODEV;
		goto unlock;
	}
	if (set)
		ret = set->ended ? -EBADF : gs_contract_set_check(&set->core, &c->device->core);
	if (ret)
		goto unlock;
	/* Listed first, so that the event of its coming finds it. */
	c->id.id = gs.last_client + 1;
	gs_id_add(&gs.clients, &c->id);
	ret = gs_client_add(&c->core, c->id.id, place, &c->device->core, now);
	if (ret) {
		gs_id_remove(&gs.clients, &c->id);
		goto unlock;
	}
	gs.last_client++;
	c->device->clients++;
	if (set)
		list_add_tail(&c->core.set, &set->core.set);
	gs_contract_show_begin(&c->core, page_address(c->grant_page));
	c->file = file;
	swap(c->cgroup, cg);
	c->generation = gs.generation;
	rcu_assign_pointer(file->client, c);
	gs_collect_later();
unlock:
	gs_unlock();
	if (cg)
		cgroup_put(cg);
	return ret;
}

static struct kdevice *device_of(const struct gpushare_attach *arg)
{
	struct kdevice *device;

	gs_lock();
	device = arg->device ? gs_device_by_id(arg->device) : gs_device_by_key(arg->key);
	if (device)
		kobject_get(&device->kobj);
	gs_unlock();
	return device;
}

/* Where it counts is where the caller is now. */
static int charge(struct kclient *c)
{
	struct cgroup *cg = gs_cgroup_current();
	int ret = gs_user_charge(&c->payers, GS_LIMIT_CLIENTS, cg);

	cgroup_put(cg);
	return ret;
}

int gs_client_attach(struct gs_file *file, struct gpushare_attach *arg)
{
	struct kclient *c, *set = NULL;
	struct kdevice *device;
	int ret;

	if (arg->flags || arg->set_fd < -1)
		return arg->flags ? -EINVAL : -EBADF;
	if (arg->group)
		return -EOPNOTSUPP;
	if (rcu_access_pointer(file->client))
		return -EALREADY;
	if (strnlen(arg->key, sizeof(arg->key)) == sizeof(arg->key))
		return -EINVAL;
	device = device_of(arg);
	if (!device)
		return -ENODEV;
	c = create(device);
	if (!c)
		return -ENOMEM;
	ret = charge(c);
	if (ret)
		goto put;
	if (arg->set_fd != -1) {
		set = set_of(arg->set_fd);
		if (IS_ERR(set)) {
			ret = PTR_ERR(set);
			goto put;
		}
	}
	if (gs_cgroup_none())
		pr_info_once("there are no cgroup v2 directories: all clients are in one group\n");
	/* The file's reference may be gone as soon as others can find the client. */
	kref_get(&c->ref);
	ret = introduce(c, file, set);
	if (set)
		gs_client_put(set);
	if (!ret) {
		arg->client = c->id.id;
		arg->device = device->id.id;
		strscpy_pad(arg->key, device->info.key, sizeof(arg->key));
	}
	/* Of the two references that it has then, one is for the file. */
	gs_client_put(c);
	if (!ret)
		return 0;
put:
	gs_client_put(c);
	return ret;
}

/* Everything it had is free now. Once it has happened, nothing more does. */
void gs_client_end(struct kclient *c)
{
	struct gs_file *file;
	bool collect;
	u64 now = gs_lock();

	if (c->ended) {
		gs_unlock();
		return;
	}
	WRITE_ONCE(c->ended, true);
	collect = !gs_cgroup_is_online(c->cgroup);
	file = c->file;
	c->file = NULL;
	RCU_INIT_POINTER(file->client, NULL);
	c->device->clients--;
	gs_client_remove(&c->core, now);
	gs_id_remove(&gs.clients, &c->id);
	list_del_init(&c->withdrawn);
	list_del_init(&c->core.set);
	gs_show_end(c);
	/* Blocked calls and polls on it: their file is still open. */
	wake_up_interruptible_poll(&file->wq, EPOLLERR | EPOLLHUP);
	gs_unlock();
	if (collect)
		gs_collect_soon();
	gs_client_put(c);
}

/* End the file's client, with @id only if it is that one. */
int gs_client_detach(struct gs_file *file, u64 id)
{
	struct kclient *c = gs_client_get(file);
	int ret = 0;

	if (!c)
		return -ENOTCONN;
	if (c->mm != current->mm)
		ret = -EXDEV;
	else if (id && c->id.id != id)
		ret = -ENOTCONN;
	else
		gs_client_end(c);
	gs_client_put(c);
	return ret;
}

static void vm_open(struct vm_area_struct *vma)
{
	struct kclient *c = vma->vm_private_data;

	kref_get(&c->ref);
}

static void vm_close(struct vm_area_struct *vma)
{
	struct kclient *c = vma->vm_private_data;

	if (vma->vm_mm == c->mm && gs_client_is_dead(c))
		gs_client_end(c);
	gs_client_put(c);
}

static int vm_refuse_move(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static int vm_refuse_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct vm_ops = {
	.open = vm_open,
	.close = vm_close,
	.mremap = vm_refuse_move,
	.may_split = vm_refuse_split,
};

static int map_page(struct kclient *c, struct vm_area_struct *vma)
{
	vm_flags_t never = VM_MAYEXEC;
	struct page *page;
	int ret;

	if (c->mm != current->mm)
		return -EXDEV;
	if (vma->vm_end - vma->vm_start != PAGE_SIZE || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (vma->vm_pgoff == GPUSHARE_OFF_GRANT >> PAGE_SHIFT) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		never |= VM_MAYWRITE;
		page = c->grant_page;
	} else if (vma->vm_pgoff == GPUSHARE_OFF_CLIENT >> PAGE_SHIFT) {
		page = c->client_page;
	} else {
		return -EINVAL;
	}
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, never);
	/* Now and not at the first fault: so another driver can pin it without one. */
	ret = vm_insert_page(vma, vma->vm_start, page);
	if (ret)
		return ret;
	vma->vm_private_data = c;
	vma->vm_ops = &vm_ops;
	vm_open(vma);
	return 0;
}

int gs_client_mmap(struct file *f, struct vm_area_struct *vma)
{
	struct kclient *c = gs_client_get(f->private_data);
	int ret;

	if (!c)
		return -ENOTCONN;
	ret = map_page(c, vma);
	gs_client_put(c);
	return ret;
}
