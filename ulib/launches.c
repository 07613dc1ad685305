// SPDX-License-Identifier: MIT
/*
 * Counting how launches were made; launches.h says where.
 *
 * A launch that was counted before costs a hash and one addition. A new one takes
 * a lock to fill its record. All of it lies in a page that is wiped in a forked
 * child, which so begins anew; its copy of the file is closed then, if the number
 * is still that file's.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client.h"
#include "launches.h"

#define PUBLIC __attribute__((visibility("default")))
#define PROBES 16

struct table {
	struct gs_launches_head head;
	struct gs_launches of[GS_LAUNCHES_MAX];
};

/* The file's number; outlives a fork, as the file does. */
static int file = -1;
static uint64_t file_inode;

static struct table *make_table(void)
{
	struct table *t = MAP_FAILED;
	int fd;

	if (file >= 0 && gs_inode_of(file) == file_inode)
		close(file);
	file = -1;
	fd = (int)syscall(SYS_memfd_create, GS_LAUNCHES_NAME, MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, sizeof(*t)))
		t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t == MAP_FAILED) {
		close(fd);
		return NULL;
	}
	madvise(t, sizeof(*t), MADV_DONTFORK);
	t->head.version = GS_LAUNCHES_VERSION;
	__atomic_store_n(&t->head.magic, GS_LAUNCHES_MAGIC, __ATOMIC_RELEASE);
	file_inode = gs_inode_of(fd);
	file = fd;
	return t;
}

/* This process's table, made when it is first wanted. */
static struct table *the_table(struct gs_once *once)
{
	struct table *t = __atomic_load_n(&once->value, __ATOMIC_ACQUIRE);

	if (t || once->failed)
		return t;
	pthread_mutex_lock(&once->lock);
	t = once->value;
	if (!t && !once->failed) {
		t = make_table();
		once->failed = !t;
		__atomic_store_n(&once->value, t, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&once->lock);
	return t;
}

static uint32_t mix(uint32_t hash, const char *s, size_t max)
{
	for (; *s && max; s++, max--)
		hash = (hash ^ (unsigned char)*s) * 16777619;	/* FNV-1a */
	return (hash ^ 0xff) * 16777619;
}

/* As it was cut when it was stored. */
static bool same(const char *stored, const char *s, size_t size)
{
	return !strncmp(stored, s, size - 1);
}

static void store(char *to, const char *s, size_t size)
{
	size_t n = strnlen(s, size - 1);

	memcpy(to, s, n);
}

static bool is_it(const struct gs_launches *l, const char *kernel, const char *way, const char *why)
{
	return same(l->kernel, kernel, sizeof(l->kernel)) && same(l->way, way, sizeof(l->way)) &&
	       same(l->why, why, sizeof(l->why));
}

/* The record, or a free one to be filled; NULL: neither is near. */
static struct gs_launches *find(struct table *t, uint32_t hash, const char *kernel,
				const char *way, const char *why)
{
	struct gs_launches *l;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		l = &t->of[(hash + i) % GS_LAUNCHES_MAX];
		if (!__atomic_load_n(&l->used, __ATOMIC_ACQUIRE) || is_it(l, kernel, way, why))
			return l;
	}
	return NULL;
}

/* For who wants to know while the program runs: each way that a kernel goes, once. */
static void say(const struct gs_launches *l)
{
	const char *verbose = secure_getenv("GPUSHARE_VERBOSE");

	if (verbose && *verbose && strcmp(verbose, "0"))
		dprintf(2, "gpushare: kernel %s: %s%s%s%s\n", l->kernel, l->way, *l->why ? " (" : "",
			l->why, *l->why ? ")" : "");
}

uint64_t *gs_launches_counter(const char *kernel, const char *way, const char *why)
{
	struct gs_once *once = gs_process_launches();
	struct gs_launches *l;
	struct table *t;
	uint32_t hash;

	t = once ? the_table(once) : NULL;
	if (!t)
		return NULL;
	why = why ? why : "";
	hash = mix(mix(mix(2166136261u, kernel, sizeof(l->kernel) - 1), way, sizeof(l->way) - 1),
		   why, sizeof(l->why) - 1);
	l = find(t, hash, kernel, way, why);
	if (l && !__atomic_load_n(&l->used, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&once->lock);
		l = find(t, hash, kernel, way, why);
		if (l && !l->used) {
			store(l->kernel, kernel, sizeof(l->kernel));
			store(l->way, way, sizeof(l->way));
			store(l->why, why, sizeof(l->why));
			say(l);
			__atomic_store_n(&l->used, 1, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&once->lock);
	}
	return l ? &l->count : &t->head.others;
}

PUBLIC void gpushare_launched(const char *kernel, const char *way, const char *why)
{
	int saved = errno;
	uint64_t *counter = gs_launches_counter(kernel, way, why);

	if (counter)
		__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
	errno = saved;
}
