// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The graph of an imported model, for reports.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_TOOLS_INGOTC_REPORT_GRAPHDESCRIPTION_H
#define INGOT_TOOLS_INGOTC_REPORT_GRAPHDESCRIPTION_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace ingot {

/// Describes the ONNX nodes of a module that was imported, in the order of
/// their operations: `name`, `op`, and the indices of the nodes whose results
/// they take as `inputs`.
llvm::json::Array describeGraph(mlir::ModuleOp module);

} // namespace ingot

#endif // INGOT_TOOLS_INGOTC_REPORT_GRAPHDESCRIPTION_H
