// SPDX-License-Identifier: MIT
/*
 * Zstandard frames, from RFC 8878, reading only: nvcc packs PTX this way, and
 * the library that needs it may link nothing but libc. A frame is a chain of
 * blocks; a compressed block is literals (Huffman coded), then sequences (three
 * FSE-coded numbers each: so many literals, then a match so long and so far
 * back). Both codes are read backwards, from the last byte to the first.
 *
 * The window is the output buffer itself, as the whole result is wanted anyway.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "unpack.h"

#define BLOCK_MAX	(128u << 10)
#define HUFFMAN_MAX	11
#define FSE_MAX		9

struct fse {
	uint8_t log;		/* 0: a single symbol (RLE), which costs no bits */
	bool valid;
	struct { uint8_t sym, bits; uint16_t base; } t[1 << FSE_MAX];
};

struct huffman {
	uint8_t log;		/* 0: none yet */
	struct { uint8_t sym, bits; } t[1 << HUFFMAN_MAX];
};

/* Bits from the end to the start; below the first bit there are zeros. */
struct back {
	const uint8_t *p;
	size_t len;
	int64_t pos;		/* bits that are left; negative once over-read */
};

struct zstd {
	uint8_t *out;
	size_t at, cap, frame;	/* frame: where this frame's output begins */
	struct huffman huf;
	struct fse ll, of, ml, weights;
	uint64_t rep[3];
	uint8_t lit[BLOCK_MAX];
	size_t n_lit;
};

static unsigned int high_bit(uint64_t v)
{
	return 63 - __builtin_clzll(v);
}

