// SPDX-License-Identifier: MIT
/* The front end: what the tree says of a text, and how it refuses others. */
#include <errno.h>

#include "xform/ptx/ptx.h"
#include "harness.h"

#define HEAD ".version 8.3\n.target sm_90a, debug\n.address_size 64\n"

/* Numbers of all widths meet here. */
#define EQ(a, b)	EXPECT_EQ((uint64_t)(a), (uint64_t)(b))
#define NE(a, b)	EXPECT_NE((uint64_t)(a), (uint64_t)(b))
#define MUST(a, b)	ASSERT_EQ((uint64_t)(a), (uint64_t)(b))

static struct ptx_module m;

static int parse(const char *text)
{
	return ptx_parse(&m, text, strlen(text), "t", 1 << 20);
}

static void good(const char *text)
{
	int err = parse(text);

	if (err)
		test_fail("line %u: %s", m.err_line, m.err_text);
	MUST(0, err);
}

static void bad(const char *text, int err, uint32_t line)
{
	EQ(err, parse(text));
	EQ(line, m.err_line);
	EXPECT_TRUE(m.err_text[0]);
	ptx_free(&m);
}

static bool is(uint32_t sym, const char *name)
{
	return ptx_is(&m, sym, name);
}

/* The nth instruction of function f. */
static const struct ptx_stmt *instr(uint32_t f, uint32_t n)
{
	const struct ptx_function *fn = &m.functions[f];
	uint32_t i;

	for (i = fn->body; i < fn->body + fn->n_body; i++)
		if (m.stmts[i].kind == PTX_INSTR && !n--)
			return &m.stmts[i];
	test_fail("no such instruction");
	test_end(1);
}

static const struct ptx_operand *arg(uint32_t f, uint32_t n, uint32_t i)
{
	const struct ptx_operand *o = ptx_arg(&m, instr(f, n), i);

	ASSERT_TRUE(o);
	return o;
}

TEST(directives)
{
	good(HEAD ".file 1 \"a.cu\"\n.pragma \"nounroll\";\n"
	     ".visible .global .align 8 .u64 tab[2][3] = {{1, 2, 3}, {4, f, generic(tab)+8}};\n"
	     ".extern .shared .align 16 .b8 dyn[];\n"
	     ".weird thing { 1; 2 };\n"
	     ".func f;\n"
	     ".const .f32 c = 0f3F800000;\n"
	     ".section .debug_info\n{\n.b8 1\n.b64 $L\n}\n");
	EQ(803, m.version);
	EQ(90, m.target);
	EQ('a', m.target_suffix);
	EXPECT_TRUE(m.debug);
	EQ('.', m.text[m.tail]);
	EXPECT_TRUE(!strncmp(m.text + m.tail, ".section", 8));
	MUST(3, m.n_vars);
	EQ(48, m.vars[0].size);
	EQ(8, m.vars[0].align);
	EQ(PTX_VISIBLE, m.vars[0].linkage);
	EQ(2, m.operands[m.vars[0].init].n_children);
	EQ(0, m.vars[1].size);
	EXPECT_TRUE(m.vars[1].array);
	EQ(0x3f800000, m.operands[m.vars[2].init].imm);
	ptx_free(&m);
}

TEST(parameters)
{
	good(HEAD ".visible .entry k(.param .u32 a, .param .u64 .ptr .global .align 16 p,\n"
	     ".param .align 4 .b8 s[6], .param .u64 q)\n.maxntid 8, 4, 2\n.minnctapersm 3\n{ret;}\n"
	     ".func (.param .b32 r) g(.reg .b32 %x, .param .b8 v[]) .noreturn { exit; }\n");
	MUST(2, m.n_functions);
	EXPECT_TRUE(m.functions[0].entry);
	EQ(4, m.functions[0].n_params);
	EQ(32, m.functions[0].param_bytes);
	EQ(8, m.vars[m.functions[0].params + 1].offset);
	EXPECT_TRUE(m.vars[m.functions[0].params + 1].pointer);
	EQ(16, m.vars[m.functions[0].params + 2].offset);
	EQ(24, m.vars[m.functions[0].params + 3].offset);
	EQ(64, m.functions[0].max_threads);
	EQ(3, m.functions[0].min_ctas);
	EXPECT_TRUE(m.functions[1].variadic);
	EQ(1, m.functions[1].n_rets);
	EXPECT_FALSE(m.functions[1].entry);
	ptx_free(&m);
}

