// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The command line of ingotc.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_OPTIONS_H
#define INGOT_TOOLS_INGOTC_OPTIONS_H

#include "passes/cost/Cluster.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

struct CompilerOptions {
  std::string model, output;
  std::string loss, optimizer = "adamw", noDecay;
  bool clip = false;
  std::optional<int64_t> batch;
  /// The sizes of each symbolic dimension; the trainer has a variant of its
  /// steps for every combination.
  std::map<std::string, std::vector<int64_t>> dims;
  std::string trainable, freeze;
  /// embed, sidecar, none; empty: embed up to a limit.
  std::string weights;
  std::string precision = "fp32", keepFp32, forceLow;
  /// GPUs may round operands of products in fp32 to TF32.
  bool tf32 = false;
  std::string optimizerPrecision = "fp32";
  bool lossScaling = false;
  bool dataParallel = false;
  double bucketMb = 0;
  std::string gradComm;
  unsigned zero = 0;
  bool syncBatchNorm = false;
  /// The cluster that steps are planned for, and where that was read.
  std::optional<Cluster> cluster;
  std::string target = "cpu", arch;
  unsigned level = 2;
  /// mlir, exec, llvm, obj, exe.
  std::string emit = "exe";
  /// Micro-batches of a step.
  int64_t gradAccumulation = 1;
  /// Of all planned memory, or of activations in percent; negative: none.
  int64_t budgetBytes = -1;
  double budgetPercent = -1;
  /// Names of nodes to save and to recompute.
  std::string save, recompute;
  /// Find the largest batch that takes no more.
  std::optional<int64_t> fitBytes;
  /// A file that describes the machine; empty: built-in figures.
  std::string machine;
  std::string dumpPasses, remarks, report;
};

/// Parses the command line. Returns nothing where --help or --version answered.
/// Throws runtime::Error for wrong usage.
std::optional<CompilerOptions> parseCompilerOptions(int argc, char **argv);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_OPTIONS_H
