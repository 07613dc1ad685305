// SPDX-License-Identifier: MIT
// Vector loads and stores, from all address spaces.

// run vl_float4 global=64 local=8: buf(float,256,random)
kernel void vl_float4(global float *d)
{
	float4 v = vload4(get_global_id(0), d);

	vstore4(v.s3210 + get_group_id(0), get_global_id(0), d);
}

// run vl_local global=64 local=8: buf(uint,128,random) local(64)
kernel void vl_local(global uint *d, local uint *t)
{
	vstore2(vload2(get_global_id(0), d), get_local_id(0), t);
	barrier(CLK_LOCAL_MEM_FENCE);
	vstore2(vload2(7 - get_local_id(0), t), get_global_id(0), d);
}

// run vl_private global=64 local=8: buf(int,64,random)
kernel void vl_private(global int *d)
{
	int a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	int3 v = vload3(1, a);

	vstore3(v * (int)get_group_id(0), 0, a);
	d[get_global_id(0)] += a[0] + a[1] + a[2] + v.z;
}

// run vl_constant global=64 local=8: buf(float,64,zero) buf(float,16,random)
kernel void vl_constant(global float *d, constant float *c)
{
	d[get_global_id(0)] = vload16(0, c).s7 + vload8(1, c).s2 * get_group_id(0);
}

// run vl_unaligned global=32 local=8: buf(uchar,133,random) buf(uint,32,zero)
kernel void vl_unaligned(global const uchar *in, global uint *out)
{
	out[get_global_id(0)] = as_uint(vload4(0, in + 1 + get_global_id(0) * 4)) + get_num_groups(0);
}

// run vl_group_rows global=64 local=8: buf(float,512,random)
kernel void vl_group_rows(global float *d)
{
	global float *row = d + get_group_id(0) * 64;

	vstore8(vload8(get_local_id(0), row) * 2.0f, get_local_id(0), row);
}
