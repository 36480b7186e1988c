// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The manifest of a compiled module (docs/manifest.md), read and checked.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_MANIFEST_H
#define INGOT_RUNTIME_CORE_MANIFEST_H

#include "runtime/abi/ManifestTypes.h"
#include "runtime/abi/Mapping.h"
#include "runtime/core/DType.h"

#include <string>
#include <string_view>
#include <vector>

namespace ingot::runtime {

/// The label that losses ignore unless they say more (PyTorch's ignore_index).
inline constexpr int64_t kIgnoredLabel = -100;

/// A manifest, whose keys runtime/abi/Manifest.td states.
struct Manifest : ModuleSpec {
  /// All functions, by variant in the order train_step, uncompressed_step,
  /// accumulate_step, eval_step, predict.
  std::vector<FunctionSpec> functions;

  /// Whether an evaluation may leave out samples of a batch.
  bool evaluatesParts() const;
  /// Returns the term of the loss that compares with the input; null if there
  /// is none.
  const LossTerm *findTerm(std::string_view labels) const;
  /// Returns the samples of a micro-batch of a variant.
  int64_t getBatch(size_t variant) const {
    return batches.empty() ? batch : batches[variant];
  }
  /// Throws failure unless the module was compiled for the kind of target.
  void checkTarget(std::string_view kind) const;
  /// Throws failure unless the staging blocks hold the inputs of each function.
  void checkStaging() const;
  const StateSpec *findState(std::string_view name) const;
  /// Whether there are states of which each rank saves its own part.
  bool hasShards() const;
  /// Bytes of the shards of states on `rank` of `ranks`.
  int64_t getShardBytes(int64_t rank, int64_t ranks) const;
  /// The offset of the range of mapped states.
  int64_t getMappedBegin() const { return abi::getMappedBegin(stateBytes); }
  /// Bytes of the payloads of `ranks` ranks.
  int64_t getPayloadBytes(int64_t ranks) const;
  const FunctionSpec *findFunction(std::string_view name,
                                   size_t variant = 0) const;
  /// The name of the function in the compiled module.
  std::string getSymbol(const FunctionSpec &function) const;
  const HyperparameterSpec *findHyperparameter(std::string_view name) const;
};

/// Reads a manifest; every offset and size in the result is in range. Throws
/// failure naming the field, also when its ABI version is not the runtime's.
Manifest parseManifest(std::string_view json);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_MANIFEST_H
