//===----------------------------------------------------------------------===//
//
// Verification of the attributes on arguments and results of functions;
// constraints are those of "Functions" in docs/spec/structure.md.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Dialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ingot;

/// F1, F2: the attribute refers to a state of the value's type.
static LogicalResult verifyReference(Operation *op, NamedAttribute attribute,
                                     Type type) {
  auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
  if (!symbol)
    return op->emitOpError("F1: ")
           << attribute.getName() << " must name a state";
  // A function under construction may not be in its module yet.
  if (!op->getParentOp())
    return success();
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(op, symbol);
  if (!state)
    return op->emitOpError("F1: ") << attribute.getName() << " names " << symbol
                                   << ", which is not a state";
  // Lowered functions carry states in memory rather than as tensors.
  if (isa<RankedTensorType>(type) && type != state.getType())
    return op->emitOpError("F2: the value of state ")
           << symbol << " must be " << state.getType() << ", got " << type;
  return success();
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
    return verifyReference(op, attribute, function.getArgumentTypes()[index]);
  if (name == kNameAttr)
    return verifyText(op, attribute, {});
  if (name == kKindAttr)
    return verifyText(op, attribute, {"data", "labels", "hyper", "valid"});
  if (name == kClassesAttr) {
    auto classes = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!classes || !classes.getValue().isStrictlyPositive())
      return op->emitOpError("F6: ")
             << name << " must be a positive integer, got "
             << attribute.getValue();
    return success();
  }
  return op->emitOpError("F5: an argument cannot have the attribute ") << name;
}

LogicalResult IngotDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  StringRef name = attribute.getName();
  if (name == kStateAttr || name == kGradientAttr)
    return verifyReference(op, attribute, function.getResultTypes()[index]);
  if (name == kNameAttr)
    return verifyText(op, attribute, {});
  return op->emitOpError("F5: a result cannot have the attribute ") << name;
}
