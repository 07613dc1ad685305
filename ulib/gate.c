// SPDX-License-Identifier: MIT
/*
 * The gate: slices begin and end here.
 *
 * The quick way in is an increment and a look at the grant; it is open while
 * something is held. Whoever finds it shut takes the lock and does what is
 * missing: asks, gives back and asks, or waits for the thread that is asking
 * (one does, the others sleep on gate->event) or for those under way to end.
 *
 * A grant that just came lets one slice through even if it is asked back
 * already: on a machine so busy that we wake up late nobody would get anywhere
 * else.
 *
 * When the last slice ends on a grant that is asked back, nothing is sent: the
 * next one's beginning gives back and asks in one message, which keeps us among
 * those to choose from. If none comes, we are idle, and the arbiter sees that.
 *
 * A grant can be gone again before we have seen it, if we wake up very late: it
 * is told from one still to come by the epoch, and asked for anew.
 *
 * The idle flag is a conversation with the arbiter, which withdraws an idle
 * holder's grant without asking: here "not idle" is written before the grant is
 * read, there the grant is withdrawn before the flag is read for the last time,
 * each with a full fence between; so at least one of the two sees the other.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client.h"

#define PUBLIC __attribute__((visibility("default")))
#define PROBE_NS 5000000000ull
#define DRAIN_NS 10000000ull	/* who waits for ends looks so often whether that is needed */

static void futex_wake(uint32_t *word, int how)
{
	syscall(SYS_futex, word, FUTEX_WAKE | how, INT_MAX, NULL, NULL, 0);
}

/* The thread that sleeps on the arbiter's page. */
void gs_wake_asker(struct gs_gate *gate)
{
	futex_wake(&gate->asker->pages.grant->wake, 0);
}

/* Those who sleep on this gate look again. */
void gs_changed(struct gs_gate *gate)
{
	__atomic_add_fetch(&gate->event, 1, __ATOMIC_RELEASE);
	futex_wake(&gate->event, FUTEX_PRIVATE_FLAG);
}

/* Sleeps, without the lock, until gs_changed(); false if the time has come. */
static bool wait_event(struct gs_gate *gate, uint32_t seen, uint64_t until_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000),
	};

	if (until_ns != GPUSHARE_FOREVER && gs_now() >= until_ns)
		return false;
	pthread_mutex_unlock(&gate->lock);
	syscall(SYS_futex, &gate->event, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen,
		until_ns == GPUSHARE_FOREVER ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY);
	pthread_mutex_lock(&gate->lock);
	return true;
}

static bool wait_changed(struct gs_gate *gate, uint64_t until_ns)
{
	return wait_event(gate, __atomic_load_n(&gate->event, __ATOMIC_ACQUIRE), until_ns);
}

static bool nothing_under_way(const struct gs_gate *gate)
{
	return !(__atomic_load_n(&gate->under_way, __ATOMIC_SEQ_CST) & ~GS_CLOSED);
}

/*
 * `draining` was set before @seen was read; the last slice to end reads it after its
 * decrement, so either it sees us waiting or we see that it has ended. What is under way may
 * never end: after its grace the arbiter takes the device back, which wakes nobody here.
 */
static int wait_drained(struct gs_gate *gate, uint32_t seen, uint64_t until_ns)
{
	uint64_t soon = gpushare_after(DRAIN_NS);

	if (nothing_under_way(gate))
		return 0;
	if (soon > until_ns)
		soon = until_ns;
	return wait_event(gate, seen, soon) || soon != until_ns ? 0 : -ETIMEDOUT;
}

static bool is_closed(struct gs_gate *gate)
{
	return __atomic_load_n(&gate->under_way, __ATOMIC_ACQUIRE) & GS_CLOSED;
}

static void open_gate(struct gs_gate *gate)
{
	__atomic_and_fetch(&gate->under_way, ~GS_CLOSED, __ATOMIC_SEQ_CST);
}

