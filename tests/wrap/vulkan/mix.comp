// SPDX-License-Identifier: MIT
// Each invocation mixes its number so many times, and adds what it was to a sum of its row.
#version 450
layout(local_size_x = 32) in;
layout(push_constant) uniform Push { uint width, rounds, salt; } push;
layout(std430, binding = 0) buffer Out { uint cell[]; };
layout(std430, binding = 1) buffer Sum { uint row[]; };

void main()
{
	uint at = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * push.width;
	uint value = cell[at] + at * 2654435761u + push.salt + gl_WorkGroupID.z;

	for (uint i = 0; i < push.rounds; i++) {
		value ^= value << 13;
		value ^= value >> 17;
		value ^= value << 5;
	}
	cell[at] = value;
	atomicAdd(row[gl_WorkGroupID.y], value);
}
