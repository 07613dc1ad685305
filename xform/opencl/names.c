// SPDX-License-Identifier: MIT
/* Words: each name of the text is one symbol; here is what OpenCL C means by it. */
#include <string.h>

#include "cl.h"
#include "device.h"
#include "../reserved.h"

struct entry {
	const char *name;
	uint8_t word;
	uint8_t arg;
};

/* Sorted by strcmp(). A type's arg is its size, 0: a pointer's. */
static const struct entry words[] = {
	{ "CLK_NULL_EVENT", W_NULL, 0 },
	{ "NULL", W_NULL, 0 },
	{ "_Atomic", W_ATOMIC, 0 },
	{ "_Bool", W_TYPE, 1 },
	{ "_Pragma", W_ATTRIBUTE, 0 },
	{ "__asm", W_ASM, 0 }, { "__asm__", W_ASM, 0 },
	{ "__attribute", W_ATTRIBUTE, 0 }, { "__attribute__", W_ATTRIBUTE, 0 },
	{ "__const", W_CONST, 0 }, { "__constant", W_CONSTANT, 0 },
	{ "__declspec", W_ATTRIBUTE, 0 },
	{ "__generic", W_GENERIC, 0 }, { "__global", W_GLOBAL, 0 },
	{ "__inline", W_INLINE, 0 }, { "__inline__", W_INLINE, 0 },
	{ "__kernel", W_KERNEL, 0 }, { "__kernel_exec", W_ATTRIBUTE, 1 },
	{ "__local", W_LOCAL, 0 }, { "__private", W_PRIVATE, 0 },
	{ "__read_only", W_READ_ONLY, 0 }, { "__read_write", W_READ_WRITE, 0 },
	{ "__restrict", W_RESTRICT, 0 }, { "__restrict__", W_RESTRICT, 0 },
	{ "__signed__", W_SIGNED, 0 },
	{ "__typeof", W_TYPEOF, 0 }, { "__typeof__", W_TYPEOF, 0 }, { "__volatile__", W_VOLATILE, 0 },
	{ "__write_only", W_WRITE_ONLY, 0 },
	{ "asm", W_ASM, 0 },
	{ "async_work_group_copy", W_ASYNC_COPY, 0 },
	{ "async_work_group_copy_2D2D", W_ASYNC_COPY, 0 },
	{ "async_work_group_copy_3D3D", W_ASYNC_COPY, 0 },
	{ "async_work_group_strided_copy", W_ASYNC_COPY, 0 },
	{ "barrier", W_BARRIER, 0 }, { "bool", W_TYPE, 1 }, { "break", W_BREAK, 0 },
	{ "case", W_CASE, 0 }, { "char", W_TYPE, 1 }, { "clk_event_t", W_EVENT, 0 },
	{ "const", W_CONST, 0 }, { "constant", W_CONSTANT, 0 }, { "continue", W_CONTINUE, 0 },
	{ "default", W_DEFAULT, 0 }, { "do", W_DO, 0 }, { "double", W_TYPE, 8 },
	{ "else", W_ELSE, 0 }, { "enqueue_kernel", W_ENQUEUE, 0 },
	{ "enqueue_marker", W_ENQUEUE, 0 }, { "enum", W_ENUM, 0 }, { "event_t", W_EVENT, 0 },
	{ "extern", W_EXTERN, 0 }, { "float", W_TYPE, 4 }, { "for", W_FOR, 0 },
	{ "fract", W_OUT_POINTER, 0 }, { "frexp", W_OUT_POINTER, 0 },
	{ "generic", W_GENERIC, 0 },
	{ "get_default_queue", W_ENQUEUE, 0 },
	{ "get_enqueued_local_size", W_ENQUEUED_SIZE, 0 },
	{ "get_enqueued_num_sub_groups", W_SUB_COUNT, 0 },
	{ "get_global_id", W_GLOBAL_ID, 0 }, { "get_global_linear_id", W_GLOBAL_LINEAR, 0 },
	{ "get_global_offset", W_GLOBAL_OFFSET, 0 }, { "get_global_size", W_GLOBAL_SIZE, 0 },
	{ "get_group_id", W_GROUP_ID, 0 }, { "get_kernel_work_group_size", W_ENQUEUE, 0 },
	{ "get_local_id", W_LOCAL_ID, 0 }, { "get_local_linear_id", W_LOCAL_ID, 0 },
	{ "get_local_size", W_UNIFORM_ID, 0 }, { "get_max_sub_group_size", W_SUB_COUNT, 0 },
	{ "get_num_groups", W_NUM_GROUPS, 0 }, { "get_num_sub_groups", W_SUB_GROUP, 0 },
	{ "get_pipe_max_packets", W_PIPE_CALL, 0 }, { "get_pipe_num_packets", W_PIPE_CALL, 0 },
	{ "get_sub_group_id", W_SUB_GROUP, 0 }, { "get_sub_group_local_id", W_SUB_GROUP, 0 },
	{ "get_sub_group_size", W_SUB_GROUP, 0 }, { "get_work_dim", W_WORK_DIM, 0 },
	{ "global", W_GLOBAL, 0 }, { "goto", W_GOTO, 0 }, { "half", W_TYPE, 2 },
	{ "if", W_IF, 0 }, { "inline", W_INLINE, 0 }, { "int", W_TYPE, 4 },
	{ "intptr_t", W_TYPE, 0 }, { "kernel", W_KERNEL, 0 }, { "lgamma_r", W_OUT_POINTER, 0 },
	{ "local", W_LOCAL, 0 }, { "long", W_TYPE, 8 }, { "mem_fence", W_FENCE, 0 },
	{ "modf", W_OUT_POINTER, 0 }, { "ndrange_t", W_QUEUE, 0 }, { "pipe", W_PIPE, 0 },
	{ "prefetch", W_PURE, 0 }, { "printf", W_PRINTF, 0 }, { "private", W_PRIVATE, 0 },
	{ "ptrdiff_t", W_TYPE, 0 }, { "queue_t", W_QUEUE, 0 }, { "read_mem_fence", W_FENCE, 0 },
	{ "read_only", W_READ_ONLY, 0 }, { "read_pipe", W_PIPE_CALL, 0 },
	{ "read_write", W_READ_WRITE, 0 }, { "register", W_INLINE, 0 },
	{ "remquo", W_OUT_POINTER, 0 }, { "restrict", W_RESTRICT, 0 },
	{ "return", W_RETURN, 0 }, { "sampler_t", W_SAMPLER, 0 }, { "short", W_TYPE, 2 },
	{ "signed", W_SIGNED, 4 }, { "sincos", W_OUT_POINTER, 0 }, { "size_t", W_TYPE, 0 },
	{ "sizeof", W_SIZEOF, 0 }, { "static", W_STATIC, 0 }, { "struct", W_STRUCT, 0 },
	{ "switch", W_SWITCH, 0 }, { "to_global", W_PASS, 0 }, { "to_local", W_PASS, 0 },
	{ "to_private", W_PASS, 0 }, { "typedef", W_TYPEDEF, 0 }, { "typeof", W_TYPEOF, 0 },
	{ "uchar", W_TYPE, 1 }, { "uint", W_TYPE, 4 }, { "uintptr_t", W_TYPE, 0 },
	{ "ulong", W_TYPE, 8 }, { "union", W_STRUCT, 0 }, { "unsigned", W_SIGNED, 4 },
	{ "ushort", W_TYPE, 2 }, { "void", W_VOID, 0 }, { "volatile", W_VOLATILE, 0 },
	{ "wait_group_events", W_COLLECTIVE, 0 }, { "while", W_WHILE, 0 },
	{ "work_group_barrier", W_BARRIER, 0 },
	{ "write_mem_fence", W_FENCE, 0 }, { "write_only", W_WRITE_ONLY, 0 },
	{ "write_pipe", W_PIPE_CALL, 0 },
};

