// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "arena.h"

#define CGROUP2 0x63677270

struct world w;
static char top[200];
static const char *mount_point;

const char *arena_mount(void)
{
	return mount_point;
}

const char *arena_path(const char *name)
{
	static char paths[8][400];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s%s", top, name);
	return path;
}

static int write_file(const char *dir, const char *file, const char *text)
{
	char path[500];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -errno : 0;
}

static bool made_top(void)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	struct statfs fs;
	int i;

	for (i = 0; i < 2; i++) {
		if (statfs(mounts[i], &fs) || fs.f_type != CGROUP2)
			continue;
		mount_point = mounts[i];
		snprintf(top, sizeof(top), "%s/gpushare-hostile-%d", mounts[i], getpid());
		if (!mkdir(top, 0755))
			return !access(arena_path("/cgroup.kill"), W_OK);
	}
	return false;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)f;
	if (type == FTW_DP)
		rmdir(path);
	return 0;
}

static bool top_is_gone(void)
{
	arena_kill_all();
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return access(top, F_OK);
}

static bool others_reach(void)
{
	int status;
	pid_t pid;

	chmod(w.dir, 0755);
	pid = fork();
	if (!pid)
		_exit(setuid(HONEST_UID) || access(w.dir, X_OK) ? 1 : 0);
	waitpid(pid, &status, 0);
	return !status;
}

void arena_set_up(void)
{
	static const char *const system[] = { "--system", NULL };
	struct gpushare_device cpu = {
		.size = sizeof(cpu), .key = DEVICE, .kind = GPUSHARE_KIND_CPU,
	};

	if (geteuid())
		SKIP("needs root, to be several users");
	if (!made_top()) {
		rmdir(top);
		SKIP("no cgroup2 in which cgroups can be made and killed");
	}
	world_make(&w);
	if (!others_reach()) {
		rmdir(top);
		world_remove(&w);
		SKIP("other users can't look into TMPDIR");
	}
	if (w.module) {
		world_start(&w);
		ASSERT_EQ(0, chmod(w.arbiter, 0666));
	} else {
		world_start_with(&w, system);
		ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &cpu));
	}
}

void arena_remove(void)
{
	EXPECT_TRUE(WAIT_FOR(top_is_gone()));
	world_remove(&w);
}

void arena_kill_all(void)
{
	write_file(top, "cgroup.kill", "1");
}

void arena_cgroup(const char *name, uid_t owner)
{
	static const char *const files[] = { "", "/cgroup.procs", "/cgroup.subtree_control" };
	char path[500];
	size_t i;

	ASSERT_TRUE(!mkdir(arena_path(name), 0755) || errno == EEXIST);
	for (i = 0; owner && i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s%s", arena_path(name), files[i]);
		ASSERT_EQ(0, chown(path, owner, owner));
	}
}

