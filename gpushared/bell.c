// SPDX-License-Identifier: MIT
/*
 * Doorbells: a client writes what it wishes on its page and rings an eventfd;
 * ulib/wire.h says what a wish is. That saves a message and its way through the
 * socket, so a handoff costs us one epoll_wait() and one futex call.
 *
 * The bell is ours, and an enemy has its file as well. So we never read it, nor
 * write it: a client that makes it blocking, fills it or empties it makes nobody
 * wait but itself. EPOLLET tells of each ring without a read, and of many at once
 * as of one. Who rings all the time costs us less than who sends all the time: a
 * look at a word, which says nothing new or is a request like any other, in turn
 * with all other sources.
 *
 * The page is the enemy's too, and may change at any moment: each word is read
 * once. Whatever it says is about clients of its own process.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "gpushared.h"

/* Without one the client sends messages. */
int bell_hang(struct peer *p)
{
	int err;

	if (p->bell.fd >= 0)
		return 0;	/* an earlier client's of this connection */
	p->bell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->bell.fd < 0)
		return -errno;
	err = loop_add(&p->bell, EPOLLIN | EPOLLET);
	if (err)
		loop_remove(&p->bell);
	return err;
}

static bool is_back(const struct client *c, uint64_t wish)
{
	return (uint32_t)c->core.epoch == wish >> GS_WISH_EPOCH_SHIFT;
}

/*
 * Takes a wish that wasn't taken yet. Of a set each gives back what its own page
 * says. A grant that the client hasn't seen stays, and is what it wished for.
 */
void bell_heed(struct client *c)
{
	uint64_t wish = __atomic_load_n(&c->pages.own->wish, __ATOMIC_ACQUIRE), one = wish;
	bool any = wish & GS_WISH_ANY, want = wish & GS_WISH_WANT;
	bool again = false, unseen = false;
	struct gs_client *holder;
	struct client *i = c;

	if (wish == c->heeded || c->core.state == GS_CLIENT_GONE ||
	    wish & GS_WISH_FLAGS & ~(GS_WISH_WANT | GS_WISH_ANY))
		return;
	client_asked(c, any);
	do {
		i->heeded = one;
		if (i->core.state == GS_CLIENT_RUNNING) {
			if (!is_back(i, one))
				unseen = true;
			else if (want && !any)
				again = true;
			else
				client_give_back(i, false);
		} else if (any && i->core.state == GS_CLIENT_OVER) {
			/* Asking won't, if a request stands or a grant is unseen. */
			client_give_back(i, false);
		}
		i = list_first_entry(&i->core.set, struct client, core.set);
		one = __atomic_load_n(&i->pages.own->wish, __ATOMIC_ACQUIRE);
	} while (any && i != c);
	if (!want && !unseen)
		client_give_back(c, any);
	else if (want && !unseen)
		client_ask(c, any, 0, again, &holder);
}

void bell_rung(struct source *s, uint32_t events)
{
	struct peer *p = container_of(s, struct peer, bell);

	(void)events;
	if (!p->doomed && p->client && account_hear(p))
		bell_heed(p->client);
}
