// SPDX-License-Identifier: MIT
#include "config.h"
#include "amount.h"
#include "events.h"
#include "term.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MOST	4096

struct parser {
	struct gs_config *config;
	struct gs_section *section;
	const char *file;
	unsigned int line;
	bool unit;		/* it is a unit of systemd's, whose other sections aren't ours */
	bool goes_on;		/* the line before ended in a backslash */
	bool gate;		/* in a [Gate], which is none of the sections */
	struct gs_hook *hook;	/* that this is, or NULL */
	unsigned int after_line;
	bool skip;		/* in a section that was refused */
	FILE *err;
};

__attribute__((format(printf, 3, 4)))
static void complain(struct parser *p, unsigned int column, const char *format, ...)
{
	char line[512];
	va_list args;

	p->config->errors++;
	if (!p->err)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	gs_print_safe(p->err, p->file);
	fprintf(p->err, ":%u:%u: ", p->line, column);
	gs_print_safe(p->err, line);
	fputc('\n', p->err);
}

const char *gs_gate_mode_name(enum gs_gate_mode mode)
{
	return mode == GS_GATE_SHARE ? "share" : mode == GS_GATE_RUN ? "run" : "off";
}

int gs_gate_mode_parse(const char *word, enum gs_gate_mode *mode)
{
	enum gs_gate_mode m;

	for (m = GS_GATE_OFF; m <= GS_GATE_RUN; m++)
		if (!strcasecmp(word, gs_gate_mode_name(m))) {
			*mode = m;
			return 0;
		}
	return -EINVAL;
}

bool gs_is_exact(const char *pattern)
{
	return !strpbrk(pattern, "*?[");
}

static void end_hook(struct parser *p)
{
	struct gs_hook *h = p->hook;
	unsigned int line = p->line;

	if (!h)
		return;
	p->line = h->line;
	if (!h->nr_words)
		complain(p, 1, "this section has no Exec=");
	if (!h->types && !h->waiting)
		complain(p, 1, "this section has no On=");
	p->line = p->after_line;
	if (p->after_line && !h->waiting)
		complain(p, 1, "After= is for On=waiting");
	p->line = line;
	p->hook = NULL;
}

/* The section that ends here must say what it is about. */
static void end_section(struct parser *p)
{
	struct gs_section *s = p->section;
	unsigned int line = p->line;

	end_hook(p);
	if (!s)
		return;
	p->line = s->line;
	if (!s->nr_match && !p->unit)
		complain(p, 1, "this section has no Match=");
	else if (!s->nr_settings && !(s->device && gs_is_exact(s->match[0])))
		complain(p, 1, "this section sets nothing");
	p->line = line;
	p->section = NULL;
}

