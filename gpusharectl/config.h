/* SPDX-License-Identifier: MIT */
/*
 * gpushare.conf(5): sections of KEY=VALUE lines. A file is read as a whole, and
 * every mistake in it is told with its place; nothing is looked up here, so a
 * file can be checked on a machine where its devices and cgroups aren't.
 */
#ifndef GS_CTL_CONFIG_H
#define GS_CTL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "props.h"

#define GS_PATTERNS	16	/* in one Match= */
#define GS_PATTERN	256
#define GS_SETTINGS	24

struct gs_setting {
	const struct gs_prop *prop;
	const char *file;		/* of it, as of the section */
	char value[GS_VALUE];
	unsigned int line, column;
};

/* Numbers of a unit's sections have this, others are indices in a configuration. */
#define GS_TURN_OF_UNIT	(1u << 31)

struct gs_section {
	const char *file;		/* as given to gs_config_parse() */
	unsigned int line;
	uint32_t turn;			/* its number among all rules */
	bool device;			/* [Device], else [Share] */
	char match[GS_PATTERNS][GS_PATTERN];
	unsigned int nr_match;
	char on[GS_PATTERN];		/* Device= of a [Share]; empty: all */
	char kind[GS_PATTERN];		/* Kind= of a [Device]; empty: by its key */
	struct gs_setting settings[GS_SETTINGS];
	unsigned int nr_settings;
};

enum gs_gate_mode {
	GS_GATE_OFF,
	GS_GATE_SHARE,		/* an administrator's share lets in */
	GS_GATE_RUN,		/* only who was started by gpusharectl run, or by a hook */
};

const char *gs_gate_mode_name(enum gs_gate_mode mode);
/* 0 or -EINVAL */
int gs_gate_mode_parse(const char *word, enum gs_gate_mode *mode);

/* What all [Gate] sections say. */
struct gs_gate_rules {
	const char *file;		/* with the last Mode=; NULL: there is none */
	unsigned int line;
	enum gs_gate_mode mode;
	char below[GS_PATTERN];		/* empty: the whole machine */
	char allow[GS_PATTERNS][GS_PATTERN];
	unsigned int nr_allow;
	char nodes[GS_PATTERNS][GS_PATTERN];
	unsigned int nr_nodes;
};

#define GS_HOOKS_MOST	64
#define GS_HOOK_WORDS	16
#define GS_HOOK_BYTES	1024

/* A [Hook]: a program that is run when something happens. */
struct gs_hook {
	const char *file;
	unsigned int line;
	uint64_t types;			/* of events, 1 << type */
	bool waiting;			/* a client of the group waits for @after_us */
	uint64_t after_us, every_us;
	char match[GS_PATTERNS][GS_PATTERN];	/* of groups; none: all */
	unsigned int nr_match;
	char exec[GS_HOOK_BYTES];	/* its words, each with its NUL */
	unsigned int words[GS_HOOK_WORDS], nr_words;	/* where they begin */
};

struct gs_config {
	struct gs_section *sections;
	size_t nr, room;
	struct gs_hook *hooks;
	size_t nr_hooks;
	struct gs_gate_rules gate;
	unsigned int errors;
};

/*
 * Add what @text says to @config. Mistakes go to @err, as FILE:LINE:COLUMN:
 * WORDS, one a line (NULL: aren't told), and are counted. 0 or -ENOMEM.
 */
int gs_config_parse(struct gs_config *config, const char *file, const char *text, size_t size,
		    FILE *err);
/* The same for a unit of systemd's: its [X-GPUShare] sections, which match nothing. */
int gs_config_parse_unit(struct gs_config *config, const char *file, const char *text, size_t size,
			 FILE *err);
void gs_config_free(struct gs_config *config);

/* Does a pattern name one thing, without '*', '?' or '['? */
bool gs_is_exact(const char *pattern);

#endif
