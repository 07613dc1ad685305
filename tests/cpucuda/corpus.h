/* SPDX-License-Identifier: MIT */
/* What the tests over the corpus share: input data, files, comparison. */
#ifndef CPUCUDA_TEST_CORPUS_H
#define CPUCUDA_TEST_CORPUS_H

#include "tests/corpus/cuda/corpus.h"

/* A test for each file of the corpus. */
#define CORPUS_FILES(X) \
	X(simple) X(control) X(shared) X(barrier) X(warp) X(atomic) X(types) X(ints) X(maths) \
	X(leave) X(retry) X(wait) X(funcs) X(memory) X(grid) X(inline) X(bounds) X(apps) \
	X(matrix) X(print) X(texture)

struct corpus_data {
	struct corpus_bufs bufs;	/* in host memory */
	void *expect;			/* OUT after the reference has run; NULL: none */
};

/* The same data in each call. 0 or -1 */
int corpus_data_make(struct corpus_data *d);
void corpus_data_free(struct corpus_data *d);
/* The next run of a file after @r (NULL: the first) that this architecture has. */
struct corpus_run *corpus_next(struct corpus_run *r, const char *file, int cc);
/* The right result into d->expect, where the host can say it. */
void corpus_expect(struct corpus_data *d, const struct corpus_run *r);
/* A file's bytes with a zero behind them, or NULL. */
char *corpus_read(const char *path, size_t *len);
/* The PTX for a run, or NULL: it isn't built for this architecture. */
char *corpus_text(const struct corpus_run *r, int cc, size_t *len);
/* Makes PTX one that a driver of this version takes (as cuDriverGetVersion() tells it). */
void corpus_suit(char *text, int driver);
/* -1: alike (within the run's tolerance); else the first index that differs. */
long corpus_differs(const struct corpus_run *r, const void *a, const void *b);
/* Into a buffer as long as the kernel's parameters, each at its place. */
void corpus_place(const struct corpus_args *a, unsigned int n, const unsigned int *offset,
		  unsigned char *to);

#endif
