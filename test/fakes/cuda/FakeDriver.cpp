// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libcuda.so.1 (Fakes.h). Memory of the GPU is the host's.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/CallOrder.h"
#include "test/fakes/cuda/Fakes.h"

#include <cuda.h>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <utility>
#include <vector>

using fakes::getSetting;
using fakes::Moment;
using fakes::record;
using fakes::Region;

namespace {
enum class Kind { Context, Stream, Event, Module, Graph, Executable };

struct Object {
  Kind kind;
  int number;
  /// Of modules: what they were loaded from.
  std::string_view image = {};
  std::set<std::string> functions = {};
  /// Of events: what comes before, and how often the host has asked since; the
  /// recording that it is part of, 0 outside.
  Moment moment = {};
  int queries = 0, recording = 0;
  /// Of graphs: what their kernels read and write, and other libraries' objects
  /// that they refer to.
  std::vector<Region> regions = {};
  std::set<const void *> held = {};
};

std::map<const void *, Object *> objects;
std::map<CUdeviceptr, size_t> blocks;
std::map<void *, size_t> hostBlocks;
size_t used = 0;
bool isCapturing = false;
/// Of the recording that is under way, or was last.
int recordings = 0;
std::vector<Region> captured;
std::set<const void *> capturedObjects;
fakes::Order order, recordedOrder;
/// Its last operation of each stream.
Moment recordedLast;

template <typename Handle> Handle make(Kind kind) {
  static int count = 0;
  auto *object = new Object{kind, ++count};
  objects[object] = object;
  return reinterpret_cast<Handle>(object);
}

/// Null unless it lives and is of that kind.
Object *find(const void *handle, Kind kind) {
  auto found = objects.find(handle);
  return found != objects.end() && found->second->kind == kind ? found->second
                                                               : nullptr;
}

CUresult destroy(const void *handle, Kind kind) {
  Object *object = find(handle, kind);
  if (!object)
    return CUDA_ERROR_INVALID_HANDLE;
  objects.erase(handle);
  delete object;
  return CUDA_SUCCESS;
}

bool isOnDevice(CUdeviceptr place, size_t bytes) {
  auto after = blocks.upper_bound(place);
  if (after == blocks.begin())
    return false;
  auto [begin, size] = *--after;
  return place - begin <= size && bytes <= size - (place - begin);
}

Region onDevice(CUdeviceptr place, size_t bytes, bool isWritten) {
  return {static_cast<uintptr_t>(place), bytes, isWritten};
}

/// Empty unless it is page-locked: copies of other memory are done when they
/// return.
Region onHost(const void *place, size_t bytes) {
  auto after = hostBlocks.upper_bound(const_cast<void *>(place));
  if (after == hostBlocks.begin())
    return {};
  auto [block, size] = *--after;
  auto begin = reinterpret_cast<uintptr_t>(place);
  if (begin - reinterpret_cast<uintptr_t>(block) >= size)
    return {};
  return {begin, bytes, /*isWritten=*/true, /*isHost=*/true};
}

/// Nothing is at this many bytes in front of a block: of a tensor in shards the
/// rank may have later elements only, so that the tensor starts there.
constexpr size_t gap = size_t(1) << 26;

CUdeviceptr allocate(size_t bytes) {
  void *place = mmap(nullptr, gap + bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED)
    return 0;
  char *block = static_cast<char *>(place) + gap;
  return mprotect(block, bytes, PROT_READ | PROT_WRITE) == 0
             ? reinterpret_cast<CUdeviceptr>(block)
             : 0;
}

void release(CUdeviceptr block, size_t bytes) {
  munmap(reinterpret_cast<char *>(block) - gap, gap + bytes);
}

/// The whole block that a kernel's tensor is in, of no bytes if there is none.
Region findBlock(CUdeviceptr place) {
  auto block = blocks.upper_bound(place);
  if (isOnDevice(place, 0))
    --block;
  else if (block == blocks.end() || block->first - place > gap)
    return {};
  return onDevice(block->first, block->second, /*isWritten=*/true);
}

/// Puts an operation without memory into the recording.
void putRecorded(CUstream stream) {
  int number = find(stream, Kind::Stream)->number;
  (void)recordedOrder.put(number, {});
  recordedLast.include(recordedOrder.getMoment(number));
}

/// Puts an operation into a stream, or into the recording.
bool put(CUstream stream, const std::vector<Region> &regions) {
  if (!isCapturing)
    return order.put(find(stream, Kind::Stream)->number, regions);
  putRecorded(stream);
  for (const Region &region : regions)
    if (std::find(captured.begin(), captured.end(), region) == captured.end())
      captured.push_back(region);
  return true;
}
} // namespace

#define FAIL_IF_ASKED(...)                                                     \
  if (record(__func__ __VA_OPT__(, ) __VA_ARGS__))                             \
  return CUDA_ERROR_UNKNOWN
