// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The running trainer as compiled code sees it: an opaque handle through which
// entry points find the profile, the caches of library primitives, and a place
// to record a failure.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CORE_CONTEXT_H
#define INGOT_RUNTIME_CORE_CONTEXT_H

#include "runtime/abi/Shard.h"
#include "runtime/core/Error.h"
#include "runtime/core/Memory.h"

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
};

namespace ingot::runtime {
class Communicator;
} // namespace ingot::runtime

/// Is told of every kernel and library call that has ended.
struct ingot_observer {
  virtual ~ingot_observer() = default;
  /// Indices into the manifest, as in ingot_event.
  virtual void called(int32_t function, int64_t kernel) = 0;
};

namespace ingot::runtime {
class Device;
} // namespace ingot::runtime

struct ingot_context {
  /// What a library keeps for one descriptor between steps.
  struct Cached {
    virtual ~Cached() = default;
  };

  /// Records the first failure; what follows in the step is skipped.
  void fail(std::string problem) {
    if (!failed) {
      failed = true;
      message = std::move(problem);
    }
  }

  /// The same, of what already says what to do about it.
  void fail(ingot::runtime::Error problem) {
    if (!failed)
      error = std::move(problem);
    fail(std::string(error->what()));
  }

  /// The kept object for `descriptor`, made by `make` on first use. `kind`
  /// tells uses of one descriptor apart.
  template <typename T, typename Make>
  T &getCached(const void *descriptor, int kind, Make make) {
    std::unique_ptr<Cached> &entry = cache[{descriptor, kind}];
    if (!entry)
      entry = make();
    return static_cast<T &>(*entry);
  }

  /// Memory for the duration of one call: `planned`, of `plannedBytes`, where
  /// that is enough, else a block grown to the largest ever asked for.
  char *getScratch(size_t bytes, void *planned, int64_t plannedBytes) {
    if (planned && bytes <= static_cast<size_t>(plannedBytes))
      return static_cast<char *>(planned);
    if (scratch.getSize() < bytes)
      scratch = ingot::runtime::Block(bytes, "library scratch memory");
    return scratch.getData();
  }
  /// Bytes of scratch that were not planned.
  size_t getUnplannedBytes() const { return scratch.getSize(); }

  /// What the user should know of how the step runs, though it is right.
  std::vector<std::string> notes;

  bool failed = false;
  std::string message;
  std::optional<ingot::runtime::Error> error;
  /// Where the step runs.
  ingot::runtime::Device *device = nullptr;

  /// Profiles hold this many events at most: a trace that viewers can load.
  static constexpr size_t maxEvents = size_t(1) << 21;
  bool profiling = false;
  int32_t function = 0;
  std::vector<ingot_event> events;
  /// Null when nobody watches.
  ingot_observer *observer = nullptr;
  /// Null for a rank alone.
  ingot::runtime::Communicator *ranks = nullptr;
  int64_t rank = 0, rankCount = 1;
  /// For ingot_shards.
  std::vector<char *> shards;

private:
  std::map<std::pair<const void *, int>, std::unique_ptr<Cached>> cache;
  ingot::runtime::Block scratch;
};

namespace ingot::runtime {

/// Of what a descriptor says, the elements that this rank has; all `elements`
/// of a tensor that is not in shards; ranks, of which there are INGOT_RANKS.
template <typename Desc>
ElementRange getElements(const ingot_context *context, const Desc *desc,
                         int64_t elements) {
  if (desc->shard_of == 0)
    return {0, elements == INGOT_RANKS ? context->rankCount : elements};
  return getShard(elements, desc->shard_first, desc->shard_of, context->rank,
                  context->rankCount);
}

/// One entry point: timed when the run is profiled, looked at when watched.
class ProfileScope {
public:
  ProfileScope(ingot_context *context, int64_t kernel)
      : context(context), kernel(kernel) {
    if (context->profiling)
      begin = std::chrono::steady_clock::now();
  }
  ~ProfileScope() {
    if (context->profiling && context->events.size() < context->maxEvents)
      context->events.push_back(
          {context->function, kernel, begin, std::chrono::steady_clock::now()});
    if (context->observer)
      context->observer->called(context->function, kernel);
  }

private:
  ingot_context *context;
  int64_t kernel;
  std::chrono::steady_clock::time_point begin;
};

/// Runs `body`, turning exceptions into a failure recorded in the context.
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
