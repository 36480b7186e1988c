// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Exchanges over axes of the mesh, compiled and run on ranks in threads, give
// what the interpreter gives.
//
//===----------------------------------------------------------------------===//

#include "dialects/ingot/exchange/Mesh.h"
#include "dialects/reference/Interpreter.h"
#include "passes/parallel/Passes.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/WireCollectives.h"
#include "test/random-graphs/compiled/CompiledSource.h"
#include "test/runtime/comm/LocalWire.h"
#include "gtest/gtest.h"

#include <thread>

using namespace mlir;
using namespace ingot;
using reference::Tensor;

/// Two ranks along each of two axes, and two along `data`.
static constexpr StringLiteral kSource = R"(
module attributes {ingot.mesh = {context = 2, tensor = 2}} {
func.func @f(%x: tensor<4x6xf32> {ingot.name = "x"}) -> (
    tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x12xf32>, tensor<2x6xf32>, tensor<1x24xf32>, tensor<4x3xf32>,
    tensor<4x3xf32>, tensor<4x6xf32>) {
  %0 = ingot.all_reduce sum %x over [tensor] {ingot.side = 0 : i64} : tensor<4x6xf32>
  %1 = ingot.all_reduce max %x over [context] {ingot.side = 1 : i64} : tensor<4x6xf32>
  %2 = ingot.all_gather %0 dim 1 over [context] : tensor<4x6xf32> -> tensor<4x12xf32>
  %3 = ingot.reduce_scatter sum %1 dim 0 over [context] : tensor<4x6xf32> -> tensor<2x6xf32>
  %4 = ingot.all_to_all %x split 0 concat 1 over [context, tensor] : tensor<4x6xf32> -> tensor<1x24xf32>
  %5 = ingot.part %2 dim 1 over [context, tensor] : tensor<4x12xf32> -> tensor<4x3xf32>
  %6 = ingot.reduce_scatter min %x dim 1 over [tensor] : tensor<4x6xf32> -> tensor<4x3xf32>
  %7 = ingot.all_to_all %x split 1 concat 1 over [context] : tensor<4x6xf32> -> tensor<4x6xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x12xf32>, tensor<2x6xf32>, tensor<1x24xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x6xf32>
}
})";

TEST(CompiledExchanges, MoveWhatTheInterpreterMoves) {
  constexpr int64_t ranks = 8;
  CompiledSource source(kSource);
  ModuleOp module = source.getModule();
  ASSERT_TRUE(module);
  auto function = *module.getOps<func::FuncOp>().begin();
  std::vector<std::vector<Tensor>> arguments;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Tensor x(
        RankedTensorType::get({4, 6}, Float32Type::get(&source.getContext())));
    for (int64_t i = 0; i < x.size(); ++i)
      x.real(i) = static_cast<double>(100 * rank + i);
    arguments.push_back({x});
  }
  auto want = reference::evaluateRanks(function, arguments);
  ASSERT_TRUE(static_cast<bool>(want)) << llvm::toString(want.takeError());

  Mesh mesh = Mesh::of(module);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Tensor own(getCoordinatesType(&source.getContext()));
    for (auto [axis, at] : llvm::enumerate(mesh.getCoordinates(rank, ranks)))
      own.integer(static_cast<int64_t>(axis)) = at;
    arguments[rank].push_back(own);
  }
  source.compile(
      [](PassManager &passes) { passes.addPass(createLowerExchanges()); });
  ASSERT_TRUE(source.getCompiled());
  auto network = std::make_shared<runtime::LocalNetwork>();
  std::vector<std::vector<Tensor>> got(ranks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      runtime::Communicator others(std::make_unique<runtime::WireCollectives>(
          std::make_unique<runtime::LocalWire>(rank, ranks, network)));
      others.setMesh(runtime::RankMesh({1, 0, 1, 2, 2}, ranks));
      auto results =
          source.getCompiled()->run("f", arguments[rank], rank, ranks, &others);
      if (results)
        got[rank] = std::move(*results);
      else
        ADD_FAILURE() << llvm::toString(results.takeError());
      others.finish();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    ASSERT_EQ(got[rank].size(), (*want)[rank].size());
    for (auto [i, result] : llvm::enumerate(got[rank]))
      EXPECT_EQ(reference::distance(result, (*want)[rank][i]), 0)
          << "result " << i << " of rank " << rank;
  }
}
