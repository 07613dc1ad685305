// SPDX-License-Identifier: MIT
// options: -cl-std=CL3.0
// needs: __opencl_c_program_scope_global_variables
// Variables of the program: a shadow program would have its own.

global uint counter;
global uint seen[64] = { 5 };
uint plain = 3;

// run gv_add global=64 local=8: buf(uint,64,zero)
// expect gv_add slice=offset workers=program-scope
kernel void gv_add(global uint *out)
{
	atomic_add(&counter, 1u);
	seen[get_global_id(0)] = get_global_id(0);
	out[get_global_id(0)] = seen[get_global_id(0)];
}

// run gv_group global=64 local=8: buf(uint,64,zero)
// expect gv_group slice=program-scope workers=program-scope
kernel void gv_group(global uint *out)
{
	seen[get_group_id(0)] += 1;
	out[get_global_id(0)] = plain + get_group_id(0);
}

uint through(void) { return plain; }
// run gv_helper global=64 local=8: buf(uint,64,zero)
// expect gv_helper slice=program-scope workers=program-scope
kernel void gv_helper(global uint *out) { out[get_global_id(0)] = through() + get_num_groups(0); }

// run gv_static global=64 local=8: buf(uint,64,zero)
// expect gv_static slice=program-scope workers=program-scope
kernel void gv_static(global uint *out)
{
	static global uint mine;

	atomic_inc(&mine);
	out[get_global_id(0)] = get_group_id(0);
}

// run gv_none global=64 local=8: buf(uint,64,zero)
kernel void gv_none(global uint *out) { out[get_global_id(0)] = get_group_id(0); }
