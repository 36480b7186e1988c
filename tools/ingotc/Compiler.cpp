// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/Compiler.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/target/Target.h"
#include "frontends/onnx/import/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "passes/Pipeline.h"
#include "passes/Registration.h"
#include "passes/targets/host/BuildManifest.h"
#include "passes/targets/host/Object.h"
#include "passes/targets/host/Passes.h"
#include "runtime/checkpoint/SafeTensors.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "tools/ingotc/Link.h"
#include "tools/ingotc/MeasuredProfile.h"
#include "tools/ingotc/PassDump.h"
#include "tools/ingotc/Plan.h"
#include "tools/ingotc/report/Report.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <list>

using namespace mlir;
using namespace ingot;
using runtime::ExitCode;
using runtime::failure;

namespace {

/// Initial values that are embedded unless the options say otherwise.
constexpr int64_t kEmbedLimit = int64_t(256) << 20;

class Compiler {
public:
  explicit Compiler(const CompilerOptions &options)
      : options(options), pipeline(*options.pipeline), target(*options.target),
        handler(&context,
                [this](Diagnostic &diagnostic) { report(diagnostic); }) {}

  int run();
  /// Places everything, without writing anything. Returns the exit status.
  int plan();
  /// All planned memory at its highest, after plan().
  int64_t getPeakBytes();

private:
  void report(Diagnostic &diagnostic);
  void enableRemarks();
  int exitCode() const {
    return static_cast<int>(blamesOption ? ExitCode::Usage
                                         : ExitCode::BadInput);
  }
  void checkTrainable();
  /// Throws unless trainers can feed the imported model's inputs.
  void checkInputs();
  /// Throws unless trainers can feed the labels of the placed steps.
  void checkLabels();
  LogicalResult importModel();
  /// Runs passes on the module.
  bool runPasses(llvm::function_ref<void(OpPassManager &)> build);
  void writeModule();
  WeightStorage chooseStorage();
  /// States with values that the manifest cannot say, as safetensors.
  void writeWeights(const std::string &path);
  /// Kernels as code of the target; a device's code goes to `device`.
  bool makeKernels(DeviceCode &device);
  std::string manifest(WeightStorage storage);
  void writeText(const std::string &path, const std::string &bytes);

  const CompilerOptions &options;
  const PipelineOptions &pipeline;
  const Target &target;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  bool blamesOption = false;
  llvm::StringSet<> reported;
  onnx_import::ImportedModel model;
  unsigned passNumber = 0;
};

void Compiler::report(Diagnostic &diagnostic) {
  std::optional<ErrorKind> kind = getErrorKind(diagnostic);
  blamesOption |= kind == ErrorKind::Usage;
  std::string text;
  llvm::raw_string_ostream os(text);
  printUserDiagnostic(os, diagnostic);
  // Every error says what to do next.
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error && !kind)
    os << "hint: this is a defect of ingotc; --dump-passes shows the module "
          "it happened in\n";
  // Variants of a model are warned of once.
  if (!reported.insert(text).second)
    return;
  llvm::errs() << text;
}

void Compiler::enableRemarks() {
  if (options.remarks.empty())
    return;
  remark::RemarkCategories all{std::nullopt, ".*", ".*", ".*", ".*"};
  if (failed(remark::enableOptimizationRemarksWithLLVMStreamer(
          context, options.remarks, llvm::remarks::Format::YAML,
          std::make_unique<remark::RemarkEmittingPolicyAll>(), all)))
    throw failure("--remarks", "cannot write " + options.remarks,
                  "choose a file in a directory that can be written");
}

bool Compiler::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  ModuleOp module = *model.module;
  PassManager manager(&context);
  build(manager);
  // A dump shows the whole module, remarks come in one order.
  if (!options.dumpPasses.empty() || !options.remarks.empty())
    context.disableMultithreading();
  if (!options.dumpPasses.empty())
    manager.addInstrumentation(
        createPassDump(options.dumpPasses, module, passNumber));
  return succeeded(manager.run(module));
}

