// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// The library calls of exchanges that the step waits for.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/CallDescriptor.h"

using namespace mlir;
using namespace ingot;

/// Describes an exchange of elements that ranks combine.
static ingot_exchange_desc describe(Exchange op, ReductionKind kind) {
  RankedTensorType type = tensorType(op->getOperand(0));
  ingot_exchange_desc desc = {};
  desc.elements = type.getNumElements();
  desc.ranks = Mesh::of(op).getSize(op.getExchangeAxes());
  desc.type = getAbiType(type.getElementType());
  desc.reduction = static_cast<int32_t>(kind);
  desc.axes = getAxisBits(op.getExchangeAxes());
  return desc;
}

/// Describes an exchange that moves elements of any type.
static ingot_exchange_desc describeBytes(Exchange op) {
  ingot_exchange_desc desc = {};
  desc.elements = byteSize(tensorType(op->getOperand(0)));
  desc.ranks = Mesh::of(op).getSize(op.getExchangeAxes());
  desc.type = INGOT_U8;
  desc.axes = getAxisBits(op.getExchangeAxes());
  return desc;
}

/// Describes one of the parts that a rank has for each rank of the group.
static ingot_exchange_desc describePart(ingot_exchange_desc all) {
  all.elements /= all.ranks;
  return all;
}

/// Groups have the order of the mesh, and a descriptor no other.
static StringRef refuse(Exchange op) {
  if (!llvm::is_sorted(op.getExchangeAxes()))
    return "the axes are not in the order of the mesh";
  if (Mesh::of(op).getSize(op.getExchangeAxes()) == Mesh::kAny)
    return "the number of ranks is known at the start of a run";
  return {};
}

/// Transports combine elements of these types.
static StringRef refuseToCombine(Exchange op) {
  Type element = tensorType(op->getOperand(0)).getElementType();
  if (element.isF64() || element.isF32() || element.isBF16() || element.isF16())
    return refuse(op);
  return "ranks do not combine elements of the type";
}

static StringRef refuseApart() {
  return "the parts are not one after the other in memory";
}

StringRef AllReduceOp::getEntry() { return "ingot_all_reduce"; }
void AllReduceOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describe(*this, getKind());
}
StringRef AllReduceOp::refuseCall() { return refuseToCombine(*this); }

StringRef AllGatherOp::getEntry() { return "ingot_all_gather"; }
void AllGatherOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describeBytes(*this);
}
StringRef AllGatherOp::refuseCall() {
  return getDim() == 0 ? refuse(*this) : refuseApart();
}

StringRef ReduceScatterOp::getEntry() { return "ingot_reduce_scatter"; }
void ReduceScatterOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describePart(describe(*this, getKind()));
}
StringRef ReduceScatterOp::refuseCall() {
  return getDim() == 0 ? refuseToCombine(*this) : refuseApart();
}

StringRef AllToAllOp::getEntry() { return "ingot_all_to_all"; }
void AllToAllOp::describeCall(CallDescriptor &descriptor) {
  descriptor = describePart(describeBytes(*this));
}
StringRef AllToAllOp::refuseCall() {
  return getSplit() == 0 && getConcat() == 0 ? refuse(*this) : refuseApart();
}
