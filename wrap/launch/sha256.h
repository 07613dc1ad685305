/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4), for keys of the cache: what a program was made from must
 * be known beyond doubt, since the wrong kernel would run otherwise.
 */
#ifndef GS_SHA256_H
#define GS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define GS_SHA256_BYTES 32

struct gs_sha256 {
	uint32_t state[8];
	uint64_t length;	/* bytes so far */
	uint8_t block[64];
};

void gs_sha256_init(struct gs_sha256 *sha);
void gs_sha256_add(struct gs_sha256 *sha, const void *data, size_t len);
/*
 * The same, with the length first: two parts added one behind the other are told
 * apart from the same bytes divided elsewhere.
 */
void gs_sha256_add_part(struct gs_sha256 *sha, const void *data, size_t len);
void gs_sha256_end(struct gs_sha256 *sha, uint8_t digest[GS_SHA256_BYTES]);

#endif
