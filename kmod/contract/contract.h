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
struct gpushare_device;
struct gpushare_event;
struct gpushare_grant_page;
struct gpushare_memory;
struct gpushare_share;
struct gpushare_stats;
struct gpushare_wait;

/*
 * Devices. @info is a device's settings as the interface has them, the host's to keep;
 * its @mask says what was set. _check: -EINVAL. _init: a new one, by the defaults; -EINVAL
 * for the key, -ERANGE for the kind. _merge: what @arg names, for gs_device_add() or
 * gs_device_set() to take (both do); or -ERANGE, and nothing is changed. _show: for GET.
 */
int gs_contract_device_check(const struct gpushare_device *arg);
int gs_contract_device_init(struct gpushare_device *info, const char *key, u32 kind);
int gs_contract_device_merge(struct gpushare_device *info, const struct gpushare_device *arg,
			     struct gs_device_conf *conf);
void gs_contract_device_show(struct gpushare_device *arg, const struct gpushare_device *info,
			     const struct gs_device *dev, u32 clients);

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
 * The grant page, which the host owns. _begin: its client's was just added; the page is
 * all 0. _show: all that it says, with @word (_word(), unless the host knows more);
 * returns the word that stood there. _show_word: that alone. _end: the client was
 * removed. A word whose flags have changed is to wake who waits for it.
 */
u64 gs_contract_word(const struct gs_client *c);
void gs_contract_show_begin(struct gs_client *c, struct gpushare_grant_page *page);
u64 gs_contract_show(const struct gs_client *c, u64 word);
void gs_contract_show_word(struct gpushare_grant_page *page, u64 word);
void gs_contract_show_end(const struct gs_client *c);

/*
 * Sets: the rings of gs_client.set, which end with the host's list_del_init(). May a client
 * on @dev join @set's? -EBADF: there is one on that device; -EUSERS: it is full.
 */
int gs_contract_set_check(const struct gs_client *set, const struct gs_device *dev);

/*
 * ACQUIRE and YIELD. _wait_check: before anything is looked up, -EINVAL. _ask: ask, or
 * (@again) yield and ask, for @c or for any of its set: 1 if *@holder holds now, 0 if it
 * waits, -ENODEV. _give_back: what it holds, or asks for. _holder: who holds, of the set
 * with @any, rather one that isn't asked back; or NULL. _tell: the outputs, for who holds.
 */
int gs_contract_wait_check(const struct gpushare_wait *arg, bool yields);
int gs_contract_ask(struct gs_client *c, bool any, bool again, u64 want,
		    struct gs_client **holder, u64 now);
void gs_contract_give_back(struct gs_client *c, bool any, u64 now);
struct gs_client *gs_contract_holder(struct gs_client *c, bool any);
void gs_contract_tell(struct gpushare_wait *arg, const struct gs_client *c);

/*
 * DESCRIBE: fill in @profile, the host's to keep, as @arg says it, and have it used.
 * -ERANGE, with nothing changed: one work-group doesn't fit one compute unit of the
 * device, as far as that is known.
 */
int gs_contract_describe(struct gs_client *c, struct gs_profile *profile,
			 struct gpushare_describe *arg, u64 now);

/*
 * MEMORY. _check: before anything is looked up, -EINVAL. Then do it and show how it
 * stands, also with -ENOMEM and -ERANGE. _show: that alone. -EAGAIN: it waits, and when
 * that is over, _over shows how it stands then.
 */
int gs_contract_memory_check(const struct gpushare_memory *arg);
int gs_contract_memory(struct gs_client *c, struct gpushare_memory *arg, u64 now);
void gs_contract_memory_over(struct gpushare_memory *arg, const struct gs_client *c, int ret);
void gs_contract_memory_show(struct gpushare_memory *arg, const struct gs_client *c);

/*
 * Events. What the interface calls one of the core's, 0: nothing; which of the core's those
 * are whose bits (1 << type) are wanted; and one for the listener. @new_device: the host
 * doesn't list it yet. @pid: of the client, 0 if there is none.
 */
u32 gs_contract_event_type(u32 core);
u64 gs_contract_events(u64 wanted);
void gs_contract_event(struct gpushare_event *out, const struct gs_event *ev, bool new_device,
		       s32 pid);

#endif
