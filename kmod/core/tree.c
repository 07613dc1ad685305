// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "tree.h"

static inline int height(const struct gs_link *l)
{
	return l ? l->height : 0;
}

/* Work out what @l says about its subtree from its children. */
static inline void pull(struct gs_link *l)
{
	const struct gs_link *a = l->left, *b = l->right;
	u64 least = l->val;

	if (a && gs_before(a->least, least))
		least = a->least;
	if (b && gs_before(b->least, least))
		least = b->least;
	l->least = least;
	l->height = (height(a) > height(b) ? height(a) : height(b)) + 1;
}

/* Put @by, which may be NULL, where @l hangs. */
static inline void replace(struct gs_tree *t, struct gs_link *l, struct gs_link *by)
{
	struct gs_link *p = l->parent;

	if (!p)
		t->root = by;
	else if (p->left == l)
		p->left = by;
	else
		p->right = by;
	if (by)
		by->parent = p;
}

static struct gs_link *rotate_left(struct gs_tree *t, struct gs_link *l)
{
	struct gs_link *r = l->right;

	replace(t, l, r);
	l->right = r->left;
	if (l->right)
		l->right->parent = l;
	r->left = l;
	l->parent = r;
	pull(l);
	pull(r);
	return r;
}

static struct gs_link *rotate_right(struct gs_tree *t, struct gs_link *l)
{
	struct gs_link *r = l->left;

	replace(t, l, r);
	l->left = r->right;
	if (l->left)
		l->left->parent = l;
	r->right = l;
	l->parent = r;
	pull(l);
	pull(r);
	return r;
}

static struct gs_link *rebalance(struct gs_tree *t, struct gs_link *l, int tilt)
{
	if (tilt > 0) {
		if (height(l->left->left) < height(l->left->right))
			rotate_left(t, l->left);
		return rotate_right(t, l);
	}
	if (height(l->right->right) < height(l->right->left))
		rotate_right(t, l->right);
	return rotate_left(t, l);
}

/* Balance and recount from @l upwards, as far as anything changes. */
static void fix_up(struct gs_tree *t, struct gs_link *l)
{
	for (; l; l = l->parent) {
		int tilt = height(l->left) - height(l->right);
		u8 was_high = l->height;
		u64 was_least = l->least;

		if (unlikely(tilt > 1 || tilt < -1))
			l = rebalance(t, l, tilt);
		else
			pull(l);
		if (l->height == was_high && l->least == was_least)
			return;
	}
}

void gs_tree_insert(struct gs_tree *t, struct gs_link *l)
{
	struct gs_link *p = NULL, **at = &t->root;
	bool first = true;

	while (*at) {
		p = *at;
		if (gs_before(l->key, p->key)) {
			at = &p->left;
		} else {
			at = &p->right;
			first = false;
		}
	}
	l->parent = p;
	l->left = NULL;
	l->right = NULL;
	l->height = 1;
	l->least = l->val;
	*at = l;
	if (first)
		t->first = l;
	fix_up(t, p);
}

struct gs_link *gs_tree_next(const struct gs_link *l)
{
	struct gs_link *n = l->right;

	if (n) {
		while (n->left)
			n = n->left;
		return n;
	}
	while (l->parent && l->parent->right == l)
		l = l->parent;
	return l->parent;
}

void gs_tree_remove(struct gs_tree *t, struct gs_link *l)
{
	struct gs_link *s, *low;

	if (t->first == l)
		t->first = gs_tree_next(l);
	if (!l->left || !l->right) {
		low = l->parent;
		replace(t, l, l->left ? l->left : l->right);
		l->height = 0;
		fix_up(t, low);
		return;
	}
	/* The next one takes its place, and for now what it said. */
	s = l->right;
	while (s->left)
		s = s->left;
	low = s->parent == l ? s : s->parent;
	replace(t, s, s->right);
	replace(t, l, s);
	s->left = l->left;
	s->left->parent = s;
	s->right = l->right;
	if (s->right)
		s->right->parent = s;
	s->height = l->height;
	s->least = l->least;
	l->height = 0;
	fix_up(t, low);
	fix_up(t, s);
}

void gs_tree_refresh(struct gs_link *l)
{
	for (; l; l = l->parent) {
		u64 was = l->least;

		pull(l);
		if (l->least == was)
			return;
	}
}

struct gs_link *gs_tree_first_at_most(const struct gs_tree *t, u64 val)
{
	struct gs_link *l = t->root;

	while (l) {
		if (l->left && !gs_before(val, l->left->least))
			l = l->left;
		else if (gs_before(val, l->val))
			l = l->right;
		else
			return l;
	}
	return NULL;
}
