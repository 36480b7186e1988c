// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// AssignPrecision: runs contractions in 16 bits.
//
// Assumes that gradients have been built: they are contractions too.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/ir/Diagnostics.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/cost/Cost.h"
#include "passes/options/OptionValues.h"
#include "passes/precision/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ingot {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/precision/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

static Type elementOf(Value value) {
  return tensorType(value).getElementType();
}

static bool isHalf(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 16;
}

//===----------------------------------------------------------------------===//
// Placement of casts
//===----------------------------------------------------------------------===//

/// Moves an op that only moves elements to the other side of a cast.
static Value moveOver(PatternRewriter &rewriter, Operation *mover,
                      Value operand) {
  auto type = cast<RankedTensorType>(mover->getResult(0).getType());
  Operation *moved = rewriter.clone(*mover);
  moved->setOperand(0, operand);
  moved->getResult(0).setType(withElement(type, elementOf(operand)));
  return moved->getResult(0);
}

namespace {

/// cast(move(x)) to 16 bits = move(cast(x)).
struct HoistNarrowing : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    Operation *mover = op.getOperand().getDefiningOp();
    if (!isa_and_present<MovesElements>(mover) ||
        !elementOf(op.getOperand()).isF32() ||
        !isHalf(op.getType().getElementType()))
      return failure();
    // Equal casts are merged later.
    for (Operation *user : mover->getUsers())
      if (auto other = dyn_cast<CastOp>(user);
          !other || other.getType() != op.getType())
        return failure();
    Value narrow = castTo(rewriter, op.getLoc(), mover->getOperand(0),
                          op.getType().getElementType());
    rewriter.replaceOp(op, moveOver(rewriter, mover, narrow));
    return success();
  }
};

