/* SPDX-License-Identifier: MIT */
/*
 * gpushared: the arbiter's core as a process.
 *
 * One thread sleeps in epoll and does everything, so nothing here takes a lock;
 * a second one only writes the state file. What comes from a peer is bytes of
 * an enemy: message.c checks their form, the command their meaning. Nothing
 * that a peer does, or fails to do, makes the loop wait.
 *
 *	place.c		the socket, and the locks that make it the only daemon there
 *	loop.c		sources of events, timers, things to be freed later
 *	peer.c		connections: who it is, receiving, answering, limits
 *	meet.c		who is there, looked up
 *	porter.c	processes that touch what may hang: files of peers'
 *	message.c	the form of a message (the fuzzer's target)
 *	command.c	what each command does
 *	client.c	clients: their life
 *	page.c		their pages, and waking them
 *	wait.c		their requests
 *	memory.c	what they say of memory, and their waits for it
 *	watch.c		whether they were moved to another cgroup
 *	bell.c		asking without a message
 *	host.c		the core's callbacks
 *	device.c	devices: discovery, adding, setting
 *	service.c	what systemd is told, and the watchdog
 *	group.c		groups: cgroups and named ones, who belongs where
 *	tenant.c	tenants: whose programs clients are, and their parts of groups
 *	room.c		how many connections and groups each one may have
 *	account.c	how much of our time a tenant's messages may take
 *	cgroup.c	the cgroup file system, and who may what in it
 *	share.c		setting and showing shares
 *	stats.c		counters
 *	event.c		streams of events
 *	state.c		the state file: what changed, and reading it
 *	state-text.c	its lines: read, and judged before anything is taken (a fuzz target)
 *	state-writer.c	the thread that writes it
 */
#ifndef GPUSHARED_H
#define GPUSHARED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/gpushare.h>

#include "kmod/contract/contract.h"
#include "ulib/user-socket.h"
#include "ulib/wire.h"

#define MAX_DEVICES		64
#define MAX_GROUPS		4096
#define MAX_GROUPS_USER		256
#define MAX_PARTS		4096
#define MAX_PEERS_USER		4096
#define MAX_STREAMS_USER	8
#define STREAM_EVENTS		1024

/* Something that epoll watches. Lies first in what it is part of. */
struct source {
	int fd;
	void (*ready)(struct source *s, uint32_t events);
};

/* A point in time that the loop waits for; zeroed at first. */
struct timer {
	uint64_t at;
	void (*due)(struct timer *t);	/* it is no longer armed */
	struct list_head link;		/* while it is armed */
};

struct peer;
struct held;
struct client;
struct group;
struct device;

/* What there is room for, and in whose books one stands, see room.c. */
enum room { ROOM_PEERS, ROOM_GROUPS, NR_ROOMS };
struct room_taken {
	struct payer *tenant, *place;
};

/* A connection. */
struct peer {
	struct source source;		/* first */
	struct source process;		/* the pidfd: readable when the process has ended */
	struct source bell;		/* the client's doorbell */
	struct list_head link;		/* in daemon.peers */
	struct list_head later;		/* in the list of what is to be closed, then freed */
	bool doomed, closed;
	bool admin;			/* may do everything */
	bool foreign;			/* another pid or cgroup name space than ours */
	bool outsider;			/* foreign, or a root of less than ours: see cgroup.c */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	uint64_t tenant;		/* whose programs these are, see tenant.c */
	struct room_taken room;
	int cgroup;			/* its /proc/PID/cgroup, or -1 */
	uint64_t pid_ns;		/* its pid name space, */
	pid_t inner_pid;		/* and its number there */
	char comm[16];
	struct account *account;	/* what its messages are paid from; NULL: nobody pays */
	struct list_head paused;	/* among those of its account who aren't heard */
	struct client *client;
	struct client *wants;		/* whose wait for memory is to be answered to it */
	struct stream *stream;
	struct held *held;		/* an answer that waits for the disk */
	struct porter *porter;		/* who is at its errand */
	struct list_head errand_link;	/* in one of the lists of errands */
	uint64_t errand_until;
	struct gs_wire errand_head;	/* of the message that is being taken */
	uint8_t errand;			/* ERRAND_*, or 0 */
	uint64_t last_named;		/* group id from GPUSHARE_GROUP, kept while connected */
};

struct client_pages {
	struct gpushare_grant_page *grant;
	const struct gpushare_client_page *own;
};

