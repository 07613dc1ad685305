// SPDX-License-Identifier: MIT
/* Traces: the file, the spans made of its events, and the pictures. */
#include "harness.h"
#include "json.h"
#include "plot.h"

#include <errno.h>

#define MS	1000000ULL
#define T0	1000000000ULL

static struct gs_trace trace;

static void event(uint64_t ms, uint32_t type, uint64_t group, uint64_t client, uint64_t value)
{
	struct gpushare_event e = {
		.time_ns = T0 + ms * MS, .type = type, .device = 1, .group = group,
		.client = client, .value = value,
	};

	ASSERT_EQ(gs_trace_add_event(&trace, &e), 0);
}

static void name(enum gs_trace_kind kind, uint64_t id, uint64_t parent, uint32_t entitled,
		 const char *text)
{
	struct gs_trace_name n = {
		.time_ns = T0, .id = id, .parent = parent, .kind = kind, .weight = 100,
		.entitled = entitled,
	};

	snprintf(n.name, sizeof(n.name), "%s", text);
	ASSERT_EQ(gs_trace_add_name(&trace, &n), 0);
}

/* Two tenants take turns of 2 ms for @ms; the second begins first. */
static void turns(uint64_t ms)
{
	uint64_t t;

	name(GS_TRACE_DEVICE, 1, 0, GS_TRACE_UNKNOWN, "cpu:0");
	name(GS_TRACE_GROUP, 10, 1, 500, "/a<b>&\"c\"");
	name(GS_TRACE_GROUP, 11, 1, 500, "/two");
	event(0, GPUSHARE_EVENT_REQUESTED, 10, 1, 0);
	event(0, GPUSHARE_EVENT_REQUESTED, 11, 2, 0);
	for (t = 0; t < ms; t += 2) {
		uint64_t who = t / 2 % 2 ? 1 : 2;

		event(t, GPUSHARE_EVENT_GRANTED, 9 + who, who, 2 * MS);
		event(t + 1, GPUSHARE_EVENT_PREEMPT, 9 + who, who, 0);
		event(t + 2, GPUSHARE_EVENT_YIELDED, 9 + who, who, 2 * MS);
		event(t + 2, GPUSHARE_EVENT_REQUESTED, 9 + who, who, 0);
	}
}

static struct gs_timeline build(bool by_client)
{
	struct gs_timeline_options how = { .by_client = by_client };
	struct gs_timeline tl;

	ASSERT_EQ(gs_timeline_build(&tl, &trace, &how), 0);
	return tl;
}

static size_t count(const struct gs_row *row, enum gs_span_kind kind)
{
	size_t n = 0, i;

	for (i = 0; i < row->nr_spans; i++)
		n += row->spans[i].kind == kind;
	return n;
}

TEST(spans_of_turns)
{
	struct gs_timeline tl;

	turns(100);
	tl = build(false);
	ASSERT_EQ(tl.nr_rows, 2);
	EXPECT_EQ(tl.begin_ns, T0);
	EXPECT_EQ(tl.end_ns, T0 + 100 * MS);
	EXPECT_EQ(tl.rows[0].id, 10);
	EXPECT_EQ(tl.rows[0].run_ns, 50 * MS);
	EXPECT_EQ(tl.rows[0].wait_ns, 50 * MS);
	EXPECT_EQ(tl.rows[0].grants, 25);
	EXPECT_EQ(tl.rows[0].preempts, 25);
	EXPECT_EQ(count(&tl.rows[0], GS_SPAN_RUN), 25);
	EXPECT_EQ(gs_row_wait(&tl.rows[0], 50), 2 * MS);
	EXPECT_EQ(tl.rows[0].spans[1].asked_ns - tl.rows[0].spans[1].begin_ns, MS);
	EXPECT_TRUE(gs_row_share(&tl.rows[1], tl.begin_ns, tl.end_ns) == 0.5);
	EXPECT_TRUE(gs_row_entitled(&tl.rows[1], tl.begin_ns, tl.end_ns) == 0.5);
	EXPECT_STREQ("/two", tl.rows[1].name);
	gs_timeline_free(&tl);
	gs_trace_free(&trace);
}

TEST(part_of_a_trace)
{
	struct gs_timeline_options how = { .from_ns = 11 * MS, .to_ns = 13 * MS };
	struct gs_timeline tl;

	turns(100);
	ASSERT_EQ(gs_timeline_build(&tl, &trace, &how), 0);
	/* The first runs from 10 to 12, the second from 12 to 14. */
	EXPECT_EQ(tl.rows[0].run_ns + tl.rows[1].run_ns, 2 * MS);
	EXPECT_EQ(tl.rows[0].run_ns, MS);
	EXPECT_EQ(tl.grants, 1);
	gs_timeline_free(&tl);
	gs_trace_free(&trace);
}

