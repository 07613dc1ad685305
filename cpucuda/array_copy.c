// SPDX-License-Identifier: MIT
/* Copies of bytes to and from arrays, which count along the first row and go on. */
#include <string.h>
#include "driver.h"

static CUresult in_array(struct side *s, CUarray a, size_t offset, size_t n)
{
	memset(s, 0, sizeof(*s));
	if (!IS(a, MAGIC_ARRAY))
		return CUDA_ERROR_INVALID_HANDLE;
	if (offset > a->b->size || n > a->b->size - offset)
		return CUDA_ERROR_INVALID_VALUE;
	s->addr = a->b->addr + offset;
	s->pitch = n;
	s->height = 1;
	s->array = a;
	return CUDA_SUCCESS;
}

static struct side plain(uint64_t addr, size_t n, bool host)
{
	return (struct side){ .addr = addr, .pitch = n, .height = 1, .is_host = host };
}

static void bytes(struct work *w, size_t n)
{
	w->copy.width = n;
	w->copy.rows = w->copy.planes = 1;
}

#define U(p) ((uint64_t)(uintptr_t)(p))

#define TO_ARRAY(name, suffix, params, args, from, host, stream, async)		\
TWO(name, suffix, params, SPREAD args)						\
{										\
	struct work w = { .kind = W_COPY };					\
	CUresult r = in_array(&w.copy.dst, a, off, n);				\
										\
	w.copy.src = plain(U(from), n, host);					\
	bytes(&w, n);								\
	return r ? r : transfer(&w, stream, per_thread, async);			\
}

#define FROM_ARRAY(name, suffix, params, args, to, host, stream, async)		\
TWO(name, suffix, params, SPREAD args)						\
{										\
	struct work w = { .kind = W_COPY };					\
	CUresult r = in_array(&w.copy.src, a, off, n);				\
										\
	w.copy.dst = plain(U(to), n, host);					\
	bytes(&w, n);								\
	return r ? r : transfer(&w, stream, per_thread, async);			\
}

TO_ARRAY(cuMemcpyHtoA_v2, _ptds, (CUarray a, size_t off, const void *h, size_t n),
	 (a, off, h, n), h, true, NULL, false)
TO_ARRAY(cuMemcpyHtoAAsync_v2, _ptsz, (CUarray a, size_t off, const void *h, size_t n, CUstream s),
	 (a, off, h, n, s), h, true, s, true)
TO_ARRAY(cuMemcpyDtoA_v2, _ptds, (CUarray a, size_t off, CUdeviceptr d, size_t n),
	 (a, off, d, n), d, false, NULL, false)
FROM_ARRAY(cuMemcpyAtoH_v2, _ptds, (void *h, CUarray a, size_t off, size_t n),
	   (h, a, off, n), h, true, NULL, false)
FROM_ARRAY(cuMemcpyAtoHAsync_v2, _ptsz, (void *h, CUarray a, size_t off, size_t n, CUstream s),
	   (h, a, off, n, s), h, true, s, true)
FROM_ARRAY(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr d, CUarray a, size_t off, size_t n),
	   (d, a, off, n), d, false, NULL, false)

TWO(cuMemcpyAtoA_v2, _ptds, (CUarray to, size_t to_off, CUarray from, size_t from_off, size_t n),
    to, to_off, from, from_off, n)
{
	struct work w = { .kind = W_COPY };
	CUresult r = in_array(&w.copy.dst, to, to_off, n);

	if (!r)
		r = in_array(&w.copy.src, from, from_off, n);
	bytes(&w, n);
	return r ? r : transfer(&w, NULL, per_thread, false);
}
