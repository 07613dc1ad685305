// SPDX-License-Identifier: MIT
/* The accounts' text: what is written is read, and what was damaged takes nothing with it. */
#include "books.h"
#include "harness.h"
#include "ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct found {
	size_t batches, runs, devices, clients;
	struct gs_uses uses;
};

static void on_begin(uint64_t time, void *arg)
{
	(void)time;
	((struct found *)arg)->batches++;
}

static void on_run(const struct gs_run *run, void *arg)
{
	EXPECT_STREQ("9d8a", run->boot);
	EXPECT_EQ(77, run->started_ns);
	((struct found *)arg)->runs++;
}

static void on_device(const struct gs_stand *stand, void *arg)
{
	EXPECT_EQ(1, stand->id);
	EXPECT_EQ(4, stand->counters.overruns);
	((struct found *)arg)->devices++;
}

static void on_client(const struct gs_stand *stand, void *arg)
{
	EXPECT_EQ(~0ULL, stand->id);
	((struct found *)arg)->clients++;
}

static void on_use(const struct gs_use *use, void *arg)
{
	EXPECT_EQ(0, gs_uses_add(&((struct found *)arg)->uses, use));
}

static const struct gs_ledger_taker take = {
	.begin = on_begin, .run = on_run, .device = on_device, .client = on_client, .use = on_use,
};

static struct gs_use use_of(const char *user, const char *unit, const char *group, uint64_t held)
{
	struct gs_use u = { .time = 1800, .counters = { held, 2, 3, 4 }, .memory = 5 };

	strcpy(u.device, "cpu:0");
	strcpy(u.user, user);
	strcpy(u.unit, unit);
	strcpy(u.group, group);
	return u;
}

/* One batch with one use. */
static size_t batch(char *to, size_t room, const struct gs_use *use)
{
	struct gs_stand stand = { 1, { 1, 2, 3, 4 } };
	struct gs_run run = { "9d8a", 77 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	gs_ledger_begin(out, 1234567);
	gs_ledger_run(out, &run);
	gs_ledger_device(out, &stand);
	stand.id = ~0ULL;
	gs_ledger_client(out, &stand);
	gs_ledger_use(out, use);
	fflush(out);
	gs_ledger_end(out, text, size);
	fclose(out);
	ASSERT_LT(size, room);
	memcpy(to, text, size);
	free(text);
	return size;
}

TEST(what_is_written_is_read)
{
	static const char *const names[] = { "", "-", "a b", "\\", "\\040", "a\nuse 1", "\x01\x7f\t", "\xc3\xa4",
					     "\xff\xfe", "gpushare-usage 1 5\n", "end 0" };
	struct gs_use u, *got;
	struct found f = { 0 };
	char text[4096];
	size_t i, size;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		u = use_of("1000", names[i], names[i], i + 1);
		size = batch(text, sizeof(text), &u);
		EXPECT_EQ(0, gs_ledger_read(text, size, &take, &f));
		got = gs_uses_find(&f.uses, &u);
		ASSERT_TRUE(got);
		EXPECT_EQ(i + 1, got->counters.held_us);
		EXPECT_EQ(5, got->memory);
	}
	EXPECT_EQ(i, f.batches);
	EXPECT_EQ(i, f.runs);
	EXPECT_EQ(i, f.devices);
	EXPECT_EQ(i, f.clients);
	EXPECT_EQ(i, f.uses.nr);
	gs_uses_free(&f.uses);
}

/* Whatever a crash leaves of the batch in the middle: the others are there, once each. */
TEST(a_batch_is_whole_or_not_at_all)
{
	struct gs_use a = use_of("1", "", "/a", 10), b = use_of("2", "", "/b", 20), c = use_of("3", "", "/c", 30);
	char one[1024], two[1024], three[1024], text[4096];
	size_t n1 = batch(one, sizeof(one), &a), n2 = batch(two, sizeof(two), &b);
	size_t n3 = batch(three, sizeof(three), &c), cut, size, bad;
	struct found f;

	for (cut = 0; cut <= n2; cut++) {
		memcpy(text, one, n1);
		memcpy(text + n1, two, cut);
		size = n1 + cut;
		f = (struct found){ 0 };
		bad = gs_ledger_read(text, size, &take, &f);
		EXPECT_EQ(cut && cut < n2, bad);
		EXPECT_EQ(1 + (cut == n2), f.batches);
		gs_uses_free(&f.uses);
		/* As books.c goes on: with a line's end alone the last byte would be made good. */
		if (cut && cut < n2) {
			text[size++] = '?';
			text[size++] = '\n';
		}
		memcpy(text + size, three, n3);
		f = (struct found){ 0 };
		bad = gs_ledger_read(text, size + n3, &take, &f);
		EXPECT_EQ(cut && cut < n2, bad);
		EXPECT_EQ(2 + (cut == n2), f.batches);
		EXPECT_TRUE(gs_uses_find(&f.uses, &a) && gs_uses_find(&f.uses, &c));
		EXPECT_EQ(cut == n2, !!gs_uses_find(&f.uses, &b));
		gs_uses_free(&f.uses);
	}
}

