//===----------------------------------------------------------------------===//
//
// The loops of a `group` kernel as kernels of their own, so that each target
// generates them as it does any loop and adds no more than the choice between
// them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_GROUPPARTS_H
#define INGOT_PASSES_CODEGEN_GROUPPARTS_H

#include "dialects/exec/Exec.h"

namespace ingot::codegen {

/// A loop of a group.
struct GroupPart {
  exec::KernelOp kernel;
  /// The group's buffer for each of the kernel's: inputs, then results.
  llvm::SmallVector<unsigned> buffers;
};

/// Creates the kernels in front of the group. Equal loops of it share one.
llvm::SmallVector<GroupPart> outlineParts(exec::KernelOp group);

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_GROUPPARTS_H
