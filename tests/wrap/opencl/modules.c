// SPDX-License-Identifier: MIT
/* Programs that come as intermediate language, and those that are built into the driver. */
#include "api.h"
#include "module.h"

static void run(const char *what, cl_program p)
{
	static const char *const names[] = { "k", "groups", "plain" };
	cl_command_queue q = queue_new(IN_ORDER);
	cl_mem m = buffer_new(N * 4);
	cl_kernel k, clone;
	cl_int rc;
	int i;

	for (i = 0; i < 3; i++) {
		k = clCreateKernel(p, names[i], &rc);
		must(rc);
		arg_mem(k, 0, m);
		launch(q, k, N, 0, NULL, NULL);
		launch(q, k, N, 0, NULL, NULL);
		clone = clCloneKernel(k, &rc);
		must(rc);
		launch(q, clone, N, 0, NULL, NULL);
		must(clFinish(q));
		must(clReleaseKernel(clone));
		must(clReleaseKernel(k));
	}
	print_buffer(what, q, m, N * 4);
	must(clReleaseMemObject(m));
	must(clReleaseCommandQueue(q));
}

typedef cl_program (CL_API_CALL *with_il_fn)(cl_context, const void *, size_t, cl_int *);

static with_il_fn by_extension(void)
{
	with_il_fn fn;
	void *found = clGetExtensionFunctionAddressForPlatform(platform,
							       "clCreateProgramWithILKHR");

	memcpy(&fn, &found, sizeof(fn));
	return fn;
}

static void wrong(const char *what, with_il_fn fn, const struct module *module)
{
	cl_int rc = 1;

	printf("%s, nothing: %d", what, !fn(context, NULL, 0, &rc));
	printf(" %d", rc);
	fn(context, module->w, 0, &rc);
	printf(", no length: %d", rc);
	fn(context, NULL, 20, &rc);
	printf(", no words: %d", rc);
	printf(", nowhere to say so: %d", !fn(context, NULL, 0, NULL));
	fn(NULL, module->w, module->n * 4, &rc);
	printf(", no context: %d\n", rc);
}

static void constants(cl_program p)
{
	const cl_uint value = 5;

	printf("constants: %d", clSetProgramSpecializationConstant(p, MODULE_CONSTANT, 4, &value));
	printf(", of a text: %d\n", clSetProgramSpecializationConstant(program, MODULE_CONSTANT, 4, &value));
}

static void queries(cl_program p, const struct module *module)
{
	static char words[MODULE_WORDS * 4];
	size_t size = 0, source = 0;

	must(clGetProgramInfo(p, CL_PROGRAM_IL, sizeof(words), words, &size));
	printf("it has %zu bytes, %s\n", size,
	       size == module->n * 4 && !memcmp(words, module->w, size) ? "the same" : "others");
	printf("too little room: %d\n", clGetProgramInfo(p, CL_PROGRAM_IL, 8, words, NULL));
	must(clGetProgramInfo(p, CL_PROGRAM_SOURCE, 0, NULL, &source));
	printf("source: %d\n", source > 1);
	size = 1;
	must(clGetProgramInfo(program, CL_PROGRAM_IL, 0, NULL, &size));
	printf("of a text: %zu bytes\n", size);
}

static cl_program saved(cl_program p)
{
	cl_program again;
	void *binary;
	size_t size;
	cl_int rc;

	must(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL));
	binary = malloc(size);
	must(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
	again = clCreateProgramWithBinary(context, 1, &device, &size,
					  (const unsigned char **)&binary, NULL, &rc);
	must(rc);
	free(binary);
	must(clBuildProgram(again, 1, &device, "", NULL, NULL));
	return again;
}

static void linked(cl_program p)
{
	const char *text = "int helper(int x); int helper(int x) { return x; }\n";
	cl_program other = clCreateProgramWithSource(context, 1, &text, NULL, &(cl_int){ 0 }), all;
	cl_int rc;

	must(clCompileProgram(p, 1, &device, NULL, 0, NULL, NULL, NULL, NULL));
	all = clLinkProgram(context, 1, &device, NULL, 1, &p, NULL, NULL, &rc);
	must(rc);
	run("compiled and linked", all);
	must(clReleaseProgram(all));
	all = clLinkProgram(context, 1, &device, "-cl-denorms-are-zero", 1, &p, NULL, NULL, &rc);
	/* PoCL 3.1 takes none. */
	printf("with options: %d\n", rc);
	if (rc == CL_SUCCESS)
		run("linked with options", all);
	if (all)
		must(clReleaseProgram(all));
	must(clCompileProgram(other, 1, &device, NULL, 0, NULL, NULL, NULL, NULL));
	all = clLinkProgram(context, 1, &device, NULL, 2, (cl_program[]){ p, other }, NULL, NULL,
			    &rc);
	printf("with a text: %d\n", rc);
	if (rc == CL_SUCCESS)
		run("linked with a text", all);
	if (all)
		must(clReleaseProgram(all));
	must(clReleaseProgram(other));
}

