// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The operators that hold a matrix in codes of 4 or 8 bits: MatMulNBits and
// MatMulBnb4 of ONNX Runtime, and DequantizeLinear with blocks.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDNODES_H
#define INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDNODES_H

#include "onnx/onnx_pb.h"
#include "runtime/abi/BlockEncoding.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include <optional>
#include <string>

namespace ingot::onnx_import {

/// The operators that hold codes.
enum class CodesForm : uint8_t { Integers, Floats, Blocks };

/// The sizes of a matrix in rows of blocks, and the form of its codes, as a
/// node says them.
struct CodesLayout {
  int64_t rows = 0, columns = 0, block = 0, bits = 4;
  ingot_encoding kind = INGOT_CODE_INT4;
  /// Whether the file has the transpose of the matrix in blocks.
  bool isTransposed = false;
  /// Whether codes are in two's complement.
  bool isSigned = false;
  /// Whether codes without zero points are counted from the middle of their
  /// range.
  bool hasMiddle = true;
  /// Whether codes are those of an operator of ONNX Runtime.
  bool isInNode = true;

  int64_t blocksOfRow() const { return llvm::divideCeil(columns, block); }
};

/// Returns the form of a node's codes; nothing if it has none.
std::optional<CodesForm> getCodesForm(const onnx::NodeProto &node);

/// Returns what a node says of its codes, which has to be checked.
CodesLayout getCodesLayout(const onnx::NodeProto &node, CodesForm form,
                           const onnx::TensorProto &codes);

/// Returns the number of a node's input that holds the codes; scales and zero
/// points follow it.
int getCodesInput(CodesForm form);

/// Returns the names of the parts of a node's matrix, one after the other.
std::string getPartNames(const onnx::NodeProto &node, CodesForm form);

/// Returns an integer attribute of a node.
int64_t getInteger(const onnx::NodeProto &node, llvm::StringRef name,
                   int64_t otherwise);

/// Whether the elements are of a type of floats that scales have.
bool hasFloats(const onnx::TensorProto &tensor);

/// Returns -1 if the sizes are not valid.
int64_t countElements(const onnx::TensorProto &tensor);

} // namespace ingot::onnx_import

#endif // INGOT_FRONTENDS_ONNX_WEIGHTS_CODEDNODES_H
