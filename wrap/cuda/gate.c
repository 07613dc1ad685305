// SPDX-License-Identifier: MIT
/*
 * The gate, and the keeper.
 *
 * Each launch is a bracket on the device's handle: it begins here, before it goes
 * to the driver, and ends when its end is noticed. So the arbiter's answer is read
 * from its page at each launch, without a call; and the grant is given back only
 * when nothing of ours is on the device.
 *
 * What is in flight is bounded, by "wrap/launch/budget.c" and to so many launches, however
 * short they are.
 *
 * The keeper is a thread that notices ends when the program launches nothing more:
 * it looks each millisecond, each tenth of that when somebody waits, and sleeps
 * when nothing was in flight for a while. It makes no difference to what is right;
 * without it a device would be given back only at the next launch.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cut.h"
#include "wrap.h"
#include "ulib/clock.h"
#include "ulib/glibc.h"

GS_OLD(pthread_create);
GS_OLD(pthread_sigmask);
GS_OLD(pthread_attr_setstacksize);

#define STACK		(1024 * 1024)
#define SLOW_NS		1000000
#define QUICK_NS	100000
#define BESIDE_NS	100000000u	/* as grace, by default */
#define LINGER		20u	/* slow looks at nothing, then it sleeps */

enum { NONE, AWAKE, ASLEEP };
static uint32_t keeper;		/* one of these; futex */
static __thread bool is_keeper __attribute__((tls_model("initial-exec")));

bool gs_is_keeper(void)
{
	return is_keeper;
}

static void sleep_ns(long ns)
{
	struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

/*
 * Between two looks, of which this was the @n-th. It sleeps: who gives way by sched_yield() on
 * a busy host gets its processor again when all others have had a turn, while who has slept
 * gets it at once. With eight busy loops beside that cost a weight of 9 out of 10 ten points.
 */
void gs_pause(uint32_t n)
{
	unsigned int i;

	if (n >= 20)
		sleep_ns(n < GS_QUICK_LOOKS ? 20000 : 100000);
	for (i = 0; n < 20 && i < 32; i++)
		__asm__ volatile("" ::: "memory");
}

static bool keep(void)
{
	bool busy = false, wanted = false;
	struct gs_device *dev;
	size_t i;

	for (i = 0; i < GS_DEVICES; i++) {
		dev = __atomic_load_n(&gs_devices[i], __ATOMIC_ACQUIRE);
		if (!dev || !dev->budget.share)
			continue;
		if (__atomic_load_n(&dev->budget.in_flight, __ATOMIC_RELAXED)) {
			busy = true;
			gs_note_workers(&dev->budget);
			wanted |= gs_is_awaited(&dev->budget);
			gs_reap(dev);
			gs_say_late(&dev->budget);
		}
		gs_ask_for_queued(&dev->budget);
	}
	gs_devices_past_gate();
	sleep_ns(wanted ? QUICK_NS : SLOW_NS);
	return busy;
}

static void *keeper_main(void *arg)
{
	int mode = CU_STREAM_CAPTURE_RELAXED;
	unsigned int idle = 0;

	(void)arg;
	is_keeper = true;
	prctl(PR_SET_NAME, "gpushare-cuda");
	prctl(PR_SET_TIMERSLACK, 1000ul);
	REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	for (;;) {
		idle = keep() ? 0 : idle + 1;
		if (idle < LINGER)
			continue;
		__atomic_store_n(&keeper, ASLEEP, __ATOMIC_SEQ_CST);
		if (!keep())	/* whoever launched before that didn't wake us */
			syscall(SYS_futex, &keeper, FUTEX_WAIT_PRIVATE, ASLEEP, NULL, NULL, 0);
		__atomic_store_n(&keeper, AWAKE, __ATOMIC_SEQ_CST);
		idle = 0;
	}
	return NULL;
}

bool gs_thread(void *(*start)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	bool made;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	made = !pthread_create(&thread, &attr, start, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return made;
}

static void keeper_start(void)
{
	uint32_t none = NONE;

	if (__atomic_compare_exchange_n(&keeper, &none, AWAKE, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST) && !gs_thread(keeper_main, NULL))
		__atomic_store_n(&keeper, NONE, __ATOMIC_SEQ_CST);
}

void gs_keeper_wake(void)
{
	uint32_t state = __atomic_load_n(&keeper, __ATOMIC_SEQ_CST);

	if (__builtin_expect(state == AWAKE, 1))
		return;
	if (state == NONE) {
		keeper_start();
	} else if (__atomic_exchange_n(&keeper, AWAKE, __ATOMIC_SEQ_CST) == ASLEEP) {
		syscall(SYS_futex, &keeper, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

void gs_keeper_forget(void)
{
	keeper = NONE;
}

static bool has_room(struct gs_device *dev, uint64_t est_ns)
{
	return __atomic_load_n(&dev->budget.in_flight, __ATOMIC_RELAXED) < GS_IN_FLIGHT &&
	       gs_has_room(&dev->budget, est_ns);
}

/*
 * Is the device held, or will it be again without our doing, as what is in flight was too
 * long to be waited for? Not if that takes for ever: it may wait for the very launch that
 * waits for it here.
 */
static bool is_kept(const struct gs_device *dev, uint64_t *lost_ns)
{
	struct gpushare_grant grant;

	gpushare_grant(dev->budget.share, &grant);
	if (grant.flags & GPUSHARE_GRANTED)
		return true;
	if (!*lost_ns)
		*lost_ns = gs_now();
	return grant.flags & GPUSHARE_WAITING && gs_now() - *lost_ns < BESIDE_NS +
		2 * __atomic_load_n(&dev->budget.in_flight_ns, __ATOMIC_RELAXED);
}

/* Returns whether the launch has begun. */
static __attribute__((noinline)) bool wait_for_room(struct gs_device *dev, uint64_t est_ns)
{
	uint64_t lost_ns = 0;
	uint32_t n = 0;

	gs_queue(&dev->budget);
	/*
	 * Asked back: all that is in flight ends first, and then begin() gives it back. If it
	 * was taken, what is in flight may wait for this very launch, and begin() asks anew.
	 */
	while (__atomic_load_n(&dev->budget.in_flight, __ATOMIC_RELAXED) &&
	       (!gpushare_may_run(dev->budget.share) || !has_room(dev, est_ns))) {
		if (!gpushare_may_run(dev->budget.share))
			gs_areas_stop(dev);
		if (!is_kept(dev, &lost_ns))
			break;
		gs_reap(dev);
		gs_say_late(&dev->budget);
		gs_pause(n++);
	}
	gs_ask_for_queued(&dev->budget);
	return gs_begin_queued(&dev->budget);
}

uint64_t gs_admit(struct gs_device *dev, uint64_t est_ns)
{
	if (!est_ns)
		est_ns = gs_unknown_ns(&dev->budget);
	for (;;) {
		if (__builtin_expect(!gpushare_may_run(dev->budget.share) ||
				     !has_room(dev, est_ns), 0) && wait_for_room(dev, est_ns))
			break;
		/* The one thing that can fail is memory, in a forked child. */
		if (gpushare_begin(dev->budget.share, GPUSHARE_FOREVER) != -EINTR)
			break;
	}
	if (gs_enter(&dev->budget, 1, est_ns)) {
		gs_note_workers(&dev->budget);
		gs_keeper_wake();
	}
	return est_ns;
}

void gs_refused(struct gs_device *dev, uint64_t est_ns)
{
	gs_leave(&dev->budget, 1, est_ns);
	gpushare_end(dev->budget.share);
}
