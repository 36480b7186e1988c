//===----------------------------------------------------------------------===//
//
// FormAttention: attention becomes one op where a kernel that never stores the
// scores is worth it, and products and a softmax where it is not.
//
// Assumes a simplified forward function: gradients come later, from whichever
// form this leaves.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/attention/PlainAttention.h"
#include "dialects/ingot/builders/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/Machine.h"
#include "passes/graph/Passes.h"
#include "passes/graph/attention/AttentionMatch.h"

#include <limits>

namespace ingot {
#define GEN_PASS_DEF_FORMATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Makes bounds and lengths of those parts of an attention's mask that are
/// such, but for bounds that a device's kernel would not take.
static void refineMask(AttentionOp op, bool onDevice) {
  if (!op.getMask())
    return;
  AttentionSizes sizes = op.getSizes();
  Window window = {static_cast<int64_t>(op.getLeft()),
                   static_cast<int64_t>(op.getRight())};
  SmallVector<PairsMask> parts, others;
  SmallVector<KeyBound> bounds;
  splitMask({op.getMask()}, parts);
  for (const PairsMask &part : parts) {
    auto isInside = [&](double value) { return (value != 0) != part.hides; };
    std::optional<Window> found =
        findPairsWindow(part.value, sizes.queries, sizes.keys, isInside);
    if (found)
      found = intersect(window, *found);
    if (found && (!onDevice || sizes.fitDevice(found->left, found->right)))
      window = *found;
    else if (std::optional<KeyBound> bound =
                 findKeyBound(part, sizes.batch, sizes.heads))
      bounds.push_back(*bound);
    else
      others.push_back(part);
  }
  if (others.size() == parts.size())
    return;
  OpBuilder builder(op);
  Arithmetic a(builder, op.getLoc());
  Value lengths = op.getLengths(), mask;
  for (const KeyBound &bound : bounds) {
    Value each = bound.emitLengths(a, sizes.batch, sizes.keys);
    lengths = lengths ? a.min(lengths, each) : each;
  }
  for (PairsMask part : others) {
    part.value = emitUnrepeated(a, part.value);
    Value shown = part.emitShown(builder);
    SmallVector<int64_t> shape = commonShape({mask, shown});
    shape[3] = sizes.keys;
    shown = broadcastTrailing(builder, op.getLoc(), shown, shape);
    mask =
        mask ? a.logicalAnd(
                   broadcastTrailing(builder, op.getLoc(), mask, shape), shown)
             : shown;
  }
  op.setLeft(window.left);
  op.setRight(window.right);
  op.getMaskMutable().assign(mask ? ValueRange(mask) : ValueRange());
  op.getLengthsMutable().assign(lengths ? ValueRange(lengths) : ValueRange());
}

/// Makes results 0 where a query sees no key. `allowed`: [batch, heads,
/// queries, keys], any of which may be 1.
static void clearUnseeing(AttentionOp op, Value allowed) {
  OpBuilder builder(op);
  Arithmetic a(builder, op.getLoc());
  ArrayRef<int64_t> shape = tensorType(allowed).getShape();
  Value sees = a.maxOver(a.cast(allowed, builder.getF32Type()), 3);
  sees = a.compare(Predicate::GT, sees, 0.0);
  // To the result's order.
  auto turned = RankedTensorType::get({shape[0], shape[2], shape[1]},
                                      builder.getI1Type());
  sees = TransposeOp::create(builder, op.getLoc(), turned, sees,
                             ArrayRef<int64_t>{0, 2, 1});
  sees = a.reshape(sees, {shape[0], shape[2], shape[1], 1});
  Value result = op.getResult();
  builder.setInsertionPointAfter(op);
  Value seen = a.select(broadcastTrailing(builder, op.getLoc(), sees,
                                          tensorType(result).getShape()),
                        result, 0.0);
  result.replaceUsesWithIf(seen, [&](OpOperand &use) {
    return use.getOwner() != seen.getDefiningOp();
  });
}

/// Has a device's kernel, which adds a bias and knows no mask, run an attention
/// with terms: what is hidden gets a score so low that its weight is 0. A query
/// that sees no key would then have the mean of its values: its result is
/// replaced by 0, and with it what its gradients come from. Lengths stay, but
/// for those of 0, which the kernel need not take.
static void adaptTerms(AttentionOp op) {
  // Exponentials of differences from any other score are 0; and what rounding
  // leaves of the difference of two such scores is small (a power of 2 below
  // ten), so that weights of a query without keys stay finite in f16 too.
  constexpr double hidden = -0x1p24;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Arithmetic a(builder, loc);
  Type f32 = builder.getF32Type();
  AttentionSizes sizes = op.getSizes();
  auto left = static_cast<int64_t>(op.getLeft());
  auto right = static_cast<int64_t>(op.getRight());
  Value bias = op.getBias(), allowed = op.getMask();
  auto require = [&](Value &all, Value holds) {
    SmallVector<int64_t> shape = commonShape({all, holds});
    holds = broadcastTrailing(builder, loc, holds, shape);
    all = all ? a.logicalAnd(broadcastTrailing(builder, loc, all, shape), holds)
              : holds;
  };
  Value lengths = op.getLengths();
  // A window may lie behind all keys: every query has to see one there.
  if (lengths && left >= 0) {
    require(allowed, emitWithinLengths(builder, loc, sizes, lengths));
    op.getLengthsMutable().clear();
    lengths = {};
  }
  if (lengths)
    op.getLengthsMutable().assign(a.max(lengths, 1.0));
  if (bias || allowed) {
    SmallVector<int64_t> shape = commonShape({bias, allowed});
    if (bias) {
      bias = a.cast(bias, f32);
      require(allowed, a.compare(Predicate::NE, bias, -infinity));
      bias = a.max(broadcastTrailing(builder, loc, bias, shape), hidden);
    } else {
      bias = a.constant(RankedTensorType::get(shape, f32), 0.0);
    }
    bias = a.select(allowed, bias, hidden);
    op.getBiasMutable().assign(bias);
    op.getMaskMutable().clear();
    if (lengths)
      require(allowed, emitWithinLengths(builder, loc, sizes, lengths));
    if (left >= 0 || right >= 0)
      require(allowed,
              a.reshape(emitWithinBounds(builder, loc, sizes, left, right),
                        {1, 1, sizes.queries, sizes.keys}));
  } else {
    // The first key is within the bounds.
    allowed = a.reshape(a.compare(Predicate::GE, lengths, 1.0),
                        {sizes.batch, 1, 1, 1});
  }
  clearUnseeing(op, allowed);
}

/// Gives a device's generator a seed of its own for each attention and step:
/// 48 bits of the numbers that dropout would begin with.
static void adaptSeed(AttentionOp op) {
  OpBuilder builder(op);
  Arithmetic a(builder, op.getLoc());
  auto two = RankedTensorType::get({2}, builder.getF64Type());
  Value drawn = RandomUniformOp::create(builder, op.getLoc(), two, op.getSeed(),
                                        op.getStep(), op.getStream());
  auto take = [&](int64_t i) -> Value {
    return SliceOp::create(builder, op.getLoc(), drawn, ArrayRef<int64_t>{i},
                           ArrayRef<int64_t>{i + 1}, ArrayRef<int64_t>{1});
  };
  // The upper 24 bits, then the lower ones.
  Value bits = a.add(a.mul(take(0), 0x1p48), a.mul(take(1), 0x1p24));
  op.getSeedMutable().assign(a.reshape(a.cast(bits, builder.getI64Type()), {}));
}

namespace {

/// Seconds that one attention takes in a training step.
struct Costs {
  double plain, whole;

