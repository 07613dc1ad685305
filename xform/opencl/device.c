// SPDX-License-Identifier: MIT
/*
 * The names of OpenCL C 3.0 and of the Khronos extensions, by families. A name that is
 * missing here costs a guard, which fails only where a device has it as a macro; a name
 * too many would be trusted, so families are no wider than the specification's.
 */
#include <stddef.h>
#include <string.h>

#include "device.h"

/* Sorted, for a search by halves. */
static const char *const words[] = {
	"_Bool", "_Complex", "_Imaginary", "__attribute__", "__const", "__constant", "__func__",
	"__generic", "__global", "__inline", "__inline__", "__kernel", "__local", "__private",
	"__read_only", "__read_write", "__restrict", "__restrict__", "__volatile", "__write_only",
	"atomic_double", "atomic_flag", "atomic_float", "atomic_int", "atomic_intptr_t",
	"atomic_long", "atomic_ptrdiff_t", "atomic_size_t", "atomic_uint", "atomic_uintptr_t",
	"atomic_ulong", "auto", "bool", "break", "case", "cl_mem_fence_flags", "clk_event_t",
	"clk_profiling_info", "const", "constant", "continue", "default", "do", "else", "enum",
	"event_t", "extern", "false", "for", "generic", "global", "goto", "if", "image1d_array_t",
	"image1d_buffer_t", "image1d_t", "image2d_array_depth_t", "image2d_array_t",
	"image2d_depth_t", "image2d_t", "image3d_t", "inline", "intptr_t", "kernel",
	"kernel_enqueue_flags_t", "local", "memory_order", "memory_scope", "ndrange_t", "pipe",
	"private", "ptrdiff_t", "queue_t", "read_only", "read_write", "register", "reserve_id_t",
	"restrict", "return", "sampler_t", "signed", "size_t", "sizeof", "static", "struct",
	"switch", "true", "typedef", "typeof", "uintptr_t", "union", "unsigned", "void",
	"volatile", "while", "write_only",
};

static const char *const functions[] = {
	"abs", "abs_diff", "acos", "acosh", "acospi", "add_sat", "all", "any", "asin", "asinh",
	"asinpi", "async_work_group_copy", "async_work_group_strided_copy", "atan", "atan2",
	"atan2pi", "atanh", "atanpi", "barrier", "bitselect", "capture_event_profiling_info",
	"cbrt", "ceil", "clamp", "clz", "commit_read_pipe", "commit_write_pipe", "copysign",
	"cos", "cosh", "cospi", "create_user_event", "cross", "ctz", "degrees", "distance",
	"dot", "enqueue_kernel", "enqueue_marker", "erf", "erfc", "exp", "exp10", "exp2", "expm1",
	"fabs", "fast_distance", "fast_length", "fast_normalize", "fdim", "floor", "fma", "fmax",
	"fmin", "fmod", "fract", "frexp", "hadd", "hypot", "ilogb", "is_valid_event",
	"is_valid_reserve_id", "isequal", "isfinite", "isgreater", "isgreaterequal", "isinf",
	"isless", "islessequal", "islessgreater", "isnan", "isnormal", "isnotequal", "isordered",
	"isunordered", "kernel_exec", "ldexp", "length", "lgamma", "lgamma_r", "log", "log10",
	"log1p", "log2", "logb", "mad", "mad24", "mad_hi", "mad_sat", "max", "maxmag",
	"mem_fence", "min", "minmag", "mix", "modf", "mul24", "mul_hi", "nan", "ndrange_1D",
	"ndrange_2D", "ndrange_3D", "nextafter", "normalize", "popcount", "pow", "pown", "powr",
	"prefetch", "printf", "radians", "read_mem_fence", "read_pipe", "release_event",
	"remainder", "remquo", "reserve_read_pipe", "reserve_write_pipe", "retain_event", "rhadd",
	"rint", "rootn", "rotate", "round", "rsqrt", "select", "set_user_event_status", "shuffle",
	"shuffle2", "sign", "signbit", "sin", "sincos", "sinh", "sinpi", "smoothstep", "sqrt",
	"step", "sub_group_barrier", "sub_sat", "tan", "tanh", "tanpi", "tgamma", "to_global",
	"to_local", "to_private", "trunc", "upsample", "vec_step", "wait_group_events",
	"work_group_barrier", "write_mem_fence", "write_pipe",
};

static const char *const constants[] = {
	"CHAR_BIT", "CHAR_MAX", "CHAR_MIN", "FP_CONTRACT", "FP_FAST_FMA", "FP_FAST_FMAF",
	"FP_FAST_FMA_HALF", "FP_ILOGB0", "FP_ILOGBNAN", "HUGE_VAL", "HUGE_VALF", "INFINITY",
	"INT_MAX", "INT_MIN", "LONG_MAX", "LONG_MIN", "MAXFLOAT", "NAN", "NULL", "SCHAR_MAX",
	"SCHAR_MIN", "SHRT_MAX", "SHRT_MIN", "UCHAR_MAX", "UINT_MAX", "ULONG_MAX", "USHRT_MAX",
};

