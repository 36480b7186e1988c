// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// ChooseLayouts: propagates the layout that library calls prefer through the
// ops between them.
//
// Assumes primitives, because a composite may refer to a dimension by its
// number.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/support/Permutation.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/fusion/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace ingot {
#define GEN_PASS_DEF_CHOOSELAYOUTS
#include "passes/fusion/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;
using namespace ingot::detail;

using Order = SmallVector<int64_t>;

namespace {

/// The ops of a block that change their layout, and their rewriting.
class LayoutRegion {
public:
  /// Creates an empty region. With `others`, tensors that ops of the region do
  /// not carry are permuted as well, each between its own transposes.
  LayoutRegion(Block &block, bool others) : block(block), others(others) {}

  /// Adds the op and, transitively, every op that can be permuted with it.
  void grow(Operation *seed, const Order &order);
  bool contains(Operation *op) const { return orders.contains(op); }
  void rewrite();

  int64_t size() const { return orders.size(); }
  int64_t transposes = 0, transposedBytes = 0;

private:
  bool add(Operation *op, const Order &order);
  /// Returns true if the use is permuted with the op that it is an operand of.
  bool isCarried(OpOperand &use) const;
  Value transposed(Value value, const Order &order);
  Value inNewOrder(Value value, const Order &order);
  void rewrite(Operation *op, const Order &order);

  Block &block;
  bool others;
  DenseMap<Operation *, Order> orders;
  SmallVector<Operation *> pending;
  /// Values in the layout of the region.
  DenseMap<Value, Value> renewed;
};

} // namespace

static RankedTensorType permutedType(Value value, ArrayRef<int64_t> order) {
  RankedTensorType type = tensorType(value);
  return RankedTensorType::get(permuted(type.getShape(), order),
                               type.getElementType());
}

/// Returns the permutation that moves dimension 1 to the end, for the tensors
/// that the op carries; empty if they have too few dimensions.
static Order channelsLastOrder(Permutable op) {
  int64_t rank = 0;
  if (op.carriesResults())
    rank = tensorType(op->getResult(0)).getRank();
  else
    for (OpOperand &operand : op->getOpOperands())
      if (op.carriesOperand(operand.getOperandNumber()))
        rank = tensorType(operand.get()).getRank();
  Order order;
  if (rank < 3)
    return order;
  order.push_back(0);
  llvm::append_range(order, llvm::seq<int64_t>(2, rank));
  order.push_back(1);
  return order;
}

/// Permutes a copy outside of any block, which shows whether the op can be
/// permuted.
static Operation *permutedCopy(Operation *op, const Order &order) {
  Operation *copy = op->clone();
  if (cast<Permutable>(copy).permute(order))
    return copy;
  copy->destroy();
  return nullptr;
}

bool LayoutRegion::isCarried(OpOperand &use) const {
  Operation *user = use.getOwner();
  return contains(user) &&
         cast<Permutable>(user).carriesOperand(use.getOperandNumber());
}

bool LayoutRegion::add(Operation *op, const Order &order) {
  auto permutable = dyn_cast_or_null<Permutable>(op);
  if (!permutable || contains(op))
    return false;
  auto hasRank = [&](Value value) {
    return tensorType(value).getRank() == static_cast<int64_t>(order.size());
  };
  for (OpOperand &operand : op->getOpOperands())
    if (permutable.carriesOperand(operand.getOperandNumber()) &&
        !hasRank(operand.get()))
      return false;
  if (permutable.carriesResults() && !llvm::all_of(op->getResults(), hasRank))
    return false;
  Operation *copy = permutedCopy(op, order);
  if (!copy)
    return false;
  copy->destroy();
  orders[op] = order;
  pending.push_back(op);
  return true;
}

void LayoutRegion::grow(Operation *seed, const Order &order) {
  add(seed, order);
  auto addAround = [&](Value value) {
    if (Operation *def = value.getDefiningOp())
      if (auto permutable = dyn_cast<Permutable>(def);
          permutable && permutable.carriesResults())
        add(def, order);
    SmallVector<Operation *> users;
    for (OpOperand &use : value.getUses())
      if (auto user = dyn_cast<Permutable>(use.getOwner());
          user && user.carriesOperand(use.getOperandNumber()))
        users.push_back(user);
    for (Operation *user : users)
      add(user, order);
  };
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    auto permutable = cast<Permutable>(op);
    for (OpOperand &operand : op->getOpOperands())
      if (permutable.carriesOperand(operand.getOperandNumber()))
        addAround(operand.get());
    if (permutable.carriesResults())
      for (Value result : op->getResults())
        addAround(result);
  }
}

