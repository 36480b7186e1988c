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
    Value result =
        op.buildTransport(builder, [&] { return getPlace(builder, op); });
    if (!result)
      return op->emitOpError("has no transport between ranks");
    if (result == op->getResult(0))
      return success();
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    return success();
  }

private:
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
