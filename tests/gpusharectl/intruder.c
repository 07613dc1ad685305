// SPDX-License-Identifier: MIT
/*
 * Ways round the gate, from inside of a cgroup that isn't let in. Linked statically: no
 * wrapper comes before it, and its calls are its own.
 *
 *	intruder WAY NODE [FOLDER]
 *
 * NODE is a device's node, FOLDER is for files. It exits with 0 if it got in, 1 if that was
 * refused with EPERM, 4 if this way isn't there on this machine, 2 if anything else failed.
 * The ways of those who hold print "ready" and wait to be killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN, REFUSED, FAILED, ABSENT = 4 };

static const char *node, *folder;

static int absent(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return ABSENT;
}

static int verdict(int fd)
{
	if (fd >= 0)
		return IN;
	if (errno == EPERM)
		return REFUSED;
	perror(node);
	return FAILED;
}

static int plain(void)
{
	return verdict(open(node, O_RDONLY));
}

static int for_writing(void)
{
	return verdict(open(node, O_RDWR));
}

static int own_call(void)
{
	long fd;

	/* no library between this and the kernel */
	__asm__ volatile ("syscall" : "=a" (fd) : "0" ((long)SYS_openat), "D" ((long)AT_FDCWD),
			  "S" (node), "d" ((long)O_RDONLY) : "rcx", "r11", "memory");
	errno = fd < 0 ? (int)-fd : 0;
	return verdict(fd < 0 ? -1 : (int)fd);
}

static int openat2_call(void)
{
	struct open_how how = { .flags = O_RDONLY };

	return verdict((int)syscall(SYS_openat2, AT_FDCWD, node, &how, sizeof(how)));
}

static int uring(void)
{
	struct io_uring_params p = { 0 };
	unsigned int *array, *tail;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	char *sq, *cq;
	int fd = (int)syscall(SYS_io_uring_setup, 1, &p);

	if (fd < 0)
		return absent("io_uring");
	sq = mmap(NULL, p.sq_off.array + 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  IORING_OFF_CQ_RING);
	sqes = mmap(NULL, sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		return absent("io_uring's rings");
	memset(sqes, 0, sizeof(*sqes));
	sqes->opcode = IORING_OP_OPENAT;
	sqes->flags = IOSQE_ASYNC;	/* by a worker of the kernel's, not by this task */
	sqes->fd = AT_FDCWD;
	sqes->addr = (uint64_t)(uintptr_t)node;
	sqes->open_flags = O_RDONLY;
	array = (unsigned int *)(sq + p.sq_off.array);
	tail = (unsigned int *)(sq + p.sq_off.tail);
	array[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return absent("io_uring_enter");
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	errno = cqes->res < 0 ? -cqes->res : 0;
	return verdict(cqes->res < 0 ? -1 : cqes->res);
}

static int by_link(void)
{
	char name[512];

	snprintf(name, sizeof(name), "%s/link", folder);
	if (symlink(node, name))
		return absent(name);
	return verdict(open(name, O_RDONLY));
}

/* A node of the same number, elsewhere. */
static int own_node(void)
{
	char name[512];
	struct stat st;

	snprintf(name, sizeof(name), "%s/made", folder);
	if (stat(node, &st) || mknod(name, S_IFCHR | 0600, st.st_rdev))
		return absent(name);
	return verdict(open(name, O_RDONLY));
}

static int bound(void)
{
	char name[512];
	int fd;

	snprintf(name, sizeof(name), "%s/bound", folder);
	fd = open(name, O_CREAT | O_RDWR, 0600);
	if (fd < 0 || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(node, name, NULL, MS_BIND, NULL))
		return absent("bind mount");
	return verdict(open(name, O_RDONLY));
}

static int by_path_fd(void)
{
	char name[64];
	int fd = open(node, O_PATH);

	if (fd < 0)
		return verdict(fd);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return verdict(open(name, O_RDONLY));
}

static int by_others_root(void)
{
	char name[512];

	snprintf(name, sizeof(name), "/proc/1/root%s", node);
	if (access("/proc/1/root/", X_OK))
		return absent(name);
	return verdict(open(name, O_RDONLY));
}

static int by_handle(void)
{
	struct {
		struct file_handle head;
		char room[128];
	} h = { .head.handle_bytes = 128 };
	int id, at = open("/dev", O_RDONLY | O_DIRECTORY);

	if (name_to_handle_at(AT_FDCWD, node, &h.head, &id, 0))
		return absent("name_to_handle_at");
	return verdict(open_by_handle_at(at, &h.head, O_RDONLY));
}

static int user_ns(void)
{
	uid_t uid = geteuid();
	char map[64];
	int fd;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return absent("user name space");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	fd = open("/proc/self/uid_map", O_WRONLY);
	if (fd < 0 || write(fd, map, strlen(map)) < 0)
		return absent("uid_map");
	return verdict(open(node, O_RDONLY));
}

static int cgroup_ns(void)
{
	return unshare(CLONE_NEWCGROUP) ? absent("cgroup name space") : plain();
}

static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	return pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) ? FAILED :
		WEXITSTATUS(status);
}

