// SPDX-License-Identifier: Apache-2.0

#include "test/fakes/cuda/driver/DriverState.h"

using namespace fakes;

DriverState &fakes::getState() {
  // It outlives everything that its user destroys at exit.
  static auto *state = new DriverState;
  return *state;
}

Recording &fakes::getRecording() {
  return getState().threads[std::this_thread::get_id()];
}

bool fakes::isComputing() {
  static const bool is = getSetting("INGOT_FAKE_COMPUTE", 0) != 0;
  return is;
}

Object *fakes::find(const void *handle, Kind kind) {
  auto &objects = getState().objects;
  auto found = objects.find(handle);
  return found != objects.end() && found->second->kind == kind ? found->second
                                                               : nullptr;
}

CUresult fakes::destroy(const void *handle, Kind kind) {
  Object *object = find(handle, kind);
  if (!object)
    return CUDA_ERROR_INVALID_HANDLE;
  getState().objects.erase(handle);
  delete object;
  return CUDA_SUCCESS;
}

bool fakes::isOnDevice(CUdeviceptr place, size_t bytes) {
  auto &blocks = getState().blocks;
  auto after = blocks.upper_bound(place);
  if (after == blocks.begin())
    return false;
  auto [begin, size] = *--after;
  return place - begin <= size && bytes <= size - (place - begin);
}

void fakes::putRecorded(CUstream stream) {
  DriverState &state = getState();
  int number = find(stream, Kind::Stream)->number;
  (void)getRecording().order.put(number, {});
  getRecording().last.include(getRecording().order.getMoment(number));
}

bool fakes::put(CUstream stream, const std::vector<Region> &regions) {
  DriverState &state = getState();
  if (!getRecording().isUnderWay)
    return state.order.put(find(stream, Kind::Stream)->number, regions);
  putRecorded(stream);
  for (const Region &region : regions)
    if (std::find(getRecording().regions.begin(), getRecording().regions.end(),
                  region) == getRecording().regions.end())
      getRecording().regions.push_back(region);
  return true;
}

uint32_t fakes::noteCall() {
  DriverState &state = getState();
  if (state.tool)
    state.tool->called(++state.calls);
  return state.calls;
}

Work fakes::watch(Work work, const std::string &name, uint32_t call,
                  uint64_t node) {
  const DriverTool *tool = getState().tool;
  if (!tool)
    return work;
  return [=, work = std::move(work)] {
    uint64_t begin = getTimestamp();
    if (isComputing() && !work())
      return false;
    tool->ran(name, call, node, begin, getTimestamp());
    return true;
  };
}

void fakes::submit(CUstream stream, Work work, const std::string &name) {
  DriverState &state = getState();
  int number = find(stream, Kind::Stream)->number;
  if (!getRecording().isUnderWay) {
    work = watch(std::move(work), name, noteCall(), /*node=*/0);
    if (isComputing())
      state.executor.submit(number, std::move(work));
    else if (state.tool)
      (void)work();
    return;
  }
  if (!getRecording().tails.count(number))
    record(
        "violation",
        " an operation runs concurrently with the recording that is under way");
  After &tail = getRecording().tails[number];
  (void)noteCall();
  getRecording().nodes.push_back(
      {std::exchange(tail, {}), std::move(work), name, ++state.nodesMade});
  if (state.tool)
    state.tool->created(state.nodesMade);
  tail = {getRecording().nodes.size() - 1};
}

void fakes::noteAccess(const char *name, CUdeviceptr place, size_t bytes,
                       bool isWritten) {
  AccessLog *log = getState().accesses;
  if (!log)
    return;
  log->name = name;
  log->add(place, bytes, isWritten);
}

void fakes::fail(const ptx::Fault &fault) {
  DriverState &state = getState();
  state.failure =
      fault.kind == ptx::Fault::Misaligned       ? CUDA_ERROR_MISALIGNED_ADDRESS
      : fault.kind == ptx::Fault::IllegalAddress ? CUDA_ERROR_ILLEGAL_ADDRESS
                                                 : CUDA_ERROR_LAUNCH_FAILED;
  state.executor.clear();
  record("fault", " %s", fault.what());
  std::fprintf(stderr, "software GPU: %s\n", fault.what());
}

extern "C" {

std::recursive_mutex *ingotFakeGetMutex() {
  static auto *mutex = new std::recursive_mutex;
  return mutex;
}

void ingotFakeHold(const void *object) {
  fakes::Turn turn;
  if (getRecording().isUnderWay)
    getRecording().objects.insert(object);
}
size_t ingotFakeCountHolders(const void *object) {
  fakes::Turn turn;
  size_t count = 0;
  for (const auto &[handle, graph] : getState().objects)
    count += graph->held.count(object);
  return count;
}
bool ingotFakeIsComputing() { return isComputing(); }
bool ingotFakeIsCapturing() {
  fakes::Turn turn;
  return getRecording().isUnderWay;
}
void ingotFakeSubmit(void *stream, const Work *work) {
  fakes::Turn turn;
  submit(static_cast<CUstream>(stream), *work, "library");
}
void ingotFakeSetTool(const DriverTool *tool) { getState().tool = tool; }
void ingotFakeNoteAccess(const char *name, const void *place, size_t bytes,
                         bool isWritten) {
  fakes::Turn turn;
  noteAccess(name, reinterpret_cast<CUdeviceptr>(place), bytes, isWritten);
}
bool ingotFakeIsOnDevice(const void *place, size_t bytes) {
  fakes::Turn turn;
  return isOnDevice(reinterpret_cast<CUdeviceptr>(place), bytes);
}

} // extern "C"
