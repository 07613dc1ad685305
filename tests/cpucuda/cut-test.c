// SPDX-License-Identifier: MIT
/*
 * The transformer, kernel by kernel over the corpus: what the original gives and
 * what its variants give must be the same to the bit, in memory and in the
 * module's variables, whatever the schedule, the boxes, the stops and the number
 * of workers. Then the same with errors planted into the transformed text: each
 * must be found.
 */
#include "harness.h"
#include "corpus.h"
#include "cut.h"

#define SEED 20261123u

struct tally { uint32_t kernels, mode[GSX_MODES], runs; };

static struct mem_block *buf[5];

static void buffers(struct corpus_data *d)
{
	const void *from[5] = { NULL, d->bufs.in, d->bufs.inf, d->bufs.ind, d->bufs.inl };
	int k;

	for (k = 0; k < 5; k++) {
		if (!buf[k])
			buf[k] = mem_alloc(0, CORPUS_BYTES, MEM_DEVICE, NULL);
		ASSERT_TRUE(buf[k] != NULL);
		if (k)
			memcpy(buf[k]->host, from[k], CORPUS_BYTES);
	}
}

static void prepare(const struct corpus_run *r, struct cut_launch *l)
{
	struct corpus_bufs b = { (void *)buf[0]->addr, (void *)buf[1]->addr, (void *)buf[2]->addr,
		(void *)buf[3]->addr, (void *)buf[4]->addr };
	struct corpus_args a = { 0 };

	r->args(&b, &a);
	memcpy(l->grid, r->grid, sizeof(l->grid));
	memcpy(l->block, r->block, sizeof(l->block));
	l->dynamic = r->dynamic;
	l->ordered = r->flags & ORDER;
	l->cooperative = r->flags & COOP;
	corpus_place(&a, l->whole->n_params, l->whole->param_offset, l->params);
}

static bool may_run(const struct corpus_run *r, const struct cut_launch *l, int mode)
{
	bool rows = r->block[0] % 32 == 0 || (r->block[1] == 1 && r->block[2] == 1);

	return l->variant[mode] && !(r->flags & (WAVE | COOP | CLUSTER | NOEXEC)) &&
		(mode != GSX_WORKERS || rows || !(l->k->needs & GSX_NEEDS_ROWS));
}

/* All ways of one launch, @times each; NULL: all alike. */
static const char *all_ways(struct cut_module *m, const struct corpus_run *r, struct cut_launch *l,
			    unsigned int times, struct tally *t)
{
	static const char *(*const way[GSX_MODES])(struct cut_launch *) = {
		[GSX_SLICE] = cut_slices, [GSX_GUARD] = cut_guard, [GSX_WORKERS] = cut_workers };
	static uint8_t first[CORPUS_BYTES];
	static char say[800];
	uint8_t *state = NULL;
	const char *error;
	unsigned int k;
	int mode;

	cut_reset(m);
	memset(buf[0]->host, 0, CORPUS_BYTES);
	error = cut_whole(l);
	if (error)
		return error;
	memcpy(first, buf[0]->host, CORPUS_BYTES);
	cut_state(m, &state);
	for (mode = 0; mode < GSX_MODES && !error; mode++) {
		for (k = 0; k < times && may_run(r, l, mode) && !error; k++) {
			cut_reset(m);
			memset(buf[0]->host, 0, CORPUS_BYTES);
			error = way[mode](l);
			t->runs++;
			if (!error && memcmp(first, buf[0]->host, CORPUS_BYTES))
				error = "memory differs";
			if (!error)
				error = cut_state(m, &state);
			if (error)
				snprintf(say, sizeof(say), "%s: %s",
					 gsx_mode_name((enum gsx_mode)mode), error);
		}
	}
	free(state);
	return error ? say : NULL;
}

struct refusal { const char *kernel; uint32_t modes; enum gsx_reason reason; };
static const struct refusal refusals[] = {
	{ "grid_sync", GSX_ALL_MODES, GSX_GRID_SYNC },
	{ "cluster_swap", GSX_ALL_MODES, GSX_CLUSTER },
	{ "func_indirect", GSX_ALL_MODES, GSX_INDIRECT_CALL },
	{ "func_indirect_block", GSX_ALL_MODES, GSX_INDIRECT_CALL },
	{ "func_exit", GSX_BIT(GSX_WORKERS), GSX_EXIT_IN_FUNCTION },
	{ "func_exit_barrier", GSX_BIT(GSX_WORKERS), GSX_EXIT_IN_FUNCTION },
	{ "func_shuffle", GSX_BIT(GSX_WORKERS), GSX_WARP_AFTER_EXIT },
	{ "flag_shuffled", GSX_BIT(GSX_WORKERS), GSX_WARP_AFTER_EXIT },
	{ "producer_consumer", GSX_BIT(GSX_WORKERS), GSX_BARRIER_FORM },
	{ "bulk_copy", GSX_BIT(GSX_WORKERS), GSX_ASYNC_STATE },
};

