// SPDX-License-Identifier: MIT
/* gsxform for SPIR-V modules. */
#include <errno.h>
#include <string.h>

#include <gsspirv.h>

#include "gsxform.h"

static int write_shadow(struct command *c, const char *name, const struct gsx_spv_result *res)
{
	uint32_t m;

	for (m = 0; m < GSX_MODES; m++)
		if (c->opt.modes == GSX_BIT(m) && res->module[m])
			return write_file(c->output, res->module[m], res->len[m]);
	if (c->opt.modes & (c->opt.modes - 1))
		return complain(name, "-o takes one mode of SPIR-V: -m slice or -m workers");
	return complain(name, "no kernel is rewritten for this mode, so there is nothing to write");
}

int spv_file(struct command *c, const char *name, const void *module, size_t len)
{
	const struct gsx_spv_options opt = { .file = name, .modes = c->opt.modes };
	struct gsx_spv_result res;
	int err = gsx_spv_transform(module, len, &opt, &res), rc = 0;

	if (err) {
		fprintf(stderr, "gsxform: %s\n", res.error ? res.error : strerror(-err));
		rc = 1;
	} else {
		cl_report(c, name, res.kernels, res.n_kernels, "word");
		if (c->output)
			rc = write_shadow(c, name, &res);
	}
	gsx_spv_result_free(&res);
	return rc;
}
