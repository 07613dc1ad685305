// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "harness.h"
#include "wrap/launch/cache.h"

static char dir[64];

static void key_of(uint8_t key[GS_SHA256_BYTES], uint64_t n)
{
	struct gs_sha256 sha;

	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, &n, sizeof(n));
	gs_sha256_end(&sha, key);
}

static void set_up(void)
{
	strcpy(dir, "/tmp/gpushare-cache-XXXXXX");
	ASSERT_TRUE(mkdtemp(dir) != NULL);
	setenv("GPUSHARE_CACHE", dir, 1);
	unsetenv("GPUSHARE_CACHE_MB");
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	EXPECT_EQ(0, system(command));
}

static bool has(uint64_t n, const void *bytes, size_t len)
{
	uint8_t key[GS_SHA256_BYTES];
	void *data = NULL;
	size_t got = 0;
	bool same;
	int rc;

	key_of(key, n);
	rc = gs_cache_get(key, &data, &got);
	if (rc) {
		EXPECT_EQ(-ENOENT, rc);
		return false;
	}
	same = got == len && !memcmp(data, bytes, len);
	EXPECT_TRUE(same);
	free(data);
	return same;
}

static void put(uint64_t n, const void *bytes, size_t len)
{
	uint8_t key[GS_SHA256_BYTES];

	key_of(key, n);
	gs_cache_put(key, bytes, len);
}

static void path_of(char path[256], uint64_t n)
{
	uint8_t key[GS_SHA256_BYTES];
	int i, at;

	key_of(key, n);
	at = snprintf(path, 256, "%s/%02x/", dir, key[0]);
	for (i = 1; i < GS_SHA256_BYTES; i++)
		at += snprintf(path + at, 256 - at, "%02x", key[i]);
}

