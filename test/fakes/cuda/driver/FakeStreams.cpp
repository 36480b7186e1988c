// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Streams, events and graphs of the fake driver (Fakes.h).
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/driver/DriverState.h"
#include "test/fakes/cuda/driver/GraphAccesses.h"

#include <chrono>

using namespace fakes;

static double getMilliseconds() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static int getNumber(CUstream stream) {
  return find(stream, Kind::Stream)->number;
}

/// Returns the operations of a graph with one more at their end, which fails if
/// two of them access the same memory without an order.
static std::vector<Node> checkOrder(const std::vector<Node> &nodes) {
  auto accesses = std::make_shared<GraphAccesses>();
  std::vector<Node> checked;
  Node last;
  for (const Node &node : nodes) {
    size_t number = accesses->add(node.after);
    checked.push_back({node.after, [accesses, number, work = node.work] {
                         AccessLog *&log = getState().accesses;
                         log = &accesses->getLog(number);
                         struct Reset {
                           AccessLog *&log;
                           ~Reset() { log = nullptr; }
                         } reset{log};
                         return work();
                       }});
    last.after.push_back(number);
  }
  last.work = [accesses] {
    if (std::string conflict = accesses->findConflict(); !conflict.empty()) {
      record("violation", " cuGraphLaunch: %s", conflict.c_str());
      throw ptx::Fault(ptx::Fault::LaunchFailed, conflict);
    }
    return true;
  };
  checked.push_back(std::move(last));
  return checked;
}

