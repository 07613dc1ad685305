// SPDX-License-Identifier: MIT
/*
 * In the place of NVIDIA's management library: one GPU at 0000:65:00.0, and processes
 * that computed for so many per cent of the time, as NVML_SAYS says: "PID:PERCENT ...".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sample {
	unsigned int pid;
	unsigned long long time_us;
	unsigned int sm, mem, enc, dec;
};

struct pci {
	char legacy[16];
	unsigned int domain, bus, device, id, subsystem;
	char bus_id[32];
};

#pragma GCC visibility push(default)
int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **gpu);
int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci *pci);
int nvmlDeviceGetProcessUtilization(void *gpu, struct sample *v, unsigned int *n,
				    unsigned long long since);
#pragma GCC visibility pop

static int up;

int nvmlInit_v2(void)
{
	up++;
	return 0;
}

int nvmlShutdown(void)
{
	return up-- == 1 ? 0 : 1;
}

int nvmlDeviceGetCount_v2(unsigned int *n)
{
	*n = 1;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **gpu)
{
	*gpu = &up;
	return i ? 2 : 0;
}

int nvmlDeviceGetPciInfo_v3(void *gpu, struct pci *pci)
{
	if (gpu != &up)
		return 2;
	memset(pci, 0, sizeof(*pci));
	pci->bus = 0x65;
	strcpy(pci->bus_id, "00000000:65:00.0");
	return 0;
}

int nvmlDeviceGetProcessUtilization(void *gpu, struct sample *v, unsigned int *n,
				    unsigned long long since)
{
	const char *says = getenv("NVML_SAYS");
	unsigned int room = *n, pid, percent;
	int length;

	*n = 0;
	if (gpu != &up || !up || !says)
		return 6;
	while (sscanf(says, " %u:%u%n", &pid, &percent, &length) == 2) {
		if (*n == room)
			return 7;
		v[(*n)++] = (struct sample){ .pid = pid, .time_us = since + 1000, .sm = percent };
		says += length;
	}
	/* As the real one does: entries of no process, and of long ago. */
	if (*n < room)
		v[(*n)++] = (struct sample){ .time_us = since + 1, .sm = 99 };
	if (*n < room)
		v[(*n)++] = (struct sample){ .pid = 1, .time_us = since - 9000000, .sm = 99 };
	return 0;
}
