// SPDX-License-Identifier: MIT
/*
 * What compilers don't write but modules may hold: the ways in which a work-item's
 * values, other groups' writes, the program's variables and other kernels reach a kernel
 * unseen. Each is refused with its reason, or right in what comes out.
 */
#include <errno.h>

#include <gsspirv.h>

#include "assemble.h"
#include "valid.h"

#define V1_0	0x10000
#define V1_2	0x10200
#define V1_4	0x10400

#define BOTH	(GSX_BIT(GSX_SLICE) | GSX_BIT(GSX_WORKERS))

static const char head[] =
	"OpCapability 4\nOpCapability 5\nOpCapability 6\nOpCapability 11\n"
	"OpExtInstImport %std \"OpenCL.std\"\nOpMemoryModel 2 2\n";
static const char types[] =
	"OpTypeVoid %void\nOpTypeBool %bool\nOpTypeInt %uint 32 0\nOpTypeInt %ulong 64 0\n"
	"OpTypeVector %v3 %ulong 3\nOpTypePointer %in3 1 %v3\nOpTypePointer %in1 1 %ulong\n"
	"OpTypePointer %global 5 %uint\nOpTypePointer %own 7 %uint\n"
	"OpTypeFunction %kernel %void %global %uint\nOpTypeFunction %reader %uint %global\n"
	"OpTypeFunction %doer %void\nOpTypeFunction %getter %ulong %uint\n"
	"OpConstant %uint %c0 0\nOpConstant %uint %c1 1\nOpConstant %uint %c2 2\n"
	"OpConstant %uint %c3 3\nOpConstant %uint %c4 4\nOpConstant %uint %c8 8\n"
	"OpConstant %uint %fence_global 0x210\nOpConstant %uint %fence_local 0x110\n"
	"OpVariable %in3 %gid 1\nOpVariable %in3 %lid 1\n";

/* A kernel that asks for its group's number, and then does @body. */
#define HEAD	"OpFunction %void %k 0 %kernel\nOpFunctionParameter %global %o\n" \
		"OpFunctionParameter %uint %n\nOpLabel %entry\n"
#define TAIL	"OpReturn\nOpFunctionEnd\n"
#define K(body)	HEAD "OpLoad %v3 %g %gid\n" body TAIL
/* One that doesn't. */
#define PLAIN(body) HEAD body TAIL
/* A loop that goes on while @body makes %c true. */
#define LOOP(body) K("OpBranch %loop\nOpLabel %loop\n" body \
		     "OpBranchConditional %c %loop %out\nOpLabel %out\n")
/* A function that reads what it is given. */
#define READER(name, body) "OpFunction %uint " name " 0 %reader\n" \
		"OpFunctionParameter %global " name "_p\nOpLabel " name "_entry\n" body \
		"OpLoad %uint " name "_x " name "_p\nOpReturnValue " name "_x\nOpFunctionEnd\n"
#define DOER(name, body) "OpFunction %void " name " 0 %doer\nOpLabel " name "_entry\n" body TAIL

struct text {
	uint32_t version;
	const char *entries, *decorations, *globals, *code;
};

static struct module m;
static struct gsx_spv_result res;

static int cut(const struct text *t)
{
	struct gsx_spv_options opt = { .modes = BOTH }, look = { .modes = 0 };
	struct gsx_spv_result again;
	int err, mode, fine;

	assemble_begin(&m, t->version ? t->version : V1_2);
	assemble_more(&m, head);
	assemble_more(&m, t->entries ? t->entries : "OpEntryPoint 6 %k \"k\" %gid %lid\n");
	assemble_more(&m, "OpDecorate %gid 11 26\nOpDecorate %lid 11 27\n");
	assemble_more(&m, t->decorations ? t->decorations : "");
	assemble_more(&m, types);
	assemble_more(&m, t->globals ? t->globals : "");
	assemble_more(&m, t->code);
	assemble_end(&m);
	gsx_spv_result_free(&res);
	err = gsx_spv_transform(m.w, m.n * 4, &opt, &res);
	fine = spirv_val(m.w, m.n * 4, true);
	for (mode = 0; mode < GSX_MODES && !err; mode++) {
		if (!res.module[mode])
			continue;
		EXPECT_EQ(0, gsx_spv_transform(res.module[mode], res.len[mode], &look, &again));
		gsx_spv_result_free(&again);
		if (!fine && spirv_val(res.module[mode], res.len[mode], false))
			test_fail("%s: not valid, of:\n%s", gsx_mode_name(mode), t->code);
	}
	return err;
}

/* "slice wait-loop workers wait-loop"; of what is refused as a whole the sentence. */
static const char *why(const struct text *t, uint32_t kernel)
{
	static char out[1024];
	const struct gsx_cl_kernel *k;
	uint32_t i, mode, n = 0;

	if (cut(t))
		return res.error;
	out[0] = 0;
	k = &res.kernels[kernel];
	for (mode = 0; mode < GSX_MODES; mode++)
		for (i = 0; i < k->n_refusals; i++)
			if (k->refusals[i].modes & GSX_BIT(mode))
				n += snprintf(out + n, sizeof(out) - n, "%s%s %s", n ? " " : "",
					      gsx_mode_name(mode),
					      gsx_reason_name(k->refusals[i].reason));
	return out;
}

struct expect {
	const char *refusals;
	struct text text;
};

static void check(const struct expect *e, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *got = why(&e[i].text, 0);
		bool whole = strchr(e[i].refusals, ':');

		if (whole ? !strstr(got, e[i].refusals + 1) : strcmp(got, e[i].refusals))
			test_fail("%u: \"%s\", not \"%s\", for:\n%s", i, got, e[i].refusals,
				  e[i].text.code);
	}
}

#define CHECK(e)	check(e, sizeof(e) / sizeof(*(e)))