/* Each refusal is one that we know, with this reason; what must be refused is. */
static void check_refusals(const struct gsx_kernel *k)
{
	const struct refusal *known = NULL;
	uint32_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		if (!strcmp(refusals[i].kernel, k->name))
			known = &refusals[i];
	for (i = 0; i < k->n_refusals; i++)
		if (!known || known->reason != k->refusals[i].reason ||
		    k->refusals[i].modes & ~known->modes)
			test_fail("%s is refused (%s): %s", k->name,
				  gsx_reason_name(k->refusals[i].reason), k->refusals[i].text);
	if (known && k->modes & known->modes)
		test_fail("%s isn't refused, though: %s", k->name, gsx_reason_name(known->reason));
}

/* All of wait.cu are seen to wait, and these; nobody else is. */
static void check_waits(const struct gsx_kernel *k, const char *file)
{
	static const char *const others[] = {
		"spin_lock", "chained", "look_back", "hand_made_barrier", "grid_sync" };
	bool waits = !strcmp(file, "wait.cu");
	uint32_t i;

	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		waits |= !strcmp(others[i], k->name);
	if (waits != !!(k->flags & GSX_WAITS))
		test_fail("%s %s", k->name, waits ? "isn't seen to wait" : "waits for nobody");
}

static void file_and_arch(const char *file, int cc, struct tally *t)
{
	unsigned int times = getenv("FULL") ? 30 : 5;
	struct cut_module m = { 0 };
	struct cut_launch l;
	struct corpus_run *r = NULL;
	const char *error;
	char why[500], *text = NULL;
	size_t len;
	uint32_t i;
	int mode;

	while ((r = corpus_next(r, file, cc))) {
		if (!text) {
			text = corpus_text(r, cc, &len);
			ASSERT_TRUE(text != NULL);
			ASSERT_EQ(0, cut_load(&m, text, len, file, NULL, NULL, why, sizeof(why)));
			for (i = 0; i < m.x.n_kernels; i++) {
				check_refusals(&m.x.kernels[i]);
				check_waits(&m.x.kernels[i], file);
				t->kernels++;
				for (mode = 0; mode < GSX_MODES; mode++)
					t->mode[mode] += m.x.kernels[i].modes >> mode & 1;
			}
		}
		if (r->flags & NOEXEC)
			continue;
		cut_prepare(&m, &l, r->name);
		ASSERT_TRUE(l.whole != NULL);
		prepare(r, &l);
		error = all_ways(&m, r, &l, times, t);
		if (error)
			test_fail("sm_%d %s: %s", cc, r->name, error);
	}
	if (text)
		cut_unload(&m);
	free(text);
}

static void run_file(const char *file)
{
	struct tally t = { 0 };
	struct corpus_data d;

	dev.seed = SEED;
	dev.limit = 30000000;
	ASSERT_EQ(0, corpus_data_make(&d));
	buffers(&d);
	file_and_arch(file, 75, &t);
	file_and_arch(file, 90, &t);
	printf("# %s seed %u: %u kernels and architectures; slices %u (%u %%), guard %u (%u %%), "
	       "workers %u (%u %%); %u cut runs\n", file, SEED, t.kernels, t.mode[0],
	       100 * t.mode[0] / t.kernels, t.mode[1], 100 * t.mode[1] / t.kernels, t.mode[2],
	       100 * t.mode[2] / t.kernels, t.runs);
}

#define FILE_TEST(name) TEST_LIMIT(name, 600) { run_file(#name ".cu"); }
CORPUS_FILES(FILE_TEST)

/* A wrong rewrite, planted: what stands in the variants' text becomes something else. */
struct plant { const char *from, *to, *variant; bool done; };

static char *plant(char *text, void *arg)
{
	struct plant *p = arg;
	size_t from = strlen(p->from), to = strlen(p->to), n = 0, len;
	char *out, *at, *found;
	bool in = false;

	for (at = text; (at = strstr(at, p->from)) != NULL; at += from)
		n++;
	if (!n)
		return NULL;
	len = strlen(text) + n * (to > from ? to - from : 0) + 1;
	out = malloc(len);
	*out = 0;
	n = 0;
	for (at = text; *at; at++) {
		if (!strncmp(at, ".entry ", 7)) {
			found = strstr(at, p->variant);
			in = found && found < at + strcspn(at, "(\n");
		}
		if (in && !strncmp(at, p->from, from)) {
			memcpy(out + n, p->to, to);
			n += to;
			at += from - 1;
		} else {
			out[n++] = *at;
		}
	}
	out[n] = 0;
	if (!strcmp(out, text)) {
		free(out);
		return NULL;
	}
	p->done = true;
	return out;
}

