/* SPDX-License-Identifier: MIT */
/*
 * Names that OpenCL C, or an extension, gives to every program. A device's compiler may
 * have them as macros, and then they still mean what the specification says.
 */
#ifndef GSX_OPENCL_DEVICE_H
#define GSX_OPENCL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

enum device_kind {
	DEVICE_NONE,
	DEVICE_WORD,		/* keywords, types, and what is no macro in practice */
	DEVICE_FUNCTION,	/* called: as a macro, it expands only before a '(' */
	DEVICE_CONSTANT,	/* stands for a value; or tells by being defined */
};

enum device_kind device_name(const char *s, uint32_t len);

/* Whether it may stand in the value of a device's macro without hiding anything. */
bool device_value(const char *s, uint32_t len);

#endif
