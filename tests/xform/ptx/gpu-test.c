// SPDX-License-Identifier: MIT
/*
 * The corpus on whatever driver libcuda.so.1 leads to, or GPUSHARE_REAL_LIBCUDA names: on a
 * GPU where there is one (make check-gpu), on the CPU's in every check. Each kernel runs
 * whole and is held against the reference; then in slices, guarded with stops that
 * the host writes while it runs, and by workers whose number changes; the memory
 * must be the whole run's to the bit.
 */
#include <dlfcn.h>
#include "harness.h"
#include "gsxform.h"
#include "cpucuda/api.h"
#include "tests/cpucuda/corpus.h"

#define SEED 31u

#define DRIVER(X) \
	X(cuInit) X(cuDriverGetVersion) \
	X(cuDeviceGetAttribute) X(cuDeviceGetName) X(cuDevicePrimaryCtxRetain) \
	X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuModuleLoadDataEx) X(cuModuleGetFunction) \
	X(cuModuleUnload) X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemHostAlloc) \
	X(cuMemHostGetDevicePointer_v2) X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuMemsetD8_v2) \
	X(cuLaunchKernel) X(cuLaunchCooperativeKernel) X(cuStreamCreate) X(cuStreamSynchronize) \
	X(cuStreamQuery) X(cuFuncGetAttribute)
static struct {
#define X(name) __typeof__(&name) name;
	DRIVER(X)
#undef X
} cu;

#define MUST(x) ASSERT_EQ(CUDA_SUCCESS, x)
#define TRY(x) do { CUresult r_ = (x); if (r_) return fail_at(#x, r_); } while (0)

struct ctx {
	CUdeviceptr buf[5], queue, slots[4];
	CUstream s[2];
	volatile uint32_t *words;	/* stop, and 16 further on the quota */
	CUdeviceptr words_dev;
	int cc, sms, version;
};

struct job {
	struct ctx *c;
	const struct corpus_run *r;
	const struct gsx_kernel *k;
	CUfunction whole, variant[GSX_MODES];
	struct corpus_args args;
	uint64_t gridid;
};

static char why[300];
static uint64_t state = SEED;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static const char *fail_at(const char *what, CUresult r)
{
	snprintf(why, sizeof(why), "%s: error %d", what, (int)r);
	return why;
}

static void open_driver(struct ctx *c)
{
	const char *driver = getenv("GPUSHARE_REAL_LIBCUDA");
	void *h = dlopen(driver && *driver ? driver : "libcuda.so.1", RTLD_NOW), *p;
	CUcontext ctx;
	char name[100] = "";
	int k, major, minor;

	CUresult r;

	if (!h && !(driver && *driver))
		SKIP("no libcuda.so.1");
	ASSERT_TRUE(h != NULL);
#define X(name) cu.name = (__typeof__(cu.name))dlsym(h, #name); ASSERT_TRUE(cu.name != NULL);
	DRIVER(X)
#undef X
	r = cu.cuInit(0);
	if (r == CUDA_ERROR_NO_DEVICE)
		SKIP("no CUDA device");
	MUST(r);	/* there is one, and it doesn't work */
	MUST(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(cu.cuCtxSetCurrent(ctx));
	MUST(cu.cuDeviceGetName(name, sizeof(name), 0));
	MUST(cu.cuDeviceGetAttribute(&major, (CUdevice_attribute)75, 0));
	MUST(cu.cuDeviceGetAttribute(&minor, (CUdevice_attribute)76, 0));
	MUST(cu.cuDeviceGetAttribute(&c->sms, (CUdevice_attribute)16, 0));
	c->cc = major * 10 + minor >= 90 ? 90 : 75;
	MUST(cu.cuDriverGetVersion(&c->version));
	printf("# %s, sm_%d%d, %d multiprocessors, seed %u\n", name, major, minor, c->sms, SEED);
	for (k = 0; k < 5; k++)
		MUST(cu.cuMemAlloc_v2(&c->buf[k], CORPUS_BYTES));
	MUST(cu.cuMemAlloc_v2(&c->queue, sizeof(struct gsx_queue)));
	for (k = 0; k < 4; k++)
		MUST(cu.cuMemAlloc_v2(&c->slots[k], 1024 * sizeof(struct gsx_slot)));
	for (k = 0; k < 2; k++)
		MUST(cu.cuStreamCreate(&c->s[k], 1));
	MUST(cu.cuMemHostAlloc(&p, 4096, 2));
	MUST(cu.cuMemHostGetDevicePointer_v2(&c->words_dev, p, 0));
	c->words = p;
}

static const char *launch(struct job *j, CUfunction f, const uint32_t g[3], struct gsx_launch *h,
			  CUstream s)
{
	const unsigned int *b = j->r->block;
	void *args[34];
	int k;

	for (k = 0; k < j->args.n; k++)
		args[k] = j->args.bytes[k];
	args[k] = h;
	if (j->r->flags & COOP)
		TRY(cu.cuLaunchCooperativeKernel(f, g[0], g[1], g[2], b[0], b[1], b[2],
						 j->r->dynamic, s, args));
	else
		TRY(cu.cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], j->r->dynamic, s, args,
				      NULL));
	return NULL;
}

