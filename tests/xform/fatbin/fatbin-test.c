// SPDX-License-Identifier: MIT
/*
 * The fat binary reader and writer: on containers that nvcc wrote, against the
 * zstd and lz4 tools where they are there, and on damaged bytes of all kinds.
 */
#include <errno.h>
#include "harness.h"
#include "gsfatbin.h"
#include "xform/fatbin/unpack.h"

#define SEED 20261120u
#define MAX (64u << 20)

static uint64_t state = SEED;

static uint32_t rnd(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static uint8_t *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p = malloc(8 << 20);

	ASSERT_TRUE(f != NULL);
	ASSERT_TRUE(p != NULL);
	*len = fread(p, 1, 8 << 20, f);
	fclose(f);
	return p;
}

static uint8_t *sample(const char *name, size_t *len)
{
	char path[200];

	snprintf(path, sizeof(path), "tests/corpus/fatbin/%s.fatbin", name);
	return slurp(path, len);
}

struct expect { const char *file; unsigned int entry, kind, arch; const char *options, *has; };
static const struct expect expected[] = {
	{ "default", 0, GSX_FAT_PTX, 75, " --fmad false ", ".entry switch_dense(" },
	{ "raw", 0, GSX_FAT_PTX, 75, " --fmad false ", ".entry switch_dense(" },
	{ "options", 0, GSX_FAT_PTX, 75, " --fmad false -maxrregcount=40 --generate-line-info ",
	  ".entry bounded(" },
	{ "debug", 0, GSX_FAT_PTX, 75,
	  " --fmad false -g --dont-merge-basicblocks --return-at-end ", ".section" },
	{ "relocatable", 0, GSX_FAT_PTX, 75, "--compile-only  --fmad false ", "func_recursive" },
	{ "several", 0, GSX_FAT_PTX, 75, " --fmad false ", ".target sm_75" },
	{ "several", 1, GSX_FAT_CUBIN, 75, "", NULL },
	{ "several", 2, GSX_FAT_PTX, 90, " --fmad false ", ".target sm_90" },
	{ "several", 3, GSX_FAT_CUBIN, 90, "", NULL },
	{ "size", 0, GSX_FAT_CUBIN, 75, "", NULL },
	{ "size", 1, GSX_FAT_PTX, 75, " --fmad false ", ".entry bounded(" },
	{ "cubin", 0, GSX_FAT_CUBIN, 75, "", NULL },
};

TEST(containers_of_nvcc)
{
	struct gsx_fat_entry e;
	struct gsx_fat f;
	size_t len, n;
	unsigned int i, k;
	uint8_t *p;
	char *text;

	for (i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const struct expect *x = &expected[i];

		p = sample(x->file, &len);
		ASSERT_EQ(0, gsx_fat_open(&f, p, len));
		for (k = 0; k <= x->entry; k++)
			ASSERT_EQ(1, gsx_fat_next(&f, &e));
		EXPECT_EQ(x->kind, e.kind);
		EXPECT_EQ(x->arch, e.arch);
		EXPECT_EQ(strlen(x->options), e.options_len);
		EXPECT_EQ(0, memcmp(x->options, e.options, e.options_len));
		ASSERT_EQ(0, gsx_fat_unpack(&e, MAX, &text, &n));
		if (x->kind == GSX_FAT_PTX) {
			EXPECT_EQ(strlen(text), n);
			EXPECT_TRUE(strstr(text, x->has));
			EXPECT_TRUE(strstr(text, ".version 9.0"));
		} else {
			EXPECT_EQ(0, memcmp(text, "\177ELF", 4));
		}
		free(text);
		free(p);
	}
}

TEST(packed_and_raw_hold_the_same)
{
	struct gsx_fat_entry e;
	size_t len[2], i, n;
	struct gsx_fat f;
	char *text[2];
	uint8_t *p;

	for (i = 0; i < 2; i++) {
		p = sample(i ? "raw" : "default", &n);
		ASSERT_EQ(0, gsx_fat_open(&f, p, n));
		ASSERT_EQ(1, gsx_fat_next(&f, &e));
		EXPECT_EQ(i ? 0 : GSX_FAT_ZSTD, e.flags & (GSX_FAT_ZSTD | GSX_FAT_LZ4));
		ASSERT_EQ(0, gsx_fat_unpack(&e, MAX, &text[i], &len[i]));
		EXPECT_EQ(0, gsx_fat_next(&f, &e));
	}
	EXPECT_EQ(len[0], len[1]);
	EXPECT_STREQ(text[0], text[1]);
}

