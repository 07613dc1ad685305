// SPDX-License-Identifier: MIT
/*
 * Names: of errors, and of the interface's functions with their versions.
 * cuGetProcAddress gives, for a base name, the newest form that is not newer than
 * the version asked for; with the flag for per-thread default streams, the form
 * that has one, where there is such a form.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "driver.h"

static const struct { CUresult r; const char *name, *text; } errors[] = {
#define E(name, text) { name, #name, text }
	E(CUDA_SUCCESS, "no error"), E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	E(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
	E(CUDA_ERROR_NO_DEVICE, "no device"), E(CUDA_ERROR_INVALID_DEVICE, "invalid device"),
	E(CUDA_ERROR_INVALID_IMAGE, "the image is damaged"),
	E(CUDA_ERROR_INVALID_CONTEXT, "no or an invalid context"),
	E(CUDA_ERROR_NO_BINARY_FOR_GPU, "the image has no PTX for this device"),
	E(CUDA_ERROR_INVALID_PTX, "the PTX could not be read"),
	E(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the PTX is of a newer toolkit than the driver"),
	E(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
	E(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "symbol not found"),
	E(CUDA_ERROR_INVALID_HANDLE, "invalid handle"), E(CUDA_ERROR_NOT_FOUND, "not found"),
	E(CUDA_ERROR_NOT_READY, "not ready"),
	E(CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel accessed memory that isn't its own"),
	E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources for the launch"),
	E(CUDA_ERROR_LAUNCH_TIMEOUT, "a kernel waits for ever"),
	E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is there already"),
	E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "no peer access"),
	E(CUDA_ERROR_ILLEGAL_STATE, "not in this state"),
	E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the instance can't become that graph"),
	E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is active"),
	E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context is destroyed"),
	E(CUDA_ERROR_ASSERT, "an assertion failed in a kernel"),
	E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "already registered"),
	E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "not registered"),
	E(CUDA_ERROR_HARDWARE_STACK_ERROR, "a kernel's stack is full"),
	E(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an instruction that can't be run"),
	E(CUDA_ERROR_MISALIGNED_ADDRESS, "a misaligned access"),
	E(CUDA_ERROR_LAUNCH_FAILED, "a kernel failed"),
	E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks for a cooperative launch"),
	E(CUDA_ERROR_NOT_SUPPORTED, "not supported"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not while a stream is captured"),
	E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was invalidated"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a captured stream hasn't come back"),
	E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "a captured stream depends on the legacy stream"),
	E(CUDA_ERROR_CAPTURED_EVENT, "not for an event of a capture"),
	E(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef E
};

EXPORT cuGetErrorName(CUresult r, const char **s)
{
	size_t k;

	for (k = 0; k < sizeof(errors) / sizeof(*errors); k++)
		if (errors[k].r == r) {
			*s = errors[k].name;
			return CUDA_SUCCESS;
		}
	*s = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

EXPORT cuGetErrorString(CUresult r, const char **s)
{
	size_t k;

	for (k = 0; k < sizeof(errors) / sizeof(*errors); k++)
		if (errors[k].r == r) {
			*s = errors[k].text;
			return CUDA_SUCCESS;
		}
	*s = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

/* What was asked for by name is written behind the file $CPUCUDA_ASKED. */
static void asked(const char *line)
{
	const char *path = getenv("CPUCUDA_ASKED");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd >= 0) {
		dprintf(fd, "%s\n", line);
		close(fd);
	}
}

/* Tables of functions that the interface doesn't name: there are none here. */
EXPORT cuGetExportTable(const void **table, const CUuuid *id)
{
	char line[64] = "table ";
	size_t i;

	for (i = 0; id && i < sizeof(*id); i++)
		sprintf(line + 6 + 2 * i, "%02x", (unsigned char)id->bytes[i]);
	asked(line);
	if (table)
		*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

EXPORT cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

EXPORT cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}

/* base name, exported name, first version, its default stream is the thread's own */
struct entry { const char *base; void *fn; int version; bool per_thread; };
/* As if it were of a driver that is newer than all headers. */
static CUresult not_yet_known(void)
{
	return CUDA_SUCCESS;
}

static const struct entry table[] = {
	{ "cuNotYetKnown", (void *)not_yet_known, 1000, false },
#define X(base, name, version, per_thread) { #base, (void *)name, version, per_thread },
#include "procs.h"
#undef X
};

static const struct entry *find(const char *name, int version, bool per_thread, bool *known)
{
	const struct entry *best = NULL, *e;

	*known = false;
	for (e = table; e < table + sizeof(table) / sizeof(*table); e++) {
		if (strcmp(e->base, name))
			continue;
		*known = true;
		if (e->version > version || (e->per_thread && !per_thread))
			continue;
		if (!best || e->version > best->version ||
		    (e->version == best->version && e->per_thread > best->per_thread))
			best = e;
	}
	return best;
}

EXPORT cuGetProcAddress_v2(const char *name, void **fn, int version, cuuint64_t flags,
			   CUdriverProcAddressQueryResult *status)
{
	const struct entry *e;
	char line[128];
	bool known;

	if (!name || !fn || flags > 2)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(line, sizeof(line), "%s %d %d", name, version, (int)flags);
	asked(line);
	e = find(name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &known);
	*fn = e ? e->fn : NULL;
	if (status)
		*status = e ? CU_GET_PROC_ADDRESS_SUCCESS : known ?
			CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT :
			CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	/* with a place for the status, "not there" is no error */
	return e || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EXPORT cuGetProcAddress(const char *name, void **fn, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(name, fn, version, flags, NULL);
}
