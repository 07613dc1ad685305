// SPDX-License-Identifier: MIT
/*
 * Finding the driver behind us, at the program's first call.
 *
 * We have the driver's name, so asking the loader for that name gives ourselves.
 * A file asked for by its path is another matter: the loader compares inodes. So
 * the driver is what GPUSHARE_REAL_LIBCUDA names, or the first file of that name
 * that isn't we, nor another copy of us, in LD_LIBRARY_PATH, the loader's cache and
 * the usual folders.
 *
 * A function of it is looked up when it is first called: most programs call few.
 *
 * cuGetProcAddress is answered by the driver; then the pointer that it gave is
 * looked for among the functions that it exports by that name, with any suffix, and
 * ours of the same name is given. So versions and flags are right by construction,
 * and what we don't know passes through. Should a driver give pointers that it
 * doesn't export, the name is looked up with its version and flag, which can't be
 * wrong up to the newest toolkit in names.h, and isn't tried beyond it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cut.h"
#include "link.h"
#include "rest.h"
#include "wrap.h"
#include "wrap/launch/option.h"
#include "ulib/glibc.h"

GS_OLD(dlopen);
GS_OLD(dlsym);
GS_OLD(dladdr);
GS_OLD(dlerror);

#define SONAME	"libcuda.so.1"

/*
 * Nothing here is an address, so the loader has nothing to fill in at each start. A
 * function's base name is what its name begins with.
 */
static const struct texts {
#define N(name, base, version, twin, first, last, kind) char name[sizeof(#name)];
#include "names.h"
} texts = {
#define N(name, base, version, twin, first, last, kind) #name,
#include "names.h"
};

static const struct name {
	uint32_t version;
	uint16_t text;
	uint8_t base_len;
	bool twin;
	char kind;
	uint8_t stream;		/* of kind S: which parameter it is, from 1 */
} names[] = {
#define N(name, base, version, twin, first, last, kind) \
	{ version, offsetof(struct texts, name), sizeof(#base) - 1, twin, #kind[0], \
	  #kind[0] == 'S' ? (uint8_t)(#kind[1] - '0') : 0 },
#include "names.h"
};

_Static_assert(sizeof(texts) <= UINT16_MAX, "a place of a name doesn't fit");

static const char *text_of(const struct name *n)
{
	return (const char *)&texts + n->text;
}

static bool has_base(const struct name *n, const char *base)
{
	return !strncmp(text_of(n), base, n->base_len) && !base[n->base_len];
}

static void *self(size_t entry)
{
	return (char *)gs_self + gs_self[entry];
}

/* Those whose functions we know, 0 behind the last. gpusharectl doctor reads it. */
__attribute__((visibility("default"))) const uint32_t gpushare_cuda_toolkits[] = {
#define T(toolkit) toolkit,
#define N(name, base, version, twin, first, last, kind)
#include "names.h"
	0
};

static void *driver;
static bool resolved[GS_ENTRIES];
static pthread_mutex_t boot_lock = PTHREAD_MUTEX_INITIALIZER;
static bool booted;

/* Marks us, for other copies of us. */
__attribute__((visibility("default"))) const char gpushare_cuda_wrapper[] = GPUSHARE_RELEASE;

void gs_say(const char *format, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (n > 0)
		dprintf(STDERR_FILENO, "gpushare: %s\n", text);
}

/* What stands in for functions that the driver hasn't. */
static CUresult missing(void)
{
	return CUDA_ERROR_NOT_FOUND;
}


struct search {
	struct statx self;
	void *driver;
};

/* stat() by itself isn't in a glibc before 2.33. */
static int file_id(const char *path, struct statx *st)
{
	return statx(AT_FDCWD, path, 0, STATX_INO | STATX_SIZE, st);
}

static bool is_same(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
	       a->stx_dev_minor == b->stx_dev_minor;
}

static bool try_file(struct search *s, const char *path)
{
	struct statx st;
	void *lib;

	if (s->driver || file_id(path, &st) || is_same(&st, &s->self))
		return false;
	lib = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!lib || dlsym(lib, "gpushare_cuda_wrapper"))
		return false;
	if (!dlsym(lib, "cuInit"))
		return false;
	s->driver = lib;
	return true;
}

static void try_folders(struct search *s, const char *list)
{
	char path[PATH_MAX];
	size_t n;

	for (; list && *list && !s->driver; list += n + !!list[n]) {
		n = strcspn(list, ":;");
		if (n && n + sizeof(SONAME) + 1 < sizeof(path)) {
			snprintf(path, sizeof(path), "%.*s/%s", (int)n, list, SONAME);
			try_file(s, path);
		}
	}
}

/*
 * The loader's cache, as ldconfig writes it since glibc 2.2: this header, the
 * entries, the strings; offsets count from the header's beginning, which follows
 * an older table in some files.
 */
struct cache_header {
	char magic[20];
	uint32_t n, len, unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t key, value, version;
	uint64_t hwcap;
};

static void try_cache_text(struct search *s, const char *text, size_t len)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	const struct cache_header *h = memmem(text, len, magic, sizeof(magic) - 1);
	const struct cache_entry *e;
	size_t left, i;

	if (!h)
		return;
	left = len - (size_t)((const char *)h - text);
	e = (const struct cache_entry *)(h + 1);
	if (left < sizeof(*h) || (left - sizeof(*h)) / sizeof(*e) < h->n || text[len - 1])
		return;
	for (i = 0; i < h->n && !s->driver; i++)
		if (e[i].key < left && e[i].value < left &&
		    !strcmp((const char *)h + e[i].key, SONAME))
			try_file(s, (const char *)h + e[i].value);
}

