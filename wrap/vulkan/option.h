/* SPDX-License-Identifier: MIT */
/*
 * GPUSHARE_CUT=auto|off|whole|slice[,random=SEED]: cut what is long (the default), nothing
 * (off and whole: each submission waits for the grant as it is), or everything; random:
 * at random places, for tests.
 */
#ifndef GSV_OPTION_H
#define GSV_OPTION_H

#include <stdbool.h>
#include <stdint.h>

enum gsv_mode { GSV_AUTO, GSV_OFF, GSV_SLICE };

struct gsv_options {
	enum gsv_mode mode;
	bool random;
};

extern struct gsv_options gsv_options;

void gsv_options_read(void);
uint64_t gsv_draw(void);

#endif
