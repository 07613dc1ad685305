// SPDX-License-Identifier: MIT
#include "corpus.h"

static uint64_t next(uint64_t *s)
{
	*s = *s * 6364136223846793005ull + 1442695040888963407ull;
	return *s ^ *s >> 29;
}

int corpus_data_make(struct corpus_data *d)
{
	int *in = calloc(1, CORPUS_BYTES);
	float *inf = calloc(1, CORPUS_BYTES);
	double *ind = calloc(1, CORPUS_BYTES);
	long long *inl = calloc(1, CORPUS_BYTES);
	uint64_t s = 20261120;
	int i;

	memset(d, 0, sizeof(*d));
	d->bufs = (struct corpus_bufs){ calloc(1, CORPUS_BYTES), in, inf, ind, inl };
	d->expect = calloc(1, CORPUS_BYTES);
	if (!in || !inf || !ind || !inl || !d->bufs.out || !d->expect)
		return -1;
	for (i = 0; i < CORPUS_BYTES / 4; i++) {
		in[i] = next(&s) % 1000;
		inf[i] = (float)(int)(next(&s) % 16001 - 8000) / 1000.0f;
	}
	for (i = 0; i < CORPUS_BYTES / 8; i++) {
		ind[i] = (double)(long)(next(&s) % 1600001 - 800000) / 100000.0;
		inl[i] = next(&s) << 20 ^ next(&s);
	}
	return 0;
}

void corpus_data_free(struct corpus_data *d)
{
	free(d->bufs.out);
	free((void *)d->bufs.in);
	free((void *)d->bufs.inf);
	free((void *)d->bufs.ind);
	free((void *)d->bufs.inl);
	free(d->expect);
}

struct corpus_run *corpus_next(struct corpus_run *r, const char *file, int cc)
{
	for (r = r ? r->next : corpus_runs; r; r = r->next)
		if (!strcmp(strrchr(r->file, '/') + 1, file) && !(r->flags & SM90 && cc < 90))
			return r;
	return NULL;
}

void corpus_expect(struct corpus_data *d, const struct corpus_run *r)
{
	struct corpus_bufs b = d->bufs;

	b.out = d->expect;
	if (!(r->flags & (NOREF | NOEXEC)))
		corpus_reference(r, &b);
}

char *corpus_read(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text;
	long n;

	if (!f)
		return NULL;
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = malloc(n + 1);
	if (text && fread(text, 1, n, f) == (size_t)n) {
		text[n] = 0;
		*len = n;
	}
	fclose(f);
	return text;
}

char *corpus_text(const struct corpus_run *r, int cc, size_t *len)
{
	const char *base = strrchr(r->file, '/');
	char path[200];

	base = base ? base + 1 : r->file;
	snprintf(path, sizeof(path), "build/corpus/ptx/sm_%d/%.*s.ptx", cc, (int)strcspn(base, "."),
		 base);
	return corpus_read(path, len);
}

/*
 * A driver takes PTX up to the version that its own toolkit writes: one of CUDA 12.4 up to
 * 8.4, and the corpus says 9.0. Nothing in it needs more than 8.3 (.pragma "used_bytes_mask"),
 * as tests/cpucuda/toolkit.sh asks the assembler.
 */
void corpus_suit(char *text, int driver)
{
	char *version = strstr(text, "\n.version 9.0\n");

	if (version && driver < 13000)
		memcpy(version, "\n.version 8.3\n", 14);
}

/* Relative, with a floor: results of several roundings, not of one. */
static bool near(double a, double b, double rel)
{
	double scale = fmax(fabs(a), fabs(b));

	return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= rel * fmax(scale, 0.01);
}

long corpus_differs(const struct corpus_run *r, const void *a, const void *b)
{
	long i;

	if (!memcmp(a, b, CORPUS_BYTES))
		return -1;
	if (r->flags & NEAR) {
		for (i = 0; i < CORPUS_BYTES / 4; i++)
			if (!near(((float *)a)[i], ((float *)b)[i], 2e-5))
				return i;
		return -1;
	}
	if (r->flags & NEARD) {
		for (i = 0; i < CORPUS_BYTES / 8; i++)
			if (!near(((double *)a)[i], ((double *)b)[i], 1e-12))
				return i;
		return -1;
	}
	for (i = 0; i < CORPUS_BYTES / 4; i++)
		if (((int *)a)[i] != ((int *)b)[i])
			return i;
	return -1;
}

void corpus_place(const struct corpus_args *a, unsigned int n, const unsigned int *offset,
		  unsigned char *to)
{
	int k;

	for (k = 0; k < a->n && (unsigned int)k < n; k++)
		memcpy(to + offset[k], a->bytes[k], a->size[k]);
}
