// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// FuseConvolutions: statistics of a convolution's result, and the normalization
// of its input, as parts of the library's call.
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/targets/cuda/Passes.h"
#include "passes/targets/cuda/convolutions/ChannelPolynomial.h"

namespace ingot {
#define GEN_PASS_DEF_FUSECONVOLUTIONS
#include "passes/targets/cuda/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Whether a reduction sums everything but the last dimension.
static bool sumsChannels(ReduceOp reduce) {
  int64_t rank = tensorType(reduce.getOperand()).getRank();
  return reduce.getKind() == ReductionKind::Sum &&
         llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, rank - 1));
}

/// Builds `Op` with the window of `like`, behind `operands`.
template <typename Op, typename Like, typename... Operands>
static Op createLike(OpBuilder &builder, Like like, TypeRange types,
                     Operands... operands) {
  return Op::create(builder, like.getLoc(), types, operands...,
                    like.getStridesAttr(), like.getDilationsAttr(),
                    like.getPadLowAttr(), like.getPadHighAttr(),
                    like.getGroupsAttr(), like.getChannelsLastAttr(),
                    like.getFilterChannelsLastAttr());
}

namespace {

struct FuseConvolutions : ingot::impl::FuseConvolutionsBase<FuseConvolutions> {
  void runOnOperation() override {
    target = Target::of(getOperation());
    for (auto conv :
         llvm::make_early_inc_range(getOperation().getOps<ConvOp>()))
      if (conv.getChannelsLast())
        fuseStatistics(conv);
    // Convolutions normalize their input only together with statistics.
    SetVector<Value> inputs;
    for (auto conv : getOperation().getOps<ConvStatisticsOp>())
      inputs.insert(conv.getInput());
    for (Value input : inputs)
      fuseNormalization(input);
    // What only computed values that are not read any more.
    eraseUnused(nullptr, getOperation().getBody().front().getTerminator());
  }

private:
  void remarkMissed(Location loc, StringRef name, StringRef why) {
    remark::missed(loc, remarkOptions(getArgument(), name))
        << remark::reason("{0}", why);
  }

  /// Erases what is between `before`, or the beginning, and `end` and has no
  /// use.
  static void eraseUnused(Operation *before, Operation *end) {
    for (Operation *op = end->getPrevNode(); op != before;) {
      Operation *next = op->getPrevNode();
      if (isOpTriviallyDead(op))
        op->erase();
      op = next;
    }
  }

  //===--------------------------------------------------------------------===//
  // Statistics
  //===--------------------------------------------------------------------===//

  /// Returns the sums that are computed from the result alone.
  static SmallVector<ReduceOp> findStatistics(Value result) {
    // Coefficients of all values, which are only looked at.
    Operation *end = result.getParentBlock()->getTerminator();
    Operation *before = end->getPrevNode();
    OpBuilder builder(end);
    ChannelPolynomials polynomials(builder, result);
    auto isPolynomial = [&](Value value) {
      auto polynomial = polynomials.of(value);
      return polynomial && polynomial->getDegree() > 0;
    };
    SmallVector<ReduceOp> found;
    SetVector<Operation *> readers(result.user_begin(), result.user_end());
    for (size_t i = 0; i < readers.size(); ++i) {
      Operation *op = readers[i];
      if (auto reduce = dyn_cast<ReduceOp>(op)) {
        if (sumsChannels(reduce) && isPolynomial(reduce.getOperand()))
          found.push_back(reduce);
      } else if (isa<CastOp, AddOp, SubOp, MulOp>(op) &&
                 isPolynomial(op->getResult(0))) {
        readers.insert(op->user_begin(), op->user_end());
      }
    }
    eraseUnused(before, end);
    return found;
  }

