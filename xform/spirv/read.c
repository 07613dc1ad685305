// SPDX-License-Identifier: MIT
/* Words to instructions, ids and functions. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spv.h"
#include "xform/flow/flow.h"
#include "../reserved.h"

#define MAGIC		0x07230203u
#define MAX_WORDS	(1u << 28)

struct chunk {
	struct chunk *next;
	_Alignas(16) char bytes[];
};

void spv_error(struct spv *s, int err, uint32_t word, const char *fmt, ...)
{
	va_list ap;

	if (s->err)
		return;
	s->err = err;
	s->err_word = word;
	va_start(ap, fmt);
	vsnprintf(s->err_text, sizeof(s->err_text), fmt, ap);
	va_end(ap);
}

static bool charge(struct spv *s, size_t bytes)
{
	if (bytes > s->max_memory - s->memory) {
		spv_error(s, -E2BIG, 0, "the module needs too much memory");
		return false;
	}
	s->memory += bytes;
	return true;
}

bool spv_room(struct spv *s, void *array, uint32_t *cap, uint32_t n, size_t size)
{
	uint32_t want = *cap ? *cap : 16;
	void **at = array, *bigger;

	if (n <= *cap)
		return true;
	while (want < n)
		want *= 2;
	if (s->err || !charge(s, (want - *cap) * size))
		return false;
	bigger = realloc(*at, want * size);
	if (!bigger) {
		spv_error(s, -ENOMEM, 0, "out of memory");
		return false;
	}
	memset((char *)bigger + *cap * size, 0, (want - *cap) * size);
	*at = bigger;
	*cap = want;
	return true;
}

void *spv_keep(struct spv *s, size_t size)
{
	struct chunk *c = charge(s, size) ? calloc(1, sizeof(*c) + size) : NULL;

	if (!c) {
		spv_error(s, -ENOMEM, 0, "out of memory");
		return NULL;
	}
	c->next = s->chunks;
	s->chunks = c;
	return c->bytes;
}

void spv_forget(struct spv *s)
{
	struct chunk *c, *next;

	for (c = s->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
}

/*
 * Most instructions of the core set that give a value have its type in word 1 and the
 * value's id in word 2. Types have their id in word 1; these have neither.
 */
uint32_t result_at(uint32_t op)
{
	switch (op) {
	case 0: case 2: case 3: case 4: case 5: case 6: case 8: case 10: case 14: case 15:
	case 16: case 17: case 39: case 56: case 62: case 63: case 64: case 71: case 72:
	case 74: case 75: case 99: case 218: case 219: case 220: case 221: case 224: case 225:
	case 228: case 246: case 247: case 249: case 250: case 251: case 252: case 253:
	case 254: case 255: case 256: case 257: case 260: case 287: case 288: case 297:
	case 298: case 301: case 302: case 317: case 319: case 329: case 330: case 331: case 332:
	case 280: case 281:
		return 0;
	case 7: case OP_EXT_INST_IMPORT: case OP_LABEL: case OP_DECORATION_GROUP:
		return 1;
	}
	if ((op >= OP_TYPE_VOID && op <= OP_TYPE_PIPE) || op == 322 || op == 327)
		return 1;
	return op <= OP_LAST_CORE ? 2 : 0;
}

/* From which word on an instruction's operands aren't ids (but labels and numbers). */
uint32_t literals_from(uint32_t op)
{
	switch (op) {
	case OP_LOAD:
	case OP_COMPOSITE_EXTRACT:
		return 4;
	case OP_STORE:
	case OP_COPY_MEMORY:
		return 3;
	case OP_COPY_MEMORY_SIZED:
		return 4;
	case OP_COMPOSITE_INSERT:
	case OP_VECTOR_SHUFFLE:
		return 5;
	case OP_VARIABLE:	/* but its initializer, which is a constant */
		return 3;
	case OP_BRANCH_CONDITIONAL:
	case OP_SWITCH:
	case OP_LIFETIME_START:
	case OP_LIFETIME_STOP:
		return 2;
	case OP_BRANCH:
	case OP_LOOP_MERGE:
	case OP_SELECTION_MERGE:
	case OP_LINE:
	case OP_LABEL:
	case OP_NAME:
		return 1;
	}
	return UINT32_MAX;
}