TEST(begins_in_the_middle)
{
	struct gs_timeline tl;

	trace.begin_ns = T0;
	event(5, GPUSHARE_EVENT_YIELDED, 10, 1, 4 * MS);	/* held from 1 to 5 */
	event(6, GPUSHARE_EVENT_YIELDED, 10, 2, 9 * MS);	/* from before the trace */
	tl = build(true);
	ASSERT_EQ(tl.nr_rows, 2);
	EXPECT_EQ(tl.rows[0].run_ns, 4 * MS);
	EXPECT_EQ(tl.rows[1].run_ns, 6 * MS);
	gs_timeline_free(&tl);
	gs_trace_free(&trace);
}

TEST(ends_in_the_middle)
{
	struct gs_timeline tl;

	trace.end_ns = T0 + 20 * MS;
	event(5, GPUSHARE_EVENT_GRANTED, 10, 1, 2 * MS);
	event(6, GPUSHARE_EVENT_REQUESTED, 10, 2, 0);
	tl = build(false);
	ASSERT_EQ(tl.nr_rows, 1);
	EXPECT_EQ(tl.rows[0].lanes, 2);
	EXPECT_EQ(tl.rows[0].run_ns, 15 * MS);
	EXPECT_EQ(tl.rows[0].wait_ns, 14 * MS);
	EXPECT_EQ(tl.rows[0].nr_waits, 0);	/* nobody knows how long it would be */
	gs_timeline_free(&tl);
	gs_trace_free(&trace);
}

TEST(lost_events_leave_a_gap)
{
	struct gs_timeline tl;

	event(0, GPUSHARE_EVENT_GRANTED, 10, 1, 2 * MS);
	event(4, GPUSHARE_EVENT_REQUESTED, 10, 2, 0);
	event(8, GPUSHARE_EVENT_LOST, 0, 0, 77);
	event(10, GPUSHARE_EVENT_YIELDED, 10, 2, MS);
	tl = build(true);
	ASSERT_EQ(tl.nr_rows, 2);
	ASSERT_EQ(tl.nr_gaps, 1);
	EXPECT_EQ(tl.gaps[0].lost, 77);
	EXPECT_EQ(tl.gaps[0].begin_ns, T0 + 4 * MS);
	EXPECT_EQ(tl.rows[0].run_ns, 4 * MS);	/* known up to the gap */
	EXPECT_EQ(tl.rows[1].run_ns, MS);
	gs_timeline_free(&tl);
	gs_trace_free(&trace);
}

TEST(throttling_reaches_those_below)
{
	struct gs_timeline tl;

	name(GS_TRACE_GROUP, 5, 1, GS_TRACE_UNKNOWN, "/slice");
	name(GS_TRACE_GROUP, 10, 5, GS_TRACE_UNKNOWN, "/slice/job");
	name(GS_TRACE_GROUP, 11, 1, GS_TRACE_UNKNOWN, "/other");
	event(0, GPUSHARE_EVENT_REQUESTED, 10, 1, 0);
	event(0, GPUSHARE_EVENT_REQUESTED, 11, 2, 0);
	event(1, GPUSHARE_EVENT_THROTTLED, 5, 0, 0);
	event(1, GPUSHARE_EVENT_THROTTLED, 5, 0, 0);
	event(4, GPUSHARE_EVENT_UNTHROTTLED, 5, 0, 0);
	event(9, GPUSHARE_EVENT_THROTTLED, 5, 0, 0);
	event(10, GPUSHARE_EVENT_CLIENT_LEFT, 10, 1, 0);
	tl = build(false);
	ASSERT_EQ(tl.nr_rows, 2);
	EXPECT_STREQ("/other", tl.rows[0].name);	/* in the order of names */
	EXPECT_EQ(tl.rows[0].throttled_ns, 0);
	EXPECT_EQ(tl.rows[1].throttled_ns, 4 * MS);
	EXPECT_TRUE(gs_row_entitled(&tl.rows[1], tl.begin_ns, tl.end_ns) < 0);
	gs_timeline_free(&tl);
	gs_trace_free(&trace);
}

