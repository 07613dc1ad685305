// SPDX-License-Identifier: MIT
/*
 * Broken PTX: the corpus with random damage from a fixed seed, and texts made to
 * be slow. Nothing may crash, hang, use more memory than allowed or come out as
 * something that isn't PTX. GSX_SEED and GSX_ROUNDS in the environment change the
 * run.
 */
#include <dirent.h>

#include "../damage.h"
#include "harness.h"
#include "hold.h"

#define MOST	(256 * 1024)

static const char *const words[] = {
	"{", "}", ";", ",", "(", ")", "[", "]", ".reg .b32 %r<9>;", "bar.sync 0;", "bar.red.or.pred %p1, 0, %p1;",
	"bar.sync %r1;", "%ctaid.x", "%nctaid", "%gridid", "%envreg1", "ret;", "exit;", "bra L;", "L:",
	"@%p1", "@!%p1 ret;", "brx.idx %r1, T;", "T: .branchtargets L, T;", "call f;", "call (%r1), f, (%r2);",
	".func f { ret; }", ".func f;", ".entry k { ret; }", ".section .debug_info {", ".loc 1 2 3\n", "//", "/*",
	"*/", "\"", "0x", "0f3F800000", "mov.v4.u32 {%r1,%r2,%r3,%r4}, %ctaid;", "shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;",
	".visible", ".weak", ".extern .func g;", ".param .b32 p;", ".align", "<", ">", "|", "!", "-", "+", "generic(",
	".version 9.0", ".target sm_90", "\0", "\377",
};

static struct damage chance = {
	.most = MOST, .longest = 2000, .words = words, .n_words = sizeof(words) / sizeof(words[0]),
};

