// SPDX-License-Identifier: MIT
/*
 * Graphs. A node is a piece of work that isn't submitted yet; a launch submits all
 * nodes to the stream, in an order that their edges allow.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

static uint64_t node_ids;

/* An object of the program's that lives as long as a graph holds it. */
struct CUuserObject_st {
	uint32_t magic;
	uint32_t refs;
	CUhostFn destroy;
	void *arg;
};

struct kept_object {
	struct CUuserObject_st *o;
	uint32_t count;
	struct kept_object *next;
};

CUresult deps_set(struct CUgraphNode_st ***to, size_t *n,
			 struct CUgraphNode_st *const *from, size_t count)
{
	struct CUgraphNode_st **d = NULL;

	if (count) {
		d = malloc(count * sizeof(*d));
		if (!d)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(d, from, count * sizeof(*d));
	}
	free(*to);
	*to = d;
	*n = count;
	return CUDA_SUCCESS;
}

/* Takes over what the work owns, also when it fails. */
CUresult graph_add(struct CUgraph_st *g, const struct work *w, struct CUgraphNode_st *const *deps,
		   size_t n, struct CUgraphNode_st **out)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node)), **all;
	struct work gone = *w;

	if (node && g->n == g->cap) {
		all = realloc(g->nodes, (g->cap * 2 + 8) * sizeof(*all));
		if (all) {
			g->nodes = all;
			g->cap = g->cap * 2 + 8;
		}
	}
	if (!node || g->n == g->cap || deps_set(&node->deps, &node->n_deps, deps, n)) {
		free(node);
		work_free(&gone);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	node->magic = MAGIC_NODE;
	node->g = g;
	node->w = *w;
	node->id = ++node_ids;
	g->nodes[g->n++] = node;
	if (out)
		*out = node;
	return CUDA_SUCCESS;
}

static void object_put(struct CUuserObject_st *o, uint32_t count)
{
	CUhostFn destroy = o->destroy;
	void *arg = o->arg;

	o->refs -= count;
	if (o->refs)
		return;
	o->magic = 0;
	free(o);
	unlock();	/* the program's code */
	destroy(arg);
	lock();
}

static void node_free(struct CUgraphNode_st *n)
{
	if (n->w.kind == W_GRAPH)
		graph_free(n->w.graph.g);
	work_free(&n->w);
	free(n->deps);
	free(n->param_at);
	n->magic = 0;
	free(n);
}

void graph_free(struct CUgraph_st *g)
{
	struct kept_object *k;
	size_t i;

	for (i = 0; i < g->n; i++)
		node_free(g->nodes[i]);
	while ((k = g->objects)) {
		g->objects = k->next;
		object_put(k->o, k->count);
		free(k);
	}
	free(g->nodes);
	g->magic = 0;
	free(g);
}

struct CUgraph_st *graph_new(void)
{
	struct CUgraph_st *g = calloc(1, sizeof(*g));

	if (g)
		g->magic = MAGIC_GRAPH;
	return g;
}

static bool keep(struct CUgraph_st *g, struct CUuserObject_st *o, uint32_t count)
{
	struct kept_object *k = malloc(sizeof(*k));

	if (!k)
		return false;
	k->o = o;
	k->count = count;
	k->next = g->objects;
	g->objects = k;
	return true;
}

/* One node into the copy, whose dependencies are there already. */
static bool copy_node(struct CUgraph_st *c, struct CUgraphNode_st *n)
{
	struct work w;
	size_t i;

	if (work_copy(&w, &n->w))
		return false;
	if (w.kind == W_GRAPH) {
		w.graph.g = graph_copy(n->w.graph.g);
		if (!w.graph.g)
			return false;
	}
	if (graph_add(c, &w, NULL, 0, &n->copy))
		return false;
	n->copy->origin = n->id;
	n->copy->disabled = n->disabled;
	n->copy->deps = malloc((n->n_deps + 1) * sizeof(*n->deps));
	if (!n->copy->deps)
		return false;
	for (i = 0; i < n->n_deps; i++)
		n->copy->deps[i] = n->deps[i]->copy;
	n->copy->n_deps = n->n_deps;
	return true;
}

/* A copy with its nodes in an order in which each comes after what it depends on. */
struct CUgraph_st *graph_copy(struct CUgraph_st *g)
{
	struct CUgraph_st *c = graph_new();
	size_t done = 0, before, k, i;
	struct kept_object *o;

	for (k = 0; k < g->n; k++)
		g->nodes[k]->copy = NULL;
	while (c && done < g->n) {
		before = done;
		for (k = 0; k < g->n; k++) {
			struct CUgraphNode_st *n = g->nodes[k];

			for (i = 0; i < n->n_deps && n->deps[i]->copy; i++)
				;
			if (n->copy || i < n->n_deps)
				continue;
			if (!copy_node(c, n))
				goto bad;
			done++;
		}
		if (done == before)
			goto bad;	/* it goes in a circle */
	}
	for (o = g->objects; c && o; o = o->next) {
		if (!keep(c, o->o, o->count))
			goto bad;
		o->o->refs += o->count;
	}
	return c;
bad:
	graph_free(c);
	return NULL;
}

