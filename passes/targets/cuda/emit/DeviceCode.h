// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Lowering from GPU functions to machine code.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CUDA_EMIT_DEVICECODE_H
#define INGOT_PASSES_TARGETS_CUDA_EMIT_DEVICECODE_H

#include "dialects/ingot/target/Target.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace ingot {

/// Fails unless Ingot supports the architecture of that name.
llvm::Error checkArchitecture(llvm::StringRef name);

/// Compiles a module after --ingot-convert-device-kernels. Reports registers
/// and spills of each kernel as remarks.
llvm::Expected<DeviceCode> generateDeviceCode(mlir::gpu::GPUModuleOp module,
                                              llvm::StringRef arch);

} // namespace ingot

#endif // INGOT_PASSES_TARGETS_CUDA_EMIT_DEVICECODE_H
