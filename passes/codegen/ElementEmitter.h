//===----------------------------------------------------------------------===//
//
// Emits the elements of a kernel's tensors into loops, for any target: what is
// in memory is loaded, everything else is computed on the spot.
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

/// Returns the type of a tensor's memory in a kernel: flat, elements as code
/// sees them.
mlir::MemRefType flatType(mlir::RankedTensorType type);

/// Returns a flat buffer in the shape of its tensor, row-major.
mlir::Value shapedBuffer(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value buffer, mlir::RankedTensorType type);

/// Emits iterations [begin, end) of a kernel with a loop nest of its own on
/// flat buffers, of the kernel's arguments, then of the results. An input that
/// has a result's buffer is in its place.
void emitKernelBody(mlir::OpBuilder &builder, mlir::Location loc,
                    KernelBody kernel, mlir::ArrayRef<mlir::Value> buffers,
                    mlir::Value begin, mlir::Value end);

/// Returns true if code in the loop divides an index that derives from the
/// loop's: after dropping what nothing in the function uses.
bool takesIndicesApart(mlir::scf::ForOp loop);

/// The ops of a kernel as scalar code. Works at the builder's position, which
/// the caller moves; an element computed before is used again where it is in
/// scope.
class ElementEmitter {
public:
  /// `inputs` are flat memrefs, one per argument of the kernel's body.
  ElementEmitter(exec::KernelOp kernel, mlir::OpBuilder &builder,
                 mlir::ValueRange inputs);

  /// Returns the element of a tensor at `indices`.
  mlir::Value element(mlir::Value tensor, mlir::ValueRange indices);

  /// Makes elements of a tensor come from elsewhere from now on.
  using Source = std::function<mlir::Value(mlir::ValueRange indices)>;
  void setSource(mlir::Value tensor, Source source) {
    sources[tensor] = std::move(source);
  }

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() { return loc; }

private:
  /// Returns a number that is equal for index values that compute the same.
  int64_t idOf(mlir::Value index);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Block &body;
  llvm::SmallVector<mlir::Value> inputs;
  using Key = std::vector<int64_t>;
  /// Elements emitted so far, by tensor or op and indices; latest last.
  std::map<Key, llvm::SmallVector<llvm::SmallVector<mlir::Value, 1>, 1>> known;
  std::map<Key, int64_t> indexIds;
  llvm::DenseMap<mlir::Value, Source> sources;
};

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_ELEMENTEMITTER_H
