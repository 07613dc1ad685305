// SPDX-License-Identifier: MIT
/* Any bytes as a trace: read, ordered and drawn without a bad access or a hang. */
#include "plot.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_timeline_options how = { .by_client = size & 1 };
	struct gs_plot_options options = { 0 };
	struct gs_timeline tl;
	struct gs_trace trace;
	const char *why;
	size_t offset;
	FILE *out;

	if (size > 1 << 16)
		return 0;
	gs_trace_init(&trace);
	if (!gs_trace_parse(&trace, data, size, &why, &offset) &&
	    !gs_timeline_build(&tl, &trace, &how)) {
		out = fopen("/dev/null", "w");
		if (!out)
			abort();
		gs_svg_write(out, &tl, &options);
		gs_perfetto_write(out, &tl);
		fclose(out);
		gs_timeline_free(&tl);
	}
	gs_trace_free(&trace);
	return 0;
}
