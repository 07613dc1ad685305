// SPDX-License-Identifier: MIT
/*
 * The hidden arguments, and what is left of a launch that workers were stopped in.
 *
 * Batches are numbered anew for each launch: first the ranges that were begun and
 * stopped, then the untouched groups from start on. All ranges of the first kind lie
 * below start, as batches are handed out in ascending order, so that the order stays
 * ascending over all launches. A launch takes at least as many batches as it has
 * workers, and leaves at most one range for each: so never more than max_workers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gsopencl.h>

bool gsx_cl_groups(const struct gsx_cl_launch *l, uint64_t groups[3])
{
	uint64_t all = 1;
	int i;

	for (i = 0; i < 3; i++) {
		if (!l->local[i])
			return false;
		groups[i] = l->size[i] / l->local[i] + !!(l->size[i] % l->local[i]);
		if (__builtin_mul_overflow(all, groups[i], &all))
			return false;
	}
	return true;
}

void gsx_cl_slice_init(struct gsx_cl_slice *s, const struct gsx_cl_launch *l,
		       const uint64_t base[3])
{
	uint64_t groups[3];
	int i;

	memset(s, 0, sizeof(*s));
	if (!gsx_cl_groups(l, groups))
		return;
	for (i = 0; i < 3; i++) {
		s->arg[0][i] = base[i];
		s->arg[1][i] = groups[i];
		s->arg[2][i] = l->offset[i];
		s->arg[3][i] = l->size[i];
		s->arg[i][3] = l->local[i];
	}
}

int gsx_cl_todo_init(struct gsx_cl_todo *t, const struct gsx_cl_launch *l, uint32_t batch,
		     uint32_t max_workers, uint32_t back[][2])
{
	uint64_t groups[3], total;
	int i;

	memset(t, 0, sizeof(*t));
	if (!gsx_cl_groups(l, groups) || !max_workers)
		return -ERANGE;
	total = groups[0] * groups[1] * groups[2];
	if (!total || total > GSX_MAX_BLOCKS)
		return -ERANGE;
	for (i = 0; i < 3; i++) {
		if (l->size[i] % l->local[i])
			return -EINVAL;
		t->args[0][i] = groups[i];
		t->args[1][i] = l->offset[i];
		t->args[2][i] = l->size[i];
	}
	t->total = total;
	t->batch = batch ? batch : 1;
	t->max_workers = max_workers;
	t->back = back;
	return 0;
}

static uint32_t batches(const struct gsx_cl_todo *t)
{
	uint32_t fresh = t->total - t->start;

	return t->n_back + fresh / t->batch + !!(fresh % t->batch);
}

uint32_t gsx_cl_todo_next(const struct gsx_cl_todo *t, uint32_t workers,
			  struct gsx_cl_queue *queue, struct gsx_cl_workers *w)
{
	uint32_t left = batches(t);

	if (workers > t->max_workers)
		workers = t->max_workers;
	if (workers > left)
		workers = left;
	memset(queue, 0, GSX_CL_QUEUE_BYTES(workers, t->n_back));
	/* The first batch of each worker is the one of its own number. */
	queue->next = workers;
	memcpy(queue->range + workers, t->back, sizeof(*t->back) * t->n_back);
	memcpy(w->arg, t->args, sizeof(w->arg));
	w->arg[0][3] = t->batch;
	w->arg[1][3] = t->start;
	w->arg[2][3] = t->n_back;
	return workers;
}

static int by_first(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int64_t gsx_cl_todo_done(struct gsx_cl_todo *t, uint32_t workers,
			 const struct gsx_cl_queue *queue)
{
	uint32_t left = batches(t), taken = queue->next, n = 0, i, start = t->start;
	uint32_t (*back)[2] = t->back;
	int64_t groups;

	if (!workers || workers > t->max_workers || workers > left || taken < workers)
		return -EINVAL;
	if (taken > left)
		taken = left;
	if (taken == left)
		start = t->total;
	else if (taken > t->n_back)
		start += (taken - t->n_back) * t->batch;
	if (taken < t->n_back) {
		n = t->n_back - taken;
		memmove(back, back + taken, n * sizeof(*back));
	}
	for (i = 0; i < workers; i++) {
		if (queue->range[i][0] > queue->range[i][1])
			return -EINVAL;
		if (queue->range[i][0] == queue->range[i][1])
			continue;
		memcpy(back[n++], queue->range[i], sizeof(*back));
	}
	qsort(back, n, sizeof(*back), by_first);
	groups = t->total - start;
	for (i = 0; i < n; i++) {
		if (back[i][1] > (i + 1 < n ? back[i + 1][0] : start))
			return -EINVAL;
		groups += back[i][1] - back[i][0];
	}
	t->n_back = n;
	t->start = start;
	return groups;
}
