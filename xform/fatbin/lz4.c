// SPDX-License-Identifier: MIT
/* One LZ4 block, as the older toolkits pack PTX (lz4_Block_format.md). */
#include <errno.h>
#include <string.h>
#include "unpack.h"

/* A length goes on for as long as its bytes are 255. */
static int more(const uint8_t **in, const uint8_t *end, size_t *len)
{
	uint8_t b;

	do {
		if (*in == end)
			return -EBADMSG;
		b = *(*in)++;
		*len += b;
	} while (b == 255);
	return 0;
}

int gsx_lz4(const uint8_t *in, size_t n, uint8_t *out, size_t cap, size_t *got)
{
	const uint8_t *end = in + n;
	size_t at = 0, len, dist;
	uint8_t token;

	*got = 0;
	while (in < end) {
		token = *in++;
		len = token >> 4;
		if (len == 15 && more(&in, end, &len))
			return -EBADMSG;
		if (len > (size_t)(end - in))
			return -EBADMSG;
		if (len > cap - at)
			return -ENOSPC;
		memcpy(out + at, in, len);
		at += len;
		in += len;
		if (in == end)
			break;		/* the last sequence has no match */
		if (end - in < 2)
			return -EBADMSG;
		dist = in[0] | in[1] << 8;
		in += 2;
		len = token & 15;
		if (len == 15 && more(&in, end, &len))
			return -EBADMSG;
		len += 4;
		if (!dist || dist > at)
			return -EBADMSG;
		if (len > cap - at)
			return -ENOSPC;
		for (; len; len--, at++)	/* may overlap itself: that's a run */
			out[at] = out[at - dist];
	}
	*got = at;
	return 0;
}
