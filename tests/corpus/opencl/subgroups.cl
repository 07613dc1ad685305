// SPDX-License-Identifier: MIT
// options: -cl-std=CL3.0
// needs: __opencl_c_subgroups
// Sub-groups: slices at most.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

// run sg_sum global=128 local=16: buf(uint,128,random)
// expect sg_sum slice=offset workers=sub-groups
kernel void sg_sum(global uint *d) { d[get_global_id(0)] = sub_group_reduce_add(d[get_global_id(0)]); }

// run sg_id global=128 local=16: buf(uint,128,zero)
// expect sg_id slice=rewritten workers=sub-groups
kernel void sg_id(global uint *d)
{
	d[get_global_id(0)] = get_sub_group_id() * 100 + get_sub_group_local_id() + get_group_id(0) * 1000;
}

// run sg_barrier global=128 local=16: buf(uint,128,random)
// expect sg_barrier slice=cut workers=sub-groups
kernel void sg_barrier(global uint *d)
{
	uint v = sub_group_broadcast(d[get_global_id(0)], 0);

	sub_group_barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = v + get_num_sub_groups();
}
