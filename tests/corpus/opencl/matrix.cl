// SPDX-License-Identifier: MIT
// options: -DTS=8 -D "MUL(a,b)=((a)*(b))"
// Matrix products and what goes with them.

// run mm_plain global=32x32 local=8x4: buf(float,1024,random) buf(float,1024,random) buf(float,1024,zero) int(32)
// expect mm_plain slice=offset
kernel void mm_plain(global const float *a, global const float *b, global float *c, int n)
{
	int x = get_global_id(0), y = get_global_id(1);
	float s = 0;

	for (int k = 0; k < n; k++)
		s += MUL(a[y * n + k], b[k * n + x]);
	c[y * n + x] = s;
}

// run mm_tiled global=32x32 local=8x8: buf(float,1024,random) buf(float,1024,random) buf(float,1024,zero) int(32)
// expect mm_tiled slice=offset
kernel void mm_tiled(global const float *a, global const float *b, global float *c, const int n)
{
	local float ta[TS][TS], tb[TS][TS];
	const int lx = get_local_id(0), ly = get_local_id(1);
	const int x = get_global_id(0), y = get_global_id(1);
	float s = 0.0f;

	for (int t = 0; t < n / TS; t++) {
		ta[ly][lx] = a[y * n + t * TS + lx];
		tb[ly][lx] = b[(t * TS + ly) * n + x];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < TS; k++)
			s += ta[ly][k] * tb[k][lx];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[y * n + x] = s;
}

// run mm_groups global=32x32 local=8x8: buf(float,1024,random) buf(float,1024,random) buf(float,1024,zero) local(256) local(256)
kernel void mm_groups(global const float *a, global const float *b, global float *c,
		      local float *ta, local float *tb)
{
	int n = get_global_size(0), bx = get_group_id(0), by = get_group_id(1);
	int tx = get_local_id(0), ty = get_local_id(1);
	float s = 0;

	for (int t = 0; t < get_num_groups(0); ++t) {
		ta[ty * TS + tx] = a[n * (by * TS + ty) + t * TS + tx];
		tb[ty * TS + tx] = b[n * (t * TS + ty) + bx * TS + tx];
		barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
		for (int k = 0; k < TS; ++k)
			s += ta[ty * TS + k] * tb[k * TS + tx];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[n * (by * TS + ty) + bx * TS + tx] = s;
}

// run mm_vector global=8x32 local=4x8: buf(float,1024,random) buf(float,1024,random) buf(float,1024,zero) int(32)
kernel void mm_vector(global const float *a, global const float4 *b, global float4 *c, int n)
{
	int x = get_global_id(0), y = get_global_id(1);
	float4 s = 0;

	for (int k = 0; k < n; k++)
		s += a[y * n + k] * b[k * (n / 4) + x];
	c[y * (n / 4) + x] = s;
}

// run mv_rows global=128 local=16: buf(float,4096,random) buf(float,32,random) buf(float,128,zero)
kernel void mv_rows(global const float *m, global const float *v, global float *out)
{
	local float lv[32];

	for (uint i = get_local_id(0); i < 32; i += get_local_size(0))
		lv[i] = v[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	float s = 0;
	for (int k = 0; k < 32; k++)
		s = fma(m[get_global_id(0) * 32 + k], lv[k], s);
	out[get_global_id(0)] = s;
}

// run mv_group_row global=512 local=16: buf(float,2048,random) buf(float,64,random) buf(float,32,zero)
kernel void mv_group_row(global const float *m, global const float *v, global float *out)
{
	local float part[16];
	size_t row = get_group_id(0);
	float s = 0;

	for (size_t k = get_local_id(0); k < 64; k += 16)
		s += m[row * 64 + k] * v[k];
	part[get_local_id(0)] = s;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (size_t w = 8; w; w /= 2) {
		if (get_local_id(0) < w)
			part[get_local_id(0)] += part[get_local_id(0) + w];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (get_local_id(0) == 0)
		out[row] = part[0];
}

// run mm_lu global=64 local=16: buf(float,1024,random)
kernel void mm_lu(global float *m)
{
	local float t[16][16];
	int l = get_local_id(0), i, j;
	global float *mine = m + get_group_id(0) * 256;

	for (i = 0; i < 16; i++)
		t[i][l] = mine[i * 16 + l] + (i == l ? 16.0f : 0.0f);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (i = 0; i < 15; i++) {
		if (l > i) {
			for (j = 0; j < i; j++)
				t[l][i] -= t[l][j] * t[j][i];
			t[l][i] /= t[i][i];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l > i)
			for (j = 0; j < i + 1; j++)
				t[i + 1][l] -= t[i + 1][j] * t[j][l];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (i = 0; i < 16; i++)
		mine[i * 16 + l] = t[i][l];
}

// run mm_spmv global=64 local=8: buf(uint,65,index) buf(uint,1024,small) buf(float,1024,random) buf(float,64,random) buf(float,64,zero)
kernel void mm_spmv(global const uint *rows, global const uint *cols, global const float *values,
		    global const float *x, global float *y)
{
	uint r = get_global_id(0);
	float s = 0;

	for (uint k = rows[r] * 4; k < rows[r + 1] * 4; k++)
		s += values[k] * x[cols[k]];
	y[r] = s;
}

// run mm_outer global=16x16x4 local=4x4x1: buf(float,64,random) buf(float,64,random) buf(float,1024,zero)
kernel void mm_outer(global const float *a, global const float *b, global float *c)
{
	size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);

	c[(z * get_global_size(1) + y) * get_global_size(0) + x] = a[z * 16 + y] * b[z * 16 + x];
}
