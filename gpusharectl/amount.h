/* SPDX-License-Identifier: MIT */
/*
 * Amounts as people write them. Each returns 0, or -EINVAL (not such an
 * amount) or -ERANGE (too much of it); what is written back reads the same.
 */
#ifndef GS_CTL_AMOUNT_H
#define GS_CTL_AMOUNT_H

#include <stdint.h>

/* "250us", "2ms", "1.5s", "0": a unit is needed, since people don't agree on one. */
int gs_parse_us(const char *s, uint64_t *us);
/* "8G", "512M", "4096": base 1024; "max" is GPUSHARE_NO_LIMIT. */
/* -EDOM: a few bytes, without a unit. */
int gs_parse_bytes(const char *s, uint64_t *bytes);
/* "12.5%": in per mille. */
int gs_parse_permille(const char *s, uint64_t *permille);
int gs_parse_unsigned(const char *s, uint64_t most, uint64_t *value);

/* Exactly, in the largest unit that allows it; at most 32 bytes. */
void gs_format_us(char *buffer, uint64_t us);
void gs_format_bytes(char *buffer, uint64_t bytes);
void gs_format_permille(char *buffer, uint64_t permille);

#endif
