// SPDX-License-Identifier: MIT
/*
 * The system's daemon among users who trust each other in nothing: whose programs they
 * are, what each of them has, and what is left of one that has gone. What the same is in
 * the module, tests/kselftest/tenants.c says.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "harness.h"
#include "world.h"

#define ONE 65521
#define TWO 65522

static struct world w;
static char top[256];		/* a cgroup of our own, or "" */

static bool reachable(void)
{
	int status;
	pid_t pid;

	chmod(w.dir, 0755);
	pid = fork();
	if (!pid)
		_exit(setuid(ONE) || access(w.dir, X_OK) ? 1 : 0);
	waitpid(pid, &status, 0);
	return !status;
}

static void find_top(void)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	struct statfs fs;
	int i;

	for (i = 0; i < 2; i++) {
		if (statfs(mounts[i], &fs) || fs.f_type != 0x63677270)
			continue;
		snprintf(top, sizeof(top), "%s/gpushare-users-%d", mounts[i], getpid());
		if (!mkdir(top, 0755))
			return;
	}
	top[0] = 0;
}

static void set_up(void)
{
	static const char *const more[] = { "--system", NULL };
	struct gpushare_device dev = {
		.size = sizeof(dev), .key = "cpu:0", .kind = GPUSHARE_KIND_CPU,
	};

	if (geteuid())
		SKIP("needs root");
	world_make(&w);
	ONLY_DAEMON(&w, "socket for everybody");
	if (!reachable()) {
		world_remove(&w);
		SKIP("other users can't look into TMPDIR");
	}
	world_start_with(&w, more);
	ASSERT_EQ(0, world_call(&w, GPUSHARE_DEVICE_ADD, &dev));
}

static void set_up_cgroup(void)
{
	set_up();
	find_top();
	if (!top[0]) {
		world_remove(&w);
		SKIP("no cgroup2 in which this user may make a cgroup");
	}
}

static int make_cgroup(const char *name)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s%s", top, name);
	ASSERT_TRUE(!mkdir(path, 0755) || errno == EEXIST);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	return fd;
}

static void remove_cgroup(const char *name)
{
	char path[400];

	snprintf(path, sizeof(path), "%s%s", top, name);
	EXPECT_TRUE(WAIT_FOR(!rmdir(path) || errno == ENOENT));
}

static void delegate(const char *name, uid_t uid)
{
	char path[400];

	snprintf(path, sizeof(path), "%s%s/cgroup.subtree_control", top, name);
	ASSERT_EQ(0, chown(path, uid, uid));
}

static void move_into(const char *name, pid_t pid)
{
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", top, name);
	f = fopen(path, "w");
	ASSERT_TRUE(f);
	fprintf(f, "%d\n", pid);
	ASSERT_EQ(0, fclose(f));
}

static uint64_t id_of(int fd)
{
	struct stat st;

	ASSERT_EQ(0, fstat(fd, &st));
	return st.st_ino;
}

static int set_cgroup(int fd, uint32_t weight, struct gpushare_share *s)
{
	*s = (struct gpushare_share){
		.size = sizeof(*s), .cgroup_fd = fd, .authority_fd = -1, .weight = weight,
		.mask = weight ? GPUSHARE_SHARE_WEIGHT : 0,
		.reset = weight ? 0 : GPUSHARE_SHARE_ALL,
	};
	return world_call(&w, GPUSHARE_SHARE_SET, s);
}

