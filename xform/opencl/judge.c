// SPDX-License-Identifier: MIT
/*
 * What can be done with each kernel. Facts come up from the functions that are called
 * to those that call: all functions of one name count as one, since which of several
 * overloads is meant isn't worked out.
 */
#include <errno.h>
#include <string.h>

#include "cl.h"

#define BOTH		(GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS))
#define MAX_OPS		1000000u

/* (0) or (1) */
static bool is_first_or_second(const struct job *j, uint32_t open)
{
	const struct tok *d = &j->toks[open + 1];

	return is(j, open, '(') && j->toks[open].x == open + 2 && d->len == 1 &&
		(j->text[d->pos] == '0' || j->text[d->pos] == '1');
}

/* Of so many dimensions this name looks at the global id; 3: perhaps of all. */
static uint32_t dims_of(const struct job *j, uint32_t i)
{
	switch (word(j, i)) {
	case W_GLOBAL_ID:
		return is_first_or_second(j, i + 1) ? j->text[j->toks[i + 2].pos] - '0' + 1 : 3;
	case W_GLOBAL_LINEAR:
	case W_WORK_DIM:
		return 3;
	default:
		return 0;
	}
}

/* Calls, dimensions and the number of instructions: what a pass over the tokens tells. */
static void find_calls(struct job *j, struct fn *f)
{
	uint32_t i;

	f->call = j->n_calls;
	for (i = f->body + 1; i < f->end; i++) {
		const struct tok *t = &j->toks[i];
		const struct symbol *y;

		if (t->kind == LEX_PUNCT) {
			f->ops += t->punct == '[' ? 2 : t->punct != ';' && t->punct != ',' &&
				t->punct != '(' && t->punct != ')' && t->punct != ']' &&
				t->punct != '{' && t->punct != '}' && t->punct != '.' &&
				t->punct != ':';
			continue;
		}
		if (t->kind != LEX_NAME)
			continue;
		if (f->dims < dims_of(j, i))
			f->dims = dims_of(j, i);
		if (!is(j, i + 1, '('))
			continue;
		y = sym(j, i);
		f->ops += y->word == W_PLAIN || y->word >= W_GLOBAL_ID || y->word <= W_DO;
		if (y->fn == NONE || is(j, i - 1, '.') || is(j, i - 1, LEX_ARROW))
			continue;
		*PUSH(j, j->calls, j->n_calls, j->cap_calls) = (struct call){ i, y->fn };
	}
	f->n_calls = j->n_calls - f->call;
}

static void inherit(struct fn *f, const struct fn *g)
{
	uint32_t more = g->uses & ~f->uses, i;

	for (i = 0; i < U_BITS; i++)
		if (more & 1u << i)
			f->line[i] = g->line[i];
	f->uses |= more;
	if (f->dims < g->dims)
		f->dims = g->dims;
}

/* All callees are read: this one now, and what it has from them. */
static void finish(struct job *j, struct fn *f)
{
	uint32_t i, k;

	cl_walk(j, f);
	f->uses |= f->own;
	if (f->state == 1)
		f->total_ops = f->ops;
	for (i = 0; i < f->n_calls; i++) {
		for (k = j->calls[f->call + i].fn; k != NONE; k = j->fns[k].next) {
			struct fn *g = &j->fns[k];

			spend(j);
			inherit(f, g);
			if (g->kernel)
				g->called = true;
			if (g->body != NONE && f->state == 1 && f->total_ops < MAX_OPS)
				f->total_ops += g->total_ops;
		}
	}
	if (f->total_ops > MAX_OPS)
		f->total_ops = MAX_OPS;
	f->state = 2;
}

struct visit {
	uint32_t fn, call, overload;
};

/* How many bodies the functions of this name have: 0, 1, or 2 for more. */
static uint32_t bodies(const struct job *j, const struct fn *f)
{
	uint32_t n = 0, k;

	for (k = sym(j, f->name)->fn; k != NONE && n < 2; k = j->fns[k].next)
		n += j->fns[k].body != NONE;
	return n;
}

/*
 * Depth first without recursion, into @order. A call of what is being read is recursion,
 * which the language forbids, or one of another overload: returns whether that was met.
 */
