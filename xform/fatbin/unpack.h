/* SPDX-License-Identifier: MIT */
/* The two compressions that fat binaries come in, both into a buffer of known size. */
#ifndef GSX_UNPACK_H
#define GSX_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * Unpacks @n bytes into at most @cap bytes and says in @got how many came out.
 * Returns 0; -EBADMSG: damaged; -ENOSPC: more than @cap comes out; -ENOTSUP: needs a
 * dictionary; -ENOMEM. Never reads or writes beyond the buffers whatever the input is.
 */
int gsx_lz4(const uint8_t *in, size_t n, uint8_t *out, size_t cap, size_t *got);
int gsx_zstd(const uint8_t *in, size_t n, uint8_t *out, size_t cap, size_t *got);

#endif
