// SPDX-License-Identifier: MIT
/*
 * What a driver's build log tells of a kernel. NVIDIA's, asked for by the option
 * -cl-nv-verbose, has what its assembler prints:
 *
 *	ptxas info    : Compiling entry function 'scale' for 'sm_86'
 *	ptxas info    : Function properties for scale
 *	ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
 *	ptxas info    : Used 12 registers, 376 bytes cmem[0]
 *
 * Others tell by clGetKernelWorkGroupInfo() alone, if at all.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gsopencl.h>

#define ENTRY	"Compiling entry function '"

/* The text behind @what in the line [@s, @end), NULL: it isn't there. */
static const char *behind(const char *s, const char *end, const char *what)
{
	const char *at = memmem(s, (size_t)(end - s), what, strlen(what));

	return at ? at + strlen(what) : NULL;
}

static bool is_entry(const char *name, const char *end, const char *kernel)
{
	size_t n = strlen(kernel);

	return (size_t)(end - name) > n && !memcmp(name, kernel, n) && name[n] == '\'';
}

/* A line's numbers; more than nine digits are no number of registers or bytes. */
static bool read_line(const char *s, const char *end, struct gsx_cl_told *told)
{
	uint32_t stack, stores, loads;
	char line[160] = "";
	const char *at;

	memcpy(line, s, (size_t)(end - s) < sizeof(line) ? (size_t)(end - s) : sizeof(line) - 1);
	at = strstr(line, "Used ");
	if (at && sscanf(at, "Used %9u registers", &told->registers) == 1 &&
	    strstr(at, " registers"))
		return true;
	at = line + strcspn(line, "0123456789");
	if (sscanf(at, "%9u bytes stack frame, %9u bytes spill stores, %9u bytes spill loads",
		   &stack, &stores, &loads) == 3) {
		told->stack_bytes = stack;
		told->spill_bytes = stores > loads ? stores : loads;
	}
	return false;
}

int gsx_cl_build_log(const char *log, const char *kernel, struct gsx_cl_told *told)
{
	bool here = false, found = false;
	const char *end, *name;

	memset(told, 0, sizeof(*told));
	for (; *log && !found; log = *end ? end + 1 : end) {
		end = log + strcspn(log, "\n");
		name = behind(log, end, ENTRY);
		if (name)
			here = is_entry(name, end, kernel);
		else if (here)
			found = read_line(log, end, told);
	}
	if (!found)
		memset(told, 0, sizeof(*told));
	return found ? 0 : -ENOENT;
}
