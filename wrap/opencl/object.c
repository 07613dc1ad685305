// SPDX-License-Identifier: MIT
/*
 * The side table: records by handle, in buckets with a lock each.
 *
 * Handles are used again after their objects' end. So a record is taken out
 * before the program's last reference is given to the driver, and one that is
 * still there when its handle comes anew (the driver freed it by some way that
 * we didn't see) makes room for the new one.
 */
#include <stdlib.h>

#include "layer.h"

#define BUCKETS 1024

static struct bucket {
	pthread_mutex_t lock;		/* zeroes are an initialised one */
	struct gs_object *first;
} buckets[BUCKETS];

static struct bucket *bucket_of(const void *handle)
{
	return &buckets[((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15 >> 54];
}

static struct gs_object **find(struct bucket *bucket, enum gs_kind kind, const void *handle)
{
	struct gs_object **at = &bucket->first;

	while (*at && ((*at)->handle != handle || (*at)->kind != kind))
		at = &(*at)->next;
	return at;
}

static struct gs_object *take_out(struct gs_object **at)
{
	struct gs_object *object = *at;

	*at = object->next;
	object->next = NULL;
	object->held = 0;
	return object;
}

void gs_object_add(struct gs_object *object, enum gs_kind kind, void *handle,
		   void (*end)(struct gs_object *object))
{
	struct bucket *bucket = bucket_of(handle);
	struct gs_object **at, *stale = NULL;

	object->handle = handle;
	object->kind = kind;
	object->held = object->refs = 1;
	object->end = end;
	pthread_mutex_lock(&bucket->lock);
	at = find(bucket, kind, handle);
	if (*at)
		stale = take_out(at);
	object->next = bucket->first;
	bucket->first = object;
	pthread_mutex_unlock(&bucket->lock);
	if (stale)
		gs_object_put(stale);
}

void *gs_object_find(enum gs_kind kind, const void *handle)
{
	struct bucket *bucket = bucket_of(handle);
	struct gs_object *object;

	pthread_mutex_lock(&bucket->lock);
	object = *find(bucket, kind, handle);
	pthread_mutex_unlock(&bucket->lock);
	return object;
}

void *gs_object_find_get(enum gs_kind kind, const void *handle)
{
	struct bucket *bucket = bucket_of(handle);
	struct gs_object *object;

	pthread_mutex_lock(&bucket->lock);
	object = *find(bucket, kind, handle);
	if (object)
		gs_object_get(object);
	pthread_mutex_unlock(&bucket->lock);
	return object;
}

void gs_object_get(struct gs_object *object)
{
	__atomic_add_fetch(&object->refs, 1, __ATOMIC_RELAXED);
}

void gs_object_put(struct gs_object *object)
{
	if (!__atomic_sub_fetch(&object->refs, 1, __ATOMIC_ACQ_REL))
		object->end(object);
}

void gs_object_retained(enum gs_kind kind, const void *handle)
{
	struct bucket *bucket = bucket_of(handle);
	struct gs_object *object;

	pthread_mutex_lock(&bucket->lock);
	object = *find(bucket, kind, handle);
	if (object)
		object->held++;
	pthread_mutex_unlock(&bucket->lock);
}

bool gs_object_released(enum gs_kind kind, const void *handle)
{
	struct bucket *bucket = bucket_of(handle);
	struct gs_object **at, *gone = NULL;

	pthread_mutex_lock(&bucket->lock);
	at = find(bucket, kind, handle);
	if (*at && !--(*at)->held)
		gone = take_out(at);
	pthread_mutex_unlock(&bucket->lock);
	if (gone)
		gs_object_put(gone);
	return gone;
}
