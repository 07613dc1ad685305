// SPDX-License-Identifier: GPL-2.0-only
/*
 * MEMORY and DESCRIBE: what a client says that it uses of its device. Nothing
 * that it says gives it more than its groups may have: memory that it doesn't
 * tell of is not seen, and memory that it tells of is limited.
 */
#include "gpushare.h"

int gs_memory(struct kclient *c, struct gpushare_memory *arg)
{
	u64 now, whose;
	bool short_of;	/* memory of the kernel's own */
	int ret;

	if (arg->flags || arg->reserved ||
	    arg->op < GPUSHARE_MEM_CHARGE || arg->op > GPUSHARE_MEM_SWAP_IN)
		return -EINVAL;
	now = gs_lock();
	ret = gs_client_settle(c, &now);
	short_of = ret == -ENOMEM;
	if (!ret)
		ret = gs_contract_memory(&c->core, arg->op, arg->bytes, now);
	if (ret && ret != -ENOMEM)
		goto unlock;
	/* It may have been while the lock was let go. */
	ret = gs_client_usable(c) ?: ret;
	if (ret && ret != -ENOMEM)
		goto unlock;
	arg->available_bytes = gs_contract_available(&c->core, &arg->total_bytes, &whose);
	arg->limit_group = !ret ? 0 : short_of ? GPUSHARE_NO_LIMIT : whose;
	arg->current_bytes = c->core.mem_used;
	arg->swapped_bytes = c->core.mem_swapped;
unlock:
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
	if (ret)
		goto unlock;
	ret = gs_contract_profile(&c->profile, arg, &c->core.dev->conf);
	if (ret)
		goto unlock;
	ret = gs_profile_set(&c->core, &c->profile, now);
	if (!ret)
		arg->workers = c->core.workers;
unlock:
	gs_unlock();
	return ret;
}
