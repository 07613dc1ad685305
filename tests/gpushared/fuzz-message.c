// SPDX-License-Identifier: MIT
/*
 * Fuzz target: a message's form, as the daemon takes it off the socket. What is
 * let through must be as long as it says and as our struct is.
 */
#include <stdlib.h>
#include <string.h>

#include "gpushared/gpushared.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static struct message m;
	uint32_t given;
	size_t length;

	if (size < 1)
		return 0;
	length = size - 1 < sizeof(m) ? size - 1 : sizeof(m);
	memset(&m, 0xa5, sizeof(m));	/* the daemon's holds an older message */
	memcpy(&m, data + 1, length);
	if (message_check(&m, length, data[0] % 4))
		return 0;
	if (m.head.magic != GS_WIRE_MAGIC || length < sizeof(m.head))
		abort();
	if (length > sizeof(m.head) && m.size != length - sizeof(m.head))
		abort();
	if (!message_take(&m, &given) && given > length - sizeof(m.head))
		abort();
	return 0;
}
