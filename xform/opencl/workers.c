// SPDX-License-Identifier: MIT
/*
 * The loop round a kernel. Its shape is what was found right on PoCL 3.1, which
 * miscompiles others: the first group comes without a condition, so that the loop is
 * a do-while, and the loop ends in a barrier. A condition that was read from memory
 * must not decide whether a region with barriers is entered (an arm of an if behind
 * a barrier is lost then), and without the barrier at the end a return is ignored.
 *
 *	__kernel void K(PARAMETERS, gsx_q, gsx_stop, gsx_h0, gsx_h1, gsx_h2)
 *	{
 *		volatile __local uint gsx_l[2];	the next group, the end of the batch
 *		LOCALS, CONSTANTS, TYPES	of the body's outermost scope
 *		gsx_n = the first group of the batch of this worker's number
 *		do {
 *			state of group gsx_n
 *			{ copies of the parameters that the body changes
 *			  { BODY, with goto gsx_end for return } }
 *			gsx_end: barrier
 *			one item: gsx_l[0] = the next group, or none
 *			barrier; gsx_n = gsx_l[0];
 *		} while (gsx_n < gsx_total);
 *	}
 *
 * It is volatile since PoCL 3.1 else lets a group of 3 x 5 x 2 items read the end of the
 * batch that the group before it on the same thread had stored there.
 *
 * The first barrier keeps items from the next group's local memory while others are
 * still in this group's; the second hands out the next number.
 */
#include "cl.h"

#define ALWAYS	"__attribute__((always_inline)) "
#define HIDDEN	"volatile __global uint *gsx_q, const volatile __global uint *gsx_stop, " \
		"ulong4 gsx_h0, ulong4 gsx_h1, ulong4 gsx_h2"

/* The queue: gsx_q[0] next, [16 + 2 * w] what worker w left, then what is to be resumed. */
const char cl_worker_prelude[] =
	"/* Batch t: its first group, ~0 if there is none; *end: one behind its last. */\n"
	ALWAYS "uint gsx_batch(volatile __global uint *q, uint t, ulong4 n, ulong4 o, ulong4 z,\n"
	"  __private uint *end)\n"
	"{\n"
	"\tulong total = n.x * n.y * n.z, from;\n"
	"\tuint back = (uint)z.w, w = (uint)get_num_groups(0);\n"
	"\tif (t < back) {\n"
	"\t\t*end = q[16 + 2 * (w + t) + 1];\n"
	"\t\treturn q[16 + 2 * (w + t)];\n"
	"\t}\n"
	"\tfrom = o.w + (ulong)(t - back) * n.w;\n"
	"\tif (from >= total) return 0xffffffffu;\n"
	"\t*end = (uint)(from + n.w < total ? from + n.w : total);\n"
	"\treturn (uint)from;\n"
	"}\n"
	"/* The group behind n, ~0 to leave: what is left of the batch is noted then. */\n"
	ALWAYS "uint gsx_next(volatile __global uint *q, const volatile __global uint *stop,\n"
	"  uint n, volatile __local uint *last, ulong4 h0, ulong4 h1, ulong4 h2)\n"
	"{\n"
	"\tuint m = n + 1, end = *last, w = (uint)get_group_id(0), next, t;\n"
	"\tif (*stop == 0) {\n"
	"\t\tif (m < end) return m;\n"
	"\t\tt = atomic_inc(q);\n"
	"\t\tnext = gsx_batch(q, t, h0, h1, h2, &end);\n"
	"\t\t*last = end;\n"
	"\t\tif (next != 0xffffffffu) return next;\n"
	"\t\tm = end;\n"
	"\t}\n"
	"\tq[16 + 2 * w] = m;\n"
	"\tq[16 + 2 * w + 1] = end;\n"
	"\treturn 0xffffffffu;\n"
	"}\n";

static bool sets(uint16_t p)
{
	return p == '=' || (p >= LEX_MUL_SET && p <= LEX_OR_SET) || p == LEX_INC || p == LEX_DEC;
}

