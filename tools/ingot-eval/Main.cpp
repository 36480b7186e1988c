// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ingot-eval: runs a function of a module in the interpreter, or compiled.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/reference/Interpreter.h"
#include "dialects/reference/Module.h"
#include "passes/Registration.h"
#include "runtime/core/Error.h"
#include "runtime/core/console/Console.h"
#include "runtime/core/files/OutputPaths.h"
#include "tools/ingot-eval/Arrays.h"
#include "tools/ingot-eval/Compiled.h"
#include "tools/ingot-eval/Load.h"
#include "tools/support/CommandLine.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <iostream>
#include <optional>

using namespace mlir;
using namespace ingot::reference;
namespace runtime = ingot::runtime;

namespace {
struct Options {
  std::string model, function, inputs, states, outputs, stateOut;
  std::vector<std::string> dims;
  ingot::onnx_import::ImportOptions import;
  int64_t steps = 1, ranks = 1;
  bool expect = false;
  /// The -O level of compiled code; -1 is the interpreter.
  int64_t compiled = -1;
  /// The kind of the target that it is compiled for.
  std::string target = "cpu";
};
} // namespace

/// More elements are not printed.
static constexpr int64_t kMaxPrinted = 1000;

/// Returns the value of an Expected, or an exception.
template <typename T>
static T unwrap(llvm::Expected<T> value, runtime::ExitCode code,
                const std::string &where, const std::string &hint) {
  if (!value)
    throw runtime::Error(code, where, llvm::toString(value.takeError()), hint);
  return std::move(*value);
}

static void parseDims(Options &options) {
  auto dims = ingot::onnx_import::parseDims(options.dims);
  if (!dims) {
    ingot::UserError error = ingot::takeUserError(dims.takeError());
    throw runtime::usageError(error.where, error.what, error.hint);
  }
  options.import.dims = std::move(*dims);
}

static std::optional<Options> parseOptions(int argc, char **argv) {
  Options options;
  CLI::App app{"Runs a function of a model in the interpreter.", "ingot-eval"};
  app.add_option("MODEL", options.model,
                 "An .onnx model or an .mlir module ('-': standard input)")
      ->required();
  app.add_option("--function", options.function,
                 "The function to run [forward, else the only one]");
  app.add_option("--inputs", options.inputs,
                 "An .npz file with one array per input; each step reads the "
                 "next part of a longer array");
  app.add_option("--states", options.states,
                 "An .npz file with initial values of states");
  app.add_option(
      "--outputs", options.outputs,
      "Write outputs to this .npz file instead of printing them; "
      "with --steps, those of all steps along a new first dimension");
  app.add_option("--state-out", options.stateOut,
                 "Write the states after the last step to this .npz file");
  app.add_option("--steps", options.steps,
                 "Run the function N times, each time from the states that the "
                 "previous run wrote")
      ->check(ingot::runtime::atLeast(1));
  CLI::Option *ranks =
      app.add_option("--ranks", options.ranks,
                     "Run the function on N ranks, which read parts of "
                     "--inputs in turn; the outputs are those of rank 0")
          ->check(ingot::runtime::atLeast(1));
  app.add_option("--batch", options.import.batch,
                 "Size of the first dimension of each input of an ONNX model")
      ->check(ingot::runtime::atLeast(1));
  app.add_option("--dim", options.dims,
                 "Size of a symbolic dimension of an ONNX model, NAME=N")
      ->delimiter(',');
  app.add_option("--loops", options.import.loops,
                 "Form of the loops of an ONNX model: auto, rolled or unrolled")
      ->check(CLI::IsMember({"auto", "rolled", "unrolled"}));
  app.add_flag("--expect", options.expect,
               "Run all functions named test_*, which return pairs of an "
               "actual and an expected tensor, and compare each pair, with "
               "--ranks on each rank");
  // The level is text, because a flag would interpret the number 0 as its
  // negation.
  std::string level;
  app.add_flag("--compiled{2}", level,
               "Compile for this CPU as ingotc -O2 does, or with --compiled=N "
               "as -ON, instead of interpreting")
      ->excludes(ranks);
  bool emulate = false;
  app.add_flag("--emulate", emulate,
               "Compile the kernels for a CUDA GPU and run them in the "
               "emulator, which checks their accesses");
  if (!ingot::parseCommandLine(app, argc, argv))
    return std::nullopt;
  if (!level.empty() &&
      (llvm::StringRef(level).getAsInteger(10, options.compiled) ||
       options.compiled < 0 || options.compiled > 3))
    throw runtime::usageError("--compiled",
                              "'" + level + "' is not an optimization level",
                              "give a number from 0 to 3, or none");
  if (emulate) {
    options.target = "emulator";
    options.compiled =
        std::max<int64_t>(options.compiled, level.empty() ? 2 : 0);
  }
  parseDims(options);
  return options;
}

