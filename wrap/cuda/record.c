// SPDX-License-Identifier: MIT
/*
 * What is launched, and how long it takes.
 *
 * Records are found by handle without a lock, on each launch: a node is put in
 * front of its bucket's chain whole, and never freed, only used again after its
 * module was unloaded. A reader that is on a node which is used again at that
 * moment may end up in another chain and miss what it looks for; then it looks
 * again with the lock held.
 *
 * The time is kept per block, as the same kernel runs with grids of many sizes,
 * and follows what is measured with a weight of a fourth.
 */
#include <stdlib.h>
#include <string.h>

#include "wrap.h"

#define BUCKETS	4096u

static struct gs_record *buckets[BUCKETS];
static struct gs_record *unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct gs_record **bucket_of(const void *handle)
{
	uint64_t h = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull;

	return &buckets[h >> 52];
}

static struct gs_record *look(const void *handle)
{
	struct gs_record *r = __atomic_load_n(bucket_of(handle), __ATOMIC_ACQUIRE);
	uint32_t steps = 0;

	for (; r && ++steps < 4096; r = __atomic_load_n(&r->chain, __ATOMIC_ACQUIRE))
		if (__atomic_load_n(&r->handle, __ATOMIC_ACQUIRE) == handle)
			return r;
	return NULL;
}

struct gs_record *gs_record_find(const void *handle)
{
	struct gs_record *r = look(handle);

	if (__builtin_expect(r != NULL, 1))
		return r;
	pthread_mutex_lock(&lock);
	r = look(handle);
	pthread_mutex_unlock(&lock);
	return r;
}

/* The lock is held. */
static struct gs_record *add(const void *handle, const void *owner)
{
	struct gs_record **bucket = bucket_of(handle), *r = look(handle);

	if (r) {
		/* What is known of its variants goes with the owner that brought it. */
		if (owner && !r->name)
			__atomic_store_n(&r->owner, owner, __ATOMIC_RELAXED);
		return r;
	}
	r = unused;
	if (r)
		unused = r->chain;
	else
		r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	memset(&r->ctx, 0, sizeof(*r) - offsetof(struct gs_record, ctx));
	r->owner = owner;
	__atomic_store_n(&r->handle, handle, __ATOMIC_RELEASE);
	__atomic_store_n(&r->chain, *bucket, __ATOMIC_RELAXED);
	__atomic_store_n(bucket, r, __ATOMIC_RELEASE);
	return r;
}

void gs_record_add(const void *handle)
{
	pthread_mutex_lock(&lock);
	add(handle, NULL);
	pthread_mutex_unlock(&lock);
}

/* Threads may ask for the same function at the same time. */
void gs_record_know(const void *handle, const struct gs_record *what)
{
	struct gs_record *r;

	pthread_mutex_lock(&lock);
	r = add(handle, what->owner);
	if (r && !r->name) {	/* else found before, perhaps in another way */
		__atomic_store_n(&r->ctx, what->ctx, __ATOMIC_RELAXED);
		__atomic_store_n(&r->found, what->found, __ATOMIC_RELAXED);
		gs_whole_because(r, "no PTX");
		if (what->title && !r->title)
			__atomic_store_n(&r->title, strdup(what->title), __ATOMIC_RELEASE);
		if (what->name && !r->settings_lost)
			__atomic_store_n(&r->name, r->title, __ATOMIC_RELEASE);
	}
	if (r && what->of)
		__atomic_store_n(&r->of, what->of, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

/* The lock is held; @at is where the chain names @r. */
static void take_out(struct gs_record **at, struct gs_record *r)
{
	__atomic_store_n(at, r->chain, __ATOMIC_RELEASE);
	__atomic_store_n(&r->handle, NULL, __ATOMIC_RELAXED);
	__atomic_add_fetch(&r->lives, 1, __ATOMIC_RELAXED);
	free(r->title);
	__atomic_store_n(&r->title, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&r->name, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&r->chain, unused, __ATOMIC_RELAXED);
	unused = r;
}

void gs_record_gone(const void *handle)
{
	struct gs_record **at = bucket_of(handle);

	pthread_mutex_lock(&lock);
	for (; *at; at = &(*at)->chain)
		if ((*at)->handle == handle) {
			take_out(at, *at);
			break;
		}
	pthread_mutex_unlock(&lock);
}

/* A module, a library or a context is gone, and what was known of its kernels. */
void gs_records_gone(const void *owner)
{
	struct gs_record **at;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (at = &buckets[i]; *at;)
			if ((*at)->owner == owner || (*at)->ctx == owner)
				take_out(at, *at);
			else
				at = &(*at)->chain;
	pthread_mutex_unlock(&lock);
}

void gs_record_measured(struct gs_record *record, uint32_t life, uint64_t blocks, uint64_t ns)
{
	uint64_t ps = blocks ? ns * 1000 / blocks : 0, old;

	if (!ps)
		ps = 1;
	pthread_mutex_lock(&lock);
	if (record->lives == life) {	/* else it is another kernel's by now */
		old = record->block_ps;
		if (old)
			ps = ps > old ? old + (ps - old) / 4 : old - (old - ps) / 4;
		__atomic_store_n(&record->block_ps, ps ? ps : 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

void gs_records_forget(void)
{
	pthread_mutex_init(&lock, NULL);
}
