/* SPDX-License-Identifier: MIT */
/*
 * Maps: which bytes a part of a grid's blocks writes, and which it reads.
 *
 * Found in a kernel's text when it is transformed (struct gsx_options.maps), for each pointer
 * among its parameters, and worked out for one launch when its grid, block and arguments are
 * known. With them one launch can be spread over several devices that each have a copy of its
 * memory: a device runs some of the blocks on its copy, and what they wrote goes back.
 *
 *
 * The classes, of the writes and of the reads through a pointer
 *
 *  GSX_MAP_NEVER     None.
 *  GSX_MAP_AFFINE    Each address is a sum of block and thread numbers and rounds of loops,
 *                    times factors that the launch settles, under conditions of the same
 *                    kind: gsx_map_ranges() says which bytes. It may still say -ERANGE for a
 *                    launch; then the pointer counts as GSX_MAP_UNPROVEN in this launch.
 *  GSX_MAP_UNPROVEN  Some, anywhere in what the pointer points into. The reason tells why.
 *  GSX_MAP_SHARED    Writes only: blocks may get at what other blocks write, in this launch.
 *                    By atomics, or as it is read through the same pointer too and one of
 *                    the two isn't affine. A launch must not be spread.
 *
 * struct gsx_maps.whole is about all of the kernel: other than GSX_MAP_NEVER, it writes
 * memory that no parameter points to, or waits for other blocks, or something isn't followed
 * at all (a call, say). Then a launch must not be spread, whatever the pointers' classes are.
 * Memory that is read and isn't behind a parameter (a variable of the module, an address that
 * was loaded, a texture) is struct gsx_maps.elsewhere: each device must have it, and at the
 * same addresses if these are loaded.
 *
 *
 * Ranges, exactly
 *
 * Let W(S) be the bytes that the blocks S of a launch write in any run of it, R(S) those that
 * they read. The ranges that gsx_map_ranges() gives for writes of S cover W(S), those for
 * reads cover R(S). So each range is one of bytes that *may* be written. Two flags say more:
 *
 *  GSX_RANGES_EXACT     Writes: each byte of them *must* be written, in each run.
 *  GSX_RANGES_DISJOINT  Writes: no block that isn't in S writes any byte of them, through
 *                       this pointer. It holds for all parts of the grid or for none, but
 *                       where @cap was too small for the ranges.
 *
 * What may be copied back. Before the launch all copies are equal. Device d runs the blocks
 * S(d) on its own, then its ranges replace the same bytes of the result, which begins as the
 * copy was before the launch. For a byte of d's ranges there are two cases:
 *
 *  - some block of S(d) wrote it. If no block of another device does, that is what one device
 *    would have left there. If another does (no DISJOINT), it is what one of the racing blocks
 *    wrote, as on one device, provided that nobody puts back another's old value over it.
 *  - none did: d's byte is what it was before the launch. If no other device's block wrote it
 *    either, it is right. If one did, the copy destroys its result.
 *
 * So a byte may be copied back if it must be written by d, or if no other device writes it:
 * ranges need be EXACT or DISJOINT, not both, and a may-written range that is disjoint needs
 * no comparing with what was there. With neither, ranges of different devices must be compared
 * by the host; where they meet, the launch isn't to be spread.
 *
 * What a device's copy must have at first: what its blocks read, and the may-written ranges if
 * they aren't EXACT, as they are copied back whole.
 *
 *
 * What the host owes
 *
 *  - Whether pointers reach the same memory is its question. Two arguments may be the same,
 *    or ranges of two may overlap (they may leave the allocation that they point into, and
 *    begin before it). At each launch it adds the arguments to the ranges, and compares those
 *    of different devices: where one's writes meet another's writes (through another pointer),
 *    or another's reads, the launch isn't to be spread. Unproven writes or reads are of the
 *    whole allocation.
 *  - Through one pointer, reads that meet other devices' writes are a race in the program,
 *    which without atomics or waiting gives the old or the new value on one device as well;
 *    who wants bit-exactness of programs that race, doesn't spread.
 *  - UNPROVEN writes: comparing with a snapshot finds what a device wrote but for bytes that
 *    got the value that they had. Right if no two devices write one byte, which nobody proved.
 *  - The launch must be one that may be cut (gsxform.h).
 */
