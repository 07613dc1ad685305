// SPDX-License-Identifier: MIT
// options: -cl-std=CL3.0
// needs: __opencl_c_work_group_collective_functions
// Functions that all of a group call together.

// run wg_reduce global=128 local=16: buf(uint,128,random) buf(uint,8,zero)
kernel void wg_reduce(global const uint *in, global uint *out)
{
	uint s = work_group_reduce_add(in[get_global_id(0)]);

	if (get_local_id(0) == 0)
		out[get_group_id(0)] = s;
}

// run wg_scan global=128 local=16: buf(uint,128,small)
kernel void wg_scan(global uint *d)
{
	d[get_global_id(0)] = work_group_scan_inclusive_add(d[get_global_id(0)]) + get_group_id(0);
}

// run wg_broadcast global=128 local=16: buf(uint,128,random)
kernel void wg_broadcast(global uint *d)
{
	d[get_global_id(0)] = work_group_broadcast(d[get_global_id(0)], get_group_id(0) % 16);
}

// run wg_any global=128 local=16: buf(uint,128,small)
kernel void wg_any(global uint *d)
{
	d[get_global_id(0)] = work_group_any(d[get_global_id(0)] == 3) * 2 + work_group_all(d[get_global_id(0)] < 8);
}