/// Returns a compiled copy of the functions that `wanted` is true for.
static std::unique_ptr<ingot::CompiledModule>
compileCopy(ModuleOp module, const Options &options,
            llvm::function_ref<bool(func::FuncOp)> wanted,
            llvm::function_ref<void(func::FuncOp)> prepare) {
  OwningOpRef<ModuleOp> copy = module.clone();
  for (auto function :
       llvm::make_early_inc_range(copy->getOps<func::FuncOp>())) {
    if (wanted(function))
      prepare(function);
    else
      function.erase();
  }
  ingot::PipelineOptions pipeline;
  pipeline.level = static_cast<unsigned>(options.compiled);
  pipeline.target = options.target;
  return unwrap(ingot::CompiledModule::compile(*copy, pipeline),
                runtime::ExitCode::Failed, "--compiled",
                "without it, the function is interpreted");
}

static bool isTest(func::FuncOp function) {
  return function.getName().starts_with("test_");
}

/// Calls exist before inlining only.
static bool hasCalls(func::FuncOp function) {
  return !function.getOps<func::CallOp>().empty();
}

static int runTests(ModuleOp module, const Options &options) {
  llvm::StringMap<std::vector<Tensor>> constants;
  std::unique_ptr<ingot::CompiledModule> compiled;
  if (options.compiled >= 0)
    compiled = compileCopy(
        module, options,
        [](func::FuncOp function) {
          return isTest(function) && !hasCalls(function);
        },
        [&](func::FuncOp function) {
          constants[function.getName()] =
              unwrap(ingot::hoistConstants(function, options.compiled > 0),
                     runtime::ExitCode::BadInput, function.getName().str(),
                     "the interpreter takes dense and resource constants");
        });

  // The results of all ranks, one rank after the other.
  auto onRanks = [&](func::FuncOp function, std::vector<Tensor> arguments)
      -> llvm::Expected<std::vector<Tensor>> {
    if (options.ranks == 1)
      return evaluate(function, std::move(arguments));
    auto ranks = evaluateRanks(
        function, std::vector<std::vector<Tensor>>(options.ranks, arguments));
    if (!ranks)
      return ranks.takeError();
    std::vector<Tensor> all;
    for (std::vector<Tensor> &own : *ranks)
      llvm::append_range(all, std::move(own));
    return all;
  };
  int count = 0, failures = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isTest(function) || (compiled && hasCalls(function)))
      continue;
    ++count;
    std::vector<std::string> differences = {};
    llvm::Expected<std::vector<std::string>> result =
        compiled ? runExpectations(
                       function,
                       [&](func::FuncOp, std::vector<Tensor>) {
                         return compiled->run(function.getName(),
                                              constants[function.getName()]);
                       },
                       [&](Type element) {
                         return ingot::compiledLeeway(function, element);
                       })
                 : runExpectations(function, onRanks);
    if (result)
      differences = std::move(*result);
    else
      differences.push_back(llvm::toString(result.takeError()));
    failures += !differences.empty();
    for (const std::string &difference : differences)
      std::cout << "FAILED " << function.getName().str() << ": " << difference
                << "\n";
  }
  if (count == 0)
    throw runtime::usageError("--expect", "no function is named test_*",
                              "without --expect, --function runs any function");
  std::cout << count - failures << " of " << count << " passed\n";
  return failures != 0;
}

/// Returns the inputs of step `step`: of an array that is longer than the
/// argument, the part of that step. A remainder at the end is skipped, and the
/// parts start over.
static NamedTensors inputsOfStep(func::FuncOp function,
                                 const NamedTensors &inputs, int64_t step) {
  NamedTensors taken = inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto found = taken.find(argumentName(function, i));
    auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
    if (found == taken.end() || !type || type.getRank() == 0)
      continue;
    const Tensor &all = found->second;
    int64_t rows = type.getDimSize(0);
    if (all.getRank() != type.getRank() || rows == 0 ||
        all.getShape()[0] <= rows ||
        all.getShape().drop_front() != type.getShape().drop_front())
      continue;
    int64_t turn = step % (all.getShape()[0] / rows);
    Tensor part(RankedTensorType::get(type.getShape(), all.getElementType()));
    for (int64_t e = 0; e < part.size(); ++e)
      part.copy(e, all, turn * part.size() + e);
    found->second = std::move(part);
  }
  return taken;
}

/// Returns one tensor with a new first dimension that counts the steps.
static NamedTensors stack(const std::vector<NamedTensors> &steps) {
  NamedTensors stacked;
  for (const auto &[name, first] : steps.front()) {
    SmallVector<int64_t> shape = {static_cast<int64_t>(steps.size())};
    llvm::append_range(shape, first.getShape());
    Tensor all(RankedTensorType::get(shape, first.getElementType()));
    for (size_t s = 0; s < steps.size(); ++s)
      for (int64_t i = 0; i < first.size(); ++i)
        all.copy(s * first.size() + i, steps[s].find(name)->second, i);
    stacked[name] = std::move(all);
  }
  return stacked;
}

