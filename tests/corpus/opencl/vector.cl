// SPDX-License-Identifier: MIT
// Element by element, all vector widths: what needs no more than get_global_id.

// run vec_add global=1024 local=64: buf(float,1024,random) buf(float,1024,random) buf(float,1024,zero)
// expect vec_add slice=offset
kernel void vec_add(global const float *a, global const float *b, global float *c)
{
	size_t i = get_global_id(0);

	c[i] = a[i] + b[i];
}

// run vec_saxpy global=512 local=32: buf(float,512,random) buf(float,512,random) float(1.5)
// expect vec_saxpy slice=offset
__kernel void vec_saxpy(__global const float *x, __global float *y, float a)
{
	int i = get_global_id(0);

	y[i] = mad(a, x[i], y[i]);
}

// run vec_float4 global=256 local=16: buf(float,1024,random) buf(float,1024,zero)
// expect vec_float4 slice=offset
kernel void vec_float4(global const float4 *in, global float4 *out)
{
	size_t i = get_global_id(0);
	float4 v = in[i];

	out[i] = v.wzyx * (float4)(1, 2, 3, 4) + v.xxyy;
}

// run vec_dot global=256 local=64: buf(float,1024,random) buf(float,256,zero)
kernel void vec_dot(global const float4 *in, global float *out)
{
	const size_t i = get_global_id(0);

	out[i] = dot(in[i], (float4)(0.5f, 0.25f, 2.0f, -1.0f));
}

// run vec_cross global=128 local=8: buf(float,512,random) buf(float,512,random) buf(float,512,zero)
kernel void vec_cross(global const float4 *a, global const float4 *b, global float4 *c)
{
	const size_t i = get_global_id(0);

	c[i] = cross(a[i], b[i]);
}

// run vec_int8 global=64 local=4: buf(int,512,random) buf(int,512,zero)
kernel void vec_int8(global const int8 *in, global int8 *out)
{
	size_t i = get_global_id(0);
	int8 v = in[i];

	out[i] = (v.lo + v.hi).s01230123 ^ v.s76543210;
}

// run vec_uchar16 global=64 local=16: buf(uchar,1024,random) buf(uchar,1024,zero)
kernel void vec_uchar16(global const uchar16 *in, global uchar16 *out)
{
	size_t i = get_global_id(0);

	out[i] = add_sat(in[i], (uchar16)(200)) - in[i].sfedcba9876543210;
}

// run vec_select global=256 local=32: buf(float,1024,random) buf(float,1024,random) buf(float,1024,zero)
kernel void vec_select(global const float4 *a, global const float4 *b, global float4 *c)
{
	size_t i = get_global_id(0);

	c[i] = select(a[i], b[i], isless(a[i], b[i]));
}

// run vec_convert global=256 local=64: buf(float,1024,random) buf(char,1024,zero) buf(short,1024,zero)
kernel void vec_convert(global const float4 *in, global char4 *c, global short4 *s)
{
	size_t i = get_global_id(0);

	c[i] = convert_char4_sat_rte(in[i] * 200.0f);
	s[i] = convert_short4_rtz(in[i] * 3000.0f);
}

// run vec_shuffle global=128 local=16: buf(uint,512,random) buf(uint,512,zero)
kernel void vec_shuffle(global const uint4 *in, global uint4 *out)
{
	size_t i = get_global_id(0);

	out[i] = shuffle(in[i], in[i] & 3u);
}

// run vec_float3 global=64 local=8: buf(float,192,random) buf(float,192,zero)
kernel void vec_float3(global const float *in, global float *out)
{
	size_t i = get_global_id(0);
	float3 v = vload3(i, in);

	v = (float3)(v.z, v.x, v.y) * 2.0f;
	vstore3(v, i, out);
}

// run vec_bits global=256 local=64: buf(uint,256,random) buf(uint,256,zero)
kernel void vec_bits(global const uint *in, global uint *out)
{
	size_t i = get_global_id(0);
	uint v = in[i];

	out[i] = rotate(v, 7u) ^ popcount(v) ^ (clz(v) << 8) ^ mul_hi(v, 0x9e3779b9u);
}

// run vec_stride global=64 local=8: buf(uint,1024,random) buf(uint,1024,zero) uint(1024)
// expect vec_stride slice=rewritten
kernel void vec_stride(global const uint *in, global uint *out, uint n)
{
	for (uint i = get_global_id(0); i < n; i += get_global_size(0))
		out[i] = in[i] * 3u + 1u;
}

// run vec_stride_offset global=64 local=16 offset=32: buf(uint,1024,random) buf(uint,1024,zero) uint(1024)
kernel void vec_stride_offset(global const uint *in, global uint *out, uint n)
{
	uint start = get_global_id(0) - get_global_offset(0);

	for (uint i = start; i < n; i += get_global_size(0))
		out[i] = in[i] ^ (uint)get_global_offset(0);
}

// run vec_union global=64 local=16: buf(float,256,random) buf(uint,256,zero)
kernel void vec_union(global const float4 *in, global uint4 *out)
{
	out[get_global_id(0)] = as_uint4(in[get_global_id(0)]) >> 3;
}

// run vec_math global=256 local=32: buf(float,256,random) buf(float,256,zero)
kernel void vec_math(global const float *in, global float *out)
{
	size_t i = get_global_id(0);
	float x = in[i];

	out[i] = native_sqrt(fabs(x)) + sin(x) * cos(x) + fma(x, x, 1.0f) + exp2(x) - hypot(x, 3.0f);
}
