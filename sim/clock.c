// SPDX-License-Identifier: MIT
/* A binary heap of events, by time, then by the order in which they were set. */
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

static bool before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

void sim_at(struct run *run, uint64_t at, sim_event_fn fn, void *arg, uint64_t data)
{
	struct clock *c = &run->clock;
	struct event e = { at, c->order++, fn, arg, data };
	size_t i, up;

	if (c->n == c->room) {
		c->room = c->room ? 2 * c->room : 256;
		c->heap = realloc(c->heap, c->room * sizeof(*c->heap));
		if (!c->heap) {
			perror("gpushare-sim");
			exit(2);
		}
	}
	for (i = c->n++; i; i = up) {
		up = (i - 1) / 2;
		if (before(&c->heap[up], &e))
			break;
		c->heap[i] = c->heap[up];
	}
	c->heap[i] = e;
}

static struct event take(struct clock *c)
{
	struct event first = c->heap[0], last = c->heap[--c->n];
	size_t i = 0, down;

	for (;; i = down) {
		down = 2 * i + 1;
		if (down >= c->n)
			break;
		if (down + 1 < c->n && before(&c->heap[down + 1], &c->heap[down]))
			down++;
		if (before(&last, &c->heap[down]))
			break;
		c->heap[i] = c->heap[down];
	}
	c->heap[i] = last;
	return first;
}

void sim_clock_run(struct run *run, uint64_t until)
{
	struct clock *c = &run->clock;
	struct event e;

	while (c->n && c->heap[0].at <= until && !run->error) {
		e = take(c);
		c->now = e.at;
		e.fn(run, e.arg, e.data);
	}
	c->now = until;
}
