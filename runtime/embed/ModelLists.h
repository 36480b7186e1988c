// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The lists of what a model has, as callers see them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMBED_MODELLISTS_H
#define INGOT_RUNTIME_EMBED_MODELLISTS_H

#include "runtime/core/Manifest.h"
#include "runtime/embed/include/ingot.h"

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace ingot::runtime {

/// Whether an output of a step or an evaluation is a number that callers get.
bool isResult(const TensorSpec &output);

/// Whether callers see a state: those that checkpoints hold.
bool isListed(const StateSpec &state);

/// The type of ingot.h for one of the manifest. The inverse is none for what is
/// no type.
ingot_type getPublicType(DType type);
std::optional<DType> getDType(ingot_type type);

class ModelLists {
public:
  explicit ModelLists(const Manifest &manifest);
  ModelLists(const ModelLists &) = delete;
  ModelLists &operator=(const ModelLists &) = delete;

  /// The entries of a list for the shape of that index; empty for what is none.
  const std::vector<ingot_tensor> &get(ingot_list list, size_t shape) const;

private:
  static constexpr size_t kLists = INGOT_SHAPES + 1;
  using Lists = std::array<std::vector<ingot_tensor>, kLists>;

  const int64_t *keep(const std::vector<int64_t> &shape);
  ingot_tensor describe(const TensorSpec &spec, int64_t batches = 1);
  void addFunction(Lists &lists, const FunctionSpec *function,
                   ingot_list inputs, int64_t batches);

  /// For each shape.
  std::vector<Lists> all;
  /// Where entries point to.
  std::deque<std::vector<int64_t>> extents;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_EMBED_MODELLISTS_H
