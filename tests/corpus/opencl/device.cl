// SPDX-License-Identifier: MIT
// options: -cl-std=CL2.0
// report-only: what no OpenCL here runs
// Pipes and kernels that launch kernels.

// expect pi_read slice=any workers=pipe
kernel void pi_read(global uint *out, read_only pipe uint p)
{
	uint v;

	if (!read_pipe(p, &v))
		out[get_global_id(0)] = v + get_group_id(0);
}

// expect dv_launch slice=device-launch workers=device-launch
kernel void dv_launch(global uint *d)
{
	enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(4), ^{ d[get_group_id(0)] = 1; });
}

// expect dv_block slice=any workers=any
kernel void dv_block(global uint *d)
{
	int (^twice)(int) = ^(int v) { return v * 2; };

	d[get_global_id(0)] = twice(get_group_id(0));
}

// expect dv_beside slice=rewritten workers=ok
kernel void dv_beside(global uint *d) { d[get_global_id(0)] = get_group_id(0); }
