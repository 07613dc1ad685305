// SPDX-License-Identifier: MIT
/*
 * The gate's program and maps. The program, for one open of a device node:
 *
 *	not a character device, or made and not opened		let it pass
 *	nodes[major, minor], else nodes[major, all]: none, 0	let it pass
 *	for level = 0, 1, ... down to the task's cgroup
 *		inside[that cgroup] & settings.mask		let it pass, count
 *	refusals[cgroup, user, major]: count, note		refuse
 *
 * To make a node (mknod) is let pass: nvidia-modprobe makes them for whoever comes first,
 * and what counts is the number, wherever the node is and whoever made it.
 *
 * The maps of a gate are its own, but for the refusals, which are handed on. They can be
 * written while the program runs, as it looks up one entry at a time; what must change
 * together is one entry, or a new program with new maps, put in the old one's place by the
 * kernel in one step (BPF_F_REPLACE).
 */
#include "gate.h"
#include "bpf.h"
#include "file.h"
#include "target.h"
#include "ulib/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PROGRAM		"gpushare_gate"
#define LAYOUT		1U	/* goes up when a map's meaning changes */
#define PROGRAMS_MOST	64	/* that the kernel attaches to one cgroup */

struct node_key {
	uint32_t major, minor;
};

struct settings {
	uint32_t layout;
	uint32_t mask;		/* of GS_IN_*: these let in */
	uint64_t since_ns;
	uint64_t let_in, refused;
};

enum { NODES, INSIDE, SETTINGS, REFUSALS, MAPS };

static const struct gs_map_kind kinds[MAPS] = {
	{ "gs_nodes", BPF_MAP_TYPE_HASH, sizeof(struct node_key), 4, 4096, BPF_F_NO_PREALLOC },
	{ "gs_inside", BPF_MAP_TYPE_HASH, 8, 4, 65536, BPF_F_NO_PREALLOC },
	{ "gs_settings", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct settings), 1, 0 },
	{ "gs_refusals", BPF_MAP_TYPE_LRU_HASH, sizeof(struct gs_refused_by),
	  sizeof(struct gs_refusals), 1024, 0 },
};

static const uint32_t masks[] = {
	[GS_GATE_SHARE] = GS_IN_SHARE | GS_IN_RUN | GS_IN_LIST,
	[GS_GATE_RUN] = GS_IN_RUN | GS_IN_LIST,
};

/* Where things lie on the program's stack. */
#define AT_NODE		(-8)
#define AT_ZERO		(-16)
#define AT_CGROUP	(-24)
#define AT_KEY		(-40)
#define AT_VALUE	(AT_KEY - (int)sizeof(struct gs_refusals))

enum { FOUND, LOOP, NEXT, REFUSE, AGAIN, END_REFUSED, LET_IN, PASS };

#define R0	BPF_REG_0
#define R1	BPF_REG_1
#define R2	BPF_REG_2
#define R3	BPF_REG_3
#define R4	BPF_REG_4
#define CONTEXT	BPF_REG_6	/* these four stay over calls */
#define SET	BPF_REG_8
#define LEVEL	BPF_REG_9
#define VALUE	BPF_REG_9
#define FRAME	BPF_REG_10

#define LOAD(size, dst, src, off)	gs_code_add(c, BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define STORE(size, dst, off, src)	gs_code_add(c, BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define STORE_IMM(size, dst, off, imm)	gs_code_add(c, BPF_ST | BPF_MEM | (size), dst, 0, off, imm)
#define MOVE(dst, src)			gs_code_add(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOVE_IMM(dst, imm)		gs_code_add(c, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define ALU_IMM(op, dst, imm)		gs_code_add(c, BPF_ALU64 | (op) | BPF_K, dst, 0, 0, imm)
#define CALL(helper)			gs_code_add(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define JUMP(op, dst, imm, label)	gs_code_jump(c, op, dst, imm, label)
#define LABEL(label)			gs_code_label(c, label)
#define EXIT(value)	do { \
		MOVE_IMM(R0, value); \
		gs_code_add(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0); \
	} while (0)

