// SPDX-License-Identifier: MIT
#include "units.h"
#include "term.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRS_MOST	32	/* in the search path */
#define NAMES_MOST	64	/* under which a unit's drop-ins may lie */
#define FILE_MOST	(1 << 20)

/* One that has something to say, or is seen first and so hides another. */
struct unit_file {
	char *path;
	const char *dropin;	/* its name in path; NULL: it is the unit itself */
	char *unit;		/* a unit, a template, a prefix or a type, as in its name */
	unsigned int place;	/* of its directory in the search path */
	struct stat st;		/* as it was when it was read */
	struct gs_config said;
	bool taken_over;	/* by the next reading, which has its path and unit */
};

/* What was put together. */
struct unit {
	char *name;
	unsigned int of;	/* the reading that it is of */
	bool seen;		/* in this round */
	struct gs_section *sections;
	size_t nr;
};

struct gs_units {
	char *dirs[DIRS_MOST];
	unsigned int nr_dirs;
	struct unit_file *files;
	size_t nr_files, room_files;
	size_t telling;		/* of the files, those that have a section */
	unsigned int mistakes;
	struct unit *units;
	size_t nr_units, room_units;
	unsigned int reading;
	uint32_t turns;		/* the last number of a section */
};

/* What `systemd-analyze unit-paths` says, but for transient/, where no such section can be. */
static const char default_path[] = "/etc/systemd/system.control:/run/systemd/system.control:"
	"/run/systemd/generator.early:/etc/systemd/system:/etc/systemd/system.attached:"
	"/run/systemd/system:/run/systemd/system.attached:/run/systemd/generator:"
	"/usr/local/lib/systemd/system:/lib/systemd/system:/usr/lib/systemd/system:"
	"/run/systemd/generator.late";

/* Where its directories are links, each is looked into once. */
static int add_dirs(struct gs_units *u, const char *path)
{
	char text[PATH_MAX], real[PATH_MAX], *word, *save = NULL;
	unsigned int i;

	snprintf(text, sizeof(text), "%s", path);
	for (word = strtok_r(text, ":", &save); word; word = strtok_r(NULL, ":", &save)) {
		if (!realpath(word, real))
			snprintf(real, sizeof(real), "%s", word);
		for (i = 0; i < u->nr_dirs && strcmp(u->dirs[i], real); i++)
			;
		if (i < u->nr_dirs || i == DIRS_MOST)
			continue;
		u->dirs[i] = strdup(real);
		if (!u->dirs[i])
			return -ENOMEM;
		u->nr_dirs++;
	}
	return 0;
}

struct gs_units *gs_units_new(void)
{
	const char *path = getenv("SYSTEMD_UNIT_PATH");
	struct gs_units *u = calloc(1, sizeof(*u));
	size_t length = path ? strlen(path) : 0;
	int rc = 0;

	if (!u)
		return NULL;
	/* As systemd has it: a path that ends in ':' goes before the usual one. */
	if (path)
		rc = add_dirs(u, path);
	if (!rc && (path ? length && path[length - 1] == ':' : !getenv("GPUSHARE_CONFIG_DIR")))
		rc = add_dirs(u, default_path);
	if (!rc)
		return u;
	gs_units_free(u);
	return NULL;
}

static void free_files(struct unit_file *files, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (files[i].taken_over)
			continue;
		gs_config_free(&files[i].said);
		free(files[i].path);
		free(files[i].unit);
	}
	free(files);
}

static void free_unit(struct unit *unit)
{
	free(unit->name);
	free(unit->sections);
}

void gs_units_free(struct gs_units *u)
{
	size_t i;

	if (!u)
		return;
	free_files(u->files, u->nr_files);
	for (i = 0; i < u->nr_units; i++)
		free_unit(&u->units[i]);
	free(u->units);
	while (u->nr_dirs)
		free(u->dirs[--u->nr_dirs]);
	free(u);
}

/* ---- the files ---- */

/* ".service" of a name, or NULL */
static const char *type_of(const char *name)
{
	static const char *const types[] = { "service", "slice", "scope", "socket", "mount", "swap",
		"target", "timer", "path", "device", "automount" };
	const char *dot = strrchr(name, '.');
	size_t i;

	for (i = 0; dot && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(dot + 1, types[i]))
			return dot;
	return NULL;
}

