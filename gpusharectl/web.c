// SPDX-License-Identifier: MIT
/*
 * gpusharectl web: a page with live shares, and what it asks for.
 *
 * The arbiter is asked once a second at most, by all viewers together, and not at all while
 * there are none; what grew in a second is worked out by the page. Nothing can be changed.
 */
#include "ctl.h"
#include "http.h"
#include "query.h"
#include "ulib/transport.h"

#include <stdlib.h>
#include <string.h>

#define PORT		"9470"
#define CONNECTIONS	1200
#define KEEP_NS		900000000ull	/* viewers wait somewhat longer, or they'd see some twice */

/* gpusharectl/web.html */
__asm__(".section .rodata\n"
	"gs_web_page:\n"
	".incbin \"gpusharectl/web.html\"\n"
	"gs_web_page_end:\n"
	".previous\n");
extern const char gs_web_page[], gs_web_page_end[];

enum { OPT_LISTEN, OPT_HOST };

static const struct gs_option options[] = {
	{ "listen", "WHERE", "a port, ADDRESS:PORT or [ADDRESS]:PORT (127.0.0.1:" PORT ")", 'l' },
	{ "host", "NAME", "a name by which browsers may call it, besides addresses", 0 },
	{ NULL, NULL, NULL, 0 },
};

static bool no_arbiter(struct gs_http_reply *reply)
{
	reply->status = 503;
	reply->type = "text/plain; charset=utf-8";
	reply->constant = "no arbiter answers\n";
	reply->size = strlen(reply->constant);
	reply->keep_ns = KEEP_NS;
	return true;
}

static bool answer_status(struct gs_ctl *ctl, struct gs_http_reply *reply)
{
	struct gs_view view;
	uint64_t started_ns;
	FILE *out;

	if (gs_find_arbiter(ctl, &started_ns))
		return no_arbiter(reply);
	if (gs_view_take(ctl, &view, GS_VIEW_GROUPS | GS_VIEW_CLIENTS)) {
		gs_leave_arbiter(ctl);
		return no_arbiter(reply);
	}
	out = open_memstream(&reply->text, &reply->size);
	if (out) {
		gs_status_json(ctl, &view, GPUSHARE_ALL_DEVICES, out);
		if (fclose(out)) {
			free(reply->text);
			reply->text = NULL;
		}
	}
	gs_view_free(&view);
	/* The module couldn't be unloaded while its node is open. */
	if (gs_transport_is_kernel(ctl->arbiter))
		gs_leave_arbiter(ctl);
	if (!reply->text)
		return no_arbiter(reply);
	reply->type = "application/json";
	reply->keep_ns = KEEP_NS;
	return true;
}

static bool answer(void *arg, const struct gs_http_request *request, struct gs_http_reply *reply)
{
	if (!strcmp(request->path, "/status.json"))
		return answer_status(arg, reply);
	if (strcmp(request->path, "/"))
		return false;
	reply->type = "text/html; charset=utf-8";
	reply->constant = gs_web_page;
	reply->size = (size_t)(gs_web_page_end - gs_web_page);
	return true;
}

static int run_web(struct gs_ctl *ctl, int argc, char **argv)
{
	struct gs_http http = {
		.name = "web", .path = "/", .host = ctl->values[OPT_HOST],
		.connections = CONNECTIONS, .answer = answer, .arg = ctl,
	};

	(void)argc;
	(void)argv;
	gs_catch_stop();
	return gs_http_serve(&http, ctl->values[OPT_LISTEN] ? ctl->values[OPT_LISTEN] : PORT);
}

const struct gs_command gs_web_command = {
	.name = "web", .args = "", .options = options, .run = run_web,
	.summary = "A page with live shares, waits and memory, for a browser, until stopped",
	.details = "Without --listen it is http://127.0.0.1:" PORT "/, for the users of this machine; what\n"
	"it shows can't be changed there. The arbiter is asked once a second, however many\n"
	"look, and not while nobody does.\n",
};
