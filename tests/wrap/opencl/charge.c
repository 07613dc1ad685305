// SPDX-License-Identifier: MIT
/*
 * charge MIB: memory of each kind, where the group may have that much: one, then a buffer
 * that leaves room for half of another, then another, then once more when the first is
 * given back. Prints of each what it got: "had", an error, or NULL. Kinds that lie in
 * another's memory, which is had before, are marked "of another's".
 */
#include "api.h"

#define PARENT	((size_t)16 << 20)

static size_t limit;
static cl_mem parent;		/* of those kinds */
static cl_command_queue queue;
static char *own;		/* memory of the program's */

static cl_mem image_of(cl_image_desc desc, bool properties, cl_int *rc)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };

	if (properties)
		return clCreateImageWithProperties(context, NULL, CL_MEM_READ_WRITE, &format, &desc,
						   NULL, rc);
	return clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, rc);
}

static cl_mem image(cl_mem_object_type type, size_t width, size_t height, size_t depth,
		    size_t layers, cl_int *rc)
{
	const cl_image_desc desc = {
		.image_type = type, .image_width = width, .image_height = height,
		.image_depth = depth, .image_array_size = layers,
	};

	return image_of(desc, false, rc);
}

#define KIND(name, expression)					\
	static cl_mem make_##name(cl_int *rc)			\
	{							\
		return expression;				\
	}

KIND(buffer, clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 20, NULL, rc))
KIND(buffer_of_properties, clCreateBufferWithProperties(context, NULL, CL_MEM_READ_WRITE, 1 << 20,
							NULL, rc))
KIND(buffer_of_host, clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 1 << 20, own, rc))
KIND(buffer_copied, clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 1 << 20, own, rc))
KIND(image1d, image(CL_MEM_OBJECT_IMAGE1D, 4096, 0, 0, 0, rc))
KIND(image1d_array, image(CL_MEM_OBJECT_IMAGE1D_ARRAY, 4096, 0, 0, 16, rc))
KIND(image2d, image(CL_MEM_OBJECT_IMAGE2D, 1024, 512, 0, 0, rc))
KIND(image2d_array, image(CL_MEM_OBJECT_IMAGE2D_ARRAY, 256, 256, 0, 8, rc))
KIND(image3d, image(CL_MEM_OBJECT_IMAGE3D, 256, 256, 8, 0, rc))
KIND(image_of_properties, image_of((cl_image_desc){
	.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1024, .image_height = 512 }, true, rc))
KIND(old_image2d, clCreateImage2D(context, CL_MEM_READ_WRITE, &(cl_image_format){
	CL_RGBA, CL_UNSIGNED_INT8 }, 1024, 512, 0, NULL, rc))
KIND(old_image3d, clCreateImage3D(context, CL_MEM_READ_WRITE, &(cl_image_format){
	CL_RGBA, CL_UNSIGNED_INT8 }, 256, 256, 8, 0, 0, NULL, rc))
KIND(pipe, clCreatePipe(context, CL_MEM_HOST_NO_ACCESS, 64, 4096, NULL, rc))
KIND(sub_buffer, clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION,
				   &(cl_buffer_region){ 0, PARENT }, rc))
KIND(image1d_of_buffer, image_of((cl_image_desc){
	.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 4096, .buffer = parent }, false,
	rc))
KIND(image2d_of_buffer, image_of((cl_image_desc){
	.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 1024, .image_height = 512,
	.buffer = parent }, false, rc))

static const struct kind {
	const char *name;
	cl_mem (*make)(cl_int *rc);	/* NULL: SVM */
	bool parent, enqueued;
} kinds[] = {
	{ .name = "buffer", .make = make_buffer },
	{ .name = "buffer with properties", .make = make_buffer_of_properties },
	{ .name = "buffer of the host's memory", .make = make_buffer_of_host },
	{ .name = "buffer that is a copy", .make = make_buffer_copied },
	{ .name = "image of one dimension", .make = make_image1d },
	{ .name = "images of one dimension", .make = make_image1d_array },
	{ .name = "image", .make = make_image2d },
	{ .name = "images", .make = make_image2d_array },
	{ .name = "image of three dimensions", .make = make_image3d },
	{ .name = "image with properties", .make = make_image_of_properties },
	{ .name = "image by the first function", .make = make_old_image2d },
	{ .name = "image of three by the first function", .make = make_old_image3d },
	{ .name = "pipe", .make = make_pipe },
	{ .name = "shared virtual memory" },
	{ .name = "the same, freed in a queue", .enqueued = true },
	{ .name = "of another's: a part of a buffer", .make = make_sub_buffer, .parent = true },
	{ .name = "of another's: a buffer as a line", .make = make_image1d_of_buffer,
	  .parent = true },
	{ .name = "of another's: a buffer as an image", .make = make_image2d_of_buffer,
	  .parent = true },
};

static void *make(const struct kind *kind, cl_int *rc)
{
	if (kind->make)
		return kind->make(rc);
	*rc = CL_SUCCESS;
	return clSVMAlloc(context, CL_MEM_READ_WRITE, 1 << 20, 0);
}

static size_t size_of(const struct kind *kind, void *object)
{
	size_t size = 1 << 20;

	if (kind->make)
		must(clGetMemObjectInfo(object, CL_MEM_SIZE, sizeof(size), &size, NULL));
	return size;
}

static void give_back(const struct kind *kind, void *object)
{
	if (!object)
		return;
	if (kind->make) {
		must(clReleaseMemObject(object));
	} else if (kind->enqueued) {
		must(clEnqueueSVMFree(queue, 1, &object, NULL, NULL, 0, NULL, NULL));
		must(clFinish(queue));
	} else {
		clSVMFree(context, object);
	}
}

static void tell(const char *before, void *object, cl_int rc)
{
	if (object)
		printf("%shad", before);
	else if (rc == CL_SUCCESS)
		printf("%sNULL", before);
	else
		printf("%s%d", before, rc);
}

static void try(const struct kind *kind)
{
	size_t size, filling;
	void *first, *second;
	cl_mem filler;
	cl_int rc;

	if (kind->parent) {
		parent = clCreateBuffer(context, CL_MEM_READ_WRITE, PARENT, NULL, &rc);
		must(rc);
	}
	first = make(kind, &rc);
	printf("%s: ", kind->name);
	if (!first) {
		puts("none");
		goto out;
	}
	tell("", first, rc);
	size = size_of(kind, first);
	filling = limit - size / 2 - (kind->parent ? PARENT : size);
	filler = clCreateBuffer(context, CL_MEM_READ_WRITE, filling, NULL, &rc);
	if (!filler)
		printf(", NO FILLER %d", rc);
	/* What is still held is still charged. */
	if (kind->make) {
		must(clRetainMemObject(first));
		must(clReleaseMemObject(first));
	}
	second = make(kind, &rc);
	tell(", ", second, rc);
	give_back(kind, second);
	give_back(kind, first);
	second = make(kind, &rc);
	tell(", ", second, rc);
	puts(size ? "" : ", of no size");
	give_back(kind, second);
	if (filler)
		must(clReleaseMemObject(filler));
out:
	if (kind->parent)
		must(clReleaseMemObject(parent));
}

int main(int argc, char **argv)
{
	cl_int rc;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	limit = (size_t)atoi(argc > 1 ? argv[1] : "64") << 20;
	own = aligned_alloc(4096, 1 << 20);
	must(clGetPlatformIDs(1, &platform, NULL));
	must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	must(rc);
	queue = queue_new(IN_ORDER);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		try(&kinds[i]);
	return 0;
}
