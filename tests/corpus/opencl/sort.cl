// SPDX-License-Identifier: MIT
// Sorts within groups, and single steps of sorts over all.

// run sort_bitonic global=256 local=32: buf(uint,256,random)
kernel void sort_bitonic(global uint *data)
{
	local uint t[32];
	uint l = get_local_id(0);
	bool up = get_group_id(0) % 2 == 0;

	t[l] = data[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint k = 2; k <= 32; k <<= 1)
		for (uint j = k >> 1; j > 0; j >>= 1) {
			uint o = l ^ j;

			if (o > l && (t[l] > t[o]) == (((l & k) == 0) == up)) {
				uint v = t[l];

				t[l] = t[o];
				t[o] = v;
			}
			barrier(CLK_LOCAL_MEM_FENCE);
		}
	data[get_global_id(0)] = t[l];
}

// run sort_step global=128 local=16: buf(uint,256,random) uint(3) uint(1)
// expect sort_step slice=offset
kernel void sort_step(global uint *data, uint stage, uint pass)
{
	uint i = get_global_id(0), d = 1u << (stage - pass);
	uint a = (i % d) + (i / d) * 2 * d, b = a + d;
	uint x = data[a], y = data[b];
	bool up = !((i >> stage) & 1);

	data[a] = up == (x < y) ? x : y;
	data[b] = up == (x < y) ? y : x;
}

// run sort_oddeven global=128 local=16: buf(int,256,random)
kernel void sort_oddeven(global int *data)
{
	local int t[32];
	uint l = get_local_id(0), g = get_group_id(0) * 32;

	t[l] = data[g + l];
	t[l + 16] = data[g + l + 16];
	for (uint r = 0; r < 32; r++) {
		uint a = 2 * l + (r & 1);

		barrier(CLK_LOCAL_MEM_FENCE);
		if (a + 1 < 32 && t[a] > t[a + 1]) {
			int v = t[a];

			t[a] = t[a + 1];
			t[a + 1] = v;
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	data[g + l] = t[l];
	data[g + l + 16] = t[l + 16];
}

// run sort_rank global=256 local=64: buf(uint,256,perm) buf(uint,256,zero) uint(256)
// expect sort_rank slice=offset
kernel void sort_rank(global const uint *in, global uint *out, uint n)
{
	uint v = in[get_global_id(0)], r = 0;

	for (uint k = 0; k < n; k++)
		r += in[k] < v;
	out[r] = v;
}

// run sort_insertion global=32 local=4: buf(int,512,random) buf(int,512,zero)
kernel void sort_insertion(global const int *in, global int *out)
{
	int v[16], n = 0;
	size_t base = get_global_id(0) * 16;

	for (int k = 0; k < 16; k++) {
		int x = in[base + k], i = n++;

		while (i > 0 && v[i - 1] > x) {
			v[i] = v[i - 1];
			i--;
		}
		v[i] = x;
	}
	for (int k = 0; k < 16; k++)
		out[base + k] = v[k];
}

// run sort_radix_count global=256 local=32: buf(uint,256,random) buf(uint,128,zero) uint(4)
kernel void sort_radix_count(global const uint *keys, global uint *counts, uint shift)
{
	local uint bin[16];
	uint l = get_local_id(0);

	if (l < 16)
		bin[l] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_inc(&bin[(keys[get_global_id(0)] >> shift) & 15]);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (l < 16)
		counts[l * get_num_groups(0) + get_group_id(0)] = bin[l];
}

// run sort_merge global=128 local=16: buf(uint,256,perm) buf(uint,256,zero)
kernel void sort_merge(global const uint *in, global uint *out)
{
	uint g = get_global_id(0), a = in[2 * g], b = in[2 * g + 1];

	vstore2((uint2)(min(a, b), max(a, b)), g, out);
}