/* r0 = the entry of what lies at @at of the stack, or 0 */
static void look_up(struct gs_code *c, int map, int at)
{
	gs_code_map(c, map);
	MOVE(R2, FRAME);
	ALU_IMM(BPF_ADD, R2, at);
	CALL(BPF_FUNC_map_lookup_elem);
}

/* Several may count at the same time. */
static void count(struct gs_code *c, int reg, size_t off)
{
	MOVE_IMM(R1, 1);
	gs_code_add(c, BPF_STX | BPF_ATOMIC | BPF_DW, reg, R1, (int16_t)off, BPF_ADD);
}

static void write_refusal(struct gs_code *c, const int maps[MAPS])
{
	unsigned int i;

	count(c, SET, offsetof(struct settings, refused));
	CALL(BPF_FUNC_get_current_cgroup_id);
	STORE(BPF_DW, FRAME, AT_KEY + (int)offsetof(struct gs_refused_by, cgroup), R0);
	CALL(BPF_FUNC_get_current_uid_gid);
	STORE(BPF_W, FRAME, AT_KEY + (int)offsetof(struct gs_refused_by, uid), R0);
	LOAD(BPF_W, R1, CONTEXT, offsetof(struct bpf_cgroup_dev_ctx, major));
	STORE(BPF_W, FRAME, AT_KEY + (int)offsetof(struct gs_refused_by, major), R1);
	look_up(c, maps[REFUSALS], AT_KEY);
	JUMP(BPF_JNE, R0, 0, AGAIN);
	for (i = 0; i < sizeof(struct gs_refusals) / 8; i++)
		STORE_IMM(BPF_DW, FRAME, AT_VALUE + (int)i * 8, 0);
	gs_code_map(c, maps[REFUSALS]);
	MOVE(R2, FRAME);
	ALU_IMM(BPF_ADD, R2, AT_KEY);
	MOVE(R3, FRAME);
	ALU_IMM(BPF_ADD, R3, AT_VALUE);
	MOVE_IMM(R4, BPF_NOEXIST);	/* another one may have been quicker */
	CALL(BPF_FUNC_map_update_elem);
	look_up(c, maps[REFUSALS], AT_KEY);
	JUMP(BPF_JEQ, R0, 0, END_REFUSED);
	LABEL(AGAIN);
	MOVE(VALUE, R0);
	count(c, VALUE, offsetof(struct gs_refusals, count));
	CALL(BPF_FUNC_ktime_get_ns);
	STORE(BPF_DW, VALUE, offsetof(struct gs_refusals, last_ns), R0);
	CALL(BPF_FUNC_get_current_pid_tgid);
	ALU_IMM(BPF_RSH, R0, 32);
	STORE(BPF_W, VALUE, offsetof(struct gs_refusals, pid), R0);
	LOAD(BPF_W, R1, CONTEXT, offsetof(struct bpf_cgroup_dev_ctx, minor));
	STORE(BPF_W, VALUE, offsetof(struct gs_refusals, minor), R1);
	LOAD(BPF_W, R1, CONTEXT, offsetof(struct bpf_cgroup_dev_ctx, access_type));
	ALU_IMM(BPF_RSH, R1, 16);
	STORE(BPF_W, VALUE, offsetof(struct gs_refusals, access), R1);
	MOVE(R1, VALUE);
	ALU_IMM(BPF_ADD, R1, offsetof(struct gs_refusals, comm));
	MOVE_IMM(R2, sizeof(((struct gs_refusals *)0)->comm));
	CALL(BPF_FUNC_get_current_comm);
	LABEL(END_REFUSED);
	EXIT(0);
}

