// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tests that a device's kernels compress, send and add up what the processor's
// runtime does.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/graph/Passes.h"
#include "runtime/comm/Communicator.h"
#include "runtime/comm/Encoding.h"
#include "test/random-graphs/compiled/CompiledSource.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace mlir;
using namespace ingot;
using reference::Tensor;

namespace {

struct Case {
  int64_t elements;
  /// 0: all, as integers.
  int64_t kept;
  /// Every n-th element is not 0.
  int64_t every = 1;
  /// In place of the element in the middle.
  float special = 0;
};

class CompiledMessages
    : public ::testing::TestWithParam<std::tuple<Case, int64_t>> {};

/// A bucket of what compress says of `x`.
std::string makeSource(const Case &test) {
  std::string type = "tensor<" + std::to_string(test.elements) + "xf32>";
  std::string how = test.kept == 0
                        ? "{compression = #ingot<compression int8>}"
                        : "{compression = #ingot<compression topk>, k = " +
                              std::to_string(test.kept) + " : i64}";
  return "func.func @f(%x: " + type + " {ingot.name = \"x\"}) -> (" + type +
         " {ingot.name = \"sent\"}, " + type +
         " {ingot.name = \"sum\"}) {\n"
         "%sent = ingot.compress %x " +
         how + " : " + type + "\n%bucket = ingot.all_reduce_start %sent " +
         how + " : (" + type + ") -> " + type +
         "\n%sum = ingot.all_reduce_wait %bucket : (" + type + ") -> " + type +
         "\nreturn %sent, %sum : " + type + ", " + type + "\n}";
}

std::vector<float> draw(const Case &test, int64_t rank) {
  std::mt19937 random(42 + rank);
  std::normal_distribution<float> normal;
  std::vector<float> x(test.elements);
  for (int64_t i = 0; i < test.elements; ++i)
    // Many elements are equal to others.
    x[i] = i % test.every == 0
               ? std::round(normal(random) * 64) * std::ldexp(1.0f, -i % 13)
               : 0;
  if (test.special != 0)
    x[test.elements / 2] = test.special;
  return x;
}

/// The rank in the middle, and what the others send.
class Others : public runtime::Collectives {
public:
  static constexpr int64_t kRank = 1, kRanks = 3;

  /// `messages`: of all ranks; the rank's own is what it is expected to send.
  Others(std::string messages, bool isOwnKnown)
      : Collectives(kRank, kRanks), messages(std::move(messages)),
        isOwnKnown(isOwnKnown) {}

  std::string describe() const override { return "others"; }
  std::unique_ptr<runtime::Pending>
  startAllReduce(void *, int64_t, runtime::DType, runtime::Reduction) override {
    return fail();
  }
  std::unique_ptr<runtime::Pending>
  startReduceScatter(void *, int64_t, runtime::DType) override {
    return fail();
  }
  std::unique_ptr<runtime::Pending> startGatherShards(void *, int64_t,
                                                      runtime::DType) override {
    return fail();
  }
  std::unique_ptr<runtime::Pending> startBroadcast(void *, int64_t,
                                                   int64_t) override {
    return fail();
  }
  std::unique_ptr<runtime::Pending> startAllGather(const void *from, void *to,
                                                   int64_t bytes) override {
    EXPECT_EQ(bytes * kRanks, static_cast<int64_t>(messages.size()));
    char *own = messages.data() + kRank * bytes;
    if (isOwnKnown)
      EXPECT_EQ(std::memcmp(own, from, bytes), 0);
    std::memcpy(own, from, bytes);
    std::memcpy(to, messages.data(), messages.size());
    struct Done : runtime::Pending {
      bool test() override { return true; }
    };
    return std::make_unique<Done>();
  }

private:
  static std::unique_ptr<runtime::Pending> fail() {
    throw std::runtime_error("not what messages are exchanged by");
  }

  std::string messages;
  bool isOwnKnown;
};

bool isSame(float a, float b) { return a == b || (a != a && b != b); }

} // namespace

TEST_P(CompiledMessages, SayWhatTheProcessorsSay) {
  auto [test, ranks] = GetParam();
  // Devices have no library for it.
  CompiledSource &source = CompiledSource::share(
      makeSource(test), "emulator", [](PassManager &passes) {
        passes.addNestedPass<func::FuncOp>(createDecompose());
      });
  ASSERT_TRUE(source.getCompiled());

  runtime::Encoding encoding(test.kept == 0 ? INGOT_INT8 : INGOT_TOPK,
                             test.elements, test.kept);
  // What each rank sends, and the sum in the order of ranks.
  int64_t own = ranks == 1 ? 0 : Others::kRank;
  std::vector<float> x = draw(test, own), sent(x.size()), sum(x.size());
  std::string messages(encoding.getPayloadBytes() * ranks, '\0');
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<float> theirs = x, said(x.size());
    if (rank != own) {
      theirs = draw({test.elements, test.kept}, rank);
      // A processor's message of fewer elements than are kept is in no order.
      std::replace(theirs.begin(), theirs.end(), 0.0f, 1.0f);
    }
    encoding.approximate(theirs.data(), said.data());
    encoding.encode(said.data(),
                    messages.data() + rank * encoding.getPayloadBytes());
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += said[i];
    if (rank == own)
      sent = said;
  }
  bool isFull = test.kept == 0 ||
                std::count_if(sent.begin(), sent.end(), [](float value) {
                  return value != 0;
                }) == test.kept;
  runtime::Communicator others(
      std::make_unique<Others>(std::move(messages), isFull));
  Tensor given(RankedTensorType::get({test.elements},
                                     Float32Type::get(&source.getContext())));
  for (int64_t i = 0; i < test.elements; ++i)
    given.real(i) = x[i];
  auto results = source.getCompiled()->run("f", {given}, own, ranks,
                                           ranks == 1 ? nullptr : &others);
  others.finish();
  ASSERT_TRUE(static_cast<bool>(results))
      << llvm::toString(results.takeError());
  for (int64_t i = 0; i < test.elements; ++i) {
    ASSERT_TRUE(isSame(static_cast<float>((*results)[0].real(i)), sent[i]))
        << i << ": " << (*results)[0].real(i) << ", " << sent[i];
    ASSERT_TRUE(isSame(static_cast<float>((*results)[1].real(i)), sum[i]))
        << i << ": " << (*results)[1].real(i) << ", " << sum[i];
  }
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

INSTANTIATE_TEST_SUITE_P(
    All, CompiledMessages,
    ::testing::Combine(
        ::testing::Values(
            // Less than a block, whole blocks, a part of one.
            Case{1, 0}, Case{255, 0}, Case{256, 0}, Case{9 * 256, 0},
            Case{9 * 256 + 7, 0}, Case{600, 0, 1, kNan},
            Case{600, 0, 1, -kInfinity}, Case{512, 0, 300},
            // One block of threads and several, ties, fewer than are kept.
            Case{1, 1}, Case{300, 7}, Case{300, 300}, Case{9001, 450},
            Case{5000, 1}, Case{9001, 500, 100}, Case{700, 3, 1, kNan},
            Case{700, 3, 1, kInfinity}),
        ::testing::Values(1, Others::kRanks)));
