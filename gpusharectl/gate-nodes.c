// SPDX-License-Identifier: MIT
/*
 * Which device nodes are GPUs'. What counts is a node's number, as a node can be made
 * anywhere: /proc/devices says which numbers a driver has, also for nodes that come later
 * (NVIDIA's, among them those of MIG's instances, nvidia-caps; AMD's kfd; DRM and accel).
 * A screen's adapter without a render node computes nothing, and is let be; sysfs, which is
 * what udev goes by, says which are such. Specifications of CDI name what
 * containers get, whoever's driver it is.
 */
#include "gate.h"
#include "amount.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NODES_MOST	4096
#define SPEC_MOST	(1 << 20)

static const char *const drivers[] = { "nvidia*", "drm", "kfd", "accel", "habanalabs" };

/* Numbers that are theirs for good: closed before the driver comes. */
static const struct { uint32_t major; const char *name; } known[] = {
	{ 195, "nvidia" }, { 226, "drm" }, { 261, "accel" },
};

/* memory, terminals, the kernel's small ones: to close these would end the machine. */
static bool is_vital(uint32_t major)
{
	return major == 1 || major == 4 || major == 5 || (major >= 136 && major <= 143);
}

static int add(struct gs_nodes *nodes, uint32_t major, uint32_t minor, bool open, const char *from)
{
	struct gs_node *more;
	size_t i;

	for (i = 0; i < nodes->n; i++)
		if (nodes->v[i].major == major && nodes->v[i].minor == minor) {
			nodes->v[i].open &= open;
			return 0;
		}
	if (nodes->n == NODES_MOST)
		return -E2BIG;
	if (nodes->n == nodes->room) {
		more = reallocarray(nodes->v, 2 * nodes->room + 16, sizeof(*more));
		if (!more)
			return -ENOMEM;
		nodes->v = more;
		nodes->room = 2 * nodes->room + 16;
	}
	nodes->v[nodes->n] = (struct gs_node){ .major = major, .minor = minor, .open = open };
	snprintf(nodes->v[nodes->n++].from, sizeof(nodes->v->from), "%s", from);
	return 0;
}

static int add_drivers(struct gs_nodes *nodes)
{
	FILE *f = fopen("/proc/devices", "re");
	char line[256], name[64];
	unsigned int major;
	int rc = 0;
	size_t i;

	for (i = 0; !rc && i < sizeof(known) / sizeof(*known); i++)
		rc = add(nodes, known[i].major, GS_NODE_ALL, false, known[i].name);

	/* After an empty line block devices follow. */
	while (f && !rc && fgets(line, sizeof(line), f) && *line != '\n') {
		if (sscanf(line, "%u %63s", &major, name) != 2 || is_vital(major))
			continue;
		for (i = 0; !rc && i < sizeof(drivers) / sizeof(*drivers); i++)
			if (!fnmatch(drivers[i], name, 0))
				rc = add(nodes, major, GS_NODE_ALL, false, name);
	}
	if (f)
		fclose(f);
	return rc;
}

/* Has that card's device a node to compute by? */
static bool has_render_node(const char *card)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/drm/%.64s/device/drm", card);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir)))
		found = !strncmp(e->d_name, "renderD", 7);
	if (dir)
		closedir(dir);
	return found;
}

static int add_screens(struct gs_nodes *nodes)
{
	DIR *dir = opendir("/sys/class/drm");
	unsigned int major, minor;
	char path[PATH_MAX];
	struct dirent *e;
	int rc = 0;
	FILE *f;

	while (dir && !rc && (e = readdir(dir))) {
		if (strncmp(e->d_name, "card", 4) || strchr(e->d_name, '-') ||
		    has_render_node(e->d_name))
			continue;
		snprintf(path, sizeof(path), "/sys/class/drm/%.64s/dev", e->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "%u:%u", &major, &minor) == 2)
			rc = add(nodes, major, minor, true, e->d_name);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return rc;
}

/* The text that follows @key in JSON or YAML, of a string that begins there: its length. */
static size_t value_of(const char *s, const char *key, const char **value)
{
	size_t n = strlen(key);

	if (strncmp(s, key, n))
		return 0;
	s += n;
	s += *s == '"' || *s == '\'';
	s += strspn(s, " \t");
	if (*s != ':')
		return 0;
	s++;
	s += strspn(s, " \t\n");
	s += *s == '"' || *s == '\'';
	*value = s;
	return strcspn(s, "\"'\n,}");
}

/*
 * CDI: what stands there as a device node's path, of kinds that are accelerators. It is
 * read without its grammar, JSON and YAML alike: a path too many that is no GPU's node
 * isn't a device node, or is vital, and left out.
 */
