// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libcupti.so.13 (Fakes.h): tells its subscriber of calls of the API and
// of nodes of graphs, and records when what they enqueued has run.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/Fakes.h"

#include <cupti.h>
#include <deque>
#include <set>
#include <vector>

using namespace fakes;

namespace {
struct Ran {
  std::string name;
  uint32_t call;
  uint64_t node, begin, end;
};

struct Watch {
  CUpti_CallbackFunc callback = nullptr;
  void *user = nullptr;
  std::set<CUpti_CallbackId> ofResources;
  bool isToldOfCalls = false;
  std::set<CUpti_ActivityKind> kinds;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::vector<Ran> ran;
  /// Names outlive the records that point to them.
  std::deque<std::string> names;
};

Watch &getWatch() {
  static auto *watch = new Watch;
  return *watch;
}

CUgraphNode toNode(uint64_t id) { return reinterpret_cast<CUgraphNode>(id); }

void tellOfNode(CUpti_CallbackId what, uint64_t node, uint64_t original) {
  Watch &watch = getWatch();
  if (!watch.ofResources.count(what))
    return;
  CUpti_GraphData graph = {};
  graph.node = toNode(node);
  graph.originalNode = toNode(original);
  graph.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
  CUpti_ResourceData data = {};
  data.resourceDescriptor = &graph;
  watch.callback(watch.user, CUPTI_CB_DOMAIN_RESOURCE, what, &data);
}

const DriverTool tool = {
    [](uint32_t call) {
      Watch &watch = getWatch();
      if (!watch.isToldOfCalls)
        return;
      for (CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
        CUpti_CallbackData data = {};
        data.callbackSite = site;
        data.correlationId = call;
        watch.callback(watch.user, CUPTI_CB_DOMAIN_DRIVER_API, 0, &data);
      }
    },
    [](uint64_t node) {
      tellOfNode(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, 0);
    },
    [](uint64_t node, uint64_t original) {
      tellOfNode(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node, original);
    },
    [](const std::string &name, uint32_t call, uint64_t node, uint64_t begin,
       uint64_t end) {
      getWatch().ran.push_back({name, call, node, begin, end});
    }};

CUpti_ActivityKind getKind(const Ran &ran) {
  return ran.name == "memcpy"   ? CUPTI_ACTIVITY_KIND_MEMCPY
         : ran.name == "memset" ? CUPTI_ACTIVITY_KIND_MEMSET
                                : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

size_t getSize(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_MEMCPY   ? sizeof(CUpti_ActivityMemcpy6)
         : kind == CUPTI_ACTIVITY_KIND_MEMSET ? sizeof(CUpti_ActivityMemset4)
                                              : sizeof(CUpti_ActivityKernel10);
}

/// Writes a record as the library does.
void fill(void *place, const Ran &ran) {
  auto set = [&](auto &record) {
    record.kind = getKind(ran);
    record.start = ran.begin;
    record.end = ran.end;
    record.correlationId = ran.call;
    record.graphNodeId = ran.node;
  };
  std::memset(place, 0, getSize(getKind(ran)));
  if (getKind(ran) == CUPTI_ACTIVITY_KIND_MEMCPY)
    return set(*static_cast<CUpti_ActivityMemcpy6 *>(place));
  if (getKind(ran) == CUPTI_ACTIVITY_KIND_MEMSET)
    return set(*static_cast<CUpti_ActivityMemset4 *>(place));
  auto &kernel = *static_cast<CUpti_ActivityKernel10 *>(place);
  set(kernel);
  getWatch().names.push_back(ran.name);
  kernel.name = getWatch().names.back().c_str();
}
} // namespace

#define FAIL_IF_ASKED(...)                                                     \
  if (record(__func__ __VA_OPT__(, ) __VA_ARGS__))                             \
  return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
#define REQUIRE(condition, error)                                              \
  if (!(condition)) {                                                          \
    record("violation", " %s: %s", __func__, #condition);                      \
    return error;                                                              \
  }

extern "C" {

CUptiResult cuptiGetResultString(CUptiResult result, const char **text) {
  *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "as the test wants"
                                                        : "an error";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetVersion(uint32_t *version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetTimestamp(uint64_t *timestamp) {
  *timestamp = getTimestamp();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id) {
  *id = reinterpret_cast<uint64_t>(node);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
                           CUpti_CallbackFunc callback, void *user) {
  FAIL_IF_ASKED();
  Watch &watch = getWatch();
  REQUIRE(!watch.callback, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  watch.callback = callback;
  watch.user = user;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&watch);
  findInDriver<SetTool>("ingotFakeSetTool")(&tool);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  FAIL_IF_ASKED();
  REQUIRE(getWatch().callback, CUPTI_ERROR_INVALID_PARAMETER);
  findInDriver<SetTool>("ingotFakeSetTool")(nullptr);
  getWatch() = {};
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain domain,
                                CUpti_CallbackId what) {
  REQUIRE(enable == 1 && domain == CUPTI_CB_DOMAIN_RESOURCE,
          CUPTI_ERROR_INVALID_PARAMETER);
  getWatch().ofResources.insert(what);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle,
                              CUpti_CallbackDomain domain) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
    getWatch().isToldOfCalls = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete) {
  getWatch().request = request;
  getWatch().complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_ASKED(" %d", static_cast<int>(kind));
  REQUIRE(getWatch().request, CUPTI_ERROR_INVALID_OPERATION);
  getWatch().kinds.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  getWatch().kinds.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(uint32_t) {
  FAIL_IF_ASKED();
  // A library that is there and sees nothing.
  bool isBlind = getSetting("INGOT_FAKE_BLIND", 0) != 0;
  Watch &watch = getWatch();
  size_t next = 0;
  while (next < watch.ran.size()) {
    uint8_t *buffer = nullptr;
    size_t size = 0, most = 0, used = 0;
    watch.request(&buffer, &size, &most);
    REQUIRE(reinterpret_cast<uintptr_t>(buffer) % 8 == 0 && most == 0,
            CUPTI_ERROR_INVALID_PARAMETER);
    for (; next < watch.ran.size(); ++next) {
      const Ran &ran = watch.ran[next];
      size_t bytes = getSize(getKind(ran));
      if (used + bytes > size)
        break;
      if (isBlind || !watch.kinds.count(getKind(ran)))
        continue;
      fill(buffer + used, ran);
      used += bytes;
    }
    watch.complete(nullptr, 0, buffer, size, used);
  }
  watch.ran.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes,
                                       CUpti_Activity **record) {
  auto *next =
      *record ? reinterpret_cast<uint8_t *>(*record) + getSize((*record)->kind)
              : buffer;
  if (next >= buffer + bytes)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity *>(next);
  return CUPTI_SUCCESS;
}

} // extern "C"
