// SPDX-License-Identifier: MIT
#include <string.h>

#include "sha256.h"

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
	0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
	0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

#define STEP(a, b, c, d, e, f, g, h, i) do {						\
	h += (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) +	\
		constants[i] + w[i];							\
	d += h;										\
	h += (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +				\
		((a & b) ^ (a & c) ^ (b & c));						\
} while (0)

/* The state's words change places from step to step: by their names, as moving them takes long. */
static void compress(uint32_t state[8], const uint8_t *block)
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
	uint32_t w[64], x, y;
	int i;

	for (i = 0; i < 16; i++)
		w[i] = big_endian(block + 4 * i);
	for (; i < 64; i++) {
		x = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		y = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + x + w[i - 7] + y;
	}
	for (i = 0; i < 64; i += 8) {
		STEP(a, b, c, d, e, f, g, h, i);
		STEP(h, a, b, c, d, e, f, g, i + 1);
		STEP(g, h, a, b, c, d, e, f, i + 2);
		STEP(f, g, h, a, b, c, d, e, i + 3);
		STEP(e, f, g, h, a, b, c, d, i + 4);
		STEP(d, e, f, g, h, a, b, c, i + 5);
		STEP(c, d, e, f, g, h, a, b, i + 6);
		STEP(b, c, d, e, f, g, h, a, i + 7);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

void gs_sha256_init(struct gs_sha256 *sha)
{
	/* Of the square roots of the first 8 primes. */
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(sha->state, start, sizeof(start));
	sha->length = 0;
}

void gs_sha256_add(struct gs_sha256 *sha, const void *data, size_t len)
{
	size_t have = sha->length % 64, take;
	const uint8_t *p = data;

	sha->length += len;
	if (have && len) {
		take = len < 64 - have ? len : 64 - have;
		memcpy(sha->block + have, p, take);
		p += take;
		len -= take;
		if (have + take < 64)
			return;
		compress(sha->state, sha->block);
	}
	for (; len >= 64; p += 64, len -= 64)
		compress(sha->state, p);
	if (len)
		memcpy(sha->block, p, len);
}

static void put_u64(uint8_t to[8], uint64_t value)
{
	int i;

	for (i = 7; i >= 0; i--, value >>= 8)
		to[i] = (uint8_t)value;
}

void gs_sha256_add_part(struct gs_sha256 *sha, const void *data, size_t len)
{
	uint8_t bytes[8];

	put_u64(bytes, len);
	gs_sha256_add(sha, bytes, sizeof(bytes));
	gs_sha256_add(sha, data, len);
}

void gs_sha256_end(struct gs_sha256 *sha, uint8_t digest[GS_SHA256_BYTES])
{
	static const uint8_t padding[64] = { 0x80 };
	uint8_t bits[8];
	int i;

	put_u64(bits, sha->length * 8);
	gs_sha256_add(sha, padding, 64 - (sha->length + 8) % 64);
	gs_sha256_add(sha, bits, sizeof(bits));
	for (i = 0; i < GS_SHA256_BYTES; i++)
		digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - i % 4 * 8));
}
