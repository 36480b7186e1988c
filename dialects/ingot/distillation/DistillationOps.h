// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Losses that compare a model with another one.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_DISTILLATION_DISTILLATIONOPS_H
#define INGOT_DIALECTS_INGOT_DISTILLATION_DISTILLATIONOPS_H

#include "dialects/ingot/ir/Dialect.h"

#include "dialects/ingot/distillation/ClassLoss.h.inc"
#define GET_OP_CLASSES
#include "dialects/ingot/distillation/Distillation.h.inc"

#endif // INGOT_DIALECTS_INGOT_DISTILLATION_DISTILLATIONOPS_H
