/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What differs between the places where the core is built: as part of the
 * kernel module, and as user-space code (daemon, simulator, tests). This is
 * the only file of the core with a preprocessor conditional.
 */
#ifndef GS_CORE_OS_H
#define GS_CORE_OS_H

#ifdef __KERNEL__

#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

#else

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX
#define S64_MAX		INT64_MAX
#define BIT(n)		(1ul << (n))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

#define gs_paste2(a, b)	a##b
#define gs_paste(a, b)	gs_paste2(a, b)
#define gs_pick(a, op, b, x, y) \
	({ __typeof__(a) x = (a); __typeof__(b) y = (b); x op y ? x : y; })
#define gs_pick_once(a, op, b, n) gs_pick(a, op, b, gs_paste(x_, n), gs_paste(y_, n))
#define min(a, b)	gs_pick_once(a, <, b, __COUNTER__)
#define max(a, b)	gs_pick_once(a, >, b, __COUNTER__)
#define min_t(t, a, b)	min((t)(a), (t)(b))
#define max_t(t, a, b)	max((t)(a), (t)(b))
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline void gs_list_link(struct list_head *e, struct list_head *prev,
				struct list_head *next)
{
	e->prev = prev;
	e->next = next;
	prev->next = e;
	next->prev = e;
}

static inline void list_add(struct list_head *e, struct list_head *head)
{
	gs_list_link(e, head, head->next);
}

static inline void list_add_tail(struct list_head *e, struct list_head *head)
{
	gs_list_link(e, head->prev, head);
}

static inline void list_del_init(struct list_head *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	INIT_LIST_HEAD(e);
}

static inline void list_move_tail(struct list_head *e, struct list_head *head)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	list_add_tail(e, head);
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) list_entry((head)->prev, type, member)
#define list_for_each_entry(p, head, m)					\
	for (p = list_entry((head)->next, __typeof__(*p), m); &p->m != (head);	\
	     p = list_entry(p->m.next, __typeof__(*p), m))
#define list_for_each_entry_reverse(p, head, m)				\
	for (p = list_entry((head)->prev, __typeof__(*p), m); &p->m != (head);	\
	     p = list_entry(p->m.prev, __typeof__(*p), m))
#define list_for_each_entry_safe(p, n, head, m)				\
	for (p = list_entry((head)->next, __typeof__(*p), m),		\
	     n = list_entry(p->m.next, __typeof__(*p), m); &p->m != (head);	\
	     p = n, n = list_entry(n->m.next, __typeof__(*n), m))

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline s64 div64_s64(s64 a, s64 b)
{
	return a / b;
}

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (u64)((unsigned __int128)a * b / c);
}

#endif
#endif
