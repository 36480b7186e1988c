// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of what a run reads and how samples are made of it.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_DATAOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_DATAOPTIONS_H

#include "runtime/core/Manifest.h"
#include "runtime/data/recipes/Recipe.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ingot::runtime {

/// Where samples of files of tokens begin: at multiples of their length, which
/// move from epoch to epoch, at these multiples themselves, or anywhere.
enum class TokenOffsets { Moving, Fixed, Random };

struct DataOptions {
  std::vector<std::string> training, evaluation;
  /// How inputs are made of the fields of samples.
  Recipes recipes;
  /// The most tokens of a step, padding and all ranks included.
  std::optional<int64_t> batchTokens;
  /// The threads that make batches ahead of the step; none for as many as it
  /// needs.
  std::optional<int64_t> workers;
  /// The batches that they make ahead; none for what fits some memory.
  std::optional<int64_t> prefetch;
  int64_t skipBad = 0;
  /// The folder of decoded pictures, and the most MiB in it.
  std::optional<std::string> cache;
  int64_t cacheMiB = 16384;
  /// The steps from one evaluation to the next; none for an epoch.
  std::optional<int64_t> evalEvery;
  /// The batches of an evaluation; none for all.
  std::optional<int64_t> evalBatches;
  bool noShuffle = false;
  /// The number of samples of a stream of which each is taken at random; none
  /// for the order in which they come.
  std::optional<int64_t> shuffleWindow;
  TokenOffsets tokenOffsets = TokenOffsets::Moving;

  /// Adds the options to the table.
  void bind(CLI::App &app, const Manifest &manifest);
  /// Completes the recipes, when all options are known.
  void finish(const Manifest &manifest);
  /// Throws usageError if options exclude each other.
  void check() const;
  /// Leaves out all evaluations.
  void dropEvaluation();

private:
  /// The recipes that --input names.
  Recipes named;
  /// Whether inputs without one get one for packed sequences.
  bool pack = false;
};

/// The word of --token-offsets; empty without one.
std::string getName(TokenOffsets offsets);
/// Returns the offsets with that name; Moving for none.
TokenOffsets parseTokenOffsets(const std::string &name);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_DATAOPTIONS_H
