// SPDX-License-Identifier: MIT
/*
 * The code that is ours: how a block gets its number, and how workers go round.
 *
 * Thread 0 of a block, the leader, looks at the stop word and takes the ticket. It
 * tells the others through the block's slot in device memory and a barrier. No
 * shared memory is used, because a kernel may use all there is, and its dynamic
 * shared memory must not move.
 *
 * Workers go round as long as there are tickets. That the threads of a block wait
 * for each other at the end of a round is one more barrier, and it must not be
 * taken for one of the kernel's own by threads that are still at work. Where that
 * can happen (see exits.c) threads that are done *park*: the kernel's barriers
 * become reductions in which those at work contribute "not done", and a parked
 * thread takes part in each with "done" until all say so.
 *
 * A kernel that reduces in barriers itself needs its own value carried, too. There
 * each barrier takes two rounds: the first as above, the second counts a predicate,
 * to which parked threads add nothing; and/or are made from the count.
 */
#include "write.h"

#define AT(member)	offsetof(struct gsx_launch, member)

void write_registers(struct writer *w)
{
	say(w->o, "\n\t.reg .pred %%gsx_p<4>;\n\t.reg .b32 %%gsx_r<6>;\n\t.reg .b64 %%gsx_d<3>;\n");
	if (w->j->n_slots)
		say(w->o, "\t.reg .b64 %%gsx_v<%u>;\n", SHARED_MOST);
	if (w->entry && w->mode != GSX_SLICE)
		say(w->o, "\t.reg .b32 %%gsx_x, %%gsx_y, %%gsx_z;\n");
}

/* %gsx_p0: not the leader */
static void find_leader(struct writer *w)
{
	say(w->o, "\tmov.u32 %%gsx_r0, %%tid.x;\n"
	    "\tsetp.ne.u32 %%gsx_p0, %%gsx_r0, 0;\n"
	    "\tmov.u32 %%gsx_r0, %%tid.y;\n"
	    "\tsetp.ne.or.u32 %%gsx_p0, %%gsx_r0, 0, %%gsx_p0;\n"
	    "\tmov.u32 %%gsx_r0, %%tid.z;\n"
	    "\tsetp.ne.or.u32 %%gsx_p0, %%gsx_r0, 0, %%gsx_p0;\n");
}

/*
 * %gsx_d0: this block's slot. Found again at each use, as a register that waits
 * for the next would cost more.
 */
static void find_slot(struct writer *w)
{
	say(w->o, "\tld.param.u64 %%gsx_d0, [gsx_launch+%zu];\n"
	    "\tmov.u32 %%gsx_r1, %%ctaid.x;\n"
	    "\tmul.wide.u32 %%gsx_d2, %%gsx_r1, %zu;\n"
	    "\tadd.s64 %%gsx_d0, %%gsx_d0, %%gsx_d2;\n", AT(slots), sizeof(struct gsx_slot));
}

/* Leader: %gsx_r2 = the next ticket */
static void take_ticket(struct writer *w)
{
	say(w->o, "\tld.param.u64 %%gsx_d2, [gsx_launch+%zu];\n"
	    "\tatom.global.add.u32 %%gsx_r2, [%%gsx_d2], 1;\n", AT(queue));
}

/* Leader: %gsx_p1 = stopped */
static void look_at_stop(struct writer *w)
{
	say(w->o, "\tld.param.u64 %%gsx_d2, [gsx_launch+%zu];\n"
	    "\tld.volatile.global.u32 %%gsx_r3, [%%gsx_d2];\n"
	    "\tsetp.ne.u32 %%gsx_p1, %%gsx_r3, 0;\n", AT(stop));
}

static void tell_ticket(struct writer *w)
{
	say(w->o, "$gsx_tell:\n");
	find_slot(w);
	say(w->o, "\tst.global.u32 [%%gsx_d0], %%gsx_r2;\n");
}

/* All: the ticket from the slot; those without work return. %gsx_r2: the block */
static void hear_ticket(struct writer *w)
{
	say(w->o, "$gsx_told:\n");
	/* lanes that came round the loop on different ways are one warp again */
	if (w->mode == GSX_WORKERS)
		say(w->o, "\tbar.warp.sync 0xffffffff;\n");
	say(w->o, "\tbar.sync 0;\n");
	find_slot(w);
	say(w->o, "\tld.global.u32 %%gsx_r2, [%%gsx_d0];\n"
	    "\tld.param.u32 %%gsx_r3, [gsx_launch+%zu];\n"
	    "\tsetp.ge.u32 %%gsx_p1, %%gsx_r2, %%gsx_r3;\n"
	    "\t@%%gsx_p1 ret;\n", AT(total));
}

/* to = from / grid[d], by multiplication; from < 2^31 */
static void divide(struct writer *w, const char *to, const char *from, int d)
{
	say(w->o, "\tshl.b32 %%gsx_r3, %s, 1;\n"
	    "\tld.param.u32 %%gsx_r4, [gsx_launch+%zu];\n"
	    "\tmul.hi.u32 %%gsx_r3, %%gsx_r3, %%gsx_r4;\n"
	    "\tld.param.u32 %%gsx_r4, [gsx_launch+%zu];\n"
	    "\tshr.u32 %s, %%gsx_r3, %%gsx_r4;\n", from, AT(mul) + 4 * d, AT(shift) + 4 * d, to);
}

