/* SPDX-License-Identifier: MIT */
/*
 * A SPIR-V module as we see it: its words, what each id is, its functions.
 *
 * The reader checks that every instruction lies inside the module, has the words that
 * we look at, and that every id in such a place is below the bound; nobody behind it
 * checks again. Errors stick: the first is noted, and all goes to its end.
 *
 * Numbers of instructions, decorations and the like are from the SPIR-V specification,
 * version 1.6, and the OpenCL environment's.
 */
#ifndef GSX_SPIRV_SPV_H
#define GSX_SPIRV_SPV_H

#include <gsspirv.h>

enum {
	OP_NAME = 5, OP_LINE = 8, OP_EXT_INST_IMPORT = 11,
	OP_EXT_INST = 12, OP_MEMORY_MODEL = 14, OP_ENTRY_POINT = 15, OP_EXECUTION_MODE = 16,
	OP_CAPABILITY = 17, OP_TYPE_VOID = 19, OP_TYPE_BOOL = 20, OP_TYPE_INT = 21,
	OP_TYPE_FLOAT = 22, OP_TYPE_VECTOR = 23, OP_TYPE_IMAGE = 25, OP_TYPE_SAMPLER = 26,
	OP_TYPE_ARRAY = 28, OP_TYPE_STRUCT = 30, OP_TYPE_POINTER = 32, OP_TYPE_FUNCTION = 33,
	OP_TYPE_QUEUE = 37, OP_TYPE_PIPE = 38, OP_CONSTANT = 43, OP_CONSTANT_COMPOSITE = 44,
	OP_CONSTANT_NULL = 46, OP_SPEC_CONSTANT_COMPOSITE = 51, OP_SPEC_CONSTANT_OP = 52,
	OP_FUNCTION = 54, OP_FUNCTION_PARAMETER = 55,
	OP_FUNCTION_END = 56, OP_FUNCTION_CALL = 57, OP_VARIABLE = 59,
	OP_IMAGE_TEXEL_POINTER = 60, OP_LOAD = 61, OP_STORE = 62, OP_COPY_MEMORY = 63,
	OP_COPY_MEMORY_SIZED = 64, OP_ACCESS_CHAIN = 65, OP_IN_BOUNDS_ACCESS_CHAIN = 66,
	OP_PTR_ACCESS_CHAIN = 67, OP_IN_BOUNDS_PTR_ACCESS_CHAIN = 70, OP_DECORATE = 71,
	OP_MEMBER_DECORATE = 72, OP_DECORATION_GROUP = 73, OP_GROUP_DECORATE = 74,
	OP_GROUP_MEMBER_DECORATE = 75,
	OP_VECTOR_SHUFFLE = 79, OP_COMPOSITE_CONSTRUCT = 80, OP_COMPOSITE_EXTRACT = 81,
	OP_COMPOSITE_INSERT = 82, OP_COPY_OBJECT = 83, OP_SAMPLED_IMAGE = 86, OP_IMAGE_READ = 98,
	OP_IMAGE_WRITE = 99, OP_IMAGE_QUERY_LAST = 107,
	OP_CONVERT_FIRST = 109, OP_U_CONVERT = 113, OP_S_CONVERT = 114,
	OP_PTR_CAST_TO_GENERIC = 121, OP_GENERIC_CAST_TO_PTR_EXPLICIT = 123, OP_BITCAST = 124,
	OP_ARITHMETIC_FIRST = 126, OP_I_ADD = 128,
	OP_I_SUB = 130, OP_I_MUL = 132, OP_U_DIV = 134, OP_U_MOD = 137,
	OP_ARITHMETIC_LAST = 141, OP_BITS_FIRST = 194, OP_BITWISE_OR = 197, OP_BITS_LAST = 200,
	OP_LOGICAL_OR = 166, OP_LOGICAL_AND = 167, OP_LOGICAL_NOT = 168, OP_SELECT = 169,
	OP_I_EQUAL = 170,
	OP_I_NOT_EQUAL = 171, OP_U_GREATER_THAN = 172, OP_U_GREATER_THAN_EQUAL = 174,
	OP_U_LESS_THAN = 176, OP_S_LESS_THAN_EQUAL = 179,
	OP_CONTROL_BARRIER = 224, OP_MEMORY_BARRIER = 225,
	OP_ATOMIC_LOAD = 227, OP_ATOMIC_STORE = 228, OP_ATOMIC_EXCHANGE = 229,
	OP_ATOMIC_COMPARE_EXCHANGE = 230, OP_ATOMIC_COMPARE_EXCHANGE_WEAK = 231,
	OP_ATOMIC_I_INCREMENT = 232, OP_ATOMIC_I_DECREMENT = 233, OP_ATOMIC_I_ADD = 234,
	OP_ATOMIC_I_SUB = 235, OP_ATOMIC_S_MIN = 236, OP_ATOMIC_U_MIN = 237,
	OP_ATOMIC_AND = 240, OP_ATOMIC_XOR = 242, OP_PHI = 245,
	OP_LOOP_MERGE = 246, OP_SELECTION_MERGE = 247, OP_LABEL = 248, OP_BRANCH = 249,
	OP_BRANCH_CONDITIONAL = 250, OP_SWITCH = 251, OP_KILL = 252, OP_RETURN = 253,
	OP_RETURN_VALUE = 254, OP_UNREACHABLE = 255, OP_LIFETIME_START = 256,
	OP_LIFETIME_STOP = 257, OP_GROUP_ASYNC_COPY = 259, OP_GROUP_WAIT_EVENTS = 260,
	OP_GROUP_ALL = 261, OP_GROUP_S_MAX = 271, OP_READ_PIPE = 274,
	OP_GROUP_COMMIT_WRITE_PIPE = 288, OP_ENQUEUE_MARKER = 291, OP_BUILD_ND_RANGE = 304,
	OP_NO_LINE = 317, OP_ATOMIC_FLAG_TEST_AND_SET = 318, OP_ATOMIC_FLAG_CLEAR = 319,
	OP_NAMED_BARRIER_INITIALIZE = 328, OP_MEMORY_NAMED_BARRIER = 329, OP_DECORATE_ID = 332,
	OP_EXECUTION_MODE_ID = 331, OP_NON_UNIFORM_FIRST = 333, OP_NON_UNIFORM_ADD = 349,
	OP_NON_UNIFORM_XOR = 364, OP_NON_UNIFORM_LAST = 366,
	OP_DECORATE_STRING = 5632, OP_LAST_CORE = 403,
};

