// SPDX-License-Identifier: MIT
/*
 * The shadow programs. The text is copied as it is, with these changes:
 *
 *  - In front stand the state of a launch, struct gsx_state, and what reads it.
 *  - A function that needs the state takes it as its first parameter, gsx_s, and so
 *    do its prototypes and all functions of its name; calls of it pass gsx_s on.
 *  - A call of a work-item function that the launch would answer wrongly,
 *    get_group_id(d), becomes gsx_get_group_id(gsx_s, d).
 *  - A kernel takes the hidden arguments behind its own and makes the state of them.
 *    Its name and its attributes stay.
 *  - Kernels that aren't cut are left out, unless another calls them.
 */
#include <string.h>

#include "cl.h"

/* What symbol.var holds while a text is written. */
enum action {
	LEAVE,
	ASK_STATE,		/* a work-item function, to be answered from the state */
	PASS_STATE,		/* a function that takes the state */
};

#define STATE	"__private const struct gsx_state *gsx_s"
#define ALWAYS	"__attribute__((always_inline)) "

static const char state_text[] =
	"/* The launch that the program asked for: b a group's number, n how many there are,\n"
	"   o the global offset, z the global size; w of b, n and o: the local size. */\n"
	"struct gsx_state { ulong4 b, n, o, z; };\n"
	"/* Beyond the third dimension the driver's own answer serves: they differ there. */\n";

struct reader {
	uint32_t use;
	enum gsx_mode mode;	/* GSX_MODES: both */
	const char *text;
};

/*
 * Native functions are asked with constants alone: PoCL 3.1 can't load some programs
 * that ask with a variable, and the original may not be one of these.
 */
#define READER(name, x, y, z)							\
	ALWAYS "size_t gsx_" name "(" STATE ", uint d)\n"			\
	"{ return d == 0 ? (size_t)(" x ") : d == 1 ? (size_t)(" y ") :\n"	\
	"  d == 2 ? (size_t)(" z ") : " name "(3); }\n"
#define GLOBAL(x, i) "gsx_s->o." x " + gsx_s->b." x " * get_local_size(" i ") + get_local_id(" i ")"

static const struct reader readers[] = {
	{ U_GROUP_ID, GSX_SLICE,
	  READER("get_group_id", "gsx_s->b.x + get_group_id(0)", "gsx_s->b.y + get_group_id(1)",
		 "gsx_s->b.z + get_group_id(2)") },
	{ U_GROUP_ID, GSX_WORKERS,
	  READER("get_group_id", "gsx_s->b.x", "gsx_s->b.y", "gsx_s->b.z") },
	{ U_GLOBAL_ID, GSX_WORKERS,
	  READER("get_global_id", GLOBAL("x", "0"), GLOBAL("y", "1"), GLOBAL("z", "2")) },
	{ U_NUM_GROUPS, GSX_MODES,
	  READER("get_num_groups", "gsx_s->n.x", "gsx_s->n.y", "gsx_s->n.z") },
	{ U_GLOBAL_SIZE, GSX_MODES,
	  READER("get_global_size", "gsx_s->z.x", "gsx_s->z.y", "gsx_s->z.z") },
	{ U_GLOBAL_OFFSET, GSX_MODES,
	  READER("get_global_offset", "gsx_s->o.x", "gsx_s->o.y", "gsx_s->o.z") },
	{ U_GLOBAL_LINEAR, GSX_SLICE,
	  ALWAYS "size_t gsx_get_global_linear_id(" STATE ")\n"
	  "{ return ((get_global_id(2) - (size_t)gsx_s->o.z) * (size_t)gsx_s->z.y +\n"
	  "  get_global_id(1) - (size_t)gsx_s->o.y) * (size_t)gsx_s->z.x +\n"
	  "  get_global_id(0) - (size_t)gsx_s->o.x; }\n" },
	{ U_GLOBAL_LINEAR, GSX_WORKERS,
	  ALWAYS "size_t gsx_get_global_linear_id(" STATE ")\n"
	  "{ return (((size_t)gsx_s->b.z * get_local_size(2) + get_local_id(2)) *\n"
	  "  (size_t)gsx_s->z.y + (size_t)gsx_s->b.y * get_local_size(1) + get_local_id(1)) *\n"
	  "  (size_t)gsx_s->z.x + (size_t)gsx_s->b.x * get_local_size(0) + get_local_id(0); }\n" },
	{ U_ENQUEUED_SIZE, GSX_SLICE,
	  READER("get_enqueued_local_size", "gsx_s->b.w", "gsx_s->n.w", "gsx_s->o.w") },
};