static bool read_from(struct job *j, uint32_t start, struct visit *stack, uint32_t *order,
		      uint32_t *n_order)
{
	uint32_t n = 0;
	bool again = false;

	stack[n++] = (struct visit){ start, 0, NONE };
	j->fns[start].state = 1;
	while (n) {
		struct visit *v = &stack[n - 1];
		struct fn *f = &j->fns[v->fn];

		if (v->overload == NONE) {
			if (v->call == f->n_calls) {
				finish(j, f);
				order[(*n_order)++] = v->fn;
				n--;
				continue;
			}
			v->overload = j->calls[f->call + v->call++].fn;
		}
		while (v->overload != NONE) {
			struct fn *g = &j->fns[v->overload];
			uint32_t k = v->overload;

			spend(j);
			v->overload = g->next;
			if (g->state == 1) {
				again = true;
				if (bodies(j, g) > 1)
					continue;
				f->own |= U_RECURSION;
				f->line[__builtin_ctz(U_RECURSION)] = j->toks[g->name].line;
			} else if (!g->state && g->body != NONE) {
				g->state = 1;
				stack[n++] = (struct visit){ k, 0, NONE };
				break;
			}
		}
	}
	return again;
}

#define MAX_ROUNDS	4

/* All functions, callees first; again where overloads call each other. */
static void read_all(struct job *j)
{
	struct visit *stack = cl_get(j, (j->n_fns + 1) * sizeof(*stack));
	uint32_t *order = cl_get(j, (j->n_fns + 1) * sizeof(*order));
	uint32_t n = 0, i, round;
	bool again = false;

	for (i = 0; i < j->n_fns; i++)
		if (!j->fns[i].state && j->fns[i].body != NONE)
			again |= read_from(j, i, stack, order, &n);
	for (round = 0; again; round++) {
		again = false;
		for (i = 0; i < n; i++) {
			struct fn *f = &j->fns[order[i]], old = *f;

			/* each more round only adds; too long a chain is no program's */
			if (round == MAX_ROUNDS)
				f->own |= U_RECURSION;
			finish(j, f);
			again |= round < MAX_ROUNDS &&
				(old.uses != f->uses || old.reads != f->reads ||
				 old.writes != f->writes || old.returns != f->returns ||
				 old.uniform != f->uniform || old.ret_flags != f->ret_flags ||
				 old.ret_deps != f->ret_deps ||
				 old.reads_shared != f->reads_shared ||
				 old.dims != f->dims);
		}
	}
}

/* A name's functions take the state if one of them needs it. */
static void set_needs(struct job *j)
{
	uint32_t i, k;

	for (i = 0; i < j->n_fns; i++) {
		struct fn *f = &j->fns[i];
		uint32_t uses = 0;
		bool dead, kernel = false;
		uint8_t needs = 0;

		if (sym(j, f->name)->fn != i)
			continue;
		for (k = i; k != NONE; k = j->fns[k].next) {
			kernel |= j->fns[k].kernel;
			uses |= j->fns[k].uses;
		}
		needs |= uses & U_SLICE ? GSX_BIT(GSX_SLICE) : 0;
		needs |= uses & U_WORKERS ? GSX_BIT(GSX_WORKERS) : 0;
		/* kernels that call those that clash are refused: the others must build */
		dead = uses & U_CLASH || (needs && cl_overloads_builtin(j, f));
		for (k = i; k != NONE; k = j->fns[k].next) {
			j->fns[k].needs = kernel || dead ? 0 : needs;
			j->fns[k].dead = dead;
		}
	}
}

struct rule {
	uint32_t uses;
	enum gsx_reason reason;
	bool native;		/* slices of the original are refused, too */
	uint32_t modes;
	const char *text;
};

static const struct rule rules[] = {
	{ U_WAITS, GSX_WAIT_LOOP, true, BOTH,
	  "this loop may wait until another work-group writes what it reads" },
	{ U_ENQUEUE, GSX_DEVICE_LAUNCH, true, BOTH,
	  "it launches kernels or uses blocks or queues on the device" },
	{ U_EXTERN, GSX_EXTERN_CALL, true, BOTH,
	  "a function or a variable that isn't in this program" },
	{ U_ASM, GSX_SPECIAL_USE, true, BOTH, "assembler, or what only a device has, isn't looked into" },
	{ U_RECURSION, GSX_UNKNOWN_FLOW, true, BOTH, "this function calls itself" },
	{ U_BARE, GSX_SPECIAL_USE, true, BOTH,
	  "the name of a function stands here without a call" },
	{ U_HIDDEN, GSX_UNKNOWN_FLOW, true, BOTH,
	  "statements within an expression aren't looked into" },
	{ U_GLOBAL_VAR, GSX_PROGRAM_SCOPE, false, BOTH,
	  "this variable belongs to the program: a shadow program would have its own" },
	{ U_PIPE, GSX_PIPE, false, BOTH, "pipes are left to the original" },
	{ U_SUB_GROUP, GSX_SUB_GROUPS, false, GSX_BIT(GSX_WORKERS),
	  "sub-group functions aren't tried in a loop of work-groups" },
	{ U_CLASH, GSX_SPECIAL_USE, false, BOTH,
	  "a function that would have to be rewritten has the name of a builtin one" },
	{ U_ENTERS, GSX_UNKNOWN_FLOW, false, GSX_BIT(GSX_WORKERS),
	  "a jump into a loop, which compilers can't have in a loop with barriers" },
	{ U_EARLY, GSX_EARLY_RETURN, false, GSX_BIT(GSX_WORKERS),
	  "work-items that return or jump here may leave others at a barrier" },
	{ U_DIVERGES, GSX_BARRIER_FORM, false, GSX_BIT(GSX_WORKERS),
	  "a barrier under a condition, or in a loop, that may differ between work-items" },
};