/* A client: a core client, its pages, and who waits for it. */
struct client {
	struct gs_client core;		/* core.priv points back here */
	struct peer *peer;
	struct device *device;
	struct group *group;
	struct list_head link;		/* in daemon.clients */
	struct list_head changed;	/* in daemon.changed: its page was written this round */
	bool withdrawn;			/* lost its grant unasked: look at its idle flag again */
	bool taken_back;		/* what is waited for was taken back: that is over */
	struct client_pages pages;
	struct gs_profile profile;
	bool named;			/* its group was chosen by name, not by cgroup */
	bool asked;			/* since its cgroup was looked up last */
	bool kill;			/* to be killed after this round */
	uint64_t heeded;		/* the wish that was taken last */
	char comm[16];

	/* A request that is answered when granted. */
	bool waiting;
	struct list_head wait_link;	/* in daemon.waits */
	struct gs_wire wait_head;
	uint32_t wait_size;
	uint64_t wait_until;

	/* A wait for memory, that is answered when it is over. */
	struct {
		struct peer *peer;	/* to whom; NULL: there is none */
		struct list_head link;	/* in memory.c's waits */
		struct gs_wire head;
		struct gpushare_memory asked;
		uint32_t size;
		bool over;		/* to be answered, with */
		int result;
	} memory;
};

struct device {
	struct gs_device core;		/* core.priv points back here */
	struct timer timer;		/* the core's */
	struct list_head link;		/* in daemon.devices, by id */
	struct gpushare_device info;	/* its settings, and which of them an admin made */
	uint32_t nr_clients;
	bool added;			/* by an admin; else found */
	bool present;			/* while discovery runs: seen */
};

struct group {
	struct gs_group core;		/* but for the root's, which is in the arbiter */
	struct gs_group *node;		/* the core's group, root or not */
	struct list_head link;		/* in daemon.groups, by id */
	uint64_t id;
	struct list_head unsaved;	/* in state.c's list of what changed */
	bool saved;			/* the writer has lines of it */
	uint32_t set;			/* GPUSHARE_SHARE_*: what is set for all devices */
	uint32_t keep;			/* peers that named it, clients in it */
	bool named;
	uid_t uid;			/* who made it first */
	uint64_t maker;			/* the tenant whose doing it is, 0: an admin's */
	struct room_taken room;
	uint64_t empty_ns;		/* a tenant's part: since when nobody is in it */
	int dir;			/* a cgroup's directory, open by O_PATH; else -1 */
	char *path;			/* from the mount's root, "/a/b": a cgroup's; where a
					 * named one was made; a tenant's part has none */
	char name[GPUSHARE_NAME_MAX];
};

struct daemon {
	struct gs_arbiter arb;
	struct group root;
	struct list_head peers, clients, devices, groups, changed, waits;
	bool system;
	bool stop;
	uid_t uid;
	uint32_t next_device;
	uint64_t next_client, next_named, next_part;
	unsigned int nr_peers, nr_devices, max_peers;
	unsigned int nr_groups, nr_parts;	/* but the root; of tenants */
	uint64_t commands;		/* so many were begun */
	uint64_t turned_away;		/* callers, for want of room */
	uint64_t started_ns;
	struct client *acting;		/* whose request is being handled, */
	bool acting_any;		/* for its whole set */
	const char *state_path;
	const char *pci_path;
};

extern struct daemon d;

uint64_t now_ns(void);
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);

/* main.c */
void main_unused(void);

/* place.c */
int place_take(const char *socket_path, bool wait, int *listener);
void place_tell_pid(pid_t pid);
int place_passed_socket(void);
void place_leave(int listener);
void place_unlock(void);

/* loop.c */
int loop_init(void);
int loop_add(struct source *s, uint32_t events);
int loop_change(struct source *s, uint32_t events);
void loop_remove(struct source *s);
void loop_forget(struct source *s);
void loop_run(void);
void loop_end(void);
void timer_arm(struct timer *t, uint64_t at_ns);
void timer_stop(struct timer *t);

/* peer.c */
void peer_init(void);
void peer_accept(struct source *listener, uint32_t events);
void peer_may_leave(int fd, bool stream);	/* so much unread */
void peer_close(struct peer *p);
void peer_close_all(void);
void peer_forget_all(void);
void peer_doom(struct peer *p);
bool peer_end_round(void);
int peer_send(struct peer *p, const struct gs_wire *head, const void *body, size_t size,
	      const int *files, unsigned int nr_files);
