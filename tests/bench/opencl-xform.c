// SPDX-License-Identifier: MIT
/*
 * How fast OpenCL C is transformed, all modes, on one core: over the corpus, program by
 * program as a host does it. CPU time, the best of several runs, as machines are noisy,
 * and instructions for each byte, which don't depend on the machine.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gsopencl.h>

#define MOST_FILES	512
#define MOST_ASKED	256

struct program {
	char *s;
	size_t len;
	struct gsx_cl_source src;	/* preprocessed */
	struct gsx_cl_macro macros[MOST_ASKED];
	uint32_t n_macros;
};

static struct program programs[MOST_FILES];
static size_t n_programs;

static double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int preprocess(struct program *p, struct gsx_cl_source *src)
{
	const struct gsx_cl_cpp_options opt = { .macros = p->macros, .n_macros = p->n_macros };

	return gsx_cl_preprocess(p->s, p->len, &opt, src);
}

/* Reads a program and gives its questions the answer of a device without macros. */
static void load(const char *path)
{
	struct program *p = &programs[n_programs];
	FILE *f = fopen(path, "r");
	uint32_t i;
	int err;

	if (!f)
		return;
	p->s = malloc(1 << 20);
	p->len = p->s ? fread(p->s, 1, 1 << 20, f) : 0;
	fclose(f);
	while ((err = preprocess(p, &p->src)) == -EAGAIN) {
		for (i = 0; i < p->src.n_questions && p->n_macros < MOST_ASKED; i++)
			p->macros[p->n_macros++].name = strdup(p->src.questions[i]);
		gsx_cl_source_free(&p->src);
	}
	if (err)
		printf("# %s: %s\n", path, p->src.error ? p->src.error : strerror(-err));
	else
		n_programs++;
}

static void load_all(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[300];

	while (d && (e = readdir(d)) && n_programs < MOST_FILES) {
		if (!strstr(e->d_name, ".cl"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		load(path);
	}
	if (d)
		closedir(d);
}

static void transform_all(void)
{
	struct gsx_cl_result r;
	size_t i;

	for (i = 0; i < n_programs; i++) {
		gsx_cl_transform(programs[i].src.text, programs[i].src.len, NULL, &r);
		gsx_cl_result_free(&r);
	}
}

static void preprocess_all(void)
{
	struct gsx_cl_source src;
	size_t i;

	for (i = 0; i < n_programs; i++) {
		preprocess(&programs[i], &src);
		gsx_cl_source_free(&src);
	}
}

static double best_of(void (*what)(void))
{
	double best = 1e9, t;
	int i;

	for (i = 0; i < 15; i++) {
		t = cpu_now();
		what();
		t = cpu_now() - t;
		best = t < best ? t : best;
	}
	return best;
}

/* Instructions of one transform_all(), from the difference of two runs; -1: no valgrind. */
static double instructions(const char *self)
{
	char cmd[512], line[256], *at;
	double count[2];
	FILE *f;
	int i;

	for (i = 0; i < 2; i++) {
		count[i] = -1;
		snprintf(cmd, sizeof(cmd), "valgrind --tool=callgrind "
			 "--callgrind-out-file=/dev/null %s %u 2>&1", self, i ? 6 : 1);
		f = popen(cmd, "r");
		while (f && fgets(line, sizeof(line), f)) {
			at = strstr(line, "Collected : ");
			if (at)
				count[i] = strtod(at + 12, NULL);
		}
		if (!f || pclose(f) || count[i] < 0)
			return -1;
	}
	return (count[1] - count[0]) / 5;
}

static int report(const char *name, double value, const char *unit, double target, int more)
{
	int ok = more ? value >= target : value <= target;

	printf("bench %s %.2f %s %s%g %s\n", name, value, unit, more ? ">=" : "<=", target,
	       ok ? "ok" : "short");
	return !ok;
}

int main(int argc, char **argv)
{
	size_t i, bytes = 0, source = 0;
	double t, n;
	int rc, k;

	load_all("tests/corpus/opencl");
	if (!n_programs) {
		printf("# no corpus in tests/corpus/opencl\n");
		return 1;
	}
	if (argc > 1) {
		for (k = atoi(argv[1]); k > 0; k--)
			transform_all();
		return 0;
	}
	for (i = 0; i < n_programs; i++) {
		bytes += programs[i].src.len;
		source += programs[i].len;
	}
	printf("# %zu programs, %zu bytes, %zu when preprocessed\n", n_programs, source, bytes);
	t = best_of(transform_all);
	rc = report("opencl.xform.throughput", bytes / t / 1e6, "MB/s", 20, 1);
	t += best_of(preprocess_all);
	rc |= report("opencl.xform.with-preprocessor", source / t / 1e6, "MB/s", 20, 1);
	n = instructions(argv[0]);
	if (n < 0)
		printf("# valgrind isn't there: no instruction counts\n");
	else
		rc |= report("opencl.xform.instructions", n / bytes, "per byte", 350, 0);
	return rc;
}
