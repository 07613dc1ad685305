// SPDX-License-Identifier: MIT
/*
 * Any bytes as accounts: as they are, and as the lines of a batch with the right sum. What is
 * taken can be written and taken again with the same meaning.
 */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct gs_use *use, void *arg)
{
	if (memcmp(use, arg, sizeof(*use)))
		abort();
}

static void on_use(const struct gs_use *use, void *arg)
{
	static const struct gs_ledger_taker take = { .use = again };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)arg;
	gs_ledger_begin(out, 1);
	gs_ledger_use(out, use);
	fflush(out);
	gs_ledger_end(out, text, size);
	fclose(out);
	if (gs_ledger_read(text, size, &take, (void *)use))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gs_ledger_taker take = { .use = on_use };
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	gs_ledger_read((const char *)data, size, &take, NULL);
	gs_ledger_begin(out, 1);
	fwrite(data, 1, size, out);
	fflush(out);
	gs_ledger_end(out, text, length);
	fclose(out);
	gs_ledger_read(text, length, &take, NULL);
	free(text);
	return 0;
}