TEST(scopes_hide_and_show_again)
{
	good(HEAD ".entry k { .reg .b32 %r<9>; .reg .b32 a;\n"
	     "mov.u32 %r1, a;\n"
	     "{ .reg .f32 %r<2>; .reg .b64 a; mov.u32 %r1, a; mov.u32 %r5, a; }\n"
	     "mov.u32 %r1, a; mov.u32 %r9, %r05; }\n");
	EQ(PTX_REG, arg(0, 0, 0)->kind);
	EQ(PTX_T_B32, m.regs[arg(0, 0, 0)->ref].type);
	EQ(PTX_T_F32, m.regs[arg(0, 1, 0)->ref].type);
	EQ(PTX_T_B64, m.regs[arg(0, 1, 1)->ref].type);
	EQ(PTX_T_B32, m.regs[arg(0, 2, 0)->ref].type);
	EQ(arg(0, 0, 0)->ref, arg(0, 3, 0)->ref);
	EQ(arg(0, 0, 1)->ref, arg(0, 3, 1)->ref);
	NE(arg(0, 0, 0)->ref, arg(0, 1, 0)->ref);
	NE(PTX_REG, arg(0, 4, 0)->kind);		/* beyond the range */
	NE(PTX_REG, arg(0, 4, 1)->kind);		/* not a name of it */
	ptx_free(&m);
}

TEST(parameters_end_with_their_function)
{
	good(HEAD ".func (.param .b32 r) f(.param .b32 a) { st.param.b32 [r], 1; ret; }\n"
	     ".entry k { st.param.b32 [r], a; }\n");
	EQ(PTX_VARIABLE, m.operands[arg(0, 0, 0)->child].kind);
	EQ(PTX_NAME, m.operands[arg(1, 0, 0)->child].kind);
	EQ(PTX_NAME, arg(1, 0, 1)->kind);
	ptx_free(&m);
}

TEST(labels)
{
	const struct ptx_label *l;

	good(HEAD ".entry k { .reg .b32 %r<2>; .reg .pred p;\n"
	     "A: bra B;\n{ A: bra A; bra B; }\nbra A; B: @!p bra A;\n"
	     "T: .branchtargets A, B;\nbrx.idx %r1, T; }\n");
	l = m.labels;
	EQ(PTX_LABEL, arg(0, 0, 0)->kind);
	EXPECT_TRUE(is(l[arg(0, 0, 0)->ref].sym, "B"));
	NE(arg(0, 1, 0)->ref, arg(0, 3, 0)->ref);
	EQ(arg(0, 0, 0)->ref, arg(0, 2, 0)->ref);
	EQ(1, instr(0, 4)->pred_not);
	NE(PTX_NONE, instr(0, 4)->pred);
	EQ(PTX_LABEL, arg(0, 5, 1)->kind);
	EQ(3, l[arg(0, 3, 0)->ref].uses);
	ptx_free(&m);
}