/*
 * May the name at @i be changed there? Behind it, through members, elements (of what
 * is no pointer) and closing parentheses, something sets it; or ++, -- or & stands
 * before it, through opening ones.
 */
static bool is_set(const struct job *j, uint32_t i, bool pointer)
{
	uint32_t a = i + 1, b = i;

	/* *p = x sets what p points to; *p++ sets p */
	if (is(j, b - 1, '*') && is(j, a, '='))
		return false;
	for (;;) {
		if (is(j, a, '.'))
			a += 2;
		else if (is(j, a, '[') && !pointer)
			a = j->toks[a].x + 1;
		else if (is(j, a, ')') && is(j, b - 1, '('))
			a++, b--;
		else
			break;
		if (is(j, b - 1, '&') || is(j, b - 1, LEX_INC) || is(j, b - 1, LEX_DEC))
			return true;
	}
	return sets(j->toks[a].punct) || is(j, b - 1, '&') || is(j, b - 1, LEX_INC) ||
		is(j, b - 1, LEX_DEC);
}

/* Which parameters the body of a kernel may change: each group begins with its own. */
void cl_mark_copied(struct job *j, const struct fn *f)
{
	uint32_t i;

	j->epoch++;
	for (i = 0; i < f->n_params; i++) {
		struct param *p = &j->params[f->param + i];

		if (p->name == NONE) {
			/* declared in a way that we can't read: it may have one */
			p->copied = p->array;
			continue;
		}
		sym(j, p->name)->epoch = j->epoch;
		sym(j, p->name)->var = f->param + i;
	}
	for (i = f->body + 1; i < f->end; i++) {
		struct param *p;

		if (!is_name(j, i) || sym(j, i)->epoch != j->epoch ||
		    is(j, i - 1, '.') || is(j, i - 1, LEX_ARROW))
			continue;
		p = &j->params[sym(j, i)->var];
		p->copied |= is_set(j, i, p->flags & GSX_PARAM_POINTER);
	}
}

static void put_param(struct job *j, const struct param *p, const char *prefix)
{
	if (p->name == NONE || !*prefix) {
		cl_put_tokens(j, p->from, p->to);
		return;
	}
	cl_put_tokens(j, p->from, p->name);
	cl_puts(j, " ");
	cl_puts(j, prefix);
	cl_put_name(j, p->name);
	cl_put_tokens(j, p->name + 1, p->to);
}

static void write_head(struct job *j, const struct fn *f)
{
	uint32_t i;

	cl_put_tokens(j, f->from, f->open + 1);
	for (i = 0; i < f->n_params; i++) {
		const struct param *p = &j->params[f->param + i];

		put_param(j, p, p->copied ? "gsx_p_" : "");
		cl_puts(j, ", ");
	}
	cl_puts(j, HIDDEN);
	cl_put_tokens(j, f->close, f->body);
}

/* One hoisted declaration: those of its declarators that move, or those that stay. */
static void put_split(struct job *j, const struct hoist *h, bool moving)
{
	uint32_t i, from = h->spec, end = h->to - 1, n = 0;
	bool group = false, star = false, here = false, value = false;

	for (i = h->from; i < h->spec; i++)
		group |= word(j, i) == W_LOCAL || word(j, i) == W_CONSTANT;
	for (i = h->spec; i <= end; i++) {
		if (i == end || is(j, i, ',')) {
			bool moves = star ? here : group;

			if (moves == moving) {
				if (!n++)
					cl_put_tokens(j, h->from, h->spec);
				else
					cl_puts(j, ",");
				cl_puts(j, " ");
				cl_put_tokens(j, from, i);
			}
			from = i + 1;
			star = here = value = false;
		} else if (is(j, i, '=')) {
			value = true;
		} else if (is(j, i, '*') && !value) {
			star = true;
			here = false;
		} else if (is(j, i, '[') || is(j, i, '{')) {
			i = j->toks[i].x;
		} else if (is(j, i, '(') && (value || !is(j, i + 1, '*'))) {
			i = j->toks[i].x;
		} else if (word(j, i) == W_LOCAL) {
			here = star;
		}
	}
	if (n)
		cl_puts(j, ";");
}