static uint64_t little(const uint8_t *p, unsigned int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

/* n bits that begin at bit @pos, n at most 32 */
static uint64_t bits_at(const uint8_t *p, size_t len, int64_t pos, unsigned int n)
{
	uint64_t v;
	size_t byte;

	if (!n || pos <= -(int64_t)n)
		return 0;
	if (pos < 0)
		return bits_at(p, len, 0, n + pos) << -pos;
	byte = pos >> 3;
	if (byte >= len)
		return 0;
	v = little(p + byte, len - byte < 8 ? len - byte : 8) >> (pos & 7);
	return v & ((1ull << n) - 1);
}

static int back_open(struct back *b, const uint8_t *p, size_t len)
{
	if (!len || !p[len - 1])
		return -EBADMSG;	/* the last byte's highest bit marks the end */
	b->p = p;
	b->len = len;
	b->pos = (int64_t)len * 8 - 8 + high_bit(p[len - 1]);
	return 0;
}

static uint64_t back_read(struct back *b, unsigned int n)
{
	b->pos -= n;
	return bits_at(b->p, b->len, b->pos, n);
}

static int fse_build(struct fse *f, const int16_t *freq, unsigned int n, unsigned int log)
{
	unsigned int size = 1u << log, mask = size - 1, step = (size >> 1) + (size >> 3) + 3;
	unsigned int high = size, pos = 0, s, next[256];
	int i;

	for (s = 0; s < n; s++) {
		if (freq[s] == -1) {
			f->t[--high].sym = s;
			next[s] = 1;
		}
	}
	for (s = 0; s < n; s++) {
		if (freq[s] <= 0)
			continue;
		next[s] = freq[s];
		for (i = 0; i < freq[s]; i++) {
			f->t[pos].sym = s;
			do
				pos = (pos + step) & mask;
			while (pos >= high);
		}
	}
	if (pos)
		return -EBADMSG;
	for (pos = 0; pos < size; pos++) {
		s = next[f->t[pos].sym]++;
		f->t[pos].bits = log - high_bit(s);
		f->t[pos].base = (s << f->t[pos].bits) - size;
	}
	f->log = log;
	f->valid = true;
	return 0;
}

static void fse_single(struct fse *f, uint8_t sym)
{
	f->log = 0;
	f->valid = true;
	f->t[0].sym = sym;
	f->t[0].bits = 0;
	f->t[0].base = 0;
}

/* Reads a table's description; *used is its length. */
static int fse_read(struct fse *f, const uint8_t *p, size_t len, unsigned int max_log,
		    unsigned int max_sym, size_t *used)
{
	unsigned int log, n = 0, bits, low, threshold, v, repeat;
	int16_t freq[256] = { 0 };
	int left, prob;
	int64_t pos = 4;

	if (!len)
		return -EBADMSG;
	log = (p[0] & 15) + 5;
	if (log > max_log)
		return -EBADMSG;
	left = 1 << log;
	while (left > 0) {
		if (n > max_sym || pos > (int64_t)len * 8)
			return -EBADMSG;
		bits = high_bit(left + 1) + 1;
		v = bits_at(p, len, pos, bits);
		pos += bits;
		low = (1u << (bits - 1)) - 1;
		threshold = (1u << bits) - 1 - (left + 1);
		if ((v & low) < threshold) {
			pos--;
			v &= low;
		} else if (v > low) {
			v -= threshold;
		}
		prob = (int)v - 1;
		left -= prob < 0 ? -prob : prob;
		freq[n++] = prob;
		while (!prob) {
			repeat = bits_at(p, len, pos, 2);
			pos += 2;
			if (n + repeat > max_sym + 1 || pos > (int64_t)len * 8)
				return -EBADMSG;
			n += repeat;
			if (repeat != 3)
				break;
		}
	}
	if (left || n > max_sym + 1 || pos > (int64_t)len * 8)
		return -EBADMSG;
	*used = (pos + 7) >> 3;
	return fse_build(f, freq, n, log);
}

static unsigned int fse_start(const struct fse *f, struct back *b)
{
	return back_read(b, f->log);
}

static unsigned int fse_step(const struct fse *f, unsigned int state, struct back *b)
{
	return f->t[state].base + back_read(b, f->t[state].bits);
}

/* The weights of a Huffman tree, themselves FSE coded by two states in turn. */
static int weights_fse(struct zstd *z, const uint8_t *p, size_t len, uint8_t *w, unsigned int *n)
{
	unsigned int state[2], turn = 0;
	struct back b;
	size_t used;
	int err;

	err = fse_read(&z->weights, p, len, 6, 255, &used);
	if (err)
		return err;
	if (used >= len || back_open(&b, p + used, len - used))
		return -EBADMSG;
	state[0] = fse_start(&z->weights, &b);
	state[1] = fse_start(&z->weights, &b);
	if (b.pos < 0)
		return -EBADMSG;
	*n = 0;
	for (;;) {
		if (*n >= 254)
			return -EBADMSG;
		w[(*n)++] = z->weights.t[state[turn]].sym;
		state[turn] = fse_step(&z->weights, state[turn], &b);
		if (b.pos < 0)
			break;
		turn ^= 1;
	}
	w[(*n)++] = z->weights.t[state[turn ^ 1]].sym;
	return 0;
}

static int huffman_build(struct huffman *h, uint8_t *w, unsigned int n)
{
	unsigned int i, k, sum = 0, log, left, rank[HUFFMAN_MAX + 2] = { 0 }, at = 0, bits;

	for (i = 0; i < n; i++) {
		if (w[i] > HUFFMAN_MAX)
			return -EBADMSG;
		sum += w[i] ? 1u << (w[i] - 1) : 0;
	}
	if (!sum)
		return -EBADMSG;
	log = high_bit(sum) + 1;
	if (log > HUFFMAN_MAX)
		return -EBADMSG;
	left = (1u << log) - sum;	/* what the last symbol, which isn't told, must have */
	if (left & (left - 1))
		return -EBADMSG;
	w[n++] = high_bit(left) + 1;
	for (i = 0; i < n; i++)
		rank[w[i]] += w[i] ? 1u << (w[i] - 1) : 0;
	for (i = 1; i <= log; i++) {	/* the lightest come first in the table */
		k = rank[i];
		rank[i] = at;
		at += k;
	}
	for (i = 0; i < n; i++) {
		if (!w[i])
			continue;
		bits = log + 1 - w[i];
		for (k = 0; k < 1u << (w[i] - 1); k++) {
			h->t[rank[w[i]]].sym = i;
			h->t[rank[w[i]]++].bits = bits;
		}
	}
	h->log = log;
	return 0;
}

static int huffman_read(struct zstd *z, const uint8_t *p, size_t len, size_t *used)
{
	unsigned int n, i;
	uint8_t w[257];
	int err;

	if (!len)
		return -EBADMSG;
	if (p[0] >= 128) {
		n = p[0] - 127;
		*used = 1 + (n + 1) / 2;
		if (*used > len)
			return -EBADMSG;
		for (i = 0; i < n; i++)
			w[i] = i & 1 ? p[1 + i / 2] & 15 : p[1 + i / 2] >> 4;
	} else {
		*used = 1 + p[0];
		if (*used > len)
			return -EBADMSG;
		err = weights_fse(z, p + 1, p[0], w, &n);
		if (err)
			return err;
	}
	return huffman_build(&z->huf, w, n);
}

static int huffman_stream(const struct huffman *h, const uint8_t *p, size_t len, uint8_t *out,
			  size_t n)
{
	struct back b;
	unsigned int v;
	size_t i;

	if (back_open(&b, p, len))
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		if (b.pos <= 0)
			return -EBADMSG;
		v = bits_at(b.p, b.len, b.pos - h->log, h->log);
		out[i] = h->t[v].sym;
		b.pos -= h->t[v].bits;
	}
	return b.pos ? -EBADMSG : 0;
}

