/* SPDX-License-Identifier: MIT */
/*
 * bpf(2) by itself, for a program of some fifty instructions: neither a compiler nor a
 * library is needed where it is loaded. All calls go through gs_bpf(), so that a test can
 * let each of them fail. All return 0 or more, or -errno.
 */
#ifndef GS_CTL_BPF_H
#define GS_CTL_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int gs_bpf(int cmd, union bpf_attr *attr);

struct gs_map_kind {
	const char *name;		/* at most 15 characters */
	uint32_t type;			/* BPF_MAP_TYPE_* */
	uint32_t key, value;		/* bytes */
	uint32_t entries;
	uint32_t flags;
};

int gs_map_make(const struct gs_map_kind *kind);
int gs_map_set(int fd, const void *key, const void *value);
int gs_map_get(int fd, const void *key, void *value);
int gs_map_remove(int fd, const void *key);
/* The key after @key, of any after NULL: -ENOENT after the last. */
int gs_map_next(int fd, const void *key, void *next);

/*
 * A program as it is written: jumps go to labels, numbers that the writer chooses, which
 * become distances when it is loaded.
 */
#define GS_CODE_MOST	192
#define GS_LABELS_MOST	16

struct gs_code {
	struct bpf_insn v[GS_CODE_MOST];
	unsigned int n;
	int label_of[GS_CODE_MOST];	/* where a jump goes; -1: it is none */
	int at[GS_LABELS_MOST];
	bool too_long;
};

void gs_code_begin(struct gs_code *c);
void gs_code_add(struct gs_code *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		 int32_t imm);
/* A jump, if @dst compares so with @imm. */
void gs_code_jump(struct gs_code *c, uint8_t op, uint8_t dst, int32_t imm, int label);
void gs_code_label(struct gs_code *c, int label);
/* r1 = the map of @fd */
void gs_code_map(struct gs_code *c, int fd);
/* -E2BIG: it has no room. What the verifier said last is put into @why. */
int gs_code_load(struct gs_code *c, uint32_t type, const char *name, char *why, size_t size);

#endif
