// SPDX-License-Identifier: MIT
/* Threads of the layer. Signals are the program's: none is handled in them. */
#include <signal.h>

#include "../glibc.h"
#include "layer.h"

GS_OLD(pthread_create);
GS_OLD(pthread_sigmask);
GS_OLD(pthread_detach);
GS_OLD(pthread_attr_setstacksize);

#define STACK	(1 << 20)	/* drivers compile in it */

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