static int huffman_literals(struct zstd *z, const uint8_t *p, size_t len, bool four)
{
	size_t part = (z->n_lit + 3) / 4, size[4], i, at = 6, done = 0, n;
	int err;

	if (!four)
		return huffman_stream(&z->huf, p, len, z->lit, z->n_lit);
	if (len < 6 || part * 3 > z->n_lit)
		return -EBADMSG;
	size[0] = little(p, 2);
	size[1] = little(p + 2, 2);
	size[2] = little(p + 4, 2);
	if (size[0] + size[1] + size[2] + 6 > len)
		return -EBADMSG;
	size[3] = len - 6 - size[0] - size[1] - size[2];
	for (i = 0; i < 4; i++) {
		n = i < 3 ? part : z->n_lit - done;
		err = huffman_stream(&z->huf, p + at, size[i], z->lit + done, n);
		if (err)
			return err;
		at += size[i];
		done += n;
	}
	return 0;
}

/* The literals section; *used is its length. */
static int literals(struct zstd *z, const uint8_t *p, size_t len, size_t *used)
{
	static const uint8_t head_of[2][4] = { { 1, 2, 1, 3 }, { 3, 3, 4, 5 } };
	static const uint8_t width[4] = { 10, 10, 14, 18 };
	unsigned int type, format, head;
	size_t packed, tree = 0;
	uint64_t v;
	int err;

	if (!len)
		return -EBADMSG;
	type = p[0] & 3;
	format = p[0] >> 2 & 3;
	head = head_of[type > 1][format];
	if (head > len)
		return -EBADMSG;
	v = little(p, head);
	if (type < 2) {
		z->n_lit = v >> (format & 1 ? 4 : 3);
		packed = type ? 1 : z->n_lit;
	} else {
		z->n_lit = v >> 4 & ((1u << width[format]) - 1);
		packed = v >> (4 + width[format]) & ((1u << width[format]) - 1);
	}
	if (z->n_lit > BLOCK_MAX || packed > len - head)
		return -EBADMSG;
	*used = head + packed;
	p += head;
	if (type == 0) {
		memcpy(z->lit, p, z->n_lit);
		return 0;
	}
	if (type == 1) {
		memset(z->lit, p[0], z->n_lit);
		return 0;
	}
	if (type == 2) {
		err = huffman_read(z, p, packed, &tree);
		if (err)
			return err;
	} else if (!z->huf.log) {
		return -EBADMSG;
	}
	return huffman_literals(z, p + tree, packed - tree, format != 0);
}

static const int16_t ll_default[36] = {
	4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1,
	1, 1, 1, 1, -1, -1, -1, -1,
};
static const int16_t of_default[29] = {
	1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
};
static const int16_t ml_default[53] = {
	1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
};
/* Codes from 16 (literals) and 32 (matches) on cover ranges: the bits to read. */
static const uint8_t ll_bits[20] = { 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	15, 16 };
static const uint8_t ml_bits[21] = { 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13,
	14, 15, 16 };

static uint64_t length_of(unsigned int code, unsigned int plain, const uint8_t *bits,
			  struct back *b)
{
	uint64_t base = plain;
	unsigned int i;

	if (code < plain)
		return code;
	for (i = 0; i < code - plain; i++)
		base += 1ull << bits[i];
	return base + back_read(b, bits[code - plain]);
}

struct table_kind {
	const int16_t *freq;
	uint8_t n, log, max_log;
};

