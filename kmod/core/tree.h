/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A balanced search tree (AVL) whose nodes lie in the things that are sorted,
 * with one extra: each node knows the least `val` of its subtree. Sorted by
 * `key`, so "the first key whose val is at most x" takes one walk down: that
 * is the question the arbiter asks at each level of the share tree.
 *
 * Keys and vals are virtual times that wrap: they are compared by their signed
 * distance. Equal keys keep the order in which they came in, so that one run
 * is like the next. No operation allocates, recurses or takes more than
 * 1.44 log2(n) steps up or down.
 */
#ifndef GS_CORE_TREE_H
#define GS_CORE_TREE_H

#include "os.h"

/**
 * struct gs_link - a place in a tree
 * @parent: NULL at the root
 * @left: smaller keys
 * @right: keys as large or larger
 * @key: what the tree is sorted by
 * @val: what gs_tree_first_at_most() compares
 * @least: the smallest @val of this node and all below it
 * @height: 1 for a leaf of the tree; 0 means that it is in no tree
 * @kind: the owner's, to tell what the link is part of
 */
struct gs_link {
	struct gs_link *parent, *left, *right;
	u64 key;
	u64 val;
	u64 least;
	u8 height;
	u8 kind;
};

/**
 * struct gs_tree - a tree
 * @root: NULL when empty
 * @first: the smallest key, kept at hand
 */
struct gs_tree {
	struct gs_link *root;
	struct gs_link *first;
};

static inline bool gs_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static inline bool gs_tree_empty(const struct gs_tree *t)
{
	return !t->root;
}

static inline bool gs_tree_in(const struct gs_link *l)
{
	return l->height;
}

void gs_tree_insert(struct gs_tree *t, struct gs_link *l);
void gs_tree_remove(struct gs_tree *t, struct gs_link *l);

/* @l's val has changed, its key has not. */
void gs_tree_refresh(struct gs_link *l);

/* The smallest key whose val is at most @val, or NULL. */
struct gs_link *gs_tree_first_at_most(const struct gs_tree *t, u64 val);

struct gs_link *gs_tree_next(const struct gs_link *l);

#endif