/// move(cast(x)) from 16 bits = cast(move(x)).
struct SinkWidening : RewritePattern {
  explicit SinkWidening(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<MovesElements>(op))
      return failure();
    auto cast = op->getOperand(0).getDefiningOp<CastOp>();
    if (!cast || !isHalf(elementOf(cast.getOperand())) ||
        !cast.getType().getElementType().isF32())
      return failure();
    Value moved = moveOver(rewriter, op, cast.getOperand());
    rewriter.replaceOp(op, castTo(rewriter, cast.getLoc(), moved,
                                  cast.getType().getElementType()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct AssignPrecision : ingot::impl::AssignPrecisionBase<AssignPrecision> {
  using AssignPrecisionBase::AssignPrecisionBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (llvm::Error error = checkChoice("precision", precision,
                                        ArrayRef(kPrecisions).drop_front()))
      return emitUserError(context, std::move(error));
    low = typeOfPrecision(context, precision);
    RewritePatternSet set(context);
    set.add<HoistNarrowing, SinkWidening>(context);
    CastOp::getCanonicalizationPatterns(set, context);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() ||
        (!function.empty() && func.getName() != function))
      return;
    machine = Target::of(func)->getMachine();
    // The function's and those of the bodies of loops.
    SmallVector<Block *> blocks = {&func.getBody().front()};
    func.walk([&](LoopOp loop) { blocks.push_back(&loop.getBlock()); });
    for (Block *block : blocks)
      lowerContractions(*block);
    GreedyRewriteConfig config;
    (void)applyPatternsGreedily(func, patterns, config);
    for (Block *block : blocks) {
      SmallVector<CastOp> casts(block->getOps<CastOp>());
      for (CastOp cast : casts)
        if (elementOf(cast.getResult()) == low)
          reduceRounded(cast);
      roundSums(*block);
    }
  }

private:
  void lowerContractions(Block &block) {
    llvm::SetVector<Operation *> chosen;
    for (Operation &op : block.without_terminator())
      if (isLow(&op))
        chosen.insert(&op);
    // Values with no other readers than gradients, states and outputs are not
    // rounded: that would save little.
    llvm::DenseSet<Operation *> feedsLow;
    for (Operation &op : llvm::reverse(block))
      for (Operation *user : op.getUsers())
        if (chosen.contains(user) || feedsLow.contains(user))
          feedsLow.insert(&op);
    for (Operation *op : chosen)
      lower(op, /*isReadAgain=*/feedsLow.contains(op));
  }

  /// Values that are stored in 16 bits, and are otherwise only reduced or the
  /// like, are read from there: one value for all readers, instead of a second
  /// one in f32 or computing it twice.
  void reduceRounded(CastOp rounded) {
    // Results that are not much smaller have as many readers as the value.
    constexpr int64_t leastRatio = 8;
    Value value = rounded.getOperand();
    if (!elementOf(value).isF32() || !value.getDefiningOp())
      return;
    int64_t elements = tensorType(value).getNumElements();
    SmallVector<OpOperand *> reads;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto cast = dyn_cast<CastOp>(user);
          cast && elementOf(cast.getResult()) == low)
        continue;
      bool reduces = llvm::all_of(user->getResults(), [&](Value result) {
        return tensorType(result).getNumElements() * leastRatio <= elements;
      });
      if (user->getNumResults() == 0 || !reduces || matches(keepFp32, user))
        return;
      reads.push_back(&use);
    }
    if (reads.empty())
      return;
    rounded->moveAfter(value.getDefiningOp());
    OpBuilder builder(rounded.getContext());
    builder.setInsertionPointAfter(rounded);
    Value wide = castTo(builder, rounded.getLoc(), rounded, elementOf(value));
    for (OpOperand *read : reads) {
      read->set(wide);
      remark::passed(read->getOwner()->getLoc(),
                     remarkOptions(getArgument(), "RoundedReduction"))
          << remark::metric("op", read->getOwner()->getName().getStringRef());
    }
  }

  /// Rounds sums of 16-bit values that are reduced and read otherwise too, and
  /// which therefore are in memory, to 16 bits: the gradients of residual
  /// streams of convolutions. With an operand that is f32 in memory, such as
  /// the stream of a transformer, the sum stays f32.
  void roundSums(Block &block) {
    // Values that are computed from 16-bit values alone, and those that are
    // computed from several.
    llvm::DenseSet<Value> narrow, sums;
    for (Operation &op : block.without_terminator())
      classify(&op, narrow, sums);
    for (Operation &op : llvm::make_early_inc_range(block))
      for (Value result : op.getResults())
        if (sums.contains(result) && isStoredSum(result))
          roundSum(result);
  }

  /// Puts the result of an op that follows its operands into the sets.
  static void classify(Operation *op, llvm::DenseSet<Value> &narrow,
                       llvm::DenseSet<Value> &sums) {
    auto role = dyn_cast<PrecisionRole>(op);
    if (!role || role.getPrecisionRole() != Precision::Follow ||
        op->getNumResults() != 1 || !elementOf(op->getResult(0)).isF32())
      return;
    Value result = op->getResult(0);
    if (auto cast = dyn_cast<CastOp>(op);
        cast && isHalf(elementOf(cast.getOperand()))) {
      narrow.insert(result);
      return;
    }
    unsigned count = 0;
    bool isSum = false;
    for (Value operand : op->getOperands()) {
      if (!isa<FloatType>(elementOf(operand)) ||
          matchPattern(operand, m_Constant()))
        continue;
      if (!narrow.contains(operand))
        return;
      ++count;
      isSum |= sums.contains(operand);
    }
    if (count == 0)
      return;
    narrow.insert(result);
    if (isSum || count > 1)
      sums.insert(result);
  }

  /// Whether the value is reduced, and read by an op that does not reduce it.
  bool isStoredSum(Value value) const {
    if (matches(keepFp32, value.getDefiningOp()))
      return false;
    unsigned reductions = 0, others = 0;
    for (Operation *user : value.getUsers()) {
      auto role = dyn_cast<PrecisionRole>(user);
      bool isReduction = role && role.getPrecisionRole() == Precision::Keep;
      ++(isReduction ? reductions : others);
    }
    return reductions > 0 && others > 0;
  }

  void roundSum(Value value) {
    Operation *op = value.getDefiningOp();
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value rounded = castTo(builder, op->getLoc(), value, low);
    Value wide = castTo(builder, op->getLoc(), rounded, elementOf(value));
    value.replaceAllUsesExcept(wide, rounded.getDefiningOp());
    ++numRoundedSums;
    remark::passed(op->getLoc(), remarkOptions(getArgument(), "RoundedSum"))
        << remark::metric("op", op->getName().getStringRef())
        << remark::metric("result", StringRef(precision));
  }

  static bool matches(const NamePattern &pattern, Operation *op) {
    return !pattern.empty() &&
           llvm::any_of(nodeNames(op->getLoc()),
                        [&](StringRef name) { return pattern.match(name); });
  }

  static bool isLowered(PrecisionRole role, Value value) {
    return elementOf(value).isF32() && !role.isStatistic(value);
  }

  /// The seconds that the op is estimated to take in 16 bits and in f32: of
  /// its operations, or of the bytes where these take longer.
  std::pair<double, double> estimateSeconds(Operation *op, PrecisionRole role) {
    Cost cost = estimateCost(op, machine);
    auto model = dyn_cast<CostModel>(op);
    if (!model || cost.flops == 0)
      return {0, 0};
    int64_t saved = 0;
    for (Value operand : op->getOperands())
      if (isLowered(role, operand))
        saved += byteSize(tensorType(operand)) / 2;
    for (Value result : op->getResults())
      if (isLowered(role, result))
        saved += byteSize(tensorType(result)) / 2;
    auto flops = static_cast<double>(cost.flops);
    double inLow = std::max(
        flops / machine.getRate(model.getWorkKind(), low),
        machine.getMoveSeconds(static_cast<double>(cost.bytes - saved)));
    return {inLow, std::max(cost.computeSeconds, cost.memorySeconds)};
  }

  bool isLow(Operation *op) {
    auto role = dyn_cast<PrecisionRole>(op);
    if (!role || llvm::none_of(op->getOperands(), [&](Value operand) {
          return isLowered(role, operand);
        }))
      return false;
    bool runsLow = role.getPrecisionRole() == Precision::Low;
    auto note = [&](auto remark, StringRef why) {
      remark << remark::metric("op", op->getName().getStringRef())
             << remark::reason("{0}", why);
    };
    auto options = remarkOptions(getArgument(), "Precision");
    if (matches(keepFp32, op)) {
      if (runsLow) {
        ++numKept;
        note(remark::missed(op->getLoc(), options), "excluded by keep-fp32");
      }
      return false;
    }
    bool isForced = matches(forceLow, op);
    if (runsLow && (isForced || !byCost))
      return true;
    if (runsLow) {
      auto [inLow, inF32] = estimateSeconds(op, role);
      if (inLow <= tolerance * inF32)
        return true;
      ++numSlow;
      constexpr double micro = 1e6;
      note(remark::missed(op->getLoc(), options),
           llvm::formatv("slower in {0} on this machine: estimated {1:f0} us "
                         "instead of {2:f0} us",
                         StringRef(precision), inLow * micro, inF32 * micro)
               .str());
      return false;
    }
    if (!isForced)
      return false;
    if (!isa<InferTypeOpInterface>(op) &&
        !op->hasTrait<OpTrait::SameOperandsAndResultElementType>()) {
      note(remark::missed(op->getLoc(), options),
           "named by force-low, but the op has no 16-bit form");
      return false;
    }
    return true;
  }

  /// Casts the operands of the op to 16 bits; readers of its results get them
  /// in f32, through casts.
  void lower(Operation *op, bool isReadAgain) {
    OpBuilder builder(op);
    auto role = cast<PrecisionRole>(op);
    bool keepsResult = role.canKeepResult() && !isReadAgain;
    for (OpOperand &operand : op->getOpOperands())
      if (isLowered(role, operand.get()))
        operand.set(castTo(builder, op->getLoc(), operand.get(), low));
    ++numLow;
    remark::passed(op->getLoc(), remarkOptions(getArgument(), "Precision"))
        << remark::metric("op", op->getName().getStringRef())
        << remark::metric("result", keepsResult ? StringRef("fp32")
                                                : StringRef(precision));
    if (keepsResult)
      return;
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      if (!isLowered(role, result))
        continue;
      Type f32 = elementOf(result);
      result.setType(withElement(tensorType(result), low));
      Value wide = castTo(builder, op->getLoc(), result, f32);
      result.replaceAllUsesExcept(wide, wide.getDefiningOp());
    }
  }

  /// How much longer an op may take in 16 bits, which save memory.
  static constexpr double tolerance = 1.05;

  Type low;
  Machine machine;
  FrozenRewritePatternSet patterns;
};

} // namespace
