// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/compile/Compiler.h"

#include "dialects/exec/Exec.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/encoding/EncodingOps.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/ElementTypes.h"
#include "dialects/ingot/target/Target.h"
#include "frontends/onnx/Import.h"
#include "frontends/onnx/export/CodedExport.h"
#include "frontends/onnx/export/TrainingModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "passes/Pipeline.h"
#include "passes/Registration.h"
#include "passes/targets/Passes.h"
#include "passes/targets/host/BuildManifest.h"
#include "passes/targets/host/DescribePruning.h"
#include "passes/targets/host/ManifestWriter.h"
#include "passes/targets/host/Object.h"
#include "passes/targets/host/Passes.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/Manifest.h"
#include "runtime/core/files/OutputPaths.h"
#include "tools/ingotc/checks/CheckPaths.h"
#include "tools/ingotc/checks/ModelChecks.h"
#include "tools/ingotc/compile/LibraryHeader.h"
#include "tools/ingotc/compile/Link.h"
#include "tools/ingotc/compile/MeasuredProfile.h"
#include "tools/ingotc/compile/Plan.h"
#include "tools/ingotc/compile/RemarksFile.h"
#include "tools/ingotc/compile/UsedKernels.h"
#include "tools/ingotc/compile/WriteWeights.h"
#include "tools/ingotc/instrumentation/CompileProgress.h"
#include "tools/ingotc/instrumentation/PassDump.h"
#include "tools/ingotc/options/LibraryName.h"
#include "tools/ingotc/report/GraphDescription.h"
#include "tools/ingotc/report/Report.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>
#include <unistd.h>

using namespace mlir;
using namespace ingot;
using runtime::ExitCode;
using runtime::failure;

namespace {

/// Initial values that are embedded unless the options say otherwise.
constexpr int64_t kEmbedLimit = int64_t(256) << 20;

/// The name of a library, and its header.
LibraryInput describeLibrary(const runtime::Manifest &manifest,
                             const CompilerOptions &options) {
  std::string name = getLibraryName(options.output);
  return {name, makeLibraryHeader(manifest, name),
          isStaticLibrary(options.output)};
}

/// The name of a module's table; the first one is the trainer's.
std::string getModuleName(size_t index) {
  return index == 0 ? "ingot_module" : "ingot_module_" + std::to_string(index);
}

class Compiler {
public:
  explicit Compiler(const CompilerOptions &options)
      : options(options), pipeline(*options.pipeline), target(*options.target),
        progress(options.isQuiet),
        handler(&context,
                [this](Diagnostic &diagnostic) { report(diagnostic); }) {}

  /// Compiles module `index` of a trainer, or writes what `--emit` names. The
  /// object follows those in `link`, and the other parts become those of the
  /// trainer. Returns the exit status.
  int run(LinkInput &link, size_t index);
  /// Places everything, without writing anything. Returns the exit status.
  int plan();
  /// Prints the predicted timeline of a step. Returns the exit status.
  int printGpuPlan();
  /// All planned memory at its highest, after plan().
  int64_t getPeakBytes();
  /// The time of a step, after plan().
  double getStepSeconds() {
    return replay(readTrace(*model.module), Cluster(), /*ranks=*/1).stepSeconds;
  }

private:
  void report(Diagnostic &diagnostic);
  void enableRemarks();
  int exitCode() const {
    return static_cast<int>(blamesOption ? ExitCode::Usage
                                         : ExitCode::BadInput);
  }
  LogicalResult importModel();
  /// Runs passes on the module.
  bool runPasses(llvm::function_ref<void(OpPassManager &)> build);
  void writeModule();
  runtime::WeightsKind chooseStorage();
  /// Kernels as code of the target; a device's code goes to `device`.
  bool makeKernels(DeviceCode &device);
  /// Changes how exported files have bases.
  void changeBases();
  std::string manifest();
  void writeText(const std::string &path, const std::string &bytes);

