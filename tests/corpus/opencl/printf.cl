// SPDX-License-Identifier: MIT
// What kernels print: the same lines, in whatever order of the groups.

// run pr_group global=32 local=8: buf(uint,4,zero)
kernel void pr_group(global uint *out)
{
	if (get_local_id(0) == 0)
		printf("group %u of %u\n", (uint)get_group_id(0), (uint)get_num_groups(0));
}

// run pr_values global=16 local=4: buf(float,16,random)
kernel void pr_values(global float *v)
{
	printf("%d: %f %x %s\n", (int)get_global_id(0), v[get_global_id(0)],
	       as_uint(v[get_global_id(0)]), "text");
}

// run pr_vector global=16 local=4: buf(int,64,random)
kernel void pr_vector(global int4 *v)
{
	printf("%v4d in %d\n", v[get_global_id(0)], (int)get_group_id(0));
}

void say(uint what) { printf("said %u %u\n", what, (uint)get_group_id(0)); }

// run pr_helper global=32 local=8: buf(uint,4,zero)
kernel void pr_helper(global uint *out)
{
	if (get_local_id(0) < 2)
		say(get_global_id(0));
}

// run pr_names global=16 local=4: buf(uint,4,zero)
kernel void pr_names(global uint *out)
{
	printf("get_group_id(0) is %u\n", (uint)get_group_id(0));	// get_group_id(1) too
}

// run pr_none global=16 local=4: buf(uint,16,zero)
kernel void pr_none(global uint *out)
{
	out[get_global_id(0)] = get_group_id(0);
	if (get_group_id(0) > 99)
		printf("never\n");
}
