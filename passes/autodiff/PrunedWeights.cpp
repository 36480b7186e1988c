// SPDX-License-Identifier: Apache-2.0

#include "passes/autodiff/PrunedWeights.h"

#include "dialects/ingot/ir/Pruning.h"
#include "dialects/ingot/ir/States.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ingot;

/// The elements whose bits are in a byte.
static constexpr int64_t kBitsOfByte = 8;

/// Returns the shape of the bits, packed along the last dimension if that takes
/// no more than packing all elements.
static SmallVector<int64_t> packShape(RankedTensorType weight) {
  SmallVector<int64_t> shape(weight.getShape());
  if (shape.empty() || shape.back() % kBitsOfByte != 0)
    return {static_cast<int64_t>(
        llvm::divideCeil(weight.getNumElements(), kBitsOfByte))};
  shape.back() /= kBitsOfByte;
  return shape;
}

PrunedWeights::PrunedWeights(Signature step, const ResultList &results) {
  auto module = step.getFunction()->getParentOfType<ModuleOp>();
  Type byte =
      IntegerType::get(module.getContext(), kBitsOfByte, IntegerType::Unsigned);
  StateAdder adder(module);
  SmallVector<Signature::State> states;
  for (const ResultList::Entry &entry : results.entries) {
    FlatSymbolRefAttr symbol = entry.gradient();
    StateOp weight = symbol ? adder.find(symbol.getValue()) : StateOp();
    Attribute pruning = weight ? weight->getAttr(kPruningAttr) : Attribute();
    if (!pruning)
      continue;
    RankedTensorType type = weight.getTensorType();
    auto packed = RankedTensorType::get(packShape(type), byte);
    FlatSymbolRefAttr bits =
        adder.add((symbol.getValue() + "/pruned").str(), Role::Moment, packed);
    adder.find(bits.getValue())->setAttr(kPruningAttr, pruning);
    weight->removeAttr(kPruningAttr);
    states.push_back({bits, packed});
    weights[symbol].shape.assign(type.getShape().begin(),
                                 type.getShape().end());
  }
  for (auto [weight, argument] :
       llvm::zip_equal(weights, step.addStates(states)))
    weight.second.packed = argument;
}

Value PrunedWeights::clear(OpBuilder &builder, FlatSymbolRefAttr weight,
                           Value value) {
  auto found = weights.find(weight);
  if (found == weights.end())
    return value;
  Bits &bits = found->second;
  if (ArrayRef(bits.shape) != tensorType(value).getShape())
    return value;
  Location loc = NameLoc::get(weight.getRootReference());
  Arithmetic a(builder, loc);
  if (!bits.unpacked) {
    SmallVector<int64_t> shape(bits.shape);
    if (tensorType(bits.packed).getRank() == 1)
      shape = {llvm::product_of(bits.shape)};
    auto type = RankedTensorType::get(shape, builder.getI1Type());
    bits.unpacked = a.reshape(
        UnpackBitsOp::create(builder, loc, type, bits.packed), bits.shape);
  }
  return a.select(bits.unpacked, 0.0, value);
}
