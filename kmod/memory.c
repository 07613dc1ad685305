// SPDX-License-Identifier: GPL-2.0-only
/*
 * MEMORY and DESCRIBE: what a client says that it uses of its device. Nothing
 * that it says gives it more than its groups may have: memory that it doesn't
 * tell of is not seen, and memory that it tells of is limited.
 */
#include "gpushare.h"

int gs_memory(struct kclient *c, struct gpushare_memory *arg)
{
	int ret = gs_contract_memory_check(arg);
	u64 now;

	if (ret)
		return ret;
	now = gs_lock();
	ret = gs_client_settle(c, &now);
	if (!ret) {
		ret = gs_contract_memory(&c->core, arg, now);
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
