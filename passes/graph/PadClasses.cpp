// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// PadClasses: pads the class dimension such that rows of logits have the
// alignment that the target prefers.
//
// Assumes a simplified @train_step with its loss. Gradients are built later;
// those of padding classes are 0.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/support/Views.h"
#include "dialects/ingot/target/Machine.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/graph/Passes.h"
#include "passes/graph/Projection.h"

namespace ingot {
#define GEN_PASS_DEF_PADCLASSES
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Returns `value` with `count` zeros appended along dimension `dim`.
static Value padEnd(OpBuilder &builder, Location loc, Value value, int64_t dim,
                    int64_t count, double padding) {
  SmallVector<int64_t> none(tensorType(value).getRank(), 0), high(none);
  high[dim] = count;
  return PadOp::create(builder, loc, value, none, high, none,
                       llvm::APFloat(padding));
}

/// Returns `value` without its last `count` columns.
static Value dropColumns(OpBuilder &builder, Value value, int64_t count) {
  SmallVector<int64_t> limits(tensorType(value).getShape());
  limits.back() -= count;
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  return SliceOp::create(builder, value.getLoc(), value, starts, limits,
                         strides);
}

namespace {
struct PadClasses : ingot::impl::PadClassesBase<PadClasses> {
  using PadClassesBase::PadClassesBase;

  void runOnOperation() override {
    func::FuncOp step = findFunction(getOperation(), kTrainStepName);
    if (!step)
      return;
    target = Target::of(step);
    step.walk([&](CrossEntropyOp loss) {
      std::optional<Projection> layer = findLayer(loss);
      if (!layer)
        return;
      if (target->getCalls().getRowAlignment(computedElement(*layer)).unit ==
          0) {
        remark::missed(layer->matmul.getLoc(), options())
            << remark::reason("the target has no preferred alignment for rows "
                              "of {0}",
                              computedElement(*layer));
        return;
      }
      int64_t further = countFurther(*layer);
      if (further > 0 && isWorthIt(*layer, further))
        pad(loss, *layer, further);
    });
    // The layer without padding.
    step->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }

private:
  remark::RemarkOpts options() {
    return remarkOptions(getArgument(), "PaddedClasses");
  }

  /// Returns the layer that computes the logits, whose columns are the classes.
  static std::optional<Projection> findLayer(CrossEntropyOp loss) {
    Value logits = skipReshapes(loss.getLogits());
    Value value = logits;
    if (auto add = value.getDefiningOp<AddOp>()) {
      bool isBias = skipReshapes(add.getLhs()).getDefiningOp<BroadcastOp>();
      value = skipReshapes(isBias ? add.getRhs() : add.getLhs());
    }
    auto matmul = value.getDefiningOp<MatmulOp>();
    std::optional<Projection> layer =
        matmul ? Projection::of(matmul) : std::nullopt;
    ArrayRef<int64_t> shape = tensorType(loss.getLogits()).getShape();
    bool areColumns = layer && skipReshapes(layer->result) == logits &&
                      loss.getDim() + 1 == shape.size() &&
                      shape.back() == layer->columns();
    return areColumns ? layer : std::nullopt;
  }

  Type computedElement(Projection layer) {
    return elementInPrecision(layer.matmul.getType().getElementType(),
                              precision);
  }

  /// Returns the number of padding classes that align the rows; 0 if they are
  /// aligned.
  int64_t countFurther(Projection layer) {
    int64_t bytes = computedElement(layer).getIntOrFloatBitWidth() / 8;
    int64_t row = layer.columns() * bytes;
    RowAlignment best =
        target->getCalls().getRowAlignment(computedElement(layer));
    return row % best.unit == 0 ? 0
                                : (llvm::alignTo(row, best.line) - row) / bytes;
  }

  /// Compares the time of the matmuls with that of the copy of the weight.
  bool isWorthIt(Projection layer, int64_t further) {
    const Machine &machine = target->getMachine();
    Location loc = layer.matmul.getLoc();
    Type element = computedElement(layer);
    // The layer and the gradients of both operands. Unaligned rows are read in
    // several accesses; that this doubles their time is a conservative guess.
    double saved = 3 * layer.matmul.getFlops() /
                   machine.getRate(WorkKind::Matmul, element);
    // Both the converted weight and its gradient are read and written.
    RankedTensorType weight = tensorType(layer.weight);
    double cost =
        2 * machine.launchSeconds +
        2 * machine.getMoveSeconds(byteSize(withElement(weight, element))) +
        2 * machine.getMoveSeconds(byteSize(weight));
    auto describe = [&](auto remark) {
      remark << remark::metric("classes", layer.columns())
             << remark::metric("padding", further)
             << remark::metric("saved_seconds", saved)
             << remark::metric("cost_seconds", cost);
    };
    if (cost < saved) {
      describe(remark::passed(loc, options()));
      return true;
    }
    auto remark = remark::missed(loc, options());
    remark << remark::reason("the matmuls are too small");
    describe(std::move(remark));
    return false;
  }

  void pad(CrossEntropyOp loss, Projection layer, int64_t further) {
    MatmulOp matmul = layer.matmul;
    Location loc = matmul.getLoc();
    OpBuilder builder(matmul);
    bool transposed = matmul.getTransposeRhs();
    Value weight =
        padEnd(builder, loc, layer.weight, transposed ? 0 : 1, further, 0);
    Value whole = MatmulOp::create(builder, loc, matmul.getLhs(), weight,
                                   /*transpose_lhs=*/false, transposed);
    RankedTensorType type = tensorType(layer.result);
    SmallVector<int64_t> shape(type.getShape());
    shape.back() += further;
    whole = reshapeTo(builder, loc, whole, shape);
    int64_t last = shape.size() - 1;
    if (layer.bias) {
      Value bias = padEnd(builder, loc, layer.bias, 0, further, 0);
      whole = AddOp::create(builder, loc, whole.getType(), whole,
                            broadcastTo(builder, loc, bias, shape, {last}));
    }
    // The mask is computed from positions, so that no kernel reads a mask from
    // memory.
    Arithmetic a(builder, loc);
    Value isClass = a.compare(
        Predicate::LT,
        a.iota(RankedTensorType::get(shape, builder.getI64Type()), last),
        layer.columns());
    Value masked =
        a.select(isClass, whole, -std::numeric_limits<double>::infinity());

    SmallVector<int64_t> read(tensorType(loss.getLogits()).getShape());
    read.back() += further;
    Value logits = reshapeTo(builder, loc, masked, read);
    loss.getLogitsMutable().assign(logits);
    Value result = layer.result;
    if (!result.use_empty())
      result.replaceAllUsesWith(dropColumns(builder, whole, further));
    ++numPadded;
  }

  std::shared_ptr<const Target> target;
};
} // namespace
