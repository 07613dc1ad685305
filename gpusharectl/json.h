/* SPDX-License-Identifier: MIT */
/*
 * A streaming JSON writer: values go to the file as they come, nothing is
 * kept but the nesting. Inside objects each value has a key, inside arrays
 * the key is NULL. Strings may hold any bytes (names come from tenants): what
 * is no UTF-8 becomes U+FFFD, so that the output is always valid, and what a
 * terminal could take for more than a character is escaped.
 */
#ifndef GS_CTL_JSON_H
#define GS_CTL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GS_JSON_DEPTH	16

struct gs_json {
	FILE *out;
	bool pretty;
	unsigned int depth;
	bool filled[GS_JSON_DEPTH];	/* this level has a value already */
	char closing[GS_JSON_DEPTH];
};

void gs_json_begin(struct gs_json *j, FILE *out, bool pretty);
void gs_json_object(struct gs_json *j, const char *key);
void gs_json_array(struct gs_json *j, const char *key);
/* Closes the innermost object or array; a newline follows the outermost. */
void gs_json_end(struct gs_json *j);

void gs_json_string(struct gs_json *j, const char *key, const char *value);
void gs_json_unsigned(struct gs_json *j, const char *key, uint64_t value);
void gs_json_signed(struct gs_json *j, const char *key, int64_t value);
void gs_json_bool(struct gs_json *j, const char *key, bool value);
void gs_json_null(struct gs_json *j, const char *key);
/* @value / 10^@digits, written exactly, without floating point. */
void gs_json_scaled(struct gs_json *j, const char *key, uint64_t value, unsigned int digits);

/*
 * The length of the UTF-8 character at @s, 0 at a byte that begins none: what
 * is overlong, a surrogate, beyond U+10FFFF or cut short is none.
 */
unsigned int gs_utf8_length(const char *s);

/*
 * The same, but 0 also for what isn't to be shown as it is: controls (terminals
 * obey those of two bytes as well), characters that can't be seen or turn the
 * direction of what follows, so that a name looks like another, and those that
 * XML doesn't allow.
 */
unsigned int gs_utf8_shown(const char *s);

#endif
