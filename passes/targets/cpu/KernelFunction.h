//===----------------------------------------------------------------------===//
//
// The function that a kernel becomes: flat buffers, then a range of the
// kernel's parallel extent.
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

/// How launches share out a kernel.
struct Extent {
  int64_t iterations = 1;
  int64_t grain = 1;
};

/// Elements that are worth waking a thread for.
inline constexpr int64_t kElementsPerThread = 8192;

/// What the emitters of all kinds of kernels start from.
class KernelFunction {
public:
  explicit KernelFunction(exec::KernelOp kernel)
      : kernel(kernel), body(kernel.getBody().front()),
        builder(kernel.getContext()), loc(kernel.getLoc()) {}

protected:
  /// Begins the function beside the kernel; the builder is in it. The buffers
  /// are followed by ranges of indices.
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
  /// The first range, and the second one.
  mlir::Value begin, end, begin2, end2;
};

/// Returns the index of an element of a row in a tensor of the space's rows.
llvm::SmallVector<mlir::Value> indexInRow(const ScalarEmitter &e,
                                          const RowSpace &space,
                                          mlir::Value tensor, mlir::Value row,
                                          mlir::Value column);

/// Emits the function of a `row` kernel.
Extent emitRows(exec::KernelOp kernel);

/// Emits the function of an `epilogue` kernel.
void emitEpilogue(exec::KernelOp kernel);

/// Emits the function of a `group` kernel, which calls those of its parts.
Extent emitGroup(exec::KernelOp kernel, llvm::ArrayRef<GroupPart> parts,
                 llvm::ArrayRef<Extent> extents);

} // namespace ingot::codegen

#endif // INGOT_PASSES_TARGETS_CPU_KERNELFUNCTION_H
