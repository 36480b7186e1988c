// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// PackSigns: stores the bit mask of ReLU for cuBLASLt epilogues.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/epilogues/LibraryEpilogue.h"

namespace ingot {
#define GEN_PASS_DEF_PACKSIGNS
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Returns the matmul that becomes `value` only through casts to f32 and
/// reshapes; null if there is none.
static Operation *findMatmul(Value value) {
  while (value.hasOneUse()) {
    Operation *def = value.getDefiningOp();
    auto cast = dyn_cast_or_null<CastOp>(def);
    if (isa_and_nonnull<EpilogueAnchor>(def))
      return def;
    bool moves = cast && cast.getType().getElementType().isF32();
    if (!moves && !isa_and_nonnull<ReshapeOp>(def))
      return nullptr;
    value = def->getOperand(0);
  }
  return nullptr;
}

static std::optional<LibraryEpilogue> match(Operation *call) {
  LibraryEpilogueRules rules;
  auto isStored = [](Operation *op) { return isa<PackBitsOp>(op); };
  rules.isStored = isStored;
  StringRef reason;
  return matchLibraryEpilogue(call, rules, reason);
}

namespace {

struct PackSigns : ingot::impl::PackSignsBase<PackSigns> {
  void runOnOperation() override {
    SmallVector<Operation *> calls;
    for (auto call : getOperation().getOps<EpilogueAnchor>())
      calls.push_back(call);
    for (Operation *call : calls) {
      std::optional<LibraryEpilogue> found = match(call);
      if (!found || found->activation != Activation::Relu)
        continue;
      for (Value signs : findSigns(*found)) {
        StringRef reason = pack(*found, signs);
        if (!reason.empty())
          remark::missed(signs.getLoc(),
                         remarkOptions(getArgument(), "PackedSigns"))
              << remark::reason("{0}", reason);
      }
    }
  }

private:
  /// Rewrites the readers of the mask. Returns why not; empty if it is done.
  StringRef pack(const LibraryEpilogue &relu, Value signs) {
    // Otherwise the matmul is in memory.
    bool isAlone = relu.sum.hasOneUse() && (relu.activated == relu.result ||
                                            relu.activated.hasOneUse());
    if (!isAlone)
      return "the input of relu has other readers";
    SmallVector<int64_t> shape(tensorType(signs).getShape());
    if (shape.back() != tensorType(relu.result).getShape().back())
      return "the mask is read in another shape";
    shape.back() = countSignBytes(shape.back());
    OpBuilder builder(signs.getContext());
    builder.setInsertionPointAfterValue(signs);
    auto bits = PackBitsOp::create(
        builder, signs.getLoc(),
        RankedTensorType::get(shape,
                              builder.getIntegerType(8, /*isSigned=*/false)),
        signs);
    for (OpOperand &use : llvm::make_early_inc_range(signs.getUses()))
      if (auto select = dyn_cast<SelectOp>(use.getOwner()))
        if (Operation *matmul = findMatmul(select.getOnTrue()))
          readBits(use, bits, matmul);
    if (bits.use_empty()) {
      bits.erase();
      return "the masked value is not a matmul for which the library has "
             "relu's gradient";
    }
    ++numPacked;
    remark::passed(signs.getLoc(), remarkOptions(getArgument(), "PackedSigns"))
        << remark::metric("bytes", byteSize(bits.getType()));
    return "";
  }

  /// Makes `use` read the bits, if `matmul` then has the epilogue of relu's
  /// gradient.
  static void readBits(OpOperand &use, PackBitsOp bits, Operation *matmul) {
    OpBuilder builder(use.getOwner());
    Value signs = use.get();
    auto unpacked =
        UnpackBitsOp::create(builder, signs.getLoc(), signs.getType(), bits);
    use.set(unpacked);
    std::optional<LibraryEpilogue> found = match(matmul);
    if (found && found->activation == Activation::ReluGrad)
      return;
    use.set(signs);
    unpacked.erase();
  }
};

} // namespace
