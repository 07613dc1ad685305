// SPDX-License-Identifier: MIT
/*
 * The statements of a function.
 *
 * Two questions go beyond what a statement says by itself. Does a loop wait for other
 * work-groups: does a value end it that others write (V_SHARED)? It has to be left
 * whole then, as nothing here tells a wait for lower groups, which any cut in
 * ascending order would serve, from a wait for all. And do all work-items of a group
 * meet each barrier: is a condition round it, or one that ends a loop round it,
 * V_VARYING? By the language this is the program's duty, but devices let items leave
 * early; in a loop of workers these would meet others' barriers at another place.
 *
 * A function is read again while what was found later changes what was read before.
 */
#include "cl.h"

#define MAX_PASSES	6

static void statement(struct walk *w, uint32_t end);

void cl_wait_seen(struct walk *w, uint32_t line)
{
	cl_use(w, U_WAITS, line);
}

void cl_met_barrier(struct walk *w)
{
	struct fn *f = w->f;
	struct frame *x;
	uint32_t line = w->j->toks[w->at].line;

	w->met = true;
	if (w->return_line)
		cl_use(w, U_EARLY, w->return_line);
	for (x = w->frame; x; x = x->up) {
		if (x->loop) {
			x->barrier = true;
		} else {
			f->uniform |= x->when.deps;
			if (x->when.flags & V_VARYING)
				cl_use(w, U_DIVERGES, line);
		}
	}
}

/* Where control leaves loops: one (break, continue) or all (return). */
static void leave(struct walk *w, bool all, bool is_break)
{
	struct value when = { 0 };
	struct frame *x;

	for (x = w->frame; x; x = x->up) {
		if (!x->loop) {
			if (x->choice && is_break && !all)
				return;
			cl_merge(&when, &x->when);
			continue;
		}
		cl_merge(&x->exit, &when);
		x->left |= all;
		if (when.flags & V_SHARED && !x->bounded)
			cl_wait_seen(w, x->line);
		/* it goes on where the compare and swap went well */
		if (when.flags & V_LOST && (all || is_break))
			cl_wait_seen(w, x->line);
		if (!all)
			return;
	}
}

void cl_push_frame(struct walk *w, struct frame *x)
{
	x->up = w->frame;
	x->log = w->j->n_log;
	x->swap = w->j->n_swaps;
	w->frame = x;
	deeper(w->j, x->line);
}

void cl_pop_frame(struct walk *w)
{
	if (w->frame->fence && w->frame->up)
		w->frame->up->fence = true;
	w->frame = w->frame->up;
	if (!w->frame)
		w->j->n_log = 0;
	w->j->depth--;
}

static bool in_loop(const struct frame *x)
{
	while (x && !x->loop)
		x = x->up;
	return x;
}

/* Is there a loop between here and the switch? */
static bool in_loop_of_choice(const struct frame *x)
{
	while (x && !x->loop && !x->choice)
		x = x->up;
	return x && x->loop;
}

/*
 * A goto at token @from to where its label is: does that lie in a loop that the goto
 * isn't in? A label may come later, so that this is asked when all have been seen.
 */
static bool enters_loop(struct job *j, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < j->n_loops; i++) {
		const struct range *l = &j->loops[i];

		spend(j);
		if (to > l->from && to < l->to && !(from > l->from && from < l->to))
			return true;
	}
	return false;
}

/*
 * Does what a compare and swap expects, at token @i, come anew each time that the loop
 * goes round: is it read from memory, or from a variable that was set in the loop?
 */
static bool is_fresh(struct walk *w, const struct frame *loop, uint32_t i)
{
	struct job *j = w->j;
	uint32_t k;

	for (; !is(j, i, ',') && !is(j, i, ')'); i++) {
		const struct var *v = is_name(j, i) ? cl_var_of(w, i) : NULL;

		if (v && v->addressed)
			return true;
		for (k = loop->log; v && k < j->n_log; k++) {
			spend(j);
			if (&j->vars[j->log[k]] == v)
				return true;
		}
		if ((is(j, i, '[') || is(j, i, LEX_ARROW)) && is_name(j, i - 1) &&
		    !(cl_var_of(w, i - 1) && cl_var_of(w, i - 1)->array))
			return true;
		if (is(j, i, '*') && (is(j, i - 1, ',') || is(j, i - 1, '(')))
			return true;
		/* behind a cast, or what else stands in parentheses: their names count */
	}
	return false;
}

