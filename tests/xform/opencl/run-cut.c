// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run-cut.h"
#include "memory.h"

#define MAX_WORKERS	12u
#define MAX_LAUNCHES	100000u

uint64_t cut_seed = 1;

uint32_t cut_random(uint32_t below)
{
	cut_seed = cut_seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(cut_seed >> 33) % below;
}

static char say[6000];

const char *cut_open(struct cut_program *p, const struct host *h, const char *text, size_t len,
		     const char *options, bool rewrite_native, bool build_shadows,
		     cut_edit edit, void *arg)
{
	struct gsx_cl_options opt = { .rewrite_native = rewrite_native };
	char log[5000] = "";
	int mode, err;

	memset(p, 0, sizeof(*p));
	p->host = h;
	opt.modes = GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS);
	if (build_shadows) {
		p->whole = host_build(h, text, len, options, log, sizeof(log));
		if (!p->whole) {
			snprintf(say, sizeof(say), "the program itself doesn't build: %s", log);
			return say;
		}
	}
	p->plain = host_preprocess(h, text, len, options, p->options, sizeof(p->options), log,
				   sizeof(log));
	if (!p->plain) {
		snprintf(say, sizeof(say), "not preprocessed: %s", log);
		return say;
	}
	err = gsx_cl_transform(p->plain, strlen(p->plain), &opt, &p->res);
	if (err) {
		snprintf(say, sizeof(say), "refused as a whole: %s", p->res.error);
		return say;
	}
	for (mode = 0; mode < GSX_MODES && build_shadows; mode++) {
		char *edited = NULL;

		if (!p->res.text[mode])
			continue;
		if (edit)
			edited = edit(arg, mode, p->res.text[mode]);
		text = edited ? edited : p->res.text[mode];
		p->shadow[mode] = host_build(h, text, strlen(text), p->options, log, sizeof(log));
		free(edited);
		if (!p->shadow[mode]) {
			snprintf(say, sizeof(say), "the shadow for %s doesn't build: %s",
				 gsx_mode_name(mode), log);
			return say;
		}
	}
	return NULL;
}

void cut_close(struct cut_program *p)
{
	int mode;

	for (mode = 0; mode < GSX_MODES; mode++)
		if (p->shadow[mode])
			clReleaseProgram(p->shadow[mode]);
	if (p->whole)
		clReleaseProgram(p->whole);
	gsx_cl_result_free(&p->res);
	free(p->plain);
}

const struct gsx_cl_kernel *cut_kernel(const struct cut_program *p, const char *name)
{
	uint32_t k;

	for (k = 0; k < p->res.n_kernels; k++)
		if (!strcmp(p->res.kernels[k].name, name))
			return &p->res.kernels[k];
	return NULL;
}

/*
 * The cuts: a box is split at random places until chance says enough; a part is
 * launched when all before it is done. Split along the highest dimension that isn't
 * one group thick, the parts follow each other in the groups' linear order, which is
 * what kernels that wait for lower groups need.
 */
struct box { uint64_t base[3], n[3]; };

static const char *launch_box(struct cut_job *j, cl_kernel k, const struct box *b, bool native)
{
	uint32_t d, dims = j->run->dims, more = dims < j->k->dims ? j->k->dims : dims;
	size_t offset[3], global[3];
	struct gsx_cl_slice hidden;
	int err = 0;

	gsx_cl_slice_init(&hidden, &j->launch, b->base);
	for (d = 0; d < 3; d++) {
		offset[d] = j->launch.offset[d] + b->base[d] * j->launch.local[d];
		global[d] = b->n[d] * j->launch.local[d];
	}
	/* In a dimension that the kernel doesn't look at it doesn't matter where it is. */
	if (more < 3 && cut_random(2)) {
		offset[more] = cut_random(100);
		dims = more + 1;
	}
	for (d = 0; d < 4 && !native && !err; d++)
		err = clSetKernelArg(k, j->k->n_params + d, sizeof(hidden.arg[d]), hidden.arg[d]);
	if (!err)
		err = clEnqueueNDRangeKernel(j->program->host->queue, k, dims, offset, global,
					     j->run->local, 0, NULL, NULL);
	j->launches++;
	snprintf(say, sizeof(say), "a slice's launch gives %d", err);
	return err ? say : NULL;
}

