// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The grant page: what its word says of a client, and the order in which the page is
 * written. The client reads it without a lock: what @seq guards is written between its
 * two steps, PREEMPT's own word before the flag, @wake after the word, and whom that
 * concerns the host wakes after all of it.
 */
#include <linux/gpushare.h>
#include "contract.h"

/* The page and the arbiter count these alike. */
#define SAME(name) static_assert((GPUSHARE_##name) == (GS_##name), #name)
SAME(GRANTED);
SAME(PREEMPT);
SAME(PREPARE);
SAME(EVICT);

u64 gs_contract_word(const struct gs_client *c)
{
	u64 flags = c->flags & (GS_GRANTED | GS_PREEMPT | GS_PREPARE | GS_EVICT);

	if (c->state == GS_CLIENT_GONE)
		flags = GPUSHARE_GONE;
	else if (c->state == GS_CLIENT_WAITING)
		flags |= GPUSHARE_WAITING;
	return c->epoch << GPUSHARE_EPOCH_SHIFT | flags;
}

static u64 holder_on(const struct gs_device *dev)
{
	if (!dev || list_empty(&dev->holders))
		return 0;
	return list_first_entry(&dev->holders, struct gs_client, of_device)->id;
}

/* What stands behind the sequence count. */
static void show_rest(const struct gs_client *c)
{
	struct gpushare_grant_page *page = c->page;
	const struct gs_device *dev = c->dev;
	bool granted = c->flags & GS_GRANTED;
	u32 seq = page->seq;

	WRITE_ONCE(page->seq, seq + 1);
	smp_wmb();	/* odd before the first change; pairs with the reader's first fence */
	WRITE_ONCE(page->workers, c->workers);
	WRITE_ONCE(page->granted_ns, granted ? c->since : 0);
	WRITE_ONCE(page->deadline_ns, granted ? c->deadline : 0);
	WRITE_ONCE(page->slice_ns, c->slice);
	WRITE_ONCE(page->linger_ns, dev ? dev->conf.linger : 0);
	WRITE_ONCE(page->waiters, dev ? dev->root.waiting : 0);
	WRITE_ONCE(page->holder, holder_on(dev));
	smp_wmb();	/* even after the last change; pairs with the reader's second fence */
	WRITE_ONCE(page->seq, seq + 2);
}

void gs_contract_show_word(struct gpushare_grant_page *page, u64 word)
{
	WRITE_ONCE(page->preempt, !!(word & GPUSHARE_PREEMPT));
	if (word == page->word)
		return;
	smp_store_release(&page->word, word);	/* pairs with the client's acquire load */
	smp_store_release(&page->wake, page->wake + 1);	/* who sleeps on it looks at the word */
}

u64 gs_contract_show(const struct gs_client *c, u64 word)
{
	u64 old = c->page->word;

	show_rest(c);
	gs_contract_show_word(c->page, word);
	return old;
}

void gs_contract_show_begin(struct gs_client *c, struct gpushare_grant_page *page)
{
	c->page = page;
	page->version = GPUSHARE_PAGE_VERSION;
	page->size = sizeof(*page);
	page->device = c->dev->id;
	page->client = c->id;
	gs_contract_show(c, gs_contract_word(c));
}

void gs_contract_show_end(const struct gs_client *c)
{
	gs_contract_show_word(c->page, c->page->word &
			      ~(GPUSHARE_FLAGS_MASK & ~(u64)GPUSHARE_GONE));
}
