// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Batch norms that follow convolutions as a part of their weights, before
// these are quantized.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_REWRITE_FOLDNORMS_H
#define INGOT_FRONTENDS_ONNX_REWRITE_FOLDNORMS_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace ingot::onnx_import {

/// The weights and statistics that the edit has found.
struct FoldedNorms {
  /// The weights of convolutions, by the values that take their place.
  llvm::StringMap<std::string> weights;
  /// The means and variances, which no step changes any more.
  std::vector<std::string> statistics;
  /// Initializers that are numbers of the computation.
  std::vector<std::string> constants;
};

/// Gives the convolutions that `isChosen` takes weights and biases that are
/// computed with those of the batch norm that alone reads their result, in its
/// place. All of these are initializers.
FoldedNorms
foldNorms(onnx::GraphProto &graph,
          llvm::function_ref<bool(const onnx::NodeProto &conv)> isChosen);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_REWRITE_FOLDNORMS_H
