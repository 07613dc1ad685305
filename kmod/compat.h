/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that we build for, and nothing else: each
 * entry says which version brought the change. The code is written for the
 * newest; what an older one lacks is made up here.
 */
#ifndef GS_COMPAT_H
#define GS_COMPAT_H

#include <linux/version.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>

#if KERNEL_VERSION(6, 1, 0) > LINUX_VERSION_CODE
#error "gpushare needs Linux 6.1 or newer: these headers are of an older kernel"
#endif
#ifndef CONFIG_CGROUPS
#error "gpushare needs a kernel with CONFIG_CGROUPS"
#endif
#ifndef CONFIG_64BIT
#error "gpushare needs a 64 bit kernel: cgroup and client ids are 64 bits wide"
#endif
#ifndef CONFIG_HIGH_RES_TIMERS
#error "gpushare needs a kernel with CONFIG_HIGH_RES_TIMERS: slices are shorter than a tick"
#endif
/* 6.7 brought it, and the stable series from 6.1.68 on. */
#ifndef GENL_MCAST_CAP_SYS_ADMIN
#error "gpushare needs Linux 6.1.68 or newer: netlink events couldn't be restricted before"
#endif

/* 6.3 made vm_flags constant and brought accessors. */
#if KERNEL_VERSION(6, 3, 0) > LINUX_VERSION_CODE
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/* 6.6 brought one struct for requests and dumps; both have attrs. */
#if KERNEL_VERSION(6, 6, 0) > LINUX_VERSION_CODE
#define genl_info_dump(cb) genl_dumpit_info(cb)
#endif

/* 6.12 made struct fd opaque. */
#if KERNEL_VERSION(6, 12, 0) > LINUX_VERSION_CODE && !defined(fd_file)
#define fd_file(f) ((f).file)
#endif

/* 6.13 brought it in place of hrtimer_init() and an assignment. */
#if KERNEL_VERSION(6, 13, 0) > LINUX_VERSION_CODE
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* 6.17 brought the name; newer kernels warn of the old one. */
#if KERNEL_VERSION(6, 17, 0) > LINUX_VERSION_CODE
#define system_percpu_wq system_wq
#endif

#endif
