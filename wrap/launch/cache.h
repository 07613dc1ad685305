/* SPDX-License-Identifier: MIT */
/*
 * What was made of a program's kernels, on disk: $GPUSHARE_CACHE, or
 * $XDG_CACHE_HOME/gpushare, or ~/.cache/gpushare; GPUSHARE_CACHE=off turns it off.
 *
 * An entry is a file named by its key's digits, in one of 256 folders: a head with
 * the key and a digest of what follows, and the bytes. It is written beside and
 * renamed, so readers and writers in any number see a whole entry or none, and the
 * last writer wins, with the same bytes since the key says all that they depend on.
 * An entry that isn't what its head says is removed and was never there. A disk
 * that is full, a folder that can't be written or isn't the user's own: nothing is
 * kept, and nobody hears of it. Entries that weren't used for longest go when
 * all of them are over the limit ($GPUSHARE_CACHE_MB, 256 if unset).
 *
 * No descriptor stays open between two calls, and there are no locks: a program
 * may close all its files, fork and have threads.
 *
 * Whoever can write the folder can make this user's programs run another kernel.
 * So it has to belong to the user, and to be writable for nobody else, and
 * programs that run with more rights than their caller use none.
 */
#ifndef GS_CACHE_H
#define GS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sha256.h"

/* False: nothing is kept, and there is nothing. */
bool gs_cache_is_on(void);

/*
 * The bytes for @key, to be freed by the caller. -ENOENT: not there, whatever the
 * reason; -ENOMEM.
 */
int gs_cache_get(const uint8_t key[GS_SHA256_BYTES], void **data, size_t *len);

/* Keeps a copy of @data, if it can. Entries of over an eighth of the limit aren't kept. */
void gs_cache_put(const uint8_t key[GS_SHA256_BYTES], const void *data, size_t len);

#endif
