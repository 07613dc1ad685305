// SPDX-License-Identifier: MIT
// Local memory in all the ways that it is declared.

// run loc_scalar global=128 local=16: buf(uint,128,zero)
kernel void loc_scalar(global uint *out)
{
	local uint v;

	if (get_local_id(0) == 3)
		v = get_group_id(0) * 11;
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = v;
}

// run loc_several global=128 local=16: buf(uint,128,random)
kernel void loc_several(global uint *d)
{
	local uint a[16], b[16], c;
	uint l = get_local_id(0);

	a[l] = d[get_global_id(0)];
	b[15 - l] = get_group_id(0);
	if (l == 0)
		c = 5;
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = a[15 - l] + b[l] * c;
}

// run loc_struct global=128 local=16: buf(uint,128,zero)
kernel void loc_struct(global uint *out)
{
	local struct { uint v[16]; uint sum; } s;
	uint l = get_local_id(0);

	s.v[l] = l * get_group_id(0);
	if (!l)
		s.sum = 9;
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = s.v[(l + 3) % 16] + s.sum;
}

// run loc_typedef global=128 local=16: buf(uint,128,zero)
kernel void loc_typedef(global uint *out)
{
	typedef uint row[4];
	local row t[4];
	uint l = get_local_id(0);

	t[l / 4][l % 4] = get_group_id(0) + l;
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = t[l % 4][l / 4];
}

// run loc_pointer global=128 local=16: buf(uint,128,random)
kernel void loc_pointer(global uint *d)
{
	local uint t[32];
	local uint *a = t, *b = t + 16;
	uint l = get_local_id(0);

	a[l] = d[get_global_id(0)];
	b[l] = get_num_groups(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[31 - l] + t[l];
}

// run loc_swap global=128 local=16: buf(uint,128,random)
kernel void loc_swap(global uint *d)
{
	local uint x[16], y[16];
	local uint *a = x, *b = y;
	uint l = get_local_id(0);

	a[l] = d[get_global_id(0)];
	for (int k = 0; k < 3; k++) {
		barrier(CLK_LOCAL_MEM_FENCE);
		b[l] = a[(l + 1) % 16] + 1;
		local uint *c = a;
		a = b;
		b = c;
	}
	d[get_global_id(0)] = a[l];
}

// run loc_two_args global=128 local=16: buf(uint,128,random) local(64) int(3) local(128)
kernel void loc_two_args(global uint *d, local uint *a, int k, local uint2 *b)
{
	uint l = get_local_id(0);

	a[l] = d[get_global_id(0)] + k;
	b[l] = (uint2)(l, get_group_id(0));
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = a[b[15 - l].x] + b[l].y;
}

// Only the first work-item fills it: the next group must not see it early.
// run loc_shared_flag global=512 local=16: buf(uint,32,random) buf(uint,512,zero)
kernel void loc_shared_flag(global const uint *in, global uint *out)
{
	local uint flag;

	if (get_local_id(0) == 0)
		flag = in[get_group_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint k = 0; k < 20; k++)
		out[get_global_id(0)] += flag >> (k % 8);
}

// run loc_last_read global=512 local=16: buf(uint,512,zero) buf(uint,512,random)
kernel void loc_last_read(global uint *out, global const uint *in)
{
	local uint t[16];

	t[15 - get_local_id(0)] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) & 1)
		for (int i = 0; i < 16; i++)
			out[get_global_id(0)] ^= t[i] << (i & 3);
	else
		out[get_global_id(0)] = t[get_local_id(0)];
}

// run loc_vectors global=64 local=8: buf(float,256,random)
kernel void loc_vectors(global float4 *d)
{
	local float4 t[8];
	local float3 u[8];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	u[l] = t[l].xyz;
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = (float4)(u[7 - l], t[(l + 1) & 7].w);
}

// run loc_union global=64 local=8: buf(uint,64,random)
kernel void loc_union(global uint *d)
{
	local union { uint w[8]; uchar b[32]; } u;
	uint l = get_local_id(0);

	u.w[l] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = u.b[l * 3] + get_group_id(0);
}

// run loc_multi global=16x16 local=8x8: buf(uint,256,random)
kernel void loc_multi(global uint *d)
{
	__local uint t[8][8 + 1];
	size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);

	t[get_local_id(1)][get_local_id(0)] = d[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[i] = t[get_local_id(0)][get_local_id(1)] + get_group_id(0) * 2 + get_group_id(1);
}

// run loc_after_code global=128 local=16: buf(uint,128,random)
kernel void loc_after_code(global uint *d)
{
	uint v = d[get_global_id(0)];
	v *= 3;
	local uint t[16];
	t[get_local_id(0)] = v;
	barrier(CLK_LOCAL_MEM_FENCE);
	local uint u[16];
	u[get_local_id(0)] = t[15 - get_local_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = u[get_local_id(0) ^ 1] + get_group_id(0);
}

// run loc_volatile global=128 local=16: buf(uint,128,zero)
kernel void loc_volatile(global uint *out)
{
	volatile local uint n;
	local volatile uint seen[16];

	if (get_local_id(0) == 0)
		n = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_inc(&n);
	seen[get_local_id(0)] = get_local_id(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = n + seen[(get_local_id(0) + 1) % 16];
}

// run loc_dynamic_size global=64 local=8: buf(uint,64,random) local(32)
// run loc_dynamic_size global=64 local=16: buf(uint,64,random) local(64)
kernel void loc_dynamic_size(global uint *d, local uint *t)
{
	uint n = get_local_size(0), l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[n - 1 - l] * (get_group_id(0) + 1);
}

// run loc_const_size global=64 local=8: buf(uint,64,random)
enum { SIZE = 8 };
kernel void loc_const_size(global uint *d)
{
	local uint t[SIZE * sizeof(uint) / 4];

	t[get_local_id(0)] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[SIZE - 1 - get_local_id(0)];
}

// Pointer and array in one declaration: nothing that must be cut.
// run loc_mixed global=64 local=8: buf(uint,64,random)
// expect loc_mixed slice=cut workers=any
kernel void loc_mixed(global uint *d)
{
	local uint a[8], *p;
	uint l = get_local_id(0);

	p = a;
	p[l] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = a[7 - l] + get_group_id(0);
}