static int pid_ns(void)
{
	return unshare(CLONE_NEWPID) ? absent("pid name space") : in_child(plain);
}

static int all_ns(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWUTS |
		    CLONE_NEWNET))
		return absent("name spaces");
	return in_child(plain);
}

static int chrooted(void)
{
	char name[512];
	struct stat st;

	snprintf(name, sizeof(name), "%s/dev", folder);
	mkdir(name, 0755);
	snprintf(name, sizeof(name), "%s/dev/gpu", folder);
	if (stat(node, &st) || mknod(name, S_IFCHR | 0666, st.st_rdev) || chroot(folder))
		return absent("chroot");
	return verdict(open("/dev/gpu", O_RDONLY));
}

static int another_user(void)
{
	char name[512];
	struct stat st;

	snprintf(name, sizeof(name), "%s/all", folder);
	umask(0);
	if (stat(node, &st) || mknod(name, S_IFCHR | 0666, st.st_rdev) || chmod(folder, 0755) ||
	    setgid(65534) || setuid(65534))
		return absent("another user");
	return verdict(open(name, O_RDONLY));
}

/* The cgroup's directory is in the environment. */
static const char *cgroup(void)
{
	const char *dir = getenv("CGROUP");

	return dir ? dir : "/nowhere";
}

static int move_to(const char *dir)
{
	char name[600];
	int fd, rc;

	snprintf(name, sizeof(name), "%s/cgroup.procs", dir);
	fd = open(name, O_WRONLY);
	rc = fd < 0 || write(fd, "0", 1) != 1 ? -1 : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int cgroup_below(void)
{
	char name[512];

	snprintf(name, sizeof(name), "%s/below", cgroup());
	if ((mkdir(name, 0755) && errno != EEXIST) || move_to(name))
		return absent(name);
	return plain();
}

/* As a user: into a cgroup that is let in, which isn't its own. */
static int into_another(void)
{
	const char *in = getenv("INSIDE");

	if (!in || setgid(65534) || setuid(65534))
		return absent("another user");
	if (!move_to(in))
		return IN;
	return errno == EACCES || errno == EPERM ? REFUSED : absent(in);
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* A program of its own below, that allows all, as a container's runtime may have it. */
static int own_program(void)
{
	struct bpf_insn all[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	static const unsigned int flags[] = { BPF_F_ALLOW_MULTI, BPF_F_ALLOW_OVERRIDE, 0 };
	union bpf_attr attr;
	char name[512];
	int prog, dir, done;
	unsigned int i;

	snprintf(name, sizeof(name), "%s/program", cgroup());
	if ((mkdir(name, 0755) && errno != EEXIST) || move_to(name))
		return absent(name);
	dir = open(name, O_RDONLY | O_DIRECTORY);
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uint64_t)(uintptr_t)all;
	attr.insn_cnt = 2;
	attr.license = (uint64_t)(uintptr_t)"MIT";
	prog = bpf(BPF_PROG_LOAD, &attr);
	for (i = done = 0; prog >= 0 && i < 3; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.target_fd = (uint32_t)dir;
		attr.attach_bpf_fd = (uint32_t)prog;
		attr.attach_type = BPF_CGROUP_DEVICE;
		attr.attach_flags = flags[i];
		if (bpf(BPF_PROG_ATTACH, &attr))
			continue;
		done++;
		if (plain() == IN)
			return IN;
		bpf(BPF_PROG_DETACH, &attr);
	}
	return done ? plain() : absent("a program of its own");
}

/* A descriptor of a process that was let in: its number is in the environment. */
static int of_another(void)
{
	int pid = atoi(getenv("HOLDER") ? getenv("HOLDER") : "0");
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	char name[64], link[512];
	int fd, n;

	for (n = 3; pidfd >= 0 && n < 64; n++) {
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, n);
		memset(link, 0, sizeof(link));
		if (readlink(name, link, sizeof(link) - 1) < 0 || strcmp(link, node))
			continue;
		/* to open it anew is refused; to take it isn't seen, and is listed */
		if (open(name, O_RDONLY) >= 0 || errno != EPERM)
			return FAILED;
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, n, 0);
		return fd < 0 ? absent("pidfd_getfd") : IN;
	}
	return absent("no holder");
}