void Compiler::writeText(const std::string &path, const std::string &bytes) {
  runtime::AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void Compiler::writeModule() {
  std::string text;
  llvm::raw_string_ostream os(text);
  model.module->print(os, OpPrintingFlags().enableDebugInfo());
  // As mlir-opt ends.
  os << "\n";
  writeText(options.output, text);
}

WeightStorage Compiler::chooseStorage() {
  if (options.weights == "none")
    return WeightStorage::None;
  if (options.weights == "sidecar")
    return WeightStorage::Sidecar;
  int64_t bytes = 0;
  for (auto state : model.module->getOps<StateOp>())
    if (!splatValue(state))
      bytes += byteSize(state.getTensorType());
  return bytes <= kEmbedLimit ? WeightStorage::Embed : WeightStorage::Sidecar;
}

runtime::DType dtypeOf(Type type) {
  std::string name = type.isInteger(1)          ? "bool"
                     : type.isUnsignedInteger() ? "u8"
                     : type.isBF16()            ? "bf16"
                     : isa<FloatType>(type)     ? "f"
                                                : "i";
  if (name == "f" || name == "i")
    name += std::to_string(type.getIntOrFloatBitWidth());
  return runtime::parseDType(name).value();
}

void Compiler::writeWeights(const std::string &path) {
  runtime::SafeTensors content;
  std::list<std::string> storage;
  bool all = options.weights != "none";
  for (auto state : model.module->getOps<StateOp>()) {
    if (splatValue(state) || (!all && state.getRole() == Role::Parameter))
      continue;
    RankedTensorType type = state.getTensorType();
    StringRef bytes = stateBytes(state, storage.emplace_back());
    content.tensors[state.getSymName().str()] = {
        dtypeOf(type.getElementType()), type.getShape().vec(),
        std::string_view(bytes.data(), bytes.size())};
  }
  runtime::AtomicFile file(path);
  runtime::writeSafeTensors(file, content);
  file.commit();
}

std::string Compiler::manifest(WeightStorage storage) {
  llvm::json::Object object = buildManifest(*model.module, storage);
  object["target"] = target.describe();
  llvm::json::Array segments;
  for (const auto &segment : model.exportTemplate.segments) {
    if (segment.literalBytes > 0)
      segments.push_back(llvm::json::Object{{"literal", segment.literalBytes}});
    if (segment.state.empty())
      continue;
    auto state = model.module->lookupSymbol<StateOp>(segment.state);
    Type element = state.getTensorType().getElementType();
    segments.push_back(llvm::json::Object{
        {"state", segment.state},
        {"dtype", std::string(runtime::getName(dtypeOf(element)))}});
  }
  object["export"] = std::move(segments);
  if (!options.report.empty())
    writeText(options.report, makeReport(object, Machine::of(*model.module)));
  return llvm::formatv("{0}", llvm::json::Value(std::move(object))).str();
}

/// Throws if the options leave no parameter to train.
void Compiler::checkTrainable() {
  const auto &[freeze, trainable] =
      std::tie(options.import.freeze, options.import.trainable);
  bool hasParameter = false;
  model.module->walk([&](StateOp state) {
    hasParameter |= state.getRole() == Role::Parameter;
  });
  if (hasParameter || (freeze.empty() && trainable.empty()))
    return;
  bool isFrozen = !freeze.empty();
  throw runtime::usageError(
      isFrozen ? "--freeze" : "--trainable",
      "'" + (isFrozen ? freeze : trainable) + "' leaves nothing to train",
      "parameters go by the names of the ONNX initializers; the expression is "
      "found anywhere in them, ^ and $ mark their ends");
}

/// Returns why a batch of `batch` samples cannot be read into a tensor of this
/// shape; empty if it can.
static std::string describeMisfit(ArrayRef<int64_t> shape, int64_t batch) {
  if (shape.empty())
    return "is a scalar, which has no dimension that counts samples";
  if (llvm::is_contained(shape, 0))
    return "has no elements";
  if (shape.front() != batch)
    return "has " + std::to_string(shape.front()) +
           " as its first dimension, the batch is " + std::to_string(batch);
  return "";
}

static int64_t getBatch(ModuleOp module) {
  auto batch = module->getAttrOfType<IntegerAttr>(kBatchAttr);
  return batch ? batch.getInt() : 0;
}

void Compiler::checkInputs() {
  model.module->walk([&](func::FuncOp forward) {
    Signature signature(forward);
    int64_t batch = getBatch(forward->getParentOfType<ModuleOp>());
    bool hasData = false;
    for (unsigned i = 0; i < signature.numInputs(); ++i) {
      if (signature.argumentKind(i) != "data")
        continue;
      hasData = true;
      auto type = cast<RankedTensorType>(forward.getArgumentTypes()[i]);
      if (std::string misfit = describeMisfit(type.getShape(), batch);
          !misfit.empty())
        throw runtime::badInput(
            options.model,
            "the input '" + signature.argumentName(i).str() + "' " + misfit,
            "trainers read samples along the first dimension of every input; "
            "export the model with one, or make it a constant");
    }
    if (!hasData)
      throw runtime::badInput(options.model, "no input reaches the outputs",
                              "a trainer reads its samples into inputs: export "
                              "the model with an input that it uses");
  });
}

void Compiler::checkLabels() {
  int64_t batch = getBatch(*model.module);
  for (auto step : model.module->getOps<exec::StepOp>())
    for (auto input : step.getInputs().getAsRange<exec::ValueAttr>()) {
      if (input.getKind() != "labels")
        continue;
      std::string misfit = describeMisfit(input.getType().getShape(), batch);
      if (!misfit.empty())
        throw runtime::usageError(
            "--loss", "the tensor of labels " + misfit,
            "the first dimension of the output that is compared with labels "
            "has to count the samples");
    }
}

LogicalResult Compiler::importModel() {
  auto imported =
      onnx_import::importOnnx(options.model, options.import, context);
  if (failed(imported))
    return failure();
  model = std::move(*imported);
  checkTrainable();
  if (options.emit == "exe")
    checkInputs();
  return success();
}

bool Compiler::makeKernels(DeviceCode &device) {
  if (!runPasses(
          [&](OpPassManager &m) { buildKernelPipeline(m, pipeline, target); }))
    return false;
  auto code = target.emitDeviceCode(*model.module);
  if (!code)
    throw failure("codegen", llvm::toString(code.takeError()),
                  "check the installation of the target's tools, or report "
                  "this with the model");
  device = std::move(*code);
  return true;
}

int Compiler::plan() {
  DialectRegistry registry;
  registerIngotDialects(registry);
  // Fails before the model is compiled, not after.
  if (options.emit == "exe" && !options.output.empty())
    checkRuntime(target.getRuntime().str());
  if (options.emit == "ptx" && pipeline.target == "cpu")
    throw runtime::usageError("--emit", "a CPU has no PTX",
                              "add --target cuda");
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  // Users see their node's name, not our operations.
  context.printOpOnDiagnostic(false);
  enableRemarks();

  if (failed(importModel()) || !runPasses([&](OpPassManager &m) {
        buildGraphPipeline(m, pipeline, target);
        if (options.emit != "mlir")
          buildPlacementPipeline(m, pipeline);
      }))
    return exitCode();
  if (options.emit == "exe")
    checkLabels();
  return 0;
}

int64_t Compiler::getPeakBytes() {
  int64_t arena = 0, staging = 0;
  for (auto step : model.module->getOps<exec::StepOp>()) {
    arena = std::max(arena, static_cast<int64_t>(step.getArenaBytes()));
    staging = std::max(staging, static_cast<int64_t>(step.getStagingBytes()));
  }
  auto states =
      (*model.module)->getAttrOfType<IntegerAttr>(exec::kStateBytesAttr);
  return states.getInt() + arena + staging;
}

int Compiler::run() {
  if (options.cluster && options.output.empty() && options.emit == "exe") {
    if (int status = plan())
      return status;
    llvm::outs() << describePlans(*model.module, *options.cluster);
    return 0;
  }
  if (options.output.empty() || llvm::sys::path::filename(options.output) == "")
    throw runtime::usageError("-o",
                              "'" + options.output + "' is not a file name",
                              "name the trainer to write");
  if (int status = plan())
    return status;
  if (options.cluster && options.emit != "mlir")
    llvm::outs() << describePlans(*model.module, *options.cluster);
  if (options.emit == "mlir" || options.emit == "exec") {
    writeModule();
    return 0;
  }

  // Blobs are made before lowering drops the states.
  WeightStorage storage = chooseStorage();
  std::string sidecar = options.output + ".safetensors";
  LinkInput link;
  link.target = target.getRuntime().str();
  bool hasWeights =
      llvm::any_of(model.module->getOps<StateOp>(), [&](StateOp state) {
        return !splatValue(state) && (storage != WeightStorage::None ||
                                      state.getRole() != Role::Parameter);
      });
  bool isExecutable = options.emit == "exe";
  if (isExecutable && hasWeights) {
    writeWeights(sidecar);
    if (storage != WeightStorage::Sidecar) {
      link.weights = runtime::MappedFile(sidecar).getBytes();
      llvm::sys::fs::remove(sidecar);
    }
  }
  if (isExecutable)
    link.exportLiteral = model.exportTemplate.literal;

  DeviceCode device;
  if (!makeKernels(device))
    return exitCode();
  if (options.emit == "ptx") {
    writeText(options.output, device.text);
    return 0;
  }
  Builder builder(&context);
  auto setText = [&](StringRef name, StringRef bytes) {
    (*model.module)->setAttr(name, builder.getStringAttr(bytes));
  };
  auto setSize = [&](StringRef name, size_t bytes) {
    (*model.module)
        ->setAttr(name, builder.getI64IntegerAttr(static_cast<int64_t>(bytes)));
  };
  setText(exec::kManifestAttr, manifest(storage));
  setText(exec::kDeviceCodeAttr, device.binary);
  setText(exec::kDeviceTextAttr, device.text);
  setSize(exec::kWeightBytesAttr, link.weights.size());
  setSize(exec::kExportBytesAttr, link.exportLiteral.size());
  if (!runPasses([&](OpPassManager &m) { buildLoweringPipeline(m); }))
    return exitCode();

  llvm::LLVMContext llvmContext;
  auto module = translateForHost(*model.module, llvmContext, target.getHost(),
                                 pipeline.level);
  if (!module)
    throw failure("codegen", llvm::toString(module.takeError()),
                  "report this with the model");
  if (options.emit == "llvm") {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*module)->print(os, nullptr);
    writeText(options.output, text);
    return 0;
  }
  auto object = emitObject(**module, target.getHost(), pipeline.level);
  if (!object)
    throw failure("codegen", llvm::toString(object.takeError()),
                  "report this with the model");
  if (options.emit == "obj") {
    writeText(options.output, *object);
    return 0;
  }
  link.object = std::move(*object);
  link.dataParallel = pipeline.dataParallel;
  linkTrainer(link, options.output);
  return 0;
}

} // namespace

