// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Outlines the loops of a `group` kernel as separate kernels, so that each
// target generates them as it generates any loop, and only adds the selection
// between them.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_CODEGEN_GROUPPARTS_H
#define INGOT_PASSES_CODEGEN_GROUPPARTS_H

#include "dialects/exec/Exec.h"

namespace ingot::codegen {

/// A loop of a group.
struct GroupPart {
  exec::KernelOp kernel;
  /// The group's buffer for each buffer of the kernel: inputs, then results.
  llvm::SmallVector<unsigned> buffers;
};

/// Creates the kernels before the group. Equal loops of the group share a
/// kernel.
llvm::SmallVector<GroupPart> outlineParts(exec::KernelOp group);

} // namespace ingot::codegen

#endif // INGOT_PASSES_CODEGEN_GROUPPARTS_H
