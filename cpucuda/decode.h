/* SPDX-License-Identifier: MIT */
/* What the parts of the decoder share while a module is decoded. */
#ifndef CPUCUDA_DECODE_H
#define CPUCUDA_DECODE_H

#include "code.h"

struct decoder {
	struct program *p;
	struct ptx_module m;
	void *owner;
	uint32_t device;
	struct decoder *all;	/* the modules that are linked with this one, and itself */
	uint32_t n_all;
	uint64_t *place;	/* of each variable: address or offset */
	uint32_t *reg_at;	/* of each register: its number in its function's frame */
	uint32_t common;	/* bytes of shared memory that functions share */
	uint32_t *label_at;	/* instruction that a label stands before */
	uint8_t *seen;		/* functions, on the way over calls */
};

__attribute__((format(printf, 4, 5)))
int decode_fail(struct decoder *d, int err, uint32_t line, const char *fmt, ...);
/* Memory that goes with the program. */
void *decode_take(struct program *p, size_t n, size_t size);
char *decode_name(struct decoder *d, uint32_t sym);
/* Places the module's own variables; then, with those of all others there, fills them in. */
int decode_places(struct decoder *d);
int decode_state(struct decoder *d);
/* The same for shared memory: the module's and its functions', then an entry's. */
void decode_common_shared(struct decoder *d);
void decode_own_shared(struct decoder *d, uint32_t fi);

static inline uint64_t align_up(uint64_t v, uint64_t a)
{
	return a ? (v + a - 1) / a * a : v;
}

static inline bool dynamic_shared(const struct ptx_variable *v)
{
	return v->space == PTX_SPACE_SHARED && !v->size;
}

/* The function of the tree's, or another module's of that name, if this one only declares it. */
struct func *decode_function(struct decoder *d, uint32_t ref);

#endif
