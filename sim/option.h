/* SPDX-License-Identifier: MIT */
/*
 * Options of a scenario's statements: KEY=VALUE words, by tables that say
 * where a value goes, in which bounds, and which bit of the struct's mask says
 * that it is there. What doesn't fit a table (max=QUOTA/PERIOD, lists of
 * devices) has a type of its own.
 */
#ifndef SIM_OPTION_H
#define SIM_OPTION_H

#include "scenario.h"

#define TIME_MAX	(10000 * 3600 * SIM_NS_PER_S)

#define MAX_DEVICES	64

struct parser {
	struct sim_scenario *s;
	int line;
	int first;			/* tenant of the last tenant line; -1: none */
	char *words[64];		/* what is left of the line */
	int nwords;
	struct gs_device_conf confs[MAX_DEVICES];	/* as of the last `at` line */
	char *error;
	size_t size;
};

enum option_type {
	OPT_U32, OPT_U64, OPT_NS, OPT_BYTES32, OPT_BYTES64, OPT_PERMILLE,
	OPT_WORD, OPT_DIST, OPT_MAX, OPT_ARRIVE, OPT_DEVICES, OPT_GROUP,
};

struct option {
	const char *key;
	enum option_type type;
	size_t offset;
	uint64_t min, max;		/* as stored; max 0: none */
	uint32_t bit;
	const char *const *words;	/* OPT_WORD */
};

#define OPTION(k, t, type, member, lo, hi, b, w) { k, t, offsetof(type, member), lo, hi, b, w }

/* Says what is wrong with this line; -EINVAL. */
int sim_fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes all the words that are left as options of @base. */
int sim_options(struct parser *p, const struct option *options, void *base, uint32_t *mask);
/* Takes the next word; NULL if there is none. */
char *sim_word(struct parser *p);
/* Takes the next word as the name of a new thing. */
int sim_new_name(struct parser *p, const char *what, bool path, char *out, size_t size);
/* A group's index; -1 is the root, "/". */
int sim_find_group(struct parser *p, const char *path, int *group);
/* The index by name in an array of structs that begin with it; -1: not there. */
int sim_find(const void *array, int n, size_t size, const char *name);
/* Makes room for one more zeroed element and returns it. */
void *sim_grow(void *arrayp, int *n, size_t size);

/* things.c: a line each; sim_parse_conf() changes what is given of @conf. */
int sim_parse_device(struct parser *p);
int sim_parse_group(struct parser *p);
int sim_parse_kernel(struct parser *p);
int sim_parse_tenant(struct parser *p);
int sim_parse_phase(struct parser *p);
int sim_parse_share(struct parser *p, int group, struct sim_share *out);
int sim_parse_conf(struct parser *p, struct gs_device_conf *conf);
/* Adds a phase to all tenants of the last tenant line. */
int sim_add_phase(struct parser *p, const struct sim_phase *phase);

#define GROW(array, n) ((__typeof__(array))sim_grow(&(array), &(n), sizeof(*(array))))
#define FIND(array, n, name) sim_find(array, n, sizeof(*(array)), name)

#endif
