// SPDX-License-Identifier: MIT
// Scalars of all widths, doubles and halves among them.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// run ty_double global=64 local=8: buf(double,64,random)
kernel void ty_double(global double *d)
{
	d[get_global_id(0)] = d[get_global_id(0)] * 1.5 + get_group_id(0);
}

// run ty_double4 global=64 local=8: buf(double,256,random) double4(1,2,3,4)
kernel void ty_double4(global double4 *d, double4 k)
{
	d[get_global_id(0)] = d[get_global_id(0)].yxwz * k + (double4)(get_num_groups(0));
}

// run ty_long global=64 local=8: buf(long,64,random) long(-5)
kernel void ty_long(global long *d, long k)
{
	d[get_global_id(0)] = d[get_global_id(0)] * k + ((long)get_group_id(0) << 40);
}

// run ty_ulong_reduce global=64 local=8: buf(ulong,64,random) buf(ulong,8,zero)
kernel void ty_ulong_reduce(global const ulong *in, global ulong *out)
{
	local ulong t[8];

	t[get_local_id(0)] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (!get_local_id(0))
		out[get_group_id(0)] = t[0] ^ t[1] ^ t[2] ^ t[3] ^ t[4] ^ t[5] ^ t[6] ^ t[7];
}

// run ty_char global=64 local=8: buf(char,64,random) char(-3)
kernel void ty_char(global char *d, char k) { d[get_global_id(0)] = d[get_global_id(0)] / 4 + k + get_group_id(0); }

// run ty_short global=64 local=8: buf(ushort,64,random) ushort(65535)
kernel void ty_short(global ushort *d, ushort k) { d[get_global_id(0)] ^= k - (ushort)get_group_id(0); }

// run ty_half global=64 local=8: buf(half,64,random) buf(float,64,zero)
kernel void ty_half(global half *h, global float *f)
{
	float v = vload_half(get_global_id(0), h);

	f[get_global_id(0)] = v + get_group_id(0);
	vstore_half(v * 2.0f, get_global_id(0), h);
}

// run ty_half4 global=64 local=8: buf(half,256,random)
kernel void ty_half4(global half *h)
{
	float4 v = vload_half4(get_global_id(0), h);

	vstore_half4_rtz(v.wzyx + (float)get_group_id(0), get_global_id(0), h);
}

// run ty_size_t global=64 local=8: buf(ulong,64,zero)
kernel void ty_size_t(global ulong *d)
{
	size_t n = get_num_groups(0);
	ptrdiff_t p = (ptrdiff_t)get_group_id(0) - (ptrdiff_t)n;
	uintptr_t u = (uintptr_t)n;

	d[get_global_id(0)] = (ulong)(p * (ptrdiff_t)u);
}

// run ty_bool global=64 local=8: buf(int,64,random)
kernel void ty_bool(global int *d)
{
	bool odd = get_group_id(0) & 1, small = d[get_global_id(0)] < 500;

	d[get_global_id(0)] = odd && !small ? true : odd + small * 2;
}

// run ty_pointer_cast global=64 local=8: buf(uint,64,random)
kernel void ty_pointer_cast(global uint *d)
{
	global uchar *b = (global uchar *)(d + get_global_id(0));

	b[0] = b[3] + (uchar)get_group_id(0);
	*(global ushort *)&d[get_global_id(0)] |= 0x100;
}

// run ty_literals global=64 local=8: buf(ulong,64,zero)
kernel void ty_literals(global ulong *d)
{
	d[get_global_id(0)] = 0x1p3f + 1.5e1 + 'a' + 0777 + 0xffUL + (ulong)get_group_id(0) * 1e3f + '\'' + '"';
}

// run ty_atomic64 global=64 local=8: buf(ulong,2,zero)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
kernel void ty_atomic64(volatile global ulong *d)
{
	atom_add(&d[0], (ulong)get_group_id(0) << 33);
	atom_inc(d + 1);
}