static int add_specification(struct gs_nodes *nodes, const char *text, const char *from)
{
	static const char *const classes[] = { "*/gpu", "*/mig", "*/accel*", "*/npu", "*/xpu" };
	char path[PATH_MAX];
	const char *s, *value;
	struct stat st;
	bool ours = false;
	size_t n, i;
	int rc = 0;

	for (s = text; (s = strstr(s, "kind")); s++) {
		n = value_of(s, "kind", &value);
		if (!n || n >= sizeof(path))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)n, value);
		for (i = 0; i < sizeof(classes) / sizeof(*classes); i++)
			ours |= !fnmatch(classes[i], path, 0);
	}
	for (s = text; ours && !rc && (s = strstr(s, "ath")); s++) {
		n = s > text && (s[-1] == 'p' || s[-1] == 'P') ? value_of(s, "ath", &value) : 0;
		if (!n || n >= sizeof(path) || strncmp(value, "/dev/", 5))
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)n, value);
		if (!stat(path, &st) && S_ISCHR(st.st_mode) && !is_vital(major(st.st_rdev)))
			rc = add(nodes, major(st.st_rdev), minor(st.st_rdev), false, from);
	}
	return rc;
}

static int add_specifications(struct gs_nodes *nodes, const char *folder)
{
	DIR *dir = opendir(folder);
	char path[PATH_MAX];
	struct dirent *e;
	char *text;
	int rc = 0;
	size_t n;
	FILE *f;

	while (dir && !rc && (e = readdir(dir))) {
		if (fnmatch("*.json", e->d_name, FNM_PERIOD) &&
		    fnmatch("*.y*ml", e->d_name, FNM_PERIOD))
			continue;
		snprintf(path, sizeof(path), "%s/%.250s", folder, e->d_name);
		f = fopen(path, "re");
		text = f ? malloc(SPEC_MOST + 1) : NULL;
		n = text ? fread(text, 1, SPEC_MOST, f) : 0;
		if (text) {
			text[n] = 0;
			rc = add_specification(nodes, text, path);
		}
		free(text);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return rc;
}

int gs_nodes_find(struct gs_nodes *nodes)
{
	int rc = add_drivers(nodes);

	if (!rc)
		rc = add_screens(nodes);
	if (!rc)
		rc = add_specifications(nodes, "/etc/cdi");
	return rc ? rc : add_specifications(nodes, "/var/run/cdi");
}

int gs_nodes_add(struct gs_nodes *nodes, const char *text, char *why, size_t size)
{
	uint64_t major, minor = GS_NODE_ALL;
	char number[32], *colon;
	struct stat st;
	size_t i;
	int rc;

	if (*text == '/') {
		if (stat(text, &st)) {
			snprintf(why, size, "%.200s: %s", text, strerror(errno));
			return -EINVAL;
		}
		if (!S_ISCHR(st.st_mode)) {
			snprintf(why, size, "%.200s: it is no character device", text);
			return -EINVAL;
		}
		major = major(st.st_rdev);
		minor = minor(st.st_rdev);
	} else {
		snprintf(number, sizeof(number), "%.31s", !strncmp(text, "char:", 5) ? text + 5 : "");
		colon = strchr(number, ':');
		if (colon)
			*colon = 0;
		if (strlen(text) > 30 || gs_parse_unsigned(number, 4095, &major) ||
		    (colon && gs_parse_unsigned(colon + 1, (1 << 20) - 1, &minor))) {
			snprintf(why, size, "%.80s: a node is /dev/NAME, char:MAJOR or char:MAJOR:MINOR",
				 text);
			return -EINVAL;
		}
	}
	if (is_vital((uint32_t)major)) {
		snprintf(why, size, "%.200s: terminals and memory aren't closed: nothing would run "
			 "any more", text);
		return -EINVAL;
	}
	rc = add(nodes, (uint32_t)major, (uint32_t)minor, false, text);
	for (i = 0; !rc && i < nodes->n; i++)
		if (nodes->v[i].major == major && nodes->v[i].minor == minor)
			nodes->v[i].named = true;
	if (rc)
		snprintf(why, size, "%.200s: %s", text, strerror(-rc));
	return rc;
}

const char *gs_driver_name(uint32_t major, char name[64])
{
	FILE *f = fopen("/proc/devices", "re");
	char line[256], found[64];
	unsigned int number;
	size_t i;

	strcpy(name, "?");
	while (f && fgets(line, sizeof(line), f) && *line != '\n')
		if (sscanf(line, "%u %63s", &number, found) == 2 && number == major)
			strcpy(name, found);
	if (f)
		fclose(f);
	for (i = 0; *name == '?' && i < sizeof(known) / sizeof(*known); i++)
		if (known[i].major == major)
			strcpy(name, known[i].name);
	return name;
}

bool gs_nodes_has(const struct gs_nodes *nodes, uint32_t major, uint32_t minor)
{
	const struct gs_node *all = NULL;
	size_t i;

	for (i = 0; i < nodes->n; i++) {
		if (nodes->v[i].major != major)
			continue;
		if (nodes->v[i].minor == minor)
			return !nodes->v[i].open;
		if (nodes->v[i].minor == GS_NODE_ALL)
			all = &nodes->v[i];
	}
	return all && !all->open;
}

void gs_nodes_free(struct gs_nodes *nodes)
{
	free(nodes->v);
	*nodes = (struct gs_nodes){ 0 };
}
