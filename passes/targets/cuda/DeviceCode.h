//===----------------------------------------------------------------------===//
//
// From device functions to machine code.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_DEVICECODE_H
#define INGOT_PASSES_TARGETS_CUDA_DEVICECODE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"
#include <string>

namespace ingot {

/// A device architecture, like sm_90.
struct CudaTarget {
  std::string arch;

  /// By NVIDIA's name; an error where there is none that Ingot supports.
  static llvm::Expected<CudaTarget> byName(llvm::StringRef name);
};

struct DeviceCode {
  /// PTX, which drivers compile for later architectures too.
  std::string ptx;
  /// What runs on the architecture and its minor versions; empty where the
  /// machine has no ptxas.
  std::string cubin;
};

/// Compiles a module after --ingot-convert-device-kernels. Reports registers
/// and spills of each kernel as remarks.
llvm::Expected<DeviceCode> generateDeviceCode(mlir::gpu::GPUModuleOp module,
                                              const CudaTarget &target);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_DEVICECODE_H