/* Only if nothing is under way. */
static bool close_gate(struct gs_gate *gate)
{
	uint32_t none = 0;

	return __atomic_compare_exchange_n(&gate->under_way, &none, GS_CLOSED, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void set_idle(struct gs_gate *gate, uint64_t since)
{
	__atomic_store_n(&gate->pages.client->idle_ns, since, __ATOMIC_RELAXED);
}

static bool may_run(uint64_t word)
{
	return (word & (GPUSHARE_GRANTED | GPUSHARE_PREEMPT)) == GPUSHARE_GRANTED;
}

/* One more under way; the lock is held and there is leave to run. */
static int enter(struct gs_gate *gate)
{
	__atomic_add_fetch(&gate->under_way, 1, __ATOMIC_SEQ_CST);
	set_idle(gate, 0);
	return 0;
}

static int give_up_asking(struct gs_gate *gate)
{
	struct gpushare_wait w = { .size = sizeof(w), .flags = GPUSHARE_WAIT_NONBLOCK };
	int err = gs_call(gate, GPUSHARE_YIELD, &w);

	/* A grant that came at the last moment went back with it. */
	gate->epoch_back = gs_epoch(gs_word(gate));
	gate->requested = false;
	return err;
}

static struct gs_asked asked_of(const struct gs_gate *gate)
{
	return (struct gs_asked){
		.page = gate->pages.grant, .own = gate->pages.client,
		.epoch_back = gate->epoch_back, .lost = &gate->lost,
	};
}

static int give_back(struct gs_gate *gate)
{
	struct gs_asked of = asked_of(gate);

	return gate->arbiter.ops->yield(&gate->arbiter, &of);
}

/* Work is queued: a grant isn't to be taken for an idle one while we wake up. */
static struct gs_asked start_asking(struct gs_gate *gate, struct gs_gate *asker)
{
	gate->asker = asker;
	set_idle(gate, 0);
	return asked_of(gate);
}

/*
 * Asks, without a lock, and waits. A daemon that hangs can't be told from one that
 * has others to serve, so now and then it is asked whether it is there.
 */
static int ask_arbiter(struct gs_gate *gate, struct gs_ask *ask)
{
	uint64_t until = ask->until_ns, probe;
	int err;

	for (;;) {
		probe = gpushare_after(PROBE_NS);
		if (gate->arbiter.ops->can_die && probe < until)
			ask->until_ns = probe;
		err = gate->arbiter.ops->ask(&gate->arbiter, ask);
		if (err != -ETIMEDOUT || ask->until_ns == until)
			return err;
		err = gs_probe(gate);
		if (err)
			return err;
		ask->until_ns = until;
		ask->again = false;
	}
}

/*
 * This thread asks, others wait for it. Returns 0 with the gate open or shut
 * as it turned out (look again), or what ends the caller's wait.
 */
static int ask(struct gs_client *client, bool again, uint64_t until_ns, bool *granted)
{
	struct gs_gate *gate = client->gate;
	struct gs_asked of = start_asking(gate, gate);
	struct gs_ask ask = { .of = &of, .n = 1, .again = again, .until_ns = until_ns };
	int err;

	pthread_mutex_unlock(&gate->lock);
	err = ask_arbiter(gate, &ask);
	pthread_mutex_lock(&gate->lock);
	gate->asker = NULL;
	gate->requested = err == -EAGAIN;
	if (!err) {
		open_gate(gate);
		*granted = true;
	} else if (err == -ETIMEDOUT) {
		give_up_asking(gate);
		set_idle(gate, gs_now());
	} else if (err != -EAGAIN && err != -EINTR) {
		gs_go_ungated(client, err);
		err = 0;
	}
	gs_changed(gate);
	return err == -EINTR ? 0 : err;
}

/*
 * Shuts the gate on a grant that is asked back or gone. Returns false if slices
 * are under way on it: they must end first.
 */
static bool shut(struct gs_gate *gate, uint64_t word, bool *again)
{
	if (!(word & GPUSHARE_GRANTED))
		__atomic_or_fetch(&gate->under_way, GS_CLOSED, __ATOMIC_SEQ_CST);
	else if (close_gate(gate))
		*again = true;
	else
		return false;
	gate->epoch_back = gs_epoch(word);
	return true;
}

/* What a gate is waiting for; its lock is held. */
enum need {
	NOTHING,	/* it is open, or there is none */
	AN_END,		/* slices are under way on a grant that is asked back */
	AN_ASKER,	/* another thread asks */
	A_GRANT,	/* it is shut: ask */
};

static enum need look(struct gs_client *client, bool *again)
{
	struct gs_gate *gate = client->gate;
	uint64_t word = gs_word(gate);

	*again = false;
	if (!gate->gated)
		return NOTHING;
	if (word & GPUSHARE_GONE) {
		/* Its connection is in use without a lock; who asks sees this page too. */
		if (gate->asker == gate)
			return AN_ASKER;
		gs_go_ungated(client, -ENODEV);
		return NOTHING;
	}
	if (!is_closed(gate)) {
		if (may_run(word))
			return NOTHING;
		if (!shut(gate, word, again))
			return AN_END;
	}
	if (gate->asker)
		return AN_ASKER;
	if (*again || !gs_word_granted(word, gate->epoch_back))
		return A_GRANT;
	gate->requested = false;
	open_gate(gate);
	return NOTHING;
}

static int begin_locked(struct gs_client *client, uint64_t until_ns)
{
	struct gs_gate *gate = client->gate;
	bool again, granted = false;
	uint32_t seen;
	int err = 0;

	while (!granted) {
		switch (look(client, &again)) {
		case NOTHING:
			return enter(gate);
		case AN_END:
			__atomic_add_fetch(&gate->draining, 1, __ATOMIC_SEQ_CST);
			seen = __atomic_load_n(&gate->event, __ATOMIC_SEQ_CST);
			err = wait_drained(gate, seen, until_ns);
			__atomic_sub_fetch(&gate->draining, 1, __ATOMIC_SEQ_CST);
			break;
		case AN_ASKER:
			err = wait_changed(gate, until_ns) ? 0 : -ETIMEDOUT;
			break;
		case A_GRANT:
			err = ask(client, again, until_ns, &granted);
			break;
		}
		if (err)
			return until_ns ? err : -EAGAIN;
	}
	return enter(gate);
}

static __attribute__((noinline)) int begin_slow(struct gs_client *client, uint64_t until_ns)
{
	struct gs_gate *gate = client->gate;
	int saved = errno, err = 0;

	if (!__atomic_load_n(&gate->ready, __ATOMIC_ACQUIRE))
		err = gs_set_up(client);
	if (!err) {
		gs_watch_if_needed(client);
		pthread_mutex_lock(&gate->lock);
		err = begin_locked(client, until_ns);
		pthread_mutex_unlock(&gate->lock);
		gs_watch_if_needed(client);
	}
	errno = saved;
	return err;
}

/* The quick way in. */
static inline bool begin_quick(struct gpushare *handle)
{
	struct gs_gate *gate = gs_gate_of(handle);
	uint32_t before;

	before = __atomic_fetch_add(&gate->under_way, 1, __ATOMIC_SEQ_CST);
	if (!(before & ~GS_CLOSED)) {
		set_idle(gate, 0);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	if (__builtin_expect(!(before & GS_CLOSED) && gpushare_may_run(handle), 1))
		return true;
	/* Nothing runs, so say that again: a busy one would be taken to be at work. */
	if (!(__atomic_sub_fetch(&gate->under_way, 1, __ATOMIC_SEQ_CST) & ~GS_CLOSED))
		set_idle(gate, gs_now());
	return false;
}

PUBLIC int gpushare_begin(struct gpushare *handle, uint64_t until_ns)
{
	if (__builtin_expect(__atomic_load_n(&gs_gate_of(handle)->ready, __ATOMIC_ACQUIRE), 1) &&
	    __builtin_expect(begin_quick(handle), 1))
		return 0;
	return begin_slow(gs_client_of(handle), until_ns);
}

/*
 * A set: the gates of all are locked, in one order, and looked at. One that is
 * open is taken. If none is, all are asked for at once, on the connection of the
 * first that is arbitrated; that the others are being asked for is noted at each.
 */
struct set {
	struct gs_client *of[GS_SET_MAX];	/* the caller's first */
	struct gs_client *locked[GS_SET_MAX];	/* the same in the order of addresses */
	unsigned int n;
};

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)*(struct gs_client * const *)a;
	uintptr_t y = (uintptr_t)*(struct gs_client * const *)b;

	return x < y ? -1 : x > y;
}

static int set_take(struct set *set, struct gs_client *first)
{
	struct gs_client *c = first;
	unsigned int i;
	int err;

	set->n = 0;
	if (!gs_sets_lock())
		return -ENOMEM;
	do {
		set->of[set->n++] = c;
		c = c->set;
	} while (c != first);
	gs_sets_unlock();
	for (i = 0; i < set->n; i++) {
		c = set->of[i];
		err = __atomic_load_n(&c->gate->ready, __ATOMIC_ACQUIRE) ? 0 : gs_set_up(c);
		if (err)
			return err;
		gs_watch_if_needed(c);
	}
	memcpy(set->locked, set->of, sizeof(set->of));
	qsort(set->locked, set->n, sizeof(set->locked[0]), by_address);
	return 0;
}

static void set_lock(const struct set *set)
{
	unsigned int i;

	for (i = 0; i < set->n; i++)
		pthread_mutex_lock(&set->locked[i]->gate->lock);
}

static void set_unlock(const struct set *set)
{
	unsigned int i = set->n;

	while (i)
		pthread_mutex_unlock(&set->locked[--i]->gate->lock);
}

/* One whose grant has come, and so is open now. */
static struct gs_client *set_granted(const struct set *set)
{
	struct gs_gate *gate;
	unsigned int i;

	for (i = 0; i < set->n; i++) {
		gate = set->of[i]->gate;
		if (!gate->gated || !gs_word_granted(gs_word(gate), gate->epoch_back))
			continue;
		open_gate(gate);
		return set->of[i];
	}
	return NULL;
}

/*
 * @again: a gate was just shut on a grant that was asked back. It must be given
 * back even if those who wanted it have gone meanwhile, and it isn't any more.
 */
static int set_ask(const struct set *set, bool again, uint64_t until_ns,
		   struct gs_client **granted)
{
	struct gs_client *first = NULL, *lost;
	struct gs_asked of[GS_SET_MAX];
	struct gs_ask ask = { .of = of, .again = again, .until_ns = until_ns };
	unsigned int i;
	int err;

	for (i = 0; i < set->n; i++) {
		if (!set->of[i]->gate->gated)
			continue;
		if (!first)
			first = set->of[i];
		of[ask.n++] = start_asking(set->of[i]->gate, first->gate);
	}
	set_unlock(set);
	err = ask_arbiter(first->gate, &ask);
	set_lock(set);
	if (err == -ETIMEDOUT)
		give_up_asking(first->gate);
	/* A grant may have come at the last moment. */
	*granted = err && err != -ETIMEDOUT ? NULL : set_granted(set);
	lost = first;		/* unless the watcher saw it at another */
	for (i = 0; i < set->n; i++) {
		struct gs_gate *gate = set->of[i]->gate;

		/* One that has come back under arbitration meanwhile wasn't asked for. */
		if (gate->asker != first->gate)
			continue;
		gate->asker = NULL;
		gate->requested = err == -EAGAIN;
		if (err == -ETIMEDOUT)
			set_idle(gate, gs_now());
		if (__atomic_load_n(&gate->lost, __ATOMIC_ACQUIRE))
			lost = set->of[i];
		gs_changed(gate);
	}
	if (*granted)
		return 0;
	if (err && err != -EAGAIN && err != -EINTR && err != -ETIMEDOUT && err != -ENODEV)
		gs_go_ungated(lost, err);
	return err == -EAGAIN || err == -ETIMEDOUT ? err : 0;
}

/* Sleeps, with nothing locked, until something changes at the gate. */
static int set_wait(const struct set *set, struct gs_gate *gate, bool drain, uint64_t until_ns)
{
	uint32_t seen;
	int err;

	__atomic_add_fetch(&gate->draining, drain, __ATOMIC_SEQ_CST);
	seen = __atomic_load_n(&gate->event, __ATOMIC_SEQ_CST);
	set_unlock(set);
	pthread_mutex_lock(&gate->lock);
	if (drain)
		err = wait_drained(gate, seen, until_ns);
	else
		err = wait_event(gate, seen, until_ns) ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&gate->lock);
	set_lock(set);
	__atomic_sub_fetch(&gate->draining, drain, __ATOMIC_SEQ_CST);
	return err;
}

