// SPDX-License-Identifier: Apache-2.0

#include "tools/ingotc/plan/StepSampler.h"

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/target/Target.h"
#include "frontends/onnx/Import.h"
#include "passes/Pipeline.h"
#include "passes/Registration.h"
#include "passes/cost/gpu/Timeline.h"
#include "passes/plan/BlockRuns.h"
#include "runtime/core/Error.h"
#include "tools/ingotc/checks/ModelChecks.h"
#include "tools/ingotc/compile/MeasuredProfile.h"

using namespace mlir;
using namespace ingot;

StepSampler::StepSampler(Words words)
    : words(std::move(words)),
      handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error ||
            !reported.empty())
          return;
        blamesOption = getErrorKind(diagnostic) == ErrorKind::Usage;
        llvm::raw_string_ostream os(reported);
        printUserDiagnostic(os, diagnostic);
      }) {
  DialectRegistry registry;
  registerIngotDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
}

CompilerOptions StepSampler::parse(const Words &more) const {
  Words all = words;
  all.insert(all.end(), more.begin(), more.end());
  all.insert(all.end(), {"-o", "trainer"});
  std::vector<const char *> pointers;
  for (const std::string &word : all)
    pointers.push_back(word.c_str());
  CompilerOptions options =
      *parseCompilerOptions(static_cast<int>(pointers.size()), pointers.data());
  resolveMachine(*options.pipeline);
  return options;
}

void StepSampler::throwReported() {
  // As it was printed: `error: WHERE: WHAT`, and a hint.
  auto [first, rest] = StringRef(reported).split('\n');
  first.consume_front("error: ");
  rest.consume_front("hint: ");
  auto [where, what] = first.split(": ");
  auto make = blamesOption ? runtime::usageError : runtime::badInput;
  runtime::Error error =
      make(where.str(), what.str(), rest.split('\n').first.str());
  reported.clear();
  throw error;
}

const StepSampler::Reduced &StepSampler::import(const CompilerOptions &options,
                                                Size size) {
  std::tuple key(options.import.batch.value_or(0), size.few);
  if (auto found = imported.find(key); found != imported.end())
    return found->second;
  Reduced reduced;
  auto model = onnx_import::importOnnx(options.model, options.import, context);
  if (failed(model))
    throwReported();
  checkTrainable(*model->module, options);
  func::FuncOp forward = findFunction(*model->module, kForwardName);
  auto runs = forward ? findBlockRuns(forward) : SmallVector<BlockRun>();
  auto keep = [&](ArrayRef<int64_t> counts) {
    OwningOpRef<ModuleOp> copy = model->module->clone();
    if (forward)
      keepBlocks(findFunction(*copy, kForwardName), runs, counts);
    return copy;
  };
  SmallVector<int64_t> counts;
  for (const BlockRun &run : runs)
    counts.push_back(run.count > size.more ? size.few : run.count);
  reduced.few = keep(counts);
  for (auto [i, run] : llvm::enumerate(runs)) {
    if (run.count <= size.more)
      continue;
    SmallVector<int64_t> longer = counts;
    longer[i] = size.more;
    reduced.more.emplace_back(keep(longer),
                              static_cast<double>(run.count - size.few) /
                                  static_cast<double>(size.more - size.few));
  }
  return imported.emplace(key, std::move(reduced)).first->second;
}

Trace StepSampler::trace(ModuleOp module, const CompilerOptions &options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(&context);
  manager.enableVerifier(false);
  buildGraphPipeline(manager, *options.pipeline, *options.target);
  buildPlacementPipeline(manager, *options.pipeline);
  const TargetDevice *device = options.target->findDevice();
  if (device)
    device->addPipeline(manager);
  if (failed(manager.run(*copy)))
    throwReported();
  if (device)
    gpu_model::stateTimes(*copy, /*isOrdered=*/true);
  return readTrace(*copy);
}

BlockTraces StepSampler::compile(const Words &more, Size size) {
  CompilerOptions options = parse(more);
  const Reduced &model = import(options, size);
  BlockTraces traces;
  traces.few = trace(*model.few, options);
  for (auto &[module, times] : model.more)
    traces.more.push_back({trace(*module, options), times});
  return traces;
}

double StepSampler::getDeviceBytes(const Words &more) const {
  CompilerOptions options = parse(more);
  return options.target->findDevice()
             ? options.target->getMachine().getGpu().memoryBytes
             : 0;
}