static void write_program(struct gs_code *c, const int maps[MAPS])
{
	gs_code_begin(c);
	MOVE(CONTEXT, R1);
	LOAD(BPF_W, R1, CONTEXT, offsetof(struct bpf_cgroup_dev_ctx, access_type));
	MOVE(R2, R1);
	ALU_IMM(BPF_AND, R2, 0xffff);
	JUMP(BPF_JNE, R2, BPF_DEVCG_DEV_CHAR, PASS);
	ALU_IMM(BPF_RSH, R1, 16);
	ALU_IMM(BPF_AND, R1, BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE);
	JUMP(BPF_JEQ, R1, 0, PASS);
	LOAD(BPF_W, R1, CONTEXT, offsetof(struct bpf_cgroup_dev_ctx, major));
	STORE(BPF_W, FRAME, AT_NODE, R1);
	LOAD(BPF_W, R1, CONTEXT, offsetof(struct bpf_cgroup_dev_ctx, minor));
	STORE(BPF_W, FRAME, AT_NODE + 4, R1);
	look_up(c, maps[NODES], AT_NODE);
	JUMP(BPF_JNE, R0, 0, FOUND);
	STORE_IMM(BPF_W, FRAME, AT_NODE + 4, (int32_t)GS_NODE_ALL);
	look_up(c, maps[NODES], AT_NODE);
	JUMP(BPF_JEQ, R0, 0, PASS);
	LABEL(FOUND);
	LOAD(BPF_W, R1, R0, 0);
	JUMP(BPF_JEQ, R1, 0, PASS);
	STORE_IMM(BPF_W, FRAME, AT_ZERO, 0);
	look_up(c, maps[SETTINGS], AT_ZERO);
	JUMP(BPF_JEQ, R0, 0, END_REFUSED);	/* an array's entry is there */
	MOVE(SET, R0);
	MOVE_IMM(LEVEL, 0);
	LABEL(LOOP);
	MOVE(R1, LEVEL);
	CALL(BPF_FUNC_get_current_ancestor_cgroup_id);
	JUMP(BPF_JEQ, R0, 0, REFUSE);		/* below the task's own */
	STORE(BPF_DW, FRAME, AT_CGROUP, R0);
	look_up(c, maps[INSIDE], AT_CGROUP);
	JUMP(BPF_JEQ, R0, 0, NEXT);
	LOAD(BPF_W, R1, R0, 0);
	LOAD(BPF_W, R2, SET, offsetof(struct settings, mask));
	gs_code_add(c, BPF_ALU64 | BPF_AND | BPF_X, R1, R2, 0, 0);
	JUMP(BPF_JNE, R1, 0, LET_IN);
	LABEL(NEXT);
	ALU_IMM(BPF_ADD, LEVEL, 1);
	JUMP(BPF_JLT, LEVEL, GS_GATE_LEVELS + 1, LOOP);
	LABEL(REFUSE);
	write_refusal(c, maps);
	LABEL(LET_IN);
	count(c, SET, offsetof(struct settings, let_in));
	LABEL(PASS);
	EXIT(1);
}

static void close_maps(int maps[MAPS])
{
	unsigned int i;

	for (i = 0; i < MAPS; i++)
		if (maps[i] >= 0)
			close(maps[i]);
}

