// SPDX-License-Identifier: MIT
/*
 * The container: a header, then entries. All numbers are little endian; an
 * entry's header has 64 bytes, then the name, a pair {offset, length} that leads
 * to the options, and the options, padded to 8:
 *
 *	 0 u16 kind, u16 0x101, u32 bytes of header and strings
 *	 8 u64 bytes stored, padded to 8
 *	16 u32 bytes stored if compressed, u32 offset of the options' pair
 *	24 u16 minor, u16 major, u32 architecture
 *	32 u32 offset of the name, u32 its length
 *	40 u64 flags, u64 0, u64 bytes unpacked if compressed
 *
 * Seen in what nvcc 13 writes, and in the libraries that come with it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gsfatbin.h"
#include "unpack.h"

#define HEAD		16u
#define ENTRY		64u
#define ENTRY_MAX	65536u	/* header and strings */
#define ENTRY_VERSION	0x101u

static uint64_t get(const uint8_t *p, unsigned int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static void put(uint8_t *p, uint64_t v, unsigned int n)
{
	for (; n; n--, v >>= 8)
		*p++ = v;
}

__attribute__((format(printf, 3, 4)))
static int fail(struct gsx_fat *f, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->error, sizeof(f->error), fmt, ap);
	va_end(ap);
	f->at = f->len;
	return err;
}

size_t gsx_fat_length(const void *data)
{
	const uint8_t *p = data;
	uint64_t size;

	if (get(p, 4) != GSX_FAT_MAGIC || get(p + 4, 2) != 1 || get(p + 6, 2) != HEAD)
		return 0;
	size = get(p + 8, 8);
	return size > SIZE_MAX / 4 ? 0 : HEAD + size;
}

int gsx_fat_open(struct gsx_fat *f, const void *data, size_t avail)
{
	memset(f, 0, sizeof(*f));
	if (avail < HEAD)
		return fail(f, -EINVAL, "%zu bytes are no fat binary", avail);
	f->base = data;
	f->len = gsx_fat_length(data);
	if (!f->len)
		return fail(f, -EINVAL, "no fat binary of version 1 begins here");
	if (f->len > avail) {
		fail(f, -EBADMSG, "the fat binary claims %zu bytes of %zu", f->len, avail);
		f->len = f->at = 0;
		return -EBADMSG;
	}
	f->at = HEAD;
	return 0;
}

/* A string of the entry's header: inside of it, or refused. */
static int string(struct gsx_fat *f, const uint8_t *p, size_t head, const char *what, uint32_t off,
		  uint32_t len, const char **out, size_t *out_len)
{
	if (off > head || len > head - off)
		return fail(f, -EBADMSG, "entry at %zu: its %s lies outside of its header", f->at,
			    what);
	*out = (const char *)p + off;
	*out_len = len;
	return 0;
}

static int strings(struct gsx_fat *f, const uint8_t *p, size_t head, struct gsx_fat_entry *e)
{
	uint32_t pair = get(p + 20, 4);
	int err = 0;

	if (get(p + 36, 4))
		err = string(f, p, head, "name", get(p + 32, 4), get(p + 36, 4), &e->name,
			     &e->name_len);
	if (err || !pair)
		return err;
	if (pair > head || head - pair < 8)
		return fail(f, -EBADMSG, "entry at %zu: its options lie outside of its header",
			    f->at);
	return string(f, p, head, "options", get(p + pair, 4), get(p + pair + 4, 4), &e->options,
		      &e->options_len);
}

int gsx_fat_next(struct gsx_fat *f, struct gsx_fat_entry *e)
{
	const uint8_t *p = f->base + f->at;
	size_t left = f->len - f->at, head;
	uint64_t padded, packed;
	int err;

	memset(e, 0, sizeof(*e));
	e->name = e->options = "";
	if (!left)
		return 0;
	if (left < ENTRY)
		return fail(f, -EBADMSG, "%zu bytes at %zu are too few for an entry", left, f->at);
	head = get(p + 4, 4);
	padded = get(p + 8, 8);
	if (get(p + 2, 2) != ENTRY_VERSION)
		return fail(f, -EBADMSG, "entry at %zu has version 0x%x, not 0x%x", f->at,
			    (unsigned int)get(p + 2, 2), ENTRY_VERSION);
	if (head < ENTRY || head > ENTRY_MAX || head > left || padded > left - head)
		return fail(f, -EBADMSG, "entry at %zu goes past the end of the fat binary", f->at);
	e->kind = get(p, 2);
	e->minor = get(p + 24, 2);
	e->major = get(p + 26, 2);
	e->arch = get(p + 28, 4);
	e->flags = get(p + 40, 8);
	e->data = p + head;
	e->stored = e->size = padded;
	if (e->flags & (GSX_FAT_LZ4 | GSX_FAT_ZSTD)) {
		packed = get(p + 16, 4);
		if (packed > padded)
			return fail(f, -EBADMSG, "entry at %zu: more is compressed than stored",
				    f->at);
		e->stored = packed;
		e->size = get(p + 56, 8);
	}
	err = strings(f, p, head, e);
	if (err)
		return err;
	f->at += head + padded;
	return 1;
}

