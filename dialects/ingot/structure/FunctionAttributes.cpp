// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verification of the attributes on arguments and results of functions;
// constraints are those of "Functions" in docs/spec/structure.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/ir/InputAttributes.h"
#include "dialects/ingot/ir/Quantizers.h"
#include "dialects/ingot/partition/Partition.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;

namespace {

/// An attribute of a function that refers to a state.
struct Reference {
  NamedAttribute attribute;
  Type type;
};

} // namespace

static void addReferences(ArrayAttr attributes, ArrayRef<Type> types,
                          SmallVectorImpl<Reference> &references) {
  if (!attributes)
    return;
  for (auto [dictionary, type] :
       llvm::zip_equal(attributes.getAsRange<DictionaryAttr>(), types))
    for (StringRef name : {kStateAttr, kGradientAttr})
      if (std::optional<NamedAttribute> attribute = dictionary.getNamed(name))
        references.push_back({*attribute, type});
}

/// Returns the type of a rank's part of a state; null if the state has no valid
/// partition.
static Type getPartType(Operation *op, StateOp state) {
  Attribute attribute = state->getAttr(kPartitionAttr);
  RankedTensorType type = state.getWholeType();
  Mesh mesh = Mesh::of(op);
  if (!attribute || !Partition::check(attribute, type, mesh).empty())
    return {};
  return Partition::get(attribute, type, mesh).getLocalType();
}

/// F1, F2: each reference is to a state of the value's type. All are checked at
/// once: a look-up for each would take time quadratic in the number of states.
static LogicalResult verifyReferences(FunctionOpInterface op) {
  // A function under construction may not be in its module yet.
  Operation *parent = op->getParentOp();
  Operation *table =
      parent ? SymbolTable::getNearestSymbolTable(parent) : nullptr;
  if (!table)
    return success();
  DenseMap<StringAttr, StateOp> states;
  for (StateOp state : table->getRegion(0).getOps<StateOp>())
    states.try_emplace(state.getSymNameAttr(), state);
  SmallVector<Reference> references;
  addReferences(op.getArgAttrsAttr(), op.getArgumentTypes(), references);
  addReferences(op.getResAttrsAttr(), op.getResultTypes(), references);
  for (auto [attribute, type] : references) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
    if (!symbol)
      return op->emitOpError("F1: ")
             << attribute.getName() << " must name a state";
    StateOp state = states.lookup(symbol.getAttr());
    if (!state)
      return op->emitOpError("F1: ") << attribute.getName() << " names "
                                     << symbol << ", which is not a state";
    // Lowered functions carry states in memory rather than as tensors.
    if (isa<RankedTensorType>(type) && type != state.getType() &&
        type != getPartType(op, state))
      return op->emitOpError("F2: the value of state ")
             << symbol << " must be " << state.getType() << ", got " << type;
  }
  return success();
}

/// Verifies all references of the function when asked for the first one.
static LogicalResult verifyIfFirst(FunctionOpInterface op,
                                   DictionaryAttr attributes) {
  for (ArrayAttr all : {op.getArgAttrsAttr(), op.getResAttrsAttr()}) {
    if (!all)
      continue;
    for (auto dictionary : all.getAsRange<DictionaryAttr>())
      if (dictionary.get(kStateAttr) || dictionary.get(kGradientAttr))
        return dictionary == attributes ? verifyReferences(op) : success();
  }
  return success();
}

/// F9: the partition of a value that is not in parts yet, or has no other rank
/// to share with.
static LogicalResult verifyPartition(Operation *op, NamedAttribute attribute,
                                     Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::string problem =
      tensor ? Partition::check(attribute.getValue(), tensor, Mesh::of(op))
             : "on a tensor";
  if (problem.empty())
    return success();
  return op->emitOpError("F9: ") << attribute.getName() << " must be "
                                 << problem << ", got " << attribute.getValue();
}

static LogicalResult verifySlot(Operation *op, NamedAttribute attribute) {
  if (isa<FlatSymbolRefAttr>(attribute.getValue()))
    return success();
  return op->emitOpError("F7: ") << attribute.getName() << " must be a symbol";
}

static LogicalResult verifyText(Operation *op, NamedAttribute attribute,
                                ArrayRef<StringRef> allowed) {
  auto text = dyn_cast<StringAttr>(attribute.getValue());
  if (!text)
    return op->emitOpError("F3: ")
           << attribute.getName() << " must be a string";
  if (!allowed.empty() && !llvm::is_contained(allowed, text.getValue()))
    return op->emitOpError("F4: ")
           << attribute.getName() << " must be one of "
           << llvm::join(allowed, ", ") << ", got " << text;
  return success();
}

LogicalResult IngotDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  StringRef name = attribute.getName();
  if (name == kStateAttr)
    return verifyIfFirst(function, function.getArgAttrDict(index));
  if (name == kSlotAttr)
    return verifySlot(op, attribute);
  if (name == kNameAttr)
    return verifyText(op, attribute, {});
  if (name == kKindAttr)
    return verifyText(op, attribute,
                      {"data", "labels", "hyper", "valid", "cotangent"});
  if (name == kClassesAttr) {
    auto classes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!classes || !classes.getValue().isStrictlyPositive())
      return op->emitOpError("F6: ")
             << name << " must be a positive integer, got "
             << attribute.getValue();
    return success();
  }
  if (name == kIgnoredAttr) {
    if (!isa<IntegerAttr>(attribute.getValue()))
      return op->emitOpError("F6: ")
             << name << " must be an integer, got " << attribute.getValue();
    return success();
  }
  if (name == kRowsAttr) {
    auto pairs = dyn_cast<DenseI64ArrayAttr>(attribute.getValue());
    if (!pairs || pairs.size() % 2 != 0 ||
        llvm::any_of(pairs.asArrayRef(), [](int64_t n) { return n < 0; }))
      return op->emitOpError("F6: ")
             << name << " must be pairs of elements and rows, got "
             << attribute.getValue();
    return success();
  }
  if (name == kPartitionAttr)
    return verifyPartition(op, attribute, function.getArgumentTypes()[index]);
  return op->emitOpError("F5: an argument cannot have the attribute ") << name;
}

LogicalResult IngotDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  StringRef name = attribute.getName();
  if (name == kStateAttr || name == kGradientAttr)
    return verifyIfFirst(function, function.getResultAttrDict(index));
  if (name == kSlotAttr)
    return verifySlot(op, attribute);
  if (name == kNameAttr || name == kObservedAttr)
    return verifyText(op, attribute, {});
  if (name == kPartitionAttr)
    return verifyPartition(op, attribute, function.getResultTypes()[index]);
  return op->emitOpError("F5: a result cannot have the attribute ") << name;
}
