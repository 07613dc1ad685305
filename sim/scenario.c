// SPDX-License-Identifier: MIT
/*
 * Reading a scenario: one statement a line, `#` begins a comment.
 *
 *	STATEMENT [NAME] KEY=VALUE...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

static int take_time(struct parser *p, const char *what, uint64_t *ns)
{
	const char *word = sim_word(p), *why;

	if (!word)
		return sim_fail(p, "%s needs a time", what);
	if (sim_value_time(word, ns, &why))
		return sim_fail(p, "%s: '%s' %s", what, word, why);
	if (*ns > TIME_MAX)
		return sim_fail(p, "%s: '%s' is over 10000h", what, word);
	return 0;
}

static int no_more(struct parser *p)
{
	return p->nwords ? sim_fail(p, "'%s' is too much on this line", p->words[0]) : 0;
}

/* pause TIME: a phase of doing nothing */
static int parse_pause(struct parser *p)
{
	struct sim_phase phase = { .kernel = -1, .burst = 1 };

	if (p->first < 0)
		return sim_fail(p, "a tenant must come before its pauses");
	if (take_time(p, "pause", &phase.for_ns) || no_more(p))
		return -EINVAL;
	return sim_add_phase(p, &phase);
}

static int parse_change(struct parser *p, struct sim_change *c)
{
	const char *what = sim_word(p), *name = sim_word(p);
	int group;

	if (!what || !name)
		return sim_fail(p, "at TIME needs one of: group PATH OPTIONS, device NAME OPTIONS, "
				"kill TENANT, remove DEVICE");
	if (!strcmp(what, "group")) {
		c->kind = SIM_SET_SHARE;
		if (sim_find_group(p, name, &group))
			return -EINVAL;
		return sim_parse_share(p, group, &c->share);
	}
	if (!strcmp(what, "kill")) {
		c->kind = SIM_KILL;
		c->index = FIND(p->s->tenants, p->s->ntenants, name);
		return c->index < 0 ? sim_fail(p, "there is no tenant '%s' above this line", name) :
				      no_more(p);
	}
	if (strcmp(what, "device") && strcmp(what, "remove"))
		return sim_fail(p, "at TIME %s: group, device, kill and remove are there", what);
	c->kind = what[0] == 'd' ? SIM_SET_DEVICE : SIM_REMOVE_DEVICE;
	c->index = FIND(p->s->devices, p->s->ndevices, name);
	if (c->index < 0)
		return sim_fail(p, "there is no device '%s' above this line", name);
	if (c->kind == SIM_REMOVE_DEVICE)
		return no_more(p);
	if (sim_parse_conf(p, &p->confs[c->index]))
		return -EINVAL;
	c->conf = p->confs[c->index];
	return 0;
}

static int parse_at(struct parser *p)
{
	struct sim_change c, *new;

	memset(&c, 0, sizeof(c));
	if (take_time(p, "at", &c.at_ns) || parse_change(p, &c))
		return -EINVAL;
	if (p->s->nchanges && p->s->changes[p->s->nchanges - 1].at_ns > c.at_ns)
		return sim_fail(p, "the lines with 'at' must be in the order of time");
	new = GROW(p->s->changes, p->s->nchanges);
	if (!new)
		return -ENOMEM;
	*new = c;
	return 0;
}

/* A bound: a number, a time (in us), or - for none */
static int take_bound(struct parser *p, double none, double *out)
{
	const char *word = sim_word(p), *why;
	uint64_t ns;

	*out = none;
	if (!word)
		return sim_fail(p, "expect needs METRIC LOW HIGH");
	if (!strcmp(word, "-") || !sim_value_decimal(word, out, &why))
		return 0;
	if (sim_value_time(word, &ns, &why))
		return sim_fail(p, "expect: '%s' is neither a number, nor a time, nor -", word);
	*out = ns / 1000.0;
	return 0;
}

/* expect METRIC LOW HIGH */
static int parse_expect(struct parser *p)
{
	struct sim_expect e = { .line = p->line }, *new;
	const char *metric = sim_word(p);

	if (!metric || strlen(metric) >= sizeof(e.metric))
		return sim_fail(p, "expect needs METRIC LOW HIGH");
	strcpy(e.metric, metric);
	if (take_bound(p, -1e300, &e.low) || take_bound(p, 1e300, &e.high) || no_more(p))
		return -EINVAL;
	if (e.low > e.high)
		return sim_fail(p, "expect: the lower bound is above the upper one");
	new = GROW(p->s->expects, p->s->nexpects);
	if (!new)
		return -ENOMEM;
	*new = e;
	return 0;
}

static int parse_seed(struct parser *p)
{
	const char *word = sim_word(p), *why;

	if (!word)
		return sim_fail(p, "seed needs a number");
	if (sim_value_number(word, &p->s->seed, &why))
		return sim_fail(p, "seed: '%s' %s", word, why);
	return no_more(p);
}

static int parse_duration(struct parser *p)
{
	if (take_time(p, "duration", &p->s->duration_ns) || no_more(p))
		return -EINVAL;
	return p->s->duration_ns ? 0 : sim_fail(p, "duration must be over 0");
}

static int parse_window(struct parser *p)
{
	if (take_time(p, "window", &p->s->window_ns) || no_more(p))
		return -EINVAL;
	return p->s->window_ns ? 0 : sim_fail(p, "window must be over 0");
}

static int parse_mode(struct parser *p)
{
	const char *word = sim_word(p);

	if (!word || (strcmp(word, "native") && strcmp(word, "arbiter")))
		return sim_fail(p, "mode is native or arbiter");
	p->s->native = word[0] == 'n';
	return no_more(p);
}