static const char *whole(struct job *j)
{
	const char *error = launch(j, j->whole, j->r->grid, NULL, j->c->s[0]);

	if (!error)
		TRY(cu.cuStreamSynchronize(j->c->s[0]));
	return error;
}

/* Runs of blocks along x, ascending, in one stream. */
static const char *slices(struct job *j)
{
	const uint32_t *d = j->r->grid;
	struct gsx_launch h;
	const char *error = NULL;
	uint32_t at, total = d[0] * d[1] * d[2], box[3] = { 1, 1, 1 };

	gsx_launch_init(&h, d);
	h.gridid = j->gridid;
	for (at = 0; at < total && !error; at += box[0]) {
		h.base[0] = at % d[0];
		h.base[1] = at / d[0] % d[1];
		h.base[2] = at / d[0] / d[1];
		box[0] = 1 + draw(d[0] - h.base[0]);
		error = launch(j, j->variant[GSX_SLICE], box, &h, j->c->s[0]);
	}
	if (!error)
		TRY(cu.cuStreamSynchronize(j->c->s[0]));
	return error;
}

/* Waits a little, as long as the kernel does. */
static void linger(CUstream s)
{
	uint32_t us = draw(300);

	while (us-- && cu.cuStreamQuery(s) == CUDA_ERROR_NOT_READY)
		usleep(1);
}

static const char *read_queue(struct job *j, struct gsx_queue *q)
{
	TRY(cu.cuCtxSynchronize());
	TRY(cu.cuMemcpyDtoH_v2(q, j->c->queue, sizeof(*q)));
	return NULL;
}

static const char *ticket_round(struct job *j, struct gsx_launch *h, enum gsx_mode mode,
				uint32_t left, bool calm)
{
	uint32_t dim[3] = { mode == GSX_GUARD ? 1 + draw(left) : 1 + draw(24), 1, 1 };
	struct ctx *c = j->c;
	const char *error;

	c->words[0] = 0;
	c->words[16] = 1 + draw(3);
	h->slots = c->slots[0];
	error = launch(j, j->variant[mode], dim, h, c->s[0]);
	if (!error && mode == GSX_WORKERS && draw(2)) {	/* more hands while it runs */
		linger(c->s[0]);
		c->words[16] = 1 + draw(6);
		dim[0] = 1 + draw(8);
		h->slots = c->slots[1];
		error = launch(j, j->variant[mode], dim, h, c->s[1]);
	}
	if (!error && !calm) {
		linger(c->s[0]);
		c->words[mode == GSX_WORKERS && draw(2) ? 16 : 0] =
			mode == GSX_WORKERS ? draw(2) : 1;
		if (mode == GSX_WORKERS && draw(2))
			c->words[0] = 1;
	}
	return error;
}

static const char *tickets(struct job *j, enum gsx_mode mode)
{
	struct gsx_queue q = { 0 };
	struct gsx_launch h;
	const char *error;
	uint32_t tries = 0, k;

	TRY(cu.cuMemsetD8_v2(j->c->queue, 0, sizeof(q)));
	TRY(cu.cuCtxSynchronize());
	gsx_launch_init(&h, j->r->grid);
	h.gridid = j->gridid;
	h.queue = j->c->queue;
	h.stop = j->c->words_dev;
	h.quota = j->c->words_dev + 64;
	h.progress = j->c->queue + offsetof(struct gsx_queue, done);
	while (q.next < h.total) {
		error = ticket_round(j, &h, mode, h.total - q.next, tries % 3 == 2);
		if (!error)
			error = read_queue(j, &q);
		if (error)
			return error;
		for (k = 0; k < GSX_SM_SLOTS; k++)
			if (q.sm[k])
				return "workers stay in the books";
		if (mode == GSX_WORKERS && q.done != gsx_queue_done(q.next, h.total))
			return "blocks are counted wrong";
		if (++tries > 30 * h.total + 100)
			return "no progress";
	}
	return NULL;
}

static const char *cut(struct job *j, int mode)
{
	return mode == GSX_SLICE ? slices(j) : tickets(j, (enum gsx_mode)mode);
}

