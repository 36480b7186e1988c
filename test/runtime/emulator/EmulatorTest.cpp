// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The emulator runs grids as a device does, and finds what kernels do wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Emulator.h"
#include "runtime/abi/Abi.h"
#include "runtime/core/Context.h"

#include <gtest/gtest.h>
#include <vector>

namespace {

float *element(void *buffer, int64_t index) {
  return static_cast<float *>(buffer) + index;
}

float load(void *buffer, int64_t index) {
  ingot_emulator_access(reinterpret_cast<int64_t>(element(buffer, index)), 4,
                        0);
  return *element(buffer, index);
}

void store(void *buffer, int64_t index, float value) {
  ingot_emulator_access(reinterpret_cast<int64_t>(element(buffer, index)), 4,
                        1);
  *element(buffer, index) = value;
}

/// Runs a grid of four blocks of 64 threads over 256 elements; returns the
/// failure.
std::string run(ingot_kernel_fn kernel, std::vector<float> &values) {
  values.resize(256);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  ingot_grid_kernel launch = {"kernel", kernel, 4, 64, 1, 64 * 4, 0, 0};
  void *buffers[] = {values.data()};
  ingot_context context;
  ingot_launch_grid(&context, &launch, buffers);
  return context.message;
}

/// Turns the block's elements around, through its shared memory.
void reverse(void *const *buffers, int64_t thread, int64_t block) {
  store(buffers[1], thread, load(buffers[0], block * 64 + thread));
  ingot_emulator_barrier();
  store(buffers[0], block * 64 + thread, load(buffers[1], 63 - thread));
}

void reverseWithoutBarrier(void *const *buffers, int64_t thread,
                           int64_t block) {
  store(buffers[1], thread, load(buffers[0], block * 64 + thread));
  store(buffers[0], block * 64 + thread, load(buffers[1], 63 - thread));
}

/// Sums a warp into its lanes.
void sumWarp(void *const *buffers, int64_t thread, int64_t block) {
  auto sum = static_cast<int32_t>(load(buffers[0], block * 64 + thread));
  for (int32_t distance = 16; distance > 0; distance /= 2)
    sum += ingot_emulator_shuffle(sum, distance);
  store(buffers[0], block * 64 + thread, static_cast<float>(sum));
}

void beyond(void *const *buffers, int64_t thread, int64_t block) {
  int64_t index = block * 64 + thread + 1;
  ingot_emulator_check(index, 256);
  store(buffers[0], index, 0);
}

void storeOfAllBlocks(void *const *buffers, int64_t thread, int64_t block) {
  if (thread == 0)
    store(buffers[0], 0, static_cast<float>(block));
}

void storeAfterOthersLoad(void *const *buffers, int64_t thread, int64_t block) {
  load(buffers[0], block * 64);
  if (thread == 63)
    store(buffers[0], block * 64, 1);
}

void barrierOfSome(void *const *, int64_t thread, int64_t) {
  if (thread < 32)
    ingot_emulator_barrier();
}

void shuffleOfSome(void *const *, int64_t thread, int64_t) {
  if (thread % 2 == 0)
    ingot_emulator_shuffle(0, 1);
}

} // namespace

TEST(Emulator, ThreadsOfABlockShareMemory) {
  std::vector<float> values;
  EXPECT_EQ(run(reverse, values), "");
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(values[i], i / 64 * 64 + 63 - i % 64);
}

TEST(Emulator, LanesOfAWarpExchangeValues) {
  std::vector<float> values;
  EXPECT_EQ(run(sumWarp, values), "");
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(values[i], i / 32 * 32 * 32 + 31 * 32 / 2);
}

TEST(Emulator, FindsAnIndexBeyondTheBuffer) {
  std::vector<float> values;
  EXPECT_EQ(run(beyond, values),
            "kernel, block 3, thread 63: index 256 in 256");
}

TEST(Emulator, FindsAMissingBarrier) {
  std::vector<float> values;
  EXPECT_EQ(run(reverseWithoutBarrier, values),
            "kernel, block 0, thread 32: a store of 4 shared bytes races with "
            "another thread's");
}

TEST(Emulator, FindsStoresOfTwoBlocks) {
  std::vector<float> values;
  EXPECT_EQ(run(storeOfAllBlocks, values),
            "kernel, block 1, thread 0: a store of 4 bytes races with another "
            "thread's");
}

TEST(Emulator, FindsAStoreAfterAnothersLoad) {
  std::vector<float> values;
  EXPECT_EQ(run(storeAfterOthersLoad, values),
            "kernel, block 0, thread 63: a store of 4 bytes races with another "
            "thread's");
}

TEST(Emulator, FindsABarrierThatSomeMiss) {
  std::vector<float> values;
  EXPECT_EQ(run(barrierOfSome, values),
            "kernel, block 0: threads wait for others that do not come");
}

TEST(Emulator, FindsAShuffleThatSomeMiss) {
  std::vector<float> values;
  EXPECT_EQ(run(shuffleOfSome, values),
            "kernel, block 0: threads wait for others that do not come");
}