void peer_reply(struct peer *p, const struct gs_wire *request, int result, const void *body,
		size_t size, const int *files, unsigned int nr_files);
void peer_buried(struct peer *p);

/* message.c */
struct message {
	struct gs_wire head;
	union {
		uint32_t size;
		struct gpushare_version version;
		struct gpushare_attach attach;
		struct gpushare_wait wait;
		struct gpushare_memory memory;
		struct gpushare_describe describe;
		struct gpushare_share share;
		struct gpushare_device device;
		struct gpushare_stats stats;
		struct gpushare_group group;
		struct gpushare_events events;
		char bytes[GS_WIRE_STRUCT_MAX];
	};
};
int message_check(struct message *m, size_t length, unsigned int nr_files);
bool message_about_share(struct message *m, size_t length, unsigned int nr_files);
int message_take(struct message *m, uint32_t *given);

/* service.c */
void service_init(void);
void service_round(uint64_t ns);
void service_tell(const char *state);

/* porter.c */
#define CGROUP_PATH_MAX 4096
/* What a file is that came with a message; nothing else is known of it, nor is it here. */
struct gs_seen {
	bool cgroup;			/* of a cgroup2 file system; else the rest is 0 */
	int flags;			/* with which it was opened */
	mode_t mode;
	dev_t dev;
	uint64_t ino;
	char path[CGROUP_PATH_MAX];	/* from our mount's root, where it seems to be; or "" */
};
/* What is found out of who connects; members of struct peer. */
struct gs_met {
	bool admin, foreign, outsider;
	uint64_t tenant, pid_ns;
	pid_t inner_pid;
	char comm[16];
};
#define ERRAND_MEET	1
#define ERRAND_TAKE	2
#define ERRAND_BURY	3
int porter_init(void);
void porter_ask(struct peer *p, uint8_t errand);
void porter_forget(struct peer *p);
void peer_took(struct peer *p, int err, struct message *m, size_t length,
	       const struct gs_seen *files, unsigned int nr_files);

void peer_met(struct peer *p, int err, const struct gs_met *met, int cgroup);

/* meet.c */
int meet(pid_t pid, uid_t uid, struct gs_met *met);
bool meet_may_be_admin(pid_t pid, uid_t uid);

/* command.c */
void command_run(struct peer *p, struct message *m, const struct gs_seen *files,
		 unsigned int nr_files);
int command_dispatch(struct peer *p, struct message *m, const struct gs_seen *files,
		     unsigned int nr_files, uint32_t given);
#define LATER	1		/* the command answers by itself */

/* client.c */
int client_attach(struct peer *p, struct message *m, uint32_t given);
void client_free(struct client *c);
int client_describe(struct client *c, struct gpushare_describe *de);
void group_move_client(struct client *c, struct group *g);
struct client *client_find(uint64_t id);
struct client *client_next(uint64_t id);

/* page.c */
int pages_make(struct client_pages *pages, int files[2]);
void pages_free(const struct client_pages *pages);
void page_wake(const struct client *c);
void page_publish(struct gs_arbiter *arb, struct gs_client *core);

/* wait.c */
int client_wait(struct peer *p, struct message *m, uint32_t given);
int client_ask(struct client *c, bool any, uint64_t want, bool again, struct gs_client **holder);
void client_give_back(struct client *c, bool any);
void client_changed(struct client *c);
void client_settle(void);
void wait_end(struct client *c);

/* memory.c */
int memory_command(struct peer *p, struct message *m, uint32_t given);
void memory_over(struct gs_arbiter *arb, struct gs_client *core, int result);
void memory_settle(struct client *c);
void memory_end(struct client *c);
void memory_peer_gone(struct peer *p);

/* watch.c */
void client_check_later(void);
void client_asked(struct client *c, bool any);
void client_check_all_later(void);

/* bell.c */
int bell_hang(struct peer *p);
void bell_heed(struct client *c);
void bell_rung(struct source *s, uint32_t events);

/* host.c */
void host_init(void);

/* device.c */
int device_get(struct gpushare_device *u);
int device_add(struct gpushare_device *u);
int device_set(struct gpushare_device *u);
int device_remove(struct gpushare_device *u);
int device_make(const struct gpushare_device *arg, bool added, struct device **device);
struct device *device_find(uint32_t id, const char *key);
void device_discover(void);
void device_forget_all(void);
int device_watch(void);
int device_apply(struct device *dev, const struct gpushare_device *u);
void device_show(const struct device *dev, struct gpushare_device *u);

