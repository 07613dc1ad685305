// SPDX-License-Identifier: MIT
// Atomics: global, local, both; results that don't depend on the order.

// run hist_global global=1024 local=64: buf(uint,1024,random) buf(uint,64,zero)
// expect hist_global slice=offset
kernel void hist_global(global const uint *in, volatile global uint *bins)
{
	atomic_inc(&bins[in[get_global_id(0)] & 63]);
}

// run hist_local global=1024 local=64: buf(uint,1024,random) buf(uint,64,zero)
// expect hist_local slice=offset
kernel void hist_local(global const uint *in, volatile global uint *bins)
{
	local uint mine[64];
	uint l = get_local_id(0);

	mine[l] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_inc(&mine[in[get_global_id(0)] & 63]);
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&bins[l], mine[l]);
}

// run hist_uninitialised global=512 local=32: buf(uint,512,random) buf(uint,512,zero) local(128)
kernel void hist_uninitialised(global const uint *in, global uint *out, volatile local uint *bins)
{
	uint l = get_local_id(0);

	bins[l] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_inc(bins + (in[get_global_id(0)] & 31));
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_group_id(0) * get_local_size(0) + l] = bins[l];
}

// run hist_bytes global=256 local=32: buf(uchar,1024,random) buf(uint,256,zero)
kernel void hist_bytes(global const uchar4 *in, volatile global uint *bins)
{
	uchar4 v = in[get_global_id(0)];

	atomic_inc(&bins[v.x]);
	atomic_inc(&bins[v.y]);
	atomic_inc(&bins[v.z]);
	atomic_inc(&bins[v.w]);
}

// run hist_minmax global=1024 local=32: buf(int,1024,random) buf(int,2,zero)
kernel void hist_minmax(global const int *in, volatile global int *range)
{
	int v = in[get_global_id(0)];

	atomic_min(&range[0], -v);
	atomic_max(&range[1], v);
}

// run hist_bits global=512 local=32: buf(uint,512,random) buf(uint,16,zero)
kernel void hist_bits(global const uint *in, volatile global uint *set)
{
	uint v = in[get_global_id(0)] & 255;

	atomic_or(&set[v / 32], 1u << (v % 32));
	atomic_xor(&set[8 + v / 32], 1u << (v % 32));
}

// run hist_cas global=256 local=32: buf(uint,256,random) buf(uint,4,zero)
// The loop waits for nobody: whoever loses tries again.
kernel void hist_cas(global const uint *in, volatile global uint *sum)
{
	uint v = in[get_global_id(0)] & 0xffff;
	volatile global uint *p = &sum[v & 3];
	uint old, want;

	do {
		old = *p;
		want = old + v;
	} while (atomic_cmpxchg(p, old, want) != old);
}

// run hist_weighted global=64x8 local=16x4: buf(uint,512,random) buf(uint,32,zero)
kernel void hist_weighted(global const uint *in, volatile global uint *bins)
{
	uint v = in[get_global_id(1) * get_global_size(0) + get_global_id(0)];

	atomic_add(&bins[v & 31], (uint)get_group_id(1) + 1u);
}

// run hist_sub global=128 local=16: buf(uint,128,small) buf(uint,2,random)
kernel void hist_sub(global const uint *in, volatile global uint *v)
{
	atomic_sub(&v[0], in[get_global_id(0)]);
	atomic_dec(&v[1]);
}

// run hist_and global=128 local=16: buf(uint,128,random) buf(uint,1,random)
kernel void hist_and(global const uint *in, volatile global uint *v)
{
	atomic_and(v, in[get_global_id(0)] | 0xffff0000u);
}
