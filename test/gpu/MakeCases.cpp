// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-gpu-cases: compiles the functions test_* of modules for a GPU, each
// module to a shared library that holds their arguments, and what the
// interpreter makes of them. RunCases.cpp runs those on a machine with a GPU.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "passes/Registration.h"
#include "passes/targets/Passes.h"
#include "passes/targets/host/Object.h"
#include "passes/targets/host/Passes.h"
#include "test/gpu/RandomCases.h"
#include "test/gpu/RoundingBounds.h"
#include "tools/ingot-eval/Compiled.h"
#include "tools/ingot-eval/Slots.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace mlir;
using namespace ingot;
using reference::invalid;
using reference::Tensor;

namespace {
/// A function and what it should give.
struct Case {
  std::vector<Tensor> arguments, results;
  /// How far elements may be off, relative to the larger of 1 and their
  /// magnitude; or each element of each result by itself.
  std::vector<double> leeway;
  std::vector<std::vector<double>> bounds;
};
} // namespace

static std::string toHex(llvm::ArrayRef<char> bytes) {
  return llvm::toHex(StringRef(bytes.data(), bytes.size()), /*LowerCase=*/true);
}

static llvm::ArrayRef<char> getBytes(const std::vector<double> &numbers) {
  return {reinterpret_cast<const char *>(numbers.data()),
          numbers.size() * sizeof(double)};
}

/// The names that runtime/core/DType.h has.
static std::string getTypeName(Type element) {
  if (element.isInteger(1))
    return "bool";
  if (element.isUnsignedInteger(8))
    return "u8";
  std::string name;
  llvm::raw_string_ostream(name) << element;
  return name;
}

static bool isCase(func::FuncOp function) {
  return function.getName().starts_with("test_") &&
         function.getOps<func::CallOp>().empty();
}

static llvm::Expected<llvm::StringMap<Case>> prepare(ModuleOp module) {
  llvm::StringMap<Case> cases;
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!isCase(function)) {
      function.erase();
      continue;
    }
    Case &made = cases[function.getName()];
    double tolerance = 0;
    if (auto attribute = function->getAttrOfType<FloatAttr>("ingot.tolerance"))
      tolerance = attribute.getValueAsDouble();
    auto arguments = hoistConstants(function, /*keepSplats=*/true);
    if (!arguments)
      return arguments.takeError();
    made.arguments = std::move(*arguments);
    auto results = reference::evaluate(function, made.arguments);
    if (!results)
      return results.takeError();
    made.results = std::move(*results);
    if (function->removeAttr(kRoundsAttr)) {
      auto bounds = boundRounding(function, made.arguments);
      if (!bounds)
        return bounds.takeError();
      made.bounds = std::move(*bounds);
      continue;
    }
    for (const Tensor &result : made.results)
      made.leeway.push_back(std::max(
          tolerance, compiledLeeway(function, result.getElementType())));
  }
  return cases;
}

static llvm::json::Object describe(const ModuleSlots &slots,
                                   const llvm::StringMap<Case> &cases,
                                   StringRef arch) {
  llvm::json::Array functions, states;
  int64_t arenaBytes = 0;
  for (const auto &[name, made] : cases) {
    const FunctionSlots &places = slots.functions.find(name)->second;
    arenaBytes = std::max(arenaBytes, places.arenaBytes);
    auto list = [](const std::vector<Slot> &slots,
                   const std::vector<Tensor> &values,
                   llvm::ArrayRef<double> leeway,
                   llvm::ArrayRef<std::vector<double>> bounds) {
      llvm::json::Array array;
      for (size_t i = 0; i < slots.size(); ++i) {
        llvm::json::Object item{
            {"state", slots[i].isState},
            {"offset", slots[i].offset},
            {"dtype", getTypeName(slots[i].type.getElementType())},
            {"data", toHex(values[i].getRawData())}};
        if (!leeway.empty())
          item["leeway"] = leeway[i];
        if (!bounds.empty())
          item["bounds"] = toHex(getBytes(bounds[i]));
        array.push_back(std::move(item));
      }
      return array;
    };
    functions.push_back(llvm::json::Object{
        {"name", name},
        {"arguments", list(places.arguments, made.arguments, {}, {})},
        {"results",
         list(places.results, made.results, made.leeway, made.bounds)}});
  }
  for (const InitialState &state : slots.states)
    states.push_back(llvm::json::Object{
        {"offset", state.offset},
        {"data",
         toHex(llvm::ArrayRef(state.bytes.data(), state.bytes.size()))}});
  llvm::json::Array messages;
  for (const MessagePlace &message : slots.messages)
    messages.push_back(llvm::json::Object{{"offset", message.offset},
                                          {"rank_bytes", message.rankBytes}});
  return llvm::json::Object{{"arch", arch.str()},
                            {"messages", std::move(messages)},
                            {"state_bytes", slots.stateBytes},
                            {"arena_bytes", arenaBytes},
                            {"states", std::move(states)},
                            {"functions", std::move(functions)}};
}