int arena_share(const char *name, struct gpushare_share *share)
{
	int err;

	share->size = sizeof(*share);
	share->authority_fd = -1;
	share->cgroup_fd = open(arena_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (share->cgroup_fd < 0)
		return -errno;
	err = world_call(&w, GPUSHARE_SHARE_SET, share);
	close(share->cgroup_fd);
	return err;
}

struct diary *diary_new(void)
{
	void *p = mmap(NULL, sizeof(struct diary), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ASSERT_TRUE(p != MAP_FAILED);
	return p;
}

pid_t descend(const char *cgroup, uid_t uid)
{
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (pid)
		return pid;
	alarm(0);
	if (cgroup && write_file(arena_path(cgroup), "cgroup.procs", "0")) {
		perror(cgroup);
		_exit(10);
	}
	if (uid != geteuid() &&
	    (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		_exit(11);
	prctl(PR_SET_DUMPABLE, 1UL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1UL);
	return 0;
}

int fighter_join(struct fighter *f, struct diary *diary, const char *key, uint64_t group)
{
	struct gpushare_attach at = { .size = sizeof(at), .set_fd = -1, .group = group };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages;
	int err;

	memset(f, 0, sizeof(*f));
	f->diary = diary;
	f->until_ns = GPUSHARE_FOREVER;
	strcpy(at.key, key);
	pages = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return -ENOMEM;
	f->pages = (struct gs_pages){ (void *)pages, (void *)(pages + page), page };
	err = gs_transport_connect(&f->a, w.arbiter, 0);
	if (!err) {
		err = f->a.ops->attach(&f->a, &at, &f->pages, 0);
		if (err)
			gs_transport_drop(&f->a, true);
	}
	if (err)
		munmap(pages, 2 * page);
	f->id = at.client;
	return err;
}

static uint64_t word_of(const struct fighter *f)
{
	return __atomic_load_n(&f->pages.grant->word, __ATOMIC_ACQUIRE);
}

bool fighter_holds(const struct fighter *f)
{
	return f->holds && gs_word_granted(word_of(f), f->back);
}

bool fighter_may_run(const struct fighter *f)
{
	return fighter_holds(f) && !(word_of(f) & GPUSHARE_PREEMPT);
}

/* When its grant was given, 0 if it is gone already. */
static uint64_t granted_at(const struct fighter *f)
{
	const struct gpushare_grant_page *g = f->pages.grant;
	uint64_t at;
	uint32_t seq;

	do {
		while ((seq = __atomic_load_n(&g->seq, __ATOMIC_ACQUIRE)) & 1)
			;
		at = __atomic_load_n(&g->granted_ns, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&g->seq, __ATOMIC_RELAXED) != seq);
	return gs_word_granted(word_of(f), f->back) ? at : 0;
}

static void begin_line(struct fighter *f)
{
	uint64_t at = granted_at(f);

	if (!at)
		return;
	f->holds = true;
	f->line = __atomic_fetch_add(&f->diary->n, 1, __ATOMIC_ACQ_REL);
	if (f->line < DIARY_LINES)
		__atomic_store_n(&f->diary->of[f->line].from, at, __ATOMIC_RELEASE);
}

void fighter_stop(struct fighter *f)
{
	if (f->holds && f->line < DIARY_LINES)
		__atomic_store_n(&f->diary->of[f->line].to, now_ns(), __ATOMIC_RELEASE);
	if (f->holds)
		f->back = gs_epoch(word_of(f));
	f->holds = false;
}

static int ask_wishing(struct fighter *f, bool again)
{
	struct gpushare_wait wait = {
		.size = sizeof(wait), .want_ns = f->want_ns, .until_ns = f->until_ns,
		.flags = again ? GPUSHARE_WAIT_AGAIN : 0,
	};

	return gs_transport_call(&f->a, again ? GPUSHARE_YIELD : GPUSHARE_ACQUIRE, &wait);
}

static int ask_once(struct fighter *f, bool again)
{
	struct gs_asked of = {
		.page = f->pages.grant, .own = f->pages.client, .epoch_back = f->back,
		.lost = &f->lost,
	};
	struct gs_ask ask = { .of = &of, .n = 1, .again = again, .until_ns = f->until_ns };

	return f->want_ns ? ask_wishing(f, again) : f->a.ops->ask(&f->a, &ask);
}

int fighter_ask(struct fighter *f, bool again)
{
	int err;

	fighter_stop(f);
	do {
		err = ask_once(f, again);
		if (!err)
			begin_line(f);
	} while (err == -EINTR || (!err && !f->holds));
	return err;
}

void fighter_yield(struct fighter *f)
{
	struct gs_asked of = { .page = f->pages.grant, .own = f->pages.client, .lost = &f->lost };

	fighter_stop(f);
	of.epoch_back = f->back;
	f->a.ops->yield(&f->a, &of);
}

void fighter_leave(struct fighter *f)
{
	fighter_stop(f);
	gs_transport_drop(&f->a, true);
	munmap(f->pages.grant, 2 * f->pages.length);
}

/* One hold of anybody's. */
struct entry {
	struct hold hold;
	unsigned int whose;
};

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->hold.from < y->hold.from ? -1 : x->hold.from > y->hold.from;
}

static struct entry *read_diaries(struct diary *const *diaries, unsigned int n,
				  unsigned int *found)
{
	unsigned int i, j, lines, all = 0;
	struct entry *e;

	for (i = 0; i < n; i++) {
		lines = __atomic_load_n(&diaries[i]->n, __ATOMIC_ACQUIRE);
		ASSERT_LT(lines, DIARY_LINES);
		all += lines;
	}
	e = calloc(all + 1, sizeof(*e));
	ASSERT_TRUE(e);
	for (*found = 0, i = 0; i < n; i++) {
		lines = __atomic_load_n(&diaries[i]->n, __ATOMIC_ACQUIRE);
		for (j = 0; j < lines && *found < all; j++) {
			uint64_t from = __atomic_load_n(&diaries[i]->of[j].from, __ATOMIC_ACQUIRE);
			uint64_t to = __atomic_load_n(&diaries[i]->of[j].to, __ATOMIC_ACQUIRE);

			if (from)
				e[(*found)++] = (struct entry){ { from, to }, i };
		}
	}
	qsort(e, *found, sizeof(*e), by_time);
	return e;
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct score score(struct diary *const *diaries, unsigned int n, unsigned int whose,
		   uint64_t from, uint64_t to)
{
	struct score s = { .from = from, .to = to };
	uint64_t first = 0, last = 0, next, a, b;
	unsigned int i, found;
	struct entry *e;

	e = read_diaries(diaries, n, &found);
	for (i = 1; i < found; i++) {
		if (e[i].whose != whose || e[i - 1].whose == whose || e[i].hold.from < from ||
		    e[i].hold.from > to)
			continue;
		last = e[i].hold.from;
		first = first ? first : last;
	}
	/* Most of the time must be in it, or it isn't what was to be measured. */
	if (last - first > (to - from) / 2) {
		s.from = first;
		s.to = last;
	}
	for (i = 0; i < found; i++) {
		next = i + 1 < found ? e[i + 1].hold.from : to;
		a = max_of(e[i].hold.from, s.from);
		b = min_of(next, s.to);
		if (b > a)
			s.held[e[i].whose] += b - a;
		if (b > a && i + 1 < found && e[i + 1].whose != e[i].whose)
			s.lost[e[i].whose] += !e[i].hold.to || e[i].hold.to > next;
		a = max_of(e[i].hold.to ? e[i].hold.to : next, s.from);
		if (b > a)
			s.between += b - a;
	}
	free(e);
	return s;
}