/* Families, the longer prefix first. */
static const struct entry families[] = {
	{ "atomic_compare_exchange", W_CAS_EXPLICIT, 0 }, { "atomic_cmpxchg", W_CAS, 0 },
	{ "atom_cmpxchg", W_CAS, 0 }, { "atomic_work_item_fence", W_FENCE, 0 },
	{ "atomic_inc", W_ATOMIC_STEP, 0 }, { "atomic_dec", W_ATOMIC_STEP, 0 },
	{ "atom_inc", W_ATOMIC_STEP, 0 }, { "atom_dec", W_ATOMIC_STEP, 0 },
	{ "atomic_add", W_ATOMIC_ADD, 0 }, { "atomic_sub", W_ATOMIC_ADD, 0 },
	{ "atom_add", W_ATOMIC_ADD, 0 }, { "atom_sub", W_ATOMIC_ADD, 0 },
	{ "atomic_fetch_add", W_ATOMIC_ADD, 0 }, { "atomic_fetch_sub", W_ATOMIC_ADD, 0 },
	{ "atomic_load", W_ATOMIC_LOAD, 0 }, { "atomic_store", W_ATOMIC_STORE, 0 },
	{ "atomic_init", W_ATOMIC_STORE, 0 }, { "atomic_flag_clear", W_ATOMIC_STORE, 0 },
	{ "atomic_", W_ATOMIC_OTHER, 0 }, { "atom_", W_ATOMIC_OTHER, 0 },
	{ "vload", W_VLOAD, 0 }, { "vstore", W_VSTORE, 0 },
	{ "read_image", W_READ_IMAGE, 0 }, { "write_image", W_WRITE_IMAGE, 0 },
	{ "get_image_", W_PURE, 0 }, { "convert_", W_PURE, 0 }, { "as_", W_PASS, 0 },
	{ "work_group_", W_COLLECTIVE, 0 }, { "sub_group_barrier", W_SUB_BARRIER, 0 },
	/* as compilers name what stands behind them */
	{ "__builtin_amdgcn_workgroup_", W_INNER, 0 }, { "__builtin_amdgcn_grid_", W_INNER, 0 },
	{ "__builtin_amdgcn_dispatch_", W_INNER, 0 }, { "__builtin_amdgcn_queue_", W_INNER, 0 },
	{ "__builtin_amdgcn_kernarg_", W_INNER, 0 }, { "__builtin_amdgcn_s_getreg", W_INNER, 0 },
	{ "__builtin_amdgcn_implicitarg_", W_INNER, 0 }, { "__builtin_r600_", W_INNER, 0 },
	{ "__builtin_IB_", W_INNER, 0 }, { "__builtin_ptx_", W_INNER, 0 },
	{ "__builtin_spirv_", W_INNER, 0 }, { "__builtin_get_", W_INNER, 0 },
	{ "_Z", W_INNER, 0 },
	{ "sub_group_", W_SUB_GROUP, 0 }, { "intel_sub_group_", W_SUB_GROUP, 0 },
};

