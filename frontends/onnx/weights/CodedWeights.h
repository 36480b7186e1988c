// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Matrices that the file holds in codes of 4 or 8 bits: those of MatMulNBits
// and MatMulBnb4, and those that DequantizeLinear decodes in blocks. They
// become states in codes, whose nodes are those of a plain matrix for the
// importer.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDWEIGHTS_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDWEIGHTS_H

#include "frontends/onnx/model/CodedInitializer.h"
#include "frontends/onnx/options/ImportOptions.h"
#include "mlir/IR/Location.h"
#include "onnx/onnx_pb.h"
#include "runtime/abi/BlockEncoding.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// A matrix in codes.
struct CodedWeight {
  /// The initializer that stands for it, and its sizes.
  std::string name;
  int64_t rows = 0, columns = 0;
  /// Nothing where blocks do not fit its rows: then it has numbers in place of
  /// codes.
  std::optional<quantization::Encoding> encoding;
  /// Whether codes are those of the transposed matrix.
  bool transposed = false;
  /// The bytes of the parts (docs/spec/encoding.md), or of the numbers.
  std::string codes, scales, offsets;
};

/// The matrices in codes of a model.
struct CodedWeights {
  /// By the names of the initializers that stand for them.
  llvm::StringMap<CodedWeight> weights;
  /// The initializers of the file that are parts of them, as it is exported.
  llvm::StringMap<CodedInitializer> parts;
  /// The names of the matrices, by those of their parts one after the other.
  llvm::StringMap<std::string> byParts;
};

/// Finds the matrices in codes, which are frozen, and makes the data of their
/// parts raw. Fails, with a message, on nodes that contradict their
/// specification, and on what is not supported of them.
llvm::FailureOr<CodedWeights> findCodedWeights(mlir::Location file,
                                               onnx::ModelProto &model,
                                               const ImportOptions &options);

/// Takes the data of the matrices out of the model, and replaces the nodes that
/// decode them.
llvm::LogicalResult takeCodedWeights(mlir::Location file,
                                     onnx::ModelProto &model,
                                     CodedWeights &coded);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDWEIGHTS_H
