// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Undoes what exporters do to equal initializers: it separates those that
// merely started equal, and ties copies of one weight.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_COPIES_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_COPIES_H

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

/// Makes copies of a weight one weight again: exporters fold the transposition,
/// the reshaping or the conversion of a weight that is used as it is, too, so
/// that tied weights would be trained apart. A copy has a name that was made
/// up, and is computed from the weight now, which a note says. Equal
/// initializers with names of their own are left apart, with one warning.
void tieCopies(mlir::Location file, onnx::ModelProto &model);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_COPIES_H