Value LayoutRegion::transposed(Value value, const Order &order) {
  OpBuilder builder(block.getParentOp()->getContext());
  builder.setInsertionPointAfterValue(value);
  ++transposes;
  RankedTensorType type = permutedType(value, order);
  transposedBytes += byteSize(type);
  return TransposeOp::create(builder, value.getLoc(), type, value, order);
}

Value LayoutRegion::inNewOrder(Value value, const Order &order) {
  Value &result = renewed[value];
  if (!result)
    result = transposed(value, order);
  return result;
}

void LayoutRegion::rewrite(Operation *op, const Order &order) {
  auto permutable = cast<Permutable>(op);
  Operation *copy = permutedCopy(op, order);
  bool takesAll = others && cast<Permutable>(copy).permuteOthers();
  for (OpOperand &operand : copy->getOpOperands())
    if (takesAll || permutable.carriesOperand(operand.getOperandNumber()))
      operand.set(inNewOrder(operand.get(), order));
  OpBuilder(op).insert(copy);
  if (!permutable.carriesResults() && !takesAll) {
    op->replaceAllUsesWith(copy);
    return;
  }
  bool carriesOperands =
      llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
        return permutable.carriesOperand(operand.getOperandNumber());
      });
  for (auto [from, to] :
       llvm::zip_equal(op->getResults(), copy->getResults())) {
    to.setType(permutedType(from, order));
    renewed[from] = to;
    // Values that are cheap to compute in either layout are computed in both.
    auto isOutside = [&](OpOperand &use) { return !isCarried(use); };
    if (carriesOperands && llvm::any_of(from.getUses(), isOutside))
      from.replaceUsesWithIf(transposed(to, inverseOf(order)), isOutside);
  }
}

void LayoutRegion::rewrite() {
  SmallVector<Operation *> members;
  for (Operation &op : block)
    if (contains(&op))
      members.push_back(&op);
  for (Operation *op : members)
    rewrite(op, orders.lookup(op));
  for (Operation *op : llvm::reverse(members))
    if (op->use_empty())
      op->erase();
}

namespace {
struct ChooseLayouts : ingot::impl::ChooseLayoutsBase<ChooseLayouts> {
  using ChooseLayoutsBase::ChooseLayoutsBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration())
      return;
    Block &block = func.getBody().front();
    std::unique_ptr<const Target> target = Target::of(func);
    LayoutRegion region(block, /*others=*/target->getCalls().permutesFilters());
    for (Operation &op : block)
      if (auto permutable = dyn_cast<Permutable>(op)) {
        auto call = dyn_cast<LibraryCall>(op);
        if (!everywhere &&
            !(call && target->getCalls().prefersChannelsLast(call)))
          continue;
        if (Order order = channelsLastOrder(permutable); !order.empty())
          region.grow(&op, order);
      }
    for (Operation &op : block)
      if (isa<LibraryCall>(op) && isa<Permutable>(op))
        explain(&op, region.contains(&op));
    region.rewrite();
    numPermuted += region.size();
    numTransposes += region.transposes;
    if (region.size() != 0)
      remark::analysis(func.getLoc(),
                       remarkOptions(getArgument(), "LayoutRegion"))
          << remark::metric("function", func.getName())
          << remark::metric("ops", region.size())
          << remark::metric("transposes", region.transposes)
          << remark::metric("transposed_bytes", region.transposedBytes);
  }

  void explain(Operation *op, bool isPermuted) {
    auto options = remarkOptions(getArgument(), "Layout");
    if (isPermuted)
      remark::passed(op->getLoc(), options)
          << remark::metric("layout", "channels_last");
    else
      remark::missed(op->getLoc(), options)
          << remark::reason("no other layout is known to be faster");
  }
};
} // namespace