TEST(found_in_the_middle_of_a_file)
{
	struct gsx_fat f;
	size_t len[2], at = 0;
	uint8_t *p[2], *file;

	p[0] = sample("options", &len[0]);
	p[1] = sample("size", &len[1]);
	file = calloc(1, len[0] + len[1] + 300);
	memcpy(file + 100, p[0], len[0]);
	memcpy(file + 120 + len[0], "\x50\xed\x55\xba", 4);	/* the magic alone is none */
	memcpy(file + 200 + len[0], p[1], len[1]);
	ASSERT_EQ(1, gsx_fat_find(file, len[0] + len[1] + 300, &at, &f));
	EXPECT_TRUE(f.base == file + 100);
	EXPECT_EQ(len[0], f.len);
	ASSERT_EQ(1, gsx_fat_find(file, len[0] + len[1] + 300, &at, &f));
	EXPECT_EQ(len[1], f.len);
	EXPECT_EQ(0, gsx_fat_find(file, len[0] + len[1] + 300, &at, &f));
}

TEST(what_is_written_is_read_back)
{
	static const char ptx[] = ".version 9.0\n.target sm_75\n.address_size 64\n";
	struct gsx_fat_entry e[2] = {
		{ GSX_FAT_PTX, 9, 0, 75, GSX_FAT_64BIT | GSX_FAT_LINUX, "a.cu", 4,
		  " -maxrregcount=32 ", 18, ptx, sizeof(ptx) - 1, sizeof(ptx) - 1 },
		{ GSX_FAT_PTX, 8, 7, 90, GSX_FAT_64BIT | GSX_FAT_SUFFIX_A, "", 0, "", 0, ptx, 40, 40 },
	}, r;
	struct gsx_fat f;
	size_t len, n, i;
	void *out;
	char *text;

	ASSERT_EQ(0, gsx_fat_write(e, 2, &out, &len));
	EXPECT_EQ(0, len % 8);
	EXPECT_EQ(len, gsx_fat_length(out));
	ASSERT_EQ(0, gsx_fat_open(&f, out, len));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, gsx_fat_next(&f, &r));
		EXPECT_EQ(e[i].arch, r.arch);
		EXPECT_EQ(e[i].major, r.major);
		EXPECT_EQ(e[i].minor, r.minor);
		EXPECT_TRUE(e[i].flags == r.flags);
		EXPECT_EQ(e[i].name_len, r.name_len);
		EXPECT_EQ(e[i].options_len, r.options_len);
		EXPECT_EQ(0, memcmp(e[i].options, r.options, r.options_len));
		ASSERT_EQ(0, gsx_fat_unpack(&r, MAX, &text, &n));
		EXPECT_EQ(e[i].stored, n);
		EXPECT_EQ(0, memcmp(text, ptx, n));
		free(text);
	}
	EXPECT_EQ(0, gsx_fat_next(&f, &r));
	e[0].flags |= GSX_FAT_ZSTD;	/* the writer doesn't pack, so it must not say so */
	EXPECT_EQ(-EINVAL, gsx_fat_write(e, 2, &out, &len));
}

TEST(hostile_headers_are_refused_with_a_word)
{
	static const struct { size_t at; uint8_t byte; const char *word; } bad[] = {
		{ 0x0c, 0xff, "claims" }, { 0x12, 7, "version" }, { 0x17, 0xff, "past the end" },
		{ 0x1f, 0xff, "past the end" }, { 0x24, 0xff, "outside" }, { 0x27, 0xff, "outside" },
		{ 0x31, 0xff, "name" }, { 0x37, 0xff, "name" }, { 0x22, 0xff, "compressed" },
		{ 0x61, 0xff, "options" }, { 0x66, 0xff, "options" },
	};
	struct gsx_fat_entry e;
	struct gsx_fat f;
	size_t len, i;
	uint8_t *p;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		p = sample("options", &len);
		p[bad[i].at] = bad[i].byte;
		if (!gsx_fat_open(&f, p, len))
			EXPECT_EQ(-EBADMSG, gsx_fat_next(&f, &e));
		if (!strstr(f.error, bad[i].word))
			test_fail("byte %zx: \"%s\" lacks \"%s\"", bad[i].at, f.error, bad[i].word);
		free(p);
	}
	EXPECT_EQ(-EINVAL, gsx_fat_open(&f, "short", 5));
}