static const char *launch_parts(struct cut_job *j, cl_kernel k, const struct box *b, bool native,
				bool linear, int depth)
{
	struct box low = *b, high = *b;
	const char *error;
	uint64_t at;
	int d, n = 0, dim[3];

	for (d = 2; d >= 0; d--)
		if (b->n[d] > 1 && !(linear && n))
			dim[n++] = d;
	if (!n || depth > 7 || (depth > 1 && !cut_random(4)))
		return launch_box(j, k, b, native);
	d = dim[cut_random(n)];
	at = 1 + cut_random(b->n[d] - 1);
	low.n[d] = at;
	high.base[d] += at;
	high.n[d] -= at;
	error = launch_parts(j, k, &low, native, linear, depth + 1);
	return error ? error : launch_parts(j, k, &high, native, linear, depth + 1);
}

static const char *run_slices(struct cut_job *j, cl_kernel k, bool native)
{
	bool linear = j->k->flags & GSX_WAITS || cut_random(2);
	struct box all = { .base = { 0 } };

	if (!gsx_cl_groups(&j->launch, all.n))
		return "the launch has no groups";
	return launch_parts(j, k, &all, native, linear, 0);
}

/*
 * Workers. A launch is stopped in one of three ways: not at all; by a word that is set
 * before it begins, so that each worker does one group; by a thread that sets it as
 * soon as the queue's number has passed a mark, where the device and the host see the
 * same memory.
 */
enum stop { STOP_NEVER, STOP_AT_ONCE, STOP_BY_THREAD, STOPS };

struct stopper {
	volatile uint32_t *stop, *next;
	uint32_t mark;
	atomic_bool over;
};

static void *stopper_main(void *arg)
{
	struct stopper *s = arg;

	while (*s->next < s->mark && !atomic_load(&s->over))
		usleep(20);
	*s->stop = 1;
	return NULL;
}

static const char *one_launch(struct cut_job *j, cl_kernel k, struct gsx_cl_todo *todo,
			      uint32_t *memory, cl_mem queue, cl_mem stop, uint64_t *left)
{
	struct gsx_cl_queue *q = (struct gsx_cl_queue *)memory;
	uint32_t *word = memory + 1024, workers, d, n = j->k->n_params;
	enum stop how = cut_random(j->stop_by_thread ? STOPS : STOP_BY_THREAD);
	cl_command_queue cq = j->program->host->queue;
	size_t bytes, global[3];
	struct gsx_cl_workers w;
	struct stopper stopper = { .stop = word, .next = &q->next };
	pthread_t thread;
	int64_t now;
	int err;

	workers = gsx_cl_todo_next(todo, 1 + cut_random(MAX_WORKERS), q, &w);
	if (!workers)
		return "groups are left, but no workers are wanted";
	*word = how == STOP_AT_ONCE;
	stopper.mark = workers + cut_random(4);
	bytes = GSX_CL_QUEUE_BYTES(workers, todo->n_back);
	memcpy(global, j->run->local, sizeof(global));
	global[0] *= workers;
	err = clEnqueueWriteBuffer(cq, queue, CL_TRUE, 0, bytes, q, 0, NULL, NULL);
	if (!err)
		err = clEnqueueWriteBuffer(cq, stop, CL_TRUE, 0, 4, word, 0, NULL, NULL);
	if (!err)
		err = clSetKernelArg(k, n, sizeof(queue), &queue);
	if (!err)
		err = clSetKernelArg(k, n + 1, sizeof(stop), &stop);
	for (d = 0; d < 3 && !err; d++)
		err = clSetKernelArg(k, n + 2 + d, sizeof(w.arg[d]), w.arg[d]);
	if (!err && how == STOP_BY_THREAD &&
	    pthread_create(&thread, NULL, stopper_main, &stopper))
		how = STOP_NEVER;
	if (!err)
		err = clEnqueueNDRangeKernel(cq, k, j->run->dims, NULL, global, j->run->local, 0,
					     NULL, NULL);
	if (!err)
		err = clFinish(cq);
	if (how == STOP_BY_THREAD) {
		atomic_store(&stopper.over, true);
		pthread_join(thread, NULL);
	}
	if (!err)
		err = clEnqueueReadBuffer(cq, queue, CL_TRUE, 0, bytes, q, 0, NULL, NULL);
	if (err) {
		snprintf(say, sizeof(say), "a launch of %u workers gives %d", workers, err);
		return say;
	}
	j->launches++;
	now = gsx_cl_todo_done(todo, workers, q);
	if (now < 0)
		return "the queue isn't one that a kernel left";
	if ((uint64_t)now + workers > *left)
		return "a worker did less than its first group";
	if (how == STOP_AT_ONCE && (uint64_t)now + workers != *left)
		return "a worker went on after a stop";
	if (how == STOP_NEVER && now)
		return "workers left without having been stopped";
	j->stops += now > 0;
	*left = now;
	return NULL;
}