static int table(struct fse *f, unsigned int mode, const struct table_kind *k, const uint8_t *p,
		 size_t len, size_t *used)
{
	*used = 0;
	switch (mode) {
	case 0:
		return fse_build(f, k->freq, k->n, k->log);
	case 1:
		if (!len || p[0] >= (k->max_log == 8 ? 32 : k->n))
			return -EBADMSG;
		fse_single(f, p[0]);
		*used = 1;
		return 0;
	case 2:
		return fse_read(f, p, len, k->max_log, k->max_log == 8 ? 31 : k->n - 1, used);
	default:
		return f->valid ? 0 : -EBADMSG;
	}
}

static uint64_t offset_of(struct zstd *z, uint64_t v, uint64_t lit)
{
	unsigned int i;
	uint64_t off;

	if (v > 3) {
		off = v - 3;
		i = 2;
	} else {
		i = v - 1 + !lit;
		off = i < 3 ? z->rep[i] : z->rep[0] - 1;
	}
	if (i > 1)
		z->rep[2] = z->rep[1];
	if (i > 0)
		z->rep[1] = z->rep[0];
	z->rep[0] = off;
	return off;
}

static int emit(struct zstd *z, size_t *lit_at, uint64_t lit, uint64_t match, uint64_t off)
{
	size_t i;

	if (lit > z->n_lit - *lit_at)
		return -EBADMSG;
	if (lit > z->cap - z->at || match > z->cap - z->at - lit)
		return -ENOSPC;
	memcpy(z->out + z->at, z->lit + *lit_at, lit);
	z->at += lit;
	*lit_at += lit;
	if (match && (!off || off > z->at - z->frame))
		return -EBADMSG;
	for (i = 0; i < match; i++, z->at++)
		z->out[z->at] = z->out[z->at - off];
	return 0;
}

static int sequences(struct zstd *z, const uint8_t *p, size_t len, uint32_t n, size_t *lit_at)
{
	unsigned int ll, of, ml, code;
	uint64_t lit, match, v;
	struct back b;
	int err;

	if (back_open(&b, p, len))
		return -EBADMSG;
	ll = fse_start(&z->ll, &b);
	of = fse_start(&z->of, &b);
	ml = fse_start(&z->ml, &b);
	while (n--) {
		code = z->of.t[of].sym;
		v = (1ull << code) + back_read(&b, code);
		match = length_of(z->ml.t[ml].sym, 32, ml_bits, &b) + 3;
		lit = length_of(z->ll.t[ll].sym, 16, ll_bits, &b);
		if (b.pos < 0)
			return -EBADMSG;
		err = emit(z, lit_at, lit, match, offset_of(z, v, lit));
		if (err)
			return err;
		if (!n)
			break;
		ll = fse_step(&z->ll, ll, &b);
		ml = fse_step(&z->ml, ml, &b);
		of = fse_step(&z->of, of, &b);
	}
	return b.pos ? -EBADMSG : 0;
}

static int compressed(struct zstd *z, const uint8_t *p, size_t len)
{
	static const struct table_kind kinds[3] = {
		{ ll_default, 36, 6, 9 }, { of_default, 29, 5, 8 }, { ml_default, 53, 6, 9 },
	};
	struct fse *tables[3] = { &z->ll, &z->of, &z->ml };
	size_t used, lit_at = 0, at;
	uint32_t n, i;
	uint8_t modes;
	int err;

	err = literals(z, p, len, &used);
	if (err)
		return err;
	p += used;
	len -= used;
	if (!len)
		return -EBADMSG;
	n = p[0];
	at = n < 128 ? 1 : n < 255 ? 2 : 3;
	if (at > len)
		return -EBADMSG;
	if (at == 2)
		n = (n - 128) << 8 | p[1];
	else if (at == 3)
		n = little(p + 1, 2) + 0x7f00;
	if (n) {
		if (at >= len || p[at] & 3)
			return -EBADMSG;
		modes = p[at++];
		for (i = 0; i < 3; i++) {
			err = table(tables[i], modes >> (6 - 2 * i) & 3, &kinds[i], p + at,
				    len - at, &used);
			if (err)
				return err;
			at += used;
		}
		err = sequences(z, p + at, len - at, n, &lit_at);
		if (err)
			return err;
	} else if (at != len) {
		return -EBADMSG;
	}
	return emit(z, &lit_at, z->n_lit - lit_at, 0, 0);
}

