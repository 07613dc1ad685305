// SPDX-License-Identifier: MIT
/*
 * How fast PTX is transformed, all modes, on one core: over the corpus, and its
 * biggest module. CPU time, the best of several runs. What a second of CPU time does
 * varies threefold with what else the machine does, so the targets are against a
 * yardstick of the same kind, measured by turns with it: the words of the same texts,
 * each kept in a hash table, once. MB/s are printed beside, without a target. And what
 * maps add to it (gsmaps.h), in hundredths.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gsxform.h>

struct text {
	char *s, path[300];
	size_t len;
};

static struct text texts[512];
static size_t n_texts;

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void load(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct text *t;
	FILE *f;

	while (d && (e = readdir(d)) && n_texts < 512) {
		t = &texts[n_texts];
		if (!strstr(e->d_name, ".ptx"))
			continue;
		snprintf(t->path, sizeof(t->path), "%s/%s", dir, e->d_name);
		f = fopen(t->path, "r");
		if (!f)
			continue;
		t->s = malloc(16 << 20);
		t->len = t->s ? fread(t->s, 1, 16 << 20, f) : 0;
		fclose(f);
		n_texts += t->len > 0;
	}
	if (d)
		closedir(d);
}

static double run(const struct text *t, bool maps)
{
	struct gsx_options opt = { .modes = GSX_ALL_MODES, .maps = maps };
	struct gsx_result r;
	double start = cpu_now();

	if (gsx_ptx_transform(t->s, t->len, &opt, &r))
		fprintf(stderr, "%s: %s\n", t->path, r.error);
	gsx_result_free(&r);
	return cpu_now() - start;
}

/* Returns the seconds that it takes to keep the text's words. */
static double words(const struct text *t)
{
	struct word {
		struct word *next;
		size_t len;
		char s[];
	} *table[1024] = { 0 }, *w;
	const char *p = t->s, *end = t->s + t->len, *from;
	double start = cpu_now();
	uint32_t h;

	for (; p < end; p++) {
		for (from = p, h = 0; p < end && (isalnum((unsigned char)*p) || *p == '_'); p++)
			h = h * 31 + (unsigned char)*p;
		for (w = table[h % 1024]; w; w = w->next)
			if (w->len == (size_t)(p - from) && !memcmp(w->s, from, w->len))
				break;
		if (w || p == from)
			continue;
		w = malloc(sizeof(*w) + (p - from));
		if (!w)
			break;
		w->len = p - from;
		memcpy(w->s, from, w->len);
		w->next = table[h % 1024];
		table[h % 1024] = w;
	}
	for (h = 0; h < 1024; h++) {
		while ((w = table[h])) {
			table[h] = w->next;
			free(w);
		}
	}
	return cpu_now() - start;
}

static int report(const char *name, double value, const char *unit, double target)
{
	int ok = value <= target;

	printf("bench %s %.2f %s <=%g %s\n", name, value, unit, target, ok ? "ok" : "short");
	return !ok;
}

int main(void)
{
	double all = 1e9, biggest = 1e9, all_words = 1e9, big_words = 1e9, mapped = 1e9;
	double s, sw, sm, w;
	size_t i, bytes = 0, big = 0;
	int k, rc;

	load("build/corpus/ptx/sm_75");
	load("build/corpus/ptx/sm_90");
	if (!n_texts) {
		printf("# no corpus in build/corpus/ptx\n");
		return 1;
	}
	for (i = 0; i < n_texts; i++) {
		bytes += texts[i].len;
		big = texts[i].len > texts[big].len ? i : big;
	}
	for (k = 0; k < 9; k++) {
		for (s = 0, sw = 0, sm = 0, i = 0; i < n_texts; i++) {
			double one = run(&texts[i], false);

			w = words(&texts[i]);
			s += one;
			sw += w;
			sm += run(&texts[i], true);
			if (i != big)
				continue;
			biggest = one < biggest ? one : biggest;
			big_words = w < big_words ? w : big_words;
		}
		all = s < all ? s : all;
		all_words = sw < all_words ? sw : all_words;
		mapped = sm < mapped ? sm : mapped;
	}
	printf("# %zu modules, %zu bytes; the biggest is %s, %zu bytes\n", n_texts, bytes,
	       texts[big].path, texts[big].len);
	printf("# %.2f MB/s, its words' table %.2f MB/s; the biggest module in %.2f ms\n",
	       bytes / all / 1e6, bytes / all_words / 1e6, biggest * 1e3);
	rc = report("ptx.transform", all / all_words, "tables", 7);
	rc |= report("ptx.biggest", biggest / big_words, "tables", 7);
	rc |= report("ptx.maps", 100 * (mapped / all - 1), "%", 5);
	return rc;
}