/// The largest batch whose plan takes at most `options.fitBytes`; its peak in
/// `peakBytes`. 0 if none does: then `peakBytes` is that of one sample. Returns
/// the exit status of a batch that cannot be compiled, else 0.
static int findBatch(CompilerOptions options, int64_t &fits,
                     int64_t &peakBytes) {
  options.dumpPasses.clear();
  options.remarks.clear();
  options.emit = "exe";
  int64_t tooLarge = std::numeric_limits<int64_t>::max();
  constexpr int64_t maxBatch = int64_t(1) << 24;
  for (int64_t batch = 1; fits < maxBatch && fits + 1 < tooLarge;) {
    options.import.batch = batch;
    Compiler compiler(options);
    if (int status = compiler.plan())
      return status;
    int64_t peak = compiler.getPeakBytes();
    if (peak <= *options.fitBytes)
      fits = batch;
    else
      tooLarge = batch;
    if (batch == fits || fits == 0)
      peakBytes = peak;
    batch = tooLarge > maxBatch ? 2 * batch : fits + (tooLarge - fits) / 2;
  }
  return 0;
}

/// The machine that `--machine measured` stands for.
static void resolveMachine(PipelineOptions &pipeline) {
  if (pipeline.machine != "measured")
    return;
  if (pipeline.target != "cpu")
    throw runtime::usageError("--machine", "measures CPUs, not GPUs",
                              "name a file with the GPU's figures");
  pipeline.machine = findMeasuredProfile();
}

int ingot::compile(CompilerOptions options) {
  resolveMachine(*options.pipeline);
  if (options.fitBytes) {
    int64_t peak = 0, batch = 0;
    if (int status = findBatch(options, batch, peak))
      return status;
    if (batch == 0)
      throw runtime::usageError(
          "--fit", "one sample takes " + std::to_string(peak) + " bytes",
          "allow that much, or recompute with --memory-budget");
    options.import.batch = batch;
    if (!options.printPipeline)
      llvm::outs() << llvm::formatv("batch {0}: {1} bytes at the peak\n", batch,
                                    peak);
  }
  if (options.printPipeline) {
    llvm::outs() << printPipeline(options) << "\n";
    return 0;
  }
  if (options.fitBytes && options.output.empty())
    return 0;
  return Compiler(options).run();
}
