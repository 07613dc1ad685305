// SPDX-License-Identifier: MIT
/*
 * Textures and surfaces.
 *
 * A texture read with integer coordinates gives a texel. With floats it gives the
 * texel at the coordinate or, filtered, a mixture of the 2, 4 or 8 around it, with
 * weights that have 8 bits behind the point, as CUDA's programming guide (texture
 * fetching) defines it. Levels of a mipmap are chosen by the instruction alone:
 * what a GPU works out from neighbouring pixels isn't there in CUDA kernels.
 */
#include <math.h>
#include <string.h>
#include "exec.h"
#include "memory.h"
#include "texture.h"

struct texel { float f[4]; uint32_t bits[4]; };

static float float_of(uint64_t bits)
{
	uint32_t b = bits;
	float f;

	memcpy(&f, &b, 4);
	return f;
}

static uint32_t bits_of(float f)
{
	uint32_t b;

	memcpy(&b, &f, 4);
	return b;
}

/* A handle is in a register, or in the variable of a reference. */
static struct texture *found(struct thread *t, const struct insn *i, const struct opnd *o)
{
	uint64_t h = val(t, o);
	struct texture *x = o->kind == K_REG ? texture_find(h) : NULL;
	uint8_t *p = x ? NULL : mem_host(h, 8);

	if (p) {
		memcpy(&h, p, 8);
		x = texture_find(h);
	}
	if (!x)
		thread_fault(t, i, FAULT_ADDRESS, "no texture or surface has the handle 0x%llx",
			     (unsigned long long)h);
	return x;
}

static const struct texture_level no_level;

/* The texel at whole coordinates that are inside. */
static struct texel texel_at(const struct texture *x, const struct texture_level *l, uint32_t layer,
			     const int64_t at[3])
{
	uint32_t size = texel_size(x->format), k;
	const uint8_t *p = l->base + at[0] * size * x->channels;
	struct texel r = { { 0 }, { 0 } };
	uint32_t u = 0;

	p += (l->height ? at[1] : 0) * l->pitch;
	p += (l->depth ? (uint64_t)at[2] : layer) * l->plane;
	r.f[3] = 1;
	r.bits[3] = x->format == TEXEL_U32 || x->format == TEXEL_S32 ||
		(x->as_integer && x->format < TEXEL_HALF) ? 1 : bits_of(1);
	for (k = 0; k < x->channels; k++) {
		memcpy(&u, p + k * size, size);
		switch (x->format) {
		case TEXEL_U8: r.f[k] = u / 255.0f; break;
		case TEXEL_U16: r.f[k] = u / 65535.0f; break;
		case TEXEL_S8:
			u = (int32_t)(int8_t)u;
			r.f[k] = fmaxf((int32_t)u / 127.0f, -1);
			break;
		case TEXEL_S16:
			u = (int32_t)(int16_t)u;
			r.f[k] = fmaxf((int32_t)u / 32767.0f, -1);
			break;
		case TEXEL_HALF:
			r.f[k] = half_to_float(u);
			u = bits_of(r.f[k]);
			break;
		default: r.f[k] = float_of(u);
		}
		/* what isn't asked for as it is becomes a number up to 1; 32 bits never do */
		r.bits[k] = x->as_integer || x->format == TEXEL_U32 || x->format == TEXEL_S32 ||
			x->format >= TEXEL_HALF ? u : bits_of(r.f[k]);
	}
	return r;
}

static uint32_t layer_of(const struct texture *x, int64_t layer)
{
	return layer < 0 || !x->layers ? 0 : layer < x->layers ? layer : x->layers - 1;
}

/* A coordinate that is outside comes inside; false: it is the border's. */
static bool inside(int64_t *at, uint32_t n, unsigned int mode, bool normalized)
{
	int64_t m;

	if (*at >= 0 && *at < n)
		return true;
	if (mode == ADDRESS_BORDER)
		return false;
	if (mode == ADDRESS_CLAMP || !normalized) {	/* the others need a whole to repeat */
		*at = *at < 0 ? 0 : n - 1;
		return true;
	}
	m = *at % (mode == ADDRESS_WRAP ? (int64_t)n : 2 * (int64_t)n);
	m = m < 0 ? m + (mode == ADDRESS_WRAP ? (int64_t)n : 2 * (int64_t)n) : m;
	*at = m < n ? m : 2 * (int64_t)n - 1 - m;
	return true;
}

