// SPDX-License-Identifier: MIT
/* Tokens: each kind, where they lie, what ends them, and texts that no one would write. */
#include "harness.h"
#include "lex.h"

/* "kind:spelling" of each token, ^ before those first on a line, _ before spaced ones. */
static const char *tokens(const char *text)
{
	static const char kind_name[] = "eNdscpo";
	static char out[4096];
	uint32_t len = strlen(text), at = 0;
	uint32_t *splice = malloc((lex_count_splices(text, len) + 1) * sizeof(*splice));
	char *clean = malloc(len + 1);
	struct lex_token t;
	struct lex l;

	len = lex_unsplice(text, len, clean, splice);
	lex_init(&l, clean, len, splice);
	for (lex_next(&l, &t); t.kind != LEX_END; lex_next(&l, &t))
		at += snprintf(out + at, sizeof(out) - at, "%s%s%s%c:%.*s", at ? " " : "",
			       t.flags & LEX_LINE ? "^" : "", t.flags & LEX_SPACE ? "_" : "",
			       kind_name[t.kind], (int)t.len, clean + t.pos);
	out[at] = 0;
	free(clean);
	free(splice);
	return out;
}

TEST(kinds)
{
	EXPECT_STREQ("^N:a _d:1 _s:\"x\" _c:'y' _p:+ _o:@", tokens("a 1 \"x\" 'y' + @"));
	EXPECT_STREQ("^N:_$x1 _s:L\"w\" _c:L'w' _N:Lx", tokens("_$x1 L\"w\" L'w' Lx"));
	EXPECT_STREQ("^N:u8 s:\"x\"", tokens("u8\"x\""));
	EXPECT_STREQ("", tokens(""));
	EXPECT_STREQ("", tokens(" \t\n/* */ // x"));
}

TEST(numbers)
{
	EXPECT_STREQ("^d:0x1.8p-3f _d:1e+5 _d:.5 _d:1.2.3 _d:12ab_c",
		     tokens("0x1.8p-3f 1e+5 .5 1.2.3 12ab_c"));
	EXPECT_STREQ("^d:1 p:+ d:2 _d:0xe+1 _p:. p:. N:x", tokens("1+2 0xe+1 ..x"));
}

TEST(punctuators)
{
	EXPECT_STREQ("^p:<<= p:>>= p:... p:-> p:++ p:-- p:<< p:>> p:<= p:>= p:== p:!= p:&& p:||",
		     tokens("<<=>>=...->++--<<>><=>===!=&&||"));
	EXPECT_STREQ("^p:*= p:/= p:%= p:+= p:-= p:&= p:^= p:|= p:## p:#", tokens("*=/=%=+=-=&=^=|=###"));
	EXPECT_STREQ("^N:x p:++ p:++ p:+ N:y", tokens("x+++++y"));
	EXPECT_STREQ("^p:<: p:<% p:%:%: p:%:", tokens("<:<%%:%:%:"));
}

TEST(digraphs_mean_what_they_stand_for)
{
	static const uint16_t want[] = { '[', ']', '{', '}', '#', LEX_PASTE };
	const char *text = "<: :> <% %> %: %:%:";
	struct lex_token t;
	struct lex l;

	lex_init(&l, text, strlen(text), NULL);
	for (int i = 0; i < 6; i++) {
		lex_next(&l, &t);
		EXPECT_EQ(want[i], t.punct);
	}
	lex_next(&l, &t);
	EXPECT_EQ(LEX_END, t.kind);
	lex_next(&l, &t);
	EXPECT_EQ(LEX_END, t.kind);
}

TEST(quotes)
{
	EXPECT_STREQ("^s:\"a\\\"b\" _c:'\\'' _s:\"//\" _s:\"/*\"", tokens("\"a\\\"b\" '\\'' \"//\" \"/*\""));
	EXPECT_STREQ("^N:don o:'t /* x ^_N:y", tokens("don't /* x\ny"));
	EXPECT_STREQ("^o:\" ^_N:x", tokens("\"\nx"));
	EXPECT_STREQ("^o:\"", tokens("\""));
	EXPECT_STREQ("^o:\"a\\", tokens("\"a\\"));
}

TEST(comments_are_space)
{
	EXPECT_STREQ("^N:a _N:b ^_N:c", tokens("a/**/b//d\nc"));
	EXPECT_STREQ("^N:a ^_N:c", tokens("a/\\\n/=b\nc"));
	EXPECT_STREQ("^N:a ^_N:b", tokens("a // x\\\n y\nb"));
	EXPECT_STREQ("^N:a _p:* p:/ N:b", tokens("a /***/*/b"));
	EXPECT_STREQ("^N:a _N:b", tokens("a /\\\n* x *\\\n/ b"));
}

