// SPDX-License-Identifier: MIT
#include <string.h>

#include "reserved.h"

bool gsx_name_is_ours(const char *s, size_t len)
{
	return memmem(s, len, "gsx_", 4);
}

static bool among(const char *const *prefixes, size_t n, const char *s, size_t len)
{
	size_t i, one;

	for (i = 0; i < n; i++) {
		one = strlen(prefixes[i]);
		if (len >= one && !memcmp(s, prefixes[i], one))
			return true;
	}
	return false;
}

#define AMONG(list, s, len) among(list, sizeof(list) / sizeof(*(list)), s, len)

/* AMD's, NVIDIA's, PoCL's, SPIR-V's. */
bool gsx_name_is_inner(const char *s, size_t len)
{
	static const char *const begins[] = {
		"__nvvm_", "__spirv_", "__ockl_", "__oclc_", "__amdgcn_", "__pocl_", "pocl_",
		"_pocl_", "_cl_get_", "_group_id_", "_num_groups_", "_global_offset_",
		"_global_size_", "_local_id_", "_local_size_", "_work_dim",
	};

	return AMONG(begins, s, len);
}

/* _Z12get_group_idj is get_group_id: what @s mangles, as far as it goes. */
static void demangle(const char **s, size_t *len)
{
	size_t i, n = 0;

	if (*len < 3 || memcmp(*s, "_Z", 2) || (*s)[2] < '1' || (*s)[2] > '9')
		return;
	for (i = 2; i < *len && n < *len && (*s)[i] >= '0' && (*s)[i] <= '9'; i++)
		n = n * 10 + (size_t)((*s)[i] - '0');
	*s += i;
	*len = n < *len - i ? n : *len - i;
}

bool gsx_name_is_device(const char *s, size_t len)
{
	static const char *const exact[] = {
		"get_work_dim", "get_global_size", "get_global_id", "get_local_size",
		"get_enqueued_local_size", "get_local_id", "get_num_groups", "get_group_id",
		"get_global_offset", "get_global_linear_id", "get_local_linear_id",
		"get_sub_group_size", "get_max_sub_group_size", "get_num_sub_groups",
		"get_enqueued_num_sub_groups", "get_sub_group_id", "get_sub_group_local_id",
		"barrier", "work_group_barrier", "atomic_add", "atom_add", "atomic_fetch_add",
		"atomic_fetch_add_explicit",
		/* a variable in a worker of this kernel's would be named llvm.something */
		"llvm",
	};
	static const char *const compilers[] = { "llvm.", "__builtin_" };
	size_t i;

	demangle(&s, &len);
	for (i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		if (len == strlen(exact[i]) && !memcmp(s, exact[i], len))
			return true;
	return gsx_name_is_inner(s, len) || AMONG(compilers, s, len);
}
