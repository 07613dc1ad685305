/* SPDX-License-Identifier: MIT */
/*
 * The folder of accounts: a file for each day (of UTC) in the ledger's text, YYYY-MM-DD.usage.
 * One process appends to the newest, whatever the clock says meanwhile. A file that has grown,
 * or whose day is over, is written anew with its uses added up, and the oldest go when there
 * is too much of all.
 */
#ifndef GS_CTL_BOOKS_H
#define GS_CTL_BOOKS_H

#include "ledger.h"

#define GS_BOOKS_DIR	"/var/lib/gpushare/usage"
#define GS_BOOKS_MOST	(256ull << 20)

struct gs_books;

/*
 * To write in @dir, which is made if its parent is there; @most: bytes of all. 0 or -errno;
 * -EWOULDBLOCK: another process does.
 */
int gs_books_open(const char *dir, uint64_t most, struct gs_books **books);
void gs_books_close(struct gs_books *books);
/*
 * Append a batch, wholly or not at all: 0 or -errno. @forgot: if it isn't NULL, it says
 * from which day on accounts had to be removed to make room ("" if none had to be).
 */
int gs_books_write(struct gs_books *books, uint64_t time, const char *text, size_t size,
		   char forgot[16]);
/* Has @take the batches of the newest file that has any: the last of them counts. */
int gs_books_last(struct gs_books *books, const struct gs_ledger_taker *take, void *arg);

/*
 * Has @take all that was written on days from @since on. @bad: how many places weren't
 * sound. 0, or -errno for the file @name.
 */
int gs_books_read(const char *dir, uint64_t since, const struct gs_ledger_taker *take, void *arg,
		  size_t *bad, char *name, size_t size);

#endif
