/* SPDX-License-Identifier: MIT */
/*
 * Modules by hand: an instruction a line, its operands in the order of the words, so
 * that the result's id stands where it lies: "OpLoad %uint %x %p". %name is an id, each
 * name another; a number is itself; "text" is a string.
 */
#ifndef GS_TESTS_SPIRV_ASSEMBLE_H
#define GS_TESTS_SPIRV_ASSEMBLE_H

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define MODULE_WORDS	4096
#define MODULE_NAMES	256

struct module {
	uint32_t w[MODULE_WORDS], n;
	char name[MODULE_NAMES][24];
	uint32_t n_names;
};

static const struct {
	const char *name;
	uint32_t op;
} mnemonics[] = {
	{ "OpName", 5 }, { "OpExtInstImport", 11 }, { "OpExtInst", 12 },
	{ "OpMemoryModel", 14 }, { "OpEntryPoint", 15 }, { "OpExecutionMode", 16 },
	{ "OpCapability", 17 }, { "OpTypeVoid", 19 }, { "OpTypeBool", 20 }, { "OpTypeInt", 21 },
	{ "OpTypeFloat", 22 }, { "OpTypeVector", 23 }, { "OpTypeArray", 28 }, { "OpTypeStruct", 30 },
	{ "OpTypePointer", 32 }, { "OpTypeFunction", 33 }, { "OpConstant", 43 },
	{ "OpConstantNull", 46 }, { "OpSpecConstant", 50 }, { "OpSpecConstantOp", 52 },
	{ "OpFunction", 54 }, { "OpFunctionParameter", 55 }, { "OpFunctionEnd", 56 },
	{ "OpFunctionCall", 57 }, { "OpVariable", 59 }, { "OpLoad", 61 }, { "OpStore", 62 },
	{ "OpCopyMemory", 63 }, { "OpAccessChain", 65 }, { "OpInBoundsPtrAccessChain", 70 },
	{ "OpDecorate", 71 }, { "OpMemberDecorate", 72 }, { "OpDecorationGroup", 73 },
	{ "OpGroupDecorate", 74 }, { "OpCompositeExtract", 81 }, { "OpCopyObject", 83 },
	{ "OpUConvert", 113 }, { "OpIAdd", 128 }, { "OpISub", 130 }, { "OpIMul", 132 },
	{ "OpBitwiseOr", 197 }, { "OpBitwiseAnd", 199 }, { "OpLogicalOr", 166 },
	{ "OpLogicalNot", 168 }, { "OpSelect", 169 }, { "OpIEqual", 170 },
	{ "OpINotEqual", 171 }, { "OpUGreaterThan", 172 }, { "OpSGreaterThan", 173 },
	{ "OpUGreaterThanEqual", 174 }, { "OpULessThan", 176 }, { "OpSLessThanEqual", 179 },
	{ "OpControlBarrier", 224 },
	{ "OpMemoryBarrier", 225 }, { "OpAtomicLoad", 227 }, { "OpAtomicStore", 228 },
	{ "OpAtomicExchange", 229 },
	{ "OpAtomicCompareExchange", 230 }, { "OpAtomicIIncrement", 232 },
	{ "OpAtomicIDecrement", 233 }, { "OpAtomicISub", 235 },
	{ "OpAtomicIAdd", 234 }, { "OpAtomicOr", 241 }, { "OpPhi", 245 }, { "OpLabel", 248 },
	{ "OpBranch", 249 }, { "OpBranchConditional", 250 }, { "OpSwitch", 251 },
	{ "OpReturn", 253 }, { "OpReturnValue", 254 }, { "OpGroupWaitEvents", 260 },
	{ "OpGroupAll", 261 }, { "OpGroupIAdd", 264 }, { "OpGetKernelWorkGroupSize", 295 },
	{ "OpExecutionModeId", 331 },
};

static inline uint32_t id_named(struct module *m, const char *name, size_t len)
{
	uint32_t i;

	for (i = 0; i < m->n_names; i++)
		if (strlen(m->name[i]) == len && !memcmp(m->name[i], name, len))
			return i + 1;
	ASSERT_LT(m->n_names, MODULE_NAMES);
	ASSERT_LT(len, sizeof(m->name[0]));
	memcpy(m->name[m->n_names], name, len);
	m->name[m->n_names][len] = 0;
	return ++m->n_names;
}

static inline const char *assemble_word(struct module *m, const char *s)
{
	const char *from = s + 1;
	char *end;

	if (*s == '%') {
		for (s++; isalnum((unsigned char)*s) || *s == '_'; s++)
			;
		m->w[m->n++] = id_named(m, from, s - from);
		return s;
	}
	if (*s == '"') {
		size_t len = strcspn(from, "\"");

		memcpy(&m->w[m->n], from, len);
		m->n += len / 4 + 1;
		return from + len + 1;
	}
	m->w[m->n++] = strtoul(s, &end, 0);
	ASSERT_TRUE(end != s);
	return end;
}

static inline void assemble_more(struct module *m, const char *s)
{
	while (*s) {
		uint32_t first = m->n++, i;
		size_t len = strcspn(s, " \n");

		for (i = 0; i < sizeof(mnemonics) / sizeof(*mnemonics); i++)
			if (strlen(mnemonics[i].name) == len && !memcmp(mnemonics[i].name, s, len))
				break;
		if (i == sizeof(mnemonics) / sizeof(*mnemonics)) {
			test_fail("no instruction %.*s", (int)len, s);
			test_end(1);
		}
		for (s += len; *s == ' ' || (*s && *s != '\n'); )
			s = *s == ' ' ? s + 1 : assemble_word(m, s);
		s += *s == '\n';
		m->w[first] = (m->n - first) << 16 | mnemonics[i].op;
		ASSERT_LT(m->n, MODULE_WORDS - 64);
	}
}

static inline void assemble_begin(struct module *m, uint32_t version)
{
	static const uint32_t head[5] = { 0x07230203 };

	memset(m, 0, sizeof(*m));
	memcpy(m->w, head, sizeof(head));
	m->w[1] = version;
	m->n = 5;
}

static inline void assemble_end(struct module *m)
{
	m->w[3] = m->n_names + 1;
}

#endif