/* Nothing will run on these: those who wait for them needn't wait for linger. */
static void set_give_back(const struct set *set, uint64_t back)
{
	unsigned int i;

	for (i = 0; i < set->n; i++)
		if (back & 1ull << i)
			give_back(set->of[i]->gate);
}

static int begin_any_locked(const struct set *set, uint64_t until_ns, struct gs_client **which)
{
	struct gs_client *open, *closed, *busy;
	enum need need, why = NOTHING;
	unsigned int i;
	uint64_t back;
	bool again;
	int err;

	for (;;) {
		open = closed = busy = NULL;
		back = 0;
		for (i = 0; i < set->n; i++) {
			need = look(set->of[i], &again);
			back |= (uint64_t)again << i;
			if (need == NOTHING && set->of[i]->gate->gated && !open)
				open = set->of[i];
			else if (need == A_GRANT)
				closed = set->of[i];
			else if (need != NOTHING)
				busy = set->of[i], why = need;
		}
		if (open || busy)
			set_give_back(set, back);
		if (open || (!busy && !closed)) {		/* or none is arbitrated */
			*which = open ? open : set->of[0];
			return enter((*which)->gate);
		}
		if (busy)
			err = set_wait(set, busy->gate, why == AN_END, until_ns);
		else
			err = set_ask(set, back, until_ns, which);
		if (err)
			return until_ns ? err : -EAGAIN;
		if (!busy && *which)
			return enter((*which)->gate);
	}
}