static bool has_share(const char *type)
{
	return !strcmp(type, ".service") || !strcmp(type, ".slice") || !strcmp(type, ".scope");
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct unit_file *)a)->path, ((const struct unit_file *)b)->path);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Sections that are for no cgroup are mistakes too. */
static void check_use(struct unit_file *f, FILE *err)
{
	const char *type = type_of(f->unit), *why = NULL;
	char of_all[NAME_MAX + 2];

	if (!f->said.nr)
		return;
	snprintf(of_all, sizeof(of_all), ".%s", f->unit);
	if (!has_share(type ? type : of_all))
		why = "only a service, a slice or a scope has a share";
	else if (!strcmp(f->unit, "-.slice"))
		why = "the root has no share; the slices in it have";
	if (!why)
		return;
	f->said.errors++;
	f->said.nr = 0;
	if (!err)
		return;
	gs_print_safe(err, f->path);
	fprintf(err, ":%u:1: %s\n", f->said.sections[0].line, why);
}

static int read_file(struct unit_file *f, int fd, FILE *err)
{
	char *text = malloc(FILE_MOST);
	ssize_t n, size = 0;
	int rc;

	if (!text)
		return -ENOMEM;
	while (size < FILE_MOST && (n = read(fd, text + size, (size_t)(FILE_MOST - size))) > 0)
		size += n;
	rc = gs_config_parse_unit(&f->said, f->path, text, (size_t)size, err);
	free(text);
	if (!rc)
		check_use(f, err);
	return rc;
}

struct files {
	struct unit_file *files;
	size_t nr;
};

/*
 * A file that was read before is taken over. Most units say nothing to us, but each may
 * stand before one that does, and hide it.
 */
static int add_file(struct gs_units *u, const struct files *old, const struct unit_file *model,
		    FILE *err)
{
	struct unit_file f = *model, *before = NULL;
	size_t room = u->room_files ? 2 * u->room_files : 256;
	int rc = 0, fd;
	void *more;

	if (u->nr_files == u->room_files) {
		more = reallocarray(u->files, room, sizeof(*u->files));
		if (!more)
			return -ENOMEM;
		u->files = more;
		u->room_files = room;
	}
	fd = open(f.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &f.st))
		f.st = (struct stat){ .st_mode = S_IFREG };
	if (old->nr)
		before = bsearch(&f, old->files, old->nr, sizeof(f), by_path);
	if (before && same_file(&before->st, &f.st)) {
		free(f.path);
		free(f.unit);
		f = *before;
		f.place = model->place;
		before->taken_over = true;
	} else if (fd >= 0 && S_ISREG(f.st.st_mode)) {
		rc = read_file(&f, fd, err);
	}
	if (fd >= 0)
		close(fd);
	u->files[u->nr_files++] = f;
	u->telling += f.said.nr > 0;
	u->mistakes += f.said.errors;
	return rc;
}

static int add_named(struct gs_units *u, const struct files *old, unsigned int place,
		     const char *dir, const char *name, const char *unit, FILE *err)
{
	struct unit_file f = { .place = place };
	size_t nr = u->nr_files;
	int rc = -ENOMEM;

	if (asprintf(&f.path, "%s/%s", dir, name) < 0)
		return rc;
	f.unit = strdup(unit ? unit : name);
	if (unit)
		f.dropin = strrchr(f.path, '/') + 1;
	if (f.unit)
		rc = add_file(u, old, &f, err);
	if (u->nr_files == nr) {
		free(f.path);
		free(f.unit);
	}
	return rc;
}

static int add_dropins(struct gs_units *u, const struct files *old, unsigned int place,
		       const char *name, FILE *err)
{
	char dir[PATH_MAX], unit[NAME_MAX + 1];
	size_t length;
	struct dirent *e;
	int rc = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/%s", u->dirs[place], name);
	snprintf(unit, sizeof(unit), "%.*s", (int)strlen(name) - 2, name);
	d = opendir(dir);
	while (d && !rc && (e = readdir(d))) {
		length = strlen(e->d_name);
		if (*e->d_name != '.' && length > 5 && !strcmp(e->d_name + length - 5, ".conf"))
			rc = add_named(u, old, place, dir, e->d_name, unit, err);
	}
	if (d)
		closedir(d);
	return rc;
}

