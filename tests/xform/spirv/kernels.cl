// SPDX-License-Identifier: MIT
// What the SPIR-V tests run; `remake` makes the .spv files from it. All kernels take the
// same arguments: what they write, what they read, a number, local memory.
#pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable

#define ARGS global uint *o, global const uint *a, uint n, local uint *t
#define WHERE (get_global_id(0) - get_global_offset(0) + \
	       (get_global_id(1) - get_global_offset(1)) * get_global_size(0))

struct pair {
	uint x, y;
};

uint deeper(uint k)
{
	return k * 3 + (uint)get_group_id(1) * 17 + (uint)get_global_offset(1);
}

uint deep(global const uint *a, uint k)
{
	return a[k & 63] + deeper(k) + (uint)get_num_groups(0);
}

kernel void plain(ARGS)
{
	o[get_global_id(0) + get_global_id(1) * 64] = a[get_global_id(0) & 63] + n;
}

kernel void all_ids(ARGS)
{
	uint d = n & 1, v = 0;

	v += get_group_id(0) * 3 + get_group_id(1) * 5 + get_group_id(2) * 7;
	v += get_num_groups(0) * 11 + get_num_groups(1) * 13 + get_num_groups(2) * 19;
	v += get_global_size(0) * 23 + get_global_offset(0) * 29 + get_global_offset(1) * 31;
	v += get_global_id(0) * 37 + get_global_id(1) * 41 + get_local_id(0) * 43;
	v += get_local_size(0) * 47 + get_work_dim() * 53 + get_global_linear_id() * 59;
	v += get_local_linear_id() * 61 + get_enqueued_local_size(1) * 67;
	v += get_group_id(d) * 71 + get_global_size(d) * 73 + get_global_id(d) * 79;
	o[get_global_linear_id()] = v;
}

kernel void helpers(ARGS)
{
	uint i = WHERE;

	o[i] = deep(a, i) + n;
	if (i % 3 == 0)
		o[i] += deep(a, i + 1);
}

kernel void reduction(ARGS)
{
	uint l = get_local_linear_id(), s = get_local_size(0) * get_local_size(1);

	t[l] = a[WHERE & 63] + n;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (s /= 2; s; s /= 2) {
		if (l < s)
			t[l] += t[l + s];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (!l)
		o[get_group_id(0) + get_group_id(1) * get_num_groups(0)] = t[0];
}

kernel void own_local(ARGS)
{
	local uint mine[16];
	uint l = get_local_linear_id();

	mine[l] = a[WHERE & 63];
	barrier(CLK_LOCAL_MEM_FENCE);
	n += mine[15 - l];
	for (uint i = 0; i < 3; i++) {
		barrier(CLK_LOCAL_MEM_FENCE);
		mine[(l + i) & 15] += n;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	o[WHERE] = mine[l];
}

kernel void leaves_early(ARGS)
{
	uint i = WHERE;

	if (a[i & 63] & 1)
		return;
	for (uint k = 0; k < n; k++) {
		if (k * i == 40)
			return;
		o[i] += k * (uint)get_group_id(0);
	}
}

kernel void leaves_before_barrier(ARGS)
{
	uint l = get_local_linear_id();

	if (a[WHERE & 63] & 1)
		return;
	t[l] = l;
	barrier(CLK_LOCAL_MEM_FENCE);
	o[WHERE] = t[l];
}

kernel void uniform_leave(ARGS)
{
	uint l = get_local_linear_id();

	if (n < 2 || get_group_id(0) == 1)
		return;
	t[l] = a[WHERE & 63];
	barrier(CLK_LOCAL_MEM_FENCE);
	o[WHERE] = t[l ^ 1] + n;
}

kernel void counts(ARGS)
{
	uint i = WHERE;

	atomic_add(&o[i & 7], a[i & 63]);
	atomic_max(&o[8], i * n);
	if (i == 5)
		atomic_or(&o[9], 1);
}

kernel void retries(ARGS)
{
	uint old, seen = o[0];

	do {
		old = seen;
		seen = atomic_cmpxchg(&o[0], old, old + a[WHERE & 63]);
	} while (seen != old);
}

kernel void waits(ARGS)
{
	volatile global uint *flag = o;

	if (get_group_id(0) == 1)
		while (flag[0] != n)
			;
	flag[0] = n;
}

kernel void waits_atomic(ARGS)
{
	if (get_group_id(0) == 1)
		while (atomic_or(&o[0], 0) == 0)
			;
	atomic_inc(&o[0]);
}

kernel void waits_fenced(ARGS)
{
	if (get_group_id(0) == 1)
		while (o[0] != n)
			mem_fence(CLK_GLOBAL_MEM_FENCE);
	o[0] = n;
}

uint looks(volatile global uint *p)
{
	return atomic_add(p, 0);
}

kernel void waits_below(ARGS)
{
	while (looks(o) < get_group_id(0))
		;
	atomic_inc(&o[0]);
}

kernel void by_value(ARGS, struct pair p)
{
	p.x += get_group_id(0);
	p.y ^= p.x;
	o[WHERE] = p.x * 1000 + p.y + n;
}

kernel __attribute__((reqd_work_group_size(8, 2, 1))) void sized(ARGS)
{
	o[WHERE] = a[WHERE & 63] + get_group_id(0) * n;
}

kernel void shared_by_groups(ARGS)
{
	uint i = WHERE, row = get_group_id(1);
	private uint keep[4] = { 1, 2, 3, 4 };

	for (uint k = 0; k < 4; k++)
		keep[(k + i) & 3] += a[(k * i) & 63] + row;
	o[i] = keep[0] ^ keep[1] ^ keep[2] ^ keep[i & 3];
}
