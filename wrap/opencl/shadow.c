// SPDX-License-Identifier: MIT
/*
 * Shadow programs and kernels. The program's own objects stay as they are: their
 * kernels have no more arguments, their binaries and logs are the driver's.
 *
 * A kernel whose result doesn't depend on how many groups there are needs no
 * shadow: the driver's own global offset makes a piece of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrap/launch/cache.h"
#include "shadow.h"

#define KEPT_OPS	4000	/* of a text or module: PoCL compiles longer ones for seconds */

const char gs_not_made[] = "it isn't made yet";
static const char one_group[] = "one group";
static const char no_source[] = "its source isn't known";
static const char other_device[] = "it was made for another device";
static const char other_build[] = "its program was built anew since";

void gs_shadow_put(struct gs_shadow *shadow)
{
	unsigned int i, mode;

	if (!shadow || __atomic_sub_fetch(&shadow->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; shadow->rewritten && i < shadow->n_kernels; i++)
		for (mode = 0; mode < GSX_MODES; mode++)
			if (shadow->rewritten[i][mode].program)
				gs_cl.clReleaseProgram(shadow->rewritten[i][mode].program);
	free(shadow->rewritten);
	gsx_cl_result_free(&shadow->text);
	gsx_spv_result_free(&shadow->module);
	gs_constants_put(shadow->constants);
	free(shadow->guard);
	free(shadow->options);
	free(shadow);
}

void gs_cut_free(struct gs_cut *cut)
{
	unsigned int i;

	if (!cut)
		return;
	for (i = 0; i < GSX_MODES; i++) {
		if (cut->kernel[i])
			gs_cl.clReleaseKernel(cut->kernel[i]);
		free(cut->set[i]);
	}
	gs_shadow_put(cut->shadow);
	free(cut);
}

static void not_transformed(struct gs_shadow *shadow, const char *error)
{
	snprintf(shadow->why, sizeof(shadow->why), "transforming: %s", error ? error : "no memory");
}

/* From the program's text to that of its shadows, and the report. */
static void transform_text(struct gs_shadow *shadow, struct gs_program *program)
{
	struct gsx_cl_options options = { .modes = GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS) };
	struct gsx_cl_source source = { 0 };
	int err = gs_source_read(program, shadow->id, &source);

	if (err) {
		snprintf(shadow->why, sizeof(shadow->why), "preprocessing: %s",
			 source.error ? source.error : err == -EIO ? "the device gave no answer" :
			 "no memory");
	} else {
		err = program->more ?
			gs_source_link(program, shadow->id, &source, &options, &shadow->text) :
			gsx_cl_transform(source.text, source.len, &options, &shadow->text);
		if (err)
			not_transformed(shadow, shadow->text.error);
		shadow->kernels = shadow->text.kernels;
		shadow->n_kernels = shadow->text.n_kernels;
		/* what is linked has all of its guards within */
		shadow->guard = strdup(program->more || !source.guard ? "" : source.guard);
		shadow->options = source.options ? strdup(source.options) : NULL;
	}
	gsx_cl_source_free(&source);
}

/* The same of modules. */
static void transform_il(struct gs_shadow *shadow, struct gs_program *program)
{
	struct gsx_spv_options options = { .modes = GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS) };

	if (gsx_spv_transform(program->source, program->length, &options, &shadow->module))
		not_transformed(shadow, shadow->module.error);
	shadow->il = true;
	shadow->kernels = shadow->module.kernels;
	shadow->n_kernels = shadow->module.n_kernels;
	shadow->guard = strdup("");
	shadow->options = strdup(program->options);
	shadow->constants = gs_constants_get(program->constants);
}

static void transform(struct gs_shadow *shadow, struct gs_program *program)
{
	(program->il ? transform_il : transform_text)(shadow, program);
	shadow->rewritten = calloc(shadow->n_kernels + 1, sizeof(*shadow->rewritten));
	if (!*shadow->why && (!shadow->guard || !shadow->options || !shadow->rewritten))
		strcpy(shadow->why, "no memory");
}