enum { STORAGE_CONSTANT = 0, STORAGE_INPUT = 1, STORAGE_WORKGROUP = 4, STORAGE_CROSS = 5,
	STORAGE_FUNCTION = 7, STORAGE_GENERIC = 8 };

enum { DECORATION_BUILT_IN = 11, DECORATION_VOLATILE = 21, DECORATION_COHERENT = 23,
	DECORATION_LINKAGE = 41 };

#define LINKAGE_IMPORT	1

enum { CAPABILITY_ADDRESSES = 4, CAPABILITY_KERNEL = 6, CAPABILITY_INT64 = 11 };

enum { SCOPE_DEVICE = 1, SCOPE_WORKGROUP = 2, SCOPE_SUBGROUP = 3, SCOPE_ITEM = 4 };

enum { MODE_LOCAL_SIZE = 17, MODE_INITIALIZER = 33, MODE_FINALIZER = 34,
	MODE_LOCAL_SIZE_ID = 38 };

/* The work-item's values that a cut launch gives otherwise, and those we compute with. */
enum builtin {
	B_GROUP_ID, B_NUM_GROUPS, B_GLOBAL_SIZE, B_GLOBAL_OFFSET, B_ENQUEUED_SIZE, B_GLOBAL_ID,
	B_LINEAR_ID,
	B_STATE,		/* those above have a place in the state */
	B_LOCAL_ID = B_STATE, B_LOCAL_SIZE, B_LOCAL_LINEAR, B_SUBGROUP, B_WORK_DIM,
	B_COUNT,
};

#define BIT(b)		(1u << (b))
/* What a slice must get from the state, and what a worker must. */
#define SLICE_BITS	(BIT(B_GLOBAL_ID) - 1 + BIT(B_LINEAR_ID))
#define WORKER_BITS	(BIT(B_STATE) - 1)

