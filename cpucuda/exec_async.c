// SPDX-License-Identifier: MIT
/*
 * Barriers in shared memory (mbarrier), and copies that complete on them.
 *
 * The 64 bits of a barrier are its owner's business; here they are, from below:
 * arrivals that are awaited in this phase (20), in each phase (20), bytes that are
 * still to come (21, signed), and the phase (1). A phase ends when neither arrivals
 * nor bytes are awaited any more. Copies are done at once, so their bytes count down
 * at once, and to wait is to look again.
 */
#include <string.h>
#include "exec.h"

#define COUNT 0xfffffull
#define BYTES 0x1fffffull

struct state {
	uint32_t pending, expected, phase;
	int32_t bytes;
};

static struct state unpack(uint64_t v)
{
	return (struct state){ v & COUNT, v >> 20 & COUNT, v >> 63,
		(int32_t)(v >> 40 << 11) >> 11 };
}

static uint64_t pack(const struct state *s)
{
	return s->pending | (uint64_t)s->expected << 20 | ((uint64_t)s->bytes & BYTES) << 40 |
		(uint64_t)s->phase << 63;
}

static void settle(struct state *s)
{
	if (s->pending || s->bytes)
		return;
	s->pending = s->expected;
	s->phase ^= 1;
}

static bool change(struct thread *t, const struct insn *i, uint8_t *p, uint32_t arrive,
		   int32_t bytes, bool drop)
{
	struct state s;
	uint64_t v;

	memcpy(&v, p, 8);
	s = unpack(v);
	if (arrive > s.pending) {
		thread_fault(t, i, FAULT_INSTRUCTION, "%u arrivals at a barrier that awaits %u", arrive,
			     s.pending);
		return false;
	}
	s.pending -= arrive;
	s.expected -= drop ? arrive : 0;
	s.bytes += bytes;
	settle(&s);
	v = pack(&s);
	memcpy(p, &v, 8);
	return true;
}

/* Operands: {state,} [barrier] {, count or state or phase}; i->n says which are there. */
void exec_mbarrier(struct thread *t, const struct insn *i)
{
	const struct opnd *arg = &i->a[i->target + 1];
	uint64_t n = i->n > i->target + 1 ? val(t, arg) : 1, v;
	struct state s = { 0 };
	uint8_t *p;

	if (i->op == MB_PENDING) {
		s = unpack(val(t, &i->a[1]));
		put(t, &i->a[0], PTX_T_B32, s.pending);
		return;
	}
	p = access_at(t, i, &i->a[i->target], i->space, 8);
	if (!p)
		return;
	memcpy(&v, p, 8);
	switch (i->op) {
	case MB_INIT:
		s.pending = s.expected = n & COUNT;
		v = pack(&s);
		memcpy(p, &v, 8);
		break;
	case MB_INVAL:
		memset(p, 0xcc, 8);
		break;
	case MB_EXPECT:
		change(t, i, p, 0, n, false);
		break;
	case MB_COMPLETE:
		change(t, i, p, 0, -(int32_t)n, false);
		break;
	case MB_ARRIVE:
	case MB_DROP:	/* with .expect_tx the number is of bytes */
		if (change(t, i, p, i->op2 ? 1 : n, i->op2 ? n : 0, i->op == MB_DROP) && i->target)
			put(t, &i->a[0], PTX_T_B64, v);
		break;
	default:	/* test_wait, try_wait: has the phase of this state or parity ended? */
		put(t, &i->a[0], PTX_T_PRED, (v >> 63) != (i->op2 ? n & 1 : n >> 63));
	}
}

/* cp.async.bulk [dst], [src], size {, [barrier]}: op2 says where from, space where to */
void exec_bulk(struct thread *t, const struct insn *i)
{
	uint32_t size = val(t, &i->a[2]);
	uint8_t *d, *s, *b = NULL;

	if (!size || size % 16) {
		thread_fault(t, i, FAULT_MISALIGNED, "a bulk copy of %u bytes", size);
		return;
	}
	d = range_at(t, i, &i->a[0], i->space, size, 16);
	s = d ? range_at(t, i, &i->a[1], i->op2, size, 16) : NULL;
	if (s && i->op)
		b = access_at(t, i, &i->a[3], PTX_SPACE_SHARED, 8);
	if (!s || (i->op && !b))
		return;
	memmove(d, s, size);
	if (b)
		change(t, i, b, 0, -(int32_t)size, false);
}

/* cp.async.mbarrier.arrive: what was copied before is there, so it arrives now. */
void exec_async_arrive(struct thread *t, const struct insn *i)
{
	uint8_t *p = access_at(t, i, &i->a[0], PTX_SPACE_SHARED, 8);
	struct state s;
	uint64_t v;

	if (!p)
		return;
	if (!i->op) {	/* without .noinc it adds the arrival that it makes */
		memcpy(&v, p, 8);
		s = unpack(v);
		s.pending++;
		v = pack(&s);
		memcpy(p, &v, 8);
	}
	change(t, i, p, 1, 0, false);
}
