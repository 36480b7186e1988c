// SPDX-License-Identifier: Apache-2.0

#include "dialects/ingot/ir/Dialect.h"

#include "dialects/ingot/ir/Extensions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ingot;

#include "dialects/ingot/Enums.cpp.inc"
#include "dialects/ingot/ir/Dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/ingot/Attributes.cpp.inc"

void IngotDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/ingot/Attributes.cpp.inc"
      >();
  registerIngotDialectOperations(this);
  addExchanges(*this);
  addEncodings(*this);
  addDistillation(*this);
  attachPartitions(*getContext());
}

Operation *IngotDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
