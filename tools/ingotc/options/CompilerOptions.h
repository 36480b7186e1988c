// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The command line of ingotc: the options of the pipelines, and its own.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_OPTIONS_COMPILEROPTIONS_H
#define INGOT_TOOLS_INGOTC_OPTIONS_COMPILEROPTIONS_H

#include "dialects/ingot/target/Target.h"
#include "frontends/onnx/Import.h"
#include "frontends/onnx/export/CodedExport.h"
#include "passes/PipelineOptions.h"
#include "passes/cost/Cluster.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ingot {

/// Settings of --tune.
struct Tuning {
  /// Whether precision, and the chunks of the loss, may change in addition to
  /// memory.
  bool precision = false, chunks = false;
  /// How long it takes at most.
  double seconds = 600;
  /// The samples of a step, in micro-batches of a size to be found.
  std::optional<int64_t> globalBatch;
  /// The data to measure with; random numbers if there is none.
  std::vector<std::string> data;
  /// The command line without these options and --fit.
  std::vector<std::string> words;
};

/// The settings of --auto.
struct Planning {
  /// The samples of a step of all ranks.
  int64_t globalBatch = 1;
  /// The command line without these options, and without -o.
  std::vector<std::string> words;
};

struct CompilerOptions {
  /// How ingotc was called, and the file names.
  std::string program, model, output;
  /// The names of all options, with their dashes.
  std::vector<std::string> names;
  /// The options that were given, by their names without dashes, without files
  /// that are written; and those of them that decide what is trained.
  std::map<std::string, std::vector<std::string>> given, shaping;
  onnx_import::ImportOptions import;
  /// The options that passes read. Shared by copies of these options.
  std::shared_ptr<PipelineOptions> pipeline =
      std::make_shared<PipelineOptions>();
  /// The target that the pipeline's options name.
  std::shared_ptr<const Target> target;
  /// The CPUs of `--arch A+B`, the one with the most features first; empty if
  /// only one is named.
  std::vector<std::string> archs;
  /// How trainers export bases.
  onnx_import::BaseForm exportBase = onnx_import::BaseForm::Numbers;
  /// embed, sidecar, none; empty: embed up to a limit.
  std::string weights;
  /// The file of --plan, and the cluster in it that steps are planned for.
  std::string cluster;
  std::optional<Cluster> plan;
  /// The settings of --auto; nothing without it.
  std::optional<Planning> planning;
  /// The GPU of --plan-gpu, by name or file.
  std::string gpu;
  /// Whether it is that of a trainer with --nondeterministic.
  bool nondeterministic = false;
  /// onnx, mlir, exec, ptx, llvm, obj, exe.
  std::string emit = "exe";
  /// Whether the output is linked: a trainer, or a library.
  bool links() const { return emit == "exe" || emit == "lib"; }
  /// Find the largest batch that takes no more.
  std::optional<int64_t> fitBytes;
  /// The settings of --tune; nothing without it.
  std::optional<Tuning> tuning;
  /// Whether what the compiler has to say is dropped.
  bool isQuiet = false;
  bool printPipeline = false;
  /// Whether regular expressions may match nothing.
  bool allowUnmatched = false;
  std::string dumpPasses, remarks, report;
  /// Where the remarks are written until they are complete.
  std::string unfinishedRemarks;
};

/// Parses the command line. Returns nothing where --help or --version answered.
/// Throws runtime::Error for wrong usage.
std::optional<CompilerOptions> parseCompilerOptions(int argc,
                                                    const char *const *argv);

/// The options that were given as words of a command line.
std::vector<std::string>
makeWords(const std::map<std::string, std::vector<std::string>> &options);

/// Joins words to a line as a POSIX shell reads it.
std::string quoteForShell(llvm::ArrayRef<std::string> words);

/// The command line of ingot-opt that repeats the compile up to placed steps,
/// or for `--emit mlir` up to kernels. Throws runtime::Error for values that
/// cannot be written so.
std::string printPipeline(const CompilerOptions &options);

/// Throws a UserError as runtime::Error.
[[noreturn]] void throwUserError(llvm::Error error);

/// The value, or its UserError thrown.
template <typename T> T unwrap(llvm::Expected<T> value) {
  if (!value)
    throwUserError(value.takeError());
  return std::move(*value);
}

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_OPTIONS_COMPILEROPTIONS_H
