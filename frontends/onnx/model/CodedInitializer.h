// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Initializers of the exported file that are parts of matrices in codes.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_MODEL_CODEDINITIALIZER_H
#define INGOT_FRONTENDS_ONNX_MODEL_CODEDINITIALIZER_H

#include "runtime/abi/ManifestTypes.h"

#include <string>

namespace ingot::onnx_import {

/// An initializer that is a part of a matrix in codes.
struct CodedInitializer {
  /// The state that is the matrix.
  std::string state;
  /// The type of its elements, where these are not codes.
  runtime::DType dtype = runtime::DType::U8;
  runtime::ExportCodes codes;
  /// Whether it has the numbers of the matrix as `dtype` instead.
  bool isWhole = false;
};

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_MODEL_CODEDINITIALIZER_H