#define EXTERN	"slice extern-call workers extern-call"
#define FLOW	"slice unknown-flow workers unknown-flow"
#define SPECIAL	"slice special-use workers special-use"
#define WAIT	"slice wait-loop workers wait-loop"
#define SCOPE	"slice program-scope workers program-scope"

TEST(plain)
{
	const struct expect e[] = {
		{ "", { .code = K("") } },
		{ "", { .code = PLAIN("") } },
	};

	CHECK(e);
	EXPECT_TRUE(res.kernels[0].flags & GSX_CL_NATIVE);
}

/* The number of a work-item or its group, in other ways than by a load of the variable. */
TEST(hidden_ids)
{
	static const char import[] = "OpFunction %ulong %f 0 %getter\nOpFunctionParameter %uint %d\n"
		"OpFunctionEnd\n" PLAIN("OpFunctionCall %ulong %x %f %c0\n");
	static const char define[] = "OpFunction %ulong %f 0 %getter\nOpFunctionParameter %uint %d\n"
		"OpLabel %l\nOpUConvert %ulong %y %d\nOpReturnValue %y\nOpFunctionEnd\n" K("");
	static const char load[] = PLAIN("OpLoad %v3 %x %other\n");
	const struct expect e[] = {
		/* a function of the device's by its name, asked for or put in its place */
		{ EXTERN, { .decorations = "OpDecorate %f 41 \"_Z12get_group_idj\" 1\n", .code = import } },
		{ EXTERN, { .decorations = "OpDecorate %f 41 \"mine\" 1\n", .code = import } },
		{ ":device's own", { .decorations = "OpDecorate %f 41 \"_Z12get_group_idj\" 0\n",
				     .code = define } },
		{ ":device's own", { .entries = "OpEntryPoint 6 %k \"k\" %gid\n"
				     "OpName %f \"get_group_id\"\n", .code = define } },
		{ ":device's own", { .decorations = "OpDecorate %f 41 \"_Z10atomic_addPU3AS1Vjj\" 0\n",
				     .code = define } },
		{ "", { .decorations = "OpDecorate %f 41 \"_Z7get_rowj\" 0\n", .code = define } },
		/* a variable of the device's */
		{ "slice extern-call workers extern-call workers program-scope",
		  { .decorations = "OpDecorate %other 41 \"_group_id_x\" 1\n",
		    .globals = "OpTypePointer %g3 5 %v3\nOpVariable %g3 %other 5\n", .code = load } },
		{ ":device's own", { .decorations = "OpDecorate %other 41 \"_group_id_x\" 0\n",
				     .globals = "OpTypePointer %g3 5 %v3\nOpConstantNull %v3 %null\n"
				     "OpVariable %g3 %other 5 %null\n", .code = load } },
		{ FLOW, { .globals = "OpVariable %in3 %other 1\n", .code = load } },
		{ FLOW, { .globals = "OpTypePointer %priv 6 %v3\nOpVariable %priv %other 6\n",
			  .code = load } },
		{ ":device's own", { .decorations = "OpDecorate %other 11 25\n"
				     "OpDecorate %other 41 \"__spirv_BuiltInWorkgroupId\" 1\n",
				     .globals = "OpVariable %in3 %other 1\n", .code = load } },
		{ "", { .decorations = "OpDecorate %other 11 25\n"
			"OpDecorate %other 41 \"__spirv_BuiltInWorkgroupSize\" 1\n",
			.globals = "OpVariable %in3 %other 1\n", .code = load } },
		{ ":isn't known", { .decorations = "OpDecorate %gid 11 30\n", .code = K("") } },
		{ ":isn't known", { .decorations = "OpDecorate %other 11 7\n",
				    .globals = "OpVariable %in3 %other 1\n", .code = load } },
		{ ":within a structure", { .decorations = "OpMemberDecorate %s 0 11 26\n",
					   .globals = "OpTypeStruct %s %v3\n", .code = K("") } },
		{ ":groups aren't known", { .decorations = "OpDecorate %group 11 25\n"
					    "OpDecorationGroup %group\nOpGroupDecorate %group %other\n",
					    .globals = "OpVariable %in3 %other 1\n", .code = load } },
		/* its address */
		{ ":as a constant", { .globals = "OpSpecConstantOp %in1 %p 65 %gid %c0\n",
				      .code = PLAIN("OpLoad %ulong %x %p\n") } },
		{ SPECIAL, { .code = PLAIN("OpCopyObject %in3 %p %gid\nOpLoad %v3 %x %p\n") } },
		{ SPECIAL, { .code = PLAIN("OpAccessChain %in1 %p %gid %c0\n"
					   "OpCopyObject %in1 %q %p\nOpLoad %ulong %x %q\n") } },
		{ "workers special-use",
		  { .code = PLAIN("OpCopyObject %in3 %p %lid\nOpLoad %v3 %x %p\n") } },
		/* through what isn't known */
		{ FLOW, { .globals = "OpTypeFunction %taker %void\n",
			  .code = DOER("%f", "") PLAIN("OpCopyObject %void %p %f\n") } },
		{ FLOW, { .entries = "OpExtInstImport %mine \"Vendor.ids\"\nOpEntryPoint 6 %k \"k\" %gid\n",
			  .code = PLAIN("OpExtInst %uint %x %mine 1 %n\n") } },
		{ "", { .entries = "OpExtInstImport %mine \"NonSemantic.notes\"\n"
			"OpEntryPoint 6 %k \"k\" %gid\n",
			.code = PLAIN("OpExtInst %void %x %mine 1 %n\n") } },
	};

	CHECK(e);
}

