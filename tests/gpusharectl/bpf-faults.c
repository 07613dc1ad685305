// SPDX-License-Identifier: MIT
/*
 * Loaded before the tool: its call number BPF_FAIL of bpf(2) fails with BPF_ERROR, and the
 * file BPF_HIT is made then, with the command's number in it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) long syscall(long number, ...);

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	static int calls;
	const char *nth = getenv("BPF_FAIL"), *hit = getenv("BPF_HIT"), *error = getenv("BPF_ERROR");
	long v[6];
	va_list args;
	int i, fd;

	va_start(args, number);
	for (i = 0; i < 6; i++)
		v[i] = va_arg(args, long);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_bpf && nth && ++calls == atoi(nth)) {
		fd = hit ? open(hit, O_CREAT | O_WRONLY | O_TRUNC, 0600) : -1;
		if (fd >= 0) {
			dprintf(fd, "%ld\n", v[0]);
			close(fd);
		}
		errno = error ? atoi(error) : ENOMEM;
		return -1;
	}
	return real(number, v[0], v[1], v[2], v[3], v[4], v[5]);
}