static void try_cache(struct search *s)
{
	static const char path[] = "/etc/ld.so.cache";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct statx st;
	size_t size;
	void *text;

	if (fd < 0)
		return;
	if (!file_id(path, &st) && st.stx_size > 0) {
		size = (size_t)st.stx_size;
		text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text != MAP_FAILED) {
			try_cache_text(s, text, size);
			munmap(text, size);
		}
	}
	close(fd);
}

static void *find_driver(void)
{
	const char *path = secure_getenv("GPUSHARE_REAL_LIBCUDA");
	struct search s = { 0 };
	Dl_info self;

	if (path && *path) {
		s.driver = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		if (!s.driver)
			gs_say("GPUSHARE_REAL_LIBCUDA: %s", dlerror());
		else if (!dlsym(s.driver, "gpushare_cuda_wrapper"))
			return s.driver;
		return NULL;
	}
	if (dladdr((void *)gs_boot, &self) && self.dli_fname)
		file_id(self.dli_fname, &s.self);
	try_folders(&s, secure_getenv("LD_LIBRARY_PATH"));
	try_cache(&s);
	try_folders(&s, "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:"
		    "/usr/lib/wsl/lib:/usr/local/nvidia/lib64:/run/opengl-driver/lib");
	return s.driver;
}

static void in_child(void)
{
	pthread_mutex_init(&boot_lock, NULL);
	gs_keeper_forget();
	gs_rest_forget();
	gs_lanes_forget();
	gs_captures_forget();
	gs_modules_forget();
	gs_links_forget();
	gs_records_forget();
	gs_memory_forget();
	gs_devices_forget();
}

static void look_up(size_t entry)
{
	void *real = driver ? dlsym(driver, text_of(&names[entry])) : NULL;

	__atomic_store_n(&gs_real[entry], real ? real : (void *)missing, __ATOMIC_RELEASE);
	__atomic_store_n(&resolved[entry], true, __ATOMIC_RELEASE);
}

/* They are called with a lock held that one who holds the loader's may wait for. */
static void resolve_early(void)
{
	static const size_t early[] = {
		I_cuEventQuery, I_cuEventElapsedTime, I_cuEventDestroy_v2, I_cuStreamQuery,
		I_cuCtxPushCurrent_v2, I_cuCtxPopCurrent_v2,
	};
	size_t i;

	for (i = 0; i < sizeof(early) / sizeof(*early); i++)
		look_up(early[i]);
}