/* Entry points are found by their names, too; a worker's variable begins with its kernel's. */
TEST(names_of_entry_points)
{
#define ENTRY(name) { .entries = "OpEntryPoint 6 %k \"" name "\" %gid %lid\n", .code = K("") }
	const struct expect e[] = {
		{ ":device's own", ENTRY("get_group_id") },
		{ ":device's own", ENTRY("_Z12get_group_idj") },
		{ ":device's own", ENTRY("_cl_get_group_id") },
		{ ":device's own", ENTRY("_pocl_kernel") },
		{ ":device's own", ENTRY("_Z99_pocl_kernel") },
		{ ":device's own", ENTRY("llvm.memcpy") },
		{ ":device's own", ENTRY("llvm") },
		{ ":device's own", ENTRY("_Z4llvm") },
		{ ":kept for", ENTRY("k__gsx_slice") },
		{ ":kept for", { .decorations = "OpDecorate %k 41 \"gsx_k\" 0\n", .code = K("") } },
		{ "", ENTRY("_Z") },
		{ "", ENTRY("_Z0") },
		{ "", ENTRY("_Z20get_group_id_of_minej") },
		{ "", ENTRY("get_group_ids") },
		{ "", ENTRY("llvm_bench") },
		{ "", ENTRY("") },
	};

	CHECK(e);
	EXPECT_EQ(-EINVAL, cut(&e[0].text));
	EXPECT_EQ(-EEXIST, cut(&e[8].text));
}

/* A second import of OpenCL.std is OpenCL.std, too: vstore4 writes. */
TEST(two_imports)
{
	const struct text t = { .entries = "OpExtInstImport %again \"OpenCL.std\"\n"
		"OpEntryPoint 6 %k \"k\" %gid\n",
		.globals = "OpTypeVector %v4 %uint 4\nOpConstantNull %v4 %null\nOpConstant %ulong %l0 0 0\n",
		.code = PLAIN("OpExtInst %void %x %std 172 %null %l0 %o\n") };

	EXPECT_STREQ("", why(&t, 0));
	EXPECT_TRUE(res.kernels[0].params[0].flags & GSX_PARAM_WRITTEN);
}

/* Numbers among ids: the n of vload4, and how vstore_half_rte rounds. */
TEST(numbers_are_no_ids)
{
	struct text number = {
		.globals = "OpTypeVector %v4 %uint 4\nOpConstant %ulong %l0 0 0\n",
		.code = PLAIN("OpExtInst %v4 %v %std 171 %l0 %o 4\n"),
	};

	/* %lid is the fourth id, and nothing here reads it */
	EXPECT_STREQ("", why(&number, 0));
	EXPECT_EQ(4, id_named(&m, "lid", 3));
	number.globals = "OpTypeFloat %float 32\nOpConstantNull %float %f0\n"
		"OpConstant %ulong %l0 0 0\n";
	number.code = PLAIN("OpExtInst %void %u %std 176 %f0 %l0 %o 0\n");
	EXPECT_STREQ("", why(&number, 0));
}

TEST(the_programs_variables)
{
	static const char var[] = "OpConstantNull %uint %null\nOpVariable %global %v 5 %null\n";
	const struct expect e[] = {
		{ SCOPE, { .globals = var, .code = K("OpLoad %uint %x %v\n") } },
		{ "workers program-scope", { .globals = var, .code = PLAIN("OpLoad %uint %x %v\n") } },
		/* by a constant that is made of its address */
		{ SCOPE, { .globals = "OpTypeArray %arr %uint %c4\nOpTypePointer %garr 5 %arr\n"
			   "OpConstantNull %arr %null\nOpVariable %garr %v 5 %null\n"
			   "OpSpecConstantOp %global %p 65 %v %c1\nOpSpecConstantOp %global %q 67 %p %c1\n",
			   .code = K("OpLoad %uint %x %q\n") } },
		/* and by a constant that holds it */
		{ SCOPE, { .globals = "OpConstantNull %uint %null\nOpVariable %global %v 5 %null\n"
			   "OpTypePointer %cp 0 %global\nOpVariable %cp %table 0 %v\n",
			   .code = K("OpLoad %global %p %table\nOpLoad %uint %x %p\n") } },
		{ "", { .globals = var, .code = K("") } },
	};

	CHECK(e);
}

#define EQUAL	"OpIEqual %bool %c %x %c0\n"