/*
 * The kernel's program's, made if there is none; NULL and a reason. A deferred launch's
 * kernel may be of a build before the last: the program has released it since.
 */
static struct gs_shadow *shadow_of(const struct gs_kernel *kernel, cl_device_id id,
				   const char **why)
{
	struct gs_program *program = kernel->program;
	struct gs_shadow *shadow;

	pthread_mutex_lock(&program->lock);
	if (kernel->build != program->build) {
		pthread_mutex_unlock(&program->lock);
		*why = other_build;
		return NULL;
	}
	shadow = program->shadow;
	if (!shadow && program->built) {
		shadow = calloc(1, sizeof(*shadow));
		if (shadow) {
			shadow->refs = 1;
			shadow->id = id;
			shadow->is_pocl = gs_device_is_pocl(id);
			transform(shadow, program);
			program->shadow = shadow;
		}
	}
	*why = program->why ? program->why : no_source;
	if (shadow)
		__atomic_add_fetch(&shadow->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&program->lock);
	return shadow;
}

/* The guard, and the text without the parts of other kernels; NULL: no memory. */
static char *text_of(const struct gs_shadow *shadow, const struct gsx_cl_kernel *kernel,
		     enum gsx_mode mode, size_t *length)
{
	const struct gsx_cl_result *result = &shadow->text;
	size_t at = 0, n = strlen(shadow->guard);
	char *text = malloc(n + result->len[mode] + 1);
	const struct gsx_cl_part *part;
	uint32_t i;

	if (!text)
		return NULL;
	memcpy(text, shadow->guard, n);
	for (i = 0; i < result->n_kernels; i++) {
		part = &result->kernels[i].part[mode];
		if (!part->len || &result->kernels[i] == kernel)
			continue;
		memcpy(text + n, result->text[mode] + at, part->at - at);
		n += part->at - at;
		at = part->at + part->len;
	}
	memcpy(text + n, result->text[mode] + at, result->len[mode] - at + 1);
	*length = n + result->len[mode] - at;
	return text;
}

static cl_program build(const struct gs_shadow *shadow, cl_context context, const char *text,
			size_t length)
{
	cl_program program = shadow->il ?
		gs_il_create(context, text, length, shadow->constants) :
		gs_cl.clCreateProgramWithSource(context, 1, &text, NULL, &(cl_int){ 0 });

	if (program && gs_compile(program, shadow->id, shadow->options) != CL_SUCCESS) {
		gs_cl.clReleaseProgram(program);
		program = NULL;
	}
	return program;
}

/*
 * A binary is asked for while the kernel may run again. PoCL then compiles once more all that
 * was made for it: too long for large ones. And where a kernel requires the size of its groups
 * PoCL 3.1 takes what it has compiled so for the form that runs, finds that nobody uses it,
 * and aborts (an assertion in its pocl_release_dlhandle_cache()).
 */
static bool may_be_kept(const struct gs_shadow *shadow, const struct gsx_cl_kernel *info)
{
	uint64_t instructions = 0;
	uint32_t i;

	for (i = 0; shadow->is_pocl && i < shadow->n_kernels; i++) {
		if (!shadow->il && &shadow->kernels[i] != info)
			continue;
		if (shadow->kernels[i].reqd[0])
			return false;
		instructions += shadow->kernels[i].instructions;
	}
	return instructions <= KEPT_OPS;
}

/* Is it what we take it for, as far as the driver can tell? */
static bool has_kernel(cl_program program, const struct gsx_cl_kernel *info, enum gsx_mode mode)
{
	cl_kernel kernel = gs_cl.clCreateKernel(program, info->name, &(cl_int){ 0 });
	cl_uint n = 0, hidden = mode == GSX_SLICE ? 4 : 5;

	if (!kernel)
		return false;
	gs_cl.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof(n), &n, NULL);
	gs_cl.clReleaseKernel(kernel);
	return n == info->n_params + hidden;
}