/* rest = from - quotient * grid[d] */
static void remainder_of(struct writer *w, const char *rest, const char *from,
			 const char *quotient, int d)
{
	say(w->o, "\tld.param.u32 %%gsx_r4, [gsx_launch+%zu];\n"
	    "\tmul.lo.u32 %%gsx_r3, %s, %%gsx_r4;\n"
	    "\tsub.u32 %s, %s, %%gsx_r3;\n", AT(grid) + 4 * d, quotient, rest, from);
}

/* %gsx_x, y, z from the linear number in %gsx_r2, as far as they're read */
static void block_number(struct writer *w)
{
	bool x = w->ids & FACT(READS_CTAID), y = w->ids & FACT(READS_CTAID + 1);
	bool z = w->ids & FACT(READS_CTAID + 2);

	if (!x && !y && !z)
		return;
	divide(w, "%gsx_r5", "%gsx_r2", 0);
	if (x)
		remainder_of(w, "%gsx_x", "%gsx_r2", "%gsx_r5", 0);
	if (!y && !z)
		return;
	divide(w, "%gsx_z", "%gsx_r5", 1);
	if (y)
		remainder_of(w, "%gsx_y", "%gsx_r5", "%gsx_z", 1);
}

static void guard(struct writer *w)
{
	find_leader(w);
	say(w->o, "\t@%%gsx_p0 bra $gsx_told;\n");
	look_at_stop(w);
	say(w->o, "\t@%%gsx_p1 bra $gsx_stop;\n");
	take_ticket(w);
	say(w->o, "\tbra $gsx_tell;\n$gsx_stop:\n\tmov.u32 %%gsx_r2, %#x;\n", GSX_NO_BLOCK);
	tell_ticket(w);
	hear_ticket(w);
	block_number(w);
}

/* Leader: %gsx_d1 = &queue->sm[%gsx_r0] */
static void find_counter(struct writer *w)
{
	say(w->o, "\tld.param.u64 %%gsx_d1, [gsx_launch+%zu];\n"
	    "\tmul.wide.u32 %%gsx_d2, %%gsx_r0, 4;\n"
	    "\tadd.s64 %%gsx_d1, %%gsx_d1, %%gsx_d2;\n", AT(queue));
}

/* Leader: %gsx_r5 = workers here, %gsx_r4 = how many there may be */
static void look_at_quota(struct writer *w)
{
	say(w->o, "\tld.param.u64 %%gsx_d2, [gsx_launch+%zu];\n"
	    "\tld.volatile.global.u32 %%gsx_r4, [%%gsx_d2];\n"
	    "\tld.volatile.global.u32 %%gsx_r5, [%%gsx_d1+%zu];\n", AT(quota),
	    offsetof(struct gsx_queue, sm));
}

/* Leader: the counter from %gsx_r5 to %gsx_r4, or back to `again`. */
static void count(struct writer *w, const char *again)
{
	say(w->o, "\tatom.global.cas.b32 %%gsx_r4, [%%gsx_d1+%zu], %%gsx_r5, %%gsx_r4;\n"
	    "\tsetp.ne.u32 %%gsx_p1, %%gsx_r4, %%gsx_r5;\n"
	    "\t@%%gsx_p1 bra %s;\n", offsetof(struct gsx_queue, sm), again);
}

/* Leader: which counter this worker is in */
static void note_counter(struct writer *w, const char *index)
{
	find_slot(w);
	say(w->o, "\tst.global.u32 [%%gsx_d0+%zu], %s;\n", offsetof(struct gsx_slot, sm), index);
}

static void come_in(struct writer *w)
{
	find_leader(w);
	say(w->o, "\t@%%gsx_p0 bra $gsx_next;\n"
	    "\tmov.u32 %%gsx_r0, %%smid;\n"
	    "\tand.b32 %%gsx_r0, %%gsx_r0, %u;\n", GSX_SM_SLOTS - 1);
	note_counter(w, "%gsx_r0");
	find_counter(w);
	say(w->o, "$gsx_enter:\n");
	look_at_quota(w);
	say(w->o, "\tsetp.ge.u32 %%gsx_p1, %%gsx_r5, %%gsx_r4;\n"
	    "\t@%%gsx_p1 bra $gsx_full;\n"
	    "\tadd.u32 %%gsx_r4, %%gsx_r5, 1;\n");
	count(w, "$gsx_enter");
	say(w->o, "\tbra $gsx_next;\n$gsx_full:\n");
	note_counter(w, "0xffffffff");
}

