// SPDX-License-Identifier: MIT
/*
 * Programs: the source behind each, and how it was built, as far as that can be
 * known. The program's own object is the driver's and stays as it was asked for.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wrap/launch/cache.h"
#include "layer.h"

#define RETRIES 5000	/* a tenth of a millisecond each */

static uint64_t builds;		/* of all programs; atomic */

static void headers_put(struct gs_headers *headers)
{
	cl_uint i;

	if (!headers || __atomic_sub_fetch(&headers->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (i = 0; i < headers->n; i++) {
		free(headers->of[i].name);
		free(headers->of[i].text);
	}
	free(headers);
}

static void program_end(struct gs_object *object)
{
	struct gs_program *program = (struct gs_program *)object, *more;

	pthread_mutex_destroy(&program->lock);
	gs_shadow_put(program->shadow);
	for (; program; program = more) {
		more = program->more;
		free(program->source);
		free(program->options);
		headers_put(program->headers);
		gs_constants_put(program->constants);
		gs_constants_put(program->set);
		free(program);
	}
}

struct gs_program *gs_program_add(cl_program handle, cl_context context, const char *why)
{
	struct gs_program *program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	gs_recursive_mutex(&program->lock);
	program->context = context;
	program->why = why;
	gs_object_add(&program->object, GS_PROGRAM, handle, program_end);
	return program;
}

static size_t length_of(const char *string, const size_t *lengths, cl_uint i)
{
	return lengths && lengths[i] ? lengths[i] : strlen(string);
}

static char *join(cl_uint n, const char **strings, const size_t *lengths, size_t *length)
{
	size_t all = 0, part;
	char *text;
	cl_uint i;

	for (i = 0; i < n; i++)
		all += length_of(strings[i], lengths, i);
	text = malloc(all + 1);
	if (!text)
		return NULL;
	for (i = 0, all = 0; i < n; i++, all += part) {
		part = length_of(strings[i], lengths, i);
		memcpy(text + all, strings[i], part);
	}
	text[all] = 0;
	*length = all;
	return text;
}

static CL_API_ENTRY cl_program CL_API_CALL
with_source(cl_context context, cl_uint n, const char **strings, const size_t *lengths,
	    cl_int *err)
{
	cl_program handle = gs_cl.clCreateProgramWithSource(context, n, strings, lengths, err);
	struct gs_program *program = handle ? gs_program_add(handle, context, NULL) : NULL;

	if (program)
		program->source = join(n, strings, lengths, &program->length);
	return handle;
}

static void binary_key(uint8_t key[GS_SHA256_BYTES], const void *binary, size_t length)
{
	struct gs_sha256 sha;

	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, "origin of a binary", 18);
	gs_sha256_add_part(&sha, binary, length);
	gs_sha256_end(&sha, key);
}

/* What a binary was made of, on disk; behind it the options and a NUL, constants, the source. */
struct origin {
	uint32_t il, n_constants, options, reserved;
};

/* Not if its text may include files, which can be others by the time that it is loaded. */
static void remember(struct gs_program *program, const void *binary, size_t length)
{
	uint8_t key[GS_SHA256_BYTES];
	struct origin origin = { 0 };
	size_t constants;
	char *all, *at;

	pthread_mutex_lock(&program->lock);
	if (program->built && !program->more &&
	    (program->il || !strstr(program->source, "include"))) {
		origin.il = program->il;
		origin.n_constants = program->constants ? program->constants->n : 0;
		origin.options = (uint32_t)strlen(program->options) + 1;
		constants = origin.n_constants * sizeof(struct gs_constant);
		all = malloc(sizeof(origin) + origin.options + constants + program->length);
		if (all) {
			memcpy(all, &origin, sizeof(origin));
			at = all + sizeof(origin);
			memcpy(at, program->options, origin.options);
			at += origin.options;
			if (constants)
				memcpy(at, program->constants->of, constants);
			at += constants;
			memcpy(at, program->source, program->length);
			binary_key(key, binary, length);
			gs_cache_put(key, all, (size_t)(at - all) + program->length);
		}
		free(all);
	}
	pthread_mutex_unlock(&program->lock);
}

/* False: it isn't what remember() writes, or there is no memory. */
static bool read_origin(struct gs_program *program, const char *at, size_t n)
{
	struct origin origin;
	size_t constants;

	if (n < sizeof(origin))
		return false;
	memcpy(&origin, at, sizeof(origin));
	at += sizeof(origin);
	n -= sizeof(origin);
	if (!origin.options || origin.options > n || at[origin.options - 1])
		return false;
	program->options = strdup(at);
	at += origin.options;
	n -= origin.options;
	if (origin.n_constants > n / sizeof(struct gs_constant))
		return false;
	constants = origin.n_constants * sizeof(struct gs_constant);
	program->constants = gs_constants_new(at, origin.n_constants);
	at += constants;
	n -= constants;
	program->source = malloc(n + 1);
	if (!program->options || !program->constants || !program->source)
		return false;
	memcpy(program->source, at, n);
	program->source[n] = 0;
	program->length = n;
	program->il = origin.il;
	return true;
}

static void recall(struct gs_program *program, const void *binary, size_t length)
{
	uint8_t key[GS_SHA256_BYTES];
	void *origin = NULL;
	size_t n;

	binary_key(key, binary, length);
	if (gs_cache_get(key, &origin, &n))
		return;
	if (read_origin(program, origin, n)) {
		program->built = program->remembered = true;
		program->why = NULL;
	}
	free(origin);
}

static CL_API_ENTRY cl_program CL_API_CALL
with_binary(cl_context context, cl_uint n, const cl_device_id *ids, const size_t *lengths,
	    const unsigned char **binaries, cl_int *status, cl_int *err)
{
	cl_program handle = gs_cl.clCreateProgramWithBinary(context, n, ids, lengths, binaries,
							    status, err);

	struct gs_program *program = handle ? gs_program_add(handle, context, "made from a binary") :
				     NULL;

	if (program && n == 1)
		recall(program, binaries[0], lengths[0]);
	return handle;
}

/* What the program saves may come back; other binaries of it than the first are rare. */
static CL_API_ENTRY cl_int CL_API_CALL
get_info(cl_program handle, cl_program_info what, size_t size, void *value, size_t *size_ret)
{
	cl_int rc = gs_cl.clGetProgramInfo(handle, what, size, value, size_ret);
	struct gs_program *program;
	size_t length = 0;

	if (rc != CL_SUCCESS || what != CL_PROGRAM_BINARIES || size != sizeof(void *) || !value)
		return rc;
	program = gs_object_find(GS_PROGRAM, handle);
	if (program && *(unsigned char **)value &&
	    gs_cl.clGetProgramInfo(handle, CL_PROGRAM_BINARY_SIZES, sizeof(length), &length,
				   NULL) == CL_SUCCESS)
		remember(program, *(unsigned char **)value, length);
	return rc;
}

static CL_API_ENTRY cl_program CL_API_CALL
with_built_in(cl_context context, cl_uint n, const cl_device_id *ids, const char *names,
	      cl_int *err)
{
	cl_program handle = gs_cl.clCreateProgramWithBuiltInKernels(context, n, ids, names, err);

	if (handle)
		gs_program_add(handle, context, "built into the driver");
	return handle;
}

/* What a program was before a build, in case it is refused. */
struct before {
	struct gs_program *program;	/* NULL: it stays as it is in any case */
	char *options;
	struct gs_headers *headers;
	struct gs_constants *constants;
	bool built;
	uint64_t build;
	const char *why;
	struct gs_shadow *shadow;
};

/* Before the driver's own: it may call the program back, which goes on from there. */
static void build_begins(struct before *before, cl_program handle, const char *options,
			 struct gs_headers *headers, const char *why)
{
	struct gs_program *program = gs_object_find(GS_PROGRAM, handle);

	before->program = NULL;
	/* While there are kernels the driver refuses. */
	if (!program || !program->source || program->remembered ||
	    __atomic_load_n(&program->kernels, __ATOMIC_ACQUIRE)) {
		headers_put(headers);
		return;
	}
	gs_object_get(&program->object);
	pthread_mutex_lock(&program->lock);
	*before = (struct before){
		.program = program, .options = program->options, .headers = program->headers,
		.constants = program->constants, .built = program->built, .build = program->build,
		.why = program->why, .shadow = program->shadow,
	};
	__atomic_store_n(&program->build, __atomic_add_fetch(&builds, 1, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	if (program->lost)
		why = "a constant that it has set isn't known";
	program->shadow = NULL;
	program->headers = headers;
	program->constants = gs_constants_get(program->set);
	program->options = strdup(options ? options : "");
	program->built = program->options && !why;
	program->why = why;
	pthread_mutex_unlock(&program->lock);
}

/* The call was wrong, so the driver hasn't touched the program. */
static bool is_refusal(cl_int rc)
{
	return rc == CL_INVALID_VALUE || rc == CL_INVALID_DEVICE || rc == CL_INVALID_OPERATION;
}

static void build_ended(struct before *before, cl_int rc)
{
	struct gs_program *program = before->program;
	struct gs_shadow *shadow = before->shadow;
	struct gs_headers *headers = before->headers;
	struct gs_constants *constants = before->constants;
	char *options = before->options;

	if (!program)
		return;
	if (is_refusal(rc)) {
		pthread_mutex_lock(&program->lock);
		shadow = program->shadow;
		options = program->options;
		headers = program->headers;
		constants = program->constants;
		program->options = before->options;
		program->headers = before->headers;
		program->constants = before->constants;
		program->shadow = before->shadow;
		program->built = before->built;
		__atomic_store_n(&program->build, before->build, __ATOMIC_RELAXED);
		program->why = before->why;
		pthread_mutex_unlock(&program->lock);
	} else if (rc != CL_SUCCESS) {
		/* Some drivers go on with what was built before. */
		pthread_mutex_lock(&program->lock);
		program->built = false;
		program->why = "its last build failed";
		pthread_mutex_unlock(&program->lock);
	}
	gs_shadow_put(shadow);
	headers_put(headers);
	gs_constants_put(constants);
	free(options);
	gs_object_put(&program->object);
}

/*
 * A program that has kernels can't be built. Those that the program has released
 * may live a moment longer, since a launch that was deferred holds them, and the
 * driver holds them until it has cleaned up after its last callback.
 */
static bool again(cl_program handle, cl_int rc, unsigned int *tries)
{
	struct gs_program *program = gs_object_find(GS_PROGRAM, handle);
	const struct timespec pause = { 0, 100000 };

	if (rc != CL_INVALID_OPERATION || !program || ++*tries > RETRIES ||
	    __atomic_load_n(&program->kernels, __ATOMIC_ACQUIRE))
		return false;
	nanosleep(&pause, NULL);
	return true;
}

static CL_API_ENTRY cl_int CL_API_CALL
build(cl_program handle, cl_uint n, const cl_device_id *ids, const char *options,
      void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	unsigned int tries = 0;
	struct before before;
	cl_int rc;

	build_begins(&before, handle, options, NULL, NULL);
	do {
		rc = gs_cl.clBuildProgram(handle, n, ids, options, notify, data);
	} while (again(handle, rc, &tries));
	build_ended(&before, rc);
	return rc;
}

static bool header_take(struct gs_header *header, cl_program handle, const char *name)
{
	struct gs_program *program = gs_object_find(GS_PROGRAM, handle);

	if (!program || !program->source || program->il || !name)
		return false;
	header->name = strdup(name);
	header->text = malloc(program->length + 1);
	header->length = program->length;
	if (header->text)
		memcpy(header->text, program->source, program->length + 1);
	return header->name && header->text;
}

/* Copies, since the program may release them at once; NULL: not all of them can be had. */
static struct gs_headers *headers_take(cl_uint n, const cl_program *handles, const char **names)
{
	struct gs_headers *headers;
	bool all = handles && names;

	headers = calloc(1, sizeof(*headers) + n * sizeof(*headers->of));
	if (!headers)
		return NULL;
	headers->refs = 1;
	while (all && headers->n < n) {
		all = header_take(&headers->of[headers->n], handles[headers->n],
				  names[headers->n]);
		headers->n++;
	}
	if (all)
		return headers;
	headers_put(headers);
	return NULL;
}

static CL_API_ENTRY cl_int CL_API_CALL
compile(cl_program handle, cl_uint n, const cl_device_id *ids, const char *options,
	cl_uint n_headers, const cl_program *headers, const char **names,
	void (CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	struct gs_program *program = gs_object_find(GS_PROGRAM, handle);
	struct gs_headers *taken = NULL;
	cl_uint n_known = n_headers;
	unsigned int tries = 0;
	struct before before;
	cl_int rc;

	/* Drivers ignore those of intermediate language. */
	if (program && program->il)
		n_known = 0;
	if (n_known)
		taken = headers_take(n_known, headers, names);
	build_begins(&before, handle, options, taken,
		     n_known && !taken ? "compiled with headers that aren't known" : NULL);
	do {
		rc = gs_cl.clCompileProgram(handle, n, ids, options, n_headers, headers, names,
					    notify, data);
	} while (again(handle, rc, &tries));
	build_ended(&before, rc);
	return rc;
}

static const char *not_linked(const struct gs_program *from, const char *options, cl_uint n)
{
	if (options && strstr(options, "-create-library"))
		return "a library";
	if (!from || !from->source)
		return from && from->why ? from->why : "linked of an unknown program";
	/* they would reach into what was compiled without them */
	if (options && strspn(options, " ") != strlen(options))
		return "linked with options";
	if (n == 1)
		return NULL;
	if (from->il)
		return "linked of several, one of intermediate language";
	return from->more ? "linked of what was linked" : from->why;
}

static bool copy_source(struct gs_program *to, struct gs_program *from)
{
	pthread_mutex_lock(&from->lock);
	/* There may be NULs in it. */
	to->source = malloc(from->length + 1);
	if (to->source)
		memcpy(to->source, from->source, from->length + 1);
	to->length = from->length;
	to->options = from->options ? strdup(from->options) : NULL;
	to->headers = from->headers;
	if (to->headers)
		__atomic_add_fetch(&to->headers->refs, 1, __ATOMIC_RELAXED);
	to->constants = gs_constants_get(from->constants);
	to->il = from->il;
	to->built = from->built && to->source && to->options;
	to->why = from->why;
	pthread_mutex_unlock(&from->lock);
	return to->built;
}

/* One program linked alone is that program; more are read as one, if that can be done. */
static void linked(cl_program handle, cl_context context, const char *options, cl_uint n,
		   const cl_program *inputs)
{
	struct gs_program *program, *from = NULL, **end;
	const char *why = NULL;
	cl_uint i;

	for (i = 0; i < n && !why; i++) {
		from = gs_object_find(GS_PROGRAM, inputs[i]);
		why = not_linked(from, options, n);
	}
	program = gs_program_add(handle, context, why);
	if (!program || why)
		return;
	for (i = 0, end = &program->more; i < n; i++) {
		from = gs_object_find(GS_PROGRAM, inputs[i]);
		if (!i) {
			copy_source(program, from);
			continue;
		}
		*end = calloc(1, sizeof(**end));
		if (!*end) {
			program->built = false;
			return;
		}
		(*end)->context = context;
		program->built &= copy_source(*end, from);
		end = &(*end)->more;
	}
}

static CL_API_ENTRY cl_program CL_API_CALL
link_programs(cl_context context, cl_uint n_ids, const cl_device_id *ids, const char *options,
	      cl_uint n, const cl_program *inputs, void (CL_CALLBACK *notify)(cl_program, void *),
	      void *data, cl_int *err)
{
	cl_program handle = gs_cl.clLinkProgram(context, n_ids, ids, options, n, inputs, notify,
						data, err);

	if (handle)
		linked(handle, context, options, n, inputs);
	return handle;
}

static CL_API_ENTRY cl_int CL_API_CALL retain(cl_program handle)
{
	cl_int rc = gs_cl.clRetainProgram(handle);

	if (rc == CL_SUCCESS)
		gs_object_retained(GS_PROGRAM, handle);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL release(cl_program handle)
{
	gs_object_released(GS_PROGRAM, handle);
	return gs_cl.clReleaseProgram(handle);
}

void gs_hook_program(cl_icd_dispatch *table)
{
	GS_HOOK(table, clCreateProgramWithSource, with_source);
	GS_HOOK(table, clCreateProgramWithBinary, with_binary);
	GS_HOOK(table, clCreateProgramWithBuiltInKernels, with_built_in);
	GS_HOOK(table, clGetProgramInfo, get_info);
	GS_HOOK(table, clBuildProgram, build);
	GS_HOOK(table, clCompileProgram, compile);
	GS_HOOK(table, clLinkProgram, link_programs);
	GS_HOOK(table, clRetainProgram, retain);
	GS_HOOK(table, clReleaseProgram, release);
}
