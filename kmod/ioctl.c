// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commands: their structs in and out, and the small ones whole.
 * include/uapi/linux/gpushare.h says what each does.
 *
 * Every struct begins with its size as the caller knows it, and is copied as
 * one, so that there is nothing to translate for 32 bit callers. It is written
 * back once before the command runs: a struct that can't be written is then
 * found while nothing has changed yet.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>
#include "gpushare.h"

/* The room for any command's struct. */
union arg {
	struct {
		__u32 size, flags;
	} head;
	struct gpushare_version version;
	struct gpushare_attach attach;
	struct gpushare_wait wait;
	struct gpushare_memory memory;
	struct gpushare_describe describe;
	struct gpushare_share share;
	struct gpushare_device device;
	struct gpushare_stats stats;
	struct gpushare_group group;
	struct gpushare_events events;
};

static int version(struct gs_file *file, union arg *arg)
{
	struct gpushare_version *v = &arg->version;

	if (v->flags || v->reserved)
		return -EINVAL;
	v->unkept = 0;
	v->started_ns = gs.started;
	v->abi = GPUSHARE_ABI_VERSION;
	v->page_size = PAGE_SIZE;
	v->features = GPUSHARE_FEAT_CGROUP | GPUSHARE_FEAT_NETLINK | GPUSHARE_FEAT_MEM_WAIT;
	if (IS_ENABLED(CONFIG_PCI))
		v->features |= GPUSHARE_FEAT_DISCOVERY;
	strscpy_pad(v->release, GPUSHARE_RELEASE, sizeof(v->release));
	return 0;
}

static int attach(struct gs_file *file, union arg *arg)
{
	return gs_client_attach(file, &arg->attach);
}

/* Another thread may have put another client in its place. */
static int attach_undo(struct gs_file *file, union arg *arg)
{
	return gs_client_detach(file, arg->attach.client);
}

static int acquire(struct gs_file *file, union arg *arg)
{
	return gs_acquire(file, &arg->wait);
}

static int acquire_undo(struct gs_file *file, union arg *arg)
{
	gs_acquire_undo(file, &arg->wait);
	return 0;
}

static int yield_grant(struct gs_file *file, union arg *arg)
{
	return gs_yield_call(file, &arg->wait);
}

static int memory(struct gs_file *file, union arg *arg)
{
	struct kclient *c = gs_client_own(file);
	int ret;

	if (IS_ERR(c))
		return PTR_ERR(c);
	ret = gs_memory(file, c, &arg->memory);
	gs_client_put(c);
	return ret;
}

static int memory_undo(struct gs_file *file, union arg *arg)
{
	static const u32 opposite[] = {
		[GPUSHARE_MEM_CHARGE] = GPUSHARE_MEM_UNCHARGE,
		[GPUSHARE_MEM_UNCHARGE] = GPUSHARE_MEM_CHARGE,
		[GPUSHARE_MEM_SWAP_OUT] = GPUSHARE_MEM_SWAP_IN,
		[GPUSHARE_MEM_SWAP_IN] = GPUSHARE_MEM_SWAP_OUT,
	};

	arg->memory.op = opposite[arg->memory.op];
	arg->memory.flags = 0;
	return memory(file, arg);
}

static int describe(struct gs_file *file, union arg *arg)
{
	struct kclient *c = gs_client_own(file);
	int ret;

	if (IS_ERR(c))
		return PTR_ERR(c);
	ret = gs_describe(c, &arg->describe);
	gs_client_put(c);
	return ret;
}

static int share_set(struct gs_file *file, union arg *arg)
{
	return gs_share_set(&arg->share);
}

static int share_get(struct gs_file *file, union arg *arg)
{
	return gs_share_get(&arg->share);
}

static int device_add(struct gs_file *file, union arg *arg)
{
	return capable(CAP_SYS_ADMIN) ? gs_device_create(&arg->device) : -EPERM;
}

static int device_set(struct gs_file *file, union arg *arg)
{
	return capable(CAP_SYS_ADMIN) ? gs_device_change(&arg->device) : -EPERM;
}

static int device_remove(struct gs_file *file, union arg *arg)
{
	return capable(CAP_SYS_ADMIN) ? gs_device_drop(&arg->device) : -EPERM;
}

static int device_get(struct gs_file *file, union arg *arg)
{
	return gs_device_read(&arg->device);
}

static int stats(struct gs_file *file, union arg *arg)
{
	struct kclient *c = NULL;
	int ret;

	if (arg->stats.what == GPUSHARE_STATS_CLIENT && !arg->stats.id &&
	    !(arg->stats.flags & GPUSHARE_GET_NEXT)) {
		c = gs_client_own(file);
		if (IS_ERR(c))
			return PTR_ERR(c);
		arg->stats.id = c->id.id;
	}
	ret = gs_stats_read(&arg->stats, c);
	if (c)
		gs_client_put(c);
	return ret;
}

/* What only the daemon can do. */
static int not_here(struct gs_file *file, union arg *arg)
{
	return -EOPNOTSUPP;
}

/*
 * struct command - what is known of a command
 * @size: of its struct
 * @tells: an error at which the struct says more, and is written back
 * @run: does it. 0, or 1 if there was nothing to be done, or -errno
 * @undo: takes it back if the caller can't be told of its success
 */
struct command {
	size_t size;
	int tells;
	int (*run)(struct gs_file *file, union arg *arg);
	int (*undo)(struct gs_file *file, union arg *arg);
};

#define COMMAND(number, member, function, ...)				\
	[_IOC_NR(number)] = {						\
		.size = sizeof_field(union arg, member),		\
		.run = function,					\
		__VA_ARGS__						\
	}