/* A family: whatever begins so. */
static const struct {
	const char *prefix;
	enum device_kind kind;
} families[] = {
	{ "CLK_", DEVICE_CONSTANT }, { "CL_VERSION_", DEVICE_CONSTANT },
	{ "DBL_", DEVICE_CONSTANT }, { "FLT_", DEVICE_CONSTANT }, { "HALF_", DEVICE_CONSTANT },
	{ "M_", DEVICE_CONSTANT }, { "POCL_", DEVICE_CONSTANT }, { "__CL_", DEVICE_CONSTANT },
	{ "__DATE__", DEVICE_CONSTANT }, { "__ENDIAN_LITTLE__", DEVICE_CONSTANT },
	{ "__FAST_RELAXED_MATH__", DEVICE_CONSTANT }, { "__IMAGE_SUPPORT__", DEVICE_CONSTANT },
	{ "__OPENCL_", DEVICE_CONSTANT }, { "__TIME__", DEVICE_CONSTANT },
	{ "__kernel_exec", DEVICE_FUNCTION }, { "__opencl_c_", DEVICE_CONSTANT },
	{ "as_", DEVICE_FUNCTION }, { "atom_", DEVICE_FUNCTION },
	{ "atomic_", DEVICE_FUNCTION }, { "ATOMIC_", DEVICE_CONSTANT },
	{ "cl_amd_", DEVICE_CONSTANT }, { "cl_arm_", DEVICE_CONSTANT },
	{ "cl_clang_", DEVICE_CONSTANT }, { "cl_ext_", DEVICE_CONSTANT },
	{ "cl_img_", DEVICE_CONSTANT }, { "cl_intel_", DEVICE_CONSTANT },
	{ "cl_khr_", DEVICE_CONSTANT }, { "cl_nv_", DEVICE_CONSTANT },
	{ "cl_pocl_", DEVICE_CONSTANT }, { "cl_qcom_", DEVICE_CONSTANT },
	{ "cles_khr_", DEVICE_CONSTANT }, { "convert_", DEVICE_FUNCTION },
	{ "get_", DEVICE_FUNCTION }, { "half_", DEVICE_FUNCTION },
	{ "memory_order_", DEVICE_WORD }, { "memory_scope_", DEVICE_WORD },
	{ "native_", DEVICE_FUNCTION }, { "read_image", DEVICE_FUNCTION },
	{ "sub_group_", DEVICE_FUNCTION }, { "vload", DEVICE_FUNCTION },
	{ "vstore", DEVICE_FUNCTION }, { "work_group_", DEVICE_FUNCTION },
	{ "write_image", DEVICE_FUNCTION },
};

static bool among(const char *const *list, uint32_t n, const char *s, uint32_t len)
{
	uint32_t from = 0, to = n, mid;
	int order;

	while (from < to) {
		mid = (from + to) / 2;
		order = strncmp(s, list[mid], len);
		if (!order && list[mid][len])
			order = -1;
		if (!order)
			return true;
		if (order < 0)
			to = mid;
		else
			from = mid + 1;
	}
	return false;
}

#define AMONG(list, s, len)	among(list, sizeof(list) / sizeof(*list), s, len)

/* float, uint16, double4: a type, and a vector's width behind it. */
static bool is_type(const char *s, uint32_t len)
{
	static const char *const types[] = {
		"char", "double", "float", "half", "int", "long", "short", "uchar", "uint",
		"ulong", "ushort",
	};

	if (len > 2 && s[len - 2] == '1' && s[len - 1] == '6')
		len -= 2;
	else if (len > 1 && memchr("2348", s[len - 1], 4))
		len--;
	return AMONG(types, s, len);
}

enum device_kind device_name(const char *s, uint32_t len)
{
	if (is_type(s, len) || AMONG(words, s, len))
		return DEVICE_WORD;
	if (AMONG(functions, s, len))
		return DEVICE_FUNCTION;
	if (AMONG(constants, s, len))
		return DEVICE_CONSTANT;
	for (uint32_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (len >= strlen(families[i].prefix) &&
		    !memcmp(s, families[i].prefix, strlen(families[i].prefix)))
			return families[i].kind;
	return DEVICE_NONE;
}

/*
 * Types and constants, and what acts on values alone. Not: what runs code or tells a
 * work-item who it is.
 */
bool device_value(const char *s, uint32_t len)
{
	static const char *const acting[] = {
		"__global", "__kernel", "__local", "break", "case", "continue", "default", "do",
		"else", "extern", "for", "global", "goto", "if", "kernel", "local", "return",
		"static", "struct", "switch", "typedef", "union", "while",
	};
	enum device_kind kind = device_name(s, len);

	if (kind == DEVICE_FUNCTION)
		return (len > 3 && !memcmp(s, "as_", 3)) || (len > 8 && !memcmp(s, "convert_", 8));
	return kind && !AMONG(acting, s, len);
}