static int begin_hook(struct parser *p)
{
	struct gs_config *c = p->config;
	struct gs_hook *more;

	if (c->nr_hooks == GS_HOOKS_MOST) {
		complain(p, 1, "more than %d hooks", GS_HOOKS_MOST);
		return 0;
	}
	more = reallocarray(c->hooks, c->nr_hooks + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->hooks = more;
	p->hook = &more[c->nr_hooks++];
	*p->hook = (struct gs_hook){ .file = p->file, .line = p->line, .after_us = 10000000,
				     .every_us = 60000000 };
	p->after_line = 0;
	return 0;
}

static int begin_section(struct parser *p, const char *name, unsigned int column)
{
	struct gs_config *c = p->config;
	size_t room = c->room ? c->room * 2 : 8;
	void *more;

	end_section(p);
	p->skip = true;
	if (p->unit && strcasecmp(name, "X-GPUShare")) {
		complain(p, column, "[%s]: no such section; it is [X-GPUShare]", name);
		return 0;
	}
	p->gate = !strcasecmp(name, "Gate");
	if (p->gate)
		return 0;
	if (!strcasecmp(name, "Hook"))
		return begin_hook(p);
	if (!p->unit && strcasecmp(name, "Device") && strcasecmp(name, "Share")) {
		complain(p, column, "[%s]: no such section; it is [Device], [Share], [Gate] or [Hook]",
			 name);
		return 0;
	}
	if (c->nr == c->room) {
		more = reallocarray(c->sections, room, sizeof(*c->sections));
		if (!more)
			return -ENOMEM;
		c->sections = more;
		c->room = room;
	}
	p->skip = false;
	p->section = &c->sections[c->nr];
	*p->section = (struct gs_section){ .file = p->file, .line = p->line,
					   .turn = (uint32_t)c->nr++,
					   .device = !strcasecmp(name, "Device") };
	return 0;
}

static void take_words(struct parser *p, char (*words)[GS_PATTERN], unsigned int *nr, char *value,
		       unsigned int column, const char *remedy)
{
	char *word, *save = NULL;

	for (word = strtok_r(value, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (*nr == GS_PATTERNS) {
			complain(p, column, "more than %d patterns; %s", GS_PATTERNS, remedy);
			return;
		}
		if (strlen(word) >= GS_PATTERN) {
			complain(p, column, "a pattern is longer than %d characters",
				 GS_PATTERN - 1);
			return;
		}
		strcpy(words[(*nr)++], word);
	}
}

static void take_word(struct parser *p, char *to, const char *value, unsigned int column)
{
	if (!*value || strlen(value) >= GS_PATTERN || strpbrk(value, " \t"))
		complain(p, column, "%.80s: one name is wanted here", value);
	else
		strcpy(to, value);
}

/* Values are tried here, so that a check finds what an apply would. */
static void take_setting(struct parser *p, const struct gs_prop *prop, const char *value,
			 unsigned int column)
{
	struct gs_section *s = p->section;
	struct gpushare_share share = { 0 };
	struct gpushare_device device;
	struct gs_setting *set;
	unsigned int i;
	char why[256];
	int rc;

	for (i = 0; i < s->nr_settings; i++)
		if (s->settings[i].prop == prop) {
			complain(p, column, "%s= is here for the second time, first in line %u",
				 prop->key, s->settings[i].line);
			return;
		}
	if (strlen(value) >= GS_VALUE) {
		complain(p, column, "a value that is too long");
		return;
	}
	gs_device_defaults(&device);
	/* A percentage is of a device that isn't known yet; any size will do here. */
	rc = s->device ? gs_device_parse(&device, prop, value, why, sizeof(why)) :
		gs_share_parse(&share, prop, value, 1 << 30, why, sizeof(why));
	if (rc) {
		complain(p, column, "%s", why);
		return;
	}
	set = &s->settings[s->nr_settings++];
	set->prop = prop;
	set->file = p->file;
	set->line = p->line;
	set->column = column;
	strcpy(set->value, value);
}

static void take_gate_line(struct parser *p, const char *key, char *value, unsigned int key_column,
			   unsigned int value_column)
{
	struct gs_gate_rules *g = &p->config->gate;

	if (!strcasecmp(key, "Mode")) {
		if (gs_gate_mode_parse(value, &g->mode)) {
			complain(p, value_column, "Mode=%s: it is share, run or off", value);
			return;
		}
		g->file = p->file;
		g->line = p->line;
	} else if (!strcasecmp(key, "Allow")) {
		take_words(p, g->allow, &g->nr_allow, value, value_column,
			   "a slice above them is one");
	} else if (!strcasecmp(key, "Nodes")) {
		take_words(p, g->nodes, &g->nr_nodes, value, value_column,
			   "char:MAJOR is all of a driver's");
	} else if (!strcasecmp(key, "Below")) {
		take_word(p, g->below, value, value_column);
		if (*g->below != '/')
			complain(p, value_column, "Below=%s: a cgroup's path begins with '/'", value);
	} else {
		complain(p, key_column, "%s=: no such key in [Gate]", key);
	}
}

static void take_on(struct parser *p, char *value, unsigned int column)
{
	char *word, *save = NULL;
	uint32_t type;

	for (word = strtok_r(value, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		type = gs_event_type(word);
		if (!strcmp(word, "waiting"))
			p->hook->waiting = true;
		else if (type && type != GPUSHARE_EVENT_LOST && !(GS_EVENTS_GRANTS & 1ULL << type))
			p->hook->types |= 1ULL << type;
		else
			complain(p, column, "On=%.80s: it is waiting, overrun, killed, throttled, "
				 "mem-denied or another event of gpusharectl monitor, but none of "
				 "those that come with each grant", word);
	}
}

/* Words are what blanks divide, as there is no shell. */
static void take_exec(struct parser *p, char *value, unsigned int column)
{
	struct gs_hook *h = p->hook;
	char *word, *save = NULL;
	size_t at = 0;

	if (h->nr_words) {
		complain(p, column, "Exec= is here for the second time");
		return;
	}
	if (*value != '/') {
		complain(p, column, "Exec=%.80s: the program's path begins with '/'", value);
		return;
	}
	for (word = strtok_r(value, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (h->nr_words == GS_HOOK_WORDS - 1 || at + strlen(word) >= sizeof(h->exec)) {
			complain(p, column, "Exec= is too long; a script may say the rest");
			return;
		}
		h->words[h->nr_words++] = (unsigned int)at;
		strcpy(h->exec + at, word);
		at += strlen(word) + 1;
	}
}

static void take_span(struct parser *p, const char *key, const char *value, unsigned int column,
		      uint64_t *us)
{
	if (gs_parse_us(value, us) || *us < 1000000 || *us > 86400000000)
		complain(p, column, "%s=%.80s: a time from 1s to 86400s", key, value);
}

static void take_hook_line(struct parser *p, const char *key, char *value, unsigned int key_column,
			   unsigned int value_column)
{
	struct gs_hook *h = p->hook;

	if (!strcasecmp(key, "On")) {
		take_on(p, value, value_column);
	} else if (!strcasecmp(key, "Exec")) {
		take_exec(p, value, value_column);
	} else if (!strcasecmp(key, "Match")) {
		take_words(p, h->match, &h->nr_match, value, value_column,
			   "make two sections of it");
	} else if (!strcasecmp(key, "After")) {
		p->after_line = p->line;
		take_span(p, "After", value, value_column, &h->after_us);
	} else if (!strcasecmp(key, "Every")) {
		take_span(p, "Every", value, value_column, &h->every_us);
	} else {
		complain(p, key_column, "%s=: no such key in [Hook]", key);
	}
}

static void take_line(struct parser *p, char *key, char *value, unsigned int key_column,
		      unsigned int value_column)
{
	struct gs_section *s = p->section;
	const struct gs_prop *prop;

	if (p->gate) {
		take_gate_line(p, key, value, key_column, value_column);
		return;
	}
	if (p->hook) {
		take_hook_line(p, key, value, key_column, value_column);
		return;
	}
	if (!s) {
		if (!p->skip)
			complain(p, key_column, "%s= outside of a section", key);
		return;
	}
	if (!p->unit && !strcasecmp(key, "Match")) {
		take_words(p, s->match, &s->nr_match, value, value_column,
			   "make two sections of it");
		return;
	}
	if (!s->device && !strcasecmp(key, "Device")) {
		take_word(p, s->on, value, value_column);
		return;
	}
	if (s->device && !strcasecmp(key, "Kind")) {
		take_word(p, s->kind, value, value_column);
		if (*s->kind && strcmp(s->kind, "gpu") && strcmp(s->kind, "mig") &&
		    strcmp(s->kind, "cpu") && strcmp(s->kind, "other"))
			complain(p, value_column, "Kind=%s: it is gpu, mig, cpu or other", s->kind);
		return;
	}
	prop = gs_prop_find(s->device ? gs_device_props : gs_share_props, key);
	if (prop && !strcasecmp(prop->key, key))
		take_setting(p, prop, value, value_column);
	else
		complain(p, key_column, "%s=: no such key in [%s]", key,
			 s->device ? "Device" : p->unit ? "X-GPUShare" : "Share");
}

static char *trimmed(char *s)
{
	char *end = s + strlen(s);

	while (end > s && isspace((unsigned char)end[-1]))
		*--end = 0;
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static int parse_line(struct parser *p, char *line)
{
	char *at = trimmed(line), *end, *value;
	bool goes_on = p->goes_on;

	if (!*at)
		p->goes_on = false;
	if (!*at || *at == '#' || *at == ';')
		return 0;
	p->goes_on = p->unit && at[strlen(at) - 1] == '\\';
	if (goes_on)
		return 0;
	if (p->section && p->goes_on) {
		complain(p, at - line + 1, "what is said here is said on one line, without a '\\' at "
			 "its end");
		return 0;
	}
	if (*at == '[') {
		end = strchr(at, ']');
		if (p->unit && strncasecmp(at, "[X-GPUShare", 11)) {
			end_section(p);
			return 0;
		}
		if (!end || end[1]) {
			complain(p, at - line + 1, "a section is [NAME] and nothing more");
			return 0;
		}
		*end = 0;
		return begin_section(p, at + 1, at - line + 1);
	}
	if (p->unit && !p->section)
		return 0;
	value = strchr(at, '=');
	if (!value || value == at) {
		complain(p, at - line + 1, "this is no KEY=VALUE");
		return 0;
	}
	*value++ = 0;
	end = trimmed(value);
	take_line(p, trimmed(at), end, at - line + 1, end - line + 1);
	return 0;
}

static int parse(struct parser *p, const char *text, size_t size)
{
	char line[LINE_MOST];
	size_t length, at;
	const char *end;
	int rc;

	for (at = 0; at < size; at += length + 1) {
		end = memchr(text + at, '\n', size - at);
		length = end ? (size_t)(end - text) - at : size - at;
		p->line++;
		if (length >= sizeof(line) || memchr(text + at, 0, length)) {
			if (p->unit && !p->section) {
				p->goes_on = text[at + length - 1] == '\\';
				continue;
			}
			if (length >= sizeof(line))
				complain(p, 1, "a line longer than %d bytes", LINE_MOST - 1);
			else
				complain(p, 1, "a NUL byte; this is no text");
			continue;
		}
		memcpy(line, text + at, length);
		line[length] = 0;
		rc = parse_line(p, line);
		if (rc)
			return rc;
	}
	end_section(p);
	return 0;
}

int gs_config_parse(struct gs_config *config, const char *file, const char *text, size_t size,
		    FILE *err)
{
	struct parser p = { .config = config, .file = file, .err = err };

	return parse(&p, text, size);
}

int gs_config_parse_unit(struct gs_config *config, const char *file, const char *text, size_t size,
			 FILE *err)
{
	struct parser p = { .config = config, .file = file, .err = err, .unit = true };

	return parse(&p, text, size);
}

void gs_config_free(struct gs_config *config)
{
	free(config->sections);
	free(config->hooks);
	*config = (struct gs_config){ 0 };
}
