// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The function that a kernel becomes. Its arguments are flat buffers, then a
// range of the kernel's parallel extent.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_TARGETS_CPU_KERNELFUNCTION_H
#define INGOT_PASSES_TARGETS_CPU_KERNELFUNCTION_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/analysis/RowSpace.h"
#include "dialects/ingot/builders/Scalars.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/codegen/GroupParts.h"

namespace ingot::codegen {

/// The parallel iterations of a kernel, which a launch distributes over
/// threads.
struct Extent {
  int64_t iterations = 1;
  int64_t grain = 1;
};

/// The number of elements that justify waking a thread.
inline constexpr int64_t kElementsPerThread = 8192;

/// The state that the emitters of all kinds of kernels share.
class KernelFunction {
public:
  explicit KernelFunction(exec::KernelOp kernel)
      : kernel(kernel), body(kernel.getBody().front()),
        builder(kernel.getContext()), loc(kernel.getLoc()) {}

protected:
  /// Creates the function next to the kernel, and moves the builder into it.
  /// The buffers are followed by ranges of indices.
  void createFunction(unsigned ranges = 1);
  void finishFunction();

  mlir::ValueRange inputs() {
    return mlir::ValueRange(buffers).take_front(numInputs());
  }
  mlir::ValueRange outputs() {
    return mlir::ValueRange(buffers).drop_front(numInputs());
  }
  size_t numInputs() { return body.getNumArguments(); }
  mlir::Operation *yield() { return body.getTerminator(); }
  ScalarEmitter scalars() { return {builder, loc}; }

  exec::KernelOp kernel;
  mlir::Block &body;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> buffers;
  /// The bounds of the first range, and of the second one.
  mlir::Value begin, end, begin2, end2;
};

/// Emits the function of a `row` kernel.
Extent emitRows(exec::KernelOp kernel);

/// Emits the function of an `epilogue` kernel.
void emitEpilogue(exec::KernelOp kernel);

/// Emits the function of a `group` kernel, which calls those of its loops.
Extent emitGroup(exec::KernelOp kernel, llvm::ArrayRef<GroupPart> parts,
                 llvm::ArrayRef<Extent> extents);

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CPU_KERNELFUNCTION_H
