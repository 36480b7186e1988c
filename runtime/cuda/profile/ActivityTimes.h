// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Times of calls by CUPTI, which records when each kernel, copy and clear ran,
// those of graphs as well. A kernel belongs to the call in which it was
// launched, or in which the node of the graph that it is of was recorded.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_RUNTIME_CUDA_PROFILE_ACTIVITYTIMES_H
#define INGOT_RUNTIME_CUDA_PROFILE_ACTIVITYTIMES_H

#include "runtime/cuda/driver/Library.h"
#include "runtime/cuda/profile/CallTimes.h"

#include <cupti.h>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#define INGOT_CUPTI_FUNCTIONS(X)                                               \
  X(cuptiGetResultString)                                                      \
  X(cuptiGetTimestamp)                                                         \
  X(cuptiGetGraphNodeId)                                                       \
  X(cuptiSubscribe)                                                            \
  X(cuptiUnsubscribe)                                                          \
  X(cuptiEnableCallback)                                                       \
  X(cuptiEnableDomain)                                                         \
  X(cuptiActivityRegisterCallbacks)                                            \
  X(cuptiActivityEnable)                                                       \
  X(cuptiActivityDisable)                                                      \
  X(cuptiActivityFlushAll)                                                     \
  X(cuptiActivityGetNextRecord)

namespace ingot::runtime {

class ActivityTimes : public CallTimes {
public:
  /// Loads the library for a driver of this major version, and watches from now
  /// on. There is one such object at a time. Throws failure.
  explicit ActivityTimes(int driver);
  ~ActivityTimes() override;

  bool seesGraphs() const override { return true; }
  std::string describe() const override;
  void begin(int64_t kernel, int32_t queue) override;
  void end() override;
  bool collect(ingot_context &context) override;

private:
  /// One call of an entry point.
  struct Call {
    int64_t number, kernel;
    int32_t queue;
  };
  /// A piece of work that ran on the GPU: of a node of a graph, or 0, and of a
  /// call of the API.
  struct Activity {
    uint64_t node;
    uint32_t launch;
    uint64_t begin, end;
    const char *name;
  };

  void check(CUptiResult result, const char *action) const;
  void stop();
  /// Takes over the records of a buffer.
  void take(uint8_t *buffer, size_t bytes);
  void notice(CUpti_CallbackDomain domain, CUpti_CallbackId what,
              const void *data);
  uint64_t getId(CUgraphNode node) const;
  const Call *findCall(const Activity &activity) const;

  static void CUPTIAPI requestBuffer(uint8_t **buffer, size_t *bytes,
                                     size_t *records);
  static void CUPTIAPI completeBuffer(CUcontext, uint32_t, uint8_t *buffer,
                                      size_t bytes, size_t validBytes);
  static void CUPTIAPI callBack(void *self, CUpti_CallbackDomain domain,
                                CUpti_CallbackId what, const void *data);

  Library library;
#define INGOT_DECLARE(name) decltype(::name) *name = nullptr;
  INGOT_CUPTI_FUNCTIONS(INGOT_DECLARE)
#undef INGOT_DECLARE
  CUpti_SubscriberHandle subscriber = nullptr;

  /// CUPTI has threads of its own.
  mutable std::mutex mutex;
  /// The call that is under way.
  std::optional<Call> current;
  int64_t calls = 0;
  std::unordered_map<uint64_t, Call> nodes;
  /// The calls of the run that is in flight, by what ran in it.
  std::unordered_map<uint32_t, Call> launches;
  std::vector<Activity> activities;
  /// The functions of the libraries that ran, by their names.
  std::unordered_map<const char *, int32_t> names;
};

} // namespace ingot::runtime

#endif // INGOT_RUNTIME_CUDA_PROFILE_ACTIVITYTIMES_H
