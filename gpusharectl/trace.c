// SPDX-License-Identifier: MIT
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = { 'g', 'p', 'u', 's', 'h', 't', 'r', 'c' };

#define BYTE_ORDER_MARK	0x01020304U

struct header {
	char magic[8];
	uint32_t version;
	uint32_t byte_order;
	uint64_t begin_ns;
	uint64_t realtime_ns;
	char release[32];
};

enum record_type {
	RECORD_EVENT = 1,
	RECORD_NAME = 2,
};

struct record {
	uint16_t type;
	uint16_t size;
};

/* No clock gets there in 292 years; below it, sums of two times can't overflow. */
#define TIME_MOST	(1ULL << 63)

/* What a record must have at least; the members since then may be missing. */
#define EVENT_LEAST	offsetof(struct gpushare_event, reserved)
#define NAME_LEAST	offsetof(struct gs_trace_name, name)

void gs_trace_init(struct gs_trace *t)
{
	*t = (struct gs_trace){ 0 };
}

void gs_trace_free(struct gs_trace *t)
{
	free(t->events);
	free(t->names);
	gs_trace_init(t);
}

/* Makes room for one more in the array *@array of *@room members of @size. */
static int make_room(void *array, size_t nr, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 64;
	void *more;

	if (nr < *room)
		return 0;
	more = reallocarray(*(void **)array, want, size);
	if (!more)
		return -ENOMEM;
	*(void **)array = more;
	*room = want;
	return 0;
}

int gs_trace_add_event(struct gs_trace *t, const struct gpushare_event *event)
{
	int rc = make_room(&t->events, t->nr_events, &t->room_events, sizeof(*t->events));

	if (!rc)
		t->events[t->nr_events++] = *event;
	return rc;
}

int gs_trace_add_name(struct gs_trace *t, const struct gs_trace_name *name)
{
	int rc = make_room(&t->names, t->nr_names, &t->room_names, sizeof(*t->names));

	if (rc)
		return rc;
	t->names[t->nr_names] = *name;
	t->names[t->nr_names++].name[GS_TRACE_NAME_MAX - 1] = 0;
	return 0;
}

/* What was said of one device is nearer than what was said of all. */
static bool better(const struct gs_trace_name *a, const struct gs_trace_name *b, uint32_t device,
		   uint64_t time_ns)
{
	bool a_late, b_late;

	if (!b)
		return true;
	if ((a->device == device) != (b->device == device))
		return a->device == device;
	a_late = a->time_ns > time_ns;
	b_late = b->time_ns > time_ns;
	if (a_late != b_late)
		return b_late;
	return a_late ? a->time_ns < b->time_ns : a->time_ns >= b->time_ns;
}

const struct gs_trace_name *gs_trace_find(const struct gs_trace *t, enum gs_trace_kind kind,
					  uint64_t id, uint32_t device, uint64_t time_ns)
{
	const struct gs_trace_name *best = NULL, *n;

	for (n = t->names; n && n < t->names + t->nr_names; n++)
		if (n->kind == kind && n->id == id && (!n->device || n->device == device) &&
		    better(n, best, device, time_ns))
			best = n;
	return best;
}

static int write_out(FILE *out, const void *data, size_t size)
{
	return fwrite(data, size, 1, out) == 1 ? 0 : -EIO;
}

int gs_trace_write_header(FILE *out, uint64_t begin_ns, uint64_t realtime_ns)
{
	struct header h = {
		.version = GS_TRACE_VERSION,
		.byte_order = BYTE_ORDER_MARK,
		.begin_ns = begin_ns,
		.realtime_ns = realtime_ns,
		.release = GPUSHARE_RELEASE,
	};

	memcpy(h.magic, magic, sizeof(magic));
	return write_out(out, &h, sizeof(h));
}

static int write_record(FILE *out, enum record_type type, const void *data, size_t size)
{
	struct record r = { .type = type, .size = size };
	int rc = write_out(out, &r, sizeof(r));

	return rc ? rc : write_out(out, data, size);
}

int gs_trace_write_event(FILE *out, const struct gpushare_event *event)
{
	return write_record(out, RECORD_EVENT, event, sizeof(*event));
}

int gs_trace_write_name(FILE *out, const struct gs_trace_name *name)
{
	size_t length = strnlen(name->name, GS_TRACE_NAME_MAX - 1);

	return write_record(out, RECORD_NAME, name, NAME_LEAST + length);
}

int gs_trace_write(FILE *out, const struct gs_trace *t)
{
	size_t i;
	int rc;

	rc = gs_trace_write_header(out, t->begin_ns, t->realtime_ns);
	for (i = 0; !rc && i < t->nr_names; i++)
		rc = gs_trace_write_name(out, &t->names[i]);
	for (i = 0; !rc && i < t->nr_events; i++)
		rc = gs_trace_write_event(out, &t->events[i]);
	return rc;
}

static int take_record(struct gs_trace *t, const struct record *r, const void *data,
		       const char **why)
{
	struct gpushare_event event = { 0 };
	struct gs_trace_name name = { 0 };

	switch (r->type) {
	case RECORD_EVENT:
		*why = "an event that is too short";
		if (r->size < EVENT_LEAST)
			return -EINVAL;
		memcpy(&event, data, r->size < sizeof(event) ? r->size : sizeof(event));
		*why = "an event at an impossible time";
		if (event.time_ns >= TIME_MOST)
			return -EINVAL;
		return gs_trace_add_event(t, &event);
	case RECORD_NAME:
		*why = "a name that is too short or too long";
		if (r->size < NAME_LEAST || r->size >= sizeof(name))
			return -EINVAL;
		memcpy(&name, data, r->size);
		*why = "a name of something that is no device, group or client";
		if (name.kind < GS_TRACE_DEVICE || name.kind > GS_TRACE_CLIENT)
			return -EINVAL;
		*why = "a name from an impossible time on";
		if (name.time_ns >= TIME_MOST)
			return -EINVAL;
		return gs_trace_add_name(t, &name);
	}
	return 0;
}

int gs_trace_parse(struct gs_trace *t, const void *data, size_t size, const char **why,
		   size_t *offset)
{
	const char *at = data;
	struct record r;
	struct header h;
	int rc;

	*offset = 0;
	*why = "this is no trace of gpusharectl record";
	if (size < sizeof(h))
		return -EINVAL;
	memcpy(&h, at, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)))
		return -EINVAL;
	*why = "the trace is of a machine with another byte order";
	if (h.byte_order != BYTE_ORDER_MARK)
		return -EINVAL;
	*why = "the trace is of a newer version";
	if (h.version != GS_TRACE_VERSION)
		return -EINVAL;
	*why = "the trace begins at an impossible time";
	if (h.begin_ns >= TIME_MOST)
		return -EINVAL;
	t->begin_ns = h.begin_ns;
	t->realtime_ns = h.realtime_ns;
	memcpy(t->release, h.release, sizeof(t->release) - 1);

	for (*offset = sizeof(h); *offset < size; *offset += sizeof(r) + r.size) {
		if (size - *offset < sizeof(r))
			break;
		memcpy(&r, at + *offset, sizeof(r));
		if (size - *offset - sizeof(r) < r.size)
			break;
		rc = take_record(t, &r, at + *offset + sizeof(r), why);
		if (rc == -ENOMEM)
			*why = "not enough memory";
		if (rc)
			return rc;
	}
	t->truncated = *offset < size;
	*why = NULL;
	return 0;
}
