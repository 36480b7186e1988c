// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests that compiled kernels for shards run a rank's elements and no others,
// on the processor and on the emulated device.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Shard.h"
#include "test/random-graphs/compiled/CompiledSource.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace ingot;
using reference::Tensor;

namespace {

/// The target, and the ranks that share the work.
class CompiledShards
    : public ::testing::TestWithParam<std::tuple<const char *, int64_t>> {};

/// Elements of two tensors in one bucket: the first one ends within a shard.
constexpr int64_t kFirst = 70 * 100, kSecond = 333;
constexpr int64_t kSecondAt = (kFirst + 31) / 32 * 32;
/// The bucket has whole blocks, which the first tensor is large enough for.
constexpr int64_t kBucket = (kSecondAt + kSecond + 255) / 256 * 256;

constexpr const char *kSource = R"mlir(
func.func @f(%a: tensor<70x100xf32> {ingot.name = "a"}, %b: tensor<333xf32> {ingot.name = "b"})
    -> (tensor<70x100xf32> {ingot.name = "c"}, tensor<333xf32> {ingot.name = "d"},
        tensor<f64> {ingot.name = "sum"}, tensor<f64> {ingot.name = "other"}) {
  %bucket = ingot.reduce_scatter_start %a, %b : (tensor<70x100xf32>, tensor<333xf32>) -> tensor<7424xf32>
  %0, %1 = ingot.reduce_scatter_wait %bucket : (tensor<7424xf32>) -> (tensor<70x100xf32>, tensor<333xf32>)
  %2 = ingot.mul %0, %0 : tensor<70x100xf32>
  %3 = ingot.mul %1, %1 : tensor<333xf32>
  %s = ingot.shard_square_sum %0 at 0 of 7424 : tensor<70x100xf32> -> tensor<f64>
  %t = ingot.shard_square_sum %1 at 7008 of 7424 : tensor<333xf32> -> tensor<f64>
  %full = ingot.all_gather_start %2, %3 : (tensor<70x100xf32>, tensor<333xf32>) -> tensor<7424xf32>
  %4, %5 = ingot.all_gather_wait %full : (tensor<7424xf32>) -> (tensor<70x100xf32>, tensor<333xf32>)
  return %4, %5, %s, %t : tensor<70x100xf32>, tensor<333xf32>, tensor<f64>, tensor<f64>
}
)mlir";

} // namespace

TEST_P(CompiledShards, RunOneRanksElements) {
  auto [target, ranks] = GetParam();
  static_assert(kSecondAt == 7008 && kBucket == 7424);
  CompiledSource &source =
      CompiledSource::share(kSource, target, [](PassManager &) {});
  ASSERT_TRUE(source.getCompiled());

  auto makeTensor = [&](ArrayRef<int64_t> shape) {
    Tensor tensor(
        RankedTensorType::get(shape, Float32Type::get(&source.getContext())));
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.real(i) = 2 + i % 50;
    return tensor;
  };
  Tensor a = makeTensor({70, 100}), b = makeTensor({kSecond});
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto results = source.getCompiled()->run("f", {a, b}, rank, ranks);
    ASSERT_TRUE(static_cast<bool>(results))
        << llvm::toString(results.takeError());
    auto check = [&](const Tensor &given, int64_t result, int64_t first,
                     int64_t elements) {
      runtime::ElementRange held =
          runtime::getShard(elements, first, kBucket, rank, ranks);
      double sum = 0;
      for (int64_t i = 0; i < elements; ++i) {
        double square = given.real(i) * given.real(i);
        double got = (*results)[result].real(i);
        if (i >= held.begin && i < held.end) {
          ASSERT_EQ(got, square) << "rank " << rank << ", " << i;
          sum += square;
        } else {
          ASSERT_NE(got, square) << "rank " << rank << ", " << i;
        }
      }
      EXPECT_EQ((*results)[result + 2].real(0), sum) << "rank " << rank;
    };
    check(a, 0, 0, kFirst);
    check(b, 1, kSecondAt, kSecond);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, CompiledShards,
                         ::testing::Combine(::testing::Values("cpu",
                                                              "emulator"),
                                            ::testing::Values(1, 2, 3, 8)),
                         [](const auto &info) {
                           return std::to_string(std::get<1>(info.param)) +
                                  "_" + std::get<0>(info.param);
                         });