TEST(sizes_are_bounded_by_the_caller)
{
	struct gsx_fat_entry e;
	struct gsx_fat f;
	size_t len, n;
	uint8_t *p = sample("options", &len);
	char *text;

	p[0x10 + 56 + 4] = 0x10;	/* claims 64 GiB once unpacked */
	ASSERT_EQ(0, gsx_fat_open(&f, p, len));
	ASSERT_EQ(1, gsx_fat_next(&f, &e));
	EXPECT_EQ(-EFBIG, gsx_fat_unpack(&e, MAX, &text, &n));
	p[0x10 + 56 + 4] = 0;
	p[0x10 + 56]--;			/* one less than comes out */
	ASSERT_EQ(0, gsx_fat_open(&f, p, len));
	ASSERT_EQ(1, gsx_fat_next(&f, &e));
	EXPECT_EQ(-EBADMSG, gsx_fat_unpack(&e, MAX, &text, &n));
	p[0x10 + 56] += 2;		/* one more */
	ASSERT_EQ(0, gsx_fat_open(&f, p, len));
	ASSERT_EQ(1, gsx_fat_next(&f, &e));
	EXPECT_EQ(-EBADMSG, gsx_fat_unpack(&e, MAX, &text, &n));
}

/* Reads all that a container says it has; never mind what comes out. */
static void read_all(const uint8_t *p, size_t len)
{
	struct gsx_fat_entry e;
	struct gsx_fat f;
	size_t n;
	char *text;

	if (gsx_fat_open(&f, p, len))
		return;
	while (gsx_fat_next(&f, &e) == 1)
		if (!gsx_fat_unpack(&e, 4 << 20, &text, &n))
			free(text);
}

TEST_LIMIT(damaged_containers, 300)
{
	static const char *const names[] = { "default", "options", "several", "size", "relocatable" };
	unsigned int i, k, rounds = getenv("FULL") ? 40000 : 4000;
	uint8_t *p, *copy;
	size_t len;

	printf("# seed %u\n", SEED);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		p = sample(names[i], &len);
		for (k = 0; k < rounds; k++) {
			/* of its own size, so that the sanitizers see each byte beyond */
			size_t cut = rnd(3) ? len : rnd(len) + 1;
			unsigned int hits = 1 + rnd(4);

			copy = malloc(cut);
			memcpy(copy, p, cut);
			while (hits--)
				copy[rnd(4) ? rnd(cut) : rnd(cut < 300 ? cut : 300)] = rnd(256);
			read_all(copy, cut);
			free(copy);
		}
		free(p);
	}
}

/* Texts of several kinds, to press all paths of the packers. */
static void make_text(uint8_t *p, size_t n, unsigned int kind)
{
	static const char *const words[] = { "ld.param.u64 ", "%rd1, ", "[a_param_0];\n\t", "add.s32 ",
		"%r17, ", "bra $L__BB0_2;\n", "mov.u32 ", "%ctaid.x;\n" };
	size_t i = 0, k;

	for (; i < n; i++) {
		if (kind == 2) {
			const char *w = words[rnd(8)];

			for (k = 0; w[k] && i + k < n; k++)
				p[i + k] = w[k];
			i += k - 1;
		} else if (kind == 0) {
			p[i] = rnd(256);
		} else if (kind == 1) {
			p[i] = i / 1000;
		} else if (rnd(10)) {
			p[i] = 'a' + rnd(3);
		} else {
			p[i] = i > 20 && rnd(2) ? p[i - 1 - rnd(19)] : (int)rnd(256);
		}
	}
}

static size_t through(const char *command, const uint8_t *in, size_t n, uint8_t *out, size_t cap)
{
	char line[300], dir[] = "/tmp/gs-fatbin-XXXXXX", path[2][64];
	size_t got = 0;
	FILE *f;

	ASSERT_TRUE(mkdtemp(dir) != NULL);
	snprintf(path[0], 64, "%s/in", dir);
	snprintf(path[1], 64, "%s/out", dir);
	f = fopen(path[0], "wb");
	fwrite(in, 1, n, f);
	fclose(f);
	snprintf(line, sizeof(line), "%s <%s >%s 2>/dev/null", command, path[0], path[1]);
	if (!system(line)) {
		f = fopen(path[1], "rb");
		got = fread(out, 1, cap, f);
		fclose(f);
	}
	unlink(path[0]);
	unlink(path[1]);
	rmdir(dir);
	return got;
}