  const CompilerOptions &options;
  const PipelineOptions &pipeline;
  const Target &target;
  CompileProgress progress;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  bool blamesOption = false;
  llvm::StringSet<> reported;
  onnx_import::ImportedModel model;
  runtime::WeightsKind storage = runtime::WeightsKind::Embed;
  /// The checksums of states that checkpoints leave to the weights.
  std::map<std::string, uint32_t> checksums;
  /// The graph of the model, for a report.
  llvm::json::Array graph;
  unsigned passNumber = 0;
};

void Compiler::report(Diagnostic &diagnostic) {
  if (options.isQuiet)
    return;
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
  progress.clear();
  llvm::errs() << text;
}

void Compiler::enableRemarks() {
  if (options.remarks.empty())
    return;
  remark::RemarkCategories all{std::nullopt, ".*", ".*", ".*", ".*"};
  if (failed(remark::enableOptimizationRemarksWithLLVMStreamer(
          context, options.unfinishedRemarks, llvm::remarks::Format::YAML,
          std::make_unique<remark::RemarkEmittingPolicyAll>(), all)))
    throw failure("--remarks", "cannot write " + options.remarks,
                  "choose a file in a directory that can be written");
}

bool Compiler::runPasses(llvm::function_ref<void(OpPassManager &)> build) {
  ModuleOp module = *model.module;
  PassManager manager(&context);
  build(manager);
  // In a large graph, to verify after each pass takes longer than the passes.
  // ingot-opt verifies after each pass, and so does a dump, which is written to
  // find a defect.
  bool verifiesEach = !options.dumpPasses.empty();
  manager.enableVerifier(verifiesEach);
  manager.addInstrumentation(progress.createInstrumentation());
  // A dump shows the whole module, remarks come in one order.
  if (!options.dumpPasses.empty() || !options.remarks.empty())
    context.disableMultithreading();
  if (!options.dumpPasses.empty())
    manager.addInstrumentation(
        createPassDump(options.dumpPasses, module, passNumber));
  return succeeded(manager.run(module)) &&
         (verifiesEach || succeeded(verify(module)));
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

runtime::WeightsKind Compiler::chooseStorage() {
  if (options.weights == "none")
    return runtime::WeightsKind::None;
  if (options.weights == "sidecar")
    return runtime::WeightsKind::Sidecar;
  int64_t bytes = 0;
  // Variants have the same states.
  llvm::StringSet<> counted;
  model.module->walk([&](StateOp state) {
    if (!splatValue(state) && counted.insert(state.getSymName()).second)
      bytes += byteSize(state.getWholeType());
  });
  return bytes <= kEmbedLimit ? runtime::WeightsKind::Embed
                              : runtime::WeightsKind::Sidecar;
}

void Compiler::changeBases() {
  std::vector<onnx_import::EncodedBase> bases;
  bool isEncoded = false;
  for (StateOp state : model.module->getOps<StateOp>()) {
    // Files of models have no moments.
    DictionaryAttr fields =
        state.getRole() == Role::Moment ? DictionaryAttr() : getEncoding(state);
    isEncoded |= fields != nullptr;
    // Weights of 16 bits stay in the type of the model.
    if (!fields || !state.getTensorType().getElementType().isF32())
      continue;
    ArrayRef<int64_t> shape = state.getTensorType().getShape();
    bases.push_back({state.getSymName().str(), shape[0], shape[1],
                     *parseEncoding(fields.getAs<StringAttr>("kind").getValue(),
                                    fields.getAs<IntegerAttr>("block").getInt(),
                                    /*hasNested=*/false),
                     hasTransposedParts(state)});
  }
  if (!isEncoded && options.exportBase != onnx_import::BaseForm::Numbers)
    throw runtime::usageError("--export-base", "no weight is encoded",
                              "add --base, give a model that comes in 4 or 8 "
                              "bits, or leave it out");
  for (const auto &[state, reason] : onnx_import::changeBases(
           model.exportTemplate, bases, options.exportBase))
    emitUserWarning(NameLoc::get(StringAttr::get(&context, state)),
                    "--export-base: it is exported as numbers: " + reason,
                    "leave it out of --base, or choose another form");
}

std::string Compiler::manifest() {
  runtime::ModuleSpec described = buildManifest(*model.module, storage);
  for (runtime::StateSpec &state : described.states)
    if (auto found = checksums.find(state.name); found != checksums.end())
      state.crc = found->second;
  described.target = target.describe();
  described.compilerOptions = options.names;
  auto given = options.given;
  // --fit has found it.
  if (options.import.batch)
    given["batch"] = {std::to_string(*options.import.batch)};
  std::vector<std::string> words = makeWords(given);
  words.insert(words.begin(), {"ingotc", described.model});
  described.command = quoteForShell(words);
  described.recipe = makeWords(options.shaping);
  described.recipe.push_back("--loss=" + described.loss);
  described.recipe.push_back("--optimizer=" + described.optimizer);
  SymbolTable symbols(*model.module);
  for (const auto &segment : model.exportTemplate.segments) {
    if (segment.literalBytes > 0)
      described.exportPieces.emplace_back().literal = segment.literalBytes;
    if (segment.state.empty())
      continue;
    auto state = symbols.lookup<StateOp>(segment.state);
    runtime::ExportPiece &piece = described.exportPieces.emplace_back();
    piece.state = segment.state;
    piece.dtype = getDType(state.getTensorType().getElementType());
    if (segment.part) {
      piece.dtype = segment.part->dtype;
      if (!segment.part->isWhole)
        piece.codes = segment.part->codes;
    }
  }
  // An export without a weight of an adapter would be without the adapter.
  for (const runtime::AdapterSpec &adapter : described.adapters)
    if (llvm::none_of(described.exportPieces, [&](const auto &piece) {
          return piece.state == adapter.weight;
        }))
      described.exportPieces.clear();
  if (const std::string &classes = model.exportTemplate.classes;
      !classes.empty()) {
    llvm::json::Value names = cantFail(llvm::json::parse(classes));
    for (const llvm::json::Value &name : *names.getAsArray())
      described.classNames.push_back(name.getAsString()->str());
  }
  llvm::json::Value json = ManifestWriter::write(described);
  if (auto pruning = describePruning(*model.module); !pruning.empty())
    (*json.getAsObject())[runtime::kPruningKey] =
        ManifestWriter::write(pruning);
  if (!options.report.empty())
    writeText(options.report,
              makeReport(*json.getAsObject(), Machine::of(*model.module),
                         std::move(graph)));
  return llvm::formatv("{0}", json).str();
}

LogicalResult Compiler::importModel() {
  progress.begin("reading " + options.model);
  auto imported =
      onnx_import::importOnnx(options.model, options.import, context);
  if (failed(imported))
    return failure();
  model = std::move(*imported);
  checkPaths(options, model.externalFiles);
  storage = chooseStorage();
  if (storage == runtime::WeightsKind::Sidecar && options.links())
    (*model.module)->setAttr(exec::kWeightsFileAttr, UnitAttr::get(&context));
  if (!options.report.empty())
    graph = describeGraph(*model.module);
  checkTrainable(*model.module, options);
  checkNames(*model.module, options);
  if (options.links())
    checkInputs(*model.module, options);
  return success();
}

bool Compiler::makeKernels(DeviceCode &device) {
  if (!runPasses(
          [&](OpPassManager &m) { buildKernelPipeline(m, pipeline, target); }))
    return false;
  progress.begin("generating code of kernels");
  const TargetDevice *machine = target.findDevice();
  if (!machine)
    return true;
  auto code = machine->emitCode(*model.module);
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
  if (options.links() && !options.output.empty())
    checkRuntime(target.getRuntime().str(), target.getHost().triple);
  if (options.emit == "ptx" && pipeline.target == "cpu")
    throw runtime::usageError("--emit", "a CPU has no PTX",
                              "add --target cuda");
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  // Users see their node's name, not our operations.
  context.printOpOnDiagnostic(false);
  enableRemarks();

  if (failed(importModel()) || !runPasses([&](OpPassManager &m) {
        if (options.emit == "onnx")
          return buildStandardPipeline(m, pipeline, target);
        buildGraphPipeline(m, pipeline, target);
        if (options.emit != "mlir")
          buildPlacementPipeline(m, pipeline);
      }))
    return exitCode();
  if (options.links())
    checkLabels(*model.module);
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
  auto mapped =
      (*model.module)->getAttrOfType<IntegerAttr>(exec::kMappedBytesAttr);
  return states.getInt() + (mapped ? mapped.getInt() : 0) + arena + staging;
}

int Compiler::printGpuPlan() {
  if (int status = plan())
    return status;
  if (const TargetDevice *device = target.findDevice();
      device && !runPasses([&](OpPassManager &m) { device->addPipeline(m); }))
    return exitCode();
  llvm::outs() << describeGpuPlan(*model.module, options.gpu,
                                  !options.nondeterministic);
  return 0;
}

int Compiler::run(LinkInput &link, size_t index) {
  if (!options.gpu.empty())
    return printGpuPlan();
  if (options.plan && options.output.empty() && options.links()) {
    if (int status = plan())
      return status;
    llvm::outs() << describePlans(*model.module, *options.plan);
    return 0;
  }
  if (options.output.empty())
    throw runtime::usageError("-o", "no file is named to write",
                              "name the trainer to write");
  if (int status = plan())
    return status;
  if (options.plan && options.emit != "mlir" && options.emit != "onnx")
    llvm::outs() << describePlans(*model.module, *options.plan);
  if (options.emit == "mlir" || options.emit == "exec") {
    writeModule();
    return 0;
  }
  if (options.emit == "onnx") {
    FailureOr<std::string> bytes =
        onnx_export::writeTrainingModel(*model.module);
    if (failed(bytes))
      return exitCode();
    writeText(options.output, *bytes);
    return 0;
  }

  // Blobs are made before lowering drops the states.
  std::string sidecar = options.output + ".safetensors";
  LinkInput before = std::move(link);
  link = {};
  link.target = target.getRuntime().str();
  link.triple = target.getHost().triple;
  bool hasWeights =
      llvm::any_of(model.module->getOps<StateOp>(), [&](StateOp state) {
        return !splatValue(state) && (storage != runtime::WeightsKind::None ||
                                      state.getRole() != Role::Parameter);
      });
  bool isLinked = options.links();
  // A file beside the trainer replaces an earlier one when the trainer does,
  // and goes with a compile that fails.
  llvm::FileRemover unfinished;
  std::string written;
  if (isLinked && hasWeights) {
    if (storage == runtime::WeightsKind::Sidecar) {
      runtime::OutputPaths implied;
      implied.addImplied("-o", sidecar, [](std::string_view begin) {
        return begin.find(R"("producer":"ingotc")") != std::string_view::npos;
      });
      implied.check();
    }
    written = sidecar + ".building-" + std::to_string(getpid());
    unfinished.setFile(written);
    WrittenWeights weights = writeWeights(
        *model.module, written, storage != runtime::WeightsKind::None);
    checksums = std::move(weights.checksums);
    if (storage == runtime::WeightsKind::Sidecar)
      (*model.module)
          ->setAttr(kWeightsCrcAttr,
                    Builder(&context).getI64IntegerAttr(weights.crc));
    else
      link.weights = runtime::MappedFile(written).getBytes();
  }
  changeBases();
  if (isLinked)
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
  std::string text = manifest();
  cpu::KernelFamilies kernels = findUsedKernels(*model.module);
  // Callers of a library read their data.
  link.hasPictures =
      options.emit == "exe" && takesPictures(runtime::parseManifest(text));
  link.hasAdapters = !runtime::parseManifest(text).adapters.empty();
  link.isPruned = !describePruning(*model.module).empty();
  link.hasQuantizers = !runtime::parseManifest(text).quantizers.empty();
  link.hasEncodings =
      llvm::any_of(
          model.module->getOps<StateOp>(),
          [](StateOp state) { return state->hasAttr(kEncodingAttr); }) ||
      llvm::any_of(model.exportTemplate.segments, [](const auto &segment) {
        return segment.part && !segment.part->isWhole;
      });
  setText(exec::kManifestAttr, text);
  setText(exec::kDeviceCodeAttr, device.binary);
  setText(exec::kDeviceTextAttr, device.text);
  if (index + 1 < options.archs.size())
    setText(exec::kNextModuleAttr, getModuleName(index + 1));
  setSize(exec::kWeightBytesAttr, link.weights.size());
  setSize(exec::kExportBytesAttr, link.exportLiteral.size());
  if (!runPasses([&](OpPassManager &m) { buildLoweringPipeline(m); }))
    return exitCode();

  progress.begin("generating machine code");
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
  renameModule(**module, getModuleName(index));
  if (options.emit == "lib" && index == 0)
    addModelFunction(**module, getLibraryName(options.output));
  auto object = emitObject(**module, target.getHost(), pipeline.level);
  if (!object)
    throw failure("codegen", llvm::toString(object.takeError()),
                  "report this with the model");
  if (options.emit == "obj") {
    writeText(options.output, *object);
    return 0;
  }
  if (index > 0 && (link.weights != before.weights ||
                    link.exportLiteral != before.exportLiteral))
    throw failure("--arch", "the CPUs' steps differ in their states",
                  "report this with the model, and compile a trainer for each");
  abi::CpuLevel level = abi::getLeastLevel(target.getHost().features);
  link.level = index == 0 ? level : std::min(level, before.level);
  link.kernels = kernels;
  link.kernels.add(before.kernels);
  link.objects = std::move(before.objects);
  link.objects.push_back(std::move(*object));
  link.dataParallel = pipeline.hasRanks();
  if (index + 1 < options.archs.size())
    return 0;
  progress.begin("linking");
  if (options.emit == "lib")
    linkLibrary(link, describeLibrary(runtime::parseManifest(text), options),
                options.output);
  else
    linkTrainer(link, options.output);
  if (!written.empty() && storage == runtime::WeightsKind::Sidecar) {
    if (std::error_code error = llvm::sys::fs::rename(written, sidecar))
      throw failure(sidecar, "cannot write: " + error.message(),
                    "check the space left and the directory's permissions");
    unfinished.releaseFile();
  }
  return 0;
}

} // namespace

int ingot::forecast(CompilerOptions options, Forecast &result) {
  options.dumpPasses.clear();
  options.remarks.clear();
  options.emit = "exe";
  resolveMachine(*options.pipeline);
  Compiler compiler(options);
  if (int status = compiler.plan())
    return status;
  result = {compiler.getPeakBytes(), compiler.getStepSeconds()};
  return 0;
}

int ingot::compile(CompilerOptions options) {
  RemarksFile remarks(options.remarks);
  options.unfinishedRemarks = remarks.getUnfinished();
  resolveMachine(*options.pipeline);
  LinkInput link;
  if (int status = Compiler(options).run(link, 0))
    return status;
  // The remarks are complete when the compiler's context is gone.
  remarks.finish();
  // Of several modules the first one is reported on.
  options.dumpPasses.clear();
  options.remarks.clear();
  options.report.clear();
  options.plan.reset();
  for (size_t i = 1; i < options.archs.size(); ++i) {
    options.pipeline->arch = options.archs[i];
    options.target =
        unwrap(chooseTarget(options.pipeline->getTargetSpec(options.archs[i])));
    if (int status = Compiler(options).run(link, i))
      return status;
  }
  return 0;
}
