// SPDX-License-Identifier: MIT
/*
 * A sorted table of blocks. Device blocks get addresses that go up and come
 * around at the end of the range only, so that a stale pointer seldom meets a new
 * block; between two blocks there is always a gap that belongs to nobody.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "memory.h"

#define RANGE ((size_t)64 << 30)
#define WINDOW ((size_t)64 << 30)

static struct {
	struct mem_block **table;
	size_t n, cap;
	uint64_t base, next;
	uint8_t *shadow;
	size_t used[MEM_DEVICES], total;
	uint64_t ids;
	struct mem_block *last;	/* the one found most recently */
} m = { .total = (size_t)4 << 30 };

static bool reserve(void)
{
	void *addr, *shadow;

	if (m.base)
		return true;
	addr = mmap(NULL, RANGE + WINDOW, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	shadow = mmap(NULL, RANGE + WINDOW, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED || shadow == MAP_FAILED)
		return false;
	m.base = (uint64_t)(uintptr_t)addr;
	m.shadow = shadow;
	m.next = m.base + (1 << 20);
	return true;
}

/* Index of the first block that begins above @addr. */
static size_t above(uint64_t addr)
{
	size_t lo = 0, hi = m.n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (m.table[mid]->addr > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool insert(struct mem_block *b)
{
	size_t at = above(b->addr), cap;
	struct mem_block **t;

	if (m.n == m.cap) {
		cap = m.cap ? m.cap * 2 : 64;
		t = realloc(m.table, cap * sizeof(*t));
		if (!t)
			return false;
		m.table = t;
		m.cap = cap;
	}
	memmove(m.table + at + 1, m.table + at, (m.n - at) * sizeof(*m.table));
	m.table[at] = b;
	m.n++;
	b->id = ++m.ids;
	b->preferred = b->last_prefetch = -2;
	return true;
}

/* A free stretch of the range for @size bytes and a gap, 0: none. */
static uint64_t place(size_t size)
{
	uint64_t at = m.next, end = m.base + RANGE;
	size_t i, tries;

	for (tries = 0; tries < 2; tries++) {
		for (i = above(at); at + size + MEM_ALIGN <= end; i++) {
			if (i && m.table[i - 1]->addr + m.table[i - 1]->mapped > at)
				at = m.table[i - 1]->addr + m.table[i - 1]->mapped;
			if (i == m.n || m.table[i]->addr >= at + size + MEM_ALIGN ||
			    m.table[i]->addr < m.base)
				return at;
			at = m.table[i]->addr + m.table[i]->mapped;
		}
		at = m.base + (1 << 20);
	}
	return 0;
}

static struct mem_block *host_block(struct mem_block *b)
{
	b->mapped = (b->size + 4095) & ~(size_t)4095;
	b->host = mmap(NULL, b->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->host == MAP_FAILED)
		return NULL;
	b->addr = (uint64_t)(uintptr_t)b->host;
	b->seen_by = ~0u;
	return b;
}

static struct mem_block *device_block(struct mem_block *b)
{
	b->mapped = ((b->size + MEM_ALIGN - 1) & ~(size_t)(MEM_ALIGN - 1)) + MEM_ALIGN;
	if (!mem_charge(b->device, b->size))
		return NULL;
	b->addr = place(b->mapped);
	if (!b->addr) {
		mem_uncharge(b->device, b->size);
		return NULL;
	}
	b->host = m.shadow + (b->addr - m.base);
	memset(b->host, 0xcd, b->size < (64 << 20) ? b->size : 64 << 20);	/* not zeros */
	m.next = b->addr + b->mapped;
	b->seen_by = b->kind == MEM_ARRAY ? 0 : 1u << b->device;
	return b;
}

static bool on_device(const struct mem_block *b)
{
	return b->kind == MEM_DEVICE || b->kind == MEM_MODULE || b->kind == MEM_ARRAY;
}

struct mem_block *mem_alloc(uint32_t device, size_t size, enum mem_kind kind, void *owner)
{
	struct mem_block *b = calloc(1, sizeof(*b));

	if (!b || !reserve() || size > RANGE / 2) {
		free(b);
		return NULL;
	}
	b->size = size;
	b->kind = kind;
	b->owner = owner;
	b->device = device;
	if (!(on_device(b) ? device_block(b) : host_block(b))) {
		free(b);
		return NULL;
	}
	if (!insert(b)) {
		if (on_device(b))
			mem_uncharge(device, size);
		free(b);
		return NULL;
	}
	return b;
}

struct mem_block *mem_register(void *host, size_t size, void *owner)
{
	struct mem_block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->addr = (uint64_t)(uintptr_t)host;
	b->host = host;
	b->size = b->mapped = size;
	b->kind = MEM_REGISTERED;
	b->owner = owner;
	b->seen_by = ~0u;
	if (insert(b))
		return b;
	free(b);
	return NULL;
}

static void take_out(struct mem_block *b)
{
	size_t i = above(b->addr) - 1;

	memmove(m.table + i, m.table + i + 1, (m.n - i - 1) * sizeof(*m.table));
	m.n--;
	m.last = NULL;
}

void mem_free(struct mem_block *b)
{
	take_out(b);
	if (on_device(b)) {
		mem_uncharge(b->device, b->size);
		memset(b->host, 0xdd, b->size < 4096 ? b->size : 4096);
		if (b->mapped > (1 << 20))
			madvise((void *)(((uintptr_t)b->host + 4095) & ~4095ul),
				(b->mapped - 4096) & ~4095ul, MADV_DONTNEED);
	} else if (b->kind != MEM_REGISTERED) {
		munmap(b->host, b->mapped);
	}
	free(b);
}

void mem_free_owner(void *owner)
{
	size_t i;

	for (i = m.n; i-- > 0; )
		if (m.table[i]->owner == owner)
			mem_free(m.table[i]);
}

void mem_reuse(uint64_t addr)
{
	m.next = addr;
}

struct mem_block *mem_next(uint64_t addr)
{
	size_t i = addr ? above(addr - 1) : 0;

	return i < m.n ? m.table[i] : NULL;
}

struct mem_block *mem_find(uint64_t addr)
{
	struct mem_block *b = m.last;
	size_t i;

	if (b && addr - b->addr < b->size)
		return b;
	i = above(addr);
	if (!i)
		return NULL;
	b = m.table[i - 1];
	if (addr - b->addr >= b->size)
		return NULL;
	return m.last = b;
}

/* Mappings that follow each other without a gap are as good as one. */
static bool goes_on(const struct mem_block *b, size_t size)
{
	size_t i = above(b->addr);

	while (size) {
		if (b->kind != MEM_MAPPED || i == m.n || m.table[i]->kind != MEM_MAPPED ||
		    m.table[i]->addr != b->addr + b->size || m.table[i]->seen_by != b->seen_by)
			return false;
		b = m.table[i++];
		size -= size < b->size ? size : b->size;
	}
	return true;
}

uint8_t *mem_host(uint64_t addr, size_t size)
{
	struct mem_block *b = mem_find(addr);
	size_t left;

	if (!b || (!b->seen_by && b->kind != MEM_ARRAY))
		return NULL;
	left = b->size - (addr - b->addr);
	if (size > left && !goes_on(b, size - left))
		return NULL;
	return b->host + (addr - b->addr);
}

size_t mem_in_use(uint32_t device)
{
	return m.used[device];
}

bool mem_charge(uint32_t device, size_t size)
{
	if (size > m.total || m.used[device] > m.total - size)
		return false;
	m.used[device] += size;
	return true;
}

void mem_uncharge(uint32_t device, size_t size)
{
	m.used[device] -= size;
}

size_t mem_total(void)
{
	return m.total;
}

void mem_set_total(size_t bytes)
{
	m.total = bytes;
}

bool mem_window(uint64_t *base, size_t *size)
{
	*base = reserve() ? m.base + RANGE : 0;
	*size = WINDOW;
	return *base;
}

struct mem_block *mem_map(uint32_t device, uint64_t addr, size_t size, int fd, size_t offset,
			  void *owner)
{
	struct mem_block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->addr = addr;
	b->size = b->mapped = size;
	b->kind = MEM_MAPPED;
	b->owner = owner;
	b->device = device;
	b->host = mmap(m.shadow + (addr - m.base), size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED, fd, offset);
	if (b->host != MAP_FAILED && insert(b))
		return b;
	free(b);
	return NULL;
}

void mem_unmap(struct mem_block *b)
{
	take_out(b);
	mmap(b->host, b->size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	free(b);
}
