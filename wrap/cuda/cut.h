/* SPDX-License-Identifier: MIT */
/* Launches that are cut into parts. */
#ifndef GS_CUDA_CUT_H
#define GS_CUDA_CUT_H

#include "wrap.h"

/* launch.c: one launch, or a part of one, that goes to the device as it is. */
CUresult gs_launch_part(struct gs_lane *lane, struct gs_record *record,
			const struct gs_launch *l, uint64_t blocks);

/* variant.c: how it can be cut, NULL: not at all */
const struct gs_image_kernel *gs_record_kernel(struct gs_record *record, struct gs_device *dev);
/* Of a handle of the record, the original or a variant. */
int gs_attribute(const struct gs_record *r, const void *handle, int what, CUdevice dev);
/* The variant for this mode, GSX_SLICE ..., NULL: there is none to be used. */
const void *gs_variant(struct gs_record *record, unsigned int mode, struct gs_device *dev);
/* The original's variables in one context, for what its variants share. */
struct gs_shared {
	struct gs_shared *next;
	uint64_t context;	/* its id */
	const struct gs_image *image;
	struct gs_table {
		CUdeviceptr to, *addresses;
		size_t bytes;
	} *tables;		/* of each part */
	struct gs_found_at {
		CUdeviceptr to, from;	/* of a constant */
		bool missing;	/* the driver doesn't tell where it is */
	} *places;		/* of each variable */
};

/*
 * What that variant shares: of what record->as[mode] reaches, tables are to be written and
 * constants copied, in the stream before it; NULL: nothing. False: not possible.
 */
bool gs_shared(struct gs_record *record, unsigned int mode, struct gs_context *context,
	       const struct gs_shared **shared);
/* module.c: a function that was launched for the first time and that we hadn't seen. */
void gs_record_first(const struct gs_launch *l);
void gs_modules_gone(uint64_t context);	/* by its id */
void gs_modules_forget(void);

/* cut.c: launches it in parts; false: it is to be launched whole, and nothing was done. */
bool gs_cut_launch(struct gs_lane *lane, struct gs_record *record, const struct gs_launch *l,
		   CUresult *result);
/* The variants that modules are to be loaded with, GSX_BIT()s; 0: none. */
uint32_t gs_cut_modes(const struct gs_device *dev);
void gs_areas_gone(struct gs_context *context);
/* Launches by tickets end at their next block. */
void gs_areas_stop(const struct gs_device *dev);

#endif
