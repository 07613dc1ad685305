/* SPDX-License-Identifier: MIT */
/*
 * Pictures of a timeline. They are written whole to a stream; what went wrong
 * with the writing is in ferror() of it.
 */
#ifndef GS_CTL_PLOT_H
#define GS_CTL_PLOT_H

#include "timeline.h"

struct gs_plot_options {
	const char *title;		/* NULL: "Who ran when" */
	/* The part that is drawn grant by grant, in ns after the timeline's begin. */
	uint64_t zoom_from_ns, zoom_to_ns;	/* to 0: chosen */
};

/* A self-contained SVG: no script, no font, no link. */
int gs_svg_write(FILE *out, const struct gs_timeline *tl, const struct gs_plot_options *options);

/* The JSON trace format that Perfetto and chrome://tracing open. */
int gs_perfetto_write(FILE *out, const struct gs_timeline *tl);

#endif
