// SPDX-License-Identifier: MIT
#include "books.h"
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX		".usage"
#define NAME		17		/* "2026-11-26.usage" */
#define SUM_UP_AT	(4ull << 20)
#define FILE_MOST	(1ull << 30)
#define min(a, b)	((a) < (b) ? (a) : (b))

struct gs_books {
	char dir[PATH_MAX - 64];
	uint64_t most;
	int lock;
	char newest[NAME];		/* "": there is none */
	uint64_t summed_up;		/* its size after it was added up last */
};

static void day_name(uint64_t time, char name[NAME])
{
	time_t t = (time_t)time;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || tm.tm_year + 1900 < 1970 || tm.tm_year + 1900 > 9999 ||
	    strftime(name, NAME, "%Y-%m-%d" SUFFIX, &tm) != NAME - 1)
		strcpy(name, "1970-01-01" SUFFIX);
}

static bool begins_with_day(const char *name)
{
	static const char form[] = "dddd-dd-dd" SUFFIX;
	size_t i;

	for (i = 0; i < NAME - 1; i++)
		if (form[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
			return false;
	return true;
}

static int is_day(const struct dirent *e)
{
	return begins_with_day(e->d_name) && !e->d_name[NAME - 1];
}

/* What was left by a summary that was cut short: six letters more. */
static int is_leftover(const struct dirent *e)
{
	return begins_with_day(e->d_name) && e->d_name[NAME - 1] == '.' &&
		strlen(e->d_name) == NAME - 1 + 7;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_days(struct dirent **days, int nr)
{
	while (nr > 0)
		free(days[--nr]);
	free(days);
}

static int open_in(const struct gs_books *b, const char *name, int flags)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	return fd < 0 ? -errno : fd;
}

/* All of a file: its text, from malloc(). */
static int read_whole(int fd, char **text, size_t *size)
{
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > FILE_MOST)
		return -EFBIG;
	*text = malloc((size_t)st.st_size + 1);
	if (!*text)
		return -ENOMEM;
	for (*size = 0; *size < (size_t)st.st_size && n > 0; *size += n > 0 ? (size_t)n : 0)
		n = read(fd, *text + *size, (size_t)st.st_size - *size);
	if (n >= 0)
		return 0;
	free(*text);
	return -errno;
}

static int read_day(const struct gs_books *b, const char *name, char **text, size_t *size)
{
	int fd = open_in(b, name, O_RDONLY), rc;

	if (fd < 0)
		return fd;
	rc = read_whole(fd, text, size);
	close(fd);
	return rc;
}

static int make_dir(const char *dir)
{
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%s", dir);
	if (mkdir(dirname(above), 0755) && errno != EEXIST)
		return -errno;
	return mkdir(dir, 0700) && errno != EEXIST ? -errno : 0;
}

static int look_at_days(struct gs_books *b)
{
	int dir, i, n;
	struct dirent **days;

	n = scandir(b->dir, &days, is_leftover, by_name);
	if (n < 0)
		return -errno;
	dir = open_in(b, ".", O_RDONLY | O_DIRECTORY);
	for (i = 0; dir >= 0 && i < n; i++)
		unlinkat(dir, days[i]->d_name, 0);
	if (dir >= 0)
		close(dir);
	free_days(days, n);
	n = scandir(b->dir, &days, is_day, by_name);
	if (n < 0)
		return -errno;
	if (n)
		strcpy(b->newest, days[n - 1]->d_name);
	free_days(days, n);
	return 0;
}

int gs_books_open(const char *dir, uint64_t most, struct gs_books **books)
{
	struct gs_books *b = calloc(1, sizeof(*b));
	int rc = 0;

	if (!b)
		return -ENOMEM;
	b->most = most;
	b->lock = -1;
	if (strlen(dir) >= sizeof(b->dir))
		rc = -ENAMETOOLONG;
	else
		rc = make_dir(dir);
	if (!rc) {
		strcpy(b->dir, dir);
		b->lock = open_in(b, "lock", O_RDWR | O_CREAT);
		rc = b->lock < 0 ? b->lock : flock(b->lock, LOCK_EX | LOCK_NB) ? -errno : 0;
	}
	if (!rc)
		rc = look_at_days(b);
	if (rc)
		gs_books_close(b);
	else
		*books = b;
	return rc;
}

void gs_books_close(struct gs_books *b)
{
	if (!b)
		return;
	if (b->lock >= 0)
		close(b->lock);
	free(b);
}

/* What a file says, when it is added up. */
struct summary {
	struct gs_uses uses;
	struct gs_run run;
	bool ran;
	struct gs_stand *devices, *clients;
	size_t nr_devices, nr_clients;
	uint64_t time;
	bool failed;
};

static void on_begin(uint64_t time, void *arg)
{
	struct summary *s = arg;

	s->time = time;
	s->nr_devices = 0;
	s->nr_clients = 0;
}

static void on_run(const struct gs_run *run, void *arg)
{
	struct summary *s = arg;

	s->run = *run;
	s->ran = true;
}

static void take_stand(struct summary *s, struct gs_stand **stands, size_t *nr,
		       const struct gs_stand *stand)
{
	struct gs_stand *more = *stands;

	/* It grows at 64, 128, 256, ... */
	if (!*nr || (*nr >= 64 && !(*nr & (*nr - 1))))
		more = reallocarray(*stands, *nr ? *nr * 2 : 64, sizeof(**stands));
	if (!more) {
		s->failed = true;
		return;
	}
	*stands = more;
	more[(*nr)++] = *stand;
}

static void on_device(const struct gs_stand *stand, void *arg)
{
	struct summary *s = arg;

	take_stand(s, &s->devices, &s->nr_devices, stand);
}

static void on_client(const struct gs_stand *stand, void *arg)
{
	struct summary *s = arg;

	take_stand(s, &s->clients, &s->nr_clients, stand);
}

static void on_use(const struct gs_use *use, void *arg)
{
	struct summary *s = arg;

	s->failed |= gs_uses_add(&s->uses, use) != 0;
}

static const struct gs_ledger_taker summary_taker = {
	.begin = on_begin, .run = on_run, .device = on_device, .client = on_client, .use = on_use,
};

static void count_batch(uint64_t time, void *arg)
{
	(void)time;
	++*(size_t *)arg;
}

static const struct gs_ledger_taker count_taker = { .begin = count_batch };

static int write_summary(FILE *out, void *arg)
{
	const struct summary *s = arg;
	char *text = NULL;
	size_t i, size;
	FILE *batch = open_memstream(&text, &size);

	if (!batch)
		return -ENOMEM;
	gs_ledger_begin(batch, s->time);
	if (s->ran)
		gs_ledger_run(batch, &s->run);
	for (i = 0; i < s->nr_devices; i++)
		gs_ledger_device(batch, &s->devices[i]);
	for (i = 0; i < s->nr_clients; i++)
		gs_ledger_client(batch, &s->clients[i]);
	for (i = 0; i < s->uses.nr; i++)
		gs_ledger_use(batch, &s->uses.items[i]);
	if (fclose(batch)) {
		free(text);
		return -ENOMEM;
	}
	fwrite(text, 1, size, out);
	gs_ledger_end(out, text, size);
	free(text);
	return ferror(out) ? -EIO : 0;
}

/* Writes a day anew, as one batch; its size. If that can't be, it stays as it is. */
static uint64_t sum_up(struct gs_books *b, const char *name)
{
	struct summary s = { .time = 0 };
	char path[PATH_MAX], *text;
	struct stat st;
	mode_t mask;
	size_t size;

	if (read_day(b, name, &text, &size))
		return 0;
	gs_ledger_read(text, size, &summary_taker, &s);
	free(text);
	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	mask = umask(077);
	if (!s.failed)
		gs_file_replace(path, write_summary, &s);
	umask(mask);
	gs_uses_free(&s.uses);
	free(s.devices);
	free(s.clients);
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* The oldest go first, and never the newest. */
static int make_room(struct gs_books *b, uint64_t needed, char forgot[16])
{
	struct dirent **days;
	char path[PATH_MAX];
	uint64_t all = needed;
	struct stat st;
	int i, n = scandir(b->dir, &days, is_day, by_name);

	if (n < 0)
		return -errno;
	for (i = n - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s/%.16s", b->dir, days[i]->d_name);
		if (lstat(path, &st))
			continue;
		all += (uint64_t)st.st_size;
		if (all <= b->most || !strcmp(days[i]->d_name, b->newest) || unlink(path))
			continue;
		if (forgot && !*forgot)
			snprintf(forgot, 16, "%.10s", days[i]->d_name);
	}
	free_days(days, n);
	return 0;
}

static int append(int fd, uint64_t most, const char *text, size_t size)
{
	size_t done = 0;
	char last = '\n';
	struct stat st;
	ssize_t n = 0;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size + size + 2 > most)
		return -EFBIG;
	/*
	 * What was cut short before must not take this with it; nor become whole, as it
	 * was counted anew.
	 */
	if (st.st_size && pread(fd, &last, 1, st.st_size - 1) != 1)
		return -EIO;
	if (last != '\n')
		n = write(fd, "?\n", 2);
	while (n >= 0 && done < size) {
		n = write(fd, text + done, size - done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (n >= 0 && !fdatasync(fd))
		return 0;
	rc = -errno;
	if (ftruncate(fd, st.st_size))
		return rc;	/* the sum tells that it isn't whole */
	return rc;
}

int gs_books_write(struct gs_books *b, uint64_t time, const char *text, size_t size,
		   char forgot[16])
{
	char today[NAME], before[NAME];
	struct stat st;
	int fd, rc;

	if (forgot)
		*forgot = 0;
	day_name(time, today);
	if (strcmp(today, b->newest) > 0) {
		strcpy(before, b->newest);
		strcpy(b->newest, today);
		b->summed_up = 0;
		if (*before)
			sum_up(b, before);
	}
	rc = make_room(b, size, forgot);
	if (rc)
		return rc;
	fd = open_in(b, b->newest, O_RDWR | O_APPEND | O_CREAT);
	if (fd < 0)
		return fd;
	rc = append(fd, b->most, text, size);
	if (!fstat(fd, &st) &&
	    (uint64_t)st.st_size > min(SUM_UP_AT, b->most / 4) + 2 * b->summed_up)
		b->summed_up = sum_up(b, b->newest);
	close(fd);
	return rc;
}

int gs_books_last(struct gs_books *b, const struct gs_ledger_taker *take, void *arg)
{
	struct dirent **days;
	size_t size, batches = 0;
	int i, rc = 0, n;
	char *text;

	n = scandir(b->dir, &days, is_day, by_name);
	if (n < 0)
		return -errno;
	for (i = n - 1; i >= 0 && !rc && !batches; i--) {
		rc = read_day(b, days[i]->d_name, &text, &size);
		if (rc)
			break;
		gs_ledger_read(text, size, &count_taker, &batches);
		gs_ledger_read(text, size, take, arg);
		free(text);
	}
	free_days(days, n);
	return rc;
}

int gs_books_read(const char *dir, uint64_t since, const struct gs_ledger_taker *take, void *arg,
		  size_t *bad, char *name, size_t size)
{
	struct gs_books b = { .lock = -1 };
	char first[NAME], *text;
	struct dirent **days;
	int i, n, rc = 0;
	size_t length;

	*bad = 0;
	snprintf(name, size, "%s", dir);
	if (strlen(dir) >= sizeof(b.dir))
		return -ENAMETOOLONG;
	strcpy(b.dir, dir);
	n = scandir(dir, &days, is_day, by_name);
	if (n < 0)
		return -errno;
	day_name(since, first);
	for (i = 0; i < n && !rc; i++) {
		if (strcmp(days[i]->d_name, first) < 0)
			continue;
		snprintf(name, size, "%s/%s", dir, days[i]->d_name);
		rc = read_day(&b, days[i]->d_name, &text, &length);
		if (rc == -ENOENT) {
			rc = 0;		/* it was the oldest, and went */
			continue;
		}
		if (rc)
			break;
		*bad += gs_ledger_read(text, length, take, arg);
		free(text);
	}
	free_days(days, n);
	return rc;
}
