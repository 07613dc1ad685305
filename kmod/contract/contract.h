/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One reading of <linux/gpushare.h> for both hosts of the arbiter, the module and the
 * daemon: what its structs mean to the core, and which error says that they mean nothing.
 * As the core is: no I/O, no lock, no memory of its own. The hosts bring names, files,
 * locks and rights.
 */
#ifndef GS_CONTRACT_H
#define GS_CONTRACT_H

#include "../core/arbiter.h"

struct gpushare_describe;

/*
 * DESCRIBE: fill in @profile as @arg says it. -ERANGE, with nothing changed: one
 * work-group doesn't fit one compute unit of the device, as far as that is known.
 */
int gs_contract_profile(struct gs_profile *profile, const struct gpushare_describe *arg,
			const struct gs_device_conf *conf);

/* MEMORY: carry out @op, one of GPUSHARE_MEM_*. 0, -ENOMEM, -ERANGE or -EOPNOTSUPP. */
int gs_contract_memory(struct gs_client *c, u32 op, u64 bytes, u64 now);

/*
 * What could still be charged to the client; @total: what it and those beside it may have
 * in all; @whose: the group whose limit stands in the way first, 0: the device itself.
 */
u64 gs_contract_available(const struct gs_client *c, u64 *total, u64 *whose);

#endif