void cl_put(struct job *j, const char *s, size_t len)
{
	struct out *o = &j->o;

	if (!len)
		return;
	while (o->cap - o->n < len)
		o->p = cl_grow(j, o->p, &o->cap, 1);
	memcpy(o->p + o->n, s, len);
	o->n += len;
}

void cl_puts(struct job *j, const char *s)
{
	cl_put(j, s, strlen(s));
}

void cl_put_name(struct job *j, uint32_t tok)
{
	cl_put(j, j->text + j->toks[tok].pos, j->toks[tok].len);
}

static uint32_t behind(const struct job *j, uint32_t tok)
{
	return j->toks[tok].pos + j->toks[tok].len;
}

/* The text up to @pos as it is. */
static void copy_to(struct job *j, uint32_t pos)
{
	if (pos > j->from)
		cl_put(j, j->text + j->from, pos - j->from);
	j->from = pos;
}

/* The state as the first parameter, behind the parenthesis at @open. */
static void put_state(struct job *j, uint32_t open)
{
	uint32_t first = open + 1, close = j->toks[open].x;

	cl_puts(j, STATE);
	if (first == close || (first + 1 == close && word(j, first) == W_VOID))
		j->from = j->toks[close].pos;
	else
		cl_puts(j, ", ");
}

/* Behind a type: a function that is declared in a block, no call. */
static bool declared(const struct job *j, uint32_t i)
{
	enum word w;

	if (is(j, i - 1, '*'))
		i--;
	if (!is_name(j, i - 1))
		return false;
	w = word(j, i - 1);
	return sym(j, i - 1)->flags & S_TYPE || w == W_SIGNED || (w >= W_VOID && w < W_GLOBAL_ID);
}

/* Up to token @to, calls changed. */
static void copy_tokens(struct job *j, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from; i < to; i++) {
		const struct symbol *y;

		if (!is_name(j, i))
			continue;
		y = sym(j, i);
		if (y->var == LEAVE || !is(j, i + 1, '(') ||
		    (i && (is(j, i - 1, '.') || is(j, i - 1, LEX_ARROW))))
			continue;
		copy_to(j, j->toks[i].pos);
		if (y->var == ASK_STATE)
			cl_puts(j, "gsx_");
		copy_to(j, behind(j, i + 1));
		if (declared(j, i))
			put_state(j, i + 1);
		else
			cl_puts(j, is(j, i + 2, ')') ? "gsx_s" : "gsx_s, ");
	}
	copy_to(j, j->toks[to].pos);
}

/* Tokens [from, to) once more, somewhere else. */
void cl_put_tokens(struct job *j, uint32_t from, uint32_t to)
{
	uint32_t back = j->from;

	if (from >= to)
		return;
	if (begins_line_hash(j, from))
		cl_puts(j, "\n");
	j->from = j->toks[from].pos;
	copy_tokens(j, from, to - 1);
	copy_to(j, behind(j, to - 1));
	if (j->toks[to - 1].kind == LEX_OTHER)	/* a directive's end */
		cl_puts(j, "\n");
	j->from = back;
}

static void write_function(struct job *j, const struct fn *f, enum gsx_mode mode)
{
	copy_to(j, behind(j, f->open));
	if (f->needs & GSX_BIT(mode))
		put_state(j, f->open);
	if (f->body == NONE) {
		copy_to(j, j->toks[f->end].pos);
		return;
	}
	copy_to(j, j->toks[f->body].pos);
	copy_tokens(j, f->body, f->end);
}