static struct texel read_texel(const struct texture *x, const struct texture_level *l,
			       uint32_t layer, const int64_t from[3])
{
	const uint32_t n[3] = { l->width, l->height, l->depth };
	struct texel border = { { 0 }, { 0 } };
	int64_t at[3];
	uint32_t k;
	bool in = l->base;

	memcpy(at, from, sizeof(at));
	for (k = 0; k < 3; k++)
		if (n[k])
			in &= x->linear_memory ? at[k] >= 0 && at[k] < n[k] :
				inside(&at[k], n[k], x->address[k], x->normalized);
	if (in)
		return texel_at(x, l, layer, at);
	for (k = 0; k < x->channels && !x->linear_memory; k++) {
		border.f[k] = x->border[k];
		border.bits[k] = x->as_integer ? (uint32_t)x->border[k] : bits_of(x->border[k]);
	}
	return border;
}

/* Unnormalized coordinates; what lies beyond is left to read_texel. */
static struct texel sample(const struct texture *x, const struct texture_level *l, uint32_t layer,
			   const float c[3])
{
	const uint32_t n[3] = { l->width, l->height, l->depth };
	struct texel r = { { 0 }, { 0 } }, one;
	float frac[3] = { 0 }, w;
	int64_t base[3] = { 0 }, at[3];
	uint32_t k, corner, dims = l->depth ? 3 : l->height ? 2 : 1;
	float v;

	for (k = 0; k < dims; k++) {
		v = x->normalized ? c[k] * n[k] : c[k];
		if (!(fabsf(v) < 1e9f))
			v = 0;
		v -= x->linear ? 0.5f : 0;
		base[k] = (int64_t)floorf(v);
		frac[k] = nearbyintf((v - floorf(v)) * 256) / 256;
	}
	if (!x->linear)
		return read_texel(x, l, layer, base);
	for (corner = 0; corner < 1u << dims; corner++) {
		w = 1;
		memcpy(at, base, sizeof(at));
		for (k = 0; k < dims; k++) {
			at[k] += corner >> k & 1;
			w *= corner >> k & 1 ? frac[k] : 1 - frac[k];
		}
		if (!(w > 0))
			continue;
		one = read_texel(x, l, layer, at);
		for (k = 0; k < 4; k++)
			r.f[k] += w * one.f[k];
	}
	for (k = 0; k < 4; k++)
		r.bits[k] = bits_of(r.f[k]);
	return r;
}

static struct texel sample_level(const struct texture *x, uint32_t layer, const float c[3],
				 float lod)
{
	struct texel a, b;
	float f, top = x->levels - 1;
	uint32_t k, n;

	lod += x->level_bias;
	lod = lod < x->level_min ? x->level_min : lod > x->level_max ? x->level_max : lod;
	lod = !(lod > 0) ? 0 : lod > top ? top : lod;
	if (!x->linear_levels)
		return sample(x, &x->level[(uint32_t)(lod + 0.5f)], layer, c);
	n = lod;
	f = nearbyintf((lod - n) * 256) / 256;
	a = sample(x, &x->level[n], layer, c);
	if (!(f > 0))
		return a;
	b = sample(x, &x->level[n + 1], layer, c);
	for (k = 0; k < 4; k++) {
		a.f[k] += f * (b.f[k] - a.f[k]);
		a.bits[k] = bits_of(a.f[k]);
	}
	return a;
}

/* The face that a direction hits, and where on it, 0 to 1. */
static uint32_t cube_face(const float d[3], float at[3])
{
	float ax = fabsf(d[0]), ay = fabsf(d[1]), az = fabsf(d[2]), m, s, t;
	uint32_t face;

	if (ax >= ay && ax >= az) {
		face = d[0] < 0;
		m = ax;
		s = d[0] < 0 ? d[2] : -d[2];
		t = -d[1];
	} else if (ay >= az) {
		face = 2 + (d[1] < 0);
		m = ay;
		s = d[0];
		t = d[1] < 0 ? -d[2] : d[2];
	} else {
		face = 4 + (d[2] < 0);
		m = az;
		s = d[2] < 0 ? -d[0] : d[0];
		t = -d[1];
	}
	at[0] = (s / m + 1) / 2;
	at[1] = (t / m + 1) / 2;
	at[2] = 0;
	return face;
}

static void give(struct thread *t, const struct opnd *d, const struct texel *r, unsigned int type)
{
	uint32_t k, v;

	for (k = 0; k < (d->kind == K_VEC ? d->reg : 1); k++) {
		v = r->bits[k];
		if (type == PTX_T_F16)
			v = float_to_half(float_of(v), R_N);
		put(t, d->kind == K_VEC ? &d->vec[k] : d, type, v);
	}
}

static uint64_t coordinate(struct thread *t, const struct opnd *c, uint32_t k)
{
	return c->kind == K_VEC ? k < c->reg ? val(t, &c->vec[k]) : 0 : k ? 0 : val(t, c);
}

