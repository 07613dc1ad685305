// SPDX-License-Identifier: MIT
// Whole small algorithms, as programs have them.

uint rng(uint *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

// run ap_random global=128 local=16: buf(uint,128,zero) uint(12345)
kernel void ap_random(global uint *out, uint seed)
{
	uint s = seed + get_global_id(0) * 7919 + 1;

	for (int k = 0; k < 20; k++)
		rng(&s);
	out[get_global_id(0)] = rng(&s) ^ get_group_id(0);
}

// run ap_mandelbrot global=32x16 local=8x4: buf(uint,512,zero)
kernel void ap_mandelbrot(global uint *out)
{
	float2 c = (float2)(get_global_id(0) * 3.0f / get_global_size(0) - 2.0f,
			    get_global_id(1) * 2.0f / get_global_size(1) - 1.0f), z = 0;
	uint n = 0;

	while (n < 64 && dot(z, z) < 4.0f) {
		z = (float2)(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
		n++;
	}
	out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = n;
}

// run ap_nbody global=64 local=16: buf(float,256,random) buf(float,256,zero) local(256)
kernel void ap_nbody(global const float4 *pos, global float4 *acc, local float4 *tile)
{
	float4 me = pos[get_global_id(0)], a = 0;

	for (uint t = 0; t < get_num_groups(0); t++) {
		tile[get_local_id(0)] = pos[t * get_local_size(0) + get_local_id(0)];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint k = 0; k < get_local_size(0); k++) {
			float4 r = tile[k] - me;
			float d = r.x * r.x + r.y * r.y + r.z * r.z + 0.01f;

			a.xyz += r.xyz * (tile[k].w / (d * sqrt(d)));
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	acc[get_global_id(0)] = a;
}

constant uint sines[4] = { 0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee };
#define F(x, y, z) (((x) & (y)) | (~(x) & (z)))
#define STEP(a, b, c, d, m, k, s) a = b + rotate(a + F(b, c, d) + (m) + (k), (uint)(s))

// run ap_hash global=64 local=8: buf(uint,256,random) buf(uint,256,zero)
kernel void ap_hash(global const uint4 *in, global uint4 *out)
{
	uint a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
	uint4 m = in[get_global_id(0)];

	for (int k = 0; k < 4; k++) {
		STEP(a, b, c, d, m.x, sines[0], 7);
		STEP(d, a, b, c, m.y, sines[1], 12);
		STEP(c, d, a, b, m.z, sines[2], 17);
		STEP(b, c, d, a, m.w + (uint)get_group_id(0), sines[3], 22);
	}
	out[get_global_id(0)] = (uint4)(a, b, c, d);
}

// run ap_kmeans global=128 local=16: buf(float,256,random) buf(float,16,random) buf(uint,128,zero)
kernel void ap_kmeans(global const float2 *p, constant float2 *centre, global uint *out)
{
	float best = FLT_MAX;
	uint which = 0;

	for (uint k = 0; k < 8; k++) {
		float2 d = p[get_global_id(0)] - centre[k];
		float v = dot(d, d);

		if (v < best) {
			best = v;
			which = k;
		}
	}
	out[get_global_id(0)] = which;
}

// run ap_bfs global=64 local=8: buf(uint,65,index) buf(uint,256,small) buf(uint,64,small) buf(uint,64,zero)
kernel void ap_bfs(global const uint *start, global const uint *edge, global const uint *level, global uint *next)
{
	uint n = get_global_id(0);

	if (level[n] != 2)
		return;
	for (uint e = start[n] * 2; e < start[n + 1] * 2; e++)
		next[edge[e]] = 3;
}

// run ap_black_scholes global=128 local=16: buf(float,128,random) buf(float,256,zero)
float phi(float x) { return 0.5f * (1.0f + erf(x * 0.70710678f)); }
kernel void ap_black_scholes(global const float *in, global float2 *out)
{
	float s = 20 + 10 * in[get_global_id(0)], k = 22, t = 1 + 0.1f * get_group_id(0), r = 0.02f, v = 0.3f;
	float d1 = (log(s / k) + (r + v * v / 2) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);

	out[get_global_id(0)] = (float2)(s * phi(d1) - k * exp(-r * t) * phi(d2), d1);
}

// run ap_dct global=64 local=8: buf(float,64,random)
kernel void ap_dct(global float *d)
{
	local float t[8];
	float s = 0;
	uint k = get_local_id(0);

	t[k] = d[get_group_id(0) * 8 + k];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint n = 0; n < 8; n++)
		s += t[n] * cos(0.3926990817f * (n + 0.5f) * k);
	d[get_global_id(0)] = s;
}

// run ap_fft global=64 local=16: buf(float,256,random)
kernel void ap_fft(global float2 *d)
{
	local float2 t[32];
	uint l = get_local_id(0), base = get_group_id(0) * 32;

	for (uint k = l; k < 32; k += 16) {
		uint r = 0;

		for (uint b = 0; b < 5; b++)
			r |= ((k >> b) & 1) << (4 - b);
		t[r] = d[base + k];
	}
	for (uint h = 1; h < 32; h *= 2) {
		uint i = (l / h) * 2 * h + l % h;
		float2 w = (float2)(cos(-M_PI_F * (l % h) / h), sin(-M_PI_F * (l % h) / h)), a, b;

		barrier(CLK_LOCAL_MEM_FENCE);
		a = t[i];
		b = t[i + h];
		b = (float2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
		t[i] = a + b;
		t[i + h] = a - b;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	d[base + l] = t[l];
	d[base + l + 16] = t[l + 16];
}

// run ap_wave global=64x8 local=8x8: buf(float,512,random) buf(float,512,random) float(0.1)
kernel void ap_wave(global const float *now, global float *before, float c)
{
	int w = get_global_size(0), x = get_global_id(0), i = get_global_id(1) * w + x;
	float l = x ? now[i - 1] : 0, r = x < w - 1 ? now[i + 1] : 0;

	before[i] = 2 * now[i] - before[i] + c * (l + r - 2 * now[i]);
}

// run ap_levenshtein global=32 local=4: buf(uchar,256,small) buf(uchar,8,small) buf(uint,32,zero)
kernel void ap_levenshtein(global const uchar *words, constant uchar *want, global uint *out)
{
	uint row[9], k;
	global const uchar *word = words + get_global_id(0) * 8;

	for (k = 0; k <= 8; k++)
		row[k] = k;
	for (uint i = 0; i < 8; i++) {
		uint diag = row[0];

		row[0] = i + 1;
		for (k = 1; k <= 8; k++) {
			uint v = min(min(row[k], row[k - 1]) + 1, diag + (word[i] != want[k - 1]));

			diag = row[k];
			row[k] = v;
		}
	}
	out[get_global_id(0)] = row[8] * 10 + get_group_id(0);
}

// run ap_monte global=64 local=16: buf(uint,4,zero)
kernel void ap_monte(global uint *out)
{
	local uint hits;
	uint s = get_global_id(0) * 31 + 17, n = 0;

	if (!get_local_id(0))
		hits = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int k = 0; k < 16; k++) {
		uint x = rng(&s) & 1023, y = rng(&s) & 1023;

		n += x * x + y * y < 1024 * 1024;
	}
	atomic_add(&hits, n);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (!get_local_id(0))
		out[get_group_id(0)] = hits;
}
