// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Mixup and cutmix: pairs of samples of a batch, and their labels, become
// mixtures of both. Pairs are neighbors in the order of the samples, so that
// neither threads nor ranks make a difference as long as batches are even.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_RECIPES_MIXING_H
#define INGOT_RUNTIME_DATA_RECIPES_MIXING_H

#include "runtime/data/recipes/Recipe.h"

namespace ingot::runtime {

/// How a sample takes a part of its neighbor.
struct Mix {
  /// The weight of the sample itself, in its labels too.
  double own = 1;
  /// Whether a part of the picture is the neighbor's; else the whole picture is
  /// a weighted mean.
  bool isCut = false;
  Area cut;
};

/// Draws the mix of a sample whose picture has this size.
Mix drawMix(const Mixing &mixing, const SampleContext &context, int64_t width,
            int64_t height);

/// Mixes two rows of all inputs, each with the other by its own mix. `recipes`
/// say which input is a picture; the others that are batched are labels.
void mixRows(const std::vector<InputSpec> &inputs, const Recipes &recipes,
             const SampleContext &first, const SampleContext &second,
             int64_t row, char *place, Workspace &workspace);

/// Returns the input whose recipe mixes, and checks that pictures and labels
/// can be mixed; null if there is none. Throws usageError.
const InputSpec *findMixed(const std::vector<InputSpec> &inputs,
                           const Recipes &recipes);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_RECIPES_MIXING_H
