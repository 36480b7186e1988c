// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The options of a trainer.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H
#define INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H

#include "runtime/trainer/options/phases/DataOptions.h"
#include "runtime/trainer/options/phases/ObserveOptions.h"
#include "runtime/trainer/options/phases/OptionWords.h"
#include "runtime/trainer/options/phases/RankOptions.h"
#include "runtime/trainer/options/phases/ReportOptions.h"
#include "runtime/trainer/options/phases/RunOptions.h"
#include "runtime/trainer/options/phases/SaveOptions.h"
#include "runtime/trainer/options/phases/TuneOptions.h"

namespace ingot::runtime {

struct Options {
  CommandLine line;
  DataOptions data;
  RunOptions run;
  SaveOptions save;
  ObserveOptions observe;
  ReportOptions report;
  RankOptions ranks;
  TuneOptions tune;

  /// Whether the run looks for its best evaluation.
  bool seeksBest() const {
    return run.earlyStop || save.best ||
           save.exportWeights == ExportWeights::Best;
  }
  /// Makes a rank other than 0 write no files, except for its shards of
  /// checkpoints.
  void writeNothing(bool hasShards) {
    observe.writeNothing();
    save.writeNothing(hasShards);
  }
  /// Throws usageError if options of several phases do not go together.
  void check(const Manifest &manifest) const;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_TRAINER_OPTIONS_OPTIONS_H
