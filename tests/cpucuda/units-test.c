// SPDX-License-Identifier: MIT
/*
 * Instructions with a shape of their own, against C: products of matrices in all
 * shapes, textures, barriers in memory and bulk copies, packed integers.
 *
 * Where an element of a matrix lies in the lanes' registers is written down here a
 * second time, shape by shape, as the figures of the PTX ISA have it.
 */
#include <math.h>
#include "cpucuda/texture.h"
#include "unit.h"

/* Where element @i of a lane's share is: as the manual has it for each shape. */
struct at { int row, col; };
typedef struct at (*layout)(int lane, int i);
#define G (lane >> 2)
#define Q (lane & 3)
#define AT(name, r, c)							\
static struct at name(int lane, int i)					\
{									\
	(void)i;							\
	return (struct at){ r, c };					\
}

AT(a_h16, i < 2 || (i >= 4 && i < 6) ? G : G + 8, i < 4 ? Q * 2 + (i & 1) : Q * 2 + (i & 1) + 8)
AT(b_h16, i < 2 ? Q * 2 + (i & 1) : Q * 2 + (i & 1) + 8, G)
AT(a_h8, i < 2 ? G : G + 8, Q * 2 + (i & 1))
AT(b_h8, Q * 2 + i, G)
AT(c_16, i < 2 ? G : G + 8, Q * 2 + (i & 1))
AT(c_8, G, Q * 2 + i)
AT(a_t8, i == 0 || i == 2 ? G : G + 8, i < 2 ? Q : Q + 4)
AT(b_t8, i == 0 ? Q : Q + 4, G)
AT(a_t4, i == 0 ? G : G + 8, Q)
AT(b_t4, Q, G)
AT(a_s32, i < 4 || (i >= 8 && i < 12) ? G : G + 8, i < 8 ? Q * 4 + (i & 3) : Q * 4 + (i & 3) + 16)
AT(b_s32, i < 4 ? Q * 4 + (i & 3) : Q * 4 + (i & 3) + 16, G)
AT(a_s16, i < 4 ? G : G + 8, Q * 4 + (i & 3))
AT(b_s16, Q * 4 + i, G)
AT(a_m8s16, G, Q * 4 + i)
AT(a_n64, i < 8 || (i >= 16 && i < 24) ? G : G + 8, i < 16 ? Q * 8 + (i & 7) : Q * 8 + (i & 7) + 32)
AT(b_n64, i < 8 ? Q * 8 + (i & 7) : Q * 8 + (i & 7) + 32, G)
AT(a_d4, G, Q)
AT(a_b128, i < 32 ? G : G + 8, Q * 32 + (i & 31))
AT(b_b128, Q * 32 + i, G)

