// SPDX-License-Identifier: MIT
// Returns: where no barrier comes behind them, or all of a group take them.

// run ret_guard global=128 local=16: buf(uint,128,zero) uint(100)
// expect ret_guard slice=offset
kernel void ret_guard(global uint *out, uint n)
{
	size_t i = get_global_id(0);

	if (i >= n)
		return;
	out[i] = i * 2;
}

// run ret_guard_group global=128 local=16: buf(uint,128,zero) uint(100)
kernel void ret_guard_group(global uint *out, uint n)
{
	uint i = get_group_id(0) * get_local_size(0) + get_local_id(0);

	if (i >= n)
		return;
	out[i] = i * 2;
}

// run ret_several global=128 local=16: buf(uint,128,random)
kernel void ret_several(global uint *d)
{
	uint v = d[get_global_id(0)];

	if (v % 3 == 0) {
		d[get_global_id(0)] = 1;
		return;
	} else if (v % 3 == 1) {
		for (uint k = 0; k < 10; k++)
			if (k * k > get_group_id(0)) {
				d[get_global_id(0)] = k;
				return;
			}
	}
	d[get_global_id(0)] = get_num_groups(0);
	return;
}

// run ret_after_barrier global=128 local=16: buf(uint,128,random) buf(uint,8,zero)
kernel void ret_after_barrier(global const uint *in, global uint *out)
{
	local uint t[16];

	t[get_local_id(0)] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0))
		return;
	uint s = 0;
	for (int k = 0; k < 16; k++)
		s += t[k];
	out[get_group_id(0)] = s;
}

// Whole groups leave before the barrier: right on every device.
// run ret_group_uniform global=128 local=16: buf(uint,128,random)
// expect ret_group_uniform slice=rewritten workers=any
kernel void ret_group_uniform(global uint *d)
{
	local uint t[16];

	if (get_group_id(0) % 3 == 1)
		return;
	t[get_local_id(0)] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[15 - get_local_id(0)];
}

// run ret_argument global=128 local=16: buf(uint,128,random) int(0)
// run ret_argument global=128 local=16: buf(uint,128,random) int(1)
// expect ret_argument slice=cut workers=any
kernel void ret_argument(global uint *d, int off)
{
	local uint t[16];

	if (off)
		return;
	t[get_local_id(0)] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[15 - get_local_id(0)] + get_group_id(0);
}

// run ret_macro global=64 local=8: buf(uint,64,random)
#define LEAVE_IF(c) if (c) return
kernel void ret_macro(global uint *d)
{
	LEAVE_IF(d[get_global_id(0)] & 1);
	d[get_global_id(0)] = get_group_id(0);
	LEAVE_IF(get_local_id(0) < 4);
	d[get_global_id(0)] += 100;
}

// run ret_in_loop global=64 local=8: buf(uint,64,random)
kernel void ret_in_loop(global uint *d)
{
	for (uint k = 0; ; k++) {
		d[get_global_id(0)] += k;
		if (k > get_local_id(0) + get_group_id(0))
			return;
	}
}

// run ret_in_switch global=64 local=8: buf(uint,64,random)
kernel void ret_in_switch(global uint *d)
{
	switch (d[get_global_id(0)] % 5) {
	case 0:
		return;
	case 1:
		d[get_global_id(0)] = get_group_id(0);
		return;
	case 2:
		break;
	default:
		d[get_global_id(0)] = 5;
		return;
	}
	d[get_global_id(0)] = 6;
}

// run ret_first global=64 local=8: buf(uint,64,random)
kernel void ret_first(global uint *d)
{
	d[get_global_id(0)] = 1;
	return;
}

// run ret_empty global=64 local=8: buf(uint,4,random)
kernel void ret_empty(global uint *d)
{
}

// run ret_empty_group global=64 local=8: buf(uint,4,random)
kernel void ret_empty_group(global uint *d) { (void)get_group_id(0); }

// run ret_no_arguments global=64 local=8:
kernel void ret_no_arguments(void) { }

// run ret_no_parameters global=64 local=8:
kernel void ret_no_parameters() { int x = get_group_id(0); (void)x; }

// Nobody can tell that all leave alike, so workers are refused.
// run ret_maybe_divergent global=128 local=16 only=oclgrind: buf(uint,128,random)
// expect ret_maybe_divergent slice=rewritten workers=early-return
kernel void ret_maybe_divergent(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)] + get_group_id(0);
	if (l > 11)
		return;
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[11 - l];
}

// run ret_divergent_loop global=128 local=16 only=oclgrind: buf(uint,128,random)
// expect ret_divergent_loop slice=cut workers=early-return
kernel void ret_divergent_loop(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	for (uint k = 0; k < 8; k++) {
		barrier(CLK_LOCAL_MEM_FENCE);
		d[get_global_id(0)] += t[0] + k;
		if (k == 3 + (l & 1) * 4)
			return;
	}
}

// run ret_divergent_helper global=128 local=16 only=oclgrind: buf(uint,128,random)
// expect ret_divergent_helper slice=cut workers=early-return
void sync_here(void) { barrier(CLK_LOCAL_MEM_FENCE); }
kernel void ret_divergent_helper(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	if (l & 1)
		return;
	sync_here();
	d[get_global_id(0)] = t[l] + t[14 - l] + get_group_id(0);
}

// run ret_divergent_between global=128 local=16 only=oclgrind: buf(uint,128,random)
// expect ret_divergent_between slice=cut workers=early-return
kernel void ret_divergent_between(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	uint v = t[15 - l];
	if (v % 4 == 0) {
		d[get_global_id(0)] = 4;
		return;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = v + get_group_id(0);
}

// run ret_divergent_guard global=128 local=16 only=oclgrind: buf(uint,128,random) uint(100)
// expect ret_divergent_guard slice=cut workers=early-return
kernel void ret_divergent_guard(global uint *d, uint n)
{
	local uint t[16];

	if (get_global_id(0) >= n)
		return;
	t[get_local_id(0)] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[0] + t[get_local_id(0)];
}

// run ret_divergent_macro global=128 local=16 only=oclgrind: buf(uint,128,random)
// expect ret_divergent_macro slice=cut workers=early-return
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
kernel void ret_divergent_macro(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	SYNC;
	LEAVE_IF(t[l] & 1);
	SYNC;
	d[get_global_id(0)] = t[l] + get_num_groups(0);
}