TEST(waits)
{
	const struct expect e[] = {
		{ WAIT, { .code = LOOP("OpLoad %uint %x %o 1\n" EQUAL) } },
		{ WAIT, { .decorations = "OpDecorate %o 21\n",
			  .code = LOOP("OpInBoundsPtrAccessChain %global %p %o %c1\n"
				       "OpLoad %uint %x %p\n" EQUAL) } },
		{ WAIT, { .decorations = "OpDecorate %o 23\n",
			  .code = LOOP("OpLoad %uint %x %o\n" EQUAL) } },
		{ WAIT, { .decorations = "OpDecorate %o 21\n",
			  .code = LOOP("OpCopyObject %global %p %o\nOpSelect %global %q %true %p %o\n"
				       "OpLoad %uint %x %q\n" EQUAL),
			  .globals = "OpSpecConstantOp %bool %true 170 %c0 %c0\n" } },
		{ WAIT, { .decorations = "OpMemberDecorate %s 0 21\n",
			  .globals = "OpTypeStruct %s %uint\n",
			  .code = LOOP("OpLoad %uint %x %o\n" EQUAL) } },
		/* a copy is a read */
		{ WAIT, { .code = HEAD "OpVariable %own %v 7\nOpLoad %v3 %g %gid\nOpBranch %loop\n"
			  "OpLabel %loop\nOpCopyMemory %v %o 1\nOpLoad %uint %x %v\n" EQUAL
			  "OpBranchConditional %c %loop %out\nOpLabel %out\n" TAIL } },
		/* the fence, the read, or both in a function that is called */
		{ WAIT, { .code = LOOP("OpMemoryBarrier %c1 %fence_global\nOpLoad %uint %x %o\n" EQUAL) } },
		{ WAIT, { .code = DOER("%f", "OpMemoryBarrier %c1 %fence_global\n")
			  LOOP("OpFunctionCall %void %u %f\nOpLoad %uint %x %o\n" EQUAL) } },
		{ WAIT, { .code = READER("%f", "")
			  LOOP("OpMemoryBarrier %c1 %fence_global\nOpFunctionCall %uint %x %f %o\n"
			       EQUAL) } },
		{ WAIT, { .code = READER("%f", "OpMemoryBarrier %c1 %fence_global\n")
			  LOOP("OpFunctionCall %uint %x %f %o\n" EQUAL) } },
		{ WAIT, { .code = READER("%f", "") DOER("%h", "OpMemoryBarrier %c1 %fence_global\n")
			  READER("%between", "OpFunctionCall %void %u2 %h\n"
				 "OpFunctionCall %uint %y %f %between_p\n")
			  LOOP("OpFunctionCall %uint %x %between %o\n" EQUAL) } },
		/* one on the group's own memory isn't for others */
		{ "", { .code = LOOP("OpMemoryBarrier %c2 %fence_local\nOpLoad %uint %x %o\n" EQUAL) } },
		{ WAIT, { .globals = "OpSpecConstant %uint %any 0x110\n",
			  .code = LOOP("OpMemoryBarrier %c2 %any\nOpLoad %uint %x %o\n" EQUAL) } },
		{ WAIT, { .globals = "OpTypeVector %v4 %uint 4\nOpConstant %ulong %l0 0 0\n",
			  .code = LOOP("OpMemoryBarrier %c1 %fence_global\n"
				       "OpExtInst %v4 %v %std 171 %l0 %o 4\n"
				       "OpCompositeExtract %uint %x %v 0\n" EQUAL) } },
		/* atomics that only look, or that are tried till somebody lets go */
		{ WAIT, { .code = LOOP("OpAtomicOr %uint %x %o %c1 %c0 %c1\n" EQUAL) } },
		{ WAIT, { .code = LOOP("OpAtomicIAdd %uint %x %o %c1 %c0 %n\n" EQUAL) } },
		{ WAIT, { .globals = "OpSpecConstant %uint %any 0\n",
			  .code = LOOP("OpAtomicIAdd %uint %x %o %c1 %c0 %any\n" EQUAL) } },
		{ WAIT, { .code = LOOP("OpAtomicExchange %uint %x %o %c1 %c0 %n\n" EQUAL) } },
		{ "", { .code = LOOP("OpAtomicIAdd %uint %x %o %c1 %c0 %c1\n"
				     "OpULessThan %bool %c %x %n\n") } },
		{ "", { .code = LOOP("OpAtomicIIncrement %uint %x %o %c1 %c0\n"
				     "OpULessThan %bool %c %x %n\n") } },
		/* in what is called, twice below */
		{ WAIT, { .code = READER("%f", "OpAtomicLoad %uint %y %f_p %c1 %c0\n"
					 "OpStore %f_p %y\n")
			  READER("%between", "OpFunctionCall %uint %z %f %between_p\n")
			  LOOP("OpFunctionCall %uint %x %between %o\n" EQUAL) } },
		/* a barrier for more than the group */
		{ WAIT, { .code = K("OpControlBarrier %c1 %c1 %fence_global\n") } },
		{ WAIT, { .globals = "OpSpecConstant %uint %any 2\n",
			  .code = K("OpControlBarrier %any %c2 %fence_local\n") } },
		{ "", { .code = K("OpControlBarrier %c2 %c2 %fence_local\n") } },
		{ "", { .code = K("OpControlBarrier %c4 %c4 %fence_local\n") } },
		{ "workers sub-groups", { .code = K("OpControlBarrier %c3 %c3 %fence_local\n") } },
	};

	CHECK(e);
}

#define SWAP(new, old) "OpAtomicCompareExchange %uint %y %o %c1 %c0 %c0 " new " " old "\n"
#define NEXT	"OpIAdd %uint %x1 %x %c1\n"

