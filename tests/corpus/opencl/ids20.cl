// SPDX-License-Identifier: MIT
// options: -cl-std=CL3.0
// needs: 3.0
// The work-item functions of OpenCL C 2.0 and later.

// run id20_linear global=16x8x2 local=4x2x1 offset=2x4x1: buf(uint,256,zero)
// expect id20_linear slice=rewritten
kernel void id20_linear(global uint *out)
{
	out[get_global_linear_id()] = get_local_linear_id() * 1000 + get_global_linear_id();
}

// run id20_linear_1d global=128 local=16 offset=5: buf(uint,128,zero)
// expect id20_linear_1d slice=rewritten
kernel void id20_linear_1d(global uint *out)
{
	out[get_global_linear_id()] = get_global_id(0);
}

// run id20_local_linear global=32x4 local=8x2: buf(uint,128,zero)
kernel void id20_local_linear(global uint *out)
{
	out[get_global_id(1) * 32 + get_global_id(0)] = get_local_linear_id();
}

// run id20_enqueued global=128 local=16: buf(uint,128,zero)
kernel void id20_enqueued(global uint *out)
{
	out[get_global_id(0)] = get_enqueued_local_size(0) * 100 + get_enqueued_local_size(1);
}

static size_t linear(uint bias) { return get_global_linear_id() + bias; }

// run id20_linear_helper global=16x4 local=4x2 offset=3x3: buf(uint,64,zero)
kernel void id20_linear_helper(global uint *out)
{
	out[linear(0)] = linear(5);
}

// run id20_barrier global=128 local=16: buf(uint,128,random)
kernel void id20_barrier(global uint *data)
{
	local uint t[16];

	t[get_local_linear_id()] = data[get_global_linear_id()];
	work_group_barrier(CLK_LOCAL_MEM_FENCE);
	data[get_global_linear_id()] = t[15 - get_local_linear_id()] + get_group_id(0);
}

// run id20_scoped global=128 local=16: buf(uint,128,random)
kernel void id20_scoped(global uint *data)
{
	local uint t[16];
	uint l = get_local_id(0);

	t[l] = data[get_global_id(0)] * (get_group_id(0) + 1);
	work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
	data[get_global_id(0)] = t[(l + 1) % 16];
}