#ifndef GSMAPS_H
#define GSMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gsx_map_class { GSX_MAP_NEVER, GSX_MAP_AFFINE, GSX_MAP_UNPROVEN, GSX_MAP_SHARED,
		     GSX_MAP_CLASSES };

/* Why it isn't better than that. The numbers are stable; new ones come at the end. */
enum gsx_map_reason {
	GSX_MAP_OK,
	GSX_MAP_DATA,		/* the address depends on what was loaded */
	GSX_MAP_OPERATION,	/* it comes from an operation that isn't followed */
	GSX_MAP_PRODUCT,	/* it has a product of two numbers that differ between threads */
	GSX_MAP_JOIN,		/* it depends on the way that was come, or on a condition */
	GSX_MAP_LOOP,		/* it changes in a loop otherwise than by a constant step */
	GSX_MAP_BASE,		/* which pointer it comes from isn't known */
	GSX_MAP_ATOMICS,
	GSX_MAP_READ,		/* what is written is read, maybe by other blocks */
	GSX_MAP_WAITS,		/* waits for other blocks, or looks at what they write */
	GSX_MAP_CALL,		/* a call whose accesses aren't followed */
	GSX_MAP_VARIABLE,	/* a variable of the module */
	GSX_MAP_POINTER,	/* a pointer that was loaded */
	GSX_MAP_SURFACE,
	GSX_MAP_FLOW,		/* control flow that isn't followed */
	GSX_MAP_SIZE,		/* too much of it */
	GSX_MAP_REASONS
};

struct gsx_way {
	enum gsx_map_class class;
	enum gsx_map_reason reason;
	uint32_t line;		/* in the input text, from 1; 0: NEVER or AFFINE */
	const char *text;	/* one sentence; NULL: NEVER or AFFINE */
};

/* A pointer, or a struct by value that has some. */
struct gsx_map {
	uint32_t offset;	/* in the parameter buffer */
	uint32_t size;		/* 8; more: somewhere in so many bytes, never AFFINE */
	struct gsx_way writes, reads;
};

struct gsx_maps {
	struct gsx_way whole;		/* writes of memory that no parameter points to */
	struct gsx_way elsewhere;	/* reads of such: NEVER or UNPROVEN */
	const struct gsx_map *map;	/* by offset; a parameter that isn't here is no pointer */
	uint32_t n;
	const struct map_code *code;	/* private */
};

/* A launch, as far as ranges depend on it. Params in the layout of the original kernel. */
struct gsx_shape {
	uint32_t grid[3], block[3];
	const void *params;
	size_t param_bytes;
};

/* @rows times @bytes, each @pitch bytes behind the one before; @begin from the pointer on. */
struct gsx_range {
	int64_t begin;
	uint64_t bytes, pitch, rows;
};

#define GSX_RANGES_EXACT	0x1u
#define GSX_RANGES_DISJOINT	0x2u

struct gsx_ranges {
	struct gsx_range *range;	/* the caller's, of @cap, at least 1 */
	uint32_t cap, n;
	uint32_t flags;
	const char *why;		/* of -ERANGE: a sentence, static */
};

/*
 * The ranges of the blocks [from, to) by their linear numbers, x fastest, of a map that is
 * AFFINE. Ranges come in no certain order and may overlap. If there are more than @cap, some
 * are joined with what lies between them, and no flag is set.
 *
 * 0; -ERANGE: this launch's can't be said (@why); -EINVAL: not AFFINE, an empty grid or
 * block, from > to, to > blocks, params too short; -ENOMEM.
 */
int gsx_map_ranges(const struct gsx_maps *maps, const struct gsx_map *map, bool writes,
		   const struct gsx_shape *shape, uint64_t from, uint64_t to,
		   struct gsx_ranges *out);

/* "never", "affine" ...; "data", "loop" ...: for tools and logs. */
const char *gsx_map_class_name(enum gsx_map_class class);
const char *gsx_map_reason_name(enum gsx_map_reason reason);

#ifdef __cplusplus
}
#endif

#endif
