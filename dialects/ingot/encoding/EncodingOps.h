// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tensors that are encoded, and states that others have the value of.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_ENCODING_ENCODINGOPS_H
#define INGOT_DIALECTS_INGOT_ENCODING_ENCODINGOPS_H

#include "dialects/ingot/ir/Dialect.h"
#include "runtime/quantization/BlockCodes.h"

#define GET_OP_CLASSES
#include "dialects/ingot/encoding/Encoding.h.inc"

namespace ingot {

/// On a state: the encoding in which others have its value, a dictionary of
/// `kind` (string), `block` (i64) and `parts` (symbols of the states of codes,
/// of scales, and where these are codes of theirs). The state has no memory,
/// and no function takes it.
inline constexpr llvm::StringLiteral kEncodingAttr = "ingot.encoding";

/// The names of encodings, in the order of ingot_encoding.
inline constexpr llvm::StringLiteral kEncodingKinds[] = {"nf4", "fp4", "int4",
                                                         "int8"};

/// Returns the encoding of that name and block; nothing if there is none.
std::optional<quantization::Encoding>
parseEncoding(llvm::StringRef kind, int64_t block, bool isDouble);

/// Returns the types of the parts of that many numbers.
llvm::SmallVector<mlir::RankedTensorType>
getPartTypes(mlir::MLIRContext *context, const quantization::Encoding &encoding,
             int64_t elements);

/// Returns the encoding of a state in parts, and the parts; null if it is not
/// stored so.
mlir::DictionaryAttr getEncoding(StateOp state);
llvm::SmallVector<mlir::FlatSymbolRefAttr> getParts(StateOp state);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_ENCODING_ENCODINGOPS_H
