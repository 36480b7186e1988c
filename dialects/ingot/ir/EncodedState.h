// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// States that others have the value of, encoded.
//
//===----------------------------------------------------------------------===//

#ifndef INGOT_DIALECTS_INGOT_IR_ENCODEDSTATE_H
#define INGOT_DIALECTS_INGOT_IR_ENCODEDSTATE_H

#include "dialects/ingot/ir/Dialect.h"
#include "runtime/quantization/BlockCodes.h"

namespace ingot {

/// On a state: the encoding in which others have its value, a dictionary of
/// `kind` (string), `block` (i64), `parts` (symbols of the states of codes, of
/// scales, and of the third part, if there is one) and `transposed` (unit,
/// where codes are those of the transposed matrix). The state has no memory.
/// Functions take it only until EncodeBase has run, from models that come with
/// codes.
inline constexpr llvm::StringLiteral kEncodingAttr = "ingot.encoding";

/// On a state: the elements of a bucket of which each of its elements is, where
/// ranks have shards of it. Scales of blocks have it.
inline constexpr llvm::StringLiteral kBlockAttr = "ingot.block";

/// Returns that number, 1 without it.
int64_t getStateBlock(StateOp state);

/// The names of encodings of weights, in the order of ingot_encoding.
inline constexpr llvm::StringLiteral kEncodingKinds[] = {"nf4", "fp4", "int4",
                                                         "int8"};

/// The names of encodings of moments, with a sign and without.
inline constexpr llvm::StringLiteral kDynamicKinds[] = {"dyn8", "udyn8"};

/// Returns the name of an encoding.
llvm::StringRef getKindName(const quantization::Encoding &encoding);

/// Returns the encoding of that name and block; nothing if there is none.
std::optional<quantization::Encoding>
parseEncoding(llvm::StringRef kind, int64_t block, bool hasNested);

/// Returns the encoding of a state in parts, and the parts; null if it is not
/// stored so.
mlir::DictionaryAttr getEncoding(StateOp state);
llvm::SmallVector<mlir::FlatSymbolRefAttr> getParts(StateOp state);
/// Whether the parts are those of the transposed matrix.
bool hasTransposedParts(StateOp state);

/// Returns the name of a part of a state.
std::string getPartName(llvm::StringRef state, size_t part);

/// Makes a state one that others have the value of.
void setEncoding(StateOp state, const quantization::Encoding &encoding,
                 llvm::ArrayRef<mlir::Attribute> parts, bool transposed);

} // namespace ingot

#endif // INGOT_DIALECTS_INGOT_IR_ENCODEDSTATE_H
