// SPDX-License-Identifier: GPL-2.0-only
/*
 * Things by their id, in order, so that "the next one after this id" can be
 * answered whatever came and went in between: dumps and the NEXT commands go on
 * from the last id that they saw. Nothing is allocated, so that the trees can
 * be changed under gs.lock.
 */
#include <linux/rbtree.h>
#include "gpushare.h"

static struct gs_id *entry(struct rb_node *rb)
{
	return rb_entry_safe(rb, struct gs_id, rb);
}

/* False if the id is taken. */
bool gs_id_add(struct rb_root *root, struct gs_id *id)
{
	struct rb_node **link = &root->rb_node, *parent = NULL;

	lockdep_assert_held(&gs.lock);
	while (*link) {
		parent = *link;
		if (entry(parent)->id == id->id)
			return false;
		link = id->id < entry(parent)->id ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&id->rb, parent, link);
	rb_insert_color(&id->rb, root);
	return true;
}

void gs_id_remove(struct rb_root *root, struct gs_id *id)
{
	lockdep_assert_held(&gs.lock);
	rb_erase(&id->rb, root);
}

/* The one with the smallest id of at least @id, or NULL. */
static struct gs_id *first_from(const struct rb_root *root, u64 id)
{
	struct rb_node *rb = root->rb_node;
	struct gs_id *best = NULL;

	lockdep_assert_held(&gs.lock);
	while (rb) {
		if (entry(rb)->id < id) {
			rb = rb->rb_right;
		} else {
			best = entry(rb);
			rb = rb->rb_left;
		}
	}
	return best;
}

struct gs_id *gs_id_find(const struct rb_root *root, u64 id)
{
	struct gs_id *found = first_from(root, id);

	return found && found->id == id ? found : NULL;
}

/* The one with the smallest id above @id, or NULL. */
struct gs_id *gs_id_after(const struct rb_root *root, u64 id)
{
	return id == U64_MAX ? NULL : first_from(root, id + 1);
}
