// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The kernels of placed steps, which are made of fusions.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_SCHEDULE_PLACE_STEPKERNELS_H
#define INGOT_PASSES_SCHEDULE_PLACE_STEPKERNELS_H

#include "dialects/ingot/ir/Dialect.h"
#include "dialects/ingot/target/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace ingot {

/// The kernels of a module.
class StepKernels {
public:
  explicit StepKernels(mlir::ModuleOp module) : module(module) {}

  /// Returns the kernel of a fusion, whose body it takes; equal fusions share
  /// one.
  mlir::StringAttr get(FusionOp fusion, llvm::ArrayRef<int64_t> aliases);

  /// Splits an epilogue fusion into the library call and kernels for the rest;
  /// the first kernel takes the call's result as its first input.
  void callWithEpilogue(FusionOp fusion, llvm::ArrayRef<mlir::Value> inputs,
                        mlir::ValueRange results, mlir::Value scratch,
                        int64_t flops, const Target &target,
                        mlir::OpBuilder &builder);

  unsigned count() const { return kernels.size(); }

private:
  /// The extra output of an epilogue fusion: its kernel, as a fusion of its
  /// own, and the buffers that it reads.
  struct Extra {
    mlir::FlatSymbolRefAttr name;
    llvm::SmallVector<mlir::Value> inputs;
    mlir::Value output;
  };

  /// Removes the extra output from an epilogue fusion.
  Extra takeExtra(FusionOp fusion, mlir::ValueRange inputs,
                  llvm::SmallVectorImpl<mlir::Value> &outputs);

  mlir::ModuleOp module;
  llvm::StringMap<mlir::StringAttr> kernels;
};

} // namespace ingot

#endif // INGOT_PASSES_SCHEDULE_PLACE_STEPKERNELS_H