static bool found_in(const char *file, struct plant *p, char *how, size_t size)
{
	struct tally t = { 0 };
	struct cut_module m;
	struct cut_launch l;
	struct corpus_run *r = NULL;
	const char *error = NULL;
	char why[500], *text = NULL;
	size_t len;

	while (!error && (r = corpus_next(r, file, 75))) {
		if (r->flags & NOEXEC)
			continue;
		if (!text) {
			text = corpus_text(r, 75, &len);
			if (cut_load(&m, text, len, file, plant, p, why, sizeof(why))) {
				free(text);
				return false;
			}
		}
		cut_prepare(&m, &l, r->name);
		prepare(r, &l);
		error = all_ways(&m, r, &l, 12, &t);
		if (error)
			snprintf(how, size, "%s: %s", r->name, error);
	}
	cut_unload(&m);
	free(text);
	return error != NULL;
}

static void planted(const char *from, const char *to, const char *variant)
{
	struct plant p = { from, to, variant, false };
	struct corpus_data d;
	char how[900];

	dev.seed = SEED;
	dev.limit = 3000000;
	ASSERT_EQ(0, corpus_data_make(&d));
	buffers(&d);
	if (found_in("barrier.cu", &p, how, sizeof(how)) ||
	    found_in("simple.cu", &p, how, sizeof(how)) ||
	    found_in("funcs.cu", &p, how, sizeof(how)) ||
	    found_in("leave.cu", &p, how, sizeof(how)))
		printf("# found by %s\n", how);
	else
		test_fail("%s in %s: %s", p.done ? "planted and not found" :
			  "not there to be changed: see what the transformer writes now", variant,
			  from);
}

#define PLANT(name, variant, from, to) \
	TEST_LIMIT(planted_##name, 300) { planted(from, to, variant); }
PLANT(box_without_base, "__gsx_slice", "add.u32 %gsx_r0, %gsx_r0, %gsx_r1;", "")
PLANT(slice_with_the_launchs_grid, "__gsx_slice", "ld.param.u32 %gsx_r0, [gsx_launch+12];",
      "mov.u32 %gsx_r0, %nctaid.x;")
PLANT(workers_one_block_too_many, "__gsx_workers", "setp.lt.u32 %gsx_p1, %gsx_r2, %gsx_r3;",
      "setp.le.u32 %gsx_p1, %gsx_r2, %gsx_r3;")
PLANT(guard_skips_a_ticket, "__gsx_guard", "atom.global.add.u32 %gsx_r2, [%gsx_d2], 1;",
      "atom.global.add.u32 %gsx_r2, [%gsx_d2], 2;")
PLANT(guard_deaf_to_the_stop, "__gsx_guard", "setp.ne.u32 %gsx_p1, %gsx_r3, 0;",
      "setp.ne.u32 %gsx_p1, 0, 0;")
PLANT(guard_without_the_barrier, "__gsx_guard", "$gsx_told:\n\tbar.sync 0;", "$gsx_told:\n")
PLANT(rows_taken_for_columns, "__gsx_guard", "[gsx_launch+80]", "[gsx_launch+76]")
PLANT(workers_dont_park, "__gsx_workers", "@%gsx_p2 bra $gsx_finished;\n\tbra $gsx_done;",
      "bra $gsx_finished;")
PLANT(workers_leave_at_a_return, "__gsx_workers", "bra $gsx_done;\n\n\n$gsx_done:",
      "ret;\n\n\n$gsx_done:")
PLANT(workers_say_done_in_the_body, "__gsx_workers", "mov.pred %gsx_p1, 0;",
      "mov.pred %gsx_p1, -1;")
PLANT(workers_deaf_to_the_quota, "__gsx_workers", "setp.gt.u32 %gsx_p1, %gsx_r5, %gsx_r4;",
      "setp.gt.u32 %gsx_p1, 0, 1;")
PLANT(workers_deaf_to_the_stop, "__gsx_workers", "setp.ne.u32 %gsx_p1, %gsx_r3, 0;",
      "setp.ne.u32 %gsx_p1, 0, 0;")
PLANT(workers_lose_count, "__gsx_workers", "red.global.add.u32 [%gsx_d1], 1;", "")
PLANT(workers_stay_in_the_books, "__gsx_workers",
      "red.global.add.u32 [%gsx_d1+128], 0xffffffff;", "")
PLANT(workers_forget_who_left, "__gsx_workers", "vote.sync.ballot.b32 %gsx_live, ",
      "vote.sync.ballot.b32 %gsx_mask, ")
PLANT(workers_take_stayers_for_gone, "__gsx_workers", "vote.sync.ballot.b32 %gsx_live, !",
      "vote.sync.ballot.b32 %gsx_live, ")
PLANT(workers_remember_the_last_blocks_lanes, "__gsx_workers", "mov.b32 %gsx_live, -1;", "")

TEST_MAIN()