static bool may_cut(const struct job *j, int mode)
{
	const unsigned int *b = j->r->block;

	return j->k->variant[mode] && !(j->r->flags & (WAVE | COOP | CLUSTER)) &&
		(mode != GSX_WORKERS || !(j->k->needs & GSX_NEEDS_ROWS) || b[0] % 32 == 0 ||
		 (b[1] == 1 && b[2] == 1));
}

static const char *fresh(struct job *j)
{
	TRY(cu.cuMemsetD8_v2(j->c->buf[0], 0, CORPUS_BYTES));
	TRY(cu.cuCtxSynchronize());
	return NULL;
}

static const char *fetch(struct job *j, void *to)
{
	TRY(cu.cuMemcpyDtoH_v2(to, j->c->buf[0], CORPUS_BYTES));
	return NULL;
}

/* Module variables start anew with the module, so each way gets one of its own. */
static const char *one_way(struct job *j, const struct gsx_result *x, int mode, void *to)
{
	const char *error;
	CUmodule m;
	int k;

	TRY(cu.cuModuleLoadDataEx(&m, x->text, 0, NULL, NULL));
	TRY(cu.cuModuleGetFunction(&j->whole, m, j->k->name));
	for (k = 0; k < GSX_MODES; k++)
		if (j->k->variant[k])
			TRY(cu.cuModuleGetFunction(&j->variant[k], m, j->k->variant[k]));
	error = fresh(j);
	if (!error)
		error = mode < 0 ? whole(j) : cut(j, mode);
	if (!error)
		error = fetch(j, to);
	TRY(cu.cuModuleUnload(m));
	return error;
}

static const char *kernel(struct job *j, const struct gsx_result *x, struct corpus_data *d,
			  uint32_t *runs)
{
	static uint8_t first[CORPUS_BYTES], now[CORPUS_BYTES];
	const char *error = one_way(j, x, -1, first);
	int mode;

	if (error)
		return error;
	if (!(j->r->flags & NOREF) && corpus_differs(j->r, d->expect, first) >= 0)
		return "the whole run differs from the reference";
	for (mode = 0; mode < GSX_MODES; mode++) {
		/* what the driver numbers a launch, the variants can't know here */
		if (!may_cut(j, mode) || !strcmp(j->r->name, "reads_gridid"))
			continue;
		error = one_way(j, x, mode, now);
		++*runs;
		if (!error && memcmp(first, now, CORPUS_BYTES))
			error = "memory differs";
		if (error) {
			snprintf(why, sizeof(why), "%s: %s", gsx_mode_name((enum gsx_mode)mode), error);
			return why;
		}
	}
	return NULL;
}

static void run_file(const char *file)
{
	const void *from[5];
	struct gsx_result x = { 0 };
	struct corpus_data d;
	struct corpus_run *r = NULL;
	uint32_t runs = 0, i;
	struct ctx c = { 0 };
	char *text = NULL;
	size_t len;
	int k;

	open_driver(&c);
	while ((r = corpus_next(r, file, c.cc))) {
		struct job j = { .c = &c, .r = r, .gridid = 1 };
		struct corpus_bufs on = { (void *)c.buf[0], (void *)c.buf[1], (void *)c.buf[2],
			(void *)c.buf[3], (void *)c.buf[4] };
		const char *error;

		if (r->flags & NOEXEC)
			continue;
		if (!text) {
			text = corpus_text(r, c.cc, &len);
			ASSERT_TRUE(text != NULL);
			corpus_suit(text, c.version);
			ASSERT_EQ(0, gsx_ptx_transform(text, len, NULL, &x));
		}
		for (i = 0; i < x.n_kernels; i++)
			if (!strcmp(x.kernels[i].name, r->name))
				j.k = &x.kernels[i];
		ASSERT_TRUE(j.k != NULL);
		ASSERT_EQ(0, corpus_data_make(&d));
		memcpy(from, (const void *[]){ NULL, d.bufs.in, d.bufs.inf, d.bufs.ind,
			d.bufs.inl }, sizeof(from));
		for (k = 1; k < 5; k++)
			MUST(cu.cuMemcpyHtoD_v2(c.buf[k], from[k], CORPUS_BYTES));
		corpus_expect(&d, r);
		r->args(&on, &j.args);
		error = kernel(&j, &x, &d, &runs);
		if (error)
			test_fail("%s: %s", r->name, error);
		corpus_data_free(&d);
	}
	printf("# %s: %u cut runs\n", file, runs);
}

#define FILE_TEST(name) TEST_LIMIT(name, 300) { run_file(#name ".cu"); }
CORPUS_FILES(FILE_TEST)
TEST_MAIN()
