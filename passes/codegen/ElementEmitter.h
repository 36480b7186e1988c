// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Emits the elements of a kernel's tensors into loops, for any target: values
// in memory are loaded, all others are computed in place.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_ELEMENTEMITTER_H
#define INGOT_PASSES_CODEGEN_ELEMENTEMITTER_H

#include "dialects/exec/Exec.h"
#include "dialects/ingot/ir/Dialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <map>

namespace ingot::codegen {

/// Returns the type of a tensor's buffer in a kernel: one-dimensional, with the
/// element type of generated code.
mlir::MemRefType flatType(mlir::RankedTensorType type);

/// Returns a flat buffer in the shape of its tensor, row-major.
mlir::Value shapedBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value buffer, mlir::RankedTensorType type);

/// Emits iterations [begin, end) of a kernel that has its own loop nest, on
/// flat buffers of the kernel's arguments, then of the results. An input that
/// shares a result's buffer is in the result's place.
void emitKernelBody(mlir::OpBuilder &builder, mlir::Location loc,
                    KernelBody kernel, mlir::ArrayRef<mlir::Value> buffers,
                    mlir::Value begin, mlir::Value end);

/// Returns true if code in the loop divides an index that derives from the
/// loop's induction variable, after ops without uses in the function have been
/// erased.
bool takesIndicesApart(mlir::scf::ForOp loop);

/// Emits the ops of a kernel as scalar code at the insertion point of the
/// builder, which the caller moves; an element that was emitted before is
/// reused where it dominates.
class ElementEmitter {
public:
  /// Creates an emitter; `inputs` are flat memrefs, one per argument of the
  /// kernel's body.
  ElementEmitter(exec::KernelOp kernel, mlir::OpBuilder &builder,
                 mlir::ValueRange inputs);

  /// Returns the element of a tensor at `indices`.
  mlir::Value element(mlir::Value tensor, mlir::ValueRange indices);

  /// From now on, takes the elements of a tensor from another source.
  using Source = std::function<mlir::Value(mlir::ValueRange indices)>;
  void setSource(mlir::Value tensor, Source source) {
    sources[tensor] = std::move(source);
  }

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() { return loc; }

private:
  /// Returns a number that is equal for indices that are known to have the same
  /// value.
  int64_t idOf(mlir::Value index);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Block &body;
  llvm::SmallVector<mlir::Value> inputs;
  using Key = std::vector<int64_t>;
  /// The elements emitted so far, by tensor or op and indices; the latest is
  /// the last.
  std::map<Key, llvm::SmallVector<llvm::SmallVector<mlir::Value, 1>, 1>> known;
  std::map<Key, int64_t> indexIds;
  llvm::DenseMap<mlir::Value, Source> sources;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_ELEMENTEMITTER_H
