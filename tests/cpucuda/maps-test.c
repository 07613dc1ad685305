// SPDX-License-Identifier: MIT
/*
 * The maps of kernels (gsmaps.h) against what their blocks do: each launch of the corpus is
 * run, each access to its buffers noted with the block that made it, and each range of
 * blocks, of all sizes, asked for. What is said must cover what was done; what is said to be
 * exact must be no more than that; what is said to be disjoint must be no other block's.
 * Then the same with maps that were found in a text which differs from the one that runs:
 * each such mistake must be found.
 */
#include <errno.h>
#include "harness.h"
#include "corpus.h"
#include "cut.h"
#include "cpucuda/exec.h"

#define SEED 20261126u
#define BUFS 5
#define MOST_RANGES 4096

static struct mem_block *buf[BUFS];

/* What a block did to a byte of a buffer: as many bits as there are blocks, and one more. */
struct touch { uint32_t block, at, size; bool write; };

static struct {
	struct touch *t;
	size_t n, cap;
} log_;

static void touched(const struct thread *t, const struct insn *i, uint64_t addr, uint32_t size)
{
	bool read = i->fn != exec_st && i->fn != exec_wmma_store;
	bool write = !read || i->fn == exec_atom;
	int k, w;

	for (k = 0; k < BUFS; k++) {
		if (addr - buf[k]->addr >= CORPUS_BYTES)
			continue;
		for (w = 0; w < 2; w++) {
			if (!(w ? write : read))
				continue;
			if (log_.n == log_.cap) {
				log_.cap = log_.cap * 2 + 1024;
				log_.t = realloc(log_.t, log_.cap * sizeof(*log_.t));
			}
			log_.t[log_.n++] = (struct touch){ t->b->linear, (uint32_t)(k * CORPUS_BYTES +
				(addr - buf[k]->addr)), size, w };
		}
	}
}

static void buffers(void)
{
	struct corpus_data d;
	const void *from[BUFS];
	int k;

	ASSERT_EQ(0, corpus_data_make(&d));
	from[1] = d.bufs.in;
	from[2] = d.bufs.inf;
	from[3] = d.bufs.ind;
	from[4] = d.bufs.inl;
	for (k = 0; k < BUFS; k++) {
		if (!buf[k])
			buf[k] = mem_alloc(0, CORPUS_BYTES, MEM_DEVICE, NULL);
		ASSERT_TRUE(buf[k] != NULL);
		if (k)
			memcpy(buf[k]->host, from[k], CORPUS_BYTES);
	}
	corpus_data_free(&d);
}

/* Counted over all launches: pointers' writes and reads by what was said. */
struct tally { uint32_t launches, refused, by[2][GSX_MAP_CLASSES], late[2], exact, disjoint, asked; };

static uint8_t said[BUFS * CORPUS_BYTES];	/* bits: S_ */
static uint8_t did[BUFS * CORPUS_BYTES];
/* How far something was done in a buffer, and something was done or said. */
static uint32_t done[BUFS], high[BUFS];

#define S_MAY 1		/* anything may be there */
#define S_RANGE 2
#define S_EXACT 4
#define S_DISJOINT 8
#define D_THESE 1	/* blocks of the range */
#define D_OTHERS 2

static char why[400];

static const char *bad(const char *what, const char *kernel, size_t at, uint64_t from, uint64_t to)
{
	snprintf(why, sizeof(why), "%s: blocks %u to %u, byte %zu of buffer %zu: %s", kernel,
		 (unsigned int)from, (unsigned int)to, at % CORPUS_BYTES, at / CORPUS_BYTES, what);
	return why;
}

/* The buffer that a pointer is one into, all of it */
static void anything(uint64_t pointer)
{
	int k;

	for (k = 0; k < BUFS; k++)
		if (pointer - buf[k]->addr < CORPUS_BYTES)
			memset(said + k * CORPUS_BYTES, S_MAY, done[k]);
}