/* A tenant chooses names of cgroups, but none above itself: no path leads out of the mount. */
static int open_cgroup(const char *path)
{
	const char *mount = gs_cgroup_mount();
	char full[2 * PATH_MAX];
	int fd;

	if (!mount)
		return -ENODATA;
	if (*path != '/' || strstr(path, "/.."))
		return -EINVAL;
	snprintf(full, sizeof(full), "%s%s", mount, path);
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int by_id(int cmd, uint32_t id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	return gs_bpf(cmd, &attr);
}

static int info_of(int fd, void *info, uint32_t size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = size;
	attr.info.info = (uint64_t)(uintptr_t)info;
	return gs_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

static bool same_kind(const struct bpf_map_info *info, const struct gs_map_kind *kind)
{
	return !strcmp(info->name, kind->name) && info->type == kind->type &&
		info->key_size == kind->key && info->value_size == kind->value;
}

/* The program's maps by their names. */
static int take_maps(struct gs_gate *g)
{
	int *const maps[MAPS] = { &g->nodes, &g->inside, &g->settings, &g->refusals };
	struct bpf_prog_info info = { .nr_map_ids = MAPS };
	struct bpf_map_info map;
	uint32_t ids[MAPS] = { 0 };
	struct settings s;
	unsigned int i, k;
	uint32_t zero = 0;
	int fd, rc;

	info.map_ids = (uint64_t)(uintptr_t)ids;
	rc = info_of(g->prog_fd, &info, sizeof(info));
	if (rc)
		return rc;
	for (i = 0; i < MAPS && i < info.nr_map_ids; i++) {
		fd = by_id(BPF_MAP_GET_FD_BY_ID, ids[i]);
		if (fd < 0)
			return fd;
		memset(&map, 0, sizeof(map));
		rc = info_of(fd, &map, sizeof(map));
		for (k = 0; !rc && k < MAPS; k++)
			if (*maps[k] < 0 && same_kind(&map, &kinds[k]))
				break;
		if (rc || k == MAPS) {
			close(fd);
			return rc ? rc : -EPROTO;
		}
		*maps[k] = fd;
	}
	for (i = 0; i < MAPS; i++)
		if (*maps[i] < 0)
			return -EPROTO;
	rc = gs_map_get(g->settings, &zero, &s);
	if (rc)
		return rc;
	if (s.layout != LAYOUT)
		return -EPROTO;
	g->mode = s.mask & GS_IN_SHARE ? GS_GATE_SHARE : GS_GATE_RUN;
	g->since_ns = s.since_ns;
	g->let_in = s.let_in;
	g->refused = s.refused;
	return 0;
}

/* The attached program of our name: 0 and prog_fd, -ENOENT, or -errno. */
static int find_program(struct gs_gate *g)
{
	uint32_t ids[PROGRAMS_MOST] = { 0 };
	union bpf_attr attr;
	struct bpf_prog_info info;
	unsigned int i, n;
	int fd, rc;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)g->cgroup_fd;
	attr.query.attach_type = BPF_CGROUP_DEVICE;
	attr.query.prog_ids = (uint64_t)(uintptr_t)ids;
	attr.query.prog_cnt = PROGRAMS_MOST;
	rc = gs_bpf(BPF_PROG_QUERY, &attr);
	if (rc)
		return rc;
	n = attr.query.prog_cnt;
	for (i = 0; i < n && i < PROGRAMS_MOST; i++) {
		fd = by_id(BPF_PROG_GET_FD_BY_ID, ids[i]);
		if (fd == -ENOENT)
			continue;	/* it went meanwhile */
		if (fd < 0)
			return fd;
		memset(&info, 0, sizeof(info));
		rc = info_of(fd, &info, sizeof(info));
		if (!rc && !strcmp(info.name, PROGRAM)) {
			g->prog_fd = fd;
			g->prog = ids[i];
			return 0;
		}
		close(fd);
		if (rc)
			return rc;
	}
	return -ENOENT;
}

void gs_gate_close(struct gs_gate *g)
{
	int maps[MAPS] = { g->nodes, g->inside, g->settings, g->refusals };

	close_maps(maps);
	if (g->prog_fd >= 0)
		close(g->prog_fd);
	if (g->cgroup_fd >= 0)
		close(g->cgroup_fd);
}

static const struct gs_gate none = { -1, -1, -1, -1, -1, -1, 0, GS_GATE_OFF, 0, 0, 0 };

/* As gs_gate_find(), but -EPROTO and -ENOENT leave open what was found. */
static int find(const char *below, struct gs_gate *g)
{
	int rc;

	*g = none;
	g->cgroup_fd = open_cgroup(below);
	if (g->cgroup_fd < 0)
		return g->cgroup_fd;
	rc = find_program(g);
	return rc ? rc : take_maps(g);
}

int gs_gate_find(const char *below, struct gs_gate *g)
{
	int rc = find(below, g);

	if (!rc)
		return 0;
	/* A cgroup that isn't there has none; but that is another word than "no gate". */
	if (rc == -ENOENT && g->cgroup_fd == -ENOENT)
		rc = -ENOTDIR;
	gs_gate_close(g);
	*g = none;
	return rc;
}

int gs_gate_lock(void)
{
	const char *only = getenv("GPUSHARE_CONFIG_DIR");
	char path[PATH_MAX];
	int fd;

	if (!only && mkdir(GS_SYSTEM_FOLDER, 0755) && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s/%s", only ? only : GS_SYSTEM_FOLDER,
		 only ? ".gate.lock" : "gate.lock");
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, 0600);
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX))
		if (errno != EINTR) {
			close(fd);
			return -errno;
		}
	return fd;
}