/* Those who hold. */
static int in_unix_socket(void)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	struct iovec v = { "x", 1 };
	char byte;
	struct iovec to = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	int fd = open(node, O_RDONLY), pair[2];

	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return verdict(-1);
	memset(&u, 0, sizeof(u));
	u.head.cmsg_level = SOL_SOCKET;
	u.head.cmsg_type = SCM_RIGHTS;
	u.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&u.head), &fd, sizeof(fd));
	if (sendmsg(pair[0], &m, 0) < 0)
		return FAILED;
	close(fd);
	m.msg_iov = &to;
	m.msg_controllen = sizeof(u);
	return move_to(cgroup()) || recvmsg(pair[1], &m, 0) < 0 ? FAILED : IN;
}

static void *in_thread(void *arg)
{
	(void)arg;
	if (!unshare(CLONE_FILES) && open(node, O_RDONLY) >= 0)
		puts("ready");
	fflush(stdout);
	pause();
	return NULL;
}

/* A thread with descriptors of its own, after the first thread's end. */
static int thread_alone(void)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, NULL);
	syscall(SYS_exit, 0);
	return FAILED;
}

/* It was let in, and keeps what it has when it isn't any more. */
static int moved_out(void)
{
	return open(node, O_RDONLY) < 0 ? verdict(-1) : move_to(cgroup()) ? FAILED : IN;
}

static int inherited(void)
{
	int fd = open(node, O_RDONLY);

	if (fd < 0)
		return verdict(fd);
	if (fork())
		pause();
	/* the heir, in a cgroup that isn't let in, by another name */
	if (move_to(cgroup()))
		return FAILED;
	puts("ready");
	fflush(stdout);
	execl("/proc/self/exe", "heir", "wait", node, NULL);
	return FAILED;
}

static int wait_for_end(void)
{
	return IN;
}

/* How many programs are attached to the cgroup in the environment itself. */
static int attached(void)
{
	union bpf_attr attr;
	uint32_t ids[64];
	int dir = open(cgroup(), O_RDONLY | O_DIRECTORY);

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)dir;
	attr.query.attach_type = BPF_CGROUP_DEVICE;
	attr.query.prog_ids = (uint64_t)(uintptr_t)ids;
	attr.query.prog_cnt = 64;
	if (bpf(BPF_PROG_QUERY, &attr))
		return absent("BPF_PROG_QUERY");
	printf("%u\n", attr.query.prog_cnt);
	return IN;
}

/* A program of another's, that is alone or isn't, stays attached. */
static int attach_flags(unsigned int flags)
{
	struct bpf_insn all[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int prog;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	attr.insns = (uint64_t)(uintptr_t)all;
	attr.insn_cnt = 2;
	attr.license = (uint64_t)(uintptr_t)"MIT";
	prog = bpf(BPF_PROG_LOAD, &attr);
	memset(&attr, 0, sizeof(attr));
	attr.target_fd = (uint32_t)open(cgroup(), O_RDONLY | O_DIRECTORY);
	attr.attach_bpf_fd = (uint32_t)prog;
	attr.attach_type = BPF_CGROUP_DEVICE;
	attr.attach_flags = flags;
	return prog < 0 || bpf(BPF_PROG_ATTACH, &attr) ? absent("attach") : IN;
}

static int attach_alone(void)
{
	return attach_flags(0);
}

static int attach_beside(void)
{
	return attach_flags(BPF_F_ALLOW_MULTI);
}

static const struct {
	const char *name;
	int (*fn)(void);
	bool holds;
} ways[] = {
	{ "plain", plain, false }, { "for-writing", for_writing, false },
	{ "own-call", own_call, false }, { "openat2", openat2_call, false },
	{ "uring", uring, false }, { "link", by_link, false }, { "own-node", own_node, false },
	{ "bind", bound, false }, { "path-fd", by_path_fd, false },
	{ "others-root", by_others_root, false }, { "handle", by_handle, false },
	{ "user-ns", user_ns, false }, { "cgroup-ns", cgroup_ns, false },
	{ "pid-ns", pid_ns, false }, { "all-ns", all_ns, false }, { "chroot", chrooted, false },
	{ "another-user", another_user, false }, { "cgroup-below", cgroup_below, false },
	{ "into-another", into_another, false }, { "own-program", own_program, false },
	{ "of-another", of_another, true }, { "socket", in_unix_socket, true },
	{ "thread", thread_alone, true }, { "moved-out", moved_out, true },
	{ "inherited", inherited, true }, { "wait", wait_for_end, true },
	{ "hold", plain, true }, { "attached", attached, false },
	{ "attach-alone", attach_alone, false }, { "attach-beside", attach_beside, false },
};

int main(int argc, char **argv)
{
	unsigned int i;
	int rc;

	if (argc < 3)
		return FAILED;
	node = argv[2];
	folder = argc > 3 ? argv[3] : "/tmp";
	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].name, argv[1]))
			continue;
		rc = ways[i].fn();
		if (rc || !ways[i].holds)
			return rc;
		puts("ready");
		fflush(stdout);
		pause();
	}
	fprintf(stderr, "no way %s\n", argv[1]);
	return FAILED;
}