/* How much a step of one pixel moves over the texels: the level that fits. */
static float level_for(struct thread *t, const struct insn *i, const struct texture *x)
{
	const uint32_t n[3] = { x->level[0].width, x->level[0].height, x->level[0].depth };
	float most = 0, len, d;
	uint32_t k, v;

	for (v = 2; v < 4; v++) {
		len = 0;
		for (k = 0; k < 3; k++) {
			d = float_of(coordinate(t, &i->a[v], k)) *
				(x->normalized && n[k] ? n[k] : 1);
			len += d * d;
		}
		most = len > most ? len : most;
	}
	return log2f(sqrtf(most));
}

/* tex{.level|.grad}.geometry d, [handle, coordinates]{, level | dx, dy} */
void exec_tex(struct thread *t, const struct insn *i)
{
	const struct opnd *c = &i->a[1].vec[1];
	struct texture *x = found(t, i, &i->a[1].vec[0]);
	uint32_t layered = i->op2 & TEX_LAYERED ? 1 : 0, k, layer = 0;
	struct texel r;
	int64_t at[3];
	float f[3], lod = 0;

	if (!x)
		return;
	if (layered)
		layer = coordinate(t, c, 0);
	if (!(i->op2 & TEX_CUBE))
		layer = layer_of(x, (int32_t)layer);
	if (i->op2 & TEX_LEVEL)
		lod = i->stype == PTX_T_S32 ? (float)(int32_t)val(t, &i->a[2]) :
			float_of(val(t, &i->a[2]));
	else if (i->op2 & TEX_GRAD)
		lod = level_for(t, i, x);
	for (k = 0; k < 3; k++) {
		f[k] = float_of(coordinate(t, c, layered + k));
		at[k] = (int32_t)coordinate(t, c, layered + k);
	}
	if (i->op2 & TEX_CUBE)
		layer = layer_of(x, (int64_t)(int32_t)layer * 6 + cube_face(f, f));
	if (i->stype == PTX_T_S32)
		r = read_texel(x, lod >= 0 && lod < x->levels ? &x->level[(uint32_t)lod] :
			       &no_level, layer, at);
	else
		r = sample_level(x, layer, f, lod);
	give(t, &i->a[0], &r, i->type);
}

