// SPDX-License-Identifier: MIT
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int finish(FILE *out, const char *temporary, const char *name, int rc)
{
	mode_t mask = umask(022);

	umask(mask);
	if (!rc && (fflush(out) || fsync(fileno(out))))
		rc = -errno;
	/* As open() would have made it. */
	if (!rc && fchmod(fileno(out), 0666 & ~mask))
		rc = -errno;
	if (fclose(out) && !rc)
		rc = -errno;
	if (!rc && rename(temporary, name))
		rc = -errno;
	if (rc)
		unlink(temporary);
	return rc;
}

int gs_file_replace(const char *name, int (*write)(FILE *out, void *arg), void *arg)
{
	char temporary[PATH_MAX];
	struct stat st;
	FILE *out;
	int fd, rc;

	if (!strcmp(name, "-")) {
		rc = write(stdout, arg);
		return rc ? rc : fflush(stdout) ? -errno : 0;
	}
	/* A pipe, a terminal, /dev/null: to be written to, not to be put out of the way. */
	if (!stat(name, &st) && !S_ISREG(st.st_mode)) {
		out = fopen(name, "we");
		if (!out)
			return -errno;
		rc = write(out, arg);
		return fclose(out) && !rc ? -errno : rc;
	}
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", name) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		unlink(temporary);
		return -ENOMEM;
	}
	return finish(out, temporary, name, write(out, arg));
}
