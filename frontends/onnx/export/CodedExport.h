// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Bases in exported files: matrices that the compiler encodes are written in
// codes, or in 16 bits, in place of the numbers of the model.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_EXPORT_CODEDEXPORT_H
#define INGOT_FRONTENDS_ONNX_EXPORT_CODEDEXPORT_H

#include "frontends/onnx/export/ExportTemplate.h"
#include "runtime/abi/BlockEncoding.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace ingot::onnx_import {

/// How exported files have bases.
enum class BaseForm : uint8_t {
  /// Numbers of the types of the model.
  Numbers,
  /// The weights of MatMulBnb4 and MatMulNBits.
  Codes,
  /// Integers that DequantizeLinear decodes.
  Integers,
  /// Numbers of 16 bits, which are cast.
  Float16,
  BFloat16
};

/// Returns the form of a name: fp32, codes, qdq, fp16 or bf16.
std::optional<BaseForm> parseBaseForm(llvm::StringRef name);

/// A state of the exported file that is encoded.
struct EncodedBase {
  std::string state;
  int64_t rows = 0, columns = 0;
  quantization::Encoding encoding;
  /// Whether codes are those of the transposed state.
  bool transposed = false;
};

/// A state that stays as it is in the file, and why.
struct BaseAsNumbers {
  std::string state, reason;
};

/// Changes how the file has these states, and returns those that it cannot
/// have so.
std::vector<BaseAsNumbers> changeBases(ExportTemplate &file,
                                       llvm::ArrayRef<EncodedBase> bases,
                                       BaseForm form);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_EXPORT_CODEDEXPORT_H
