# SPDX-License-Identifier: MIT
# pyopencl's own kernels (it generates them: element by element, reductions, a
# scan, random numbers), and some of ours. Prints a hash of each result.
import hashlib
import warnings

import numpy as np
import pyopencl as cl
import pyopencl.array
import pyopencl.clrandom
import pyopencl.elementwise
import pyopencl.reduction
import pyopencl.scan

warnings.simplefilter("ignore")
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)


def show(name, a):
    a = a.get() if isinstance(a, cl.array.Array) else np.asarray(a)
    print(name, a.shape, hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()[:16])


rng = np.random.RandomState(3)
ints = rng.randint(0, 1 << 20, 50000).astype(np.uint32)
a = cl.array.to_device(queue, ints)
f = cl.array.to_device(queue, rng.rand(100, 100).astype(np.float32))

show("arithmetic", a * 3 + a * a)
show("of floats", (f * f - 2).astype(np.float64))
show("filled", cl.array.arange(queue, 0, 10000, 7, dtype=np.int32))
show("turned", f.T.copy() if hasattr(f.T, "copy") else f)
show("sum", cl.array.sum(a))
show("least", cl.array.min(a))
triad = cl.elementwise.ElementwiseKernel(context, "uint *o, const uint *x, uint k",
                                         "o[i] = x[i] * k + i", "triad")
o = cl.array.empty_like(a)
triad(o, a, np.uint32(5))
show("elements", o)
largest = cl.reduction.ReductionKernel(context, np.uint32, neutral="0", reduce_expr="max(a, b)",
                                       map_expr="x[i] % 10007", arguments="__global uint *x")
show("reduction", largest(a))
# A scan's groups hand results on from one launch to the next.
scan = cl.scan.GenericScanKernel(context, np.uint32, arguments="__global uint *x",
                                 input_expr="x[i]", scan_expr="a + b", neutral="0",
                                 output_statement="x[i] = item;")
o = a.copy()
scan(o)
show("scan", o)
assert (o.get() == np.cumsum(ints, dtype=np.uint32)).all()
random = cl.clrandom.PhiloxGenerator(context, seed=5)
show("random", random.uniform(queue, (5000,), np.float32))

program = cl.Program(context, """
__kernel void grid(__global uint *o, __local uint *t) {
	uint x = get_global_id(0), y = get_global_id(1), l = get_local_id(0);
	t[l] = x * 7 + y + get_group_id(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	o[y * get_global_size(0) + x] = t[get_local_size(0) - 1 - l] * get_num_groups(1);
}""").build()
o = cl.array.zeros(queue, 64 * 48, np.uint32)
kernel = cl.Kernel(program, "grid")
kernel.set_args(o.data, cl.LocalMemory(4 * 16))
event = cl.enqueue_nd_range_kernel(queue, kernel, (64, 48), (16, 1))
event.wait()
print(event.command_type == cl.command_type.NDRANGE_KERNEL, event.command_execution_status)
show("grid", o)
