// SPDX-License-Identifier: MIT
/*
 * Asking the device compiler what its macros are: a program whose text says what is
 * defined, and as what. One kernel writes lines "3=value" for each question that has an
 * answer, and "." behind the last, so that a torn answer isn't taken for a whole one.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsopencl.h>

#define LINE_BYTES	256

size_t gsx_cl_probe_room(uint32_t n)
{
	return 4096 + (size_t)n * LINE_BYTES;
}

static const char head[] =
	"#define gsx_text_(...) #__VA_ARGS__\n"
	"#define gsx_text(...) gsx_text_(__VA_ARGS__)\n"
	"uint gsx_put(__global char *gsx_o, uint gsx_n, uint gsx_room, __constant char *gsx_s)\n"
	"{\n"
	"	for (; *gsx_s && gsx_n < gsx_room; gsx_s++)\n"
	"		gsx_o[gsx_n++] = *gsx_s;\n"
	"	return gsx_n;\n"
	"}\n"
	"__kernel void gsx_probe(__global char *gsx_o, uint gsx_room)\n"
	"{\n"
	"	uint gsx_n = 0;\n";

static const char tail[] = "	gsx_put(gsx_o, gsx_n, gsx_room, \".\\n\");\n}\n";

/* Is it there as the compiler's own, to be called only? Its bare name is an error. */
static bool only_called(const char *question)
{
	return !strchr(question, '(') &&
	       (!strncmp(question, "__has_", 6) || !strncmp(question, "__is_", 5));
}

/* A call is asked for only where its name is known. */
static int put_question(char *text, size_t room, const char *question, uint32_t i)
{
	int name = (int)strcspn(question, "(");

	if (only_called(question))
		return snprintf(text, room, "#ifdef %s\n	gsx_n = gsx_put(gsx_o, gsx_n, gsx_room, "
				"\"%u=%s\\n\");\n#endif\n", question, i, question);
	return snprintf(text, room, "#ifdef %.*s\n	gsx_n = gsx_put(gsx_o, gsx_n, gsx_room, "
			"\"%u=\" gsx_text(%s) \"\\n\");\n#endif\n", name, question, i, question);
}

char *gsx_cl_probe(const char *const *questions, uint32_t n)
{
	size_t room = sizeof(head) + sizeof(tail), at;
	char *text;
	uint32_t i;

	for (i = 0; i < n; i++)
		room += 2 * strlen(questions[i]) + 120;
	text = malloc(room);
	if (!text)
		return NULL;
	at = snprintf(text, room, "%s", head);
	for (i = 0; i < n; i++)
		at += put_question(text + at, room - at, questions[i], i);
	snprintf(text + at, room - at, "%s", tail);
	return text;
}

int gsx_cl_probe_answer(const char *const *questions, uint32_t n, char *answer, size_t len,
			struct gsx_cl_macro *macros)
{
	char *s = answer, *end = answer + len, *stop, *value;
	unsigned long i;

	for (i = 0; i < n; i++)
		macros[i] = (struct gsx_cl_macro){ .name = questions[i] };
	for (; s < end; s = stop + 1) {
		stop = memchr(s, '\n', end - s);
		if (!stop)
			return -E2BIG;
		*stop = 0;
		if (!strcmp(s, "."))
			return 0;
		i = strtoul(s, &value, 10);
		if (value == s || *value != '=' || i >= n || macros[i].value)
			return -EINVAL;
		macros[i].value = value + 1;
	}
	return -E2BIG;
}
