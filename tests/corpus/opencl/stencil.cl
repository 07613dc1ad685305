// SPDX-License-Identifier: MIT
// Neighbours: from global memory, and from tiles with a halo.

#define AT(p, x, y, w) ((p)[(y) * (w) + (x)])

// run st_1d global=256 local=32: buf(float,256,random) buf(float,256,zero) int(256)
// expect st_1d slice=offset
kernel void st_1d(global const float *in, global float *out, int n)
{
	int i = get_global_id(0);
	float l = i > 0 ? in[i - 1] : 0.0f, r = i < n - 1 ? in[i + 1] : 0.0f;

	out[i] = 0.25f * l + 0.5f * in[i] + 0.25f * r;
}

// run st_5point global=32x32 local=8x4: buf(float,1024,random) buf(float,1024,zero)
kernel void st_5point(global const float *in, global float *out)
{
	int x = get_global_id(0), y = get_global_id(1);
	int w = get_global_size(0), h = get_global_size(1);

	if (x == 0 || y == 0 || x == w - 1 || y == h - 1) {
		AT(out, x, y, w) = AT(in, x, y, w);
		return;
	}
	AT(out, x, y, w) = 0.2f * (AT(in, x, y, w) + AT(in, x - 1, y, w) + AT(in, x + 1, y, w) +
				   AT(in, x, y - 1, w) + AT(in, x, y + 1, w));
}

// run st_tile global=32x32 local=8x8: buf(float,1024,random) buf(float,1024,zero)
kernel void st_tile(global const float *in, global float *out)
{
	local float t[10][10];
	int w = get_global_size(0), h = get_global_size(1);
	int x0 = get_group_id(0) * get_local_size(0) - 1, y0 = get_group_id(1) * get_local_size(1) - 1;
	int l = get_local_id(1) * get_local_size(0) + get_local_id(0);

	for (int k = l; k < 100; k += 64) {
		int x = clamp(x0 + k % 10, 0, w - 1), y = clamp(y0 + k / 10, 0, h - 1);

		t[k / 10][k % 10] = AT(in, x, y, w);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	int x = get_local_id(0) + 1, y = get_local_id(1) + 1;
	AT(out, get_global_id(0), get_global_id(1), w) =
		t[y][x] * 4 - t[y][x - 1] - t[y][x + 1] - t[y - 1][x] - t[y + 1][x];
}

// run st_3d global=8x8x8 local=4x2x2: buf(float,512,random) buf(float,512,zero)
kernel void st_3d(global const float *in, global float *out)
{
	int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
	int n = get_global_size(0);
	int i = (z * n + y) * n + x;
	float s = in[i];

	if (x > 0)
		s += in[i - 1];
	if (y > 0)
		s += in[i - n];
	if (z > 0)
		s += in[i - n * n];
	out[i] = s * 0.25f;
}

// run st_steps global=128 local=32: buf(float,128,random) int(4)
kernel void st_steps(global float *data, int steps)
{
	local float a[34], b[34];
	uint l = get_local_id(0) + 1;

	a[l] = data[get_global_id(0)];
	if (l == 1)
		a[0] = b[0] = a[33] = b[33] = (float)get_group_id(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int s = 0; s < steps; s++) {
		b[l] = (a[l - 1] + a[l] + a[l + 1]) / 3.0f;
		barrier(CLK_LOCAL_MEM_FENCE);
		a[l] = b[l];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	data[get_global_id(0)] = a[l];
}

constant float gauss[3][3] = { { 1, 2, 1 }, { 2, 4, 2 }, { 1, 2, 1 } };

// run st_gauss global=16x16 local=4x4: buf(float,256,random) buf(float,256,zero) int2(16,16)
kernel void st_gauss(global const float *in, global float *out, int2 size)
{
	int2 p = (int2)(get_global_id(0), get_global_id(1));
	float s = 0;

	for (int dy = -1; dy <= 1; dy++)
		for (int dx = -1; dx <= 1; dx++) {
			int2 q = clamp(p + (int2)(dx, dy), (int2)(0), size - 1);

			s += gauss[dy + 1][dx + 1] * in[q.y * size.x + q.x];
		}
	out[p.y * size.x + p.x] = s / 16;
}

// run st_life global=32x32 local=16x4: buf(uchar,1024,small) buf(uchar,1024,zero)
kernel void st_life(global const uchar *in, global uchar *out)
{
	int w = get_global_size(0), h = get_global_size(1), n = 0;
	int x = get_global_id(0), y = get_global_id(1);

	for (int k = 0; k < 9; k++)
		if (k != 4)
			n += in[(y + k / 3 - 1 + h) % h * w + (x + k % 3 - 1 + w) % w] & 1;
	out[y * w + x] = n == 3 || (n == 2 && (in[y * w + x] & 1));
}

// run st_pathfinder global=128 local=32: buf(int,512,random) buf(int,128,zero) int(4)
kernel void st_pathfinder(global const int *wall, global int *result, int rows)
{
	local int prev[32], next[32];
	int l = get_local_id(0), cols = get_global_size(0), g = get_global_id(0);

	prev[l] = wall[g];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int r = 1; r < rows; r++) {
		int m = prev[l];

		if (l > 0)
			m = min(m, prev[l - 1]);
		if (l < 31)
			m = min(m, prev[l + 1]);
		next[l] = m + wall[r * cols + g];
		barrier(CLK_LOCAL_MEM_FENCE);
		prev[l] = next[l];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	result[g] = prev[l];
}

// run st_transpose global=32x64 local=8x8: buf(uint,2048,random) buf(uint,2048,zero)
kernel void st_transpose(global const uint *in, global uint *out)
{
	local uint t[8][9];

	t[get_local_id(1)][get_local_id(0)] = in[get_global_id(1) * get_global_size(0) + get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	out[(get_group_id(0) * 8 + get_local_id(1)) * get_global_size(1) + get_group_id(1) * 8 +
	    get_local_id(0)] = t[get_local_id(0)][get_local_id(1)];
}
