/* SPDX-License-Identifier: MIT */
/*
 * gsfatbin: CUDA's fat binaries, read and written without NVIDIA's tools.
 *
 * A fat binary is a container: a header of 16 bytes, then entries one behind the
 * other. An entry is PTX, a cubin or something else for one architecture, with
 * the file name and the compiler's options that it was built with; PTX is mostly
 * compressed (zstd today, LZ4 from older toolkits). Programs hold containers in
 * their sections .nv_fatbin and __nv_relfatbin, and hand the driver a wrapper
 * (struct gsx_fat_wrapper) that points at one.
 *
 * Everything is checked: whatever the bytes are, the reader stays inside them and
 * says what is wrong (struct gsx_fat.error).
 */
#ifndef GSFATBIN_H
#define GSFATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GSX_FAT_MAGIC		0xba55ed50u
#define GSX_FAT_WRAPPER_MAGIC	0x466243b1u

/* What __cudaRegisterFatBinary and cuModuleLoadFatBinary are given. */
struct gsx_fat_wrapper {
	uint32_t magic;
	uint32_t version;	/* 2: `more` lists containers of relocatable code */
	const void *data;	/* a container */
	const void *more;	/* version 2: NULL-terminated array of containers */
};

enum gsx_fat_kind {
	GSX_FAT_PTX = 1,
	GSX_FAT_CUBIN = 2,
	GSX_FAT_LTOIR = 8,
};

/* struct gsx_fat_entry.flags, as they stand in the file */
#define GSX_FAT_64BIT		0x1ull
#define GSX_FAT_DEBUG		0x2ull
#define GSX_FAT_LINUX		0x10ull
#define GSX_FAT_LZ4		0x2000ull
#define GSX_FAT_ZSTD		0x8000ull
#define GSX_FAT_SUFFIX_A	0x100000ull	/* sm_90a: this architecture alone */
#define GSX_FAT_SUFFIX_F	0x200000ull	/* sm_100f: its family */

struct gsx_fat_entry {
	uint16_t kind;		/* enum gsx_fat_kind, or unknown */
	uint16_t major, minor;	/* of the PTX ISA: 9, 0 */
	uint32_t arch;		/* 90 for sm_90 */
	uint64_t flags;
	const char *name;	/* source file, not NUL-terminated */
	size_t name_len;
	const char *options;	/* for ptxas, as " -maxrregcount=40 "; not NUL-terminated */
	size_t options_len;
	const void *data;	/* as stored: maybe compressed */
	size_t stored;
	size_t size;		/* once unpacked */
};

struct gsx_fat {
	const uint8_t *base;
	size_t len;		/* the whole container, header included */
	size_t at;		/* of the next entry */
	char error[120];	/* the last error, a sentence */
};

/*
 * Opens the container at @data, which has at most @avail bytes. 0; -EINVAL: no
 * container; -EBADMSG: it says it is longer than @avail.
 */
int gsx_fat_open(struct gsx_fat *f, const void *data, size_t avail);

/* The length that a container in memory claims, 0: no container. Reads 16 bytes. */
size_t gsx_fat_length(const void *data);

/* The next entry: 1; 0 at the end; -EBADMSG: damaged, and nothing more is read. */
int gsx_fat_next(struct gsx_fat *f, struct gsx_fat_entry *e);

/*
 * Unpacks an entry into memory of its own (free() it), at most @max bytes, with a
 * NUL behind it that isn't counted; zeros at the end of PTX are cut off. 0;
 * -EFBIG: more than @max; -EBADMSG: damaged, or its size isn't what the header
 * says; -ENOTSUP: an unknown compression; -ENOMEM.
 */
int gsx_fat_unpack(const struct gsx_fat_entry *e, size_t max, char **out, size_t *len);

/*
 * Looks for the next container in a file's bytes from *at on and moves *at behind
 * it: 1 found, 0 none. Finds them in programs, libraries, objects and bare.
 */
int gsx_fat_find(const void *file, size_t len, size_t *at, struct gsx_fat *f);

/*
 * A container of these entries, uncompressed (the flags for compression must be
 * clear, data and stored be plain), in memory to free(). 0; -EINVAL: an entry
 * that can't be written; -EFBIG; -ENOMEM.
 */
int gsx_fat_write(const struct gsx_fat_entry *e, size_t n, void **out, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