#define REQUIRE(condition, error)                                              \
  if (!(condition)) {                                                          \
    record("violation", " %s: %s", __func__, #condition);                      \
    return error;                                                              \
  }

extern "C" {

void ingotFakeHold(const void *object) {
  if (isCapturing)
    capturedObjects.insert(object);
}
size_t ingotFakeCountHolders(const void *object) {
  size_t count = 0;
  for (const auto &[handle, graph] : objects)
    count += graph->held.count(object);
  return count;
}

CUresult cuInit(unsigned) {
  return record(__func__) ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) {
  *version = static_cast<int>(getSetting("INGOT_FAKE_VERSION", 13000));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected"
                                        : "as the test wants";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
  *count = static_cast<int>(getSetting("INGOT_FAKE_GPUS", 1));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int number) {
  record(__func__, " %d", number);
  *device = number;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  std::snprintf(name, length, "fake");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  int arch = static_cast<int>(getSetting("INGOT_FAKE_ARCH", 90));
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    *value = static_cast<int>(getSetting("INGOT_FAKE_MULTIPROCESSORS", 132));
  else
    *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
                 ? arch / 10
                 : arch % 10;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  FAIL_IF_ASKED();
  *context = make<CUcontext>(Kind::Context);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  // All that is left but the context itself.
  record(__func__, " objects=%zu blocks=%zu", objects.size() - 1,
         blocks.size() + hostBlocks.size());
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  REQUIRE(find(context, Kind::Context), CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *total = getSetting("INGOT_FAKE_MEMORY", 1L << 30);
  *free = *total - used;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *place, size_t bytes) {
  FAIL_IF_ASKED(" bytes=%zu", bytes);
  REQUIRE(!isCapturing, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  size_t free = 0, total = 0;
  cuMemGetInfo(&free, &total);
  if (bytes > free)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *place = allocate(bytes);
  if (!*place)
    return CUDA_ERROR_OUT_OF_MEMORY;
  used += bytes;
  blocks[*place] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr place) {
  FAIL_IF_ASKED();
  REQUIRE(blocks.count(place), CUDA_ERROR_INVALID_VALUE);
  bool isIdle = order.isIdle(findBlock(place));
  REQUIRE(isIdle, CUDA_ERROR_INVALID_VALUE);
  used -= blocks[place];
  release(place, blocks[place]);
  blocks.erase(place);
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **place, size_t bytes, unsigned) {
  FAIL_IF_ASKED(" bytes=%zu", bytes);
  *place = std::malloc(bytes);
  hostBlocks[*place] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *place) {
  REQUIRE(hostBlocks.count(place), CUDA_ERROR_INVALID_VALUE);
  bool isIdle = order.isIdle(onHost(place, hostBlocks[place]));
  REQUIRE(isIdle, CUDA_ERROR_INVALID_VALUE);
  hostBlocks.erase(place);
  std::free(place);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr place, unsigned char value, size_t bytes,
                         CUstream stream) {
  FAIL_IF_ASKED(" bytes=%zu", bytes);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(isOnDevice(place, bytes), CUDA_ERROR_INVALID_VALUE);
  bool isOrdered = put(stream, {onDevice(place, bytes, /*isWritten=*/true)});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  if (!isCapturing)
    std::memset(reinterpret_cast<void *>(place), value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" bytes=%zu stream=%d", bytes,
                find(stream, Kind::Stream)->number);
  REQUIRE(isOnDevice(to, bytes), CUDA_ERROR_INVALID_VALUE);
  REQUIRE(!isCapturing, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  bool isOrdered = put(
      stream, {onDevice(to, bytes, /*isWritten=*/true), onHost(from, bytes)});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" bytes=%zu stream=%d", bytes,
                find(stream, Kind::Stream)->number);
  REQUIRE(isOnDevice(from, bytes), CUDA_ERROR_INVALID_VALUE);
  REQUIRE(!isCapturing, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  bool isOrdered = put(
      stream, {onDevice(from, bytes, /*isWritten=*/false), onHost(to, bytes)});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" bytes=%zu stream=%d", bytes,
                find(stream, Kind::Stream)->number);
  REQUIRE(isOnDevice(to, bytes), CUDA_ERROR_INVALID_VALUE);
  REQUIRE(isOnDevice(from, bytes), CUDA_ERROR_INVALID_VALUE);
  bool isOrdered = put(stream, {onDevice(to, bytes, /*isWritten=*/true),
                                onDevice(from, bytes, /*isWritten=*/false)});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  FAIL_IF_ASKED();
  *stream = make<CUstream>(Kind::Stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  record(__func__);
  return destroy(stream, Kind::Stream);
}
CUresult cuStreamSynchronize(CUstream stream) {
  FAIL_IF_ASKED();
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(!isCapturing, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  order.waitFor(order.getMoment(find(stream, Kind::Stream)->number));
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  FAIL_IF_ASKED();
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(!isCapturing, CUDA_ERROR_ILLEGAL_STATE);
  isCapturing = true;
  ++recordings;
  recordedOrder = fakes::Order();
  recordedLast = Moment();
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  FAIL_IF_ASKED();
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(isCapturing, CUDA_ERROR_ILLEGAL_STATE);
  isCapturing = false;
  bool isJoined = recordedOrder.getMoment(find(stream, Kind::Stream)->number)
                      .includes(recordedLast);
  REQUIRE(isJoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  *graph = make<CUgraph>(Kind::Graph);
  Object &made = *find(*graph, Kind::Graph);
  made.regions = std::exchange(captured, {});
  made.held = std::exchange(capturedObjects, {});
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph,
                            unsigned long long) {
  FAIL_IF_ASKED();
  REQUIRE(find(graph, Kind::Graph), CUDA_ERROR_INVALID_HANDLE);
  *executable = make<CUgraphExec>(Kind::Executable);
  Object &made = *find(*executable, Kind::Executable);
  made.regions = find(graph, Kind::Graph)->regions;
  made.held = find(graph, Kind::Graph)->held;
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  REQUIRE(find(executable, Kind::Executable), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" stream=%d", find(stream, Kind::Stream)->number);
  const std::vector<Region> &regions =
      find(executable, Kind::Executable)->regions;
  bool isOrdered = put(stream, regions);
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  static int launches = 0;
  if (++launches == getSetting("INGOT_FAKE_NAN", 0))
    for (const Region &region : regions)
      std::memset(reinterpret_cast<void *>(region.begin), 0xff, region.bytes);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) { return destroy(graph, Kind::Graph); }
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return destroy(executable, Kind::Executable);
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = make<CUevent>(Kind::Event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  Object &object = *find(event, Kind::Event);
  record(__func__, " %d", object.number);
  int number = find(stream, Kind::Stream)->number;
  object.recording = isCapturing ? recordings : 0;
  object.moment = (isCapturing ? recordedOrder : order).getMoment(number);
  object.queries = 0;
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" %d", find(event, Kind::Event)->number);
  REQUIRE(!isCapturing, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  order.waitFor(find(event, Kind::Event)->moment);
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  Object &object = *find(event, Kind::Event);
  // Who asks again and again waits.
  if (!order.isPast(object.moment) && object.queries++ < 2)
    return CUDA_ERROR_NOT_READY;
  order.waitFor(object.moment);
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  for (CUevent event : {from, to}) {
    REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(order.isPast(find(event, Kind::Event)->moment),
            CUDA_ERROR_NOT_READY);
  }
  record(__func__);
  // One after the other, again and again.
  static size_t reads = 0;
  const char *times = std::getenv("INGOT_FAKE_TIMES");
  size_t count = times ? std::strlen(times) : 0;
  *milliseconds =
      count == 0 ? 0 : static_cast<float>(times[reads++ % count] - '0');
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) { return destroy(event, Kind::Event); }

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned,
                            CUjit_option *, void **) {
  const char *bytes = static_cast<const char *>(image);
  bool isText = std::memcmp(bytes,
                            "\x7f"
                            "ELF",
                            4) != 0;
  FAIL_IF_ASKED(" %s", isText ? "ptx" : "cubin");
  int arch = static_cast<int>(getSetting("INGOT_FAKE_ARCH", 90));
  if (isText) {
    std::string_view text(bytes);
    int built = std::atoi(bytes + text.find(".target sm_") + 11);
    if (arch < built)
      return CUDA_ERROR_INVALID_PTX;
  } else if (arch / 10 != 9) {
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *module = make<CUmodule>(Kind::Module);
  if (isText)
    find(*module, Kind::Module)->image = bytes;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  Object *loaded = find(module, Kind::Module);
  REQUIRE(loaded, CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(loaded->image.empty() ||
              loaded->image.find(std::string(".entry ") + name + "(") !=
                  std::string_view::npos,
          CUDA_ERROR_NOT_FOUND);
  *function = reinterpret_cast<CUfunction>(
      const_cast<std::string *>(&*loaded->functions.insert(name).first));
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  return destroy(module, Kind::Module);
}
CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned shared, CUstream stream,
                        void **arguments, void **) {
  const std::string &name = *reinterpret_cast<const std::string *>(function);
  FAIL_IF_ASKED(" %s grid=%u block=%u shared=%u", name.c_str(), gridX, blockX,
                shared);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(gridX > 0 && gridY == 1 && gridZ == 1, CUDA_ERROR_INVALID_VALUE);
  REQUIRE(blockX > 0 && blockX <= 1024 && blockY == 1 && blockZ == 1,
          CUDA_ERROR_INVALID_VALUE);
  REQUIRE(shared <= 48 << 10, CUDA_ERROR_INVALID_VALUE);
  REQUIRE(arguments, CUDA_ERROR_INVALID_VALUE);
  Region tensor = findBlock(*static_cast<CUdeviceptr *>(*arguments));
  REQUIRE(tensor.bytes != 0, CUDA_ERROR_ILLEGAL_ADDRESS);
  bool isOrdered = put(stream, {tensor});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(find(event, Kind::Event), CUDA_ERROR_INVALID_HANDLE);
  const Object &object = *find(event, Kind::Event);
  record(__func__, " %d", object.number);
  // A recording and what is outside do not wait for each other.
  REQUIRE(object.recording == (isCapturing ? recordings : 0),
          CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  (isCapturing ? recordedOrder : order)
      .holdBack(find(stream, Kind::Stream)->number, object.moment);
  if (isCapturing)
    putRecorded(stream);
  return CUDA_SUCCESS;
}

} // extern "C"