TEST(entitled_changes_over_time)
{
	struct gs_trace_name n = { .kind = GS_TRACE_GROUP, .id = 10, .name = "/a" };
	struct gs_timeline tl;

	n.time_ns = T0;
	n.entitled = 200;
	gs_trace_add_name(&trace, &n);
	n.time_ns = T0 + 5 * MS;
	n.entitled = 600;
	gs_trace_add_name(&trace, &n);
	event(0, GPUSHARE_EVENT_GRANTED, 10, 1, 0);
	event(10, GPUSHARE_EVENT_YIELDED, 10, 1, 10 * MS);
	tl = build(false);
	EXPECT_TRUE(gs_row_entitled(&tl.rows[0], T0, T0 + 10 * MS) == 0.4);
	gs_timeline_free(&tl);
	gs_trace_free(&trace);
}

/* Writes the trace into memory. */
static char *written(size_t *size)
{
	char *buffer = NULL;
	FILE *out = open_memstream(&buffer, size);

	ASSERT_EQ(gs_trace_write(out, &trace), 0);
	fclose(out);
	return buffer;
}

TEST(file_round_trip)
{
	struct gs_trace back;
	size_t size, offset;
	const char *why;
	char *data;

	turns(20);
	trace.begin_ns = T0;
	trace.realtime_ns = 42;
	data = written(&size);
	gs_trace_init(&back);
	ASSERT_EQ(gs_trace_parse(&back, data, size, &why, &offset), 0);
	EXPECT_EQ(back.begin_ns, T0);
	EXPECT_EQ(back.realtime_ns, 42);
	EXPECT_FALSE(back.truncated);
	ASSERT_EQ(back.nr_events, trace.nr_events);
	EXPECT_EQ(memcmp(back.events, trace.events, trace.nr_events * sizeof(*trace.events)), 0);
	ASSERT_EQ(back.nr_names, trace.nr_names);
	EXPECT_STREQ("/a<b>&\"c\"", back.names[1].name);
	gs_trace_free(&back);
	gs_trace_free(&trace);
	free(data);
}

/* Cut at every place, it is a shorter trace or no trace, never anything else. */
TEST(cut_anywhere)
{
	size_t size, cut, offset, last = 0;
	struct gs_trace back;
	const char *why;
	char *data, *part;

	turns(4);
	data = written(&size);
	for (cut = 0; cut < size; cut++) {
		part = malloc(cut + !cut);	/* so that a sanitizer sees a read beyond it */
		memcpy(part, data, cut);
		gs_trace_init(&back);
		if (!gs_trace_parse(&back, part, cut, &why, &offset)) {
			EXPECT_GE(back.nr_events, last);
			last = back.nr_events;
		} else {
			EXPECT_LT(cut, 64);
			EXPECT_TRUE(why != NULL);
		}
		gs_trace_free(&back);
		free(part);
	}
	EXPECT_EQ(last, trace.nr_events - 1);
	gs_trace_free(&trace);
	free(data);
}

TEST(refuses_what_is_no_trace)
{
	struct gs_trace back;
	size_t size, offset;
	const char *why;
	char *data;

	turns(2);
	data = written(&size);
	gs_trace_init(&back);
	data[8]++;	/* the version */
	EXPECT_EQ(gs_trace_parse(&back, data, size, &why, &offset), -EINVAL);
	EXPECT_TRUE(strstr(why, "newer"));
	data[8]--;
	data[12]++;	/* the byte order mark */
	EXPECT_EQ(gs_trace_parse(&back, data, size, &why, &offset), -EINVAL);
	EXPECT_TRUE(strstr(why, "byte order"));
	data[12]--;
	data[64 + 2] = 3;	/* the first record's size */
	data[64 + 3] = 0;
	EXPECT_EQ(gs_trace_parse(&back, data, size, &why, &offset), -EINVAL);
	EXPECT_EQ(offset, 64);
	data[0]++;
	EXPECT_EQ(gs_trace_parse(&back, data, size, &why, &offset), -EINVAL);
	EXPECT_TRUE(strstr(why, "no trace"));
	gs_trace_free(&back);
	gs_trace_free(&trace);
	free(data);
}

/* A picture as a string. */
static char *picture(bool json, bool by_client)
{
	struct gs_plot_options options = { .title = "a < b" };
	struct gs_timeline tl = build(by_client);
	char *buffer = NULL;
	size_t size;
	FILE *out = open_memstream(&buffer, &size);

	ASSERT_EQ(json ? gs_perfetto_write(out, &tl) : gs_svg_write(out, &tl, &options), 0);
	fclose(out);
	gs_timeline_free(&tl);
	return buffer;
}

