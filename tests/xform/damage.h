/* SPDX-License-Identifier: MIT */
/* Random damage to a text: bytes changed, pieces lost or doubled, words put in. */
#ifndef GS_TESTS_XFORM_DAMAGE_H
#define GS_TESTS_XFORM_DAMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct damage {
	uint64_t state;			/* the seed, not 0 */
	size_t most;			/* bytes of the text */
	uint32_t longest;		/* piece */
	const char *const *words;	/* "" is a NUL */
	uint32_t n_words;
};

static inline uint32_t draw(struct damage *d, uint32_t n)
{
	d->state ^= d->state << 13;
	d->state ^= d->state >> 7;
	d->state ^= d->state << 17;
	return (d->state >> 16) % n;
}

/* Returns the new length. */
static inline size_t damage(struct damage *d, char *t, size_t n)
{
	uint32_t at = draw(d, n + 1), to = draw(d, n + 1);
	uint32_t len = draw(d, draw(d, 8) ? 16 : d->longest) + 1;
	const char *word;

	switch (draw(d, 6)) {
	case 0:
		if (n)
			t[at % n] = draw(d, 256);
		break;
	case 1:
		len = len < n - at ? len : n - at;
		memmove(t + at, t + at + len, n - at - len);
		n -= len;
		break;
	case 2:		/* a piece again elsewhere */
		len = len < n - at ? len : n - at;
		if (n + len < d->most) {
			memmove(t + to + len, t + to, n - to);
			memmove(t + to, t + (at < to ? at : at + len < n ? at + len : at), len);
			n += len;
		}
		break;
	default:
		word = d->words[draw(d, d->n_words)];
		len = strlen(word) + !*word;
		if (n + len < d->most) {
			memmove(t + at + len, t + at, n - at);
			memcpy(t + at, word, len);
			n += len;
		}
	}
	return n;
}

#endif
