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

TargetCalls::~TargetCalls() = default;
TargetKernels::~TargetKernels() = default;
TargetDevice::~TargetDevice() = default;
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

static TargetSpec getSpec(TargetAttr attr, DictionaryAttr options) {
  TargetSpec spec;
  if (attr) {
    spec.kind = attr.getKind().str();
    spec.arch = attr.getArch().str();
    spec.math = attr.getMath();
  }
  if (options)
    for (NamedAttribute option : options) {
      auto text = dyn_cast<StringAttr>(option.getValue());
      spec.options[option.getName().str()] = text ? text.str() : "";
    }
  return spec;
}

std::unique_ptr<const Target> Target::of(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  TargetAttr attr;
  DictionaryAttr options;
  Machine machine;
  if (module) {
    attr = module->getAttrOfType<TargetAttr>(kTargetAttr);
    options = module->getAttrOfType<DictionaryAttr>(kTargetOptionsAttr);
    machine = Machine::of(module);
  }
  auto target = create(::getSpec(attr, options), machine);
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
  SmallVector<NamedAttribute> options;
  for (const auto &[name, text] : spec.options)
    options.emplace_back(StringAttr::get(context, name),
                         text.empty() ? Attribute(UnitAttr::get(context))
                                      : StringAttr::get(context, text));
  if (options.empty())
    module->removeAttr(kTargetOptionsAttr);
  else
    module->setAttr(kTargetOptionsAttr, DictionaryAttr::get(context, options));
  module->setAttr(kMachineAttr, machine.toAttr(context));
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef kind, StringRef arch,
                                 MathMode math) {
  auto target = create({kind.str(), arch.str(), math, {}}, Machine());
  if (!target)
    return emitError() << llvm::toString(target.takeError());
  return success();
}

int64_t Target::getScratchBytes(Operation *op) const {
  if (auto fusion = dyn_cast<FusionOp>(op))
    if (Operation *anchor = fusion.getAnchor())
      op = anchor;
  auto call = dyn_cast<LibraryCall>(op);
  return call ? getCalls().getSupport(call).scratchBytes : 0;
}

const TargetKernels &Target::getKernels() const {
  static const TargetKernels ofHost;
  return ofHost;
}

MatmulKernel TargetKernels::describeMatmulKernel(LibraryCall, int64_t,
                                                 int64_t) const {
  return {"the target generates no matmuls"};
}

StringRef Target::findMachine(StringRef) const { return ""; }

std::string TargetCalls::refuseAttention(const AttentionQuery &) const {
  return "";
}

int64_t Target::getAlignment() const { return INGOT_ALIGNMENT; }

llvm::Expected<std::optional<Float8Matmuls>>
TargetCalls::getFloat8Matmuls(ScaleLayout) const {
  return std::nullopt;
}

RowAlignment TargetCalls::getRowAlignment(Type) const { return {}; }

LossChunks TargetCalls::getLossChunks(Type) const { return {}; }

void Target::addLegalization(OpPassManager &, LegalizationPoint,
                             const LegalizationOptions &) const {}
