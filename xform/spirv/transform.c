// SPDX-License-Identifier: MIT
/* The call: reads, judges each kernel, and writes the modules. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spv.h"

#define BOTH	(GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS))

/* A fact that is in a mode's way. Where the original does the slices, few are. */
static const struct {
	uint32_t use, modes;
	enum gsx_reason reason;
	bool native;		/* also in the way of slices by offset */
	const char *text;
} rules[] = {
	{ U_EXTERN, BOTH, GSX_EXTERN_CALL, true, "a function or a variable that isn't in the module" },
	{ U_UNKNOWN, BOTH, GSX_UNKNOWN_FLOW, true, "an instruction that isn't known here" },
	{ U_DEVICE_LAUNCH, BOTH, GSX_DEVICE_LAUNCH, true, "launches kernels from the device" },
	{ U_PIPE, BOTH, GSX_PIPE, true, "a pipe" },
	{ U_WAITS, BOTH, GSX_WAIT_LOOP, true,
	  "a loop that may wait for memory that another work-group writes" },
	{ U_SPECIAL, BOTH, GSX_SPECIAL_USE, false,
	  "a work-item's value is taken by its address, not read" },
	{ U_CALLS_KERNEL, BOTH, GSX_KERNEL_CALL, false,
	  "a kernel is called that would have to be rewritten" },
	{ U_GLOBALS, BOTH, GSX_PROGRAM_SCOPE, false,
	  "a variable of the program, which a second module has once more" },
	{ U_SUBGROUP, GSX_BIT(GSX_WORKERS), GSX_SUB_GROUPS, false, "sub-groups" },
	{ U_DIVERGES, GSX_BIT(GSX_WORKERS), GSX_EARLY_RETURN, false,
	  "a barrier that some work-items may not reach" },
};

#define N_RULES	(sizeof(rules) / sizeof(*rules))

static uint32_t batch_for(uint32_t instructions)
{
	return instructions < 10 ? 8 : instructions < 20 ? 6 : instructions < 30 ? 4 :
	       instructions < 40 ? 2 : 1;
}

static void judge(struct spv *s, struct entry *e, struct gsx_cl_kernel *k, uint32_t wanted)
{
	const struct fn *f = &s->fns[e->fn];
	bool native = !(f->uses & SLICE_BITS);
	struct gsx_refusal *r = spv_keep(s, (N_RULES + 2) * sizeof(*r));
	uint32_t i, c, modes, bit;

	if (!r)
		return;
	k->refusals = r;
	k->modes = BOTH & wanted;
	for (i = 0; i < N_RULES; i++) {
		modes = rules[i].modes;
		if (!(f->uses & rules[i].use))
			continue;
		if (native && !rules[i].native)
			modes &= ~GSX_BIT(GSX_SLICE);
		if (!modes)
			continue;
		for (bit = 0; !(rules[i].use & 1u << bit); bit++)
			;
		r[k->n_refusals++] = (struct gsx_refusal){
			rules[i].reason, modes, f->where[bit], rules[i].text,
		};
		k->modes &= ~modes;
	}
	for (c = 0; c < s->n_calls; c++)
		if (s->calls[c].fn == e->fn) {
			r[k->n_refusals++] = (struct gsx_refusal){
				GSX_KERNEL_CALL, BOTH, s->calls[c].word, "a kernel that is called",
			};
			k->modes = 0;
			break;
		}
	if (BOTH & ~wanted)
		r[k->n_refusals++] = (struct gsx_refusal){
			GSX_NOT_ASKED, BOTH & ~wanted, e->word, "not asked for",
		};
	if (native)
		k->flags |= GSX_CL_NATIVE;
	e->modes = k->modes;
}

#define NO_SIZE	UINT32_MAX	/* a specialisation constant's, or beyond all bounds */

static uint32_t type_bytes(const struct spv *s, uint32_t type, int depth)
{
	uint32_t def = spv_def(s, type), i, v, one;
	uint64_t n = 0;

	if (!def || depth > 16)
		return NO_SIZE;
	switch (op_of(s, def)) {
	case OP_TYPE_INT:
	case OP_TYPE_FLOAT:
		v = spv_operand(s, def, 2);
		return v <= 64 ? v / 8 : NO_SIZE;
	case OP_TYPE_BOOL:
		return 1;
	case OP_TYPE_VECTOR:
		one = type_bytes(s, spv_operand(s, def, 2), depth + 1);
		v = spv_operand(s, def, 3);
		if (one == NO_SIZE || v > 16)
			return NO_SIZE;
		n = (uint64_t)one * (v == 3 ? 4 : v);
		break;
	case OP_TYPE_ARRAY:
		v = spv_operand(s, def, 3);
		if (v >= s->bound || !const_value(s, v, &v))
			return NO_SIZE;
		one = type_bytes(s, spv_operand(s, def, 2), depth + 1);
		if (one == NO_SIZE)
			return NO_SIZE;
		n = (uint64_t)one * v;
		break;
	case OP_TYPE_STRUCT:
		if (len_of(s, def) > 256)
			return NO_SIZE;
		for (i = 2; i < len_of(s, def); i++) {
			one = type_bytes(s, spv_operand(s, def, i), depth + 1);
			if (one == NO_SIZE)
				return NO_SIZE;
			n += one;
		}
		break;
	case OP_TYPE_POINTER:
		return s->physical32 ? 4 : 8;
	default:
		return NO_SIZE;
	}
	return n < NO_SIZE ? n : NO_SIZE;
}

