// SPDX-License-Identifier: GPL-2.0-only
/*
 * What we ask of cgroup v2: in which directory a task is, what a caller may
 * see, and who may set a share.
 *
 * Which cgroup is a task's? Clients belong to processes, while with cgroup
 * v2's threaded mode the threads of a process may be spread over several
 * directories. The kernel's own answer for what a process uses as a whole, such
 * as memory, is the domain cgroup (dom_cgrp), which is the same for all
 * threads; it is ours too. Outside of threaded mode it is just the task's own.
 *
 * There is no notice of a migration for modules (there is no controller of
 * ours, and controllers can't be modules). So a task's cgroup is looked up when
 * the task asks for something, which costs a pointer comparison while it stays
 * where it was, see gs_client_settle().
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/nsproxy.h>
#include <linux/rcupdate.h>
#include "compat.h"
#include "gpushare.h"

/* The caller's cgroup, referenced. */
struct cgroup *gs_cgroup_current(void)
{
	struct cgroup *cg, *dom;

	rcu_read_lock();
	do {
		/* A migration drops the last reference only after the task has moved on. */
		cg = task_dfl_cgroup(current);
	} while (!cgroup_tryget(cg));
	rcu_read_unlock();
	dom = READ_ONCE(cg->dom_cgrp);
	if (dom != cg) {
		/* An ancestor lives as long as what is below it. */
		cgroup_get(dom);
		cgroup_put(cg);
	}
	return dom;
}

/* False once its directory was removed, although we may hold it for longer. */
bool gs_cgroup_is_online(const struct cgroup *cg)
{
	return READ_ONCE(cg->self.flags) & CSS_ONLINE;
}

/* Nobody made one, as on a system with cgroup v1 only. */
bool gs_cgroup_none(void)
{
	return !READ_ONCE(cgrp_dfl_root.cgrp.nr_descendants);
}

static struct cgroup *namespace_root(void)
{
	return current->nsproxy->cgroup_ns->root_cset->dfl_cgrp;
}

/*
 * gs_cgroup_view - the top of the part of the tree that the caller may list
 * @all: the caller has CAP_SYS_ADMIN
 *
 * That is its cgroup namespace, cut down to its own cgroup without the
 * capability. NULL if the two don't meet: a task can be moved out of its
 * namespace's root. Referenced.
 */
struct cgroup *gs_cgroup_view(bool all)
{
	struct cgroup *root = namespace_root(), *own, *top = NULL;

	if (all) {
		cgroup_get(root);
		return root;
	}
	own = gs_cgroup_current();
	if (cgroup_is_descendant(own, root))
		top = own;
	else if (cgroup_is_descendant(root, own))
		top = root;
	if (top)
		cgroup_get(top);
	cgroup_put(own);
	return top;
}

/*
 * gs_cgroup_find - the cgroup that a caller names
 * @fd: its open directory, or -1
 * @id: its id, if @fd is -1
 *
 * Either way it must be in the caller's cgroup namespace. Referenced.
 */
struct cgroup *gs_cgroup_find(int fd, u64 id)
{
	struct cgroup *cg = fd == -1 ? cgroup_get_from_id(id) : cgroup_get_from_fd(fd);

	if (IS_ERR(cg)) {
		/* Whatever else that fd is, it isn't what was asked for. */
		if (fd != -1 && PTR_ERR(cg) != -ENOMEM)
			return ERR_PTR(-EBADF);
		return cg;
	}
	if (cgroup_is_descendant(cg, namespace_root()))
		return cg;
	cgroup_put(cg);
	return ERR_PTR(-ENOENT);
}

/* Is @file the subtree_control of @cg's parent, opened for writing? */
static bool proves_authority(const struct file *file, struct cgroup *cg)
{
	struct cgroup *parent = cgroup_parent(cg);
	struct dentry *dentry = file->f_path.dentry;
	struct dentry *dir;
	bool proves;

	if (!parent || !(file->f_mode & FMODE_WRITE) ||
	    dentry->d_sb->s_magic != CGROUP2_SUPER_MAGIC)
		return false;
	dir = dget_parent(dentry);
	proves = d_inode(dir) && d_inode(dir)->i_ino == cgroup_id(parent) &&
		 !strcmp(dentry->d_name.name, "cgroup.subtree_control");
	dput(dir);
	return proves;
}

/*
 * Could the caller open the parent's subtree_control for writing, now and by
 * itself? Opening it, from the directory that @fd is, lets mode bits, ACLs, user
 * namespaces and security modules all have their say. What was opened is then
 * compared with @cg, since another thread may have put another directory in
 * @fd's place after @cg was found by it.
 */
static int may_open_parent(struct cgroup *cg, int fd)
{
	struct fd f = fdget(fd);
	struct path parent;
	struct file *control;
	int ret;

	if (!fd_file(f))
		return -EBADF;
	parent = fd_file(f)->f_path;
	if (parent.dentry == parent.mnt->mnt_root) {
		fdput(f);
		return -EXDEV;
	}
	parent.dentry = dget_parent(parent.dentry);
	control = file_open_root(&parent, "cgroup.subtree_control", O_WRONLY, 0);
	dput(parent.dentry);
	fdput(f);
	if (IS_ERR(control)) {
		ret = PTR_ERR(control);
		return ret == -EACCES || ret == -EROFS ? -EPERM : ret;
	}
	ret = proves_authority(control, cg) ? 0 : -EPERM;
	fput(control);
	return ret;
}

/*
 * gs_cgroup_may_share - may the caller set @cg's share?
 * @fd: @cg's open directory, or -1
 * @authority_fd: proof of authority over the parent, or -1
 *
 * Write access to files of @cg itself would be the wrong question: a delegatee
 * has that, and could raise its own share. Who divides the parent's resources
 * is who may write the parent's subtree_control.
 */
int gs_cgroup_may_share(struct cgroup *cg, int fd, int authority_fd)
{
	struct fd f;
	bool proves;

	if (authority_fd != -1) {
		f = fdget(authority_fd);
		if (!fd_file(f))
			return -EBADF;
		proves = proves_authority(fd_file(f), cg);
		fdput(f);
		return proves ? 0 : -EPERM;
	}
	if (capable(CAP_SYS_ADMIN))
		return 0;
	if (!cgroup_parent(cg) || fd == -1)
		return -EPERM;
	return may_open_parent(cg, fd);
}