static const char *run_workers(struct cut_job *j, cl_kernel k)
{
	cl_context context = j->program->host->context;
	uint32_t back[MAX_WORKERS][2], launches = 0;
	uint64_t groups[3], left;
	struct gsx_cl_todo todo;
	const char *error = NULL;
	cl_mem queue, stop;
	uint32_t *memory;
	int err;

	if (gsx_cl_todo_init(&todo, &j->launch, cut_random(3) ? cut_random(10) : j->k->batch,
			     1 + cut_random(MAX_WORKERS), back))
		return "the launch can't be one for workers";
	gsx_cl_groups(&j->launch, groups);
	left = groups[0] * groups[1] * groups[2];
	memory = aligned_alloc(4096, 8192);
	queue = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 4096, memory,
			       &err);
	stop = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, 4096,
			      memory + 1024, &err);
	while (left && !error)
		error = launches++ < MAX_LAUNCHES ?
			one_launch(j, k, &todo, memory, queue, stop, &left) : "launches without end";
	clReleaseMemObject(queue);
	clReleaseMemObject(stop);
	free(memory);
	return error;
}

const char *cut_begin(struct cut_job *j, const struct cut_program *p, const struct spec_run *r)
{
	const char *error;
	cl_kernel k;
	int d, err;

	memset(j, 0, sizeof(*j));
	j->program = p;
	j->run = r;
	j->k = cut_kernel(p, r->kernel);
	j->stop_by_thread = !p->host->oclgrind;
	if (!j->k)
		return "the transformer doesn't see this kernel";
	if (j->k->n_params != r->n_args)
		return "its number of parameters isn't that of the run line, or of the report";
	for (d = 0; d < 3; d++) {
		j->launch.size[d] = r->global[d];
		j->launch.local[d] = r->local[d];
		j->launch.offset[d] = r->offset[d];
	}
	error = memory_make(j);
	if (error)
		return error;
	k = clCreateKernel(p->whole, r->kernel, &err);
	if (!k)
		return "the driver doesn't see this kernel";
	error = memory_arguments(j, k);
	if (!error)
		error = memory_fill(j);
	if (!error) {
		print_begin(j);
		if (clEnqueueNDRangeKernel(p->host->queue, k, r->dims, r->offset, r->global,
					   r->local, 0, NULL, NULL) || clFinish(p->host->queue))
			error = "the original's launch fails";
		print_end(j, &j->expected);
	}
	clReleaseKernel(k);
	return error ? error : memory_state(j, &j->expected);
}

const char *cut_again(struct cut_job *j, enum gsx_mode mode, bool original)
{
	const struct cut_program *p = j->program;
	bool native = mode == GSX_SLICE && original;
	cl_program program = native ? p->whole : p->shadow[mode];
	struct cut_state got = { NULL };
	const char *error;
	cl_kernel k;
	int err;

	k = program ? clCreateKernel(program, j->run->kernel, &err) : NULL;
	if (!k)
		return "the shadow program hasn't this kernel";
	error = memory_arguments(j, k);
	if (!error)
		error = memory_fill(j);
	if (!error) {
		print_begin(j);
		error = mode == GSX_SLICE ? run_slices(j, k, native) : run_workers(j, k);
		if (clFinish(p->host->queue) && !error)
			error = "a launch fails";
		print_end(j, &got);
	}
	clReleaseKernel(k);
	j->runs++;
	if (!error)
		error = memory_state(j, &got);
	if (!error)
		error = memory_compare(j, &got);
	free(got.bytes);
	free(got.printed);
	return error;
}

void cut_end(struct cut_job *j)
{
	memory_drop(j);
	free(j->expected.bytes);
	free(j->expected.printed);
}
