// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Kernels that read inputs transposed: through shared memory on a device.
//
//===----------------------------------------------------------------------===//

#include "dialects/reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Registration.h"
#include "tools/ingot-eval/Compiled.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace ingot;
using reference::Tensor;

namespace {
class CompiledTiles : public ::testing::TestWithParam<const char *> {};
} // namespace

TEST_P(CompiledTiles, ComputeWhatTheInterpreterDoes) {
  DialectRegistry registry;
  registerIngotDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(GetParam(), &context);
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<func::FuncOp>("f");
  std::vector<Tensor> arguments;
  for (Type type : function.getArgumentTypes()) {
    Tensor &tensor = arguments.emplace_back(cast<RankedTensorType>(type));
    for (int64_t i = 0; i < tensor.size(); ++i)
      if (tensor.isFloat())
        tensor.real(i) = static_cast<double>(i * 37 % 251);
      else
        tensor.integer(i) = i * 5 % 3 == 0;
  }
  auto expected = reference::evaluate(function, arguments);
  ASSERT_TRUE(static_cast<bool>(expected))
      << llvm::toString(expected.takeError());
  PipelineOptions options;
  options.target = "emulator";
  auto compiled = CompiledModule::compile(*module, options);
  ASSERT_TRUE(static_cast<bool>(compiled))
      << llvm::toString(compiled.takeError());
  auto actual = (*compiled)->run("f", arguments);
  ASSERT_TRUE(static_cast<bool>(actual)) << llvm::toString(actual.takeError());
  for (auto [got, want] : llvm::zip_equal(*actual, *expected))
    EXPECT_EQ(reference::distance(got, want), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, CompiledTiles,
    ::testing::Values(
        // Tiles at the ends are not whole; another input is in the results'
        // order.
        R"mlir(func.func @f(%x: tensor<70x100xf32> {ingot.name = "x"}, %y: tensor<100x70xbf16> {ingot.name = "y"})
    -> (tensor<70x100xf32> {ingot.name = "r"}) {
  %0 = ingot.transpose %y [1, 0] : (tensor<100x70xbf16>) -> tensor<70x100xbf16>
  %1 = ingot.cast %0 : tensor<70x100xbf16> -> tensor<70x100xf32>
  %2 = ingot.sub %x, %1 : tensor<70x100xf32>
  return %2 : tensor<70x100xf32>
})mlir",
        // Two inputs in tiles, of different types, and two results.
        R"mlir(func.func @f(%x: tensor<96x64xf64> {ingot.name = "x"}, %m: tensor<96x64xi1> {ingot.name = "m"})
    -> (tensor<64x96xf64> {ingot.name = "r"}, tensor<64x96xf64> {ingot.name = "s"}) {
  %0 = ingot.transpose %x [1, 0] : (tensor<96x64xf64>) -> tensor<64x96xf64>
  %1 = ingot.transpose %m [1, 0] : (tensor<96x64xi1>) -> tensor<64x96xi1>
  %2 = ingot.neg %0 : tensor<64x96xf64>
  %3 = ingot.select %1, %0, %2 : tensor<64x96xi1>, tensor<64x96xf64>
  return %3, %2 : tensor<64x96xf64>, tensor<64x96xf64>
})mlir",
        // Channels to the front, and a bias for each that every row repeats.
        R"mlir(func.func @f(%x: tensor<2x5x20x40xf32> {ingot.name = "x"}, %b: tensor<40xf32> {ingot.name = "b"})
    -> (tensor<2x40x5x20xf32> {ingot.name = "r"}) {
  %0 = ingot.transpose %x [0, 3, 1, 2] : (tensor<2x5x20x40xf32>) -> tensor<2x40x5x20xf32>
  %1 = ingot.broadcast %b dims = [1] : tensor<40xf32> -> tensor<2x40x5x20xf32>
  %2 = ingot.add %0, %1 : tensor<2x40x5x20xf32>
  return %2 : tensor<2x40x5x20xf32>
})mlir",
        // All dimensions turned around; one of size 1.
        R"mlir(func.func @f(%x: tensor<24x1x3x50xf32> {ingot.name = "x"}) -> (tensor<50x3x1x24xf32> {ingot.name = "r"}) {
  %0 = ingot.transpose %x [3, 2, 1, 0] : (tensor<24x1x3x50xf32>) -> tensor<50x3x1x24xf32>
  %1 = ingot.neg %0 : tensor<50x3x1x24xf32>
  return %1 : tensor<50x3x1x24xf32>
})mlir",
        // An input that is read in both orders.
        R"mlir(func.func @f(%x: tensor<40x40xf32> {ingot.name = "x"}) -> (tensor<40x40xf32> {ingot.name = "r"}) {
  %0 = ingot.transpose %x [1, 0] : (tensor<40x40xf32>) -> tensor<40x40xf32>
  %1 = ingot.add %0, %x : tensor<40x40xf32>
  return %1 : tensor<40x40xf32>
})mlir"));