  void fuseStatistics(ConvOp conv) {
    SmallVector<ReduceOp> sums = findStatistics(conv.getResult());
    if (sums.empty())
      return;
    OpBuilder builder(conv);
    Type vector = RankedTensorType::get(
        {tensorType(conv.getResult()).getShape().back()}, builder.getF32Type());
    auto fused = createLike<ConvStatisticsOp>(
        builder, conv, TypeRange{conv.getResult().getType(), vector, vector},
        conv.getInput(), conv.getFilter(), Value(), Value());
    if (LibrarySupport support = target->getCalls().getSupport(
            cast<LibraryCall>(fused.getOperation()));
        !support) {
      fused.erase();
      return remarkMissed(conv.getLoc(), "Statistics", support.reason);
    }
    conv.getResult().replaceAllUsesWith(fused.getResult());
    conv.erase();
    for (ReduceOp sum : sums)
      replaceSum(sum, fused);
    ++numStatistics;
    remark::passed(fused.getLoc(), remarkOptions(getArgument(), "Statistics"))
        << remark::metric("sums", sums.size())
        << remark::metric("bytes", sums.size() *
                                       byteSize(tensorType(fused.getResult())));
  }

  /// Computes a sum over a polynomial of the result from the result's sums.
  static void replaceSum(ReduceOp sum, ConvStatisticsOp fused) {
    OpBuilder builder(sum);
    Location loc = sum.getLoc();
    Operation *before = sum->getPrevNode();
    ChannelPolynomials polynomials(builder, fused.getResult());
    ChannelPolynomial of = *polynomials.of(sum.getOperand());
    RankedTensorType result = tensorType(fused.getResult());
    double count = static_cast<double>(result.getNumElements()) /
                   static_cast<double>(result.getShape().back());
    Arithmetic a(builder, loc);
    Value total;
    auto add = [&](const ChannelNumber &factor, Value term) {
      if (factor.isZero())
        return;
      if (factor.vector)
        term = a.mul(term, factor.vector);
      else if (factor.constant != 1)
        term = a.mul(term, factor.constant);
      total = total ? a.add(total, term) : term;
    };
    Value sums = a.cast(fused.getSums(), builder.getF64Type());
    add(of.coefficients[2], a.cast(fused.getSquares(), builder.getF64Type()));
    add(of.coefficients[1], sums);
    add(of.coefficients[0], a.constantLike(sums, count));
    // A sum of squares is one after rounding, too.
    auto square = sum.getOperand().getDefiningOp<MulOp>();
    if (square && square.getLhs() == square.getRhs())
      total = a.max(total, 0.0);
    // The sum of the result itself needs no arithmetic.
    sum.replaceAllUsesWith(total == sums ? fused.getSums()
                                         : a.cast(total, builder.getF32Type()));
    eraseUnused(before, sum);
    sum.erase();
  }

  //===--------------------------------------------------------------------===//
  // Normalizations
  //===--------------------------------------------------------------------===//

  /// Returns the tensor in 16 bits that a value is computed from by ops on its
  /// elements; null if there is none, or several.
  static Value findSource(Value value) {
    SetVector<Value> pending;
    pending.insert(value);
    Value source;
    for (size_t i = 0; i < pending.size(); ++i) {
      Operation *op = pending[i].getDefiningOp();
      if (!op)
        return {};
      if (auto cast = dyn_cast<CastOp>(op)) {
        if (source && source != cast.getOperand())
          return {};
        source = cast.getOperand();
      } else if (isa<AddOp, SubOp, MulOp>(op)) {
        pending.insert(op->operand_begin(), op->operand_end());
      } else if (!isa<BroadcastOp>(op) &&
                 !op->hasTrait<OpTrait::ConstantLike>()) {
        return {};
      }
    }
    return source;
  }

  /// Returns what ReLU is applied to; null if the value is another function.
  static Value findActivated(Value value) {
    auto rounded = value.getDefiningOp<CastOp>();
    auto largest =
        rounded ? rounded.getOperand().getDefiningOp<MaxOp>() : MaxOp();
    if (!largest || !tensorType(largest.getResult()).getElementType().isF32())
      return {};
    for (auto [zero, other] : {std::pair(largest.getRhs(), largest.getLhs()),
                               std::pair(largest.getLhs(), largest.getRhs())})
      if (matchPattern(zero, m_AnyZeroFloat()))
        return other;
    return {};
  }

