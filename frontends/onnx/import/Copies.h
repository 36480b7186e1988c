// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Undoes the sharing of initializers that merely started equal.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_IMPORT_COPIES_H
#define INGOT_FRONTENDS_ONNX_IMPORT_COPIES_H

#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"

namespace ingot::onnx_import {

/// PyTorch's TorchScript exporter keeps one of several equal initializers and
/// copies it by Identity nodes that have the others' names: weights of norms
/// that are all ones would be trained as one. Initializers with one repeated
/// value get their own again; others are taken for tied weights and left
/// shared.
void separateCopies(mlir::Location file, onnx::ModelProto &model);

/// Gives each parameter that PyTorch's optimizing exporter merged with another
/// its own initializer again, with the value that they share. The exporter's
/// metadata tells which they were; a remark says so if it names none.
void splitMerged(mlir::Location file, onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_IMPORT_COPIES_H