extern "C" {

CUresult cuCtxGetStreamPriorityRange(int *lowest, int *highest) {
  fakes::Turn turn;
  *lowest = 0;
  *highest = -5;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned, int priority) {
  fakes::Turn turn;
  FAIL_IF_ASKED(" %d", priority);
  int lowest = 0, highest = 0;
  (void)cuCtxGetStreamPriorityRange(&lowest, &highest);
  // Lower numbers are higher priorities.
  REQUIRE(highest <= priority && priority <= lowest, CUDA_ERROR_INVALID_VALUE);
  *stream = make<CUstream>(Kind::Stream);
  find(*stream, Kind::Stream)->priority = priority;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  fakes::Turn turn;
  record(__func__);
  return destroy(stream, Kind::Stream);
}
CUresult cuStreamSynchronize(CUstream stream) {
  fakes::Turn turn;
  FAIL_IF_ASKED();
  DriverState &state = getState();
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(!getRecording().isUnderWay, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  state.order.waitFor(state.order.getMoment(getNumber(stream)));
  runSafely(
      [&] { state.executor.wait(state.executor.getTail(getNumber(stream))); });
  return state.failure;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  fakes::Turn turn;
  FAIL_IF_ASKED();
  DriverState &state = getState();
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(!getRecording().isUnderWay, CUDA_ERROR_ILLEGAL_STATE);
  getRecording().isUnderWay = true;
  getRecording().number = ++state.recordings;
  getRecording().order = Order();
  getRecording().last = Moment();
  getRecording().nodes.clear();
  getRecording().tails = {{getNumber(stream), {}}};
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  fakes::Turn turn;
  FAIL_IF_ASKED();
  DriverState &state = getState();
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(getRecording().isUnderWay, CUDA_ERROR_ILLEGAL_STATE);
  getRecording().isUnderWay = false;
  bool isJoined = getRecording()
                      .order.getMoment(getNumber(stream))
                      .includes(getRecording().last);
  REQUIRE(isJoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  *graph = make<CUgraph>(Kind::Graph);
  Object &made = *find(*graph, Kind::Graph);
  made.regions = std::exchange(getRecording().regions, {});
  made.held = std::exchange(getRecording().objects, {});
  made.nodes = std::exchange(getRecording().nodes, {});
  for (const auto &[handle, object] : state.objects)
    if (object->kind == Kind::Stream &&
        getRecording().tails.count(object->number))
      made.priorities.insert(object->priority);
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph,
                            unsigned long long flags) {
  fakes::Turn turn;
  FAIL_IF_ASKED(" flags=%llu", flags);
  Object *from = find(graph, Kind::Graph);
  REQUIRE(from, CUDA_ERROR_INVALID_HANDLE);
  // All nodes would have the priority of the stream that it is launched in.
  bool hasOnePriority = from->priorities.size() <= 1;
  REQUIRE(hasOnePriority ||
              (flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0,
          CUDA_ERROR_INVALID_VALUE);
  *executable = make<CUgraphExec>(Kind::Executable);
  Object &made = *find(*executable, Kind::Executable);
  made.regions = from->regions;
  made.held = from->held;
  made.nodes = from->nodes;
  made.priorities = from->priorities;
  for (Node &node : made.nodes)
    if (const DriverTool *tool = getState().tool) {
      uint64_t original = std::exchange(node.id, ++getState().nodesMade);
      tool->cloned(node.id, original);
    }
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  fakes::Turn turn;
  REQUIRE(find(executable, Kind::Executable), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" stream=%d", getNumber(stream));
  Object &object = *find(executable, Kind::Executable);
  bool isOrdered = put(stream, object.regions);
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  // The memory of an operation is the same in every launch.
  bool isFirst = object.launches++ == 0;
  std::vector<Node> nodes = object.nodes;
  uint32_t call = noteCall();
  for (Node &node : nodes)
    node.work = watch(std::move(node.work), node.name, call, node.id);
  if (isComputing())
    getState().executor.submit(getNumber(stream),
                               isFirst ? checkOrder(nodes) : nodes);
  else if (getState().tool)
    for (const Node &node : nodes)
      (void)node.work();
  static int launches = 0;
  if (++launches == getSetting("INGOT_FAKE_NAN", 0)) {
    auto spoil = [regions = object.regions] {
      for (const Region &region : regions)
        std::memset(reinterpret_cast<void *>(region.begin), 0xff, region.bytes);
      return true;
    };
    if (isComputing())
      getState().executor.submit(getNumber(stream), spoil);
    else
      (void)spoil();
  }
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  fakes::Turn turn;
  return destroy(graph, Kind::Graph);
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  fakes::Turn turn;
  return destroy(executable, Kind::Executable);
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  *event = make<CUevent>(Kind::Event);
  find(*event, Kind::Event)->isTimed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  fakes::Turn turn;
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  DriverState &state = getState();
  Object &object = *find(event, Kind::Event);
  if (record(__func__, " %d", object.number))
    return CUDA_ERROR_UNKNOWN;
  int number = getNumber(stream);
  object.recording = getRecording().isUnderWay ? getRecording().number : 0;
  object.moment =
      (getRecording().isUnderWay ? getRecording().order : state.order)
          .getMoment(number);
  object.queries = 0;
  if (getRecording().isUnderWay) {
    object.work = getRecording().tails[number];
    return CUDA_SUCCESS;
  }
  if (object.isTimed) {
    auto place = object.milliseconds = std::make_shared<double>(0);
    if (isComputing())
      state.executor.submit(number, [place] {
        *place = getMilliseconds();
        return true;
      });
  }
  object.work = state.executor.getTail(number);
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  fakes::Turn turn;
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  Object &object = *find(event, Kind::Event);
  FAIL_IF_ASKED(" %d", object.number);
  DriverState &state = getState();
  REQUIRE(!getRecording().isUnderWay, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  state.order.waitFor(object.moment);
  runSafely([&] { state.executor.wait(object.work); });
  return state.failure;
}
CUresult cuEventQuery(CUevent event) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  DriverState &state = getState();
  Object &object = *find(event, Kind::Event);
  if (state.failure != CUDA_SUCCESS)
    return state.failure;
  if (isComputing()) {
    // Who asks again and again waits.
    runSafely([&] { (void)state.executor.runOne(); });
    if (state.failure != CUDA_SUCCESS)
      return state.failure;
    if (!state.executor.isDone(object.work))
      return CUDA_ERROR_NOT_READY;
  } else if (!state.order.isPast(object.moment) && object.queries++ < 2) {
    return CUDA_ERROR_NOT_READY;
  }
  state.order.waitFor(object.moment);
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  fakes::Turn turn;
  for (CUevent event : {from, to}) {
    REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(getState().order.isPast(find(event, Kind::Event)->moment),
            CUDA_ERROR_NOT_READY);
  }
  if (record(__func__))
    return CUDA_ERROR_UNKNOWN;
  // One after the other, again and again.
  static size_t reads = 0;
  const char *times = std::getenv("INGOT_FAKE_TIMES");
  size_t count = times ? std::strlen(times) : 0;
  *milliseconds = 0;
  if (count != 0)
    *milliseconds = static_cast<float>(times[reads++ % count] - '0');
  else if (isComputing())
    *milliseconds = static_cast<float>(*find(to, Kind::Event)->milliseconds -
                                       *find(from, Kind::Event)->milliseconds);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  fakes::Turn turn;
  return destroy(event, Kind::Event);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  fakes::Turn turn;
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  DriverState &state = getState();
  const Object &object = *find(event, Kind::Event);
  if (record(__func__, " %d", object.number))
    return CUDA_ERROR_UNKNOWN;
  // A recording and what is outside do not wait for each other.
  REQUIRE(object.recording ==
              (getRecording().isUnderWay ? getRecording().number : 0),
          CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  int number = getNumber(stream);
  (getRecording().isUnderWay ? getRecording().order : state.order)
      .holdBack(number, object.moment);
  if (!getRecording().isUnderWay) {
    state.executor.holdBack(number, object.work);
    return CUDA_SUCCESS;
  }
  putRecorded(stream);
  After &tail = getRecording().tails[number];
  tail.insert(tail.end(), object.work.begin(), object.work.end());
  return CUDA_SUCCESS;
}

} // extern "C"
