// SPDX-License-Identifier: MIT
// Control flow in the body, with labels and names of its own.

// run ctl_switch global=64 local=8: buf(uint,64,random)
kernel void ctl_switch(global uint *d)
{
	uint v = d[get_global_id(0)];

	switch (v % 5) {
	case 0:
		v += get_group_id(0);
	case 1:		/* goes on */
		v *= 2;
		break;
	case 2: case 3: {
		uint w = v;

		v = w * w;
		break;
	}
	default:
		v = get_num_groups(0);
	}
	d[get_global_id(0)] = v;
}

// run ctl_goto global=64 local=8: buf(uint,64,random)
kernel void ctl_goto(global uint *d)
{
	uint v = d[get_global_id(0)], n = 0;

again:
	if (v > 1 && n < 20) {
		v = v & 1 ? 3 * v + 1 : v / 2;
		n++;
		goto again;
	}
	if (n == 20)
		goto out;
	n += 100 * get_group_id(0);
out:
	d[get_global_id(0)] = n;
}

// run ctl_goto_end global=64 local=8: buf(uint,64,random)
kernel void ctl_goto_end(global uint *d)
{
	if (d[get_global_id(0)] & 1)
		goto done;
	d[get_global_id(0)] = get_group_id(0);
done:	;
}

// run ctl_comma global=64 local=8: buf(uint,64,random)
kernel void ctl_comma(global uint *d)
{
	uint i, j;

	for (i = 0, j = get_group_id(0); i < 4; i++, j += 2)
		d[get_global_id(0)] += i * j, d[get_global_id(0)] ^= j;
}

// run ctl_dangling global=64 local=8: buf(uint,64,random)
kernel void ctl_dangling(global uint *d)
{
	uint v = d[get_global_id(0)];

	if (v & 1)
		if (v & 2)
			v = get_group_id(0);
		else
			v = 9;
	d[get_global_id(0)] = v;
}

// run ctl_do_nested global=64 local=8: buf(uint,64,random)
kernel void ctl_do_nested(global uint *d)
{
	uint v = d[get_global_id(0)] & 15, s = 0;

	do {
		uint w = v;

		do
			s += w--;
		while (w > 1 && w < 16);
	} while (v-- > get_group_id(0) + 2);
	d[get_global_id(0)] = s;
}

// run ctl_shadowed global=64 local=8: buf(uint,64,random)
kernel void ctl_shadowed(global uint *d)
{
	uint v = get_group_id(0);
	{
		uint v = 3;

		d[get_global_id(0)] += v;
	}
	for (uint v = 0; v < 2; v++)
		d[get_global_id(0)] ^= v;
	d[get_global_id(0)] += v;
}

// run ctl_ternaries global=64 local=8: buf(uint,64,random)
kernel void ctl_ternaries(global uint *d)
{
	uint g = get_group_id(0), v = d[get_global_id(0)];

	d[get_global_id(0)] = g == 0 ? v : g == 1 ? v + 1 : g < 5 ? v * get_num_groups(0) : ~v;
}

// run ctl_logic global=64 local=8: buf(uint,64,random)
kernel void ctl_logic(global uint *d)
{
	if (get_group_id(0) > 2 && (d[get_global_id(0)] & 1 || get_num_groups(0) == 3) && !(get_group_id(0) == 5))
		d[get_global_id(0)] = 0;
}

// A jump into a loop: workers' loop has barriers, which compilers can't have round it.
// expect ctl_duff slice=cut workers=unknown-flow
// run ctl_duff global=64 local=8: buf(uint,64,random)
kernel void ctl_duff(global uint *d)
{
	uint n = d[get_global_id(0)] % 13 + 1, s = 0, r = (n + 3) / 4;

	switch (n % 6) {
	default: s = 7; break;
	case 0: do { s += 1;
	case 3: s += 10;
	case 2: s += 100;
	case 1: s += 1000;
		} while (--r > 0);
	}
	d[get_global_id(0)] = s + get_group_id(0);
}

// run ctl_enum global=64 local=8: buf(uint,64,zero)
kernel void ctl_enum(global uint *d)
{
	enum { RED, GREEN = 5, BLUE } c = get_group_id(0) & 1 ? GREEN : BLUE;

	d[get_global_id(0)] = c + RED;
}

// run ctl_loop_barrier_switch global=64 local=8: buf(uint,64,random) uint(2)
kernel void ctl_loop_barrier_switch(global uint *d, uint mode)
{
	local uint t[8];
	uint l = get_local_id(0);

	t[l] = d[get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	switch (mode) {
	case 1:
		d[get_global_id(0)] = t[l];
		break;
	case 2:
		d[get_global_id(0)] = t[7 - l] + get_group_id(0);
		break;
	}
}

// run ctl_array global=64 local=8: buf(uint,64,random)
kernel void ctl_array(global uint *d)
{
	uint a[] = { get_group_id(0), 2, get_num_groups(0) }, b[2][2] = { { 1 }, { 2, 3 } };

	d[get_global_id(0)] = a[d[get_global_id(0)] % 3] + b[1][get_local_id(0) & 1];
}

// run ctl_init global=64 local=8: buf(uint,64,zero)
kernel void ctl_init(global uint *d)
{
	struct { uint a, b; } s = { .b = get_group_id(0), .a = 4 };
	uint4 v = { 1, get_num_groups(0), 3, 4 };

	d[get_global_id(0)] = s.a + s.b * v.y + ((uint2)(get_group_id(0), 7)).x;
}