static bool mark(uint64_t pointer, const struct gsx_range *r, uint8_t bits)
{
	uint64_t row, at, i;
	int k;

	for (row = 0; row < r->rows; row++) {
		at = pointer + r->begin + row * r->pitch;
		for (k = 0; k < BUFS; k++)
			if (at - buf[k]->addr < CORPUS_BYTES)
				break;
		if (k == BUFS || at - buf[k]->addr + r->bytes > CORPUS_BYTES) {
			if (bits & S_EXACT)
				return false;
			continue;
		}
		for (i = 0; i < r->bytes; i++)
			said[k * CORPUS_BYTES + (at - buf[k]->addr) + i] |= bits;
		if (at - buf[k]->addr + i > high[k])
			high[k] = at - buf[k]->addr + i;
	}
	return true;
}

static const char *say_map(const struct gsx_kernel *k, const struct gsx_map *m, bool writes,
			   const struct gsx_shape *s, uint64_t from, uint64_t to, struct tally *t)
{
	static struct gsx_range range[MOST_RANGES];
	const struct gsx_way *w = writes ? &m->writes : &m->reads;
	struct gsx_ranges r = { .range = range, .cap = t->asked++ % 3 ? MOST_RANGES : 2 };
	uint64_t pointer = 0;
	bool first = !from && to == (uint64_t)s->grid[0] * s->grid[1] * s->grid[2];
	uint8_t bits = S_RANGE;
	uint32_t i;
	int err;

	t->by[writes][w->class] += first;
	if (w->class == GSX_MAP_NEVER)
		return NULL;
	for (i = 0; i + 8 <= m->size; i += 8) {
		memcpy(&pointer, (const char *)s->params + m->offset + i, 8);
		if (w->class != GSX_MAP_AFFINE)
			anything(pointer);
	}
	if (w->class != GSX_MAP_AFFINE)
		return NULL;
	err = gsx_map_ranges(&k->maps, m, writes, s, from, to, &r);
	if (err == -ERANGE) {
		if (!r.why)
			return bad("no reason", k->name, 0, from, to);
		t->late[writes] += first;
		if (first && getenv("SHOW"))
			printf("# %s %s: %s\n", k->name, writes ? "writes" : "reads", r.why);
		anything(pointer);
		return NULL;
	}
	if (err)
		return bad("an error", k->name, 0, from, to);
	if (r.n > r.cap)
		return bad("too many ranges", k->name, 0, from, to);
	if (writes) {
		bits |= r.flags & GSX_RANGES_EXACT ? S_EXACT : 0;
		bits |= r.flags & GSX_RANGES_DISJOINT ? S_DISJOINT : 0;
		t->exact += first && bits & S_EXACT;
		t->disjoint += first && bits & S_DISJOINT;
		if (first && getenv("SHOW"))
			printf("# %s writes%s%s: %u ranges\n", k->name, bits & S_EXACT ? " exact" : "",
			       bits & S_DISJOINT ? " disjoint" : "", r.n);
	}
	for (i = 0; i < r.n; i++)
		if (!mark(pointer, &r.range[i], bits))
			return bad("an exact range outside", k->name, 0, from, to);
	return NULL;
}