bool spv_is_number(const struct spv *s, uint32_t at, uint32_t i)
{
	/* vloadn, vload_halfn, vloada_halfn: n; vstore_half_r and the like: a mode */
	static const uint8_t last[] = { 171, 174, 176, 178, 179, 181 };
	uint32_t op = op_of(s, at), k;

	if ((op >= OP_GROUP_ALL + 3 && op <= OP_GROUP_S_MAX) ||
	    (op >= OP_NON_UNIFORM_ADD && op <= OP_NON_UNIFORM_XOR))
		return i == 4;		/* reduce, scan */
	if (op != OP_EXT_INST || i < 4)
		return false;
	if (i == 4 || spv_set_of(s, at) != SET_STD)
		return true;
	for (k = 0; k < sizeof(last); k++)
		if (s->w[at + 4] == last[k])
			return i == len_of(s, at) - 1;
	return false;
}

uint32_t spv_operand(const struct spv *s, uint32_t at, uint32_t i)
{
	return i < len_of(s, at) ? s->w[at + i] : UINT32_MAX;
}

uint32_t spv_def(const struct spv *s, uint32_t id)
{
	return id < s->bound ? s->ids[id].def : 0;
}

uint32_t storage_of(const struct spv *s, uint32_t pointer)
{
	uint32_t def = s->ids[s->ids[pointer].type].def;

	return def && op_of(s, def) == OP_TYPE_POINTER ? spv_operand(s, def, 2) : UINT32_MAX;
}

bool const_value(const struct spv *s, uint32_t id, uint32_t *value)
{
	uint32_t def = s->ids[id].def;

	if (!def || (op_of(s, def) != OP_CONSTANT && op_of(s, def) != OP_CONSTANT_NULL))
		return false;
	*value = op_of(s, def) == OP_CONSTANT ? spv_operand(s, def, 3) : 0;
	return true;
}

/* Bytes lie in the words from the lowest up. */
bool spv_string_is(const struct spv *s, uint32_t at, uint32_t end, const char *name, bool prefix)
{
	uint32_t n = strlen(name) + !prefix, i;

	for (i = 0; i < n; i++)
		if (at + i / 4 >= end ||
		    (s->w[at + i / 4] >> i % 4 * 8 & 0xff) != (unsigned char)name[i])
			return false;
	return true;
}

enum set spv_set_of(const struct spv *s, uint32_t at)
{
	return s->w[at + 3] < s->bound ? s->ids[s->w[at + 3]].set : SET_NONE;
}

/* The fewest words that an instruction has that we look into. */
static uint32_t least_words(uint32_t op)
{
	switch (op) {
	case OP_NAME: case OP_EXECUTION_MODE: case OP_TYPE_FLOAT: case OP_DECORATE: case OP_STORE:
	case OP_MEMORY_MODEL: case OP_TYPE_FUNCTION: case OP_CONSTANT_NULL: case OP_COPY_MEMORY:
	case OP_EXECUTION_MODE_ID: case OP_SWITCH: case OP_FUNCTION_PARAMETER: case OP_PHI:
	case OP_DECORATE_ID: case OP_EXT_INST_IMPORT:
		return 3;
	case OP_ENTRY_POINT: case OP_TYPE_INT: case OP_TYPE_VECTOR: case OP_TYPE_ARRAY:
	case OP_TYPE_POINTER: case OP_CONSTANT: case OP_FUNCTION_CALL: case OP_VARIABLE:
	case OP_LOAD: case OP_BRANCH_CONDITIONAL: case OP_CONTROL_BARRIER: case OP_IMAGE_WRITE:
	case OP_COPY_MEMORY_SIZED: case OP_ACCESS_CHAIN: case OP_IN_BOUNDS_ACCESS_CHAIN:
	case OP_MEMBER_DECORATE: case OP_SPEC_CONSTANT_OP:
		return 4;
	case OP_EXT_INST: case OP_FUNCTION: case OP_PTR_ACCESS_CHAIN:
	case OP_IN_BOUNDS_PTR_ACCESS_CHAIN: case OP_COMPOSITE_INSERT:
		return 5;
	case OP_ATOMIC_LOAD:
		return 6;
	case OP_ATOMIC_COMPARE_EXCHANGE: case OP_ATOMIC_COMPARE_EXCHANGE_WEAK:
		return 9;
	case OP_CAPABILITY: case OP_DECORATION_GROUP: case OP_LABEL: case OP_BRANCH:
	case OP_RETURN_VALUE:
		return 2;
	}
	if (op >= OP_ATOMIC_EXCHANGE && op <= OP_ATOMIC_XOR)
		return op == OP_ATOMIC_I_INCREMENT || op == OP_ATOMIC_I_INCREMENT + 1 ? 6 : 7;
	if (op >= OP_GROUP_ALL && op <= OP_GROUP_S_MAX)
		return 5;
	return 1;
}

