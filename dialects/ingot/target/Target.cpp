// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/target/Target.h"

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/abi/Abi.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace ingot;

/// Returns the factories by kind. The map is filled at start, before other
/// threads run, as MLIR's own registry of passes is.
static std::map<std::string, TargetFactory, std::less<>> &registry() {
  static std::map<std::string, TargetFactory, std::less<>> factories;
  return factories;
}

void ingot::registerTarget(StringRef kind, TargetFactory factory) {
  registry().emplace(kind.str(), factory);
}

Target::~Target() = default;

std::vector<std::string> Target::listKinds() {
  std::vector<std::string> kinds;
  for (const auto &[kind, factory] : registry())
    kinds.push_back(kind);
  return kinds;
}

static llvm::Expected<std::unique_ptr<Target>> create(const TargetSpec &spec,
                                                      const Machine &machine) {
  auto found = registry().find(spec.kind);
  if (found == registry().end())
    return llvm::createStringError("no target named '" + spec.kind +
                                   "'; there are " +
                                   llvm::join(Target::listKinds(), ", "));
  return found->second(spec, machine);
}

llvm::Expected<std::unique_ptr<const Target>>
Target::get(const TargetSpec &spec) {
  auto target = create(spec, Machine());
  if (!target)
    return target.takeError();
  (*target)->machine = (*target)->describeMachine();
  return std::unique_ptr<const Target>(std::move(*target));
}

static TargetSpec getSpec(TargetAttr attr) {
  TargetSpec spec;
  if (attr) {
    spec.kind = attr.getKind().str();
    spec.arch = attr.getArch().str();
    spec.math = attr.getMath();
  }
  return spec;
}

std::unique_ptr<const Target> Target::of(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto attr = module ? module->getAttrOfType<TargetAttr>(kTargetAttr) : nullptr;
  Machine machine = module ? Machine::of(module) : Machine();
  auto target = create(::getSpec(attr), machine);
  // The attribute's verifier has asked for the same target.
  if (!target)
    llvm::report_fatal_error(target.takeError());
  if (attr && !module->hasAttr(kMachineAttr))
    (*target)->machine = (*target)->describeMachine();
  return std::move(*target);
}

void Target::set(ModuleOp module, const TargetSpec &spec,
                 const Machine &machine) {
  MLIRContext *context = module.getContext();
  module->setAttr(kTargetAttr,
                  TargetAttr::get(context, spec.kind, spec.arch, spec.math));
  module->setAttr(kMachineAttr, machine.toAttr(context));
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef kind, StringRef arch,
                                 MathMode math) {
  auto target = create({kind.str(), arch.str(), math}, Machine());
  if (!target)
    return emitError() << llvm::toString(target.takeError());
  return success();
}

int64_t Target::getScratchBytes(Operation *op) const {
  if (auto fusion = dyn_cast<FusionOp>(op))
    if (Operation *anchor = fusion.getAnchor())
      op = anchor;
  auto call = dyn_cast<LibraryCall>(op);
  return call ? getSupport(call).scratchBytes : 0;
}

MatmulKernel Target::describeMatmulKernel(LibraryCall, int64_t, int64_t) const {
  return {"the target generates no matmuls"};
}

StringRef Target::findMachine(StringRef) const { return ""; }

void Target::addDevicePipeline(OpPassManager &) const {}

std::string Target::refuseAttention(const AttentionQuery &) const { return ""; }

int64_t Target::getAlignment() const { return INGOT_ALIGNMENT; }

llvm::Expected<std::optional<Float8Matmuls>>
Target::getFloat8Matmuls(ScaleLayout) const {
  return std::nullopt;
}

RowAlignment Target::getRowAlignment(Type) const { return {}; }

LossChunks Target::getLossChunks(Type) const { return {}; }

void Target::addLegalization(OpPassManager &, LegalizationPoint,
                             const LegalizationOptions &) const {}

llvm::Expected<DeviceCode> Target::emitDeviceCode(ModuleOp) const {
  return DeviceCode();
}
