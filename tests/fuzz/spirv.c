// SPDX-License-Identifier: MIT
/* libFuzzer: any words into the SPIR-V transformer; what comes out must go in again. */
#include <stdlib.h>

#include "../xform/spirv/hold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (spv_holds(data, size))
		abort();
	return 0;
}
