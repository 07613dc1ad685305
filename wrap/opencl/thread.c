// SPDX-License-Identifier: MIT
/*
 * Threads of the layer. Signals are the program's: none is handled in them.
 *
 * One that is in the middle of the driver's compiler when the process ends would have the
 * ground pulled from under it by the compiler's own end. So each is counted while it is
 * there, and waited for; and none goes there any more. Who waits for a grant isn't there.
 *
 * A compiler that runs for the first time registers its own end as it goes along, that is
 * after ours, so that it comes first: exit() takes the last first. But before all of these
 * exit() ends what is the exiting thread's own. So the main thread, which is the one to end a
 * process nearly always, gets something of its own, whose end is ours. If it is another that
 * calls exit(), we come in our turn.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ulib/glibc.h"
#include "layer.h"

GS_OLD(pthread_create);
GS_OLD(pthread_sigmask);
GS_OLD(pthread_detach);
GS_OLD(pthread_attr_setstacksize);
GS_OLD_AT(pthread_cond_timedwait, "2.3.2");
GS_OLD_AT(pthread_cond_broadcast, "2.3.2");

#define STACK		(8 << 20)	/* compilers are used to it; they take what they touch */
#define END_SECONDS	10		/* they aren't waited for longer */
#define DUE_NS		1000000000	/* for that long there may be more of them */

/* The C library's, as C++ has it. */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *arg, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects what follows */
static pthread_cond_t fewer;
static unsigned int compiling;
static bool ready, ending;
static uint64_t ended_ns;			/* since when it is waited for them */

bool gs_thread_start(void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = pthread_create(&thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_detach(thread);
	return !err;
}

static void at_end(void)
{
	struct timespec until;

	pthread_mutex_lock(&lock);
	if (!ending)
		ended_ns = gs_now();
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_SECONDS;
	ending = true;
	while (compiling && !pthread_cond_timedwait(&fewer, &lock, &until))
		;
	pthread_mutex_unlock(&lock);
}

static void of_main_thread(void *unused)
{
	(void)unused;
	at_end();
}

void gs_main_thread(void)
{
	static __thread bool met;

	if (met)
		return;
	met = true;
	if (getpid() == (pid_t)syscall(SYS_gettid))
		__cxa_thread_atexit_impl(of_main_thread, NULL, &__dso_handle);
}

bool gs_compile_begin(void)
{
	bool may;

	pthread_mutex_lock(&lock);
	if (!ready) {
		gs_monotonic_cond(&fewer);
		ready = !atexit(at_end);
	}
	may = ready && !ending;
	compiling += may;
	pthread_mutex_unlock(&lock);
	return may;
}

void gs_compile_end(void)
{
	pthread_mutex_lock(&lock);
	compiling--;
	pthread_cond_broadcast(&fewer);
	pthread_mutex_unlock(&lock);
}

bool gs_end_is_due(void)
{
	bool due;

	pthread_mutex_lock(&lock);
	due = ending && gs_now() - ended_ns > DUE_NS;
	pthread_mutex_unlock(&lock);
	return due;
}

cl_int gs_compile(cl_program program, cl_device_id id, const char *options)
{
	cl_int rc;

	if (!gs_compile_begin())
		return CL_BUILD_PROGRAM_FAILURE;
	rc = gs_cl.clBuildProgram(program, 1, &id, options, NULL, NULL);
	gs_compile_end();
	return rc;
}

void gs_threads_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	gs_monotonic_cond(&fewer);
	compiling = 0;
}