/* A string ends inside its instruction; gives the words that it takes, 0: it doesn't. */
static uint32_t string_words(struct spv *s, uint32_t at, uint32_t end)
{
	uint32_t i;

	for (i = at; i < end; i++) {
		uint32_t v = s->w[i];

		if (!(v & 0xff) || !(v & 0xff00) || !(v & 0xff0000) || !(v & 0xff000000))
			return i - at + 1;
	}
	return 0;
}

/* A copy: words are numbers, and a string's bytes lie in them from the lowest up. */
static const char *string_of(struct spv *s, uint32_t at, uint32_t words)
{
	char *text = spv_keep(s, words * 4 + 1);
	uint32_t i;

	for (i = 0; text && i < words * 4; i++)
		text[i] = s->w[at + i / 4] >> i % 4 * 8;
	return text ? text : "";
}

static bool is_id(struct spv *s, uint32_t at, uint32_t i)
{
	uint32_t id = s->w[at + i];

	if (id && id < s->bound)
		return true;
	spv_error(s, -EINVAL, at, "an id beyond the bound");
	return false;
}

static void note_result(struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at), i = result_at(op), id;

	if (!i)
		return;
	if (len_of(s, at) <= i) {
		spv_error(s, -EINVAL, at, "instruction %u is too short", op);
		return;
	}
	if (!is_id(s, at, i) || (i == 2 && !is_id(s, at, 1)))
		return;
	id = s->w[at + i];
	if (s->ids[id].def) {
		spv_error(s, -EINVAL, at, "id %u is made twice", id);
		return;
	}
	s->ids[id].def = at;
	s->ids[id].type = i == 2 ? s->w[at + 1] : 0;
}

static const struct built_in {
	uint16_t number;
	uint8_t builtin;
	const char *name;	/* what compilers call the variable */
} built_ins[] = {
	{ 24, B_NUM_GROUPS, "NumWorkgroups" }, { 25, B_LOCAL_SIZE, "WorkgroupSize" },
	{ 26, B_GROUP_ID, "WorkgroupId" }, { 27, B_LOCAL_ID, "LocalInvocationId" },
	{ 28, B_GLOBAL_ID, "GlobalInvocationId" }, { 29, B_LOCAL_LINEAR, "LocalInvocationIndex" },
	{ 30, B_WORK_DIM, "WorkDim" }, { 31, B_GLOBAL_SIZE, "GlobalSize" },
	{ 32, B_ENQUEUED_SIZE, "EnqueuedWorkgroupSize" },
	{ 33, B_GLOBAL_OFFSET, "GlobalOffset" }, { 34, B_LINEAR_ID, "GlobalLinearId" },
	{ 36, B_SUBGROUP, "SubgroupSize" }, { 37, B_SUBGROUP, "SubgroupMaxSize" },
	{ 38, B_SUBGROUP, "NumSubgroups" }, { 39, B_SUBGROUP, "NumEnqueuedSubgroups" },
	{ 40, B_SUBGROUP, "SubgroupId" }, { 41, B_SUBGROUP, "SubgroupLocalInvocationId" },
};

static const struct built_in *built_in_of(uint32_t number)
{
	for (uint32_t i = 0; i < sizeof(built_ins) / sizeof(*built_ins); i++)
		if (built_ins[i].number == number)
			return &built_ins[i];
	return NULL;
}

