// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Reads the data of matrices in codes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDDATA_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDDATA_H

#include "frontends/onnx/weights/CodedNodes.h"
#include "frontends/onnx/weights/CodedWeights.h"

namespace ingot::onnx_import {

/// Reads the codes, scales and offsets of a matrix, or its numbers where it has
/// no encoding, from initializers of the file; `zeros` may be null. Fails, with
/// a message, where data cannot be read.
llvm::LogicalResult readCodes(mlir::Location file, CodedWeight &weight,
                              const CodesLayout &layout,
                              const onnx::TensorProto &codes,
                              const onnx::TensorProto &scales,
                              const onnx::TensorProto *zeros);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDDATA_H