enum kind { HALF, BF16, TF32, S8, U8, S4, BIT, DOUBLE };
static const struct shape {
	const char *name;
	int m, n, k, regs_a, regs_b, regs_c;
	enum kind kind;
	bool half_c;
	layout a, b, c;
} shapes[] = {
	{ "m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, 4, 2, 4, HALF, false, a_h16, b_h16, c_16 },
	{ "m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, 4, 2, 2, HALF, true, a_h16, b_h16, c_16 },
	{ "m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 8, 2, 1, 4, HALF, false, a_h8, b_h8, c_16 },
	{ "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 16, 4, 2, 4, BF16, false, a_h16, b_h16, c_16 },
	{ "m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, 4, 2, 4, TF32, false, a_t8, b_t8, c_16 },
	{ "m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, 2, 1, 4, TF32, false, a_t4, b_t4, c_16 },
	{ "m16n8k32.row.col.s32.s8.s8.s32", 16, 8, 32, 4, 2, 4, S8, false, a_s32, b_s32, c_16 },
	{ "m16n8k16.row.col.s32.u8.u8.s32", 16, 8, 16, 2, 1, 4, U8, false, a_s16, b_s16, c_16 },
	{ "m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16, 1, 1, 2, S8, false, a_m8s16, b_s16, c_8 },
	{ "m16n8k64.row.col.s32.s4.s4.s32", 16, 8, 64, 4, 2, 4, S4, false, a_n64, b_n64, c_16 },
	{ "m16n8k128.row.col.s32.b1.b1.s32.xor.popc", 16, 8, 128, 2, 1, 4, BIT, false, a_b128, b_b128,
	  c_16 },
	{ "m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, 1, 1, 2, DOUBLE, false, a_d4, b_t4, c_8 },
};

static const uint8_t bits_of[] = { 16, 16, 32, 8, 8, 4, 1, 64 };

/* A small number that all kinds can hold, and its bits. */
static double number(enum kind kind, uint64_t *bits)
{
	int v = kind == BIT ? (int)draw(2) : kind == U8 ? (int)draw(200) : (int)draw(15) - 7;
	double d = v;
	float f = v;
	uint32_t u;

	memcpy(&u, &f, 4);
	switch (kind) {
	case HALF: *bits = float_to_half(f, R_N); break;
	case BF16: *bits = u >> 16; break;
	case TF32: *bits = u | 0xfff; break;	/* bits that don't count */
	case DOUBLE: memcpy(bits, &d, 8); break;
	default: *bits = (uint64_t)(int64_t)v & ((1ull << bits_of[kind]) - 1);
	}
	return d;
}

static void list(char *to, const char *prefix, int n)
{
	int k;

	to += sprintf(to, "{");
	for (k = 0; k < n; k++)
		to += sprintf(to, "%s%%%s%d", k ? ", " : "", prefix, k);
	sprintf(to, "}");
}

/* Each lane reads its registers from in, one behind the other, and writes its result to out. */
static void program_for(const struct shape *s, char *text)
{
	const char *type = s->kind == DOUBLE ? "b64" : "b32", *c = s->kind == DOUBLE ? "f64" : "b32";
	int n[3] = { s->regs_a, s->regs_b, s->regs_c }, size = s->kind == DOUBLE ? 8 : 4;
	int k, r, at = 0;
	static const char names[] = "abc";
	char a[100], b[100], cc[100], d[100];

	list(a, "a", s->regs_a);
	list(b, "b", s->regs_b);
	list(cc, "c", s->regs_c);
	list(d, "d", s->regs_c);
	text += sprintf(text, HEAD ".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"
			".reg .%s %%a<8>, %%b<8>, %%c<8>, %%d<8>; .reg .u64 %%o, %%i, %%t; .reg .u32 %%l;\n"
			"ld.param.u64 %%o, [o]; ld.param.u64 %%i, [i]; mov.u32 %%l, %%tid.x;\n"
			"mul.wide.u32 %%t, %%l, %d; add.u64 %%i, %%i, %%t;\n"
			"mul.wide.u32 %%t, %%l, %d; add.u64 %%o, %%o, %%t;\n", c,
			(n[0] + n[1] + n[2]) * size, n[2] * size);
	for (k = 0; k < 3; k++)
		for (r = 0; r < n[k]; r++, at += size)
			text += sprintf(text, "ld.global.%s %%%c%d, [%%i+%d];\n", type, names[k], r, at);
	text += sprintf(text, "mma.sync.aligned.%s %s, %s, %s, %s;\n", s->name, d, a, b, cc);
	for (r = 0; r < n[2]; r++)
		text += sprintf(text, "st.global.%s [%%o+%d], %%d%d;\n", type, r * size, r);
	sprintf(text, "ret; }\n");
}

static void set_bits(uint8_t *p, int bit, int n, uint64_t v)
{
	uint64_t w = 0;

	if (n >= 8) {
		memcpy(p + bit / 8, &v, n / 8);
		return;
	}
	memcpy(&w, p + bit / 8, 1);
	w |= v << bit % 8;
	memcpy(p + bit / 8, &w, 1);
}

static double c_number(const struct shape *s, const uint8_t *p)
{
	int32_t v;
	uint16_t h;
	double d;
	float f;

	if (s->half_c) {
		memcpy(&h, p, 2);
		return half_to_float(h);
	}
	memcpy(&d, p, s->kind == DOUBLE ? 8 : 4);
	memcpy(&f, p, 4);
	memcpy(&v, p, 4);
	return s->kind == DOUBLE ? d : s->kind <= TF32 ? f : v;
}

TEST(products_of_matrices)
{
	static double a[16][128], b[128][8], c[16][8];
	size_t n, size;
	char text[8000];
	int lane, i, row, col, k, count, c_bits;
	uint64_t bits;
	struct at at;
	uint8_t *p;

	for (n = 0; n < sizeof(shapes) / sizeof(*shapes); n++) {
		const struct shape *s = &shapes[n];

		prepare();
		size = s->kind == DOUBLE ? 8 : 4;
		for (lane = 0; lane < 32; lane++) {
			p = in->host + lane * (s->regs_a + s->regs_b + s->regs_c) * size;
			count = s->regs_a * size * 8 / bits_of[s->kind];
			for (i = 0; i < count; i++) {
				at = s->a(lane, i);
				a[at.row][at.col] = number(s->kind, &bits);
				set_bits(p, i * bits_of[s->kind], bits_of[s->kind], bits);
			}
			p += s->regs_a * size;
			count = s->regs_b * size * 8 / bits_of[s->kind];
			for (i = 0; i < count; i++) {
				at = s->b(lane, i);
				b[at.row][at.col] = number(s->kind, &bits);
				set_bits(p, i * bits_of[s->kind], bits_of[s->kind], bits);
			}
			p += s->regs_b * size;
			c_bits = s->half_c ? 16 : s->kind == DOUBLE ? 64 : 32;
			count = s->regs_c * size * 8 / c_bits;
			for (i = 0; i < count; i++) {
				double v = (int)draw(100) - 50;
				float f = v;
				int32_t w = v;

				at = s->c(lane, i);
				c[at.row][at.col] = v;
				bits = s->half_c ? float_to_half(v, R_N) : 0;
				if (!s->half_c)
					memcpy(&bits, s->kind == DOUBLE ? (void *)&v :
					       s->kind <= TF32 ? (void *)&f : (void *)&w, size);
				set_bits(p, i * c_bits, c_bits, bits);
			}
		}
		program_for(s, text);
		if (!run(text, 32, 0))
			continue;
		for (row = 0; row < s->m; row++)
			for (col = 0; col < s->n; col++)
				for (k = 0; k < s->k; k++)
					c[row][col] += s->kind == BIT ? a[row][k] != b[k][col] :
						a[row][k] * b[k][col];
		for (lane = 0; lane < 32; lane++)
			for (i = 0; i < s->m * s->n / 32; i++) {
				at = s->c(lane, i);
				p = out->host + lane * s->regs_c * size + i * (c_bits / 8);
				if (c_number(s, p) != c[at.row][at.col])
					test_fail("%s: lane %d, element %d (%d, %d): %g, not %g", s->name,
						  lane, i, at.row, at.col, c_number(s, p),
						  c[at.row][at.col]);
			}
	}
}

/* 8x8 halves by rows, straight and transposed, and back. */
TEST(rows_of_matrices)
{
	static const char text[] = HEAD ".shared .align 16 .b8 s[512];\n"
		".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"
		".reg .b32 %r<12>; .reg .u64 %o, %i, %t; .reg .u32 %l, %a, %b;\n"
		"ld.param.u64 %o, [o]; ld.param.u64 %i, [i]; mov.u32 %l, %tid.x; mov.u32 %a, s;\n"
		"mad.lo.u32 %b, %l, 16, %a; mul.wide.u32 %t, %l, 16; add.u64 %i, %i, %t;\n"
		"ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%i];\n"
		"st.shared.v4.b32 [%b], {%r0, %r1, %r2, %r3}; bar.sync 0;\n"
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%b];\n"
		"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r4, %r5}, [%b];\n"
		"movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r0;\n"
		"mul.wide.u32 %t, %l, 32; add.u64 %o, %o, %t;\n"
		"st.global.v4.b32 [%o], {%r0, %r1, %r2, %r3};\n"
		"st.global.v4.b32 [%o+16], {%r4, %r5, %r6, %r6};\nret; }\n";
	uint16_t *h, *o;
	int lane, r, j;

	prepare();
	h = (uint16_t *)in->host;
	o = (uint16_t *)out->host;
	for (r = 0; r < 256; r++)
		h[r] = r * 3 + 1;
	if (!run(text, 32, 0))
		return;
	for (lane = 0; lane < 32; lane++)
		for (j = 0; j < 2; j++) {
			int row = lane / 4, col = lane % 4 * 2 + j;

			for (r = 0; r < 4; r++)
				EXPECT_EQ(h[(r * 8 + row) * 8 + col], o[lane * 16 + r * 2 + j]);
			for (r = 0; r < 2; r++)
				EXPECT_EQ(h[(r * 8 + col) * 8 + row], o[lane * 16 + 8 + r * 2 + j]);
			EXPECT_EQ(h[col * 8 + row], o[lane * 16 + 12 + j]);
		}
}

#define FETCH(op)								\
	HEAD ".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n" \
	".reg .b32 %r<8>; .reg .f32 %f<8>; .reg .u64 %o, %i, %x, %t; .reg .u32 %l;\n" \
	"ld.param.u64 %o, [o]; ld.param.u64 %i, [i]; ld.param.u64 %x, [x];\n"	\
	"mov.u32 %l, %tid.x; mul.wide.u32 %t, %l, 8; add.u64 %i, %i, %t; add.u64 %o, %o, %t;\n" \
	"ld.global.v2.f32 {%f0, %f1}, [%i]; mov.b32 %r4, %f0; mov.b32 %r5, %f1;\n" \
	op "\nmov.b32 %r0, %f4; mov.b32 %r1, %f5;\n"				\
	"st.global.v2.b32 [%o], {%r0, %r1}; ret; }\n"
#define TEX2D "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%x, {%f0, %f1}];"

/* A texture of 8 x 4 texels with two channels: 10 y + x, and 100 more. */
static uint64_t floats(bool linear, bool normalized, int address, float *texels)
{
	struct texture t = { .levels = 1, .format = TEXEL_FLOAT, .channels = 2, .linear = linear,
		.normalized = normalized, .level_max = 16, .border = { 7, 8 } };
	int k;

	t.address[0] = t.address[1] = t.address[2] = address;
	for (k = 0; k < 32; k++) {
		texels[k * 2] = k / 8 * 10 + k % 8;
		texels[k * 2 + 1] = texels[k * 2] + 100;
	}
	t.level[0] = (struct texture_level){ (uint8_t *)texels, 8, 4, 0, 64, 256 };
	return texture_add(&t);
}

static double coordinate(double x, int n, int address, bool *border)
{
	double v = floor(x);

	*border |= address == ADDRESS_BORDER && (v < 0 || v >= n);
	if (address == ADDRESS_CLAMP)
		return v < 0 ? 0 : v >= n ? n - 1 : v;
	if (address == ADDRESS_WRAP)
		return v - n * floor(v / n);
	v -= 2 * n * floor(v / (2 * n));
	return v < n ? v : 2 * n - 1 - v;
}

static double texel(double x, double y, int address)
{
	bool border = false;
	double cx = coordinate(x, 8, address, &border), cy = coordinate(y, 4, address, &border);

	return border ? 7 : cy * 10 + cx;
}

static double filtered(double x, double y, int address)
{
	double fx = x - 0.5 - floor(x - 0.5), fy = y - 0.5 - floor(y - 0.5);

	fx = round(fx * 256) / 256;
	fy = round(fy * 256) / 256;
	x = floor(x - 0.5);
	y = floor(y - 0.5);
	return (1 - fx) * (1 - fy) * texel(x, y, address) +
		fx * (1 - fy) * texel(x + 1, y, address) +
		(1 - fx) * fy * texel(x, y + 1, address) + fx * fy * texel(x + 1, y + 1, address);
}

TEST(textures)
{
	int address, linear, k;
	static float texels[64];
	double x, y, want;
	float *o, *c;
	uint64_t h;

	prepare();
	o = (float *)out->host;
	c = (float *)in->host;
	for (address = 0; address < 4; address++)
		for (linear = 0; linear < 2; linear++) {
			/* repeating needs coordinates between 0 and 1 */
			h = floats(linear, true, address, texels);
			for (k = 0; k < 64; k++) {
				c[k * 2] = ((int)draw(6000) - 2000) / 2000.0f;
				c[k * 2 + 1] = ((int)draw(6000) - 2000) / 2000.0f;
			}
			if (!run(FETCH(TEX2D), 64, h))
				return;
			for (k = 0; k < 64; k++) {
				x = c[k * 2] * 8.0f;
				y = c[k * 2 + 1] * 4.0f;
				want = linear ? filtered(x, y, address) : texel(x, y, address);
				if (!(fabs(o[k * 2] - want) <= 0.2 * linear))
					test_fail("mode %d%s at (%g, %g): %g, not %g", address,
						  linear ? ", filtered" : "", x, y, o[k * 2], want);
			}
			EXPECT_TRUE(texture_remove(h));
		}
	EXPECT_TRUE(!texture_find(h));
}

TEST(textures_of_other_kinds)
{
	static const uint8_t bytes[8] = { 0, 51, 102, 153, 204, 255, 10, 20 };
	struct texture t = { .levels = 1, .format = TEXEL_U8, .channels = 1, .linear_memory = true,
		.level_max = 16 };
	static float texels[64], deep[2][32];
	float *o, *c;
	uint64_t h;
	int k;

	prepare();
	o = (float *)out->host;
	c = (float *)in->host;
	/* whole numbers as coordinates; 8 bits become a number up to 1; outside is 0 */
	t.level[0] = (struct texture_level){ (uint8_t *)bytes, 8, 0, 0, 8, 8 };
	h = texture_add(&t);
	for (k = 0; k < 12; k++)
		((int32_t *)c)[k * 2] = k - 2;
	run(FETCH("tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%x, {%r4}];"), 12, h);
	for (k = 0; k < 12; k++)
		EXPECT_TRUE(o[k * 2] == (k < 2 || k > 9 ? 0 : bytes[k - 2] / 255.0f));
	t.as_integer = true;
	h = texture_add(&t);
	run(FETCH("tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%x, {%r4}]; mov.b32 %f4, %r4;"), 12, h);
	EXPECT_EQ(204, ((uint32_t *)o)[6 * 2]);
	/* two layers, and two levels */
	t = (struct texture){ .levels = 1, .format = TEXEL_FLOAT, .channels = 1, .layers = 2,
		.level_max = 16 };
	for (k = 0; k < 64; k++)
		deep[k / 32][k % 32] = k;
	t.level[0] = (struct texture_level){ (uint8_t *)deep, 8, 4, 0, 32, 128 };
	h = texture_add(&t);
	for (k = 0; k < 8; k++) {
		c[k * 2] = k + 0.5f;
		c[k * 2 + 1] = 2.5f;
	}
	run(FETCH("mov.u32 %r6, 1; tex.a2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%x, {%r6, %f0, %f1, %f1}];"),
	    8, h);
	EXPECT_TRUE(o[3 * 2] == 32 + 2 * 8 + 3);
	t.layers = 0;
	t.levels = 2;
	t.linear_levels = true;
	t.level[1] = (struct texture_level){ (uint8_t *)deep[1], 4, 2, 0, 16, 32 };
	h = texture_add(&t);
	run(FETCH("mov.f32 %f2, 0f3e800000; tex.level.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, "
		  "[%x, {%f0, %f1}], %f2;"), 4, h);
	/* a quarter of the way from 16 to what the smaller one has at its edge */
	EXPECT_TRUE(o[0] == 16 + 0.25f * (32 + 4 - 16));
	/* the four that a filter would mix, and the size */
	h = floats(false, false, ADDRESS_CLAMP, texels);
	c[0] = 3;
	c[1] = 2;
	run(FETCH("tld4.g.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%x, {%f0, %f1}];"), 1, h);
	EXPECT_TRUE(o[0] == 122 && o[1] == 123);
	run(FETCH("txq.width.b32 %r1, [%x]; mov.b32 %f4, %r1; txq.height.b32 %r1, [%x]; "
		  "mov.b32 %f5, %r1;"), 1, h);
	EXPECT_EQ(8, ((uint32_t *)o)[0]);
	EXPECT_EQ(4, ((uint32_t *)o)[1]);
}

TEST(surfaces)
{
	struct texture t = { .levels = 1, .format = TEXEL_U16, .channels = 2, .surface = true };
	static uint16_t texels[4][16];
	uint64_t h;
	uint32_t *o;
	int k;

	prepare();
	o = (uint32_t *)out->host;
	for (k = 0; k < 64; k++)
		texels[k / 16][k % 16] = k * 5;
	t.level[0] = (struct texture_level){ (uint8_t *)texels, 8, 4, 0, 32, 128 };
	h = texture_add(&t);
	/* x counts bytes */
	for (k = 0; k < 8; k++) {
		((int32_t *)in->host)[k * 2] = k * 4;
		((int32_t *)in->host)[k * 2 + 1] = 3;
	}
	run(FETCH("suld.b.2d.b32.trap {%r6}, [%x, {%r4, %r5}]; mov.b32 %f4, %r6; add.u32 %r6, %r6, 1;\n"
		  "sust.b.2d.b32.trap [%x, {%r4, %r5}], {%r6};\n"
		  "sured.b.add.2d.u32.trap [%x, {%r4, %r5}], %r4;"), 8, h);
	for (k = 0; k < 8; k++) {
		EXPECT_EQ((48u + k * 2) * 5 | (49u + k * 2) * 5 << 16, o[k * 2]);
		EXPECT_EQ((48 + k * 2) * 5 + 1 + k * 4, texels[3][k * 2]);
	}
	/* outside: zero, or the edge */
	((int32_t *)in->host)[0] = -4;
	run(FETCH("suld.b.2d.b32.zero {%r6}, [%x, {%r4, %r5}]; mov.b32 %f4, %r6;\n"
		  "suld.b.2d.b32.clamp {%r6}, [%x, {%r4, %r5}]; mov.b32 %f5, %r6;"), 1, h);
	EXPECT_EQ(0, o[0]);
	EXPECT_EQ(texels[3][0] | (uint32_t)texels[3][1] << 16, o[1]);
	/* as texels that are converted, with x in texels */
	((int32_t *)in->host)[0] = 2;
	run(FETCH("mov.u32 %r6, 70000; mov.u32 %r7, 9;\n"
		  "sust.p.2d.v2.b32.trap [%x, {%r4, %r5}], {%r6, %r7};"), 1, h);
	EXPECT_EQ(65535, texels[3][4]);
	EXPECT_EQ(9, texels[3][5]);
}

/* 64 threads hand data on through a barrier in memory, five phases long. */
TEST(barriers_in_memory)
{
	static const char text[] = HEAD ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 s[256];\n"
		".visible .entry k(.param .u64 o, .param .u64 i, .param .u64 x) {\n"
		".reg .b32 %r<10>; .reg .u64 %o, %i, %t, %st; .reg .pred %p, %q;\n"
		"ld.param.u64 %o, [o]; ld.param.u64 %i, [i]; mov.u32 %r0, %tid.x;\n"
		"mov.u32 %r1, bar; mov.u32 %r2, s; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
		"setp.ne.u32 %p, %r0, 0; @%p bra GO; mbarrier.init.shared.b64 [%r1], 64; GO: bar.sync 0;\n"
		"LOOP: @%p bra MORE;\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%i], 256, [%r1];\n"
		"mbarrier.arrive.expect_tx.shared.b64 %st, [%r1], 256; bra WAIT;\n"
		"MORE: mbarrier.arrive.shared.b64 %st, [%r1];\n"
		"WAIT: mbarrier.try_wait.parity.shared.b64 %q, [%r1], %r6; @!%q bra WAIT;\n"
		"mbarrier.test_wait.shared.b64 %q, [%r1], %st; @!%q trap;\n"
		"mad.lo.u32 %r3, %r0, 4, %r2; ld.shared.u32 %r4, [%r3]; add.u32 %r7, %r7, %r4;\n"
		"bar.sync 0; xor.b32 %r6, %r6, 1; add.u64 %i, %i, 256; add.u32 %r5, %r5, 1;\n"
		"setp.lt.u32 %q, %r5, 5; @%q bra LOOP;\n"
		"mul.wide.u32 %t, %r0, 4; add.u64 %o, %o, %t; st.global.u32 [%o], %r7; ret; }\n";
	uint32_t k, n, sum;

	prepare();
	for (k = 0; k < 64 * 5; k++)
		((uint32_t *)in->host)[k] = k * k;
	if (!run(text, 64, 0))
		return;
	for (k = 0; k < 64; k++) {
		for (sum = 0, n = 0; n < 5; n++)
			sum += (k + 64 * n) * (k + 64 * n);
		EXPECT_EQ(sum, ((uint32_t *)out->host)[k]);
	}
}

static uint32_t each(uint32_t a, uint32_t b, int bits, int (*f)(int a, int b), bool sign)
{
	uint32_t r = 0, mask = (1u << bits) - 1;
	int k, x, y;

	for (k = 0; k < 32; k += bits) {
		x = a >> k & mask;
		y = b >> k & mask;
		if (sign) {
			x = x >> (bits - 1) ? x - (int)mask - 1 : x;
			y = y >> (bits - 1) ? y - (int)mask - 1 : y;
		}
		r |= ((uint32_t)f(x, y) & mask) << k;
	}
	return r;
}

static int plus(int a, int b) { return a + b; }
static int larger(int a, int b) { return a > b ? a : b; }
static int apart(int a, int b) { return a > b ? a - b : b - a; }
static int capped(int a, int b) { return a + b > 127 ? 127 : a + b < -128 ? -128 : a + b; }
static int between(int a, int b) { return (a + b + 1) >> 1; }

TEST(packed_integers)
{
	static const struct {
		const char *text;
		int bits;
		int (*f)(int a, int b);
		bool sign;
	} all[] = {
		{ "add.u16x2 %r6, %r4, %r5;", 16, plus, false },
		{ "max.s16x2 %r6, %r4, %r5;", 16, larger, true },
		{ "max.u16x2 %r6, %r4, %r5;", 16, larger, false },
		{ "vabsdiff4.u32.u32.u32 %r6, %r4, %r5, %r5;", 8, apart, false },
		{ "vadd4.s32.s32.s32.sat %r6, %r4, %r5, %r5;", 8, capped, true },
		{ "vavrg2.u32.u32.u32 %r6, %r4, %r5, %r5;", 16, between, false },
	};
	static const char frame[] = FETCH("@");
	uint32_t *v, sum, k;
	char text[1500];
	size_t n;

	for (n = 0; n < sizeof(all) / sizeof(*all); n++) {
		prepare();
		v = (uint32_t *)in->host;
		for (k = 0; k < 64; k++)
			v[k] = draw(65536) << 16 | draw(65536);
		snprintf(text, sizeof(text), "%.*s%s mov.b32 %%f4, %%r6;%s",
			 (int)(strchr(frame, '@') - frame), frame, all[n].text,
			 strchr(frame, '@') + 1);
		if (!run(text, 32, 0))
			continue;
		for (k = 0; k < 32; k++)
			EXPECT_EQ(each(v[k * 2], v[k * 2 + 1], all[n].bits, all[n].f, all[n].sign),
				  ((uint32_t *)out->host)[k * 2]);
	}
	run(FETCH("vabsdiff4.u32.u32.u32.add %r6, %r4, %r5, 1000; mov.b32 %f4, %r6;"), 1, 0);
	for (sum = 1000, k = 0; k < 32; k += 8)
		sum += apart(v[0] >> k & 255, v[1] >> k & 255);
	EXPECT_EQ(sum, ((uint32_t *)out->host)[0]);
}

TEST(vector_registers)
{
	prepare();
	((uint32_t *)in->host)[0] = 11;
	((uint32_t *)in->host)[1] = 22;
	run(FETCH(".reg .v4 .b32 %v; ld.global.v2.b32 {%v.y, %v.z}, [%i]; add.u32 %v.y, %v.y, 1;\n"
		  "mov.b32 %v.x, 5; mov.b32 %v.w, 6; st.global.v4.b32 [%o+64], %v;\n"
		  "mov.b32 %f4, %v.y; mov.b32 %f5, %v.z;"), 1, 0);
	EXPECT_EQ(12, ((uint32_t *)out->host)[0]);
	EXPECT_EQ(22, ((uint32_t *)out->host)[1]);
	EXPECT_EQ(6, ((uint32_t *)out->host)[19]);
}

TEST_MAIN()
