// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// SplitExchanges: contractions and the exchanges of their results in pieces.
//
// Assumes functions of a rank, without fusions.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Builders.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/partition/Partitionable.h"
#include "dialects/ingot/support/Remarks.h"
#include "dialects/ingot/target/Machine.h"
#include "mlir/IR/IRMapping.h"
#include "passes/cost/Cost.h"
#include "passes/parallel/Passes.h"
#include "llvm/Support/SaveAndRestore.h"

#include <algorithm>
#include <optional>

namespace ingot {
#define GEN_PASS_DEF_SPLITEXCHANGES
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// The numbers of pieces that are tried.
static constexpr int64_t kPieces[] = {2, 4, 8};

/// Returns the factor of a dimension of an op's result of which pieces are
/// ranges; none if there is no such.
static std::optional<Factor> findFactor(Operation *op, int64_t dim,
                                        int64_t pieces) {
  for (const Factor &factor : getFactors(op))
    if (factor.kind == Factor::Free && factor.resultDims.front() == dim &&
        !factor.hasRanges() && !factor.isContiguous && factor.pad == 0 &&
        factor.size % pieces == 0)
      return factor;
  return std::nullopt;
}

/// Returns the contraction that an exchange's operand is made by, with ops
/// between that nothing else reads; null if there is none.
static Operation *findContraction(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->getNumResults() == 1 && op->hasOneUse()) {
    if (isContraction(op))
      return op;
    if (op->getNumOperands() != 1)
      return nullptr;
    op = op->getOperand(0).getDefiningOp();
  }
  return nullptr;
}

namespace {

/// One way to compute an exchange in pieces, in front of it.
class Attempt {
public:
  Attempt(Exchange exchange, int64_t dim, int64_t pieces)
      : exchange(exchange), pieces(pieces), builder(exchange) {
    Operation *before = exchange->getPrevNode();
    SmallVector<Value> results;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      IRMapping mapping;
      mapping.map(exchange->getOperand(0),
                  buildPiece(exchange->getOperand(0), dim, piece));
      Operation *copy = builder.clone(*exchange, mapping);
      RankedTensorType type = tensorType(copy->getResult(0));
      copy->getResult(0).setType(getPieceType(type, dim));
      results.push_back(copy->getResult(0));
    }
    result = ConcatOp::create(builder, exchange.getLoc(), results, dim);
    for (Operation *op = before ? before->getNextNode()
                                : &exchange->getBlock()->front();
         op != exchange.getOperation(); op = op->getNextNode())
      ops.push_back(op);
  }

  ArrayRef<Operation *> getOps() const { return ops; }

  void keep() {
    Operation *op = exchange->getOperand(0).getDefiningOp();
    exchange->getResult(0).replaceAllUsesWith(result);
    exchange->erase();
    while (op && op->use_empty()) {
      Operation *next =
          isContraction(op) ? nullptr : op->getOperand(0).getDefiningOp();
      op->erase();
      op = next;
    }
  }
  void drop() {
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

private:
  RankedTensorType getPieceType(RankedTensorType type, int64_t along) const {
    SmallVector<int64_t> shape(type.getShape());
    shape[along] /= pieces;
    return RankedTensorType::get(shape, type.getElementType());
  }

  /// Returns a range of a dimension: computed down to the contraction, and cut
  /// out of what that reads.
  Value buildPiece(Value value, int64_t along, int64_t piece) {
    Operation *op = value.getDefiningOp();
    std::optional<Factor> factor = op && op->hasOneUse() && !isDone
                                       ? findFactor(op, along, pieces)
                                       : std::nullopt;
    if (!factor)
      return slice(value, along, piece);
    llvm::SaveAndRestore<bool> below(isDone, isContraction(op));
    SmallVector<Value> operands;
    for (auto [operand, own] :
         llvm::zip_equal(op->getOperands(), factor->operandDims))
      operands.push_back(own < 0 ? operand : buildPiece(operand, own, piece));
    return buildPart(builder, op, *factor, pieces, operands, Value()).front();
  }

  Value slice(Value value, int64_t along, int64_t piece) {
    SmallVector<int64_t> limits(tensorType(value).getShape());
    SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
    int64_t size = limits[along] / pieces;
    starts[along] = piece * size;
    limits[along] = starts[along] + size;
    return SliceOp::create(builder, exchange.getLoc(), value, starts, limits,
                           strides);
  }

  Exchange exchange;
  int64_t pieces;
  OpBuilder builder;
  /// Whether the contraction is above.
  bool isDone = false;
  Value result;
  SmallVector<Operation *> ops;
};

struct SplitExchanges : ingot::impl::SplitExchangesBase<SplitExchanges> {
  using SplitExchangesBase::SplitExchangesBase;