/* "foo.service.d", or "service.d" for all services */
static bool is_dropin_dir(const char *name)
{
	char unit[NAME_MAX + 2];
	size_t length = strlen(name);

	if (length < 3 || length > NAME_MAX || strcmp(name + length - 2, ".d"))
		return false;
	snprintf(unit, sizeof(unit), ".%.*s", (int)length - 2, name);
	return type_of(unit);
}

static int read_dir(struct gs_units *u, const struct files *old, unsigned int place, FILE *err)
{
	struct dirent *e;
	int rc = 0;
	DIR *d = opendir(u->dirs[place]);

	while (d && !rc && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		if (is_dropin_dir(e->d_name))
			rc = add_dropins(u, old, place, e->d_name, err);
		else if (type_of(e->d_name))
			rc = add_named(u, old, place, u->dirs[place], e->d_name, NULL, err);
	}
	if (d)
		closedir(d);
	return rc;
}

int gs_units_read(struct gs_units *u, FILE *err)
{
	struct files old = { u->files, u->nr_files };
	unsigned int place;
	int rc = 0;

	u->files = NULL;
	u->nr_files = u->room_files = u->telling = 0;
	u->mistakes = 0;
	u->reading++;
	for (place = 0; place < u->nr_dirs && !rc; place++)
		rc = read_dir(u, &old, place, err);
	free_files(old.files, old.nr);
	if (u->files)
		qsort(u->files, u->nr_files, sizeof(*u->files), by_path);
	return rc;
}

unsigned int gs_units_mistakes(const struct gs_units *u)
{
	return u->mistakes;
}

bool gs_units_any(const struct gs_units *u)
{
	return u->telling || u->nr_units;
}

/* One that isn't there comes into the nearest that is. */
void gs_units_each_dir(const struct gs_units *u, void (*fn)(const char *dir, void *arg), void *arg)
{
	char path[PATH_MAX], *slash;
	struct dirent *e;
	unsigned int i;
	DIR *d;

	for (i = 0; i < u->nr_dirs; i++) {
		fn(u->dirs[i], arg);
		d = opendir(u->dirs[i]);
		while (d && (e = readdir(d))) {
			if (!is_dropin_dir(e->d_name))
				continue;
			snprintf(path, sizeof(path), "%s/%s", u->dirs[i], e->d_name);
			fn(path, arg);
		}
		if (d) {
			closedir(d);
			continue;
		}
		snprintf(path, sizeof(path), "%s", u->dirs[i]);
		do {
			slash = strrchr(path, '/');
			if (!slash || slash == path)
				break;
			*slash = 0;
		} while (access(path, F_OK));
		fn(path, arg);
	}
}

/* ---- a unit, put together ---- */

/* Names of its own, the nearest first. */
struct names {
	char name[NAMES_MOST][NAME_MAX + 1];
	unsigned int nr;
};

static void add_name(struct names *n, const char *name)
{
	unsigned int i;

	for (i = 0; i < n->nr; i++)
		if (!strcmp(n->name[i], name))
			return;
	if (n->nr < NAMES_MOST && strlen(name) <= NAME_MAX)
		strcpy(n->name[n->nr++], name);
}

/* "a-b@i.service": a-b@i.service, a-b@.service, a-.service, a-@i.service, a-@.service */
static void add_names(struct names *n, const char *name)
{
	char other[2 * NAME_MAX];
	const char *type = type_of(name), *at = strchr(name, '@'), *end, *dash;
	bool instance = at && at + 1 < type;

	add_name(n, name);
	if (instance) {
		snprintf(other, sizeof(other), "%.*s%s", (int)(at + 1 - name), name, type);
		add_names(n, other);
	}
	end = at && at < type ? at : type;
	/* The last dash but for one at the end; "-.slice" has none. */
	for (dash = end - 2; dash > name && *dash != '-'; dash--)
		;
	if (dash <= name)
		return;
	snprintf(other, sizeof(other), "%.*s%s", (int)(dash + 1 - name), name, instance ? at : type);
	add_names(n, other);
}

static const struct unit_file *find_own(const struct gs_units *u, const char *name)
{
	char path[PATH_MAX];
	struct unit_file key = { .path = path };
	const struct unit_file *f;
	unsigned int place;

	for (place = 0; place < u->nr_dirs; place++) {
		snprintf(path, sizeof(path), "%s/%s", u->dirs[place], name);
		f = u->files ? bsearch(&key, u->files, u->nr_files, sizeof(key), by_path) : NULL;
		if (f)
			return f;
	}
	return NULL;
}

