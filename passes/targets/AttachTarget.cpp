// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AttachTarget: sets the attributes of a module that say what it is compiled
// for.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/support/InputFile.h"
#include "dialects/ingot/target/Target.h"
#include "passes/options/TargetOptions.h"
#include "passes/targets/MathAttribute.h"
#include "passes/targets/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace ingot {
#define GEN_PASS_DEF_ATTACHTARGET
#include "passes/targets/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Replaces the figures that the machine of that name has, or else the JSON
/// file at `path`.
static LogicalResult readMachine(MLIRContext *context, const Target &target,
                                 StringRef path, Machine &machine) {
  if (StringRef known = target.findMachine(path); !known.empty()) {
    llvm::cantFail(machine.readJson(known));
    return success();
  }
  Location where = FileLineColLoc::get(context, path, 0, 0);
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return emitUserError(where, "cannot read: " + error.message(),
                         "name a file that ingot-measure wrote");
  auto file = readInputFile(path, kMaxJsonBytes);
  if (!file)
    return emitUserError(where, llvm::toString(file.takeError()),
                         "name a file that ingot-measure wrote");
  if (llvm::Error error = machine.readJson((*file)->getBuffer()))
    return emitUserError(where, llvm::toString(std::move(error)),
                         "docs/machine.md describes the file");
  return success();
}

namespace {
struct AttachTarget : ingot::impl::AttachTargetBase<AttachTarget> {
  using AttachTargetBase::AttachTargetBase;

  void runOnOperation() override {
    if (failed(setModuleAttributes(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult setModuleAttributes(ModuleOp module) {
    MLIRContext *context = &getContext();
    TargetSpec spec = {
        target, arch, tf32 ? MathMode::TF32 : MathMode::Exact, {}};
    if (llvm::Error error = addTargetOptions(spec, *targetOptions))
      return emitUserError(context, std::move(error));
    auto found = chooseTarget(spec);
    if (!found)
      return emitUserError(context, found.takeError());
    bool hasMachine = machine.empty() && module->hasAttr(kMachineAttr);
    Machine figures = hasMachine ? Machine::of(module) : (*found)->getMachine();
    if (!machine.empty() &&
        failed(readMachine(context, **found, machine, figures)))
      return failure();
    Target::set(module, (*found)->getSpec(), figures);
    module->setAttr(kPrecisionAttr, StringAttr::get(context, precision));
    if (dataParallel)
      module->setAttr(kDataParallelAttr, UnitAttr::get(context));
    if (exactMath)
      module->setAttr(kExactMathAttr, UnitAttr::get(context));
    return success();
  }
};
} // namespace

llvm::Expected<std::unique_ptr<const Target>>
ingot::chooseTarget(const TargetSpec &spec) {
  std::vector<std::string> kinds = Target::listKinds();
  if (!llvm::is_contained(kinds, spec.kind))
    return makeOptionError("target", "unknown target '" + spec.kind + "'",
                           "choose one of " + llvm::join(kinds, ", "));
  auto target = Target::get(spec);
  if (!target)
    return makeOptionError("arch", llvm::toString(target.takeError()),
                           "give LLVM's name of a CPU, or native; for GPUs an "
                           "architecture such as sm_80 or sm_90");
  return target;
}
