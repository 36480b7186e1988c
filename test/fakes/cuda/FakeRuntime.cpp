// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A fake libcudart (Fakes.h): what cuDNN's graph library calls of it. It works
// on the fake driver's GPU.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/cuda/Fakes.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <set>

using fakes::record;

namespace {
struct UserObject {
  cudaHostFn_t destroy;
  void *data;
};
std::set<const void *> living;

/// Any handle but null: trainers hand it back and nothing else.
int capturedGraph = 0;
} // namespace

extern "C" {

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t) { return "as the test wants"; }
cudaError_t cudaGetLastError() {
  fakes::Turn turn;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  fakes::Turn turn;
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                   int device) {
  fakes::Turn turn;
  auto ask = fakes::findInDriver<decltype(&cuDeviceGetAttribute)>(
      "cuDeviceGetAttribute");
  // The numbers of both libraries' attributes are the same.
  bool failed = record(__func__) ||
                ask(value, static_cast<CUdevice_attribute>(attribute), device);
  return failed ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *) {
  fakes::Turn turn;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t,
                                     cudaStreamCaptureStatus *status,
                                     unsigned long long *, cudaGraph_t *graph,
                                     const cudaGraphNode_t **,
                                     const cudaGraphEdgeData **, size_t *) {
  fakes::Turn turn;
  auto ask = fakes::findInDriver<fakes::AskWhether>("ingotFakeIsCapturing");
  bool isCapturing = ask && ask();
  *status =
      isCapturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  *graph =
      isCapturing ? reinterpret_cast<cudaGraph_t>(&capturedGraph) : nullptr;
  return record(__func__) ? cudaErrorUnknown : cudaSuccess;
}
cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *data,
                                 cudaHostFn_t destroy, unsigned, unsigned) {
  fakes::Turn turn;
  if (record(__func__))
    return cudaErrorUnknown;
  auto *made = new UserObject{destroy, data};
  living.insert(made);
  *object = reinterpret_cast<cudaUserObject_t>(made);
  return cudaSuccess;
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph,
                                      cudaUserObject_t object, unsigned,
                                      unsigned) {
  fakes::Turn turn;
  if (record(__func__))
    return cudaErrorUnknown;
  if (graph != reinterpret_cast<cudaGraph_t>(&capturedGraph) ||
      !living.count(object))
    record("violation", " %s: a handle", __func__);
  if (auto hold = fakes::findInDriver<fakes::HoldObject>("ingotFakeHold"))
    hold(object);
  return cudaSuccess;
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned) {
  fakes::Turn turn;
  record(__func__);
  if (!living.count(object)) {
    record("violation", " %s: a handle", __func__);
    return cudaErrorInvalidValue;
  }
  // An object that a graph holds goes with the graph: here, never.
  auto count =
      fakes::findInDriver<fakes::CountHolders>("ingotFakeCountHolders");
  if (count && count(object) != 0)
    return cudaSuccess;
  living.erase(object);
  auto *made = reinterpret_cast<UserObject *>(object);
  made->destroy(made->data);
  delete made;
  return cudaSuccess;
}

} // extern "C"