/* struct fn.uses, beside BIT(builtin) */
#define U_POLLS		0x1000u		/* gives what it read from memory that others change */
#define U_FENCE		0x2000u		/* on global memory */
#define U_CALLS_KERNEL	0x4000u		/* one that would need the state */
#define U_SUB_COUNT	0x8000u		/* what is the same in all groups' sub-groups */
#define U_BARRIER	0x10000u
#define U_ATOMIC	0x20000u
#define U_PRINTF	0x40000u
#define U_COLLECTIVE	0x80000u
#define U_SUBGROUP	0x100000u
#define U_IMAGE		0x200000u
#define U_GLOBALS	0x400000u
#define U_WRITES_ANY	0x800000u
#define U_READS_ANY	0x1000000u
#define U_DEVICE_LAUNCH	0x2000000u
#define U_PIPE		0x4000000u
#define U_SPECIAL	0x8000000u	/* a builtin's variable used otherwise than by a load */
#define U_EXTERN	0x10000000u	/* a body that isn't here */
#define U_UNKNOWN	0x20000000u	/* an instruction that we don't know */
#define U_WAITS		0x40000000u
#define U_DIVERGES	0x80000000u	/* a barrier that some work-items may not reach */

/* The pointers of parameters: a bit each, the last one for all that are left. */
typedef uint64_t origins;

#define ORIGIN_LAST	63
static inline origins origin_of(uint32_t param)
{
	return (origins)1 << (param < ORIGIN_LAST ? param : ORIGIN_LAST);
}

struct fn {
	uint32_t id, word, end;	/* OpFunction, behind OpFunctionEnd */
	uint32_t type;		/* OpTypeFunction */
	uint32_t n_params, first_param;	/* index into spv.params */
	uint32_t label;		/* word of the first OpLabel, 0: no body */
	uint32_t uses, own;
	uint32_t where[32];	/* per bit of uses: the instruction */
	uint32_t instructions, own_instructions;
	origins written, read;
	uint32_t call, n_calls;	/* into spv.calls */
	uint32_t next_call;	/* the first that isn't done */
	uint8_t seen;		/* 1: its callees are being done, 2: done */
	bool entry, called;
	bool uniform;		/* its parameters are the same for all work-items */
	bool tries;		/* gives what a compare-and-exchange that was tried found */
};

struct call {
	uint32_t word, fn;
};

struct entry {
	uint32_t word, fn;
	const char *name;
	uint32_t reqd[3];
	uint32_t modes;
};

/* Extended instructions: OpenCL.std; what has no effect; any other. */
enum set { SET_NONE, SET_STD, SET_DEBUG, SET_OTHER };

/* What an id is: the word of the instruction that makes it, and a few facts. */
struct id {
	uint32_t def;		/* 0: none */
	uint32_t type;		/* its result type's id */
	uint8_t builtin;	/* enum builtin + 1 of a variable */
	uint8_t number;		/* of the built-in */
	uint8_t set;		/* enum set: of extended instructions */
	bool is_volatile, imported;
	bool global;		/* a variable of the program, or a constant made of its address */
};

struct words {
	uint32_t *w;
	uint32_t n, cap;
};

struct chunk;

struct spv {
	const struct gsx_spv_options *opt;
	uint32_t *w;
	uint32_t n;		/* words */
	uint32_t bound, version;
	bool swapped, physical32;
	struct id *ids;
	struct fn *fns;
	uint32_t n_fns, cap_fns;
	uint32_t *params;	/* ids */
	uint32_t n_params, cap_params;
	struct call *calls;
	uint32_t n_calls, cap_calls;
	struct entry *entries;
	uint32_t n_entries, cap_entries;
	uint32_t names;		/* where new names go: before the first decoration */
	uint32_t annotations;	/* where new decorations go: before the first type */
	uint32_t first_fn;	/* where new types and constants go */
	uint32_t *fn_of_id;	/* index + 1 */
	uint32_t *block_of;	/* per label's id: its block, in the function at hand */
	uint8_t *marks;		/* per id: flow.c's */
	struct flow_value *values;	/* the same: waits.c's */
	bool has_int64;
	bool has_volatile, all_volatile;	/* some pointers; members of structures */
	size_t memory, max_memory;
	struct chunk *chunks;	/* of the report */
	int err;
	uint32_t err_word;
	char err_text[200];
};

static inline uint32_t op_of(const struct spv *s, uint32_t at)
{
	return s->w[at] & 0xffff;
}

static inline uint32_t len_of(const struct spv *s, uint32_t at)
{
	return s->w[at] >> 16;
}