PUBLIC int gpushare_begin_any(struct gpushare *handle, uint64_t until_ns, struct gpushare **which)
{
	struct gs_client *granted = NULL;
	int saved = errno, err;
	struct set set;

	err = set_take(&set, gs_client_of(handle));
	if (!err) {
		set_lock(&set);
		err = begin_any_locked(&set, until_ns, &granted);
		set_unlock(&set);
	}
	if (!err)
		*which = &granted->gate->public;
	errno = saved;
	return err;
}

PUBLIC void gpushare_end(struct gpushare *handle)
{
	struct gs_gate *gate = gs_gate_of(handle);
	uint32_t left;

	/* A forked child may end what its parent began: that isn't its own. */
	if (nothing_under_way(gate))
		return;
	left = __atomic_sub_fetch(&gate->under_way, 1, __ATOMIC_SEQ_CST);
	if (left & ~GS_CLOSED)
		return;
	set_idle(gate, gs_now());
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!nothing_under_way(gate))
		set_idle(gate, 0);
	if (__builtin_expect(__atomic_load_n(&gate->draining, __ATOMIC_ACQUIRE), 0))
		gs_changed(gate);
}

PUBLIC int gpushare_yield(struct gpushare *handle)
{
	struct gs_gate *gate = gs_gate_of(handle);
	int saved = errno, err = 0;
	uint64_t word;

	if (!__atomic_load_n(&gate->ready, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&gate->lock);
	word = gs_word(gate);
	if (gate->asker || !nothing_under_way(gate)) {
		err = -EBUSY;
	} else if (!gate->gated) {
		err = 0;
	} else if (!is_closed(gate)) {
		if (close_gate(gate)) {
			gate->epoch_back = gs_epoch(word);
			err = give_back(gate);
		} else {
			err = -EBUSY;
		}
	} else if (gate->requested) {
		err = give_up_asking(gate);
	}
	pthread_mutex_unlock(&gate->lock);
	errno = saved;
	return err == -EPIPE ? 0 : err;
}