  Costs(const AttentionSizes &s, int64_t left, int64_t right, Type element,
        const Machine &machine) {
    double heads = static_cast<double>(s.batch) * s.heads;
    // Scores, weights and their gradients, each written and read a few times.
    double bytesPerPair = 12.0 * element.getIntOrFloatBitWidth() / 8;
    double all = heads * s.queries * s.keys;
    plain = all * (6.0 * (s.size + s.valueSize) /
                       machine.getRate(WorkKind::Matmul, element) +
                   bytesPerPair / machine.memoryBandwidth);
    // Scores are computed again backward; tiles at an edge are computed whole;
    // exponentials and packing come on top.
    // The machine's rate counts neither.
    constexpr double kRows = 12, kColumns = 32, kComputedMore = 1.75;
    double filled = std::ceil(s.queries / kRows) * kRows / s.queries *
                    std::ceil(s.keys / kColumns) * kColumns / s.keys;
    int edges = (left >= 0) + (right >= 0);
    double computed =
        static_cast<double>(s.window(left, right).pairs) * filled +
        edges * s.queries * (kRows + kColumns) / 2;
    whole = heads * computed * (8.0 * s.size + 6.0 * s.valueSize) /
            (kComputedMore * machine.getRate(WorkKind::Attention, element));
  }
};

struct FormAttention : ingot::impl::FormAttentionBase<FormAttention> {
  using FormAttentionBase::FormAttentionBase;

