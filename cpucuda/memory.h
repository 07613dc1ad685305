/* SPDX-License-Identifier: MIT */
/*
 * The device's memory: which addresses are whose.
 *
 * Device addresses lie in a range that is reserved and never readable, so that
 * a host that follows a device pointer dies as it would on a machine with a GPU;
 * the bytes are kept at a fixed distance from there. Host memory that the device
 * may see (pinned, registered, managed) keeps its own address. Every access by a
 * kernel is looked up here, to the byte.
 *
 * Reserved ranges, to which memory is mapped piece by piece, lie in a window of
 * their own; there the bytes are pages of a file that the mapping brings.
 */
#ifndef CPUCUDA_MEMORY_H
#define CPUCUDA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MEM_ARRAY has no address that a kernel could use; MEM_MAPPED lies in the window. */
enum mem_kind { MEM_DEVICE, MEM_MODULE, MEM_ARRAY, MEM_MAPPED, MEM_PINNED, MEM_REGISTERED,
	MEM_MANAGED };

struct mem_block {
	uint64_t addr;		/* as the device says it */
	size_t size;		/* as asked for: what lies behind it is out of bounds */
	uint8_t *host;		/* where the bytes are */
	enum mem_kind kind;
	void *owner;		/* context, module, pool, array: what it goes with */
	size_t mapped;		/* bytes of address space taken */
	unsigned int flags;
	uint64_t id;		/* never the same twice */
	uint32_t device;
	uint32_t seen_by;	/* devices whose kernels reach it; more do by peer access */
	uint32_t read_only;	/* devices whose kernels may not write it */
	/* advice about managed memory, which is kept and shown; devices, -1 host, -2 none */
	int preferred, last_prefetch;
	uint32_t accessed_by;
	bool read_mostly;
};

#define MEM_ALIGN 512u
#define MEM_DEVICES 8u

/* All return NULL when there is no room. Callers hold the device's lock. */
struct mem_block *mem_alloc(uint32_t device, size_t size, enum mem_kind kind, void *owner);
struct mem_block *mem_register(void *host, size_t size, void *owner);
void mem_free(struct mem_block *b);
void mem_free_owner(void *owner);
/* What is allocated next begins there, if it fits. */
void mem_reuse(uint64_t addr);
/* The first block at this address or above it. */
struct mem_block *mem_next(uint64_t addr);
/* The block that holds this byte, NULL: none. */
struct mem_block *mem_find(uint64_t addr);
/* Where @size bytes at a device address are; NULL if not wholly inside one block. */
uint8_t *mem_host(uint64_t addr, size_t size);
/* Bytes of a device that are given out; room that is taken without a block. */
size_t mem_in_use(uint32_t device);
bool mem_charge(uint32_t device, size_t size);
void mem_uncharge(uint32_t device, size_t size);
/* Each device has so many. */
size_t mem_total(void);
void mem_set_total(size_t bytes);

/* Where ranges may be reserved. */
bool mem_window(uint64_t *base, size_t *size);
/* Pages of @fd at a place of the window, which nobody sees yet; and away with them. */
struct mem_block *mem_map(uint32_t device, uint64_t addr, size_t size, int fd, size_t offset,
			  void *owner);
void mem_unmap(struct mem_block *b);

#endif
