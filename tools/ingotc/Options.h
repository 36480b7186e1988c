//===----------------------------------------------------------------------===//
//
// The command line of ingotc.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_OPTIONS_H
#define INGOT_TOOLS_INGOTC_OPTIONS_H

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
  bool lossScaling = false;
  std::string target = "cpu", arch;
  unsigned level = 2;
  /// mlir, exec, llvm, obj, exe.
  std::string emit = "exe";
  std::string dumpPasses, remarks;
};

/// Parses the command line. Returns nothing where --help or --version answered.
/// Throws runtime::Error for wrong usage.
std::optional<CompilerOptions> parseCompilerOptions(int argc, char **argv);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_OPTIONS_H
