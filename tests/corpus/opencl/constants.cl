// SPDX-License-Identifier: MIT
// Program-scope constants, and constant memory by argument.

constant uint table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
__constant float pi = 3.14159f;
constant struct { int a; float b; } pair = { 7, 2.5f };
constant char text[] = "gpushare get_group_id(0)";
constant sampler_t unused = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
constant uint folded = sizeof(table) / sizeof(table[0]);
constant uint4 quad = (uint4)(1, 2, 3, 4);
constant uint matrix[2][2] = { { 1, 2 }, { 3, 4 } };

// run con_table global=64 local=8: buf(uint,64,zero)
kernel void con_table(global uint *out) { out[get_global_id(0)] = table[get_group_id(0)]; }

// run con_scalar global=64 local=8: buf(float,64,zero)
kernel void con_scalar(global float *out) { out[get_global_id(0)] = pi * get_group_id(0); }

// run con_struct global=64 local=8: buf(float,64,zero)
// expect con_struct slice=offset
kernel void con_struct(global float *out) { out[get_global_id(0)] = pair.a + pair.b * get_local_id(0); }

// run con_text global=64 local=8: buf(char,64,zero)
kernel void con_text(global char *out)
{
	out[get_global_id(0)] = text[(get_local_id(0) + get_group_id(0)) % (sizeof(text) - 1)];
}

// run con_argument global=64 local=8: buf(uint,64,zero) buf(uint,8,random)
kernel void con_argument(global uint *out, constant uint *c)
{
	out[get_global_id(0)] = c[get_group_id(0)] + folded;
}

// run con_struct_argument global=64 local=8: buf(float,64,zero) buf(float,4,random)
struct coefficients { float a, b; float2 c; };
kernel void con_struct_argument(global float *out, constant struct coefficients *k)
{
	out[get_global_id(0)] = k->a * get_group_id(0) + k->b + k->c.y;
}

// run con_inner global=64 local=8: buf(uint,64,zero)
kernel void con_inner(global uint *out)
{
	constant uint inner[4] = { 10, 20, 30, 40 };

	out[get_global_id(0)] = inner[get_local_id(0) & 3] + quad.z + get_group_id(0);
}

// run con_pointer global=64 local=8: buf(uint,64,zero)
kernel void con_pointer(global uint *out)
{
	constant uint *p = matrix[get_group_id(0) & 1];

	out[get_global_id(0)] = p[get_local_id(0) & 1];
}

uint look(constant uint *t, uint i) { return t[i % 8] + get_num_groups(0); }
// run con_helper global=64 local=8: buf(uint,64,zero)
kernel void con_helper(global uint *out) { out[get_global_id(0)] = look(table, get_global_id(0)); }

// run con_limit global=64 local=8: buf(uint,64,zero)
kernel void con_limit(global uint *out) { out[get_global_id(0)] = UINT_MAX / 3 + CHAR_BIT + get_group_id(0); }
