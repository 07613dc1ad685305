// SPDX-License-Identifier: MIT
// Functions of one name with several kinds of arguments.
#define OVER __attribute__((overloadable))

uint OVER size(uint v) { return v + 1; }
uint OVER size(float v) { return (uint)v + get_group_id(0); }
uint OVER size(uint2 v) { return v.x * v.y; }
uint OVER size(uint a, uint b) { return size(a) + size((float)b); }

// run ov_plain global=64 local=8: buf(uint,64,zero)
kernel void ov_plain(global uint *out) { out[get_global_id(0)] = size(3u) + size((uint2)(4, 5)); }

// run ov_group global=64 local=8: buf(uint,64,zero)
kernel void ov_group(global uint *out) { out[get_global_id(0)] = size(2.5f) * size(7u); }

// run ov_both global=64 local=8: buf(uint,64,zero)
kernel void ov_both(global uint *out) { out[get_global_id(0)] = size(1u, get_local_id(0)); }

uint OVER get(global const uint *p);
uint OVER get(local const uint *p);
uint OVER get(global const uint *p) { return p[get_group_id(0)]; }
uint OVER get(local const uint *p) { return p[get_local_id(0)]; }

// run ov_spaces global=64 local=8: buf(uint,64,zero) buf(uint,64,random)
kernel void ov_spaces(global uint *out, global const uint *in)
{
	local uint t[8];

	t[get_local_id(0)] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = get(in) + get(t);
}

/* One that has a built-in's name, for a type of our own. */
typedef struct { float a; } mine;
mine OVER max(mine a, mine b) { return a.a > b.a + get_group_id(0) ? a : b; }

// expect ov_builtin slice=special-use workers=special-use
// run ov_builtin global=64 local=8: buf(float,64,random)
kernel void ov_builtin(global float *d)
{
	mine a = { d[get_global_id(0)] }, b = { 0.25f };

	d[get_global_id(0)] = max(max(a, b).a, -0.5f);
}