static void add_bytes(struct gsx_cl_kernel *k, uint32_t *to, uint32_t bytes, uint32_t unknown)
{
	if (bytes == NO_SIZE || bytes > UINT32_MAX - *to)
		k->flags |= unknown;
	else
		*to += bytes;
}

static void add_variable(const struct spv *s, struct gsx_cl_kernel *k, uint32_t id)
{
	uint32_t def = s->ids[s->ids[id].type].def, bytes = NO_SIZE;

	if (def && op_of(s, def) == OP_TYPE_POINTER)
		bytes = type_bytes(s, spv_operand(s, def, 3), 0);
	if (storage_of(s, id) == STORAGE_WORKGROUP)
		add_bytes(k, &k->local_bytes, bytes, GSX_CL_LOCAL_UNKNOWN);
	else if (storage_of(s, id) == STORAGE_FUNCTION)
		add_bytes(k, &k->private_bytes, bytes, GSX_CL_PRIVATE_UNKNOWN);
}

/* Variables that the kernel, or a function below it, names. Others cost nothing. */
static void count_bytes(struct spv *s, struct gsx_cl_kernel *k, const struct entry *e)
{
	uint32_t at, i, n = 0, fn;
	uint8_t *below = calloc(s->n_fns + 1, 1), *named = calloc(s->bound, 1);
	uint32_t *stack = calloc(s->n_fns + 1, 4);

	if (!below || !named || !stack) {
		spv_error(s, -ENOMEM, 0, "out of memory");
		goto out;
	}
	below[e->fn] = 1;
	stack[n++] = e->fn;
	while (n) {
		const struct fn *f = &s->fns[stack[--n]];

		for (i = 0; i < f->n_calls; i++) {
			fn = s->calls[f->call + i].fn;
			if (!below[fn])
				stack[n++] = fn;
			below[fn] = 1;
		}
		for (at = f->word; at < f->end; at += len_of(s, at))
			for (i = 1; i < len_of(s, at) && i < literals_from(op_of(s, at)); i++) {
				uint32_t id = s->w[at + i];

				if (id >= s->bound || named[id] || !s->ids[id].def ||
				    spv_is_number(s, at, i) ||
				    op_of(s, s->ids[id].def) != OP_VARIABLE)
					continue;
				named[id] = 1;
				add_variable(s, k, id);
			}
	}
out:
	free(below);
	free(named);
	free(stack);
}

static uint32_t param_flags(const struct spv *s, const struct fn *f, uint32_t i)
{
	uint32_t id = s->params[f->first_param + i], type = s->ids[id].type, def = s->ids[type].def;
	uint32_t flags = 0;

	switch (def ? op_of(s, def) : 0) {
	case OP_TYPE_POINTER:
		if (s->w[def + 2] == STORAGE_FUNCTION)	/* a struct by value */
			return 0;
		flags = GSX_PARAM_POINTER | (s->w[def + 2] == STORAGE_WORKGROUP ? GSX_CL_LOCAL :
			s->w[def + 2] == STORAGE_CONSTANT ? GSX_CL_CONSTANT : GSX_CL_GLOBAL);
		break;
	case OP_TYPE_IMAGE:
		flags = GSX_CL_IMAGE | GSX_PARAM_READ;
		break;
	case OP_TYPE_SAMPLER:
		return GSX_CL_SAMPLER;
	case OP_TYPE_PIPE:
		return GSX_CL_PIPE;
	case OP_TYPE_QUEUE:
		return GSX_CL_QUEUE;
	default:
		return 0;
	}
	if (f->written & origin_of(i))
		flags |= GSX_PARAM_WRITTEN;
	if (f->read & origin_of(i))
		flags |= GSX_PARAM_READ;
	return flags;
}

static uint32_t flags_of(uint32_t uses)
{
	static const struct {
		uint32_t use, flag;
	} list[] = {
		{ U_BARRIER, GSX_BARRIERS }, { U_ATOMIC, GSX_ATOMICS }, { U_WAITS, GSX_WAITS },
		{ U_WRITES_ANY, GSX_WRITES_ANY }, { U_READS_ANY, GSX_READS_ANY },
		{ U_PRINTF, GSX_CL_PRINTF }, { U_SUBGROUP, GSX_CL_SUB_GROUPS },
		{ U_COLLECTIVE, GSX_CL_COLLECTIVES }, { U_IMAGE, GSX_CL_IMAGES },
		{ U_PIPE, GSX_CL_PIPES }, { U_DIVERGES, GSX_CL_EARLY_RETURN },
		{ U_GLOBALS, GSX_CL_GLOBALS }, { U_SUB_COUNT, GSX_CL_UNIFORM },
	};
	uint32_t flags = 0, i;

	for (i = 0; i < sizeof(list) / sizeof(*list); i++)
		flags |= uses & list[i].use ? list[i].flag : 0;
	return flags;
}