/* Each byte changed to each of some others: nothing of it is believed. */
TEST(no_changed_byte_is_believed)
{
	struct gs_use a = use_of("1000", "x.service", "/a b", 12345);
	char text[1024];
	size_t i, k, size = batch(text, sizeof(text), &a);
	static const char others[] = "\0\n 09-\\ux\xff";
	struct found f;
	char was;

	for (i = 0; i < size; i++)
		for (k = 0; k < sizeof(others) - 1; k++) {
			was = text[i];
			if (was == others[k])
				continue;
			text[i] = others[k];
			f = (struct found){ 0 };
			EXPECT_LE(1, gs_ledger_read(text, size, &take, &f));
			EXPECT_EQ(0, f.batches);
			EXPECT_EQ(0, f.uses.nr);
			gs_uses_free(&f.uses);
			text[i] = was;
		}
}

/* With the right sum, but of nonsense: line by line, and no sum overflows into little. */
TEST(lines_of_nonsense)
{
	static const char *const lines[] = {
		"use", "use 1", "use x cpu:0 0 - / 1 2 3 4 5", "use 1 cpu:0 0 - / 1 2 3 4", "use 1 cpu:0 0 - / 1 2 3 4 5 6 7 8 9",
		"use 1 cpu:0 0 - / 01 2 3 4 5", "use 1 cpu:0 0 - / -1 2 3 4 5", "use 1 cpu:0 0 - / 18446744073709551616 2 3 4 5",
		"use 1 cpu:0 0 - /\\400 1 2 3 4 5", "use 1 cpu:0 0 - /\\000 1 2 3 4 5", "use 1 cpu:0 0 - /\\14 1 2 3 4 5",
		"use 1 cpu:0 0123456789012345678901234 - / 1 2 3 4 5", "use 1 cpu:0 0 - /\\101 1 2 3 4 5", "run", "run x",
		"device 1 2", "client 1 2 3 4 x", "nonsense 1 2 3 4 5", "", " ",
	};
	struct gs_use u = use_of("0", "", "/", 0), *got;
	struct found f = { 0 };
	char *text;
	size_t i, size;
	FILE *out = open_memstream(&text, &size);

	gs_ledger_begin(out, 1);
	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		fprintf(out, "%s\n", lines[i]);
	fputs("use 1800 cpu:0 0 - / 18446744073709551615 2 3 4 5\nuse 1800 cpu:0 0 - / 10 2 3 4 5\n", out);
	fflush(out);
	gs_ledger_end(out, text, size);
	fclose(out);
	EXPECT_EQ(i, gs_ledger_read(text, size, &take, &f));
	EXPECT_EQ(1, f.uses.nr);
	got = gs_uses_find(&f.uses, &u);
	ASSERT_TRUE(got);
	EXPECT_EQ(~0ULL, got->counters.held_us);
	EXPECT_EQ(4, got->counters.waited_us);
	gs_uses_free(&f.uses);
	free(text);
}

/* A user who makes groups without end fills its own room, and no other's. */
TEST(names_of_a_user_are_bounded)
{
	struct gs_uses uses = { 0 };
	struct gs_use u, other;
	char name[64];
	int i;

	for (i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "/user.slice/user-1000.slice/a-long-name-%d", i);
		u = use_of("1000", "", name, 1);
		ASSERT_EQ(0, gs_uses_add_bounded(&uses, &u));
	}
	EXPECT_LT(uses.nr, 1000);
	u = use_of("1000", "(more)", "(more)", 0);
	ASSERT_TRUE(gs_uses_find(&uses, &u));
	EXPECT_EQ(5000 - (uses.nr - 1), gs_uses_find(&uses, &u)->counters.held_us);
	other = use_of("1001", "", "/user.slice/user-1001.slice", 7);
	ASSERT_EQ(0, gs_uses_add_bounded(&uses, &other));
	ASSERT_TRUE(gs_uses_find(&uses, &other));
	gs_uses_free(&uses);
}

static char dir[] = "/tmp/gpushare-ledger.XXXXXX";

static uint64_t size_of_all(unsigned int *files)
{
	char path[512];
	uint64_t all = 0;
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(dir);

	*files = 0;
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (strstr(e->d_name, ".usage") && !stat(path, &st)) {
			all += st.st_size;
			++*files;
		}
	}
	closedir(d);
	return all;
}

static void remove_dir(void)
{
	char path[512];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		unlink(path);
	}
	closedir(d);
	rmdir(dir);
}

/*
 * A day of minutes is added up to one batch of each half hour's, and takes no more room
 * for it; the oldest days go; and a clock that goes back begins no file that would be
 * read as an older one.
 */
