// SPDX-License-Identifier: MIT
// Kernels whose groups wait for each other. Whole, or in ascending order.

// Waits for the lower neighbour alone: the order of the groups keeps it right.
// run wt_look_back global=128 local=16: buf(uint,128,small) buf(uint,128,zero) buf(uint,16,zero)
// expect wt_look_back slice=any workers=any
kernel void wt_look_back(global const uint *in, global uint *out, volatile global uint *state)
{
	local uint before;
	uint g = get_group_id(0), l = get_local_id(0), sum = 0;

	for (uint k = 0; k < 16; k++)
		sum += in[g * 16 + k];
	if (l == 0) {
		if (g)
			while (atomic_or(&state[g - 1], 0u) == 0)
				;
		before = g ? state[g - 1] - 1 : 0;
		mem_fence(CLK_GLOBAL_MEM_FENCE);
		atomic_xchg(&state[g], before + sum + 1);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = before;
}

// Waits for a higher one: nothing may be cut.
// run wt_flag global=32 local=16 never: buf(uint,32,zero) buf(uint,2,zero)
// expect wt_flag slice=wait-loop workers=wait-loop
kernel void wt_flag(global uint *out, volatile global uint *flag)
{
	if (get_group_id(0) == 1)
		flag[0] = 1;
	if (get_group_id(0) == 0)
		while (flag[0] == 0)
			;
	out[get_global_id(0)] = flag[0];
}

// run wt_atomic_flag global=32 local=16 never: buf(uint,2,zero)
// expect wt_atomic_flag slice=wait-loop workers=wait-loop
kernel void wt_atomic_flag(volatile global int *flag)
{
	if (get_global_id(0) == 31)
		atomic_xchg(flag, 1);
	while (atomic_add(flag, 0) != 1);
}

// run wt_grid_barrier global=64 local=16 never: buf(uint,64,zero) buf(uint,1,zero)
// expect wt_grid_barrier slice=wait-loop workers=wait-loop
kernel void wt_grid_barrier(global uint *out, volatile global uint *count)
{
	barrier(CLK_GLOBAL_MEM_FENCE);
	if (get_local_id(0) == 0) {
		atomic_inc(count);
		while (atomic_or(count, 0) < get_num_groups(0))
			;
	}
	barrier(CLK_GLOBAL_MEM_FENCE);
	out[get_global_id(0)] = 1;
}

// run wt_for global=32 local=16 never: buf(uint,2,zero)
// expect wt_for slice=wait-loop workers=wait-loop
kernel void wt_for(volatile global uint *flag)
{
	atomic_inc(&flag[1]);
	for (; !flag[0]; )
		if (flag[1] == get_global_size(0))
			flag[0] = 1;
}

int spin(volatile global uint *f) { do ; while (*f == 0); return 1; }
// run wt_helper global=32 local=16 never: buf(uint,2,zero)
// expect wt_helper slice=wait-loop workers=wait-loop
kernel void wt_helper(volatile global uint *flag)
{
	if (get_group_id(0) == 1)
		*flag = 1;
	spin(flag);
}

// run wt_goto global=32 local=16 never: buf(uint,2,zero)
// expect wt_goto slice=wait-loop workers=wait-loop
kernel void wt_goto(volatile global uint *flag)
{
	if (get_group_id(0) == 1)
		*flag = 1;
again:
	if (*flag == 0)
		goto again;
}

// run wt_break global=32 local=16 never: buf(uint,2,zero)
// expect wt_break slice=wait-loop workers=wait-loop
kernel void wt_break(volatile global uint *flag)
{
	if (get_group_id(0) == 1)
		*flag = 1;
	for (;;) {
		if (*flag)
			break;
	}
}

// A lock: one waits for whoever holds it, who doesn't wait for the waiter. One
// work-item of a group takes it, so it is right in any order; refusing is right too.
// run wt_lock global=128 local=16: buf(uint,2,zero)
// expect wt_lock slice=any workers=any
kernel void wt_lock(volatile global uint *d)
{
	if (get_local_id(0) == 0) {
		while (atomic_cmpxchg(&d[0], 0u, 1u))
			;
		d[1] += get_group_id(0);
		mem_fence(CLK_GLOBAL_MEM_FENCE);
		atomic_xchg(&d[0], 0u);
	}
}

// No wait: the loop ends by itself.
// run wt_bounded global=64 local=8: buf(uint,64,random) buf(uint,8,zero)
kernel void wt_bounded(global uint *d, volatile global uint *other)
{
	for (uint k = 0; k < 4; k++)
		d[get_global_id(0)] += other[k] + get_group_id(0);
}