static void make_program(struct gs_rewritten *r, const struct gsx_cl_kernel *info,
			 enum gsx_mode mode, cl_context context)
{
	const struct gs_shadow *shadow = r->shadow;
	size_t length = shadow->module.len[mode];
	char *own = NULL, *text = shadow->module.module[mode];

	if (!shadow->il)
		text = own = text_of(shadow, info, mode, &length);
	if (!text)
		return;
	gs_binary_key(r, text, length);
	r->program = gs_binary_load(r, context);
	if (r->program && !has_kernel(r->program, info, mode)) {
		gs_cl.clReleaseProgram(r->program);
		r->program = NULL;
	}
	if (!r->program) {
		r->program = build(shadow, context, text, length);
		r->unkept = r->program && gs_cache_is_on() &&
			may_be_kept(shadow, info);
	}
	free(own);
}

static struct gs_rewritten *rewritten_of(const struct gs_cut *cut, enum gsx_mode mode)
{
	struct gs_shadow *shadow = cut->shadow;

	return &shadow->rewritten[shadow->il ? 0 : cut->info - shadow->kernels][mode];
}

void gs_cut_keep(struct gs_cut *cut, enum gsx_mode mode)
{
	struct gs_rewritten *r = rewritten_of(cut, mode);

	if (__atomic_load_n(&r->unkept, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&r->unkept, false, __ATOMIC_ACQ_REL) && !gs_binary_keep(r))
		__atomic_store_n(&r->unkept, true, __ATOMIC_RELAXED);
}

static const struct gsx_cl_kernel *find_kernel(const struct gs_shadow *shadow,
					       const struct gs_kernel *kernel)
{
	uint32_t i;

	for (i = 0; i < shadow->n_kernels; i++)
		if (!strcmp(shadow->kernels[i].name, kernel->name))
			return shadow->kernels[i].n_params == kernel->n_args ?
				&shadow->kernels[i] : NULL;
	return NULL;
}

static const char *refusal_of(const struct gsx_cl_kernel *info, enum gsx_mode mode)
{
	uint32_t i;

	for (i = 0; i < info->n_refusals; i++)
		if (info->refusals[i].modes & GSX_BIT(mode))
			return info->refusals[i].text;
	return "it can't be cut";
}

static bool is_native(const struct gs_cut *cut)
{
	return cut->info->flags & GSX_CL_NATIVE;
}

/* The program's lock is held. */
static const char *make_kernel(struct gs_kernel *kernel, struct gs_cut *cut, enum gsx_mode mode)
{
	struct gs_rewritten *r = rewritten_of(cut, mode);

	if (!r->tried) {
		r->tried = true;
		r->shadow = cut->shadow;
		make_program(r, cut->info, mode, kernel->program->context);
	}
	if (!r->program)
		return "its rewritten form isn't built by the driver";
	cut->set[mode] = calloc(kernel->n_args + 1, sizeof(*cut->set[mode]));
	if (cut->set[mode])
		cut->kernel[mode] = gs_cl.clCreateKernel(r->program, kernel->name, &(cl_int){ 0 });
	return cut->kernel[mode] ? NULL : "its rewritten form has no such kernel";
}

