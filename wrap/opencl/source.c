// SPDX-License-Identifier: MIT
/*
 * A program's source, preprocessed as the device's compiler would: with its
 * options, with the files that it includes, and with the macros that the device
 * is asked for by running a small kernel. Its answers are kept on disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wrap/launch/cache.h"
#include "shadow.h"

#define FILE_MAX	(16 << 20)
#define ROUNDS		8	/* of questions */
#define MACROS_MAX	4096

struct file {
	struct file *next;
	char text[];
};

/* Where included text is looked for, and what was read. */
struct includes {
	const struct gs_headers *headers;
	struct file *files;
};

/* What was found out about the device's macros, for one program. */
struct answers {
	struct gsx_cl_macro *macro;
	uint32_t n;
};

void gs_device_identity(struct gs_sha256 *sha, cl_device_id id)
{
	static const cl_device_info what[] = {
		CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION,
		CL_DEVICE_OPENCL_C_VERSION,
	};
	char text[1024];
	size_t i, n;

	gs_sha256_add_part(sha, GPUSHARE_RELEASE, sizeof(GPUSHARE_RELEASE));
	for (i = 0; i < sizeof(what) / sizeof(*what); i++) {
		n = 0;
		if (gs_cl.clGetDeviceInfo(id, what[i], sizeof(text), text, &n) != CL_SUCCESS)
			n = 0;
		gs_sha256_add_part(sha, text, n);
	}
}

static struct file *read_file(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct file *file = NULL;
	struct statx st;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	if (!statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &st) &&
	    S_ISREG(st.stx_mode) && st.stx_size <= FILE_MAX)
		file = malloc(sizeof(*file) + st.stx_size + 1);
	if (file)
		n = read(fd, file->text, st.stx_size);
	close(fd);
	if (n < 0) {
		free(file);
		return NULL;
	}
	*length = (size_t)n;
	return file;
}

/* Of two headers with one name the first counts. */
static int passed(const struct gs_headers *headers, const char *path, const char **text,
		  size_t *length)
{
	cl_uint i;

	for (i = 0; headers && i < headers->n; i++)
		if (!strcmp(headers->of[i].name, path)) {
			*text = headers->of[i].text;
			*length = headers->of[i].length;
			return 0;
		}
	return -ENOENT;
}

/* Files as the drivers look for them: in the program's working directory. */
static int include(void *arg, enum gsx_cl_where where, const char *path, const char **text,
		   size_t *length)
{
	struct includes *includes = arg;
	struct file *file;

	if (where == GSX_CL_PASSED)
		return passed(includes->headers, path, text, length);
	file = read_file(path, length);
	if (!file)
		return -ENOENT;
	file->next = includes->files;
	includes->files = file;
	*text = file->text;
	return 0;
}

static bool take_answer(struct answers *a, const struct gsx_cl_source *source, char *answer,
			size_t length)
{
	uint32_t n = source->n_questions, i;
	struct gsx_cl_macro *all, *m;

	if (a->n + n > MACROS_MAX)
		return false;
	all = realloc(a->macro, (a->n + n) * sizeof(*all));
	m = calloc(n, sizeof(*m));
	if (all)
		a->macro = all;
	if (!all || !m ||
	    gsx_cl_probe_answer(source->questions, n, answer, length, m)) {
		free(m);
		return false;
	}
	/* The names and values are the questions' and the answer's, which end before. */
	for (i = 0; i < n; i++) {
		m[i].name = strdup(m[i].name);
		m[i].value = m[i].value ? strdup(m[i].value) : NULL;
		a->macro[a->n + i] = m[i];
	}
	a->n += n;
	for (i = 0; i < n; i++)
		if (!m[i].name)
			n = 0;
	free(m);
	return n;
}

static bool run_probe(struct gs_program *program, cl_device_id id, cl_program probe, char *answer,
		      cl_uint room)
{
	const size_t one = 1;
	cl_command_queue queue = gs_cl.clCreateCommandQueue(program->context, id, 0,
							    &(cl_int){ 0 });
	cl_mem mem = gs_cl.clCreateBuffer(program->context, CL_MEM_READ_WRITE, room, NULL,
					  &(cl_int){ 0 });
	cl_kernel kernel = gs_cl.clCreateKernel(probe, "gsx_probe", &(cl_int){ 0 });
	bool ok = queue && mem && kernel &&
		gs_cl.clSetKernelArg(kernel, 0, sizeof(mem), &mem) == CL_SUCCESS &&
		gs_cl.clSetKernelArg(kernel, 1, sizeof(room), &room) == CL_SUCCESS &&
		gs_cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL) ==
			CL_SUCCESS &&
		gs_cl.clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, room, answer, 0, NULL, NULL) ==
			CL_SUCCESS;

	if (kernel)
		gs_cl.clReleaseKernel(kernel);
	if (mem)
		gs_cl.clReleaseMemObject(mem);
	if (queue)
		gs_cl.clReleaseCommandQueue(queue);
	return ok;
}

