// SPDX-License-Identifier: MIT
/*
 * The thread that writes the state file. It has its own copy of the text, in parts that
 * the loop replaces: so a change costs the loop a few lines, whatever the whole is, and
 * here nobody waits for the disk but who asked for that.
 *
 * The file is always whole: a new one is written beside it, brought to the disk and put
 * in its place in one step, so kill -9 finds the old or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gpushared.h"
#include "state.h"

static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
/* Under the lock: what the loop has said since the thread looked last. */
static struct state_part *queue, **queue_end = &queue;
static bool forget, asked, ending;
static int result;

/* The thread's own: sorted by id, as what has a name lies in what has a lower number. */
static struct state_part *parts[MAX_GROUPS + 2];
static unsigned int nr_parts;
static const char *boot;
static int done_fd;

static void drop(struct state_part *part)
{
	struct state_part *next;

	for (; part; part = next) {
		next = part->next;
		free(part);
	}
}

static unsigned int place_of(uint64_t id)
{
	unsigned int low = 0, high = nr_parts, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (parts[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* There are never more than groups, as one that has gone is said before another comes. */
static void take_part(struct state_part *part)
{
	unsigned int at = place_of(part->id);
	bool old = at < nr_parts && parts[at]->id == part->id;

	if (old)
		free(parts[at]);
	if (part->size) {
		if (!old)
			memmove(&parts[at + 1], &parts[at], (nr_parts++ - at) * sizeof(*parts));
		parts[at] = part;
		return;
	}
	if (old)
		memmove(&parts[at], &parts[at + 1], (--nr_parts - at) * sizeof(*parts));
	free(part);
}

static void take_parts(struct state_part *part)
{
	struct state_part *next;

	for (; part; part = next) {
		next = part->next;
		take_part(part);
	}
}

static struct {
	char text[65536];
	size_t n;
	int fd;
	uint64_t sum;
} out;

static int flush(void)
{
	const char *at = out.text;
	ssize_t n;

	for (; out.n; at += n, out.n -= (size_t)n) {
		n = write(out.fd, at, out.n);
		if (n < 0)
			return -errno;
	}
	return 0;
}

static int put(const char *text, size_t size)
{
	size_t n;
	int err = 0;

	out.sum = state_sum_on(out.sum, text, size);
	for (; size && !err; text += n, size -= n) {
		n = sizeof(out.text) - out.n;
		n = n < size ? n : size;
		memcpy(out.text + out.n, text, n);
		out.n += n;
		if (out.n == sizeof(out.text))
			err = flush();
	}
	return err;
}

static int write_all(int fd)
{
	char line[128];
	unsigned int i;
	int err;

	out.fd = fd;
	out.n = 0;
	out.sum = STATE_SUM_NONE;
	err = put(line, (size_t)snprintf(line, sizeof(line), STATE_HEAD, boot));
	for (i = 0; i < nr_parts && !err; i++)
		err = put(parts[i]->text, parts[i]->size);
	if (!err)
		err = put(line, (size_t)snprintf(line, sizeof(line), STATE_SUM,
						 (unsigned long long)out.sum));
	if (!err)
		err = flush();
	return err ? err : fsync(fd) ? -errno : 0;
}

static int sync_dir(const char *path)
{
	char copy[4096];
	int fd, err = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int write_file(const char *path)
{
	char temp[4096];
	int fd, err;

	if (snprintf(temp, sizeof(temp), "%s.new", path) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temp, path))
		err = -errno;
	if (err)
		unlink(temp);	/* a full disk needs the room */
	return err ? err : sync_dir(path);
}

static void say_once(int err)
{
	static int last;

	if (err && err != last)
		say("%s: %s: shares and devices don't survive a restart; it is tried again",
		    d.state_path, strerror(-err));
	if (!err && last)
		say("%s: written again", d.state_path);
	last = err;
}

static void *writer(void *arg)
{
	struct state_part *mine;
	bool anew;
	int err;

	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!asked && !ending)
			pthread_cond_wait(&work, &lock);
		if (!asked)
			break;
		mine = queue;
		anew = forget;
		queue = NULL;
		queue_end = &queue;
		forget = false;
		asked = false;
		pthread_mutex_unlock(&lock);
		while (anew && nr_parts)
			free(parts[--nr_parts]);
		take_parts(mine);
		err = write_file(d.state_path);
		say_once(err);
		pthread_mutex_lock(&lock);
		result = err;
		eventfd_write(done_fd, 1);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* @done is rung for each file that was tried. */
int writer_start(const char *boot_id, int done)
{
	boot = boot_id;
	done_fd = done;
	return -pthread_create(&thread, NULL, writer, NULL);
}

/* All parts will come anew. */
void writer_forget(void)
{
	struct state_part *old;

	pthread_mutex_lock(&lock);
	old = queue;
	queue = NULL;
	queue_end = &queue;
	forget = true;
	pthread_mutex_unlock(&lock);
	drop(old);
}

/* Takes @part for its own. Without text it is no more. */
void writer_put(struct state_part *part)
{
	part->next = NULL;
	pthread_mutex_lock(&lock);
	*queue_end = part;
	queue_end = &part->next;
	pthread_mutex_unlock(&lock);
}

/* Now what was put is the state. */
void writer_write(void)
{
	pthread_mutex_lock(&lock);
	asked = true;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
}

/* How the last one went. */
int writer_result(void)
{
	int err;

	pthread_mutex_lock(&lock);
	err = result;
	pthread_mutex_unlock(&lock);
	return err;
}

/* When all that was asked for has been tried. */
void writer_stop(void)
{
	pthread_mutex_lock(&lock);
	ending = true;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	drop(queue);
	while (nr_parts)
		free(parts[--nr_parts]);
}
