// SPDX-License-Identifier: MIT
/* libFuzzer: any bytes into the preprocessor; the first line is the build options. */
#include <stdint.h>
#include <stdlib.h>

#include "../xform/opencl/cpp-hold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	size_t n = line ? line - data : 0;
	char build[256] = "";

	if (n >= sizeof(build))
		n = 0;
	if (n) {
		memcpy(build, data, n);
		data += n + 1;
		size -= n + 1;
	}
	if (cpp_holds((const char *)data, size, build))
		abort();
	return 0;
}