/* Those of the families that are something else. */
static const struct entry exceptions[] = {
	{ "work_group_reserve_read_pipe", W_PIPE_CALL, 0 },
	{ "work_group_reserve_write_pipe", W_PIPE_CALL, 0 },
	{ "work_group_commit_read_pipe", W_PIPE_CALL, 0 },
	{ "work_group_commit_write_pipe", W_PIPE_CALL, 0 },
};

static bool same(const char *name, const char *s, uint32_t len)
{
	return !strncmp(name, s, len) && !name[len];
}

static bool find_word(struct symbol *y, const char *s)
{
	uint32_t low = 0, high = sizeof(words) / sizeof(*words), mid;
	int c;

	while (low < high) {
		mid = (low + high) / 2;
		c = strncmp(words[mid].name, s, y->len);
		if (!c && words[mid].name[y->len])
			c = 1;
		if (!c) {
			y->word = words[mid].word;
			y->arg = words[mid].arg;
			return true;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* float4, uchar16: elements and size; image2d_t, atomic_int, __opencl_c types. */
static bool find_type(struct symbol *y, const char *s)
{
	static const char *const atomics[] = {
		"atomic_int", "atomic_uint", "atomic_long", "atomic_ulong", "atomic_float",
		"atomic_double", "atomic_flag", "atomic_size_t", "atomic_ptrdiff_t",
		"atomic_intptr_t", "atomic_uintptr_t",
	};
	struct symbol base = { .len = y->len };
	uint32_t n = 0, i;

	while (base.len && s[base.len - 1] >= '0' && s[base.len - 1] <= '9')
		base.len--;
	for (i = base.len; i < y->len && i < base.len + 3; i++)
		n = n * 10 + s[i] - '0';
	if ((n == 2 || n == 3 || n == 4 || n == 8 || n == 16) && i == y->len &&
	    find_word(&base, s) && base.word == W_TYPE && base.arg) {
		y->word = W_TYPE;
		y->arg = base.arg * (n == 3 ? 4 : n);
		return true;
	}
	if (y->len > 7 && !memcmp(s, "image", 5) && !memcmp(s + y->len - 2, "_t", 2)) {
		y->word = W_IMAGE;
		return true;
	}
	for (i = 0; i < sizeof(atomics) / sizeof(*atomics); i++) {
		if (same(atomics[i], s, y->len)) {
			y->word = W_TYPE;
			y->arg = i < 2 || i == 4 || i == 6 ? 4 : i > 6 ? 0 : 8;
			/* reading one is reading what others may change */
			y->flags |= S_VOLATILE;
			return true;
		}
	}
	return false;
}

/* vload3 and vload_half3, but not vloader; _Z12; convert_int4_rte and the like all. */
static bool fits(const struct entry *f, const char *s, uint32_t len)
{
	uint32_t n = strlen(f->name);

	if (len < n || memcmp(f->name, s, n))
		return false;
	if (f->word == W_VLOAD || f->word == W_VSTORE)
		return len > n && (s[n] == '_' || (s[n] >= '0' && s[n] <= '9'));
	if (f->word == W_INNER && n == 2)
		return len > n && s[n] >= '0' && s[n] <= '9';
	if (f->word == W_ATOMIC_STEP || f->word == W_ATOMIC_ADD)
		return len == n || s[n] == '_';
	return true;
}

static bool find_family(struct symbol *y, const char *s, const struct entry *of, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (*of[i].name == *s && fits(&of[i], s, y->len)) {
			y->word = of[i].word;
			return true;
		}
	}
	return false;
}

static bool starts(const struct symbol *y, const char *s, const char *prefix)
{
	return y->len >= strlen(prefix) && !memcmp(s, prefix, strlen(prefix));
}

static void classify(struct job *j, struct symbol *y)
{
	const char *s = j->text + y->pos;

	if (y->len < 2)
		return;
	if (gsx_name_is_ours(s, y->len))
		y->flags |= S_TAKEN;
	if (find_word(y, s) || find_type(y, s)) {
		/* integers as wide as a pointer may carry one */
		if (y->word == W_TYPE && (!y->arg || *s == 'l' || !memcmp(s, "ul", 2) ||
					  (j->pointer_bytes == 4 && (*s == 'i' || *s == 'u'))))
			y->flags |= S_POINTER;
		return;
	}
	if (find_family(y, s, exceptions, sizeof(exceptions) / sizeof(*exceptions)))
		return;
	if (find_family(y, s, families, sizeof(families) / sizeof(*families)))
		return;
	if (gsx_name_is_inner(s, y->len)) {
		y->word = W_INNER;
		return;
	}
	/* not OpenCL C's: a device's own, and who knows what they tell */
	if (starts(y, s, "__") || starts(y, s, "get_"))
		y->flags |= S_OWN;
	if (starts(y, s, "__builtin_") || same("get_fence", s, y->len))
		y->flags &= ~S_OWN;
}

static void rehash(struct job *j)
{
	uint32_t n = j->mask ? (j->mask + 1) * 2 : 1024, i, at;

	j->slots = cl_get(j, n * sizeof(*j->slots));
	j->mask = n - 1;
	for (i = 0; i < j->n_syms; i++) {
		for (at = j->syms[i].hash & j->mask; j->slots[at]; at = (at + 1) & j->mask)
			;
		j->slots[at] = i + 1;
	}
}

uint32_t cl_symbol_of(struct job *j, uint32_t pos, uint32_t len)
{
	const char *s = j->text + pos;
	uint32_t hash = 2166136261u, i, at;
	struct symbol *y;

	for (i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)s[i]) * 16777619u;
	hash ^= hash >> 15;
	if ((j->n_syms + 1) * 2 > j->mask)
		rehash(j);
	for (at = hash & j->mask; j->slots[at]; at = (at + 1) & j->mask) {
		y = &j->syms[j->slots[at] - 1];
		if (y->hash == hash && y->len == len && !memcmp(j->text + y->pos, s, len))
			return j->slots[at] - 1;
	}
	y = PUSH(j, j->syms, j->n_syms, j->cap_syms);
	*y = (struct symbol){ .pos = pos, .len = len, .hash = hash, .fn = NONE };
	j->slots[at] = j->n_syms;
	classify(j, y);
	return j->n_syms - 1;
}

bool cl_is_builtin(const struct job *j, const struct symbol *y)
{
	return device_name(j->text + y->pos, y->len) == DEVICE_FUNCTION;
}

/* A function of the program with this name stands beside one of OpenCL C. */
bool cl_named_as_builtin(const struct job *j, uint32_t tok)
{
	return cl_is_builtin(j, sym(j, tok));
}

/* Of the functions of this name, are some overloads of max(), say? Calls look the same. */
bool cl_overloads_builtin(const struct job *j, const struct fn *f)
{
	uint32_t k;

	for (k = sym(j, f->name)->fn; k != NONE; k = j->fns[k].next)
		if (j->fns[k].overload)
			return cl_named_as_builtin(j, f->name);
	return false;
}

/* What calling it, or for work-item functions naming it, is. */
uint32_t cl_use_of_word(enum word w)
{
	switch (w) {
	case W_GLOBAL_ID:
		return U_GLOBAL_ID;
	case W_GROUP_ID:
		return U_GROUP_ID;
	case W_NUM_GROUPS:
		return U_NUM_GROUPS;
	case W_GLOBAL_SIZE:
		return U_GLOBAL_SIZE;
	case W_GLOBAL_OFFSET:
		return U_GLOBAL_OFFSET;
	case W_GLOBAL_LINEAR:
		return U_GLOBAL_LINEAR;
	case W_ENQUEUED_SIZE:
		return U_ENQUEUED_SIZE;
	case W_BARRIER:
		return U_BARRIER;
	case W_FENCE:
		return U_FENCE;
	case W_COLLECTIVE:
	case W_ASYNC_COPY:
		return U_BARRIER | U_COLLECTIVE;
	case W_SUB_BARRIER:
		return U_BARRIER | U_SUB_GROUP;
	case W_SUB_GROUP:
		return U_SUB_GROUP;
	case W_SUB_COUNT:
		return U_SUB_GROUP | U_SUB_COUNT;
	case W_PRINTF:
		return U_PRINTF;
	case W_ENQUEUE:
		return U_ENQUEUE;
	case W_PIPE_CALL:
		return U_PIPE;
	case W_READ_IMAGE:
	case W_WRITE_IMAGE:
		return U_IMAGE;
	case W_INNER:
		return U_ASM;
	default:
		return 0;
	}
}
