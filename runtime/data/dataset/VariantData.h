// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Data for a trainer whose functions have variants for several shapes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_DATA_DATASET_VARIANTDATA_H
#define INGOT_RUNTIME_DATA_DATASET_VARIANTDATA_H

#include "runtime/data/dataset/Dataset.h"

namespace ingot::runtime {

struct DataVariant {
  std::string name;
  const std::vector<InputSpec> *inputs;

  /// The samples of a micro-batch.
  int64_t getBatch() const;
};

/// The most tokens of a step, of which there are `parts` micro-batches, on all
/// ranks. Padding counts.
struct TokenBudget {
  std::optional<int64_t> tokens;
  int64_t parts = 1;
};

/// Chooses of the variants that differ in nothing but the batch the largest
/// one within the budget; without a budget, the first. Returns their indices,
/// in an order that does not depend on the budget. Throws usageError.
std::vector<size_t> chooseVariants(const std::vector<DataVariant> &variants,
                                   const TokenBudget &budget,
                                   const Recipes &recipes);

/// Returns the samples of each variant, from the files that have its shapes;
/// null where there are none. A file that fits several variants, as token files
/// do, goes to the first. Sequences are dealt out by their lengths. Throws
/// badInput, also for a file that fits none.
std::vector<std::unique_ptr<Dataset>>
openByVariant(const std::vector<DataFile> &files,
              const std::vector<DataVariant> &variants, Console &console,
              const DatasetOptions &options = {});

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_DATA_DATASET_VARIANTDATA_H
