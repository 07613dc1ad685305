// SPDX-License-Identifier: MIT
/* libFuzzer: any bytes into the transformer of OpenCL C. */
#include "../xform/opencl/hold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!holds((const char *)data, size))
		abort();
	return 0;
}