TEST(days_are_added_up_and_the_oldest_go)
{
	uint64_t day = 20000ULL * 86400, held = 0, t;
	char text[2048], forgot[16], name[512];
	unsigned int files, i, forgotten = 0;
	struct gs_books *books, *second;
	struct found f = { 0 };
	struct gs_use u;
	size_t size, bad;

	ASSERT_TRUE(mkdtemp(dir));
	ASSERT_EQ(0, gs_books_open(dir, 1 << 20, &books));
	EXPECT_EQ(-EWOULDBLOCK, gs_books_open(dir, 1 << 20, &second));
	for (i = 0; i < 3 * 288; i++) {
		t = day + i * 300ULL;
		u = use_of("1000", "x.service", "/a", 100);
		u.time = t - t % GS_USE_SPAN;
		size = batch(text, sizeof(text), &u);
		ASSERT_EQ(0, gs_books_write(books, t, text, size, forgot));
		EXPECT_EQ(0, *forgot);
		held += 100;
	}
	EXPECT_LT(size_of_all(&files), 2 * 288 * size);
	EXPECT_EQ(3, files);
	ASSERT_EQ(0, gs_books_read(dir, day, &take, &f, &bad, name, sizeof(name)));
	EXPECT_EQ(0, bad);
	EXPECT_EQ(3 * 48, f.uses.nr);
	for (i = 0, t = 0; i < f.uses.nr; i++)
		t += f.uses.items[i].counters.held_us;
	EXPECT_EQ(held, t);
	gs_uses_free(&f.uses);
	/* Back by two days: to the newest file. */
	ASSERT_EQ(0, gs_books_write(books, day, text, size, forgot));
	f = (struct found){ 0 };
	ASSERT_EQ(0, gs_books_last(books, &take, &f));
	EXPECT_LE(1, f.runs);
	size_of_all(&files);
	EXPECT_EQ(3, files);
	gs_uses_free(&f.uses);
	/* Many names a day: a MiB is full some time. */
	for (i = 0; i < 4000; i++) {
		t = day + (4 + i / 200) * 86400ULL;
		snprintf(name, 250, "/user.slice/%0230u", i);
		u = use_of("0", "a-unit-whose-name-is-one-of-the-longest-that-one-has-seen.service", name, 100);
		size = batch(text, sizeof(text), &u);
		ASSERT_EQ(0, gs_books_write(books, t, text, size, forgot));
		forgotten += !!*forgot;
	}
	EXPECT_LE(size_of_all(&files), 1 << 20);
	EXPECT_LT(5, files);
	EXPECT_LT(5, forgotten);
	gs_books_close(books);
	remove_dir();
}

/* Who crashed in the middle of a batch counts it anew: so it must not be made whole later. */
TEST(what_was_cut_short_stays_so)
{
	struct gs_use u = use_of("1000", "x.service", "/a", 100);
	char text[2048], path[512], name[512];
	struct gs_books *books;
	struct found f;
	unsigned int cut;
	size_t size, bad;

	ASSERT_TRUE(mkdtemp(dir));
	size = batch(text, sizeof(text), &u);
	snprintf(path, sizeof(path), "%s/1970-01-01.usage", dir);
	for (cut = 1; cut < size; cut += cut < 30 ? 1 : 50) {
		unlink(path);
		ASSERT_EQ(0, gs_books_open(dir, 1 << 20, &books));
		ASSERT_EQ(0, gs_books_write(books, 0, text, size, NULL));
		ASSERT_EQ(0, truncate(path, size - cut));
		ASSERT_EQ(0, gs_books_write(books, 0, text, size, NULL));
		gs_books_close(books);
		f = (struct found){ 0 };
		ASSERT_EQ(0, gs_books_read(dir, 0, &take, &f, &bad, name, sizeof(name)));
		EXPECT_EQ(1, f.batches);
		EXPECT_EQ(1, bad);
		gs_uses_free(&f.uses);
	}
	remove_dir();
}

TEST(any_bytes)
{
	struct gs_use a = use_of("1000", "x.service", "/a b", 12345);
	unsigned int seed = (unsigned int)getpid(), round;
	char text[8192], one[1024];
	size_t i, n, size = batch(one, sizeof(one), &a);
	struct found f;

	printf("# seed %u\n", seed);
	srand(seed);
	for (round = 0; round < 20000; round++) {
		n = 0;
		while (n < sizeof(text) - sizeof(one) && rand() % 8) {
			if (rand() % 2) {
				memcpy(text + n, one, size);
				n += size;
			} else {
				n += (size_t)rand() % 100;
			}
		}
		for (i = (size_t)rand() % 6; i && n; i--)
			text[(size_t)rand() % n] = (char)rand();
		f = (struct found){ 0 };
		gs_ledger_read(text, n, &take, &f);
		for (i = 0; i < f.uses.nr; i++)
			EXPECT_TRUE(!strcmp(f.uses.items[i].group, "/a b"));
		gs_uses_free(&f.uses);
	}
}

TEST_MAIN()