static void check_swaps(struct walk *w, struct frame *loop)
{
	struct job *j = w->j;
	uint32_t i;

	for (i = loop->swap; i < j->n_swaps; i++)
		if (!is_fresh(w, loop, j->swaps[i]) &&
		    (!loop->bounded ||
		     (loop->when.flags | loop->exit.flags) & (V_WON | V_LOST)))
			cl_wait_seen(w, loop->line);
	j->n_swaps = loop->swap;
}

static void check_jumps(struct walk *w)
{
	struct job *j = w->j;
	uint32_t i, k, n;

	/* in loops made of goto, what comes before may come behind */
	if (w->met && j->n_jumps)
		cl_use(w, U_EARLY, j->toks[j->jumps[0]].line);

	for (i = 0; i < j->n_jumps; i++)
		for (k = 0; k < j->n_labels; k++) {
			spend(j);
			if (j->toks[j->jumps[i]].x != j->toks[j->labels[k]].x)
				continue;
			if (enters_loop(j, j->jumps[i], j->labels[k]))
				cl_use(w, U_ENTERS, j->toks[j->jumps[i]].line);
			/* what is set in a loop made of goto isn't noted */
			for (n = 0; n < j->n_swaps; n++) {
				spend(j);
				if (j->swaps[n] > j->labels[k] && j->swaps[n] < j->jumps[i])
					cl_wait_seen(w, j->toks[j->labels[k]].line);
			}
		}
}

/* A loop ends: by @when and by what was met in it. */
static void close_loop(struct walk *w, struct frame *x)
{
	struct job *j = w->j;
	struct fn *f = w->f;
	struct value out = x->when;
	uint32_t i;

	*PUSH(j, j->loops, j->n_loops, j->cap_loops) = (struct range){ x->tok, w->at };
	/* others decide, or it goes on where a compare and swap went well */
	if (x->when.flags & (V_SHARED | V_WON))
		cl_wait_seen(w, x->line);
	check_swaps(w, x);
	cl_merge(&out, &x->exit);
	/* a plain read, but a fence in the loop: meant to see what others write */
	if (x->fence && !x->barrier && !x->bounded && out.from & ~FROM_OWN)
		cl_wait_seen(w, x->line);
	if (x->barrier) {
		f->uniform |= out.deps;
		if (out.flags & V_VARYING)
			cl_use(w, U_DIVERGES, x->line);
		if (x->left)
			cl_use(w, U_EARLY, w->return_line);
	}
	/*
	 * How often it went round shows in what it set. That others decided is of no
	 * account if it ends by itself and nothing can begin it again.
	 */
	if (x->bounded && w->f->kernel && !w->jumps && !(x->when.flags & V_SHARED) &&
	    !in_loop(x->up))
		out.flags &= ~V_SHARED;
	if (out.flags & (V_VARYING | V_SHARED) || out.deps) {
		struct value v = { .deps = out.deps, .flags = out.flags & (V_VARYING | V_SHARED) };

		for (i = x->log; i < j->n_log; i++) {
			struct var *y = &j->vars[j->log[i]];
			uint32_t flags = y->v.flags;
			uint64_t deps = y->v.deps;

			spend(j);
			y->v.flags |= y->moved ? v.flags & ~V_VARYING : v.flags;
			y->v.deps |= v.deps;
			if (y->read && (flags != y->v.flags || deps != y->v.deps))
				w->grew = true;
		}
	}
	cl_pop_frame(w);
}

/* ( condition ) at w->at; leaves w->at behind it. */
static struct value condition(struct walk *w)
{
	struct job *j = w->j;
	struct value v = { 0 };
	uint32_t close;

	if (!is(j, w->at, '('))
		return v;
	close = j->toks[w->at].x;
	w->at++;
	v = cl_expression(w, close);
	w->at = close + 1;
	return v;
}

static void under(struct walk *w, struct frame *x, uint32_t end)
{
	struct value before = w->control;

	if (!x->loop)
		cl_merge(&w->control, &x->when);
	cl_push_frame(w, x);
	statement(w, end);
	w->control = before;
}

static void if_statement(struct walk *w, uint32_t end)
{
	struct frame x = { .line = w->j->toks[w->at].line };
	struct job *j = w->j;
	struct value v;
	bool more = true;

	/* all of a chain of else if at one depth: they may be long */
	while (more) {
		w->at++;
		v = condition(w);
		cl_merge(&x.when, &v);
		under(w, &x, end);
		cl_pop_frame(w);
		cl_negate(&x.when);
		while (w->at < end && begins_line_hash(j, w->at))
			w->at = cl_skip_directive(j, w->at);
		more = w->at < end && word(j, w->at) == W_ELSE;
		if (!more)
			return;
		w->at++;
		more = w->at < end && word(j, w->at) == W_IF;
	}
	under(w, &x, end);
	cl_pop_frame(w);
}