TEST(compare_and_exchange)
{
	const struct expect e[] = {
		/* read anew each time, and ended by success */
		{ "", { .code = LOOP("OpLoad %uint %x %o\n" NEXT SWAP("%x1", "%x")
				     "OpINotEqual %bool %c %y %x\n") } },
		{ "", { .code = LOOP("OpLoad %uint %x %o\n" NEXT SWAP("%x1", "%x")
				     "OpIEqual %bool %won %y %x\nOpLogicalNot %bool %c %won\n") } },
		/* what it found is what is expected next */
		{ "", { .code = K("OpLoad %uint %first %o\nOpBranch %loop\nOpLabel %loop\n"
				  "OpPhi %uint %x %first %entry %y %loop\n" NEXT SWAP("%x1", "%x")
				  "OpINotEqual %bool %c %y %x\n"
				  "OpBranchConditional %c %loop %out\nOpLabel %out\n") } },
		/* through a variable */
		{ "", { .code = HEAD "OpVariable %own %v 7\nOpLoad %v3 %g %gid\nOpBranch %loop\n"
			"OpLabel %loop\nOpLoad %uint %z %o\nOpStore %v %z\nOpLoad %uint %x %v\n" NEXT
			SWAP("%x1", "%x") "OpINotEqual %bool %c %y %x\n"
			"OpBranchConditional %c %loop %out\nOpLabel %out\n" TAIL } },
		/* nothing is changed */
		{ WAIT, { .code = LOOP("OpLoad %uint %x %o\n" SWAP("%x", "%x")
				       "OpINotEqual %bool %c %y %x\n") } },
		{ WAIT, { .code = HEAD "OpVariable %own %v 7\nOpLoad %v3 %g %gid\nOpBranch %loop\n"
			  "OpLabel %loop\nOpLoad %uint %z %o\nOpStore %v %z\nOpLoad %uint %x %v\n"
			  "OpLoad %uint %w %v\n" SWAP("%w", "%x") "OpINotEqual %bool %c %y %x\n"
			  "OpBranchConditional %c %loop %out\nOpLabel %out\n" TAIL } },
		/* a lock: a constant, an argument, what was read once */
		{ WAIT, { .code = LOOP(SWAP("%c1", "%c0") "OpINotEqual %bool %c %y %c0\n") } },
		{ WAIT, { .code = LOOP(SWAP("%c1", "%n") "OpINotEqual %bool %c %y %n\n") } },
		{ WAIT, { .code = K("OpLoad %uint %x %o\n" NEXT "OpBranch %loop\nOpLabel %loop\n"
				    SWAP("%x1", "%x") "OpINotEqual %bool %c %y %x\n"
				    "OpBranchConditional %c %loop %out\nOpLabel %out\n") } },
		{ WAIT, { .code = K("OpBranch %again\nOpLabel %again\nOpLoad %uint %x %o\n" NEXT
				    "OpBranch %loop\nOpLabel %loop\n"
				    SWAP("%x1", "%x") "OpINotEqual %bool %c %y %x\n"
				    "OpBranchConditional %c %loop %more\nOpLabel %more\n"
				    "OpULessThan %bool %d %y %n\n"
				    "OpBranchConditional %d %again %out\nOpLabel %out\n") } },
		/* it goes on where it succeeds */
		{ WAIT, { .code = LOOP("OpLoad %uint %x %o\nOpBitwiseOr %uint %x1 %x %c1\n"
				       SWAP("%x1", "%x") "OpIEqual %bool %c %y %x\n") } },
		{ WAIT, { .code = LOOP("OpLoad %uint %x %o\nOpBitwiseOr %uint %x1 %x %c1\n"
				       SWAP("%x1", "%x") "OpINotEqual %bool %lost %y %x\n"
				       "OpLogicalNot %bool %c %lost\n") } },
	};

	CHECK(e);
}