static size_t read_text(const char *dir, const char *name, char *to)
{
	char path[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(to, 1, MOST, f);
	fclose(f);
	return n < MOST ? n : 0;
}

/* One function from somewhere in the text, so that damage hits what matters. */
static size_t cut_out(char *t, size_t n)
{
	char *end, *start = t + draw(&chance, n);

	t[n] = 0;
	while (start > t && strncmp(start, "\n.visible .entry", 16))
		start--;
	end = *start == '\n' ? strstr(start, "\n}\n") : NULL;
	if (!end)
		return n;
	memmove(t + 45, start, end + 3 - start);
	memcpy(t, ".version 9.0\n.target sm_90\n.address_size 64\n  ", 45);
	return 45 + (end + 3 - start);
}

static int is_ptx(const struct dirent *d)
{
	return strstr(d->d_name, ".ptx") != NULL;
}

TEST_LIMIT(random_damage, 300)
{
	const char *dir = "build/corpus/ptx/sm_90";
	int rounds = getenv("GSX_ROUNDS") ? atoi(getenv("GSX_ROUNDS")) : 4000;
	static char original[MOST + 1], text[MOST + 64];
	struct dirent **entry;
	int i, k, f, files;
	size_t n, len;

	chance.state = getenv("GSX_SEED") ? strtoull(getenv("GSX_SEED"), NULL, 0) : 20261120;
	printf("# seed %llu, %d rounds\n", (unsigned long long)chance.state, rounds);
	files = scandir(dir, &entry, is_ptx, alphasort);
	if (files < 0)
		SKIP("%s isn't there", dir);
	for (f = 0; f < files; f++) {
		n = read_text(dir, entry[f]->d_name, original);
		for (i = 0; n && i < rounds / files; i++) {
			memcpy(text, original, n);
			len = draw(&chance, 20) ? cut_out(text, n) : n;
			for (k = draw(&chance, 6) + 1; k; k--)
				len = damage(&chance, text, len);
			if (!holds(text, len)) {
				test_fail("%s, round %d", entry[f]->d_name, i);
				fwrite(text, 1, len, stdout);
				return;
			}
		}
	}
}

static char big[4 << 20];

static void fill(const char *head, const char *piece, const char *tail)
{
	size_t n = strlen(piece), at = sprintf(big, "%s", head);
	int number = 0;

	while (at + n + 64 < sizeof(big) - strlen(tail)) {
		at += sprintf(big + at, piece, number, number, number);
		number++;
	}
	strcpy(big + at, tail);
}

#define HEAD	".version 8.3\n.target sm_90\n.address_size 64\n"
#define BODY	".entry k { .reg .b32 %%r<9>; .reg .pred %%p<9>; mov.u32 %%r1, %%tid.x;\n"
#define PLAIN	".entry k { .reg .b32 %r<9>; .reg .pred %p<9>; mov.u32 %r1, %tid.x;\n"
#define WIDE	".reg .b64 %rd<9>;\n"

/* 4 MiB each; a result or a refusal, but soon. */
static void soon(const char *head, const char *piece, const char *tail)
{
	struct gsx_options opt = { .modes = GSX_ALL_MODES };
	struct gsx_result r;
	int err;

	fill(head, piece, tail);
	err = gsx_ptx_transform(big, strlen(big), &opt, &r);
	EXPECT_TRUE(!err || err == -EINVAL || err == -E2BIG);
	if (err)
		printf("# %.100s\n", r.error);
	gsx_result_free(&r);
}

TEST_LIMIT(texts_made_to_be_slow, 120)
{
	/* branches that part threads, each with the rest of the kernel behind it */
	soon(HEAD PLAIN, "setp.eq.u32 %%p1, %%r1, %d;\n@%%p1 bra L%d;\nbar.sync 0;\nL%d:\n", "ret; }\n");
	/* loops around loops, left by some */
	soon(HEAD PLAIN "bar.sync 0;\n", "L%d: add.u32 %%r1, %%r1, 1;\nsetp.eq.u32 %%p1, %%r1, 0;\n"
	     "@%%p1 bra L%d;\n", "bra L0;\n}\n");
	/* a chain of copies, written from its end */
	soon(HEAD PLAIN ".reg .b64 %d<999999>; bar.sync 0;\n", "mov.u64 %%d%d, %%d1%d;\n", "ret; }\n");
	/* functions that call the one before, and kernels that call all */
	soon(HEAD ".func f0 { bar.sync 0; ret; }\n", ".func g%d { call f0; call g%d; ret; }\n"
	     ".entry k%d { call f0; ret; }\n", "");
	/* scopes that declare the same names */
	soon(HEAD PLAIN, "{ .reg .b32 %%r<9>; .reg .b32 x; mov.u32 %%r1, %%r%d; }\n", "ret; }\n");
	/* ranges of one prefix, on and on */
	soon(HEAD PLAIN, ".reg .b32 %%r<%d>;\nmov.u32 %%r%d, %%r1;\n", "ret; }\n");
	/* labels that nobody knows */
	soon(HEAD PLAIN, "bra L%d;\n", "ret; }\n");
	soon(HEAD PLAIN "bar.sync 0;\nT: .branchtargets L0", ", L%d", ";\nL0: brx.idx %r1, T; ret; }\n");
	soon(HEAD PLAIN, "mov.u32 %%r1, %%ctaid.x;\n", "ret; }\n");
	soon(HEAD, ".global .u32 v%d = %d;\n", "");
	soon(HEAD, ".entry k%d { ret; }\n", "");
	soon(HEAD, "%d", "");
	soon(HEAD ".global .u32 a[] = {", "%d,", "1};\n");
}

/* Exchanges that are tried again, tickets, and places that are looked for, all in one loop. */
TEST_LIMIT(loops_made_to_be_slow, 120)
{
	soon(HEAD PLAIN WIDE "W: mov.u32 %r2, %r1;\nadd.u32 %r3, %r2, 1;\n", "atom.global.cas.b32 "
	     "%%r1, [%%rd1+%d], %%r2, %%r3;\nsetp.ne.u32 %%p1, %%r1, %%r2;\n@%%p1 bra W;\n",
	     "ret; }\n");
	soon(HEAD PLAIN WIDE "W:\n", "atom.global.add.u32 %%r1, [%%rd1+%d], 1;\n"
	     "setp.lt.u32 %%p1, %%r1, %d;\n@%%p1 bra W;\n", "ret; }\n");
	soon(HEAD PLAIN WIDE "W: add.u32 %r2, %r2, 1;\ncvt.u64.u32 %rd2, %r2;\n", "atom.global.cas.b32 "
	     "%%r1, [%%rd2+%d], 0, 1;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra W;\n", "ret; }\n");
}

TEST_MAIN()
