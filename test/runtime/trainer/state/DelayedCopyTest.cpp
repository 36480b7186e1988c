// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Copies of states that go on while a step runs: they have the values of the
// step's start, whatever its kernels write and whenever.
//
//===----------------------------------------------------------------------===//

#include "runtime/trainer/state/DelayedCopy.h"
#include "runtime/trainer/state/Snapshot.h"
#include "test/runtime/TestSupport.h"

#include <algorithm>
#include <cstring>

using namespace ingot::runtime;
using namespace ingot::runtime::test;

namespace {

constexpr int64_t kStates = 6, kStateBytes = (int64_t(5) << 20) + 192;

/// Kernel k fills state k with 100 + k, as soon as it may.
void fillAll(ingot_context *context, char *state, char *) {
  for (int64_t k = kStates; k-- > 0;) {
    ProfileScope scope(context, k);
    std::memset(state + k * kStateBytes, static_cast<int>(100 + k),
                kStateBytes);
  }
}

class DelayedCopyTest : public testing::Test {
protected:
  DelayedCopyTest() {
    manifest.target.kind = "cpu";
    manifest.batch = 1;
    manifest.stateBytes = kStates * kStateBytes;
    manifest.arenaBytes = 64;
    FunctionSpec function;
    function.name = "train_step";
    for (int64_t k = 0; k < kStates; ++k) {
      StateSpec &state = manifest.states.emplace_back();
      state.name = "s" + std::to_string(k);
      state.dtype = DType::U8;
      state.shape = {kStateBytes};
      state.offset = k * kStateBytes;
      KernelSpec &kernel = function.kernels.emplace_back();
      kernel.stateWrites = {{state.offset, kStateBytes}};
    }
    manifest.functions.push_back(function);
  }

  /// Runs steps whose states are copied at the start of each.
  void expectStartValues() {
    Session session(module, manifest);
    Snapshot snapshot(session);
    for (int round = 0; round < 20; ++round) {
      std::memset(session.getStates(), round, manifest.stateBytes);
      SafeTensors tensors;
      for (const StateSpec &spec : manifest.states)
        tensors.tensors[spec.name] = {
            DType::U8,
            {kStateBytes},
            std::string_view(session.getPlace(spec), kStateBytes)};
      if (round == 0)
        snapshot.prepare({&tensors});
      snapshot.take({&tensors});
      session.run(*session.findFunction("train_step"), {}, 1);
      snapshot.wait();
      for (const auto &[name, tensor] : tensors.tensors)
        ASSERT_EQ(std::count(tensor.data.begin(), tensor.data.end(),
                             static_cast<char>(round)),
                  kStateBytes)
            << name << " in round " << round;
      ASSERT_EQ(session.getStates()[0], 100);
      // The copy is left to the step or to finish(), and then to nobody.
      snapshot.finish();
      EXPECT_EQ(session.getContext().gate, nullptr);
    }
  }

  ingot_function functions[1] = {{"train_step", fillAll}};
  ingot_module_t module = {
      INGOT_ABI_VERSION, 1, functions, nullptr, 0,       nullptr, 0,
      nullptr,           0, nullptr,   0,       nullptr, nullptr};
  Manifest manifest;
};

TEST_F(DelayedCopyTest, KernelsWaitForWhatTheyWrite) { expectStartValues(); }

TEST_F(DelayedCopyTest, CopiesAtOnceWhereWritesAreNotKnown) {
  manifest.functions[0].kernels[2].stateWrites.reset();
  expectStartValues();
}

TEST_F(DelayedCopyTest, FinishesBeforeTheHostWrites) {
  Session session(module, manifest);
  std::memset(session.getStates(), 1, manifest.stateBytes);
  std::string copy(manifest.stateBytes, 0);
  DelayedCopy delayed(session);
  delayed.start({{copy.data(), session.getStates(), manifest.stateBytes}});
  delayed.finish();
  std::memset(session.getStates(), 2, manifest.stateBytes);
  EXPECT_EQ(std::count(copy.begin(), copy.end(), 1), manifest.stateBytes);
}

TEST(CopyPastCaches, CopiesAnyRange) {
  std::string from(1000, 0);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<char>(i * 7);
  for (int64_t first : {0, 1, 15, 63, 64, 100})
    for (int64_t bytes : {0, 1, 63, 64, 65, 200, 777}) {
      std::string to(1000, 'x');
      copyPastCaches(to.data() + first, from.data() + 3, bytes);
      EXPECT_EQ(to.substr(first, bytes), from.substr(3, bytes));
      EXPECT_EQ(to.substr(0, first), std::string(first, 'x'));
      EXPECT_EQ(to.substr(first + bytes),
                std::string(1000 - first - bytes, 'x'));
    }
}

} // namespace
