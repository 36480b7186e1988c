// SPDX-License-Identifier: Apache-2.0

#include "passes/schedule/arena/BufferPlan.h"

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "runtime/abi/Abi.h"

using namespace mlir;
using namespace ingot;

BufferPlan::BufferPlan(Signature signature,
                       const DenseMap<Attribute, Place> &statePlaces,
                       const Target &target, bool noReuse, int64_t base)
    : signature(signature), statePlaces(statePlaces), graph(signature, target),
      lifetimes(graph.getLifetimes(graph.getProgramOrder(), !noReuse)),
      base(base) {
  for (auto [i, node] : llvm::enumerate(graph.getNodes()))
    if (lifetimes.ofScratch[i] >= 0)
      scratch[node.op] = lifetimes.ofScratch[i];
  for (auto [output, interval] :
       llvm::zip_equal(graph.getOwnOutputs(), lifetimes.ofOutput))
    ownOutput[output.result] = interval;
  arenaBytes = packIntervals(lifetimes.intervals, INGOT_ALIGNMENT);
  for (Interval &interval : lifetimes.intervals)
    interval.offset += base;
  copyStates();
  use = measureArenaUse(graph, lifetimes);
}

void BufferPlan::copyStates() {
  Operation *end = signature.getReturn();
  // Old values of states come first, before copies overwrite them.
  for (auto [index, interval] : ownOutput) {
    Value value = resolveViews(end->getOperand(index));
    copies.push_back(
        {value,
         getPlace(value),
         {exec::Space::Arena, lifetimes.intervals[interval].offset, {}}});
  }
  SmallVector<StepCopy> toStates;
  for (unsigned index : graph.getCopiedStates()) {
    Value value = end->getOperand(index);
    FlatSymbolRefAttr state = signature.resultState(index);
    remark::missed(value.getLoc(),
                   remarkOptions("place-steps", "InPlaceUpdate"))
        << remark::reason("the new value cannot overwrite the old one")
        << remark::metric("state", state.getValue());
    auto own = ownOutput.find(index);
    Place from = getPlace(resolveViews(value));
    if (own != ownOutput.end())
      from = {exec::Space::Arena, lifetimes.intervals[own->second].offset, {}};
    toStates.push_back({resolveViews(value), from, statePlaces.lookup(state)});
  }
  // A copy that reads a state comes before the copy that overwrites it. There
  // is one: states that change places have other memory in between.
  while (!toStates.empty()) {
    auto *next = llvm::find_if(toStates, [&](const StepCopy &copy) {
      return llvm::none_of(toStates, [&](const StepCopy &other) {
        return &other != &copy && other.from == copy.to;
      });
    });
    copies.push_back(*next);
    toStates.erase(next);
  }
  for (unsigned index : graph.getFirstCopies()) {
    Value value = resolveViews(end->getOperand(index));
    firstCopies.push_back({value, getPlace(value),
                           statePlaces.lookup(signature.resultState(index))});
  }
}

std::optional<Interval> BufferPlan::getScratch(Operation *op) const {
  auto it = scratch.find(op);
  if (it == scratch.end())
    return std::nullopt;
  return lifetimes.intervals[it->second];
}

Place BufferPlan::getPlace(Value value) const {
  if (FlatSymbolRefAttr state = graph.getState(value))
    return statePlaces.lookup(state);
  unsigned buffer = *graph.getBuffer(value);
  const Interval &interval = lifetimes.intervals[lifetimes.ofBuffer[buffer]];
  return {exec::Space::Arena,
          interval.offset + graph.getBuffers()[buffer].offset,
          {}};
}

std::optional<Place> BufferPlan::getOutputPlace(unsigned index) const {
  if (signature.resultState(index))
    return std::nullopt;
  if (auto it = ownOutput.find(index); it != ownOutput.end())
    return Place{
        exec::Space::Arena, lifetimes.intervals[it->second].offset, {}};
  return getPlace(signature.getReturn()->getOperand(index));
}

SmallVector<int64_t> BufferPlan::getAliases(FusionOp fusion) const {
  SmallVector<int64_t> aliases;
  for (Value input : fusion.getInputs()) {
    int64_t alias = -1;
    Place place = getPlace(input);
    bool isEmpty = tensorType(input).getNumElements() == 0;
    for (auto [i, result] : llvm::enumerate(fusion.getResults())) {
      // The offset of an empty tensor is arbitrary.
      if (isEmpty || tensorType(result).getNumElements() == 0)
        continue;
      if (place == getPlace(result))
        alias = static_cast<int64_t>(i);
    }
    aliases.push_back(alias);
  }
  return aliases;
}