/* What failed, why it does on such machines, and what to do. */
static int fail(const char *what, int rc, const char *words)
{
	const char *reason = strerror(-rc);

	if (*words)
		reason = words;
	else if (rc == -ENOSYS)
		reason = "this kernel has no bpf(2): CONFIG_BPF_SYSCALL; the gate needs Linux 6.1";
	else if (rc == -EPERM)
		reason = "not allowed: it takes root outside of containers (CAP_SYS_ADMIN), and a "
			 "kernel that isn't locked down";
	return gs_error(rc == -EPERM ? GS_EXIT_PERMISSION : GS_EXIT_FAILURE, "gate",
			"not changed: %s: %s", what, reason);
}

#define NODE_CLOSED	0x1U	/* what isn't 0 is closed: the program looks no closer */
#define NODE_NAMED	0x2U

static int fill_nodes(int map, const struct gs_nodes *nodes)
{
	struct node_key key;
	uint32_t state;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < nodes->n; i++) {
		key = (struct node_key){ nodes->v[i].major, nodes->v[i].minor };
		state = (nodes->v[i].open ? 0 : NODE_CLOSED) | (nodes->v[i].named ? NODE_NAMED : 0);
		rc = gs_map_set(map, &key, &state);
	}
	return rc;
}

static int add_inside(int map, uint64_t cgroup, uint32_t why)
{
	uint32_t now = 0;
	int rc = gs_map_get(map, &cgroup, &now);

	if (rc && rc != -ENOENT)
		return rc;
	now |= why;
	return gs_map_set(map, &cgroup, &now);
}

/* Those that are in for @keep stay in, while they are there. */
static int keep_inside(int to, const struct gs_gate *old, uint32_t keep)
{
	uint64_t at, *after = NULL;
	uint32_t why;
	int rc;

	if (old->inside < 0)
		return 0;
	while (!(rc = gs_map_next(old->inside, after, &at))) {
		after = &at;
		rc = gs_map_get(old->inside, &at, &why);
		if (rc == -ENOENT || (!rc && (!(why & keep) || !gs_cgroup_is_there(at))))
			continue;
		if (!rc)
			rc = add_inside(to, at, why & keep);
		if (rc)
			return rc;
	}
	return rc == -ENOENT ? 0 : rc;
}

static int fill_inside(int map, const struct gs_gate *old, const struct gs_gate_wish *wish)
{
	int rc = keep_inside(map, old, wish->keep);
	size_t i;

	for (i = 0; !rc && i < wish->nr_inside; i++)
		rc = add_inside(map, wish->inside[i].cgroup, wish->inside[i].why);
	return rc;
}

static int attach(const struct gs_gate *old, int prog)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)old->cgroup_fd;
	attr.attach_bpf_fd = (uint32_t)prog;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = BPF_F_ALLOW_MULTI;
	if (old->prog_fd >= 0) {
		attr.attach_flags |= BPF_F_REPLACE;
		attr.replace_bpf_fd = (uint32_t)old->prog_fd;
	}
	return gs_bpf(BPF_PROG_ATTACH, &attr);
}

