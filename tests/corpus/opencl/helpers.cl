// SPDX-License-Identifier: MIT
// Work-item functions in what kernels call, at any depth.

uint depth1(void) { return get_group_id(0); }
uint depth2(uint a) { return depth1() * 2 + a; }
uint depth3(uint a, uint b) { return depth2(a) + depth2(b); }
uint depth4(global const uint *p) { return depth3(p[get_global_id(0)], get_num_groups(0)); }
uint depth5(global const uint *p) { return depth4(p) ^ 0x55; }

// run help_1 global=128 local=16: buf(uint,128,zero)
kernel void help_1(global uint *out) { out[get_global_id(0)] = depth1(); }

// run help_3 global=128 local=16: buf(uint,128,zero)
kernel void help_3(global uint *out) { out[get_global_id(0)] = depth3(get_local_id(0), 7); }

// run help_5 global=128 local=16: buf(uint,128,zero) buf(uint,128,random)
kernel void help_5(global uint *out, global const uint *in) { out[get_global_id(0)] = depth5(in); }

/* A prototype first, the body after the kernel. */
uint later(uint a, uint);
static uint unused_helper(void) { return get_num_groups(1); }

// run help_prototype global=128 local=16: buf(uint,128,zero)
kernel void help_prototype(global uint *out)
{
	out[get_global_id(0)] = later(get_local_id(0), 3);
}

uint later(uint a, uint b) { return a * b + get_group_id(0); }

inline uint helper_index(int w) { return get_global_id(1) * w + get_global_id(0); }

// run help_index global=32x8 local=8x4: buf(uint,256,zero)
// expect help_index slice=offset
kernel void help_index(global uint *out) { out[helper_index(32)] = 3 + helper_index(1); }

uint with_pointer(local uint *t, uint l) { t[l] = get_group_id(0); return t[l] + l; }

// run help_local global=128 local=16: buf(uint,128,zero)
kernel void help_local(global uint *out)
{
	local uint t[16];
	uint l = get_local_id(0), v = with_pointer(t, l);

	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = v + t[15 - l];
}

void sync_all(void) { barrier(CLK_LOCAL_MEM_FENCE); }
void reduce_in(local uint *t, uint n)
{
	for (uint s = n / 2; s; s /= 2) {
		sync_all();
		if (get_local_id(0) < s)
			t[get_local_id(0)] += t[get_local_id(0) + s];
	}
	sync_all();
}

// run help_barrier global=256 local=32: buf(uint,256,small) buf(uint,8,zero)
kernel void help_barrier(global const uint *in, global uint *out)
{
	local uint t[32];

	t[get_local_id(0)] = in[get_global_id(0)];
	reduce_in(t, 32);
	if (get_local_id(0) == 0)
		out[get_group_id(0)] = t[0];
}

size_t pick(uint d) { return d ? get_group_id(1) : get_group_id(0); }

// run help_argument global=16x16 local=4x4: buf(uint,256,zero)
kernel void help_argument(global uint *out)
{
	out[get_global_id(1) * 16 + get_global_id(0)] = pick(pick(get_group_id(0)) & 1) + pick(0) * 16;
}

typedef struct { uint group, count; } where_t;
where_t here(void)
{
	where_t w;

	w.group = get_group_id(0);
	w.count = get_num_groups(0);
	return w;
}

// run help_struct global=64 local=8: buf(uint,64,zero)
kernel void help_struct(global uint *out)
{
	where_t w = here();

	out[get_global_id(0)] = w.group * w.count + here().group;
}

void fill(global uint *p, uint v) { p[get_global_id(0)] = v + get_global_size(0); }

// run help_void global=64 local=8: buf(uint,64,zero)
kernel void help_void(global uint *out)
{
	if (get_local_id(0) & 1)
		fill(out, 1);
	else
		fill(out, 2);
}

uint even(uint n) { return n % 2 == 0 ? get_group_id(0) : n; }
uint odd(uint n) { return n % 2 ? even(n + 1) : even(n) + 1; }

// run help_shared global=64 local=8: buf(uint,64,zero)
kernel void help_shared(global uint *out) { out[get_global_id(0)] = odd(get_local_id(0)) + even(3); }

// run help_no_builtin global=64 local=8: buf(uint,64,zero)
// expect help_no_builtin slice=offset
static uint square(uint x) { return x * x; }
kernel void help_no_builtin(global uint *out) { out[get_global_id(0)] = square(get_global_id(0)); }

float4 vec_helper(float4 v) { return v + (float4)(get_group_id(0)); }

// run help_vector global=64 local=8: buf(float,256,random)
kernel void help_vector(global float4 *data)
{
	data[get_global_id(0)] = vec_helper(vec_helper(data[get_global_id(0)]));
}

__attribute__((always_inline)) uint attributed(uint a) { return a + get_group_id(0); }
uint __attribute__((noinline)) attributed_too(uint a) { return attributed(a) * 2; }

// run help_attribute global=64 local=8: buf(uint,64,zero)
kernel void help_attribute(global uint *out) { out[get_global_id(0)] = attributed_too(3); }

global uint *place(global uint *p) { return p + get_global_id(0); }
const global uint *place_const(const global uint *p) { return &p[get_group_id(0)]; }

// run help_returns_pointer global=64 local=8: buf(uint,64,zero) buf(uint,8,random)
kernel void help_returns_pointer(global uint *out, global const uint *in)
{
	*place(out) = *place_const(in);
}

uint bounded(uint v)
{
	if (v > 5)
		return get_group_id(0);
	return v;
}

// run help_return global=64 local=8: buf(uint,64,zero)
kernel void help_return(global uint *out)
{
	local uint t[8];

	t[get_local_id(0)] = bounded(get_local_id(0));
	barrier(CLK_LOCAL_MEM_FENCE);
	out[get_global_id(0)] = t[7 - get_local_id(0)];
}

// run help_in_argument global=64 local=8: buf(uint,64,zero)
kernel void help_in_argument(global uint *out)
{
	out[get_global_id(0)] = max((uint)later(depth1(), depth2(depth1())), (uint)bounded(depth1()));
}