static void read_decoration(struct spv *s, uint32_t at)
{
	uint32_t len = len_of(s, at), value = len > 3 ? s->w[at + len - 1] : 0;
	const struct built_in *b;
	struct id *id;

	if (!is_id(s, at, 1))
		return;
	id = &s->ids[s->w[at + 1]];
	switch (s->w[at + 2]) {
	case DECORATION_BUILT_IN:
		b = built_in_of(value);
		if (!b || id->builtin) {	/* others aren't OpenCL's */
			spv_error(s, -EINVAL, at, "built-in %u isn't known", value);
			return;
		}
		id->builtin = b->builtin + 1;
		id->number = b->number;
		break;
	case DECORATION_VOLATILE:
	case DECORATION_COHERENT:
		id->is_volatile = s->has_volatile = true;
		break;
	case DECORATION_LINKAGE:
		id->imported |= value == LINKAGE_IMPORT;
	}
}

static void read_import(struct spv *s, uint32_t at)
{
	uint32_t end = at + len_of(s, at);
	uint8_t *set = &s->ids[s->w[at + 1]].set;

	if (spv_string_is(s, at + 2, end, "OpenCL.std", false))
		*set = SET_STD;
	else if (spv_string_is(s, at + 2, end, "OpenCL.DebugInfo.", true) ||
		 spv_string_is(s, at + 2, end, "NonSemantic.", true))
		*set = SET_DEBUG;
	else
		*set = SET_OTHER;
}

/* By such names a device's own functions and variables, or ours, could be replaced. */
static void check_name(struct spv *s, uint32_t at, const char *name)
{
	size_t len = strlen(name);

	if (gsx_name_is_device(name, len))
		spv_error(s, -EINVAL, at, GSX_DEVICE_TEXT);
	else if (op_of(s, at) != OP_NAME && gsx_name_is_ours(name, len))
		spv_error(s, -EEXIST, at, GSX_OURS_TEXT);
}

static void read_entry(struct spv *s, uint32_t at)
{
	uint32_t words = string_words(s, at + 3, at + len_of(s, at));
	struct entry *e;

	if (!words || !is_id(s, at, 2)) {
		spv_error(s, -EINVAL, at, "an entry point's name doesn't end");
		return;
	}
	if (s->w[at + 1] != 6) {
		spv_error(s, -EINVAL, at, "an entry point that is no kernel");
		return;
	}
	if (!spv_room(s, &s->entries, &s->cap_entries, s->n_entries + 1, sizeof(*s->entries)))
		return;
	e = &s->entries[s->n_entries++];
	e->word = at;
	e->name = string_of(s, at + 3, words);
	check_name(s, at, e->name);
}

static void read_function(struct spv *s, uint32_t at)
{
	struct fn *f;

	if (!is_id(s, at, 4) || !is_id(s, at, 2) ||
	    !spv_room(s, &s->fns, &s->cap_fns, s->n_fns + 1, sizeof(*s->fns)))
		return;
	f = &s->fns[s->n_fns++];
	f->id = s->w[at + 2];
	f->word = at;
	f->type = s->w[at + 4];
	f->first_param = s->n_params;
	s->fn_of_id[f->id] = s->n_fns;
	if (!s->ids[f->type].def || op_of(s, s->ids[f->type].def) != OP_TYPE_FUNCTION)
		spv_error(s, -EINVAL, at, "a function without its type");
	if (!s->first_fn)
		s->first_fn = at;
}