/* Each step may fail; the last one, attaching, is the one that anybody notices. */
static int make(const struct gs_gate *old, const struct gs_gate_wish *wish)
{
	struct settings s = { .layout = LAYOUT, .mask = masks[wish->mode], .since_ns = gs_now() };
	int maps[MAPS] = { -1, -1, -1, -1 }, prog = -1, rc = 0;
	struct gs_code code;
	uint32_t zero = 0;
	char words[200] = "";
	const char *what = "a map can't be made";
	unsigned int i;

	for (i = 0; i < MAPS && rc >= 0; i++) {
		if (i == REFUSALS && old->refusals >= 0)
			rc = fcntl(old->refusals, F_DUPFD_CLOEXEC, 0);
		else
			rc = gs_map_make(&kinds[i]);
		maps[i] = rc < 0 ? -1 : rc;
	}
	if (rc >= 0) {
		what = "the devices can't be put into it";
		rc = fill_nodes(maps[NODES], &wish->nodes);
	}
	if (!rc) {
		what = "who is let in can't be put into it";
		rc = fill_inside(maps[INSIDE], old, wish);
	}
	if (!rc) {
		what = "its settings can't be put into it";
		rc = gs_map_set(maps[SETTINGS], &zero, &s);
	}
	if (!rc) {
		what = "the kernel doesn't take its program";
		write_program(&code, maps);
		prog = rc = gs_code_load(&code, BPF_PROG_TYPE_CGROUP_DEVICE, PROGRAM, words,
					 sizeof(words));
	}
	if (rc >= 0) {
		what = "it can't be attached to the cgroup";
		rc = attach(old, prog);
		if (rc == -EPERM)
			strcpy(words, "another program is attached there that allows none beside it, or "
			       "this isn't allowed; bpftool cgroup show says which");
		if (rc == -EINVAL)
			strcpy(words, "this kernel has no BPF programs for cgroups: CONFIG_CGROUP_BPF");
	}
	if (prog >= 0)
		close(prog);
	close_maps(maps);
	return rc ? fail(what, rc, words) : 0;
}

/* @opened: the cgroup is there, and it is the kernel that gives no answer. */
static int fail_to_find(const char *below, int rc, bool opened)
{
	if (opened)
		return fail("what is attached can't be asked for", rc, rc == -EINVAL ?
			    "this kernel has no BPF programs for cgroups: CONFIG_CGROUP_BPF" : "");
	if (rc == -ENODATA)
		return gs_error(GS_EXIT_FAILURE, "gate", "not changed: no cgroup v2 is mounted: mount "
				"-t cgroup2, or boot with systemd.unified_cgroup_hierarchy=1");
	if (rc == -ENOENT || rc == -ENOTDIR || rc == -EINVAL)
		return gs_error(GS_EXIT_NOT_FOUND, below, "no such cgroup");
	return fail("its cgroup can't be opened", rc, "");
}

int gs_gate_make(const char *below, const struct gs_gate_wish *wish)
{
	const char *name = gs_gate_mode_name(wish->mode);
	struct gs_gate old;
	int rc, lock = gs_gate_lock();

	if (lock < 0)
		return gs_error(GS_EXIT_PERMISSION, "gate", "not changed: its lock can't be taken: %s",
				strerror(-lock));
	rc = find(below, &old);
	if (old.cgroup_fd < 0)
		rc = fail_to_find(below, rc, false);
	else if (rc && rc != -ENOENT && rc != -EPROTO)
		rc = fail_to_find(below, rc, true);
	else
		rc = make(&old, wish);
	/* For who may not ask the kernel: it is a help, and nothing hangs on it. */
	if (!rc)
		fsetxattr(old.cgroup_fd, GS_GATE_MARK, name, strlen(name), 0);
	gs_gate_close(&old);
	close(lock);
	return rc;
}