static cl_program make(with_il_fn fn, const struct module *module)
{
	cl_int rc;
	cl_program p = fn(context, module->w, module->n * 4, &rc);

	must(rc);
	return p;
}

static void set_and_build(cl_program p, cl_uint value, const char *options)
{
	must(clSetProgramSpecializationConstant(p, MODULE_CONSTANT, sizeof(value), &value));
	must(clBuildProgram(p, 1, &device, options, NULL, NULL));
}

SCENARIO(programs_from_modules)
{
	char version[200] = "";
	with_il_fn fn = clCreateProgramWithIL;
	cl_uint value = 6;
	cl_program p, p2;
	struct module m;
	cl_int rc;

	module_make(&m);
	clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof(version), version, NULL);
	wrong("by the core", fn, &m);
	if (by_extension())
		wrong("by the extension", by_extension(), &m);
	clCreateProgramWithIL(NULL, NULL, 0, &rc);
	printf("which of two errors: %d\n", rc);
	if (!strstr(version, "SPIR-V")) {
		p = clCreateProgramWithIL(context, m.w, m.n * 4, &rc);
		printf("none: %d\n", rc);
		if (p)
			must(clReleaseProgram(p));
		return;
	}
	/* Drivers below 2.1 have it by the extension only. */
	p = clCreateProgramWithIL(context, m.w, m.n * 4, &rc);
	if (p)
		must(clReleaseProgram(p));
	else
		fn = by_extension();
	p = make(fn, &m);
	queries(p, &m);
	must(clBuildProgram(p, 1, &device, NULL, NULL, NULL));
	run("as it comes", p);
	constants(p);
	set_and_build(p, 5, "-cl-mad-enable");
	queries(p, &m);
	/* It is for the next build. */
	must(clSetProgramSpecializationConstant(p, MODULE_CONSTANT, sizeof(value), &value));
	run("with a constant", p);
	must(clBuildProgram(p, 1, &device, NULL, NULL, NULL));
	run("with another constant", p);
	p2 = saved(p);
	must(clReleaseProgram(p));
	run("from its binary", p2);
	must(clReleaseProgram(p2));
	p = make(fn, &m);
	must(clSetProgramSpecializationConstant(p, MODULE_CONSTANT, sizeof(value), &value));
	linked(p);
	must(clReleaseProgram(p));
	if (by_extension()) {
		p = make(by_extension(), &m);
		set_and_build(p, 8, NULL);
		run("by the extension", p);
		must(clReleaseProgram(p));
	}
}

SCENARIO(built_in_kernels)
{
	char names[1024] = "";
	cl_program p;
	cl_uint n;
	cl_int rc;

	must(clGetDeviceInfo(device, CL_DEVICE_BUILT_IN_KERNELS, sizeof(names), names, NULL));
	printf("names: %zu\n", strlen(names));
	clCreateProgramWithBuiltInKernels(context, 1, &device, NULL, &rc);
	printf("no names: %d", rc);
	clCreateProgramWithBuiltInKernels(context, 0, &device, "none.of.them", &rc);
	printf(", no devices: %d", rc);
	clCreateProgramWithBuiltInKernels(context, 1, NULL, "none.of.them", &rc);
	printf(" %d", rc);
	clCreateProgramWithBuiltInKernels(NULL, 0, NULL, NULL, &rc);
	printf(", no context either: %d\n", rc);
	/* Intel's driver has none and takes any. */
	if (!*names)
		return;
	clCreateProgramWithBuiltInKernels(context, 1, &device, "none.of.them", &rc);
	printf("an unknown name: %d\n", rc);
	p = clCreateProgramWithBuiltInKernels(context, 1, &device, names, &rc);
	printf("all of them: %d\n", rc);
	if (!p)
		return;
	rc = clGetProgramInfo(p, CL_PROGRAM_NUM_KERNELS, sizeof(n), &n, NULL);
	printf("their number: %d\n", rc);
	must(clRetainProgram(p));
	must(clReleaseProgram(p));
	must(clReleaseProgram(p));
}