TEST(operands)
{
	const struct ptx_operand *o;

	good(HEAD ".global .u32 v[8]; .entry k { .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .pred p, q;\n"
	     "ld.global.v2.u32 {%r1, _}, [%d1+-8];\n"
	     "setp.lt.and.s32 p|q, %r1, -5, !p;\n"
	     "tex.2d.v4.f32.s32 {%r1,%r2,%r3,%r4}, [v, {%r5, %r6}];\n"
	     "mov.u32 %r1, %ctaid.y; mov.u32 %r1, %envreg12; mov.u32 %r1, v+4;\n"
	     "mov.b32 %r1, 0x7fU; mov.f32 %r1, -1.5e1; mov.b32 %r1, (1+2)*3<<1;\n"
	     "cp .async.ca .shared::cta.global [%r1], [%d1], 16;\n"
	     "vadd.u32.u32.u32 %r1, %r2.b3, -%r3.h1; mov.u32 %r1, v[2];\n"
	     "made.up.thing %r1, %tid.x; }\n");
	o = arg(0, 0, 0);
	EQ(PTX_VECTOR, o->kind);
	EQ(2, o->n_children);
	EQ(PTX_SINK, m.operands[o->child + 1].kind);
	o = &m.operands[arg(0, 0, 1)->child];
	EQ(PTX_REG, o->kind);
	EQ(-8, (int64_t)o->imm);
	EQ(PTX_PAIR, arg(0, 1, 0)->kind);
	EQ(-5, (int64_t)arg(0, 1, 2)->imm);
	EQ(1, arg(0, 1, 3)->not);
	EQ(2, arg(0, 2, 1)->n_children);
	EQ(PTX_SPECIAL, arg(0, 3, 1)->kind);
	EQ(PTX_SR_ctaid, arg(0, 3, 1)->ref);
	EQ('y', arg(0, 3, 1)->component);
	EQ(PTX_SR_envreg, arg(0, 4, 1)->ref);
	EQ(12, arg(0, 4, 1)->imm);
	EQ(PTX_VARIABLE, arg(0, 5, 1)->kind);
	EQ(4, arg(0, 5, 1)->imm);
	EQ(127, arg(0, 6, 1)->imm);
	EQ(PTX_F64, arg(0, 7, 1)->kind);
	EQ(0xc02e000000000000, arg(0, 7, 1)->imm);
	EQ(18, arg(0, 8, 1)->imm);
	EQ(PTX_OP_cp, ptx_opcode(&m, instr(0, 9))->op);
	EXPECT_TRUE(ptx_has_mod(ptx_opcode(&m, instr(0, 9)), "shared::cta"));
	EQ('b', arg(0, 10, 1)->component);
	EQ(3, arg(0, 10, 1)->select);
	EQ(1, arg(0, 10, 2)->neg);
	EQ(PTX_INDEX, arg(0, 11, 1)->kind);
	EQ(PTX_OP_OTHER, ptx_opcode(&m, instr(0, 12))->op);
	ptx_free(&m);
}

TEST(calls)
{
	good(HEAD ".func (.param .b32 r) f(.param .b32 a) { ret; }\n.extern .func g;\n"
	     ".entry k { .reg .b64 %d<2>; .param .b32 x, y;\n"
	     "call.uni (x), f, (y);\ncall g;\nmov.u64 %d1, f;\n"
	     "P: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (x), %d1, (y), P; }\n");
	EQ(0, ptx_call_target(&m, instr(2, 0)));
	EQ(1, ptx_call_target(&m, instr(2, 1)));
	EQ(PTX_NONE, ptx_call_target(&m, instr(2, 3)));
	EQ(1, m.functions[0].address_taken);
	EQ(0, m.functions[1].address_taken);
	EQ(PTX_LABEL, arg(2, 3, 3)->kind);
	ptx_free(&m);
}

TEST(statements_keep_their_text)
{
	const struct ptx_stmt *s;

	good(HEAD ".entry k {\n\tadd.u32 %r1,\n  %r2, 3;  // note\n"
	     ".loc 1 2 3, inlined_at 1 2 3\nL: ret; }\n");
	s = instr(0, 0);
	EQ(5, s->line);
	EQ(22, s->end - s->begin);
	EQ(0, strncmp(m.text + s->begin, "add.u32 %r1,\n  %r2, 3;", 22));
	s++;
	EQ(PTX_LOC, s->kind);
	EQ(0, strncmp(m.text + s->end - 2, " 3\n", 3));
	EQ(PTX_MARK, s[1].kind);
	ptx_free(&m);
}

