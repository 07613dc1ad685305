// SPDX-License-Identifier: MIT
/* What the contract's structs mean to the arbiter, for both of its hosts. */
#include <linux/gpushare.h>

#include "kmod/contract/contract.h"
#include "bed.h"

static struct bed b;

static struct gs_device *sized(u64 bytes, u32 seats)
{
	struct gs_device_conf conf;

	bed_init(&b);
	gs_device_conf_init(&conf);
	conf.mem_capacity = bytes;
	conf.seats = seats;
	conf.threads = 1024;
	conf.local_mem = 64 << 10;
	return bed_device(&b, &conf);
}

TEST(a_profile_is_what_was_said)
{
	struct gpushare_describe d = {
		.threads = 256, .registers = 8192, .local_bytes = 16 << 10, .groups = 1000,
		.group_ns = 1000000,
	};
	struct gs_profile p = { 0 };
	u32 i;

	sized(0, 1);
	EXPECT_EQ(0, gs_contract_profile(&p, &d, &b.dev[0].conf));
	EXPECT_EQ(256u, p.threads);
	EXPECT_EQ(8192u, p.regs);
	EXPECT_EQ(16u << 10, p.local_mem);
	EXPECT_EQ(1000u, p.blocks);
	EXPECT_EQ((u32)GS_PROFILE_POINTS, p.points);
	for (i = 0; i < p.points; i++)
		EXPECT_EQ(1000ull << i, p.rate[i]);	/* each worker does what one does */
	d.group_ns = 0;
	EXPECT_EQ(0, gs_contract_profile(&p, &d, &b.dev[0].conf));
	EXPECT_EQ(0u, p.points);
	bed_end(&b);
}

TEST(what_fits_no_unit_changes_nothing)
{
	struct gpushare_describe d = { .threads = 1025, .groups = 7 };
	struct gs_profile p = { .blocks = 5 };

	sized(0, 1);
	EXPECT_EQ(-ERANGE, gs_contract_profile(&p, &d, &b.dev[0].conf));
	d.threads = 1024;
	d.local_bytes = (64 << 10) + 1;
	EXPECT_EQ(-ERANGE, gs_contract_profile(&p, &d, &b.dev[0].conf));
	EXPECT_EQ(5u, p.blocks);
	bed_end(&b);
}

TEST(memory_that_isnt_there)
{
	struct gs_device *dev = sized(1 << 20, 1);
	struct gs_client *c = &bed_tenant(&b, NULL, dev, US)->c;
	u64 total, whose;

	EXPECT_EQ(0, gs_contract_memory(c, GPUSHARE_MEM_CHARGE, 10, b.now));
	EXPECT_EQ(-ENOMEM, gs_contract_memory(c, GPUSHARE_MEM_CHARGE, 1 << 20, b.now));
	EXPECT_EQ(-ENOMEM, gs_contract_memory(c, GPUSHARE_MEM_CHARGE, ~0ull, b.now));
	EXPECT_EQ(-ENOMEM, gs_contract_memory(c, GPUSHARE_MEM_CHARGE, ~0ull - 9, b.now));
	EXPECT_EQ(-ERANGE, gs_contract_memory(c, GPUSHARE_MEM_UNCHARGE, 11, b.now));
	EXPECT_EQ(-ERANGE, gs_contract_memory(c, GPUSHARE_MEM_SWAP_OUT, 11, b.now));
	EXPECT_EQ(-ERANGE, gs_contract_memory(c, GPUSHARE_MEM_SWAP_IN, 1, b.now));
	EXPECT_EQ(-EOPNOTSUPP, gs_contract_memory(c, 77, 1, b.now));
	EXPECT_EQ((1u << 20) - 10u, gs_contract_available(c, &total, &whose));
	EXPECT_EQ(1u << 20, total);
	EXPECT_EQ(0u, whose);
	EXPECT_EQ(0, gs_contract_memory(c, GPUSHARE_MEM_UNCHARGE, 10, b.now));
	bed_end(&b);
}

TEST(whose_limit_is_in_the_way)
{
	struct gs_device *dev = sized(1 << 20, 1);
	struct gs_group *g = bed_group(&b, NULL, 100);
	struct gs_client *c = &bed_tenant(&b, g, dev, US)->c;
	u64 total, whose;

	bed_set(&b, g, SHARE(.mem_max = 4096), GS_SHARE_MEM_MAX);
	EXPECT_EQ(4096u, gs_contract_available(c, &total, &whose));
	EXPECT_EQ(4096u, total);
	EXPECT_EQ(g->id, whose);
	bed_end(&b);
}

TEST_MAIN()
