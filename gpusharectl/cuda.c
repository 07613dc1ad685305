// SPDX-License-Identifier: MIT
#include "cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool gs_file_beside(char *path, size_t size, const char *name)
{
	static const char *const places[] = { "/../lib/gpushare/", "/../", "/../../lib/gpushare/" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	if (n < 0)
		return false;
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, size, "%s%s%s", self, places[i], name);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

static void look(struct gs_cuda *cuda, const char *path)
{
	void *first = dlopen("libcuda.so.1", RTLD_LAZY), *wrapper;
	int (*version)(int *version);
	const unsigned int *toolkit;

	cuda->comes_first = first && dlsym(first, "gpushare_cuda_wrapper");
	wrapper = dlopen(path, RTLD_LAZY);
	if (!wrapper)
		return;
	cuda->loads = true;
	toolkit = dlsym(wrapper, "gpushare_cuda_toolkits");
	for (; toolkit && *toolkit; toolkit++)
		if (*toolkit > cuda->newest)
			cuda->newest = *toolkit;
	version = (__typeof__(version))dlsym(wrapper, "cuDriverGetVersion");
	if (!version || version(&cuda->driver))
		cuda->driver = 0;
}

int gs_cuda_look(struct gs_cuda *cuda, const char *wrapper)
{
	int fds[2], null, err;
	ssize_t n;
	pid_t pid;

	memset(cuda, 0, sizeof(*cuda));
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		/* What it has to say, the caller says. */
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, STDERR_FILENO);
		look(cuda, wrapper);
		_exit(write(fds[1], cuda, sizeof(*cuda)) != sizeof(*cuda));
	}
	err = pid < 0 ? errno : 0;
	close(fds[1]);
	n = err ? 0 : read(fds[0], cuda, sizeof(*cuda));
	close(fds[0]);
	while (!err && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err ? -err : n == sizeof(*cuda) ? 0 : -EIO;
}