TEST(many_of_everything)
{
	static char text[4 << 20];
	char *t = text;
	int i;

	t += sprintf(t, HEAD);
	for (i = 0; i < 1000; i++)
		t += sprintf(t, ".global .u32 v%d; .func f%d;\n", i, i);
	t += sprintf(t, ".entry k { .reg .b32 ");
	for (i = 0; i < 1000; i++)
		t += sprintf(t, "%sx%d", i ? "," : "", i);
	t += sprintf(t, ";\n.reg .b32 ");
	for (i = 0; i < 1000; i++)
		t += sprintf(t, "%sy%dy<10>", i ? "," : "", i);
	t += sprintf(t, ";\n");
	for (i = 0; i < 1000; i++)
		t += sprintf(t, "L%d: op%d.x%d x%d, y%dy3, v%d, f%d, L%d;\n{ .reg .b32 x%d; }\n",
			     i, i, i, i, i, i, i, 999 - i, i);
	t += sprintf(t, "}\n");
	EXPECT_EQ(0, ptx_parse(&m, text, t - text, "t", 64 << 20));
	EQ(1001, m.n_functions);
	EQ(1000, m.n_opcodes);
	EQ(1000, m.n_labels);
	EQ(3000, m.n_regs);
	EQ(PTX_LABEL, arg(1000, 0, 4)->kind);
	EXPECT_TRUE(is(m.labels[arg(1000, 0, 4)->ref].sym, "L999"));
	EXPECT_TRUE(is(m.regs[arg(1000, 7, 1)->ref].sym, "y7y3"));
	ptx_free(&m);
}

TEST(refusals_say_the_line)
{
	bad("", -EINVAL, 1);
	bad("hello", -EINVAL, 1);
	bad(".version 9.", -EINVAL, 1);
	bad(".version 9.x", -EINVAL, 1);
	bad(HEAD ".entry k {\n  add.u32 %r1, %r2\n}\n", -EINVAL, 6);
	bad(HEAD "\n.entry k { ret;\n", -EINVAL, 6);
	bad(HEAD ".entry k {\n  mov.u32 %r1, 0xzz;\n}\n", -EINVAL, 5);
	bad(HEAD ".entry k {\n  A: ret;\n A: ret; }\n", -EINVAL, 6);
	bad(HEAD ".entry k { ret; }\n.entry k { ret; }\n", -EINVAL, 5);
	bad(HEAD ".global .u32 a[1099511627776][1099511627776];\n", -EINVAL, 4);
	bad(HEAD ".entry k(.param .u32 a,\n) { ret; }\n", -EINVAL, 5);
	bad(HEAD ".pragma \"open;\n", -EINVAL, 4);
	bad(HEAD ".section .debug {\n", -EINVAL, 5);
	bad(HEAD "\n/* on and on\n", -EINVAL, 5);
}

TEST(depth_and_memory_are_limited)
{
	static char text[1 << 20];
	size_t n;

	n = sprintf(text, HEAD ".entry k {");
	memset(text + n, '{', 200000);
	EQ(-E2BIG, parse(text));
	ptx_free(&m);
	n = sprintf(text, HEAD ".entry k { mov.u32 %%r1, ");
	memset(text + n, '{', 200000);
	EQ(-E2BIG, parse(text));
	ptx_free(&m);
	memset(text + n, '(', 200000);
	EQ(-E2BIG, parse(text));
	ptx_free(&m);
	memset(text + n, '-', 200000);
	EQ(-E2BIG, parse(text));
	ptx_free(&m);
	n = sprintf(text, HEAD ".entry k {");
	for (; n < sizeof(text) - 16; n += 5)
		memcpy(text + n, "ret; ", 6);
	EQ(-E2BIG, parse(text));
	EXPECT_TRUE(m.memory <= 1 << 20);
	ptx_free(&m);
}

TEST_MAIN()
