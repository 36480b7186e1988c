// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A device with memory, streams and machine code of its own: what passes and
// ingotc ask of targets whose steps do not run on the host's CPU.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_TARGET_TARGETDEVICE_H
#define INGOT_DIALECTS_INGOT_TARGET_TARGETDEVICE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace ingot {

/// Machine code of kernels for a device with a module format of its own; empty
/// where kernels are part of the host's object.
struct DeviceCode {
  /// The machine code; empty if there is no assembler on this machine.
  std::string binary;
  /// The assembly text (PTX), which drivers can compile for later architectures
  /// too.
  std::string text;
};

/// The device of a target.
class TargetDevice {
public:
  virtual ~TargetDevice();

  /// Returns how many copies of a function's inputs the host stages for it; 0
  /// where functions read the host's memory.
  virtual int64_t getStagingBlocks() const = 0;
  /// Returns how many streams of operations run at the same time, apart from
  /// exchanges between ranks; 1 where operations are executed in order.
  virtual int64_t getStreams() const = 0;
  /// Returns whether an operation may run at the same time as others.
  virtual bool canRunBeside(mlir::Operation *) const { return true; }
  /// Returns the memory in bytes outside of the arena that a collective needs
  /// for each rank, whose number is known when a trainer starts.
  virtual int64_t getBytesOfRank(mlir::Operation *) const { return 0; }
  /// Adds the first passes of Target::addKernelPipeline(): from placed steps to
  /// launches of device functions that are still structured.
  virtual void addPipeline(mlir::OpPassManager &manager) const = 0;
  /// Removes the device's kernels from the module and compiles them.
  virtual llvm::Expected<DeviceCode> emitCode(mlir::ModuleOp module) const = 0;
};

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_TARGET_TARGETDEVICE_H
