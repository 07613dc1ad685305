/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the test asks of gs_pin.ko, by ioctls on /dev/gs_pin. */
#ifndef GS_PIN_H
#define GS_PIN_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct gs_pin {
	__aligned_u64 address;
	__u32 write;			/* pin for writing */
	__u32 offset;			/* READ and WRITE: of a 64-bit value */
	__aligned_u64 value;
};

#define GS_PIN		_IOW(0xBB, 0, struct gs_pin)
#define GS_PIN_READ	_IOWR(0xBB, 1, struct gs_pin)
#define GS_PIN_WRITE	_IOW(0xBB, 2, struct gs_pin)

#endif