CUresult graph_submit(struct CUstream_st *s, struct CUgraph_st *g)
{
	CUresult r = CUDA_SUCCESS;
	struct work w;
	size_t k;

	for (k = 0; k < g->n && !r; k++) {
		if (g->nodes[k]->disabled)
			continue;
		if (g->nodes[k]->w.kind == W_GRAPH) {
			r = graph_submit(s, g->nodes[k]->w.graph.g);
			continue;
		}
		r = work_copy(&w, &g->nodes[k]->w);
		if (!r && (w.kind == W_RECORD || w.kind == W_WAIT))
			w.event.gen = w.kind == W_RECORD ? event_record(w.event.e) : w.event.e->gen;
		if (!r)
			r = submit(s, &w, NULL);
	}
	return r;
}

bool nodes_of(struct CUgraph_st *g, const CUgraphNode *nodes, size_t n)
{
	size_t k;

	for (k = 0; k < n; k++)
		if (!IS(nodes[k], MAGIC_NODE) || nodes[k]->g != g)
			return false;
	return IS(g, MAGIC_GRAPH);
}

EXPORT cuGraphCreate(CUgraph *out, unsigned int flags)
{
	if (!out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*out = graph_new();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuGraphDestroy(CUgraph g)
{
	if (!IS(g, MAGIC_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	graph_free(g);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuGraphClone(CUgraph *out, CUgraph g)
{
	if (!out || !IS(g, MAGIC_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	*out = graph_copy(g);
	unlock();
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode n, CUgraph clone)
{
	size_t k;

	if (!out || !IS(n, MAGIC_NODE) || !IS(clone, MAGIC_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	for (k = 0; k < clone->n; k++)
		if (clone->nodes[k]->origin == n->id) {
			*out = clone->nodes[k];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

/* One node away, with its edges. */
EXPORT cuGraphDestroyNode(CUgraphNode n)
{
	struct CUgraphNode_st *o;
	struct CUgraph_st *g;
	size_t k, i, at = 0;

	if (!IS(n, MAGIC_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	g = n->g;
	for (k = 0; k < g->n; k++) {
		o = g->nodes[k];
		if (o == n)
			at = k;
		for (i = 0; i < o->n_deps; )
			if (o->deps[i] == n)
				o->deps[i] = o->deps[--o->n_deps];
			else
				i++;
	}
	memmove(g->nodes + at, g->nodes + at + 1, (g->n - at - 1) * sizeof(*g->nodes));
	g->n--;
	node_free(n);
	unlock();
	return CUDA_SUCCESS;
}

static CUresult connect_nodes(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	struct CUgraphNode_st **d;
	size_t k;

	if (!nodes_of(g, from, n) || !nodes_of(g, to, n))
		return CUDA_ERROR_INVALID_VALUE;
	for (k = 0; k < n; k++) {
		d = realloc(to[k]->deps, (to[k]->n_deps + 1) * sizeof(*d));
		if (!d)
			return CUDA_ERROR_OUT_OF_MEMORY;
		to[k]->deps = d;
		d[to[k]->n_deps++] = from[k];
	}
	return CUDA_SUCCESS;
}

EXPORT cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	return connect_nodes(g, from, to, n);
}

EXPORT cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
				 const CUgraphEdgeData *data, size_t n)
{
	return data ? CUDA_ERROR_NOT_SUPPORTED : connect_nodes(g, from, to, n);
}

static CUresult disconnect_nodes(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
				 size_t n)
{
	size_t k, i;

	if (!nodes_of(g, from, n) || !nodes_of(g, to, n))
		return CUDA_ERROR_INVALID_VALUE;
	for (k = 0; k < n; k++) {
		for (i = 0; i < to[k]->n_deps && to[k]->deps[i] != from[k]; i++)
			;
		if (i == to[k]->n_deps)
			return CUDA_ERROR_INVALID_VALUE;
		to[k]->deps[i] = to[k]->deps[--to[k]->n_deps];
	}
	return CUDA_SUCCESS;
}

EXPORT cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
				 size_t n)
{
	return disconnect_nodes(g, from, to, n);
}

EXPORT cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
				    const CUgraphEdgeData *data, size_t n)
{
	return data ? CUDA_ERROR_NOT_SUPPORTED : disconnect_nodes(g, from, to, n);
}

/* Lists: as many as there is room for; without a place, how many there are. */
static CUresult listed(CUgraphNode *out, size_t *n, CUgraphNode const *from, size_t count)
{
	size_t k;

	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	for (k = 0; out && k < *n; k++)
		out[k] = k < count ? from[k] : NULL;
	if (!out || *n > count)
		*n = count;
	return CUDA_SUCCESS;
}

EXPORT cuGraphGetNodes(CUgraph g, CUgraphNode *out, size_t *n)
{
	return IS(g, MAGIC_GRAPH) ? listed(out, n, g->nodes, g->n) : CUDA_ERROR_INVALID_VALUE;
}

/* The nodes that @pick takes. */
static CUresult chosen(CUgraph g, CUgraphNode *out, size_t *n, CUgraphNode of,
		       bool (*pick)(CUgraphNode n, CUgraphNode of))
{
	struct CUgraphNode_st **list = malloc((g->n + 1) * sizeof(*list));
	size_t k, count = 0;
	CUresult r;

	if (!list)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (k = 0; k < g->n; k++)
		if (pick(g->nodes[k], of))
			list[count++] = g->nodes[k];
	r = listed(out, n, list, count);
	free(list);
	return r;
}

static bool is_root(CUgraphNode n, CUgraphNode of)
{
	(void)of;
	return !n->n_deps;
}

static bool depends(CUgraphNode n, CUgraphNode of)
{
	size_t k;

	for (k = 0; k < n->n_deps && n->deps[k] != of; k++)
		;
	return k < n->n_deps;
}

EXPORT cuGraphGetRootNodes(CUgraph g, CUgraphNode *out, size_t *n)
{
	return IS(g, MAGIC_GRAPH) ? chosen(g, out, n, NULL, is_root) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult edge_data(CUgraphEdgeData *data, const CUgraphNode *out, const size_t *n)
{
	if (data && out && n)
		memset(data, 0, *n * sizeof(*data));
	return CUDA_SUCCESS;
}

EXPORT cuGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *out, size_t *count)
{
	return IS(n, MAGIC_NODE) ? listed(out, count, n->deps, n->n_deps) :
		CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphNodeGetDependencies_v2(CUgraphNode n, CUgraphNode *out, CUgraphEdgeData *data,
				     size_t *count)
{
	CUresult r = cuGraphNodeGetDependencies(n, out, count);

	return r ? r : edge_data(data, out, count);
}

EXPORT cuGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *out, size_t *count)
{
	return IS(n, MAGIC_NODE) ? chosen(n->g, out, count, n, depends) :
		CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGraphNodeGetDependentNodes_v2(CUgraphNode n, CUgraphNode *out, CUgraphEdgeData *data,
				       size_t *count)
{
	CUresult r = cuGraphNodeGetDependentNodes(n, out, count);

	return r ? r : edge_data(data, out, count);
}

EXPORT cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	size_t k, i, at = 0;

	if (!IS(g, MAGIC_GRAPH) || !n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	for (k = 0; k < g->n; k++)
		for (i = 0; i < g->nodes[k]->n_deps; i++, at++)
			if (from && at < *n) {
				from[at] = g->nodes[k]->deps[i];
				to[at] = g->nodes[k];
			}
	if (!from || *n > at)
		*n = at;
	return CUDA_SUCCESS;
}

EXPORT cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
			  size_t *n)
{
	CUresult r = cuGraphGetEdges(g, from, to, n);

	return r ? r : edge_data(data, from, n);
}

EXPORT cuUserObjectCreate(CUuserObject *out, void *arg, CUhostFn destroy, unsigned int refs,
			  unsigned int flags)
{
	if (!out || !destroy || !refs || flags != 1)
		return CUDA_ERROR_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*out)->magic = MAGIC_OBJECT;
	(*out)->refs = refs;
	(*out)->destroy = destroy;
	(*out)->arg = arg;
	return CUDA_SUCCESS;
}

EXPORT cuUserObjectRetain(CUuserObject o, unsigned int count)
{
	if (!IS(o, MAGIC_OBJECT) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	o->refs += count;
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuUserObjectRelease(CUuserObject o, unsigned int count)
{
	if (!IS(o, MAGIC_OBJECT) || !count || count > o->refs)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	object_put(o, count);
	unlock();
	return CUDA_SUCCESS;
}

EXPORT cuGraphRetainUserObject(CUgraph g, CUuserObject o, unsigned int count, unsigned int flags)
{
	bool ok;

	if (!IS(g, MAGIC_GRAPH) || !IS(o, MAGIC_OBJECT) || !count || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	lock();
	ok = keep(g, o, count);
	if (ok && !flags)	/* else the caller's references move */
		o->refs += count;
	unlock();
	return ok ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT cuGraphReleaseUserObject(CUgraph g, CUuserObject o, unsigned int count)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct kept_object **p, *k;

	if (!IS(g, MAGIC_GRAPH) || !IS(o, MAGIC_OBJECT) || !count)
		return r;
	lock();
	for (p = &g->objects; (k = *p); p = &k->next) {
		if (k->o != o || k->count < count)
			continue;
		k->count -= count;
		if (!k->count) {
			*p = k->next;
			free(k);
		}
		object_put(o, count);
		r = CUDA_SUCCESS;
		break;
	}
	unlock();
	return r;
}