static void switch_statement(struct walk *w, uint32_t end)
{
	struct frame x = { .line = w->j->toks[w->at].line, .choice = true };

	w->at++;
	x.when = condition(w);
	under(w, &x, end);
	cl_pop_frame(w);
}

static void while_statement(struct walk *w, uint32_t end)
{
	struct frame x = { .line = w->j->toks[w->at].line, .loop = true, .tok = w->at };

	w->at++;
	x.log = w->j->n_log;
	cl_push_frame(w, &x);	/* so that assignments in the condition count as inside */
	x.when = condition(w);
	statement(w, end);
	close_loop(w, &x);
}

static void do_statement(struct walk *w, uint32_t end)
{
	struct frame x = { .line = w->j->toks[w->at].line, .loop = true, .tok = w->at };

	w->at++;
	under(w, &x, end);
	if (w->at < end && word(w->j, w->at) == W_WHILE) {
		w->at++;
		x.when = condition(w);
		if (w->at < end && is(w->j, w->at, ';'))
			w->at++;
	}
	close_loop(w, &x);
}

static uint32_t semicolon(const struct job *j, uint32_t i, uint32_t end)
{
	for (; i < end && !is(j, i, ';'); i++)
		if (is(j, i, '(') || is(j, i, '[') || is(j, i, '{'))
			i = j->toks[i].x;
	return i;
}

static void for_statement(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	struct frame x = { .line = j->toks[w->at].line, .loop = true, .tok = w->at };
	uint32_t close, first, second, body;

	w->at++;
	if (!is(j, w->at, '('))
		return;
	close = j->toks[w->at].x;
	w->at++;
	first = semicolon(j, w->at, close);
	second = semicolon(j, first + 1, close);
	if (cl_begins_type(w, w->at))
		cl_declare(w);
	else
		cl_expression(w, first);
	cl_push_frame(w, &x);
	w->at = first + 1;
	if (w->at < second)
		x.when = cl_expression(w, second);
	x.bounded = first + 1 < second && second + 1 < close && !(x.when.flags & V_LITERAL);
	body = close + 1;
	w->at = body;
	statement(w, end);
	body = w->at;
	w->at = second + 1;
	if (w->at < close)
		cl_expression(w, close);
	w->at = body;
	close_loop(w, &x);
}

static void return_statement(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	struct fn *f = w->f;
	uint32_t line = j->toks[w->at].line, stop = semicolon(j, w->at, end);
	struct value v;

	w->at++;
	if (w->at < stop) {
		v = cl_expression(w, stop);
		f->ret_flags |= v.flags & (V_WON | V_LOST);
		cl_merge(&v, &w->control);
		f->returns |= v.roots;
		f->ret_flags |= v.flags & (V_SHARED | V_VARYING);
		f->ret_deps |= v.deps;
	}
	w->at = stop + 1;
	f->body_returns = true;
	/* in a loop made of goto, too, this may be how it ends */
	if (w->jumps && w->control.flags & V_SHARED)
		cl_wait_seen(w, line);
	if (!w->return_line)
		w->return_line = line;
	leave(w, true, false);
}

static void jump(struct walk *w, uint32_t end)
{
	enum word x = word(w->j, w->at);

	if (x == W_GOTO) {
		if (!w->jumps)
			w->grew = w->jumps = true;
		if (is_name(w->j, w->at + 1))
			*PUSH(w->j, w->j->jumps, w->j->n_jumps, w->j->cap_jumps) = w->at + 1;
		if (!w->return_line)
			w->return_line = w->j->toks[w->at].line;
		/* it may be what makes a loop */
		if (w->control.flags & V_SHARED)
			cl_wait_seen(w, w->j->toks[w->at].line);
	}
	leave(w, x == W_GOTO, x == W_BREAK);
	w->at = semicolon(w->j, w->at, end) + 1;
}

static bool declares(const struct walk *w, uint32_t end)
{
	const struct job *j = w->j;
	uint32_t i = cl_skip_attributes(j, w->at);
	enum word x = word(j, i);

	if (cl_begins_type(w, i) || x == W_INLINE)
		return true;
	/* a type that we don't know, and a name */
	return x == W_PLAIN && is_name(j, i) && i + 1 < end && cl_plain_name(j, i + 1);
}

