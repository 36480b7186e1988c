// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PartStates: states that are split become those of one rank.
//
// Assumes that partitions have been applied to all functions.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/partition/Partition.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/partition/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_PARTSTATES
#include "passes/partition/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct PartStates : ingot::impl::PartStatesBase<PartStates> {
  using PartStatesBase::PartStatesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Mesh mesh = Mesh::of(module);
    bool hasParts = false;
    for (auto state : module.getOps<StateOp>()) {
      Attribute attribute = state->getAttr(kPartitionAttr);
      if (!attribute || state.getWhole())
        continue;
      RankedTensorType whole = state.getTensorType();
      Partition partition = Partition::get(attribute, whole, mesh);
      if (partition.isWhole()) {
        state->removeAttr(kPartitionAttr);
        continue;
      }
      state.setType(partition.getLocalType());
      state.setWholeAttr(TypeAttr::get(whole));
      hasParts = true;
      ++numStates;
    }
    if (!hasParts && mesh.getSize(Axis::Tensor) > 1)
      emitUserWarning(
          NameLoc::get(StringAttr::get(&getContext(), "--mesh")),
          "no tensor is split, since a step would take longer: the ranks along "
          "tensor compute the same",
          "split tensors with --partition, or leave all ranks to data");
  }
};

} // namespace
