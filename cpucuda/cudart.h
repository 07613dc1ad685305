/* SPDX-License-Identifier: MIT */
/* What the parts of the runtime double share. */
#ifndef CPUCUDA_CUDART_H
#define CPUCUDA_CUDART_H

#include <stdbool.h>
#include <stdint.h>
#include "api.h"

#define API __attribute__((visibility("default")))
#define RT(name, ...) API CUresult name(__VA_ARGS__); API CUresult name(__VA_ARGS__)
#define P(x) ((CUdeviceptr)(uintptr_t)(x))

/* The driver is there, and this thread has a context. */
CUresult rt_ready(void);
/* What a call returns is kept until somebody asks for the last error. */
CUresult rt_keep(CUresult r);
/* The kernel, or the variable, that the program knows by an address of its own. */
CUresult rt_kernel(const void *host, CUkernel *k);
CUresult rt_variable(const void *host, CUdeviceptr *p, size_t *size);
/* @n bytes of it, from @off on: where they are. */
CUresult rt_part_of(const void *host, size_t n, size_t off, CUdeviceptr *p);
/* A function of the driver, by the name that cuda.h gives it; NULL: it has none. */
void *rt_driver(const char *name);

#define DO(expr) rt_keep(rt_ready() ?: (expr))
#define NOT_SUPPORTED ((CUresult)801)

/* Call a function of the driver that older ones lack. */
#define CALL(name, ...) ({							\
	static __typeof__(&name) call_;						\
	CUresult r_ = rt_ready();						\
	if (!r_ && !call_)							\
		call_ = (__typeof__(call_))rt_driver(#name);			\
	r_ ? r_ : call_ ? call_(__VA_ARGS__) : NOT_SUPPORTED; })
/* A function whose arguments are those of the driver's. */
#define SAME(rt, driver, params, ...) \
	API CUresult rt params;							\
	API CUresult rt params { return rt_keep(CALL(driver, __VA_ARGS__)); }
/* What was begun in this thread's stream is over. */
#define DONE(r) ({ CUresult d_ = (r); rt_keep(d_ ? d_ : CALL(cuStreamSynchronize, OWN(0))); })
/* The stream of this thread, where the program was built for one each. */
#define OWN(s) ((s) ? (s) : (CUstream)2)

#endif