/* Files in the folders below ours, and their bytes. */
static int count_files(uint64_t *bytes)
{
	struct dirent *d, *e;
	char path[600];
	struct stat st;
	int n = 0;
	DIR *top = opendir(dir), *sub;

	*bytes = 0;
	while ((d = readdir(top))) {
		if (*d->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		sub = opendir(path);
		if (!sub)
			continue;
		while ((e = readdir(sub))) {
			if (*e->d_name == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%.255s/%.255s", dir, d->d_name, e->d_name);
			EXPECT_EQ(0, stat(path, &st));
			*bytes += (uint64_t)st.st_size;
			n++;
		}
		closedir(sub);
	}
	closedir(top);
	return n;
}

static void expect_digest(const char *text, size_t times, const char *hex)
{
	uint8_t digest[GS_SHA256_BYTES];
	char got[2 * GS_SHA256_BYTES + 1];
	struct gs_sha256 sha;
	size_t i;

	gs_sha256_init(&sha);
	for (i = 0; i < times; i++)
		gs_sha256_add(&sha, text, strlen(text));
	gs_sha256_end(&sha, digest);
	for (i = 0; i < GS_SHA256_BYTES; i++)
		snprintf(got + 2 * i, 3, "%02x", digest[i]);
	EXPECT_TRUE(!strcmp(hex, got));
}

/* The examples of FIPS 180-4 and its predecessors, and one in odd steps (by coreutils). */
TEST(sha256)
{
	expect_digest("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect_digest("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	expect_digest("a", 1000000,
		      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	expect_digest("aaaaaaa", 1000000 / 7 + 1,
		      "1478d771a8c746aac1af1a0e31c858154d87a5b92cc0a2cb536f142b3771ded8");
}

TEST(parts_are_told_apart)
{
	uint8_t a[GS_SHA256_BYTES], b[GS_SHA256_BYTES];
	struct gs_sha256 sha;

	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, "ab", 2);
	gs_sha256_add_part(&sha, "c", 1);
	gs_sha256_end(&sha, a);
	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, "a", 1);
	gs_sha256_add_part(&sha, "bc", 2);
	gs_sha256_end(&sha, b);
	EXPECT_TRUE(memcmp(a, b, sizeof(a)));
	/* one that is empty counts, and may be nowhere */
	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, "a", 1);
	gs_sha256_add_part(&sha, NULL, 0);
	gs_sha256_add_part(&sha, "bc", 2);
	gs_sha256_end(&sha, a);
	EXPECT_TRUE(memcmp(a, b, sizeof(a)));
}

TEST(what_was_put_is_there)
{
	char big[100000];

	set_up();
	memset(big, 'x', sizeof(big));
	EXPECT_FALSE(has(1, "one", 3));
	put(1, "one", 3);
	put(2, big, sizeof(big));
	put(3, "", 0);
	errno = 77;
	EXPECT_TRUE(has(1, "one", 3));
	EXPECT_EQ(77, errno);
	EXPECT_TRUE(has(2, big, sizeof(big)));
	EXPECT_TRUE(has(3, "", 0));
	EXPECT_FALSE(has(4, "", 0));
	put(1, "two", 3);
	EXPECT_TRUE(has(1, "two", 3));
	tear_down();
}

TEST(where_it_is)
{
	char path[128];
	struct stat st;

	set_up();
	unsetenv("GPUSHARE_CACHE");
	snprintf(path, sizeof(path), "%s/a/b", dir);
	setenv("XDG_CACHE_HOME", path, 1);
	put(1, "one", 3);
	EXPECT_TRUE(has(1, "one", 3));
	snprintf(path, sizeof(path), "%s/a/b/gpushare", dir);
	EXPECT_EQ(0, stat(path, &st));
	EXPECT_EQ(0700, st.st_mode & 0777);

	setenv("XDG_CACHE_HOME", "relative", 1);	/* the standard says: ignore */
	setenv("HOME", dir, 1);
	put(1, "one", 3);
	snprintf(path, sizeof(path), "%s/.cache/gpushare", dir);
	EXPECT_EQ(0, stat(path, &st));

	setenv("GPUSHARE_CACHE", "off", 1);
	EXPECT_FALSE(has(1, "one", 3));
	setenv("GPUSHARE_CACHE", "no/absolute/path", 1);
	put(1, "one", 3);
	EXPECT_FALSE(has(1, "one", 3));
	unsetenv("GPUSHARE_CACHE");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	put(1, "one", 3);
	EXPECT_FALSE(has(1, "one", 3));
	tear_down();
}

/* Each byte of an entry changed, and each length that a cut may leave. */
TEST(corruption)
{
	char path[256], bytes[200];
	int fd, len, i;

	set_up();
	path_of(path, 1);
	for (i = 0; ; i++) {
		put(1, "some kernel", 11);
		fd = open(path, O_RDWR);
		ASSERT_GE(fd, 0);
		len = (int)read(fd, bytes, sizeof(bytes));
		if (i == 2 * len) {
			close(fd);
			break;
		}
		if (i < len) {
			bytes[i] ^= 1 << i % 8;
			EXPECT_EQ(1, pwrite(fd, bytes + i, 1, i));
		} else {
			EXPECT_EQ(0, ftruncate(fd, i - len));
		}
		close(fd);
		EXPECT_FALSE(has(1, "some kernel", 11));
		EXPECT_TRUE(access(path, F_OK));	/* it is gone */
	}
	put(1, "some kernel", 11);
	fd = open(path, O_WRONLY | O_APPEND);
	EXPECT_EQ(1, write(fd, "x", 1));
	close(fd);
	EXPECT_FALSE(has(1, "some kernel", 11));
	tear_down();
}

/* Another's entry under our name, a link, a pipe, a folder, wide open rights. */
TEST(strange_files)
{
	char path[256], other[256];

	set_up();
	path_of(path, 1);
	path_of(other, 2);
	put(1, "one", 3);
	put(2, "two", 3);
	EXPECT_EQ(0, unlink(path));
	EXPECT_EQ(0, link(other, path));
	EXPECT_FALSE(has(1, "one", 3));
	EXPECT_EQ(0, symlink(other, path));
	EXPECT_FALSE(has(1, "one", 3));
	put(1, "one", 3);		/* takes the link's place */
	EXPECT_TRUE(has(1, "one", 3));
	EXPECT_TRUE(has(2, "two", 3));
	EXPECT_EQ(0, unlink(path));
	EXPECT_EQ(0, mkfifo(path, 0600));
	EXPECT_FALSE(has(1, "one", 3));
	EXPECT_EQ(0, mkdir(path, 0700));
	EXPECT_FALSE(has(1, "one", 3));
	put(1, "one", 3);
	EXPECT_FALSE(has(1, "one", 3));
	EXPECT_EQ(0, rmdir(path));
	put(1, "one", 3);
	EXPECT_EQ(0, chmod(path, 0666));
	EXPECT_FALSE(has(1, "one", 3));
	put(1, "one", 3);
	EXPECT_EQ(0, chmod(dir, 0777));
	EXPECT_FALSE(has(1, "one", 3));
	EXPECT_EQ(0, chmod(dir, 0700));
	EXPECT_TRUE(has(1, "one", 3));
	tear_down();
}

/* A small disk: what doesn't fit isn't kept, and leaves nothing. */
/* On the way to the folder there is nothing that others made, or could exchange. */
TEST(others_on_the_way)
{
	char way[96], folder[128], elsewhere[128], command[256];

	if (geteuid())
		SKIP("not root");
	set_up();
	snprintf(way, sizeof(way), "%s/way", dir);
	snprintf(folder, sizeof(folder), "%s/gpushare", way);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", dir);
	setenv("GPUSHARE_CACHE", folder, 1);
	ASSERT_EQ(0, mkdir(elsewhere, 0700));
	/* a link of one's own is followed */
	ASSERT_EQ(0, symlink(elsewhere, way));
	put(1, "a", 1);
	EXPECT_TRUE(has(1, "a", 1));
	/* another's isn't, wherever it leads */
	ASSERT_EQ(0, lchown(way, 54321, 54321));
	EXPECT_FALSE(has(1, "a", 1));
	ASSERT_EQ(0, unlink(way));
	/* nor is another's directory one's way, */
	ASSERT_EQ(0, mkdir(way, 0755));
	put(1, "a", 1);
	EXPECT_TRUE(has(1, "a", 1));
	ASSERT_EQ(0, chown(way, 54321, 54321));
	EXPECT_FALSE(has(1, "a", 1));
	/* nor one where others may put another in its place, but for their own alone */
	ASSERT_EQ(0, chown(way, 0, 0));
	ASSERT_EQ(0, chmod(way, 0777));
	EXPECT_FALSE(has(1, "a", 1));
	ASSERT_EQ(0, chmod(way, 01777));
	EXPECT_TRUE(has(1, "a", 1));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	EXPECT_EQ(0, system(command));
}

TEST(full_disk)
{
	char big[300000];
	uint64_t bytes;

	set_up();
	if (mount("none", dir, "tmpfs", 0, "size=200k,mode=700"))
		SKIP("may not mount");
	memset(big, 'x', sizeof(big));
	put(1, big, sizeof(big));
	EXPECT_FALSE(has(1, big, sizeof(big)));
	EXPECT_EQ(0, count_files(&bytes));
	put(2, "small", 5);
	EXPECT_TRUE(has(2, "small", 5));
	EXPECT_EQ(0, umount(dir));
	tear_down();
}

TEST(limits_of_the_process)
{
	struct rlimit small = { 1000, RLIM_INFINITY };
	char big[5000] = "";

	set_up();
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
	put(1, big, sizeof(big));	/* no SIGXFSZ */
	EXPECT_FALSE(has(1, big, sizeof(big)));
	put(2, big, 500);
	EXPECT_TRUE(has(2, big, 500));
	tear_down();
}

/* The least recently used go first. */
TEST(size_limit)
{
	static char big[100000];
	struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	char path[256];
	uint64_t bytes;
	int i;

	set_up();
	setenv("GPUSHARE_CACHE_MB", "1", 1);
	for (i = 0; i < 40; i++) {
		put(i, big, sizeof(big));
		path_of(path, i);
		old[0].tv_sec = old[1].tv_sec = 1000 + i;
		utimensat(AT_FDCWD, path, old, 0);
		if (i > 0)
			EXPECT_TRUE(has(0, big, sizeof(big)));	/* in use all the time */
		count_files(&bytes);
		EXPECT_LE(bytes, (1 << 20) + 2 * sizeof(big));
	}
	EXPECT_TRUE(has(39, big, sizeof(big)));
	EXPECT_FALSE(has(1, big, sizeof(big)));
	/* Too big to be worth the room of all others. */
	put(100, big, 1 << 17);
	EXPECT_FALSE(has(100, big, 1 << 17));
	tear_down();
}

/* What a writer left that died in the middle goes in time. */
TEST(leftovers)
{
	struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	char path[256];
	uint64_t bytes;
	int fd;

	set_up();
	put(1, "one", 3);	/* also the first look in this process */
	path_of(path, 1);
	strcpy(strrchr(path, '/'), "/new-1-1");
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	utimensat(AT_FDCWD, path, old, 0);
	EXPECT_EQ(2, count_files(&bytes));
	if (!fork()) {		/* the child has seen as much as we */
		static char big[200000];

		setenv("GPUSHARE_CACHE_MB", "2", 1);
		put(2, big, sizeof(big));
		put(3, big, sizeof(big));
		put(4, big, sizeof(big));
		_exit(0);
	}
	wait(NULL);
	EXPECT_TRUE(access(path, F_OK));
	tear_down();
}

/* Many writers and readers of the same few entries: whole or not there. */
TEST(processes)
{
	char bytes[4096];
	pid_t pid[6];
	int i, j, status;

	set_up();
	for (i = 0; i < 6; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		for (j = 0; j < 300; j++) {
			memset(bytes, 'a' + j % 4, sizeof(bytes));
			put(j % 4, bytes, sizeof(bytes));
			memset(bytes, 'a' + (j + i) % 4, sizeof(bytes));
			has((j + i) % 4, bytes, sizeof(bytes));
		}
		_exit(test_failures != 0);
	}
	for (i = 0; i < 6; i++) {
		waitpid(pid[i], &status, 0);
		EXPECT_EQ(0, status);
	}
	for (j = 0; j < 4; j++) {
		memset(bytes, 'a' + j, sizeof(bytes));
		EXPECT_TRUE(has(j, bytes, sizeof(bytes)));
	}
	tear_down();
}

TEST_MAIN()