/* group.c */
void group_init(void);
void group_forget_all(void);
struct group *group_find(uint64_t id);
struct group *group_next(uint64_t id);
struct group *group_named(const struct group *place, uid_t uid, const char *name);
struct group *group_whole(const struct group *g);
bool group_is_cgroup(const struct group *g);
int group_make_part(uint64_t id, struct group *group, uint64_t tenant, struct group **part);
int group_make_cgroup(uint64_t id, const char *path, uint64_t maker, bool admin,
		      struct group **group);
int group_make_named(struct group *up, uint64_t maker, bool admin, uid_t uid, const char *name,
		     const char *home, struct group **group);
int group_assign(struct group *g, uint64_t maker);
int group_take_children(struct group *g);
void group_drop_if_unused(struct group *g);
int group_remove(struct group *g);
int group_nodes(struct group *g, struct device *dev);
struct group *group_of_path(const char *path);
int group_of_peer(const struct peer *p, struct group **group);
void group_check_client(struct client *c);
int group_command(struct peer *p, struct gpushare_group *u);
struct group *group_of(struct gs_group *core);
bool group_name_ok(const char *name);
bool group_has_settings(const struct group *g);
void group_resolve_clients(void);
bool group_collect(const struct peer *p, bool refused);

/* tenant.c */
void tenant_init(void);
uint64_t tenant_of(pid_t pid, uid_t uid);
uint64_t tenant_of_user(uid_t uid);
uint32_t tenant_kind(uint64_t tenant, uint64_t *id);
int part_of(struct group *group, uint64_t tenant, struct group **part);
bool part_is_over(struct group *part);

/* room.c */
int room_take(struct room_taken *by, enum room what, const char *path, uint64_t tenant,
	      bool admin);
void room_give_back(struct room_taken *by, enum room what);

/* account.c */
int account_open(struct peer *p);
void account_close(struct peer *p);
bool account_hear(struct peer *p);
void account_charge(struct peer *p, uint64_t ns);
uint64_t account_settle(uint64_t start);
uint64_t own_time(void);

/* cgroup.c */
int cgroup_init(void);
int cgroup_files(void);
int cgroup_of_peer(const struct peer *p, char *path, size_t size);
int cgroup_id_of_path(const char *path, uint64_t *id);
int cgroup_hold(const char *path, uint64_t id, int *dir);
bool cgroup_is_held(const char *path, int dir);
void cgroup_look_ahead(const struct gpushare_share *u, const struct gs_seen *files,
		       unsigned int nr_files);
int cgroup_root(int fd);
int cgroup_path_of_open(int fd, char *path, size_t size);
int cgroup_path_of_seen(const struct gs_seen *seen, char *path, size_t size, uint64_t *id);
int cgroup_path_of_id(uint64_t id, char *path, size_t size);
int cgroup_authority(const struct peer *p, const char *path, const struct gs_seen *authority);

/* share.c */
int share_set(struct peer *p, struct gpushare_share *u, const struct gs_seen *files,
	      unsigned int nr_files);
int share_get(struct peer *p, struct gpushare_share *u, const struct gs_seen *files,
	      unsigned int nr_files);
int share_apply(struct group *g, struct device *dev, struct gpushare_share *u);
bool group_visible(const struct peer *p, const struct group *g);

/* stats.c */
int stats_get(struct peer *p, struct gpushare_stats *u);
uid_t uid_seen_by(const struct peer *p, uid_t uid);

/* event.c */
struct stream;
int stream_open(struct peer *p, const struct gpushare_events *u);
void stream_start(struct peer *p);
void stream_free(struct peer *p);
void stream_writable(struct peer *p);
void event_tell(struct gs_arbiter *arb, const struct gs_event *ev);
void event_flush(void);

/* state.c */
int state_load(const char *path);
void state_group_changed(struct group *g);
void state_group_gone(struct group *g);
void state_devices_changed(void);
void state_device_gone(struct device *dev);
void state_remembered(struct device *dev);
bool state_reply_later(struct peer *p, const struct gs_wire *head, const void *body, size_t size);
/* Why what was set last isn't on the disk: an error number, 0 if it is or will be. */
int state_unkept(void);
int state_writer_start(void);
void state_writer_stop(void);
void state_forget_peer(struct peer *p);

#endif