/* The parts of a module come in a fixed order; ours are marked by what begins them. */
static void read_instruction(struct spv *s, uint32_t at, bool *inside)
{
	uint32_t op = op_of(s, at);
	struct fn *f = s->n_fns ? &s->fns[s->n_fns - 1] : NULL;

	if (s->first_fn && !*inside && op != OP_FUNCTION && op != OP_LINE && op != OP_NO_LINE) {
		spv_error(s, -EINVAL, at, "instruction %u stands between functions", op);
		return;
	}
	note_result(s, at);
	switch (op) {
	case OP_CAPABILITY:
		s->has_int64 |= s->w[at + 1] == CAPABILITY_INT64;
		break;
	case OP_EXT_INST_IMPORT:
		if (!s->err)
			read_import(s, at);
		break;
	case OP_MEMORY_MODEL:
		if (s->w[at + 1] != 1 && s->w[at + 1] != 2)
			spv_error(s, -EINVAL, at, "no physical addressing");
		s->physical32 = s->w[at + 1] == 1;
		break;
	case OP_ENTRY_POINT:
		read_entry(s, at);
		break;
	case OP_DECORATE:
		read_decoration(s, at);
		if (!s->names)
			s->names = at;
		break;
	case OP_MEMBER_DECORATE:
		if (s->w[at + 3] == DECORATION_BUILT_IN)
			spv_error(s, -EINVAL, at, "a built-in within a structure");
		/* which loads read it isn't followed: any may */
		s->all_volatile |= s->w[at + 3] == DECORATION_VOLATILE ||
			s->w[at + 3] == DECORATION_COHERENT;
		if (!s->names)
			s->names = at;
		break;
	case OP_DECORATE_ID:
	case OP_DECORATE_STRING:
		if (!s->names)
			s->names = at;
		break;
	case OP_GROUP_DECORATE:
	case OP_GROUP_MEMBER_DECORATE:
	case OP_DECORATION_GROUP:
		spv_error(s, -EINVAL, at, "decoration groups aren't known");
		break;
	case OP_FUNCTION:
		if (*inside)
			spv_error(s, -EINVAL, at, "a function inside a function");
		*inside = true;
		read_function(s, at);
		break;
	case OP_FUNCTION_PARAMETER:
		if (!*inside || f->label)
			spv_error(s, -EINVAL, at, "a parameter outside its place");
		else if (spv_room(s, &s->params, &s->cap_params, s->n_params + 1, 4)) {
			s->params[s->n_params++] = s->w[at + 2];
			f->n_params++;
		}
		break;
	case OP_LABEL:
		if (!*inside)
			spv_error(s, -EINVAL, at, "a label outside a function");
		else if (!f->label)
			f->label = at;
		break;
	case OP_FUNCTION_END:
		if (!*inside)
			spv_error(s, -EINVAL, at, "a function ends that hasn't begun");
		else
			f->end = at + 1;
		if (*inside && len_of(s, s->ids[f->type].def) != f->n_params + 3)
			spv_error(s, -EINVAL, at, "a function without the parameters of its type");
		*inside = false;
		break;
	default:
		if (op >= OP_TYPE_VOID && op <= OP_TYPE_FUNCTION && !s->annotations)
			s->annotations = at;
	}
}

/* Every id operand of what we look into is below the bound. */
static void check_operands(struct spv *s, uint32_t at)
{
	uint32_t op = op_of(s, at), len = len_of(s, at), i, from = result_at(op) + 1, to;

	switch (op) {
	case OP_TYPE_VECTOR: case OP_TYPE_POINTER: case OP_CONSTANT: case OP_TYPE_INT:
	case OP_TYPE_FLOAT: case OP_EXT_INST: case OP_BRANCH_CONDITIONAL: case OP_BRANCH:
	case OP_SWITCH: case OP_LINE: case OP_EXECUTION_MODE: case OP_EXECUTION_MODE_ID:
		break;
	case OP_LOAD: case OP_FUNCTION_CALL: case OP_STORE: case OP_COPY_MEMORY:
	case OP_COPY_MEMORY_SIZED: case OP_ACCESS_CHAIN: case OP_IN_BOUNDS_ACCESS_CHAIN:
	case OP_PTR_ACCESS_CHAIN: case OP_IN_BOUNDS_PTR_ACCESS_CHAIN: case OP_PHI:
	case OP_TYPE_FUNCTION: case OP_CONTROL_BARRIER: case OP_RETURN_VALUE:
		to = literals_from(op) < len ? literals_from(op) : len;
		for (i = from; i < to; i++)
			is_id(s, at, i);
		return;
	default:
		if (op < OP_ATOMIC_LOAD || op > OP_ATOMIC_XOR)
			return;
		for (i = from; i < len; i++)
			is_id(s, at, i);
		return;
	}
	/* Those with numbers among their ids. */
	if (op == OP_TYPE_VECTOR)
		is_id(s, at, 2);
	else if (op == OP_TYPE_POINTER)
		is_id(s, at, 3);
	else if (op == OP_EXT_INST && spv_set_of(s, at) == SET_STD)
		for (i = 5; i < len && (spv_is_number(s, at, i) || is_id(s, at, i)); i++)
			;
	else if (op != OP_LINE && op != OP_EXT_INST)
		is_id(s, at, 1);
}

