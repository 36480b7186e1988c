// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Functions that importers of normalizations and dropout share, forward and
// backward.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_OPS_NN_NORMALIZATION_H
#define INGOT_FRONTENDS_ONNX_OPS_NN_NORMALIZATION_H

#include "frontends/onnx/model/Node.h"

namespace ingot::onnx_import {

/// The dimensions of a node's first input before and from its `axis` (the last
/// one without the attribute) on: the latter are normalized together.
struct NormalizedDims {
  int64_t first;
  Shape outer, inner;

  /// Returns the shape of a statistic with a one for each dimension that is
  /// normalized.
  Shape kept() const;
};
llvm::FailureOr<NormalizedDims> normalizedDims(Node &node);

/// The ratio of a dropout, and whether it is active.
struct DropoutMode {
  double ratio = 0.5;
  bool trains;
};

/// Reads the ratio from the node's input `ratioInput` and training_mode from
/// the one after it, which is `trains` where it is omitted.
llvm::FailureOr<DropoutMode> dropoutMode(Node &node, size_t ratioInput,
                                         bool trains);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_OPS_NN_NORMALIZATION_H
