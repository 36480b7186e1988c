#include "tools/ingotc/Options.h"

#include "runtime/core/Error.h"

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
      throw usageError("--dim", "'" + text.substr(0, equals) + "' comes twice",
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

std::optional<CompilerOptions> ingot::parseCompilerOptions(int argc,
                                                           char **argv) {
  CompilerOptions options;
  std::vector<std::string> dims;
  int64_t batch = 0;
  CLI::App app("Compiles an ONNX model into an executable that trains it.",
               "ingotc");
  app.set_version_flag("--version", "ingotc " INGOT_VERSION);
  app.option_defaults()->always_capture_default();
  app.add_option("MODEL", options.model, "the ONNX model")->required();
  app.add_option("-o,--output", options.output, "the trainer to write")
      ->required();
  app.add_option("--loss", options.loss,
                 "cross-entropy[:AXIS], mse, bce-with-logits or output:NAME; "
                 "needed unless the only output is a float scalar");
  app.add_option("--optimizer", options.optimizer,
                 "sgd, momentum, adam, adamw, adagrad, lamb or lion");
  app.add_option("--no-decay", options.noDecay,
                 "parameters without weight decay (regular expression)");
  app.add_flag("--clip", options.clip,
               "compile clipping by the global norm of the gradient in");
  app.add_option("--batch", batch,
                 "size of the first dimension of every data input")
      ->check(CLI::PositiveNumber)
      ->always_capture_default(false);
  app.add_option(
      "--dim", dims,
      "NAME=N[,N...]: size of a symbolic dimension; of several, each "
      "batch of data takes the one that fits it");
  app.add_option("--trainable", options.trainable,
                 "parameters to train (regular expression)");
  app.add_option("--freeze", options.freeze,
                 "parameters not to train (regular expression)");
  app.add_option(
         "--weights", options.weights,
         "where initial values go: embed (up to 256 MiB, else sidecar), "
         "sidecar or none")
      ->check(CLI::IsMember({"embed", "sidecar", "none"}));
  app.add_option("--precision", options.precision,
                 "of contractions: fp32, bf16, or fp16 with loss scaling")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_option("--keep-fp32", options.keepFp32,
                 "ONNX nodes that stay in fp32 (regular expression)");
  app.add_option("--force-low", options.forceLow,
                 "further ONNX nodes for the low precision (regular "
                 "expression)");
  app.add_flag("--loss-scaling", options.lossScaling,
               "scale the loss dynamically without fp16 too");
  app.add_option("--target", options.target, "cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--arch", options.arch,
                 "processor by LLVM's name, or native, which is the default; "
                 "for cuda a device architecture, sm_90 by default");
  app.add_option("-O", options.level,
                 "0: every op on its own, no library, no reuse of memory; "
                 "2: fused")
      ->check(CLI::Range(0, 3));
  app.add_option("--emit", options.emit,
                 "stop at: mlir (training graph of kernels), exec (placed "
                 "steps), ptx (device kernels), llvm, obj, exe")
      ->check(CLI::IsMember({"mlir", "exec", "ptx", "llvm", "obj", "exe"}));
  app.add_option("--dump-passes", options.dumpPasses,
                 "write the module after each pass to this directory");
  app.add_option("--remarks", options.remarks,
                 "write what was decided, and why, to this YAML file");
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
  if (batch > 0)
    options.batch = batch;
  options.dims = parseDims(dims);
  return options;
}
