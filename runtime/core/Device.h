// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The device that compiled functions run on, with the two blocks of memory that
// they work on (Abi.h). A trainer is linked with one implementation:
// runtime/cpu or runtime/cuda. docs/design/gpu/device.md describes how.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_DEVICE_H
#define INGOT_RUNTIME_CORE_DEVICE_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Manifest.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ingot::runtime {

/// An in-order queue (stream) of a device with its own memory. Queues run
/// concurrently with each other.
enum class Queue {
  /// Runs of functions, and copies of what they read and write.
  Runs,
  /// Copies of inputs from the host to the staging blocks.
  Inputs
};

/// Copies between the host and the blocks of a device with its own memory.
/// Every function throws failure.
class Transfers {
public:
  virtual ~Transfers() = default;

  /// Allocates memory of the host for the lifetime of the device. Copies from
  /// and to it overlap with other work.
  virtual char *allocate(size_t bytes) = 0;
  /// Returns the manifest's staging blocks, in the device's memory.
  virtual char *getStaging() const = 0;
  /// Enqueues a copy to the device. The host's memory must not change until a
  /// wait for a later mark.
  virtual void copyIn(Queue queue, char *to, const char *from,
                      size_t bytes) = 0;
  /// Enqueues a copy to the host in the queue of runs. The host's memory must
  /// not be read until a wait for a later mark.
  virtual void copyOut(char *to, const char *from, size_t bytes) = 0;
  /// Enqueues a copy within the device in the queue of runs.
  virtual void copyWithin(char *to, const char *from, size_t bytes) = 0;

  /// Names a point in the order of a queue. A mark can be set repeatedly; one
  /// that was never set counts as reached.
  using Mark = size_t;
  virtual Mark makeMark() = 0;
  /// Sets the mark after all work that is in the queue now.
  virtual void setMark(Mark mark, Queue queue) = 0;
  /// Waits until all work before the mark is done.
  virtual void wait(Mark mark) = 0;
  /// Makes later work of the queue, but not the host, wait for the mark.
  virtual void holdBack(Queue queue, Mark mark) = 0;
};

/// How a device differs from others for the loop that drives it.
struct DeviceTraits {
  /// Whether functions work in memory of the host, which reads and writes the
  /// blocks in place; otherwise Transfers copy.
  bool sharesHostMemory = false;
  /// Whether the work of an entry point is done when it returns: an ingot_gate
  /// can hold kernels back, and an observer sees what each has written.
  bool runsInCalls = false;
  /// Whether the host's threads exchange between ranks, so that they know how
  /// long they wait for others.
  bool exchangesOnHost = false;
  /// Whether the first run of a function also loads libraries and makes plans,
  /// and is no measure of those that follow.
  bool preparesInFirstRun = false;
};

class Device {
public:
  virtual ~Device() = default;

  virtual DeviceTraits getTraits() const = 0;
  /// Describes the device to users, in a line.
  virtual std::string describe() const = 0;
  /// Returns the addresses of the blocks that functions take. Blocks are zero
  /// at first.
  virtual char *getState() const = 0;
  virtual char *getArena() const = 0;
  /// Maps the states of the manifest's mapped range, read-only, from a piece of
  /// an open file, which is called `path`. Returns false where they have memory
  /// in the block that has to be filled.
  virtual bool mapStates(int /*descriptor*/, uint64_t /*fileOffset*/,
                         const std::string & /*path*/) {
    return false;
  }
  /// Allocates the block for the rank's shards of states and the payloads of
  /// all ranks, filled with zeros. Called once. Throws failure.
  virtual char *allocateShards(int64_t bytes) = 0;
  /// Settings of `tune`.
  struct Tuning {
    /// The file that keeps choices; the user's cache if it is empty.
    std::string path;
    /// How long algorithms of libraries are measured.
    double seconds = 0;
    /// Whether steps are spent on kernels as well.
    bool triesKernels = false;
    /// Whether what an earlier run had no time for is measured, so that the run
    /// may have other bits.
    bool goesOn = false;
    /// Ranks measure for themselves.
    int64_t rank = 0;
  };
  /// Measures alternatives in the first runs of functions, and keeps the
  /// fastest choices. Called before the first run. Returns false if there is
  /// nothing to choose.
  virtual bool tune(const Tuning &) { return false; }
  /// Lets libraries take faster algorithms whose sums vary in the last bits
  /// from run to run. Called before the first run. Returns false if there are
  /// none.
  virtual bool allowVariation() { return false; }
  /// Gets ready to time kernels and calls of runs that are profiled. Called
  /// before the first run.
  virtual void prepareProfile() {}
  /// Says how they are timed; empty where that is the host's clock.
  virtual std::string describeTimes() const { return ""; }
  /// Returns the copies by which the host accesses the blocks; null where they
  /// share its memory (DeviceTraits).
  virtual Transfers *getTransfers() = 0;
  /// Runs function `index` of the manifest. Failures are recorded in the
  /// context, or the next wait throws them.
  virtual void run(ingot_context &context, int32_t index,
                   ingot_step_fn function) = 0;
  /// Calls `body` with every index below `count`, in the threads that functions
  /// run in if that is the host; `body` must not throw.
  virtual void forEach(int64_t count,
                       const std::function<void(int64_t)> &body) const {
    for (int64_t i = 0; i < count; ++i)
      body(i);
  }
  /// The threads that functions run in, and the cores that they may use;
  /// {0, 1} if that is not the host.
  struct Parallelism {
    int64_t threads = 0, cores = 1;
  };
  virtual Parallelism getParallelism() const { return {}; }
  /// Opens a range of the calling thread, and closes the one that was opened
  /// last, for tools that watch the device's programs. Ranges nest.
  virtual void openRange(const char *) {}
  virtual void closeRange() {}
  /// Completes the all-gathers that functions deferred, so that the block of
  /// states has the values of all ranks. All ranks call it at the same point.
  /// Throws failure.
  virtual void completeState() {}
};

/// Names what the host does for the lifetime of this object (openRange).
class DeviceRange {
public:
  DeviceRange(Device &device, const char *name) : device(device) {
    device.openRange(name);
  }
  ~DeviceRange() { device.closeRange(); }
  DeviceRange(const DeviceRange &) = delete;
  DeviceRange &operator=(const DeviceRange &) = delete;

private:
  Device &device;
};

/// Whether the machine has what a module with that manifest was compiled for,
/// as far as this can be told before the device is open.
bool canRun(const Manifest &manifest);

/// Opens the device of one of `ranks` ranks: checks that the machine has what
/// the module was compiled for, and allocates the blocks. Throws failure.
std::unique_ptr<Device> openDevice(const ingot_module_t &module,
                                   const Manifest &manifest, int64_t ranks = 1);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_DEVICE_H
