/* SPDX-License-Identifier: MIT */
#ifndef GS_CTL_TRANSFORMS_H
#define GS_CTL_TRANSFORMS_H

struct gs_ctl;

/* What the clients' wrappers did with their kernels: 0, or an exit status, and said why. */
int gs_transforms_show(struct gs_ctl *ctl);

#endif