/* One range of blocks, its writes or its reads. */
static const char *check(const struct gsx_kernel *k, const struct gsx_shape *s, uint64_t from,
			 uint64_t to, bool writes, struct tally *t)
{
	const char *error = NULL;
	size_t i, at, b;

	for (b = 0; b < BUFS; b++) {
		memset(said + b * CORPUS_BYTES, 0, high[b]);
		memset(did + b * CORPUS_BYTES, 0, high[b]);
		high[b] = done[b];
	}
	for (i = 0; i < k->maps.n && !error; i++)
		error = say_map(k, &k->maps.map[i], writes, s, from, to, t);
	for (i = 0; i < log_.n && !error; i++) {
		const struct touch *x = &log_.t[i];

		for (at = x->at; at < x->at + x->size && x->write == writes; at++)
			did[at] |= x->block >= from && x->block < to ? D_THESE : D_OTHERS;
	}
	for (b = 0, at = 0; b < BUFS && !error; at++) {
		if (at >= b * CORPUS_BYTES + high[b]) {
			at = ++b * CORPUS_BYTES - 1;
			continue;
		}
		if (did[at] & D_THESE && !said[at])
			error = bad(writes ? "is written, which wasn't said" :
				    "is read, which wasn't said", k->name, at, from, to);
		else if (said[at] & S_EXACT && !(did[at] & D_THESE))
			error = bad("isn't written, which was said", k->name, at, from, to);
		else if (said[at] & S_DISJOINT && did[at] & D_OTHERS)
			error = bad("is written by another block, too", k->name, at, from, to);
	}
	return error;
}

/* All blocks, each block, and runs of them. */
static const char *check_all(const struct gsx_kernel *k, const struct gsx_shape *s, struct tally *t)
{
	uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2], from, to;
	uint32_t i, n = 10 + (blocks < 12 ? blocks : 12);
	const char *error = NULL;
	int writes;

	memset(done, 0, sizeof(done));
	for (i = 0; i < log_.n; i++) {
		uint32_t end = log_.t[i].at % CORPUS_BYTES + log_.t[i].size;

		if (end > done[log_.t[i].at / CORPUS_BYTES])
			done[log_.t[i].at / CORPUS_BYTES] = end;
	}
	t->launches++;
	t->refused += k->maps.whole.class != GSX_MAP_NEVER;
	for (writes = 0; writes < 2 && !error; writes++) {
		if ((writes ? &k->maps.whole : &k->maps.elsewhere)->class != GSX_MAP_NEVER)
			continue;
		error = check(k, s, 0, blocks, writes, t);
		for (i = 0; i < n && !error; i++) {
			from = i < 10 ? dev_draw(blocks) : i - 10;
			to = i < 10 ? from + dev_draw(blocks - from + 1) : from + 1;
			error = check(k, s, from, to, writes, t);
		}
	}
	return error;
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

/* The text with something else in place of @from, everywhere; NULL: it isn't there */
static char *replaced(const char *text, const char *from, const char *to)
{
	size_t n = 0, len = strlen(text);
	const char *at;
	char *out, *o;

	for (at = text; (at = strstr(at, from)); at += strlen(from))
		n++;
	if (!n)
		return NULL;
	out = o = malloc(len + n * strlen(to) + 1);
	for (at = text; *at; ) {
		if (!strncmp(at, from, strlen(from))) {
			o = stpcpy(o, to);
			at += strlen(from);
		} else {
			*o++ = *at++;
		}
	}
	*o = 0;
	return out;
}

/* Runs a file's launches; maps are found in @edited, or in the text itself. First failure. */
static const char *file_with(const char *file, int cc, const char *from, const char *to,
			     bool *there, struct tally *t)
{
	struct gsx_options opt = { .file = file, .maps = true };
	char *text = NULL, *edited = NULL;
	const char *error = NULL;
	struct corpus_run *r = NULL;
	struct cut_module m = { 0 };
	struct cut_launch l;
	size_t len;

	while (!error && (r = corpus_next(r, file, cc))) {
		if (r->flags & NOEXEC)
			continue;
		if (!text) {
			text = corpus_text(r, cc, &len);
			ASSERT_TRUE(text != NULL);
			edited = from ? replaced(text, from, to) : NULL;
			if (from && !edited)
				break;
			*there = true;
			ASSERT_EQ(0, gsx_ptx_transform(edited ? edited : text,
						       edited ? strlen(edited) : len, &opt, &m.x));
			ASSERT_EQ(0, program_decode(&m.p, text, len, file, &m));
		}
		cut_prepare(&m, &l, r->name);
		ASSERT_TRUE(l.whole && l.k);
		prepare(r, &l);
		log_.n = 0;
		memset(buf[0]->host, 0, CORPUS_BYTES);
		dev.touched = touched;
		error = cut_whole(&l);
		dev.touched = NULL;
		if (!error) {
			struct gsx_shape s = { .params = l.params, .param_bytes = l.k->param_bytes };

			memcpy(s.grid, l.grid, sizeof(s.grid));
			memcpy(s.block, l.block, sizeof(s.block));
			error = check_all(l.k, &s, t);
		}
	}
	if (*there && text) {
		mem_free_owner(&m);
		program_free(&m.p);
		gsx_result_free(&m.x);
	}
	free(edited);
	free(text);
	return error;
}

