//===----------------------------------------------------------------------===//
//
// FormAttention: attention becomes one op where a kernel that never stores the
// scores is worth it, and products and a softmax where it is not.
//
// Assumes a simplified forward function: gradients come later, from whichever
// form this leaves.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/ir/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/Machine.h"
#include "passes/graph/AttentionMatch.h"
#include "passes/graph/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_FORMATTENTION
#include "passes/graph/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

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
      if (!isKept(op))
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
                 int64_t right, Type element, bool hasTerms) {
    if (device && (hasTerms || !sizes.fitDevice(left, right))) {
      remark::missed(loc, options())
          << remark::reason("the device's kernel takes bounds only, heads of a "
                            "multiple of 8 up to 128 columns, and queries that "
                            "see a key");
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
    // The device's types come with --ingot-assign-precision.
    if (!device && !op.hasLibraryCall(device)) {
      remark::missed(op.getLoc(), options())
          << remark::reason("the kernel does not take the elements, or a "
                            "soft cap");
      return false;
    }
    bool hasTerms = op.getBias() || op.getMask() || !op.getSoftcap().isZero();
    return isWorthIt(op.getLoc(), op.getSizes(), op.getLeft(), op.getRight(),
                     op.getQuery().getType().getElementType(), hasTerms);
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
                   match.getRight(), match.getElement(), match.hasTerms()))
      return;
    OpBuilder builder(softmax);
    match.rewrite(builder);
    ++numFormed;
  }
};

} // namespace