/* In which order a drop-in's directory is looked into; -1: not for this unit. */
static int rank(const struct gs_units *u, const struct unit_file *f, const struct names *names,
		const char *type)
{
	unsigned int i;

	for (i = 0; i < names->nr; i++)
		if (!strcmp(f->unit, names->name[i]))
			return (int)(f->place * NAMES_MOST + i);
	return strcmp(f->unit, type + 1) ? -1 : (int)((u->nr_dirs + f->place) * NAMES_MOST);
}

struct ranked {
	const struct unit_file *file;
	int rank;
};

static int by_name(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int rc = strcmp(x->file->dropin, y->file->dropin);

	return rc ? rc : x->rank - y->rank;
}

/* The section of @unit for the device @on, which is made if there is none. */
static struct gs_section *section_for(struct unit *unit, const struct gs_section *model)
{
	struct gs_section *s;
	size_t i;

	for (i = 0; i < unit->nr; i++)
		if (!strcmp(unit->sections[i].on, model->on))
			return &unit->sections[i];
	s = reallocarray(unit->sections, unit->nr + 1, sizeof(*s));
	if (!s)
		return NULL;
	unit->sections = s;
	s += unit->nr++;
	*s = (struct gs_section){ .file = model->file, .line = model->line };
	strcpy(s->on, model->on);
	return s;
}

static struct gs_setting *setting_of(struct gs_section *s, const struct gs_prop *prop)
{
	unsigned int i;

	for (i = 0; i < s->nr_settings; i++)
		if (s->settings[i].prop == prop)
			return &s->settings[i];
	return NULL;
}

/* The last word counts. There is a setting for each property at most, and room for all. */
static int take_file(struct unit *unit, const struct unit_file *f)
{
	const struct gs_section *from;
	struct gs_setting *set;
	struct gs_section *s;
	unsigned int i;
	size_t k;

	for (k = 0; k < f->said.nr; k++) {
		from = &f->said.sections[k];
		s = section_for(unit, from);
		if (!s)
			return -ENOMEM;
		for (i = 0; i < from->nr_settings; i++) {
			set = setting_of(s, from->settings[i].prop);
			if (!set)
				set = &s->settings[s->nr_settings++];
			*set = from->settings[i];
		}
	}
	return 0;
}

static int put_together(struct gs_units *u, struct unit *unit)
{
	const char *type = type_of(unit->name), *at = strchr(unit->name, '@');
	const struct unit_file *own = find_own(u, unit->name);
	char template[2 * NAME_MAX];
	struct ranked *ranked;
	struct names names = { .nr = 0 };
	size_t i, nr = 0;
	int rc = 0;

	if (!own && at && at < type) {
		snprintf(template, sizeof(template), "%.*s%s", (int)(at + 1 - unit->name), unit->name,
			 type);
		own = find_own(u, template);
	}
	if (own)
		rc = take_file(unit, own);
	ranked = calloc(u->nr_files + 1, sizeof(*ranked));
	if (!ranked)
		return -ENOMEM;
	add_names(&names, unit->name);
	for (i = 0; i < u->nr_files; i++) {
		if (!u->files[i].dropin)
			continue;
		ranked[nr].rank = rank(u, &u->files[i], &names, type);
		ranked[nr].file = &u->files[i];
		nr += ranked[nr].rank >= 0;
	}
	qsort(ranked, nr, sizeof(*ranked), by_name);
	for (i = 0; i < nr && !rc; i++)
		if (!i || strcmp(ranked[i].file->dropin, ranked[i - 1].file->dropin))
			rc = take_file(unit, ranked[i].file);
	free(ranked);
	return rc;
}

/* What @before set and @unit doesn't. */
static int take_back(struct unit *unit, const struct unit *before)
{
	const struct gs_section *from;
	struct gs_setting *set;
	struct gs_section *s;
	unsigned int i;
	size_t k;

	for (k = 0; k < before->nr; k++) {
		from = &before->sections[k];
		for (i = 0; i < from->nr_settings; i++) {
			if (!*from->settings[i].value)
				continue;
			s = section_for(unit, from);
			if (!s)
				return -ENOMEM;
			if (setting_of(s, from->settings[i].prop))
				continue;
			set = &s->settings[s->nr_settings++];
			*set = from->settings[i];
			*set->value = 0;
		}
	}
	return 0;
}