int gs_gate_remove(const char *below)
{
	union bpf_attr attr;
	struct gs_gate old;
	int rc, lock = gs_gate_lock();

	if (lock < 0)
		return gs_error(GS_EXIT_PERMISSION, "gate", "not changed: its lock can't be taken: %s",
				strerror(-lock));
	rc = find(below, &old);
	if (old.cgroup_fd < 0) {
		rc = fail_to_find(below, rc, false);
	} else if (old.prog_fd >= 0) {
		memset(&attr, 0, sizeof(attr));
		attr.target_fd = (uint32_t)old.cgroup_fd;
		attr.attach_bpf_fd = (uint32_t)old.prog_fd;
		attr.attach_type = BPF_CGROUP_DEVICE;
		rc = gs_bpf(BPF_PROG_DETACH, &attr);
		if (rc)
			rc = fail("it can't be detached", rc, "");
	} else {
		rc = rc == -ENOENT ? 0 : fail_to_find(below, rc, true);
	}
	if (!rc)
		fremovexattr(old.cgroup_fd, GS_GATE_MARK);
	gs_gate_close(&old);
	close(lock);
	return rc;
}

uint32_t gs_gate_why(const struct gs_gate *g, uint64_t cgroup)
{
	uint32_t why = 0;

	return gs_map_get(g->inside, &cgroup, &why) ? 0 : why;
}

int gs_gate_let(const struct gs_gate *g, uint64_t cgroup, uint32_t why, bool in)
{
	uint32_t now = 0, then;
	int rc = gs_map_get(g->inside, &cgroup, &now);

	if (rc && rc != -ENOENT)
		return rc;
	then = in ? now | why : now & ~why;
	if (then == now)
		return 0;
	if (then)
		return gs_map_set(g->inside, &cgroup, &then);
	rc = gs_map_remove(g->inside, &cgroup);
	return rc == -ENOENT ? 0 : rc;
}

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A list of all that are in, since a map that is changed while it is walked begins anew. */
struct ids {
	uint64_t *v;
	size_t n, room;
};

static int list_one(const struct gs_inside *in, void *arg)
{
	struct ids *list = arg;
	uint64_t *more;

	if (list->n == list->room) {
		more = reallocarray(list->v, 2 * list->room + 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->v = more;
		list->room = 2 * list->room + 64;
	}
	list->v[list->n++] = in->cgroup;
	return 0;
}

int gs_gate_only(const struct gs_gate *g, uint32_t why, const uint64_t *cgroups, size_t nr)
{
	struct ids list = { 0 };
	uint64_t *sorted = calloc(nr + 1, sizeof(*sorted));
	size_t i;
	int rc;

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, cgroups, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_ids);
	rc = gs_gate_each_inside(g, list_one, &list);
	for (i = 0; !rc && i < list.n; i++)
		if (!bsearch(&list.v[i], sorted, nr, sizeof(*sorted), compare_ids))
			rc = gs_gate_let(g, list.v[i], why, false);
	for (i = 0; !rc && i < nr; i++)
		rc = gs_gate_let(g, sorted[i], why, true);
	free(list.v);
	free(sorted);
	return rc;
}

int gs_gate_each_inside(const struct gs_gate *g, int (*fn)(const struct gs_inside *in, void *arg),
			void *arg)
{
	struct gs_inside in;
	uint64_t at, *after = NULL;
	int rc;

	while (!(rc = gs_map_next(g->inside, after, &at))) {
		after = &at;
		in = (struct gs_inside){ .cgroup = at };
		rc = gs_map_get(g->inside, &at, &in.why);
		if (rc == -ENOENT)
			continue;
		if (!rc)
			rc = fn(&in, arg);
		if (rc)
			return rc;
	}
	return rc == -ENOENT ? 0 : rc;
}

int gs_gate_each_node(const struct gs_gate *g, int (*fn)(const struct gs_node *n, void *arg),
		      void *arg)
{
	struct node_key at, *after = NULL;
	struct gs_node n;
	uint32_t state;
	int rc;

	while (!(rc = gs_map_next(g->nodes, after, &at))) {
		after = &at;
		rc = gs_map_get(g->nodes, &at, &state);
		if (rc == -ENOENT)
			continue;
		if (rc)
			return rc;
		n = (struct gs_node){ .major = at.major, .minor = at.minor,
				      .open = !(state & NODE_CLOSED), .named = state & NODE_NAMED };
		rc = fn(&n, arg);
		if (rc)
			return rc;
	}
	return rc == -ENOENT ? 0 : rc;
}

