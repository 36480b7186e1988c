// SPDX-License-Identifier: Apache-2.0

#include "runtime/data/recipes/SequenceRecipe.h"

using namespace ingot::runtime;

int64_t SequenceRecipe::getPadding(const InputSpec &input) const {
  if (padding)
    return *padding;
  bool isLabel = role == SequenceRole::Next || role == SequenceRole::Labels ||
                 (role == SequenceRole::Along &&
                  (input.kind == InputKind::Labels || input.name == "labels" ||
                   input.name == "targets"));
  return isLabel ? input.getIgnored() : 0;
}