/* One block with its header; *used is its length. */
static int block(struct zstd *z, const uint8_t *p, size_t len, size_t *used, bool *last)
{
	size_t size, stored;
	unsigned int type;
	uint32_t head;
	int err = 0;

	if (len < 3)
		return -EBADMSG;
	head = little(p, 3);
	*last = head & 1;
	type = head >> 1 & 3;
	size = head >> 3;
	stored = type == 1 ? 1 : size;
	if (type == 3 || size > BLOCK_MAX || stored > len - 3)
		return -EBADMSG;
	p += 3;
	if (type == 2)
		err = compressed(z, p, size);
	else if (size > z->cap - z->at)
		err = -ENOSPC;
	else if (type == 1)
		memset(z->out + z->at, p[0], size);
	else
		memcpy(z->out + z->at, p, size);
	if (!err && type != 2)
		z->at += size;
	*used = 3 + stored;
	return err;
}

static uint64_t rotl(uint64_t v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull
#define P5 0x27d4eb2f165667c5ull

static uint64_t round64(uint64_t acc, uint64_t v)
{
	return rotl(acc + v * P2, 31) * P1;
}

/* XXH64 with seed 0: a frame may end in its low half */
static uint64_t checksum(const uint8_t *p, size_t len)
{
	uint64_t v[4] = { P1 + P2, P2, 0, -P1 }, h = P5;
	const uint8_t *end = p + len;
	unsigned int i;

	if (len >= 32) {
		for (; end - p >= 32; p += 32)
			for (i = 0; i < 4; i++)
				v[i] = round64(v[i], little(p + 8 * i, 8));
		h = rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18);
		for (i = 0; i < 4; i++)
			h = (h ^ round64(0, v[i])) * P1 + P4;
	}
	h += len;
	for (; end - p >= 8; p += 8)
		h = rotl(h ^ round64(0, little(p, 8)), 27) * P1 + P4;
	if (end - p >= 4) {
		h = rotl(h ^ little(p, 4) * P1, 23) * P2 + P3;
		p += 4;
	}
	for (; p < end; p++)
		h = rotl(h ^ *p * P5, 11) * P1;
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return h ^ h >> 32;
}

/* One frame; *used is its length. */
static int frame(struct zstd *z, const uint8_t *p, size_t len, size_t *used)
{
	static const uint8_t dict_size[4] = { 0, 1, 2, 4 };
	size_t at = 5, part, fcs;
	bool single, last = false;
	uint8_t d;
	int err;

	if (len < 5)
		return -EBADMSG;
	if ((little(p, 4) & 0xfffffff0) == 0x184d2a50) {	/* to be skipped */
		if (len < 8 || little(p + 4, 4) > len - 8)
			return -EBADMSG;
		*used = 8 + little(p + 4, 4);
		return 0;
	}
	if (little(p, 4) != 0xfd2fb528)
		return -EBADMSG;
	d = p[4];
	single = d >> 5 & 1;
	if (d & 8)
		return -EBADMSG;
	fcs = d >> 6 ? 1u << (d >> 6) : single;
	if (at + !single + dict_size[d & 3] + fcs > len)
		return -EBADMSG;
	at += !single;
	if (little(p + at, dict_size[d & 3]))
		return -ENOTSUP;
	at += dict_size[d & 3] + fcs;
	z->frame = z->at;
	z->huf.log = 0;
	z->ll.valid = z->of.valid = z->ml.valid = false;
	z->rep[0] = 1;
	z->rep[1] = 4;
	z->rep[2] = 8;
	while (!last) {
		err = block(z, p + at, len - at, &part, &last);
		if (err)
			return err;
		at += part;
	}
	if (d & 4) {
		if (len - at < 4 || little(p + at, 4) !=
		    (uint32_t)checksum(z->out + z->frame, z->at - z->frame))
			return -EBADMSG;
		at += 4;
	}
	*used = at;
	return 0;
}

int gsx_zstd(const uint8_t *in, size_t n, uint8_t *out, size_t cap, size_t *got)
{
	struct zstd *z = malloc(sizeof(*z));
	size_t at = 0, used;
	int err = n ? 0 : -EBADMSG;

	*got = 0;
	if (!z)
		return -ENOMEM;
	z->out = out;
	z->cap = cap;
	z->at = 0;
	while (at < n && !err) {
		err = frame(z, in + at, n - at, &used);
		at += used;
	}
	if (!err)
		*got = z->at;
	free(z);
	return err;
}