/* What an exchange found, used otherwise than to see whether it succeeded. */
TEST(exchanges_that_wait)
{
	const struct expect e[] = {
		/* a bit that another has to clear */
		{ WAIT, { .code = LOOP("OpLoad %uint %x %o\nOpBitwiseOr %uint %x1 %x %c1\n"
				       SWAP("%x1", "%x") "OpBitwiseAnd %uint %b %y %c1\n"
				       "OpINotEqual %bool %c %b %c0\n") } },
		{ WAIT, { .code = LOOP("OpLoad %uint %x %o\nOpBitwiseOr %uint %x1 %x %c1\n"
				       SWAP("%x1", "%x") "OpINotEqual %bool %lost %y %x\n"
				       "OpBitwiseAnd %uint %b %y %c1\nOpINotEqual %bool %held %b %c0\n"
				       "OpLogicalOr %bool %c %lost %held\n") } },
		/* a semaphore: it goes on where there was nothing to take */
		{ WAIT, { .code = K("OpBranch %loop\nOpLabel %loop\nOpLoad %uint %x %o\n"
				    "OpISub %uint %x1 %x %c1\n" SWAP("%x1", "%x")
				    "OpIEqual %bool %won %y %x\n"
				    "OpBranchConditional %won %more %loop\nOpLabel %more\n"
				    "OpIEqual %bool %c %x %c0\n"
				    "OpBranchConditional %c %loop %out\nOpLabel %out\n") } },
		{ WAIT, { .code = K("OpBranch %loop\nOpLabel %loop\nOpLoad %uint %x %o\n"
				    "OpIEqual %bool %none %x %c0\n"
				    "OpBranchConditional %none %loop %try\nOpLabel %try\n"
				    "OpISub %uint %x1 %x %c1\n" SWAP("%x1", "%x")
				    "OpINotEqual %bool %c %y %x\n"
				    "OpBranchConditional %c %loop %out\nOpLabel %out\n") } },
		/* a bit that another has to set */
		{ WAIT, { .code = LOOP("OpLoad %uint %x %o\nOpBitwiseOr %uint %x1 %x %c1\n"
				       SWAP("%c0", "%x1") "OpINotEqual %bool %c %y %x1\n") } },
		/* read once, and set anew in each turn */
		{ WAIT, { .code = HEAD "OpVariable %own %v 7\nOpLoad %v3 %g %gid\nOpLoad %uint %z %o\n"
			  "OpBranch %loop\nOpLabel %loop\nOpStore %v %z\nOpLoad %uint %x %v\n" NEXT
			  SWAP("%x1", "%x") "OpINotEqual %bool %c %y %x\n"
			  "OpBranchConditional %c %loop %out\nOpLabel %out\n" TAIL } },
		/* the loop is the caller's */
		{ WAIT, { .code = "OpFunction %uint %f 0 %reader\nOpFunctionParameter %global %f_p\n"
			  "OpLabel %f_entry\nOpLoad %uint %f_x %f_p\nOpBitwiseOr %uint %f_1 %f_x %c1\n"
			  "OpAtomicCompareExchange %uint %f_y %f_p %c1 %c0 %c0 %f_1 %f_x\n"
			  "OpReturnValue %f_y\nOpFunctionEnd\n"
			  LOOP("OpFunctionCall %uint %x %f %o\nOpBitwiseAnd %uint %b %x %c1\n"
			       "OpINotEqual %bool %c %b %c0\n") } },
		/* read anew, but elsewhere: what it hands on is what another has to give */
		{ WAIT, { .code = LOOP("OpInBoundsPtrAccessChain %global %q %o %c1\nOpLoad %uint %x %q\n"
				       NEXT SWAP("%x1", "%x") "OpINotEqual %bool %c %y %x\n") } },
		/* one of what was read and what wasn't */
		{ WAIT, { .code = LOOP("OpLoad %uint %z %o\nOpULessThan %bool %d %z %n\n"
				       "OpSelect %uint %x %d %c1 %z\n" NEXT SWAP("%x1", "%x")
				       "OpINotEqual %bool %c %y %x\n") } },
		{ WAIT, { .code = K("OpBranch %loop\nOpLabel %loop\nOpLoad %uint %z %o\n"
				    "OpULessThan %bool %d %z %n\nOpBranchConditional %d %less %join\n"
				    "OpLabel %less\nOpBranch %join\nOpLabel %join\n"
				    "OpPhi %uint %x %z %loop %c1 %less\n" NEXT SWAP("%x1", "%x")
				    "OpINotEqual %bool %c %y %x\n"
				    "OpBranchConditional %c %loop %out\nOpLabel %out\n") } },
		{ WAIT, { .code = HEAD "OpVariable %own %v 7\nOpLoad %v3 %g %gid\nOpBranch %loop\n"
			  "OpLabel %loop\nOpLoad %uint %z %o\nOpStore %v %z\nOpStore %v %c1\n"
			  "OpLoad %uint %x %v\n" NEXT SWAP("%x1", "%x")
			  "OpINotEqual %bool %c %y %x\n"
			  "OpBranchConditional %c %loop %out\nOpLabel %out\n" TAIL } },
		/* a guess at first, and then what was found */
		{ "", { .code = K("OpBranch %loop\nOpLabel %loop\nOpPhi %uint %x %c0 %entry %y %loop\n"
				  NEXT SWAP("%x1", "%x") "OpINotEqual %bool %c %y %x\n"
				  "OpBranchConditional %c %loop %out\nOpLabel %out\n") } },
		/* the same place, computed twice */
		{ "", { .code = LOOP("OpInBoundsPtrAccessChain %global %p1 %o %n\nOpLoad %uint %x %p1\n"
				     NEXT "OpInBoundsPtrAccessChain %global %p2 %o %n\n"
				     "OpAtomicCompareExchange %uint %y %p2 %c1 %c0 %c0 %x1 %x\n"
				     "OpINotEqual %bool %c %y %x\n") } },
		{ WAIT, { .code = LOOP("OpInBoundsPtrAccessChain %global %p1 %o %c1\nOpLoad %uint %x %p1\n"
				       NEXT "OpInBoundsPtrAccessChain %global %p2 %o %n\n"
				       "OpAtomicCompareExchange %uint %y %p2 %c1 %c0 %c0 %x1 %x\n"
				       "OpINotEqual %bool %c %y %x\n") } },
		/* a greatest value: it ends by itself, and so do several of them */
		{ "", { .code = K("OpLoad %uint %first %o\nOpBranch %loop\nOpLabel %loop\n"
				  "OpPhi %uint %x %first %entry %y %try\n"
				  "OpULessThan %bool %c %x %n\n"
				  "OpBranchConditional %c %try %out\nOpLabel %try\n" SWAP("%n", "%x")
				  "OpIEqual %bool %won %y %x\n"
				  "OpBranchConditional %won %out %loop\nOpLabel %out\n") } },
		{ "", { .code = K("OpBranch %turn\nOpLabel %turn\nOpPhi %uint %i %c0 %entry %j %next\n"
				  "OpLoad %uint %first %o\nOpBranch %loop\nOpLabel %loop\n"
				  "OpPhi %uint %x %first %turn %y %try\n"
				  "OpULessThan %bool %c %x %n\n"
				  "OpBranchConditional %c %try %next\nOpLabel %try\n" SWAP("%n", "%x")
				  "OpIEqual %bool %won %y %x\n"
				  "OpBranchConditional %won %next %loop\nOpLabel %next\n"
				  "OpIAdd %uint %j %i %c1\nOpULessThan %bool %d %j %n\n"
				  "OpBranchConditional %d %turn %out\nOpLabel %out\n") } },
	};

	CHECK(e);
}

/* Counters that move on, to where the loop ends or away from there. */
TEST(counters)
{
	const struct expect e[] = {
		{ WAIT, { .code = LOOP("OpAtomicIIncrement %uint %x %o %c1 %c0\n"
				       "OpINotEqual %bool %c %x %c0\n") } },
		{ WAIT, { .code = LOOP("OpAtomicIIncrement %uint %x %o %c1 %c0\n"
				       "OpUGreaterThanEqual %bool %c %x %n\n"
				       "OpAtomicIDecrement %uint %z %o %c1 %c0\n") } },
		{ WAIT, { .code = LOOP("OpAtomicISub %uint %x %o %c1 %c0 %c1\n"
				       "OpAtomicIAdd %uint %z %o %c1 %c0 %c1\n"
				       "OpSLessThanEqual %bool %c %x %c0\n") } },
		{ WAIT, { .globals = "OpConstant %uint %less 0xffffffff\n",
			  .code = LOOP("OpAtomicIAdd %uint %x %o %c1 %c0 %less\n"
				       "OpUGreaterThan %bool %c %n %x\n") } },
		{ "", { .code = LOOP("OpAtomicISub %uint %x %o %c1 %c0 %c1\n"
				     "OpSGreaterThan %bool %c %x %c0\n") } },
		{ "", { .code = LOOP("OpAtomicIIncrement %uint %x %o %c1 %c0\n"
				     "OpUGreaterThan %bool %c %n %x\n") } },
		/* the last one does more, in a loop that ends by itself */
		{ "", { .code = K("OpBranch %loop\nOpLabel %loop\nOpPhi %uint %i %c0 %entry %j %next\n"
				  "OpAtomicIIncrement %uint %x %o %c1 %c0\nOpIEqual %bool %last %x %n\n"
				  "OpBranchConditional %last %more %next\nOpLabel %more\n"
				  "OpStore %o %c1\nOpBranch %next\nOpLabel %next\n"
				  "OpIAdd %uint %j %i %c1\nOpULessThan %bool %c %j %n\n"
				  "OpBranchConditional %c %loop %out\nOpLabel %out\n") } },
	};

	CHECK(e);
}

