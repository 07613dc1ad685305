// SPDX-License-Identifier: MIT
/*
 * How much device memory the variables of a module take.
 *
 * A driver doesn't tell, but the module does: PTX in its declarations, machine code in the
 * sections that hold variables. PTX is only read as far as it takes: bodies of functions,
 * nearly all of it, are skipped in long steps, since each start pays for this.
 *
 * In a fat binary what counts is what the driver takes: machine code for this device, or
 * else the newest PTX. Of relocatable code that it links, all parts count. Machine code
 * that isn't packed is read where it is. The rest is unpacked, as the driver had to, but not
 * if that is more than MOST_UNPACKED: libraries of a hundred megabytes have few variables,
 * and a start mustn't wait for them.
 */
#include <ctype.h>
#include <elf.h>
#include <gsfatbin.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "globals.h"

#define PACKED		(GSX_FAT_LZ4 | GSX_FAT_ZSTD)
#define MOST_UNPACKED	(1u << 20)
#define MACHINE_CUDA	190

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static const char *skip_blank(const char *p)
{
	const char *end;

	for (;;) {
		p += strspn(p, " \t\r\n\f\v");
		if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			end = strstr(p + 2, "*/");
			p = end ? end + 2 : p + strlen(p);
		} else {
			return p;
		}
	}
}

