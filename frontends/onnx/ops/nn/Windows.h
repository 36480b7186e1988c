// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The window attributes that convolution and pooling share.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_NN_WINDOWS_H
#define INGOT_FRONTENDS_ONNX_OPS_NN_WINDOWS_H

#include "frontends/onnx/model/Node.h"

namespace ingot::onnx_import {

/// The window attributes, with one entry per spatial dimension.
struct Window {
  Shape kernel, strides, dilations, padLow, padHigh;

  int64_t extent(size_t i) const { return dilations[i] * (kernel[i] - 1) + 1; }
  /// Returns the size of the output along spatial dimension i, rounded down.
  int64_t outputSize(size_t i, int64_t input) const {
    return (input + padLow[i] + padHigh[i] - extent(i)) / strides[i] + 1;
  }
};

/// Reads kernel_shape (or takes `kernel`), strides, dilations, pads and
/// auto_pad for an input with these spatial sizes, and checks that the window
/// fits.
llvm::FailureOr<Window> readWindow(Node &node, llvm::ArrayRef<int64_t> spatial,
                                   llvm::ArrayRef<int64_t> kernel);

/// Returns the convolution of x with a filter, by the node's attributes (group
/// among them); without bias.
llvm::FailureOr<mlir::Value> convolve(Node &node, mlir::Value x,
                                      mlir::Value filter);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_NN_WINDOWS_H
