// SPDX-License-Identifier: MIT
/*
 * Any bytes as a configuration: told or taken, and what is taken can be written
 * and taken again with the same meaning.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct gs_section *s, const struct gs_setting *set)
{
	struct gpushare_share a = { 0 }, b = { 0 };
	struct gpushare_device c, d;
	char value[GS_VALUE], again[GS_VALUE], why[256];

	gs_device_defaults(&c);
	gs_device_defaults(&d);
	if (s->device) {
		if (gs_device_parse(&c, set->prop, set->value, why, sizeof(why)))
			abort();
		gs_device_format(&c, set->prop, value);
		if (gs_device_parse(&d, set->prop, value, why, sizeof(why)))
			abort();
		gs_device_format(&d, set->prop, again);
	} else {
		if (gs_share_parse(&a, set->prop, set->value, 1 << 30, why, sizeof(why)))
			abort();
		if (!a.mask)
			return;
		gs_share_format(&a, set->prop, value);
		if (gs_share_parse(&b, set->prop, value, 0, why, sizeof(why)) ||
		    !gs_share_same(&a, &b, set->prop->mask))
			abort();
		gs_share_format(&b, set->prop, again);
	}
	if (strcmp(value, again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_config config = { 0 }, unit = { 0 };
	unsigned int k;
	size_t i;

	gs_config_parse_unit(&unit, "x", (const char *)data, size, NULL);
	gs_config_free(&unit);
	if (!gs_config_parse(&config, "x", (const char *)data, size, NULL))
		for (i = 0; i < config.nr; i++)
			for (k = 0; k < config.sections[i].nr_settings; k++)
				check(&config.sections[i], &config.sections[i].settings[k]);
	gs_config_free(&config);
	return 0;
}