void gs_boot(void)
{
	int saved = errno;

	pthread_mutex_lock(&boot_lock);
	if (!booted) {
		pthread_atfork(NULL, NULL, in_child);
		gs_options_read();
		driver = find_driver();
		if (!driver)
			gs_say("no other " SONAME " was found behind the wrapper: there is no CUDA; "
			       "GPUSHARE_REAL_LIBCUDA can name it");
		resolve_early();
		__atomic_store_n(&booted, true, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&boot_lock);
	errno = saved;
}

/* Fills in one entry of the table; whoever comes twice writes the same. */
void *gs_resolve(void **slot)
{
	size_t entry = (size_t)(slot - gs_real);
	int saved = errno;

	if (!__atomic_load_n(&booted, __ATOMIC_ACQUIRE))
		gs_boot();
	if (!__atomic_load_n(&resolved[entry], __ATOMIC_ACQUIRE))
		look_up(entry);
	errno = saved;
	return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

/*
 * Before a call that names its stream goes to the driver. Waits aren't among those: one for
 * a word in memory may stand in a queue of the hardware before the very work that writes it.
 */
void gs_settle_named(void **slot, const uint64_t *args)
{
	const struct name *n = &names[slot - gs_real];
	int saved = errno;

	gs_settle_stream((CUstream)(uintptr_t)args[n->stream - 1], n->twin);
	errno = saved;
}

bool gs_is_missing(enum gs_entry entry)
{
	return gs_resolve(&gs_real[entry]) == (void *)missing;
}

static void *by_name(const char *name, uint32_t version, bool twin)
{
	const struct name *best = NULL, *n;
	uint32_t newest = 0;
	size_t i;

	for (i = 0; gpushare_cuda_toolkits[i]; i++)
		if (gpushare_cuda_toolkits[i] > newest)
			newest = gpushare_cuda_toolkits[i];
	if (version > newest)
		return NULL;
	for (n = names; n < names + GS_ENTRIES; n++)
		if (has_base(n, name) && n->version && n->version <= version &&
		    (twin || !n->twin) && (!best || n->version > best->version ||
					   (n->version == best->version && n->twin > best->twin)))
			best = n;
	if (!best || best->kind == 'F' || gs_is_missing((enum gs_entry)(best - names)))
		return NULL;
	return self((size_t)(best - names));
}

/* The first name that isn't before @text; they are sorted. */
static size_t first_from(const char *text)
{
	size_t lo = 0, hi = GS_ENTRIES, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(text_of(&names[mid]), text) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool leads_to(size_t entry, const char *base, const void *real)
{
	return entry < GS_ENTRIES && has_base(&names[entry], base) &&
	       gs_resolve(&gs_real[entry]) == real;
}

/*
 * Ours for what the driver gave; NULL: we know none. Should two names lead there, either
 * will do: all forms of a function are of one kind, as a test sees to.
 */
static void *known(const char *name, void *real, int version, uint64_t flags)
{
	size_t len = strlen(name), i;
	char text[96];

	if (len + 2 > sizeof(text))
		return NULL;
	i = first_from(name);
	if (leads_to(i, name, real))
		return self(i);
	snprintf(text, sizeof(text), "%s_", name);
	i = first_from(text);
	for (; i < GS_ENTRIES && !strncmp(text_of(&names[i]), text, len + 1); i++)
		if (leads_to(i, name, real))
			return self(i);
	return by_name(name, (uint32_t)version, flags & 2);
}

static void *ours(const char *name, void *real, int version, uint64_t flags)
{
	void *own = known(name, real, version, flags);

	if (!own)
		gs_rest_stranger();
	return own ? own : real;
}

HOOK(cuGetProcAddress_v2, const char *name, void **fn, int version, uint64_t flags, int *status)
{
	CUresult r = REAL(cuGetProcAddress_v2)(name, fn, version, flags, status);

	if (!r && name && fn && *fn)
		*fn = ours(name, *fn, version, flags);
	return r;
}

HOOK(cuGetProcAddress, const char *name, void **fn, int version, uint64_t flags)
{
	CUresult r = REAL(cuGetProcAddress)(name, fn, version, flags);

	if (!r && name && fn && *fn)
		*fn = ours(name, *fn, version, flags);
	return r;
}

/* Without a driver, programs expect to hear that there is no device. */
HOOK(cuInit, unsigned int flags)
{
	return gs_is_missing(I_cuInit) ? CUDA_ERROR_NO_DEVICE : REAL(cuInit)(flags);
}
