// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Runs GPU kernels on the CPU as a grid of blocks of threads, and finds errors
// that a GPU does not report: accesses beyond a buffer, accesses of two threads
// to one element without a barrier in between (one of them a store), and
// barriers and shuffles that not all threads reach. This is for tests; trainers
// do not contain it.
//
// Threads are coroutines that run until they wait. Blocks run one after the
// other. --ingot-emulate-kernels emits the calls of these entry points.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_EMULATOR_EMULATOR_H
#define INGOT_RUNTIME_EMULATOR_EMULATOR_H

#include <stdint.h>

extern "C" {

/// Checks that an index is below `limit`.
void ingot_emulator_check(int64_t index, int64_t limit);
/// Announces an access to `bytes` bytes at `address`.
void ingot_emulator_access(int64_t address, int64_t bytes, int32_t is_store);
/// Returns the number of blocks of the grid.
int64_t ingot_emulator_blocks(void);
/// Waits for all threads of the block.
void ingot_emulator_barrier(void);
/// Waits for all lanes of the warp, and returns the value of the lane whose
/// number differs in the bits of `distance`.
int32_t ingot_emulator_shuffle(int32_t value, int32_t distance);

} // extern "C"

#endif // INGOT_RUNTIME_EMULATOR_EMULATOR_H