/// The object file of the module's cases; empty if it has none.
static llvm::Expected<std::string> compile(ModuleOp module,
                                           const PipelineOptions &options) {
  auto cases = prepare(module);
  if (!cases)
    return cases.takeError();
  if (cases->empty())
    return std::string();
  ModuleSlots slots;
  slots.readSignatures(module);
  auto target = chooseTarget(options.getTargetSpec(options.arch));
  if (!target)
    return target.takeError();
  if (llvm::Error error = placeSteps(module, options, **target))
    return std::move(error);
  if (llvm::Error error = runPasses(module, [&](PassManager &passes) {
        buildKernelPipeline(passes, options, **target);
      }))
    return std::move(error);
  if (llvm::Error error = slots.readPlaces(module))
    return std::move(error);
  auto code = (*target)->findDevice()->emitCode(module);
  if (!code)
    return code.takeError();
  std::string manifest;
  llvm::raw_string_ostream(manifest)
      << llvm::json::Value(describe(slots, *cases, options.arch));
  Builder builder(module.getContext());
  module->setAttr(exec::kManifestAttr, builder.getStringAttr(manifest));
  module->setAttr(exec::kDeviceCodeAttr, builder.getStringAttr(code->binary));
  module->setAttr(exec::kDeviceTextAttr, builder.getStringAttr(code->text));
  if (llvm::Error error =
          runPasses(module, [&](PassManager &p) { buildLoweringPipeline(p); }))
    return std::move(error);
  llvm::LLVMContext context;
  HostProcessor host = (*target)->getHost();
  auto translated = translateForHost(module, context, host, options.level);
  if (!translated)
    return translated.takeError();
  return emitObject(**translated, host, options.level);
}

namespace {
/// Options of ingotc.
struct Chosen {
  std::string arch = "sm_90", matmulKernels = "auto";
};
} // namespace

/// Writes `path`, unless the module has no cases.
static llvm::Error writeCases(ModuleOp module, unsigned level,
                              const Chosen &chosen, const std::string &path) {
  PipelineOptions options;
  options.target = "cuda";
  options.arch = chosen.arch;
  if (failed(options.parseFromString("matmul-kernels=" + chosen.matmulKernels)))
    return invalid("--matmul-kernels: not understood");
  options.level = level;
  auto object = compile(module, options);
  if (!object)
    return invalid(path + ": " + llvm::toString(object.takeError()));
  if (object->empty())
    return llvm::Error::success();
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  out << *object;
  out.close();
  if (error || out.has_error())
    return invalid(path + ": cannot be written");
  return llvm::Error::success();
}

/// Writes `folder`/NAME-ON.o for every file and level.
static llvm::Error makeCases(MLIRContext &context,
                             const std::vector<std::string> &files,
                             const Chosen &chosen, const std::string &folder) {
  for (const std::string &file : files)
    for (unsigned level : {0u, 2u}) {
      OwningOpRef<ModuleOp> module =
          parseSourceFile<ModuleOp>(file, ParserConfig(&context));
      if (!module)
        return invalid(file + ": cannot be read");
      std::string path = folder + "/" + llvm::sys::path::stem(file).str() +
                         "-O" + std::to_string(level) + ".o";
      if (llvm::Error error = writeCases(*module, level, chosen, path))
        return error;
    }
  return llvm::Error::success();
}

/// Writes `folder`/random-PRECISION-N.o, each of which has several graphs, and
/// the graphs as NAME.mlir.
static llvm::Error makeRandom(MLIRContext &context, int64_t count,
                              const std::string &precision,
                              const Chosen &chosen, const std::string &folder) {
  constexpr int64_t most = 20;
  uint64_t seed = 0;
  for (int64_t file = 0; count > 0; ++file, count -= most) {
    auto module =
        makeRandomCases(context, seed, std::min(count, most), precision);
    if (!module)
      return module.takeError();
    std::string path =
        folder + "/random-" + precision + "-" + std::to_string(file);
    std::error_code error;
    llvm::raw_fd_ostream(path + ".mlir", error) << **module;
    if (error)
      return invalid(path + ".mlir: " + error.message());
    if (llvm::Error failed =
            writeCases(**module, /*level=*/2, chosen, path + ".o"))
      return failed;
  }
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  CLI::App app{"Compiles tests of the interpreter for a GPU.",
               "ingot-gpu-cases"};
  std::vector<std::string> files;
  std::string folder = ".";
  Chosen chosen;
  app.add_option("FILES", files, "Modules with functions test_*");
  int64_t random = 0;
  std::string precision = "fp32";
  app.add_option("--random", random, "How many random graphs to compile");
  app.add_option("--precision", precision, "Of random graphs")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_option("--arch", chosen.arch, "The GPU's architecture");
  app.add_option("--matmul-kernels", chosen.matmulKernels, "As of ingotc")
      ->check(CLI::IsMember({"auto", "library", "own"}));
  app.add_option("-o,--output", folder, "The folder to write objects to");
  CLI11_PARSE(app, argc, argv);
  DialectRegistry registry;
  registerIngotDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  llvm::Error error = makeCases(context, files, chosen, folder);
  if (!error)
    error = makeRandom(context, random, precision, chosen, folder);
  if (error) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
