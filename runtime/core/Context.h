// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The running trainer. To compiled code it is an opaque handle; through it
// entry points reach the profile, the caches of library objects, and a place to
// record a failure.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_CONTEXT_H
#define INGOT_RUNTIME_CORE_CONTEXT_H

#include "runtime/abi/Shard.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"
#include "runtime/core/TickClock.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// One run of a kernel or library call, for profiles.
struct ingot_event {
  /// Index into the manifest's functions, and into that function's kernels; -1
  /// for the whole function.
  int32_t function;
  int64_t kernel;
  std::chrono::steady_clock::time_point begin, end;
  /// Where a device has several: 0 for the one of the step, 1 for what runs
  /// concurrently with it, 2 for exchanges.
  int32_t queue = 0;
  /// The device's name of the function that took most of the time, as an index
  /// into the context's eventNames; -1 if it does not say.
  int32_t name = -1;
};

namespace ingot::runtime {
class Communicator;
} // namespace ingot::runtime

/// Receives a notification of every kernel and library call that has ended.
struct ingot_observer {
  virtual ~ingot_observer() = default;
  /// Takes indices into the manifest, as in ingot_event.
  virtual void called(int32_t function, int64_t kernel) = 0;
};

/// Is told of every kernel and library call before it begins, so that what it
/// is about to write can be read first.
struct ingot_gate {
  virtual ~ingot_gate() = default;
  /// Takes indices into the manifest, as in ingot_event.
  virtual void enter(int32_t function, int64_t kernel) = 0;
};

namespace ingot::runtime {
class Device;
} // namespace ingot::runtime

struct ingot_context {
  /// An object that a library keeps between steps for one descriptor.
  struct Cached {
    virtual ~Cached() = default;
  };

  /// Records the first failure. The rest of the step is skipped.
  void fail(std::string problem) {
    if (!failed) {
      failed = true;
      message = std::move(problem);
    }
  }

  /// Records a failure that has a hint already.
  void fail(ingot::runtime::Error problem) {
    if (!failed)
      error = std::move(problem);
    fail(std::string(error->what()));
  }

  /// Returns the cached object for `descriptor`, which `make` creates on first
  /// use. `kind` distinguishes the uses of one descriptor.
  template <typename T, typename Make>
  T &getCached(const void *descriptor, int kind, Make make) {
    std::unique_ptr<Cached> &entry = cache[{descriptor, kind}];
    if (!entry)
      entry = make();
    return static_cast<T &>(*entry);
  }

  /// Returns memory for the duration of one call: `planned`, which has
  /// `plannedBytes`, if that is enough, else a block that grows to the largest
  /// request.
  char *getScratch(size_t bytes, void *planned, int64_t plannedBytes) {
    if (planned && bytes <= static_cast<size_t>(plannedBytes))
      return static_cast<char *>(planned);
    if (scratch.getSize() < bytes)
      scratch = ingot::runtime::Block(bytes, "library scratch memory");
    return scratch.getData();
  }
  /// Bytes of scratch memory beyond the plan.
  size_t getUnplannedBytes() const { return scratch.getSize(); }

  /// Notes to the user on how the step runs; results are right all the same.
  std::vector<std::string> notes;

  bool failed = false;
  std::string message;
  std::optional<ingot::runtime::Error> error;
  /// The device that the step runs on.
  ingot::runtime::Device *device = nullptr;

  /// The most events of a profile, so that viewers can load the trace.
  static constexpr size_t kMaxEvents = size_t(1) << 21;
  bool profiling = false;
  /// The clock of events.
  ingot::runtime::TickClock clock;
  int32_t function = 0;
  std::vector<ingot_event> events;
  /// The names that events refer to.
  std::vector<std::string> eventNames;
  /// Receives notifications; may be null.
  ingot_observer *observer = nullptr;
  /// Is told of kernels; may be null.
  ingot_gate *gate = nullptr;
  /// Null in a run with one rank.
  ingot::runtime::Communicator *ranks = nullptr;
  int64_t rank = 0, rankCount = 1;
  /// The table that ingot_shards returns.
  std::vector<char *> shards;

private:
  std::map<std::pair<const void *, int>, std::unique_ptr<Cached>> cache;
  ingot::runtime::Block scratch;
};

namespace ingot::runtime {

/// The element range of this rank's shard of a tensor with `elements`; all of
/// them if the descriptor names no shard. INGOT_RANKS stands for the number of
/// ranks.
template <typename Desc>
ElementRange getElements(const ingot_context *context, const Desc *desc,
                         int64_t elements) {
  if (desc->shard_of == 0)
    return {0, elements == INGOT_RANKS ? context->rankCount : elements};
  return getShard(elements, desc->shard_first, desc->shard_of, context->rank,
                  context->rankCount);
}

/// The execution of one entry point, which profiles time, and the gate and the
/// observer are notified of.
class ProfileScope {
public:
  ProfileScope(ingot_context *context, int64_t kernel)
      : context(context), kernel(kernel) {
    if (context->gate)
      context->gate->enter(context->function, kernel);
    if (context->profiling)
      begin = context->clock.now();
  }
  ~ProfileScope() {
    if (context->profiling && context->events.size() < context->kMaxEvents)
      context->events.push_back(
          {context->function, kernel, begin, context->clock.now()});
    if (context->observer)
      context->observer->called(context->function, kernel);
  }

private:
  ingot_context *context;
  int64_t kernel;
  std::chrono::steady_clock::time_point begin;
};

/// Runs `body`, and records an exception as a failure in the context.
template <typename Body>
void guardLibraryCall(ingot_context *context, const char *name, Body body) {
  if (context->failed)
    return;
  try {
    body();
  } catch (const std::exception &error) {
    context->fail(std::string(name) + ": " + error.what());
  }
}

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CORE_CONTEXT_H
