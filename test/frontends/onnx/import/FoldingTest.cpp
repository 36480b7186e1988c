// SPDX-License-Identifier: Apache-2.0

// What foldFrom says about values stays true: none that takes another's place
// has the address of one that went away.

#include "frontends/onnx/import/Folding.h"

#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/DenseSet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;

TEST(Folding, ValuesThatGoAwayAreNotTakenForNewOnes) {
  MLIRContext context;
  context.loadDialect<IngotDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(&context), "test");
  OpBuilder builder(module->getBodyRegion());
  Location loc = module->getLoc();
  auto func =
      func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(func.addEntryBlock());
  auto type = RankedTensorType::get({2, 2}, builder.getF32Type());
  Value value = ConstantOp::create(
      builder, loc, type, DenseElementsAttr::get(type, {1.f, 2.f, 3.f, 4.f}));
  Operation *first = nullptr;
  // Ops of several sizes in memory.
  for (int i = 0; i < 200; ++i) {
    if (i % 3 == 0)
      value = AddOp::create(builder, loc, value, value);
    else if (i % 3 == 1)
      value = NegOp::create(builder, loc, value);
    else
      value = ReshapeOp::create(
          builder, loc, RankedTensorType::get({2, 2}, builder.getF32Type()),
          AbsOp::create(builder, loc, value));
    if (!first)
      first = value.getDefiningOp();
  }
  llvm::DenseSet<Value> gone;
  int folded = 0;
  onnx_import::foldFrom(builder, first, [&](Value from, Value to) {
    EXPECT_FALSE(gone.contains(to));
    gone.insert(from);
    ++folded;
  });
  EXPECT_GT(folded, 200);
}