struct old_nodes {
	const struct gs_nodes *now;
	struct node_key gone[256];	/* more go the next time */
	unsigned int n;
};

static int find_old(const struct gs_node *n, void *arg)
{
	struct old_nodes *old = arg;
	size_t i;

	for (i = 0; i < old->now->n; i++)
		if (old->now->v[i].major == n->major && old->now->v[i].minor == n->minor)
			return 0;
	if (!n->named && old->n < sizeof(old->gone) / sizeof(*old->gone))
		old->gone[old->n++] = (struct node_key){ n->major, n->minor };
	return 0;
}

/* A driver that was unloaded leaves its number to another one. New ones are closed first. */
int gs_gate_only_nodes(const struct gs_gate *g, const struct gs_nodes *nodes)
{
	struct old_nodes old = { .now = nodes };
	unsigned int i;
	uint32_t state;
	size_t k;
	int rc = 0;

	for (k = 0; !rc && k < nodes->n; k++) {
		struct node_key key = { nodes->v[k].major, nodes->v[k].minor };

		/* What is there is left: it may have been named. */
		rc = gs_map_get(g->nodes, &key, &state);
		if (rc != -ENOENT)
			continue;
		state = nodes->v[k].open ? 0 : NODE_CLOSED;
		rc = gs_map_set(g->nodes, &key, &state);
	}
	if (!rc)
		rc = gs_gate_each_node(g, find_old, &old);
	for (i = 0; !rc && i < old.n; i++)
		gs_map_remove(g->nodes, &old.gone[i]);
	return rc;
}

int gs_gate_refusals(const struct gs_gate *g,
		     int (*fn)(const struct gs_refused_by *by, const struct gs_refusals *r,
			       void *arg), void *arg)
{
	struct gs_refused_by at, *after = NULL;
	struct gs_refusals r;
	unsigned int n;
	int rc;

	/* While others are refused, the map changes and its walk may begin anew. */
	for (n = 0; n < 4 * kinds[REFUSALS].entries; n++) {
		rc = gs_map_next(g->refusals, after, &at);
		if (rc)
			return rc == -ENOENT ? 0 : rc;
		after = &at;
		rc = gs_map_get(g->refusals, &at, &r);
		if (rc == -ENOENT)
			continue;
		r.comm[sizeof(r.comm) - 1] = 0;
		if (!rc)
			rc = fn(&at, &r, arg);
		if (rc)
			return rc;
	}
	return 0;
}

/* A cgroup's handle is its id. -errno, or its directory. */
int gs_cgroup_open(uint64_t id)
{
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = { .head = { .handle_bytes = sizeof(id), .handle_type = 0xfe }, .id = id };
	const char *mount = gs_cgroup_mount();
	int at, fd;

	at = mount ? open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (at < 0)
		return -ENODATA;
	fd = open_by_handle_at(at, &handle.head, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(at);
	return fd;
}

bool gs_cgroup_is_there(uint64_t id)
{
	int fd = gs_cgroup_open(id);

	if (fd >= 0)
		close(fd);
	return fd != -ESTALE && fd != -ENOENT;
}

const char *gs_cgroup_path(uint64_t id, char *path, size_t size)
{
	const char *mount = gs_cgroup_mount();
	char link[64], full[PATH_MAX];
	int fd = gs_cgroup_open(id);
	ssize_t n = -1;

	snprintf(path, size, "cgroup %llu", (unsigned long long)id);
	if (fd < 0)
		return path;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, full, sizeof(full) - 1);
	close(fd);
	full[n > 0 ? n : 0] = 0;
	if (!strcmp(full, mount))
		snprintf(path, size, "/");
	else if (!strncmp(full, mount, strlen(mount)) && full[strlen(mount)] == '/')
		snprintf(path, size, "%s", full + strlen(mount));
	return path;
}
