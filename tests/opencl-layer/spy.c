// SPDX-License-Identifier: MIT
/*
 * Another layer: counts launches and notes a hash of what is read back, in the
 * file that SPY_OUT names. It stands for others' layers, before and behind ours.
 * The command whose end is asked for as the SPY_FAIL-th has failed, it says then.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

static const cl_icd_dispatch *target;
static cl_icd_dispatch ours;
static unsigned int launches;

static void note(const char *what, unsigned long long value)
{
	FILE *f = getenv("SPY_OUT") ? fopen(getenv("SPY_OUT"), "a") : NULL;

	if (f) {
		fprintf(f, "%s %llx\n", what, value);
		fclose(f);
	}
}

static CL_API_ENTRY cl_int CL_API_CALL
enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
	       const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
	       cl_event *event)
{
	if (!__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED))
		note("launches", 1);
	return target->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, n, waits,
					      event);
}

static CL_API_ENTRY cl_int CL_API_CALL
read_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t at, size_t size, void *to,
	    cl_uint n, const cl_event *waits, cl_event *event)
{
	const unsigned char *c = to;
	uint64_t hash = size;
	cl_int rc;

	rc = target->clEnqueueReadBuffer(queue, mem, blocking, at, size, to, n, waits, event);
	if (rc == CL_SUCCESS && blocking) {
		while (size--)
			hash = hash * 31 + *c++;
		note("read", hash);
	}
	return rc;
}

struct asked {
	void (CL_CALLBACK *notify)(cl_event, cl_int, void *);
	void *data;
};

static void CL_CALLBACK has_failed(cl_event event, cl_int status, void *data)
{
	struct asked asked = *(struct asked *)data;

	(void)status;
	free(data);
	asked.notify(event, CL_OUT_OF_RESOURCES, asked.data);
}

static CL_API_ENTRY cl_int CL_API_CALL
set_callback(cl_event event, cl_int type, void (CL_CALLBACK *notify)(cl_event, cl_int, void *),
	     void *data)
{
	static unsigned int n;
	const char *fail = getenv("SPY_FAIL");
	struct asked *asked;

	if (!fail || __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) != (unsigned int)atoi(fail))
		return target->clSetEventCallback(event, type, notify, data);
	asked = malloc(sizeof(*asked));
	if (!asked)
		return CL_OUT_OF_HOST_MEMORY;
	*asked = (struct asked){ notify, data };
	return target->clSetEventCallback(event, type, has_failed, asked);
}

/* As some drivers do: a function of the core is told by its name, too. */
static CL_API_ENTRY void *CL_API_CALL get_address(cl_platform_id id, const char *name)
{
	if (getenv("SPY_ADDRESS") && !strcmp(name, "clEnqueueNDRangeKernel"))
		return (void *)target->clEnqueueNDRangeKernel;
	return target->clGetExtensionFunctionAddressForPlatform(id, name);
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *value,
						      size_t *size_ret)
{
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (what != CL_LAYER_API_VERSION)
		return CL_INVALID_VALUE;
	if (value && size >= sizeof(version))
		memcpy(value, &version, sizeof(version));
	if (size_ret)
		*size_ret = sizeof(version);
	return CL_SUCCESS;
}

PUBLIC CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *below,
						   cl_uint *n_ret, const cl_icd_dispatch **ret)
{
	const cl_uint most = sizeof(ours) / sizeof(void *);

	target = below;
	ours.clEnqueueNDRangeKernel = enqueue_kernel;
	ours.clEnqueueReadBuffer = read_buffer;
	ours.clSetEventCallback = set_callback;
	ours.clGetExtensionFunctionAddressForPlatform = get_address;
	*n_ret = n < most ? n : most;
	*ret = &ours;
	return CL_SUCCESS;
}
