// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/profile/ActivityTimes.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

using namespace ingot::runtime;

/// The kinds of records that show what ran on the GPU.
static constexpr CUpti_ActivityKind kKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET};

/// The library passes no pointer of ours to what it calls for buffers.
static ActivityTimes *watching = nullptr;

ActivityTimes::ActivityTimes(int driver)
    : library(Library::ofToolkit("libcupti", driver)) {
#define INGOT_LOAD(name) library.load(name, #name);
  INGOT_CUPTI_FUNCTIONS(INGOT_LOAD)
#undef INGOT_LOAD
  // A second tool, such as Nsight Systems around this run, is refused.
  check(cuptiSubscribe(&subscriber, callBack, this), "watching the run");
  watching = this;
  try {
    check(cuptiActivityRegisterCallbacks(requestBuffer, completeBuffer),
          "watching the run");
    for (CUpti_CallbackId what : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                  CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
      check(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, what),
            "watching graphs");
    // Libraries launch through the runtime, others through the driver.
    for (CUpti_CallbackDomain domain :
         {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API})
      check(cuptiEnableDomain(1, subscriber, domain), "watching launches");
    for (CUpti_ActivityKind kind : kKinds)
      check(cuptiActivityEnable(kind), "watching kernels");
  } catch (const Error &) {
    stop();
    throw;
  }
}

ActivityTimes::~ActivityTimes() { stop(); }

void ActivityTimes::stop() {
  for (CUpti_ActivityKind kind : kKinds)
    (void)cuptiActivityDisable(kind);
  (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  (void)cuptiUnsubscribe(subscriber);
  watching = nullptr;
}

std::string ActivityTimes::describe() const {
  return "times of kernels in recorded steps, by " + library.getName();
}

void ActivityTimes::check(CUptiResult result, const char *action) const {
  const char *text = "unknown error";
  if (result == CUPTI_SUCCESS)
    return;
  (void)cuptiGetResultString(result, &text);
  throw failure("CUPTI", std::string(action) + ": " + text,
                "leave out --profile, or end other tools that watch this run");
}

void CUPTIAPI ActivityTimes::requestBuffer(uint8_t **buffer, size_t *bytes,
                                           size_t *records) {
  constexpr size_t size = size_t(1) << 22;
  *buffer = static_cast<uint8_t *>(std::aligned_alloc(8, size));
  *bytes = *buffer ? size : 0;
  // As many as there is room for.
  *records = 0;
}

void CUPTIAPI ActivityTimes::completeBuffer(CUcontext, uint32_t,
                                            uint8_t *buffer, size_t,
                                            size_t validBytes) {
  if (watching && buffer)
    watching->take(buffer, validBytes);
  std::free(buffer);
}

// Later versions of the library append fields to these records.
void ActivityTimes::take(uint8_t *buffer, size_t bytes) {
  std::lock_guard lock(mutex);
  CUpti_Activity *record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) {
    auto add = [&](const auto &ran, const char *name) {
      // Without a time where the library had no room for it.
      if (ran.start != 0 && ran.end >= ran.start)
        activities.push_back(
            {ran.graphNodeId, ran.correlationId, ran.start, ran.end, name});
    };
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto &kernel = *reinterpret_cast<CUpti_ActivityKernel10 *>(record);
      add(kernel, kernel.name);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      add(*reinterpret_cast<CUpti_ActivityMemcpy6 *>(record), "memcpy");
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      add(*reinterpret_cast<CUpti_ActivityMemset4 *>(record), "memset");
    }
  }
}

uint64_t ActivityTimes::getId(CUgraphNode node) const {
  uint64_t id = 0;
  (void)cuptiGetGraphNodeId(node, &id);
  return id;
}

void CUPTIAPI ActivityTimes::callBack(void *self, CUpti_CallbackDomain domain,
                                      CUpti_CallbackId what, const void *data) {
  static_cast<ActivityTimes *>(self)->notice(domain, what, data);
}

void ActivityTimes::notice(CUpti_CallbackDomain domain, CUpti_CallbackId what,
                           const void *data) {
  std::lock_guard lock(mutex);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto &resource = *static_cast<const CUpti_ResourceData *>(data);
    const auto &graph =
        *static_cast<const CUpti_GraphData *>(resource.resourceDescriptor);
    if (what == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
      if (current)
        nodes[getId(graph.node)] = *current;
      return;
    }
    // What is launched is a copy of what was recorded.
    auto original = nodes.find(getId(graph.originalNode));
    if (original != nodes.end()) {
      Call call = original->second;
      nodes[getId(graph.node)] = call;
    }
    return;
  }
  const auto &call = *static_cast<const CUpti_CallbackData *>(data);
  if (current && call.callbackSite == CUPTI_API_ENTER)
    launches[call.correlationId] = *current;
}

void ActivityTimes::begin(int64_t kernel, int32_t queue) {
  std::lock_guard lock(mutex);
  current = {calls++, kernel, queue};
}

void ActivityTimes::end() {
  std::lock_guard lock(mutex);
  current.reset();
}

const ActivityTimes::Call *
ActivityTimes::findCall(const Activity &activity) const {
  if (activity.node != 0) {
    auto found = nodes.find(activity.node);
    return found == nodes.end() ? nullptr : &found->second;
  }
  auto found = launches.find(activity.launch);
  return found == launches.end() ? nullptr : &found->second;
}

bool ActivityTimes::collect(ingot_context &context) {
  using namespace std::chrono;
  check(cuptiActivityFlushAll(0), "reading what ran");
  uint64_t timestamp = 0;
  check(cuptiGetTimestamp(&timestamp), "reading a clock");
  auto now = steady_clock::now();
  std::lock_guard lock(mutex);
  /// A call, from the beginning of its first activity to the end of its last.
  struct Span {
    Call call;
    uint64_t begin, end, longest;
    const char *name;
  };
  std::map<int64_t, Span> spans;
  for (const Activity &activity : activities) {
    const Call *call = findCall(activity);
    if (!call)
      continue;
    uint64_t time = activity.end - activity.begin;
    auto [found, isNew] = spans.try_emplace(
        call->number,
        Span{*call, activity.begin, activity.end, time, activity.name});
    Span &span = found->second;
    span.begin = std::min(span.begin, activity.begin);
    span.end = std::max(span.end, activity.end);
    if (time > span.longest) {
      span.longest = time;
      span.name = activity.name;
    }
  }
  bool isComplete = !context.profiling || !spans.empty() || calls == 0;
  activities.clear();
  launches.clear();
  if (!context.profiling)
    return isComplete;
  // The two clocks count nanoseconds from different instants.
  auto toTime = [&](uint64_t time) {
    return now - duration_cast<steady_clock::duration>(
                     nanoseconds(static_cast<int64_t>(timestamp - time)));
  };
  for (const auto &[number, span] : spans) {
    if (context.events.size() >= context.kMaxEvents)
      break;
    auto [name, isNew] = names.try_emplace(
        span.name, static_cast<int32_t>(context.eventNames.size()));
    if (isNew)
      context.eventNames.emplace_back(span.name ? span.name : "");
    context.events.push_back({context.function, span.call.kernel,
                              toTime(span.begin), toTime(span.end),
                              span.call.queue, name->second});
  }
  return isComplete;
}