/* The first free place of a table, or a lock of several. */
#define PROBE(address, more) K("OpBranch %loop\nOpLabel %loop\n" \
	"OpPhi %uint %i %n %entry %next %again\nOpInBoundsPtrAccessChain %global %p %o " address "\n" \
	"OpAtomicCompareExchange %uint %y %p %c1 %c0 %c0 %n %c0\n" more \
	"OpIEqual %bool %free %y %c0\nOpBranchConditional %free %out %other\nOpLabel %other\n" \
	"OpIEqual %bool %mine %y %n\nOpBranchConditional %mine %out %again\nOpLabel %again\n" \
	"OpIAdd %uint %j %i %c1\nOpBitwiseAnd %uint %next %j %c8\nOpBranch %loop\nOpLabel %out\n")

TEST(claims)
{
	const struct expect e[] = {
		{ "", { .code = PROBE("%i", "") } },
		{ WAIT, { .code = PROBE("%n", "") } },
		{ WAIT, { .code = PROBE("%i", "OpAtomicExchange %uint %z %o %c1 %c0 %c0\n") } },
		{ WAIT, { .code = PROBE("%i", "OpAtomicStore %o %c1 %c0 %c0\n") } },
		{ WAIT, { .code = PROBE("%i", "OpMemoryBarrier %c1 %fence_global\n") } },
		{ WAIT, { .code = PROBE("%i", "OpStore %o %c0\n") } },
		{ WAIT, { .code = READER("%f", "OpStore %f_p %c0\n")
			  PROBE("%i", "OpFunctionCall %uint %z %f %o\n") } },
		{ "", { .code = READER("%f", "") PROBE("%i", "OpFunctionCall %uint %z %f %o\n") } },
	};

	CHECK(e);
}

#define ENTRIES	"OpEntryPoint 6 %k \"k\" %gid\nOpEntryPoint 6 %k2 \"other\" %gid\n"
#define OTHER(body) "OpFunction %void %k2 0 %kernel\nOpFunctionParameter %global %o2\n" \
	"OpFunctionParameter %uint %n2\nOpLabel %entry2\n" body TAIL

TEST(kernels_that_share)
{
	/* a kernel that is called would be told wrong numbers, or change its parameters */
	static const char calls[] = OTHER("OpLoad %v3 %g2 %gid\n")
		K("OpFunctionCall %void %u %k2 %o %n\n");
	const struct text called = { .entries = ENTRIES, .code = calls };
	const struct text harmless = { .entries = ENTRIES,
		.code = OTHER("") K("OpFunctionCall %void %u %k2 %o %n\n") };
	const struct text twice = { .entries = "OpEntryPoint 6 %k \"k\" %gid\n"
		"OpEntryPoint 6 %k \"other\" %gid\nOpExecutionMode %k 17 8 1 1\n", .code = K("") };
	const struct text shared = { .entries = ENTRIES, .code =
		"OpFunction %ulong %f 0 %getter\nOpFunctionParameter %uint %d\nOpLabel %l\n"
		"OpLoad %v3 %y %gid\nOpCompositeExtract %ulong %z %y 0\nOpReturnValue %z\n"
		"OpFunctionEnd\n" OTHER("OpFunctionCall %ulong %a %f %c0\n")
		PLAIN("OpFunctionCall %ulong %b %f %c0\n") };
	uint32_t i;

	EXPECT_STREQ("slice kernel-call workers kernel-call", why(&called, 0));
	EXPECT_STREQ("slice kernel-call workers kernel-call", why(&called, 1));
	EXPECT_STREQ("", why(&harmless, 0));
	EXPECT_STREQ("slice kernel-call workers kernel-call", why(&harmless, 1));
	EXPECT_STREQ("", why(&twice, 0));
	EXPECT_STREQ("", why(&twice, 1));
	EXPECT_EQ(2, res.n_kernels);
	EXPECT_EQ(8, res.kernels[1].reqd[0]);
	EXPECT_STREQ("", why(&shared, 0));
	EXPECT_STREQ("", why(&shared, 1));
	for (i = 0; i < 2; i++)
		EXPECT_FALSE(res.kernels[i].flags & GSX_CL_NATIVE);
}

TEST(sizes)
{
	const struct text by_id = { .version = V1_2,
		.entries = "OpEntryPoint 6 %k \"k\" %gid\nOpExecutionModeId %k 38 %c8 %c2 %any\n",
		.globals = "OpSpecConstant %uint %any 4\n", .code = K("") };
	const struct text unknown = { .decorations = "OpDecorate %any 1 7\n",
		.globals = "OpSpecConstant %uint %any 4\nOpTypeArray %arr %uint %any\n"
		"OpTypePointer %larr 4 %arr\nOpTypePointer %oarr 7 %arr\nOpVariable %larr %local 4\n"
		"OpTypeArray %arr4 %uint %c4\nOpTypePointer %larr4 4 %arr4\nOpVariable %larr4 %local4 4\n"
		"OpTypePointer %lptr 4 %uint\n",
		.code = HEAD "OpVariable %oarr %mine 7\nOpAccessChain %lptr %p %local %c0\n"
		"OpAccessChain %lptr %q %local4 %c0\nOpAccessChain %own %r %mine %c0\n" TAIL };
	const struct text init = { .entries = "OpEntryPoint 6 %k \"k\" %gid\nOpExecutionMode %k 33\n",
		.code = K("") };
	const struct text gives = { .globals = "OpTypeFunction %giver %uint %global %uint\n",
		.code = "OpFunction %uint %k 0 %giver\nOpFunctionParameter %global %o\n"
		"OpFunctionParameter %uint %n\nOpLabel %entry\nOpReturnValue %n\nOpFunctionEnd\n" };

	EXPECT_STREQ("", why(&by_id, 0));
	EXPECT_EQ(8, res.kernels[0].reqd[0]);
	EXPECT_EQ(2, res.kernels[0].reqd[1]);
	EXPECT_EQ(0, res.kernels[0].reqd[2]);
	EXPECT_STREQ("", why(&unknown, 0));
	EXPECT_EQ(16, res.kernels[0].local_bytes);
	EXPECT_TRUE(res.kernels[0].flags & GSX_CL_LOCAL_UNKNOWN);
	EXPECT_TRUE(res.kernels[0].flags & GSX_CL_PRIVATE_UNKNOWN);
	EXPECT_TRUE(strstr(why(&init, 0), "as the program comes or goes"));
	EXPECT_TRUE(strstr(why(&gives, 0), "returns something"));
}

