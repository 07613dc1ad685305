// SPDX-License-Identifier: MIT
// options: -D OUT=out -DFACTOR=3 -DGID=get_global_id(0)
// Work-item functions behind macros, and kernels that macros make.

#define GROUP get_group_id(0)
#define WHICH(f, d) f(d)
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define IDX(d) get_global_id(d)
#define ROW(w) (IDX(1) * (w) + IDX(0))

// run mac_object global=64 local=8: buf(uint,64,zero)
kernel void mac_object(global uint *out) { OUT[GID] = GROUP * FACTOR; }

// run mac_function global=64 local=8: buf(uint,64,zero)
kernel void mac_function(global uint *out) { out[WHICH(get_global_id, 0)] = WHICH(get_num_groups, 0); }

// run mac_paste global=64 local=8: buf(uint,64,zero)
kernel void mac_paste(global uint *out) { out[CAT(get_global, _id)(0)] = CAT(get_, CAT(group, _id))(0); }

// run mac_name global=64 local=8: buf(uint,64,zero)
#define NUMBER get_num_groups
kernel void mac_name(global uint *out) { out[GID] = NUMBER(0) + GROUP; }
#undef NUMBER

// run mac_2d global=16x8 local=4x4: buf(uint,128,zero)
kernel void mac_2d(global uint *out) { out[ROW(get_global_size(0))] = ROW(1); }

#define KERNEL(name, type, op)							\
kernel void name(global const type *a, global type *b)			\
{										\
	size_t i = get_global_id(0);						\
										\
	b[i] = (type)(a[i] op (type)(get_group_id(0) + 1));			\
}

// run mac_add_int global=64 local=8: buf(int,64,random) buf(int,64,zero)
KERNEL(mac_add_int, int, +)
// run mac_mul_float global=64 local=8: buf(float,64,random) buf(float,64,zero)
KERNEL(mac_mul_float, float, *)
// run mac_sub_ushort global=64 local=8: buf(ushort,64,random) buf(ushort,64,zero)
KERNEL(mac_sub_ushort, ushort, -)
// run mac_xor_ulong global=64 local=8: buf(ulong,64,random) buf(ulong,64,zero)
KERNEL(mac_xor_ulong, ulong, ^)
// run mac_shift_uint global=64 local=8: buf(uint,64,random) buf(uint,64,zero)
KERNEL(mac_shift_uint, uint, >>)

#define TYPED(T) CAT(mac_copy_, T)
#define COPY(T) kernel void TYPED(T)(global const T *a, global T *b) \
	{ b[get_global_id(0)] = a[get_global_size(0) - 1 - get_global_id(0)]; }
// run mac_copy_char global=64 local=8: buf(char,64,random) buf(char,64,zero)
COPY(char)
// run mac_copy_short2 global=64 local=8: buf(short,128,random) buf(short,128,zero)
COPY(short2)
// run mac_copy_float8 global=32 local=8: buf(float,256,random) buf(float,256,zero)
COPY(float8)

#if FACTOR == 3 && !defined(NOT_THERE)
#define VARIANT 1
#else
#error "FACTOR must be 3"
#endif

// run mac_conditional global=64 local=8: buf(uint,64,zero)
kernel void mac_conditional(global uint *out)
{
#ifdef VARIANT
	out[GID] = GROUP;
#else
	out[GID] = 77;
#endif
}

#define BODY(i) do { out[i] = GROUP; if (i & 1) out[i] += get_num_groups(0); } while (0)
// run mac_body global=64 local=8: buf(uint,64,zero)
kernel void mac_body(global uint *out)
{
	size_t i = GID;

	BODY(i);
}

#define SUM(...) sum3(__VA_ARGS__)
static uint sum3(uint a, uint b, uint c) { return a + b * c; }
// run mac_variadic global=64 local=8: buf(uint,64,zero)
kernel void mac_variadic(global uint *out) { out[GID] = SUM(GROUP, get_local_id(0), FACTOR); }

#define SELF SELF + 1
#define get_local_id(d) (get_local_id(d) + 0)
// run mac_self global=64 local=8: buf(uint,64,zero)
kernel void mac_self(global uint *out)
{
	uint SELF_ = get_local_id(0);

	out[GID] = SELF_ + GROUP;
}
#undef get_local_id

#define K kernel
#define G global
#define V void
// run mac_keywords global=64 local=8: buf(uint,64,zero)
K V mac_keywords(G uint *o) { o[GID] = GROUP; }

#define SYNC barrier(CLK_LOCAL_MEM_FENCE);
#define LDECL(n) local uint n[8];
// run mac_local global=64 local=8: buf(uint,64,random)
kernel void mac_local(global uint *d)
{
	LDECL(t)
	t[get_local_id(0)] = d[GID] + GROUP;
	SYNC
	d[GID] = t[get_local_id(0) ^ 1];
}

// run mac_line global=64 local=8: buf(uint,64,zero)
#line 1000 "elsewhere.cl"
kernel void mac_line(global uint *out) { out[GID] = __LINE__ + GROUP; }
