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
#include "dialects/ingot/ir/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/Machine.h"
#include "passes/graph/AttentionMatch.h"
#include "passes/graph/Passes.h"

#include <limits>

namespace ingot {
#define GEN_PASS_DEF_FORMATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// Has a device's kernel, which adds a bias and knows no mask, run an attention
/// with terms: what is hidden gets a score so low that its weight is 0. A query
/// that sees no key would then have the mean of its values: its result is
/// replaced by 0, and with it what its gradients come from.
static void makeTermsBias(AttentionOp op) {
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
  Value bias = op.getBias(), allowed = op.getMask();
  SmallVector<int64_t> shape(4, 1);
  for (Value term : {bias, allowed})
    if (term)
      for (auto [size, other] :
           llvm::zip_equal(shape, tensorType(term).getShape()))
        size = std::max(size, other);
  if (allowed)
    allowed = broadcastTrailing(builder, loc, allowed, shape);
  if (bias) {
    bias = broadcastTrailing(builder, loc, a.cast(bias, f32), shape);
    Value counts = a.compare(Predicate::NE, bias, -infinity);
    allowed = allowed ? a.logicalAnd(allowed, counts) : counts;
    bias = a.max(bias, hidden);
  } else {
    bias = a.constant(RankedTensorType::get(shape, f32), 0.0);
  }
  bias = a.select(allowed, bias, hidden);

  auto left = static_cast<int64_t>(op.getLeft());
  auto right = static_cast<int64_t>(op.getRight());
  if (left >= 0 || right >= 0) {
    shape[2] = sizes.queries;
    Value within = emitWithinBounds(builder, loc, sizes, left, right);
    allowed = a.logicalAnd(broadcastTrailing(builder, loc, allowed, shape),
                           broadcastTrailing(builder, loc, within, shape));
  }
  // [batch, heads, queries], any of which may be 1, to the result's order.
  Value sees = a.maxOver(a.cast(allowed, f32), 3);
  sees = a.compare(Predicate::GT, sees, 0.0);
  auto turned = RankedTensorType::get({shape[0], shape[2], shape[1]},
                                      builder.getI1Type());
  sees = TransposeOp::create(builder, loc, turned, sees,
                             ArrayRef<int64_t>{0, 2, 1});
  sees = a.reshape(sees, {shape[0], shape[2], shape[1], 1});

  op.getBiasMutable().assign(bias);
  op.getMaskMutable().clear();
  Value result = op.getResult();
  builder.setInsertionPointAfter(op);
  Value seen = a.select(
      broadcastTrailing(builder, loc, sees, tensorType(result).getShape()),
      result, 0.0);
  result.replaceUsesWithIf(seen, [&](OpOperand &use) {
    return use.getOwner() != seen.getDefiningOp();
  });
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
    for (AttentionOp op : imported)
      if (isKept(op))
        adapt(op);
      else
        takeApart(op);
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
    if (device && hasTerms(op) && !op.getLse().use_empty()) {
      remark::missed(op.getLoc(), options())
          << remark::reason("the logarithms of sums are read, which differ "
                            "where a query sees no key");
      return false;
    }
    return isWorthIt(op.getLoc(), op.getSizes(), op.getLeft(), op.getRight(),
                     op.getQuery().getType().getElementType());
  }

  static bool hasTerms(AttentionOp op) { return op.getBias() || op.getMask(); }

  void adapt(AttentionOp op) {
    if (device && hasTerms(op))
      makeTermsBias(op);
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