/* tld4.component: that component of the four texels that filtering would mix. */
void exec_tld4(struct thread *t, const struct insn *i)
{
	static const uint8_t step[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
	const struct opnd *c = &i->a[1].vec[1];
	struct texture *x = found(t, i, &i->a[1].vec[0]);
	uint32_t layered = i->op2 & TEX_LAYERED ? 1 : 0, k;
	struct texel r, one;
	int64_t at[3] = { 0 };
	float f;

	if (!x)
		return;
	for (k = 0; k < 4; k++) {
		uint32_t d;

		for (d = 0; d < 2; d++) {
			f = float_of(coordinate(t, c, layered + d));
			if (x->normalized)
				f *= d ? x->level[0].height : x->level[0].width;
			at[d] = (int64_t)floorf(f - 0.5f) + step[k][d];
		}
		one = read_texel(x, &x->level[0],
				 layered ? layer_of(x, (int32_t)coordinate(t, c, 0)) : 0, at);
		r.bits[k] = one.bits[i->op];
	}
	give(t, &i->a[0], &r, i->type);
}

/* txq, suq: what a texture is like */
void exec_txq(struct thread *t, const struct insn *i)
{
	struct texture *x = found(t, i, i->a[1].kind == K_VEC ? &i->a[1].vec[0] : &i->a[1]);
	const struct texture_level *l;
	uint32_t level = i->n > 2 ? val(t, &i->a[2]) : 0, v;

	if (!x)
		return;
	l = level < x->levels ? &x->level[level] : &no_level;
	switch (i->op) {
	case TXQ_WIDTH: v = l->width; break;
	case TXQ_HEIGHT: v = l->height; break;
	case TXQ_DEPTH: v = l->depth; break;
	case TXQ_ARRAY_SIZE: v = x->layers; break;
	case TXQ_LEVELS: v = x->levels; break;
	default: v = x->normalized; break;
	}
	put(t, &i->a[0], PTX_T_U32, v);
}

/*
 * Where a surface instruction goes: x counts bytes (elements where it converts).
 * Outside: .trap faults, .zero reads 0 and drops, .clamp goes to the edge.
 */
static uint8_t *surface_at(struct thread *t, const struct insn *i, const struct opnd *where,
			   const struct texture *x, uint32_t size)
{
	const struct opnd *c = &where->vec[1];
	const struct texture_level *l = &x->level[0];
	uint32_t layered = i->op2 & TEX_LAYERED ? 1 : 0, k;
	uint32_t element = texel_size(x->format) * x->channels;
	int64_t at[3], n[3] = { (int64_t)l->width * element, l->height, l->depth }, layer;
	bool out = false;

	if (!x->surface) {
		thread_fault(t, i, FAULT_ADDRESS, "the handle is no surface's");
		return NULL;
	}
	layer = layered ? (int32_t)coordinate(t, c, 0) : 0;
	for (k = 0; k < 3; k++) {
		at[k] = (int32_t)coordinate(t, c, layered + k);
		if (!k && i->op2 & SURFACE_ELEMENTS)
			at[k] *= element;
		if (!n[k]) {
			at[k] = 0;
			continue;
		}
		if (at[k] < 0 || at[k] + (k ? 1 : (int64_t)size) > n[k]) {
			out |= i->op != SURFACE_CLAMP || (int64_t)size > n[0];
			at[k] = at[k] < 0 ? 0 : n[k] - (k ? 1 : (int64_t)size);
		}
	}
	if (layered && (layer < 0 || layer >= x->layers))
		out = true;
	if (out) {
		if (i->op == SURFACE_TRAP)
			thread_fault(t, i, FAULT_ADDRESS, "(%lld, %lld, %lld) lies outside the surface",
				     (long long)at[0], (long long)at[1], (long long)at[2]);
		return NULL;
	}
	if (at[0] % size) {
		thread_fault(t, i, FAULT_MISALIGNED, "%u bytes at x = %lld of a surface", size,
			     (long long)at[0]);
		return NULL;
	}
	return l->base + at[0] + at[1] * l->pitch + (l->depth ? at[2] : layer) * l->plane;
}

/* suld.b.geometry{.vec}.type.clamp d, [surface, coordinates] */
void exec_suld(struct thread *t, const struct insn *i)
{
	uint32_t size = type_size(i->type), n = i->a[0].kind == K_VEC ? i->a[0].reg : 1, k;
	struct texture *x = found(t, i, &i->a[1].vec[0]);
	uint64_t v = 0;
	uint8_t *p;

	if (!x)
		return;
	p = surface_at(t, i, &i->a[1], x, size * n);
	for (k = 0; k < n; k++) {
		if (p)
			memcpy(&v, p + k * size, size);
		put(t, i->a[0].kind == K_VEC ? &i->a[0].vec[k] : &i->a[0], i->type, v);
	}
}

/* From the 32 bits of a register to the surface's own format. */
static void to_format(const struct texture *x, uint8_t *p, uint32_t v)
{
	int32_t s = v;
	uint16_t h;

	switch (x->format) {
	case TEXEL_U8: *p = v > 255 ? 255 : v; break;
	case TEXEL_S8: *p = s > 127 ? 127 : s < -128 ? -128 : s; break;
	case TEXEL_U16: h = v > 65535 ? 65535 : v; memcpy(p, &h, 2); break;
	case TEXEL_S16: h = s > 32767 ? 32767 : s < -32768 ? -32768 : s; memcpy(p, &h, 2); break;
	case TEXEL_HALF: h = float_to_half(float_of(v), R_N); memcpy(p, &h, 2); break;
	default: memcpy(p, &v, 4);
	}
}

/* sust.b and sust.p: as bytes, or as texels that are converted */
void exec_sust(struct thread *t, const struct insn *i)
{
	const struct opnd *from = &i->a[1];
	uint32_t size = type_size(i->type), n = from->kind == K_VEC ? from->reg : 1, k;
	struct texture *x = found(t, i, &i->a[0].vec[0]);
	uint64_t v;
	uint8_t *p;

	if (!x)
		return;
	if (i->op2 & SURFACE_ELEMENTS) {
		size = texel_size(x->format);
		n = n < x->channels ? n : x->channels;
	}
	p = surface_at(t, i, &i->a[0], x, size * n);
	for (k = 0; p && k < n; k++) {
		v = val(t, from->kind == K_VEC ? &from->vec[k] : from);
		if (i->op2 & SURFACE_ELEMENTS)
			to_format(x, p + k * size, v);
		else
			memcpy(p + k * size, &v, size);
	}
}

/* sured: an atomic operation without a result */
void exec_sured(struct thread *t, const struct insn *i)
{
	uint32_t size = type_size(i->type);
	struct texture *x = found(t, i, &i->a[0].vec[0]);
	uint64_t v = 0;
	uint8_t *p;

	p = x ? surface_at(t, i, &i->a[0], x, size) : NULL;
	if (!p)
		return;
	memcpy(&v, p, size);
	v = atom_update(i->type, i->rnd, norm(i->type, v), valn(t, &i->a[1], i->type), 0);
	memcpy(p, &v, size);
}