static void print(const NamedTensors &tensors) {
  for (const auto &[name, tensor] : tensors) {
    llvm::outs() << name << ": ";
    if (tensor.size() > kMaxPrinted)
      llvm::outs() << tensor.getType() << " (see --outputs)";
    else
      tensor.print(llvm::outs());
    llvm::outs() << "\n";
  }
}

static int runFunction(const Options &options, ModuleOp module) {
  MLIRContext &context = *module.getContext();
  func::FuncOp function = findFunction(module, options.function);
  std::string where = function.getName().str();
  NamedTensors states =
      unwrap(initialStates(module), runtime::ExitCode::BadInput, options.model,
             "the interpreter takes dense and resource constants");
  if (!options.states.empty())
    for (auto &[name, tensor] : readArrays(options.states, "", context)) {
      // Those that ranks have for themselves are NAME@RANK.
      auto state = states.find(name.substr(0, name.find('@')));
      if (state == states.end())
        continue;
      if (tensor.getShape() != state->second.getShape())
        throw runtime::badInput(options.states + ":" + name,
                                "the array has another shape than the state",
                                "give each state an array of its shape");
      states.insert_or_assign(name,
                              tensor.converted(state->second.getElementType()));
    }
  if (llvm::Error error = refreshCopies(module, states))
    throw runtime::badInput(options.model, llvm::toString(std::move(error)),
                            "copies name states of the module");

  std::vector<std::string> required = requiredInputs(function);
  NamedTensors inputs;
  if (!options.inputs.empty())
    inputs = readArrays(options.inputs,
                        required.size() == 1 ? required.front() : "", context);
  for (const std::string &name : required)
    if (!inputs.count(name))
      throw runtime::usageError(
          "--inputs", "no array for input '" + name + "' of " + where,
          "its inputs are: " + llvm::join(required, ", "));

  std::unique_ptr<ingot::CompiledModule> compiled;
  if (options.compiled >= 0)
    compiled = compileCopy(
        module, options,
        [&](func::FuncOp candidate) { return candidate.getName() == where; },
        [](func::FuncOp) {});
  auto evaluator = [&](func::FuncOp called, std::vector<Tensor> arguments) {
    return compiled ? compiled->run(where, arguments)
                    : evaluate(called, std::move(arguments));
  };
  auto run = [&](int64_t step) {
    std::vector<NamedTensors> parts;
    ingot::Mesh mesh = ingot::Mesh::of(function);
    // Ranks along other axes than those of samples compute with the same ones.
    auto getPlace = [&](int64_t rank) {
      int64_t place = 0;
      for (int64_t axis : mesh.getSampleAxes())
        place = place * std::max<int64_t>(
                            1, mesh.getSize(static_cast<ingot::Axis>(axis))) +
                mesh.getCoordinates(rank, options.ranks)[axis];
      return place;
    };
    int64_t groups = getPlace(options.ranks - 1) + 1;
    for (int64_t rank = 0; rank < options.ranks; ++rank)
      parts.push_back(
          inputsOfStep(function, inputs, step * groups + getPlace(rank)));
    return options.ranks == 1
               ? runByName(function, parts.front(), states, evaluator)
               : runRanksByName(function, parts, states);
  };
  std::vector<NamedTensors> steps;
  for (int64_t step = 0; step < options.steps; ++step)
    steps.push_back(
        unwrap(run(step), runtime::ExitCode::BadInput, where,
               "the arrays have the shapes of the function's arguments"));
  NamedTensors outputs =
      options.steps == 1 ? std::move(steps.front()) : stack(steps);
  if (options.outputs.empty())
    print(outputs);
  else
    writeArrays(options.outputs, outputs);
  if (!options.stateOut.empty())
    writeArrays(options.stateOut, states);
  return 0;
}

/// No output may replace an input, the other output or a device.
static void checkPaths(const Options &options) {
  runtime::OutputPaths paths;
  if (options.model != "-")
    paths.addInput("MODEL", options.model);
  if (!options.inputs.empty())
    paths.addInput("--inputs", options.inputs);
  if (!options.states.empty())
    paths.addInput("--states", options.states);
  if (!options.outputs.empty())
    paths.addOutput("--outputs", options.outputs);
  if (!options.stateOut.empty())
    paths.addOutput("--state-out", options.stateOut);
  paths.check();
}

int main(int argc, char **argv) {
  runtime::Console console;
  return runtime::runProgram(console, [&] {
    std::optional<Options> parsed = parseOptions(argc, argv);
    if (!parsed)
      return 0;
    Options &options = *parsed;
    checkPaths(options);
    DialectRegistry registry;
    ingot::registerIngotDialects(registry);
    registry.insert<func::FuncDialect>();
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
      ingot::printUserDiagnostic(llvm::errs(), diagnostic);
    });
    OwningOpRef<ModuleOp> module =
        loadModule(options.model, options.import, context);
    if (!module)
      return static_cast<int>(runtime::ExitCode::BadInput);
    return options.expect ? runTests(*module, options)
                          : runFunction(options, *module);
  });
}
