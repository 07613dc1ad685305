// SPDX-License-Identifier: MIT
// Structs by value, in memory, nested; parameters that kernels change.

typedef struct { float4 scale; int n; float bias; } settings;

// run sv_by_value global=64 local=8: buf(float,256,random) struct(float4:1:2:3:4,int:3,float:0.5)
kernel void sv_by_value(global float4 *d, settings s)
{
	for (int k = 0; k < s.n; k++)
		d[get_global_id(0)] = d[get_global_id(0)] * s.scale + s.bias * get_group_id(0);
}

struct pair { uint a; uchar b; ushort c; };

// run sv_const global=64 local=8: buf(uint,64,zero) struct(uint:70000,uchar:5,ushort:900)
kernel void sv_const(global uint *out, const struct pair p)
{
	out[get_global_id(0)] = p.a + p.b * get_group_id(0) + p.c;
}

// The next group must see what the program gave, not what this one left.
// run sv_changed global=64 local=8: buf(uint,64,zero) struct(uint:7,uchar:1,ushort:2) uint(5)
kernel void sv_changed(global uint *out, struct pair p, uint v)
{
	p.a += get_local_id(0);
	p.b = 3;
	v++;
	v *= p.a;
	out[get_global_id(0)] = v + p.b + p.c + get_group_id(0);
}

// run sv_pointer_moved global=64 local=8: buf(uint,64,random) buf(uint,64,zero)
kernel void sv_pointer_moved(global const uint *in, global uint *out)
{
	in += get_global_id(0);
	out += get_global_id(0);
	*out++ = *in;
}

// run sv_counted_down global=64 local=8: buf(uint,64,random) uint(6)
kernel void sv_counted_down(global uint *d, uint n)
{
	while (n--)
		d[get_global_id(0)] += n * get_num_groups(0);
}

// run sv_local_moved global=64 local=8: buf(uint,64,random) local(64)
kernel void sv_local_moved(global uint *d, local uint *t)
{
	t += 8;
	t[get_local_id(0)] = d[get_global_id(0)];
	t -= 8;
	barrier(CLK_LOCAL_MEM_FENCE);
	d[get_global_id(0)] = t[15 - get_local_id(0)];
}

// run sv_vector_changed global=64 local=8: buf(int,64,zero) int4(1,2,3,4)
kernel void sv_vector_changed(global int *d, int4 v)
{
	v.x += get_local_id(0);
	v = v.yxwz;
	v.s3 = get_group_id(0);
	d[get_global_id(0)] = v.x + v.y * 10 + v.z * 100 + v.w * 1000;
}

struct node { uint key; struct { float2 at; uint id; } in; };

// run sv_nested global=64 local=8: buf(uint,512,random)
kernel void sv_nested(global struct node *d)
{
	global struct node *n = &d[get_global_id(0)];

	n->in.id = get_group_id(0);
	n->key += n->in.id * sizeof(*n);
}

// PoCL hands all work-items the same copy of a struct argument.
// run sv_array_inside global=64 local=8 only=oclgrind: buf(uint,64,zero) struct(uint:3,uint:5,uint:7,uint:9)
typedef struct { uint v[4]; } four;
kernel void sv_array_inside(global uint *out, four f)
{
	f.v[get_local_id(0) & 3]++;
	out[get_global_id(0)] = f.v[get_group_id(0) & 3];
}

// run sv_returned global=64 local=8: buf(uint,64,zero) uint(9)
four make(uint x) { four f = { { x, x + 1, get_group_id(0), 0 } }; return f; }
kernel void sv_returned(global uint *out, uint x)
{
	four f = make(x), g = make(f.v[1]);

	out[get_global_id(0)] = g.v[0] + g.v[2] * 100;
}

// run sv_member_names global=64 local=8: buf(uint,64,zero)
struct named { uint get_group_id; uint get_num_groups; };
kernel void sv_member_names(global uint *out)
{
	struct named n = { .get_group_id = 4, .get_num_groups = get_num_groups(0) }, *p = &n;

	out[get_global_id(0)] = n.get_group_id + p->get_num_groups * get_group_id(0);
}

// run sv_union_argument global=64 local=8: buf(uint,64,zero) struct(uint:1065353216)
typedef union { float f; uint u; } both;
kernel void sv_union_argument(global uint *out, both b)
{
	b.f += get_group_id(0);
	out[get_global_id(0)] = b.u;
}

// run sv_bytes global=64 local=8: buf(uchar,192,random)
typedef struct __attribute__((packed)) { uchar a; ushort b; } packed3;
kernel void sv_bytes(global packed3 *d) { d[get_global_id(0)].b += d[get_global_id(0)].a * get_group_id(0); }
