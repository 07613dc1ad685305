/* SPDX-License-Identifier: MIT */
/*
 * Symbols by their old versions: glibc 2.34 moved libpthread into libc under
 * new ones, which no older glibc has. The old are there in all. The Makefile
 * includes this before each source of a shared library.
 */
#ifndef GS_GLIBC_H
#define GS_GLIBC_H

/*
 * Since glibc 2.38 its headers turn strtol(), sscanf() and their kin into new functions
 * that read C23's 0b101 too. The choice is made in features.h (by its second name since
 * 2.40) and undone here for all of them at once.
 */
#ifdef GS_OLD_GLIBC
#include <features.h>
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
#endif

#if defined(GS_OLD_GLIBC) && defined(__x86_64__)
#define GS_OLD(name) GS_OLD_AT(name, "2.2.5")
/* For those that came later than the first: since when, on x86-64. */
#define GS_OLD_AT(name, since) __asm__(".symver " #name "," #name "@GLIBC_" since)
#elif defined(GS_OLD_GLIBC) && defined(__aarch64__)
#define GS_OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.17")
#define GS_OLD_AT(name, since) GS_OLD(name)
#else
#define GS_OLD(name) _Static_assert(1, "")
#define GS_OLD_AT(name, since) GS_OLD(name)
#endif

#endif