static void write_slice(struct job *j, const struct fn *f)
{
	copy_to(j, behind(j, f->open));
	if (!f->n_params)
		j->from = j->toks[f->close].pos;
	copy_to(j, j->toks[f->close].pos);
	cl_puts(j, f->n_params ? ", " : "");
	cl_puts(j, "ulong4 gsx_h0, ulong4 gsx_h1, ulong4 gsx_h2, ulong4 gsx_h3");
	copy_to(j, behind(j, f->body));
	cl_puts(j, "\n\tstruct gsx_state gsx_v;\n\t" STATE " = &gsx_v;\n"
	      "\tgsx_v.b = gsx_h0; gsx_v.n = gsx_h1; gsx_v.o = gsx_h2; gsx_v.z = gsx_h3;\n");
	copy_tokens(j, f->body + 1, f->end);
	copy_to(j, behind(j, f->end));
}

static bool is_cut(const struct job *j, const struct fn *f, enum gsx_mode mode)
{
	return f->kernel && !f->called && !f->dead && f->body != NONE && f->modes & GSX_BIT(mode) &&
		(mode != GSX_SLICE || !f->native || j->opt->rewrite_native);
}

/* Is some kernel of this name cut in this mode? Its prototypes go then. */
static bool name_is_cut(const struct job *j, const struct fn *f, enum gsx_mode mode)
{
	uint32_t i;

	for (i = sym(j, f->name)->fn; i != NONE; i = j->fns[i].next)
		if (is_cut(j, &j->fns[i], mode))
			return true;
	return false;
}

static uint32_t set_actions(struct job *j, enum gsx_mode mode)
{
	uint32_t rewrite = mode == GSX_SLICE ? U_SLICE : U_WORKERS, uses = 0, i;

	for (i = 0; i < j->n_syms; i++) {
		struct symbol *y = &j->syms[i];

		y->var = LEAVE;
		if (y->fn != NONE)
			y->var = j->fns[y->fn].needs & GSX_BIT(mode) ? PASS_STATE : LEAVE;
		else if (cl_use_of_word(y->word) & rewrite)
			y->var = ASK_STATE;
	}
	for (i = 0; i < j->n_fns; i++)
		uses |= j->fns[i].uses;
	return uses & rewrite;
}

/* @part: where it has come to be. */
static void write_cut(struct job *j, const struct fn *f, enum gsx_mode mode,
		      struct gsx_cl_part *part)
{
	copy_to(j, j->toks[f->from].pos);
	part->at = j->o.n;
	if (mode == GSX_SLICE)
		write_slice(j, f);
	else
		cl_write_worker(j, f);
	part->len = j->o.n - part->at;
	j->from = behind(j, f->end);
}

void cl_write_text(struct job *j, enum gsx_mode mode, struct gsx_cl_result *res)
{
	struct gsx_cl_kernel *kernel = (struct gsx_cl_kernel *)(uintptr_t)res->kernels;
	uint32_t i, uses;
	bool any = false;

	for (i = 0; i < j->n_fns; i++)
		any |= is_cut(j, &j->fns[i], mode);
	if (!any)
		return;
	j->o = (struct out){ 0 };
	j->from = 0;
	uses = set_actions(j, mode);
	if (j->source)
		cl_puts(j, j->source->guard);
	cl_puts(j, state_text);
	for (i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (readers[i].use & uses &&
		    (readers[i].mode == GSX_MODES || readers[i].mode == mode))
			cl_puts(j, readers[i].text);
	if (mode == GSX_WORKERS)
		cl_puts(j, cl_worker_prelude);
	cl_puts(j, "\n");
	for (i = 0; i < j->n_fns; i++) {
		const struct fn *f = &j->fns[i];

		if (is_cut(j, f, mode)) {
			write_cut(j, f, mode, &kernel->part[mode]);
		} else if (f->dead || (f->kernel && !f->called)) {
			copy_to(j, j->toks[f->from].pos);
			j->from = behind(j, f->end);
		} else if (!f->kernel) {
			write_function(j, f, mode);
		} else if (f->body == NONE && name_is_cut(j, f, mode)) {
			copy_to(j, j->toks[f->from].pos);
			j->from = behind(j, f->end);
		}
		/* They are told in this order. */
		kernel += f->kernel && f->body != NONE;
	}
	copy_to(j, j->len);
	cl_puts(j, "\n");
	res->len[mode] = j->o.n;
	cl_put(j, "", 1);
	res->text[mode] = j->o.p;
}