  void fuseNormalization(Value input) {
    Value activated = findActivated(input);
    Value source = activated ? findSource(activated) : Value();
    if (!source || tensorType(source) != tensorType(input))
      return;
    Location loc = input.getLoc();
    std::string reason = fuse(input, activated, source);
    if (!reason.empty())
      remarkMissed(loc, "Normalization", reason);
  }

  /// Makes the readers of `input` normalize `source`. Returns why not; empty if
  /// it is done.
  std::string fuse(Value input, Value activated, Value source) {
    if (!source.getDefiningOp<LibraryCall>())
      return "what is normalized is not in memory";
    SmallVector<ConvStatisticsOp> convolutions;
    SmallVector<ConvFilterGradOp> gradients;
    for (OpOperand &use : input.getUses()) {
      auto conv = dyn_cast<ConvStatisticsOp>(use.getOwner());
      auto gradient = dyn_cast<ConvFilterGradOp>(use.getOwner());
      if (conv && use.get() == conv.getInput() && !conv.getScale() &&
          use.get() != conv.getFilter())
        convolutions.push_back(conv);
      else if (gradient && use.get() == gradient.getInput() &&
               use.get() != gradient.getOutputGrad())
        gradients.push_back(gradient);
      else
        return "the normalized tensor has other readers";
    }
    Operation *op = input.getDefiningOp(), *before = op->getPrevNode();
    OpBuilder builder(op);
    ChannelPolynomials polynomials(builder, source);
    std::optional<ChannelPolynomial> of = polynomials.of(activated);
    if (!of || of->getDegree() != 1) {
      eraseUnused(before, op);
      return "it is no multiple and sum of numbers of each channel";
    }
    Arithmetic a(builder, op->getLoc());
    Type element = tensorType(source).getElementType();
    auto round = [&](const ChannelNumber &number) {
      Value vector = polynomials.materialize(number);
      return a.cast(a.cast(vector, builder.getF32Type()), element);
    };
    Value scale = round(of->coefficients[1]),
          shift = round(of->coefficients[0]);
    std::string reason =
        replaceReaders(source, scale, shift, convolutions, gradients);
    if (!reason.empty()) {
      eraseUnused(before, op);
      return reason;
    }
    ++numNormalized;
    remark::passed(op->getLoc(), remarkOptions(getArgument(), "Normalization"))
        << remark::metric("readers", convolutions.size() + gradients.size())
        << remark::metric("bytes", byteSize(tensorType(input)));
    return "";
  }

  /// Replaces all readers, or none if the target has no call for one.
  std::string replaceReaders(Value source, Value scale, Value shift,
                             ArrayRef<ConvStatisticsOp> convolutions,
                             ArrayRef<ConvFilterGradOp> gradients) {
    std::string reason;
    SmallVector<std::pair<Operation *, Operation *>> replaced;
    auto add = [&](Operation *old, Operation *made) {
      replaced.push_back({old, made});
      if (LibrarySupport support =
              target->getCalls().getSupport(cast<LibraryCall>(made));
          !support)
        reason = support.reason;
    };
    for (ConvStatisticsOp conv : convolutions) {
      OpBuilder builder(conv);
      add(conv,
          createLike<ConvStatisticsOp>(builder, conv, conv->getResultTypes(),
                                       source, conv.getFilter(), scale, shift));
    }
    for (ConvFilterGradOp gradient : gradients) {
      OpBuilder builder(gradient);
      add(gradient, createLike<ConvScaledFilterGradOp>(
                        builder, gradient, gradient->getResultTypes(),
                        gradient.getOutputGrad(), source, scale, shift));
    }
    for (auto [old, made] : replaced)
      if (reason.empty()) {
        old->replaceAllUsesWith(made);
        old->erase();
      } else {
        made->erase();
      }
    return reason;
  }

  std::shared_ptr<const Target> target;
};

} // namespace
