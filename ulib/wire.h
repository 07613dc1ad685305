/* SPDX-License-Identifier: MIT */
/*
 * The daemon's socket: what <linux/gpushare.h> says, as messages.
 *
 * The socket is of type SOCK_SEQPACKET, so a message is one send() and one
 * recv(). Each is a struct gs_wire followed by the command's struct as it is
 * given to ioctl(); the struct's own size member says how long it is, and must
 * be the rest of the message. Each request is answered by one message with the
 * same cmd and cookie, REPLY set and the result; the struct follows, at most as
 * long as it was sent, also when the result is an error (some errors have
 * outputs). A request with QUIET isn't answered at all, whatever comes of it:
 * so ACQUIRE and YIELD are sent by who has no doorbell, as the grant page tells
 * how they went.
 *
 * One connection carries at most one client, as a file of the module does; it
 * belongs to the process that connected, whoever sends on it. What differs from an
 * ioctl:
 *
 * - A member that names an open file (cgroup_fd, authority_fd) holds the file's
 *   index among those sent along with the message (SCM_RIGHTS), or -1.
 * - set_fd of ATTACH is 0 or -1, no file: the other client of the set is named by
 *   its id, in @set of the header.
 * - The answer to ATTACH brings two files: the grant page (it can only be mapped
 *   for reading) and the client's page. Each has page_size bytes (VERSION).
 * - A caller that sees FEAT_BELL may set BELL in ATTACH's header: then a third
 *   file may come, its doorbell (it may not, if the daemon is short of files).
 * - ACQUIRE, and YIELD with AGAIN, without NONBLOCK are answered when granted.
 *   The connection can be used meanwhile; cookies tell answers apart. A second one
 *   that would wait is refused (EBUSY); what takes the request back ends the first
 *   with EINTR.
 * - Waiting on the page: each change of its word is followed by one of @wake and,
 *   when it is GRANTED, or GONE, EVICT or PREPARE have come, or a grant was
 *   withdrawn, by a FUTEX_WAKE of it (shared, as the page is). When one of a set was
 *   granted, both are done for all of them, after that.
 * - After EVENTS was answered the connection carries nothing but messages of the
 *   daemon, with EVENT set and one or more struct gpushare_event each. The
 *   reader may be slow: what didn't fit is counted by an event of type LOST.
 *
 * The doorbell is an eventfd. Who has one asks and gives back without a message:
 * it writes its wish on its page, and then 1 into the eventfd. A wish is a state,
 * so one that is overwritten before the daemon looked needs no answer of its own:
 *
 *	bits 0..7	WANT: I'd like to run. ANY: on whichever of my set
 *	bits 8..31	a number, another one with each wish
 *	bits 32..63	the low half of the epoch that I gave back last
 *
 * A grant of that epoch is given back. One of another epoch is one that the
 * client has not seen yet: it stays, and the wish is granted with it. Without a
 * grant WANT asks, if it doesn't wait yet, and no WANT takes a request back. With
 * ANY the others of the set have what they gave back on their own pages, written
 * before. The daemon takes each wish once: when the bell rings, or before the next
 * message of its connection, so that what is said in both ways keeps its order
 * (but a wish may overtake a QUIET message: who has a bell sends none). Unknown bits
 * of 0..7 make it no wish at all.
 *
 * A command with files may be answered with -ETIMEDOUT, if they can't be looked at in
 * time; the connection ends with that.
 *
 * Who isn't let in is told why: a REPLY of cmd and cookie 0, with a result and nothing else,
 * comes in place of any answer, and the connection ends. -EUSERS: it has no room left for
 * this user, this cgroup or all. The answer to VERSION says in @set how many callers were
 * turned away for that since the daemon was started.
 *
 * A message that isn't whole, is of unknown version, claims another length than
 * it has, or sends files where none are named ends the connection. Anything
 * that an ioctl would refuse is only refused.
 */
#ifndef GS_WIRE_H
#define GS_WIRE_H

#include <linux/gpushare.h>

#define GS_WIRE_MAGIC		0x31534721u	/* "!GS1" */

#define GS_WIRE_REPLY		0x1
#define GS_WIRE_QUIET		0x2
#define GS_WIRE_EVENT		0x4
#define GS_WIRE_BELL		0x8

struct gs_wire {
	__u32 magic;
	__u32 flags;		/* GS_WIRE_* */
	__u32 cmd;		/* GPUSHARE_*, the ioctl's number */
	__s32 result;		/* of a reply: 0 or -errno */
	__aligned_u64 cookie;	/* the sender's; repeated in the reply */
	__aligned_u64 set;	/* ATTACH, MEMORY: a client of this process or 0; back: VERSION's */
};

/* No struct is longer; what a message may carry at most. */
#define GS_WIRE_STRUCT_MAX	4096
#define GS_WIRE_FILES_MAX	3		/* in one message, either way */
#define GS_WIRE_EVENTS_MAX	32		/* in one message */

#define GS_WISH_WANT		0x1u
#define GS_WISH_ANY		0x2u
#define GS_WISH_FLAGS		0xffu
#define GS_WISH_NUMBER		0x100u		/* one more of these is another wish */
#define GS_WISH_EPOCH_SHIFT	32

#endif /* GS_WIRE_H */
