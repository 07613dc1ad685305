// SPDX-License-Identifier: MIT
// Kernels that call kernels: refused, for who calls and who is called.

// run ck_inner global=64 local=8: buf(uint,64,random)
// expect ck_inner slice=cut|kernel-call workers=cut|kernel-call
kernel void ck_inner(global uint *d) { d[get_global_id(0)] += get_group_id(0); }

// run ck_outer global=64 local=8: buf(uint,64,random)
// expect ck_plain_inner slice=cut workers=ok|kernel-call
// expect ck_outer slice=cut|kernel-call workers=cut|kernel-call
kernel void ck_outer(global uint *d)
{
	ck_inner(d);
	d[get_global_id(0)] *= 2;
}

// run ck_apart global=64 local=8: buf(uint,64,random)
kernel void ck_apart(global uint *d) { d[get_global_id(0)] += get_num_groups(0); }

// run ck_plain global=64 local=8: buf(uint,64,random)
// expect ck_plain slice=offset workers=cut|kernel-call
kernel void ck_plain_inner(global uint *d) { d[get_global_id(0)]++; }
kernel void ck_plain(global uint *d)
{
	ck_plain_inner(d);
	ck_plain_inner(d);
}
