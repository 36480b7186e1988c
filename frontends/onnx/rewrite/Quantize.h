// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Quantization as an edit of the model, before it is imported: pairs of
// QuantizeLinear and DequantizeLinear where ONNX Runtime makes integer kernels
// of the nodes between them. Training and the exported file have the same
// nodes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_REWRITE_QUANTIZE_H
#define INGOT_FRONTENDS_ONNX_REWRITE_QUANTIZE_H

#include "frontends/onnx/model/CodedInitializer.h"
#include "frontends/onnx/options/ImportOptions.h"
#include "frontends/onnx/rewrite/Quantizer.h"
#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace ingot::onnx_import {

/// The quantizers and initializers that an edit has added.
struct Quantization {
  /// By the names of the scales.
  llvm::StringMap<Quantizer> quantizers;
  /// The zero points that are states, which the exported file has as they are.
  llvm::StringMap<CodedInitializer> zeroPoints;
  /// The statistics of batch norms that have become a part of weights, which no
  /// step changes.
  std::vector<std::string> statistics;
  /// Initializers that are numbers of the computation.
  std::vector<std::string> constants;
  /// Values that Round computes, and through which gradients pass.
  llvm::StringSet<> rounded;

  bool empty() const { return quantizers.empty(); }
};

/// Edits the model, whose functions are inlined, as the rules say; nothing
/// without rules. Fails, with a message, where a rule matches no layer, where
/// none that it matches can be quantized, and on an operator set that has no
/// such nodes. Remarks tell which nodes are quantized, and why others are not.
llvm::FailureOr<Quantization> quantizeModel(mlir::Location file,
                                            onnx::ModelProto &model,
                                            const ImportOptions &options);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_REWRITE_QUANTIZE_H
