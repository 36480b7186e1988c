// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Outputs that operators without an importer compute, such as labels as text or
// boxes that were chosen: training needs the others only.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_UNSUPPORTEDOUTPUTS_H
#define INGOT_FRONTENDS_ONNX_MODEL_UNSUPPORTEDOUTPUTS_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ingot::onnx_import {

/// Removes the nodes for which `isSupported` is false, those that take their
/// results, outputs that these compute, and inputs that no other node reads; a
/// note names the outputs. The model stays as it is where no output would be
/// left. Its nodes are sorted, and its functions inlined.
void leaveOutUnsupported(
    mlir::Location file, onnx::ModelProto &model,
    llvm::function_ref<bool(const onnx::NodeProto &)> isSupported);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_UNSUPPORTEDOUTPUTS_H
