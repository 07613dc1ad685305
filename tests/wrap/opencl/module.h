/* SPDX-License-Identifier: MIT */
/*
 * A module of SPIR-V, and what it says in OpenCL C: of three kernels the first needs a
 * constant that the program may set, and the first two ask for what a cut would change.
 */
#ifndef TESTS_OPENCL_LAYER_MODULE_H
#define TESTS_OPENCL_LAYER_MODULE_H

#include "tests/xform/spirv/assemble.h"

#define MODULE_CONSTANT	7	/* its SpecId; 3 where it isn't set */

static const char module_text[] =
"__kernel void k(__global uint *o)\n"
"{ o[get_global_id(0)] += (uint)get_global_id(0) * SPEC_7 + (uint)get_group_id(0); }\n"
"__kernel void groups(__global uint *o)\n"
"{ o[get_global_id(0)] += (uint)get_num_groups(0); }\n"
"__kernel void plain(__global uint *o)\n"
"{ o[get_global_id(0)] += 9; }\n";

#define MODULE_KERNEL(name, value)							\
	"OpFunction %void %" name " 0 %fn\nOpFunctionParameter %global %" name "_o\n"	\
	"OpLabel %" name "_l\nOpLoad %v3 %" name "_g3 %gid\n"				\
	"OpCompositeExtract %ulong %" name "_g %" name "_g3 0\n"			\
	value										\
	"OpInBoundsPtrAccessChain %global %" name "_p %" name "_o %" name "_g\n"		\
	"OpLoad %uint %" name "_old %" name "_p\n"					\
	"OpIAdd %uint %" name "_new %" name "_old %" name "_v\n"				\
	"OpStore %" name "_p %" name "_new\nOpReturn\nOpFunctionEnd\n"

static const char module_assembly[] =
"OpCapability 4\nOpCapability 6\nOpCapability 11\nOpMemoryModel 2 2\n"
"OpEntryPoint 6 %k \"k\" %gid %wid\nOpEntryPoint 6 %groups \"groups\" %gid %num\n"
"OpEntryPoint 6 %plain \"plain\" %gid\n"
"OpDecorate %spec 1 7\nOpDecorate %gid 11 28\nOpDecorate %wid 11 26\nOpDecorate %num 11 24\n"
"OpTypeVoid %void\nOpTypeInt %uint 32 0\nOpTypeInt %ulong 64 0\nOpTypeVector %v3 %ulong 3\n"
"OpTypePointer %in 1 %v3\nOpTypePointer %global 5 %uint\nOpTypeFunction %fn %void %global\n"
"OpSpecConstant %uint %spec 3\nOpConstant %uint %nine 9\nOpConstant %uint %none 0\n"
"OpVariable %in %gid 1\nOpVariable %in %wid 1\nOpVariable %in %num 1\n"
MODULE_KERNEL("k",
	      "OpLoad %v3 %k_w3 %wid\nOpCompositeExtract %ulong %k_w %k_w3 0\n"
	      "OpUConvert %uint %k_i %k_g\nOpUConvert %uint %k_n %k_w\n"
	      "OpIMul %uint %k_x %k_i %spec\nOpIAdd %uint %k_v %k_x %k_n\n")
MODULE_KERNEL("groups",
	      "OpLoad %v3 %groups_n3 %num\nOpCompositeExtract %ulong %groups_n %groups_n3 0\n"
	      "OpUConvert %uint %groups_v %groups_n\n")
MODULE_KERNEL("plain", "OpIAdd %uint %plain_v %nine %none\n");

static inline void module_make(struct module *m)
{
	assemble_begin(m, 0x10000);
	assemble_more(m, module_assembly);
	assemble_end(m);
}

#endif
