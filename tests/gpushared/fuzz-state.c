// SPDX-License-Identifier: MIT
/*
 * Fuzz target: the state file's text. With the first byte odd the sum is made
 * right, so that what is behind it is reached. What was read is written and
 * read again, and must be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "gpushared/state.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void write_again(const struct state_item *item, void *arg)
{
	state_put(arg, item);
}

static char *rewrite(const char *text, size_t length, size_t *written)
{
	char boot[64], body_boot[64], *out = NULL, *body = NULL;
	size_t n;
	FILE *f = open_memstream(&body, &n), *g;
	int err = state_parse(text, length, boot, write_again, f);

	fclose(f);
	if (err) {
		if (n)
			abort();	/* nothing may be taken of a bad file */
		free(body);
		return NULL;
	}
	memcpy(body_boot, boot, sizeof(boot));
	g = open_memstream(&out, written);
	state_put_head(g, body_boot);
	fwrite(body, 1, n, g);
	fflush(g);
	fprintf(g, "sum %016llx\n", (unsigned long long)state_sum(out, *written));
	fclose(g);
	free(body);
	return out;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *text, *once, *twice;
	size_t length, n1, n2;

	if (size < 1)
		return 0;
	text = malloc(size + 64);
	length = size - 1;
	memcpy(text, data + 1, length);
	if (data[0] & 1) {
		unsigned long long sum;

		if (!length || text[length - 1] != '\n')
			text[length++] = '\n';
		sum = state_sum(text, length);
		length += (size_t)sprintf(text + length, "sum %016llx\n", sum);
	}
	once = rewrite(text, length, &n1);
	if (once) {
		twice = rewrite(once, n1, &n2);
		if (!twice || n1 != n2 || memcmp(once, twice, n1))
			abort();
		free(twice);
	}
	free(once);
	free(text);
	return 0;
}
