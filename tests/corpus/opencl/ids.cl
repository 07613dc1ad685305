// SPDX-License-Identifier: MIT
// Every work-item function, and what is made of it.

// run id_all global=16x8x4 local=4x4x2 offset=8x16x3: buf(uint,2048,zero)
// expect id_all slice=rewritten
kernel void id_all(global uint4 *out)
{
	size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
	size_t z = get_global_id(2) - get_global_offset(2);
	uint4 v = 0;

	for (uint d = 0; d < 3; d++)
		v = v * 7 + (uint4)(get_group_id(d), get_local_id(d), get_global_id(d), get_num_groups(d)) +
			(uint)(get_global_size(d) * 3 + get_local_size(d) * 5 + get_global_offset(d));
	out[(z * get_global_size(1) + y) * get_global_size(0) + x] = v;
}

// run id_group global=256 local=16: buf(uint,256,zero)
// expect id_group slice=rewritten
kernel void id_group(global uint *out)
{
	out[get_global_id(0)] = get_group_id(0) * 1000 + get_local_id(0);
}

// run id_num_groups global=256 local=16: buf(uint,256,zero)
// expect id_num_groups slice=rewritten
kernel void id_num_groups(global uint *out) { out[get_global_id(0)] = get_num_groups(0); }

// run id_global_size global=256 local=16: buf(uint,256,zero)
// expect id_global_size slice=rewritten
kernel void id_global_size(global uint *out) { out[get_global_id(0)] = get_global_size(0); }

// run id_offset global=256 local=16 offset=48: buf(uint,304,zero)
// expect id_offset slice=rewritten
kernel void id_offset(global uint *out) { out[get_global_id(0)] = get_global_offset(0); }

// run id_work_dim_1 global=64 local=16: buf(uint,64,zero)
kernel void id_work_dim_1(global uint *out) { out[get_global_id(0)] = get_work_dim(); }

// run id_work_dim_2 global=16x8 local=4x4: buf(uint,128,zero)
kernel void id_work_dim_2(global uint *out)
{
	out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_work_dim() * 10 + get_num_groups(1);
}

// run id_work_dim_3 global=4x4x4 local=2x2x2: buf(uint,64,zero)
kernel void id_work_dim_3(global uint *out)
{
	out[get_global_id(2) * 16 + get_global_id(1) * 4 + get_global_id(0)] = get_work_dim();
}

// What lies beyond the launch's dimensions is 0 or 1, and the same in each mode.
// run id_beyond global=64 local=16: buf(uint,64,zero)
// run id_beyond global=8x8 local=4x2: buf(uint,64,zero)
kernel void id_beyond(global uint *out)
{
	uint v = 0;

	for (uint d = 1; d < 6; d++)
		v = v * 5 + get_group_id(d) + get_global_size(d) * 2 + get_num_groups(d) * 3 +
			get_global_offset(d) + get_local_size(d) + get_local_id(d) + get_global_id(d);
	out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = v;
}

// run id_variable global=16x16 local=4x4: buf(uint,256,zero) buf(uint,256,small)
// expect id_variable slice=rewritten
kernel void id_variable(global uint *out, global const uint *which)
{
	size_t i = get_global_id(1) * 16 + get_global_id(0);
	uint d = which[i];

	out[i] = get_group_id(d) + 100 * get_num_groups(d) + 10000 * get_global_size(d);
}

// run id_argument global=32x8 local=8x2: buf(uint,256,zero) uint(1)
kernel void id_argument(global uint *out, uint d)
{
	out[get_global_id(1) * 32 + get_global_id(0)] = get_global_id(d) * get_num_groups(d) + get_group_id(1 - d);
}

// run id_expression global=64 local=8: buf(uint,64,zero) int(3)
kernel void id_expression(global uint *out, int a)
{
	out[get_global_id(0)] = get_group_id(a > 2 ? 0 : 1) + get_global_size((a, 0)) + get_num_groups(a - a);
}

// run id_nested global=8x8 local=2x2: buf(uint,64,zero)
kernel void id_nested(global uint *out)
{
	out[get_global_id(1) * 8 + get_global_id(0)] = get_group_id(get_group_id(0) & 1) +
		10 * get_num_groups(get_group_id(1) % 2);
}

// run id_effect global=64 local=8: buf(uint,64,zero)
kernel void id_effect(global uint *out)
{
	uint d = 0;
	size_t g = get_group_id(d++);

	out[get_global_id(0)] = g * 10 + d;
}

// run id_negative global=64 local=8: buf(uint,64,zero)
kernel void id_negative(global uint *out)
{
	int d = -1;

	out[get_global_id(0)] = get_group_id(d) + get_global_size(d) * 2 + get_global_offset((uchar)255) + 1;
}

// run id_types global=64 local=8: buf(ulong,64,zero)
kernel void id_types(global ulong *out)
{
	const ulong big = get_group_id(0) - 1;	/* size_t: wraps to 2^64 - 1 in group 0 */
	int small = (int)get_group_id(0) - 1;

	out[get_global_id(0)] = big ^ (ulong)(long)small ^ sizeof(get_group_id(0)) << 8;
}

// run id_paren global=64 local=8: buf(uint,64,zero)
kernel void id_paren(global uint *out)
{
	(out)[((get_global_id((0))))] = (get_group_id(((0)))) * (3);
}

// run id_spaced global=64 local=8: buf(uint,64,zero)
kernel void id_spaced(global uint *out)
{
	out[get_global_id (0)] = get_group_id /* which */ (
		0 // the first
	) + get_num_groups
		(0);
}

// run id_ternary global=64 local=8: buf(uint,64,zero)
kernel void id_ternary(global uint *out)
{
	size_t g;

	out[get_global_id(0)] = (g = get_group_id(0)) > 3 ? get_num_groups(0) - g : g << 4;
}

// run id_condition global=64 local=8: buf(uint,64,zero)
kernel void id_condition(global uint *out)
{
	if (get_group_id(0) & 1)
		out[get_global_id(0)] = 7;
	else
		for (size_t i = get_group_id(0); i < get_num_groups(0); i++)
			out[get_global_id(0)] += i;
}

// run id_local_only global=256 local=32: buf(uint,256,zero)
// expect id_local_only slice=offset
kernel void id_local_only(global uint *out)
{
	out[get_global_id(0)] = get_local_id(0) + 100 * get_local_size(0);
}
