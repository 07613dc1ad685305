// SPDX-License-Identifier: MIT
// The same, and it looks how many groups there are: it can't be cut without its seeing it.
#version 450
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint width, rounds, salt; } push;
layout(std430, binding = 0) buffer Out { uint cell[]; };
layout(std430, binding = 1) buffer Sum { uint row[]; };

void main()
{
	uint at = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * push.width;
	uint value = cell[at] + push.salt + gl_NumWorkGroups.x * 7u + gl_NumWorkGroups.y;

	for (uint i = 0; i < push.rounds; i++)
		value = value * 1664525u + 1013904223u;
	cell[at] = value;
	atomicAdd(row[gl_WorkGroupID.y], value);
}