static void read_all(struct spv *s)
{
	bool inside = false;
	uint32_t at, len, op;

	for (at = 5; at < s->n && !s->err; at += len) {
		len = len_of(s, at);
		op = op_of(s, at);
		if (!len || len > s->n - at) {
			spv_error(s, -EINVAL, at, "an instruction runs over the end");
			return;
		}
		if (len < least_words(op)) {
			spv_error(s, -EINVAL, at, "instruction %u is too short", op);
			return;
		}
		read_instruction(s, at, &inside);
	}
	if (inside)
		spv_error(s, -EINVAL, s->n, "a function doesn't end");
	if (!s->first_fn)
		s->first_fn = s->n;
	if (!s->annotations)
		s->annotations = s->first_fn;
	if (!s->names || s->names > s->annotations)
		s->names = s->annotations;
	for (at = 5; at < s->n && !s->err; at += len_of(s, at))
		check_operands(s, at);
}

/* The variables of the work-item's values: three of size_t, or one. */
static void check_builtins(struct spv *s)
{
	uint32_t id, def;

	for (id = 1; id < s->bound && !s->err; id++) {
		uint8_t b = s->ids[id].builtin;

		if (!b)
			continue;
		if (!s->ids[id].def || op_of(s, s->ids[id].def) != OP_VARIABLE ||
		    storage_of(s, id) != STORAGE_INPUT) {
			spv_error(s, -EINVAL, s->ids[id].def, "a built-in that is no input");
			return;
		}
		if (b - 1 == B_SUBGROUP || b - 1 == B_WORK_DIM)
			continue;
		def = spv_def(s, spv_operand(s, s->ids[s->ids[id].type].def, 3));
		if (b - 1 != B_LINEAR_ID && b - 1 != B_LOCAL_LINEAR) {
			if (!def || op_of(s, def) != OP_TYPE_VECTOR || spv_operand(s, def, 3) != 3)
				def = 0;
			else
				def = spv_def(s, spv_operand(s, def, 2));
		}
		if (!def || op_of(s, def) != OP_TYPE_INT ||
		    spv_operand(s, def, 2) != (s->physical32 ? 32 : 64))
			spv_error(s, -EINVAL, s->ids[id].def, "a built-in of another type than ours");
	}
}

#define SPIRV_VARIABLE	"__spirv_BuiltIn"

static void read_size(struct spv *s, uint32_t at, uint32_t reqd[3])
{
	uint32_t i, id;

	if (len_of(s, at) < 6)
		return;
	if (s->w[at + 2] == MODE_LOCAL_SIZE)
		memcpy(reqd, &s->w[at + 3], 12);
	for (i = 0; i < 3 && s->w[at + 2] == MODE_LOCAL_SIZE_ID; i++) {
		id = s->w[at + 3 + i];
		if (id >= s->bound || !const_value(s, id, &reqd[i]))
			reqd[i] = 0;
	}
}

/* Entry points to functions, and the sizes of groups that they ask for. */
static void resolve_entries(struct spv *s)
{
	uint32_t at, i;

	for (i = 0; i < s->n_entries && !s->err; i++) {
		struct entry *e = &s->entries[i];
		uint32_t fn = s->fn_of_id[s->w[e->word + 2]];

		if (!fn || !s->fns[fn - 1].label) {
			spv_error(s, -EINVAL, e->word, "an entry point without its function");
			return;
		}
		e->fn = fn - 1;
		s->fns[fn - 1].entry = true;
		if (op_of(s, s->ids[s->w[s->fns[fn - 1].word + 1]].def) != OP_TYPE_VOID)
			spv_error(s, -EINVAL, e->word, "an entry point that returns something");
	}
	for (at = 5; at < s->first_fn && !s->err; at += len_of(s, at)) {
		if (op_of(s, at) != OP_EXECUTION_MODE && op_of(s, at) != OP_EXECUTION_MODE_ID)
			continue;
		/* a shadow program would run them once more */
		if (s->w[at + 2] == MODE_INITIALIZER || s->w[at + 2] == MODE_FINALIZER)
			spv_error(s, -EINVAL, at, "a kernel that runs as the program comes or goes");
		for (i = 0; i < s->n_entries; i++)
			if (s->w[at + 1] == s->fns[s->entries[i].fn].id)
				read_size(s, at, s->entries[i].reqd);
	}
}