/* The shadow kernel, with what it needs checked against the launch. */
static const char *find_rewritten(struct gs_launch *launch, struct gs_cut *cut, enum gsx_mode mode,
				  bool build)
{
	size_t most = 0, local = launch->local[0] * launch->local[1] * launch->local[2];
	struct gs_kernel *kernel = launch->kernel;

	if (!__atomic_load_n(&cut->made[mode], __ATOMIC_ACQUIRE)) {
		if (!build)
			return gs_not_made;
		/* Launches in several queues may ask for it at a time. */
		pthread_mutex_lock(&kernel->program->lock);
		if (!cut->made[mode]) {
			cut->refused[mode] = make_kernel(kernel, cut, mode);
			__atomic_store_n(&cut->made[mode], true, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&kernel->program->lock);
	}
	if (cut->refused[mode])
		return cut->refused[mode];
	if (__atomic_load_n(&cut->failed[mode], __ATOMIC_RELAXED))
		return "its rewritten form couldn't be launched";
	if (gs_cl.clGetKernelWorkGroupInfo(cut->kernel[mode], cut->shadow->id,
					   CL_KERNEL_WORK_GROUP_SIZE, sizeof(most), &most, NULL) !=
	    CL_SUCCESS || most < local)
		return "its rewritten form can't have groups of that size";
	return NULL;
}

static struct gs_cut *cut_new(struct gs_kernel *kernel, cl_device_id id)
{
	struct gs_cut *cut = calloc(1, sizeof(*cut));

	if (!cut)
		return NULL;
	if (kernel->program)
		cut->shadow = shadow_of(kernel, id, &cut->why);
	else
		cut->why = "its program isn't known";
	if (cut->shadow && *cut->shadow->why) {
		cut->why = cut->shadow->why;
	} else if (cut->shadow && cut->shadow->id != id) {
		cut->why = other_device;
	} else if (cut->shadow) {
		cut->info = find_kernel(cut->shadow, kernel);
		cut->why = !cut->info ? "it isn't in the program's text" :
			cut->info->modes & GSX_BIT(GSX_SLICE) ? NULL :
			refusal_of(cut->info, GSX_SLICE);
	}
	return cut;
}

/*
 * Made without the kernel's lock, since the device may have to be waited for: the
 * program may be in the middle of a launch of the kernel, which then holds the grant
 * until it has that lock. Of two launches that want it, one is first.
 */
static struct gs_cut *cut_of(struct gs_launch *launch, cl_device_id id, bool build)
{
	struct gs_kernel *kernel = launch->kernel;
	struct gs_cut *cut = __atomic_load_n(&kernel->cut, __ATOMIC_ACQUIRE), *made;

	if (cut || !build)
		return cut;
	made = cut_new(kernel, id);
	if (!made || __atomic_compare_exchange_n(&kernel->cut, &cut, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
		return made;
	gs_cut_free(made);
	return cut;
}

/*
 * Which local size the driver would choose can't be asked for everywhere, and
 * all pieces must have the same: a divisor of the size, up to 64 items in all.
 */
static void choose_local(struct gs_launch *launch, const struct gsx_cl_kernel *info)
{
	size_t room = 64, n, best;
	cl_uint i;

	for (i = 0; i < launch->dims; i++) {
		for (n = best = 1; n <= room && n <= launch->global[i]; n++)
			if (!(launch->global[i] % n))
				best = n;
		if (info->reqd[0])
			best = info->reqd[i];
		launch->local[i] = best;
		launch->groups[i] = launch->global[i] / best;
		room /= best < room ? best : room;
	}
	launch->total = launch->groups[0] * launch->groups[1] * launch->groups[2];
	launch->has_local = true;
}

const char *gs_cut_refusal(const struct gs_kernel *kernel, uint64_t groups)
{
	const struct gs_cut *cut = __atomic_load_n(&kernel->cut, __ATOMIC_ACQUIRE);

	if (groups < 2)
		return one_group;
	if (cut)
		return cut->why;
	return kernel->program && kernel->program->built ? NULL : no_source;
}

bool gs_cut_find(struct gs_launch *launch, cl_device_id id, bool build, const char **why)
{
	struct gs_cut *cut;

	*why = one_group;
	if (launch->task || launch->total < 2)
		return false;
	cut = cut_of(launch, id, build);
	*why = cut ? cut->why : build ? "no memory" : gs_not_made;
	if (*why)
		return false;
	if (cut->shadow->id != id) {
		*why = other_device;
		return false;
	}
	if (!launch->has_local) {
		choose_local(launch, cut->info);
		launch->uncut = launch->estimate;
		launch->estimate = gs_estimate_of(launch->kernel, launch->total, launch->local);
	}
	return true;
}

const char *gs_cut_make(struct gs_launch *launch, enum gsx_mode mode, bool build)
{
	struct gs_cut *cut = launch->kernel->cut;

	if (mode == GSX_SLICE && is_native(cut))
		return NULL;
	if (__atomic_load_n(&launch->kernel->exec_info, __ATOMIC_RELAXED))
		return "clSetKernelExecInfo was used";
	if (!(cut->info->modes & GSX_BIT(mode)))
		return refusal_of(cut->info, mode);
	return find_rewritten(launch, cut, mode, build);
}

cl_int gs_cut_arguments(struct gs_cut *cut, enum gsx_mode mode, const struct gs_args *args)
{
	cl_int rc;
	cl_uint i;

	for (i = 0; i < args->n; i++) {
		if (cut->set[mode][i] == args->arg[i].version)
			continue;
		rc = gs_arg_set(cut->kernel[mode], i, &args->arg[i]);
		if (rc != CL_SUCCESS)
			return rc;
		cut->set[mode][i] = args->arg[i].version;
	}
	return CL_SUCCESS;
}

static cl_int set_hidden(struct gs_cut *cut, const struct gs_launch *launch,
			 const struct gs_box *box)
{
	struct gsx_cl_launch l;
	struct gsx_cl_slice slice;
	cl_int rc = CL_SUCCESS;
	cl_uint i;

	for (i = 0; i < 3; i++) {
		l.size[i] = launch->global[i];
		l.offset[i] = launch->offset[i];
		l.local[i] = launch->local[i];
	}
	gsx_cl_slice_init(&slice, &l, box->base);
	for (i = 0; i < 4 && rc == CL_SUCCESS; i++)
		rc = gs_cl.clSetKernelArg(cut->kernel[GSX_SLICE], cut->info->n_params + i,
					  sizeof(slice.arg[i]), slice.arg[i]);
	return rc;
}

/*
 * PoCL compiles a kernel for launches without an offset, and once more for others. So that
 * it does so once for all pieces, the first has one too, in a dimension that is only there
 * for that, and that the kernel doesn't look at. Returns how many there are then.
 */
static cl_uint shift(const struct gs_cut *cut, cl_uint dims, size_t offset[3])
{
	cl_uint more = dims > cut->info->dims ? dims : cut->info->dims;

	if (!cut->shadow->is_pocl || more == 3)
		return dims;
	offset[more] = 1;
	return more + 1;
}

cl_int gs_cut_enqueue(struct gs_launch *launch, cl_command_queue queue, const struct gs_box *box,
		      cl_event *event)
{
	struct gs_kernel *kernel = launch->kernel;
	struct gs_cut *cut = kernel->cut;
	cl_kernel handle = kernel->object.handle;
	size_t offset[3], global[3];
	cl_uint i, dims;
	cl_int rc;

	for (i = 0; i < 3; i++) {
		offset[i] = launch->offset[i] + box->base[i] * launch->local[i];
		global[i] = box->n[i] * launch->local[i];
	}
	dims = shift(cut, launch->dims, offset);
	if (is_native(cut)) {
		pthread_mutex_lock(&kernel->lock);
		rc = gs_kernel_set(kernel, launch->args);
	} else {
		handle = cut->kernel[GSX_SLICE];
		rc = gs_cut_arguments(cut, GSX_SLICE, launch->args);
		if (rc == CL_SUCCESS)
			rc = set_hidden(cut, launch, box);
	}
	if (rc == CL_SUCCESS)
		rc = gs_cl.clEnqueueNDRangeKernel(queue, handle, dims, offset, global,
						  launch->local, 0, NULL, event);
	if (is_native(cut))
		pthread_mutex_unlock(&kernel->lock);
	else if (rc != CL_SUCCESS)
		__atomic_store_n(&cut->failed[GSX_SLICE], true, __ATOMIC_RELAXED);
	return rc;
}
