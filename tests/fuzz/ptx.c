// SPDX-License-Identifier: MIT
/* libFuzzer: any bytes into the PTX transformer; what comes out must be PTX again. */
#include <stdlib.h>

#include "../xform/ptx/hold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!holds((const char *)data, size))
		abort();
	return 0;
}