struct report {
	struct job *j;
	const struct fn *f;
	struct gsx_cl_kernel *k;
	struct gsx_refusal *to;
	uint32_t n, refused;
};

#define MAX_REFUSALS	24

static void refuse(struct report *r, enum gsx_reason reason, uint32_t modes, uint32_t line,
		   const char *text)
{
	modes &= BOTH;
	if (!modes || r->n == MAX_REFUSALS)
		return;
	r->to[r->n++] = (struct gsx_refusal){
		.reason = reason, .modes = modes, .text = text,
		.line = line ? line : r->j->toks[r->f->name].line,
	};
	r->refused |= modes;
}

/* A kernel that this one calls must not have been changed: is one that needs it? */
static uint32_t kernels_called(const struct job *j)
{
	uint32_t modes = 0, i;

	for (i = 0; i < j->n_fns; i++) {
		const struct fn *f = &j->fns[i];

		if (!f->kernel || !f->called)
			continue;
		modes |= f->uses & U_SLICE ? GSX_BIT(GSX_SLICE) : 0;
		modes |= f->uses & U_WORKERS ? GSX_BIT(GSX_WORKERS) : 0;
	}
	return modes;
}

static void judge_params(struct report *r)
{
	struct job *j = r->j;
	uint32_t i;

	cl_mark_copied(j, r->f);
	for (i = 0; i < r->f->n_params; i++) {
		struct param *p = &j->params[r->f->param + i];

		if (p->flags & GSX_CL_QUEUE)
			refuse(r, GSX_DEVICE_LAUNCH, BOTH, j->toks[p->from].line,
			       "it takes a queue of the device");
		if (p->flags & GSX_CL_PIPE)
			refuse(r, GSX_PIPE, r->f->native ? GSX_BIT(GSX_WORKERS) : BOTH,
			       j->toks[p->from].line, "pipes are left to the original");
		if (p->copied && (p->array || p->single))
			refuse(r, GSX_PARAM_FORM, GSX_BIT(GSX_WORKERS), j->toks[p->from].line,
			       "a parameter that the kernel changes can't be copied");
	}
}

static void judge_kernel(struct report *r, struct fn *f, uint32_t called)
{
	struct job *j = r->j;
	uint32_t i, asked = j->opt->modes & BOTH;

	f->native = !(f->uses & U_SLICE);
	for (i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct rule *u = &rules[i];
		uint32_t modes = u->modes;

		if (!(f->uses & u->uses))
			continue;
		if (!u->native && f->native)
			modes &= ~GSX_BIT(GSX_SLICE);
		refuse(r, u->reason, modes, f->line[__builtin_ctz(u->uses)], u->text);
	}
	if (f->called)
		refuse(r, GSX_KERNEL_CALL, f->native ? GSX_BIT(GSX_WORKERS) : BOTH, 0,
		       "another kernel calls it as a function");
	else if (f->uses & U_KERNEL)
		refuse(r, GSX_KERNEL_CALL, called & ~(f->native ? GSX_BIT(GSX_SLICE) : 0),
		       f->line[__builtin_ctz(U_KERNEL)],
		       "it calls a kernel that would have to be rewritten, too");
	if (f->local_form)
		refuse(r, GSX_LOCAL_FORM, GSX_BIT(GSX_WORKERS), f->local_form,
		       "a local variable is declared here in a way that can't be moved");
	judge_params(r);
	if (asked)
		refuse(r, GSX_NOT_ASKED, BOTH & ~asked, 0, "this mode wasn't asked for");
	f->modes = BOTH & ~r->refused;
}

