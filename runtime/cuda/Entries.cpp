//===----------------------------------------------------------------------===//
//
// The entry points of Abi.h on a GPU.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/Abi.h"
#include "runtime/core/Error.h"
#include "runtime/cuda/BlasLt.h"
#include "runtime/cuda/CudaDevice.h"

using namespace ingot::runtime;

/// Runs `body(device)` as one call of the step.
template <typename Body>
static void enqueue(ingot_context *context, const char *name, int64_t kernel,
                    Body body) {
  guardLibraryCall(context, name, [&] {
    auto &device = static_cast<CudaDevice &>(*context->device);
    CudaDevice::Call call(device, *context, kernel);
    body(device);
  });
}

static int64_t getElementBytes(int32_t type) {
  return type == INGOT_F64 ? 8 : type == INGOT_F32 ? 4 : 2;
}

void ingot_launch_grid(ingot_context *context, const ingot_grid_kernel *kernel,
                       void *const *buffers) {
  enqueue(context, kernel->name, kernel->index,
          [&](CudaDevice &device) { device.launch(*kernel, buffers); });
}

void ingot_matmul(ingot_context *context, const ingot_matmul_desc *desc,
                  const void *a, const void *b, void *c, void *scratch) {
  enqueue(context, "matmul", desc->index, [&](CudaDevice &device) {
    int64_t bytes =
        desc->batch * desc->m * desc->n * getElementBytes(desc->c_type);
    if (bytes == 0)
      return;
    if (desc->k == 0)
      return device.clear(c, bytes);
    device.getBlasLt().multiply(*context, *desc, a, b, c, scratch,
                                device.getStream());
  });
}

void ingot_copy(ingot_context *context, const ingot_copy_desc *desc,
                const void *from, void *to) {
  enqueue(context, "copy", desc->index,
          [&](CudaDevice &device) { device.copy(to, from, desc->bytes); });
}

void ingot::runtime::prepareProcess(char *const *) {}

std::unique_ptr<Device> ingot::runtime::openDevice(const ingot_module_t &module,
                                                   const Manifest &manifest) {
  if (manifest.targetKind != "cuda")
    throw failure("target",
                  "compiled for '" + manifest.targetKind +
                      "', which this runtime does not have",
                  "compile with --target cuda");
  return std::make_unique<CudaDevice>(module, manifest);
}
