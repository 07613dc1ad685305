// SPDX-License-Identifier: MIT
// Reductions: one result for each group, in local memory.

// run red_tree global=1024 local=64: buf(uint,1024,random) buf(uint,16,zero) local(256)
// expect red_tree slice=rewritten
kernel void red_tree(global const uint *in, global uint *out, local uint *tmp)
{
	uint l = get_local_id(0);

	tmp[l] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint s = get_local_size(0) / 2; s; s >>= 1) {
		if (l < s)
			tmp[l] += tmp[l + s];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (l == 0)
		out[get_group_id(0)] = tmp[0];
}

// run red_float global=512 local=32: buf(float,512,random) buf(float,16,zero)
kernel void red_float(global const float *in, global float *out)
{
	local float tmp[32];
	uint l = get_local_id(0), s;

	tmp[l] = in[get_global_id(0)];
	for (s = 16; s > 0; s /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < s)
			tmp[l] += tmp[l + s];
	}
	if (!l)
		out[get_group_id(0)] = tmp[0];
}

// run red_stride global=128 local=32: buf(uint,4096,random) buf(uint,4,zero) uint(4096)
kernel void red_stride(global const uint *in, global uint *out, uint n)
{
	local uint part[32];
	uint sum = 0;

	for (uint i = get_global_id(0); i < n; i += get_global_size(0))
		sum += in[i];
	part[get_local_id(0)] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) == 0) {
		for (uint k = 1; k < get_local_size(0); k++)
			sum += part[k];
		out[get_group_id(0)] = sum;
	}
}

// run red_max global=512 local=64: buf(int,512,random) buf(int,8,zero)
kernel void red_max(global const int *in, global int *out)
{
	local int top;

	if (get_local_id(0) == 0)
		top = INT_MIN;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_max(&top, in[get_global_id(0)]);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) == 0)
		out[get_group_id(0)] = top;
}

// run red_minloc global=256 local=32: buf(uint,256,random) buf(uint,16,zero)
kernel void red_minloc(global const uint *in, global uint2 *out)
{
	local uint2 best[32];
	uint l = get_local_id(0);

	best[l] = (uint2)(in[get_global_id(0)], get_global_id(0));
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint s = 1; s < 32; s *= 2) {
		uint k = 2 * s * l;

		if (k + s < 32 && best[k + s].x < best[k].x)
			best[k] = best[k + s];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (l == 0)
		out[get_group_id(0)] = best[0];
}

// run red_atomic global=2048 local=64: buf(uint,2048,small) buf(uint,1,zero)
// expect red_atomic slice=offset
kernel void red_atomic(global const uint *in, volatile global uint *sum)
{
	atomic_add(sum, in[get_global_id(0)]);
}

// run red_two_level global=512 local=64: buf(uint,512,small) buf(uint,1,zero)
// expect red_two_level slice=offset
kernel void red_two_level(global const uint *in, volatile global uint *sum)
{
	local uint mine;

	if (get_local_id(0) == 0)
		mine = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&mine, in[get_global_id(0)]);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) == 0)
		atomic_add(sum, mine);
}

// run red_2d global=64x64 local=8x8: buf(float,4096,random) buf(float,64,zero)
kernel void red_2d(global const float *in, global float *out)
{
	local float t[8][8];
	size_t x = get_local_id(0), y = get_local_id(1);

	t[y][x] = in[get_global_id(1) * get_global_size(0) + get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (x == 0)
		for (int k = 1; k < 8; k++)
			t[y][0] += t[y][k];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (x == 0 && y == 0) {
		float s = 0;

		for (int k = 0; k < 8; k++)
			s += t[k][0];
		out[get_group_id(1) * get_num_groups(0) + get_group_id(0)] = s;
	}
}

// run red_last_block global=512 local=64: buf(uint,512,small) buf(uint,8,zero) buf(uint,2,zero)
kernel void red_last_block(global const uint *in, volatile global uint *part, volatile global uint *done)
{
	local uint mine, last;
	uint l = get_local_id(0);

	if (!l)
		mine = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&mine, in[get_global_id(0)]);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (!l) {
		part[get_group_id(0)] = mine;
		mem_fence(CLK_GLOBAL_MEM_FENCE);
		last = atomic_inc(&done[0]) == get_num_groups(0) - 1;
	}
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	if (last && !l) {
		uint sum = 0;

		for (uint k = 0; k < get_num_groups(0); k++)
			sum += part[k];
		done[1] = sum;
	}
}

// run red_product global=128 local=16: buf(uint,128,random) buf(uint,8,zero) local(64)
kernel void red_product(global const uint *in, global uint *out, local uint *p)
{
	p[get_local_id(0)] = in[get_global_id(0)] | 1;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) != 0)
		return;
	uint v = 1;
	for (size_t i = 0; i < get_local_size(0); i++)
		v *= p[i];
	out[get_group_id(0)] = v;
}
