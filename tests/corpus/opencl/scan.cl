// SPDX-License-Identifier: MIT
// Prefix sums of each group, and the compaction that they are for.

// run scan_naive global=256 local=32: buf(uint,256,small) buf(uint,256,zero) local(256)
// expect scan_naive slice=offset
kernel void scan_naive(global const uint *in, global uint *out, local uint *tmp)
{
	uint l = get_local_id(0), n = get_local_size(0), from = 0, to = 1;

	tmp[l] = in[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint d = 1; d < n; d <<= 1) {
		tmp[to * n + l] = l >= d ? tmp[from * n + l] + tmp[from * n + l - d] : tmp[from * n + l];
		to = 1 - to;
		from = 1 - from;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	out[get_global_id(0)] = tmp[from * n + l];
}

// run scan_blelloch global=256 local=32: buf(uint,512,small) buf(uint,512,zero) buf(uint,8,zero)
kernel void scan_blelloch(global const uint *in, global uint *out, global uint *sums)
{
	local uint t[64];
	int l = get_local_id(0), off = 1;
	size_t base = get_group_id(0) * 64;

	t[2 * l] = in[base + 2 * l];
	t[2 * l + 1] = in[base + 2 * l + 1];
	for (int d = 32; d > 0; d >>= 1) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < d)
			t[off * (2 * l + 2) - 1] += t[off * (2 * l + 1) - 1];
		off *= 2;
	}
	if (l == 0) {
		sums[get_group_id(0)] = t[63];
		t[63] = 0;
	}
	for (int d = 1; d < 64; d *= 2) {
		off >>= 1;
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l < d) {
			int a = off * (2 * l + 1) - 1, b = off * (2 * l + 2) - 1;
			uint v = t[a];

			t[a] = t[b];
			t[b] += v;
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	out[base + 2 * l] = t[2 * l];
	out[base + 2 * l + 1] = t[2 * l + 1];
}

// run scan_add global=256 local=32: buf(uint,256,small) buf(uint,8,small)
kernel void scan_add(global uint *data, global const uint *sums)
{
	uint add = 0;

	for (uint k = 0; k < get_group_id(0); k++)
		add += sums[k];
	data[get_global_id(0)] += add;
}

// run scan_compact global=256 local=32: buf(uint,256,small) buf(uint,256,zero) buf(uint,8,zero)
kernel void scan_compact(global const uint *in, global uint *out, global uint *count)
{
	local uint flag[32];
	uint l = get_local_id(0), v = in[get_global_id(0)], place = 0;

	flag[l] = v & 1;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint k = 0; k < l; k++)
		place += flag[k];
	if (flag[l])
		out[get_group_id(0) * get_local_size(0) + place] = v;
	if (l == get_local_size(0) - 1)
		count[get_group_id(0)] = place + flag[l];
}

// run scan_slots global=256 local=32: buf(uint,256,random) buf(uint,256,zero,sorted) buf(uint,1,zero)
// expect scan_slots slice=offset
kernel void scan_slots(global const uint *in, global uint *out, volatile global uint *next)
{
	uint v = in[get_global_id(0)];

	if (v & 4)
		out[atomic_inc(next)] = v;
}

// run scan_segmented global=128 local=16: buf(uint,128,small) buf(uint,128,small) buf(uint,128,zero)
kernel void scan_segmented(global const uint *in, global const uint *head, global uint *out)
{
	local uint v[16], h[16];
	uint l = get_local_id(0), sum = 0;

	v[l] = in[get_global_id(0)];
	h[l] = head[get_global_id(0)] & 1;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int k = l; k >= 0; k--) {
		sum += v[k];
		if (h[k])
			break;
	}
	out[get_global_id(0)] = sum;
}

// run scan_rows global=4x32 local=2x8: buf(float,512,random) buf(float,512,zero) int(4)
kernel void scan_rows(global const float *in, global float *out, int width)
{
	size_t row = get_global_id(1) * get_global_size(0) + get_global_id(0);
	float sum = 0;

	for (int i = 0; i < width; i++) {
		sum += in[row * width + i];
		out[row * width + i] = sum;
	}
}

// run scan_shift global=256 local=64: buf(uint,256,random) buf(uint,256,zero)
kernel void scan_shift(global const uint *in, global uint *out)
{
	local uint t[65];
	uint l = get_local_id(0);

	t[l + 1] = in[get_global_id(0)];
	if (l == 0)
		t[0] = get_group_id(0) ? in[get_global_id(0) - 1] : 0u;
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = t[l];
}
