// SPDX-License-Identifier: MIT
/*
 * The gate, and the keeper.
 *
 * Each launch is a bracket on the device's handle: it begins here, before it goes
 * to the driver, and ends when its end is noticed. So the arbiter's answer is read
 * from its page at each launch, without a call; and the grant is given back only
 * when nothing of ours is on the device.
 *
 * What is in flight is bounded by time, the sum of the estimates, to one slice of
 * the grant: whoever waits then waits for about a slice, and the device never runs
 * dry, since a slice is long against a launch. A kernel of more than a slice goes
 * alone if somebody waits, with one more behind it if nobody does. What was never
 * measured is taken for an eighth of a slice.
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
#include "ulib/glibc.h"

GS_OLD(pthread_create);
GS_OLD(pthread_sigmask);
GS_OLD(pthread_attr_setstacksize);

#define STACK		(1024 * 1024)
#define SLOW_NS		1000000
#define QUICK_NS	100000
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

/*
 * A thread that waits for room has work queued, so its device isn't idle: a bracket says so
 * for all such threads. Where the grant is asked back and nothing is in flight, whoever
 * notices ends that bracket and asks anew in the thread's stead, which may be kept from its
 * processor for long: a request that isn't made is a share that isn't had.
 */
static void hold_on(struct gs_device *dev)
{
	pthread_mutex_lock(&dev->holding);
	if (dev->held && !gpushare_may_run(dev->gate)) {
		gpushare_end(dev->gate);
		dev->held = false;
	}
	if (!dev->held && __atomic_load_n(&dev->queued, __ATOMIC_SEQ_CST))
		dev->held = !gpushare_begin(dev->gate, 0);
	pthread_mutex_unlock(&dev->holding);
}

static void hold_no_more(struct gs_device *dev)
{
	if (__atomic_sub_fetch(&dev->queued, 1, __ATOMIC_SEQ_CST))
		return;
	pthread_mutex_lock(&dev->holding);
	if (dev->held && !__atomic_load_n(&dev->queued, __ATOMIC_SEQ_CST)) {
		gpushare_end(dev->gate);
		dev->held = false;
	}
	pthread_mutex_unlock(&dev->holding);
}

/* Is there work queued, and nothing of it said to the arbiter? */
static bool must_ask(const struct gs_device *dev)
{
	return __atomic_load_n(&dev->queued, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&dev->in_flight, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&dev->held, __ATOMIC_RELAXED) && !gpushare_may_run(dev->gate);
}

static bool keep(void)
{
	bool busy = false, wanted = false;
	struct gs_device *dev;
	size_t i;

	for (i = 0; i < GS_DEVICES; i++) {
		dev = __atomic_load_n(&gs_devices[i], __ATOMIC_ACQUIRE);
		if (!dev || !dev->gate)
			continue;
		if (__atomic_load_n(&dev->in_flight, __ATOMIC_RELAXED)) {
			busy = true;
			gs_device_look(dev);
			wanted |= __atomic_load_n(&dev->waiters, __ATOMIC_RELAXED) > 0;
			gs_reap(dev);
		}
		if (must_ask(dev))
			hold_on(dev);
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

static uint64_t estimate(const struct gs_device *dev, uint64_t est_ns)
{
	return est_ns ? est_ns : __atomic_load_n(&dev->slice_ns, __ATOMIC_RELAXED) / 8;
}

static bool has_room(const struct gs_device *dev, uint64_t est_ns)
{
	uint32_t n = __atomic_load_n(&dev->in_flight, __ATOMIC_RELAXED);
	uint64_t ns = __atomic_load_n(&dev->in_flight_ns, __ATOMIC_RELAXED);

	if (!n)
		return true;
	if (n >= GS_IN_FLIGHT)
		return false;
	if (ns + est_ns <= __atomic_load_n(&dev->slice_ns, __ATOMIC_RELAXED))
		return true;
	return n < 2 && !__atomic_load_n(&dev->waiters, __ATOMIC_RELAXED);
}

static bool is_granted(const struct gs_device *dev)
{
	struct gpushare_grant grant;

	gpushare_grant(dev->gate, &grant);
	return grant.flags & GPUSHARE_GRANTED;
}

/* Returns whether the launch has begun. */
static __attribute__((noinline)) bool wait_for_room(struct gs_device *dev, uint64_t est_ns)
{
	uint32_t n = 0;
	bool begun;

	__atomic_add_fetch(&dev->queued, 1, __ATOMIC_SEQ_CST);
	hold_on(dev);
	/*
	 * Asked back: all that is in flight ends first, and then begin() gives it back. If it
	 * was taken, what is in flight may wait for this very launch, and begin() asks anew.
	 */
	while (__atomic_load_n(&dev->in_flight, __ATOMIC_RELAXED) &&
	       (!gpushare_may_run(dev->gate) || !has_room(dev, est_ns))) {
		if (!gpushare_may_run(dev->gate))
			gs_areas_stop(dev);
		if (!is_granted(dev))
			break;
		gs_reap(dev);
		gs_device_look(dev);
		gs_pause(n++);
	}
	if (must_ask(dev))
		hold_on(dev);
	begun = !gpushare_begin(dev->gate, 0);
	hold_no_more(dev);
	return begun;
}

uint64_t gs_admit(struct gs_device *dev, uint64_t est_ns)
{
	est_ns = estimate(dev, est_ns);
	for (;;) {
		if (__builtin_expect(!gpushare_may_run(dev->gate) || !has_room(dev, est_ns), 0) &&
		    wait_for_room(dev, est_ns))
			break;
		/* The one thing that can fail is memory, in a forked child. */
		if (gpushare_begin(dev->gate, GPUSHARE_FOREVER) != -EINTR)
			break;
	}
	__atomic_add_fetch(&dev->in_flight_ns, est_ns, __ATOMIC_RELAXED);
	if (!__atomic_fetch_add(&dev->in_flight, 1, __ATOMIC_SEQ_CST)) {
		gs_device_look(dev);
		gs_keeper_wake();
	}
	return est_ns;
}

static void leave(struct gs_device *dev, uint64_t n, uint64_t est_ns)
{
	uint64_t i;

	__atomic_sub_fetch(&dev->in_flight_ns, est_ns, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&dev->in_flight, n, __ATOMIC_RELAXED);
	for (i = 0; i < n; i++)
		gpushare_end(dev->gate);
}

void gs_refused(struct gs_device *dev, uint64_t est_ns)
{
	leave(dev, 1, est_ns);
}

void gs_ended(struct gs_device *dev, uint64_t n, struct gs_load load)
{
	gpushare_progress(dev->gate, load.blocks, load.ns);
	leave(dev, n, load.ns);
}
