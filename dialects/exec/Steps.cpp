// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Steps, and the attributes of a placed module.
//===----------------------------------------------------------------------===//

#include "dialects/exec/CallSupport.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::exec;

void StepOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   int64_t arenaBytes) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getArenaBytesAttrName(state.name),
                     builder.getI64IntegerAttr(arenaBytes));
  state.addRegion()->emplaceBlock();
}

void exec::RepeatOp::build(OpBuilder &builder, OperationState &state,
                           int64_t count) {
  state.addAttribute(getCountAttrName(state.name),
                     builder.getI64IntegerAttr(count));
  state.addRegion()->emplaceBlock();
}

static void visitCalls(Block &block, int64_t times,
                       function_ref<void(AbiCall, int64_t)> visit) {
  for (Operation &op : block)
    if (auto repeat = dyn_cast<exec::RepeatOp>(op))
      visitCalls(repeat.getBody().front(),
                 times * static_cast<int64_t>(repeat.getCount()), visit);
    else if (auto call = dyn_cast<AbiCall>(op))
      visit(call, times);
}

void exec::forEachCall(StepOp step,
                       function_ref<void(AbiCall, int64_t)> visit) {
  visitCalls(step.getBody().front(), 1, visit);
}

/// Checks that the range [offset, offset + bytes) is within an arena.
static bool isInArena(int64_t offset, int64_t bytes, int64_t arenaBytes) {
  return offset >= 0 && bytes >= 0 && offset <= arenaBytes &&
         bytes <= arenaBytes - offset;
}

LogicalResult StepOp::verify() {
  auto arenaBytes = static_cast<int64_t>(getArenaBytes());
  if (arenaBytes < 0 || static_cast<int64_t>(getStagingBytes()) < 0)
    return emitOpError("needs a negative number of bytes");
  for (ArrayAttr values : {getInputs(), getOutputs()})
    for (auto value : values.getAsRange<ValueAttr>())
      if (!isInArena(value.getOffset(), byteSize(value.getType()), arenaBytes))
        return emitOpError("places '")
               << value.getName() << "' outside of its arena: at "
               << value.getOffset() << " of " << arenaBytes;
  for (auto interval : getIntervals().getAsRange<IntervalAttr>())
    if (!isInArena(interval.getOffset(), interval.getBytes(), arenaBytes) ||
        interval.getFirst() > interval.getLast() + 1)
      return emitOpError("has an interval outside of its arena: ") << interval;
  return success();
}

LogicalResult MemoryAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t peak, int64_t weights,
                                 int64_t optimizer, int64_t gradient,
                                 int64_t activation, int64_t workspace,
                                 int64_t communication) {
  for (int64_t part :
       {weights, optimizer, gradient, activation, workspace, communication})
    if (part < 0)
      return emitError() << "has a part of a negative size";
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes of other operations
//===----------------------------------------------------------------------===//

static bool isSize(Attribute attribute) {
  auto size = dyn_cast<IntegerAttr>(attribute);
  return size && size.getType().isInteger(64) && size.getInt() >= 0;
}

static bool isMessages(Attribute attribute) {
  auto messages = dyn_cast<ArrayAttr>(attribute);
  return messages && llvm::all_of(messages, llvm::IsaPred<MessageAttr>);
}

static bool isValues(Attribute attribute) {
  auto values = dyn_cast<ArrayAttr>(attribute);
  return values && llvm::all_of(values, llvm::IsaPred<ValueAttr>);
}

static bool isHome(Attribute attribute) {
  auto home = dyn_cast<StringAttr>(attribute);
  return home && (home == "mapped" || home == "file" || home == "encoded");
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto check = [&](bool isPlace, bool isValue,
                   StringRef what) -> LogicalResult {
    if (isPlace && isValue)
      return success();
    return op->emitOpError("attribute '") << name << "' must be " << what;
  };
  bool isModule = isa<ModuleOp>(op);
  if (name == kStateBytesAttr || name == kMappedBytesAttr ||
      name == kWeightBytesAttr || name == kExportBytesAttr)
    return check(isModule, isSize(value), "a size, on a module");
  if (name == kWeightsFileAttr)
    return check(isModule, isa<UnitAttr>(value), "a unit, on a module");
  if (name == kHomeAttr)
    return check(isa<StateOp>(op), isHome(value),
                 "'mapped', 'file' or 'encoded', on a state");
  if (name == kMessagesAttr)
    return check(isModule, isMessages(value), "#exec.message, on a module");
  if (name == kManifestAttr || name == kDeviceCodeAttr ||
      name == kDeviceTextAttr || name == kNextModuleAttr)
    return check(isModule, isa<StringAttr>(value), "a string, on a module");
  if (name == kOffsetAttr)
    return check(isa<StateOp>(op), isSize(value), "an offset, on a state");
  if (name == kBoundAttr)
    return check(isa<AbiCall>(op), isa<FloatAttr>(value), "seconds, on a call");
  if (name == kPartAttr)
    return check(isa<AbiCall>(op), isa<StringAttr>(value),
                 "a string, on a call");
  if (name == kGradientsAttr)
    return check(isa<AbiCall>(op), isValues(value), "#exec.value, on a call");
  return op->emitOpError("attribute '") << name << "' is unknown";
}
