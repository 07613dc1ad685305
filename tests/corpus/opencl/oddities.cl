/* SPDX-License-Identifier: MIT */
/* Old and odd ways to write things. get_group_id(0) in a comment is none. */

// run od_array_parameter global=64 local=8: buf(uint,64,random) local(32)
// expect od_array_parameter slice=cut workers=ok|param-form
kernel void od_array_parameter(global uint d[], local uint t[8])
{
	t[get_local_id(0)] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[7 - get_local_id(0)] + get_group_id(0);
}

// run od_index_swapped global=64 local=8: buf(uint,64,random)
kernel void od_index_swapped(global uint *d) { get_global_id(0)[d] += 0[d] * 0 + get_group_id(0); }

// run od_splice global=64 local=8: buf(uint,64,zero)
kernel void od_splice(global uint *d)
{
	d[get_glo\
bal_id(0)] = get_group_\
id(0);	// a comment that goes on \
	d[0] = 99;
}

// run od_digraphs global=64 local=8: buf(uint,64,zero)
kernel void od_digraphs(global uint *d) <% d<:get_global_id(0):> = get_group_id(0); %>

// run od_strings global=64 local=8: buf(uint,64,zero)
kernel void od_strings(global uint *d)
{
	constant char *s = "{ get_group_id(0); /* \" */ }";

	d[get_global_id(0)] = s[get_group_id(0)] + '{' + '\\';
}

typedef global uint *words;
typedef uint number;
// run od_typedef_parameter global=64 local=8: buf(uint,64,zero) uint(3)
kernel void od_typedef_parameter(words d, number n) { n += 1; d[get_global_id(0)] = get_group_id(0) * n; }

// run od_keyword_order global=64 local=8: buf(uint,64,zero)
void kernel od_keyword_order(uint global *d) { d[get_global_id(0)] = get_group_id(0); }

// run od_const_everywhere global=64 local=8: buf(uint,64,random) buf(uint,64,zero)
kernel void od_const_everywhere(uint const global *const in, uint global *const restrict out)
{
	out[get_global_id(0)] = in[get_group_id(0)];
}

// run od_void global=64 local=8:
kernel void od_void(void) { uint get_group = get_group_id(0); (void)get_group; }

// run od_unused global=64 local=8: buf(uint,64,zero) float(1) local(64) int4(1,2,3,4)
kernel void od_unused(global uint *d, float a, local uint *b, int4 c) { d[get_global_id(0)] = get_group_id(0); }

// run od_many_parameters global=64 local=8: buf(uint,64,zero) char(1) short(2) int(3) long(4) float(5) uchar(6) ushort(7) uint(8) ulong(9) int2(1,2) uchar4(1,2,3,4)
kernel void od_many_parameters(global uint *d, char a, short b, int c, long e, float f, uchar g, ushort h,
			       uint i, ulong j, int2 k, uchar4 l)
{
	a++; b++; c++; e++; f++; g++; h++; i++; j++; k++; l++;
	d[get_global_id(0)] = a + b + c + (uint)e + (uint)f + g + h + i + (uint)j + k.x + l.w + get_group_id(0);
}

// run od_one_line global=64 local=8: buf(uint,64,zero)
kernel void od_one_line(global uint*d){size_t i=get_global_id(0);{{d[i]=get_group_id(0);}}if(i)d[i]++;else d[i]--;}

// run od_shadow_name global=64 local=8: buf(uint,64,zero)
kernel void od_shadow_name(global uint *d)
{
	uint gs = get_group_id(0), stop = 2, queue = 3, total = 4, base = 5, out = 6;

	d[get_global_id(0)] = gs + stop + queue + total + base + out;
}

// run od_parameter_names global=64 local=8: buf(uint,64,zero) uint(3) uint(4) uint(5)
kernel void od_parameter_names(global uint *d, uint x, uint n, uint group)
{
	d[get_global_id(0)] = x + n * group + get_group_id(0);
}

// run od_function_pointerish global=64 local=8: buf(uint,64,zero)
kernel void od_function_pointerish(global uint (*d))
{
	(*(d + get_global_id(0))) = (uint)((get_group_id((0))));
}

// run od_semicolons global=64 local=8: buf(uint,64,zero)
kernel void od_semicolons(global uint *d)
{
	;;{};
	d[get_global_id(0)] = get_group_id(0);;
};

static inline uint od_first(uint a)
{ return a + get_group_id(0); }
// run od_static global=64 local=8: buf(uint,64,zero)
kernel void od_static(global uint *d) { d[get_global_id(0)] = od_first(od_first(1)); }

// run od_sizeof global=64 local=8: buf(uint,64,zero)
kernel void od_sizeof(global uint *d)
{
	d[get_global_id(0)] = sizeof get_group_id(0) + sizeof(uint[sizeof(uint)]) +
		get_group_id(0);
}

// run od_block_scope global=64 local=8: buf(uint,64,zero)
kernel void od_block_scope(global uint *d)
{
	uint get(uint);

	d[get_global_id(0)] = get(2) + get_group_id(0);
}
uint get(uint v) { return v + get_num_groups(0); }

// expect od_struct_in_body slice=cut workers=ok|local-form
// run od_struct_in_body global=64 local=8: buf(uint,64,zero)
kernel void od_struct_in_body(global uint *d)
{
	struct inner { uint a[2]; } s, *p = &s;
	typedef struct inner inner_t;
	inner_t t = { { 1, 2 } };

	p->a[0] = get_group_id(0);
	p->a[1] = t.a[1];
	d[get_global_id(0)] = s.a[0] + s.a[1];
}

// run od_deep global=64 local=8: buf(uint,64,zero)
kernel void od_deep(global uint *d)
{
	d[get_global_id(0)] = ((((((((((((((((((((get_group_id(((((0)))))))))))))))))))))))));
}

// run od_long_name_that_goes_on_and_on_so_that_every_fixed_buffer_would_be_too_small_for_it_in_the_end global=64 local=8: buf(uint,64,zero)
kernel void od_long_name_that_goes_on_and_on_so_that_every_fixed_buffer_would_be_too_small_for_it_in_the_end(
	global uint *d) { d[get_global_id(0)] = get_group_id(0); }
