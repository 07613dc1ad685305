// SPDX-License-Identifier: MIT
/*
 * Binaries of rewritten kernels, kept on disk, since a text costs a driver much to build
 * even if it has built it before: PoCL 3.1 reads 40 ms of its own headers each time.
 *
 * What can be kept is asked for when a launch is over: to tell a program's binary PoCL
 * compiles its kernels once more, for any local size. So it is done in a thread, one after
 * the other, which ends when nothing is left to do; and which the process's end waits for,
 * as it is in the middle of a compiler, but then it soon begins with nothing new. What is
 * about to be kept can't be freed, so that is few; the others have their turn when a launch
 * of theirs is over again.
 */
#include <stdlib.h>
#include <string.h>

#include "wrap/launch/cache.h"
#include "shadow.h"

#define WAITING_MAX	16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects what follows */
static struct gs_rewritten *first, *last;	/* to be kept; each a reference of its shadow */
static unsigned int waiting;			/* so many, each counted as one that compiles */
static bool keeper;				/* there is one, which will look once more */

void gs_binary_key(struct gs_rewritten *r, const char *text, size_t length)
{
	struct gs_shadow *shadow = r->shadow;
	struct gs_sha256 sha;

	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, "rewritten", 9);
	gs_device_identity(&sha, shadow->id);
	gs_sha256_add_part(&sha, shadow->options, strlen(shadow->options));
	gs_sha256_add_part(&sha, text, length);
	if (shadow->constants && shadow->constants->n)
		gs_sha256_add_part(&sha, shadow->constants->of, shadow->constants->n *
				   sizeof(*shadow->constants->of));
	gs_sha256_end(&sha, r->key);
}

cl_program gs_binary_load(const struct gs_rewritten *r, cl_context context)
{
	struct gs_shadow *shadow = r->shadow;
	cl_program program = NULL;
	void *binary = NULL;
	size_t length;

	if (gs_cache_get(r->key, &binary, &length))
		return NULL;
	program = gs_cl.clCreateProgramWithBinary(context, 1, &shadow->id, &length,
						  (const unsigned char **)&binary, NULL,
						  &(cl_int){ 0 });
	free(binary);
	if (program && gs_compile(program, shadow->id, shadow->options) != CL_SUCCESS) {
		gs_cl.clReleaseProgram(program);
		program = NULL;
	}
	return program;
}

/*
 * Built for one device, it belongs to all of its context's: of several it isn't kept, nor
 * asked for, as PoCL would compile it for all of them.
 */
static void keep_binary(const struct gs_rewritten *r)
{
	unsigned char *binary;
	size_t length = 0;
	cl_uint devices = 0;

	gs_cl.clGetProgramInfo(r->program, CL_PROGRAM_NUM_DEVICES, sizeof(devices), &devices, NULL);
	if (devices != 1)
		return;
	if (gs_cl.clGetProgramInfo(r->program, CL_PROGRAM_BINARY_SIZES, sizeof(length), &length,
				   NULL) != CL_SUCCESS || !length)
		return;
	binary = malloc(length);
	if (binary && gs_cl.clGetProgramInfo(r->program, CL_PROGRAM_BINARIES, sizeof(binary),
					     &binary, NULL) == CL_SUCCESS)
		gs_cache_put(r->key, binary, length);
	free(binary);
}

static struct gs_rewritten *next(void)
{
	struct gs_rewritten *r;

	pthread_mutex_lock(&lock);
	r = first;
	if (r) {
		first = r->next;
		waiting--;
	} else {
		keeper = false;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

static void *keep(void *arg)
{
	struct gs_rewritten *r;

	(void)arg;
	while ((r = next())) {
		if (!gs_end_is_due())
			keep_binary(r);
		gs_shadow_put(r->shadow);
		gs_compile_end();
	}
	return NULL;
}

static bool append(struct gs_rewritten *r)
{
	bool may;

	pthread_mutex_lock(&lock);
	may = waiting < WAITING_MAX && (keeper || gs_thread_start(keep, NULL));
	if (may) {
		keeper = true;
		__atomic_add_fetch(&r->shadow->refs, 1, __ATOMIC_RELAXED);
		r->next = NULL;
		if (first)
			last->next = r;
		else
			first = r;
		last = r;
		waiting++;
	}
	pthread_mutex_unlock(&lock);
	return may;
}

bool gs_binary_keep(struct gs_rewritten *r)
{
	bool may = gs_compile_begin();

	if (may && !append(r)) {
		gs_compile_end();
		may = false;
	}
	return may;
}

void gs_binaries_forked(void)
{
	struct gs_rewritten *r;

	pthread_mutex_init(&lock, NULL);
	/* A later launch of theirs may keep them. */
	for (r = first; r; r = r->next) {
		__atomic_store_n(&r->unkept, true, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&r->shadow->refs, 1, __ATOMIC_RELAXED);
	}
	first = NULL;
	waiting = 0;
	keeper = false;
}