  void runOnOperation() override {
    SmallVector<AttentionOp> imported;
    SmallVector<SoftmaxOp> softmaxes;
    getOperation().walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        imported.push_back(attention);
      else if (auto softmax = dyn_cast<SoftmaxOp>(op))
        softmaxes.push_back(softmax);
    });
    for (AttentionOp op : imported) {
      if (!plain)
        refineMask(op, device);
      if (isKept(op))
        adapt(op);
      else
        takeApart(op);
    }
    if (!plain)
      for (SoftmaxOp softmax : softmaxes)
        form(softmax);
    // What was replaced, and statistics that nothing reads.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }

private:
  static remark::RemarkOpts options() {
    return remark::RemarkOpts::name("attention")
        .category("ingot-form-attention");
  }

  /// Whether the kernel is worth it; a remark says so.
  bool isWorthIt(Location loc, const AttentionSizes &sizes, int64_t left,
                 int64_t right, Type element) {
    if (device && !sizes.fitDevice(left, right)) {
      remark::missed(loc, options())
          << remark::reason("the device's kernel takes heads of a multiple of "
                            "8 up to 128 columns, and bounds within which each "
                            "query sees a key");
      return false;
    }
    element = elementInPrecision(element, precision);
    Costs costs(sizes, left, right, element,
                Machine::of(getOperation()->getParentOfType<ModuleOp>()));
    if (costs.whole > costs.plain) {
      remark::missed(loc, options())
          << remark::reason("products and a softmax are cheaper")
          << remark::metric("plain-seconds", costs.plain)
          << remark::metric("whole-seconds", costs.whole);
      return false;
    }
    int64_t pairs = sizes.batch * sizes.heads * sizes.queries * sizes.keys;
    remark::passed(loc, options())
        << remark::metric("left", left) << remark::metric("right", right)
        << remark::metric("bytes-saved",
                          pairs * element.getIntOrFloatBitWidth() / 8)
        << remark::metric("plain-seconds", costs.plain)
        << remark::metric("whole-seconds", costs.whole);
    return true;
  }

  bool isKept(AttentionOp op) {
    if (plain)
      return false;
    // Half precision comes with --ingot-assign-precision; a mask becomes a
    // bias.
    if (!op.hasLibraryCall(/*onDevice=*/false)) {
      remark::missed(op.getLoc(), options())
          << remark::reason("the kernel does not take the elements, or a "
                            "soft cap");
      return false;
    }
    if (device && (hasTerms(op) || op.getSeed()) && !op.getLse().use_empty()) {
      remark::missed(op.getLoc(), options())
          << remark::reason("the logarithms of sums are read, which differ "
                            "where a query sees no key, and whose gradient "
                            "knows no weights that the library drops");
      return false;
    }
    return isWorthIt(op.getLoc(), op.getSizes(), op.getLeft(), op.getRight(),
                     op.getQuery().getType().getElementType());
  }

  static bool hasTerms(AttentionOp op) {
    return op.getBias() || op.getMask() || op.getLengths();
  }

  void adapt(AttentionOp op) {
    if (!device)
      return;
    if (hasTerms(op))
      adaptTerms(op);
    if (!op.getSeed())
      return;
    adaptSeed(op);
    remark::analysis(op.getLoc(), options())
        << remark::reason("the device's library drops other weights than the "
                          "processor, as many")
        << remark::metric("ratio", op.getRatio().convertToDouble());
  }

  static void takeApart(AttentionOp op) {
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder));
  }

  void form(SoftmaxOp softmax) {
    AttentionMatch match(softmax);
    if (!match.isAttention())
      return;
    if (!match.getProblem().empty()) {
      remark::missed(softmax.getLoc(), options())
          << remark::reason("{0}", match.getProblem());
      return;
    }
    if (!isWorthIt(softmax.getLoc(), match.getSizes(), match.getLeft(),
                   match.getRight(), match.getElement()))
      return;
    OpBuilder builder(softmax);
    adapt(match.rewrite(builder));
    ++numFormed;
  }
};

} // namespace