/* Behind what begins at @p, a bracket of this kind; they don't nest in PTX but for braces. */
static const char *skip_brackets(const char *p, char open, char close)
{
	const char stop[] = { open, close, '/', '"', 0 };
	uint32_t depth = 0;

	for (; *p; p += strcspn(p, stop)) {
		if (*p == '/') {
			const char *next = skip_blank(p);

			p = next == p ? p + 1 : next;
			continue;
		}
		if (*p == '"') {
			p = strchr(p + 1, '"');
			if (!p)
				return "";
		} else if (*p == open) {
			depth++;
		} else if (*p == close && !--depth) {
			return p + 1;
		}
		p++;
	}
	return p;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static size_t word_len(const char *p)
{
	size_t n = 1;	/* whatever it begins with */

	while (is_word(p[n]))
		n++;
	return n;
}

static bool is(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(p, word, n);
}

/* Bytes of an element; 0: no type, or one without a size (textures). */
static uint64_t bytes_of(const char *type, size_t n)
{
	unsigned int bits;

	if (n < 3 || !strchr("bsuf", type[1]) || !isdigit((unsigned char)type[2]))
		return 0;
	bits = (unsigned int)strtoul(type + 2, NULL, 10);
	return bits > 128 ? 0 : bits / 8;
}

/* How many values stand in the braces at @p, at the outermost level. */
static uint64_t count_values(const char *p)
{
	uint64_t n = 1;

	for (p = skip_blank(p + 1); *p && *p != '}'; p = skip_blank(p)) {
		n += *p == ',';
		p = *p == '{' ? skip_brackets(p, '{', '}') : p + 1;
	}
	return n;
}

/* A sum of products; what else a constant can be isn't worked out. */
static uint64_t constant(const char **at)
{
	uint64_t sum = 0, product = 1;
	const char *p = *at;
	char *end;

	for (;;) {
		product = times(product, strtoull(p, &end, 0));
		p = skip_blank(end + (*end == 'U'));
		if (*p != '*') {
			sum = add(sum, product);
			product = 1;
		}
		if (*p != '*' && *p != '+')
			break;
		p = skip_blank(p + 1);
	}
	*at = p;
	return sum;
}

/* One variable, from its name on: *@at is then behind it. */
static uint64_t variable(const char **at, uint64_t bytes)
{
	const char *p = skip_blank(*at + word_len(*at));
	bool open = false;

	while (*p == '[') {
		p = skip_blank(p + 1);
		if (*p == ']')
			open = true;
		else
			bytes = times(bytes, constant(&p));
		p += strcspn(p, "]");
		p = skip_blank(p + (*p == ']'));
	}
	if (*p == '=') {
		p = skip_blank(p + 1);
		if (*p == '{' && open)
			bytes = times(bytes, count_values(p));
		while (*p && *p != ',' && *p != ';') {	/* a value, or an address of some */
			p = *p == '{' ? skip_brackets(p, '{', '}') :
			    *p == '(' ? skip_brackets(p, '(', ')') : p + 1;
			p = skip_blank(p);
		}
	} else if (open) {
		bytes = 0;
	}
	*at = p;
	return bytes;
}

/* What is declared behind .global or .const, up to the semicolon. */
static uint64_t declaration(const char **at)
{
	uint64_t sum = 0, bytes = 0, lanes = 1;
	const char *p = skip_blank(*at);
	size_t n;

	while (*p && *p != ';') {
		n = word_len(p);
		if (*p == '(') {	/* of .attribute */
			p = skip_brackets(p, '(', ')');
		} else if (is(p, n, ".align")) {
			p = skip_blank(p + n);
			p += strspn(p, "0123456789");
		} else if (*p == '.') {
			if (n == 3 && p[1] == 'v')
				lanes = (uint64_t)(p[2] - '0');
			else if (bytes_of(p, n))
				bytes = bytes_of(p, n);
			p += n;
		} else if (is_word(*p)) {
			sum = add(sum, variable(&p, times(bytes, lanes)));
		} else {
			p++;
		}
		p = skip_blank(p);
	}
	*at = p;
	return sum;
}

static uint64_t of_text(const char *p)
{
	bool elsewhere = false;	/* what is being declared is another module's */
	uint64_t sum = 0;
	const char *next;
	size_t n;

	for (p += strcspn(p, ".{(/\";"); *p; p += strcspn(p, ".{(/\";")) {
		switch (*p) {
		case '{':
			p = skip_brackets(p, '{', '}');
			elsewhere = false;
			break;
		case '(':
			p = skip_brackets(p, '(', ')');
			break;
		case '"':
			next = strchr(p + 1, '"');
			p = next ? next + 1 : "";
			break;
		case '/':
			next = skip_blank(p);
			p = next == p ? p + 1 : next;
			break;
		case ';':
			elsewhere = false;
			p++;
			break;
		default:
			n = word_len(p);
			elsewhere |= is(p, n, ".extern");
			if (is(p, n, ".global") || is(p, n, ".const")) {
				uint64_t bytes;

				p += n;
				bytes = declaration(&p);
				sum = elsewhere ? sum : add(sum, bytes);
			} else {
				p += n;
			}
		}
	}
	return sum;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool holds_variables(const char *name)
{
	return begins(name, ".nv.global") || !strcmp(name, ".nv.constant3");
}

/* @len: 0 if it isn't known; then it is as the driver found it. */
static uint64_t of_machine_code(const char *data, size_t len)
{
	const Elf64_Ehdr *h = (const void *)data;
	const Elf64_Shdr *s, *names;
	uint64_t sum = 0;
	uint16_t i;

	if ((len && len < sizeof(*h)) || (uintptr_t)data % 8)
		return 0;
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_machine != MACHINE_CUDA || h->e_shentsize != sizeof(*s) ||
	    h->e_shoff % 8 || h->e_shstrndx >= h->e_shnum ||
	    (len && (h->e_shoff > len || (len - h->e_shoff) / sizeof(*s) < h->e_shnum)))
		return 0;
	s = (const void *)(data + h->e_shoff);
	names = &s[h->e_shstrndx];
	if (len && (names->sh_offset > len || names->sh_size > len - names->sh_offset))
		return 0;
	if (!names->sh_size || data[names->sh_offset + names->sh_size - 1])
		return 0;
	for (i = 0; i < h->e_shnum; i++)
		if (s[i].sh_name < names->sh_size &&
		    holds_variables(data + names->sh_offset + s[i].sh_name))
			sum = add(sum, s[i].sh_size);
	return sum;
}

static uint64_t of_entry(const struct gsx_fat_entry *e)
{
	uint64_t bytes;
	char *copy;
	size_t len;

	if (!e->size)	/* for machine code that would be an unknown length */
		return 0;
	if (e->kind == GSX_FAT_CUBIN && !(e->flags & PACKED) && !((uintptr_t)e->data % 8))
		return of_machine_code(e->data, e->size);
	if (gsx_fat_unpack(e, MOST_UNPACKED, &copy, &len))
		return 0;
	bytes = e->kind == GSX_FAT_CUBIN ? of_machine_code(copy, len) : of_text(copy);
	free(copy);
	return bytes;
}

/* As drivers choose. False: there is nothing for @arch. */
static bool of_container(const void *data, uint32_t arch, uint64_t *sum)
{
	struct gsx_fat_entry e, best[2] = { { 0 }, { 0 } }, *b;
	struct gsx_fat f;

	if (!data || gsx_fat_open(&f, data, gsx_fat_length(data)))
		return false;
	while (gsx_fat_next(&f, &e) == 1) {
		bool machine = e.kind == GSX_FAT_CUBIN;

		if ((!machine && e.kind != GSX_FAT_PTX) || e.arch > arch ||
		    (machine && e.arch / 10 != arch / 10) ||
		    (e.flags & (GSX_FAT_SUFFIX_A | GSX_FAT_SUFFIX_F) && e.arch != arch))
			continue;
		b = &best[machine];
		if (!b->data || e.arch > b->arch)
			*b = e;
	}
	b = &best[best[1].data != NULL];
	if (!b->data)
		return false;
	*sum = add(*sum, of_entry(b));
	return true;
}

uint64_t gs_globals(const void *data, size_t len, uint32_t arch)
{
	const struct gsx_fat_wrapper *w = data;
	const void *const *more;
	uint64_t sum = 0;
	uint32_t magic;

	if (!data || (len && len < 16))
		return 0;
	memcpy(&magic, data, sizeof(magic));
	if (magic == GSX_FAT_WRAPPER_MAGIC) {
		if (len)	/* out of a file: its addresses are nobody's */
			return 0;
		if (!of_container(w->data, arch, &sum) && w->version == 2)
			for (more = w->more; more && *more; more++)
				of_container(*more, arch, &sum);
		return sum;
	}
	if (magic == GSX_FAT_MAGIC) {
		if (!len || gsx_fat_length(data) <= len)
			of_container(data, arch, &sum);
		return sum;
	}
	if (!memcmp(data, ELFMAG, SELFMAG))
		return of_machine_code(data, len);
	/* Results of links in another form begin with bytes that no text has. */
	return isspace((uint8_t)*(const char *)data) || strchr("./", *(const char *)data) ?
		of_text(data) : 0;
}
