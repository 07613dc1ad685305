// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

size_t fuzz_example(unsigned int which, unsigned char *data, size_t max)
{
	static const char *const lines[] = {
		"device mig:GPU-5d1f/3 2 1 4 0 1 0 0 3000 200 100000 0 100000 0 0 0 0 0 0 0\n",
		"device pci:0000:65:00.0 1 0 260 1 2 3 1 2000 0 1000 5 10000 7 108 2048 65536 1 2 9\n",
		"group team 1000 /user.slice\n",
		"share * 1 250 0 0 18446744073709551615 100000 0 18446744073709551615 9 0 0 424 /a b\n",
		"share cpu:0 1 9 0 0 5 100000 0 1 1 0 0 424 \"\n",
		"share mig:GPU-5d1f/3 8 100 0 123 5 100000 0 1 1 0 0 424 /system.slice/x.service\n",
		"share * 1 77 0 0 18446744073709551615 100000 0 5 6 0 1000 0 team\n",
	};
	size_t i, n;

	data[0] = 1;	/* the sum is put in by the target */
	n = 1 + (size_t)snprintf((char *)data + 1, max - 1, "gpushare-state 1 boot-%u\n", which);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (which & 1u << i)
			n += (size_t)snprintf((char *)data + n, max - n, "%s", lines[i]);
	return n;
}
