// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// LowerExchanges: exchanges over axes become those with library calls.
//
// Assumes functions of a rank, without fusions.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/builders/Arithmetic.h"
#include "dialects/ingot/exchange/ExchangeOps.h"
#include "dialects/ingot/ir/Signature.h"
#include "dialects/ingot/ir/States.h"
#include "dialects/ingot/support/Remarks.h"
#include "passes/parallel/Passes.h"

namespace ingot {
#define GEN_PASS_DEF_LOWEREXCHANGES
#include "passes/parallel/Passes.h.inc"
} // namespace ingot

using namespace mlir;
using namespace ingot;

/// The state with the coordinates of a rank.
static constexpr StringLiteral kCoordinatesName = "coordinates";

namespace {

/// Lowers the exchanges of one function.
class ExchangeLowering {
public:
  ExchangeLowering(func::FuncOp function) : function(function) {}

  LogicalResult lower(Exchange op) {
    OpBuilder builder(op);
    Value result;
    if (auto gather = dyn_cast<AllGatherOp>(*op)) {
      auto dim = static_cast<int64_t>(gather.getDim());
      if (dim == 0)
        return success();
      result = gatherAlong(builder, op, gather.getOperand(), dim);
    } else if (auto part = dyn_cast<PartOp>(*op)) {
      result = takePart(builder, op, part.getOperand(),
                        static_cast<int64_t>(part.getDim()));
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(*op)) {
      Value whole = AllReduceOp::create(
          builder, op.getLoc(), scatter.getOperand().getType(),
          scatter.getKind(), scatter.getOperand(), scatter.getAxesAttr(),
          /*gradient_of=*/FlatSymbolRefAttr());
      result =
          takePart(builder, op, whole, static_cast<int64_t>(scatter.getDim()));
      reportWhole(op);
    } else if (auto all = dyn_cast<AllToAllOp>(*op)) {
      auto split = static_cast<int64_t>(all.getSplit());
      auto concat = static_cast<int64_t>(all.getConcat());
      // All parts come together first: a rank selects its own afterwards.
      result = takePart(
          builder, op, gatherAlong(builder, op, all.getOperand(), concat),
          split,
          split == concat ? Mesh::of(op).getSize(op.getExchangeAxes()) : 1);
      reportWhole(op);
    } else if (isa<AllReduceOp>(*op)) {
      return success();
    } else {
      return op->emitOpError("has no transport between ranks");
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    return success();
  }

private:
  void reportWhole(Exchange op) {
    remark::missed(op.getLoc(), remarkOptions("ingot-lower-exchanges", "Whole"))
        << remark::reason("a rank receives what others need as well")
        << remark::metric("exchange", op->getName().stripDialect())
        << remark::metric("bytes", byteSize(tensorType(op->getOperand(0))));
  }

  /// Returns the ranks' tensors one after the other along a dimension.
  static Value gatherAlong(OpBuilder &builder, Exchange op, Value operand,
                           int64_t dim) {
    Arithmetic a(builder, op.getLoc());
    int64_t ranks = Mesh::of(op).getSize(op.getExchangeAxes());
    SmallVector<int64_t> shape(tensorType(operand).getShape());
    SmallVector<int64_t> stacked = shape;
    stacked.front() *= ranks;
    Value result = AllGatherOp::create(
        builder, op.getLoc(),
        RankedTensorType::get(stacked, tensorType(operand).getElementType()),
        operand, /*dim=*/0, op.getExchangeAxes());
    if (dim == 0)
      return result;
    SmallVector<int64_t> each = shape, order;
    each.insert(each.begin(), ranks);
    // The number of the rank goes from the front to before the dimension.
    for (int64_t i = 1; i <= dim; ++i)
      order.push_back(i);
    order.push_back(0);
    for (int64_t i = dim + 1; i < static_cast<int64_t>(each.size()); ++i)
      order.push_back(i);
    result = TransposeOp::create(builder, op.getLoc(), a.reshape(result, each),
                                 order);
    shape[dim] *= ranks;
    return a.reshape(result, shape);
  }

  /// Returns the rank's part along a dimension of a tensor that all ranks have,
  /// of each of `segments` equal segments of it.
  Value takePart(OpBuilder &builder, Exchange op, Value whole, int64_t dim,
                 int64_t segments = 1) {
    Arithmetic a(builder, op.getLoc());
    Mesh mesh = Mesh::of(op);
    int64_t ranks = mesh.getSize(op.getExchangeAxes());
    SmallVector<int64_t> shape(tensorType(whole).getShape());
    int64_t length = shape[dim] / segments / ranks;
    Value first = a.mul(getPlace(builder, op), static_cast<double>(length));
    auto index = [&](ArrayRef<int64_t> sizes, Type element, int64_t along) {
      Value own = a.iota(RankedTensorType::get(sizes, element), along);
      return a.add(own, a.fill(a.cast(first, element), sizes));
    };
    // A rank's part of an index is an index.
    if (auto iota = whole.getDefiningOp<IotaOp>(); iota && segments == 1) {
      auto along = static_cast<int64_t>(iota.getDim());
      shape[dim] = length;
      Type element = iota.getType().getElementType();
      return along == dim
                 ? index(shape, element, dim)
                 : a.iota(RankedTensorType::get(shape, element), along);
    }
    Type number = builder.getI64Type();
    Value rows = index({segments, length}, number, 1);
    if (segments > 1)
      rows = a.add(rows, a.mul(a.iota(tensorType(rows), 0),
                               static_cast<double>(length * ranks)));
    return GatherOp::create(builder, op.getLoc(), whole,
                            a.reshape(rows, {segments * length}), dim);
  }

  /// Returns the place of the rank in the group of an exchange.
  Value getPlace(OpBuilder &builder, Exchange op) {
    Arithmetic a(builder, op.getLoc());
    Mesh mesh = Mesh::of(op);
    Value place;
    for (int64_t axis : op.getExchangeAxes()) {
      Value own = a.reshape(
          SliceOp::create(builder, op.getLoc(), getCoordinates(),
                          ArrayRef<int64_t>{axis}, ArrayRef<int64_t>{axis + 1},
                          ArrayRef<int64_t>{1}),
          {});
      auto size = static_cast<double>(mesh.getSize(static_cast<Axis>(axis)));
      place = place ? a.add(a.mul(place, size), own) : own;
    }
    return place;
  }

  Value getCoordinates() {
    auto module = function->getParentOfType<ModuleOp>();
    auto symbol =
        FlatSymbolRefAttr::get(function.getContext(), kCoordinatesName);
    RankedTensorType type = getCoordinatesType(function.getContext());
    if (!findState(module, symbol))
      symbol = addState(module, kCoordinatesName, Role::Coordinates, type);
    Signature signature(function);
    if (BlockArgument known = signature.findArgument(symbol))
      return known;
    return signature.addState(symbol, type);
  }

  func::FuncOp function;
};

struct LowerExchanges : ingot::impl::LowerExchangesBase<LowerExchanges> {
  using LowerExchangesBase::LowerExchangesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      ExchangeLowering lowering(function);
      SmallVector<Exchange> exchanges;
      function.walk([&](Exchange op) {
        constexpr auto data = static_cast<int64_t>(Axis::Data);
        if (!llvm::is_contained(op.getExchangeAxes(), data))
          exchanges.push_back(op);
      });
      for (Exchange op : exchanges)
        if (failed(lowering.lower(op)))
          return signalPassFailure();
      function.walk([&](Exchange) { ++numExchanges; });
    }
  }
};

} // namespace
