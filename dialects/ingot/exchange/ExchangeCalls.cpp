// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The library calls of exchanges that the step waits for.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/CallDescriptor.h"

using namespace mlir;
using namespace ingot;

static ingot_exchange_desc describe(Exchange op) {
  RankedTensorType type = tensorType(op->getOperand(0));
  ingot_exchange_desc desc = {};
  desc.elements = type.getNumElements();
  desc.ranks = Mesh::of(op).getSize(op.getExchangeAxes());
  desc.type = getAbiType(type.getElementType());
  desc.axes = getAxisBits(op.getExchangeAxes());
  return desc;
}

/// Returns whether ranks exchange elements of a type.
static bool isExchanged(Type element) {
  return element.isF64() || element.isF32() || element.isBF16() ||
         element.isF16();
}

/// Groups have the order of the mesh, and a descriptor no other.
static StringRef refuse(Exchange op) {
  if (!isExchanged(tensorType(op->getOperand(0)).getElementType()))
    return "ranks do not exchange elements of the type";
  if (!llvm::is_sorted(op.getExchangeAxes()))
    return "the axes are not in the order of the mesh";
  if (Mesh::of(op).getSize(op.getExchangeAxes()) == Mesh::kAny)
    return "the number of ranks is known at the start of a run";
  return {};
}

StringRef AllReduceOp::getEntry() { return "ingot_all_reduce"; }
void AllReduceOp::describeCall(CallDescriptor &descriptor) {
  ingot_exchange_desc desc = describe(*this);
  desc.reduction = static_cast<int32_t>(getKind());
  descriptor = desc;
}
StringRef AllReduceOp::refuseCall() { return refuse(*this); }

StringRef AllGatherOp::getEntry() { return "ingot_all_gather"; }
void AllGatherOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describe(*this);
}
StringRef AllGatherOp::refuseCall() {
  return getDim() == 0 ? refuse(*this)
                       : "the parts are not one after the other in memory";
}
