// SPDX-License-Identifier: MIT
/*
 * The pages of clients, and who is woken when they change.
 *
 * The grant page is sealed against resizing and against every writable mapping
 * but ours, which is made before; the client's page against resizing, or it
 * could kill us by taking away what we read. We map that one for reading only,
 * and what stands there is a hint for the core and numbers for statistics.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpushared.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Both pages begin with their version. */
static int make_page(const char *name, int prot, unsigned int seals, void **at, int *file)
{
	uint32_t version = GPUSHARE_PAGE_VERSION;
	int fd, err;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	*at = MAP_FAILED;
	if (!ftruncate(fd, (off_t)page_size()) &&
	    pwrite(fd, &version, sizeof(version), 0) == sizeof(version))
		*at = mmap(NULL, page_size(), prot, MAP_SHARED, fd, 0);
	if (*at != MAP_FAILED && !fcntl(fd, F_ADD_SEALS, seals)) {
		*file = fd;
		return 0;
	}
	err = -errno;
	if (*at != MAP_FAILED)
		munmap(*at, page_size());
	close(fd);
	return err;
}

int pages_make(struct client_pages *pages, int files[2])
{
	unsigned int fixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	void *grant, *own;
	int err;

	err = make_page("gpushare-grant", PROT_READ | PROT_WRITE, fixed | F_SEAL_FUTURE_WRITE,
			&grant, &files[0]);
	if (err)
		return err;
	err = make_page("gpushare-client", PROT_READ, fixed, &own, &files[1]);
	if (err) {
		munmap(grant, page_size());
		close(files[0]);
		return err;
	}
	pages->grant = grant;
	pages->own = own;
	return 0;
}

void pages_free(const struct client_pages *pages)
{
	munmap(pages->grant, page_size());
	munmap((void *)pages->own, page_size());
}

/* Is it one of those whose own request is being handled? */
static bool acts(const struct client *c)
{
	const struct client *other;

	if (!d.acting || !d.acting_any || d.acting == c)
		return d.acting == c;
	list_for_each_entry(other, &d.acting->core.set, core.set)
		if (other == c)
			return true;
	return false;
}

void page_wake(const struct client *c)
{
	syscall(SYS_futex, &c->pages.grant->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * The core's: what the page says of the client has changed. Who has just given it back,
 * or taken its request back, is awake. Who holds need not be: a thread may sleep until it
 * is asked back, while the device works.
 */
void page_publish(struct gs_arbiter *arb, struct gs_client *core)
{
	struct client *c = core->priv;
	uint64_t word = gs_contract_word(core), old = gs_contract_show(core, word);
	bool held = old & GPUSHARE_GRANTED, holds = word & GPUSHARE_GRANTED;

	(void)arb;
	if (word == old)
		return;
	if (held && !holds && !acts(c))
		c->withdrawn = true;
	if (c->waiting && core->state == GS_CLIENT_IDLE && acts(c))
		c->taken_back = true;
	client_changed(c);
	if (holds || c->withdrawn || word & GPUSHARE_GONE ||
	    word & ~old & (GPUSHARE_EVICT | GPUSHARE_PREPARE))
		page_wake(c);
}
