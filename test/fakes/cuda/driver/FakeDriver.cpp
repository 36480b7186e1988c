// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libcuda.so.1 (Fakes.h): the GPU and its memory, which is the host's.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/driver/DriverState.h"

#include <sys/mman.h>

using namespace fakes;

namespace {
/// Empty unless it is page-locked: copies of other memory are done when they
/// return.
Region onHost(const void *place, size_t bytes) {
  auto &hostBlocks = getState().hostBlocks;
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
/// The byte that fills new memory on a GPU that computes.
constexpr int garbage = 0xa7;

CUdeviceptr allocate(size_t bytes) {
  void *place = mmap(nullptr, gap + bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED)
    return 0;
  char *block = static_cast<char *>(place) + gap;
  if (mprotect(block, bytes, PROT_READ | PROT_WRITE) != 0)
    return 0;
  if (isComputing())
    std::memset(block, garbage, bytes);
  return reinterpret_cast<CUdeviceptr>(block);
}

void release(CUdeviceptr block, size_t bytes) {
  munmap(reinterpret_cast<char *>(block) - gap, gap + bytes);
}

template <typename T> T *pointTo(CUdeviceptr place) {
  return reinterpret_cast<T *>(place);
}
} // namespace

Region fakes::findBlock(CUdeviceptr place) {
  auto &blocks = getState().blocks;
  auto block = blocks.upper_bound(place);
  if (isOnDevice(place, 0))
    --block;
  else if (block == blocks.end() || block->first - place > gap)
    return {};
  return onDevice(block->first, block->second, /*isWritten=*/true);
}

extern "C" {

CUresult cuInit(unsigned) {
  fakes::Turn turn;
  return record(__func__) ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) {
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  *version = static_cast<int>(getSetting("INGOT_FAKE_VERSION", 13000));
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **text) {
  fakes::Turn turn;
  *text = error == CUDA_ERROR_NO_DEVICE            ? "CUDA_ERROR_NO_DEVICE"
          : error == CUDA_ERROR_MISALIGNED_ADDRESS ? "CUDA_ERROR_MISALIGNED_"
                                                     "ADDRESS"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == CUDA_ERROR_LAUNCH_FAILED   ? "CUDA_ERROR_LAUNCH_FAILED"
                                                : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected"
          : error == CUDA_ERROR_MISALIGNED_ADDRESS ? "misaligned address"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS
              ? "an illegal memory access was encountered"
          : error == CUDA_ERROR_LAUNCH_FAILED ? "unspecified launch failure"
                                              : "as the test wants";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *count) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  *count = static_cast<int>(getSetting("INGOT_FAKE_GPUS", 1));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *device, int number) {
  fakes::Turn turn;
  if (record(__func__, " %d", number))
    return CUDA_ERROR_UNKNOWN;
  *device = number;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  const char *set = std::getenv("INGOT_FAKE_NAME");
  std::snprintf(name, length, "%s", set ? set : "fake");
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
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
  fakes::Turn turn;
  FAIL_IF_ASKED();
  *context = make<CUcontext>(Kind::Context);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  fakes::Turn turn;
  // All that is left but the context itself.
  DriverState &state = getState();
  record(__func__, " objects=%zu blocks=%zu", state.objects.size() - 1,
         state.blocks.size() + state.hostBlocks.size());
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  REQUIRE(find(context, Kind::Context), CUDA_ERROR_INVALID_CONTEXT);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  fakes::Turn turn;
  if (fails(__func__))
    return CUDA_ERROR_UNKNOWN;
  *total = getSetting("INGOT_FAKE_MEMORY", 1L << 30);
  *free = *total - getState().used;
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *place, size_t bytes) {
  fakes::Turn turn;
  FAIL_IF_ASKED(" bytes=%zu", bytes);
  DriverState &state = getState();
  REQUIRE(!getRecording().isUnderWay, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  size_t free = 0, total = 0;
  cuMemGetInfo(&free, &total);
  if (bytes > free)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *place = allocate(bytes);
  if (!*place)
    return CUDA_ERROR_OUT_OF_MEMORY;
  state.used += bytes;
  state.blocks[*place] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr place) {
  fakes::Turn turn;
  FAIL_IF_ASKED();
  DriverState &state = getState();
  REQUIRE(state.blocks.count(place), CUDA_ERROR_INVALID_VALUE);
  bool isIdle = state.order.isIdle(findBlock(place));
  REQUIRE(isIdle, CUDA_ERROR_INVALID_VALUE);
  state.used -= state.blocks[place];
  release(place, state.blocks[place]);
  state.blocks.erase(place);
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **place, size_t bytes, unsigned) {
  fakes::Turn turn;
  FAIL_IF_ASKED(" bytes=%zu", bytes);
  *place = std::malloc(bytes);
  getState().hostBlocks[*place] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *place) {
  fakes::Turn turn;
  DriverState &state = getState();
  REQUIRE(state.hostBlocks.count(place), CUDA_ERROR_INVALID_VALUE);
  bool isIdle = state.order.isIdle(onHost(place, state.hostBlocks[place]));
  REQUIRE(isIdle, CUDA_ERROR_INVALID_VALUE);
  state.hostBlocks.erase(place);
  std::free(place);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr place, unsigned char value, size_t bytes,
                         CUstream stream) {
  fakes::Turn turn;
  FAIL_IF_ASKED(" bytes=%zu", bytes);
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  REQUIRE(isOnDevice(place, bytes), CUDA_ERROR_INVALID_VALUE);
  bool isOrdered = put(stream, {onDevice(place, bytes, /*isWritten=*/true)});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  auto set = [=] {
    noteAccess("cuMemsetD8Async", place, bytes, /*isWritten=*/true);
    std::memset(pointTo<void>(place), value, bytes);
    return true;
  };
  if (!isComputing() && !getRecording().isUnderWay)
    set();
  submit(stream, set, "memset");
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  fakes::Turn turn;
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" bytes=%zu stream=%d", bytes,
                find(stream, Kind::Stream)->number);
  REQUIRE(isOnDevice(to, bytes), CUDA_ERROR_INVALID_VALUE);
  REQUIRE(!getRecording().isUnderWay, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  Region host = onHost(from, bytes);
  bool isOrdered = put(stream, {onDevice(to, bytes, /*isWritten=*/true), host});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  if (!isComputing()) {
    std::memcpy(pointTo<void>(to), from, bytes);
    return CUDA_SUCCESS;
  }
  // Memory that is not page-locked is read before the call returns.
  std::vector<char> copy;
  if (host.bytes == 0)
    copy.assign(static_cast<const char *>(from),
                static_cast<const char *>(from) + bytes);
  auto work = [=] {
    std::memcpy(pointTo<void>(to), copy.empty() ? from : copy.data(), bytes);
    return true;
  };
  submit(stream, work, "memcpy");
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  fakes::Turn turn;
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" bytes=%zu stream=%d", bytes,
                find(stream, Kind::Stream)->number);
  REQUIRE(isOnDevice(from, bytes), CUDA_ERROR_INVALID_VALUE);
  DriverState &state = getState();
  REQUIRE(!getRecording().isUnderWay, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  Region host = onHost(to, bytes);
  bool isOrdered =
      put(stream, {onDevice(from, bytes, /*isWritten=*/false), host});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  auto copy = [=] {
    std::memcpy(to, pointTo<void>(from), bytes);
    return true;
  };
  if (!isComputing())
    copy();
  submit(stream, copy, "memcpy");
  // What goes to memory that is not page-locked is there on return.
  if (isComputing() && host.bytes == 0)
    runSafely([&] {
      state.executor.wait(
          state.executor.getTail(find(stream, Kind::Stream)->number));
    });
  return state.failure;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  fakes::Turn turn;
  REQUIRE(find(stream, Kind::Stream), CUDA_ERROR_INVALID_HANDLE);
  FAIL_IF_ASKED(" bytes=%zu stream=%d", bytes,
                find(stream, Kind::Stream)->number);
  REQUIRE(isOnDevice(to, bytes), CUDA_ERROR_INVALID_VALUE);
  REQUIRE(isOnDevice(from, bytes), CUDA_ERROR_INVALID_VALUE);
  bool isOrdered = put(stream, {onDevice(to, bytes, /*isWritten=*/true),
                                onDevice(from, bytes, /*isWritten=*/false)});
  REQUIRE(isOrdered, CUDA_ERROR_ILLEGAL_STATE);
  auto copy = [=] {
    noteAccess("cuMemcpyDtoDAsync", to, bytes, /*isWritten=*/true);
    noteAccess("cuMemcpyDtoDAsync", from, bytes, /*isWritten=*/false);
    std::memmove(pointTo<void>(to), pointTo<void>(from), bytes);
    return true;
  };
  submit(stream, copy, "memcpy");
  return CUDA_SUCCESS;
}

} // extern "C"
