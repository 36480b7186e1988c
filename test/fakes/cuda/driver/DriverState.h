// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The state that the parts of the fake driver share: its objects, the GPU's
// memory, the checker of orders and the recordings that are under way.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TEST_FAKES_CUDA_DRIVER_DRIVERSTATE_H
#define INGOT_TEST_FAKES_CUDA_DRIVER_DRIVERSTATE_H

#include "test/fakes/cuda/Fakes.h"
#include "test/fakes/cuda/driver/CallOrder.h"
#include "test/fakes/cuda/driver/Executor.h"
#include "test/fakes/cuda/ptx/Block.h"

#include <algorithm>
#include <cuda.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace fakes {

enum class Kind { Context, Stream, Event, Module, Graph, Executable };

/// The share of a multiprocessor that a kernel takes, as its machine code says.
struct Resources {
  uint32_t registers = 0, sharedBytes = 0;
};

struct Object;

/// The function that a CUfunction refers to.
struct LoadedFunction {
  std::string name;
  const Object *module;
  /// Null unless the GPU computes.
  const ptx::Function *code;
  Resources resources;
  int launches = 0;
  /// The most shared memory that a launch may give a block.
  uint32_t mostDynamic = 48 << 10;
};

struct Object {
  Kind kind;
  int number;
  /// For modules, the image that they were loaded from.
  std::string_view image = {};
  std::map<std::string, LoadedFunction> functions = {};
  std::map<std::string, Resources> resources = {};
  std::shared_ptr<ptx::Module> program = {};
  /// For events, what comes before, and how often the host has asked since; the
  /// recording that it is part of, 0 outside.
  Moment moment = {};
  After work = {};
  int queries = 0, recording = 0;
  bool isTimed = false;
  /// The priority of a stream; for graphs, those of the streams that were
  /// recorded.
  int priority = 0;
  std::set<int> priorities = {};
  std::shared_ptr<double> milliseconds = {};
  /// For graphs, the memory that their kernels read and write, and objects of
  /// other libraries that they refer to.
  std::vector<Region> regions = {};
  std::set<const void *> held = {};
  std::vector<Node> nodes = {};
  /// The launches of an executable graph.
  int launches = 0;
};

/// The recording of a thread that is under way, or was last.
struct Recording {
  bool isUnderWay = false;
  int number = 0;
  std::vector<Region> regions;
  std::set<const void *> objects;
  Order order;
  /// Its last operation of each stream.
  Moment last;
  std::vector<Node> nodes;
  /// The streams that take part, and what their next operation comes after.
  std::map<int, After> tails;
};

struct DriverState {
  std::map<const void *, Object *> objects;
  std::map<CUdeviceptr, size_t> blocks;
  std::map<void *, size_t> hostBlocks;
  size_t used = 0;
  /// The error that has occurred on the GPU: every later call fails.
  CUresult failure = CUDA_SUCCESS;

  Order order;
  /// Each thread records for itself.
  std::map<std::thread::id, Recording> threads;
  int recordings = 0;
  /// The accesses of the operation that runs now; null unless they are compared
  /// with those of others.
  AccessLog *accesses = nullptr;
  /// The tool that watches the driver; null if there is none.
  const DriverTool *tool = nullptr;
  uint32_t calls = 0;
  uint64_t nodesMade = 0;

  Executor executor{
      static_cast<uint64_t>(getSetting("INGOT_SOFTWARE_GPU_SEED", 0))};
};
DriverState &getState();
/// The recording of the calling thread.
Recording &getRecording();

/// Whether kernels, copies and library calls are computed (Fakes.h).
bool isComputing();

template <typename Handle> Handle make(Kind kind) {
  static int count = 0;
  auto *object = new Object{kind, ++count};
  getState().objects[object] = object;
  return reinterpret_cast<Handle>(object);
}
/// Null unless it lives and is of that kind.
Object *find(const void *handle, Kind kind);
CUresult destroy(const void *handle, Kind kind);

bool isOnDevice(CUdeviceptr place, size_t bytes);
/// The whole block that a kernel's tensor is in, of no bytes if there is none.
Region findBlock(CUdeviceptr place);
inline Region onDevice(CUdeviceptr place, size_t bytes, bool isWritten) {
  return {static_cast<uintptr_t>(place), bytes, isWritten};
}

/// Puts an operation into a stream, or into the recording, as far as the
/// checker of orders is concerned. False if nothing orders it.
bool put(CUstream stream, const std::vector<Region> &regions);
/// Puts an operation without memory into the recording.
void putRecorded(CUstream stream);
/// Puts the work of an operation into a stream, or into the recording. Work of
/// a GPU that does not compute is dropped.
void submit(CUstream stream, Work work, const std::string &name);
/// Tells the tool of a call that enqueues work, and returns its number.
uint32_t noteCall();
/// Returns work that tells the tool when it ran.
Work watch(Work work, const std::string &name, uint32_t call, uint64_t node);
/// Says what the work that runs now reads or writes.
void noteAccess(const char *name, CUdeviceptr place, size_t bytes,
                bool isWritten);
/// Makes the failure of an operation one of the GPU.
void fail(const ptx::Fault &fault);
/// Runs work; a failure of it becomes one of the GPU.
template <typename Body> void runSafely(Body body) {
  try {
    body();
  } catch (const ptx::Fault &fault) {
    fail(fault);
  }
}

} // namespace fakes

#define FAIL_IF_ASKED(...)                                                     \
  if (fakes::record(__func__ __VA_OPT__(, ) __VA_ARGS__))                      \
    return fakes::lacksMemory() ? CUDA_ERROR_OUT_OF_MEMORY                     \
                                : CUDA_ERROR_UNKNOWN;                          \
  fakes::runSafely([] { fakes::getState().executor.progress(); });             \
  if (fakes::getState().failure != CUDA_SUCCESS)                               \
  return fakes::getState().failure
#define REQUIRE(condition, error)                                              \
  if (!(condition)) {                                                          \
    fakes::record("violation", " %s: %s", __func__, #condition);               \
    return error;                                                              \
  }

#endif // INGOT_TEST_FAKES_CUDA_DRIVER_DRIVERSTATE_H