/* Leader: out of the loop, by the stop word or the end of the queue, or as surplus. */
static void go_out(struct writer *w)
{
	say(w->o, "$gsx_leave:\n"
	    "\tred.global.add.u32 [%%gsx_d1+%zu], %#x;\n"
	    "\tbra $gsx_none;\n"
	    "$gsx_surplus:\n"
	    "\tadd.u32 %%gsx_r4, %%gsx_r5, %#x;\n", offsetof(struct gsx_queue, sm), ~0u, ~0u);
	count(w, "$gsx_look");
	say(w->o, "$gsx_none:\n\tmov.u32 %%gsx_r2, %#x;\n", GSX_NO_BLOCK);
}

/* One look after the other: values that wait together for memory cost registers. */
static void workers(struct writer *w)
{
	come_in(w);
	say(w->o, "$gsx_next:\n\t@%%gsx_p0 bra $gsx_told;\n$gsx_look:\n");
	find_slot(w);
	say(w->o, "\tld.global.u32 %%gsx_r0, [%%gsx_d0+%zu];\n"
	    "\tsetp.eq.u32 %%gsx_p1, %%gsx_r0, %#x;\n"
	    "\t@%%gsx_p1 bra $gsx_none;\n", offsetof(struct gsx_slot, sm), GSX_NO_BLOCK);
	find_counter(w);
	look_at_stop(w);
	say(w->o, "\t@%%gsx_p1 bra $gsx_leave;\n");
	look_at_quota(w);
	say(w->o, "\tsetp.gt.u32 %%gsx_p1, %%gsx_r5, %%gsx_r4;\n"
	    "\t@%%gsx_p1 bra $gsx_surplus;\n");
	take_ticket(w);
	say(w->o, "\tld.param.u32 %%gsx_r3, [gsx_launch+%zu];\n"
	    "\tsetp.lt.u32 %%gsx_p1, %%gsx_r2, %%gsx_r3;\n"
	    "\t@%%gsx_p1 bra $gsx_tell;\n", AT(total));
	go_out(w);
	tell_ticket(w);
	hear_ticket(w);
	block_number(w);
}

void write_prologue(struct writer *w)
{
	write_registers(w);
	if (w->mode == GSX_GUARD)
		guard(w);
	else if (w->mode == GSX_WORKERS)
		workers(w);
}

/* Where a worker's threads meet when they are done with a block. */
void write_epilogue(struct writer *w)
{
	if (w->mode != GSX_WORKERS)
		return;
	say(w->o, "\n$gsx_done:\n");
	if (w->copies_in_flight)
		say(w->o, "\tcp.async.wait_all;\n");
	if (!w->parks) {
		say(w->o, "\tbarrier.sync 0;\n");
		goto out;
	}
	say(w->o, "\tmov.pred %%gsx_p1, -1;\n"
	    "\tbarrier.red.and.pred %%gsx_p2, 0, %%gsx_p1;\n"
	    "\t@%%gsx_p2 bra $gsx_finished;\n");
	if (w->two_rounds)
		say(w->o, "\tmov.pred %%gsx_p1, 0;\n"
		    "\tbarrier.red.popc.u32 %%gsx_r0, 0, %%gsx_p1;\n");
	say(w->o, "\tbra $gsx_done;\n$gsx_finished:\n");
out:
	say(w->o, "\t@%%gsx_p0 bra $gsx_next;\n"
	    "\tld.param.u64 %%gsx_d1, [gsx_launch+%zu];\n"
	    "\tred.global.add.u32 [%%gsx_d1], 1;\n"
	    "\tbra $gsx_next;\n", AT(progress));
}

/* The second round: the kernel's own reduction, or nothing. */
static void second_round(struct writer *w, const struct ptx_stmt *s)
{
	const struct ptx_opcode *o = ptx_opcode(w->m, s);
	const struct ptx_operand *to = ptx_arg(w->m, s, 0), *from = ptx_arg(w->m, s, 2);
	bool all = ptx_has_mod(o, "and");
	const struct ptx_symbol *t, *f;

	if (barrier_kind(w->m, s) != BARRIER_REDUCING) {
		write_pred(w, s);
		say(w->o, "barrier.red.popc.u32 %%gsx_r0, 0, %%gsx_p1;");
		return;
	}
	t = &w->m->syms[to->sym];
	f = &w->m->syms[from->sym];
	write_pred(w, s);
	say(w->o, "barrier.red.popc.u32 %%gsx_r0, 0, %s%.*s;\n\t",
	    from->not != all ? "!" : "", (int)f->len, f->s);
	write_pred(w, s);
	if (ptx_has_mod(o, "popc"))
		say(w->o, "mov.b32 %.*s, %%gsx_r0;", (int)t->len, t->s);
	else	/* or: somebody's holds; and: nobody's doesn't */
		say(w->o, "setp.%s.u32 %.*s, %%gsx_r0, 0;", all ? "eq" : "ne", (int)t->len, t->s);
}

void write_parked_barrier(struct writer *w, const struct ptx_stmt *s)
{
	say(w->o, "mov.pred %%gsx_p1, 0;\n\t");
	write_pred(w, s);
	say(w->o, "barrier.red.and.pred %%gsx_p2, 0, %%gsx_p1;");
	if (w->two_rounds) {
		say(w->o, "\n\t");
		second_round(w, s);
	}
}