  void runOnOperation() override {
    machine = Machine::of(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Exchange> exchanges;
      function.walk([&](Exchange op) {
        constexpr auto data = static_cast<int64_t>(Axis::Data);
        if (!llvm::is_contained(op.getExchangeAxes(), data))
          exchanges.push_back(op);
      });
      for (Exchange exchange : exchanges)
        if (Operation *contraction = findContraction(exchange->getOperand(0)))
          split(exchange, contraction);
    }
  }

private:
  double getLinkSeconds(Exchange exchange) const {
    int64_t ranks = Mesh::of(exchange).getSize(exchange.getExchangeAxes());
    return machine.getLinkSeconds(exchange.getSentBytes(ranks));
  }

  /// Returns when ops are done, whose exchanges are waited for at the end.
  double getSeconds(ArrayRef<Operation *> ops) const {
    double now = 0, link = 0;
    for (Operation *op : ops) {
      if (auto exchange = dyn_cast<Exchange>(op)) {
        link = std::max(link, now) + getLinkSeconds(exchange);
        continue;
      }
      // What puts the pieces together.
      if (op == ops.back())
        now = std::max(now, link);
      now += estimateCost(op, machine).seconds;
    }
    return std::max(now, link);
  }

  /// Returns the time of contractions that read an operand of this one and do
  /// not need the exchange.
  double getOtherSeconds(Exchange exchange, Operation *contraction) const {
    double seconds = 0;
    llvm::SmallPtrSet<Operation *, 8> others;
    for (Value operand : contraction->getOperands())
      for (Operation *user : operand.getUsers())
        if (user != contraction && isContraction(user) &&
            user->getBlock() == exchange->getBlock() &&
            others.insert(user).second && !needs(user, exchange))
          seconds += estimateCost(user, machine).seconds;
    return seconds;
  }

  /// Returns whether an op needs another one of its block.
  static bool needs(Operation *op, Operation *other) {
    SmallVector<Operation *> work = {op};
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!work.empty()) {
      Operation *next = work.pop_back_val();
      if (next == other)
        return true;
      if (next->isBeforeInBlock(other) || !seen.insert(next).second)
        continue;
      for (Value operand : next->getOperands())
        if (Operation *def = operand.getDefiningOp())
          work.push_back(def);
    }
    return false;
  }

  void split(Exchange exchange, Operation *contraction) {
    double compute = estimateCost(contraction, machine).seconds;
    double whole = compute + getLinkSeconds(exchange);
    auto options = remarkOptions(getArgument(), "Pieces");
    Location loc = exchange.getLoc();
    StringRef name = exchange->getName().stripDialect();
    auto miss = [&](const char *reason) {
      remark::missed(loc, options)
          << remark::metric("exchange", name)
          << remark::metric("pieces", int64_t(1))
          << remark::metric("seconds", whole) << remark::reason(reason);
    };
    if (getOtherSeconds(exchange, contraction) >= getLinkSeconds(exchange))
      return miss("another matmul can hide it");
    double best = whole;
    std::pair<int64_t, int64_t> choice = {-1, 1};
    int64_t rank = tensorType(exchange->getOperand(0)).getRank();
    bool isAny = false;
    for (int64_t dim = 0; dim < rank; ++dim)
      for (int64_t pieces : kPieces) {
        if (!exchange.keepsDim(dim) ||
            !findFactor(exchange->getOperand(0).getDefiningOp(), dim, pieces))
          continue;
        isAny = true;
        Attempt attempt(exchange, dim, pieces);
        double seconds = getSeconds(attempt.getOps());
        attempt.drop();
        if (seconds < best) {
          best = seconds;
          choice = {dim, pieces};
        }
      }
    if (choice.first < 0)
      return miss(isAny ? "pieces would take longer"
                        : "no dimension has equal pieces");
    Attempt(exchange, choice.first, choice.second).keep();
    numPieces += choice.second;
    remark::passed(loc, options) << remark::metric("exchange", name)
                                 << remark::metric("pieces", choice.second)
                                 << remark::metric("dim", choice.first)
                                 << remark::metric("seconds", best)
                                 << remark::metric("seconds_before", whole);
  }

  Machine machine;
};

} // namespace
