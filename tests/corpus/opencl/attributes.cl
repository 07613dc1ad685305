// SPDX-License-Identifier: MIT
// Attributes before, behind and within.

// run at_reqd global=64 local=8: buf(uint,64,zero)
kernel __attribute__((reqd_work_group_size(8, 1, 1))) void at_reqd(global uint *out)
{
	out[get_global_id(0)] = get_group_id(0);
}

// run at_reqd_first global=16x8 local=4x2: buf(uint,128,zero)
__attribute__((reqd_work_group_size(4, 2, 1)))
kernel void at_reqd_first(global uint *out)
{
	out[get_global_id(1) * 16 + get_global_id(0)] = get_group_id(1) * 10 + get_group_id(0);
}

// run at_reqd_behind global=64 local=16: buf(uint,64,zero)
kernel void __attribute__((reqd_work_group_size(16, 1, 1))) at_reqd_behind(global uint *out)
{
	local uint t[16];

	t[get_local_id(0)] = get_group_id(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = t[15 - get_local_id(0)];
}

// run at_hint global=64 local=8: buf(uint,64,zero)
kernel __attribute__((work_group_size_hint(8, 1, 1), vec_type_hint(float4)))
void at_hint(global uint *out) { out[get_global_id(0)] = get_num_groups(0); }

// run at_two global=64 local=8: buf(uint,64,zero)
kernel __attribute__((vec_type_hint(int))) __attribute__((reqd_work_group_size(8, 1, 1)))
void at_two(global uint *out) { out[get_global_id(0)] = get_group_id(0); }

// run at_reqd_const global=64 local=8: buf(uint,64,zero)
#define WG 8
kernel __attribute__((reqd_work_group_size(WG, WG / 8, 1)))
void at_reqd_const(global uint *out) { out[get_global_id(0)] = get_group_id(0) * WG; }

// run at_aligned global=64 local=8: buf(uint,64,zero)
kernel void at_aligned(global uint *out)
{
	local uint t[8] __attribute__((aligned(64)));
	struct __attribute__((packed)) { char a; uint b; } s = { 1, get_group_id(0) };

	t[get_local_id(0)] = s.b + sizeof(s);
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = t[7 - get_local_id(0)];
}

// run at_parameter global=64 local=8: buf(uint,64,zero) uint(3)
kernel void at_parameter(global uint *out __attribute__((aligned(4))), uint v __attribute__((unused)))
{
	out[get_global_id(0)] = get_group_id(0);
}

// run at_unroll global=64 local=8: buf(uint,64,zero)
kernel void at_unroll(global uint *out)
{
	uint s = 0;

	__attribute__((opencl_unroll_hint(2)))
	for (uint k = 0; k < 8; k++)
		s += k * get_group_id(0);
	out[get_global_id(0)] = s;
}

// run at_qualifiers global=64 local=8: buf(uint,64,random) buf(uint,64,zero)
kernel void at_qualifiers(const global uint *restrict const in, volatile global uint *restrict out)
{
	out[get_global_id(0)] = in[get_group_id(0)];
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
// run at_pragma global=64 local=8: buf(float,64,random)
kernel void at_pragma(global float *d)
{
	float v = d[get_global_id(0)];

	d[get_global_id(0)] = v * v + v * get_group_id(0);
}