static int parse_alone(struct parser *p)
{
	const char *word = sim_word(p);

	if (!word || (strcmp(word, "yes") && strcmp(word, "no")))
		return sim_fail(p, "alone is yes or no");
	p->s->no_alone = word[0] == 'n';
	return no_more(p);
}

static int parse_title(struct parser *p)
{
	size_t n = 0;
	char *word;

	while ((word = sim_word(p)) && n < sizeof(p->s->title))
		n += snprintf(p->s->title + n, sizeof(p->s->title) - n, "%s%s", n ? " " : "", word);
	return 0;
}

static const struct {
	const char *word;
	int (*parse)(struct parser *p);
} statements[] = {
	{ "title", parse_title },
	{ "seed", parse_seed },
	{ "duration", parse_duration },
	{ "window", parse_window },
	{ "mode", parse_mode },
	{ "alone", parse_alone },
	{ "device", sim_parse_device },
	{ "group", sim_parse_group },
	{ "kernel", sim_parse_kernel },
	{ "tenant", sim_parse_tenant },
	{ "phase", sim_parse_phase },
	{ "pause", parse_pause },
	{ "at", parse_at },
	{ "expect", parse_expect },
};

static int parse_line(struct parser *p, char *line)
{
	char *save = NULL, *word;
	size_t i;

	line[strcspn(line, "#\r")] = 0;
	p->nwords = 0;
	for (word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (p->nwords == 64)
			return sim_fail(p, "more than 64 words");
		p->words[p->nwords++] = word;
	}
	word = sim_word(p);
	if (!word)
		return 0;
	for (i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		if (!strcmp(statements[i].word, word))
			return statements[i].parse(p);
	return sim_fail(p, "'%s' is no statement: title, seed, duration, window, mode, alone, "
			"device, group, kernel, tenant, phase, pause, at and expect are there", word);
}

static int check_tenant(struct parser *p, const struct sim_tenant *t)
{
	const struct sim_device *d;
	const struct sim_kernel *k;
	uint64_t length = 0;
	uint32_t i;

	if (!t->nphases)
		return sim_fail(p, "tenant '%s' has no phase", t->name);
	for (i = 0; i < t->nphases; i++) {
		length |= t->phases[i].for_ns;
		if (t->phases[i].kernel < 0)
			continue;
		k = &p->s->kernels[t->phases[i].kernel];
		for (d = p->s->devices; d < p->s->devices + p->s->ndevices; d++)
			if ((t->devices >> (d - p->s->devices) & 1) && !sim_width(d, k))
				return sim_fail(p, "a block of kernel '%s' needs more than one unit "
						"of device '%s' has", k->name, d->name);
	}
	return length ? 0 : sim_fail(p, "tenant '%s' does nothing for no time", t->name);
}

/* What a line alone can't see; told of the last line. */
static int check_whole(struct parser *p)
{
	struct sim_scenario *s = p->s;
	int i;

	if (!s->duration_ns)
		return sim_fail(p, "there is no duration");
	if (!s->ntenants)
		return sim_fail(p, "there is no tenant");
	for (i = 0; i < s->ntenants; i++)
		if (check_tenant(p, &s->tenants[i]))
			return -EINVAL;
	if (s->native && s->nchanges)
		return sim_fail(p, "natively there is nothing that `at` could change");
	if (s->window_ns > s->duration_ns)
		s->window_ns = s->duration_ns;
	return 0;
}

int sim_parse(struct sim_scenario *s, const char *name, const char *text, char *error,
	      size_t size)
{
	struct parser p = { .s = s, .first = -1, .error = error, .size = size };
	int ret = 0;
	char *line;
	size_t len;

	memset(s, 0, sizeof(*s));
	snprintf(s->file, sizeof(s->file), "%s", name);
	s->seed = 1;
	s->window_ns = 10 * SIM_NS_PER_S;
	while (*text && !ret) {
		len = strcspn(text, "\n");
		line = strndup(text, len);
		if (!line)
			return -ENOMEM;
		p.line++;
		ret = parse_line(&p, line);
		free(line);
		text += len + (text[len] == '\n');
	}
	if (!ret)
		ret = check_whole(&p);
	if (ret == -ENOMEM)
		snprintf(error, size, "%s: no memory left", name);
	if (ret)
		sim_scenario_free(s);
	return ret;
}

int sim_load(struct sim_scenario *s, const char *path, char *error, size_t size)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t n;
	FILE *f;
	int ret;

	f = fopen(path, "re");
	if (!f) {
		ret = -errno;
		snprintf(error, size, "%s: %s", path, strerror(-ret));
		return ret;
	}
	n = getdelim(&text, &room, 0, f);
	if (n < 0 && ferror(f)) {
		ret = -EIO;
		snprintf(error, size, "%s: can't be read", path);
	} else if (n > 0 && !text[n - 1]) {
		ret = -EINVAL;
		snprintf(error, size, "%s: not a text file", path);
	} else {
		ret = sim_parse(s, path, n > 0 ? text : "", error, size);
	}
	free(text);
	fclose(f);
	return ret;
}

void sim_scenario_free(struct sim_scenario *s)
{
	int i;

	for (i = 0; i < s->ntenants; i++)
		free(s->tenants[i].phases);
	free(s->devices);
	free(s->groups);
	free(s->shares);
	free(s->kernels);
	free(s->tenants);
	free(s->changes);
	free(s->expects);
	memset(s, 0, sizeof(*s));
}
