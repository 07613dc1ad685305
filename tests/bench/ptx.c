// SPDX-License-Identifier: MIT
/*
 * How fast PTX is transformed, all modes, on one core: over the corpus, and its
 * biggest module. CPU time, the best of several runs, as machines are noisy.
 */
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

static double run(const struct text *t)
{
	struct gsx_result r;
	double start = cpu_now();

	if (gsx_ptx_transform(t->s, t->len, NULL, &r))
		fprintf(stderr, "%s: %s\n", t->path, r.error);
	gsx_result_free(&r);
	return cpu_now() - start;
}

static int report(const char *name, double value, const char *unit, double target, int more)
{
	int ok = more ? value >= target : value <= target;

	printf("bench %s %.2f %s %s%g %s\n", name, value, unit, more ? ">=" : "<=", target,
	       ok ? "ok" : "short");
	return !ok;
}

int main(void)
{
	double all = 1e9, biggest = 1e9, s;
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
		for (s = 0, i = 0; i < n_texts; i++)
			s += run(&texts[i]);
		all = s < all ? s : all;
		s = run(&texts[big]);
		biggest = s < biggest ? s : biggest;
	}
	printf("# %zu modules, %zu bytes; the biggest is %s, %zu bytes\n", n_texts, bytes,
	       texts[big].path, texts[big].len);
	rc = report("ptx.throughput", bytes / all / 1e6, "MB/s", 50, 1);
	rc |= report("ptx.biggest", biggest * 1e3, "ms", 100, 0);
	return rc;
}
