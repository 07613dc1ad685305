// SPDX-License-Identifier: MIT
/*
 * The fuzz targets without libFuzzer: examples, changed at random, some hundred
 * thousand times. fuzz-... [SEED [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static unsigned int seed = 1;

static unsigned int any(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static void change(unsigned char *data, size_t *size, size_t max)
{
	static const unsigned char odd[] = { 0, 1, 2, 0x7f, 0x80, 0xff, ' ', '\n', '9', '-' };
	size_t at = any((unsigned int)*size);

	switch (any(5)) {
	case 0:
		data[at] ^= (unsigned char)(1u << any(8));
		break;
	case 1:
		data[at] = odd[any(sizeof(odd))];
		break;
	case 2:
		if (*size > 2)
			*size -= any((unsigned int)*size / 2);
		break;
	case 3:
		if (*size < max / 2) {
			memmove(data + at + 1, data + at, *size - at);
			++*size;
		}
		break;
	default:
		data[at] = (unsigned char)rand_r(&seed);
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = 300000, i;
	unsigned char data[8192];
	size_t size;
	int n;

	if (argc > 1)
		seed = (unsigned int)atoi(argv[1]);
	if (argc > 2)
		rounds = strtoul(argv[2], NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n# seed %u, %lu rounds\n", seed, rounds);
	for (i = 0; i < rounds; i++) {
		size = fuzz_example(any(1u << 16), data, sizeof(data));
		LLVMFuzzerTestOneInput(data, size);
		for (n = (int)any(6); n >= 0; n--)
			change(data, &size, sizeof(data));
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("ok 1 - no input of %lu broke a rule\n", 2 * rounds);
	return 0;
}