/* read.c */
void spv_error(struct spv *s, int err, uint32_t word, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool spv_room(struct spv *s, void *array, uint32_t *cap, uint32_t n, size_t size);
void *spv_keep(struct spv *s, size_t size);	/* goes with the result; zeroed */
void spv_forget(struct spv *s);			/* all that was kept */
void spv_read(struct spv *s);

#define MAX_BOUND	0x3fffffu	/* the specification's universal limit of ids */
/* The word that gives an instruction's result, 0: none; its type's place is before it. */
uint32_t result_at(uint32_t op);
/* Of the instruction at @at, which may be shorter than its kind is: then ~0, which is no id. */
uint32_t spv_operand(const struct spv *s, uint32_t at, uint32_t i);
uint32_t spv_def(const struct spv *s, uint32_t id);	/* 0: of none, or of no id */
uint32_t storage_of(const struct spv *s, uint32_t pointer);	/* of an id; ~0: no pointer */
bool const_value(const struct spv *s, uint32_t id, uint32_t *value);
/* Is the string that begins at word @at @name, or does it begin so? */
bool spv_string_is(const struct spv *s, uint32_t at, uint32_t end, const char *name, bool prefix);
enum set spv_set_of(const struct spv *s, uint32_t at);	/* of an OpExtInst */
/*
 * Is word @i a number, where others of its place are ids? To be asked below
 * literals_from().
 */
bool spv_is_number(const struct spv *s, uint32_t at, uint32_t i);
/* Are all the words from @i on ids, for an instruction of a function's body? */
uint32_t literals_from(uint32_t op);

/* facts.c */
void spv_facts(struct spv *s);
void spv_use(struct fn *f, uint32_t bits, uint32_t at);
bool spv_is_fence(const struct spv *s, uint32_t at);	/* on memory that others see */
bool spv_loads_vector(uint32_t number);	/* of OpenCL.std: through a pointer */
/* flow.c, waits.c: U_WAITS and U_DIVERGES of one function */
void spv_flow(struct spv *s, struct fn *f);

/* write.c */
struct writer {
	struct spv *s;
	enum gsx_mode mode;
	struct words names, decorations, types, code;
	uint32_t next;		/* id */
	bool *rewritten;	/* per function: an entry point that is cut */
	uint32_t *state;	/* per function: the id that points to its state; 0: none */
	uint32_t *type;		/* per function: its new type; 0: as it was */
	uint32_t *worker;	/* per entry point: its new function's id */
	uint32_t *local;	/* per entry point: its variable in local memory */
	uint32_t no_state;	/* a null pointer, for what isn't cut; 0: none yet */
	uint32_t variable[B_COUNT];	/* 0: none yet */
	uint32_t used;		/* bits: variables that our own code loads */
	uint32_t t_void, t_bool, t_uint, t_ulong, t_size, t_v3, t_v4, t_state, t_ptr_state,
		 t_ptr_v3, t_ptr_size, t_ptr_uint, t_ptr_global, t_ptr_local;
};

#define EMIT(w, o, op, ...) do {						\
	const uint32_t words_[] = { __VA_ARGS__ };				\
	emit((w)->s, o, op, words_, sizeof(words_) / sizeof(*words_));		\
} while (0)

void emit(struct spv *s, struct words *o, uint32_t op, const uint32_t *words, uint32_t n);
void emit_words(struct spv *s, struct words *o, const uint32_t *words, uint32_t n);
uint32_t constant(struct writer *w, uint32_t type, uint64_t value);
/* An instruction of two operands; gives its id. */
uint32_t binary(struct writer *w, uint32_t op, uint32_t type, uint32_t a, uint32_t b);
uint32_t extract(struct writer *w, uint32_t type, uint32_t v, uint32_t i);
uint32_t convert(struct writer *w, uint32_t type, uint32_t v);
uint32_t load_builtin(struct writer *w, enum builtin b);
uint32_t to_v3(struct writer *w, uint32_t v4);
uint32_t function_type(struct writer *w, const struct fn *f, const uint32_t *more, uint32_t n);
/* Values of the work-item into its state; ids of 0 aren't set. */
void write_state(struct writer *w, uint32_t state, const uint32_t value[B_STATE]);
uint32_t linear_id(struct writer *w, uint32_t gid, uint32_t offset, uint32_t size);
/* The whole module; the words are the caller's to free. */
void write_module(struct spv *s, enum gsx_mode mode, struct words *to);
/* workers.c: the loop round the kernel of an entry point, as a new function */
void write_worker(struct writer *w, uint32_t entry);

#endif