/* Asks the device, whose grant is held for it. */
static bool ask_device(struct gs_program *program, cl_device_id id,
		       const struct gsx_cl_source *source, char *answer, size_t room)
{
	char *text = gsx_cl_probe(source->questions, source->n_questions);
	struct gs_device *device = gs_device_of(id);
	cl_program probe = NULL;
	bool ok = false;

	if (text)
		probe = gs_cl.clCreateProgramWithSource(program->context, 1, (const char **)&text,
							NULL, &(cl_int){ 0 });
	if (probe && device &&
	    gs_compile(probe, id, source->options) == CL_SUCCESS) {
		gpushare_begin(device->budget.share, GPUSHARE_FOREVER);
		ok = gs_compile_begin();
		if (ok) {
			ok = run_probe(program, id, probe, answer, (cl_uint)room);
			gs_compile_end();
		}
		gpushare_end(device->budget.share);
	}
	if (probe)
		gs_cl.clReleaseProgram(probe);
	free(text);
	return ok;
}

static bool answer_questions(struct gs_program *program, cl_device_id id,
			     const struct gsx_cl_source *source, struct answers *a)
{
	size_t room = gsx_cl_probe_room(source->n_questions), length = room;
	uint8_t key[GS_SHA256_BYTES];
	struct gs_sha256 sha;
	void *answer = NULL;
	uint32_t i;
	bool ok;

	gs_sha256_init(&sha);
	gs_sha256_add_part(&sha, "macros", 6);
	gs_device_identity(&sha, id);
	gs_sha256_add_part(&sha, source->options, strlen(source->options));
	for (i = 0; i < source->n_questions; i++)
		gs_sha256_add_part(&sha, source->questions[i], strlen(source->questions[i]));
	gs_sha256_end(&sha, key);
	if (!gs_cache_get(key, &answer, &length)) {
		ok = length == room && take_answer(a, source, answer, length);
		free(answer);
		if (ok)
			return true;
	}
	answer = calloc(1, room);
	ok = answer && ask_device(program, id, source, answer, room);
	if (ok) {
		gs_cache_put(key, answer, room);
		ok = take_answer(a, source, answer, room);
	}
	free(answer);
	return ok;
}

int gs_source_read(struct gs_program *program, cl_device_id id, struct gsx_cl_source *source)
{
	struct includes includes = { .headers = program->headers };
	struct answers a = { NULL, 0 };
	struct gsx_cl_cpp_options options = {
		.build = program->options, .include = include, .arg = &includes,
	};
	struct file *next;
	unsigned int round;
	int err = -EAGAIN;
	uint32_t i;

	for (round = 0; err == -EAGAIN && round < ROUNDS; round++) {
		if (round)
			gsx_cl_source_free(source);
		options.macros = a.macro;
		options.n_macros = a.n;
		err = gsx_cl_preprocess(program->source, program->length, &options, source);
		if (err == -EAGAIN && !answer_questions(program, id, source, &a))
			err = -EIO;
	}
	for (i = 0; i < a.n; i++) {
		free((char *)(uintptr_t)a.macro[i].name);
		free((char *)(uintptr_t)a.macro[i].value);
	}
	free(a.macro);
	for (; includes.files; includes.files = next) {
		next = includes.files->next;
		free(includes.files);
	}
	return err;
}

#define UNITS_MAX	16

int gs_source_link(struct gs_program *program, cl_device_id id, struct gsx_cl_source *first,
		   const struct gsx_cl_options *options, struct gsx_cl_result *result)
{
	struct gsx_cl_source unit[UNITS_MAX] = { *first };
	struct gs_program *p;
	uint32_t n = 1, i;
	int err = 0;

	memset(result, 0, sizeof(*result));
	for (p = program->more; p && n < UNITS_MAX && !err; p = p->more)
		err = gs_source_read(p, id, &unit[n++]);
	if (p && !err)
		err = -E2BIG;
	if (!err)
		err = gsx_cl_link(unit, n, options, result);
	else
		result->error = "not all of the sources that it is linked of can be read";
	for (i = 1; i < n; i++)
		gsx_cl_source_free(&unit[i]);
	return err;
}
