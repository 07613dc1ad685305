// SPDX-License-Identifier: MIT
/* The commands that the journal lacks: see commands.awk. */
#include "layer.h"

#include "vulkan-commands.h"
