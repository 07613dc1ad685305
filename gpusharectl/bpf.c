// SPDX-License-Identifier: MIT
#include "bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOG_SIZE	65536

int gs_bpf(int cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

int gs_map_make(const struct gs_map_kind *kind)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = kind->type;
	attr.key_size = kind->key;
	attr.value_size = kind->value;
	attr.max_entries = kind->entries;
	attr.map_flags = kind->flags;
	strncpy(attr.map_name, kind->name, sizeof(attr.map_name) - 1);
	return gs_bpf(BPF_MAP_CREATE, &attr);
}

static int map_call(int cmd, int fd, const void *key, const void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = address(key);
	attr.value = address(value);
	return gs_bpf(cmd, &attr);
}

int gs_map_set(int fd, const void *key, const void *value)
{
	return map_call(BPF_MAP_UPDATE_ELEM, fd, key, value);
}

int gs_map_get(int fd, const void *key, void *value)
{
	return map_call(BPF_MAP_LOOKUP_ELEM, fd, key, value);
}

int gs_map_remove(int fd, const void *key)
{
	return map_call(BPF_MAP_DELETE_ELEM, fd, key, NULL);
}

int gs_map_next(int fd, const void *key, void *next)
{
	return map_call(BPF_MAP_GET_NEXT_KEY, fd, key, next);
}

void gs_code_begin(struct gs_code *c)
{
	memset(c, 0, sizeof(*c));
	memset(c->label_of, -1, sizeof(c->label_of));
	memset(c->at, -1, sizeof(c->at));
}

void gs_code_add(struct gs_code *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		 int32_t imm)
{
	if (c->n == GS_CODE_MOST) {
		c->too_long = true;
		return;
	}
	c->v[c->n++] = (struct bpf_insn){ .code = code, .dst_reg = dst, .src_reg = src,
					  .off = off, .imm = imm };
}

void gs_code_jump(struct gs_code *c, uint8_t op, uint8_t dst, int32_t imm, int label)
{
	if (c->n < GS_CODE_MOST)
		c->label_of[c->n] = label;
	gs_code_add(c, BPF_JMP | op | BPF_K, dst, 0, 0, imm);
}

void gs_code_label(struct gs_code *c, int label)
{
	c->at[label] = (int)c->n;
}

void gs_code_map(struct gs_code *c, int fd)
{
	gs_code_add(c, BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, fd);
	gs_code_add(c, 0, 0, 0, 0, 0);
}

/* The last line that the verifier wrote before its figures is why it refused. */
static void last_words(char *log, char *why, size_t size)
{
	char *line, *save = NULL, *last = NULL;

	for (line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strncmp(line, "processed ", 10))
			last = line;
	if (last)
		strncpy(why, last, size - 1);
}

int gs_code_load(struct gs_code *c, uint32_t type, const char *name, char *why, size_t size)
{
	union bpf_attr attr;
	unsigned int i;
	char *log;
	int rc, again;

	memset(why, 0, size);
	if (c->too_long)
		return -E2BIG;
	for (i = 0; i < c->n; i++)
		if (c->label_of[i] >= 0)
			c->v[i].off = (int16_t)(c->at[c->label_of[i]] - (int)i - 1);
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.insns = address(c->v);
	attr.insn_cnt = c->n;
	attr.license = address("MIT");
	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	rc = gs_bpf(BPF_PROG_LOAD, &attr);
	if (rc >= 0 || (rc != -EINVAL && rc != -EACCES))
		return rc;
	/* Once more, for its reasons: a log costs memory, and may be too small. */
	log = calloc(1, LOG_SIZE);
	if (!log)
		return rc;
	attr.log_buf = address(log);
	attr.log_size = LOG_SIZE;
	attr.log_level = 1;
	again = gs_bpf(BPF_PROG_LOAD, &attr);
	if (again >= 0)
		close(again);
	else
		last_words(log, why, size);
	free(log);
	return rc;
}