static void block(struct walk *w)
{
	struct job *j = w->j;
	uint32_t close = j->toks[w->at].x;

	w->scope++;
	for (w->at++; w->at < close; )
		statement(w, close);
	w->scope--;
	w->at = close + 1;
}

/* One statement; always goes on at least one token. */
static void statement(struct walk *w, uint32_t end)
{
	struct job *j = w->j;
	uint32_t stop;

	while (w->at < end && begins_line_hash(j, w->at))
		w->at = cl_skip_directive(j, w->at);
	stop = cl_skip_attributes(j, w->at);	/* of a loop, say */
	if (stop < end && (is(j, stop, '{') ||
			   (word(j, stop) >= W_IF && word(j, stop) <= W_CONTINUE)))
		w->at = stop;
	if (w->at >= end)
		return;
	if (is(j, w->at, '{')) {
		block(w);
		return;
	}
	deeper(j, j->toks[w->at].line);
	switch (word(j, w->at)) {
	case W_IF:
		if_statement(w, end);
		break;
	case W_SWITCH:
		switch_statement(w, end);
		break;
	case W_WHILE:
		while_statement(w, end);
		break;
	case W_DO:
		do_statement(w, end);
		break;
	case W_FOR:
		for_statement(w, end);
		break;
	case W_RETURN:
		return_statement(w, end);
		break;
	case W_GOTO: case W_BREAK: case W_CONTINUE:
		jump(w, end);
		break;
	case W_ELSE:
		w->at++;
		break;
	case W_CASE: case W_DEFAULT:
		if (w->frame && in_loop_of_choice(w->frame))
			cl_use(w, U_ENTERS, j->toks[w->at].line);
		for (w->at++; w->at < end && !is(j, w->at, ':'); w->at++)
			;
		w->at++;
		break;
	default:
		if (declares(w, end)) {
			cl_declare(w);
		} else if (is_name(j, w->at) && w->at + 1 < end && is(j, w->at + 1, ':')) {
			*PUSH(j, j->labels, j->n_labels, j->cap_labels) = w->at;
			w->at += 2;
		} else {
			stop = semicolon(j, w->at, end);
			cl_expression(w, stop);
			w->at = stop + 1;
		}
	}
	j->depth--;
}

/* The parameters, as variables. */
static void begin(struct walk *w)
{
	struct job *j = w->j;
	uint32_t i;

	j->epoch++;
	j->n_vars = j->n_stays = 0;
	for (i = 0; i < w->f->n_params; i++) {
		const struct param *p = &j->params[w->f->param + i];
		uint64_t bit = 1ull << (i < 59 ? i : 59);
		struct var *v;

		if (p->name == NONE)
			continue;
		v = cl_new_var(w, p->name);
		v->pointer = p->flags & GSX_PARAM_POINTER;
		v->holds = v->pointer || p->deep;
		v->volatile_ = p->volatile_;
		v->v.deps = w->f->kernel ? 0 : bit;
		if (p->flags & GSX_CL_LOCAL || (p->flags & GSX_CL_CONSTANT && !w->f->kernel))
			v->v.roots = FROM_GROUP;
		else if (v->pointer || !w->f->kernel)
			v->v.roots = v->holds ? bit : 0;
		else if (v->holds)	/* an address in a value: shared virtual memory */
			v->v.roots = FROM_UNKNOWN;
	}
}

void cl_walk(struct job *j, struct fn *f)
{
	struct walk w = { .j = j, .f = f, .first = f->state == 1 };
	uint32_t pass, i;

	if (f->body == NONE)
		return;
	begin(&w);
	for (pass = 0; pass < MAX_PASSES; pass++) {
		w.at = f->body;
		w.grew = false;
		w.frame = NULL;
		w.return_line = 0;
		w.control = (struct value){ 0 };
		for (i = 0; i < j->n_vars; i++)
			j->vars[i].read = false;
		j->n_log = j->n_swaps = j->n_loops = j->n_jumps = j->n_labels = 0;
		f->body_returns = false;
		block(&w);
		check_jumps(&w);
		w.first = false;
		if (!w.grew)
			return;
		/* too long a chain: each may be anything */
		for (i = 0; pass == MAX_PASSES - 2 && i < j->n_vars; i++) {
			struct value *v = &j->vars[i].v;

			v->roots |= j->vars[i].holds ? FROM_PARAMS | FROM_UNKNOWN : 0;
			v->deps |= f->kernel ? 0 : FROM_PARAMS;
			v->flags |= V_SHARED | V_VARYING;
			w.own |= FROM_PARAMS | FROM_UNKNOWN;
			w.own_flags |= V_SHARED | V_VARYING;
		}
	}
}
