// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Implements --dump-passes: the module after each pass, in numbered files.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_INSTRUMENTATION_PASSDUMP_H
#define INGOT_TOOLS_INGOTC_INSTRUMENTATION_PASSDUMP_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"
#include <memory>
#include <string>

namespace ingot {

/// Writes DIRECTORY/NN-pass.mlir for every pass of the pipeline, even for one
/// that fails: the module, or for a pass on functions each function after it.
/// `number` continues across pipelines. Throws runtime::Error if the directory
/// cannot be written.
std::unique_ptr<mlir::PassInstrumentation>
createPassDump(const std::string &directory, mlir::ModuleOp module,
               unsigned &number);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_INSTRUMENTATION_PASSDUMP_H