static void run_file(const char *file)
{
	static const int archs[] = { 75, 90 };
	struct tally t = { 0 };
	const char *error;
	bool there;
	size_t i;

	dev.seed = SEED;
	dev.limit = 30000000;
	buffers();
	for (i = 0; i < 2; i++) {
		error = file_with(file, archs[i], NULL, NULL, &there, &t);
		if (error)
			test_fail("sm_%d %s", archs[i], error);
	}
	printf("# %s seed %u: %u launches, %u refused; writes: %u never, %u affine (%u exact, %u "
	       "disjoint, %u not in this launch), %u unproven, %u shared; reads: %u never, %u affine "
	       "(%u not in this launch), %u unproven\n", file, SEED, t.launches, t.refused,
	       t.by[1][0], t.by[1][1], t.exact, t.disjoint, t.late[1], t.by[1][2], t.by[1][3],
	       t.by[0][0], t.by[0][1], t.late[0], t.by[0][2]);
}

#define FILE_TEST(name) TEST_LIMIT(name, 600) { run_file(#name ".cu"); }
CORPUS_FILES(FILE_TEST)

static void planted(const char *from, const char *to)
{
	static const char *const files[] = { "simple.cu", "control.cu", "apps.cu", "memory.cu",
					     "shared.cu" };
	const char *error = NULL;
	struct tally t = { 0 };
	bool there = false;
	size_t i;

	dev.seed = SEED;
	dev.limit = 30000000;
	buffers();
	for (i = 0; i < sizeof(files) / sizeof(files[0]) && !error; i++)
		error = file_with(files[i], 75, from, to, &there, &t);
	if (error)
		printf("# found by %s\n", error);
	else
		test_fail("%s: %s", there ? "planted and not found" :
			  "not there to be changed: see what the compiler writes now", from);
}

#define PLANT(name, from, to) TEST_LIMIT(planted_##name, 300) { planted(from, to); }
PLANT(factor_too_big, "mul.wide.s32 \t%rd4, %r1, 4;", "mul.wide.s32 \t%rd4, %r1, 8;")
PLANT(blocks_taken_for_threads, "%ctaid.x;", "%ctaid.y;")
PLANT(condition_one_too_few, "setp.ge.s32", "setp.gt.s32")
PLANT(condition_one_too_many, "setp.gt.s32", "setp.ge.s32")
PLANT(condition_turned, "@%p1 bra", "@!%p1 bra")
PLANT(condition_forgotten, "setp.ge.s32 \t%p1, %r1, %r3;", "setp.ge.s32 \t%p1, 0, 1;")
PLANT(store_too_short, "st.global.u32", "st.global.u16")
PLANT(store_too_long, "st.global.u8", "st.global.u16")
PLANT(step_too_long, "add.s32 \t%r12, %r12, %r3;", "mad.lo.s32 \t%r12, %r3, 2, %r12;")
PLANT(loop_too_short, "setp.lt.s32 \t%p2, %r12, %r6;", "setp.lt.s32 \t%p2, %r12, 2000;")
PLANT(another_pointer, "vadd_param_0];", "vadd_param_1];")
PLANT(store_missed, "st.global", "st.shared")
PLANT(load_missed, "ld.global", "ld.shared")
PLANT(atomic_taken_for_a_load, "atom.global.", "atom.shared.")

TEST_MAIN()