TEST(sub_groups)
{
	static const char one[] = "OpTypePointer %in32 1 %uint\nOpVariable %in32 %sub 1\n";
	static const struct {
		const char *decoration;
		bool uniform;
	} c[] = {
		{ "OpDecorate %sub 11 36\n", false }, { "OpDecorate %sub 11 37\n", true },
		{ "OpDecorate %sub 11 39\n", true }, { "OpDecorate %sub 11 40\n", false },
	};
	const struct expect e[] = {
		{ "", { .code = K("OpGroupIAdd %uint %x %c2 0 %n\n") } },
		{ "workers sub-groups", { .code = K("OpGroupIAdd %uint %x %c3 0 %n\n") } },
		{ FLOW, { .globals = "OpSpecConstant %uint %any 2\n",
			  .code = K("OpGroupIAdd %uint %x %any 0 %n\n") } },
		{ FLOW, { .code = K("OpGroupIAdd %uint %x %c1 0 %n\n") } },
		{ "slice unknown-flow slice device-launch workers unknown-flow workers device-launch",
		  { .code = DOER("%f", "") K("OpGetKernelWorkGroupSize %uint %x %f %n %n %n\n") } },
	};
	uint32_t i;

	CHECK(e);
	for (i = 0; i < sizeof(c) / sizeof(*c); i++) {
		const struct text t = { .decorations = c[i].decoration, .globals = one,
			.code = K("OpLoad %uint %x %sub\n") };

		EXPECT_STREQ("workers sub-groups", why(&t, 0));
		EXPECT_EQ(c[i].uniform, !!(res.kernels[0].flags & GSX_CL_UNIFORM));
	}
}

/* From 1.4 on an entry point lists all variables that it uses; before, inputs alone. */
TEST(interfaces)
{
	static const uint32_t versions[] = { V1_0, V1_2, V1_4 };
	uint32_t i, mode, at, len, *w, n;

	for (i = 0; i < 3; i++) {
		const struct text t = { .version = versions[i], .code = K(""),
			.entries = "OpEntryPoint 6 %k \"k\" %gid\n" };

		ASSERT_EQ(0, cut(&t));
		for (mode = 0; mode < GSX_MODES; mode++) {
			if (!res.module[mode])
				continue;
			w = res.module[mode];
			n = 0;
			for (at = 5; at < res.len[mode] / 4; at += w[at] >> 16)
				if ((w[at] & 0xffff) == 15)
					n = at;
			ASSERT_NE(0, n);
			len = w[n] >> 16;
			/* the word of what it is, kernel, "k"; the group's number and more */
			if (mode == GSX_SLICE)
				EXPECT_EQ(4 + 1, len);
			else	/* local id, local size, number of groups; and the next group */
				EXPECT_EQ(4 + 4 + (versions[i] >= V1_4), len);
		}
	}
}

/* Branches of all kinds, with values that come of them, stay as they are. */
TEST(branches_stay)
{
	const struct text t = { .globals = "OpConstant %ulong %big 5 1\n", .code =
		HEAD "OpVariable %own %v 7\nOpLoad %v3 %g %gid\nOpCompositeExtract %ulong %x %g 0\n"
		"OpSwitch %x %other 5 1 %five 6 0 %six\nOpLabel %five\nOpBranch %out\n"
		"OpLabel %six\nOpBranch %out\nOpLabel %other\nOpBranch %out\nOpLabel %out\n"
		"OpPhi %uint %y %c1 %five %c2 %six %c3 %other\nOpStore %o %y\n" TAIL };
	uint32_t mode, at, *w, found;

	ASSERT_EQ(0, cut(&t));
	EXPECT_EQ(BOTH, res.kernels[0].modes);
	for (mode = 0; mode < GSX_MODES; mode++) {
		if (!res.module[mode])
			continue;
		w = res.module[mode];
		for (at = 5, found = 0; at < res.len[mode] / 4; at += w[at] >> 16)
			found |= (w[at] & 0xffff) == 251 && w[at] >> 16 == 9 && w[at + 3] == 5 &&
				w[at + 4] == 1 && w[at + 6] == 6;
		EXPECT_TRUE(found);
	}
}

/* Ids are there up to the specification's limit, and no further. */
TEST(the_last_ids)
{
	const struct text t = { .code = K("") };
	const struct gsx_spv_options opt = { .modes = BOTH, .max_memory = 1u << 30 };

	ASSERT_EQ(0, cut(&t));
	m.w[3] = 0x3fffff;
	gsx_spv_result_free(&res);
	EXPECT_EQ(-E2BIG, gsx_spv_transform(m.w, m.n * 4, &opt, &res));
	EXPECT_TRUE(strstr(res.error, "too many ids"));
	m.w[3] = 0x3fffff - 200;
	gsx_spv_result_free(&res);
	EXPECT_EQ(0, gsx_spv_transform(m.w, m.n * 4, &opt, &res));
}

TEST_MAIN()
