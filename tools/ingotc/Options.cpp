// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/Options.h"

#include "passes/parallel/GradComm.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>

using namespace ingot;
using runtime::usageError;

static std::vector<int64_t> parseSizes(std::string_view text) {
  std::vector<int64_t> sizes;
  const char *at = text.data(), *end = text.data() + text.size();
  while (true) {
    int64_t size = 0;
    auto parsed = std::from_chars(at, end, size);
    bool isNew = std::find(sizes.begin(), sizes.end(), size) == sizes.end();
    if (parsed.ec != std::errc() || size <= 0 || !isNew)
      return {};
    sizes.push_back(size);
    if (parsed.ptr == end)
      return sizes;
    if (*parsed.ptr != ',')
      return {};
    at = parsed.ptr + 1;
  }
}

/// Steps are compiled anew for each combination of sizes.
static constexpr size_t maxVariants = 64;

static std::map<std::string, std::vector<int64_t>>
parseDims(const std::vector<std::string> &texts) {
  std::map<std::string, std::vector<int64_t>> dims;
  size_t variants = 1;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    std::vector<int64_t> sizes;
    if (equals != std::string::npos && equals > 0)
      sizes = parseSizes(std::string_view(text).substr(equals + 1));
    if (sizes.empty())
      throw usageError("--dim", "'" + text + "' is not NAME=N or NAME=N,N...",
                       "give a symbolic dimension and its sizes, each once, "
                       "like --dim seq=128 or --dim seq=128,256");
    if (!dims.emplace(text.substr(0, equals), sizes).second)
      throw usageError("--dim",
                       "'" + text.substr(0, equals) + "' is given twice",
                       "give all its sizes at once, like --dim seq=128,256");
    variants *= sizes.size();
    if (variants > maxVariants)
      throw usageError("--dim",
                       "more than " + std::to_string(maxVariants) +
                           " combinations of sizes",
                       "give fewer sizes: each combination is compiled");
  }
  return dims;
}

namespace {
/// SIZE or N%.
struct Size {
  double number;
  bool isPercent;
};
} // namespace

static Size parseSize(const std::string &option, const std::string &text,
                      bool allowPercent) {
  static constexpr std::pair<const char *, double> units[] = {
      {"", 1},
      {"KiB", 1024.0},
      {"MiB", 1024.0 * 1024},
      {"GiB", 1024.0 * 1024 * 1024},
      {"MB", 1e6},
      {"GB", 1e9},
      {"%", 0}};
  double number = -1;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(parsed.ptr, text.data() + text.size() - parsed.ptr);
  while (unit.starts_with(' '))
    unit.remove_prefix(1);
  auto known = std::find_if(std::begin(units), std::end(units),
                            [&](const auto &u) { return u.first == unit; });
  bool isPercent = unit == "%";
  double bytes = known == std::end(units) ? -1 : number * known->second;
  if (parsed.ec != std::errc() || !(number >= 0) || bytes < 0 || bytes > 9e18 ||
      (isPercent && (number > 100 || !allowPercent)))
    throw usageError(
        option, "invalid size '" + text + "'",
        std::string("give bytes, or a number with KiB, MiB, GiB, MB or GB") +
            (allowPercent ? ", or a percentage of the activations such as 50%"
                          : ""));
  return {isPercent ? number : bytes, isPercent};
}

static void parseBudget(const std::string &text, CompilerOptions &options) {
  Size size = parseSize("--memory-budget", text, /*allowPercent=*/true);
  if (size.isPercent)
    options.budgetPercent = size.number;
  else
    options.budgetBytes = static_cast<int64_t>(size.number);
}

static void parseRemat(const std::vector<std::string> &texts,
                       CompilerOptions &options) {
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    std::string key = text.substr(0, equals);
    std::string *value = key == "save"        ? &options.save
                         : key == "recompute" ? &options.recompute
                                              : nullptr;
    if (equals == std::string::npos || !value || equals + 1 == text.size())
      throw usageError("--remat",
                       "'" + text + "' is not save=REGEX or recompute=REGEX",
                       "name ONNX nodes, like --remat save=attn");
    if (!value->empty())
      throw usageError("--remat", "'" + key + "' is given twice",
                       "join the expressions with |");
    *value = text.substr(equals + 1);
  }
}

