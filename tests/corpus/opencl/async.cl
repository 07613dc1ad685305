// SPDX-License-Identifier: MIT
// Copies by the whole group.

// run as_copy_in global=128 local=16: buf(uint,128,random)
kernel void as_copy_in(global uint *d)
{
	local uint t[16];
	event_t e = async_work_group_copy(t, d + get_group_id(0) * 16, 16, 0);

	wait_group_events(1, &e);
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[15 - get_local_id(0)];
}

// run as_copy_out global=128 local=16: buf(uint,128,random) local(64)
kernel void as_copy_out(global uint *d, local uint *t)
{
	t[get_local_id(0)] = d[get_global_id(0)] + get_num_groups(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	event_t e = async_work_group_copy(d + get_group_id(0) * get_local_size(0), t, get_local_size(0), 0);
	wait_group_events(1, &e);
}

// run as_strided global=128 local=16: buf(uint,256,random) buf(uint,128,zero)
kernel void as_strided(global const uint *in, global uint *out)
{
	local uint t[16];
	event_t e = async_work_group_strided_copy(t, in + get_group_id(0) * 32, 16, 2, 0);

	wait_group_events(1, &e);
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = t[get_local_id(0) ^ 1];
}

// run as_two global=64 local=8: buf(float,256,random) buf(float,256,random) buf(float,256,zero)
kernel void as_two(global const float4 *a, global const float4 *b, global float4 *c)
{
	local float4 ta[8], tb[8];
	event_t e;

	e = async_work_group_copy(ta, &a[get_group_id(0) * 8], 8, 0);
	e = async_work_group_copy(tb, &b[get_group_id(0) * 8], 8, e);
	wait_group_events(1, &e);
	barrier(CLK_LOCAL_MEM_FENCE);
	c[get_global_id(0)] = ta[get_local_id(0)] + tb[7 - get_local_id(0)];
}

// run as_prefetch global=64 local=8: buf(uint,64,random)
kernel void as_prefetch(global uint *d)
{
	prefetch(d + get_global_id(0), 1);
	d[get_global_id(0)] += get_group_id(0);
}
