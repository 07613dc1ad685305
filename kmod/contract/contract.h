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
struct gpushare_share;
struct gpushare_stats;

/*
 * SHARE_SET, before anything is looked up: -EINVAL or -ERANGE. Then, with the group there
 * and its node on @dev (NULL: all devices): wholly or not at all. @general: what is set
 * for all devices, the host's to keep. -EBUSY with arg->min_free, -ERANGE.
 */
int gs_contract_share_check(const struct gpushare_share *arg);
int gs_contract_share_apply(struct gs_group *group, struct gs_device *dev, u32 *general,
			    struct gpushare_share *arg, u64 now);

/* SHARE_GET: all but whose it is and the path. */
void gs_contract_share_show(struct gpushare_share *arg, const struct gs_group *group,
			    struct gs_device *dev, u32 general, u64 now);

/*
 * STATS, before anything is looked up: -EINVAL. Then all but what the host knows: of a
 * client its process, what its page says, and its word. @device: its id, also when it's
 * gone. @dev NULL: the sum of all.
 */
int gs_contract_stats_check(const struct gpushare_stats *arg);
void gs_contract_stats_client(struct gpushare_stats *arg, const struct gs_client *c, u32 device,
			      u64 now);
void gs_contract_stats_group(struct gpushare_stats *arg, struct gs_group *group,
			     struct gs_device *dev, u64 now);
void gs_contract_stats_device(struct gpushare_stats *arg, struct gs_device *dev, u64 now);

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
