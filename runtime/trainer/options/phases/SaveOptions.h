// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of weights and checkpoints that a run starts from and leaves.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_SAVEOPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_SAVEOPTIONS_H

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace ingot::runtime {

/// The step whose weights are exported and predicted with.
enum class ExportWeights { Best, Last };

struct SaveOptions {
  /// The file or checkpoint that the run starts from.
  std::optional<std::string> init, resume;
  /// The folder of adapters that the run starts from, and that it writes.
  std::optional<std::string> initAdapter, exportAdapter;
  /// The files of its results.
  std::optional<std::string> exportPath, predict;
  /// None for the best step where the run looks for it.
  std::optional<ExportWeights> exportWeights;
  /// The folder that this rank writes checkpoints into, and that of all ranks.
  std::optional<std::string> save;
  std::string checkpoints;
  std::optional<int64_t> saveEvery;
  /// Whether the checkpoints in the folder make way for this run's.
  bool overwrite = false;
  /// The checkpoints that are kept besides the best.
  int64_t keep = 2;
  /// The metric of the checkpoint that is kept apart.
  std::optional<std::string> best;

  /// Adds those of files and of checkpoints to the table.
  void bindFiles(CLI::App &app);
  void bindCheckpoints(CLI::App &app);
  /// Adds those of trainers with adapters.
  void bindAdapters(CLI::App &app);
  /// Whether anything is made of the trained weights.
  bool hasResults() const { return exportPath || exportAdapter || predict; }
  /// Leaves out what a rank other than 0 does not write; `keepsShards` is
  /// whether it writes its part of checkpoints.
  void writeNothing(bool keepsShards);
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_PHASES_SAVEOPTIONS_H
