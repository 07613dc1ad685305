// SPDX-License-Identifier: MIT
/* libFuzzer: the fat binary reader and both unpackers, straight and in a container. */
#include <stdlib.h>
#include "gsfatbin.h"
#include "xform/fatbin/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsx_fat_entry e;
	uint8_t out[4096];
	size_t at = 0, len;
	struct gsx_fat f;
	char *text;

	gsx_zstd(data, size, out, sizeof(out), &len);
	gsx_lz4(data, size, out, sizeof(out), &len);
	while (gsx_fat_find(data, size, &at, &f))
		while (gsx_fat_next(&f, &e) == 1) {
			if (!gsx_fat_unpack(&e, 1 << 20, &text, &len))
				free(text);
		}
	return 0;
}
