// SPDX-License-Identifier: MIT
// One, two, three dimensions, odd sizes, offsets.

// run dm_single global=16 local=16: buf(uint,16,zero)
kernel void dm_single(global uint *out) { out[get_global_id(0)] = get_num_groups(0); }

// run dm_one_each global=17 local=1: buf(uint,17,zero)
kernel void dm_one_each(global uint *out) { out[get_global_id(0)] = get_group_id(0) + get_local_size(0); }

// run dm_prime global=391 local=17: buf(uint,391,zero)
kernel void dm_prime(global uint *out) { out[get_global_id(0)] = get_group_id(0) * 23 + get_local_id(0); }

// run dm_column global=1x64 local=1x8: buf(uint,64,zero)
kernel void dm_column(global uint *out)
{
	out[get_global_id(1)] = get_group_id(1) * 8 + get_num_groups(0) + get_global_size(0);
}

// run dm_depth global=1x1x24 local=1x1x4: buf(uint,24,zero)
kernel void dm_depth(global uint *out) { out[get_global_id(2)] = get_group_id(2) + 100 * get_group_id(0); }

// run dm_flat global=12x10 local=3x5: buf(uint,120,zero)
kernel void dm_flat(global uint *out)
{
	uint g = get_group_id(1) * get_num_groups(0) + get_group_id(0);

	out[g * 15 + get_local_id(1) * 3 + get_local_id(0)] = g;
}

// run dm_cube global=6x10x14 local=3x5x2: buf(uint,840,zero)
kernel void dm_cube(global uint *out)
{
	uint g = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);

	out[g * 30 + (get_local_id(2) * 5 + get_local_id(1)) * 3 + get_local_id(0)] = g + get_global_id(2);
}

// run dm_2d_as_1d global=32x4 local=8x4: buf(uint,128,zero)
kernel void dm_2d_as_1d(global uint *out)
{
	size_t i = get_global_id(0) + get_global_size(0) * get_global_id(1);

	out[i] = get_group_id(0) * 2 + get_group_id(1);
}

// run dm_ignored global=8x8 local=4x4: buf(uint,8,zero)
kernel void dm_ignored(volatile global uint *out) { atomic_inc(&out[get_group_id(0)]); }

// run dm_offset_1d global=64 local=8 offset=100: buf(uint,164,zero)
// expect dm_offset_1d slice=offset
kernel void dm_offset_1d(global uint *out) { out[get_global_id(0)] = get_global_id(0); }

// run dm_offset_group global=64 local=8 offset=13: buf(uint,77,zero)
kernel void dm_offset_group(global uint *out) { out[get_global_id(0)] = get_group_id(0) + get_global_size(0); }

// run dm_offset_2d global=16x16 local=4x8 offset=3x50: buf(uint,256,zero)
kernel void dm_offset_2d(global uint *out)
{
	size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);

	out[y * get_global_size(0) + x] = get_global_id(0) * 1000 + get_global_id(1) + get_group_id(1);
}

// run dm_offset_3d global=4x4x4 local=2x2x4 offset=1x2x3: buf(uint,64,zero)
kernel void dm_offset_3d(global uint *out)
{
	uint i = 0;

	for (int d = 2; d >= 0; d--)
		i = i * get_global_size(d) + get_global_id(d) - get_global_offset(d);
	out[i] = get_group_id(0) + get_group_id(1) * 10 + get_group_id(2) * 100;
}

// run dm_offset_one_dim global=16x16 local=4x4 offset=0x32: buf(uint,256,zero)
kernel void dm_offset_one_dim(global uint *out)
{
	out[(get_global_id(1) - 32) * 16 + get_global_id(0)] = get_global_offset(1) + get_group_id(0);
}

// run dm_large_groups global=4096 local=256: buf(uint,4096,zero)
kernel void dm_large_groups(global uint *out) { out[get_global_id(0)] = get_group_id(0); }

// run dm_many_groups global=4096 local=2: buf(uint,4096,zero)
kernel void dm_many_groups(global uint *out) { out[get_global_id(0)] = get_group_id(0); }