TEST_LIMIT(zstd_against_the_tool, 300)
{
	static const char *const how[] = { "zstd -c -1", "zstd -c -3 --no-check", "zstd -c -9",
		"zstd -c -19", "zstd -c --fast=5" };
	static const size_t sizes[] = { 0, 1, 7, 300, 5000, 70000, 400000 };
	uint8_t *in = malloc(1 << 20), *packed = malloc(2 << 20), *out = malloc(1 << 20);
	unsigned int kind, h, s;
	size_t n, got;

	if (system("command -v zstd >/dev/null"))
		SKIP("no zstd tool");
	for (kind = 0; kind < 4; kind++)
		for (s = 0; s < 7; s++)
			for (h = 0; h < 5; h++) {
				make_text(in, sizes[s], kind);
				n = through(how[h], in, sizes[s], packed, 2 << 20);
				ASSERT_GT(n, 0);
				got = 1;
				EXPECT_EQ(0, gsx_zstd(packed, n, out, sizes[s], &got));
				EXPECT_EQ(sizes[s], got);
				EXPECT_EQ(0, memcmp(in, out, sizes[s]));
				if (!sizes[s])
					continue;
				EXPECT_NE(0, gsx_zstd(packed, n, out, sizes[s] - 1, &got));
				if (h == 1 || !h)
					EXPECT_NE(0, gsx_zstd(packed, n - 1, out, 1 << 20, &got));
			}
}

TEST(zstd_notices_a_wrong_checksum)
{
	uint8_t in[3000], packed[4000], out[3000];
	size_t n, got;

	if (system("command -v zstd >/dev/null"))
		SKIP("no zstd tool");
	make_text(in, sizeof(in), 2);
	n = through("zstd -c --check", in, sizeof(in), packed, sizeof(packed));
	ASSERT_GT(n, 8);
	EXPECT_EQ(0, gsx_zstd(packed, n, out, sizeof(out), &got));
	packed[n - 1] ^= 1;
	EXPECT_EQ(-EBADMSG, gsx_zstd(packed, n, out, sizeof(out), &got));
}

TEST(lz4_against_the_tool)
{
	static const size_t sizes[] = { 20, 300, 5000, 60000 };
	uint8_t *in = malloc(1 << 20), *packed = malloc(2 << 20), *out = malloc(1 << 20);
	unsigned int kind, s;
	uint32_t block;
	size_t n, got;

	if (system("command -v lz4 >/dev/null"))
		SKIP("no lz4 tool");
	for (kind = 1; kind < 4; kind++)
		for (s = 0; s < 4; s++) {
			make_text(in, sizes[s], kind);
			n = through("lz4 -c -9 -B4 --no-frame-crc", in, sizes[s], packed, 2 << 20);
			ASSERT_GT(n, 11);
			memcpy(&block, packed + 7, 4);	/* behind a frame's header of 7 bytes */
			if (block >> 31)
				continue;		/* didn't pack */
			ASSERT_LE(block + 11, n);
			EXPECT_EQ(0, gsx_lz4(packed + 11, block, out, sizes[s], &got));
			EXPECT_EQ(sizes[s], got);
			EXPECT_EQ(0, memcmp(in, out, sizes[s]));
			EXPECT_EQ(-ENOSPC, gsx_lz4(packed + 11, block, out, sizes[s] - 1, &got));
		}
}

TEST(lz4_by_hand)
{
	/* three literals, a match of 9 that runs over itself, two literals */
	static const uint8_t in[] = { 0x35, 'a', 'b', 'c', 3, 0, 0x20, 'x', 'y' };
	uint8_t out[32];
	size_t got;

	ASSERT_EQ(0, gsx_lz4(in, sizeof(in), out, sizeof(out), &got));
	EXPECT_EQ(14, got);
	EXPECT_EQ(0, memcmp(out, "abcabcabcabcxy", 14));
	EXPECT_EQ(-EBADMSG, gsx_lz4((const uint8_t *)"\x10" "a\x05\x00", 4, out, 32, &got));
	EXPECT_EQ(-EBADMSG, gsx_lz4((const uint8_t *)"\xf0\xff\xff", 3, out, 32, &got));
}

TEST_MAIN()