static const struct command commands[] = {
	COMMAND(GPUSHARE_VERSION, version, version),
	COMMAND(GPUSHARE_ATTACH, attach, attach, .undo = attach_undo),
	COMMAND(GPUSHARE_ACQUIRE, wait, acquire, .undo = acquire_undo),
	COMMAND(GPUSHARE_YIELD, wait, yield_grant),
	COMMAND(GPUSHARE_MEMORY, memory, memory, .tells = -ENOMEM, .undo = memory_undo),
	COMMAND(GPUSHARE_DESCRIBE, describe, describe),
	COMMAND(GPUSHARE_SHARE_SET, share, share_set, .tells = -EBUSY),
	COMMAND(GPUSHARE_SHARE_GET, share, share_get),
	COMMAND(GPUSHARE_DEVICE_ADD, device, device_add, .undo = device_remove),
	COMMAND(GPUSHARE_DEVICE_SET, device, device_set),
	COMMAND(GPUSHARE_DEVICE_REMOVE, device, device_remove),
	COMMAND(GPUSHARE_DEVICE_GET, device, device_get),
	COMMAND(GPUSHARE_STATS, stats, stats),
	COMMAND(GPUSHARE_GROUP, group, not_here),
	COMMAND(GPUSHARE_EVENTS, events, not_here),
};

/*
 * The number without the size, which _IOWR puts into it: a struct of another
 * age has another size and is the same command.
 */
static const struct command *command_of(unsigned int cmd)
{
	const struct command *command;

	if (_IOC_TYPE(cmd) != GPUSHARE_IOC || _IOC_NR(cmd) >= ARRAY_SIZE(commands))
		return NULL;
	command = &commands[array_index_nospec(_IOC_NR(cmd), ARRAY_SIZE(commands))];
	return command->run && _IOC_DIR(cmd) == (_IOC_READ | _IOC_WRITE) ? command : NULL;
}

static int take(union arg *arg, const struct command *command, void __user *from, u32 *size)
{
	int ret;

	if (get_user(*size, (u32 __user *)from))
		return -EFAULT;
	if (*size < sizeof(arg->head))
		return -EINVAL;
	if (*size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(arg, command->size, from, *size);
	if (ret)
		return ret;
	/* It may have been changed between the two looks. */
	arg->head.size = *size;
	*size = min_t(u32, *size, command->size);
	return copy_to_user(from, arg, *size) ? -EFAULT : 0;
}

/*
 * What take() does, for the struct of ACQUIRE and YIELD in the size that we know
 * and in one go, since these calls are made all day. -E2BIG for another size.
 * What can't be taken back is only done if its result could be written.
 */
static int take_wait(struct gpushare_wait *arg, struct gpushare_wait __user *from, bool probe)
{
	if (!user_access_begin(from, sizeof(*from)))
		return -E2BIG;	/* a shorter one may still be all there */
	unsafe_get_user(arg->size, &from->size, fault);
	if (arg->size != sizeof(*arg)) {
		user_access_end();
		return -E2BIG;
	}
	unsafe_get_user(arg->flags, &from->flags, fault);
	unsafe_get_user(arg->until_ns, &from->until_ns, fault);
	unsafe_get_user(arg->want_ns, &from->want_ns, fault);
	unsafe_get_user(arg->reserved, &from->reserved, fault);
	if (probe) {
		unsafe_put_user(0, &from->word, fault);
		unsafe_put_user(0, &from->device, fault);
	}
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

static int give_wait(const struct gpushare_wait *arg, struct gpushare_wait __user *to)
{
	if (!user_write_access_begin(to, sizeof(*to)))
		return -EFAULT;
	unsafe_put_user(arg->word, &to->word, fault);
	if (arg->flags & GPUSHARE_WAIT_ANY) {
		unsafe_put_user(arg->client, &to->client, fault);
		unsafe_put_user(arg->device, &to->device, fault);
	}
	user_write_access_end();
	return 0;
fault:
	user_write_access_end();
	return -EFAULT;
}

static long wait_call(struct gs_file *file, unsigned int cmd, struct gpushare_wait __user *user)
{
	bool yields = cmd == GPUSHARE_YIELD;
	struct gpushare_wait arg;
	int ret = take_wait(&arg, user, yields);

	if (ret)
		return ret;
	ret = yields ? gs_yield_call(file, &arg) : gs_acquire(file, &arg);
	if (ret >= 0 && give_wait(&arg, user)) {
		if (!ret && !yields)
			gs_acquire_undo(file, &arg);
		ret = -EFAULT;
	}
	return min(ret, 0);
}

static noinline long any_call(struct gs_file *file, unsigned int cmd, void __user *user)
{
	const struct command *command = command_of(cmd);
	union arg arg;
	u32 size;
	int ret;

	if (!command)
		return -ENOTTY;
	ret = take(&arg, command, user, &size);
	if (ret)
		return ret;
	ret = command->run(file, &arg);
	if ((ret >= 0 || ret == command->tells) && copy_to_user(user, &arg, size)) {
		if (!ret && command->undo)
			command->undo(file, &arg);
		ret = -EFAULT;
	}
	return min(ret, 0);
}

long gs_ioctl(struct file *f, unsigned int cmd, unsigned long address)
{
	struct gs_file *file = f->private_data;
	void __user *user = (void __user *)address;
	long ret;

	if (cmd == GPUSHARE_YIELD || cmd == GPUSHARE_ACQUIRE) {
		ret = wait_call(file, cmd, user);
		if (ret != -E2BIG)
			return ret;
	}
	if (cmd == GPUSHARE_DETACH)
		return gs_client_detach(file, 0);
	return any_call(file, cmd, user);
}