static uint32_t kernel_flags(const struct fn *f)
{
	static const struct {
		uint32_t use, flag;
	} map[] = {
		{ U_WRITES_ANY | U_GLOBAL_VAR | U_EXTERN | U_ASM | U_ENQUEUE, GSX_WRITES_ANY },
		{ U_READS_ANY | U_GLOBAL_VAR | U_EXTERN | U_ASM | U_ENQUEUE, GSX_READS_ANY },
		{ U_WAITS, GSX_WAITS }, { U_BARRIER, GSX_BARRIERS },
		{ U_ATOMIC, GSX_ATOMICS }, { U_CALLS, GSX_CALLS },
		{ U_PRINTF, GSX_CL_PRINTF }, { U_SUB_GROUP, GSX_CL_SUB_GROUPS },
		{ U_COLLECTIVE, GSX_CL_COLLECTIVES }, { U_IMAGE, GSX_CL_IMAGES },
		{ U_PIPE, GSX_CL_PIPES }, { U_EARLY, GSX_CL_EARLY_RETURN },
		{ U_GLOBAL_VAR, GSX_CL_GLOBALS }, { U_SUB_COUNT, GSX_CL_UNIFORM },
	};
	uint32_t flags = f->kinds, i;

	for (i = 0; i < sizeof(map) / sizeof(*map); i++)
		if (f->uses & map[i].use)
			flags |= map[i].flag;
	if (f->native && f->modes & GSX_BIT(GSX_SLICE))
		flags |= GSX_CL_NATIVE;
	return flags;
}

static void report_params(struct report *r)
{
	struct job *j = r->j;
	const struct fn *f = r->f;
	struct gsx_cl_param *to = cl_get(j, (f->n_params + 1) * sizeof(*to));
	uint32_t i, access = GSX_PARAM_READ | GSX_PARAM_WRITTEN;
	bool all = f->uses & U_RECURSION;

	for (i = 0; i < f->n_params; i++) {
		const struct param *p = &j->params[f->param + i];
		uint64_t bit = 1ull << (i < 59 ? i : 59);

		to[i].name = p->name == NONE ? "" :
			cl_copy_text(j, j->text + j->toks[p->name].pos, j->toks[p->name].len);
		to[i].flags = p->flags & ~access;
		if (p->flags & (GSX_CL_LOCAL | GSX_CL_SAMPLER))
			continue;
		if (p->flags & GSX_CL_PIPE || (all && p->flags & GSX_PARAM_POINTER)) {
			to[i].flags |= access;
			continue;
		}
		if (f->reads & bit)
			to[i].flags |= GSX_PARAM_READ;
		if (f->writes & bit && !(p->flags & GSX_CL_CONSTANT))
			to[i].flags |= GSX_PARAM_WRITTEN;
		/* what the access of an image forbids isn't done */
		if (p->flags & GSX_CL_IMAGE && !(p->flags & GSX_PARAM_WRITTEN))
			to[i].flags &= ~GSX_PARAM_WRITTEN;
	}
	r->k->params = to;
	r->k->n_params = f->n_params;
}

/* Groups at a time, as accelOS chooses them by a kernel's instructions. */
static uint32_t batch_for(uint32_t ops)
{
	return ops < 10 ? 8 : ops < 20 ? 6 : ops < 30 ? 4 : ops < 40 ? 2 : 1;
}

void cl_judge(struct job *j, struct gsx_cl_result *res)
{
	struct gsx_cl_kernel *kernels;
	uint32_t i, n = 0, called;

	for (i = 0; i < j->n_fns; i++)
		if (j->fns[i].body != NONE)
			find_calls(j, &j->fns[i]);
	read_all(j);
	set_needs(j);
	called = kernels_called(j);
	for (i = 0; i < j->n_fns; i++)
		n += j->fns[i].kernel && j->fns[i].body != NONE;
	kernels = cl_get(j, (n + 1) * sizeof(*kernels));
	res->kernels = kernels;
	for (i = 0; i < j->n_fns; i++) {
		struct fn *f = &j->fns[i];
		struct gsx_cl_kernel *k = &kernels[res->n_kernels];
		struct gsx_refusal found[MAX_REFUSALS], *kept;
		struct report r = { .j = j, .f = f, .k = k, .to = found };

		if (!f->kernel || f->body == NONE)
			continue;
		res->n_kernels++;
		judge_kernel(&r, f, called);
		k->name = cl_copy_text(j, j->text + j->toks[f->name].pos, j->toks[f->name].len);
		k->line = j->toks[f->name].line;
		k->modes = f->modes;
		k->flags = kernel_flags(f);
		k->instructions = f->total_ops;
		k->batch = batch_for(f->total_ops);
		k->local_bytes = f->local_bytes;
		k->private_bytes = f->private_bytes;
		memcpy(k->reqd, f->reqd, sizeof(k->reqd));
		k->dims = f->dims;
		report_params(&r);
		kept = cl_get(j, (r.n + 1) * sizeof(*kept));
		memcpy(kept, found, r.n * sizeof(*kept));
		k->refusals = kept;
		k->n_refusals = r.n;
	}
}