static void write_hoisted(struct job *j, const struct fn *f)
{
	uint32_t i;

	for (i = 0; i < f->n_hoists; i++) {
		const struct hoist *h = &j->hoists[f->hoist + i];

		cl_puts(j, "\t");
		if (h->split)
			put_split(j, h, true);
		else
			cl_put_tokens(j, h->from, h->to);
		cl_puts(j, "\n");
	}
}

/* Tokens of the body: without what was moved, and with goto for return. */
static void write_body(struct job *j, const struct fn *f)
{
	uint32_t i, from = f->body + 1, h = 0;

	for (i = from; i < f->end; i++) {
		if (h < f->n_hoists && i == j->hoists[f->hoist + h].from) {
			const struct hoist *x = &j->hoists[f->hoist + h++];

			cl_put_tokens(j, from, i);
			cl_puts(j, " ");
			if (x->split)
				put_split(j, x, false);
			from = x->to;
			i = from - 1;
		} else if (word(j, i) == W_RETURN) {
			cl_put_tokens(j, from, i);
			cl_puts(j, " goto gsx_end");
			from = i + 1;
		}
	}
	cl_put_tokens(j, from, f->end);
}

void cl_write_worker(struct job *j, const struct fn *f)
{
	uint32_t i;

	write_head(j, f);
	cl_puts(j, "\n{\n\tvolatile __local uint gsx_l[2];\n");
	write_hoisted(j, f);
	cl_puts(j, "\tconst bool gsx_one = (get_local_id(0) | get_local_id(1) | get_local_id(2)) == 0;\n"
	      "\tconst uint gsx_total = (uint)(gsx_h0.x * gsx_h0.y * gsx_h0.z);\n"
	      "\tstruct gsx_state gsx_v;\n"
	      "\t__private const struct gsx_state *gsx_s = &gsx_v;\n"
	      "\tuint gsx_e = 0, gsx_n = gsx_batch(gsx_q, (uint)get_group_id(0), gsx_h0, gsx_h1, gsx_h2, &gsx_e);\n"
	      "\tgsx_v.n = gsx_h0; gsx_v.o = gsx_h1; gsx_v.z = gsx_h2;\n"
	      "\tif (gsx_one) gsx_l[1] = gsx_e;\n"
	      "\tdo {\n"
	      "\t\tgsx_v.b = (ulong4)(gsx_n % (uint)gsx_h0.x, gsx_n / (uint)gsx_h0.x % (uint)gsx_h0.y,\n"
	      "\t\t\tgsx_n / (uint)gsx_h0.x / (uint)gsx_h0.y, 0);\n"
	      "\t\t{\n");
	for (i = 0; i < f->n_params; i++) {
		const struct param *p = &j->params[f->param + i];

		if (!p->copied)
			continue;
		cl_puts(j, "\t\t\t");
		put_param(j, p, "");
		cl_puts(j, " = gsx_p_");
		cl_put_name(j, p->name);
		cl_puts(j, ";\n");
	}
	cl_puts(j, "\t\t{\n");
	write_body(j, f);
	cl_puts(j, "\n\t\t}\n\t\t}\n\t\t");
	if (f->body_returns)
		cl_puts(j, "gsx_end:\n\t\t");
	cl_puts(j, "barrier(CLK_LOCAL_MEM_FENCE);\n"
	      "\t\tif (gsx_one) gsx_l[0] = gsx_next(gsx_q, gsx_stop, gsx_n, gsx_l + 1, gsx_h0, gsx_h1, gsx_h2);\n"
	      "\t\tbarrier(CLK_LOCAL_MEM_FENCE);\n"
	      "\t\tgsx_n = gsx_l[0];\n"
	      "\t} while (gsx_n < gsx_total);\n"
	      "}\n");
}
