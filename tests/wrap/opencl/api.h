/* SPDX-License-Identifier: MIT */
/*
 * A program that uses OpenCL in all ways that the layer has to do with, and
 * knows nothing of the layer. It prints what it saw: values, error codes, types
 * and orders of events, never times or addresses. So what it prints must be the
 * same whatever stands between it and the driver.
 */
#ifndef TESTS_OPENCL_LAYER_API_H
#define TESTS_OPENCL_LAYER_API_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4096	/* items of most launches */

struct scenario {
	const char *name;
	void (*run)(void);
	struct scenario *next;
};

void scenario_register(struct scenario *s);

#define SCENARIO(id)							\
	static void run_##id(void);					\
	static struct scenario scenario_##id = { #id, run_##id, NULL };	\
	__attribute__((constructor)) static void register_##id(void)	\
	{								\
		scenario_register(&scenario_##id);			\
	}								\
	static void run_##id(void)

extern cl_platform_id platform;
extern cl_device_id device;
extern cl_context context;
extern cl_program program;	/* of the kernels in api.c */

/* Ends the program with words if @rc isn't CL_SUCCESS. */
void must_(cl_int rc, const char *what, int line);
#define must(call) must_(call, #call, __LINE__)

cl_command_queue queue_new(cl_command_queue_properties properties);
#define IN_ORDER	0
#define OUT_OF_ORDER	CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
#define PROFILING	CL_QUEUE_PROFILING_ENABLE

cl_kernel kernel_new(const char *name);
cl_mem buffer_new(size_t bytes);	/* zeroes */
cl_program program_build(const char *source, const char *options);

void arg_mem(cl_kernel k, cl_uint i, cl_mem m);
void arg_int(cl_kernel k, cl_uint i, cl_int v);
/* Enqueues @n items in groups of 64. */
void launch(cl_command_queue q, cl_kernel k, size_t n, cl_uint n_waits, const cl_event *waits,
	    cl_event *event);
/* Finishes nothing by itself: a blocking read in @q; prints a hash of what is there. */
void print_buffer(const char *what, cl_command_queue q, cl_mem m, size_t bytes);
uint64_t hash(const void *data, size_t n);
cl_int status_of(cl_event e);
double now(void);		/* seconds */
void wait_one(cl_event e);

#endif