int gsx_fat_unpack(const struct gsx_fat_entry *e, size_t max, char **out, size_t *len)
{
	size_t got = e->stored;
	char *buf;
	int err;

	*out = NULL;
	*len = 0;
	if (e->size > max)
		return -EFBIG;
	buf = malloc(e->size + 1);
	if (!buf)
		return -ENOMEM;
	switch (e->flags & (GSX_FAT_LZ4 | GSX_FAT_ZSTD)) {
	case 0:
		memcpy(buf, e->data, e->size);
		err = 0;
		break;
	case GSX_FAT_LZ4:
		err = gsx_lz4(e->data, e->stored, (uint8_t *)buf, e->size, &got);
		break;
	case GSX_FAT_ZSTD:
		err = gsx_zstd(e->data, e->stored, (uint8_t *)buf, e->size, &got);
		break;
	default:
		err = -ENOTSUP;
	}
	if (err == -ENOSPC || (!err && got != e->size))
		err = -EBADMSG;
	if (err) {
		free(buf);
		return err;
	}
	while (e->kind == GSX_FAT_PTX && got && !buf[got - 1])
		got--;
	buf[got] = 0;
	*out = buf;
	*len = got;
	return 0;
}

int gsx_fat_find(const void *file, size_t len, size_t *at, struct gsx_fat *f)
{
	static const uint8_t magic[4] = { 0x50, 0xed, 0x55, 0xba };
	const uint8_t *base = file, *p;

	while (*at < len && len - *at >= HEAD) {
		p = memmem(base + *at, len - *at, magic, sizeof(magic));
		if (!p)
			break;
		*at = p - base;
		if (!gsx_fat_open(f, p, len - *at)) {
			*at += f->len;
			return 1;
		}
		*at += sizeof(magic);
	}
	*at = len;
	return 0;
}

static size_t pad8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Where an entry's parts go; 0: it can't be written. */
static size_t entry_head(const struct gsx_fat_entry *e)
{
	size_t head = ENTRY + pad8(e->name_len) + 8 + pad8(e->options_len);

	return e->name_len > ENTRY_MAX || e->options_len > ENTRY_MAX || head > ENTRY_MAX ||
		e->flags & (GSX_FAT_LZ4 | GSX_FAT_ZSTD) ? 0 : head;
}

/* PTX keeps at least one NUL behind it, as those who read it expect. */
static size_t padded_size(const struct gsx_fat_entry *e)
{
	return pad8(e->stored + (e->kind == GSX_FAT_PTX));
}

static void write_entry(uint8_t *p, const struct gsx_fat_entry *e, size_t head)
{
	size_t pair = ENTRY + pad8(e->name_len);

	put(p, e->kind, 2);
	put(p + 2, ENTRY_VERSION, 2);
	put(p + 4, head, 4);
	put(p + 8, padded_size(e), 8);
	put(p + 20, pair, 4);
	put(p + 24, e->minor, 2);
	put(p + 26, e->major, 2);
	put(p + 28, e->arch, 4);
	if (e->name_len) {
		put(p + 32, ENTRY, 4);
		put(p + 36, e->name_len, 4);
		memcpy(p + ENTRY, e->name, e->name_len);
	}
	put(p + 40, e->flags, 8);
	put(p + pair, pair + 8, 4);
	put(p + pair + 4, e->options_len, 4);
	if (e->options_len)
		memcpy(p + pair + 8, e->options, e->options_len);
	if (e->stored)
		memcpy(p + head, e->data, e->stored);
}

int gsx_fat_write(const struct gsx_fat_entry *e, size_t n, void **out, size_t *len)
{
	size_t total = HEAD, i, head;
	uint8_t *buf, *p;

	*out = NULL;
	*len = 0;
	for (i = 0; i < n; i++) {
		head = entry_head(&e[i]);
		if (!head)
			return -EINVAL;
		if (e[i].stored > SIZE_MAX / 8 || total > SIZE_MAX / 2)
			return -EFBIG;
		total += head + padded_size(&e[i]);
	}
	buf = calloc(1, total);
	if (!buf)
		return -ENOMEM;
	put(buf, GSX_FAT_MAGIC, 4);
	put(buf + 4, 1, 2);
	put(buf + 6, HEAD, 2);
	put(buf + 8, total - HEAD, 8);
	p = buf + HEAD;
	for (i = 0; i < n; i++) {
		head = entry_head(&e[i]);
		write_entry(p, &e[i], head);
		p += head + padded_size(&e[i]);
	}
	*out = buf;
	*len = total;
	return 0;
}
