// SPDX-License-Identifier: MIT
#include "unit.h"

struct mem_block *out, *in;

uint32_t draw(uint32_t n)
{
	static uint32_t seed = 20261122;

	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

void prepare(void)
{
	uint32_t k;

	if (!out) {
		out = mem_alloc(0, WORDS * 4, MEM_DEVICE, NULL);
		in = mem_alloc(0, WORDS * 4, MEM_DEVICE, NULL);
		ASSERT_TRUE(out && in);
	}
	for (k = 0; k < WORDS; k++) {
		((uint32_t *)in->host)[k] = 0;
		((uint32_t *)out->host)[k] = 0xdead;
	}
}

enum fault run_grid(const char *text, uint32_t blocks, uint32_t cluster, uint32_t threads,
		    uint64_t x)
{
	uint64_t params[3] = { out->addr, in->addr, x };
	uint32_t block[3] = { threads, 1, 1 }, dim[3] = { blocks, 1, 1 };
	uint32_t group[3] = { cluster, 1, 1 };
	enum fault fault;
	struct program p;
	struct grid *g;

	dev.limit = 10000000;
	if (program_decode(&p, text, strlen(text), "unit", &p)) {
		snprintf(dev.fault_text, sizeof(dev.fault_text), "%s", p.error);
		return FAULT_INSTRUCTION;
	}
	g = grid_make(program_entry(&p, "k"), dim, block, group, 0, params, false, 0);
	ASSERT_TRUE(g);
	while (!grids_step(&g, 1, 100000))
		;
	fault = g->fault;
	grid_free(g);
	mem_free_owner(&p);
	program_free(&p);
	return fault;
}

bool run(const char *text, uint32_t threads, uint64_t x)
{
	bool ok = run_grid(text, 1, 1, threads, x) == FAULT_NONE;

	if (!ok)
		test_fail("%s", dev.fault_text);
	return ok;
}
