// SPDX-License-Identifier: MIT
// Barriers in loops and in branches that all take alike.

// run bar_loop global=128 local=16: buf(uint,128,random) uint(5)
kernel void bar_loop(global uint *d, uint n)
{
	local uint t[16];
	uint l = get_local_id(0), v = d[get_global_id(0)];

	for (uint k = 0; k < n; k++) {
		t[l] = v;
		barrier(CLK_LOCAL_MEM_FENCE);
		v += t[(l + k) % 16];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	d[get_global_id(0)] = v;
}

// run bar_loop_end global=128 local=16: buf(uint,128,random)
kernel void bar_loop_end(global uint *d)
{
	local uint t[2][16];
	uint l = get_local_id(0);

	t[0][l] = d[get_global_id(0)];
	for (int k = 0; k < 4; k++) {
		barrier(CLK_LOCAL_MEM_FENCE);
		t[(k + 1) & 1][l] = t[k & 1][15 - l] + get_group_id(0);
	}
	d[get_global_id(0)] = t[0][l];
}

// run bar_nested global=64 local=8: buf(uint,64,random)
kernel void bar_nested(global uint *d)
{
	local uint t[8];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 2; j++) {
			uint v;

			barrier(CLK_LOCAL_MEM_FENCE);
			v = t[(l + i + j) % 8];
			barrier(CLK_LOCAL_MEM_FENCE);
			t[l] = v + 1;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (l == 0)
			t[7] += t[0];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[l] + get_group_id(0);
}

// run bar_while global=64 local=8: buf(uint,64,random) uint(6)
kernel void bar_while(global uint *d, uint n)
{
	local uint t[8];
	uint l = get_local_id(0), k = 0;

	t[l] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	while (k < n) {
		uint v = t[(l + 1) & 7];

		barrier(CLK_LOCAL_MEM_FENCE);
		t[l] = v ^ k;
		barrier(CLK_LOCAL_MEM_FENCE);
		k += 2;
	}
	d[get_global_id(0)] = t[l];
}

// run bar_do global=64 local=8: buf(uint,64,random)
kernel void bar_do(global uint *d)
{
	local uint t[8];
	uint l = get_local_id(0), k = 3;

	t[l] = d[get_global_id(0)];
	do {
		barrier(CLK_LOCAL_MEM_FENCE);
		uint v = t[7 - l];
		barrier(CLK_LOCAL_MEM_FENCE);
		t[l] = v + k;
	} while (--k);
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[l];
}

// run bar_group_branch global=128 local=16: buf(uint,128,random)
kernel void bar_group_branch(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	if (get_group_id(0) & 1) {
		barrier(CLK_LOCAL_MEM_FENCE);
		d[get_global_id(0)] = t[15 - l];
	} else {
		barrier(CLK_LOCAL_MEM_FENCE);
		d[get_global_id(0)] = t[(l + 1) & 15] + 1;
	}
}

// run bar_argument_branch global=128 local=16: buf(uint,128,random) int(1)
kernel void bar_argument_branch(global uint *d, int on)
{
	local uint t[16];
	uint l = get_local_id(0), v = d[get_global_id(0)];

	if (on) {
		t[l] = v;
		barrier(CLK_LOCAL_MEM_FENCE);
		v = t[l ^ 3];
	}
	d[get_global_id(0)] = v + get_num_groups(0);
}

// run bar_group_loop global=128 local=16: buf(uint,128,random)
kernel void bar_group_loop(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0), v = d[get_global_id(0)];

	for (size_t k = 0; k < get_group_id(0) + 1; k++) {
		t[l] = v;
		barrier(CLK_LOCAL_MEM_FENCE);
		v = t[(l + 1) % 16] + k;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	d[get_global_id(0)] = v;
}

// run bar_divergent_around global=128 local=16: buf(uint,128,random)
kernel void bar_divergent_around(global uint *d)
{
	local uint t[16];
	uint l = get_local_id(0), v = d[get_global_id(0)];

	if (v & 1)
		v = v * 3 + 1;
	else
		v /= 2;
	t[l] = v;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (l & 1)
		v = t[l - 1] + get_group_id(0);
	else if (l & 2)
		v = t[l + 1];
	barrier(CLK_LOCAL_MEM_FENCE);
	t[l] = v;
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = v + t[0];
}

// run bar_first global=128 local=16: buf(uint,128,random)
kernel void bar_first(global uint *d)
{
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	d[get_global_id(0)] += get_group_id(0);
}

// run bar_last global=128 local=16: buf(uint,128,random)
kernel void bar_last(global uint *d)
{
	d[get_global_id(0)] += get_group_id(0);
	barrier(CLK_GLOBAL_MEM_FENCE);
}

// run bar_only global=128 local=16: buf(uint,4,random)
kernel void bar_only(global uint *d)
{
	barrier(CLK_LOCAL_MEM_FENCE);
}

// run bar_global global=128 local=16: buf(uint,128,random)
kernel void bar_global(global uint *d)
{
	size_t base = get_group_id(0) * get_local_size(0), l = get_local_id(0);
	uint v = d[base + 15 - l];

	barrier(CLK_GLOBAL_MEM_FENCE);
	d[base + l] = v + 1;
	barrier(CLK_GLOBAL_MEM_FENCE);
	v = d[base + (l + 5) % 16];
	barrier(CLK_GLOBAL_MEM_FENCE);
	d[base + l] = v;
}

// run bar_private_array global=64 local=8: buf(uint,64,random)
kernel void bar_private_array(global uint *d)
{
	uint keep[4];
	local uint t[8];
	uint l = get_local_id(0);

	for (int k = 0; k < 4; k++)
		keep[k] = d[get_global_id(0)] >> k;
	t[l] = keep[l & 3];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int k = 0; k < 4; k++)
		keep[k] += t[(l + k) & 7];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = keep[0] ^ keep[1] ^ keep[2] ^ keep[3];
}

// run bar_break global=64 local=8: buf(uint,64,random) uint(3)
kernel void bar_break(global uint *d, uint stop)
{
	local uint t[8];
	uint l = get_local_id(0), v = d[get_global_id(0)];

	for (uint k = 0; k < 8; k++) {
		t[l] = v;
		barrier(CLK_LOCAL_MEM_FENCE);
		v += t[l ^ 1];
		barrier(CLK_LOCAL_MEM_FENCE);
		if (k == stop)
			break;
	}
	d[get_global_id(0)] = v;
}

// run bar_continue global=64 local=8: buf(uint,64,random)
kernel void bar_continue(global uint *d)
{
	local uint t[8];
	uint l = get_local_id(0), v = d[get_global_id(0)];

	for (uint k = 0; k < 6; k++) {
		if (k & 1)
			continue;
		t[l] = v;
		barrier(CLK_LOCAL_MEM_FENCE);
		v += t[7 - l] + k;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	d[get_global_id(0)] = v;
}

// The if/else behind a barrier, in a loop: one arm was dropped by a compiler once.
// run bar_arms global=128 local=16: buf(uint,128,random)
kernel void bar_arms(global uint *d)
{
	local uint a[16], b[16];
	uint l = get_local_id(0);

	a[l] = d[get_global_id(0)];
	b[l] = a[l] >> 1;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (l < 8) {
		for (uint i = 0; i < 8; i++)
			b[l] += a[l + 8] * i;
	} else {
		for (uint i = 0; i < 8; i++)
			a[l] ^= b[l] + i;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (l < 8)
		d[get_global_id(0)] = b[l];
	else
		d[get_global_id(0)] = a[l];
}