static void read_name(struct spv *s, uint32_t at, uint32_t from)
{
	uint32_t id = s->w[at + 1], end = at + len_of(s, at), words, def, fn;
	const struct built_in *b;

	if (id >= s->bound || !s->ids[id].def)
		return;
	def = s->ids[id].def;
	fn = s->fn_of_id[id];
	if (!(fn && s->fns[fn - 1].label) && op_of(s, def) != OP_VARIABLE)
		return;
	b = s->ids[id].builtin ? built_in_of(s->ids[id].number) : NULL;
	if (b && spv_string_is(s, from, end, SPIRV_VARIABLE, true)) {
		/* by whichever of the two a device goes */
		char name[64];

		snprintf(name, sizeof(name), SPIRV_VARIABLE "%s", b->name);
		if (spv_string_is(s, from, end, name, false))
			return;
	}
	/* variables that aren't here are refused where they are used */
	if (!fn && !b && s->ids[id].imported)
		return;
	words = string_words(s, from, end);
	check_name(s, at, string_of(s, from, words ? words : end - from));
}

/* Of functions and variables. An OpName is none that others see, but devices make it one. */
static void check_names(struct spv *s)
{
	uint32_t at;

	for (at = 5; at < s->first_fn && !s->err; at += len_of(s, at))
		if (op_of(s, at) == OP_NAME)
			read_name(s, at, at + 2);
		else if (op_of(s, at) == OP_DECORATE && s->w[at + 2] == DECORATION_LINKAGE)
			read_name(s, at, at + 3);
}

/*
 * Constants may be made of variables' addresses: elements of the program's own are as
 * they are; and of what a work-item is told nobody makes one.
 */
static void follow_constants(struct spv *s)
{
	uint32_t at, i, op, id, from;

	for (at = s->annotations; at < s->first_fn && !s->err; at += len_of(s, at)) {
		op = op_of(s, at);
		if (op == OP_VARIABLE)
			s->ids[s->w[at + 2]].global = s->w[at + 3] == STORAGE_CROSS;
		else if (op != OP_SPEC_CONSTANT_OP && op != OP_CONSTANT_COMPOSITE &&
			 op != OP_SPEC_CONSTANT_COMPOSITE)
			continue;
		from = op == OP_CONSTANT_COMPOSITE || op == OP_SPEC_CONSTANT_COMPOSITE ? 3 : 4;
		for (i = from; i < len_of(s, at); i++) {
			id = s->w[at + i];
			if (id >= s->bound)
				continue;
			if (s->ids[id].builtin || s->fn_of_id[id])
				spv_error(s, -EINVAL, at, "the address of a built-in as a constant");
			s->ids[s->w[at + 2]].global |= s->ids[id].global;
		}
	}
}

void spv_read(struct spv *s)
{
	uint32_t i, cap = 0;

	if (s->n < 5 || s->n > MAX_WORDS) {
		spv_error(s, -EINVAL, 0, "not SPIR-V: the length isn't right");
		return;
	}
	if (s->w[0] == __builtin_bswap32(MAGIC)) {
		s->swapped = true;
		for (i = 0; i < s->n; i++)
			s->w[i] = __builtin_bswap32(s->w[i]);
	}
	if (s->w[0] != MAGIC || s->w[4]) {
		spv_error(s, -EINVAL, 0, "not SPIR-V");
		return;
	}
	s->version = s->w[1];
	s->bound = s->w[3];
	if (s->version < 0x10000 || s->version > 0x10600) {
		spv_error(s, -EINVAL, 1, "SPIR-V of version %u.%u", s->version >> 16,
			  s->version >> 8 & 0xff);
		return;
	}
	if (!s->bound || s->bound > MAX_BOUND) {
		spv_error(s, -EINVAL, 3, "the bound isn't right");
		return;
	}
	if (!spv_room(s, &s->ids, &cap, s->bound, sizeof(*s->ids)))
		return;
	cap = 0;
	spv_room(s, &s->fn_of_id, &cap, s->bound, sizeof(*s->fn_of_id));
	cap = 0;
	spv_room(s, &s->block_of, &cap, s->bound, sizeof(*s->block_of));
	cap = 0;
	spv_room(s, &s->marks, &cap, s->bound, sizeof(*s->marks));
	cap = 0;
	spv_room(s, &s->values, &cap, s->bound, sizeof(*s->values));
	if (s->err)
		return;
	read_all(s);
	if (!s->err)
		check_builtins(s);
	resolve_entries(s);
	if (!s->err)
		check_names(s);
	if (!s->err)
		follow_constants(s);
}
