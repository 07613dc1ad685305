// SPDX-License-Identifier: MIT
// needs: images
// Images of all dimensions, with samplers of the program and of the host.

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

// run im_copy global=16x16 local=4x4: image2d(r,rgba32f,16,16,random) image2d(w,rgba32f,16,16,zero)
// expect im_copy slice=offset
kernel void im_copy(read_only image2d_t in, write_only image2d_t out)
{
	int2 p = (int2)(get_global_id(0), get_global_id(1));

	write_imagef(out, p, read_imagef(in, nearest, p).wzyx);
}

// run im_group global=16x16 local=4x4: image2d(r,rgba32f,16,16,random) buf(float,1024,zero)
kernel void im_group(__read_only image2d_t in, global float4 *out)
{
	int2 p = (int2)(get_group_id(0), get_local_id(1));

	out[get_global_id(1) * 16 + get_global_id(0)] = read_imagef(in, nearest, p) + (float)get_group_id(1);
}

// run im_uint global=16x8 local=4x4: image2d(r,rgba32ui,16,8,random) image2d(w,rgba32ui,16,8,zero)
kernel void im_uint(read_only image2d_t in, write_only image2d_t out)
{
	int2 p = (int2)(get_global_id(0), get_global_id(1));

	write_imageui(out, p, read_imageui(in, nearest, p) ^ (uint4)(get_group_id(0)));
}

// run im_bytes global=16x8 local=8x2: image2d(r,rgba8,16,8,random) image2d(w,rgba8,16,8,zero) float(0.5)
kernel void im_bytes(read_only image2d_t in, write_only image2d_t out, float k)
{
	int2 p = (int2)(get_global_id(0), get_global_id(1));

	write_imagef(out, p, read_imagef(in, nearest, p) * k + 0.01f * get_group_id(1));
}

// run im_sampler global=16x16 local=4x4: image2d(r,rgba32f,16,16,random) buf(float,1024,zero) sampler(nearest,edge,pixel)
kernel void im_sampler(read_only image2d_t in, global float4 *out, sampler_t s)
{
	int2 p = (int2)(get_global_id(0) + 4, (int)get_global_id(1) - 4);

	out[get_global_id(1) * 16 + get_global_id(0)] = read_imagef(in, s, p) * get_num_groups(0);
}

// run im_size global=16x16 local=4x4: image2d(r,rgba32f,20,12,random) buf(int,256,zero)
kernel void im_size(read_only image2d_t in, global int *out)
{
	out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_image_width(in) * 100 +
		get_image_height(in) + get_image_dim(in).x;
}

float4 fetch(read_only image2d_t i, int2 p) { return read_imagef(i, nearest, p) + get_group_id(0); }

// run im_helper global=16x16 local=4x4: image2d(r,rgba32f,16,16,random) buf(float,1024,zero)
kernel void im_helper(read_only image2d_t in, global float4 *out)
{
	out[get_global_id(1) * 16 + get_global_id(0)] = fetch(in, (int2)(get_local_id(0), get_global_id(1)));
}

// run im_1d global=64 local=8: image1d(r,rgba32f,64,random) image1d(w,rgba32f,64,zero)
kernel void im_1d(read_only image1d_t in, write_only image1d_t out)
{
	int x = get_global_id(0);

	write_imagef(out, 63 - x, read_imagef(in, nearest, x) + get_group_id(0));
}

// run im_3d global=8x8x4 local=4x2x2: image3d(r,rgba32f,8,8,4,random) buf(float,1024,zero)
kernel void im_3d(read_only image3d_t in, global float4 *out)
{
	int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);

	out[(p.z * 8 + p.y) * 8 + p.x] = read_imagef(in, nearest, p) * get_group_id(2);
}

// run im_2d_array global=8x8x4 local=4x4x1: image2d_array(r,rgba32ui,8,8,4,random) buf(uint,1024,zero)
kernel void im_2d_array(read_only image2d_array_t in, global uint4 *out)
{
	int4 p = (int4)(get_global_id(0), get_global_id(1), get_group_id(2), 0);

	out[(p.z * 8 + p.y) * 8 + p.x] = read_imageui(in, nearest, p);
}

// run im_1d_array global=16x4 local=8x1: image1d_array(r,rgba32f,16,4,random) buf(float,256,zero)
kernel void im_1d_array(read_only image1d_array_t in, global float4 *out)
{
	int2 p = (int2)(get_global_id(0), get_group_id(1));

	out[p.y * 16 + p.x] = read_imagef(in, nearest, p);
}

// run im_barrier global=16x16 local=8x8: image2d(r,rgba32f,16,16,random) image2d(w,rgba32f,16,16,zero)
kernel void im_barrier(read_only image2d_t in, write_only image2d_t out)
{
	local float4 t[8][8];
	const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
	int2 p = (int2)(get_global_id(0), get_global_id(1)), l = (int2)(get_local_id(0), get_local_id(1));

	t[l.y][l.x] = read_imagef(in, s, p);
	barrier(CLK_LOCAL_MEM_FENCE);
	write_imagef(out, p, t[l.x][l.y] + (float4)(get_group_id(0), get_group_id(1), 0, 0));
}