std::optional<CompilerOptions> ingot::parseCompilerOptions(int argc,
                                                           char **argv) {
  CompilerOptions options;
  std::vector<std::string> dims;
  std::vector<std::string> remat;
  std::string budget, fit;
  int64_t batch = 0;
  CLI::App app("Compiles an ONNX model into an executable that trains it.",
               "ingotc");
  app.set_version_flag("--version", "ingotc " INGOT_VERSION);
  app.option_defaults()->always_capture_default();
  app.add_option("MODEL", options.model, "the ONNX model")->required();
  app.add_option("-o,--output", options.output, "the trainer to write");
  app.add_option("--loss", options.loss,
                 "cross-entropy[:AXIS], mse, bce-with-logits or output:NAME; "
                 "needed unless the only output is a float scalar");
  app.add_option("--optimizer", options.optimizer,
                 "sgd, momentum, adam, adamw, adagrad, lamb or lion");
  app.add_option("--no-decay", options.noDecay,
                 "parameters without weight decay (regular expression)");
  app.add_flag("--clip", options.clip,
               "compile in gradient clipping by global norm");
  app.add_option("--batch", batch,
                 "size of the first dimension of every data input")
      ->check(CLI::PositiveNumber)
      ->always_capture_default(false);
  app.add_option("--dim", dims,
                 "NAME=N[,N...]: size of a symbolic dimension; with several "
                 "sizes, each batch uses the one that fits it");
  app.add_option("--trainable", options.trainable,
                 "parameters to train (regular expression)");
  app.add_option("--freeze", options.freeze,
                 "parameters not to train (regular expression)");
  app.add_option(
         "--weights", options.weights,
         "where initial values go: embed (up to 256 MiB, else sidecar), "
         "sidecar or none")
      ->check(CLI::IsMember({"embed", "sidecar", "none"}));
  app.add_option(
         "--precision", options.precision,
         "precision of contractions: fp32, bf16, or fp16 with loss scaling")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_flag("--tf32", options.tf32,
               "matmuls and convolutions in fp32 use TF32 on a GPU's tensor "
               "cores: operands are rounded to 10 bits of mantissa");
  app.add_option("--keep-fp32", options.keepFp32,
                 "ONNX nodes that stay in fp32 (regular expression)");
  app.add_option(
      "--force-low", options.forceLow,
      "additional ONNX nodes that run in 16 bits (regular expression)");
  app.add_option("--optimizer-precision", options.optimizerPrecision,
                 "precision of the optimizer's moments in memory: fp32, or "
                 "bf16 with stochastic rounding")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  app.add_flag("--loss-scaling", options.lossScaling,
               "scale the loss dynamically in other precisions than fp16 too");
  app.add_flag("--data-parallel", options.dataParallel,
               "average gradients over the ranks that mpirun starts");
  app.add_option("--bucket-mb", options.bucketMb,
                 "bucket size: MiB of gradients per all-reduce (from the "
                 "latency and bandwidth of the machine's link)")
      ->check(CLI::Range(0.001, 4096.0));
  app.add_option(
         "--grad-comm", options.gradComm,
         "format in which gradients are sent: bf16, fp16, powersgd:RANK, int8, "
         "topk:FRACTION, and start:STEPS, separated by commas (fp32)")
      ->needs("--data-parallel");
  app.add_option("--zero", options.zero,
                 "ZeRO stage: shard the optimizer's state (1) and the reduced "
                 "gradients (2) over the ranks (0)")
      ->check(CLI::Range(0U, 2U))
      ->needs("--data-parallel");
  app.add_flag(
         "--sync-batch-norm", options.syncBatchNorm,
         "batch normalization computes its statistics over all ranks' samples")
      ->needs("--data-parallel");
  std::string cluster;
  app.add_option("--plan", cluster,
                 "print the simulated time of a step on the ranks of the "
                 "cluster in this JSON file (docs/cluster.md)")
      ->needs("--data-parallel");
  app.add_option("--target", options.target, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--arch", options.arch,
                 "LLVM's name of a CPU, or native, which is the default; for "
                 "cuda a GPU architecture, sm_90 by default");
  app.add_option("--grad-accumulation", options.gradAccumulation,
                 "micro-batches per step: the update uses the mean over all of "
                 "them (1)")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  CLI::Option *fitOption =
      app.add_option("--fit", fit,
                     "SIZE: find and print the largest batch whose planned "
                     "memory fits; -o writes its trainer")
          ->excludes("--batch");
  CLI::Option *budgetOption =
      app.add_option("--memory-budget", budget,
                     "SIZE of all planned memory, or N% of the activations: "
                     "recompute until the step fits");
  app.add_option("--remat", remat,
                 "save=REGEX or recompute=REGEX: whether to save or recompute "
                 "the results of ONNX nodes with such names");
  app.add_option("--machine", options.machine,
                 "JSON file of the machine to plan for, from ingot-measure; "
                 "measured: this one, measured once and kept");
  app.add_option(
         "-O", options.level,
         "0: one kernel per op, no library calls, no reuse of memory; 2: fused")
      ->check(CLI::Range(0, 3));
  app.add_option("--emit", options.emit,
                 "stop at: mlir (training graph of kernels), exec (placed "
                 "steps), ptx (GPU kernels), llvm, obj, exe")
      ->check(CLI::IsMember({"mlir", "exec", "ptx", "llvm", "obj", "exe"}));
  app.add_option("--dump-passes", options.dumpPasses,
                 "write the module after each pass to this directory");
  app.add_option("--report", options.report,
                 "Write what was compiled to this HTML page: kernels with ONNX "
                 "names, bytes, operations and a lower bound of their time");
  app.add_option("--remarks", options.remarks,
                 "write the decisions of passes, with reasons, to this YAML "
                 "file (docs/remarks.md)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return std::nullopt;
  } catch (const CLI::CallForVersion &) {
    std::puts("ingotc " INGOT_VERSION);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    std::string text = error.what();
    size_t colon = text.find(": ");
    bool named = text.starts_with("-") && colon != std::string::npos;
    throw usageError(named ? text.substr(0, colon) : "command line",
                     named ? text.substr(colon + 2) : text,
                     "ingotc --help lists the options");
  }
  llvm::Expected<GradComm> gradComm = GradComm::parse(options.gradComm);
  if (!gradComm)
    throw usageError("--grad-comm", llvm::toString(gradComm.takeError()),
                     GradComm::kHint.str());
  if (options.zero > 0 && gradComm->compresses())
    throw usageError("--grad-comm", "compression needs whole gradients",
                     "compile with --zero 0, or send bf16");
  if (options.tf32 && options.target == "cpu")
    throw usageError("--tf32", "CPUs do not support TF32",
                     "leave it out, or compile with --target cuda");
  if (batch > 0)
    options.batch = batch;
  options.dims = parseDims(dims);
  if (*budgetOption)
    parseBudget(budget, options);
  if (!cluster.empty()) {
    runtime::MappedFile file(cluster);
    std::string_view text = file.getBytes();
    llvm::Expected<Cluster> read =
        Cluster::read(llvm::StringRef(text.data(), text.size()));
    if (!read)
      throw runtime::badInput(cluster, llvm::toString(read.takeError()),
                              "docs/cluster.md describes the file");
    options.cluster = *read;
  }
  if (!*fitOption && cluster.empty() && options.output.empty())
    throw usageError("-o", "no file is named to write",
                     "name the trainer to write");
  if (options.output.find(':', options.output.rfind('/') + 1) !=
      std::string::npos)
    throw usageError(
        "-o", "a trainer whose name contains ':' cannot find its libraries",
        "choose another name");
  if (*fitOption)
    options.fitBytes = static_cast<int64_t>(
        parseSize("--fit", fit, /*allowPercent=*/false).number);
  parseRemat(remat, options);
  return options;
}
