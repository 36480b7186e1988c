// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Verifies the regions of a placed step that run concurrently with other calls.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_PASSES_VERIFY_VERIFYSIDEREGIONS_H
#define INGOT_PASSES_VERIFY_VERIFYSIDEREGIONS_H

#include "dialects/exec/Exec.h"

namespace ingot {

/// Checks that the regions of a step start, end and are waited for in order,
/// and that no call beside a region touches memory that a call in it writes, or
/// writes memory that one in it reads.
llvm::LogicalResult verifySideRegions(exec::StepOp step);

} // namespace ingot

#endif // INGOT_PASSES_VERIFY_VERIFYSIDEREGIONS_H
