// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AttachMesh: states the mesh of ranks, and partitions that are given.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/TensorTypes.h"
#include "dialects/ingot/partition/Partition.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/partition/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace ingot {
#define GEN_PASS_DEF_ATTACHMESH
#include "passes/partition/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

namespace {

struct AttachMesh : ingot::impl::AttachMeshBase<AttachMesh> {
  using AttachMeshBase::AttachMeshBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder builder(&getContext());
    NamedAttrList sizes;
    for (const AxisSize &size : mesh) {
      if (sizes.get(size.axis)) {
        (void)emitOptionError(&getContext(), "mesh",
                              "'" + size.axis + "' is given twice",
                              "give the number of its ranks once");
        return signalPassFailure();
      }
      sizes.set(size.axis, builder.getI64IntegerAttr(size.ranks));
    }
    module->setAttr(kMeshAttr, sizes.getDictionary(&getContext()));
    for (const PartitionRule &rule : partition)
      if (failed(pin(rule)))
        return signalPassFailure();
  }

private:
  /// Gives the states of a rule their partition.
  LogicalResult pin(const PartitionRule &rule) {
    bool isFound = false;
    for (auto state : getOperation().getOps<StateOp>()) {
      if (!rule.pattern.match(state.getSymName()))
        continue;
      isFound = true;
      RankedTensorType type = state.getTensorType();
      if (rule.dim && *rule.dim >= type.getRank())
        return fail(rule,
                    "'" + state.getSymName() + "' has " +
                        Twine(type.getRank()) + " dimensions",
                    "count them from 0");
      state->setAttr(kPartitionAttr, describe(rule, type));
    }
    if (!isFound)
      return fail(rule, "no state has such a name",
                  "names are those of the ONNX initializers");
    return success();
  }

  ArrayAttr describe(const PartitionRule &rule, RankedTensorType type) {
    Builder builder(&getContext());
    SmallVector<Attribute> dims(type.getRank(), builder.getDictionaryAttr({}));
    if (rule.dim) {
      NamedAttrList dim;
      dim.set(rule.axis, builder.getUnitAttr());
      int64_t ranks =
          Mesh::of(getOperation()).getSize(*symbolizeAxis(rule.axis));
      int64_t size = type.getDimSize(static_cast<unsigned>(*rule.dim));
      auto whole = static_cast<int64_t>(llvm::alignTo(size, ranks));
      if (whole != size)
        dim.set("pad", builder.getI64IntegerAttr(whole - size));
      dims[*rule.dim] = dim.getDictionary(&getContext());
    }
    return builder.getArrayAttr(dims);
  }

  LogicalResult fail(const PartitionRule &rule, const Twine &problem,
                     const Twine &hint) {
    return emitOptionError(&getContext(), "partition",
                           "'" + rule.getText() + "': " + problem, hint);
  }
};

} // namespace
