// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Where compiled functions run, with the two blocks of memory that they work
// on (Abi.h). A trainer is linked with one implementation: runtime/cpu, or
// runtime/cuda, which is loaded on demand. docs/design/device.md has the
// picture.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_DEVICE_H
#define INGOT_RUNTIME_CORE_DEVICE_H

#include "runtime/abi/Abi.h"
#include "runtime/core/Manifest.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ingot::runtime {

/// What a device with memory of its own does one thing after the other, as it
/// was asked for; queues run beside each other.
enum class Queue {
  /// Runs of functions, and copies of what they read and write.
  Runs,
  /// Copies of inputs from the host to the staging blocks.
  Inputs
};

/// Copies between the host and the blocks of such a device. All throw failure.
class Transfers {
public:
  virtual ~Transfers() = default;

  /// Memory of the host, as long as the device lives, from and to which copies
  /// go beside other work.
  virtual char *allocate(size_t bytes) = 0;
  /// The manifest's staging blocks, in the device's memory.
  virtual char *getStaging() const = 0;
  /// The host's memory stays as it is, or is not looked at, until a wait for a
  /// later mark.
  virtual void copyIn(Queue queue, char *to, const char *from,
                      size_t bytes) = 0;
  /// In the queue of runs, as the next.
  virtual void copyOut(char *to, const char *from, size_t bytes) = 0;
  virtual void copyWithin(char *to, const char *from, size_t bytes) = 0;

  /// Names a point in the order of a queue, which may be set again and again.
  /// One that was never set is in the past.
  using Mark = size_t;
  virtual Mark makeMark() = 0;
  /// After all that the queue was asked for so far.
  virtual void setMark(Mark mark, Queue queue) = 0;
  /// Waits until all before that point is done.
  virtual void wait(Mark mark) = 0;
  /// Has what the queue is asked for from now on wait for that, not the host.
  virtual void holdBack(Queue queue, Mark mark) = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// What it is, in a line for people.
  virtual std::string describe() const = 0;
  /// Addresses of the blocks, as functions take them; zeros at first.
  virtual char *getState() const = 0;
  virtual char *getArena() const = 0;
  /// Makes the block for the rank's shards of states and the messages of all
  /// ranks: zeros. Called once. Throws failure.
  virtual char *allocateShards(int64_t bytes) = 0;
  /// Tries out in the first runs of functions what is fastest, and keeps the
  /// choices in the file, or where users keep such things if `path` is empty.
  /// Called before the first run. False if there is nothing to choose.
  virtual bool tune(const std::string &) { return false; }
  /// How the host reaches the blocks; null where it uses those addresses.
  virtual Transfers *getTransfers() = 0;
  /// Runs function `index` of the manifest. Failures are in the context, or
  /// thrown by the next wait.
  virtual void run(ingot_context &context, int32_t index,
                   ingot_step_fn function) = 0;
  /// Ends what functions left for later ones to gather, so that the block of
  /// states has the values of all ranks. All ranks call it at the same point.
  /// Throws failure.
  virtual void completeState() {}
};

/// Called first, with the arguments of the program.
void prepareProcess(char *const *argv);

/// Checks that this machine has what the module was compiled for and allocates
/// the blocks. Throws failure.
std::unique_ptr<Device> openDevice(const ingot_module_t &module,
                                   const Manifest &manifest);

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_DEVICE_H
