// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The inputs whose recipes are about sequences.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_SEQUENCES_SEQUENCEINPUTS_H
#define INGOT_RUNTIME_DATA_SEQUENCES_SEQUENCEINPUTS_H

#include "runtime/core/Manifest.h"
#include "runtime/data/recipes/Recipe.h"

#include <vector>

namespace ingot::runtime {

/// Returns the input by which rows are laid out, and checks that the others fit
/// to it; null if no recipe is about sequences. Throws usageError.
const InputSpec *findLeader(const std::vector<InputSpec> &inputs,
                            const Recipes &recipes);

/// Whether a recipe is about sequences.
bool haveSequences(const Recipes &recipes);

/// Adds what --pack says: recipes for all batched inputs without one, by their
/// shapes and names. Throws usageError.
void addPackedRecipes(const std::vector<InputSpec> &inputs, Recipes &recipes);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_SEQUENCES_SEQUENCEINPUTS_H
