// SPDX-License-Identifier: MIT
/*
 * Binaries of rewritten kernels, kept on disk, since a text costs a driver much to build
 * even if it has built it before: PoCL 3.1 reads 40 ms of its own headers each time.
 *
 * What can be kept is asked for when a launch is over, in a thread that nobody waits for:
 * to tell a program's binary PoCL compiles its kernels once more, for any local size.
 * The thread is in the middle of a compiler then, so at the process's end it is waited
 * for, as the compiler's own end would pull the ground from under it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../glibc.h"
#include "../slicer/cache.h"
#include "shadow.h"

GS_OLD_AT(pthread_cond_timedwait, "2.3.2");
GS_OLD_AT(pthread_cond_broadcast, "2.3.2");

#define END_SECONDS	10	/* it isn't waited for longer */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects what follows */
static pthread_cond_t fewer;
static unsigned int keeping;	/* threads */
static bool ready, ending;
static uint32_t forks;		/* of the process that they are in */

/* A fork's child has no such threads, and perhaps a lock that one of them held. */
static void at_end(void)
{
	struct timespec until;

	if (forks != gs_forks)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_SECONDS;
	pthread_mutex_lock(&lock);
	ending = true;
	while (keeping && !pthread_cond_timedwait(&fewer, &lock, &until))
		;
	pthread_mutex_unlock(&lock);
}

static bool begin(void)
{
	bool may;

	if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) && forks != gs_forks)
		return false;
	pthread_mutex_lock(&lock);
	if (!ready) {
		gs_monotonic_cond(&fewer);
		forks = gs_forks;
		__atomic_store_n(&ready, !atexit(at_end), __ATOMIC_RELEASE);
	}
	may = ready && !ending;
	keeping += may;
	pthread_mutex_unlock(&lock);
	return may;
}

static void end(void)
{
	pthread_mutex_lock(&lock);
	keeping--;
	pthread_cond_broadcast(&fewer);
	pthread_mutex_unlock(&lock);
}

void gs_binary_key(struct gs_rewritten *r, const char *text, size_t length)
{
	struct gs_shadow *shadow = r->shadow;
	struct gs_sha256 sha;

	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, "rewritten", 9);
	gs_device_identity(&sha, shadow->id);
	gs_sha256_add_part(&sha, shadow->options, strlen(shadow->options));
	gs_sha256_add_part(&sha, text, length);
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
	if (program && gs_cl.clBuildProgram(program, 1, &shadow->id, shadow->options, NULL, NULL) !=
	    CL_SUCCESS) {
		gs_cl.clReleaseProgram(program);
		program = NULL;
	}
	return program;
}

/* Built for one device, it belongs to all of its context's: of several it isn't kept. */
static void keep_binary(const struct gs_rewritten *r)
{
	unsigned char *binary;
	size_t length = 0;

	if (gs_cl.clGetProgramInfo(r->program, CL_PROGRAM_BINARY_SIZES, sizeof(length), &length,
				   NULL) != CL_SUCCESS || !length)
		return;
	binary = malloc(length);
	if (binary && gs_cl.clGetProgramInfo(r->program, CL_PROGRAM_BINARIES, sizeof(binary),
					     &binary, NULL) == CL_SUCCESS)
		gs_cache_put(r->key, binary, length);
	free(binary);
}

static void *keep(void *arg)
{
	struct gs_rewritten *r = arg;

	keep_binary(r);
	gs_shadow_put(r->shadow);
	end();
	return NULL;
}

void gs_binary_keep(struct gs_rewritten *r)
{
	if (!begin())
		return;
	__atomic_add_fetch(&r->shadow->refs, 1, __ATOMIC_RELAXED);
	if (gs_thread_start(keep, r))
		return;
	gs_shadow_put(r->shadow);
	end();
}