/* Runs it as another user; what it checks counts. */
static void as_user(uid_t uid, void (*what)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (setgid(uid) || setuid(uid))
			_exit(9);
		what();
		_exit(test_failures ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

/* The part of @group that is @tenant's, or 0. */
static uint64_t part_of(uint64_t group, uint32_t kind, uint64_t tenant)
{
	struct gpushare_share s;
	uint64_t id;

	for (id = GPUSHARE_PART_FIRST - 1; ; id = s.group) {
		s = (struct gpushare_share){
			.size = sizeof(s), .group = id, .flags = GPUSHARE_GET_NEXT,
			.cgroup_fd = -1, .authority_fd = -1,
		};
		if (world_call(&w, GPUSHARE_SHARE_GET, &s))
			return 0;
		if (s.parent == group && s.kind == kind && s.tenant == tenant)
			return s.group;
	}
}

static uint64_t users_part(uint64_t group, uid_t uid)
{
	return part_of(group, GPUSHARE_GROUP_USER, uid);
}

static struct gpushare_stats client_of(pid_t pid)
{
	return stats_of(&w, GPUSHARE_STATS_CLIENT, tenant_client(&w, pid));
}

static struct gpushare_share part_with(pid_t pid)
{
	struct gpushare_share s;

	EXPECT_EQ(0, share_get(&w, client_of(pid).part, &s));
	return s;
}

static uint64_t usage(uint32_t what, uint64_t id)
{
	return stats_of(&w, what, id).usage_ns;
}

/* What a group has of 1000 in some seconds; tried again where the machine is busy. */
static bool comes_to(uint64_t group, unsigned int least, unsigned int most)
{
	uint32_t device = world_device(&w, "cpu:0").device;
	uint64_t all, own, had = 0;
	int i;

	for (i = 0; i < 5; i++) {
		all = usage(GPUSHARE_STATS_DEVICE, device);
		own = usage(GPUSHARE_STATS_GROUP, group);
		sleep_ns(3 * SEC);
		own = usage(GPUSHARE_STATS_GROUP, group) - own;
		all = usage(GPUSHARE_STATS_DEVICE, device) - all;
		had = own * 1000 / (all + 1);
		printf("# had %" PRIu64 " of 1000, %u to %u are due\n", had, least, most);
		if (had >= least && had <= most)
			return true;
	}
	return false;
}

static pid_t busy(uid_t uid, const char *group)
{
	struct tenant t = { .slice_ns = MS, .uid = uid, .group = group };
	pid_t pid = tenant_start(&w, &t);

	EXPECT_TRUE(tenant_client(&w, pid));
	return pid;
}

TEST_LIMIT(a_users_clients_stand_in_its_part, 240)
{
	struct gpushare_share part, root;
	pid_t a, b, c;

	set_up();
	a = busy(ONE, NULL);
	b = busy(ONE, NULL);
	c = busy(TWO, NULL);
	part = part_with(a);
	EXPECT_EQ(part.group, part_with(b).group);
	EXPECT_NE(part.group, part_with(c).group);
	EXPECT_EQ(GPUSHARE_GROUP_USER, part.kind);
	EXPECT_EQ(ONE, part.tenant);
	EXPECT_EQ(2, part.clients);
	EXPECT_EQ(1, part.parent);
	EXPECT_EQ(1, client_of(a).group);
	EXPECT_STREQ("/", part.path);
	EXPECT_EQ(500, part.entitled_permille);
	EXPECT_EQ(0, share_get(&w, 1, &root));
	EXPECT_EQ(GPUSHARE_GROUP_CGROUP, root.kind);
	EXPECT_EQ(3, root.clients);
	/* It can't be given anything. */
	part.mask = GPUSHARE_SHARE_WEIGHT;
	EXPECT_EQ(-EINVAL, world_call(&w, GPUSHARE_SHARE_SET, &part));
	tenant_stop(c);
	/* It is divided by who is there; and who has gone and owes nothing is forgotten. */
	EXPECT_TRUE(WAIT_FOR(part_with(a).entitled_permille == 1000));
	tenant_stop(a);
	tenant_stop(b);
	/* Who was ahead when all left is forgiven after a minute, as nobody runs. */
	EXPECT_TRUE(WAIT_FOR(!users_part(1, ONE) && !users_part(1, TWO)) ||
		    WAIT_FOR(!users_part(1, ONE) && !users_part(1, TWO)));
	world_remove(&w);
}

/* In namespaces as they were asked for: first as root, then as the user. */
static pid_t contained(uid_t uid, int first, int second)
{
	struct tenant t = { .slice_ns = MS };
	pid_t pid = fork(), inner = 0;

	if (pid)
		return pid;
	if (first && unshare(first))
		_exit(7);
	if (first & CLONE_NEWPID)
		inner = fork();
	if (!inner) {
		if (uid && (setgid(uid) || setuid(uid)))
			_exit(8);
		if (second && unshare(second))
			_exit(7);
		if (second & CLONE_NEWPID)
			inner = fork();
	}
	if (!inner) {
		pid = tenant_start(&w, &t);
		inner = pid;
	}
	waitpid(inner, NULL, 0);
	_exit(0);
}

/* The one client that isn't @other's. */
static struct gpushare_stats client_but(uint64_t other)
{
	struct gpushare_stats s = { .id = 0 };
	uint64_t id = 0;

	for (;;) {
		s = (struct gpushare_stats){
			.size = sizeof(s), .what = GPUSHARE_STATS_CLIENT, .id = id,
			.flags = GPUSHARE_GET_NEXT,
		};
		if (world_call(&w, GPUSHARE_STATS, &s))
			return (struct gpushare_stats){ .id = 0 };
		if (s.id != other)
			return s;
		id = s.id;
	}
}

TEST(whose_they_are_is_no_choice_of_theirs)
{
	static const struct {
		uid_t uid;
		int first, second;
		bool contained;
	} who[] = {
		{ ONE, 0, CLONE_NEWUSER, false },
		{ ONE, 0, CLONE_NEWUSER | CLONE_NEWPID, false },
		{ ONE, 0, CLONE_NEWUSER | CLONE_NEWCGROUP, false },
		{ ONE, CLONE_NEWCGROUP, 0, false },
		{ ONE, CLONE_NEWPID, 0, true },
		{ 0, CLONE_NEWPID, 0, true },
		{ TWO, CLONE_NEWPID | CLONE_NEWCGROUP, CLONE_NEWUSER | CLONE_NEWPID, true },
	};
	struct gpushare_stats there;
	struct gpushare_share part;
	uint64_t own, id;
	pid_t pid, t;
	int i;

	set_up();
	t = fork();
	if (!t)
		_exit(setuid(ONE) || unshare(CLONE_NEWUSER) || unshare(CLONE_NEWPID));
	waitpid(t, &i, 0);
	if (i) {
		world_remove(&w);
		SKIP("users can't make namespaces here");
	}
	pid = busy(ONE, NULL);
	id = tenant_client(&w, pid);
	own = part_with(pid).group;
	for (i = 0; i < (int)(sizeof(who) / sizeof(*who)); i++) {
		t = contained(who[i].uid, who[i].first, who[i].second);
		ASSERT_TRUE(WAIT_FOR((there = client_but(id)).id));
		EXPECT_EQ(0, share_get(&w, there.part, &part));
		if (who[i].contained) {
			EXPECT_EQ(GPUSHARE_GROUP_CONTAINER, part.kind);
			EXPECT_NE(0, part.tenant);
		} else {
			EXPECT_EQ(own, there.part);
		}
		kill(there.pid, SIGKILL);
		waitpid(t, NULL, 0);
		EXPECT_TRUE(WAIT_FOR(!client_but(id).id));
	}
	tenant_stop(pid);
	world_remove(&w);
}

/* Six connections against one, beside a group with a share. */
TEST(many_clients_gain_nothing)
{
	struct gpushare_share s;
	pid_t pid[8];
	int i, a;

	set_up_cgroup();
	a = make_cgroup("/a");
	EXPECT_EQ(0, set_cgroup(a, 100, &s));
	pid[0] = busy(ONE, NULL);
	pid[1] = busy(TWO, NULL);
	move_into("/a", pid[1]);
	EXPECT_TRUE(WAIT_FOR(client_of(pid[1]).group == id_of(a)));
	for (i = 2; i < 8; i++)
		pid[i] = busy(TWO, NULL);
	EXPECT_TRUE(comes_to(users_part(1, ONE), 290, 380));	/* of eight it would be 111 */
	EXPECT_TRUE(comes_to(id_of(a), 290, 380));
	for (i = 0; i < 8; i++)
		tenant_stop(pid[i]);
	close(a);
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

/* Keeps the device for long, leaves, and comes back. */
static void be_born_again(void)
{
	struct gpushare *g;

	for (;;) {
		g = open_one("cpu:0");
		if (gpushare_begin(g, GPUSHARE_FOREVER))
			_exit(1);
		sleep_ns(60 * MS);
		gpushare_close(g);
	}
}

TEST(who_leaves_and_comes_back_still_owes)
{
	pid_t honest, other;

	set_up();
	honest = busy(ONE, NULL);
	other = fork();
	if (!other) {
		if (setuid(TWO))
			_exit(9);
		be_born_again();
	}
	EXPECT_TRUE(WAIT_FOR(users_part(1, TWO)));
	EXPECT_TRUE(comes_to(users_part(1, ONE), 450, 1000));
	tenant_stop(other);
	tenant_stop(honest);
	world_remove(&w);
}

static void set_all_they_can(void)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_MIN, .min_permille = 900 };

	EXPECT_EQ(-EBUSY, group_set(&w, "greedy", &s));
	EXPECT_EQ(0, s.min_free);
	s.mask = GPUSHARE_SHARE_WEIGHT | GPUSHARE_SHARE_CLASS;
	s.weight = 10000;
	s.class = GPUSHARE_CLASS_LATENCY;
	EXPECT_EQ(0, group_set(&w, "greedy", &s));
	EXPECT_EQ(GPUSHARE_GROUP_NAMED, s.kind);
	EXPECT_EQ(TWO, s.tenant);
	EXPECT_LE(GPUSHARE_PART_FIRST, s.parent);
	EXPECT_LE(s.parent, GPUSHARE_NAMED_FIRST);
	s = (struct gpushare_share){ .mask = GPUSHARE_SHARE_WEIGHT, .weight = 1 };
	EXPECT_EQ(0, group_set(&w, "meek", &s));
}

/* What a user sets divides what that user has. */
TEST(named_groups_divide_what_their_user_has)
{
	struct gpushare_share s;
	pid_t pid[3];
	int i;

	set_up();
	as_user(TWO, set_all_they_can);
	pid[0] = busy(ONE, NULL);
	pid[1] = busy(TWO, "greedy");
	pid[2] = busy(TWO, "meek");
	EXPECT_EQ(0, share_get(&w, client_of(pid[1]).group, &s));
	EXPECT_STREQ("greedy", s.path);
	EXPECT_TRUE(comes_to(users_part(1, ONE), 450, 550));
	EXPECT_TRUE(comes_to(client_of(pid[1]).group, 400, 550));
	for (i = 0; i < 3; i++)
		tenant_stop(pid[i]);
	world_remove(&w);
}

static int given;

static void divide(void)
{
	struct gpushare_share s;

	EXPECT_EQ(0, set_cgroup(given, 10000, &s));
	s = (struct gpushare_share){
		.size = sizeof(s), .cgroup_fd = given, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_MIN, .min_permille = 10,
	};
	EXPECT_EQ(-EBUSY, world_call(&w, GPUSHARE_SHARE_SET, &s));
	EXPECT_EQ(0, s.min_free);
}

static struct gpushare_share share_of(int fd)
{
	struct gpushare_share s;

	EXPECT_EQ(0, share_get(&w, id_of(fd), &s));
	return s;
}

/* /home is delegated, and has no share yet. */
TEST(delegated_cgroups_divide_what_their_user_has)
{
	struct gpushare_share s;
	pid_t in, out;
	int home;

	set_up_cgroup();
	home = make_cgroup("/home");
	given = make_cgroup("/home/sub");
	delegate("/home", ONE);
	as_user(ONE, divide);
	in = busy(ONE, NULL);
	move_into("/home/sub", in);
	EXPECT_TRUE(WAIT_FOR(client_of(in).group == id_of(given)));
	EXPECT_EQ(0, client_of(in).part);	/* all of it is that user's */
	out = busy(TWO, NULL);
	EXPECT_EQ(users_part(1, ONE), share_of(given).parent);
	EXPECT_EQ(500, share_of(given).entitled_permille);
	/* It survives. */
	world_stop(&w, SIGKILL);
	world_start_with(&w, (const char *const []){ "--system", NULL });
	EXPECT_EQ(10000, share_of(given).weight);
	EXPECT_EQ(users_part(1, ONE), share_of(given).parent);
	/* A share for what it has, and that is what it divides. */
	EXPECT_EQ(0, set_cgroup(home, 200, &s));
	EXPECT_EQ(users_part(id_of(home), ONE), share_of(given).parent);
	/* What an administrator sets is the administrator's. */
	EXPECT_EQ(0, set_cgroup(given, 50, &s));
	EXPECT_EQ(id_of(home), share_of(given).parent);
	EXPECT_EQ(0, set_cgroup(home, 0, &s));
	EXPECT_EQ(1, share_of(given).parent);
	tenant_stop(in);
	tenant_stop(out);
	close(home);
	close(given);
	remove_cgroup("/home/sub");
	remove_cgroup("/home");
	remove_cgroup("");
	world_remove(&w);
}

static uint64_t team;

/* Of a process in a cgroup, as a user: makes the group, and stays in it. */
static pid_t in_team(const char *cgroup)
{
	struct gpushare_share s = { .mask = GPUSHARE_SHARE_WEIGHT, .weight = 10000 };
	struct tenant t = { .slice_ns = MS, .group = "team" };
	pid_t pid = fork();

	if (!pid) {
		move_into(cgroup, getpid());
		if (setgid(ONE) || setuid(ONE))
			_exit(9);
		EXPECT_EQ(0, group_set(&w, "team", &s));
		pid = tenant_start(&w, &t);
		_exit(test_failures || waitpid(pid, NULL, 0) != pid);
	}
	return pid;
}

static void join_team(void)
{
	struct gpushare_attach at = {
		.size = sizeof(at), .key = "cpu:0", .set_fd = -1, .group = team,
	};
	struct gpushare_group g = { .size = sizeof(g), .name = "team" };
	struct gpushare_share s;

	EXPECT_EQ(-EPERM, world_call(&w, GPUSHARE_ATTACH, &at));
	EXPECT_EQ(0, world_call(&w, GPUSHARE_GROUP, &g));
	EXPECT_NE(team, g.group);
	EXPECT_EQ(0, share_get(&w, team, &s));	/* its user may look at it all the same */
}

/* A cap on the cgroup holds for what was named there before, and nobody else gets in. */
TEST(named_groups_follow_their_cgroup)
{
	struct gpushare_share s;
	pid_t pid;
	int a;

	set_up_cgroup();
	a = make_cgroup("/a");
	pid = in_team("/a");
	ASSERT_TRUE(WAIT_FOR(client_but(0).id));
	team = client_but(0).group;
	EXPECT_LE(GPUSHARE_NAMED_FIRST, team);
	EXPECT_EQ(0, share_get(&w, team, &s));
	EXPECT_EQ(users_part(1, ONE), s.parent);
	s = (struct gpushare_share){
		.size = sizeof(s), .cgroup_fd = a, .authority_fd = -1,
		.mask = GPUSHARE_SHARE_MAX, .max_us = 10000, .period_us = 100000,
	};
	EXPECT_EQ(0, world_call(&w, GPUSHARE_SHARE_SET, &s));
	EXPECT_EQ(0, share_get(&w, team, &s));
	EXPECT_EQ(users_part(id_of(a), ONE), s.parent);
	EXPECT_EQ(10000, s.weight);
	EXPECT_EQ(team, client_but(0).group);
	EXPECT_EQ(0, users_part(1, ONE));
	as_user(ONE, join_team);
	/* Who is moved out of the cgroup has left the group. */
	move_into("", client_but(0).pid);
	EXPECT_TRUE(WAIT_FOR(client_but(0).group == 1));
	EXPECT_EQ(users_part(1, ONE), client_but(0).part);
	EXPECT_EQ(0, set_cgroup(a, 0, &s));
	EXPECT_EQ(0, share_get(&w, team, &s));
	EXPECT_EQ(users_part(1, ONE), s.parent);
	kill(client_but(0).pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(a);
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

TEST(a_share_that_goes_leaves_parts_where_they_belong)
{
	struct gpushare_share s, part;
	pid_t up, both, alone;
	uint64_t was;
	int a;

	set_up_cgroup();
	a = make_cgroup("/a");
	EXPECT_EQ(0, set_cgroup(a, 100, &s));
	up = busy(ONE, NULL);
	both = busy(ONE, NULL);
	alone = busy(TWO, NULL);
	move_into("/a", both);
	move_into("/a", alone);
	EXPECT_TRUE(WAIT_FOR(client_of(both).group == id_of(a) &&
			     client_of(alone).group == id_of(a)));
	EXPECT_TRUE(WAIT_FOR(!users_part(1, TWO)));
	was = client_of(alone).part;
	EXPECT_EQ(0, set_cgroup(a, 0, &s));
	EXPECT_EQ(part_with(up).group, part_with(both).group);
	part = part_with(alone);
	EXPECT_EQ(was, part.group);			/* as it is, with what it owes */
	EXPECT_EQ(1, part.parent);
	EXPECT_STREQ("/", part.path);
	tenant_stop(up);
	tenant_stop(both);
	tenant_stop(alone);
	close(a);
	remove_cgroup("/a");
	remove_cgroup("");
	world_remove(&w);
}

/* Uid 0 still, and no admin: as a container's root is. */
static bool drop_sys_admin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &head, caps))
		return false;
	caps[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective &= ~CAP_TO_MASK(CAP_SYS_ADMIN);
	caps[CAP_TO_INDEX(CAP_SYS_ADMIN)].permitted &= ~CAP_TO_MASK(CAP_SYS_ADMIN);
	return !syscall(SYS_capset, &head, caps);
}

/* As many connections as a user in a cgroup gets, who holds them until it is killed. */
static pid_t take_all(const char *cgroup, uid_t uid, unsigned int *got)
{
	struct gpushare_version v;
	unsigned int n = 0, i;
	struct gs_transport *a;
	pid_t pid;
	int back[2];

	ASSERT_EQ(0, pipe(back));
	pid = fork();
	if (!pid) {
		if (cgroup)
			move_into(cgroup, getpid());
		if (uid ? setgid(65534) || setuid(uid) : !drop_sys_admin())
			_exit(9);
		for (i = 0; i < 80; i++) {
			v = (struct gpushare_version){ .size = sizeof(v) };
			if (gs_transport_open(w.arbiter, 0, &a))
				break;
			/* The one that is too many is let in, and told. */
			if (gs_transport_call(a, GPUSHARE_VERSION, &v))
				break;
			n++;
		}
		if (write(back[1], &n, sizeof(n)) != sizeof(n))
			_exit(1);
		for (;;)
			pause();
	}
	close(back[1]);
	ASSERT_EQ((ssize_t)sizeof(*got), read(back[0], got, sizeof(*got)));
	close(back[0]);
	return pid;
}

/* There are 68 connections: 8 are for admins, 60 for all others. */
static void make_scarce(void)
{
	static const char *const more[] = { "--system", NULL };
	struct rlimit files = { 427, 427 };

	world_stop(&w, SIGTERM);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	world_start_with(&w, more);
}

/* Users, however many, leave room for others and for root. */
TEST(room_for_others)
{
	struct gpushare_version v = { .size = sizeof(v) };
	unsigned int got[6], sum = 0, i;
	pid_t pid[6];

	set_up();
	make_scarce();
	for (i = 0; i < 6; i++) {
		pid[i] = take_all(NULL, i ? 65520 + i : 0, &got[i]);
		sum += got[i];
	}
	EXPECT_LE(got[0], 17);	/* a quarter */
	EXPECT_LE(got[1], 17);
	EXPECT_LE(sum, 60);
	EXPECT_GE(sum, 20);	/* less where the test's own cgroup is deep */
	EXPECT_EQ(0, world_call(&w, GPUSHARE_VERSION, &v));
	for (i = 0; i < 6; i++)
		tenant_stop(pid[i]);
	world_remove(&w);
}

/*
 * Whoever can be many users leaves room for who is elsewhere: of the 60 the cgroup of the
 * first level may have 45, and each below it 34, or less as others have some.
 */
TEST(room_for_other_cgroups)
{
	unsigned int got[8], sum = 0, i;
	pid_t pid[8];

	set_up_cgroup();
	close(make_cgroup("/a"));
	close(make_cgroup("/b"));
	make_scarce();
	for (i = 0; i < 6; i++) {
		pid[i] = take_all("/a", 65520 + i, &got[i]);
		sum += got[i];
	}
	EXPECT_EQ(17, got[0]);
	EXPECT_LE(sum, 36);
	pid[6] = take_all("/b", 65530, &got[6]);
	EXPECT_GE(got[6], 5);
	pid[7] = take_all("/a", 65531, &got[7]);
	EXPECT_EQ(0, got[7]);
	printf("# %u in one cgroup, then %u in another\n", sum, got[6]);
	/* What is given back is there again. */
	for (i = 0; i < 8; i++)
		tenant_stop(pid[i]);
	EXPECT_TRUE(WAIT_FOR(({
		pid[0] = take_all("/b", 65520, &got[0]);
		tenant_stop(pid[0]);
		got[0] == 17;
	})));
	remove_cgroup("/a");
	remove_cgroup("/b");
	remove_cgroup("");
	world_remove(&w);
}

TEST_MAIN()
