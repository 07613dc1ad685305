// SPDX-License-Identifier: MIT
// options: -cl-std=CL3.0
// needs: __opencl_c_generic_address_space
// Pointers that don't say where they point to.

uint sum(const uint *p, uint n)
{
	uint s = 0;

	for (uint k = 0; k < n; k++)
		s += p[k];
	return s + get_group_id(0);
}

// run ge_sum global=64 local=8: buf(uint,64,random)
kernel void ge_sum(global uint *d)
{
	local uint t[8];
	uint p[2] = { 3, 4 };

	t[get_local_id(0)] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = sum(t, 8) + sum(p, 2) + sum(d + get_global_id(0), 1);
}

// run ge_choose global=64 local=8: buf(uint,64,random)
kernel void ge_choose(global uint *d)
{
	local uint t[8];
	uint *p = get_group_id(0) & 1 ? (uint *)&t[get_local_id(0)] : (uint *)&d[get_global_id(0)];

	t[get_local_id(0)] = get_local_id(0);
	*p += 5;
	d[get_global_id(0)] += t[get_local_id(0)];
}

// run ge_cast global=64 local=8: buf(uint,64,random)
kernel void ge_cast(global uint *d)
{
	uint *p = d + get_global_id(0);
	global uint *g = to_global(p);

	if (g)
		*g = get_num_groups(0);
}

// run ge_atomics global=64 local=8: buf(uint,4,zero)
kernel void ge_atomics(global atomic_uint *d)
{
	atomic_fetch_add_explicit(d, (uint)get_group_id(0), memory_order_relaxed, memory_scope_device);
}

// run ge_wait global=32 local=8 never: buf(uint,4,zero)
// expect ge_wait slice=wait-loop workers=wait-loop
kernel void ge_wait(global atomic_uint *d)
{
	if (get_global_id(0) == 31)
		atomic_store_explicit(d, 1u, memory_order_release, memory_scope_device);
	while (!atomic_load_explicit(d, memory_order_acquire, memory_scope_device))
		;
}