TEST(svg_says_who_got_what)
{
	char *svg;

	turns(400);
	svg = picture(false, false);
	EXPECT_TRUE(strstr(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\""));
	EXPECT_TRUE(strstr(svg, "a &lt; b"));
	EXPECT_TRUE(strstr(svg, "/a&lt;b&gt;&amp;&quot;c&quot;"));
	EXPECT_FALSE(strstr(svg, "<b>"));
	EXPECT_TRUE(strstr(svg, ">50.0 %</text>"));
	EXPECT_TRUE(strstr(svg, "entitled to 50.0 %"));
	EXPECT_TRUE(strstr(svg, "2 tenants on cpu:0 · 400 ms · 200 grants"));
	EXPECT_TRUE(strstr(svg, "held for 2 ms, asked to yield after 1 ms"));
	free(svg);
	gs_trace_free(&trace);
}

TEST(nothing_can_be_drawn)
{
	char *svg = picture(false, false), *json = picture(true, true);

	EXPECT_TRUE(strstr(svg, "0 tenants"));
	EXPECT_FALSE(strstr(svg, "\"nan") || strstr(svg, "-nan") || strstr(svg, ">nan"));
	EXPECT_FALSE(strstr(svg, "\"inf") || strstr(svg, "-inf") || strstr(svg, ">inf"));
	EXPECT_STREQ("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[]}\n", json);
	free(svg);
	free(json);
}

TEST(perfetto_spans)
{
	char *json;

	turns(100);
	json = picture(true, false);
	/* The first tenant's first grant: from 2 to 4 ms, in its own lane. */
	EXPECT_TRUE(strstr(json, "{\"ph\":\"X\",\"name\":\"grant\",\"pid\":1,\"tid\":1048576,"
			   "\"ts\":2000.000,\"dur\":2000.000}"));
	EXPECT_TRUE(strstr(json, "{\"ph\":\"X\",\"name\":\"wait\",\"pid\":1,\"tid\":1048577,"
			   "\"ts\":0.000,\"dur\":2000.000}"));
	EXPECT_TRUE(strstr(json, "\"args\":{\"share %\":100}"));
	EXPECT_TRUE(strstr(json, "{\"name\":\"device cpu:0\"}"));
	free(json);
	gs_trace_free(&trace);
}

static const char *encoded(const char *text)
{
	static char buffer[256];
	FILE *out = fmemopen(buffer, sizeof(buffer), "w");
	struct gs_json j;

	gs_json_begin(&j, out, false);
	gs_json_array(&j, NULL);
	gs_json_string(&j, NULL, text);
	gs_json_end(&j);
	fclose(out);
	return buffer;
}

TEST(json_strings)
{
	EXPECT_STREQ("[\"a\\\"b\\\\c\"]\n", encoded("a\"b\\c"));
	EXPECT_STREQ("[\"\\u000a\\u001b[31m\\u007f\"]\n", encoded("\n\033[31m\177"));
	EXPECT_STREQ("[\"é€😀\"]\n", encoded("é€😀"));
	EXPECT_STREQ("[\"\\ufffd\\ufffdx\"]\n", encoded("\xc0\xafx"));	/* overlong */
	EXPECT_STREQ("[\"\\ufffd\\ufffd\\ufffd\"]\n", encoded("\xed\xa0\x80"));	/* surrogate */
	EXPECT_STREQ("[\"\\ufffd\"]\n", encoded("\xf0"));	/* cut short */
	/* As they are, but nothing that a terminal would obey. */
	EXPECT_STREQ("[\"\\u009b\\u202e\\udb40\\udc41\"]\n",
		     encoded("\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81"));
}

TEST(json_numbers)
{
	char buffer[256];
	FILE *out = fmemopen(buffer, sizeof(buffer), "w");
	struct gs_json j;

	gs_json_begin(&j, out, true);
	gs_json_object(&j, NULL);
	gs_json_scaled(&j, "a", 5, 3);
	gs_json_unsigned(&j, "b", UINT64_MAX);
	gs_json_array(&j, "c");
	gs_json_signed(&j, NULL, INT64_MIN);
	gs_json_null(&j, NULL);
	gs_json_end(&j);
	gs_json_array(&j, "d");
	gs_json_end(&j);
	gs_json_bool(&j, "e", true);
	gs_json_end(&j);
	fclose(out);
	EXPECT_STREQ("{\n  \"a\": 0.005,\n  \"b\": 18446744073709551615,\n  \"c\": [\n"
		     "    -9223372036854775808,\n    null\n  ],\n  \"d\": [],\n  \"e\": true\n}\n",
		     buffer);
}

TEST_MAIN()