static void report(struct spv *s, struct gsx_spv_result *res, uint32_t wanted)
{
	struct gsx_cl_kernel *kernels = spv_keep(s, (s->n_entries + 1) * sizeof(*kernels));
	struct gsx_cl_param *params;
	uint32_t i, j;

	for (i = 0; kernels && i < s->n_entries && !s->err; i++) {
		struct entry *e = &s->entries[i];
		struct gsx_cl_kernel *k = &kernels[i];
		const struct fn *f = &s->fns[e->fn];

		k->name = e->name;
		k->line = e->word;
		k->flags = flags_of(f->uses) | (f->n_calls ? GSX_CALLS : 0);
		k->instructions = f->instructions;
		k->batch = batch_for(f->instructions);
		memcpy(k->reqd, e->reqd, sizeof(k->reqd));
		k->dims = 3;	/* that isn't looked into */
		params = spv_keep(s, (f->n_params + 1) * sizeof(*params));
		for (j = 0; params && j < f->n_params; j++) {
			params[j].name = "";
			params[j].flags = param_flags(s, f, j);
		}
		k->params = params;
		k->n_params = f->n_params;
		count_bytes(s, k, e);
		judge(s, e, k, wanted);
	}
	res->kernels = kernels;
	res->n_kernels = s->n_entries;
}

static bool wants_module(const struct spv *s, enum gsx_mode mode)
{
	uint32_t i;

	for (i = 0; i < s->n_entries; i++)
		if (s->entries[i].modes & GSX_BIT(mode) &&
		    (mode != GSX_SLICE || s->opt->rewrite_native ||
		     s->fns[s->entries[i].fn].uses & SLICE_BITS))
			return true;
	return false;
}

static void modules(struct spv *s, struct gsx_spv_result *res, uint32_t wanted)
{
	uint32_t mode, i;

	for (mode = 0; mode < GSX_MODES && !s->err; mode++) {
		struct words to = { 0 };

		if (!(wanted & BOTH & GSX_BIT(mode)) || !wants_module(s, mode))
			continue;
		write_module(s, mode, &to);
		for (i = 0; s->swapped && i < to.n; i++)
			to.w[i] = __builtin_bswap32(to.w[i]);
		res->module[mode] = to.w;
		res->len[mode] = (size_t)to.n * 4;
	}
}

static void forget(struct spv *s)
{
	spv_forget(s);
	free(s->w);
	free(s->ids);
	free(s->fns);
	free(s->params);
	free(s->calls);
	free(s->entries);
	free(s->fn_of_id);
	free(s->block_of);
	free(s->marks);
	free(s->values);
	free(s);
}

static int refuse(struct spv *s, struct gsx_spv_result *res)
{
	const char *file = s->opt->file ? s->opt->file : "spirv";
	size_t room = strlen(file) + sizeof(s->err_text) + 20;
	char *text = malloc(room);
	int mode, err = s->err;

	for (mode = 0; mode < GSX_MODES; mode++) {
		free(res->module[mode]);
		res->module[mode] = NULL;
		res->len[mode] = 0;
	}
	if (text)
		snprintf(text, room, "%s:%u: %s", file, s->err_word, s->err_text);
	res->error_word = s->err_word;
	res->error = text;
	res->kernels = NULL;
	res->n_kernels = 0;
	forget(s);
	res->memory = NULL;
	return err;
}

int gsx_spv_transform(const void *module, size_t len, const struct gsx_spv_options *opt,
		      struct gsx_spv_result *res)
{
	static const struct gsx_spv_options all = { .modes = GSX_ALL_MODES };
	struct spv *s = calloc(1, sizeof(*s));

	memset(res, 0, sizeof(*res));
	if (!s)
		return -ENOMEM;
	res->memory = s;
	s->opt = opt ? opt : &all;
	s->max_memory = s->opt->max_memory ? s->opt->max_memory : (64u << 20) + 64 * len;
	if (len % 4 || len > UINT32_MAX)
		spv_error(s, -EINVAL, 0, "not SPIR-V: the length isn't right");
	s->w = s->err ? NULL : malloc(len ? len : 4);
	if (!s->w)
		spv_error(s, -ENOMEM, 0, "out of memory");
	if (s->err)
		return refuse(s, res);
	memcpy(s->w, module, len);
	s->n = len / 4;
	spv_read(s);
	if (!s->err)
		spv_facts(s);
	if (!s->err)
		report(s, res, s->opt->modes ? s->opt->modes : GSX_ALL_MODES);
	if (!s->err)
		modules(s, res, s->opt->modes);
	return s->err ? refuse(s, res) : 0;
}

void gsx_spv_result_free(struct gsx_spv_result *res)
{
	int mode;

	for (mode = 0; mode < GSX_MODES; mode++)
		free(res->module[mode]);
	if (res->memory)
		forget(res->memory);
	else
		free((char *)res->error);
	memset(res, 0, sizeof(*res));
}
