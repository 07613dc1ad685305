// SPDX-License-Identifier: MIT
/*
 * Memory of a handle: its own two pages, and the place of the arbiter's two.
 *
 * The arbiter's pages are always at the same addresses: when the arbiter
 * changes, others are mapped over them in one step, so that a thread that looks
 * at the grant at that moment sees the old or the new one, and never nothing.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client.h"

int gs_client_alloc(struct gs_client **client)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct gs_client *c;
	char *at;
	int err;

	_Static_assert(sizeof(struct gs_client) + sizeof(c) <= 4096, "fits a page");
	_Static_assert(sizeof(struct gs_gate) <= 4096, "fits a page");
	at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	if (madvise(at + page, page, MADV_WIPEONFORK)) {
		err = -errno;
		munmap(at, 2 * page);
		return err;
	}
	c = (struct gs_client *)at;
	c->page = page;
	c->file = -1;
	c->bell = -1;
	c->set = c;
	c->gate = (struct gs_gate *)(at + page);
	((struct gs_client **)c->gate)[-1] = c;
	*client = c;
	return 0;
}

void gs_client_free(struct gs_client *client)
{
	munmap(client, 2 * client->page);
}

int gs_pages_reserve(struct gs_pages *pages, size_t length)
{
	char *at = mmap(NULL, 2 * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	pages->grant = (struct gpushare_grant_page *)at;
	pages->client = (struct gpushare_client_page *)(at + length);
	pages->length = length;
	return 0;
}

/* A forked child has no use for them, and must not see its parent's grant. */
void gs_pages_inherit_not(const struct gs_pages *pages)
{
	madvise(pages->grant, 2 * pages->length, MADV_DONTFORK);
}

void gs_pages_free(const struct gs_pages *pages)
{
	munmap(pages->grant, 2 * pages->length);
}

/* Puts pages of our own in place, on which everything is granted. */
int gs_pages_ungate(const struct gs_pages *pages, uint64_t epoch)
{
	size_t length = pages->length;
	struct gpushare_grant_page *g;
	char *at;
	int err;

	at = mmap(NULL, 2 * length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	g = (struct gpushare_grant_page *)at;
	g->version = GPUSHARE_PAGE_VERSION;
	g->size = sizeof(*g);
	g->word = epoch << GPUSHARE_EPOCH_SHIFT | GPUSHARE_GRANTED;
	((struct gpushare_client_page *)(at + length))->version = GPUSHARE_PAGE_VERSION;
	if (mremap(at, 2 * length, 2 * length, MREMAP_MAYMOVE | MREMAP_FIXED, pages->grant) ==
	    MAP_FAILED) {
		err = -errno;
		munmap(at, 2 * length);
		return err;
	}
	gs_pages_inherit_not(pages);
	return 0;
}
