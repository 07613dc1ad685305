// SPDX-License-Identifier: MIT
/*
 * Are we in a container? What it has is its own: an arbiter that is started in it shares
 * with nobody outside, and the device is everybody's.
 */
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"

/*
 * The machine's first name spaces have numbers that the kernel doesn't change. Other signs
 * are for containers that have those: podman's, and Apptainer's, which are asked for by
 * name. Docker's isn't asked for, as images of virtual machines may hold it.
 */
bool gs_in_container(void)
{
	static const struct { const char *path; uint64_t first; } spaces[] = {
		{ "/proc/self/ns/pid", 0xeffffffc },
		{ "/proc/self/ns/user", 0xeffffffd },
		{ "/proc/self/ns/cgroup", 0xeffffffb },
	};
	struct statx st;
	size_t i;

	for (i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		if (!statx(AT_FDCWD, spaces[i].path, 0, STATX_INO, &st) &&
		    st.stx_ino != spaces[i].first)
			return true;
	return !access("/run/.containerenv", F_OK) || !access("/.singularity.d", F_OK);
}
