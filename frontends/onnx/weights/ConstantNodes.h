// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Weights that the file holds as Constant nodes rather than initializers.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_CONSTANTNODES_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_CONSTANTNODES_H

#include "frontends/onnx/options/ImportOptions.h"
#include "onnx/onnx_pb.h"

namespace ingot::onnx_import {

/// Makes an initializer, of the name of the node's output, of each Constant
/// node that is a weight: that `--trainable` names, or that is used as one
/// where the file does not say otherwise. So do initializers of branches and of
/// bodies of loops, and functions that hold weights are inlined. What remains a
/// constant though it may be a weight is named in one warning. Fails on an
/// invalid regular expression.
llvm::LogicalResult liftConstants(mlir::Location file, onnx::ModelProto &model,
                                  const ImportOptions &options);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_CONSTANTNODES_H