TEST(an_open_comment_is_told)
{
	const char *text = "a\n\nb /* c\n\n";
	struct lex_token t;
	struct lex l;

	lex_init(&l, text, strlen(text), NULL);
	lex_next(&l, &t);
	lex_next(&l, &t);
	EXPECT_EQ(0, l.open_line);
	lex_next(&l, &t);
	EXPECT_EQ(LEX_END, t.kind);
	EXPECT_EQ(3, l.open_line);
}

/* The line of each name of one letter in @text, as "a1 b3". */
static const char *lines(const char *text)
{
	static char out[512];
	uint32_t len = strlen(text), at = 0, splice[32];
	char clean[512];
	struct lex_token t;
	struct lex l;

	len = lex_unsplice(text, len, clean, splice);
	lex_init(&l, clean, len, splice);
	for (lex_next(&l, &t); t.kind != LEX_END; lex_next(&l, &t))
		at += snprintf(out + at, sizeof(out) - at, "%s%c%u", at ? " " : "",
			       clean[t.pos], t.line);
	out[at] = 0;
	return out;
}

TEST(lines_are_those_of_the_file)
{
	EXPECT_STREQ("a1 b2 c3", lines("a\nb\nc"));
	EXPECT_STREQ("a1 b2 c3 d4", lines("a\r\nb\rc\nd"));
	EXPECT_STREQ("a1 b2 c3 d4", lines("a\\\n b\\ \t\r\n c\nd"));
	EXPECT_STREQ("a1 b4 c5", lines("a/*\n\r\n\r*/b\n c"));
	EXPECT_STREQ("a1 b3", lines("\xef\xbb\xbf" "a\\\n\\\n b"));
	EXPECT_STREQ("a1 x3 b5", lines("a /* \\\n */ \\\nx // \\\n\nb"));
}

TEST(a_byte_order_mark_is_passed_over)
{
	EXPECT_STREQ("^_p:# N:define", tokens("\xef\xbb\xbf#define"));
}

TEST(splices_join_what_they_split)
{
	EXPECT_STREQ("^N:abc _d:12", tokens("a\\\nb\\\r\nc 1\\\n2"));
	EXPECT_STREQ("^p:<<= _o:\\ N:x", tokens("<\\\n<\\\n= \\x"));
	EXPECT_STREQ("^s:\"ab\"", tokens("\"a\\\nb\""));
	EXPECT_EQ(0, lex_count_splices("\\a\\ b", 5));
	EXPECT_EQ(2, lex_count_splices("\\\\\n\\ \n", 6));
}

TEST(a_line_is_skipped_with_its_comments)
{
	const char *text = "x a ' /* \n y \"/*\" /* \n\n */ z // /* \n w";
	struct lex_token t;
	struct lex l;

	lex_init(&l, text, strlen(text), NULL);
	lex_next(&l, &t);
	lex_skip_line(&l);
	lex_next(&l, &t);
	EXPECT_EQ('y', text[t.pos]);
	EXPECT_TRUE(t.flags & LEX_LINE);
	EXPECT_EQ(2, t.line);
	lex_skip_line(&l);
	lex_next(&l, &t);
	EXPECT_EQ('w', text[t.pos]);
	EXPECT_EQ(5, t.line);
}

/* Any bytes: tokens lie in order inside the text, gaps hold white space only. */
TEST(any_bytes_give_tokens_in_order)
{
	static const char bits[] = "ab1.\"'\\/*\n\r #<%:>=+-&|^!?@`L\0\x80(),";
	uint32_t seed = 1, splice[257];
	char text[256], clean[256];

	for (int round = 0; round < 20000; round++) {
		uint32_t len, n = 0, end = 0;
		struct lex_token t;
		struct lex l;

		len = round % sizeof(text);
		for (uint32_t i = 0; i < len; i++) {
			seed = seed * 1664525 + 1013904223;
			text[i] = bits[(seed >> 16) % (sizeof(bits) - 1)];
		}
		len = lex_unsplice(text, len, clean, splice);
		lex_init(&l, clean, len, splice);
		for (lex_next(&l, &t); t.kind != LEX_END; lex_next(&l, &t)) {
			ASSERT_GE(t.pos, end);
			ASSERT_TRUE(t.len);
			ASSERT_EQ(!!(t.flags & LEX_SPACE), t.pos > end);
			end = t.pos + t.len;
			ASSERT_LE(end, len);
			ASSERT_LE(++n, len);
		}
	}
}

TEST_MAIN()
