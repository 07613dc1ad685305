// SPDX-License-Identifier: MIT
// What the compiler itself tells by calls, asked for by its bare name first, as libraries do.
#define GID get_global_id(0)

#ifdef __has_builtin
#if __has_builtin(__builtin_fma)
#define A 1
#else
#define A 2
#endif
#else
#define A 3
#endif
#if defined(__has_feature) && defined(__has_extension)
#define B 10
#else
#define B 20
#endif
#ifdef __has_attribute
#if __has_attribute(aligned)
#define C 100
#else
#define C 200
#endif
#else
#define C 300
#endif

// run ask_has global=64 local=8: buf(uint,64,zero)
kernel void ask_has(global uint *out) { out[GID] = A + B + C + get_group_id(0); }