/* Where it was said isn't what counts. */
static bool same_sections(const struct unit *a, const struct unit *b)
{
	const struct gs_section *x, *y;
	unsigned int i;
	size_t k;

	if (a->nr != b->nr)
		return false;
	for (k = 0; k < a->nr; k++) {
		x = &a->sections[k];
		y = &b->sections[k];
		if (strcmp(x->on, y->on) || x->nr_settings != y->nr_settings)
			return false;
		for (i = 0; i < x->nr_settings; i++)
			if (x->settings[i].prop != y->settings[i].prop ||
			    strcmp(x->settings[i].value, y->settings[i].value))
				return false;
	}
	return true;
}

static int renew(struct gs_units *u, struct unit *unit)
{
	struct unit now = { .name = unit->name, .of = u->reading, .seen = true };
	size_t k;
	int rc;

	rc = put_together(u, &now);
	if (!rc)
		rc = take_back(&now, unit);
	if (rc) {
		free(now.sections);
		return rc;
	}
	for (k = 0; k < now.nr; k++)
		now.sections[k].turn = same_sections(&now, unit) ? unit->sections[k].turn :
			++u->turns | GS_TURN_OF_UNIT;
	free(unit->sections);
	*unit = now;
	return 0;
}

static struct unit *find_unit(struct gs_units *u, const char *name, size_t *at)
{
	size_t low = 0, high = u->nr_units, mid;
	int rc;

	while (low < high) {
		mid = (low + high) / 2;
		rc = strcmp(u->units[mid].name, name);
		if (!rc)
			return &u->units[mid];
		if (rc < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*at = low;
	return NULL;
}

/* Is there any word on it? Most cgroups are of units of which nobody says anything. */
static bool is_spoken_of(const struct gs_units *u, const char *name)
{
	const char *type = type_of(name);
	struct names names = { .nr = 0 };
	size_t i;

	if (!u->telling)
		return false;
	add_names(&names, name);
	for (i = 0; i < u->nr_files; i++)
		if (u->files[i].said.nr && rank(u, &u->files[i], &names, type) >= 0)
			return true;
	return false;
}

static struct unit *add_unit(struct gs_units *u, const char *name, size_t at)
{
	size_t room = u->room_units ? 2 * u->room_units : 16;
	struct unit new = { .name = strdup(name) };
	void *more;

	if (new.name && u->nr_units == u->room_units) {
		more = reallocarray(u->units, room, sizeof(*u->units));
		if (more) {
			u->units = more;
			u->room_units = room;
		}
	}
	if (!new.name || u->nr_units == u->room_units) {
		free(new.name);
		return NULL;
	}
	memmove(u->units + at + 1, u->units + at, (u->nr_units++ - at) * sizeof(*u->units));
	u->units[at] = new;
	return &u->units[at];
}

/*
 * systemd's own: slices in slices, and at the end the unit. What a container's systemd
 * makes below its scope isn't. Some names have a '_' put before them there.
 */
static const char *unit_of(const char *path)
{
	const char *name, *slash;

	for (name = path + 1; (slash = strchr(name, '/')); name = slash + 1)
		if (slash - name < 7 || strncmp(slash - 6, ".slice", 6))
			return NULL;
	name += *name == '_';
	return strlen(name) <= NAME_MAX && type_of(name) && has_share(type_of(name)) ? name : NULL;
}

size_t gs_units_find(struct gs_units *u, const char *path, const struct gs_section **sections)
{
	const char *name = unit_of(path);
	struct unit *unit;
	size_t at;

	if (!name)
		return 0;
	unit = find_unit(u, name, &at);
	if (!unit && is_spoken_of(u, name))
		unit = add_unit(u, name, at);
	if (!unit)
		return 0;
	unit->seen = true;
	if (unit->of != u->reading && renew(u, unit))
		return 0;	/* another time there is memory */
	*sections = unit->sections;
	return unit->nr;
}

void gs_units_end_round(struct gs_units *u)
{
	size_t i, left = 0;

	for (i = 0; i < u->nr_units; i++) {
		if (!u->units[i].seen) {
			free_unit(&u->units[i]);
			continue;
		}
		u->units[left] = u->units[i];
		u->units[left++].seen = false;
	}
	u->nr_units = left;
}
